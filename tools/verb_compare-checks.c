/* SPDX-License-Identifier: MIT */
/*
 * lapilli-compare-checks: lists the checks that differ between two recordings of one program, in the format of lapilli
 * replay --ignore-checks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "gen_decode.h"
#include "tools/common/arguments.h"
#include "tools/common/calls.h"
#include "tools/common/tool.h"

#define PROGRAM "lapilli-compare-checks"

static const char help[] =
    "usage: lapilli compare-checks A B\n"
    "Compares the checks of two recordings of one program (lapilli capture --verify). Writes each check that differs\n"
    "as a line for lapilli replay --ignore-checks: object and number of the check. Standard error gets the count.\n"
    "\n"
    "  --help    this text\n"
    "\n"
    "Exit status: 0 also when checks differ; 1 out of memory, or the recordings have other checks and can't be "
    "compared;\n"
    "2 usage; 3 no readable trace; 4 a part of a trace is damaged or missing.\n";

/* One check. place: a hash of the checked part of the object. */
struct check {
    enum gen_handle_type type;
    uint64_t index, number, place, low, high;
};

struct checks {
    struct check *list;
    size_t count, capacity;
    struct lap_map seen; /* count by object */
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    return (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
}

/* What of the object a check is of, as a hash. */

static uint64_t place_of_lapilliCheckPresent(const struct gen_args_lapilliCheckPresent *a)
{
    return mix(mix(mix(0, a->width), a->height), a->format);
}

static uint64_t place_of_lapilliCheckBuffer(const struct gen_args_lapilliCheckBuffer *a)
{
    return mix(mix(0, a->offset), a->size);
}

static uint64_t place_of_lapilliCheckStores(const struct gen_args_lapilliCheckStores *a)
{
    return mix(mix(1, a->offset), a->dataSize);
}

static uint64_t place_of_lapilliCheckImage(const struct gen_args_lapilliCheckImage *a)
{
    return mix(mix(mix(mix(mix(0, a->mipLevel), a->arrayLayer), a->row), a->rowCount), a->offsetInRow);
}

static uint64_t place_of_lapilliCheckTexels(const struct gen_args_lapilliCheckTexels *a)
{
    return mix(mix(mix(0, a->mipLevel), a->arrayLayer), a->aspect);
}

static uint64_t place_of_lapilliCheckRegion(const struct gen_args_lapilliCheckRegion *a)
{
    const VkOffset3D o = a->pOffset ? *a->pOffset : (VkOffset3D){0};
    const VkExtent3D e = a->pExtent ? *a->pExtent : (VkExtent3D){0};
    const uint32_t numbers[] = {a->aspect,     a->mipLevel,   a->arrayLayer, a->layerCount, (uint32_t)o.x,
                                (uint32_t)o.y, (uint32_t)o.z, e.width,       e.height,      e.depth};
    uint64_t place = 0;

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        place = mix(place, numbers[i]);
    return place;
}

/* False: the call is no check. */
static bool read_check(const struct lap_calls *calls, struct check *out)
{
    switch (calls->command) {
#define READ(packet, kind, object)                                                                                     \
    case GEN_##packet: {                                                                                               \
        const struct gen_args_##packet *a = (const void *)calls->args.bytes;                                           \
        *out = (struct check){.type = GEN_HANDLE_##kind,                                                               \
                              .index = gen_u64_##kind(a->object),                                                      \
                              .place = place_of_##packet(a),                                                           \
                              .low = a->hashLow,                                                                       \
                              .high = a->hashHigh};                                                                    \
        return true;                                                                                                   \
    }
        GEN_CHECKS(READ)
#undef READ
    default:
        return false;
    }
}

static enum lap_status add(struct checks *checks, struct check *check)
{
    const uint64_t object = (uint64_t)check->type << 48 | (check->index & ((UINT64_C(1) << 48) - 1));
    enum lap_status status;

    if (!lap_array_grow(&checks->list, sizeof *checks->list, &checks->capacity, checks->count + 1))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    check->number = (uintptr_t)lap_map_get(&checks->seen, object) + 1;
    status = lap_map_put(&checks->seen, object, (void *)(uintptr_t)check->number, NULL);
    if (status < 0)
        return status;
    checks->list[checks->count++] = *check;
    return LAP_OK;
}

static int compare(const void *a, const void *b)
{
    const struct check *x = a, *y = b;
    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    if (x->index != y->index)
        return x->index < y->index ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static enum lap_status read_checks(void *user, struct lap_calls *calls)
{
    struct checks *checks = user;
    enum lap_status status;
    struct check check;

    while ((status = lap_calls_next(calls)) == LAP_OK)
        if (read_check(calls, &check) && (status = add(checks, &check)) != LAP_OK)
            break;
    if (checks->count) /* by object and number */
        qsort(checks->list, checks->count, sizeof *checks->list, compare);
    return status;
}

static bool have_the_same(const struct checks *a, const struct checks *b)
{
    bool same = a->count == b->count;

    for (size_t i = 0; i < a->count && same; i++)
        same = compare(&a->list[i], &b->list[i]) == 0 && a->list[i].place == b->list[i].place;
    return same;
}

static int write_differences(const struct checks *a, const struct checks *b)
{
    size_t different = 0;

    for (size_t i = 0; i < a->count; i++)
        if (a->list[i].low != b->list[i].low || a->list[i].high != b->list[i].high) {
            const struct check *check = &a->list[i];
            printf("%s:%" PRIu64 " %" PRIu64 "\n", gen_handle_names[check->type], check->index, check->number);
            different++;
        }
    fprintf(stderr, PROGRAM ": %zu checks, %zu different\n", a->count, different);
    return lap_tool_end_output(PROGRAM, LAP_TOOL_OK);
}

static const struct lap_verb verb = {PROGRAM, help};

int main(int argc, char **argv)
{
    const char *paths[2];
    const struct lap_argument rows[] = {LAP_WORD("A", &paths[0], lap_take_text),
                                        LAP_WORD("B", &paths[1], lap_take_text)};
    struct checks checks[2] = {{0}};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    if (code >= 0)
        return code;
    code = LAP_TOOL_OK;
    lap_calls_enter_sandbox();
    for (int i = 0; i < 2 && code == LAP_TOOL_OK; i++) {
        lap_map_init(&checks[i].seen);
        code = lap_read_calls(PROGRAM, paths[i], read_checks, &checks[i]);
    }
    if (code == LAP_TOOL_OK && !have_the_same(&checks[0], &checks[1])) {
        fprintf(stderr,
                PROGRAM
                ": the recordings have not the same checks (%zu and %zu), so they can't be compared one by one\n",
                checks[0].count, checks[1].count);
        code = LAP_TOOL_FAILED;
    }
    if (code == LAP_TOOL_OK)
        code = write_differences(&checks[0], &checks[1]);
    for (int i = 0; i < 2; i++) {
        free(checks[i].list);
        lap_map_finish(&checks[i].seen);
    }
    return code;
}

/* SPDX-License-Identifier: MIT */
#include "replayer/verify/ignore_list.h"
#include "base/array.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define INDEX_BITS 48

static uint64_t object_of(enum gen_handle_type type, uint64_t index)
{
    return (uint64_t)type << INDEX_BITS | (index & ((UINT64_C(1) << INDEX_BITS) - 1));
}

static int compare(const void *a, const void *b)
{
    const struct replay_ignore_list_check *x = a, *y = b;
    if (x->object != y->object)
        return x->object < y->object ? -1 : 1;
    return x->number < y->number ? -1 : x->number > y->number;
}

static bool parse_number(const char *text, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(text, &end, 10);
    return *text >= '1' && *text <= '9' && !*end && !errno && *out >> INDEX_BITS == 0;
}

static bool parse_line(char *line, struct replay_ignore_list_check *out)
{
    static const enum gen_handle_type types[] = {GEN_HANDLE_VkBuffer, GEN_HANDLE_VkImage, GEN_HANDLE_VkSwapchainKHR};
    char *rest = NULL, *object = strtok_r(line, " \t", &rest), *number = strtok_r(NULL, " \t", &rest);
    char *colon = object ? strchr(object, ':') : NULL;
    uint64_t index;

    if (!colon || !number || strtok_r(NULL, " \t", &rest))
        return false;
    *colon = '\0';
    if (!parse_number(colon + 1, &index))
        return false;
    out->number = 0;
    if (strcmp(number, "*") != 0 && !parse_number(number, &out->number))
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(object, gen_handle_names[types[i]]) == 0) {
            out->object = object_of(types[i], index);
            return true;
        }
    return false;
}

static enum lap_status add(struct replay_ignore_list *ignored, const struct replay_ignore_list_check *check)
{
    if (!lap_array_grow(&ignored->checks, sizeof *ignored->checks, &ignored->capacity, ignored->count + 1))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    ignored->checks[ignored->count++] = *check;
    return LAP_OK;
}

static enum lap_status load(const char *path, FILE *file, struct replay_ignore_list *out)
{
    enum lap_status status = LAP_OK;
    char *line = NULL;
    size_t capacity = 0, number = 0;
    ssize_t length;

    while (status == LAP_OK && (length = getline(&line, &capacity, file)) >= 0) {
        struct replay_ignore_list_check check;
        line[strcspn(line, "#\r\n")] = '\0';
        number++;
        if (!line[strspn(line, " \t")])
            continue;
        if (!parse_line(line, &check))
            status = lap_fail(LAP_ERROR_ARGUMENT, "%s, line %zu: this is not an object and the number of a check", path,
                              number);
        else
            status = add(out, &check);
    }
    if (status == LAP_OK && ferror(file))
        status = lap_fail(LAP_ERROR_IO, "%s can't be read: %s", path, strerror(errno));
    free(line);
    return status;
}

enum lap_status replay_ignore_list_load(const char *path, struct replay_ignore_list *out)
{
    FILE *file = fopen(path, "re");
    enum lap_status status;

    *out = (struct replay_ignore_list){0};
    lap_map_init(&out->seen);
    if (!file)
        return lap_fail(LAP_ERROR_IO, "%s can't be read: %s", path, strerror(errno));
    status = load(path, file, out);
    fclose(file);
    if (status == LAP_OK && out->count)
        qsort(out->checks, out->count, sizeof *out->checks, compare);
    if (status != LAP_OK)
        replay_ignore_list_finish(out);
    return status;
}

void replay_ignore_list_finish(struct replay_ignore_list *ignored)
{
    free(ignored->checks);
    lap_map_finish(&ignored->seen);
    *ignored = (struct replay_ignore_list){0};
}

static bool has(const struct replay_ignore_list *ignored, uint64_t object, uint64_t number)
{
    const struct replay_ignore_list_check check = {object, number};
    return bsearch(&check, ignored->checks, ignored->count, sizeof check, compare) != NULL;
}

bool replay_ignore_list_has(struct replay_ignore_list *ignored, enum gen_handle_type type, uint64_t index)
{
    const uint64_t object = object_of(type, index);
    uintptr_t number;

    if (!ignored->count)
        return false;
    number = (uintptr_t)lap_map_get(&ignored->seen, object) + 1;
    /* Out of memory for the count: compare, since one difference too many is better than one too few. */
    if (lap_map_put(&ignored->seen, object, (void *)number, NULL) < 0)
        return has(ignored, object, 0);
    return has(ignored, object, 0) || has(ignored, object, number);
}

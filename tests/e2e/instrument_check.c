/* SPDX-License-Identifier: MIT */
/*
 * instrument-check [--list] FILE…: instruments each shader of traces, and files that end in .spv, in every way, and
 * lets SPIRV-Tools judge the new code, where it finds nothing wrong with the old one. Prints what is wrong, and how
 * many modules there were. With --list it prints what the new code writes. The exit status is 1 if something is wrong
 * or can't be read.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inspector/edit/shader_code.h"
#include "inspector/spirv/instrument.h"
#include "inspector/spirv/spirv.h"
#include "replayer/device/shader_validation.h"
#include "trace/format/hash.h"
#include "trace/read/reader.h"
#include "vulkan/vulkan.h"

#define MOST_SEEN 65536u

static uint64_t seen[MOST_SEEN], seen_count, entries, made, refused, wrong, odd, results;
static const char *folder;
static bool lists;

static const struct instrument_wish wishes[] = {
    {.kind = INSTRUMENT_LOG, .invocation = {1, 2, 3}},
    {.kind = INSTRUMENT_LOG, .any = true, .primitive = true},
    {.kind = INSTRUMENT_OUTPUTS, .invocation = {1, 2, 3}, .primitive = true},
    {.kind = INSTRUMENT_COUNT, .width = 64, .height = 32},
    {.kind = INSTRUMENT_COUNT, .width = 64, .height = 32, .early = true},
};

static enum lap_status judge(const uint32_t *words, size_t bytes)
{
    const struct replay_spirv_target target = {.api_version = VK_API_VERSION_1_3,
                                               .spirv_1_4 = true,
                                               .relaxed_blocks = true,
                                               .standard_uniforms = true,
                                               .scalar_blocks = true,
                                               .scalar_workgroup_blocks = true,
                                               .local_size_id = true};

    return replay_spirv_tools(&target, words, bytes / sizeof *words);
}

static void keep(uint64_t hash, unsigned number, const struct instrument_code *code)
{
    char path[4096];
    FILE *file;

    snprintf(path, sizeof path, "%s/%016" PRIx64 "-%u.spv", folder, hash, number);
    file = fopen(path, "wb");
    if (file) {
        fwrite(code->words, 1, code->bytes, file);
        fclose(file);
    }
}

static void list(unsigned number, const struct instrument_code *code)
{
    printf("way %u: %u first, %u stride, %" PRIu64 " bytes, %u segments, primitive %d, early %d\n", number, code->first,
           code->stride, code->region_bytes, code->segment_count, code->primitive, code->early);
    for (uint32_t i = 0; i < code->segment_count; i++)
        for (uint32_t k = 0; k < code->segments[i].count; k++) {
            const struct instrument_result *r = &code->results[code->segments[i].first + k];
            printf("%u.%u %s %s%u x%u +%u", number, i, r->name ? r->name : "-",
                   &"bool\0int\0\0uint\0float"[r->type * 5], r -> bits, r -> count, r -> part);
            if (r->has_location)
                printf(" location %u.%u", r->location, r->component);
            if (r->is_output && r->built_in != UINT32_MAX)
                printf(" built-in %u", r->built_in);
            printf("%s\n", i == code->outputs && r->is_output ? " output" : "");
        }
}

static void check_entry(const uint32_t *words, size_t bytes, const uint32_t *entry)
{
    const uint64_t hash = lap_hash64(words, bytes);

    entries++;
    for (unsigned i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        struct instrument_wish wish = wishes[i];
        struct instrument_code code;
        struct lap_arena arena;
        enum lap_status status;
        if (wish.kind == INSTRUMENT_COUNT && entry[1] != SPIRV_MODEL_FRAGMENT)
            continue;
        wish.model = entry[1];
        wish.entry = spirv_entry_name(entry);
        wish.set = 7;
        wish.most_invocations = 16;
        wish.most_words = 4096;
        lap_arena_init(&arena, 0);
        status = instrument(words, bytes, &wish, &arena, &code);
        if (status != LAP_OK) {
            refused++;
            printf("%016" PRIx64 " %s: %s\n", hash, wish.entry, lap_error_message());
        } else {
            made++;
            results += code.result_count;
            if (lists)
                list(i, &code);
            if (folder)
                keep(hash, i, &code);
            if (judge(code.words, code.bytes) != LAP_OK) {
                wrong++;
                printf("%016" PRIx64 " %s, way %u: %s\n", hash, wish.entry, i, lap_error_message());
            }
        }
        lap_arena_finish(&arena);
    }
}

static bool is_new(uint64_t hash)
{
    for (uint64_t i = 0; i < seen_count; i++)
        if (seen[i] == hash)
            return false;
    if (seen_count < MOST_SEEN)
        seen[seen_count++] = hash;
    return true;
}

static enum lap_status check_code(void *unused, struct lap_arena *arena, const uint32_t **words, size_t *bytes)
{
    struct spirv spirv;

    if (!is_new(lap_hash64(*words, *bytes)) || spirv_read(&spirv, arena, *words, *bytes) != LAP_OK)
        return LAP_OK;
    if (judge(*words, *bytes) != LAP_OK) {
        odd++;
        return LAP_OK;
    }
    for (uint32_t i = 0; i < spirv.entry_count; i++)
        if (spirv.entries[i][1] == 0 || spirv.entries[i][1] == 4 || spirv.entries[i][1] == 5)
            check_entry(*words, *bytes, spirv.entries[i]);
    return LAP_OK;
}

static enum lap_status check_module(const char *path)
{
    static uint32_t words[1u << 22];
    const uint32_t *code = words;
    struct lap_arena arena;
    enum lap_status status;
    size_t bytes;
    FILE *file = fopen(path, "rb");

    if (!file)
        return lap_fail(LAP_ERROR_IO, "%s can't be read", path);
    bytes = fread(words, 1, sizeof words, file);
    fclose(file);
    lap_arena_init(&arena, 0);
    status = check_code(NULL, &arena, &code, &bytes);
    lap_arena_finish(&arena);
    return status;
}

static enum lap_status check_trace(const char *path)
{
    const struct lap_reader_options options = {0};
    struct lap_reader *reader = NULL;
    struct shader_code_result result;
    enum lap_status status = lap_reader_open(path, &options, &reader);

    if (status == LAP_OK)
        status = edit_shader_code(reader, check_code, NULL, NULL, &result);
    if (reader)
        lap_reader_close(&reader);
    return status;
}

int main(int argc, char **argv)
{
    bool failed = false;

    if (!replay_spirv_tools) {
        fputs("instrument-check was built without SPIRV-Tools\n", stderr);
        return 1;
    }
    folder = getenv("INSTRUMENT_KEEP");
    lists = argc > 1 && strcmp(argv[1], "--list") == 0;
    for (int i = 1 + lists; i < argc; i++) {
        const char *end = strrchr(argv[i], '.');
        if ((end && strcmp(end, ".spv") == 0 ? check_module : check_trace)(argv[i]) == LAP_OK)
            continue;
        fprintf(stderr, "instrument-check: %s: %s\n", argv[i], lap_error_message());
        failed = true;
    }
    printf("%" PRIu64 " modules, %" PRIu64 " entry points, %" PRIu64 " made, %" PRIu64 " refused, %" PRIu64
           " wrong, %" PRIu64 " not judged, %" PRIu64 " results\n",
           seen_count, entries, made, refused, wrong, odd, results);
    return failed || wrong;
}

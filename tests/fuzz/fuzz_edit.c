/* SPDX-License-Identifier: MIT */
/* Edits that draw a trace differently, give its shaders other code or write their values, keep a texel behind its
 * commands, or write timestamps: an error with a sentence, or a trace that can be read to where it could be read
 * before, or to where they end it. */
#include <stdlib.h>
#include <string.h>

#include "inspector/edit/fixed_state.h"
#include "inspector/edit/replace_shader.h"
#include "inspector/question/stamps.h"
#include "inspector/question/texel_history.h"
#include "inspector/spirv/instrument.h"
#include "inspector/spirv/spirv.h"
#include "tests/fuzz/fuzz.h"
#include "trace/format/hash.h"

#define MOST_WORDS 4096u

struct code {
    uint32_t words[MOST_WORDS];
    size_t bytes;
};

/* Keeps the last code. */
static enum lap_status keep(void *user, struct lap_arena *arena, const uint32_t **words, size_t *bytes)
{
    struct code *code = user;

    if (*bytes <= sizeof code->words)
        memcpy(code->words, *words, code->bytes = *bytes);
    return LAP_OK;
}

/* By the code of another one. */
static enum lap_status replace(const struct lap_reader *trace, struct lap_edits *edits)
{
    static struct code code;
    struct shader_code_result result;
    struct replaced_shader shader = {.digits = 16, .name = "it", .words = code.words};
    enum lap_status status;

    code.bytes = 0;
    status = edit_shader_code(trace, keep, &code, NULL, &result);
    shader.bytes = code.bytes;
    shader.hash = lap_hash64(code.words, code.bytes);
    return status == LAP_OK ? edit_replace_shaders(trace, &shader, 1, edits, &result) : status;
}

/* The results of a broken device: in each place the mark of outputs. */
static void read_fragments(const struct texel_draw *draw)
{
    static const struct fragment_texel texel = {.has_depth = false};
    const uint64_t bytes = draw->at + (draw->why ? 0 : draw->code->region_bytes);
    unsigned char *results = malloc((size_t)bytes + 1);
    struct texel_fragments fragments;

    if (!results)
        return;
    for (uint64_t i = draw->at; i < bytes; i += 4)
        memcpy(results + i, &(uint32_t){draw->code->outputs + 1}, 4);
    texel_fragments_of(draw, results, bytes, &texel, &texel, &fragments);
    FUZZ_CHECK(fragments.count <= TEXEL_MOST_FRAGMENTS && fragments.count <= fragments.matched);
    free(results);
}

static enum lap_status keep_texel(const struct lap_reader *trace, struct lap_edits *edits)
{
    struct texel_history history = {.row_count = 0};
    const struct texel_wish wish = {.at = {.count = 1, .numbers = {1}}, .image = 1, .fragments = true};
    enum lap_status status = edit_texel_history(trace, &wish, edits, &history);

    FUZZ_CHECK(status != LAP_OK || history.row_count);
    for (size_t i = 0; i < history.row_count && status == LAP_OK; i++)
        if (history.rows[i].draw)
            read_fragments(history.rows[i].draw);
    texel_history_finish(&history);
    return status;
}

static enum lap_status time_frames(const struct lap_reader *trace, struct lap_edits *edits)
{
    struct stamps stamps = {.count = 0};
    const struct stamps_wish wish = {.first_frame = 1, .last_frame = UINT64_MAX, .draws = true, .statistics = true};
    enum lap_status status = edit_stamps(trace, &wish, edits, &stamps);

    FUZZ_CHECK(status != LAP_OK || stamps.count);
    for (size_t i = 0; i < stamps.count && status == LAP_OK; i++)
        FUZZ_CHECK(stamps.spans[i].from < stamps.timestamp_count && stamps.spans[i].to < stamps.timestamp_count);
    stamps_finish(&stamps);
    return status;
}

/* Each entry point, in one way or the other. Results and segments fit together. */
static enum lap_status write_values(void *user, struct lap_arena *arena, const uint32_t **words, size_t *bytes)
{
    struct instrument_wish wish = {.kind = *bytes / 4 % 3,
                                   .primitive = true,
                                   .early = true,
                                   .set = 7,
                                   .width = 8,
                                   .height = 8,
                                   .most_invocations = 4,
                                   .most_words = 256,
                                   .any = *bytes / 4 % 2};
    struct instrument_code code;
    struct spirv spirv;

    if (spirv_read(&spirv, arena, *words, *bytes) != LAP_OK)
        return LAP_OK;
    for (uint32_t i = 0; i < spirv.entry_count; i++) {
        wish.model = spirv.entries[i][1];
        wish.entry = spirv_entry_name(spirv.entries[i]);
        if (instrument(*words, *bytes, &wish, arena, &code) != LAP_OK)
            continue;
        for (uint32_t k = 0; k < code.segment_count; k++)
            FUZZ_CHECK(code.segments[k].first + code.segments[k].count <= code.result_count);
        *words = code.words;
        *bytes = code.bytes;
        break;
    }
    return LAP_OK;
}

static enum lap_status edit(const struct lap_reader *trace, unsigned how, struct lap_edits *edits)
{
    struct fixed_state_result state;
    struct shader_code_result code;

    switch (how % 7) {
    case 0:
        return edit_wireframe(trace, edits, &state);
    case 1:
        return edit_tiny_viewport(trace, edits, &state);
    case 2:
        return edit_null_fragment(trace, edits, &code);
    case 3:
        return replace(trace, edits);
    case 4:
        return edit_shader_code(trace, write_values, NULL, edits, &code);
    case 5:
        return keep_texel(trace, edits);
    default:
        return time_frames(trace, edits);
    }
}

static uint64_t read_all(struct lap_reader *reader)
{
    struct lap_packet packet;
    uint64_t packets = 0;

    while (lap_reader_next(reader, &packet) == LAP_OK)
        packets++;
    return packets;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct lap_reader *trace = NULL, *edited = NULL;
    struct lap_edits *edits = NULL;

    if (lap_reader_open(forge_place(data, bytes), NULL, &trace) == LAP_OK &&
        lap_edits_create(trace, &edits) == LAP_OK) {
        if (edit(trace, (unsigned)bytes, edits) != LAP_OK) {
            FUZZ_CHECK(lap_error_message()[0]);
        } else {
            FUZZ_CHECK(lap_edits_seal(edits) == LAP_OK);
            FUZZ_CHECK(lap_reader_open_edited(trace, NULL, edits, &edited) == LAP_OK);
            FUZZ_CHECK(read_all(edited) == read_all(trace) || bytes % 7 >= 5);
            lap_reader_close(&edited);
        }
    }
    lap_edits_destroy(&edits);
    if (trace)
        lap_reader_close(&trace);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t capacity, unsigned seed)
{
    return forge_mutator(data, bytes, capacity, seed);
}

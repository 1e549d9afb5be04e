/* SPDX-License-Identifier: MIT */
/* lapilli trim: a part of a trace, which is an error with a sentence, or a trace that can be read, and cut again. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inspector/slice/cut.h"
#include "inspector/slice/slice.h"
#include "tests/fuzz/fuzz.h"

static uint64_t frame_of(const struct lap_reader *trace, uint64_t ticket)
{
    uint64_t frame = 0;

    while (lap_reader_frame_end(trace, frame) < ticket)
        frame++;
    return frame;
}

/* What a replay would be to read. */
static void list(const struct lap_reader *trace, uint64_t first, uint64_t last)
{
    struct slice *slice = NULL;

    if (slice_find_with_contents(trace, first, last, NULL, NULL, NULL, &slice) == LAP_OK)
        for (size_t i = 0; i < slice_contents(slice)->count; i++)
            FUZZ_CHECK(slice_contents(slice)->at[i].index);
    else
        FUZZ_CHECK(lap_error_message()[0]);
    slice_destroy(&slice);
}

static enum lap_status cut(const char *from, uint64_t first, uint64_t last, int to, struct cut_result *result)
{
    struct cut_options options = {.first = first, .last = last, .packer = last % 2 ? &lap_codec_lz4 : NULL};
    struct lap_reader *trace = NULL;
    enum lap_status status = lap_reader_open(from, NULL, &trace);

    if (status == LAP_OK)
        options.first_frame = frame_of(trace, first);
    if (status == LAP_OK)
        list(trace, first, last);
    if (status == LAP_OK)
        status = cut_write(trace, to, "part", &options, result);
    else
        close(to);
    if (trace)
        lap_reader_close(&trace);
    return status;
}

static void read_part(const char *path, const struct cut_result *result)
{
    struct lap_reader *reader = NULL;
    struct lap_packet packet;
    uint64_t packets = 0;

    FUZZ_CHECK(lap_reader_open(path, NULL, &reader) == LAP_OK);
    FUZZ_CHECK(lap_reader_summary(reader)->complete && lap_reader_summary(reader)->frames == result->frames);
    while (lap_reader_next(reader, &packet) == LAP_OK)
        packets++;
    FUZZ_CHECK(packets == result->packets);
    lap_reader_close(&reader);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static struct cut_result result, again;
    const char *from = forge_place(data, bytes);
    uint64_t first = 1 + (bytes ? data[bytes / 2] % 97 : 0), last = first + bytes % 61;
    int to = memfd_create("part", MFD_CLOEXEC), kept = dup(to);
    char path[64];
    enum lap_status status = cut(from, first, last, to, &result);

    if (status != LAP_OK) {
        FUZZ_CHECK(status < 0 && lap_error_message()[0]);
    } else {
        snprintf(path, sizeof path, "/proc/self/fd/%d", kept);
        read_part(path, &result);
        /* What was kept needs no more than that. */
        if (result.packets > 1)
            FUZZ_CHECK(cut(path, result.packets, result.packets, memfd_create("again", MFD_CLOEXEC), &again) == LAP_OK);
    }
    close(kept);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t capacity, unsigned seed)
{
    return forge_mutator(data, bytes, capacity, seed);
}

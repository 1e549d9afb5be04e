/* SPDX-License-Identifier: MIT */
/*
 * raw_lines: what lapilli-replay --profile printed: lines of JSON with the times of one replay. They are a stranger's:
 * the driver and the trace have a say in them. So all of it is checked, and texts are UTF-8 afterwards. Memory is an
 * arena's. One thread.
 */
#ifndef LAP_TOOLS_PROFILE_RAW_LINES_H
#define LAP_TOOLS_PROFILE_RAW_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/status.h"

enum profile_kind { PROFILE_COMMANDS, PROFILE_PASS, PROFILE_LABEL, PROFILE_WORK, PROFILE_BETWEEN };

#define PROFILE_MOST_DEPTH      1024u
#define PROFILE_MOST_TARGETS    32u
#define PROFILE_MOST_STATISTICS 32u
#define PROFILE_NONE            SIZE_MAX

struct profile_target {
    const char *name, *image, *format;
    double width, height;
};

struct profile_statistic {
    const char *name;
    double value;
};

/* A timed thing. Texts that are missing are NULL. */
struct profile_thing {
    enum profile_kind kind;
    uint64_t frame;
    const char *position, *end, *command, *name, *queue, *pipeline;
    uint32_t depth;
    size_t parent; /* of the things; PROFILE_NONE: none. Less than its own number */
    double begin_ms, ms;
    double draws, dispatches;
    const struct profile_target *targets;
    const struct profile_statistic *statistics;
    size_t target_count, statistic_count;
};

struct profile_calls {
    const char *command;
    double calls, ms;
};

struct profile_frame {
    uint64_t number;
    double cpu_ms;
    struct profile_calls *calls;
    size_t call_count;
};

struct profile_raw {
    const char *gpu, *driver, *device_type;
    bool tiler;
    uint64_t first_frame, last_frame;
    struct profile_thing *things; /* by frames; a parent in front of its children */
    struct profile_frame *frames; /* in their order */
    size_t thing_count, thing_capacity, frame_count, frame_capacity;
    const char **left_out;
    size_t left_out_count;
    double backwards; /* stamps */
    double missing;   /* things without a time, which are in no line */
};

/* Reads the lines; changes the text. LAP_ERROR_FORMAT with a sentence that names the line; LAP_ERROR_MEMORY.
 * profile_raw_finish in each case. */
enum lap_status profile_raw_parse(struct profile_raw *raw, struct lap_arena *arena, char *text,
                                  size_t bytes) LAP_MUST_CHECK;
void profile_raw_finish(struct profile_raw *raw);

/* As raw lines and JSON name it; never NULL. */
const char *profile_kind_name(enum profile_kind kind);

/* Of a device_type. */
bool profile_is_on_cpu(const char *device_type);

/* A copy that is UTF-8; NULL for NULL, or without memory. */
const char *profile_text(struct lap_arena *arena, const char *text);

#endif

/* SPDX-License-Identifier: MIT */
#include <inttypes.h>

#include "tools/profile/profile_print.h"
#include "tools/show/text.h"

/* A queue is a process, a depth one of its threads. */
static void put_names(FILE *out, const struct profile *profile)
{
    const struct profile_raw *raw = &profile->raws[profile->loops - 1];

    for (size_t queue = 0; queue < profile->queue_count; queue++) {
        uint32_t depths = 1;
        fprintf(out, "%s\n{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": %zu, \"tid\": 0, \"args\": {\"name\": ",
                queue ? "," : "", queue + 1);
        lap_text_put_json(out, profile->queues[queue].name);
        fputs("}}", out);
        for (size_t i = 0; i < raw->thing_count; i++)
            if (profile->thing_queues[i] == queue && raw->things[i].depth >= depths)
                depths = raw->things[i].depth + 1;
        for (uint32_t depth = 0; depth < depths; depth++)
            fprintf(out,
                    ",\n{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": %zu, \"tid\": %" PRIu32
                    ", \"args\": {\"name\": \"depth %" PRIu32 "\"}}",
                    queue + 1, depth, depth);
    }
}

static void put_event(FILE *out, const struct profile *profile, size_t number)
{
    const struct profile_thing *thing = &profile->raws[profile->loops - 1].things[number];
    const char *name = thing->name ? thing->name : thing->kind == PROFILE_COMMANDS ? "commands" : thing->command;

    fputs(",\n{\"name\": ", out);
    lap_text_put_json(out, name ? name : profile_kind_name(thing->kind));
    fprintf(out,
            ", \"cat\": \"%s\", \"ph\": \"X\", \"ts\": %.3f, \"dur\": %.3f, \"pid\": %zu, \"tid\": %" PRIu32
            ", \"args\": {\"position\": ",
            profile_kind_name(thing->kind), thing->begin_ms * 1000, thing->ms * 1000, profile->thing_queues[number] + 1,
            thing->depth);
    lap_text_put_json(out, thing->position);
    fprintf(out, ", \"frame\": %" PRIu64 ", \"command\": ", thing->frame);
    lap_text_put_json(out, thing->command);
    fputs(", \"pipeline\": ", out);
    lap_text_put_json(out, thing->pipeline);
    fprintf(out, ", \"draws\": %.0f, \"dispatches\": %.0f}}", thing->draws, thing->dispatches);
}

void profile_print_trace(const struct profile_printer *printer)
{
    const struct profile *profile = printer->profile;

    fputs("{\"displayTimeUnit\": \"ms\", \"traceEvents\": [", printer->out);
    put_names(printer->out, profile);
    for (size_t i = 0; i < profile->raws[0].thing_count; i++)
        put_event(printer->out, profile, i);
    fputs("\n]}\n", printer->out);
}

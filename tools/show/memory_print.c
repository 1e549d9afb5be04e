/* SPDX-License-Identifier: MIT */
#include "tools/show/memory_print.h"

#include <inttypes.h>

#include "gen_ids.h"
#include "tools/common/progress.h"
#include "tools/show/moment.h"
#include "tools/show/text.h"

struct reading {
    struct lap_progress progress;
    uint64_t last;
};

static void show_progress(void *user, const struct lap_packet *packet)
{
    struct reading *reading = user;
    lap_progress_show(&reading->progress, packet->ticket, reading->last);
}

enum lap_status lap_memory_find(const struct lap_reader *trace, const struct position *at, uint64_t *out_ticket,
                                char *at_text, struct memory_state **out)
{
    struct reading reading = {.last = 0};
    struct memory_wish wish = {.progress = show_progress, .user = &reading};
    struct position_found until;
    enum lap_status status = lap_moment_find(trace, at, out_ticket, at_text, &until);

    *out = NULL;
    if (status != LAP_OK)
        return status;
    wish.last_ticket = reading.last = *out_ticket;
    wish.until = until.position.count ? &until.position : NULL;
    lap_progress_begin(&reading.progress, "reading", false);
    status = memory_state_find(trace, &wish, out);
    lap_progress_clear(&reading.progress);
    return status;
}

static const char *const known_names[] = {
    [MEMORY_KNOWN] = "yes", [MEMORY_NOBODY] = "nobody", [MEMORY_BY_DEVICE] = "device", [MEMORY_NOT_FOLLOWED] = "no"};

/* "1.1.1.2 vkCmdFillBuffer", or "#134 lapilliUpdateBuffer". */
static void put_event(FILE *out, const struct memory_event *event)
{
    char text[POSITION_TEXT_BYTES];

    if (event->position.count)
        fprintf(out, "%s", position_text(&event->position, text));
    else
        fprintf(out, "#%" PRIu64, event->ticket - 1);
    fprintf(out, " %s", gen_command_names[event->command]);
}

static void put_object(FILE *out, const char *before, const struct memory_event *event)
{
    char text[LAP_TEXT_HANDLE_MAX];

    if (!event->object)
        return;
    lap_text_handle(event->type, event->object, text);
    fprintf(out, "%s%s", before, text);
}

static void put_device(FILE *out, const struct memory_event *event)
{
    fputs("computed by ", out);
    put_event(out, event);
    put_object(out, ", ", event);
    if (event->more)
        fprintf(out, ", and %" PRIu64 " more before it", event->more);
}

static void put_unknown(FILE *out, const struct memory_event *event, const char *reason)
{
    if (!event) {
        fprintf(out, "not known%s%s", reason ? ": " : "", reason ? reason : "");
    } else if (event->kind == MEMORY_IMAGE) {
        put_object(out, "not known: texels of ", event);
    } else {
        fputs("not known since ", out);
        put_event(out, event);
    }
}

void lap_memory_put_origin(FILE *out, const struct memory_part *part, const char *reason)
{
    const struct memory_event *by = part->by;

    if (part->copy && part->copy != by) {
        fputs("copied by ", out);
        put_event(out, part->copy);
        put_object(out, " from ", part->copy);
        fputs("; ", out);
    }
    switch (part->known) {
    case MEMORY_NOBODY:
        fputs("never written: zeroes", out);
        return;
    case MEMORY_BY_DEVICE:
        put_device(out, by);
        return;
    case MEMORY_NOT_FOLLOWED:
        put_unknown(out, by, reason);
        return;
    default:
        fputs(by->kind == MEMORY_HOST ? "host, " : by->kind == MEMORY_FILL ? "filled by " : "", out);
        put_event(out, by);
        return;
    }
}

static void json_event(FILE *out, const struct memory_event *event)
{
    char text[POSITION_TEXT_BYTES];

    if (!event) {
        fputs("null", out);
        return;
    }
    if (event->position.count)
        fprintf(out, "{\"at\": \"%s\", ", position_text(&event->position, text));
    else
        fputs("{\"at\": null, ", out);
    fprintf(out, "\"packet\": %" PRIu64 ", \"name\": ", event->ticket ? event->ticket - 1 : 0);
    lap_text_put_json(out, event->command ? gen_command_names[event->command] : NULL);
    fputs(", \"object\": ", out);
    if (event->object) {
        char handle[LAP_TEXT_HANDLE_MAX];
        lap_text_handle(event->type, event->object, handle);
        fprintf(out, "\"%s\"", handle);
    } else {
        fputs("null", out);
    }
    fprintf(out, ", \"more\": %" PRIu64 "}", event->more);
}

void lap_memory_put_json(FILE *out, const struct memory_part *part)
{
    fprintf(out, "\"known\": \"%s\", \"by\": ", known_names[part->known]);
    json_event(out, part->by);
    fputs(", \"copied\": ", out);
    json_event(out, part->copy == part->by ? NULL : part->copy);
}

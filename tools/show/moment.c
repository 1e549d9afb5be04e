/* SPDX-License-Identifier: MIT */
#include "tools/show/moment.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_ids.h"
#include "inspector/position/find.h"
#include "inspector/state/objects.h"

enum lap_status lap_moment_find(const struct lap_reader *trace, const struct position *at, uint64_t *out_ticket,
                                char *text, struct position_found *out)
{
    enum lap_status status = position_end(trace, at, out_ticket, out);

    position_text(status == LAP_OK && out->position.count ? &out->position : at, text);
    return status;
}

enum lap_status lap_object_parse(const char *text, uint32_t *out_type, uint64_t *out_index,
                                 char out_name[LAP_OBJECT_NAME_MAX])
{
    const char *colon = strchr(text, ':');
    char *end = NULL;

    if (colon && colon != text && colon[1] >= '0' && colon[1] <= '9' && colon - text < (long)LAP_OBJECT_NAME_MAX) {
        snprintf(out_name, LAP_OBJECT_NAME_MAX, "%.*s", (int)(colon - text), text);
        *out_type = gen_handle_by_name(out_name);
        *out_index = strtoull(colon + 1, &end, 10);
    }
    return end && !*end ? LAP_OK : lap_fail(LAP_ERROR_ARGUMENT, "'%.80s' is no object: it is named TYPE:NUMBER", text);
}

enum lap_status lap_object_not_there(const struct object_lives *lives, uint32_t type, uint64_t index)
{
    uint64_t smallest = UINT64_MAX, largest = 0;
    const char *name = gen_handle_names[type];

    for (size_t i = 0; i < lives->count; i++)
        if (lives->lives[i].type == type) {
            smallest = lives->lives[i].index < smallest ? lives->lives[i].index : smallest;
            largest = lives->lives[i].index > largest ? lives->lives[i].index : largest;
        }
    if (!largest)
        return lap_fail(LAP_ERROR_ARGUMENT, "there is no %s:%" PRIu64 ": the trace has none", name, index);
    if (smallest == largest)
        return lap_fail(LAP_ERROR_ARGUMENT, "there is no %s:%" PRIu64 ": the trace has %s:%" PRIu64, name, index, name,
                        largest);
    return lap_fail(LAP_ERROR_ARGUMENT, "there is no %s:%" PRIu64 ": the trace has %s:%" PRIu64 " to %s:%" PRIu64, name,
                    index, name, smallest, name, largest);
}

enum lap_status lap_object_lives_in(const struct object_lives *lives, uint64_t ticket, const char *at, uint32_t type,
                                    uint64_t index)
{
    const struct object_life *life = NULL;
    const char *name = gen_handle_names[type];

    for (size_t i = 0; i < lives->count; i++)
        if (lives->lives[i].type == type && lives->lives[i].index == index)
            life = &lives->lives[i];
    if (!life)
        return lap_object_not_there(lives, type, index);
    if (object_lives_at(life, ticket))
        return LAP_OK;
    if (!life->end)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s:%" PRIu64 " does not live at %s: it is made at #%" PRIu64, name, index,
                        at, life->begin - 1);
    return lap_fail(LAP_ERROR_ARGUMENT,
                    "%s:%" PRIu64 " does not live at %s: it was made at #%" PRIu64 " and destroyed at #%" PRIu64, name,
                    index, at, life->begin - 1, life->end - 1);
}

enum lap_status lap_object_lives(const struct lap_reader *trace, uint64_t ticket, const char *at, uint32_t type,
                                 uint64_t index)
{
    const struct state_wish wish = {.last = ticket, .to_end = true, .lives_alone = true};
    struct state_objects *objects;
    enum lap_status status = state_objects_find(trace, &wish, &objects), lives = LAP_OK;

    if (!objects)
        return status;
    lives = lap_object_lives_in(state_objects_lives(objects), ticket, at, type, index);
    state_objects_free(&objects);
    return lives;
}

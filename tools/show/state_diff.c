/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/show/state_print.h"
#include "tools/show/text.h"

static bool was_made(const struct lap_state_view *view, const struct object_life *life)
{
    return life->begin > view->first && object_lives_at(life, view->last);
}

static bool has_ended(const struct lap_state_view *view, const struct object_life *life)
{
    return object_lives_at(life, view->first) && !object_lives_at(life, view->last);
}

static bool came_and_went(const struct lap_state_view *view, const struct object_life *life)
{
    return life->begin > view->first && life->begin <= view->last && !object_lives_at(life, view->last);
}

static bool stayed(const struct lap_state_view *view, const struct object_life *life)
{
    return object_lives_at(life, view->first) && object_lives_at(life, view->last);
}

static bool is_renamed(const struct state_notes *notes)
{
    const char *before = notes->at[0].name, *after = notes->at[1].name;
    return before && after ? strcmp(before, after) != 0 : before || after;
}

static bool is_bound(const struct lap_state_view *view, const struct state_notes *notes)
{
    return notes->binding && notes->binding->ticket > view->first;
}

static bool has_changed(const struct lap_state_view *view, const struct object_life *life)
{
    size_t number = (size_t)(life - state_objects_lives(view->objects)->lives);
    const struct state_notes *notes = state_objects_notes(view->objects, number);

    if (!notes || !stayed(view, life))
        return false;
    for (unsigned i = 0; i < STATE_CHANGES; i++)
        if (notes->changes[i].count)
            return true;
    return is_renamed(notes) || is_bound(view, notes) || notes->at[0].mapped != notes->at[1].mapped;
}

static uint64_t number_of(uint64_t ticket)
{
    return ticket - 1;
}

/* ---- text ---- */

static void put_made(const struct lap_state_view *view, const struct object_life *life, char out[80])
{
    snprintf(out, 80, " #%" PRIu64, number_of(life->begin));
}

static void put_ended(const struct lap_state_view *view, const struct object_life *life, char out[80])
{
    snprintf(out, 80, " #%" PRIu64, number_of(life->end));
}

static void put_names(FILE *out, const struct state_notes *notes)
{
    for (unsigned i = 0; i < 2; i++) {
        fputs(i ? " to " : " renamed from ", out);
        if (notes->at[i].name)
            lap_text_quoted(out, notes->at[i].name, strlen(notes->at[i].name));
        else
            fputs("no name", out);
    }
}

static void put_change(const struct lap_state_view *view, size_t number)
{
    const struct state_notes *notes = state_objects_notes(view->objects, number);
    const struct object_life *life = lap_state_life(view, number);
    char handle[LAP_TEXT_HANDLE_MAX];
    const char *between = "";
    FILE *out = view->out;

    lap_text_handle(life->type, life->index, handle);
    fprintf(out, "  %s:", handle);
    if (is_renamed(notes)) {
        put_names(out, notes);
        between = ",";
    }
    if (is_bound(view, notes)) {
        fprintf(out, "%s bound to memory", between);
        between = ",";
    }
    if (notes->at[0].mapped != notes->at[1].mapped) {
        fprintf(out, "%s %s", between, notes->at[1].mapped ? "mapped" : "unmapped");
        between = ",";
    }
    for (unsigned i = 0; i < STATE_CHANGES; i++) {
        uint64_t count = notes->changes[i].count;
        if (!count)
            continue;
        fprintf(out, "%s %s %" PRIu64 " time%s", between, lap_state_change_names[i], count, count == 1 ? "" : "s");
        if (i == STATE_WRITTEN)
            fprintf(out, " with %" PRIu64 " bytes", notes->written_bytes);
        fprintf(out, ", last #%" PRIu64, number_of(notes->changes[i].last));
        if (i == STATE_CHANGED)
            fprintf(out, " by %s", gen_command_names[notes->changed_by]);
        between = ",";
    }
    fputc('\n', out);
}

static enum lap_status put_text(const struct lap_state_view *view, const struct lap_state_set sets[4])
{
    static const char *const titles[] = {"made", "ended", "made and ended", "changed"};

    for (unsigned i = 0; i < 4; i++) {
        if (!sets[i].count)
            continue;
        fprintf(view->out, "%s:\n", titles[i]);
        for (size_t j = 0; i == 3 && j < sets[i].count; j++)
            put_change(view, sets[i].numbers[j]);
        if (i < 3)
            lap_state_put_set(view, &sets[i], i == 0 ? put_made : i == 1 ? put_ended : NULL);
    }
    return LAP_OK;
}

/* ---- JSON ---- */

static void put_json_change(const struct lap_state_view *view, size_t number)
{
    const struct state_notes *notes = state_objects_notes(view->objects, number);
    FILE *out = view->out;

    if (is_renamed(notes)) {
        fputs(", \"name\": [", out);
        lap_text_put_json(out, notes->at[0].name);
        fputs(", ", out);
        lap_text_put_json(out, notes->at[1].name);
        fputc(']', out);
    }
    if (is_bound(view, notes)) {
        fputs(", \"memory\": ", out);
        lap_state_put_memory(view, notes->binding);
    }
    if (notes->at[0].mapped != notes->at[1].mapped)
        fprintf(out, ", \"mapped\": %s", notes->at[1].mapped ? "true" : "false");
    for (unsigned i = 0; i < STATE_CHANGES; i++)
        if (notes->changes[i].count) {
            fprintf(out, ", \"%s\": ", lap_state_change_names[i]);
            lap_state_put_change(out, notes, (enum state_change)i);
        }
}

static enum lap_status put_json(const struct lap_state_view *view, const struct lap_state_set sets[4])
{
    static const char *const keys[] = {"made", "ended", "made_and_ended", "changed"};
    FILE *out = view->out;

    fprintf(out,
            "{\"from\": {\"at\": \"%s\", \"packet\": %" PRIu64 "}, \"to\": {\"at\": \"%s\", \"packet\": %" PRIu64 "}",
            view->at[0], number_of(view->first), view->at[1], number_of(view->last));
    for (unsigned i = 0; i < 4; i++) {
        fprintf(out, ", \"%s\": [", keys[i]);
        for (size_t j = 0; j < sets[i].count; j++) {
            const struct object_life *life = lap_state_life(view, sets[i].numbers[j]);
            fputs(j ? ", {\"object\": " : "{\"object\": ", out);
            lap_state_put_handle(out, life->type, life->index);
            if (i == 0 || i == 2)
                fprintf(out, ", \"made\": %" PRIu64, number_of(life->begin));
            if (i == 1 || i == 2)
                fprintf(out, ", \"ended\": %" PRIu64, number_of(life->end));
            if (i == 3)
                put_json_change(view, sets[i].numbers[j]);
            fputc('}', out);
        }
        fputc(']', out);
    }
    fputs("}\n", out);
    return LAP_OK;
}

enum lap_status lap_state_diff(const struct lap_state_view *view)
{
    static const lap_state_choose_fn which[] = {was_made, has_ended, came_and_went, has_changed};
    struct lap_state_set sets[4] = {{.numbers = NULL}};
    enum lap_status status = LAP_OK;

    for (unsigned i = 0; i < 4 && status == LAP_OK; i++)
        status = lap_state_choose(view, which[i], &sets[i]);
    if (status == LAP_OK)
        status = view->json ? put_json(view, sets) : put_text(view, sets);
    for (unsigned i = 0; i < 4; i++)
        free(sets[i].numbers);
    return status;
}

/* SPDX-License-Identifier: MIT */
/*
 * Each use of a recording, by a submit or by a command buffer that executes it, decides which commands it does without:
 * its variant of the recording. If all uses have the same variant, it is recorded in place; otherwise each variant but
 * the original gets a twin (twins.h).
 */
#include "inspector/edit/leave_out.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_ids.h"
#include "inspector/edit/selection.h"
#include "inspector/position/find.h"
#include "inspector/position/held.h"
#include "inspector/twin/recordings.h"
#include "inspector/twin/twins.h"

enum uniform { NO_DRAWS, NO_WORK, UNIFORMS }; /* NO_WORK: and no draws */

struct variant {
    struct variant *next;
    const uint32_t *dropped; /* numbers of commands */
    size_t dropped_count;
    struct variant **executed; /* of each executed recording; NULL: the original */
    uint64_t left_out;         /* with those of executed recordings */
    uint64_t number;           /* the command buffer that has it */
};

/* The state of a recording. */
struct variants {
    struct variant *first;
    struct variant *uniform[UNIFORMS];
    bool original; /* some use has the original */
};

/* What is selected in a place. */
struct place {
    struct selection_part skip, only;
    unsigned depth; /* numbers of its position */
};

struct use {
    struct twins_use at;
    const struct variant *variant;
    uint64_t own; /* the original command buffer */
};

struct work {
    const struct leave_out_options *options;
    struct leave_out_result *result;
    struct recordings recordings;
    struct selection skip, only;
    struct selection_part frame_skip, frame_only;
    struct twins twins;
    struct lap_arena arena;
    uint64_t draws;          /* so far */
    uint64_t frame, submits; /* of the current one, from 1 */
    struct use *uses;        /* with variants */
    size_t use_count, use_capacity;
    bool out_of_memory;
};

static void *take(struct work *w, size_t bytes, size_t align)
{
    void *memory = lap_arena_zalloc(&w->arena, 1, bytes ? bytes : 1, align);
    w->out_of_memory |= !memory;
    return memory;
}

static struct variants *variants_of(struct work *w, struct recording *recording)
{
    if (!recording->state)
        recording->state = take(w, sizeof(struct variants), _Alignof(struct variants));
    return recording->state;
}

/* ---- variants ---- */

static struct variant *use_original(struct work *w, struct recording *recording)
{
    struct variants *variants = variants_of(w, recording);

    if (!variants || variants->original)
        return NULL;
    variants->original = true;
    for (size_t i = 0; i < recording->block->executed_count; i++)
        if (recording->executed[i])
            (void)use_original(w, recording->executed[i]);
    return NULL;
}

static bool is_same(const struct variant *a, const struct variant *b, const struct recording *recording)
{
    size_t executed = recording->block->executed_count;

    return a->dropped_count == b->dropped_count &&
           memcmp(a->dropped, b->dropped, a->dropped_count * sizeof *a->dropped) == 0 &&
           (!executed || memcmp(a->executed, b->executed, executed * sizeof(struct variant *)) == 0);
}

/* The recording's variant that is equal, which may be this one. */
static struct variant *add_variant(struct work *w, struct recording *recording, struct variant *variant)
{
    struct variants *variants = variants_of(w, recording);

    for (struct variant *other = variants ? variants->first : NULL; other; other = other->next)
        if (is_same(other, variant, recording))
            return other;
    if (variants) {
        variant->next = variants->first;
        variants->first = variant;
    }
    return variant;
}

static struct variant *new_variant(struct work *w, const struct recording *recording, uint32_t **out_dropped)
{
    const struct recorded_block *block = recording->block;
    struct variant *variant = take(w, sizeof *variant, _Alignof(struct variant));
    uint32_t *dropped = *out_dropped = take(w, block->works * sizeof *dropped, _Alignof(uint32_t));

    if (variant) {
        variant->dropped = dropped;
        variant->executed = take(w, block->executed_count * sizeof(struct variant *), _Alignof(struct variant *));
    }
    return w->out_of_memory ? NULL : variant;
}

static struct variant *use_uniform(struct work *w, struct recording *recording, enum uniform uniform)
{
    struct variants *variants = variants_of(w, recording);
    const struct recorded_block *block = recording->block;
    const struct recorded_command *commands = w->recordings.commands + block->first_command;
    struct variant *variant;
    uint32_t *dropped;

    if ((uniform == NO_DRAWS ? recording->draws : recording->works) == 0)
        return use_original(w, recording);
    if (!variants || variants->uniform[uniform])
        return variants ? variants->uniform[uniform] : NULL;
    variant = new_variant(w, recording, &dropped);
    if (!variant)
        return NULL;
    for (size_t i = 0; i < block->command_count; i++)
        if (commands[i].kind == RECORDED_DRAW || (uniform == NO_WORK && commands[i].kind == RECORDED_WORK))
            dropped[variant->dropped_count++] = commands[i].number;
    for (size_t i = 0; i < block->executed_count; i++)
        if (recording->executed[i])
            variant->executed[i] = use_uniform(w, recording->executed[i], uniform);
    variant->left_out = uniform == NO_DRAWS ? recording->draws : recording->works;
    return variants->uniform[uniform] = add_variant(w, recording, variant);
}

/* ---- the decision of a use ---- */

struct scope {
    enum recorded_kind kind;
    bool skipped, kept; /* with what it lies in */
};

struct scopes {
    struct scope *open;
    size_t count, capacity;
};

static bool is_skipped(const struct place *place, const struct scopes *scopes)
{
    return place->skip.whole || (scopes->count && scopes->open[scopes->count - 1].skipped);
}

static bool is_kept(const struct work *w, const struct place *place, const struct scopes *scopes)
{
    return !w->options->only_count || place->only.whole || (scopes->count && scopes->open[scopes->count - 1].kept);
}

static bool begin_scope(struct work *w, struct scopes *scopes, const struct place *here, enum recorded_kind kind)
{
    if (!lap_array_grow(&scopes->open, sizeof *scopes->open, &scopes->capacity, scopes->count + 1)) {
        w->out_of_memory = true;
        return false;
    }
    const struct scope scope = {kind, is_skipped(here, scopes), is_kept(w, here, scopes)};
    scopes->open[scopes->count++] = scope;
    return true;
}

/* Labels may begin in a pass and end behind it. */
static void end_scope(struct scopes *scopes, enum recorded_kind kind)
{
    size_t i = scopes->count;

    while (i && scopes->open[i - 1].kind != kind)
        i--;
    if (!i)
        return;
    memmove(&scopes->open[i - 1], &scopes->open[i], (scopes->count - i) * sizeof *scopes->open);
    scopes->count--;
}

static bool is_past_most(const struct work *w)
{
    return w->options->has_most_draws && w->draws >= w->options->most_draws;
}

static struct place part_of(const struct work *w, const struct place *place, uint64_t number, bool draws)
{
    return (struct place){.skip = selection_in(&w->skip, place->skip, place->depth, number),
                          .only = draws ? selection_in(&w->only, place->only, place->depth, number) : place->only,
                          .depth = place->depth + 1};
}

static struct variant *decide(struct work *w, struct recording *recording, const struct place *place);

static void decide_executed(struct work *w, struct recording *recording, const struct place *here,
                            const struct scopes *scopes, size_t first, uint32_t count, struct variant *variant)
{
    for (uint32_t i = 0; i < count; i++) {
        struct recording *inner = recording->executed[first + i];
        struct place place = part_of(w, here, i + 1, true);
        if (!inner)
            continue;
        place.skip.whole = is_skipped(&place, scopes);
        place.only.whole = w->options->only_count && is_kept(w, &place, scopes);
        variant->executed[first + i] = decide(w, inner, &place);
        variant->left_out += variant->executed[first + i] ? variant->executed[first + i]->left_out : 0;
    }
}

static struct variant *decide_each(struct work *w, struct recording *recording, const struct place *place)
{
    const struct recorded_block *block = recording->block;
    struct scopes scopes = {.open = NULL};
    size_t executed = 0;
    uint32_t *dropped;
    struct variant *variant = new_variant(w, recording, &dropped);
    bool changed = false;

    for (size_t i = 0; variant && !w->out_of_memory && i < block->command_count; i++) {
        const struct recorded_command *command = &w->recordings.commands[block->first_command + i];
        enum recorded_kind kind = (enum recorded_kind)command->kind;
        struct place here;
        bool drop = false;
        if (kind == RECORDED_END_PASS || kind == RECORDED_END_LABEL) {
            end_scope(&scopes, kind == RECORDED_END_PASS ? RECORDED_BEGIN_PASS : RECORDED_BEGIN_LABEL);
            continue;
        }
        if (kind == RECORDED_OTHER)
            continue;
        here = part_of(w, place, command->number, kind != RECORDED_WORK);
        if (kind == RECORDED_BEGIN_PASS || kind == RECORDED_BEGIN_LABEL) {
            if (!begin_scope(w, &scopes, &here, kind))
                break;
        } else if (kind == RECORDED_EXECUTION) {
            decide_executed(w, recording, &here, &scopes, executed, command->executed, variant);
            executed += command->executed;
        } else if (kind == RECORDED_DRAW) {
            drop = is_skipped(&here, &scopes) || !is_kept(w, &here, &scopes) || is_past_most(w);
            w->draws++;
        } else {
            drop = is_skipped(&here, &scopes);
        }
        if (drop)
            dropped[variant->dropped_count++] = command->number;
    }
    free(scopes.open);
    if (!variant || w->out_of_memory)
        return NULL;
    changed = variant->dropped_count > 0;
    for (size_t i = 0; i < block->executed_count; i++)
        changed |= variant->executed[i] != NULL;
    variant->left_out += variant->dropped_count;
    return changed ? add_variant(w, recording, variant) : use_original(w, recording);
}

/* NULL: the original. */
static struct variant *decide(struct work *w, struct recording *recording, const struct place *place)
{
    const struct leave_out_options *options = w->options;
    bool drops_draws = (options->only_count && !place->only.whole) || is_past_most(w);
    bool ends_here =
        options->has_most_draws && w->draws < options->most_draws && options->most_draws - w->draws < recording->draws;

    if (!selection_is_empty(place->skip) || !selection_is_empty(place->only) || ends_here)
        return decide_each(w, recording, place);
    w->draws += recording->draws;
    if (place->skip.whole)
        return use_uniform(w, recording, NO_WORK);
    return drops_draws ? use_uniform(w, recording, NO_DRAWS) : use_original(w, recording);
}

/* ---- the trace ---- */

static enum lap_status add_use(struct work *w, const struct trace_call *call, uint32_t batch, uint32_t buffer,
                               uint64_t number, const struct variant *variant)
{
    if (w->out_of_memory || (variant && !lap_array_grow(&w->uses, sizeof *w->uses, &w->use_capacity, w->use_count + 1)))
        return lap_no_memory("the commands to leave out");
    if (!variant)
        return LAP_OK;
    w->uses[w->use_count++] = (struct use){
        .at = {.ticket = call->packet->ticket, .batch = batch, .buffer = buffer}, .variant = variant, .own = number};
    w->result->commands += variant->left_out;
    w->result->buffers++;
    return LAP_OK;
}

static enum lap_status see_submit(struct work *w, const struct trace_call *call)
{
    const struct place all = {selection_all(&w->skip), selection_all(&w->only), 0};
    struct place frame, submit;
    uint64_t number = 0;
    enum lap_status status = LAP_OK;

    w->submits = call->packet->frame + 1 == w->frame ? w->submits + 1 : 1;
    w->frame = call->packet->frame + 1;
    frame = part_of(w, &all, w->frame, true);
    submit = part_of(w, &frame, w->submits, true);
    for (uint32_t batch = 0; batch < position_submit_batches(call); batch++)
        for (uint32_t i = 0; i < position_submit_buffers(call, batch) && status == LAP_OK; i++) {
            struct place place = part_of(w, &submit, ++number, true);
            uint64_t commands = position_submit_buffer(call, batch, i);
            struct recording *recording = recordings_held(&w->recordings, commands);
            if (recording)
                status = add_use(w, call, batch, i, commands, decide(w, recording, &place));
        }
    return status;
}

static enum lap_status visit(void *state, const struct trace_call *call)
{
    struct work *w = state;

    return call->command == GEN_vkQueueSubmit || call->command == GEN_vkQueueSubmit2
               ? see_submit(w, call)
               : recordings_visit(&w->recordings, call);
}

static enum lap_status visit_in_block(void *state, const struct trace_call *call)
{
    return recordings_visit_in_block(&((struct work *)state)->recordings, call);
}

static enum lap_status read_trace(struct work *w, const struct lap_reader *trace)
{
    static const uint16_t commands[] = {RECORDINGS_COMMANDS, GEN_vkQueueSubmit, GEN_vkQueueSubmit2, GEN_COMMAND_NONE};
    const struct trace_visitor visitor = {
        .commands = commands, .visit = visit, .visit_in_block = visit_in_block, .state = w};

    return trace_pass_run(trace, w->options->last_frame, &visitor, 1);
}

/* ---- positions where nothing was found ---- */

static enum lap_status check_found(const struct lap_reader *trace, const struct selection *selection, const char *what)
{
    char text[POSITION_TEXT_BYTES];

    for (size_t i = 0; i < selection->count; i++) {
        const struct selected *selected = &selection->at[i];
        struct position_found found;
        enum lap_status status;
        if (selected->found)
            continue;
        status = position_find(trace, &selected->given, &found);
        if (status != LAP_OK)
            return status;
        if (position_is_command(&found.position))
            return lap_fail(LAP_ERROR_ARGUMENT, "%s is %s, which is no %s", position_text(&selected->given, text),
                            gen_command_names[found.places[found.place_count - 1].id], what);
    }
    return LAP_OK;
}

/* ---- edits ---- */

/* The command buffers that a variant executes. own: each one has a twin of its own, where it may not be in two command
 * buffers. */
static enum lap_status find_executed(struct work *w, const struct recording *recording, const struct variant *variant,
                                     bool own, uint64_t **out);

static enum lap_status make(struct work *w, const struct recording *recording, const struct variant *variant, bool own)
{
    uint64_t *executed = NULL;
    enum lap_status status = find_executed(w, recording, variant, own, &executed);

    if (status == LAP_OK)
        status = twins_make(&w->twins, recording, variant ? variant->dropped : NULL,
                            variant ? variant->dropped_count : 0, executed);
    free(executed);
    return status;
}

static enum lap_status put_twin(struct work *w, const struct recording *recording, const struct variant *variant,
                                uint64_t *out)
{
    enum lap_status status = make(w, recording, variant, true);

    w->result->twins++;
    return status == LAP_OK ? twins_put(&w->twins, recording, out) : status;
}

static enum lap_status find_executed(struct work *w, const struct recording *recording, const struct variant *variant,
                                     bool own, uint64_t **out)
{
    size_t count = recording->block->executed_count;
    uint64_t *executed = *out = calloc(count + 1, sizeof *executed);
    enum lap_status status = executed ? LAP_OK : lap_no_memory("the commands to leave out");

    for (size_t i = 0; i < count && status == LAP_OK; i++) {
        const struct recording *inner = recording->executed[i];
        const struct variant *wanted = variant ? variant->executed[i] : NULL;
        if (inner && own && !inner->block->simultaneous)
            status = put_twin(w, inner, wanted, &executed[i]);
        else
            executed[i] = wanted ? wanted->number : w->recordings.executed[recording->block->first_executed + i];
    }
    return status;
}

static bool is_changed(const struct recording *recording, const struct variant *variant)
{
    bool changed = variant->dropped_count > 0;

    for (size_t i = 0; i < recording->block->executed_count; i++)
        changed |= variant->executed[i] && variant->executed[i]->number != recording->executed[i]->command_buffer;
    return changed;
}

/* Recordings that it executes are done. */
static enum lap_status edit_recording(struct work *w, const struct recording *recording)
{
    const struct variants *variants = recording->state;
    enum lap_status status = LAP_OK;

    if (!variants || !variants->first)
        return LAP_OK;
    if (!variants->original && !variants->first->next && !recording->is_new) {
        variants->first->number = recording->command_buffer;
        if (!is_changed(recording, variants->first))
            return LAP_OK;
        status = make(w, recording, variants->first, false);
        return status == LAP_OK ? twins_replace(&w->twins, recording) : status;
    }
    for (struct variant *variant = variants->first; variant && status == LAP_OK; variant = variant->next)
        status = put_twin(w, recording, variant, &variant->number);
    return status;
}

static enum lap_status edit_submits(struct work *w)
{
    struct twins_use *uses = calloc(w->use_count + 1, sizeof *uses);
    enum lap_status status = uses ? LAP_OK : lap_no_memory("the commands to leave out");
    size_t count = 0;

    for (size_t i = 0; i < w->use_count && uses; i++)
        if (w->uses[i].variant->number != w->uses[i].own) {
            uses[count] = w->uses[i].at;
            uses[count++].number = w->uses[i].variant->number;
        }
    for (size_t i = 0, end; i < count && status == LAP_OK; i = end) {
        for (end = i + 1; end < count && uses[end].ticket == uses[i].ticket;)
            end++;
        status = twins_submit(&w->twins, uses + i, end - i, false);
    }
    free(uses);
    return status;
}

static enum lap_status add_edits(struct work *w, const struct lap_reader *trace, struct lap_edits *edits)
{
    enum lap_status status = twins_init(&w->twins, trace, &w->recordings, edits);

    for (size_t i = 0; i < w->recordings.count && status == LAP_OK; i++)
        status = edit_recording(w, w->recordings.all[i]);
    return status == LAP_OK ? edit_submits(w) : status;
}

enum lap_status leave_out(const struct lap_reader *trace, const struct leave_out_options *options,
                          struct lap_edits *edits, struct leave_out_result *result)
{
    struct work w = {.options = options, .result = result};
    enum lap_status status;

    *result = (struct leave_out_result){.commands = 0};
    lap_arena_init(&w.arena, 0);
    status = recordings_init(&w.recordings, trace);
    if (status == LAP_OK)
        status = selection_init(&w.skip, trace, options->skip, options->skip_count);
    if (status == LAP_OK)
        status = selection_init(&w.only, trace, options->only, options->only_count);
    if (status == LAP_OK)
        status = read_trace(&w, trace);
    if (status == LAP_ERROR_FORMAT)
        status = LAP_OK; /* damage: a replay plays what is in front of it, and reports it */
    if (status == LAP_OK)
        status = check_found(trace, &w.skip, "draw, dispatch, ray trace or transfer, and begins no pass or label");
    if (status == LAP_OK)
        status = check_found(trace, &w.only, "draw, and begins no pass or label");
    if (status == LAP_OK && w.use_count)
        status = add_edits(&w, trace, edits);
    twins_finish(&w.twins);
    selection_finish(&w.skip);
    selection_finish(&w.only);
    recordings_finish(&w.recordings);
    lap_arena_finish(&w.arena);
    free(w.uses);
    return status;
}

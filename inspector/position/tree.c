/* SPDX-License-Identifier: MIT */
/* Gathers the entries of one frame at a time, since a frame's node has counts, in the order of positions. */
#include "inspector/position/tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "inspector/position/find.h"
#include "vulkan/label.h"
#include "vulkan/pass.h"

struct entry {
    enum tree_kind kind;
    unsigned depth;  /* of a frame 1 */
    size_t owner;    /* whose position is followed by the number; of a frame: none */
    uint64_t number; /* the last one of the position */
    const char *text;
    uint64_t object, submits, buffers, end;
    struct position_counts counts;
    const struct position_label_list *labels;
};

struct walk {
    const struct tree_wish *wish;
    const struct position *at; /* of the wish */
    size_t found;              /* the entry of the position, which has found_depth; SIZE_MAX: not yet */
    unsigned found_depth;      /* of a whole trace 0 */
    uint64_t children;         /* of the position, so far */
    bool is_left_out;          /* the last one of them */
    bool is_over;              /* what is at the position */
    tree_visit_fn visit;
    void *user;
    struct position_contents *contents;
    struct position_blocks
        blocks[POSITION_MOST_PLACES]; /* by level of command buffers; those that were needed are open */
    const struct lap_reader *trace;
    struct position_held held;
    struct position_open_labels labels;
    struct entry *entries; /* of the current frame; the first one is the frame */
    size_t count, capacity;
    struct lap_arena arena; /* texts and labels of the current frame */
    uint64_t frame;         /* from 0 */
    enum lap_status status; /* latched where a callback returns none */
};

/* ---- requested entries ---- */

/* Whether the position has this number at this place, or ends before it. */
static bool is_asked(const struct walk *w, unsigned place, uint64_t number)
{
    return !w->at || w->at->count <= place || w->at->numbers[place] == number;
}

/* Whether entries at this depth are left out. What the position is in is not: its depth is known when it is found. */
static bool is_too_deep(const struct walk *w, unsigned depth)
{
    return depth > 1 && w->found != SIZE_MAX && depth > w->found_depth && depth - w->found_depth > w->wish->depth;
}

static bool is_wanted_child(const struct walk *w, uint64_t number)
{
    return number >= w->wish->first_child && number <= w->wish->last_child;
}

/* Counts the next entry, if it is a child of the position. Whether it is left out, for itself or with a child, or since
 * the position is over. */
static bool is_outside(struct walk *w, unsigned depth)
{
    if (depth == 1 || w->found == SIZE_MAX)
        return false;
    w->is_over |= depth <= w->found_depth;
    if (!w->is_over && w->at && depth == w->found_depth + 1)
        w->is_left_out = !is_wanted_child(w, ++w->children);
    return w->is_over || w->is_left_out;
}

/* ---- entries ---- */

/* Whether it is the one at the position. */
static bool is_at(const struct walk *w, const struct entry *entry)
{
    for (unsigned i = w->at->count - 1;; i--, entry = &w->entries[entry->owner]) {
        if (entry->number != w->at->numbers[i] || (i == 0) != (entry->kind == TREE_FRAME))
            return false;
        if (i == 0)
            return true;
    }
}

/* *out_index: SIZE_MAX for an entry that is left out. */
static enum lap_status add(struct walk *w, struct entry entry, size_t *out_index)
{
    bool is_command = entry.kind == TREE_COMMAND || entry.kind == TREE_PASS || entry.kind == TREE_LABEL;

    *out_index = SIZE_MAX;
    if (is_outside(w, entry.depth) || is_too_deep(w, entry.depth))
        return LAP_OK;
    if (w->found == SIZE_MAX && is_at(w, &entry)) {
        w->found = w->count;
        w->found_depth = entry.depth;
    } else if (w->found == SIZE_MAX && is_command) {
        return LAP_OK; /* no position lies in it by its numbers */
    }
    if (!lap_array_grow(&w->entries, sizeof *w->entries, &w->capacity, w->count + 1))
        return lap_no_memory("the tree");
    *out_index = w->count;
    w->entries[w->count++] = entry;
    return LAP_OK;
}

static const char *keep_text(struct walk *w, const char *text)
{
    size_t bytes = text ? strlen(text) + 1 : 0;
    char *copy = bytes ? lap_arena_alloc(&w->arena, bytes, 1) : NULL;
    return copy ? memcpy(copy, text, bytes) : "";
}

/* NULL: none. */
static enum lap_status keep_labels(struct walk *w, const struct position_label_list *labels,
                                   const struct position_label_list **out)
{
    struct position_label_list *copy = NULL;

    if (labels->count && !(copy = lap_arena_alloc(&w->arena, sizeof *copy, _Alignof(struct position_label_list))))
        return lap_no_memory("the tree");
    if (copy)
        *copy = *labels;
    *out = copy;
    return LAP_OK;
}

/* ---- command buffers ---- */

struct open { /* open scopes of a command buffer */
    enum tree_kind kind;
    size_t entry;
    bool ended; /* although scopes that began in it have not */
};

struct buffer_walk {
    struct walk *w;
    size_t entry;    /* of the command buffer */
    unsigned depth;  /* of the command buffer */
    unsigned places; /* numbers of its position */
    struct open *open;
    size_t count, capacity;
};

static enum lap_status count_recording(struct walk *w, const struct position_recording *recording,
                                       struct position_counts *out)
{
    *out = (struct position_counts){.commands = recording && w->wish->quick ? recording->commands : 0};
    return recording && !w->wish->quick ? position_contents_of(w->contents, &w->held, recording, out) : LAP_OK;
}

/* places: numbers of its position. labels: in front of a primary one. */
static enum lap_status add_buffer(struct walk *w, size_t owner, unsigned depth, uint64_t number, unsigned places,
                                  uint64_t command_buffer, const struct position_label_list *labels);

static unsigned depth_in(const struct buffer_walk *b)
{
    return b->depth + 1 + (unsigned)b->count;
}

static void count_in_scopes(struct buffer_walk *b, uint32_t number, const struct position_counts *counts)
{
    for (size_t i = 0; i < b->count; i++) {
        struct entry *entry = b->open[i].entry == SIZE_MAX ? NULL : &b->w->entries[b->open[i].entry];
        if (!entry)
            continue;
        position_add(&entry->counts, counts);
        entry->end = number;
    }
}

/* text: of a pass the name of its command, of a label what the program gave it. */
static enum lap_status begin_scope(struct buffer_walk *b, enum tree_kind kind, uint32_t number, const char *text,
                                   uint64_t object)
{
    struct open open = {.kind = kind};
    enum lap_status status = add(
        b->w,
        (struct entry){
            .kind = kind, .depth = depth_in(b), .owner = b->entry, .number = number, .text = text, .object = object},
        &open.entry);

    if (kind == TREE_LABEL && open.entry != SIZE_MAX)
        b->w->entries[open.entry].text = keep_text(b->w, text);
    if (status == LAP_OK && !lap_array_grow(&b->open, sizeof *b->open, &b->capacity, b->count + 1))
        status = lap_no_memory("the tree");
    if (status == LAP_OK)
        b->open[b->count++] = open;
    return status;
}

/* Ends the last scope of its kind. The end of a render pass also ends the scopes in it; a label waits for them. */
static void end_scope(struct buffer_walk *b, enum tree_kind kind)
{
    size_t i = b->count;

    while (i > 0 && (b->open[i - 1].kind != kind || b->open[i - 1].ended))
        i--;
    if (!i)
        return;
    b->open[i - 1].ended = true;
    if (kind == TREE_PASS)
        b->count = i - 1;
    while (b->count && b->open[b->count - 1].ended)
        b->count--;
}

static enum lap_status add_execution(struct buffer_walk *b, uint32_t number,
                                     const struct gen_args_vkCmdExecuteCommands *args)
{
    const VkCommandBuffer *buffers = args->pCommandBuffers;
    uint32_t count = buffers ? args->commandBufferCount : 0;
    struct walk *w = b->w;
    struct position_counts counts = {.commands = 1};
    size_t entry;
    enum lap_status status = add(w,
                                 (struct entry){.kind = TREE_EXECUTION,
                                                .depth = depth_in(b),
                                                .owner = b->entry,
                                                .number = number,
                                                .text = gen_command_names[GEN_vkCmdExecuteCommands],
                                                .buffers = count},
                                 &entry);

    for (uint32_t i = 0; i < count && status == LAP_OK; i++) {
        struct position_counts inner;
        status = count_recording(w, position_held_of(&w->held, gen_u64_VkCommandBuffer(buffers[i])), &inner);
        position_add(&counts, &inner);
    }
    count_in_scopes(b, number, &counts);
    if (entry == SIZE_MAX || status != LAP_OK)
        return status;
    w->entries[entry].counts = counts;
    if (w->at && w->at->count > b->places + 1 && w->at->numbers[b->places] != number)
        return LAP_OK;
    for (uint32_t i = 0; i < count && status == LAP_OK; i++)
        if (is_asked(w, b->places + 1, i + 1))
            status =
                add_buffer(w, entry, depth_in(b) + 1, i + 1, b->places + 2, gen_u64_VkCommandBuffer(buffers[i]), NULL);
    return status;
}

static enum lap_status add_command(struct buffer_walk *b, uint32_t number, uint32_t command, const void *args)
{
    const char *name = gen_command_names[command];
    enum position_work work = position_contents_work(b->w->contents, command);
    struct entry leaf = {.kind = TREE_COMMAND, .depth = depth_in(b), .owner = b->entry, .number = number, .text = name};
    /* Also a command that only sets state, or ends something: it is the last one in what it ends. */
    bool has_node = b->w->wish->all || work != POSITION_STATE ||
                    (b->w->at && b->w->at->count == b->places + 1 && b->w->at->numbers[b->places] == number);
    enum lap_status status = LAP_OK;
    size_t index;

    if (command == GEN_vkCmdExecuteCommands)
        return add_execution(b, number, args);
    position_count(&leaf.counts, work);
    count_in_scopes(b, number, &leaf.counts);
    switch (lap_pass_step_of(command)) {
    case LAP_PASS_BEGIN:
    case LAP_PASS_BEGIN_RENDERING: {
        const VkRenderPassBeginInfo *info = lap_pass_begin_info(command, args);
        return begin_scope(b, TREE_PASS, number, name, info ? gen_u64_VkRenderPass(info->renderPass) : 0);
    }
    case LAP_PASS_END:
    case LAP_PASS_END_RENDERING:
        status = has_node ? add(b->w, leaf, &index) : LAP_OK;
        end_scope(b, TREE_PASS);
        return status;
    default:
        break;
    }
    switch (lap_label_step_of(command, args, &name)) {
    case LAP_LABEL_BEGIN:
        return begin_scope(b, TREE_LABEL, number, name, 0);
    case LAP_LABEL_END:
        status = has_node ? add(b->w, leaf, &index) : LAP_OK;
        end_scope(b, TREE_LABEL);
        return status;
    default:
        return has_node ? add(b->w, leaf, &index) : LAP_OK;
    }
}

static enum lap_status add_commands(struct buffer_walk *b, struct position_blocks *blocks, uint64_t blob)
{
    struct lap_args args;
    uint32_t command;
    enum lap_status status = blocks->reader ? LAP_OK : position_blocks_open(blocks, b->w->trace);

    if (status == LAP_OK)
        status = position_blocks_begin(blocks, blob, 0);
    for (uint32_t number = 0; status == LAP_OK; number++) {
        status = position_blocks_next(blocks, &command, &args);
        if (status == LAP_OK)
            status = add_command(b, number, command, args.bytes);
    }
    return status == LAP_END ? LAP_OK : status;
}

static enum lap_status add_buffer(struct walk *w, size_t owner, unsigned depth, uint64_t number, unsigned places,
                                  uint64_t command_buffer, const struct position_label_list *labels)
{
    const struct position_recording *recording = position_held_of(&w->held, command_buffer);
    struct entry entry = {.kind = TREE_BUFFER,
                          .depth = depth,
                          .owner = owner,
                          .number = number,
                          .object = command_buffer,
                          .labels = labels};
    struct buffer_walk b = {.w = w, .depth = depth, .places = places};
    enum lap_status status;

    if (places + 1 >= POSITION_MOST_NUMBERS)
        return LAP_OK; /* nothing in there has a position */
    status = count_recording(w, recording, &entry.counts);
    if (status == LAP_OK)
        status = add(w, entry, &b.entry);
    if (status == LAP_OK && recording && !w->wish->quick && b.entry != SIZE_MAX && !is_too_deep(w, depth + 1))
        status = add_commands(&b, &w->blocks[places / 2 - 1], recording->block);
    free(b.open);
    return status;
}

/* ---- frames ---- */

static enum lap_status visit_entry(struct walk *w, size_t index)
{
    const struct entry *entry = &w->entries[index];
    struct tree_node node = {.kind = entry->kind,
                             .depth = entry->depth - w->found_depth,
                             .text = entry->text,
                             .object = entry->object,
                             .submits = entry->submits,
                             .buffers = entry->buffers,
                             .end = entry->end,
                             .counts = entry->counts,
                             .labels = entry->labels};
    uint64_t numbers[POSITION_MOST_NUMBERS];
    size_t owner = index;

    while (node.position.count < POSITION_MOST_NUMBERS) {
        numbers[node.position.count++] = w->entries[owner].number;
        if (owner == 0)
            break;
        owner = w->entries[owner].owner;
    }
    for (unsigned i = 0; i < node.position.count; i++)
        node.position.numbers[i] = numbers[node.position.count - 1 - i];
    return w->visit(w->user, &node);
}

static enum lap_status end_frame(struct walk *w, bool shown)
{
    enum lap_status status = LAP_OK;

    if (shown && !w->at)
        shown = is_wanted_child(w, ++w->children);
    for (size_t i = w->found; shown && i < w->count && status == LAP_OK; i++)
        status = visit_entry(w, i);
    w->count = 0;
    lap_arena_reset(&w->arena);
    return status;
}

static enum lap_status begin_frame(struct walk *w, uint64_t frame)
{
    size_t index;

    w->frame = frame;
    return add(w, (struct entry){.kind = TREE_FRAME, .depth = 1, .number = frame + 1}, &index);
}

static void see_packet(void *state, const struct lap_packet *packet)
{
    struct walk *w = state;

    while (packet->frame > w->frame && w->status == LAP_OK) {
        w->status = end_frame(w, is_asked(w, 0, w->frame + 1));
        if (w->status == LAP_OK)
            w->status = begin_frame(w, w->frame + 1);
    }
}

/* Notes the labels that a command buffer ends and leaves open. */
static enum lap_status run_labels(struct walk *w, const struct trace_call *call, uint64_t command_buffer)
{
    return w->wish->quick ? LAP_OK
                          : position_open_labels_run(&w->labels, w->contents, position_submit_queue(call),
                                                     position_held_of(&w->held, command_buffer));
}

static enum lap_status pass_submit(struct walk *w, const struct trace_call *call)
{
    enum lap_status status = LAP_OK;

    for (uint32_t batch = 0; batch < position_submit_batches(call); batch++)
        for (uint32_t i = 0; i < position_submit_buffers(call, batch) && status == LAP_OK; i++)
            status = run_labels(w, call, position_submit_buffer(call, batch, i));
    return status;
}

static enum lap_status add_submit(struct walk *w, const struct trace_call *call)
{
    struct entry entry = {
        .kind = TREE_SUBMIT, .depth = 2, .number = ++w->entries[0].submits, .object = position_submit_queue(call)};
    bool asked = is_asked(w, 1, entry.number) && (w->at || is_wanted_child(w, w->entries[0].number));
    const struct position_label_list *labels = NULL;
    uint64_t number = 0;
    size_t index = SIZE_MAX;
    enum lap_status status =
        keep_labels(w, &position_open_labels_of(&w->labels, entry.object)->of_queue, &entry.labels);

    if (status == LAP_OK && asked)
        status = add(w, entry, &index);
    for (uint32_t batch = 0; batch < position_submit_batches(call); batch++)
        for (uint32_t i = 0; i < position_submit_buffers(call, batch) && status == LAP_OK; i++) {
            uint64_t command_buffer = position_submit_buffer(call, batch, i);
            struct position_counts counts = {.commands = 0};
            number++;
            if (asked || (w->at && w->at->count < POSITION_SUBMIT))
                status = count_recording(w, position_held_of(&w->held, command_buffer), &counts);
            position_add(&w->entries[0].counts, &counts);
            w->entries[0].buffers++;
            if (index != SIZE_MAX) {
                position_add(&w->entries[index].counts, &counts);
                w->entries[index].buffers++;
            }
            if (status == LAP_OK && index != SIZE_MAX && is_asked(w, 2, number)) {
                status = keep_labels(w, &position_open_labels_of(&w->labels, entry.object)->left_open, &labels);
                if (status == LAP_OK)
                    status = add_buffer(w, index, 3, number, POSITION_BUFFER, command_buffer, labels);
            }
            if (status == LAP_OK)
                status = run_labels(w, call, command_buffer);
        }
    return status;
}

static enum lap_status see(void *state, const struct trace_call *call)
{
    struct walk *w = state;

    if (w->status != LAP_OK)
        return w->status;
    if (call->command == GEN_lapilliBlock)
        return position_held_record(&w->held, call);
    if (call->command != GEN_vkQueueSubmit && call->command != GEN_vkQueueSubmit2)
        return position_open_labels_see(&w->labels, call);
    return is_asked(w, 0, w->frame + 1) ? add_submit(w, call) : pass_submit(w, call);
}

/* ---- the whole ---- */

static enum lap_status go(struct walk *w)
{
    static const uint16_t commands[] = {POSITION_OPEN_LABELS_COMMANDS, GEN_lapilliBlock, GEN_vkQueueSubmit,
                                        GEN_vkQueueSubmit2, GEN_COMMAND_NONE};
    const struct trace_visitor visitor = {.commands = commands, .visit = see, .see_packet = see_packet, .state = w};
    enum lap_status status = begin_frame(w, 0), end;
    /* Calls behind the last frame are shown if they have submits, or if there is nothing else. */
    uint64_t frames = lap_reader_summary(w->trace)->frames;

    if (status == LAP_OK)
        status = trace_pass_run(w->trace, w->at ? w->at->numbers[0] : 0, &visitor, 1);
    if (w->status != LAP_OK)
        status = w->status;
    end = status < 0 && status != LAP_ERROR_FORMAT
              ? LAP_OK
              : end_frame(w, is_asked(w, 0, w->frame + 1) &&
                                 (w->at || w->frame < frames || !frames || w->entries[0].submits));
    return status == LAP_OK ? end : status;
}

enum lap_status tree_walk(const struct lap_reader *trace, const struct tree_wish *wish, tree_visit_fn visit, void *user,
                          uint64_t *out_children)
{
    struct walk w = {
        .wish = wish, .at = wish->at, .found = wish->at ? SIZE_MAX : 0, .visit = visit, .user = user, .trace = trace};
    enum lap_status status = position_contents_open(trace, &w.contents);

    position_held_init(&w.held);
    position_open_labels_init(&w.labels);
    lap_arena_init(&w.arena, 0);
    if (status == LAP_OK)
        status = go(&w);
    for (unsigned i = 0; i < POSITION_MOST_PLACES; i++)
        if (w.blocks[i].reader)
            position_blocks_close(&w.blocks[i]);
    position_contents_close(&w.contents);
    position_held_finish(&w.held);
    position_open_labels_finish(&w.labels);
    lap_arena_finish(&w.arena);
    free(w.entries);
    *out_children = w.children;
    return status;
}

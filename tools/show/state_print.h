/* SPDX-License-Identifier: MIT */
/*
 * state_print: writes the state of objects (inspector/state/objects.h) as text or as one JSON object: all of them
 * (state_list.c), one (state_object.c, with state_set.c, state_layouts.c and state_sync.c), what changed between two
 * positions (state_diff.c), and what a command of a command buffer finds bound (state_bound.c). One thread.
 */
#ifndef LAP_TOOLS_SHOW_STATE_PRINT_H
#define LAP_TOOLS_SHOW_STATE_PRINT_H

#include <stdbool.h>
#include <stdio.h>

#include "inspector/analysis/trace_pass.h"
#include "inspector/position/find.h"
#include "inspector/state/objects.h"

struct lap_state_view {
    const struct lap_reader *trace;
    const struct state_objects *objects;
    FILE *out;
    bool json, colour, counts;       /* counts: by type, alone */
    bool damaged;                    /* the trace, behind the last ticket: ends of objects may be missing */
    unsigned width;                  /* of a line of text */
    uint32_t type;                   /* of these alone; GEN_HANDLE_NONE: of all */
    uint64_t first, last;            /* tickets; without a difference `first` is 0 */
    char at[2][POSITION_TEXT_BYTES]; /* the positions of both */
    struct position_found found;     /* the last one. Its position has count 0: of a packet that is in no submit */
};

enum lap_status lap_state_list(const struct lap_state_view *view) LAP_MUST_CHECK;
/* LAP_ERROR_ARGUMENT: it does not live at the last ticket, or never did; the sentence says when it does. */
enum lap_status lap_state_object(const struct lap_state_view *view, uint32_t type, uint64_t index) LAP_MUST_CHECK;
/* What the command at the position finds bound. */
enum lap_status lap_state_bound(const struct lap_state_view *view) LAP_MUST_CHECK;
enum lap_status lap_state_diff(const struct lap_state_view *view) LAP_MUST_CHECK;

/* The failure for a type that is none: with those that the trace has. */
enum lap_status lap_state_no_type(const struct lap_state_view *view, const char *name) LAP_MUST_CHECK;

/* ---- shared by these files ---- */

/* find of lap_bound_names; user: the view. */
const char *lap_state_find_name(void *user, uint32_t type, uint64_t index);

/* Reads the trace once more, up to the last ticket. */
enum lap_status lap_state_read(const struct lap_state_view *view, const struct trace_visitor *visitor) LAP_MUST_CHECK;

/* How images and buffers were made, and the types of memory, up to the last ticket (state_resources.c). On failure *out
 * is NULL. */
struct lap_state_resources;
enum lap_status lap_state_resources_find(const struct lap_state_view *view,
                                         struct lap_state_resources **out) LAP_MUST_CHECK;
void lap_state_resources_free(struct lap_state_resources **resources); /* also for NULL */
/* In JSON further members of the object with this number; none of other types. */
void lap_state_put_resource(const struct lap_state_view *view, const struct lap_state_resources *resources,
                            size_t number);
/* "DEVICE_LOCAL HOST_VISIBLE". out: LAP_TEXT_FLAGS_MAX. */
void lap_state_memory_flags(VkMemoryPropertyFlags flags, char *out);

/* Of one object: descriptors of a set, layouts of an image, state of what synchronizes. Nothing for other types; in
 * JSON a member that is null. */
enum lap_status lap_state_set_contents(const struct lap_state_view *view,
                                       const struct object_life *life) LAP_MUST_CHECK;
enum lap_status lap_state_layouts(const struct lap_state_view *view, const struct object_life *life) LAP_MUST_CHECK;
enum lap_status lap_state_sync(const struct lap_state_view *view, const struct object_life *life) LAP_MUST_CHECK;
/* Begins a line of an object's text. */
void lap_state_put_title(const struct lap_state_view *view, const char *title);

/* Numbers of lives, by type and index. */
struct lap_state_set {
    size_t *numbers;
    size_t count;
};

typedef bool (*lap_state_choose_fn)(const struct lap_state_view *view, const struct object_life *life);
bool lap_state_lives_last(const struct lap_state_view *view, const struct object_life *life);
/* Those of the wanted type that are chosen. The caller frees out->numbers. */
enum lap_status lap_state_choose(const struct lap_state_view *view, lap_state_choose_fn choose,
                                 struct lap_state_set *out) LAP_MUST_CHECK;

/* A list in text: items with commas, broken into lines. */
struct lap_state_items {
    const struct lap_state_view *view;
    unsigned column, indent, count;
};
/* Begins with "TYPE COUNT:", or any other text. */
void lap_state_items_begin(struct lap_state_items *items, const struct lap_state_view *view, const char *title);
typedef void (*lap_state_suffix_fn)(const struct lap_state_view *view, const struct object_life *life, char out[80]);
/* [from, end) of a set: "VkImage:1 "name"SUFFIX", with the name at the last ticket. Runs of
 * objects without names are "VkImage:2 to 9SUFFIX". suffix may be NULL. */
void lap_state_items_put(struct lap_state_items *items, const struct lap_state_set *set, size_t from, size_t end,
                         lap_state_suffix_fn suffix);
void lap_state_items_end(struct lap_state_items *items);
/* All of a set, a list for each type; suffix may be NULL. */
void lap_state_put_set(const struct lap_state_view *view, const struct lap_state_set *set, lap_state_suffix_fn suffix);

const struct object_life *lap_state_life(const struct lap_state_view *view, size_t number);
/* which: 0 at the first ticket, 1 at the last one. NULL: none. */
const char *lap_state_name(const struct lap_state_view *view, size_t number, unsigned which);
/* Of memory that is bound to it at the last ticket, of all its planes. UINT64_MAX: nothing is known of that. */
uint64_t lap_state_bytes(const struct lap_state_view *view, size_t number);
/* Of a ticket; from 1. */
uint64_t lap_state_frame(const struct lap_state_view *view, uint64_t ticket);
/* JSON: "VkImage:1", with quotes; null for index 0. */
void lap_state_put_handle(FILE *out, uint32_t type, uint64_t index);
void lap_state_put_memory(const struct lap_state_view *view, const struct state_binding *binding);
extern const char *const lap_state_change_names[]; /* [enum state_change] */
void lap_state_put_change(FILE *out, const struct state_notes *notes, enum state_change change); /* JSON */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * slice: finds the packets on which a part of a trace depends. The packets of the part stay. Earlier packets stay that
 * create its objects, bind them to memory, and change them; and so do recorded command buffers that write contents
 * which the part reads. Other command buffers become empty, so that semaphores, fences and queues see the same submits.
 *
 * Where reads or writes can't be known (device addresses), everything that such work could reach counts as read and
 * written.
 */
#ifndef LAP_INSPECTOR_SLICE_SLICE_H
#define LAP_INSPECTOR_SLICE_SLICE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "inspector/position/find.h"
#include "inspector/state/contents.h"
#include "trace/read/reader.h"

struct slice;

enum slice_fate {
    SLICE_DROPPED,
    SLICE_KEPT,
    SLICE_EMPTIED /* lapilliBlock: only the beginning and the end of the command buffer */
};

typedef void (*slice_progress_fn)(void *user, uint64_t done, uint64_t all);

/* first, last: tickets of the part, 1 <= first <= last. draw: NULL, or the command with which the part ends: first and
 * last are its submit's, whose earlier command buffers stay where their contents are needed. Does not move `trace`.
 * progress (may be NULL) gets tickets, and twice `last` for all. On failure *out is NULL: the reader's and the
 * decoders' errors; LAP_ERROR_LIMIT: more packets or objects than can be followed; LAP_ERROR_MEMORY. */
enum lap_status slice_find(const struct lap_reader *trace, uint64_t first, uint64_t last,
                           const struct position_found *draw, slice_progress_fn progress, void *user,
                           struct slice **out) LAP_MUST_CHECK;
void slice_destroy(struct slice **slice); /* also for NULL */

/* The same with contents that are taken from a replay which stops in front of the part (inspector/state/contents.h):
 * packets that only made these do not stay. file: the contents; where one was not fully read, the work that made it
 * stays. NULL: slice_contents lists the contents for a replay, and no other function but slice_laid may be
 * called. */
enum lap_status slice_find_with_contents(const struct lap_reader *trace, uint64_t first, uint64_t last,
                                         const struct contents_file *file, slice_progress_fn progress, void *user,
                                         struct slice **out) LAP_MUST_CHECK;
const struct contents *slice_contents(const struct slice *slice);
bool slice_takes_content(const struct slice *slice, size_t line);
/* Images of which only the layouts matter, in lines of the same form: a replay is not asked for them. */
const struct contents *slice_laid(const struct slice *slice);
bool slice_takes_layout(const struct slice *slice, size_t line);
/* Counts the images, buffers, query pools and events, together where they share memory, that the part needs and earlier
 * work changed; and how many of them are taken. */
void slice_count_contents(const struct slice *slice, uint64_t *out_wanted, uint64_t *out_taken);
/* Of a queue or an image that is in slice_contents. */
uint32_t slice_queue_family(const struct slice *slice, uint64_t queue);
const VkImageCreateInfo *slice_image_info(const struct slice *slice, uint64_t image);
/* The object of another type that an object's creation names: its device, its pool. By numbers; 0: not known. */
uint64_t slice_parent_of(const struct slice *slice, uint32_t type, uint64_t index, uint32_t parent_type);
/* Of a lapilliBlock before the part: whether it is recorded again in front of the part, with all others of its command
 * pool that the part needs. At its old place it has no commands, unless earlier work needs them. */
bool slice_records_again(const struct slice *slice, uint64_t ticket);
/* Of a call before the part: whether it destroys an object that such a command buffer names, or one that is cut. The
 * destruction belongs behind the recording. */
bool slice_is_postponed(const struct slice *slice, uint64_t ticket);
/* The number in the trace of the next object of a type (enum gen_handle_type), after the given one, that stays and is
 * alive where the part begins; 0: there is none. */
uint64_t slice_next_alive(const struct slice *slice, uint32_t type, uint64_t behind);
/* A number that no object of the type has. */
uint64_t slice_unused_number(const struct slice *slice, uint32_t type);

/* Of a ticket up to the last one of the part. */
enum slice_fate slice_fate_of(const struct slice *slice, uint64_t ticket);
/* Of a lapilliBlock that stays whole: whether it executes other command buffers. */
bool slice_executes(const struct slice *slice, uint64_t ticket);
/* No object of the type that stays has this number, or a higher one. */
uint64_t slice_next_number(const struct slice *slice, uint32_t type);
/* How many numbers of objects are left out, of all types together, below the highest that stays of each. */
uint64_t slice_holes(const struct slice *slice);
/* Of a lapilliBlock: where it is work of its own before the part, not only executed by other command buffers. The
 * packets between it and other work may be left out, with their barriers. There are none where dynamic rendering is
 * suspended. */
struct slice_fences {
    bool front, behind;
};
struct slice_fences slice_fences_of(const struct slice *slice, uint64_t ticket);
/* Of a part that ends with a command: whether dynamic rendering is suspended in front of the command buffer at a place
 * of its position, and which command of which blob began it. */
bool slice_is_suspended(const struct slice *slice, unsigned place, uint64_t *out_block, uint32_t *out_command);
/* The same behind `count` of the command buffers that this one executes, from `first` on. */
enum slice_leaves { SLICE_LEAVES_AS_IT_WAS, SLICE_LEAVES_RESUMED, SLICE_LEAVES_SUSPENDED };
enum slice_leaves slice_leaves_executed(const struct slice *slice, unsigned place, uint32_t first, uint32_t count,
                                        uint64_t *out_block, uint32_t *out_command);

#endif

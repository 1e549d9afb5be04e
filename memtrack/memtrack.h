/* SPDX-License-Identifier: MIT */
/*
 * memtrack: tracks the host's writes to device memory, and the objects to which they belong (docs/memory.md). Knows no
 * trace format, no Vulkan headers and no layer, only memory, objects and ranges.
 *
 * A tracker belongs to one device. All calls on one tracker may come from any thread; each takes the tracker's mutex.
 * The program's own threads may write to mapped memory at any time, also while it is being compared.
 *
 * The life of a host write: store by the program -> scan (at lap_memtrack_collect, flush or unmap) finds the bytes that
 * differ from the shadow copy -> the spans become pending for every object that is bound there -> collect emits the
 * pending spans of the objects that the submitted work touches.
 */
#ifndef LAP_MEMTRACK_MEMTRACK_H
#define LAP_MEMTRACK_MEMTRACK_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/status.h"

struct lap_memtrack; /* one device */
struct lap_mem;      /* one device memory allocation */
struct lap_memobj;   /* one buffer or image (or plane of one) bound to memory */

enum lap_watch_kind { LAP_WATCH_AUTO, LAP_WATCH_PAGEMAP, LAP_WATCH_MPROTECT, LAP_WATCH_COMPARE };

struct lap_memtrack_options {
    enum lap_watch_kind watch; /* LAP_WATCH_AUTO probes */
    uint64_t non_coherent_atom_bytes;
    uint32_t coalesce_gap_bytes; /* spans closer than this become one; 0: a default */
    /* Mappings of at most this size are compared by choice where no object is bound that work writes: to watch them
     * costs more than to read them. Mappings up to four times as large are compared until they have been read often. 0:
     * none. */
    uint32_t small_bytes;
    const struct lap_log *log;
};

enum lap_status lap_memtrack_create(const struct lap_memtrack_options *options,
                                    struct lap_memtrack **out) LAP_MUST_CHECK;
void lap_memtrack_destroy(struct lap_memtrack **tracker); /* also frees all that is still in it */

/* "compare", "mprotect" or "pagemap", and the reason for it (both static or owned by the tracker). */
const char *lap_memtrack_watch_name(const struct lap_memtrack *tracker);
const char *lap_memtrack_watch_reason(const struct lap_memtrack *tracker);

/* True when the watch can be armed on this mapping; nothing is watched afterwards. */
bool lap_memtrack_can_watch(struct lap_memtrack *tracker, void *begin, size_t bytes);

/* The tracker's mutex, for a caller that holds it around a fork() and makes it anew in the child. */
pthread_mutex_t *lap_memtrack_mutex(struct lap_memtrack *tracker);

/* Numbers of mappings: all so far; those compared at first because they are small; and those that could not be watched
 * and were compared instead. The reason is that of the first of the latter, or NULL; owned by the tracker. */
struct lap_watch_counts {
    uint64_t mappings, small, compared;
};
struct lap_watch_counts lap_memtrack_watch_counts(const struct lap_memtrack *tracker, const char **out_reason);

/* ---- memory ---- */

enum lap_mem_flags {
    LAP_MEM_HOST_VISIBLE = 1,
    LAP_MEM_HOST_COHERENT = 2, /* without it only flushed ranges count as written */
    /* Newly allocated and not imported: its content before the first write is undefined, often the data of an earlier
     * owner of the pages. A program that stores the very same values can't be noticed by comparing, so bytes that are
     * not zero when they are mapped for the first time count as written by the host, unless the device wrote them.
     * Don't set it for imported memory. */
    LAP_MEM_FRESH = 4,
    /* Pages of the program's own, which it filled before they became device memory: bytes that are not zero when they
     * are mapped for the first time count as written by the host, unless the device wrote them. Not with
     * LAP_MEM_FRESH. */
    LAP_MEM_FILLED = 8,
    /* The same bytes may be stored to through other mappings, or by other processes, which no watch sees: so they are
     * always compared. */
    LAP_MEM_SHARED = 16,
    /* Work may store anywhere in it without being announced, and the program means to read that: see
     * lap_memtrack_doubt. */
    LAP_MEM_READ_BACK = 32
};

enum lap_status lap_mem_create(struct lap_memtrack *tracker, uint64_t bytes, uint32_t flags,
                               struct lap_mem **out) LAP_MUST_CHECK;
/* Memory that is made of host pages of the program's own: [pointer, pointer + bytes) is mapped from now on until it is
 * destroyed. flags has LAP_MEM_HOST_VISIBLE; LAP_MEM_FILLED is implied. Several such memories of one tracker may have
 * pages in common: the state of a byte is kept once, for the objects of all of them; it counts as coherent, or shared
 * with others, if one of them is. LAP_ERROR_ARGUMENT, LAP_ERROR_MEMORY: nothing is there. */
enum lap_status lap_mem_import(struct lap_memtrack *tracker, void *pointer, uint64_t bytes, uint32_t flags,
                               struct lap_mem **out) LAP_MUST_CHECK;
/* Memory whose bytes other memories of the tracker have too: all those of one key, which are of one size. Others may
 * write these bytes as well, so they are compared. A change since the last comparison counts as written by the host
 * unless the device wrote it, also at a map. flags: of the memory type; a flag of one memory counts for all of its key.
 * lap_mem_map and lap_mem_unmap do nothing: see lap_mem_point. */
enum lap_status lap_mem_join(struct lap_memtrack *tracker, uint64_t key, uint64_t bytes, uint32_t flags,
                             struct lap_mem **out) LAP_MUST_CHECK;
/* Sets where such memory can be read from now on, for all of its key. NULL: nowhere; its last content is read first. A
 * pointer may be replaced by another one to the same bytes. */
void lap_mem_point(struct lap_mem *mem, void *pointer);
/* Called, for all memory of its key, before the bytes at its pointer are read. Under the tracker's mutex, so it calls
 * nothing of memtrack. NULL: the pointer shows the bytes themselves. */
typedef void (*lap_mem_fetch_fn)(void *user);
void lap_mem_fetch_with(struct lap_mem *mem, lap_mem_fetch_fn fetch, void *user);
/* For memory that was imported: others write its pages from now on, as with LAP_MEM_SHARED. */
void lap_mem_share(struct lap_mem *mem);
/* Objects that are still bound lose their memory. */
void lap_mem_destroy(struct lap_mem **mem);

/* The program mapped [offset, offset + bytes) and got `pointer` (which need not be page-aligned) for its first byte.
 * The content at this moment is no host write: it becomes the baseline (but see LAP_MEM_FRESH and LAP_MEM_FILLED).
 * bytes may be UINT64_MAX. On an error nothing is mapped: LAP_ERROR_ARGUMENT, or LAP_ERROR_MEMORY, which every collect
 * then repeats. */
enum lap_status lap_mem_map(struct lap_mem *mem, void *pointer, uint64_t offset, uint64_t bytes) LAP_MUST_CHECK;
/* The program is about to map memory that was created without LAP_MEM_HOST_VISIBLE: it gets these flags. visit is
 * called with the `user` of each object there, under the tracker's mutex. Not for imports and views. */
void lap_mem_becomes_visible(struct lap_mem *mem, uint32_t flags, void (*visit)(void *context, void *user),
                             void *context);
/* Before the driver unmaps: scans the writes and keeps them. */
void lap_mem_unmap(struct lap_mem *mem);
bool lap_mem_mapped(const struct lap_mem *mem);

/* vkFlushMappedMemoryRanges: these bytes were written. vkInvalidateMappedMemoryRanges: the bytes there now came from
 * the device. bytes may be UINT64_MAX (to the end of the mapping). */
void lap_mem_flush(struct lap_mem *mem, uint64_t offset, uint64_t bytes);
void lap_mem_invalidate(struct lap_mem *mem, uint64_t offset, uint64_t bytes);

/* An object was bound over bytes that the device wrote while they were not mapped, so the object's content could not be
 * read: the smallest range that has all such bytes. False: there are none, or the memory is mapped. */
bool lap_mem_has_unread(const struct lap_mem *mem, uint64_t *out_offset, uint64_t *out_bytes);
/* pointer shows, during this call, the device's view of [offset, offset + bytes) of a memory that is not mapped: the
 * content for objects there becomes pending for them. Without it they get it at the next map. The program must not map
 * the memory meanwhile; mapped memory is left alone. */
void lap_mem_show(struct lap_mem *mem, void *pointer, uint64_t offset, uint64_t bytes);

/* ---- objects ---- */

/* user is handed to lap_emit_fn. bytes is the object's created size (for images the size it needs at capture). */
enum lap_status lap_memobj_create(struct lap_memtrack *tracker, void *user, uint64_t bytes, bool host_readable_layout,
                                  struct lap_memobj **out) LAP_MUST_CHECK;
void lap_memobj_destroy(struct lap_memobj **object);
/* No work ever writes to the object, not even work that writes to unknown places. Before it is bound. */
void lap_memobj_only_read(struct lap_memobj *object);
/* The object lies at `offset` of `mem` from now on. The host's earlier writes there are pending for it. So are the
 * writes of finished work there for objects that are gone, unless another object with a readable layout lies there,
 * which gives them to it in a replay, too. An object may be bound in several pieces: object_offset and bytes give the
 * part; a piece replaces older ones in its range. */
enum lap_status lap_memobj_bind(struct lap_memobj *object, uint64_t object_offset, struct lap_mem *mem, uint64_t offset,
                                uint64_t bytes) LAP_MUST_CHECK;
/* The same for a page of a sparse object, which a replay keeps for the next object bound there: the device's writes are
 * not pending for it. */
enum lap_status lap_memobj_bind_sparse(struct lap_memobj *object, uint64_t object_offset, struct lap_mem *mem,
                                       uint64_t offset, uint64_t bytes) LAP_MUST_CHECK;
void lap_memobj_unbind(struct lap_memobj *object, uint64_t object_offset, uint64_t bytes);
/* An object without readable layout, of the same size, that lies where this part of the object lies now: its own places
 * stay when the object moves on. For the device's later writes there. */
enum lap_status lap_memobj_keep(struct lap_memobj *object, uint64_t offset, uint64_t bytes,
                                struct lap_memobj **out) LAP_MUST_CHECK;
/* The first part of [*offset, *offset + *bytes) of the object that lies in [begin, end) of the memory; the range
 * becomes that part. False when none does. */
bool lap_memobj_find(const struct lap_memobj *object, const struct lap_mem *mem, uint64_t begin, uint64_t end,
                     uint64_t *offset, uint64_t *bytes);
/* Memory and offset of the first piece, and presence of another live object in some of the same bytes. mem NULL when
 * not bound. */
struct lap_memobj_place {
    const struct lap_mem *mem;
    uint64_t offset;
    bool aliased;
};
struct lap_memobj_place lap_memobj_place(const struct lap_memobj *object);
/* True when other objects have lain in its bytes while it did, or the device may have written there for others before.
 * A replay's object, which may have memory of its own, may lack their data. */
bool lap_memobj_shares(const struct lap_memobj *object);
/* Visits the other objects that lie in these bytes of the object now, with their own ranges there. Under the tracker's
 * mutex. bytes may be UINT64_MAX. */
typedef void (*lap_alias_fn)(void *context, struct lap_memobj *other, uint64_t offset, uint64_t bytes);
void lap_memobj_each_alias(struct lap_memobj *object, uint64_t offset, uint64_t bytes, lap_alias_fn visit,
                           void *context);
void *lap_memobj_user(const struct lap_memobj *object);

/* Gets bytes that are valid during the call, and calls nothing of memtrack. Under the tracker's mutex, so they are not
 * unmapped or freed meanwhile. */
typedef void (*lap_look_fn)(void *context, uint64_t object_offset, const void *data, uint64_t bytes);

/* Looks at the first part of [offset, offset + bytes) of the object that lies in one piece and is mapped now: passes to
 * visit, run by run and in ascending order, the bytes that the device wrote last, as the program's mapping shows them.
 * Coherent memory is scanned first: later stores of the host are its own. Bytes that submitted work may be writing are
 * left out. *out_offset and *out_bytes: that part. False, and no call, when nothing of the range is mapped. */
bool lap_memobj_look_device(struct lap_memobj *object, uint64_t offset, uint64_t bytes, lap_look_fn visit,
                            void *context, uint64_t *out_offset, uint64_t *out_bytes);

/* ---- touched and written ranges ---- */

/* The ranges that submitted work touches. Plain data, owned by the caller, sorted and merged by lap_touched_seal. An
 * object must be alive when it is added, and all must be in every call that gets the list with a tracker.
 *
 * `written` is a promise: the device owns these bytes from the collect that names them until lap_memtrack_device_wrote,
 * and the host stores nothing there in between. It is false for work that can't begin yet; when that may begin,
 * everything is collected, and then its writes are named. It is also false where the writes aren't known (a storage
 * buffer that a shader may write somewhere): the device's bytes may then be sent as if the host had stored them, but no
 * store of the host is lost. */
struct lap_touched_range {
    struct lap_memobj *object;
    uint64_t offset, bytes;
    uint64_t written : 1;
    uint64_t order : 63; /* of the object: a list is sorted without access to its objects, some of which may be gone */
};
struct lap_touched {
    struct lap_touched_range *ranges;
    size_t count, capacity;
    bool everything; /* the ranges can't be known: all exposed memory */
};
void lap_touched_init(struct lap_touched *touched);
void lap_touched_finish(struct lap_touched *touched);
void lap_touched_reset(struct lap_touched *touched);
/* bytes UINT64_MAX: to the object's end. Ranges outside the object are clamped. False when out of memory. */
bool lap_touched_add(struct lap_touched *touched, struct lap_memobj *object, uint64_t offset, uint64_t bytes,
                     bool written);
bool lap_touched_append(struct lap_touched *touched, const struct lap_touched *more);
/* True when the range added last covers these bytes (end UINT64_MAX: to the object's end) as read. */
static inline bool lap_touched_reads(const struct lap_touched *touched, const struct lap_memobj *object,
                                     uint64_t object_bytes, uint64_t offset, uint64_t end)
{
    const struct lap_touched_range *last = touched->count ? &touched->ranges[touched->count - 1] : NULL;
    return last && last->object == object && !last->written && offset >= last->offset &&
           (end < object_bytes ? end : object_bytes) <= last->offset + last->bytes;
}
/* Sorts by object (in the order of creation), read before written, and merges. Touches the same bytes afterwards. */
void lap_touched_seal(struct lap_touched *touched);

/* Gets one run of bytes to send, in a copy that is valid during the call. Called under the tracker's mutex. */
typedef enum lap_status (*lap_emit_fn)(void *context, void *object_user, uint64_t object_offset, const void *data,
                                       uint64_t bytes);

/* The next collect also counts the scans of flushes and unmaps since the last one. */
struct lap_collect_stats {
    uint64_t scanned_bytes, changed_bytes, emitted_bytes, spans;
    uint64_t unwatched_bytes; /* of the scanned ones: those of mappings that can't be watched */
};

/* Called once behind the last run, with the tracker's mutex still held, also when there was none or emit failed. No
 * object that emit was given is gone by then. */
typedef enum lap_status (*lap_emitted_fn)(void *context);

/* At submit: scans exposed memory that the touched ranges (or, with touched NULL or ->everything, all objects) lie in
 * and emits the pending bytes there, at most 1 MiB a call. Objects with host_readable_layout false (optimal images) are
 * never emitted. Where a touched range is ->written, pending bytes of other objects there are emitted too. When emit
 * returns anything but LAP_OK, collect stops and returns that; the rest stays pending. emitted and stats may be NULL.
 * LAP_ERROR_MEMORY is final: some write was not tracked. */
enum lap_status lap_memtrack_collect(struct lap_memtrack *tracker, const struct lap_touched *touched, lap_emit_fn emit,
                                     lap_emitted_fn emitted, void *context,
                                     struct lap_collect_stats *stats) LAP_MUST_CHECK;

/* The program has learnt that the device finished writing these ranges (those with ->written): their bytes are no host
 * writes, and nothing is pending in them any more. ->everything is ignored here. Bytes of the same pages that the host
 * owns keep counting. Ranges in memory that is not mapped are remembered. */
void lap_memtrack_device_wrote(struct lap_memtrack *tracker, const struct lap_touched *touched);

/* Work that may have stored anywhere has finished, as far as the program knows. A watch need not see the device's
 * stores, so mapped memory with LAP_MEM_READ_BACK is compared in the next collect, whether reported or not. */
void lap_memtrack_doubt(struct lap_memtrack *tracker);

/* Gets bytes of an object in which a comparison found a change: as a replay has them if nobody but the host wrote
 * there, and as they are, both valid during the call. Changes of bytes that are pending are not told. alone: no other
 * object lies there. object_user NULL: the comparisons of a collect or of a map are over. Under the tracker's mutex, so
 * it may call nothing of memtrack. */
typedef void (*lap_changed_fn)(void *context, void *object_user, bool alone, uint64_t object_offset, const void *before,
                               const void *now, uint64_t bytes);
/* Calls changed for what the calling thread finds from now on; NULL: nobody asks. Changes that other threads find are
 * not told, since these may be anywhere in a call. One thread may ask at a time. */
void lap_memtrack_on_change(struct lap_memtrack *tracker, lap_changed_fn changed, void *context);

/* Submitted work that may still run, as far as the program knows, writes these ranges (those with ->written). No scan
 * compares their bytes: it would take the device's stores so far for the host's, and sent to a replay they would undo
 * the replay device's work. With `only`, ranges of earlier calls are not busy any more: after
 * lap_memtrack_device_wrote, name the rest. touched NULL: nothing. */
void lap_memtrack_device_busy(struct lap_memtrack *tracker, const struct lap_touched *touched, bool only);

#endif

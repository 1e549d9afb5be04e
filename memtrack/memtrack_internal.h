/* SPDX-License-Identifier: MIT */
/*
 * memtrack_internal: shared by the files of memtrack. Everything here is called with the tracker's mutex held, except
 * where noted. Offsets are in the memory's space unless they are called object offsets; ranges are [begin, end).
 *
 * docs/memory.md, "Invariants", has the conditions between two calls; invariants.h checks them.
 */
#ifndef LAP_MEMTRACK_INTERNAL_H
#define LAP_MEMTRACK_INTERNAL_H

#include <pthread.h>
#include <stddef.h>

#include "base/tree.h"
#include "memtrack/interval.h"
#include "memtrack/memtrack.h"
#include "memtrack/shadow.h"
#include "memtrack/watch.h"

#define LAP_EMIT_BYTES (1u << 20) /* the most that one call of lap_emit_fn gets */

/* Ranges that are gathered, so that each set is changed once for many of them. */
struct lap_span_list {
    size_t count;
    struct lap_span at[512];
};

/* False: the list is full, or the range is not behind the others. */
static inline bool lap_span_list_add(struct lap_span_list *list, uint64_t begin, uint64_t end)
{
    if (list->count == sizeof(list->at) / sizeof(list->at[0]) || (list->count && begin < list->at[list->count - 1].end))
        return false;
    list->at[list->count++] = (struct lap_span){begin, end};
    return true;
}

/* The list's ranges as they are, and one range. */
static inline struct lap_spans lap_spans_of(const struct lap_span_list *list)
{
    return (struct lap_spans){list->at, list->count, 0, UINT64_MAX, 0};
}

static inline struct lap_spans lap_spans_of_one(const struct lap_span *span)
{
    return (struct lap_spans){span, span->begin < span->end, 0, UINT64_MAX, 0};
}

struct lap_memtrack {
    pthread_mutex_t mutex;
    const struct lap_watch_ops *watch;
    void *watch_context;
    int process; /* that made it */
    char watch_reason[256];
    struct lap_watch_counts watch_counts;
    char compared_reason[160]; /* of the first mapping that could not be watched */
    const struct lap_log *log;
    uint64_t atom_bytes;
    uint32_t gap_bytes, small_bytes;
    uint64_t next_order;    /* numbers objects and pieces in the order of their creation */
    enum lap_status failed; /* latched: tracking is incomplete, so nothing is valid from here on */
    struct lap_page_pool shadow_pages;
    struct lap_mem *mems;
    struct lap_mem *views;       /* imports; not in mems */
    struct lap_tree_node *pages; /* the parts that imports lie in: lap_mem.in_pages, disjoint */
    struct lap_memobj *objects;
    struct lap_memobj *pending_first, *pending_last; /* objects with something pending, oldest first */
    struct lap_collect_stats since;                  /* results of flushes and unmaps since the last collect */
    struct lap_watch_range *asked;                   /* the next ranges for the watch, all at once */
    size_t asked_count, asked_capacity;
    struct lap_span_list reported; /* candidates of one memory that are about to be compared */
    struct lap_span_list wrote;    /* by the host in the memory that is being compared; in no set yet */
    struct lap_span_list gathered; /* by a collect, of one memory or object */
    lap_changed_fn changed;        /* NULL: nobody asks */
    void *changed_context;
    pthread_t changed_thread;            /* that asks */
    unsigned char *chunk;                /* LAP_EMIT_BYTES for spans that cross shadow pages; NULL until needed */
    unsigned char page[LAP_SHADOW_PAGE]; /* the copy that is compared */
};

struct lap_mem {
    struct lap_memtrack *tracker;
    struct lap_mem *previous, *next; /* in tracker->mems or tracker->views */
    uint64_t bytes;
    uint32_t flags;
    struct lap_shadow shadow;
    struct lap_interval written;    /* W: bytes that the host wrote last */
    struct lap_interval device;     /* D: bytes that the device wrote, or was ordered to write, after the host did */
    struct lap_interval unread;     /* U: bytes of D that are newer than the shadow */
    struct lap_interval finished;   /* F: bytes of D with which the device is known to have finished */
    struct lap_interval stale;      /* S: bytes of F whose shadow may differ from the device's writes */
    struct lap_interval owed;       /* O: bytes of S, or given with the host's view, that an object inherits */
    struct lap_interval seen;       /* bytes that were read when they were mapped */
    struct lap_interval busy;       /* bytes that submitted work may be writing now: not to be compared */
    struct lap_interval candidates; /* reported by the watch and not compared yet */
    struct lap_interval todo;       /* to scan in the collect that is under way */
    struct lap_mem *next_todo;
    struct lap_tree_node *pieces; /* lap_piece.in_mem */
    bool device_anywhere;         /* work that may have written it in unknown places was submitted since it was read */
    bool mapped;
    unsigned char *pointer; /* of map_begin */
    uint64_t map_begin, map_end;
    const struct lap_watch_ops *watch; /* of this mapping */
    void *region;
    bool chosen;           /* compared though it could be watched: see lap_mem_watch_chosen */
    uint64_t compare_left; /* bytes to compare before that costs more than a watch */
    uint32_t writables;    /* pieces of objects that work may write to */
    /* Of views and parts only, see shared_pages.c: */
    bool is_view;                  /* has no bytes of its own: those of the parts at its addresses */
    struct lap_mem *whole;         /* of a view: its only part, which it has in common with others of its key */
    uint64_t key;                  /* of a view with one */
    uint64_t address;              /* of offset 0; 0 with a key */
    struct lap_tree_node in_pages; /* of a part: its mapped addresses */
    uint32_t users;                /* of a part: how many views lie over it, each over all of it */
    lap_mem_fetch_fn fetch;        /* of a part: lap_mem_fetch_with */
    void *fetch_user;
};

struct lap_memobj {
    struct lap_memtrack *tracker;
    struct lap_memobj *previous, *next; /* in tracker->objects */
    struct lap_memobj *pending_previous, *pending_next;
    void *user;
    uint64_t bytes, order;
    bool readable;
    bool only_read; /* by work */
    bool sparse;    /* lies in pages that a replay keeps for the next object bound there */
    bool shared;    /* other objects lay in its bytes while it did, or the device had written there before */
    struct lap_interval pending;  /* P, object offsets */
    struct lap_tree_node *pieces; /* lap_piece.in_object, disjoint */
};

/* A part of an object in a part of a memory. */
struct lap_piece {
    struct lap_tree_node in_mem, in_object;
    struct lap_mem *mem;
    const struct lap_mem *view; /* that the program named, when mem is a part of it; NULL: it named mem */
    struct lap_memobj *object;
    struct lap_piece *next; /* of those that are being made or destroyed */
};

#define LAP_PIECE_OF_MEM(node)    ((struct lap_piece *)(void *)((char *)(node)-offsetof(struct lap_piece, in_mem)))
#define LAP_PIECE_OF_OBJECT(node) ((struct lap_piece *)(void *)((char *)(node)-offsetof(struct lap_piece, in_object)))

/* tracker.c. No lock is held. `ops` has begun, and ends with the tracker. */
enum lap_status lap_memtrack_create_watched(const struct lap_memtrack_options *options, const struct lap_watch_ops *ops,
                                            void *context, const char *reason,
                                            struct lap_memtrack **out) LAP_MUST_CHECK;
/* Whether the calling thread asks for changes. */
static inline bool lap_memtrack_tells(const struct lap_memtrack *tracker)
{
    return tracker->changed && pthread_equal(tracker->changed_thread, pthread_self());
}
/* Comparisons are over; whoever asks for changes learns it. */
void lap_memtrack_told(struct lap_memtrack *tracker);
/* Latches LAP_ERROR_MEMORY: from now on every collect fails. */
void lap_memtrack_break(struct lap_memtrack *tracker);

static inline void lap_memtrack_lock(const struct lap_memtrack *tracker)
{
    pthread_mutex_lock((pthread_mutex_t *)&tracker->mutex);
}

static inline void lap_memtrack_unlock(const struct lap_memtrack *tracker)
{
    pthread_mutex_unlock((pthread_mutex_t *)&tracker->mutex);
}

/* scan.c. All ranges lie inside the mapping. */
void lap_mem_scan(struct lap_mem *mem, uint64_t begin, uint64_t end, struct lap_collect_stats *stats);
/* The same for all of mem->todo, which is empty afterwards. The watch has been asked already. */
void lap_mem_scan_todo(struct lap_mem *mem, struct lap_collect_stats *stats);
/* Asks the watch: ranges that it reports in [begin, end), or in mem->todo, become candidates with the next
 * lap_memtrack_take_asked. Nothing where the watch isn't exact. */
void lap_mem_ask(struct lap_mem *mem, uint64_t begin, uint64_t end);
void lap_mem_ask_todo(struct lap_mem *mem);
void lap_memtrack_take_asked(struct lap_memtrack *tracker);
/* Asks the watch: ranges that it reports in [begin, end) become candidates. Only where the watch is exact. */
void lap_mem_take(struct lap_mem *mem, uint64_t begin, uint64_t end);
/* The current content is no host write; unchanged bytes of the host stay the host's. */
void lap_mem_baseline(struct lap_mem *mem, uint64_t begin, uint64_t end);
/* The same for the ranges that the watch reports; others have not changed. */
void lap_mem_baseline_written(struct lap_mem *mem, uint64_t begin, uint64_t end);
/* The host wrote the range, or the trace has to give it as if it had: it becomes pending for all objects there. The
 * shadow has its content, or is about to. */
void lap_mem_host_wrote(struct lap_mem *mem, uint64_t begin, uint64_t end);
/* Copies the mapping to the shadow, whichever side wrote it. */
void lap_mem_read(struct lap_mem *mem, uint64_t begin, uint64_t end);
/* Reads the device's writes since the range was last mapped. */
void lap_mem_read_device(struct lap_mem *mem, uint64_t begin, uint64_t end);
/* Submitted work will write the ranges, sometime before it is known to have finished. They may pass the mapping. */
void lap_mem_expect_device(struct lap_mem *mem, const struct lap_spans *spans);
/* The device wrote all the bytes that are there now. The ranges may pass the mapping. */
void lap_mem_absorb_device(struct lap_mem *mem, const struct lap_spans *spans);
/* Bytes that differ from the shadow count as written by the host, also without a report of the watch. */
void lap_mem_compare(struct lap_mem *mem, uint64_t begin, uint64_t end, struct lap_collect_stats *stats);

/* memory.c */
/* Arms the watch of the mapping, and reads the bytes that have to be known. */
void lap_mem_watch(struct lap_mem *mem);
/* The mapping was compared by choice, and is watched from now on; its current content is compared once more. Does
 * nothing for other mappings. */
void lap_mem_watch_chosen(struct lap_mem *mem);
/* From now on all of the mapping is compared: others write it too, which no watch sees. */
void lap_mem_compare_always(struct lap_mem *mem);
/* As lap_mem_unmap. */
void lap_mem_end_mapping(struct lap_mem *mem);
/* Enters a new memory, which the caller fills in; and ends one, with the pieces in it. */
struct lap_mem *lap_mem_add(struct lap_memtrack *tracker, uint64_t bytes, uint32_t flags);
void lap_mem_remove(struct lap_mem *mem);

/* shared_pages.c. A part of a view: [begin, end) of mem. */
struct lap_part {
    struct lap_mem *mem;
    uint64_t begin, end;
};
/* The first part in [*at, end) of the view; *at is moved behind it. A memory that is no view is its own only part.
 * False: there is none. */
bool lap_mem_next_part(struct lap_mem *mem, uint64_t *at, uint64_t end, struct lap_part *out);
void lap_view_remove(struct lap_mem *view); /* with the objects that were bound through it */
/* The number to add to an offset in piece->mem for the offset in the memory that the program named, or in `view`. */
uint64_t lap_piece_to_view(const struct lap_piece *piece, const struct lap_mem *view);
/* The memory that the program named, or one of the same key or pages, has the piece. */
bool lap_mem_may_show(const struct lap_mem *mem, const struct lap_piece *piece);

/* device_leftovers.c: the device's writes for objects that are bound later. */
/* The ranges are written again: the device's bytes there are gone. */
void lap_mem_overwritten(struct lap_mem *mem, const struct lap_spans *spans);
/* The device has finished with the ranges, which have not been read yet. */
void lap_mem_left(struct lap_mem *mem, const struct lap_spans *spans);
/* The shadow of the range goes away. */
void lap_mem_lose(struct lap_mem *mem, uint64_t begin, uint64_t end);
/* An object is about to be bound over the range. */
void lap_mem_inherit(struct lap_mem *mem, uint64_t begin, uint64_t end);
/* The mapping shows the device's writes: owed bytes there are given. */
void lap_mem_settle(struct lap_mem *mem, uint64_t begin, uint64_t end);
/* The host sees the device's writes from now on: the mapping is read. */
void lap_mem_becomes_coherent(struct lap_mem *mem);
/* The shadow is the host's view, and is given in the meantime; the range stays owed. */
void lap_mem_settle_host_view(struct lap_mem *mem, uint64_t begin, uint64_t end);

/* object.c */
void lap_memobj_add_pending(struct lap_memobj *object, const struct lap_spans *spans);
void lap_memobj_drop_pending(struct lap_memobj *object, uint64_t begin, uint64_t end);
void lap_memobj_drop_all_pending(struct lap_memobj *object, const struct lap_spans *spans);
/* Enters a piece that the caller allocated. */
void lap_piece_set(struct lap_piece *piece, struct lap_memobj *object, uint64_t object_begin,
                   const struct lap_mem *view, struct lap_mem *mem, uint64_t begin, uint64_t bytes);
void lap_piece_destroy(struct lap_piece *piece); /* takes it out of both trees; pending is the caller's business */

#endif

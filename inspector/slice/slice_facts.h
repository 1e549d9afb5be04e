/* SPDX-License-Identifier: MIT */
/*
 * slice_facts: what a trace says up to the end of the part: its objects and packets, with their names and effects. The
 * first of three floors: slice_see.h fills it, slice_solve.h reads it and finds what stays. For the files of this
 * folder.
 */
#ifndef LAP_INSPECTOR_SLICE_SLICE_FACTS_H
#define LAP_INSPECTOR_SLICE_SLICE_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gen_ids.h"
#include "inspector/position/find.h"
#include "inspector/slice/slice.h"
#include "vulkan/set_layout.h"

/* A step of a block or a submit. In 64 bits: the kind, and a number. */
enum slice_step {
    SLICE_READ = 1,   /* object */
    SLICE_CHANGE,     /* object: some of it is written, the rest stays */
    SLICE_REPLACE,    /* object: its old contents do not matter any more */
    SLICE_CLEAR,      /* object: the same, but the layout does matter */
    SLICE_LAYOUT,     /* object: its layout or owner changes, the contents stay */
    SLICE_LAID,       /* object: its layout does matter, and stays */
    SLICE_SET,        /* object: a descriptor set */
    SLICE_EXECUTE,    /* object: a secondary command buffer */
    SLICE_BEGIN,      /* packet: of the block whose steps follow. Only during a walk over steps */
    SLICE_RUN,        /* packet: of a primary block; its steps follow. In submits only */
    SLICE_ADDRESSES,  /* reads and writes through device addresses */
    SLICE_EVERYTHING, /* may read and write everything */
    SLICE_NEEDS,      /* packet: stays if this one does */
    SLICE_SPAN,       /* an offset; the next entry of the list is the size. Of host writes */
    SLICE_RESUME,     /* suspended dynamic rendering is resumed */
    SLICE_SUSPEND,    /* number of the command that began it: dynamic rendering ends, and is suspended */
    SLICE_EVENT_SET,  /* object: an event */
    SLICE_EVENT_RESET,
    SLICE_EVENT_WAIT
};

static inline uint64_t slice_step(enum slice_step kind, uint64_t number)
{
    return (uint64_t)kind << 56 | number;
}
static inline enum slice_step slice_step_kind(uint64_t step)
{
    return (enum slice_step)(step >> 56);
}
static inline uint64_t slice_step_number(uint64_t step)
{
    return step & ((UINT64_C(1) << 56) - 1);
}

struct slice_steps {
    uint64_t *at;
    size_t count, capacity;
};

struct slice_ids {
    uint32_t *at;
    size_t count, capacity;
};

struct slice_run { /* of a pool */
    uint64_t from;
    uint32_t count;
};

enum slice_kind {
    SLICE_NOTHING, /* dropped before the part */
    SLICE_STAYS,
    SLICE_TELLS,     /* stays if all objects that it names do */
    SLICE_MAKES,     /* stays with any object that it makes or destroys, or is of */
    SLICE_WRITES,    /* host writes: if the contents are needed */
    SLICE_ACCESSES,  /* the same of copies and layouts, which need other contents themselves */
    SLICE_DESCRIBES, /* descriptors: if a submit sees one of them */
    SLICE_BLOCK,
    SLICE_SUBMIT,
    SLICE_ASKS,  /* whether work is complete; where contents are taken: if all of that work stays */
    SLICE_ORDERS /* semaphores, fences, swapchains: if another packet needs it */
};

struct slice_packet {
    struct slice_run names; /* ids of objects in slice_facts.ids */
    /* Of creations and the like: the same. Of a block: in slice_facts.ids, packets of the blocks that it executes, one
     * for each SLICE_EXECUTE, 0 for none. Of descriptors: in slice_sets.written. */
    struct slice_run subjects;
    struct slice_run steps; /* in slice_facts.steps. Of a block: the number of its blob, and 0 */
    uint32_t end;           /* of a submit: the later packet with which its work goes on; 0: there is none */
    uint8_t kind;
    bool submitted;
    bool stays;     /* although its kind alone would not keep it */
    bool seen;      /* the host has asked for its fence, or waited for it */
    bool unreached; /* it waits for a value that is not signalled up to the end of the part */
    uint8_t leaves; /* of a block: enum slice_leaves */
    bool goes_on;   /* of a block: dynamic rendering is suspended in front of it in a submit */
    bool pauses;    /* the same behind it */
};

#define SLICE_INLINED (UINT64_C(1) << 32)
struct slice_slot {
    uint64_t key;    /* a slot of the layout; SLICE_INLINED | the binding of an inline uniform block */
    uint32_t object; /* 0: none */
    uint32_t packet; /* that wrote it; 0: it was not written yet */
    uint8_t access;  /* enum slice_step; 0: none */
};

struct slice_set {                       /* its state at the place of the walk */
    const struct lap_set_layout *layout; /* NULL: not known */
    struct slice_slot *slots;
    size_t count, capacity;
    uint32_t *index; /* a hash table of 1 + the numbers of slots */
    size_t index_size;
    uint32_t changing; /* slots with SLICE_CHANGE */
};

struct slice_written { /* a slot that a packet writes: the state that the set does not have, before or behind it */
    uint32_t set, slot;
    uint32_t object, packet;
    uint8_t access;
};

/* The descriptor sets, as they are at the place of a walk over the packets: whatever goes over these again unwrites and
 * rewrites them. */
struct slice_sets {
    struct slice_set *at;
    size_t count, capacity;
    struct slice_written *written;
    size_t written_count, written_capacity;
    uint64_t unpaid; /* of them: slots that took no bytes of the trace */
    struct lap_set_layout **layouts;
    size_t layout_count, layout_capacity;
};

struct slice_object {
    uint64_t index;            /* in the trace, of its type */
    uint64_t bytes;            /* of a buffer; of a query pool: how many; of memory: where it begins in its space;
                                * of a timeline: its first value */
    uint64_t space;            /* of memory that shares bytes with other memory; 0: it does not */
    uint32_t maker, destroyer; /* packets; 0: none */
    struct slice_run
        contents; /* images, buffers, query pools and events whose contents can be reached through it; also itself */
    struct slice_run refs;          /* of a framebuffer: its attachments; of a swapchain: its images */
    uint32_t same_as;               /* a part of a tree of objects that share contents; in the end its root */
    uint32_t mips, layers, aspects; /* of an image; layers: also of a framebuffer */
    uint32_t width, height;         /* of an image or a swapchain; 0: of a volume, or not known */
    uint32_t block;                 /* packet, of a command buffer */
    uint32_t set;                   /* 1 + number in slice_facts.sets; of a layout: in its layouts */
    uint32_t queries;               /* of a query pool: its type */
    uint32_t discards;              /* of a render pass: attachments, by bit, whose old contents it discards */
    uint32_t clears;                /* the same: whose old contents it replaces in the render area */
    uint16_t type;
    bool full;      /* a view of a whole image */
    bool addresses; /* it is also accessed through device addresses */
    bool timeline;  /* a semaphore */
    bool chained;   /* exported or imported: all changes to it stay */
    bool shared;    /* of a root: others are in its tree, so nothing replaces all of it */
    bool placed;    /* it lies in memory */
    bool presented; /* an image of a swapchain */
    bool opaque;    /* of a buffer or a query pool: its contents mean nothing to another device, or can't be read */
};

/* The effect of a packet on an object that orders work. */
enum slice_sync_kind {
    SLICE_SYNC_GIVE,    /* a binary semaphore, an image of a swapchain: once */
    SLICE_SYNC_CONSUME, /* of the given one */
    SLICE_SYNC_SIGNAL,  /* a fence */
    SLICE_SYNC_SEE,     /* the host sees it signalled */
    SLICE_SYNC_RESET,
    SLICE_SYNC_RAISE,   /* a timeline semaphore, to a value */
    SLICE_SYNC_REACH,   /* a value, on the device */
    SLICE_SYNC_REACHED, /* on the host */
    SLICE_SYNC_SHOW,    /* an image, by a swapchain */
    SLICE_SYNC_SHOWN,   /* the host waits for that present */
    SLICE_SYNC_IDLE,    /* value 0: work; 1: the host waits until there is none. No object */
    SLICE_SYNC_WORK     /* of a queue */
};

struct slice_sync {
    uint64_t value;
    uint32_t packet, object;
    uint8_t kind;
};

struct slice_need {
    uint32_t packet, needed;
};

struct slice_late { /* work that goes on behind its submit */
    uint32_t end, submit;
};

struct slice_order {
    struct slice_sync *syncs; /* in the order of packets */
    size_t sync_count, sync_capacity;
    struct slice_need *needs; /* by packet */
    size_t need_count, need_capacity;
    struct slice_late *late; /* of submits before the part, by end */
    size_t late_count;
};

struct slice_place { /* memory that an object lies in */
    uint64_t memory, from, to;
    uint32_t object;
};

/* The place where a suspended dynamic rendering began. */
struct slice_suspended {
    uint64_t block;   /* a blob; 0: none is suspended, or it is not known yet */
    uint32_t command; /* number in the block */
    uint32_t packet;  /* of a block that leaves it suspended; 0: it is the one above */
};

/* The names and effects of a block's commands up to the one with which the part ends. */
struct slice_prefix {
    struct slice_run names, steps;
    struct slice_suspended suspended; /* in front of the block */
    uint32_t packet;                  /* slice_draw_add */
};

struct slice_draw {
    const struct position_found *at; /* NULL: the part ends with a packet */
    struct slice_prefix prefixes[POSITION_MOST_PLACES];
};

/* The packet or block that is visited. */
struct slice_visit {
    struct slice_ids names, subjects;
    struct slice_steps doing;
    uint32_t *seen; /* [object]: the number of the block in which it was accessed */
    size_t seen_capacity;
    uint32_t seen_number;
    uint64_t block;
    bool saw_addresses;
    uint32_t suspends; /* 1 + the number of the command that began dynamic rendering which is to be suspended */
};

struct slice_facts {
    enum lap_status *status; /* latched, of the whole slice */
    uint64_t first, last;
    bool takes; /* contents are taken from a replay */
    struct slice_draw draw;
    struct slice_packet *packets; /* [ticket] */
    size_t packet_capacity, packet_count;
    struct slice_object *objects; /* [0]: all objects that device addresses reach */
    size_t object_capacity, object_count;
    struct {
        uint32_t *at;
        size_t capacity;
    } numbers[GEN_HANDLE_COUNT];
    struct slice_ids ids;
    struct slice_ids addressed; /* objects that device addresses reach */
    struct slice_steps steps;
    struct { /* [blob]: the names and effects of a block's commands */
        struct slice_run names, steps;
    } * blocks;
    size_t block_capacity;
    struct slice_place *places;
    size_t place_count, place_capacity;
    struct slice_sets sets;
    struct slice_order order;
    struct slice_visit now;
};

void slice_facts_finish(struct slice_facts *f);
void slice_fail(const struct slice_facts *f, enum lap_status status);
void slice_no_memory(const struct slice_facts *f);
/* As lap_array_grow. */
bool slice_make_room(const struct slice_facts *f, void *items, size_t item_bytes, size_t *capacity, size_t wanted);
bool slice_add_id(const struct slice_facts *f, struct slice_ids *to, uint32_t id);
bool slice_add_step(const struct slice_facts *f, struct slice_steps *to, uint64_t step);
/* Copies to the end of f->ids or f->steps. */
struct slice_run slice_keep_ids(struct slice_facts *f, const struct slice_ids *from);
struct slice_run slice_keep_steps(struct slice_facts *f, const struct slice_steps *from);

/* For qsort. */
#define SLICE_ORDER(x, y) ((x) < (y) ? -1 : (x) > (y))

/* The rest reads facts that are complete. */

/* The object that stands for all that share contents with this one. */
static inline uint32_t slice_root(const struct slice_facts *f, uint32_t object)
{
    return f->objects[object].same_as;
}
static inline bool slice_is_alive(const struct slice_facts *f, const struct slice_object *o) /* where the part begins */
{
    return o->maker && o->maker < f->first && (!o->destroyer || o->destroyer >= f->first);
}
static inline const struct slice_set *slice_set_of(const struct slice_facts *f, uint32_t object) /* NULL: not written */
{
    return f->objects[object].set ? &f->sets.at[f->objects[object].set - 1] : NULL;
}
/* Of the command buffers of a submit. */
static inline uint32_t slice_block_at(const struct slice_facts *f, struct slice_run run, uint32_t i)
{
    return (uint32_t)slice_step_number(f->steps.at[run.from + i]);
}

/* slice_sets.c: takes writes back, from the last to the first, or does them again. */
void slice_unwrite(struct slice_sets *sets, struct slice_run written);
void slice_rewrite(struct slice_sets *sets, struct slice_run written);

/* slice_sync.c: where the needs of a packet begin; they end at the count. */
size_t slice_needs_of(const struct slice_facts *f, uint32_t packet);

/* slice_suspended.c */
/* Of the command buffers of a submit: the first of those that must stay together with this one, up to it. */
uint32_t slice_first_of_rendering(const struct slice_facts *f, struct slice_run run, uint32_t last);
/* The place where a rendering began, in the innermost block that is known to have it. */
struct slice_suspended slice_find_begin(const struct slice_facts *f, struct slice_suspended at);

/* slice_expand.c */
struct slice_expansion {
    struct slice_steps steps;
    struct slice_frame { /* a block whose steps are joined with others */
        uint32_t packet, step, execute;
    } * frames;
    size_t frame_capacity;
    uint32_t *entered; /* [packet]: the number of the expansion that has its steps */
    uint32_t number;
};
void slice_expansion_finish(struct slice_expansion *e);
/* The steps of a block and of all that it executes, each once. Valid until the next call. */
const uint64_t *slice_expand(const struct slice_facts *f, struct slice_expansion *e, uint32_t packet,
                             size_t *out_count);

#endif

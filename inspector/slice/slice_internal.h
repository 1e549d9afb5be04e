/* SPDX-License-Identifier: MIT */
/* The parts of a slice: objects, packets, and their names and accesses. For the files of this folder. */
#ifndef LAP_INSPECTOR_SLICE_INTERNAL_H
#define LAP_INSPECTOR_SLICE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gen_decode.h"
#include "gen_effects.h"
#include "gen_ids.h"
#include "inspector/analysis/trace_pass.h"
#include "inspector/position/find.h"
#include "inspector/slice/slice.h"
#include "inspector/state/image_layouts.h"

/* A step of a block or a submit. In 64 bits: the kind, and a number. */
enum slice_step {
    SLICE_READ = 1,   /* object */
    SLICE_CHANGE,     /* object: some of it is written, the rest stays */
    SLICE_REPLACE,    /* object: its old contents do not matter any more */
    SLICE_CLEAR,      /* object: the same, but the layout does matter */
    SLICE_LAYOUT,     /* object: its layout or owner changes, the contents stay */
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
    struct slice_run names; /* ids of objects in slice.ids */
    /* Of creations and the like: the same. Of a block: in slice.ids, packets of the blocks that it executes, one for
     * each SLICE_EXECUTE, 0 for none. Of descriptors: in slice.written. */
    struct slice_run subjects;
    struct slice_run steps; /* in slice.steps. Of a block: the number of its blob, and 0 */
    uint32_t expanded;      /* of a block: when its steps were last joined with others */
    uint32_t end;           /* of a submit: the later packet with which its work goes on; 0: there is none */
    uint8_t kind;
    bool kept, whole, submitted;
    bool early, late; /* of a block: work before the part needs it whole, the part does */
    bool stays;       /* although its kind alone would not keep it */
    bool seen;        /* the host has asked for its fence, or waited for it */
    bool unreached;   /* it waits for a value that is not signalled up to the end of the part */
    uint8_t leaves;   /* of a block: enum slice_leaves */
    bool goes_on;     /* of a block: dynamic rendering is suspended in front of it in a submit */
    bool pauses;      /* the same behind it */
};

struct slice_slot {
    uint64_t key;    /* binding << 32 | element */
    uint32_t object; /* 0: none */
    uint32_t packet; /* that wrote it; 0: it was not written yet */
    uint8_t access;  /* enum slice_step; 0: none */
};

struct slice_set { /* its state at the place of the walk */
    struct slice_slot *slots;
    size_t count, capacity;
    uint32_t *index; /* a hash table of 1 + the numbers of slots */
    size_t index_size;
    uint32_t inlined;  /* writes of inline uniform blocks */
    uint32_t changing; /* slots with SLICE_CHANGE */
};

struct slice_written { /* a slot that a packet writes: the other state than the current one, from before or from after
                        */
    uint32_t set, slot;
    uint32_t object, packet;
    uint8_t access;
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
    uint32_t same_as;               /* a part of a tree of objects that share contents */
    uint32_t mips, layers, aspects; /* of an image */
    uint32_t block;                 /* packet, of a command buffer */
    uint32_t set;                   /* 1 + number in slice.sets */
    uint32_t queries;               /* of a query pool: its type */
    uint32_t discards;              /* of a render pass: attachments, by bit, whose old contents it discards */
    uint16_t type;
    bool full;      /* a view of a whole image */
    bool addresses; /* it is also accessed through device addresses */
    bool timeline;  /* a semaphore */
    bool chained;   /* exported or imported: all changes to it stay */
    bool shared;    /* of a root: others are in its tree, so nothing replaces all of it */
    bool needed;
    bool wanted;    /* of a root: its contents are, at the place of the walk */
    bool laid;      /* of a root: its layout is wanted */
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

struct slice_event { /* its state behind the packets so far */
    bool set;
    bool waited;       /* waited for, before it is set: the wait ends when the host sets it */
    bool set_by_waits; /* the state after the work behind the wait */
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

struct slice {
    uint64_t first, last;
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
    struct slice_set *sets;
    size_t set_count, set_capacity;
    struct slice_written *written;
    size_t written_count, written_capacity;
    uint64_t unpaid; /* of them: slots that took no bytes of the trace */
    struct {         /* [blob]: the names and effects of a block's commands */
        struct slice_run names, steps;
    } * blocks;
    size_t block_count, block_capacity;
    struct slice_sync *syncs; /* in the order of packets */
    size_t sync_count, sync_capacity;
    struct slice_need *needs; /* by packet */
    size_t need_count, need_capacity;
    struct slice_late *late; /* of submits before the part, by end */
    size_t late_count;
    struct slice_place *places;
    size_t place_count, place_capacity;
    /* Of the packet or block that is visited. */
    struct slice_ids names, subjects;
    struct slice_steps doing;
    uint32_t *seen; /* [object]: the number of the block in which it was accessed */
    size_t seen_capacity;
    uint32_t seen_now;
    uint64_t block_now;
    bool saw_addresses;
    uint32_t suspends;      /* 1 + the number of the command that began dynamic rendering which is to be suspended */
    enum lap_status status; /* latched */
    /* While solving. */
    struct slice_ids pending;
    struct slice_spans *spans; /* [object]: bytes that later host writes replace */
    struct slice_steps expanded;
    struct slice_frame { /* a block whose steps are joined with others */
        uint32_t packet, step, execute;
    } * frames;
    size_t frame_capacity;
    uint32_t expansions;
    bool everything, changed;
    bool before;                 /* the walk is before the part */
    struct slice_taking *taking; /* NULL: nothing is taken from a replay; slice_taken.c */
};

/* Contents that exist where the part begins. */
struct slice_taking {
    const struct contents_file *file; /* the contents; NULL: only the list is made */
    struct image_layouts *layouts;
    struct contents list;
    bool *is_taken;         /* [line of the list] */
    uint64_t wanted, taken; /* contents that work before the part made; of them, taken */
    bool records_again;     /* blocks that the part needs are recorded again in front of it: slice_records_again */
};

struct slice_spans { /* in order, without overlap */
    struct slice_span {
        uint64_t from, to;
    } * at;
    size_t count, capacity;
};

/* Objects by type and trace index; made where there is none yet. 0 after a failure, which is latched. */
uint32_t slice_object_of(struct slice *s, uint32_t type, uint64_t index);
uint32_t slice_new_object(struct slice *s, uint32_t type);
bool slice_add_id(struct slice *s, struct slice_ids *to, uint32_t id);
bool slice_add_step(struct slice *s, struct slice_steps *to, uint64_t step);
uint32_t slice_root(struct slice *s, uint32_t object);
void slice_join(struct slice *s, uint32_t a, uint32_t b);
/* Adds the effect of an access to an object on its contents, or on those that it shows. */
void slice_access(struct slice *s, uint32_t object, enum slice_step kind);
/* False: it was seen in this packet or block. */
bool slice_see_once(struct slice *s, uint32_t object);
/* From what its creation names; before any other object can lead to it. */
void slice_note_contents(struct slice *s, uint32_t object, struct slice_run names);
void slice_fail(struct slice *s, enum lap_status status);

/* slice_block.c */
enum lap_status slice_visit_in_block(void *state, const struct trace_call *call);
void slice_end_block(struct slice *s);
void slice_see_transitions(struct slice *s, const struct trace_call *call); /* by the host, if it is that call */
/* effect: NULL: only notes the named objects. */
void slice_walk(struct slice *s, uint32_t command, const void *args, const struct gen_effect *effect);

/* slice_objects.c */
void slice_see_creation(struct slice *s, const struct trace_call *call);
void slice_see_place(struct slice *s, uint32_t object, VkDeviceMemory memory, uint64_t offset, uint64_t size);
void slice_see_bound_image(struct slice *s, const struct gen_args_lapilliBindImage *a);
void slice_join_places(struct slice *s);

/* slice_sets.c */
struct slice_run slice_update_sets(struct slice *s, const void *args, uint32_t packet);
const struct slice_set *slice_set_of(const struct slice *s, uint32_t object); /* NULL: nothing was written */
/* Takes writes back, from the last to the first, or does them again. */
void slice_unwrite(struct slice *s, struct slice_run written);
void slice_rewrite(struct slice *s, struct slice_run written);
void slice_free_sets(struct slice *s);

/* slice_sync.c */
/* False: the packet stays in any case. */
bool slice_note_sync(struct slice *s, const struct trace_call *call, uint32_t packet);
/* At the end of the trace: fills slice.needs. */
void slice_join_syncs(struct slice *s);
size_t slice_needs_of(const struct slice *s, uint32_t packet); /* where its needs begin */
/* Those of a kind by object and value, for the caller to free; and the first of them that reaches a value, 0: none. */
struct slice_sync *slice_sync_of_kind(struct slice *s, enum slice_sync_kind kind, size_t *out_count);
uint32_t slice_first_with(const struct slice_sync *syncs, size_t count, uint32_t object, uint64_t value);

/* slice_expand.c */
/* The steps of a block and of all that it executes, each once. Valid until the next call. */
const uint64_t *slice_expand(struct slice *s, uint32_t packet, size_t *out_count);

/* slice_suspended.c */
/* Each command of a block. */
void slice_see_suspended(struct slice *s, const struct trace_call *call);
/* Of steps of a block, and of the blocks that they execute. *out: the rendering suspended then; its block is not
 * known. */
enum slice_leaves slice_leaves_of(const struct slice *s, struct slice_run steps, struct slice_run executed,
                                  struct slice_suspended *out);
void slice_see_suspended_submit(struct slice *s); /* whose command buffers are s->doing */
/* Of the command buffers of a submit: the first of those that must stay together with this one, up to it. */
uint32_t slice_first_of_rendering(const struct slice *s, struct slice_run run, uint32_t last);
/* Behind slice_draw_add, which gave `first`. */
void slice_find_suspended(struct slice *s, uint32_t first);

/* slice_draw.c */
/* Behind a command of a block; steps_before: how many there were before it. */
void slice_draw_see(struct slice *s, const struct trace_call *call, size_t steps_before);
/* At the submit, which is the last packet: adds packets behind it for the command buffers that end with the command.
 * Returns the number of the first one; 0 after a failure, which is latched. */
uint32_t slice_draw_add(struct slice *s);
/* The effects of a command or a call on events, as steps. */
void slice_draw_see_events(struct slice *s, uint32_t command, const void *args);
/* Before and after solving. LAP_ERROR_UNSUPPORTED: no replay would reach the command. */
enum lap_status slice_draw_check_events(struct slice *s);
enum lap_status slice_draw_check(const struct slice *s);

/* slice_late.c */
void slice_go_over_events(struct slice_event *events, const uint64_t *steps, size_t count, bool host);
void slice_find_late(struct slice *s);

/* slice_solve.c */
enum lap_status slice_solve(struct slice *s);
/* While solving. */
void slice_need_object(struct slice *s, uint32_t object);
void slice_keep_block(struct slice *s, uint32_t packet);
void slice_keep_packet(struct slice *s, uint32_t packet);

/* slice_taken.c */
enum lap_status slice_begin_taking(struct slice *s, const struct contents_file *file);
void slice_end_taking(struct slice *s); /* also where nothing was begun */
/* While solving, at the place where the part begins: taken contents are wanted no more. */
void slice_take(struct slice *s);
/* While and after solving: a block recorded before the part, which only the part needs, has no commands where it is
 * submitted before. */
bool slice_splits(const struct slice *s);
void slice_find_again(struct slice *s); /* at the end */

/* slice_asked.c */
/* At the end of each round: work that the host asks for stays completely, or not at all. */
void slice_settle_asked(struct slice *s);
/* At the end: calls that ask for work that is left out do not stay. */
void slice_keep_asked(struct slice *s);

#endif

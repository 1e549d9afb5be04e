/* SPDX-License-Identifier: MIT */
/*
 * context: what one replay knows. Hand-written replay functions live by topic (instance.c, memory.c, swapchain.c, ...);
 * generated ones (gen_replay.c) call the driver straight. Both get the context, the device and the decoded arguments.
 *
 * Three kinds of numbers: an index in the trace (uint64_t, dense per handle type), a live handle of the replay's driver
 * (as uint64_t in tables), and the recorded program's handle values, which a trace does not have.
 *
 * One thread, and while that waits several, each with a copy of the context: see parallel.h.
 */
#ifndef LAP_REPLAYER_CONTEXT_H
#define LAP_REPLAYER_CONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/frames.h"
#include "base/log.h"
#include "base/map.h"
#include "base/sandbox.h"
#include "base/slab.h"
#include "base/status.h"
#include "base/tree.h"
#include "gen_decode.h"
#include "gen_dispatch.h"
#include "replayer/families.h"
#include "replayer/spirv.h"
#include "trace/reader.h"

struct replay_planner; /* memory.h: where objects lie */
struct replay_swapchain;
struct replay_check;
struct replay_aliases;       /* alias.h: which objects share memory */
struct replay_addresses;     /* address.h: device addresses */
struct replay_report;        /* report.h: what a replay would do */
struct replay_submits;       /* submit.h: what waits for a later signal */
struct replay_events;        /* events.h: which command buffers wait for the host */
struct replay_window_system; /* window_system.h */
struct replay_facts;         /* facts.h: what the host does with objects */
struct replay_fresh;         /* fresh.h: which bytes of the program's memory are used */
struct replay_lifetimes;     /* lifetime.h: when objects end */
struct replay_measure;       /* measure.h: figures of a replay */
struct replay_command;       /* player.c: what is done with a command's packets */
struct replay_formats;       /* format.h: which formats stand for others */
struct replay_converter;     /* converter.h */
struct replay_push;          /* push.h: sets for what is pushed */
struct replay_parallel;      /* parallel.h: blocks that are played by several threads */
struct replay_named;         /* named.h: what an object names */
struct replay_reach;         /* reach.h: what shaders reach */

enum replay_present { REPLAY_PRESENT_AUTO, REPLAY_PRESENT_WINDOW, REPLAY_PRESENT_HEADLESS, REPLAY_PRESENT_OFF };

/* Why a buffer's address is not the recorded one though the driver is the recorded one. */
struct replay_kept_counts {
    uint64_t memories, bytes;  /* allocated where they lay, so far; the most bytes of them at once */
    uint64_t refused_memories; /* that the driver did not allocate there */
    uint64_t refused_buffers;  /* that it did not create for their address */
    uint64_t aliased;          /* buffers that share memory with others, which lie where there is room for all */
};

struct replay_kept {
    bool possible; /* the feature is enabled in the device, and nobody wants addresses to be translated */
    bool active;   /* and the driver is the recorded one */
    struct lap_tree_node *memories; /* struct replay_address_memory by index in the trace */
    uint64_t order, allocated_bytes;
    struct replay_kept_counts counts;
};

/* What descriptors name that has to be alive. */
enum replay_validation {
    REPLAY_VALIDATE_NOTHING,
    REPLAY_VALIDATE_USED, /* by the shaders of work, as the specification wants it */
    REPLAY_VALIDATE_BOUND /* all that is in sets that are bound, for drivers that follow whatever is there */
};

struct replay_options {
    const char *file;
    bool verify, force, quiet;
    bool strict;                                 /* calls that are not valid end the replay: invalid.h */
    bool validate_shaders;                       /* main.c finds who can */
    enum replay_validation validate_descriptors; /* reach.h */
    bool json;                                   /* the report of --check is a JSON object */
    bool translate_addresses;                    /* also on the recorded driver */
    bool leave_new_memory;                       /* what new objects hold is as it comes: fresh.h */
    enum replay_present present;
    const struct replay_window_system *window_system; /* NULL: whichever answers */
    const char *gpu;                                  /* an index, a part of a name, a UUID, or NULL */
    struct lap_frames screenshots;
    const char *screenshot_dir; /* "." by default */
    const char *mismatch_dir;   /* with verify: where the first differing image is written as PNG; NULL: nowhere */
    bool has_tolerance;
    uint32_t tolerance;             /* with has_tolerance: steps of the format (codegen/support/steps.h) */
    const char *ignored_file;       /* of checks that are not made; NULL: none */
    struct replay_ignored *ignored; /* what is in it; NULL: nothing */
    const char *dump_dir; /* with verify: where everything that is checked is written (dump.h); NULL: nowhere */
    uint64_t last_frame;  /* stop after this frame; 0: all */
    unsigned threads;     /* that play command buffers; 0: by the trace and the machine */
    uint64_t first_measured, warm_up; /* figures are of frames from the one on, less so many; 0: from the first on */
    uint64_t wait_limit_ms;           /* for the device (wait.h); 0: the usual one */
    uint64_t ahead_bytes;             /* read so far ahead of what is played; 0: not at all */
    bool blackhole;                   /* no commands are submitted, only waits and signals */
    bool preload;                     /* read everything before the first frame */
    replay_spirv_judge judge;         /* of the code of shaders; NULL: nobody looks at it */
    bool measure;
    const char *measure_file; /* with measure: where the figures go as JSON; NULL: stdout, as text */
    enum lap_sandbox_wish sandbox;
    /* What was made ready before the trace was opened: sandbox.h. */
    int measure_fd;                         /* of measure_file */
    const struct replay_displays *displays; /* window_system.h; NULL: none answers */
    const struct lap_sandbox *sandboxed;    /* base/sandbox.h; NULL: nobody asked for one */
};

struct replay_instance {
    VkInstance live;
    uint64_t index;
    struct gen_instance_dispatch vk;
    VkPhysicalDevice gpu; /* the chosen one; all recorded physical devices map to it */
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory;
    uint32_t api_version;    /* what the instance was created for */
    uint32_t window_systems; /* window_system.h: bit N: the extension of the Nth is enabled */
    struct replay_instance *next;
};

/* A fence that tells that the queue's work so far is over, when it is signalled: the program's, or one of the replay's
 * own where the program gave none. */
struct replay_told {
    VkFence fence;
    uint64_t given;
    bool own;
};

#define REPLAY_OWN_FENCES 32u /* of a queue */

/* What ends when all that was given before is over. */
struct replay_ended {
    enum gen_handle_type type;
    uint32_t memory_type; /* of memory */
    uint64_t given, live;
    union {
        uint64_t parent; /* the driver's pool of what is freed; of a descriptor pool: descriptor.h's, if it was reset */
        uint64_t bytes;  /* of memory */
    };
};

/* A vkQueueBindSparse that may be under way. No fence tells of others than its own: neither of earlier ones nor of
 * submits, and theirs not of it. */
#define REPLAY_MOST_BINDS 64u
struct replay_bind {
    VkFence fence;
    uint64_t given;
    bool own;
};

/* pending.h */
struct replay_pending {
    struct replay *r;
    uint64_t given; /* work of the trace's, so often */
    bool busy;      /* some of it may be under way, or something is put aside */
    bool said_lost; /* once: something is not destroyed */
    bool stuck;     /* the device did not finish in time: nobody waits again for what need not be */
    struct replay_ended *ended;
    size_t first, count, capacity;
    struct replay_bind *binds; /* REPLAY_MOST_BINDS, by rising numbers */
    uint32_t bind_count;
};

struct replay_queue {
    VkQueue live;
    uint32_t family, number;
    VkQueueFlags flags;
    uint64_t given, finished; /* pending.h: the last work, and up to which all is over, by replay_pending.given */
    struct replay_told *told; /* by rising numbers, of what is under way; the replay's own may be behind that */
    uint32_t told_count, told_capacity;
    VkFence spare[REPLAY_OWN_FENCES];
    uint32_t spare_count, own_count;
    VkFence idle_fence; /* wait.c: tells whether anything is under way; made when it is asked for */
    bool idle_pending;
};

/* A semaphore that is signalled behind what a queue has: acquired.h. */
#define REPLAY_OWED_MOST 8u
struct replay_owed {
    VkSemaphore semaphore;
    VkQueue queue;
};

struct replay_device {
    VkDevice live;
    uint64_t index;
    struct replay_instance *instance;
    VkPhysicalDevice gpu;
    struct gen_device_dispatch vk;
    struct replay_planner *planner;      /* created with the device by replay_planner_create */
    struct replay_sparse_device *sparse; /* sparse.c; NULL until something is sparse */
    struct replay_submits *submits;      /* submit.c; NULL until there is a timeline semaphore, or an event */
    struct replay_events *events;        /* events.c; NULL until there is one that the host can set */
    struct replay_queue *queues;
    uint32_t queue_count;
    struct replay_pending pending;
    struct replay_queue_plan queue_plan;
    bool families_differ;                   /* some recorded family has another number here */
    uint32_t families[REPLAY_MAX_FAMILIES]; /* those of the queues, each once */
    uint32_t family_count;
    struct replay_queue *main_queue; /* graphics or, failing that, compute or transfer: for the replay's own copies */
    VkCommandPool pool;              /* for the replay's own copies, on main_queue's family */
    struct replay_owed owed[REPLAY_OWED_MOST];
    uint32_t owed_count;
    struct replay_addresses *addresses;   /* address.c; NULL until the program asks for an address */
    bool has_addresses;                   /* a feature is enabled with which buffers have them */
    bool has_address_memory;              /* and it wants memory that is allocated for them */
    bool zeroes_memory;                   /* its memory begins as zeroes: VK_EXT_zero_initialize_device_memory */
    bool translates_addresses;            /* some buffer's address was not the recorded one */
    struct replay_kept kept;              /* address_memory.h: addresses that are asked for again */
    struct replay_spirv_target spirv;     /* what its shaders may be */
    uint32_t allowances;                  /* gen_replay.h: what may be null by a feature that is enabled */
    bool has_swapchain;                   /* VK_KHR_swapchain is enabled: PRESENT_SRC_KHR layouts are known */
    bool nested_command_buffers;          /* secondary command buffers may execute others */
    const struct replay_formats *formats; /* the replay's */
    bool stencils_differ;                 /* a format with depth stands for stencil alone: stencil.h */
    struct replay_converter *converter;   /* converter.h; NULL until texels are converted */
    struct replay_push *push;             /* push.h; NULL: the device can push descriptors, or need not */
    uint64_t asked_images[64];            /* image_support.c: kinds of images that the driver was asked about */
    struct replay_device *next;
};

/* One live object. */
struct replay_object {
    uint64_t live;   /* 0: dead or not yet made */
    uint64_t parent; /* index of the pool or swapchain that it ends with; 0: none */
    void *owner;     /* struct replay_instance * or struct replay_device *, by the command that it came from */
    void *record;    /* topic's own data (struct replay_buffer *, ...); freed by the topic's destroy function */
    uint64_t order;  /* when it was added: what is left at the end dies newest first */
    bool secondary;  /* of a command buffer: its level */
    union {          /* named.h */
        struct replay_named *named; /* NULL: it names nothing */
        uint64_t image;             /* of an image view: its image's index; 0: none */
    };
};

/* A trace never gives a number twice and may have millions of short-lived objects, so a table has pages, and only those
 * in which something is alive. */
#define REPLAY_PAGE_OBJECTS LAP_LIVE_PAGE
/* That are alive at once, of all types together: programs have some hundred thousand. */
#define REPLAY_MOST_OBJECTS ((uint64_t)1 << 22)
#define REPLAY_MOST_PAGES   ((uint64_t)1 << 18) /* 1 GiB: what lives long among what does not has pages of its own */

struct replay_object_page {
    struct lap_live_page handles; /* of the objects once more: what decoders look at */
    struct replay_object objects[REPLAY_PAGE_OBJECTS];
    uint32_t alive;
    struct replay_object_page *next_spare; /* handles.c */
};

struct replay_table {
    struct lap_live_table
        live; /* its pages are the first members of replay_object_page; count: the highest index so far + 1 */
    uint64_t page_capacity;
    uint64_t *slots; /* handles.c: indices by live handle, open addressing */
    uint64_t slot_count, slot_used;
};

/* NULL when there is no such live object. */
static inline struct replay_object *replay_table_get(const struct replay_table *table, uint64_t index)
{
    struct lap_live_page *page = index < table->live.count ? table->live.pages[index / REPLAY_PAGE_OBJECTS] : NULL;
    struct replay_object *object =
        page ? &((struct replay_object_page *)page)->objects[index % REPLAY_PAGE_OBJECTS] : NULL;
    return object && object->live ? object : NULL;
}

/* What the last command was called of, if its index is of one byte. */
struct replay_caller {
    uint16_t type; /* enum gen_handle_type; GEN_HANDLE_NONE: nothing is known */
    uint8_t index;
    uint64_t live;
    void *owner;
};

struct replay {
    struct replay_options options;
    const struct lap_log *log;
    struct lap_reader *reader;
    struct lap_dictionary *dictionary; /* codegen/support/dictionary.h */
    struct lap_packet packet;          /* the current one, for messages */
    uint32_t command;                  /* enum gen_command of the current packet or block command */
    uint32_t call;                     /* enum gen_command of the program's last call that was replayed */
    uint64_t call_ticket;
    const char *block_command; /* name of the current command in a block, or NULL */
    uint32_t block_family;     /* the recorded family of the command buffer that is being played; UINT32_MAX: none */
    uint32_t mapped_family;    /* the recorded family that was mapped last */
    uint64_t next_order;       /* of the next object */
    uint64_t removed;          /* objects that ended */
    uint64_t ends;             /* objects that command buffers may name and that ended: named.h */
    uint64_t holes;            /* numbers below the largest ones that no object has had, of all types together */
    uint64_t alive;            /* objects of all types, and what replay_objects_take counts with them */
    uint64_t page_count;       /* of all tables */
    struct lap_arena arena;    /* arguments of the current packet or block command */
    struct lap_dec_source source;
    struct replay_command *commands; /* player.c: by number in the file */
    struct replay_table tables[GEN_HANDLE_COUNT];
    struct lap_slab buffers, images;               /* their records: resource.h */
    struct replay_fresh *fresh;                    /* fresh.h; NULL until memory is allocated */
    struct lap_slab named;                         /* named.h */
    struct lap_map block_names;                    /* named.h: by block */
    uint64_t name_count;                           /* of all of them */
    uint32_t named_depth;                          /* of secondary command buffers that are looked at */
    struct lap_live_table *live[GEN_HANDLE_COUNT]; /* the tables' */
    void *loader;                                  /* dlopen("libvulkan.so.1") */
    PFN_vkGetInstanceProcAddr get_instance_proc_addr;
    struct replay_instance *instances;
    struct replay_device *devices;
    const void *caller; /* the instance or device whose command is decoded */
    struct replay_caller caller_seen;
    struct replay_object_page *spare_pages; /* handles.c: without objects, all zero but for their links */
    uint32_t spare_count;
    bool several; /* there are several, so each object that a command names has to be asked whose it is */
    struct replay_aliases *aliases; /* NULL: none are known */
    struct replay_formats *formats; /* NULL: every format stands for itself */
    bool formats_chosen;
    struct replay_check *check;               /* verify.h; NULL without --verify */
    struct replay_facts *facts;               /* NULL: not known */
    bool asked_facts;                         /* they were looked for */
    const struct replay_lifetimes *lifetimes; /* of the facts; NULL: not known */
    uint32_t most_allocations;                /* that are made use of on each device; 0: there is none yet */
    uint64_t abandoned;               /* objects that are alive without memory (blocks.c): only destructions may come */
    struct replay_measure *measure;   /* NULL without --measure */
    struct replay_parallel *parallel; /* NULL: one thread */
    struct replay_reach *reach;       /* NULL without --validate-descriptors */
    struct replay_report *report;     /* NULL: this is a replay. Else nothing is played: see examine.h */
    uint64_t frames;                  /* presented so far */
    bool said_hidden;                 /* once: nothing is shown */
    bool gave_up_waiting;             /* said once: a recorded wait can't be satisfied here */
    bool said_undivided;              /* once: a command buffer gets no more parts (block.c) */
    uint64_t skipped_structs;         /* pNext structures that this build does not know */
    uint64_t invalid_count;           /* calls that were left out, or made in part: invalid.h */
    uint64_t *invalid;                /* [command]: of these; NULL: none, or no memory */
};

/* Failure with the packet's place: "frame 3, packet 4711 (vkCreateImage), chunk at offset 5432, byte 118: TEXT".
 * Returns LAP_ERROR_REPLAY. */
enum lap_status replay_fail(struct replay *r, const char *format, ...) LAP_PRINTF(2, 3);
/* The same where the program's call is not valid, and nothing was done for it yet. Returns LAP_ERROR_INVALID. */
enum lap_status replay_invalid(struct replay *r, const char *format, ...) LAP_PRINTF(2, 3);
/* The same where it is this device that can't do what the trace needs. Returns LAP_ERROR_UNSUPPORTED. */
enum lap_status replay_refuse(struct replay *r, const char *format, ...) LAP_PRINTF(2, 3);
/* LAP_OK for results >= 0; else a failure that names the result (and the call): LAP_ERROR_UNSUPPORTED for a format, a
 * feature or an extension that the driver does not have, otherwise LAP_ERROR_REPLAY. */
enum lap_status replay_result(struct replay *r, VkResult result) LAP_MUST_CHECK;
/* The name of a VkResult. */
const char *replay_result_name(VkResult result);
/* The name of a value of an enum ("VkFormat"); NULL when this build knows none. */
const char *replay_enum_name(const char *type, int64_t value);

/* ---- handles.c ---- */
/* The context's decoders look into its own tables: once, for each copy of it, and whenever there is another instance or
 * device, or one less. */
void replay_tables_show(struct replay *r);
/* index comes from the file: any value. Fails when it is alive already, and when there would be more than a million
 * numbers below the largest ones of all types that no object has had: numbers are dense, so tables are as large as what
 * the trace makes. LAP_ERROR_LIMIT: there would be more than REPLAY_MOST_OBJECTS, or they would lie on more than
 * REPLAY_MOST_PAGES. */
enum lap_status replay_object_add(struct replay *r, enum gen_handle_type type, uint64_t index, uint64_t live,
                                  void *owner, struct replay_object **out_object) LAP_MUST_CHECK;
/* The same limit for what the replay makes of the driver's objects as often as the trace has it do so. */
enum lap_status replay_objects_take(struct replay *r, uint64_t count) LAP_MUST_CHECK;
void replay_objects_give(struct replay *r, uint64_t count);
/* NULL when there is no such live object. Pointers are valid until it is removed. */
struct replay_object *replay_object_get(struct replay *r, enum gen_handle_type type, uint64_t index);
/* By live handle, for hand-written functions that only have decoded arguments (a probe of a map kept by handles.c).
 * Where a driver returned one live handle for two creations: the one that the packet named last, or else any of them.
 */
uint64_t replay_object_index(struct replay *r, enum gen_handle_type type, uint64_t live);
void replay_object_remove(struct replay *r, enum gen_handle_type type, uint64_t index);
/* An object that is alive stands for another one of the driver's from now on. */
void replay_object_move(struct replay *r, enum gen_handle_type type, uint64_t index, uint64_t live);

/* Both index (0 where there is none) and object (NULL) of a live handle. */
static inline struct replay_object *replay_object_of(struct replay *r, enum gen_handle_type type, uint64_t live,
                                                     uint64_t *out_index)
{
    const struct replay_table *table = &r->tables[type];
    struct replay_object *object = replay_table_get(table, table->live.last);

    *out_index = table->live.last;
    if (__builtin_expect(object && object->live == live, 1))
        return object;
    *out_index = replay_object_index(r, type, live);
    return replay_table_get(table, *out_index);
}

/* The device or instance that a live dispatchable handle (VkDevice, VkQueue, VkCommandBuffer, ...) belongs to is passed
 * to every replay function, so none has to look it up: enum lap_status replay_X(struct replay *r, struct replay_device
 * *dev, struct gen_args_X *args);      device level enum lap_status replay_X(struct replay *r, struct replay_instance
 * *instance, struct gen_args_X *args); instance level (X without "vk"; instance is NULL for vkCreateInstance;
 * gen_replay.h declares them all). Handles in args are live, except those that the call creates: there the array holds
 * trace indices; gen_keep_VkX() turns it into live objects. In our own packets and in
 * vkQueueBindSparse VkDeviceMemory is a trace index: memory of the program is not replayed. A VkSurfaceKHR is a trace
 * index as well (surface.h). */

#endif

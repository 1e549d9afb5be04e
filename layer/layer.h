/* SPDX-License-Identifier: MIT */
/*
 * layer: the records behind the program's handles and the one table that holds them.
 *
 * Records are found by handle in lock-free maps (base/map.h): one map per handle type for instance-level and
 * dispatchable handles (layer.tables), and one per device for the others (device->tables). A record lives from the
 * creating call's return to the destroying call's entry; the specification's external synchronisation of destruction
 * keeps it valid while a call uses it. Handles are never wrapped: what the program holds is what the driver gave.
 *
 * The program must never fail because of us: when memory is short or the file can't be written, recording stops
 * (layer_stop) and every entry point goes on as a pass-through.
 */
#ifndef LAP_LAYER_LAYER_H
#define LAP_LAYER_LAYER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include "base/log.h"
#include "base/object.h"
#include "codegen/support/set_layout.h"
#include "gen_dispatch.h"
#include "gen_encode.h"
#include "gen_ids.h"
#include "gen_memo.h"
#include "layer/address.h"
#include "layer/backing.h"
#include "layer/in_flight.h"
#include "layer/options.h"
#include "layer/spirv.h"
#include "memtrack/memtrack.h"
#include "memtrack/types.h"
#include "trace/notes.h"
#include "trace/writer.h"

struct layer_device;
struct lap_readback; /* codegen/support/readback.h */

struct layer_physical_device {
    struct lap_object object;
    struct layer_instance *_Atomic instance; /* set last: the rest is filled then */
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory; /* as the driver gives them */
    struct lap_types types;
    atomic_llong heap_shift[VK_MAX_MEMORY_HEAPS]; /* bytes that programs believe to be in a heap minus those that are */
};

struct layer_instance {
    struct lap_object object;
    VkInstance handle;
    PFN_vkGetInstanceProcAddr next_get_proc_addr;
    PFN_GetPhysicalDeviceProcAddr next_get_physical_device_proc_addr; /* NULL: the next layer has none */
    struct gen_instance_dispatch vk;
    uint32_t api_version;
    bool knows_imports;   /* it can be asked what can be imported */
    void *dispatch_table; /* the key in layer.instances_by_table */
    struct lap_object_tables tables;
};

struct layer_queue {
    struct lap_object object;
    VkQueue handle;
    struct layer_device *device;
    uint32_t family, number;
    VkQueueFlags flags; /* of its family */
};

/* What commands touch. The lists behind the first name parts of what is written there (enum layer_touch). */
struct layer_touched {
    struct lap_touched ranges;
    struct lap_touched unchecked; /* not the same in every run: queries, what is loaded from nothing */
    struct lap_touched partly;    /* of linear images: some of it stays what it was */
};

/* Events that are set and queries that are ended: the host may learn from them how far the device is (tell.h). */
struct layer_tells {
    struct layer_tell *items;
    uint32_t count, capacity;
};

/* What commands do with events (parts.h). */
struct layer_event_steps {
    struct layer_event_step *items;
    uint32_t count, capacity;
};

/* With capture --verify=all (image_state.h). */
struct layer_image_steps {
    struct layer_image_step *items;
    uint32_t count, capacity;
};

struct layer_device {
    struct lap_object object;
    VkDevice handle;
    struct layer_device *next, **previous; /* in layer.devices */
    struct layer_instance *instance;
    struct layer_physical_device *physical_device;
    PFN_vkGetDeviceProcAddr next_get_proc_addr;
    PFN_vkSetDeviceLoaderData set_loader_data;
    struct gen_device_dispatch vk;
    struct lap_object_tables tables;
    struct lap_map *maps[GEN_HANDLE_COUNT]; /* what tables points to; device-level ones are own */
    struct lap_map own_maps[GEN_HANDLE_COUNT];
    struct lap_memtrack *memtrack; /* NULL: nothing is recorded of this device */
    struct layer_backing_device backing;
    _Atomic uint64_t compared_told; /* mappings that are compared, as the trace says */
    struct layer_address_device addresses;
    uint64_t import_space;        /* import.h; 0: none yet */
    atomic_bool shaders_reach;    /* some pipeline has a layer_pipeline.reach */
    bool device_addresses;        /* a feature is enabled with which shaders may follow addresses */
    bool is_group;                /* of several physical devices */
    pthread_mutex_t slots_mutex;  /* descriptors that may be updated while their set is in use */
    pthread_mutex_t map_mutex;    /* show.h: whether memory is mapped, by the program or by the layer */
    pthread_mutex_t submit_mutex; /* all of the next, as far as resources, and what those name */
    struct layer_submission *submissions,
        *last_submission; /* not yet known to be finished, in the order of submission */
    struct layer_submission *spare_submissions;
    uint64_t submit_serial;
    uint32_t gated_count;         /* of submissions: gate.h */
    atomic_uint submission_count; /* read without the mutex: 0 means that there is nothing to learn */
    struct lap_map resources;     /* struct lap_memobj by layer_resource (touched.h); zeroed is empty */
    struct lap_touched submitted; /* of the submit that is under way: kept for its memory, as are the next two */
    struct layer_touched batch;
    struct layer_tells batch_tells;
    struct layer_unseen {
        struct layer_written *ranges;
        uint32_t count, capacity;
    } unseen; /* check.c: what finished work wrote where the program could not see it; under submit_mutex */
    struct layer_kept {
        uint64_t number; /* a layer_resource of its own */
        struct lap_memobj *memobj;
    } * kept; /* kept.c: places that sparse objects had when work was submitted that writes there; under submit_mutex */
    uint32_t kept_count, kept_capacity;
    uint64_t last_kept;
    struct lap_readback *readback; /* verify.c: made when first needed; under verify_mutex */
    pthread_mutex_t verify_mutex;
    bool waits_not;         /* verify_all.c: work was once waited for without an end; under verify_mutex */
    VkQueue clearing_queue; /* verify_all.c: some queue with graphics or compute; NULL: there is none */
    VkFence submit_fence;   /* verify_all.c; under verify_mutex */
    bool torn;              /* fork.c: in a child; some of the above was being changed when the process was copied */
};

struct layer_memory {
    struct lap_object object;
    struct lap_mem *mem;
    struct layer_backing *backing;      /* NULL: the driver's own memory */
    struct layer_import *import;        /* import.h: pages of the program's; NULL: none */
    struct layer_payload_user *payload; /* payload.h: it has, or may get, other names; NULL: it has not */
    VkDeviceSize bytes;
    VkMemoryPropertyFlags shown_flags, real_flags;
    uint32_t real_type;
    bool capturable;    /* address.h: it can be allocated at its address again */
    uint64_t dedicated; /* the buffer that it is for alone; 0: none */
    bool cleared;       /* it began as zeroes (capture --verify) */
    bool sparse;        /* some vkQueueBindSparse has named it; under submit_mutex */
};

/* Buffers and images: what memory tracking needs. */
/* Since an object has memory; ticket 0: it has none. */
struct layer_life {
    uint64_t passed; /* lap_writer_passed */
    uint64_t ticket, bytes;
    uint32_t memory_flags;
};

struct layer_buffer {
    struct lap_object object;
    struct lap_memobj *memobj; /* made when created, bound later; NULL when out of memory */
    VkDeviceSize bytes;
    struct layer_life life;
    VkBufferUsageFlags usage;
    struct layer_backing_object backing;
    atomic_uint_fast64_t address; /* on the device, once the program asked for it */
    bool capturable;              /* address.h: it can be created at its address again */
    bool device_only;             /* its memory is none that the program can map: the host never touches it */
    bool non_coherent;            /* what the device wrote is seen only after the program invalidated it */
    bool cleared;                 /* its memory began as zeroes */
    bool readable;                /* as in layer_image, and the next one */
    uint16_t left_out;
};

struct layer_image {
    struct lap_object object;
    struct lap_memobj *memobj;
    VkImageCreateInfo info; /* pNext and pQueueFamilyIndices cleared */
    VkDeviceSize bytes;     /* from its memory requirements when bound */
    struct layer_life life;
    struct layer_backing_object backing;
    bool device_only, non_coherent; /* as in layer_buffer */
    bool loose;               /* submitted work left texels that are not the same in every run; under submit_mutex */
    VkSwapchainKHR swapchain; /* of presentable images */
    struct layer_image_state *state; /* image_state.h; NULL: nothing yet; under submit_mutex */
    bool cleared;                    /* its memory began as zeroes */
    bool readable;                   /* verify_all.h: it can be copied from */
    uint16_t left_out;               /* bits of enum lap_unchecked that were said */
};

/* Which texels a view shows. */
struct layer_view_range {
    uint32_t first_layer, layer_count;
    uint16_t aspect;                  /* color, depth and stencil, or a plane */
    uint8_t first_level, level_count; /* level_count 0: it can't be told */
};

struct layer_buffer_view {
    struct lap_object object;
    struct layer_buffer *buffer;
    VkDeviceSize offset, bytes;
};

struct layer_image_view {
    struct lap_object object;
    struct layer_image *image;
    struct layer_view_range range;
};

struct layer_set_layout {
    struct lap_object object;
    struct lap_set_layout *data; /* codegen/support/set_layout.h; NULL when out of memory */
};

/* Memory that a descriptor names. What it names may be gone when the set is used again, so it is no pointer. */
struct layer_descriptor_slot {
    uint64_t resource; /* layer_resource; 0: nothing that the host can touch; LAYER_RESOURCE_UNKNOWN */
    union {
        struct {
            VkDeviceSize offset, bytes;
        };
        struct layer_view_range view; /* of images */
    };
    bool written; /* the device may write through it */
};

struct layer_descriptor_set {
    struct lap_object object;
    struct lap_set_layout *layout;
    struct layer_descriptor_set *next_in_pool, **previous_in_pool;
    struct layer_descriptor_slot *slots; /* NULL until one of them names something */
    uint64_t *used;                      /* a bit for each slot that does: most of a large set is often empty */
    uint32_t slot_count;
    uint64_t resolved; /* the last submit for which its slots were looked up; under submit_mutex */
};

struct layer_template {
    struct lap_object object;
    VkDescriptorUpdateTemplateType kind;
    VkDescriptorUpdateTemplateEntry *entries;
    uint32_t entry_count, set;
    VkPipelineBindPoint bind_point;
};

struct layer_descriptor_pool {
    struct lap_object object;
    struct layer_descriptor_set *sets; /* linked through next_in_pool */
};

/* Attachments in memory that the program can map. */
struct layer_framebuffer {
    struct lap_object object;
    struct layer_framebuffer_view {
        uint64_t resource; /* layer_resource */
        struct layer_view_range range;
        uint32_t attachment; /* its number */
    } * views;
    uint32_t view_count;
    uint32_t layers; /* that are drawn to, where the render pass has no view masks */
};

struct layer_command_pool {
    struct lap_object object;
    struct layer_cmdbuf *buffers; /* linked through next_in_pool */
};

#define LAYER_RECENT_SETS  1024u /* a power of two */
#define LAYER_RECENT_READS 8u    /* a power of two */
#define LAYER_SET_MEMOS    4u    /* a power of two */
enum { LAYER_BIND_GRAPHICS, LAYER_BIND_COMPUTE, LAYER_BIND_POINTS };

enum layer_cmdbuf_state { LAYER_CMDBUF_INITIAL, LAYER_CMDBUF_RECORDING, LAYER_CMDBUF_EXECUTABLE };

struct layer_cmdbuf {
    struct lap_object object;
    VkCommandBuffer handle;
    struct layer_device *device;
    struct layer_command_pool *pool;
    struct layer_cmdbuf *next_in_pool, **previous_in_pool;
    struct lap_enc enc;            /* the block: see layer/command_buffer.c */
    size_t in_call_at;             /* where its last command begins */
    atomic_uintptr_t in_call;      /* layer_thread_self of the thread that is in the driver with it; 0: none */
    struct lap_note_command *note; /* while it is recorded, where the tail file has notes; else NULL */
    uint32_t note_generation;
    uintptr_t note_self;      /* the thread that may store to it: layer_thread_self */
    struct layer_noted noted; /* what is too long for that */
    uint64_t command_count;
    enum layer_cmdbuf_state state;
    bool secondary;
    /* What this recording has named last: quick.h. */
    struct layer_memo {
        uint64_t handle, index; /* both 0: none */
    } memo[GEN_MEMO_COUNT];
    struct layer_set_memo {
        uint64_t handle, index;
        uint32_t dynamic;
    } set_memo[LAYER_SET_MEMOS]; /* by number of the set */
    struct layer_read {
        uint64_t buffer, from; /* the handle; from there to its end it is known to be read */
    } recent_reads[LAYER_RECENT_READS];
    struct layer_cmdbuf_part *parts; /* parts.h: what was recorded before the part that the next three, and the last
                                        sets, are of; NULL until there is one */
    uint32_t part_count, part_capacity;
    struct layer_event_steps events;
    struct layer_tells tells;
    struct layer_image_steps image_steps;
    struct layer_touched touched;   /* what the commands name directly */
    struct layer_cmdbuf_sets *sets; /* touched.c: descriptor sets that were bound (resolved to ranges at submit) */
    uint32_t sets_count, sets_capacity;
    uint32_t recent_sets[LAYER_RECENT_SETS]; /* places in sets, two for a hash, the newer one first: most binds repeat
                                                an earlier one */
    uint32_t *many_sets, many_sets_mask; /* the same with more places, for a recording with many sets; NULL: none yet */
    struct layer_bound {
        const struct lap_spirv_reach *reach; /* of the pipeline; NULL: none is bound, or it only reads */
        bool stale;                          /* what the pipeline stores to was not noted in all sets yet */
        uint32_t sets[LAP_SPIRV_SETS];       /* by number: place in cmdbuf.sets + 1 */
    } bound[LAYER_BIND_POINTS];
};

struct layer_shader_module {
    struct lap_object object;
    struct lap_spirv_reach *reach; /* NULL: it only reads, and only what descriptors name */
};

struct layer_pipeline {
    struct lap_object object;
    struct lap_spirv_reach *reach; /* of all its stages */
};

struct layer_fence {
    struct lap_object object;
};

struct layer_query_pool {
    struct lap_object object;
    VkQueryType type;
    atomic_bool imprecise; /* some occlusion query of it was begun that may count otherwise the next time */
};

struct layer_semaphore {
    struct lap_object object;
    bool timeline;
    uint64_t signals;           /* of binary ones: how many were submitted; under submit_mutex */
    uint64_t open;              /* the largest value, or signal, that comes without anything more from the host; under
                                   submit_mutex: gate.h */
    atomic_uint_fast64_t known; /* of timelines: the last value that was recorded as reached */
};

/* What is known of it at the end of all that was submitted; under submit_mutex: gate.h. */
struct layer_event {
    struct lap_object object;
    bool set;           /* or it will be, when what waits for it goes on */
    uint64_t host_sets; /* how often the host has set it */
    uint64_t spent;     /* so many of these were reset, or will have been */
    uint64_t awaited;   /* the last one that submitted work waits for, by number */
};

struct layer_surface {
    struct lap_object object;
};

struct layer_swapchain {
    struct lap_object object;
    VkSwapchainCreateInfoKHR info; /* pointers cleared */
    VkImage *images;               /* these two under the device's verify_mutex */
    uint32_t image_count;
    bool readable; /* images can be copied from */
};

/* Everything that is not behind a handle. */
struct layer_state {
    struct lap_map maps[GEN_HANDLE_COUNT]; /* dispatchable and instance-level handles */
    struct lap_map *map_pointers[GEN_HANDLE_COUNT];
    struct lap_object_tables tables;
    struct lap_map instances_by_table; /* struct layer_instance by the loader's dispatch table pointer */
    atomic_uint_fast64_t next_index[GEN_HANDLE_COUNT];
    pthread_mutex_t object_mutex[GEN_HANDLE_COUNT]; /* creation and destruction of records of one type */
    pthread_mutex_t recording_mutex;                /* opening and closing of the file */
    pthread_mutex_t devices_mutex;                  /* the list of devices; held from one end of a fork to the other */
    struct layer_device *devices;                   /* all that exist */
    struct lap_tree_node *imports;                  /* import.c: by address; under devices_mutex */
    atomic_bool imports_meet;                       /* those of two devices: said once */
    struct layer_payload *payloads;                 /* payload.c; under devices_mutex */
    uint64_t last_space;                            /* of shared memory; under devices_mutex */
    uint32_t payload_notes;                         /* payload.c: what was said; under devices_mutex */
    struct lap_writer *_Atomic writer;              /* NULL: nothing is recorded */
    struct layer_options options;
    struct lap_log log;
    bool resolved, started;      /* options are; the recording was */
    bool forked;                 /* this process began as a copy of one that had resolved them, and has no file yet */
    atomic_uint_fast64_t frames; /* presented */
    atomic_bool has_surface;     /* some surface was created: frames end at presents, otherwise at submits */
    pthread_key_t thread_key;
    bool pass_through; /* armed at no time: nothing but the loader's chains is touched */
};

extern struct layer_state layer;

/* ---- object.c ---- */

/* Adds the record of a handle that a call has just returned, or an alias when the driver returned a value that is
 * known. device is NULL for instance-level and dispatchable handles. The record is zeroed behind its head; its size
 * follows from the type. NULL when out of memory (recording then stops). */
struct lap_object *layer_object_add(struct layer_device *device, enum gen_handle_type type, uint64_t handle);

/* For what can't be undone once it was created: the record of a global type and room for it (NULL: out of memory),
 * which layer_object_adopt gives to the object. It returns false only if another thread took the room. free() undoes
 * the first.
 */
struct lap_object *layer_object_prepare(enum gen_handle_type type);
bool layer_object_adopt(struct lap_object *object, enum gen_handle_type type, uint64_t handle);

/* At the entry of a destroying call, after its packet was written: drops the newest alias or frees the record. */
void layer_object_remove(struct layer_device *device, enum gen_handle_type type, uint64_t handle);

/* Drops all records of a global type that are somebody's. Allocates nothing: none may stay behind. */
void layer_object_remove_owned(enum gen_handle_type type, bool (*is)(const void *record, const void *owner),
                               const void *owner);

static inline void *layer_object_get(const struct lap_object_tables *tables, enum gen_handle_type type, uint64_t handle)
{
    return handle ? lap_map_get(tables->maps[type], handle) : NULL;
}

#define LAYER_GET(device, vk_type, handle)                                                                             \
    layer_object_get(&(device)->tables, GEN_HANDLE_##vk_type, gen_u64_##vk_type(handle))
#define LAYER_ADD(device, vk_type, handle)                                                                             \
    ((void *)layer_object_add((device), GEN_HANDLE_##vk_type, gen_u64_##vk_type(handle)))

/* True when records of this type live in layer.maps (gen_layer.c). */
extern const bool gen_handle_global[GEN_HANDLE_COUNT];

/* The records of dispatchable handles; never NULL for handles that the program got through this layer. */
struct layer_instance *layer_instance_of_VkInstance(VkInstance handle);
struct layer_instance *layer_instance_of_VkPhysicalDevice(VkPhysicalDevice handle);
struct layer_physical_device *layer_physical_device_of(VkPhysicalDevice handle);
struct layer_device *layer_device_of_VkDevice(VkDevice handle);
struct layer_device *layer_device_of_VkQueue(VkQueue handle);
struct layer_device *layer_device_of_VkCommandBuffer(VkCommandBuffer handle);
struct layer_queue *layer_queue_of(VkQueue handle);
static inline __attribute__((always_inline)) struct layer_cmdbuf *layer_cmdbuf_of(VkCommandBuffer handle)
{
    return lap_map_get(&layer.maps[GEN_HANDLE_VkCommandBuffer], gen_u64_VkCommandBuffer(handle));
}

/* ---- entry.c ---- */

/* True when programs are told that the device has an extension, where it has it. */
bool layer_shows_extension(const char *extension);
/* What becomes of a vkCreateDevice with an extension that is hidden, layer/hidden.c: whether a return address is in the
 * loader; it has asked which of these there are; a vkCreateDevice has reached the layer; none comes any more, so that
 * one which came to nothing is told. Any thread. */
bool layer_hidden_is_loader(const void *caller);
void layer_hidden_ask(const VkExtensionProperties *all, uint32_t count);
void layer_hidden_arrived(void);
void layer_hidden_end(void);
void layer_hidden_exit(void); /* the same when the process ends, without freeing anything */
/* True when the device has it, whatever programs are told. */
bool layer_device_has_extension(const struct layer_physical_device *gpu, const char *extension);

/* ---- external.c ---- */

/* True when no handle type of memory among these comes with a hidden extension. */
bool layer_shows_memory_types(VkExternalMemoryHandleTypeFlags types);

/* ---- recording.c ---- */

/* Starts a packet on the calling thread's stream and returns the encoder for its body; NULL when nothing is recorded.
 * Flags of the command's class are added. Write nothing else and call nobody until layer_packet_end. */
struct lap_enc *layer_packet_begin(const struct lap_object_tables *tables, enum gen_command command, uint32_t flags);
void layer_packet_end(void);
/* Ticket of the packet that layer_packet_begin last started on this thread. */
uint64_t layer_packet_ticket(void);
/* For packets written at entry: says the call's result when it was not VK_SUCCESS. */
void layer_packet_result(const struct lap_object_tables *tables, uint64_t ticket, VkResult result);

/* Adds keys to the file's info object. json is a JSON object. */
void layer_recording_info(const char *json);
/* Ends a frame: all streams hand over what they hold. */
void layer_frame_end(void);
bool layer_is_recording(void);
/* The program has mapped memory: says how many mappings can't be watched, as often as that has doubled. */
void layer_device_note_mapping(struct layer_device *dev);
void layer_stop(const char *reason);
/* Before vkCreateInstance calls down: resolves the options once. named: the program itself enabled the layer. */
void layer_resolve(bool named);
/* Before an instance is created: opens the file unless it is or was open. At process exit the file is closed. */
void layer_recording_start(void);
/* When an instance was created. Before that the file is one that goes when the process ends. */
void layer_recording_is_used(void);

/* In the child of a fork: gives the parent's file up. The next vkCreateInstance opens one of the child's own. */
void layer_recording_forked(void);

/* ---- fork.c ---- */

/* Makes a mutex that tells its owner instead of waiting for itself; all of the layer's own are. */
void layer_mutex_init(pthread_mutex_t *mutex);
/* From the first vkCreateInstance on, a child of fork() gets consistent tables and free locks. False: out of memory. */
bool layer_fork_watch(void);
/* While a device is in the list, its locks are taken around a fork: from when they are made to before they go. */
void layer_fork_add(struct layer_device *dev);
void layer_fork_remove(struct layer_device *dev);

/* ---- command_buffer.c ---- */

/* Starts a command in the block of a command buffer that is being recorded; NULL when nothing is recorded. */
static inline __attribute__((always_inline)) struct lap_enc *layer_block_command(struct layer_cmdbuf *cb,
                                                                                 enum gen_command command)
{
    if (cb->state != LAYER_CMDBUF_RECORDING || !lap_enc_reserve(&cb->enc, LAP_WIRE_MAX_VARINT))
        return NULL;
    cb->in_call_at = (size_t)(cb->enc.p - cb->enc.base);
    lap_put_u64(&cb->enc, command);
    cb->command_count++;
    return &cb->enc;
}
/* Around the driver's function for a command that was encoded: in_flight.h. */
static inline __attribute__((always_inline)) void layer_command_begin(struct layer_cmdbuf *cb)
{
    const uint8_t *command = cb->enc.base + cb->in_call_at;
    size_t bytes = (size_t)(cb->enc.p - command);
    uintptr_t self = layer_thread_self();
    if (__builtin_expect(cb->note != NULL, 1)) {
        if (__builtin_expect(cb->note_self == self && bytes <= LAP_NOTE_COMMAND_MOST, 1))
            lap_note_command(cb->note, self, command, bytes);
        else
            layer_note_command(cb, command, bytes);
    }
    atomic_store_explicit(&cb->in_call, self, memory_order_relaxed);
}
static inline __attribute__((always_inline)) void layer_command_end(struct layer_cmdbuf *cb)
{
    atomic_store_explicit(&cb->in_call, 0, memory_order_relaxed);
    if (__builtin_expect(cb->note != NULL, 1))
        lap_note_command_returned(cb->note);
    if (__builtin_expect(cb->noted.entry != NULL, 0))
        layer_note_command_returned(cb);
}
void layer_cmdbuf_reset(struct layer_cmdbuf *cb); /* back to the initial state; keeps memory */

#endif

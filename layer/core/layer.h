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

#include "base/log.h"
#include "base/object.h"
#include "gen_encode.h"
#include "gen_ids.h"
#include "layer/core/command_record.h"
#include "layer/core/descriptor_record.h"
#include "layer/core/device_record.h"
#include "layer/core/notes.h"
#include "layer/core/options.h"
#include "layer/core/resource_record.h"
#include "trace/writer.h"

#define LAYER_FORMAT_WORDS 3u /* core formats but those of planes, in words of 64 */

/* Everything that is not behind a handle. */
struct layer_state {
    struct lap_map maps[GEN_HANDLE_COUNT]; /* dispatchable and instance-level handles */
    struct lap_map *map_pointers[GEN_HANDLE_COUNT];
    struct lap_object_tables tables;
    const struct layer_record_type *record_types; /* [GEN_HANDLE_COUNT], records.h */
    struct lap_map instances_by_table;            /* struct layer_instance by the loader's dispatch table pointer */
    atomic_uint_fast64_t next_index[GEN_HANDLE_COUNT];
    pthread_mutex_t object_mutex[GEN_HANDLE_COUNT]; /* creation and destruction of records of one type */
    pthread_mutex_t recording_mutex;                /* opening and closing of the file */
    pthread_mutex_t devices_mutex;                  /* the list of devices; held from one end of a fork to the other */
    struct layer_device *devices;                   /* all that exist */
    struct lap_tree_node *imports;                  /* host_import.c: by address; under devices_mutex */
    atomic_bool imports_meet;                       /* those of two devices: said once */
    struct layer_payload *payloads;                 /* payload.c; under devices_mutex */
    uint64_t last_space;                            /* of shared memory; under devices_mutex */
    atomic_uint unseen;                             /* unseen.c: what was said; a bit for each kind */
    atomic_uint_fast64_t shared_signals;            /* of binary semaphores with a payload that others have, too */
    struct layer_external_sync *handed;             /* external_sync.c; under devices_mutex */
    struct lap_writer *_Atomic writer;              /* NULL: nothing is recorded */
    atomic_bool waiting;                            /* with options.parts: a part may begin later (part.h) */
    atomic_bool part_pending;                       /* it is to begin as soon as nothing waits for the host */
    pthread_rwlock_t parts_lock; /* with options.parts: held by each packet, and for itself by who begins
                                    or ends a part */
    struct layer_options options;
    struct lap_log log;
    atomic_uint_fast64_t image_formats[LAYER_FORMAT_WORDS]; /* noted in this recording; a bit for each */
    bool resolved, started;                                 /* options are; the recording was */
    bool forked;                 /* this process began as a copy of one that had resolved them, and has no file yet */
    atomic_uint_fast64_t frames; /* presented */
    atomic_bool has_surface;     /* some surface was created: frames end at presents, otherwise at submits */
    atomic_bool has_boundaries;  /* or, without one, at those that say so (VK_EXT_frame_boundary) */
    bool pass_through;           /* armed at no time: nothing but the loader's chains is touched */
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

/* ---- external_properties.c ---- */

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

/* A replay on a device that lacks formats need not read the whole trace for whether it has images of them. In front of
 * the packet that creates the images: a trace whose process is killed has the note if it has the packet. */
void layer_note_image_format(VkFormat format);

/* Adds keys to the file's info object. json is a JSON object. */
void layer_recording_info(const char *json);
/* Ends a frame: all streams hand over what they hold. */
void layer_frame_end(void);
/* A call that submits commands has returned; no lock is held. */
void layer_submit_ended(void);
/* The program has waited for work, or has learnt otherwise that it is done; no lock is held. */
void layer_waited(void);
/* Whether the program's calls matter for a trace: one is written, or a part of the run may be recorded later. */
bool layer_is_recording(void);
/* Whether a trace is written now. */
bool layer_is_writing(void);
/* The program has mapped memory: says how many mappings can't be watched, as often as that has doubled. */
void layer_device_note_mapping(struct layer_device *dev);
void layer_stop(const char *reason);
/* What a call of memory tracking returned. Out of memory ends the recording; the rest is the program's own mistake. */
void layer_tracking_result(enum lap_status status);
/* Before vkCreateInstance calls down: resolves the options once. named: the program itself enabled the layer. */
void layer_resolve(bool named);
/* The part of the run that ended last. */
struct layer_last_part {
    uint64_t frames, bytes;
    const char *refusal;    /* why none began that was asked for later; static; NULL: none was refused */
    struct lap_length kept; /* of the run's end, from now on */
};
/* Before an instance is created: opens the file unless it is or was open. At process exit the file is closed. */
struct layer_recording_hooks {
    bool (*watch_forks)(void); /* once; false: out of memory */
    void (*opened)(void);      /* the file is there */
    layer_encode_call encode_call;
    bool (*part_begins_at_once)(void); /* the first part is from the program's first call on; before all below */
    void (*frame_ended)(void);         /* a frame has ended, where parts of the run are recorded */
    void (*submitted)(void);           /* the same of a submit */
    void (*waited)(void);              /* while a part is pending */
    void (*ends)(void);                /* the process does */
    void (*forked)(void);              /* in the child after fork(), where parts of the run are recorded */
    /* Where parts of the run are recorded, from the thread of commands (control.h). NULL: done; else why not; static.
     */
    const char *(*start)(
        uint64_t frames);      /* a part of so many, at the end of a frame; UINT64_MAX: until it is stopped */
    const char *(*stop)(void); /* the part, or what is to become one */
    const char *(*keep_last)(const struct lap_length *length); /* from the end of a frame on; no unit: no longer */
    const char *(*keep)(void);                                 /* what is kept of it stays, at the end of a frame */
    void (*last)(struct layer_last_part *out);
};
void layer_recording_start(const struct layer_recording_hooks *hooks);
/* Ends the recording in good order while the program goes on, which is not recorded from then on; says why. Recording
 * threads wait until what they have left is written. False: nothing is being recorded. No thread of the program's. */
bool layer_recording_end(const char *why);
/* When an instance was created. Before that the file is one that goes when the process ends. */
void layer_recording_is_used(void);

/* In the child of a fork: gives the parent's file up. The next vkCreateInstance opens one of the child's own. */
void layer_recording_forked(void);

/* Counters of the file, if there is one (trace/writer.h), from any thread with no packet open. */
void layer_count(enum lap_counter counter, uint64_t add);
void layer_note_ticket(enum lap_counter counter);

/* Where parts of the run are recorded: between these no part begins or ends. Otherwise they do nothing. */
void layer_parts_enter(void);
void layer_parts_leave(void);

/* ---- for layer/part ---- */

/* Excludes everybody else from writing packets. False: out of memory. */
bool layer_parts_lock(void);
void layer_parts_unlock(void);
/* Under that lock, before layer_recording_open, which a streamed trace then can't fail to do for want of a receiver:
 * connects. Nobody is waited for while something is recorded. False: it was said why not. */
bool layer_recording_connect(void);
/* Under that lock: opens the file of a part and begins to write; false: it was said why not. layer_recording_is_used or
 * layer_recording_discard follows. */
bool layer_recording_open(void);
/* Under that lock: there shall be no such file. */
void layer_recording_discard(void);
/* Under that lock: the state is written. A reader finds it should the process be killed, and from now on also what is
 * finished behind it, and which calls are under way. */
void layer_recording_note_calls(void);
/* Under that lock: what the keeper has (layer_keeper_write). */
bool layer_recording_write_kept(bool second) LAP_MUST_CHECK; /* false: out of memory */
/* Under that lock: the block of a command buffer, without blobs. */
void layer_recording_write_block(const struct lap_object_tables *tables, uint64_t command_buffer, const void *block,
                                 size_t bytes, uint64_t command_count);
/* Under that lock: ends the file, if there is one, which has so many frames and bytes. *connection (which is closed, or
 * NULL): that of a streamed trace, which otherwise ends. */
void layer_recording_close(uint64_t *out_frames, uint64_t *out_bytes, struct lap_own_file *connection);

/* ---- fork.c ---- */

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
    cb->last_command_at = (size_t)(cb->enc.p - cb->enc.base);
    lap_put_u64(&cb->enc, command);
    cb->command_count++;
    return &cb->enc;
}
/* Around the driver's function for a command that was encoded. */
static inline __attribute__((always_inline)) void layer_command_begin(struct layer_cmdbuf *cb)
{
    const uint8_t *command = cb->enc.base + cb->last_command_at;
    layer_note_command(&cb->note, cb->object.index, command, (size_t)(cb->enc.p - command));
}
static inline __attribute__((always_inline)) void layer_command_end(struct layer_cmdbuf *cb)
{
    layer_note_command_returned(&cb->note);
}

#endif

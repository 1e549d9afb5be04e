/* SPDX-License-Identifier: MIT */
/*
 * layer: the records behind the program's handles and the one table that holds them.
 *
 * Records are found by handle in lock-free maps (base/map.h): one map per handle type for instance-level and
 * dispatchable handles (layer.tables), and one per device for the others (device->tables). A record lives from the
 * creating call's return to the destroying call's entry; the specification's external synchronisation of destruction
 * keeps it valid while a call uses it. Handles are never wrapped: the program holds the driver's own handles.
 *
 * The program must never fail because of the layer: when out of memory or the file can't be written, recording stops
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
#include "trace/write/writer.h"
#include "vulkan/unchecked.h"

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
    atomic_bool imports_meet;                       /* two devices import the same pages; warned of once */
    struct layer_payload *payloads;                 /* payload.c; under devices_mutex */
    uint64_t last_space;                            /* of shared memory; under devices_mutex */
    atomic_uint unseen;                             /* unseen.c: the kinds that were reported; a bit for each */
    atomic_uint lost[LAP_UNCHECKED_COUNT];          /* part/lost.h: objects, in this recording */
    atomic_uint_fast64_t shared_signals;            /* signals of binary semaphores that share their payload */
    struct layer_external_sync *handed;             /* external_sync.c; under devices_mutex */
    /* NULL: nothing is recorded. Release by open_file, acquire by all others: the writer. Parts end it: recording.c,
     * look_at_writer. */
    struct lap_writer *_Atomic writer;
    /* Both are hints, read relaxed; what they say is looked up under the mutex of parts. */
    atomic_bool waiting;         /* with options.parts: a part may begin later (part.h) */
    atomic_bool part_pending;    /* a part begins as soon as no submitted work waits for the host */
    pthread_rwlock_t parts_lock; /* with options.parts: each packet holds it for reading; beginning or ending a part
                                    holds it for writing */
    struct layer_options options;
    struct lap_log log;
    /* Noted in this recording; a bit for each. Release by the thread that has written the note, acquire by others: it
     * comes before their packets. */
    atomic_uint_fast64_t image_formats[LAYER_FORMAT_WORDS];
    bool resolved, started;      /* the options are resolved; the recording was started */
    bool forked;                 /* forked from a process that had resolved the options; it has no file yet */
    atomic_uint_fast64_t frames; /* that have ended */
    atomic_bool has_surface;     /* some surface was created: frames end at presents, otherwise at submits */
    atomic_bool has_boundaries;  /* without a surface: frames end at submits marked by VK_EXT_frame_boundary */
    bool pass_through;           /* never armed: the layer changes nothing but the loader's chains */
};

extern struct layer_state layer;

/* ---- object.c ---- */

/* Adds the record of a handle that a call has just returned, or an alias when a live record has the same handle value.
 * device is NULL for instance-level and dispatchable handles. The record is zeroed behind its head; its size follows
 * from the type. NULL when out of memory (recording then stops). */
struct lap_object *layer_object_add(struct layer_device *device, enum gen_handle_type type, uint64_t handle);

/* For creations that can't be undone: prepare allocates the record of a global type and reserves room for it (NULL: out
 * of memory), adopt adds it for the handle. adopt returns false only if another thread took the room. free() undoes
 * prepare. */
struct lap_object *layer_object_prepare(enum gen_handle_type type);
bool layer_object_adopt(struct lap_object *object, enum gen_handle_type type, uint64_t handle);

/* At the entry of a destroying call, after its packet was written: drops the newest alias or frees the record. */
void layer_object_remove(struct layer_device *device, enum gen_handle_type type, uint64_t handle);

/* Drops all records of a global type that belong to an owner. Allocates nothing, so it can't fail. */
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
/* For packets written at entry: records the call's result when it was not VK_SUCCESS. */
void layer_packet_result(const struct lap_object_tables *tables, uint64_t ticket, VkResult result);

/* Notes an image format, so that a replay on a device that lacks it need not search the whole trace. Called before the
 * packet that creates the image is written: if the process is killed, a trace with the packet also has the note. */
void layer_note_image_format(VkFormat format);

/* Adds keys to the file's info object. json is a JSON object. */
void layer_recording_info(const char *json);
/* The same for this file alone, where later parts have files of their own. */
void layer_recording_info_once(const char *json);
/* Ends a frame: all streams hand over their buffered packets. */
void layer_frame_end(void);
/* A call that submits commands has returned; no lock is held. */
void layer_submit_ended(void);
/* The program has waited for work, or has learnt otherwise that it is done; no lock is held. */
void layer_waited(void);
/* Whether the program's calls matter for a trace: one is written, or a part of the run may be recorded later. */
bool layer_is_recording(void);
/* Whether a trace is written now. */
bool layer_is_writing(void);
/* The program has mapped memory: reports the number of mappings that can't be watched each time it has doubled. */
void layer_device_note_mapping(struct layer_device *dev);
void layer_stop(const char *reason);
/* Handles the result of a memory tracking call. Out of memory ends the recording; other errors are the program's. */
void layer_tracking_result(enum lap_status status);
/* Before vkCreateInstance calls down: resolves the options once. named: the program itself enabled the layer. */
void layer_resolve(bool named);
/* The part of the run that ended last. */
struct layer_last_part {
    uint64_t frames, bytes;
    const char *refusal;    /* why a part requested later did not begin; static; NULL: none was refused */
    struct lap_length kept; /* of the run's end, from now on */
};
/* Before an instance is created: opens the file unless it is or was open. At process exit the file is closed. */
struct layer_recording_hooks {
    bool (*watch_forks)(void); /* once; false: out of memory */
    void (*opened)(void);      /* the file is there */
    layer_encode_call encode_call;
    bool (*part_begins_at_once)(void); /* with the program's first call; before all below */
    void (*frame_ended)(void);         /* a frame has ended; only where parts of the run are recorded */
    void (*submitted)(void);           /* the same for a submit */
    void (*waited)(void);              /* while a part is pending */
    void (*ends)(void);                /* the process ends */
    void (*forked)(void);              /* in the child after fork(), where parts of the run are recorded */
    /* Where parts of the run are recorded, from the control thread (control.h). NULL: done; else why not; static. */
    const char *(*start)(
        uint64_t frames);      /* a part of `frames` frames, from the next end of a frame; UINT64_MAX: until stopped */
    const char *(*stop)(void); /* stops the part, and cancels a pending one */
    const char *(*keep_last)(const struct lap_length *length); /* from the next end of a frame; no unit: keeping ends */
    const char *(*keep)(void); /* keeps the kept recordings for good, at the end of a frame */
    void (*last)(struct layer_last_part *out);
};
void layer_recording_start(const struct layer_recording_hooks *hooks);
/* Ends the recording in order while the program goes on unrecorded; logs the reason. Recording threads wait until their
 * last packets are written. False: nothing is being recorded. Not from a thread of the program. */
bool layer_recording_end(const char *why);
/* When an instance was created. Until then the file is deleted when the process ends. */
void layer_recording_is_used(void);

/* In the child of a fork: drops the parent's file. The next vkCreateInstance opens a file for the child. */
void layer_recording_forked(void);

/* Counters of the file, if there is one (trace/write/writer.h), from any thread with no packet open. */
void layer_count(enum lap_counter counter, uint64_t add);
void layer_note_ticket(enum lap_counter counter);

/* Where parts of the run are recorded: no part begins or ends between these calls. Otherwise they do nothing. */
void layer_parts_enter(void);
void layer_parts_leave(void);

/* ---- for layer/part ---- */

/* Excludes all other threads from writing packets. False: out of memory. */
bool layer_parts_lock(void);
void layer_parts_unlock(void);
/* Under that lock, before layer_recording_open: connects a streamed trace to its receiver, so that the open can't fail
 * for lack of one. Does not wait for a receiver while a trace is recorded. False: the reason was logged. */
bool layer_recording_connect(void);
/* Under that lock: opens the file of a part and begins to write; false: the reason was logged. layer_recording_is_used
 * or layer_recording_discard follows. */
bool layer_recording_open(void);
/* Under that lock: deletes that file. */
void layer_recording_discard(void);
/* A part that was asked for is not recorded: tells the launcher. */
void layer_recording_failed(void);
/* Under that lock: the state is written. If the process is killed, a reader finds the state, the packets finished after
 * it, and the calls in flight. */
void layer_recording_note_calls(void);
/* Under that lock: writes the keeper's packets (layer_keeper_write). */
bool layer_recording_write_kept(bool second) LAP_MUST_CHECK; /* false: out of memory */
/* Under that lock: writes the block of a command buffer, without blobs. */
void layer_recording_write_block(const struct lap_object_tables *tables, uint64_t command_buffer, const void *block,
                                 size_t bytes, uint64_t command_count);
/* Under that lock: ends the file, if there is one, and returns its frames and bytes. *connection (which is closed, or
 * NULL) receives the connection of a streamed trace, which otherwise ends. */
void layer_recording_close(uint64_t *out_frames, uint64_t *out_bytes, struct lap_own_file *connection);

/* ---- fork.c ---- */

/* From the first vkCreateInstance on, a child of fork() gets consistent tables and free locks. False: out of memory. */
bool layer_fork_watch(void);
/* While a device is in the list, its locks are taken around a fork. Add it after its locks are initialised; remove it
 * before they are destroyed. */
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

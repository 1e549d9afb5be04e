/* SPDX-License-Identifier: MIT */
/* device_record: the records of instances, physical devices, devices and queues. Members of a device that only one
 * module uses are named after it. */
#ifndef LAP_LAYER_DEVICE_RECORD_H
#define LAP_LAYER_DEVICE_RECORD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include "base/object.h"
#include "gen_dispatch.h"
#include "gen_ids.h"
#include "layer/core/touched_record.h"
#include "memtrack/memtrack.h"
#include "memtrack/virtual_types.h"
#include "vulkan/descriptor_places.h"

struct layer_instance;
struct lap_readback; /* vulkan/readback.h */

struct layer_physical_device {
    struct lap_object object;
    struct layer_instance *_Atomic instance; /* release by layer_physical_device_add, acquire by readers: the rest */
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory; /* as the driver gives them */
    struct lap_virtual_types types;
    atomic_llong heap_shift[VK_MAX_MEMORY_HEAPS]; /* bytes that programs believe to be in a heap minus the real ones */
};

struct layer_instance {
    struct lap_object object;
    VkInstance handle;
    PFN_vkGetInstanceProcAddr next_get_proc_addr;
    PFN_GetPhysicalDeviceProcAddr next_get_physical_device_proc_addr; /* NULL: the next layer has none */
    struct gen_instance_dispatch vk;
    /* By the name in VK_EXT_calibrated_timestamps; queried early, as loaders later return the layer's own function. */
    PFN_vkGetPhysicalDeviceCalibrateableTimeDomainsEXT older_time_domains;
    uint32_t api_version;
    bool knows_imports;   /* it has the queries for importable memory */
    void *dispatch_table; /* the key in layer.instances_by_table */
    struct lap_object_tables tables;
};

struct layer_queue {
    struct lap_object object;
    VkQueue handle;
    struct layer_device *device;
    uint32_t family, number;
    VkQueueFlags flags; /* of its family */
    VkFence part_fence; /* part.c: signalled after the work that a part waits for; under verify.mutex. Null: none */
};

/* ---- layer/memory/backing.h ---- */

/* Of buffers and images. Zero: created as the program asked. */
struct layer_backing_object {
    bool importable;      /* may be bound to memory that was imported from a host pointer */
    bool sparse;          /* its memory comes with vkQueueBindSparse: see layer_backing_shown_types */
    uint32_t moved_types; /* the driver's memory types lost by this; allocations from them are imported pages */
    uint32_t waits;       /* not importable, and waiting for memory of these backed types: see layer_backing_settle */
};

struct layer_backing_plan {
    uint32_t types;                            /* backed; 0: none */
    uint32_t import_type[VK_MAX_MEMORY_TYPES]; /* [backed type]: the type that its pages are imported into */
    uint32_t external_types;                   /* memory types for objects that can be bound to imported pages */
    VkDeviceSize alignment;
    bool imports_count;
    const char *reason; /* one sentence, static */
};

/* The answer for one kind of objects, stored when the first of the kind is created. */
struct layer_backing_kind {
    uint64_t key[4];
    struct layer_backing_object object;
};

#define LAYER_BACKING_KINDS 64u

/* Of one device. plan.types 0: nothing is backed, and everything here passes through. */
struct layer_backing_device {
    struct layer_backing_plan plan;
    bool enabled_behind; /* VK_EXT_external_memory_host is enabled, but not by the program */
    pthread_mutex_t mutex;
    struct layer_backing_kind kinds[LAYER_BACKING_KINDS];
    uint32_t kind_count;                   /* ever added; the oldest give way */
    uint32_t waiting[VK_MAX_MEMORY_TYPES]; /* objects that wait for memory of a type; under mutex */
};

/* ---- layer/memory/capture_address.h ---- */

#define LAYER_ADDRESS_KINDS  64u
#define LAYER_ADDRESS_UPPERS 16u

/* Of one device. Zeroed: nothing is done. */
struct layer_address_device {
    bool captured;      /* addresses are captured for replay */
    bool identified;    /* the driver is recorded */
    const char *reason; /* why not: one sentence, static; NULL where the program uses no addresses */
    /* Kinds of buffers: a hash whose lowest bit is set if the flag changes nothing; 0: none yet. */
    atomic_uint_fast64_t kinds[LAYER_ADDRESS_KINDS];
    atomic_bool warned_of_difference;
    atomic_uint uppers[LAYER_ADDRESS_UPPERS]; /* upper halves of the program's addresses; 0: end */
    atomic_bool warned_of_constants;
    bool has_ranges; /* address_range.h; the rest is under the mutex */
    pthread_mutex_t range_mutex;
    struct lap_tree_node *ranges;
    uint64_t range_order;
};

/* ---- layer/memory/copies.h ---- */

struct layer_copies {
    pthread_mutex_t mutex;
    struct layer_copy_chunk *chunks; /* under the mutex */
};

/* ---- devices ---- */

/* From the loader, when the device was created. */
struct layer_device_loader {
    PFN_vkGetDeviceProcAddr next_get_proc_addr;
    PFN_vkSetDeviceLoaderData set_data;
};

/* Code of its shaders: shader/code.h. */
struct layer_device_code {
    atomic_bool accesses; /* some pipeline has a layer_pipeline.access */
    struct lap_map known; /* the code of opaque bytes; zeroed is empty */
    bool kept;            /* an enabled extension allows pipelines without code */
    uint8_t key_salt[16]; /* if code is kept: makes keys unique to this run */
};

struct layer_device_descriptors {
    bool buffers;                      /* the feature is enabled */
    struct lap_descriptor_sizes sizes; /* descriptor_buffer.c */
    pthread_mutex_t mutex;             /* slots of descriptors that may be updated while their set is in use */
};

/* sparse_snapshot.c: former places of sparse objects that submitted work still writes to. */
struct layer_sparse_snapshots {
    struct layer_sparse_snapshot {
        uint64_t number; /* a layer_resource of its own */
        struct lap_memobj *memobj;
    } * all;
    uint32_t count, capacity;
    uint64_t last_number;
};

/* Submitted work, its resources, and the order of updates and submits: all members, and their contents, are under the
 * mutex. */
struct layer_device_submit {
    pthread_mutex_t mutex;
    struct layer_submission *first, *last; /* not yet known to be finished, in the order of submission */
    struct layer_submission *spare;
    uint64_t serial;
    uint32_t gated_count;                      /* of submissions: host_gate.h */
    struct layer_payload_user *shown_payloads; /* payload.c: those with dma-bufs that can be read */
    atomic_uint count; /* of submissions not yet known to be finished; changed with release under the mutex. 0, read
                          with acquire without it: the packets and updates of all finished ones are there */
    struct lap_map resources;   /* struct lap_memobj by layer_resource (touched.h); zeroed is empty */
    struct lap_touched touched; /* by the current submit: kept to reuse its memory, as are the next two */
    struct layer_touched batch;
    struct layer_progress_queries progress_queries;
    struct layer_progress_queries lost_queries; /* available since before the part, and not 0 as in a replay */
    bool said_lost;                             /* that the device copies one */
    struct layer_unseen {
        struct layer_written *ranges;
        uint32_t count, capacity;
    } unseen;                    /* memory_checks.c: writes of finished work that the program could not see yet */
    atomic_bool stored_anywhere; /* some work may have; relaxed: its submit comes before, by the program's own rules */
    struct layer_sparse_snapshots snapshots;
    uint32_t slow_compares; /* host_update.c */
};

/* Checks of the GPU's results. All but clearing_queue, which does not change, is under the mutex. */
struct layer_device_verify {
    pthread_mutex_t mutex;         /* of images of swapchains and their records, too; held while the GPU works */
    struct lap_readback *readback; /* present_checks.c: made when first needed */
    bool waits_not;                /* full_checks.c: a wait for work once timed out or failed */
    VkQueue clearing_queue;        /* full_checks.c: some queue with graphics or compute; NULL: there is none */
    VkFence fence;                 /* full_checks.c: of a submit */
};

struct layer_device {
    struct lap_object object;
    VkDevice handle;
    struct layer_device *next, **previous; /* in layer.devices */
    struct layer_instance *instance;
    struct layer_physical_device *physical_device;
    struct layer_device_loader loader;
    struct gen_device_dispatch vk;
    struct lap_object_tables tables;
    struct lap_map *maps[GEN_HANDLE_COUNT]; /* targets of `tables`; device-level ones are in own_maps */
    struct lap_map own_maps[GEN_HANDLE_COUNT];
    struct lap_memtrack *memtrack; /* NULL: nothing is recorded of this device */
    struct layer_backing_device backing;
    _Atomic uint64_t compared_reported; /* mappings that are compared: the number last recorded */
    struct layer_address_device addresses;
    struct layer_copies copies;
    uint64_t import_space; /* host_import.h; 0: none yet */
    struct layer_device_code code;
    bool device_addresses; /* an enabled feature lets shaders access memory by address */
    bool is_group;         /* of several physical devices */
    struct layer_device_descriptors descriptors;
    pthread_mutex_t map_mutex;  /* unmapped_read.h: mapping and unmapping, by program or layer */
    bool maps_hidden;           /* memory of a type that is not host-visible was mapped; under map_mutex */
    atomic_bool misses_touched; /* command buffers and descriptors lack objects there, which were bound before. Relaxed,
                                   as stored_anywhere */
    struct layer_device_submit submit;
    atomic_uint handed_files; /* external_sync.h, changed under devices_mutex: sync files not known to be signalled */
    struct layer_device_verify verify;
    bool torn; /* fork.c: in a child; this record was being changed at the fork */
};

#endif

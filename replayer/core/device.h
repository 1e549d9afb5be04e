/* SPDX-License-Identifier: MIT */
/* device: the live instances and devices of a replay. Each has a pointer to the state of each module. */
#ifndef LAP_REPLAYER_CORE_DEVICE_H
#define LAP_REPLAYER_CORE_DEVICE_H

#include "base/tree.h"
#include "replayer/core/replay.h"

struct replay_queue_plan;   /* queue_families.h */
struct replay_spirv_target; /* shader_validation.h */

#define REPLAY_MAX_FAMILIES 32u

/* Counts of buffers on the recorded driver that could not have their recorded addresses. */
struct replay_preserved_address_counts {
    uint64_t memories, bytes;  /* allocated at their recorded addresses so far; the most bytes at once */
    uint64_t refused_memories; /* the driver did not allocate them at their recorded addresses */
    uint64_t refused_buffers;  /* the driver did not create them for their recorded addresses */
    uint64_t aliased;          /* buffers that share memory with others, in an allocation for all of them */
};

struct replay_preserved_addresses {
    bool possible;                  /* the feature is enabled in the device, and --addresses is not translate */
    bool active;                    /* and the driver is the recorded one */
    struct lap_tree_node *memories; /* struct replay_address_memory by index in the trace */
    uint64_t order, allocated_bytes;
    struct replay_preserved_address_counts counts;
};

struct replay_instance {
    VkInstance live;
    uint64_t index;
    struct gen_instance_dispatch vk;
    VkPhysicalDevice gpu; /* the chosen one; all recorded physical devices map to it */
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceMemoryProperties memory;
    uint32_t api_version;               /* the version for which the instance was created */
    uint32_t window_systems;            /* window_system.h: bit N: the extension of the Nth is enabled */
    VkDebugUtilsMessengerEXT messenger; /* validation.h */
    struct replay_instance *next;
};

struct replay_queue {
    VkQueue live;
    uint32_t family, number;
    VkQueueFlags flags;
    struct replay_queue_progress *progress; /* sync/; NULL until something is submitted */
    uint32_t open_labels;                   /* submit/queue_labels.c */
};

/* Its queues and their families: device/queues.h. */
struct replay_device_queues {
    struct replay_queue *all;
    uint32_t count;
    uint32_t family_count;
    uint32_t families[REPLAY_MAX_FAMILIES]; /* those of the queues, each once */
    bool families_differ;                   /* some recorded family has another number on the replay device */
    bool lacks_foreign;                     /* VK_EXT_queue_family_foreign, which the trace enables */
    struct replay_queue_plan *plan;
    struct replay_queue *main; /* graphics or, failing that, compute or transfer: for the replay's own copies */
    VkCommandPool pool;        /* for the replay's own copies, on main's family */
};

/* Submitted work, and what waits for it or for the host. */
struct replay_device_sync {
    struct replay_submits *submits;       /* submit.c; NULL until there is a timeline semaphore, or an event */
    struct replay_command_events *events; /* NULL until there is an event that the host can set */
    bool (*awaits_host)(const struct replay_device *dev); /* wait.h; set by submit.c */
    struct replay_submissions *submissions;               /* submission.c; NULL until something is submitted */
    struct replay_deferred_destroy *deferred;             /* made with it */
    struct replay_external_sync *handed; /* external_sync.h; NULL until a semaphore or fence can be exported */
};

struct replay_device_memory {
    struct replay_memory_planner *planner; /* created with the device by replay_memory_planner_create */
    struct replay_sparse_device *sparse;   /* sparse.c; NULL until something is sparse */
    bool zeroed;                           /* it begins as zeroes: VK_EXT_zero_initialize_device_memory */
};

/* Addresses of its buffers: address.h. */
struct replay_device_addresses {
    struct replay_addresses *known;              /* address.c; NULL until the program asks for an address */
    bool enabled;                                /* a feature is enabled with which buffers have them */
    bool need_memory;                            /* and it wants memory that is allocated for them */
    bool translated;                             /* some buffer's address was not the recorded one */
    struct replay_preserved_addresses preserved; /* captured_memory.h: addresses that stay as recorded */
};

struct replay_device_present {
    bool enabled;                            /* VK_KHR_swapchain: PRESENT_SRC_KHR layouts are known */
    struct replay_acquired_images *acquired; /* NULL until an image is acquired behind a present */
    /* swapchain.c: the image of a virtual swapchain; NULL until there is one. */
    enum lap_status (*swapchain_image)(struct replay *r, struct replay_device *dev, VkSwapchainKHR swapchain,
                                       uint32_t image_index, VkImage *out_image);
};

/* query_pool.c. */
struct replay_device_queries {
    bool has_lock;              /* the profiling lock */
    bool any_substituted;       /* there is, or was, a pool in the next map */
    struct lap_map substituted; /* live pools of timestamps; values mean nothing */
};

/* Features and extensions with which it was created, as far as the replay asks. */
struct replay_device_enabled {
    uint32_t allowances;         /* gen_replay.h: parameters that may be null by an enabled feature */
    bool chained_code;           /* stages may have their code in the chain, without a module */
    bool nested_command_buffers; /* secondary command buffers may execute others */
    bool acceleration;           /* acceleration structures: blocks may build some */
    bool rate_attachments;       /* shading_rate.h */
    bool separate_depth_stencil; /* depth and stencil may have different layouts */
};

/* How it compares with the recorded one. */
struct replay_device_recorded {
    bool other_gpu;   /* known to have another name */
    bool same_driver; /* known to be the driver of the recorded machine, in its version */
};

/* Formats that it lacks, and what takes their place. */
struct replay_device_formats {
    const struct replay_formats *substitutes;  /* the replay's; NULL: none is substituted */
    bool stencils_differ;                      /* a format with depth substitutes stencil alone: stencil_only.h */
    struct replay_format_converter *converter; /* gpu_convert.h; NULL until texels are converted */
    uint64_t asked_images[64];                 /* image_support.c: kinds of images that were queried */
};

/* Acceleration structures and ray tracing. */
struct replay_device_rays {
    struct replay_build_scratch *build_scratch;     /* build_scratch.h; NULL until an acceleration structure is built */
    struct replay_kept_structures *kept_structures; /* structure.c; NULL: none */
    struct replay_ray_tracing *tracing;             /* ray_tracing.h; NULL until there is a ray-tracing pipeline */
    VkDeviceSize largest_table_buffer;              /* the size of the largest buffer for binding tables so far */
};

struct replay_device_descriptors {
    struct replay_push_descriptors
        *push; /* push_descriptors.h; NULL: the device can push descriptors, or the trace pushes none */
    struct replay_descriptor_buffers *buffers; /* descriptor_buffers.h; NULL: the program enabled none */
};

struct replay_device {
    VkDevice live;
    uint64_t index;
    struct replay_instance *instance;
    VkPhysicalDevice gpu;
    struct gen_device_dispatch vk;
    struct replay_device_memory memory;
    struct replay_device_sync sync;
    struct replay_device_queues queues;
    struct replay_shown *shown; /* shown.h; NULL: the driver looks at no descriptor that shaders don't use */
    bool busy;                  /* submission.h: work may be under way, or destructions are deferred */
    struct replay_device_present present;
    struct replay_device_addresses addresses;
    struct replay_spirv_target *spirv; /* the device's capabilities for shaders */
    struct replay_device_enabled enabled;
    bool lacks_rate_texels; /* shading_rate.c has warned of it */
    struct replay_device_queries queries;
    struct replay_device_formats formats;
    struct replay_device_rays rays;
    struct replay_device_recorded recorded;
    struct replay_device_descriptors descriptors;
    struct replay_host_copies *host_copies; /* host_copy.h; NULL: the device has none */
    struct replay_generated_commands
        *generated_commands; /* generated_commands.h; NULL until there is a layout of such */
    struct replay_device *next;
};

/* The device or instance that a live dispatchable handle (VkDevice, VkQueue, VkCommandBuffer, ...) belongs to is passed
 * to every replay function, so none has to look it up: enum lap_status replay_X(struct replay *r, struct replay_device
 * *dev, struct gen_args_X *args);      device level enum lap_status replay_X(struct replay *r, struct replay_instance
 * *instance, struct gen_args_X *args); instance level (X without "vk"; instance is NULL for vkCreateInstance;
 * gen_replay.h declares them all). Handles in args are live, except those that the call creates: there the array holds
 * trace indices; gen_keep_VkX() turns it into live objects. In our own packets and in
 * vkQueueBindSparse VkDeviceMemory is a trace index: memory of the program is not replayed. A VkSurfaceKHR is a trace
 * index as well (surface.h). */

#endif

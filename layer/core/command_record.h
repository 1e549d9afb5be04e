/* SPDX-License-Identifier: MIT */
/* command_record: the records of command buffers and pipelines, and of objects for synchronisation and presentation. */
#ifndef LAP_LAYER_COMMAND_RECORD_H
#define LAP_LAYER_COMMAND_RECORD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include "base/object.h"
#include "gen_ids.h"
#include "gen_memo.h"
#include "layer/core/device_record.h"
#include "layer/core/notes.h"
#include "trace/format/encode.h"
#include "vulkan/shader/spirv.h"

struct layer_code; /* layer/shader/code.h */
struct layer_origin;

struct layer_command_pool {
    struct lap_object object;
    struct layer_cmdbuf *buffers; /* linked through next_in_pool */
};

#define LAYER_RECENT_SETS  1024u /* a power of two */
#define LAYER_RECENT_READS 8u    /* a power of two */
#define LAYER_SET_MEMOS    4u    /* a power of two */
/* Those in front of LAYER_BIND_QUICK have their numbers in VkPipelineBindPoint. */
enum {
    LAYER_BIND_GRAPHICS,
    LAYER_BIND_COMPUTE,
    LAYER_BIND_QUICK,
    LAYER_BIND_RAYS = LAYER_BIND_QUICK,
    LAYER_BIND_POINTS
};

enum layer_cmdbuf_state { LAYER_CMDBUF_INITIAL, LAYER_CMDBUF_RECORDING, LAYER_CMDBUF_EXECUTABLE };

struct layer_cmdbuf {
    struct lap_object object;
    VkCommandBuffer handle;
    struct layer_device *device;
    struct layer_command_pool *pool;
    struct layer_cmdbuf *next_in_pool, **previous_in_pool;
    struct lap_enc enc;     /* the block: see layer/command/command_buffer.c */
    size_t last_command_at; /* where its last command begins */
    struct layer_cmdbuf_note note;
    uint64_t command_count;
    enum layer_cmdbuf_state state;
    bool secondary;
    /* Handles that this recording used last: fast_path.h. */
    struct layer_memo {
        uint64_t handle, index; /* both 0: none */
    } memo[GEN_MEMO_COUNT];
    struct layer_set_memo {
        uint64_t handle, index;
        uint32_t dynamic;
    } set_memo[LAYER_SET_MEMOS]; /* by number of the set */
    struct layer_read {
        uint64_t buffer, from; /* the handle; known to be read from `from` to its end */
    } recent_reads[LAYER_RECENT_READS];
    struct layer_cmdbuf_part *parts; /* cmdbuf_parts.h: the finished parts. The next three members and the last sets
                                        belong to the current part. NULL: none */
    uint32_t part_count, part_capacity;
    struct layer_event_steps events;
    struct layer_progress_queries progress_queries;
    struct layer_progress_queries copied_queries; /* with parts: copies of results that earlier submits left */
    struct layer_image_steps image_steps;
    struct layer_structure_steps structure_steps;
    struct layer_touched touched;   /* memory that the commands name directly */
    struct layer_cmdbuf_sets *sets; /* touched.c: descriptor sets that were bound (resolved to ranges at submit) */
    uint32_t sets_count, sets_capacity;
    uint32_t recent_sets[LAYER_RECENT_SETS]; /* places in sets, two for a hash, the newer one first: most binds repeat
                                                an earlier one */
    uint32_t *many_sets, many_sets_mask; /* the same with more places, for a recording with many sets; NULL: none yet */
    struct layer_bound {
        const struct lap_spirv_access *access; /* of the pipeline; NULL: none is bound, or it only reads */
        bool stale;                            /* the pipeline's stores were not noted in all sets yet */
        uint32_t sets[LAP_SPIRV_SETS];         /* by number: place in cmdbuf.sets + 1 */
    } bound[LAYER_BIND_POINTS];
    struct layer_bound_shaders *shaders; /* shader_object.c: NULL until a shader object is bound */
};

struct layer_shader_module {
    struct lap_object object;
    struct lap_spirv_access *access; /* NULL: it only reads, and only through descriptors */
    struct layer_code *code;         /* NULL unless the device keeps code */
};

/* A VkShaderEXT. */
struct layer_shader {
    struct lap_object object;
    struct lap_spirv_access *access; /* as of a module */
    struct layer_origin *origin;     /* NULL: out of memory */
};

struct layer_pipeline {
    struct lap_object object;
    struct lap_spirv_access *access; /* of all its stages */
    uint32_t group_count;            /* of ray tracing, with those of its libraries */
    uint8_t *group_shaders;          /* vulkan/shader/ray_groups.h; of each group */
    struct layer_origin *origin;     /* NULL unless its data is captured (VK_KHR_pipeline_binary) */
};

/* A VkPipelineBinaryKHR. */
struct layer_pipeline_binary {
    struct lap_object object;
    struct layer_origin *origin; /* of the whole pipeline that it is a part of */
};

/* Submitted work whose completion is visible by other means than its own semaphores and fences
 * (submit/external_sync.h). serial 0: none. */
struct layer_work {
    VkQueue queue;
    uint64_t serial;
};

struct layer_fence {
    struct lap_object object;
    _Atomic uint64_t payload, borrowed; /* external_sync.h: permanent, temporary until a reset; 0: not shared */
    struct layer_work work;             /* that signals it until the next reset; under submit.mutex */
};

struct layer_query_pool {
    struct lap_object object;
    VkQueryType type;
    uint32_t count;
    atomic_bool imprecise; /* an occlusion query was begun whose count may differ the next time */
};

struct layer_video_parameters {
    struct lap_object object;
    uint32_t operating_points; /* of an encoder of AV1 */
};

struct layer_semaphore {
    struct lap_object object;
    bool timeline;
    bool signalled;   /* binary: submitted work or an acquire has signalled or will signal it; under submit.mutex */
    uint64_t initial; /* of timelines */
    uint64_t signals; /* of binary ones: how many were submitted; under submit.mutex */
    uint64_t open;    /* the largest value, or signal, that needs no further action of the host; under submit.mutex:
                         host_gate.h */
    atomic_uint_fast64_t known;         /* of timelines: the last value that was recorded as reached */
    _Atomic uint64_t payload, borrowed; /* external_sync.h: permanent, temporary until a wait; 0: not shared */
    struct layer_work work;             /* that the next wait is for; under submit.mutex */
};

/* Its state after all submitted work has run; under submit.mutex: host_gate.h. */
struct layer_event {
    struct lap_object object;
    bool set;           /* or it will be, when the work that waits for it goes on */
    uint64_t host_sets; /* sets by the host */
    uint64_t spent;     /* how many of these were reset, or will be */
    uint64_t awaited;   /* the last one that submitted work waits for, by number */
};

#define LAYER_HELD_IMAGES 64u

struct layer_surface {
    struct lap_object object;
    /* key.h: the window that is watched for keys, and the generation of the process that owns it. */
    struct layer_key_x *key_x;
    struct layer_key_wayland *key_wayland;
    uint32_t key_generation;
};

struct layer_swapchain {
    struct lap_object object;
    VkSwapchainCreateInfoKHR info; /* pointers cleared */
    VkImage *images;               /* these two under the device's verify.mutex */
    uint32_t image_count;
    bool readable; /* images can be copied from */
    bool retired;  /* another one has replaced it; under verify.mutex */
    /* The newest presents with an id, and the serial that layer_submit_present gave each; under the device's
     * submit.mutex. */
    struct {
        uint64_t id, serial;
    } presents[16];
    uint32_t present_count;
    /* Of each image: whether the program has acquired it, and the semaphore of the acquire (0: none); whether the
     * recorded part lacks its contents (layer/part/presentable.h). Under the device's submit.mutex. */
    struct {
        bool acquired, unread;
        uint64_t semaphore;
    } held[LAYER_HELD_IMAGES];
};

#endif

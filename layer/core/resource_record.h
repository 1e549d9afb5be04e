/* SPDX-License-Identifier: MIT */
/* resource_record: the records of memory, buffers, images and their views. */
#ifndef LAP_LAYER_RESOURCE_RECORD_H
#define LAP_LAYER_RESOURCE_RECORD_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vk_layer.h>
#include <vulkan/vulkan.h>

#include "base/object.h"
#include "gen_ids.h"
#include "layer/core/device_record.h"
#include "memtrack/interval.h"

struct layer_sparse_pages; /* layer/memory/sparse_places.h, as the next one */
struct layer_sparse_places;

struct layer_memory {
    struct lap_object object;
    struct lap_mem *mem;
    struct layer_backing *backing;      /* NULL: the driver's own memory */
    struct layer_host_import *import;   /* host_import.h: pages of the program's; NULL: none */
    struct layer_payload_user *payload; /* payload.h: it has, or may get, other names; NULL: it has not */
    VkDeviceSize bytes;
    VkMemoryPropertyFlags shown_flags, real_flags;
    uint32_t shown_type, real_type;
    uint32_t mapped_flags; /* of memory tracking, if the program maps it */
    bool capturable;       /* capture_address.h: a replay can allocate it at the same address */
    uint64_t dedicated;    /* the buffer of a dedicated allocation; 0: none */
    bool cleared;          /* it began as zeroes (capture --verify) */
    bool sparse;           /* some vkQueueBindSparse has named it; under submit.mutex */
    struct layer_sparse_places
        *paged;   /* ranges of it that some page was ever bound to, by offset; under submit.mutex; NULL: none */
    void *mapped; /* the program's mapping, from mapped_offset on; for an unmap that fails */
    VkDeviceSize mapped_offset, mapped_bytes;
};

/* Buffers and images: the state for memory tracking. */
struct layer_buffer {
    struct lap_object object;
    struct lap_memobj *memobj; /* made when created, bound later; NULL when out of memory */
    VkDeviceSize bytes;
    VkBufferUsageFlags usage;
    struct layer_backing_object backing;
    atomic_uint_fast64_t address; /* on the device, once the program asked for it */
    bool capturable;              /* capture_address.h: a replay can create it at the same address */
    bool device_only;             /* the program can't map its memory: the host never touches it */
    bool non_coherent;            /* the host sees device writes only after vkInvalidateMappedMemoryRanges */
    bool cleared;                 /* its memory began as zeroes */
    _Atomic bool
        opaque;    /* it holds bytes that only this driver writes: acceleration structures, preprocessed commands */
    bool readable; /* as in layer_image, and the next one */
    uint16_t left_out;
    struct layer_sparse_pages *pages; /* as in layer_image */
    /* layer/command/overwritten.h; under submit.mutex: */
    struct lap_interval overwritten; /* bytes that an image wrote since they were written through buffers */
    uint64_t stored;                 /* the last submit whose shaders store to it; 0: none */
};

/* A VkAccelerationStructureKHR. */
struct layer_structure {
    struct lap_object object;
    atomic_uint_fast64_t address; /* on the device, once the program asked for it */
    /* Its contents, where parts of the run are recorded (layer/command/build_inputs.h); under submit.mutex. */
    struct layer_build *build; /* NULL: empty, or it can't be built again */
    uint64_t execution;        /* the execution of the build's commands that filled it */
    const char *fault;         /* why it can't be built again: a static sentence; NULL: it can */
};

struct layer_image {
    struct lap_object object;
    struct lap_memobj *memobj;
    VkImageCreateInfo info; /* pNext and pQueueFamilyIndices cleared; tiling: see image_modifier.h, and `pitch` */
    VkDeviceSize bytes;     /* from its memory requirements when bound */
    uint64_t pitch;         /* of the rows of an AHardwareBuffer, as which it is read; 0: it is not. Unbound: may be */
    uint8_t memory_planes;  /* of an image with a DRM format modifier; 0: it has none */
    struct layer_backing_object backing;
    bool device_only, non_coherent;   /* as in layer_buffer */
    bool loose;                       /* submitted work left texels that differ between runs; under submit.mutex */
    VkSwapchainKHR swapchain;         /* of presentable images */
    struct layer_image_state *state;  /* image_state.h; NULL: nothing yet; under submit.mutex */
    bool cleared;                     /* its memory began as zeroes */
    bool readable;                    /* full_checks.h: it can be copied from */
    uint16_t left_out;                /* bits of enum lap_unchecked that were reported */
    struct layer_sparse_pages *pages; /* NULL: vkQueueBindSparse has given it none; under submit.mutex */
    uint64_t stored;                  /* as in layer_buffer */
};

/* The texels of a view. */
struct layer_view_range {
    uint32_t first_layer, layer_count;
    uint16_t aspect;                  /* color, depth and stencil, or a plane */
    uint8_t first_level, level_count; /* level_count 0: unknown */
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

#endif

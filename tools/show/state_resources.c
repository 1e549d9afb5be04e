/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "gen_decode.h"
#include "gen_ids.h"
#include "inspector/question/pass_targets.h"
#include "tools/show/state_print.h"
#include "tools/show/text.h"

struct memory_fact {
    VkPhysicalDeviceMemoryProperties *machine; /* NULL: the trace has not asked for its properties */
    uint32_t type;
};

struct lap_state_resources {
    struct image_infos images;
    struct lap_map buffers;  /* VkBufferCreateInfo */
    struct lap_map memories; /* struct memory_fact */
    struct lap_map machines; /* VkPhysicalDeviceMemoryProperties */
    struct lap_map devices;  /* those of its machine */
    struct lap_arena arena;
};

/* ---- what calls say ---- */

/* A zeroed value that belongs to a number; the same one if there is one. NULL: out of memory. */
static void *value_of(struct lap_state_resources *r, struct lap_map *map, uint64_t number, size_t bytes)
{
    void *value = lap_map_get(map, number);

    if (value)
        return value;
    value = lap_arena_alloc(&r->arena, bytes, _Alignof(max_align_t));
    if (!value || lap_map_put(map, number, value, NULL) != LAP_OK)
        return NULL;
    memset(value, 0, bytes);
    return value;
}

static bool see_machine(struct lap_state_resources *r, VkPhysicalDevice machine,
                        const VkPhysicalDeviceMemoryProperties *properties)
{
    VkPhysicalDeviceMemoryProperties *value;

    if (!properties)
        return true;
    value = value_of(r, &r->machines, gen_u64_VkPhysicalDevice(machine), sizeof *value);
    if (value)
        *value = *properties;
    return value;
}

static bool see_device(struct lap_state_resources *r, const struct gen_args_vkCreateDevice *a)
{
    void *machine;

    if (!a->pDevice || !*a->pDevice)
        return true;
    /* It may ask for the properties later. */
    machine = value_of(r, &r->machines, gen_u64_VkPhysicalDevice(a->physicalDevice),
                       sizeof(VkPhysicalDeviceMemoryProperties));
    return machine && lap_map_put(&r->devices, gen_u64_VkDevice(*a->pDevice), machine, NULL) == LAP_OK;
}

static bool see_memory(struct lap_state_resources *r, const struct gen_args_vkAllocateMemory *a)
{
    struct memory_fact *fact;

    if (!a->pAllocateInfo || !a->pMemory)
        return true;
    fact = value_of(r, &r->memories, gen_u64_VkDeviceMemory(*a->pMemory), sizeof *fact);
    if (fact)
        *fact = (struct memory_fact){lap_map_get(&r->devices, gen_u64_VkDevice(a->device)),
                                     a->pAllocateInfo->memoryTypeIndex};
    return fact;
}

static bool see_buffer(struct lap_state_resources *r, const struct gen_args_vkCreateBuffer *a)
{
    VkBufferCreateInfo *info;

    if (!a->pCreateInfo || !a->pBuffer)
        return true;
    info = value_of(r, &r->buffers, gen_u64_VkBuffer(*a->pBuffer), sizeof *info);
    if (info)
        *info = *a->pCreateInfo;
    return info;
}

static enum lap_status see(void *state, const struct trace_call *call)
{
    struct lap_state_resources *r = state;
    bool ok = true;

    switch (call->command) {
    case GEN_vkGetPhysicalDeviceMemoryProperties: {
        const struct gen_args_vkGetPhysicalDeviceMemoryProperties *a = call->args;
        ok = see_machine(r, a->physicalDevice, a->pMemoryProperties);
        break;
    }
    case GEN_vkGetPhysicalDeviceMemoryProperties2: {
        const struct gen_args_vkGetPhysicalDeviceMemoryProperties2 *a = call->args;
        ok = see_machine(r, a->physicalDevice, a->pMemoryProperties ? &a->pMemoryProperties->memoryProperties : NULL);
        break;
    }
    case GEN_vkCreateDevice:
        ok = see_device(r, call->args);
        break;
    case GEN_vkAllocateMemory:
        ok = see_memory(r, call->args);
        break;
    case GEN_vkCreateBuffer:
        ok = see_buffer(r, call->args);
        break;
    default:
        return image_infos_see(&r->images, call);
    }
    return ok ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "out of memory for images and buffers");
}

enum lap_status lap_state_resources_find(const struct lap_state_view *view, struct lap_state_resources **out)
{
    static const uint16_t commands[] = {IMAGE_INFOS_COMMANDS,
                                        GEN_vkGetPhysicalDeviceMemoryProperties,
                                        GEN_vkGetPhysicalDeviceMemoryProperties2,
                                        GEN_vkCreateDevice,
                                        GEN_vkAllocateMemory,
                                        GEN_vkCreateBuffer,
                                        0};
    struct lap_state_resources *r = calloc(1, sizeof *r);
    const struct trace_visitor visitor = {
        .commands = commands, .information = true, .visit = see, .state = r, .last_ticket = view->last};
    enum lap_status status;

    *out = NULL;
    if (!r)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    image_infos_init(&r->images);
    lap_arena_init(&r->arena, 0);
    lap_map_init(&r->buffers);
    lap_map_init(&r->memories);
    lap_map_init(&r->machines);
    lap_map_init(&r->devices);
    status = lap_state_read(view, &visitor);
    *out = r;
    if (status != LAP_OK)
        lap_state_resources_free(out);
    return status;
}

void lap_state_resources_free(struct lap_state_resources **resources)
{
    struct lap_state_resources *r = *resources;

    *resources = NULL;
    if (!r)
        return;
    image_infos_finish(&r->images);
    lap_map_finish(&r->buffers);
    lap_map_finish(&r->memories);
    lap_map_finish(&r->machines);
    lap_map_finish(&r->devices);
    lap_arena_finish(&r->arena);
    free(r);
}

/* ---- JSON ---- */

static void put_named(FILE *out, const char *key, const char *type, int64_t value)
{
    const char *name = lap_text_named(type, value);

    if (name)
        fprintf(out, "\"%s\": \"%s\", ", key, name);
    else
        fprintf(out, "\"%s\": \"%" PRId64 "\", ", key, value);
}

static void put_usage(FILE *out, const char *type, uint64_t usage)
{
    char text[LAP_TEXT_FLAGS_MAX];

    lap_text_named_flags(type, usage, text);
    fprintf(out, "\"usage\": \"%s\"}", text);
}

static void put_image(FILE *out, const VkImageCreateInfo *info)
{
    fputs(", \"image\": {", out);
    put_named(out, "type", "VkImageType", info->imageType);
    fprintf(out, "\"extent\": [%" PRIu32 ", %" PRIu32 ", %" PRIu32 "], ", info->extent.width, info->extent.height,
            info->extent.depth);
    put_named(out, "format", "VkFormat", info->format);
    fprintf(out, "\"levels\": %" PRIu32 ", \"layers\": %" PRIu32 ", \"samples\": %u, ", info->mipLevels,
            info->arrayLayers, (unsigned)info->samples);
    put_usage(out, "VkImageUsageFlagBits", info->usage);
}

static void put_memory(const struct lap_state_resources *r, FILE *out, const struct state_binding *binding)
{
    const struct memory_fact *fact = lap_map_get(&r->memories, binding->memory);
    const VkPhysicalDeviceMemoryProperties *p = fact ? fact->machine : NULL;
    char flags[LAP_TEXT_FLAGS_MAX];

    fputs(", \"memory\": {\"object\": ", out);
    lap_state_put_handle(out, GEN_HANDLE_VkDeviceMemory, binding->memory);
    if (fact)
        fprintf(out, ", \"type\": %" PRIu32, fact->type);
    if (fact && p && fact->type < p->memoryTypeCount && fact->type < VK_MAX_MEMORY_TYPES) {
        uint32_t heap = p->memoryTypes[fact->type].heapIndex;
        bool is_local = heap < VK_MAX_MEMORY_HEAPS && (p->memoryHeaps[heap].flags & VK_MEMORY_HEAP_DEVICE_LOCAL_BIT);
        fprintf(out, ", \"heap\": %" PRIu32 ", \"device_local\": %s", heap, is_local ? "true" : "false");
    }
    lap_state_memory_flags(binding->properties, flags);
    fprintf(out, ", \"properties\": \"%s\"}", flags);
}

void lap_state_put_resource(const struct lap_state_view *view, const struct lap_state_resources *r, size_t number)
{
    const struct object_life *life = lap_state_life(view, number);
    const struct state_notes *notes = state_objects_notes(view->objects, number);
    const VkImageCreateInfo *image = life->type == GEN_HANDLE_VkImage ? image_info_of(&r->images, life->index) : NULL;
    const VkBufferCreateInfo *buffer = life->type == GEN_HANDLE_VkBuffer ? lap_map_get(&r->buffers, life->index) : NULL;

    if (image)
        put_image(view->out, image);
    if (buffer) {
        fprintf(view->out, ", \"buffer\": {\"size\": %" PRIu64 ", ", (uint64_t)buffer->size);
        put_usage(view->out, "VkBufferUsageFlagBits", buffer->usage);
    }
    if (notes && notes->binding && notes->binding->memory)
        put_memory(r, view->out, notes->binding);
}

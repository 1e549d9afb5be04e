/* SPDX-License-Identifier: MIT */
/* Which memory types get pages of the layer, and what the driver is asked then. The driver is a few functions here. */
#include <stdlib.h>

#include "gen_layer.h"
#include "layer/core/extensions.h"
#include "layer/entry/resource.h"
#include "layer/memory/backing.h"
#include "memtrack/memtrack_internal.h"
#include "tests/unit/machine.h"
#include "tests/unit/unit.h"
#include "vulkan/chain.h"

struct layer_state layer;

bool layer_is_recording(void)
{
    return true;
}
static bool has_import, has_budget;
bool layer_device_has_extension(const struct layer_physical_device *gpu, const char *extension)
{
    return strcmp(extension, VK_EXT_MEMORY_BUDGET_EXTENSION_NAME) == 0 ? has_budget : has_import;
}

/* ---- the decision ---- */

enum { LOCAL = 1, VISIBLE = 2, COHERENT = 4, CACHED = 8, LAZY = 16, PROTECTED = 32, AMD = 64 };

static struct layer_backing_machine machine;
static struct layer_backing_plan plan;
static struct lap_virtual_types types;

static void set_types(const VkMemoryPropertyFlags *flags, uint32_t count)
{
    struct lap_type real[LAP_TYPES_MAX];
    memset(&machine, 0, sizeof machine);
    machine.type_count = count;
    machine.alignment = 4096;
    machine.buffers_import = machine.external_is_alike = true;
    machine.plain_types = machine.external_types = (1u << count) - 1;
    for (uint32_t i = 0; i < count; i++) {
        machine.flags[i] = flags[i];
        real[i] = (struct lap_type){flags[i], 0};
        if (flags[i] & VISIBLE)
            machine.importable |= 1u << i;
    }
    lap_virtual_types_init(&types, real, count, (struct lap_heaps){2, 1}, false);
}

/* As found on an H200: host pointers go into the two host types, and no buffer that takes them may lie in the type that
 * is in video memory. */
static void set_nvidia(void)
{
    static const VkMemoryPropertyFlags flags[] = {0, LOCAL, VISIBLE | COHERENT, VISIBLE | COHERENT | CACHED,
                                                  LOCAL | VISIBLE | COHERENT};
    set_types(flags, 5);
    machine.importable = 0xc;
    machine.external_types = 0xf;
    machine.unwatched = 0x1c;
    machine.slow = 0x10;
}

static uint32_t decide(enum layer_backing_option option)
{
    memset(&plan, 0xff, sizeof plan);
    layer_backing_decide(&machine, &types, option, &plan);
    CHECK(plan.reason != NULL && *plan.reason);
    return plan.types;
}

UNIT_TEST(ordinary_memory_is_left_alone_unless_asked_for)
{
    static const VkMemoryPropertyFlags flags[] = {LOCAL | VISIBLE | COHERENT | CACHED};
    set_types(flags, 1);
    CHECK_EQ_INT(decide(LAYER_BACKING_AUTO), 0);
    CHECK_EQ_INT(decide(LAYER_BACKING_OFF), 0);
    CHECK_EQ_INT(decide(LAYER_BACKING_HOST), 1);
    CHECK_EQ_INT(plan.import_type[0], 0);
    machine.unwatched = 1;
    CHECK_EQ_INT(decide(LAYER_BACKING_AUTO), 1);
    CHECK_EQ_INT(decide(LAYER_BACKING_OFF), 0);
}

UNIT_TEST(video_memory_that_takes_no_pointers_is_imported_into_cached_host_memory)
{
    set_nvidia();
    CHECK_EQ_INT(decide(LAYER_BACKING_AUTO), 0x1c);
    CHECK_EQ_INT(plan.import_type[2], 2);
    CHECK_EQ_INT(plan.import_type[3], 3);
    CHECK_EQ_INT(plan.import_type[4], 3);
    CHECK_EQ_INT(plan.external_types, 0xf);
    machine.unwatched = 0; /* the slow one alone */
    CHECK_EQ_INT(decide(LAYER_BACKING_AUTO), 0x10);
}

UNIT_TEST(a_type_that_objects_lose_is_backed_or_nothing_is)
{
    set_nvidia();
    machine.slow = 0;
    machine.unwatched = 1u << 2;
    CHECK_EQ_INT(decide(LAYER_BACKING_AUTO), 0x14);
    machine.external_types = 0xe; /* type 0 can't be mapped, so nothing can stand for it */
    CHECK_EQ_INT(decide(LAYER_BACKING_AUTO), 0);
    CHECK_EQ_INT(decide(LAYER_BACKING_HOST), 0);
}

UNIT_TEST(pages_in_coherent_memory_stay_coherent)
{
    static const VkMemoryPropertyFlags flags[] = {LOCAL, VISIBLE | CACHED, LOCAL | VISIBLE | COHERENT};
    set_types(flags, 3);
    machine.importable = 2;
    machine.slow = 4;
    CHECK_EQ_INT(decide(LAYER_BACKING_AUTO), 0);
    machine.flags[1] |= COHERENT;
    CHECK_EQ_INT(decide(LAYER_BACKING_AUTO), 4);
    CHECK_EQ_INT(plan.import_type[2], 1);
}

UNIT_TEST(special_types_are_never_backed)
{
    static const VkMemoryPropertyFlags flags[] = {LOCAL, VISIBLE | COHERENT, LOCAL | VISIBLE | COHERENT | AMD,
                                                  VISIBLE | PROTECTED, LOCAL | LAZY};
    set_types(flags, 5);
    CHECK_EQ_INT(decide(LAYER_BACKING_HOST), 2);
}

UNIT_TEST(objects_that_change_are_no_objects_for_it)
{
    set_nvidia();
    machine.external_is_alike = false;
    CHECK_EQ_INT(decide(LAYER_BACKING_AUTO), 0);
    set_nvidia();
    machine.buffers_import = false;
    CHECK_EQ_INT(decide(LAYER_BACKING_AUTO), 0);
    set_nvidia();
    machine.importable = 0;
    CHECK_EQ_INT(decide(LAYER_BACKING_AUTO), 0);
}

UNIT_TEST(a_lost_type_of_which_a_half_is_shown_can_not_be_backed)
{
    /* The half without HOST_VISIBLE would be the driver's memory, where such objects may not lie. */
    static const VkMemoryPropertyFlags flags[] = {VISIBLE | COHERENT | CACHED, LOCAL | VISIBLE | COHERENT};
    set_types(flags, 2);
    CHECK(types.split);
    CHECK_EQ_INT(decide(LAYER_BACKING_HOST), 3);
    machine.external_types = 1;
    CHECK_EQ_INT(decide(LAYER_BACKING_HOST), 0);
}

/* ---- a driver ---- */

enum { MEMORIES = 64, HEAP_BYTES = 1 << 30 };

static struct memory {
    bool live, mapped;
    void *import;
    unsigned char *own;
    uint32_t type;
    VkDeviceSize bytes;
    VkMemoryAllocateFlags flags;
    float priority;
    bool dedicated, exported;
} memories[MEMORIES];
static unsigned memory_count, live_memories, failing_imports, failing_allocations;
static VkDeviceSize usage[2];
static struct layer_instance instance;
static struct layer_physical_device *gpu;
static struct layer_device *dev;
static bool differs, unimportable;
static uint32_t image_types = 0x1f;
static unsigned buffers_made, buffers_gone, images_made;
static VkBufferCreateInfo last_buffer;
static bool last_external;

static VKAPI_ATTR VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                                               const VkAllocationCallbacks *allocator, VkDeviceMemory *out)
{
    const VkImportMemoryHostPointerInfoEXT *import =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT);
    const VkMemoryAllocateFlagsInfo *flags = lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
    const VkMemoryPriorityAllocateInfoEXT *priority =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_MEMORY_PRIORITY_ALLOCATE_INFO_EXT);
    struct memory *memory = &memories[memory_count];
    if (import ? failing_imports : failing_allocations)
        return import ? VK_ERROR_INVALID_EXTERNAL_HANDLE : VK_ERROR_OUT_OF_DEVICE_MEMORY;
    if (info->allocationSize > HEAP_BYTES)
        return VK_ERROR_OUT_OF_DEVICE_MEMORY;
    CHECK(memory_count < MEMORIES);
    CHECK(!import || ((uintptr_t)import->pHostPointer % 4096 == 0 && info->allocationSize % 4096 == 0));
    *memory = (struct memory){
        .live = true,
        .import = import ? import->pHostPointer : NULL,
        .own = import ? NULL : calloc(1, info->allocationSize),
        .type = info->memoryTypeIndex,
        .bytes = info->allocationSize,
        .flags = flags ? flags->flags : 0,
        .priority = priority ? priority->priority : 0,
        .dedicated = lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO) != NULL,
        .exported = lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO) != NULL};
    usage[gpu->memory.memoryTypes[memory->type].heapIndex] += memory->bytes;
    live_memories++;
    *out = gen_VkDeviceMemory(++memory_count);
    return VK_SUCCESS;
}
static struct memory *memory_of(VkDeviceMemory handle)
{
    return &memories[gen_u64_VkDeviceMemory(handle) - 1];
}
static VKAPI_ATTR void VKAPI_CALL free_memory(VkDevice device, VkDeviceMemory handle,
                                              const VkAllocationCallbacks *allocator)
{
    struct memory *memory = memory_of(handle);
    CHECK(memory->live);
    if (memory->import) /* still there */
        ((volatile unsigned char *)memory->import)[memory->bytes - 1]++;
    usage[gpu->memory.memoryTypes[memory->type].heapIndex] -= memory->bytes;
    memory->live = false;
    live_memories--;
    free(memory->own);
}
static VKAPI_ATTR VkResult VKAPI_CALL map(VkDevice device, VkDeviceMemory handle, VkDeviceSize offset,
                                          VkDeviceSize bytes, VkMemoryMapFlags flags, void **out)
{
    struct memory *memory = memory_of(handle);
    CHECK(!memory->mapped);
    memory->mapped = true;
    *out = (memory->import ? (unsigned char *)memory->import : memory->own) + offset;
    return VK_SUCCESS;
}
static VKAPI_ATTR void VKAPI_CALL unmap(VkDevice device, VkDeviceMemory handle)
{
    CHECK(memory_of(handle)->mapped);
    memory_of(handle)->mapped = false;
}
static VKAPI_ATTR VkResult VKAPI_CALL flush(VkDevice device, uint32_t count, const VkMappedMemoryRange *ranges)
{
    CHECK(memory_of(ranges[0].memory)->mapped);
    return VK_SUCCESS;
}
static VKAPI_ATTR VkResult VKAPI_CALL pointer_types(VkDevice device, VkExternalMemoryHandleTypeFlagBits kind,
                                                    const void *pointer, VkMemoryHostPointerPropertiesEXT *out)
{
    out->memoryTypeBits = 0xc;
    return VK_SUCCESS;
}
static uint32_t sparse_types = 0x1f;
/* Handles tell what was asked for: bit 0 the handle type, bit 1 flags. */
static VKAPI_ATTR VkResult VKAPI_CALL create_buffer(VkDevice device, const VkBufferCreateInfo *info,
                                                    const VkAllocationCallbacks *allocator, VkBuffer *out)
{
    last_buffer = *info;
    last_external = lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO) != NULL;
    buffers_made++;
    *out = gen_VkBuffer(0x100u + 4u * buffers_made + (info->flags ? 2u : 0u) + last_external);
    return VK_SUCCESS;
}
static VKAPI_ATTR void VKAPI_CALL destroy_buffer(VkDevice device, VkBuffer buffer,
                                                 const VkAllocationCallbacks *allocator)
{
    buffers_gone++;
}
static VKAPI_ATTR void VKAPI_CALL buffer_requirements(VkDevice device, VkBuffer buffer, VkMemoryRequirements *out)
{
    bool external = gen_u64_VkBuffer(buffer) & 1, sparse = gen_u64_VkBuffer(buffer) & 2;
    *out = (VkMemoryRequirements){.size = external && differs ? 512 : 256,
                                  .alignment = 16,
                                  .memoryTypeBits = external ? 0xf
                                                    : sparse ? sparse_types
                                                             : 0x1f};
}
static VKAPI_ATTR VkResult VKAPI_CALL create_image(VkDevice device, const VkImageCreateInfo *info,
                                                   const VkAllocationCallbacks *allocator, VkImage *out)
{
    images_made++;
    *out = gen_VkImage(0x1000u + 2u * images_made +
                       (lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO) != NULL));
    return VK_SUCCESS;
}
static VKAPI_ATTR void VKAPI_CALL destroy_image(VkDevice device, VkImage image, const VkAllocationCallbacks *allocator)
{
}
static VKAPI_ATTR void VKAPI_CALL image_requirements(VkDevice device, VkImage image, VkMemoryRequirements *out)
{
    *out = (VkMemoryRequirements){4096, 64, image_types & (gen_u64_VkImage(image) & 1 ? 0xf : 0x1f)};
}
static VKAPI_ATTR void VKAPI_CALL external_buffers(VkPhysicalDevice physical_device,
                                                   const VkPhysicalDeviceExternalBufferInfo *info,
                                                   VkExternalBufferProperties *out)
{
    out->externalMemoryProperties.externalMemoryFeatures = unimportable ? 0 : VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
}
static VKAPI_ATTR VkResult VKAPI_CALL image_formats(VkPhysicalDevice physical_device,
                                                    const VkPhysicalDeviceImageFormatInfo2 *info,
                                                    VkImageFormatProperties2 *out)
{
    VkExternalImageFormatProperties *external = out->pNext;
    external->externalMemoryProperties.externalMemoryFeatures = VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
    out->imageFormatProperties = (VkImageFormatProperties){{64, 64, 1}, 1, 1, VK_SAMPLE_COUNT_1_BIT, HEAP_BYTES};
    return VK_SUCCESS;
}
static VKAPI_ATTR void VKAPI_CALL properties_2(VkPhysicalDevice physical_device, VkPhysicalDeviceProperties2 *out)
{
    ((VkPhysicalDeviceExternalMemoryHostPropertiesEXT *)out->pNext)->minImportedHostPointerAlignment = 4096;
    out->properties.limits.minMemoryMapAlignment = 64;
}
static VKAPI_ATTR void VKAPI_CALL memory_2(VkPhysicalDevice physical_device, VkPhysicalDeviceMemoryProperties2 *out)
{
    VkPhysicalDeviceMemoryBudgetPropertiesEXT *budget = out->pNext;
    out->memoryProperties = gpu->memory;
    for (int i = 0; i < 2; i++) {
        budget->heapUsage[i] = usage[i];
        budget->heapBudget[i] = HEAP_BYTES;
    }
}

static enum lap_status refuse(void *context, void *begin, size_t bytes, void **out_region)
{
    return lap_fail(LAP_ERROR_UNSUPPORTED, "this mapping can't be watched");
}
static const struct lap_watch_ops picky_watch = {.name = "picky", .arm = refuse};

static const VkPhysicalDeviceFeatures with_sparse = {.sparseBinding = VK_TRUE};
static VkDeviceCreateInfo device_info;

/* The H200 of above, heap 0 in video memory. */
static void begin(enum layer_backing_option option)
{
    struct lap_memtrack_options options = {.watch = LAP_WATCH_COMPARE};
    set_nvidia();
    memset(memories, 0, sizeof memories);
    memory_count = live_memories = failing_imports = failing_allocations = buffers_made = buffers_gone = images_made =
        0;
    usage[0] = usage[1] = 0;
    differs = unimportable = false;
    has_import = has_budget = true;
    layer.options.backing = option;
    gpu = calloc(1, sizeof *gpu);
    dev = calloc(1, sizeof *dev);
    gpu->types = types;
    gpu->instance = &instance;
    gpu->memory.memoryHeapCount = 2;
    gpu->memory.memoryTypeCount = machine.type_count;
    for (uint32_t i = 0; i < machine.type_count; i++) {
        gpu->memory.memoryTypes[i].propertyFlags = machine.flags[i];
        gpu->memory.memoryTypes[i].heapIndex = gpu->types.shown[i].heap = machine.flags[i] & LOCAL ? 0 : 1;
    }
    instance.vk.GetPhysicalDeviceExternalBufferProperties = external_buffers;
    instance.vk.GetPhysicalDeviceImageFormatProperties2 = image_formats;
    instance.vk.GetPhysicalDeviceProperties2 = properties_2;
    instance.vk.GetPhysicalDeviceMemoryProperties2 = memory_2;
    dev->physical_device = gpu;
    dev->instance = &instance;
    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++) {
        lap_map_init(&dev->own_maps[type]);
        dev->maps[type] = &dev->own_maps[type];
    }
    dev->tables.maps = dev->maps;
    dev->vk = (struct gen_device_dispatch){.AllocateMemory = allocate,
                                           .FreeMemory = free_memory,
                                           .MapMemory = map,
                                           .UnmapMemory = unmap,
                                           .FlushMappedMemoryRanges = flush,
                                           .CreateBuffer = create_buffer,
                                           .DestroyBuffer = destroy_buffer,
                                           .GetBufferMemoryRequirements = buffer_requirements,
                                           .CreateImage = create_image,
                                           .DestroyImage = destroy_image,
                                           .GetImageMemoryRequirements = image_requirements,
                                           .GetMemoryHostPointerPropertiesEXT = pointer_types};
    CHECK_EQ_INT(lap_memtrack_create_watched(&options, &picky_watch, NULL, "for this test", &dev->memtrack), LAP_OK);
    pthread_mutex_init(&dev->backing.mutex, NULL);
    layer_backing_init(dev, &device_info, NULL);
    CHECK_EQ_INT(live_memories, 0); /* what was tried out is gone */
    CHECK_EQ_INT(buffers_made, buffers_gone);
    memory_count = buffers_made = buffers_gone = 0;
}

static void end(void)
{
    CHECK_EQ_INT(live_memories, 0);
    for (int i = 0; i < 2; i++)
        CHECK_EQ_INT(atomic_load(&gpu->heap_shift[i]), 0);
    layer_backing_finish(dev);
    lap_memtrack_destroy(&dev->memtrack);
    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++)
        lap_map_finish(&dev->own_maps[type]);
    free(dev);
    free(gpu);
}

UNIT_TEST(probing_finds_what_the_driver_does)
{
    begin(LAYER_BACKING_AUTO); /* no mapping of this driver can be watched, all are fast */
    CHECK_EQ_INT(dev->backing.plan.types, 0x1c);
    CHECK_EQ_INT(dev->backing.plan.import_type[4], 3);
    CHECK_EQ_INT(dev->backing.plan.alignment, HOST_PAGE);
    CHECK(dev->backing.plan.imports_count);
    end();
    begin(LAYER_BACKING_OFF);
    CHECK_EQ_INT(dev->backing.plan.types, 0);
    end();
}

/* Sparse objects are offered what is not backed, and where that is nothing, nothing is backed. */
UNIT_TEST(sparse_objects_get_memory_of_the_driver)
{
    const VkBufferCreateInfo info = {.flags = VK_BUFFER_CREATE_SPARSE_BINDING_BIT};
    struct layer_backing_object object;
    VkBuffer buffer;

    device_info.pEnabledFeatures = &with_sparse;
    begin(LAYER_BACKING_AUTO);
    CHECK_EQ_INT(dev->backing.plan.types, 0x1c);
    CHECK_EQ_INT(layer_backing_create_buffer(dev, &info, NULL, &buffer, &object), VK_SUCCESS);
    CHECK(object.sparse && !object.importable && !object.waits && !last_external);
    CHECK_EQ_INT(layer_backing_shown_types(dev, true, 0x1f), 0x3);
    CHECK_EQ_INT(layer_backing_shown_types(dev, false, 0x1f), 0x1f);
    end();
    sparse_types = 0x1c;
    begin(LAYER_BACKING_AUTO);
    CHECK_EQ_INT(dev->backing.plan.types, 0);
    CHECK_EQ_INT(layer_backing_shown_types(dev, true, 0x1c), 0x1c);
    end();
    device_info.pEnabledFeatures = NULL;
    sparse_types = 0x1f;
}

/* ---- allocation ---- */

static struct layer_memory record;
static uint32_t real_type;

static VkResult get(uint32_t type, VkDeviceSize bytes, const void *chain, VkDeviceMemory *out)
{
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                 .pNext = chain,
                                 .allocationSize = bytes,
                                 .memoryTypeIndex = type};
    record = (struct layer_memory){.bytes = bytes};
    return layer_backing_allocate(dev, &info, NULL, out, &record.backing, &real_type);
}

static void put(VkDeviceMemory memory)
{
    free_memory(NULL, memory, NULL);
    layer_backing_free(dev, record.backing);
    record.backing = NULL;
}

UNIT_TEST(pages_are_imported_whole_and_read_as_zeroes)
{
    VkDeviceMemory memory;
    begin(LAYER_BACKING_HOST);
    CHECK_EQ_INT(get(4, 5000, NULL, &memory), VK_SUCCESS);
    struct memory *seen = memory_of(memory);
    CHECK(record.backing && seen->import);
    CHECK_EQ_INT(seen->type, 3);
    CHECK_EQ_INT(real_type, 3);
    CHECK_EQ_U64(seen->bytes, (5000 + HOST_PAGE - 1) / HOST_PAGE * HOST_PAGE);
    unsigned char *pointer = layer_backing_map(dev, &record, 16, (void *)(uintptr_t)1);
    CHECK(pointer == (unsigned char *)seen->import + 16);
    for (int i = 0; i < 8192; i++)
        CHECK_EQ_INT(((unsigned char *)seen->import)[i], 0);
    layer_backing_unmap(dev, &record);
    put(memory);
    CHECK_EQ_INT(get(1, 5000, NULL, &memory), VK_SUCCESS); /* nothing that is mapped */
    CHECK(!record.backing && !memory_of(memory)->import && memory_of(memory)->bytes == 5000);
    put(memory);
    end();
}

UNIT_TEST(a_failed_import_becomes_memory_of_the_driver)
{
    VkDeviceMemory memory;
    begin(LAYER_BACKING_HOST);
    failing_imports = true;
    CHECK_EQ_INT(get(2, 5000, NULL, &memory), VK_SUCCESS);
    CHECK(!record.backing && !memory_of(memory)->import);
    CHECK(memory_of(memory)->bytes == 5000 && memory_of(memory)->type == 2 && real_type == 2);
    put(memory);
    CHECK_EQ_INT(get(4, 5000, NULL, &memory), VK_SUCCESS); /* where objects that take imports may lie */
    CHECK(memory_of(memory)->type == 3 && real_type == 3);
    put(memory);
    failing_allocations = true;
    CHECK_EQ_INT(get(4, 5000, NULL, &memory), VK_ERROR_OUT_OF_DEVICE_MEMORY);
    CHECK(!record.backing);
    failing_imports = failing_allocations = false;
    /* No such amount of pages: the error is the driver's. */
    CHECK_EQ_INT(get(2, (VkDeviceSize)1 << 60, NULL, &memory), VK_ERROR_OUT_OF_DEVICE_MEMORY);
    CHECK_EQ_INT(get(2, UINT64_MAX - 5, NULL, &memory), VK_ERROR_OUT_OF_DEVICE_MEMORY);
    CHECK(!record.backing);
    end();
}

UNIT_TEST(an_import_keeps_what_goes_with_it_and_anything_else_prevents_it)
{
    VkMemoryPriorityAllocateInfoEXT priority = {.sType = VK_STRUCTURE_TYPE_MEMORY_PRIORITY_ALLOCATE_INFO_EXT,
                                                .priority = 0.75f};
    VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                       .pNext = &priority,
                                       .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT | 0x8};
    VkExportMemoryAllocateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, .handleTypes = 1};
    VkImportMemoryFdInfoKHR file = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR,
                                    .handleType = VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT};
    VkDeviceMemory memory;

    begin(LAYER_BACKING_HOST);
    CHECK_EQ_INT(get(2, 4096, &flags, &memory), VK_SUCCESS);
    CHECK(record.backing && memory_of(memory)->import);
    CHECK_EQ_INT(memory_of(memory)->flags, VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT); /* imports can't be zeroed */
    CHECK(memory_of(memory)->priority == 0.75f);
    CHECK(flags.flags == (VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT | 0x8) && flags.pNext == &priority);
    put(memory);
    flags.flags |= VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT;
    CHECK_EQ_INT(get(2, 4096, &flags, &memory), VK_SUCCESS);
    CHECK(record.backing && memory_of(memory)->import && memory_of(memory)->flags == (flags.flags & ~0x8u));
    put(memory);
    flags.flags |= 0x10;
    CHECK_EQ_INT(get(2, 4096, &flags, &memory), VK_SUCCESS);
    CHECK(!record.backing && memory_of(memory)->flags == flags.flags);
    put(memory);
    CHECK_EQ_INT(get(2, 4096, &export, &memory), VK_SUCCESS);
    CHECK(!record.backing && memory_of(memory)->exported && memory_of(memory)->type == 2);
    put(memory);
    /* Where other memory would be of another type: who imports it from elsewhere must name the same one. */
    CHECK_EQ_INT(get(4, 4096, &export, &memory), VK_SUCCESS);
    CHECK(!record.backing && memory_of(memory)->exported && memory_of(memory)->type == 4);
    put(memory);
    CHECK_EQ_INT(get(4, 4096, &file, &memory), VK_SUCCESS);
    CHECK(!record.backing && memory_of(memory)->type == 4);
    put(memory);
    end();
}

static struct layer_buffer buffer;

static void add_buffer(bool importable)
{
    buffer = (struct layer_buffer){.object = {.handle = 0x77, .type = GEN_HANDLE_VkBuffer},
                                   .backing = {.importable = importable, .moved_types = importable ? 0x10 : 0}};
    CHECK_EQ_INT(lap_map_put(&dev->own_maps[GEN_HANDLE_VkBuffer], 0x77, &buffer, NULL), LAP_OK);
}

UNIT_TEST(memory_for_one_object_is_what_the_object_takes)
{
    VkMemoryDedicatedAllocateInfo dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
                                               .buffer = gen_VkBuffer(0x77)};
    VkDeviceMemory memory;
    begin(LAYER_BACKING_HOST);
    add_buffer(true);
    CHECK_EQ_INT(get(4, 256, &dedicated, &memory), VK_SUCCESS);
    CHECK(record.backing && !memory_of(memory)->dedicated); /* a dedicated import may be no larger than the buffer */
    put(memory);
    add_buffer(false);
    CHECK_EQ_INT(get(4, 256, &dedicated, &memory), VK_SUCCESS);
    CHECK(!record.backing && memory_of(memory)->dedicated && memory_of(memory)->type == 4);
    put(memory);
    end();
}

UNIT_TEST(heaps_look_as_if_the_memory_lay_where_the_program_put_it)
{
    VkPhysicalDeviceMemoryBudgetPropertiesEXT budget = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MEMORY_BUDGET_PROPERTIES_EXT};
    VkDeviceMemory memory;
    begin(LAYER_BACKING_HOST);
    CHECK_EQ_INT(get(4, 1 << 20, NULL, &memory), VK_SUCCESS);
    CHECK(usage[0] == 0 && usage[1] == 1 << 20);
    for (int i = 0; i < 2; i++) {
        budget.heapUsage[i] = usage[i];
        budget.heapBudget[i] = HEAP_BYTES;
    }
    layer_backing_adjust_budget(gpu, &budget);
    CHECK(budget.heapUsage[0] == 1 << 20 && budget.heapBudget[0] == HEAP_BYTES);
    CHECK(budget.heapUsage[1] == 0 && budget.heapBudget[1] == HEAP_BYTES - (1 << 20));
    put(memory);
    CHECK_EQ_INT(get(2, 1 << 20, NULL, &memory), VK_SUCCESS); /* in its own heap */
    budget.heapUsage[0] = 0;
    budget.heapUsage[1] = usage[1];
    layer_backing_adjust_budget(gpu, &budget);
    CHECK(budget.heapUsage[0] == 0 && budget.heapUsage[1] == 1 << 20);
    put(memory);
    end();
}

/* ---- the driver's memory takes over ---- */

UNIT_TEST(an_object_that_takes_no_imports_gets_memory_of_the_driver_with_the_same_contents)
{
    struct layer_backing_object other = {.importable = false};
    VkDeviceMemory memory, own;
    begin(LAYER_BACKING_HOST);
    CHECK_EQ_INT(get(4, 5000, NULL, &memory), VK_SUCCESS);
    CHECK(layer_backing_driver_memory(&record, memory) == memory);
    memset(layer_backing_map(dev, &record, 0, NULL), 0x5a, 5000);
    layer_backing_unmap(dev, &record);
    own = layer_backing_bind_memory(dev, &record, memory, &other);
    CHECK(own != memory && layer_backing_driver_memory(&record, memory) == own);
    CHECK(!memory_of(own)->import && memory_of(own)->type == 4 && memory_of(own)->bytes == 5000);
    CHECK(!memory_of(own)->mapped && memory_of(memory)->live);
    for (int i = 0; i < 5000; i++)
        CHECK_EQ_INT(memory_of(own)->own[i], 0x5a);
    /* From now on mappings are the driver's, and other objects follow. */
    CHECK(layer_backing_map(dev, &record, 8, memory_of(own)->own + 8) == memory_of(own)->own + 8);
    CHECK(layer_backing_bind_memory(dev, &record, memory, &other) == own);
    put(memory);
    CHECK(!memory_of(own)->live);
    end();
}

UNIT_TEST(memory_in_use_stays_where_it_is)
{
    struct layer_backing_object other = {.importable = false}, alike = {.importable = true};
    VkDeviceMemory memory;
    begin(LAYER_BACKING_HOST);
    CHECK_EQ_INT(get(2, 4096, NULL, &memory), VK_SUCCESS);
    layer_backing_map(dev, &record, 0, NULL);
    CHECK(layer_backing_bind_memory(dev, &record, memory, &other) == memory); /* the program has a pointer */
    layer_backing_unmap(dev, &record);
    put(memory);
    CHECK_EQ_INT(get(2, 4096, NULL, &memory), VK_SUCCESS);
    CHECK(layer_backing_bind_memory(dev, &record, memory, &alike) == memory);
    CHECK(layer_backing_bind_memory(dev, &record, memory, &other) == memory); /* another object lies there */
    put(memory);
    CHECK_EQ_INT(get(2, 4096, NULL, &memory), VK_SUCCESS);
    failing_allocations = true;
    CHECK(layer_backing_bind_memory(dev, &record, memory, &other) == memory);
    put(memory);
    end();
}

/* ---- objects ---- */

static struct layer_backing_object made;

static VkBuffer make_buffer(VkBufferUsageFlags buffer_usage, VkBufferCreateFlags flags, const void *chain)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .pNext = chain,
                               .flags = flags,
                               .size = 250,
                               .usage = buffer_usage};
    VkBuffer handle = VK_NULL_HANDLE;
    CHECK_EQ_INT(layer_backing_create_buffer(dev, &info, NULL, &handle, &made), VK_SUCCESS);
    CHECK(info.pNext == chain);
    return handle;
}

UNIT_TEST(buffers_are_made_for_imports_where_that_changes_nothing)
{
    VkExternalMemoryBufferCreateInfo own_type = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO};
    begin(LAYER_BACKING_HOST);
    CHECK(gen_u64_VkBuffer(make_buffer(1, 0, NULL)) & 1);
    CHECK(made.importable && made.moved_types == 0x10);
    CHECK(buffers_made == 2 && buffers_gone == 1); /* the first of its kind */
    CHECK(gen_u64_VkBuffer(make_buffer(1, 0, NULL)) & 1);
    CHECK(buffers_made == 3 && made.importable && made.moved_types == 0x10);
    differs = true;
    CHECK(!(gen_u64_VkBuffer(make_buffer(2, 0, NULL)) & 1) && !made.importable && !made.moved_types);
    CHECK(!(gen_u64_VkBuffer(make_buffer(2, 0, NULL)) & 1) && !made.importable);
    differs = false;
    unimportable = true;
    CHECK(!(gen_u64_VkBuffer(make_buffer(4, 0, NULL)) & 1) && !made.importable);
    unimportable = false;
    buffers_made = 0;
    CHECK(!(gen_u64_VkBuffer(make_buffer(1, VK_BUFFER_CREATE_SPARSE_BINDING_BIT, NULL)) & 1) && !made.importable);
    make_buffer(8, 0, &own_type);
    CHECK(!made.importable && buffers_made == 2);
    end();
    begin(LAYER_BACKING_OFF);
    CHECK(!(gen_u64_VkBuffer(make_buffer(1, 0, NULL)) & 1) && !made.importable && buffers_made == 1);
    end();
}

static VkImage make_image(VkImageTiling tiling, VkImageLayout layout, uint32_t width)
{
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = VK_FORMAT_R8_UNORM,
                              .extent = {width, 1, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .tiling = tiling,
                              .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT,
                              .initialLayout = layout};
    VkImage handle = VK_NULL_HANDLE;
    CHECK_EQ_INT(layer_backing_create_image(dev, &info, NULL, &handle, &made), VK_SUCCESS);
    return handle;
}

UNIT_TEST(images_without_contents_are_made_for_imports)
{
    VkMemoryDedicatedRequirements dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_REQUIREMENTS};
    begin(LAYER_BACKING_HOST);
    CHECK(gen_u64_VkImage(make_image(VK_IMAGE_TILING_LINEAR, VK_IMAGE_LAYOUT_UNDEFINED, 64)) & 1);
    CHECK(made.importable && made.moved_types == 0x10);
    layer_backing_prefer_dedicated(dev, &made, 0xf, &dedicated);
    CHECK(!dedicated.prefersDedicatedAllocation);
    CHECK(!(gen_u64_VkImage(make_image(VK_IMAGE_TILING_LINEAR, VK_IMAGE_LAYOUT_UNDEFINED, 65)) & 1)); /* too wide */
    CHECK(!(gen_u64_VkImage(make_image(VK_IMAGE_TILING_LINEAR, VK_IMAGE_LAYOUT_PREINITIALIZED, 8)) & 1));
    CHECK(!made.importable && !made.moved_types);
    layer_backing_prefer_dedicated(dev, &made, 3, &dedicated);
    CHECK(!dedicated.prefersDedicatedAllocation); /* it lies in none of these types */
    layer_backing_prefer_dedicated(dev, &made, 0x1f, &dedicated);
    CHECK(dedicated.prefersDedicatedAllocation);
    CHECK(gen_u64_VkImage(make_image(VK_IMAGE_TILING_OPTIMAL, VK_IMAGE_LAYOUT_UNDEFINED, 8)) & 1);
    images_made = 0;
    image_types = 3; /* as here, where video memory is apart */
    CHECK(!(gen_u64_VkImage(make_image(VK_IMAGE_TILING_OPTIMAL, VK_IMAGE_LAYOUT_UNDEFINED, 8)) & 1));
    CHECK(!made.importable && images_made == 1);
    image_types = 0x1f;
    end();
}

UNIT_TEST(memory_is_the_drivers_while_an_object_waits_that_takes_no_imports)
{
    VkDeviceMemory memory;
    begin(LAYER_BACKING_HOST);
    make_image(VK_IMAGE_TILING_LINEAR, VK_IMAGE_LAYOUT_PREINITIALIZED, 8);
    CHECK_EQ_INT(made.waits, 0x1c);
    CHECK_EQ_INT(get(4, 4096, NULL, &memory), VK_SUCCESS);
    CHECK(!record.backing && memory_of(memory)->type == 3); /* good for both kinds */
    CHECK(layer_backing_bind_memory(dev, &record, memory, &made) == memory);
    CHECK_EQ_INT(made.waits, 0);
    put(memory);
    CHECK_EQ_INT(get(4, 4096, NULL, &memory), VK_SUCCESS);
    CHECK(record.backing != NULL);
    put(memory);
    make_image(VK_IMAGE_TILING_LINEAR, VK_IMAGE_LAYOUT_PREINITIALIZED, 8);
    layer_backing_settle(dev, &made); /* destroyed unbound */
    layer_backing_settle(dev, &made);
    CHECK_EQ_INT(get(2, 4096, NULL, &memory), VK_SUCCESS);
    CHECK(record.backing != NULL);
    put(memory);
    end();
}

/* ---- devices ---- */

UNIT_TEST(extensions_are_added_once_and_only_where_they_help)
{
    static const char *const asked[] = {"VK_KHR_swapchain", VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME};
    VkDeviceCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO, .enabledExtensionCount = 1, .ppEnabledExtensionNames = asked};
    struct layer_backing_request request;

    begin(LAYER_BACKING_AUTO);
    instance.knows_imports = true;
    instance.api_version = gpu->properties.apiVersion = VK_API_VERSION_1_1;
    CHECK(layer_backing_request(gpu, &info, &request) && !request.reason);
    CHECK_EQ_INT(request.info.enabledExtensionCount, 2);
    CHECK_STR(request.info.ppEnabledExtensionNames[0], asked[0]);
    CHECK_STR(request.info.ppEnabledExtensionNames[1], asked[1]);
    layer_backing_request_finish(&request);
    info.enabledExtensionCount = 2;
    CHECK(layer_backing_request(gpu, &info, &request));
    CHECK_EQ_INT(request.info.enabledExtensionCount, 2);
    layer_backing_request_finish(&request);
    instance.api_version = VK_API_VERSION_1_0;
    CHECK(layer_backing_request(gpu, &info, &request));
    CHECK_EQ_INT(request.info.enabledExtensionCount, 3);
    CHECK_STR(request.info.ppEnabledExtensionNames[2], VK_KHR_EXTERNAL_MEMORY_EXTENSION_NAME);
    layer_backing_request_finish(&request);
    has_import = false;
    CHECK(!layer_backing_request(gpu, &info, &request) && strstr(request.reason, "VK_EXT_external_memory_host"));
    has_import = true;
    instance.knows_imports = false;
    CHECK(!layer_backing_request(gpu, &info, &request) && request.reason);
    end();
}

UNIT_TEST(what_was_enabled_behind_the_program_does_not_show)
{
    begin(LAYER_BACKING_AUTO);
    CHECK(!layer_backing_hides(dev, "vkGetMemoryHostPointerPropertiesEXT"));
    dev->backing.enabled_behind = true;
    CHECK(layer_backing_hides(dev, "vkGetMemoryHostPointerPropertiesEXT"));
    CHECK(!layer_backing_hides(dev, "vkMapMemory"));
    end();
}

UNIT_TEST(info_lists_the_backed_types)
{
    char text[64];
    begin(LAYER_BACKING_AUTO);
    layer_backing_describe(dev, text, sizeof text);
    CHECK_STR(text, "memory types 2, 3, 4");
    end();
    begin(LAYER_BACKING_OFF);
    layer_backing_describe(dev, text, sizeof text);
    CHECK_STR(text, "none");
    end();
}

UNIT_MAIN();

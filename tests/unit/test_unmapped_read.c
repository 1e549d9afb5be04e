/* SPDX-License-Identifier: MIT */
/* Memory that the layer maps for a moment to read what new objects inherit. Only the layer's unmapped_read.c, on a
 * driver that is a few functions. */
#include "layer/memory/unmapped_read.h"

#include <stdlib.h>

#include "layer/core/records.h"
#include "layer/memory/backing.h"
#include "tests/unit/unit.h"

enum { BYTES = 10000, ATOM = 256 };

struct layer_state layer = {.log = {.fd = -1}};
static struct layer_device *dev;
static struct layer_physical_device gpu;
static struct layer_memory record;
static bool recording, mapped, fails;
static unsigned maps, invalidates;
static uint64_t mapped_offset, mapped_bytes, invalidated_offset, invalidated_bytes;
static unsigned char store[BYTES], copy[BYTES];

#define HANDLE gen_VkDeviceMemory(0x500)

bool layer_is_recording(void)
{
    return recording;
}
VkDeviceMemory layer_backing_driver_memory(const struct layer_memory *memory, VkDeviceMemory handle)
{
    return handle;
}
void *layer_backing_map(struct layer_device *device, struct layer_memory *memory, VkDeviceSize offset, void *pointer)
{
    return pointer;
}
void layer_backing_unmap(struct layer_device *device, struct layer_memory *memory) {}

static VKAPI_ATTR VkResult VKAPI_CALL map_memory(VkDevice device, VkDeviceMemory memory, VkDeviceSize offset,
                                                 VkDeviceSize bytes, VkMemoryMapFlags flags, void **out)
{
    CHECK(!mapped && memory == HANDLE && bytes && offset + bytes <= BYTES);
    if (fails)
        return VK_ERROR_MEMORY_MAP_FAILED;
    mapped = true;
    maps++;
    mapped_offset = offset;
    mapped_bytes = bytes;
    *out = store + offset;
    return VK_SUCCESS;
}
static VKAPI_ATTR void VKAPI_CALL unmap_memory(VkDevice device, VkDeviceMemory memory)
{
    CHECK(mapped);
    mapped = false;
}
static VKAPI_ATTR VkResult VKAPI_CALL invalidate(VkDevice device, uint32_t count, const VkMappedMemoryRange *ranges)
{
    CHECK(mapped && count == 1);
    invalidates++;
    invalidated_offset = ranges->offset;
    invalidated_bytes = ranges->size;
    memset(store, 7, BYTES); /* comes into sight */
    return VK_SUCCESS;
}

static enum lap_status take(void *context, void *user, uint64_t offset, const void *data, uint64_t bytes)
{
    memcpy(copy + offset, data, bytes);
    return LAP_OK;
}

static void begin(bool coherent)
{
    struct lap_memtrack_options options = {.watch = LAP_WATCH_COMPARE, .non_coherent_atom_bytes = ATOM};
    uint32_t flags = LAP_MEM_HOST_VISIBLE | LAP_MEM_FRESH | (coherent ? LAP_MEM_HOST_COHERENT : 0u);
    dev = calloc(1, sizeof *dev);
    lap_map_init(&dev->own_maps[GEN_HANDLE_VkDeviceMemory]);
    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++)
        dev->maps[type] = &dev->own_maps[type];
    dev->tables.maps = dev->maps;
    dev->physical_device = &gpu;
    gpu.properties.limits.nonCoherentAtomSize = ATOM;
    pthread_mutex_init(&dev->map_mutex, NULL);
    dev->vk.MapMemory = map_memory;
    dev->vk.UnmapMemory = unmap_memory;
    dev->vk.InvalidateMappedMemoryRanges = invalidate;
    CHECK_EQ_INT(lap_memtrack_create(&options, &dev->memtrack), LAP_OK);
    record = (struct layer_memory){.bytes = BYTES,
                                   .shown_flags = VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                                   .real_flags = coherent ? VK_MEMORY_PROPERTY_HOST_COHERENT_BIT : 0};
    record.object = (struct lap_object){.handle = 0x500, .index = 1, .type = GEN_HANDLE_VkDeviceMemory};
    CHECK_EQ_INT(lap_map_put(&dev->own_maps[GEN_HANDLE_VkDeviceMemory], 0x500, &record.object, NULL), LAP_OK);
    CHECK_EQ_INT(lap_mem_create(dev->memtrack, BYTES, flags, &record.mem), LAP_OK);
    recording = true;
    mapped = fails = false;
    maps = invalidates = 0;
    memset(store, coherent ? 7 : 0, BYTES);
    memset(copy, 0, BYTES);
}

static void end(void)
{
    CHECK(!mapped);
    lap_memtrack_destroy(&dev->memtrack);
    lap_map_finish(&dev->own_maps[GEN_HANDLE_VkDeviceMemory]);
    pthread_mutex_destroy(&dev->map_mutex);
    free(dev);
}

static struct lap_memobj *object_at(uint64_t offset, uint64_t bytes)
{
    struct lap_memobj *object = NULL;
    CHECK_EQ_INT(lap_memobj_create(dev->memtrack, NULL, bytes, true, &object), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(object, 0, record.mem, offset, bytes), LAP_OK);
    return object;
}

/* The device writes [offset, offset + bytes) for an object that is gone then. */
static void leave(uint64_t offset, uint64_t bytes)
{
    struct lap_memobj *object = object_at(offset, bytes);
    struct lap_touched written;
    lap_touched_init(&written);
    CHECK(lap_touched_add(&written, object, 0, UINT64_MAX, true));
    CHECK_EQ_INT(lap_memtrack_collect(dev->memtrack, &written, take, NULL, NULL, NULL), LAP_OK);
    lap_memtrack_device_wrote(dev->memtrack, &written);
    lap_touched_finish(&written);
    lap_memobj_destroy(&object);
}

/* How many bytes of [0, BYTES) were sent with what the device wrote. */
static unsigned sent(void)
{
    unsigned count = 0;
    CHECK_EQ_INT(lap_memtrack_collect(dev->memtrack, NULL, take, NULL, NULL, NULL), LAP_OK);
    for (unsigned i = 0; i < BYTES; i++)
        count += copy[i] == 7;
    return count;
}

UNIT_TEST(only_bytes_that_are_owed_are_mapped)
{
    begin(true);
    layer_read_unmapped(dev, HANDLE);
    leave(1000, 500);
    layer_read_unmapped(dev, HANDLE); /* to nobody */
    CHECK_EQ_U64(maps, 0);
    object_at(1200, 5000);
    layer_read_unmapped(dev, HANDLE);
    CHECK_EQ_U64(maps, 1);
    CHECK(mapped_offset <= 1200 && mapped_offset > 1200 - ATOM);
    CHECK(mapped_offset + mapped_bytes >= 1500 && mapped_offset + mapped_bytes < 1500 + ATOM);
    CHECK_EQ_U64(invalidates, 0);
    layer_read_unmapped(dev, HANDLE);
    CHECK_EQ_U64(maps, 1);
    CHECK_EQ_U64(sent(), 300);
    end();
}

UNIT_TEST(without_coherence_whole_atoms_are_invalidated)
{
    begin(false);
    leave(300, 100);
    leave(BYTES - 20, 20);
    object_at(0, BYTES);
    layer_read_unmapped(dev, HANDLE);
    CHECK_EQ_U64(maps, 1);
    CHECK_EQ_U64(invalidates, 1);
    CHECK_EQ_U64(mapped_offset, ATOM);
    CHECK_EQ_U64(mapped_offset + mapped_bytes, BYTES); /* which is no multiple of an atom */
    CHECK(invalidated_offset == mapped_offset && invalidated_bytes == mapped_bytes);
    CHECK_EQ_U64(sent(), 120);
    end();
}

UNIT_TEST(memory_that_cannot_be_mapped_now_is_left_alone)
{
    begin(true);
    leave(0, 100);
    object_at(0, 200);
    recording = false;
    layer_read_unmapped(dev, HANDLE);
    recording = true;
    dev->is_group = true;
    layer_read_unmapped(dev, HANDLE);
    dev->is_group = false;
    record.payload = (struct layer_payload_user *)store;
    layer_read_unmapped(dev, HANDLE);
    record.payload = NULL;
    CHECK_EQ_INT(lap_mem_map(record.mem, store + 5000, 5000, 1000), LAP_OK);
    layer_read_unmapped(dev, HANDLE);
    lap_mem_unmap(record.mem);
    CHECK_EQ_U64(maps, 0);
    fails = true;
    layer_read_unmapped(dev, HANDLE);
    CHECK_EQ_U64(sent(), 0);
    fails = false;
    layer_read_unmapped(dev, HANDLE);
    CHECK_EQ_U64(maps, 1);
    CHECK_EQ_U64(sent(), 100);
    end();
}

static void *show(void *unused)
{
    layer_read_unmapped(dev, HANDLE);
    return NULL;
}

/* The program is about to map: from before the driver does until memory tracking knows the mutex is held. */
UNIT_TEST(a_map_of_the_programs_comes_first_or_later)
{
    pthread_t thread;
    begin(true);
    leave(0, 100);
    object_at(0, 200);
    memset(store + 100, 0, BYTES - 100); /* new memory, where the device left nothing */
    pthread_mutex_lock(&dev->map_mutex);
    mapped = true; /* to the driver */
    CHECK_EQ_INT(pthread_create(&thread, NULL, show, NULL), 0);
    CHECK_EQ_INT(lap_mem_map(record.mem, store, 0, BYTES), LAP_OK);
    pthread_mutex_unlock(&dev->map_mutex);
    CHECK_EQ_INT(pthread_join(thread, NULL), 0);
    CHECK_EQ_U64(maps, 0);
    CHECK_EQ_U64(sent(), 100);
    mapped = false;
    end();
}

UNIT_MAIN();

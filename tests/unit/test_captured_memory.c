/* SPDX-License-Identifier: MIT */
/* Memory that is asked to lie where it lay. The device is a real one without that feature: what is asked of it is
 * looked at, and taken away before it sees it. */
#include "replayer/address/captured_memory.h"
#include "vulkan/chain.h"

#include "replayer/address/address.h"
#include "tests/unit/replay_device.h"

#define HOST  (VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)
#define BYTES 1000u
#define FLAGS (VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT | VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT)

/* Of the last allocation with the flag, and of the last creation. */
static struct {
    VkDeviceSize bytes;
    uint64_t address, number;
    VkBuffer dedicated;
    uint32_t count;
} asked;
static bool refuses_memory, refuses_buffers;
static PFN_vkAllocateMemory allocate_below;
static PFN_vkCreateBuffer create_below;

static VkResult VKAPI_CALL allocate(VkDevice device, const VkMemoryAllocateInfo *info,
                                    const VkAllocationCallbacks *allocator, VkDeviceMemory *out)
{
    const VkMemoryAllocateFlagsInfo *flags = lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO);
    const VkMemoryOpaqueCaptureAddressAllocateInfo *address =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_MEMORY_OPAQUE_CAPTURE_ADDRESS_ALLOCATE_INFO);
    const VkMemoryDedicatedAllocateInfo *dedicated =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO);
    VkMemoryAllocateInfo plain = *info;

    CHECK((address != NULL) == (flags && flags->flags == FLAGS));
    plain.pNext = NULL;
    if (address) {
        asked.bytes = info->allocationSize;
        asked.address = address->opaqueCaptureAddress;
        asked.dedicated = dedicated ? dedicated->buffer : VK_NULL_HANDLE;
        asked.count++;
        if (asked.address && refuses_memory)
            return VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS;
    }
    return allocate_below(device, &plain, allocator, out);
}

static VkResult VKAPI_CALL create(VkDevice device, const VkBufferCreateInfo *info,
                                  const VkAllocationCallbacks *allocator, VkBuffer *out)
{
    const VkBufferOpaqueCaptureAddressCreateInfo *address =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO);
    VkBufferCreateInfo plain = *info;

    CHECK((address != NULL) == ((info->flags & VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT) != 0));
    asked.number = address ? address->opaqueCaptureAddress : 0;
    plain.pNext = NULL;
    plain.flags = 0;
    plain.usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    return address && refuses_buffers ? VK_ERROR_INVALID_OPAQUE_CAPTURE_ADDRESS
                                      : create_below(device, &plain, allocator, out);
}

static bool begin(struct unit_replay *u)
{
    if (!unit_replay_init(u, NULL))
        return false;
    memset(&asked, 0, sizeof asked);
    refuses_memory = refuses_buffers = false;
    u->dev.addresses.enabled = true;
    u->dev.addresses.preserved.possible = u->dev.addresses.preserved.active = true;
    allocate_below = u->dev.vk.AllocateMemory;
    create_below = u->dev.vk.CreateBuffer;
    u->dev.vk.AllocateMemory = allocate;
    u->dev.vk.CreateBuffer = create;
    return true;
}

static void end(struct unit_replay *u)
{
    replay_objects_destroy_left(&u->r, &u->dev);
    replay_address_finish(&u->r, &u->dev);
    CHECK_EQ_U64(u->dev.addresses.preserved.allocated_bytes, 0);
    CHECK(!u->dev.addresses.preserved.memories);
    unit_replay_finish(u);
}

/* A recorded buffer; `number` 0: without what it takes to have its address again. */
static VkBuffer create_buffer(struct unit_replay *u, uint64_t index, uint64_t number)
{
    VkBufferOpaqueCaptureAddressCreateInfo address = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_OPAQUE_CAPTURE_ADDRESS_CREATE_INFO, .opaqueCaptureAddress = number};
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .pNext = number ? &address : NULL,
                               .flags = number ? VK_BUFFER_CREATE_DEVICE_ADDRESS_CAPTURE_REPLAY_BIT : 0,
                               .size = BYTES,
                               .usage = VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT};
    VkBuffer buffer = gen_VkBuffer(index);
    struct gen_args_vkCreateBuffer args = {.device = u->dev.live, .pCreateInfo = &info, .pBuffer = &buffer};

    CHECK_EQ_INT(replay_CreateBuffer(&u->r, &u->dev, &args), LAP_OK);
    return gen_VkBuffer(replay_object_get(&u->r, GEN_HANDLE_VkBuffer, index)->live);
}

static VkMemoryRequirements wants(struct unit_replay *u, VkBuffer buffer)
{
    VkMemoryRequirements requirements;
    u->dev.vk.GetBufferMemoryRequirements(u->dev.live, buffer, &requirements);
    return requirements;
}

static uint32_t first_type(uint32_t bits)
{
    uint32_t type = 0;
    while (!(bits >> type & 1))
        type++;
    return type;
}

static void tell(struct unit_replay *u, uint64_t memory, VkDeviceSize bytes, uint32_t type, VkBuffer dedicated)
{
    struct gen_args_lapilliCaptureMemory args = {u->dev.live,     gen_VkDeviceMemory(memory), bytes, type, dedicated,
                                                 memory * 0x10000};
    CHECK_EQ_INT(replay_lapilliCaptureMemory(&u->r, &u->dev, &args), LAP_OK);
}

static const struct replay_memory_place *bind(struct unit_replay *u, VkBuffer buffer, uint64_t memory,
                                              VkDeviceSize offset)
{
    struct gen_args_lapilliBindBuffer args = {.buffer = buffer,
                                              .memory = gen_VkDeviceMemory(memory),
                                              .memoryOffset = offset,
                                              .size = BYTES,
                                              .propertyFlags = HOST};
    CHECK_EQ_INT(replay_lapilliBindBuffer(&u->r, &u->dev, &args), LAP_OK);
    return &replay_buffer_of(&u->r, buffer, NULL)->place;
}

static void destroy(struct unit_replay *u, VkBuffer buffer)
{
    CHECK_EQ_INT(gen_destroy_object(&u->r, &u->dev, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(buffer)), LAP_OK);
}

UNIT_TEST(buffers_of_one_memory_lie_in_one_allocation_as_they_did)
{
    const struct replay_memory_place *a, *b;
    VkMemoryRequirements requirements;
    struct unit_replay u;
    VkBuffer first, second;
    VkDeviceSize step;

    if (!begin(&u))
        SKIP("no Vulkan driver");
    first = create_buffer(&u, 1, 77);
    CHECK_EQ_U64(asked.number, 77);
    second = create_buffer(&u, 2, 78);
    requirements = wants(&u, first);
    step = (requirements.size + requirements.alignment - 1) / requirements.alignment * requirements.alignment;
    tell(&u, 5, 4 * step, first_type(requirements.memoryTypeBits), VK_NULL_HANDLE);
    a = bind(&u, first, 5, step);
    CHECK_EQ_U64(asked.address, 0x50000);
    CHECK_EQ_U64(asked.bytes, 4 * step);
    tell(&u, 5, 4 * step, first_type(requirements.memoryTypeBits), VK_NULL_HANDLE);
    b = bind(&u, second, 5, 3 * step);
    CHECK_EQ_U64(asked.count, 1);
    CHECK(a->memory == b->memory && a->offset == step && b->offset == 3 * step);
    CHECK_EQ_U64(replay_memory_stats(&u.dev).allocated_bytes, 4 * step);
    CHECK_EQ_U64(u.dev.addresses.preserved.counts.memories, 1);
    CHECK_EQ_U64(u.dev.addresses.preserved.counts.bytes, 4 * step);
    /* It lasts as long as one of them does. */
    destroy(&u, first);
    CHECK_EQ_U64(replay_memory_stats(&u.dev).allocations, 1);
    destroy(&u, second);
    CHECK_EQ_U64(replay_memory_stats(&u.dev).allocations, 0);
    CHECK_EQ_U64(replay_memory_stats(&u.dev).used_bytes, 0);
    /* And is there again for the next one. */
    first = create_buffer(&u, 3, 77);
    tell(&u, 5, 4 * step, first_type(requirements.memoryTypeBits), VK_NULL_HANDLE);
    CHECK_EQ_U64(bind(&u, first, 5, 0)->memory_bytes, 4 * step);
    CHECK_EQ_U64(asked.address, 0x50000);
    end(&u);
}

UNIT_TEST(what_the_driver_refuses_lies_elsewhere)
{
    const struct replay_memory_place *place;
    VkMemoryRequirements requirements;
    struct unit_replay u;
    VkBuffer buffer;

    if (!begin(&u))
        SKIP("no Vulkan driver");
    refuses_memory = true;
    buffer = create_buffer(&u, 1, 77);
    requirements = wants(&u, buffer);
    tell(&u, 5, 1 << 20, first_type(requirements.memoryTypeBits), VK_NULL_HANDLE);
    place = bind(&u, buffer, 5, 0);
    CHECK_EQ_U64(asked.address, 0); /* the flag, and no number */
    CHECK_EQ_U64(asked.count, 2);
    CHECK_EQ_U64(place->memory_bytes, requirements.size);
    CHECK_EQ_U64(u.dev.addresses.preserved.counts.refused_memories, 1);
    refuses_buffers = true;
    buffer = create_buffer(&u, 2, 78);
    CHECK_EQ_U64(u.dev.addresses.preserved.counts.refused_buffers, 1);
    tell(&u, 6, 1 << 20, first_type(requirements.memoryTypeBits), VK_NULL_HANDLE);
    place = bind(&u, buffer, 6, 0);
    CHECK(!place->holder && asked.count == 2);
    buffer = create_buffer(&u, 3, 0); /* recorded without */
    CHECK_EQ_U64(u.dev.addresses.preserved.counts.refused_buffers, 1);
    CHECK(!bind(&u, buffer, 6, 0)->holder);
    end(&u);
}

UNIT_TEST(a_trace_may_say_what_can_not_be)
{
    static const struct {
        VkDeviceSize bytes, offset;
        uint32_t type;
        bool told, dedicated;
    } wrong[] = {
        {4096, 4096, 0, true, false}, {4096, UINT64_MAX - 63, 0, true, false},
        {16, 0, 0, true, false},      {4096, 1, 0, true, false},
        {4096, 0, 32, true, false},   {4096, 0, UINT32_MAX, true, false},
        {4096, 0, 0, false, false},   {4096, 0, 0, true, true},
    };
    struct unit_replay u;
    VkBuffer other;

    if (!begin(&u))
        SKIP("no Vulkan driver");
    other = create_buffer(&u, 100, 0);
    for (uint64_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        VkBuffer buffer = create_buffer(&u, i + 1, 77 + i);
        uint32_t type = wrong[i].type ? wrong[i].type : first_type(wants(&u, buffer).memoryTypeBits);
        if (wrong[i].told)
            tell(&u, i + 5, wrong[i].bytes, type, wrong[i].dedicated ? other : VK_NULL_HANDLE);
        CHECK_EQ_U64(bind(&u, buffer, i + 5, wrong[i].offset)->offset, 0);
        CHECK_EQ_U64(asked.address, 0);
        CHECK_EQ_U64(u.dev.addresses.preserved.counts.memories, 0);
    }
    end(&u);
}

UNIT_TEST(only_the_recorded_driver_keeps_addresses)
{
    struct gen_args_lapilliCaptureDevice args = {0};
    VkPhysicalDeviceIDProperties ids = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &ids};
    uint64_t halves[2];
    struct unit_replay u;

    if (!begin(&u))
        SKIP("no Vulkan driver");
    u.instance.vk.GetPhysicalDeviceProperties2(u.dev.gpu, &properties);
    memcpy(halves, ids.driverUUID, sizeof halves);
    args.vendorID = properties.properties.vendorID;
    args.deviceID = properties.properties.deviceID;
    args.driverVersion = properties.properties.driverVersion;
    args.driverLow = halves[0];
    args.driverHigh = halves[1];
    CHECK_EQ_INT(replay_lapilliCaptureDevice(&u.r, &u.dev, &args), LAP_OK);
    CHECK(u.dev.addresses.preserved.active);
    args.driverVersion++;
    CHECK_EQ_INT(replay_lapilliCaptureDevice(&u.r, &u.dev, &args), LAP_OK);
    CHECK(!u.dev.addresses.preserved.active);
    args.driverVersion--;
    args.driverHigh ^= 1;
    CHECK_EQ_INT(replay_lapilliCaptureDevice(&u.r, &u.dev, &args), LAP_OK);
    CHECK(!u.dev.addresses.preserved.active);
    args.driverHigh ^= 1;
    u.dev.addresses.preserved.possible = false;
    CHECK_EQ_INT(replay_lapilliCaptureDevice(&u.r, &u.dev, &args), LAP_OK);
    CHECK(!u.dev.addresses.preserved.active);
    end(&u);
}

UNIT_MAIN();

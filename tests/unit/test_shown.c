/* SPDX-License-Identifier: MIT */
/* Objects that end while a descriptor set shows them: when the driver's object ends. */
#include "replayer/sync/shown.h"

#include "replayer/core/handles.h"
#include "tests/unit/unit.h"

#define SET(n)     ((VkDescriptorSet)(uintptr_t)(0x100 + (n)))
#define VIEW(n)    ((VkImageView)(uintptr_t)(0x200 + (n)))
#define SAMPLER(n) ((VkSampler)(uintptr_t)(0x300 + (n)))

static struct replay r;
static struct replay_instance instance;
static struct replay_device dev;
static uint64_t views, samplers; /* bit N: the driver has destroyed it */

static VKAPI_ATTR void VKAPI_CALL destroy_view(VkDevice device, VkImageView view,
                                               const VkAllocationCallbacks *allocator)
{
    views |= (uint64_t)1 << (gen_u64_VkImageView(view) - 0x200);
}

static VKAPI_ATTR void VKAPI_CALL destroy_sampler(VkDevice device, VkSampler sampler,
                                                  const VkAllocationCallbacks *allocator)
{
    samplers |= (uint64_t)1 << (gen_u64_VkSampler(sampler) - 0x300);
}

static VKAPI_ATTR void VKAPI_CALL update_sets(VkDevice device, uint32_t write_count, const VkWriteDescriptorSet *writes,
                                              uint32_t copy_count, const VkCopyDescriptorSet *copies)
{
}

static void begin(VkPhysicalDeviceType type)
{
    views = samplers = 0;
    instance = (struct replay_instance){.properties.deviceType = type};
    dev = (struct replay_device){.instance = &instance,
                                 .vk = {.DestroyImageView = destroy_view,
                                        .DestroySampler = destroy_sampler,
                                        .UpdateDescriptorSets = update_sets}};
    replay_shown_create(&dev);
}

static void call(uint32_t command, void *args)
{
    CHECK_EQ_INT(gen_replay_table[command].call(&r, &dev, args), LAP_OK);
}

static void write(unsigned set, uint32_t element, unsigned view, unsigned sampler)
{
    VkDescriptorImageInfo info = {SAMPLER(sampler), VIEW(view), VK_IMAGE_LAYOUT_GENERAL};
    VkWriteDescriptorSet one = {.dstSet = SET(set),
                                .dstArrayElement = element,
                                .descriptorCount = 1,
                                .descriptorType = VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
                                .pImageInfo = &info};
    call(GEN_vkUpdateDescriptorSets,
         &(struct gen_args_vkUpdateDescriptorSets){.descriptorWriteCount = 1, .pDescriptorWrites = &one});
}

static void end_view(unsigned view)
{
    call(GEN_vkDestroyImageView, &(struct gen_args_vkDestroyImageView){.imageView = VIEW(view)});
}

UNIT_TEST(what_a_set_shows_ends_with_the_last_descriptor)
{
    VkCopyDescriptorSet copy = {.srcSet = SET(0), .dstSet = SET(1), .dstArrayElement = 3, .descriptorCount = 2};

    begin(VK_PHYSICAL_DEVICE_TYPE_CPU);
    write(0, 0, 1, 1);
    write(0, 1, 2, 1);
    end_view(5); /* no set shows it */
    CHECK_EQ_U64(views, 1 << 5);
    call(GEN_vkUpdateDescriptorSets,
         &(struct gen_args_vkUpdateDescriptorSets){.descriptorCopyCount = 1, .pDescriptorCopies = &copy});
    end_view(1);
    end_view(2);
    call(GEN_vkDestroySampler, &(struct gen_args_vkDestroySampler){.sampler = SAMPLER(1)});
    write(0, 0, 3, 2);
    write(0, 1, 3, 2);
    CHECK_EQ_U64(views, 1 << 5);
    write(1, 3, 3, 2); /* over the copy of the first */
    CHECK_EQ_U64(views, 1 << 5 | 1 << 1);
    CHECK_EQ_U64(samplers, 0);
    replay_shown_set_end(&dev, SET(1));
    CHECK_EQ_U64(views, 1 << 5 | 1 << 1 | 1 << 2);
    CHECK_EQ_U64(samplers, 1 << 1);
    end_view(3);
    CHECK_EQ_U64(views & 1 << 3, 0);
    replay_shown_destroy(&dev);
    CHECK_EQ_U64(views & 1 << 3, 1 << 3);
    CHECK_EQ_U64(samplers, 1 << 1); /* the other one is alive */
}

UNIT_TEST(other_devices_do_not_look)
{
    begin(VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU);
    write(0, 0, 1, 1);
    end_view(1);
    CHECK_EQ_U64(views, 1 << 1);
    replay_shown_destroy(&dev);
}

UNIT_MAIN();

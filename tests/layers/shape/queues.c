/* SPDX-License-Identifier: MIT */
/*
 * Queue families.
 *
 *   families=one     one family with one queue
 *   families=behind  a family that only transfers comes first; where the driver has one family, to whose queue it goes
 */
#include "tests/layers/shape/shape.h"
#include <string.h>

enum families { FAMILIES_REAL, FAMILIES_ONE, FAMILIES_BEHIND };

static enum families families;

static bool read_word(const char *name, const char *value)
{
    if (strcmp(name, "families"))
        return false;
    if (!strcmp(value, "one"))
        families = FAMILIES_ONE;
    else if (!strcmp(value, "behind"))
        families = FAMILIES_BEHIND;
    else
        return false;
    return true;
}

/* With `behind` the first family is shown in front of the driver's only one, and is that one. */
static uint32_t real_family(bool behind, uint32_t shown)
{
    return behind && shown ? shown - 1 : shown;
}

static bool is_behind(VkPhysicalDevice gpu)
{
    uint32_t count = 0;
    chain_instance_of(gpu)->next.GetPhysicalDeviceQueueFamilyProperties(gpu, &count, NULL);
    return families == FAMILIES_BEHIND && count == 1;
}

/* How many of the driver's families are asked for, when there is room for `room`, and where they go. */
#define SHOW_FAMILIES(name, properties_type, member)                                                                   \
    static VKAPI_ATTR void VKAPI_CALL name(VkPhysicalDevice gpu, uint32_t *count, properties_type *out)                \
    {                                                                                                                  \
        struct chain_instance *instance = chain_instance_of(gpu);                                                      \
        uint32_t front = is_behind(gpu) ? 1 : 0, room;                                                                 \
        if (!out || !*count) {                                                                                         \
            instance->next.name(gpu, count, out);                                                                      \
            if (!out)                                                                                                  \
                *count = families == FAMILIES_ONE ? 1 : *count + front;                                                \
            return;                                                                                                    \
        }                                                                                                              \
        room = families == FAMILIES_ONE ? 1 : *count - front;                                                          \
        if (front)                                                                                                     \
            out[0] member = (VkQueueFamilyProperties){                                                                 \
                .queueFlags = VK_QUEUE_TRANSFER_BIT, .queueCount = 1, .minImageTransferGranularity = {1, 1, 1}};       \
        if (room)                                                                                                      \
            instance->next.name(gpu, &room, out + front);                                                              \
        if (families == FAMILIES_ONE)                                                                                  \
            out[0] member.queueCount = 1;                                                                              \
        *count = room + front;                                                                                         \
    }
SHOW_FAMILIES(GetPhysicalDeviceQueueFamilyProperties, VkQueueFamilyProperties, )
SHOW_FAMILIES(GetPhysicalDeviceQueueFamilyProperties2, VkQueueFamilyProperties2, .queueFamilyProperties)

static VKAPI_ATTR VkResult VKAPI_CALL GetPhysicalDeviceSurfaceSupportKHR(VkPhysicalDevice gpu, uint32_t family,
                                                                         VkSurfaceKHR surface, VkBool32 *out)
{
    return chain_instance_of(gpu)->next.GetPhysicalDeviceSurfaceSupportKHR(gpu, real_family(is_behind(gpu), family),
                                                                           surface, out);
}

static VKAPI_ATTR void VKAPI_CALL GetDeviceQueue(VkDevice handle, uint32_t family, uint32_t number, VkQueue *out)
{
    struct shape_device *device = shape_device_of(handle);
    device->chain.next.GetDeviceQueue(handle, real_family(device->behind, family), number, out);
}

static VKAPI_ATTR void VKAPI_CALL GetDeviceQueue2(VkDevice handle, const VkDeviceQueueInfo2 *info, VkQueue *out)
{
    struct shape_device *device = shape_device_of(handle);
    VkDeviceQueueInfo2 real = *info;
    real.queueFamilyIndex = real_family(device->behind, info->queueFamilyIndex);
    device->chain.next.GetDeviceQueue2(handle, &real, out);
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateCommandPool(VkDevice handle, const VkCommandPoolCreateInfo *info,
                                                        const VkAllocationCallbacks *allocator, VkCommandPool *out)
{
    struct shape_device *device = shape_device_of(handle);
    VkCommandPoolCreateInfo real = *info;
    real.queueFamilyIndex = real_family(device->behind, info->queueFamilyIndex);
    VkResult result = device->chain.next.CreateCommandPool(handle, &real, allocator, out);
    if (result >= 0)
        shape_note_pool(*out, info->queueFamilyIndex);
    return result;
}

/* The families that are asked for as the driver has them: with `behind` the two shown ones are one. */
static VkResult change_device(struct shape_device *device, VkDeviceCreateInfo *info)
{
    VkDeviceQueueCreateInfo *queues = device->queues;
    uint32_t count = 0;

    device->behind = is_behind(device->chain.gpu);
    for (uint32_t i = 0; i < info->queueCreateInfoCount && count < SHAPE_MAX_FAMILIES; i++) {
        queues[count] = info->pQueueCreateInfos[i];
        queues[count].queueFamilyIndex = real_family(device->behind, queues[count].queueFamilyIndex);
        if (!device->behind || count == 0)
            count++;
        else if (queues[0].queueCount < queues[1].queueCount)
            queues[0] = queues[1];
    }
    info->queueCreateInfoCount = count;
    info->pQueueCreateInfos = queues;
    return VK_SUCCESS;
}

static const struct chain_function functions[] = {
    CHAIN_OWN(GetPhysicalDeviceQueueFamilyProperties),
    CHAIN_OWN_2(GetPhysicalDeviceQueueFamilyProperties2),
    CHAIN_OWN(GetPhysicalDeviceSurfaceSupportKHR),
    CHAIN_OWN(GetDeviceQueue),
    CHAIN_OWN(GetDeviceQueue2),
    CHAIN_OWN(CreateCommandPool),
    CHAIN_END,
};
const struct shape_topic shape_queues = {
    .read_word = read_word, .change_device = change_device, .functions = functions};

/* SPDX-License-Identifier: MIT */
/*
 * Acceleration structures.
 *
 *   structures=FACTOR   they and their scratch memory are so many times as large
 *
 * What is built or copied into one that is too small is said on stderr.
 */
#include "tests/layers/shape/shape.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct structure {
    struct structure *next;
    VkAccelerationStructureKHR handle;
    VkDeviceSize bytes;
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct structure *structures;
static uint64_t factor;

static bool read_word(const char *name, const char *value)
{
    return !strcmp(name, "structures") && shape_read_number(value, &factor);
}

static VkDeviceSize bytes_of(VkAccelerationStructureKHR handle)
{
    VkDeviceSize bytes = 0;

    pthread_mutex_lock(&mutex);
    for (const struct structure *s = structures; s; s = s->next)
        bytes = s->handle == handle ? s->bytes : bytes;
    pthread_mutex_unlock(&mutex);
    return bytes;
}

static VKAPI_ATTR void VKAPI_CALL GetAccelerationStructureBuildSizesKHR(
    VkDevice handle, VkAccelerationStructureBuildTypeKHR type, const VkAccelerationStructureBuildGeometryInfoKHR *info,
    const uint32_t *counts, VkAccelerationStructureBuildSizesInfoKHR *out)
{
    shape_device_of(handle)->chain.next.GetAccelerationStructureBuildSizesKHR(handle, type, info, counts, out);
    if (!factor)
        return;
    out->accelerationStructureSize *= factor;
    out->updateScratchSize *= factor;
    out->buildScratchSize *= factor;
}

static VKAPI_ATTR VkResult VKAPI_CALL CreateAccelerationStructureKHR(VkDevice handle,
                                                                     const VkAccelerationStructureCreateInfoKHR *info,
                                                                     const VkAllocationCallbacks *allocator,
                                                                     VkAccelerationStructureKHR *out)
{
    VkResult result = shape_device_of(handle)->chain.next.CreateAccelerationStructureKHR(handle, info, allocator, out);
    struct structure *structure = result >= 0 ? malloc(sizeof *structure) : NULL;

    if (structure) {
        pthread_mutex_lock(&mutex);
        *structure = (struct structure){structures, *out, info->size};
        structures = structure;
        pthread_mutex_unlock(&mutex);
    }
    return result;
}

static VKAPI_ATTR void VKAPI_CALL DestroyAccelerationStructureKHR(VkDevice handle, VkAccelerationStructureKHR structure,
                                                                  const VkAllocationCallbacks *allocator)
{
    struct structure *found = NULL;

    pthread_mutex_lock(&mutex);
    for (struct structure **link = &structures; *link; link = &(*link)->next)
        if ((*link)->handle == structure) {
            found = *link;
            *link = found->next;
            break;
        }
    pthread_mutex_unlock(&mutex);
    free(found);
    shape_device_of(handle)->chain.next.DestroyAccelerationStructureKHR(handle, structure, allocator);
}

static VKAPI_ATTR void VKAPI_CALL CmdBuildAccelerationStructuresKHR(
    VkCommandBuffer commands, uint32_t count, const VkAccelerationStructureBuildGeometryInfoKHR *infos,
    const VkAccelerationStructureBuildRangeInfoKHR *const *ranges)
{
    struct shape_device *device = shape_device_of(commands);

    for (uint32_t i = 0; i < count && factor; i++) {
        VkAccelerationStructureBuildSizesInfoKHR sizes = {
            .sType = VK_STRUCTURE_TYPE_ACCELERATION_STRUCTURE_BUILD_SIZES_INFO_KHR};
        uint32_t *counts = calloc(infos[i].geometryCount + 1, sizeof *counts);
        if (!counts)
            continue;
        for (uint32_t j = 0; j < infos[i].geometryCount; j++)
            counts[j] = ranges[i][j].primitiveCount;
        device->chain.next.GetAccelerationStructureBuildSizesKHR(
            device->chain.handle, VK_ACCELERATION_STRUCTURE_BUILD_TYPE_DEVICE_KHR, &infos[i], counts, &sizes);
        if (bytes_of(infos[i].dstAccelerationStructure) < sizes.accelerationStructureSize * factor)
            fprintf(stderr, "test layer shape: a build into a structure that is too small\n");
        free(counts);
    }
    device->chain.next.CmdBuildAccelerationStructuresKHR(commands, count, infos, ranges);
}

static VKAPI_ATTR void VKAPI_CALL CmdCopyAccelerationStructureKHR(VkCommandBuffer commands,
                                                                  const VkCopyAccelerationStructureInfoKHR *info)
{
    if (factor && bytes_of(info->dst) < bytes_of(info->src))
        fprintf(stderr, "test layer shape: a copy into a structure that is too small\n");
    shape_device_of(commands)->chain.next.CmdCopyAccelerationStructureKHR(commands, info);
}

static const struct chain_function functions[] = {
    CHAIN_OWN(GetAccelerationStructureBuildSizesKHR), CHAIN_OWN(CreateAccelerationStructureKHR),
    CHAIN_OWN(DestroyAccelerationStructureKHR),       CHAIN_OWN(CmdBuildAccelerationStructuresKHR),
    CHAIN_OWN(CmdCopyAccelerationStructureKHR),       CHAIN_END,
};
const struct shape_topic shape_structures = {.read_word = read_word, .functions = functions};

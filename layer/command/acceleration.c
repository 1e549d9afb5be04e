/* SPDX-License-Identifier: MIT */
/* acceleration: commands that build acceleration structures and micromaps, and copy them as bytes. They reach memory by
 * addresses, so submits with them touch everything. Their results are specific to the driver: other drivers, and at
 * times other runs, write different bytes, so `capture --verify` leaves out the buffers that hold structures, scratch
 * memory or their bytes. */
#include "gen_layer.h"
#include "layer/command/build_inputs.h"
#include "layer/command/touched.h"
#include "layer/core/layer.h"

/* From now on the buffer contains an acceleration structure. */
static void hold(struct layer_device *dev, VkBuffer handle)
{
    struct layer_buffer *buffer = LAYER_GET(dev, VkBuffer, handle);

    if (buffer)
        atomic_store_explicit(&buffer->opaque, true, memory_order_relaxed);
}

void hook_after_CreateAccelerationStructureKHR(struct layer_device *dev, VkDevice device,
                                               const VkAccelerationStructureCreateInfoKHR *pCreateInfo,
                                               const VkAllocationCallbacks *pAllocator,
                                               VkAccelerationStructureKHR *pAccelerationStructure, VkResult result)
{
    hold(dev, pCreateInfo->buffer);
}

static void mark(void *user, uint64_t handle, void *record)
{
    struct layer_buffer *buffer = record;
    const VkDeviceAddress *written = user;
    uint64_t address = atomic_load_explicit(&buffer->address, memory_order_relaxed);

    if (address && *written >= address && *written - address < buffer->bytes)
        atomic_store_explicit(&buffer->opaque, true, memory_order_relaxed);
}

/* Visits all buffers, but only where contents are read back. */
static void write_at(struct layer_cmdbuf *cb, VkDeviceAddress address)
{
    if (layer.options.reads_back && address)
        lap_map_each(cb->device->maps[GEN_HANDLE_VkBuffer], mark, &address);
}

static void build(struct layer_cmdbuf *cb, uint32_t count, const VkAccelerationStructureBuildGeometryInfoKHR *infos)
{
    layer_touch_unknown(cb);
    for (uint32_t i = 0; i < count; i++)
        write_at(cb, infos[i].scratchData.deviceAddress);
}

void hook_after_CmdBuildAccelerationStructuresKHR(
    struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, uint32_t infoCount,
    const VkAccelerationStructureBuildGeometryInfoKHR *pInfos,
    const VkAccelerationStructureBuildRangeInfoKHR *const *ppBuildRangeInfos)
{
    build(cb, infoCount, pInfos);
    layer_builds_note(cb, infoCount, pInfos, ppBuildRangeInfos);
}

void hook_after_CmdBuildAccelerationStructuresIndirectKHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                                          uint32_t infoCount,
                                                          const VkAccelerationStructureBuildGeometryInfoKHR *pInfos,
                                                          const VkDeviceAddress *pIndirectDeviceAddresses,
                                                          const uint32_t *pIndirectStrides,
                                                          const uint32_t *const *ppMaxPrimitiveCounts)
{
    build(cb, infoCount, pInfos);
    layer_builds_note(cb, infoCount, pInfos, NULL);
}

void hook_after_CmdCopyAccelerationStructureKHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                                const VkCopyAccelerationStructureInfoKHR *pInfo)
{
    layer_touch_unknown(cb);
    layer_builds_note_copy(cb, pInfo->src, pInfo->dst);
}

void hook_after_CmdCopyMemoryToAccelerationStructureKHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                                        const VkCopyMemoryToAccelerationStructureInfoKHR *pInfo)
{
    layer_touch_unknown(cb);
    layer_builds_note_lost(cb, pInfo->dst, "an acceleration structure comes from serialized bytes");
}

void hook_after_GetAccelerationStructureDeviceAddressKHR(struct layer_device *dev, VkDevice device,
                                                         const VkAccelerationStructureDeviceAddressInfoKHR *pInfo,
                                                         VkDeviceAddress result)
{
    struct layer_structure *structure = LAYER_GET(dev, VkAccelerationStructureKHR, pInfo->accelerationStructure);

    if (structure)
        atomic_store_explicit(&structure->address, result, memory_order_relaxed);
}

void hook_after_CmdCopyAccelerationStructureToMemoryKHR(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                                        const VkCopyAccelerationStructureToMemoryInfoKHR *pInfo)
{
    layer_touch_unknown(cb);
    write_at(cb, pInfo->dst.deviceAddress);
}

/* ---- micromaps ---- */

void hook_after_CreateMicromapEXT(struct layer_device *dev, VkDevice device, const VkMicromapCreateInfoEXT *pCreateInfo,
                                  const VkAllocationCallbacks *pAllocator, VkMicromapEXT *pMicromap, VkResult result)
{
    hold(dev, pCreateInfo->buffer);
}

void hook_after_CmdBuildMicromapsEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer, uint32_t infoCount,
                                     const VkMicromapBuildInfoEXT *pInfos)
{
    layer_touch_unknown(cb);
    for (uint32_t i = 0; i < infoCount; i++)
        write_at(cb, pInfos[i].scratchData.deviceAddress);
}

void hook_after_CmdCopyMicromapToMemoryEXT(struct layer_cmdbuf *cb, VkCommandBuffer commandBuffer,
                                           const VkCopyMicromapToMemoryInfoEXT *pInfo)
{
    layer_touch_unknown(cb);
    write_at(cb, pInfo->dst.deviceAddress);
}

/* SPDX-License-Identifier: MIT */
/* Acceleration structures of this driver: nothing is built, yet they have sizes. */
#include "tests/null/null.h"

#define STRUCTURE_BYTES 4096u
#define SCRATCH_BYTES   1024u

VKAPI_ATTR void VKAPI_CALL hand_GetAccelerationStructureBuildSizesKHR(
    VkDevice device, VkAccelerationStructureBuildTypeKHR buildType,
    const VkAccelerationStructureBuildGeometryInfoKHR *pBuildInfo, const uint32_t *pMaxPrimitiveCounts,
    VkAccelerationStructureBuildSizesInfoKHR *pSizeInfo)
{
    pSizeInfo->accelerationStructureSize = STRUCTURE_BYTES;
    pSizeInfo->updateScratchSize = pSizeInfo->buildScratchSize = SCRATCH_BYTES;
}

VKAPI_ATTR void VKAPI_CALL hand_GetMicromapBuildSizesEXT(VkDevice device, VkAccelerationStructureBuildTypeKHR buildType,
                                                         const VkMicromapBuildInfoEXT *pBuildInfo,
                                                         VkMicromapBuildSizesInfoEXT *pSizeInfo)
{
    pSizeInfo->micromapSize = STRUCTURE_BYTES;
    pSizeInfo->buildScratchSize = SCRATCH_BYTES;
}

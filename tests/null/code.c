/* SPDX-License-Identifier: MIT */
/* What programs get for code and create things from again: identifiers of modules, binaries of shaders and pipelines.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/null/null.h"

static struct null_thing *new_number(uint64_t number)
{
    struct null_thing *thing = calloc(1, sizeof *thing);
    if (thing)
        thing->bytes = number;
    return thing;
}

/* The same for the same bytes, in every run. */
static uint64_t number_of(const void *bytes, size_t size)
{
    const uint8_t *p = bytes;
    uint64_t number = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < size; i++)
        number = (number ^ p[i]) * UINT64_C(0x100000001b3);
    return number;
}

/* ---- modules ---- */

VKAPI_ATTR VkResult VKAPI_CALL hand_CreateShaderModule(VkDevice device, const VkShaderModuleCreateInfo *pCreateInfo,
                                                       const VkAllocationCallbacks *pAllocator,
                                                       VkShaderModule *pShaderModule)
{
    struct null_thing *thing = new_number(number_of(pCreateInfo->pCode, pCreateInfo->codeSize));
    if (!thing)
        return VK_ERROR_OUT_OF_HOST_MEMORY;
    *pShaderModule = (VkShaderModule)null_make(NULL_TYPE_VkShaderModule, thing);
    return VK_SUCCESS;
}

static void identify(uint64_t number, VkShaderModuleIdentifierEXT *out)
{
    out->identifierSize = sizeof number;
    memcpy(out->identifier, &number, sizeof number);
}

VKAPI_ATTR void VKAPI_CALL hand_GetShaderModuleIdentifierEXT(VkDevice device, VkShaderModule shaderModule,
                                                             VkShaderModuleIdentifierEXT *pIdentifier)
{
    const struct null_thing *thing = null_thing_of((uint64_t)shaderModule);
    identify(thing ? thing->bytes : 0, pIdentifier);
}

VKAPI_ATTR void VKAPI_CALL hand_GetShaderModuleCreateInfoIdentifierEXT(VkDevice device,
                                                                       const VkShaderModuleCreateInfo *pCreateInfo,
                                                                       VkShaderModuleIdentifierEXT *pIdentifier)
{
    identify(number_of(pCreateInfo->pCode, pCreateInfo->codeSize), pIdentifier);
}

/* ---- binaries ---- */

#if defined VK_EXT_shader_object || defined VK_KHR_pipeline_binary
static VkResult give(const char *head, uint64_t number, size_t *size, void *data)
{
    char bytes[32] = {0};
    memcpy(bytes, head, strlen(head));
    memcpy(bytes + 24, &number, sizeof number);
    if (data && *size < sizeof bytes)
        return VK_INCOMPLETE;
    *size = sizeof bytes;
    if (data)
        memcpy(data, bytes, sizeof bytes);
    return VK_SUCCESS;
}
#endif

#ifdef VK_EXT_shader_object
VKAPI_ATTR VkResult VKAPI_CALL hand_CreateShadersEXT(VkDevice device, uint32_t createInfoCount,
                                                     const VkShaderCreateInfoEXT *pCreateInfos,
                                                     const VkAllocationCallbacks *pAllocator, VkShaderEXT *pShaders)
{
    for (uint32_t i = 0; i < createInfoCount; i++) {
        struct null_thing *thing = new_number(number_of(pCreateInfos[i].pCode, pCreateInfos[i].codeSize));
        pShaders[i] = thing ? (VkShaderEXT)null_make(NULL_TYPE_VkShaderEXT, thing) : VK_NULL_HANDLE;
    }
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_GetShaderBinaryDataEXT(VkDevice device, VkShaderEXT shader, size_t *pDataSize,
                                                           void *pData)
{
    const struct null_thing *thing = null_thing_of((uint64_t)shader);
    return give("null shader", thing ? thing->bytes : 0, pDataSize, pData);
}
#endif

#ifdef VK_KHR_pipeline_binary
VKAPI_ATTR VkResult VKAPI_CALL hand_GetPipelineKeyKHR(VkDevice device,
                                                      const VkPipelineCreateInfoKHR *pPipelineCreateInfo,
                                                      VkPipelineBinaryKeyKHR *pPipelineKey)
{
    memset(pPipelineKey->key, pPipelineCreateInfo ? 0x22 : 0x11, sizeof pPipelineKey->key);
    pPipelineKey->keySize = 20;
    return VK_SUCCESS;
}

/* A pipeline has two of them. */
VKAPI_ATTR VkResult VKAPI_CALL hand_CreatePipelineBinariesKHR(VkDevice device,
                                                              const VkPipelineBinaryCreateInfoKHR *pCreateInfo,
                                                              const VkAllocationCallbacks *pAllocator,
                                                              VkPipelineBinaryHandlesInfoKHR *pBinaries)
{
    uint32_t count = pCreateInfo->pKeysAndDataInfo ? pCreateInfo->pKeysAndDataInfo->binaryCount : 2;
    uint64_t number = (uint64_t)pCreateInfo->pipeline;

    for (uint32_t i = 0; pBinaries->pPipelineBinaries && i < count; i++) {
        struct null_thing *thing;
        if (i >= pBinaries->pipelineBinaryCount)
            return VK_INCOMPLETE;
        thing = new_number(number + i);
        if (!thing)
            return VK_ERROR_OUT_OF_HOST_MEMORY;
        pBinaries->pPipelineBinaries[i] = (VkPipelineBinaryKHR)null_make(NULL_TYPE_VkPipelineBinaryKHR, thing);
    }
    pBinaries->pipelineBinaryCount = count;
    return VK_SUCCESS;
}

VKAPI_ATTR VkResult VKAPI_CALL hand_GetPipelineBinaryDataKHR(VkDevice device, const VkPipelineBinaryDataInfoKHR *pInfo,
                                                             VkPipelineBinaryKeyKHR *pPipelineBinaryKey,
                                                             size_t *pPipelineBinaryDataSize, void *pPipelineBinaryData)
{
    const struct null_thing *thing = null_thing_of((uint64_t)pInfo->pipelineBinary);
    uint64_t number = thing ? thing->bytes : 0;
    memset(pPipelineBinaryKey->key, 0, sizeof pPipelineBinaryKey->key);
    pPipelineBinaryKey->keySize = sizeof number;
    memcpy(pPipelineBinaryKey->key, &number, sizeof number);
    return give("null pipeline", number, pPipelineBinaryDataSize, pPipelineBinaryData);
}
#endif

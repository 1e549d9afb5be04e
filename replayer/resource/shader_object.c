/* SPDX-License-Identifier: MIT */
/* shader_object: shaders without a pipeline. A trace always has SPIR-V for them, also if the program used other
 * code. */
#include "gen_replay.h"
#include "replayer/address/address.h"
#include "replayer/core/device.h"
#include "replayer/descriptor/heap_code.h"

#ifdef VK_EXT_shader_object

/* A driver trusts binaries, so it never gets one from a file. */
static enum lap_status check(struct replay *r, const VkShaderCreateInfoEXT *info)
{
    if (info->codeType != VK_SHADER_CODE_TYPE_SPIRV_EXT)
        return replay_fail(r, "a shader is to be created from a binary of another driver");
    if (!info->codeSize || info->codeSize % 4)
        return replay_fail(r, "a shader has %zu bytes of code, which is no SPIR-V", info->codeSize);
    if (!info->pCode)
        return replay_absent(r, "pCode");
    return info->pName ? LAP_OK : replay_absent(r, "pName");
}

/* A call may have failed for some shaders: only those that the program got are created. */
enum lap_status replay_CreateShadersEXT(struct replay *r, struct replay_device *dev,
                                        struct gen_args_vkCreateShadersEXT *args)
{
    VkShaderCreateInfoEXT *infos = (VkShaderCreateInfoEXT *)(uintptr_t)args->pCreateInfos;
    VkShaderEXT *live = replay_scratch(r, args->createInfoCount, sizeof *live);
    uint32_t count = 0;
    VkResult result;

    if (!live && args->createInfoCount)
        return replay_no_scratch(r);
    if (dev->descriptors.buffers) {
        enum lap_status status = replay_heaps_adapt_call(r, dev, GEN_vkCreateShadersEXT, args);
        if (status != LAP_OK)
            return status;
    }
    for (uint32_t i = 0; i < args->createInfoCount; i++) {
        enum lap_status status = LAP_OK;
        if (!args->pShaders[i])
            continue;
        status = check(r, &infos[i]);
        if (status == LAP_OK && dev->addresses.translated)
            status = replay_address_constants(r, dev, infos[i].pSpecializationInfo);
        if (status != LAP_OK)
            return status;
        args->pShaders[count] = args->pShaders[i];
        infos[count++] = infos[i];
    }
    if (!count)
        return LAP_OK;
    result = dev->vk.CreateShadersEXT(dev->live, count, infos, NULL, live);
    for (uint32_t i = 0; i < count; i++)
        if (!live[i])
            return result < 0 ? replay_result(r, result) : replay_fail(r, "the driver makes no shader of the code");
    return gen_keep_VkShaderEXT(r, dev, args->pShaders, live, count);
}

#endif

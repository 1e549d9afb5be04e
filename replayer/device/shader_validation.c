/* SPDX-License-Identifier: MIT */
#include "replayer/device/shader_validation.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "gen_ids.h"
#include "replayer/core/device.h"
#include "vulkan/chain.h"
#include "vulkan/walk.h"

/* ---- the device ---- */

static bool has_extension(const VkDeviceCreateInfo *info, const char *name)
{
    for (uint32_t i = 0; info->ppEnabledExtensionNames && i < info->enabledExtensionCount; i++)
        if (strcmp(info->ppEnabledExtensionNames[i], name) == 0)
            return true;
    return false;
}

void replay_spirv_target_init(struct replay_spirv_target *target, uint32_t api_version, const VkDeviceCreateInfo *info)
{
    const VkPhysicalDeviceVulkan12Features *v12 =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES);
    const VkPhysicalDeviceScalarBlockLayoutFeatures *scalar =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SCALAR_BLOCK_LAYOUT_FEATURES);
    const VkPhysicalDeviceUniformBufferStandardLayoutFeatures *standard =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_UNIFORM_BUFFER_STANDARD_LAYOUT_FEATURES);
    const VkPhysicalDeviceWorkgroupMemoryExplicitLayoutFeaturesKHR *workgroup =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_WORKGROUP_MEMORY_EXPLICIT_LAYOUT_FEATURES_KHR);
    const VkPhysicalDeviceVulkan13Features *v13 =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES);
    const VkPhysicalDeviceMaintenance4Features *maintenance =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_MAINTENANCE_4_FEATURES);

    *target = (struct replay_spirv_target){
        .api_version = api_version,
        .spirv_1_4 = has_extension(info, VK_KHR_SPIRV_1_4_EXTENSION_NAME),
        .relaxed_blocks =
            api_version >= VK_API_VERSION_1_1 || has_extension(info, VK_KHR_RELAXED_BLOCK_LAYOUT_EXTENSION_NAME),
        .standard_uniforms =
            (v12 && v12->uniformBufferStandardLayout) || (standard && standard->uniformBufferStandardLayout),
        .scalar_blocks = (v12 && v12->scalarBlockLayout) || (scalar && scalar->scalarBlockLayout),
        .scalar_workgroup_blocks = workgroup && workgroup->workgroupMemoryExplicitLayoutScalarBlockLayout,
        .local_size_id = (v13 && v13->maintenance4) || (maintenance && maintenance->maintenance4),
    };
}

/* ---- the code ---- */

struct look {
    struct replay *r;
    const struct replay_device *dev;
    const void *args;
    enum lap_status status;
};

/* "VkShaderModule:7" for a call that only creates objects from the code. */
static void name_code(const struct look *look, const struct lap_place *place, char *out, size_t bytes)
{
    if (look->r->at.command == GEN_vkCreateShaderModule) {
        const struct gen_args_vkCreateShaderModule *args = look->args;
        snprintf(out, bytes, "VkShaderModule:%" PRIu64,
                 args->pShaderModule ? gen_u64_VkShaderModule(*args->pShaderModule) : 0);
#ifdef VK_EXT_shader_object
    } else if (look->r->at.command == GEN_vkCreateShadersEXT) {
        const struct gen_args_vkCreateShadersEXT *args = look->args;
        snprintf(out, bytes, "VkShaderEXT:%" PRIu64,
                 args->pShaders ? gen_u64_VkShaderEXT(args->pShaders[place->index]) : 0);
#endif
    } else {
        snprintf(out, bytes, "the code of a stage");
    }
}

static void see_code(struct look *look, const struct lap_place *place, const uint32_t *words, size_t bytes)
{
    char name[64];

    if (look->status != LAP_OK)
        return;
    name_code(look, place, name, sizeof name);
    if (!words || bytes == 0 || bytes % 4 != 0)
        look->status = lap_fail(LAP_ERROR_REPLAY, "%s has %zu bytes, which is no SPIR-V", name, words ? bytes : 0);
    else
        look->status = look->r->options.judge(look->dev->spirv, words, bytes / 4);
    if (look->status == LAP_ERROR_REPLAY && words && bytes && bytes % 4 == 0)
        look->status = lap_fail_context(look->status, "%s is no valid SPIR-V", name);
    else if (look->status == LAP_ERROR_UNSUPPORTED)
        look->status = lap_fail_context(look->status, "%s can't be checked", name);
}

static bool see_struct(void *user, const struct lap_place *place, uint32_t number)
{
    struct look *look = user;

    if (number == GEN_STRUCT_VkShaderModuleCreateInfo) {
        const VkShaderModuleCreateInfo *info = place->at;
        see_code(look, place, info->pCode, info->codeSize);
    }
#ifdef VK_EXT_shader_object
    if (number == GEN_STRUCT_VkShaderCreateInfoEXT) {
        const VkShaderCreateInfoEXT *info = place->at;
        if (info->codeType == VK_SHADER_CODE_TYPE_SPIRV_EXT)
            see_code(look, place, info->pCode, info->codeSize);
    }
#endif
    return look->status == LAP_OK;
}

enum lap_status replay_spirv_check(struct replay *r, const struct replay_device *dev, const void *args)
{
    struct look look = {.r = r, .dev = dev, .args = args};
    const struct lap_visitor visitor = {.begin_struct = see_struct, .user = &look};

    lap_walk_command(r->at.command, args, false, &visitor);
    return look.status;
}

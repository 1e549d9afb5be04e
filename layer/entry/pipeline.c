/* SPDX-License-Identifier: MIT */
/*
 * pipeline: creation of graphics and compute pipelines.
 *
 * Programs may leave out the code of a stage and name an identifier or binaries instead, if the driver has the code.
 * The trace gets the code all the same. If the layer does not know the code, it returns VK_PIPELINE_COMPILE_REQUIRED,
 * as the specification says for a driver without the code. The program then passes the code.
 */
#include <stdlib.h>

#include "gen_layer.h"
#include "layer/command/shader_access.h"
#include "layer/shader/stages.h"
#include "vulkan/chain.h"
#include "vulkan/conditions.h"

#define EARLY_RETURN VK_PIPELINE_CREATE_EARLY_RETURN_ON_FAILURE_BIT

/* A call to create pipelines of one kind. */
struct call {
    struct layer_device *dev;
    VkPipelineCache cache;
    uint32_t count;
    const VkAllocationCallbacks *allocator;
    VkPipeline *pipelines;
    const VkGraphicsPipelineCreateInfo *graphics; /* one of the two */
    const VkComputePipelineCreateInfo *compute;
};

static VkResult create(const struct call *call)
{
    if (call->graphics)
        return call->dev->vk.CreateGraphicsPipelines(call->dev->handle, call->cache, call->count, call->graphics,
                                                     call->allocator, call->pipelines);
    return call->dev->vk.CreateComputePipelines(call->dev->handle, call->cache, call->count, call->compute,
                                                call->allocator, call->pipelines);
}

static VkPipelineCreateFlags flags_of(const struct call *call, uint32_t i)
{
    return call->graphics ? call->graphics[i].flags : call->compute[i].flags;
}

static const void *chain_of(const struct call *call, uint32_t i)
{
    return call->graphics ? call->graphics[i].pNext : call->compute[i].pNext;
}

static uint32_t stages_of(const struct call *call, uint32_t i, const VkPipelineShaderStageCreateInfo **out_stages)
{
    if (call->compute) {
        *out_stages = &call->compute[i].stage;
        return 1;
    }
    *out_stages = call->graphics[i].pStages;
    return cond_reads_stages(&call->graphics[i]) ? call->graphics[i].stageCount : 0;
}

static bool returns_early(const struct call *call, uint32_t i)
{
#ifdef VK_KHR_maintenance5
    const VkPipelineCreateFlags2CreateInfoKHR *flags2 =
        lap_chain_find(chain_of(call, i), VK_STRUCTURE_TYPE_PIPELINE_CREATE_FLAGS_2_CREATE_INFO_KHR);
    if (flags2)
        return flags2->flags & EARLY_RETURN;
#endif
    return flags_of(call, i) & EARLY_RETURN;
}

/* ---- devices that keep code ---- */

struct kept {
    struct call recorded;
    struct lap_arena arena;
    bool *unknown; /* [pipeline]; NULL: none is */
};

/* False: out of memory. */
static bool replace_stages(struct kept *kept, uint32_t i, const VkPipelineShaderStageCreateInfo *stages)
{
    struct call *call = &kept->recorded;
    const size_t bytes = call->graphics ? sizeof *call->graphics : sizeof *call->compute;
    const void *infos = call->graphics ? (const void *)call->graphics : (const void *)call->compute;
    void *copies = lap_arena_alloc(&kept->arena, call->count * bytes, 8);

    if (!copies)
        return false;
    memcpy(copies, infos, call->count * bytes);
    if (call->graphics) {
        ((VkGraphicsPipelineCreateInfo *)copies)[i].pStages = stages;
        call->graphics = copies;
    } else {
        ((VkComputePipelineCreateInfo *)copies)[i].stage = *stages;
        call->compute = copies;
    }
    return true;
}

/* Collects the pipelines of a call to record. False: out of memory. */
static bool keep(const struct call *call, struct kept *kept)
{
    for (uint32_t i = 0; i < call->count; i++) {
        const VkPipelineShaderStageCreateInfo *stages, *found;
        uint32_t count = stages_of(call, i, &stages);
        switch (layer_stages_find_code(call->dev, &kept->arena, chain_of(call, i), count, stages, &found)) {
        case LAYER_STAGES_COPIED:
            if (!replace_stages(kept, i, found))
                return false;
            break;
        case LAYER_STAGES_UNKNOWN:
            if (!kept->unknown)
                kept->unknown = lap_arena_zalloc(&kept->arena, call->count, sizeof *kept->unknown, 1);
            if (!kept->unknown)
                return false;
            kept->unknown[i] = true;
            break;
        case LAYER_STAGES_NO_MEMORY:
            return false;
        default:
            break;
        }
    }
    return true;
}

/* A derivative of a pipeline that is created by the same call names it by number. */
static void name_base(const struct call *call, struct call *one, VkGraphicsPipelineCreateInfo *graphics,
                      VkComputePipelineCreateInfo *compute, uint32_t i)
{
    VkPipeline *base = call->graphics ? &graphics->basePipelineHandle : &compute->basePipelineHandle;
    int32_t *number = call->graphics ? &graphics->basePipelineIndex : &compute->basePipelineIndex;

    if (call->graphics) {
        *graphics = call->graphics[i];
        one->graphics = graphics;
    } else {
        *compute = call->compute[i];
        one->compute = compute;
    }
    if (flags_of(call, i) & VK_PIPELINE_CREATE_DERIVATIVE_BIT && *number >= 0 && (uint32_t)*number < i) {
        *base = call->pipelines[*number];
        *number = -1;
    }
}

/* The driver creates only the known pipelines, one by one: it might have code that the trace lacks. */
static VkResult create_known(const struct call *call, const struct kept *kept)
{
    VkResult result = VK_SUCCESS;
    uint32_t i;

    for (i = 0; i < call->count; i++) {
        VkGraphicsPipelineCreateInfo graphics;
        VkComputePipelineCreateInfo compute;
        struct call one = *call;
        VkResult got = VK_PIPELINE_COMPILE_REQUIRED_EXT;

        call->pipelines[i] = VK_NULL_HANDLE;
        if (!kept->unknown[i]) {
            one.count = 1;
            one.pipelines = &call->pipelines[i];
            name_base(call, &one, &graphics, &compute, i);
            got = create(&one);
        }
        if (result >= 0 && got != VK_SUCCESS) /* errors take precedence over VK_PIPELINE_COMPILE_REQUIRED */
            result = got;
        if (got != VK_SUCCESS && returns_early(call, i))
            break;
    }
    for (i++; i < call->count; i++)
        call->pipelines[i] = VK_NULL_HANDLE;
    return result;
}

static void keep_origin(const struct call *recorded, uint32_t i)
{
    struct layer_pipeline *record = LAYER_GET(recorded->dev, VkPipeline, recorded->pipelines[i]);
    const VkPipelineShaderStageCreateInfo *stages;
    uint32_t count = stages_of(recorded, i, &stages);

    if (record && !record->object.aliases && layer_stages_are_captured(flags_of(recorded, i), chain_of(recorded, i)))
        record->origin = layer_stages_origin(recorded->dev, count, stages);
}

/* ---- all devices ---- */

static void record(const struct call *call, VkResult result, bool any)
{
    uint32_t flags = result < 0 && !any ? LAP_PACKET_FAILED : 0;
    struct lap_enc *enc = layer_packet_begin(
        &call->dev->tables, call->graphics ? GEN_vkCreateGraphicsPipelines : GEN_vkCreateComputePipelines, flags);

    if (enc && call->graphics)
        gen_encode_vkCreateGraphicsPipelines(enc, call->dev->handle, call->cache, call->count, call->graphics,
                                             call->allocator, call->pipelines, result);
    else if (enc)
        gen_encode_vkCreateComputePipelines(enc, call->dev->handle, call->cache, call->count, call->compute,
                                            call->allocator, call->pipelines, result);
    if (enc)
        layer_packet_end();
    for (uint32_t i = 0; i < call->count && layer_is_recording(); i++) {
        if (call->graphics)
            layer_shader_access_of_graphics(call->dev, call->pipelines[i], &call->graphics[i]);
        else
            layer_shader_access_of_compute(call->dev, call->pipelines[i], &call->compute[i]);
        if (call->dev->code.kept)
            keep_origin(call, i);
    }
}

static VkResult created(const struct call *given, const struct call *recorded, VkResult result)
{
    bool any = false;
    for (uint32_t i = 0; given->pipelines && i < given->count; i++)
        if (given->pipelines[i])
            any |= LAYER_ADD(given->dev, VkPipeline, given->pipelines[i]) != NULL;
    record(recorded, result, any);
    return result;
}

static __attribute__((noinline)) VkResult create_kept(const struct call *call)
{
    struct kept kept = {.recorded = *call};
    VkResult result;

    lap_arena_init(&kept.arena, 0);
    if (!keep(call, &kept)) {
        layer_stop("out of memory");
        kept.recorded = *call;
        kept.unknown = NULL;
    }
    result = created(call, &kept.recorded, kept.unknown ? create_known(call, &kept) : create(call));
    lap_arena_finish(&kept.arena);
    return result;
}

static VkResult capture(const struct call *call)
{
    if (call->dev->code.kept && layer_is_recording())
        return create_kept(call);
    return created(call, call, create(call));
}

VKAPI_ATTR VkResult VKAPI_CALL capture_CreateGraphicsPipelines(VkDevice device, VkPipelineCache pipelineCache,
                                                               uint32_t createInfoCount,
                                                               const VkGraphicsPipelineCreateInfo *pCreateInfos,
                                                               const VkAllocationCallbacks *pAllocator,
                                                               VkPipeline *pPipelines)
{
    return capture(&(struct call){.dev = layer_device_of_VkDevice(device),
                                  .cache = pipelineCache,
                                  .count = createInfoCount,
                                  .allocator = pAllocator,
                                  .pipelines = pPipelines,
                                  .graphics = pCreateInfos});
}

VKAPI_ATTR VkResult VKAPI_CALL capture_CreateComputePipelines(VkDevice device, VkPipelineCache pipelineCache,
                                                              uint32_t createInfoCount,
                                                              const VkComputePipelineCreateInfo *pCreateInfos,
                                                              const VkAllocationCallbacks *pAllocator,
                                                              VkPipeline *pPipelines)
{
    return capture(&(struct call){.dev = layer_device_of_VkDevice(device),
                                  .cache = pipelineCache,
                                  .count = createInfoCount,
                                  .allocator = pAllocator,
                                  .pipelines = pPipelines,
                                  .compute = pCreateInfos});
}

/* ---- identifiers ---- */

void hook_after_GetShaderModuleIdentifierEXT(struct layer_device *dev, VkDevice device, VkShaderModule shaderModule,
                                             VkShaderModuleIdentifierEXT *pIdentifier)
{
    const struct layer_shader_module *module = LAYER_GET(dev, VkShaderModule, shaderModule);
    struct layer_origin *origin = module && layer_is_recording() ? layer_origin_of_code(module->code) : NULL;
    layer_code_note(dev, LAYER_CODE_MODULE_IDENTIFIER, pIdentifier->identifier, pIdentifier->identifierSize, origin);
    layer_origin_release(origin);
}

void hook_after_GetShaderModuleCreateInfoIdentifierEXT(struct layer_device *dev, VkDevice device,
                                                       const VkShaderModuleCreateInfo *pCreateInfo,
                                                       VkShaderModuleIdentifierEXT *pIdentifier)
{
    struct layer_code *code =
        layer_is_recording() ? layer_code_create(pCreateInfo->pCode, pCreateInfo->codeSize) : NULL;
    struct layer_origin *origin = layer_origin_of_code(code);
    layer_code_note(dev, LAYER_CODE_MODULE_IDENTIFIER, pIdentifier->identifier, pIdentifier->identifierSize, origin);
    layer_origin_release(origin);
    layer_code_release(code);
}

/* SPDX-License-Identifier: MIT */
#include "inspector/state/creation_facts.h"

#include <inttypes.h>
#include <string.h>
#include <xxhash.h>

#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_renamed.h"
#include "vulkan/chain.h"
#include "vulkan/walk.h"

enum { PIPELINES, PIPELINE_LAYOUTS, SET_LAYOUTS, VIEWS, FRAMEBUFFERS, RENDER_PASSES };

static void *alloc(struct creation_facts *facts, size_t count, size_t bytes)
{
    return lap_arena_zalloc(&facts->arena, count ? count : 1, bytes, 8);
}

static enum lap_status put(struct creation_facts *facts, int kind, uint64_t index, void *fact)
{
    if (!index)
        return LAP_OK; /* it was not made */
    if (index > UINT32_MAX)
        return lap_fail(LAP_ERROR_FORMAT, "an object has the number %" PRIu64, index);
    return fact && lap_map_put(&facts->maps[kind], index, fact, NULL) == LAP_OK ? LAP_OK
                                                                                : lap_no_memory("the facts of objects");
}

/* ---- hashes of creation data ---- */

static void mix(uint64_t *hash, const void *data, size_t bytes)
{
    *hash = XXH3_64bits_withSeed(data, bytes, *hash);
}

static void hash_value(void *user, const struct lap_place *place, const struct lap_value *value)
{
    uint64_t numbers[3] = {value->kind, value->u, (uint64_t)value->i};

    mix(user, numbers, sizeof numbers);
    mix(user, &value->f, sizeof value->f);
    if (value->kind == LAP_VALUE_STRING || value->kind == LAP_VALUE_BYTES)
        mix(user, value->data, value->bytes);
}

static bool hash_struct(void *user, const struct lap_place *place, uint32_t number)
{
    mix(user, &number, sizeof number);
    return true;
}

static bool hash_array(void *user, const struct lap_place *place, uint64_t count)
{
    mix(user, &count, sizeof count);
    return true;
}

static uint64_t hash_of(uint32_t struct_number, const void *data)
{
    uint64_t hash = 0;
    const struct lap_visitor visitor = {
        .begin_struct = hash_struct, .begin_array = hash_array, .value = hash_value, .user = &hash};

    lap_walk_struct(struct_number, data, &visitor);
    return hash;
}

/* ---- layouts ---- */

static bool is_dynamic(VkDescriptorType type)
{
    return type == VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER_DYNAMIC || type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC;
}

static enum lap_status see_set_layout(struct creation_facts *facts,
                                      const struct gen_args_vkCreateDescriptorSetLayout *args)
{
    const VkDescriptorSetLayoutCreateInfo *info = args->pCreateInfo;
    struct fact_set_layout *fact = alloc(facts, 1, sizeof *fact);

    if (!fact || !info || !args->pSetLayout)
        return fact ? LAP_OK : lap_no_memory("the facts of objects");
    fact->hash = hash_of(GEN_STRUCT_VkDescriptorSetLayoutCreateInfo, info);
    for (uint32_t i = 0; info->pBindings && i < info->bindingCount; i++)
        if (is_dynamic(info->pBindings[i].descriptorType))
            fact->dynamic_count += info->pBindings[i].descriptorCount;
    return put(facts, SET_LAYOUTS, gen_u64_VkDescriptorSetLayout(*args->pSetLayout), fact);
}

static uint64_t hash_of_push(const VkPipelineLayoutCreateInfo *info)
{
    VkPipelineLayoutCreateInfo only = *info;

    only.pNext = NULL;
    only.pSetLayouts = NULL;
    only.setLayoutCount = 0;
    return hash_of(GEN_STRUCT_VkPipelineLayoutCreateInfo, &only);
}

static enum lap_status see_pipeline_layout(struct creation_facts *facts,
                                           const struct gen_args_vkCreatePipelineLayout *args)
{
    const VkPipelineLayoutCreateInfo *info = args->pCreateInfo;
    struct fact_pipeline_layout *fact = alloc(facts, 1, sizeof *fact);
    struct fact_set_layout *sets;

    if (!fact || !info || !args->pPipelineLayout)
        return fact ? LAP_OK : lap_no_memory("the facts of objects");
    fact->push_hash = hash_of_push(info);
    fact->set_count = info->pSetLayouts ? info->setLayoutCount : 0;
    fact->sets = sets = alloc(facts, fact->set_count, sizeof *sets);
    for (uint32_t i = 0; sets && i < fact->set_count; i++) {
        const struct fact_set_layout *set =
            lap_map_get(&facts->maps[SET_LAYOUTS], gen_u64_VkDescriptorSetLayout(info->pSetLayouts[i]));
        if (set)
            sets[i] = *set;
    }
    return sets ? put(facts, PIPELINE_LAYOUTS, gen_u64_VkPipelineLayout(*args->pPipelineLayout), fact)
                : lap_no_memory("the facts of objects");
}

bool facts_are_compatible(const struct creation_facts *facts, uint64_t layout, uint64_t other, uint32_t set)
{
    const struct fact_pipeline_layout *a = fact_of_pipeline_layout(facts, layout),
                                      *b = fact_of_pipeline_layout(facts, other);

    if (layout == other && layout)
        return true;
    if (!a || !b || a->push_hash != b->push_hash || set >= a->set_count || set >= b->set_count)
        return false;
    for (uint32_t i = 0; i <= set; i++)
        if (a->sets[i].hash != b->sets[i].hash)
            return false;
    return true;
}

/* ---- pipelines ---- */

static enum lap_status see_pipeline(struct creation_facts *facts, VkPipeline pipeline, VkPipelineLayout layout,
                                    const VkPipelineDynamicStateCreateInfo *dynamic,
                                    const VkPipelineLibraryCreateInfoKHR *libraries,
                                    const VkPipelineInputAssemblyStateCreateInfo *assembly)
{
    struct fact_pipeline *fact = alloc(facts, 1, sizeof *fact);

    if (!fact)
        return lap_no_memory("the facts of objects");
    fact->layout = gen_u64_VkPipelineLayout(layout);
    fact->topology = assembly ? assembly->topology : VK_PRIMITIVE_TOPOLOGY_MAX_ENUM;
    for (uint32_t i = 0; dynamic && dynamic->pDynamicStates && i < dynamic->dynamicStateCount; i++)
        dynamic_mask_add(&fact->dynamic, dynamic_states_of(&facts->states, dynamic->pDynamicStates[i]));
    for (uint32_t i = 0; libraries && libraries->pLibraries && i < libraries->libraryCount; i++) {
        const struct fact_pipeline *library = fact_of_pipeline(facts, gen_u64_VkPipeline(libraries->pLibraries[i]));
        for (unsigned k = 0; library && k < sizeof fact->dynamic.words / sizeof *fact->dynamic.words; k++)
            fact->dynamic.words[k] |= library->dynamic.words[k];
        if (library && !assembly && library->topology != VK_PRIMITIVE_TOPOLOGY_MAX_ENUM)
            fact->topology = library->topology;
    }
    return put(facts, PIPELINES, gen_u64_VkPipeline(pipeline), fact);
}

static const VkPipelineLibraryCreateInfoKHR *libraries_of(const void *chain)
{
    for (const VkBaseInStructure *c = chain; c; c = c->pNext)
        if (c->sType == VK_STRUCTURE_TYPE_PIPELINE_LIBRARY_CREATE_INFO_KHR)
            return (const void *)c;
    return NULL;
}

static enum lap_status see_graphics(struct creation_facts *facts, const struct gen_args_vkCreateGraphicsPipelines *args)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; args->pCreateInfos && args->pPipelines && i < args->createInfoCount && status == LAP_OK; i++) {
        const VkGraphicsPipelineCreateInfo *info = &args->pCreateInfos[i];
        status = see_pipeline(facts, args->pPipelines[i], info->layout, info->pDynamicState, libraries_of(info->pNext),
                              info->pInputAssemblyState);
    }
    return status;
}

static enum lap_status see_compute(struct creation_facts *facts, const struct gen_args_vkCreateComputePipelines *args)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; args->pCreateInfos && args->pPipelines && i < args->createInfoCount && status == LAP_OK; i++)
        status = see_pipeline(facts, args->pPipelines[i], args->pCreateInfos[i].layout, NULL, NULL, NULL);
    return status;
}

static enum lap_status see_rays(struct creation_facts *facts,
                                const struct gen_args_vkCreateRayTracingPipelinesKHR *args)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; args->pCreateInfos && args->pPipelines && i < args->createInfoCount && status == LAP_OK; i++)
        status = see_pipeline(facts, args->pPipelines[i], args->pCreateInfos[i].layout,
                              args->pCreateInfos[i].pDynamicState, args->pCreateInfos[i].pLibraryInfo, NULL);
    return status;
}

static enum lap_status see_rays_nv(struct creation_facts *facts,
                                   const struct gen_args_vkCreateRayTracingPipelinesNV *args)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; args->pCreateInfos && args->pPipelines && i < args->createInfoCount && status == LAP_OK; i++)
        status = see_pipeline(facts, args->pPipelines[i], args->pCreateInfos[i].layout, NULL, NULL, NULL);
    return status;
}

/* ---- attachments ---- */

static enum lap_status see_view(struct creation_facts *facts, const struct gen_args_vkCreateImageView *args)
{
    struct fact_view *fact = alloc(facts, 1, sizeof *fact);

    if (!fact || !args->pCreateInfo || !args->pView)
        return fact ? LAP_OK : lap_no_memory("the facts of objects");
    *fact = (struct fact_view){gen_u64_VkImage(args->pCreateInfo->image), args->pCreateInfo->format,
                               args->pCreateInfo->subresourceRange};
    return put(facts, VIEWS, gen_u64_VkImageView(*args->pView), fact);
}

static enum lap_status see_framebuffer(struct creation_facts *facts, const struct gen_args_vkCreateFramebuffer *args)
{
    const VkFramebufferCreateInfo *info = args->pCreateInfo;
    struct fact_framebuffer *fact = alloc(facts, 1, sizeof *fact);
    uint64_t *views;

    if (!fact || !info || !args->pFramebuffer)
        return fact ? LAP_OK : lap_no_memory("the facts of objects");
    fact->view_count = info->pAttachments ? info->attachmentCount : 0;
    fact->width = info->width;
    fact->height = info->height;
    fact->layers = info->layers;
    fact->views = views = alloc(facts, fact->view_count, sizeof *views);
    for (uint32_t i = 0; views && i < fact->view_count; i++)
        views[i] = gen_u64_VkImageView(info->pAttachments[i]);
    return views ? put(facts, FRAMEBUFFERS, gen_u64_VkFramebuffer(*args->pFramebuffer), fact)
                 : lap_no_memory("the facts of objects");
}

/* VkSubpassDescription and VkSubpassDescription2 have the same members. NULL without memory. */
#define COPY_ATTACHMENTS(name, type)                                                                                   \
    static const uint32_t *name(struct creation_facts *facts, const type *references, uint32_t count)                  \
    {                                                                                                                  \
        uint32_t *numbers = alloc(facts, count, sizeof *numbers);                                                      \
        for (uint32_t i = 0; numbers && i < count; i++)                                                                \
            numbers[i] = references[i].attachment;                                                                     \
        return numbers;                                                                                                \
    }
COPY_ATTACHMENTS(copy_references, VkAttachmentReference)
COPY_ATTACHMENTS(copy_references2, VkAttachmentReference2)

static VkImageLayout stencil_layout(const VkAttachmentDescription *attachment)
{
    return attachment->finalLayout;
}

static VkImageLayout stencil_layout2(const VkAttachmentDescription2 *attachment)
{
    const VkAttachmentDescriptionStencilLayout *stencil =
        lap_chain_find(attachment->pNext, VK_STRUCTURE_TYPE_ATTACHMENT_DESCRIPTION_STENCIL_LAYOUT);

    return stencil ? stencil->stencilFinalLayout : attachment->finalLayout;
}

static uint32_t view_mask(const VkRenderPassCreateInfo *info, uint32_t subpass)
{
    const VkRenderPassMultiviewCreateInfo *views =
        lap_chain_find(info->pNext, VK_STRUCTURE_TYPE_RENDER_PASS_MULTIVIEW_CREATE_INFO);

    return views && views->pViewMasks && subpass < views->subpassCount ? views->pViewMasks[subpass] : 0;
}

static uint32_t view_mask2(const VkRenderPassCreateInfo2 *info, uint32_t subpass)
{
    return info->pSubpasses[subpass].viewMask;
}

#define SEE_RENDER_PASS(name, args_type, info_type, copy, stencil, views, inside_of)                                   \
    static enum lap_status name(struct creation_facts *facts, const struct args_type *args)                            \
    {                                                                                                                  \
        const info_type *info = args->pCreateInfo;                                                                     \
        struct fact_render_pass *fact = alloc(facts, 1, sizeof *fact);                                                 \
        struct fact_subpass *subpasses;                                                                                \
        VkFormat *formats;                                                                                             \
        VkImageLayout *layouts, *stencil_layouts;                                                                      \
        VkAttachmentLoadOp *loads, *stencil_loads;                                                                     \
        struct lap_pass_layouts *inside;                                                                               \
        if (!fact || !info || !args->pRenderPass)                                                                      \
            return fact ? LAP_OK : lap_no_memory("the facts of objects");                                              \
        fact->attachment_count = info->pAttachments ? info->attachmentCount : 0;                                       \
        fact->subpass_count = info->pSubpasses ? info->subpassCount : 0;                                               \
        fact->formats = formats = alloc(facts, fact->attachment_count, sizeof *formats);                               \
        fact->subpasses = subpasses = alloc(facts, fact->subpass_count, sizeof *subpasses);                            \
        fact->layouts = layouts = alloc(facts, fact->attachment_count, sizeof *layouts);                               \
        fact->stencil_layouts = stencil_layouts = alloc(facts, fact->attachment_count, sizeof *layouts);               \
        fact->inside = inside = alloc(facts, fact->attachment_count, sizeof *inside);                                  \
        fact->loads = loads = alloc(facts, fact->attachment_count, sizeof *loads);                                     \
        fact->stencil_loads = stencil_loads = alloc(facts, fact->attachment_count, sizeof *loads);                     \
        if (!formats || !subpasses || !layouts || !stencil_layouts || !inside || !loads || !stencil_loads)             \
            return lap_no_memory("the facts of objects");                                                              \
        for (uint32_t i = 0; i < fact->attachment_count; i++) {                                                        \
            formats[i] = info->pAttachments[i].format;                                                                 \
            layouts[i] = info->pAttachments[i].finalLayout;                                                            \
            stencil_layouts[i] = stencil(&info->pAttachments[i]);                                                      \
            inside[i] = inside_of(info, i);                                                                            \
            loads[i] = info->pAttachments[i].loadOp;                                                                   \
            stencil_loads[i] = info->pAttachments[i].stencilLoadOp;                                                    \
        }                                                                                                              \
        for (uint32_t i = 0; i < fact->subpass_count; i++) {                                                           \
            const __typeof__(*info->pSubpasses) *from = &info->pSubpasses[i];                                          \
            struct fact_subpass *to = &subpasses[i];                                                                   \
            to->color_count = from->pColorAttachments ? from->colorAttachmentCount : 0;                                \
            to->input_count = from->pInputAttachments ? from->inputAttachmentCount : 0;                                \
            to->colors = copy(facts, from->pColorAttachments, to->color_count);                                        \
            to->inputs = copy(facts, from->pInputAttachments, to->input_count);                                        \
            to->depth =                                                                                                \
                from->pDepthStencilAttachment ? from->pDepthStencilAttachment->attachment : VK_ATTACHMENT_UNUSED;      \
            to->view_mask = views(info, i);                                                                            \
            if (from->pResolveAttachments)                                                                             \
                to->resolves = copy(facts, from->pResolveAttachments, to->color_count);                                \
            if (!to->colors || !to->inputs || (from->pResolveAttachments && !to->resolves))                            \
                return lap_no_memory("the facts of objects");                                                          \
        }                                                                                                              \
        return put(facts, RENDER_PASSES, gen_u64_VkRenderPass(*args->pRenderPass), fact);                              \
    }
SEE_RENDER_PASS(see_render_pass, gen_args_vkCreateRenderPass, VkRenderPassCreateInfo, copy_references, stencil_layout,
                view_mask, lap_pass_layouts_inside)
SEE_RENDER_PASS(see_render_pass2, gen_args_vkCreateRenderPass2, VkRenderPassCreateInfo2, copy_references2,
                stencil_layout2, view_mask2, lap_pass_layouts_inside2)

/* ---- the whole ---- */

enum lap_status creation_facts_see(struct creation_facts *facts, const struct trace_call *call)
{
    switch (call->command) {
    case GEN_vkCreateDescriptorSetLayout:
        return see_set_layout(facts, call->args);
    case GEN_vkCreatePipelineLayout:
        return see_pipeline_layout(facts, call->args);
    case GEN_vkCreateGraphicsPipelines:
        return see_graphics(facts, call->args);
    case GEN_vkCreateComputePipelines:
        return see_compute(facts, call->args);
    case GEN_vkCreateRayTracingPipelinesKHR:
        return see_rays(facts, call->args);
    case GEN_vkCreateRayTracingPipelinesNV:
        return see_rays_nv(facts, call->args);
    case GEN_vkCreateImageView:
        return see_view(facts, call->args);
    case GEN_vkCreateFramebuffer:
        return see_framebuffer(facts, call->args);
    case GEN_vkCreateRenderPass:
        return see_render_pass(facts, call->args);
    case GEN_vkCreateRenderPass2:
        return see_render_pass2(facts, call->args);
    default:
        return LAP_OK;
    }
}

void creation_facts_init(struct creation_facts *facts)
{
    dynamic_states_init(&facts->states);
    for (unsigned i = 0; i < sizeof facts->maps / sizeof *facts->maps; i++)
        lap_map_init(&facts->maps[i]);
    lap_arena_init(&facts->arena, 0);
}

void creation_facts_finish(struct creation_facts *facts)
{
    for (unsigned i = 0; i < sizeof facts->maps / sizeof *facts->maps; i++)
        lap_map_finish(&facts->maps[i]);
    lap_arena_finish(&facts->arena);
}

const struct fact_pipeline *fact_of_pipeline(const struct creation_facts *facts, uint64_t pipeline)
{
    return lap_map_get(&facts->maps[PIPELINES], pipeline);
}

const struct fact_pipeline_layout *fact_of_pipeline_layout(const struct creation_facts *facts, uint64_t layout)
{
    return lap_map_get(&facts->maps[PIPELINE_LAYOUTS], layout);
}

const struct fact_view *fact_of_view(const struct creation_facts *facts, uint64_t view)
{
    return lap_map_get(&facts->maps[VIEWS], view);
}

const struct fact_framebuffer *fact_of_framebuffer(const struct creation_facts *facts, uint64_t framebuffer)
{
    return lap_map_get(&facts->maps[FRAMEBUFFERS], framebuffer);
}

const struct fact_render_pass *fact_of_render_pass(const struct creation_facts *facts, uint64_t render_pass)
{
    return lap_map_get(&facts->maps[RENDER_PASSES], render_pass);
}

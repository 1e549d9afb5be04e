/* SPDX-License-Identifier: MIT */
#include "inspector/state/use_walk.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_effects.h"
#include "gen_reflect.h"
#include "inspector/state/bound_walk.h"
#include "vulkan/walk.h"

#define LARGE_ARRAY 64u /* descriptors of a binding */
#define MOST_PUSHED 4096u
#define MOST_NESTED 5u /* structures in structures; deeper ones are taken for some that name objects */

/* What a descriptor of a set, or of a push, shows to be wanted. */
struct match {
    struct reached reached;
    struct use_object object;
    uint32_t more;
};

struct matches {
    struct match *items;
    size_t count, capacity;
};

struct set_cache {
    bool known; /* as it is now */
    struct matches matches;
    struct set_cache *next;
};

struct command_kind {
    bool names; /* it may name objects */
    bool binds; /* only commands that find it bound use what it names */
    bool draws_indexed, draws_mesh, copies, clears, indirect;
    uint8_t points; /* a bit for each bind point that it finds */
    VkShaderStageFlags stages;
};

struct naming { /* a call, or a command, that is being walked through */
    struct walker *walker;
    struct use use;
    const void *args;
    const struct gen_member *first; /* parameter */
    bool in_block;
    uint8_t effect;           /* enum gen_does, or enum gen_objects */
    unsigned barrier;         /* how many structures up to a barrier */
    VkImageLayout layouts[2]; /* the old one and the new one of this barrier, which stand in front of its image */
    uint64_t element;         /* of the array of parameters that the walk is in; UINT64_MAX: none */
    enum lap_status status;
};

struct name {
    struct use_object object;
    uint64_t element, index; /* index: in its own array */
};

struct walker {
    const struct use_walk_options *options;
    const struct use_visitor *visitor;
    uint32_t shader_type; /* of VkShaderEXT, which older registries lack */
    struct command_kind kinds[GEN_COMMAND_COUNT];
    struct lap_map sets; /* struct set_cache */
    struct set_cache *caches;
    struct matches pushed;
    struct lap_arena arena, pass_arena;
    struct { /* whose attachments are in pass_arena */
        uint64_t ticket;
        struct position position;
        uint32_t command, subpass;
        struct attachment *items;
        size_t count;
    } pass;
    struct name *named, *made; /* by a call that makes objects */
    size_t named_count, named_capacity, made_count, made_capacity;
    struct lap_map swapchain_images; /* [swapchain]: struct images */
    struct lap_arena kept;
};

struct images { /* of a swapchain */
    uint32_t count;
    uint64_t items[];
};

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static enum lap_status give(const struct walker *w, const struct use *use)
{
    return w->visitor->use(w->visitor->user, use);
}

static bool is_wanted(const struct walker *w, uint32_t type, uint64_t index)
{
    return index && w->visitor->wants(w->visitor->user, (struct use_object){type, index});
}

/* ---- commands ---- */

static bool may_name(const struct gen_member *members, uint32_t count, unsigned depth)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct gen_member *m = &members[i];
        bool is_struct = m->element == GEN_ELEMENT_STRUCT && m->shape != GEN_SHAPE_PNEXT;
        if (m->shape == GEN_SHAPE_SKIP)
            continue;
        if (m->shape == GEN_SHAPE_PNEXT || m->element == GEN_ELEMENT_HANDLE || m->element == GEN_ELEMENT_OBJECT ||
            (is_struct && (!depth || may_name(gen_struct_infos[m->type].members, gen_struct_infos[m->type].member_count,
                                              depth - 1))))
            return true;
    }
    return false;
}

/* What bound.h follows. */
static bool binds(const char *name)
{
    static const char *const names[] = {"vkCmdBindPipeline",       "vkCmdBindShaders",
                                        "vkCmdBindDescriptorSets", "vkCmdBindVertexBuffers",
                                        "vkCmdBindIndexBuffer",    "vkCmdBindTransformFeedbackBuffers",
                                        "vkCmdPushDescriptorSet"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (begins(name, names[i]))
            return true;
    return false;
}

static struct command_kind kind_of(uint32_t command)
{
    const struct gen_command_info *info = &gen_command_infos[command];
    const char *name = gen_command_names[command];
    const VkShaderStageFlags compute = VK_SHADER_STAGE_COMPUTE_BIT;
    struct command_kind kind = {.names = info->member_count &&
                                         may_name(info->members + 1, info->member_count - 1u, MOST_NESTED),
                                .binds = binds(name),
                                .draws_indexed = strstr(name, "Indexed") != NULL,
                                .draws_mesh = strstr(name, "MeshTasks") != NULL,
                                .copies = begins(name, "vkCmdCopy") || begins(name, "vkCmdBlit") ||
                                          begins(name, "vkCmdResolve") || begins(name, "vkCopy"),
                                .clears = begins(name, "vkCmdClear"),
                                .indirect = strstr(name, "Indirect") != NULL};

    if (begins(name, "vkCmdDraw")) {
        kind.points = 1u << BOUND_GRAPHICS;
        kind.stages = ~compute;
    } else if (begins(name, "vkCmdDispatch")) {
        kind.points = 1u << BOUND_COMPUTE;
        kind.stages = compute;
    } else if (begins(name, "vkCmdTraceRays")) {
        kind.points = 1u << BOUND_RAYS;
    } else if (begins(name, "vkCmdExecuteGenerated")) {
        kind.points = 1u << BOUND_GRAPHICS | 1u << BOUND_COMPUTE | 1u << BOUND_RAYS;
        kind.stages = UINT32_MAX;
        kind.draws_indexed = true;
    } else if (begins(name, "vkCmdSubpassShading")) {
        kind.points = 1u << BOUND_OTHER;
    }
    return kind;
}

/* ---- what is named ---- */

static bool has_contents(uint32_t type)
{
    return gen_handle_contents[type] != GEN_CONTENTS_NONE;
}

static enum use_access access_of(const struct naming *n, const struct gen_member *member, uint32_t type)
{
    bool reads = member->flags & GEN_MEMBER_READ || begins(gen_member_name(member), "src");
    bool is_destination = begins(gen_member_name(member), "dst");
    const struct command_kind *kind = &n->walker->kinds[n->use.command];

    if (!has_contents(type) || n->barrier)
        return USE_NAMED;
    if (!n->in_block)
        switch (n->effect) {
        case GEN_EFFECT_WRITES:
        case GEN_EFFECT_SIGNALS:
            return USE_WRITE;
        case GEN_EFFECT_WAITS:
            return USE_READ;
        case GEN_EFFECT_UNKNOWN: /* what it copies is in packets of the layer's own, too */
            if (!kind->copies)
                return USE_NAMED;
            __attribute__((fallthrough));
        case GEN_EFFECT_ACCESSES:
            return reads ? USE_READ : is_destination ? USE_WRITE : USE_READ_WRITE;
        default:
            return n->use.command == GEN_vkGetQueryPoolResults ? USE_READ : USE_NAMED;
        }
    if (n->effect == GEN_OBJECTS_NAMES || kind->binds)
        return USE_NAMED;
    if (n->effect == GEN_OBJECTS_READS || reads)
        return USE_READ;
    return is_destination || kind->clears ? USE_WRITE : USE_READ_WRITE;
}

static enum use_kind use_kind_of(const struct naming *n, const struct gen_member *member, enum use_access access)
{
    const struct command_kind *kind = &n->walker->kinds[n->use.command];

    if (n->barrier)
        return USE_BARRIER;
    if (kind->copies && access == USE_READ && begins(gen_member_name(member), "src"))
        return USE_COPY_SOURCE;
    if (kind->copies && access == USE_WRITE)
        return USE_COPY_DESTINATION;
    if (kind->clears && access == USE_WRITE)
        return USE_CLEAR;
    if (n->in_block && kind->points && kind->indirect && access == USE_READ)
        return USE_INDIRECT;
    return USE_MEMBER;
}

static bool begin_struct(void *user, const struct lap_place *place, uint32_t struct_number)
{
    struct naming *n = user;

    if (place->owner == n->args && place->in_array && place->member->shape != GEN_SHAPE_PNEXT)
        n->element = place->index;
    if (n->barrier || strstr(gen_struct_names[struct_number], "MemoryBarrier"))
        n->barrier++;
    return true;
}

static void end_struct(void *user, const struct lap_place *place, uint32_t struct_number)
{
    struct naming *n = user;

    (void)struct_number;
    n->barrier -= n->barrier > 0;
    if (place->owner == n->args)
        n->element = UINT64_MAX;
}

/* Of a call that makes objects. */
static void keep_name(struct naming *n, const struct lap_place *place, const struct lap_value *value)
{
    struct walker *w = n->walker;
    bool is_made = place->member->flags & GEN_MEMBER_CREATED;
    struct name name = {
        .object = {value->type, value->u}, .element = n->element, .index = place->in_array ? place->index : UINT64_MAX};

    if (!is_made && place->member->flags & GEN_MEMBER_OUTPUT)
        return;
    if (is_made && !lap_array_grow(&w->made, sizeof *w->made, &w->made_capacity, w->made_count + 1))
        n->status = lap_no_memory("the uses of objects");
    else if (is_made)
        w->made[w->made_count++] = name;
    else if (!lap_array_grow(&w->named, sizeof *w->named, &w->named_capacity, w->named_count + 1))
        n->status = lap_no_memory("the uses of objects");
    else
        w->named[w->named_count++] = name;
}

static void see_layout(struct naming *n, const char *member, VkImageLayout layout)
{
    if (strcmp(member, "oldLayout") == 0)
        n->layouts[0] = layout;
    else if (strcmp(member, "newLayout") == 0)
        n->layouts[1] = layout;
}

static void see_value(void *user, const struct lap_place *place, const struct lap_value *value)
{
    struct naming *n = user;
    bool is_first = place->owner == n->args && place->member == n->first;
    struct use use = n->use;

    if (n->barrier && value->kind == LAP_VALUE_ENUM)
        see_layout(n, gen_member_name(place->member), (VkImageLayout)value->i);
    if (value->kind != LAP_VALUE_HANDLE || !value->u || n->status != LAP_OK)
        return;
    if (is_first && (n->in_block || value->type == GEN_HANDLE_VkDevice) &&
        !(place->member->flags & GEN_MEMBER_DESTROYED))
        return;
    if (!n->in_block && n->effect == GEN_EFFECT_MAKES)
        keep_name(n, place, value);
    if (!n->use.ticket || n->status != LAP_OK || !is_wanted(n->walker, value->type, value->u))
        return;
    use.object = (struct use_object){value->type, value->u};
    use.access = access_of(n, place->member, value->type);
    if (use.kind == USE_VIEW && gen_handle_contents[value->type] != GEN_CONTENTS_HELD)
        use.kind = USE_MEMBER; /* the view itself */
    if (use.kind == USE_MEMBER)
        use.kind = use_kind_of(n, place->member, use.access);
    use.member = gen_member_name(place->member);
    use.layouts = use.kind == USE_BARRIER && value->type == GEN_HANDLE_VkImage ? n->layouts : NULL;
    n->status = give(n->walker, &use);
}

static enum lap_status walk_names(struct naming *n)
{
    const struct lap_visitor visitor = {
        .begin_struct = begin_struct, .end_struct = end_struct, .value = see_value, .user = n};

    n->first = gen_command_infos[n->use.command].members;
    n->element = UINT64_MAX;
    lap_walk_command(n->use.command, n->args, false, &visitor);
    return n->status;
}

/* ---- calls ---- */

/* Whether what is named there is named for this object: the arrays of creation data, and of set layouts, have an
 * element for each one. */
static bool is_for(const struct walker *w, const struct name *name, size_t made)
{
    if (w->made_count == 1)
        return true;
    if (name->element != UINT64_MAX)
        return name->element == made;
    return name->index == UINT64_MAX || name->object.type != GEN_HANDLE_VkDescriptorSetLayout || name->index == made;
}

static enum lap_status tell_made(struct walker *w)
{
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < w->made_count && status == LAP_OK; i++)
        for (size_t k = 0; k < w->named_count && status == LAP_OK; k++)
            if (is_for(w, &w->named[k], i))
                status = w->visitor->made(w->visitor->user, w->made[i].object, w->named[k].object);
    return status;
}

static enum lap_status tell_bound(const struct walker *w, uint32_t type, uint64_t index, uint64_t memory)
{
    const struct use_object of = {GEN_HANDLE_VkDeviceMemory, memory};

    return index && memory ? w->visitor->made(w->visitor->user, (struct use_object){type, index}, of) : LAP_OK;
}

static void forget_set(struct walker *w, uint64_t set)
{
    struct set_cache *cache = lap_map_get(&w->sets, set);
    if (cache)
        cache->known = false;
}

static void forget_written(struct walker *w, const struct gen_args_vkUpdateDescriptorSets *args)
{
    for (uint32_t i = 0; args->pDescriptorWrites && i < args->descriptorWriteCount; i++)
        forget_set(w, gen_u64_VkDescriptorSet(args->pDescriptorWrites[i].dstSet));
    for (uint32_t i = 0; args->pDescriptorCopies && i < args->descriptorCopyCount; i++)
        forget_set(w, gen_u64_VkDescriptorSet(args->pDescriptorCopies[i].dstSet));
}

static enum lap_status see_swapchain(struct walker *w, const struct gen_args_vkGetSwapchainImagesKHR *args)
{
    uint32_t count = args->pSwapchainImageCount && args->pSwapchainImages ? *args->pSwapchainImageCount : 0;
    struct images *images;

    if (!count)
        return LAP_OK;
    images = lap_arena_alloc(&w->kept, sizeof *images + count * sizeof *images->items, _Alignof(struct images));
    if (!images || lap_map_put(&w->swapchain_images, gen_u64_VkSwapchainKHR(args->swapchain), images, NULL) != LAP_OK)
        return lap_no_memory("the uses of objects");
    images->count = count;
    for (uint32_t i = 0; i < count; i++)
        images->items[i] = gen_u64_VkImage(args->pSwapchainImages[i]);
    return LAP_OK;
}

static enum lap_status tell_presented(struct walker *w, const struct trace_call *call)
{
    const VkPresentInfoKHR *info = ((const struct gen_args_vkQueuePresentKHR *)call->args)->pPresentInfo;
    uint32_t count = info && info->pSwapchains && info->pImageIndices ? info->swapchainCount : 0;
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < count && status == LAP_OK; i++) {
        const struct images *images = lap_map_get(&w->swapchain_images, gen_u64_VkSwapchainKHR(info->pSwapchains[i]));
        uint32_t number = info->pImageIndices[i];
        if (images && number < images->count && is_wanted(w, GEN_HANDLE_VkImage, images->items[number]))
            status = give(w, &(struct use){.object = {GEN_HANDLE_VkImage, images->items[number]},
                                           .ticket = call->packet->ticket,
                                           .command = call->command,
                                           .access = USE_READ,
                                           .kind = USE_PRESENT});
    }
    return status;
}

static enum lap_status see_effects(struct walker *w, const struct trace_call *call, bool is_asked)
{
    switch (call->command) {
    case GEN_lapilliBindBuffer: {
        const struct gen_args_lapilliBindBuffer *a = call->args;
        return tell_bound(w, GEN_HANDLE_VkBuffer, gen_u64_VkBuffer(a->buffer), gen_u64_VkDeviceMemory(a->memory));
    }
    case GEN_lapilliBindImage: {
        const struct gen_args_lapilliBindImage *a = call->args;
        return tell_bound(w, GEN_HANDLE_VkImage, gen_u64_VkImage(a->image), gen_u64_VkDeviceMemory(a->memory));
    }
    case GEN_vkUpdateDescriptorSets:
        forget_written(w, call->args);
        return LAP_OK;
    case GEN_vkGetSwapchainImagesKHR:
        return see_swapchain(w, call->args);
    case GEN_vkQueuePresentKHR:
        return is_asked ? tell_presented(w, call) : LAP_OK;
    default:
        return LAP_OK;
    }
}

/* How a call as a whole uses what it names. */
static enum use_kind kind_of_call(uint32_t command)
{
    const char *name = gen_command_names[command];

    if (command == GEN_vkCreateImageView || command == GEN_vkCreateBufferView)
        return USE_VIEW;
    return begins(name, "lapilliBind") || begins(name, "vkBindBufferMemory") || begins(name, "vkBindImageMemory")
               ? USE_BOUND_MEMORY
               : USE_MEMBER;
}

static enum lap_status see_call(void *user, const struct trace_call *call)
{
    struct walker *w = user;
    const struct use_walk_options *options = w->options;
    uint64_t frame = call->packet->frame + 1;
    bool is_asked = options->at ? options->at->count == POSITION_FRAME && options->at->numbers[0] == frame
                                : frame >= options->first_frame && frame <= options->last_frame;
    struct naming naming = {.walker = w,
                            .use = {.ticket = is_asked ? call->packet->ticket : 0,
                                    .command = call->command,
                                    .kind = kind_of_call(call->command)},
                            .args = call->args,
                            .effect = gen_effects[call->command].does};
    enum lap_status status = LAP_OK;

    w->named_count = w->made_count = 0;
    if (naming.effect != GEN_EFFECT_CHECKS && (is_asked || naming.effect == GEN_EFFECT_MAKES))
        status = walk_names(&naming);
    if (status == LAP_OK && w->made_count)
        status = tell_made(w);
    if (status == LAP_OK)
        status = see_effects(w, call, is_asked);
    return status == LAP_OK && options->call ? options->call(w->visitor->user, call) : status;
}

/* ---- descriptors ---- */

struct collect {
    struct walker *walker;
    const struct descriptor_set *set; /* NULL: of a push */
    struct matches *into;
    uint32_t number; /* of the set */
};

static bool is_large(const struct collect *c, const struct reached *reached)
{
    const struct lap_set_layout *layout = c->set ? descriptor_set_layout(c->set) : NULL;
    uint32_t slots = c->set ? descriptor_set_slots(c->set) : 0;

    for (uint32_t i = 0; layout && !reached->alone && !c->walker->options->once && i < layout->binding_count; i++) {
        const struct lap_set_binding *b = &layout->bindings[i];
        if (b->binding == reached->binding)
            return (b->first + b->count < slots ? b->count : slots - b->first) > LARGE_ARRAY;
    }
    return false;
}

/* What a push has written is gone where a later one writes. */
static void forget_pushed(struct matches *matches, const struct reached *reached)
{
    size_t kept = 0;

    for (size_t i = 0; i < matches->count; i++)
        if (matches->items[i].reached.binding != reached->binding ||
            matches->items[i].reached.element != reached->element)
            matches->items[kept++] = matches->items[i];
    matches->count = kept;
}

static enum lap_status add_match(struct collect *c, const struct reached *reached, uint32_t type, uint64_t index)
{
    struct matches *to = c->into;
    struct match *last = to->count ? &to->items[to->count - 1] : NULL;

    if (!is_wanted(c->walker, type, index))
        return LAP_OK;
    if (last && last->reached.binding == reached->binding && is_large(c, reached)) {
        last->more++;
        return LAP_OK;
    }
    if (reached->pushed && to->count >= MOST_PUSHED)
        return lap_fail(LAP_ERROR_LIMIT, "a command finds more than %u pushed descriptors", MOST_PUSHED);
    if (!lap_array_grow(&to->items, sizeof *to->items, &to->capacity, to->count + 1))
        return lap_no_memory("the uses of objects");
    to->items[to->count++] = (struct match){.reached = *reached, .object = {type, index}};
    return LAP_OK;
}

static enum lap_status collect_one(void *user, const struct reached *reached)
{
    struct collect *c = user;
    const struct descriptor *d = &reached->descriptor;
    enum lap_status status;

    if (reached->pushed)
        forget_pushed(c->into, reached);
    status = add_match(c, reached, d->object_type, d->object);

    return status == LAP_OK ? add_match(c, reached, GEN_HANDLE_VkSampler, d->sampler) : status;
}

static bool wants_set(void *user, uint32_t set, uint32_t binding)
{
    (void)binding;
    return set == ((const struct collect *)user)->number;
}

static enum lap_status collect_set(struct walker *w, const struct bound_visit *visit, enum bound_point point,
                                   uint32_t number, struct matches *into)
{
    const struct bound_set *bound = &visit->bound->points[point].sets[number];
    const struct descriptor_set *set = bound->kind == BOUND_SET ? descriptors_of(visit->descriptors, bound->set) : NULL;
    struct collect collect = {.walker = w, .set = set, .into = into, .number = number};

    into->count = 0;
    lap_arena_reset(&w->arena);
    return reached_each(visit->bound, visit->descriptors, point, &w->arena, wants_set, collect_one, &collect);
}

/* *out_fresh: it has changed since it was looked at. */
static enum lap_status look_at_set(struct walker *w, const struct bound_visit *visit, enum bound_point point,
                                   uint32_t number, const struct matches **out, bool *out_fresh)
{
    uint64_t set = visit->bound->points[point].sets[number].set;
    struct set_cache *cache = lap_map_get(&w->sets, set);
    enum lap_status status = LAP_OK;

    if (!cache) {
        cache = calloc(1, sizeof *cache);
        if (!cache)
            return lap_no_memory("the uses of objects");
        cache->next = w->caches;
        w->caches = cache;
        if (lap_map_put(&w->sets, set, cache, NULL) != LAP_OK)
            return lap_no_memory("the uses of objects");
    }
    *out_fresh = !cache->known;
    if (*out_fresh)
        status = collect_set(w, visit, point, number, &cache->matches);
    cache->known = true;
    *out = &cache->matches;
    return status;
}

static bool is_storage(VkDescriptorType type)
{
    return type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER || type == VK_DESCRIPTOR_TYPE_STORAGE_BUFFER_DYNAMIC ||
           type == VK_DESCRIPTOR_TYPE_STORAGE_IMAGE || type == VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
}

static enum lap_status tell_descriptors(const struct walker *w, struct use use, const struct matches *matches,
                                        uint64_t set)
{
    enum lap_status status = LAP_OK;

    use.kind = USE_DESCRIPTOR;
    use.set = set;
    for (size_t i = 0; i < matches->count && status == LAP_OK; i++) {
        const struct match *m = &matches->items[i];
        use.object = m->object;
        use.descriptor = &m->reached;
        use.more = m->more;
        use.access = !has_contents(m->object.type)            ? USE_NAMED
                     : is_storage(m->reached.descriptor.type) ? USE_READ_WRITE
                                                              : USE_READ;
        status = give(w, &use);
    }
    return status;
}

/* ---- what is bound ---- */

static enum lap_status tell(const struct walker *w, struct use use, enum use_kind kind, enum use_access access,
                            uint32_t type, uint64_t index, uint32_t number)
{
    if (!is_wanted(w, type, index))
        return LAP_OK;
    use.kind = kind;
    use.access = access;
    use.object = (struct use_object){type, index};
    use.number = number;
    return give(w, &use);
}

static enum lap_status tell_set(struct walker *w, const struct bound_visit *visit, struct use use,
                                enum bound_point point, uint32_t number)
{
    const struct bound_set *set = &visit->bound->points[point].sets[number];
    const struct matches *matches = &w->pushed;
    bool is_fresh = true;
    enum lap_status status = LAP_OK;

    if (set->kind == BOUND_SET_PUSHED)
        status = collect_set(w, visit, point, number, &w->pushed);
    else if (set->kind == BOUND_SET)
        status = look_at_set(w, visit, point, number, &matches, &is_fresh);
    else
        return LAP_OK;
    if (status == LAP_OK && set->kind == BOUND_SET)
        status = tell(w, use, USE_SET, USE_NAMED, GEN_HANDLE_VkDescriptorSet, set->set, number);
    if (status == LAP_OK && (is_fresh || !w->options->once))
        status = tell_descriptors(w, use, matches, set->kind == BOUND_SET ? set->set : 0);
    return status;
}

/* Sets that the pipeline's layout does not have are not used. */
static enum lap_status tell_sets(struct walker *w, const struct bound_visit *visit, struct use use,
                                 enum bound_point point)
{
    const struct bound_pipeline *p = &visit->bound->points[point];
    const struct fact_pipeline *pipeline = fact_of_pipeline(visit->bound->facts, p->pipeline);
    const struct fact_pipeline_layout *layout =
        pipeline ? fact_of_pipeline_layout(visit->bound->facts, pipeline->layout) : NULL;
    enum lap_status status = tell(w, use, USE_PIPELINE, USE_NAMED, GEN_HANDLE_VkPipeline, p->pipeline, 0);

    for (uint32_t i = 0; i < p->set_count && (!layout || i < layout->set_count) && status == LAP_OK; i++)
        status = tell_set(w, visit, use, point, i);
    return status;
}

static enum lap_status tell_buffers(const struct walker *w, const struct bound *bound, struct use use)
{
    const struct command_kind *kind = &w->kinds[use.command];
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < bound->vertex_count && !kind->draws_mesh && status == LAP_OK; i++)
        if (bound->vertex[i].command != BOUND_NO_COMMAND)
            status = tell(w, use, USE_VERTEX_BUFFER, USE_READ, GEN_HANDLE_VkBuffer, bound->vertex[i].buffer, i);
    if (status == LAP_OK && kind->draws_indexed && bound->index.command != BOUND_NO_COMMAND)
        status = tell(w, use, USE_INDEX_BUFFER, USE_READ, GEN_HANDLE_VkBuffer, bound->index.buffer, 0);
    for (uint32_t i = 0; i < sizeof bound->feedback / sizeof *bound->feedback && status == LAP_OK; i++)
        if (bound->feedback_command != BOUND_NO_COMMAND && bound->feedback[i].command != BOUND_NO_COMMAND)
            status = tell(w, use, USE_FEEDBACK, USE_WRITE, GEN_HANDLE_VkBuffer, bound->feedback[i].buffer, i);
    return status;
}

static enum use_access access_of_role(enum attachment_role role)
{
    switch (role) {
    case ATTACHMENT_COLOR:
    case ATTACHMENT_RESOLVE:
    case ATTACHMENT_DEPTH_RESOLVE:
    case ATTACHMENT_STENCIL_RESOLVE:
        return USE_WRITE;
    case ATTACHMENT_DEPTH_STENCIL:
    case ATTACHMENT_DEPTH:
    case ATTACHMENT_STENCIL:
        return USE_READ_WRITE;
    case ATTACHMENT_INPUT:
    case ATTACHMENT_SHADING_RATE:
    case ATTACHMENT_DENSITY_MAP:
        break;
    }
    return USE_READ;
}

/* *out_same: as for the command before. The attachments stay in w->pass. */
static enum lap_status find_attachments(struct walker *w, const struct bound_visit *visit, bool *out_same)
{
    const struct bound_pass *pass = &visit->bound->pass;
    struct position prefix = visit->position;
    const struct lap_args *begin;
    uint32_t command;

    prefix.count--;
    *out_same = w->pass.ticket == visit->ticket && w->pass.command == pass->command &&
                w->pass.subpass == pass->subpass && w->pass.position.count == prefix.count &&
                memcmp(w->pass.position.numbers, prefix.numbers, prefix.count * sizeof *prefix.numbers) == 0;
    if (*out_same)
        return LAP_OK;
    lap_arena_reset(&w->pass_arena);
    w->pass.ticket = visit->ticket;
    w->pass.position = prefix;
    w->pass.command = pass->command;
    w->pass.subpass = pass->subpass;
    return attachments_of(visit->bound, &w->pass_arena, &w->pass.items, &w->pass.count, &begin, &command);
}

static enum lap_status tell_attachment(const struct walker *w, struct use use, const struct attachment *a,
                                       enum use_access access)
{
    use.role = a->role;
    return tell(w, use, USE_ATTACHMENT, access, GEN_HANDLE_VkImageView, a->view, a->number);
}

static enum lap_status tell_attachments(struct walker *w, const struct bound_visit *visit, struct use use)
{
    enum lap_status status = LAP_OK;
    bool is_same;

    if (visit->bound->pass.kind == BOUND_NO_PASS)
        return LAP_OK;
    status = find_attachments(w, visit, &is_same);
    for (size_t i = 0; i < w->pass.count && status == LAP_OK && !(is_same && w->options->once); i++)
        status = tell_attachment(w, use, &w->pass.items[i], access_of_role(w->pass.items[i].role));
    return status;
}

static bool is_cleared(const struct gen_args_vkCmdClearAttachments *args, const struct attachment *a)
{
    for (uint32_t i = 0; args->pAttachments && i < args->attachmentCount; i++) {
        const VkClearAttachment *c = &args->pAttachments[i];
        if (a->role == ATTACHMENT_COLOR ? c->aspectMask & VK_IMAGE_ASPECT_COLOR_BIT && c->colorAttachment == a->number
            : a->role == ATTACHMENT_DEPTH_STENCIL
                ? c->aspectMask & (VK_IMAGE_ASPECT_DEPTH_BIT | VK_IMAGE_ASPECT_STENCIL_BIT)
            : a->role == ATTACHMENT_DEPTH   ? c->aspectMask & VK_IMAGE_ASPECT_DEPTH_BIT
            : a->role == ATTACHMENT_STENCIL ? c->aspectMask & VK_IMAGE_ASPECT_STENCIL_BIT
                                            : false)
            return true;
    }
    return false;
}

static enum lap_status tell_cleared(struct walker *w, const struct bound_visit *visit, struct use use)
{
    enum lap_status status = LAP_OK;
    bool is_same;

    if (visit->bound->pass.kind == BOUND_NO_PASS)
        return LAP_OK;
    status = find_attachments(w, visit, &is_same);
    for (size_t i = 0; i < w->pass.count && status == LAP_OK; i++)
        if (is_cleared(visit->args, &w->pass.items[i]))
            status = tell_attachment(w, use, &w->pass.items[i], USE_WRITE);
    return status;
}

static enum lap_status tell_bound_to(struct walker *w, const struct bound_visit *visit, struct use use)
{
    const struct command_kind *kind = &w->kinds[use.command];
    enum lap_status status = LAP_OK;

    for (unsigned point = 0; point < BOUND_POINTS && status == LAP_OK; point++)
        if (kind->points >> point & 1)
            status = tell_sets(w, visit, use, (enum bound_point)point);
    for (unsigned bit = 0; bit < BOUND_STAGES && status == LAP_OK; bit++)
        if (kind->stages >> bit & 1)
            status = tell(w, use, USE_SHADER, USE_NAMED, w->shader_type, visit->bound->shaders[bit].shader, 0);
    if (status == LAP_OK && kind->points >> BOUND_GRAPHICS & 1)
        status = tell_buffers(w, visit->bound, use);
    if (status == LAP_OK && kind->points >> BOUND_GRAPHICS & 1)
        status = tell_attachments(w, visit, use);
    return status;
}

static enum lap_status see_command(void *user, const struct bound_visit *visit)
{
    struct walker *w = user;
    const struct command_kind *kind = &w->kinds[visit->command];
    struct naming naming = {.walker = w,
                            .use = {.position = &visit->position, .ticket = visit->ticket, .command = visit->command},
                            .args = visit->args,
                            .in_block = true,
                            .effect = gen_effects[visit->command].objects};
    enum lap_status status = LAP_OK;

    if (kind->names && (!kind->binds || w->options->bindings))
        status = walk_names(&naming);
    if (status == LAP_OK && kind->points)
        status = tell_bound_to(w, visit, naming.use);
    if (status == LAP_OK && visit->command == GEN_vkCmdClearAttachments)
        status = tell_cleared(w, visit, naming.use);
    return status == LAP_OK && w->options->behind ? w->options->behind(w->visitor->user, visit) : status;
}

static enum lap_status see_before(void *user, const struct bound_visit *visit)
{
    const struct walker *w = user;
    return w->options->before(w->visitor->user, visit);
}

/* ---- the whole ---- */

static void show_progress(void *user, const struct lap_packet *packet)
{
    const struct use_visitor *visitor = ((struct walker *)user)->visitor;

    if (visitor->progress)
        visitor->progress(visitor->user, packet);
}

static void finish(struct walker *w)
{
    for (struct set_cache *cache = w->caches, *next; cache; cache = next) {
        next = cache->next;
        free(cache->matches.items);
        free(cache);
    }
    free(w->pushed.items);
    free(w->named);
    free(w->made);
    lap_map_finish(&w->sets);
    lap_map_finish(&w->swapchain_images);
    lap_arena_finish(&w->arena);
    lap_arena_finish(&w->pass_arena);
    lap_arena_finish(&w->kept);
    free(w);
}

enum lap_status use_walk(const struct lap_reader *trace, const struct use_walk_options *options,
                         const struct use_visitor *visitor)
{
    struct bound_walk_options walk = {.at = options->at,
                                      .first_frame = options->first_frame,
                                      .last_frame = options->last_frame,
                                      .descriptors = true,
                                      .before = options->before ? see_before : NULL,
                                      .visit_call = see_call,
                                      .progress = show_progress};
    struct walker *w = calloc(1, sizeof *w);
    enum lap_status status;

    if (!w)
        return lap_no_memory("the uses of objects");
    w->options = options;
    w->visitor = visitor;
    w->shader_type = gen_handle_by_name("VkShaderEXT");
    lap_map_init(&w->sets);
    lap_map_init(&w->swapchain_images);
    lap_arena_init(&w->arena, 0);
    lap_arena_init(&w->pass_arena, 0);
    lap_arena_init(&w->kept, 0);
    for (uint32_t i = 1; i < GEN_COMMAND_COUNT; i++)
        w->kinds[i] = kind_of(i);
    status = bound_walk(trace, &walk, see_command, w);
    finish(w);
    return status;
}

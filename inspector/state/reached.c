/* SPDX-License-Identifier: MIT */
#include "inspector/state/reached.h"

#include "gen_decode.h"
#include "gen_ids.h"
#include "gen_renamed.h"

#define LATER_BINDINGS 64u /* of pushed sets: lap_spirv_bit tells no more apart */

struct walk {
    const struct bound *bound;
    struct lap_arena *arena;
    reached_wants_fn wants;
    reached_fn visit;
    void *user;
};

static bool is_wanted(const struct walk *w, uint32_t set, uint32_t binding)
{
    return !w->wants || w->wants(w->user, set, binding);
}

static enum lap_status visit_binding(const struct walk *w, const struct descriptor_set *set, uint32_t number,
                                     const struct lap_set_binding *binding, const struct bound_set *bound,
                                     uint32_t dynamic)
{
    uint32_t slots = descriptor_set_slots(set), end = binding->first + binding->count;
    struct reached r = {.set = number, .binding = binding->binding, .flags = binding->flags};
    enum lap_status status = LAP_OK;

    end = end < slots ? end : slots;
    r.alone = end == binding->first + 1;
    for (uint32_t slot = descriptor_next(set, binding->first, end); slot < end && status == LAP_OK;
         slot = descriptor_next(set, slot + 1, end)) {
        r.element = slot - binding->first;
        (void)descriptor_get(set, slot, &r.descriptor);
        if (lap_descriptor_is_dynamic(binding->type) && dynamic + r.element < bound->offset_count)
            r.descriptor.offset += bound->offsets[dynamic + r.element];
        status = w->visit(w->user, &r);
    }
    return status;
}

static enum lap_status visit_set(const struct walk *w, const struct descriptor_set *set, uint32_t number,
                                 const struct bound_set *bound)
{
    const struct lap_set_layout *layout = descriptor_set_layout(set);
    uint32_t dynamic = 0;
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < layout->binding_count && status == LAP_OK; i++) {
        const struct lap_set_binding *binding = &layout->bindings[i];
        if (is_wanted(w, number, binding->binding))
            status = visit_binding(w, set, number, binding, bound, dynamic);
        if (lap_descriptor_is_dynamic(binding->type))
            dynamic += binding->count;
    }
    return status;
}

/* Elements past a binding's end are in the next ones ("consecutive binding updates"). Nobody knows here where a pushed
 * binding ends, so any later one counts. */
static bool is_wanted_push(const struct walk *w, uint32_t set, uint32_t binding, uint32_t element)
{
    bool wanted = is_wanted(w, set, binding);

    for (uint32_t later = binding + 1; element && !wanted && later < LATER_BINDINGS; later++)
        wanted = is_wanted(w, set, later);
    return wanted;
}

static enum lap_status visit_writes(const struct walk *w, uint32_t set, uint32_t count,
                                    const VkWriteDescriptorSet *writes)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; writes && i < count; i++) {
        struct reached r = {.set = set, .binding = writes[i].dstBinding, .pushed = true};
        uint32_t elements = descriptor_count_of_write(&writes[i]);
        r.alone = elements == 1;
        for (uint32_t k = 0; k < elements && status == LAP_OK; k++) {
            r.element = writes[i].dstArrayElement + k;
            if (!is_wanted_push(w, set, r.binding, r.element))
                continue;
            descriptor_of_write(&writes[i], k, &r.descriptor);
            status = w->visit(w->user, &r);
        }
    }
    return status;
}

static enum lap_status visit_push(const struct walk *w, const struct bound_setting *push)
{
    struct lap_block at = push->at;
    struct lap_args args;
    uint32_t command;
    enum lap_status status;

    at.dec.arena = w->arena;
    status = lap_block_next(&at, &command, &args);

    if (status != LAP_OK)
        return status;
    if (command == GEN_vkCmdPushDescriptorSetKHR) {
        const struct gen_args_vkCmdPushDescriptorSetKHR *a = (const void *)args.bytes;
        return visit_writes(w, (uint32_t)push->first, a->descriptorWriteCount, a->pDescriptorWrites);
    }
#ifdef VK_KHR_maintenance6
    if (command == GEN_vkCmdPushDescriptorSet2KHR) {
        const struct gen_args_vkCmdPushDescriptorSet2KHR *a = (const void *)args.bytes;
        if (a->pPushDescriptorSetInfo)
            return visit_writes(w, (uint32_t)push->first, a->pPushDescriptorSetInfo->descriptorWriteCount,
                                a->pPushDescriptorSetInfo->pDescriptorWrites);
    }
#endif
    return LAP_OK;
}

enum lap_status reached_each(const struct bound *bound, const struct descriptors *descriptors, enum bound_point point,
                             struct lap_arena *arena, reached_wants_fn wants, reached_fn visit, void *user)
{
    const struct bound_pipeline *p = &bound->points[point];
    const struct walk w = {bound, arena, wants, visit, user};
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < p->set_count && status == LAP_OK; i++) {
        const struct bound_set *at = &p->sets[i];
        const struct descriptor_set *set = at->kind == BOUND_SET ? descriptors_of(descriptors, at->set) : NULL;
        if (set)
            status = visit_set(&w, set, (uint32_t)i, at);
        for (size_t k = 0; at->kind == BOUND_SET_PUSHED && k < bound->pushes_count && status == LAP_OK; k++)
            if (bound->pushes[k].point == point && bound->pushes[k].first == i)
                status = visit_push(&w, &bound->pushes[k]);
    }
    return status == LAP_END ? LAP_OK : status;
}

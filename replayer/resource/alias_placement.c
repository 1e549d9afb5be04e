/* SPDX-License-Identifier: MIT */
#include "replayer/resource/alias_placement.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "replayer/analysis/alias_groups.h"
#include "replayer/core/device.h"
#include "replayer/device/queues.h"
#include "replayer/memory/new_memory.h"
#include "replayer/resource/create.h"
#include "vulkan/dictionary.h"
#include "vulkan/layout.h"
#include "vulkan/modifier.h"

#define MAX_NAMED 4u /* objects listed in a message */

struct replay_alias_memory {
    struct replay_memory_holder holder;
    struct replay_memory_place whole;
    struct replay_overlay_buffer bytes; /* covers it if it is not host-visible */
    struct replay *r;
    struct replay_alias_group *group;
    uint64_t users;
};

/* ---- requirements of the members ---- */

struct question {
    struct replay *r;
    struct replay_device *dev;
    struct lap_arena arena;
};

/* Repeats the mapping that generated code does before replay_CreateBuffer and replay_CreateImage. */
static void map_families(const struct question *q, const uint32_t *families, uint32_t *count, VkSharingMode *mode)
{
    if (!q->dev->queues.families_differ || !families)
        return;
    *count = replay_queue_map_families(q->r, q->dev, (uint32_t *)(uintptr_t)families, *count);
    if (*count < 2)
        *mode = VK_SHARING_MODE_EXCLUSIVE;
}

static void ask_buffer(struct question *q, struct lap_dec *dec, struct replay_alias_requirements *answer)
{
    struct replay_memory_needs needs;
    VkBufferCreateInfo info = {0};
    VkBuffer buffer;

    gen_decode_VkBufferCreateInfo(dec, &info);
    if (dec->status != LAP_OK)
        return;
    map_families(q, info.pQueueFamilyIndices, &info.queueFamilyIndexCount, &info.sharingMode);
    if (replay_buffer_create(q->dev, &info, &buffer) < 0)
        return;
    replay_memory_buffer_needs(q->dev, buffer, &needs);
    q->dev->vk.DestroyBuffer(q->dev->live, buffer, NULL);
    *answer =
        (struct replay_alias_requirements){q->dev, needs.requirements.size,           needs.requirements.alignment,
                                           0,      needs.requirements.memoryTypeBits, needs.alone};
}

static void ask_image(struct question *q, struct lap_dec *dec, uint32_t plane, struct replay_alias_requirements *answer)
{
    bool linear;
    struct replay_memory_needs needs;
    VkImageCreateInfo info = {0};
    VkImage image;

    gen_decode_VkImageCreateInfo(dec, &info);
    if (dec->status != LAP_OK)
        return;
    map_families(q, info.pQueueFamilyIndices, &info.queueFamilyIndexCount, &info.sharingMode);
    lap_modifier_remove(&info);
    if (!replay_plane_is_valid(q->dev, &info, plane) || replay_image_create(q->dev, &info, &image) < 0)
        return;
    linear = info.tiling == VK_IMAGE_TILING_LINEAR;
    replay_memory_image_needs(q->dev, image, linear, plane, &needs);
    *answer = (struct replay_alias_requirements){
        .device = q->dev,
        .bytes = needs.requirements.size,
        .alignment = needs.requirements.alignment,
        .layout = linear
                      ? lap_layout_hash(q->dev->live, q->dev->vk.GetImageSubresourceLayout, image, &info, plane, false)
                      : 0,
        .type_bits = needs.requirements.memoryTypeBits,
        .alone = needs.alone,
    };
    q->dev->vk.DestroyImage(q->dev->live, image, NULL);
}

/* Queries objects with equal create infos once. An answer without a device: the device can't create the object. */
static const struct replay_alias_requirements *ask(struct question *q, const struct replay_alias_member *member)
{
    struct replay_alias_requirements *answer = &member->creation->answers[replay_alias_plane(member->plane)];
    struct lap_dec_source source = lap_dictionary_source(q->r->dictionary);
    struct lap_dec dec;

    if (answer->device == q->dev)
        return answer;
    *answer = (struct replay_alias_requirements){0};
    source.formats = q->r->source.formats;
    lap_arena_reset(&q->arena);
    lap_dec_init(&dec, member->creation->data, member->creation->bytes, &q->arena, &source);
    if (member->type == GEN_HANDLE_VkBuffer)
        ask_buffer(q, &dec, answer);
    else
        ask_image(q, &dec, member->plane, answer);
    return answer;
}

/* Identical images at the same offset share contents in any layout. */
static bool all_alike(const struct replay_alias_group *group)
{
    const struct replay_alias_member *first = group->first;

    for (const struct replay_alias_member *member = first->next; member; member = member->next)
        if (member->creation != first->creation || member->offset != first->offset || member->plane != first->plane)
            return false;
    return true;
}

/* Images at one offset whose rows lie alike on both machines: row by row they have the same bytes on each. */
static bool rows_alike(struct question *q, const struct replay_alias_group *group)
{
    const struct replay_alias_member *first = group->first;
    const uint64_t layout = ask(q, first)->layout;

    for (const struct replay_alias_member *member = first; member; member = member->next)
        if (member->type != GEN_HANDLE_VkImage || !member->layout || member->layout != first->layout ||
            member->offset != first->offset || member->plane != first->plane || ask(q, member)->layout != layout)
            return false;
    return true;
}

static void ask_all(struct question *q, const struct replay_alias_group *group, struct replay_alias_need *needs)
{
    bool alike = all_alike(group) || rows_alike(q, group);

    for (struct replay_alias_member *member = group->first; member; member = member->next, needs++) {
        const struct replay_alias_requirements *answer = ask(q, member);
        *needs = (struct replay_alias_need){.offset = member->offset,
                                            .bytes = answer->bytes,
                                            .alignment = answer->alignment,
                                            .type_bits = answer->type_bits};
        if (answer->alone)
            needs->apart = REPLAY_APART_DEDICATED;
        else if (!alike && answer->device && member->layout && member->layout != answer->layout)
            needs->apart = REPLAY_APART_LAYOUT;
    }
}

/* ---- report of members that share nothing ---- */

/* Whether a member shares contents with another one. An estimate, since only a message depends on it. */
static bool shares_contents(const struct replay_alias_member *member)
{
    return !member->group->opaque || member->group->has_planes || member->creation->users > 1;
}

static const struct replay_alias_member *partner(const struct replay_alias_member *member)
{
    const struct replay_alias_member *other = member->group->first, *any = other == member ? other->next : other;

    while (other && (other == member || other->apart != REPLAY_TOGETHER))
        other = other->next;
    return other ? other : any;
}

static void say_apart(const struct replay *r, const struct replay_alias_group *group, enum replay_apart reason)
{
    static const char *const reasons[REPLAY_APART_COUNT] = {
        [REPLAY_APART_DEDICATED] = "the driver wants memory for it alone",
        [REPLAY_APART_LAYOUT] = "its rows lie differently",
        [REPLAY_APART_TYPE] = "no memory type is good for both",
        [REPLAY_APART_ALIGNMENT] = "it is aligned differently",
    };
    const struct replay_alias_member *first = NULL, *other;
    char names[256] = "";
    size_t length = 0;
    uint64_t count = 0;

    for (const struct replay_alias_member *member = group->first; member; member = member->next) {
        if (member->apart != reason || !shares_contents(member))
            continue;
        if (!first)
            first = member;
        if (count++ < MAX_NAMED)
            length += (size_t)snprintf(names + length, sizeof names - length, "%s%s:%" PRIu64, count > 1 ? ", " : "",
                                       gen_handle_names[member->type], member->index);
    }
    if (!first)
        return;
    if (count > MAX_NAMED)
        snprintf(names + length, sizeof names - length, " (%" PRIu64 " objects)", count);
    other = partner(first);
    lap_log(r->log, LAP_LOG_WARNING,
            "%s can't lie in one memory with %s:%" PRIu64
            " on this GPU (%s): device writes through one are not visible through the other",
            names, gen_handle_names[other->type], other->index, reasons[reason]);
}

/* ---- the allocation ---- */

static uint32_t all_types(const struct replay_device *dev)
{
    uint32_t count = dev->instance->memory.memoryTypeCount;
    return count < 32 ? (1u << count) - 1 : UINT32_MAX;
}

static enum lap_status plan(struct replay *r, struct replay_device *dev, struct replay_alias_group *group)
{
    struct replay_alias_need *needs = calloc(group->count, sizeof *needs), *need = needs;
    struct question q = {.r = r, .dev = dev};

    if (!needs)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    lap_arena_init(&q.arena, (size_t)1 << 24);
    ask_all(&q, group, needs);
    lap_arena_finish(&q.arena);
    replay_alias_plan(needs, group->count, all_types(dev), &group->plan);
    for (struct replay_alias_member *member = group->first; member; member = member->next, need++) {
        member->apart = need->apart;
        member->place = need->place;
    }
    free(needs);
    group->device = dev;
    for (enum replay_apart reason = REPLAY_TOGETHER + 1; reason < REPLAY_APART_COUNT; reason++)
        say_apart(r, group, reason);
    return LAP_OK;
}

static void leave(struct replay_device *dev, struct replay_memory_holder *holder);

static enum lap_status allocate(struct replay *r, struct replay_device *dev, struct replay_alias_group *group,
                                const struct replay_memory_needs *first)
{
    struct replay_memory_needs needs = {
        .requirements = {group->plan.bytes, group->plan.alignment, group->plan.type_bits},
        .wanted = first->wanted,
        /* Zeroes all of it once: a later member may be bound to bytes that no earlier one had. */
        .contents = first->contents == REPLAY_CONTENTS_ZERO ? first->contents : REPLAY_CONTENTS_NEW,
        .linear = !group->opaque};
    struct replay_alias_memory *shared = calloc(1, sizeof *shared);
    enum lap_status status;

    if (!shared)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    status = replay_memory_place_alloc(r, dev, &needs, &shared->whole);
    if (status == LAP_OK)
        status = replay_new_memory_begin(r, dev, &shared->whole, needs.contents,
                                         needs.linear && needs.wanted & VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT,
                                         shared->whole.bytes, &shared->bytes);
    if (status == LAP_OK)
        replay_staging_order(dev); /* the members write the same bytes through different objects */
    if (status != LAP_OK) {
        replay_overlay_buffer_destroy(r, dev, &shared->bytes);
        replay_memory_place_free(dev, &shared->whole);
        free(shared);
        return status;
    }
    shared->holder.leave = leave;
    shared->r = r;
    shared->group = group;
    group->shared = shared;
    return LAP_OK;
}

/* The real object should have the requirements that were queried, but the trace may be invalid. */
static bool fits(const struct replay_alias_memory *shared, const struct replay_alias_member *member,
                 const struct replay_memory_needs *needs)
{
    const VkMemoryRequirements *req = &needs->requirements;

    return !needs->alone && req->memoryTypeBits >> shared->whole.type & 1 &&
           ((shared->whole.offset + member->place) & (req->alignment - 1)) == 0 &&
           member->place <= shared->whole.bytes && req->size <= shared->whole.bytes - member->place;
}

/* The last member frees the allocation. */
static void leave(struct replay_device *dev, struct replay_memory_holder *holder)
{
    struct replay_alias_memory *shared = (struct replay_alias_memory *)holder;

    if (--shared->users)
        return;
    shared->group->shared = NULL;
    replay_overlay_buffer_destroy(shared->r, dev, &shared->bytes);
    replay_memory_place_free(dev, &shared->whole);
    free(shared);
}

/* LAP_END: the object has its own memory. */
static enum lap_status place_together(struct replay *r, struct replay_device *dev, struct replay_alias_member *member,
                                      const struct replay_memory_needs *needs, struct replay_memory_place *out_place)
{
    struct replay_alias_group *group = member->group;
    enum lap_status status = LAP_OK;

    if (!group->device)
        status = plan(r, dev, group);
    if (status != LAP_OK)
        return status;
    if (group->device != dev || group->plan.together < 2 || member->apart != REPLAY_TOGETHER)
        return LAP_END;
    if (!group->shared)
        status = allocate(r, dev, group, needs);
    if (status != LAP_OK)
        return status;
    group->shared->users++;
    if (!fits(group->shared, member, needs)) {
        leave(dev, &group->shared->holder);
        return LAP_END;
    }
    *out_place = (struct replay_memory_place){
        .memory = group->shared->whole.memory,
        .offset = group->shared->whole.offset + member->place,
        .bytes = needs->requirements.size,
        .host = group->shared->whole.host ? group->shared->whole.host + member->place : NULL,
        .type = group->shared->whole.type,
        .coherent = group->shared->whole.coherent,
        .memory_bytes = group->shared->whole.memory_bytes,
        .holder = &group->shared->holder,
        .is_prepared = true,
    };
    return LAP_OK;
}

enum lap_status replay_alias_place(struct replay *r, struct replay_device *dev, enum gen_handle_type type,
                                   uint64_t index, const struct replay_memory_needs *needs,
                                   struct replay_memory_place *out_place)
{
    struct replay_alias_member *member = replay_aliases_find(r->analysis.aliases, type, index, needs->plane);
    enum lap_status status = member ? place_together(r, dev, member, needs, out_place) : LAP_END;

    if (status == LAP_END)
        return replay_memory_place_alloc(r, dev, needs, out_place);
    if (status != LAP_OK)
        *out_place = (struct replay_memory_place){0};
    return status;
}

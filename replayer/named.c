/* SPDX-License-Identifier: MIT */
#include "replayer/named.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "codegen/support/block.h"
#include "gen_replay.h"
#include "replayer/command_pool.h"
#include "replayer/pending.h"
#include "replayer/player.h"
#include "replayer/queues.h"
#include "replayer/reach.h"
#include "replayer/wait.h"

#define ARENA_BYTES ((size_t)1 << 30)   /* the arguments of one command */
#define KEPT_NAMES  ((size_t)1 << 22)   /* of all blocks: 64 MiB */
#define MOST_NAMES  REPLAY_MOST_OBJECTS /* of one: all have to be alive */
#define FIRST_NAMES 16u
#define MOST_DEPTH  256u /* of secondary command buffers that execute others */
#define TOLD_DEPTH  4u   /* of those that a sentence names */

struct name {
    uint32_t type; /* enum gen_handle_type */
    uint64_t index;
};

/* What a block names, each once. */
struct block_names {
    uint64_t block, users; /* without users it is not kept */
    size_t count, capacity;
    struct name *names;
};

/* Submitted work that has a command buffer, or with --validate-descriptors a set: the last such, by
 * replay_pending.given, on a queue of the device's. */
struct use {
    uint64_t given; /* 0: none */
    uint32_t queue;
    bool several; /* queues have it at once */
};

struct replay_named {
    uint64_t since;             /* when it came to name them, by replay.next_order: all of them are older */
    uint64_t ends;              /* replay.ends when all of them were alive; command buffers only */
    uint64_t block;             /* of a command buffer: its blob; 0: it is not recorded */
    struct use use;             /* of a command buffer, and of a set */
    bool executes;              /* it may execute others */
    struct block_names *shared; /* the block's; NULL: they are looked up when they are needed */
    uint32_t view_count;        /* of a framebuffer */
    uint64_t *views;            /* one, if that is enough */
    uint64_t one;
};

static void free_names(struct block_names *names)
{
    free(names->names);
    free(names);
}

/* The command buffer lets go of what its block names. */
static void leave(struct replay *r, struct replay_named *named)
{
    struct block_names *names = named->shared;

    named->shared = NULL;
    if (!names || --names->users)
        return;
    lap_map_remove(&r->block_names, names->block);
    r->name_count -= names->count;
    free_names(names);
}

void replay_named_free(struct replay *r, enum gen_handle_type type, struct replay_object *object)
{
    struct replay_named *named = type == GEN_HANDLE_VkImageView ? NULL : object->named;

    if (named)
        leave(r, named);
    if (named && named->views != &named->one) {
        replay_objects_give(r, named->view_count);
        free(named->views);
    }
    lap_slab_give(&r->named, named);
}

void replay_named_finish(struct replay *r)
{
    lap_map_finish(&r->block_names);
    lap_slab_finish(&r->named);
}

static enum lap_status no_memory(void)
{
    return lap_fail(LAP_ERROR_MEMORY, "out of memory for what objects name");
}

/* The object's record, made when it is not there; NULL without memory. */
static struct replay_named *need(struct replay *r, struct replay_object *object)
{
    struct replay_named *named = object->named;

    if (named)
        return named;
    if (!r->named.piece_bytes)
        lap_slab_init(&r->named, sizeof *named);
    named = lap_slab_take(&r->named);
    if (named) {
        *named = (struct replay_named){0};
        named->views = &named->one;
    }
    return object->named = named;
}

/* ---- objects that name others ---- */

static enum lap_status note_view(struct replay *r, const struct gen_args_vkCreateImageView *args)
{
    struct replay_object *object =
        replay_table_get(&r->tables[GEN_HANDLE_VkImageView], gen_u64_VkImageView(*args->pView));

    if (object)
        (void)replay_object_of(r, GEN_HANDLE_VkImage, gen_u64_VkImage(args->pCreateInfo->image), &object->image);
    return LAP_OK;
}

static enum lap_status note_framebuffer(struct replay *r, const struct gen_args_vkCreateFramebuffer *args)
{
    const VkFramebufferCreateInfo *info = args->pCreateInfo;
    struct replay_object *object =
        replay_object_get(r, GEN_HANDLE_VkFramebuffer, gen_u64_VkFramebuffer(*args->pFramebuffer));
    struct replay_named *named;
    uint64_t *views = NULL;
    enum lap_status status = LAP_OK;

    if (!object || info->flags & VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT || !info->attachmentCount)
        return LAP_OK;
    named = need(r, object);
    if (named && info->attachmentCount > 1)
        status = replay_objects_take(r, info->attachmentCount);
    if (status != LAP_OK)
        return status;
    if (named)
        views = info->attachmentCount > 1 ? malloc(info->attachmentCount * sizeof *views) : &named->one;
    if (!views)
        return no_memory();
    *named = (struct replay_named){.since = object->order, .view_count = info->attachmentCount, .views = views};
    for (uint32_t i = 0; i < info->attachmentCount; i++)
        views[i] = replay_object_index(r, GEN_HANDLE_VkImageView, gen_u64_VkImageView(info->pAttachments[i]));
    return LAP_OK;
}

static enum lap_status note_reset(struct replay *r, enum gen_handle_type type, uint64_t live, bool secondary)
{
    struct replay_object *object = replay_object_get(r, type, replay_object_index(r, type, live));
    struct replay_named *named = object ? need(r, object) : NULL;

    if (!object)
        return LAP_OK;
    if (!named)
        return no_memory();
    named->since = ++r->next_order;
    named->block = 0;
    leave(r, named);
    r->ends += secondary;
    return LAP_OK;
}

static __attribute__((noinline)) enum lap_status note_others(struct replay *r, const void *raw)
{
    switch (r->command) {
    case GEN_vkCreateFramebuffer:
        return note_framebuffer(r, raw);
    case GEN_vkResetCommandBuffer: {
        const struct gen_args_vkResetCommandBuffer *args = raw;
        bool secondary;
        (void)replay_command_buffer_pool(r, args->commandBuffer, &secondary);
        return note_reset(r, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(args->commandBuffer), secondary);
    }
    case GEN_vkResetCommandPool: {
        const struct gen_args_vkResetCommandPool *args = raw;
        uint64_t live = gen_u64_VkCommandPool(args->commandPool);
        return note_reset(r, GEN_HANDLE_VkCommandPool, live,
                          replay_command_pool_has_secondary(r, replay_object_index(r, GEN_HANDLE_VkCommandPool, live)));
    }
    default:
        return LAP_OK;
    }
}

/* Views come and go by the thousand. */
enum lap_status replay_named_note(struct replay *r, const void *raw)
{
    return r->command == GEN_vkCreateImageView ? note_view(r, raw) : note_others(r, raw);
}

enum lap_status replay_named_begin(struct replay *r, struct replay_device *dev, VkCommandBuffer commands)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(commands));
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkCommandBuffer, index);
    struct replay_named *named = object ? need(r, object) : NULL;
    enum lap_status status;

    if (!object)
        return LAP_OK;
    if (!named)
        return no_memory();
    status = named->use.several
                 ? replay_command_pool_await(r, dev, object->parent)
                 : replay_pending_await(r, dev, named->use.queue, named->use.given, "a command buffer that is in use");
    named->use = (struct use){0};
    named->executes = false;
    return status;
}

void replay_named_executes(struct replay *r, VkCommandBuffer commands)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(commands));
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkCommandBuffer, index);

    if (object && object->named)
        object->named->executes = true;
}

enum lap_status replay_named_record(struct replay *r, VkCommandBuffer commands, uint64_t block)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(commands));
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkCommandBuffer, index);
    struct replay_named *named = object ? need(r, object) : NULL;

    if (!object)
        return LAP_OK;
    if (!named)
        return no_memory();
    r->ends += object->secondary && named->block;
    named->since = ++r->next_order;
    named->ends = r->ends;
    if (named->block != block)
        leave(r, named);
    named->block = block;
    return LAP_OK;
}

/* ---- what a block names ---- */

struct look {
    struct replay *r;
    struct block_names *names;
    size_t from; /* the names of the command that is decoded */
};

static enum lap_status look_blob(void *user, uint64_t id, const uint8_t **out_data, size_t *out_bytes)
{
    return lap_reader_blob(((struct look *)user)->r->reader, LAP_BLOB_DATA, id, out_data, out_bytes);
}

static uint32_t look_struct(void *user, uint64_t number)
{
    return lap_dictionary_struct(((struct look *)user)->r->dictionary, number);
}

static int by_name(const void *a, const void *b)
{
    const struct name *x = a, *y = b;

    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Each once; returns how many are left. */
static size_t sort(struct name *names, size_t count)
{
    size_t left = 0;

    if (count)
        qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++)
        if (left == 0 || by_name(&names[left - 1], &names[i]) != 0)
            names[left++] = names[i];
    return left;
}

/* Those of the current command stay apart. */
static void sort_all(struct look *look)
{
    struct block_names *names = look->names;
    size_t before = sort(names->names, look->from);
    size_t rest = sort(names->names + look->from, names->count - look->from);

    memmove(names->names + before, names->names + look->from, rest * sizeof *names->names);
    look->from = before;
    names->count = before + rest;
}

static enum lap_status need_room(struct look *look)
{
    struct block_names *names = look->names;
    size_t capacity = names->capacity ? 2 * names->capacity : FIRST_NAMES;
    struct name *more;

    if (names->count < names->capacity)
        return LAP_OK;
    if (names->capacity == 2 * MOST_NAMES) {
        sort_all(look);
        return names->count <= MOST_NAMES ? LAP_OK
                                          : lap_fail(LAP_ERROR_LIMIT, "a block names more than %u million objects",
                                                     (unsigned)(MOST_NAMES >> 20));
    }
    more = realloc(names->names, capacity * sizeof *more);
    if (!more)
        return no_memory();
    names->names = more;
    names->capacity = capacity;
    return LAP_OK;
}

static enum lap_status look_handle(void *user, uint32_t type, uint64_t index, uint64_t *out)
{
    static const struct replay_object secondary = {.secondary = true};
    struct look *look = user;
    enum lap_status status;

    *out = index;
    if (!replay_named_counts((enum gen_handle_type)type, &secondary))
        return LAP_OK;
    status = need_room(look);
    if (status == LAP_OK)
        look->names->names[look->names->count++] = (struct name){type, index};
    return status;
}

/* Whether what a command names need not be there when its command buffer is submitted. */
static bool may_name_the_dead(uint32_t command)
{
    return command == GEN_vkBeginCommandBuffer || strstr(gen_command_names[command], "PushDescriptorSet");
}

static enum lap_status find_names(struct replay *r, struct block_names *names)
{
    struct look look = {.r = r, .names = names};
    const struct lap_dec_source source = {
        .blob = look_blob, .handle = look_handle, .struct_id = look_struct, .user = &look};
    struct lap_arena arena;
    struct lap_block block;
    struct lap_args args;
    const uint8_t *data;
    size_t bytes;
    uint32_t command;
    enum lap_status status = lap_reader_blob(r->reader, LAP_BLOB_BLOCK, names->block, &data, &bytes);

    if (status != LAP_OK)
        return status;
    lap_arena_init(&arena, ARENA_BYTES);
    lap_block_init(&block, data, bytes, 1, r->dictionary, &arena, &source);
    do {
        look.from = names->count;
        lap_arena_reset(&arena);
        status = lap_block_next(&block, &command, &args);
        if (status == LAP_OK && may_name_the_dead(command))
            names->count = look.from;
    } while (status == LAP_OK);
    lap_arena_finish(&arena);
    names->count = sort(names->names, names->count);
    return status == LAP_END ? LAP_OK : status;
}

/* From then on the command buffer has them, if there is room. */
static enum lap_status keep_names(struct replay *r, struct replay_named *named, struct block_names *names)
{
    struct name *less;

    if (names->count > KEPT_NAMES || r->name_count > KEPT_NAMES - names->count)
        return LAP_OK;
    less = names->count ? realloc(names->names, names->count * sizeof *less) : NULL;
    if (less) {
        names->names = less;
        names->capacity = names->count;
    }
    if (lap_map_put(&r->block_names, names->block, names, NULL) != LAP_OK)
        return no_memory();
    r->name_count += names->count;
    names->users = 1;
    named->shared = names;
    return LAP_OK;
}

/* ---- whether all of it is alive ---- */

static enum lap_status check_names(struct replay *r, const struct block_names *names, uint64_t since)
{
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < names->count && status == LAP_OK; i++)
        status = replay_named_check(r, (enum gen_handle_type)names->names[i].type, names->names[i].index, since);
    return status;
}

/* What a command buffer's block names; let_go_names follows. */
static enum lap_status get_names(struct replay *r, struct replay_named *named, struct block_names **out_names)
{
    struct block_names *names = named->shared ? named->shared : lap_map_get(&r->block_names, named->block);
    enum lap_status status;

    *out_names = names;
    if (names) {
        names->users += !named->shared;
        named->shared = names;
        return LAP_OK;
    }
    *out_names = names = calloc(1, sizeof *names);
    if (!names)
        return no_memory();
    names->block = named->block;
    status = find_names(r, names);
    return status == LAP_OK ? keep_names(r, named, names) : status;
}

static void let_go_names(struct block_names *names)
{
    if (names && !names->users)
        free_names(names);
}

static enum lap_status check_block(struct replay *r, struct replay_named *named)
{
    struct block_names *names;
    enum lap_status status = get_names(r, named, &names);

    if (status == LAP_OK)
        status = check_names(r, names, named->since);
    let_go_names(names);
    return status;
}

static enum lap_status check_views(struct replay *r, const struct replay_named *named)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < named->view_count && status == LAP_OK; i++)
        if (named->views[i])
            status = replay_named_check(r, GEN_HANDLE_VkImageView, named->views[i], named->since);
    return status;
}

/* That it is recorded, and was before the other one. */
static enum lap_status check_recorded(struct replay *r, const struct replay_object *object, uint64_t index,
                                      uint64_t before)
{
    const struct replay_object *pool = replay_object_get(r, GEN_HANDLE_VkCommandPool, object->parent);
    const struct replay_named *named = object->named;

    if (!named || !named->block)
        return lap_fail(LAP_ERROR_REPLAY, "VkCommandBuffer:%" PRIu64 " is used and was not recorded", index);
    if (pool && pool->named && pool->named->since > named->since)
        return lap_fail(LAP_ERROR_REPLAY, "VkCommandBuffer:%" PRIu64 " is used and was reset with its pool", index);
    if (named->since > before)
        return lap_fail(LAP_ERROR_REPLAY, "VkCommandBuffer:%" PRIu64 " was recorded anew", index);
    return LAP_OK;
}

static enum lap_status check_commands(struct replay *r, struct replay_object *object, uint64_t index, uint64_t before)
{
    enum lap_status status = check_recorded(r, object, index, before);
    struct replay_named *named = object->named;

    if (status != LAP_OK || (named->ends == r->ends && !r->reach))
        return status;
    if (r->named_depth == MOST_DEPTH)
        return lap_fail(LAP_ERROR_LIMIT, "secondary command buffers execute others %u deep", MOST_DEPTH);
    r->named_depth++;
    status = check_block(r, named);
    r->named_depth--;
    if (status == LAP_OK && r->reach)
        status = replay_reach_check(r, named->block, named->since, false);
    if (status != LAP_OK && r->named_depth >= TOLD_DEPTH)
        return status;
    if (status != LAP_OK)
        return lap_fail_context(status, "VkCommandBuffer:%" PRIu64 " (block %" PRIu64 ")", index, named->block);
    named->ends = r->ends;
    return LAP_OK;
}

/* What is named was there before what names it, which also means that there are no circles. */
enum lap_status replay_named_check(struct replay *r, enum gen_handle_type type, uint64_t index, uint64_t before)
{
    struct replay_object *object = replay_object_get(r, type, index);
    enum lap_status status;

    if (!object || object->order > before)
        return lap_fail(LAP_ERROR_REPLAY, "%s:%" PRIu64 " is not alive any more", gen_handle_names[type], index);
    if (type == GEN_HANDLE_VkCommandBuffer)
        return check_commands(r, object, index, before);
    if (type == GEN_HANDLE_VkImageView)
        status = object->image ? replay_named_check(r, GEN_HANDLE_VkImage, object->image, object->order) : LAP_OK;
    else if (!object->named || type == GEN_HANDLE_VkCommandPool)
        return LAP_OK;
    else
        status = check_views(r, object->named);
    return status == LAP_OK ? LAP_OK : lap_fail_context(status, "%s:%" PRIu64, gen_handle_names[type], index);
}

static enum lap_status look_at(struct replay *r, enum gen_handle_type type, uint64_t live)
{
    uint64_t index = live ? replay_object_index(r, type, live) : 0;

    return index ? replay_named_check(r, type, index, UINT64_MAX) : LAP_OK;
}

static enum lap_status look_at_attachment(struct replay *r, const VkRenderingAttachmentInfo *info)
{
    enum lap_status status = info ? look_at(r, GEN_HANDLE_VkImageView, gen_u64_VkImageView(info->imageView)) : LAP_OK;

    if (status == LAP_OK && info && info->resolveMode)
        status = look_at(r, GEN_HANDLE_VkImageView, gen_u64_VkImageView(info->resolveImageView));
    return status;
}

static enum lap_status look_at_executed(struct replay *r, const struct gen_args_vkCmdExecuteCommands *args)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; args->pCommandBuffers && i < args->commandBufferCount && status == LAP_OK; i++) {
        uint64_t index =
            replay_object_index(r, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(args->pCommandBuffers[i]));
        const struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkCommandBuffer, index);
        if (object)
            status = check_recorded(r, object, index, UINT64_MAX);
    }
    return status;
}

static enum lap_status look_at_pass(struct replay *r, const VkRenderPassBeginInfo *info)
{
    return info ? look_at(r, GEN_HANDLE_VkFramebuffer, gen_u64_VkFramebuffer(info->framebuffer)) : LAP_OK;
}

static enum lap_status look_at_rendering(struct replay *r, const VkRenderingInfo *info)
{
    enum lap_status status = info ? look_at_attachment(r, info->pDepthAttachment) : LAP_OK;

    if (info && status == LAP_OK)
        status = look_at_attachment(r, info->pStencilAttachment);
    for (uint32_t i = 0; info && info->pColorAttachments && i < info->colorAttachmentCount && status == LAP_OK; i++)
        status = look_at_attachment(r, &info->pColorAttachments[i]);
    return status;
}

/* A parameter that is null is refused by the call. */
enum lap_status replay_named_look(struct replay *r, uint32_t command, const void *raw)
{
    switch (command) {
    case GEN_vkCmdBeginRenderPass:
        return look_at_pass(r, ((const struct gen_args_vkCmdBeginRenderPass *)raw)->pRenderPassBegin);
    case GEN_vkCmdBeginRenderPass2:
        return look_at_pass(r, ((const struct gen_args_vkCmdBeginRenderPass2 *)raw)->pRenderPassBegin);
    case GEN_vkCmdBeginRendering:
        return look_at_rendering(r, ((const struct gen_args_vkCmdBeginRendering *)raw)->pRenderingInfo);
    case GEN_vkCmdExecuteCommands:
        return look_at_executed(r, raw);
    default:
        return LAP_OK;
    }
}

enum lap_status replay_named_submit(struct replay *r, VkCommandBuffer commands, uint64_t since)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(commands));

    if (!index && commands)
        return lap_fail(LAP_ERROR_REPLAY, "a command buffer that was submitted is not alive any more");
    return index ? replay_named_check(r, GEN_HANDLE_VkCommandBuffer, index, since) : LAP_OK;
}

/* ---- what work has ---- */

static enum lap_status use(struct replay *r, struct replay_device *dev, const struct replay_object *object,
                           const struct use *now);

static void note_use(const struct replay_device *dev, struct use *use, const struct use *now)
{
    use->several |= use->queue != now->queue && !replay_pending_is_over(dev, use->queue, use->given);
    use->given = now->given;
    use->queue = now->queue;
}

static enum lap_status use_named(struct replay *r, struct replay_device *dev, const struct name *name,
                                 const struct use *now)
{
    struct replay_object *object = replay_object_get(r, (enum gen_handle_type)name->type, name->index);
    struct replay_named *named;

    if (!object ||
        (name->type != GEN_HANDLE_VkCommandBuffer && (name->type != GEN_HANDLE_VkDescriptorSet || !r->reach)))
        return LAP_OK;
    if (name->type == GEN_HANDLE_VkCommandBuffer)
        return use(r, dev, object, now);
    named = need(r, object);
    if (!named)
        return no_memory();
    note_use(dev, &named->use, now);
    return LAP_OK;
}

/* The secondary ones stand together. */
static enum lap_status use_names(struct replay *r, struct replay_device *dev, struct replay_named *named,
                                 const struct use *now)
{
    struct block_names *names;
    enum lap_status status;

    if (r->named_depth == MOST_DEPTH)
        return lap_fail(LAP_ERROR_LIMIT, "secondary command buffers execute others %u deep", MOST_DEPTH);
    r->named_depth++;
    status = get_names(r, named, &names);
    for (size_t i = 0; status == LAP_OK && i < names->count; i++)
        status = use_named(r, dev, &names->names[i], now);
    let_go_names(names);
    r->named_depth--;
    return status;
}

static enum lap_status use(struct replay *r, struct replay_device *dev, const struct replay_object *object,
                           const struct use *now)
{
    struct replay_named *named = object->named;

    if (!named || (named->use.given == now->given && named->use.queue == now->queue))
        return LAP_OK;
    note_use(dev, &named->use, now);
    replay_command_pool_use(r, object->parent, now->queue, now->given);
    return named->executes || r->reach ? use_names(r, dev, named, now) : LAP_OK;
}

enum lap_status replay_named_use(struct replay *r, struct replay_device *dev, VkCommandBuffer commands, VkQueue live)
{
    const struct replay_queue *queue = replay_queue_find(dev, live);
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(commands));
    const struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkCommandBuffer, index);
    struct use now = {.given = dev->pending.given + 1, .queue = queue ? (uint32_t)(queue - dev->queues) : 0};

    return queue && object ? use(r, dev, object, &now) : LAP_OK;
}

/* ---- sets that are written ---- */

static enum lap_status await_set(struct replay *r, struct replay_device *dev, const struct replay_reach_part *part)
{
    const struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkDescriptorSet, part->set);
    struct use *use = object && object->named ? &object->named->use : NULL;
    enum lap_status status = LAP_OK;

    if (!use || !use->given || replay_reach_may_write(r, part))
        return LAP_OK;
    for (uint32_t i = 0; i < dev->queue_count && status == LAP_OK; i++)
        if (use->several || i == use->queue)
            status = replay_pending_await(r, dev, i, use->given, "a descriptor set that is in use");
    *use = (struct use){0};
    return status;
}

static uint64_t set_index(struct replay *r, VkDescriptorSet live)
{
    return replay_object_index(r, GEN_HANDLE_VkDescriptorSet, gen_u64_VkDescriptorSet(live));
}

enum lap_status replay_named_write(struct replay *r, struct replay_device *dev, const void *raw)
{
    const struct gen_args_vkUpdateDescriptorSets *args = raw;
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; args->pDescriptorWrites && i < args->descriptorWriteCount && status == LAP_OK; i++) {
        const VkWriteDescriptorSet *to = &args->pDescriptorWrites[i];
        struct replay_reach_part part = {set_index(r, to->dstSet), to->dstBinding, to->dstArrayElement,
                                         to->descriptorCount};
        status = await_set(r, dev, &part);
    }
    for (uint32_t i = 0; args->pDescriptorCopies && i < args->descriptorCopyCount && status == LAP_OK; i++) {
        const VkCopyDescriptorSet *to = &args->pDescriptorCopies[i];
        struct replay_reach_part part = {set_index(r, to->dstSet), to->dstBinding, to->dstArrayElement,
                                         to->descriptorCount};
        status = await_set(r, dev, &part);
    }
    return status;
}

/* ---- queries that are reset ---- */

static bool has_name(const struct block_names *names, enum gen_handle_type type, uint64_t index)
{
    size_t i = 0;

    while (i < names->count && (names->names[i].type != type || names->names[i].index != index))
        i++;
    return i < names->count;
}

/* Waits for the work that has the command buffer, if it names the pool. */
static enum lap_status await_queries(struct replay *r, struct replay_device *dev, const struct replay_object *commands,
                                     uint64_t pool)
{
    struct replay_named *named = commands->named;
    struct block_names *names;
    enum lap_status status;
    bool has;

    if (!named || !named->block || !named->use.given ||
        (!named->use.several && replay_pending_is_over(dev, named->use.queue, named->use.given)))
        return LAP_OK;
    status = get_names(r, named, &names);
    has = status == LAP_OK && has_name(names, GEN_HANDLE_VkQueryPool, pool);
    let_go_names(names);
    if (!has)
        return status;
    return named->use.several
               ? replay_command_pool_await(r, dev, commands->parent)
               : replay_pending_await(r, dev, named->use.queue, named->use.given, "queries that are in use");
}

enum lap_status replay_named_reset_queries(struct replay *r, struct replay_device *dev, VkQueryPool pool)
{
    const struct replay_table *table = &r->tables[GEN_HANDLE_VkCommandBuffer];
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkQueryPool, gen_u64_VkQueryPool(pool));
    enum lap_status status = LAP_OK;

    if (!replay_pending_look(dev))
        return LAP_OK;
    if (replay_pending_has_commands(dev)) /* of which nobody knows what they name */
        return replay_wait_device(r, dev, "queries that may be in use");
    for (uint64_t i = 0; i < table->live.count && status == LAP_OK; i++) {
        const struct replay_object *object;
        if (!table->live.pages[i / REPLAY_PAGE_OBJECTS]) {
            i |= REPLAY_PAGE_OBJECTS - 1;
            continue;
        }
        object = replay_table_get(table, i);
        if (object && object->owner == dev)
            status = await_queries(r, dev, object, index);
    }
    return status;
}

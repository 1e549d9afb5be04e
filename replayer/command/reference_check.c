/* SPDX-License-Identifier: MIT */
#include "replayer/command/reference_check.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "gen_replay.h"
#include "replayer/command/command_pool.h"
#include "replayer/command/reference_check_internal.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/device/queues.h"
#include "replayer/sync/deferred_destroy.h"
#include "replayer/sync/submission.h"
#include "replayer/sync/wait.h"
#include "vulkan/block.h"
#include "vulkan/pass.h"

#define ARENA_BYTES ((size_t)1 << 30)   /* the arguments of one command */
#define KEPT_NAMES  ((size_t)1 << 22)   /* of all blocks: 64 MiB */
#define MOST_NAMES  REPLAY_MOST_OBJECTS /* of one block: all of them are alive */
#define FIRST_NAMES 16u
#define MOST_DEPTH  256u /* of nested secondary command buffers */
#define TOLD_DEPTH  4u   /* depth up to which a message lists them */

static void free_names(struct block_references *names)
{
    free(names->names);
    free(names);
}

/* Removes the command buffer's references. */
static void leave(struct replay *r, struct replay_references *references)
{
    struct block_references *names = references->shared;

    references->shared = NULL;
    if (!names || --names->users)
        return;
    lap_map_remove(&r->objects.reference_check->block_references, names->block);
    r->objects.reference_check->reference_count -= names->count;
    free_names(names);
}

static void drop_references(struct replay *r, struct replay_object *object)
{
    struct replay_references *references = object->references;

    leave(r, references);
    if (references->views != &references->one) {
        replay_objects_release(r, references->view_count);
        free(references->views);
    }
    lap_slab_free(&r->objects.reference_check->references, references);
    object->references = NULL;
}

void replay_reference_check_finish(struct replay *r)
{
    if (!r->objects.reference_check)
        return;
    lap_map_finish(&r->objects.reference_check->block_references);
    lap_slab_finish(&r->objects.reference_check->references);
    free(r->objects.reference_check);
    r->objects.reference_check = NULL;
}

static bool need_reference_check(struct replay *r)
{
    if (r->objects.reference_check)
        return true;
    r->objects.reference_check = calloc(1, sizeof *r->objects.reference_check);
    if (!r->objects.reference_check)
        return false;
    lap_map_init(&r->objects.reference_check->block_references);
    lap_slab_init(&r->objects.reference_check->references, sizeof(struct replay_references));
    r->objects.drop_references = drop_references;
    return true;
}

/* The object's record, created on first use; NULL: out of memory. */
static struct replay_references *need(struct replay *r, struct replay_object *object)
{
    struct replay_references *references = object->references;

    if (references)
        return references;
    references = need_reference_check(r) ? lap_slab_alloc(&r->objects.reference_check->references) : NULL;
    if (references) {
        *references = (struct replay_references){0};
        references->views = &references->one;
    }
    return object->references = references;
}

/* ---- objects that refer to others ---- */

static enum lap_status note_view(struct replay *r, const struct gen_args_vkCreateImageView *args)
{
    struct replay_object *object =
        replay_table_get(&r->objects.tables[GEN_HANDLE_VkImageView], gen_u64_VkImageView(*args->pView));

    if (object)
        (void)replay_object_of(r, GEN_HANDLE_VkImage, gen_u64_VkImage(args->pCreateInfo->image), &object->image);
    return LAP_OK;
}

static enum lap_status note_framebuffer(struct replay *r, const struct gen_args_vkCreateFramebuffer *args)
{
    const VkFramebufferCreateInfo *info = args->pCreateInfo;
    struct replay_object *object =
        replay_object_get(r, GEN_HANDLE_VkFramebuffer, gen_u64_VkFramebuffer(*args->pFramebuffer));
    struct replay_references *references;
    uint64_t *views = NULL;
    enum lap_status status = LAP_OK;

    if (!object || info->flags & VK_FRAMEBUFFER_CREATE_IMAGELESS_BIT || !info->attachmentCount)
        return LAP_OK;
    references = need(r, object);
    if (references && info->attachmentCount > 1)
        status = replay_objects_reserve(r, info->attachmentCount);
    if (status != LAP_OK)
        return status;
    if (references)
        views = info->attachmentCount > 1 ? malloc(info->attachmentCount * sizeof *views) : &references->one;
    if (!views)
        return lap_no_memory("the references of objects");
    *references =
        (struct replay_references){.since = object->order, .view_count = info->attachmentCount, .views = views};
    for (uint32_t i = 0; i < info->attachmentCount; i++)
        views[i] = replay_object_index(r, GEN_HANDLE_VkImageView, gen_u64_VkImageView(info->pAttachments[i]));
    return LAP_OK;
}

static enum lap_status note_reset(struct replay *r, enum gen_handle_type type, uint64_t live, bool secondary)
{
    struct replay_object *object = replay_object_get(r, type, replay_object_index(r, type, live));
    struct replay_references *references = object ? need(r, object) : NULL;

    if (!object)
        return LAP_OK;
    if (!references)
        return lap_no_memory("the references of objects");
    references->since = ++r->objects.next_order;
    references->block = 0;
    leave(r, references);
    r->objects.ends += secondary;
    return LAP_OK;
}

static __attribute__((noinline)) enum lap_status note_others(struct replay *r, const void *raw)
{
    switch (r->at.command) {
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

/* Programs create and destroy thousands of views. */
enum lap_status replay_reference_check_note(struct replay *r, const void *raw)
{
    return r->at.command == GEN_vkCreateImageView ? note_view(r, raw) : note_others(r, raw);
}

enum lap_status replay_reference_check_begin(struct replay *r, struct replay_device *dev, VkCommandBuffer commands)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(commands));
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkCommandBuffer, index);
    struct replay_references *references = object ? need(r, object) : NULL;
    enum lap_status status;

    if (!object)
        return LAP_OK;
    if (!references)
        return lap_no_memory("the references of objects");
    status = references->use.several ? replay_command_pool_await(r, dev, object->parent)
                                     : replay_submission_await(r, dev, references->use.queue, references->use.number,
                                                               "a command buffer that is in use");
    references->use = (struct command_buffer_use){0};
    references->executes = false;
    return status;
}

void replay_reference_check_executes(struct replay *r, VkCommandBuffer commands)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(commands));
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkCommandBuffer, index);

    if (object && object->references)
        object->references->executes = true;
}

enum lap_status replay_reference_check_record(struct replay *r, VkCommandBuffer commands, uint64_t block)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(commands));
    struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkCommandBuffer, index);
    struct replay_references *references = object ? need(r, object) : NULL;

    if (!object)
        return LAP_OK;
    if (!references)
        return lap_no_memory("the references of objects");
    r->objects.ends += object->secondary && references->block;
    references->since = ++r->objects.next_order;
    references->ends = r->objects.ends;
    if (references->block != block)
        leave(r, references);
    references->block = block;
    return LAP_OK;
}

/* ---- references of a block ---- */

struct look {
    struct replay *r;
    struct block_references *names;
    size_t from; /* the first reference of the decoded command */
};

static enum lap_status look_blob(void *user, uint64_t id, const uint8_t **out_data, size_t *out_bytes)
{
    return replay_read_blob(((struct look *)user)->r, LAP_BLOB_DATA, id, out_data, out_bytes);
}

static uint32_t look_struct(void *user, uint64_t number)
{
    return lap_dictionary_struct(((struct look *)user)->r->dictionary, number);
}

static int by_name(const void *a, const void *b)
{
    const struct block_reference *x = a, *y = b;

    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

/* Removes duplicates; returns the remaining count. */
static size_t sort(struct block_reference *names, size_t count)
{
    size_t left = 0;

    if (count)
        qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++)
        if (left == 0 || by_name(&names[left - 1], &names[i]) != 0)
            names[left++] = names[i];
    return left;
}

/* Keeps those of the current command apart. */
static void sort_all(struct look *look)
{
    struct block_references *names = look->names;
    size_t before = sort(names->names, look->from);
    size_t rest = sort(names->names + look->from, names->count - look->from);

    memmove(names->names + before, names->names + look->from, rest * sizeof *names->names);
    look->from = before;
    names->count = before + rest;
}

static enum lap_status need_room(struct look *look)
{
    struct block_references *names = look->names;
    size_t capacity = names->capacity ? 2 * names->capacity : FIRST_NAMES;
    struct block_reference *more;

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
        return lap_no_memory("the references of objects");
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
    if (!replay_object_may_be_recorded((enum gen_handle_type)type, &secondary))
        return LAP_OK;
    status = need_room(look);
    if (status == LAP_OK)
        look->names->names[look->names->count++] = (struct block_reference){type, index};
    return status;
}

/* Whether objects that a command refers to may be gone when its command buffer is submitted. */
static bool may_name_the_dead(uint32_t command)
{
    return command == GEN_vkBeginCommandBuffer || strstr(gen_command_names[command], "PushDescriptorSet");
}

static enum lap_status find_names(struct replay *r, struct block_references *names)
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
    enum lap_status status = replay_read_blob(r, LAP_BLOB_BLOCK, names->block, &data, &bytes);

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

/* Stores the references with the command buffer, if there is room. */
static enum lap_status keep_names(struct replay *r, struct replay_references *references,
                                  struct block_references *names)
{
    struct block_reference *less;

    if (names->count > KEPT_NAMES || r->objects.reference_check->reference_count > KEPT_NAMES - names->count)
        return LAP_OK;
    less = names->count ? realloc(names->names, names->count * sizeof *less) : NULL;
    if (less) {
        names->names = less;
        names->capacity = names->count;
    }
    if (lap_map_put(&r->objects.reference_check->block_references, names->block, names, NULL) != LAP_OK)
        return lap_no_memory("the references of objects");
    r->objects.reference_check->reference_count += names->count;
    names->users = 1;
    references->shared = names;
    return LAP_OK;
}

/* Whether an object and its own references are alive. An object created when the context's next_order was above
 * `before` does not count. */
static enum lap_status check_object(struct replay *r, enum gen_handle_type type, uint64_t index, uint64_t before);

/* ---- checks of all references ---- */

static enum lap_status check_names(struct replay *r, const struct block_references *names, uint64_t since)
{
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < names->count && status == LAP_OK; i++)
        status = check_object(r, (enum gen_handle_type)names->names[i].type, names->names[i].index, since);
    return status;
}

/* The references of a command buffer's block. Call let_go_names afterwards. */
static enum lap_status get_names(struct replay *r, struct replay_references *references,
                                 struct block_references **out_names)
{
    struct block_references *names =
        references->shared ? references->shared
                           : lap_map_get(&r->objects.reference_check->block_references, references->block);
    enum lap_status status;

    *out_names = names;
    if (names) {
        names->users += !references->shared;
        references->shared = names;
        return LAP_OK;
    }
    *out_names = names = calloc(1, sizeof *names);
    if (!names)
        return lap_no_memory("the references of objects");
    names->block = references->block;
    status = find_names(r, names);
    return status == LAP_OK ? keep_names(r, references, names) : status;
}

static void let_go_names(struct block_references *names)
{
    if (names && !names->users)
        free_names(names);
}

static enum lap_status check_block(struct replay *r, struct replay_references *references)
{
    struct block_references *names;
    enum lap_status status = get_names(r, references, &names);

    if (status == LAP_OK)
        status = check_names(r, names, references->since);
    let_go_names(names);
    return status;
}

static enum lap_status check_views(struct replay *r, const struct replay_references *references)
{
    enum lap_status status = LAP_OK;

    for (uint32_t i = 0; i < references->view_count && status == LAP_OK; i++)
        if (references->views[i])
            status = check_object(r, GEN_HANDLE_VkImageView, references->views[i], references->since);
    return status;
}

/* Whether it is recorded, and was recorded before the other one. */
static enum lap_status check_recorded(struct replay *r, const struct replay_object *object, uint64_t index,
                                      uint64_t before)
{
    const struct replay_object *pool = replay_object_get(r, GEN_HANDLE_VkCommandPool, object->parent);
    const struct replay_references *references = object->references;

    if (!references || !references->block)
        return lap_fail(LAP_ERROR_REPLAY, "VkCommandBuffer:%" PRIu64 " is used and was not recorded", index);
    if (pool && pool->references && pool->references->since > references->since)
        return lap_fail(LAP_ERROR_REPLAY, "VkCommandBuffer:%" PRIu64 " is used and was reset with its pool", index);
    if (references->since > before)
        return lap_fail(LAP_ERROR_REPLAY, "VkCommandBuffer:%" PRIu64 " was recorded anew", index);
    return LAP_OK;
}

static enum lap_status check_commands(struct replay *r, struct replay_object *object, uint64_t index, uint64_t before)
{
    enum lap_status status = check_recorded(r, object, index, before);
    struct replay_references *references = object->references;

    if (status != LAP_OK || references->ends == r->objects.ends)
        return status;
    if (r->objects.reference_check->depth == MOST_DEPTH)
        return lap_fail(LAP_ERROR_LIMIT, "secondary command buffers execute others %u deep", MOST_DEPTH);
    r->objects.reference_check->depth++;
    status = check_block(r, references);
    r->objects.reference_check->depth--;
    if (status != LAP_OK && r->objects.reference_check->depth >= TOLD_DEPTH)
        return status;
    if (status != LAP_OK)
        return lap_fail_context(status, "VkCommandBuffer:%" PRIu64 " (block %" PRIu64 ")", index, references->block);
    references->ends = r->objects.ends;
    return LAP_OK;
}

/* An object is older than the objects that refer to it, so there are no cycles. */
static enum lap_status check_object(struct replay *r, enum gen_handle_type type, uint64_t index, uint64_t before)
{
    struct replay_object *object = replay_object_get(r, type, index);
    enum lap_status status;

    if (!object || object->order > before)
        return lap_fail(LAP_ERROR_REPLAY, "%s:%" PRIu64 " is not alive any more", gen_handle_names[type], index);
    if (type == GEN_HANDLE_VkCommandBuffer)
        return check_commands(r, object, index, before);
    if (type == GEN_HANDLE_VkImageView)
        status = object->image ? check_object(r, GEN_HANDLE_VkImage, object->image, object->order) : LAP_OK;
    else if (!object->references || type == GEN_HANDLE_VkCommandPool)
        return LAP_OK;
    else
        status = check_views(r, object->references);
    return status == LAP_OK ? LAP_OK : lap_fail_context(status, "%s:%" PRIu64, gen_handle_names[type], index);
}

static enum lap_status look_at(struct replay *r, enum gen_handle_type type, uint64_t live)
{
    uint64_t index = live ? replay_object_index(r, type, live) : 0;

    return index ? check_object(r, type, index, UINT64_MAX) : LAP_OK;
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

/* The call itself refuses a null parameter. */
enum lap_status replay_reference_check_look(struct replay *r, uint32_t command, const void *raw)
{
    switch (command) {
    case GEN_vkCmdBeginRenderPass:
    case GEN_vkCmdBeginRenderPass2:
        return look_at_pass(r, lap_pass_begin_info(command, raw));
    case GEN_vkCmdBeginRendering:
        return look_at_rendering(r, ((const struct gen_args_vkCmdBeginRendering *)raw)->pRenderingInfo);
    case GEN_vkCmdExecuteCommands:
        return look_at_executed(r, raw);
    default:
        return LAP_OK;
    }
}

enum lap_status replay_reference_check_submit(struct replay *r, VkCommandBuffer commands, uint64_t since)
{
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(commands));

    if (!index && commands)
        return lap_fail(LAP_ERROR_REPLAY, "a command buffer that was submitted is not alive any more");
    return index ? check_object(r, GEN_HANDLE_VkCommandBuffer, index, since) : LAP_OK;
}

/* ---- objects in use by submitted work ---- */

static enum lap_status use(struct replay *r, struct replay_device *dev, const struct replay_object *object,
                           const struct command_buffer_use *now);

static void note_use(const struct replay_device *dev, struct command_buffer_use *use,
                     const struct command_buffer_use *now)
{
    use->several |= use->queue != now->queue && !replay_submission_is_over(dev, use->queue, use->number);
    use->number = now->number;
    use->queue = now->queue;
}

static enum lap_status use_named(struct replay *r, struct replay_device *dev, const struct block_reference *name,
                                 const struct command_buffer_use *now)
{
    const struct replay_object *object =
        name->type == GEN_HANDLE_VkCommandBuffer ? replay_object_get(r, GEN_HANDLE_VkCommandBuffer, name->index) : NULL;

    return object ? use(r, dev, object, now) : LAP_OK;
}

/* The secondary command buffers are contiguous. */
static enum lap_status use_names(struct replay *r, struct replay_device *dev, struct replay_references *references,
                                 const struct command_buffer_use *now)
{
    struct block_references *names;
    enum lap_status status;

    if (r->objects.reference_check->depth == MOST_DEPTH)
        return lap_fail(LAP_ERROR_LIMIT, "secondary command buffers execute others %u deep", MOST_DEPTH);
    r->objects.reference_check->depth++;
    status = get_names(r, references, &names);
    for (size_t i = 0; status == LAP_OK && i < names->count; i++)
        status = use_named(r, dev, &names->names[i], now);
    let_go_names(names);
    r->objects.reference_check->depth--;
    return status;
}

static enum lap_status use(struct replay *r, struct replay_device *dev, const struct replay_object *object,
                           const struct command_buffer_use *now)
{
    struct replay_references *references = object->references;

    if (!references || (references->use.number == now->number && references->use.queue == now->queue))
        return LAP_OK;
    note_use(dev, &references->use, now);
    replay_command_pool_use(r, object->parent, now->queue, now->number);
    return references->executes ? use_names(r, dev, references, now) : LAP_OK;
}

enum lap_status replay_reference_check_use(struct replay *r, struct replay_device *dev, VkCommandBuffer commands,
                                           VkQueue live)
{
    const struct replay_queue *queue = replay_queue_find(dev, live);
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkCommandBuffer, gen_u64_VkCommandBuffer(commands));
    const struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkCommandBuffer, index);
    struct command_buffer_use now = {.number = replay_submission_next(dev),
                                     .queue = queue ? (uint32_t)(queue - dev->queues.all) : 0};

    return queue && object ? use(r, dev, object, &now) : LAP_OK;
}

/* ---- queries that are reset ---- */

static bool has_name(const struct block_references *names, enum gen_handle_type type, uint64_t index)
{
    size_t i = 0;

    while (i < names->count && (names->names[i].type != type || names->names[i].index != index))
        i++;
    return i < names->count;
}

/* Waits for the work of the command buffer, if the command buffer refers to the pool. */
static enum lap_status await_queries(struct replay *r, struct replay_device *dev, const struct replay_object *commands,
                                     uint64_t pool)
{
    struct replay_references *references = commands->references;
    struct block_references *names;
    enum lap_status status;
    bool has;

    if (!references || !references->block || !references->use.number ||
        (!references->use.several && replay_submission_is_over(dev, references->use.queue, references->use.number)))
        return LAP_OK;
    status = get_names(r, references, &names);
    has = status == LAP_OK && has_name(names, GEN_HANDLE_VkQueryPool, pool);
    let_go_names(names);
    if (!has)
        return status;
    return references->use.several ? replay_command_pool_await(r, dev, commands->parent)
                                   : replay_submission_await(r, dev, references->use.queue, references->use.number,
                                                             "queries that are in use");
}

static bool has_freed_commands(const struct replay_device *dev)
{
    return replay_deferred_destroy_has(dev, GEN_HANDLE_VkCommandBuffer) ||
           replay_deferred_destroy_has(dev, GEN_HANDLE_VkCommandPool);
}

enum lap_status replay_reference_check_reset_queries(struct replay *r, struct replay_device *dev, VkQueryPool pool)
{
    const struct replay_table *table = &r->objects.tables[GEN_HANDLE_VkCommandBuffer];
    uint64_t index = replay_object_index(r, GEN_HANDLE_VkQueryPool, gen_u64_VkQueryPool(pool));
    enum lap_status status = LAP_OK;

    if (!replay_submission_poll(dev))
        return LAP_OK;
    if (has_freed_commands(dev)) /* their references are unknown */
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

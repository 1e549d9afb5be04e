/* SPDX-License-Identifier: MIT */
/* Held vkQueueBindSparse: what a batch binds has to be there when it is given, and what earlier ones bound need not be.
 * The driver only counts. */
#include "replayer/submit/submit.h"
#include "replayer/sync/submission.h"

#include <stdlib.h>

#include "gen_replay.h"
#include "replayer/memory/memory_internal.h"
#include "replayer/sparse/sparse_internal.h"
#include "tests/unit/player_program.h"
#include "trace/format/decode.h"
#include "vulkan/block.h"

enum { EARLY = 1, LATE, OBJECTS = 2 }; /* buffers, images and memories, by the batch that binds them */

struct scene {
    struct program p;
    struct replay r;
    struct replay_device dev;
    struct replay_memory_planner planner;
    VkSemaphore semaphore;                           /* recorded: batch N waits for N */
    VkBuffer buffers[OBJECTS + 1];                   /* recorded, as are the others */
    VkImage opaque[OBJECTS + 1], tiled[OBJECTS + 1]; /* in LATE's there is another one, which is apart */
    VkImage apart;
    VkDeviceMemory memories[OBJECTS + 1];
};

static uint32_t given, given_opaque;

static VKAPI_ATTR VkResult VKAPI_CALL bind_sparse(VkQueue queue, uint32_t count, const VkBindSparseInfo *infos,
                                                  VkFence fence)
{
    (void)queue;
    (void)fence;
    given += count;
    for (uint32_t i = 0; i < count; i++)
        given_opaque += infos[i].imageOpaqueBindCount;
    return VK_SUCCESS;
}
static VKAPI_ATTR VkResult VKAPI_CALL create_semaphore(VkDevice device, const VkSemaphoreCreateInfo *info,
                                                       const VkAllocationCallbacks *allocator, VkSemaphore *out)
{
    (void)device;
    (void)info;
    (void)allocator;
    *out = gen_VkSemaphore(0x5000);
    return VK_SUCCESS;
}
static VKAPI_ATTR void VKAPI_CALL destroy_semaphore(VkDevice device, VkSemaphore semaphore,
                                                    const VkAllocationCallbacks *allocator)
{
    (void)device;
    (void)semaphore;
    (void)allocator;
}
static VKAPI_ATTR VkResult VKAPI_CALL signal_semaphore(VkDevice device, const VkSemaphoreSignalInfo *info)
{
    (void)device;
    (void)info;
    return VK_SUCCESS;
}
static VKAPI_ATTR void VKAPI_CALL destroy_buffer(VkDevice device, VkBuffer buffer,
                                                 const VkAllocationCallbacks *allocator)
{
    (void)device;
    (void)buffer;
    (void)allocator;
}
static VKAPI_ATTR void VKAPI_CALL destroy_image(VkDevice device, VkImage image, const VkAllocationCallbacks *allocator)
{
    (void)device;
    (void)image;
    (void)allocator;
}

/* ---- what is recorded ---- */

static void put_binds(struct scene *s)
{
    static const uint64_t values[] = {EARLY, LATE};
    VkSparseMemoryBind ranges[OBJECTS];
    VkSparseImageMemoryBind tiles[OBJECTS];
    VkSparseBufferMemoryBindInfo buffers[OBJECTS];
    VkSparseImageOpaqueMemoryBindInfo opaque[OBJECTS][2];
    VkSparseImageMemoryBindInfo tiled[OBJECTS];
    VkTimelineSemaphoreSubmitInfo waits[OBJECTS];
    VkBindSparseInfo infos[OBJECTS];

    for (uint32_t i = 0; i < OBJECTS; i++) {
        VkDeviceMemory memory = s->memories[i + 1];
        ranges[i] = (VkSparseMemoryBind){.size = BYTES, .memory = memory};
        tiles[i] = (VkSparseImageMemoryBind){.extent = {1, 1, 1}, .memory = memory};
        buffers[i] = (VkSparseBufferMemoryBindInfo){s->buffers[i + 1], 1, &ranges[i]};
        opaque[i][0] = (VkSparseImageOpaqueMemoryBindInfo){s->apart, 1, &ranges[i]};
        opaque[i][1] = (VkSparseImageOpaqueMemoryBindInfo){s->opaque[i + 1], 1, &ranges[i]};
        tiled[i] = (VkSparseImageMemoryBindInfo){s->tiled[i + 1], 1, &tiles[i]};
        waits[i] = (VkTimelineSemaphoreSubmitInfo){.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                                   .waitSemaphoreValueCount = 1,
                                                   .pWaitSemaphoreValues = &values[i]};
        infos[i] = (VkBindSparseInfo){.sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO,
                                      .pNext = &waits[i],
                                      .waitSemaphoreCount = 1,
                                      .pWaitSemaphores = &s->semaphore,
                                      .bufferBindCount = 1,
                                      .pBufferBinds = &buffers[i],
                                      .imageOpaqueBindCount = i + 1 == LATE ? 2 : 1,
                                      .pImageOpaqueBinds = i + 1 == LATE ? opaque[i] : &opaque[i][1],
                                      .imageBindCount = 1,
                                      .pImageBinds = &tiled[i]};
    }
    PUT(&s->p, vkQueueBindSparse, s->p.queue, OBJECTS, infos, VK_NULL_HANDLE);
}

/* ---- what is there ---- */

static struct replay_sparse *make_sparse(struct scene *s)
{
    struct replay_sparse *sparse = calloc(1, sizeof *sparse);

    CHECK(sparse != NULL);
    sparse->needs.requirements = (VkMemoryRequirements){BYTES, BYTES, 1};
    sparse->blocks.bytes = sparse->blocks.alignment = BYTES;
    sparse->next = s->dev.memory.sparse->objects;
    sparse->previous = &s->dev.memory.sparse->objects;
    if (sparse->next)
        sparse->next->previous = &sparse->next;
    return s->dev.memory.sparse->objects = sparse;
}

static void make_buffer(struct scene *s, uint64_t index)
{
    struct replay_buffer *buffer;
    CHECK_EQ_INT(replay_buffer_add(&s->r, &s->dev, index, gen_VkBuffer(0x100 + index), &buffer), LAP_OK);
    buffer->sparse = make_sparse(s);
}

static struct replay_image *make_image(struct scene *s, uint64_t index)
{
    struct replay_image *image;
    CHECK_EQ_INT(replay_image_add(&s->r, &s->dev, index, gen_VkImage(0x200 + index), &image), LAP_OK);
    image->sparse = make_sparse(s);
    return image;
}

/* With memory of the driver's, as if something had been bound there before. */
static void make_memory(struct scene *s, uint64_t index)
{
    struct gen_args_lapilliSparseMemory args = {.memory = gen_VkDeviceMemory(index), .size = BYTES};
    struct replay_sparse_memory *memory;

    CHECK_EQ_INT(replay_lapilliSparseMemory(&s->r, &s->dev, &args), LAP_OK);
    memory = lap_map_get(&s->dev.memory.sparse->memories, index);
    memory->place.memory = gen_VkDeviceMemory(0x300 + index);
    memory->place.bytes = BYTES;
}

static void free_memory(struct scene *s, uint64_t index)
{
    struct gen_args_lapilliFreeSparseMemory args = {.memory = gen_VkDeviceMemory(index)};
    struct replay_sparse_memory *memory = lap_map_get(&s->dev.memory.sparse->memories, index);

    memory->place = (struct replay_memory_place){0};
    CHECK_EQ_INT(replay_lapilliFreeSparseMemory(&s->r, &s->dev, &args), LAP_OK);
}

static void end_buffer(struct scene *s, uint64_t index)
{
    CHECK_EQ_INT(gen_destroy_object(&s->r, &s->dev, GEN_HANDLE_VkBuffer, 0x100 + index), LAP_OK);
}

static void end_image(struct scene *s, uint64_t index)
{
    CHECK_EQ_INT(gen_destroy_object(&s->r, &s->dev, GEN_HANDLE_VkImage, 0x200 + index), LAP_OK);
}

/* Images are numbered so: bound by opaque bytes, then by tiles, then the one apart. */
#define OPAQUE(batch) ((uint64_t)(batch))
#define TILED(batch)  ((uint64_t)(OBJECTS + (batch)))
#define APART         ((uint64_t)(2 * OBJECTS + 1))

static void make_objects(struct scene *s)
{
    const VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                            .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    const VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, .pNext = &type};
    VkSemaphore semaphore = gen_VkSemaphore(1);
    struct gen_args_vkCreateSemaphore create = {.pCreateInfo = &info, .pSemaphore = &semaphore};
    struct replay_image *apart;

    s->dev.memory.planner = &s->planner;
    s->dev.vk = (struct gen_device_dispatch){.CreateSemaphore = create_semaphore,
                                             .DestroySemaphore = destroy_semaphore,
                                             .SignalSemaphore = signal_semaphore,
                                             .DestroyBuffer = destroy_buffer,
                                             .DestroyImage = destroy_image,
                                             .QueueBindSparse = bind_sparse};
    CHECK_EQ_INT(replay_CreateSemaphore(&s->r, &s->dev, &create), LAP_OK);
    CHECK_EQ_INT(replay_object_add(&s->r, GEN_HANDLE_VkQueue, 1, 0x400, &s->dev, NULL), LAP_OK);
    for (uint64_t i = 1; i <= OBJECTS; i++) {
        make_memory(s, i);
        make_buffer(s, i);
        make_image(s, OPAQUE(i));
        make_image(s, TILED(i));
    }
    apart = make_image(s, APART);
    apart->sparse->apart = apart->sparse->bound = true;
}

/* Plays the only packet: both batches are held then. */
static void begin(struct scene *s)
{
    struct replay_options options = {.threads = 1};
    struct lap_args args;
    struct lap_dec dec;

    memset(s, 0, sizeof *s);
    given = given_opaque = 0;
    CHECK(program_begin(&s->p));
    s->semaphore = gen_VkSemaphore(sample_handle(&s->p.s, GEN_HANDLE_VkSemaphore, 1));
    for (uint32_t i = 1; i <= OBJECTS; i++) {
        s->buffers[i] = i == 1 ? s->p.buffer : gen_VkBuffer(sample_handle(&s->p.s, GEN_HANDLE_VkBuffer, i));
        s->memories[i] =
            i == 1 ? s->p.memory : gen_VkDeviceMemory(sample_handle(&s->p.s, GEN_HANDLE_VkDeviceMemory, i));
        s->opaque[i] = gen_VkImage(sample_handle(&s->p.s, GEN_HANDLE_VkImage, OPAQUE(i)));
        s->tiled[i] = gen_VkImage(sample_handle(&s->p.s, GEN_HANDLE_VkImage, TILED(i)));
    }
    CHECK(s->p.s.object_count < sizeof s->p.s.objects / sizeof s->p.s.objects[0]);
    s->apart = gen_VkImage(sample_handle(&s->p.s, GEN_HANDLE_VkImage, APART));
    put_binds(s);
    lap_writer_frame(s->p.s.writer);
    sample_end(&s->p.s);
    options.file = s->p.s.path;
    CHECK_EQ_INT(replay_open(&s->r, &options, NULL), LAP_OK);
    make_objects(s);
    CHECK_EQ_INT(lap_reader_next(s->r.reader, &s->r.at.packet), LAP_OK);
    s->r.at.command = GEN_vkQueueBindSparse;
    lap_dec_init(&dec, s->r.at.packet.body, s->r.at.packet.bytes, &s->r.arena, &s->r.source);
    gen_decode_table[GEN_vkQueueBindSparse](&dec, args.bytes);
    CHECK_EQ_INT(dec.status, LAP_OK);
    CHECK_EQ_INT(replay_QueueBindSparse(&s->r, &s->dev, (void *)args.bytes), LAP_OK);
    CHECK_EQ_U64(given, 0);
}

/* Lets batches up to one go. */
static enum lap_status signal_until(struct scene *s, uint64_t batch)
{
    const VkSemaphoreSignalInfo info = {.semaphore = gen_VkSemaphore(0x5000), .value = batch};
    struct gen_args_vkSignalSemaphore args = {.pSignalInfo = &info};

    return replay_SignalSemaphore(&s->r, &s->dev, &args);
}

static void finish(struct scene *s)
{
    for (uint64_t i = 1; i <= OBJECTS; i++)
        if (lap_map_get(&s->dev.memory.sparse->memories, i))
            free_memory(s, i);
    replay_submits_end(&s->dev);
    replay_objects_destroy_left(&s->r, &s->dev);
    replay_sparse_finish(&s->r, &s->dev);
    replay_submission_finish(&s->dev);
    replay_close(&s->r);
    sample_finish(&s->p.s);
}

/* ---- tests ---- */

/* An image that is apart was bound before, so nothing of its binds is left for the driver. */
UNIT_TEST(what_is_bound_is_given_when_it_can_be)
{
    struct scene s;
    begin(&s);
    CHECK_EQ_INT(signal_until(&s, EARLY), LAP_OK);
    CHECK_EQ_U64(given, 1);
    CHECK_EQ_U64(given_opaque, 1);
    CHECK_EQ_INT(signal_until(&s, LATE), LAP_OK);
    CHECK_EQ_U64(given, 2);
    CHECK_EQ_U64(given_opaque, 2);
    finish(&s);
}

UNIT_TEST(what_an_earlier_batch_bound_may_go)
{
    struct scene s;
    begin(&s);
    CHECK_EQ_INT(signal_until(&s, EARLY), LAP_OK);
    end_buffer(&s, EARLY);
    end_image(&s, OPAQUE(EARLY));
    end_image(&s, TILED(EARLY));
    free_memory(&s, EARLY);
    make_buffer(&s, EARLY); /* with the number of another one */
    if (signal_until(&s, LATE) != LAP_OK)
        UNIT_FAIL("%s", lap_error_message());
    CHECK_EQ_U64(given, 2);
    finish(&s);
}

enum end { END_BUFFER, END_OPAQUE, END_TILED, END_APART, END_MEMORY, OTHER_BUFFER, OTHER_MEMORY, ENDS };

static void end_one(struct scene *s, enum end what)
{
    if (what == END_BUFFER || what == OTHER_BUFFER)
        end_buffer(s, LATE);
    if (what == OTHER_BUFFER)
        make_buffer(s, LATE);
    if (what == END_OPAQUE || what == END_TILED || what == END_APART)
        end_image(s, what == END_OPAQUE ? OPAQUE(LATE) : what == END_TILED ? TILED(LATE) : APART);
    if (what == END_MEMORY || what == OTHER_MEMORY)
        free_memory(s, LATE);
    if (what == OTHER_MEMORY)
        make_memory(s, LATE);
}

UNIT_TEST(what_is_still_to_be_bound_may_not)
{
    for (enum end what = 0; what < ENDS; what++) {
        struct scene s;
        begin(&s);
        end_one(&s, what);
        CHECK_EQ_INT(signal_until(&s, EARLY), LAP_OK); /* it binds nothing of that */
        CHECK_EQ_U64(given, 1);
        CHECK_EQ_INT(signal_until(&s, LATE), LAP_ERROR_REPLAY);
        CHECK(strstr(lap_error_message(), "a buffer, an image or memory that is bound is not alive any more") != NULL);
        CHECK(strstr(lap_error_message(), "(vkQueueBindSparse), chunk at offset") != NULL);
        CHECK_EQ_U64(given, 1);
        finish(&s);
    }
}

UNIT_MAIN();

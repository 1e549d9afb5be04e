/* SPDX-License-Identifier: MIT */
/*
 * signals: semaphores and fences that leave Vulkan as file descriptors and come back in the same process. Opaque ones
 * share a payload, for good or until the next wait; sync files are copies, which take the signal along. Binary and
 * timeline semaphores, fences, a sync file of a fence that becomes a semaphore's and the reverse, descriptors that are
 * duplicated, imported twice, or -1. Each piece of work copies a word that the one before it wrote, so the last one
 * shows whether all of them ran in order. A second device waits for signals of the first.
 *
 * With --given the program waits with poll() for what it exported, as programs do that hand it to another process.
 */
#include <poll.h>
#include <unistd.h>

#include "common/app.h"

#define WORDS  1024u
#define OPAQUE VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD_BIT
#define SYNC   VK_EXTERNAL_SEMAPHORE_HANDLE_TYPE_SYNC_FD_BIT
#define ROUNDS 4u

/* One device, and a row of words of which each piece of work copies the last to the next. */
struct side {
    const struct app *app;
    VkDevice device;
    VkQueue queue;
    VkCommandPool pool;
    struct app_buffer words;
    uint32_t count;
    PFN_vkGetSemaphoreFdKHR get_semaphore;
    PFN_vkImportSemaphoreFdKHR import_semaphore;
    PFN_vkGetFenceFdKHR get_fence;
    PFN_vkImportFenceFdKHR import_fence;
};

/* What the driver exports and imports. */
struct abilities {
    bool opaque, sync, opaque_timeline, opaque_fence, sync_fence;
};

/* ---- what the driver can ---- */

static bool can_semaphore(const struct app *app, VkSemaphoreType kind, VkExternalSemaphoreHandleTypeFlagBits type)
{
    VkSemaphoreTypeCreateInfo timeline = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO, .semaphoreType = kind};
    VkPhysicalDeviceExternalSemaphoreInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_SEMAPHORE_INFO, .pNext = &timeline, .handleType = type};
    VkExternalSemaphoreProperties properties = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_SEMAPHORE_PROPERTIES};
    const VkExternalSemaphoreFeatureFlags both =
        VK_EXTERNAL_SEMAPHORE_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_SEMAPHORE_FEATURE_IMPORTABLE_BIT;
    vkGetPhysicalDeviceExternalSemaphoreProperties(app->physical, &info, &properties);
    return (properties.externalSemaphoreFeatures & both) == both;
}

static bool can_fence(const struct app *app, VkExternalFenceHandleTypeFlagBits type)
{
    VkPhysicalDeviceExternalFenceInfo info = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_FENCE_INFO,
                                              .handleType = type};
    VkExternalFenceProperties properties = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_FENCE_PROPERTIES};
    const VkExternalFenceFeatureFlags both =
        VK_EXTERNAL_FENCE_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_FENCE_FEATURE_IMPORTABLE_BIT;
    vkGetPhysicalDeviceExternalFenceProperties(app->physical, &info, &properties);
    return (properties.externalFenceFeatures & both) == both;
}

/* ---- objects ---- */

static VkSemaphore create_semaphore(const struct side *side, VkExternalSemaphoreHandleTypeFlags exported, bool timeline)
{
    VkSemaphoreTypeCreateInfo type = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO,
                                      .semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE};
    VkExportSemaphoreCreateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_SEMAPHORE_CREATE_INFO,
                                          .pNext = timeline ? &type : NULL,
                                          .handleTypes = exported};
    VkSemaphoreCreateInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO,
                                  .pNext = exported ? (const void *)&export : export.pNext};
    VkSemaphore semaphore;
    CHECK_VK(vkCreateSemaphore(side->device, &info, NULL, &semaphore));
    return semaphore;
}

static VkFence create_fence(const struct side *side, VkExternalFenceHandleTypeFlags exported)
{
    VkExportFenceCreateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_FENCE_CREATE_INFO, .handleTypes = exported};
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, .pNext = exported ? &export : NULL};
    VkFence fence;
    CHECK_VK(vkCreateFence(side->device, &info, NULL, &fence));
    return fence;
}

static int export_semaphore(const struct side *side, VkSemaphore semaphore, VkExternalSemaphoreHandleTypeFlagBits type)
{
    VkSemaphoreGetFdInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_GET_FD_INFO_KHR, .semaphore = semaphore, .handleType = type};
    int fd = -2;
    CHECK_VK(side->get_semaphore(side->device, &info, &fd));
    CHECK(fd >= 0 || (fd == -1 && type == SYNC));
    return fd;
}

static void import_semaphore(const struct side *side, VkSemaphore semaphore, VkExternalSemaphoreHandleTypeFlagBits type,
                             bool temporary, int fd)
{
    VkImportSemaphoreFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_IMPORT_SEMAPHORE_FD_INFO_KHR,
                                       .semaphore = semaphore,
                                       .flags = temporary ? VK_SEMAPHORE_IMPORT_TEMPORARY_BIT : 0,
                                       .handleType = type,
                                       .fd = fd};
    CHECK_VK(side->import_semaphore(side->device, &info));
}

static int export_fence(const struct side *side, VkFence fence, VkExternalFenceHandleTypeFlagBits type)
{
    VkFenceGetFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_FENCE_GET_FD_INFO_KHR, .fence = fence, .handleType = type};
    int fd = -2;
    CHECK_VK(side->get_fence(side->device, &info, &fd));
    CHECK(fd >= 0 || (fd == -1 && type == VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT));
    return fd;
}

static void import_fence(const struct side *side, VkFence fence, VkExternalFenceHandleTypeFlagBits type, bool temporary,
                         int fd)
{
    VkImportFenceFdInfoKHR info = {.sType = VK_STRUCTURE_TYPE_IMPORT_FENCE_FD_INFO_KHR,
                                   .fence = fence,
                                   .flags = temporary ? VK_FENCE_IMPORT_TEMPORARY_BIT : 0,
                                   .handleType = type,
                                   .fd = fd};
    CHECK_VK(side->import_fence(side->device, &info));
}

static int duplicate(int fd)
{
    int other = fd < 0 ? fd : dup(fd);
    CHECK(fd < 0 || other >= 0);
    return other;
}

/* ---- work ---- */

/* A semaphore and, of a timeline, its value. */
struct point {
    VkSemaphore semaphore;
    uint64_t value;
};

/* Copies the last word behind itself; what came before is known only through what is waited for. */
static VkCommandBuffer record(struct side *side)
{
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = side->pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
    VkCommandBufferBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO,
                                      .flags = VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT};
    VkBufferCopy region = {side->count * 4, side->count * 4 + 4, 4};
    VkCommandBuffer commands;
    CHECK(++side->count < WORDS);
    CHECK_VK(vkAllocateCommandBuffers(side->device, &allocate, &commands));
    CHECK_VK(vkBeginCommandBuffer(commands, &begin));
    vkCmdCopyBuffer(commands, side->words.buffer, side->words.buffer, 1, &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_HOST_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    CHECK_VK(vkEndCommandBuffer(commands));
    return commands;
}

static void work(struct side *side, const struct point *wait, const struct point *signal, VkFence fence)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_TRANSFER_BIT;
    VkCommandBuffer commands = record(side);
    VkTimelineSemaphoreSubmitInfo values = {.sType = VK_STRUCTURE_TYPE_TIMELINE_SEMAPHORE_SUBMIT_INFO,
                                            .waitSemaphoreValueCount = wait ? 1 : 0,
                                            .pWaitSemaphoreValues = wait ? &wait->value : NULL,
                                            .signalSemaphoreValueCount = signal ? 1 : 0,
                                            .pSignalSemaphoreValues = signal ? &signal->value : NULL};
    VkSubmitInfo info = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                         .pNext = (wait && wait->value) || (signal && signal->value) ? &values : NULL,
                         .waitSemaphoreCount = wait ? 1 : 0,
                         .pWaitSemaphores = wait ? &wait->semaphore : NULL,
                         .pWaitDstStageMask = &stage,
                         .commandBufferCount = 1,
                         .pCommandBuffers = &commands,
                         .signalSemaphoreCount = signal ? 1 : 0,
                         .pSignalSemaphores = signal ? &signal->semaphore : NULL};
    CHECK_VK(vkQueueSubmit(side->queue, 1, &info, fence));
}

/* Two batches of one call, which name the same semaphore. */
static void work_twice(struct side *side, const struct point *wait, const struct point *signal)
{
    const VkPipelineStageFlags stage = VK_PIPELINE_STAGE_TRANSFER_BIT;
    VkCommandBuffer commands[2] = {record(side), record(side)};
    VkSubmitInfo infos[2] = {{.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                              .waitSemaphoreCount = 1,
                              .pWaitSemaphores = &wait->semaphore,
                              .pWaitDstStageMask = &stage,
                              .commandBufferCount = 1,
                              .pCommandBuffers = &commands[0]},
                             {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                              .commandBufferCount = 1,
                              .pCommandBuffers = &commands[1],
                              .signalSemaphoreCount = 1,
                              .pSignalSemaphores = &signal->semaphore}};
    CHECK_VK(vkQueueSubmit(side->queue, 2, infos, VK_NULL_HANDLE));
}

static void wait_for(const struct side *side, VkFence fence)
{
    CHECK_VK(vkWaitForFences(side->device, 1, &fence, VK_TRUE, UINT64_MAX));
}

static void reset(const struct side *side, VkFence fence)
{
    CHECK_VK(vkResetFences(side->device, 1, &fence));
}

/* All words are the first one; then there is another first one. */
static void check(struct side *side)
{
    const struct app *app = side->app;
    uint32_t *words = (uint32_t *)(void *)side->words.mapped;
    CHECK_VK(vkQueueWaitIdle(side->queue));
    app_buffer_invalidate(app, &side->words, 0, side->words.size);
    for (uint32_t i = 1; i <= side->count; i++)
        EXPECT_EQ(app, words[i], words[0]);
    words[0] = words[0] * 3 + 1;
    for (uint32_t i = 1; i < WORDS; i++)
        words[i] = 0;
    app_buffer_flush(app, &side->words, 0, side->words.size);
    side->count = 0;
    CHECK_VK(vkResetCommandPool(side->device, side->pool, VK_COMMAND_POOL_RESET_RELEASE_RESOURCES_BIT));
}

/* ---- opaque descriptors: one payload with several names ---- */

static void run_opaque(struct side *a, struct side *b, bool temporary)
{
    VkSemaphore exporter = create_semaphore(a, OPAQUE, false);
    VkSemaphore importer = create_semaphore(b, temporary ? 0 : OPAQUE, false);
    struct point first = {exporter, 0}, second = {importer, 0};
    if (!temporary)
        import_semaphore(b, importer, OPAQUE, false, export_semaphore(a, exporter, OPAQUE));
    for (uint32_t i = 0; i < ROUNDS; i++) {
        work(a, NULL, &first, VK_NULL_HANDLE);
        if (temporary) {
            import_semaphore(b, importer, OPAQUE, true, duplicate(export_semaphore(a, exporter, OPAQUE)));
            work_twice(b, &second, &second); /* the wait is for the import, the signal is the semaphore's own */
            work(b, &second, NULL, VK_NULL_HANDLE);
        } else {
            work(b, &second, &second, VK_NULL_HANDLE);
            work(a, &first, NULL, VK_NULL_HANDLE);
        }
    }
    CHECK_VK(vkQueueWaitIdle(a->queue));
    CHECK_VK(vkQueueWaitIdle(b->queue));
    vkDestroySemaphore(a->device, exporter, NULL);
    work(b, NULL, &second, VK_NULL_HANDLE); /* the payload outlives its first name */
    work(b, &second, NULL, VK_NULL_HANDLE);
    check(b);
    vkDestroySemaphore(b->device, importer, NULL);
    check(a);
}

static uint64_t counter(const struct side *side, VkSemaphore semaphore)
{
    uint64_t value = 0;
    CHECK_VK(vkGetSemaphoreCounterValue(side->device, semaphore, &value));
    return value;
}

static void host_signal(const struct side *side, VkSemaphore semaphore, uint64_t value)
{
    VkSemaphoreSignalInfo info = {
        .sType = VK_STRUCTURE_TYPE_SEMAPHORE_SIGNAL_INFO, .semaphore = semaphore, .value = value};
    CHECK_VK(vkSignalSemaphore(side->device, &info));
}

static void host_wait(const struct side *side, VkSemaphore semaphore, uint64_t value)
{
    VkSemaphoreWaitInfo info = {.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO,
                                .semaphoreCount = 1,
                                .pSemaphores = &semaphore,
                                .pValues = &value};
    CHECK_VK(vkWaitSemaphores(side->device, &info, UINT64_MAX));
}

static void run_timeline(struct side *a, struct side *b)
{
    VkSemaphore exporter = create_semaphore(a, OPAQUE, true), importer = create_semaphore(b, OPAQUE, true);
    struct point first = {exporter, 0}, second = {importer, 0}, host = {exporter, 0};
    uint64_t value = 0;
    import_semaphore(b, importer, OPAQUE, false, export_semaphore(a, exporter, OPAQUE));
    for (uint32_t i = 0; i < ROUNDS; i++) {
        first.value = ++value;
        work(a, value > 1 ? &host : NULL, &first, VK_NULL_HANDLE);
        second.value = value;
        work(b, &second, &(struct point){importer, value + 1}, VK_NULL_HANDLE);
        host_wait(a, exporter, ++value);
        EXPECT_EQ(a->app, counter(b, importer), value);
        host.value = ++value;
        work(a, &host, &(struct point){exporter, value + 1}, VK_NULL_HANDLE); /* before its signal */
        host_signal(b, importer, value);
        host.value = ++value;
        host_wait(b, importer, value);
    }
    check(a);
    if (a != b)
        check(b);
    vkDestroySemaphore(a->device, exporter, NULL);
    EXPECT_EQ(b->app, counter(b, importer), value);
    vkDestroySemaphore(b->device, importer, NULL);
}

/* ---- sync files: copies ---- */

static void run_sync(struct side *a, struct side *b)
{
    VkSemaphore exporter = create_semaphore(a, SYNC, false), importer = create_semaphore(b, 0, false),
                another = create_semaphore(b, 0, false);
    struct point first = {exporter, 0}, second = {importer, 0}, third = {another, 0};
    for (uint32_t i = 0; i < ROUNDS; i++) {
        int fd;
        work(a, NULL, &first, VK_NULL_HANDLE);
        fd = export_semaphore(a, exporter, SYNC); /* which unsignals it */
        if (i % 2)
            import_semaphore(b, another, SYNC, true, duplicate(fd));
        import_semaphore(b, importer, SYNC, true, fd);
        work_twice(b, &second, &second);
        work(b, &second, NULL, VK_NULL_HANDLE);
        if (i % 2)
            work(b, &third, NULL, VK_NULL_HANDLE);
    }
    import_semaphore(b, importer, SYNC, true, -1);
    work(b, &second, NULL, VK_NULL_HANDLE);
    work(a, NULL, &first, VK_NULL_HANDLE);
    import_semaphore(b, importer, SYNC, true, export_semaphore(a, exporter, SYNC)); /* and never waited for */
    work(a, NULL, &first, VK_NULL_HANDLE);
    import_semaphore(b, importer, SYNC, true, export_semaphore(a, exporter, SYNC)); /* in its place */
    work(b, &second, NULL, VK_NULL_HANDLE);
    check(a);
    if (a != b)
        check(b);
    vkDestroySemaphore(a->device, exporter, NULL);
    vkDestroySemaphore(b->device, importer, NULL);
    vkDestroySemaphore(b->device, another, NULL);
}

/* ---- fences ---- */

static void run_opaque_fence(struct side *a, struct side *b, bool temporary)
{
    const VkExternalFenceHandleTypeFlagBits type = VK_EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_FD_BIT;
    VkFence exporter = create_fence(a, type), importer = create_fence(b, temporary ? 0 : type);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        if (i == 0 || temporary)
            import_fence(b, importer, type, temporary, export_fence(a, exporter, type));
        work(a, NULL, NULL, exporter);
        wait_for(b, importer);
        reset(b, importer); /* restores its own where it was temporary */
        if (temporary)
            reset(a, exporter);
        work(b, NULL, NULL, importer);
        wait_for(temporary ? b : a, temporary ? importer : exporter);
        reset(temporary ? b : a, temporary ? importer : exporter);
    }
    check(a);
    if (a != b)
        check(b);
    vkDestroyFence(a->device, exporter, NULL);
    vkDestroyFence(b->device, importer, NULL);
}

static void run_sync_fence(struct side *a, struct side *b, bool semaphores)
{
    const VkExternalFenceHandleTypeFlagBits type = VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT;
    VkFence exporter = create_fence(a, type), importer = create_fence(b, 0);
    VkSemaphore signalled = semaphores ? create_semaphore(a, SYNC, false) : VK_NULL_HANDLE;
    VkSemaphore awaited = semaphores ? create_semaphore(b, 0, false) : VK_NULL_HANDLE;
    struct point first = {signalled, 0}, second = {awaited, 0};
    for (uint32_t i = 0; i < ROUNDS; i++) {
        int fd;
        work(a, NULL, NULL, exporter);
        fd = export_fence(a, exporter, type); /* which resets it */
        if (semaphores && i % 2) {
            import_semaphore(b, awaited, SYNC, true, duplicate(fd));
            work(b, &second, NULL, VK_NULL_HANDLE);
        }
        import_fence(b, importer, type, true, fd);
        wait_for(b, importer);
        reset(b, importer);
        work(b, NULL, NULL, importer);
        wait_for(b, importer);
        reset(b, importer);
        if (semaphores && i % 2) {
            work(a, NULL, &first, VK_NULL_HANDLE);
            import_fence(b, importer, type, true, export_semaphore(a, signalled, SYNC));
            wait_for(b, importer);
            reset(b, importer);
        }
    }
    import_fence(b, importer, type, true, -1);
    CHECK_VK(vkGetFenceStatus(b->device, importer));
    reset(b, importer);
    check(a);
    if (a != b)
        check(b);
    vkDestroyFence(a->device, exporter, NULL);
    vkDestroyFence(b->device, importer, NULL);
    vkDestroySemaphore(a->device, signalled, NULL);
    vkDestroySemaphore(b->device, awaited, NULL);
}

/* ---- for somebody else ---- */

/* The host learns from the descriptor alone that the work is done, and stores where it read. */
static void await_file(int fd)
{
    struct pollfd look = {.fd = fd, .events = POLLIN};
    if (fd < 0)
        return;
    while (poll(&look, 1, -1) < 1)
        ;
    CHECK(look.revents & POLLIN);
    close(fd);
}

static void run_given(struct side *side)
{
    const struct app *app = side->app;
    VkSemaphore exporter = create_semaphore(side, SYNC, false);
    uint32_t *words = (uint32_t *)(void *)side->words.mapped;
    for (uint32_t i = 0; i < 100; i++) {
        uint32_t *last;
        work(side, NULL, &(struct point){exporter, 0}, VK_NULL_HANDLE);
        await_file(export_semaphore(side, exporter, SYNC));
        app_buffer_invalidate(app, &side->words, 0, side->words.size);
        last = &words[side->count];
        EXPECT_EQ(app, *last, last[-1]);
        if (i % 4 == 3) { /* what the next work reads */
            *last += i;
            app_buffer_flush(app, &side->words, 0, side->words.size);
            work(side, NULL, NULL, VK_NULL_HANDLE);
            CHECK_VK(vkQueueWaitIdle(side->queue));
            app_buffer_invalidate(app, &side->words, 0, side->words.size);
            EXPECT_EQ(app, last[1], last[0]);
            last[0] = last[1] = words[0];
            app_buffer_flush(app, &side->words, 0, side->words.size);
        }
    }
    check(side);
    vkDestroySemaphore(side->device, exporter, NULL);
}

/* ---- devices ---- */

static void side_init(struct side *side, const struct app *app, bool fences)
{
    *side = (struct side){.app = app, .device = app->device, .queue = app->queue};
    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                    .queueFamilyIndex = app->queue_family};
    CHECK_VK(vkCreateCommandPool(side->device, &pool, NULL, &side->pool));
    app_buffer_create(app, &side->words, WORDS * 4, VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT,
                      APP_READBACK);
    memset(side->words.mapped, 0, WORDS * 4);
    memcpy(side->words.mapped, "word", 4);
    app_buffer_flush(app, &side->words, 0, side->words.size);
    side->get_semaphore = (PFN_vkGetSemaphoreFdKHR)app_device_function(app, "vkGetSemaphoreFdKHR");
    side->import_semaphore = (PFN_vkImportSemaphoreFdKHR)app_device_function(app, "vkImportSemaphoreFdKHR");
    if (fences) {
        side->get_fence = (PFN_vkGetFenceFdKHR)app_device_function(app, "vkGetFenceFdKHR");
        side->import_fence = (PFN_vkImportFenceFdKHR)app_device_function(app, "vkImportFenceFdKHR");
    }
}

static void side_finish(struct side *side)
{
    app_buffer_destroy(side->app, &side->words);
    vkDestroyCommandPool(side->device, side->pool, NULL);
}

static void run(struct side *a, struct side *b, const struct abilities *can, bool temporary)
{
    if (can->opaque)
        run_opaque(a, b, temporary);
    if (can->opaque_timeline)
        run_timeline(a, b);
    if (can->sync)
        run_sync(a, b);
    if (can->opaque_fence)
        run_opaque_fence(a, b, temporary);
    if (can->sync_fence)
        run_sync_fence(a, b, can->sync);
}

int main(int argc, char **argv)
{
    static bool given, two, temporary;
    static const struct app_option options[] = {
        {"--given", "wait with poll() for sync files that are exported", &given, NULL},
        {"--temporary", "import what is shared until the next wait or reset", &temporary, NULL},
        {"--two", "export from one device and import into another", &two, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "signals",
        .what = "Passes semaphores and fences on as file descriptors.",
        .options = options,
    };
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES};
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = &timeline};
    struct app_device_request request = {.extensions = (const char *[]){VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME,
                                                                        VK_KHR_EXTERNAL_FENCE_FD_EXTENSION_NAME},
                                         .next = &timeline};
    struct app app, other;
    struct side a, b;
    bool fences;

    app_init(&app, argc, argv, &program);
    if (!app_has_extension(&app, VK_KHR_EXTERNAL_SEMAPHORE_FD_EXTENSION_NAME))
        app_skip(&app, "no VK_KHR_external_semaphore_fd");
    if (app.api_version < VK_API_VERSION_1_2)
        app_skip(&app, "no Vulkan 1.2");
    fences = app_has_extension(&app, VK_KHR_EXTERNAL_FENCE_FD_EXTENSION_NAME);
    request.extension_count = fences ? 2 : 1;
    vkGetPhysicalDeviceFeatures2(app.physical, &features);
    struct abilities can = {.opaque = can_semaphore(&app, VK_SEMAPHORE_TYPE_BINARY, OPAQUE),
                            .sync = can_semaphore(&app, VK_SEMAPHORE_TYPE_BINARY, SYNC),
                            .opaque_timeline =
                                timeline.timelineSemaphore && can_semaphore(&app, VK_SEMAPHORE_TYPE_TIMELINE, OPAQUE),
                            .opaque_fence = fences && can_fence(&app, VK_EXTERNAL_FENCE_HANDLE_TYPE_OPAQUE_FD_BIT),
                            .sync_fence = fences && can_fence(&app, VK_EXTERNAL_FENCE_HANDLE_TYPE_SYNC_FD_BIT)};
    if (!can.opaque && !can.sync && !can.opaque_timeline && !can.opaque_fence && !can.sync_fence)
        app_skip(&app, "the driver passes no semaphore and no fence on");
    if (given && !can.sync)
        app_skip(&app, "the driver exports no sync files");
    if ((temporary || two) && strstr(app.properties.deviceName, "SwiftShader"))
        app_skip(&app, "this driver waits for ever: imports do not end, and do not reach another device");
    app_device_create(&app, &request);
    side_init(&a, &app, fences);
    if (given) {
        run_given(&a);
    } else if (two) {
        other = app;
        app_device_create(&other, &request);
        side_init(&b, &other, fences);
        run(&a, &b, &can, temporary);
        side_finish(&b);
        app_device_destroy(&other);
    } else {
        run(&a, &a, &can, temporary);
    }
    side_finish(&a);
    return app_finish(&app);
}

/* SPDX-License-Identifier: MIT */
/*
 * payload: memory that is exported as a file descriptor and imported again in the same process, so that several
 * VkDeviceMemory are one payload. Buffers in host-visible memory are written by the host through either mapping and by
 * the device through either buffer, and read through the other; mappings begin at different offsets, and end, and the
 * exporter is freed first. The same in memory of the device, dedicated and not, and for an image of optimal tiling. A
 * second device imports the same payload. Descriptors are passed on as they are, duplicated, and through a socket. The
 * host's own copy says what every byte must be.
 *
 * With --process the exporter is another process, which writes the memory before it is imported here, while it is
 * mapped and while it is not. This program starts itself for that, with --serve.
 */
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/app.h"

#define OPAQUE VK_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD_BIT
#define BYTES  20000u
#define SIDE   32u
#define USAGE  (VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT)

struct scene {
    const struct app *app;
    PFN_vkGetMemoryFdKHR get_fd;
    struct app_buffer upload, readback;
    uint32_t seed;
};

/* One name of a payload, and a buffer there. */
struct named {
    VkDeviceMemory memory;
    VkBuffer buffer;
    uint8_t *mapped; /* of byte 0; NULL: it isn't, or not from there */
};

/* The bytes of one payload, as they must be. */
struct model {
    uint8_t bytes[BYTES];
};

/* ---- descriptors ---- */

static int export_memory(const struct scene *scene, VkDeviceMemory memory)
{
    VkMemoryGetFdInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, .memory = memory, .handleType = OPAQUE};
    int fd = -1;
    CHECK_VK(scene->get_fd(scene->app->device, &info, &fd));
    CHECK(fd >= 0);
    return fd;
}

static int duplicated(int fd)
{
    int other = dup(fd);
    CHECK(other >= 0);
    close(fd);
    return other;
}

static void send_fd(int socket, int fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    char byte = 0;
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof(control.bytes);
    control.head.cmsg_level = SOL_SOCKET;
    control.head.cmsg_type = SCM_RIGHTS;
    control.head.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.head), &fd, sizeof(fd));
    CHECK(sendmsg(socket, &message, 0) == 1);
    close(fd);
}

static int receive_fd(int socket)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    char byte = 0;
    struct iovec data = {&byte, 1};
    struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
    int fd = -1;
    message.msg_control = control.bytes;
    message.msg_controllen = sizeof(control.bytes);
    CHECK(recvmsg(socket, &message, MSG_CMSG_CLOEXEC) == 1);
    CHECK(message.msg_controllen == CMSG_LEN(sizeof(int)) || message.msg_controllen == sizeof(control.bytes));
    memcpy(&fd, CMSG_DATA(&control.head), sizeof(fd));
    CHECK(fd >= 0);
    return fd;
}

/* As it would come from another process. */
static int passed_through_a_socket(int fd)
{
    int ends[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    send_fd(ends[0], fd);
    fd = receive_fd(ends[1]);
    close(ends[0]);
    close(ends[1]);
    return fd;
}

/* ---- memory ---- */

static VkBuffer create_buffer(const struct app *app, VkMemoryRequirements *requirements)
{
    VkExternalMemoryBufferCreateInfo external = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
                                                 .handleTypes = OPAQUE};
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .pNext = &external, .size = BYTES, .usage = USAGE};
    VkBuffer buffer;
    CHECK_VK(vkCreateBuffer(app->device, &info, NULL, &buffer));
    vkGetBufferMemoryRequirements(app->device, buffer, requirements);
    return buffer;
}

/* fd < 0: new memory that can be exported; else what the descriptor stands for, which is closed. A dedicated allocation
 * has one of buffer and image. */
static VkDeviceMemory allocate(const struct app *app, VkDeviceSize bytes, uint32_t type, int fd, VkBuffer buffer,
                               VkImage image)
{
    VkExportMemoryAllocateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, .handleTypes = OPAQUE};
    VkImportMemoryFdInfoKHR import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, .handleType = OPAQUE, .fd = fd};
    VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .buffer = buffer, .image = image};
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkDeviceMemory memory;
    info.pNext = fd < 0 ? (const void *)&export : &import;
    if (buffer || image) {
        dedicated.pNext = info.pNext;
        info.pNext = &dedicated;
    }
    info.allocationSize = bytes;
    info.memoryTypeIndex = type;
    CHECK_VK(vkAllocateMemory(app->device, &info, NULL, &memory));
    return memory;
}

static uint32_t buffer_type(const struct app *app, bool host)
{
    VkMemoryRequirements requirements;
    VkBuffer buffer = create_buffer(app, &requirements);
    vkDestroyBuffer(app->device, buffer, NULL);
    return host ? app_memory_type(app, requirements.memoryTypeBits,
                                  VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                                  VK_MEMORY_PROPERTY_HOST_CACHED_BIT, 0)
                : app_memory_type_for(app, requirements.memoryTypeBits, APP_DEVICE);
}

static struct named create_named(const struct app *app, uint32_t type, int fd, bool dedicated)
{
    VkMemoryRequirements requirements;
    struct named named = {.buffer = create_buffer(app, &requirements)};
    named.memory =
        allocate(app, requirements.size, type, fd, dedicated ? named.buffer : VK_NULL_HANDLE, VK_NULL_HANDLE);
    CHECK_VK(vkBindBufferMemory(app->device, named.buffer, named.memory, 0));
    return named;
}

static void destroy_named(const struct app *app, struct named *named)
{
    vkDestroyBuffer(app->device, named->buffer, NULL);
    vkFreeMemory(app->device, named->memory, NULL);
}

static void map_from(const struct app *app, struct named *named, VkDeviceSize offset)
{
    void *pointer;
    CHECK_VK(vkMapMemory(app->device, named->memory, offset, VK_WHOLE_SIZE, 0, &pointer));
    named->mapped = (uint8_t *)pointer - offset;
}

/* ---- what the host and the device do ---- */

static void store(struct scene *scene, const struct named *named, struct model *model, uint32_t at, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++)
        named->mapped[at + i] = model->bytes[at + i] = (uint8_t)app_random(&scene->seed);
}

static void copy(const struct app *app, VkBuffer from, uint32_t from_at, VkBuffer to, uint32_t to_at, uint32_t bytes)
{
    VkBufferCopy region = {from_at, to_at, bytes};
    VkCommandBuffer commands = app_begin(app);
    vkCmdCopyBuffer(commands, from, to, 1, &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_HOST_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    app_run(app, commands);
}

/* The device writes the payload. */
static void move(const struct app *app, const struct named *from, uint32_t from_at, const struct named *to,
                 uint32_t to_at, uint32_t bytes, struct model *model)
{
    copy(app, from->buffer, from_at, to->buffer, to_at, bytes);
    memmove(model->bytes + to_at, model->bytes + from_at, bytes);
}

/* All that the device reads there. */
static void check(const struct scene *scene, const struct named *named, const struct model *model)
{
    copy(scene->app, named->buffer, 0, scene->readback.buffer, 0, BYTES);
    app_buffer_invalidate(scene->app, &scene->readback, 0, BYTES);
    EXPECT_EQ(scene->app, memcmp(scene->readback.mapped, model->bytes, BYTES), 0);
}

static void check_mapped(const struct scene *scene, const struct named *named, const struct model *model, uint32_t from)
{
    EXPECT_EQ(scene->app, memcmp(named->mapped + from, model->bytes + from, BYTES - from), 0);
}

/* ---- host-visible memory ---- */

static void run_host(struct scene *scene, bool dedicated)
{
    const struct app *app = scene->app;
    const uint32_t type = buffer_type(app, true);
    struct model model = {{0}};
    struct named first = create_named(app, type, -1, dedicated), second, third;
    int fd = export_memory(scene, first.memory), spare;
    map_from(app, &first, 0);
    store(scene, &first, &model, 0, BYTES);
    second = create_named(app, type, dedicated ? fd : duplicated(fd), dedicated);
    check(scene, &second, &model);
    map_from(app, &second, 4000);
    check_mapped(scene, &second, &model, 4000);
    store(scene, &second, &model, 5000, 100);
    store(scene, &first, &model, 5050, 200); /* the other pointer, in part to the same bytes */
    check(scene, &first, &model);
    store(scene, &first, &model, 300, 10);
    check(scene, &second, &model);
    move(app, &first, 100, &first, 5060, 150, &model); /* the device, among them */
    check_mapped(scene, &second, &model, 4000);
    store(scene, &second, &model, 5050, 10);
    move(app, &second, 5040, &second, 9000, 400, &model);
    check(scene, &first, &model);
    check_mapped(scene, &first, &model, 0);
    vkUnmapMemory(app->device, first.memory); /* the bytes before 4000 are not mapped now */
    store(scene, &second, &model, 12000, 3000);
    check(scene, &first, &model);
    move(app, &second, 12100, &first, 50, 500, &model);
    spare = passed_through_a_socket(export_memory(scene, first.memory));
    destroy_named(app, &first);
    store(scene, &second, &model, 4000, 9);
    check(scene, &second, &model);
    vkUnmapMemory(app->device, second.memory);
    move(app, &second, 60, &second, 16000, 300, &model);
    third = create_named(app, type, spare, dedicated); /* while nothing is mapped */
    check(scene, &third, &model);
    map_from(app, &third, 0);
    check_mapped(scene, &third, &model, 0);
    store(scene, &third, &model, 16100, 5);
    check(scene, &second, &model);
    store(scene, &third, &model, 0, 1); /* the last thing before it is freed, mapped */
    destroy_named(app, &third);
    check(scene, &second, &model);
    destroy_named(app, &second);
}

/* ---- memory of the device ---- */

static void run_device(struct scene *scene, bool dedicated)
{
    const struct app *app = scene->app;
    const uint32_t type = buffer_type(app, false);
    struct model model = {{0}};
    struct named upload = {.buffer = scene->upload.buffer, .mapped = scene->upload.mapped};
    struct named first = create_named(app, type, -1, dedicated), second;
    store(scene, &upload, &model, 0, BYTES);
    app_buffer_flush(app, &scene->upload, 0, BYTES);
    copy(app, upload.buffer, 0, first.buffer, 0, BYTES);
    second = create_named(app, type, export_memory(scene, first.memory), dedicated);
    check(scene, &second, &model);
    move(app, &second, 10, &second, 7000, 600, &model);
    check(scene, &first, &model);
    move(app, &first, 7100, &second, 300, 100, &model);
    destroy_named(app, &first);
    check(scene, &second, &model);
    destroy_named(app, &second);
}

/* ---- an image ---- */

static bool can_share_image(const struct app *app, const VkImageCreateInfo *create)
{
    VkPhysicalDeviceExternalImageFormatInfo external = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO, .handleType = OPAQUE};
    VkPhysicalDeviceImageFormatInfo2 info = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
                                             .pNext = &external};
    VkExternalImageFormatProperties answer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES};
    VkImageFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2, .pNext = &answer};
    const VkExternalMemoryFeatureFlags wanted =
        VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
    info.format = create->format;
    info.type = create->imageType;
    info.tiling = create->tiling;
    info.usage = create->usage;
    return vkGetPhysicalDeviceImageFormatProperties2(app->physical, &info, &properties) == VK_SUCCESS &&
           (answer.externalMemoryProperties.externalMemoryFeatures & wanted) == wanted;
}

/* From one owner to another: to or from whoever has the payload by another name. */
static void pass_on(const struct app *app, VkCommandBuffer commands, VkImage image, VkImageLayout from,
                    VkImageLayout to, bool release)
{
    VkImageMemoryBarrier barrier = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                    .srcAccessMask = release ? VK_ACCESS_TRANSFER_WRITE_BIT : 0,
                                    .dstAccessMask = release ? 0 : VK_ACCESS_TRANSFER_READ_BIT,
                                    .oldLayout = from,
                                    .newLayout = to,
                                    .srcQueueFamilyIndex = release ? app->queue_family : VK_QUEUE_FAMILY_EXTERNAL,
                                    .dstQueueFamilyIndex = release ? VK_QUEUE_FAMILY_EXTERNAL : app->queue_family,
                                    .image = image,
                                    .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0, NULL,
                         1, &barrier);
}

static void run_image(struct scene *scene)
{
    const struct app *app = scene->app;
    VkExternalMemoryImageCreateInfo external = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
                                                .handleTypes = OPAQUE};
    VkImageCreateInfo create = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                                .pNext = &external,
                                .imageType = VK_IMAGE_TYPE_2D,
                                .format = VK_FORMAT_R8G8B8A8_UNORM,
                                .extent = {SIDE, SIDE, 1},
                                .mipLevels = 1,
                                .arrayLayers = 1,
                                .samples = VK_SAMPLE_COUNT_1_BIT,
                                .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                .imageExtent = {SIDE, SIDE, 1}};
    struct app_image first = {.aspect = VK_IMAGE_ASPECT_COLOR_BIT}, second = first;
    VkMemoryRequirements requirements;
    VkCommandBuffer commands;
    uint32_t type;

    if (!can_share_image(app, &create)) {
        printf("left out: images that are exported\n");
        return;
    }
    for (uint32_t i = 0; i < 4 * SIDE * SIDE; i++)
        scene->upload.mapped[i] = (uint8_t)app_random(&scene->seed);
    app_buffer_flush(app, &scene->upload, 0, BYTES);
    CHECK_VK(vkCreateImage(app->device, &create, NULL, &first.image));
    vkGetImageMemoryRequirements(app->device, first.image, &requirements);
    type = app_memory_type_for(app, requirements.memoryTypeBits, APP_DEVICE);
    first.memory = allocate(app, requirements.size, type, -1, VK_NULL_HANDLE, first.image);
    CHECK_VK(vkBindImageMemory(app->device, first.image, first.memory, 0));
    commands = app_begin(app);
    app_image_barrier(commands, &first, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdCopyBufferToImage(commands, scene->upload.buffer, first.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1,
                           &region);
    pass_on(app, commands, first.image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_GENERAL, true);
    app_run(app, commands);

    CHECK_VK(vkCreateImage(app->device, &create, NULL, &second.image));
    vkGetImageMemoryRequirements(app->device, second.image, &requirements);
    second.memory =
        allocate(app, requirements.size, type, export_memory(scene, first.memory), VK_NULL_HANDLE, second.image);
    CHECK_VK(vkBindImageMemory(app->device, second.image, second.memory, 0));
    commands = app_begin(app);
    pass_on(app, commands, second.image, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL, false);
    vkCmdCopyImageToBuffer(commands, second.image, VK_IMAGE_LAYOUT_GENERAL, scene->readback.buffer, 1, &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &scene->readback, 0, BYTES);
    EXPECT_EQ(app, memcmp(scene->readback.mapped, scene->upload.mapped, 4 * SIDE * SIDE), 0);
    vkDestroyImage(app->device, first.image, NULL);
    vkFreeMemory(app->device, first.memory, NULL);
    vkDestroyImage(app->device, second.image, NULL);
    vkFreeMemory(app->device, second.memory, NULL);
}

/* ---- two devices ---- */

/* Each learns from the host that the other one has finished. */
static void run_devices(struct scene *one, struct scene *two)
{
    const uint32_t type = buffer_type(one->app, true);
    struct model model = {{0}};
    struct named first = create_named(one->app, type, -1, false), second;
    map_from(one->app, &first, 0);
    store(one, &first, &model, 0, BYTES);
    second = create_named(two->app, type, export_memory(one, first.memory), false);
    check(two, &second, &model);
    check(one, &first, &model);
    store(one, &first, &model, 8000, 100);
    check(two, &second, &model);
    move(one->app, &first, 8050, &first, 10000, 500, &model);
    check(two, &second, &model);
    move(two->app, &second, 10010, &second, 200, 300, &model);
    check_mapped(one, &first, &model, 0);
    check(one, &first, &model);
    map_from(two->app, &second, 100);
    vkUnmapMemory(one->app->device, first.memory);
    store(two, &second, &model, 15000, 40);
    check(one, &first, &model);
    check(two, &second, &model);
    destroy_named(one->app, &first);
    store(two, &second, &model, 15010, 5);
    check(two, &second, &model);
    destroy_named(two->app, &second);
}

/* ---- two processes ---- */

/* Where the other process writes when it is asked for the n-th time, and what. */
static void foreign_write(uint8_t *bytes, uint32_t turn)
{
    for (uint32_t i = 0; i < 1000; i++)
        bytes[3000 * turn + i] = (uint8_t)(turn * 31 + i * 7 + 1);
}

enum { FOREIGN_TURNS = 4 };

/* The other process: exports memory, and writes it each time that a byte comes. */
static void serve(struct scene *scene, int socket)
{
    const struct app *app = scene->app;
    struct named named = create_named(app, buffer_type(app, true), -1, false);
    char byte;
    map_from(app, &named, 0);
    memset(named.mapped, 0, BYTES);
    foreign_write(named.mapped, 0);
    send_fd(socket, export_memory(scene, named.memory));
    for (uint32_t turn = 1; turn < FOREIGN_TURNS; turn++) {
        CHECK(read(socket, &byte, 1) == 1);
        foreign_write(named.mapped, turn);
        CHECK(write(socket, &byte, 1) == 1);
    }
    CHECK(read(socket, &byte, 1) == 0);
    destroy_named(app, &named);
}

static void ask(int socket, struct model *model, uint32_t turn)
{
    char byte = 0;
    CHECK(write(socket, &byte, 1) == 1);
    CHECK(read(socket, &byte, 1) == 1);
    foreign_write(model->bytes, turn);
}

static void run_processes(struct scene *scene)
{
    const struct app *app = scene->app;
    struct model model = {{0}};
    struct named named;
    int ends[2], status = -1;
    char number[16];
    pid_t child;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    snprintf(number, sizeof(number), "%d", ends[1]);
    child = fork();
    if (child == 0) {
        close(ends[0]);
        execl(app->path, app->path, "--serve", number, (char *)NULL);
        _exit(127);
    }
    CHECK(child > 0);
    close(ends[1]);
    named = create_named(app, buffer_type(app, true), receive_fd(ends[0]), false);
    foreign_write(model.bytes, 0);
    map_from(app, &named, 0);
    check_mapped(scene, &named, &model, 0);
    check(scene, &named, &model);
    ask(ends[0], &model, 1);
    store(scene, &named, &model, 3010, 20);
    check(scene, &named, &model);
    move(app, &named, 3000, &named, 15000, 900, &model);
    vkUnmapMemory(app->device, named.memory);
    ask(ends[0], &model, 2);
    map_from(app, &named, 0);
    check_mapped(scene, &named, &model, 0);
    check(scene, &named, &model);
    ask(ends[0], &model, 3);
    check(scene, &named, &model);
    destroy_named(app, &named);
    close(ends[0]);
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---- the program ---- */

static void create_scene(const struct app *app, struct scene *scene)
{
    *scene = (struct scene){.app = app, .seed = 3};
    scene->get_fd = (PFN_vkGetMemoryFdKHR)app_device_function(app, "vkGetMemoryFdKHR");
    app_buffer_create(app, &scene->upload, BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &scene->readback, BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
}

static void destroy_scene(struct scene *scene)
{
    app_buffer_destroy(scene->app, &scene->upload);
    app_buffer_destroy(scene->app, &scene->readback);
}

static VkExternalMemoryFeatureFlags buffer_features(const struct app *app)
{
    VkPhysicalDeviceExternalBufferInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO, .usage = USAGE, .handleType = OPAQUE};
    VkExternalBufferProperties answer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    vkGetPhysicalDeviceExternalBufferProperties(app->physical, &info, &answer);
    return answer.externalMemoryProperties.externalMemoryFeatures;
}

int main(int argc, char **argv)
{
    static bool process;
    static uint32_t socket;
    static const struct app_option options[] = {
        {.name = "--process", .help = "memory is exported by another process", .flag = &process},
        {.name = "--serve", .help = "be that process: a socket's number", .number = &socket},
        {0},
    };
    static const struct app_program program = {
        .name = "payload",
        .what = "Memory that is exported and imported again, and has several names.",
        .frames = 3,
        .options = options,
    };
    static const char *const extensions[] = {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME};
    const struct app_device_request request = {.extensions = extensions, .extension_count = COUNT_OF(extensions)};
    const VkExternalMemoryFeatureFlags both =
        VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
    struct scene scene, others;
    struct app app, other;
    bool alone;
    app_init(&app, argc, argv, &program);
    if (app.api_version < VK_API_VERSION_1_1)
        app_skip(&app, "Vulkan 1.1 is missing");
    if (!app_has_extension(&app, extensions[0]))
        app_skip(&app, "VK_KHR_external_memory_fd is missing");
    if ((buffer_features(&app) & both) != both)
        app_skip(&app, "memory of buffers can't be exported and imported");
    alone = buffer_features(&app) & VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT;
    app_device_create(&app, &request);
    other = app;
    app_device_create(&other, &request);
    create_scene(&app, &scene);
    create_scene(&other, &others);
    if (socket)
        serve(&scene, (int)socket);
    if (process && alone)
        printf("left out: memory of another process, of buffers that want it alone\n");
    else if (process)
        run_processes(&scene);
    for (uint32_t frame = 0; frame < app.frames && !socket && !process; frame++) {
        run_host(&scene, alone || frame % 2);
        run_device(&scene, alone || frame % 2);
        run_image(&scene);
        if (!alone)
            run_devices(&scene, &others);
    }
    destroy_scene(&others);
    app_device_destroy(&other);
    destroy_scene(&scene);
    return app_finish(&app);
}

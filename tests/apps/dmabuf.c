/* SPDX-License-Identifier: MIT */
/*
 * dmabuf: memory that is a dma-buf, and images with DRM format modifiers. A buffer and images are exported and imported
 * again under another name: with a modifier that the driver chose from a list, and with each one that it has, told in
 * full to the importer. Ownership goes to foreign devices and comes back. What was written under one name is read under
 * the other; the host's own copy says what every byte must be.
 *
 * With --devices a second device imports what is linear. With --camera somebody who knows no Vulkan fills the dma-buf,
 * before the import and between submits, and this program never maps it: pages of a memfd, through /dev/udmabuf where
 * there is one, else by themselves, which drivers that compute on the CPU take.
 */
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/app.h"

#define DMA_BUF        VK_EXTERNAL_MEMORY_HANDLE_TYPE_DMA_BUF_BIT_EXT
#define BYTES          20000u
#define WIDTH          40u
#define HEIGHT         24u
#define FORMAT         VK_FORMAT_R8G8B8A8_UNORM
#define TEXEL_BYTES    (4 * WIDTH * HEIGHT)
#define USAGE          (VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT)
#define IMAGE_USAGE    (VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT)
#define MOST_MODIFIERS 64u
#define LINEAR         0u /* DRM_FORMAT_MOD_LINEAR */

struct scene {
    const struct app *app;
    PFN_vkGetMemoryFdKHR get_fd;
    PFN_vkGetMemoryFdPropertiesKHR fd_properties;
    PFN_vkGetImageDrmFormatModifierPropertiesEXT modifier_of; /* NULL: there are no modifiers */
    uint32_t foreign;                                         /* the family of others */
    struct app_buffer upload, readback;
    uint32_t seed;
};

struct named {
    VkDeviceMemory memory;
    VkBuffer buffer;
    VkImage image;
};

/* ---- memory ---- */

static int export_memory(const struct scene *scene, VkDeviceMemory memory)
{
    VkMemoryGetFdInfoKHR info = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_GET_FD_INFO_KHR, .memory = memory, .handleType = DMA_BUF};
    int fd = -1;
    CHECK_VK(scene->get_fd(scene->app->device, &info, &fd));
    CHECK(fd >= 0);
    return fd;
}

/* fd < 0: new memory that can be exported; else what the dma-buf has, which is closed. */
static void give_memory(const struct scene *scene, struct named *named, int fd)
{
    const struct app *app = scene->app;
    VkExportMemoryAllocateInfo export = {.sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO,
                                         .handleTypes = DMA_BUF};
    VkImportMemoryFdInfoKHR import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_FD_INFO_KHR, .handleType = DMA_BUF, .fd = fd};
    VkMemoryDedicatedAllocateInfo dedicated = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO, .image = named->image, .buffer = named->buffer};
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &dedicated};
    VkMemoryFdPropertiesKHR found = {.sType = VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR};
    VkMemoryRequirements requirements;

    if (named->image)
        vkGetImageMemoryRequirements(app->device, named->image, &requirements);
    else
        vkGetBufferMemoryRequirements(app->device, named->buffer, &requirements);
    dedicated.pNext = fd < 0 ? (const void *)&export : &import;
    if (fd >= 0) {
        CHECK_VK(scene->fd_properties(app->device, DMA_BUF, fd, &found));
        requirements.memoryTypeBits &= found.memoryTypeBits;
    }
    info.allocationSize = requirements.size;
    info.memoryTypeIndex = app_memory_type(app, requirements.memoryTypeBits, 0, 0, 0);
    CHECK_VK(vkAllocateMemory(app->device, &info, NULL, &named->memory));
    if (named->image)
        CHECK_VK(vkBindImageMemory(app->device, named->image, named->memory, 0));
    else
        CHECK_VK(vkBindBufferMemory(app->device, named->buffer, named->memory, 0));
}

static void destroy_named(const struct scene *scene, struct named *named)
{
    vkDestroyBuffer(scene->app->device, named->buffer, NULL);
    vkDestroyImage(scene->app->device, named->image, NULL);
    vkFreeMemory(scene->app->device, named->memory, NULL);
    *named = (struct named){0};
}

static VkBuffer create_buffer(const struct scene *scene)
{
    VkExternalMemoryBufferCreateInfo external = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
                                                 .handleTypes = DMA_BUF};
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .pNext = &external, .size = BYTES, .usage = USAGE};
    VkBuffer buffer;
    CHECK_VK(vkCreateBuffer(scene->app->device, &info, NULL, &buffer));
    return buffer;
}

/* With one of some modifiers, or with the one that `is` says. */
static VkImage create_image(const struct scene *scene, uint32_t count, const uint64_t *modifiers,
                            const VkImageDrmFormatModifierExplicitCreateInfoEXT *is)
{
    VkImageDrmFormatModifierListCreateInfoEXT list = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_LIST_CREATE_INFO_EXT,
        .drmFormatModifierCount = count,
        .pDrmFormatModifiers = modifiers};
    VkExternalMemoryImageCreateInfo external = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
                                                .pNext = is ? (const void *)is : &list,
                                                .handleTypes = DMA_BUF};
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .pNext = &external,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = FORMAT,
                              .extent = {WIDTH, HEIGHT, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .tiling = VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT,
                              .usage = IMAGE_USAGE};
    VkImage image;
    CHECK_VK(vkCreateImage(scene->app->device, &info, NULL, &image));
    return image;
}

/* ---- what is written and read ---- */

static void fill_upload(struct scene *scene, uint32_t bytes)
{
    for (uint32_t i = 0; i < bytes; i++)
        scene->upload.mapped[i] = (uint8_t)app_random(&scene->seed);
    app_buffer_flush(scene->app, &scene->upload, 0, bytes);
}

static void expect_readback(const struct scene *scene, const uint8_t *bytes, uint32_t count)
{
    app_buffer_invalidate(scene->app, &scene->readback, 0, count);
    EXPECT_EQ(scene->app, memcmp(scene->readback.mapped, bytes, count), 0);
}

static void to_host(VkCommandBuffer commands)
{
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

/* To others, or from them. */
static void pass_on(const struct scene *scene, VkCommandBuffer commands, const struct named *named,
                    VkImageLayout old_layout, bool release)
{
    uint32_t own = scene->app->queue_family;
    VkImageMemoryBarrier image = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                  .srcAccessMask = release ? VK_ACCESS_TRANSFER_WRITE_BIT : 0,
                                  .dstAccessMask = release ? 0 : VK_ACCESS_TRANSFER_READ_BIT,
                                  .oldLayout = old_layout,
                                  .newLayout = VK_IMAGE_LAYOUT_GENERAL,
                                  .srcQueueFamilyIndex = release ? own : scene->foreign,
                                  .dstQueueFamilyIndex = release ? scene->foreign : own,
                                  .image = named->image,
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    VkBufferMemoryBarrier buffer = {.sType = VK_STRUCTURE_TYPE_BUFFER_MEMORY_BARRIER,
                                    .srcAccessMask = image.srcAccessMask,
                                    .dstAccessMask = image.dstAccessMask,
                                    .srcQueueFamilyIndex = image.srcQueueFamilyIndex,
                                    .dstQueueFamilyIndex = image.dstQueueFamilyIndex,
                                    .buffer = named->buffer,
                                    .size = VK_WHOLE_SIZE};
    vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL,
                         named->buffer != VK_NULL_HANDLE, &buffer, named->image != VK_NULL_HANDLE, &image);
}

static const VkBufferImageCopy whole_image = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                              .imageExtent = {WIDTH, HEIGHT, 1}};

/* The upload's bytes go there, and others may have it. */
static void write_named(const struct scene *scene, const struct named *named)
{
    VkCommandBuffer commands = app_begin(scene->app);
    VkBufferCopy region = {0, 0, BYTES};
    if (named->image) {
        struct app_image image = {.image = named->image, .aspect = VK_IMAGE_ASPECT_COLOR_BIT};
        app_image_barrier(commands, &image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
        vkCmdCopyBufferToImage(commands, scene->upload.buffer, named->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1,
                               &whole_image);
    } else {
        vkCmdCopyBuffer(commands, scene->upload.buffer, named->buffer, 1, &region);
    }
    pass_on(scene, commands, named, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, true);
    app_run(scene->app, commands);
}

static void read_named(const struct scene *scene, const struct named *named)
{
    VkCommandBuffer commands = app_begin(scene->app);
    VkBufferCopy region = {0, 0, BYTES};
    pass_on(scene, commands, named, VK_IMAGE_LAYOUT_GENERAL, false);
    if (named->image)
        vkCmdCopyImageToBuffer(commands, named->image, VK_IMAGE_LAYOUT_GENERAL, scene->readback.buffer, 1,
                               &whole_image);
    else
        vkCmdCopyBuffer(commands, named->buffer, scene->readback.buffer, 1, &region);
    to_host(commands);
    pass_on(scene, commands, named, VK_IMAGE_LAYOUT_GENERAL, true);
    app_run(scene->app, commands);
}

/* ---- exported and imported ---- */

static void run_buffer(struct scene *one, struct scene *two)
{
    struct named first = {.buffer = create_buffer(one)}, second = {.buffer = create_buffer(two)};

    give_memory(one, &first, -1);
    give_memory(two, &second, export_memory(one, first.memory));
    for (uint32_t turn = 0; turn < 2; turn++) {
        fill_upload(one, BYTES);
        write_named(one, &first);
        read_named(two, &second);
        expect_readback(two, one->upload.mapped, BYTES);
    }
    destroy_named(one, &first); /* the exporter is gone */
    read_named(two, &second);
    expect_readback(two, one->upload.mapped, BYTES);
    destroy_named(two, &second);
}

/* The importer is told where the exporter's planes lie. */
static void run_image(struct scene *one, struct scene *two, uint32_t count, const uint64_t *modifiers,
                      const VkDrmFormatModifierPropertiesEXT *known, uint32_t known_count)
{
    static const VkImageAspectFlags planes[] = {
        VK_IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT, VK_IMAGE_ASPECT_MEMORY_PLANE_1_BIT_EXT,
        VK_IMAGE_ASPECT_MEMORY_PLANE_2_BIT_EXT, VK_IMAGE_ASPECT_MEMORY_PLANE_3_BIT_EXT};
    VkImageDrmFormatModifierPropertiesEXT chosen = {.sType =
                                                        VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_PROPERTIES_EXT};
    VkImageDrmFormatModifierExplicitCreateInfoEXT is = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT};
    VkSubresourceLayout layouts[COUNT_OF(planes)];
    struct named first = {.image = create_image(one, count, modifiers, NULL)}, second = {0};
    uint32_t among = 0;

    CHECK_VK(one->modifier_of(one->app->device, first.image, &chosen));
    while (among < count && modifiers[among] != chosen.drmFormatModifier)
        among++;
    CHECK(among < count);
    is.drmFormatModifier = chosen.drmFormatModifier;
    is.pPlaneLayouts = layouts;
    for (uint32_t i = 0; i < known_count; i++)
        if (known[i].drmFormatModifier == chosen.drmFormatModifier)
            is.drmFormatModifierPlaneCount = known[i].drmFormatModifierPlaneCount;
    CHECK(is.drmFormatModifierPlaneCount && is.drmFormatModifierPlaneCount <= COUNT_OF(planes));
    for (uint32_t i = 0; i < is.drmFormatModifierPlaneCount; i++) {
        VkImageSubresource plane = {.aspectMask = planes[i]};
        vkGetImageSubresourceLayout(one->app->device, first.image, &plane, &layouts[i]);
        layouts[i].size = layouts[i].arrayPitch = layouts[i].depthPitch = 0; /* as the importer has to say it */
    }
    give_memory(one, &first, -1);
    second.image = create_image(two, 0, NULL, &is);
    give_memory(two, &second, export_memory(one, first.memory));
    for (uint32_t turn = 0; turn < 2; turn++) {
        fill_upload(one, TEXEL_BYTES);
        write_named(one, &first);
        read_named(two, &second);
        expect_readback(two, one->upload.mapped, TEXEL_BYTES);
    }
    destroy_named(one, &first);
    destroy_named(two, &second);
}

static bool can_share(const struct app *app, uint64_t modifier)
{
    VkPhysicalDeviceImageDrmFormatModifierInfoEXT with = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_DRM_FORMAT_MODIFIER_INFO_EXT, .drmFormatModifier = modifier};
    VkPhysicalDeviceExternalImageFormatInfo external = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO, .pNext = &with, .handleType = DMA_BUF};
    VkPhysicalDeviceImageFormatInfo2 info = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
                                             .pNext = &external,
                                             .format = FORMAT,
                                             .type = VK_IMAGE_TYPE_2D,
                                             .tiling = VK_IMAGE_TILING_DRM_FORMAT_MODIFIER_EXT,
                                             .usage = IMAGE_USAGE};
    VkExternalImageFormatProperties answer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES};
    VkImageFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2, .pNext = &answer};
    const VkExternalMemoryFeatureFlags wanted =
        VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT | VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
    return vkGetPhysicalDeviceImageFormatProperties2(app->physical, &info, &properties) == VK_SUCCESS &&
           (answer.externalMemoryProperties.externalMemoryFeatures & wanted) == wanted;
}

static uint32_t usable_modifiers(const struct app *app, VkDrmFormatModifierPropertiesEXT *out)
{
    VkDrmFormatModifierPropertiesEXT all[MOST_MODIFIERS];
    VkDrmFormatModifierPropertiesListEXT list = {.sType = VK_STRUCTURE_TYPE_DRM_FORMAT_MODIFIER_PROPERTIES_LIST_EXT,
                                                 .drmFormatModifierCount = MOST_MODIFIERS,
                                                 .pDrmFormatModifierProperties = all};
    VkFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_FORMAT_PROPERTIES_2, .pNext = &list};
    const VkFormatFeatureFlags wanted = VK_FORMAT_FEATURE_TRANSFER_SRC_BIT | VK_FORMAT_FEATURE_TRANSFER_DST_BIT;
    uint32_t count = 0;

    vkGetPhysicalDeviceFormatProperties2(app->physical, FORMAT, &properties);
    for (uint32_t i = 0; i < list.drmFormatModifierCount; i++)
        if ((all[i].drmFormatModifierTilingFeatures & wanted) == wanted && can_share(app, all[i].drmFormatModifier))
            out[count++] = all[i];
    return count;
}

static void run_images(struct scene *one, struct scene *two)
{
    VkDrmFormatModifierPropertiesEXT known[MOST_MODIFIERS];
    uint64_t modifiers[MOST_MODIFIERS];
    uint32_t count = one->modifier_of ? usable_modifiers(one->app, known) : 0;

    if (!count)
        printf("left out: images with modifiers\n");
    for (uint32_t i = 0; i < count; i++)
        modifiers[i] = known[i].drmFormatModifier;
    if (count && one == two)
        run_image(one, two, count, modifiers, known, count);
    for (uint32_t i = 0; i < count; i++)
        if (one == two || modifiers[i] == LINEAR)
            run_image(one, two, 1, &modifiers[i], known, count);
}

/* ---- somebody else ---- */

struct camera {
    uint8_t *pages;
    size_t bytes;
    int memfd;
};

/* What it has seen is the upload's bytes, which the device is not told of. */
static void film(struct scene *scene, const struct camera *camera, uint32_t at, uint32_t bytes, uint8_t *model)
{
    for (uint32_t i = 0; i < bytes; i++)
        camera->pages[at + i] = model[at + i] = (uint8_t)app_random(&scene->seed);
}

static void open_camera(struct camera *camera)
{
    camera->bytes = 2 * 64 * 1024; /* whole pages, whatever their size */
    camera->memfd = memfd_create("camera", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    CHECK(camera->memfd >= 0 && ftruncate(camera->memfd, (off_t)camera->bytes) == 0);
    CHECK(fcntl(camera->memfd, F_ADD_SEALS, F_SEAL_SHRINK) == 0);
    camera->pages = mmap(NULL, camera->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, camera->memfd, 0);
    CHECK(camera->pages != MAP_FAILED);
}

static void close_camera(struct camera *camera)
{
    munmap(camera->pages, camera->bytes);
    close(camera->memfd);
}

/* A dma-buf of its pages. */
static int camera_fd(const struct camera *camera)
{
    struct udmabuf_create create = {
        .memfd = (uint32_t)camera->memfd, .flags = UDMABUF_FLAGS_CLOEXEC, .size = camera->bytes};
    int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), fd = -1;
    if (device >= 0) {
        fd = ioctl(device, UDMABUF_CREATE, &create);
        close(device);
    }
    return fd >= 0 ? fd : fcntl(camera->memfd, F_DUPFD_CLOEXEC, 0);
}

static bool takes(const struct scene *scene, const struct camera *camera)
{
    VkMemoryFdPropertiesKHR found = {.sType = VK_STRUCTURE_TYPE_MEMORY_FD_PROPERTIES_KHR};
    int fd = camera_fd(camera);
    VkResult result = scene->fd_properties(scene->app->device, DMA_BUF, fd, &found);
    close(fd);
    return result == VK_SUCCESS && found.memoryTypeBits;
}

static void run_camera_buffer(struct scene *scene, const struct camera *camera)
{
    static uint8_t model[BYTES];
    struct named named = {.buffer = create_buffer(scene)};

    film(scene, camera, 0, BYTES, model);
    give_memory(scene, &named, camera_fd(camera));
    read_named(scene, &named);
    expect_readback(scene, model, BYTES);
    film(scene, camera, 5000, 3000, model);
    read_named(scene, &named);
    expect_readback(scene, model, BYTES);
    fill_upload(scene, BYTES);
    write_named(scene, &named); /* and back */
    EXPECT_EQ(scene->app, memcmp(camera->pages, scene->upload.mapped, BYTES), 0);
    memcpy(model, scene->upload.mapped, BYTES);
    film(scene, camera, 100, 1, model);
    read_named(scene, &named);
    expect_readback(scene, model, BYTES);
    destroy_named(scene, &named);
}

/* Rows lie where the camera has them. */
static void run_camera_image(struct scene *scene, const struct camera *camera)
{
    const uint64_t linear = LINEAR;
    VkImageSubresource plane = {.aspectMask = VK_IMAGE_ASPECT_MEMORY_PLANE_0_BIT_EXT};
    VkSubresourceLayout layout;
    VkImageDrmFormatModifierExplicitCreateInfoEXT is = {
        .sType = VK_STRUCTURE_TYPE_IMAGE_DRM_FORMAT_MODIFIER_EXPLICIT_CREATE_INFO_EXT,
        .drmFormatModifierPlaneCount = 1,
        .pPlaneLayouts = &layout};
    static uint8_t model[TEXEL_BYTES];
    struct named named = {.image = create_image(scene, 1, &linear, NULL)};

    vkGetImageSubresourceLayout(scene->app->device, named.image, &plane, &layout); /* a pitch that will do */
    layout.size = layout.arrayPitch = layout.depthPitch = 0;
    vkDestroyImage(scene->app->device, named.image, NULL);
    named.image = create_image(scene, 0, NULL, &is);
    give_memory(scene, &named, camera_fd(camera));
    for (uint32_t turn = 0; turn < 3; turn++) {
        for (uint32_t y = turn; y < HEIGHT; y++)
            for (uint32_t x = 0; x < 4 * WIDTH; x++)
                camera->pages[layout.offset + y * layout.rowPitch + x] = model[4 * WIDTH * y + x] =
                    (uint8_t)app_random(&scene->seed);
        read_named(scene, &named);
        expect_readback(scene, model, TEXEL_BYTES);
    }
    destroy_named(scene, &named);
}

static void run_camera(struct scene *scene)
{
    struct camera camera;

    open_camera(&camera);
    run_camera_buffer(scene, &camera);
    if (scene->modifier_of && can_share(scene->app, LINEAR))
        run_camera_image(scene, &camera);
    else
        printf("left out: images that somebody else fills\n");
    close_camera(&camera);
}

/* ---- the program ---- */

static void create_scene(const struct app *app, struct scene *scene, bool modifiers, bool foreign)
{
    *scene = (struct scene){
        .app = app, .seed = 5, .foreign = foreign ? VK_QUEUE_FAMILY_FOREIGN_EXT : VK_QUEUE_FAMILY_EXTERNAL};
    scene->get_fd = (PFN_vkGetMemoryFdKHR)app_device_function(app, "vkGetMemoryFdKHR");
    scene->fd_properties = (PFN_vkGetMemoryFdPropertiesKHR)app_device_function(app, "vkGetMemoryFdPropertiesKHR");
    if (modifiers)
        scene->modifier_of = (PFN_vkGetImageDrmFormatModifierPropertiesEXT)app_device_function(
            app, "vkGetImageDrmFormatModifierPropertiesEXT");
    app_buffer_create(app, &scene->upload, BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &scene->readback, BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
}

static void destroy_scene(struct scene *scene)
{
    app_buffer_destroy(scene->app, &scene->upload);
    app_buffer_destroy(scene->app, &scene->readback);
}

static bool can_share_buffers(const struct app *app, VkExternalMemoryFeatureFlags wanted)
{
    VkPhysicalDeviceExternalBufferInfo info = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO, .usage = USAGE, .handleType = DMA_BUF};
    VkExternalBufferProperties answer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    vkGetPhysicalDeviceExternalBufferProperties(app->physical, &info, &answer);
    return (answer.externalMemoryProperties.externalMemoryFeatures & wanted) == wanted;
}

int main(int argc, char **argv)
{
    static bool devices, camera;
    static const struct app_option options[] = {
        {.name = "--devices", .help = "a second device imports", .flag = &devices},
        {.name = "--camera", .help = "somebody who knows no Vulkan fills the memory", .flag = &camera},
        {0},
    };
    static const struct app_program program = {
        .name = "dmabuf",
        .what = "Memory that is a dma-buf, and images with DRM format modifiers.",
        .frames = 2,
        .options = options,
    };
    const char *extensions[4] = {VK_KHR_EXTERNAL_MEMORY_FD_EXTENSION_NAME,
                                 VK_EXT_EXTERNAL_MEMORY_DMA_BUF_EXTENSION_NAME};
    struct app_device_request request = {.extensions = extensions, .extension_count = 2};
    const VkExternalMemoryFeatureFlags import = VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT,
                                       both = import | VK_EXTERNAL_MEMORY_FEATURE_EXPORTABLE_BIT;
    bool modifiers, foreign;
    struct scene scene, others;
    struct camera probe;
    struct app app, other;

    app_init(&app, argc, argv, &program);
    if (app.api_version < VK_API_VERSION_1_2)
        app_skip(&app, "Vulkan 1.2 is missing");
    for (uint32_t i = 0; i < request.extension_count; i++)
        if (!app_has_extension(&app, extensions[i]))
            app_skip(&app, "VK_EXT_external_memory_dma_buf or VK_KHR_external_memory_fd is missing");
    modifiers = app_has_extension(&app, VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME);
    foreign = app_has_extension(&app, VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME);
    if (modifiers)
        extensions[request.extension_count++] = VK_EXT_IMAGE_DRM_FORMAT_MODIFIER_EXTENSION_NAME;
    if (foreign)
        extensions[request.extension_count++] = VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME;
    if (!can_share_buffers(&app, camera ? import : both))
        app_skip(&app, "memory of buffers can't be a dma-buf");
    app_device_create(&app, &request);
    other = app;
    create_scene(&app, &scene, modifiers, foreign);
    if (camera) {
        open_camera(&probe);
        if (!takes(&scene, &probe)) {
            printf("left out: the driver does not take pages of a memfd\n");
            camera = false;
            app.frames = 0;
        }
        close_camera(&probe);
    }
    if (devices) {
        app_device_create(&other, &request);
        create_scene(&other, &others, modifiers, foreign);
    }
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        if (camera) {
            run_camera(&scene);
        } else {
            run_buffer(&scene, devices ? &others : &scene);
            run_images(&scene, devices ? &others : &scene);
        }
    }
    if (devices) {
        destroy_scene(&others);
        app_device_destroy(&other);
    }
    destroy_scene(&scene);
    return app_finish(&app);
}

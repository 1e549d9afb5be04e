/* SPDX-License-Identifier: MIT */
/*
 * hardware: memory that is an AHardwareBuffer of Android, imported and exported. The CPU, which stands for a camera,
 * fills buffers and changes them between submits; the device reads them as images and as a buffer, writes them, and the
 * CPU reads what it wrote. An exported one is imported again as another image. The host's own copy says what every byte
 * must be. With --external a buffer has a format that only its driver knows.
 */
#include <dlfcn.h>
#include <vulkan/vulkan_core.h>

#include <vulkan/vulkan_android.h>

#include "common/app.h"
#include "common/hardware.h"

#define BUFFER_BIT VK_EXTERNAL_MEMORY_HANDLE_TYPE_ANDROID_HARDWARE_BUFFER_BIT_ANDROID
#define WIDTH      40u
#define HEIGHT     24u
#define BLOB       20000u
#define MOST_BYTES 20000u
#define CPU        (HARDWARE_CPU_READ | HARDWARE_CPU_WRITE)

static struct {
#define MEMBER(type, name, parameters) type(*name) parameters;
    HARDWARE_FUNCTIONS(MEMBER)
#undef MEMBER
} native;

struct scene {
    const struct app *app;
    PFN_vkGetAndroidHardwareBufferPropertiesANDROID properties;
    PFN_vkGetMemoryAndroidHardwareBufferANDROID get;
    struct app_buffer upload, readback;
    uint8_t model[MOST_BYTES]; /* without padding */
    uint32_t seed;
};

/* A buffer under one Vulkan name. */
struct named {
    struct AHardwareBuffer *buffer;
    VkDeviceMemory memory;
    VkImage image; /* or */
    VkBuffer bytes;
    uint32_t row_bytes, rows;
};

static struct AHardwareBuffer *allocate(enum hardware_format format, uint32_t width, uint32_t height, uint64_t usage)
{
    struct hardware_description is = {
        .width = width, .height = height, .layers = 1, .format = (uint32_t)format, .usage = usage};
    struct AHardwareBuffer *buffer = NULL;
    CHECK(native.allocate(&is, &buffer) == 0);
    return buffer;
}

/* ---- the CPU ---- */

static void film_rows(struct scene *scene, const struct named *named, uint32_t first, uint32_t count)
{
    struct hardware_description is;
    uint8_t *rows;
    void *locked = NULL;
    uint32_t pitch;

    native.describe(named->buffer, &is);
    pitch = is.height == 1 ? 0 : is.stride * (named->row_bytes / is.width);
    CHECK(native.lock(named->buffer, HARDWARE_CPU_WRITE, -1, NULL, &locked) == 0);
    rows = locked;
    for (uint32_t y = first; y < first + count; y++)
        for (uint32_t x = 0; x < named->row_bytes; x++)
            rows[y * pitch + x] = scene->model[y * named->row_bytes + x] = (uint8_t)(app_random(&scene->seed) & 0x3b);
    CHECK(native.unlock(named->buffer, NULL) == 0);
}

static void expect_rows(const struct scene *scene, const struct named *named)
{
    struct hardware_description is;
    void *rows = NULL;

    native.describe(named->buffer, &is);
    CHECK(native.lock(named->buffer, HARDWARE_CPU_READ, -1, NULL, &rows) == 0);
    for (uint32_t y = 0; y < named->rows; y++)
        EXPECT_EQ(scene->app,
                  memcmp((uint8_t *)rows + y * is.stride * (named->row_bytes / is.width),
                         scene->model + y * named->row_bytes, named->row_bytes),
                  0);
    CHECK(native.unlock(named->buffer, NULL) == 0);
}

/* ---- Vulkan's names ---- */

static VkImage create_image(const struct scene *scene, VkFormat format)
{
    VkExternalMemoryImageCreateInfo external = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
                                                .handleTypes = BUFFER_BIT};
    VkImageCreateInfo info = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO,
                              .pNext = &external,
                              .imageType = VK_IMAGE_TYPE_2D,
                              .format = format,
                              .extent = {WIDTH, HEIGHT, 1},
                              .mipLevels = 1,
                              .arrayLayers = 1,
                              .samples = VK_SAMPLE_COUNT_1_BIT,
                              .tiling = VK_IMAGE_TILING_OPTIMAL,
                              .usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT | VK_IMAGE_USAGE_TRANSFER_DST_BIT};
    VkImage image;
    CHECK_VK(vkCreateImage(scene->app->device, &info, NULL, &image));
    return image;
}

static VkBuffer create_bytes(const struct scene *scene)
{
    VkExternalMemoryBufferCreateInfo external = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
                                                 .handleTypes = BUFFER_BIT};
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO,
                               .pNext = &external,
                               .size = BLOB,
                               .usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT};
    VkBuffer buffer;
    CHECK_VK(vkCreateBuffer(scene->app->device, &info, NULL, &buffer));
    return buffer;
}

/* Imports named->buffer, as an image of the format that the driver says, or as bytes. */
static void import_buffer(const struct scene *scene, struct named *named)
{
    VkAndroidHardwareBufferFormatPropertiesANDROID format = {
        .sType = VK_STRUCTURE_TYPE_ANDROID_HARDWARE_BUFFER_FORMAT_PROPERTIES_ANDROID};
    VkAndroidHardwareBufferPropertiesANDROID is = {
        .sType = VK_STRUCTURE_TYPE_ANDROID_HARDWARE_BUFFER_PROPERTIES_ANDROID, .pNext = &format};
    VkImportAndroidHardwareBufferInfoANDROID import = {
        .sType = VK_STRUCTURE_TYPE_IMPORT_ANDROID_HARDWARE_BUFFER_INFO_ANDROID, .buffer = named->buffer};
    VkMemoryDedicatedAllocateInfo dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
                                               .pNext = &import};
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &dedicated};

    CHECK_VK(scene->properties(scene->app->device, named->buffer, &is));
    if (format.format == VK_FORMAT_UNDEFINED) {
        named->bytes = create_bytes(scene);
        info.pNext = &import;
    } else {
        dedicated.image = named->image = create_image(scene, format.format);
    }
    info.allocationSize = is.allocationSize;
    info.memoryTypeIndex = app_memory_type(scene->app, is.memoryTypeBits, 0, 0, 0);
    CHECK_VK(vkAllocateMemory(scene->app->device, &info, NULL, &named->memory));
    if (named->image)
        CHECK_VK(vkBindImageMemory(scene->app->device, named->image, named->memory, 0));
    else
        CHECK_VK(vkBindBufferMemory(scene->app->device, named->bytes, named->memory, 0));
}

static void export_image(const struct scene *scene, struct named *named)
{
    VkMemoryDedicatedAllocateInfo dedicated = {.sType = VK_STRUCTURE_TYPE_MEMORY_DEDICATED_ALLOCATE_INFO,
                                               .image = named->image = create_image(scene, VK_FORMAT_R8G8B8A8_UNORM)};
    VkExportMemoryAllocateInfo export = {
        .sType = VK_STRUCTURE_TYPE_EXPORT_MEMORY_ALLOCATE_INFO, .pNext = &dedicated, .handleTypes = BUFFER_BIT};
    VkMemoryAllocateInfo info = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &export};
    VkMemoryGetAndroidHardwareBufferInfoANDROID get = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_GET_ANDROID_HARDWARE_BUFFER_INFO_ANDROID};

    CHECK_VK(vkAllocateMemory(scene->app->device, &info, NULL, &named->memory));
    CHECK_VK(vkBindImageMemory(scene->app->device, named->image, named->memory, 0));
    get.memory = named->memory;
    CHECK_VK(scene->get(scene->app->device, &get, &named->buffer));
}

static void destroy_named(const struct scene *scene, struct named *named)
{
    vkDestroyBuffer(scene->app->device, named->bytes, NULL);
    vkDestroyImage(scene->app->device, named->image, NULL);
    vkFreeMemory(scene->app->device, named->memory, NULL);
    native.release(named->buffer);
}

/* ---- the device ---- */

static void pass_on(const struct scene *scene, VkCommandBuffer commands, const struct named *named, VkImageLayout from,
                    VkImageLayout to, bool release)
{
    VkImageMemoryBarrier image = {.sType = VK_STRUCTURE_TYPE_IMAGE_MEMORY_BARRIER,
                                  .srcAccessMask = release ? VK_ACCESS_TRANSFER_WRITE_BIT : 0,
                                  .dstAccessMask = release ? 0 : VK_ACCESS_TRANSFER_READ_BIT,
                                  .oldLayout = from,
                                  .newLayout = to,
                                  .srcQueueFamilyIndex = scene->app->queue_family,
                                  .dstQueueFamilyIndex = VK_QUEUE_FAMILY_FOREIGN_EXT,
                                  .image = named->image,
                                  .subresourceRange = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 1, 0, 1}};
    if (!release) {
        image.srcQueueFamilyIndex = VK_QUEUE_FAMILY_FOREIGN_EXT;
        image.dstQueueFamilyIndex = scene->app->queue_family;
    }
    if (named->image)
        vkCmdPipelineBarrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_PIPELINE_STAGE_TRANSFER_BIT, 0, 0, NULL, 0,
                             NULL, 1, &image);
}

static const VkBufferImageCopy whole = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                        .imageExtent = {WIDTH, HEIGHT, 1}};

/* Contents of others survive the first barrier, whose old layout nobody knows. */
static void expect_read(const struct scene *scene, const struct named *named)
{
    VkCommandBuffer commands = app_begin(scene->app);
    const uint32_t bytes = named->row_bytes * named->rows;

    pass_on(scene, commands, named, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL, false);
    if (named->image)
        vkCmdCopyImageToBuffer(commands, named->image, VK_IMAGE_LAYOUT_GENERAL, scene->readback.buffer, 1, &whole);
    else
        vkCmdCopyBuffer(commands, named->bytes, scene->readback.buffer, 1, &(VkBufferCopy){0, 0, bytes});
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    pass_on(scene, commands, named, VK_IMAGE_LAYOUT_GENERAL, VK_IMAGE_LAYOUT_GENERAL, true);
    app_run(scene->app, commands);
    app_buffer_invalidate(scene->app, &scene->readback, 0, bytes);
    EXPECT_EQ(scene->app, memcmp(scene->readback.mapped, scene->model, bytes), 0);
}

static void write_image(struct scene *scene, const struct named *named)
{
    VkCommandBuffer commands;
    struct app_image image = {.image = named->image, .aspect = VK_IMAGE_ASPECT_COLOR_BIT};

    for (uint32_t i = 0; i < named->row_bytes * named->rows; i++)
        scene->upload.mapped[i] = scene->model[i] = (uint8_t)(app_random(&scene->seed) & 0x3b);
    app_buffer_flush(scene->app, &scene->upload, 0, named->row_bytes * named->rows);
    commands = app_begin(scene->app);
    app_image_barrier(commands, &image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL);
    vkCmdCopyBufferToImage(commands, scene->upload.buffer, named->image, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, 1,
                           &whole);
    pass_on(scene, commands, named, VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, VK_IMAGE_LAYOUT_GENERAL, true);
    app_run(scene->app, commands);
}

/* ---- runs ---- */

static void run_imported(struct scene *scene, enum hardware_format format, uint32_t width, uint32_t height,
                         uint32_t texel_bytes)
{
    struct named named = {.buffer = allocate(format, width, height, CPU | HARDWARE_GPU_SAMPLE | HARDWARE_GPU_BUFFER),
                          .row_bytes = width * texel_bytes,
                          .rows = height};

    film_rows(scene, &named, 0, height);
    import_buffer(scene, &named);
    expect_read(scene, &named);
    film_rows(scene, &named, height / 2, (height + 3) / 4);
    expect_read(scene, &named);
    expect_read(scene, &named); /* nobody has changed it */
    if (named.image) {
        write_image(scene, &named);
        expect_rows(scene, &named);
        film_rows(scene, &named, height - 1, 1);
        expect_read(scene, &named);
    }
    destroy_named(scene, &named);
}

/* Two images are one buffer. */
static void run_exported(struct scene *scene)
{
    struct named first = {.row_bytes = 4 * WIDTH, .rows = HEIGHT}, second = first;

    export_image(scene, &first);
    second.buffer = first.buffer;
    native.acquire(second.buffer);
    import_buffer(scene, &second);
    for (uint32_t turn = 0; turn < 2; turn++) {
        write_image(scene, &first);
        expect_read(scene, &second);
    }
    destroy_named(scene, &first);
    expect_read(scene, &second);
    destroy_named(scene, &second);
}

/* Nobody but devices may touch it. */
static void run_closed(struct scene *scene)
{
    struct named named = {.buffer = allocate(HARDWARE_R8G8B8A8, WIDTH, HEIGHT, HARDWARE_GPU_SAMPLE),
                          .row_bytes = 4 * WIDTH,
                          .rows = HEIGHT};

    import_buffer(scene, &named);
    write_image(scene, &named);
    expect_read(scene, &named);
    destroy_named(scene, &named);
}

static void run_external(struct scene *scene)
{
    VkAndroidHardwareBufferPropertiesANDROID is = {.sType =
                                                       VK_STRUCTURE_TYPE_ANDROID_HARDWARE_BUFFER_PROPERTIES_ANDROID};
    struct AHardwareBuffer *buffer = allocate(HARDWARE_Y8CB8CR8_420, WIDTH, HEIGHT, CPU | HARDWARE_GPU_SAMPLE);

    printf("external: %d\n", scene->properties(scene->app->device, buffer, &is));
    native.release(buffer);
}

static void run_all(struct scene *scene)
{
    run_exported(scene); /* nobody knows of such a buffer before */
    run_imported(scene, HARDWARE_R8G8B8A8, WIDTH, HEIGHT, 4);
    run_imported(scene, HARDWARE_R5G6B5, WIDTH, HEIGHT, 2);
    run_imported(scene, HARDWARE_R16G16B16A16_FLOAT, WIDTH, HEIGHT, 8);
    run_imported(scene, HARDWARE_R10G10B10A2, WIDTH, HEIGHT, 4);
    run_imported(scene, HARDWARE_R8, WIDTH, HEIGHT, 1);
    run_imported(scene, HARDWARE_BLOB, BLOB, 1, 1);
}

static bool load(void)
{
    void *library = dlopen("libnativewindow.so", RTLD_NOW);
    bool all = library != NULL;
#define FIND(type, name, parameters) all = all && (*(void **)&native.name = dlsym(library, "AHardwareBuffer_" #name));
    HARDWARE_FUNCTIONS(FIND)
#undef FIND
    return all;
}

int main(int argc, char **argv)
{
    static bool external, closed;
    static const struct app_option options[] = {
        {.name = "--external", .help = "a buffer has a format that only its driver knows", .flag = &external},
        {.name = "--closed", .help = "the CPU may not read the buffer", .flag = &closed},
        {0},
    };
    static const struct app_program program = {
        .name = "hardware", .what = "Memory that is an AHardwareBuffer of Android.", .frames = 2, .options = options};
    const char *const extensions[] = {VK_ANDROID_EXTERNAL_MEMORY_ANDROID_HARDWARE_BUFFER_EXTENSION_NAME,
                                      VK_EXT_QUEUE_FAMILY_FOREIGN_EXTENSION_NAME};
    struct app_device_request request = {.extensions = extensions, .extension_count = COUNT_OF(extensions)};
    static struct scene scene = {.seed = 9};
    struct app app;

    app_init(&app, argc, argv, &program);
    if (app.api_version < VK_API_VERSION_1_1 || !app_has_extension(&app, extensions[0]) ||
        !app_has_extension(&app, extensions[1]) || !load())
        app_skip(&app, "VK_ANDROID_external_memory_android_hardware_buffer is missing");
    app_device_create(&app, &request);
    scene.app = &app;
    scene.properties = (PFN_vkGetAndroidHardwareBufferPropertiesANDROID)app_device_function(
        &app, "vkGetAndroidHardwareBufferPropertiesANDROID");
    scene.get = (PFN_vkGetMemoryAndroidHardwareBufferANDROID)app_device_function(
        &app, "vkGetMemoryAndroidHardwareBufferANDROID");
    app_buffer_create(&app, &scene.upload, MOST_BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(&app, &scene.readback, MOST_BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        if (external)
            run_external(&scene);
        else if (closed)
            run_closed(&scene);
        else
            run_all(&scene);
    }
    app_buffer_destroy(&app, &scene.upload);
    app_buffer_destroy(&app, &scene.readback);
    return app_finish(&app);
}

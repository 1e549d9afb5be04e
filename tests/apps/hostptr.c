/* SPDX-License-Identifier: MIT */
/*
 * hostptr: device memory that is made of the program's own pages. In each frame two imports lie side by side in one
 * buffer of the program. The host writes them before they are imported, after, while one of them is mapped, and through
 * its own pointer and the mapped one in turn; the device reads them, and writes next to what the host writes. Then they
 * are freed and are ordinary memory, some of which the next frame imports as the device left it. A linear image and a
 * buffer in pages that are mapped twice are written the same way. The host's own copy says what every byte must be.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "common/app.h"

#define HOST_ALLOCATION VK_EXTERNAL_MEMORY_HANDLE_TYPE_HOST_ALLOCATION_BIT_EXT
#define IMPORT_PAGES    4u
#define IMAGE_SIDE      24u

struct scene {
    const struct app *app;
    PFN_vkGetMemoryHostPointerPropertiesEXT properties_of;
    VkDeviceSize page, bytes; /* of an import; both are multiples of what imports want */
    uint8_t *pages;           /* of the program: two imports and a page that is in none */
    uint8_t *views[2];        /* of one import's bytes in two places; NULL: there is no such memory here */
    uint8_t *model;           /* what `pages` must hold */
    struct app_buffer readback;
    uint32_t seed;
    bool images;
};

struct import {
    uint8_t *pages;
    VkDeviceMemory memory;
    VkBuffer buffer;
};

/* ---- imports ---- */

static uint32_t importable_types(const struct scene *scene, void *pages)
{
    VkMemoryHostPointerPropertiesEXT properties = {.sType = VK_STRUCTURE_TYPE_MEMORY_HOST_POINTER_PROPERTIES_EXT};
    CHECK_VK(scene->properties_of(scene->app->device, HOST_ALLOCATION, pages, &properties));
    return properties.memoryTypeBits;
}

static VkResult import_memory(const struct scene *scene, uint8_t *pages, uint32_t types, VkDeviceMemory *out)
{
    VkImportMemoryHostPointerInfoEXT pointer = {.sType = VK_STRUCTURE_TYPE_IMPORT_MEMORY_HOST_POINTER_INFO_EXT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &pointer};
    pointer.handleType = HOST_ALLOCATION;
    pointer.pHostPointer = pages;
    allocate.allocationSize = scene->bytes;
    allocate.memoryTypeIndex =
        app_memory_type(scene->app, types & importable_types(scene, pages),
                        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT,
                        VK_MEMORY_PROPERTY_HOST_CACHED_BIT, VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT);
    return vkAllocateMemory(scene->app->device, &allocate, NULL, out);
}

static void import_buffer(const struct scene *scene, uint8_t *pages, struct import *import)
{
    VkExternalMemoryBufferCreateInfo external = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_BUFFER_CREATE_INFO,
                                                 .handleTypes = HOST_ALLOCATION};
    VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .pNext = &external};
    VkMemoryRequirements requirements;
    create.size = scene->bytes;
    create.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    import->pages = pages;
    CHECK_VK(vkCreateBuffer(scene->app->device, &create, NULL, &import->buffer));
    vkGetBufferMemoryRequirements(scene->app->device, import->buffer, &requirements);
    CHECK(requirements.size <= scene->bytes);
    CHECK_VK(import_memory(scene, pages, requirements.memoryTypeBits, &import->memory));
    CHECK_VK(vkBindBufferMemory(scene->app->device, import->buffer, import->memory, 0));
}

static void release(const struct scene *scene, struct import *import)
{
    vkDestroyBuffer(scene->app->device, import->buffer, NULL);
    vkFreeMemory(scene->app->device, import->memory, NULL);
}

/* ---- what the host and the device do ---- */

/* Stores the same bytes into the pages, through any pointer to them, and into the model. */
static void store(struct scene *scene, uint8_t *to, VkDeviceSize at, VkDeviceSize bytes)
{
    for (VkDeviceSize i = 0; i < bytes; i++)
        to[i] = scene->model[at + i] = (uint8_t)app_random(&scene->seed);
}

static void store_in_pages(struct scene *scene, VkDeviceSize at, VkDeviceSize bytes)
{
    store(scene, scene->pages + at, at, bytes);
}

/* Copies on the device, between imports or inside one. Offsets are those of the model. */
static void copy(struct scene *scene, const struct import imports[2], VkDeviceSize from, VkDeviceSize to,
                 VkDeviceSize bytes)
{
    VkBufferCopy region = {.srcOffset = from % scene->bytes, .dstOffset = to % scene->bytes, .size = bytes};
    VkCommandBuffer commands = app_begin(scene->app);
    vkCmdCopyBuffer(commands, imports[from / scene->bytes].buffer, imports[to / scene->bytes].buffer, 1, &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(scene->app, commands);
    memmove(scene->model + to, scene->model + from, bytes);
}

/* All that the program sees, through its own pointer. */
static void check_pages(const struct scene *scene)
{
    EXPECT_EQ(scene->app, memcmp(scene->pages, scene->model, 2 * scene->bytes + scene->page), 0);
}

/* All that the device sees, copied out. */
static void check_import(const struct scene *scene, const struct import *import, VkDeviceSize at)
{
    VkBufferCopy region = {.size = scene->bytes};
    VkCommandBuffer commands = app_begin(scene->app);
    vkCmdCopyBuffer(commands, import->buffer, scene->readback.buffer, 1, &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(scene->app, commands);
    app_buffer_invalidate(scene->app, &scene->readback, 0, scene->bytes);
    EXPECT_EQ(scene->app, memcmp(scene->readback.mapped, scene->model + at, scene->bytes), 0);
}

/* ---- a frame ---- */

/* The same bytes once more: an implementation may refuse, and if not there are two names for one memory. */
static void import_again(const struct scene *scene)
{
    VkDeviceMemory second;
    VkResult result = import_memory(scene, scene->pages, UINT32_MAX, &second);
    CHECK(result == VK_SUCCESS || result == VK_ERROR_INVALID_EXTERNAL_HANDLE);
    if (result == VK_SUCCESS)
        vkFreeMemory(scene->app->device, second, NULL);
}

static void write_while_mapped(struct scene *scene, const struct import imports[2])
{
    const VkDeviceSize at = scene->page + 100;
    void *mapped = NULL;
    CHECK_VK(vkMapMemory(scene->app->device, imports[0].memory, at, VK_WHOLE_SIZE, 0, &mapped));
    EXPECT_EQ(scene->app, memcmp(mapped, scene->model + at, scene->bytes - at), 0);
    store(scene, (uint8_t *)mapped + 50, at + 50, 300);
    copy(scene, imports, at, scene->bytes + 5000, 700);
    check_pages(scene);
    store(scene, (uint8_t *)mapped + 60, at + 60, 1);
    store_in_pages(scene, at + 400, 20); /* the other pointer, and bytes that are not mapped */
    store_in_pages(scene, 8, 8);
    copy(scene, imports, 0, scene->bytes, 2 * scene->page);
    check_pages(scene);
    store(scene, (uint8_t *)mapped, at, 10); /* the last thing before it is unmapped */
    vkUnmapMemory(scene->app->device, imports[0].memory);
    store_in_pages(scene, at + 11, 10);
    copy(scene, imports, at, scene->bytes + 9, 40);
    check_pages(scene);
}

static void run_buffers(struct scene *scene, uint32_t frame)
{
    struct import imports[2] = {{0}};
    /* In every other frame the second import begins as the device left it. */
    store_in_pages(scene, 0, frame % 2 ? scene->page : scene->bytes);
    if (frame % 2 == 0)
        store_in_pages(scene, scene->bytes + 700, 1000);
    import_buffer(scene, scene->pages, &imports[0]);
    import_buffer(scene, scene->pages + scene->bytes, &imports[1]);
    import_again(scene);
    copy(scene, imports, 0, scene->bytes + 64, 1000);
    check_pages(scene);
    store_in_pages(scene, 500, 200);
    store_in_pages(scene, scene->bytes - 30, 60); /* the end of one, the beginning of the other */
    store_in_pages(scene, 2 * scene->bytes + 10, 10);
    copy(scene, imports, 0, scene->bytes + 3000, 1500); /* the device writes the page that the host wrote */
    store_in_pages(scene, scene->bytes + 2990, 10);
    store_in_pages(scene, scene->bytes + 4500, 10);
    copy(scene, imports, scene->bytes + 2980, 2 * scene->page - 3, 1540);
    check_pages(scene);
    write_while_mapped(scene, imports);
    check_import(scene, &imports[0], 0);
    check_import(scene, &imports[1], scene->bytes);
    release(scene, &imports[0]);
    /* One half is ordinary memory, next to the other. */
    CHECK(mprotect(scene->pages, (size_t)scene->bytes, PROT_READ) == 0);
    CHECK(mprotect(scene->pages, (size_t)scene->bytes, PROT_READ | PROT_WRITE) == 0);
    store_in_pages(scene, 0, scene->bytes);
    store_in_pages(scene, scene->bytes, 77);
    check_import(scene, &imports[1], scene->bytes);
    release(scene, &imports[1]);
    check_pages(scene);
}

/* Stores through one view must be seen by the device, which has the other. */
static void run_views(struct scene *scene)
{
    struct import import;
    if (!scene->views[0])
        return;
    store(scene, scene->views[1], 0, scene->bytes);
    import_buffer(scene, scene->views[0], &import);
    check_import(scene, &import, 0);
    store(scene, scene->views[1] + 1234, 1234, 56);
    store(scene, scene->views[0] + scene->page, scene->page, 5);
    check_import(scene, &import, 0);
    release(scene, &import);
}

static bool can_import_image(const struct app *app, const VkImageCreateInfo *create)
{
    VkPhysicalDeviceExternalImageFormatInfo external = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_IMAGE_FORMAT_INFO, .handleType = HOST_ALLOCATION};
    VkPhysicalDeviceImageFormatInfo2 info = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_IMAGE_FORMAT_INFO_2,
                                             .pNext = &external};
    VkExternalImageFormatProperties answer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_IMAGE_FORMAT_PROPERTIES};
    VkImageFormatProperties2 properties = {.sType = VK_STRUCTURE_TYPE_IMAGE_FORMAT_PROPERTIES_2, .pNext = &answer};
    const VkExternalMemoryFeatureFlags wanted = VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
    info.format = create->format;
    info.type = create->imageType;
    info.tiling = create->tiling;
    info.usage = create->usage;
    return vkGetPhysicalDeviceImageFormatProperties2(app->physical, &info, &properties) == VK_SUCCESS &&
           (answer.externalMemoryProperties.externalMemoryFeatures &
            (wanted | VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT)) == wanted;
}

/* A picture whose rows the host writes in its own pages. Where there are none for images, a line says so once. */
static void run_image(struct scene *scene)
{
    const struct app *app = scene->app;
    const VkImageSubresource color = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0};
    VkExternalMemoryImageCreateInfo external = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_MEMORY_IMAGE_CREATE_INFO,
                                                .handleTypes = HOST_ALLOCATION};
    VkImageCreateInfo create = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO, .pNext = &external};
    struct app_image image = {.aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                .imageExtent = {IMAGE_SIDE, IMAGE_SIDE, 1}};
    VkMemoryRequirements requirements;
    VkSubresourceLayout layout;

    create.imageType = VK_IMAGE_TYPE_2D;
    create.format = VK_FORMAT_R8G8B8A8_UNORM;
    create.extent = (VkExtent3D){IMAGE_SIDE, IMAGE_SIDE, 1};
    create.mipLevels = create.arrayLayers = 1;
    create.samples = VK_SAMPLE_COUNT_1_BIT;
    create.tiling = VK_IMAGE_TILING_LINEAR;
    create.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    if (!scene->images || !can_import_image(app, &create)) {
        if (scene->images)
            printf("left out: linear images in imported pages\n");
        scene->images = false;
        return;
    }
    CHECK_VK(vkCreateImage(app->device, &create, NULL, &image.image));
    vkGetImageMemoryRequirements(app->device, image.image, &requirements);
    vkGetImageSubresourceLayout(app->device, image.image, &color, &layout);
    CHECK(requirements.size <= scene->bytes);
    CHECK_VK(import_memory(scene, scene->pages, requirements.memoryTypeBits, &image.memory));
    CHECK_VK(vkBindImageMemory(app->device, image.image, image.memory, 0));
    VkCommandBuffer commands = app_begin(app);
    app_image_barrier(commands, &image, VK_IMAGE_LAYOUT_UNDEFINED, VK_IMAGE_LAYOUT_GENERAL);
    app_run(app, commands);
    for (uint32_t y = 0; y < IMAGE_SIDE; y++)
        store_in_pages(scene, layout.offset + y * layout.rowPitch, (VkDeviceSize)4 * IMAGE_SIDE);
    commands = app_begin(app);
    vkCmdCopyImageToBuffer(commands, image.image, VK_IMAGE_LAYOUT_GENERAL, scene->readback.buffer, 1, &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &scene->readback, 0, scene->bytes);
    for (uint32_t y = 0; y < IMAGE_SIDE; y++)
        EXPECT_EQ(app,
                  memcmp(scene->readback.mapped + (size_t)4 * IMAGE_SIDE * y,
                         scene->model + layout.offset + y * layout.rowPitch, (size_t)4 * IMAGE_SIDE),
                  0);
    vkDestroyImage(app->device, image.image, NULL);
    vkFreeMemory(app->device, image.memory, NULL);
}

/* ---- the program ---- */

static bool can_import_buffers(const struct app *app)
{
    VkPhysicalDeviceExternalBufferInfo info = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_BUFFER_INFO};
    VkExternalBufferProperties answer = {.sType = VK_STRUCTURE_TYPE_EXTERNAL_BUFFER_PROPERTIES};
    const VkExternalMemoryFeatureFlags wanted = VK_EXTERNAL_MEMORY_FEATURE_IMPORTABLE_BIT;
    info.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    info.handleType = HOST_ALLOCATION;
    vkGetPhysicalDeviceExternalBufferProperties(app->physical, &info, &answer);
    return (answer.externalMemoryProperties.externalMemoryFeatures &
            (wanted | VK_EXTERNAL_MEMORY_FEATURE_DEDICATED_ONLY_BIT)) == wanted;
}

static void map_views(struct scene *scene)
{
    int fd = memfd_create("hostptr", MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)scene->bytes) != 0) {
        printf("left out: pages that are mapped twice\n");
        return;
    }
    for (uint32_t i = 0; i < 2; i++) {
        void *view = mmap(NULL, (size_t)scene->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        CHECK(view != MAP_FAILED);
        scene->views[i] = view;
    }
    close(fd);
}

static void create_scene(const struct app *app, struct scene *scene)
{
    VkPhysicalDeviceExternalMemoryHostPropertiesEXT host = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_EXTERNAL_MEMORY_HOST_PROPERTIES_EXT};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &host};
    VkDeviceSize page = (VkDeviceSize)sysconf(_SC_PAGESIZE);
    void *pages;

    vkGetPhysicalDeviceProperties2(app->physical, &properties);
    *scene = (struct scene){.app = app, .seed = 5, .images = true};
    scene->properties_of =
        (PFN_vkGetMemoryHostPointerPropertiesEXT)app_device_function(app, "vkGetMemoryHostPointerPropertiesEXT");
    scene->page = host.minImportedHostPointerAlignment > page ? host.minImportedHostPointerAlignment : page;
    scene->bytes = IMPORT_PAGES * scene->page;
    CHECK(posix_memalign(&pages, (size_t)scene->page, (size_t)(2 * scene->bytes + scene->page)) == 0);
    scene->pages = pages;
    scene->model = calloc(1, (size_t)(2 * scene->bytes + scene->page));
    CHECK(scene->model);
    memset(scene->pages, 0, (size_t)(2 * scene->bytes + scene->page));
    app_buffer_create(app, &scene->readback, scene->bytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    map_views(scene);
}

static void destroy_scene(struct scene *scene)
{
    app_buffer_destroy(scene->app, &scene->readback);
    for (uint32_t i = 0; i < 2; i++)
        if (scene->views[i])
            munmap(scene->views[i], (size_t)scene->bytes);
    free(scene->pages);
    free(scene->model);
}

int main(int argc, char **argv)
{
    static const struct app_program program = {
        .name = "hostptr",
        .what = "Device memory that is made of the program's own pages.",
        .frames = 4,
    };
    static const char *const extensions[] = {VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME};
    const struct app_device_request request = {.extensions = extensions, .extension_count = COUNT_OF(extensions)};
    struct app app;
    struct scene scene;
    app_init(&app, argc, argv, &program);
    if (app.api_version < VK_API_VERSION_1_1)
        app_skip(&app, "Vulkan 1.1 is missing");
    if (!app_has_extension(&app, extensions[0]))
        app_skip(&app, "VK_EXT_external_memory_host is missing");
    if (!can_import_buffers(&app))
        app_skip(&app, "buffers can't lie in imported pages");
    app_device_create(&app, &request);
    create_scene(&app, &scene);
    for (uint32_t frame = 0; frame < app.frames; frame++) {
        run_buffers(&scene, frame);
        run_image(&scene);
        run_views(&scene);
        memcpy(scene.model, scene.pages, (size_t)scene.bytes); /* run_views had it for its own */
    }
    destroy_scene(&scene);
    return app_finish(&app);
}

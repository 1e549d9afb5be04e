/* SPDX-License-Identifier: MIT */
/*
 * hostptr: device memory that is made of the program's own pages. In each frame two imports lie side by side in one
 * buffer of the program. The host writes them before they are imported, after, while one of them is mapped, and through
 * its own pointer and the mapped one in turn; the device reads them, and writes next to what the host writes. Then they
 * are freed and are ordinary memory, some of which the next frame imports as the device left it. A linear image and a
 * buffer in pages that are mapped twice are written the same way. The host's own copy says what every byte must be.
 *
 * With --twice pages are imported while they are imported already: by the same device in full and in part, and by
 * another device. What the host writes is read through all of them, and what a device writes through one is read
 * through the others, while they come and go.
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

/* ---- pages that are imported twice ---- */

/* Offsets are those of the model. */
static void copy_through(struct scene *scene, const struct import *source, VkDeviceSize from,
                         const struct import *target, VkDeviceSize to, VkDeviceSize bytes)
{
    VkBufferCopy region = {.srcOffset = from - (VkDeviceSize)(source->pages - scene->pages),
                           .dstOffset = to - (VkDeviceSize)(target->pages - scene->pages),
                           .size = bytes};
    VkCommandBuffer commands = app_begin(scene->app);
    vkCmdCopyBuffer(commands, source->buffer, target->buffer, 1, &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(scene->app, commands);
    memmove(scene->model + to, scene->model + from, bytes);
    check_pages(scene);
}

static void check_through(const struct scene *scene, const struct import *import)
{
    check_import(scene, import, (VkDeviceSize)(import->pages - scene->pages));
}

/* False: this driver takes pages once at a time. */
static bool can_import_again(const struct scene *scene, const struct import *first)
{
    VkDeviceMemory second;
    VkResult result = import_memory(scene, first->pages, UINT32_MAX, &second);
    CHECK(result == VK_SUCCESS || result == VK_ERROR_INVALID_EXTERNAL_HANDLE);
    if (result == VK_SUCCESS)
        vkFreeMemory(scene->app->device, second, NULL);
    return result == VK_SUCCESS;
}

/* One device: half of the second import lies in the first, and all of the third. Its own device reads and writes what
 * the first one's objects hold, and pages are given back in the middle of others that stay imported. */
static void run_overlaps(struct scene *scene, uint32_t frame)
{
    const VkDeviceSize page = scene->page, middle = scene->bytes / 2, end = scene->bytes + middle;
    struct import first, second, third;
    store_in_pages(scene, 0, scene->bytes);
    import_buffer(scene, scene->pages, &first);
    store_in_pages(scene, middle - 10, 500); /* before it is imported again */
    import_buffer(scene, scene->pages + middle, &second);
    check_through(scene, &second);
    store_in_pages(scene, middle + 1000, 50);
    store_in_pages(scene, scene->bytes - 25, 50); /* the end of the first, the middle of the second */
    check_through(scene, &second);
    check_through(scene, &first);
    copy_through(scene, &first, 100, &first, middle + 2000, 700);
    store_in_pages(scene, middle + 1990, 10);
    store_in_pages(scene, middle + 2700, 10);
    check_through(scene, &second);
    copy_through(scene, &second, middle + 1980, &second, scene->bytes - 300, 600); /* seen by half */
    check_through(scene, &first);
    copy_through(scene, &second, scene->bytes + 100, &first, 50, 150);
    copy_through(scene, &first, middle - 100, &second, end - 200, 200);
    import_buffer(scene, scene->pages, &third);
    check_through(scene, &third);
    store_in_pages(scene, 300, 1);
    copy_through(scene, &third, 290, &second, middle + 5, 20);
    check_through(scene, &first);
    release(scene, frame % 2 ? &first : &third);
    copy_through(scene, &second, middle, frame % 2 ? &third : &first, 7, 300);
    release(scene, frame % 2 ? &third : &first);
    /* The first half is ordinary memory; the other one stays. */
    CHECK(mprotect(scene->pages, (size_t)middle, PROT_NONE) == 0);
    check_through(scene, &second);
    CHECK(mprotect(scene->pages, (size_t)middle, PROT_READ | PROT_WRITE) == 0);
    store_in_pages(scene, middle - 20, 40);
    check_through(scene, &second);
    import_buffer(scene, scene->pages + page, &first);
    check_through(scene, &first);
    copy_through(scene, &second, end - 400, &first, page + 200, 400);
    release(scene, &second);
    store_in_pages(scene, scene->bytes, 100);
    check_through(scene, &first);
    release(scene, &first);
}

/* Two devices have the same pages. Each learns from the host that the other one has finished. */
static void run_devices(struct scene *one, struct scene *two)
{
    const VkDeviceSize page = one->page;
    struct import first, second;
    store_in_pages(one, 0, one->bytes);
    import_buffer(one, one->pages, &first);
    import_buffer(two, two->pages + page, &second);
    check_through(one, &first);
    check_through(two, &second);
    store_in_pages(one, page - 100, 200);
    copy_through(one, &first, 50, &first, 2 * page + 10, 300);
    check_through(two, &second);
    store_in_pages(one, 2 * page + 20, 5); /* among what the first device wrote */
    copy_through(two, &second, 2 * page, &second, 3 * page, 400);
    check_through(one, &first);
    copy_through(one, &first, 0, &first, 3 * page + 100, 100);
    check_through(two, &second);
    release(one, &first);
    store_in_pages(two, page, 3);
    check_through(two, &second);
    release(two, &second);
}

static void run_twice(struct scene *scene, const struct app_device_request *request)
{
    const struct app *app = scene->app;
    struct app other = *app;
    struct scene others = *scene;
    struct import first;
    bool again;
    import_buffer(scene, scene->pages, &first);
    again = can_import_again(scene, &first);
    release(scene, &first);
    if (!again) {
        printf("left out: pages that are imported already\n");
        return;
    }
    app_device_create(&other, request);
    others.app = &other;
    others.properties_of =
        (PFN_vkGetMemoryHostPointerPropertiesEXT)app_device_function(&other, "vkGetMemoryHostPointerPropertiesEXT");
    app_buffer_create(&other, &others.readback, others.bytes, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t frame = 0; frame < app->frames; frame++) {
        run_overlaps(scene, frame);
        others.seed = scene->seed;
        run_devices(scene, &others);
    }
    app_buffer_destroy(&other, &others.readback);
    app_device_destroy(&other);
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
    static bool twice;
    static const struct app_option options[] = {
        {.name = "--twice", .help = "import pages that are imported already", .flag = &twice},
        {0},
    };
    static const struct app_program program = {
        .name = "hostptr",
        .what = "Device memory that is made of the program's own pages.",
        .frames = 4,
        .options = options,
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
    if (twice)
        run_twice(&scene, &request);
    for (uint32_t frame = 0; frame < app.frames && !twice; frame++) {
        run_buffers(&scene, frame);
        run_image(&scene);
        run_views(&scene);
        memcpy(scene.model, scene.pages, (size_t)scene.bytes); /* run_views had it for its own */
    }
    destroy_scene(&scene);
    return app_finish(&app);
}

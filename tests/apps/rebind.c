/* SPDX-License-Identifier: MIT */
/*
 * rebind: buffers, and with --image a linear image, take over what the device left in their bytes for buffers that are
 * gone. The memory can be mapped, and is so all the time, only while the device writes, only after the next buffer is
 * there, or never. What a buffer holds is copied out by the device and compared.
 */
#include "common/app.h"
#include "shaders/compute_scale_comp.h"

#define HEAP_BYTES (64u << 10)
#define WORDS      1024u /* that the shader computes; a multiple of its 64 */
#define FACTOR     7u
#define WIDTH      29u /* of the image */
#define HEIGHT     17u

enum mapped { ALWAYS, BEFORE, AFTER, NEVER, MAPPED_COUNT };

struct shader {
    struct app_buffer input;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkPipeline pipeline;
};

/* One allocation, and what is in it by now. */
struct heap {
    const struct app *app;
    VkDeviceMemory memory;
    VkDeviceSize bytes, unit; /* unit: what two buffers are apart at least */
    uint32_t type;
    bool coherent;
    uint8_t *base; /* NULL while it is not mapped */
    uint8_t model[HEAP_BYTES];
};

struct scene {
    const struct app *app;
    struct shader shader;
    struct app_buffer check;
    struct heap heap;
    uint32_t seed;
};

static bool only_image;

/* ---- the heap ---- */

static VkBuffer create_buffer(const struct app *app, VkDeviceSize bytes)
{
    VkBuffer buffer;
    VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    create.size = bytes;
    create.usage =
        VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT;
    CHECK_VK(vkCreateBuffer(app->device, &create, NULL, &buffer));
    return buffer;
}

static void heap_create(struct heap *heap, const struct app *app)
{
    VkBuffer probe = create_buffer(app, HEAP_BYTES);
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(app->device, probe, &needs);
    vkDestroyBuffer(app->device, probe, NULL);
    *heap = (struct heap){.app = app, .bytes = needs.size, .unit = 256};
    while (heap->unit % needs.alignment || heap->unit % app->properties.limits.nonCoherentAtomSize)
        heap->unit *= 2;
    heap->type = app_memory_type_for(app, needs.memoryTypeBits, APP_UPLOAD);
    heap->coherent = app_memory_coherent(app, heap->type);
    allocate.allocationSize = needs.size;
    allocate.memoryTypeIndex = heap->type;
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &heap->memory));
}

static void heap_map(struct heap *heap)
{
    void *mapped;
    CHECK_VK(vkMapMemory(heap->app->device, heap->memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    heap->base = mapped;
}

static void heap_unmap(struct heap *heap)
{
    vkUnmapMemory(heap->app->device, heap->memory);
    heap->base = NULL;
}

/* The host looks at what the device wrote. */
static void heap_look(const struct heap *heap)
{
    if (!heap->coherent)
        app_memory_sync(heap->app, heap->memory, heap->bytes, 0, HEAP_BYTES, true);
    EXPECT_EQ(heap->app, memcmp(heap->base, heap->model, HEAP_BYTES), 0);
}

static VkDeviceSize at(const struct heap *heap, VkDeviceSize offset)
{
    return offset / heap->unit * heap->unit;
}

static VkBuffer heap_buffer(const struct heap *heap, VkDeviceSize offset, VkDeviceSize bytes)
{
    VkBuffer buffer = create_buffer(heap->app, bytes);
    VkMemoryRequirements needs;
    vkGetBufferMemoryRequirements(heap->app->device, buffer, &needs);
    CHECK(offset % needs.alignment == 0 && offset + needs.size <= heap->bytes &&
          needs.memoryTypeBits >> heap->type & 1);
    CHECK_VK(vkBindBufferMemory(heap->app->device, buffer, heap->memory, offset));
    return buffer;
}

/* ---- what the device does ---- */

static void shader_create(const struct app *app, struct shader *shader)
{
    VkDescriptorSetLayoutBinding bindings[3];
    const VkDescriptorPoolSize size = {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, COUNT_OF(bindings)};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};

    for (uint32_t i = 0; i < COUNT_OF(bindings); i++)
        bindings[i] =
            (VkDescriptorSetLayoutBinding){i, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL};
    app_buffer_create(app, &shader->input, WORDS * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_UPLOAD);
    shader->set_layout = app_set_layout(app, COUNT_OF(bindings), bindings);
    pool.maxSets = pool.poolSizeCount = 1;
    pool.pPoolSizes = &size;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &shader->pool));
    allocate.descriptorPool = shader->pool;
    allocate.descriptorSetCount = 1;
    allocate.pSetLayouts = &shader->set_layout;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, &shader->set));
    shader->layout = app_pipeline_layout(app, 1, &shader->set_layout, VK_SHADER_STAGE_COMPUTE_BIT, 12);
    shader->pipeline = app_compute_pipeline(app, compute_scale_comp, sizeof compute_scale_comp, shader->layout);
}

static void shader_destroy(const struct app *app, struct shader *shader)
{
    vkDestroyPipeline(app->device, shader->pipeline, NULL);
    vkDestroyPipelineLayout(app->device, shader->layout, NULL);
    vkDestroyDescriptorPool(app->device, shader->pool, NULL);
    vkDestroyDescriptorSetLayout(app->device, shader->set_layout, NULL);
    app_buffer_destroy(app, &shader->input);
}

/* Everything before to everything behind, and to the host. */
static void everything(VkCommandBuffer commands)
{
    const VkAccessFlags access = VK_ACCESS_MEMORY_READ_BIT | VK_ACCESS_MEMORY_WRITE_BIT;
    app_memory_barrier(commands, VK_PIPELINE_STAGE_ALL_COMMANDS_BIT, access,
                       VK_PIPELINE_STAGE_ALL_COMMANDS_BIT | VK_PIPELINE_STAGE_HOST_BIT, access);
}

static void fill(struct scene *scene, VkBuffer buffer, VkDeviceSize bound_at, VkDeviceSize offset, VkDeviceSize bytes,
                 uint32_t word)
{
    VkCommandBuffer commands = app_begin(scene->app);
    vkCmdFillBuffer(commands, buffer, offset, bytes, word);
    everything(commands);
    app_run(scene->app, commands);
    for (VkDeviceSize i = 0; i < bytes; i += 4)
        memcpy(scene->heap.model + bound_at + offset + i, &word, 4);
}

/* The first WORDS of the buffer += input * (FACTOR + 1). */
static void compute(struct scene *scene, VkBuffer buffer, VkDeviceSize bound_at)
{
    const struct app *app = scene->app;
    struct shader *shader = &scene->shader;
    const uint32_t push[3] = {FACTOR, 0, WORDS};
    const VkDescriptorBufferInfo infos[3] = {
        {shader->input.buffer, 0, VK_WHOLE_SIZE}, {shader->input.buffer, 0, VK_WHOLE_SIZE}, {buffer, 0, WORDS * 4}};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET};
    uint32_t *input = (uint32_t *)shader->input.mapped, word;
    VkCommandBuffer commands;

    for (uint32_t i = 0; i < WORDS; i++)
        input[i] = app_random(&scene->seed);
    app_buffer_flush(app, &shader->input, 0, WORDS * 4);
    write.dstSet = shader->set;
    write.descriptorCount = COUNT_OF(infos);
    write.descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
    write.pBufferInfo = infos;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
    commands = app_begin(app);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, shader->pipeline);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, shader->layout, 0, 1, &shader->set, 0, NULL);
    vkCmdPushConstants(commands, shader->layout, VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, push);
    vkCmdDispatch(commands, WORDS / 64, 1, 1);
    everything(commands);
    app_run(app, commands);
    for (uint32_t i = 0; i < WORDS; i++) {
        memcpy(&word, scene->heap.model + bound_at + i * 4, 4);
        word += input[i] * (FACTOR + 1);
        memcpy(scene->heap.model + bound_at + i * 4, &word, 4);
    }
}

static void expect(struct scene *scene, VkBuffer buffer, VkDeviceSize bound_at, VkDeviceSize bytes)
{
    const VkBufferCopy region = {0, 0, bytes};
    VkCommandBuffer commands = app_begin(scene->app);
    vkCmdCopyBuffer(commands, buffer, scene->check.buffer, 1, &region);
    everything(commands);
    app_run(scene->app, commands);
    app_buffer_invalidate(scene->app, &scene->check, 0, scene->check.size);
    EXPECT_EQ(scene->app, memcmp(scene->check.mapped, scene->heap.model + bound_at, bytes), 0);
}

/* ---- the run ---- */

/* Between the end of the device's work and the next buffer, and behind that. */
static void before_bind(struct heap *heap, enum mapped mapped)
{
    if (mapped == ALWAYS)
        heap_look(heap);
    if (mapped == BEFORE)
        heap_unmap(heap);
}

static void after_bind(struct heap *heap, enum mapped mapped)
{
    if (mapped == AFTER)
        heap_map(heap);
    if (mapped == AFTER && !heap->coherent)
        app_memory_sync(heap->app, heap->memory, heap->bytes, 0, HEAP_BYTES, true);
}

static void next_round(struct heap *heap, enum mapped mapped)
{
    if (mapped == AFTER)
        heap_unmap(heap);
    if (mapped == BEFORE)
        heap_map(heap);
}

/* One buffer after the other, each over a part of what the last one left and a part of what is older. */
static void one_after_the_other(struct scene *scene, enum mapped mapped)
{
    const struct app *app = scene->app;
    struct heap *heap = &scene->heap;
    VkDeviceSize first_at = at(heap, 8192), second_at = at(heap, 10000), third_at = at(heap, 4000);
    VkBuffer buffer = heap_buffer(heap, 0, HEAP_BYTES);

    fill(scene, buffer, 0, 0, HEAP_BYTES, app_random(&scene->seed));
    before_bind(heap, mapped);
    vkDestroyBuffer(app->device, buffer, NULL);
    buffer = heap_buffer(heap, first_at, 9000);
    after_bind(heap, mapped);
    next_round(heap, mapped);
    compute(scene, buffer, first_at);
    before_bind(heap, mapped);
    vkDestroyBuffer(app->device, buffer, NULL);
    buffer = heap_buffer(heap, second_at, 12001);
    after_bind(heap, mapped);
    expect(scene, buffer, second_at, 12001);
    next_round(heap, mapped);
    compute(scene, buffer, second_at); /* part of it is what the shader left */
    before_bind(heap, mapped);
    vkDestroyBuffer(app->device, buffer, NULL);
    buffer = heap_buffer(heap, third_at, 30000);
    after_bind(heap, mapped);
    expect(scene, buffer, third_at, 30000);
    vkDestroyBuffer(app->device, buffer, NULL);
    next_round(heap, mapped);
}

static VkImage create_image(const struct app *app)
{
    VkImage image;
    VkImageCreateInfo create = {.sType = VK_STRUCTURE_TYPE_IMAGE_CREATE_INFO};
    create.imageType = VK_IMAGE_TYPE_2D;
    create.format = VK_FORMAT_R8G8B8A8_UNORM;
    create.extent = (VkExtent3D){WIDTH, HEIGHT, 1};
    create.mipLevels = create.arrayLayers = 1;
    create.samples = VK_SAMPLE_COUNT_1_BIT;
    create.tiling = VK_IMAGE_TILING_LINEAR;
    create.usage = VK_IMAGE_USAGE_TRANSFER_SRC_BIT;
    create.initialLayout = VK_IMAGE_LAYOUT_PREINITIALIZED;
    CHECK_VK(vkCreateImage(app->device, &create, NULL, &image));
    return image;
}

static void expect_image(struct scene *scene, VkImage handle, VkDeviceSize bound_at)
{
    const struct app_image image = {.image = handle, .aspect = VK_IMAGE_ASPECT_COLOR_BIT};
    const VkBufferImageCopy region = {.imageSubresource = {VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1},
                                      .imageExtent = {WIDTH, HEIGHT, 1}};
    VkCommandBuffer commands = app_begin(scene->app);
    VkSubresourceLayout layout;

    app_image_barrier(commands, &image, VK_IMAGE_LAYOUT_PREINITIALIZED, VK_IMAGE_LAYOUT_GENERAL);
    vkCmdCopyImageToBuffer(commands, handle, VK_IMAGE_LAYOUT_GENERAL, scene->check.buffer, 1, &region);
    everything(commands);
    app_run(scene->app, commands);
    app_buffer_invalidate(scene->app, &scene->check, 0, scene->check.size);
    vkGetImageSubresourceLayout(scene->app->device, handle, &(VkImageSubresource){VK_IMAGE_ASPECT_COLOR_BIT, 0, 0},
                                &layout);
    for (uint32_t y = 0; y < HEIGHT; y++)
        EXPECT_EQ(scene->app,
                  memcmp(scene->check.mapped + y * WIDTH * 4,
                         scene->heap.model + bound_at + layout.offset + y * layout.rowPitch, WIDTH * 4),
                  0);
}

/* The rows of an image, which a replay may have elsewhere, among what a shader left. */
static void an_image(struct scene *scene, enum mapped mapped)
{
    const struct app *app = scene->app;
    struct heap *heap = &scene->heap;
    VkMemoryRequirements needs;
    VkDeviceSize where;
    VkBuffer buffer;
    VkImage image;

    if (!app_format_has(app, VK_FORMAT_R8G8B8A8_UNORM, VK_IMAGE_TILING_LINEAR, VK_FORMAT_FEATURE_TRANSFER_SRC_BIT)) {
        printf("left out: linear images\n");
        return;
    }
    image = create_image(app);
    vkGetImageMemoryRequirements(app->device, image, &needs);
    where = (50000 + needs.alignment - 1) / needs.alignment * needs.alignment;
    if (where + needs.size > HEAP_BYTES || !(needs.memoryTypeBits >> heap->type & 1)) {
        printf("left out: a linear image where buffers are\n");
        vkDestroyImage(app->device, image, NULL);
        return;
    }
    buffer = heap_buffer(heap, at(heap, 49000), 12000);
    compute(scene, buffer, at(heap, 49000));
    before_bind(heap, mapped);
    vkDestroyBuffer(app->device, buffer, NULL);
    CHECK_VK(vkBindImageMemory(app->device, image, heap->memory, where));
    after_bind(heap, mapped);
    expect_image(scene, image, where);
    vkDestroyImage(app->device, image, NULL);
    next_round(heap, mapped);
}

/* An alias is alive all the time, and goes on sharing its bytes. */
static void beside_an_alias(struct scene *scene, enum mapped mapped)
{
    const struct app *app = scene->app;
    struct heap *heap = &scene->heap;
    VkDeviceSize first_at = at(heap, 20000), alias_at = at(heap, 24000), second_at = at(heap, 18000);
    VkBuffer first = heap_buffer(heap, first_at, 8192), alias = heap_buffer(heap, alias_at, 2000), second;

    fill(scene, first, first_at, 512, 7000 / 4 * 4, app_random(&scene->seed));
    before_bind(heap, mapped);
    vkDestroyBuffer(app->device, first, NULL);
    second = heap_buffer(heap, second_at, 11000);
    after_bind(heap, mapped);
    expect(scene, second, second_at, 11000);
    expect(scene, alias, alias_at, 2000);
    fill(scene, alias, alias_at, 100, 300, app_random(&scene->seed));
    expect(scene, second, second_at, 11000);
    vkDestroyBuffer(app->device, alias, NULL);
    vkDestroyBuffer(app->device, second, NULL);
    next_round(heap, mapped);
}

/* The host stores what the device has left there, and something else beside it. */
static void equal_stores(struct scene *scene)
{
    const struct app *app = scene->app;
    struct heap *heap = &scene->heap;
    VkDeviceSize where = at(heap, 40000);
    VkBuffer buffer = heap_buffer(heap, where, 8192);

    fill(scene, buffer, where, 0, 8192, 0xffffffffu);
    vkDestroyBuffer(app->device, buffer, NULL);
    buffer = heap_buffer(heap, where, 8192);
    if (!heap->coherent)
        app_memory_sync(app, heap->memory, heap->bytes, where, 8192, true);
    memset(heap->base + where, 0xff, 3000);
    memset(heap->base + where + 3000, 1, 10);
    memset(heap->model + where + 3000, 1, 10);
    if (!heap->coherent)
        app_memory_sync(app, heap->memory, heap->bytes, where, 3010, false);
    expect(scene, buffer, where, 8192);
    vkDestroyBuffer(app->device, buffer, NULL);
}

static void run(struct scene *scene, enum mapped mapped)
{
    heap_create(&scene->heap, scene->app);
    if (mapped == ALWAYS || mapped == BEFORE)
        heap_map(&scene->heap);
    one_after_the_other(scene, mapped);
    if (only_image)
        an_image(scene, mapped);
    else
        beside_an_alias(scene, mapped);
    if (scene->heap.base)
        equal_stores(scene);
    vkFreeMemory(scene->app->device, scene->heap.memory, NULL);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--image", "a linear image comes after the buffers, and no alias", &only_image, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "rebind",
        .what = "Buffers and images take over what the device left for buffers that are gone.",
        .frames = 2,
        .options = options,
    };
    struct app app;
    struct scene scene = {.app = &app, .seed = 1};
    app_init(&app, argc, argv, &program);
    app_device_create(&app, NULL);
    shader_create(&app, &scene.shader);
    app_buffer_create(&app, &scene.check, HEAP_BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t frame = 0; frame < app.frames; frame++)
        for (enum mapped mapped = ALWAYS; mapped < MAPPED_COUNT; mapped++)
            run(&scene, mapped);
    app_buffer_destroy(&app, &scene.check);
    shader_destroy(&app, &scene.shader);
    return app_finish(&app);
}

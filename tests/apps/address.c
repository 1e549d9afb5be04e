/* SPDX-License-Identifier: MIT */
/*
 * address: shaders follow device addresses, which come to them in every way there is: in push constants, a uniform
 * buffer, an inline uniform block, one specialization constant or two halves of one, in tables that the host writes
 * piece by piece, in what vkCmdUpdateBuffer writes, in lists, and from shaders that store addresses for later ones.
 * Buffers end, and others get their addresses, while tables that nobody writes again go on naming them. A recorder
 * whose replay has other addresses must translate all of these, and undo that where it compares what was read back.
 */
#include "common/app.h"
#include "shaders/address_constant_comp.h"
#include "shaders/address_halves_comp.h"
#include "shaders/address_pull_frag.h"
#include "shaders/address_pull_vert.h"
#include "shaders/address_walk_comp.h"

#define NODES       12u
#define TABLE       8u
#define INLINED     4u
#define RESULTS     16u
#define GUESTS      3u /* buffers that come and go, and are given their addresses again */
#define GUEST_BYTES 256u
#define FOLLOWED    4u /* words in mapped memory that shaders store to; the next one is the host's */
#define SIZE        16u

struct node {
    VkDeviceAddress next;
    uint32_t value, spare;
};

struct head {
    VkDeviceAddress first, second;
};

struct table {
    VkDeviceAddress nodes[TABLE];
    uint32_t odd[3]; /* a factor, and the two halves of an address */
};

struct push {
    VkDeviceAddress list, result, scratch;
    uint32_t what, slot;
};

enum { WALK, HEAD, LOOK_UP, LOOK_UP_INLINED, REVERSE, FOLLOW, COUNT };

struct corner {
    float place[2];
    uint32_t color, spare;
};

struct place {
    struct app_buffer buffer;
    VkDeviceAddress address;
};

/* Its memory stays, and so does its address; the buffer is another one all the time. */
struct guest {
    struct place place;
    struct place before; /* lies elsewhere, and keeps a replay from putting the next one where this one was */
};

struct job {
    struct place nodes, head, table, inlined, scratch, result, mapped, corners;
    struct place twin; /* lies where `nodes` does, at the same time, and has no memory of its own */
    struct app_buffer copy;
    struct guest guests[GUESTS];
    VkDescriptorSetLayout set_layouts[2];
    VkDescriptorPool pool;
    VkDescriptorSet sets[2];
    VkPipelineLayout layouts[2], draw_layout;
    VkPipeline pipelines[2], draw_pipeline;
    struct app_image image;
    struct app_buffer pixels;
    VkRenderPass pass;
    VkFramebuffer framebuffer;
    bool has_inline;
    uint32_t order[NODES]; /* of the list */
    VkPipeline constant;   /* NULL: none */
    VkPipeline halves[2];  /* the lower half first, and the upper one */
    VkPipeline apart;      /* with something between them: it is made, and not used */
    uint32_t expected_mapped, given_again;
};

static PFN_vkGetBufferDeviceAddress get_address = vkGetBufferDeviceAddress;

static bool use_khr, use_constants, use_halves, use_apart, use_two, use_alias;

/* ---- buffers ---- */

static VkDeviceAddress address_of(const struct app *app, VkBuffer buffer)
{
    const VkBufferDeviceAddressInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_DEVICE_ADDRESS_INFO, .buffer = buffer};
    VkDeviceAddress address = get_address(app->device, &info);
    CHECK(address || app->no_check);
    return address;
}

static VkBuffer make_buffer(const struct app *app, VkDeviceSize size, VkBufferUsageFlags usage)
{
    VkBufferCreateInfo info = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    VkBuffer buffer;
    info.size = size;
    info.usage = usage | VK_BUFFER_USAGE_SHADER_DEVICE_ADDRESS_BIT | VK_BUFFER_USAGE_STORAGE_BUFFER_BIT |
                 VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    CHECK_VK(vkCreateBuffer(app->device, &info, NULL, &buffer));
    return buffer;
}

static void map(const struct app *app, struct app_buffer *buffer)
{
    void *mapped = NULL;
    CHECK_VK(vkMapMemory(app->device, buffer->memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    buffer->mapped = mapped;
}

static void create_place(const struct app *app, struct place *place, VkDeviceSize size, VkBufferUsageFlags usage,
                         enum app_memory kind)
{
    const VkMemoryAllocateFlagsInfo flags = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_FLAGS_INFO,
                                             .flags = VK_MEMORY_ALLOCATE_DEVICE_ADDRESS_BIT};
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO, .pNext = &flags};
    struct app_buffer *buffer = &place->buffer;
    VkMemoryRequirements requirements;

    *buffer = (struct app_buffer){.size = size, .buffer = make_buffer(app, size, usage)};
    vkGetBufferMemoryRequirements(app->device, buffer->buffer, &requirements);
    allocate.allocationSize = buffer->allocated = requirements.size;
    allocate.memoryTypeIndex = app_memory_type_for(app, requirements.memoryTypeBits, kind);
    buffer->coherent = app_memory_coherent(app, allocate.memoryTypeIndex);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &buffer->memory));
    CHECK_VK(vkBindBufferMemory(app->device, buffer->buffer, buffer->memory, 0));
    place->address = address_of(app, buffer->buffer);
    if (kind == APP_DEVICE)
        return;
    map(app, buffer);
    memset(buffer->mapped, 0, size);
    app_buffer_flush(app, buffer, 0, size);
}

static void write_bytes(const struct app *app, struct place *place, VkDeviceSize offset, const void *data, size_t bytes)
{
    memcpy(place->buffer.mapped + offset, data, bytes);
    app_buffer_flush(app, &place->buffer, offset, bytes);
}

static uint32_t guest_value(uint32_t guest, uint32_t frame)
{
    return guest * 1000 + frame * 7 + 5;
}

/* Another buffer in the same memory. Other objects are made in between. */
static void renew_guest(const struct app *app, struct job *job, uint32_t number, uint32_t frame)
{
    struct guest *guest = &job->guests[number];
    struct node node = {.value = guest_value(number, frame)};
    VkDeviceAddress before = guest->place.address;

    if (guest->before.buffer.buffer)
        app_buffer_destroy(app, &guest->before.buffer);
    vkDestroyBuffer(app->device, guest->place.buffer.buffer, NULL);
    create_place(app, &guest->before, GUEST_BYTES, 0, APP_UPLOAD);
    guest->place.buffer.buffer = make_buffer(app, GUEST_BYTES, 0);
    CHECK_VK(vkBindBufferMemory(app->device, guest->place.buffer.buffer, guest->place.buffer.memory, 0));
    guest->place.address = address_of(app, guest->place.buffer.buffer);
    job->given_again += guest->place.address == before;
    write_bytes(app, &guest->place, 16, &node, sizeof node);
}

/* ---- what the shaders are to find ---- */

static VkDeviceAddress node_at(const struct job *job, uint32_t number)
{
    VkDeviceAddress base = number % 2 && job->twin.address ? job->twin.address : job->nodes.address;
    return base + number * sizeof(struct node);
}

/* Values are 1 to NODES; each frame turns a part of the list around, so addresses change by their lower bytes. */
static void write_list(const struct app *app, struct job *job, uint32_t frame)
{
    uint32_t first = frame % (NODES - 3);

    for (uint32_t i = 0; frame > 0 && i < 2; i++) {
        uint32_t other = first + 3 - i, swapped = job->order[first + i];
        job->order[first + i] = job->order[other];
        job->order[other] = swapped;
    }
    for (uint32_t i = 0; i < NODES; i++) {
        struct node node = {.value = job->order[i] + 1};
        node.next = i + 1 < NODES ? node_at(job, job->order[i + 1]) : 0;
        write_bytes(app, &job->nodes, job->order[i] * sizeof node, &node, sizeof node);
    }
}

/* Of the list, or of the reversed one; without the first nodes. */
static uint32_t list_sum(const uint32_t order[NODES], bool backwards, uint32_t without)
{
    uint32_t sum = 0;
    for (uint32_t i = without; i < NODES; i++)
        sum += (order[backwards ? NODES - 1 - i : i] + 1) * (i - without + 1);
    return sum;
}

static uint32_t table_value(const struct job *job, uint32_t frame, uint32_t entry)
{
    return entry < GUESTS ? guest_value(entry, frame) : (frame + entry) % NODES + 1;
}

/* Entries that are the same as before are not written: the first ones name guests. */
static void write_table(const struct app *app, struct job *job, uint32_t frame)
{
    struct table *old = (struct table *)job->table.buffer.mapped, table = {.odd = {frame + 1}};
    struct head head = {node_at(job, (frame * 5) % NODES), node_at(job, (frame * 3 + 1) % NODES)};
    uint64_t odd = node_at(job, (frame + 2) % NODES);

    for (uint32_t i = 0; i < TABLE; i++) {
        table.nodes[i] = i < GUESTS ? job->guests[i].place.address + 16 : node_at(job, (frame + i) % NODES);
        if (old->nodes[i] != table.nodes[i])
            write_bytes(app, &job->table, i * sizeof table.nodes[i], &table.nodes[i], sizeof table.nodes[i]);
    }
    memcpy(&table.odd[1], &odd, sizeof odd);
    write_bytes(app, &job->table, sizeof table.nodes, table.odd, sizeof table.odd);
    write_bytes(app, &job->head, 0, &head, sizeof head);
}

static uint32_t head_sum(uint32_t frame)
{
    return ((frame * 5) % NODES + 1) * 3 + ((frame * 3 + 1) % NODES + 1) * 5;
}

static uint32_t table_sum(const struct job *job, uint32_t frame)
{
    uint32_t sum = ((frame + 2) % NODES + 1) * (frame + 1);
    for (uint32_t i = 0; i < TABLE; i++)
        sum += table_value(job, frame, i) * (i + 1);
    return sum;
}

/* ---- pipelines ---- */

static void create_sets(const struct app *app, struct job *job)
{
    const VkDescriptorPoolSize sizes[] = {{VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1},
                                          {VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 4},
                                          {VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK, sizeof(struct head)}};
    const VkDescriptorPoolInlineUniformBlockCreateInfo blocks = {
        .sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_INLINE_UNIFORM_BLOCK_CREATE_INFO,
        .maxInlineUniformBlockBindings = 1};
    VkDescriptorPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_POOL_CREATE_INFO};
    VkDescriptorSetAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_DESCRIPTOR_SET_ALLOCATE_INFO};
    uint32_t count = job->has_inline ? 2 : 1;

    for (uint32_t i = 0; i < count; i++) {
        VkDescriptorSetLayoutBinding bindings[3] = {
            {0, VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
            {1, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL},
            {2, VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, 1, VK_SHADER_STAGE_COMPUTE_BIT, NULL}};
        if (i == 1) {
            bindings[0].descriptorType = VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;
            bindings[0].descriptorCount = sizeof(struct head);
        }
        job->set_layouts[i] = app_set_layout(app, 3, bindings);
        job->layouts[i] =
            app_pipeline_layout(app, 1, &job->set_layouts[i], VK_SHADER_STAGE_COMPUTE_BIT, sizeof(struct push));
        job->pipelines[i] = app_compute_pipeline(app, address_walk_comp, sizeof(address_walk_comp), job->layouts[i]);
    }
    pool.pNext = job->has_inline ? &blocks : NULL;
    pool.maxSets = count;
    pool.poolSizeCount = count + 1;
    pool.pPoolSizes = sizes;
    CHECK_VK(vkCreateDescriptorPool(app->device, &pool, NULL, &job->pool));
    allocate.descriptorPool = job->pool;
    allocate.descriptorSetCount = count;
    allocate.pSetLayouts = job->set_layouts;
    CHECK_VK(vkAllocateDescriptorSets(app->device, &allocate, job->sets));
    for (uint32_t i = 0; i < count; i++) {
        const VkDescriptorBufferInfo buffers[] = {{job->head.buffer.buffer, 0, VK_WHOLE_SIZE},
                                                  {job->table.buffer.buffer, 0, VK_WHOLE_SIZE},
                                                  {job->inlined.buffer.buffer, 0, VK_WHOLE_SIZE}};
        VkWriteDescriptorSet writes[2] = {{.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET},
                                          {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET}};
        writes[0].dstSet = writes[1].dstSet = job->sets[i];
        writes[0].dstBinding = 1;
        writes[0].descriptorCount = 2;
        writes[0].descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
        writes[0].pBufferInfo = &buffers[1];
        writes[1].descriptorCount = 1;
        writes[1].descriptorType = VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
        writes[1].pBufferInfo = &buffers[0];
        vkUpdateDescriptorSets(app->device, i ? 1 : 2, writes, 0, NULL);
    }
}

static void write_block(const struct app *app, struct job *job)
{
    VkWriteDescriptorSetInlineUniformBlock block = {.sType =
                                                        VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET_INLINE_UNIFORM_BLOCK};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET, .pNext = &block};
    block.dataSize = write.descriptorCount = sizeof(struct head);
    block.pData = job->head.buffer.mapped;
    write.dstSet = job->sets[1];
    write.descriptorType = VK_DESCRIPTOR_TYPE_INLINE_UNIFORM_BLOCK;
    vkUpdateDescriptorSets(app->device, 1, &write, 0, NULL);
}

static void create_draw(const struct app *app, struct job *job)
{
    struct app_pipeline pipeline = {.topology = VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST, .color_count = 1};

    app_image_create_2d(app, &job->image, VK_FORMAT_R8G8B8A8_UNORM, SIZE, SIZE,
                        VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | VK_IMAGE_USAGE_TRANSFER_SRC_BIT);
    app_buffer_create(app, &job->pixels, SIZE * SIZE * 4, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    job->pass =
        app_render_pass(app, VK_FORMAT_R8G8B8A8_UNORM, VK_FORMAT_UNDEFINED, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL);
    job->framebuffer = app_framebuffer(app, job->pass, 1, &job->image.view, SIZE, SIZE);
    job->draw_layout = app_pipeline_layout(app, 0, NULL, VK_SHADER_STAGE_VERTEX_BIT, sizeof(VkDeviceAddress));
    pipeline.vertex = app_shader(app, address_pull_vert, sizeof(address_pull_vert));
    pipeline.fragment = app_shader(app, address_pull_frag, sizeof(address_pull_frag));
    pipeline.layout = job->draw_layout;
    pipeline.render_pass = job->pass;
    job->draw_pipeline = app_graphics_pipeline(app, &pipeline);
    vkDestroyShaderModule(app->device, pipeline.vertex, NULL);
    vkDestroyShaderModule(app->device, pipeline.fragment, NULL);
}

static VkPipeline constant_pipeline(const struct app *app, const struct job *job, VkShaderModule module,
                                    const VkSpecializationInfo *constants)
{
    VkComputePipelineCreateInfo info = {.sType = VK_STRUCTURE_TYPE_COMPUTE_PIPELINE_CREATE_INFO};
    VkPipeline pipeline;

    info.stage.sType = VK_STRUCTURE_TYPE_PIPELINE_SHADER_STAGE_CREATE_INFO;
    info.stage.stage = VK_SHADER_STAGE_COMPUTE_BIT;
    info.stage.module = module;
    info.stage.pName = "main";
    info.stage.pSpecializationInfo = constants;
    info.layout = job->layouts[0];
    CHECK_VK(vkCreateComputePipelines(app->device, VK_NULL_HANDLE, 1, &info, NULL, &pipeline));
    vkDestroyShaderModule(app->device, module, NULL);
    return pipeline;
}

/* Its pipeline is made for one address. */
static VkPipeline whole_pipeline(const struct app *app, const struct job *job)
{
    const uint64_t source = job->nodes.address;
    const VkSpecializationMapEntry entry = {7, 0, sizeof source};
    const VkSpecializationInfo constants = {1, &entry, sizeof source, &source};

    return constant_pipeline(app, job, app_shader(app, address_constant_comp, sizeof(address_constant_comp)),
                             &constants);
}

/* The same, of two words. Where each stands decides the program, and so does the order of the entries. */
static VkPipeline halves_pipeline(const struct app *app, const struct job *job, bool upper_first)
{
    const uint64_t source = job->nodes.address;
    const uint32_t low = (uint32_t)source, high = (uint32_t)(source >> 32);
    const uint32_t data[3] = {upper_first ? 11 : 0, upper_first ? high : low, upper_first ? low : high};
    const VkSpecializationMapEntry entries[] = {{4, upper_first ? 4 : 8, 4}, {3, upper_first ? 8 : 4, 4}, {9, 0, 4}};
    const VkSpecializationInfo constants = {COUNT_OF(entries), entries, sizeof data, data};

    return constant_pipeline(app, job, app_shader(app, address_halves_comp, sizeof(address_halves_comp)), &constants);
}

static VkPipeline apart_pipeline(const struct app *app, const struct job *job)
{
    const uint64_t source = job->nodes.address;
    const uint32_t data[3] = {(uint32_t)source, 5, (uint32_t)(source >> 32)};
    const VkSpecializationMapEntry entries[] = {{3, 0, 4}, {4, 8, 4}};
    const VkSpecializationInfo constants = {COUNT_OF(entries), entries, sizeof data, data};

    return constant_pipeline(app, job, app_shader(app, address_halves_comp, sizeof(address_halves_comp)), &constants);
}

static void create(const struct app *app, struct job *job)
{
    create_place(app, &job->nodes, NODES * sizeof(struct node), 0, APP_UPLOAD);
    if (use_alias) {
        job->twin.buffer.buffer = make_buffer(app, NODES * sizeof(struct node), 0);
        CHECK_VK(vkBindBufferMemory(app->device, job->twin.buffer.buffer, job->nodes.buffer.memory, 0));
        job->twin.address = address_of(app, job->twin.buffer.buffer);
    }
    create_place(app, &job->head, sizeof(struct head), VK_BUFFER_USAGE_UNIFORM_BUFFER_BIT, APP_UPLOAD);
    create_place(app, &job->table, sizeof(struct table), 0, APP_UPLOAD);
    create_place(app, &job->inlined, INLINED * sizeof(VkDeviceAddress), 0, APP_DEVICE);
    create_place(app, &job->scratch, 2 * 16 * sizeof(struct node), 0, APP_DEVICE);
    create_place(app, &job->result, RESULTS * 4, 0, APP_DEVICE);
    create_place(app, &job->mapped, RESULTS * 4, 0, APP_READBACK);
    create_place(app, &job->corners, 6 * sizeof(struct corner), 0, APP_UPLOAD);
    app_buffer_create(app, &job->copy, RESULTS * 8 + sizeof(struct table) + INLINED * 8,
                      VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t i = 0; i < GUESTS; i++)
        create_place(app, &job->guests[i].place, GUEST_BYTES, 0, APP_UPLOAD);
    for (uint32_t i = 0; i < NODES; i++)
        job->order[i] = i;
    create_sets(app, job);
    create_draw(app, job);
    if (use_constants)
        job->constant = whole_pipeline(app, job);
    for (uint32_t i = 0; use_halves && i < 2; i++)
        job->halves[i] = halves_pipeline(app, job, i == 1);
    if (use_apart)
        job->apart = apart_pipeline(app, job);
}

/* ---- a frame ---- */

static void push_part(VkCommandBuffer commands, VkPipelineLayout layout, const struct push *push, uint32_t offset,
                      uint32_t bytes)
{
    vkCmdPushConstants(commands, layout, VK_SHADER_STAGE_COMPUTE_BIT, offset, bytes, (const char *)push + offset);
}

/* The same block in one piece, in words from the last to the first, or in pieces that have two halves each. */
static void push_in_pieces(VkCommandBuffer commands, VkPipelineLayout layout, const struct push *push)
{
    const uint32_t bytes = push->slot % 3 == 0 ? sizeof *push : push->slot % 3 == 1 ? 4 : 8;

    for (uint32_t end = sizeof *push - (bytes == 8 ? 4 : 0); end >= bytes; end -= bytes)
        push_part(commands, layout, push, end - bytes, bytes);
    for (uint32_t i = 0; bytes == 8 && i < 2; i++)
        push_part(commands, layout, push, i ? sizeof *push - 4 : 0, 4);
}

static void dispatch(const struct job *job, VkCommandBuffer commands, uint32_t pipeline, struct push push)
{
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job->pipelines[pipeline]);
    vkCmdBindDescriptorSets(commands, VK_PIPELINE_BIND_POINT_COMPUTE, job->layouts[pipeline], 0, 1,
                            &job->sets[pipeline], 0, NULL);
    push_in_pieces(commands, job->layouts[pipeline], &push);
    vkCmdDispatch(commands, 1, 1, 1);
}

static void wait_for_stores(VkCommandBuffer commands)
{
    const VkPipelineStageFlags stages = VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT;
    app_memory_barrier(commands, stages, VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_WRITE_BIT, stages,
                       VK_ACCESS_SHADER_READ_BIT | VK_ACCESS_SHADER_WRITE_BIT | VK_ACCESS_TRANSFER_READ_BIT |
                           VK_ACCESS_TRANSFER_WRITE_BIT);
}

/* The memory that shaders store to is mapped all the time, and the host stores beside them while they may run; or it is
 * mapped when they are done. */
static void run(const struct app *app, struct job *job, VkCommandBuffer commands, uint32_t frame)
{
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO, .commandBufferCount = 1};
    const bool unmapped = frame % 4 == 2;
    VkFence fence;

    submit.pCommandBuffers = &commands;
    CHECK_VK(vkEndCommandBuffer(commands));
    CHECK_VK(vkCreateFence(app->device, &info, NULL, &fence));
    if (unmapped)
        vkUnmapMemory(app->device, job->mapped.buffer.memory);
    CHECK_VK(vkQueueSubmit(app->queue, 1, &submit, fence));
    if (!unmapped && job->mapped.buffer.coherent)
        write_bytes(app, &job->mapped, FOLLOWED * 4, &frame, sizeof frame);
    CHECK_VK(vkWaitForFences(app->device, 1, &fence, VK_TRUE, UINT64_MAX));
    if (unmapped)
        map(app, &job->mapped.buffer);
    vkDestroyFence(app->device, fence, NULL);
    vkFreeCommandBuffers(app->device, app->pool, 1, &commands);
}

static void compute(const struct app *app, struct job *job, uint32_t frame)
{
    const VkPipeline constants[] = {job->constant, job->halves[0], job->halves[1]};
    VkDeviceAddress inlined[INLINED];
    struct push push = {node_at(job, job->order[0]), job->result.address, job->scratch.address, 0, 0};
    VkCommandBuffer commands = app_begin(app);

    for (uint32_t i = 0; i < INLINED; i++)
        inlined[i] = node_at(job, (frame * 2 + i) % NODES);
    vkCmdUpdateBuffer(commands, job->inlined.buffer.buffer, 0, sizeof inlined, inlined);
    vkCmdFillBuffer(commands, job->result.buffer.buffer, 0, VK_WHOLE_SIZE, 0);
    wait_for_stores(commands);
    for (push.what = WALK; push.what < REVERSE; push.what++, push.slot++) {
        struct push swapped = push; /* HEAD does not look at it */
        swapped.list = push.list >> 32 | push.list << 32;
        dispatch(job, commands, 0, use_apart && push.what == HEAD ? swapped : push);
    }
    push.what = REVERSE;
    push.slot = 5;
    dispatch(job, commands, 0, push);
    wait_for_stores(commands);
    push.what = FOLLOW; /* what was stored in words 5 and 6 */
    push.slot = 4;
    dispatch(job, commands, 0, push);
    if (job->has_inline) {
        push.what = HEAD;
        push.slot = 8;
        dispatch(job, commands, 1, push);
    }
    for (uint32_t i = 0; i < COUNT_OF(constants); i++) {
        if (!constants[i])
            continue;
        push.what = 2; /* the value of the first node */
        push.slot = 9 + i;
        vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_COMPUTE, constants[i]);
        vkCmdPushConstants(commands, job->layouts[0], VK_SHADER_STAGE_COMPUTE_BIT, 0, sizeof push, &push);
        vkCmdDispatch(commands, 1, 1, 1);
    }
    /* In memory that is mapped: a shader stores an address in words 1 and 2, the host changes it, a shader follows. */
    push.result = job->mapped.address;
    push.scratch += 16 * sizeof(struct node);
    push.what = frame % 2 ? FOLLOW : REVERSE;
    push.slot = frame % 2 ? 0 : 1;
    dispatch(job, commands, 0, push);
    push.what = COUNT; /* onto what the host left there */
    push.slot = 3;
    dispatch(job, commands, 0, push);
    wait_for_stores(commands);
    vkCmdCopyBuffer(commands, job->result.buffer.buffer, job->copy.buffer, 1, &(VkBufferCopy){0, 0, RESULTS * 4});
    vkCmdCopyBuffer(commands, job->mapped.buffer.buffer, job->copy.buffer, 1,
                    &(VkBufferCopy){0, RESULTS * 4, FOLLOWED * 4});
    vkCmdCopyBuffer(commands, job->table.buffer.buffer, job->copy.buffer, 1,
                    &(VkBufferCopy){0, RESULTS * 8, sizeof(struct table)});
    vkCmdCopyBuffer(commands, job->inlined.buffer.buffer, job->copy.buffer, 1,
                    &(VkBufferCopy){0, RESULTS * 8 + sizeof(struct table), INLINED * 8});
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT | VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                       VK_ACCESS_TRANSFER_WRITE_BIT | VK_ACCESS_SHADER_WRITE_BIT, VK_PIPELINE_STAGE_HOST_BIT,
                       VK_ACCESS_HOST_READ_BIT | VK_ACCESS_HOST_WRITE_BIT);
    run(app, job, commands, frame);
}

static void draw(const struct app *app, struct job *job, uint32_t frame)
{
    /* The left half and the right half; addresses of the three corners of each. */
    const float places[6][2] = {{-1, -1}, {-1, 3}, {0, -1}, {0, -1}, {3, -1}, {0, 3}};
    const uint32_t colors[2] = {0xff000000u | (frame * 11 & 0xff), 0xff000000u | (frame * 5 & 0xff) << 8};
    VkRenderPassBeginInfo begin = {.sType = VK_STRUCTURE_TYPE_RENDER_PASS_BEGIN_INFO};
    VkCommandBuffer commands = app_begin(app);
    const VkClearValue clear = {0};
    VkBufferImageCopy region = {0};

    for (uint32_t i = 0; i < 6; i++) {
        struct corner corner = {{places[i][0], places[i][1]}, colors[i / 3], 0};
        write_bytes(app, &job->corners, i * sizeof corner, &corner, sizeof corner);
    }
    begin.renderPass = job->pass;
    begin.framebuffer = job->framebuffer;
    begin.renderArea.extent = (VkExtent2D){SIZE, SIZE};
    begin.clearValueCount = 1;
    begin.pClearValues = &clear;
    vkCmdBeginRenderPass(commands, &begin, VK_SUBPASS_CONTENTS_INLINE);
    vkCmdBindPipeline(commands, VK_PIPELINE_BIND_POINT_GRAPHICS, job->draw_pipeline);
    app_set_viewport(commands, SIZE, SIZE);
    for (uint32_t i = 0; i < 2; i++) {
        VkDeviceAddress corners = job->corners.address + i * 3 * sizeof(struct corner);
        vkCmdPushConstants(commands, job->draw_layout, VK_SHADER_STAGE_VERTEX_BIT, 0, sizeof corners, &corners);
        vkCmdDraw(commands, 3, 1, 0, 0);
    }
    vkCmdEndRenderPass(commands);
    region.imageSubresource = (VkImageSubresourceLayers){VK_IMAGE_ASPECT_COLOR_BIT, 0, 0, 1};
    region.imageExtent = (VkExtent3D){SIZE, SIZE, 1};
    vkCmdCopyImageToBuffer(commands, job->image.image, VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL, job->pixels.buffer, 1,
                           &region);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    app_buffer_invalidate(app, &job->pixels, 0, job->pixels.size);
    for (uint32_t x = 0; x < 2; x++)
        EXPECT_EQ(app, ((uint32_t *)job->pixels.mapped)[2 * SIZE + SIZE / 4 + x * SIZE / 2], colors[x]);
}

static uint64_t two_words(const uint32_t *words)
{
    return words[0] | (uint64_t)words[1] << 32;
}

static void check(const struct app *app, struct job *job, uint32_t frame, uint32_t expected_mapped)
{
    const uint32_t *results = (const uint32_t *)job->copy.mapped, *mapped = results + RESULTS;
    const struct table *table = (const struct table *)(job->copy.mapped + RESULTS * 8);
    const uint64_t *addresses = (const uint64_t *)(job->copy.mapped + RESULTS * 8 + sizeof *table);
    uint32_t inlined = 0;

    app_buffer_invalidate(app, &job->copy, 0, job->copy.size);
    for (uint32_t i = 0; i < INLINED; i++) {
        inlined += ((frame * 2 + i) % NODES + 1) * (i + 1);
        EXPECT_EQ(app, addresses[i], node_at(job, (frame * 2 + i) % NODES));
    }
    EXPECT_EQ(app, results[0], list_sum(job->order, false, 0));
    EXPECT_EQ(app, results[1], head_sum(frame));
    EXPECT_EQ(app, results[2], table_sum(job, frame));
    EXPECT_EQ(app, results[3], inlined);
    EXPECT_EQ(app, results[4], list_sum(job->order, true, 0));
    EXPECT_EQ(app, two_words(&results[5]), job->scratch.address + (NODES - 1) * sizeof(struct node));
    EXPECT_EQ(app, results[8], job->has_inline ? head_sum(frame) : 0);
    EXPECT_EQ(app, results[9], job->constant ? 7 : 0);
    EXPECT_EQ(app, results[10], job->halves[0] ? 7 : 0);
    EXPECT_EQ(app, results[11], job->halves[1] ? 7 : 0);
    for (uint32_t i = 0; i < TABLE; i++)
        EXPECT_EQ(app, table->nodes[i],
                  i < GUESTS ? job->guests[i].place.address + 16 : node_at(job, (frame + i) % NODES));
    EXPECT_EQ(app, mapped[0], expected_mapped);
    EXPECT_EQ(app, mapped[3], job->order[0] + 1);
    EXPECT_EQ(app, two_words(&mapped[1]), job->scratch.address + (16 + NODES - 1 - frame % 2) * sizeof(struct node));
}

/* A shader counts, the host looks, and begins again: the same bytes as before the shader's. */
static void take_count(const struct app *app, struct job *job)
{
    const uint32_t zero = 0;

    app_buffer_invalidate(app, &job->mapped.buffer, 0, RESULTS * 4);
    EXPECT_EQ(app, ((const uint32_t *)job->mapped.buffer.mapped)[3], job->order[0] + 1);
    write_bytes(app, &job->mapped, 12, &zero, sizeof zero);
}

/* What a shader stored in the frame before now names the next node of the reversed list. */
static void change_stored(const struct app *app, struct job *job)
{
    uint64_t address;

    app_buffer_invalidate(app, &job->mapped.buffer, 0, RESULTS * 4);
    address = two_words((const uint32_t *)job->mapped.buffer.mapped + 1);
    EXPECT_EQ(app, address, job->scratch.address + (16 + NODES - 1) * sizeof(struct node));
    address -= sizeof(struct node);
    write_bytes(app, &job->mapped, 4, &address, sizeof address);
}

static void run_frame(const struct app *app, struct job *job, uint32_t frame)
{
    if (frame % 2) {
        change_stored(app, job);
        job->expected_mapped = list_sum(job->order, true, 1); /* of the frame before */
    }
    for (uint32_t i = 0; i < GUESTS; i++)
        renew_guest(app, job, i, frame);
    write_list(app, job, frame);
    write_table(app, job, frame);
    if (job->has_inline)
        write_block(app, job);
    compute(app, job, frame);
    take_count(app, job);
    check(app, job, frame, job->expected_mapped);
    draw(app, job, frame);
}

static void destroy(const struct app *app, struct job *job)
{
    struct place *const places[] = {&job->nodes,   &job->head,   &job->table,  &job->inlined,
                                    &job->scratch, &job->result, &job->mapped, &job->corners};

    vkDestroyBuffer(app->device, job->twin.buffer.buffer, NULL);
    for (uint32_t i = 0; i < COUNT_OF(places); i++)
        app_buffer_destroy(app, &places[i]->buffer);
    for (uint32_t i = 0; i < GUESTS; i++) {
        app_buffer_destroy(app, &job->guests[i].place.buffer);
        app_buffer_destroy(app, &job->guests[i].before.buffer);
    }
    app_buffer_destroy(app, &job->copy);
    app_buffer_destroy(app, &job->pixels);
    vkDestroyPipeline(app->device, job->constant, NULL);
    vkDestroyPipeline(app->device, job->apart, NULL);
    for (uint32_t i = 0; i < 2; i++) {
        vkDestroyPipeline(app->device, job->halves[i], NULL);
        vkDestroyPipeline(app->device, job->pipelines[i], NULL);
        vkDestroyPipelineLayout(app->device, job->layouts[i], NULL);
        vkDestroyDescriptorSetLayout(app->device, job->set_layouts[i], NULL);
    }
    vkDestroyDescriptorPool(app->device, job->pool, NULL);
    vkDestroyPipeline(app->device, job->draw_pipeline, NULL);
    vkDestroyPipelineLayout(app->device, job->draw_layout, NULL);
    vkDestroyFramebuffer(app->device, job->framebuffer, NULL);
    vkDestroyRenderPass(app->device, job->pass, NULL);
    app_image_destroy(app, &job->image);
}

/* ---- the device ---- */

static void ask_features(const struct app *app, VkPhysicalDeviceBufferDeviceAddressFeatures *address,
                         VkPhysicalDeviceInlineUniformBlockFeatures *blocks)
{
    VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2, .pNext = address};

    if (app->api_version < VK_API_VERSION_1_2)
        app_skip(app, "Vulkan 1.2 is not there");
    if (app->api_version >= VK_API_VERSION_1_3)
        address->pNext = blocks;
    vkGetPhysicalDeviceFeatures2(app->physical, &features);
    if (!address->bufferDeviceAddress && !app->no_check)
        app_skip(app, "buffers have no device addresses");
    if (use_constants && !app->features.shaderInt64)
        app_skip(app, "shaders have no integers of 64 bits");
    if (use_khr && !app_has_extension(app, VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME))
        app_skip(app, "no VK_KHR_buffer_device_address");
    address->bufferDeviceAddressCaptureReplay = address->bufferDeviceAddressMultiDevice = VK_FALSE;
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--khr", "use VK_KHR_buffer_device_address and its names", &use_khr, NULL},
        {"--constants", "also in a specialization constant", &use_constants, NULL},
        {"--halves", "also in two specialization constants of 4 bytes", &use_halves, NULL},
        {"--apart", "make a pipeline with halves that are not side by side, and push swapped halves", &use_apart, NULL},
        {"--two", "on two devices in turn", &use_two, NULL},
        {"--alias", "some of it through another buffer in the same memory", &use_alias, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "address",
        .what = "Shaders follow device addresses that come to them in many ways.",
        .frames = 16,
        .options = options,
    };
    static const char *const extension = VK_KHR_BUFFER_DEVICE_ADDRESS_EXTENSION_NAME;
    static struct job jobs[2];
    struct app apps[2], *app = &apps[0];
    VkPhysicalDeviceInlineUniformBlockFeatures blocks = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_INLINE_UNIFORM_BLOCK_FEATURES};
    VkPhysicalDeviceBufferDeviceAddressFeatures address = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_BUFFER_DEVICE_ADDRESS_FEATURES};
    VkPhysicalDeviceVulkan12Features core = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
    VkPhysicalDeviceFeatures features = {0};
    struct app_device_request request = {.features = &features};

    app_init(app, argc, argv, &program);
    ask_features(app, &address, &blocks);
    jobs[0].has_inline = jobs[1].has_inline = blocks.inlineUniformBlock;
    blocks.descriptorBindingInlineUniformBlockUpdateAfterBind = VK_FALSE;
    features.shaderInt64 = use_constants;
    core.bufferDeviceAddress = VK_TRUE;
    core.pNext = address.pNext;
    request.next = &core;
    if (use_khr) {
        request.next = &address;
        request.extensions = &extension;
        request.extension_count = 1;
    }
    apps[1] = apps[0];
    for (uint32_t i = 0; i < (use_two ? 2 : 1); i++)
        app_device_create(&apps[i], &request);
    if (use_khr)
        get_address = (PFN_vkGetBufferDeviceAddress)app_device_function(app, "vkGetBufferDeviceAddressKHR");
    if (!jobs[0].has_inline)
        printf("left out: inline uniform blocks\n");
    for (uint32_t i = 0; i < (use_two ? 2 : 1); i++)
        create(&apps[i], &jobs[i]);
    for (uint32_t frame = 0; frame < app->frames; frame++)
        for (uint32_t i = 0; i < (use_two ? 2 : 1); i++)
            run_frame(&apps[i], &jobs[i], frame);
    printf("an address was given again %u times\n", jobs[0].given_again + jobs[1].given_again);
    for (uint32_t i = 0; i < (use_two ? 2 : 1); i++)
        destroy(&apps[i], &jobs[i]);
    if (use_two)
        app_device_destroy(&apps[1]);
    return app_finish(app);
}

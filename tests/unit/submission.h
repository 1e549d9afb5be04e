/* SPDX-License-Identifier: MIT */
/*
 * submission: a device with a buffer, fences and semaphores, for tests of submitted work. The layer around it is
 * replaced by the few functions that it calls. Included once by a test.
 */
#ifndef UNIT_SUBMISSION_H
#define UNIT_SUBMISSION_H

#include "layer/core/unseen.h"
#include "layer/submit/change_checks.h"
#include "layer/submit/external_sync.h"
#include "layer/submit/full_checks.h"
#include "layer/submit/host_update.h"
#include "layer/submit/memory_checks.h"
#include "layer/submit/submission.h"
#include "tests/unit/layer_device.h"
#include "trace/format/decode.h"

void layer_note_unseen(enum lap_unseen what)
{
    (void)what;
}

void layer_note_unseen_of_part(enum lap_unseen what)
{
    (void)what;
}

void layer_external_sync_look_at_files(struct layer_device *device)
{
    (void)device;
}

enum { BYTES = 4096 };

static struct layer_buffer buffer;
static struct layer_fence fences[3];
static struct layer_semaphore semaphores[3];
static struct lap_mem *mem;
static unsigned char *store;
static unsigned checks;
static uint64_t checked_bytes, checked_from;

bool layer_is_recording(void)
{
    return true;
}

bool layer_is_writing(void)
{
    return true;
}

void layer_count(enum lap_counter counter, uint64_t add) {}
void layer_submit_ended(void) {}

/* ---- full_checks.c: what is locked, waited for and left out ---- */

void layer_queues_lock(struct layer_device *device, int *cancel) {}
void layer_queues_unlock(struct layer_device *device, int cancel) {}
void layer_verify_all_submitted(struct layer_device *device, VkQueue queue) {}
static unsigned left_out[LAP_UNCHECKED_COUNT], read_back;
void layer_check_left_out(struct layer_device *device, struct lap_object *record, enum lap_unchecked reason)
{
    left_out[reason]++;
}
void layer_verify_all_written(struct layer_device *device, struct lap_memobj *object,
                              const struct layer_submission *submission, uint64_t offset, uint64_t bytes)
{
    read_back++;
}
void layer_verify_all_anywhere(struct layer_device *device, const struct layer_submission *submission) {}
struct layer_changes *layer_changes_begin(struct layer_device *device, bool running)
{
    return NULL;
}
void layer_changes_end(struct layer_changes *changes) {}
struct layer_queue *layer_queue_of(VkQueue queue)
{
    static struct layer_queue record;
    return &record;
}

/* ---- what submit.c calls ---- */

static bool sent_everything, collects;
static unsigned sends;
static uint64_t updates; /* while collects: bytes that were sent */
static struct layer_cmdbuf cmdbuf;
static enum lap_status count_bytes(void *context, void *user, uint64_t offset, const void *data, uint64_t bytes);

void layer_emit_updates(struct layer_device *device, const struct lap_touched *touched)
{
    sends++;
    sent_everything = !touched || touched->everything;
    if (collects)
        CHECK_EQ_INT(lap_memtrack_collect(device->memtrack, touched, count_bytes, NULL, &updates, NULL), LAP_OK);
}
void layer_tracking_result(enum lap_status status)
{
    CHECK_EQ_INT(status, LAP_OK);
}
static struct lap_enc packet;
struct lap_enc *layer_packet_begin(const struct lap_object_tables *tables, enum gen_command command, uint32_t flags)
{
    if (command != GEN_lapilliCheckBuffer)
        return NULL;
    lap_enc_init(&packet, tables);
    return &packet;
}
void layer_packet_end(void)
{
    struct lap_dec dec;
    lap_dec_init(&dec, packet.base, (size_t)(packet.p - packet.base), NULL, NULL);
    CHECK_EQ_U64(lap_get_u64(&dec), buffer.object.index);
    checked_from = lap_get_u64(&dec);
    checked_bytes += lap_get_u64(&dec);
    checks++;
    lap_enc_finish(&packet);
}
uint64_t layer_packet_ticket(void)
{
    return 0;
}
void layer_packet_result(const struct lap_object_tables *tables, uint64_t ticket, VkResult result) {}
void layer_frame_end(void) {}
struct layer_device *layer_device_of_VkQueue(VkQueue queue)
{
    return dev;
}

static VKAPI_ATTR VkResult VKAPI_CALL queue_submit(VkQueue queue, uint32_t count, const VkSubmitInfo *infos,
                                                   VkFence fence)
{
    return VK_SUCCESS;
}

#define QUEUE(n)     ((VkQueue)(uintptr_t)(0x100 + (n)))
#define COMMANDS     ((VkCommandBuffer)(uintptr_t)0x600)
#define FENCE(n)     gen_VkFence(0x200 + (n))
#define SEMAPHORE(n) gen_VkSemaphore(0x300 + (n))

static void begin(void)
{
    init_device();
    store = calloc(1, BYTES);
    CHECK_EQ_INT(lap_mem_create(dev->memtrack, BYTES, LAP_MEM_HOST_VISIBLE | LAP_MEM_HOST_COHERENT, &mem), LAP_OK);
    memset(&buffer, 0, sizeof buffer);
    add_record(GEN_HANDLE_VkBuffer, 0x400, 1, &buffer.object);
    CHECK_EQ_INT(lap_memobj_create(dev->memtrack, &buffer, BYTES, true, &buffer.memobj), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(buffer.memobj, 0, mem, 0, BYTES), LAP_OK);
    CHECK_EQ_INT(lap_mem_map(mem, store, 0, BYTES), LAP_OK);
    CHECK(layer_resource_add(dev, layer_resource_of_buffer(&buffer), buffer.memobj));
    memset(semaphores, 0, sizeof semaphores);
    for (uint32_t i = 0; i < 3; i++) {
        add_record(GEN_HANDLE_VkFence, 0x200 + i, i + 1, &fences[i].object);
        add_record(GEN_HANDLE_VkSemaphore, 0x300 + i, i + 1, &semaphores[i].object);
    }
    dev->vk.QueueSubmit = queue_submit;
    memset(&cmdbuf, 0, sizeof cmdbuf);
    cmdbuf.device = dev;
    CHECK_EQ_INT(lap_map_put(&layer.maps[GEN_HANDLE_VkCommandBuffer], (uintptr_t)COMMANDS, &cmdbuf, NULL), LAP_OK);
    layer.options.verify = true;
    collects = false;
    checks = 0;
    checked_bytes = 0;
}

static void end(void)
{
    layer_submit_finish(dev);
    finish_device();
    free(store);
}

static unsigned outstanding(void)
{
    return atomic_load(&dev->submit.count);
}

static enum lap_status count_bytes(void *context, void *user, uint64_t offset, const void *data, uint64_t bytes)
{
    *(uint64_t *)context += bytes;
    return LAP_OK;
}

/* The host writes a byte: is it sent? */
static uint64_t sent_after_store(uint64_t offset)
{
    uint64_t sent = 0;
    store[offset]++;
    CHECK_EQ_INT(lap_memtrack_collect(dev->memtrack, NULL, count_bytes, NULL, &sent, NULL), LAP_OK);
    return sent;
}

/* ---- pushed descriptors ---- */

static void push(uint32_t binding, VkDeviceSize offset)
{
    VkDescriptorBufferInfo info = {gen_VkBuffer(0x400), offset, 16};
    VkWriteDescriptorSet write = {.sType = VK_STRUCTURE_TYPE_WRITE_DESCRIPTOR_SET,
                                  .dstBinding = binding,
                                  .descriptorCount = 1,
                                  .descriptorType = VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
                                  .pBufferInfo = &info};
    layer_touch_push(&cmdbuf, VK_PIPELINE_BIND_POINT_COMPUTE, 0, &write);
}

/* Whether a part of the command buffer stores to what begins at an offset. */
static bool stores_to(uint32_t part, uint64_t offset)
{
    struct layer_touched touched;
    bool found = false;
    layer_touched_init(&touched);
    CHECK(layer_touch_resolve(dev, &cmdbuf, part, 1, &touched));
    for (size_t i = 0; i < touched.ranges.count; i++)
        found |= touched.ranges.ranges[i].written && touched.ranges.ranges[i].offset == offset;
    layer_touched_finish(&touched);
    return found;
}

#endif

/* SPDX-License-Identifier: MIT */
/* What a wait tells about submitted work. The layer around it is replaced by the few functions that it calls. */
#include <stdlib.h>

#include "layer/records.h"
#include "layer/submission.h"
#include "tests/unit/unit.h"

enum { BYTES = 4096 };

struct layer_state layer;
static struct layer_device *dev;
static struct layer_buffer buffer;
static struct layer_fence fences[3];
static struct layer_semaphore semaphores[3];
static struct lap_mem *mem;
static unsigned char *store;
static unsigned stops, checks;
static uint64_t checked_bytes;

void layer_stop(const char *reason)
{
    stops++;
}
bool layer_is_recording(void)
{
    return true;
}
void layer_check_buffer(struct layer_device *device, const struct layer_buffer *what, uint64_t offset, uint64_t bytes)
{
    CHECK(device == dev && what == &buffer);
    checks++;
    checked_bytes += bytes;
}

#define QUEUE(n)     ((VkQueue)(uintptr_t)(0x100 + (n)))
#define FENCE(n)     gen_VkFence(0x200 + (n))
#define SEMAPHORE(n) gen_VkSemaphore(0x300 + (n))

static void add_record(enum gen_handle_type type, uint64_t handle, uint64_t index, struct lap_object *object)
{
    *object = (struct lap_object){.handle = handle, .index = index, .type = type};
    CHECK_EQ_INT(lap_map_put(&dev->own_maps[type], handle, object, NULL), LAP_OK);
}

static void begin(void)
{
    struct lap_memtrack_options options = {.watch = LAP_WATCH_COMPARE, .non_coherent_atom_bytes = 64};
    dev = calloc(1, sizeof *dev);
    store = calloc(1, BYTES);
    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++) {
        lap_map_init(&dev->own_maps[type]);
        dev->maps[type] = &dev->own_maps[type];
    }
    dev->tables.maps = dev->maps;
    pthread_mutex_init(&dev->submit_mutex, NULL);
    CHECK_EQ_INT(lap_memtrack_create(&options, &dev->memtrack), LAP_OK);
    CHECK_EQ_INT(lap_mem_create(dev->memtrack, BYTES, LAP_MEM_HOST_VISIBLE | LAP_MEM_HOST_COHERENT, &mem), LAP_OK);
    memset(&buffer, 0, sizeof buffer);
    add_record(GEN_HANDLE_VkBuffer, 0x400, 1, &buffer.object);
    CHECK_EQ_INT(lap_memobj_create(dev->memtrack, &buffer, BYTES, true, &buffer.memobj), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(buffer.memobj, 0, mem, 0, BYTES), LAP_OK);
    CHECK_EQ_INT(lap_mem_map(mem, store, 0, BYTES), LAP_OK);
    CHECK(layer_resource_add(dev, layer_resource_of_buffer(&buffer), buffer.memobj));
    for (uint32_t i = 0; i < 3; i++) {
        add_record(GEN_HANDLE_VkFence, 0x200 + i, i + 1, &fences[i].object);
        add_record(GEN_HANDLE_VkSemaphore, 0x300 + i, i + 1, &semaphores[i].object);
    }
    layer.options.verify = true;
    stops = checks = 0;
    checked_bytes = 0;
}

static void end(void)
{
    layer_submit_finish(dev);
    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++)
        lap_map_finish(&dev->own_maps[type]);
    lap_memtrack_destroy(&dev->memtrack);
    pthread_mutex_destroy(&dev->submit_mutex);
    free(dev);
    free(store);
    CHECK_EQ_U64(stops, 0);
}

/* A batch that writes 16 bytes at `offset`. */
static struct layer_submission *submit(VkQueue queue, uint64_t offset)
{
    struct layer_submission *submission;
    struct layer_written written = {layer_resource_of_buffer(&buffer), offset, 16, true};
    dev->submit_serial++;
    submission = layer_submission_begin(dev, queue);
    CHECK(submission != NULL);
    CHECK(layer_submission_wrote(submission, written));
    layer_submission_end(dev);
    return submission;
}

static unsigned outstanding(void)
{
    return atomic_load(&dev->submission_count);
}

UNIT_TEST(a_fence_tells_of_all_that_was_submitted_before_on_its_queue)
{
    begin();
    submit(QUEUE(0), 0);
    submit(QUEUE(1), 16);
    submit(QUEUE(0), 32)->fence = fences[0].object.index;
    submit(QUEUE(0), 48);
    layer_learn_fence(dev, FENCE(1));
    CHECK_EQ_U64(outstanding(), 4);
    layer_learn_fence(dev, FENCE(0));
    CHECK_EQ_U64(outstanding(), 2);
    CHECK_EQ_U64(checks, 2);
    CHECK_EQ_U64(checked_bytes, 32);
    layer_learn_fence(dev, FENCE(0));
    CHECK_EQ_U64(checks, 2);
    layer_learn_queue(dev, QUEUE(1));
    CHECK_EQ_U64(outstanding(), 1);
    layer_learn_device(dev);
    CHECK_EQ_U64(outstanding(), 0);
    CHECK_EQ_U64(checks, 4);
    end();
}

UNIT_TEST(a_fence_that_was_reset_tells_nothing)
{
    begin();
    submit(QUEUE(0), 0)->fence = fences[0].object.index;
    layer_forget_fence(dev, FENCE(0));
    layer_learn_fence(dev, FENCE(0));
    CHECK_EQ_U64(outstanding(), 1);
    end();
}

UNIT_TEST(a_semaphore_value_tells_of_smaller_signals)
{
    begin();
    CHECK(layer_submission_signal(submit(QUEUE(0), 0), (struct layer_point){semaphores[0].object.index, 5, false}));
    CHECK(layer_submission_signal(submit(QUEUE(0), 16), (struct layer_point){semaphores[0].object.index, 7, false}));
    layer_learn_semaphore(dev, SEMAPHORE(0), 4);
    CHECK_EQ_U64(outstanding(), 2);
    layer_learn_semaphore(dev, SEMAPHORE(1), 9);
    CHECK_EQ_U64(outstanding(), 2);
    layer_learn_semaphore(dev, SEMAPHORE(0), 6);
    CHECK_EQ_U64(outstanding(), 1);
    layer_learn_semaphore(dev, SEMAPHORE(0), 7);
    CHECK_EQ_U64(outstanding(), 0);
    end();
}

/* Queue 2 waited for queue 1, which waited for queue 0: one fence tells of all three. */
UNIT_TEST(what_finished_work_waited_for_is_finished)
{
    struct layer_submission *s;
    begin();
    CHECK(layer_submission_signal(submit(QUEUE(0), 0), (struct layer_point){semaphores[0].object.index, 1, false}));
    s = submit(QUEUE(1), 16);
    CHECK(layer_submission_wait(s, (struct layer_point){semaphores[0].object.index, 1, false}));
    CHECK(layer_submission_signal(s, (struct layer_point){semaphores[1].object.index, 1, false}));
    submit(QUEUE(0), 32);
    s = submit(QUEUE(2), 48);
    CHECK(layer_submission_wait(s, (struct layer_point){semaphores[1].object.index, 1, false}));
    s->fence = fences[2].object.index;
    layer_learn_fence(dev, FENCE(2));
    CHECK_EQ_U64(outstanding(), 1);
    CHECK(dev->submissions->queue == QUEUE(0));
    CHECK(dev->submissions == dev->last_submission);
    end();
}

UNIT_TEST(a_signal_of_some_stages_is_no_reason_to_check)
{
    begin();
    CHECK(layer_submission_signal(submit(QUEUE(0), 0), (struct layer_point){semaphores[0].object.index, 1, true}));
    layer_learn_semaphore(dev, SEMAPHORE(0), 1);
    CHECK_EQ_U64(outstanding(), 0);
    CHECK_EQ_U64(checks, 0);
    end();
}

UNIT_TEST(bytes_that_later_work_writes_are_not_checked)
{
    begin();
    submit(QUEUE(0), 0)->fence = fences[0].object.index;
    submit(QUEUE(0), 8);
    layer_learn_fence(dev, FENCE(0));
    CHECK_EQ_U64(checks, 0);
    layer_learn_queue(dev, QUEUE(0));
    CHECK_EQ_U64(checks, 1);
    end();
}

UNIT_TEST(a_refused_submit_leaves_nothing)
{
    begin();
    submit(QUEUE(0), 0);
    submit(QUEUE(0), 16);
    submit(QUEUE(0), 32);
    layer_submission_cancel(dev, 2, 3);
    CHECK_EQ_U64(outstanding(), 1);
    CHECK(dev->last_submission == dev->submissions);
    layer_learn_queue(dev, QUEUE(0));
    CHECK_EQ_U64(checked_bytes, 16);
    end();
}

static enum lap_status count_bytes(void *context, void *user, uint64_t offset, const void *data, uint64_t bytes)
{
    *(uint64_t *)context += bytes;
    return LAP_OK;
}

/* Many batches of which the program never asks, and one fence at the end. */
UNIT_TEST(the_list_stays_short_and_nothing_is_forgotten)
{
    uint64_t sent = 0;
    begin();
    for (uint64_t i = 0; i < 5000; i++) {
        submit(QUEUE(i % 3), i % 200 * 16);
        CHECK(outstanding() <= 257);
    }
    memset(store, 1, 200 * 16); /* the device's work */
    layer_learn_device(dev);
    CHECK_EQ_U64(outstanding(), 0);
    CHECK_EQ_INT(lap_memtrack_collect(dev->memtrack, NULL, count_bytes, &sent, NULL), LAP_OK);
    CHECK_EQ_U64(sent, 0);
    store[0] = 2; /* the host's */
    CHECK_EQ_INT(lap_memtrack_collect(dev->memtrack, NULL, count_bytes, &sent, NULL), LAP_OK);
    CHECK_EQ_U64(sent, 1);
    end();
}

UNIT_TEST(a_buffer_that_is_gone_is_passed_over)
{
    begin();
    submit(QUEUE(0), 0);
    layer_resource_remove(dev, layer_resource_of_buffer(&buffer));
    lap_memobj_destroy(&buffer.memobj);
    layer_learn_device(dev);
    CHECK_EQ_U64(outstanding(), 0);
    CHECK_EQ_U64(checks, 0);
    end();
}

UNIT_MAIN();

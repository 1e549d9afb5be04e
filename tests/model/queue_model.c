/* SPDX-License-Identifier: MIT */
/* trace/write/queue.c: two threads put chunks, a third takes them, mostly without the lock. Without a tail file. */
#include "trace/write/queue.c"

#include <stdlib.h>

#include "tests/model/model.h"

#define CHUNKS 2u /* of each thread */

static struct lap_queue queue;
static uint8_t *room;

static void begin(void)
{
    const struct lap_queue_options options = {.capacity = LAP_QUEUE_MIN_BYTES, .eager = true};
    if (!queue.memory)
        MODEL_CHECK(lap_queue_init(&queue, &options) == LAP_OK);
    if (!room)
        room = malloc(LAP_QUEUE_ROOM_BYTES);
    queue.put = queue.saved = queue.taken = queue.seen = queue.given_back = queue.wanted = 0;
    queue.head = queue.tail = queue.next = queue.used = queue.unsaved = queue.start = queue.frames = 0;
    queue.ending = false;
}

static void put(unsigned thread, unsigned number)
{
    uint8_t payload[5];
    struct iovec part = {payload, sizeof payload};
    struct lap_chunk_header header = {.kind = LAP_CHUNK_PACKETS, .stream = thread, .first = number, .last = number};
    if (model_choose(2))
        header.kind = LAP_CHUNK_FRAME;
    memset(payload, (int)(16 * thread + number), sizeof payload);
    MODEL_CHECK(lap_queue_put(&queue, &header, &part, 1) == LAP_OK);
}

static bool take_one(unsigned taken[2])
{
    const uint8_t *payload;
    const struct lap_queued *oldest = lap_queue_oldest(&queue, room, &payload);
    MODEL_CHECK(!queue.lost);
    if (!oldest)
        return false;
    const struct lap_chunk_header *header = &oldest->header;
    MODEL_CHECK(header->stream < 2 && header->first == taken[header->stream] && header->raw_bytes == 5);
    for (unsigned i = 0; i < 5; i++)
        MODEL_CHECK(payload[i] == 16 * header->stream + header->first);
    taken[header->stream]++;
    lap_queue_take(&queue);
    return true;
}

static void run(unsigned thread)
{
    unsigned taken[2] = {0, 0};
    if (thread < 2) {
        for (unsigned i = 0; i < CHUNKS; i++)
            put(thread, i);
        lap_queue_save(&queue);
        return;
    }
    while (taken[0] + taken[1] < 2 * CHUNKS) {
        if (model_choose(4) == 0)
            lap_queue_look(&queue);
        if (!take_one(taken))
            model_yield();
    }
    MODEL_CHECK(lap_queue_count_taken(&queue) == 2 * CHUNKS);
    lap_queue_give_back(&queue);
}

static void end(void)
{
    MODEL_CHECK(queue.put == 2 * CHUNKS && queue.given_back == queue.put && queue.used == 0 && !queue.lost);
}

const struct model model = {.threads = 3, .begin = begin, .run = run, .end = end};

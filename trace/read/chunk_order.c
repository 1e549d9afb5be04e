/* SPDX-License-Identifier: MIT */
#include "trace/read/chunk_order.h"

#include "base/array.h"

#include <stdlib.h>
#include <string.h>

void lap_chunk_order_init(struct lap_chunk_order *sequence, uint32_t version)
{
    memset(sequence, 0, sizeof(*sequence));
    sequence->has_copy = version >= LAP_FORMAT_COPIES;
    lap_map_init(&sequence->places);
}

void lap_chunk_order_finish(struct lap_chunk_order *sequence)
{
    lap_map_finish(&sequence->places);
    free(sequence->lasts);
}

static enum lap_status wrong(const char *what)
{
    return lap_fail(LAP_ERROR_FORMAT, "%s", what);
}

/* The stream's last ticket, 0 for a new stream; NULL without memory. */
static uint64_t *last_of(struct lap_chunk_order *sequence, uint32_t stream)
{
    uintptr_t place = (uintptr_t)lap_map_get(&sequence->places, stream + UINT64_C(1));
    if (place)
        return &sequence->lasts[place - 1];
    if (!lap_array_grow(&sequence->lasts, sizeof(*sequence->lasts), &sequence->capacity, sequence->count + 1))
        return NULL;
    if (lap_map_put(&sequence->places, stream + UINT64_C(1), (void *)(sequence->count + 1), NULL) < 0)
        return NULL;
    sequence->lasts[sequence->count] = 0;
    return &sequence->lasts[sequence->count++];
}

static enum lap_status add_packets(struct lap_chunk_order *sequence, const struct lap_chunk_header *header)
{
    uint64_t *last = last_of(sequence, header->stream);
    if (!last)
        return lap_no_memory(NULL);
    if (header->first <= *last || header->count == 0 || header->last - header->first < header->count - 1)
        return wrong("tickets out of order");
    *last = header->last;
    return LAP_OK;
}

static enum lap_status add_blobs(struct lap_chunk_order *sequence, const struct lap_chunk_header *header)
{
    bool follows =
        header->count && header->first == sequence->blobs + 1 && header->last - header->first == header->count - 1;
    bool goes_on = sequence->blob_goes_on && header->count == 1 && header->first == sequence->blobs &&
                   header->last == sequence->blobs;
    if (!follows && !goes_on)
        return wrong("blobs out of order");
    sequence->blobs = header->last;
    sequence->blob_goes_on = header->count == 1;
    return LAP_OK;
}

static enum lap_status add_frame(struct lap_chunk_order *sequence, const struct lap_chunk_header *header)
{
    if (header->frame != sequence->frames || header->raw_bytes > LAP_MARK_MAX_BYTES ||
        header->last < sequence->frame_last)
        return wrong("frame marks out of order");
    sequence->frames++;
    sequence->frame_last = header->last;
    return LAP_OK;
}

enum lap_status lap_chunk_order_add(struct lap_chunk_order *sequence, const struct lap_chunk_header *header)
{
    uint64_t place = sequence->chunks++;
    bool is_first = place == 0;
    if (place == 1 && sequence->has_copy && header->kind == LAP_CHUNK_DICTIONARY)
        return LAP_OK;
    if (is_first != (header->kind == LAP_CHUNK_DICTIONARY))
        return wrong(is_first ? "a trace begins with its dictionary" : "a second dictionary");
    switch (header->kind) {
    case LAP_CHUNK_PACKETS:
        return add_packets(sequence, header);
    case LAP_CHUNK_BLOBS:
        return add_blobs(sequence, header);
    case LAP_CHUNK_FRAME:
        return add_frame(sequence, header);
    default:
        return LAP_OK;
    }
}

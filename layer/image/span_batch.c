/* SPDX-License-Identifier: MIT */
#include "layer/image/span_batch.h"

#include <stdlib.h>
#include <string.h>

/* Lays the numbers of so many spans out in a block. */
static void lay_out(struct layer_span_batch *spans, uint64_t *block, uint32_t capacity)
{
    spans->at = block;
    spans->sizes = spans->at + capacity;
    spans->slices = (uint32_t *)(spans->sizes + capacity);
    spans->rows = spans->slices + capacity;
    spans->capacity = capacity;
}

void layer_span_batch_init(struct layer_span_batch *spans)
{
    spans->count = 0;
    spans->bytes = 0;
    spans->heap = NULL;
    spans->data = spans->own_data;
    spans->data_capacity = sizeof spans->own_data;
    lay_out(spans, spans->own, LAYER_SPANS_OWN);
}

void layer_span_batch_finish(struct layer_span_batch *spans)
{
    free(spans->heap);
    if (spans->data != spans->own_data)
        free(spans->data);
    layer_span_batch_init(spans);
}

static bool more_spans(struct layer_span_batch *spans)
{
    struct layer_span_batch before = {
        .at = spans->at, .sizes = spans->sizes, .slices = spans->slices, .rows = spans->rows};
    uint32_t capacity = spans->capacity * 4, count = spans->count;
    uint64_t *block;

    if (spans->capacity >= LAYER_SPANS_MAX)
        return false;
    if (capacity > LAYER_SPANS_MAX)
        capacity = LAYER_SPANS_MAX;
    block = malloc(capacity * 3 * sizeof *block);
    if (!block)
        return false;
    lay_out(spans, block, capacity);
    memcpy(spans->at, before.at, count * sizeof *before.at);
    memcpy(spans->sizes, before.sizes, count * sizeof *before.sizes);
    memcpy(spans->slices, before.slices, count * sizeof *before.slices);
    memcpy(spans->rows, before.rows, count * sizeof *before.rows);
    free(spans->heap);
    spans->heap = block;
    return true;
}

static bool more_bytes(struct layer_span_batch *spans, uint64_t bytes)
{
    size_t capacity = spans->data_capacity * 4;
    unsigned char *data;

    if (bytes > LAYER_SPANS_MAX_BYTES - spans->bytes)
        return false;
    while (capacity < spans->bytes + bytes)
        capacity *= 2;
    data = spans->data == spans->own_data ? malloc(capacity) : realloc(spans->data, capacity);
    if (!data)
        return false;
    if (spans->data == spans->own_data)
        memcpy(data, spans->own_data, spans->bytes);
    spans->data = data;
    spans->data_capacity = capacity;
    return true;
}

bool layer_span_batch_add(struct layer_span_batch *spans, const struct layer_span *span, const void *data)
{
    if ((spans->count == spans->capacity && !more_spans(spans)) ||
        (span->bytes > spans->data_capacity - spans->bytes && !more_bytes(spans, span->bytes)))
        return false;
    spans->at[spans->count] = span->at;
    spans->sizes[spans->count] = span->bytes;
    spans->slices[spans->count] = span->slice;
    spans->rows[spans->count++] = span->row;
    memcpy(spans->data + spans->bytes, data, (size_t)span->bytes);
    spans->bytes += (size_t)span->bytes;
    return true;
}

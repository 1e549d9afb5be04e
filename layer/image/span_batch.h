/* SPDX-License-Identifier: MIT */
/*
 * span_batch: short runs of bytes of one object, gathered for one packet: the place of each, and their bytes in
 * sequence. Storage of the caller, one thread.
 */
#ifndef LAP_LAYER_SPAN_BATCH_H
#define LAP_LAYER_SPAN_BATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The limits of a batch. */
#define LAYER_SPANS_MAX       16384u
#define LAYER_SPANS_MAX_BYTES ((size_t)1 << 20)
/* The limits without heap memory. */
#define LAYER_SPANS_OWN       32u
#define LAYER_SPANS_OWN_BYTES 512u

struct layer_span {
    uint64_t at, bytes;
    uint32_t slice, row;
};

struct layer_span_batch {
    uint32_t count, capacity;
    /* Arrays with one number for each span. */
    uint64_t *at, *sizes;
    uint32_t *slices, *rows;
    unsigned char *data;
    size_t bytes, data_capacity;
    void *heap; /* of the numbers, unless they are in `own` */
    uint64_t own[LAYER_SPANS_OWN * 3];
    unsigned char own_data[LAYER_SPANS_OWN_BYTES];
};

void layer_span_batch_init(struct layer_span_batch *spans);
void layer_span_batch_finish(struct layer_span_batch *spans);

/* Copies the bytes. False when there is no room, or no memory for it; adding up to LAYER_SPANS_OWN_BYTES to an empty
 * batch always succeeds. */
bool layer_span_batch_add(struct layer_span_batch *spans, const struct layer_span *span, const void *data);

static inline void layer_span_batch_clear(struct layer_span_batch *spans)
{
    spans->count = 0;
    spans->bytes = 0;
}

#endif

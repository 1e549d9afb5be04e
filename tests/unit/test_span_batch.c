/* SPDX-License-Identifier: MIT */
#include "layer/image/span_batch.h"
#include "tests/unit/unit.h"

UNIT_TEST(spans_are_kept_in_order_however_many)
{
    struct layer_span_batch spans;
    unsigned count = 0;

    layer_span_batch_init(&spans);
    for (unsigned round = 0; round < 2; round++) {
        for (count = 0; count <= LAYER_SPANS_MAX; count++) {
            const struct layer_span span = {count * 10, 1 + count % 7, count / 3, count * 2};
            const uint8_t data[7] = {(uint8_t)count, 1, 2, 3, 4, 5, 6};
            if (!layer_span_batch_add(&spans, &span, data))
                break;
        }
        CHECK_EQ_U64(count, LAYER_SPANS_MAX);
        CHECK_EQ_U64(spans.count, count);
        for (uint32_t i = 0, at = 0; i < spans.count; i++) {
            CHECK_EQ_U64(spans.at[i], i * 10);
            CHECK_EQ_U64(spans.sizes[i], 1 + i % 7);
            CHECK_EQ_U64(spans.slices[i], i / 3);
            CHECK_EQ_U64(spans.rows[i], i * 2);
            CHECK_EQ_U64(spans.data[at], (uint8_t)i);
            at += (uint32_t)spans.sizes[i];
        }
        layer_span_batch_clear(&spans);
    }
    layer_span_batch_finish(&spans);
}

UNIT_TEST(spans_have_a_limit_of_bytes)
{
    static const uint8_t data[4000];
    const struct layer_span span = {0, sizeof data, 0, 0};
    struct layer_span_batch spans;
    size_t bytes = 0;

    layer_span_batch_init(&spans);
    while (layer_span_batch_add(&spans, &span, data))
        bytes += sizeof data;
    CHECK_EQ_U64(bytes, LAYER_SPANS_MAX_BYTES / sizeof data * sizeof data);
    CHECK_EQ_U64(spans.bytes, bytes);
    layer_span_batch_finish(&spans);
}

UNIT_MAIN();

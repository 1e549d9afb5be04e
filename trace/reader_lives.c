/* SPDX-License-Identifier: MIT */
#include "trace/lives.h"
#include "trace/reader.h"

enum lap_status lap_reader_lives(struct lap_reader *reader, struct lap_lives_reader *out)
{
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    uint64_t blob = summary->counters[LAP_COUNTER_LIVES];
    const uint8_t *data;
    size_t bytes;

    *out = (struct lap_lives_reader){.left = LAP_LIVES_MAX_COUNT};
    if (!summary->complete || !blob)
        return LAP_END;
    enum lap_status status = lap_reader_blob(reader, LAP_BLOB_DATA, blob, &data, &bytes);
    if (status == LAP_OK && bytes > LAP_LIVES_MAX_BYTES)
        status = lap_fail(LAP_ERROR_FORMAT, "more long lives than a trace can have");
    if (status == LAP_OK)
        lap_dec_init(&out->dec, data, bytes, NULL, NULL);
    return status;
}

enum lap_status lap_lives_next(struct lap_lives_reader *lives, struct lap_long_life *out)
{
    struct lap_dec *dec = &lives->dec;

    if (dec->status == LAP_OK && (dec->p == dec->end || lives->left == 0))
        return LAP_END;
    lives->left--;
    out->handle_type = lap_get_u32(dec);
    out->index = lap_get_u64(dec);
    uint64_t step = lap_get_u64(dec), length = lap_get_u64(dec);
    out->bytes = lap_get_u64(dec);
    uint32_t flags = lap_get_u32(dec);
    out->memory_flags = flags & ~LAP_LIFE_DEVICE_MASK;
    out->device = (flags & LAP_LIFE_DEVICE_MASK) >> LAP_LIFE_DEVICE_SHIFT;
    if (dec->status == LAP_OK &&
        (__builtin_add_overflow(lives->ticket, step, &lives->ticket) || length == 0 || length >= lives->ticket))
        lap_dec_fail(dec, "tickets that can't be");
    out->end = lives->ticket;
    out->begin = out->end - length;
    return dec->status == LAP_OK ? LAP_OK : lap_fail_context(dec->status, "long lives of objects");
}

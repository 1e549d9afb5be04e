/* SPDX-License-Identifier: MIT */
#include "trace/crash/end_note.h"

#include <stdlib.h>
#include <string.h>

#include "trace/format/bytes.h"

#define FLAG_WHOLE 1u

void lap_end_note_store(const struct lap_end_note *note, uint8_t out[LAP_END_NOTE_HEAD_BYTES])
{
    memset(out, 0, LAP_END_NOTE_HEAD_BYTES);
    lap_store_u64(out, note->last_ticket);
    lap_store_u32(out + 8, note->whole ? FLAG_WHOLE : 0);
    lap_store_u32(out + 12, note->how);
    lap_store_u32(out + 16, note->number);
    lap_store_u32(out + 20, note->by);
}

enum lap_status lap_end_note_load(const uint8_t *data, size_t bytes, struct lap_end_note *out)
{
    if (bytes < LAP_END_NOTE_HEAD_BYTES || bytes > LAP_END_NOTE_MAX_BYTES)
        return lap_fail(LAP_ERROR_FORMAT, "no note of the end has this size");
    *out = (struct lap_end_note){.last_ticket = lap_load_u64(data),
                                 .whole = lap_load_u32(data + 8) == FLAG_WHOLE,
                                 .how = lap_load_u32(data + 12),
                                 .number = lap_load_u32(data + 16),
                                 .by = lap_load_u32(data + 20)};
    if (lap_load_u32(data + 8) > FLAG_WHOLE || out->how > LAP_ENDED_STATUS || out->by < LAP_ENDED_BY_CAPTURE ||
        out->by > LAP_ENDED_BY_RECEIVE)
        return lap_fail(LAP_ERROR_FORMAT, "the note of the end contradicts itself");
    return LAP_OK;
}

enum lap_status lap_end_note_make(const struct lap_end_note *note, const uint8_t *calls, size_t calls_bytes,
                                  uint64_t seed, uint8_t **out, size_t *out_bytes)
{
    struct lap_in_flight call;
    size_t at = 0, used = LAP_END_NOTE_HEAD_BYTES;
    uint8_t *data = calloc(1, LAP_END_NOTE_HEAD_BYTES + calls_bytes + LAP_IN_FLIGHT_ALIGN);
    if (!data)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    lap_end_note_store(note, data);
    while (lap_in_flight_next(calls, calls_bytes, &at, seed, &call) == LAP_OK) {
        memcpy(data + used + LAP_IN_FLIGHT_HEAD_BYTES, call.body, call.bytes);
        lap_in_flight_store(data + used, &call, 0);
        used += lap_in_flight_stride(call.bytes);
    }
    *out = data;
    *out_bytes = used;
    return LAP_OK;
}

/* SPDX-License-Identifier: MIT */
#include "trace/receive/receive.h"

#include <inttypes.h>
#include <string.h>

#include "trace/format/bytes.h"
#include "trace/format/chunk.h"
#include "trace/format/format.h"

void lap_receive_init(struct lap_receive *receive, const struct lap_receive_file *file)
{
    memset(receive, 0, sizeof(*receive));
    receive->file = *file;
}

static enum lap_status take_head(struct lap_receive *receive)
{
    uint32_t kind = lap_load_u32(receive->head + 4);
    uint64_t value = lap_load_u64(receive->head + 8);
    enum lap_status status;

    receive->head_used = 0;
    if (lap_load_u32(receive->head) != LAP_RECORD_MAGIC || receive->forgotten)
        return lap_fail(LAP_ERROR_FORMAT, "this is no record of a streamed trace");
    switch (kind) {
    case LAP_RECORD_APPEND:
        if (value == 0 || value > LAP_RECORD_MAX_BYTES || value > (uint64_t)INT64_MAX - receive->bytes)
            return lap_fail(LAP_ERROR_FORMAT, "a record of %" PRIu64 " bytes", value);
        receive->left = value;
        return LAP_OK;
    case LAP_RECORD_CUT:
        if (value > receive->bytes || value < LAP_FILE_HEADER_BYTES)
            return lap_fail(LAP_ERROR_FORMAT, "%" PRIu64 " of %" PRIu64 " bytes can't be kept", value, receive->bytes);
        status = receive->file.cut(receive->file.user, value);
        receive->bytes = value;
        return status;
    case LAP_RECORD_FORGET:
        receive->forgotten = true;
        return LAP_OK;
    case LAP_RECORD_DONE:
        if (value != receive->bytes)
            return lap_fail(LAP_ERROR_FORMAT, "%" PRIu64 " bytes shall be all, of %" PRIu64, value, receive->bytes);
        return receive->file.done(receive->file.user, value);
    default:
        return lap_fail(LAP_ERROR_FORMAT, "a record of unknown kind %" PRIu32, kind);
    }
}

/* Nothing else is ever written into a file that is called a trace. */
static bool begins_as_trace(uint64_t at, const uint8_t *data, size_t bytes)
{
    static const char magic[] = LAP_FORMAT_MAGIC;
    for (size_t i = 0; i < bytes && at + i < sizeof(magic) - 1; i++)
        if (data[i] != (uint8_t)magic[at + i])
            return false;
    return true;
}

enum lap_status lap_receive_take(struct lap_receive *receive, const uint8_t *data, size_t bytes)
{
    enum lap_status status = LAP_OK;
    while (bytes && status == LAP_OK) {
        size_t step;
        if (receive->left) {
            step = bytes < receive->left ? bytes : (size_t)receive->left;
            status = begins_as_trace(receive->bytes, data, step)
                         ? receive->file.append(receive->file.user, receive->bytes, data, step)
                         : lap_fail(LAP_ERROR_FORMAT, "what is sent is no trace");
            if (status != LAP_OK)
                return status;
            receive->left -= step;
            receive->bytes += step;
        } else {
            step = LAP_RECORD_BYTES - receive->head_used;
            step = bytes < step ? bytes : step;
            memcpy(receive->head + receive->head_used, data, step);
            receive->head_used += step;
            if (receive->head_used == LAP_RECORD_BYTES)
                status = take_head(receive);
        }
        data += step;
        bytes -= step;
    }
    return status;
}

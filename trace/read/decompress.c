/* SPDX-License-Identifier: MIT */
#include <lz4.h>
#include <stdbool.h>
#include <string.h>
#include <zstd.h>

#include "trace/format/chunk.h"

enum lap_status lap_chunk_unpack(const struct lap_chunk_header *header, const uint8_t *stored, uint8_t *raw)
{
    enum lap_status status = lap_chunk_check(header, stored);
    bool good = false;
    if (status != LAP_OK)
        return status;
    switch (header->codec) {
    case LAP_CODEC_NONE:
        if (header->raw_bytes && raw != stored)
            memcpy(raw, stored, header->raw_bytes);
        good = true;
        break;
    case LAP_CODEC_LZ4:
        good = LZ4_decompress_safe((const char *)stored, (char *)raw, (int)header->stored_bytes,
                                   (int)header->raw_bytes) == (int)header->raw_bytes;
        break;
    case LAP_CODEC_ZSTD: /* errors are sizes that no chunk has */
        good = ZSTD_decompress(raw, header->raw_bytes, stored, header->stored_bytes) == header->raw_bytes;
        break;
    default:
        break;
    }
    return good ? LAP_OK : lap_fail(LAP_ERROR_FORMAT, "the chunk can't be unpacked");
}

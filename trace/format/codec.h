/* SPDX-License-Identifier: MIT */
/*
 * codec: ways of making a payload smaller. A recording uses those of codec.c; Zstandard is for rewriting a trace, and
 * is linked only into programs that read some (zstd.c).
 */
#ifndef LAP_TRACE_FORMAT_CODEC_H
#define LAP_TRACE_FORMAT_CODEC_H

#include <stddef.h>
#include <stdint.h>

#include "trace/format/format.h"

struct lap_codec {
    enum lap_chunk_codec codec;
    int level; /* the codec's own scale */
    size_t (*state_bytes)(void);
    /* Puts fewer bytes than raw_bytes at `out` and returns how many; 0 when it can't. `out` has room for raw_bytes,
     * `state` for state_bytes(). One thread at a time. */
    size_t (*pack)(const struct lap_codec *packer, void *state, const uint8_t *raw, size_t raw_bytes, uint8_t *out);
    /* For payloads that this one compresses further than a chunk may be; no larger state. NULL: such payloads are
     * stored as they are. */
    const struct lap_codec *otherwise;
};

extern const struct lap_codec lap_codec_lz4, lap_codec_lz4hc;
extern const struct lap_codec lap_codec_zstd; /* zstd.c; level 1 to 19 */

#endif

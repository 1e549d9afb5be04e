/* SPDX-License-Identifier: MIT */
#include <zstd.h>

#include "trace/format/codec.h"

/* The library keeps its own memory, for as long as the process lives. */
static ZSTD_CCtx *context;

/* For the state of the other packer (`otherwise`); this one has its own. */
static size_t state_bytes(void)
{
    return lap_codec_lz4.state_bytes();
}

static size_t pack_zstd(const struct lap_codec *packer, void *state, const uint8_t *raw, size_t raw_bytes, uint8_t *out)
{
    if (!context)
        context = ZSTD_createCCtx();
    size_t packed = context ? ZSTD_compressCCtx(context, out, raw_bytes - 1, raw, raw_bytes, packer->level) : (size_t)0;
    return ZSTD_isError(packed) ? 0 : packed;
}

const struct lap_codec lap_codec_zstd = {LAP_CODEC_ZSTD, 12, state_bytes, pack_zstd, &lap_codec_lz4};

/* SPDX-License-Identifier: MIT */
#include "trace/format/codec.h"

#include <lz4.h>
#include <lz4hc.h>

/* States are not on the stack: this may run on the threads of the recorded program. The output has less room than the
 * input, so that incompressible payloads are given up early. */
static size_t lz4_state_bytes(void)
{
    return (size_t)LZ4_sizeofState();
}

static size_t pack_lz4(const struct lap_codec *packer, void *state, const uint8_t *raw, size_t raw_bytes, uint8_t *out)
{
    int packed = LZ4_compress_fast_extState(state, (const char *)raw, (char *)out, (int)raw_bytes, (int)raw_bytes - 1,
                                            packer->level);
    return packed > 0 ? (size_t)packed : 0;
}

static size_t lz4hc_state_bytes(void)
{
    return (size_t)LZ4_sizeofStateHC();
}

static size_t pack_lz4hc(const struct lap_codec *packer, void *state, const uint8_t *raw, size_t raw_bytes,
                         uint8_t *out)
{
    int packed = LZ4_compress_HC_extStateHC(state, (const char *)raw, (char *)out, (int)raw_bytes, (int)raw_bytes - 1,
                                            packer->level);
    return packed > 0 ? (size_t)packed : 0;
}

const struct lap_codec lap_codec_lz4 = {LAP_CODEC_LZ4, 1, lz4_state_bytes, pack_lz4, NULL};
const struct lap_codec lap_codec_lz4hc = {LAP_CODEC_LZ4, LZ4HC_CLEVEL_DEFAULT, lz4hc_state_bytes, pack_lz4hc, NULL};

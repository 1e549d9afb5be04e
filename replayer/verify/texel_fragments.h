/* SPDX-License-Identifier: MIT */
/*
 * texel_fragments: the fragments of a draw in the history of a texel (inspector/question/texel_fragments.h), as lines
 * of text or as JSON (docs/json.md). One thread.
 */
#ifndef LAP_REPLAYER_VERIFY_TEXEL_FRAGMENTS_H
#define LAP_REPLAYER_VERIFY_TEXEL_FRAGMENTS_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "inspector/question/texel_history.h"
#include "replayer/verify/texel_value.h"

/* How many draws have fragments, and of how many of them the end was computed, and is the measured one. */
struct texel_shares {
    uint64_t draws, computed, equal;
};

/* Of a row with a draw. */
void texel_fragments_find(const struct texel_history *history, const struct texel_row *row,
                          const struct texel_results *results, struct texel_fragments *out);
void texel_fragments_count(const struct texel_fragments *fragments, struct texel_shares *shares);

void texel_fragments_text(const struct texel_row *row, const struct texel_fragments *fragments);
/* NULL without memory. */
cJSON *texel_fragments_json(const struct texel_row *row, const struct texel_fragments *fragments);

#endif

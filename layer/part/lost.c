/* SPDX-License-Identifier: MIT */
#include "layer/part/lost.h"

#include <inttypes.h>
#include <stdio.h>

#include "layer/core/layer.h"

#define REASON_BYTES 64u /* of one in the note, at most */

void layer_lost_begin(void)
{
    for (unsigned i = 0; i < LAP_UNCHECKED_COUNT; i++)
        atomic_store(&layer.lost[i], 0);
}

/* A later note replaces an earlier one. */
void layer_lost_note(const uint32_t objects[LAP_UNCHECKED_COUNT])
{
    char json[LAP_UNCHECKED_COUNT * REASON_BYTES + REASON_BYTES];
    const char *separator = "";
    uint32_t news = 0;
    int length;

    length = snprintf(json, sizeof json, "{\"contents_lost\":{");
    for (unsigned i = 0; i < LAP_UNCHECKED_COUNT; i++) {
        const uint32_t all = atomic_fetch_add(&layer.lost[i], objects[i]) + objects[i];
        news += objects[i];
        if (!all)
            continue;
        length += snprintf(json + length, sizeof json - (size_t)length, "%s\"%s\":%" PRIu32, separator,
                           lap_unchecked_names[i], all);
        separator = ",";
    }
    snprintf(json + length, sizeof json - (size_t)length, "}}");
    if (news)
        layer_recording_info_once(json);
}

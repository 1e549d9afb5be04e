/* SPDX-License-Identifier: MIT */
#include "layer/core/unseen.h"

#include <stdio.h>

#include "layer/core/layer.h"

void layer_note_unseen(enum lap_unseen what)
{
    char json[320];
    if (atomic_fetch_or_explicit(&layer.unseen, 1u << what, memory_order_relaxed) >> what & 1)
        return;
    lap_log(&layer.log, LAP_LOG_WARNING, "%s", lap_unseen_kinds[what].text);
    snprintf(json, sizeof json, "{\"%s\":\"%s\"}", lap_unseen_kinds[what].key, lap_unseen_kinds[what].text);
    layer_recording_info(json);
}

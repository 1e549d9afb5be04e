/* SPDX-License-Identifier: MIT */
#include "layer/core/unseen.h"

#include <stdio.h>

#include "layer/core/layer.h"

#define JSON_BYTES 320u

static const char *say(enum lap_unseen what, char json[JSON_BYTES])
{
    lap_log(&layer.log, LAP_LOG_WARNING, "%s", lap_unseen_kinds[what].text);
    snprintf(json, JSON_BYTES, "{\"%s\":\"%s\"}", lap_unseen_kinds[what].key, lap_unseen_kinds[what].text);
    return json;
}

void layer_note_unseen_of_part(enum lap_unseen what)
{
    char json[JSON_BYTES];
    layer_recording_info_once(say(what, json));
}

void layer_note_unseen(enum lap_unseen what)
{
    char json[JSON_BYTES];
    if (atomic_fetch_or_explicit(&layer.unseen, 1u << what, memory_order_relaxed) >> what & 1)
        return;
    layer_recording_info(say(what, json));
}

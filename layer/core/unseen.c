/* SPDX-License-Identifier: MIT */
#include "layer/core/unseen.h"

#include <stdio.h>

#include "layer/core/layer.h"

static const struct {
    const char *key, *text; /* in the trace's info */
} kinds[] = {
    [LAYER_UNSEEN_TWO_DEVICES] = {"memory_of_two_devices",
                                  "two devices share memory: in a replay each sees writes of the other one only "
                                  "where the program has it mapped"},
    [LAYER_UNSEEN_FROM_OUTSIDE] = {"memory_from_outside",
                                   "memory of another process or API was imported: writes "
                                   "of others are recorded only where the program has it mapped"},
    [LAYER_UNSEEN_GIVEN_OUTSIDE] = {"memory_given_outside",
                                    "memory was exported to another process or API: writes of others are "
                                    "recorded only where the program had it mapped"},
    [LAYER_UNSEEN_TILED_OUTSIDE] = {"images_from_outside",
                                    "an image whose layout only a driver knows lies in memory that another device, "
                                    "process or API has, too: their writes are not recorded"},
    [LAYER_UNSEEN_TILED_BYTES] = {"preinitialized_images",
                                  "an image whose layout only a driver knows is preinitialized in memory that can be "
                                  "mapped: the host's stores are not recorded, and a replay begins it with zeroes"},
    [LAYER_UNSEEN_SIGNALS] = {"signals_from_outside", "a semaphore or fence of another process or API was imported: a "
                                                      "replay takes waits for its signals as over"},
};

void layer_note_unseen(enum layer_unseen_kind what)
{
    char json[320];
    if (atomic_fetch_or_explicit(&layer.unseen, 1u << what, memory_order_relaxed) >> what & 1)
        return;
    lap_log(&layer.log, LAP_LOG_WARNING, "%s", kinds[what].text);
    snprintf(json, sizeof json, "{\"%s\":\"%s\"}", kinds[what].key, kinds[what].text);
    layer_recording_info(json);
}

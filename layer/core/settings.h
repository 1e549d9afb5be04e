/* SPDX-License-Identifier: MIT */
/*
 * settings: values of vk_layer_settings.txt. The installed layer utilities find and read the file:
 * libVulkanLayerSettings (the loader's documents, "Layer Configuration"), or its predecessor libVkLayer_utils.
 */
#ifndef LAP_LAYER_SETTINGS_H
#define LAP_LAYER_SETTINGS_H

#include <stdbool.h>

#include "base/log.h"

/* The settings while they are read, by one thread. */
struct layer_settings;

/* Null when out of memory: nothing is set then. `log` outlives the settings. */
struct layer_settings *layer_settings_open(const struct lap_log *log);
/* The value of lapilli_capture.KEY, or null where the file does not set it, or sets nothing. It lives until the
 * settings are closed. libVulkanLayerSettings splits values at commas, or else at colons, and does not report which: a
 * split value that is not a list with commas is refused with a warning. */
const char *layer_settings_value(struct layer_settings *settings, const char *key, bool is_list);
void layer_settings_close(struct layer_settings *settings);

#endif

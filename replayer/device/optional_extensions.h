/* SPDX-License-Identifier: MIT */
/*
 * optional_extensions: extensions that Vulkan 1.2 promoted to optional features. Where a GPU has such an extension only
 * as a part of its version, the replay enables the feature instead. One thread.
 */
#ifndef LAP_REPLAYER_DEVICE_OPTIONAL_EXTENSIONS_H
#define LAP_REPLAYER_DEVICE_OPTIONAL_EXTENSIONS_H

#include "replayer/core/replay.h"

#define REPLAY_OPTIONAL_NONE UINT32_MAX

/* The extension's number among them. */
uint32_t replay_optional_extension_number(const char *extension);
/* The extension that became this feature; NULL: none. */
const char *replay_optional_extension_of_feature(const char *feature);
/* Whether the GPU, which has Vulkan 1.2, has the features of the extension. */
bool replay_optional_extension_is_supported(const struct replay_instance *instance, uint32_t number);
/* Enables the features of all extensions in `set` (bit n: number n), in the chain of a device's create info. */
enum lap_status replay_optional_extension_enable(struct replay *r, uint32_t set,
                                                 VkBaseOutStructure **chain) LAP_MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * extension_fallback: uses extensions in place of a newer Vulkan version that promoted them (registry: promotedto), on
 * a GPU with an older version. gen_dispatch loads entry points by the extensions' names. This file enables the
 * extensions, and requests features in their structures. One thread.
 */
#ifndef LAP_REPLAYER_DEVICE_EXTENSION_FALLBACK_H
#define LAP_REPLAYER_DEVICE_EXTENSION_FALLBACK_H

#include "inspector/analysis/feature_use.h"
#include "replayer/core/replay.h"

struct replay_extension_fallback {
    const struct replay_instance *instance;
    const VkExtensionProperties *available; /* of the GPU */
    uint32_t available_count;
    const char **enabled; /* so far; has room for all extensions that this build knows */
    uint32_t enabled_count;
    const struct feature_use *seen; /* the trace's features and extensions */
};

/* For a GPU with an older Vulkan than the instance requests: enables the extensions that the versions between both
 * promoted, if the trace uses them, or if `chain` enables a feature of theirs. Moves such features to the structures
 * of the extensions. A feature stays in a structure that the GPU does not know only if no extension of the GPU has
 * it. */
enum lap_status replay_extension_fallback_enable(struct replay *r, struct replay_extension_fallback *fallback,
                                                 VkBaseOutStructure **chain) LAP_MUST_CHECK;

/* How the replay does without this extension, or this feature, on a device that lacks it (push_descriptors.h,
 * host_copy.h): a static sentence without its subject. NULL: it can't. */
const char *replay_extension_emulation(const char *name);

#endif

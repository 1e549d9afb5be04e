/* SPDX-License-Identifier: MIT */
/*
 * promote: parts of newer versions of Vulkan on a GPU of an older one, which has them as the extensions that went into
 * these versions (registry: promotedto). Entry points are loaded by the extensions' names where the version is older
 * (gen_dispatch); here the extensions are enabled, and features are asked for in their structures. One thread.
 */
#ifndef LAP_REPLAYER_PROMOTE_H
#define LAP_REPLAYER_PROMOTE_H

#include "replayer/context.h"
#include "replayer/witness.h"

struct replay_promotion {
    const struct replay_instance *instance;
    const VkExtensionProperties *here; /* of the GPU */
    uint32_t here_count;
    const char **enabled; /* so far; there is room for all that this build knows */
    uint32_t enabled_count;
    const struct replay_witnesses *seen; /* what the trace uses */
};

/* For a GPU of an older Vulkan than the instance asks for: enables extensions that went into versions between both, if
 * the trace uses them, or if they have a feature that is switched on in `chain`, which is changed for them. What is on
 * in a structure that the GPU does not know stays on there only if nothing here has it. */
enum lap_status replay_promote(struct replay *r, struct replay_promotion *promotion,
                               VkBaseOutStructure **chain) LAP_MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
/*
 * optional: extensions that Vulkan 1.2 took in as something that a device may do without. Where a GPU has such a one
 * only as a part of its version, a feature has to be switched on instead. One thread.
 */
#ifndef LAP_REPLAYER_OPTIONAL_H
#define LAP_REPLAYER_OPTIONAL_H

#include "replayer/context.h"

#define REPLAY_OPTIONAL_NONE UINT32_MAX

/* The extension's place among them. */
uint32_t replay_optional_number(const char *extension);
/* The extension for which a feature stands; NULL: none. */
const char *replay_optional_extension(const char *feature);
/* Whether the GPU, which has Vulkan 1.2, has the features that stand for the extension. */
bool replay_optional_here(const struct replay_instance *instance, uint32_t number);
/* Switches on the features of all extensions in `set` (bit n: number n), in the chain of a device's create info. */
enum lap_status replay_optional_enable(struct replay *r, uint32_t set, VkBaseOutStructure **chain) LAP_MUST_CHECK;

#endif

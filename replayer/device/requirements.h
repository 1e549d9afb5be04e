/* SPDX-License-Identifier: MIT */
/* requirements: matches a recorded device with this GPU. gpu_choice.h chooses the GPU. One thread. */
#ifndef LAP_REPLAYER_DEVICE_REQUIREMENTS_H
#define LAP_REPLAYER_DEVICE_REQUIREMENTS_H

#include "replayer/core/device.h"

/* How the replay does without a feature that the GPU lacks: a static sentence without its subject. NULL: it can't. */
typedef const char *(*replay_provides_fn)(const struct replay *r, const char *feature);

/* Makes *out, in the arena, the supported part of the recorded create info: extensions, features and chain, but not
 * queues. LAP_ERROR_UNSUPPORTED with one sentence that names all that the trace needs and the GPU lacks. With
 * --force, and for a report, *out does without these, and the log or the report lists them. provides: asked beside
 * replay_extension_emulation; may be NULL. */
enum lap_status replay_requirements_match(struct replay *r, struct replay_instance *instance,
                                          const VkDeviceCreateInfo *recorded, replay_provides_fn provides,
                                          VkDeviceCreateInfo *out) LAP_MUST_CHECK;

/* For a device with an older Vulkan than the program requested: LAP_ERROR_UNSUPPORTED with a sentence that names all
 * commands of the trace that the device lacks. Reads the trace once. With --force, and for a report, it checks
 * nothing. */
enum lap_status replay_requirements_commands(struct replay *r, const struct replay_device *dev) LAP_MUST_CHECK;

#endif

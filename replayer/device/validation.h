/* SPDX-License-Identifier: MIT */
/*
 * validation: a replay under the Khronos validation layer (--validate).
 *
 * The replay creates its instances with the layer and a messenger. It writes each message with the packet, and within a
 * command buffer the command, at which the layer reported it. Objects have their indices in the trace. It writes the
 * first messages of each VUID at once, since a driver may crash at the next call, and counts all.
 *
 * The caller owns it, and it outlives the replay: the end of an instance can have messages, too. Such a replay uses one
 * thread. Messages may come from any thread; those of a driver's own threads have no position.
 */
#ifndef LAP_REPLAYER_DEVICE_VALIDATION_H
#define LAP_REPLAYER_DEVICE_VALIDATION_H

#include <stdio.h>

#include "replayer/core/handles.h"

#define REPLAY_VALIDATION_SHOWN 10u /* messages of one VUID, where nobody asks for another number */

struct replay_validation;

/* Checks of the layer beside its defaults. */
struct replay_validation_options {
    bool gpu;             /* shaders, while they run (GPU-assisted validation) */
    bool synchronization; /* hazards between accesses */
    uint64_t shown;       /* messages of one VUID that are written */
    FILE *json;           /* messages go there, one JSON object a line; NULL: to the log */
};

/* NULL without memory. */
struct replay_validation *replay_validation_create(const struct replay_validation_options *options);
void replay_validation_destroy(struct replay_validation *validation); /* also for NULL */

/* Sets the replay whose positions messages get, after the loader is open. LAP_ERROR_UNSUPPORTED: the layer is not
 * installed. r outlives its instances. */
enum lap_status replay_validation_begin(struct replay_validation *validation, struct replay *r) LAP_MUST_CHECK;

/* Call it before an instance is created: adds the layer and its settings to info. info's chain must be empty, and
 * its pointers are valid until the next call. Returns the extensions that info must name, *out_count of them. */
const char *const *replay_validation_prepare(struct replay_validation *validation, VkInstanceCreateInfo *info,
                                             uint32_t *out_count);
/* Call it after an instance was created. LAP_ERROR_UNSUPPORTED: the layer has no messenger. */
enum lap_status replay_validation_listen(struct replay_validation *validation, VkInstance instance,
                                         VkDebugUtilsMessengerEXT *out_messenger) LAP_MUST_CHECK;
/* Call it before the instance is destroyed; also for VK_NULL_HANDLE. */
void replay_validation_leave(const struct replay *r, VkInstance instance, VkDebugUtilsMessengerEXT messenger);

/* Writes how many messages of each VUID there were: to the log and a line to stdout, or as the last JSON object.
 * LAP_ERROR_MEMORY: some messages were lost. *out_errors: messages that are errors. */
enum lap_status replay_validation_report(struct replay_validation *validation, const struct lap_log *log,
                                         uint64_t *out_errors) LAP_MUST_CHECK;

#endif

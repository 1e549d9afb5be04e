/* SPDX-License-Identifier: MIT */
/*
 * probe_plan: what edits with probes (inspector/twin/probes.h) have in common: the features that these want, and how a
 * command of a program runs with one. One thread.
 */
#ifndef LAP_INSPECTOR_QUESTION_PROBE_PLAN_H
#define LAP_INSPECTOR_QUESTION_PROBE_PLAN_H

#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "base/arena.h"
#include "base/status.h"
#include "inspector/state/bound_walk.h"
#include "inspector/twin/probes.h"
#include "trace/read/edits.h"
#include "trace/read/reader.h"

/* Devices of the trace get the features with which shaders of these stages store and count. For an edit of its own, in
 * front of the one with probes. */
enum lap_status edit_enable_stores(const struct lap_reader *trace, VkShaderStageFlags stages,
                                   struct lap_edits *edits) LAP_MUST_CHECK;

/* A draw or a dispatch: its pipeline; *out_why: why it can't run with a probe, or NULL. Fills the layout, the set and
 * the pipeline of `probe`, and the rebinds of `use`, which the arena holds. LAP_ERROR_MEMORY. */
enum lap_status probe_plan_command(const struct bound_visit *visit, struct lap_arena *arena, struct probe *probe,
                                   struct probe_use *use, const char **out_why) LAP_MUST_CHECK;

#endif

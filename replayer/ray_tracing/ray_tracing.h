/* SPDX-License-Identifier: MIT */
/*
 * ray_tracing: shader group handles in a replay (docs/memory.md, "Shader binding tables").
 *
 * A program copies handles, bytes of the recorded driver, into binding tables in its own memory. This memory keeps its
 * recorded contents. Where this device's handles differ, or it wants other sizes or alignments, the device copies the
 * tables before each command that traces rays, with the handles of the bound pipeline in place of the recorded ones.
 * The copies belong to the command buffer.
 *
 * struct replay_ray_tracing begins with the device's first ray-tracing pipeline. One thread.
 */
#ifndef LAP_REPLAYER_RAY_TRACING_RAY_TRACING_H
#define LAP_REPLAYER_RAY_TRACING_RAY_TRACING_H

#include "replayer/core/device.h"
#include "replayer/format/format_copies.h"

/* ---- group_handles.c ---- */

/* Before a ray-tracing pipeline is made: refuses features that this device lacks, which a driver may not notice. */
enum lap_status replay_ray_tracing_check(struct replay *r, struct replay_device *dev,
                                         const VkRayTracingPipelineCreateInfoKHR *info) LAP_MUST_CHECK;
/* After a ray-tracing pipeline was made, a library too. flags: the pipeline's, from either place. */
enum lap_status replay_ray_tracing_created(struct replay *r, struct replay_device *dev, VkPipeline pipeline,
                                           const VkRayTracingPipelineCreateInfoKHR *info,
                                           VkFlags64 flags) LAP_MUST_CHECK;
/* Before the pipeline is destroyed. Nothing is done for other pipelines. */
void replay_ray_tracing_forget_pipeline(struct replay_device *dev, VkPipeline pipeline);
/* Notes the size of a buffer for binding tables: the largest possible size of tables whose size only the device
 * knows. */
void replay_ray_tracing_note_buffer(struct replay_device *dev, VkDeviceSize bytes);
/* After the device's last object; also without ray tracing. Logs the counts of copies. */
void replay_ray_tracing_finish(struct replay *r, struct replay_device *dev);

/* ---- binding_table.c ---- */

/* Of the command buffer that is being recorded. */
struct replay_ray_tracing_state {
    VkCommandBuffer commands;
    VkPipeline pipeline; /* bound for ray tracing; null: none */
};

/* For devices with dev->rays.tracing. Records a command that traces rays with copied binding tables. LAP_END: another
 * command, or nothing is to be copied: the caller records it unchanged. */
enum lap_status replay_ray_tracing_record(struct replay *r, struct replay_device *dev,
                                          struct replay_ray_tracing_state *state,
                                          const struct replay_format_bound_state *bound, void *args) LAP_MUST_CHECK;
/* The command buffer is begun again; it ends. Also without ray tracing. */
void replay_ray_tracing_reuse(struct replay_device *dev, VkCommandBuffer commands);
void replay_ray_tracing_forget(struct replay_device *dev, VkCommandBuffer commands);

#endif

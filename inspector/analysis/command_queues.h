/* SPDX-License-Identifier: MIT */
/*
 * command_queues: the queues that the arguments of one command want, beyond gen_command_queues, which holds for every
 * use of the command. Sources: "Supported Pipeline Stage Flags" of the specification, and the valid usage of the
 * commands that names VK_QUEUE_GRAPHICS_BIT or VK_QUEUE_COMPUTE_BIT. Depends on no trace.
 */
#ifndef LAP_INSPECTOR_ANALYSIS_COMMAND_QUEUES_H
#define LAP_INSPECTOR_ANALYSIS_COMMAND_QUEUES_H

#include <stdint.h>
#include <vulkan/vulkan_core.h>

/* The stages that the command (enum gen_command) uses; args: its struct gen_args_…. */
VkPipelineStageFlags2 command_queues_stages(uint32_t command, const void *args);
VkPipelineStageFlags2 command_queues_submit_stages(const VkSubmitInfo *submits, uint32_t count);
VkPipelineStageFlags2 command_queues_submit2_stages(const VkSubmitInfo2 *submits, uint32_t count);

/* The query pool or update template that the command uses, or that it creates, as a key; 0: none. */
uint64_t command_queues_named(uint32_t command, const void *args);

/* Sets of kinds, each of which is wanted, as bits of lap_queue_kinds_set; 0: any queue will do. */

/* By commands that name the pool or template that this call creates. */
uint64_t command_queues_of_created(uint32_t command, const void *args);
/* By the command; `named`: the same for command_queues_named, from its creation. */
uint64_t command_queues_of_arguments(uint32_t command, const void *args, uint64_t named);

#endif

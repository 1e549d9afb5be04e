/* SPDX-License-Identifier: MIT */
/*
 * probes: pipelines with other code in one stage, and with one more descriptor set, for single commands of command
 * buffers that are recorded differently (twins.h). The set has a storage buffer, where the code writes.
 *
 * A twin of a pipeline is made right behind its original, and the twin of a layout behind that, where all that they
 * name lives, but for shader modules: those are made anew, since programs destroy them early, and a replay that waits
 * makes twins late. The sets below the new one stay bound: both layouts are compatible for these, since they have the
 * same set layouts and ranges of push constants (the specification's "Pipeline Layout Compatibility"). Nothing destroys
 * what is new. One thread.
 */
#ifndef LAP_INSPECTOR_TWIN_PROBES_H
#define LAP_INSPECTOR_TWIN_PROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <vulkan/vulkan_core.h>

#include "base/map.h"
#include "base/status.h"
#include "inspector/analysis/trace_pass.h"
#include "inspector/twin/twins.h"

/* Dynamic offsets are multiples of it: no device wants more (the limit minStorageBufferOffsetAlignment). */
#define PROBE_ALIGNMENT 256u

/* A pipeline of a recorded program, for graphics or compute. */
struct probe {
    uint64_t pipeline, layout;
    VkShaderStageFlagBits stage;
    const uint32_t *words; /* the other code of the stage */
    size_t bytes;
    uint32_t set; /* the number of the new set: how many the layout has */
};

/* A descriptor set that is bound, and that the new one disturbs. */
struct probe_rebind {
    uint64_t layout, descriptor_set;
    uint32_t set;
    const uint32_t *offsets; /* dynamic ones */
    uint32_t offset_count;
};

/* A command that runs with a probe. */
struct probe_use {
    size_t probe;
    uint64_t at;    /* of its region in the buffer */
    uint64_t bytes; /* that are filled with zeros when its command buffer begins; 0: another use has the same region */
    const struct probe_rebind *rebinds;
    size_t rebind_count;
};

struct probe_twin {
    uint64_t pipeline_ticket, layout_ticket; /* where the originals are made */
    uint32_t index;                          /* in that call */
    uint64_t pipeline, layout;               /* the twins */
};

struct probes {
    const struct probe *wanted;
    size_t count;
    struct probe_twin *twins; /* [count] */
    uint64_t last_module, last_pipeline, last_layout, last_set_layout, last_pool, last_set;
    uint64_t set_layout, set;
    struct lap_map modules; /* the tickets of the calls that make them, by number */
};

enum lap_status probes_init(struct probes *probes, const struct probe *wanted, size_t count) LAP_MUST_CHECK;
void probes_finish(struct probes *probes); /* also of a zeroed one */

/* For the list of a trace_visitor's commands. */
#define PROBES_COMMANDS                                                                                                \
    GEN_vkCreateShaderModule, GEN_vkCreateGraphicsPipelines, GEN_vkCreateComputePipelines,                             \
        GEN_vkCreateRayTracingPipelinesKHR, GEN_vkCreateRayTracingPipelinesNV, GEN_vkCreatePipelineLayout,             \
        GEN_vkCreateDescriptorSetLayout, GEN_vkCreateDescriptorPool, GEN_vkAllocateDescriptorSets
/* A visited call; any other one changes nothing. LAP_ERROR_MEMORY. */
enum lap_status probes_see(struct probes *probes, const struct trace_call *call) LAP_MUST_CHECK;

/* Where packets go that all twins need. */
struct probes_place {
    uint64_t device, device_ticket;
    uint64_t first; /* the packet with the first recording: the buffer is made behind it */
    uint64_t buffer, range;
};
/* LAP_ERROR_UNSUPPORTED: nothing makes the pipeline, or its layout. */
enum lap_status probes_put(struct probes *probes, struct twins *twins, const struct probes_place *place) LAP_MUST_CHECK;

/* When its command buffer begins: zeros for a use, and a wait for all of them. */
enum lap_status probes_fill(struct twins *twins, const struct probe_use *use, uint64_t buffer) LAP_MUST_CHECK;
enum lap_status probes_wait(struct twins *twins) LAP_MUST_CHECK;
/* In front of the command, and behind it. */
enum lap_status probes_bind(const struct probes *probes, struct twins *twins,
                            const struct probe_use *use) LAP_MUST_CHECK;
enum lap_status probes_restore(const struct probes *probes, struct twins *twins,
                               const struct probe_use *use) LAP_MUST_CHECK;

#endif

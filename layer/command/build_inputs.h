/* SPDX-License-Identifier: MIT */
/*
 * build_inputs: copies of the build inputs of acceleration structures, where parts of the run may be recorded. A part
 * begins with structures that it builds again (docs/parts.md), and by then the program may have overwritten or
 * destroyed the inputs. So each build command is followed by commands that copy its inputs, in the program's own
 * command buffer. The copies lie in memory of the layer (layer/memory/copies.h) and live as long as the recorded
 * commands or a structure that they built.
 *
 * Command buffers remember steps, which a submit applies. An update counts as a build from its inputs, and a copy of a
 * structure has the inputs of its source. Without parts nothing happens here.
 */
#ifndef LAP_LAYER_BUILD_INPUTS_H
#define LAP_LAYER_BUILD_INPUTS_H

#include "layer/core/layer.h"
#include "layer/memory/copies.h"

/* One of the builds of a command. Shared by the recorded commands and by structures. */
struct layer_build {
    atomic_uint users;
    struct layer_device *dev;
    const char *fault;   /* why it can't be repeated: a static sentence; NULL: it can */
    uint64_t executions; /* number submitted, each with inputs of its own; under submit.mutex */
    bool in_trace;       /* layer/part/state_structures.c */
    struct layer_copy copy;
    VkAccelerationStructureTypeKHR type;
    VkBuildAccelerationStructureFlagsKHR flags;
    uint32_t geometry_count;
    VkAccelerationStructureBuildRangeInfoKHR *ranges; /* of each geometry, without offsets */
    VkAccelerationStructureGeometryKHR geometries[];  /* the addresses are those of the copies */
};

struct layer_structure_step {
    uint64_t structure, index; /* handle and index of the record that is written */
    uint64_t source;           /* the handle of the copied structure; 0: it is built */
    struct layer_build *build; /* NULL: it is copied, or can't be built again */
    const char *fault;         /* why it can't be built again */
};

/* The builds of a command that was just recorded. ranges NULL: they are on the device. */
void layer_builds_note(struct layer_cmdbuf *cb, uint32_t count,
                       const VkAccelerationStructureBuildGeometryInfoKHR *infos,
                       const VkAccelerationStructureBuildRangeInfoKHR *const *ranges);
void layer_builds_note_copy(struct layer_cmdbuf *cb, VkAccelerationStructureKHR from, VkAccelerationStructureKHR to);
/* Another command writes the structure. why: a static sentence. */
void layer_builds_note_lost(struct layer_cmdbuf *cb, VkAccelerationStructureKHR structure, const char *why);

/* A secondary command buffer is executed. False: out of memory. */
bool layer_builds_append(struct layer_cmdbuf *cb, const struct layer_cmdbuf *secondary);
/* When a command buffer goes back to the initial state, and when it is freed. */
void layer_builds_reset(struct layer_cmdbuf *cb);
void layer_builds_finish(struct layer_cmdbuf *cb);

/* When it is submitted, under dev->submit.mutex. */
void layer_builds_apply(struct layer_device *dev, const struct layer_cmdbuf *cb);

/* Why a structure can't be built again; NULL: it can, or it holds nothing. Under dev->submit.mutex. */
const char *layer_structure_fault(const struct layer_structure *structure);

#endif

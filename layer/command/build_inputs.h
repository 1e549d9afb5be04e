/* SPDX-License-Identifier: MIT */
/*
 * build_inputs: what acceleration structures are built from, where parts of the run may be recorded. A part begins with
 * structures that it builds again (docs/parts.md), and by then the program may have overwritten or destroyed what it
 * built them from. So commands that copy the inputs follow each command that builds, in the program's own command
 * buffer. The copies lie in memory of the layer's own (layer/memory/copies.h) for as long as the recorded commands or
 * a structure that was built by them.
 *
 * Command buffers remember steps, which a submit applies. An update counts as a build from its inputs, and a structure
 * that is copied from another one has what that one was built from. Without parts nothing happens here.
 */
#ifndef LAP_LAYER_BUILD_INPUTS_H
#define LAP_LAYER_BUILD_INPUTS_H

#include "layer/core/layer.h"
#include "layer/memory/copies.h"

/* One of the builds of a command. Shared by the recorded commands and by structures. */
struct layer_build {
    atomic_uint users;
    struct layer_device *dev;
    const char *fault;   /* why nobody can do it again: a static sentence; NULL: it can be done */
    uint64_t executions; /* so many were submitted, each with inputs of its own; under submit_mutex */
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
    uint64_t source;           /* the handle of what is copied there; 0: it is built */
    struct layer_build *build; /* NULL: it is copied, or nobody can build it again */
    const char *fault;         /* then, why */
};

/* The builds of a command that was just recorded. ranges NULL: they are on the device. */
void layer_builds_note(struct layer_cmdbuf *cb, uint32_t count,
                       const VkAccelerationStructureBuildGeometryInfoKHR *infos,
                       const VkAccelerationStructureBuildRangeInfoKHR *const *ranges);
void layer_builds_note_copy(struct layer_cmdbuf *cb, VkAccelerationStructureKHR from, VkAccelerationStructureKHR to);
/* Something else writes the structure. why: a static sentence. */
void layer_builds_note_lost(struct layer_cmdbuf *cb, VkAccelerationStructureKHR structure, const char *why);

/* A secondary command buffer is executed. False: out of memory. */
bool layer_builds_append(struct layer_cmdbuf *cb, const struct layer_cmdbuf *secondary);
/* When a command buffer goes back to the initial state, and when it is freed. */
void layer_builds_reset(struct layer_cmdbuf *cb);
void layer_builds_finish(struct layer_cmdbuf *cb);

/* When it is submitted, under dev->submit_mutex. */
void layer_builds_apply(struct layer_device *dev, const struct layer_cmdbuf *cb);

/* Why a structure can't be built again; NULL: it can, or it holds nothing. Under dev->submit_mutex. */
const char *layer_structure_fault(const struct layer_structure *structure);

#endif

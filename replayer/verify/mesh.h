/* SPDX-License-Identifier: MIT */
/* mesh: prints the vertices of a draw (inspector/question/mesh_values.h): as a table, as lines of JSON, as CSV, or as a
 * Wavefront OBJ file. One thread. */
#ifndef LAP_REPLAYER_VERIFY_MESH_H
#define LAP_REPLAYER_VERIFY_MESH_H

#include "replayer/core/replay.h"

/* Where the replay ends. A replay that has nothing to play for it needs none: then r is only open. */
enum lap_status replay_print_mesh(struct replay *r) LAP_MUST_CHECK;

#endif

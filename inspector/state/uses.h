/* SPDX-License-Identifier: MIT */
/*
 * uses: the uses of one object in a trace, also through objects that are made of it: an image through its views and
 * framebuffers, memory through buffers and images that are bound in it, and all of them through descriptors. One pass
 * over the trace. One thread.
 */
#ifndef LAP_INSPECTOR_STATE_USES_H
#define LAP_INSPECTOR_STATE_USES_H

#include "inspector/state/use_walk.h"

#define USES_MOST_THROUGH 8u /* objects, one made of another */

/* through: the objects from the wanted one to the used one, without the wanted one, and behind them the descriptor set;
 * empty if the wanted object itself is named. An error ends the walk. */
typedef enum lap_status (*uses_visit_fn)(void *user, const struct use *use, const struct use_object *through,
                                         size_t through_count);

/* progress: as in struct use_visitor. */
enum lap_status uses_of(const struct lap_reader *trace, struct use_object object,
                        const struct use_walk_options *options, uses_visit_fn visit,
                        void (*progress)(void *user, const struct lap_packet *packet), void *user) LAP_MUST_CHECK;

#endif

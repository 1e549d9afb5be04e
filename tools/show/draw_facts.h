/* SPDX-License-Identifier: MIT */
/*
 * draw_facts: facts in few words about what a draw finds bound: names of objects as calls so far gave them, the images
 * that its descriptors name, the topology of its pipeline. One thread.
 */
#ifndef LAP_TOOLS_SHOW_DRAW_FACTS_H
#define LAP_TOOLS_SHOW_DRAW_FACTS_H

#include <cjson/cJSON.h>

#include "base/map.h"
#include "tools/show/bound_print.h"

struct lap_draw_names {
    struct lap_map texts; /* by type and number */
};

void lap_draw_names_init(struct lap_draw_names *names);
void lap_draw_names_finish(struct lap_draw_names *names);

/* The calls that lap_draw_names_see wants: a list that ends with 0. */
extern const uint16_t lap_draw_names_calls[];
/* A visited call; any other one changes nothing. LAP_ERROR_MEMORY. */
enum lap_status lap_draw_names_see(struct lap_draw_names *names, const struct trace_call *call) LAP_MUST_CHECK;
/* For struct lap_bound_names; user: struct lap_draw_names. */
const char *lap_draw_names_find(void *user, uint32_t type, uint64_t index);

/* Adds the members "textures", the first few images that descriptors of its bind point name, and "topology" to an
 * object. The visit has descriptors. LAP_ERROR_MEMORY, or an error of a decoder. */
enum lap_status lap_draw_facts_json(cJSON *object, const struct bound_visit *visit, enum bound_point point,
                                    struct lap_draw_names *names) LAP_MUST_CHECK;

#endif

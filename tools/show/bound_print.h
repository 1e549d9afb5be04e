/* SPDX-License-Identifier: MIT */
/*
 * bound_print: writes what a command of a command buffer finds bound (inspector/state/bound.h), as text and as JSON.
 */
#ifndef LAP_TOOLS_SHOW_BOUND_PRINT_H
#define LAP_TOOLS_SHOW_BOUND_PRINT_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stdio.h>

#include "inspector/position/find.h"
#include "inspector/state/bound_walk.h"
#include "tools/show/text.h"

/* The names of objects. */
struct lap_bound_names {
    const char *(*find)(void *user, uint32_t type, uint64_t index); /* NULL: it has none */
    void *user;
};

/* Lines, the command first. names: NULL: none. LAP_ERROR_MEMORY, or an error of a decoder. */
enum lap_status lap_bound_text(FILE *out, bool colour, const struct bound_visit *visit,
                               const struct lap_bound_names *names) LAP_MUST_CHECK;

/* Adds the members to an object; names: and the names. The same errors. */
enum lap_status lap_bound_json(cJSON *object, const struct bound_visit *visit,
                               const struct lap_bound_names *names) LAP_MUST_CHECK;

/* The position of the command that began the render pass. */
const char *lap_bound_pass_position(const struct bound_visit *visit, char out[POSITION_TEXT_BYTES]);

/* ---- shared by bound_text.c and bound_json.c ---- */

/* What is shown: of a draw, a dispatch and a ray trace only what they find. */
bool lap_bound_shows_point(const struct bound_visit *visit, unsigned point);
bool lap_bound_shows_graphics(const struct bound_visit *visit);
bool lap_bound_shows_shader(const struct bound_visit *visit, unsigned bit);
/* Whether the layout of the bound pipeline, if that is known, has another set there. */
bool lap_bound_is_incompatible(const struct bound *bound, const struct bound_pipeline *point, uint32_t number);
/* "VkBuffer:12", or "VK_NULL_HANDLE". */
const char *lap_bound_handle(uint32_t type, uint64_t index, char out[LAP_TEXT_HANDLE_MAX]);
uint32_t lap_bound_shader_type(void); /* of VkShaderEXT, which older registries lack */

#endif

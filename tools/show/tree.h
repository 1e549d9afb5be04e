/* SPDX-License-Identifier: MIT */
/*
 * tree: writes the contents of a trace (inspector/position/tree.h) as text or as one JSON object. One thread.
 */
#ifndef LAP_TOOLS_SHOW_TREE_H
#define LAP_TOOLS_SHOW_TREE_H

#include <stdbool.h>
#include <stdio.h>

#include "inspector/position/tree.h"

struct lap_tree_printer {
    FILE *out;
    bool colour;               /* text only */
    const struct position *at; /* NULL: the whole trace */
    uint64_t frames;           /* of the trace; what is behind the last one stands where one more would */
    uint64_t nodes, submits, buffers;
    struct position_counts counts; /* of all frames */
    unsigned depth;                /* JSON: of the last node */
    uint64_t first, last;          /* the wanted children, from 1 */
    uint64_t children;             /* of the position; for the end */
};

/* "render pass". */
const char *lap_tree_kind(enum tree_kind kind);
/* enum gen_handle_type of its object; GEN_HANDLE_NONE: it has none. */
uint32_t lap_tree_object_type(enum tree_kind kind);

/* user: the printer. */
enum lap_status lap_tree_text(void *user, const struct tree_node *node) LAP_MUST_CHECK;
void lap_tree_text_end(struct lap_tree_printer *printer); /* on stderr: the children, or the sum of a whole trace */

void lap_tree_json_begin(struct lap_tree_printer *printer);
enum lap_status lap_tree_json(void *user, const struct tree_node *node) LAP_MUST_CHECK;
void lap_tree_json_end(struct lap_tree_printer *printer);

#endif

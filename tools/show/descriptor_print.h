/* SPDX-License-Identifier: MIT */
/*
 * descriptor_print: writes the contents of a descriptor set (inspector/state/descriptors.h), as text and as JSON.
 */
#ifndef LAP_TOOLS_SHOW_DESCRIPTOR_PRINT_H
#define LAP_TOOLS_SHOW_DESCRIPTOR_PRINT_H

#include <cjson/cJSON.h>
#include <stdio.h>

#include "inspector/state/creation_facts.h"
#include "inspector/state/descriptors.h"
#include "tools/show/bound_print.h"

/* A line for each binding, and one for each descriptor of an array. most: descriptors that are shown, then a line says
 * how many are not. names: NULL: none. */
void lap_descriptors_text(FILE *out, const struct descriptor_set *set, const struct creation_facts *facts,
                          const struct lap_bound_names *names, uint64_t most);

/* An array with an object for each binding; NULL: out of memory. */
cJSON *lap_descriptors_json(const struct descriptor_set *set, const struct creation_facts *facts, uint64_t most);

/* The descriptors of commands that push into one set, by the binding and the element that they are written to. Those
 * past a binding's end stay with it: nobody knows here where it ends. Blocks of bytes are left out. */
struct lap_pushed;
struct lap_pushes { /* zeroed at first; the caller frees items */
    struct lap_pushed *items;
    size_t count, capacity;
};
/* The next command. LAP_ERROR_MEMORY. */
enum lap_status lap_pushes_see(struct lap_pushes *pushes, uint32_t command, const void *args) LAP_MUST_CHECK;
/* As lap_descriptors_json, of those that no later command writes. Sorts the items. */
cJSON *lap_pushes_json(struct lap_pushes *pushes, const struct creation_facts *facts, uint64_t most);

#endif

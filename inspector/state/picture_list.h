/* SPDX-License-Identifier: MIT */
/*
 * picture_list: the images that a replay writes as pictures at a place of a trace. As text, a line for each:
 *
 *   NAME image INDEX ASPECT LEVEL LAYER LAYOUT QUEUE
 *
 * NAME becomes a part of a file's name: up to 31 letters, digits, '-', '_' and '.', which is not the first; no two are
 * the same. The rest is as in contents.h; LAYER is also a slice of a volume. One thread.
 */
#ifndef LAP_INSPECTOR_STATE_PICTURE_LIST_H
#define LAP_INSPECTOR_STATE_PICTURE_LIST_H

#include "inspector/state/contents.h"

struct picture_target {
    char name[32];
    struct content image; /* kind CONTENT_IMAGE */
};

struct picture_list {
    struct picture_target *at;
    size_t count, capacity;
};

/* LAP_ERROR_ARGUMENT: the name can't be one, or is in the list; LAP_ERROR_MEMORY. */
enum lap_status picture_list_add(struct picture_list *list, const char *name,
                                 const struct content *image) LAP_MUST_CHECK;
/* Adds the lines of a list. LAP_ERROR_ARGUMENT with the invalid line, LAP_ERROR_IO, LAP_ERROR_MEMORY. */
enum lap_status picture_list_read(FILE *from, struct picture_list *list) LAP_MUST_CHECK;
void picture_list_finish(struct picture_list *list); /* also for a zeroed one */

#endif

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

#include "inspector/position/position.h"
#include "inspector/state/contents.h"

/* Texels that are read from a buffer, into which the replay has copied them, without padding. */
struct picture_copied {
    VkFormat format; /* VK_FORMAT_UNDEFINED: they are read from the image, where the replay ends */
    uint32_t width, height;
    uint64_t at, row_bytes; /* at: in the buffer */
    bool is_volume;
    size_t before; /* the number in the list, plus 1, of the same image in front of the command; 0: none */
};

struct picture_target {
    char name[32];
    struct content image;     /* kind CONTENT_IMAGE */
    struct position position; /* the command behind which it is; count 0: all of the list are in one place */
    uint32_t command;         /* enum gen_command: of that one */
    struct picture_copied copied;
    bool is_hidden; /* no picture is written: another one is compared with it */
};

struct picture_list {
    struct picture_target *at;
    size_t count, capacity;
    uint64_t buffer;      /* of what is copied */
    uint64_t first, next; /* commands whose pictures other replays have had, and which this one ends with; next 0: it
                             has the last one's */
};

/* Whether a list of names with commas between them has this one. */
bool picture_names_have(const char *names, const char *name);

/* LAP_ERROR_MEMORY. */
enum lap_status picture_list_append(struct picture_list *list, const struct picture_target *target) LAP_MUST_CHECK;
/* LAP_ERROR_ARGUMENT: the name can't be one, or is in the list; LAP_ERROR_MEMORY. */
enum lap_status picture_list_add(struct picture_list *list, const char *name,
                                 const struct content *image) LAP_MUST_CHECK;
/* Adds the lines of a list. LAP_ERROR_ARGUMENT with the invalid line, LAP_ERROR_IO, LAP_ERROR_MEMORY. */
enum lap_status picture_list_read(FILE *from, struct picture_list *list) LAP_MUST_CHECK;
void picture_list_finish(struct picture_list *list); /* also for a zeroed one */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * store: the origins of bytes, without the bytes. A store stands for a program's memory, or for a subresource of an
 * image, in texels as copies pack them. Each run of bytes has the event that wrote it, and a place in the bytes of that
 * event. A copy takes over the runs of its source, so a later answer follows no copies. One thread.
 */
#ifndef LAP_INSPECTOR_MEMORY_STORE_H
#define LAP_INSPECTOR_MEMORY_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tree.h"
#include "inspector/position/position.h"

enum memory_kind {
    MEMORY_HOST,     /* the bytes of a packet: lapilliUpdateBuffer, lapilliWriteTexels and so on */
    MEMORY_UPDATE,   /* the bytes of a vkCmdUpdateBuffer */
    MEMORY_FILL,     /* four bytes again and again */
    MEMORY_DEVICE,   /* the device computed them */
    MEMORY_IMAGE,    /* of a memory: they are an image's, in a layout that only a driver knows */
    MEMORY_UNDEFINED /* somebody may have written them, or nobody keeps them */
};

/* The writer of some bytes. */
struct memory_event {
    uint32_t references;
    enum memory_kind kind;
    uint32_t command;         /* enum gen_command */
    uint32_t fill;            /* as little-endian bytes */
    uint64_t ticket;          /* of the packet, or of the submit */
    struct position position; /* count 0: a call */
    uint64_t block;           /* the blob with the command, and its number in there */
    uint32_t index;
    uint32_t type;   /* enum gen_handle_type; GEN_HANDLE_NONE: there is no object */
    uint64_t object; /* the source of a copy; the pipeline; the image */
    uint64_t more;   /* commands of the same render pass that wrote, too, before it */
};

struct memory_segment {
    struct lap_tree_node node;
    struct memory_event *origin;
    struct memory_event *copy; /* the last command that copied it; NULL: none did */
    uint64_t skip;             /* in the bytes of the origin */
    uint64_t serial;           /* when it was put here */
};

struct memory_store {
    struct lap_tree_node *root; /* of struct memory_segment, which do not overlap */
    size_t *count;              /* of the segments of all stores */
    uint64_t end;               /* bytes behind it are not kept; UINT64_MAX: there is no end */
    uint64_t serial;            /* of its making */
};

#define MEMORY_MOST_SEGMENTS ((size_t)1 << 23) /* of all stores */

struct memory_event *memory_event_new(enum memory_kind kind); /* with one reference; NULL: no memory */
void memory_event_release(struct memory_event *event);        /* NULL is fine */

void memory_store_finish(struct memory_store *store);

/* The bytes of [begin, end) are those of the event from `skip` on. copy: may be NULL. LAP_ERROR_MEMORY,
 * LAP_ERROR_LIMIT. */
enum lap_status memory_store_put(struct memory_store *store, uint64_t begin, uint64_t end, struct memory_event *origin,
                                 struct memory_event *copy, uint64_t skip, uint64_t serial) LAP_MUST_CHECK;
/* Nobody wrote [begin, end). */
enum lap_status memory_store_clear(struct memory_store *store, uint64_t begin, uint64_t end) LAP_MUST_CHECK;

/* The part of a run that lies in [begin, end); NULL: nobody wrote from `begin` to *out_end. */
const struct memory_segment *memory_store_at(const struct memory_store *store, uint64_t begin, uint64_t end,
                                             uint64_t *out_end);

#endif

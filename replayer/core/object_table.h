/* SPDX-License-Identifier: MIT */
/*
 * object_table: the live objects of one type by their index in the trace. handles.h has the operations.
 */
#ifndef LAP_REPLAYER_CORE_OBJECT_TABLE_H
#define LAP_REPLAYER_CORE_OBJECT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gen_ids.h"
#include "trace/format/decode.h"

struct replay_references;

/* One live object. */
struct replay_object {
    uint64_t live;   /* 0: dead or not yet made */
    uint64_t parent; /* index of the pool or swapchain with which it ends; 0: none */
    void *owner;     /* struct replay_instance * or struct replay_device *, by the command that created it */
    void *record;    /* the type's own data (struct replay_buffer *, ...); its destroy function frees it */
    uint64_t order;  /* when it was added: at the end the newest are destroyed first */
    bool secondary;  /* of a command buffer: its level */
    union {          /* reference_check.h */
        struct replay_references *references; /* NULL: it uses no other object */
        uint64_t image;                       /* of an image view: its image's index; 0: none */
    };
};

/* A trace never uses an index twice and may have millions of short-lived objects, so a table has only those pages
 * that hold live objects. */
#define REPLAY_PAGE_OBJECTS LAP_LIVE_PAGE
/* Live objects of all types together: programs have some hundred thousand. */
#define REPLAY_MOST_OBJECTS ((uint64_t)1 << 22)
#define REPLAY_MOST_PAGES   ((uint64_t)1 << 18) /* 1 GiB: a long-lived object among short-lived ones occupies a page */

struct replay_object_page {
    struct lap_live_page handles; /* the objects' handles once more, for the decoders */
    struct replay_object objects[REPLAY_PAGE_OBJECTS];
    uint32_t alive;
    struct replay_object_page *next_spare; /* handles.c */
};

struct replay_table {
    struct lap_live_table
        live; /* its pages are the first members of replay_object_page; count: the highest index so far + 1 */
    uint64_t page_capacity;
    uint64_t *slots; /* handles.c: indices by live handle, open addressing */
    uint64_t slot_count, slot_used;
};

/* NULL when there is no such live object. */
static inline struct replay_object *replay_table_get(const struct replay_table *table, uint64_t index)
{
    struct lap_live_page *page = index < table->live.count ? table->live.pages[index / REPLAY_PAGE_OBJECTS] : NULL;
    struct replay_object *object =
        page ? &((struct replay_object_page *)page)->objects[index % REPLAY_PAGE_OBJECTS] : NULL;
    return object && object->live ? object : NULL;
}

/* The dispatchable object of the last command, if its index has one byte. */
struct replay_caller {
    uint16_t type; /* enum gen_handle_type; GEN_HANDLE_NONE: nothing is known */
    uint8_t index;
    uint64_t live;
    void *owner;
};

#endif

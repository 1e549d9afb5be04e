/* SPDX-License-Identifier: MIT */
/*
 * null: a Vulkan driver that draws nothing and watches its caller. Every command of the registry is there
 * (emit_null.py); a call counts, may be made to fail, and looks at each handle that it is given, in structures and
 * chains too: one that never was, is of another type, or was destroyed is told of on stderr. Handles are never used
 * twice. Memory that can be mapped is real pages; work is finished when it is submitted; queries answer what a large
 * GPU could; windows are those that nobody sees (VK_EXT_headless_surface).
 *
 * Nothing of the layer or the replayer is in it, so it can be built with any sanitizer, and stays as it is while they
 * change. Any thread may call; the driver itself has no lock, and counts with atomics, so a
 * race that ThreadSanitizer finds is its caller's.
 *
 * Environment:
 *   NULL_FAIL_CALL=N     the Nth call (from 1) of those that can fail, fails; N+ for that one and all behind it
 *   NULL_FAIL_COMMAND=X  counts calls of this command alone
 *   NULL_FAIL_CODE=K     with the Kth of the errors that the registry lists for the command (from 0, around the end)
 *   NULL_RATE_TEXELS=N   texels of attachments with shading rates cover NxN pixels (8)
 *   NULL_ABORT=1         what is told of aborts the process
 *   NULL_VIDEO=WAY       what it codes differs: codec, profile, version, extent, slots, format, memory (video.c)
 *   NULL_REPORT=1        at the end: how many calls there were that can fail, and how often something was told
 */
#ifndef LAP_TESTS_NULL_NULL_H
#define LAP_TESTS_NULL_NULL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "null_commands.h"

/* Behind a dispatchable handle; the loader writes its own pointer into the first member. They are never freed. */
struct null_object {
    uintptr_t loader;
    uint64_t id;
};

/* What the driver keeps of an object; freed with it. */
struct null_thing {
    uint64_t bytes; /* memory, buffers, images: their size; semaphores: the value; fences: 1 is signalled */
    void *pages;    /* memory that can be mapped */
    void *placed;   /* where the program has some of these pages instead: not NULL while it has mapped them there */
    uint64_t placed_offset, placed_bytes;
    bool imported;                  /* and is the program's */
    uint64_t address;               /* of a buffer */
    struct null_children *children; /* of pools */
};

/* A new handle's number: its type is in it. Takes the payload (struct null_thing from the heap, or NULL). */
uint64_t null_make(enum null_type type, void *payload);
/* The same of a dispatchable one. */
struct null_object *null_make_object(enum null_type type, void *payload);

/* Counts the call; anything but VK_SUCCESS is what it shall return. */
VkResult null_enter(enum null_command which);

/* Tells when `id` is not 0 and not alive or of another type; true when it is alive. */
bool null_look(enum null_command which, enum null_type type, uint64_t id);

/* The object ends. */
void null_end(enum null_command which, enum null_type type, uint64_t id);

/* NULL when there is none. Valid until the object ends. */
struct null_thing *null_thing_of(uint64_t id);

/* An address that nothing else has. */
uint64_t null_address(void);

#endif

/* SPDX-License-Identifier: MIT */
/* unchecked: why capture --verify=all left out what the device wrote (lapilliUnchecked). Numbers stay what they are. */
#ifndef LAP_CODEGEN_UNCHECKED_H
#define LAP_CODEGEN_UNCHECKED_H

enum lap_unchecked {
    LAP_UNCHECKED_UNDEFINED, /* the specification does not say what is there */
    LAP_UNCHECKED_SAMPLES,   /* several samples: no copy to a buffer */
    LAP_UNCHECKED_USAGE,     /* it can't be copied from */
    LAP_UNCHECKED_FORMAT,    /* multi-planar, or not known */
    LAP_UNCHECKED_SPARSE,    /* bound in pieces */
    LAP_UNCHECKED_SHARED,    /* others have lain in its memory, and not all of it was written since */
    LAP_UNCHECKED_QUEUE,     /* the queue can't copy this */
    LAP_UNCHECKED_PENDING,   /* work that waited for the host: when it was known to be done, other work was under way */
    LAP_UNCHECKED_LAYOUT,    /* aspects in different layouts, or between two queue families */
    LAP_UNCHECKED_FAILED,    /* the driver refused the copy */
    LAP_UNCHECKED_COUNT
};

static const char *const lap_unchecked_names[LAP_UNCHECKED_COUNT] = {
    [LAP_UNCHECKED_UNDEFINED] = "contents are undefined",
    [LAP_UNCHECKED_SAMPLES] = "several samples",
    [LAP_UNCHECKED_USAGE] = "can't be copied from",
    [LAP_UNCHECKED_FORMAT] = "format",
    [LAP_UNCHECKED_SPARSE] = "bound in pieces",
    [LAP_UNCHECKED_SHARED] = "shares memory",
    [LAP_UNCHECKED_QUEUE] = "queue can't copy it",
    [LAP_UNCHECKED_PENDING] = "other work was under way",
    [LAP_UNCHECKED_LAYOUT] = "layout",
    [LAP_UNCHECKED_FAILED] = "driver refused",
};

#endif

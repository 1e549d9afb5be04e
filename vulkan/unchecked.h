/* SPDX-License-Identifier: MIT */
/* unchecked: why capture --verify=all skipped contents that the device wrote, and --verify such as shaders stored
 * through addresses (lapilliUnchecked). The numbers never change. */
#ifndef LAP_VULKAN_UNCHECKED_H
#define LAP_VULKAN_UNCHECKED_H

enum lap_unchecked {
    LAP_UNCHECKED_UNDEFINED, /* the specification leaves the contents undefined */
    LAP_UNCHECKED_SAMPLES,   /* several samples, so no copy to a buffer */
    LAP_UNCHECKED_USAGE,     /* the usage does not allow a copy from it */
    LAP_UNCHECKED_FORMAT,    /* multi-planar, or unknown */
    LAP_UNCHECKED_SPARSE,    /* bound in pieces */
    LAP_UNCHECKED_SHARED,    /* its memory was shared with other objects, and not all of it was rewritten since */
    LAP_UNCHECKED_QUEUE,     /* the queue can't copy this */
    LAP_UNCHECKED_PENDING,   /* other work was in flight when this work, which waited for the host, was known to be
                                complete */
    LAP_UNCHECKED_LAYOUT,    /* aspects in different layouts, or between two queue families */
    LAP_UNCHECKED_FAILED,    /* the driver refused the copy */
    LAP_UNCHECKED_OPAQUE, /* it holds acceleration structures or their scratch memory, which differ between drivers */
    LAP_UNCHECKED_ADDRESSED, /* of older recordings: work may have written it by its address, and the host while it was
                                mapped */
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
    [LAP_UNCHECKED_OPAQUE] = "acceleration structures",
    [LAP_UNCHECKED_ADDRESSED] = "written by address while mapped",
};

#endif

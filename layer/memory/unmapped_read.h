/* SPDX-License-Identifier: MIT */
/*
 * unmapped_read: reads device writes in memory that the program has not mapped (docs/memory.md, "Bind"). In a replay a
 * new object there needs these bytes, and only the host can read them: so the layer maps the memory briefly.
 *
 * The program may map the memory on another thread at any time, and the driver allows one mapping. A thread that maps
 * or unmaps holds dev->map_mutex, from before the driver's call until memory tracking has been updated. Memory of a
 * payload is excepted, as this module does not map it.
 */
#ifndef LAP_LAYER_UNMAPPED_READ_H
#define LAP_LAYER_UNMAPPED_READ_H

#include "layer/core/layer.h"

/* After a bind to the memory and after it was unmapped. Does nothing if no bytes are missing, which is nearly always
 * so. Bytes that can't be read now (the memory is mapped, or mapping it fails) are read at a later map. Not with a
 * packet open, nor with a lock held that comes after map_mutex (docs/architecture.md, "Locks"). */
void layer_read_unmapped(struct layer_device *dev, VkDeviceMemory memory);

#endif

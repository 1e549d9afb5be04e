/* SPDX-License-Identifier: MIT */
/*
 * unmapped_read: reads what the device left in memory that the program has not mapped (docs/memory.md, "Bind"). A new
 * object there is to get it in a replay, and nobody but the host can read it: so the layer maps the memory for a
 * moment.
 *
 * The program may map the memory on another thread at any time, and the driver allows one mapping. Whoever maps or
 * unmaps holds dev->map_mutex, from before the driver's call until memory tracking knows; but for memory of a payload,
 * which the layer does not map.
 */
#ifndef LAP_LAYER_UNMAPPED_READ_H
#define LAP_LAYER_UNMAPPED_READ_H

#include "layer/core/layer.h"

/* After a bind to the memory and after it was unmapped. Does nothing where nothing is owed, which is nearly always.
 * What can't be read now (the memory is mapped, or mapping it fails) comes with a later map. Not with a packet open,
 * nor with a lock held that comes after map_mutex (docs/architecture.md, "Locks"). */
void layer_read_unmapped(struct layer_device *dev, VkDeviceMemory memory);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * records: how large the record of a handle type is and what goes with it when it ends.
 */
#ifndef LAP_LAYER_RECORDS_H
#define LAP_LAYER_RECORDS_H

#include "codegen/support/conditions.h"
#include "layer/layer.h"

struct layer_record_type {
    size_t bytes;                        /* 0: only the head */
    void (*finish)(struct lap_object *); /* frees what the record owns, not the record; NULL: nothing */
};

/* Types whose records belong to the descriptor, submit and swapchain topics (descriptor.c); NULL for the others. */
const struct layer_record_type *layer_topic_record_type(enum gen_handle_type type);

/* A record for a handle that a query returned: no second creation when it is known. */
struct lap_object *layer_object_find_or_add(struct layer_device *device, enum gen_handle_type type, uint64_t handle);
/* Frees all device-level records at vkDestroyDevice. */
void layer_objects_finish(struct layer_device *device);

struct layer_physical_device *layer_physical_device_add(struct layer_instance *instance, VkPhysicalDevice handle);
void layer_cmdbuf_finish(struct lap_object *object);
void layer_render_pass_finish(struct lap_object *object); /* the record is a struct cond_render_pass */

/* At vkDestroyDevice, before the driver's: what topics keep for a device. */
void layer_submit_finish(struct layer_device *device);
void layer_verify_finish(struct layer_device *device);

#endif

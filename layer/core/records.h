/* SPDX-License-Identifier: MIT */
/*
 * records: the size and the finish function of each handle type's record. layer/entry/record_types.c has the table and
 * gives it to layer.record_types. The module that owns a record has its finish function.
 */
#ifndef LAP_LAYER_RECORDS_H
#define LAP_LAYER_RECORDS_H

#include "layer/core/layer.h"

struct layer_record_type {
    size_t bytes;                        /* 0: only the head */
    void (*finish)(struct lap_object *); /* frees the record's own memory, not the record; NULL: nothing */
};

/* Free a record's own memory, after it was taken out of its map. */
void layer_buffer_finish(struct lap_object *object);
void layer_cmdbuf_finish(struct lap_object *object);
void layer_descriptor_pool_finish(struct lap_object *object);
void layer_descriptor_set_finish(struct lap_object *object);
void layer_framebuffer_finish(struct lap_object *object);
void layer_image_finish(struct lap_object *object);
void layer_memory_finish(struct lap_object *object);
void layer_pipeline_binary_finish(struct lap_object *object);
void layer_pipeline_finish(struct lap_object *object);
void layer_render_pass_finish(struct lap_object *object);
void layer_set_layout_finish(struct lap_object *object);
void layer_shader_finish(struct lap_object *object);
void layer_shader_module_finish(struct lap_object *object);
void layer_structure_finish(struct lap_object *object);
void layer_swapchain_finish(struct lap_object *object);
void layer_surface_finish(struct lap_object *object);
void layer_template_finish(struct lap_object *object);

/* The record for a handle that a query returned; creates it if there is none. */
struct lap_object *layer_object_find_or_add(struct layer_device *device, enum gen_handle_type type, uint64_t handle);
/* Frees all device-level records at vkDestroyDevice. */
void layer_objects_finish(struct layer_device *device);

struct layer_physical_device *layer_physical_device_add(struct layer_instance *instance, VkPhysicalDevice handle);

/* At vkDestroyDevice, before the driver's: frees the per-device state of these modules. */
void layer_submit_finish(struct layer_device *device);
void layer_verify_finish(struct layer_device *device);

#endif

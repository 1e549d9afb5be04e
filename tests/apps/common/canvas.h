/* SPDX-License-Identifier: MIT */
/*
 * canvas: what programs for many small features share. Wishes collect what a device is asked for, as far as it has it.
 * A canvas is a picture of cells that is drawn to by dynamic rendering, read back and looked at cell by cell.
 */
#ifndef APPS_CANVAS_H
#define APPS_CANVAS_H

#include "app.h"

struct app_wishes {
    const struct app *app;
    const char *extensions[32];
    uint32_t extension_count;
    VkBaseOutStructure *features; /* a chain for VkDeviceCreateInfo */
};

/* True where the device has the extension (NULL: none is needed) and, in the feature structure (NULL: none), all that
 * `required` names: offsets of members of VkBool32. Then both are asked for, with every feature that the structure has,
 * and the structure must live until the device is made. Its sType is set and its pNext is NULL. */
bool app_wish(struct app_wishes *wishes, const char *extension, void *features, size_t size, uint32_t required_count,
              const size_t *required);
#define APP_WISH(wishes, extension, structure, member)                                                                 \
    app_wish(wishes, extension, &(structure), sizeof(structure), 1,                                                    \
             (const size_t[]){(size_t)((const char *)&(structure).member - (const char *)&(structure))})
/* Makes the device with all wishes, and what the programs need of Vulkan 1.3: dynamic rendering and synchronization2.
 */
void app_wishes_device(struct app_wishes *wishes, struct app *app, const VkPhysicalDeviceFeatures *features);

#define APP_CANVAS_SIZE 64u
#define APP_CELL        8u /* a cell's width and height */
#define APP_CELLS       (APP_CANVAS_SIZE / APP_CELL)

struct app_canvas {
    const struct app *app;
    struct app_image image;
    struct app_buffer pixels;
    VkShaderModule vertex, fragment; /* rect.vert, rect.frag */
    VkPipelineLayout layout;         /* their push constants */
    VkPipeline rect;
};

struct app_rect_push {
    float box[4], color[4];
    float depth;
};

/* VK_FORMAT_R8G8B8A8_UNORM, without depth. */
extern const VkPipelineRenderingCreateInfo app_canvas_rendering;

/* Of its vertex and its fragment shader. */
extern const VkShaderModuleCreateInfo app_canvas_code[2];

void app_canvas_create(const struct app *app, struct app_canvas *canvas);
void app_canvas_destroy(struct app_canvas *canvas);
/* Transfers the image to layouts, from what it holds; clears it to black without alpha. next: for VkRenderingInfo. */
void app_canvas_begin_rendering(const struct app_canvas *canvas, VkCommandBuffer commands, VkRenderingFlags flags,
                                const void *next);
/* Ends rendering and reads back. */
void app_canvas_end_rendering(const struct app_canvas *canvas, VkCommandBuffer commands);
/* Without rendering: the image is in VK_IMAGE_LAYOUT_GENERAL, all writes to it are done. */
void app_canvas_read(const struct app_canvas *canvas, VkCommandBuffer commands);
/* The pipeline of rectangles, with viewport and scissor. */
void app_canvas_bind(const struct app_canvas *canvas, VkCommandBuffer commands);
/* Push constants for a rectangle over a cell; draw six vertices with them. */
void app_canvas_push(const struct app_canvas *canvas, VkCommandBuffer commands, uint32_t cell, uint32_t rgba);
void app_canvas_cell(const struct app_canvas *canvas, VkCommandBuffer commands, uint32_t cell, uint32_t rgba);
/* The commands have ended and the host may read. */
uint32_t app_canvas_pixel(const struct app_canvas *canvas, uint32_t x, uint32_t y);
/* In the middle of a cell. Colors are 0xAABBGGRR, as they lie in memory. */
uint32_t app_canvas_look(const struct app_canvas *canvas, uint32_t cell);
void app_canvas_color(uint32_t rgba, float out[4]);

/* A compute pipeline with two storage buffers (bindings 0 and 1 of set 0) and 16 bytes of push constants. */
struct app_compute {
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    VkPipelineLayout layout;
    VkPipeline pipeline;
};

#define APP_COMPUTE_PUSH 16u

void app_compute_create(const struct app *app, struct app_compute *compute, const uint32_t *words, size_t size_bytes,
                        const struct app_buffer *in, const struct app_buffer *out);
void app_compute_destroy(const struct app *app, struct app_compute *compute);
/* Binds and dispatches. */
void app_compute_run(const struct app_compute *compute, VkCommandBuffer commands, const uint32_t push[4],
                     uint32_t groups);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * states: everything that is dynamic state of draws on a device, for programs that set all of it. A picture of four
 * quarters is drawn by a triangle that is larger than it; what differs in a quarter is state alone.
 */
#ifndef APPS_STATES_H
#define APPS_STATES_H

#include "app.h"

#define APP_STATES_SIZE 64u /* of the picture, in each direction */

/* What a device lets a program set, and what it has to be asked for. */
struct app_states {
    const struct app *app;
    const char *extensions[48];
    uint32_t extension_count;
    const void *features;       /* for VkDeviceCreateInfo */
    VkDynamicState dynamic[80]; /* all that a pipeline may leave open */
    uint32_t dynamic_count;
    bool blends_coherently; /* advancedBlendCoherentOperations is enabled */
};

enum app_quarter { APP_PLAIN, APP_BLENDED, APP_MASKED, APP_DISCARDED };

/* Asks what there is. Before the device is made; the features and names are for its creation. Call it once. */
void app_states_find(const struct app *app, struct app_states *states);
bool app_states_has(const struct app_states *states, VkDynamicState state);
/* Sets all of them, for a quarter. Of what is not there the pipeline must have the same: app_states_pipeline. */
void app_states_set(const struct app_states *states, VkCommandBuffer commands, enum app_quarter quarter);
/* The same by static state where the device has no such dynamic one; absent: structures all of whose state is dynamic
 * are left out of the create info. */
VkPipeline app_states_pipeline(const struct app_states *states, const VkPipelineShaderStageCreateInfo stages[2],
                               VkPipelineLayout layout, const void *next, bool absent);

/* The picture, with a buffer in which fragments add numbers beside what the host keeps there. */
#define APP_MARKS      16u
#define APP_PUSH_BYTES 20u
struct app_picture {
    const struct app *app;
    struct app_image image;
    struct app_buffer pixels, vertices, marks;
    VkDescriptorSetLayout set_layout;
    VkDescriptorPool pool;
    VkDescriptorSet set;
    VkPipelineLayout layout; /* of states.vert and states.frag */
    uint32_t round, expected[APP_MARKS];
};

void app_picture_create(const struct app *app, struct app_picture *picture);
void app_picture_destroy(struct app_picture *picture);
/* Begins dynamic rendering with the descriptor set bound. */
VkCommandBuffer app_picture_begin(struct app_picture *picture);
/* Draws with the shaders and the state of commands. */
void app_picture_draw(const struct app_picture *picture, const struct app_states *states, VkCommandBuffer commands,
                      enum app_quarter quarter);
/* Submits, waits and checks. scale: of what fragments add. */
void app_picture_end(struct app_picture *picture, const struct app_states *states, VkCommandBuffer commands,
                     uint32_t scale);

#endif

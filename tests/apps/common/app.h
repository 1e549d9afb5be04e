/* SPDX-License-Identifier: MIT */
/*
 * app: what every test program shares: options, instance and device, memory by flags, one-shot commands, pipelines.
 * The programs know nothing of any layer: they use Vulkan as any program does and check what they get back.
 * A failed check ends the process with status 1 and names file and line. A program that the machine can't run ends
 * with APP_SKIP. A `struct app` may be copied after app_init to make a second device of the same instance. Nothing
 * here is locked: what a `struct app` creates lazily or counts is used by one thread.
 */
#ifndef APPS_APP_H
#define APPS_APP_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <vulkan/vulkan_core.h>

#define APP_SKIP        77
#define APP_VULKAN_1_4  VK_MAKE_API_VERSION(0, 1, 4, 0) /* older headers lack it */
#define COUNT_OF(array) ((uint32_t)(sizeof(array) / sizeof(*(array))))

struct app_option {
    const char *name; /* with its dashes; an entry with no name ends a list */
    const char *help;
    bool *flag; /* one of flag and number */
    uint32_t *number;
};

struct app_program {
    const char *name, *what;
    uint32_t frames; /* default of --frames */
    bool can_present, presents_by_default;
    const char *const *instance_extensions; /* enabled where there are such; NULL ends the list */
    const struct app_option *options;
    const bool *vulkan_1_0; /* NULL or an option's flag: the instance is made for Vulkan 1.0 */
    const bool *vulkan_1_4; /* the same for 1.4; otherwise it is for 1.3 at most */
};

/* What windows are made of. */
enum app_window_kind { APP_XCB, APP_XLIB, APP_WAYLAND, APP_HEADLESS };

struct app {
    const struct app_program *program;
    const char *path; /* argv[0] */
    bool present, no_check;
    bool no_questions; /* properties and queue families are taken for granted */
    bool srgb;         /* targets have an sRGB format */
    bool tell;         /* app_submit_wait prints "frame" */
    bool hash;         /* targets print a hash of each frame's pixels */
    enum app_window_kind window_kind;
    uint32_t frames, gpu, width, height;
    uint32_t api_version; /* the lower of the instance's and the device's */
    VkInstance instance;
    VkPhysicalDevice physical;
    VkPhysicalDeviceProperties properties;
    VkPhysicalDeviceFeatures features; /* supported ones */
    VkPhysicalDeviceMemoryProperties memory;
    VkExtensionProperties *extensions; /* of the device */
    uint32_t extension_count;
    uint32_t queue_family; /* graphics and compute */
    VkQueueFamilyProperties queue_properties;
    VkDevice device;
    VkQueue queue;
    VkCommandPool pool;
};

struct app_device_request {
    const char *const *extensions; /* must be there */
    uint32_t extension_count;
    const void *next; /* chain for VkDeviceCreateInfo */
    const VkPhysicalDeviceFeatures *features;
    const VkDeviceQueueCreateInfo *queues; /* NULL: one queue of app.queue_family; else it is among these */
    uint32_t queue_count;
};

enum app_memory { APP_DEVICE, APP_UPLOAD, APP_READBACK };

struct app_buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    VkDeviceSize size, allocated;
    uint8_t *mapped; /* NULL for APP_DEVICE; mapped as long as it lives */
    bool coherent;
};

struct app_image {
    VkImage image;
    VkDeviceMemory memory;
    VkImageView view;
    VkImageAspectFlags aspect;
};

/* What a graphics pipeline of these programs differs in. Viewport and scissor are dynamic. */
struct app_pipeline {
    VkShaderModule vertex, fragment;
    VkPipelineLayout layout;
    VkRenderPass render_pass; /* or NULL with a next chain */
    uint32_t subpass;
    const void *next;
    const VkPipelineVertexInputStateCreateInfo *vertex_input; /* NULL: none */
    VkPrimitiveTopology topology;
    VkSampleCountFlagBits samples; /* 0: 1 */
    bool depth;
    bool never;   /* no depth passes where there is one; else it is what is less */
    bool stencil; /* only where it is 1, which becomes 2 */
    uint32_t color_count;
    const VkDynamicState *dynamic; /* beside viewport and scissor */
    uint32_t dynamic_count;
    VkPipelineCreateFlags flags;
};

__attribute__((noreturn, format(printf, 3, 4))) void app_fail(const char *file, int line, const char *format, ...);
__attribute__((noreturn)) void app_skip(const struct app *app, const char *reason);
void app_expect_equal(const struct app *app, const char *file, int line, const char *what, uint64_t got, uint64_t want);

#define CHECK(condition) ((condition) ? (void)0 : app_fail(__FILE__, __LINE__, "failed: %s", #condition))
#define CHECK_VK(call)                                                                                                 \
    do {                                                                                                               \
        VkResult check_result = (call);                                                                                \
        if (check_result != VK_SUCCESS)                                                                                \
            app_fail(__FILE__, __LINE__, "%s gives %d", #call, (int)check_result);                                     \
    } while (0)
/* A check of what the GPU computed or drew; --no-check leaves it out, for drivers that do nothing. */
#define EXPECT_EQ(app, got, want) app_expect_equal(app, __FILE__, __LINE__, #got, (uint64_t)(got), (uint64_t)(want))

/* Reads the command line and makes the instance; chooses the physical device. Exits on --help and bad options. */
void app_init(struct app *app, int argc, char **argv, const struct app_program *program);
/* Destroys the device, if there is one, and the instance. */
void app_close(struct app *app);
/* app_close, then prints "ok NAME", the last line of a run that was right. Returns main's result. */
int app_finish(struct app *app);

/* Makes device, queue and a pool of one-shot commands. request may be NULL. */
void app_device_create(struct app *app, const struct app_device_request *request);
void app_device_destroy(struct app *app);
bool app_has_extension(const struct app *app, const char *name);
PFN_vkVoidFunction app_device_function(const struct app *app, const char *name); /* checked: never NULL */

/* The best memory type of type_bits that has all required flags: most wanted flags, then fewest unwanted. */
uint32_t app_memory_type(const struct app *app, uint32_t type_bits, VkMemoryPropertyFlags required,
                         VkMemoryPropertyFlags wanted, VkMemoryPropertyFlags unwanted);
uint32_t app_memory_type_for(const struct app *app, uint32_t type_bits, enum app_memory kind);
bool app_memory_coherent(const struct app *app, uint32_t type);
/* Flushes (or invalidates) the atoms around a range of a mapped allocation of allocated_bytes. */
void app_memory_sync(const struct app *app, VkDeviceMemory memory, VkDeviceSize allocated_bytes, VkDeviceSize offset,
                     VkDeviceSize size, bool invalidate);

void app_buffer_create(const struct app *app, struct app_buffer *buffer, VkDeviceSize size, VkBufferUsageFlags usage,
                       enum app_memory kind);
void app_buffer_destroy(const struct app *app, struct app_buffer *buffer);
void app_buffer_flush(const struct app *app, const struct app_buffer *buffer, VkDeviceSize offset, VkDeviceSize size);
void app_buffer_invalidate(const struct app *app, const struct app_buffer *buffer, VkDeviceSize offset,
                           VkDeviceSize size);

/* An image of device memory and a view of all of it, unless it is for transfers only or view_type is MAX_ENUM. */
void app_image_create(const struct app *app, struct app_image *image, const VkImageCreateInfo *info,
                      VkImageAspectFlags aspect, VkImageViewType view_type);
void app_image_create_2d(const struct app *app, struct app_image *image, VkFormat format, uint32_t width,
                         uint32_t height, VkImageUsageFlags usage);
void app_image_destroy(const struct app *app, struct app_image *image);
bool app_format_has(const struct app *app, VkFormat format, VkImageTiling tiling, VkFormatFeatureFlags features);

/* One-shot commands: begin, record, run. app_run waits for the end and frees them. */
VkCommandBuffer app_begin(const struct app *app);
void app_run(const struct app *app, VkCommandBuffer commands);
/* Submits with no semaphores and waits. */
void app_submit_wait(const struct app *app, uint32_t count, const VkCommandBuffer *commands);
/* All levels and layers of an image, everything before to everything after. */
void app_image_barrier(VkCommandBuffer commands, const struct app_image *image, VkImageLayout from, VkImageLayout to);
void app_memory_barrier(VkCommandBuffer commands, VkPipelineStageFlags source_stages, VkAccessFlags source_access,
                        VkPipelineStageFlags target_stages, VkAccessFlags target_access);

VkShaderModule app_shader(const struct app *app, const uint32_t *words, size_t size_bytes);
VkPipeline app_graphics_pipeline(const struct app *app, const struct app_pipeline *pipeline);
VkPipeline app_compute_pipeline(const struct app *app, const uint32_t *words, size_t size_bytes,
                                VkPipelineLayout layout);
/* One color attachment (and depth, if depth_format is not VK_FORMAT_UNDEFINED), cleared; color ends in final. */
VkRenderPass app_render_pass(const struct app *app, VkFormat color_format, VkFormat depth_format, VkImageLayout final);
VkFramebuffer app_framebuffer(const struct app *app, VkRenderPass pass, uint32_t view_count, const VkImageView *views,
                              uint32_t width, uint32_t height);
void app_set_viewport(VkCommandBuffer commands, uint32_t width, uint32_t height);
VkFormat app_depth_format(const struct app *app);
VkDescriptorSetLayout app_set_layout(const struct app *app, uint32_t count,
                                     const VkDescriptorSetLayoutBinding *bindings);
VkPipelineLayout app_pipeline_layout(const struct app *app, uint32_t set_count, const VkDescriptorSetLayout *sets,
                                     VkShaderStageFlags push_stages, uint32_t push_bytes);

/* A number that follows from its seed alone. */
static inline uint32_t app_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * extensions: the extensions that programs are shown, and those that a device has.
 *
 * A program that asks for a hidden extension (docs/extensions.md) gets VK_ERROR_EXTENSION_NOT_PRESENT from the loader,
 * which compares with what the layer shows and never calls down. The layer only sees the loader ask which extensions
 * there are, and no vkCreateDevice. So it keeps the names of the hidden ones until a device is created, or is known not
 * to have been, and then warns. Any thread.
 */
#ifndef LAP_LAYER_EXTENSIONS_H
#define LAP_LAYER_EXTENSIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

struct layer_instance;
struct layer_physical_device;

/* All device extensions of the next layer, with room for `more`; the caller frees. NULL with *out_result when it
 * fails. */
VkExtensionProperties *layer_device_extensions(const struct layer_instance *instance, VkPhysicalDevice physicalDevice,
                                               size_t more, uint32_t *out_count, VkResult *out_result);
/* True when the device has it, even if it is hidden from programs. */
bool layer_device_has_extension(const struct layer_physical_device *gpu, const char *extension);
/* True when programs are shown this extension on devices that have it. */
bool layer_shows_extension(const char *extension);

/* Whether a return address is in the loader. */
bool layer_hidden_is_loader(const void *caller);
/* The loader has asked which of these there are. */
void layer_hidden_ask(const VkExtensionProperties *all, uint32_t count);
/* A vkCreateDevice has reached the layer. */
void layer_hidden_arrived(void);
/* No vkCreateDevice comes any more: warns of one that never arrived. */
void layer_hidden_end(void);
void layer_hidden_exit(void); /* the same when the process ends, without freeing anything */

#endif

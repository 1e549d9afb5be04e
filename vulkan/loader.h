/* SPDX-License-Identifier: MIT */
/* loader: the file of the Vulkan loader (the loader's documents, "Overall Vulkan Architecture"; Android's NDK names
 * libvulkan among its libraries). */
#ifndef LAP_VULKAN_LOADER_H
#define LAP_VULKAN_LOADER_H

#ifdef __ANDROID__
#define LAP_VULKAN_LOADER "libvulkan.so"
#else
#define LAP_VULKAN_LOADER "libvulkan.so.1"
#endif

#endif

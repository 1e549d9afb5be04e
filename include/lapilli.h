/* SPDX-License-Identifier: MIT */
/*
 * lapilli: two functions with which a program that is recorded says which part of its run it wants. Nothing is linked:
 * the layer gives them through vkGetDeviceProcAddr while it is loaded to record; otherwise that returns NULL.
 *
 *     PFN_lapBeginCapture begin = (PFN_lapBeginCapture)vkGetDeviceProcAddr(device, LAP_BEGIN_CAPTURE);
 *     if (begin)
 *         begin(device);
 *
 * With `lapilli capture --trigger call`, or LAPILLI_TRIGGER=call, each pair of calls makes a trace.
 */
#ifndef LAPILLI_H
#define LAPILLI_H

#include <vulkan/vulkan.h>

/* For vkGetDeviceProcAddr. Newer loaders answer only names that begin with vk. */
#define LAP_BEGIN_CAPTURE "vkLapBeginCapture"
#define LAP_END_CAPTURE   "vkLapEndCapture"

/* Begins a trace with all that the program has made so far, on all its devices: waits until they are idle. Not while
 * another thread waits for work that only this one lets go on. VK_FALSE: nothing begins. A trace is written already,
 * parts were not asked for, or the log says why not. Any thread. */
typedef VkBool32(VKAPI_PTR *PFN_lapBeginCapture)(VkDevice device);

/* Ends the trace that lapBeginCapture began. VK_FALSE: there is none. Any thread. */
typedef VkBool32(VKAPI_PTR *PFN_lapEndCapture)(VkDevice device);

#endif

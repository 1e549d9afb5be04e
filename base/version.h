/* SPDX-License-Identifier: MIT */
#ifndef LAP_BASE_VERSION_H
#define LAP_BASE_VERSION_H

#define LAPILLI_VERSION                "0.1.0"
#define LAPILLI_IMPLEMENTATION_VERSION 1
#define LAPILLI_LAYER_NAME             "VK_LAYER_LAPILLI_capture"
#define LAPILLI_LAYER_DESCRIPTION      "Lapilli: records what a program does with Vulkan"

#endif

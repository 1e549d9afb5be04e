/* SPDX-License-Identifier: MIT */
/*
 * capture_address: device addresses that a replay on the same driver can ask for again (docs/memory.md, "Device
 * addresses").
 *
 * Where a program enables bufferDeviceAddress and the device has bufferDeviceAddressCaptureReplay, the layer enables
 * that, too, and creates buffers and memory that can have addresses with its flags. The trace gets the driver's opaque
 * addresses: in the create info of each such buffer, and in a packet in front of each bind. Programs are not shown the
 * feature. If the flag would change a buffer's memory requirements, the buffer is created without it, since the program
 * must see the real requirements. Nothing is done for programs that use VK_EXT_buffer_device_address, which has
 * structures of its own.
 *
 * Calls may come from any thread.
 */
#ifndef LAP_LAYER_CAPTURE_ADDRESS_H
#define LAP_LAYER_CAPTURE_ADDRESS_H

#include <stdbool.h>
#include <stdint.h>
#include <vulkan/vulkan.h>

#include "layer/core/device_record.h"

struct layer_device;
struct layer_physical_device;
struct layer_buffer;
struct layer_memory;

/* ---- devices ---- */

/* The program's VkDeviceCreateInfo with the feature enabled. */
struct layer_address_request {
    VkDeviceCreateInfo info;
    void *copies; /* of the structures in the chain up to the changed one */
    bool captured;
    bool identified; /* the program may have bytes that only the same driver reads: serialized structures, converted
                        matrices */
    const char *reason;
};

/* False: nothing is added, see out->reason. After _finish nothing is captured. */
bool layer_address_request(const struct layer_physical_device *gpu, const VkDeviceCreateInfo *asked,
                           struct layer_address_request *out);
void layer_address_request_finish(struct layer_address_request *request);
/* When the device's functions are loaded: stores the decision in the device. */
void layer_address_init(struct layer_device *device, const struct layer_address_request *request);
/* After the packet of vkCreateDevice: records the driver, and whether addresses are captured. */
void layer_address_describe(struct layer_device *device);

/* ---- buffers ---- */

struct layer_address_buffer {
    VkBufferCreateInfo info;
    VkBufferOpaqueCaptureAddressCreateInfo opaque;
};

/* The create info for the driver: *asked, or *out with the flag added. */
const VkBufferCreateInfo *layer_address_buffer_info(struct layer_device *device, const VkBufferCreateInfo *asked,
                                                    struct layer_address_buffer *out);
/* The buffer was created from *made: adds the opaque address that a replay asks for. For the trace. */
void layer_address_buffer_created(struct layer_device *device, VkBuffer buffer, struct layer_address_buffer *made);

/* Warns once, also in the trace, if constants of a shader hold an address in a form that a replay does not translate
 * (vulkan/untranslated.h); NULL is fine. */
void layer_address_check_constants(struct layer_device *device, const VkSpecializationInfo *info);

/* ---- memory ---- */

struct layer_address_memory {
    VkMemoryAllocateInfo info;
    void *copies; /* as in layer_address_request */
};

/* The allocate info for the driver: *asked, or out->info with the flag added. Needs _finish. */
const VkMemoryAllocateInfo *layer_address_memory_info(const struct layer_device *device,
                                                      const VkMemoryAllocateInfo *asked,
                                                      struct layer_address_memory *out);
void layer_address_memory_finish(struct layer_address_memory *request);
/* In front of a bind packet: records the memory's opaque address, if the buffer and the memory have the flag. */
void layer_address_record_memory(struct layer_device *device, const struct layer_buffer *buffer,
                                 const struct layer_memory *memory);

#endif

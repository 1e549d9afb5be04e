/* SPDX-License-Identifier: MIT */
/*
 * present_checks: hashes of presented images in the trace (capture --verify), and screenshots.
 */
#ifndef LAP_LAYER_PRESENT_CHECKS_H
#define LAP_LAYER_PRESENT_CHECKS_H

#include "layer/submit/submit.h"

/* Whether images that are presented will be read back. */
bool layer_verify_wants_presents(void);

/* In the program's call of a present, before its packet: reads back the images if needed, and writes
 * lapilliCheckPresent packets and screenshots. The semaphores of the present can be waited for once more afterwards.
 * frame: counted from 1. */
void layer_verify_present(struct layer_device *dev, VkQueue queue, const VkPresentInfoKHR *info, uint64_t frame);

/* The readback for the device's results; NULL when out of memory. Under verify.mutex. */
struct lap_readback *layer_verify_readback(struct layer_device *dev);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * present_checks: what was presented and what the device wrote, as hashes in the trace (capture --verify), and
 * screenshots.
 */
#ifndef LAP_LAYER_PRESENT_CHECKS_H
#define LAP_LAYER_PRESENT_CHECKS_H

#include "layer/submit/submit.h"

/* Whether images that are presented will be read back. */
bool layer_verify_wants_presents(void);

/* Before the packet of a present, on the program's call of it: reads back what is wanted of the images and writes
 * lapilliCheckPresent packets and screenshots. The semaphores of the present can be waited for once more afterwards.
 * frame: counted from 1. */
void layer_verify_present(struct layer_device *dev, VkQueue queue, const VkPresentInfoKHR *info, uint64_t frame);

/* What copies the device's results to the host; NULL when out of memory. Under verify_mutex. */
struct lap_readback *layer_verify_readback(struct layer_device *dev);

#endif

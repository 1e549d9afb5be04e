/* SPDX-License-Identifier: MIT */
/*
 * signal_name: the common names of signals. Any thread.
 */
#ifndef LAP_BASE_PROCESS_SIGNAL_NAME_H
#define LAP_BASE_PROCESS_SIGNAL_NAME_H

#include <stdint.h>

#define LAP_SIGNAL_NAME_MAX 24
/* "SIGSEGV", or "signal N": into the buffer or a constant. */
const char *lap_signal_name(uint32_t number, char buffer[LAP_SIGNAL_NAME_MAX]);

#endif

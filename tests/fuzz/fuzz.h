/* SPDX-License-Identifier: MIT */
/*
 * fuzz: what the targets have in common. libFuzzer calls these by name.
 */
#ifndef LAP_TESTS_FUZZ_FUZZ_H
#define LAP_TESTS_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

#include "tests/fuzz/forge.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t capacity, unsigned seed);

/* A promise of a header that was not kept. */
#define FUZZ_CHECK(condition)                                                                                          \
    ((condition) ? (void)0 : (forge_say("%s:%d: %s does not hold", __FILE__, __LINE__, #condition), abort()))

#endif

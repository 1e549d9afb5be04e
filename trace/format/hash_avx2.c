/* SPDX-License-Identifier: MIT */
/* For processors with AVX2: trace/format/hash.c checks for that. */
#if defined(__x86_64__)
#include <immintrin.h>
#include <string.h>
#include <sys/uio.h>

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC target("avx2")
#endif
#define XXH_VECTOR      2 /* XXH_AVX2 */
#define HASH_NAME(name) lap_hash_avx2_##name
#include "trace/format/hash_code.h"
#if defined(__clang__)
#pragma clang attribute pop
#endif

#else
typedef int lap_hash_avx2_is_not_for_this_machine;
#endif

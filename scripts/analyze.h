/* SPDX-License-Identifier: MIT */
/* What clang's and gcc's analyzers are told of functions in other files: lap_fail() returns what it is given, which is never LAP_OK. */
#include "base/status.h"

#define lap_fail(status, ...) (lap_fail(status, __VA_ARGS__), (status))

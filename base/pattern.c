/* SPDX-License-Identifier: MIT */
#include "base/pattern.h"

#include <stddef.h>
#include <string.h>

const char *lap_pattern_fault(const char *pattern)
{
    for (const char *p = strchr(pattern, '%'); p; p = strchr(p + 2, '%'))
        if (!p[1] || !strchr("petn%", p[1]))
            return p;
    return NULL;
}

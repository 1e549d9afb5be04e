/* SPDX-License-Identifier: MIT */
/* spirv_code: modules that are put together word by word. */
#ifndef LAP_TESTS_SPIRV_CODE_H
#define LAP_TESTS_SPIRV_CODE_H

#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#define SPIRV_MAIN 0x6e69616d, 0 /* "main" */

static uint32_t code[512];
static uint32_t count; /* of its words */

/* The header of a module whose ids are below `bound`. */
static inline void begin_code(uint32_t version, uint32_t bound)
{
    const uint32_t header[] = {0x07230203, version, 0, bound, 0};

    memcpy(code, header, sizeof header);
    count = sizeof header / sizeof header[0];
}

/* op, operands, -1 */
static inline void put(uint32_t op, ...)
{
    uint32_t first = count++;
    va_list operands;
    int operand;

    va_start(operands, op);
    while ((operand = va_arg(operands, int)) >= 0)
        code[count++] = (uint32_t)operand;
    va_end(operands);
    code[first] = (count - first) << 16 | op;
}

#endif

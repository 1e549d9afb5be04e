/* SPDX-License-Identifier: MIT */
/*
 * spirv_write: words of SPIR-V, one instruction behind the other, in an arena. Any thread.
 */
#ifndef LAP_INSPECTOR_SPIRV_SPIRV_WRITE_H
#define LAP_INSPECTOR_SPIRV_SPIRV_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* Begins as {.arena = …}. */
struct spirv_writer {
    struct lap_arena *arena;
    uint32_t *words;
    size_t count, capacity;
    bool failed; /* there is no more memory: what was put behind is lost */
};

void spirv_put(struct spirv_writer *writer, const uint32_t *words, size_t count);

/* An instruction by its opcode and operands, at least one of them. */
#define SPIRV_PUT(writer, op, ...)                                                                                     \
    do {                                                                                                               \
        const uint32_t spirv_put_operands[] = {__VA_ARGS__};                                                           \
        spirv_put_op(writer, op, spirv_put_operands, sizeof spirv_put_operands / sizeof *spirv_put_operands);          \
    } while (0)
void spirv_put_op(struct spirv_writer *writer, uint32_t op, const uint32_t *operands, size_t count);

#endif

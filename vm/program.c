/* SPDX-License-Identifier: MIT */
#include "vm/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    uint8_t bytes;
} types[] = {
    [LAP_VM_BOOL] = {"Bool", 1},
    [LAP_VM_INT8] = {"Int8", 1},
    [LAP_VM_INT16] = {"Int16", 2},
    [LAP_VM_INT32] = {"Int32", 4},
    [LAP_VM_INT64] = {"Int64", 8},
    [LAP_VM_UINT8] = {"Uint8", 1},
    [LAP_VM_UINT16] = {"Uint16", 2},
    [LAP_VM_UINT32] = {"Uint32", 4},
    [LAP_VM_UINT64] = {"Uint64", 8},
    [LAP_VM_FLOAT] = {"Float", 4},
    [LAP_VM_DOUBLE] = {"Double", 8},
    [LAP_VM_ABSOLUTE] = {"AbsolutePointer", 8},
    [LAP_VM_CONSTANT] = {"ConstantPointer", 8},
    [LAP_VM_VOLATILE] = {"VolatilePointer", 8},
    [LAP_VM_POINTER] = {"Pointer", 8},
    [LAP_VM_NOTHING] = {"Nothing", 0},
};

static const char *const codes[LAP_VM_CODE_COUNT] = {
    "CALL",     "PUSH_I", "LOAD_C", "LOAD_V", "LOAD",   "POP",    "STORE_V", "STORE",
    "RESOURCE", "POST",   "COPY",   "CLONE",  "STRCPY", "EXTEND", "ADD",     "LABEL",
};

unsigned lap_vm_type_bytes(unsigned type)
{
    return types[type].bytes;
}

const char *lap_vm_type_name(unsigned type)
{
    return types[type].name;
}

const char *lap_vm_code_name(unsigned code)
{
    return codes[code];
}

uint64_t lap_vm_mask(unsigned type)
{
    return ~UINT64_C(0) >> (64 - 8 * types[type].bytes);
}

uint64_t lap_vm_pushed(unsigned type, uint32_t data)
{
    switch (type) {
    case LAP_VM_INT8:
    case LAP_VM_INT16:
    case LAP_VM_INT32:
    case LAP_VM_INT64:
        return (uint64_t)((int64_t)((uint64_t)data << (64 - LAP_VM_ADDRESS_BITS)) >> (64 - LAP_VM_ADDRESS_BITS)) &
               lap_vm_mask(type);
    case LAP_VM_FLOAT:
        return (uint64_t)data << 23 & lap_vm_mask(type);
    case LAP_VM_DOUBLE:
        return (uint64_t)data << 52;
    default:
        return data & lap_vm_mask(type);
    }
}

uint64_t lap_vm_extend(unsigned type, uint64_t value, uint32_t data)
{
    uint64_t fraction;

    if (type != LAP_VM_FLOAT && type != LAP_VM_DOUBLE)
        return (value << LAP_VM_DATA_BITS | data) & lap_vm_mask(type);
    fraction = type == LAP_VM_FLOAT ? (UINT64_C(1) << 23) - 1 : (UINT64_C(1) << 52) - 1;
    return (value & ~fraction) | (((value & fraction) << LAP_VM_DATA_BITS | data) & fraction);
}

uint64_t lap_vm_sum(unsigned type, uint64_t a, uint64_t b)
{
    if (type == LAP_VM_FLOAT) {
        uint32_t parts[2] = {(uint32_t)a, (uint32_t)b};
        float numbers[2];

        memcpy(numbers, parts, sizeof numbers);
        numbers[0] += numbers[1];
        memcpy(parts, numbers, sizeof parts);
        return parts[0];
    }
    if (type == LAP_VM_DOUBLE) {
        uint64_t parts[2] = {a, b};
        double numbers[2];

        memcpy(numbers, parts, sizeof numbers);
        numbers[0] += numbers[1];
        memcpy(parts, numbers, sizeof parts);
        return parts[0];
    }
    return (a + b) & lap_vm_mask(type);
}

bool lap_vm_is_name(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        if (!(text[i] >= 'a' && text[i] <= 'z') && !(text[i] >= 'A' && text[i] <= 'Z') &&
            !(text[i] >= '0' && text[i] <= '9') && text[i] != '_')
            return false;
    return bytes > 0 && bytes <= UINT8_MAX;
}

bool lap_vm_is_info(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        uint8_t c = (uint8_t)text[i];

        /* Those from 0x80 to 0x9f are two bytes in UTF-8. */
        if (c < 0x20 || c == 0x7f || (c == 0xc2 && i + 1 < bytes && (uint8_t)text[i + 1] < 0xa0))
            return false;
    }
    return bytes <= LAP_VM_INFO_BYTES;
}

static const struct lap_vm_label *label_of(const struct lap_vm_program *program, size_t instruction)
{
    for (size_t i = instruction + 1; i-- > 0;)
        if (lap_vm_code_of(program->code[i]) == LAP_VM_LABEL)
            return lap_vm_data_of(program->code[i]) < program->label_count
                       ? &program->labels[lap_vm_data_of(program->code[i])]
                       : NULL;
    return NULL;
}

const char *lap_vm_place(const struct lap_vm_program *program, size_t instruction, char text[LAP_VM_PLACE_BYTES])
{
    uint32_t word = program->code[instruction];
    unsigned code = lap_vm_code_of(word), api = lap_vm_api_of(word), function = lap_vm_function_of(word);
    const struct lap_vm_label *label = label_of(program, instruction);
    int at = snprintf(text, LAP_VM_PLACE_BYTES, "instruction %zu (", instruction);

    if (code >= LAP_VM_CODE_COUNT)
        at += snprintf(text + at, LAP_VM_PLACE_BYTES - (size_t)at, "code %u)", code);
    else if (code == LAP_VM_CALL && api < LAP_VM_APIS && function < program->function_counts[api])
        at += snprintf(text + at, LAP_VM_PLACE_BYTES - (size_t)at, "CALL %.100s)",
                       program->functions[api][function].name);
    else
        at += snprintf(text + at, LAP_VM_PLACE_BYTES - (size_t)at, "%s)", codes[code]);
    if (label && label->command != UINT32_MAX)
        snprintf(text + at, LAP_VM_PLACE_BYTES - (size_t)at, " at #%" PRIu64 ".%" PRIu32, label->packet,
                 label->command);
    else if (label)
        snprintf(text + at, LAP_VM_PLACE_BYTES - (size_t)at, " at #%" PRIu64, label->packet);
    return text;
}

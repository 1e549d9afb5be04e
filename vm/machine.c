/* SPDX-License-Identifier: MIT */
#include "vm/machine.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define OUTSIDE_MAX 1024u /* resources whose bytes have not come into volatile memory yet */

/* RESOURCE only notes where a resource goes: most are passed on as they are, and then no byte is copied. */
struct outside {
    uint64_t at, bytes; /* in volatile memory */
    uint32_t number;
};

struct lap_vm_machine {
    const struct lap_vm_program *program;
    const struct lap_vm_host *host;
    uint8_t *volatile_memory;
    size_t at;
    size_t depth;
    uint32_t label;
    struct outside outside[OUTSIDE_MAX]; /* in order, and apart */
    size_t outside_count;
    uint64_t stack[LAP_VM_STACK];
    uint8_t types[LAP_VM_STACK];
};

enum lap_status lap_vm_create(const struct lap_vm_program *program, const struct lap_vm_host *host,
                              struct lap_vm_machine **out)
{
    struct lap_vm_machine *machine = calloc(1, sizeof *machine);
    void *memory = NULL;

    *out = NULL;
    if (machine && program->volatile_bytes)
        memory = mmap(NULL, program->volatile_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (!machine || memory == MAP_FAILED) {
        free(machine);
        return lap_fail(LAP_ERROR_MEMORY, "no memory for a replay program, which wants %" PRIu64 " bytes",
                        program->volatile_bytes);
    }
    *machine =
        (struct lap_vm_machine){.program = program, .host = host, .volatile_memory = memory, .label = UINT32_MAX};
    *out = machine;
    return LAP_OK;
}

void lap_vm_destroy(struct lap_vm_machine **machine)
{
    if (*machine && (*machine)->volatile_memory)
        (void)munmap((*machine)->volatile_memory, (*machine)->program->volatile_bytes);
    free(*machine);
    *machine = NULL;
}

uint32_t lap_vm_label_now(const struct lap_vm_machine *machine)
{
    return machine->label;
}

const uint8_t *lap_vm_volatile_memory(const struct lap_vm_machine *machine)
{
    return machine->volatile_memory;
}

size_t lap_vm_instruction_now(const struct lap_vm_machine *machine)
{
    return machine->at;
}

static enum lap_status LAP_PRINTF(2, 3) bad(const struct lap_vm_machine *machine, const char *format, ...)
{
    char place[LAP_VM_PLACE_BYTES], text[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return lap_fail(LAP_ERROR_FORMAT, "%s: %s", lap_vm_place(machine->program, machine->at, place), text);
}

/* An error of the host's. */
static enum lap_status placed(const struct lap_vm_machine *machine, enum lap_status status)
{
    char place[LAP_VM_PLACE_BYTES];

    return status < 0 ? lap_fail_context(status, "%s", lap_vm_place(machine->program, machine->at, place)) : status;
}

/* ---- resources that are still outside ---- */

/* The first one that ends behind an offset. */
static size_t outside_from(const struct lap_vm_machine *machine, uint64_t at)
{
    size_t low = 0, high = machine->outside_count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (machine->outside[middle].at + machine->outside[middle].bytes > at)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void forget_outside(struct lap_vm_machine *machine, size_t first, size_t count)
{
    memmove(&machine->outside[first], &machine->outside[first + count],
            (machine->outside_count - first - count) * sizeof machine->outside[0]);
    machine->outside_count -= count;
}

static enum lap_status bring_in(struct lap_vm_machine *machine, size_t index)
{
    const struct outside one = machine->outside[index];
    const uint8_t *data;
    enum lap_status status = machine->host->resource(machine->host->user, one.number, &data);

    if (status != LAP_OK)
        return status;
    memcpy(machine->volatile_memory + one.at, data, one.bytes);
    forget_outside(machine, index, 1);
    return LAP_OK;
}

/* Before volatile memory is read or written there: brings in what touches it. all_written: but what all of it covers
 * is forgotten. */
static inline enum lap_status settle(struct lap_vm_machine *machine, uint64_t at, uint64_t bytes, bool all_written)
{
    enum lap_status status = LAP_OK;
    size_t i;

    if (__builtin_expect(machine->outside_count == 0, 1) || bytes == 0)
        return LAP_OK;
    i = outside_from(machine, at);
    while (status == LAP_OK && i < machine->outside_count && machine->outside[i].at < at + bytes) {
        const struct outside *one = &machine->outside[i];

        if (all_written && one->at >= at && one->at + one->bytes <= at + bytes)
            forget_outside(machine, i, 1);
        else
            status = bring_in(machine, i);
    }
    return status;
}

static enum lap_status put_outside(struct lap_vm_machine *machine, uint64_t at, uint32_t number)
{
    uint64_t bytes = machine->program->resources[number].bytes;
    enum lap_status status = settle(machine, at, bytes, true);
    size_t place;

    if (status == LAP_OK && bytes && machine->outside_count == OUTSIDE_MAX)
        status = bring_in(machine, 0);
    if (status != LAP_OK || !bytes)
        return status;
    place = outside_from(machine, at);
    memmove(&machine->outside[place + 1], &machine->outside[place],
            (machine->outside_count - place) * sizeof machine->outside[0]);
    machine->outside[place] = (struct outside){at, bytes, number};
    machine->outside_count++;
    return LAP_OK;
}

bool lap_vm_is_resource(const struct lap_vm_machine *machine, uintptr_t address, size_t bytes, uint32_t *out)
{
    uint64_t at = address - (uintptr_t)machine->volatile_memory;
    size_t i = at < machine->program->volatile_bytes ? outside_from(machine, at) : machine->outside_count;

    if (i == machine->outside_count || machine->outside[i].at != at || machine->outside[i].bytes != bytes)
        return false;
    *out = machine->outside[i].number;
    return true;
}

/* ---- addresses ---- */

static inline bool is_within(uint64_t at, uint64_t bytes, uint64_t all)
{
    return at <= all && bytes <= all - at;
}

enum lap_status lap_vm_reach(struct lap_vm_machine *machine, uintptr_t address, size_t bytes, bool writes)
{
    const struct lap_vm_program *program = machine->program;
    uint64_t in_volatile = address - (uintptr_t)machine->volatile_memory;
    uint64_t in_constants = address - (uintptr_t)program->constants;

    if (machine->volatile_memory && is_within(in_volatile, bytes, program->volatile_bytes))
        return settle(machine, in_volatile, bytes, false);
    if (!writes && program->constants && is_within(in_constants, bytes, program->constant_bytes))
        return LAP_OK;
    if (machine->host->reaches && machine->host->reaches(machine->host->user, address, bytes, writes))
        return LAP_OK;
    return lap_fail(LAP_ERROR_FORMAT, "%zu bytes at an address are in no memory of the program that can be %s", bytes,
                    writes ? "written" : "read");
}

/* The address that a pointer on the stack means. */
static uintptr_t address_of(const struct lap_vm_machine *machine, unsigned type, uint64_t value)
{
    return type == LAP_VM_VOLATILE   ? (uintptr_t)machine->volatile_memory + (uintptr_t)value
           : type == LAP_VM_CONSTANT ? (uintptr_t)machine->program->constants + (uintptr_t)value
                                     : (uintptr_t)value;
}

/* A pointer on the stack, as an address of this process that so many bytes may be read or written at. */
static enum lap_status reach(struct lap_vm_machine *machine, size_t entry, uint64_t bytes, bool writes,
                             bool all_written, uint8_t **out)
{
    const struct lap_vm_program *program = machine->program;
    unsigned type = machine->types[entry];
    uint64_t value = machine->stack[entry];

    *out = (uint8_t *)address_of(machine, type, value);
    if (type == LAP_VM_VOLATILE && is_within(value, bytes, program->volatile_bytes))
        return settle(machine, value, bytes, all_written);
    if (type == LAP_VM_CONSTANT && is_within(value, bytes, program->constant_bytes))
        return LAP_OK;
    if (type == LAP_VM_ABSOLUTE)
        return placed(machine, lap_vm_reach(machine, (uintptr_t)value, bytes, writes));
    return bad(machine, "%" PRIu64 " bytes at %" PRIu64 " are outside of %s memory", bytes, value,
               type == LAP_VM_CONSTANT ? "constant" : "volatile");
}

/* ---- values in memory: little-endian, as on every machine that runs this; pointers are addresses, but offsets in
 * the constants ---- */

static enum lap_status load(struct lap_vm_machine *machine, const uint8_t *from, unsigned type, bool is_constant)
{
    uint64_t value = 0, all;

    memcpy(&value, from, lap_vm_type_bytes(type));
    if (type == LAP_VM_BOOL)
        value = value != 0;
    if (!is_constant && (type == LAP_VM_CONSTANT || type == LAP_VM_VOLATILE)) {
        value -= address_of(machine, type, 0);
        all = type == LAP_VM_CONSTANT ? machine->program->constant_bytes : machine->program->volatile_bytes;
        if (value > all)
            return bad(machine, "the address in memory is no %s", lap_vm_type_name(type));
    }
    machine->types[machine->depth] = (uint8_t)type;
    machine->stack[machine->depth++] = value;
    return LAP_OK;
}

static void store(const struct lap_vm_machine *machine, size_t entry, uint8_t *to)
{
    unsigned type = machine->types[entry];
    uint64_t value = machine->stack[entry];

    if (lap_vm_is_pointer(type))
        value = address_of(machine, type, value);
    memcpy(to, &value, lap_vm_type_bytes(type));
}

/* ---- instructions ---- */

static enum lap_status call(struct lap_vm_machine *machine, uint32_t word)
{
    unsigned api = lap_vm_api_of(word), number = lap_vm_function_of(word);
    const struct lap_vm_function *function = &machine->program->functions[api][number];
    uint64_t arguments[LAP_VM_ARGUMENTS], result = 0;
    size_t first = machine->depth - function->argument_count;
    enum lap_status status;

    for (unsigned i = 0; i < function->argument_count; i++)
        arguments[i] = lap_vm_is_pointer(machine->types[first + i])
                           ? address_of(machine, machine->types[first + i], machine->stack[first + i])
                           : machine->stack[first + i];
    machine->depth = first;
    status = placed(machine, machine->host->call(machine->host->user, api, number, arguments, &result));
    if (status >= 0 && lap_vm_pushes_return(word)) {
        machine->types[machine->depth] = function->result;
        machine->stack[machine->depth++] = result & lap_vm_mask(function->result);
    }
    return status;
}

static enum lap_status copy(struct lap_vm_machine *machine, uint32_t bytes)
{
    size_t target = machine->depth - 1, source = machine->depth - 2;
    uint8_t *from, *to;
    enum lap_status status = reach(machine, source, bytes, false, false, &from);

    if (status == LAP_OK)
        status = reach(machine, target, bytes, true, false, &to);
    if (status == LAP_OK)
        memmove(to, from, bytes);
    machine->depth -= 2;
    return status;
}

/* Reads no byte behind the string's end. */
static enum lap_status copy_string(struct lap_vm_machine *machine, uint32_t room)
{
    size_t target = machine->depth - 1, source = machine->depth - 2;
    uint8_t *from, *to = NULL;
    enum lap_status status = reach(machine, target, room, true, false, &to);
    bool ended = false;

    if (status == LAP_OK)
        status = reach(machine, source, 0, false, false, &from);

    for (uint32_t i = 0; status == LAP_OK && i < room; i++) {
        if (!ended && i + 1 < room) {
            status = reach(machine, source, 1, false, false, &from);
            machine->stack[source]++;
            if (status == LAP_OK)
                ended = (to[i] = *from) == 0;
        } else {
            to[i] = 0;
        }
    }
    machine->depth -= 2;
    return status;
}

static enum lap_status post(struct lap_vm_machine *machine)
{
    uint64_t bytes = machine->stack[machine->depth - 1];
    uint8_t *from = NULL;
    enum lap_status status = bytes ? reach(machine, machine->depth - 2, bytes, false, false, &from) : LAP_OK;

    machine->depth -= 2;
    if (status != LAP_OK || !bytes)
        return status;
    if (!machine->host->post)
        return bad(machine, "nobody takes what the program posts");
    return machine->host->post(machine->host->user, machine->label, from, bytes);
}

static enum lap_status load_at(struct lap_vm_machine *machine, unsigned type)
{
    size_t top = machine->depth - 1;
    bool is_constant = machine->types[top] == LAP_VM_CONSTANT;
    uint8_t *from;
    enum lap_status status = reach(machine, top, lap_vm_type_bytes(type), false, false, &from);

    machine->depth--;
    return status == LAP_OK ? load(machine, from, type, is_constant) : status;
}

static enum lap_status store_at(struct lap_vm_machine *machine)
{
    size_t top = machine->depth - 1;
    uint8_t *to;
    enum lap_status status = reach(machine, top, lap_vm_type_bytes(machine->types[top - 1]), true, false, &to);

    machine->depth -= 2;
    if (status == LAP_OK)
        store(machine, top - 1, to);
    return status;
}

static enum lap_status step(struct lap_vm_machine *machine, uint32_t word)
{
    uint32_t data = lap_vm_data_of(word), address = lap_vm_address_of(word);
    unsigned type = lap_vm_type_of(word);
    enum lap_status status = LAP_OK;
    size_t top = machine->depth - 1;

    switch (lap_vm_code_of(word)) {
    case LAP_VM_CALL:
        return call(machine, word);
    case LAP_VM_PUSH_I:
        machine->types[machine->depth] = (uint8_t)type;
        machine->stack[machine->depth++] = lap_vm_pushed(type, address);
        return LAP_OK;
    case LAP_VM_LOAD_C:
        return load(machine, machine->program->constants + address, type, true);
    case LAP_VM_LOAD_V:
        status = settle(machine, address, lap_vm_type_bytes(type), false);
        return status == LAP_OK ? load(machine, machine->volatile_memory + address, type, false) : status;
    case LAP_VM_LOAD:
        return load_at(machine, type);
    case LAP_VM_POP:
        machine->depth -= data;
        return LAP_OK;
    case LAP_VM_STORE_V:
        status = settle(machine, data, lap_vm_type_bytes(machine->types[top]), false);
        machine->depth--;
        if (status == LAP_OK)
            store(machine, top, machine->volatile_memory + data);
        return status;
    case LAP_VM_STORE:
        return store_at(machine);
    case LAP_VM_RESOURCE:
        machine->depth--;
        if (!is_within(machine->stack[top], machine->program->resources[data].bytes, machine->program->volatile_bytes))
            return bad(machine, "the resource goes outside of volatile memory");
        return put_outside(machine, machine->stack[top], data);
    case LAP_VM_POST:
        return post(machine);
    case LAP_VM_COPY:
        return copy(machine, data);
    case LAP_VM_CLONE:
        machine->types[machine->depth] = machine->types[top - data];
        machine->stack[machine->depth++] = machine->stack[top - data];
        return LAP_OK;
    case LAP_VM_STRCPY:
        return copy_string(machine, data);
    case LAP_VM_EXTEND:
        machine->stack[top] = lap_vm_extend(machine->types[top], machine->stack[top], data);
        return LAP_OK;
    case LAP_VM_ADD:
        for (uint32_t i = 1; i < data; i++, machine->depth--)
            machine->stack[machine->depth - 2] =
                lap_vm_sum(machine->types[machine->depth - 2], machine->stack[machine->depth - 2],
                           machine->stack[machine->depth - 1]);
        return LAP_OK;
    case LAP_VM_LABEL:
        machine->label = data;
        return LAP_OK;
    default:
        return bad(machine, "there is no such code"); /* the verifier refuses it */
    }
}

enum lap_status lap_vm_run(struct lap_vm_machine *machine, size_t end)
{
    enum lap_status status = LAP_OK;

    while (status == LAP_OK && machine->at < end) {
        status = step(machine, machine->program->code[machine->at]);
        if (status >= 0)
            machine->at++;
    }
    return status;
}

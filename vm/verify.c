/* SPDX-License-Identifier: MIT */
#include "vm/verify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* An entry of the stack. */
struct entry {
    uint8_t type;
    bool known; /* the value */
    uint64_t value;
};

struct walk {
    const struct lap_vm_program *program;
    size_t at;
    struct entry stack[LAP_VM_STACK];
    size_t depth;
};

static enum lap_status LAP_PRINTF(2, 3) bad(const struct walk *walk, const char *format, ...)
{
    char place[LAP_VM_PLACE_BYTES], text[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return lap_fail(LAP_ERROR_FORMAT, "%s: %s", lap_vm_place(walk->program, walk->at, place), text);
}

static enum lap_status push(struct walk *walk, unsigned type, bool known, uint64_t value)
{
    if (walk->depth == LAP_VM_STACK)
        return bad(walk, "the stack has no more than %d entries", LAP_VM_STACK);
    walk->stack[walk->depth++] = (struct entry){(uint8_t)type, known, value};
    return LAP_OK;
}

static enum lap_status need(const struct walk *walk, size_t count)
{
    if (walk->depth < count)
        return bad(walk, "it takes %zu entries of the stack, which has %zu", count, walk->depth);
    return LAP_OK;
}

/* The entry at `from_top` is a pointer to so many bytes, as far as that is known. writes: not to constants. */
static enum lap_status check_pointer(const struct walk *walk, size_t from_top, uint64_t bytes, bool writes)
{
    const struct entry *entry = &walk->stack[walk->depth - 1 - from_top];
    uint64_t all;

    if (!lap_vm_is_pointer(entry->type))
        return bad(walk, "%s is no pointer", lap_vm_type_name(entry->type));
    if (writes && entry->type == LAP_VM_CONSTANT)
        return bad(walk, "constants can't be written");
    if (entry->type == LAP_VM_ABSOLUTE || !entry->known)
        return LAP_OK;
    all = entry->type == LAP_VM_CONSTANT ? walk->program->constant_bytes : walk->program->volatile_bytes;
    if (entry->value > all || bytes > all - entry->value)
        return bad(walk, "%" PRIu64 " bytes at %" PRIu64 " are outside of the %" PRIu64 " of %s memory", bytes,
                   entry->value, all, entry->type == LAP_VM_CONSTANT ? "constant" : "volatile");
    return LAP_OK;
}

static enum lap_status check_range(const struct walk *walk, uint64_t address, unsigned bytes, uint64_t all,
                                   const char *what)
{
    if (address > all || bytes > all - address)
        return bad(walk, "%u bytes at %" PRIu64 " are outside of the %" PRIu64 " of %s memory", bytes, address, all,
                   what);
    return LAP_OK;
}

/* ---- instructions ---- */

static enum lap_status see_call(struct walk *walk, uint32_t word)
{
    unsigned api = lap_vm_api_of(word), number = lap_vm_function_of(word);
    const struct lap_vm_function *function;
    enum lap_status status;

    if (word & 0x02f00000)
        return bad(walk, "bits that are not used are set");
    if (number >= LAP_VM_RESERVED_FUNCTION)
        return bad(walk, "function %u is reserved", number);
    if (api >= LAP_VM_APIS || number >= walk->program->function_counts[api])
        return bad(walk, "there is no function %u of api %u", number, api);
    function = &walk->program->functions[api][number];
    status = need(walk, function->argument_count);
    for (unsigned i = 0; status == LAP_OK && i < function->argument_count; i++) {
        unsigned from_top = function->argument_count - 1u - i;
        unsigned has = walk->stack[walk->depth - 1 - from_top].type, wants = function->arguments[i];

        if (wants == LAP_VM_POINTER ? !lap_vm_is_pointer(has) : has != wants)
            return bad(walk, "argument %u is %s instead of %s", i + 1, lap_vm_type_name(has), lap_vm_type_name(wants));
        if (wants == LAP_VM_POINTER)
            status = check_pointer(walk, from_top, 0, false);
    }
    if (status != LAP_OK)
        return status;
    walk->depth -= function->argument_count;
    if (!lap_vm_pushes_return(word))
        return LAP_OK;
    if (function->result == LAP_VM_NOTHING)
        return bad(walk, "the function returns nothing");
    return push(walk, function->result, false, 0);
}

static enum lap_status see_push(struct walk *walk, unsigned type, uint32_t data)
{
    static const uint32_t most[LAP_VM_TYPE_COUNT] = {[LAP_VM_BOOL] = 1,
                                                     [LAP_VM_UINT8] = 0xff,
                                                     [LAP_VM_UINT16] = 0xffff,
                                                     [LAP_VM_FLOAT] = 0x1ff,
                                                     [LAP_VM_DOUBLE] = 0xfff};
    int32_t number = (int32_t)(data << (32 - LAP_VM_ADDRESS_BITS)) >> (32 - LAP_VM_ADDRESS_BITS);

    if ((most[type] && data > most[type]) || (type == LAP_VM_INT8 && (number < INT8_MIN || number > INT8_MAX)) ||
        (type == LAP_VM_INT16 && (number < INT16_MIN || number > INT16_MAX)))
        return bad(walk, "the value does not fit into %s", lap_vm_type_name(type));
    return push(walk, type, true, lap_vm_pushed(type, data));
}

static enum lap_status see_load(struct walk *walk, unsigned type)
{
    enum lap_status status = need(walk, 1);

    if (status == LAP_OK)
        status = check_pointer(walk, 0, lap_vm_type_bytes(type), false);
    if (status == LAP_OK)
        walk->stack[walk->depth - 1] = (struct entry){.type = (uint8_t)type};
    return status;
}

static enum lap_status see_store(struct walk *walk)
{
    enum lap_status status = need(walk, 2);

    if (status == LAP_OK)
        status = check_pointer(walk, 0, lap_vm_type_bytes(walk->stack[walk->depth - 2].type), true);
    if (status == LAP_OK)
        walk->depth -= 2;
    return status;
}

/* The target is on top, the source below. */
static enum lap_status see_copy(struct walk *walk, uint64_t read, uint64_t written)
{
    enum lap_status status = need(walk, 2);

    if (status == LAP_OK)
        status = check_pointer(walk, 0, written, true);
    if (status == LAP_OK)
        status = check_pointer(walk, 1, read, false);
    if (status == LAP_OK)
        walk->depth -= 2;
    return status;
}

static enum lap_status see_resource(struct walk *walk, uint32_t number)
{
    enum lap_status status = need(walk, 1);

    if (status == LAP_OK && number >= walk->program->resource_count)
        return bad(walk, "there is no resource %" PRIu32, number);
    if (status == LAP_OK)
        status = check_pointer(walk, 0, walk->program->resources[number].bytes, true);
    if (status == LAP_OK && walk->stack[walk->depth - 1].type != LAP_VM_VOLATILE)
        return bad(walk, "resources are loaded into volatile memory");
    if (status == LAP_OK)
        walk->depth--;
    return status;
}

static enum lap_status see_post(struct walk *walk)
{
    enum lap_status status = need(walk, 2);
    struct entry size;

    if (status != LAP_OK)
        return status;
    size = walk->stack[walk->depth - 1];
    if (size.type != LAP_VM_UINT32)
        return bad(walk, "the size is %s instead of Uint32", lap_vm_type_name(size.type));
    if (!lap_vm_is_pointer(walk->stack[walk->depth - 2].type))
        return bad(walk, "%s is no pointer", lap_vm_type_name(walk->stack[walk->depth - 2].type));
    if (size.known && size.value)
        status = check_pointer(walk, 1, size.value, false);
    if (status == LAP_OK)
        walk->depth -= 2;
    return status;
}

static enum lap_status see_clone(struct walk *walk, uint32_t from_top)
{
    const struct entry *entry;

    if (from_top >= walk->depth)
        return bad(walk, "the stack has %zu entries", walk->depth);
    entry = &walk->stack[walk->depth - 1 - from_top];
    return push(walk, entry->type, entry->known, entry->value);
}

static enum lap_status see_extend(struct walk *walk, uint32_t data)
{
    enum lap_status status = need(walk, 1);
    struct entry *entry;

    if (status != LAP_OK)
        return status;
    entry = &walk->stack[walk->depth - 1];
    if (entry->type == LAP_VM_BOOL)
        return bad(walk, "Bool has one bit");
    entry->value = lap_vm_extend(entry->type, entry->value, data);
    return LAP_OK;
}

static enum lap_status see_add(struct walk *walk, uint32_t count)
{
    struct entry sum;
    enum lap_status status;

    if (count == 0)
        return bad(walk, "a sum has at least one value");
    status = need(walk, count);
    if (status != LAP_OK)
        return status;
    sum = walk->stack[walk->depth - count];
    if (sum.type == LAP_VM_BOOL)
        return bad(walk, "Bool has no sum");
    for (size_t i = walk->depth - count + 1; i < walk->depth; i++) {
        if (walk->stack[i].type != sum.type)
            return bad(walk, "%s and %s have no sum", lap_vm_type_name(sum.type),
                       lap_vm_type_name(walk->stack[i].type));
        sum.known &= walk->stack[i].known;
        sum.value = lap_vm_sum(sum.type, sum.value, walk->stack[i].value);
    }
    walk->depth -= count;
    return push(walk, sum.type, sum.known, sum.value);
}

static enum lap_status see(struct walk *walk, uint32_t word)
{
    unsigned code = lap_vm_code_of(word), type = lap_vm_type_of(word);
    uint32_t data = lap_vm_data_of(word), address = lap_vm_address_of(word);
    const struct lap_vm_program *program = walk->program;
    enum lap_status status = LAP_OK;

    if ((code == LAP_VM_PUSH_I || code == LAP_VM_LOAD_C || code == LAP_VM_LOAD_V || code == LAP_VM_LOAD) &&
        type >= LAP_VM_TYPE_COUNT)
        return bad(walk, "there is no type %u", type);
    if ((code == LAP_VM_LOAD && address) || ((code == LAP_VM_STORE || code == LAP_VM_POST) && data))
        return bad(walk, "bits that are not used are set");
    switch (code) {
    case LAP_VM_CALL:
        return see_call(walk, word);
    case LAP_VM_PUSH_I:
        return see_push(walk, type, address);
    case LAP_VM_LOAD_C:
        status = check_range(walk, address, lap_vm_type_bytes(type), program->constant_bytes, "constant");
        return status == LAP_OK ? push(walk, type, false, 0) : status;
    case LAP_VM_LOAD_V:
        status = check_range(walk, address, lap_vm_type_bytes(type), program->volatile_bytes, "volatile");
        return status == LAP_OK ? push(walk, type, false, 0) : status;
    case LAP_VM_LOAD:
        return see_load(walk, type);
    case LAP_VM_POP:
        status = need(walk, data);
        walk->depth -= status == LAP_OK ? data : 0;
        return status;
    case LAP_VM_STORE_V:
        status = need(walk, 1);
        if (status == LAP_OK)
            status = check_range(walk, data, lap_vm_type_bytes(walk->stack[walk->depth - 1].type),
                                 program->volatile_bytes, "volatile");
        walk->depth -= status == LAP_OK;
        return status;
    case LAP_VM_STORE:
        return see_store(walk);
    case LAP_VM_RESOURCE:
        return see_resource(walk, data);
    case LAP_VM_POST:
        return see_post(walk);
    case LAP_VM_COPY:
        return see_copy(walk, data, data);
    case LAP_VM_CLONE:
        return see_clone(walk, data);
    case LAP_VM_STRCPY:
        return data ? see_copy(walk, 0, data) : bad(walk, "there is no room for the end of the string");
    case LAP_VM_EXTEND:
        return see_extend(walk, data);
    case LAP_VM_ADD:
        return see_add(walk, data);
    case LAP_VM_LABEL:
        return data < program->label_count ? LAP_OK : bad(walk, "there is no label %" PRIu32, data);
    default:
        return bad(walk, "there is no such code");
    }
}

enum lap_status lap_vm_verify(const struct lap_vm_program *program, uint64_t volatile_limit)
{
    struct walk walk = {.program = program};
    enum lap_status status = LAP_OK;

    if (program->volatile_bytes > volatile_limit)
        return lap_fail(LAP_ERROR_LIMIT,
                        "the program needs %" PRIu64 " bytes of volatile memory; %" PRIu64 " are allowed",
                        program->volatile_bytes, volatile_limit);
    if (program->initial > program->count)
        return lap_fail(LAP_ERROR_FORMAT, "the initial part has more instructions than the program");
    for (; status == LAP_OK && walk.at < program->count; walk.at++)
        status = see(&walk, program->code[walk.at]);
    return status;
}

/* SPDX-License-Identifier: MIT */
/* Replay programs as text, and as files whose hashes are made right: each is refused with a sentence, or makes packets
 * that decode. What is written again is read as the same program. Mutations are of what a text says. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "gen_reflect.h"
#include "inspector/program/packets.h"
#include "inspector/program/signature.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/read_packets.h"
#include "trace/format/bytes.h"
#include "trace/format/hash.h"
#include "vm/program_file.h"
#include "vm/text.h"
#include "vm/verify.h"

#define RESOURCE_BYTES 4096u
#define MOST_ADDED     80u /* instructions, by one mutation */
#define MEMORY_BYTES   8192u
#define HEAD_BYTES     272u /* of a file; docs/vm.md */

size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t most, unsigned seed);

static const struct lap_vm_program *running;
static uint8_t resource[RESOURCE_BYTES];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc;
    (void)argv;
    memset(resource, 0x41, sizeof resource);
    return 0;
}

static enum lap_status get(void *user, uint32_t number, const uint8_t **out_data)
{
    (void)user;
    *out_data = resource;
    return running->resources[number].bytes <= sizeof resource ? LAP_OK
                                                               : lap_fail(LAP_ERROR_LIMIT, "a resource is too large");
}

static void advance(void *user)
{
    (void)user;
}

static void run(const struct lap_vm_program *program)
{
    const struct program_resources resources = {get, advance, NULL};
    struct program_packets *packets;
    struct lap_reader *reader;

    running = program;
    if (program_packets_create(program, &resources, &packets) != LAP_OK) {
        FUZZ_CHECK(lap_error_message()[0]);
        return;
    }
    if (lap_reader_open_made(program_packets_maker(packets), &reader) == LAP_OK) {
        (void)fuzz_read_packets(reader);
        lap_reader_close(&reader);
    }
    program_packets_destroy(&packets);
}

static bool is_same(const struct lap_vm_program *a, const struct lap_vm_program *b)
{
    return a->count == b->count && a->initial == b->initial && a->constant_bytes == b->constant_bytes &&
           (!a->count || memcmp(a->code, b->code, a->count * sizeof *a->code) == 0) &&
           (!a->constant_bytes || memcmp(a->constants, b->constants, a->constant_bytes) == 0) &&
           a->volatile_bytes == b->volatile_bytes && a->resource_count == b->resource_count &&
           a->label_count == b->label_count && strcmp(a->info, b->info) == 0;
}

static char *text_of(const struct lap_vm_program *program, size_t *out_bytes)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, out_bytes);

    if (!out)
        return NULL;
    FUZZ_CHECK(lap_vm_text_write(program, out) == LAP_OK);
    (void)fclose(out);
    return text;
}

static void check_text(const struct lap_vm_program *program)
{
    struct lap_vm_program again;
    size_t bytes = 0;
    char *text = text_of(program, &bytes);
    FILE *in = text ? fmemopen(text, bytes, "r") : NULL;

    if (in) {
        FUZZ_CHECK(lap_vm_text_read(in, &again) == LAP_OK);
        FUZZ_CHECK(is_same(program, &again));
        lap_vm_text_release(&again);
        (void)fclose(in);
    }
    free(text);
}

static void check(const struct lap_vm_program *program)
{
    FUZZ_CHECK(lap_vm_is_info(program->info, strlen(program->info)));
    if (program->constant_bytes < 1u << 20 && program->initial <= program->count)
        check_text(program);
    if (lap_vm_verify(program, 1u << 24) == LAP_OK)
        run(program);
    else
        FUZZ_CHECK(lap_error_message()[0]);
}

/* ---- files ---- */

static bool is_file(const uint8_t *data, size_t bytes)
{
    return bytes >= HEAD_BYTES && memcmp(data, LAP_VM_FILE_MAGIC, 8) == 0;
}

static void make_hashes_right(uint8_t *data, size_t bytes)
{
    for (uint8_t *section = data + 40; section + 40 <= data + HEAD_BYTES; section += 32) {
        uint64_t offset = lap_load_u64(section), count = lap_load_u64(section + 8);

        if (offset <= bytes && count <= bytes - offset)
            lap_store_u64(section + 24, lap_hash64(data + offset, count));
    }
    lap_store_u64(data + HEAD_BYTES - 8, lap_hash64(data, HEAD_BYTES - 8));
}

static void read_file(const uint8_t *data, size_t bytes)
{
    int fd = memfd_create("program", MFD_CLOEXEC);
    uint8_t *copy = malloc(bytes);
    struct lap_vm_program program;

    FUZZ_CHECK(fd >= 0 && copy);
    memcpy(copy, data, bytes);
    make_hashes_right(copy, bytes);
    FUZZ_CHECK(write(fd, copy, bytes) == (ssize_t)bytes);
    if (lap_vm_program_read(fd, &program) == LAP_OK) {
        for (size_t i = 0; i < program.resource_count && i < 16; i++)
            if (lap_vm_program_has(&program, i) && program.resources[i].bytes <= RESOURCE_BYTES) {
                uint8_t unpacked[RESOURCE_BYTES];

                if (lap_vm_program_get(&program, fd, i, unpacked) != LAP_OK)
                    FUZZ_CHECK(lap_error_message()[0]);
            }
        check(&program);
    } else {
        FUZZ_CHECK(lap_error_message()[0]);
    }
    lap_vm_program_release(&program);
    free(copy);
    close(fd);
}

static size_t make_file(const struct lap_vm_program *program, uint8_t *data, size_t most)
{
    int fd = memfd_create("program", MFD_CLOEXEC);
    ssize_t bytes = 0;

    if (fd >= 0 && lap_vm_program_write(program, NULL, fd) == LAP_OK && lseek(fd, 0, SEEK_END) <= (off_t)most)
        bytes = pread(fd, data, most, 0);
    close(fd);
    return bytes > 0 ? (size_t)bytes : 0;
}

/* ---- mutations ---- */

struct change {
    struct lap_vm_program program;
    uint32_t *code;
    uint8_t *constants;
    struct lap_vm_resource *resources;
    struct lap_vm_function *functions; /* of one API */
    size_t at;                         /* where instructions are put in */
    uint64_t random;
};

static uint32_t any(struct change *c, uint32_t below)
{
    c->random = c->random * UINT64_C(6364136223846793005) + 1442695040888963407u;
    return below ? (uint32_t)(c->random >> 33) % below : 0;
}

static void put(struct change *c, uint32_t word)
{
    memmove(&c->code[c->at + 1], &c->code[c->at], (c->program.count - c->at) * sizeof *c->code);
    c->code[c->at++] = word;
    c->program.count++;
}

static void push(struct change *c, unsigned type, uint64_t value)
{
    if (value > LAP_VM_ADDRESS_MASK / 2) {
        put(c, lap_vm_typed_instruction(LAP_VM_PUSH_I, type, (uint32_t)(value >> LAP_VM_DATA_BITS)));
        put(c, lap_vm_instruction(LAP_VM_EXTEND, (uint32_t)value));
    } else {
        put(c, lap_vm_typed_instruction(LAP_VM_PUSH_I, type, (uint32_t)value));
    }
}

static uint32_t any_place(struct change *c)
{
    return any(c, any(c, 2) ? 8 : MEMORY_BYTES / 8) * 8;
}

static void push_pointer(struct change *c)
{
    switch (any(c, 8)) {
    case 0:
        push(c, LAP_VM_ABSOLUTE, 0);
        break;
    case 1:
    case 2:
        push(c, LAP_VM_CONSTANT, any_place(c));
        break;
    default:
        push(c, LAP_VM_VOLATILE, any_place(c));
        break;
    }
}

static void put_structure(struct change *c)
{
    uint32_t at = any_place(c), type;

    do
        type = any(c, 4) ? 1000000000u + any(c, 620) * 1000 + any(c, 8) : any(c, 60);
    while (gen_struct_of_type((VkStructureType)type) == GEN_STRUCT_NONE);
    push(c, LAP_VM_INT32, type);
    put(c, lap_vm_instruction(LAP_VM_STORE_V, at));
    push_pointer(c);
    put(c, lap_vm_instruction(LAP_VM_STORE_V, at + 8));
}

static void put_call(struct change *c)
{
    uint32_t command = 1 + any(c, GEN_COMMAND_COUNT - 1);
    unsigned api = any(c, LAP_VM_APIS);
    struct lap_vm_function own;
    size_t number = 0;

    if (c->functions || !program_signature(command, &own))
        return;
    c->functions = calloc(c->program.function_counts[api] + 1, sizeof own);
    while (number < c->program.function_counts[api] && strcmp(c->program.functions[api][number].name, own.name) != 0)
        number++;
    for (size_t i = 0; i < c->program.function_counts[api]; i++)
        c->functions[i] = c->program.functions[api][i];
    if (number == c->program.function_counts[api])
        c->functions[c->program.function_counts[api]++] = own;
    c->program.functions[api] = c->functions;
    if (c->program.label_count && c->at == 0)
        put(c, lap_vm_instruction(LAP_VM_LABEL, 0));
    for (unsigned i = 0; i < own.argument_count; i++)
        if (own.arguments[i] == LAP_VM_POINTER)
            push_pointer(c);
        else
            push(c, own.arguments[i], any(c, 8) ? any(c, 4) : LAP_BLOB_MIN_BYTES);
    put(c, lap_vm_call(false, api, (unsigned)number));
}

static void put_resource(struct change *c)
{
    uint32_t number;

    if (c->program.resource_count == 0)
        c->resources[c->program.resource_count++] = (struct lap_vm_resource){.bytes = LAP_BLOB_MIN_BYTES};
    number = any(c, (uint32_t)c->program.resource_count);
    c->resources[number].bytes = any(c, 2) ? any(c, 64) * 4 : c->resources[number].bytes;
    push(c, LAP_VM_VOLATILE, any_place(c));
    put(c, lap_vm_instruction(LAP_VM_RESOURCE, number));
}

/* Leaves the stack as it was. */
static void put_value(struct change *c)
{
    unsigned type = any(c, LAP_VM_TYPE_COUNT);

    switch (any(c, 4)) {
    case 0:
        push_pointer(c);
        put(c, lap_vm_typed_instruction(LAP_VM_LOAD, type, 0));
        break;
    case 1:
        put(c, lap_vm_typed_instruction(any(c, 2) ? LAP_VM_LOAD_V : LAP_VM_LOAD_C, type, any_place(c)));
        break;
    default:
        push(c, type, any(c, 2));
        put(c, lap_vm_instruction(LAP_VM_CLONE, 0));
        put(c, lap_vm_instruction(LAP_VM_ADD, 2));
        break;
    }
    put(c, any(c, 2) ? lap_vm_instruction(LAP_VM_POP, 1) : lap_vm_instruction(LAP_VM_STORE_V, any_place(c)));
}

static void change_once(struct change *c)
{
    struct lap_vm_program *p = &c->program;
    size_t less;

    c->at = any(c, (uint32_t)p->count + 1);
    switch (any(c, 9)) {
    case 0: /* other data */
        if (c->at < p->count)
            c->code[c->at] ^= any(c, 4) ? any(c, 16) << any(c, 20) : any(c, UINT32_MAX);
        break;
    case 1: /* other constants */
        lap_store_u32(c->constants + any(c, (uint32_t)p->constant_bytes / 4) * 4, any(c, any(c, 2) ? 8 : UINT32_MAX));
        break;
    case 2: /* some instructions less */
        less = any(c, (uint32_t)(p->count - c->at) + 1) / (1 + any(c, 64));
        memmove(&c->code[c->at], &c->code[c->at + less], (p->count - c->at - less) * sizeof *c->code);
        p->count -= less;
        break;
    case 3:
        push_pointer(c);
        put(c, lap_vm_instruction(LAP_VM_STORE_V, any_place(c)));
        break;
    case 4:
        put_resource(c);
        break;
    case 5:
        push_pointer(c);
        push(c, LAP_VM_VOLATILE, any_place(c));
        put(c, lap_vm_instruction(any(c, 2) ? LAP_VM_COPY : LAP_VM_STRCPY, any(c, 64)));
        break;
    case 6:
        put_structure(c);
        break;
    case 7:
        put_value(c);
        break;
    default:
        put_call(c);
        break;
    }
}

static size_t change_program(const struct lap_vm_program *program, uint8_t *data, size_t most, unsigned seed)
{
    struct change c = {.program = *program, .random = seed};
    struct lap_vm_program *p = &c.program;
    size_t bytes = 0;
    char *text;

    p->volatile_bytes = p->volatile_bytes < MEMORY_BYTES ? MEMORY_BYTES : p->volatile_bytes;
    p->constant_bytes = p->constant_bytes < MEMORY_BYTES ? MEMORY_BYTES : p->constant_bytes;
    p->code = c.code = calloc(p->count + 4 * MOST_ADDED, sizeof *c.code);
    p->constants = c.constants = calloc(1, p->constant_bytes);
    p->resources = c.resources = calloc(p->resource_count + 1, sizeof *c.resources);
    FUZZ_CHECK(c.code && c.constants && c.resources);
    for (size_t i = 0; i < p->count; i++)
        c.code[i] = program->code[i];
    for (size_t i = 0; i < p->resource_count; i++)
        c.resources[i] = program->resources[i];
    if (program->constant_bytes)
        memcpy(c.constants, program->constants, program->constant_bytes);
    for (unsigned i = any(&c, 4) + 1; i-- > 0;)
        change_once(&c);
    p->initial = p->initial > p->count ? p->count : p->initial;
    if (any(&c, 32) == 0) {
        bytes = make_file(p, data, most);
    } else if ((text = text_of(p, &bytes)) != NULL) {
        if (bytes <= most)
            memcpy(data, text, bytes);
        else
            bytes = 0;
        free(text);
    }
    free(c.code);
    free(c.constants);
    free(c.resources);
    free(c.functions);
    return bytes;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t most, unsigned seed)
{
    struct lap_vm_program program;
    size_t made = 0;
    FILE *in = seed % 8 && bytes && !is_file(data, bytes) ? fmemopen(data, bytes, "r") : NULL;

    if (in) {
        if (lap_vm_text_read(in, &program) == LAP_OK && program.constant_bytes < 1u << 20)
            made = change_program(&program, data, most, seed);
        lap_vm_text_release(&program);
        (void)fclose(in);
    }
    return made ? made : LLVMFuzzerMutate(data, bytes, most);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct lap_vm_program program;
    FILE *in;

    if (is_file(data, bytes)) {
        read_file(data, bytes);
        return 0;
    }
    in = bytes ? fmemopen((void *)(uintptr_t)data, bytes, "r") : NULL;
    if (!in)
        return 0;
    if (lap_vm_text_read(in, &program) == LAP_OK)
        check(&program);
    else
        FUZZ_CHECK(lap_error_message()[0]);
    lap_vm_text_release(&program);
    (void)fclose(in);
    return 0;
}

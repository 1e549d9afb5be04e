/* SPDX-License-Identifier: MIT */
#include "vm/program_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "trace/format/bytes.h"
#include "trace/format/hash.h"
#include "vm/resources.h"

#define HEAD_BYTES     40u
#define SECTION_BYTES  32u
#define STORED_BYTES   24u
#define RESOURCE_BYTES 24u
#define LABEL_BYTES    24u

enum section { CODE, CONSTANTS, FUNCTIONS, RESOURCES, LABELS, STORED, INFO, SECTIONS };

/* The bytes of a resource in the file; stored: 0: not there. A packed one has fewer bytes than the resource. */
struct stored {
    uint64_t offset, bytes;
};

struct owned {
    uint8_t *sections[SECTIONS];
    struct lap_vm_function *functions[LAP_VM_APIS];
    struct lap_vm_resource *resources;
    struct lap_vm_label *labels;
    struct stored *stored;
};

/* ---- writing ---- */

struct bytes {
    uint8_t *data;
    size_t count, room;
    bool failed;
};

static uint8_t *add(struct bytes *bytes, size_t count)
{
    if (bytes->count + count > bytes->room) {
        size_t room = (bytes->count + count) * 2;
        uint8_t *grown = bytes->failed ? NULL : realloc(bytes->data, room);
        if (!grown) {
            bytes->failed = true;
            return NULL;
        }
        bytes->data = grown;
        bytes->room = room;
    }
    bytes->count += count;
    return bytes->data + bytes->count - count;
}

static void add_bytes(struct bytes *bytes, const void *data, size_t count)
{
    uint8_t *to = add(bytes, count);
    if (to && count)
        memcpy(to, data, count);
}

static void add_u32(struct bytes *bytes, uint32_t value)
{
    uint8_t *to = add(bytes, 4);
    if (to)
        lap_store_u32(to, value);
}

static void add_u64(struct bytes *bytes, uint64_t value)
{
    uint8_t *to = add(bytes, 8);
    if (to)
        lap_store_u64(to, value);
}

static void add_functions(struct bytes *to, const struct lap_vm_program *program)
{
    for (unsigned api = 0; api < LAP_VM_APIS; api++) {
        add_u32(to, (uint32_t)program->function_counts[api]);
        for (size_t i = 0; i < program->function_counts[api]; i++) {
            const struct lap_vm_function *function = &program->functions[api][i];
            const uint8_t head[] = {(uint8_t)strlen(function->name), function->argument_count, function->result};

            add_bytes(to, head, sizeof head);
            add_bytes(to, function->arguments, function->argument_count);
            add_bytes(to, function->name, head[0]);
        }
    }
}

static void add_section(struct bytes *to, const struct lap_vm_program *program, enum section section,
                        const struct stored *stored)
{
    switch (section) {
    case CODE:
        for (size_t i = 0; i < program->count; i++)
            add_u32(to, program->code[i]);
        break;
    case CONSTANTS:
        add_bytes(to, program->constants, program->constant_bytes);
        break;
    case FUNCTIONS:
        add_functions(to, program);
        break;
    case RESOURCES:
        for (size_t i = 0; i < program->resource_count; i++) {
            add_u64(to, program->resources[i].hash[0]);
            add_u64(to, program->resources[i].hash[1]);
            add_u64(to, program->resources[i].bytes);
        }
        break;
    case LABELS:
        for (size_t i = 0; i < program->label_count; i++) {
            add_u64(to, program->labels[i].packet);
            add_u32(to, program->labels[i].frame);
            add_u32(to, program->labels[i].command);
            add_u64(to, program->labels[i].thread);
        }
        break;
    case STORED:
        for (size_t i = 0; i < program->resource_count; i++) {
            add_u64(to, stored[i].offset);
            add_u64(to, stored[i].bytes);
        }
        break;
    default:
        add_bytes(to, program->info, strlen(program->info));
        break;
    }
}

static enum lap_status put(int fd, const void *data, size_t bytes, uint64_t *at)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t wrote = pwrite(fd, (const uint8_t *)data + done, bytes - done, (off_t)(*at + done));
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return lap_fail(LAP_ERROR_IO, "can't write the program: %s", strerror(errno));
        done += (size_t)wrote;
    }
    *at += bytes;
    return LAP_OK;
}

/* Packed where that is smaller. */
static enum lap_status put_packed(int fd, const uint8_t *data, size_t bytes, uint64_t *at, size_t *out_stored,
                                  uint64_t *out_hash)
{
    uint8_t *packed;
    enum lap_status status = lap_vm_resource_pack(data, bytes, &packed, out_stored);

    if (status != LAP_OK)
        return status;
    if (out_hash)
        *out_hash = lap_hash64(packed, *out_stored);
    status = put(fd, packed, *out_stored, at);
    free(packed);
    return status;
}

static enum lap_status put_resources(const struct lap_vm_program *program, const struct lap_vm_resource_bytes *bytes,
                                     int fd, uint64_t *at, struct stored *stored)
{
    enum lap_status status = LAP_OK;

    for (size_t i = 0; bytes && status >= 0 && i < program->resource_count; i++) {
        const uint8_t *data;
        uint64_t offset = *at;
        size_t count = 0;

        status = bytes->get(bytes->user, i, &data);
        if (status == LAP_OK)
            status = put_packed(fd, data, program->resources[i].bytes, at, &count, NULL);
        if (status == LAP_OK)
            stored[i] = (struct stored){offset, count};
    }
    return status < 0 ? status : LAP_OK;
}

enum lap_status lap_vm_program_write(const struct lap_vm_program *program, const struct lap_vm_resource_bytes *bytes,
                                     int fd)
{
    uint8_t head[HEAD_BYTES + SECTIONS * SECTION_BYTES + 8] = LAP_VM_FILE_MAGIC;
    struct stored *stored = calloc(program->resource_count + 1, sizeof *stored);
    uint64_t at = sizeof head, none = 0, total = 0;
    enum lap_status status;

    if (!stored)
        return lap_fail(LAP_ERROR_MEMORY, "no memory to write the program");
    lap_store_u32(head + 8, LAP_VM_FILE_VERSION);
    lap_store_u64(head + 16, program->volatile_bytes);
    lap_store_u64(head + 24, program->initial);
    status = put_resources(program, bytes, fd, &at, stored);
    for (enum section i = 0; status == LAP_OK && i < SECTIONS; i++) {
        uint8_t *entry = head + HEAD_BYTES + i * SECTION_BYTES;
        struct bytes section = {0};
        uint64_t hash = 0, offset = at;
        size_t count = 0;

        add_section(&section, program, i, stored);
        if (section.failed)
            status = lap_fail(LAP_ERROR_MEMORY, "no memory to write the program");
        else if ((total += section.count) > LAP_VM_FILE_SECTION_LIMIT ||
                 (i == INFO && section.count > LAP_VM_INFO_BYTES))
            status = lap_fail(LAP_ERROR_LIMIT, "the program is larger than a file of one may be");
        else
            status = put_packed(fd, section.data, section.count, &at, &count, &hash);
        lap_store_u64(entry, offset);
        lap_store_u64(entry + 8, count);
        lap_store_u64(entry + 16, section.count);
        lap_store_u64(entry + 24, hash);
        free(section.data);
    }
    lap_store_u64(head + sizeof head - 8, lap_hash64(head, sizeof head - 8));
    if (status == LAP_OK)
        status = put(fd, head, sizeof head, &none);
    free(stored);
    return status;
}

/* ---- reading ---- */

static enum lap_status damaged(const char *what)
{
    return lap_fail(LAP_ERROR_FORMAT, "the program is damaged: %s", what);
}

static enum lap_status get(int fd, void *to, size_t bytes, uint64_t at)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = pread(fd, (uint8_t *)to + done, bytes - done, (off_t)(at + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return lap_fail(LAP_ERROR_IO, "can't read the program: %s", strerror(errno));
        if (got == 0)
            return damaged("it ends too early");
        done += (size_t)got;
    }
    return LAP_OK;
}

/* `bytes` bytes at `to`, of `stored` in the file. */
static enum lap_status get_packed(int fd, uint64_t at, size_t stored, uint8_t *to, size_t bytes, const uint64_t *hash)
{
    uint8_t *packed = stored == bytes ? to : malloc(stored ? stored : 1);
    enum lap_status status;

    if (!packed)
        return lap_fail(LAP_ERROR_MEMORY, "no memory to read the program");
    status = get(fd, packed, stored, at);
    if (status == LAP_OK && hash && lap_hash64(packed, stored) != *hash)
        status = damaged("a section has other bytes than its hash says");
    if (status == LAP_OK && packed != to && ZSTD_decompress(to, bytes, packed, stored) != bytes)
        status = damaged("bytes can't be unpacked");
    if (packed != to)
        free(packed);
    return status;
}

/* total: of the sections before, and then of this one, too. */
static enum lap_status read_section(int fd, const uint8_t *entry, uint64_t file_bytes, uint64_t *total, uint8_t **out,
                                    uint64_t *out_bytes)
{
    uint64_t offset = lap_load_u64(entry), stored = lap_load_u64(entry + 8), bytes = lap_load_u64(entry + 16);
    uint64_t hash = lap_load_u64(entry + 24);

    if (offset > file_bytes || stored > file_bytes - offset || stored > bytes)
        return damaged("a section is not in the file");
    if (bytes > LAP_VM_FILE_SECTION_LIMIT - *total)
        return lap_fail(LAP_ERROR_LIMIT, "a program of more than %" PRIu64 " MiB", LAP_VM_FILE_SECTION_LIMIT >> 20);
    *total += bytes;
    *out = aligned_alloc(64, (bytes + 128) / 64 * 64); /* constants are read as structures; text ends with a zero */
    if (!*out)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for a program of %" PRIu64 " bytes", bytes);
    (*out)[bytes] = 0;
    *out_bytes = bytes;
    return get_packed(fd, offset, stored, *out, bytes, &hash);
}

/* Names end with a zero, for which there is room where the next head begins, once that was read. */
static enum lap_status parse_functions(struct owned *owned, struct lap_vm_program *out, uint64_t bytes)
{
    uint8_t *p = owned->sections[FUNCTIONS], *end = p + bytes;

    for (unsigned api = 0; api < LAP_VM_APIS; api++) {
        uint32_t count = end - p < 4 ? UINT32_MAX : lap_load_u32(p);
        uint8_t *first = p;

        if (count > LAP_VM_RESERVED_FUNCTION)
            return damaged("its functions");
        owned->functions[api] = calloc(count + 1u, sizeof *owned->functions[api]);
        if (!owned->functions[api])
            return lap_fail(LAP_ERROR_MEMORY, "no memory for the functions of a program");
        out->functions[api] = owned->functions[api];
        out->function_counts[api] = count;
        p += 4;
        *first = 0; /* ends the last name of the api before */
        for (uint32_t i = 0; i < count; i++) {
            struct lap_vm_function *function = &owned->functions[api][i];
            uint8_t name;

            if (end - p < 3)
                return damaged("its functions");
            name = p[0], function->argument_count = p[1], function->result = p[2];
            *p = 0;
            p += 3;
            if (function->argument_count > LAP_VM_ARGUMENTS || function->result > LAP_VM_NOTHING ||
                function->result == LAP_VM_POINTER || end - p < function->argument_count + name)
                return damaged("its functions");
            for (unsigned j = 0; j < function->argument_count; j++)
                if ((function->arguments[j] = *p++) > LAP_VM_POINTER)
                    return damaged("its functions");
            if (!lap_vm_is_name((const char *)p, name))
                return damaged("the name of a function");
            function->name = (const char *)p;
            p += name;
        }
    }
    return p == end ? LAP_OK : damaged("its functions");
}

static enum lap_status parse_tables(struct owned *owned, struct lap_vm_program *out, const uint64_t *bytes,
                                    uint64_t file_bytes)
{
    size_t resources = bytes[RESOURCES] / RESOURCE_BYTES, labels = bytes[LABELS] / LABEL_BYTES;

    if (bytes[RESOURCES] % RESOURCE_BYTES || bytes[LABELS] % LABEL_BYTES || bytes[STORED] != resources * 16)
        return damaged("its tables");
    owned->resources = calloc(resources + 1, sizeof *owned->resources);
    owned->stored = calloc(resources + 1, sizeof *owned->stored);
    owned->labels = calloc(labels + 1, sizeof *owned->labels);
    if (!owned->resources || !owned->stored || !owned->labels)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for the tables of a program");
    for (size_t i = 0; i < resources; i++) {
        const uint8_t *p = owned->sections[RESOURCES] + i * RESOURCE_BYTES, *q = owned->sections[STORED] + i * 16;
        struct stored *stored = &owned->stored[i];

        owned->resources[i] = (struct lap_vm_resource){{lap_load_u64(p), lap_load_u64(p + 8)}, lap_load_u64(p + 16)};
        *stored = (struct stored){lap_load_u64(q), lap_load_u64(q + 8)};
        if (stored->offset > file_bytes || stored->bytes > file_bytes - stored->offset ||
            stored->bytes > owned->resources[i].bytes || owned->resources[i].bytes > LAP_VM_BYTES_MAX)
            return damaged("a resource is not in the file");
    }
    for (size_t i = 0; i < labels; i++) {
        const uint8_t *p = owned->sections[LABELS] + i * LABEL_BYTES;
        owned->labels[i] =
            (struct lap_vm_label){lap_load_u64(p), lap_load_u32(p + 8), lap_load_u32(p + 12), lap_load_u64(p + 16)};
    }
    out->resources = owned->resources, out->resource_count = resources;
    out->labels = owned->labels, out->label_count = labels;
    return LAP_OK;
}

enum lap_status lap_vm_program_read(int fd, struct lap_vm_program *out)
{
    uint8_t head[HEAD_BYTES + SECTIONS * SECTION_BYTES + 8];
    uint64_t bytes[SECTIONS] = {0}, total = 0;
    struct owned *owned = calloc(1, sizeof *owned);
    struct stat file;
    enum lap_status status;

    *out = (struct lap_vm_program){.info = "{}", .owned = owned};
    if (!owned)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for a program");
    if (fstat(fd, &file) != 0 || !S_ISREG(file.st_mode))
        status = lap_fail(LAP_ERROR_IO, "no regular file");
    else if ((uint64_t)file.st_size < sizeof head)
        status = lap_fail(LAP_ERROR_FORMAT, "no replay program");
    else
        status = get(fd, head, sizeof head, 0);
    if (status == LAP_OK && memcmp(head, LAP_VM_FILE_MAGIC, 8) != 0)
        status = lap_fail(LAP_ERROR_FORMAT, "no replay program");
    if (status == LAP_OK && lap_load_u32(head + 8) != LAP_VM_FILE_VERSION)
        status = lap_fail(LAP_ERROR_FORMAT, "a replay program of version %" PRIu32 "; this build reads version %u",
                          lap_load_u32(head + 8), LAP_VM_FILE_VERSION);
    if (status == LAP_OK && lap_hash64(head, sizeof head - 8) != lap_load_u64(head + sizeof head - 8))
        status = damaged("its head has another hash");
    for (unsigned i = 0; status == LAP_OK && i < SECTIONS; i++)
        status = read_section(fd, head + HEAD_BYTES + i * SECTION_BYTES, (uint64_t)file.st_size, &total,
                              &owned->sections[i], &bytes[i]);
    if (status == LAP_OK)
        status = parse_functions(owned, out, bytes[FUNCTIONS]);
    if (status == LAP_OK)
        status = parse_tables(owned, out, bytes, (uint64_t)file.st_size);
    if (status == LAP_OK && (bytes[CODE] % 4 || lap_load_u64(head + 16) > LAP_VM_BYTES_MAX))
        status = damaged("its code");
    if (status == LAP_OK && !lap_vm_is_info((const char *)owned->sections[INFO], bytes[INFO]))
        status = damaged("what it says about itself is no text of one line");
    if (status == LAP_OK) {
        uint32_t *code = (uint32_t *)(void *)owned->sections[CODE];

        out->count = bytes[CODE] / 4;
        for (size_t i = 0; i < out->count; i++)
            code[i] = lap_load_u32(owned->sections[CODE] + 4 * i);
        out->code = code;
        out->constants = owned->sections[CONSTANTS], out->constant_bytes = bytes[CONSTANTS];
        out->info = (const char *)owned->sections[INFO];
        out->volatile_bytes = lap_load_u64(head + 16);
        out->initial = lap_load_u64(head + 24);
    } else {
        lap_vm_program_release(out);
    }
    return status;
}

void lap_vm_program_release(struct lap_vm_program *program)
{
    struct owned *owned = program->owned;

    if (owned) {
        for (unsigned i = 0; i < SECTIONS; i++)
            free(owned->sections[i]);
        for (unsigned i = 0; i < LAP_VM_APIS; i++)
            free(owned->functions[i]);
        free(owned->resources);
        free(owned->labels);
        free(owned->stored);
        free(owned);
    }
    *program = (struct lap_vm_program){.info = "{}"};
}

bool lap_vm_program_has(const struct lap_vm_program *program, size_t number)
{
    const struct owned *owned = program->owned;
    return owned && (owned->stored[number].bytes || !program->resources[number].bytes);
}

enum lap_status lap_vm_program_get_packed(const struct lap_vm_program *program, int fd, size_t number, uint8_t **out,
                                          size_t *out_bytes)
{
    const struct owned *owned = program->owned;
    size_t bytes = owned->stored[number].bytes;
    enum lap_status status;

    *out = malloc(bytes + 1);
    if (!*out)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for a resource of %zu bytes", bytes);
    *out_bytes = bytes;
    status = get(fd, *out, bytes, owned->stored[number].offset);
    if (status != LAP_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}

enum lap_status lap_vm_program_get(const struct lap_vm_program *program, int fd, size_t number, uint8_t *to)
{
    uint8_t *packed;
    size_t bytes;
    enum lap_status status = lap_vm_program_get_packed(program, fd, number, &packed, &bytes);

    if (status != LAP_OK)
        return status;
    status = lap_vm_resource_unpack(&program->resources[number], packed, bytes, to);
    free(packed);
    return status == LAP_ERROR_FORMAT ? lap_fail_context(status, "the program is damaged") : status;
}

enum lap_status lap_vm_program_strip(const struct lap_vm_program *program, int from, int to)
{
    uint8_t head[HEAD_BYTES + SECTIONS * SECTION_BYTES + 8];
    struct stored *none = calloc(program->resource_count + 1, sizeof *none);
    uint64_t at = sizeof head, begin = 0;
    enum lap_status status =
        none ? get(from, head, sizeof head, 0) : lap_fail(LAP_ERROR_MEMORY, "no memory to copy the program");

    for (enum section i = 0; status == LAP_OK && i < SECTIONS; i++) {
        uint8_t *entry = head + HEAD_BYTES + i * SECTION_BYTES, *packed = NULL;
        uint64_t offset = lap_load_u64(entry), hash = lap_load_u64(entry + 24);
        size_t bytes = lap_load_u64(entry + 8);
        struct bytes section = {0};

        lap_store_u64(entry, at);
        if (i == STORED) {
            add_section(&section, program, i, none);
            status = section.failed ? lap_fail(LAP_ERROR_MEMORY, "no memory to copy the program")
                                    : put_packed(to, section.data, section.count, &at, &bytes, &hash);
        } else {
            packed = malloc(bytes + 1);
            status =
                packed ? get(from, packed, bytes, offset) : lap_fail(LAP_ERROR_MEMORY, "no memory to copy the program");
            if (status == LAP_OK)
                status = put(to, packed, bytes, &at);
        }
        lap_store_u64(entry + 8, bytes);
        lap_store_u64(entry + 24, hash);
        free(packed);
        free(section.data);
    }
    lap_store_u64(head + sizeof head - 8, lap_hash64(head, sizeof head - 8));
    if (status == LAP_OK)
        status = put(to, head, sizeof head, &begin);
    free(none);
    return status;
}

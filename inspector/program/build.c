/* SPDX-License-Identifier: MIT */
#include "inspector/program/build.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_reflect.h"
#include "inspector/program/signature.h"
#include "inspector/twin/recode.h"
#include "trace/format/hash.h"
#include "vulkan/block.h"
#include "vulkan/pointers.h"

#define ARENA_BYTES ((size_t)1 << 30)
#define ALIGNMENT   16u
/* Volatile memory: what stays for later calls, and behind it what one call needs. */
#define LASTING_BYTES (UINT64_C(32) << 20)

/* Something that parameters point to. */
struct piece {
    const uint8_t *target;
    size_t bytes;
    size_t last_link;      /* 1 + index; 0: it has no pointers */
    uint64_t resource;     /* 1 + number; 0: none */
    enum lap_vm_type type; /* where it was put: */
    uint64_t value;
    bool lasts;
};

/* A pointer to a piece. */
struct link {
    const uint8_t *location;
    size_t piece;
    size_t next; /* of the same owner: 1 + index */
};

/* Bytes that were put somewhere. */
struct placed {
    uint64_t hash[2];
    uint64_t value;
};

struct program_build {
    struct lap_vm_program program;
    struct lap_reader *reader;
    struct lap_dictionary dictionary;
    struct recode recode;
    struct lap_arena arena;
    struct lap_arena own; /* records of what was put */
    const void *arena_block;

    uint32_t *code;
    size_t code_room;
    uint8_t *constants;
    size_t constant_room;
    struct lap_vm_function *functions[LAP_VM_APIS];
    size_t function_room[LAP_VM_APIS];
    uint32_t numbers[LAP_VM_APIS][GEN_COMMAND_COUNT]; /* 1 + function */
    struct lap_vm_resource *resources;
    size_t resource_room;
    uint64_t *blobs; /* [resource] */
    size_t blob_room;
    struct lap_map resource_of; /* by the number of a blob: 1 + resource, as a pointer */
    struct lap_vm_label *labels;
    size_t label_room;
    char *info;

    struct lap_map constant_map, lasting_map; /* by hash: struct placed */
    uint64_t lasting, passing, passing_most;

    /* The parameters of one call. */
    const uint8_t *args;
    struct piece *pieces;
    size_t piece_count, piece_room;
    struct link *links;
    size_t link_count, link_room;
    size_t args_link; /* of pointers in the parameters themselves: 1 + index */
    size_t last_owner;
    uint8_t *scratch;
    size_t scratch_room;
    uint32_t checks; /* 1 + the number of lapilliChecks; 0: nothing is posted */
};

/* ---- code ---- */

static enum lap_status emit(struct program_build *b, uint32_t word)
{
    if (!lap_array_grow(&b->code, sizeof *b->code, &b->code_room, b->program.count + 1))
        return lap_no_memory(NULL);
    b->code[b->program.count++] = word;
    return LAP_OK;
}

/* Whether PUSH_I alone has this value. */
static bool is_short(unsigned type, uint64_t value)
{
    return lap_vm_pushed(type, (uint32_t)value & LAP_VM_ADDRESS_MASK) == value;
}

static enum lap_status emit_number(struct program_build *b, unsigned type, uint64_t value)
{
    bool is_signed = type >= LAP_VM_INT8 && type <= LAP_VM_INT64;
    unsigned bits = 8 * lap_vm_type_bytes(type), extends = 0;
    int64_t wide = (int64_t)(value << (64 - bits)) >> (64 - bits);
    enum lap_status status;

    while (!is_short(
        type, (is_signed ? (uint64_t)(wide >> (LAP_VM_DATA_BITS * extends)) : value >> (LAP_VM_DATA_BITS * extends)) &
                  lap_vm_mask(type)))
        extends++;
    status = emit(b, lap_vm_typed_instruction(LAP_VM_PUSH_I, (enum lap_vm_type)type,
                                              (uint32_t)(is_signed ? (uint64_t)(wide >> (LAP_VM_DATA_BITS * extends))
                                                                   : value >> (LAP_VM_DATA_BITS * extends))));
    while (status == LAP_OK && extends-- > 0)
        status = emit(b, lap_vm_instruction(LAP_VM_EXTEND, (uint32_t)(value >> (LAP_VM_DATA_BITS * extends))));
    return status;
}

static enum lap_status emit_float(struct program_build *b, unsigned type, uint64_t value)
{
    unsigned fraction_bits = type == LAP_VM_FLOAT ? 23 : 52, extends = type == LAP_VM_FLOAT ? 1 : 2;
    uint64_t fraction = value & ((UINT64_C(1) << fraction_bits) - 1);
    enum lap_status status =
        emit(b, lap_vm_typed_instruction(LAP_VM_PUSH_I, (enum lap_vm_type)type, (uint32_t)(value >> fraction_bits)));

    while (status == LAP_OK && fraction && extends-- > 0)
        status = emit(b, lap_vm_instruction(LAP_VM_EXTEND, (uint32_t)(fraction >> (LAP_VM_DATA_BITS * extends))));
    return status;
}

static enum lap_status emit_value(struct program_build *b, unsigned type, uint64_t value)
{
    return type == LAP_VM_FLOAT || type == LAP_VM_DOUBLE ? emit_float(b, type, value) : emit_number(b, type, value);
}

/* ---- where pieces go ---- */

static struct placed *find_placed(const struct lap_map *map, const uint64_t hash[2])
{
    struct placed *placed = lap_map_get(map, hash[0] >> 1);
    return placed && placed->hash[0] == hash[0] && placed->hash[1] == hash[1] ? placed : NULL;
}

/* A hash that is taken by another piece is not noted: the piece is there twice. */
static enum lap_status note_placed(struct program_build *b, struct lap_map *map, const uint64_t hash[2], uint64_t value)
{
    struct placed *placed;

    if (lap_map_get(map, hash[0] >> 1) || hash[0] >> 1 >= UINT64_MAX - 1)
        return LAP_OK;
    placed = lap_arena_alloc(&b->own, sizeof *placed, 8);
    if (!placed)
        return lap_no_memory(NULL);
    *placed = (struct placed){{hash[0], hash[1]}, value};
    return lap_map_put(map, hash[0] >> 1, placed, NULL);
}

static enum lap_status put_constant(struct program_build *b, const uint8_t *data, size_t bytes, uint64_t *out)
{
    uint64_t hash[2], at = (b->program.constant_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    const struct placed *placed;

    lap_hash128(data, bytes, hash);
    placed = find_placed(&b->constant_map, hash);
    if (placed) {
        *out = placed->value;
        return LAP_OK;
    }
    if (at + bytes > LAP_VM_FILE_SECTION_LIMIT)
        return lap_fail(LAP_ERROR_LIMIT, "the program has more constants than a program may have");
    if (!lap_array_grow(&b->constants, 1, &b->constant_room, at + bytes + ALIGNMENT))
        return lap_no_memory(NULL);
    memset(b->constants + b->program.constant_bytes, 0, at - b->program.constant_bytes);
    if (bytes)
        memcpy(b->constants + at, data, bytes);
    b->program.constant_bytes = at + (bytes ? bytes : 1);
    b->constants[b->program.constant_bytes - 1] = bytes ? b->constants[b->program.constant_bytes - 1] : 0;
    *out = at;
    return note_placed(b, &b->constant_map, hash, at);
}

/* Room in volatile memory: for later calls, too, or for this one. */
static uint64_t take_volatile(struct program_build *b, size_t bytes, bool lasts)
{
    uint64_t step = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT, *at = lasts ? &b->lasting : &b->passing;
    uint64_t taken = *at + (lasts ? 0 : LASTING_BYTES);

    *at += step;
    if (!lasts && b->passing > b->passing_most)
        b->passing_most = b->passing;
    return taken;
}

static enum lap_status copy_template(struct program_build *b, uint64_t from, uint64_t to, uint64_t bytes)
{
    enum lap_status status = LAP_OK;

    for (uint64_t done = 0; status == LAP_OK && done < bytes;) {
        uint64_t count = bytes - done > LAP_VM_DATA_MASK ? LAP_VM_DATA_MASK : bytes - done;

        status = emit_number(b, LAP_VM_CONSTANT, from + done);
        if (status == LAP_OK)
            status = emit_number(b, LAP_VM_VOLATILE, to + done);
        if (status == LAP_OK)
            status = emit(b, lap_vm_instruction(LAP_VM_COPY, (uint32_t)count));
        done += count;
    }
    return status;
}

static enum lap_status store_pointer(struct program_build *b, const struct piece *to, uint64_t at)
{
    enum lap_status status = emit_number(b, to->type, to->value);

    if (status != LAP_OK)
        return status;
    if (at <= LAP_VM_DATA_MASK)
        return emit(b, lap_vm_instruction(LAP_VM_STORE_V, (uint32_t)at));
    status = emit_number(b, LAP_VM_VOLATILE, at);
    return status == LAP_OK ? emit(b, lap_vm_instruction(LAP_VM_STORE, 0)) : status;
}

/* A piece with pointers: from a template, unless the same one is there. */
static enum lap_status put_volatile(struct program_build *b, struct piece *piece, const uint8_t *data)
{
    struct lap_map *map = &b->lasting_map;
    const struct placed *placed;
    uint64_t hash[2], template;
    enum lap_status status;

    piece->type = LAP_VM_VOLATILE;
    piece->lasts = piece->bytes < LASTING_BYTES / 64;
    lap_hash128(data, piece->bytes, hash);
    for (size_t i = piece->last_link; i; i = b->links[i - 1].next) {
        const struct piece *to = &b->pieces[b->links[i - 1].piece];
        const uint64_t parts[5] = {hash[0], hash[1], (uint64_t)(b->links[i - 1].location - piece->target), to->type,
                                   to->value};

        piece->lasts &= to->lasts;
        lap_hash128(parts, sizeof parts, hash);
    }
    placed = piece->lasts ? find_placed(map, hash) : NULL;
    if (placed) {
        piece->value = placed->value;
        return LAP_OK;
    }
    status = put_constant(b, data, piece->bytes, &template);
    piece->value = take_volatile(b, piece->bytes, piece->lasts);
    if (status == LAP_OK)
        status = copy_template(b, template, piece->value, piece->bytes);
    for (size_t i = piece->last_link; status == LAP_OK && i; i = b->links[i - 1].next)
        status = store_pointer(b, &b->pieces[b->links[i - 1].piece],
                               piece->value + (uint64_t)(b->links[i - 1].location - piece->target));
    return status == LAP_OK && piece->lasts ? note_placed(b, map, hash, piece->value) : status;
}

static enum lap_status put_resource(struct program_build *b, struct piece *piece)
{
    enum lap_status status;

    piece->type = LAP_VM_VOLATILE;
    piece->value = take_volatile(b, piece->bytes, false);
    status = emit_number(b, LAP_VM_VOLATILE, piece->value);
    return status == LAP_OK ? emit(b, lap_vm_instruction(LAP_VM_RESOURCE, (uint32_t)(piece->resource - 1))) : status;
}

static enum lap_status put_piece(struct program_build *b, struct piece *piece)
{
    enum lap_status status;

    if (piece->resource)
        return put_resource(b, piece);
    if (!piece->last_link) {
        piece->type = LAP_VM_CONSTANT;
        piece->lasts = true;
        return put_constant(b, piece->target, piece->bytes, &piece->value);
    }
    if (!lap_array_grow(&b->scratch, 1, &b->scratch_room, piece->bytes))
        return lap_no_memory(NULL);
    memcpy(b->scratch, piece->target, piece->bytes);
    for (size_t i = piece->last_link; i; i = b->links[i - 1].next)
        memset(b->scratch + (b->links[i - 1].location - piece->target), 0, sizeof(void *));
    status = put_volatile(b, piece, b->scratch);
    return status;
}

/* What lasts has filled its part of volatile memory: begin anew, before the pieces of a call. */
static void make_room(struct program_build *b)
{
    if (b->lasting < LASTING_BYTES / 2)
        return;
    lap_map_finish(&b->lasting_map);
    lap_map_init(&b->lasting_map);
    b->lasting = 0;
}

/* ---- the pieces of a call ---- */

static bool holds(const struct piece *piece, const uint8_t *location)
{
    return location >= piece->target && location < piece->target + piece->bytes;
}

/* The piece that a pointer is in, as 1 + index; 0: the parameters. */
static size_t owner_of(struct program_build *b, const uint8_t *location)
{
    if (location >= b->args && location < b->args + sizeof(struct lap_args))
        return 0;
    if (b->last_owner && holds(&b->pieces[b->last_owner - 1], location))
        return b->last_owner;
    for (size_t i = b->piece_count; i > 0; i--)
        if (!b->pieces[i - 1].resource && holds(&b->pieces[i - 1], location))
            return b->last_owner = i;
    return 0;
}

static enum lap_status resource_of(struct program_build *b, const struct recode_blob *blob, uint64_t *out)
{
    void *known = lap_map_get(&b->resource_of, blob->number);
    size_t count = b->program.resource_count;
    struct lap_vm_resource *resource;

    *out = (uint64_t)(uintptr_t)known;
    if (known)
        return LAP_OK;
    if (count == LAP_VM_DATA_MASK)
        return lap_fail(LAP_ERROR_LIMIT, "the trace has more blobs than a program may have resources");
    if (!lap_array_grow(&b->resources, sizeof *b->resources, &b->resource_room, count + 1) ||
        !lap_array_grow(&b->blobs, sizeof *b->blobs, &b->blob_room, count + 1))
        return lap_no_memory(NULL);
    resource = &b->resources[count];
    *resource = (struct lap_vm_resource){.bytes = blob->bytes};
    lap_hash128(blob->data, blob->bytes, resource->hash);
    b->blobs[count] = blob->number;
    *out = b->program.resource_count = count + 1;
    return lap_map_put(&b->resource_of, blob->number, (void *)(uintptr_t)*out, NULL);
}

static enum lap_status see_pointer(void *user, const void *location, const void *target, size_t bytes, size_t alignment)
{
    struct program_build *b = user;
    size_t owner = owner_of(b, location), *last = owner ? &b->pieces[owner - 1].last_link : &b->args_link;
    struct piece *piece;
    enum lap_status status = LAP_OK;

    (void)alignment;
    if (*last && b->links[*last - 1].location == (const uint8_t *)location) { /* an element of a chain, whole */
        b->pieces[b->links[*last - 1].piece].bytes = bytes;
        return LAP_OK;
    }
    if (!lap_array_grow(&b->pieces, sizeof *b->pieces, &b->piece_room, b->piece_count + 1) ||
        !lap_array_grow(&b->links, sizeof *b->links, &b->link_room, b->link_count + 1))
        return lap_no_memory(NULL);
    last = owner ? &b->pieces[owner - 1].last_link : &b->args_link;
    piece = &b->pieces[b->piece_count];
    *piece = (struct piece){.target = target, .bytes = bytes};
    for (size_t i = 0; status == LAP_OK && i < b->recode.blob_count; i++)
        if (b->recode.blobs[i].data == piece->target && b->recode.blobs[i].bytes == bytes) {
            status = resource_of(b, &b->recode.blobs[i], &piece->resource);
            break;
        }
    b->links[b->link_count] = (struct link){location, b->piece_count++, *last};
    *last = ++b->link_count;
    return status;
}

static enum lap_status see_string(void *user, const void *location, const char *target, size_t *out_bytes)
{
    *out_bytes = strlen(target) + 1;
    return see_pointer(user, location, target, *out_bytes, 1);
}

/* ---- calls ---- */

static enum lap_status number_of(struct program_build *b, unsigned api, uint32_t command, uint32_t *out)
{
    size_t count = b->program.function_counts[api];

    if (!b->numbers[api][command]) {
        if (!lap_array_grow(&b->functions[api], sizeof *b->functions[api], &b->function_room[api], count + 1))
            return lap_no_memory(NULL);
        if (!program_signature(command, &b->functions[api][count]))
            return lap_fail(LAP_ERROR_UNSUPPORTED, "%s can't be a function of a program", gen_command_names[command]);
        b->numbers[api][command] = (uint32_t)++b->program.function_counts[api];
    }
    *out = b->numbers[api][command] - 1;
    return LAP_OK;
}

static enum lap_status emit_argument(struct program_build *b, const struct gen_member *member)
{
    const uint8_t *at = b->args + member->offset;
    unsigned type = program_type_of(member);
    uint64_t value = 0;

    if (type != LAP_VM_POINTER) {
        memcpy(&value, at, member->element_bytes);
        return emit_value(b, type, value);
    }
    if (member->shape == GEN_SHAPE_ARRAY || member->shape == GEN_SHAPE_VALUE) {
        enum lap_status status = put_constant(b, at, (size_t)member->count * member->element_bytes, &value);
        return status == LAP_OK ? emit_number(b, LAP_VM_CONSTANT, value) : status;
    }
    for (size_t i = b->args_link; i; i = b->links[i - 1].next)
        if (b->links[i - 1].location == at) {
            const struct piece *piece = &b->pieces[b->links[i - 1].piece];
            return emit_number(b, piece->type, piece->value);
        }
    return emit_number(b, LAP_VM_ABSOLUTE, 0);
}

static enum lap_status emit_call(struct program_build *b, unsigned api, uint32_t command, const struct lap_args *args)
{
    const struct lap_pointers_visitor visitor = {.pointer = see_pointer, .string = see_string, .user = b};
    const struct gen_member *member;
    uint32_t next = 0, function = 0;
    enum lap_status status = number_of(b, api, command, &function);

    make_room(b);
    b->args = args->bytes;
    b->piece_count = b->link_count = b->args_link = b->last_owner = 0;
    b->passing = 0;
    if (status == LAP_OK)
        status = lap_pointers_walk(command, args, &visitor);
    for (size_t i = b->piece_count; status == LAP_OK && i-- > 0;)
        status = put_piece(b, &b->pieces[i]);
    while (status == LAP_OK && (member = program_parameter(command, &next)) != NULL)
        status = emit_argument(b, member);
    return status == LAP_OK ? emit(b, lap_vm_call(false, api, function)) : status;
}

static enum lap_status emit_label(struct program_build *b, const struct lap_packet *packet, uint32_t command)
{
    size_t count = b->program.label_count;

    if (count > LAP_VM_DATA_MASK)
        return lap_fail(LAP_ERROR_LIMIT, "the trace has more commands than a program may have labels");
    if (!lap_array_grow(&b->labels, sizeof *b->labels, &b->label_room, count + 1))
        return lap_no_memory(NULL);
    b->labels[b->program.label_count++] =
        (struct lap_vm_label){packet->ticket, (uint32_t)packet->frame, command, packet->thread_id};
    return emit(b, lap_vm_instruction(LAP_VM_LABEL, (uint32_t)count));
}

/* Where lapilliChecks puts its result: behind all that lasts. */
#define CHECKS_AT (LASTING_BYTES - ALIGNMENT)

static enum lap_status add_checks(struct program_build *b)
{
    size_t count = b->program.function_counts[PROGRAM_RUNTIME];

    if (!lap_array_grow(&b->functions[PROGRAM_RUNTIME], sizeof *b->functions[0], &b->function_room[PROGRAM_RUNTIME],
                        count + 1))
        return lap_no_memory(NULL);
    b->functions[PROGRAM_RUNTIME][count] = program_checks_function();
    b->program.function_counts[PROGRAM_RUNTIME] = count + 1;
    b->checks = (uint32_t)count + 1;
    return LAP_OK;
}

/* Posts what the checks up to here have found. */
static enum lap_status emit_post(struct program_build *b)
{
    enum lap_status status = emit_number(b, LAP_VM_VOLATILE, CHECKS_AT);

    if (status == LAP_OK)
        status = emit(b, lap_vm_call(false, PROGRAM_RUNTIME, b->checks - 1));
    for (unsigned i = 0; status == LAP_OK && i < 2; i++) { /* the pointer, the size */
        status = emit_number(b, LAP_VM_VOLATILE, CHECKS_AT + 8 * i);
        if (status == LAP_OK)
            status = emit(b, lap_vm_typed_instruction(LAP_VM_LOAD, i ? LAP_VM_UINT32 : LAP_VM_ABSOLUTE, 0));
    }
    return status == LAP_OK ? emit(b, lap_vm_instruction(LAP_VM_POST, 0)) : status;
}

/* A check of a present is done with the present. */
static bool may_check(uint32_t command)
{
    enum gen_check check = (enum gen_check)gen_command_checks[command];
    return check == GEN_CHECK_BUFFERS || check == GEN_CHECK_IMAGES || command == GEN_vkQueuePresentKHR;
}

/* Decoders leave padding as it was; zeros there make equal structures equal pieces. */
static void reset_arena(struct program_build *b)
{
    size_t used = lap_arena_used_bytes(&b->arena), room;

    lap_arena_reset(&b->arena);
    room = (size_t)(b->arena.end - b->arena.next);
    if (b->arena.next != b->arena_block) {
        b->arena_block = b->arena.next;
        used = room;
    }
    if (room)
        memset(b->arena.next, 0, used < room ? used : room);
}

static enum lap_status build_block(struct program_build *b, const struct lap_packet *packet,
                                   const struct gen_args_lapilliBlock *recording, struct program_build_result *result)
{
    uint64_t commands = (uint64_t)(uintptr_t)recording->commandBuffer;
    struct lap_block block;
    struct lap_args args;
    const uint8_t *data;
    size_t bytes;
    uint32_t command;
    enum lap_status status = lap_reader_blob(b->reader, LAP_BLOB_BLOCK, recording->block, &data, &bytes);

    if (status != LAP_OK)
        return status;
    recode_forget(&b->recode);
    lap_block_init(&block, data, bytes, commands, &b->dictionary, &b->arena, &b->recode.source);
    for (;;) {
        uint32_t index = block.index;

        reset_arena(b);
        memset(&args, 0, sizeof args);
        block.dec.unknown_structs = 0;
        status = lap_block_next(&block, &command, &args);
        if (status != LAP_OK)
            return status == LAP_END ? LAP_OK : status;
        if (block.dec.unknown_structs)
            return lap_fail(LAP_ERROR_UNSUPPORTED, "%s has a structure that this build does not know",
                            gen_command_names[command]);
        result->commands++;
        status = emit_label(b, packet, index);
        if (status == LAP_OK)
            status = emit_call(b, PROGRAM_VULKAN, command, &args);
        if (status != LAP_OK)
            return status;
    }
}

static enum lap_status build_packet(struct program_build *b, const struct lap_packet *packet,
                                    struct program_build_result *result)
{
    uint32_t command = lap_dictionary_command(&b->dictionary, packet->command);
    bool is_record = packet->flags & LAP_PACKET_INFO || (command && gen_command_flags[command] & LAP_PACKET_INFO);
    struct lap_args args;
    enum lap_status status;

    if (packet->flags & LAP_PACKET_FAILED || (is_record && !gen_decode_table[command])) {
        result->left_out++;
        return LAP_OK;
    }
    if (!gen_decode_table[command])
        return lap_fail(LAP_ERROR_UNSUPPORTED, "this build does not know %s",
                        lap_reader_command_name(b->reader, packet->command));
    reset_arena(b);
    memset(&args, 0, sizeof args);
    status = recode_decode(&b->recode, packet, &b->arena, command, args.bytes);
    if (is_record && status == LAP_ERROR_UNSUPPORTED) {
        result->left_out++;
        return LAP_OK;
    }
    if (status != LAP_OK)
        return status;
    result->packets++;
    if (command == GEN_lapilliBlock)
        return build_block(b, packet, (const void *)args.bytes, result);
    status = emit_label(b, packet, UINT32_MAX);
    if (status != LAP_OK)
        return status;
    status = emit_call(b,
                       is_record                        ? PROGRAM_RECORD
                       : gen_command_providers[command] ? PROGRAM_VULKAN
                                                        : PROGRAM_RUNTIME,
                       command, &args);
    return status == LAP_OK && b->checks && may_check(command) ? emit_post(b) : status;
}

/* ---- the whole ---- */

/* What a replay asks of a trace besides its packets (vm: "trace" in the information of the program). */
static char *describe(const struct lap_reader *reader)
{
    const struct lap_reader_summary *summary = lap_reader_summary(reader);
    cJSON *all = cJSON_CreateObject(), *counters = cJSON_AddArrayToObject(all, "counters");
    char *text;

    cJSON_AddItemToObject(all, "trace", cJSON_Parse(summary->info));
    cJSON_AddNumberToObject(all, "frames", (double)summary->frames);
    cJSON_AddNumberToObject(all, "packets", (double)summary->packets);
    for (unsigned i = 0; i < LAP_COUNTER_COUNT; i++)
        cJSON_AddItemToArray(counters, cJSON_CreateNumber((double)summary->counters[i]));
    text = cJSON_PrintUnformatted(all);
    cJSON_Delete(all);
    /* cJSON escapes other control characters than these. */
    for (char *c = text; c && *c; c++) {
        size_t bytes = (uint8_t)*c == 0xc2 && c[1] ? 2 : 1;

        if (!lap_vm_is_info(c, bytes))
            memset(c, '?', bytes);
    }
    return text;
}

static enum lap_status build_all(struct program_build *b, const struct program_build_options *options,
                                 struct program_build_result *result)
{
    uint64_t all = lap_reader_summary(b->reader)->packets;
    bool cut = false;
    struct lap_packet packet;
    enum lap_status status;

    while ((status = lap_reader_next(b->reader, &packet)) == LAP_OK) {
        if (options->last && packet.ticket > options->last)
            break;
        if (options->initial_last && packet.ticket > options->initial_last && !cut) {
            b->program.initial = b->program.count;
            cut = true;
        }
        if (options->progress && packet.ticket % 1024 == 0)
            options->progress(options->user, packet.ticket, all);
        status = build_packet(b, &packet, result);
        if (status < 0)
            return lap_fail_context(status, "frame %" PRIu64 ", packet %" PRIu64 " (%s)", packet.frame + 1,
                                    packet.ticket - 1, lap_reader_command_name(b->reader, packet.command));
    }
    if (status >= 0 && b->checks)
        status = emit_post(b);
    if (!cut)
        b->program.initial = b->program.count;
    return status == LAP_END || status == LAP_OK ? LAP_OK : status;
}

enum lap_status program_build(const struct lap_reader *trace, const struct program_build_options *options,
                              struct program_build **out, struct program_build_result *out_result)
{
    struct program_build *b = *out = calloc(1, sizeof *b);
    enum lap_status status;

    *out_result = (struct program_build_result){0};
    if (!b)
        return lap_no_memory(NULL);
    lap_map_init(&b->resource_of);
    lap_map_init(&b->constant_map);
    lap_map_init(&b->lasting_map);
    lap_arena_init(&b->arena, ARENA_BYTES);
    lap_arena_init(&b->own, 0);
    status = sizeof(void *) == 8 ? lap_reader_open_again(trace, NULL, &b->reader)
                                 : lap_fail(LAP_ERROR_UNSUPPORTED, "replay programs need a 64-bit build");
    if (status == LAP_OK)
        status = lap_dictionary_init(&b->dictionary, b->reader);
    if (status == LAP_OK) {
        recode_init(&b->recode, &b->dictionary);
        b->info = describe(b->reader);
        status = b->info ? LAP_OK : lap_no_memory(NULL);
        if (status == LAP_OK && options->post_checks)
            status = add_checks(b);
        if (status == LAP_OK)
            status = build_all(b, options, out_result);
    }
    b->program.code = b->code;
    b->program.constants = b->constants;
    b->program.volatile_bytes = b->passing_most || b->checks ? LASTING_BYTES + b->passing_most : b->lasting;
    for (unsigned api = 0; api < LAP_VM_APIS; api++)
        b->program.functions[api] = b->functions[api];
    b->program.resources = b->resources;
    b->program.labels = b->labels;
    b->program.info = b->info;
    if (status != LAP_OK)
        program_build_destroy(out);
    return status;
}

void program_build_destroy(struct program_build **build)
{
    struct program_build *b = *build;

    if (!b)
        return;
    recode_finish(&b->recode);
    lap_dictionary_release(&b->dictionary);
    if (b->reader)
        lap_reader_close(&b->reader);
    lap_map_finish(&b->resource_of);
    lap_map_finish(&b->constant_map);
    lap_map_finish(&b->lasting_map);
    lap_arena_finish(&b->arena);
    lap_arena_finish(&b->own);
    for (unsigned api = 0; api < LAP_VM_APIS; api++)
        free(b->functions[api]);
    free(b->code);
    free(b->constants);
    free(b->resources);
    free(b->blobs);
    free(b->labels);
    free(b->pieces);
    free(b->links);
    free(b->scratch);
    cJSON_free(b->info);
    free(b);
    *build = NULL;
}

const struct lap_vm_program *program_built(const struct program_build *build)
{
    return &build->program;
}

static enum lap_status read_resource(void *user, size_t number, const uint8_t **out_data)
{
    struct program_build *b = user;
    size_t bytes;

    return lap_reader_blob(b->reader, LAP_BLOB_DATA, b->blobs[number], out_data, &bytes);
}

struct lap_vm_resource_bytes program_build_resources(struct program_build *build)
{
    return (struct lap_vm_resource_bytes){read_resource, build};
}

/* SPDX-License-Identifier: MIT */
#include "inspector/program/packets.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_decode.h"
#include "gen_reflect.h"
#include "inspector/program/made_blocks.h"
#include "inspector/program/signature.h"
#include "inspector/twin/recode.h"
#include "trace/format/bytes.h"
#include "vm/machine.h"
#include "vulkan/block.h"
#include "vulkan/pointers.h"

#define CHECKS_COMMAND UINT32_MAX                   /* lapilliChecks, which is none */
#define BYTES_MAX      ((size_t)LAP_BLOB_MAX_BYTES) /* of a call, and of a command buffer */

struct program_packets {
    const struct lap_vm_program *program;
    struct program_resources resources;
    struct lap_packet_maker maker;
    struct lap_names names;
    uint32_t *commands[LAP_VM_APIS]; /* [function]: enum gen_command */
    uint64_t *frame_ends;
    char *info;
};

/* The dictionary of the packets that are made: this build's own numbers. */
struct own_dictionary {
    uint32_t commands[GEN_COMMAND_COUNT], block_commands[GEN_COMMAND_COUNT], structs[GEN_STRUCT_COUNT],
        handle_types[GEN_HANDLE_COUNT];
};

struct making {
    const struct program_packets *packets;
    struct lap_vm_machine *machine;
    struct lap_vm_host host;
    struct own_dictionary numbers;
    struct lap_dictionary dictionary;
    struct recode recode;
    /* The command buffer that is recorded. */
    struct lap_enc block;
    bool recording;
    uint64_t commands; /* the command buffer's number */
    uint32_t command_count;
    struct made_blocks blocks;
    struct lap_packet packet; /* what the last call made */
    uint8_t *checks;          /* results that the program may read */
    uint32_t check_bytes;
    uint64_t call_bytes; /* that the call points to */
    uint64_t ticket;     /* of the last packet */
};

/* ---- what a program is ---- */

static bool is_same(const struct lap_vm_function *a, const struct lap_vm_function *b)
{
    return a->argument_count == b->argument_count && a->result == b->result &&
           memcmp(a->arguments, b->arguments, a->argument_count) == 0;
}

static uint32_t command_by_name(const char *name)
{
    for (uint32_t i = 1; i < GEN_COMMAND_COUNT; i++)
        if (strcmp(gen_command_names[i], name) == 0)
            return i;
    return gen_command_by_alias(name);
}

static bool belongs(unsigned api, uint32_t command)
{
    if (command == GEN_lapilliBlock)
        return false;
    return api == PROGRAM_RECORD || (api == PROGRAM_RUNTIME) == !gen_command_providers[command];
}

static enum lap_status find_functions(struct program_packets *p)
{
    for (unsigned api = 0; api < LAP_VM_APIS; api++) {
        p->commands[api] = calloc(p->program->function_counts[api] + 1, sizeof *p->commands[api]);
        if (!p->commands[api])
            return lap_fail(LAP_ERROR_MEMORY, "out of memory");
        for (size_t i = 0; i < p->program->function_counts[api]; i++) {
            const struct lap_vm_function *function = &p->program->functions[api][i];
            uint32_t command = command_by_name(function->name);
            struct lap_vm_function own;

            if (program_is_checks(api, function)) {
                p->commands[api][i] = CHECKS_COMMAND;
                continue;
            }
            if (!command || !gen_decode_table[command] || !belongs(api, command) || !program_signature(command, &own))
                return lap_fail(LAP_ERROR_FORMAT, "this build has no function %s of api %u", function->name, api);
            if (!is_same(function, &own))
                return lap_fail(LAP_ERROR_FORMAT, "%s has other parameters in this build", function->name);
            p->commands[api][i] = command;
        }
    }
    return LAP_OK;
}

static uint64_t number_in(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) && item->valuedouble >= 0 && item->valuedouble < 1e15 ? (uint64_t)item->valuedouble : 0;
}

static enum lap_status read_facts(struct program_packets *p)
{
    cJSON *all = cJSON_Parse(p->program->info);
    const cJSON *trace = cJSON_GetObjectItemCaseSensitive(all, "trace");
    const cJSON *counters = cJSON_GetObjectItemCaseSensitive(all, "counters");
    struct lap_packet_maker *maker = &p->maker;

    p->info = cJSON_IsObject(trace) ? cJSON_PrintUnformatted(trace) : NULL;
    maker->packets = number_in(all, "packets");
    for (int i = 0; i < (int)LAP_COUNTER_COUNT; i++) {
        const cJSON *one = cJSON_GetArrayItem(counters, i);
        maker->counters[i] =
            cJSON_IsNumber(one) && one->valuedouble >= 0 && one->valuedouble < 1e15 ? (uint64_t)one->valuedouble : 0;
    }
    cJSON_Delete(all);
    return p->info ? LAP_OK : lap_fail(LAP_ERROR_FORMAT, "the program does not say what it was made of");
}

/* Frames end where the next one's labels begin. Labels count up: a program with others is refused. */
static enum lap_status find_frames(struct program_packets *p)
{
    const struct lap_vm_program *program = p->program;
    uint64_t frames = 0, ticket = 0;

    for (size_t i = 0; i < program->label_count; i++) {
        const struct lap_vm_label *label = &program->labels[i];

        if (label->packet < ticket || label->frame < frames || label->packet == 0 ||
            label->frame > program->label_count)
            return lap_fail(LAP_ERROR_FORMAT, "label %zu is in front of the one before, or too far behind it", i);
        ticket = label->packet;
        frames = label->frame;
    }
    p->frame_ends = calloc(frames + 1, sizeof *p->frame_ends);
    if (!p->frame_ends)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < program->label_count; i++)
        p->frame_ends[program->labels[i].frame] = program->labels[i].packet;
    for (uint64_t i = 1; i <= frames; i++)
        if (!p->frame_ends[i])
            p->frame_ends[i] = p->frame_ends[i - 1];
    p->maker.frames = frames;
    p->maker.frame_ends = p->frame_ends;
    return LAP_OK;
}

/* How many command buffers the program records: each becomes a blob. */
static uint64_t count_blocks(const struct program_packets *p)
{
    uint64_t count = 0;

    for (size_t i = 0; i < p->program->count; i++) {
        uint32_t word = p->program->code[i];

        count += lap_vm_code_of(word) == LAP_VM_CALL && lap_vm_api_of(word) == PROGRAM_VULKAN &&
                 p->commands[PROGRAM_VULKAN][lap_vm_function_of(word)] == GEN_vkEndCommandBuffer;
    }
    return count;
}

/* ---- calls ---- */

static enum lap_status too_much(const char *what)
{
    return lap_fail(LAP_ERROR_LIMIT, "%s take more than %zu MiB", what, BYTES_MAX >> 20);
}

/* What a call points to is encoded: the same bytes as often as pointers lead there. */
static enum lap_status count_bytes(struct making *m, size_t bytes)
{
    m->call_bytes += bytes < BYTES_MAX ? bytes : BYTES_MAX;
    return m->call_bytes <= BYTES_MAX ? LAP_OK : too_much("the parameters of a call");
}

static enum lap_status see_pointer(void *user, const void *location, const void *target, size_t bytes, size_t alignment)
{
    struct making *m = user;
    enum lap_status status = count_bytes(m, bytes);

    (void)location;
    if (status != LAP_OK)
        return status;
    if ((uintptr_t)target % alignment)
        return lap_fail(LAP_ERROR_FORMAT, "a pointer is not aligned to %zu bytes", alignment);
    return lap_vm_reach(m->machine, (uintptr_t)target, bytes, false);
}

/* Only bytes may stay where they are: what is looked at must not change before it is encoded, as it would where
 * another pointer brings the resource in. */
static enum lap_status see_bytes(void *user, const void *location, const void *target, size_t bytes)
{
    struct making *m = user;
    struct recode *recode = &m->recode;
    uint32_t number;

    if (bytes < LAP_BLOB_MIN_BYTES || !lap_vm_is_resource(m->machine, (uintptr_t)target, bytes, &number))
        return see_pointer(user, location, target, bytes, 1);
    for (size_t i = 0; i < recode->blob_count; i++)
        if (recode->blobs[i].data == target)
            return LAP_OK;
    if (!lap_array_grow(&recode->blobs, sizeof *recode->blobs, &recode->blob_capacity, recode->blob_count + 1))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    recode->blobs[recode->blob_count++] = (struct recode_blob){target, bytes, number + UINT64_C(1), false};
    return LAP_OK;
}

static enum lap_status see_string(void *user, const void *location, const char *target, size_t *out_bytes)
{
    struct making *m = user;
    enum lap_status status = LAP_OK;

    (void)location;
    for (*out_bytes = 0;; ++*out_bytes) {
        status = count_bytes(m, 1);
        if (status == LAP_OK)
            status = lap_vm_reach(m->machine, (uintptr_t)target + *out_bytes, 1, false);
        if (status != LAP_OK || !target[*out_bytes])
            break;
    }
    ++*out_bytes;
    return status;
}

static enum lap_status see_handle(void *user, uint32_t type, uint64_t value)
{
    struct making *m = user;

    recode_know(&m->recode, type, value);
    return LAP_OK;
}

/* Fills *args, of a command, with the arguments of a call. */
static enum lap_status fill(struct making *m, uint32_t command, const uint64_t *arguments, struct lap_args *args)
{
    const struct gen_member *member;
    uint32_t next = 0, i = 0;
    enum lap_status status = LAP_OK;

    memset(args, 0, sizeof *args);
    for (; status == LAP_OK && (member = program_parameter(command, &next)) != NULL; i++) {
        unsigned char *to = args->bytes + member->offset;

        if (program_type_of(member) != LAP_VM_POINTER) {
            memcpy(to, &arguments[i], member->element_bytes); /* little-endian */
        } else if (member->shape == GEN_SHAPE_ARRAY || member->shape == GEN_SHAPE_VALUE) {
            size_t bytes = (size_t)member->count * member->element_bytes;

            status = lap_vm_reach(m->machine, (uintptr_t)arguments[i], bytes, false);
            if (status == LAP_OK)
                memcpy(to, (const void *)(uintptr_t)arguments[i], bytes);
        } else {
            memcpy(to, &arguments[i], sizeof(void *));
        }
    }
    return status;
}

/* Resources are passed on as blobs, which not all memory may be. */
static bool took_all(const struct making *m)
{
    for (size_t i = 0; i < m->recode.blob_count; i++)
        if (!m->recode.blobs[i].used)
            return false;
    return true;
}

static enum lap_status not_as_resource(uint32_t command)
{
    return lap_fail(LAP_ERROR_FORMAT, "%s has a resource where none can be", gen_command_names[command]);
}

/* Command buffers that come and go. */
static enum lap_status follow_buffers(struct making *m, uint32_t command, const struct lap_args *args)
{
    const void *bytes = args->bytes;
    enum lap_status status = LAP_OK;

    if (command == GEN_vkAllocateCommandBuffers) {
        const struct gen_args_vkAllocateCommandBuffers *a = bytes;

        for (uint32_t i = 0;
             status == LAP_OK && a->pAllocateInfo && a->pCommandBuffers && i < a->pAllocateInfo->commandBufferCount;
             i++)
            status = made_blocks_allocated(&m->blocks, gen_u64_VkCommandPool(a->pAllocateInfo->commandPool),
                                           gen_u64_VkCommandBuffer(a->pCommandBuffers[i]));
    } else if (command == GEN_vkFreeCommandBuffers) {
        const struct gen_args_vkFreeCommandBuffers *a = bytes;

        for (uint32_t i = 0; a->pCommandBuffers && i < a->commandBufferCount; i++)
            made_blocks_freed(&m->blocks, gen_u64_VkCommandBuffer(a->pCommandBuffers[i]));
    } else if (command == GEN_vkDestroyCommandPool) {
        const struct gen_args_vkDestroyCommandPool *a = bytes;

        made_blocks_pool_destroyed(&m->blocks, gen_u64_VkCommandPool(a->commandPool));
    }
    return status;
}

static enum lap_status end_recording(struct making *m)
{
    const struct lap_enc *enc = &m->recode.enc;
    struct gen_args_lapilliBlock args = {
        .commandBuffer = (VkCommandBuffer)(uintptr_t)m->commands, .block = 0, .commandCount = m->command_count};

    enum lap_status status =
        made_blocks_put(&m->blocks, m->commands, enc->base, (size_t)(enc->p - enc->base), &args.block);

    if (status != LAP_OK)
        return status;
    m->recording = false;
    args.block += m->packets->program->resource_count;
    m->packet.command = GEN_lapilliBlock;
    return recode_packet(&m->recode, GEN_lapilliBlock, &args);
}

static enum lap_status record(struct making *m, uint32_t command, const struct lap_args *args)
{
    uint64_t commands =
        (uint64_t)(uintptr_t)((const struct gen_args_vkEndCommandBuffer *)(const void *)args->bytes)->commandBuffer;
    enum lap_status status;

    if (command == GEN_vkBeginCommandBuffer ? m->recording : !m->recording || commands != m->commands)
        return lap_fail(LAP_ERROR_FORMAT,
                        m->recording ? "another command buffer is recorded" : "no command buffer is recorded");
    if (command == GEN_vkBeginCommandBuffer) {
        m->recording = true;
        m->commands = commands;
        m->command_count = 0;
        lap_enc_reset(&m->recode.enc);
    }
    status = recode_command(&m->recode, command, args->bytes);
    if (status == LAP_OK && (size_t)(m->recode.enc.p - m->recode.enc.base) > BYTES_MAX)
        status = too_much("the commands of a command buffer");
    m->command_count++;
    if (status == LAP_OK && command == GEN_vkEndCommandBuffer)
        status = end_recording(m);
    return status != LAP_OK ? status : m->recording ? LAP_OK : LAP_AGAIN;
}

/* ---- results and posts ---- */

/* A copy: the replay makes more of them while the program runs. */
static enum lap_status give_checks(struct making *m, uint64_t to)
{
    const struct program_resources *from = &m->packets->resources;
    const void *results = NULL;
    uint8_t place[12], *grown;
    uint32_t bytes = 0;
    enum lap_status status = lap_vm_reach(m->machine, (uintptr_t)to, sizeof place, true);

    if (status != LAP_OK)
        return status;
    if (from->checks)
        results = from->checks(from->user, &bytes);
    grown = bytes ? realloc(m->checks, bytes) : m->checks;
    if (bytes && !grown)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    m->checks = grown;
    m->check_bytes = bytes;
    if (bytes)
        memcpy(m->checks, results, bytes);
    lap_store_u64(place, bytes ? (uintptr_t)m->checks : 0);
    lap_store_u32(place + 8, bytes);
    memcpy((void *)(uintptr_t)to, place, sizeof place);
    return LAP_OK;
}

static bool reaches(void *user, uintptr_t address, size_t bytes, bool writes)
{
    const struct making *m = user;
    uintptr_t begin = (uintptr_t)m->checks;

    return !writes && m->checks && address >= begin && bytes <= m->check_bytes &&
           address - begin <= m->check_bytes - bytes;
}

static enum lap_status post(void *user, uint32_t label, const void *data, size_t bytes)
{
    const struct program_resources *to = &((struct making *)user)->packets->resources;
    return bytes && to->post ? to->post(to->user, label, data, bytes) : LAP_OK;
}

static enum lap_status call(void *user, unsigned api, unsigned function, const uint64_t *arguments,
                            uint64_t *out_result)
{
    struct making *m = user;
    const struct lap_pointers_visitor visitor = {
        .pointer = see_pointer, .bytes = see_bytes, .string = see_string, .handle = see_handle, .user = m};
    uint32_t command = m->packets->commands[api][function];
    struct lap_args args;
    enum lap_status status;

    (void)out_result;
    if (command == CHECKS_COMMAND)
        return give_checks(m, arguments[0]);
    status = fill(m, command, arguments, &args);
    recode_forget(&m->recode);
    m->call_bytes = 0;
    if (status == LAP_OK)
        status = lap_pointers_walk(command, args.bytes, &visitor);
    if (status == LAP_OK)
        status = recode_status(&m->recode);
    if (status != LAP_OK)
        return status;
    if (lap_block_has(command) && api == PROGRAM_VULKAN) {
        status = record(m, command, &args);
        return status >= 0 && !took_all(m) ? not_as_resource(command) : status;
    }
    if (m->recording)
        return lap_fail(LAP_ERROR_FORMAT, "a command buffer is recorded, which %s is no part of",
                        gen_command_names[command]);
    m->packet.command = command;
    m->packet.flags = api == PROGRAM_RECORD ? LAP_PACKET_INFO : 0;
    status = follow_buffers(m, command, &args);
    if (status == LAP_OK)
        status = recode_packet(&m->recode, command, args.bytes);
    if (status == LAP_OK && !took_all(m))
        status = not_as_resource(command);
    return status == LAP_OK ? LAP_AGAIN : status;
}

static enum lap_status get_resource(void *user, uint32_t number, const uint8_t **out_data)
{
    struct making *m = user;
    return m->packets->resources.get(m->packets->resources.user, number, out_data);
}

/* ---- the maker ---- */

static void end(void *making)
{
    struct making *m = making;

    recode_finish(&m->recode);
    lap_vm_destroy(&m->machine);
    made_blocks_finish(&m->blocks);
    free(m->checks);
    free(m);
}

static enum lap_status begin(void *user, void **out_making)
{
    struct program_packets *p = user;
    struct making *m = calloc(1, sizeof *m);
    enum lap_status status;

    *out_making = NULL;
    if (!m)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    m->packets = p;
    m->host = (struct lap_vm_host){.call = call, .resource = get_resource, .reaches = reaches, .post = post, .user = m};
    for (uint32_t i = 0; i < GEN_COMMAND_COUNT; i++) {
        m->numbers.commands[i] = i;
        m->numbers.block_commands[i] = lap_block_has(i) ? i : 0;
    }
    for (uint32_t i = 0; i < GEN_STRUCT_COUNT; i++)
        m->numbers.structs[i] = i;
    for (uint32_t i = 0; i < GEN_HANDLE_COUNT; i++)
        m->numbers.handle_types[i] = i;
    m->dictionary = (struct lap_dictionary){.commands = m->numbers.commands,
                                            .structs = m->numbers.structs,
                                            .handle_types = m->numbers.handle_types,
                                            .block_commands = m->numbers.block_commands,
                                            .command_count = GEN_COMMAND_COUNT,
                                            .struct_count = GEN_STRUCT_COUNT,
                                            .handle_type_count = GEN_HANDLE_COUNT};
    recode_init(&m->recode, &m->dictionary);
    m->recode.knows_all = true;
    made_blocks_init(&m->blocks);
    status = lap_vm_create(p->program, &m->host, &m->machine);
    if (status != LAP_OK) {
        end(m);
        return status;
    }
    *out_making = m;
    return LAP_OK;
}

static enum lap_status next(void *making, struct lap_packet *out)
{
    struct making *m = making;
    const struct lap_vm_program *program = m->packets->program;
    const struct lap_vm_label *label;
    char place[LAP_VM_PLACE_BYTES];
    enum lap_status status;

    m->packets->resources.advance(m->packets->resources.user);
    m->packet.flags = 0;
    status = lap_vm_run(m->machine, program->count);
    if (status == LAP_OK)
        return m->recording ? lap_fail(LAP_ERROR_FORMAT, "the program ends while a command buffer is recorded")
                            : LAP_END;
    if (status != LAP_AGAIN)
        return status;
    if (lap_vm_label_now(m->machine) == UINT32_MAX)
        return lap_fail(LAP_ERROR_FORMAT, "the first call has no label in front of it");
    label = &program->labels[lap_vm_label_now(m->machine)];
    if (label->packet < m->ticket)
        return lap_fail(LAP_ERROR_FORMAT, "%s: label %" PRIu32 " is in front of one before",
                        lap_vm_place(program, lap_vm_instruction_now(m->machine) - 1, place),
                        lap_vm_label_now(m->machine));
    m->ticket = label->packet;
    *out = m->packet;
    out->stream = 0;
    out->ticket = label->packet;
    out->frame = label->frame;
    out->thread_id = label->thread;
    out->body = m->recode.enc.base;
    out->bytes = (size_t)(m->recode.enc.p - m->recode.enc.base);
    return LAP_OK;
}

static enum lap_status blob(void *making, enum lap_blob_kind kind, uint64_t id, const uint8_t **out_data,
                            size_t *out_bytes)
{
    struct making *m = making;
    const struct lap_vm_program *program = m->packets->program;

    if (kind == LAP_BLOB_BLOCK && id > program->resource_count &&
        made_blocks_get(&m->blocks, id - program->resource_count, out_data, out_bytes))
        return LAP_OK;
    if (kind != LAP_BLOB_DATA || id == 0 || id > program->resource_count)
        return lap_fail(LAP_ERROR_FORMAT, "there is no blob %" PRIu64, id);
    *out_bytes = program->resources[id - 1].bytes;
    return m->packets->resources.get(m->packets->resources.user, (uint32_t)(id - 1), out_data);
}

enum lap_status program_packets_create(const struct lap_vm_program *program, const struct program_resources *resources,
                                       struct program_packets **out)
{
    struct program_packets *p = *out = calloc(1, sizeof *p);
    enum lap_status status;

    if (!p)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    p->program = program;
    p->resources = *resources;
    p->names = (struct lap_names){.commands = {gen_command_names, GEN_COMMAND_COUNT},
                                  .structs = {gen_struct_names, GEN_STRUCT_COUNT},
                                  .handle_types = {gen_handle_names, GEN_HANDLE_COUNT}};
    p->maker = (struct lap_packet_maker){
        .names = &p->names, .begin = begin, .next = next, .blob = blob, .end = end, .user = p};
    status = sizeof(void *) == 8 ? find_functions(p)
                                 : lap_fail(LAP_ERROR_UNSUPPORTED, "replay programs need a 64-bit build");
    if (status == LAP_OK)
        status = read_facts(p);
    if (status == LAP_OK)
        status = find_frames(p);
    if (status == LAP_OK)
        p->maker.blobs = program->resource_count + count_blocks(p);
    p->maker.info = p->info;
    if (status != LAP_OK)
        program_packets_destroy(out);
    return status;
}

void program_packets_destroy(struct program_packets **packets)
{
    struct program_packets *p = *packets;

    if (!p)
        return;
    for (unsigned api = 0; api < LAP_VM_APIS; api++)
        free(p->commands[api]);
    free(p->frame_ends);
    cJSON_free(p->info);
    free(p);
    *packets = NULL;
}

const struct lap_packet_maker *program_packets_maker(const struct program_packets *packets)
{
    return &packets->maker;
}

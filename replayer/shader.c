/* SPDX-License-Identifier: MIT */
#include "replayer/shader.h"

#include <stdlib.h>
#include <string.h>

#include "codegen/support/spirv.h"

/* What is kept of an id: a pointer type's or a pointer's storage class; a constant's value. */
struct id {
    uint32_t value, constant;
    bool shared; /* what it points to is memory that others see */
};

struct read {
    struct id *ids;
    uint32_t bound;
    struct replay_shader *out;
    bool vertex, fragment, stores;
    uint32_t size_ids[3], workgroup_id;
    bool size_by_id;
};

static struct id *id_of(const struct read *read, uint32_t number)
{
    return &read->ids[number < read->bound ? number : 0]; /* 0 is no id: what is kept there is never used */
}

static bool is_shared(uint32_t storage)
{
    return storage == STORAGE_UNIFORM || storage == STORAGE_IMAGE || storage == STORAGE_STORAGE_BUFFER ||
           storage == STORAGE_PHYSICAL;
}

static bool is_atomic(uint32_t op)
{
    return (op >= OP_ATOMIC_EXCHANGE && op <= OP_ATOMIC_XOR) || op == OP_ATOMIC_F_MIN_EXT ||
           op == OP_ATOMIC_F_MAX_EXT || op == OP_ATOMIC_F_ADD_EXT;
}

/* A string ends within its instruction, or is none. */
static const char *string_at(const uint32_t *w, uint32_t count, uint32_t first)
{
    const char *text = (const char *)&w[first];
    return count > first && memchr(text, 0, (size_t)(count - first) * 4) ? text : NULL;
}

static void add_capability(struct replay_shader *out, uint32_t number)
{
    if (out->capability_count < REPLAY_SHADER_CAPABILITIES)
        out->capabilities[out->capability_count++] = number;
}

static void add_extension(struct replay_shader *out, const char *name)
{
    if (name && out->extension_count < REPLAY_SHADER_EXTENSIONS)
        out->extensions[out->extension_count++] = name;
}

static void look_at_mode(struct read *read, const uint32_t *w, uint32_t count)
{
    if (count < 6 || read->out->has_size || read->size_by_id)
        return;
    if (w[2] == MODE_LOCAL_SIZE) {
        for (int i = 0; i < 3; i++)
            read->out->size[i] = (struct replay_shader_size){w[3 + i], REPLAY_NOT_SPECIALIZED};
        read->out->has_size = true;
    } else if (w[2] == MODE_LOCAL_SIZE_ID) {
        memcpy(read->size_ids, &w[3], sizeof read->size_ids);
        read->size_by_id = true;
    }
}

static void look_at_decoration(struct read *read, const uint32_t *w, uint32_t count)
{
    if (count < 4)
        return;
    if (w[2] == DECORATION_SPEC_ID)
        id_of(read, w[1])->constant = w[3];
    else if (w[2] == DECORATION_BUILTIN && w[3] == BUILTIN_WORKGROUP_SIZE)
        read->workgroup_id = w[1];
}

/* Of the header of the module: what it declares. */
static void look_at_declaration(struct read *read, const uint32_t *w, uint32_t count)
{
    switch (w[0] & 0xffff) {
    case OP_CAPABILITY:
        if (count >= 2)
            add_capability(read->out, w[1]);
        break;
    case OP_EXTENSION:
        add_extension(read->out, string_at(w, count, 1));
        break;
    case OP_ENTRY_POINT:
        if (count >= 2 && w[1] <= MODEL_GEOMETRY)
            read->vertex = true;
        if (count >= 2 && w[1] == MODEL_FRAGMENT)
            read->fragment = true;
        break;
    case OP_EXECUTION_MODE:
    case OP_EXECUTION_MODE_ID:
        look_at_mode(read, w, count);
        break;
    case OP_DECORATE:
        look_at_decoration(read, w, count);
        break;
    case OP_CONSTANT:
    case OP_SPEC_CONSTANT:
        if (count >= 4)
            id_of(read, w[2])->value = w[3];
        break;
    case OP_CONSTANT_COMPOSITE:
    case OP_SPEC_CONSTANT_COMPOSITE: /* WorkgroupSize decides over the execution mode */
        if (count == 6 && read->workgroup_id && w[2] == read->workgroup_id) {
            memcpy(read->size_ids, &w[3], sizeof read->size_ids);
            read->size_by_id = true;
        }
        break;
    default:
        break;
    }
}

static void look_at_code(struct read *read, const uint32_t *w, uint32_t count)
{
    uint32_t op = w[0] & 0xffff;

    switch (op) {
    case OP_TYPE_POINTER:
        if (count >= 3)
            id_of(read, w[1])->shared = is_shared(w[2]);
        break;
    case OP_VARIABLE:
    case OP_ACCESS_CHAIN:
    case OP_IN_BOUNDS_ACCESS_CHAIN:
    case OP_PTR_ACCESS_CHAIN:
    case OP_IN_BOUNDS_PTR_ACCESS_CHAIN:
    case OP_IMAGE_TEXEL_POINTER:
        if (count >= 3)
            id_of(read, w[2])->shared = id_of(read, w[1])->shared;
        break;
    case OP_STORE:
    case OP_COPY_MEMORY:
    case OP_COPY_MEMORY_SIZED:
    case OP_ATOMIC_STORE:
        if (count >= 2)
            read->stores |= id_of(read, w[1])->shared;
        break;
    case OP_IMAGE_WRITE:
        read->stores = true;
        break;
    default:
        if (is_atomic(op) && count >= 4)
            read->stores |= id_of(read, w[3])->shared;
        break;
    }
}

static void settle(struct read *read)
{
    struct replay_shader *out = read->out;

    out->stores[GEN_STORES_VERTEX] = read->stores && read->vertex;
    out->stores[GEN_STORES_FRAGMENT] = read->stores && read->fragment;
    if (!read->size_by_id)
        return;
    out->has_size = true;
    for (int i = 0; i < 3; i++) {
        const struct id *id = id_of(read, read->size_ids[i]);
        out->size[i] = (struct replay_shader_size){id->value, id->constant};
    }
}

bool replay_shader_read(const uint32_t *words, size_t word_count, struct replay_shader *out)
{
    struct read read = {.out = out};
    size_t at = SPIRV_HEADER_WORDS;

    memset(out, 0, sizeof *out);
    if (!lap_spirv_is_module(words, word_count))
        return false;
    read.bound = words[3];
    read.ids = calloc(read.bound, sizeof *read.ids);
    if (!read.ids)
        return false;
    for (uint32_t i = 0; i < read.bound; i++)
        read.ids[i].constant = REPLAY_NOT_SPECIALIZED;
    while (at < word_count) {
        uint32_t count = lap_spirv_words_at(words, word_count, at);
        if (count == 0)
            break;
        look_at_declaration(&read, &words[at], count);
        look_at_code(&read, &words[at], count);
        at += count;
    }
    if (at == word_count)
        settle(&read);
    else
        memset(out, 0, sizeof *out);
    free(read.ids);
    return at == word_count;
}

/* SPDX-License-Identifier: MIT */
#include "vulkan/shader/spirv.h"

#include <stdlib.h>
#include <string.h>

/* ---- numbers of SPIR-V 1.6 and its extensions: "Physical Layout of a SPIR-V Module and Instruction", and its tables
 * ----
 */

#define SPIRV_MAGIC    0x07230203u
#define SPIRV_MOST_IDS (1u << 22) /* of an examined module */

enum {
    OP_EXTENSION = 10,
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_TYPE_IMAGE = 25,
    OP_TYPE_POINTER = 32,
    OP_CONSTANT = 43,
    OP_CONSTANT_COMPOSITE = 44,
    OP_SPEC_CONSTANT = 50,
    OP_SPEC_CONSTANT_COMPOSITE = 51,
    OP_FUNCTION_CALL = 57,
    OP_VARIABLE = 59,
    OP_IMAGE_TEXEL_POINTER = 60,
    OP_LOAD = 61,
    OP_STORE = 62,
    OP_COPY_MEMORY = 63,
    OP_COPY_MEMORY_SIZED = 64,
    OP_ACCESS_CHAIN = 65,
    OP_IN_BOUNDS_ACCESS_CHAIN = 66,
    OP_PTR_ACCESS_CHAIN = 67,
    OP_IN_BOUNDS_PTR_ACCESS_CHAIN = 70,
    OP_DECORATE = 71,
    OP_COMPOSITE_CONSTRUCT = 80,
    OP_COMPOSITE_INSERT = 82,
    OP_COPY_OBJECT = 83,
    OP_IMAGE_WRITE = 99,
    OP_SELECT = 169,
    OP_ATOMIC_STORE = 228,
    OP_ATOMIC_EXCHANGE = 229, /* the first atomic that returns the old value */
    OP_ATOMIC_XOR = 242,      /* the last atomic that returns the old value */
    OP_PHI = 245,
    OP_RETURN_VALUE = 254,
    OP_ATOMIC_FLAG_TEST_AND_SET = 318,
    OP_ATOMIC_FLAG_CLEAR = 319,
    OP_EXECUTION_MODE_ID = 331,
    OP_COPY_LOGICAL = 400,
    OP_TYPE_UNTYPED_POINTER = 4417, /* SPV_KHR_untyped_pointers */
    OP_UNTYPED_VARIABLE = 4418,
    OP_UNTYPED_ACCESS_CHAIN = 4419,
    OP_UNTYPED_IN_BOUNDS_ACCESS_CHAIN = 4420,
    OP_UNTYPED_PTR_ACCESS_CHAIN = 4423,
    OP_UNTYPED_IN_BOUNDS_PTR_ACCESS_CHAIN = 4424,
    OP_COOPERATIVE_MATRIX_STORE = 4458,
    OP_COOPERATIVE_MATRIX_STORE_NV = 5360,
    OP_COOPERATIVE_MATRIX_STORE_TENSOR_NV = 5368,
    OP_RAW_ACCESS_CHAIN_NV = 5398,
    OP_ATOMIC_F_MIN_EXT = 5614,
    OP_ATOMIC_F_MAX_EXT = 5615,
    OP_ATOMIC_F_ADD_EXT = 6035,
};

enum {
    CAPABILITY_PHYSICAL_STORAGE_BUFFER_ADDRESSES = 5347,
};

enum {
    DECORATION_SPEC_ID = 1,
    DECORATION_BUILTIN = 11,
    DECORATION_BINDING = 33,
    DECORATION_DESCRIPTOR_SET = 34,
};

enum {
    STORAGE_UNIFORM_CONSTANT = 0,
    STORAGE_UNIFORM = 2, /* older modules have this class for blocks that can be stored to */
    STORAGE_IMAGE = 11,
    STORAGE_STORAGE_BUFFER = 12,
    STORAGE_PHYSICAL = 5349,
};

enum {
    MODEL_GEOMETRY = 3, /* the last stage before the rasterizer; vertex is 0 */
    MODEL_FRAGMENT = 4,
};

enum {
    MODE_LOCAL_SIZE = 17,
    MODE_LOCAL_SIZE_ID = 38,
};

enum {
    BUILTIN_WORKGROUP_SIZE = 25,
};

/* ---- ids ---- */

struct id {
    uint32_t root; /* the variable behind this pointer, image or value; 0: none of interest */
    uint32_t type;
    uint32_t set, binding;
    uint32_t value, constant; /* of a constant; its SpecId */
    bool has_set, has_binding;
    bool is_reference_type; /* of a type: a pointer or an image */
    bool shared;            /* of a type: pointers to memory that others can read */
    bool physical;          /* of a type: addresses */
    bool written;
};

struct walk {
    struct id *ids;
    uint32_t bound;
    struct lap_spirv_module *out;
    bool vertex, fragment, stores, addresses, address_stores;
    uint32_t size_ids[3], workgroup_id;
    bool size_by_id;
};

static struct id *id_of(const struct walk *walk, uint32_t number)
{
    return &walk->ids[number < walk->bound ? number
                                           : 0]; /* 0 is no id: its entry takes invalid ones and is never read */
}

/* ---- declarations of a module ---- */

/* The string at w; NULL where it does not end within its instruction. */
static const char *string_at(const uint32_t *w, uint32_t count, uint32_t first)
{
    const char *text = (const char *)&w[first];
    return count > first && memchr(text, 0, (size_t)(count - first) * 4) ? text : NULL;
}

static void add_capability(struct walk *walk, uint32_t number)
{
    struct lap_spirv_module *out = walk->out;

    walk->addresses |= number == CAPABILITY_PHYSICAL_STORAGE_BUFFER_ADDRESSES;
    if (out->capability_count < LAP_SPIRV_CAPABILITIES)
        out->capabilities[out->capability_count++] = number;
}

static void add_extension(struct lap_spirv_module *out, const char *name)
{
    if (name && out->extension_count < LAP_SPIRV_EXTENSIONS)
        out->extensions[out->extension_count++] = name;
}

static void look_at_mode(struct walk *walk, const uint32_t *w, uint32_t count)
{
    if (count < 6 || walk->out->has_size || walk->size_by_id)
        return;
    if (w[2] == MODE_LOCAL_SIZE) {
        for (int i = 0; i < 3; i++)
            walk->out->size[i] = (struct lap_spirv_size){w[3 + i], LAP_SPIRV_UNSPECIALIZED};
        walk->out->has_size = true;
    } else if (w[2] == MODE_LOCAL_SIZE_ID) {
        memcpy(walk->size_ids, &w[3], sizeof walk->size_ids);
        walk->size_by_id = true;
    }
}

static void look_at_decoration(struct walk *walk, const uint32_t *w, uint32_t count)
{
    struct id *id = id_of(walk, count >= 4 ? w[1] : 0);

    if (count < 4)
        return;
    if (w[2] == DECORATION_BINDING) {
        id->binding = w[3];
        id->has_binding = true;
    } else if (w[2] == DECORATION_DESCRIPTOR_SET) {
        id->set = w[3];
        id->has_set = true;
    } else if (w[2] == DECORATION_SPEC_ID) {
        id->constant = w[3] + 1;
    } else if (w[2] == DECORATION_BUILTIN && w[3] == BUILTIN_WORKGROUP_SIZE) {
        walk->workgroup_id = w[1];
    }
}

static bool is_shared(uint32_t storage)
{
    return storage == STORAGE_UNIFORM || storage == STORAGE_IMAGE || storage == STORAGE_STORAGE_BUFFER ||
           storage == STORAGE_PHYSICAL;
}

/* w[0] is the first word; count >= 1 words exist. */
static void look_at_declaration(struct walk *walk, const uint32_t *w, uint32_t count)
{
    switch (w[0] & 0xffff) {
    case OP_CAPABILITY:
        if (count >= 2)
            add_capability(walk, w[1]);
        break;
    case OP_EXTENSION:
        add_extension(walk->out, string_at(w, count, 1));
        break;
    case OP_ENTRY_POINT:
        walk->vertex |= count >= 2 && w[1] <= MODEL_GEOMETRY;
        walk->fragment |= count >= 2 && w[1] == MODEL_FRAGMENT;
        break;
    case OP_EXECUTION_MODE:
    case OP_EXECUTION_MODE_ID:
        look_at_mode(walk, w, count);
        break;
    case OP_DECORATE:
        look_at_decoration(walk, w, count);
        break;
    case OP_CONSTANT:
    case OP_SPEC_CONSTANT:
        if (count >= 4)
            id_of(walk, w[2])->value = w[3];
        break;
    case OP_CONSTANT_COMPOSITE:
    case OP_SPEC_CONSTANT_COMPOSITE: /* WorkgroupSize overrides the execution mode */
        if (count == 6 && walk->workgroup_id && w[2] == walk->workgroup_id) {
            memcpy(walk->size_ids, &w[3], sizeof walk->size_ids);
            walk->size_by_id = true;
        }
        break;
    case OP_TYPE_IMAGE:
    case OP_TYPE_POINTER:
    case OP_TYPE_UNTYPED_POINTER:
        if (count >= 2)
            id_of(walk, w[1])->is_reference_type = true;
        if (count >= 3 && (w[0] & 0xffff) != OP_TYPE_IMAGE)
            id_of(walk, w[1])->shared = is_shared(w[2]);
        if (count >= 3 && (w[0] & 0xffff) != OP_TYPE_IMAGE)
            id_of(walk, w[1])->physical = w[2] == STORAGE_PHYSICAL;
        break;
    default:
        break;
    }
}

/* ---- stores ---- */

static void write_to(struct walk *walk, uint32_t number)
{
    uint32_t root = id_of(walk, number)->root;

    if (root)
        id_of(walk, root)->written = true;
}

/* Records an instruction's store to an id. A pointer of unknown type may be an address. */
static void store_to(struct walk *walk, uint32_t number)
{
    const struct id *type = id_of(walk, id_of(walk, number)->type);

    write_to(walk, number);
    walk->stores |= type->shared;
    walk->address_stores |= type->physical || !type->is_reference_type;
}

/* Records that the result comes from `base`. */
static void derive(struct walk *walk, const uint32_t *instruction, uint32_t base)
{
    struct id *result = id_of(walk, instruction[2]);

    result->type = instruction[1];
    result->root = id_of(walk, base)->root;
}

/* Records a use that the walk does not follow. */
static void escape(struct walk *walk, uint32_t number)
{
    if (id_of(walk, id_of(walk, number)->type)->is_reference_type)
        write_to(walk, number);
}

static void escape_all(struct walk *walk, const uint32_t *w, uint32_t first, uint32_t count, uint32_t step)
{
    for (uint32_t i = first; i < count; i += step)
        escape(walk, w[i]);
}

static void declare(struct walk *walk, const uint32_t *w)
{
    struct id *id = id_of(walk, w[2]);

    id->type = w[1];
    if (w[3] == STORAGE_UNIFORM_CONSTANT || w[3] == STORAGE_UNIFORM || w[3] == STORAGE_STORAGE_BUFFER)
        id->root = w[2] < walk->bound ? w[2] : 0;
}

static bool is_atomic_update(uint32_t op)
{
    return (op >= OP_ATOMIC_EXCHANGE && op <= OP_ATOMIC_XOR) || op == OP_ATOMIC_FLAG_TEST_AND_SET ||
           op == OP_ATOMIC_F_MIN_EXT || op == OP_ATOMIC_F_MAX_EXT || op == OP_ATOMIC_F_ADD_EXT;
}

static void look_at_code(struct walk *walk, const uint32_t *w, uint32_t count)
{
    const uint32_t op = w[0] & 0xffff;

    switch (op) {
    case OP_VARIABLE:
    case OP_UNTYPED_VARIABLE:
        if (count >= 4)
            declare(walk, w);
        if (count >= 5 && op == OP_VARIABLE) /* its initial value */
            escape(walk, w[4]);
        break;
    case OP_ACCESS_CHAIN:
    case OP_IN_BOUNDS_ACCESS_CHAIN:
    case OP_PTR_ACCESS_CHAIN:
    case OP_IN_BOUNDS_PTR_ACCESS_CHAIN:
    case OP_RAW_ACCESS_CHAIN_NV:
    case OP_LOAD:
    case OP_COPY_OBJECT:
    case OP_COPY_LOGICAL:
    case OP_IMAGE_TEXEL_POINTER:
        if (count >= 4)
            derive(walk, w, w[3]);
        break;
    case OP_UNTYPED_ACCESS_CHAIN:
    case OP_UNTYPED_IN_BOUNDS_ACCESS_CHAIN:
    case OP_UNTYPED_PTR_ACCESS_CHAIN:
    case OP_UNTYPED_IN_BOUNDS_PTR_ACCESS_CHAIN:
        if (count >= 5) /* w[3] is the type that it points to */
            derive(walk, w, w[4]);
        break;
    case OP_IMAGE_WRITE:
        walk->stores = true; /* fall through */
    case OP_STORE:
    case OP_COPY_MEMORY:
    case OP_COPY_MEMORY_SIZED:
    case OP_ATOMIC_STORE:
    case OP_ATOMIC_FLAG_CLEAR:
    case OP_COOPERATIVE_MATRIX_STORE:
    case OP_COOPERATIVE_MATRIX_STORE_NV:
    case OP_COOPERATIVE_MATRIX_STORE_TENSOR_NV:
        if (count >= 2)
            store_to(walk, w[1]);
        if (op == OP_STORE && count >= 3) /* a variable that stores a pointer (VariablePointers) */
            escape(walk, w[2]);
        break;
    case OP_FUNCTION_CALL:
    case OP_SELECT:
        escape_all(walk, w, 4, count, 1);
        break;
    case OP_COMPOSITE_CONSTRUCT:
    case OP_COMPOSITE_INSERT:
        escape_all(walk, w, 3, count, 1);
        break;
    case OP_RETURN_VALUE:
        escape_all(walk, w, 1, count < 2 ? count : 2, 1);
        break;
    case OP_PHI:
        escape_all(walk, w, 3, count, 2);
        break;
    default:
        if (is_atomic_update(op) && count >= 4)
            store_to(walk, w[3]);
        break;
    }
}

/* ---- the walk ---- */

static void settle(const struct walk *walk)
{
    struct lap_spirv_module *out = walk->out;

    out->stores_in_vertex = walk->stores && walk->vertex;
    out->stores_in_fragment = walk->stores && walk->fragment;
    memset(&out->access, 0, sizeof out->access);
    out->access.addresses = walk->addresses;
    out->access.address_stores = walk->addresses && walk->address_stores;
    for (uint32_t i = 1; i < walk->bound; i++) {
        const struct id *id = &walk->ids[i];
        if (id->written && id->has_set && id->has_binding && id->set < LAP_SPIRV_SETS)
            out->access.stores[id->set] |= lap_spirv_bit(id->binding);
    }
    out->has_size |= walk->size_by_id;
    for (int i = 0; i < 3 && walk->size_by_id; i++) {
        const struct id *id = id_of(walk, walk->size_ids[i]);
        out->size[i] = (struct lap_spirv_size){id->value, id->constant - 1}; /* 0 is LAP_SPIRV_UNSPECIALIZED then */
    }
}

/* The words of the instruction at `at`; 0: the module is truncated. */
static uint32_t words_at(const uint32_t *words, size_t word_count, size_t at)
{
    uint32_t count = words[at] >> 16;
    return count <= word_count - at ? count : 0;
}

static void access_everything(struct lap_spirv_module *out)
{
    memset(out, 0, sizeof *out);
    lap_spirv_access_all(&out->access);
}

bool lap_spirv_read(const uint32_t *words, size_t word_count, struct lap_spirv_module *out)
{
    struct walk walk = {.out = out};
    size_t at = LAP_SPIRV_HEADER_WORDS;

    access_everything(out);
    if (!words || word_count < LAP_SPIRV_HEADER_WORDS || words[0] != SPIRV_MAGIC || words[3] == 0 ||
        words[3] > SPIRV_MOST_IDS)
        return false;
    walk.bound = words[3]; /* the largest id + 1 */
    walk.ids = calloc(walk.bound, sizeof *walk.ids);
    if (!walk.ids)
        return false;
    while (at < word_count) {
        uint32_t count = words_at(words, word_count, at);
        if (count == 0)
            break;
        look_at_declaration(&walk, &words[at], count);
        look_at_code(&walk, &words[at], count);
        at += count;
    }
    if (at == word_count)
        settle(&walk);
    else
        access_everything(out);
    free(walk.ids);
    return at == word_count;
}

void lap_spirv_find_access(const uint32_t *words, size_t word_count, struct lap_spirv_access *out)
{
    struct lap_spirv_module module;

    (void)lap_spirv_read(words, word_count, &module);
    *out = module.access;
}

void lap_spirv_access_all(struct lap_spirv_access *out)
{
    memset(out->stores, 0xff, sizeof out->stores);
    out->addresses = out->address_stores = true;
}

void lap_spirv_access_add(struct lap_spirv_access *to, const struct lap_spirv_access *more)
{
    for (uint32_t i = 0; i < LAP_SPIRV_SETS; i++)
        to->stores[i] |= more->stores[i];
    to->addresses |= more->addresses;
    to->address_stores |= more->address_stores;
}

bool lap_spirv_access_any(const struct lap_spirv_access *access)
{
    for (uint32_t i = 0; i < LAP_SPIRV_SETS; i++)
        if (access->stores[i])
            return true;
    return access->addresses;
}

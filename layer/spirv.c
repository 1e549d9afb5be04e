/* SPDX-License-Identifier: MIT */
#include "layer/spirv.h"

#include <stdlib.h>
#include <string.h>

#include "codegen/support/spirv.h"

struct id {
    uint32_t root; /* the variable that this pointer, image or value came from; 0: none that matters */
    uint32_t type;
    struct lap_spirv_descriptor descriptor;
    bool is_reference_type; /* of a type: a pointer or an image */
    bool written;
};

struct search {
    struct id *ids;
    uint32_t bound;
    bool addresses;
};

static struct id *id_of(const struct search *search, uint32_t number)
{
    return &search->ids[number < search->bound ? number : 0]; /* 0 is no id: what is kept there is never used */
}

static void mark_written(const struct search *search, uint32_t number)
{
    uint32_t root = id_of(search, number)->root;
    if (root)
        id_of(search, root)->written = true;
}

/* The result comes from `base`. */
static void derive(const struct search *search, const uint32_t *instruction, uint32_t base)
{
    struct id *result = id_of(search, instruction[2]);
    result->type = instruction[1];
    result->root = id_of(search, base)->root;
}

/* Where a reference goes from here is not followed. */
static void escape(const struct search *search, uint32_t number)
{
    if (id_of(search, id_of(search, number)->type)->is_reference_type)
        mark_written(search, number);
}

static void declare(const struct search *search, const uint32_t *w)
{
    struct id *id = id_of(search, w[2]);
    if (w[3] != STORAGE_UNIFORM_CONSTANT && w[3] != STORAGE_UNIFORM && w[3] != STORAGE_STORAGE_BUFFER)
        return;
    id->type = w[1];
    id->root = w[2] < search->bound ? w[2] : 0;
}

static bool is_atomic_update(uint32_t op)
{
    return (op >= OP_ATOMIC_EXCHANGE && op <= OP_ATOMIC_XOR) || op == OP_ATOMIC_FLAG_TEST_AND_SET ||
           op == OP_ATOMIC_F_MIN_EXT || op == OP_ATOMIC_F_MAX_EXT || op == OP_ATOMIC_F_ADD_EXT;
}

static bool is_chain(uint32_t op)
{
    return op == OP_ACCESS_CHAIN || op == OP_IN_BOUNDS_ACCESS_CHAIN || op == OP_PTR_ACCESS_CHAIN ||
           op == OP_IN_BOUNDS_PTR_ACCESS_CHAIN || op == OP_RAW_ACCESS_CHAIN_NV;
}

static bool is_untyped_chain(uint32_t op)
{
    return op == OP_UNTYPED_ACCESS_CHAIN || op == OP_UNTYPED_IN_BOUNDS_ACCESS_CHAIN ||
           op == OP_UNTYPED_PTR_ACCESS_CHAIN || op == OP_UNTYPED_IN_BOUNDS_PTR_ACCESS_CHAIN;
}

/* w[0] is the first word; count >= 1 words are there. */
static void look_at(struct search *search, const uint32_t *w, uint32_t count)
{
    uint32_t op = w[0] & 0xffff;
    if (op == OP_CAPABILITY) {
        search->addresses |= count >= 2 && w[1] == CAPABILITY_PHYSICAL_STORAGE_BUFFER_ADDRESSES;
    } else if (op == OP_TYPE_IMAGE || op == OP_TYPE_POINTER || op == OP_TYPE_UNTYPED_POINTER) {
        if (count >= 2)
            id_of(search, w[1])->is_reference_type = true;
    } else if (op == OP_DECORATE) {
        if (count >= 4)
            lap_spirv_decorate(&id_of(search, w[1])->descriptor, w);
    } else if (op == OP_VARIABLE || op == OP_UNTYPED_VARIABLE) {
        if (count >= 4)
            declare(search, w);
        if (count >= 5 && op == OP_VARIABLE) /* what it begins with */
            escape(search, w[4]);
    } else if (is_chain(op) || op == OP_LOAD || op == OP_COPY_OBJECT || op == OP_COPY_LOGICAL ||
               op == OP_IMAGE_TEXEL_POINTER) {
        if (count >= 4)
            derive(search, w, w[3]);
    } else if (is_untyped_chain(op)) {
        if (count >= 5) /* w[3] is the type of what it points to */
            derive(search, w, w[4]);
    } else if (op == OP_STORE || op == OP_COPY_MEMORY || op == OP_COPY_MEMORY_SIZED || op == OP_ATOMIC_STORE ||
               op == OP_ATOMIC_FLAG_CLEAR || op == OP_IMAGE_WRITE || op == OP_COOPERATIVE_MATRIX_STORE ||
               op == OP_COOPERATIVE_MATRIX_STORE_NV) {
        if (count >= 2)
            mark_written(search, w[1]);
        if (op == OP_STORE && count >= 3) /* a pointer that is kept in a variable (VariablePointers) */
            escape(search, w[2]);
    } else if (is_atomic_update(op)) {
        if (count >= 4)
            mark_written(search, w[3]);
    } else if (op == OP_FUNCTION_CALL || op == OP_SELECT) {
        for (uint32_t i = 4; i < count; i++)
            escape(search, w[i]);
    } else if (op == OP_COMPOSITE_CONSTRUCT || op == OP_COMPOSITE_INSERT) {
        for (uint32_t i = 3; i < count; i++)
            escape(search, w[i]);
    } else if (op == OP_RETURN_VALUE) {
        if (count >= 2)
            escape(search, w[1]);
    } else if (op == OP_PHI) {
        for (uint32_t i = 3; i < count; i += 2)
            escape(search, w[i]);
    }
}

static void collect(const struct search *search, struct lap_spirv_reach *out)
{
    for (uint32_t i = 1; i < search->bound; i++) {
        const struct lap_spirv_descriptor *place = &search->ids[i].descriptor;
        if (search->ids[i].written && place->has_set && place->has_binding && place->set < LAP_SPIRV_SETS)
            out->stores[place->set] |= lap_spirv_bit(place->binding);
    }
}

void lap_spirv_find_reach(const uint32_t *words, size_t word_count, struct lap_spirv_reach *out)
{
    struct search search = {0};
    size_t at = SPIRV_HEADER_WORDS;

    lap_spirv_reach_all(out);
    if (!lap_spirv_is_module(words, word_count))
        return;
    search.bound = words[3];
    search.ids = calloc(search.bound, sizeof *search.ids);
    if (!search.ids)
        return;
    while (at < word_count) {
        uint32_t count = lap_spirv_words_at(words, word_count, at);
        if (count == 0)
            goto out;
        look_at(&search, &words[at], count);
        at += count;
    }
    memset(out, 0, sizeof *out);
    out->addresses = search.addresses;
    collect(&search, out);
out:
    free(search.ids);
}

void lap_spirv_reach_all(struct lap_spirv_reach *out)
{
    memset(out->stores, 0xff, sizeof out->stores);
    out->addresses = true;
}

void lap_spirv_reach_add(struct lap_spirv_reach *to, const struct lap_spirv_reach *more)
{
    for (uint32_t i = 0; i < LAP_SPIRV_SETS; i++)
        to->stores[i] |= more->stores[i];
    to->addresses |= more->addresses;
}

bool lap_spirv_reach_any(const struct lap_spirv_reach *reach)
{
    for (uint32_t i = 0; i < LAP_SPIRV_SETS; i++)
        if (reach->stores[i])
            return true;
    return reach->addresses;
}

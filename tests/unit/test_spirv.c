/* SPDX-License-Identifier: MIT */
/* Shaders are put together word by word: only what the search looks at is there. */
#include <stdlib.h>

#include "inspector/edit/shader_fit.h"
#include "tests/unit/spirv_code.h"
#include "tests/unit/unit.h"
#include "vulkan/shader/spirv.h"

enum { BOUND = 100 };

/* Types and variables that every shader here has. */
enum { UINT = 1, POINTER, IMAGE, BUFFER, TEXELS, LOCAL, FIRST };

/* BUFFER is binding 3 of set 2, TEXELS (a storage image) binding 70 of set 0. */
static void begin(void)
{
    begin_code(0x00010300, BOUND);
    put(71, BUFFER, 34, 2, -1);
    put(71, BUFFER, 33, 3, -1);
    put(71, TEXELS, 34, 0, -1);
    put(71, TEXELS, 33, 70, -1);
    put(21, UINT, 32, 0, -1);
    put(32, POINTER, 12, UINT, -1);
    put(25, IMAGE, UINT, 1, 0, 0, 0, 2, 0, -1);
    put(59, POINTER, BUFFER, 12, -1);
    put(59, POINTER, TEXELS, 0, -1);
    put(59, POINTER, LOCAL, 7, -1);
}

static struct lap_spirv_access found(void)
{
    struct lap_spirv_access writes;
    lap_spirv_find_access(code, count, &writes);
    return writes;
}

#define CHECK_WRITES(set2, set0)                                                                                       \
    do {                                                                                                               \
        struct lap_spirv_access w = found();                                                                           \
        CHECK_EQ_U64(w.stores[2], (set2));                                                                             \
        CHECK_EQ_U64(w.stores[0], (set0));                                                                             \
        CHECK_EQ_U64(w.stores[1] | w.stores[31], 0);                                                                   \
    } while (0)

#define BUFFER_BIT ((uint64_t)1 << 3)
#define TEXELS_BIT ((uint64_t)1 << 63) /* bindings from 63 on share a bit */

UNIT_TEST(a_shader_that_only_reads_writes_nothing)
{
    struct lap_spirv_access writes;
    begin();
    put(65, POINTER, FIRST, BUFFER, UINT, -1);
    put(61, UINT, FIRST + 1, FIRST, -1);
    put(62, LOCAL, FIRST + 1, -1); /* the value is from the buffer, the place is not */
    put(169, UINT, FIRST + 2, UINT, FIRST + 1, FIRST + 1, -1);
    put(245, UINT, FIRST + 3, FIRST + 1, 50, FIRST + 2, 51, -1);
    put(80, UINT, FIRST + 6, FIRST + 1, FIRST + 2, -1);
    put(82, UINT, FIRST + 7, FIRST + 1, FIRST + 6, 0, -1);
    put(254, FIRST + 7, -1);
    put(57, UINT, FIRST + 4, 60, FIRST + 1, -1);
    put(227, UINT, FIRST + 5, FIRST, 1, 1, -1); /* OpAtomicLoad */
    CHECK_WRITES(0, 0);
    writes = found();
    CHECK(!lap_spirv_access_any(&writes));
}

UNIT_TEST(a_store_through_a_chain_of_chains_is_found)
{
    struct lap_spirv_access writes;
    begin();
    put(65, POINTER, FIRST, BUFFER, UINT, -1);
    put(66, POINTER, FIRST + 1, FIRST, UINT, -1);
    put(83, POINTER, FIRST + 2, FIRST + 1, -1);
    put(62, FIRST + 2, UINT, -1);
    CHECK_WRITES(BUFFER_BIT, 0);
    writes = found();
    CHECK(lap_spirv_access_any(&writes));
}

UNIT_TEST(atomics_and_copies_are_found)
{
    static const uint32_t with_result[] = {229, 234, 242, 318, 5614, 5615, 6035};
    static const uint32_t without[] = {63, 64, 228, 319, 4458, 5360, 5368};
    for (size_t i = 0; i < sizeof with_result / sizeof with_result[0]; i++) {
        begin();
        put(with_result[i], UINT, FIRST, BUFFER, 1, 1, -1);
        CHECK_WRITES(BUFFER_BIT, 0);
    }
    for (size_t i = 0; i < sizeof without / sizeof without[0]; i++) {
        begin();
        put(without[i], BUFFER, UINT, UINT, -1);
        CHECK_WRITES(BUFFER_BIT, 0);
    }
    begin();
    put(63, LOCAL, BUFFER, -1); /* from the buffer, not to it */
    CHECK_WRITES(0, 0);
}

UNIT_TEST(image_writes_are_found)
{
    begin();
    put(61, IMAGE, FIRST, TEXELS, -1);
    put(99, FIRST, UINT, UINT, -1);
    CHECK_WRITES(0, TEXELS_BIT);
    begin();
    put(60, POINTER, FIRST, TEXELS, UINT, UINT, -1);
    put(234, UINT, FIRST + 1, FIRST, 1, 1, UINT, -1);
    CHECK_WRITES(0, TEXELS_BIT);
}

UNIT_TEST(references_that_are_not_followed_count_as_written)
{
    begin();
    put(57, UINT, FIRST, 60, BUFFER, -1);
    CHECK_WRITES(BUFFER_BIT, 0);
    begin();
    put(169, POINTER, FIRST, UINT, LOCAL, BUFFER, -1);
    CHECK_WRITES(BUFFER_BIT, 0);
    begin();
    put(245, POINTER, FIRST, BUFFER, 50, LOCAL, 51, -1);
    CHECK_WRITES(BUFFER_BIT, 0);
    begin(); /* kept in a variable, in a structure, or handed to the caller */
    put(65, POINTER, FIRST, BUFFER, UINT, -1);
    put(62, LOCAL, FIRST, -1);
    CHECK_WRITES(BUFFER_BIT, 0);
    begin();
    put(59, POINTER, FIRST, 7, BUFFER, -1);
    CHECK_WRITES(BUFFER_BIT, 0);
    begin();
    put(80, UINT, FIRST, UINT, BUFFER, -1);
    CHECK_WRITES(BUFFER_BIT, 0);
    begin();
    put(82, UINT, FIRST, BUFFER, UINT, 0, -1);
    CHECK_WRITES(BUFFER_BIT, 0);
    begin();
    put(254, BUFFER, -1);
    CHECK_WRITES(BUFFER_BIT, 0);
}

UNIT_TEST(nothing_is_known_of_code_that_cannot_be_read)
{
    struct lap_spirv_access writes;
    begin();
    code[0] = 0x03022307;
    CHECK_EQ_U64(found().stores[7], UINT64_MAX);
    begin();
    code[3] = 0;
    CHECK_EQ_U64(found().stores[7], UINT64_MAX);
    begin();
    code[3] = UINT32_MAX;
    CHECK_EQ_U64(found().stores[7], UINT64_MAX);
    begin();
    code[count++] = 71; /* an instruction of no words */
    CHECK_EQ_U64(found().stores[7], UINT64_MAX);
    begin();
    code[count++] = 9u << 16 | 71; /* longer than the rest */
    CHECK_EQ_U64(found().stores[7], UINT64_MAX);
    lap_spirv_find_access(NULL, 0, &writes);
    CHECK_EQ_U64(writes.stores[31], UINT64_MAX);
}

UNIT_TEST(ids_and_sets_out_of_range_are_harmless)
{
    begin();
    put(71, BUFFER, 34, 4000, -1);
    put(62, BOUND + 5, UINT, -1);
    put(59, POINTER, BOUND + 7, 12, -1);
    put(65, POINTER, BOUND + 9, BUFFER, -1);
    put(62, BUFFER, UINT, -1);
    CHECK_WRITES(0, 0); /* no descriptor set has that number */
}

UNIT_TEST(the_capability_of_addresses_is_found)
{
    struct lap_spirv_access access, all;
    begin();
    put(17, 1, -1); /* Shader */
    CHECK(!found().addresses);
    put(17, 5347, -1); /* PhysicalStorageBufferAddresses */
    CHECK(found().addresses);
    access = found();
    CHECK(lap_spirv_access_any(&access));
    lap_spirv_access_all(&all);
    CHECK(all.addresses);
    memset(&access, 0, sizeof access);
    CHECK(!lap_spirv_access_any(&access));
    lap_spirv_access_add(&access, &all);
    CHECK(access.addresses && access.stores[5] == UINT64_MAX);
}

/* Every word of a shader is damaged in turn: nothing to compare, but the search must survive. */
UNIT_TEST(damaged_code_is_survived)
{
    static const uint32_t values[] = {0, 1, 0xffffffff, 0x7fffffff, 0xffff003e, 0x0002003e, 0x0001003e};
    uint32_t known = 0;
    begin();
    put(65, POINTER, FIRST, BUFFER, UINT, -1);
    put(62, FIRST, UINT, -1);
    for (uint32_t i = 0; i < count; i++)
        for (size_t v = 0; v < sizeof values / sizeof values[0]; v++) {
            uint32_t *copy = malloc(count * sizeof *copy); /* of just this size, for AddressSanitizer */
            struct lap_spirv_access writes;
            memcpy(copy, code, count * sizeof *copy);
            copy[i] = values[v];
            lap_spirv_find_access(copy, count, &writes);
            known += writes.stores[31] == 0;
            free(copy);
        }
    CHECK(known > 0);
}

UNIT_TEST(a_descriptor_is_an_array_of_a_type_that_no_id_can_be)
{
    enum { ARRAY = 1, POINTERS, ARRAYS, FAR = 0x10000000 };
    struct lap_arena arena;
    struct spirv module;

    begin_code(0x00010000, BOUND);
    put(71, ARRAYS, 34, 0, -1);
    put(71, ARRAYS, 33, 0, -1);
    put(29, ARRAY, FAR, FAR, -1);
    put(32, POINTERS, 2, ARRAY, -1);
    put(59, POINTERS, ARRAYS, 2, -1);
    lap_arena_init(&arena, 0);
    CHECK_EQ_INT(spirv_read(&module, &arena, code, (size_t)count * sizeof *code), LAP_OK);
    CHECK_EQ_INT(shader_fit(&module, &module, &arena), LAP_OK);
    lap_arena_finish(&arena);
}

UNIT_MAIN();

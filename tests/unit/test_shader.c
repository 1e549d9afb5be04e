/* SPDX-License-Identifier: MIT */
/* What SPIR-V modules say of themselves, in modules made up word by word. */
#include "vulkan/shader/spirv.h"

#include "tests/unit/unit.h"

#define OP(op, count) ((uint32_t)(count) << 16 | (op))

static const uint32_t header[] = {0x07230203, 0x00010000, 0, 64, 0};

struct module {
    uint32_t words[128];
    size_t count;
};

static void begin(struct module *m)
{
    memcpy(m->words, header, sizeof header);
    m->count = 5;
}

static void put(struct module *m, const uint32_t *words, size_t count)
{
    memcpy(&m->words[m->count], words, count * 4);
    m->count += count;
}

#define PUT(m, ...) put(m, (const uint32_t[]){__VA_ARGS__}, sizeof((const uint32_t[]){__VA_ARGS__}) / 4)

UNIT_TEST(capabilities_and_extensions_are_found)
{
    static struct lap_spirv_module shader;
    struct module m;
    uint32_t name[4] = {0};

    begin(&m);
    PUT(&m, OP(17, 2), 1);    /* OpCapability Shader */
    PUT(&m, OP(17, 2), 2);    /* Geometry */
    PUT(&m, OP(17, 2), 5302); /* RuntimeDescriptorArray */
    memcpy(name, "SPV_KHR_toy", 12);
    PUT(&m, OP(10, 4), name[0], name[1], name[2]); /* OpExtension */
    CHECK(lap_spirv_read(m.words, m.count, &shader));
    CHECK_EQ_U64(shader.capability_count, 3);
    CHECK_EQ_U64(shader.capabilities[1], 2);
    CHECK_EQ_U64(shader.capabilities[2], 5302);
    CHECK_EQ_U64(shader.extension_count, 1);
    CHECK_STR(shader.extensions[0], "SPV_KHR_toy");
    CHECK(!shader.has_size && !shader.stores_in_vertex && !shader.stores_in_fragment);
}

UNIT_TEST(what_is_damaged_says_nothing)
{
    static struct lap_spirv_module shader;
    struct module m;

    begin(&m);
    PUT(&m, OP(17, 2), 1);
    PUT(&m, OP(10, 2), 0x41414141); /* a string that does not end */
    CHECK(lap_spirv_read(m.words, m.count, &shader));
    CHECK_EQ_U64(shader.extension_count, 0);
    PUT(&m, OP(17, 9), 2); /* longer than the module */
    CHECK(!lap_spirv_read(m.words, m.count, &shader));
    CHECK_EQ_U64(shader.capability_count, 0);
    m.words[m.count - 2] = 0; /* an instruction of no words */
    CHECK(!lap_spirv_read(m.words, m.count, &shader));
    CHECK(!lap_spirv_read(m.words, 4, &shader));
    CHECK(!lap_spirv_read(NULL, 0, &shader));
    m.words[0]++;
    CHECK(!lap_spirv_read(m.words, m.count, &shader));
}

/* A store through a pointer to a storage buffer, and one to a variable that nobody else sees. */
static void put_stores(struct module *m, uint32_t model, uint32_t storage)
{
    PUT(m, OP(15, 4), model, 1, 0x6e69616d); /* OpEntryPoint %1 "main" without its end: nobody reads it */
    PUT(m, OP(32, 4), 2, storage, 3);        /* %2 = OpTypePointer storage %3 */
    PUT(m, OP(59, 4), 2, 4, storage);        /* %4 = OpVariable %2 */
    PUT(m, OP(65, 5), 2, 5, 4, 6);           /* %5 = OpAccessChain %2 %4 %6 */
    PUT(m, OP(62, 3), 5, 7);                 /* OpStore %5 %7 */
}

UNIT_TEST(stores_are_found_by_stage)
{
    static const struct {
        uint32_t model, storage;
        bool vertex, fragment;
    } cases[] = {
        {0, 12, true, false},  /* vertex, StorageBuffer */
        {3, 2, true, false},   /* geometry, Uniform: the storage buffers of old */
        {4, 12, false, true},  /* fragment */
        {5, 12, false, false}, /* compute shaders need no feature for it */
        {0, 3, false, false},  /* Output */
        {4, 7, false, false},  /* Function */
        {4, 5349, false, true} /* PhysicalStorageBuffer */
    };
    static struct lap_spirv_module shader;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct module m;
        begin(&m);
        put_stores(&m, cases[i].model, cases[i].storage);
        CHECK(lap_spirv_read(m.words, m.count, &shader));
        CHECK_EQ_INT(shader.stores_in_vertex, cases[i].vertex);
        CHECK_EQ_INT(shader.stores_in_fragment, cases[i].fragment);
    }
}

/* A pointer comes from a load, and what changes memory has a result or none. */
UNIT_TEST(atomics_are_stores)
{
    static const uint32_t ops[] = {229, 242, 318, 5614, 6035};
    static struct lap_spirv_module shader;

    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        struct module m;
        begin(&m);
        PUT(&m, OP(15, 4), 4, 1, 0x6e69616d);
        PUT(&m, OP(32, 4), 2, 5349, 3); /* %2 = OpTypePointer PhysicalStorageBuffer %3 */
        PUT(&m, OP(61, 4), 2, 5, 4);    /* %5 = OpLoad %2 %4 */
        PUT(&m, OP(ops[i], 6), 8, 6, 5, 7, 7);
        CHECK(lap_spirv_read(m.words, m.count, &shader));
        CHECK(shader.stores_in_fragment && !shader.stores_in_vertex);
    }
}

UNIT_TEST(sizes_of_workgroups_are_found)
{
    static struct lap_spirv_module shader;
    struct module m;

    begin(&m);
    PUT(&m, OP(16, 6), 1, 17, 8, 4, 2); /* OpExecutionMode %1 LocalSize */
    CHECK(lap_spirv_read(m.words, m.count, &shader));
    CHECK(shader.has_size && shader.size[0].value == 8 && shader.size[1].value == 4 && shader.size[2].value == 2);
    CHECK_EQ_U64(shader.size[0].constant, LAP_SPIRV_UNSPECIALIZED);

    /* WorkgroupSize decides, and a part of it is specialized. */
    PUT(&m, OP(71, 4), 9, 11, 25);     /* OpDecorate %9 BuiltIn WorkgroupSize */
    PUT(&m, OP(71, 4), 6, 1, 33);      /* OpDecorate %6 SpecId 33 */
    PUT(&m, OP(50, 4), 5, 6, 64);      /* %6 = OpSpecConstant 64 */
    PUT(&m, OP(43, 4), 5, 7, 1);       /* %7 = OpConstant 1 */
    PUT(&m, OP(51, 6), 8, 9, 6, 7, 7); /* %9 = OpSpecConstantComposite %6 %7 %7 */
    CHECK(lap_spirv_read(m.words, m.count, &shader));
    CHECK(shader.has_size && shader.size[0].value == 64 && shader.size[1].value == 1);
    CHECK_EQ_U64(shader.size[0].constant, 33);
    CHECK_EQ_U64(shader.size[1].constant, LAP_SPIRV_UNSPECIALIZED);
}

UNIT_MAIN();

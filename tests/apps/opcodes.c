/* SPDX-License-Identifier: MIT */
/*
 * opcodes: shaders of instructions that are newer than compilers, so they are assembled here. --replicated: composites
 * of one value (VK_EXT_shader_replicated_composites); --untyped: pointers without a type that read words as floats
 * (VK_KHR_shader_untyped_pointers); --matrix: products of cooperative matrices (VK_KHR_cooperative_matrix), of each
 * shape and type of those that the device lists and this program knows, bfloat16 and 8-bit floats among them.
 * --unknown: with --replicated, also a capability and an instruction that there are none of, for the null driver.
 */
#include "common/canvas.h"

#define ROUNDS 3u
#define WORDS  64u

/* ---- an assembler ---- */

struct code {
    uint32_t words[1024], count, ids;
};

/* Numbers of SPIR-V; older headers lack the newer ones. */
enum op {
    OP_EXTENSION = 10,
    OP_MEMORY_MODEL = 14,
    OP_ENTRY_POINT = 15,
    OP_EXECUTION_MODE = 16,
    OP_CAPABILITY = 17,
    OP_TYPE_VOID = 19,
    OP_TYPE_INT = 21,
    OP_TYPE_FLOAT = 22,
    OP_TYPE_VECTOR = 23,
    OP_TYPE_RUNTIME_ARRAY = 29,
    OP_TYPE_STRUCT = 30,
    OP_TYPE_POINTER = 32,
    OP_TYPE_FUNCTION = 33,
    OP_CONSTANT = 43,
    OP_FUNCTION = 54,
    OP_FUNCTION_END = 56,
    OP_VARIABLE = 59,
    OP_LOAD = 61,
    OP_STORE = 62,
    OP_ACCESS_CHAIN = 65,
    OP_DECORATE = 71,
    OP_MEMBER_DECORATE = 72,
    OP_COMPOSITE_EXTRACT = 81,
    OP_BITCAST = 124,
    OP_I_ADD = 128,
    OP_F_ADD = 129,
    OP_LABEL = 248,
    OP_RETURN = 253,
    OP_TYPE_UNTYPED_POINTER = 4417,
    OP_UNTYPED_VARIABLE = 4418,
    OP_UNTYPED_ACCESS_CHAIN = 4419,
    OP_TYPE_MATRIX = 4456,
    OP_MATRIX_LOAD = 4457,
    OP_MATRIX_STORE = 4458,
    OP_MATRIX_MUL_ADD = 4459,
    OP_CONSTANT_REPLICATE = 4461,
    OP_CONSTRUCT_REPLICATE = 4463,
    OP_UNKNOWN = 65000,
};

enum capability {
    CAP_SHADER = 1,
    CAP_FLOAT16 = 9,
    CAP_INT8 = 39,
    CAP_FLOAT8 = 4212,
    CAP_FLOAT8_MATRIX = 4213,
    CAP_UNTYPED = 4473,
    CAP_BFLOAT16 = 5116,
    CAP_BFLOAT16_MATRIX = 5118,
    CAP_MEMORY_MODEL = 5345,
    CAP_MATRIX = 6022,
    CAP_REPLICATED = 6024,
    CAP_UNKNOWN = 65001,
};

enum { STORAGE_BUFFER = 12, INPUT = 1 };

static void put(struct code *code, uint32_t word)
{
    CHECK(code->count < COUNT_OF(code->words));
    code->words[code->count++] = word;
}

static void put_op(struct code *code, enum op op, uint32_t count, const uint32_t *operands)
{
    put(code, (count + 1) << 16 | (uint32_t)op);
    for (uint32_t i = 0; i < count; i++)
        put(code, operands[i]);
}

#define OP(code, op, ...) put_op(code, op, COUNT_OF(((const uint32_t[]){__VA_ARGS__})), (const uint32_t[]){__VA_ARGS__})

/* An instruction whose last operands are a string and, behind it, more numbers. */
static void put_string(struct code *code, enum op op, uint32_t count, const uint32_t *operands, const char *text,
                       uint32_t more, const uint32_t *behind)
{
    const uint32_t length = (uint32_t)strlen(text) / 4 + 1;
    uint32_t words[16] = {0};

    CHECK(length <= COUNT_OF(words));
    memcpy(words, text, strlen(text));
    put(code, (1 + count + length + more) << 16 | (uint32_t)op);
    for (uint32_t i = 0; i < count; i++)
        put(code, operands[i]);
    for (uint32_t i = 0; i < length; i++)
        put(code, words[i]);
    for (uint32_t i = 0; i < more; i++)
        put(code, behind[i]);
}

static uint32_t id(struct code *code)
{
    return code->ids++;
}

/* ---- what all of these shaders have ---- */

struct shader {
    struct code code;
    uint32_t none, function, main, uint, zero, array, block, to_block, in, out, to_uint, group, triple, to_triple;
    bool untyped;
};

struct head {
    const enum capability *capabilities;
    uint32_t capability_count;
    const char *const *extensions;
    uint32_t extension_count;
    uint32_t local_size;
    bool vulkan_memory, untyped;
};

static void begin_types(struct shader *s);

/* Two buffers of words, with the number of the workgroup; up to where the types of the shader's own begin. */
static void begin_shader(struct shader *s, const struct head *head)
{
    struct code *c = &s->code;

    memset(s, 0, sizeof(*s));
    c->ids = 1;
    s->untyped = head->untyped;
    for (uint32_t *member = &s->none; member <= &s->to_triple; member++)
        *member = id(c);
    put(c, 0x07230203);
    put(c, 0x00010400);
    put(c, 0);
    put(c, 0); /* the bound: end_shader */
    put(c, 0);
    OP(c, OP_CAPABILITY, CAP_SHADER);
    for (uint32_t i = 0; i < head->capability_count; i++)
        OP(c, OP_CAPABILITY, head->capabilities[i]);
    for (uint32_t i = 0; i < head->extension_count; i++)
        put_string(c, OP_EXTENSION, 0, NULL, head->extensions[i], 0, NULL);
    OP(c, OP_MEMORY_MODEL, 0, head->vulkan_memory ? 3 : 1);
    put_string(c, OP_ENTRY_POINT, 2, (const uint32_t[]){5, s->main}, "main", 3,
               (const uint32_t[]){s->in, s->out, s->group});
    OP(c, OP_EXECUTION_MODE, s->main, 17, head->local_size, 1, 1);
    OP(c, OP_DECORATE, s->group, 11, 26);
    OP(c, OP_DECORATE, s->array, 6, 4);
    OP(c, OP_DECORATE, s->block, 2);
    OP(c, OP_MEMBER_DECORATE, s->block, 0, 35, 0);
    for (uint32_t i = 0; i < 2; i++) {
        OP(c, OP_DECORATE, i ? s->out : s->in, 34, 0);
        OP(c, OP_DECORATE, i ? s->out : s->in, 33, i);
    }
    begin_types(s);
}

static void begin_types(struct shader *s)
{
    struct code *c = &s->code;

    OP(c, OP_TYPE_VOID, s->none);
    OP(c, OP_TYPE_FUNCTION, s->function, s->none);
    OP(c, OP_TYPE_INT, s->uint, 32, 0);
    OP(c, OP_CONSTANT, s->uint, s->zero, 0);
    OP(c, OP_TYPE_RUNTIME_ARRAY, s->array, s->uint);
    OP(c, OP_TYPE_STRUCT, s->block, s->array);
    if (s->untyped) {
        OP(c, OP_TYPE_UNTYPED_POINTER, s->to_block, STORAGE_BUFFER);
        OP(c, OP_UNTYPED_VARIABLE, s->to_block, s->in, STORAGE_BUFFER, s->block);
        OP(c, OP_UNTYPED_VARIABLE, s->to_block, s->out, STORAGE_BUFFER, s->block);
    } else {
        OP(c, OP_TYPE_POINTER, s->to_block, STORAGE_BUFFER, s->block);
        OP(c, OP_VARIABLE, s->to_block, s->in, STORAGE_BUFFER);
        OP(c, OP_VARIABLE, s->to_block, s->out, STORAGE_BUFFER);
        OP(c, OP_TYPE_POINTER, s->to_uint, STORAGE_BUFFER, s->uint);
    }
    OP(c, OP_TYPE_VECTOR, s->triple, s->uint, 3);
    OP(c, OP_TYPE_POINTER, s->to_triple, INPUT, s->triple);
    OP(c, OP_VARIABLE, s->to_triple, s->group, INPUT);
}

/* Returns the number of the workgroup. */
static uint32_t begin_main(struct shader *s)
{
    struct code *c = &s->code;
    const uint32_t label = id(c), all = id(c), number = id(c);

    OP(c, OP_FUNCTION, s->none, s->main, 0, s->function);
    OP(c, OP_LABEL, label);
    OP(c, OP_LOAD, s->triple, all, s->group);
    OP(c, OP_COMPOSITE_EXTRACT, s->uint, number, all, 0);
    return number;
}

/* A pointer to a word of one of the buffers. */
static uint32_t word_of(struct shader *s, uint32_t buffer, uint32_t index)
{
    const uint32_t pointer = id(&s->code);

    if (s->untyped)
        OP(&s->code, OP_UNTYPED_ACCESS_CHAIN, s->to_block, pointer, s->block, buffer, s->zero, index);
    else
        OP(&s->code, OP_ACCESS_CHAIN, s->to_uint, pointer, buffer, s->zero, index);
    return pointer;
}

static void end_shader(struct shader *s)
{
    put_op(&s->code, OP_RETURN, 0, NULL);
    put_op(&s->code, OP_FUNCTION_END, 0, NULL);
    s->code.words[3] = s->code.ids;
}

static uint32_t constant(struct shader *s, uint32_t value)
{
    const uint32_t result = id(&s->code);
    OP(&s->code, OP_CONSTANT, s->uint, result, value);
    return result;
}

/* ---- words in, words out ---- */

struct state {
    struct app app;
    bool replicated, untyped, matrix, unknown;
    struct app_buffer in, out;
};

static void create_buffers(struct state *state, VkDeviceSize words)
{
    app_buffer_create(&state->app, &state->in, words * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_UPLOAD);
    app_buffer_create(&state->app, &state->out, words * 4, VK_BUFFER_USAGE_STORAGE_BUFFER_BIT, APP_READBACK);
}

/* Runs the shader; the host's words are flushed and the results can be read. */
static void run_shader(const struct state *state, const struct app_compute *compute, uint32_t groups)
{
    const uint32_t push[4] = {0};
    VkCommandBuffer commands = app_begin(&state->app);

    app_buffer_flush(&state->app, &state->in, 0, VK_WHOLE_SIZE);
    app_compute_run(compute, commands, push, groups);
    app_memory_barrier(commands, VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT, VK_ACCESS_SHADER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(&state->app, commands);
    app_buffer_invalidate(&state->app, &state->out, 0, VK_WHOLE_SIZE);
}

/* Each word becomes what `expect` says. */
static void run_words(struct state *state, const struct shader *s, uint32_t (*word)(uint32_t round, uint32_t i),
                      uint32_t (*expect)(uint32_t word))
{
    const struct app *app = &state->app;
    struct app_compute compute;

    create_buffers(state, WORDS);
    app_compute_create(app, &compute, s->code.words, s->code.count * 4, &state->in, &state->out);
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < WORDS; i++)
            ((uint32_t *)state->in.mapped)[i] = word(round, i);
        run_shader(state, &compute, WORDS);
        for (uint32_t i = 0; i < WORDS; i++)
            EXPECT_EQ(app, ((uint32_t *)state->out.mapped)[i], expect(word(round, i)));
    }
    app_compute_destroy(app, &compute);
    app_buffer_destroy(app, &state->in);
    app_buffer_destroy(app, &state->out);
}

/* ---- replicated composites ---- */

#define REPLICATED "VK_EXT_shader_replicated_composites"

static uint32_t number_of(uint32_t round, uint32_t i)
{
    return round * 1000 + i * 3;
}

static uint32_t plus_seven(uint32_t word)
{
    return word + 7;
}

static void run_replicated(struct state *state)
{
    static const enum capability capabilities[] = {CAP_REPLICATED, CAP_UNKNOWN};
    static const char *const extensions[] = {"SPV_EXT_replicated_composites"};
    const struct head head = {capabilities, state->unknown ? 2 : 1, extensions, 1, 1, false, false};
    static struct shader s;
    struct code *c = &s.code;
    uint32_t four, seven, sevens, number, in, word, words, sums, sum, out;

    begin_shader(&s, &head);
    four = id(c), sevens = id(c), word = id(c), words = id(c), sums = id(c), sum = id(c);
    OP(c, OP_TYPE_VECTOR, four, s.uint, 4);
    seven = constant(&s, 7);
    OP(c, OP_CONSTANT_REPLICATE, four, sevens, seven);
    number = begin_main(&s);
    in = word_of(&s, s.in, number);
    OP(c, OP_LOAD, s.uint, word, in);
    OP(c, OP_CONSTRUCT_REPLICATE, four, words, word);
    if (state->unknown)
        OP(c, OP_UNKNOWN, four, id(c), words, 0xffffffff);
    OP(c, OP_I_ADD, four, sums, words, sevens);
    OP(c, OP_COMPOSITE_EXTRACT, s.uint, sum, sums, 3);
    out = word_of(&s, s.out, number);
    OP(c, OP_STORE, out, sum);
    end_shader(&s);
    run_words(state, &s, number_of, plus_seven);
}

/* ---- untyped pointers ---- */

#define UNTYPED "VK_KHR_shader_untyped_pointers"

static uint32_t bits_of(float value)
{
    uint32_t word;
    memcpy(&word, &value, 4);
    return word;
}

static uint32_t float_of(uint32_t round, uint32_t i)
{
    return bits_of((float)(round * 100 + i) * 0.5f);
}

static uint32_t doubled(uint32_t word)
{
    float value;
    memcpy(&value, &word, 4);
    return bits_of(value + value);
}

/* Words are loaded as floats, which no typed pointer to them can do. */
static void run_untyped(struct state *state)
{
    static const enum capability capabilities[] = {CAP_UNTYPED};
    static const char *const extensions[] = {"SPV_KHR_untyped_pointers"};
    const struct head head = {capabilities, 1, extensions, 1, 1, false, true};
    static struct shader s;
    struct code *c = &s.code;
    uint32_t type, number, in, value, sum, out;

    begin_shader(&s, &head);
    type = id(c), value = id(c), sum = id(c);
    OP(c, OP_TYPE_FLOAT, type, 32);
    number = begin_main(&s);
    in = word_of(&s, s.in, number);
    OP(c, OP_LOAD, type, value, in);
    OP(c, OP_F_ADD, type, sum, value, value);
    out = word_of(&s, s.out, number);
    OP(c, OP_STORE, out, sum);
    end_shader(&s);
    run_words(state, &s, float_of, doubled);
}

/* ---- cooperative matrices ---- */

#define MATRIX   "VK_KHR_cooperative_matrix"
#define BFLOAT16 "VK_KHR_shader_bfloat16"
#define FLOAT8   "VK_EXT_shader_float8"

#ifdef VK_KHR_cooperative_matrix

/* A type of components; values are small whole numbers, which all of these hold. */
struct component {
    VkComponentTypeKHR type;
    uint32_t bits;
    bool is_float, is_signed;
    uint32_t encoding;      /* of OpTypeFloat; UINT32_MAX: none */
    uint32_t mantissa_bits; /* of floats, with their exponent's bias */
    uint32_t bias;
};

static const struct component components[] = {
    {VK_COMPONENT_TYPE_FLOAT16_KHR, 16, true, true, UINT32_MAX, 10, 15},
    {VK_COMPONENT_TYPE_FLOAT32_KHR, 32, true, true, UINT32_MAX, 23, 127},
    {VK_COMPONENT_TYPE_SINT8_KHR, 8, false, true, UINT32_MAX, 0, 0},
    {VK_COMPONENT_TYPE_UINT8_KHR, 8, false, false, UINT32_MAX, 0, 0},
    {VK_COMPONENT_TYPE_SINT32_KHR, 32, false, true, UINT32_MAX, 0, 0},
    {VK_COMPONENT_TYPE_UINT32_KHR, 32, false, false, UINT32_MAX, 0, 0},
#ifdef VK_KHR_shader_bfloat16
    {VK_COMPONENT_TYPE_BFLOAT16_KHR, 16, true, true, 0, 7, 127},
#endif
#ifdef VK_EXT_shader_float8
    {VK_COMPONENT_TYPE_FLOAT8_E4M3_EXT, 8, true, true, 4214, 3, 7},
    {VK_COMPONENT_TYPE_FLOAT8_E5M2_EXT, 8, true, true, 4215, 2, 15},
#endif
};

static const struct component *component_of(VkComponentTypeKHR type)
{
    for (uint32_t i = 0; i < COUNT_OF(components); i++)
        if (components[i].type == type)
            return &components[i];
    return NULL;
}

/* The bits of a small whole number. */
static uint32_t encode(const struct component *component, uint32_t value)
{
    uint32_t exponent = 0;

    if (!component->is_float || !value)
        return value;
    while (value >> (exponent + 1))
        exponent++;
    CHECK(exponent <= component->mantissa_bits);
    return (component->bias + exponent) << component->mantissa_bits |
           (value << (component->mantissa_bits - exponent) & ((1u << component->mantissa_bits) - 1));
}

static void write_component(uint8_t *bytes, uint32_t index, const struct component *component, uint32_t value)
{
    const uint32_t bits = encode(component, value), size = component->bits / 8;
    for (uint32_t i = 0; i < size; i++)
        bytes[index * size + i] = (uint8_t)(bits >> i * 8);
}

static uint32_t read_component(const uint8_t *bytes, uint32_t index, const struct component *component)
{
    uint32_t bits = 0;
    for (uint32_t i = 0; i < component->bits / 8; i++)
        bits |= (uint32_t)bytes[index * (component->bits / 8) + i] << i * 8;
    return bits;
}

/* What a device multiplies, and where the three inputs lie in the buffer. */
struct product {
    VkCooperativeMatrixPropertiesKHR shape;
    const struct component *a, *b, *c, *result;
    uint32_t words[3]; /* of each input */
};

/* Types that are used twice are declared once. */
struct declared {
    const struct component *component;
    uint32_t type;
};

static uint32_t scalar(struct shader *s, struct declared *list, const struct component *component)
{
    struct declared *at = list;

    if (!component->is_float && component->bits == 32 && !component->is_signed)
        return s->uint;
    while (at->component && at->component != component)
        at++;
    if (at->component)
        return at->type;
    *at = (struct declared){component, id(&s->code)};
    if (!component->is_float)
        OP(&s->code, OP_TYPE_INT, at->type, component->bits, component->is_signed);
    else if (component->encoding == UINT32_MAX)
        OP(&s->code, OP_TYPE_FLOAT, at->type, component->bits);
    else
        OP(&s->code, OP_TYPE_FLOAT, at->type, component->bits, component->encoding);
    return at->type;
}

static uint32_t matrix(struct shader *s, uint32_t type, uint32_t scope, uint32_t rows, uint32_t columns, uint32_t use)
{
    const uint32_t result = id(&s->code), r = constant(s, rows), c = constant(s, columns), u = constant(s, use);
    OP(&s->code, OP_TYPE_MATRIX, result, type, scope, r, c, u);
    return result;
}

static void begin_matrix_shader(struct shader *s, const struct product *p, uint32_t local_size)
{
    const struct component *const used[] = {p->a, p->b, p->c, p->result};
    enum capability capabilities[8] = {CAP_MEMORY_MODEL, CAP_MATRIX};
    const char *extensions[4] = {"SPV_KHR_vulkan_memory_model", "SPV_KHR_cooperative_matrix"};
    struct head head = {capabilities, 2, extensions, 2, local_size, true, false};
    bool half = false, bytes = false, brain = false, small = false;

    for (uint32_t i = 0; i < COUNT_OF(used); i++) {
        half |= used[i]->is_float && used[i]->bits == 16 && used[i]->encoding == UINT32_MAX;
        bytes |= !used[i]->is_float && used[i]->bits == 8;
        brain |= used[i]->encoding == 0;
        small |= used[i]->is_float && used[i]->bits == 8;
    }
    if (half)
        capabilities[head.capability_count++] = CAP_FLOAT16;
    if (bytes)
        capabilities[head.capability_count++] = CAP_INT8;
    if (brain) {
        capabilities[head.capability_count++] = CAP_BFLOAT16;
        capabilities[head.capability_count++] = CAP_BFLOAT16_MATRIX;
        extensions[head.extension_count++] = "SPV_KHR_bfloat16";
    }
    if (small) {
        capabilities[head.capability_count++] = CAP_FLOAT8;
        capabilities[head.capability_count++] = CAP_FLOAT8_MATRIX;
        extensions[head.extension_count++] = "SPV_EXT_float8";
    }
    begin_shader(s, &head);
}

/* result = a * b + c, all of them by rows. */
static void assemble_product(struct shader *s, const struct product *p, uint32_t local_size)
{
    const VkCooperativeMatrixPropertiesKHR *shape = &p->shape;
    struct declared list[5] = {{0}};
    struct code *c = &s->code;
    uint32_t types[4], values[4], scope, layout, strides[4], firsts[3], pointers[4];

    begin_matrix_shader(s, p, local_size);
    const uint32_t of_a = scalar(s, list, p->a), of_b = scalar(s, list, p->b), of_c = scalar(s, list, p->c),
                   of_result = scalar(s, list, p->result);
    scope = constant(s, (uint32_t)shape->scope);
    layout = s->zero; /* by rows */
    types[0] = matrix(s, of_a, scope, shape->MSize, shape->KSize, 0);
    types[1] = matrix(s, of_b, scope, shape->KSize, shape->NSize, 1);
    types[2] = matrix(s, of_c, scope, shape->MSize, shape->NSize, 2);
    types[3] = p->result == p->c ? types[2] : matrix(s, of_result, scope, shape->MSize, shape->NSize, 2);
    /* In words, which the pointers point to. */
    strides[0] = constant(s, shape->KSize * p->a->bits / 32);
    strides[1] = constant(s, shape->NSize * p->b->bits / 32);
    strides[2] = constant(s, shape->NSize * p->c->bits / 32);
    strides[3] = constant(s, shape->NSize * p->result->bits / 32);
    firsts[0] = s->zero;
    firsts[1] = constant(s, p->words[0]);
    firsts[2] = constant(s, p->words[0] + p->words[1]);
    (void)begin_main(s);
    for (uint32_t i = 0; i < 3; i++) {
        pointers[i] = word_of(s, s->in, firsts[i]);
        values[i] = id(c);
        OP(c, OP_MATRIX_LOAD, types[i], values[i], pointers[i], layout, strides[i]);
    }
    values[3] = id(c);
    if (!p->a->is_float && p->a->is_signed)
        OP(c, OP_MATRIX_MUL_ADD, types[3], values[3], values[0], values[1], values[2], 0xf);
    else
        OP(c, OP_MATRIX_MUL_ADD, types[3], values[3], values[0], values[1], values[2]);
    pointers[3] = word_of(s, s->out, s->zero);
    OP(c, OP_MATRIX_STORE, pointers[3], values[3], layout, strides[3]);
    end_shader(s);
}

static uint32_t value_of(uint32_t which, uint32_t round, uint32_t row, uint32_t column)
{
    return (row * (which + 1) + column + round) % 3;
}

static void fill_and_check(struct state *state, const struct product *p, const struct app_compute *compute,
                           uint32_t round)
{
    const VkCooperativeMatrixPropertiesKHR *shape = &p->shape;
    const uint32_t rows[] = {shape->MSize, shape->KSize, shape->MSize},
                   columns[] = {shape->KSize, shape->NSize, shape->NSize};
    const struct component *const of[] = {p->a, p->b, p->c};
    uint8_t *at = state->in.mapped;

    for (uint32_t which = 0; which < 3; which++) {
        for (uint32_t i = 0; i < rows[which] * columns[which]; i++)
            write_component(at, i, of[which], value_of(which, round, i / columns[which], i % columns[which]));
        at += (size_t)p->words[which] * 4;
    }
    run_shader(state, compute, 1);
    for (uint32_t i = 0; i < shape->MSize * shape->NSize; i++) {
        const uint32_t row = i / shape->NSize, column = i % shape->NSize;
        uint32_t sum = value_of(2, round, row, column);
        for (uint32_t k = 0; k < shape->KSize; k++)
            sum += value_of(0, round, row, k) * value_of(1, round, k, column);
        EXPECT_EQ(&state->app, read_component(state->out.mapped, i, p->result), encode(p->result, sum));
    }
}

static void run_product(struct state *state, const struct product *p, uint32_t local_size)
{
    const struct app *app = &state->app;
    static struct shader s;
    struct app_compute compute;

    assemble_product(&s, p, local_size);
    create_buffers(state, p->words[0] + p->words[1] + p->words[2] + p->shape.MSize * p->shape.NSize);
    app_compute_create(app, &compute, s.code.words, s.code.count * 4, &state->in, &state->out);
    for (uint32_t round = 0; round < ROUNDS; round++)
        fill_and_check(state, p, &compute, round);
    app_compute_destroy(app, &compute);
    app_buffer_destroy(app, &state->in);
    app_buffer_destroy(app, &state->out);
}

/* What the device has of the types that components may need. */
struct types {
    bool half, bytes, brain, small;
};

static bool can_multiply(const struct types *types, struct product *p)
{
    const VkCooperativeMatrixPropertiesKHR *shape = &p->shape;
    const struct component *used[4];
    uint32_t largest;

    used[0] = p->a = component_of(shape->AType);
    used[1] = p->b = component_of(shape->BType);
    used[2] = p->c = component_of(shape->CType);
    used[3] = p->result = component_of(shape->ResultType);
    for (uint32_t i = 0; i < 4; i++)
        if (!used[i] || (used[i]->is_float && used[i]->bits == 16 && used[i]->encoding && !types->half) ||
            (!used[i]->is_float && used[i]->bits == 8 && !types->bytes) || (used[i]->encoding == 0 && !types->brain) ||
            (used[i]->is_float && used[i]->bits == 8 && !types->small))
            return false;
    /* Sums of products of at most 2 must be exact. */
    largest = shape->KSize * 4 + 2;
    if (p->result->is_float ? p->result->mantissa_bits < 31 && largest >> (p->result->mantissa_bits + 1)
                            : p->result->bits < 32 && largest >> (p->result->bits - 1))
        return false;
    p->words[0] = shape->MSize * shape->KSize * p->a->bits / 32;
    p->words[1] = shape->KSize * shape->NSize * p->b->bits / 32;
    p->words[2] = shape->MSize * shape->NSize * p->c->bits / 32;
    /* All of a product's signs are alike here, and rows begin at words. */
    return shape->scope == VK_SCOPE_SUBGROUP_KHR && !shape->saturatingAccumulation &&
           p->a->is_float == p->c->is_float && (p->a->is_float || p->a->is_signed == p->c->is_signed) &&
           p->a->is_signed == p->b->is_signed && p->c->is_signed == p->result->is_signed &&
           shape->KSize * p->a->bits % 32 == 0 && shape->NSize * p->b->bits % 32 == 0 &&
           shape->NSize * p->c->bits % 32 == 0 && shape->NSize * p->result->bits % 32 == 0;
}

static void wish_for_types(struct app_wishes *wishes, struct types *types)
{
    static VkPhysicalDeviceVulkan12Features second = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};

    if (!APP_WISH(wishes, NULL, second, vulkanMemoryModel))
        app_skip(wishes->app, "no vulkanMemoryModel");
    second = (VkPhysicalDeviceVulkan12Features){.sType = second.sType,
                                                .pNext = second.pNext,
                                                .shaderFloat16 = second.shaderFloat16,
                                                .shaderInt8 = second.shaderInt8,
                                                .vulkanMemoryModel = VK_TRUE};
    types->half = second.shaderFloat16;
    types->bytes = second.shaderInt8;
#ifdef VK_KHR_shader_bfloat16
    static VkPhysicalDeviceShaderBfloat16FeaturesKHR brain = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_BFLOAT16_FEATURES_KHR};
    types->brain = APP_WISH(wishes, BFLOAT16, brain, shaderBFloat16CooperativeMatrix);
#endif
#ifdef VK_EXT_shader_float8
    static VkPhysicalDeviceShaderFloat8FeaturesEXT small = {
        .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_FLOAT8_FEATURES_EXT};
    types->small = APP_WISH(wishes, FLOAT8, small, shaderFloat8CooperativeMatrix);
#endif
}

static void run_matrix(struct state *state, const struct types *types)
{
    struct app *app = &state->app;
    VkPhysicalDeviceSubgroupProperties subgroup = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SUBGROUP_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &subgroup};
    VkCooperativeMatrixPropertiesKHR shapes[64];
    uint32_t count = COUNT_OF(shapes), done = 0;
    PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR get =
        (PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR)vkGetInstanceProcAddr(
            app->instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR");

    for (uint32_t i = 0; i < count; i++)
        shapes[i] = (VkCooperativeMatrixPropertiesKHR){.sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR};
    vkGetPhysicalDeviceProperties2(app->physical, &properties);
    CHECK(get(app->physical, &count, shapes) >= VK_SUCCESS);
    for (uint32_t i = 0; i < count; i++) {
        struct product p = {.shape = shapes[i]};
        if (!can_multiply(types, &p))
            continue;
        run_product(state, &p, subgroup.subgroupSize);
        done++;
    }
    if (!done)
        app_skip(app, "the device lists no matrices that this program knows");
    printf("%u of %u products\n", done, count);
}

#endif

/* ---- */

static void choose_and_run(struct state *state)
{
    struct app *app = &state->app;
    struct app_wishes wishes = {.app = app};

    if (app->api_version < VK_API_VERSION_1_3)
        app_skip(app, "needs Vulkan 1.3");
#ifdef VK_EXT_shader_replicated_composites
    if (state->replicated) {
        VkPhysicalDeviceShaderReplicatedCompositesFeaturesEXT features = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_REPLICATED_COMPOSITES_FEATURES_EXT};
        if (!APP_WISH(&wishes, REPLICATED, features, shaderReplicatedComposites))
            app_skip(app, "no " REPLICATED);
        app_wishes_device(&wishes, app, NULL);
        run_replicated(state);
        return;
    }
#endif
#ifdef VK_KHR_shader_untyped_pointers
    if (state->untyped) {
        VkPhysicalDeviceShaderUntypedPointersFeaturesKHR features = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_SHADER_UNTYPED_POINTERS_FEATURES_KHR};
        if (!APP_WISH(&wishes, UNTYPED, features, shaderUntypedPointers))
            app_skip(app, "no " UNTYPED);
        app_wishes_device(&wishes, app, NULL);
        run_untyped(state);
        return;
    }
#endif
#ifdef VK_KHR_cooperative_matrix
    if (state->matrix) {
        VkPhysicalDeviceCooperativeMatrixFeaturesKHR features = {
            .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_COOPERATIVE_MATRIX_FEATURES_KHR};
        struct types types = {false, false, false, false};
        if (!APP_WISH(&wishes, MATRIX, features, cooperativeMatrix))
            app_skip(app, "no " MATRIX);
        features.cooperativeMatrixRobustBufferAccess = VK_FALSE;
        wish_for_types(&wishes, &types);
        app_wishes_device(&wishes, app, NULL);
        run_matrix(state, &types);
        return;
    }
#endif
    (void)wishes, (void)run_replicated, (void)run_untyped;
    app_skip(app, "no option, or headers that are older than it");
}

int main(int argc, char **argv)
{
    static struct state state;
    static const struct app_option options[] = {{"--replicated", "composites of one value", &state.replicated, NULL},
                                                {"--untyped", "pointers without a type", &state.untyped, NULL},
                                                {"--matrix", "cooperative matrices", &state.matrix, NULL},
                                                {"--unknown", "numbers of nothing", &state.unknown, NULL},
                                                {NULL, NULL, NULL, NULL}};
    static const struct app_program program = {
        .name = "opcodes", .what = "instructions that are newer than compilers", .options = options};

    app_init(&state.app, argc, argv, &program);
    choose_and_run(&state);
    return app_finish(&state.app);
}

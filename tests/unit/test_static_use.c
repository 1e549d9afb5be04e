/* SPDX-License-Identifier: MIT */
/* Which descriptors entry points use, in modules made up word by word. */
#include "replayer/static_use.h"

#include "tests/unit/spirv_code.h"
#include "tests/unit/unit.h"

enum { VERTEX = 0, FRAGMENT = 4, BOUND = 64 };
/* Variables, and functions. */
enum { A = 1, B, C, PLAIN, MAIN, OTHER, HELPER, DEEP, UNUSED, FIRST };

/* A is binding 3 of set 1, B binding 0 of set 0, C binding 100 of set 2; PLAIN is no descriptor. */
static void begin(void)
{
    begin_code(0x00010300, BOUND);
    put(15, VERTEX, MAIN, SPIRV_MAIN, -1);    /* "main" */
    put(15, FRAGMENT, OTHER, SPIRV_MAIN, -1); /* "main" of another stage */
    put(71, A, 34, 1, -1);
    put(71, A, 33, 3, -1);
    put(71, B, 34, 0, -1);
    put(71, B, 33, 0, -1);
    put(71, C, 34, 2, -1);
    put(71, C, 33, 100, -1);
}

static void begin_function(int id)
{
    put(54, FIRST, id, 0, FIRST, -1);
}

static void end_function(void)
{
    put(56, -1);
}

/* "set.binding ..." */
static const char *found(uint32_t model)
{
    static char text[256];
    struct replay_entry_points points;
    const struct replay_uses *uses;

    CHECK_EQ_INT(replay_static_use(code, count, &points), LAP_OK);
    uses = replay_entry_point_uses(&points, model, "main");
    text[0] = 0;
    for (size_t i = 0; uses && i < uses->count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%u.%u ", uses->uses[i].set, uses->uses[i].binding);
    if (!uses)
        snprintf(text, sizeof text, "none");
    replay_entry_points_finish(&points);
    return text;
}

UNIT_TEST(each_entry_point_has_its_own)
{
    begin();
    begin_function(MAIN);
    put(61, FIRST, FIRST + 1, A, -1);            /* OpLoad */
    put(65, FIRST, FIRST + 2, B, FIRST + 3, -1); /* OpAccessChain */
    put(61, FIRST, FIRST + 4, PLAIN, -1);
    end_function();
    begin_function(OTHER);
    put(62, C, FIRST + 1, -1); /* OpStore */
    put(61, FIRST, FIRST + 4, C, -1);
    end_function();
    CHECK_STR(found(VERTEX), "0.0 1.3 ");
    CHECK_STR(found(FRAGMENT), "2.100 ");
    CHECK_STR(found(1), "none");
}

/* In whatever it calls, also where that calls itself, and in nothing else. */
UNIT_TEST(what_is_called_counts)
{
    begin();
    begin_function(MAIN);
    put(57, FIRST, FIRST + 1, HELPER, -1); /* OpFunctionCall */
    end_function();
    begin_function(HELPER);
    put(57, FIRST, FIRST + 2, DEEP, -1);
    put(57, FIRST, FIRST + 3, HELPER, -1);
    put(61, FIRST, FIRST + 4, A, -1);
    end_function();
    begin_function(DEEP);
    put(57, FIRST, FIRST + 5, HELPER, -1);
    put(68, FIRST, FIRST + 6, B, 0, -1); /* OpArrayLength */
    end_function();
    begin_function(UNUSED);
    put(61, FIRST, FIRST + 7, C, -1);
    end_function();
    begin_function(OTHER);
    end_function();
    CHECK_STR(found(VERTEX), "0.0 1.3 ");
    CHECK_STR(found(FRAGMENT), "");
}

UNIT_TEST(ways_to_use_a_variable)
{
    static const struct {
        uint32_t op, before;
    } ways[] = {{59 /* no use: OpVariable */, 0},
                {61, 2},
                {62, 0},
                {63, 0},
                {63, 1},
                {60, 2},
                {65, 2},
                {66, 2},
                {67, 2},
                {70, 2},
                {83, 2},
                {57, 3},
                {227, 2},
                {228, 0},
                {229, 2},
                {242, 2},
                {4419, 3}};

    for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
        begin();
        begin_function(MAIN);
        code[count] = (ways[i].before + 2) << 16 | ways[i].op;
        for (uint32_t j = 0; j < ways[i].before; j++)
            code[count + 1 + j] = FIRST + j;
        code[count + 1 + ways[i].before] = A;
        count += 2 + ways[i].before;
        end_function();
        if (strcmp(found(VERTEX), i ? "1.3 " : "") != 0)
            UNIT_FAIL("way %zu (%u): %s", i, ways[i].op, found(VERTEX));
    }
}

/* However often, and through however many functions. */
UNIT_TEST(each_use_counts_once)
{
    begin();
    begin_function(MAIN);
    for (int i = 0; i < 20; i++) {
        put(61, FIRST, FIRST + 1, A, -1);
        put(57, FIRST, FIRST + 1, HELPER, -1);
    }
    end_function();
    begin_function(HELPER);
    put(61, FIRST, FIRST + 1, A, -1);
    end_function();
    CHECK_STR(found(VERTEX), "1.3 ");
}

static uint32_t many[5 + 5 + 8 * (REPLAY_MOST_USES + 1) + 5 + 4 * (REPLAY_MOST_USES + 1) + 1];

/* A module that says that it uses very many descriptors takes no more memory than that. */
UNIT_TEST(there_is_a_limit)
{
    for (uint32_t most = REPLAY_MOST_USES; most <= REPLAY_MOST_USES + 1; most++) {
        const uint32_t header[] = {0x07230203,   0x00010300, 0,    FIRST + most, 0,
                                   5 << 16 | 15, VERTEX,     MAIN, 0x6e69616d,   0};
        const uint32_t function[] = {5 << 16 | 54, FIRST, MAIN, 0, FIRST};
        struct replay_entry_points points;
        uint32_t *at = many;

        memcpy(at, header, sizeof header);
        at += 10;
        for (uint32_t i = 0; i < most; i++, at += 8)
            memcpy(at, (uint32_t[]){4 << 16 | 71, FIRST + i, 34, 0, 4 << 16 | 71, FIRST + i, 33, i}, 32);
        memcpy(at, function, sizeof function);
        at += 5;
        for (uint32_t i = 0; i < most; i++, at += 4)
            memcpy(at, (uint32_t[]){4 << 16 | 61, MAIN, MAIN, FIRST + i}, 16);
        *at++ = 1 << 16 | 56;
        CHECK_EQ_INT(replay_static_use(many, (size_t)(at - many), &points),
                     most > REPLAY_MOST_USES ? LAP_ERROR_UNSUPPORTED : LAP_OK);
        CHECK(most > REPLAY_MOST_USES || points.entries[0].uses.count == most);
        replay_entry_points_finish(&points);
    }
}

/* A literal may be as large as an id: where operands are memory operands, for one. */
UNIT_TEST(literals_are_no_uses)
{
    begin();
    begin_function(MAIN);
    put(61, FIRST, FIRST + 1, PLAIN, B, A, -1); /* OpLoad %PLAIN Aligned 1 */
    put(71, FIRST, 34, A, -1);
    end_function();
    CHECK_STR(found(VERTEX), "");
}

UNIT_TEST(what_is_no_module_uses_nothing)
{
    begin();
    begin_function(MAIN);
    put(61, FIRST, FIRST + 1, A, -1);
    end_function();
    code[count - 1] += 1 << 16; /* longer than the module */
    CHECK_STR(found(VERTEX), "none");
    code[count - 1] = 56; /* of no words */
    CHECK_STR(found(VERTEX), "none");
    code[count - 1] = 1 << 16 | 56;
    CHECK_STR(found(VERTEX), "1.3 ");
    code[3] = 0; /* no ids */
    CHECK_STR(found(VERTEX), "none");
    code[3] = A + 1; /* ids that are too large name nothing */
    CHECK_STR(found(VERTEX), "");
    code[3] = BOUND;
    code[0]++;
    CHECK_STR(found(VERTEX), "none");
    begin();
    code[5 + 3] = code[5 + 4] = 0x61616161; /* a name without an end */
    CHECK_STR(found(VERTEX), "none");
    CHECK_STR(found(FRAGMENT), "");
    count = 3;
    CHECK_STR(found(VERTEX), "none");
}

UNIT_MAIN();

/* SPDX-License-Identifier: MIT */
#include "replayer/verify/shader_listing.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "gen_ids.h"
#include "inspector/question/shader_values.h"
#include "vulkan/shader/spirv.h"

#define CODE_COLUMNS 72
#define VALUE_BYTES  800u
#define MOST_ROUNDS  16u /* of an instruction, beside the code */

enum opcode {
    OP_SOURCE_CONTINUED = 2,
    OP_SOURCE = 3,
    OP_STRING = 7,
    OP_FUNCTION = 54,
    OP_LOAD = 61,
    OP_STORE = 62,
    OP_ACCESS_CHAIN = 65,
    OP_IN_BOUNDS_ACCESS_CHAIN = 66,
    OP_MODULE_PROCESSED = 330
};

struct listing {
    const struct replay *r;
    const struct shader_values *values;
    const uint32_t *results;
};

/* ---- values ---- */

static size_t scalar_text(const struct instrument_result *result, const uint32_t *words, char *out, size_t bytes)
{
    const uint64_t wide = result->bits == 64 ? words[0] | (uint64_t)words[1] << 32 : words[0];
    float single;
    double number;

    switch (result->type) {
    case INSTRUMENT_BOOL:
        return (size_t)snprintf(out, bytes, "%s", words[0] ? "true" : "false");
    case INSTRUMENT_FLOAT:
        memcpy(&single, words, sizeof single);
        number = (double)single;
        if (result->bits == 64)
            memcpy(&number, &wide, sizeof number);
        return (size_t)snprintf(out, bytes, "%.7g", number);
    case INSTRUMENT_INT:
        return (size_t)snprintf(out, bytes, "%" PRId64,
                                result->bits == 64 ? (int64_t)wide : (int64_t)(int32_t)words[0]);
    default:
        return (size_t)snprintf(out, bytes, "%" PRIu64, wide);
    }
}

static const char *value_text(const struct instrument_result *result, const uint32_t *words, char out[VALUE_BYTES])
{
    size_t length = 0;

    out[0] = 0;
    for (uint32_t i = 0; i < result->count && length + 32 < VALUE_BYTES; i++) {
        length += (size_t)snprintf(out + length, VALUE_BYTES - length, "%s", i ? " " : "");
        length +=
            scalar_text(result, words + (size_t)i * (result->bits == 64 ? 2 : 1), out + length, VALUE_BYTES - length);
    }
    return out;
}

static const char *clean(const char *text, char out[VALUE_BYTES])
{
    snprintf(out, VALUE_BYTES, "%s", text ? text : "");
    (void)lap_utf8_clean(out, '?');
    return out;
}

/* ---- heads ---- */

static void print_head(const struct listing *l)
{
    const struct shader_values *v = l->values;
    const uint32_t *at = v->wish.invocation;
    char position[POSITION_TEXT_BYTES], entry[VALUE_BYTES];

    printf("%s %s, VkPipeline:%" PRIu64 ", ", position_text(&v->wish.at, position), gen_command_names[v->command],
           v->of.pipeline);
    clean(v->of.entry, entry);
    switch (v->wish.stage) {
    case VK_SHADER_STAGE_FRAGMENT_BIT:
        printf("fragment shader %016" PRIx64 " %s, texel %u,%u: %u fragment%s\n", v->of.hash, entry, at[0], at[1],
               l->results[0], l->results[0] == 1 ? "" : "s");
        return;
    case VK_SHADER_STAGE_VERTEX_BIT:
        printf("vertex shader %016" PRIx64 " %s, vertex %u of instance %u: shaded %u time%s\n", v->of.hash, entry,
               at[0], at[1], l->results[0], l->results[0] == 1 ? "" : "s");
        return;
    default:
        printf("compute shader %016" PRIx64 " %s, invocation %u,%u,%u%s\n", v->of.hash, entry, at[0], at[1], at[2],
               l->results[0] ? "" : ": it does not run");
        return;
    }
}

static bool has_returned(const uint32_t *invocation)
{
    return invocation[INSTRUMENT_STATE] & INSTRUMENT_RETURNED;
}

static void print_invocation(const struct listing *l, uint32_t number, const uint32_t *words)
{
    const bool is_fragment = l->values->wish.stage == VK_SHADER_STAGE_FRAGMENT_BIT;
    float depth;

    memcpy(&depth, &words[INSTRUMENT_FIRST], sizeof depth);
    if (is_fragment)
        printf("fragment %u", number + 1);
    else
        printf("invocation %u", number + 1);
    if (is_fragment && words[INSTRUMENT_SECOND] != UINT32_MAX)
        printf(", primitive %u", words[INSTRUMENT_SECOND]);
    if (is_fragment)
        printf(", %s, depth %.7g", words[INSTRUMENT_THIRD] ? "front" : "back", (double)depth);
    if (!has_returned(words))
        printf(is_fragment ? ", discarded by the shader" : ", did not come to its end");
    if (words[INSTRUMENT_WORDS] > l->values->most_words)
        printf(", only the first %u KiB of values are kept", l->values->most_words / 256);
    putchar('\n');
}

static void print_outputs(const struct listing *l, const uint32_t *invocation)
{
    const struct instrument_result *result;
    const uint32_t *words;
    char text[VALUE_BYTES], name[VALUE_BYTES];
    struct shader_log log;

    shader_log_begin(&log, l->values, invocation);
    while ((result = shader_log_next(&log, &words))) {
        if (!result->is_output)
            continue;
        printf("output ");
        if (result->has_location)
            printf("location %u", result->location);
        else
            printf("built-in %u", result->built_in);
        printf(" %s  %s\n", clean(result->name, name), value_text(result, words, text));
    }
}

/* ---- beside the code ---- */

/* Line ends inside of the instruction's texts, which its line has, too. */
static unsigned line_ends(const uint32_t *instruction)
{
    const uint32_t op = instruction[0] & 0xffff, count = instruction[0] >> 16;
    const uint32_t first = op == OP_SOURCE                                          ? 4
                           : op == OP_STRING                                        ? 2
                           : op == OP_SOURCE_CONTINUED || op == OP_MODULE_PROCESSED ? 1
                                                                                    : count;
    unsigned ends = 0;

    for (uint32_t i = first; i < count; i++)
        for (unsigned byte = 0; byte < 4; byte++)
            ends += (instruction[i] >> (8 * byte) & 0xff) == '\n';
    return ends;
}

/* The values of an instruction, each round in a line. The first one stands behind the code. */
static void print_values(const struct listing *l, const uint32_t *invocation, uint32_t instruction, int column)
{
    const struct instrument_result *result;
    const uint32_t *words;
    char text[VALUE_BYTES];
    struct shader_log log;
    unsigned rounds = 0, round = 0;

    shader_log_begin(&log, l->values, invocation);
    while ((result = shader_log_next(&log, &words)))
        rounds += !result->is_output && result->instruction == instruction;
    shader_log_begin(&log, l->values, invocation);
    while (round < rounds && round < MOST_ROUNDS && (result = shader_log_next(&log, &words))) {
        if (result->is_output || result->instruction != instruction)
            continue;
        if (round)
            printf("\n%*s", CODE_COLUMNS, "");
        else if (column < CODE_COLUMNS)
            printf("%*s", CODE_COLUMNS - column, "");
        value_text(result, words, text);
        if (rounds > 1)
            printf("  [%u] %s", round + 1, text);
        else
            printf("  %s", text);
        round++;
    }
    if (rounds > MOST_ROUNDS)
        printf("\n%*s  and %u more rounds: --name shows all", CODE_COLUMNS, "", rounds - MOST_ROUNDS);
    putchar('\n');
}

static void print_code(const struct listing *l, const uint32_t *invocation, const char *text)
{
    const uint32_t *words = l->values->of.words;
    const size_t count = l->values->of.bytes / sizeof *words;
    uint32_t number = 0;
    bool in_functions = false; /* declarations have no values */

    for (size_t at = LAP_SPIRV_HEADER_WORDS; text && at < count && words[at] >> 16; at += words[at] >> 16, number++) {
        size_t length = 0;
        for (unsigned ends = line_ends(&words[at]) + 1; ends && text[length]; ends--)
            length += strcspn(text + length, "\n") + (text[length + strcspn(text + length, "\n")] == '\n');
        if (!length)
            return;
        in_functions |= (words[at] & 0xffff) == OP_FUNCTION;
        if (in_functions) {
            printf("%.*s", (int)(length - 1), text);
            print_values(l, invocation, number, (int)length - 1);
        }
        text += length;
    }
}

/* Without text of the code. */
static void print_ids(const struct listing *l, const uint32_t *invocation)
{
    const struct instrument_result *result;
    const uint32_t *words;
    char text[VALUE_BYTES], name[VALUE_BYTES];
    struct shader_log log;

    shader_log_begin(&log, l->values, invocation);
    while ((result = shader_log_next(&log, &words)))
        if (!result->is_output)
            printf("%%%u %s  %s\n", result->id, clean(result->name, name), value_text(result, words, text));
}

static enum lap_status print_all(const struct listing *l)
{
    const uint32_t kept = shader_values_kept(l->values, l->results);
    uint32_t last = 0;
    char *text = NULL;

    if (l->r->options.text &&
        l->r->options.text(l->values->of.words, l->values->of.bytes / sizeof(uint32_t), &text) == LAP_ERROR_MEMORY)
        return LAP_ERROR_MEMORY;
    for (uint32_t i = 0; i < kept; i++)
        if (has_returned(shader_values_of(l->values, l->results, i)))
            last = i;
    for (uint32_t i = 0; i < kept; i++) {
        const uint32_t *invocation = shader_values_of(l->values, l->results, i);
        print_invocation(l, i, invocation);
        if (i != last && !l->r->options.debug.all)
            continue;
        if (text)
            print_code(l, invocation, text);
        else
            print_ids(l, invocation);
        print_outputs(l, invocation);
    }
    free(text);
    return LAP_OK;
}

/* ---- a table ---- */

/* What the values of an id are the contents of: the variable that it is loaded from or stored to. */
static const uint32_t *instruction_of(const struct shader_values *v, uint32_t id, uint32_t op)
{
    const size_t count = v->of.bytes / sizeof(uint32_t);

    for (size_t at = LAP_SPIRV_HEADER_WORDS; at < count && v->of.words[at] >> 16; at += v->of.words[at] >> 16) {
        const uint32_t *words = &v->of.words[at];
        if (at + (words[0] >> 16) > count)
            break;
        if ((words[0] & 0xffff) == op && words[0] >> 16 > 2 && words[2] == id)
            return words;
    }
    return NULL;
}

static const char *name_of(const struct shader_values *v, uint32_t id)
{
    const size_t count = v->of.bytes / sizeof(uint32_t);

    for (size_t at = LAP_SPIRV_HEADER_WORDS; at < count && v->of.words[at] >> 16; at += v->of.words[at] >> 16) {
        const uint32_t *words = &v->of.words[at], length = words[0] >> 16;
        if (at + length > count)
            break;
        if ((words[0] & 0xffff) == 5 && length > 2 && words[1] == id &&
            memchr(&words[2], 0, (length - 2) * sizeof *words))
            return (const char *)&words[2];
    }
    return "";
}

static bool is_variable_named(const struct shader_values *v, uint32_t pointer, const char *name)
{
    const uint32_t *chain = instruction_of(v, pointer, OP_ACCESS_CHAIN);

    if (!chain)
        chain = instruction_of(v, pointer, OP_IN_BOUNDS_ACCESS_CHAIN);
    return strcmp(name_of(v, chain && chain[0] >> 16 > 3 ? chain[3] : pointer), name) == 0;
}

bool replay_shader_value_is_named(const struct shader_values *v, const struct instrument_result *result,
                                  const char *name)
{
    const size_t count = v->of.bytes / sizeof(uint32_t);
    const uint32_t *load = instruction_of(v, result->id, OP_LOAD);
    char id[16];

    snprintf(id, sizeof id, "%%%u", result->id);
    if (strcmp(name, id) == 0 || strcmp(name, id + 1) == 0 || (result->name && strcmp(result->name, name) == 0) ||
        (load && load[0] >> 16 > 3 && is_variable_named(v, load[3], name)))
        return true;
    for (size_t at = LAP_SPIRV_HEADER_WORDS; at < count && v->of.words[at] >> 16; at += v->of.words[at] >> 16) {
        const uint32_t *words = &v->of.words[at];
        if (at + (words[0] >> 16) <= count && (words[0] & 0xffff) == OP_STORE && words[0] >> 16 > 2 &&
            words[2] == result->id && is_variable_named(v, words[1], name))
            return true;
    }
    return false;
}

enum lap_status replay_shader_value_is_missing(const char *name)
{
    return lap_fail(LAP_ERROR_ARGUMENT, "no value of this shader has the name %s", name);
}

static void print_row(const struct listing *l, uint32_t number, uint32_t round, const struct instrument_result *result,
                      const uint32_t *words)
{
    char text[VALUE_BYTES], id[16];

    snprintf(id, sizeof id, "%%%u", result->id);
    printf("%-8u  %-5u  %-8s  %s\n", number + 1, round, id, value_text(result, words, text));
}

static enum lap_status print_table(const struct listing *l)
{
    const struct instrument_code *code = &l->values->code;
    const char *name = l->r->options.debug.name;
    bool *named = calloc((size_t)code->result_count + 1, sizeof *named);
    uint32_t *rounds = calloc((size_t)code->result_count + 1, sizeof *rounds);
    const struct instrument_result *result;
    const uint32_t *words;
    struct shader_log log;
    bool any = false;

    for (uint32_t i = 0; named && rounds && i < code->result_count; i++)
        any |= named[i] = replay_shader_value_is_named(l->values, &code->results[i], name);
    if (any)
        printf("%-8s  round  %-8s  value\n", l->values->wish.stage == VK_SHADER_STAGE_FRAGMENT_BIT ? "fragment" : "run",
               "id");
    for (uint32_t i = 0; any && i < shader_values_kept(l->values, l->results); i++) {
        memset(rounds, 0, code->result_count * sizeof *rounds);
        shader_log_begin(&log, l->values, shader_values_of(l->values, l->results, i));
        while ((result = shader_log_next(&log, &words)))
            if (named[result - code->results])
                print_row(l, i, ++rounds[result - code->results], result, words);
    }
    free(rounds);
    free(named);
    return !named || !rounds ? lap_no_memory("values of a shader")
           : any             ? LAP_OK
                             : replay_shader_value_is_missing(name);
}

enum lap_status replay_print_shader_listing(const struct replay *r, const uint32_t *results)
{
    const struct listing l = {.r = r, .values = r->options.debug.values, .results = results};

    print_head(&l);
    return r->options.debug.name ? print_table(&l) : print_all(&l);
}

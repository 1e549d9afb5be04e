/* SPDX-License-Identifier: MIT */
#include "replayer/verify/shader_values.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_ids.h"
#include "inspector/question/shader_values.h"
#include "replayer/verify/json_line.h"
#include "replayer/verify/read_buffer.h"
#include "replayer/verify/read_image.h"
#include "replayer/verify/shader_listing.h"

#define NO_NUMBER UINT32_MAX /* of outputs, and of results that are not wanted */

struct print {
    const struct shader_values *values;
    const uint32_t *words; /* the region */
    const char *name;      /* NULL, or that of the results that are wanted */
    uint32_t *numbers;     /* of results, in the head's list, or NO_NUMBER */
};

static const char *stage_name(VkShaderStageFlagBits stage)
{
    return stage == VK_SHADER_STAGE_FRAGMENT_BIT ? "fragment"
           : stage == VK_SHADER_STAGE_VERTEX_BIT ? "vertex"
                                                 : "compute";
}

/* ---- values ---- */

/* What JSON has no number for is a text. */
static cJSON *float_json(double value)
{
    return isnan(value)   ? cJSON_CreateString("nan")
           : isinf(value) ? cJSON_CreateString(value > 0 ? "inf" : "-inf")
                          : cJSON_CreateNumber(value);
}

/* 64-bit integers that a double does not hold are texts. */
static cJSON *long_json(uint64_t bits, bool is_signed)
{
    const uint64_t size = is_signed && bits >> 63 ? -bits : bits;
    char text[24];

    if (size <= UINT64_C(1) << 53)
        return cJSON_CreateNumber(is_signed ? (double)(int64_t)bits : (double)bits);
    snprintf(text, sizeof text, is_signed ? "%" PRId64 : "%" PRIu64, bits);
    return cJSON_CreateString(text);
}

static cJSON *scalar_json(const struct instrument_result *result, const uint32_t *words)
{
    const uint64_t wide = result->bits == 64 ? words[0] | (uint64_t)words[1] << 32 : words[0];
    float single;
    double twice;

    switch (result->type) {
    case INSTRUMENT_BOOL:
        return cJSON_CreateBool(words[0] != 0);
    case INSTRUMENT_FLOAT:
        memcpy(&single, words, sizeof single);
        memcpy(&twice, &wide, sizeof twice);
        return float_json(result->bits == 64 ? twice : (double)single);
    case INSTRUMENT_INT:
        return result->bits == 64 ? long_json(wide, true) : cJSON_CreateNumber((int32_t)words[0]);
    default:
        return result->bits == 64 ? long_json(wide, false) : cJSON_CreateNumber(words[0]);
    }
}

static cJSON *result_json(const struct instrument_result *result, const uint32_t *words)
{
    cJSON *array = cJSON_CreateArray();

    for (uint32_t i = 0; i < result->count; i++)
        (void)cJSON_AddItemToArray(array, scalar_json(result, words + (size_t)i * (result->bits == 64 ? 2 : 1)));
    return array;
}

/* ---- the head ---- */

static void add_type(cJSON *object, const struct instrument_result *result)
{
    static const char *const types[] = {"bool", "int", "uint", "float"};

    (void)cJSON_AddNumberToObject(object, "id", result->id);
    replay_json_text(object, "name", result->name);
    (void)cJSON_AddStringToObject(object, "type", types[result->type]);
    (void)cJSON_AddNumberToObject(object, "bits", result->bits);
    (void)cJSON_AddNumberToObject(object, "components", result->count);
}

/* Gives wanted results their numbers. LAP_ERROR_ARGUMENT: none has the name. */
static enum lap_status number_results(struct print *p)
{
    const struct instrument_code *code = &p->values->code;
    uint32_t count = 0;

    p->numbers = calloc((size_t)code->result_count + 1, sizeof *p->numbers);
    for (uint32_t i = 0; p->numbers && i < code->result_count; i++) {
        const bool wanted = !code->results[i].is_output &&
                            (!p->name || replay_shader_value_is_named(p->values, &code->results[i], p->name));
        p->numbers[i] = wanted ? count++ : NO_NUMBER;
    }
    return !p->numbers         ? lap_no_memory("values of a shader")
           : p->name && !count ? replay_shader_value_is_missing(p->name)
                               : LAP_OK;
}

static void add_results(const struct print *p, cJSON *head)
{
    cJSON *results = cJSON_AddArrayToObject(head, "results"), *outputs = cJSON_AddArrayToObject(head, "outputs");

    for (uint32_t i = 0; i < p->values->code.result_count; i++) {
        const struct instrument_result *result = &p->values->code.results[i];
        cJSON *object;
        if (!result->is_output && p->numbers[i] == NO_NUMBER)
            continue;
        object = cJSON_CreateObject();
        if (!result->is_output) {
            (void)cJSON_AddNumberToObject(object, "instruction", result->instruction);
            add_type(object, result);
            (void)cJSON_AddItemToArray(results, object);
            continue;
        }
        add_type(object, result);
        (void)(result->has_location ? cJSON_AddNumberToObject(object, "location", result->location)
                                    : cJSON_AddNullToObject(object, "location"));
        (void)(result->has_location ? cJSON_AddNullToObject(object, "built_in")
                                    : cJSON_AddNumberToObject(object, "built_in", result->built_in));
        (void)cJSON_AddNumberToObject(object, "component", result->component);
        (void)cJSON_AddNumberToObject(object, "index", result->index);
        (void)cJSON_AddItemToArray(outputs, object);
    }
}

static cJSON *head_json(const struct replay *r, const struct print *p)
{
    const struct shader_values *v = p->values;
    cJSON *line = cJSON_CreateObject(), *head = cJSON_AddObjectToObject(line, "debug"), *at;
    const unsigned numbers = v->wish.stage == VK_SHADER_STAGE_COMPUTE_BIT ? 3 : 2;
    char text[POSITION_TEXT_BYTES];

    (void)cJSON_AddStringToObject(head, "position", position_text(&v->wish.at, text));
    (void)cJSON_AddStringToObject(head, "command", gen_command_names[v->command]);
    replay_json_handle(head, "pipeline", GEN_HANDLE_VkPipeline, v->of.pipeline);
    (void)cJSON_AddStringToObject(head, "stage", stage_name(v->wish.stage));
    snprintf(text, sizeof text, "%016" PRIx64, v->of.hash);
    (void)cJSON_AddStringToObject(head, "shader", text);
    replay_json_text(head, "entry", v->of.entry);
    at = cJSON_AddArrayToObject(head, "at");
    for (unsigned i = 0; i < numbers; i++)
        (void)cJSON_AddItemToArray(at, cJSON_CreateNumber(v->wish.invocation[i]));
    (void)cJSON_AddNumberToObject(head, "invocations", p->words[0]);
    (void)cJSON_AddNumberToObject(head, "kept", p->words[0] < v->most_invocations ? p->words[0] : v->most_invocations);
    replay_json_text(head, "gpu", r->summary.gpu);
    add_results(p, head);
    return line;
}

/* ---- invocations ---- */

static void add_identity(const struct print *p, cJSON *object, const uint32_t *words)
{
    const uint32_t *place = &words[INSTRUMENT_FIRST];
    cJSON *global;
    float depth;

    switch (p->values->wish.stage) {
    case VK_SHADER_STAGE_FRAGMENT_BIT:
        memcpy(&depth, place, sizeof depth);
        (void)cJSON_AddItemToObject(object, "depth", float_json((double)depth));
        (void)(place[1] == UINT32_MAX ? cJSON_AddNullToObject(object, "primitive")
                                      : cJSON_AddNumberToObject(object, "primitive", place[1]));
        (void)cJSON_AddBoolToObject(object, "front", place[2] != 0);
        (void)cJSON_AddNumberToObject(object, "sample_mask", words[INSTRUMENT_SAMPLES]);
        return;
    case VK_SHADER_STAGE_VERTEX_BIT:
        (void)cJSON_AddNumberToObject(object, "vertex", place[0]);
        (void)cJSON_AddNumberToObject(object, "instance", place[1]);
        return;
    default:
        global = cJSON_AddArrayToObject(object, "global");
        for (unsigned i = 0; i < 3; i++)
            (void)cJSON_AddItemToArray(global, cJSON_CreateNumber(place[i]));
        return;
    }
}

/* Steps have the numbers of `results` in the head, outputs the order of `outputs` there. */
static void add_log(const struct print *p, cJSON *object, const uint32_t *invocation)
{
    cJSON *steps = cJSON_AddArrayToObject(object, "steps"), *outputs = cJSON_AddArrayToObject(object, "outputs");
    const struct instrument_result *result;
    const uint32_t *words;
    struct shader_log log;

    shader_log_begin(&log, p->values, invocation);
    while ((result = shader_log_next(&log, &words))) {
        const uint32_t number = p->numbers[result - p->values->code.results];
        cJSON *step;
        if (result->is_output) {
            (void)cJSON_AddItemToArray(outputs, result_json(result, words));
            continue;
        }
        if (number == NO_NUMBER)
            continue;
        step = cJSON_CreateArray();
        (void)cJSON_AddItemToArray(step, cJSON_CreateNumber(number));
        (void)cJSON_AddItemToArray(step, result_json(result, words));
        (void)cJSON_AddItemToArray(steps, step);
    }
}

static cJSON *invocation_json(const struct print *p, uint32_t number)
{
    const uint32_t *words = shader_values_of(p->values, p->words, number);
    cJSON *line = cJSON_CreateObject(), *object = cJSON_AddObjectToObject(line, "invocation");

    (void)cJSON_AddNumberToObject(object, "number", number);
    add_identity(p, object, words);
    (void)cJSON_AddBoolToObject(object, "returned", (words[INSTRUMENT_STATE] & INSTRUMENT_RETURNED) != 0);
    (void)cJSON_AddBoolToObject(object, "cut", words[INSTRUMENT_WORDS] > p->values->most_words);
    add_log(p, object, words);
    return line;
}

static enum lap_status print_json(const struct replay *r, const struct shader_values *values, const uint32_t *results)
{
    struct print p = {.values = values, .words = results, .name = r->options.debug.name};
    enum lap_status status = number_results(&p);

    if (status == LAP_OK)
        status = replay_json_line(head_json(r, &p));
    for (uint32_t i = 0; i < shader_values_kept(values, results) && status == LAP_OK; i++)
        status = replay_json_line(invocation_json(&p, i));
    free(p.numbers);
    return status;
}

enum lap_status replay_print_shader_values(struct replay *r)
{
    const struct shader_values *values = r->options.debug.values;
    const void *data = NULL;
    enum lap_status status = replay_settle(r);

    if (status == LAP_OK)
        status = replay_read_buffer(r, values->buffer, 0, values->code.region_bytes, &data);
    if (status != LAP_OK)
        return status;
    return r->options.json ? print_json(r, values, data) : replay_print_shader_listing(r, data);
}

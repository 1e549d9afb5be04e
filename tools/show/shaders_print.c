/* SPDX-License-Identifier: MIT */
#include "tools/show/shaders_print.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "gen_ids.h"
#include "inspector/spirv/spirv.h"
#include "tools/show/text.h"
#include "vulkan/shader/spirv.h"

#define ARENA_BYTES ((size_t)1 << 30)
#define STAGE_BYTES 80u
#define SPEC_ID     1u                  /* SPIR-V's decoration of specialization constants */
#define MOST_EXACT  (UINT64_C(1) << 53) /* JSON's numbers are exact up to it */

/* ---- parts of lines ---- */

/* Control characters of a stranger's text are no good for a terminal, and would end columns and lines. */
static void put_clean(FILE *out, const char *text, size_t bytes)
{
    lap_utf8_print(out, text, bytes, ' ', "");
}

/* "fragment", "any_hit" */
static const char *stage_text(VkShaderStageFlags stage, char out[STAGE_BYTES])
{
    const char *name = lap_text_named("VkShaderStageFlagBits", (int64_t)stage), *end;

    if (!name || strncmp(name, "VK_SHADER_STAGE_", 16) != 0) {
        snprintf(out, STAGE_BYTES, "0x%" PRIx32, stage);
        return out;
    }
    name += 16;
    end = strstr(name, "_BIT");
    snprintf(out, STAGE_BYTES, "%.*s", end ? (int)(end - name) : (int)strlen(name), name);
    for (char *c = out; *c; c++)
        *c = (char)tolower((unsigned char)*c);
    return out;
}

static const char *name_of(const struct lap_shaders_view *view, const struct shader_use *use)
{
    return shader_list_name(view->list, use->type, use->object);
}

static void put_object(FILE *out, uint32_t type, uint64_t object)
{
    char text[LAP_TEXT_HANDLE_MAX];

    lap_text_handle(type, object, text);
    fputs(text, out);
}

/* ---- columns ---- */

/* Whether a use is in a column, and not for the same as one before it. */
typedef bool (*column_fn)(const struct lap_shaders_view *view, const struct shader_code *code, size_t i);
typedef void (*put_fn)(const struct lap_shaders_view *view, const struct shader_use *use);

static bool has_stage(const struct shader_use *use)
{
    return use->type != GEN_HANDLE_VkShaderModule && !use->via;
}

static bool is_stage(const struct lap_shaders_view *view, const struct shader_code *code, size_t i)
{
    const struct shader_use *use = &code->uses[i];

    for (size_t j = 0; j < i && has_stage(use); j++)
        if (has_stage(&code->uses[j]) && code->uses[j].stage == use->stage &&
            strcmp(code->uses[j].entry, use->entry) == 0)
            return false;
    return has_stage(use);
}

static bool is_name(const struct lap_shaders_view *view, const struct shader_code *code, size_t i)
{
    const struct shader_use *use = &code->uses[i];
    const char *name = use->type == GEN_HANDLE_VkPipeline ? NULL : name_of(view, use), *other;

    for (size_t j = 0; j < i && name; j++)
        if (code->uses[j].type != GEN_HANDLE_VkPipeline && (other = name_of(view, &code->uses[j])) &&
            strcmp(name, other) == 0)
            return false;
    return name != NULL;
}

static bool is_module(const struct lap_shaders_view *view, const struct shader_code *code, size_t i)
{
    return code->uses[i].type == GEN_HANDLE_VkShaderModule;
}

static bool is_object(const struct lap_shaders_view *view, const struct shader_code *code, size_t i)
{
    return code->uses[i].type != GEN_HANDLE_VkShaderModule && code->uses[i].type != GEN_HANDLE_VkPipeline;
}

/* Several stages of a pipeline follow each other. */
static bool is_pipeline(const struct lap_shaders_view *view, const struct shader_code *code, size_t i)
{
    const struct shader_use *use = &code->uses[i];
    return use->type == GEN_HANDLE_VkPipeline &&
           !(i && code->uses[i - 1].type == use->type && code->uses[i - 1].object == use->object);
}

static bool is_inline(const struct lap_shaders_view *view, const struct shader_code *code, size_t i)
{
    return is_pipeline(view, code, i) && has_stage(&code->uses[i]) && !code->uses[i].module;
}

static void put_stage(const struct lap_shaders_view *view, const struct shader_use *use)
{
    char stage[STAGE_BYTES];

    if (view->json) {
        const char *name = lap_text_named("VkShaderStageFlagBits", (int64_t)use->stage);
        fputs("{\"stage\": ", view->out);
        lap_text_put_json(view->out, name ? name : stage_text(use->stage, stage));
        fputs(", \"entry\": ", view->out);
        lap_text_put_json(view->out, use->entry);
        fputc('}', view->out);
    } else {
        fprintf(view->out, "%s:", stage_text(use->stage, stage));
        put_clean(view->out, use->entry, strlen(use->entry));
    }
}

static void put_name(const struct lap_shaders_view *view, const struct shader_use *use)
{
    const char *name = name_of(view, use);

    if (view->json)
        lap_text_put_json(view->out, name);
    else
        put_clean(view->out, name, strlen(name));
}

static void put_handle(const struct lap_shaders_view *view, const struct shader_use *use)
{
    const char *quote = view->json ? "\"" : "";

    fputs(quote, view->out);
    put_object(view->out, use->type, use->object);
    fputs(quote, view->out);
}

static void put_pipeline(const struct lap_shaders_view *view, const struct shader_use *use)
{
    fputs(view->json ? "{\"pipeline\": " : "", view->out);
    put_handle(view, use);
    if (use->via) {
        fputs(view->json ? ", \"via\": \"" : " via ", view->out);
        put_object(view->out, GEN_HANDLE_VkPipeline, use->via);
        fputs(view->json ? "\"}" : "", view->out);
    } else if (view->json) {
        fputs(", \"via\": null}", view->out);
    }
}

static const struct {
    const char *name;
    column_fn has;
    put_fn put;
} columns[] = {{"stages", is_stage, put_stage},    {"names", is_name, put_name},
               {"modules", is_module, put_handle}, {"objects", is_object, put_handle},
               {"inline", is_inline, put_handle},  {"pipelines", is_pipeline, put_pipeline}};
#define COLUMNS (sizeof columns / sizeof *columns)

void lap_shaders_header(const struct lap_shaders_view *view)
{
    fputs("hash\tcode\tbytes", view->out);
    for (size_t i = 0; i < COLUMNS; i++)
        fprintf(view->out, "\t%s", columns[i].name);
    fputc('\n', view->out);
}

static const char *kind(const struct shader_code *code)
{
    return code->is_binary ? "binary" : "spirv";
}

/* Without the end of the object, or of the line. */
static void put_columns(const struct lap_shaders_view *view, const struct shader_code *code)
{
    fprintf(view->out,
            view->json ? "{\"hash\": \"%016" PRIx64 "\", \"code\": \"%s\", \"bytes\": %zu" : "%016" PRIx64 "\t%s\t%zu",
            code->hash, kind(code), code->bytes);
    for (size_t c = 0; c < COLUMNS; c++) {
        bool any = false;
        fprintf(view->out, view->json ? ", \"%s\": [" : "\t", columns[c].name);
        for (size_t i = 0; i < code->use_count; i++)
            if (columns[c].has(view, code, i)) {
                fputs(!any ? "" : view->json ? ", " : ",", view->out);
                columns[c].put(view, &code->uses[i]);
                any = true;
            }
        fputs(view->json ? "]" : any ? "" : "-", view->out);
    }
}

void lap_shaders_row(const struct lap_shaders_view *view, const struct shader_code *code)
{
    put_columns(view, code);
    fputs(view->json ? "}" : "\n", view->out);
}

/* ---- specialization constants ---- */

/* The instruction that makes the type of a constant; NULL: a boolean, whose constants have no value. *out_known: the
 * module has the constant. */
static const uint32_t *type_of(const struct spirv *spirv, uint32_t id, bool *out_known)
{
    *out_known = false;
    for (size_t at = LAP_SPIRV_HEADER_WORDS; at < spirv->count; at += spirv->words[at] >> 16) {
        const uint32_t *words = &spirv->words[at], *constant;
        if ((words[0] & 0xffff) == SPIRV_FUNCTION)
            break;
        if (words[0] != (4u << 16 | SPIRV_DECORATE) || words[2] != SPEC_ID || words[3] != id)
            continue;
        *out_known = true;
        constant = spirv_instruction(spirv, words[1]);
        return constant && (constant[0] & 0xffff) == SPIRV_SPEC_CONSTANT ? spirv_instruction(spirv, constant[1]) : NULL;
    }
    return NULL;
}

static int64_t sign_extended(const struct shader_constant *constant)
{
    unsigned shift = 64 - 8 * (constant->bytes ? constant->bytes : 8);
    return (int64_t)(constant->value << shift) >> shift;
}

/* As its type in the module has it; a number without a sign where that is not known. */
static void put_value(const struct lap_shaders_view *view, const struct spirv *spirv,
                      const struct shader_constant *constant)
{
    bool known, quoted = false;
    const uint32_t *type = type_of(spirv, constant->id, &known);
    const uint32_t op = type ? type[0] & 0xffff : 0;
    char text[LAP_TEXT_NUMBER_MAX];
    float single;
    double twice;

    if (known && !type) {
        snprintf(text, sizeof text, "%s", constant->value ? "true" : "false");
    } else if (op == SPIRV_TYPE_FLOAT && constant->bytes >= sizeof single) {
        memcpy(&single, &constant->value, sizeof single);
        memcpy(&twice, &constant->value, sizeof twice);
        lap_text_float(constant->bytes == sizeof single ? (double)single : twice, constant->bytes, text);
        quoted = isalpha((unsigned char)text[text[0] == '-']);
    } else if (op == SPIRV_TYPE_INT && type[3] && sign_extended(constant) < 0) {
        snprintf(text, sizeof text, "%" PRId64, sign_extended(constant));
        quoted = sign_extended(constant) < -(int64_t)MOST_EXACT;
    } else {
        snprintf(text, sizeof text, "%" PRIu64, constant->value);
        quoted = constant->value > MOST_EXACT;
    }
    fprintf(view->out, view->json && quoted ? "\"%s\"" : "%s", text);
}

/* ---- one code ---- */

static void put_use_json(const struct lap_shaders_view *view, const struct shader_use *use, const struct spirv *spirv)
{
    char stage[STAGE_BYTES];
    const char *name = has_stage(use) ? lap_text_named("VkShaderStageFlagBits", (int64_t)use->stage) : NULL;

    fputs("{\"object\": ", view->out);
    put_handle(view, use);
    fputs(", \"name\": ", view->out);
    lap_text_put_json(view->out, name_of(view, use));
    if (use->via) {
        fputs(", \"via\": \"", view->out);
        put_object(view->out, GEN_HANDLE_VkPipeline, use->via);
        fputc('"', view->out);
    }
    if (has_stage(use)) {
        fputs(", \"stage\": ", view->out);
        lap_text_put_json(view->out, name ? name : stage_text(use->stage, stage));
        fputs(", \"entry\": ", view->out);
        lap_text_put_json(view->out, use->entry);
        if (use->module) {
            fputs(", \"module\": \"", view->out);
            put_object(view->out, GEN_HANDLE_VkShaderModule, use->module);
            fputc('"', view->out);
        }
        fputs(", \"constants\": [", view->out);
        for (uint32_t i = 0; i < use->constant_count; i++) {
            fprintf(view->out, "%s{\"id\": %" PRIu32 ", \"value\": ", i ? ", " : "", use->constants[i].id);
            put_value(view, spirv, &use->constants[i]);
            fputc('}', view->out);
        }
        fputc(']', view->out);
    }
    fputc('}', view->out);
}

/* "VkPipeline:1 "name" fragment main, VkShaderModule:1, constants 0 = 5, 1 = 0.5" */
static void put_use_text(const struct lap_shaders_view *view, const struct shader_use *use, const struct spirv *spirv)
{
    const char *name = name_of(view, use);
    char stage[STAGE_BYTES];

    put_object(view->out, use->type, use->object);
    if (name) {
        fputc(' ', view->out);
        lap_text_quoted(view->out, name, strlen(name));
    }
    if (use->via) {
        fputs(" via ", view->out);
        put_object(view->out, GEN_HANDLE_VkPipeline, use->via);
    }
    if (has_stage(use)) {
        fprintf(view->out, " %s ", stage_text(use->stage, stage));
        put_clean(view->out, use->entry, strlen(use->entry));
    }
    if (use->module) {
        fputs(", ", view->out);
        put_object(view->out, GEN_HANDLE_VkShaderModule, use->module);
    } else if (has_stage(use) && use->type == GEN_HANDLE_VkPipeline) {
        fputs(", inline", view->out);
    }
    for (uint32_t i = 0; i < use->constant_count; i++) {
        fprintf(view->out, "%s %" PRIu32 " = ", i ? "," : ", constants", use->constants[i].id);
        put_value(view, spirv, &use->constants[i]);
    }
}

static void put_one_json(const struct lap_shaders_view *view, const struct shader_code *code, const struct spirv *spirv,
                         const char *text, bool glsl)
{
    put_columns(view, code);
    fputs(", \"uses\": [", view->out);
    for (size_t i = 0; i < code->use_count; i++) {
        fputs(i ? ", " : "", view->out);
        put_use_json(view, &code->uses[i], spirv);
    }
    fprintf(view->out, "], \"%s\": ", glsl ? "glsl" : "spirv");
    lap_text_put_json(view->out, text);
    fputs("}\n", view->out);
}

void lap_shaders_one(const struct lap_shaders_view *view, const struct shader_code *code, const void *data,
                     const char *text, bool glsl)
{
    const char *comment = glsl ? "//" : ";";
    struct lap_arena arena;
    struct spirv spirv;

    lap_arena_init(&arena, ARENA_BYTES);
    if (code->is_binary || spirv_read(&spirv, &arena, data, code->bytes) != LAP_OK)
        spirv.count = 0; /* types of constants are not known */
    if (view->json) {
        put_one_json(view, code, &spirv, text, glsl);
    } else {
        fprintf(view->out, "%s %016" PRIx64 ": %zu bytes of %s\n", comment, code->hash, code->bytes,
                code->is_binary ? "a driver's code" : "SPIR-V");
        for (size_t i = 0; i < code->use_count; i++) {
            fprintf(view->out, "%s ", comment);
            put_use_text(view, &code->uses[i], &spirv);
            fputc('\n', view->out);
        }
        fputs(text ? "\n" : "", view->out);
        if (text)
            lap_utf8_print(view->out, text, strlen(text), ' ', "\n\t");
    }
    lap_arena_finish(&arena);
}

/* ---- searches ---- */

static bool has(const struct lap_shaders_search *search, const char *text)
{
    return (search->ignore_case ? strcasestr(text, search->wanted) : strstr(text, search->wanted)) != NULL;
}

/* What comes before the text of a line. */
static void begin_line(const struct lap_shaders_view *view, const struct shader_code *code, size_t line,
                       struct lap_shaders_search *search)
{
    if (view->json)
        fprintf(view->out, "%s{\"shader\": \"%016" PRIx64 "\", \"line\": %zu, \"text\": ", search->found ? ",\n" : "",
                code->hash, line);
    else
        fprintf(view->out, "%016" PRIx64 ":%zu: ", code->hash, line);
    search->found++;
}

static void put_line(const struct lap_shaders_view *view, const struct shader_code *code, size_t line, const char *text,
                     struct lap_shaders_search *search)
{
    begin_line(view, code, line, search);
    if (view->json) {
        lap_text_put_json(view->out, text);
        fputc('}', view->out);
    } else {
        put_clean(view->out, text, strlen(text));
        fputc('\n', view->out);
    }
}

void lap_shaders_found(const struct lap_shaders_view *view, const struct shader_code *code, const char *text,
                       struct lap_shaders_search *search)
{
    char *lines = text ? strdup(text) : NULL, *rest = lines, *at;

    for (size_t i = 0; i < code->use_count; i++) {
        const struct shader_use *use = &code->uses[i];
        if (is_name(view, code, i) && has(search, name_of(view, use)))
            put_line(view, code, 0, name_of(view, use), search);
        if (is_stage(view, code, i) && has(search, use->entry))
            put_line(view, code, 0, use->entry, search);
    }
    for (size_t line = 1; (at = strsep(&rest, "\n")); line++)
        if (has(search, at))
            put_line(view, code, line, at + strspn(at, " \t"), search);
    free(lines);
}

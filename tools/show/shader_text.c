/* SPDX-License-Identifier: MIT */
#include "tools/show/shader_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "vulkan/shader/spirv.h"

#ifdef LAP_SPIRV_TOOLS
#include <spirv-tools/libspirv.h>

#define KNOWN_VERSION    0x00010600u /* the newest that all SPIRV-Tools print */
#define SOURCE_EXTENSION 4u
#define CAPABILITY       17u
#define MARK             "lapilli: words of instruction "
#define MARK_WORDS       16u
#define MOST_ROUNDS      1024u
#define UNKNOWN_BYTES    256u

/* The beginning of the sentences. */
#define TOOLS "SPIRV-Tools %s"

static int first_line(const char *text)
{
    return (int)strcspn(text, "\n");
}

static const char *reason_of(spv_diagnostic diagnostic)
{
    return diagnostic && diagnostic->error ? diagnostic->error : "no reason given";
}

/* ---- code that is newer than SPIRV-Tools ---- */

/* A copy of the code for SPIRV-Tools. Instructions that it does not know are OpSourceExtensions there, whose texts are
 * MARK and the number of the instruction. */
struct copy {
    const uint32_t *words;
    size_t count;
    size_t *at; /* of each instruction the first word; one more: the end */
    bool *unknown;
    size_t instructions, at_capacity, unknown_count;
    uint32_t *patched;
    size_t patched_count, patched_capacity;
    char list[UNKNOWN_BYTES]; /* what is unknown, each once */
};

static bool is_known_opcode(uint32_t opcode)
{
    return strcmp(spvOpcodeString(opcode), "unknown") != 0;
}

static void note_unknown(struct copy *c, size_t instruction)
{
    const uint32_t *words = c->words + c->at[instruction];
    uint32_t opcode = words[0] & 0xffff;
    size_t used = strlen(c->list);
    char name[80], *found = c->list;

    c->unknown[instruction] = true;
    c->unknown_count++;
    if (!is_known_opcode(opcode))
        snprintf(name, sizeof name, "opcode %u", opcode);
    else if (opcode == CAPABILITY && words[0] >> 16 > 1)
        snprintf(name, sizeof name, "capability %u", words[1]);
    else
        snprintf(name, sizeof name, "operands of Op%s", spvOpcodeString(opcode));
    while ((found = strstr(found, name)) && found[strlen(name)] && found[strlen(name)] != ',')
        found++;
    if (!found && used + strlen(name) + 8 < sizeof c->list)
        snprintf(c->list + used, sizeof c->list - used, "%s%s", used ? ", " : "", name);
    else if (!found && strcmp(c->list + used - 3, "...") != 0)
        strcpy(c->list + used, ", ...");
}

/* LAP_END: an instruction is cut. */
static enum lap_status find_instructions(struct copy *c)
{
    size_t at = LAP_SPIRV_HEADER_WORDS;

    for (;; at += c->words[at] >> 16) {
        if (!lap_array_grow(&c->at, sizeof *c->at, &c->at_capacity, c->instructions + 1))
            return lap_no_memory("the text of a shader");
        c->at[c->instructions] = at;
        if (at == c->count)
            break;
        if (at > c->count || c->words[at] >> 16 == 0)
            return LAP_END;
        c->instructions++;
    }
    c->unknown = calloc(c->instructions + 1, sizeof *c->unknown);
    for (size_t i = 0; c->unknown && i < c->instructions; i++)
        if (!is_known_opcode(c->words[c->at[i]] & 0xffff))
            note_unknown(c, i);
    return c->unknown ? LAP_OK : lap_no_memory("the text of a shader");
}

static enum lap_status patch(struct copy *c)
{
    size_t room = c->count + c->unknown_count * MARK_WORDS;

    if (!lap_array_grow(&c->patched, sizeof *c->patched, &c->patched_capacity, room))
        return lap_no_memory("the text of a shader");
    memcpy(c->patched, c->words, LAP_SPIRV_HEADER_WORDS * sizeof *c->words);
    if (c->patched[1] > KNOWN_VERSION)
        c->patched[1] = KNOWN_VERSION;
    c->patched_count = LAP_SPIRV_HEADER_WORDS;
    for (size_t i = 0; i < c->instructions; i++) {
        size_t count = c->at[i + 1] - c->at[i];
        uint32_t mark[MARK_WORDS] = {0};
        if (c->unknown[i]) {
            count = 2 + (size_t)snprintf((char *)&mark[1], sizeof mark - sizeof *mark, MARK "%zu", i) / sizeof *mark;
            mark[0] = (uint32_t)count << 16 | SOURCE_EXTENSION;
        }
        memcpy(c->patched + c->patched_count, c->unknown[i] ? mark : c->words + c->at[i], count * sizeof *mark);
        c->patched_count += count;
    }
    return LAP_OK;
}

/* An instruction as numbers, which spirv-as does not take for something else. */
static void put_words(FILE *out, const struct copy *c, size_t instruction)
{
    uint32_t opcode = c->words[c->at[instruction]] & 0xffff;

    if (is_known_opcode(opcode))
        fprintf(out, "%15sOp%s", "", spvOpcodeString(opcode));
    else
        fprintf(out, "%15sOp%u", "", opcode);
    for (size_t i = c->at[instruction] + 1; i < c->at[instruction + 1]; i++)
        fprintf(out, " %u", c->words[i]);
    fputs(" ; words\n", out);
}

static enum lap_status put_text(const struct copy *c, const char *text, char **out)
{
    static const char mark[] = "OpSourceExtension \"" MARK;
    size_t room;
    FILE *file = open_memstream(out, &room);

    if (!file)
        return lap_no_memory("the text of a shader");
    fprintf(file, "; " TOOLS " in this build of Lapilli does not know %s.\n", spvSoftwareVersionString(), c->list);
    fprintf(file,
            "; %zu instructions stand as words. A build with a newer SPIRV-Tools may know them (docs/build.md).\n",
            c->unknown_count);
    if (c->words[1] > KNOWN_VERSION)
        fprintf(file, "; The version of the code is %u.%u.\n", c->words[1] >> 16, c->words[1] >> 8 & 0xff);
    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        const char *word = line + strspn(line, " ");
        size_t i = strncmp(word, mark, strlen(mark)) == 0 ? strtoull(word + strlen(mark), NULL, 10) : c->instructions;
        if (i < c->instructions && c->unknown[i])
            put_words(file, c, i);
        else
            fprintf(file, "%.*s\n", first_line(line), line);
    }
    if (fclose(file) == 0)
        return LAP_OK;
    free(*out);
    *out = NULL;
    return lap_no_memory("the text of a shader");
}

/* Finds the instructions that SPIRV-Tools does not know, one after the other. LAP_END: nothing helps. */
static enum lap_status make_copy(struct copy *c, spv_context context)
{
    enum lap_status status = c->count < LAP_SPIRV_HEADER_WORDS ? LAP_END : find_instructions(c);

    for (unsigned round = 0; status == LAP_OK; round++) {
        spv_diagnostic diagnostic = NULL;
        size_t failed = 0; /* from 1 */
        status = patch(c);
        if (status != LAP_OK ||
            spvBinaryParse(context, NULL, c->patched, c->patched_count, NULL, NULL, &diagnostic) == SPV_SUCCESS)
            break;
        failed = diagnostic ? diagnostic->position.index : 0;
        spvDiagnosticDestroy(diagnostic);
        if (round == MOST_ROUNDS || !failed || failed > c->instructions || c->unknown[failed - 1])
            status = LAP_END;
        else
            note_unknown(c, failed - 1);
    }
    return status;
}

static enum lap_status copy_text(struct copy *c, spv_context context, char **out)
{
    spv_text text = NULL;
    enum lap_status status = make_copy(c, context);

    if (status == LAP_OK && spvBinaryToText(context, c->patched, c->patched_count, SPV_BINARY_TO_TEXT_OPTION_INDENT,
                                            &text, NULL) != SPV_SUCCESS)
        status = LAP_END;
    if (status == LAP_OK)
        status = put_text(c, text->str, out);
    spvTextDestroy(text);
    return status;
}

static void free_copy(struct copy *c)
{
    free(c->at);
    free(c->unknown);
    free(c->patched);
}

/* ---- SPIR-V ---- */

static enum lap_status spirv(const uint32_t *words, size_t bytes, char **out)
{
    const uint32_t options = SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES;
    spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
    struct copy copy = {.words = words, .count = bytes / sizeof *words};
    spv_diagnostic diagnostic = NULL;
    spv_text text = NULL;
    enum lap_status status = LAP_OK;

    *out = NULL;
    if (!context)
        return lap_no_memory("the text of a shader");
    if (spvBinaryToText(context, words, copy.count, options, &text, &diagnostic) != SPV_SUCCESS) {
        status = copy_text(&copy, context, out);
        if (status == LAP_END)
            status = lap_fail(LAP_ERROR_UNSUPPORTED, TOOLS ": %.*s; -o writes the code", spvSoftwareVersionString(),
                              first_line(reason_of(diagnostic)), reason_of(diagnostic));
    } else if (!(*out = strndup(text->str, text->length))) {
        status = lap_no_memory("the text of a shader");
    }
    free_copy(&copy);
    spvTextDestroy(text);
    spvDiagnosticDestroy(diagnostic);
    spvContextDestroy(context);
    return status;
}

const lap_shader_text_fn lap_shader_spirv = spirv;
#else
const lap_shader_text_fn lap_shader_spirv = NULL;
#endif

#if defined LAP_SPIRV_TOOLS && defined LAP_SPIRV_CROSS
#include <spirv_cross/spirv_cross_c.h>

/* The code is newer than SPIRV-Tools, or wrong. */
static enum lap_status refuse(spv_context context, const uint32_t *words, size_t bytes, const char *reason)
{
    struct copy copy = {.words = words, .count = bytes / sizeof *words};
    enum lap_status status = make_copy(&copy, context);

    if (status == LAP_OK && copy.unknown_count)
        status = lap_fail(LAP_ERROR_UNSUPPORTED,
                          TOOLS " in this build of Lapilli does not know %s, so it can't check the code for "
                                "SPIRV-Cross. Without --glsl its SPIR-V is shown",
                          spvSoftwareVersionString(), copy.list);
    else if (status == LAP_OK || status == LAP_END)
        status = lap_fail(LAP_ERROR_UNSUPPORTED, "the code is not valid, which SPIRV-Cross needs (" TOOLS ": %.*s)%s",
                          spvSoftwareVersionString(), first_line(reason), reason,
                          status == LAP_OK ? ". Without --glsl its SPIR-V is shown" : "");
    free_copy(&copy);
    return status;
}

/* SPIRV-Cross takes valid code only. */
static enum lap_status validate(const uint32_t *words, size_t bytes)
{
    spv_const_binary_t binary = {words, bytes / sizeof *words};
    spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
    spv_validator_options options = spvValidatorOptionsCreate();
    spv_diagnostic diagnostic = NULL;
    enum lap_status status = context && options ? LAP_OK : lap_no_memory("the text of a shader");

    if (status == LAP_OK) {
        spvValidatorOptionsSetScalarBlockLayout(options, true);
        spvValidatorOptionsSetWorkgroupScalarBlockLayout(options, true);
        spvValidatorOptionsSetAllowLocalSizeId(options, true);
        if (spvValidateWithOptions(context, options, &binary, &diagnostic) != SPV_SUCCESS)
            status = refuse(context, words, bytes, reason_of(diagnostic));
    }
    spvDiagnosticDestroy(diagnostic);
    if (options)
        spvValidatorOptionsDestroy(options);
    if (context)
        spvContextDestroy(context);
    return status;
}

static enum lap_status cross_refuses(const char *reason)
{
    return lap_fail(LAP_ERROR_UNSUPPORTED, "SPIRV-Cross: %.*s. Without --glsl its SPIR-V is shown", first_line(reason),
                    reason);
}

static void stay_silent(void *user, const char *error) {}

/* The text of one entry point; NULL: there is none. It belongs to the context. */
static const char *compile(spvc_context context, const uint32_t *words, size_t count, size_t entry,
                           size_t *out_entry_count)
{
    spvc_parsed_ir ir = NULL;
    spvc_compiler compiler = NULL;
    spvc_compiler_options options = NULL;
    const spvc_entry_point *entries = NULL;
    const char *source = NULL;

    if (spvc_context_parse_spirv(context, words, count, &ir) != SPVC_SUCCESS ||
        spvc_context_create_compiler(context, SPVC_BACKEND_GLSL, ir, SPVC_CAPTURE_MODE_TAKE_OWNERSHIP, &compiler) !=
            SPVC_SUCCESS ||
        spvc_compiler_get_entry_points(compiler, &entries, out_entry_count) != SPVC_SUCCESS ||
        entry >= *out_entry_count ||
        spvc_compiler_set_entry_point(compiler, entries[entry].name, entries[entry].execution_model) != SPVC_SUCCESS ||
        spvc_compiler_create_compiler_options(compiler, &options) != SPVC_SUCCESS ||
        spvc_compiler_options_set_uint(options, SPVC_COMPILER_OPTION_GLSL_VERSION, 460) != SPVC_SUCCESS ||
        spvc_compiler_options_set_bool(options, SPVC_COMPILER_OPTION_GLSL_ES, SPVC_FALSE) != SPVC_SUCCESS ||
        spvc_compiler_options_set_bool(options, SPVC_COMPILER_OPTION_GLSL_VULKAN_SEMANTICS, SPVC_TRUE) !=
            SPVC_SUCCESS ||
        spvc_compiler_install_compiler_options(compiler, options) != SPVC_SUCCESS ||
        spvc_compiler_compile(compiler, &source) != SPVC_SUCCESS)
        return NULL;
    return source;
}

static enum lap_status glsl(const uint32_t *words, size_t bytes, char **out)
{
    size_t room, entry_count = 1;
    FILE *text = NULL;
    spvc_context context = NULL;
    enum lap_status status = validate(words, bytes);

    *out = NULL;
    for (size_t entry = 0; entry < entry_count && status == LAP_OK; entry++) {
        const char *source;
        if (spvc_context_create(&context) != SPVC_SUCCESS || (!text && !(text = open_memstream(out, &room)))) {
            status = lap_no_memory("the text of a shader");
            break;
        }
        spvc_context_set_error_callback(context, stay_silent, NULL);
        source = compile(context, words, bytes / sizeof *words, entry, &entry_count);
        if (source)
            fprintf(text, "%s%s", entry ? "\n" : "", source);
        else if (entry_count)
            status = cross_refuses(spvc_context_get_last_error_string(context));
        spvc_context_destroy(context);
    }
    if (text && fclose(text) != 0 && status == LAP_OK)
        status = lap_no_memory("the text of a shader");
    if (status == LAP_OK && !entry_count)
        status = cross_refuses("the module has no entry point");
    if (status != LAP_OK) {
        free(*out);
        *out = NULL;
    }
    return status;
}

const lap_shader_text_fn lap_shader_glsl = glsl;
#else
const lap_shader_text_fn lap_shader_glsl = NULL;
#endif

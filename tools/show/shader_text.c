/* SPDX-License-Identifier: MIT */
#include "tools/show/shader_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef LAP_SPIRV_TOOLS
#include <spirv-tools/libspirv.h>

static enum lap_status refused(const char *library, const char *why)
{
    return lap_fail(LAP_ERROR_UNSUPPORTED, "%s: %.*s", library, why ? (int)strcspn(why, "\n") : 15,
                    why ? why : "no reason given");
}

static enum lap_status spirv(const uint32_t *words, size_t bytes, char **out)
{
    const uint32_t options = SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES;
    spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
    spv_diagnostic diagnostic = NULL;
    spv_text text = NULL;
    enum lap_status status = LAP_OK;

    *out = NULL;
    if (!context)
        return lap_no_memory("the text of a shader");
    if (spvBinaryToText(context, words, bytes / sizeof *words, options, &text, &diagnostic) != SPV_SUCCESS)
        status = refused("SPIRV-Tools", diagnostic ? diagnostic->error : NULL);
    else if (!(*out = strndup(text->str, text->length)))
        status = lap_no_memory("the text of a shader");
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
            status = refused("SPIRV-Tools", diagnostic ? diagnostic->error : NULL);
    }
    spvDiagnosticDestroy(diagnostic);
    if (options)
        spvValidatorOptionsDestroy(options);
    if (context)
        spvContextDestroy(context);
    return status;
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
            status = refused("SPIRV-Cross", spvc_context_get_last_error_string(context));
        spvc_context_destroy(context);
    }
    if (text && fclose(text) != 0 && status == LAP_OK)
        status = lap_no_memory("the text of a shader");
    if (status == LAP_OK && !entry_count)
        status = refused("SPIRV-Cross", "the module has no entry point");
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

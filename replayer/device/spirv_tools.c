/* SPDX-License-Identifier: MIT */
/* The SPIR-V validator, and the text of SPIR-V. Only lapilli-replay links it, not the tests of the replayer's parts: it
 * is large. */
#include "replayer/device/shader_validation.h"

#include <string.h>

#ifdef LAP_SPIRV_TOOLS
#include <spirv-tools/libspirv.h>

#include "vulkan/shader/spirv.h"

#define MAGIC                0x07230203u
#define CAPABILITY           (2u << 16 | 17u) /* OpCapability, with its length */
#define SPIRV_VERSION(minor) (0x00010000u | (uint32_t)(minor) << 8)

/* The target environment for this device. A SPIRV-Tools that is older than the device's version knows only the version
 * before. */
static spv_target_env environment(const struct replay_spirv_target *target)
{
    static const uint32_t newest[] = {0, 3, 5, 6};
    uint32_t minor = VK_API_VERSION_MAJOR(target->api_version) > 1 ? 9 : VK_API_VERSION_MINOR(target->api_version);
    spv_target_env env = SPV_ENV_VULKAN_1_0;

    for (;; minor--) {
        uint32_t spirv = minor == 1 && target->spirv_1_4 ? 4 : newest[minor < 3 ? minor : 3];
        if (minor == 0 || spvParseVulkanEnv((1u << 22) | minor << 12, SPIRV_VERSION(spirv), &env))
            return env;
    }
}

/* The first word of the instruction with this number, counted from 1; 0: there is none. */
static size_t word_of(const uint32_t *words, size_t word_count, size_t instruction)
{
    size_t at = LAP_SPIRV_HEADER_WORDS;

    for (; instruction > 1 && at < word_count; instruction--)
        at += words[at] >> 16;
    return instruction && at < word_count ? at : 0;
}

static enum lap_status fail(const spv_diagnostic diagnostic, size_t word)
{
    const char *text = diagnostic && diagnostic->error ? diagnostic->error : "no reason is given";

    return lap_fail(LAP_ERROR_REPLAY, "byte %zu: %.*s", word * 4, (int)strcspn(text, "\n"), text);
}

/* A capability that is unknown to this SPIRV-Tools, which then can't judge the code. Tests each with a module that
 * declares only that capability. 0: all are known. */
static uint32_t unknown_capability(spv_const_context context, const uint32_t *words, size_t word_count)
{
    size_t at = LAP_SPIRV_HEADER_WORDS;

    for (; at + 1 < word_count && words[at] == CAPABILITY; at += 2) {
        const uint32_t module[] = {MAGIC, SPIRV_VERSION(0), 0, 1, 0, CAPABILITY, words[at + 1]};
        if (spvBinaryParse(context, NULL, module, sizeof module / sizeof *module, NULL, NULL, NULL) != SPV_SUCCESS)
            return words[at + 1];
    }
    return 0;
}

static enum lap_status judge(const struct replay_spirv_target *target, const uint32_t *words, size_t word_count)
{
    spv_context context = spvContextCreate(environment(target));
    spv_validator_options options = spvValidatorOptionsCreate();
    spv_const_binary_t binary = {words, word_count};
    spv_diagnostic diagnostic = NULL;
    enum lap_status status = LAP_OK;
    spv_result_t result;
    uint32_t unknown;

    if (!context || !options) {
        status = lap_fail(LAP_ERROR_MEMORY, "no memory to check code in");
        goto out;
    }
    spvValidatorOptionsSetRelaxBlockLayout(options, target->relaxed_blocks);
    spvValidatorOptionsSetUniformBufferStandardLayout(options, target->standard_uniforms);
    spvValidatorOptionsSetScalarBlockLayout(options, target->scalar_blocks);
    spvValidatorOptionsSetWorkgroupScalarBlockLayout(options, target->scalar_workgroup_blocks);
    spvValidatorOptionsSetAllowLocalSizeId(options, target->local_size_id);
    spvValidatorOptionsSetFriendlyNames(options, false);
    /* A parse error has the position of a word; a validation error has that of an instruction. */
    result = spvBinaryParse(context, NULL, words, word_count, NULL, NULL, &diagnostic);
    if (result == SPV_SUCCESS) {
        spvDiagnosticDestroy(diagnostic);
        diagnostic = NULL;
        result = spvValidateWithOptions(context, options, &binary, &diagnostic);
        if (diagnostic)
            diagnostic->position.index = word_of(words, word_count, diagnostic->position.index);
    }
    unknown = result == SPV_SUCCESS || word_count <= LAP_SPIRV_HEADER_WORDS
                  ? 0
                  : unknown_capability(context, words, word_count);
    if (result == SPV_ERROR_OUT_OF_MEMORY)
        status = lap_fail(LAP_ERROR_MEMORY, "no memory to check code in");
    else if (unknown)
        status = lap_fail(LAP_ERROR_UNSUPPORTED,
                          "its capability %u is newer than the SPIRV-Tools of this build (or invalid); without "
                          "--validate-shaders it is played",
                          unknown);
    else if (result != SPV_SUCCESS)
        status = fail(diagnostic, diagnostic ? diagnostic->position.index : 0);
out:
    spvDiagnosticDestroy(diagnostic);
    if (options)
        spvValidatorOptionsDestroy(options);
    if (context)
        spvContextDestroy(context);
    return status;
}

static enum lap_status text_of(const uint32_t *words, size_t word_count, char **out)
{
    spv_context context = spvContextCreate(SPV_ENV_UNIVERSAL_1_6);
    spv_text text = NULL;
    spv_result_t result = context
                              ? spvBinaryToText(context, words, word_count,
                                                SPV_BINARY_TO_TEXT_OPTION_NO_HEADER | SPV_BINARY_TO_TEXT_OPTION_INDENT |
                                                    SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES,
                                                &text, NULL)
                              : SPV_ERROR_OUT_OF_MEMORY;

    *out = result == SPV_SUCCESS && text ? strdup(text->str) : NULL;
    spvTextDestroy(text);
    spvContextDestroy(context);
    return *out ? LAP_OK
           : result == SPV_SUCCESS || !context
               ? lap_no_memory("the text of a shader")
               : lap_fail(LAP_ERROR_UNSUPPORTED, "SPIRV-Tools has no text for this code");
}

const replay_spirv_judge replay_spirv_tools = judge;
const replay_spirv_text replay_spirv_tools_text = text_of;
#else
const replay_spirv_text replay_spirv_tools_text = NULL;
const replay_spirv_judge replay_spirv_tools = NULL;
#endif

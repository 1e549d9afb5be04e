/* SPDX-License-Identifier: MIT */
#include "inspector/edit/replace_shader.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "inspector/edit/shader_fit.h"
#include "inspector/spirv/spirv.h"
#include "trace/format/hash.h"

#define ARENA_BYTES       ((size_t)1 << 30)
#define MOST_CAPABILITIES 8192u

struct replacing {
    const struct replaced_shader *shaders;
    size_t count;
    struct lap_arena arena;
    struct spirv *read;                   /* [shader]: its new code */
    uint64_t *found;                      /* [shader]: the hash of the code that it stands for; 0: none so far */
    bool capabilities[MOST_CAPABILITIES]; /* that some code of the trace declares */
};

enum lap_status replaced_shader_parse(const char *text, struct replaced_shader *out, const char **out_end)
{
    unsigned digits = 0;
    uint64_t hash = 0;

    while (isxdigit((unsigned char)text[digits]) && digits < 17) {
        char digit[] = {text[digits], 0};
        hash = hash << 4 | strtoul(digit, NULL, 16);
        digits++;
    }
    if (digits < REPLACE_SHADER_LEAST_DIGITS || digits > 16)
        return lap_fail(LAP_ERROR_ARGUMENT, "'%.40s' does not begin with 8 to 16 digits of the hash of a shader's code",
                        text);
    out->hash = hash << 4 * (16 - digits);
    out->digits = digits;
    *out_end = text + digits;
    return LAP_OK;
}

/* The replacement of code with this hash. The count if there is none. */
static size_t which(const struct replacing *r, uint64_t hash)
{
    size_t i = 0;

    while (i < r->count && (hash ^ r->shaders[i].hash) >> 4 * (16 - r->shaders[i].digits))
        i++;
    return i;
}

/* Reads the code, and notes what there is. */
static enum lap_status look(void *user, struct lap_arena *arena, const uint32_t **words, size_t *bytes)
{
    struct replacing *r = user;
    uint64_t hash = lap_hash64(*words, *bytes);
    struct spirv old;
    size_t at = 0;
    enum lap_status status = spirv_read(&old, arena, *words, *bytes);

    for (uint32_t c = 0; status == LAP_OK && (c = shader_capability(&old, &at)) != UINT32_MAX;)
        if (c < MOST_CAPABILITIES)
            r->capabilities[c] = true;
    for (size_t i = 0; i < r->count; i++) {
        const struct replaced_shader *shader = &r->shaders[i];
        if ((hash ^ shader->hash) >> 4 * (16 - shader->digits))
            continue;
        if (r->found[i] && r->found[i] != hash)
            return lap_fail(LAP_ERROR_ARGUMENT, "%0*" PRIx64 " is ambiguous: there are %016" PRIx64 " and %016" PRIx64,
                            (int)shader->digits, shader->hash >> 4 * (16 - shader->digits), r->found[i], hash);
        if (!r->found[i] && status == LAP_OK)
            status = shader_fit(&old, &r->read[i], &r->arena);
        if (status != LAP_OK)
            return lap_fail_context(status == LAP_ERROR_FORMAT ? LAP_ERROR_ARGUMENT : status,
                                    "%s can't stand for %016" PRIx64, shader->name, hash);
        r->found[i] = hash;
    }
    return status == LAP_ERROR_FORMAT ? LAP_OK : status;
}

/* All devices have what these ask for. */
static bool is_basic(uint32_t capability)
{
    static const uint8_t basic[] = {0 /* Matrix */,       1 /* Shader */,      40 /* InputAttachment */,
                                    43 /* Sampled1D */,   44 /* Image1D */,    46 /* SampledBuffer */,
                                    47 /* ImageBuffer */, 50 /* ImageQuery */, 51 /* DerivativeControl */};
    return capability < 256 && memchr(basic, (int)capability, sizeof basic);
}

static enum lap_status check_capabilities(const struct replacing *r, size_t i)
{
    size_t at = 0;

    for (uint32_t c; (c = shader_capability(&r->read[i], &at)) != UINT32_MAX;)
        if (!is_basic(c) && !(c < MOST_CAPABILITIES && r->capabilities[c]))
            return lap_fail(LAP_ERROR_ARGUMENT,
                            "%s needs SPIR-V's capability %" PRIu32 ", which no shader of the "
                            "trace needs",
                            r->shaders[i].name, c);
    return LAP_OK;
}

static enum lap_status check_found(const struct replacing *r)
{
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < r->count && status == LAP_OK; i++) {
        const struct replaced_shader *shader = &r->shaders[i];
        if (!r->found[i])
            status =
                lap_fail(LAP_ERROR_ARGUMENT, "no shader's code has the hash %0*" PRIx64 " (lapilli print shows them)",
                         (int)shader->digits, shader->hash >> 4 * (16 - shader->digits));
        else
            status = check_capabilities(r, i);
    }
    return status;
}

static enum lap_status change(void *user, struct lap_arena *arena, const uint32_t **words, size_t *bytes)
{
    struct replacing *r = user;
    size_t i = which(r, lap_hash64(*words, *bytes));

    if (i < r->count) {
        *words = r->shaders[i].words;
        *bytes = r->shaders[i].bytes;
    }
    return LAP_OK;
}

enum lap_status edit_replace_shaders(const struct lap_reader *trace, const struct replaced_shader *shaders,
                                     size_t count, struct lap_edits *edits, struct shader_code_result *out)
{
    struct replacing *r = calloc(1, sizeof *r);
    enum lap_status status = LAP_OK;

    *out = (struct shader_code_result){.modules = 0};
    if (!r)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    r->shaders = shaders;
    r->count = count;
    lap_arena_init(&r->arena, ARENA_BYTES);
    r->read = calloc(count + 1, sizeof *r->read);
    r->found = calloc(count + 1, sizeof *r->found);
    if (!r->read || !r->found)
        status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < count && status == LAP_OK; i++) {
        status = spirv_read(&r->read[i], &r->arena, shaders[i].words, shaders[i].bytes);
        if (status == LAP_ERROR_FORMAT)
            status = lap_fail(LAP_ERROR_ARGUMENT, "%s: %s", shaders[i].name, lap_error_message());
    }
    if (status == LAP_OK)
        status = edit_shader_code(trace, look, r, NULL, out);
    if (status == LAP_OK)
        status = check_found(r);
    if (status == LAP_OK)
        status = edit_shader_code(trace, change, r, edits, out);
    lap_arena_finish(&r->arena);
    free(r->read);
    free(r->found);
    free(r);
    return status;
}

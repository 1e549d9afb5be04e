/* SPDX-License-Identifier: MIT */
/* lapilli-shaders: lists the code of a trace's shaders, shows one as text, writes it, or searches in all. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inspector/position/find.h"
#include "tools/common/arguments.h"
#include "tools/common/calls.h"
#include "tools/common/progress.h"
#include "tools/common/sandboxed_work.h"
#include "tools/common/tool.h"
#include "tools/common/whole_file.h"
#include "tools/show/shader_text.h"
#include "tools/show/shaders_print.h"

#define PROGRAM      "lapilli-shaders"
#define LEAST_DIGITS 4u

static const char help[] =
    "usage: lapilli shaders [options] FILE [HASH]\n"
    "Lists the code of a trace's shaders, each different one in a line. With HASH, the first digits of one, at least "
    "4:\n"
    "its users, and its SPIR-V as text. Columns are separated by tabs; '-' stands for nothing.\n"
    "\n"
    "  hash       of the code, as lapilli print has it and replay --replace-shader takes it\n"
    "  code       spirv; or binary: of a driver, in a shader object\n"
    "  bytes\n"
    "  stages     STAGE:ENTRY, as pipelines and shader objects use it\n"
    "  names      debug names of its modules and shader objects\n"
    "  modules    VkShaderModule:N, and so on, separated by commas\n"
    "  objects    VkShaderEXT:N\n"
    "  inline     pipelines whose creation has the code itself\n"
    "  pipelines  all that use it; 'VkPipeline:2 via VkPipeline:1' has it from a library\n"
    "\n"
    "  --glsl            as GLSL instead, by SPIRV-Cross\n"
    "  -o, --output NEW  write the code of HASH into a new file, as it is (.spv)\n"
    "  --search TEXT     the lines of all shaders that have TEXT, as HASH:LINE: text of the line. LINE is in the "
    "SPIR-V,\n"
    "                    or with --glsl in the GLSL; 0 is a debug name or an entry point\n"
    "  --ignore-case     for --search: capital and small letters are alike\n"
    "  --at POSITION     only of objects that live there (lapilli state)\n"
    "  --pipeline OBJECT\n"
    "                    only what this one uses: VkPipeline:N\n"
    "  --no-header       leave out the line with the names of the columns\n"
    "  --json            one JSON object\n"
    "  --help            this text\n"
    "\n"
    "Exit status: 0; 1 out of memory or output failed; 2 wrong usage, the trace has no such shader, position or\n"
    "pipeline, or this build lacks the library; 3 no readable trace; 4 the trace is incomplete; 5 a shader has no "
    "text.\n";

struct job {
    struct position at; /* count 0: all of the trace */
    uint64_t pipeline;  /* 0: all */
    const char *path, *hash, *output;
    struct lap_shaders_search search; /* wanted NULL: none */
    bool glsl, header, json;
    int fd; /* of output */
    struct lap_shaders_view view;
    bool has_failed; /* a shader has no text */
};

static const struct lap_verb verb = {PROGRAM, help};

static enum lap_status take_pipeline(const struct lap_argument *row, const char *value)
{
    static const char type[] = "VkPipeline:";
    uint64_t *index = row->out;
    char *end = NULL;

    if (strncmp(value, type, strlen(type)) == 0 && isdigit((unsigned char)value[strlen(type)]))
        *index = strtoull(value + strlen(type), &end, 10);
    return end && !*end && *index ? LAP_OK : lap_argument_wants(row, "VkPipeline:NUMBER");
}

static int check(const struct job *job)
{
    size_t digits = job->hash ? strspn(job->hash, "0123456789abcdefABCDEF") : 0;

    if (job->hash && (job->hash[digits] || digits < LEAST_DIGITS || digits > SHADER_HASH_DIGITS))
        return lap_usage(&verb, "HASH is 4 to 16 digits of the hash of a shader's code");
    if (job->hash && job->search.wanted)
        return lap_usage(&verb, "--search is for all shaders");
    if (job->search.ignore_case && !job->search.wanted)
        return lap_usage(&verb, "--ignore-case is for --search");
    if (job->output && !job->hash)
        return lap_usage(&verb, "-o is for the code of one HASH");
    if (job->output && (job->glsl || job->json))
        return lap_usage(&verb, "-o writes the code as it is, so --glsl and --json are not for it");
    if (job->glsl && !job->hash && !job->search.wanted)
        return lap_usage(&verb, "--glsl is for one HASH, or for --search");
    if (job->glsl && !lap_shader_glsl)
        return lap_usage(&verb, "--glsl: this lapilli-shaders was built without SPIRV-Cross, or SPIRV-Tools (Debian's "
                                "libspirv-cross-c-shared-dev and spirv-tools)");
    if ((job->search.wanted || (job->hash && !job->output)) && !lap_shader_spirv)
        return lap_usage(
            &verb, "this lapilli-shaders was built without SPIRV-Tools (Debian's spirv-tools), so shaders have no "
                   "text; -o writes their code");
    return -1;
}

/* Fills *job, or returns an exit status, which is not negative. */
static int parse(int argc, char **argv, struct job *job)
{
    const struct lap_argument rows[] = {LAP_FLAG("glsl", &job->glsl),
                                        LAP_OUTPUT(&job->output),
                                        LAP_VALUE("search", &job->search.wanted, lap_take_some_text),
                                        LAP_FLAG("ignore-case", &job->search.ignore_case),
                                        LAP_VALUE("at", &job->at, lap_take_position),
                                        LAP_VALUE("pipeline", &job->pipeline, take_pipeline),
                                        LAP_NO_FLAG("no-header", &job->header),
                                        LAP_FLAG("json", &job->json),
                                        LAP_FILE(&job->path),
                                        LAP_MAYBE_WORD("HASH", &job->hash, lap_take_text)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    return code >= 0 ? code : check(job);
}

/* ---- what is shown ---- */

static enum lap_status output_status(void)
{
    return ferror(stdout) ? lap_fail(LAP_ERROR_IO, "the output can't be written") : LAP_OK;
}

static void show_list(const struct job *job)
{
    size_t count;
    const struct shader_code *codes = shader_list_codes(job->view.list, &count);

    if (job->json)
        fputs("{\"shaders\": [", stdout);
    else if (job->header)
        lap_shaders_header(&job->view);
    for (size_t i = 0; i < count && !ferror(stdout); i++) {
        fputs(!job->json ? "" : i ? ",\n" : "\n", stdout);
        lap_shaders_row(&job->view, &codes[i]);
    }
    fputs(job->json ? "\n]}\n" : "", stdout);
}

/* *out: NULL where there is none, which is said. */
static enum lap_status text_of(struct job *job, const struct shader_code *code, const void *data, char **out)
{
    enum lap_status status = LAP_OK;

    *out = NULL;
    if (!code->is_binary)
        status = (job->glsl ? lap_shader_glsl : lap_shader_spirv)(data, code->bytes, out);
    else if (job->hash)
        status = lap_fail(LAP_ERROR_UNSUPPORTED, "it is a driver's code; -o writes it");
    if (status != LAP_ERROR_UNSUPPORTED)
        return status;
    fprintf(stderr, PROGRAM ": %016" PRIx64 ": %s\n", code->hash, lap_error_message());
    job->has_failed = true;
    return LAP_OK;
}

static enum lap_status search_in(void *user, const struct shader_code *code, const void *data)
{
    struct job *job = user;
    char *text;
    enum lap_status status = text_of(job, code, data, &text);

    if (status == LAP_OK)
        lap_shaders_found(&job->view, code, text, &job->search);
    free(text);
    return status == LAP_OK ? output_status() : status;
}

static enum lap_status search(struct job *job, const struct lap_reader *trace)
{
    enum lap_status status;

    fputs(job->json ? "{\"matches\": [\n" : "", stdout);
    status = shader_list_give(job->view.list, trace, NULL, search_in, job);
    fputs(job->json ? "\n]}\n" : "", stdout);
    if (status == LAP_OK && !job->search.found)
        fprintf(stderr, PROGRAM ": %s: no shader has '%s'\n", job->path, job->search.wanted);
    return status;
}

static enum lap_status show_one(void *user, const struct shader_code *code, const void *data)
{
    struct job *job = user;
    char *text;
    enum lap_status status = text_of(job, code, data, &text);

    if (status == LAP_OK)
        lap_shaders_one(&job->view, code, data, text, job->glsl);
    free(text);
    return status;
}

static enum lap_status write_one(void *user, const struct shader_code *code, const void *data)
{
    const struct job *job = user;
    FILE *file = fdopen(job->fd, "wb");
    bool written = file && fwrite(data, 1, code->bytes, file) == code->bytes;

    written = file && fclose(file) == 0 && written;
    return written ? LAP_OK : lap_fail(LAP_ERROR_IO, "%s can't be written", job->output);
}

static enum lap_status show(struct job *job, const struct lap_reader *trace)
{
    const struct shader_code *code;
    enum lap_status status;

    if (job->search.wanted)
        return search(job, trace);
    if (!job->hash) {
        show_list(job);
        return LAP_OK;
    }
    status = shader_list_choose(job->view.list, job->hash, &code);
    return status == LAP_OK ? shader_list_give(job->view.list, trace, code, job->output ? write_one : show_one, job)
                            : status;
}

/* An error may come behind what was shown. */
static enum lap_status read_and_show(void *user, const struct lap_reader *trace)
{
    struct job *job = user;
    struct lap_progress progress;
    struct shader_wish wish = {.pipeline = job->pipeline, .progress = lap_progress_show, .user = &progress};
    struct shader_list *list = NULL;
    struct position_found position;
    char damage[1536];
    enum lap_status status = job->at.count ? position_end(trace, &job->at, &wish.last, &position) : LAP_OK, shown;

    if (status != LAP_OK)
        return status;
    lap_progress_begin(&progress, "reading", false);
    status = shader_list_find(trace, &wish, &list);
    lap_progress_clear(&progress);
    if (!list)
        return status;
    snprintf(damage, sizeof damage, "%s", lap_error_message());
    job->view = (struct lap_shaders_view){.out = stdout, .list = list, .json = job->json};
    shown = show(job, trace);
    shader_list_free(&list);
    return shown != LAP_OK ? shown : status != LAP_OK ? lap_fail(status, "%s", damage) : LAP_OK;
}

static int work(void *argument)
{
    struct job *job = argument;
    int code = lap_read_trace(PROGRAM, job->path, read_and_show, job);

    return code == LAP_TOOL_OK && job->has_failed ? LAP_TOOL_UNSUPPORTED : code;
}

/* The new file is open before the sandbox, which would not let it be made or removed. */
static int work_with_file(struct job *job)
{
    struct whole_file file;

    if (whole_file_open(&file, job->output) != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        return LAP_TOOL_FAILED;
    }
    job->fd = file.fd;
    return whole_file_end(&file, PROGRAM, lap_sandboxed_work(PROGRAM, LAP_SANDBOX_WISH_AUTO, work, job));
}

int main(int argc, char **argv)
{
    struct job job = {.header = true};
    int code = parse(argc, argv, &job);

    if (code >= 0)
        return code;
    if (job.output)
        return work_with_file(&job);
    lap_calls_enter_sandbox();
    return work(&job);
}

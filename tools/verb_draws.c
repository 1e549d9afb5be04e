/* SPDX-License-Identifier: MIT */
/* lapilli-draws: lists the draws, dispatches and ray traces of a trace, one a line. */
#include <fnmatch.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "gen_decode.h"
#include "gen_reflect.h"
#include "inspector/position/find.h"
#include "inspector/state/bound_labels.h"
#include "tools/common/arguments.h"
#include "tools/common/calls.h"
#include "tools/common/progress.h"
#include "tools/common/tool.h"
#include "tools/show/bound_print.h"
#include "tools/show/draw_facts.h"
#include "tools/show/print.h"
#include "tools/show/text.h"
#include "vulkan/walk.h"

#define PROGRAM "lapilli-draws"
#define HEADER  "position\tcommand\tvertices\tinstances\tgroups\tpipeline\tpass\tlabel\n"

static const char help[] =
    "usage: lapilli draws [options] FILE\n"
    "Lists the draws, dispatches and ray traces of a trace, one a line, in the order in which submits run them: for "
    "sort,\n"
    "awk and jq. Columns are separated by tabs. '-' stands for a count that the command does not have: an indirect "
    "one.\n"
    "\n"
    "  position   FRAME.SUBMIT.BUFFER.COMMAND, as lapilli tree has it\n"
    "  command    its name\n"
    "  vertices   or indices; of vkCmdDrawMulti* the sum\n"
    "  instances\n"
    "  groups     X,Y,Z of dispatches and mesh draws; width,height,depth of ray traces\n"
    "  pipeline   VkPipeline:N, or the bound shader objects, separated by commas\n"
    "  pass       position of the command that begins the render pass\n"
    "  label      the open debug labels, separated by slashes\n"
    "\n"
    "  --frames A-B    only these frames, counted from 1; also A, A- and -B\n"
    "  --at POSITION   only what is in there\n"
    "  --pass LABEL    only what is inside a label that matches LABEL, a pattern as the shell has them\n"
    "  --rows A-B      of all that only these rows, counted from 1; also A, A- and -B\n"
    "  --no-header     leave out the line with the names of the columns\n"
    "  --json          a JSON object a line instead\n"
    "  --state         with --json: each with all that it finds bound, as lapilli state has it\n"
    "  --help          this text\n"
    "\n"
    "Exit status: 0; 1 out of memory or output failed; 2 wrong usage, or the trace has no such position; 3 no "
    "readable\n"
    "trace; 4 the trace is incomplete.\n";

struct options {
    struct position at;          /* count 0: all */
    uint64_t frames[2], rows[2]; /* the first and the last one, from 1 */
    const char *pass, *path;
    bool json, state, header;
};

struct lister {
    const struct options *options;
    struct lap_progress progress;
    uint64_t frames, rows;
    struct lap_draw_names names;
};

static const struct lap_verb verb = {PROGRAM, help};

/* Fills *options, or returns an exit status, which is not negative. */
static int parse(int argc, char **argv, struct options *options)
{
    const struct lap_argument rows[] = {LAP_VALUE("frames", options->frames, lap_take_range),
                                        LAP_VALUE("at", &options->at, lap_take_position),
                                        LAP_TEXT("pass", &options->pass),
                                        LAP_VALUE("rows", options->rows, lap_take_range),
                                        LAP_NO_FLAG("no-header", &options->header),
                                        LAP_FLAG("json", &options->json),
                                        LAP_FLAG("state", &options->state),
                                        LAP_FILE(&options->path)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    if (code >= 0)
        return code;
    if (lap_range_is_given(options->frames) && options->at.count)
        return lap_usage(&verb, "--frames or --at, not both");
    if (options->state && !options->json)
        return lap_usage(&verb, "--state needs --json");
    return -1;
}

/* ---- rows ---- */

#define UNKNOWN UINT64_MAX

/* What a command says of its size. */
struct size {
    uint64_t vertices, instances, groups[3]; /* UNKNOWN */
};

static uint64_t member(uint32_t command, const void *args, const char *name)
{
    const struct gen_command_info *info = &gen_command_infos[command];
    uint32_t value;

    for (uint32_t i = 1; i < info->member_count; i++)
        if (info->members[i].shape == GEN_SHAPE_VALUE && info->members[i].element_bytes == sizeof value &&
            strcmp(gen_member_name(&info->members[i]), name) == 0) {
            memcpy(&value, (const char *)args + info->members[i].offset, sizeof value);
            return value;
        }
    return UNKNOWN;
}

static uint64_t either(uint64_t a, uint64_t b)
{
    return a != UNKNOWN ? a : b;
}

static struct size size_of(uint32_t command, const void *args)
{
    struct size size = {.vertices = either(member(command, args, "vertexCount"), member(command, args, "indexCount")),
                        .instances = member(command, args, "instanceCount"),
                        .groups = {either(member(command, args, "groupCountX"), member(command, args, "width")),
                                   either(member(command, args, "groupCountY"), member(command, args, "height")),
                                   either(member(command, args, "groupCountZ"), member(command, args, "depth"))}};

    if (command == GEN_vkCmdDrawMultiEXT) {
        const struct gen_args_vkCmdDrawMultiEXT *a = args;
        size.vertices = 0;
        for (uint32_t i = 0; a->pVertexInfo && i < a->drawCount; i++)
            size.vertices += a->pVertexInfo[i].vertexCount;
    } else if (command == GEN_vkCmdDrawMultiIndexedEXT) {
        const struct gen_args_vkCmdDrawMultiIndexedEXT *a = args;
        size.vertices = 0;
        for (uint32_t i = 0; a->pIndexInfo && i < a->drawCount; i++)
            size.vertices += a->pIndexInfo[i].indexCount;
    } else if (command == GEN_vkCmdDrawMeshTasksNV) {
        size.groups[0] = member(command, args, "taskCount");
        size.groups[1] = size.groups[2] = 1;
    }
    return size;
}

/* The stages of the shader objects that the command uses. */
static VkShaderStageFlags stages_of(enum position_work work)
{
    return work == POSITION_DRAW       ? ~(VkShaderStageFlags)VK_SHADER_STAGE_COMPUTE_BIT
           : work == POSITION_DISPATCH ? VK_SHADER_STAGE_COMPUTE_BIT
                                       : 0;
}

static enum bound_point point_of(const struct bound_visit *visit)
{
    return visit->work == POSITION_DRAW       ? BOUND_GRAPHICS
           : visit->work == POSITION_DISPATCH ? BOUND_COMPUTE
                                              : BOUND_RAYS;
}

static uint64_t pipeline_of(const struct bound_visit *visit)
{
    return visit->bound->points[point_of(visit)].pipeline;
}

static bool is_wanted(const struct options *options, const struct bound_visit *visit)
{
    struct bound_labels labels;
    const char *label;

    if (visit->work != POSITION_DRAW && visit->work != POSITION_DISPATCH && visit->work != POSITION_TRACE)
        return false;
    if (!options->pass)
        return true;
    bound_labels_begin(&labels, visit->bound);
    while ((label = bound_labels_next(&labels)))
        if (fnmatch(options->pass, label, 0) == 0)
            return true;
    return false;
}

/* ---- text ---- */

static void put_number(uint64_t value)
{
    if (value == UNKNOWN)
        fputs("\t-", stdout);
    else
        printf("\t%" PRIu64, value);
}

static void put_pipeline(const struct bound_visit *visit)
{
    uint64_t pipeline = pipeline_of(visit);
    const char *between = "\t";

    if (pipeline)
        printf("\tVkPipeline:%" PRIu64, pipeline);
    for (unsigned bit = 0; !pipeline && bit < BOUND_STAGES; bit++)
        if (stages_of(visit->work) >> bit & 1 && visit->bound->shaders[bit].shader) {
            printf("%sVkShaderEXT:%" PRIu64, between, visit->bound->shaders[bit].shader);
            between = ",";
        }
    if (!pipeline && *between == '\t')
        fputs("\t-", stdout);
}

/* Tabs and newlines end columns and lines, and the program may have any bytes in its labels. */
static void put_labels(const struct bound_visit *visit)
{
    struct bound_labels labels;
    const char *label, *between = "\t";

    bound_labels_begin(&labels, visit->bound);
    while ((label = bound_labels_next(&labels))) {
        fputs(between, stdout);
        lap_utf8_print(stdout, label, strlen(label), ' ', "");
        between = "/";
    }
    fputs(*between == '\t' ? "\t-\n" : "\n", stdout);
}

static void put_row(const struct bound_visit *visit)
{
    const struct size size = size_of(visit->command, visit->args);
    char text[POSITION_TEXT_BYTES];

    printf("%s\t%s", position_text(&visit->position, text), gen_command_names[visit->command]);
    put_number(size.vertices);
    put_number(size.instances);
    if (size.groups[0] == UNKNOWN)
        fputs("\t-", stdout);
    else
        printf("\t%" PRIu64 ",%" PRIu64 ",%" PRIu64, size.groups[0], size.groups[1], size.groups[2]);
    put_pipeline(visit);
    printf("\t%s", visit->bound->pass.kind ? lap_bound_pass_position(visit, text) : "-");
    put_labels(visit);
}

/* ---- JSON ---- */

static cJSON *number(uint64_t value)
{
    return value == UNKNOWN ? cJSON_CreateNull() : lap_print_json_number(value);
}

static bool add(cJSON *into, const char *key, cJSON *item)
{
    bool added = item && (key ? cJSON_AddItemToObjectCS(into, key, item) : cJSON_AddItemToArray(into, item));

    if (!added)
        cJSON_Delete(item);
    return added;
}

static cJSON *text_item(uint32_t type, uint64_t index)
{
    char text[LAP_TEXT_HANDLE_MAX];

    if (!index)
        return cJSON_CreateNull();
    lap_text_handle(type, index, text);
    return cJSON_CreateString(text);
}

static bool add_columns(cJSON *object, const struct bound_visit *visit)
{
    const struct size size = size_of(visit->command, visit->args);
    char text[POSITION_TEXT_BYTES];
    cJSON *groups = size.groups[0] == UNKNOWN ? cJSON_CreateNull() : cJSON_CreateArray();

    for (unsigned i = 0; i < 3 && cJSON_IsArray(groups); i++)
        (void)add(groups, NULL, number(size.groups[i]));
    return add(object, "position", cJSON_CreateString(position_text(&visit->position, text))) &&
           add(object, "command", cJSON_CreateString(gen_command_names[visit->command])) &&
           add(object, "vertices", number(size.vertices)) && add(object, "instances", number(size.instances)) &&
           add(object, "groups", groups) &&
           add(object, "pipeline", text_item(GEN_HANDLE_VkPipeline, pipeline_of(visit))) &&
           add(object, "commandBuffer", text_item(GEN_HANDLE_VkCommandBuffer, visit->command_buffer));
}

static bool add_labels(cJSON *object, const struct bound_visit *visit)
{
    cJSON *list = cJSON_CreateArray();
    struct bound_labels labels;
    const char *label;
    bool added = true;

    bound_labels_begin(&labels, visit->bound);
    while (added && (label = bound_labels_next(&labels))) {
        char *clean = lap_utf8(label, strlen(label));
        added = clean && add(list, NULL, cJSON_CreateString(clean));
        free(clean);
    }
    return add(object, "labels", list) && added;
}

/* All that it finds bound; of the contents of sets only the first textures. */
static enum lap_status add_state(cJSON *object, struct lister *lister, const struct bound_visit *visit)
{
    const struct lap_bound_names names = {.find = lap_draw_names_find, .user = &lister->names};
    struct bound_visit without = *visit;
    enum lap_status status;

    without.descriptors = NULL;
    status = lap_bound_json(object, &without, &names);
    return status == LAP_OK ? lap_draw_facts_json(object, visit, point_of(visit), &lister->names) : status;
}

static enum lap_status put_json(struct lister *lister, const struct bound_visit *visit)
{
    cJSON *object = cJSON_CreateObject();
    bool added = object && add_columns(object, visit);
    char text[POSITION_TEXT_BYTES], *json = NULL;
    enum lap_status status = LAP_OK;

    if (added && lister->options->state)
        status = add_state(object, lister, visit);
    else if (added)
        added = add(object, "pass",
                    visit->bound->pass.kind ? cJSON_CreateString(lap_bound_pass_position(visit, text))
                                            : cJSON_CreateNull()) &&
                add_labels(object, visit);
    if (added && status == LAP_OK)
        json = cJSON_PrintUnformatted(object);
    cJSON_Delete(object);
    if (json)
        puts(json);
    cJSON_free(json);
    return json || status != LAP_OK ? status : lap_fail(LAP_ERROR_MEMORY, "out of memory for JSON");
}

/* ---- the whole ---- */

static enum lap_status visit_command(void *user, const struct bound_visit *visit)
{
    struct lister *lister = user;

    if (!is_wanted(lister->options, visit) || ++lister->rows < lister->options->rows[0])
        return LAP_OK;
    if (lister->options->json) {
        enum lap_status status = put_json(lister, visit);
        if (status != LAP_OK)
            return status;
    } else {
        put_row(visit);
    }
    if (ferror(stdout))
        return lap_fail(LAP_ERROR_IO, "the output can't be written");
    return lister->rows == lister->options->rows[1] ? LAP_END : LAP_OK;
}

static enum lap_status visit_call(void *user, const struct trace_call *call)
{
    return lap_draw_names_see(&((struct lister *)user)->names, call);
}

static void show_progress(void *user, const struct lap_packet *packet)
{
    struct lister *lister = user;
    lap_progress_show(&lister->progress, packet->frame, lister->frames);
}

static enum lap_status list(void *user, const struct lap_reader *trace)
{
    const struct options *options = user;
    struct lister lister = {.options = options, .frames = lap_reader_summary(trace)->frames};
    struct bound_walk_options walk = {.first_frame = options->frames[0],
                                      .last_frame = options->frames[1],
                                      .work_only = true,
                                      .labels = true,
                                      .descriptors = options->state,
                                      .visit_call = options->state ? visit_call : NULL,
                                      .calls = lap_draw_names_calls,
                                      .progress = show_progress};
    struct position_found found;
    enum lap_status status = LAP_OK;

    if (options->at.count) {
        status = position_find(trace, &options->at, &found);
        walk.at = &found.position;
    }
    if (status != LAP_OK)
        return status;
    if (options->header && !options->json)
        fputs(HEADER, stdout);
    lap_progress_begin_beside(&lister.progress, "listing");
    lap_draw_names_init(&lister.names);
    status = bound_walk(trace, &walk, visit_command, &lister);
    lap_draw_names_finish(&lister.names);
    lap_progress_clear(&lister.progress);
    return status;
}

int main(int argc, char **argv)
{
    struct options options = {.header = true, .frames = {0, UINT64_MAX}, .rows = {0, UINT64_MAX}};
    int code = parse(argc, argv, &options);

    if (code >= 0)
        return code;
    lap_calls_enter_sandbox();
    return lap_read_trace(PROGRAM, options.path, list, &options);
}

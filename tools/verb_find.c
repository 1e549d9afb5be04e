/* SPDX-License-Identifier: MIT */
/* lapilli-find: where a text occurs in a trace: in names, labels, names of commands, shaders and their code; or a
 * position, or an object. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "gen_decode.h"
#include "gen_ids.h"
#include "inspector/position/packet.h"
#include "inspector/state/bound_walk.h"
#include "inspector/state/objects.h"
#include "inspector/state/shader_list.h"
#include "tools/common/arguments.h"
#include "tools/common/calls.h"
#include "tools/common/progress.h"
#include "tools/common/tool.h"
#include "tools/show/moment.h"
#include "tools/show/shader_text.h"
#include "tools/show/text.h"
#include "tools/show/tree.h"
#include "vulkan/label.h"

#define PROGRAM "lapilli-find"
#define HEADER  "kind\tposition\tobject\tshader\ttext\n"
#define LIMIT   200u

static const char help[] =
    "usage: lapilli find [options] FILE TEXT\n"
    "Lists where TEXT occurs in a trace, one place a line: in debug names of objects, in hashes (at the beginning), "
    "debug\n"
    "names and entry points of shaders, in debug labels, in names of draws, dispatches, transfers, other work and\n"
    "beginnings of render passes, and in the SPIR-V of shaders as text. A TEXT like VkImage:7 also finds the object, "
    "and\n"
    "one like 2.1.1.6 what is at that position. Columns are separated by tabs. '-' stands for nothing.\n"
    "\n"
    "  kind       object, shader, label, command, render pass, code; of a position what lapilli tree has there, or\n"
    "             packet\n"
    "  position   FRAME.SUBMIT.BUFFER.COMMAND, as lapilli tree has it; of a call #PACKET, as lapilli print\n"
    "  object     like VkImage:7\n"
    "  shader     the hash of its code; of code HASH:LINE, as lapilli shaders --search has it\n"
    "  text       that has TEXT\n"
    "\n"
    "  --limit N     at most so many lines. Default: 200\n"
    "  --case        upper and lower case are different\n"
    "  --no-header   leave out the line with the names of the columns\n"
    "  --json        a JSON object a line instead\n"
    "  --help        this text\n"
    "\n"
    "Exit status: 0, also if nothing is found; 1 out of memory or output failed; 2 wrong usage; 3 no readable trace; "
    "4\n"
    "the trace is incomplete.\n";

struct finder {
    const char *path, *text;
    uint64_t limit;
    bool has_case, header, json;

    const struct lap_reader *trace;
    struct lap_progress progress;
    struct shader_list *shaders; /* NULL: none was read */
    uint64_t frames, rows;
    bool is_full, is_whole; /* there is more than the limit; all was searched */
    bool wanted[GEN_COMMAND_COUNT];
    enum lap_status damage; /* the first one; what it lets be read is searched */
    char damage_text[1536];
};

static const struct lap_verb verb = {PROGRAM, help};

/* An exit status, or -1. */
static int parse(int argc, char **argv, struct finder *finder)
{
    const struct lap_argument rows[] = {LAP_NUMBER("limit", &finder->limit, 1, UINT64_MAX),
                                        LAP_FLAG("case", &finder->has_case),
                                        LAP_NO_FLAG("no-header", &finder->header),
                                        LAP_FLAG("json", &finder->json),
                                        LAP_FILE(&finder->path),
                                        LAP_WORD("TEXT", &finder->text, lap_take_some_text)};

    return LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);
}

static bool has_text(const struct finder *finder, const char *text)
{
    return text && (finder->has_case ? strstr(text, finder->text) : strcasestr(text, finder->text));
}

/* ---- what is found ---- */

struct row { /* NULL: nothing */
    const char *kind, *position, *object, *shader, *text;
    size_t line; /* of the shader's text; 0: of none */
};

/* Tabs and newlines end columns and lines. */
static void put_column(const char *text, char end)
{
    const char *shown = text && *text ? text : "-";
    lap_utf8_print(stdout, shown, strlen(shown), ' ', "");
    putchar(end);
}

static void put_member(const char *key, const char *text, const char *end)
{
    printf("\"%s\": ", key);
    lap_text_put_json(stdout, text);
    fputs(end, stdout);
}

/* LAP_END: this one is more than is wanted. */
static enum lap_status put(struct finder *finder, struct row row)
{
    finder->is_full = finder->rows == finder->limit;
    if (finder->is_full)
        return LAP_END;
    finder->rows++;
    lap_progress_clear(&finder->progress);
    if (finder->json) {
        putchar('{');
        put_member("kind", row.kind, ", ");
        put_member("position", row.position, ", ");
        put_member("object", row.object, ", ");
        put_member("shader", row.shader, ", ");
        printf(row.line ? "\"line\": %zu, " : "\"line\": null, ", row.line);
        put_member("text", row.text, "}\n");
    } else {
        put_column(row.kind, '\t');
        put_column(row.position, '\t');
        put_column(row.object, '\t');
        if (row.line)
            printf("%s:%zu\t", row.shader, row.line);
        else
            put_column(row.shader, '\t');
        put_column(row.text, '\n');
    }
    fflush(stdout); /* each as it is found */
    return ferror(stdout) ? lap_fail(LAP_ERROR_IO, "the output can't be written") : LAP_OK;
}

/* LAP_OK: the search goes on. Damage to the trace is told at the end. */
static enum lap_status go_on(struct finder *finder, enum lap_status status)
{
    if (finder->is_full || ferror(stdout) || status == LAP_ERROR_MEMORY)
        return status == LAP_OK ? LAP_END : status;
    if (status < 0 && finder->damage == LAP_OK) {
        finder->damage = status;
        snprintf(finder->damage_text, sizeof finder->damage_text, "%s", lap_error_message());
    }
    return LAP_OK;
}

static void show_packet(void *user, const struct lap_packet *packet)
{
    struct finder *finder = user;
    lap_progress_show(&finder->progress, packet->frame, finder->frames);
}

static void show_progress(void *user, uint64_t done, uint64_t all)
{
    struct finder *finder = user;
    lap_progress_show(&finder->progress, done, all);
}

/* ---- the position ---- */

static enum lap_status put_node(void *user, const struct tree_node *node)
{
    char position[POSITION_TEXT_BYTES], object[LAP_TEXT_HANDLE_MAX];

    lap_text_handle(lap_tree_object_type(node->kind), node->object, object);
    return put(user, (struct row){.kind = lap_tree_kind(node->kind),
                                  .position = position_text(&node->position, position),
                                  .object = node->object ? object : NULL,
                                  .text = node->text});
}

static enum lap_status put_packet(struct finder *finder, uint64_t ticket)
{
    struct position_packet packet = {.reader = NULL};
    enum lap_status status = position_packet_open(&packet, finder->trace);
    char position[POSITION_TEXT_BYTES];

    if (status == LAP_OK)
        status = position_packet_read(&packet, ticket);
    snprintf(position, sizeof position, "#%" PRIu64, ticket - 1);
    if (status == LAP_OK)
        status = put(finder, (struct row){.kind = "packet", .position = position, .text = packet.name});
    position_packet_close(&packet);
    return status;
}

static enum lap_status find_position(struct finder *finder)
{
    struct position at;
    struct position_found found;
    struct tree_wish wish = {.at = &found.position};
    uint64_t children;
    enum lap_status status;

    if (position_parse(finder->text, &at) != LAP_OK)
        return LAP_OK;
    status = position_find(finder->trace, &at, &found);
    /* A call, or a command buffer that no submit has. */
    if (at.of_packet && at.count == 1 && at.numbers[0] < lap_reader_summary(finder->trace)->packets &&
        (status == LAP_ERROR_ARGUMENT || (status == LAP_OK && !found.is_submit)))
        return put_packet(finder, at.numbers[0] + 1);
    if (status != LAP_OK)
        return status == LAP_ERROR_ARGUMENT ? LAP_OK : status; /* it is not there */
    wish.quick = found.position.count < POSITION_COMMAND;
    return tree_walk(finder->trace, &wish, put_node, finder, &children);
}

/* ---- objects ---- */

static enum lap_status put_object(struct finder *finder, const struct object_life *life, const char *name)
{
    char object[LAP_TEXT_HANDLE_MAX];

    lap_text_handle(life->type, life->index, object);
    return put(finder, (struct row){.kind = "object", .object = object, .text = name});
}

static const char *name_of(const struct state_objects *objects, size_t number)
{
    const struct state_notes *notes = state_objects_notes(objects, number);
    return notes ? notes->at[1].name : NULL;
}

static enum lap_status list_objects(struct finder *finder, const struct state_objects *objects)
{
    const struct object_lives *lives = state_objects_lives(objects);
    const struct object_life *exact = NULL;
    char type_name[LAP_OBJECT_NAME_MAX];
    uint32_t type;
    uint64_t index;
    enum lap_status status = LAP_OK;

    if (lap_object_parse(finder->text, &type, &index, type_name) == LAP_OK && type != GEN_HANDLE_NONE)
        exact = state_objects_get(objects, type, index);
    if (exact)
        status = put_object(finder, exact, name_of(objects, (size_t)(exact - lives->lives)));
    for (size_t i = 0; i < lives->count && status == LAP_OK; i++)
        if (&lives->lives[i] != exact && has_text(finder, name_of(objects, i)))
            status = put_object(finder, &lives->lives[i], name_of(objects, i));
    return status;
}

static enum lap_status find_objects(struct finder *finder)
{
    uint64_t packets = lap_reader_summary(finder->trace)->packets;
    const struct state_wish wish = {
        .last = packets ? packets : 1, .up_to_damage = true, .progress = show_progress, .user = finder};
    struct state_objects *objects;
    enum lap_status status = state_objects_find(finder->trace, &wish, &objects);

    status = go_on(finder, status);
    if (objects && status == LAP_OK)
        status = list_objects(finder, objects);
    state_objects_free(&objects);
    return status;
}

/* ---- shaders ---- */

static bool begins_with(const char *hash, const char *text)
{
    return strlen(text) <= SHADER_HASH_DIGITS && strncasecmp(hash, text, strlen(text)) == 0;
}

/* The first of its uses whose name or entry point has the text, with that; NULL: none. */
static const struct shader_use *use_with_text(const struct finder *finder, const struct shader_list *list,
                                              const struct shader_code *code, const char **out_text)
{
    for (unsigned entries = 0; entries < 2; entries++)
        for (size_t i = 0; i < code->use_count; i++) {
            const struct shader_use *use = &code->uses[i];
            *out_text = entries ? use->entry : shader_list_name(list, use->type, use->object);
            if (has_text(finder, *out_text))
                return use;
        }
    return NULL;
}

static enum lap_status list_shaders(struct finder *finder, const struct shader_list *list)
{
    size_t count;
    const struct shader_code *codes = shader_list_codes(list, &count);
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < count && status == LAP_OK; i++) {
        char hash[SHADER_HASH_DIGITS + 1], object[LAP_TEXT_HANDLE_MAX];
        struct row row = {.kind = "shader", .shader = hash};
        const struct shader_use *use;
        snprintf(hash, sizeof hash, "%016" PRIx64, codes[i].hash);
        if (begins_with(hash, finder->text)) {
            row.text = hash;
        } else {
            use = use_with_text(finder, list, &codes[i], &row.text);
            if (!use)
                continue;
            lap_text_handle(use->type, use->object, object);
            row.object = object;
        }
        status = put(finder, row);
    }
    return status;
}

static enum lap_status find_shaders(struct finder *finder)
{
    const struct shader_wish wish = {.progress = show_progress, .user = finder};
    enum lap_status status = go_on(finder, shader_list_find(finder->trace, &wish, &finder->shaders));

    return finder->shaders && status == LAP_OK ? list_shaders(finder, finder->shaders) : status;
}

/* ---- code ---- */

static enum lap_status put_lines(void *user, const struct shader_code *code, const void *data)
{
    struct finder *finder = user;
    char hash[SHADER_HASH_DIGITS + 1], *text = NULL, *rest, *at;
    struct row row = {.kind = "code", .shader = hash};
    enum lap_status status = code->is_binary ? LAP_OK : lap_shader_spirv(data, code->bytes, &text);

    snprintf(hash, sizeof hash, "%016" PRIx64, code->hash);
    for (rest = text; status == LAP_OK && (at = strsep(&rest, "\n"));) {
        row.line++;
        row.text = at + strspn(at, " \t");
        if (has_text(finder, row.text))
            status = put(finder, row);
    }
    free(text);
    return status == LAP_ERROR_UNSUPPORTED ? LAP_OK : status; /* it has no text */
}

static enum lap_status find_code(struct finder *finder)
{
    return finder->shaders && lap_shader_spirv
               ? shader_list_give(finder->shaders, finder->trace, NULL, put_lines, finder)
               : LAP_OK;
}

/* ---- labels ---- */

static enum lap_status see_call(void *user, const struct trace_call *call)
{
    struct finder *finder = user;
    const char *label;
    uint64_t queue;
    enum lap_label_step step = lap_label_queue_step_of(call->command, call->args, &queue, &label);
    char position[POSITION_TEXT_BYTES];

    if (finder->is_full || step == LAP_LABEL_NONE || !has_text(finder, label))
        return finder->is_full ? LAP_END : LAP_OK;
    snprintf(position, sizeof position, "#%" PRIu64, call->packet->ticket - 1);
    return put(finder, (struct row){.kind = "label", .position = position, .text = label});
}

static enum lap_status see_label(void *user, const struct bound_visit *visit)
{
    struct finder *finder = user;
    const char *label;
    enum lap_label_step step = lap_label_step_of(visit->command, visit->args, &label);
    char position[POSITION_TEXT_BYTES];

    if (finder->is_full || step == LAP_LABEL_NONE || !has_text(finder, label))
        return finder->is_full ? LAP_END : LAP_OK;
    return put(finder,
               (struct row){.kind = "label", .position = position_text(&visit->position, position), .text = label});
}

static enum lap_status find_labels(struct finder *finder)
{
    static const uint16_t calls[] = {GEN_vkQueueBeginDebugUtilsLabelEXT, GEN_vkQueueInsertDebugUtilsLabelEXT,
                                     GEN_COMMAND_NONE};
    const struct bound_walk_options options = {
        .last_frame = UINT64_MAX, .visit_call = see_call, .calls = calls, .progress = show_packet};

    return bound_walk(finder->trace, &options, see_label, finder);
}

/* ---- commands ---- */

static enum lap_status see_command(void *user, const struct bound_visit *visit)
{
    struct finder *finder = user;
    char position[POSITION_TEXT_BYTES];

    if (!finder->wanted[visit->command] || visit->work == POSITION_STATE)
        return LAP_OK;
    return put(finder, (struct row){.kind = lap_tree_kind(visit->work == POSITION_PASS ? TREE_PASS : TREE_COMMAND),
                                    .position = position_text(&visit->position, position),
                                    .text = gen_command_names[visit->command]});
}

static enum lap_status find_commands(struct finder *finder)
{
    const struct bound_walk_options options = {.last_frame = UINT64_MAX, .progress = show_packet};
    bool any = false;

    for (uint32_t i = 1; i < GEN_COMMAND_COUNT; i++) {
        finder->wanted[i] = strncmp(gen_command_names[i], "vkCmd", 5) == 0 && has_text(finder, gen_command_names[i]);
        any |= finder->wanted[i];
    }
    return any ? bound_walk(finder->trace, &options, see_command, finder) : LAP_OK;
}

/* ---- the whole ---- */

static enum lap_status search(struct finder *finder)
{
    static enum lap_status (*const searches[])(struct finder *) = {find_position, find_objects,  find_shaders,
                                                                   find_labels,   find_commands, find_code};
    enum lap_status status = LAP_OK;

    if (finder->header && !finder->json)
        fputs(HEADER, stdout);
    for (size_t i = 0; i < sizeof searches / sizeof *searches && status == LAP_OK; i++)
        status = go_on(finder, searches[i](finder));
    if (status != LAP_OK && status != LAP_END)
        return status;
    return finder->damage ? lap_fail(finder->damage, "%s", finder->damage_text) : LAP_OK;
}

static enum lap_status find(void *user, const struct lap_reader *trace)
{
    struct finder *finder = user;
    enum lap_status status;

    finder->trace = trace;
    finder->frames = lap_reader_summary(trace)->frames;
    lap_progress_begin_beside(&finder->progress, "searching");
    status = search(finder);
    shader_list_free(&finder->shaders);
    lap_progress_clear(&finder->progress);
    finder->is_whole = status == LAP_OK;
    return status;
}

static void say_more(const struct finder *finder)
{
    if (finder->is_full)
        fprintf(stderr,
                PROGRAM ": %s: '%s' is in more places than these %" PRIu64 "; --limit sets how many are shown\n",
                finder->path, finder->text, finder->rows);
    else if (finder->is_whole && !finder->rows)
        fprintf(stderr, PROGRAM ": %s: nothing has '%s'%s\n", finder->path, finder->text,
                lap_shader_spirv ? "" : "; this build lacks SPIRV-Tools, and so the code of shaders was not searched");
}

int main(int argc, char **argv)
{
    struct finder finder = {.header = true, .limit = LIMIT};
    int code = parse(argc, argv, &finder);

    if (code >= 0)
        return code;
    lap_calls_enter_sandbox();
    code = lap_read_trace(PROGRAM, finder.path, find, &finder);
    if (!ferror(stdout)) /* else its reader went */
        say_more(&finder);
    return code;
}

/* SPDX-License-Identifier: MIT */
/* lapilli-uses: lists what a trace does with an object, one use a line, or the objects that nothing uses. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "inspector/position/find.h"
#include "inspector/state/unused.h"
#include "inspector/state/uses.h"
#include "tools/common/arguments.h"
#include "tools/common/calls.h"
#include "tools/common/progress.h"
#include "tools/common/tool.h"
#include "tools/show/moment.h"
#include "tools/show/state_print.h"
#include "tools/show/text.h"

#define PROGRAM       "lapilli-uses"
#define HEADER        "position\tcommand\taccess\thow\tthrough\n"
#define UNUSED_HEADER "object\tname\tmade\tbytes\twhy\n"
#define HOW_BYTES     160u

static const char help[] =
    "usage: lapilli uses [options] FILE OBJECT\n"
    "       lapilli uses --unused [options] FILE\n"
    "Lists the uses of an object, like VkImage:2, one a line: calls that name it, and commands of command buffers, in\n"
    "the order in which submits run them. A bound object counts at the draw, dispatch or ray trace that finds it. An\n"
    "image is also used through its views, memory through the objects in it, and all of these through descriptors. "
    "Uses\n"
    "through device addresses are not seen. With --unused: the objects without a use. Columns are separated by tabs.\n"
    "\n"
    "  position   FRAME.SUBMIT.BUFFER.COMMAND, as lapilli tree has it; of a call #PACKET, as lapilli print\n"
    "  command    its name\n"
    "  access     read, write, read-write: it may do both; '-': it touches no contents\n"
    "  how        what the object is there: 'vertex buffer 0', 'copy source'; or the member that names it\n"
    "  through    objects that are made of it, separated by slashes; '-': none\n"
    "\n"
    "  --frames A-B    only these frames, counted from 1; also A, A- and -B\n"
    "  --at POSITION   only what is in there\n"
    "  --bindings      also the commands that bind it\n"
    "  --unused        object, name, packet that made it, bytes of memory, and why it counts as unused\n"
    "  --type TYPE     with --unused: only objects of this type, like VkImage\n"
    "  --no-header     leave out the line with the names of the columns\n"
    "  --json          a JSON object a line instead\n"
    "  --help          this text\n"
    "\n"
    "Exit status: 0; 1 out of memory or output failed; 2 wrong usage, or the trace has no such position or object; 3\n"
    "no readable trace; 4 the trace is incomplete.\n";

struct options {
    struct position at; /* count 0: all */
    uint64_t frames[2]; /* the first and the last one, from 1 */
    const char *path, *object, *type;
    bool json, header, bindings, unused;
};

struct lister {
    const struct options *options;
    struct lap_progress progress;
    uint64_t frames, rows;
};

static const struct lap_verb verb = {PROGRAM, help};

static int check(const struct options *options, bool has_frames)
{
    if (has_frames && options->at.count)
        return lap_usage(&verb, "--frames or --at, not both");
    if (options->unused && (has_frames || options->at.count || options->bindings))
        return lap_usage(&verb, "--unused is of the whole trace");
    if (options->unused && options->object)
        return lap_usage(&verb, "--unused or an OBJECT, not both");
    if (!options->unused && !options->object)
        return lap_usage(&verb, "OBJECT is missing");
    if (options->type && !options->unused)
        return lap_usage(&verb, "--type needs --unused");
    return -1;
}

/* Fills *options, or returns an exit status, which is not negative. */
static int parse(int argc, char **argv, struct options *options)
{
    const struct lap_argument rows[] = {LAP_VALUE("frames", options->frames, lap_take_range),
                                        LAP_VALUE("at", &options->at, lap_take_position),
                                        LAP_FLAG("bindings", &options->bindings),
                                        LAP_FLAG("unused", &options->unused),
                                        LAP_TEXT("type", &options->type),
                                        LAP_NO_FLAG("no-header", &options->header),
                                        LAP_FLAG("json", &options->json),
                                        LAP_FILE(&options->path),
                                        LAP_MAYBE_WORD("OBJECT", &options->object, lap_take_text)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    return code >= 0 ? code : check(options, lap_range_is_given(options->frames));
}

static void show_progress(void *user, const struct lap_packet *packet)
{
    struct lister *lister = user;
    lap_progress_show(&lister->progress, packet->frame, lister->frames);
}

static enum lap_status check_output(void)
{
    return ferror(stdout) ? lap_fail(LAP_ERROR_IO, "the output can't be written") : LAP_OK;
}

/* ---- uses ---- */

static void descriptor_text(const struct use *use, char out[HOW_BYTES])
{
    static const char prefix[] = "VK_DESCRIPTOR_TYPE_";
    const struct reached *d = use->descriptor;
    const char *type = lap_text_named("VkDescriptorType", d->descriptor.type);
    char element[24] = "", more[40] = "";

    if (type && strncmp(type, prefix, sizeof prefix - 1) == 0)
        type += sizeof prefix - 1;
    if (!d->alone)
        snprintf(element, sizeof element, " [%" PRIu32 "]", d->element);
    if (use->more)
        snprintf(more, sizeof more, " and %" PRIu32 " more", use->more);
    snprintf(out, HOW_BYTES, "%sset %" PRIu32 " binding %" PRIu32 "%s %s%s", d->pushed ? "pushed " : "", d->set,
             d->binding, element, type ? type : "another type", more);
}

static void how_text(const struct use *use, char out[HOW_BYTES])
{
    static const char *const texts[] = {[USE_COPY_SOURCE] = "copy source",
                                        [USE_COPY_DESTINATION] = "copy destination",
                                        [USE_CLEAR] = "clear",
                                        [USE_BARRIER] = "barrier",
                                        [USE_INDIRECT] = "indirect arguments",
                                        [USE_BOUND_MEMORY] = "bound memory",
                                        [USE_VIEW] = "view",
                                        [USE_PRESENT] = "presented",
                                        [USE_PIPELINE] = "pipeline",
                                        [USE_SHADER] = "shader",
                                        [USE_SET] = "set",
                                        [USE_VERTEX_BUFFER] = "vertex buffer",
                                        [USE_INDEX_BUFFER] = "index buffer",
                                        [USE_FEEDBACK] = "transform feedback"};
    bool is_numbered =
        use->role == ATTACHMENT_COLOR || use->role == ATTACHMENT_RESOLVE || use->role == ATTACHMENT_INPUT;

    if (use->kind == USE_MEMBER)
        snprintf(out, HOW_BYTES, "%s", use->member);
    else if (use->kind == USE_DESCRIPTOR)
        descriptor_text(use, out);
    else if (use->kind == USE_ATTACHMENT && is_numbered)
        snprintf(out, HOW_BYTES, "%s attachment %" PRIu32, attachment_role_name(use->role), use->number);
    else if (use->kind == USE_ATTACHMENT)
        snprintf(out, HOW_BYTES, "%s attachment", attachment_role_name(use->role));
    else if (use->kind == USE_SET || use->kind == USE_VERTEX_BUFFER || use->kind == USE_FEEDBACK)
        snprintf(out, HOW_BYTES, "%s %" PRIu32, texts[use->kind], use->number);
    else
        snprintf(out, HOW_BYTES, "%s", texts[use->kind]);
}

static const char *position_of(const struct use *use, char out[POSITION_TEXT_BYTES])
{
    if (use->position)
        return position_text(use->position, out);
    snprintf(out, POSITION_TEXT_BYTES, "#%" PRIu64, use->ticket - 1);
    return out;
}

static const char *const access_texts[] = {
    [USE_NAMED] = "-", [USE_READ] = "read", [USE_WRITE] = "write", [USE_READ_WRITE] = "read-write"};

static void put_row(const struct use *use, const char *how, const struct use_object *through, size_t count)
{
    char text[POSITION_TEXT_BYTES];

    printf("%s\t%s\t%s\t%s\t", position_of(use, text), gen_command_names[use->command], access_texts[use->access], how);
    for (size_t i = 0; i < count; i++)
        printf("%s%s:%" PRIu64, i ? "/" : "", gen_handle_names[through[i].type], through[i].index);
    puts(count ? "" : "-");
}

static void put_json(const struct use *use, const char *how, const struct use_object *through, size_t count)
{
    char text[POSITION_TEXT_BYTES];

    printf("{\"position\": \"%s\", \"command\": \"%s\", \"access\": ", position_of(use, text),
           gen_command_names[use->command]);
    lap_text_put_json(stdout, use->access == USE_NAMED ? NULL : access_texts[use->access]);
    fputs(", \"how\": ", stdout);
    lap_text_put_json(stdout, how);
    fputs(", \"layouts\": ", stdout);
    if (use->layouts) {
        fputc('[', stdout);
        lap_text_put_json(stdout, lap_text_named("VkImageLayout", use->layouts[0]));
        fputs(", ", stdout);
        lap_text_put_json(stdout, lap_text_named("VkImageLayout", use->layouts[1]));
        fputc(']', stdout);
    } else {
        fputs("null", stdout);
    }
    fputs(", \"through\": [", stdout);
    for (size_t i = 0; i < count; i++) {
        fputs(i ? ", " : "", stdout);
        lap_state_put_handle(stdout, through[i].type, through[i].index);
    }
    puts("]}");
}

static void begin_rows(struct lister *lister)
{
    if (!lister->rows++ && lister->options->header && !lister->options->json)
        fputs(lister->options->unused ? UNUSED_HEADER : HEADER, stdout);
}

static enum lap_status put_use(void *user, const struct use *use, const struct use_object *through, size_t count)
{
    struct lister *lister = user;
    char how[HOW_BYTES];

    begin_rows(lister);
    how_text(use, how);
    if (lister->options->json)
        put_json(use, how, through, count);
    else
        put_row(use, how, through, count);
    return check_output();
}

/* The objects of the whole trace. An error may leave them usable. */
static enum lap_status find_objects(const struct lap_reader *trace, bool lives_alone, struct state_objects **out)
{
    uint64_t packets = lap_reader_summary(trace)->packets;
    const struct state_wish wish = {.last = packets ? packets : 1, .lives_alone = lives_alone, .up_to_damage = true};

    return state_objects_find(trace, &wish, out);
}

/* Of an object without uses. LAP_ERROR_ARGUMENT: there is none; type: as it was asked for. */
static enum lap_status check_object(const struct lap_reader *trace, struct use_object object, const char *type)
{
    struct lap_state_view view = {.trace = trace};
    struct state_objects *objects;
    enum lap_status status = find_objects(trace, true, &objects);

    view.objects = objects;
    if (status == LAP_OK && !object.type)
        status = lap_state_no_type(&view, type);
    else if (status == LAP_OK && !state_objects_get(objects, object.type, object.index))
        status = lap_object_not_there(state_objects_lives(objects), object.type, object.index);
    state_objects_free(&objects);
    return status;
}

static enum lap_status list_uses(struct lister *lister, const struct lap_reader *trace)
{
    const struct options *options = lister->options;
    struct use_walk_options walk = {
        .first_frame = options->frames[0], .last_frame = options->frames[1], .bindings = options->bindings};
    char type[LAP_OBJECT_NAME_MAX] = "";
    struct use_object object = {.type = GEN_HANDLE_NONE};
    struct position_found found;
    enum lap_status status = lap_object_parse(options->object, &object.type, &object.index, type);

    if (status == LAP_OK && options->at.count) {
        status = position_find(trace, &options->at, &found);
        walk.at = &found.position;
    }
    if (status == LAP_OK && object.type)
        status = uses_of(trace, object, &walk, put_use, show_progress, lister);
    if (status == LAP_OK && !lister->rows)
        status = check_object(trace, object, type);
    if (status == LAP_OK && !lister->rows)
        begin_rows(lister);
    return status;
}

/* ---- unused objects ---- */

/* "-": nothing else is known. */
static void why_text(const struct lap_state_view *view, const struct unused *unused, char out[HOW_BYTES])
{
    const struct object_life *other = unused->other == SIZE_MAX ? NULL : lap_state_life(view, unused->other);
    char more[40] = "";

    snprintf(out, HOW_BYTES, "%s", unused->described ? "only in descriptors that nothing finds bound" : "-");
    if (!other)
        return;
    if (unused->others)
        snprintf(more, sizeof more, " and %" PRIu64 " more", unused->others);
    snprintf(out, HOW_BYTES, "only for %s:%" PRIu64 "%s, which nothing uses", gen_handle_names[other->type],
             other->index, more);
}

/* Tabs and newlines end columns and lines. */
static void put_name(const char *name)
{
    const char *text = name ? name : "-";
    lap_utf8_print(stdout, text, strlen(text), ' ', "");
}

static void put_unused(const struct lap_state_view *view, const struct unused *unused)
{
    const struct object_life *life = lap_state_life(view, unused->number);
    const char *name = lap_state_name(view, unused->number, 1);
    uint64_t bytes = lap_state_bytes(view, unused->number);
    char why[HOW_BYTES], number[24] = "";

    why_text(view, unused, why);
    if (bytes != UINT64_MAX)
        snprintf(number, sizeof number, "%" PRIu64, bytes);
    if (!view->json) {
        printf("%s:%" PRIu64 "\t", gen_handle_names[life->type], life->index);
        put_name(name);
        printf("\t#%" PRIu64 "\t%s\t%s\n", life->begin - 1, number[0] ? number : "-", why);
        return;
    }
    fputs("{\"object\": ", stdout);
    lap_state_put_handle(stdout, life->type, life->index);
    fputs(", \"name\": ", stdout);
    lap_text_put_json(stdout, name);
    printf(", \"made\": %" PRIu64 ", \"bytes\": %s, \"why\": ", life->begin - 1, number[0] ? number : "null");
    lap_text_put_json(stdout, why[0] == '-' ? NULL : why);
    puts("}");
}

static int compare(const void *a, const void *b, void *user)
{
    const struct object_life *x = lap_state_life(user, ((const struct unused *)a)->number);
    const struct object_life *y = lap_state_life(user, ((const struct unused *)b)->number);

    if (x->type != y->type)
        return x->type < y->type ? -1 : 1;
    return x->index < y->index ? -1 : x->index > y->index;
}

static enum lap_status list_unused(struct lister *lister, const struct lap_reader *trace)
{
    const char *type = lister->options->type;
    struct lap_state_view view = {.trace = trace, .json = lister->options->json, .out = stdout};
    struct state_objects *objects;
    struct unused *unused = NULL;
    size_t count = 0;
    enum lap_status status = find_objects(trace, false, &objects), printed = LAP_OK;

    view.objects = objects;
    view.type = type ? gen_handle_by_name(type) : GEN_HANDLE_NONE;
    if (objects && type && !view.type)
        status = lap_state_no_type(&view, type);
    else if (objects && status != LAP_ERROR_MEMORY) /* damage comes again */
        status = unused_find(trace, objects, show_progress, lister, &unused, &count);
    lap_progress_clear(&lister->progress);
    if (unused)
        begin_rows(lister);
    if (count)
        qsort_r(unused, count, sizeof *unused, compare, &view);
    for (size_t i = 0; i < count && printed == LAP_OK; i++) {
        if (!view.type || lap_state_life(&view, unused[i].number)->type == view.type)
            put_unused(&view, &unused[i]);
        printed = check_output();
    }
    free(unused);
    state_objects_free(&objects);
    return printed == LAP_OK ? status : printed;
}

/* ---- the whole ---- */

static enum lap_status list(void *user, const struct lap_reader *trace)
{
    const struct options *options = user;
    struct lister lister = {.options = options, .frames = lap_reader_summary(trace)->frames};
    enum lap_status status;

    if (options->unused)
        lap_progress_begin(&lister.progress, "reading", false);
    else
        lap_progress_begin_beside(&lister.progress, "listing");
    status = options->unused ? list_unused(&lister, trace) : list_uses(&lister, trace);
    lap_progress_clear(&lister.progress);
    return status;
}

int main(int argc, char **argv)
{
    struct options options = {.header = true, .frames = {0, UINT64_MAX}};
    int code = parse(argc, argv, &options);

    if (code >= 0)
        return code;
    lap_calls_enter_sandbox();
    return lap_read_trace(PROGRAM, options.path, list, &options);
}

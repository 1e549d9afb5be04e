/* SPDX-License-Identifier: MIT */
#include "replayer/options_internal.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "replayer/command/parallel.h"
#include "replayer/present/window_android.h"
#include "replayer/present/window_system.h"

#define DEFAULT_AHEAD_BYTES ((uint64_t)32 << 20) /* larger windows keep allocating fresh memory */
#define MAX_NUMBER          UINT64_C(1000000000)

#define MEMBER(name)        .at = offsetof(struct replay_options, name)

/* ---- values ---- */

static enum lap_status store_flag(const struct row *row, const char *value, struct replay_options *out)
{
    *(bool *)((char *)out + row->at) = true;
    return LAP_OK;
}

static enum lap_status store_text(const struct row *row, const char *value, struct replay_options *out)
{
    *(const char **)(void *)((char *)out + row->at) = value;
    return LAP_OK;
}

static enum lap_status store_frame(const struct row *row, const char *value, struct replay_options *out)
{
    if (lap_frame_parse(&value, (uint64_t *)(void *)((char *)out + row->at)) && !*value)
        return LAP_OK;
    return lap_fail(LAP_ERROR_ARGUMENT, "%s wants a number from 1 on", row->name);
}

static enum lap_status parse_present(const struct row *row, const char *text, struct replay_options *out)
{
    static const char *const names[] = {"auto", "window", "headless", "off"};

    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], text) == 0) {
            out->present = (enum replay_present)i;
            return LAP_OK;
        }
    return lap_fail(LAP_ERROR_ARGUMENT, "--present wants window, headless or off, not \"%s\"", text);
}

/* NULL, "gpu", "sync", or both with a comma. */
static enum lap_status parse_validation(const struct row *row, const char *text, struct replay_options *out)
{
    out->validate = true;
    for (const char *at = text; at;) {
        size_t length = strcspn(at, ",");
        if (length == 3 && strncmp(at, "gpu", length) == 0)
            out->validate_gpu = true;
        else if (length == 4 && strncmp(at, "sync", length) == 0)
            out->validate_sync = true;
        else
            return lap_fail(LAP_ERROR_ARGUMENT, "--validate takes =gpu, =sync or =gpu,sync, not \"%s\"", text);
        at = at[length] ? at + length + 1 : NULL;
    }
    return LAP_OK;
}

static enum lap_status check_validation(const struct replay_options *options, enum replay_action action)
{
    if (options->messages && !options->validate)
        return lap_fail(LAP_ERROR_ARGUMENT, "--messages is for --validate");
    if (options->validate && action == REPLAY_ACTION_CHECK)
        return lap_fail(LAP_ERROR_ARGUMENT,
                        "--validate is for a replay: --check plays nothing that could be validated");
    if (options->validate && options->threads > 1)
        return lap_fail(LAP_ERROR_ARGUMENT, "--validate plays with one thread: each message is placed at its command");
    if (options->validate && options->blackhole)
        return lap_fail(LAP_ERROR_ARGUMENT, "with --blackhole nothing is submitted that could be validated");
    if (options->validate && options->json && (options->verify || (options->measure && !options->measure_file)))
        return lap_fail(LAP_ERROR_ARGUMENT, "--validate --json has stdout to itself: use --verify without --json, and "
                                            "--measure with a file");
    return LAP_OK;
}

static enum lap_status parse_window_system(const struct row *row, const char *text, struct replay_options *out)
{
    for (uint32_t i = 0; i < REPLAY_WINDOW_SYSTEM_COUNT; i++)
        if (strcmp(replay_window_systems[i]->name, text) == 0) {
            out->window_system = replay_window_systems[i];
            return LAP_OK;
        }
    return lap_fail(LAP_ERROR_ARGUMENT, "--window-system wants wayland, xcb, android or headless-surface, not \"%s\"",
                    text);
}

static enum lap_status parse_threads(const struct row *row, const char *text, struct replay_options *out)
{
    char *end;
    unsigned long count = strtoul(text, &end, 10);

    if (strcmp(text, "all") == 0) {
        count = replay_processors();
    } else if (*text < '1' || *text > '9' || *end || count > REPLAY_THREADS_MAX) {
        return lap_fail(LAP_ERROR_ARGUMENT, "--threads wants all or a number from 1 to %u, not \"%s\"",
                        REPLAY_THREADS_MAX, text);
    }
    out->threads = (unsigned)count;
    return LAP_OK;
}

static enum lap_status parse_addresses(const struct row *row, const char *text, struct replay_options *out)
{
    out->translate_addresses = strcmp(text, "translate") == 0;
    if (out->translate_addresses || strcmp(text, "auto") == 0)
        return LAP_OK;
    return lap_fail(LAP_ERROR_ARGUMENT, "--addresses wants auto or translate, not \"%s\"", text);
}

static enum lap_status parse_new_memory(const struct row *row, const char *text, struct replay_options *out)
{
    out->leave_new_memory = strcmp(text, "leave") == 0;
    if (out->leave_new_memory || strcmp(text, "zero") == 0)
        return LAP_OK;
    return lap_fail(LAP_ERROR_ARGUMENT, "--new-memory wants zero or leave, not \"%s\"", text);
}

static enum lap_status parse_number(const char *option, const char *text, uint64_t *out)
{
    uint64_t number = 0;

    if (strcmp(text, "0") == 0 || (lap_frame_parse(&text, &number) && !*text && number <= MAX_NUMBER)) {
        *out = number;
        return LAP_OK;
    }
    return lap_fail(LAP_ERROR_ARGUMENT, "%s wants a number up to %" PRIu64, option, MAX_NUMBER);
}

static enum lap_status parse_progress(const struct row *row, const char *text, struct replay_options *out)
{
    uint64_t fd = 0;
    enum lap_status status = parse_number(row->name, text, &fd);
    int flags = status == LAP_OK && fd > STDERR_FILENO ? fcntl((int)fd, F_GETFL) : -1;

    if (status == LAP_OK && (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || flags & O_PATH))
        return lap_fail(LAP_ERROR_ARGUMENT, "--progress wants a descriptor from 3 on that is open for writing, not %s",
                        text);
    out->progress_fd = (int)fd;
    return status;
}

static enum lap_status parse_tolerance(const struct row *row, const char *text, struct replay_options *out)
{
    uint64_t steps = 0;
    enum lap_status status = parse_number(row->name, text, &steps);

    out->has_tolerance = true;
    out->tolerance = steps < UINT32_MAX ? (uint32_t)steps : UINT32_MAX;
    return status;
}

/* "A", "A-" or "A-B": a range of frames. */
static enum lap_status parse_frames(const struct row *row, const char *text, struct replay_options *out)
{
    bool good = lap_frame_parse(&text, &out->first_measured);

    if (good && !*text)
        out->last_frame = out->first_measured;
    else if (good && strcmp(text, "-") != 0)
        good = *text++ == '-' && lap_frame_parse(&text, &out->last_frame) && !*text &&
               out->last_frame >= out->first_measured;
    return good ? LAP_OK : lap_fail(LAP_ERROR_ARGUMENT, "--frames wants A-B, A- or A, from 1 on");
}

static enum lap_status parse_range(const struct row *row, const char *text, struct replay_options *out)
{
    if (lap_picture_parse_range(text, &out->pictures.how))
        return LAP_OK;
    return lap_fail(LAP_ERROR_ARGUMENT, "--range wants two different numbers A,B, not \"%s\"", text);
}

static enum lap_status parse_channels(const struct row *row, const char *text, struct replay_options *out)
{
    out->pictures.how.channels = text;
    return lap_picture_has_channels(text)
               ? LAP_OK
               : lap_fail(LAP_ERROR_ARGUMENT, "--channels wants rgba, r, g, b or a, not \"%s\"", text);
}

static enum lap_status parse_raw(const struct row *row, const char *text, struct replay_options *out)
{
    out->pictures.raw = true;
    out->pictures.also_png = text != NULL;
    return !text || strcmp(text, "also") == 0 ? LAP_OK
                                              : lap_fail(LAP_ERROR_ARGUMENT, "--raw takes =also, not \"%s\"", text);
}

static enum lap_status check_alone(const struct replay_options *options, enum replay_action action)
{
    if (options->listen || options->verify || options->hashes_file || options->blackhole || options->measure ||
        options->read_list || options->list_objects || action == REPLAY_ACTION_CHECK)
        return lap_fail(LAP_ERROR_ARGUMENT, "--pictures is for a replay of a file, alone");
    if (options->json && options->validate)
        return lap_fail(LAP_ERROR_ARGUMENT, "--json is for --pictures or for --validate, not for both");
    return LAP_OK;
}

static enum lap_status check_pictures(const struct replay_options *options, enum replay_action action)
{
    const struct replay_pictures *pictures = &options->pictures;

    if ((pictures->wish.kind && !pictures->after.count) ||
        (pictures->wish.aspect && pictures->wish.kind != AFTER_IMAGE))
        return lap_fail(LAP_ERROR_ARGUMENT, "--image and --buffer are for --after, and --image-aspect for --image");
    if (pictures->wish.kind && pictures->names)
        return lap_fail(LAP_ERROR_ARGUMENT, "--targets are attachments: without --image and --buffer");
    if (pictures->wish.kind == AFTER_BUFFER) {
        if (pictures->raw || pictures->how.has_range || pictures->how.channels || pictures->list_file ||
            pictures->each.at.count || (pictures->folder && !options->wait))
            return lap_fail(LAP_ERROR_ARGUMENT, "--buffer writes bytes alone, without --pictures");
        return check_alone(options, action);
    }
    if (!pictures->folder && (pictures->after.count || pictures->each.at.count || pictures->list_file ||
                              pictures->names || pictures->raw || pictures->how.has_range || pictures->how.channels))
        return lap_fail(LAP_ERROR_ARGUMENT,
                        "--after, --each, --picture-list, --targets, --range, --channels and --raw are for "
                        "--pictures");
    if (options->wait && (pictures->list_file || options->stop_at || options->listen || action == REPLAY_ACTION_CHECK ||
                          (options->last_frame && (pictures->folder || options->last_frame < options->wait))))
        return lap_fail(LAP_ERROR_ARGUMENT, "--wait is for a replay of a file that goes on behind that frame, without "
                                            "--picture-list and --stop-at");
    if ((pictures->thumbs || pictures->each.most_bytes) && !pictures->each.at.count)
        return lap_fail(LAP_ERROR_ARGUMENT, "--thumbs and --picture-memory are for --each");
    if (!pictures->folder)
        return LAP_OK;
    if (!!pictures->after.count + !!pictures->each.at.count + !!pictures->list_file +
                !!options->overdraw.wish.at.count !=
            1 &&
        !options->wait)
        return lap_fail(LAP_ERROR_ARGUMENT, "--pictures wants --after, or else --each, --overdraw or --picture-list");
    if (pictures->each.at.count &&
        (options->experiments.skip.count || options->experiments.only.count || options->experiments.has_most_draws))
        return lap_fail(LAP_ERROR_ARGUMENT, "--each is for all draws: without --skip, --only and --at-most-draws");
    if (pictures->thumbs && pictures->raw)
        return lap_fail(LAP_ERROR_ARGUMENT, "--thumbs are pictures: without --raw");
    if (pictures->raw && !pictures->also_png && (pictures->how.has_range || pictures->how.channels))
        return lap_fail(LAP_ERROR_ARGUMENT, "--raw writes all bytes as they are: without --range and --channels");
    return check_alone(options, action);
}

static enum lap_status store_number(const struct row *row, const char *value, struct replay_options *out)
{
    return parse_number(row->name, value, (uint64_t *)(void *)((char *)out + row->at));
}

/* A list of frames, where "last" may be among them. */
static enum lap_status take_screenshots(const struct row *row, const char *value, struct replay_options *out)
{
    enum lap_status status = LAP_OK;

    for (const char *at = value; status == LAP_OK && at;) {
        const size_t length = strcspn(at, ",");
        char *one = strndup(at, length);

        if (!one)
            status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
        else if (strcmp(one, "last") == 0)
            out->screenshot_of_last = true;
        else if (lap_frames_parse(one, &out->screenshots) != LAP_OK)
            status =
                lap_fail(LAP_ERROR_ARGUMENT, "%s: frames are written like 1,50-60,last, not \"%s\"", row->name, value);
        free(one);
        at = at[length] ? at + length + 1 : NULL;
    }
    return status;
}

static enum lap_status take_each(const struct row *row, const char *value, struct replay_options *out)
{
    enum lap_status status = position_parse(value, &out->pictures.each.at);
    return status == LAP_OK ? status : lap_fail_context(status, "%s", row->name);
}

static enum lap_status take_thumbs(const struct row *row, const char *value, struct replay_options *out)
{
    uint64_t number = 0;
    enum lap_status status = parse_number(row->name, value, &number);

    out->pictures.thumbs = (uint32_t)number;
    out->pictures.each.one = true;
    return status == LAP_OK && (number < 8 || number > 4096)
               ? lap_fail(LAP_ERROR_ARGUMENT, "%s wants 8 to 4096 pixels, not \"%s\"", row->name, value)
               : status;
}

static enum lap_status take_picture_memory(const struct row *row, const char *value, struct replay_options *out)
{
    uint64_t number = 0;
    enum lap_status status = parse_number(row->name, value, &number);

    out->pictures.each.most_bytes = number << 20;
    return status == LAP_OK && (number < 1 || number > 1048576)
               ? lap_fail(LAP_ERROR_ARGUMENT, "%s wants 1 to 1048576 MiB, not \"%s\"", row->name, value)
               : status;
}

static enum lap_status take_after(const struct row *row, const char *value, struct replay_options *out)
{
    enum lap_status status = position_parse(value, &out->pictures.after);
    return status == LAP_OK ? status : lap_fail_context(status, "%s", row->name);
}

/* #PACKET, or the packet's ticket, which is one more. */
static enum lap_status take_stop_at(const struct row *row, const char *value, struct replay_options *out)
{
    struct position position;

    if (*value != '#' && store_frame(row, value, out) == LAP_OK)
        return LAP_OK;
    if (*value != '#' || position_parse(value, &position) != LAP_OK || position.count != 1 ||
        position.numbers[0] == UINT64_MAX)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s wants #PACKET, or a ticket from 1 on, as lapilli print has them",
                        row->name);
    out->stop_at = position.numbers[0] + 1;
    return LAP_OK;
}

static enum lap_status take_skip(const struct row *row, const char *value, struct replay_options *out)
{
    return edit_positions_parse(value, &out->experiments.skip);
}

static enum lap_status take_only(const struct row *row, const char *value, struct replay_options *out)
{
    return edit_positions_parse(value, &out->experiments.only);
}

static enum lap_status take_most_draws(const struct row *row, const char *value, struct replay_options *out)
{
    out->experiments.has_most_draws = true;
    return parse_number(row->name, value, &out->experiments.most_draws);
}

static enum lap_status take_shader(const struct row *row, const char *value, struct replay_options *out)
{
    return edit_experiments_parse_shader(value, &out->experiments);
}

static enum lap_status take_measure(const struct row *row, const char *value, struct replay_options *out)
{
    out->measure = true;
    out->measure_file = value;
    return LAP_OK;
}

static enum lap_status take_ahead(const struct row *row, const char *value, struct replay_options *out)
{
    enum lap_status status = parse_number(row->name, value, &out->ahead_bytes);

    out->ahead_bytes <<= 20;
    return status;
}

static enum lap_status take_wait_limit(const struct row *row, const char *value, struct replay_options *out)
{
    enum lap_status status = parse_number(row->name, value, &out->wait_limit_ms);

    if (status == LAP_OK && !out->wait_limit_ms)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s wants a number of seconds from 1 on", row->name);
    out->wait_limit_ms *= 1000;
    return status;
}

static enum lap_status take_sandbox(const struct row *row, const char *value, struct replay_options *out)
{
    enum lap_status status = lap_sandbox_wish_parse(value, &out->sandbox);

    if (status == LAP_OK && out->sandbox != LAP_SANDBOX_WISH_OFF && replay_android_is_app())
        return lap_fail(LAP_ERROR_ARGUMENT,
                        "--sandbox wants off in an app of Android, which ends an app that asks for one");
    return status;
}

static void list_gpus(enum replay_action *action)
{
    *action = REPLAY_ACTION_LIST_GPUS;
}

static void check_only(enum replay_action *action)
{
    if (*action == REPLAY_ACTION_PLAY)
        *action = REPLAY_ACTION_CHECK;
}

static void show_help(enum replay_action *action)
{
    *action = *action == REPLAY_ACTION_CHECK ? REPLAY_ACTION_CHECK_HELP : REPLAY_ACTION_HELP;
}

static void show_version(enum replay_action *action)
{
    *action = REPLAY_ACTION_VERSION;
}

/* ---- the table ---- */

static const struct row rows[] = {
    {"--verify", NULL, "compare with the hashes that capture --verify recorded", .take = store_flag, MEMBER(verify)},
    {"--listen", "ADDRESS",
     "instead of FILE: receive the trace of a program, then play it (unix:PATH, unix:@NAME, tcp://HOST:PORT)",
     .take = store_text, MEMBER(listen)},
    {"--on", "ADDRESS", "play on the machine where lapilli run --listen waits (docs/vm.md)", .take = store_text,
     MEMBER(on)},
    {"--token-file", "FILE",
     "with --listen: only from a program with the same token; with --on: that machine's; needed for other machines",
     .take = store_text, MEMBER(token_file)},
    {"--mismatch-dir", "DIR", "with --verify: write the first image that differs as PNG; created if missing",
     .take = store_text, MEMBER(mismatch_dir)},
    {"--tolerance", "N", "with --verify: texels may be N steps of their format away from those of capture --keep-bytes",
     .take = parse_tolerance},
    {"--ignore-checks", "FILE", "with --verify: leave out the checks in it (lapilli compare-checks)",
     .take = store_text, MEMBER(ignored_file)},
    {"--dump-checks", "DIR", "with --verify: write all compared bytes: checks.bin with its index checks.ndjson",
     .take = store_text, MEMBER(dump_dir)},
    {"--hashes", "FILE", "write a hash of each check, to compare with another replay: lines of JSON (docs/json.md)",
     .take = store_text, MEMBER(hashes_file)},
    {"--report", "FILE", "write what came of the replay as one JSON object, whatever happened (docs/json.md)",
     .take = store_text, MEMBER(report_file)},
    {"--screenshot", "FRAMES", "write presented images as PNG: 1,50-60,last (frames count from 1)",
     .take = take_screenshots},
    {"--screenshot-dir", "DIR", "where screenshots go; created if missing (default: the current folder)",
     .take = store_text, MEMBER(screenshot_dir)},
    {"--present", "HOW", "window, headless (draw, show nothing) or off; default: a window if there is a display",
     .take = parse_present},
    {"--window-system", "NAME",
     "show a window, on wayland, xcb, android or a headless-surface of the driver; default: the first that answers",
     .take = parse_window_system},
    {"--gpu", "GPU", "the GPU to use: its number, a part of its name, or its UUID", .take = store_text, MEMBER(gpu)},
    {"--list-gpus", NULL, "show the GPUs of this machine; with --gpu that one", .act = list_gpus},
    {"--check", NULL, "play nothing: predict a replay on this machine (lapilli check)", .act = check_only},
    {"--json", NULL,
     "with --check or --list-gpus: one JSON object; with --validate, --pictures or --pixel: a JSON line for each "
     "message, picture or command",
     .take = store_flag, .asked = true, MEMBER(json)},
    {"--last-frame", "N", "stop after this frame", .take = store_frame, MEMBER(last_frame)},
    {"--stop-at", "PACKET", "stop behind this packet: #PACKET, or its ticket (lapilli print)", .take = take_stop_at,
     MEMBER(stop_at)},
    {"--read", "LIST", "with --stop-at: read what is in the objects of this list then (docs/cli.md)",
     .take = store_text, MEMBER(read_list)},
    {"--read-to", "FILE", "with --read: where that goes", .take = store_text, MEMBER(read_to)},
    {"--pictures", "DIR", "write images as they are where the replay ends as PNG (lapilli image); created if missing",
     .take = store_text, MEMBER(pictures.folder)},
    {"--after", "POSITION", "with --pictures: the attachments behind this command", .take = take_after, .asked = true},
    {"--image", "VkImage:N",
     "with --after: this image, perhaps with ,LEVEL or ,LEVEL,LAYER, instead of the attachments",
     .take = replay_take_image, .asked = true},
    {"--image-aspect", "NAME", "with --image: color, depth, stencil, or plane0 to plane2; default: the first one",
     .take = replay_take_image_aspect, .asked = true},
    {"--buffer", "VkBuffer:N",
     "with --after, without --pictures: write this buffer's bytes to stdout; also N,OFFSET,SIZE",
     .take = replay_take_buffer},
    {"--each", "POSITION",
     "with --pictures: the attachments behind each draw of this render pass, label, command buffer or other place",
     .take = take_each, .asked = true},
    {"--thumbs", "N", "with --each: only what changed, at most N pixels wide and high, of one attachment",
     .take = take_thumbs, .asked = true},
    {"--picture-memory", "MIB", "with --each: at most so much memory in one replay; default: 512",
     .take = take_picture_memory, .asked = true},
    {"--picture-list", "LIST", "with --pictures: the images of this list (docs/cli.md)", .take = store_text,
     MEMBER(pictures.list_file)},
    {"--targets", "NAMES", "with --pictures: only these, separated by commas: color0,depth", .take = store_text,
     .asked = true, MEMBER(pictures.names)},
    {"--range", "A,B", "with --pictures: A is black and B is white; default: the range of the values",
     .take = parse_range, .asked = true},
    {"--channels", "WHICH", "with --pictures: rgba, or one of r, g, b, a in grey", .take = parse_channels,
     .asked = true},
    {"--raw", "[=also]",
     "with --pictures: the bytes of the texels instead, as copies to buffers have them; also: besides the PNG",
     .take = parse_raw, .asked = true},
    {"--pixel", "X,Y", "print which commands change this texel, and from what to what (lapilli pixel)",
     .take = replay_take_pixel, .asked = true},
    {"--pixel-at", "POSITION", "with --pixel: of this frame, or of what is in front of the end of this place in it",
     .take = replay_take_pixel_at, .asked = true},
    {"--target", "VkImage:N", "with --pixel: of this image, perhaps with ,LEVEL,LAYER; default: the presented one",
     .take = replay_take_target, .asked = true},
    {"--aspect", "NAME", "with --pixel: color, depth or stencil; default: the first one that the format has",
     .take = replay_take_aspect, .asked = true},
    {"--all", NULL, "with --pixel: also commands that do not change it", .take = store_flag, .asked = true,
     MEMBER(texel.all)},
    {"--fragments", NULL, "with --pixel: also the fragments of draws, and the tests that they fail", .take = store_flag,
     .asked = true, MEMBER(texel.wish.fragments)},
    {"--profile", "FRAMES",
     "print how long the work of frames takes, as lines of JSON (lapilli profile): N, A-B or all; plays with one "
     "thread",
     .take = replay_take_profile},
    {"--profile-draws", NULL, "with --profile: also single commands in render passes", .take = store_flag,
     MEMBER(profile.wish.draws)},
    {"--profile-statistics", NULL, "with --profile: also pipeline statistics", .take = store_flag,
     MEMBER(profile.wish.statistics)},
    {"--overdraw", "POSITION",
     "with --pictures: how many fragments each texel has, of the draws of this render pass, draw or another place",
     .take = replay_take_overdraw, .asked = true},
    {"--rasterized", NULL, "with --overdraw: also fragments that fail tests in front of the shader", .take = store_flag,
     .asked = true, MEMBER(overdraw.wish.rasterized)},
    {"--debug", "POSITION",
     "print the values that a shader of this draw or dispatch computes (lapilli debug), with one of these:",
     .take = replay_take_debug, .asked = true},
    {"--texel", "X,Y", "with --debug: the fragment shader, for this texel", .take = replay_take_invocation,
     .asked = true},
    {"--vertex", "N", "with --debug: the vertex shader, for the vertex with this VertexIndex",
     .take = replay_take_invocation, .asked = true},
    {"--instance", "N", "with --vertex: of this InstanceIndex; default: the first one of the draw",
     .take = replay_take_invocation, .asked = true},
    {"--invocation", "X,Y,Z", "with --debug: the compute shader, for this GlobalInvocationId",
     .take = replay_take_invocation, .asked = true},
    {"--name", "NAME", "with --debug: a table of the values with this name, or of an id like %46", .take = store_text,
     .asked = true, MEMBER(debug.name)},
    {"--all-fragments", NULL, "with --debug: all invocations that there are, not the last one that came to its end",
     .take = store_flag, .asked = true, MEMBER(debug.all)},
    {"--mesh", "POSITION", "print the vertices of this draw, and what its vertex shader writes for them (lapilli mesh)",
     .take = replay_take_mesh, .asked = true},
    {"--mesh-side", "SIDE", "with --mesh: only in, the attributes, or out, what the vertex shader writes",
     .take = replay_take_mesh_word, .asked = true},
    {"--mesh-draw", "N", "with --mesh: which draw of the command, from 0", .take = replay_take_mesh_number,
     .asked = true},
    {"--mesh-instance", "N", "with --mesh: of this InstanceIndex; default: the first one of the draw",
     .take = replay_take_mesh_number, .asked = true},
    {"--mesh-rows", "A-B", "with --mesh: only these rows, from 0", .take = replay_take_mesh_rows, .asked = true},
    {"--mesh-as", "KIND", "with --mesh: as text (default), csv or obj", .take = replay_take_mesh_word},
    {"--mesh-clip", NULL, "with --mesh-as=obj: clip coordinates, not divided by w", .take = store_flag,
     MEMBER(mesh.clips)},
    {"--mesh-position", "NAME", "with --mesh-as=obj: the values of this attribute, by its name or location",
     .take = store_text, MEMBER(mesh.position)},
    {"--wait", "FRAME", "play what is in front of this frame, then wait until stdin says how to go on (docs/cli.md)",
     .take = store_frame, MEMBER(wait)},
    {"--list-objects", NULL, "print the objects that live where the replay ends", .take = store_flag,
     MEMBER(list_objects)},
    {"--skip", "P,…", "leave out draws, dispatches and transfers, by their positions; also all in a pass",
     .take = take_skip, .asked = true},
    {"--only", "P,…", "leave out all draws but these", .take = take_only, .asked = true},
    {"--at-most-draws", "N", "leave out all draws behind the first N of the trace", .take = take_most_draws,
     .asked = true},
    {"--wireframe", NULL, "draw the edges of triangles", .take = store_flag, .asked = true,
     MEMBER(experiments.wireframe)},
    {"--null-fragment", NULL, "fragment shaders do nothing but write one colour", .take = store_flag, .asked = true,
     MEMBER(experiments.null_fragment)},
    {"--tiny-viewport", NULL, "viewports and scissors are one pixel", .take = store_flag, .asked = true,
     MEMBER(experiments.tiny_viewport)},
    {"--replace-shader", "HASH=FILE",
     "SPIR-V, its text (.spvasm) or GLSL for the shader whose code lapilli print shows with this hash",
     .take = take_shader},
    {"--resources", "FROM",
     "of a replay program: the folder with the resources that it lacks, or fd:N, a socket (docs/vm.md)",
     .take = store_text, MEMBER(resources)},
    {"--threads", "N|all", "how many threads play command buffers; default: all processors if the program had several",
     .take = parse_threads},
    {"--measure", "[FILE.json]", "report memory and time of the replay: on stdout, or as JSON in a file",
     .take = take_measure},
    {"--addresses", "HOW", "device addresses: auto (keep them on the recorded driver; the default) or translate",
     .take = parse_addresses},
    {"--new-memory", "HOW", "unwritten bytes of new objects: zero (the default) or leave (as allocated)",
     .take = parse_new_memory},
    {"--frames", "A-B", "with --measure: measure frames A to B (A-: to the end); stop after them",
     .take = parse_frames},
    {"--warm-up", "N", "with --measure: without the first N of them", .take = store_number, MEMBER(warm_up)},
    {"--preload", NULL, "read and unpack the whole trace, or half of memory of it, before the first frame",
     .take = store_flag, MEMBER(preload)},
    {"--ahead", "MIB", "read and unpack so far ahead on a thread of its own (default: 32; 0: don't)",
     .take = take_ahead},
    {"--wait-limit", "SECONDS",
     "end when a wait for the device or a call of the driver takes longer (default: 60; an hour where it computes)",
     .take = take_wait_limit},
    {"--blackhole", NULL, "submit no commands, only waits and signals, to see the host's part; shows nothing",
     .take = store_flag, MEMBER(blackhole)},
    {"--sandbox", "HOW",
     "on: end if the kernel has no full sandbox; off: use none; auto (default): use what the kernel has (SECURITY.md)",
     .take = take_sandbox},
    {"--validate", "[=gpu,sync]",
     "play under the Khronos validation layer, and place its messages at the commands of the trace; gpu: also check "
     "shaders while they run; sync: also find hazards",
     .take = parse_validation},
    {"--messages", "N", "with --validate: print so many of each VUID (default: 10); all are counted",
     .take = store_frame, MEMBER(messages)},
    {"--validate-shaders", NULL, "check the code of shaders before the driver gets it, and end where it is invalid",
     .take = store_flag, MEMBER(validate_shaders)},
    {"--strict", NULL, "end at an invalid call (a null handle, a destroyed object); default: leave it out",
     .take = store_flag, MEMBER(strict)},
    {"--force", NULL, "go on without features and extensions that the GPU lacks", .take = store_flag, MEMBER(force)},
    {"--progress", "FD", "write how far the replay is, as lines of JSON, to this open descriptor",
     .take = parse_progress},
    {"--quiet", NULL, "print only errors and results", .take = store_flag, MEMBER(quiet)},
    {"--help", NULL, "show this", .act = show_help},
    {"--version", NULL, "show the version", .act = show_version},
};
#define ROWS (sizeof rows / sizeof *rows)

enum { TEXT_COLUMN = 25, LINE_COLUMNS = 115 };

/* Of a word in UTF-8. */
static int columns_of(const char *word, size_t bytes)
{
    int columns = 0;

    for (size_t i = 0; i < bytes; i++)
        columns += (word[i] & 0xc0) != 0x80;
    return columns;
}

/* Two spaces stand in front of the text; a name that leaves no room for them has a line of its own. */
static void print_row(const struct row *row)
{
    char left[40];
    int at = 2;

    snprintf(left, sizeof left, "%s%s%s", row->name, row->value && row->value[1] != '=' ? " " : "",
             row->value ? row->value : "");
    printf("  %s", left);
    at += columns_of(left, strlen(left));
    if (at + 2 > TEXT_COLUMN)
        at = printf("\n") - 1;
    printf("%*s", TEXT_COLUMN - 1 - at, "");
    at = TEXT_COLUMN - 1;
    for (const char *word = row->help; *word;) {
        size_t bytes = strcspn(word, " ");
        int columns = columns_of(word, bytes);

        if (at + 1 + columns > LINE_COLUMNS) {
            printf("\n%*s", TEXT_COLUMN - 1, "");
            at = TEXT_COLUMN - 1;
        }
        printf(" %.*s", (int)bytes, word);
        at += 1 + columns;
        word += bytes + strspn(word + bytes, " ");
    }
    puts("");
}

void replay_options_help(void)
{
    puts("usage: lapilli-replay [options] FILE\n       lapilli-replay [options] --listen ADDRESS\n\n"
         "Plays a trace, or a replay program, on a GPU of this machine.\n");
    for (size_t i = 0; i < ROWS; i++)
        print_row(&rows[i]);
    puts(
        "\nExit status: 0 all is well; 1 replay failed, or --verify found differences or nothing to compare, or "
        "--validate\nfound errors; 2 wrong usage; 3 no readable trace; 4 the trace is incomplete (its readable part "
        "was "
        "played);\n"
        "5 this machine can't play it, or lacks the layer of --validate; 6 with --wait: what is asked for changes what "
        "was\nplayed already, so a replay from the beginning has to do it.");
}

void replay_options_check_help(void)
{
    puts("usage: lapilli check [--json] [--gpu GPU] FILE\n"
         "Predicts a replay of the trace on a GPU of this machine, and plays nothing.\n\n"
         "  --json            one JSON object\n"
         "  --gpu GPU         the GPU: its number, a part of its name, or its UUID (lapilli replay --list-gpus)\n"
         "  --present HOW     as in a replay: it decides which extensions for windows are wanted\n"
         "  --window-system NAME\n                    as in a replay\n"
         "  --last-frame N    only up to this frame\n"
         "  --addresses HOW   as in a replay\n"
         "  --sandbox HOW     as in a replay\n"
         "  --force           as a replay with --force: leave out missing features\n"
         "  --help            this text\n\n"
         "Each requirement of the trace that the GPU lacks is\n"
         "  mapped    the replay device has something that does the same\n"
         "  dropped   the replay does without it\n"
         "  ignored   the driver gets it as recorded: most drivers accept it\n"
         "  may fail  the same, but the driver need not accept it\n"
         "  refused   the replay ends there\n\n"
         "It reports damage at its position, and does not read the contents of buffers and images.\n\n"
         "Exit status: 0 nothing is refused (some of it may fail); 1 it can't be replayed; 2 wrong usage; 3 no "
         "readable trace.");
}

static bool ends_in_json(const char *text)
{
    size_t length = strlen(text);
    return length > 5 && strcmp(text + length - 5, ".json") == 0;
}

/* NULL: there is none. */
static const struct row *find_option(const char *text)
{
    size_t length = strcspn(text, "=");

    for (size_t i = 0; i < ROWS; i++)
        if (strlen(rows[i].name) == length && strncmp(rows[i].name, text, length) == 0)
            return &rows[i];
    return NULL;
}

/* --name VALUE, --name=VALUE or --name. Advances *at past the arguments it consumes. */
static enum lap_status parse_option(int argc, char **argv, int *at, struct replay_options *out,
                                    enum replay_action *action)
{
    const char *text = argv[*at], *equals = strchr(text, '=');
    const char *value = equals ? equals + 1 : NULL;
    const struct row *row = find_option(text);

    if (!row)
        return lap_fail(LAP_ERROR_ARGUMENT, "there is no option %.*s; --help shows all", (int)strcspn(text, "="), text);
    if (row->value && row->value[0] == '[') {
        if (!value && row->value[1] != '=' && *at + 1 < argc && ends_in_json(argv[*at + 1]))
            value = argv[++*at];
    } else if (row->value && !value) {
        if (*at + 1 >= argc)
            return lap_fail(LAP_ERROR_ARGUMENT, "%s wants %s", row->name, row->value);
        value = argv[++*at];
    }
    if (!row->value && value)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s takes no value", row->name);
    if (row->take)
        return row->take(row, value, out);
    row->act(action);
    return LAP_OK;
}

/* The share of this machine's memory that preloading may use for a larger trace. */
static uint64_t preload_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? (uint64_t)pages * (uint64_t)page_bytes / 2 : DEFAULT_AHEAD_BYTES;
}

static enum lap_status parse(int argc, char **argv, struct replay_options *out, enum replay_action *out_action)
{
    bool only_files = false;

    *out = (struct replay_options){.present = REPLAY_PRESENT_AUTO,
                                   .screenshot_dir = ".",
                                   .mesh.last = UINT32_MAX,
                                   .measure_fd = -1,
                                   .hashes_fd = -1,
                                   .report_fd = -1,
                                   .ahead_bytes = DEFAULT_AHEAD_BYTES};
    *out_action = REPLAY_ACTION_PLAY;
    for (int i = 1; i < argc; i++) {
        if (!only_files && strcmp(argv[i], "--") == 0) {
            only_files = true;
        } else if (!only_files && argv[i][0] == '-' && argv[i][1]) {
            enum lap_status status = parse_option(argc, argv, &i, out, out_action);
            if (status != LAP_OK)
                return status;
        } else if (out->file) {
            return lap_fail(LAP_ERROR_ARGUMENT, "one trace at a time: %s and %s", out->file, argv[i]);
        } else {
            out->file = argv[i];
        }
    }
    if (out->window_system && out->present == REPLAY_PRESENT_AUTO)
        out->present = REPLAY_PRESENT_WINDOW;
    if (out->window_system && out->present != REPLAY_PRESENT_WINDOW)
        return lap_fail(LAP_ERROR_ARGUMENT, "--window-system is for --present window");
    if (out->blackhole && (out->verify || out->hashes_file || out->screenshots.count || out->screenshot_of_last ||
                           out->present == REPLAY_PRESENT_WINDOW))
        return lap_fail(LAP_ERROR_ARGUMENT,
                        "with --blackhole nothing is drawn that could be compared, shown or written");
    if (out->blackhole && out->present == REPLAY_PRESENT_AUTO)
        out->present = REPLAY_PRESENT_HEADLESS;
    if (!out->measure && (out->first_measured || out->warm_up))
        return lap_fail(LAP_ERROR_ARGUMENT, "--frames and --warm-up are for --measure");
    if (out->preload)
        out->ahead_bytes = preload_bytes();
    if (out->json && *out_action == REPLAY_ACTION_PLAY && !out->validate && !out->pictures.folder &&
        !out->texel.wanted && !out->debug.wish.at.count && !out->mesh.wish.at.count)
        return lap_fail(LAP_ERROR_ARGUMENT,
                        "--json is for --check, --list-gpus, --validate, --pictures, --pixel, --debug and --mesh");
    if (out->progress_fd && *out_action == REPLAY_ACTION_CHECK)
        return lap_fail(LAP_ERROR_ARGUMENT, "--progress is for a replay");
    if (out->has_tolerance && !out->verify)
        return lap_fail(LAP_ERROR_ARGUMENT, "--tolerance is for --verify");
    if (out->ignored_file && !out->verify)
        return lap_fail(LAP_ERROR_ARGUMENT, "--ignore-checks is for --verify");
    if (*out_action != REPLAY_ACTION_PLAY && (out->hashes_file || out->report_file))
        return lap_fail(LAP_ERROR_ARGUMENT, "--hashes and --report are for a replay");
    if (out->wait && out->report_file)
        return lap_fail(LAP_ERROR_ARGUMENT, "--report is for a replay that does not wait");
    if (out->dump_dir && !out->verify)
        return lap_fail(LAP_ERROR_ARGUMENT, "--dump-checks is for --verify");
    if (!out->read_list != !out->read_to || (out->read_list && !out->stop_at))
        return lap_fail(LAP_ERROR_ARGUMENT, "--stop-at, --read and --read-to belong together");
    if (out->stop_at && (out->blackhole || out->listen || *out_action == REPLAY_ACTION_CHECK))
        return lap_fail(LAP_ERROR_ARGUMENT, "--stop-at is for a replay of a file");
    if ((out->pictures.folder || out->texel.wanted || out->profile.wish.first_frame || out->debug.wish.at.count ||
         out->mesh.wish.at.count) &&
        out->present == REPLAY_PRESENT_AUTO)
        out->present = REPLAY_PRESENT_HEADLESS;
    if (check_pictures(out, *out_action) != LAP_OK || replay_check_texel(out, *out_action) != LAP_OK ||
        replay_check_profile(out, *out_action) != LAP_OK || replay_check_debug(out, *out_action) != LAP_OK ||
        replay_check_overdraw(out, *out_action) != LAP_OK || replay_check_mesh(out, *out_action) != LAP_OK ||
        check_validation(out, *out_action) != LAP_OK)
        return LAP_ERROR_ARGUMENT;
    if (out->listen && (out->file || *out_action == REPLAY_ACTION_CHECK))
        return lap_fail(LAP_ERROR_ARGUMENT, "--listen is for a replay, and instead of a file");
    if (out->token_file && !out->listen && !out->on)
        return lap_fail(LAP_ERROR_ARGUMENT, "--token-file is for --listen and --on");
    if (out->on && (out->listen || *out_action != REPLAY_ACTION_PLAY))
        return lap_fail(LAP_ERROR_ARGUMENT, "--on is for a replay of a file");
    if ((*out_action == REPLAY_ACTION_PLAY || *out_action == REPLAY_ACTION_CHECK) && !out->file && !out->listen)
        return lap_fail(LAP_ERROR_ARGUMENT, "no trace is named; --help shows the usage");
    return LAP_OK;
}

enum lap_status replay_options_parse(int argc, char **argv, struct replay_options *out, enum replay_action *out_action)
{
    enum lap_status status = parse(argc, argv, out, out_action);

    if (status != LAP_OK)
        replay_options_finish(out);
    return status;
}

enum lap_status replay_options_ask(int argc, char **argv, struct replay_options *options)
{
    enum replay_action action = REPLAY_ACTION_PLAY;

    if (!options->pictures.folder)
        return argc ? lap_fail(LAP_ERROR_ARGUMENT, "a replay without --pictures can't be asked for %s", argv[0])
                    : LAP_OK;
    for (int i = 0; i < argc; i++) {
        enum lap_status status;
        const struct row *row = argv[i][0] == '-' ? find_option(argv[i]) : NULL;
        if (!row || !row->asked)
            return lap_fail(LAP_ERROR_ARGUMENT, "a replay that waits can't be asked for %s", argv[i]);
        status = parse_option(argc, argv, &i, options, &action);
        if (status != LAP_OK)
            return status;
    }
    if (!!options->pictures.after.count + !!options->pictures.each.at.count + options->texel.wanted +
            !!options->debug.wish.at.count + !!options->overdraw.wish.at.count + !!options->mesh.wish.at.count !=
        1)
        return lap_fail(LAP_ERROR_ARGUMENT,
                        "a replay that waits wants --after, or else --each, --overdraw, --pixel, --debug or --mesh");
    if (check_pictures(options, action) != LAP_OK || replay_check_texel(options, action) != LAP_OK)
        return LAP_ERROR_ARGUMENT;
    if (replay_check_overdraw(options, action) != LAP_OK || replay_check_mesh(options, action) != LAP_OK)
        return LAP_ERROR_ARGUMENT;
    return replay_check_debug(options, action);
}

void replay_options_finish(struct replay_options *options)
{
    lap_frames_finish(&options->screenshots);
    edit_experiments_finish(&options->experiments);
}

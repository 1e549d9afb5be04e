/* SPDX-License-Identifier: MIT */
#include "tools/show/image_at.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file/new_file.h"
#include "base/file/png.h"
#include "gen_ids.h"
#include "inspector/memory/memory_state.h"
#include "tools/common/calls.h"
#include "tools/common/sandboxed_work.h"
#include "tools/common/tool.h"
#include "tools/show/memory_print.h"
#include "tools/show/moment.h"
#include "tools/show/text.h"

#define MOST_ORIGINS 12u

struct view {
    const char *program;
    const struct lap_image_at *options;
    struct memory_state *state;
    struct memory_answer parts;
    char at[POSITION_TEXT_BYTES];
    uint64_t index, ticket;
    VkImageAspectFlags aspect;
    const VkImageCreateInfo *info;
    struct lap_texels texels;
    uint8_t *bytes;       /* of the slice */
    uint64_t slice_bytes; /* of one slice */
    struct lap_picture picture;
    /* The parts with equal origins together. */
    struct origin {
        const struct memory_part *part;
        uint64_t bytes;
    } origins[MOST_ORIGINS];
    size_t origin_count;
    uint64_t other_bytes; /* of origins that found no place */
    uint64_t known_bytes;
};

static const struct {
    const char *name;
    VkImageAspectFlags aspect;
} aspects[] = {{"color", VK_IMAGE_ASPECT_COLOR_BIT},     {"depth", VK_IMAGE_ASPECT_DEPTH_BIT},
               {"stencil", VK_IMAGE_ASPECT_STENCIL_BIT}, {"plane0", VK_IMAGE_ASPECT_PLANE_0_BIT},
               {"plane1", VK_IMAGE_ASPECT_PLANE_1_BIT},  {"plane2", VK_IMAGE_ASPECT_PLANE_2_BIT}};

bool lap_image_at_aspect(const char *text, VkImageAspectFlags *out)
{
    for (size_t i = 0; i < sizeof aspects / sizeof *aspects; i++)
        if (strcmp(text, aspects[i].name) == 0) {
            *out = aspects[i].aspect;
            return true;
        }
    return false;
}

static const char *aspect_name(VkImageAspectFlags aspect)
{
    for (size_t i = 0; i < sizeof aspects / sizeof *aspects; i++)
        if (aspects[i].aspect == aspect)
            return aspects[i].name;
    return "";
}

/* ---- what is asked for ---- */

static enum lap_status choose_aspect(struct view *view)
{
    struct lap_texel_block block;

    view->aspect = view->options->aspect;
    for (size_t i = 0; !view->aspect && i < sizeof aspects / sizeof *aspects; i++)
        if (lap_texels_block(view->info->format, aspects[i].aspect, &block))
            view->aspect = aspects[i].aspect;
    if (view->aspect && lap_texels_block(view->info->format, view->aspect, &block))
        return LAP_OK;
    if (!view->options->aspect)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "VkImage:%" PRIu64 " has a format that is not known", view->index);
    return lap_fail(LAP_ERROR_ARGUMENT, "VkImage:%" PRIu64 " has no %s: its format is %s", view->index,
                    aspect_name(view->aspect), lap_text_named("VkFormat", view->info->format));
}

static enum lap_status choose(struct view *view)
{
    const struct lap_image_at *options = view->options;
    uint32_t depth;
    enum lap_status status = choose_aspect(view);

    if (status != LAP_OK)
        return status;
    if (options->level >= view->info->mipLevels || options->layer >= view->info->arrayLayers)
        return lap_fail(LAP_ERROR_ARGUMENT, "VkImage:%" PRIu64 " has %" PRIu32 " levels and %" PRIu32 " layers",
                        view->index, view->info->mipLevels, view->info->arrayLayers);
    if (view->info->samples != VK_SAMPLE_COUNT_1_BIT)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "VkImage:%" PRIu64 " has several samples, which no copy writes",
                        view->index);
    if (!memory_image_texels(view->state, view->index, view->aspect, options->level, options->layer, &view->texels))
        return lap_fail(LAP_ERROR_UNSUPPORTED, "the texels of VkImage:%" PRIu64 " are not known by their places",
                        view->index);
    depth = view->texels.extent.depth;
    if (options->slice >= depth)
        return lap_fail(LAP_ERROR_ARGUMENT, "level %" PRIu32 " of VkImage:%" PRIu64 " has %" PRIu32 " slice%s",
                        options->level, view->index, depth, depth == 1 ? "" : "s");
    view->slice_bytes = view->texels.row_bytes * (view->texels.rows / depth);
    return LAP_OK;
}

/* Adds the part of [begin, end) that lies in the slice. */
static void gather(struct view *view, const struct memory_part *part)
{
    uint64_t first = view->slice_bytes * view->options->slice, end = first + view->slice_bytes;
    uint64_t from = part->begin > first ? part->begin : first, to = part->end < end ? part->end : end, bytes;

    if (from >= to)
        return;
    bytes = to - from;
    if (part->known == MEMORY_KNOWN || part->known == MEMORY_NOBODY)
        view->known_bytes += part->known == MEMORY_KNOWN ? bytes : 0;
    for (size_t i = 0; i < view->origin_count; i++)
        if (view->origins[i].part->by == part->by && view->origins[i].part->copy == part->copy &&
            view->origins[i].part->known == part->known) {
            view->origins[i].bytes += bytes;
            return;
        }
    if (view->origin_count < MOST_ORIGINS)
        view->origins[view->origin_count++] = (struct origin){part, bytes};
    else
        view->other_bytes += bytes;
}

static enum lap_status read_texels(struct view *view)
{
    const struct lap_image_at *options = view->options;
    uint64_t bytes = memory_image_bytes(view->state, view->index, view->aspect, options->level, options->layer);
    enum lap_status status;

    view->bytes = malloc(bytes);
    if (!view->bytes)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for %" PRIu64 " bytes of texels", bytes);
    status = memory_of_image(view->state, view->index, view->aspect, options->level, options->layer, view->bytes,
                             &view->parts);
    for (size_t i = 0; i < view->parts.count && status == LAP_OK; i++)
        gather(view, &view->parts.parts[i]);
    lap_texels_clean(view->info->format, view->aspect, view->bytes, bytes);
    return status;
}

/* ---- output ---- */

static double share(const struct view *view, uint64_t bytes)
{
    return 100.0 * (double)bytes / (double)view->slice_bytes;
}

static void put_range(const struct lap_picture *picture)
{
    char black[LAP_TEXT_NUMBER_MAX], white[LAP_TEXT_NUMBER_MAX];

    if (!picture->has_range)
        return;
    lap_text_float(picture->black, 4, black);
    lap_text_float(picture->white, 4, white);
    printf("  %s (black) to %s (white)", black, white);
}

static void put_text(const struct view *view)
{
    const struct lap_image_at *options = view->options;

    printf("%s  VkImage:%" PRIu64 "  level %" PRIu32 " layer %" PRIu32, options->output, view->index, options->level,
           options->layer);
    if (view->texels.extent.depth > 1)
        printf(" slice %" PRIu32, options->slice);
    printf("  %" PRIu32 " x %" PRIu32 "  %s", view->texels.extent.width, view->texels.extent.height,
           lap_text_named("VkFormat", view->info->format));
    if (view->aspect != VK_IMAGE_ASPECT_COLOR_BIT)
        printf(" %s", aspect_name(view->aspect));
    if (!options->raw)
        put_range(&view->picture);
    putchar('\n');
    for (size_t i = 0; i < view->origin_count; i++) {
        printf("  %5.1f %%  ", share(view, view->origins[i].bytes));
        lap_memory_put_origin(stdout, view->origins[i].part, view->parts.not_followed);
        putchar('\n');
    }
    if (view->other_bytes)
        printf("  %5.1f %%  others\n", share(view, view->other_bytes));
}

static void put_json(const struct view *view)
{
    const struct lap_image_at *options = view->options;

    printf("{\"at\": \"%s\", \"file\": ", view->at);
    lap_text_put_json(stdout, options->output);
    printf(", \"image\": \"VkImage:%" PRIu64 "\", \"level\": %" PRIu32 ", \"layer\": %" PRIu32 ", \"slice\": %" PRIu32
           ", \"aspect\": \"%s\", \"format\": ",
           view->index, options->level, options->layer, options->slice, aspect_name(view->aspect));
    lap_text_put_json(stdout, lap_text_named("VkFormat", view->info->format));
    printf(", \"width\": %" PRIu32 ", \"height\": %" PRIu32 ", \"range\": ", view->texels.extent.width,
           view->texels.extent.height);
    if (!options->raw && view->picture.has_range)
        printf("[%.9g, %.9g]", view->picture.black, view->picture.white);
    else
        fputs("null", stdout);
    fputs(", \"parts\": [", stdout);
    for (size_t i = 0; i < view->origin_count; i++) {
        printf("%s{\"bytes\": %" PRIu64 ", ", i ? ", " : "", view->origins[i].bytes);
        lap_memory_put_json(stdout, view->origins[i].part);
        putchar('}');
    }
    printf("], \"others\": %" PRIu64 "}\n", view->other_bytes);
}

static enum lap_status write_picture(struct view *view)
{
    const struct lap_image_at *options = view->options;
    const uint8_t *slice = view->bytes + view->slice_bytes * options->slice;
    FILE *file = fdopen(dup(options->fd), "wb");
    enum lap_status status = LAP_OK;

    if (!file)
        return lap_fail(LAP_ERROR_IO, "%s: %s", options->output, strerror(errno));
    if (options->raw) {
        if (fwrite(slice, 1, view->slice_bytes, file) != view->slice_bytes)
            status = lap_fail(LAP_ERROR_IO, "%s: %s", options->output, strerror(errno));
    } else {
        status = lap_png_write_rows_to(file, options->output, view->picture.kind, view->texels.extent.width,
                                       view->texels.extent.height, lap_picture_row, &view->picture);
    }
    if (fclose(file) != 0 && status == LAP_OK)
        status = lap_fail(LAP_ERROR_IO, "%s: %s", options->output, strerror(errno));
    return status;
}

/* Why there is no picture: what drew it, or why the image is not followed. */
static enum lap_status nothing_known(const struct view *view)
{
    const struct memory_part *part = view->origin_count ? view->origins[0].part : NULL;
    char text[POSITION_TEXT_BYTES];

    for (size_t i = 0; i < view->origin_count; i++)
        if (view->origins[i].part->known == MEMORY_BY_DEVICE)
            part = view->origins[i].part;
    if (view->parts.not_followed)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "VkImage:%" PRIu64 " is not known from the trace: %s", view->index,
                        view->parts.not_followed);
    if (part && part->known == MEMORY_BY_DEVICE && part->by->position.count) {
        const char *name = gen_command_names[part->by->command];
        position_text(&part->by->position, text);
        if (strncmp(name, "vkCmdDraw", 9) == 0)
            return lap_fail(LAP_ERROR_UNSUPPORTED,
                            "VkImage:%" PRIu64
                            " is written by %s %s: only a replay knows it (lapilli image --after %s)",
                            view->index, text, name, text);
        return lap_fail(LAP_ERROR_UNSUPPORTED, "VkImage:%" PRIu64 " is written by %s %s: only a replay knows it",
                        view->index, text, name);
    }
    if (part && part->by && part->by->kind == MEMORY_IMAGE)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "VkImage:%" PRIu64 " lost its texels to others in its memory",
                        view->index);
    return lap_fail(LAP_ERROR_UNSUPPORTED, "nothing was written into this part of VkImage:%" PRIu64 " up to %s",
                    view->index, view->at);
}

static enum lap_status show(struct view *view)
{
    const struct lap_image_at *options = view->options;
    enum lap_status status = choose(view);

    if (status == LAP_OK)
        status = read_texels(view);
    if (status == LAP_OK && !view->known_bytes)
        status = nothing_known(view);
    if (status == LAP_OK && !options->raw) {
        const VkFormat plane = lap_texels_plane_format(view->info->format, view->aspect);
        status = lap_picture_plan(plane ? plane : view->info->format, plane ? VK_IMAGE_ASPECT_COLOR_BIT : view->aspect,
                                  &options->how, view->bytes + view->slice_bytes * options->slice,
                                  view->texels.extent.width, view->texels.extent.height, &view->picture);
        if (status == LAP_ERROR_UNSUPPORTED)
            status = lap_fail(status, "VkImage:%" PRIu64 " has no picture: %s; --raw writes its bytes", view->index,
                              lap_error_message());
    }
    if (status == LAP_OK)
        status = write_picture(view);
    if (status == LAP_OK && options->json)
        put_json(view);
    else if (status == LAP_OK)
        put_text(view);
    free(view->bytes);
    memory_answer_finish(&view->parts);
    return status;
}

/* ---- the work ---- */

static enum lap_status find_and_show(struct view *view, const struct lap_reader *trace)
{
    enum lap_status status = lap_memory_find(trace, &view->options->at, &view->ticket, view->at, &view->state), shown;

    if (!view->state)
        return status;
    view->info = memory_image_info(view->state, view->index);
    if (!view->info) {
        shown = lap_object_lives(trace, view->ticket, view->at, GEN_HANDLE_VkImage, view->index);
        if (shown == LAP_OK)
            shown = lap_fail(LAP_ERROR_UNSUPPORTED,
                             "VkImage:%" PRIu64 " belongs to a swapchain: only a replay knows it (lapilli image "
                             "--after)",
                             view->index);
    } else {
        shown = show(view);
    }
    memory_state_free(&view->state);
    return shown == LAP_OK ? status : shown;
}

struct job {
    const char *program;
    const struct lap_image_at *options;
    uint64_t index;
};

static int work(void *argument)
{
    const struct job *job = argument;
    struct view view = {.program = job->program, .options = job->options, .index = job->index};
    struct lap_reader *trace;
    enum lap_status status = lap_reader_open(job->options->path, NULL, &trace);
    int code;

    if (status != LAP_OK)
        return lap_calls_report_open(job->program, job->options->path, status);
    status = find_and_show(&view, trace);
    code = lap_tool_end_output(job->program, LAP_TOOL_OK);
    if (code == LAP_TOOL_OK && status == LAP_ERROR_UNSUPPORTED) {
        fprintf(stderr, "%s: %s\n", job->program, lap_error_message());
        code = LAP_TOOL_UNSUPPORTED;
    } else if (code == LAP_TOOL_OK && status == LAP_ERROR_IO && view.bytes) {
        fprintf(stderr, "%s: %s\n", job->program, lap_error_message());
        code = LAP_TOOL_FAILED;
    } else if (code == LAP_TOOL_OK) {
        code = lap_calls_report_end(job->program, job->options->path, trace, status);
    }
    lap_reader_close(&trace);
    return code;
}

int lap_image_at_run(const char *program, struct lap_image_at *options)
{
    struct job job = {.program = program, .options = options};
    char name[LAP_OBJECT_NAME_MAX];
    uint32_t type;
    int code;

    if (lap_object_parse(options->object, &type, &job.index, name) != LAP_OK || type != GEN_HANDLE_VkImage) {
        fprintf(stderr, "%s: '%.80s' is no image: it is named VkImage:NUMBER\n", program, options->object);
        return LAP_TOOL_USAGE;
    }
    options->fd = lap_new_file(options->output);
    if (options->fd < 0) {
        fprintf(stderr, "%s: %s can't be written: %s\n", program, options->output, strerror(errno));
        return LAP_TOOL_FAILED;
    }
    code = lap_sandboxed_work(program, LAP_SANDBOX_WISH_AUTO, work, &job);
    if (code != LAP_TOOL_OK && code != LAP_TOOL_INCOMPLETE)
        lap_tool_remove_output(options->fd, options->output);
    close(options->fd);
    return code;
}

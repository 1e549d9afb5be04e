/* SPDX-License-Identifier: MIT */
/* Options for what a replay prints of a place: the history of a texel, times, values of a shader, counts of fragments,
 * vertices. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/options_internal.h"

/* "400,300" */
enum lap_status replay_take_pixel(const struct row *row, const char *value, struct replay_options *out)
{
    struct texel_wish *wish = &out->texel.wish;
    int end = 0;

    out->texel.wanted = strspn(value, "0123456789,") == strlen(value) && strlen(value) < 20 &&
                        sscanf(value, "%" SCNu32 ",%" SCNu32 "%n", &wish->x, &wish->y, &end) == 2 && !value[end];
    return out->texel.wanted ? LAP_OK : lap_fail(LAP_ERROR_ARGUMENT, "%s wants X,Y, not \"%s\"", row->name, value);
}

enum lap_status replay_take_pixel_at(const struct row *row, const char *value, struct replay_options *out)
{
    enum lap_status status = position_parse(value, &out->texel.wish.at);
    return status == LAP_OK ? status : lap_fail_context(status, "%s", row->name);
}

/* "VkImage:7", or with a level, and a layer. */
static enum lap_status take_image(const struct row *row, const char *value, uint64_t *image, uint32_t *level,
                                  uint32_t *layer)
{
    const char *numbers = value + strlen("VkImage:");
    int end = 0;

    *level = *layer = 0;
    if (strncmp(value, "VkImage:", strlen("VkImage:")) != 0 || strspn(numbers, "0123456789,") != strlen(numbers) ||
        strlen(numbers) > 40 ||
        sscanf(numbers, "%" SCNu64 "%n,%" SCNu32 "%n,%" SCNu32 "%n", image, &end, level, &end, layer, &end) < 1 ||
        numbers[end] || !*image)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s wants VkImage:N, perhaps with ,LEVEL or ,LEVEL,LAYER, not \"%s\"",
                        row->name, value);
    return LAP_OK;
}

enum lap_status replay_take_target(const struct row *row, const char *value, struct replay_options *out)
{
    struct texel_wish *wish = &out->texel.wish;

    return take_image(row, value, &wish->image, &wish->level, &wish->layer);
}

enum lap_status replay_take_image(const struct row *row, const char *value, struct replay_options *out)
{
    struct after_wish *wish = &out->pictures.wish;

    wish->kind = AFTER_IMAGE;
    return take_image(row, value, &wish->index, &wish->level, &wish->layer);
}

/* "VkBuffer:7", or with an offset, and a size. */
enum lap_status replay_take_buffer(const struct row *row, const char *value, struct replay_options *out)
{
    struct after_wish *wish = &out->pictures.wish;
    const char *numbers = value + strlen("VkBuffer:");
    int end = 0;

    wish->kind = AFTER_BUFFER;
    if (strncmp(value, "VkBuffer:", strlen("VkBuffer:")) != 0 || strspn(numbers, "0123456789,") != strlen(numbers) ||
        strlen(numbers) > 60 ||
        sscanf(numbers, "%" SCNu64 "%n,%" SCNu64 "%n,%" SCNu64 "%n", &wish->index, &end, &wish->offset, &end,
               &wish->bytes, &end) < 1 ||
        numbers[end] || !wish->index)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s wants VkBuffer:N, perhaps with ,OFFSET or ,OFFSET,SIZE, not \"%s\"",
                        row->name, value);
    return LAP_OK;
}

enum lap_status replay_take_image_aspect(const struct row *row, const char *value, struct replay_options *out)
{
    static const struct {
        const char *name;
        VkImageAspectFlagBits aspect;
    } aspects[] = {{"color", VK_IMAGE_ASPECT_COLOR_BIT},     {"depth", VK_IMAGE_ASPECT_DEPTH_BIT},
                   {"stencil", VK_IMAGE_ASPECT_STENCIL_BIT}, {"plane0", VK_IMAGE_ASPECT_PLANE_0_BIT},
                   {"plane1", VK_IMAGE_ASPECT_PLANE_1_BIT},  {"plane2", VK_IMAGE_ASPECT_PLANE_2_BIT}};

    for (size_t i = 0; i < sizeof aspects / sizeof *aspects; i++)
        if (strcmp(value, aspects[i].name) == 0) {
            out->pictures.wish.aspect = aspects[i].aspect;
            return LAP_OK;
        }
    return lap_fail(LAP_ERROR_ARGUMENT, "%s wants color, depth, stencil, plane0, plane1 or plane2, not \"%s\"",
                    row->name, value);
}

enum lap_status replay_take_aspect(const struct row *row, const char *value, struct replay_options *out)
{
    out->texel.wish.aspect = strcmp(value, "color") == 0     ? VK_IMAGE_ASPECT_COLOR_BIT
                             : strcmp(value, "depth") == 0   ? VK_IMAGE_ASPECT_DEPTH_BIT
                             : strcmp(value, "stencil") == 0 ? VK_IMAGE_ASPECT_STENCIL_BIT
                                                             : 0;
    return out->texel.wish.aspect
               ? LAP_OK
               : lap_fail(LAP_ERROR_ARGUMENT, "%s wants color, depth or stencil, not \"%s\"", row->name, value);
}

/* "50", "50-59" or "all". */
enum lap_status replay_take_profile(const struct row *row, const char *value, struct replay_options *out)
{
    struct stamps_wish *wish = &out->profile.wish;
    int end = 0, end_of_two = 0;

    if (strcmp(value, "all") == 0) {
        wish->first_frame = 1;
        wish->last_frame = UINT64_MAX;
        return LAP_OK;
    }
    if (strspn(value, "0123456789-") == strlen(value) && strlen(value) < 36 && value[0] != '-' &&
        sscanf(value, "%" SCNu64 "%n-%" SCNu64 "%n", &wish->first_frame, &end, &wish->last_frame, &end_of_two) >= 1) {
        if (!value[end])
            wish->last_frame = wish->first_frame;
        if ((!value[end] || (end_of_two && !value[end_of_two])) && wish->first_frame &&
            wish->first_frame <= wish->last_frame)
            return LAP_OK;
    }
    return lap_fail(LAP_ERROR_ARGUMENT, "%s wants frames: N, A-B or all, not \"%s\"", row->name, value);
}

enum lap_status replay_check_profile(const struct replay_options *options, enum replay_action action)
{
    const struct stamps_wish *wish = &options->profile.wish;
    const struct edit_experiments *e = &options->experiments;

    if (!wish->first_frame && (wish->draws || wish->statistics))
        return lap_fail(LAP_ERROR_ARGUMENT, "--profile-draws and --profile-statistics are for --profile");
    if (!wish->first_frame)
        return LAP_OK;
    if (options->pictures.folder || options->texel.wanted || options->wait || options->listen || options->blackhole ||
        options->stop_at || options->list_objects || action == REPLAY_ACTION_CHECK ||
        (options->last_frame && wish->last_frame != UINT64_MAX && options->last_frame < wish->last_frame))
        return lap_fail(LAP_ERROR_ARGUMENT, "--profile is for a replay of a file, alone");
    if (options->json && options->validate)
        return lap_fail(LAP_ERROR_ARGUMENT, "--json is for --profile or for --validate, not for both");
    if (e->skip.count || e->only.count || e->has_most_draws)
        return lap_fail(LAP_ERROR_ARGUMENT, "--profile times all work: without --skip, --only and --at-most-draws");
    return LAP_OK;
}

enum lap_status replay_check_texel(const struct replay_options *options, enum replay_action action)
{
    const struct replay_texel *texel = &options->texel;
    const struct replay_pictures *pictures = &options->pictures;

    if (!texel->wanted &&
        (texel->wish.at.count || texel->wish.image || texel->wish.aspect || texel->all || texel->wish.fragments))
        return lap_fail(LAP_ERROR_ARGUMENT, "--pixel-at, --target, --aspect, --all and --fragments are for --pixel");
    if (!texel->wanted)
        return LAP_OK;
    if (!texel->wish.at.count)
        return lap_fail(LAP_ERROR_ARGUMENT, "--pixel wants --pixel-at");
    if ((pictures->folder && !options->wait) || pictures->after.count || pictures->each.at.count || pictures->names ||
        options->listen || options->verify || options->hashes_file || options->blackhole || options->measure ||
        options->stop_at || options->list_objects || action == REPLAY_ACTION_CHECK)
        return lap_fail(LAP_ERROR_ARGUMENT, "--pixel is for a replay of a file, alone");
    if (options->experiments.skip.count || options->experiments.only.count || options->experiments.has_most_draws)
        return lap_fail(LAP_ERROR_ARGUMENT, "--pixel is for all draws: without --skip, --only and --at-most-draws");
    if (options->json && options->validate)
        return lap_fail(LAP_ERROR_ARGUMENT, "--json is for --pixel or for --validate, not for both");
    return LAP_OK;
}

/* ---- --debug ---- */

enum lap_status replay_take_debug(const struct row *row, const char *value, struct replay_options *out)
{
    enum lap_status status = position_parse(value, &out->debug.wish.at);

    return status == LAP_OK ? status : lap_fail_context(status, "%s", row->name);
}

/* "400,300": the numbers, as many as `most`. */
static bool take_numbers(const char *value, uint32_t *out, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned long number;
        char *end;
        if (*value < '0' || *value > '9')
            return false;
        number = strtoul(value, &end, 10);
        if (number > UINT32_MAX || *end != (i + 1 < count ? ',' : 0))
            return false;
        out[i] = (uint32_t)number;
        value = end + 1;
    }
    return true;
}

enum lap_status replay_take_invocation(const struct row *row, const char *value, struct replay_options *out)
{
    static const struct {
        const char *name, *wants;
        VkShaderStageFlagBits stage;
        unsigned first, count;
    } kinds[] = {{"--texel", "X,Y", VK_SHADER_STAGE_FRAGMENT_BIT, 0, 2},
                 {"--vertex", "N", VK_SHADER_STAGE_VERTEX_BIT, 0, 1},
                 {"--invocation", "X,Y,Z", VK_SHADER_STAGE_COMPUTE_BIT, 0, 3},
                 {"--instance", "N", 0, 1, 1}};
    struct values_wish *wish = &out->debug.wish;
    unsigned kind = 0;

    while (strcmp(kinds[kind].name, row->name) != 0)
        kind++;
    if (!take_numbers(value, &wish->invocation[kinds[kind].first], kinds[kind].count))
        return lap_fail(LAP_ERROR_ARGUMENT, "%s wants %s, not \"%s\"", row->name, kinds[kind].wants, value);
    if (!kinds[kind].stage) {
        wish->has_instance = true;
        return LAP_OK;
    }
    if (wish->stage && wish->stage != kinds[kind].stage)
        return lap_fail(LAP_ERROR_ARGUMENT, "--debug wants one of --texel, --vertex and --invocation");
    wish->stage = kinds[kind].stage;
    return LAP_OK;
}

enum lap_status replay_check_debug(const struct replay_options *options, enum replay_action action)
{
    const struct values_wish *wish = &options->debug.wish;
    const struct edit_experiments *e = &options->experiments;

    if (!wish->at.count)
        return wish->stage || wish->has_instance || options->debug.name || options->debug.all
                   ? lap_fail(LAP_ERROR_ARGUMENT,
                              "--texel, --vertex, --instance, --invocation, --name and --all-fragments are for --debug")
                   : LAP_OK;
    if (!wish->stage)
        return lap_fail(LAP_ERROR_ARGUMENT, "--debug wants --texel, --vertex or --invocation");
    if (wish->has_instance && wish->stage != VK_SHADER_STAGE_VERTEX_BIT)
        return lap_fail(LAP_ERROR_ARGUMENT, "--instance is for --vertex");
    if ((options->pictures.folder && !options->wait && !options->pictures.after.count) ||
        options->pictures.each.at.count || options->pictures.names || options->texel.wanted ||
        options->profile.wish.first_frame || options->listen || options->verify || options->hashes_file ||
        options->blackhole || options->measure || options->stop_at || options->list_objects ||
        action == REPLAY_ACTION_CHECK)
        return lap_fail(LAP_ERROR_ARGUMENT, "--debug is for a replay of a file, alone");
    if (e->skip.count || e->only.count || e->has_most_draws)
        return lap_fail(LAP_ERROR_ARGUMENT, "--debug counts all commands: without --skip, --only and --at-most-draws");
    if (options->json && options->validate)
        return lap_fail(LAP_ERROR_ARGUMENT, "--json is for --debug or for --validate, not for both");
    return LAP_OK;
}

/* ---- --overdraw ---- */

enum lap_status replay_take_overdraw(const struct row *row, const char *value, struct replay_options *out)
{
    enum lap_status status = position_parse(value, &out->overdraw.wish.at);

    return status == LAP_OK ? status : lap_fail_context(status, "%s", row->name);
}

enum lap_status replay_check_overdraw(const struct replay_options *options, enum replay_action action)
{
    const struct overdraw_wish *wish = &options->overdraw.wish;
    const struct replay_pictures *pictures = &options->pictures;
    const struct edit_experiments *e = &options->experiments;

    (void)action;
    if (!wish->at.count)
        return wish->rasterized ? lap_fail(LAP_ERROR_ARGUMENT, "--rasterized is for --overdraw") : LAP_OK;
    if (!pictures->folder)
        return lap_fail(LAP_ERROR_ARGUMENT, "--overdraw wants --pictures");
    if (pictures->names || pictures->how.has_range || pictures->how.channels || options->texel.wanted ||
        options->debug.wish.at.count || options->profile.wish.first_frame || options->stop_at)
        return lap_fail(LAP_ERROR_ARGUMENT, "--overdraw is for counts alone: without --targets, --range, --channels, "
                                            "--pixel, --debug, --profile and --stop-at");
    if (e->skip.count || e->only.count || e->has_most_draws)
        return lap_fail(LAP_ERROR_ARGUMENT, "--overdraw counts all draws: without --skip, --only and --at-most-draws");
    return LAP_OK;
}

/* ---- --mesh ---- */

enum lap_status replay_take_mesh(const struct row *row, const char *value, struct replay_options *out)
{
    enum lap_status status = position_parse(value, &out->mesh.wish.at);

    return status == LAP_OK ? status : lap_fail_context(status, "%s", row->name);
}

enum lap_status replay_take_mesh_word(const struct row *row, const char *value, struct replay_options *out)
{
    const bool is_side = strcmp(row->name, "--mesh-side") == 0;

    if (is_side && (strcmp(value, "in") == 0 || strcmp(value, "out") == 0))
        out->mesh.wish.sides = value[0] == 'i' ? MESH_IN : MESH_OUT;
    else if (!is_side && strcmp(value, "text") == 0)
        out->mesh.as = REPLAY_MESH_TEXT;
    else if (!is_side && strcmp(value, "csv") == 0)
        out->mesh.as = REPLAY_MESH_CSV;
    else if (!is_side && strcmp(value, "obj") == 0)
        out->mesh.as = REPLAY_MESH_OBJ;
    else
        return lap_fail(LAP_ERROR_ARGUMENT, "%s wants %s, not \"%s\"", row->name,
                        is_side ? "in or out" : "text, csv or obj", value);
    return LAP_OK;
}

enum lap_status replay_take_mesh_number(const struct row *row, const char *value, struct replay_options *out)
{
    const bool is_draw = strcmp(row->name, "--mesh-draw") == 0;

    if (!take_numbers(value, is_draw ? &out->mesh.wish.draw : &out->mesh.wish.instance, 1))
        return lap_fail(LAP_ERROR_ARGUMENT, "%s wants a number, not \"%s\"", row->name, value);
    out->mesh.wish.has_instance |= !is_draw;
    return LAP_OK;
}

/* "50", "50-59" or "50-". */
enum lap_status replay_take_mesh_rows(const struct row *row, const char *value, struct replay_options *out)
{
    const char *dash = strchr(value, '-');
    char first[16];

    snprintf(first, sizeof first, "%.*s", dash ? (int)(dash - value < 15 ? dash - value : 15) : 15, value);
    out->mesh.last = UINT32_MAX;
    if (!take_numbers(first, &out->mesh.first, 1) || (dash && dash[1] && !take_numbers(dash + 1, &out->mesh.last, 1)) ||
        out->mesh.first > out->mesh.last)
        return lap_fail(LAP_ERROR_ARGUMENT, "%s wants rows: N, A-B or A-, not \"%s\"", row->name, value);
    if (!dash)
        out->mesh.last = out->mesh.first;
    return LAP_OK;
}

enum lap_status replay_check_mesh(const struct replay_options *options, enum replay_action action)
{
    const struct replay_mesh *mesh = &options->mesh;
    const struct edit_experiments *e = &options->experiments;
    const bool is_obj = mesh->as == REPLAY_MESH_OBJ && !options->json;

    if (!mesh->wish.at.count)
        return mesh->wish.sides || mesh->wish.draw || mesh->wish.has_instance || mesh->as || mesh->clips ||
                       mesh->position || mesh->first || mesh->last != UINT32_MAX
                   ? lap_fail(LAP_ERROR_ARGUMENT, "--mesh-side and the like are for --mesh")
                   : LAP_OK;
    if ((mesh->clips || mesh->position) && !is_obj)
        return lap_fail(LAP_ERROR_ARGUMENT, "--mesh-clip and --mesh-position are for --mesh-as=obj");
    if (is_obj && (mesh->first || mesh->last != UINT32_MAX))
        return lap_fail(LAP_ERROR_ARGUMENT, "--mesh-rows is not for --mesh-as=obj, which has all");
    if ((options->pictures.folder && !options->wait) || options->pictures.after.count ||
        options->pictures.each.at.count || options->pictures.names || options->texel.wanted ||
        options->debug.wish.at.count || options->overdraw.wish.at.count || options->profile.wish.first_frame ||
        options->listen || options->verify || options->hashes_file || options->blackhole || options->measure ||
        options->stop_at || options->list_objects || action == REPLAY_ACTION_CHECK)
        return lap_fail(LAP_ERROR_ARGUMENT, "--mesh is for a replay of a file, alone");
    if (e->skip.count || e->only.count || e->has_most_draws)
        return lap_fail(LAP_ERROR_ARGUMENT, "--mesh counts all commands: without --skip, --only and --at-most-draws");
    if (options->json && options->validate)
        return lap_fail(LAP_ERROR_ARGUMENT, "--json is for --mesh or for --validate, not for both");
    return LAP_OK;
}

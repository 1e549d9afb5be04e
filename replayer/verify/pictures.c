/* SPDX-License-Identifier: MIT */
#include "replayer/verify/pictures.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file/new_file.h"
#include "gen_ids.h"
#include "replayer/core/handles.h"
#include "replayer/format/format.h"
#include "replayer/memory/resource.h"
#include "replayer/verify/read_buffer.h"
#include "replayer/verify/read_image.h"
#include "vulkan/texel/texel_small.h"

enum lap_status replay_pictures_read_list(struct replay_pictures *pictures)
{
    FILE *from = fopen(pictures->list_file, "re");
    enum lap_status status;

    if (!from)
        return lap_fail(LAP_ERROR_IO, "%s can't be read: %s", pictures->list_file, strerror(errno));
    status = picture_list_read(from, pictures->list);
    (void)fclose(from);
    return status == LAP_OK ? status : lap_fail_context(status, "%s", pictures->list_file);
}

/* ---- wanted targets ---- */

static void list_names(const struct picture_list *list, char *out, size_t bytes)
{
    size_t length = 0;

    *out = 0;
    for (size_t i = 0; i < list->count && length < bytes; i++)
        length += (size_t)snprintf(out + length, bytes - length, "%s%s", i ? ", " : "", list->at[i].name);
}

static enum lap_status check_names(const struct replay_pictures *pictures)
{
    char there[512];

    if (!pictures->list->count)
        return lap_fail(LAP_ERROR_ARGUMENT, "there is nothing to make pictures of");
    list_names(pictures->list, there, sizeof there);
    for (const char *at = pictures->names; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
        const size_t length = strcspn(at, ",");
        bool found = false;
        for (size_t i = 0; i < pictures->list->count && !found; i++)
            found = strncmp(pictures->list->at[i].name, at, length) == 0 && !pictures->list->at[i].name[length];
        if (!found)
            return lap_fail(LAP_ERROR_ARGUMENT, "there is no target %.*s: there is %s", (int)length, at, there);
    }
    return LAP_OK;
}

/* ---- files ---- */

/* The texels of one target. */
struct taken {
    const struct picture_target *target;
    const unsigned char *texels;
    VkFormat format, computed_as; /* computed_as: another one, whose values were rounded; VK_FORMAT_UNDEFINED: none */
    uint64_t row_bytes;
    uint32_t rows; /* of texel blocks */
    uint32_t width, height;
    bool is_volume;
    bool is_compared; /* with the picture in front of the command */
    uint64_t changed; /* texels, all of them in `where` */
    VkRect2D where, shown;
    struct lap_picture picture;
    char png[PATH_MAX], raw[PATH_MAX]; /* names of files; "": not written */
};

/* Texels of the last picture with a name, which the next one with that name is compared with. */
struct kept {
    char name[sizeof((struct picture_target *)0)->name];
    size_t number; /* in the list, plus 1; 0: none */
    unsigned char *texels;
};

struct writing {
    struct replay *r;
    struct kept *kept;
    size_t count, capacity;
    unsigned char *part; /* of texels, that is shown */
};

/* The command that the target is behind. NULL: none is known. */
static const struct position *position_of(const struct replay_pictures *pictures, const struct picture_target *target)
{
    const struct position *position = target->position.count ? &target->position : &pictures->after;

    return position->count ? position : NULL;
}

static enum lap_status name_file(const struct replay_pictures *pictures, const struct picture_target *target,
                                 const char *ending, char out[PATH_MAX])
{
    const struct position *position = position_of(pictures, target);
    char prefix[POSITION_TEXT_BYTES + 16] = "", text[POSITION_TEXT_BYTES];
    const char *name = target->name;
    int length;

    if (position)
        snprintf(prefix, sizeof prefix, "%s%s-", position->of_packet ? "packet" : "",
                 position_text(position, text) + (position->of_packet ? 1 : 0));
    length = snprintf(out, PATH_MAX, "%s/%s%s.%s", pictures->folder, prefix, name, ending);
    return length < PATH_MAX ? LAP_OK : lap_fail(LAP_ERROR_IO, "the name of the folder for pictures is too long");
}

static bool wants_png(const struct replay_pictures *pictures)
{
    return !pictures->raw || pictures->also_png;
}

static enum lap_status write_png(const struct replay_pictures *pictures, const struct taken *taken)
{
    const struct lap_picture *picture = &taken->picture;
    struct lap_small_picture small;
    enum lap_status status;

    if (!pictures->thumbs)
        return lap_png_write_rows(taken->png, picture->kind, picture->width, picture->height, lap_picture_row, picture);
    status = lap_small_picture_make(picture, pictures->thumbs, &small);
    if (status == LAP_OK)
        status =
            lap_png_write_rows(taken->png, picture->kind, small.width, small.height, lap_small_picture_row, &small);
    lap_small_picture_finish(&small);
    return status;
}

static enum lap_status write_raw(const struct taken *taken)
{
    const int fd = lap_new_file(taken->raw);
    FILE *file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    const size_t bytes = (size_t)(taken->rows * taken->row_bytes);
    bool good = file && fwrite(taken->texels, 1, bytes, file) == bytes;
    int why = errno;

    if (file && fclose(file) != 0 && good) {
        good = false;
        why = errno;
    }
    if (good)
        return LAP_OK;
    if (fd >= 0 && !file)
        close(fd);
    if (fd >= 0)
        unlink(taken->raw);
    return lap_fail(LAP_ERROR_IO, "%s: %s", taken->raw, why == ELOOP ? "it is a symbolic link" : strerror(why));
}

/* ---- lines ---- */

static void print_text(const struct taken *taken)
{
    const struct content *image = &taken->target->image;
    const struct lap_picture *picture = &taken->picture;

    printf("%s%s%s  VkImage:%" PRIu64 "  %u x %u  %s", taken->png, taken->png[0] && taken->raw[0] ? "  " : "",
           taken->raw, image->index, taken->width, taken->height, replay_format_name(taken->format));
    if (image->level || image->layer)
        printf("  level %u %s %u", image->level, taken->is_volume ? "slice" : "layer", image->layer);
    if (picture->has_range && picture->black == picture->white)
        printf("  %.9g everywhere", picture->black);
    else if (picture->has_range)
        printf("  %.9g (black) to %.9g (white)", picture->black, picture->white);
    if (picture->nans)
        printf("  %" PRIu64 " NaN", picture->nans);
    if (picture->infinities)
        printf("  %" PRIu64 " infinite", picture->infinities);
    if (taken->computed_as)
        printf("  computed as %s", replay_format_name(taken->computed_as));
    if (taken->target->command)
        printf("  %s", gen_command_names[taken->target->command]);
    if (taken->is_compared && taken->changed)
        printf("  changes %" PRIu64 " texel%s", taken->changed, taken->changed == 1 ? "" : "s");
    else if (taken->is_compared)
        printf("  changes nothing");
    putchar('\n');
}

static bool add_range(cJSON *object, const struct lap_picture *picture)
{
    cJSON *range = picture->has_range ? cJSON_AddArrayToObject(object, "range") : NULL;

    if (!range)
        return cJSON_AddNullToObject(object, "range") != NULL;
    return cJSON_AddItemToArray(range, cJSON_CreateNumber(picture->black)) &&
           cJSON_AddItemToArray(range, cJSON_CreateNumber(picture->white));
}

static bool add_rectangle(cJSON *object, const VkRect2D *rect)
{
    return object && cJSON_AddNumberToObject(object, "x", rect->offset.x) &&
           cJSON_AddNumberToObject(object, "y", rect->offset.y) &&
           cJSON_AddNumberToObject(object, "width", rect->extent.width) &&
           cJSON_AddNumberToObject(object, "height", rect->extent.height);
}

static bool add_changed(cJSON *object, const struct taken *taken)
{
    cJSON *changed;

    if (!taken->is_compared)
        return cJSON_AddNullToObject(object, "changed") != NULL;
    changed = cJSON_AddObjectToObject(object, "changed");
    return changed && cJSON_AddNumberToObject(changed, "texels", (double)taken->changed) &&
           add_rectangle(changed, &taken->where);
}

/* Of a picture that is one of several. */
static bool add_place(cJSON *object, const struct replay_pictures *pictures, const struct taken *taken)
{
    const struct position *position = position_of(pictures, taken->target);
    char text[POSITION_TEXT_BYTES];

    if (position && !cJSON_AddStringToObject(object, "position", position_text(position, text)))
        return false;
    if (!pictures->each.at.count)
        return true;
    return cJSON_AddStringToObject(object, "command", gen_command_names[taken->target->command]) &&
           add_changed(object, taken) &&
           (!pictures->thumbs || add_rectangle(cJSON_AddObjectToObject(object, "shown"), &taken->shown));
}

static bool fill_object(cJSON *object, const struct replay *r, const struct taken *taken)
{
    const struct content *image = &taken->target->image;
    const bool both = taken->png[0] && taken->raw[0];
    char name[32];

    snprintf(name, sizeof name, "VkImage:%" PRIu64, image->index);
    return cJSON_AddStringToObject(object, "file", taken->png[0] ? taken->png : taken->raw) &&
           (both ? cJSON_AddStringToObject(object, "raw", taken->raw) : cJSON_AddNullToObject(object, "raw")) &&
           cJSON_AddStringToObject(object, "image", name) &&
           cJSON_AddStringToObject(object, "name", taken->target->name) &&
           cJSON_AddNumberToObject(object, "width", taken->width) &&
           cJSON_AddNumberToObject(object, "height", taken->height) &&
           cJSON_AddStringToObject(object, "format", replay_format_name(taken->format)) &&
           (taken->computed_as ? cJSON_AddStringToObject(object, "computedAs", replay_format_name(taken->computed_as))
                               : cJSON_AddNullToObject(object, "computedAs")) &&
           cJSON_AddNumberToObject(object, "level", image->level) &&
           cJSON_AddNumberToObject(object, "layer", image->layer) && add_range(object, &taken->picture) &&
           cJSON_AddNumberToObject(object, "nan", (double)taken->picture.nans) &&
           cJSON_AddNumberToObject(object, "infinite", (double)taken->picture.infinities) &&
           cJSON_AddStringToObject(object, "gpu", r->summary.gpu) && add_place(object, &r->options.pictures, taken);
}

static enum lap_status print_json(const struct replay *r, const struct taken *taken)
{
    cJSON *object = cJSON_CreateObject();
    char *text = object && fill_object(object, r, taken) ? cJSON_PrintUnformatted(object) : NULL;

    if (text)
        puts(text);
    cJSON_free(text);
    cJSON_Delete(object);
    return text ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "out of memory for JSON");
}

/* ---- targets ---- */

/* From the image as it is where the replay ends. LAP_ERROR_UNSUPPORTED: with a clause about the target. */
static enum lap_status take_image(struct replay *r, struct taken *taken)
{
    struct replay_image_reading reading;
    const struct lap_texels *texels = &reading.texels;
    enum lap_status status = replay_image_reading_plan(r, &taken->target->image, &reading);
    const void *data = NULL;

    if (status == LAP_OK)
        status = replay_image_reading_take(r, &reading, &data);
    if (status == LAP_ERROR_MEMORY)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "%s", lap_error_message());
    if (status != LAP_OK)
        return status;
    taken->format = reading.record->recorded_format;
    taken->computed_as = replay_format_conversion_rounds(reading.conversion) ? reading.record->info.format : 0;
    taken->is_volume = reading.record->info.imageType == VK_IMAGE_TYPE_3D;
    taken->width = texels->extent.width;
    taken->height = texels->extent.height;
    taken->rows = (uint32_t)(texels->rows / texels->extent.depth);
    taken->row_bytes = texels->row_bytes;
    taken->texels = (const unsigned char *)data + taken->rows * taken->row_bytes * reading.slice;
    return LAP_OK;
}

/* ---- copied texels ---- */

static struct kept *kept_of(struct writing *w, const char *name)
{
    for (size_t i = 0; i < w->count; i++)
        if (strcmp(w->kept[i].name, name) == 0)
            return &w->kept[i];
    if (!lap_array_grow(&w->kept, sizeof *w->kept, &w->capacity, w->count + 1))
        return NULL;
    w->kept[w->count] = (struct kept){.number = 0};
    memcpy(w->kept[w->count].name, name, sizeof w->kept->name);
    return &w->kept[w->count++];
}

static void compare(struct taken *taken, const unsigned char *before)
{
    const size_t bytes = (size_t)(taken->row_bytes / taken->width);
    uint32_t left = taken->width, right = 0, top = taken->height, bottom = 0;

    taken->is_compared = true;
    for (uint32_t y = 0; y < taken->height; y++) {
        const unsigned char *a = before + y * taken->row_bytes, *b = taken->texels + y * taken->row_bytes;
        if (memcmp(a, b, (size_t)taken->row_bytes) == 0)
            continue;
        top = y < top ? y : top;
        bottom = y + 1;
        for (uint32_t x = 0; x < taken->width; x++)
            if (memcmp(a + x * bytes, b + x * bytes, bytes) != 0) {
                taken->changed++;
                left = x < left ? x : left;
                right = x + 1 > right ? x + 1 : right;
            }
    }
    if (taken->changed)
        taken->where = (VkRect2D){{(int32_t)left, (int32_t)top}, {right - left, bottom - top}};
}

/* What edits have copied into a buffer, which is compared with the picture before it. */
static enum lap_status take_copied(struct writing *w, struct taken *taken)
{
    const struct picture_target *target = taken->target;
    const struct picture_copied *copied = &target->copied;
    const uint64_t bytes = copied->row_bytes * copied->height;
    const struct replay_object *object = replay_object_get(w->r, GEN_HANDLE_VkImage, target->image.index);
    const struct replay_image *record = object ? object->record : NULL;
    struct kept *kept = kept_of(w, target->name);
    const void *data = NULL;
    unsigned char *texels;
    enum lap_status status = replay_read_buffer(w->r, w->r->options.pictures.list->buffer, copied->at, bytes, &data);

    if (status != LAP_OK)
        return status;
    texels = malloc((size_t)bytes + 1);
    if (!texels || !kept) {
        free(texels);
        return lap_no_memory("pictures");
    }
    memcpy(texels, data, (size_t)bytes);
    lap_texels_clean(copied->format, target->image.aspect, texels, bytes);
    taken->texels = texels;
    taken->format = copied->format;
    if (record && replay_format_conversion_rounds(
                      replay_format_conversion(record->info.format, copied->format, target->image.aspect)))
        taken->computed_as = record->info.format;
    taken->is_volume = copied->is_volume;
    taken->width = copied->width;
    taken->height = taken->rows = copied->height;
    taken->row_bytes = copied->row_bytes;
    if (copied->before && copied->before == kept->number)
        compare(taken, kept->texels);
    free(kept->texels);
    kept->texels = texels;
    kept->number = (size_t)(target - w->r->options.pictures.list->at) + 1;
    return LAP_OK;
}

/* ---- parts ---- */

static void widen(int32_t *offset, uint32_t *extent, uint32_t all)
{
    const uint32_t more = *extent / 4 > 8 ? *extent / 4 : 8,
                   before = (uint32_t)*offset < more ? (uint32_t)*offset : more;
    const uint32_t behind = all - (uint32_t)*offset - *extent;

    *offset -= (int32_t)before;
    *extent += before + (behind < more ? behind : more);
}

/* Cuts off all but what has changed, and a part of its surroundings. */
static enum lap_status cut(struct writing *w, struct taken *taken)
{
    const size_t bytes = (size_t)(taken->row_bytes / taken->width);
    VkRect2D *shown = &taken->shown;

    *shown = (VkRect2D){{0, 0}, {taken->width, taken->height}};
    if (!taken->changed)
        return LAP_OK;
    *shown = taken->where;
    widen(&shown->offset.x, &shown->extent.width, taken->width);
    widen(&shown->offset.y, &shown->extent.height, taken->height);
    free(w->part);
    w->part = malloc((size_t)shown->extent.width * shown->extent.height * bytes + 1);
    if (!w->part)
        return lap_no_memory("pictures");
    for (uint32_t y = 0; y < shown->extent.height; y++)
        memcpy(w->part + (size_t)y * shown->extent.width * bytes,
               taken->texels + ((uint32_t)shown->offset.y + y) * taken->row_bytes + (uint32_t)shown->offset.x * bytes,
               (size_t)shown->extent.width * bytes);
    taken->texels = w->part;
    return LAP_OK;
}

/* ---- targets ---- */

static enum lap_status write_files(struct writing *w, struct taken *taken)
{
    const struct replay_pictures *pictures = &w->r->options.pictures;
    const bool has_part = pictures->thumbs > 0;
    enum lap_status status = LAP_OK;

    if (pictures->raw)
        status = name_file(pictures, taken->target, "raw", taken->raw);
    if (status == LAP_OK && taken->raw[0])
        status = write_raw(taken);
    if (status != LAP_OK || !wants_png(pictures))
        return status;
    if (has_part)
        status = cut(w, taken);
    if (status == LAP_OK)
        status = lap_picture_plan(taken->format, taken->target->image.aspect, &pictures->how, taken->texels,
                                  has_part ? taken->shown.extent.width : taken->width,
                                  has_part ? taken->shown.extent.height : taken->height, &taken->picture);
    if (status == LAP_OK)
        status = name_file(pictures, taken->target, "png", taken->png);
    return status == LAP_OK ? write_png(pictures, taken) : status;
}

static enum lap_status write_target(struct writing *w, const struct picture_target *target)
{
    struct taken taken = {.target = target};
    enum lap_status status = target->copied.format ? take_copied(w, &taken) : take_image(w->r, &taken);

    if (status != LAP_OK || target->is_hidden)
        return status;
    status = write_files(w, &taken);
    if (status == LAP_OK && w->r->options.json)
        status = print_json(w->r, &taken);
    else if (status == LAP_OK)
        print_text(&taken);
    if (status == LAP_OK && target->copied.format && fflush(stdout) != 0)
        return lap_fail(LAP_ERROR_IO, "the list of pictures can't be written: %s", strerror(errno));
    return status;
}

static enum lap_status write_all(struct writing *w)
{
    const struct replay_pictures *pictures = &w->r->options.pictures;
    size_t written = 0;
    char why[256] = "";
    enum lap_status status = LAP_OK;

    for (size_t i = 0; i < pictures->list->count && status == LAP_OK; i++) {
        const struct picture_target *target = &pictures->list->at[i];
        if (pictures->names && !picture_names_have(pictures->names, target->name))
            continue;
        status = write_target(w, target);
        written += status == LAP_OK;
        if (status == LAP_ERROR_UNSUPPORTED) {
            snprintf(why, sizeof why, "%s, VkImage:%" PRIu64 ", %s", target->name, target->image.index,
                     lap_error_message());
            lap_log(w->r->log, LAP_LOG_WARNING, "there is no picture: %s", why);
            status = LAP_OK;
        }
    }
    if (status == LAP_OK && !written)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "no picture can be made: %s", why);
    return status;
}

enum lap_status replay_write_pictures(struct replay *r)
{
    const struct replay_pictures *pictures = &r->options.pictures;
    struct writing w = {.r = r};
    enum lap_status status = pictures->each.at.count ? LAP_OK : check_names(pictures);

    if (status == LAP_OK)
        status = replay_settle(r);
    if (status == LAP_OK)
        status = write_all(&w);
    for (size_t i = 0; i < w.count; i++)
        free(w.kept[i].texels);
    free(w.kept);
    free(w.part);
    return status;
}

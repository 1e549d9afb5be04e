/* SPDX-License-Identifier: MIT */
#include "replayer/verify/pictures.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/file/new_file.h"
#include "replayer/format/format.h"
#include "replayer/memory/resource.h"
#include "replayer/verify/read_image.h"

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

/* The list of names has this one. */
static bool has_name(const char *names, const char *name)
{
    const size_t length = strlen(name);

    for (const char *at = names; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == 0 || at[length] == ','))
            return true;
    return false;
}

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
    struct replay_image_reading reading;
    const unsigned char *texels;
    uint64_t row_bytes;
    uint32_t rows; /* of texel blocks */
    struct lap_picture picture;
    char png[PATH_MAX], raw[PATH_MAX]; /* names of files; "": not written */
};

static enum lap_status name_file(const struct replay_pictures *pictures, const char *name, const char *ending,
                                 char out[PATH_MAX])
{
    char prefix[POSITION_TEXT_BYTES + 16] = "", position[POSITION_TEXT_BYTES];
    int length;

    if (pictures->after.count)
        snprintf(prefix, sizeof prefix, "%s%s-", pictures->after.of_packet ? "packet" : "",
                 position_text(&pictures->after, position) + (pictures->after.of_packet ? 1 : 0));
    length = snprintf(out, PATH_MAX, "%s/%s%s.%s", pictures->folder, prefix, name, ending);
    return length < PATH_MAX ? LAP_OK : lap_fail(LAP_ERROR_IO, "the name of the folder for pictures is too long");
}

static bool wants_png(const struct replay_pictures *pictures)
{
    return !pictures->raw || pictures->also_png;
}

static enum lap_status write_png(const struct taken *taken)
{
    return lap_png_write_rows(taken->png, taken->picture.kind, taken->picture.width, taken->picture.height,
                              lap_picture_row, &taken->picture);
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

static bool rounds(const struct replay_image_reading *reading)
{
    return replay_format_conversion_rounds(reading->conversion);
}

static void print_text(const struct taken *taken)
{
    const struct content *image = &taken->target->image;
    const struct replay_image_reading *reading = &taken->reading;
    const struct lap_picture *picture = &taken->picture;
    const struct lap_texels *texels = &reading->texels;

    printf("%s%s%s  VkImage:%" PRIu64 "  %u x %u  %s", taken->png, taken->png[0] && taken->raw[0] ? "  " : "",
           taken->raw, image->index, texels->extent.width, texels->extent.height,
           replay_format_name(reading->record->recorded_format));
    if (image->level || image->layer)
        printf("  level %u %s %u", image->level,
               reading->record->info.imageType == VK_IMAGE_TYPE_3D ? "slice" : "layer", image->layer);
    if (picture->has_range && picture->black == picture->white)
        printf("  %.9g everywhere", picture->black);
    else if (picture->has_range)
        printf("  %.9g (black) to %.9g (white)", picture->black, picture->white);
    if (picture->nans)
        printf("  %" PRIu64 " NaN", picture->nans);
    if (picture->infinities)
        printf("  %" PRIu64 " infinite", picture->infinities);
    if (rounds(reading))
        printf("  computed as %s", replay_format_name(reading->record->info.format));
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

static bool fill_object(cJSON *object, const struct replay *r, const struct taken *taken)
{
    const struct replay_image *record = taken->reading.record;
    const struct content *image = &taken->target->image;
    const struct lap_texels *texels = &taken->reading.texels;
    const bool both = taken->png[0] && taken->raw[0];
    char name[32];

    snprintf(name, sizeof name, "VkImage:%" PRIu64, image->index);
    return cJSON_AddStringToObject(object, "file", taken->png[0] ? taken->png : taken->raw) &&
           (both ? cJSON_AddStringToObject(object, "raw", taken->raw) : cJSON_AddNullToObject(object, "raw")) &&
           cJSON_AddStringToObject(object, "image", name) &&
           cJSON_AddStringToObject(object, "name", taken->target->name) &&
           cJSON_AddNumberToObject(object, "width", texels->extent.width) &&
           cJSON_AddNumberToObject(object, "height", texels->extent.height) &&
           cJSON_AddStringToObject(object, "format", replay_format_name(record->recorded_format)) &&
           (rounds(&taken->reading)
                ? cJSON_AddStringToObject(object, "computedAs", replay_format_name(record->info.format))
                : cJSON_AddNullToObject(object, "computedAs")) &&
           cJSON_AddNumberToObject(object, "level", image->level) &&
           cJSON_AddNumberToObject(object, "layer", image->layer) && add_range(object, &taken->picture) &&
           cJSON_AddNumberToObject(object, "nan", (double)taken->picture.nans) &&
           cJSON_AddNumberToObject(object, "infinite", (double)taken->picture.infinities) &&
           cJSON_AddStringToObject(object, "gpu", r->summary.gpu);
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

/* One slice of what was read. */
static void cut_slice(struct taken *taken)
{
    const struct lap_texels *texels = &taken->reading.texels;

    taken->rows = (uint32_t)(texels->rows / texels->extent.depth);
    taken->row_bytes = texels->row_bytes;
    taken->texels += taken->rows * taken->row_bytes * taken->reading.slice;
}

/* LAP_ERROR_UNSUPPORTED: with a clause about the target. */
static enum lap_status take(struct replay *r, struct taken *taken)
{
    const struct content *image = &taken->target->image;
    enum lap_status status = replay_image_reading_plan(r, image, &taken->reading);
    const void *data = NULL;

    if (status == LAP_OK)
        status = replay_image_reading_take(r, &taken->reading, &data);
    if (status == LAP_ERROR_MEMORY)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "%s", lap_error_message());
    if (status != LAP_OK)
        return status;
    taken->texels = data;
    cut_slice(taken);
    if (!wants_png(&r->options.pictures))
        return LAP_OK;
    return lap_picture_plan(taken->reading.record->recorded_format, image->aspect, &r->options.pictures.how,
                            taken->texels, taken->reading.texels.extent.width, taken->reading.texels.extent.height,
                            &taken->picture);
}

static enum lap_status write_target(struct replay *r, const struct picture_target *target)
{
    struct taken taken = {.target = target};
    const struct replay_pictures *pictures = &r->options.pictures;
    enum lap_status status = take(r, &taken);

    if (status == LAP_OK && wants_png(pictures))
        status = name_file(pictures, target->name, "png", taken.png);
    if (status == LAP_OK && pictures->raw)
        status = name_file(pictures, target->name, "raw", taken.raw);
    if (status == LAP_OK && taken.png[0])
        status = write_png(&taken);
    if (status == LAP_OK && taken.raw[0])
        status = write_raw(&taken);
    if (status == LAP_OK && r->options.json)
        return print_json(r, &taken);
    if (status == LAP_OK)
        print_text(&taken);
    return status;
}

enum lap_status replay_write_pictures(struct replay *r)
{
    const struct replay_pictures *pictures = &r->options.pictures;
    enum lap_status status = check_names(pictures);
    size_t written = 0;
    char why[256] = "";

    if (status == LAP_OK)
        status = replay_settle(r);
    for (size_t i = 0; i < pictures->list->count && status == LAP_OK; i++) {
        const struct picture_target *target = &pictures->list->at[i];
        if (pictures->names && !has_name(pictures->names, target->name))
            continue;
        status = write_target(r, target);
        written += status == LAP_OK;
        if (status == LAP_ERROR_UNSUPPORTED) {
            snprintf(why, sizeof why, "%s, VkImage:%" PRIu64 ", %s", target->name, target->image.index,
                     lap_error_message());
            lap_log(r->log, LAP_LOG_WARNING, "there is no picture: %s", why);
            status = LAP_OK;
        }
    }
    if (status == LAP_OK && !written)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "no picture can be made: %s", why);
    return status;
}

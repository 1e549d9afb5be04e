/* SPDX-License-Identifier: MIT */
#include "replayer/verify/check_dump.h"
#include "replayer/resource/host_update.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file/folder.h"
#include "base/file/new_file.h"

struct replay_check_dump {
    FILE *index, *bytes; /* NULL: no --dump-checks */
    FILE *hashes;        /* NULL: no --hashes */
    uint64_t checks, offset;
};

bool replay_check_hashes_same(const struct replay_check_hashes *hashes)
{
    return hashes->is_recorded && hashes->found[0] == hashes->recorded[0] && hashes->found[1] == hashes->recorded[1];
}

static enum lap_status not_written(void)
{
    return lap_fail(LAP_ERROR_IO, "the checks can't be written: %s", strerror(errno));
}

static int close_file(FILE *file)
{
    return file ? fclose(file) : 0;
}

/* Not zero: something could not be written. */
static int destroy(struct replay_check_dump *dump)
{
    int failed = close_file(dump->bytes);

    failed |= close_file(dump->index);
    failed |= close_file(dump->hashes);
    free(dump);
    return failed;
}

enum lap_status replay_check_dump_finish(struct replay_check_dump **dump)
{
    struct replay_check_dump *ended = *dump;

    *dump = NULL;
    return ended && destroy(ended) ? not_written() : LAP_OK;
}

static FILE *open_file(const char *folder, const char *name)
{
    char path[4096];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file;
    int fd = -1;

    if (length < 0 || (size_t)length >= sizeof path)
        errno = ENAMETOOLONG;
    else
        fd = lap_new_file(path);
    file = fd >= 0 ? fdopen(fd, "wb") : NULL;
    if (!file)
        (void)lap_fail(LAP_ERROR_IO, "%s/%s can't be written: %s", folder, name,
                       errno == ELOOP ? "it is a symbolic link" : strerror(errno));
    if (!file && fd >= 0)
        close(fd);
    return file;
}

enum lap_status replay_check_dump_create(const char *folder, int hashes, struct replay_check_dump **out_dump)
{
    enum lap_status status = folder ? lap_folder_make(folder) : LAP_OK;
    struct replay_check_dump *dump;

    *out_dump = NULL;
    if (status != LAP_OK)
        return status;
    dump = calloc(1, sizeof *dump);
    if (!dump)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    dump->bytes = folder ? open_file(folder, "checks.bin") : NULL;
    dump->index = dump->bytes ? open_file(folder, "checks.ndjson") : NULL;
    if (folder && !dump->index) {
        status = LAP_ERROR_IO;
    } else if (hashes >= 0 && !(dump->hashes = fdopen(hashes, "wb"))) {
        status = lap_fail(LAP_ERROR_IO, "the file of --hashes can't be written: %s", strerror(errno));
    } else {
        *out_dump = dump;
        return LAP_OK;
    }
    (void)destroy(dump);
    return status;
}

/* The members that all checks share. NULL: out of memory. */
static cJSON *new_line(struct replay *r, struct replay_check_dump *dump, const char *kind, const char *type,
                       uint64_t index, const struct replay_check_hashes *hashes)
{
    cJSON *line = cJSON_CreateObject();
    char object[64];

    snprintf(object, sizeof object, "%s:%" PRIu64, type, index);
    if (cJSON_AddNumberToObject(line, "check", (double)++dump->checks) && cJSON_AddStringToObject(line, "kind", kind) &&
        cJSON_AddNumberToObject(line, "frame", (double)(r->at.packet.frame + 1)) &&
        cJSON_AddNumberToObject(line, "packet", (double)r->at.packet.ticket) &&
        cJSON_AddStringToObject(line, "object", object) &&
        (hashes->is_recorded ? cJSON_AddBoolToObject(line, "same", replay_check_hashes_same(hashes))
                             : cJSON_AddNullToObject(line, "same")))
        return line;
    cJSON_Delete(line);
    return NULL;
}

static bool add_number(cJSON *line, const char *key, uint64_t value)
{
    return cJSON_AddNumberToObject(line, key, (double)value) != NULL;
}

static bool add_format(cJSON *line, VkFormat format)
{
    const char *name = replay_enum_name("VkFormat", format);
    return name ? cJSON_AddStringToObject(line, "format", name) != NULL : add_number(line, "format", format);
}

/* LAP_ERROR_MEMORY, LAP_ERROR_IO. */
static enum lap_status print_line(const cJSON *line, FILE *to)
{
    char *text = cJSON_PrintUnformatted(line);
    bool written = text && fprintf(to, "%s\n", text) > 0;

    cJSON_free(text);
    if (!text)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    return written ? LAP_OK : not_written();
}

static enum lap_status write_bytes(struct replay_check_dump *dump, cJSON *line, const void *data, size_t bytes)
{
    if (!dump->bytes)
        return LAP_OK;
    if (fwrite(data, 1, bytes, dump->bytes) != bytes)
        return not_written();
    if (!add_number(line, "offset", dump->offset) || !add_number(line, "bytes", bytes))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    dump->offset += bytes;
    return print_line(line, dump->index);
}

static bool add_hash(cJSON *line, const char *key, const uint64_t halves[2])
{
    char text[33];

    snprintf(text, sizeof text, "%016" PRIx64 "%016" PRIx64, halves[1], halves[0]);
    return cJSON_AddStringToObject(line, key, text) != NULL;
}

/* The line is as before. */
static enum lap_status write_hashes(struct replay_check_dump *dump, cJSON *line,
                                    const struct replay_check_hashes *hashes)
{
    enum lap_status status;

    if (!dump->hashes)
        return LAP_OK;
    if (!add_hash(line, "hash", hashes->found) ||
        !(hashes->is_recorded ? add_hash(line, "recorded", hashes->recorded)
                              : cJSON_AddNullToObject(line, "recorded") != NULL))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    status = print_line(line, dump->hashes);
    cJSON_DeleteItemFromObject(line, "hash");
    cJSON_DeleteItemFromObject(line, "recorded");
    return status;
}

/* Frees the line. `whole`: all its members were added. */
static enum lap_status write_check(struct replay *r, struct replay_check_dump *dump, cJSON *line, bool whole,
                                   const struct replay_check_hashes *hashes, const void *data, size_t bytes)
{
    const uint64_t packet = replay_watch_pause(&r->watch);
    enum lap_status status = whole ? write_hashes(dump, line, hashes) : lap_fail(LAP_ERROR_MEMORY, "out of memory");

    if (status == LAP_OK)
        status = write_bytes(dump, line, data, bytes);
    cJSON_Delete(line);
    replay_watch_go_on(&r->watch, packet);
    return status;
}

enum lap_status replay_check_dump_present(struct replay *r, struct replay_check_dump *dump, uint64_t swapchain_index,
                                          uint32_t image_index, VkFormat format, VkExtent2D extent, const void *pixels,
                                          size_t bytes, const struct replay_check_hashes *hashes)
{
    cJSON *line;
    bool whole;

    if (!dump)
        return LAP_OK;
    line = new_line(r, dump, "present", "VkSwapchainKHR", swapchain_index, hashes);
    whole = line && add_number(line, "image", image_index) && add_format(line, format) &&
            add_number(line, "width", extent.width) && add_number(line, "height", extent.height);
    return write_check(r, dump, line, whole, hashes, pixels, bytes);
}

enum lap_status replay_check_dump_buffer(struct replay *r, struct replay_check_dump *dump, uint64_t index, uint64_t at,
                                         const void *data, size_t bytes, const struct replay_check_hashes *hashes)
{
    cJSON *line;

    if (!dump)
        return LAP_OK;
    line = new_line(r, dump, "buffer", "VkBuffer", index, hashes);
    return write_check(r, dump, line, line && add_number(line, "at", at), hashes, data, bytes);
}

enum lap_status replay_check_dump_image(struct replay *r, struct replay_check_dump *dump, uint64_t index,
                                        VkFormat format, const struct replay_rows_wanted *rows, const void *texels,
                                        const struct replay_check_hashes *hashes)
{
    size_t bytes = (size_t)(rows->row_count * rows->bytes_in_row);
    cJSON *line;
    bool whole;

    if (!dump)
        return LAP_OK;
    line = new_line(r, dump, "image", "VkImage", index, hashes);
    whole = line && add_format(line, format) && add_number(line, "aspect", rows->aspect) &&
            add_number(line, "level", rows->mip_level) && add_number(line, "layer", rows->array_layer) &&
            add_number(line, "slice", rows->slice) && add_number(line, "row", rows->row) &&
            add_number(line, "rows", rows->row_count) && add_number(line, "offset_in_row", rows->offset_in_row) &&
            add_number(line, "bytes_in_row", rows->bytes_in_row);
    return write_check(r, dump, line, whole, hashes, texels, bytes);
}

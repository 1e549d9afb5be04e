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
    FILE *index, *bytes;
    uint64_t checks, offset;
};

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

enum lap_status replay_check_dump_create(const char *folder, struct replay_check_dump **out_dump)
{
    enum lap_status status = lap_folder_make(folder);
    struct replay_check_dump *dump;

    *out_dump = NULL;
    if (status != LAP_OK)
        return status;
    dump = calloc(1, sizeof *dump);
    if (!dump)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    dump->bytes = open_file(folder, "checks.bin");
    dump->index = dump->bytes ? open_file(folder, "checks.ndjson") : NULL;
    if (dump->index) {
        *out_dump = dump;
        return LAP_OK;
    }
    if (dump->bytes)
        fclose(dump->bytes);
    free(dump);
    return LAP_ERROR_IO;
}

static enum lap_status not_written(void)
{
    return lap_fail(LAP_ERROR_IO, "checked bytes can't be written: %s", strerror(errno));
}

enum lap_status replay_check_dump_finish(struct replay_check_dump **dump)
{
    struct replay_check_dump *ended = *dump;
    int failed;

    *dump = NULL;
    if (!ended)
        return LAP_OK;
    failed = fclose(ended->bytes);
    failed |= fclose(ended->index);
    free(ended);
    return failed ? not_written() : LAP_OK;
}

/* The members that all checks share. NULL: out of memory. */
static cJSON *new_line(struct replay *r, struct replay_check_dump *dump, const char *kind, const char *type,
                       uint64_t index, size_t bytes, bool same)
{
    cJSON *line = cJSON_CreateObject();
    char object[64];

    snprintf(object, sizeof object, "%s:%" PRIu64, type, index);
    if (cJSON_AddNumberToObject(line, "check", (double)++dump->checks) && cJSON_AddStringToObject(line, "kind", kind) &&
        cJSON_AddNumberToObject(line, "frame", (double)(r->at.packet.frame + 1)) &&
        cJSON_AddNumberToObject(line, "packet", (double)r->at.packet.ticket) &&
        cJSON_AddStringToObject(line, "object", object) &&
        cJSON_AddNumberToObject(line, "offset", (double)dump->offset) &&
        cJSON_AddNumberToObject(line, "bytes", (double)bytes) && cJSON_AddBoolToObject(line, "same", same))
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

/* Frees the line. `whole`: all its members were added. */
static enum lap_status write_check(struct replay *r, struct replay_check_dump *dump, cJSON *line, bool whole,
                                   const void *data, size_t bytes)
{
    const uint64_t packet = replay_watch_pause(&r->watch);
    char *text = whole ? cJSON_PrintUnformatted(line) : NULL;
    bool written;

    cJSON_Delete(line);
    written = text && fwrite(data, 1, bytes, dump->bytes) == bytes && fprintf(dump->index, "%s\n", text) > 0;
    cJSON_free(text);
    dump->offset += bytes;
    replay_watch_go_on(&r->watch, packet);
    if (!text)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    return written ? LAP_OK : not_written();
}

enum lap_status replay_check_dump_present(struct replay *r, struct replay_check_dump *dump, uint64_t swapchain_index,
                                          uint32_t image_index, VkFormat format, VkExtent2D extent, const void *pixels,
                                          size_t bytes, bool same)
{
    cJSON *line;
    bool whole;

    if (!dump)
        return LAP_OK;
    line = new_line(r, dump, "present", "VkSwapchainKHR", swapchain_index, bytes, same);
    whole = line && add_number(line, "image", image_index) && add_format(line, format) &&
            add_number(line, "width", extent.width) && add_number(line, "height", extent.height);
    return write_check(r, dump, line, whole, pixels, bytes);
}

enum lap_status replay_check_dump_buffer(struct replay *r, struct replay_check_dump *dump, uint64_t index, uint64_t at,
                                         const void *data, size_t bytes, bool same)
{
    cJSON *line;

    if (!dump)
        return LAP_OK;
    line = new_line(r, dump, "buffer", "VkBuffer", index, bytes, same);
    return write_check(r, dump, line, line && add_number(line, "at", at), data, bytes);
}

enum lap_status replay_check_dump_image(struct replay *r, struct replay_check_dump *dump, uint64_t index,
                                        VkFormat format, const struct replay_rows_wanted *rows, const void *texels,
                                        bool same)
{
    size_t bytes = (size_t)(rows->row_count * rows->bytes_in_row);
    cJSON *line;
    bool whole;

    if (!dump)
        return LAP_OK;
    line = new_line(r, dump, "image", "VkImage", index, bytes, same);
    whole = line && add_format(line, format) && add_number(line, "aspect", rows->aspect) &&
            add_number(line, "level", rows->mip_level) && add_number(line, "layer", rows->array_layer) &&
            add_number(line, "slice", rows->slice) && add_number(line, "row", rows->row) &&
            add_number(line, "rows", rows->row_count) && add_number(line, "offset_in_row", rows->offset_in_row) &&
            add_number(line, "bytes_in_row", rows->bytes_in_row);
    return write_check(r, dump, line, whole, texels, bytes);
}

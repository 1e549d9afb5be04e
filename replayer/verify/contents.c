/* SPDX-License-Identifier: MIT */
#include "replayer/verify/contents.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "replayer/address/address.h"
#include "replayer/core/handles.h"
#include "replayer/memory/memory.h"
#include "replayer/memory/resource.h"
#include "replayer/verify/read_buffer.h"
#include "replayer/verify/read_image.h"

#define PIECE_BYTES ((uint64_t)4 << 20) /* of a buffer, read at once */

/* ---- files ---- */

enum lap_status replay_reading_open(const char *list, const char *file, struct replay_reading *out)
{
    FILE *from = fopen(list, "re");
    enum lap_status status;

    *out = (struct replay_reading){.fd = -1};
    if (!from)
        return lap_fail(LAP_ERROR_IO, "%s can't be read: %s", list, strerror(errno));
    status = contents_read_list(from, &out->list);
    (void)fclose(from);
    if (status != LAP_OK)
        return lap_fail_context(status, "%s", list);
    out->fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
    return out->fd >= 0 ? LAP_OK : lap_fail(LAP_ERROR_IO, "%s can't be written: %s", file, strerror(errno));
}

void replay_reading_close(struct replay_reading *reading)
{
    if (reading->fd > 0)
        close(reading->fd);
    reading->fd = -1;
    contents_finish(&reading->list);
}

static enum lap_status write_at(int fd, const void *data, size_t bytes, uint64_t offset)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t put = pwrite(fd, (const char *)data + done, bytes - done, (off_t)(offset + done));
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return lap_fail(LAP_ERROR_IO, "what is read can't be written: %s", strerror(errno));
        done += (size_t)put;
    }
    return LAP_OK;
}

/* ---- contents ---- */

struct answer {
    struct replay *r;
    const struct content *content;
    uint64_t at;    /* the position of its bytes in the file */
    uint64_t bytes; /* so far */
};

static enum lap_status add_bytes(struct answer *a, const void *data, uint64_t bytes)
{
    enum lap_status status = write_at(a->r->options.reading->fd, data, (size_t)bytes, a->at + a->bytes);
    a->bytes += bytes;
    return status;
}

/* LAP_ERROR_UNSUPPORTED: these contents are answered as unreadable. */
static enum lap_status cannot(const char *why)
{
    return lap_fail(LAP_ERROR_UNSUPPORTED, "%s", why);
}

static enum lap_status put_piece(void *user, const void *data, uint64_t bytes)
{
    return add_bytes(user, data, bytes);
}

static enum lap_status read_buffer(struct answer *a)
{
    const struct content *c = a->content;

    return replay_read_recorded(a->r, c->index, c->offset, c->bytes, put_piece, a);
}

static enum lap_status read_image(struct answer *a)
{
    struct replay_image_reading reading;
    const void *data;
    enum lap_status status = replay_image_reading_plan(a->r, a->content, &reading);

    if (status != LAP_OK)
        return status;
    if (reading.slice)
        return cannot("has no memory of its own");
    if (reading.record->info.format != reading.record->recorded_format)
        return cannot("has another format here");
    status = replay_image_reading_take(a->r, &reading, &data);
    return status == LAP_OK ? add_bytes(a, data, reading.texels.rows * reading.texels.row_bytes) : status;
}

static enum lap_status read_queries(struct answer *a)
{
    const struct content *c = a->content;
    const struct replay_object *object = replay_object_get(a->r, GEN_HANDLE_VkQueryPool, c->index);
    const struct replay_device *dev = object ? object->owner : NULL;
    enum lap_status status = LAP_OK;

    if (!dev)
        return cannot("is not alive");
    for (uint64_t i = 0; i < c->bytes && status == LAP_OK; i++) {
        uint64_t results[16] = {0}; /* more than any type has */
        const uint8_t available =
            dev->vk.GetQueryPoolResults(dev->live, gen_VkQueryPool(object->live), (uint32_t)i, 1, sizeof results,
                                        results, sizeof results, VK_QUERY_RESULT_64_BIT) == VK_SUCCESS;
        status = add_bytes(a, &available, 1);
    }
    return status;
}

static enum lap_status write_answer(struct answer *a, uint64_t number, bool was_read)
{
    const struct contents_answer answer = {
        .was_read = was_read, .index = a->content->index, .number = number, .bytes = was_read ? a->bytes : 0};
    uint8_t head[CONTENTS_ANSWER_BYTES];

    contents_encode_answer(&answer, head);
    return write_at(a->r->options.reading->fd, head, sizeof head, a->at - sizeof head);
}

enum lap_status replay_read_contents(struct replay *r)
{
    static const char *const names[] = {
        [CONTENT_BUFFER] = "VkBuffer", [CONTENT_IMAGE] = "VkImage", [CONTENT_QUERIES] = "VkQueryPool"};
    const struct contents *list = &r->options.reading->list;
    enum lap_status status = replay_settle(r);
    uint64_t at = 0;

    for (size_t i = 0; i < list->count && status == LAP_OK; i++) {
        const struct content *c = &list->at[i];
        struct answer a = {.r = r, .content = c, .at = at + CONTENTS_ANSWER_BYTES};
        status = c->kind == CONTENT_IMAGE     ? read_image(&a)
                 : c->kind == CONTENT_QUERIES ? read_queries(&a)
                                              : read_buffer(&a);
        if (status == LAP_ERROR_UNSUPPORTED || status == LAP_ERROR_MEMORY) {
            lap_log(r->log, LAP_LOG_WARNING, "%s:%" PRIu64 " can't be read: it %s", names[c->kind], c->index,
                    lap_error_message());
            a.bytes = 0;
            status = write_answer(&a, i, false);
        } else if (status == LAP_OK) {
            status = write_answer(&a, i, true);
        }
        at = a.at + a.bytes;
    }
    if (status == LAP_OK && ftruncate(r->options.reading->fd, (off_t)at) != 0)
        status = lap_fail(LAP_ERROR_IO, "what is read can't be written: %s", strerror(errno));
    return status;
}

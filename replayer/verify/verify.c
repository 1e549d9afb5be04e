/* SPDX-License-Identifier: MIT */
#include "replayer/verify/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_replay.h"
#include "replayer/address/address.h"
#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "replayer/format/texel_convert.h"
#include "replayer/memory/resource.h"
#include "replayer/resource/host_update.h"
#include "replayer/sparse/sparse.h"
#include "replayer/verify/check_dump.h"
#include "replayer/verify/ignore_list.h"
#include "trace/format/bytes.h"
#include "trace/format/info.h"
#include "vulkan/texel/pixels.h"
#include "vulkan/unseen.h"

/* A lapilliCheckPresent that waits for its present. Another thread may present something else first. */
struct expected {
    uint64_t swapchain_index;
    uint32_t image_index;
    VkFormat format;
    VkExtent2D extent;
    uint64_t low, high;
    bool done;
};

struct replay_check {
    struct replay_check_summary summary;
    struct expected *expected;
    size_t count, capacity;
    struct replay_check_dump *dump; /* NULL: neither --dump-checks nor --hashes */
    bool all_presents;              /* for --hashes: the recording has no checks */
    bool warned_rounded, warned_skipped;
    struct replay_check_bytes *bytes;
    uint8_t *results; /* for a replay program: those since the last request, and whether there was one */
    size_t result_count, result_room;
    bool results_taken;
};

enum lap_status replay_check_create(struct replay *r)
{
    const char *info = r->reader ? lap_reader_summary(r->reader)->info : "{}";
    const bool hashes = r->options.hashes_file;

    if (!r->options.verify && !hashes)
        return LAP_OK;
    r->check = calloc(1, sizeof *r->check);
    if (!r->check)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    r->options.reads_all_images |= lap_info_flag(info, "verify_all");
    r->check->all_presents = hashes && !lap_info_flag(info, "verify");
    if (!r->options.dump_dir && !hashes)
        return LAP_OK;
    return replay_check_dump_create(r->options.dump_dir, hashes ? r->options.hashes_fd : -1, &r->check->dump);
}

const uint8_t *replay_check_results(struct replay *r, size_t *out_count)
{
    struct replay_check *check = r->check;

    *out_count = 0;
    if (!check)
        return NULL;
    if (check->results_taken)
        check->result_count = 0;
    check->results_taken = true;
    *out_count = check->result_count;
    return check->result_count ? check->results : NULL;
}

enum result_kind { RESULT_PRESENTED, RESULT_BUFFER, RESULT_IMAGE };

/* For replay_check_results. */
static enum lap_status note_result(struct replay *r, enum result_kind kind, uint64_t index,
                                   const struct replay_check_hashes *hashes)
{
    struct replay_check *check = r->check;
    uint8_t *p;

    if (!r->program)
        return LAP_OK;
    if (check->results_taken)
        check->result_count = 0;
    check->results_taken = false;
    if (!lap_array_grow(&check->results, REPLAY_CHECK_RESULT_BYTES, &check->result_room, check->result_count + 1))
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    p = check->results + check->result_count++ * REPLAY_CHECK_RESULT_BYTES;
    lap_store_u32(p, kind);
    lap_store_u32(p + 4, !replay_check_hashes_same(hashes));
    lap_store_u64(p + 8, index);
    for (unsigned i = 0; i < 2; i++) {
        lap_store_u64(p + 16 + 8 * i, hashes->found[i]);
        lap_store_u64(p + 32 + 8 * i, hashes->recorded[i]);
    }
    return LAP_OK;
}

struct replay_check_bytes **replay_check_bytes_of(const struct replay *r)
{
    return r->check && r->options.has_tolerance ? &r->check->bytes : NULL;
}

bool replay_check_is_ignored(struct replay *r, enum gen_handle_type type, uint64_t index)
{
    bool ignored = r->options.ignored && replay_ignore_list_has(r->options.ignored, type, index);

    r->check->summary.ignored += ignored;
    return ignored;
}

/* Whether bytes with another hash are within the tolerance. Then they do not count as a difference. */
static bool is_within(struct replay *r, uint64_t low, uint64_t high, VkFormat format, VkImageAspectFlags aspect,
                      const void *data, size_t bytes)
{
    bool within = r->options.has_tolerance && replay_check_bytes_within(r->check->bytes, low, high, format, aspect,
                                                                        data, bytes, r->options.tolerance);
    r->check->summary.within += within;
    return within;
}

enum lap_status replay_check_finish(struct replay *r)
{
    return r->check ? replay_check_dump_finish(&r->check->dump) : LAP_OK;
}

void replay_check_destroy(struct replay *r)
{
    if (r->check && r->check->dump && replay_check_dump_finish(&r->check->dump) != LAP_OK)
        lap_log(r->log, LAP_LOG_ERROR, "%s", lap_error_message());
    if (r->check) {
        free(r->check->expected);
        free(r->check->results);
        replay_check_bytes_destroy(r->check->bytes);
    }
    free(r->check);
    r->check = NULL;
}

struct replay_check_summary replay_check_summary(const struct replay *r)
{
    struct replay_check_summary summary = r->check ? r->check->summary : (struct replay_check_summary){0};

    for (size_t i = 0; r->check && i < r->check->count; i++)
        summary.skipped += !r->check->expected[i].done; /* their presents are missing */
    return summary;
}

/* Names what the layer could not see: the likely cause of a difference. */
static void say_unseen(const struct replay *r)
{
    for (size_t i = 0; r->reader && i < LAP_UNSEEN_COUNT; i++)
        if (lap_info_has(lap_reader_summary(r->reader)->info, lap_unseen_kinds[i].key))
            lap_log(r->log, LAP_LOG_WARNING, "%s. That may be the difference below", lap_unseen_kinds[i].text);
}

/* Counts a difference; true for the first one, which is reported. */
static bool count_difference(struct replay *r, enum result_kind kind, uint64_t index, uint64_t frame)
{
    static const char *const kinds[] = {"present", "buffer", "image"};
    static const char *const types[] = {"VkSwapchainKHR", "VkBuffer", "VkImage"};
    struct replay_check_summary *summary = &r->check->summary;

    if (summary->different++)
        return false;
    summary->first_frame = frame;
    summary->first_packet = r->at.call_ticket;
    summary->first_kind = kinds[kind];
    snprintf(summary->first_object, sizeof summary->first_object, "%s:%" PRIu64, types[kind], index);
    say_unseen(r);
    return true;
}

/* Depths that the replay device computes with another precision may differ from the recorded ones. */
static void skip_rounded(struct replay *r, const char *type, uint64_t index)
{
    r->check->summary.skipped++;
    if (!r->check->warned_rounded)
        lap_log(r->log, LAP_LOG_WARNING,
                "%s:%" PRIu64 " holds depths of another format than the recorded one: such bytes are not compared",
                type, index);
    r->check->warned_rounded = true;
}

/* ---- presented images ---- */

static struct expected *find_expected(const struct replay *r, uint64_t swapchain_index, uint32_t image_index)
{
    for (size_t i = 0; r->check && i < r->check->count; i++) {
        struct expected *e = &r->check->expected[i];
        if (!e->done && e->swapchain_index == swapchain_index && e->image_index == image_index)
            return e;
    }
    return NULL;
}

enum lap_status replay_lapilliCheckPresent(struct replay *r, struct replay_device *dev,
                                           struct gen_args_lapilliCheckPresent *args)
{
    uint64_t swapchain;
    struct replay_check *check = r->check;
    struct expected *before;

    if (!check)
        return LAP_OK;
    swapchain = replay_object_index(r, GEN_HANDLE_VkSwapchainKHR, gen_u64_VkSwapchainKHR(args->swapchain));
    if (!swapchain)
        return replay_fail(r, "a swapchain that is not alive");
    if (replay_check_is_ignored(r, GEN_HANDLE_VkSwapchainKHR, swapchain))
        return LAP_OK;
    before = find_expected(r, swapchain, args->imageIndex);
    if (before) { /* its present is missing */
        before->done = true;
        check->summary.skipped++;
    }
    if (!lap_array_grow(&check->expected, sizeof *check->expected, &check->capacity, check->count + 1))
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    check->expected[check->count++] = (struct expected){
        swapchain, args->imageIndex, args->format, {args->width, args->height}, args->hashLow, args->hashHigh, false};
    return LAP_OK;
}

bool replay_check_wants_present(const struct replay *r, uint64_t swapchain_index, uint32_t image_index)
{
    return (r->check && r->check->all_presents) || find_expected(r, swapchain_index, image_index);
}

static enum lap_status write_mismatch(struct replay *r, uint64_t frame, VkFormat format, VkExtent2D extent,
                                      const void *pixels)
{
    char path[4096];
    enum lap_status status;
    uint64_t packet;
    int length;

    if (!r->options.mismatch_dir)
        return LAP_OK;
    length = snprintf(path, sizeof path, "%s/mismatch_frame_%" PRIu64 ".png", r->options.mismatch_dir, frame);
    if (length < 0 || (size_t)length >= sizeof path)
        return lap_fail(LAP_ERROR_ARGUMENT, "the name of the folder for differing images is too long");
    packet = replay_watch_pause(&r->watch);
    status = lap_png_write(path, lap_pixels_layout(format), pixels, extent.width, extent.height);
    replay_watch_go_on(&r->watch, packet);
    return status;
}

enum lap_status replay_check_present(struct replay *r, uint64_t swapchain_index, uint32_t image_index, uint64_t frame,
                                     VkFormat format, VkExtent2D extent, const void *pixels, size_t bytes)
{
    struct expected *e = find_expected(r, swapchain_index, image_index);
    struct replay_check_hashes hashes = {.is_recorded = e != NULL};
    const uint64_t *found = hashes.found;
    enum lap_status status;
    bool same;

    if (!e) {
        if (!r->check || !r->check->all_presents || !pixels)
            return LAP_OK;
        lap_pixels_hash(pixels, bytes, &hashes.found[0], &hashes.found[1]);
        return replay_check_dump_present(r, r->check->dump, swapchain_index, image_index, format, extent, pixels, bytes,
                                         &hashes);
    }
    e->done = true;
    if (!pixels || e->format != format || e->extent.width != extent.width || e->extent.height != extent.height) {
        r->check->summary.skipped++;
        return LAP_OK;
    }
    r->check->summary.checks++;
    hashes.recorded[0] = e->low;
    hashes.recorded[1] = e->high;
    lap_pixels_hash(pixels, bytes, &hashes.found[0], &hashes.found[1]);
    same = replay_check_hashes_same(&hashes);
    status = note_result(r, RESULT_PRESENTED, swapchain_index, &hashes);
    if (status == LAP_OK)
        status = replay_check_dump_present(r, r->check->dump, swapchain_index, image_index, format, extent, pixels,
                                           bytes, &hashes);
    if (same)
        replay_check_bytes_forget(r->check->bytes, e->low, e->high);
    if (status != LAP_OK || same || is_within(r, e->low, e->high, format, VK_IMAGE_ASPECT_COLOR_BIT, pixels, bytes) ||
        !count_difference(r, RESULT_PRESENTED, swapchain_index, frame))
        return status;
    lap_log(r->log, LAP_LOG_ERROR,
            "frame %" PRIu64 ", %s (packet %" PRIu64 "): image %u of VkSwapchainKHR:%" PRIu64
            " (%u x %u) differs: hash %016" PRIx64 "%016" PRIx64 ", recorded %016" PRIx64 "%016" PRIx64,
            frame, gen_command_names[r->at.call], r->at.call_ticket, image_index, swapchain_index, extent.width,
            extent.height, found[1], found[0], e->high, e->low);
    return write_mismatch(r, frame, format, extent, pixels);
}

void replay_check_end_present(struct replay *r)
{
    struct replay_check *check = r->check;
    size_t left = 0;

    for (size_t i = 0; check && i < check->count; i++)
        if (!check->expected[i].done)
            check->expected[left++] = check->expected[i];
    if (check)
        check->count = left;
}

/* ---- buffers ---- */

static enum lap_status read_buffer(struct replay *r, struct replay_device *dev, VkBuffer buffer,
                                   const struct replay_buffer *record, VkDeviceSize offset, VkDeviceSize bytes,
                                   const void **out_data)
{
    enum lap_status status;

    if (replay_sparse_has_pages(record))
        return replay_sparse_read(r, dev, record, offset, (size_t)bytes, out_data);
    if (record->place.host) {
        status = replay_memory_place_invalidate(r, dev, &record->place, offset, bytes);
        *out_data = record->place.host + offset;
        return status;
    }
    return replay_memory_read_back(r, dev, buffer, offset, bytes, out_data);
}

/* A copy of the bytes with recorded addresses instead of the replay device's, including addresses that cross either
 * end of the range. */
static enum lap_status read_recorded(struct replay *r, struct replay_device *dev, VkBuffer buffer,
                                     const struct replay_buffer *record, VkDeviceSize offset, VkDeviceSize bytes,
                                     const void **out_data)
{
    VkDeviceSize begin = offset / 4 * 4, end = offset + bytes;
    const void *data = NULL;
    unsigned char *copy;
    enum lap_status status;

    begin -= begin < 4 ? 0 : 4;
    end = record->bytes - end < 8 ? record->bytes : end + 8;
    status = read_buffer(r, dev, buffer, record, begin, end - begin, &data);
    if (status != LAP_OK)
        return status;
    copy = replay_scratch(r, end - begin, 1);
    if (!copy)
        return replay_no_scratch(r);
    memcpy(copy, data, (size_t)(end - begin));
    replay_address_restore(dev, copy, (size_t)(end - begin));
    *out_data = copy + (offset - begin);
    return LAP_OK;
}

/* Whether the bytes of a check can be read. */
static enum lap_status is_there(struct replay *r, const struct replay_buffer *record, uint64_t index,
                                VkDeviceSize offset, VkDeviceSize bytes, bool *out_there)
{
    *out_there = false;
    if (!record)
        return replay_invalid(r, "a check of a buffer that is not alive");
    if (!record->place.memory && !replay_sparse_has_pages(record))
        return replay_fail(r, "a check of a buffer that has no memory");
    if (bytes == 0 || offset > record->bytes || bytes > record->bytes - offset)
        return replay_fail(r, "a check of bytes that are not in VkBuffer:%" PRIu64 ", which has %" PRIu64 " bytes",
                           index, (uint64_t)record->bytes);
    if (replay_check_is_ignored(r, GEN_HANDLE_VkBuffer, index))
        return LAP_OK;
    if (replay_buffer_is_rounded(record, offset, bytes)) {
        skip_rounded(r, "VkBuffer", index);
        return LAP_OK;
    }
    *out_there = true;
    return LAP_OK;
}

enum lap_status replay_lapilliCheckBuffer(struct replay *r, struct replay_device *dev,
                                          struct gen_args_lapilliCheckBuffer *args)
{
    struct replay_check_hashes hashes = {.recorded = {args->hashLow, args->hashHigh}, .is_recorded = true};
    uint64_t index, *found = hashes.found;
    const struct replay_buffer *record = replay_buffer_of(r, args->buffer, &index);
    const void *data = NULL;
    enum lap_status status;
    bool there, same;

    if (!r->check)
        return LAP_OK;
    status = is_there(r, record, index, args->offset, args->size, &there);
    if (status != LAP_OK || !there)
        return status;
    status = read_buffer(r, dev, args->buffer, record, args->offset, args->size, &data);
    if (status != LAP_OK)
        return status;
    r->check->summary.checks++;
    lap_pixels_hash(data, (size_t)args->size, &found[0], &found[1]);
    same = replay_check_hashes_same(&hashes);
    if (!same && dev->addresses.translated) {
        status = read_recorded(r, dev, args->buffer, record, args->offset, args->size, &data);
        if (status != LAP_OK)
            return status;
        lap_pixels_hash(data, (size_t)args->size, &found[0], &found[1]);
        same = replay_check_hashes_same(&hashes);
    }
    status = note_result(r, RESULT_BUFFER, index, &hashes);
    if (status == LAP_OK)
        status = replay_check_dump_buffer(r, r->check->dump, index, args->offset, data, (size_t)args->size, &hashes);
    replay_check_bytes_forget(r->check->bytes, args->hashLow, args->hashHigh); /* buffers have no format */
    if (status != LAP_OK || same || !count_difference(r, RESULT_BUFFER, index, r->at.packet.frame + 1))
        return status == LAP_OK ? LAP_OK : replay_place(r, status);
    lap_log(r->log, LAP_LOG_ERROR,
            "frame %" PRIu64 ", after %s (packet %" PRIu64 "): VkBuffer:%" PRIu64 " differs in bytes %" PRIu64
            " to %" PRIu64 ": hash %016" PRIx64 "%016" PRIx64 ", recorded %016" PRIx64 "%016" PRIx64,
            r->at.packet.frame + 1, gen_command_names[r->at.call], r->at.call_ticket, index, (uint64_t)args->offset,
            (uint64_t)(args->offset + args->size), found[1], found[0], args->hashHigh, args->hashLow);
    return LAP_OK;
}

/* ---- images ---- */

enum lap_status replay_check_skip_image(struct replay *r, uint64_t index, const char *why)
{
    r->check->summary.skipped++;
    if (!r->check->warned_skipped)
        lap_log(r->log, LAP_LOG_WARNING, "VkImage:%" PRIu64 " %s: it is not compared", index, why);
    r->check->warned_skipped = true;
    return LAP_OK;
}

enum lap_status replay_check_image(struct replay *r, const struct replay_checked_image *image, const void *data)
{
    const struct replay_rows_wanted *rows = &image->rows;
    struct replay_check_hashes hashes = {.recorded = {image->low, image->high}, .is_recorded = true};
    uint64_t *found = hashes.found;
    enum lap_status status;
    bool same;

    r->check->summary.checks++;
    lap_pixels_hash(data, (size_t)(rows->row_count * rows->bytes_in_row), &found[0], &found[1]);
    same = replay_check_hashes_same(&hashes);
    status = note_result(r, RESULT_IMAGE, image->index, &hashes);
    if (status == LAP_OK)
        status = replay_check_dump_image(r, r->check->dump, image->index, image->format, rows, data, &hashes);
    if (same)
        replay_check_bytes_forget(r->check->bytes, image->low, image->high);
    if (status != LAP_OK || same ||
        is_within(r, image->low, image->high, image->format, rows->aspect, data,
                  (size_t)(rows->row_count * rows->bytes_in_row)) ||
        !count_difference(r, RESULT_IMAGE, image->index, r->at.packet.frame + 1))
        return status == LAP_OK ? LAP_OK : replay_place(r, status);
    lap_log(r->log, LAP_LOG_ERROR,
            "frame %" PRIu64 ", after %s (packet %" PRIu64 "): VkImage:%" PRIu64
            " differs in level %u, layer %u, slice %u, rows %u to %u: hash %016" PRIx64 "%016" PRIx64
            ", recorded %016" PRIx64 "%016" PRIx64,
            r->at.packet.frame + 1, gen_command_names[r->at.call], r->at.call_ticket, image->index, rows->mip_level,
            rows->array_layer, rows->slice, rows->row, rows->row + rows->row_count, found[1], found[0], image->high,
            image->low);
    return LAP_OK;
}

/* Copies whole texels in the recorded format. */
static void copy_rows(const unsigned char *data, const struct replay_rows *rows,
                      const struct replay_rows_wanted *wanted, enum replay_format_conversion conversion,
                      unsigned char *scratch)
{
    size_t bytes = (size_t)wanted->bytes_in_row;
    uint32_t texel = replay_format_conversion_bytes(conversion).from;
    for (uint32_t row = 0; row < wanted->row_count; row++)
        memcpy(scratch + row * bytes, data + row * rows->pitch, bytes);
    if (texel)
        replay_format_convert(conversion, scratch, scratch, wanted->row_count * bytes / texel);
}

/* ---- bytes that shaders may have stored through addresses ---- */

/* A word of a buffer, or the part of it in the check. */
static size_t word_bytes(uint64_t offset, uint64_t left)
{
    uint64_t bytes = 4 - offset % 4;
    return (size_t)(bytes < left ? bytes : left);
}

/* Where the first word is that is neither as before nor as after; args->dataSize: nowhere. *out_stored: whether a word
 * can only be what the device stored. */
static size_t first_foreign_word(const struct gen_args_lapilliCheckStores *args, const unsigned char *data,
                                 bool *out_stored)
{
    const unsigned char *before = args->pBefore, *after = args->pAfter;
    size_t at, bytes;

    *out_stored = false;
    for (at = 0; at < args->dataSize; at += bytes) {
        bytes = word_bytes(args->offset + at, args->dataSize - at);
        if (memcmp(data + at, after + at, bytes) == 0)
            *out_stored |= memcmp(data + at, before + at, bytes) != 0;
        else if (memcmp(data + at, before + at, bytes) != 0)
            break;
    }
    return at;
}

enum lap_status replay_lapilliCheckStores(struct replay *r, struct replay_device *dev,
                                          struct gen_args_lapilliCheckStores *args)
{
    struct replay_check_hashes hashes = {
        .found = {args->hashLow, args->hashHigh}, .recorded = {args->hashLow, args->hashHigh}, .is_recorded = true};
    uint64_t index;
    const struct replay_buffer *record = replay_buffer_of(r, args->buffer, &index);
    const void *data = NULL;
    enum lap_status status;
    bool there, stored;
    size_t at;

    if (!r->check)
        return LAP_OK;
    status = is_there(r, record, index, args->offset, args->dataSize, &there);
    if (status == LAP_OK && there)
        status = read_buffer(r, dev, args->buffer, record, args->offset, args->dataSize, &data);
    if (status != LAP_OK || !there)
        return status;
    at = first_foreign_word(args, data, &stored);
    if (at < args->dataSize && dev->addresses.translated) {
        status = read_recorded(r, dev, args->buffer, record, args->offset, args->dataSize, &data);
        if (status != LAP_OK)
            return status;
        at = first_foreign_word(args, data, &stored);
    }
    if (at == args->dataSize && !stored) {
        r->check->summary.unclear++;
        return LAP_OK;
    }
    r->check->summary.checks++;
    if (at < args->dataSize)
        lap_pixels_hash(data, args->dataSize, &hashes.found[0], &hashes.found[1]);
    status = note_result(r, RESULT_BUFFER, index, &hashes);
    if (status == LAP_OK)
        status = replay_check_dump_buffer(r, r->check->dump, index, args->offset, data, args->dataSize, &hashes);
    if (status != LAP_OK)
        return replay_place(r, status);
    if (at < args->dataSize && count_difference(r, RESULT_BUFFER, index, r->at.packet.frame + 1))
        lap_log(r->log, LAP_LOG_ERROR,
                "frame %" PRIu64 ", after %s (packet %" PRIu64 "): VkBuffer:%" PRIu64 " differs from byte %" PRIu64
                " on, which shaders store to through an address",
                r->at.packet.frame + 1, gen_command_names[r->at.call], r->at.call_ticket, index,
                (uint64_t)args->offset + at);
    return LAP_OK;
}

enum lap_status replay_lapilliCheckImage(struct replay *r, struct replay_device *dev,
                                         struct gen_args_lapilliCheckImage *args)
{
    struct replay_rows_wanted wanted = {args->aspect, args->mipLevel, args->arrayLayer,  args->slice,
                                        args->row,    args->rowCount, args->offsetInRow, args->bytesInRow};
    const struct replay_image *record = replay_image_of(r, args->image, NULL);
    enum replay_format_conversion conversion =
        record ? replay_format_conversion(record->info.format, record->recorded_format, args->aspect)
               : REPLAY_CONVERT_NONE;
    struct replay_rows rows;
    unsigned char *scratch;
    const void *data;
    enum lap_status status;

    if (!r->check)
        return LAP_OK;
    if (!args->rowCount || !args->bytesInRow)
        return replay_fail(r, "a check of no texels");
    if (record && replay_check_is_ignored(r, GEN_HANDLE_VkImage,
                                          replay_object_index(r, GEN_HANDLE_VkImage, gen_u64_VkImage(args->image))))
        return LAP_OK;
    if (replay_format_conversion_rounds(conversion)) {
        skip_rounded(r, "VkImage", replay_object_index(r, GEN_HANDLE_VkImage, gen_u64_VkImage(args->image)));
        return LAP_OK;
    }
    status = replay_image_rows(r, dev, args->image, &wanted, &rows);
    if (status == LAP_OK)
        status = replay_rows_read(r, dev, &rows, (args->rowCount - 1) * rows.pitch + args->bytesInRow, &data);
    if (status != LAP_OK)
        return status;
    scratch = replay_scratch(r, args->rowCount, (size_t)args->bytesInRow);
    if (!scratch)
        return replay_no_scratch(r);
    copy_rows(data, &rows, &wanted, conversion, scratch);
    return replay_check_image(
        r, &(struct replay_checked_image){rows.index, record->recorded_format, wanted, args->hashLow, args->hashHigh},
        scratch);
}

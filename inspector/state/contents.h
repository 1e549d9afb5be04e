/* SPDX-License-Identifier: MIT */
/*
 * contents: the list of contents to read from a replay's objects at a place of a trace, and the answer. A replay gets
 * the list as text, a line for each, with the numbers of the trace:
 *
 *   buffer INDEX OFFSET BYTES
 *   image INDEX ASPECT LEVEL LAYER LAYOUT QUEUE
 *   queries INDEX COUNT
 *
 * ASPECT is a bit of VkImageAspectFlags, LAYOUT the VkImageLayout that all aspects of the subresource are in, QUEUE the
 * index of the queue whose family owns the image, or 0. The answer is a file with a record for each line, in the same
 * order: 32 bytes, then the bytes that were read. Numbers are little-endian.
 *
 *   4 bytes  "LPCN"
 *   4        1: it was read; 0: it can't be, and no bytes follow
 *   8        INDEX
 *   8        the number of the line, from 0
 *   8        how many bytes follow
 *
 * Texels are in rows without padding, as vkCmdCopyImageToBuffer writes them. Of the first COUNT queries of a pool each
 * has a byte: 1 if its result is available, else 0. One thread.
 */
#ifndef LAP_INSPECTOR_STATE_CONTENTS_H
#define LAP_INSPECTOR_STATE_CONTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <vulkan/vulkan_core.h>

#include "base/status.h"

enum content_kind { CONTENT_BUFFER, CONTENT_IMAGE, CONTENT_QUERIES };

struct content {
    enum content_kind kind;
    uint64_t index;
    uint64_t offset, bytes; /* of a buffer; bytes: also how many queries */
    VkImageAspectFlags aspect;
    uint32_t level, layer;
    VkImageLayout layout;
    uint64_t queue;      /* of images; of queries the queue of their last use, which is not in lists */
    VkQueryType queries; /* not in lists */
};

struct contents {
    struct content *at;
    size_t count, capacity;
};

enum lap_status contents_add(struct contents *contents, const struct content *content) LAP_MUST_CHECK;
void contents_finish(struct contents *contents); /* also for a zeroed one */

/* LAP_ERROR_IO, with a sentence. */
enum lap_status contents_write_list(const struct contents *contents, FILE *to) LAP_MUST_CHECK;
/* Adds the lines of a list. LAP_ERROR_ARGUMENT with the invalid line, LAP_ERROR_IO, LAP_ERROR_MEMORY. */
enum lap_status contents_read_list(FILE *from, struct contents *contents) LAP_MUST_CHECK;

/* A line without its end. False: it names nothing that can be read. */
bool contents_parse_line(const char *line, struct content *out);

/* ---- answers ---- */

struct contents_answer {
    bool was_read;
    uint64_t index, number, bytes;
};
#define CONTENTS_ANSWER_BYTES 32u

void contents_encode_answer(const struct contents_answer *answer, uint8_t out[CONTENTS_ANSWER_BYTES]);

/* A file of answers. Does not own fd. */
struct contents_file {
    int fd;
    struct contents_place {
        uint64_t index, offset, bytes; /* offset: in the file */
        bool was_read;
    } * places; /* [line] */
    size_t count, capacity;
};

/* LAP_ERROR_FORMAT: no file of answers; LAP_ERROR_IO, LAP_ERROR_MEMORY. */
enum lap_status contents_open(int fd, struct contents_file *out) LAP_MUST_CHECK;
void contents_close(struct contents_file *file); /* also for a zeroed one */
/* Whether the line was read, and has that many bytes. */
bool contents_has(const struct contents_file *file, size_t line, uint64_t index, uint64_t bytes);
/* Reads bytes of a line which contents_has. LAP_ERROR_IO. */
enum lap_status contents_read(const struct contents_file *file, size_t line, uint64_t offset, void *out,
                              size_t bytes) LAP_MUST_CHECK;

#endif

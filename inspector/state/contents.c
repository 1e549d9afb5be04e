/* SPDX-License-Identifier: MIT */
#include "inspector/state/contents.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

enum lap_status contents_add(struct contents *contents, const struct content *content)
{
    if (!lap_array_grow(&contents->at, sizeof *contents->at, &contents->capacity, contents->count + 1))
        return lap_no_memory(NULL);
    contents->at[contents->count++] = *content;
    return LAP_OK;
}

void contents_finish(struct contents *contents)
{
    free(contents->at);
    *contents = (struct contents){.at = NULL};
}

/* ---- lists ---- */

enum lap_status contents_write_list(const struct contents *contents, FILE *to)
{
    for (size_t i = 0; i < contents->count; i++) {
        const struct content *c = &contents->at[i];
        if (c->kind == CONTENT_QUERIES)
            fprintf(to, "queries %" PRIu64 " %" PRIu64 "\n", c->index, c->bytes);
        else if (c->kind == CONTENT_IMAGE)
            fprintf(to, "image %" PRIu64 " %u %u %u %u %" PRIu64 "\n", c->index, c->aspect, c->level, c->layer,
                    (unsigned)c->layout, c->queue);
        else
            fprintf(to, "buffer %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", c->index, c->offset, c->bytes);
    }
    return fflush(to) == 0 && !ferror(to) ? LAP_OK
                                          : lap_fail(LAP_ERROR_IO, "the list can't be written: %s", strerror(errno));
}

/* Numbers in decimal digits, a space before each, and nothing behind them. */
static bool parse_numbers(const char *text, unsigned count, uint64_t *out)
{
    for (unsigned i = 0; i < count; i++) {
        char *end;
        if (*text != ' ' || text[1] < '0' || text[1] > '9')
            return false;
        errno = 0;
        out[i] = strtoull(text + 1, &end, 10);
        if (errno)
            return false;
        text = end;
    }
    return *text == 0;
}

bool contents_parse_line(const char *line, struct content *out)
{
    uint64_t n[6];

    if (strncmp(line, "buffer", 6) == 0 && parse_numbers(line + 6, 3, n)) {
        *out = (struct content){.index = n[0], .offset = n[1], .bytes = n[2]};
        return true;
    }
    if (strncmp(line, "queries", 7) == 0 && parse_numbers(line + 7, 2, n)) {
        *out = (struct content){.kind = CONTENT_QUERIES, .index = n[0], .bytes = n[1]};
        return n[1] <= UINT32_MAX;
    }
    if (strncmp(line, "image", 5) != 0 || !parse_numbers(line + 5, 6, n) || n[1] > UINT32_MAX || n[2] > UINT32_MAX ||
        n[3] > UINT32_MAX || n[4] > INT32_MAX)
        return false;
    *out = (struct content){.kind = CONTENT_IMAGE,
                            .index = n[0],
                            .aspect = (VkImageAspectFlags)n[1],
                            .level = (uint32_t)n[2],
                            .layer = (uint32_t)n[3],
                            .layout = (VkImageLayout)n[4],
                            .queue = n[5]};
    return true;
}

enum lap_status contents_read_list(FILE *from, struct contents *contents)
{
    char line[192];

    for (size_t number = 1; fgets(line, sizeof line, from); number++) {
        struct content content;
        line[strcspn(line, "\n")] = 0;
        if (!contents_parse_line(line, &content))
            return lap_fail(LAP_ERROR_ARGUMENT, "line %zu names nothing that can be read: \"%.60s\"", number, line);
        if (contents_add(contents, &content) != LAP_OK)
            return LAP_ERROR_MEMORY;
    }
    return ferror(from) ? lap_fail(LAP_ERROR_IO, "the list can't be read: %s", strerror(errno)) : LAP_OK;
}

/* ---- answers ---- */

static const uint8_t magic[4] = {'L', 'P', 'C', 'N'};

static void put(uint8_t *at, uint64_t value, unsigned bytes)
{
    for (unsigned i = 0; i < bytes; i++)
        at[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t get(const uint8_t *at, unsigned bytes)
{
    uint64_t value = 0;

    for (unsigned i = 0; i < bytes; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

void contents_encode_answer(const struct contents_answer *answer, uint8_t out[CONTENTS_ANSWER_BYTES])
{
    memcpy(out, magic, sizeof magic);
    put(out + 4, answer->was_read, 4);
    put(out + 8, answer->index, 8);
    put(out + 16, answer->number, 8);
    put(out + 24, answer->bytes, 8);
}

/* As many bytes as there are; -1: errno says why not. */
static ssize_t read_at(int fd, void *out, size_t bytes, uint64_t offset)
{
    size_t done = 0;

    while (done < bytes) {
        ssize_t got = pread(fd, (char *)out + done, bytes - done, (off_t)(offset + done));
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -1;
        if (got == 0)
            break;
        done += (size_t)got;
    }
    return (ssize_t)done;
}

enum lap_status contents_open(int fd, struct contents_file *out)
{
    const off_t end = lseek(fd, 0, SEEK_END);
    uint64_t at = 0;

    *out = (struct contents_file){.fd = fd};
    if (end < 0)
        return lap_fail(LAP_ERROR_IO, "what was read of a replay can't be read: %s", strerror(errno));
    while (at < (uint64_t)end) {
        uint8_t head[CONTENTS_ANSWER_BYTES];
        ssize_t got = read_at(fd, head, sizeof head, at);
        uint64_t bytes = got == (ssize_t)sizeof head ? get(head + 24, 8) : UINT64_MAX;
        if (got < 0)
            return lap_fail(LAP_ERROR_IO, "what was read of a replay can't be read: %s", strerror(errno));
        at += sizeof head;
        if (got != (ssize_t)sizeof head || memcmp(head, magic, sizeof magic) != 0 || bytes > (uint64_t)end - at ||
            get(head + 16, 8) != out->count)
            return lap_fail(LAP_ERROR_FORMAT, "what was read of a replay breaks off");
        if (!lap_array_grow(&out->places, sizeof *out->places, &out->capacity, out->count + 1))
            return lap_no_memory(NULL);
        out->places[out->count++] = (struct contents_place){get(head + 8, 8), at, bytes, get(head + 4, 4) == 1};
        at += bytes;
    }
    return LAP_OK;
}

void contents_close(struct contents_file *file)
{
    free(file->places);
    *file = (struct contents_file){.fd = -1};
}

bool contents_has(const struct contents_file *file, size_t line, uint64_t index, uint64_t bytes)
{
    return line < file->count && file->places[line].was_read && file->places[line].index == index &&
           file->places[line].bytes == bytes;
}

enum lap_status contents_read(const struct contents_file *file, size_t line, uint64_t offset, void *out, size_t bytes)
{
    ssize_t got = read_at(file->fd, out, bytes, file->places[line].offset + offset);

    if (got == (ssize_t)bytes)
        return LAP_OK;
    return lap_fail(LAP_ERROR_IO, "what was read of a replay can't be read: %s",
                    got < 0 ? strerror(errno) : "it breaks off");
}

/* SPDX-License-Identifier: MIT */
#include "tests/fuzz/damage_change.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/status.h"
#include "tests/fuzz/forge.h"
#include "trace/format/chunk.h"

#define BLOCK_BYTES 512u
#define SMALLEST    16384u

const char *const damage_way_names[DAMAGE_WAYS] = {"bit flipped",
                                                   "cut",
                                                   "zeroed",
                                                   "left out",
                                                   "turned",
                                                   "ends exchanged",
                                                   "doubled",
                                                   "replaced",
                                                   "swapped",
                                                   "replaced by another trace's",
                                                   "inserted from another trace"};

/* ---- the trace ---- */

static const char *read_file(const char *path, struct damage_trace *out)
{
    FILE *in = fopen(path, "rb");
    const char *why = "can't read the trace";
    long bytes;

    if (in && fseek(in, 0, SEEK_END) == 0 && (bytes = ftell(in)) >= 0 && fseek(in, 0, SEEK_SET) == 0) {
        out->bytes = (size_t)bytes;
        out->data = malloc(out->bytes + 1);
        if (out->data && fread(out->data, 1, out->bytes, in) == out->bytes)
            why = out->bytes < SMALLEST ? "the trace is too small to say much" : NULL;
    }
    if (in)
        fclose(in);
    return why;
}

static void find_blocks(struct damage_trace *trace)
{
    for (size_t at = 0; at < trace->bytes; at += BLOCK_BYTES)
        trace->blocks[trace->block_count++] =
            (struct damage_piece){at, trace->bytes - at < BLOCK_BYTES ? trace->bytes - at : BLOCK_BYTES};
}

/* A file that is cut has a part of a chunk at its end. */
static const char *find_chunks(struct damage_trace *trace)
{
    uint64_t seed = forge_seed(trace->data, trace->bytes);
    for (size_t at = LAP_FILE_HEADER_BYTES; at + LAP_CHUNK_HEADER_BYTES <= trace->bytes;) {
        struct lap_chunk_header header;
        size_t bytes;
        if (lap_chunk_header_load(trace->data + at, seed, &header) != LAP_OK)
            return lap_error_message();
        bytes = LAP_CHUNK_HEADER_BYTES + header.stored_bytes;
        if (bytes > trace->bytes - at)
            break;
        trace->chunks[trace->chunk_count++] = (struct damage_piece){at, bytes};
        at += bytes;
        if (header.kind == LAP_CHUNK_FRAME)
            trace->frames[trace->frame_count++] = (struct damage_piece){0, at};
    }
    return trace->frame_count < 2 ? "the trace has no frames" : NULL;
}

const char *damage_load(const char *path, struct damage_trace *out)
{
    const char *why;
    size_t most;

    memset(out, 0, sizeof *out);
    why = read_file(path, out);
    if (why)
        return why;
    most = out->bytes / LAP_CHUNK_HEADER_BYTES + 1;
    out->blocks = calloc(most, sizeof *out->blocks);
    out->chunks = calloc(most, sizeof *out->chunks);
    out->frames = calloc(most, sizeof *out->frames);
    if (!out->blocks || !out->chunks || !out->frames)
        return "out of memory";
    find_blocks(out);
    return find_chunks(out);
}

void damage_unload(struct damage_trace *trace)
{
    free(trace->data);
    free(trace->blocks);
    free(trace->chunks);
    free(trace->frames);
    memset(trace, 0, sizeof *trace);
}

/* ---- numbers ---- */

/* How many changes of one way there are with blocks or with chunks: `own` of this trace's, `other` of the other's.
 * Pairs that would change nothing count, too. */
static size_t count_pieces(enum damage_way way, size_t own, size_t other, bool blocks)
{
    switch (way) {
    case DAMAGE_ZERO:
    case DAMAGE_LOSE:
    case DAMAGE_TURN:
        return own;
    case DAMAGE_ENDS:
        return blocks ? own / 2 : 0;
    case DAMAGE_DOUBLE:
        return own * (own + 1);
    case DAMAGE_REPLACE:
        return own * own;
    case DAMAGE_SWAP:
        return own * (own - 1) / 2;
    default:
        return own * other;
    }
}

static size_t count_way(const struct damage_trace *trace, const struct damage_trace *other, enum damage_way way)
{
    if (way == DAMAGE_FLIP)
        return trace->bytes * 8;
    if (way == DAMAGE_CUT)
        return trace->bytes;
    return count_pieces(way, trace->block_count, other->block_count, true) +
           count_pieces(way, trace->chunk_count, other->chunk_count, false);
}

size_t damage_count(const struct damage_trace *trace, const struct damage_trace *other)
{
    size_t count = 0;

    for (enum damage_way way = 0; way < DAMAGE_WAYS; way++)
        count += count_way(trace, other, way);
    return count;
}

/* The number-th pair of two different things, the first of them the smaller one. */
static void pair_of(size_t number, size_t *first, size_t *second)
{
    size_t larger = 1;

    for (; number >= larger; larger++)
        number -= larger;
    *first = number;
    *second = larger;
}

static struct damage_change piece_change(const struct damage_trace *trace, const struct damage_trace *other,
                                         enum damage_way way, size_t number)
{
    size_t blocks = count_pieces(way, trace->block_count, other->block_count, true), i, j;
    bool of_blocks = number < blocks;
    const struct damage_piece *own = of_blocks ? trace->blocks : trace->chunks;
    const struct damage_piece *theirs = of_blocks ? other->blocks : other->chunks;
    size_t count = of_blocks ? trace->block_count : trace->chunk_count;
    struct damage_change change = {.way = way};

    number -= of_blocks ? 0 : blocks;
    switch (way) {
    case DAMAGE_ZERO:
    case DAMAGE_LOSE:
        change.piece = own[number];
        break;
    case DAMAGE_TURN:
        change.piece = (struct damage_piece){0, own[number].at};
        change.with = (struct damage_piece){own[number].at, trace->bytes - own[number].at};
        break;
    case DAMAGE_ENDS:
        change.piece = (struct damage_piece){0, own[number].at + own[number].bytes};
        change.with = (struct damage_piece){trace->bytes - change.piece.bytes, change.piece.bytes};
        break;
    case DAMAGE_DOUBLE:
        i = number % (count + 1);
        change.piece = (struct damage_piece){i < count ? own[i].at : trace->bytes, 0};
        change.with = own[number / (count + 1)];
        break;
    case DAMAGE_SWAP:
        pair_of(number, &i, &j);
        change.piece = own[i];
        change.with = own[j];
        break;
    case DAMAGE_REPLACE:
        change.piece = own[number % count];
        change.with = own[number / count];
        break;
    default:
        change.piece = own[number % count];
        change.with = theirs[number / count];
        if (way == DAMAGE_INSERT)
            change.piece.bytes = 0;
    }
    return change;
}

struct damage_change damage_change(const struct damage_trace *trace, const struct damage_trace *other, size_t number)
{
    enum damage_way way = 0;

    while (number >= count_way(trace, other, way))
        number -= count_way(trace, other, way++);
    if (way == DAMAGE_FLIP)
        return (struct damage_change){way, number % 8, {number / 8, 1}, {0, 0}};
    if (way == DAMAGE_CUT)
        return (struct damage_change){way, 0, {number, trace->bytes - number}, {0, 0}};
    return piece_change(trace, other, way, number);
}

/* ---- what becomes of the file ---- */

size_t damage_room(const struct damage_trace *trace, const struct damage_trace *other)
{
    return 2 * trace->bytes + other->bytes;
}

/* The file with `with` in the place of the piece. */
static size_t put_instead(const struct damage_trace *trace, struct damage_piece piece, const uint8_t *with,
                          size_t with_bytes, uint8_t *out)
{
    size_t behind = piece.at + piece.bytes;

    memcpy(out, trace->data, piece.at);
    if (with_bytes)
        memcpy(out + piece.at, with, with_bytes);
    memcpy(out + piece.at + with_bytes, trace->data + behind, trace->bytes - behind);
    return trace->bytes - piece.bytes + with_bytes;
}

/* Two pieces, the first of which stands in front of the second, change places. */
static size_t put_swapped(const struct damage_trace *trace, struct damage_piece first, struct damage_piece second,
                          uint8_t *out)
{
    size_t behind = first.at + first.bytes, between = second.at - behind, at = first.at;

    memcpy(out, trace->data, trace->bytes);
    memcpy(out + at, trace->data + second.at, second.bytes);
    at += second.bytes;
    memcpy(out + at, trace->data + behind, between);
    at += between;
    memcpy(out + at, trace->data + first.at, first.bytes);
    return trace->bytes;
}

static size_t apply(const struct damage_trace *trace, const struct damage_trace *other,
                    const struct damage_change *change, uint8_t *out)
{
    struct damage_piece piece = change->piece, with = change->with;

    switch (change->way) {
    case DAMAGE_FLIP:
        memcpy(out, trace->data, trace->bytes);
        out[piece.at] ^= (uint8_t)(1u << change->bit);
        return trace->bytes;
    case DAMAGE_CUT:
    case DAMAGE_LOSE:
        return put_instead(trace, piece, NULL, 0, out);
    case DAMAGE_ZERO:
        memcpy(out, trace->data, trace->bytes);
        memset(out + piece.at, 0, piece.bytes);
        return trace->bytes;
    case DAMAGE_DOUBLE:
    case DAMAGE_REPLACE:
        return put_instead(trace, piece, trace->data + with.at, with.bytes, out);
    case DAMAGE_TURN:
    case DAMAGE_ENDS:
    case DAMAGE_SWAP:
        return put_swapped(trace, piece, with, out);
    default:
        return put_instead(trace, piece, other->data + with.at, with.bytes, out);
    }
}

size_t damage_apply(const struct damage_trace *trace, const struct damage_trace *other,
                    const struct damage_change *change, uint8_t *out, size_t *out_first)
{
    size_t bytes = apply(trace, other, change, out), first = 0;

    while (first < bytes && first < trace->bytes && out[first] == trace->data[first])
        first++;
    *out_first = first;
    return bytes;
}

/* SPDX-License-Identifier: MIT */
/*
 * damage_change: a trace, and every way in which it is damaged, each with a number. One thread.
 *
 * What is moved about are *blocks* of 512 bytes, as a disk or a file system would lose them, and chunks, which are
 * whole in themselves. Another trace of the same program gives chunks and blocks that do not belong here.
 */
#ifndef LAP_TESTS_FUZZ_DAMAGE_CHANGE_H
#define LAP_TESTS_FUZZ_DAMAGE_CHANGE_H

#include <stddef.h>
#include <stdint.h>

struct damage_piece {
    size_t at, bytes;
};

struct damage_trace {
    uint8_t *data;
    size_t bytes;
    struct damage_piece *blocks, *chunks, *frames; /* frames: from the file's begin to behind its mark */
    size_t block_count, chunk_count, frame_count;
};

/* NULL, or why it can't be done. */
const char *damage_load(const char *path, struct damage_trace *out);
void damage_unload(struct damage_trace *trace);

enum damage_way {
    DAMAGE_FLIP,    /* each bit */
    DAMAGE_CUT,     /* at each byte */
    DAMAGE_ZERO,    /* each piece */
    DAMAGE_LOSE,    /* each piece is left out */
    DAMAGE_TURN,    /* the two parts of the file that meet between two pieces change places */
    DAMAGE_ENDS,    /* so many blocks at the begin and as many at the end change places */
    DAMAGE_DOUBLE,  /* each piece stands once more, in front of each piece or at the end */
    DAMAGE_REPLACE, /* each piece stands in the place of each other one, too */
    DAMAGE_SWAP,    /* each piece changes places with each other one */
    DAMAGE_FOREIGN, /* each piece of the other trace in the place of each piece */
    DAMAGE_INSERT,  /* each piece of the other trace in front of each piece */
    DAMAGE_WAYS
};
extern const char *const damage_way_names[DAMAGE_WAYS];

struct damage_change {
    enum damage_way way;
    unsigned bit;
    /* What is damaged; with what else, of this trace or of the other one. */
    struct damage_piece piece, with;
};

size_t damage_count(const struct damage_trace *trace, const struct damage_trace *other);
/* number: from 0, less than the count. */
struct damage_change damage_change(const struct damage_trace *trace, const struct damage_trace *other, size_t number);

/* What is room enough for every damaged file. */
size_t damage_room(const struct damage_trace *trace, const struct damage_trace *other);
/* Puts the damaged file at `out` and returns its size. *out_first: the first byte that is not what it was; the smaller
 * of both sizes, where only that differs. */
size_t damage_apply(const struct damage_trace *trace, const struct damage_trace *other,
                    const struct damage_change *change, uint8_t *out, size_t *out_first);

#endif

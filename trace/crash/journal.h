/* SPDX-License-Identifier: MIT */
/*
 * journal: packets and blobs that recording threads have finished but not yet handed over (docs/format.md, "The
 * journal"). A part of the mapped part of the tail file (trace/crash/notes.h): each packet is copied there when it is
 * whole, each small blob when it has its number, so that a reader has them however the process ends. Only a reader
 * reads from there: the writer makes chunks from its own memory.
 *
 * A log is one stream's, or that of all blobs. It has two halves, for one chunk each: while one chunk is gathered the
 * one before may still be on its way into the file. A half is used again when its chunk is there.
 *
 * Another process may truncate the file: as for notes, a handler of SIGBUS then maps private memory there.
 */
#ifndef LAP_TRACE_CRASH_JOURNAL_H
#define LAP_TRACE_CRASH_JOURNAL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define LAP_JOURNAL_STREAMS     64u
#define LAP_JOURNAL_HEAD_BYTES  64u
#define LAP_JOURNAL_HASH_BYTES  4u /* behind each packet */
#define LAP_JOURNAL_SLACK_BYTES 16u
#define LAP_JOURNAL_HALF_BYTES  ((size_t)128 << 10)
#define LAP_JOURNAL_BLOBS_BYTES ((size_t)516 << 10)

enum lap_journal_kind { LAP_JOURNAL_PACKETS = 1, LAP_JOURNAL_BLOBS = 2 };

/* Whether all streams have logs: then each finished packet is in a chunk or here. */
enum lap_journal_state { LAP_JOURNAL_UNUSED = 0, LAP_JOURNAL_ALL = 1, LAP_JOURNAL_SOME = 2 };

struct lap_journal {
    _Atomic uint8_t state; /* enum lap_journal_state */
    uint8_t unused[4095];
    uint8_t blobs[2][LAP_JOURNAL_BLOBS_BYTES];
    uint8_t streams[LAP_JOURNAL_STREAMS][2][LAP_JOURNAL_HALF_BYTES];
};

/* The head of a half. */
struct lap_journal_head {
    enum lap_journal_kind kind;
    uint32_t stream;       /* PACKETS: its number */
    uint64_t thread_id;    /* PACKETS: as in their chunk */
    uint64_t first, epoch; /* of the first packet; number of the first blob, and 0 */
};

/* ---- the writer's side; one thread at a time ---- */

struct lap_journal_log {
    uint8_t *halves; /* two, one behind the other; NULL: nothing is noted */
    size_t half_bytes;
    uint8_t *at, *end; /* in the half that is written: where the next one goes; NULL: no chunk was begun there */
    unsigned half;
    uint64_t until[2]; /* how many chunks there were when that of the half was handed over */
    uint64_t seed;     /* lap_tail_seed */
};

/* Room for it is reserved. Any thread. */
void lap_journal_set_state(struct lap_journal *journal, enum lap_journal_state state);

void lap_journal_init(struct lap_journal_log *log, void *halves, size_t half_bytes, uint64_t seed);

/* Goes to the other half, for the next chunk. The chunk that was there is in the file. */
void lap_journal_begin(struct lap_journal_log *log, const struct lap_journal_head *head);

/* False: there is no room, and the half stays as it is. LAP_JOURNAL_SLACK_BYTES behind a packet are read, too. */
bool lap_journal_add_packet(struct lap_journal_log *log, const uint8_t *packet, size_t bytes, uint64_t ticket);
bool lap_journal_add_blob(struct lap_journal_log *log, const uint8_t *entry, size_t bytes);

/* The chunk of this half is on its way: the next one begins the other half. Returns which one it is. */
static inline unsigned lap_journal_leave(struct lap_journal_log *log)
{
    log->at = NULL;
    return log->half;
}

/* The chunk of a half that was left is handed over: it is in the file when that has `chunks` chunks. Call it before the
 * next half is left. */
static inline void lap_journal_handed_over(struct lap_journal_log *log, unsigned half, uint64_t chunks)
{
    log->until[half] = chunks;
}

/* For a thread that blocks SIGBUS: its handler could not run if the file is truncated. Around stores to the journal;
 * they do not nest. */
bool lap_journal_is_masked(void);
void lap_journal_unmask(void);
void lap_journal_mask(void);

/* ---- a reader's side ---- */

/* Reads a half's head, and how much of the half is used. LAP_END: there is nothing in it; LAP_ERROR_FORMAT: it is
 * damaged. */
enum lap_status lap_journal_head_load(const uint8_t in[LAP_JOURNAL_HEAD_BYTES], size_t half_bytes, uint64_t seed,
                                      struct lap_journal_head *out, size_t *out_used) LAP_MUST_CHECK;

/* The hash behind a packet. */
uint32_t lap_journal_hash(const uint8_t *packet, size_t bytes, uint64_t ticket, uint64_t seed);

struct lap_source;

/* Adds the journal's packets and blobs that no chunk has to the list of a trace without an end, whose tail file is open
 * and has a journal. Then finds up to which ticket all packets are there (source->whole_ticket). A call may be missing
 * whose packet was being written when the process ended. Where later packets are there, it is replaced by a packet
 * without a body (LAP_MISSING_PACKET). *out_damaged: parts that are damaged and left out. Only LAP_ERROR_MEMORY and
 * LAP_ERROR_IO are failures. */
enum lap_status lap_journal_recover(struct lap_source *source, unsigned *out_damaged) LAP_MUST_CHECK;

#endif

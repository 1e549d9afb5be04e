/* SPDX-License-Identifier: MIT */
/*
 * reader: opens a .lapilli file and gives its packets in ticket order. Knows no Vulkan; trusts no byte.
 *
 * The file is read with pread (never mapped: a file that shrinks must not kill us). Without an index the file is
 * scanned once. A damaged or cut file is readable up to its last complete frame, or, where there is none, up to the
 * last ticket before packets are missing; the summary then has the reason. The last packets of a process that was
 * killed are read from the tail file beside its trace, if that is there. No file is changed.
 *
 * One thread at a time per reader. A thread of its own reads ahead where that is asked for; packets, errors and their
 * order do not depend on it.
 */
#ifndef LAP_TRACE_READ_READER_H
#define LAP_TRACE_READ_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/crash/end_note.h"
#include "trace/crash/in_flight.h"
#include "trace/format/bytes.h"
#include "trace/format/chunk.h"
#include "trace/format/format.h"
#include "trace/format/wire.h"
#include "trace/read/bytes_from.h"

struct lap_reader;

struct lap_reader_options {
    uint64_t memory_limit_bytes; /* for caches of chunks and blobs; 0: 512 MiB, in 32-bit programs 128. One blob may
                                    always be held. */
    uint64_t ahead_bytes; /* a thread unpacks so many, or one blob, before they are asked for; 0: there is none */
    /* Blobs are not checked against their own hash, the one by which the writer found them. Damage is found without:
     * each chunk has a hash of its stored bytes, and parts of a blob must fit together. */
    bool trusts_blobs;
    /* Not NULL: the trace's bytes come from there, path is only its name, and a tail file is not looked for. Outlives
     * the reader and all that are opened by it. */
    const struct lap_bytes_from *from;
};

/* LAP_ERROR_IO: can't be opened or read; LAP_ERROR_FORMAT: no trace, or another format version. */
enum lap_status lap_reader_open(const char *path, const struct lap_reader_options *options,
                                struct lap_reader **out_reader) LAP_MUST_CHECK;
/* One more reader of the same file, at its first packet. It takes over the first one's results of scanning a file
 * without an index, or one that ends in the middle. Both are independent from then on. LAP_ERROR_ARGUMENT: `reader` is
 * NULL. */
enum lap_status lap_reader_open_again(const struct lap_reader *reader, const struct lap_reader_options *options,
                                      struct lap_reader **out_reader) LAP_MUST_CHECK;
struct lap_edits;
/* The same, but its packets and blobs are the edited ones (trace/read/edits.h): sealed edits of this trace, which
 * outlive the reader. lap_reader_open_again of an edited reader has its edits. New packets share the ticket of a packet
 * of the file, and lap_reader_seek goes to that. */
enum lap_status lap_reader_open_edited(const struct lap_reader *base, const struct lap_reader_options *options,
                                       const struct lap_edits *edits, struct lap_reader **out_reader) LAP_MUST_CHECK;
void lap_reader_close(struct lap_reader **reader);

struct lap_packet {
    uint32_t command; /* number in the file's dictionary */
    uint32_t stream;
    uint32_t flags; /* enum lap_packet_flags; LAP_PACKET_BLOB_BODY is already resolved */
    uint64_t ticket, epoch;
    uint64_t frame;       /* counted from 0 */
    uint64_t thread_id;   /* of the recorded thread, as the program's kernel named it */
    uint64_t file_offset; /* of the chunk that it is in; past the end of the file: in the tail file */
    uint32_t chunk_byte;  /* where its body begins in that chunk, unpacked */
    const uint8_t *body;
    size_t bytes;
    bool is_new; /* it is not in the file: LAP_EDIT_BEHIND */
};

/* Waits until all has been read ahead, or as much as ahead_bytes allow: then false. */
bool lap_reader_preload(struct lap_reader *reader);

/* The next packet by ticket; body valid until the next call. LAP_END after the last available one. Errors:
 * LAP_ERROR_FORMAT (a damaged chunk, named with its offset), LAP_ERROR_IO, LAP_ERROR_MEMORY. */
enum lap_status lap_reader_next(struct lap_reader *reader, struct lap_packet *out_packet) LAP_MUST_CHECK;

/* Successive packets of one chunk, with no other stream's between them, within one frame, none of them the chunk's
 * last, while no blob is asked for. They are read with a look at the head alone. The run ends at a packet with an
 * unusual head, which lap_reader_next reads. A reader's own; here for the sake of lap_reader_run. */
struct lap_run {
    const uint8_t *at;      /* the head of the next packet; NULL: no run */
    const uint8_t *last_at; /* where the last head may begin that is sure to lie within the chunk */
    uint64_t last_ticket;   /* of the last one that may be given out */
    uint64_t left;          /* that may be */
    uint64_t epoch;         /* of the next one */
    uint32_t steps;         /* the expected ticket and epoch steps of the next head: a byte each, the low one first */
    uint32_t commands;      /* in the dictionary, but for the first, which may have no name */
    const uint8_t *data, *end; /* the chunk's payload */
    uint64_t frame, thread_id, file_offset;
    uint32_t stream;
};

#define LAP_RUN_HEAD_BYTES 12u /* that are looked at; a head has 8 or 9 */

/* The checked bits of steps and flags: a packet with a blob ends a run. */
#define LAP_RUN_MUST_BE (0xffffu | (~((uint32_t)LAP_PACKET_ALL_FLAGS & ~LAP_PACKET_BLOB_BODY) & 0xff) << 16)

/* False: the run has ended, or can't have the next packet. Leaves *packet's ticket, frame and the fields of its chunk
 * alone. */
static inline bool lap_run_next(struct lap_run *run, struct lap_packet *packet)
{
    const uint8_t *p = run->at;
    uint32_t bytes, command, rest, is_barrier;
    uint64_t head;

    if (run->left == 0 || p > run->last_at)
        return false;
    bytes = lap_load_u32(p);
    head = lap_load_u64(p + 4);
    command = head & 0x7f;
    p += 8;
    if (head & 0x80) {
        command |= (uint32_t)head >> 1 & 0x3f80;
        if (head & 0x8000 || command < 0x80)
            return false;
        head >>= 8;
        p++;
    }
    rest = (uint32_t)(head >> 8); /* both steps, and flags */
    if ((rest ^ run->steps) & LAP_RUN_MUST_BE || command - 1 >= run->commands ||
        (uint64_t)(uintptr_t)p + bytes > (uintptr_t)run->end)
        return false;
    is_barrier = rest >> 16 & LAP_PACKET_BARRIER;
    run->at = p + bytes;
    run->steps = 1 | is_barrier << 8;
    packet->command = command;
    packet->flags = rest >> 16 & 0xff;
    packet->epoch = run->epoch;
    packet->chunk_byte = (uint32_t)(p - run->data);
    packet->body = p;
    packet->bytes = bytes;
    run->epoch += is_barrier;
    run->left--;
    return true;
}

/* lap_reader_next for the packet of the last call, which is unchanged since, while a run lasts. False: nothing is
 * changed, and lap_reader_next gives the next packet. */
static inline bool lap_reader_run(struct lap_reader *reader, struct lap_packet *packet)
{
    struct lap_run *run = (struct lap_run *)(void *)reader; /* its first member */
    if (__builtin_expect(!lap_run_next(run, packet), 0))
        return false;
    packet->ticket++;
    return true;
}

/* Goes back to the first packet. */
enum lap_status lap_reader_rewind(struct lap_reader *reader) LAP_MUST_CHECK;

/* The next packet is the one with this ticket; behind the last one is LAP_END. Reads a chunk of each stream. Damage in
 * front of the packet may go unseen; the errors are those of lap_reader_next. LAP_ERROR_ARGUMENT: the reader reads
 * ahead. */
enum lap_status lap_reader_seek(struct lap_reader *reader, uint64_t ticket) LAP_MUST_CHECK;

/* The bytes of a blob; valid until the next lap_reader_next, lap_reader_rewind or lap_reader_seek.
 * LAP_ERROR_FORMAT when there is no such blob, it is damaged, or of another kind. */
enum lap_status lap_reader_blob(struct lap_reader *reader, enum lap_blob_kind kind, uint64_t id,
                                const uint8_t **out_data, size_t *out_bytes) LAP_MUST_CHECK;

/* The dictionary; NULL past the end. Names are checked: printable ASCII without space, at most 255 bytes. */
const char *lap_reader_command_name(const struct lap_reader *reader, uint64_t number);
const char *lap_reader_struct_name(const struct lap_reader *reader, uint64_t number);
const char *lap_reader_handle_type_name(const struct lap_reader *reader, uint64_t number);
uint32_t lap_reader_command_count(const struct lap_reader *reader);
uint32_t lap_reader_struct_count(const struct lap_reader *reader);
uint32_t lap_reader_handle_type_count(const struct lap_reader *reader);

/* The last ticket of a complete frame, counted from 0; UINT64_MAX: no such frame. */
uint64_t lap_reader_frame_end(const struct lap_reader *reader, uint64_t frame);

struct lap_reader_summary {
    uint32_t format_version;
    uint8_t uuid[16];
    bool complete;       /* it has an end chunk and recording was not stopped */
    bool indexed;        /* the index was there and good */
    const char *stopped; /* why recording ended early or the file is cut; NULL when complete */
    /* The file, or a tail file beside it, has more behind the damage, or has bytes that can't be read now. */
    bool has_rest;
    /* Damage that was repaired from copies, without a loss; NULL when none is known. Frame marks are checked when their
     * frames have been read. */
    const char *repaired;
    uint64_t frames; /* complete ones */
    uint32_t streams;
    uint64_t packets; /* when indexed or scanned */
    uint64_t blobs, blob_bytes;
    uint64_t file_bytes, raw_bytes;
    uint64_t recovered_frames, recovered_bytes; /* of these: from the tail file of a process that was killed */
    uint64_t recovered_packets;                 /* of these: behind the last frame mark, wherever they are */
    uint64_t counters[LAP_COUNTER_COUNT];
    /* Calls that had not returned when the recorded process was last heard of, in the order of the file; none for
     * lap_reader_open_again. The numbers of their commands are in the dictionary; their bodies may be damaged, like
     * others. */
    const struct lap_in_flight *in_flight;
    size_t in_flight_count;
    /* Another process has ended the trace, since its own was gone: the note of that, and a sentence. NULL for all
     * others; a trace may be complete with them. */
    const struct lap_end_note *end_note;
    const char *ended;
    const char *info; /* the merged info object as JSON text; "{}" when there is none */
};
const struct lap_reader_summary *lap_reader_summary(const struct lap_reader *reader);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * blob_store: finds the blobs that a file already has, and gathers new ones on their way into it. Part of a writer.
 *
 * Blobs have numbers in the order of the file. Any thread. Adding a small blob holds `mutex` only to find its number
 * and to copy it. Gathered blobs are handed over under `order`, which is taken before `mutex`, so that other threads go
 * on adding meanwhile. For a large blob both are held until it is handed over.
 */
#ifndef LAP_TRACE_WRITE_BLOB_STORE_H
#define LAP_TRACE_WRITE_BLOB_STORE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/format/wire.h"
#include "trace/write/output.h"

struct lap_blob_slot;

struct lap_blob_store {
    pthread_mutex_t order, mutex;
    struct lap_output *output;
    struct lap_blob_slot *slots; /* open addressing, by content hash */
    size_t slot_count;           /* power of two, or 0 */
    uint64_t count;              /* blobs so far: the last number */
    _Atomic uint64_t bytes;      /* of the distinct blobs */
    uint8_t *pending;            /* the payload of the next BLOBS chunk */
    uint8_t *spare;              /* that of the last one, which the holder of `order` may be handing over */
    size_t pending_bytes;
    uint32_t pending_count;
    struct lap_journal_log log; /* of the pending blobs */
    bool log_refused;
};

void lap_blob_store_init(struct lap_blob_store *store, struct lap_output *output);
void lap_blob_store_finish(struct lap_blob_store *store); /* frees memory; takes no lock */

/* The number of these bytes; *out_new: whether this call stored them. */
enum lap_status lap_blob_store_add(struct lap_blob_store *store, enum lap_blob_kind kind, const void *data,
                                   size_t bytes, uint64_t *out_id, bool *out_new) LAP_MUST_CHECK;

/* The same for bytes that are never stored again, after all others, without memory. bytes 0: lap_blob_store_flush
 * alone, and *out_id stays. */
enum lap_status lap_blob_store_append(struct lap_blob_store *store, enum lap_blob_kind kind, const void *data,
                                      size_t bytes, uint64_t *out_id) LAP_MUST_CHECK;

/* From now on a blob is in the journal as soon as it has a number; earlier blobs can be found, too. False: they can't
 * be. */
bool lap_blob_store_begin_log(struct lap_blob_store *store) LAP_MUST_CHECK;

/* Makes sure that every blob with a number is in the file. */
enum lap_status lap_blob_store_flush(struct lap_blob_store *store) LAP_MUST_CHECK;

#endif

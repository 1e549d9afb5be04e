/* SPDX-License-Identifier: MIT */
#include "trace/write/blob_store.h"

#include <stdlib.h>
#include <string.h>

#include "trace/crash/notes.h"

#define PENDING_BYTES ((size_t)512 << 10) /* small blobs are gathered up to here */
#define PART_BYTES    ((size_t)1 << 20)   /* larger ones are written in parts of this size, a chunk each */
#define FIRST_SLOTS   ((size_t)1024)

_Static_assert(PENDING_BYTES + LAP_JOURNAL_HEAD_BYTES <= LAP_JOURNAL_BLOBS_BYTES, "what is pending fits the journal");
_Static_assert(LAP_BLOB_ENTRY_BYTES + PART_BYTES <= LAP_CHUNK_MAX_RAW, "a part fits a chunk");

struct lap_blob_slot {
    struct lap_blob_hash hash;
    uint64_t bytes;
    uint64_t id_and_kind; /* id << 8 | kind; 0: empty */
};

void lap_blob_store_init(struct lap_blob_store *store, struct lap_output *output)
{
    memset(store, 0, sizeof(*store));
    pthread_mutex_init(&store->order, NULL);
    pthread_mutex_init(&store->mutex, NULL);
    store->output = output;
}

void lap_blob_store_finish(struct lap_blob_store *store)
{
    free(store->slots);
    free(store->pending);
    free(store->spare);
    store->slots = NULL;
    store->pending = store->spare = NULL;
}

static struct lap_blob_slot *find_slot(struct lap_blob_slot *slots, size_t slot_count,
                                       const struct lap_blob_slot *wanted)
{
    for (size_t at = wanted->hash.low & (slot_count - 1);; at = (at + 1) & (slot_count - 1)) {
        struct lap_blob_slot *slot = &slots[at];
        if (slot->id_and_kind == 0 ||
            (slot->hash.low == wanted->hash.low && slot->hash.high == wanted->hash.high &&
             slot->bytes == wanted->bytes && (slot->id_and_kind & 0xff) == (wanted->id_and_kind & 0xff)))
            return slot;
    }
}

/* Room for one more blob; at most half of the slots are used. */
static enum lap_status make_room(struct lap_blob_store *store)
{
    if ((store->count + 1) * 2 <= store->slot_count)
        return LAP_OK;
    size_t slot_count = store->slot_count ? store->slot_count * 2 : FIRST_SLOTS;
    struct lap_blob_slot *slots = calloc(slot_count, sizeof(*slots));
    if (!slots)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < store->slot_count; i++)
        if (store->slots[i].id_and_kind)
            *find_slot(slots, slot_count, &store->slots[i]) = store->slots[i];
    free(store->slots);
    store->slots = slots;
    store->slot_count = slot_count;
    return LAP_OK;
}

/* Writes a BLOBS chunk with the blobs up to number `last`. `order` is held. */
static enum lap_status write_chunk(struct lap_blob_store *store, const struct iovec *parts, unsigned part_count,
                                   uint32_t count, uint64_t last)
{
    struct lap_chunk_header header = {.kind = LAP_CHUNK_BLOBS, .count = count, .first = last - count + 1, .last = last};
    return lap_output_chunk(store->output, &header, parts, part_count);
}

struct taken {
    struct iovec part;
    uint32_t count;
    uint64_t last;
    unsigned half; /* of the log */
    bool logged;
};

static bool take_log(struct lap_blob_store *store)
{
    struct lap_notes *notes = lap_output_notes(store->output);
    if (!notes || store->log.halves || store->log_refused)
        return notes && store->log.halves;
    store->log_refused =
        !lap_output_reserve_notes(store->output, &notes->journal, offsetof(struct lap_journal, streams));
    if (!store->log_refused) {
        lap_journal_set_state(&notes->journal,
                              LAP_JOURNAL_ALL); /* before a stream has a log, and may change the state */
        lap_journal_init(&store->log, notes->journal.blobs, LAP_JOURNAL_BLOBS_BYTES, store->output->queue.seed);
    }
    return !store->log_refused;
}

/* Writes a pending blob to the journal. The first pending blob begins a half there; the others follow only if it could.
 * The blobs pending before the last time have left that half. They are in the queue, for `order` was given back
 * since. */
static void log_pending(struct lap_blob_store *store, uint64_t id, const uint8_t *entry, size_t bytes)
{
    struct lap_journal_head head = {.kind = LAP_JOURNAL_BLOBS, .first = id};
    bool begins = store->pending_count == 1;
    if (begins ? !take_log(store) : !store->log.at)
        return;
    bool is_masked = lap_journal_is_masked();
    if (is_masked)
        lap_journal_unmask();
    if (begins)
        lap_output_log_chunk(store->output, &store->log, &head);
    (void)lap_journal_add_blob(&store->log, entry, bytes); /* a half has room for all that can be pending */
    if (is_masked)
        lap_journal_mask();
}

/* The caller writes the pending blobs; other threads then add to the spare buffer. Both mutexes are held. */
static struct taken take_pending(struct lap_blob_store *store)
{
    struct taken taken = {
        .part = {store->pending, store->pending_bytes}, .count = store->pending_count, .last = store->count};
    store->pending = store->spare;
    store->spare = taken.part.iov_base;
    store->pending_bytes = 0;
    store->pending_count = 0;
    taken.logged = store->log.at;
    taken.half = lap_journal_leave(&store->log);
    return taken;
}

static enum lap_status write_taken(struct lap_blob_store *store, const struct taken *taken)
{
    enum lap_status status = taken->count ? write_chunk(store, &taken->part, 1, taken->count, taken->last) : LAP_OK;
    if (taken->logged)
        lap_output_log_handed_over(store->output, &store->log, taken->half);
    return status;
}

static void store_entry(uint8_t *at, const struct lap_blob_entry *entry, const uint8_t *data)
{
    size_t end = LAP_BLOB_ENTRY_BYTES + entry->part_bytes;
    lap_blob_entry_store(entry, at);
    if (entry->part_bytes)
        memcpy(at + LAP_BLOB_ENTRY_BYTES, data, entry->part_bytes);
    memset(at + end, 0, lap_blob_entry_stride(entry->part_bytes) - end);
}

/* A blob too large to be gathered goes into the file at once, in chunks that hold nothing else. */
static enum lap_status write_parts(struct lap_blob_store *store, uint64_t id, struct lap_blob_entry *entry,
                                   const uint8_t *data)
{
    size_t total = (size_t)entry->total_bytes;
    enum lap_status status = LAP_OK;
    for (size_t offset = 0; status == LAP_OK && offset < total; offset += entry->part_bytes) {
        static const uint8_t padding[LAP_BLOB_ALIGN];
        uint8_t head[LAP_BLOB_ENTRY_BYTES];
        entry->part_offset = offset;
        entry->part_bytes = (uint32_t)(total - offset < PART_BYTES ? total - offset : PART_BYTES);
        lap_blob_entry_store(entry, head);
        struct iovec parts[3] = {
            {head, sizeof(head)},
            {(void *)(uintptr_t)(data + offset), entry->part_bytes},
            {(void *)(uintptr_t)padding, lap_blob_entry_stride(entry->part_bytes) - sizeof(head) - entry->part_bytes},
        };
        status = write_chunk(store, parts, 3, 1, id);
    }
    lap_output_save(store->output);
    return status;
}

static bool is_large(size_t bytes)
{
    return bytes > PENDING_BYTES || lap_blob_entry_stride(bytes) > PENDING_BYTES;
}

static bool have_pending(struct lap_blob_store *store)
{
    if (!store->pending)
        store->pending = malloc(PENDING_BYTES);
    if (!store->spare)
        store->spare = malloc(PENDING_BYTES);
    return store->pending && store->spare;
}

/* Both mutexes, or none. */
static bool lock_both(struct lap_blob_store *store)
{
    if (!lap_output_lock(store->output, &store->order))
        return false;
    if (lap_output_lock(store->output, &store->mutex))
        return true;
    pthread_mutex_unlock(&store->order);
    return false;
}

static void number(struct lap_blob_store *store, struct lap_blob_slot *slot, struct lap_blob_slot wanted)
{
    store->count++;
    store->bytes += wanted.bytes;
    wanted.id_and_kind |= store->count << 8;
    *slot = wanted;
}

/* No other blob gets a later number before this one is written: the journal is read up to the first missing blob. */
static enum lap_status add_large(struct lap_blob_store *store, struct lap_blob_slot wanted, const void *data,
                                 uint64_t *out_id, bool *out_new)
{
    struct lap_blob_entry entry = {
        .kind = (uint8_t)wanted.id_and_kind, .total_bytes = wanted.bytes, .hash = wanted.hash};
    if (!lock_both(store))
        return LAP_ERROR_STOPPED;
    enum lap_status status = make_room(store);
    if (status == LAP_OK) {
        struct lap_blob_slot *slot = find_slot(store->slots, store->slot_count, &wanted);
        *out_new = slot->id_and_kind == 0;
        if (*out_new) {
            struct taken taken = take_pending(store);
            number(store, slot, wanted);
            status = write_taken(store, &taken);
            if (status == LAP_OK)
                status = write_parts(store, store->count, &entry, data);
        }
        *out_id = slot->id_and_kind >> 8;
    }
    pthread_mutex_unlock(&store->mutex);
    pthread_mutex_unlock(&store->order);
    return status;
}

/* LAP_AGAIN: there is no room until the pending blobs are handed over. The mutex is held. */
static enum lap_status add_small(struct lap_blob_store *store, const struct lap_blob_slot *wanted, const void *data,
                                 uint64_t *out_id, bool *out_new)
{
    enum lap_status status = make_room(store);
    if (status != LAP_OK)
        return status;
    struct lap_blob_slot *slot = find_slot(store->slots, store->slot_count, wanted);
    *out_new = slot->id_and_kind == 0;
    if (*out_new) {
        struct lap_blob_entry entry = {.kind = (uint8_t)wanted->id_and_kind,
                                       .total_bytes = wanted->bytes,
                                       .part_bytes = (uint32_t)wanted->bytes,
                                       .hash = wanted->hash};
        size_t stride = lap_blob_entry_stride((size_t)wanted->bytes);
        if (!have_pending(store))
            return lap_fail(LAP_ERROR_MEMORY, "out of memory");
        if (stride > PENDING_BYTES - store->pending_bytes)
            return LAP_AGAIN;
        store_entry(store->pending + store->pending_bytes, &entry, data);
        store->pending_bytes += stride;
        store->pending_count++;
        number(store, slot, *wanted);
        log_pending(store, store->count, store->pending + store->pending_bytes - stride, stride);
    }
    *out_id = slot->id_and_kind >> 8;
    return LAP_OK;
}

enum lap_status lap_blob_store_add(struct lap_blob_store *store, enum lap_blob_kind kind, const void *data,
                                   size_t bytes, uint64_t *out_id, bool *out_new)
{
    struct lap_blob_slot wanted = {lap_blob_hash_of(bytes ? data : "", bytes), bytes, kind};
    enum lap_status status;

    if (is_large(bytes))
        return add_large(store, wanted, data, out_id, out_new);
    do {
        if (!lap_output_lock(store->output, &store->mutex))
            return LAP_ERROR_STOPPED;
        status = add_small(store, &wanted, data, out_id, out_new);
        pthread_mutex_unlock(&store->mutex);
    } while (status == LAP_AGAIN && (status = lap_blob_store_flush(store)) == LAP_OK);
    return status;
}

enum lap_status lap_blob_store_append(struct lap_blob_store *store, enum lap_blob_kind kind, const void *data,
                                      size_t bytes, uint64_t *out_id)
{
    if (!lock_both(store))
        return LAP_ERROR_STOPPED;
    struct taken taken = take_pending(store);
    uint64_t id = bytes ? ++store->count : 0;
    store->bytes += bytes;
    enum lap_status status = write_taken(store, &taken);
    if (status == LAP_OK && bytes) {
        struct lap_blob_entry entry = {
            .kind = (uint8_t)kind, .total_bytes = bytes, .hash = lap_blob_hash_of(data, bytes)};
        status = write_parts(store, id, &entry, data);
        if (status == LAP_OK)
            *out_id = id;
    }
    pthread_mutex_unlock(&store->mutex);
    pthread_mutex_unlock(&store->order);
    return status;
}

bool lap_blob_store_begin_log(struct lap_blob_store *store)
{
    struct taken taken = {.count = 0};
    enum lap_status status = LAP_OK;
    if (!lock_both(store))
        return false;
    bool good = take_log(store);
    if (good && store->pending_count && !store->log.at)
        taken = take_pending(store);
    pthread_mutex_unlock(&store->mutex);
    if (taken.count) {
        status = write_taken(store, &taken);
        lap_output_save(store->output);
    }
    pthread_mutex_unlock(&store->order);
    return good && status == LAP_OK;
}

enum lap_status lap_blob_store_flush(struct lap_blob_store *store)
{
    if (!lock_both(store))
        return LAP_ERROR_STOPPED;
    struct taken taken = take_pending(store);
    pthread_mutex_unlock(&store->mutex);
    enum lap_status status = write_taken(store, &taken);
    pthread_mutex_unlock(&store->order);
    return status;
}

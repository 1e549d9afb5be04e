/* SPDX-License-Identifier: MIT */
#include "trace/blob_store.h"

#include <stdlib.h>
#include <string.h>

#define PENDING_BYTES ((size_t)512 << 10) /* small blobs are gathered up to here */
#define PART_BYTES    ((size_t)1 << 20)   /* larger ones are written in parts of this size, a chunk each */
#define FIRST_SLOTS   ((size_t)1024)

_Static_assert(LAP_BLOB_ENTRY_BYTES + PART_BYTES <= LAP_CHUNK_MAX_RAW, "a part fits a chunk");

struct lap_blob_slot {
    struct lap_blob_hash hash;
    uint64_t bytes;
    uint64_t id_and_kind; /* id << 8 | kind; 0: empty */
};

void lap_blob_store_init(struct lap_blob_store *store, struct lap_output *output)
{
    memset(store, 0, sizeof(*store));
    pthread_mutex_init(&store->mutex, NULL);
    store->output = output;
}

void lap_blob_store_finish(struct lap_blob_store *store)
{
    free(store->slots);
    free(store->pending);
    store->slots = NULL;
    store->pending = NULL;
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

/* Writes a BLOBS chunk with the blobs up to number `last`. The mutex is held. */
static enum lap_status write_chunk(struct lap_blob_store *store, const struct iovec *parts, unsigned part_count,
                                   uint32_t count, uint64_t last)
{
    struct lap_chunk_header header = {.kind = LAP_CHUNK_BLOBS, .count = count, .first = last - count + 1, .last = last};
    return lap_output_chunk(store->output, &header, parts, part_count);
}

/* `last`: the last number that is pending. */
static enum lap_status flush(struct lap_blob_store *store, uint64_t last)
{
    if (store->pending_count == 0)
        return LAP_OK;
    struct iovec part = {store->pending, store->pending_bytes};
    enum lap_status status = write_chunk(store, &part, 1, store->pending_count, last);
    store->pending_bytes = 0;
    store->pending_count = 0;
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
    return status;
}

static enum lap_status write_blob(struct lap_blob_store *store, uint64_t id, struct lap_blob_entry *entry,
                                  const uint8_t *data)
{
    size_t total = (size_t)entry->total_bytes;
    enum lap_status status;
    if (total > PENDING_BYTES || lap_blob_entry_stride(total) > PENDING_BYTES) {
        status = flush(store, id - 1);
        return status == LAP_OK ? write_parts(store, id, entry, data) : status;
    }
    if (!store->pending) {
        store->pending = malloc(PENDING_BYTES);
        if (!store->pending)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    }
    if (lap_blob_entry_stride(total) > PENDING_BYTES - store->pending_bytes) {
        status = flush(store, id - 1);
        if (status != LAP_OK)
            return status;
    }
    entry->part_bytes = (uint32_t)total;
    store_entry(store->pending + store->pending_bytes, entry, data);
    store->pending_bytes += lap_blob_entry_stride(total);
    store->pending_count++;
    return LAP_OK;
}

enum lap_status lap_blob_store_add(struct lap_blob_store *store, enum lap_blob_kind kind, const void *data,
                                   size_t bytes, uint64_t *out_id, bool *out_new)
{
    struct lap_blob_slot wanted = {lap_blob_hash_of(bytes ? data : "", bytes), bytes, kind};

    if (!lap_output_lock(store->output, &store->mutex))
        return LAP_ERROR_STOPPED;
    enum lap_status status = make_room(store);
    if (status != LAP_OK)
        goto out;
    struct lap_blob_slot *slot = find_slot(store->slots, store->slot_count, &wanted);
    *out_new = slot->id_and_kind == 0;
    if (*out_new) {
        struct lap_blob_entry entry = {.kind = (uint8_t)kind, .total_bytes = bytes, .hash = wanted.hash};
        status = write_blob(store, store->count + 1, &entry, data);
        if (status != LAP_OK)
            goto out;
        store->count++;
        store->bytes += bytes;
        wanted.id_and_kind |= store->count << 8;
        *slot = wanted;
    }
    *out_id = slot->id_and_kind >> 8;
out:
    pthread_mutex_unlock(&store->mutex);
    return status;
}

enum lap_status lap_blob_store_append(struct lap_blob_store *store, enum lap_blob_kind kind, const void *data,
                                      size_t bytes, uint64_t *out_id)
{
    if (!lap_output_lock(store->output, &store->mutex))
        return LAP_ERROR_STOPPED;
    enum lap_status status = flush(store, store->count);
    if (status == LAP_OK && bytes) {
        struct lap_blob_entry entry = {
            .kind = (uint8_t)kind, .total_bytes = bytes, .hash = lap_blob_hash_of(data, bytes)};
        status = write_parts(store, store->count + 1, &entry, data);
        if (status == LAP_OK) {
            *out_id = ++store->count;
            store->bytes += bytes;
        }
    }
    pthread_mutex_unlock(&store->mutex);
    return status;
}

enum lap_status lap_blob_store_flush(struct lap_blob_store *store)
{
    if (!lap_output_lock(store->output, &store->mutex))
        return LAP_ERROR_STOPPED;
    enum lap_status status = flush(store, store->count);
    pthread_mutex_unlock(&store->mutex);
    return status;
}

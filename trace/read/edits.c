/* SPDX-License-Identifier: MIT */
#include "trace/read/edits.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/map.h"
#include "trace/format/hash.h"
#include "trace/read/reader_internal.h"

struct blob {
    const uint8_t *data;
    size_t bytes;
    enum lap_blob_kind kind;
    uint64_t same_hash; /* 1 + the number of an earlier one with the same hash; 0: none */
};

struct entry {
    struct lap_edit edit; /* first: sealing makes a list of these */
    size_t number;        /* in the order of adding */
};

struct lap_edits {
    struct entry *entries; /* until sealed */
    struct lap_edit *list; /* then */
    size_t count, capacity;
    struct blob *blobs;
    size_t blob_count, blob_capacity;
    uint64_t file_blobs;
    struct lap_map hashes; /* 1 + the number of the last blob, by hash */
    struct lap_arena arena;
    uint64_t last_ticket;
};

static const uint8_t *copy(struct lap_edits *edits, const void *data, size_t bytes)
{
    uint8_t *out = lap_arena_alloc(&edits->arena, bytes ? bytes : 1, 1);

    if (out && bytes)
        memcpy(out, data, bytes);
    return out;
}

static enum lap_status take_over(struct lap_edits *edits, const struct lap_edits *base)
{
    enum lap_status status = LAP_OK;
    uint64_t id;

    edits->last_ticket = base->last_ticket;
    for (size_t i = 0; i < base->blob_count && status == LAP_OK; i++)
        status = lap_edits_blob(edits, base->blobs[i].kind, base->blobs[i].data, base->blobs[i].bytes, &id);
    for (size_t i = 0; i < base->count && status == LAP_OK; i++)
        status = lap_edits_add(edits, &base->list[i]);
    return status;
}

enum lap_status lap_edits_create(const struct lap_reader *base, struct lap_edits **out)
{
    struct lap_edits *edits = *out = calloc(1, sizeof *edits);
    enum lap_status status = LAP_OK;

    if (!edits)
        return lap_no_memory("changes to a trace");
    lap_map_init(&edits->hashes);
    lap_arena_init(&edits->arena, 0);
    edits->file_blobs = base->file_blobs;
    edits->last_ticket = UINT64_MAX;
    if (base->edits)
        status = take_over(edits, base->edits);
    if (status != LAP_OK)
        lap_edits_destroy(out);
    return status;
}

void lap_edits_destroy(struct lap_edits **edits_at)
{
    struct lap_edits *edits = *edits_at;

    if (!edits)
        return;
    lap_map_finish(&edits->hashes);
    lap_arena_finish(&edits->arena);
    free(edits->entries);
    free(edits->list);
    free(edits->blobs);
    free(edits);
    *edits_at = NULL;
}

/* ---- filling ---- */

enum lap_status lap_edits_add(struct lap_edits *edits, const struct lap_edit *edit)
{
    struct lap_edit mine = *edit;

    if (edit->kind != LAP_EDIT_DROP)
        mine.body = copy(edits, edit->body, edit->bytes);
    if ((edit->kind != LAP_EDIT_DROP && !mine.body) ||
        !lap_array_grow(&edits->entries, sizeof *edits->entries, &edits->capacity, edits->count + 1))
        return lap_no_memory("changes to a trace");
    edits->entries[edits->count] = (struct entry){mine, edits->count};
    edits->count++;
    return LAP_OK;
}

enum lap_status lap_edits_blob(struct lap_edits *edits, enum lap_blob_kind kind, const void *data, size_t bytes,
                               uint64_t *out_id)
{
    uint64_t key = lap_hash64_seeded(data, bytes, kind) >> 1; /* a map has no room for the largest keys */
    uint64_t last = (uintptr_t)lap_map_get(&edits->hashes, key);

    for (uint64_t i = last; i; i = edits->blobs[i - 1].same_hash) {
        const struct blob *blob = &edits->blobs[i - 1];
        if (blob->kind == kind && blob->bytes == bytes && memcmp(blob->data, data, bytes) == 0) {
            *out_id = edits->file_blobs + i;
            return LAP_OK;
        }
    }
    data = copy(edits, data, bytes);
    if (!data || !lap_array_grow(&edits->blobs, sizeof *edits->blobs, &edits->blob_capacity, edits->blob_count + 1) ||
        lap_map_put(&edits->hashes, key, (void *)(uintptr_t)(edits->blob_count + 1), NULL) != LAP_OK)
        return lap_no_memory("changes to a trace");
    edits->blobs[edits->blob_count++] = (struct blob){data, bytes, kind, last};
    *out_id = edits->file_blobs + edits->blob_count;
    return LAP_OK;
}

void lap_edits_end_at(struct lap_edits *edits, uint64_t ticket)
{
    if (ticket < edits->last_ticket)
        edits->last_ticket = ticket;
}

static int compare(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;

    if (a->edit.ticket != b->edit.ticket)
        return a->edit.ticket < b->edit.ticket ? -1 : 1;
    if ((a->edit.kind == LAP_EDIT_BEHIND) != (b->edit.kind == LAP_EDIT_BEHIND))
        return b->edit.kind == LAP_EDIT_BEHIND ? -1 : 1;
    return a->number < b->number ? -1 : 1;
}

enum lap_status lap_edits_seal(struct lap_edits *edits)
{
    size_t count = 0;

    edits->list = calloc(edits->count + 1, sizeof *edits->list);
    if (!edits->list)
        return lap_no_memory("changes to a trace");
    if (edits->count)
        qsort(edits->entries, edits->count, sizeof *edits->entries, compare);
    for (size_t i = 0; i < edits->count; i++) {
        const struct lap_edit *edit = &edits->entries[i].edit;
        const struct lap_edit *next = i + 1 < edits->count ? &edits->entries[i + 1].edit : NULL;
        if (edit->ticket > edits->last_ticket ||
            (edit->kind != LAP_EDIT_BEHIND && next && next->ticket == edit->ticket && next->kind != LAP_EDIT_BEHIND))
            continue;
        edits->list[count++] = *edit;
    }
    free(edits->entries);
    edits->entries = NULL;
    edits->count = count;
    return LAP_OK;
}

/* ---- reading ---- */

const struct lap_edit *lap_edits_list(const struct lap_edits *edits, size_t *out_count)
{
    *out_count = edits->count;
    return edits->list;
}

uint64_t lap_edits_last_ticket(const struct lap_edits *edits)
{
    return edits->last_ticket;
}

uint64_t lap_edits_blob_count(const struct lap_edits *edits)
{
    return edits->blob_count;
}

enum lap_status lap_edits_find_blob(const struct lap_edits *edits, enum lap_blob_kind kind, uint64_t id,
                                    const uint8_t **out_data, size_t *out_bytes)
{
    const struct blob *blob = &edits->blobs[id];

    if (blob->kind != kind)
        return lap_fail(LAP_ERROR_FORMAT, "a new blob is of another kind than its use says");
    *out_data = blob->data;
    *out_bytes = blob->bytes;
    return LAP_OK;
}

/* SPDX-License-Identifier: MIT */
#include "trace/read/complete_prefix.h"

#include <inttypes.h>
#include <stdlib.h>

#include "trace/format/decode.h"

#define LEAST_PACKET_BYTES 8u

/* Chunks whose tickets overlap, in the order of their first ones. No other chunk has tickets behind `before`, up to
 * `last`. */
struct group {
    size_t begin, end; /* in the list of packet chunks */
    uint64_t before, last;
    uint64_t count; /* of packets */
};

struct list {
    const struct lap_chunk_ref **chunks;
    size_t count;
};

static int compare(const void *a, const void *b)
{
    const struct lap_chunk_header *x = &(*(const struct lap_chunk_ref *const *)a)->header;
    const struct lap_chunk_header *y = &(*(const struct lap_chunk_ref *const *)b)->header;
    return x->first < y->first ? -1 : x->first > y->first;
}

static enum lap_status make_list(const struct lap_source *source, struct list *list)
{
    list->chunks = malloc((source->chunk_count + 1) * sizeof(*list->chunks));
    list->count = 0;
    if (!list->chunks)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    for (size_t i = 0; i < source->chunk_count; i++)
        if (source->chunks[i].header.kind == LAP_CHUNK_PACKETS)
            list->chunks[list->count++] = &source->chunks[i];
    qsort(list->chunks, list->count, sizeof(*list->chunks), compare);
    return LAP_OK;
}

/* The next group behind one that ended at list->chunks[begin]. */
static struct group next_group(const struct list *list, size_t begin, uint64_t before)
{
    struct group group = {.begin = begin, .end = begin, .before = before, .last = before};
    while (group.end < list->count && (group.end == begin || list->chunks[group.end]->header.first <= group.last)) {
        const struct lap_chunk_header *header = &list->chunks[group.end++]->header;
        if (header->last > group.last)
            group.last = header->last;
        group.count += header->count;
    }
    return group;
}

static enum lap_status damaged(const struct lap_chunk_ref *chunk)
{
    return lap_fail(LAP_ERROR_FORMAT, "chunk at offset %" PRIu64 ": its packets are not as its header says",
                    chunk->offset);
}

/* Notes the tickets of a chunk that are among the `bits` ones behind group->before. */
static enum lap_status note_tickets(const struct lap_chunk_ref *chunk, const uint8_t *raw, const struct group *group,
                                    uint8_t *there, uint64_t bits)
{
    uint64_t ticket = chunk->header.first;
    struct lap_dec dec;
    lap_dec_init(&dec, raw, chunk->header.raw_bytes, NULL, NULL);
    (void)lap_get_u64(&dec); /* the thread */
    for (uint32_t i = 0; i < chunk->header.count; i++) {
        uint32_t bytes = lap_get_fixed32(&dec);
        (void)lap_get_u64(&dec); /* the command */
        uint64_t step = lap_get_u64(&dec);
        (void)lap_get_u64(&dec); /* the epoch */
        (void)lap_get_u64(&dec); /* flags */
        if (dec.status != LAP_OK || bytes > (size_t)(dec.end - dec.p) || step > chunk->header.last - ticket)
            return damaged(chunk);
        ticket += step;
        dec.p += bytes;
        if (ticket > group->before && ticket - group->before <= bits)
            there[(ticket - group->before - 1) / 8] |= (uint8_t)(1u << (ticket - group->before - 1) % 8);
    }
    return LAP_OK;
}

/* The last ticket in a group behind which one is missing. There are `count` packets, so none can be further on. */
static enum lap_status find_hole(struct lap_source *source, const struct list *list, const struct group *group,
                                 uint64_t *out_ticket)
{
    uint64_t bits = group->count, found = 0;
    uint8_t *there = NULL, *raw = malloc(LAP_CHUNK_MAX_RAW);
    enum lap_status status = LAP_OK;
    for (size_t i = group->begin; i < group->end && status == LAP_OK; i++)
        if (list->chunks[i]->header.count > list->chunks[i]->header.raw_bytes / LEAST_PACKET_BYTES)
            status = damaged(list->chunks[i]);
    if (status == LAP_OK)
        there = calloc(1, (size_t)(bits / 8 + 1));
    if (status == LAP_OK && (!raw || !there))
        status = lap_fail(LAP_ERROR_MEMORY, "out of memory");
    for (size_t i = group->begin; i < group->end && status == LAP_OK; i++) {
        status = lap_source_load(source, list->chunks[i], raw);
        if (status == LAP_OK)
            status = note_tickets(list->chunks[i], raw, group, there, bits);
    }
    while (status == LAP_OK && found < bits && there[found / 8] >> found % 8 & 1)
        found++;
    *out_ticket = group->before + found;
    free(there);
    free(raw);
    return status;
}

/* The end that is known without a search: the last frame mark, or a later ticket up to which all is there. 0: none. */
static uint64_t known_end(const struct lap_source *source)
{
    uint64_t whole = source->has_end ? source->end.totals.counters[LAP_COUNTER_WHOLE] : source->whole_ticket;
    uint64_t marked = 0, last = 0;
    for (size_t i = 0; i < source->chunk_count; i++) {
        const struct lap_chunk_header *header = &source->chunks[i].header;
        if (header->kind == LAP_CHUNK_FRAME)
            marked = header->last;
        if (header->kind == LAP_CHUNK_PACKETS && header->last > last)
            last = header->last;
    }
    return whole > marked && whole <= last ? whole : marked;
}

enum lap_status lap_dense_end(struct lap_source *source, uint64_t *out_ticket)
{
    struct list list;
    *out_ticket = known_end(source);
    if (*out_ticket)
        return LAP_OK;
    enum lap_status status = make_list(source, &list);
    for (size_t at = 0; status == LAP_OK && at < list.count;) {
        struct group group = next_group(&list, at, *out_ticket);
        if (list.chunks[at]->header.first != group.before + 1)
            break;
        if (group.count == group.last - group.before)
            *out_ticket = group.last;
        else
            status = find_hole(source, &list, &group, out_ticket);
        if (*out_ticket != group.last)
            break;
        at = group.end;
    }
    free(list.chunks);
    return status;
}

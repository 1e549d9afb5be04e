/* SPDX-License-Identifier: MIT */
/*
 * edits: a list of changes to the packets of a trace: dropped, replaced and new packets, and new blobs. A reader that
 * lap_reader_open_edited gives merges them in, so that all who read the trace see it edited. The file does not change.
 * Knows no Vulkan.
 *
 * New packets have the ticket, epoch, frame and thread of the packet they stand at. One thread fills a list; a sealed
 * list does not change, and any number of readers on any threads share it.
 */
#ifndef LAP_TRACE_READ_EDITS_H
#define LAP_TRACE_READ_EDITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/format/wire.h"

struct lap_reader;

enum lap_edit_kind {
    LAP_EDIT_DROP,    /* the packet with the ticket is left out */
    LAP_EDIT_INSTEAD, /* a new packet stands for it, with its flags */
    LAP_EDIT_BEHIND   /* a new packet behind it */
};

struct lap_edit {
    uint64_t ticket; /* of a packet of the file */
    enum lap_edit_kind kind;
    uint32_t command; /* in the file's dictionary; unused for LAP_EDIT_DROP, like the rest */
    uint32_t flags;   /* enum lap_packet_flags; unused for LAP_EDIT_INSTEAD */
    const uint8_t *body;
    size_t bytes;
};

struct lap_edits;

/* For the trace of `base`, which may close before. If that is edited, the list begins with its edits. On failure *out
 * is NULL. */
enum lap_status lap_edits_create(const struct lap_reader *base, struct lap_edits **out) LAP_MUST_CHECK;
void lap_edits_destroy(struct lap_edits **edits); /* also for NULL. Behind the last of its readers */

/* Copies the body. Several LAP_EDIT_BEHIND at one packet keep their order; of LAP_EDIT_DROP and LAP_EDIT_INSTEAD there
 * the last one counts. LAP_ERROR_MEMORY. */
enum lap_status lap_edits_add(struct lap_edits *edits, const struct lap_edit *edit) LAP_MUST_CHECK;

/* A new blob, with the next number behind those of the file; equal data give one. Copies it. LAP_ERROR_MEMORY. */
enum lap_status lap_edits_blob(struct lap_edits *edits, enum lap_blob_kind kind, const void *data, size_t bytes,
                               uint64_t *out_id) LAP_MUST_CHECK;

/* The trace ends behind the packet with this ticket and its LAP_EDIT_BEHIND. The earliest end counts. */
void lap_edits_end_at(struct lap_edits *edits, uint64_t ticket);

/* Ends filling. LAP_ERROR_MEMORY. */
enum lap_status lap_edits_seal(struct lap_edits *edits) LAP_MUST_CHECK;

/* ---- for the reader ---- */

/* The edits of a sealed list, in the order in which a reader comes to them. */
const struct lap_edit *lap_edits_list(const struct lap_edits *edits, size_t *out_count);
uint64_t lap_edits_last_ticket(const struct lap_edits *edits); /* UINT64_MAX: the trace ends where the file does */
uint64_t lap_edits_blob_count(const struct lap_edits *edits);
/* id: 0 for the first of lap_edits_blob_count. LAP_ERROR_FORMAT: of another kind. */
enum lap_status lap_edits_find_blob(const struct lap_edits *edits, enum lap_blob_kind kind, uint64_t id,
                                    const uint8_t **out_data, size_t *out_bytes) LAP_MUST_CHECK;

#endif

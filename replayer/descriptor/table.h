/* SPDX-License-Identifier: MIT */
/*
 * table: maps the bytes of the recorded driver's descriptors to those of this driver's equivalent ones (docs/memory.md,
 * "Descriptor buffers"). It lies in memory that the host writes and shaders/translate.comp reads.
 *
 * An entry may change while the device looks others up: the program waited for all work that uses an object before it
 * destroyed the object, and the replay has played that wait; before that the recorded driver had no reason to give the
 * same bytes to another. One thread.
 */
#ifndef LAP_REPLAYER_DESCRIPTOR_TABLE_H
#define LAP_REPLAYER_DESCRIPTOR_TABLE_H

#include "replayer/descriptor/own_buffer.h"
#include "vulkan/descriptor_places.h"

#define REPLAY_DESCRIPTOR_BYTES 256u /* the most that one takes */

struct replay_descriptor_table {
    struct replay_own_buffer root, entries;
    uint32_t *words; /* the entries, for the host to read */
    uint32_t from_words[LAP_DESCRIPTOR_KINDS], to_words[LAP_DESCRIPTOR_KINDS];
    uint32_t slot_count, used, key_words, entry_words; /* slot_count: a power of two */
    uint32_t serial;                                   /* of the newest entry */
    uint32_t epoch;                                    /* changes when known bytes get another meaning */
};

/* sizes: of this device's descriptors. On failure finish it all the same. */
enum lap_status replay_descriptor_table_init(struct replay *r, struct replay_device *dev,
                                             struct replay_descriptor_table *table,
                                             const struct lap_descriptor_sizes *sizes) LAP_MUST_CHECK;
void replay_descriptor_table_finish(struct replay *r, struct replay_device *dev,
                                    struct replay_descriptor_table *table); /* also zeroed */

/* From now on `from` (whole words, as many as all others of the kind) means `to` (of the size on this device). */
enum lap_status replay_descriptor_table_put(struct replay *r, struct replay_device *dev,
                                            struct replay_descriptor_table *table, enum lap_descriptor_kind kind,
                                            const void *from, uint32_t from_bytes, const void *to) LAP_MUST_CHECK;
/* Descriptors so far that are no array, and whose bytes the device did not find. */
uint32_t replay_descriptor_table_unknown(struct replay *r, struct replay_device *dev,
                                         const struct replay_descriptor_table *table);

#endif

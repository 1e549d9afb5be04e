/* SPDX-License-Identifier: MIT */
#include "replayer/descriptor/table.h"

#include <stdlib.h>
#include <string.h>

#include "replayer/sync/submission.h"

#define FIRST_SLOTS 1024u
#define MOST_SLOTS  (1u << 24)
#define HEAD_WORDS  3u /* of an entry: its hash, its kind, its number */

/* The same layout as in shaders/translate.comp and shaders/heap.comp. */
struct root {
    uint64_t table;
    uint32_t mask, entry_words, value_at, epoch;
    uint32_t from_words[16], to_words[16];
};

/* The device counts far from the host's writes: memory that is not coherent is flushed in whole atoms. */
#define UNKNOWN_AT 1024u

static uint32_t most_words(const uint32_t words[LAP_DESCRIPTOR_KINDS])
{
    uint32_t most = 1;

    for (uint32_t kind = 0; kind < LAP_DESCRIPTOR_KINDS; kind++)
        most = words[kind] > most ? words[kind] : most;
    return most;
}

/* The same as in the shader. Never 0. */
static uint32_t hash_of(uint32_t kind, const uint32_t *key, uint32_t words)
{
    uint32_t hash = kind * 0x9e3779b1u;

    for (uint32_t i = 0; i < words; i++) {
        hash = (hash ^ key[i]) * 0x85ebca6bu;
        hash ^= hash >> 13;
    }
    return hash | 1;
}

/* The entry of these bytes, or the free one for them. */
static uint32_t find(const struct replay_descriptor_table *table, uint32_t hash, uint32_t kind, const uint32_t *key)
{
    uint32_t slot = hash >> 4 & (table->slot_count - 1);

    for (;; slot = (slot + 1) & (table->slot_count - 1)) {
        const uint32_t *entry = table->words + (size_t)slot * table->entry_words;
        if (!entry[0] || (entry[0] == hash && entry[1] == kind &&
                          memcmp(entry + HEAD_WORDS, key, table->from_words[kind] * sizeof *key) == 0))
            return slot;
    }
}

/* Writes last the word that the device reads first. */
static enum lap_status show(struct replay *r, struct replay_device *dev, struct replay_descriptor_table *table,
                            uint32_t slot)
{
    size_t at = (size_t)slot * table->entry_words;
    enum lap_status status =
        replay_own_buffer_write(r, dev, &table->entries, (at + 1) * sizeof *table->words, table->words + at + 1,
                                (table->entry_words - 1) * sizeof *table->words);

    __atomic_thread_fence(__ATOMIC_RELEASE);
    return status == LAP_OK ? replay_own_buffer_write(r, dev, &table->entries, at * sizeof *table->words,
                                                      table->words + at, sizeof *table->words)
                            : status;
}

static enum lap_status describe(struct replay *r, struct replay_device *dev, struct replay_descriptor_table *table)
{
    struct root root = {.table = table->entries.address,
                        .mask = table->slot_count - 1,
                        .entry_words = table->entry_words,
                        .value_at = HEAD_WORDS + table->key_words,
                        .epoch = table->epoch};

    memcpy(root.from_words, table->from_words, sizeof table->from_words);
    memcpy(root.to_words, table->to_words, sizeof table->to_words);
    return replay_own_buffer_write(r, dev, &table->root, 0, &root, sizeof root);
}

/* Makes the entries anew. Work under way may read the root and either table; so the host waits for that work. */
static enum lap_status rebuild(struct replay *r, struct replay_device *dev, struct replay_descriptor_table *table,
                               uint32_t slot_count, uint32_t key_words)
{
    struct replay_descriptor_table old = *table;
    enum lap_status status = LAP_OK;
    size_t bytes;

    if (slot_count > MOST_SLOTS)
        return replay_refuse(r, "the program has more than %u descriptors in buffers", MOST_SLOTS / 2);
    if (old.words)
        (void)replay_submission_await_all(dev);
    table->slot_count = slot_count;
    table->key_words = key_words;
    table->entry_words = HEAD_WORDS + key_words + most_words(table->to_words);
    bytes = (size_t)slot_count * table->entry_words * sizeof *table->words;
    table->words = calloc(1, bytes);
    if (!table->words)
        status = replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory for descriptors"));
    else
        status = replay_own_buffer_create(r, dev, bytes, 0, true, &table->entries);
    if (status != LAP_OK) {
        free(table->words);
        *table = old;
        return status;
    }
    for (uint32_t i = 0; i < old.slot_count && old.words; i++) {
        const uint32_t *entry = old.words + (size_t)i * old.entry_words;
        uint32_t *to;
        if (!entry[0])
            continue;
        to = table->words + (size_t)find(table, entry[0], entry[1], entry + HEAD_WORDS) * table->entry_words;
        memcpy(to, entry, (HEAD_WORDS + table->from_words[entry[1]]) * sizeof *to);
        memcpy(to + HEAD_WORDS + key_words, entry + HEAD_WORDS + old.key_words, table->to_words[entry[1]] * sizeof *to);
    }
    status = replay_own_buffer_write(r, dev, &table->entries, 0, table->words, bytes);
    if (status == LAP_OK)
        status = describe(r, dev, table);
    replay_own_buffer_free(r, dev, &old.entries);
    free(old.words);
    return status;
}

enum lap_status replay_descriptor_table_init(struct replay *r, struct replay_device *dev,
                                             struct replay_descriptor_table *table,
                                             const struct lap_descriptor_sizes *sizes)
{
    enum lap_status status = replay_own_buffer_create(r, dev, (VkDeviceSize)2 * UNKNOWN_AT, 0, true, &table->root);

    if (status == LAP_OK)
        status = replay_own_buffer_write(r, dev, &table->root, 0, NULL, (size_t)2 * UNKNOWN_AT);
    if (status != LAP_OK)
        return status;
    for (uint32_t kind = 0; kind < LAP_DESCRIPTOR_KINDS; kind++) {
        if (sizes->bytes[kind] % 4 || sizes->bytes[kind] > REPLAY_DESCRIPTOR_BYTES)
            return replay_refuse(r, "the driver's descriptors have %u bytes: whole words are wanted, and at most %u",
                                 sizes->bytes[kind], REPLAY_DESCRIPTOR_BYTES);
        table->to_words[kind] = sizes->bytes[kind] / 4;
    }
    return rebuild(r, dev, table, FIRST_SLOTS, 16);
}

void replay_descriptor_table_finish(struct replay *r, struct replay_device *dev, struct replay_descriptor_table *table)
{
    replay_own_buffer_free(r, dev, &table->entries);
    replay_own_buffer_free(r, dev, &table->root);
    free(table->words);
    *table = (struct replay_descriptor_table){0};
}

/* Room for one more entry of the kind with keys of so many bytes. */
static enum lap_status make_room(struct replay *r, struct replay_device *dev, struct replay_descriptor_table *table,
                                 enum lap_descriptor_kind kind, uint32_t from_bytes)
{
    uint32_t words = from_bytes / 4;

    if (!from_bytes || from_bytes % 4 || from_bytes > REPLAY_DESCRIPTOR_BYTES)
        return replay_refuse(r, "a recorded descriptor has %u bytes: whole words are wanted, and at most %u",
                             from_bytes, REPLAY_DESCRIPTOR_BYTES);
    if (table->from_words[kind] && table->from_words[kind] != words)
        return replay_fail(r, "descriptors of one type have %u bytes and %u bytes", table->from_words[kind] * 4,
                           from_bytes);
    if (!table->from_words[kind]) {
        enum lap_status status;
        table->from_words[kind] = words;
        status = describe(r, dev, table);
        if (status != LAP_OK)
            return status;
    }
    if (words > table->key_words)
        return rebuild(r, dev, table, table->slot_count, words);
    return table->used * 2 < table->slot_count ? LAP_OK
                                               : rebuild(r, dev, table, table->slot_count * 2, table->key_words);
}

enum lap_status replay_descriptor_table_put(struct replay *r, struct replay_device *dev,
                                            struct replay_descriptor_table *table, enum lap_descriptor_kind kind,
                                            const void *from, uint32_t from_bytes, const void *to)
{
    enum lap_status status = make_room(r, dev, table, kind, from_bytes);
    uint32_t key[REPLAY_DESCRIPTOR_BYTES / 4], slot, hash, *entry;
    size_t to_bytes = table->to_words[kind] * sizeof *entry;
    bool other;

    if (status != LAP_OK)
        return status;
    memcpy(key, from, from_bytes);
    hash = hash_of(kind, key, from_bytes / 4);
    slot = find(table, hash, kind, key);
    entry = table->words + (size_t)slot * table->entry_words;
    other = entry[0] && memcmp(entry + HEAD_WORDS + table->key_words, to, to_bytes) != 0;
    table->used += !entry[0];
    entry[0] = hash;
    entry[1] = kind;
    entry[2] = ++table->serial;
    memcpy(entry + HEAD_WORDS, key, from_bytes);
    memcpy(entry + HEAD_WORDS + table->key_words, to, to_bytes);
    status = show(r, dev, table, slot);
    if (status != LAP_OK || !other || !table->epoch)
        return status;
    table->epoch++;
    return describe(r, dev, table);
}

uint32_t replay_descriptor_table_unknown(struct replay *r, struct replay_device *dev,
                                         const struct replay_descriptor_table *table)
{
    uint32_t unknown = 0;

    if (!table->root.buffer ||
        replay_own_buffer_read(r, dev, &table->root, UNKNOWN_AT, &unknown, sizeof unknown) != LAP_OK)
        return 0;
    return unknown;
}

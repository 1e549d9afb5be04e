/* SPDX-License-Identifier: MIT */
/*
 * address_word: the addresses that the host wrote into buffers, and where they stand.
 *
 * Memory holds addresses of this device; a trace tells what the host wrote as differences of the recorded ones, at
 * times a few bytes of eight. So each word that is known to be an address (or to have been one) is kept with its
 * recorded value, and an update is put together with what stands around it in recorded form before it is looked at.
 * What the device has stored there since is told by the memory itself: it is no longer the word that was written.
 * No Vulkan in here. One thread.
 */
#ifndef LAP_REPLAYER_ADDRESS_WORD_H
#define LAP_REPLAYER_ADDRESS_WORD_H

#include "replayer/address_range.h"

/* The addresses in one buffer. */
struct replay_words {
    struct lap_tree_node *places; /* by offset */
    uint64_t bytes;               /* of the buffer */
    void *memory;                 /* for the functions below; NULL: the buffer is gone */
};

/* How memory is read and written; offsets are in the buffer. What they return ends an update. */
struct replay_words_access {
    enum lap_status (*read)(void *user, void *memory, uint64_t offset, void *out, size_t bytes);
    enum lap_status (*write)(void *user, void *memory, uint64_t offset, const void *data, size_t bytes);
    void *user;
};

/* All words of one device. */
struct replay_word_space {
    struct replay_address_space *addresses;
    struct replay_words_access access;
    struct lap_tree_node *values; /* by recorded value */
    uint64_t order;
    unsigned char *scratch; /* an update with its surroundings */
    size_t scratch_bytes;
    uint64_t updated, renewed; /* words that became others: with an update, and when their address came to life */
};

void replay_words_finish(struct replay_word_space *space, struct replay_words *words); /* of one buffer */
void replay_word_space_finish(struct replay_word_space *space);                        /* when no buffer has any */

/* Writes what the host wrote: offset and bytes lie inside the buffer. */
enum lap_status replay_words_update(struct replay_word_space *space, struct replay_words *words, uint64_t offset,
                                    const void *data, size_t bytes) LAP_MUST_CHECK;

/* After a range came to life: words that were written earlier, and still stand there, follow it. */
enum lap_status replay_words_renew(struct replay_word_space *space,
                                   const struct replay_address_range *range) LAP_MUST_CHECK;

#endif

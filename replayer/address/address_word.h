/* SPDX-License-Identifier: MIT */
/*
 * address_word: the addresses that the host wrote into buffers, with their locations.
 *
 * Memory holds addresses of the replay device. A trace has host writes as differences of recorded contents, at times a
 * few bytes of an address. So the replay stores each word that is or was an address with its recorded value. It
 * completes an update with the recorded form of its surroundings before it searches for addresses. Where memory no
 * longer has the written word, the device has overwritten it. It makes no Vulkan calls. One thread.
 */
#ifndef LAP_REPLAYER_ADDRESS_ADDRESS_WORD_H
#define LAP_REPLAYER_ADDRESS_ADDRESS_WORD_H

#include "replayer/address/address_range.h"

/* The addresses in one buffer. */
struct replay_address_words {
    struct lap_tree_node *places; /* by offset */
    uint64_t bytes;               /* of the buffer */
    void *memory;                 /* for the functions below; NULL: the buffer was destroyed */
};

/* Reads and writes memory at offsets in the buffer. An error ends the update. */
struct replay_address_words_access {
    enum lap_status (*read)(void *user, void *memory, uint64_t offset, void *out, size_t bytes);
    enum lap_status (*write)(void *user, void *memory, uint64_t offset, const void *data, size_t bytes);
    void *user;
};

/* All words of one device. */
struct replay_address_word_space {
    struct replay_address_space *addresses;
    struct replay_address_words_access access;
    struct lap_tree_node *values; /* by recorded value */
    uint64_t order;
    unsigned char *scratch; /* an update with its surroundings */
    size_t scratch_bytes;
    uint64_t updated, renewed; /* changed words: in an update, and when a new range has their address */
};

void replay_address_words_finish(struct replay_address_word_space *space,
                                 struct replay_address_words *words);           /* of one buffer */
void replay_address_word_space_finish(struct replay_address_word_space *space); /* after those of all buffers */

/* Replays a host write; offset and bytes lie inside the buffer. */
enum lap_status replay_address_words_update(struct replay_address_word_space *space, struct replay_address_words *words,
                                            uint64_t offset, const void *data, size_t bytes) LAP_MUST_CHECK;

/* Call it after a new range: updates earlier words with addresses in it, where memory still has them. */
enum lap_status replay_address_words_renew(struct replay_address_word_space *space,
                                           const struct replay_address_range *range) LAP_MUST_CHECK;

#endif

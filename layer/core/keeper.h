/* SPDX-License-Identifier: MIT */
/*
 * keeper: where a recording may begin later, the packets that create the live objects again.
 *
 * Each packet that creates or destroys objects, and each that is a part of an object's state (gen_command_kept), comes
 * here, whether a file is open or not. An object's packets go with it, unless a live object was created from it: a
 * pipeline from a shader module, a view from an image. Then they stay, with the packet that destroys it, and
 * layer_keeper_write creates and destroys it once more, in the recorded order.
 *
 * Bodies are encoded as they stand in a trace, but with all bytes in place of blobs' numbers. All functions but the
 * first ones lock for themselves; any thread.
 */
#ifndef LAP_LAYER_KEEPER_H
#define LAP_LAYER_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gen_ids.h"
#include "trace/format/encode.h"

/* Once, before all others. */
void layer_keeper_init(void);

/* Whether packets of the command are kept. flags: enum lap_packet_flags. */
bool layer_keeper_wants(enum gen_command command, uint32_t flags);

/* The encoder for the body of a packet that is kept; the keeper is locked until layer_keeper_end, which keeps the
 * packet and passes its body to show. NULL: out of memory; then there is nothing to end. */
struct lap_enc *layer_keeper_begin(const struct lap_object_tables *tables, enum gen_command command, uint32_t flags);
void layer_keeper_end(void (*show)(enum gen_command command, uint32_t flags, const void *body, size_t bytes));

/* A command buffer was recorded: its block, without blobs. */
void layer_keeper_block(uint64_t command_buffer, const void *block, size_t bytes, uint64_t command_count);
/* A command buffer was reset: its block goes. */
void layer_keeper_block_reset(uint64_t command_buffer);

/* Keeps an entry of the file's info object (lap_writer_info). */
void layer_keeper_info(const char *json);

/* Something could not be kept, or the layer has lost track of the program: no part can begin any more. why: static. */
void layer_keeper_lost(const char *why);
/* Why the keeper does not know all objects; NULL: it does. */
const char *layer_keeper_fault(void);

/* Whether an object of this type and index is alive. */
bool layer_keeper_lives(enum gen_handle_type type, uint64_t index);

/* Whether an object is bound to memory, all of which is still allocated. */
bool layer_keeper_is_bound(enum gen_handle_type type, uint64_t index);

/* How many objects are alive, and the bytes that are kept for them. */
struct layer_keeper_size {
    size_t objects, packets, bytes;
};
struct layer_keeper_size layer_keeper_size(void);

/* Writes what is kept, in the recorded order. First the packets that create objects. The second call, after the caller
 * has written the contents of descriptors, writes blocks, and destroys the objects that only others need: a set may be
 * updated, and a command buffer recorded, only while their layouts exist. Blocks that name destroyed objects are left
 * out: such command buffers are invalid. False: out of memory; some of it is missing, and all of it is still kept. */
struct layer_keeper_sink {
    void (*packet)(enum gen_command command, uint32_t flags, const void *body, size_t bytes);
    void (*block)(const struct lap_object_tables *tables, uint64_t command_buffer, const void *block, size_t bytes,
                  uint64_t command_count); /* tables: the handle of each object is its index */
    void (*info)(const char *json);
};
bool layer_keeper_write(const struct layer_keeper_sink *sink, bool second) LAP_MUST_CHECK;

/* In the child of a fork: forgets everything, without freeing data that another thread may have been changing. */
void layer_keeper_forked(void);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * dictionary: maps the numbers of a file's dictionary to the numbers of this build, by name.
 *
 * A build with another registry may have written the file. A promoted command or structure is found under its other
 * name. A name that this build lacks has number 0. Read-only after creation; any thread.
 */
#ifndef LAP_VULKAN_DICTIONARY_H
#define LAP_VULKAN_DICTIONARY_H

#include <stdint.h>

#include "base/status.h"
#include "trace/format/decode.h"
#include "trace/read/reader.h"

struct lap_dictionary {
    /* [number in the file]: enum gen_command, gen_struct, gen_handle_type; 0 for what this build lacks. */
    uint32_t *commands, *structs, *handle_types;
    uint32_t
        *block_commands; /* [number]: the same for commands that blocks may contain and that have a decoder; others 0 */
    uint32_t command_count, struct_count, handle_type_count;
    struct lap_reader *reader; /* the reader of the names; not owned */
};

/* LAP_ERROR_MEMORY leaves *dictionary zeroed. The reader outlives it. */
enum lap_status lap_dictionary_init(struct lap_dictionary *dictionary, struct lap_reader *reader) LAP_MUST_CHECK;
void lap_dictionary_release(struct lap_dictionary *dictionary); /* also for a zeroed one */

/* The number in this build for a number in the file; 0 for numbers past the end and for names that this
 * build lacks. */
static inline uint32_t lap_dictionary_command(const struct lap_dictionary *dictionary, uint64_t number)
{
    return number < dictionary->command_count ? dictionary->commands[number] : 0;
}

static inline uint32_t lap_dictionary_struct(const struct lap_dictionary *dictionary, uint64_t number)
{
    return number < dictionary->struct_count ? dictionary->structs[number] : 0;
}

static inline uint32_t lap_dictionary_handle_type(const struct lap_dictionary *dictionary, uint64_t number)
{
    return number < dictionary->handle_type_count ? dictionary->handle_types[number] : 0;
}

/* lap_dec_source.struct_id for sources whose user is a struct lap_dictionary. */
uint32_t lap_dictionary_struct_id(void *user, uint64_t number);

/* A source that returns trace indices for handles and reads blobs with the dictionary's reader. Points to
 * *dictionary. */
struct lap_dec_source lap_dictionary_source(struct lap_dictionary *dictionary);

#endif

/* SPDX-License-Identifier: MIT */
#include "vulkan/dictionary.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "gen_ids.h"
#include "gen_reflect.h"
#include "vulkan/block.h"

/* A registry from before a promotion has the name with one of these suffixes. */
static const char *const suffixes[] = {"KHR", "EXT", "NV", "AMD", "ARM", "VALVE", "QCOM", "GOOGLE"};

struct names {
    const char *const *here;
    uint32_t here_count;
    uint32_t (*by_name)(const char *name);
    uint32_t (*by_alias)(const char *name);
    const char *(*in_file)(const struct lap_reader *reader, uint64_t number);
};

static const struct names command_names = {gen_command_names, GEN_COMMAND_COUNT, gen_command_by_name,
                                           gen_command_by_alias, lap_reader_command_name};
static const struct names struct_names = {gen_struct_names, GEN_STRUCT_COUNT, gen_struct_by_name, gen_struct_by_alias,
                                          lap_reader_struct_name};
static const struct names handle_names = {gen_handle_names, GEN_HANDLE_COUNT, gen_handle_by_name, gen_handle_by_alias,
                                          lap_reader_handle_type_name};

static uint32_t find(const struct names *names, uint32_t number, const char *name)
{
    char longer[LAP_NAME_MAX_BYTES + 8];
    size_t length;
    uint32_t found;

    /* Nearly always the same build wrote the file. */
    if (number > 0 && number < names->here_count && strcmp(names->here[number], name) == 0)
        return number;
    length = strlen(name);
    /* A dictionary may have many names. Foreign names are searched only if they can be Vulkan names. */
    if (length < 3 || length > LAP_NAME_MAX_BYTES || (strncasecmp(name, "vk", 2) != 0 && strncmp(name, "lap", 3) != 0))
        return 0;
    found = names->by_name(name);
    if (!found)
        found = names->by_alias(name);
    for (size_t i = 0; !found && i < sizeof suffixes / sizeof suffixes[0]; i++) {
        memcpy(longer, name, length);
        strcpy(longer + length, suffixes[i]);
        found = names->by_name(longer);
    }
    return found;
}

static uint32_t *make_map(const struct names *names, const struct lap_reader *reader, uint32_t count)
{
    uint32_t *map = calloc(count ? count : 1, sizeof *map);
    if (!map)
        return NULL;
    for (uint32_t i = 0; i < count; i++) {
        const char *name = names->in_file(reader, i);
        map[i] = name ? find(names, i, name) : 0;
    }
    return map;
}

static uint32_t *make_block_map(const struct lap_dictionary *dictionary)
{
    uint32_t *map = calloc(dictionary->command_count ? dictionary->command_count : 1, sizeof *map);
    for (uint32_t i = 0; map && dictionary->commands && i < dictionary->command_count; i++) {
        const char *name = lap_reader_command_name(dictionary->reader, i);
        uint32_t command = dictionary->commands[i];
        if (name && name[0] && lap_block_has(command) && gen_decode_table[command])
            map[i] = command;
    }
    return map;
}

enum lap_status lap_dictionary_init(struct lap_dictionary *dictionary, struct lap_reader *reader)
{
    memset(dictionary, 0, sizeof *dictionary);
    dictionary->reader = reader;
    dictionary->command_count = lap_reader_command_count(reader);
    dictionary->struct_count = lap_reader_struct_count(reader);
    dictionary->handle_type_count = lap_reader_handle_type_count(reader);
    dictionary->commands = make_map(&command_names, reader, dictionary->command_count);
    dictionary->structs = make_map(&struct_names, reader, dictionary->struct_count);
    dictionary->handle_types = make_map(&handle_names, reader, dictionary->handle_type_count);
    dictionary->block_commands = make_block_map(dictionary);
    if (!dictionary->block_commands || !dictionary->commands || !dictionary->structs || !dictionary->handle_types) {
        lap_dictionary_release(dictionary);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for the dictionary");
    }
    return LAP_OK;
}

void lap_dictionary_release(struct lap_dictionary *dictionary)
{
    free(dictionary->commands);
    free(dictionary->block_commands);
    free(dictionary->structs);
    free(dictionary->handle_types);
    memset(dictionary, 0, sizeof *dictionary);
}

uint32_t lap_dictionary_struct_id(void *user, uint64_t number)
{
    return lap_dictionary_struct(user, number);
}

static enum lap_status reader_blob(void *user, uint64_t id, const uint8_t **out_data, size_t *out_bytes)
{
    const struct lap_dictionary *dictionary = user;
    return lap_reader_blob(dictionary->reader, LAP_BLOB_DATA, id, out_data, out_bytes);
}

struct lap_dec_source lap_dictionary_source(struct lap_dictionary *dictionary)
{
    return (struct lap_dec_source){.blob = reader_blob, .struct_id = lap_dictionary_struct_id, .user = dictionary};
}

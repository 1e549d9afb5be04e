/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gen_ids.h"
#include "tests/unit/unit.h"
#include "trace/write/writer.h"
#include "vulkan/block.h"
#include "vulkan/dictionary.h"

/* A file as another build would write it: other numbers, a name from before a promotion, one from after it, unknown
 * ones. */
enum { FILE_BEGIN = 1, FILE_BIND, FILE_PUSH, FILE_UNKNOWN, FILE_END, FILE_DRAW, FILE_CREATE };
static const char *const commands[] = {"",
                                       "vkBeginCommandBuffer",
                                       "vkBindBufferMemory2KHR",
                                       "vkCmdPushDescriptorSet",
                                       "vkCmdFromTheFuture",
                                       "vkEndCommandBuffer",
                                       "vkCmdDraw",
                                       "vkCreateBuffer"};
static const char *const structs[] = {"", "VkBufferCreateInfo", "VkPhysicalDeviceFeatures2KHR", "VkFromTheFuture"};
static const char *const handles[] = {"", "VkImage"};

struct file {
    char path[64];
    struct lap_reader *reader;
    struct lap_dictionary dictionary;
};

static bool open_file(struct file *file)
{
    struct lap_writer_options options = {.names.commands = {commands, sizeof commands / sizeof commands[0]},
                                         .names.structs = {structs, sizeof structs / sizeof structs[0]},
                                         .names.handle_types = {handles, sizeof handles / sizeof handles[0]}};
    struct lap_writer *writer;
    int fd;

    memset(file, 0, sizeof *file);
    snprintf(file->path, sizeof file->path, "%s/lapilli-names-XXXXXX", P_tmpdir);
    fd = mkstemp(file->path);
    if (fd < 0)
        return false;
    close(fd);
    unlink(file->path);
    if (lap_writer_create(file->path, &options, &writer) != LAP_OK)
        return false;
    lap_writer_frame(writer);
    lap_writer_destroy(&writer);
    return lap_reader_open(file->path, NULL, &file->reader) == LAP_OK &&
           lap_dictionary_init(&file->dictionary, file->reader) == LAP_OK;
}

static void close_file(struct file *file)
{
    lap_dictionary_release(&file->dictionary);
    lap_reader_close(&file->reader);
    unlink(file->path);
}

UNIT_TEST(names_of_other_registries_are_found)
{
    struct file file;

    CHECK(open_file(&file));
    CHECK_EQ_U64(lap_dictionary_command(&file.dictionary, 0), 0);
    CHECK_EQ_U64(lap_dictionary_command(&file.dictionary, FILE_CREATE), GEN_vkCreateBuffer);
    CHECK_EQ_U64(lap_dictionary_command(&file.dictionary, FILE_BIND), GEN_vkBindBufferMemory2);
    /* Promoted in 1.4: an older registry has the name with a suffix, a newer one as it is. */
    CHECK(lap_dictionary_command(&file.dictionary, FILE_PUSH) != 0);
    CHECK(strncmp(gen_command_names[lap_dictionary_command(&file.dictionary, FILE_PUSH)], "vkCmdPushDescriptorSet",
                  22) == 0);
    CHECK_EQ_U64(lap_dictionary_command(&file.dictionary, FILE_UNKNOWN), 0);
    CHECK_EQ_U64(lap_dictionary_command(&file.dictionary, 99), 0);
    CHECK_EQ_U64(lap_dictionary_command(&file.dictionary, UINT64_MAX), 0);
    CHECK_EQ_U64(lap_dictionary_struct(&file.dictionary, 1), GEN_STRUCT_VkBufferCreateInfo);
    CHECK_EQ_U64(lap_dictionary_struct(&file.dictionary, 2), GEN_STRUCT_VkPhysicalDeviceFeatures2);
    CHECK_EQ_U64(lap_dictionary_struct(&file.dictionary, 3), 0);
    CHECK_EQ_U64(lap_dictionary_struct_id(&file.dictionary, 1), GEN_STRUCT_VkBufferCreateInfo);
    CHECK_EQ_U64(lap_dictionary_handle_type(&file.dictionary, 1), GEN_HANDLE_VkImage);
    close_file(&file);
}

/* Goes through a block; the status that ends it. */
static enum lap_status run_block(const uint8_t *data, size_t bytes, unsigned *out_commands)
{
    struct file file;
    struct lap_arena arena;
    struct lap_dec_source source;
    struct lap_block block;
    struct lap_args args;
    enum lap_status status;
    uint32_t command;

    CHECK(open_file(&file));
    lap_arena_init(&arena, 0);
    source = lap_dictionary_source(&file.dictionary);
    lap_block_init(&block, data, bytes, 5, &file.dictionary, &arena, &source);
    *out_commands = 0;
    while ((status = lap_block_next(&block, &command, &args)) == LAP_OK) {
        ++*out_commands;
        if (command == GEN_vkCmdDraw) {
            const struct gen_args_vkCmdDraw *draw = (const void *)args.bytes;
            CHECK_EQ_U64(gen_u64_VkCommandBuffer(draw->commandBuffer), 5);
            CHECK_EQ_U64(draw->vertexCount, 3);
            CHECK_EQ_U64(draw->firstInstance, 6);
        }
    }
    lap_arena_finish(&arena);
    close_file(&file);
    return status;
}

/* vkBeginCommandBuffer: pBeginInfo present, no chain, flags 0, no inheritance. */
#define BEGIN FILE_BEGIN, 1, 0, 0, 0
#define DRAW  FILE_DRAW, 3, 4, 5, 6

UNIT_TEST(a_block_is_read_in_the_files_own_numbers)
{
    static const uint8_t good[] = {BEGIN, DRAW, DRAW, FILE_END};
    unsigned count;

    CHECK_EQ_INT(run_block(good, sizeof good, &count), LAP_END);
    CHECK_EQ_U64(count, 4);
}

UNIT_TEST(a_damaged_block_is_refused)
{
    static const struct {
        uint8_t data[16];
        size_t bytes;
        enum lap_status status;
        unsigned commands;
    } cases[] = {
        {{0}, 0, LAP_ERROR_FORMAT, 0},                           /* nothing at all */
        {{DRAW, FILE_END}, 6, LAP_ERROR_FORMAT, 0},              /* no begin */
        {{BEGIN, DRAW}, 10, LAP_ERROR_FORMAT, 2},                /* no end */
        {{BEGIN, FILE_END, DRAW}, 11, LAP_ERROR_FORMAT, 2},      /* goes on */
        {{BEGIN, BEGIN, FILE_END}, 11, LAP_ERROR_FORMAT, 1},     /* begins twice */
        {{BEGIN, FILE_CREATE, 0, 0}, 8, LAP_ERROR_FORMAT, 1},    /* no command of a command buffer */
        {{BEGIN, FILE_UNKNOWN, 0}, 7, LAP_ERROR_UNSUPPORTED, 1}, /* of another registry: can't be skipped */
        {{BEGIN, 99, 0}, 7, LAP_ERROR_FORMAT, 1},                /* no such number */
        {{BEGIN, 0, 0}, 7, LAP_ERROR_FORMAT, 1},                 /* the one without a name */
        {{BEGIN, FILE_DRAW, 3, 4}, 8, LAP_ERROR_FORMAT, 1},      /* a body that is cut */
        {{BEGIN, 0xff, 0xff, 0xff}, 8, LAP_ERROR_FORMAT, 1},     /* a number that is cut */
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        unsigned count;
        enum lap_status status = run_block(cases[i].data, cases[i].bytes, &count);
        if (status != cases[i].status || count != cases[i].commands)
            UNIT_FAIL("case %zu: status %d after %u commands: %s", i, status, count, lap_error_message());
    }
}

/* ---- what a look-up costs ---- */

static unsigned long comparisons;

/* In place of the C library's: whoever compares names here is counted. */
int strcmp(const char *a, const char *b)
{
    comparisons++;
    for (; *a && *a == *b; a++)
        b++;
    return (unsigned char)*a - (unsigned char)*b;
}

#define MOST_STEPS 12u /* there are fewer than 2^12 names of a kind */

static void check_names(const char *const *names, uint32_t count, uint32_t (*by_name)(const char *))
{
    char other[LAP_NAME_MAX_BYTES + 2];
    unsigned long most = 0;

    CHECK(count < 1u << MOST_STEPS);
    CHECK_EQ_U64(by_name(""), 0);
    for (uint32_t i = 1; i < count; i++) {
        comparisons = 0;
        CHECK_EQ_U64(by_name(names[i]), i);
        most = comparisons > most ? comparisons : most;
        snprintf(other, sizeof other, "%s!", names[i]);
        comparisons = 0;
        CHECK_EQ_U64(by_name(other), 0);
        most = comparisons > most ? comparisons : most;
    }
    CHECK(most > 0 && most <= MOST_STEPS);
}

UNIT_TEST(a_name_is_found_in_a_few_steps)
{
    check_names(gen_command_names, GEN_COMMAND_COUNT, gen_command_by_name);
    check_names(gen_struct_names, GEN_STRUCT_COUNT, gen_struct_by_name);
    check_names(gen_handle_names, GEN_HANDLE_COUNT, gen_handle_by_name);
}

UNIT_MAIN();

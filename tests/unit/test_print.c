/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>

#include <limits.h>

#include "tests/unit/sample_trace.h"
#include "tests/unit/starved_json.h"
#include "tools/common/calls.h"
#include "tools/common/tool.h"
#include "tools/show/print.h"

/* All lines of a trace, with the commands of blocks. */
static char *print_all(const char *path, bool json)
{
    struct lap_calls calls;
    char *text = NULL;
    size_t bytes = 0;
    struct lap_printer printer = {.out = open_memstream(&text, &bytes)};
    enum lap_status status = lap_calls_open(&calls, path);

    CHECK_EQ_INT(status, LAP_OK);
    while (status == LAP_OK && (status = lap_calls_next(&calls)) == LAP_OK) {
        struct lap_line line = {.packet = &calls.packet,
                                .index = calls.index,
                                .name = calls.name,
                                .command = calls.command,
                                .args = calls.args.bytes,
                                .has_result = calls.has_result};
        if (json)
            CHECK(lap_print_json(&printer, &line) == LAP_OK);
        else
            lap_print_text(&printer, &line);
        if (calls.command != GEN_lapilliBlock)
            continue;
        status = lap_calls_block_begin(&calls);
        line.in_block = true;
        line.block = ((const struct gen_args_lapilliBlock *)(const void *)calls.args.bytes)->block;
        line.command_buffer = 3;
        line.args = calls.block_args.bytes;
        line.has_result = false;
        while (status == LAP_OK && (status = lap_calls_block_next(&calls)) == LAP_OK) {
            line.command = calls.block_command;
            line.command_index = calls.block.index - 1;
            line.name = gen_command_names[line.command];
            if (json)
                CHECK(lap_print_json(&printer, &line) == LAP_OK);
            else
                lap_print_text(&printer, &line);
        }
        CHECK_EQ_INT(status, LAP_END);
        status = LAP_OK;
    }
    CHECK_EQ_INT(status, LAP_END);
    CHECK(lap_reader_summary(calls.reader)->complete);
    lap_calls_close(&calls);
    fclose(printer.out);
    return text;
}

static char *print_sample(bool json)
{
    struct sample sample;
    char *text = NULL;

    if (sample_begin(&sample)) {
        sample_record(&sample);
        sample_end(&sample);
        text = print_all(sample.path, json);
    }
    CHECK(text != NULL);
    sample_finish(&sample);
    return text;
}

#define CHECK_HAS(text, part) (strstr(text, part) ? (void)0 : UNIT_FAIL("no \"%s\" in:\n%s", part, text))

UNIT_TEST(text_has_one_line_for_each_call_and_command)
{
    char *text = print_sample(false);
    unsigned lines = 0;

    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    CHECK_EQ_U64(lines, 10);
    free(text);
}

UNIT_TEST(text_shows_what_was_recorded)
{
    char *text = print_sample(false);

    CHECK_HAS(text, "#0 4242 1 1 vkCreateInstance(pCreateInfo = {flags = 0, pApplicationInfo = {pApplicationName = "
                    "\"sam\\\"ple\\xff\"");
    CHECK_HAS(text, "pEngineName = NULL");
    CHECK_HAS(text, "pNext = [VkPhysicalDeviceCustomBorderColorFeaturesEXT{customBorderColors = VK_TRUE, "
                    "customBorderColorWithoutFormat = VK_FALSE}");
    CHECK_HAS(text, "pQueuePriorities = [0.1]");
    CHECK_HAS(text, "ppEnabledExtensionNames = [\"VK_KHR_swapchain\", \"VK_EXT_custom_border_color\"");
    CHECK_HAS(text, "usage = VK_BUFFER_USAGE_TRANSFER_DST_BIT | VK_BUFFER_USAGE_VERTEX_BUFFER_BIT | 0x40000000");
    CHECK_HAS(text, "pBuffer = VkBuffer:12) = VK_SUCCESS\n");
    CHECK_HAS(text, "pBuffer = NULL) = VK_ERROR_OUT_OF_DEVICE_MEMORY\n");
    CHECK_HAS(text, "pData = <5 bytes, ");
    CHECK_HAS(text, "#5.1 4242 6 2   vkCmdCopyBuffer(commandBuffer = VkCommandBuffer:3, srcBuffer = VkBuffer:12, "
                    "dstBuffer = VkBuffer:12, "
                    "regionCount = 2, pRegions = [{srcOffset = 0, dstOffset = 0, size = 4}, {srcOffset = 4, dstOffset "
                    "= 8, size = 4}])\n");
    CHECK_HAS(text, "vkDestroyBuffer(device = VkDevice:1, buffer = VkBuffer:12)\n");
    free(text);
}

static const cJSON *at(const cJSON *item, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(item, key);
}

UNIT_TEST(json_lines_parse_and_say_the_same)
{
    char *text = print_sample(true), *save = NULL;
    unsigned lines = 0;

    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save), lines++) {
        cJSON *call = cJSON_Parse(line);
        const cJSON *args = at(call, "args");

        CHECK(call != NULL);
        CHECK_EQ_INT((int)cJSON_GetNumberValue(at(call, "thread")), SAMPLE_THREAD);
        CHECK(at(call, "index") && at(call, "ticket") && at(call, "frame") && args);
        if (lines == 1) {
            const cJSON *info = at(args, "pCreateInfo");
            const cJSON *first = cJSON_GetArrayItem(at(info, "pNext"), 0);
            CHECK_STR(cJSON_GetStringValue(at(call, "name")), "vkCreateDevice");
            CHECK_STR(cJSON_GetStringValue(at(args, "physicalDevice")), "VkPhysicalDevice:1");
            CHECK_STR(cJSON_GetStringValue(at(first, "sType")),
                      "VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_CUSTOM_BORDER_COLOR_FEATURES_EXT");
            CHECK(cJSON_IsTrue(at(first, "customBorderColors")));
            CHECK_EQ_INT(cJSON_GetArraySize(at(info, "pNext")), 2);
            CHECK_STR(cJSON_GetStringValue(at(call, "result")), "VK_SUCCESS");
        } else if (lines == 2) {
            CHECK_STR(cJSON_GetStringValue(at(at(args, "pCreateInfo"), "size")), "1152921504606846976");
        } else if (lines == 3) {
            CHECK(cJSON_IsNull(at(args, "pBuffer")));
            CHECK_STR(cJSON_GetStringValue(cJSON_GetArrayItem(at(call, "flags"), 0)), "failed");
        } else if (lines == 4) {
            CHECK_EQ_INT((int)cJSON_GetNumberValue(at(at(args, "pData"), "bytes")), 5);
            CHECK(at(call, "result") == NULL);
        } else if (lines == 7) {
            CHECK_STR(cJSON_GetStringValue(at(call, "name")), "vkCmdCopyBuffer");
            CHECK_STR(cJSON_GetStringValue(at(call, "commandBuffer")), "VkCommandBuffer:3");
            CHECK_EQ_INT((int)cJSON_GetNumberValue(at(call, "block")), 1);
            CHECK_EQ_INT((int)cJSON_GetNumberValue(at(call, "command")), 1);
            CHECK_EQ_INT((int)cJSON_GetNumberValue(at(cJSON_GetArrayItem(at(args, "pRegions"), 1), "dstOffset")), 8);
        } else if (lines == 9) {
            CHECK(at(call, "result") == NULL);
        }
        cJSON_Delete(call);
    }
    CHECK_EQ_U64(lines, 10);
    free(text);
}

UNIT_TEST(a_damaged_block_is_an_error_with_a_place)
{
    static const unsigned char blocks[][2] = {{0}, {GEN_lapilliBlock, 0}};
    struct sample sample;
    struct lap_calls calls;

    for (size_t i = 0; i < 2; i++) {
        CHECK(sample_begin(&sample));
        gen_encode_lapilliBlock(sample_packet(&sample, GEN_lapilliBlock, 0), VK_NULL_HANDLE,
                                lap_writer_blob(sample.writer, LAP_BLOB_BLOCK, blocks[i], i + 1, NULL), 1);
        lap_packet_end(sample.stream);
        lap_writer_frame(sample.writer);
        sample_end(&sample);
        CHECK_EQ_INT(lap_calls_open(&calls, sample.path), LAP_OK);
        CHECK_EQ_INT(lap_calls_next(&calls), LAP_OK);
        CHECK_EQ_INT(lap_calls_block_begin(&calls), LAP_OK);
        CHECK_EQ_INT(lap_calls_block_next(&calls), LAP_ERROR_FORMAT);
        CHECK(strstr(lap_error_message(), "lapilliBlock") != NULL);
        lap_calls_close(&calls);
        sample_finish(&sample);
    }
}

/* 1 is for what is no fault of the file's. */
UNIT_TEST(what_a_build_does_not_know_makes_a_trace_incomplete)
{
    struct sample sample;
    struct lap_calls calls;

    CHECK(sample_begin(&sample));
    sample_record(&sample);
    sample_end(&sample);
    CHECK_EQ_INT(lap_calls_open(&calls, sample.path), LAP_OK);
    CHECK_EQ_INT(lap_calls_report_end("test", sample.path, calls.reader, lap_fail(LAP_ERROR_UNSUPPORTED, "unknown")),
                 LAP_TOOL_INCOMPLETE);
    CHECK_EQ_INT(lap_calls_report_end("test", sample.path, calls.reader, lap_fail(LAP_ERROR_LIMIT, "too much")),
                 LAP_TOOL_INCOMPLETE);
    CHECK_EQ_INT(lap_calls_report_end("test", sample.path, calls.reader, lap_fail(LAP_ERROR_IO, "unreadable")),
                 LAP_TOOL_FAILED);
    CHECK_EQ_INT(lap_calls_report_end("test", sample.path, calls.reader, LAP_END), LAP_TOOL_OK);
    lap_calls_close(&calls);
    sample_finish(&sample);
}

/* The text of one line, or NULL where it could not be made, of whose JSON one allocation fails. */
static char *starved_line(const struct lap_line *line, unsigned after)
{
    char *text = NULL;
    size_t bytes = 0;
    struct lap_printer printer = {.out = open_memstream(&text, &bytes)};
    enum lap_status status;

    starve_json(after);
    status = lap_print_json(&printer, line);
    feed_json();
    fclose(printer.out);
    CHECK(status == LAP_OK || (status == LAP_ERROR_MEMORY && bytes == 0));
    if (status == LAP_OK)
        return text;
    free(text);
    return NULL;
}

/* Never with something left out. */
static void check_starved(const struct lap_line *line)
{
    char *whole = starved_line(line, UINT_MAX), *text;
    unsigned failures = 0;

    while (!(text = starved_line(line, failures)))
        failures++;
    CHECK(failures > 10);
    CHECK_STR(text, whole);
    free(text);
    free(whole);
}

UNIT_TEST(a_line_that_has_no_memory_is_none)
{
    struct sample sample;
    struct lap_calls calls;
    static const struct lap_in_flight flying = {.thread_id = 7, .ticket = 9, .signal = 11};

    if (!sample_begin(&sample))
        SKIP("no trace can be recorded");
    sample_record(&sample);
    sample_end(&sample);
    CHECK_EQ_INT(lap_calls_open(&calls, sample.path), LAP_OK);
    CHECK_EQ_INT(lap_calls_next(&calls), LAP_OK);
    struct lap_line line = {.packet = &calls.packet,
                            .index = calls.index,
                            .name = calls.name,
                            .command = calls.command,
                            .args = calls.args.bytes,
                            .has_result = calls.has_result};
    check_starved(&line);
    line.command = GEN_COMMAND_NONE;
    check_starved(&line);
    line.in_block = true;
    check_starved(&line);
    check_starved(&(struct lap_line){.in_flight = &flying, .name = "vkQueueSubmit", .bare = true});
    lap_calls_close(&calls);
    sample_finish(&sample);
}

UNIT_MAIN();

/* SPDX-License-Identifier: MIT */
/* Which GPU is taken, among made-up ones. */
#include "replayer/device/gpu_choice.h"

#include "tests/unit/starved_json.h"
#include "tests/unit/unit.h"

static const struct replay_gpu gpus[] = {
    {"llvmpipe (LLVM 15, 256 bits)", VK_PHYSICAL_DEVICE_TYPE_CPU, 0, {1}, {9}},
    {"ACME Fast 7", VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, 0, {0xab, 0xcd, 2}, {8}},
    {"ACME Fast 7", VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU, 0, {3}, {8}},
    {"ACME", VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, 0, {4}, {7}},
    {"ACME Open", VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU, 0, {4}, {6}}, /* another driver of the same device */
};
#define COUNT 5u
#define NONE  UINT32_MAX

static uint32_t pick(const char *option, const struct replay_gpu *recorded)
{
    uint32_t found;
    return replay_gpu_pick(gpus, COUNT, option, recorded, &found) == LAP_OK ? found : NONE;
}

UNIT_TEST(an_option_names_one_gpu)
{
    CHECK_EQ_U64(pick("3", NULL), 3);
    CHECK_EQ_U64(pick("5", NULL), NONE);
    CHECK_EQ_U64(pick("LLVM", NULL), 0);
    CHECK_EQ_U64(pick("open", NULL), 4);
    CHECK_EQ_U64(pick("no such", NULL), NONE);
    CHECK(strstr(lap_error_message(), "no GPU of this machine is called \"no such\"") != NULL);
    CHECK_EQ_U64(pick("ACME", NULL), 3); /* the whole name of one, and a part of others' */
}

UNIT_TEST(what_several_fit_is_refused_with_the_list)
{
    CHECK_EQ_U64(pick("Fast 7", NULL), NONE);
    CHECK(strstr(lap_error_message(), "1 ACME Fast 7 (abcd02") != NULL);
    CHECK(strstr(lap_error_message(), "2 ACME Fast 7 (03") != NULL);
    CHECK(strstr(lap_error_message(), "Open") == NULL);
    CHECK_EQ_U64(pick("ACME Fast 7", NULL), NONE);
}

UNIT_TEST(uuids_are_read_with_dashes_and_without)
{
    CHECK_EQ_U64(pick("abcd0200000000000000000000000000", NULL), 1);
    CHECK_EQ_U64(pick("ABCD0200-0000-0000-0000-000000000000", NULL), 1);
    CHECK_EQ_U64(pick("01000000-0000-0000-0000-000000000000", NULL), 0); /* digits alone are no number here */
    CHECK_EQ_U64(pick("abcd0200000000000000000000000001", NULL), NONE);
    CHECK_EQ_U64(pick("00000000000000000000000000000000", NULL), NONE);
    CHECK_EQ_U64(pick("04000000000000000000000000000000", NULL), NONE); /* two drivers have it */
    CHECK(strstr(lap_error_message(), "ACME Open") != NULL);
}

UNIT_TEST(without_an_option_the_recorded_one_is_looked_for)
{
    struct replay_gpu recorded = {.name = "ACME Open"};

    CHECK_EQ_U64(pick(NULL, NULL), 1); /* the best type, the first of them */
    CHECK_EQ_U64(pick(NULL, &recorded), 4);
    recorded.device_uuid[0] = 3; /* it says more than a name */
    CHECK_EQ_U64(pick(NULL, &recorded), 2);
    recorded = (struct replay_gpu){.name = "ACME 1.0", .device_uuid = {4}, .driver_uuid = {6}};
    CHECK_EQ_U64(pick(NULL, &recorded), 4);
    recorded.driver_uuid[0] = 7;
    CHECK_EQ_U64(pick(NULL, &recorded), 3);
    recorded.device_uuid[0] = 77;
    CHECK_EQ_U64(pick(NULL, &recorded), 1);
}

static const char machine[] = "{\"recorded_on\":{\"device\":\"ACME\",\"device_uuid\":"
                              "\"04000000000000000000000000000000\",\"driver_uuid\":\"x\"}}";

UNIT_TEST(the_recorded_one_is_what_the_trace_says)
{
    struct replay_gpu gpu;

    CHECK_EQ_INT(replay_gpu_recorded(machine, NULL, &gpu), LAP_OK);
    CHECK_STR(gpu.name, "ACME");
    CHECK(gpu.device_uuid[0] == 4 && gpu.driver_uuid[0] == 0);
    CHECK_EQ_INT(replay_gpu_recorded(machine, "ACME Open", &gpu), LAP_OK);
    CHECK_STR(gpu.name, "ACME Open");
    CHECK_EQ_INT(gpu.device_uuid[0], 0);
    CHECK_EQ_INT(replay_gpu_recorded("{", NULL, &gpu), LAP_OK);
    CHECK_STR(gpu.name, "");
}

/* Another GPU than the recorded one must not be taken for want of memory. */
UNIT_TEST(without_memory_nothing_is_known_of_it)
{
    struct replay_gpu gpu;
    unsigned failures = 0;

    for (;; failures++) {
        starve_json(failures);
        enum lap_status status = replay_gpu_recorded(machine, NULL, &gpu);
        feed_json();
        if (status == LAP_OK)
            break;
        CHECK_EQ_INT(status, LAP_ERROR_MEMORY);
        CHECK_STR(lap_error_message(), "out of memory");
    }
    CHECK(failures > 8);
    CHECK_STR(gpu.name, "ACME");
}

UNIT_MAIN();

/* SPDX-License-Identifier: MIT */
/* JSON from a file: several objects, parted by NULs, put together as the INFO chunks of a trace are. */
#include <cjson/cJSON.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/fuzz.h"
#include "trace/format/info.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    struct lap_info info = {NULL, 0};
    const uint8_t *at = data, *end = data + bytes;
    char *text;

    while (at < end) {
        const uint8_t *stop = memchr(at, 0, (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        char *copy = malloc(length + 1);
        bool news;
        if (!copy)
            abort();
        memcpy(copy, at, length);
        copy[length] = 0; /* as a reader has it */
        if (lap_info_add(&info, copy, length, at == data ? NULL : &news) != LAP_OK)
            FUZZ_CHECK(lap_error_message()[0]);
        free(copy);
        at += length + (stop != NULL);
        if (!stop)
            break;
    }
    FUZZ_CHECK(info.members <= LAP_INFO_MAX_KEYS);
    text = lap_info_text(&info);
    FUZZ_CHECK(text);
    /* What is given out can be read, and says the same again. */
    cJSON *again = cJSON_Parse(text);
    FUZZ_CHECK(cJSON_IsObject(again));
    cJSON_Delete(again);
    cJSON_free(text);
    lap_info_finish(&info);
    return 0;
}

/* SPDX-License-Identifier: MIT */
/*
 * starved_json: lets one allocation of cJSON fail, as malloc would. One thread.
 */
#ifndef LAP_TESTS_UNIT_STARVED_JSON_H
#define LAP_TESTS_UNIT_STARVED_JSON_H

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

static unsigned json_left; /* that succeed before it */

static void *json_malloc(size_t bytes)
{
    if (json_left-- == 0) {
        errno = ENOMEM;
        return NULL;
    }
    return malloc(bytes);
}

/* The one behind so many fails. */
static void starve_json(unsigned after)
{
    cJSON_Hooks hooks = {.malloc_fn = json_malloc, .free_fn = free};

    json_left = after;
    cJSON_InitHooks(&hooks);
}

static void feed_json(void)
{
    cJSON_InitHooks(NULL);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * info: the INFO chunks of a file, merged (docs/format.md, "INFO"). A reader gives the result out. A writer keeps it,
 * so that it never writes more than a reader accepts, or the same again. One thread at a time.
 */
#ifndef LAP_TRACE_FORMAT_INFO_H
#define LAP_TRACE_FORMAT_INFO_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "trace/format/format.h"

struct cJSON;

struct lap_info {
    struct cJSON *all; /* NULL: nothing yet */
    size_t members;    /* at its top level */
};

void lap_info_finish(struct lap_info *info); /* also for a zeroed one */

/* *out: any JSON value, for cJSON_Delete; NULL on failure. LAP_ERROR_FORMAT: no JSON; LAP_ERROR_MEMORY. */
enum lap_status lap_info_parse(const char *json, size_t bytes, struct cJSON **out) LAP_MUST_CHECK;

/* The members of a JSON object replace those of the same name or are added. *out_news (may be NULL, which is cheaper):
 * whether anything has changed. LAP_ERROR_FORMAT: it is no JSON object, or there would be more than LAP_INFO_MAX_KEYS;
 * LAP_ERROR_MEMORY: some members may be missing. */
enum lap_status lap_info_add(struct lap_info *info, const char *json, size_t bytes, bool *out_news) LAP_MUST_CHECK;

/* Whether such a text has this member, and it is true. False also where there is no memory. */
bool lap_info_flag(const char *json, const char *key);

/* Whether such a text has this member, whatever it is. */
bool lap_info_has(const char *json, const char *key);

/* As JSON text, "{}" for nothing: the caller frees it with cJSON_free. NULL when there is no memory. */
char *lap_info_text(const struct lap_info *info);

#endif

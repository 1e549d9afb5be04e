/* SPDX-License-Identifier: MIT */
/* json_line: lines of JSON on stdout. cJSON takes NULL for an object, so only replay_json_line fails. One thread. */
#ifndef LAP_REPLAYER_VERIFY_JSON_LINE_H
#define LAP_REPLAYER_VERIFY_JSON_LINE_H

#include <cjson/cJSON.h>
#include <stdint.h>

#include "base/status.h"

/* "VkImage:7"; index 0: null. */
void replay_json_handle(cJSON *object, const char *name, uint32_t type, uint64_t index);
/* A text of a stranger; NULL: null. */
void replay_json_text(cJSON *object, const char *name, const char *text);

/* Prints the object and deletes it. NULL: there was no memory for it. */
enum lap_status replay_json_line(cJSON *object) LAP_MUST_CHECK;

#endif

/* SPDX-License-Identifier: MIT */
#include "replayer/verify/json_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "gen_ids.h"

void replay_json_handle(cJSON *object, const char *name, uint32_t type, uint64_t index)
{
    char text[80];

    snprintf(text, sizeof text, "%s:%" PRIu64, gen_handle_names[type], index);
    (void)(index ? cJSON_AddStringToObject(object, name, text) : cJSON_AddNullToObject(object, name));
}

void replay_json_text(cJSON *object, const char *name, const char *text)
{
    char *valid = text ? lap_utf8(text, strlen(text)) : NULL;

    (void)(valid ? cJSON_AddStringToObject(object, name, valid) : cJSON_AddNullToObject(object, name));
    free(valid);
}

enum lap_status replay_json_line(cJSON *object)
{
    char *text = object ? cJSON_PrintUnformatted(object) : NULL;

    if (text)
        puts(text);
    cJSON_free(text);
    cJSON_Delete(object);
    return text ? LAP_OK : lap_no_memory("JSON");
}

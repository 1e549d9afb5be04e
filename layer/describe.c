/* SPDX-License-Identifier: MIT */
#include "layer/describe.h"

#include <cjson/cJSON.h>

#include "layer/layer.h"

struct layer_description layer_describe_begin(void)
{
    cJSON *info = cJSON_CreateObject();

    return (struct layer_description){info, info != NULL};
}

cJSON *layer_describe_object(struct layer_description *description, const char *key)
{
    cJSON *object = cJSON_AddObjectToObject(description->info, key);

    description->whole &= object != NULL;
    return object;
}

void layer_describe_text(struct layer_description *description, cJSON *object, const char *key, const char *text)
{
    description->whole &= cJSON_AddStringToObject(object ? object : description->info, key, text) != NULL;
}

void layer_describe_number(struct layer_description *description, cJSON *object, const char *key, double value)
{
    description->whole &= cJSON_AddNumberToObject(object ? object : description->info, key, value) != NULL;
}

void layer_describe_flag(struct layer_description *description, cJSON *object, const char *key, bool value)
{
    description->whole &= cJSON_AddBoolToObject(object ? object : description->info, key, value) != NULL;
}

void layer_describe_end(struct layer_description *description, const char *what)
{
    char *text = description->whole ? cJSON_PrintUnformatted(description->info) : NULL;

    if (text)
        layer_recording_info(text);
    else
        lap_log(&layer.log, LAP_LOG_WARNING, "there is no memory for what the trace would say of %s", what);
    cJSON_free(text);
    cJSON_Delete(description->info);
}

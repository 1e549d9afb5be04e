/* SPDX-License-Identifier: MIT */
#include "layer/core/description.h"

#include <string.h>
#include <unistd.h>

#include "base/version.h"

#include <cjson/cJSON.h>

#include "layer/core/layer.h"

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
        lap_log(&layer.log, LAP_LOG_WARNING, "there is no memory for the trace's description of %s", what);
    cJSON_free(text);
    cJSON_Delete(description->info);
}

/* A text that is no JSON object leaves nothing. */
static void describe_source(struct layer_description *description)
{
    cJSON *source = layer.options.imported_from ? cJSON_Parse(layer.options.imported_from) : NULL;

    if (!cJSON_IsObject(source) || !cJSON_AddItemToObject(description->info, "imported_from", source))
        cJSON_Delete(source);
}

void layer_describe_process(void)
{
    char path[LAYER_PROGRAM_BYTES];
    struct layer_description description = layer_describe_begin();

    for (unsigned i = 0; i < LAYER_FORMAT_WORDS; i++)
        atomic_store(&layer.image_formats[i], 0);
    layer_options_program_path(&layer.options, path);
    layer_describe_text(&description, NULL, "program", path);
    layer_describe_number(&description, NULL, "pid", getpid());
    layer_describe_text(&description, NULL, "layer_version", LAPILLI_VERSION);
    layer_describe_text(&description, NULL, "registry", GEN_REGISTRY_VERSION);
    layer_describe_flag(&description, NULL, "verify", layer.options.verify);
    layer_describe_number(&description, NULL, "mappings_compared", 0); /* until layer/entry/device.c knows of one */
    layer_describe_flag(&description, NULL, "verify_all", layer.options.verify_all);
    layer_describe_flag(&description, NULL, "verify_bytes", layer.options.verify_bytes);
    layer_describe_flag(&description, NULL, "image_formats", true);       /* each is noted: layer_note_image_format */
    layer_describe_flag(&description, NULL, "image_block_formats", true); /* with compressed ones */
    describe_source(&description);
    layer_describe_end(&description, "the process");
}

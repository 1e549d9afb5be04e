/* SPDX-License-Identifier: MIT */
#include "layer/core/settings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/version.h"

struct layer_settings {
    const struct lap_log *log;
    void *set;
    char text[4096];
};

#ifdef LAP_LAYER_SETTINGS /* the build found libVulkanLayerSettings */

#include <vulkan/layer/vk_layer_settings.h>

static bool open_set(struct layer_settings *settings)
{
    return vkuCreateLayerSettingSet(LAPILLI_LAYER_NAME, NULL, NULL, NULL, (VkuLayerSettingSet *)&settings->set) ==
           VK_SUCCESS;
}

static void close_set(struct layer_settings *settings)
{
    vkuDestroyLayerSettingSet((VkuLayerSettingSet)settings->set, NULL);
}

const char *layer_settings_value(struct layer_settings *settings, const char *key, bool is_list)
{
    VkuLayerSettingSet set = settings ? (VkuLayerSettingSet)settings->set : VK_NULL_HANDLE;
    const char *values[64];
    uint32_t count = sizeof values / sizeof *values;
    size_t length = 0;

    if (!set || !vkuHasLayerSetting(set, key) ||
        vkuGetLayerSettingValues(set, key, VKU_LAYER_SETTING_TYPE_STRING, &count, NULL) != VK_SUCCESS || !count)
        return NULL;
    if (count > sizeof values / sizeof *values || (count > 1 && !is_list)) {
        lap_log(settings->log, LAP_LOG_WARNING, "lapilli_capture.%s in vk_layer_settings.txt: %s; it is left out", key,
                is_list ? "the list is too long" : "a value with commas or colons can be set by a variable only");
        return NULL;
    }
    if (vkuGetLayerSettingValues(set, key, VKU_LAYER_SETTING_TYPE_STRING, &count, values) != VK_SUCCESS)
        return NULL;
    for (uint32_t i = 0; i < count && length < sizeof settings->text; i++)
        length +=
            (size_t)snprintf(settings->text + length, sizeof settings->text - length, "%s%s", i ? "," : "", values[i]);
    return length && length < sizeof settings->text ? settings->text : NULL;
}

#elif !defined(__ANDROID__)

/* Its header is C++. */
const char *getLayerOption(const char *option);

static bool open_set(struct layer_settings *settings)
{
    return true; /* the library has one set, which it reads when it is first asked */
}

static void close_set(struct layer_settings *settings) {}

const char *layer_settings_value(struct layer_settings *settings, const char *key, bool is_list)
{
    char name[64];

    snprintf(name, sizeof name, "lapilli_capture.%s", key);
    const char *value = settings ? getLayerOption(name) : NULL;
    return value && *value ? value : NULL;
}

#else /* properties: layer/core/android.h */

static bool open_set(struct layer_settings *settings)
{
    return true;
}

static void close_set(struct layer_settings *settings) {}

const char *layer_settings_value(struct layer_settings *settings, const char *key, bool is_list)
{
    return NULL;
}

#endif

struct layer_settings *layer_settings_open(const struct lap_log *log)
{
    struct layer_settings *settings = calloc(1, sizeof *settings);

    if (settings && !open_set(settings)) {
        free(settings);
        return NULL;
    }
    if (settings)
        settings->log = log;
    return settings;
}

void layer_settings_close(struct layer_settings *settings)
{
    if (settings)
        close_set(settings);
    free(settings);
}

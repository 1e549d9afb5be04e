/* SPDX-License-Identifier: MIT */
#include "trace/format/info.h"

#include <cjson/cJSON.h>
#include <errno.h>

void lap_info_finish(struct lap_info *info)
{
    cJSON_Delete(info->all);
    *info = (struct lap_info){NULL, 0};
}

/* Takes `item`, which is in no object, in any case. */
static enum lap_status put(struct lap_info *info, cJSON *item, bool *out_news)
{
    cJSON *old = cJSON_GetObjectItemCaseSensitive(info->all, item->string);
    bool good;

    if (!old && info->members == LAP_INFO_MAX_KEYS) {
        cJSON_Delete(item);
        return lap_fail(LAP_ERROR_FORMAT, "more than %u members", LAP_INFO_MAX_KEYS);
    }
    if (out_news)
        *out_news |= !old || !cJSON_Compare(old, item, true);
    good =
        old ? cJSON_ReplaceItemViaPointer(info->all, old, item) : cJSON_AddItemToObject(info->all, item->string, item);
    if (!good) {
        cJSON_Delete(item);
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    }
    info->members += !old;
    return LAP_OK;
}

enum lap_status lap_info_parse(const char *json, size_t bytes, struct cJSON **out)
{
    errno = 0; /* the only way in which cJSON reports the error */
    *out = cJSON_ParseWithLength(json, bytes);
    if (*out)
        return LAP_OK;
    return errno == ENOMEM ? lap_fail(LAP_ERROR_MEMORY, "out of memory") : lap_fail(LAP_ERROR_FORMAT, "no JSON");
}

enum lap_status lap_info_add(struct lap_info *info, const char *json, size_t bytes, bool *out_news)
{
    enum lap_status status;
    cJSON *object;

    if (out_news)
        *out_news = false;
    if (!info->all)
        info->all = cJSON_CreateObject();
    if (!info->all)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    status = lap_info_parse(json, bytes, &object);
    if (status != LAP_ERROR_MEMORY && (!object || !cJSON_IsObject(object)))
        status = lap_fail(LAP_ERROR_FORMAT, "no JSON object");
    while (status == LAP_OK && object->child)
        status = put(info, cJSON_DetachItemViaPointer(object, object->child), out_news);
    cJSON_Delete(object);
    return status;
}

bool lap_info_flag(const char *json, const char *key)
{
    cJSON *info = cJSON_Parse(json);
    bool flag = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(info, key));

    cJSON_Delete(info);
    return flag;
}

bool lap_info_has(const char *json, const char *key)
{
    cJSON *info = cJSON_Parse(json);
    bool has = cJSON_GetObjectItemCaseSensitive(info, key) != NULL;

    cJSON_Delete(info);
    return has;
}

char *lap_info_text(const struct lap_info *info)
{
    cJSON *nothing = info->all ? NULL : cJSON_CreateObject();
    char *text = cJSON_PrintUnformatted(info->all ? info->all : nothing);

    cJSON_Delete(nothing);
    return text;
}

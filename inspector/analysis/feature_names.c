/* SPDX-License-Identifier: MIT */
/* Names of features and extensions, and of the evidence of their use (feature_use.h). */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "inspector/analysis/feature_use.h"

uint16_t feature_number(const char *name)
{
    uint16_t low = 0, high = GEN_FEATURE_COUNT;

    while (low < high) {
        uint16_t middle = (uint16_t)((low + high) / 2);
        int order = strcmp(gen_features[middle].name, name);
        if (order == 0)
            return middle;
        if (order < 0)
            low = (uint16_t)(middle + 1);
        else
            high = middle;
    }
    return GEN_FEATURE_COUNT;
}

uint16_t extension_number(const char *name)
{
    for (uint16_t i = 0; i < GEN_EXTENSION_COUNT; i++)
        if (strcmp(gen_extensions[i].name, name) == 0)
            return i;
    return GEN_EXTENSION_COUNT;
}

static const char *value_name(const struct gen_enum_info *info, int64_t value)
{
    for (uint32_t i = 0; i < info->value_count; i++)
        if (info->values[i].value == value)
            return gen_enum_value_name(&info->values[i]);
    return info->name;
}

static const char *capability_name(uint32_t number)
{
    for (uint32_t i = 0; i < GEN_CAPABILITY_COUNT; i++)
        if (gen_capabilities[i].number == number)
            return gen_capabilities[i].name;
    return "?";
}

static void write_use(const struct gen_use *w, char *out, size_t bytes)
{
    switch ((enum gen_use_kind)w->kind) {
    case GEN_USE_COMMAND:
        snprintf(out, bytes, "%s", gen_command_names[w->owner]);
        break;
    case GEN_USE_STRUCT:
        snprintf(out, bytes, "%s", gen_struct_names[w->owner]);
        break;
    case GEN_USE_MEMBER:
        snprintf(out, bytes, "%s.%s", gen_struct_names[w->owner],
                 gen_member_name(&gen_struct_infos[w->owner].members[w->member]));
        break;
    case GEN_USE_PARAMETER:
        snprintf(out, bytes, "%s.%s", gen_command_names[w->owner],
                 gen_member_name(&gen_command_infos[w->owner].members[w->member]));
        break;
    case GEN_USE_VALUE:
        snprintf(out, bytes, "%s", value_name(&gen_enums[w->owner], w->value));
        break;
    case GEN_USE_CAPABILITY:
        snprintf(out, bytes, "a shader declares %s", capability_name(w->owner));
        break;
    case GEN_USE_SPIRV:
        snprintf(out, bytes, "a shader declares %s", gen_spirv_extensions[w->owner]);
        break;
    case GEN_USE_STORES:
        snprintf(out, bytes, "a %s shader stores to memory", w->owner == GEN_STORES_FRAGMENT ? "fragment" : "vertex");
        break;
    case GEN_USE_DOES:
        snprintf(out, bytes, "%s",
                 w->owner == GEN_DOES_CROSS_ASPECTS ? "a copy between depth or stencil and color"
                                                    : "a secondary command buffer that executes another");
        break;
    }
}

void feature_evidence_text(const struct feature_evidence *evidence, char *out, size_t bytes)
{
    char use[192];

    if (!evidence->use) {
        snprintf(out, bytes, "it was enabled");
        return;
    }
    write_use(&gen_uses[evidence->use - 1], use, sizeof use);
    snprintf(out, bytes, "%s, frame %" PRIu64 ", packet %" PRIu64, use, evidence->frame + 1, evidence->ticket);
}

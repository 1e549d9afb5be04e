/* SPDX-License-Identifier: MIT */
#include "replayer/device/extension_fallback.h"

#include <stdio.h>
#include <string.h>

#include "gen_reflect.h"
#include "replayer/core/device.h"
#include "replayer/core/report.h"
#include "replayer/device/optional_extensions.h"

static bool is_here(const struct replay_extension_fallback *p, const char *name)
{
    for (uint32_t i = 0; i < p->available_count; i++)
        if (strcmp(p->available[i].extensionName, name) == 0)
            return true;
    return false;
}

static bool is_enabled(const struct replay_extension_fallback *p, const char *name)
{
    for (uint32_t i = 0; i < p->enabled_count; i++)
        if (strcmp(p->enabled[i], name) == 0)
            return true;
    return false;
}

/* Whether the program requested a Vulkan version that includes the extension and that is newer than the GPU's. */
static bool is_promoted(const struct replay_extension_fallback *p, uint32_t number)
{
    uint32_t version = gen_promotions[number];
    return gen_extensions[number].device && version > p->instance->properties.apiVersion &&
           version <= p->instance->api_version;
}

static void enable(struct replay *r, struct replay_extension_fallback *p, uint32_t number);

/* Enables the extension's dependencies, as far as they are extensions of this GPU. Of alternatives it enables all. It
 * skips Vulkan versions and instance extensions: they are part of Vulkan 1.1, which the replay's instance has. */
static void enable_dependencies(struct replay *r, struct replay_extension_fallback *p, uint32_t number)
{
    const char *at = gen_dependencies[number];
    char name[VK_MAX_EXTENSION_NAME_SIZE];

    while (*at) {
        size_t length = strcspn(at, "+,() ");
        uint16_t other;
        snprintf(name, sizeof name, "%.*s", (int)(length < sizeof name ? length : 0), at);
        other = extension_number(name);
        if (length && other < GEN_EXTENSION_COUNT && gen_extensions[other].device &&
            !(gen_promotions[other] && gen_promotions[other] <= p->instance->properties.apiVersion))
            enable(r, p, other);
        at += length ? length : 1;
    }
}

static void enable(struct replay *r, struct replay_extension_fallback *p, uint32_t number)
{
    const char *name = gen_extensions[number].name;

    if (is_enabled(p, name) || !is_here(p, name))
        return;
    p->enabled[p->enabled_count++] = name;
    replay_report_add(r->report, REPLAY_AREA_EXTENSION, REPLAY_MAPPED, name,
                      "the program had it as a part of its version of Vulkan; the GPU has it as an extension");
    enable_dependencies(r, p, number);
}

/* ---- features ---- */

/* Finds a structure in the chain, or prepends a new one. NULL without memory. */
static VkBaseOutStructure *need_struct(struct replay *r, VkBaseOutStructure **chain, enum gen_struct id)
{
    VkStructureType type = gen_type_of_struct(id);
    VkBaseOutStructure *s = *chain;

    while (s && s->sType != type)
        s = s->pNext;
    if (s)
        return s;
    s = replay_scratch(r, 1, gen_struct_infos[id].bytes);
    if (!s)
        return NULL;
    s->sType = type;
    s->pNext = *chain;
    *chain = s;
    return s;
}

static VkBool32 *member_of(enum gen_struct id, const VkBaseOutStructure *s, const char *name)
{
    const struct gen_struct_info *info = &gen_struct_infos[id];

    for (uint16_t i = 0; i < info->member_count; i++)
        if (info->members[i].element == GEN_ELEMENT_BOOL && strcmp(gen_member_name(&info->members[i]), name) == 0)
            return (VkBool32 *)(void *)((char *)(uintptr_t)s + info->members[i].offset);
    return NULL;
}

static bool has_member(enum gen_struct id, const char *name)
{
    static const VkBaseOutStructure none;
    return gen_struct_infos[id].features && member_of(id, &none, name);
}

/* 0: no version provides it. */
static uint32_t version_of(enum gen_struct id)
{
    unsigned major, minor;

    if (!gen_struct_providers[id] || sscanf(gen_struct_providers[id], "VK_VERSION_%u_%u", &major, &minor) != 2)
        return 0;
    return VK_MAKE_API_VERSION(0, major, minor, 0);
}

/* The extension that provides a structure. GEN_EXTENSION_COUNT: none that these versions include. */
static uint32_t owner_of(const struct replay_extension_fallback *p, enum gen_struct id)
{
    for (uint32_t i = 0; i < GEN_EXTENSION_COUNT; i++)
        for (const uint16_t *s = gen_extensions[i].structs; is_promoted(p, i) && s && *s; s++)
            if (*s == id && is_here(p, gen_extensions[i].name))
                return i;
    return GEN_EXTENSION_COUNT;
}

/* Finds the structure in which the GPU has a feature of a newer version: one of the GPU's own version, or of an
 * extension, which it then enables. GEN_STRUCT_NONE: the GPU lacks the feature. */
static enum gen_struct home_of(struct replay *r, struct replay_extension_fallback *p, enum gen_struct from,
                               const char *feature)
{
    for (uint32_t id = 1; id < GEN_STRUCT_COUNT; id++) {
        uint32_t owner, version;
        if (id == from || id == GEN_STRUCT_VkPhysicalDeviceFeatures2 || !has_member(id, feature))
            continue;
        version = version_of(id);
        if (version && version <= p->instance->properties.apiVersion)
            return id;
        owner = owner_of(p, id);
        if (owner < GEN_EXTENSION_COUNT) {
            enable(r, p, owner);
            return id;
        }
    }
    return GEN_STRUCT_NONE;
}

/* Whether a whole extension substitutes the feature. Enables the extension. */
static bool is_extension(struct replay *r, struct replay_extension_fallback *p, const char *feature)
{
    const char *name = strcmp(feature, "descriptorIndexing") == 0 ? "VK_EXT_descriptor_indexing"
                       : strcmp(feature, "pushDescriptor") == 0   ? VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME
                                                                  : replay_optional_extension_of_feature(feature);
    uint16_t number = name ? extension_number(name) : GEN_EXTENSION_COUNT;

    if (number == GEN_EXTENSION_COUNT || !is_here(p, name))
        return false;
    enable(r, p, number);
    return true;
}

/* Handles a structure that the GPU's version lacks. An extension may provide it. Otherwise it belongs to a whole
 * version, and each of its features moves to another structure. */
static enum lap_status move_features(struct replay *r, struct replay_extension_fallback *p, VkBaseOutStructure **chain,
                                     VkBaseOutStructure *s, enum gen_struct id)
{
    const struct gen_struct_info *info = &gen_struct_infos[id];
    uint32_t owner = owner_of(p, id);

    if (owner < GEN_EXTENSION_COUNT) {
        enable(r, p, owner);
        return LAP_OK;
    }
    for (uint16_t i = 0; i < info->member_count; i++) {
        const char *name = gen_member_name(&info->members[i]);
        VkBool32 *on = member_of(id, s, name);
        enum gen_struct home = on && *on ? home_of(r, p, id, name) : GEN_STRUCT_NONE;
        VkBaseOutStructure *target = home ? need_struct(r, chain, home) : NULL;
        if (home && !target)
            return replay_no_scratch(r);
        if (target)
            *member_of(home, target, name) = VK_TRUE;
        if (on && *on && (home || is_extension(r, p, name)))
            *on = VK_FALSE;
    }
    return LAP_OK;
}

/* ---- extensions ---- */

/* A version may guarantee a capability that its extension makes an optional feature: enables that feature. */
static enum lap_status switch_on(struct replay *r, const struct replay_extension_fallback *p,
                                 VkBaseOutStructure **chain, uint32_t number)
{
    for (const uint16_t *id = gen_extensions[number].structs; id && *id; id++) {
        VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
        VkBaseOutStructure *s, *next;
        if (!gen_struct_infos[*id].features || version_of(*id))
            continue;
        s = need_struct(r, chain, *id);
        if (!s)
            return replay_no_scratch(r);
        next = s->pNext;
        s->pNext = NULL;
        features.pNext = s;
        p->instance->vk.GetPhysicalDeviceFeatures2(p->instance->gpu, &features);
        s->pNext = next;
    }
    return LAP_OK;
}

enum lap_status replay_extension_fallback_enable(struct replay *r, struct replay_extension_fallback *p,
                                                 VkBaseOutStructure **chain)
{
    enum lap_status status = LAP_OK;

    for (VkBaseOutStructure *s = *chain; s && status == LAP_OK; s = s->pNext) {
        enum gen_struct id = gen_struct_of_type(s->sType);
        if (gen_struct_infos[id].features && version_of(id) > p->instance->properties.apiVersion)
            status = move_features(r, p, chain, s, id);
    }
    for (uint32_t i = 0; i < GEN_EXTENSION_COUNT && status == LAP_OK; i++) {
        if (!is_promoted(p, i) || !p->seen->evidence[GEN_SUBJECT_EXTENSION + i].use ||
            is_enabled(p, gen_extensions[i].name) || !is_here(p, gen_extensions[i].name))
            continue;
        enable(r, p, i);
        status = switch_on(r, p, chain, i);
    }
    return status;
}

const char *replay_extension_emulation(const char *name)
{
    static const struct {
        const char *name, *how;
    } known[] = {
        {"VK_KHR_push_descriptor", "descriptors that are pushed are in sets of the replay's own"},
        {"pushDescriptor", "descriptors that are pushed are in sets of the replay's own"},
        {"VK_EXT_host_image_copy", "copies between images and memory of the host are copies on the device"},
        {"hostImageCopy", "copies between images and memory of the host are copies on the device"},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0)
            return known[i].how;
    return NULL;
}

/* SPDX-License-Identifier: MIT */
/* What a recorded device needs of this GPU: extensions that the trace uses, and features that it switched on. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_reflect.h"
#include "gen_replay.h"
#include "replayer/match.h"
#include "replayer/player.h"
#include "replayer/report.h"

struct match {
    struct replay *r;
    struct replay_instance *instance;
    VkExtensionProperties *extensions; /* of the GPU */
    uint32_t extension_count;
    const char **enabled; /* what is left of the recorded ones */
    uint32_t enabled_count;
    struct replay_used *used; /* NULL until something is missing */
    char missing[384];        /* names, for the one sentence */
    uint32_t missing_count;
};

static void miss(struct match *m, enum replay_area area, const char *what)
{
    size_t length = strlen(m->missing);
    bool force = m->r->options.force;

    m->missing_count++;
    replay_report_add(m->r->report, area, force ? REPLAY_DROPPED : REPLAY_REFUSED, what,
                      force ? "the trace needs it and the GPU does not have it; it is left out"
                            : "the trace needs it and the GPU does not have it");
    if (force && !m->r->report)
        lap_log(m->r->log, LAP_LOG_WARNING, "left out, since the GPU has no %s", what);
    if (length + strlen(what) + 8 < sizeof m->missing)
        snprintf(m->missing + length, sizeof m->missing - length, "%s%s", length ? ", " : "", what);
    else if (length && strcmp(m->missing + length - 3, "...") != 0)
        snprintf(m->missing + length, sizeof m->missing - length, ", ...");
}

static bool gpu_has(const struct match *m, const char *name)
{
    for (uint32_t i = 0; i < m->extension_count; i++)
        if (strcmp(m->extensions[i].extensionName, name) == 0)
            return true;
    return false;
}

static bool is_enabled(const struct match *m, const char *name)
{
    for (uint32_t i = 0; i < m->enabled_count; i++)
        if (strcmp(m->enabled[i], name) == 0)
            return true;
    return false;
}

static const struct gen_extension_info *extension_of(const char *name)
{
    for (uint32_t i = 0; i < GEN_EXTENSION_COUNT; i++)
        if (strcmp(gen_extensions[i].name, name) == 0)
            return &gen_extensions[i];
    return NULL;
}

/* Whether this core version of the GPU provides what an extension once added: then its names have no suffix any more.
 */
static bool is_core(const struct match *m, const struct gen_extension_info *extension)
{
    uint32_t gpu = m->instance->properties.apiVersion < m->instance->api_version ? m->instance->properties.apiVersion
                                                                                 : m->instance->api_version;
    bool any = false;

    for (const uint16_t *c = extension->commands; c && *c; c++) {
        unsigned major, minor;
        if (!gen_command_providers[*c] || sscanf(gen_command_providers[*c], "VK_VERSION_%u_%u", &major, &minor) != 2 ||
            gpu < VK_MAKE_API_VERSION(0, major, minor, 0))
            return false;
        any = true;
    }
    for (const uint16_t *s = extension->structs; s && *s; s++) {
        unsigned major, minor;
        if (!gen_struct_providers[*s] || sscanf(gen_struct_providers[*s], "VK_VERSION_%u_%u", &major, &minor) != 2 ||
            gpu < VK_MAKE_API_VERSION(0, major, minor, 0))
            return false;
        any = true;
    }
    return any;
}

/* ---- features ---- */

/* The VkBool32 members of a structure of features; `what` tells which are on in `requested`, and are not in
 * `supported`. */
typedef void (*feature_fn)(struct match *m, const char *name, VkBool32 *requested);

static void compare_members(struct match *m, enum gen_struct id, void *requested, const void *supported,
                            feature_fn visit)
{
    const struct gen_struct_info *info = &gen_struct_infos[id];

    for (uint16_t i = 0; i < info->member_count; i++) {
        const struct gen_member *member = &info->members[i];
        VkBool32 *on = (VkBool32 *)(void *)((char *)requested + member->offset);
        if (member->element != GEN_ELEMENT_BOOL || member->shape != GEN_SHAPE_VALUE)
            continue;
        if (*on && !(supported && *(const VkBool32 *)(const void *)((const char *)supported + member->offset)))
            visit(m, member->name, on);
    }
}

static void feature_missing(struct match *m, const char *name, VkBool32 *requested)
{
    miss(m, REPLAY_AREA_FEATURE, name);
    *requested = VK_FALSE;
}

static void feature_on(struct match *m, const char *name, VkBool32 *requested)
{
    (void)name, (void)requested;
    m->missing_count++;
}

static bool any_feature_on(struct match *m, enum gen_struct id, void *s)
{
    uint32_t before = m->missing_count;
    bool any;

    compare_members(m, id, s, NULL, feature_on);
    any = m->missing_count != before;
    m->missing_count = before;
    return any;
}

/* ---- extensions ---- */

/* Structures of limits are only ever filled in by the driver; the registry calls them so. */
static bool is_witness(uint16_t id)
{
    return !gen_struct_infos[id].features && !strstr(gen_struct_names[id], "Properties");
}

/* Whether the trace would miss the extension. What commands and structures of it are there tells; an extension that has
 * neither (new SPIR-V, say) is used when the program switched a feature of it on. */
static bool is_used(struct match *m, const struct gen_extension_info *extension, const VkBaseOutStructure *chain)
{
    bool has_witness = false;

    for (const uint16_t *c = extension->commands; c && *c; c++) {
        if (gen_command_flags[*c] & LAP_PACKET_INFO)
            continue;
        has_witness = true;
        if (m->used->commands[*c])
            return true;
    }
    for (const uint16_t *s = extension->structs; s && *s; s++) {
        if (!is_witness(*s))
            continue;
        has_witness = true;
        if (m->used->structs[*s])
            return true;
    }
    if (has_witness)
        return false;
    for (const VkBaseOutStructure *s = chain; s; s = s->pNext)
        for (const uint16_t *id = extension->structs; id && *id; id++)
            if (gen_struct_of_type(s->sType) == *id && gen_struct_infos[*id].features &&
                any_feature_on(m, (enum gen_struct) * id, (void *)(uintptr_t)s))
                return true;
    return false;
}

/* Extensions that a replay can always do without: debuggers; windows and memory, which it has in its own way. */
static bool is_dispensable(const char *name)
{
    static const char *const names[] = {"VK_EXT_debug_marker",
                                        "VK_EXT_tooling_info",
                                        "VK_EXT_device_fault",
                                        "VK_EXT_external_memory_host",
                                        "VK_KHR_external_memory_fd",
                                        "VK_NV_device_diagnostics_config",
                                        "VK_NV_device_diagnostic_checkpoints",
                                        "VK_KHR_portability_subset",
                                        "VK_EXT_private_data",
                                        "VK_KHR_swapchain"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

static enum lap_status match_extension(struct match *m, const char *name, const VkBaseOutStructure *chain)
{
    const struct gen_extension_info *extension = extension_of(name);

    if (gpu_has(m, name)) {
        m->enabled[m->enabled_count++] = name;
        return LAP_OK;
    }
    if (is_dispensable(name) || (extension && is_core(m, extension))) {
        bool does_without = is_dispensable(name);
        replay_report_add(m->r->report, REPLAY_AREA_EXTENSION, does_without ? REPLAY_DROPPED : REPLAY_MAPPED, name,
                          does_without ? "the GPU does not have it; a replay needs none"
                                       : "the GPU has it as a part of its version of Vulkan");
        return LAP_OK;
    }
    if (!m->used) {
        m->used = calloc(1, sizeof *m->used);
        if (!m->used)
            return lap_fail(LAP_ERROR_MEMORY, "out of memory");
        enum lap_status status = replay_find_used(m->r->options.file, m->used);
        if (status != LAP_OK)
            return status;
    }
    if (extension && is_used(m, extension, chain)) {
        miss(m, REPLAY_AREA_EXTENSION, name);
        return LAP_OK;
    }
    lap_log(m->r->log, LAP_LOG_INFO, "the GPU has no %s; nothing in the trace uses it", name);
    replay_report_add(m->r->report, REPLAY_AREA_EXTENSION, REPLAY_DROPPED, name,
                      "the GPU does not have it; it was enabled, and nothing in the trace uses it");
    return LAP_OK;
}

static enum lap_status match_extensions(struct match *m, const VkDeviceCreateInfo *recorded,
                                        const VkBaseOutStructure *chain)
{
    struct replay *r = m->r;
    enum lap_status status = LAP_OK;

    if (m->instance->vk.EnumerateDeviceExtensionProperties(m->instance->gpu, NULL, &m->extension_count, NULL) < 0)
        m->extension_count = 0;
    m->extensions = replay_scratch(r, m->extension_count, sizeof *m->extensions);
    if (!m->extensions || m->instance->vk.EnumerateDeviceExtensionProperties(m->instance->gpu, NULL,
                                                                             &m->extension_count, m->extensions) < 0)
        m->extension_count = 0;
    m->enabled = replay_scratch(r, (uint64_t)recorded->enabledExtensionCount + 2, sizeof *m->enabled);
    if (!m->enabled)
        return replay_no_scratch(r);
    for (uint32_t i = 0; i < recorded->enabledExtensionCount && recorded->ppEnabledExtensionNames && status == LAP_OK;
         i++)
        if (recorded->ppEnabledExtensionNames[i])
            status = match_extension(m, recorded->ppEnabledExtensionNames[i], chain);
    /* A device that has it wants it switched on (VUID-VkDeviceCreateInfo-pProperties-04451). */
    if (gpu_has(m, "VK_KHR_portability_subset") && !is_enabled(m, "VK_KHR_portability_subset"))
        m->enabled[m->enabled_count++] = "VK_KHR_portability_subset";
    return status;
}

/* ---- the chain ---- */

/* Whether a structure of the recorded chain may be given to this GPU. */
static bool keeps(const struct match *m, const VkBaseOutStructure *s)
{
    enum gen_struct id = gen_struct_of_type(s->sType);
    bool provided = false, any = false;

    switch (s->sType) {
    case VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO:             /* one GPU stands for all */
    case VK_STRUCTURE_TYPE_DEVICE_DEVICE_MEMORY_REPORT_CREATE_INFO_EXT: /* a callback of the program */
        return false;
    default:
        break;
    }
    if (id == GEN_STRUCT_NONE || !gen_struct_providers[id])
        return false;
    for (uint32_t i = 0; i < GEN_EXTENSION_COUNT; i++)
        for (const uint16_t *owned = gen_extensions[i].structs; owned && *owned; owned++)
            if (*owned == id) {
                any = true;
                provided = provided || is_enabled(m, gen_extensions[i].name);
            }
    if (strncmp(gen_struct_providers[id], "VK_VERSION_", 11) == 0) {
        unsigned major = 1, minor = 0;
        (void)sscanf(gen_struct_providers[id], "VK_VERSION_%u_%u", &major, &minor);
        return provided || m->instance->properties.apiVersion >= VK_MAKE_API_VERSION(0, major, minor, 0);
    }
    return !any || provided;
}

/* Unlinks what this GPU can't be given. What a program switched on in a structure of features that must go is missing,
 * unless its extension is one that the trace does not use. */
static VkBaseOutStructure *prune(struct match *m, VkBaseOutStructure *chain)
{
    VkBaseOutStructure **at = &chain;

    while (*at) {
        enum gen_struct id = gen_struct_of_type((*at)->sType);
        if (keeps(m, *at)) {
            at = &(*at)->pNext;
            continue;
        }
        if (id != GEN_STRUCT_NONE && gen_struct_infos[id].features && gen_struct_providers[id] &&
            strncmp(gen_struct_providers[id], "VK_VERSION_", 11) == 0)
            compare_members(m, id, *at, NULL, feature_missing);
        *at = (*at)->pNext;
    }
    return chain;
}

static enum lap_status match_features(struct match *m, VkPhysicalDeviceFeatures *core, VkBaseOutStructure *chain)
{
    VkPhysicalDeviceFeatures2 supported = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2};
    VkBaseOutStructure *last = (VkBaseOutStructure *)&supported, *answer;

    for (VkBaseOutStructure *s = chain; s; s = s->pNext) {
        enum gen_struct id = gen_struct_of_type(s->sType);
        if (!gen_struct_infos[id].features || id == GEN_STRUCT_VkPhysicalDeviceFeatures2)
            continue;
        last->pNext = replay_scratch(m->r, 1, gen_struct_infos[id].bytes);
        if (!last->pNext)
            return replay_no_scratch(m->r);
        last = last->pNext;
        last->sType = s->sType;
    }
    m->instance->vk.GetPhysicalDeviceFeatures2(m->instance->gpu, &supported);
    answer = supported.pNext;
    for (VkBaseOutStructure *s = chain; s; s = s->pNext) {
        enum gen_struct id = gen_struct_of_type(s->sType);
        if (id == GEN_STRUCT_VkPhysicalDeviceFeatures2) {
            compare_members(m, GEN_STRUCT_VkPhysicalDeviceFeatures, &((VkPhysicalDeviceFeatures2 *)(void *)s)->features,
                            &supported.features, feature_missing);
        } else if (gen_struct_infos[id].features) {
            compare_members(m, id, s, answer, feature_missing);
            answer = answer->pNext;
        }
    }
    if (core)
        compare_members(m, GEN_STRUCT_VkPhysicalDeviceFeatures, core, &supported.features, feature_missing);
    return LAP_OK;
}

enum lap_status replay_match_device(struct replay *r, struct replay_instance *instance,
                                    const VkDeviceCreateInfo *recorded, VkDeviceCreateInfo *out)
{
    struct match m = {.r = r, .instance = instance};
    VkBaseOutStructure *chain = (VkBaseOutStructure *)(uintptr_t)recorded->pNext;
    VkPhysicalDeviceFeatures *core = (VkPhysicalDeviceFeatures *)(uintptr_t)recorded->pEnabledFeatures;
    enum lap_status status = match_extensions(&m, recorded, chain);

    if (status == LAP_OK) {
        chain = prune(&m, chain);
        status = match_features(&m, core, chain);
    }
    free(m.used);
    if (status != LAP_OK)
        return status;
    if (m.missing_count && !r->options.force) {
        status = lap_fail(LAP_ERROR_UNSUPPORTED, "%s lacks what the trace needs: %s", instance->properties.deviceName,
                          m.missing);
        if (!r->report)
            return status;
        replay_report_refusal(r, status);
    }
    *out = *recorded;
    out->pNext = chain;
    out->pEnabledFeatures = core;
    out->enabledLayerCount = 0;
    out->ppEnabledLayerNames = NULL;
    out->enabledExtensionCount = m.enabled_count;
    out->ppEnabledExtensionNames = m.enabled;
    return LAP_OK;
}

/* SPDX-License-Identifier: MIT */
/* What a recorded device needs of this GPU: the extensions and features that the trace uses. Those that it only enabled
 * are left out where the GPU lacks them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_reflect.h"
#include "gen_replay.h"
#include "replayer/match.h"
#include "replayer/optional.h"
#include "replayer/player.h"
#include "replayer/promote.h"
#include "replayer/push.h"
#include "replayer/report.h"

#define NAMES_BYTES 1200
#define PUSHED      "descriptors that are pushed are in sets of the replay's own"

/* Names for one sentence: as many as there is room for. */
struct names {
    char text[NAMES_BYTES];
    uint32_t count;
    bool cut;
};

struct match {
    struct replay *r;
    struct replay_instance *instance;
    VkExtensionProperties *extensions; /* of the GPU */
    uint32_t extension_count;
    const char **enabled; /* what is left of the recorded ones */
    uint32_t enabled_count;
    struct replay_used *used; /* NULL until something is missing */
    enum lap_status status;   /* of looking for it */
    struct names hidden, missing, idle, unseen, stood_for;
    uint32_t optional; /* extensions for which features of Vulkan 1.2 are switched on (optional.h) */
};

static void add_name(struct names *names, const char *name)
{
    size_t length = strlen(names->text);

    names->count++;
    if (names->cut)
        return;
    names->cut = length + strlen(name) + 8 >= sizeof names->text;
    snprintf(names->text + length, sizeof names->text - length, "%s%s", length ? ", " : "", names->cut ? "..." : name);
}

/* The trace uses it; `evidence` may be NULL. */
static void miss(struct match *m, enum replay_area area, const char *what, const struct replay_evidence *evidence)
{
    bool force = m->r->options.force;
    char use[320] = "it was enabled";

    if (evidence)
        replay_evidence_text(evidence, use, sizeof use);
    add_name(&m->missing, what);
    replay_report_add(m->r->report, area, force ? REPLAY_DROPPED : REPLAY_REFUSED, what,
                      force ? "the trace needs it (%s) and the GPU does not have it; it is left out"
                            : "the trace needs it (%s) and the GPU does not have it",
                      use);
    if (force && !m->r->report)
        lap_log(m->r->log, LAP_LOG_WARNING, "left out, since the GPU has no %s", what);
}

/* The layer does not show it to programs, so no trace of its has it switched on, whatever the GPU has. */
static void refuse(struct match *m, enum replay_area area, const char *what, const char *why)
{
    add_name(&m->hidden, what);
    replay_report_add(m->r->report, area, REPLAY_REFUSED, what, "it is hidden from programs%s%s, and never replayed",
                      why ? ": " : "", why ? why : "");
}

/* What was enabled and not used is no loss. */
static void drop_idle(struct match *m, enum replay_area area, const char *what)
{
    add_name(&m->idle, what);
    replay_report_add(m->r->report, area, REPLAY_DROPPED, what,
                      "the GPU does not have it; it was enabled, and nothing in the trace uses it");
}

/* It is used, and the replay does the same in another way. */
static void stand_for(struct match *m, enum replay_area area, const char *what, const char *how)
{
    add_name(&m->stood_for, what);
    replay_report_add(m->r->report, area, REPLAY_MAPPED, what, "the GPU does not have it; %s", how);
}

static void drop_moot(struct match *m, enum replay_area area, const char *what, const char *why)
{
    add_name(&m->idle, what);
    replay_report_add(m->r->report, area, REPLAY_DROPPED, what, "the GPU does not have it; a replay needs none (%s)",
                      why);
}

static void drop_unseen(struct match *m, enum replay_area area, const char *what, const char *why)
{
    add_name(&m->unseen, what);
    replay_report_add(m->r->report, area, REPLAY_DROPPED, what,
                      "the GPU does not have it; whether the trace uses it can't be seen (%s), so what comes out may "
                      "differ",
                      why);
}

/* False when the trace can't be read again; m->status says why. */
static bool look_for_uses(struct match *m)
{
    if (m->used || m->status != LAP_OK)
        return m->status == LAP_OK;
    m->used = calloc(1, sizeof *m->used);
    m->status = m->used ? replay_find_used(m->r->reader, m->r->options.last_frame, m->used)
                        : lap_fail(LAP_ERROR_MEMORY, "out of memory");
    return m->status == LAP_OK;
}

static void say_dropped(const struct match *m)
{
    const char *gpu = m->instance->properties.deviceName;

    if (m->r->report)
        return;
    if (m->idle.count)
        lap_log(m->r->log, LAP_LOG_INFO,
                "%s lacks %" PRIu32 " features and extensions that the program enabled and never used: %s", gpu,
                m->idle.count, m->idle.text);
    if (m->stood_for.count)
        lap_log(m->r->log, LAP_LOG_INFO, "%s lacks %s: " PUSHED, gpu, m->stood_for.text);
    if (m->unseen.count)
        lap_log(m->r->log, LAP_LOG_WARNING,
                "%s lacks %s: whether the trace uses that can't be seen; it is left out, and what comes out may differ",
                gpu, m->unseen.text);
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
    uint16_t number = replay_extension_number(name);
    return number < GEN_EXTENSION_COUNT ? &gen_extensions[number] : NULL;
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
    return any || (gen_promotions[extension - gen_extensions] && gpu >= gen_promotions[extension - gen_extensions]);
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

static bool is_seen(const struct match *m, uint16_t number)
{
    const struct replay_evidence *evidence = m->used->witnesses.evidence;
    uint16_t partner = gen_features[number].partner;
    return evidence[number].witness && (!partner || evidence[partner - 1].witness);
}

static void feature_missing(struct match *m, const char *name, VkBool32 *requested)
{
    uint16_t number = replay_feature_number(name);
    const struct gen_feature *feature = number < GEN_FEATURE_COUNT ? &gen_features[number] : NULL;

    if (!look_for_uses(m))
        return;
    *requested = VK_FALSE;
    if (!feature || !feature->known)
        miss(m, REPLAY_AREA_FEATURE, name, NULL);
    else if (is_seen(m, number) && replay_push_stands_for(name))
        stand_for(m, REPLAY_AREA_FEATURE, name, PUSHED);
    else if (is_seen(m, number))
        miss(m, REPLAY_AREA_FEATURE, name, &m->used->witnesses.evidence[number]);
    else if (feature->moot)
        drop_moot(m, REPLAY_AREA_FEATURE, name, feature->moot);
    else if (feature->unseen)
        drop_unseen(m, REPLAY_AREA_FEATURE, name, feature->unseen);
    else
        drop_idle(m, REPLAY_AREA_FEATURE, name);
}

/* Programs are told that there is none of those. They are off in the device that a check makes to look at the rest. */
static void refuse_hidden_features(struct match *m, VkBaseOutStructure *chain)
{
    for (VkBaseOutStructure *s = chain; s; s = s->pNext) {
        const struct gen_struct_info *info = &gen_struct_infos[gen_struct_of_type(s->sType)];
        for (uint16_t i = 0; info->features && i < info->member_count; i++) {
            VkBool32 *on = (VkBool32 *)(void *)((char *)s + info->members[i].offset);
            if (!(info->members[i].flags & GEN_MEMBER_HIDDEN) || !*on)
                continue;
            refuse(m, REPLAY_AREA_FEATURE, info->members[i].name, NULL);
            *on = VK_FALSE;
        }
    }
}

/* ---- extensions ---- */

/* A feature that this build knows nothing of, switched on in a structure of the extension: it may be used. */
static bool has_unknown_feature(const struct gen_extension_info *extension, const VkBaseOutStructure *chain)
{
    for (const VkBaseOutStructure *s = chain; s; s = s->pNext)
        for (const uint16_t *id = extension->structs; id && *id; id++) {
            const struct gen_struct_info *info = &gen_struct_infos[*id];
            if (gen_struct_of_type(s->sType) != *id || !info->features)
                continue;
            for (uint16_t i = 0; i < info->member_count; i++) {
                uint16_t number = replay_feature_number(info->members[i].name);
                const void *at = (const char *)s + info->members[i].offset;
                if (info->members[i].element == GEN_ELEMENT_BOOL && *(const VkBool32 *)at &&
                    (number == GEN_FEATURE_COUNT || !gen_features[number].known))
                    return true;
            }
        }
    return false;
}

/* Extensions that say how and when images are presented, which a replay does in its own way whatever the driver has:
 * they are not switched on. */
static bool is_of_presents(const char *name)
{
    static const char *const names[] = {"VK_EXT_hdr_metadata",           "VK_EXT_image_compression_control_swapchain",
                                        "VK_EXT_swapchain_maintenance1", "VK_GGP_frame_token",
                                        "VK_KHR_incremental_present",    "VK_KHR_swapchain_maintenance1"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Extensions that a replay can always do without: debuggers and what measures; windows, memory and priorities, which it
 * has in its own way. */
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
                                        "VK_EXT_pipeline_creation_feedback",
                                        "VK_EXT_calibrated_timestamps",
                                        "VK_EXT_memory_priority",
                                        "VK_EXT_memory_budget",
                                        "VK_EXT_global_priority",
                                        "VK_KHR_global_priority",
                                        "VK_KHR_pipeline_executable_properties",
                                        "VK_AMD_shader_info",
                                        "VK_AMD_memory_overallocation_behavior",
                                        "VK_KHR_swapchain"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* A part of Vulkan 1.2 may be one that a device does without. */
static bool core_does_it(struct match *m, const char *name)
{
    uint32_t number = replay_optional_number(name);

    if (number == REPLAY_OPTIONAL_NONE)
        return true;
    if (!replay_optional_here(m->instance, number))
        return false;
    m->optional |= 1u << number;
    return true;
}

static enum lap_status match_extension(struct match *m, const char *name, const VkBaseOutStructure *chain)
{
    const struct gen_extension_info *extension = extension_of(name);
    const struct replay_evidence *evidence;

    if (extension && extension->hidden) {
        refuse(m, REPLAY_AREA_EXTENSION, name, extension->hidden);
        return LAP_OK;
    }
    if (is_of_presents(name))
        return LAP_OK;
    if (gpu_has(m, name)) {
        m->enabled[m->enabled_count++] = name;
        return LAP_OK;
    }
    if (is_dispensable(name) || (extension && is_core(m, extension) && core_does_it(m, name))) {
        bool does_without = is_dispensable(name);
        replay_report_add(m->r->report, REPLAY_AREA_EXTENSION, does_without ? REPLAY_DROPPED : REPLAY_MAPPED, name,
                          does_without ? "the GPU does not have it; a replay needs none"
                                       : "the GPU has it as a part of its version of Vulkan");
        return LAP_OK;
    }
    if (!look_for_uses(m))
        return m->status;
    if (!extension) { /* nothing of it can be in the trace but for what this build would not know */
        drop_unseen(m, REPLAY_AREA_EXTENSION, name, "this build does not know it");
        return LAP_OK;
    }
    evidence = &m->used->witnesses.evidence[GEN_SUBJECT_EXTENSION + (extension - gen_extensions)];
    if (evidence->witness && replay_push_stands_for(name))
        stand_for(m, REPLAY_AREA_EXTENSION, name, PUSHED);
    else if (evidence->witness || has_unknown_feature(extension, chain))
        miss(m, REPLAY_AREA_EXTENSION, name, evidence);
    else
        drop_idle(m, REPLAY_AREA_EXTENSION, name);
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
    m->enabled =
        replay_scratch(r, (uint64_t)recorded->enabledExtensionCount + 1 + GEN_EXTENSION_COUNT, sizeof *m->enabled);
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

/* A GPU of an older Vulkan may have as extensions what the program had as a part of its version. */
static enum lap_status promote(struct match *m, VkBaseOutStructure **chain)
{
    struct replay_promotion promotion = {.instance = m->instance,
                                         .here = m->extensions,
                                         .here_count = m->extension_count,
                                         .enabled = m->enabled,
                                         .enabled_count = m->enabled_count};
    enum lap_status status;

    if (m->instance->properties.apiVersion >= m->instance->api_version || !look_for_uses(m))
        return m->status;
    promotion.seen = &m->used->witnesses;
    status = replay_promote(m->r, &promotion, chain);
    m->enabled_count = promotion.enabled_count;
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

static void note_feature(struct match *m, const char *name, VkBool32 *on)
{
    uint16_t number = replay_feature_number(name);
    (void)on;
    if (number < GEN_FEATURE_COUNT)
        m->r->report->features[number] = true;
}

/* For the report: what shaders may count on. */
static void tell_enabled(struct match *m, VkPhysicalDeviceFeatures *core, VkBaseOutStructure *chain)
{
    if (!m->r->report)
        return;
    if (core)
        compare_members(m, GEN_STRUCT_VkPhysicalDeviceFeatures, core, NULL, note_feature);
    for (VkBaseOutStructure *s = chain; s; s = s->pNext) {
        enum gen_struct id = gen_struct_of_type(s->sType);
        if (id == GEN_STRUCT_VkPhysicalDeviceFeatures2)
            compare_members(m, GEN_STRUCT_VkPhysicalDeviceFeatures, &((VkPhysicalDeviceFeatures2 *)(void *)s)->features,
                            NULL, note_feature);
        else if (gen_struct_infos[id].features)
            compare_members(m, id, s, NULL, note_feature);
    }
    for (uint32_t i = 0; i < m->enabled_count; i++) {
        uint16_t number = replay_extension_number(m->enabled[i]);
        if (number < GEN_EXTENSION_COUNT)
            m->r->report->extensions[number] = true;
    }
}

enum lap_status replay_match_device(struct replay *r, struct replay_instance *instance,
                                    const VkDeviceCreateInfo *recorded, VkDeviceCreateInfo *out)
{
    struct match m = {.r = r, .instance = instance};
    VkBaseOutStructure *chain = (VkBaseOutStructure *)(uintptr_t)recorded->pNext;
    VkPhysicalDeviceFeatures *core = (VkPhysicalDeviceFeatures *)(uintptr_t)recorded->pEnabledFeatures;
    enum lap_status status = match_extensions(&m, recorded, chain);

    refuse_hidden_features(&m, chain);
    if (status == LAP_OK)
        status = promote(&m, &chain);
    if (status == LAP_OK) {
        chain = prune(&m, chain);
        status = match_features(&m, core, chain);
    }
    if (status == LAP_OK)
        status = replay_optional_enable(r, m.optional, &chain);
    free(m.used);
    if (status == LAP_OK)
        status = m.status;
    if (status != LAP_OK)
        return status;
    say_dropped(&m);
    tell_enabled(&m, core, chain);
    if (m.hidden.count)
        status = lap_fail(LAP_ERROR_UNSUPPORTED,
                          "the trace switches on what is hidden from programs and never replayed: %s", m.hidden.text);
    else if (m.missing.count && !r->options.force)
        status = lap_fail(LAP_ERROR_UNSUPPORTED, "%s lacks what the trace needs: %s", instance->properties.deviceName,
                          m.missing.text);
    if (status != LAP_OK) {
        if (!r->report)
            return status;
        replay_report_refusal_too(r, status);
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

/* ---- commands ---- */

static bool has_function(const struct replay_device *dev, uint16_t function)
{
    PFN_vkVoidFunction pointer;

    memcpy(&pointer, (const char *)&dev->vk + (function - 1u) * sizeof pointer, sizeof pointer);
    return pointer != NULL;
}

enum lap_status replay_require_commands(struct replay *r, const struct replay_device *dev)
{
    const struct replay_instance *instance = dev->instance;
    struct names missing = {.count = 0};
    struct replay_used *used;
    enum lap_status status;

    if (r->report || r->options.force || instance->properties.apiVersion >= instance->api_version)
        return LAP_OK;
    used = calloc(1, sizeof *used);
    if (!used)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    status = replay_find_used(r->reader, r->options.last_frame, used);
    for (uint32_t command = 1; command < GEN_COMMAND_COUNT && status == LAP_OK; command++) {
        const struct gen_replay_entry *entry = &gen_replay_table[command];
        if (used->commands[command] && entry->function && !(entry->flags & GEN_REPLAY_INSTANCE) &&
            !has_function(dev, entry->function) && replay_missing(r, command) != LAP_OK)
            add_name(&missing, gen_command_names[command]);
    }
    free(used);
    if (status != LAP_OK || !missing.count)
        return status;
    return lap_fail(LAP_ERROR_UNSUPPORTED, "%s has Vulkan %u.%u, which lacks what the trace needs: %s",
                    instance->properties.deviceName, VK_API_VERSION_MAJOR(instance->properties.apiVersion),
                    VK_API_VERSION_MINOR(instance->properties.apiVersion), missing.text);
}

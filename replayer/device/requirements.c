/* SPDX-License-Identifier: MIT */
/* Matches a recorded device with this GPU. The GPU must have the extensions and features that the trace uses. The
 * replay drops those that the program only enabled and the GPU lacks. */
#include "replayer/device/requirements.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gen_reflect.h"
#include "gen_replay.h"
#include "replayer/analysis/analysis.h"
#include "replayer/core/device.h"
#include "replayer/core/report.h"
#include "replayer/device/extension_fallback.h"
#include "replayer/device/optional_extensions.h"

#define NAMES_BYTES 1200

/* A list of names for one sentence, cut at its capacity. */
struct names {
    char text[NAMES_BYTES];
    uint32_t count;
    bool cut;
};

struct match {
    struct replay *r;
    struct replay_instance *instance;
    replay_provides_fn provides;
    VkExtensionProperties *extensions; /* of the GPU */
    uint32_t extension_count;
    const char **enabled; /* the recorded ones that remain */
    uint32_t enabled_count;
    const struct feature_use *used; /* NULL until a requirement is missing */
    enum lap_status status;         /* of the pass that finds uses */
    struct names hidden, missing, idle, unseen;
    uint32_t optional; /* extensions for which Vulkan 1.2 features are enabled (optional_extensions.h) */
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

/* The trace uses it and the GPU lacks it; `evidence` may be NULL. */
static void miss(struct match *m, enum replay_area area, const char *what, const struct feature_evidence *evidence)
{
    bool force = m->r->options.force;
    char use[320] = "it was enabled";

    if (evidence)
        feature_evidence_text(evidence, use, sizeof use);
    add_name(&m->missing, what);
    replay_report_add(m->r->report, area, force ? REPLAY_DROPPED : REPLAY_REFUSED, what,
                      force ? "the trace needs it (%s) and the GPU does not have it; it is left out"
                            : "the trace needs it (%s) and the GPU does not have it",
                      use);
    if (force && !m->r->report)
        lap_log(m->r->log, LAP_LOG_WARNING, "left out, since the GPU has no %s", what);
}

/* The layer hides it from programs, so no trace of the layer enables it. The GPU does not matter. */
static void refuse(struct match *m, enum replay_area area, const char *what, const char *why)
{
    add_name(&m->hidden, what);
    replay_report_add(m->r->report, area, REPLAY_REFUSED, what, "it is hidden from programs%s%s, and never replayed",
                      why ? ": " : "", why ? why : "");
}

/* It was enabled and not used: leaving it out changes nothing. */
static void drop_idle(struct match *m, enum replay_area area, const char *what)
{
    add_name(&m->idle, what);
    replay_report_add(m->r->report, area, REPLAY_DROPPED, what,
                      "the GPU does not have it; it was enabled, and nothing in the trace uses it");
}

/* It is used, and the replay emulates it. */
static void substitute(struct match *m, enum replay_area area, const char *what, const char *how)
{
    if (!m->r->report)
        lap_log(m->r->log, LAP_LOG_INFO, "%s lacks %s: %s", m->instance->properties.deviceName, what, how);
    replay_report_add(m->r->report, area, REPLAY_MAPPED, what, "the GPU does not have it; %s", how);
}

/* It may be used, and a replay has its own way. */
static void drop_moot(struct match *m, enum replay_area area, const char *what, const char *why)
{
    replay_report_add(m->r->report, area, REPLAY_DROPPED, what, "the GPU does not have it; a replay needs none (%s)",
                      why);
}

static void drop_unseen(struct match *m, enum replay_area area, const char *what, const char *why)
{
    add_name(&m->unseen, what);
    replay_report_add(
        m->r->report, area, REPLAY_DROPPED, what,
        "the GPU does not have it; whether the trace uses it can't be seen (%s), so the result may differ", why);
}

/* Returns false if the trace can't be read again; m->status has the reason. */
static bool look_for_uses(struct match *m)
{
    if (m->used || m->status != LAP_OK)
        return m->status == LAP_OK;
    m->status = replay_analyze(m->r, REPLAY_ANALYSIS_OTHER_DEVICE);
    if (m->status == LAP_OK)
        m->used = trace_analysis_features(m->r->analysis.trace);
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
    if (m->unseen.count)
        lap_log(m->r->log, LAP_LOG_WARNING,
                "%s lacks %s: whether the trace uses that can't be seen; it is left out, and the result may differ",
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
    uint16_t number = extension_number(name);
    return number < GEN_EXTENSION_COUNT ? &gen_extensions[number] : NULL;
}

/* Whether the GPU's core version includes the extension: its names then have no suffix. */
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

/* Visits a VkBool32 member of a feature structure that is on in `requested` and not in `supported`. */
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
            visit(m, gen_member_name(member), on);
    }
}

static bool is_seen(const struct match *m, uint16_t number)
{
    const struct feature_evidence *evidence = m->used->evidence;
    uint16_t partner = gen_features[number].partner;
    return evidence[number].use && (!partner || evidence[partner - 1].use);
}

static const char *emulation_of(const struct match *m, const char *feature)
{
    const char *how = replay_extension_emulation(feature);
    return how || !m->provides ? how : m->provides(m->r, feature);
}

static void feature_missing(struct match *m, const char *name, VkBool32 *requested)
{
    uint16_t number = feature_number(name);
    const struct gen_feature *feature = number < GEN_FEATURE_COUNT ? &gen_features[number] : NULL;

    if (!look_for_uses(m))
        return;
    *requested = VK_FALSE;
    if (!feature || !feature->known)
        miss(m, REPLAY_AREA_FEATURE, name, NULL);
    else if (is_seen(m, number) && emulation_of(m, name))
        substitute(m, REPLAY_AREA_FEATURE, name, emulation_of(m, name));
    else if (is_seen(m, number))
        miss(m, REPLAY_AREA_FEATURE, name, &m->used->evidence[number]);
    else if (feature->moot)
        drop_moot(m, REPLAY_AREA_FEATURE, name, feature->moot);
    else if (feature->unseen)
        drop_unseen(m, REPLAY_AREA_FEATURE, name, feature->unseen);
    else
        drop_idle(m, REPLAY_AREA_FEATURE, name);
}

/* The layer reports these features as unsupported. --check turns them off and creates a device to examine the rest. */
static void refuse_hidden_features(struct match *m, VkBaseOutStructure *chain)
{
    for (VkBaseOutStructure *s = chain; s; s = s->pNext) {
        const struct gen_struct_info *info = &gen_struct_infos[gen_struct_of_type(s->sType)];
        for (uint16_t i = 0; info->features && i < info->member_count; i++) {
            VkBool32 *on = (VkBool32 *)(void *)((char *)s + info->members[i].offset);
            if (!(info->members[i].flags & GEN_MEMBER_HIDDEN) || !*on)
                continue;
            refuse(m, REPLAY_AREA_FEATURE, gen_member_name(&info->members[i]), NULL);
            *on = VK_FALSE;
        }
    }
}

/* ---- extensions ---- */

/* What the features of an extension that the program switched on say of its use; each the first one, or NULL. */
struct extension_features {
    const struct feature_evidence *used;
    const char *unseen, *moot; /* why */
    bool unknown;              /* the trace may use it */
};

static bool is_on(const VkBaseOutStructure *chain, const char *name)
{
    for (const VkBaseOutStructure *s = chain; s; s = s->pNext) {
        const struct gen_struct_info *info = &gen_struct_infos[gen_struct_of_type(s->sType)];
        for (uint16_t i = 0; info->features && i < info->member_count; i++)
            if (info->members[i].element == GEN_ELEMENT_BOOL && strcmp(gen_member_name(&info->members[i]), name) == 0 &&
                *(const VkBool32 *)(const void *)((const char *)s + info->members[i].offset))
                return true;
    }
    return false;
}

static struct extension_features look_at_features(const struct match *m, const struct gen_extension_info *extension,
                                                  const VkBaseOutStructure *chain)
{
    struct extension_features result = {.used = NULL};

    for (const uint16_t *id = extension->structs; id && *id; id++) {
        const struct gen_struct_info *info = &gen_struct_infos[*id];
        for (uint16_t i = 0; info->features && i < info->member_count; i++) {
            uint16_t number = feature_number(gen_member_name(&info->members[i]));
            if (info->members[i].element != GEN_ELEMENT_BOOL || !is_on(chain, gen_member_name(&info->members[i])))
                continue;
            if (number == GEN_FEATURE_COUNT || !gen_features[number].known)
                result.unknown = true;
            else if (is_seen(m, number) && !result.used)
                result.used = &m->used->evidence[number];
            else if (!result.unseen)
                result.unseen = gen_features[number].unseen;
            if (number < GEN_FEATURE_COUNT && !result.moot)
                result.moot = gen_features[number].moot;
        }
    }
    return result;
}

/* Extensions for presentation. A replay presents images in its own way on every driver, so it does not enable them. */
static bool is_of_presents(const char *name)
{
    static const char *const names[] = {"VK_KHR_present_id",
                                        "VK_KHR_present_id2",
                                        "VK_KHR_present_wait",
                                        "VK_KHR_present_wait2",
                                        "VK_GOOGLE_display_timing",
                                        "VK_EXT_present_timing",
                                        "VK_EXT_present_mode_fifo_latest_ready",
                                        "VK_EXT_display_control",
                                        "VK_KHR_display_swapchain",
                                        "VK_KHR_shared_presentable_image",
                                        "VK_KHR_present_mode_fifo_latest_ready",
                                        "VK_NV_present_barrier",
                                        "VK_EXT_hdr_metadata",
                                        "VK_EXT_image_compression_control_swapchain",
                                        "VK_EXT_swapchain_maintenance1",
                                        "VK_GGP_frame_token",
                                        "VK_KHR_incremental_present",
                                        "VK_KHR_swapchain_maintenance1"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], name) == 0)
            return true;
    return false;
}

/* Some parts of Vulkan 1.2 are optional for a device. */
static bool core_does_it(struct match *m, const char *name)
{
    uint32_t number = replay_optional_extension_number(name);

    if (number == REPLAY_OPTIONAL_NONE)
        return true;
    if (!replay_optional_extension_is_supported(m->instance, number))
        return false;
    m->optional |= 1u << number;
    return true;
}

static enum lap_status match_extension(struct match *m, const char *name, const VkBaseOutStructure *chain)
{
    const struct gen_extension_info *extension = extension_of(name);
    const struct gen_extension_need *need;
    const struct feature_evidence *evidence;
    struct extension_features features;

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
    if (extension && is_core(m, extension) && core_does_it(m, name)) {
        replay_report_add(m->r->report, REPLAY_AREA_EXTENSION, REPLAY_MAPPED, name,
                          "the GPU has it as a part of its version of Vulkan");
        return LAP_OK;
    }
    need = extension ? &gen_extension_needs[extension - gen_extensions] : NULL;
    if (need && need->moot) {
        drop_moot(m, REPLAY_AREA_EXTENSION, name, need->moot);
        return LAP_OK;
    }
    if (!look_for_uses(m))
        return m->status;
    if (!extension) { /* an unknown extension: only structures and commands that this build does not know could use it
                       */
        drop_unseen(m, REPLAY_AREA_EXTENSION, name, "this build does not know it");
        return LAP_OK;
    }
    features = look_at_features(m, extension, chain);
    evidence = &m->used->evidence[GEN_SUBJECT_EXTENSION + (extension - gen_extensions)];
    if (!evidence->use && features.used)
        evidence = features.used;
    if (evidence->use && replay_extension_emulation(name))
        substitute(m, REPLAY_AREA_EXTENSION, name, replay_extension_emulation(name));
    else if (evidence->use || features.unknown)
        miss(m, REPLAY_AREA_EXTENSION, name, evidence->use ? evidence : NULL);
    else if (need->unseen || features.unseen)
        drop_unseen(m, REPLAY_AREA_EXTENSION, name, need->unseen ? need->unseen : features.unseen);
    else if (features.moot)
        drop_moot(m, REPLAY_AREA_EXTENSION, name, features.moot);
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
    /* A device that supports it requires it to be enabled (VUID-VkDeviceCreateInfo-pProperties-04451). */
    if (gpu_has(m, "VK_KHR_portability_subset") && !is_enabled(m, "VK_KHR_portability_subset"))
        m->enabled[m->enabled_count++] = "VK_KHR_portability_subset";
    return status;
}

/* A GPU of an older Vulkan version may offer as extensions parts of the version that the program used. */
static enum lap_status enable_fallbacks(struct match *m, VkBaseOutStructure **chain)
{
    struct replay_extension_fallback fallback = {.instance = m->instance,
                                                 .available = m->extensions,
                                                 .available_count = m->extension_count,
                                                 .enabled = m->enabled,
                                                 .enabled_count = m->enabled_count};
    enum lap_status status;

    if (m->instance->properties.apiVersion >= m->instance->api_version || !look_for_uses(m))
        return m->status;
    fallback.seen = m->used;
    status = replay_extension_fallback_enable(m->r, &fallback, chain);
    m->enabled_count = fallback.enabled_count;
    return status;
}

/* ---- the chain ---- */

/* Whether this GPU accepts a structure of the recorded chain. */
static bool keeps(const struct match *m, const VkBaseOutStructure *s)
{
    enum gen_struct id = gen_struct_of_type(s->sType);
    bool provided = false, any = false;

    switch (s->sType) {
    case VK_STRUCTURE_TYPE_DEVICE_GROUP_DEVICE_CREATE_INFO:             /* one GPU replaces the group */
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

/* Unlinks the structures that this GPU does not accept. The features that an unlinked structure enables count as
 * missing, unless the trace does not use the structure's extension. */
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
    uint16_t number = feature_number(name);
    (void)on;
    if (number < GEN_FEATURE_COUNT)
        m->r->report->features[number] = true;
}

/* Reports the enabled features that shaders rely on. */
static void report_enabled(struct match *m, VkPhysicalDeviceFeatures *core, VkBaseOutStructure *chain)
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
        uint16_t number = extension_number(m->enabled[i]);
        if (number < GEN_EXTENSION_COUNT)
            m->r->report->extensions[number] = true;
    }
}

enum lap_status replay_requirements_match(struct replay *r, struct replay_instance *instance,
                                          const VkDeviceCreateInfo *recorded, replay_provides_fn provides,
                                          VkDeviceCreateInfo *out)
{
    struct match m = {.r = r, .instance = instance, .provides = provides};
    VkBaseOutStructure *chain = (VkBaseOutStructure *)(uintptr_t)recorded->pNext;
    VkPhysicalDeviceFeatures *core = (VkPhysicalDeviceFeatures *)(uintptr_t)recorded->pEnabledFeatures;
    enum lap_status status = match_extensions(&m, recorded, chain);

    refuse_hidden_features(&m, chain);
    if (status == LAP_OK)
        status = enable_fallbacks(&m, &chain);
    if (status == LAP_OK) {
        chain = prune(&m, chain);
        status = match_features(&m, core, chain);
    }
    if (status == LAP_OK)
        status = replay_optional_extension_enable(r, m.optional, &chain);
    if (status == LAP_OK)
        status = m.status;
    if (status != LAP_OK)
        return status;
    say_dropped(&m);
    report_enabled(&m, core, chain);
    if (m.hidden.count)
        status =
            lap_fail(LAP_ERROR_UNSUPPORTED,
                     "the trace enables features that are hidden from programs and never replayed: %s", m.hidden.text);
    else if (m.missing.count && !r->options.force)
        status = lap_fail(LAP_ERROR_UNSUPPORTED, "%s lacks requirements of the trace: %s",
                          instance->properties.deviceName, m.missing.text);
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

enum lap_status replay_requirements_commands(struct replay *r, const struct replay_device *dev)
{
    const struct replay_instance *instance = dev->instance;
    struct names missing = {.count = 0};
    const struct feature_use *used;
    enum lap_status status;

    if (r->report || r->options.force || instance->properties.apiVersion >= instance->api_version)
        return LAP_OK;
    status = replay_analyze(r, REPLAY_ANALYSIS_OTHER_DEVICE);
    used = status == LAP_OK ? trace_analysis_features(r->analysis.trace) : NULL;
    for (uint32_t command = 1; command < GEN_COMMAND_COUNT && status == LAP_OK; command++) {
        const struct gen_replay_entry *entry = &gen_replay_table[command];
        if (used->commands[command] && entry->function && !(entry->flags & GEN_REPLAY_INSTANCE) &&
            !has_function(dev, entry->function) && replay_missing(r, command) != LAP_OK)
            add_name(&missing, gen_command_names[command]);
    }
    if (status != LAP_OK || !missing.count)
        return status;
    return lap_fail(LAP_ERROR_UNSUPPORTED, "%s has Vulkan %u.%u, which lacks requirements of the trace: %s",
                    instance->properties.deviceName, VK_API_VERSION_MAJOR(instance->properties.apiVersion),
                    VK_API_VERSION_MINOR(instance->properties.apiVersion), missing.text);
}

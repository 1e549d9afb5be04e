/* SPDX-License-Identifier: MIT */
#include <stdlib.h>
#include <string.h>

#include "gen_reflect.h"
#include "gen_replay.h"
#include "inspector/analysis/feature_use.h"
#include "replayer/analysis/recorded_machine.h"
#include "replayer/core/handles.h"
#include "replayer/core/report.h"
#include "replayer/device/gpu_choice.h"
#include "replayer/device/validation.h"
#include "replayer/play/player.h"
#include "replayer/present/window_system.h"
#include "replayer/sync/wait.h"

#define MAX_EXTENSIONS 64u

struct extension_list {
    const char *names[MAX_EXTENSIONS];
    uint32_t count;
};

struct loader {
    PFN_vkCreateInstance create;
    VkExtensionProperties *extensions;
    uint32_t extension_count;
};

static bool loader_has(const struct loader *loader, const char *name)
{
    for (uint32_t i = 0; i < loader->extension_count; i++)
        if (strcmp(loader->extensions[i].extensionName, name) == 0)
            return true;
    return false;
}

static enum lap_status ask_loader(struct replay *r, struct loader *loader)
{
    PFN_vkEnumerateInstanceVersion get_version =
        (PFN_vkEnumerateInstanceVersion)r->loader.get_instance_proc_addr(NULL, "vkEnumerateInstanceVersion");
    PFN_vkEnumerateInstanceExtensionProperties get_extensions =
        (PFN_vkEnumerateInstanceExtensionProperties)r->loader.get_instance_proc_addr(
            NULL, "vkEnumerateInstanceExtensionProperties");
    uint32_t version = VK_API_VERSION_1_0;

    loader->create = (PFN_vkCreateInstance)r->loader.get_instance_proc_addr(NULL, "vkCreateInstance");
    if (get_version)
        (void)get_version(&version);
    if (!loader->create || !get_extensions || version < VK_API_VERSION_1_1)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "this machine's Vulkan loader is older than Vulkan 1.1");
    if (get_extensions(NULL, &loader->extension_count, NULL) < 0)
        loader->extension_count = 0;
    loader->extensions = replay_scratch(r, loader->extension_count, sizeof *loader->extensions);
    if (!loader->extensions || get_extensions(NULL, &loader->extension_count, loader->extensions) < 0)
        loader->extension_count = 0;
    return LAP_OK;
}

/* Whether an extension belongs to one window system, or to displays: the replay has its own windows. */
static bool is_of_platform(const char *name)
{
    size_t length = strlen(name), tail = strlen("_surface");

    if (strcmp(name, VK_KHR_SURFACE_EXTENSION_NAME) == 0)
        return false;
    return strstr(name, "_display") || (length > tail && strcmp(name + length - tail, "_surface") == 0);
}

static void want(struct extension_list *list, const char *name)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (strcmp(list->names[i], name) == 0)
            return;
    if (list->count < MAX_EXTENSIONS)
        list->names[list->count++] = name;
}

static bool want_if_there(struct extension_list *list, const struct loader *loader, const char *name)
{
    if (loader_has(loader, name))
        want(list, name);
    return loader_has(loader, name);
}

/* Programs can still enable these: the loader implements them, so layers can't hide them. */
static const char *why_hidden(const char *name)
{
    uint16_t number = extension_number(name);
    return number < GEN_EXTENSION_COUNT ? gen_extensions[number].hidden : NULL;
}

static void leave_out(struct replay *r, const char *name)
{
    const char *why = why_hidden(name);

    if (!why) {
        lap_log(r->log, LAP_LOG_INFO, "this machine's loader has no %s; it is left out", name);
        replay_report_add(r->report, REPLAY_AREA_EXTENSION, REPLAY_DROPPED, name,
                          "this machine's loader does not have it; the instance is made without it");
        return;
    }
    lap_log(r->log, LAP_LOG_INFO, "%s is never replayed; it is left out: %s", name, why);
    replay_report_add(r->report, REPLAY_AREA_EXTENSION, REPLAY_DROPPED, name,
                      "it is never replayed (%s); the instance is made without it", why);
}

static void choose_extensions(struct replay *r, const struct loader *loader, const VkInstanceCreateInfo *recorded,
                              struct replay_instance *instance, struct extension_list *list)
{
    bool surfaces = false;

    for (uint32_t i = 0; i < recorded->enabledExtensionCount && recorded->ppEnabledExtensionNames; i++) {
        const char *name = recorded->ppEnabledExtensionNames[i];
        if (!name || is_of_platform(name))
            continue;
        surfaces = surfaces || strcmp(name, VK_KHR_SURFACE_EXTENSION_NAME) == 0;
        if (why_hidden(name) || !want_if_there(list, loader, name))
            leave_out(r, name);
    }
    surfaces = surfaces && loader_has(loader, VK_KHR_SURFACE_EXTENSION_NAME);
    if (!surfaces || r->options.present == REPLAY_PRESENT_HEADLESS || r->options.present == REPLAY_PRESENT_OFF)
        return;
    for (uint32_t i = 0; i < REPLAY_WINDOW_SYSTEM_COUNT; i++)
        if (want_if_there(list, loader, replay_window_systems[i]->extension))
            instance->window_systems |= 1u << i;
}

/* Does not use the recorded instance's chain and layers: callbacks, and checks that the user chooses. */
static enum lap_status create(struct replay *r, struct replay_instance *instance, const VkInstanceCreateInfo *recorded)
{
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    struct extension_list list = {.count = 0};
    struct loader loader = {.create = NULL};
    enum lap_status status = ask_loader(r, &loader);
    VkResult result;

    if (status != LAP_OK)
        return status;
    if (recorded->pApplicationInfo)
        application = *recorded->pApplicationInfo;
    application.pNext = NULL;
    if (application.apiVersion < VK_API_VERSION_1_1)
        application.apiVersion = VK_API_VERSION_1_1;
    /* A loader hands a version later than its own on to devices. No command of an instance is newer than Vulkan 1.1. */
    instance->api_version = application.apiVersion;
    if (r->options.validation) {
        uint32_t count;
        const char *const *names = replay_validation_prepare(r->options.validation, &info, &count);
        for (uint32_t i = 0; i < count; i++)
            want(&list, names[i]);
    }
    choose_extensions(r, &loader, recorded, instance, &list);
    if (want_if_there(&list, &loader, VK_KHR_PORTABILITY_ENUMERATION_EXTENSION_NAME))
        info.flags |= VK_INSTANCE_CREATE_ENUMERATE_PORTABILITY_BIT_KHR;
    info.enabledExtensionCount = list.count;
    info.ppEnabledExtensionNames = list.names;
    result = loader.create(&info, NULL, &instance->live);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER || result == VK_ERROR_EXTENSION_NOT_PRESENT ||
        result == VK_ERROR_LAYER_NOT_PRESENT)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "vkCreateInstance gives %s", replay_result_name(result));
    if (result < 0)
        return replay_result(r, result);
    gen_load_instance_dispatch(&instance->vk, r->loader.get_instance_proc_addr, instance->live, instance->api_version);
    if (!r->options.validation)
        return LAP_OK;
    status = replay_validation_listen(r->options.validation, instance->live, &instance->messenger);
    if (status != LAP_OK && instance->vk.DestroyInstance)
        instance->vk.DestroyInstance(instance->live, NULL);
    return status;
}

enum lap_status replay_CreateInstance(struct replay *r, struct replay_instance *unused,
                                      struct gen_args_vkCreateInstance *args)
{
    struct replay_instance *instance = calloc(1, sizeof *instance);
    enum lap_status status;

    if (!instance)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory for an instance");
    instance->index = gen_u64_VkInstance(*args->pInstance);
    status = create(r, instance, args->pCreateInfo);
    if (status != LAP_OK) {
        free(instance);
        return status;
    }
    instance->next = r->instances;
    r->instances = instance;
    replay_tables_attach(r);
    status = replay_object_add(r, GEN_HANDLE_VkInstance, instance->index, gen_u64_VkInstance(instance->live), instance,
                               NULL);
    if (status != LAP_OK)
        return status;
    return replay_gpu_choose(r, instance, NULL);
}

void replay_instance_destroy(struct replay *r, struct replay_instance *instance)
{
    struct replay_instance **at = &r->instances;

    for (struct replay_device *dev = r->devices, *next; dev; dev = next) {
        next = dev->next;
        if (dev->instance == instance)
            replay_device_destroy(r, dev);
    }
    for (uint64_t i = 1; i < r->objects.tables[GEN_HANDLE_VkPhysicalDevice].live.count; i++) {
        struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkPhysicalDevice, i);
        if (object && object->owner == instance)
            free(object->record);
    }
    replay_objects_destroy_left(r, instance);
    while (*at != instance)
        at = &(*at)->next;
    *at = instance->next;
    replay_tables_attach(r);
    replay_validation_leave(r, instance->live, instance->messenger);
    if (instance->vk.DestroyInstance)
        instance->vk.DestroyInstance(instance->live, NULL);
    free(instance);
}

enum lap_status replay_DestroyInstance(struct replay *r, struct replay_instance *instance,
                                       struct gen_args_vkDestroyInstance *args)
{
    enum lap_status status = LAP_OK;

    for (struct replay_device *dev = r->devices; dev && status == LAP_OK; dev = dev->next)
        if (dev->instance == instance)
            status = replay_wait_device(r, dev, "all that was submitted");
    if (status == LAP_OK)
        replay_instance_destroy(r, instance);
    return status;
}

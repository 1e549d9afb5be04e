/* SPDX-License-Identifier: MIT */
#include "replayer/device/gpu_choice.h"

#include <cjson/cJSON.h>
#include <ctype.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/core/device.h"
#include "replayer/core/handles.h"
#include "trace/format/info.h"
#include "vulkan/loader.h"

#define MAX_GPUS      64u
#define UUID_BYTES    (2 * VK_UUID_SIZE + 1) /* in text form */
#define CHOICE_BYTES  768
#define VERSION_BYTES 32
#define DRIVER_BYTES  (VK_MAX_DRIVER_NAME_SIZE + VK_MAX_DRIVER_INFO_SIZE + 1)

/* ---- UUIDs ---- */

/* Dashes are allowed anywhere. */
static bool parse_uuid(const char *text, uint8_t out[VK_UUID_SIZE])
{
    unsigned digits = 0;

    for (; *text; text++) {
        unsigned value;
        if (*text == '-')
            continue;
        if (!isxdigit((unsigned char)*text) || digits == 2 * VK_UUID_SIZE)
            return false;
        value = isdigit((unsigned char)*text) ? (unsigned)(*text - '0')
                                              : (unsigned)(tolower((unsigned char)*text) - 'a' + 10);
        out[digits / 2] = (uint8_t)(digits % 2 ? out[digits / 2] << 4 | value : value);
        digits++;
    }
    return digits == 2 * VK_UUID_SIZE;
}

static void write_uuid(const uint8_t uuid[VK_UUID_SIZE], char out[UUID_BYTES])
{
    for (unsigned i = 0; i < VK_UUID_SIZE; i++)
        snprintf(out + (size_t)2 * i, 3, "%02x", uuid[i]);
}

static bool is_same_uuid(const uint8_t a[VK_UUID_SIZE], const uint8_t b[VK_UUID_SIZE])
{
    static const uint8_t none[VK_UUID_SIZE];
    return memcmp(a, none, VK_UUID_SIZE) != 0 && memcmp(a, b, VK_UUID_SIZE) == 0;
}

/* ---- selection ---- */

static unsigned type_rank(VkPhysicalDeviceType type)
{
    switch (type) {
    case VK_PHYSICAL_DEVICE_TYPE_DISCRETE_GPU:
        return 4;
    case VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU:
        return 3;
    case VK_PHYSICAL_DEVICE_TYPE_VIRTUAL_GPU:
        return 2;
    case VK_PHYSICAL_DEVICE_TYPE_CPU:
        return 1;
    default:
        return 0;
    }
}

static bool contains_ignoring_case(const char *text, const char *part)
{
    size_t length = strlen(part);

    for (; strlen(text) >= length; text++) {
        size_t i = 0;
        while (i < length && tolower((unsigned char)text[i]) == tolower((unsigned char)part[i]))
            i++;
        if (i == length)
            return true;
    }
    return false;
}

static enum lap_status ambiguous(const struct replay_gpu *gpus, uint32_t count, const bool *fits, const char *option)
{
    char list[CHOICE_BYTES] = "", uuid[UUID_BYTES];
    size_t length = 0;

    for (uint32_t i = 0; i < count && length + 64 < sizeof list; i++) {
        if (!fits[i])
            continue;
        write_uuid(gpus[i].device_uuid, uuid);
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%" PRIu32 " %.80s (%s)", length ? ", " : "",
                                   i, gpus[i].name, uuid);
        if (length >= sizeof list)
            length = sizeof list - 1;
    }
    return lap_fail(LAP_ERROR_UNSUPPORTED, "--gpu \"%s\" may be any of these: %s", option, list);
}

static enum lap_status by_option(const struct replay_gpu *gpus, uint32_t count, const char *option, uint32_t *out)
{
    uint8_t uuid[VK_UUID_SIZE];
    bool is_uuid = parse_uuid(option, uuid), fits[MAX_GPUS] = {false};
    uint32_t found = 0;
    char *end;
    unsigned long number = strtoul(option, &end, 10);

    if (*option && !*end && !is_uuid) {
        *out = (uint32_t)number;
        return number < count
                   ? LAP_OK
                   : lap_fail(LAP_ERROR_UNSUPPORTED, "this machine has no GPU %s; --list-gpus lists them", option);
    }
    for (uint32_t i = 0; i < count && !is_uuid; i++)
        if (strcmp(gpus[i].name, option) == 0) {
            fits[i] = true;
            found++;
        }
    for (uint32_t i = 0, names = found; i < count && !names; i++)
        if (is_uuid ? is_same_uuid(uuid, gpus[i].device_uuid) : contains_ignoring_case(gpus[i].name, option)) {
            fits[i] = true;
            found++;
        }
    for (uint32_t i = 0; i < count; i++)
        if (fits[i])
            *out = i;
    if (found == 1)
        return LAP_OK;
    return found ? ambiguous(gpus, count, fits, option)
                 : lap_fail(LAP_ERROR_UNSUPPORTED, "no GPU of this machine is called \"%s\"; --list-gpus lists them",
                            option);
}

/* The similarity of a GPU to the recorded one. The device type decides last. */
static unsigned likeness(const struct replay_gpu *gpu, const struct replay_gpu *recorded)
{
    bool named = recorded && recorded->name[0] && strcmp(gpu->name, recorded->name) == 0;
    unsigned rank = type_rank(gpu->type) + (named ? 8 : 0);

    if (!recorded || !is_same_uuid(gpu->device_uuid, recorded->device_uuid))
        return rank;
    return rank + 32 + (is_same_uuid(gpu->driver_uuid, recorded->driver_uuid) ? 16 : 0);
}

enum lap_status replay_gpu_pick(const struct replay_gpu *gpus, uint32_t count, const char *option,
                                const struct replay_gpu *recorded, uint32_t *out)
{
    *out = 0;
    if (count > MAX_GPUS)
        count = MAX_GPUS;
    if (option)
        return by_option(gpus, count, option, out);
    for (uint32_t i = 1; i < count; i++)
        if (likeness(&gpus[i], recorded) > likeness(&gpus[*out], recorded))
            *out = i;
    return LAP_OK;
}

/* ---- the recorded machine ---- */

static const char *text_of(const cJSON *object, const char *key)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));
    return text ? text : "";
}

enum lap_status replay_gpu_recorded(const char *text, const char *name, struct replay_gpu *out)
{
    const cJSON *machine;
    const char *recorded_on;
    cJSON *info;

    memset(out, 0, sizeof *out);
    if (lap_info_parse(text, strlen(text), &info) == LAP_ERROR_MEMORY)
        return LAP_ERROR_MEMORY;
    machine = cJSON_GetObjectItemCaseSensitive(info, "recorded_on");
    recorded_on = text_of(machine, "device");
    snprintf(out->name, sizeof out->name, "%s", name ? name : recorded_on);
    if (strcmp(out->name, recorded_on) == 0) {
        if (!parse_uuid(text_of(machine, "device_uuid"), out->device_uuid))
            memset(out->device_uuid, 0, sizeof out->device_uuid);
        if (!parse_uuid(text_of(machine, "driver_uuid"), out->driver_uuid))
            memset(out->driver_uuid, 0, sizeof out->driver_uuid);
    }
    cJSON_Delete(info);
    return LAP_OK;
}

/* ---- the GPUs of this machine ---- */

static enum lap_status enumerate(const struct gen_instance_dispatch *vk, VkInstance instance,
                                 VkPhysicalDevice live[MAX_GPUS], struct replay_gpu gpus[MAX_GPUS], uint32_t *out_count)
{
    VkResult result;

    *out_count = MAX_GPUS;
    result = vk->EnumeratePhysicalDevices(instance, out_count, live);
    if (result < 0 || *out_count == 0)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "there is no Vulkan device on this machine (%s)",
                        result < 0 ? replay_result_name(result) : "none is installed");
    for (uint32_t i = 0; i < *out_count; i++) {
        VkPhysicalDeviceIDProperties ids = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
        VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                                  .pNext = &ids};
        vk->GetPhysicalDeviceProperties(live[i], &properties.properties);
        if (properties.properties.apiVersion >= VK_API_VERSION_1_1 && vk->GetPhysicalDeviceProperties2)
            vk->GetPhysicalDeviceProperties2(live[i], &properties);
        memcpy(gpus[i].name, properties.properties.deviceName, sizeof gpus[i].name);
        memcpy(gpus[i].device_uuid, ids.deviceUUID, sizeof ids.deviceUUID);
        memcpy(gpus[i].driver_uuid, ids.driverUUID, sizeof ids.driverUUID);
        gpus[i].type = properties.properties.deviceType;
        gpus[i].api_version = properties.properties.apiVersion;
    }
    return LAP_OK;
}

static const char *type_name(VkPhysicalDeviceType type)
{
    static const char *const names[] = {"other", "cpu", "virtual", "integrated", "discrete"};
    return names[type_rank(type)];
}

static void write_version(uint32_t version, char out[VERSION_BYTES])
{
    snprintf(out, VERSION_BYTES, "%u.%u.%u", VK_API_VERSION_MAJOR(version), VK_API_VERSION_MINOR(version),
             VK_API_VERSION_PATCH(version));
}

/* "" where the device does not say, which Vulkan 1.2 made a duty. */
static void name_driver(const struct gen_instance_dispatch *vk, VkPhysicalDevice device, const struct replay_gpu *gpu,
                        char out[DRIVER_BYTES])
{
    VkPhysicalDeviceDriverProperties driver = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_DRIVER_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2,
                                              .pNext = &driver};

    if (gpu->api_version >= VK_API_VERSION_1_2 && vk->GetPhysicalDeviceProperties2)
        vk->GetPhysicalDeviceProperties2(device, &properties);
    snprintf(out, DRIVER_BYTES, "%s%s%s", driver.driverName, driver.driverName[0] && driver.driverInfo[0] ? " " : "",
             driver.driverInfo);
}

static bool add_text(cJSON *object, const char *name, const char *text)
{
    return text[0] ? cJSON_AddStringToObject(object, name, text) != NULL : cJSON_AddNullToObject(object, name) != NULL;
}

static bool fill_gpu(cJSON *object, uint32_t number, const struct replay_gpu *gpu, const char *driver)
{
    char version[VERSION_BYTES], uuid[UUID_BYTES];

    write_version(gpu->api_version, version);
    write_uuid(gpu->device_uuid, uuid);
    return cJSON_AddNumberToObject(object, "number", number) && cJSON_AddStringToObject(object, "name", gpu->name) &&
           cJSON_AddStringToObject(object, "kind", type_name(gpu->type)) &&
           cJSON_AddStringToObject(object, "api_version", version) && add_text(object, "driver", driver) &&
           add_text(object, "uuid", strspn(uuid, "0") == UUID_BYTES - 1 ? "" : uuid);
}

/* For --report and --profile. */
static void note_chosen(struct replay *r, const struct gen_instance_dispatch *vk, VkPhysicalDevice live,
                        uint32_t number, const struct replay_gpu *gpu)
{
    cJSON *object = r->options.report_file || r->options.profile.wish.first_frame ? cJSON_CreateObject() : NULL;
    char driver[DRIVER_BYTES];

    if (!object)
        return;
    name_driver(vk, live, gpu, driver);
    free(r->summary.gpu_json);
    r->summary.gpu_json = fill_gpu(object, number, gpu, driver) ? cJSON_PrintUnformatted(object) : NULL;
    cJSON_Delete(object);
}

enum lap_status replay_gpu_choose(struct replay *r, struct replay_instance *instance, const char *recorded_name)
{
    VkPhysicalDevice live[MAX_GPUS];
    struct replay_gpu gpus[MAX_GPUS], recorded;
    uint32_t count, chosen;
    enum lap_status status = enumerate(&instance->vk, instance->live, live, gpus, &count);

    if (status != LAP_OK)
        return status;
    status = replay_gpu_recorded(lap_reader_summary(r->reader)->info, recorded_name, &recorded);
    if (status != LAP_OK)
        return status;
    status = replay_gpu_pick(gpus, count, r->options.gpu, &recorded, &chosen);
    if (status != LAP_OK)
        return status;
    instance->gpu = live[chosen];
    instance->vk.GetPhysicalDeviceProperties(instance->gpu, &instance->properties);
    instance->vk.GetPhysicalDeviceMemoryProperties(instance->gpu, &instance->memory);
    note_chosen(r, &instance->vk, instance->gpu, chosen, &gpus[chosen]);
    /* All physical devices of the trace's instance map to this one. */
    for (uint64_t i = 1; i < r->objects.tables[GEN_HANDLE_VkPhysicalDevice].live.count; i++) {
        struct replay_object *object = replay_object_get(r, GEN_HANDLE_VkPhysicalDevice, i);
        void *record = object && object->owner == instance ? object->record : NULL;
        if (!object || object->owner != instance)
            continue;
        replay_object_remove(r, GEN_HANDLE_VkPhysicalDevice, i);
        status =
            replay_object_add(r, GEN_HANDLE_VkPhysicalDevice, i, (uint64_t)(uintptr_t)instance->gpu, instance, &object);
        if (status != LAP_OK) {
            free(record);
            return status;
        }
        object->record = record;
    }
    return LAP_OK;
}

bool replay_gpu_is_recorded(struct replay *r, const struct replay_instance *instance)
{
    static const uint8_t unknown[VK_UUID_SIZE];
    VkPhysicalDeviceIDProperties ids = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_ID_PROPERTIES};
    VkPhysicalDeviceProperties2 properties = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &ids};
    struct replay_gpu recorded;

    if (instance->api_version < VK_API_VERSION_1_1 || instance->properties.apiVersion < VK_API_VERSION_1_1 ||
        !instance->vk.GetPhysicalDeviceProperties2 ||
        replay_gpu_recorded(lap_reader_summary(r->reader)->info, NULL, &recorded) != LAP_OK)
        return false;
    instance->vk.GetPhysicalDeviceProperties2(instance->gpu, &properties);
    return memcmp(recorded.device_uuid, unknown, VK_UUID_SIZE) != 0 &&
           is_same_uuid(ids.deviceUUID, recorded.device_uuid) && is_same_uuid(ids.driverUUID, recorded.driver_uuid);
}

static enum lap_status print_json(const struct gen_instance_dispatch *vk, const VkPhysicalDevice *live,
                                  const struct replay_gpu *gpus, uint32_t first, uint32_t count)
{
    cJSON *all = cJSON_CreateObject(), *list = cJSON_AddArrayToObject(all, "gpus"), *object;
    bool good = list != NULL;
    char *text;

    for (uint32_t i = first; i < count && good; i++) {
        char driver[DRIVER_BYTES];
        name_driver(vk, live[i], &gpus[i], driver);
        object = cJSON_CreateObject();
        good = cJSON_AddItemToArray(list, object) && fill_gpu(object, i, &gpus[i], driver);
    }
    text = good ? cJSON_PrintUnformatted(all) : NULL;
    if (text)
        puts(text);
    cJSON_free(text);
    cJSON_Delete(all);
    return text ? LAP_OK : lap_fail(LAP_ERROR_MEMORY, "out of memory for JSON");
}

static void print_text(const struct replay_gpu *gpus, uint32_t first, uint32_t count)
{
    for (uint32_t i = first; i < count; i++) {
        char version[VERSION_BYTES], uuid[UUID_BYTES];
        write_version(gpus[i].api_version, version);
        write_uuid(gpus[i].device_uuid, uuid);
        printf("%" PRIu32 "\t%s\t%s, Vulkan %s\t%s\n", i, gpus[i].name, type_name(gpus[i].type), version, uuid);
    }
}

enum lap_status replay_gpu_list(const char *option, bool json)
{
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO, .apiVersion = VK_API_VERSION_1_2};
    VkInstanceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO, .pApplicationInfo = &application};
    void *loader = dlopen(LAP_VULKAN_LOADER, RTLD_NOW | RTLD_LOCAL);
    PFN_vkGetInstanceProcAddr get = loader ? (PFN_vkGetInstanceProcAddr)dlsym(loader, "vkGetInstanceProcAddr") : NULL;
    PFN_vkCreateInstance create = get ? (PFN_vkCreateInstance)get(NULL, "vkCreateInstance") : NULL;
    VkPhysicalDevice live[MAX_GPUS];
    struct replay_gpu gpus[MAX_GPUS];
    struct gen_instance_dispatch vk;
    enum lap_status status;
    VkInstance instance;
    uint32_t first = 0, count = 0;

    if (!create || create(&info, NULL, &instance) < 0)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "this machine has no working Vulkan loader");
    gen_load_instance_dispatch(&vk, get, instance, application.apiVersion);
    status = enumerate(&vk, instance, live, gpus, &count);
    if (status == LAP_OK && option) {
        status = by_option(gpus, count, option, &first);
        count = first + 1;
    }
    if (status == LAP_OK && json)
        status = print_json(&vk, live, gpus, first, count);
    else if (status == LAP_OK)
        print_text(gpus, first, count);
    vk.DestroyInstance(instance, NULL);
    return status;
}

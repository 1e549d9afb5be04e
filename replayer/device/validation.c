/* SPDX-License-Identifier: MIT */
#include "replayer/device/validation.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "gen_ids.h"
#include "vulkan/block.h"

#define LAYER      "VK_LAYER_KHRONOS_validation"
#define TEXT_BYTES 1800u /* of a message, in one line of the log */
#define SPEC       "The Vulkan spec states:"

/* VK_EXT_layer_settings for older headers: the installed layer may support it. */
#ifndef VK_EXT_layer_settings
#define VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT ((VkStructureType)1000496000)
typedef enum VkLayerSettingTypeEXT { VK_LAYER_SETTING_TYPE_BOOL32_EXT = 0 } VkLayerSettingTypeEXT;
typedef struct VkLayerSettingEXT {
    const char *pLayerName, *pSettingName;
    VkLayerSettingTypeEXT type;
    uint32_t valueCount;
    const void *pValues;
} VkLayerSettingEXT;
typedef struct VkLayerSettingsCreateInfoEXT {
    VkStructureType sType;
    const void *pNext;
    uint32_t settingCount;
    const VkLayerSettingEXT *pSettings;
} VkLayerSettingsCreateInfoEXT;
#endif

struct count {
    char *name; /* the VUID, or another identifier of the layer's */
    bool error;
    uint64_t messages;
};

struct replay_validation {
    struct replay_validation_options options;
    struct replay *r;
    pthread_t thread; /* the thread that plays */
    pthread_mutex_t lock;
    struct count *counts;
    size_t count, capacity;
    uint64_t errors, warnings;
    bool failed; /* out of memory */
    /* the messenger that instances are created with */
    VkDebugUtilsMessengerCreateInfoEXT messenger;
    VkValidationFeaturesEXT features;
    VkValidationFeatureEnableEXT enabled[3];
    const char *layers[1], *extensions[3];
    uint32_t extension_count;
    bool has_settings;
    VkLayerSettingsCreateInfoEXT settings;
    VkLayerSettingEXT setting;
    VkBool32 no;
};

struct replay_validation *replay_validation_create(const struct replay_validation_options *options)
{
    struct replay_validation *validation = calloc(1, sizeof *validation);

    if (!validation)
        return NULL;
    validation->options = *options;
    validation->thread = pthread_self();
    if (pthread_mutex_init(&validation->lock, NULL) == 0)
        return validation;
    free(validation);
    return NULL;
}

void replay_validation_destroy(struct replay_validation *validation)
{
    if (!validation)
        return;
    for (size_t i = 0; i < validation->count; i++)
        free(validation->counts[i].name);
    free(validation->counts);
    pthread_mutex_destroy(&validation->lock);
    free(validation);
}

/* ---- formatting of messages ---- */

/* The position of a message in the trace. */
struct place {
    uint64_t frame, packet; /* 0: no position */
    const char *command, *block_command;
    uint32_t number; /* index of the command in its block, from 0, as lapilli print counts */
};

static struct place find_place(const struct replay_validation *validation)
{
    const struct replay *r = validation->r;

    if (!r || !pthread_equal(validation->thread, pthread_self()) || !r->at.packet.ticket)
        return (struct place){.packet = 0};
    return (struct place){.frame = r->at.packet.frame + 1,
                          .packet = r->at.packet.ticket,
                          .command = lap_reader_command_name(r->reader, r->at.packet.command),
                          .block_command = r->at.block ? r->at.block_command : NULL,
                          .number = r->at.block && r->at.block->index ? r->at.block->index - 1 : 0};
}

/* The trace index of a live object; 0: the object is the replay's own. */
static uint64_t index_of(const struct replay_validation *validation, enum gen_handle_type type, uint64_t live)
{
    return validation->r && type != GEN_HANDLE_NONE && pthread_equal(validation->thread, pthread_self())
               ? replay_object_index(validation->r, type, live)
               : 0;
}

/* Older layers prefix the text with fields that this format reports separately. */
static const char *skip_heading(const char *text)
{
    static const char mark[] = "| MessageID = 0x";
    const char *at = strstr(text, mark);

    if (!at)
        return text;
    at += sizeof mark - 1;
    return at + strspn(at, "0123456789abcdefABCDEF |\n");
}

/* Writes "VkBuffer 0x12ab" as "VkBuffer:17". Returns the length of the text that it replaced; 0: the text is no
 * handle. */
static size_t write_handle(const struct replay_validation *validation, const char *text, FILE *out)
{
    size_t length = strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");
    char name[64];
    enum gen_handle_type type;
    uint64_t live, index;
    char *end;

    if (strncmp(text, "Vk", 2) != 0 || strncmp(text + length, " 0x", 3) != 0 || length >= sizeof name)
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)length, text);
    type = (enum gen_handle_type)gen_handle_by_name(name);
    live = strtoull(text + length + 1, &end, 16);
    index = index_of(validation, type, live);
    if (!index)
        return 0;
    fprintf(out, "%s:%" PRIu64, gen_handle_names[type], index);
    if (strncmp(end, "[]", 2) == 0) /* the object has no name */
        end += 2;
    return (size_t)(end - text);
}

/* One line in which objects have trace indices. The caller frees it; NULL without memory. */
static char *write_text(const struct replay_validation *validation, const char *text)
{
    char *line = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&line, &bytes);

    if (!out)
        return NULL;
    for (text = skip_heading(text); *text;) {
        size_t taken = write_handle(validation, text, out);
        if (!taken) {
            fputc(*text == '\n' ? ' ' : (unsigned char)*text < ' ' || (unsigned char)*text > '~' ? '?' : *text, out);
            taken = 1;
        }
        text += taken;
    }
    if (fclose(out) == 0)
        return line;
    free(line);
    return NULL;
}

static void write_objects(const struct replay_validation *validation,
                          const VkDebugUtilsMessengerCallbackDataEXT *message, char *out, size_t room)
{
    size_t used = 0;

    out[0] = 0;
    for (uint32_t i = 0; i < message->objectCount && used < room; i++) {
        enum gen_handle_type type = gen_handle_type_of(message->pObjects[i].objectType);
        uint64_t index = index_of(validation, type, message->pObjects[i].objectHandle);
        int length = index ? snprintf(out + used, room - used, "%s%s:%" PRIu64, used ? ", " : " [",
                                      gen_handle_names[type], index)
                           : 0;
        used += length > 0 ? (size_t)length : 0;
    }
    if (used && used + 1 < room)
        snprintf(out + used, room - used, "]");
}

static void write_line(const struct replay_validation *validation, const struct place *place, const struct count *count,
                       const char *text, const VkDebugUtilsMessengerCallbackDataEXT *message)
{
    const struct lap_log *log = validation->r ? validation->r->log : NULL;
    enum lap_log_level level = count->error ? LAP_LOG_ERROR : LAP_LOG_WARNING;
    const char *more = count->messages == validation->options.shown ? " (further ones are only counted)" : "";
    char objects[160], where[320] = "";

    write_objects(validation, message, objects, sizeof objects);
    if (place->block_command)
        snprintf(where, sizeof where, "frame %" PRIu64 ", packet %" PRIu64 ".%" PRIu32 " (%s): ", place->frame,
                 place->packet, place->number, place->block_command);
    else if (place->packet)
        snprintf(where, sizeof where, "frame %" PRIu64 ", packet %" PRIu64 " (%s): ", place->frame, place->packet,
                 place->command);
    lap_log(log, level, "%s%s: %.*s%s%s", where, count->name, (int)TEXT_BYTES, text, objects, more);
}

static bool add_number(cJSON *object, const char *key, bool there, uint64_t number)
{
    return there ? cJSON_AddNumberToObject(object, key, (double)number) != NULL
                 : cJSON_AddNullToObject(object, key) != NULL;
}

static bool add_name(const struct replay_validation *validation, cJSON *object, const char *name)
{
    char *clean = name ? write_text(validation, name) : NULL;
    bool added = name ? clean && cJSON_AddStringToObject(object, "name", clean) != NULL
                      : cJSON_AddNullToObject(object, "name") != NULL;

    free(clean);
    return added;
}

static bool add_objects(const struct replay_validation *validation, cJSON *line,
                        const VkDebugUtilsMessengerCallbackDataEXT *message)
{
    cJSON *list = cJSON_AddArrayToObject(line, "objects");
    bool added = list != NULL;

    for (uint32_t i = 0; i < message->objectCount && added; i++) {
        const VkDebugUtilsObjectNameInfoEXT *named = &message->pObjects[i];
        enum gen_handle_type type = gen_handle_type_of(named->objectType);
        uint64_t index = index_of(validation, type, named->objectHandle);
        cJSON *object = cJSON_CreateObject();
        added = cJSON_AddItemToArray(list, object) &&
                (type == GEN_HANDLE_NONE ? cJSON_AddNullToObject(object, "type") != NULL
                                         : cJSON_AddStringToObject(object, "type", gen_handle_names[type]) != NULL) &&
                add_number(object, "index", index != 0, index) && add_name(validation, object, named->pObjectName);
    }
    return added;
}

/* Flushes each line, so that it survives a driver crash in the next call. */
static bool print_json(struct replay_validation *validation, cJSON *line, bool added)
{
    char *text = added ? cJSON_PrintUnformatted(line) : NULL;

    if (text)
        fprintf(validation->options.json, "%s\n", text);
    fflush(validation->options.json);
    cJSON_free(text);
    cJSON_Delete(line);
    return text != NULL;
}

static bool write_json(struct replay_validation *validation, const struct place *place, const struct count *count,
                       const char *text, const VkDebugUtilsMessengerCallbackDataEXT *message)
{
    cJSON *line = cJSON_CreateObject();
    bool added =
        cJSON_AddStringToObject(line, "severity", count->error ? "error" : "warning") &&
        cJSON_AddStringToObject(line, "vuid", count->name) && add_number(line, "frame", place->packet, place->frame) &&
        add_number(line, "packet", place->packet, place->packet) &&
        add_number(line, "command", place->block_command, place->number) &&
        (place->packet
             ? cJSON_AddStringToObject(line, "name", place->block_command ? place->block_command : place->command)
             : cJSON_AddNullToObject(line, "name")) &&
        add_objects(validation, line, message) && cJSON_AddStringToObject(line, "text", text);

    return print_json(validation, line, added);
}

/* ---- messages ---- */

static struct count *find_count(struct replay_validation *validation, const char *name, bool error)
{
    struct count *more;

    for (size_t i = 0; i < validation->count; i++)
        if (validation->counts[i].error == error && strcmp(validation->counts[i].name, name) == 0)
            return &validation->counts[i];
    if (!lap_array_grow(&validation->counts, sizeof *validation->counts, &validation->capacity, validation->count + 1))
        return NULL;
    more = &validation->counts[validation->count];
    *more = (struct count){.name = strdup(name), .error = error};
    if (!more->name)
        return NULL;
    validation->count++;
    return more;
}

static VKAPI_ATTR VkBool32 VKAPI_CALL on_message(VkDebugUtilsMessageSeverityFlagBitsEXT severity,
                                                 VkDebugUtilsMessageTypeFlagsEXT types,
                                                 const VkDebugUtilsMessengerCallbackDataEXT *message, void *user)
{
    struct replay_validation *validation = user;
    const struct place place = find_place(validation);
    bool error = severity & VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT;
    struct count *count;
    char *text = NULL;

    (void)types;
    pthread_mutex_lock(&validation->lock);
    *(error ? &validation->errors : &validation->warnings) += 1;
    count = find_count(validation, message->pMessageIdName ? message->pMessageIdName : "no VUID", error);
    if (count && count->messages++ < validation->options.shown) {
        text = write_text(validation, message->pMessage ? message->pMessage : "");
        if (text && validation->options.json)
            validation->failed |= !write_json(validation, &place, count, text, message);
        else if (text)
            write_line(validation, &place, count, text, message);
    }
    validation->failed |= !count || (count->messages <= validation->options.shown && !text);
    free(text);
    pthread_mutex_unlock(&validation->lock);
    return VK_FALSE;
}

enum lap_status replay_validation_report(struct replay_validation *validation, const struct lap_log *log,
                                         uint64_t *out_errors)
{
    cJSON *line = validation->options.json ? cJSON_CreateObject() : NULL, *summary, *list;
    bool added, failed;

    pthread_mutex_lock(&validation->lock); /* a device that does not finish may still send messages */
    *out_errors = validation->errors;
    summary = line ? cJSON_AddObjectToObject(line, "summary") : NULL;
    added = summary && add_number(summary, "errors", true, validation->errors) &&
            add_number(summary, "warnings", true, validation->warnings);
    list = added ? cJSON_AddArrayToObject(summary, "vuids") : NULL;
    added = list != NULL;
    for (size_t i = 0; i < validation->count; i++) {
        const struct count *count = &validation->counts[i];
        if (line) {
            cJSON *of_one = cJSON_CreateObject();
            added = added && cJSON_AddItemToArray(list, of_one) &&
                    cJSON_AddStringToObject(of_one, "severity", count->error ? "error" : "warning") &&
                    cJSON_AddStringToObject(of_one, "vuid", count->name) &&
                    add_number(of_one, "count", true, count->messages);
        } else {
            lap_log(log, LAP_LOG_INFO, "%" PRIu64 " of %s", count->messages, count->name);
        }
    }
    if (line && !print_json(validation, line, added))
        validation->failed = true;
    if (!validation->options.json)
        printf("validate: %" PRIu64 " errors, %" PRIu64 " warnings\n", validation->errors, validation->warnings);
    failed = validation->failed;
    pthread_mutex_unlock(&validation->lock);
    return failed ? lap_fail(LAP_ERROR_MEMORY, "out of memory for the messages of --validate") : LAP_OK;
}

/* ---- instances ---- */

static bool has_layer(const struct replay *r)
{
    PFN_vkEnumerateInstanceLayerProperties get =
        (PFN_vkEnumerateInstanceLayerProperties)r->loader.get_instance_proc_addr(NULL,
                                                                                 "vkEnumerateInstanceLayerProperties");
    VkLayerProperties *layers;
    uint32_t count = 0;
    bool has = false;

    if (!get || get(&count, NULL) < 0 || !count)
        return false;
    layers = calloc(count, sizeof *layers);
    if (layers && get(&count, layers) >= 0)
        for (uint32_t i = 0; i < count; i++)
            has = has || strcmp(layers[i].layerName, LAYER) == 0;
    free(layers);
    return has;
}

/* Extensions of the loader, the drivers, or of the layer. */
static bool has_extension(const struct replay *r, const char *layer, const char *name)
{
    PFN_vkEnumerateInstanceExtensionProperties get =
        (PFN_vkEnumerateInstanceExtensionProperties)r->loader.get_instance_proc_addr(
            NULL, "vkEnumerateInstanceExtensionProperties");
    VkExtensionProperties *extensions;
    uint32_t count = 0;
    bool has = false;

    if (!get || get(layer, &count, NULL) < 0 || !count)
        return false;
    extensions = calloc(count, sizeof *extensions);
    if (extensions && get(layer, &count, extensions) >= 0)
        for (uint32_t i = 0; i < count; i++)
            has = has || strcmp(extensions[i].extensionName, name) == 0;
    free(extensions);
    return has;
}

static bool want(struct replay_validation *validation, const char *name)
{
    if (!has_extension(validation->r, LAYER, name) && !has_extension(validation->r, NULL, name))
        return false;
    validation->extensions[validation->extension_count++] = name;
    return true;
}

enum lap_status replay_validation_begin(struct replay_validation *validation, struct replay *r)
{
    bool more = validation->options.gpu || validation->options.synchronization;

    validation->r = r;
    validation->thread = pthread_self();
    validation->extension_count = 0;
    if (!has_layer(r))
        return lap_fail(LAP_ERROR_UNSUPPORTED,
                        "--validate: the loader finds no " LAYER "; install it (Debian: "
                        "vulkan-validationlayers), or name its folder in VK_ADD_LAYER_PATH or VK_LAYER_PATH");
    if (!want(validation, VK_EXT_DEBUG_UTILS_EXTENSION_NAME))
        return lap_fail(LAP_ERROR_UNSUPPORTED, "--validate: " LAYER " has no VK_EXT_debug_utils");
    if (more && !want(validation, VK_EXT_VALIDATION_FEATURES_EXTENSION_NAME))
        return lap_fail(LAP_ERROR_UNSUPPORTED, "--validate: " LAYER " works only as it is by default: it has "
                                               "no VK_EXT_validation_features");
    validation->has_settings = want(validation, "VK_EXT_layer_settings");
    return LAP_OK;
}

/* Prepends the layer settings to the instance's create info chain. */
static const void *chain_settings(struct replay_validation *validation, const void *next)
{
    validation->setting =
        (VkLayerSettingEXT){.pLayerName = LAYER,
                            .pSettingName = "enable_message_limit", /* this file counts all messages */
                            .type = VK_LAYER_SETTING_TYPE_BOOL32_EXT,
                            .valueCount = 1,
                            .pValues = &validation->no};
    validation->settings = (VkLayerSettingsCreateInfoEXT){.sType = VK_STRUCTURE_TYPE_LAYER_SETTINGS_CREATE_INFO_EXT,
                                                          .pNext = next,
                                                          .settingCount = 1,
                                                          .pSettings = &validation->setting};
    if (validation->has_settings)
        return &validation->settings;
    return next;
}

const char *const *replay_validation_prepare(struct replay_validation *validation, VkInstanceCreateInfo *info,
                                             uint32_t *out_count)
{
    uint32_t count = 0;

    validation->messenger =
        (VkDebugUtilsMessengerCreateInfoEXT){.sType = VK_STRUCTURE_TYPE_DEBUG_UTILS_MESSENGER_CREATE_INFO_EXT,
                                             .messageSeverity = VK_DEBUG_UTILS_MESSAGE_SEVERITY_ERROR_BIT_EXT |
                                                                VK_DEBUG_UTILS_MESSAGE_SEVERITY_WARNING_BIT_EXT,
                                             .messageType = VK_DEBUG_UTILS_MESSAGE_TYPE_VALIDATION_BIT_EXT,
                                             .pfnUserCallback = on_message,
                                             .pUserData = validation};
    if (validation->options.gpu) {
        validation->enabled[count++] = VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_EXT;
        validation->enabled[count++] = VK_VALIDATION_FEATURE_ENABLE_GPU_ASSISTED_RESERVE_BINDING_SLOT_EXT;
    }
    if (validation->options.synchronization)
        validation->enabled[count++] = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT;
    if (count) {
        validation->features = (VkValidationFeaturesEXT){.sType = VK_STRUCTURE_TYPE_VALIDATION_FEATURES_EXT,
                                                         .enabledValidationFeatureCount = count,
                                                         .pEnabledValidationFeatures = validation->enabled};
        validation->messenger.pNext = &validation->features;
    }
    validation->messenger.pNext = chain_settings(validation, validation->messenger.pNext);
    validation->layers[0] = LAYER;
    info->pNext = &validation->messenger;
    info->enabledLayerCount = 1;
    info->ppEnabledLayerNames = validation->layers;
    *out_count = validation->extension_count;
    return validation->extensions;
}

enum lap_status replay_validation_listen(struct replay_validation *validation, VkInstance instance,
                                         VkDebugUtilsMessengerEXT *out_messenger)
{
    const struct replay *r = validation->r;
    PFN_vkCreateDebugUtilsMessengerEXT create = (PFN_vkCreateDebugUtilsMessengerEXT)r->loader.get_instance_proc_addr(
        instance, "vkCreateDebugUtilsMessengerEXT");
    VkDebugUtilsMessengerCreateInfoEXT info = validation->messenger;

    *out_messenger = VK_NULL_HANDLE;
    info.pNext = NULL;
    if (!create || create(instance, &info, NULL, out_messenger) < 0)
        return lap_fail(LAP_ERROR_UNSUPPORTED, "--validate: " LAYER " takes no messenger");
    return LAP_OK;
}

void replay_validation_leave(const struct replay *r, VkInstance instance, VkDebugUtilsMessengerEXT messenger)
{
    PFN_vkDestroyDebugUtilsMessengerEXT destroy = (PFN_vkDestroyDebugUtilsMessengerEXT)r->loader.get_instance_proc_addr(
        instance, "vkDestroyDebugUtilsMessengerEXT");

    if (messenger && destroy)
        destroy(instance, messenger, NULL);
}

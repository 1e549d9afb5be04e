/* SPDX-License-Identifier: MIT */
#include "app.h"

#include <stdarg.h>
#include <unistd.h>

static const struct {
    const char *name, *extension;
} window_kinds[] = {
    [APP_XCB] = {"xcb", "VK_KHR_xcb_surface"},
    [APP_XLIB] = {"xlib", "VK_KHR_xlib_surface"},
    [APP_WAYLAND] = {"wayland", "VK_KHR_wayland_surface"},
    [APP_HEADLESS] = {"headless", "VK_EXT_headless_surface"},
};

void app_fail(const char *file, int line, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, format, arguments);
    fprintf(stderr, "\n");
    va_end(arguments);
    fflush(NULL);
    _exit(1); /* other threads may be in the driver, which exit() would end below them */
}

void app_skip(const struct app *app, const char *reason)
{
    printf("skip %s: %s\n", app->program->name, reason);
    exit(APP_SKIP);
}

void app_expect_equal(const struct app *app, const char *file, int line, const char *what, uint64_t got, uint64_t want)
{
    if (got != want && !app->no_check)
        app_fail(file, line, "%s is 0x%" PRIx64 ", expected 0x%" PRIx64, what, got, want);
}

static void usage(const struct app_program *program)
{
    printf("usage: %s [options]\n%s\n\n", program->name, program->what);
    printf("  %-16s frames or rounds (%u)\n", "--frames N", program->frames);
    if (program->can_present) {
        printf("  %-16s render into a window%s\n", "--present", program->presents_by_default ? " (default)" : "");
        printf("  %-16s render into images%s\n", "--offscreen", program->presents_by_default ? "" : " (default)");
        printf("  %-16s what windows are made of: xcb (default), xlib, wayland, headless\n", "--window KIND");
    }
    printf("  %-16s physical device (0)\n", "--gpu N");
    printf("  %-16s do not look at results: for drivers that compute nothing\n", "--no-check");
    printf("  %-16s take queue family 0, and never ask for properties of the GPU\n", "--no-questions");
    for (const struct app_option *option = program->options; option && option->name; option++)
        printf("  %-16s %s\n", option->name, option->help);
    printf("  %-16s this text\n", "--help");
}

static uint32_t parse_number(const char *text, const char *option)
{
    char *end = NULL;
    unsigned long value = text ? strtoul(text, &end, 10) : 0;
    if (!text || end == text || *end || value > UINT32_MAX) {
        fprintf(stderr, "%s needs a number\n", option);
        exit(2);
    }
    return (uint32_t)value;
}

static enum app_window_kind parse_window(const char *text)
{
    for (uint32_t i = 0; text && i < COUNT_OF(window_kinds); i++)
        if (!strcmp(window_kinds[i].name, text))
            return (enum app_window_kind)i;
    fprintf(stderr, "--window needs xcb, xlib, wayland or headless\n");
    exit(2);
}

static bool parse_own(const struct app_option *option, char **argv, int *index)
{
    for (; option && option->name; option++) {
        if (strcmp(argv[*index], option->name))
            continue;
        if (option->flag)
            *option->flag = true;
        else
            *option->number = parse_number(argv[++*index], option->name);
        return true;
    }
    return false;
}

static void parse(struct app *app, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help")) {
            usage(app->program);
            exit(0);
        } else if (!strcmp(argv[i], "--frames")) {
            i++;
            app->frames = parse_number(i < argc ? argv[i] : NULL, "--frames");
        } else if (!strcmp(argv[i], "--gpu")) {
            i++;
            app->gpu = parse_number(i < argc ? argv[i] : NULL, "--gpu");
        } else if (!strcmp(argv[i], "--no-check")) {
            app->no_check = true;
        } else if (!strcmp(argv[i], "--no-questions")) {
            app->no_questions = true;
        } else if (app->program->can_present && !strcmp(argv[i], "--present")) {
            app->present = true;
        } else if (app->program->can_present && !strcmp(argv[i], "--offscreen")) {
            app->present = false;
        } else if (app->program->can_present && !strcmp(argv[i], "--window")) {
            i++;
            app->window_kind = parse_window(i < argc ? argv[i] : NULL);
        } else if (!parse_own(app->program->options, argv, &i)) {
            fprintf(stderr, "%s: no such option: %s\n", app->program->name, argv[i]);
            exit(2);
        }
    }
}

static bool list_has(const VkExtensionProperties *list, uint32_t count, const char *name)
{
    for (uint32_t i = 0; i < count; i++)
        if (!strcmp(list[i].extensionName, name))
            return true;
    return false;
}

static void create_instance(struct app *app)
{
    const char *names[16];
    uint32_t name_count = 0, available_count = 0;
    CHECK_VK(vkEnumerateInstanceExtensionProperties(NULL, &available_count, NULL));
    VkExtensionProperties *available = calloc(available_count + 1, sizeof(*available));
    CHECK(available);
    CHECK_VK(vkEnumerateInstanceExtensionProperties(NULL, &available_count, available));
    if (app->present) {
        const char *extension = window_kinds[app->window_kind].extension;
        if (!list_has(available, available_count, extension))
            app_skip(app, extension);
        names[name_count++] = "VK_KHR_surface";
        names[name_count++] = extension;
    }
    for (const char *const *name = app->program->instance_extensions; name && *name; name++) {
        CHECK(name_count < COUNT_OF(names));
        if (list_has(available, available_count, *name))
            names[name_count++] = *name;
    }
    free(available);

    CHECK_VK(vkEnumerateInstanceVersion(&app->api_version));
    if (app->api_version > VK_API_VERSION_1_3)
        app->api_version = VK_API_VERSION_1_3;
    if (app->program->vulkan_1_0 && *app->program->vulkan_1_0)
        app->api_version = VK_API_VERSION_1_0;
    /* Loaders hand a later version on to devices; of the instance nothing of it is used. */
    if (app->program->vulkan_1_4 && *app->program->vulkan_1_4 && app->api_version >= VK_API_VERSION_1_3)
        app->api_version = APP_VULKAN_1_4;
    VkApplicationInfo info = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO};
    info.pApplicationName = app->program->name;
    info.applicationVersion = 1;
    info.pEngineName = "apps";
    info.apiVersion = app->api_version;
    VkInstanceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO};
    create.pApplicationInfo = &info;
    create.enabledExtensionCount = name_count;
    create.ppEnabledExtensionNames = names;
    VkResult result = vkCreateInstance(&create, NULL, &app->instance);
    if (result == VK_ERROR_INCOMPATIBLE_DRIVER)
        app_skip(app, "no Vulkan driver");
    CHECK_VK(result);
}

static void choose_family(struct app *app)
{
    uint32_t family_count = 0;
    vkGetPhysicalDeviceQueueFamilyProperties(app->physical, &family_count, NULL);
    VkQueueFamilyProperties *families = calloc(family_count + 1, sizeof(*families));
    CHECK(families);
    vkGetPhysicalDeviceQueueFamilyProperties(app->physical, &family_count, families);
    const VkQueueFlags wanted = VK_QUEUE_GRAPHICS_BIT | VK_QUEUE_COMPUTE_BIT;
    uint32_t family = 0;
    while (family < family_count && (families[family].queueFlags & wanted) != wanted)
        family++;
    if (family == family_count)
        app_skip(app, "no queue family with graphics and compute");
    app->queue_family = family;
    app->queue_properties = families[family];
    free(families);
}

static void choose_device(struct app *app)
{
    uint32_t count = 0;
    CHECK_VK(vkEnumeratePhysicalDevices(app->instance, &count, NULL));
    if (app->gpu >= count)
        app_skip(app, "no such physical device");
    VkPhysicalDevice *devices = calloc(count, sizeof(*devices));
    CHECK(devices);
    CHECK_VK(vkEnumeratePhysicalDevices(app->instance, &count, devices));
    app->physical = devices[app->gpu];
    free(devices);

    vkGetPhysicalDeviceFeatures(app->physical, &app->features);
    vkGetPhysicalDeviceMemoryProperties(app->physical, &app->memory);
    if (!app->no_questions) {
        vkGetPhysicalDeviceProperties(app->physical, &app->properties);
        if (app->properties.apiVersion < app->api_version)
            app->api_version = app->properties.apiVersion;
    }

    CHECK_VK(vkEnumerateDeviceExtensionProperties(app->physical, NULL, &app->extension_count, NULL));
    app->extensions = calloc(app->extension_count + 1, sizeof(*app->extensions));
    CHECK(app->extensions);
    CHECK_VK(vkEnumerateDeviceExtensionProperties(app->physical, NULL, &app->extension_count, app->extensions));

    if (!app->no_questions)
        choose_family(app);
}

void app_init(struct app *app, int argc, char **argv, const struct app_program *program)
{
    *app = (struct app){.program = program, .path = argv[0], .frames = program->frames, .width = 320, .height = 240};
    app->present = program->presents_by_default;
    parse(app, argc, argv);
    create_instance(app);
    choose_device(app);
}

bool app_has_extension(const struct app *app, const char *name)
{
    return list_has(app->extensions, app->extension_count, name);
}

void app_device_create(struct app *app, const struct app_device_request *request)
{
    const char *names[256];
    uint32_t name_count = 0;
    if (app->present)
        names[name_count++] = "VK_KHR_swapchain";
    for (uint32_t i = 0; request && i < request->extension_count; i++) {
        CHECK(name_count < COUNT_OF(names));
        names[name_count++] = request->extensions[i];
    }
    for (uint32_t i = 0; i < name_count; i++)
        if (!app_has_extension(app, names[i]))
            app_skip(app, "a device extension is missing");

    const float priority = 1.0f;
    VkDeviceQueueCreateInfo queue = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO};
    queue.queueFamilyIndex = app->queue_family;
    queue.queueCount = 1;
    queue.pQueuePriorities = &priority;
    VkDeviceCreateInfo create = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO};
    create.pNext = request ? request->next : NULL;
    create.queueCreateInfoCount = request && request->queues ? request->queue_count : 1;
    create.pQueueCreateInfos = request && request->queues ? request->queues : &queue;
    create.enabledExtensionCount = name_count;
    create.ppEnabledExtensionNames = names;
    create.pEnabledFeatures = request ? request->features : NULL;
    CHECK_VK(vkCreateDevice(app->physical, &create, NULL, &app->device));
    vkGetDeviceQueue(app->device, app->queue_family, 0, &app->queue);

    VkCommandPoolCreateInfo pool = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO};
    pool.flags = VK_COMMAND_POOL_CREATE_TRANSIENT_BIT | VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT;
    pool.queueFamilyIndex = app->queue_family;
    CHECK_VK(vkCreateCommandPool(app->device, &pool, NULL, &app->pool));
}

void app_device_destroy(struct app *app)
{
    if (!app->device)
        return;
    CHECK_VK(vkDeviceWaitIdle(app->device));
    vkDestroyCommandPool(app->device, app->pool, NULL);
    vkDestroyDevice(app->device, NULL);
    app->device = NULL;
}

PFN_vkVoidFunction app_device_function(const struct app *app, const char *name)
{
    PFN_vkVoidFunction function = vkGetDeviceProcAddr(app->device, name);
    if (!function)
        app_fail(__FILE__, __LINE__, "vkGetDeviceProcAddr knows no %s", name);
    return function;
}

void app_close(struct app *app)
{
    app_device_destroy(app);
    vkDestroyInstance(app->instance, NULL);
    free(app->extensions);
    app->instance = NULL;
    app->extensions = NULL;
}

int app_finish(struct app *app)
{
    app_close(app);
    printf("ok %s\n", app->program->name);
    return 0;
}

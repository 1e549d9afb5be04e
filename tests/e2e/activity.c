/* SPDX-License-Identifier: MIT */
/*
 * activity HOW LIBRARY FOLDER NAME WORDS...: plays the part of Android for the app's library: its main thread, one
 * intent (run is NAME, arguments are WORDS), windows, input, and a driver with Android's surfaces. A window is one of
 * X, whose driver is below; the device is turned by 90 degrees, so that each present says VK_SUBOPTIMAL_KHR. HOW:
 *   windows  the window goes and comes again until the replay has ended
 *   leave    the user leaves after some frames, by Back
 *   crash    a signal comes after some frames
 *   stuck    a present does not return, while the window goes
 * It ends as the app does. Lines on its first stdout count windows, and swapchains of them; exit status 99: what
 * Android promises or wants does not hold.
 */
#include <android/keycodes.h>
#include <android/log.h>
#include <android/native_activity.h>
#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <vulkan/vulkan.h>
#include <xcb/xcb.h>

#define WIDTH 200

struct ANativeWindow {
    xcb_window_t window;
    int32_t width;
    atomic_int references;
};

struct AInputQueue {
    ALooper_callbackFunc callback;
    void *data;
    int next, finished, handled;
};

/* By type, code and action: a touch, Back, and another Back, which the keyboard takes. */
struct AInputEvent {
    int32_t type, code, action;
};

static AInputEvent events[] = {{.type = 2}, {1, AKEYCODE_BACK, 0}, {1, AKEYCODE_BACK, 1}, {1, AKEYCODE_BACK, 1}};

#define EVENTS (int)(sizeof events / sizeof *events)

static struct {
    const char *how, *name;
    char **words;
    int count, out;
    xcb_connection_t *x;
    PFN_vkGetInstanceProcAddr next;
    PFN_vkGetDeviceProcAddr next_device;
    atomic_int surfaces, swapchains, presents, made;
    atomic_bool finished, gone;
} host;

#define NEED(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            dprintf(host.out, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                                          \
            kill(getpid(), SIGKILL);                                                                                   \
        }                                                                                                              \
    } while (0)

static void sleep_ms(long ms)
{
    nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* ---- Android's libraries ---- */

void ANativeWindow_acquire(ANativeWindow *window)
{
    atomic_fetch_add(&window->references, 1);
}

void ANativeWindow_release(ANativeWindow *window)
{
    atomic_fetch_sub(&window->references, 1);
}

int32_t ANativeWindow_getWidth(ANativeWindow *window)
{
    return window->width;
}

int32_t ANativeWindow_getHeight(ANativeWindow *window)
{
    return window->width / 2;
}

ALooper *ALooper_forThread(void)
{
    return NULL;
}

void AInputQueue_attachLooper(AInputQueue *queue, ALooper *looper, int ident, ALooper_callbackFunc callback, void *data)
{
    queue->callback = callback;
    queue->data = data;
}

void AInputQueue_detachLooper(AInputQueue *queue)
{
    queue->callback = NULL;
}

int32_t AInputQueue_getEvent(AInputQueue *queue, AInputEvent **out_event)
{
    if (queue->next == EVENTS)
        return -1;
    *out_event = &events[queue->next++];
    return 0;
}

int32_t AInputQueue_preDispatchEvent(AInputQueue *queue, AInputEvent *event)
{
    return queue->next == EVENTS;
}

void AInputQueue_finishEvent(AInputQueue *queue, AInputEvent *event, int handled)
{
    queue->finished++;
    queue->handled += handled;
}

int32_t AInputEvent_getType(const AInputEvent *event)
{
    return event->type;
}

int32_t AKeyEvent_getAction(const AInputEvent *event)
{
    return event->action;
}

int32_t AKeyEvent_getKeyCode(const AInputEvent *event)
{
    return event->code;
}

void ANativeActivity_finish(ANativeActivity *activity)
{
    atomic_store(&host.finished, true);
}

void ANativeActivity_setWindowFlags(ANativeActivity *activity, uint32_t added, uint32_t removed) {}

int __android_log_write(int priority, const char *tag, const char *text)
{
    return dprintf(host.out, "%s: %s\n", tag, text);
}

/* ---- Java: a method is its name, a text its bytes ---- */

static jclass get_class(JNIEnv *env, jobject object)
{
    return object;
}

static jmethodID get_method(JNIEnv *env, jclass type, const char *name, const char *signature)
{
    return (jmethodID)(uintptr_t)name;
}

static jobject call(JNIEnv *env, jobject object, jmethodID method, ...)
{
    const char *name = (const char *)method, *key;
    va_list list;

    if (strcmp(name, "getIntent") == 0)
        return &host;
    va_start(list, method);
    key = va_arg(list, const char *);
    va_end(list);
    if (strcmp(name, "getStringExtra") == 0 && strcmp(key, "run") == 0)
        return *host.name ? (jobject)(uintptr_t)host.name : NULL;
    return strcmp(name, "getStringArrayExtra") == 0 && strcmp(key, "arguments") == 0 ? host.words : NULL;
}

static uint8_t no_exception(JNIEnv *env)
{
    return 0;
}

static jstring new_text(JNIEnv *env, const char *text)
{
    return (jstring)(uintptr_t)text;
}

static const char *bytes_of(JNIEnv *env, jstring text, uint8_t *out_is_copy)
{
    return text;
}

static void release_bytes(JNIEnv *env, jstring text, const char *bytes) {}

static int32_t length_of(JNIEnv *env, jobject array)
{
    return host.count;
}

static jobject element_of(JNIEnv *env, jobjectArray array, int32_t index)
{
    return host.words[index];
}

static void forget(JNIEnv *env, jobject object) {}

static const struct JNINativeInterface java = {.GetObjectClass = get_class,
                                               .GetMethodID = get_method,
                                               .CallObjectMethod = call,
                                               .ExceptionCheck = no_exception,
                                               .NewStringUTF = new_text,
                                               .GetStringUTFChars = bytes_of,
                                               .ReleaseStringUTFChars = release_bytes,
                                               .GetArrayLength = length_of,
                                               .GetObjectArrayElement = element_of,
                                               .DeleteLocalRef = forget};

/* ---- the driver ---- */

static VkResult enumerate(const char *layer, uint32_t *count, VkExtensionProperties *out)
{
    PFN_vkEnumerateInstanceExtensionProperties next =
        (PFN_vkEnumerateInstanceExtensionProperties)host.next(NULL, "vkEnumerateInstanceExtensionProperties");
    VkResult result = next(layer, count, out);

    for (uint32_t i = 0; out && i < *count; i++)
        if (strcmp(out[i].extensionName, "VK_KHR_xcb_surface") == 0)
            strcpy(out[i].extensionName, VK_KHR_ANDROID_SURFACE_EXTENSION_NAME);
    return result;
}

static VkResult create_instance(const VkInstanceCreateInfo *info, const VkAllocationCallbacks *unused, VkInstance *out)
{
    PFN_vkCreateInstance next = (PFN_vkCreateInstance)host.next(NULL, "vkCreateInstance");
    const char *names[64];
    VkInstanceCreateInfo changed = *info;

    for (uint32_t i = 0; i < info->enabledExtensionCount && i < 64; i++) {
        bool ours = strcmp(info->ppEnabledExtensionNames[i], VK_KHR_ANDROID_SURFACE_EXTENSION_NAME) == 0;
        names[i] = ours ? "VK_KHR_xcb_surface" : info->ppEnabledExtensionNames[i];
    }
    changed.ppEnabledExtensionNames = names;
    return next(&changed, NULL, out);
}

static VkInstance instance;

static VkResult create_surface(VkInstance of, const VkAndroidSurfaceCreateInfoKHR *info,
                               const VkAllocationCallbacks *unused, VkSurfaceKHR *out)
{
    VkXcbSurfaceCreateInfoKHR xcb = {
        .sType = VK_STRUCTURE_TYPE_XCB_SURFACE_CREATE_INFO_KHR, .connection = host.x, .window = info->window->window};

    NEED(!host.gone && atomic_fetch_add(&host.surfaces, 1) == 0); /* a window takes one */
    return ((PFN_vkCreateXcbSurfaceKHR)host.next(of, "vkCreateXcbSurfaceKHR"))(of, &xcb, NULL, out);
}

static void destroy_surface(VkInstance of, VkSurfaceKHR surface, const VkAllocationCallbacks *unused)
{
    ((PFN_vkDestroySurfaceKHR)host.next(of, "vkDestroySurfaceKHR"))(of, surface, NULL);
    atomic_fetch_sub(&host.surfaces, surface != VK_NULL_HANDLE);
}

static VkResult capabilities(VkPhysicalDevice gpu, VkSurfaceKHR surface, VkSurfaceCapabilitiesKHR *out)
{
    VkResult result = ((PFN_vkGetPhysicalDeviceSurfaceCapabilitiesKHR)host.next(
        instance, "vkGetPhysicalDeviceSurfaceCapabilitiesKHR"))(gpu, surface, out);

    NEED(!host.gone);
    out->currentTransform = VK_SURFACE_TRANSFORM_ROTATE_90_BIT_KHR;
    out->supportedTransforms |= VK_SURFACE_TRANSFORM_ROTATE_90_BIT_KHR;
    return result;
}

#define NEXT(device, name) ((PFN_vk##name)host.next_device(device, "vk" #name))

static VkResult create_swapchain(VkDevice device, const VkSwapchainCreateInfoKHR *info,
                                 const VkAllocationCallbacks *unused, VkSwapchainKHR *out)
{
    VkResult result = NEXT(device, CreateSwapchainKHR)(device, info, NULL, out);

    NEED(!host.gone && info->preTransform == VK_SURFACE_TRANSFORM_IDENTITY_BIT_KHR);
    atomic_fetch_add(&host.swapchains, result >= 0);
    atomic_fetch_add(&host.made, result >= 0);
    return result;
}

static void destroy_swapchain(VkDevice device, VkSwapchainKHR swapchain, const VkAllocationCallbacks *unused)
{
    NEXT(device, DestroySwapchainKHR)(device, swapchain, NULL);
    atomic_fetch_sub(&host.swapchains, swapchain != VK_NULL_HANDLE);
}

static VkResult present(VkQueue queue, const VkPresentInfoKHR *info)
{
    PFN_vkQueuePresentKHR next = (PFN_vkQueuePresentKHR)host.next(instance, "vkQueuePresentKHR");
    VkResult result = next(queue, info);

    NEED(!host.gone);
    atomic_fetch_add(&host.presents, 1);
    while (strcmp(host.how, "stuck") == 0 && host.presents > 5)
        sleep_ms(1000);
    return result == VK_SUCCESS ? VK_SUBOPTIMAL_KHR : result;
}

static PFN_vkVoidFunction get_device(VkDevice device, const char *name);

#define ANSWER(wanted, function)                                                                                       \
    if (strcmp(name, wanted) == 0)                                                                                     \
    return (PFN_vkVoidFunction)(function)

static PFN_vkVoidFunction get(VkInstance of, const char *name)
{
    instance = of ? of : instance;
    ANSWER("vkGetInstanceProcAddr", get);
    ANSWER("vkEnumerateInstanceExtensionProperties", enumerate);
    ANSWER("vkCreateInstance", create_instance);
    ANSWER("vkCreateAndroidSurfaceKHR", create_surface);
    ANSWER("vkDestroySurfaceKHR", destroy_surface);
    ANSWER("vkGetPhysicalDeviceSurfaceCapabilitiesKHR", capabilities);
    ANSWER("vkGetDeviceProcAddr", get_device);
    return host.next(of, name);
}

static PFN_vkVoidFunction get_device(VkDevice device, const char *name)
{
    host.next_device = (PFN_vkGetDeviceProcAddr)host.next(instance, "vkGetDeviceProcAddr");
    ANSWER("vkCreateSwapchainKHR", create_swapchain);
    ANSWER("vkDestroySwapchainKHR", destroy_swapchain);
    ANSWER("vkQueuePresentKHR", present);
    return host.next_device(device, name);
}

/* The library's dlsym. */
void *__wrap_dlsym(void *library, const char *name);
void *__wrap_dlsym(void *library, const char *name)
{
    void *symbol = dlsym(library, name);

    if (strcmp(name, "vkGetInstanceProcAddr") != 0)
        return symbol;
    host.next = (PFN_vkGetInstanceProcAddr)symbol;
    return (void *)get;
}

/* ---- the main thread ---- */

static void give(const ANativeActivity *activity, ANativeWindow *window, int32_t width)
{
    const xcb_screen_t *screen = xcb_setup_roots_iterator(xcb_get_setup(host.x)).data;

    *window = (ANativeWindow){.window = xcb_generate_id(host.x), .width = width};
    xcb_create_window(host.x, XCB_COPY_FROM_PARENT, window->window, screen->root, 0, 0, (uint16_t)width,
                      (uint16_t)(width / 2), 0, XCB_WINDOW_CLASS_INPUT_OUTPUT, screen->root_visual, 0, NULL);
    xcb_map_window(host.x, window->window);
    xcb_flush(host.x);
    host.gone = false;
    activity->callbacks->onNativeWindowCreated((ANativeActivity *)(uintptr_t)activity, window);
}

/* Nothing of the driver is left of a window, and nothing comes later. */
static void take(const ANativeActivity *activity, ANativeWindow *window)
{
    activity->callbacks->onNativeWindowDestroyed((ANativeActivity *)(uintptr_t)activity, window);
    host.gone = true;
    if (strcmp(host.how, "stuck") != 0)
        NEED(host.surfaces == 0 && host.swapchains == 0 && window->references == 0);
    xcb_destroy_window(host.x, window->window);
    xcb_flush(host.x);
}

static void wait_for_presents(int more)
{
    for (int wanted = host.presents + more; host.presents < wanted && !host.finished;)
        sleep_ms(1);
}

static void leave(ANativeActivity *activity)
{
    AInputQueue queue = {.next = 0};

    activity->callbacks->onInputQueueCreated(activity, &queue);
    NEED(queue.callback && queue.callback(-1, 0, queue.data) == 1);
    NEED(queue.finished == EVENTS - 1 && queue.handled == 2 && host.finished);
    activity->callbacks->onInputQueueDestroyed(activity, &queue);
    NEED(!queue.callback);
}

int main(int argc, char **argv)
{
    ANativeActivityCallbacks callbacks = {.onDestroy = NULL};
    JNIEnv env = &java;
    ANativeActivity activity = {.callbacks = &callbacks, .env = &env};
    ANativeWindow window;
    int rounds = 0;
    void *library;

    if (argc < 5)
        return 2;
    library = dlopen(argv[2], RTLD_NOW | RTLD_LOCAL);
    host.how = argv[1];
    host.name = argv[4];
    host.words = argv + 5;
    host.count = argc - 5;
    host.out = dup(STDOUT_FILENO);
    host.x = xcb_connect(NULL, NULL);
    activity.internalDataPath = argv[3];
    NEED(library && host.x && !xcb_connection_has_error(host.x));
    ((void (*)(ANativeActivity *, void *, size_t))dlsym(library, "ANativeActivity_onCreate"))(&activity, NULL, 0);
    if (host.finished && !callbacks.onNativeWindowCreated)
        callbacks.onDestroy(&activity);
    do {
        give(&activity, &window, WIDTH + 10 * (rounds % 3));
        wait_for_presents(strcmp(host.how, "windows") == 0 ? 1 + rounds % 3 : 10);
        if (strcmp(host.how, "crash") == 0)
            raise(SIGSEGV);
        if (strcmp(host.how, "leave") == 0)
            leave(&activity);
        take(&activity, &window);
        rounds++;
    } while (!host.finished);
    dprintf(host.out, "windows %d, swapchains %d\n", rounds, host.made);
    callbacks.onDestroy(&activity);
    return 99;
}

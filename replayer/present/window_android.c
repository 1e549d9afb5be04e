/* SPDX-License-Identifier: MIT */
#include "replayer/present/window_android.h"

#include "replayer/core/device.h"
#include "replayer/present/window_system.h"

#if defined __ANDROID__ || defined LAP_ACTIVITY_OF_A_TEST

#include <android/native_window.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* How long a replay waits for the first window, and the main thread for the replay. Android asks the user after 5 s. */
#define FIRST_WINDOW_MS 10000
#define TAKE_MS         3000

struct replay_display {
    int unused; /* no connection */
};

struct replay_native {
    void (*lose)(void *window);
    void *window;       /* of lose */
    ANativeWindow *now; /* held by the replay; NULL: not held */
    bool late;          /* it was taken away while it was held */
    VkExtent2D extent;
};

static struct {
    bool here;
    /* With the mutex: */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    bool ended;
    ANativeWindow *window;        /* NULL: none now */
    struct replay_native *native; /* the replay's; NULL: none */
} activity = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static struct timespec in_ms(int64_t ms)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    ms += at.tv_nsec / 1000000;
    at.tv_sec += (time_t)(ms / 1000);
    at.tv_nsec = (long)(ms % 1000) * 1000000;
    return at;
}

/* ---- the activity's side ---- */

void replay_android_begin(void)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&activity.changed, &attributes);
    pthread_condattr_destroy(&attributes);
    activity.here = true;
}

bool replay_android_is_app(void)
{
    return activity.here;
}

void replay_android_give(struct ANativeWindow *window)
{
    pthread_mutex_lock(&activity.mutex);
    activity.window = window;
    pthread_cond_broadcast(&activity.changed);
    pthread_mutex_unlock(&activity.mutex);
}

void replay_android_take(void)
{
    const struct timespec limit = in_ms(TAKE_MS);
    int result = 0;

    pthread_mutex_lock(&activity.mutex);
    activity.window = NULL;
    while (activity.native && activity.native->now && result == 0)
        result = pthread_cond_timedwait(&activity.changed, &activity.mutex, &limit);
    if (activity.native && activity.native->now)
        activity.native->late = true;
    else if (activity.native && activity.native->lose)
        activity.native->lose(activity.native->window);
    pthread_mutex_unlock(&activity.mutex);
}

void replay_android_end(void)
{
    pthread_mutex_lock(&activity.mutex);
    activity.ended = true;
    pthread_cond_broadcast(&activity.changed);
    pthread_mutex_unlock(&activity.mutex);
}

/* ---- the replay's side ---- */

static struct replay_display *connect_display(void)
{
    const struct timespec limit = in_ms(FIRST_WINDOW_MS);
    struct replay_display *display = NULL;
    int result = 0;

    if (!activity.here)
        return NULL;
    pthread_mutex_lock(&activity.mutex);
    while (!activity.window && !activity.ended && result == 0)
        result = pthread_cond_timedwait(&activity.changed, &activity.mutex, &limit);
    if (activity.window)
        display = calloc(1, sizeof *display);
    pthread_mutex_unlock(&activity.mutex);
    return display;
}

static void disconnect_display(struct replay_display **display)
{
    free(*display);
    *display = NULL;
}

static enum lap_status open_window(struct replay_display *display, const char *title, VkExtent2D extent, bool visible,
                                   struct replay_native **out_native)
{
    struct replay_native *native = calloc(1, sizeof *native);
    enum lap_status status = LAP_OK;

    *out_native = NULL;
    if (!native)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    native->extent = extent;
    pthread_mutex_lock(&activity.mutex);
    if (activity.native)
        status = lap_fail(LAP_ERROR_UNSUPPORTED, "an activity has one window, and the trace shows two at a time");
    else
        activity.native = *out_native = native;
    pthread_mutex_unlock(&activity.mutex);
    if (status != LAP_OK)
        free(native);
    return status;
}

static void close_window(struct replay_native **native)
{
    if (!*native)
        return;
    pthread_mutex_lock(&activity.mutex);
    activity.native = NULL;
    pthread_mutex_unlock(&activity.mutex);
    free(*native);
    *native = NULL;
}

static void watch(struct replay_native *native, void (*lose)(void *window), void *window)
{
    pthread_mutex_lock(&activity.mutex);
    native->lose = lose;
    native->window = window;
    pthread_mutex_unlock(&activity.mutex);
}

static bool hold(struct replay_native *native)
{
    pthread_mutex_lock(&activity.mutex);
    native->now = activity.window;
    if (native->now)
        ANativeWindow_acquire(native->now);
    pthread_mutex_unlock(&activity.mutex);
    return native->now;
}

static void release(struct replay_native *native)
{
    pthread_mutex_lock(&activity.mutex);
    if (native->late && native->lose)
        native->lose(native->window);
    native->late = false;
    ANativeWindow_release(native->now);
    native->now = NULL;
    pthread_cond_broadcast(&activity.changed);
    pthread_mutex_unlock(&activity.mutex);
}

static VkResult create_surface(const struct replay_native *native, const struct replay_instance *instance,
                               VkSurfaceKHR *out_surface)
{
    VkAndroidSurfaceCreateInfoKHR info = {.sType = VK_STRUCTURE_TYPE_ANDROID_SURFACE_CREATE_INFO_KHR,
                                          .window = native->now};

    return instance->vk.CreateAndroidSurfaceKHR
               ? instance->vk.CreateAndroidSurfaceKHR(instance->live, &info, NULL, out_surface)
               : VK_ERROR_EXTENSION_NOT_PRESENT;
}

static void set_title(struct replay_native *native, const char *title) {}

/* The device says how large the window is. */
static void resize(struct replay_native *native, VkExtent2D extent) {}

static enum replay_window_state poll_events(struct replay_native *native, VkExtent2D *out_extent)
{
    bool ended;

    pthread_mutex_lock(&activity.mutex);
    ended = activity.ended;
    if (activity.window)
        native->extent = (VkExtent2D){(uint32_t)ANativeWindow_getWidth(activity.window),
                                      (uint32_t)ANativeWindow_getHeight(activity.window)};
    *out_extent = native->extent;
    pthread_mutex_unlock(&activity.mutex);
    return ended ? REPLAY_WINDOW_CLOSED : REPLAY_WINDOW_OPEN;
}

const struct replay_window_system replay_window_android = {.name = "android",
                                                           .extension = VK_KHR_ANDROID_SURFACE_EXTENSION_NAME,
                                                           .connect = connect_display,
                                                           .disconnect = disconnect_display,
                                                           .open = open_window,
                                                           .close = close_window,
                                                           .create_surface = create_surface,
                                                           .set_title = set_title,
                                                           .resize = resize,
                                                           .poll = poll_events,
                                                           .hold = hold,
                                                           .release = release,
                                                           .watch = watch};

#else /* no Android */

bool replay_android_is_app(void)
{
    return false;
}

static struct replay_display *connect_display(void)
{
    return NULL;
}

static void disconnect_display(struct replay_display **display) {}

const struct replay_window_system replay_window_android = {.name = "android",
                                                           .extension = VK_KHR_ANDROID_SURFACE_EXTENSION_NAME,
                                                           .connect = connect_display,
                                                           .disconnect = disconnect_display};

#endif

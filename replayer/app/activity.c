/* SPDX-License-Identifier: MIT */
/*
 * The app: a NativeActivity, whose Java is Android's. A thread runs lapilli-replay as its intent asks (request.h); the
 * main thread, whose callbacks are here, gives it the window. The process ends with the activity, so that a replay
 * leaves nothing to the next.
 */
#include <android/input.h>
#include <android/keycodes.h>
#include <android/log.h>
#include <android/looper.h>
#include <android/native_activity.h>
#include <android/window.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/exit_code.h"
#include "replayer/app/outcome.h"
#include "replayer/app/request.h"
#include "replayer/present/window_android.h"

#define STACK_BYTES ((size_t)8 << 20) /* as a program's first thread has on Linux */
#define LEAVE_MS    3000              /* how long the main thread waits for a replay that the user leaves */
#define LOOPER_ID   1

/* Of lapilli-replay. */
int main(int argc, char **argv);

/* There is one activity in the process. */
static struct {
    ANativeActivity *activity;
    struct app_request request;
    pthread_mutex_t mutex;
    bool over; /* with the mutex */
    int code;
} app = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void say(int priority, const char *sentence)
{
    (void)__android_log_write(priority, "lapilli", sentence);
}

static bool is_over(int *out_code)
{
    bool over;

    pthread_mutex_lock(&app.mutex);
    over = app.over;
    *out_code = app.code;
    pthread_mutex_unlock(&app.mutex);
    return over;
}

static void *play(void *unused)
{
    int code = main(app.request.count, app.request.words);

    (void)fflush(NULL);
    app_outcome_end(code);
    pthread_mutex_lock(&app.mutex);
    app.code = code;
    app.over = true;
    pthread_mutex_unlock(&app.mutex);
    ANativeActivity_finish(app.activity);
    return unused;
}

/* ---- what Android calls ---- */

static void on_window_created(ANativeActivity *activity, ANativeWindow *window)
{
    replay_android_give(window);
}

static void on_window_destroyed(ANativeActivity *activity, ANativeWindow *window)
{
    replay_android_take();
}

/* Android 12 and newer would keep the activity in the background. */
static bool take_back(const AInputEvent *event)
{
    if (AInputEvent_getType(event) != AINPUT_EVENT_TYPE_KEY || AKeyEvent_getKeyCode(event) != AKEYCODE_BACK)
        return false;
    if (AKeyEvent_getAction(event) == AKEY_EVENT_ACTION_UP)
        ANativeActivity_finish(app.activity);
    return true;
}

/* Takes all events, so that Android does not say that the app hangs. */
static int on_input(int fd, int events, void *data)
{
    AInputQueue *queue = data;
    AInputEvent *event;

    while (AInputQueue_getEvent(queue, &event) >= 0)
        if (!AInputQueue_preDispatchEvent(queue, event))
            AInputQueue_finishEvent(queue, event, take_back(event));
    return 1; /* go on */
}

static void on_input_created(ANativeActivity *activity, AInputQueue *queue)
{
    AInputQueue_attachLooper(queue, ALooper_forThread(), LOOPER_ID, on_input, queue);
}

static void on_input_destroyed(ANativeActivity *activity, AInputQueue *queue)
{
    AInputQueue_detachLooper(queue);
}

static void on_destroy(ANativeActivity *activity)
{
    static const char late[] = "lapilli-replay: error: the activity was left before the replay had ended\n";
    const struct timespec moment = {.tv_nsec = 10000000};
    int code;

    replay_android_end();
    for (int ms = 0; ms < LEAVE_MS && !is_over(&code); ms += 10)
        (void)nanosleep(&moment, NULL);
    if (!is_over(&code)) {
        (void)!write(STDERR_FILENO, late, sizeof late - 1);
        code = LAP_TOOL_FAILED;
    }
    _exit(code);
}

/* ---- the start ---- */

static enum lap_status begin(ANativeActivity *activity)
{
    enum lap_status status = app_request_read(activity->env, activity->clazz, &app.request);
    pthread_attr_t attributes;
    pthread_t thread;

    if (status == LAP_OK)
        status = app_outcome_begin(activity->internalDataPath, app.request.name);
    if (status != LAP_OK)
        return status;
    app.activity = activity;
    replay_android_begin();
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    if (pthread_create(&thread, &attributes, play, NULL) != 0)
        status = lap_fail(LAP_ERROR_MEMORY, "there is no thread for the replay");
    pthread_attr_destroy(&attributes);
    return status;
}

/* Of NativeActivity; called by the main thread. */
__attribute__((visibility("default"))) void ANativeActivity_onCreate(ANativeActivity *activity, void *saved,
                                                                     size_t bytes)
{
    enum lap_status status;

    if (app.activity) {
        say(ANDROID_LOG_ERROR, "a replay is under way; another one wants am start -S");
        ANativeActivity_finish(activity);
        return;
    }
    activity->callbacks->onDestroy = on_destroy;
    status = begin(activity);
    if (status == LAP_END)
        say(ANDROID_LOG_INFO, "nothing is asked for: lapilli android replay --window starts replays");
    else if (status != LAP_OK)
        say(ANDROID_LOG_ERROR, lap_error_message());
    if (status != LAP_OK) {
        app.over = true;
        app.code = status == LAP_END ? LAP_TOOL_OK : status == LAP_ERROR_ARGUMENT ? LAP_TOOL_USAGE : LAP_TOOL_FAILED;
        ANativeActivity_finish(activity);
        return;
    }
    ANativeActivity_setWindowFlags(activity, AWINDOW_FLAG_KEEP_SCREEN_ON, 0);
    activity->callbacks->onNativeWindowCreated = on_window_created;
    activity->callbacks->onNativeWindowDestroyed = on_window_destroyed;
    activity->callbacks->onInputQueueCreated = on_input_created;
    activity->callbacks->onInputQueueDestroyed = on_input_destroyed;
}

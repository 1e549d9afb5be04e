/* SPDX-License-Identifier: MIT */
/* A stand-in for Android's header: as much as the replayer uses. */
#ifndef LAP_TESTS_ANDROID_NATIVE_ACTIVITY_H
#define LAP_TESTS_ANDROID_NATIVE_ACTIVITY_H

#include <jni.h>
#include <stddef.h>
#include <stdint.h>

#include "android/input.h"
#include "android/native_window.h"

typedef struct ANativeActivity ANativeActivity;

typedef struct ANativeActivityCallbacks {
    void (*onDestroy)(ANativeActivity *activity);
    void (*onNativeWindowCreated)(ANativeActivity *activity, ANativeWindow *window);
    void (*onNativeWindowDestroyed)(ANativeActivity *activity, ANativeWindow *window);
    void (*onInputQueueCreated)(ANativeActivity *activity, AInputQueue *queue);
    void (*onInputQueueDestroyed)(ANativeActivity *activity, AInputQueue *queue);
} ANativeActivityCallbacks;

struct ANativeActivity {
    ANativeActivityCallbacks *callbacks;
    JNIEnv *env;
    jobject clazz;
    const char *internalDataPath;
};

void ANativeActivity_onCreate(ANativeActivity *activity, void *saved, size_t bytes);
void ANativeActivity_finish(ANativeActivity *activity);
void ANativeActivity_setWindowFlags(ANativeActivity *activity, uint32_t added, uint32_t removed);

#endif

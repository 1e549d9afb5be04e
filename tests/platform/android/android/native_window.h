/* SPDX-License-Identifier: MIT */
/* A stand-in for Android's header: as much as the replayer uses. */
#ifndef LAP_TESTS_ANDROID_NATIVE_WINDOW_H
#define LAP_TESTS_ANDROID_NATIVE_WINDOW_H

#include <stdint.h>

typedef struct ANativeWindow ANativeWindow;

void ANativeWindow_acquire(ANativeWindow *window);
void ANativeWindow_release(ANativeWindow *window);
int32_t ANativeWindow_getWidth(ANativeWindow *window);
int32_t ANativeWindow_getHeight(ANativeWindow *window);

#endif

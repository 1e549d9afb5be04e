/* SPDX-License-Identifier: MIT */
/*
 * window_android: the window of an activity of Android, which its main thread gives and takes away as the app comes to
 * the foreground and goes to the background. While there is none, the replay goes on and shows nothing. There is one
 * window: a trace with two at a time gets the first.
 *
 * The functions below are for the activity's main thread; replay_android_is_app is for any.
 */
#ifndef LAP_REPLAYER_PRESENT_WINDOW_ANDROID_H
#define LAP_REPLAYER_PRESENT_WINDOW_ANDROID_H

#include <stdbool.h>

struct ANativeWindow;

/* An activity is there; before any other thread. */
void replay_android_begin(void);
/* Whether this process is an app: replay_android_begin was called. */
bool replay_android_is_app(void);

/* The activity has this window, until replay_android_take returns. */
void replay_android_give(struct ANativeWindow *window);
/* The window goes: returns as soon as no call of the driver uses it, and no object of the driver has it. A driver that
 * does not return from a call is not waited for longer than TAKE_MS; its objects go when it does. */
void replay_android_take(void);
/* The user leaves: the replay ends with its next frame. */
void replay_android_end(void);

#endif

/* SPDX-License-Identifier: MIT */
/* A stand-in for Android's header: as much as the replayer uses. */
#ifndef LAP_TESTS_ANDROID_INPUT_H
#define LAP_TESTS_ANDROID_INPUT_H

#include <stdint.h>

#include "android/looper.h"

typedef struct AInputEvent AInputEvent;
typedef struct AInputQueue AInputQueue;

enum { AINPUT_EVENT_TYPE_KEY = 1 };
enum { AKEY_EVENT_ACTION_UP = 1 };

int32_t AInputEvent_getType(const AInputEvent *event);
int32_t AKeyEvent_getAction(const AInputEvent *event);
int32_t AKeyEvent_getKeyCode(const AInputEvent *event);

void AInputQueue_attachLooper(AInputQueue *queue, ALooper *looper, int ident, ALooper_callbackFunc callback,
                              void *data);
void AInputQueue_detachLooper(AInputQueue *queue);
int32_t AInputQueue_getEvent(AInputQueue *queue, AInputEvent **out_event);
int32_t AInputQueue_preDispatchEvent(AInputQueue *queue, AInputEvent *event);
void AInputQueue_finishEvent(AInputQueue *queue, AInputEvent *event, int handled);

#endif

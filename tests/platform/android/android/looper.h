/* SPDX-License-Identifier: MIT */
/* A stand-in for Android's header: as much as the replayer uses. */
#ifndef LAP_TESTS_ANDROID_LOOPER_H
#define LAP_TESTS_ANDROID_LOOPER_H

typedef struct ALooper ALooper;
typedef int (*ALooper_callbackFunc)(int fd, int events, void *data);

ALooper *ALooper_forThread(void);

#endif

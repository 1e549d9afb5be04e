/* SPDX-License-Identifier: MIT */
/* A stand-in for Android's header: as much as base, layer and replayer use. Priorities are those of the NDK's
 * reference. */
#ifndef LAP_TESTS_ANDROID_LOG_H
#define LAP_TESTS_ANDROID_LOG_H

enum { ANDROID_LOG_DEBUG = 3, ANDROID_LOG_INFO, ANDROID_LOG_WARN, ANDROID_LOG_ERROR };

int __android_log_write(int priority, const char *tag, const char *text);

#endif

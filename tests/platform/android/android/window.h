/* SPDX-License-Identifier: MIT */
/* A stand-in for Android's header: as much as the replayer uses. */
#ifndef LAP_TESTS_ANDROID_WINDOW_H
#define LAP_TESTS_ANDROID_WINDOW_H

enum { AWINDOW_FLAG_KEEP_SCREEN_ON = 0x80 };

#endif

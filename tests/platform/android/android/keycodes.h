/* SPDX-License-Identifier: MIT */
/* A stand-in for Android's header: as much as the replayer uses. */
#ifndef LAP_TESTS_ANDROID_KEYCODES_H
#define LAP_TESTS_ANDROID_KEYCODES_H

enum { AKEYCODE_BACK = 4 };

#endif

/* SPDX-License-Identifier: MIT */
/*
 * android: what differs in an app of Android. Options are system properties. The current folder is the root, so that
 * files without a folder go to the app's own. All apps run one program, app_process, so that the command line names
 * them: PACKAGE or PACKAGE:PROCESS. Standard error is lost, so that messages go to logcat. Programs of adb shell are
 * programs as elsewhere, but for options and messages.
 *
 * The system is a table of functions, which is NULL elsewhere and another one in tests. Any thread.
 */
#ifndef LAP_LAYER_ANDROID_H
#define LAP_LAYER_ANDROID_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/log.h"
#include "base/status.h"

#define LAYER_PROPERTY_BYTES      92u /* of a value, with the zero: PROP_VALUE_MAX */
#define LAYER_PROPERTY_NAME_BYTES 64u
#define LAYER_PACKAGE_BYTES       256u

struct layer_android {
    /* As __system_property_get: the length of the value, 0 where it is not set. */
    int (*property)(const char *name, char *out);
    /* The first word of the command line, or "". */
    void (*command)(char *out, size_t capacity);
    uid_t (*user)(void);
    int (*make_folder)(const char *path); /* 0, or -1 with errno */
    void (*log)(enum lap_log_level level, const char *message);
};

/* The machine's; NULL: this is no Android. */
const struct layer_android *layer_android(void);

/* The property of an option: debug.lapilli.KEY of LAPILLI_KEY. False where it is not set, or empty. */
bool layer_android_option(const struct layer_android *system, const char *environment,
                          char out_name[LAYER_PROPERTY_NAME_BYTES], char out_value[LAYER_PROPERTY_BYTES]);

/* The package of an app; false: this is no app. */
bool layer_android_package(const struct layer_android *system, char out[LAYER_PACKAGE_BYTES]);

/* The folder for files without one, which is there then; the caller frees it. LAP_ERROR_UNSUPPORTED, LAP_ERROR_IO with
 * a sentence: there is none. */
enum lap_status layer_android_folder(const struct layer_android *system, char **out) LAP_MUST_CHECK;

#endif

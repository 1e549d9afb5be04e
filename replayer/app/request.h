/* SPDX-License-Identifier: MIT */
/*
 * request: what the intent that started the activity asks for: its extras `run`, a name for the files of the outcome,
 * and `arguments`, the words behind the program's name. Read through JNI, by the activity's main thread.
 */
#ifndef LAP_REPLAYER_APP_REQUEST_H
#define LAP_REPLAYER_APP_REQUEST_H

#include <jni.h>

#include "base/status.h"

#define APP_NAME_BYTES 65u

struct app_request {
    char name[APP_NAME_BYTES]; /* A-Z a-z 0-9 . _ -, at least one */
    int count;
    char **words; /* for main: the program's name, the arguments, NULL; the process keeps them */
};

/* LAP_END: no run is asked for. LAP_ERROR_ARGUMENT, LAP_ERROR_MEMORY with a sentence. */
enum lap_status app_request_read(JNIEnv *env, jobject activity, struct app_request *out) LAP_MUST_CHECK;

#endif

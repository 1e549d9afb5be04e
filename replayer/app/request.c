/* SPDX-License-Identifier: MIT */
#include "replayer/app/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A method of a Java object that takes one word, or nothing, and gives an object; NULL: it gives none. */
static jobject call(JNIEnv *env, jobject of, const char *method, const char *signature, const char *word)
{
    jmethodID id = (*env)->GetMethodID(env, (*env)->GetObjectClass(env, of), method, signature);
    jobject text = id && word ? (*env)->NewStringUTF(env, word) : NULL, result = NULL;

    if (id && (text || !word))
        result = text ? (*env)->CallObjectMethod(env, of, id, text) : (*env)->CallObjectMethod(env, of, id);
    if ((*env)->ExceptionCheck(env)) {
        (*env)->ExceptionClear(env);
        return NULL;
    }
    return result;
}

/* NULL: no memory. */
static char *copy(JNIEnv *env, jstring text)
{
    const char *bytes = (*env)->GetStringUTFChars(env, text, NULL);
    char *result = bytes ? strdup(bytes) : NULL;

    if (bytes)
        (*env)->ReleaseStringUTFChars(env, text, bytes);
    return result;
}

static enum lap_status take_name(JNIEnv *env, jstring text, char out[APP_NAME_BYTES])
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    char *name = copy(env, text);
    enum lap_status status = LAP_OK;

    if (!name)
        return lap_no_memory(NULL);
    if (!*name || strlen(name) >= APP_NAME_BYTES || name[strspn(name, allowed)])
        status = lap_fail(LAP_ERROR_ARGUMENT, "run is 1 to %u letters, digits, dots, lines and underlines",
                          APP_NAME_BYTES - 1);
    else
        snprintf(out, APP_NAME_BYTES, "%s", name);
    free(name);
    return status;
}

static enum lap_status take_words(JNIEnv *env, jobjectArray texts, struct app_request *out)
{
    const int count = texts ? (int)(*env)->GetArrayLength(env, texts) : 0;

    out->words = calloc((size_t)count + 2, sizeof *out->words);
    if (!out->words)
        return lap_no_memory(NULL);
    out->words[out->count++] = strdup("lapilli-replay");
    for (int i = 0; i < count; i++) {
        jstring text = (jstring)(*env)->GetObjectArrayElement(env, texts, i);
        if (!text)
            return lap_fail(LAP_ERROR_ARGUMENT, "arguments has a word that is null");
        out->words[out->count++] = copy(env, text);
        (*env)->DeleteLocalRef(env, text);
        if (!out->words[out->count - 1])
            return lap_no_memory(NULL);
    }
    return out->words[0] ? LAP_OK : lap_no_memory(NULL);
}

enum lap_status app_request_read(JNIEnv *env, jobject activity, struct app_request *out)
{
    jobject intent = call(env, activity, "getIntent", "()Landroid/content/Intent;", NULL);
    jobject name = intent ? call(env, intent, "getStringExtra", "(Ljava/lang/String;)Ljava/lang/String;", "run") : NULL;
    enum lap_status status;

    memset(out, 0, sizeof *out);
    if (!name)
        return LAP_END;
    status = take_name(env, (jstring)name, out->name);
    return status == LAP_OK ? take_words(env,
                                         (jobjectArray)call(env, intent, "getStringArrayExtra",
                                                            "(Ljava/lang/String;)[Ljava/lang/String;", "arguments"),
                                         out)
                            : status;
}

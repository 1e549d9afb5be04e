/* SPDX-License-Identifier: MIT */
/* A stand-in for the header of Java's native interface: as much as the replayer uses. */
#ifndef LAP_TESTS_JNI_H
#define LAP_TESTS_JNI_H

#include <stdint.h>

typedef void *jobject;
typedef jobject jclass, jstring, jobjectArray;
typedef struct jmethod *jmethodID;
typedef const struct JNINativeInterface *JNIEnv;

struct JNINativeInterface {
    jclass (*GetObjectClass)(JNIEnv *env, jobject object);
    jmethodID (*GetMethodID)(JNIEnv *env, jclass type, const char *name, const char *signature);
    jobject (*CallObjectMethod)(JNIEnv *env, jobject object, jmethodID method, ...);
    uint8_t (*ExceptionCheck)(JNIEnv *env);
    void (*ExceptionClear)(JNIEnv *env);
    jstring (*NewStringUTF)(JNIEnv *env, const char *text);
    const char *(*GetStringUTFChars)(JNIEnv *env, jstring text, uint8_t *out_is_copy);
    void (*ReleaseStringUTFChars)(JNIEnv *env, jstring text, const char *bytes);
    int32_t (*GetArrayLength)(JNIEnv *env, jobject array);
    jobject (*GetObjectArrayElement)(JNIEnv *env, jobjectArray array, int32_t index);
    void (*DeleteLocalRef)(JNIEnv *env, jobject object);
};

#endif

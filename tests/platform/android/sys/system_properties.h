/* SPDX-License-Identifier: MIT */
/* A stand-in for Android's header: as much as the layer uses. */
#ifndef LAP_TESTS_ANDROID_SYSTEM_PROPERTIES_H
#define LAP_TESTS_ANDROID_SYSTEM_PROPERTIES_H

#define PROP_VALUE_MAX 92

int __system_property_get(const char *name, char *value);

#endif

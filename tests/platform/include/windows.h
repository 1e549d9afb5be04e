/* SPDX-License-Identifier: MIT */
/* Stand-in: the types of Windows that vulkan_win32.h names, so that generated code can be compiled anywhere. */
#ifndef TESTS_PLATFORM_WINDOWS_H
#define TESTS_PLATFORM_WINDOWS_H

#include <wchar.h>

typedef unsigned long DWORD;
typedef const wchar_t *LPCWSTR;
typedef void *HANDLE;
typedef struct tests_instance *HINSTANCE;
typedef struct tests_window *HWND;
typedef struct tests_monitor *HMONITOR;
typedef struct tests_security_attributes SECURITY_ATTRIBUTES;

#endif

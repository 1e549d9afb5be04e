/* SPDX-License-Identifier: MIT */
/* Which sanitizers this code is compiled with: gcc and clang define it in different ways. Each is 1 or 0. */
#ifndef LAP_BASE_PROCESS_SANITIZERS_H
#define LAP_BASE_PROCESS_SANITIZERS_H

#if defined(__has_feature)
#define LAP_ADDRESS_SANITIZER (__has_feature(address_sanitizer) || __has_feature(hwaddress_sanitizer))
#define LAP_THREAD_SANITIZER  __has_feature(thread_sanitizer)
#else
#ifdef __SANITIZE_ADDRESS__
#define LAP_ADDRESS_SANITIZER 1
#else
#define LAP_ADDRESS_SANITIZER 0
#endif
#ifdef __SANITIZE_THREAD__
#define LAP_THREAD_SANITIZER 1
#else
#define LAP_THREAD_SANITIZER 0
#endif
#endif

#endif

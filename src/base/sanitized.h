/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sanitized.h - whether this is a build with a sanitizer that looks at memory: memory that is used
 * again without the allocator's knowing hides mistakes from it.
 */
#ifndef CTSC_BASE_SANITIZED_H
#define CTSC_BASE_SANITIZED_H

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif
#else
enum { SANITIZED = 0 };
#endif

#endif

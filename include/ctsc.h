/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctsc.h - run PyTorch's TorchScript archives from C, without PyTorch.
 *
 * This is the whole public interface of libctsc. It is C11 and can be included from C++.
 *
 * Conventions
 *   Errors     Every function that can fail returns a ctsc_status. On failure it fills the
 *              ctsc_error the caller passed (which may be NULL) and leaves its out-parameters
 *              untouched. The library never prints, exits or jumps.
 *   Ownership  A function named ..._new, ..._load, ..._get or with an out-parameter of handle type
 *              gives the caller a reference, to be released with the matching ..._free.
 *              Arguments are borrowed for the call unless the comment says otherwise.
 *   Threads    Distinct handles may be used from distinct threads at the same time. One
 *              ctsc_module may be run by many threads at once; everything else that modifies a
 *              handle needs the caller's own lock.
 */
#ifndef CTSC_H
#define CTSC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define CTSC_API __attribute__((visibility("default")))
#else
#define CTSC_API
#endif

/* What a call came to. The numbers are also the exit codes of the `ctsc` command.
 *      name          code  meaning */
#define CTSC_STATUS_MAP(X)                                                                         \
    X(OK,             0,    "success")                                                             \
    X(FAILED,         1,    "the work failed: a script raised, a source did not compile")          \
    X(USAGE,          2,    "wrong usage: an argument does not fit the call")                      \
    X(BAD_FILE,       3,    "a file is damaged or not what it should be")                          \
    X(UNSUPPORTED,    4,    "an operator or a feature is not supported")                           \
    X(LIMIT,          5,    "a resource limit was reached, memory included")                       \
    X(ENVIRONMENT,    6,    "the environment lacks something")                                     \
    X(INTERNAL,       70,   "a bug in ctsc")

typedef enum ctsc_status {
#define CTSC_STATUS_ENUM(name, code, text) CTSC_##name = code,
    CTSC_STATUS_MAP(CTSC_STATUS_ENUM)
#undef CTSC_STATUS_ENUM
} ctsc_status;

#ifdef __cplusplus
}
#endif
#endif /* CTSC_H */

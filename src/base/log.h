/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - what the library has to say beside results and errors, for a program that wants to hear
 * it (ctsc_set_log).
 *
 * Events are rare ones: a kernel compiled, a cache folder that cannot be used. Nothing is formatted
 * when nobody listens.
 * Tests: tests/unit/test_library.c
 */
#ifndef CTSC_BASE_LOG_H
#define CTSC_BASE_LOG_H

#include "ctsc.h"

void log_set(ctsc_log_level least, ctsc_log_fn fn, void *ctx);
bool log_wanted(ctsc_log_level level);
void log_event(ctsc_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif

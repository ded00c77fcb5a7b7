/* SPDX-License-Identifier: Apache-2.0 */
/*
 * log.h - messages of the library besides results and errors, for a program
 * that wants to receive them (ctsc_set_log), and for people who set CTSC_LOG.
 *
 * Events are rare: a kernel compiled, a cache folder that cannot be
 * used. Nothing is formatted without a listener. The library prints
 * only what a variable of the environment requests (variables.def).
 * Tests: tests/unit/test_library.c, tests/unit/test_variables.c, tests/cli/variables.test
 */
#ifndef CTSC_BASE_LOG_H
#define CTSC_BASE_LOG_H

#include "ctsc.h"

void log_set(ctsc_log_level least, ctsc_log_fn fn, void *ctx);
bool log_wanted(ctsc_log_level level);
void log_event(ctsc_log_level level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* To standard error: what a variable of the environment asks for. */
void log_print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Leaves a text in a file of its own, ctsc-NAME-*.ir in TMPDIR, and says where. False: it could
 * not. */
enum { LOG_PATH = 1024 };
bool log_leave(const char *name, const char *text, size_t len, char path[LOG_PATH]);

#endif

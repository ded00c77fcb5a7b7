/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - the one listener of the process. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

static ctsc_log_fn log_fn;
static ctsc_log_level log_least;
static void *log_ctx;

void log_set(ctsc_log_level least, ctsc_log_fn fn, void *ctx) {
    log_least = least;
    log_fn = fn;
    log_ctx = ctx;
}

bool log_wanted(ctsc_log_level level) { return log_fn && level >= log_least; }

void log_event(ctsc_log_level level, const char *fmt, ...) {
    char text[1200];
    if (!log_wanted(level)) return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    log_fn(log_ctx, level, text);
}

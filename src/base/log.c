/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - the one listener of the process, and what variables of the environment ask for. */
#include "base/log.h"

#include "base/variables.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static ctsc_log_fn log_fn;
static ctsc_log_level log_least;
static void *log_ctx;

void log_set(ctsc_log_level least, ctsc_log_fn fn, void *ctx) {
    log_least = least;
    log_fn = fn;
    log_ctx = ctx;
}

/* ---- CTSC_LOG -------------------------------------------------------------------------------- */

enum { LOG_LEVELS = CTSC_LOG_ALERT + 1 };
static const char *const log_names[LOG_LEVELS] = {"debug", "info", "warning", "alert"};
static int log_shown = LOG_LEVELS; /* the least that goes to standard error */

static void log_read(void) {
    const char *name = variable_get(VARIABLE_LOG);
    for (int i = 0; name && i < LOG_LEVELS; i++)
        if (!strcmp(name, log_names[i])) log_shown = i;
    if (name && log_shown == LOG_LEVELS)
        log_print("ctsc: CTSC_LOG: '%s' is none of debug, info, warning, alert\n", name);
}

static bool log_shows(ctsc_log_level level) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, log_read);
    return (int)level >= log_shown;
}

/* ---- events ---------------------------------------------------------------------------------- */

static bool log_heard(ctsc_log_level level) { return log_fn && level >= log_least; }

bool log_wanted(ctsc_log_level level) { return log_heard(level) || log_shows(level); }

void log_event(ctsc_log_level level, const char *fmt, ...) {
    char text[1200];
    if (!log_wanted(level)) return;
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    bool heard = log_heard(level);
    if (heard) log_fn(log_ctx, level, text);
    /* A program that listens for alerts shows them itself. */
    if (log_shows(level) && !(heard && level == CTSC_LOG_ALERT))
        log_print("ctsc: %s: %s\n", log_names[level], text);
}

void log_print(const char *fmt, ...) {
    va_list args;
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
}

bool log_leave(const char *name, const char *text, size_t len, char path[LOG_PATH]) {
    const char *folder = secure_getenv("TMPDIR");
    int n = snprintf(path, LOG_PATH, "%s/ctsc-%s-XXXXXX.ir", folder && *folder ? folder : "/tmp",
                     name);
    int fd = n < LOG_PATH ? mkstemps(path, 3) : -1;
    FILE *f = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!f) {
        if (fd >= 0) close(fd);
        return false;
    }
    bool ok = fwrite(text, 1, len, f) == len;
    return fclose(f) == 0 && ok;
}

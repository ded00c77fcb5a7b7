/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.c - the line that says what a command is busy with.
 *
 * Method. Commands spend their time in single calls of the library, so a thread of its own draws
 * the line, five times a second, with the seconds since it began. It starts with the first text
 * and sleeps until then; a command that is done within a second writes nothing. The line is cut to
 * the width of the terminal, since one that wraps cannot be taken back.
 * Tests: tests/cli/progress.test
 */
#include "cli/progress.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { PROGRESS_AFTER_MS = 1000, PROGRESS_EVERY_MS = 200, PROGRESS_TEXT = 256 };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    pthread_t thread;
    bool running, stop;
    bool drawn;               /* a line is on the terminal */
    double began, quiet;      /* milliseconds; nothing is drawn before `quiet` */
    char text[PROGRESS_TEXT]; /* "": none to show */
} progress = {.lock = PTHREAD_MUTEX_INITIALIZER};

static double progress_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

bool progress_shown(void) { return isatty(STDERR_FILENO); }

static void progress_take_away(void) {
    if (!progress.drawn) return;
    fputs("\r\033[K", stderr);
    fflush(stderr);
    progress.drawn = false;
    progress.quiet = progress_now() + PROGRESS_EVERY_MS;
}

/* The part of a line that fits: the folder of the file that it begins with goes first. */
static const char *progress_fit(const char *line, int columns, int *n) {
    const char *file = strstr(line, ": ");
    if ((int)strlen(line) > columns)
        for (const char *p = line; file && p < file; p++)
            if (*p == '/') line = p + 1;
    *n = (int)strlen(line) < columns ? (int)strlen(line) : columns;
    while (*n && ((unsigned char)line[*n] & 0xc0) == 0x80) --*n; /* no part of a character */
    return line;
}

static void progress_draw(double now) {
    struct winsize size = {0};
    char line[PROGRESS_TEXT + 32];
    int columns = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : 80;
    snprintf(line, sizeof line, "%s  %.0f s", progress.text, (now - progress.began) / 1e3);
    int n;
    const char *fits = progress_fit(line, columns - 1, &n);
    fprintf(stderr, "\r\033[K%.*s", n, fits);
    fflush(stderr);
    progress.drawn = true;
}

static void *progress_thread(void *arg) {
    pthread_mutex_lock(&progress.lock);
    while (!progress.stop) {
        struct timespec until;
        double now = progress_now();
        if (*progress.text && now >= progress.quiet) progress_draw(now);
        now += PROGRESS_EVERY_MS;
        until.tv_sec = (time_t)(now / 1e3);
        until.tv_nsec = (long)((now - (double)until.tv_sec * 1e3) * 1e6);
        pthread_cond_timedwait(&progress.wake, &progress.lock, &until);
    }
    pthread_mutex_unlock(&progress.lock);
    return arg;
}

/* With the lock. Without a thread nothing is shown. */
static void progress_start(void) {
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&progress.wake, &attr);
    pthread_condattr_destroy(&attr);
    progress.stop = false;
    progress.began = progress_now();
    progress.quiet = progress.began + PROGRESS_AFTER_MS;
    progress.running = pthread_create(&progress.thread, NULL, progress_thread, NULL) == 0;
    if (!progress.running) pthread_cond_destroy(&progress.wake);
}

void progress_say(const char *fmt, ...) {
    va_list ap;
    if (!progress_shown()) return;
    pthread_mutex_lock(&progress.lock);
    va_start(ap, fmt);
    vsnprintf(progress.text, sizeof progress.text, fmt, ap);
    va_end(ap);
    if (!progress.running) progress_start();
    pthread_mutex_unlock(&progress.lock);
}

void progress_told(void *ctx, const char *text) { progress_say("%s: %s", (char *)ctx, text); }

void progress_clear(void) {
    pthread_mutex_lock(&progress.lock);
    progress_take_away();
    pthread_mutex_unlock(&progress.lock);
}

void progress_end(void) {
    pthread_mutex_lock(&progress.lock);
    progress_take_away();
    bool running = progress.running;
    progress.running = false;
    progress.stop = true;
    if (running) pthread_cond_signal(&progress.wake);
    pthread_mutex_unlock(&progress.lock);
    if (!running) return;
    pthread_join(progress.thread, NULL);
    pthread_cond_destroy(&progress.wake);
}

void progress_print(void *ctx, const char *text, size_t len) {
    (void)ctx;
    pthread_mutex_lock(&progress.lock);
    progress_take_away();
    fwrite(text, 1, len, stdout);
    if (progress.running) fflush(stdout);
    pthread_mutex_unlock(&progress.lock);
}

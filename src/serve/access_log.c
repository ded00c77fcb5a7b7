/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_log.c - the access log.
 *
 * A line is made outside the lock; writing is left to the housekeeping thread, so that a slow disk
 * holds up no request. Lines that find no memory are dropped.
 * Tests: tests/serve/client.py
 */
#include "serve/access_log.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LOG_FULL = 1 << 20 };

bool log_open(access_log *l, const char *path) {
    *l = (access_log){.fd = -1};
    pthread_mutex_init(&l->lock, NULL);
    log_tick(l);
    if (!path) return true;
    l->fd = !strcmp(path, "-") ? dup(STDOUT_FILENO)
                               : open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    return l->fd >= 0;
}

void log_tick(access_log *l) {
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                         "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    int next = !atomic_load_explicit(&l->which, memory_order_relaxed);
    time_t now = time(NULL);
    struct tm t;
    gmtime_r(&now, &t);
    char text[40] = "";
    snprintf(text, sizeof text, "%s, %02d %s %04d %02d:%02d:%02d GMT", days[t.tm_wday % 7],
             t.tm_mday % 32, months[t.tm_mon % 12], (t.tm_year + 1900) % 10000, t.tm_hour % 24,
             t.tm_min % 60, t.tm_sec % 61);
    for (int i = 0; i < 4; i++) {
        uint64_t word;
        memcpy(&word, text + i * sizeof word, sizeof word);
        atomic_store_explicit(&l->date[next][i], word, memory_order_relaxed);
    }
    atomic_store_explicit(&l->which, next, memory_order_release);
}

static void log_write(int fd, const char *p, size_t n) {
    while (n) {
        ssize_t w = write(fd, p, n);
        if (w < 0 && errno == EINTR) continue;
        if (w <= 0) return;
        p += w;
        n -= (size_t)w;
    }
}

void log_flush(access_log *l) {
    if (l->fd < 0) return;
    pthread_mutex_lock(&l->lock);
    buffer mine = l->lines;
    l->lines = (buffer){0};
    pthread_mutex_unlock(&l->lock);
    log_write(l->fd, mine.data, mine.len);
    buffer_free(&mine);
}

void log_close(access_log *l) {
    log_flush(l);
    if (l->fd >= 0) close(l->fd);
    pthread_mutex_destroy(&l->lock);
}

/* Version, trace, parent and flags: 2, 32, 16 and 2 hexadecimal digits in lower case. Version ff
 * and identifiers that are all zeros are invalid. https://www.w3.org/TR/trace-context, 3.2. */
void log_trace(char out[56], const char *header) {
    static const char form[] = "xx-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx-xxxxxxxxxxxxxxxx-xx";
    *out = '\0';
    if (!header || strlen(header) != sizeof form - 1) return;
    for (size_t i = 0; i < sizeof form - 1; i++)
        if (form[i] == '-' ? header[i] != '-'
                           : !header[i] || !strchr("0123456789abcdef", header[i]))
            return;
    if (!strncmp(header, "ff", 2) || strspn(header + 3, "0") == 32 ||
        strspn(header + 36, "0") == 16)
        return;
    memcpy(out, header, sizeof form);
}

void log_request(access_log *l, const exchange *x, const char *address, uint64_t total_ns) {
    buffer b = {0};
    if (l->fd < 0) return;
    uint64_t ms = clock_wall_ms();
    buffer_printf(&b, "{\"time\":%llu.%03llu,\"client\":\"%s\",\"method\":",
                  (unsigned long long)(ms / 1000), (unsigned long long)(ms % 1000), address);
    buffer_json(&b, x->method, strnlen(x->method, 20));
    buffer_puts(&b, ",\"path\":");
    buffer_json(&b, x->path, strnlen(x->path, 400));
    buffer_printf(&b, ",\"status\":%d,\"received\":%zu,\"sent\":%zu,\"us\":%llu", x->status,
                  x->body_len, x->reply.len + x->fed, (unsigned long long)(total_ns / 1000));
    if (*x->trace) buffer_printf(&b, ",\"traceparent\":\"%s\"", x->trace);
    if (*x->model) {
        buffer_puts(&b, ",\"model\":");
        buffer_json(&b, x->model, strlen(x->model));
        buffer_printf(&b, ",\"version\":\"%s\",\"queue_us\":%llu,\"infer_us\":%llu,\"batch\":%lld",
                      x->version, (unsigned long long)(x->queue_ns / 1000),
                      (unsigned long long)(x->infer_ns / 1000), (long long)x->batch);
    }
    buffer_puts(&b, "}\n");
    bool full = false;
    pthread_mutex_lock(&l->lock);
    if (!b.failed) buffer_put(&l->lines, b.data, b.len);
    full = l->lines.len > LOG_FULL;
    pthread_mutex_unlock(&l->lock);
    buffer_free(&b);
    if (full) log_flush(l);
}

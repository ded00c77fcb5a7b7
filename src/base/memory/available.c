/* SPDX-License-Identifier: Apache-2.0 */
/*
 * available.c - what memory the machine still has (available.h).
 *
 * Source: Linux, Documentation/filesystems/proc.rst (meminfo) and admin-guide/cgroup-v2.rst.
 * Tests: tests/unit/test_base.c
 */
#include "base/memory/available.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* The beginning of a small file; "" if it cannot be read. */
static const char *available_read(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? 0 : read(fd, text, size - 1);
    if (fd >= 0) close(fd);
    text[n > 0 ? n : 0] = '\0';
    return text;
}

/* The number after `name`, -1 where there is none. Digits alone, which no locale changes. */
static int64_t available_number(const char *text, const char *name) {
    const char *at = strstr(text, name);
    int64_t n = 0;
    if (!at) return -1;
    at += strlen(name);
    at += strspn(at, " \t");
    if (*at < '0' || *at > '9') return -1;
    while (*at >= '0' && *at <= '9' && n < INT64_MAX / 16) n = 10 * n + (*at++ - '0');
    return n;
}

/* Of *total. Pages of files that were read count as the group's, but are given up first. */
static int64_t available_in_group(int64_t *total) {
    char text[4096];
    int64_t most = available_number(available_read("/sys/fs/cgroup/memory.max", text, 64), "");
    *total = most;
    if (most < 0) return INT64_MAX;
    int64_t now = available_number(available_read("/sys/fs/cgroup/memory.current", text, 64), "");
    available_read("/sys/fs/cgroup/memory.stat", text, sizeof text);
    int64_t files = available_number(text, "inactive_file");
    if (files > 0) now -= files;
    return now < 0 ? most : now < most ? most - now : 0;
}

/* One part in this many stays for others. */
enum { AVAILABLE_LEFT = 32 };

int64_t available_memory(int64_t most_left) {
    char text[4096];
    int64_t of_group;
    available_read("/proc/meminfo", text, sizeof text);
    int64_t free = available_number(text, "MemAvailable:");
    int64_t swap = available_number(text, "SwapFree:");
    int64_t group = available_in_group(&of_group);
    if (free < 0) return group;
    int64_t left = available_number(text, "MemTotal:") * 1024 / AVAILABLE_LEFT;
    int64_t all = (free + (swap > 0 ? swap : 0)) * 1024 - (left < most_left ? left : most_left);
    if (group < INT64_MAX) { /* what it has is its own, but for the last of it */
        left = of_group / AVAILABLE_LEFT;
        group -= most_left < INT64_MAX ? (left < most_left ? left : most_left) : 0;
    }
    all = all < group ? all : group;
    return all > 0 ? all : 0;
}

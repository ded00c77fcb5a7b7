/* SPDX-License-Identifier: Apache-2.0 */
/*
 * surroundings.c - a library for LD_PRELOAD: makes a program see other surroundings than it has.
 *
 *   MACHINE_CORES=N    N cores, whatever there are
 *   MACHINE_LOCALE=1   the locale of LC_ALL, as a host program that calls setlocale has it when ctsc is a library in it
 */
#include <dlfcn.h>
#include <locale.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int surroundings_cores(void) {
    const char *n = getenv("MACHINE_CORES");
    return n ? atoi(n) : 0;
}

__attribute__((constructor)) static void surroundings_locale(void) {
    if (getenv("MACHINE_LOCALE")) setlocale(LC_ALL, "");
}

__attribute__((visibility("default"))) int sched_getaffinity(pid_t pid, size_t size,
                                                             cpu_set_t *set) {
    int n = surroundings_cores();
    if (!n)
        return ((int (*)(pid_t, size_t, cpu_set_t *))dlsym(RTLD_NEXT, "sched_getaffinity"))(
            pid, size, set);
    memset(set, 0, size);
    for (int i = 0; i < n; i++) CPU_SET_S((size_t)i, size, set);
    return 0;
}

__attribute__((visibility("default"))) long sysconf(int name) {
    int n = surroundings_cores();
    if (n && (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF)) return n;
    return ((long (*)(int))dlsym(RTLD_NEXT, "sysconf"))(name);
}

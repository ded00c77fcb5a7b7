/* SPDX-License-Identifier: Apache-2.0 */
/*
 * doctor_probe.c - what there is: processor, memory, limits, libraries, folders.
 *
 * Sources: /proc and /sys; cgroups of version 2 and 1, where the process is in them and at the
 * root; the library itself (ctsc_compiler.h), for what it opens as well: LLVM and CUDA's libraries.
 * Tests: tests/cli/doctor.test
 */
#include "cli/doctor.h"

#include "cli/machine.h"
#include "ctsc_compiler.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROBE_LINE = 8192 };

extern char **environ;

/* The first line of a file, without its end; false if there is none. */
static bool probe_file(const char *path, char *line, size_t size) {
    FILE *f = fopen(path, "r");
    bool ok = f && fgets(line, (int)size, f);
    if (f) fclose(f);
    if (ok) line[strcspn(line, "\n")] = '\0';
    return ok;
}

static json_t *probe_string(const char *s) {
    json_t *j = s && *s ? json_string(s) : NULL;
    return j ? j : json_null();
}

static json_t *probe_bytes(double bytes) {
    return bytes > 0 ? json_integer((json_int_t)bytes) : json_null();
}

/* ---- processor ------------------------------------------------------------------------------- */

/* The value of "name : value" in /proc/cpuinfo, the first that there is. */
static bool probe_cpuinfo(const char *name, char *out, size_t size) {
    char line[PROBE_LINE];
    FILE *f = fopen("/proc/cpuinfo", "r");
    bool found = false;
    size_t n = strlen(name);
    while (f && !found && fgets(line, sizeof line, f)) {
        const char *colon = strchr(line, ':');
        if (!colon || strncmp(line, name, n) != 0 ||
            (line[n] != '\t' && line[n] != ' ' && line[n] != ':'))
            continue;
        snprintf(out, size, "%s", colon + 1 + strspn(colon + 1, " \t"));
        out[strcspn(out, "\n")] = '\0';
        found = true;
    }
    if (f) fclose(f);
    return found;
}

/* What the library has code for, and this processor can run. */
static json_t *probe_sets(void) {
    ctsc_isa set = {.size = sizeof set};
    json_t *list = json_array();
    for (size_t i = 0; ctsc_isa_at(i, &set); i++)
        if (set.present)
            json_array_append_new(list,
                                  json_pack("{s:s, s:b}", "name", set.name, "used", set.used));
    return list;
}

static json_t *probe_kernels(void) {
    ctsc_ukernel k = {.size = sizeof k};
    json_t *list = json_array();
    for (size_t i = 0; ctsc_ukernel_at(i, &k); i++)
        json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s, s:b, s:b}", "family", k.family,
                                              "type", k.type, "set", k.isa, "name", k.name,
                                              "usable", k.usable, "chosen", k.chosen));
    return list;
}

/* What --precision auto chooses from. */
static json_t *probe_precisions(void) {
    ctsc_precision_way w = {.size = sizeof w};
    json_t *list = json_array();
    for (size_t i = 0; ctsc_precision_way_at(i, &w); i++)
        json_array_append_new(list, json_pack("{s:s, s:f, s:f, s:i}", "name", w.name, "bits",
                                              w.bits, "rate", w.rate, "columns", w.columns));
    return list;
}

static json_t *probe_caches(void) {
    json_t *list = json_array();
    for (int i = 0; i < 10; i++) {
        char path[128], level[32], type[32], size[32], shared[256];
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
        if (!probe_file(path, level, sizeof level)) break;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/type", i);
        if (!probe_file(path, type, sizeof type)) break;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
        if (!probe_file(path, size, sizeof size)) break;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/shared_cpu_list",
                 i);
        if (!probe_file(path, shared, sizeof shared)) shared[0] = '\0';
        char *unit;
        double bytes = strtod(size, &unit) * (*unit == 'M' ? 1048576 : *unit == 'K' ? 1024 : 1);
        json_array_append_new(list,
                              json_pack("{s:i, s:s, s:I, s:s}", "level", atoi(level), "type", type,
                                        "bytes", (json_int_t)bytes, "shared_by", shared));
    }
    return list;
}

/* ---- control groups -------------------------------------------------------------------------- */

/* Calls `visit` with the path of file `name` in the process's group of a controller, and in those
 * around it up to the root: version 2's for controller NULL. visit returns false to stop. */
static void probe_cgroup(const char *controller, const char *name,
                         void (*visit)(const char *path, void *ctx), void *ctx) {
    char line[4096], path[8448];
    FILE *f = fopen("/proc/self/cgroup", "r");
    while (f && fgets(line, sizeof line, f)) {
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
        if (!group) continue;
        *group++ = '\0';
        names++;
        group[strcspn(group, "\n")] = '\0';
        bool mine = false;
        if (!controller) mine = !*names;
        for (char *save, *word = controller ? strtok_r(names, ",", &save) : NULL; word;
             word = strtok_r(NULL, ",", &save))
            mine |= !strcmp(word, controller);
        for (bool root = false; mine && !root;) {
            root = !strcmp(group, "/") || !*group;
            snprintf(path, sizeof path, "/sys/fs/cgroup%s%s%s/%s", controller ? "/" : "",
                     controller ? controller : "", root ? "" : group, name);
            visit(path, ctx);
            char *slash = strrchr(group, '/');
            if (slash) *slash = '\0';
        }
    }
    if (f) fclose(f);
}

static void probe_least(double *least, double x) {
    if (x > 0 && (*least <= 0 || x < *least)) *least = x;
}

static void probe_cpu_max(const char *path, void *ctx) {
    char line[128];
    double quota, period;
    if (probe_file(path, line, sizeof line) && sscanf(line, "%lf %lf", &quota, &period) == 2 &&
        period > 0)
        probe_least(ctx, quota / period);
}

static void probe_cfs_quota(const char *path, void *ctx) {
    char line[128], other[8448];
    size_t n = strlen(path) - strlen("quota_us");
    if (!probe_file(path, line, sizeof line)) return;
    double quota = strtod(line, NULL);
    snprintf(other, sizeof other, "%.*speriod_us", (int)n, path);
    if (quota > 0 && probe_file(other, line, sizeof line) && strtod(line, NULL) > 0)
        probe_least(ctx, quota / strtod(line, NULL));
}

static void probe_limit(const char *path, void *ctx) {
    char line[128];
    if (probe_file(path, line, sizeof line) && isdigit((unsigned char)line[0]) &&
        strtod(line, NULL) < 0x1p60)
        probe_least(ctx, strtod(line, NULL));
}

/* Cores' worth of time that the process may use; 0: no quota. */
static double probe_quota(void) {
    double quota = 0;
    probe_cgroup(NULL, "cpu.max", probe_cpu_max, &quota);
    probe_cgroup("cpu", "cpu.cfs_quota_us", probe_cfs_quota, &quota);
    return quota;
}

static double probe_memory_limit(void) {
    double limit = 0;
    struct rlimit r;
    probe_cgroup(NULL, "memory.max", probe_limit, &limit);
    probe_cgroup("memory", "memory.limit_in_bytes", probe_limit, &limit);
    if (getrlimit(RLIMIT_AS, &r) == 0 && r.rlim_cur != RLIM_INFINITY)
        probe_least(&limit, (double)r.rlim_cur);
    return limit;
}

/* ---- the rest of the machine ----------------------------------------------------------------- */

static json_t *probe_processor(void) {
    char model[256], governor[64], load[128];
    double quota = probe_quota();
    if (!probe_cpuinfo("model name", model, sizeof model) &&
        !probe_cpuinfo("CPU part", model, sizeof model))
        model[0] = '\0';
    if (!probe_file("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor,
                    sizeof governor))
        governor[0] = '\0';
    bool loaded = probe_file("/proc/loadavg", load, sizeof load);
    return json_pack(
        "{s:o, s:o, s:o, s:o, s:I, s:i, s:o, s:o, s:o, s:o, s:f}", "model", probe_string(model),
        "instruction_sets", probe_sets(), "kernels", probe_kernels(), "precisions",
        probe_precisions(), "cores", (json_int_t)sysconf(_SC_NPROCESSORS_ONLN), "allowed_cores",
        machine_cores(), "quota_cores", quota > 0 ? json_real(quota) : json_null(), "governor",
        probe_string(governor), "load", loaded ? json_real(strtod(load, NULL)) : json_null(),
        "caches", probe_caches(), "denormal_factor", machine_denormal_factor());
}

/* "MemAvailable:  123 kB" */
static double probe_meminfo(const char *name) {
    char line[256];
    double kib = 0;
    FILE *f = fopen("/proc/meminfo", "r");
    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, name, strlen(name)) && line[strlen(name)] == ':')
            kib = strtod(line + strlen(name) + 1, NULL);
    if (f) fclose(f);
    return kib * 1024;
}

static json_t *probe_memory(void) {
    return json_pack("{s:o, s:o, s:o}", "total_bytes", probe_bytes(probe_meminfo("MemTotal")),
                     "available_bytes", probe_bytes(probe_meminfo("MemAvailable")), "limit_bytes",
                     probe_bytes(probe_memory_limit()));
}

static json_t *probe_variables(void) {
    static const char *const prefixes[] = {"OPENBLAS_", "CTSC_", "CUDA_", "GOTO_NUM_THREADS",
                                           "OMP_NUM_THREADS"};
    json_t *all = json_object();
    for (char **v = environ; *v; v++)
        for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++) {
            const char *equals = strchr(*v, '=');
            if (strncmp(*v, prefixes[i], strlen(prefixes[i])) != 0 || !equals) continue;
            char name[128];
            snprintf(name, sizeof name, "%.*s", (int)(equals - *v), *v);
            json_object_set_new(all, name, probe_string(equals + 1));
        }
    return all;
}

static void probe_setting(void *ctx, const ctsc_variable *v) {
    json_array_append_new(ctx, json_pack("{s:s, s:o, s:s, s:s}", "name", v->name, "value",
                                         probe_string(v->value), "values", v->values, "meaning",
                                         v->meaning));
}

static json_t *probe_settings(void) {
    json_t *list = json_array();
    ctsc_variables(probe_setting, list);
    return list;
}

static json_t *probe_cuda(const ctsc_environment *e) {
    return json_pack("{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "devices", e->cuda_devices,
                     "driver", probe_string(e->cuda_driver), "device", probe_string(e->cuda_device),
                     "error", probe_string(e->cuda_error), "nvrtc", probe_string(e->nvrtc),
                     "nvrtc_error", probe_string(e->nvrtc_error), "cublas", probe_string(e->cublas),
                     "cudnn", probe_string(e->cudnn));
}

static json_t *probe_cache(const ctsc_environment *e) {
    json_int_t entries = 0, bytes = 0;
    DIR *dir = *e->cache ? opendir(e->cache) : NULL;
    for (struct dirent *d; dir && (d = readdir(dir));) {
        struct stat s;
        if (d->d_name[0] == '.' || fstatat(dirfd(dir), d->d_name, &s, AT_SYMLINK_NOFOLLOW) != 0 ||
            !S_ISREG(s.st_mode))
            continue;
        entries++;
        bytes += s.st_size;
    }
    if (dir) closedir(dir);
    return json_pack("{s:o, s:b, s:b, s:I, s:I, s:I}", "folder", probe_string(e->cache), "usable",
                     e->cache_usable, "writable", *e->cache && access(e->cache, W_OK) == 0,
                     "entries", entries, "bytes", bytes, "limit_bytes", (json_int_t)e->cache_limit);
}

static const char *probe_build(void) {
#if defined(__SANITIZE_ADDRESS__)
    return "AddressSanitizer";
#elif defined(__SANITIZE_THREAD__)
    return "ThreadSanitizer";
#elif !defined(__OPTIMIZE__)
    return "not optimised";
#else
    return "release";
#endif
}

json_t *doctor_probe(void) {
    ctsc_environment *e = calloc(1, sizeof *e);
    if (!e) return NULL;
    e->size = sizeof *e;
    ctsc_get_environment(e);
    json_t *j = json_pack("{s:s, s:s, s:i, s:o, s:o}", "version", ctsc_version(), "build",
                          probe_build(), "threads", e->threads, "processor", probe_processor(),
                          "memory", probe_memory());
    json_t *blas = json_pack("{s:o, s:o}", "core", probe_string(e->blas_core), "config",
                             probe_string(e->blas_config));
    json_t *compiler = json_pack(
        "{s:o, s:o, s:o, s:o, s:o}", "library", probe_string(e->compiler), "llvm",
        probe_string(e->compiler_build), "processor", probe_string(e->compiler_cpu), "error",
        probe_string(e->compiler_error), "advice", probe_string(e->compiler_advice));
    if (j) json_object_set_new(j, "blas", blas);
    if (j) json_object_set_new(j, "compiler", compiler);
    if (j) json_object_set_new(j, "cuda", probe_cuda(e));
    if (j) json_object_set_new(j, "kernel_cache", probe_cache(e));
    if (j) json_object_set_new(j, "variables", probe_variables());
    if (j) json_object_set_new(j, "settings", probe_settings());
    free(e);
    return j;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_doctor.c - ctsc doctor: the environment, and what in it makes programs slower
 * than they could be.
 *
 * The table of checks below is the only place with diagnoses: each examines the probe's
 * object and says what is wrong and what to do. Findings are not failures: the exit code is 0.
 * Tests: tests/cli/doctor.test
 */
#include "cli/doctor.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { OPT_JSON = 256, DOCTOR_TEXT = 1024 };

typedef struct doctor_args {
    cli_model model; /* path NULL: the environment alone */
    cli_call call;
    cli_limits limits;
    bool json;
} doctor_args;

static const struct argp_option doctor_options[] = {{"json", OPT_JSON, 0, 0, "print JSON", 0}, {0}};

static error_t doctor_parse(int key, char *arg, struct argp_state *state) {
    doctor_args *a = state->input;
    (void)arg;
    switch (key) {
    case OPT_JSON: a->json = true; break;
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->model;
        state->child_inputs[1] = &a->call;
        state->child_inputs[2] = &a->limits;
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* ---- reading the object ---------------------------------------------------------------------- */

static const json_t *doctor_at(const json_t *j, const char *section, const char *key) {
    return json_object_get(json_object_get(j, section), key);
}
/* NULL: not known */
static const char *doctor_text(const json_t *j, const char *section, const char *key) {
    return json_string_value(doctor_at(j, section, key));
}
/* 0: not known */
static double doctor_number(const json_t *j, const char *section, const char *key) {
    return json_number_value(doctor_at(j, section, key));
}

static bool doctor_has_set(const json_t *j, const char *name) {
    const json_t *list = doctor_at(j, "processor", "instruction_sets"), *item;
    size_t i;
    json_array_foreach(list, i, item) if (!strcmp(json_string_value(json_object_get(item, "name")),
                                                  name)) return true;
    return false;
}

/* ---- checks ---------------------------------------------------------------------------------- */

typedef struct finding { char problem[DOCTOR_TEXT], advice[DOCTOR_TEXT]; } finding;

static bool doctor_say(char *to, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool doctor_say(char *to, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(to, DOCTOR_TEXT, fmt, ap);
    va_end(ap);
    return true;
}

static bool check_build(const json_t *j, finding *f) {
    const char *build = json_string_value(json_object_get(j, "build"));
    if (!build || !strcmp(build, "release")) return false;
    doctor_say(f->problem, "this ctsc is built for finding bugs (%s)", build);
    return doctor_say(f->advice, "build it with plain 'make'");
}

static bool check_compiler(const json_t *j, finding *f) {
    const char *why = doctor_text(j, "compiler", "error");
    if (!why) return false;
    doctor_say(f->problem, "no kernels can be compiled, so operators are not fused: %s", why);
    return doctor_say(f->advice, "%s", doctor_text(j, "compiler", "advice"));
}

static bool check_cache(const json_t *j, finding *f) {
    const char *folder = doctor_text(j, "kernel_cache", "folder");
    if (json_is_true(doctor_at(j, "kernel_cache", "usable")) &&
        json_is_true(doctor_at(j, "kernel_cache", "writable")))
        return false;
    if (doctor_text(j, "compiler", "error")) return false;
    if (folder)
        doctor_say(f->problem,
                   "compiled kernels cannot be kept in %s: every process compiles them again",
                   folder);
    else doctor_say(f->problem, "compiled kernels are not kept: every process compiles them again");
    if (folder)
        return doctor_say(f->advice, "make it a folder of yours that nobody else can write to, or "
                                     "name another with CTSC_CACHE=DIR");
    return doctor_say(f->advice, "%s",
                      doctor_text(j, "variables", "CTSC_CACHE")
                          ? "unset CTSC_CACHE, or set it to a folder"
                          : "set HOME, XDG_CACHE_HOME or CTSC_CACHE to a folder");
}

static bool check_vectors(const json_t *j, finding *f) {
    if (doctor_has_set(j, "avx2") || doctor_has_set(j, "neon")) return false;
    doctor_say(f->problem, "the processor, or what a virtual machine shows of it, has no AVX2: "
                           "vectors are half as long or less");
    return doctor_say(f->advice,
                      "in a virtual machine, pass the host's processor through (-cpu host)");
}

static bool check_quota(const json_t *j, finding *f) {
    double quota = doctor_number(j, "processor", "quota_cores"),
           threads = json_number_value(json_object_get(j, "threads"));
    if (quota <= 0 || quota >= threads) return false;
    int fit = quota < 1 ? 1 : (int)quota;
    doctor_say(f->problem,
               "a control group's quota allows the time of %.2g cores, but calls spread over %.0f "
               "threads, which then wait for each other",
               quota, threads);
    return doctor_say(f->advice, "--threads %d (ctsc_set_threads(%d)), or a larger quota", fit,
                      fit);
}

static bool check_affinity(const json_t *j, finding *f) {
    double cores = doctor_number(j, "processor", "cores"),
           allowed = doctor_number(j, "processor", "allowed_cores");
    if (allowed <= 0 || allowed >= cores) return false;
    doctor_say(f->problem,
               "the process may use %.0f of the machine's %.0f cores (affinity or cpuset)", allowed,
               cores);
    return doctor_say(f->advice, "look at taskset, cpuset.cpus, or --cpuset-cpus of the container");
}

static bool check_load(const json_t *j, finding *f) {
    double cores = doctor_number(j, "processor", "cores"),
           load = doctor_number(j, "processor", "load");
    if (load <= cores * 1.1 + 0.5) return false;
    doctor_say(f->problem, "other programs are running: a load of %.1f on %.0f cores", load, cores);
    return doctor_say(f->advice,
                      "measure when the machine is quiet; fewer threads (--threads) suffer less");
}

static bool check_governor(const json_t *j, finding *f) {
    const char *governor = doctor_text(j, "processor", "governor");
    if (!governor || strcmp(governor, "powersave") != 0) return false;
    doctor_say(f->problem, "the processor's frequency governor is 'powersave'");
    return doctor_say(f->advice, "cpupower frequency-set -g performance (as root), or 'schedutil'");
}

/* Cores that OpenBLAS chooses where it knows of no better vectors. */
static bool check_blas_core(const json_t *j, finding *f) {
    static const char *const narrow[] = {"Prescott",   "Core2",     "Penryn",  "Dunnington",
                                         "Nehalem",    "Atom",      "Bobcat",  "Barcelona",
                                         "Athlon",     "Opteron",   "Generic", "Katmai",
                                         "Coppermine", "Northwood", "Banias"};
    const char *core = doctor_text(j, "blas", "core"),
               *set = doctor_text(j, "variables", "OPENBLAS_CORETYPE");
    bool slow = false;
    for (size_t i = 0; core && i < sizeof narrow / sizeof *narrow; i++)
        slow |= !strncasecmp(core, narrow[i], strlen(narrow[i]));
    slow = slow && doctor_has_set(j, "avx2");
    if (!slow && !set) return false;
    if (slow)
        doctor_say(
            f->problem,
            "OpenBLAS uses its kernels for '%s', without the vectors that this processor has",
            core);
    else
        doctor_say(
            f->problem,
            "OPENBLAS_CORETYPE=%s chooses OpenBLAS's kernels (now '%s'), whatever the processor is",
            set, core ? core : "?");
    return doctor_say(f->advice, "%s",
                      set ? "unset OPENBLAS_CORETYPE"
                          : "install an OpenBLAS with DYNAMIC_ARCH (Debian: libopenblas0-pthread)");
}

static bool check_blas_cache(const json_t *j, finding *f) {
    const char *set = doctor_text(j, "variables", "OPENBLAS_L2_SIZE");
    if (!set) return false;
    doctor_say(f->problem,
               "OPENBLAS_L2_SIZE=%s overrides the cache's size in OpenBLAS: blocks of matrix "
               "products may not fit",
               set);
    return doctor_say(f->advice, "unset OPENBLAS_L2_SIZE");
}

static bool check_memory(const json_t *j, finding *f) {
    double limit = doctor_number(j, "memory", "limit_bytes"),
           available = doctor_number(j, "memory", "available_bytes");
    double least = limit > 0 && (available <= 0 || limit < available) ? limit : available;
    if (least <= 0 || least >= 512e6) return false;
    doctor_say(f->problem, "there is little memory: %.0f MB", least / 1e6);
    return doctor_say(f->advice, "%s",
                      least == limit
                          ? "raise the limit (memory.max of the control group, ulimit -v)"
                          : "end other programs");
}

/* The operators and kernels of the model that they slow down, the three worst of them by name. */
static bool check_denormals(const json_t *j, finding *f) {
    const json_t *d = doctor_at(j, "model", "denormals"), *rows = json_object_get(d, "rows"), *row;
    double us = json_number_value(json_object_get(d, "us")),
           flushed = json_number_value(json_object_get(d, "flushed_us"));
    size_t i, n = 0, size = sizeof f->problem;
    if (!json_array_size(rows)) return false;
    n += (size_t)snprintf(f->problem, size,
                          "%s computes with denormal numbers, and takes %.4g us a call instead of "
                          "%.4g:",
                          doctor_text(j, "model", "path"), us, flushed);
    json_array_foreach(rows, i, row) {
        const char *file = json_string_value(json_object_get(row, "file"));
        if (i == 3 || n >= size) break;
        n += (size_t)snprintf(f->problem + n, size - n, "%s %s", i ? "," : "",
                              json_string_value(json_object_get(row, "name")));
        if (file && n < size)
            n += (size_t)snprintf(f->problem + n, size - n, " (%s:%d)", file,
                                  (int)json_integer_value(json_object_get(row, "line")));
    }
    return doctor_say(f->advice,
                      "--flush-denormals (ctsc_set_flush_denormals, torch.set_flush_denormal), if "
                      "numbers below 1e-38 may be zero");
}

/* In the order in which they are printed: what costs most comes first. */
static bool (*const doctor_checks[])(const json_t *j, finding *f) = {
    check_build,     check_compiler,   check_vectors,   check_quota,
    check_blas_core, check_blas_cache, check_denormals, check_cache,
    check_affinity,  check_governor,   check_memory,    check_load};

static json_t *doctor_findings(const json_t *j) {
    json_t *list = json_array();
    for (size_t i = 0; i < sizeof doctor_checks / sizeof *doctor_checks; i++) {
        finding f;
        if (doctor_checks[i](j, &f))
            json_array_append_new(
                list, json_pack("{s:s, s:s}", "problem", f.problem, "advice", f.advice));
    }
    return list;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void show_line(const char *name, const char *value) {
    printf("  %-13s %s\n", name, value ? value : "not known");
}

static void show_bytes(const char *name, double bytes, const char *none) {
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    char text[64];
    int i = 0;
    for (; bytes >= 1024 && i < 4; i++) bytes /= 1024;
    snprintf(text, sizeof text, "%.*f %s", i && bytes < 10 ? 1 : 0, bytes, units[i]);
    show_line(name, bytes > 0 ? text : none);
}

static void show_sets(const json_t *j) {
    char text[DOCTOR_TEXT] = "";
    const json_t *item, *sets = doctor_at(j, "processor", "instruction_sets");
    size_t i, n = 0;
    json_array_foreach(sets, i, item)
        n += (size_t)snprintf(text + n, n < sizeof text ? sizeof text - n : 0, "%s%s%s",
                              i ? " " : "", json_string_value(json_object_get(item, "name")),
                              json_is_true(json_object_get(item, "used")) ? "" : " (not used)");
    show_line("instruction sets", text);
}

/* The set that each family of micro-kernels runs on. */
static void show_kernels(const json_t *j) {
    char text[DOCTOR_TEXT] = "";
    const json_t *item, *kernels = doctor_at(j, "processor", "kernels");
    size_t i, n = 0;
    json_array_foreach(kernels, i, item) if (json_is_true(json_object_get(item, "chosen")))
        n += (size_t)snprintf(text + n, n < sizeof text ? sizeof text - n : 0, "%s%s %s %s",
                              n ? ", " : "", json_string_value(json_object_get(item, "family")),
                              json_string_value(json_object_get(item, "type")),
                              json_string_value(json_object_get(item, "set")));
    show_line("micro-kernels", text);
}

/* What --precision auto chooses from. */
static void show_precisions(const json_t *j) {
    char text[DOCTOR_TEXT] = "";
    const json_t *item, *ways = doctor_at(j, "processor", "precisions");
    size_t i, n = 0;
    json_array_foreach(ways, i, item) n += (size_t)snprintf(
        text + n, n < sizeof text ? sizeof text - n : 0, "%s%s (%.1f times float32's speed)",
        i ? ", " : "", json_string_value(json_object_get(item, "name")),
        json_number_value(json_object_get(item, "rate")));
    show_line("--precision auto", *text ? text : "float32: nothing is faster");
}

static void show_processor(const json_t *j) {
    char text[DOCTOR_TEXT];
    const json_t *item, *caches = doctor_at(j, "processor", "caches");
    double quota = doctor_number(j, "processor", "quota_cores"),
           load = doctor_number(j, "processor", "load");
    size_t i;
    puts("Processor");
    show_line("model", doctor_text(j, "processor", "model"));
    show_sets(j);
    show_kernels(j);
    show_precisions(j);
    json_array_foreach(caches, i, item) {
        char name[32];
        const char *type = json_string_value(json_object_get(item, "type"));
        snprintf(name, sizeof name, "L%d%s",
                 (int)json_integer_value(json_object_get(item, "level")),
                 !strcmp(type, "Data")          ? " data"
                 : !strcmp(type, "Instruction") ? " code"
                                                : "");
        show_bytes(name, json_number_value(json_object_get(item, "bytes")), "not known");
    }
    snprintf(text, sizeof text, "%.0f, %.0f of them usable; a call spreads over %.0f threads",
             doctor_number(j, "processor", "cores"), doctor_number(j, "processor", "allowed_cores"),
             json_number_value(json_object_get(j, "threads")));
    show_line("cores", text);
    snprintf(text, sizeof text, "the time of %.2g cores", quota);
    show_line("quota", quota > 0 ? text : "none");
    if (doctor_text(j, "processor", "governor"))
        show_line("governor", doctor_text(j, "processor", "governor"));
    snprintf(text, sizeof text, "%.2f", load);
    show_line("load", text);
    snprintf(text, sizeof text, "products that are take %.1f times as long",
             doctor_number(j, "processor", "denormal_factor"));
    show_line("denormals", text);
}

static void show_libraries(const json_t *j) {
    const char *error = doctor_text(j, "compiler", "error");
    puts("BLAS");
    show_line("core", doctor_text(j, "blas", "core"));
    show_line("config", doctor_text(j, "blas", "config"));
    puts("Compiler for kernels");
    show_line("library", error ? error : doctor_text(j, "compiler", "library"));
    if (!error) show_line("LLVM", doctor_text(j, "compiler", "llvm"));
    if (!error) show_line("compiles for", doctor_text(j, "compiler", "processor"));
    puts("CUDA (not needed)");
    error = doctor_text(j, "cuda", "error");
    show_line("driver", error ? error : doctor_text(j, "cuda", "driver"));
    if (!error) show_line("cuda:0", doctor_text(j, "cuda", "device"));
    error = doctor_text(j, "cuda", "nvrtc_error");
    show_line("NVRTC", error ? error : doctor_text(j, "cuda", "nvrtc"));
    show_line("cuBLASLt",
              doctor_text(j, "cuda", "cublas") ? doctor_text(j, "cuda", "cublas") : "not found");
    show_line("cuDNN",
              doctor_text(j, "cuda", "cudnn") ? doctor_text(j, "cuda", "cudnn") : "not found");
}

/* Other libraries' that are set, and all of ours. */
static void show_variables(const json_t *j) {
    const json_t *variables = json_object_get(j, "variables"), *value, *item;
    const char *name;
    size_t i;
    puts("Environment variables");
    json_object_foreach((json_t *)variables, name, value) if (strncmp(name, "CTSC_", 5) != 0)
        printf("  %s=%s\n", name, json_is_string(value) ? json_string_value(value) : "");
    json_array_foreach(json_object_get(j, "settings"), i, item) {
        const char *set = json_string_value(json_object_get(item, "value"));
        printf("  %s%s%s  %s: %s\n", json_string_value(json_object_get(item, "name")),
               set ? "=" : "", set ? set : "", json_string_value(json_object_get(item, "values")),
               json_string_value(json_object_get(item, "meaning")));
    }
}

static void show_cache(const json_t *j) {
    char text[128];
    const char *folder = doctor_text(j, "kernel_cache", "folder");
    puts("Kernel cache");
    show_line("folder", folder ? folder : "none");
    show_line("usable", json_is_true(doctor_at(j, "kernel_cache", "usable")) &&
                                json_is_true(doctor_at(j, "kernel_cache", "writable"))
                            ? "yes"
                            : "no");
    snprintf(text, sizeof text, "%.0f", doctor_number(j, "kernel_cache", "entries"));
    show_line("entries", text);
    show_bytes("size", doctor_number(j, "kernel_cache", "bytes"), "0 B");
    show_bytes("limit", doctor_number(j, "kernel_cache", "limit_bytes"), "none");
}

static void doctor_show(const json_t *j) {
    const json_t *findings = json_object_get(j, "findings"), *item;
    size_t i;
    printf("ctsc %s (%s)\n\n", json_string_value(json_object_get(j, "version")),
           json_string_value(json_object_get(j, "build")));
    show_processor(j);
    puts("Memory");
    show_bytes("total", doctor_number(j, "memory", "total_bytes"), "not known");
    show_bytes("available", doctor_number(j, "memory", "available_bytes"), "not known");
    show_bytes("limit", doctor_number(j, "memory", "limit_bytes"), "none");
    show_libraries(j);
    show_variables(j);
    show_cache(j);
    puts(json_array_size(findings) ? "\nWhat slows things down"
                                   : "\nNothing was found that slows things down.");
    json_array_foreach(findings, i, item) printf(
        "  %zu. %s\n     -> %s\n", i + 1, json_string_value(json_object_get(item, "problem")),
        json_string_value(json_object_get(item, "advice")));
}

static const struct argp_child doctor_children[] = CLI_LIMITED_CHILDREN;
const struct argp cmd_doctor_argp = {
    doctor_options,
    doctor_parse,
    "[MODEL]",
    "Reports the environment: processor, limits, BLAS, the compiler for kernels, CUDA's libraries, "
    "the cache of kernels; and what slows "
    "things down, with advice. With a MODEL, and inputs as ctsc run takes them, calls its "
    "method "
    "as well, and tells whether denormal numbers slow it down, and where.",
    doctor_children,
    NULL,
    NULL};

/* *out: the probe's object with what was found. */
static int doctor_examine(doctor_args *a, json_t **out, ctsc_error *e) {
    json_t *j = doctor_probe(), *model = NULL;
    int code = a->model.path ? doctor_model(&a->model, &a->call, &a->limits, &model, e) : 0;
    bool ok = j && (!model || json_object_set_new(j, "model", model) == 0);
    json_t *findings = ok && !code ? doctor_findings(j) : NULL;
    ok = findings && json_object_set_new(j, "findings", findings) == 0;
    if (!ok && !code) code = cli_complain(CTSC_LIMIT, "out of memory");
    if (code) json_decref(j);
    else *out = j;
    return code;
}

int cmd_doctor(int argc, char **argv) {
    doctor_args a = {.model.optional = true};
    json_t *j = NULL;
    ctsc_error *e = ctsc_error_new();
    if (!cli_call_init(&a.call, argc) || !e) return cli_complain(CTSC_LIMIT, "out of memory");
    cli_parse_args(&cmd_doctor_argp, argc, argv, &a);
    ctsc_set_threads(a.call.threads);
    int code = doctor_examine(&a, &j, e);
    if (!code && a.json) code = cli_print_json(j);
    else if (!code) {
        doctor_show(j);
        json_decref(j);
    }
    ctsc_error_free(e);
    cli_call_free(&a.call);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * damage_main.c - archives damaged inside, loaded and run under limits: a result or a message comes
 * of each, and nothing else.
 *
 *     damage [--count N] [--seed S] [--keep FOLDER] [--max-size BYTES] FILE-OR-FOLDER...
 *     damage --one N [--seed S] [--keep FOLDER] FILE-OR-FOLDER...      number N again, alone
 *
 * make test-damage builds it with AddressSanitizer and UBSan. Number N of a seed is
 * always the same damage to the same file (damage_mutate.c): the folders are searched
 * for archives that are not larger than --max-size (300,000 bytes), in the order of
 * their names. Each is loaded, described, run at levels 0 and 3 with the inputs next to
 * it (inputs.pt, or NAME.in.pt for NAME.pt), sometimes changed, or with random ones that
 * fit its signature; some are run twice, so that kernels are compiled, frozen, or saved.
 *
 * Method: children take BATCH numbers each and report in shared memory which one they are
 * at and what they do with it. The parent ends one that computes on one thing for longer
 * than HANG_SECONDS (of processor time: others may have the machine), waits on it for
 * STUCK_SECONDS, or takes more memory than MAX_RSS, and continues after it. A sanitizer's
 * report ends the child. Leaks are checked when a batch is done, and once more, number by
 * number, in a batch that has some. All findings are written to the --keep folder: the
 * damaged archive and the child's output. The exit status is 1 if there were any.
 */
#include <ctsc.h>
#include <ctsc_compiler.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "damage.h"

enum { BATCH = 250, HANG_SECONDS = 20, STUCK_SECONDS = 400, CALL_SECONDS = 1, MAX_ARGS = 16 };
static const uint64_t MAX_BYTES = 64u << 20, MAX_STEPS = 200000;
static const size_t MAX_RSS = (size_t)3 << 30;

static struct {
    uint64_t count, seed, one;
    bool only_one;
    const char *keep;
    size_t max_size;
} options = {.count = 100000, .seed = 1, .max_size = 300000};

static VEC(char *) files;
static VEC(char *) operators;

/* What a child tells its parent. */
static struct shared {
    /* number it is at; how many loaded, how many calls gave a result, how many things were done */
    volatile uint64_t at, loaded, ran, steps;
    volatile char doing[32];
} *shared;

static void doing(const char *what) {
    snprintf((char *)shared->doing, sizeof shared->doing, "%s", what);
    shared->steps++;
}

/* ---- files ----------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void files_add(const char *path) {
    struct stat st;
    if (stat(path, &st)) {
        perror(path);
        exit(2);
    }
    if (S_ISDIR(st.st_mode)) {
        DIR *d = opendir(path);
        struct dirent *e;
        while (d && (e = readdir(d))) {
            char *name;
            if (e->d_name[0] == '.' || asprintf(&name, "%s/%s", path, e->d_name) < 0) continue;
            files_add(name);
            free(name);
        }
        if (d) closedir(d);
        return;
    }
    size_t n = strlen(path);
    /* data, not programs */
    static const char *const data[] = {".in.pt", ".out.pt", "inputs.pt", "expected.pt"};
    bool pt = n > 3 && !strcmp(path + n - 3, ".pt");
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) {
        size_t k = strlen(data[i]);
        if (n >= k && !strcmp(path + n - k, data[i])) pt = false;
    }
    if (pt && (size_t)st.st_size <= options.max_size) (void)vec_push(&files, strdup(path));
}

static uint8_t *file_read(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    fseek(f, 0, SEEK_END);
    long n = ftell(f);
    rewind(f);
    uint8_t *p = n > 0 ? malloc((size_t)n) : NULL;
    if (p && fread(p, 1, (size_t)n, f) != (size_t)n) {
        free(p);
        p = NULL;
    }
    fclose(f);
    *size = p ? (size_t)n : 0;
    return p;
}

/* The name of an operator as code calls it: aten::NAME once, whatever its overloads. */
static void operator_add(void *ctx, const ctsc_operator_detail *o) {
    (void)ctx;
    const char *name = o->key + 6;
    size_t len = strcspn(name, ".");
    if (strncmp(o->key, "aten::", 6) || !o->supported || !len) return;
    char *copy = strndup(name, len);
    if (operators.len && !strcmp(vec_last(&operators), copy)) free(copy);
    else (void)vec_push(&operators, copy);
}

/* ---- one damaged archive --------------------------------------------------------------------- */

static ctsc_value *random_tensor(rng *r) {
    static const ctsc_dtype dtypes[] = {CTSC_FLOAT32, CTSC_FLOAT32, CTSC_FLOAT32,   CTSC_INT64,
                                        CTSC_INT64,   CTSC_FLOAT64, CTSC_BOOL,      CTSC_UINT8,
                                        CTSC_INT32,   CTSC_FLOAT16, CTSC_BFLOAT16,  CTSC_COMPLEX64,
                                        CTSC_INT8,    CTSC_INT16,   CTSC_COMPLEX128};
    int64_t sizes[6] = {0};
    int ndim = (int)rng_below(r, 6);
    for (int i = 0; i < ndim; i++) sizes[i] = (int64_t)rng_below(r, 7);
    ctsc_dtype dt = dtypes[rng_below(r, sizeof dtypes / sizeof *dtypes)];
    ctsc_value *v = NULL;
    if (ctsc_tensor_new(dt, ndim, sizes, &v, NULL) != CTSC_OK) return NULL;
    size_t n = 1;
    for (int i = 0; i < ndim; i++) n *= (size_t)sizes[i];
    float *f = ctsc_tensor_data(v);
    int64_t *k = ctsc_tensor_data(v);
    uint8_t *b = ctsc_tensor_data(v);
    for (size_t i = 0; i < n; i++) switch (dt) {
        case CTSC_FLOAT32: f[i] = (float)((double)(int64_t)rng_next(r) * 0x1p-62); break;
        case CTSC_INT64: k[i] = rng_below(r, 4) ? (int64_t)rng_below(r, 8) : damage_int(r); break;
        case CTSC_BOOL:
        case CTSC_UINT8: b[i] = rng_next(r) & 1; break;
        default: break; /* zeros */
        }
    return v;
}

static ctsc_value *random_value(rng *r, ctsc_kind kind) {
    switch (kind) {
    case CTSC_KIND_TENSOR: return random_tensor(r);
    case CTSC_KIND_INT: return ctsc_int_new(damage_int(r));
    case CTSC_KIND_FLOAT: return ctsc_float_new((double)(int64_t)rng_next(r) * 0x1p-60);
    case CTSC_KIND_BOOL: return ctsc_bool_new(rng_next(r) & 1);
    case CTSC_KIND_STRING: return ctsc_string_new("a b", 3);
    case CTSC_KIND_LIST: {
        ctsc_value *items[3];
        bool tensors = rng_next(r) & 1;
        for (int i = 0; i < 3; i++)
            items[i] = tensors ? random_tensor(r) : ctsc_int_new((int64_t)rng_below(r, 5));
        ctsc_value *list = ctsc_list_new(rng_below(r, 4), items);
        for (int i = 0; i < 3; i++) ctsc_value_free(items[i]);
        return list;
    }
    default: return ctsc_none_new();
    }
}

/* Arguments: what the file beside the archive holds, or what the signature asks for. */
static size_t arguments(rng *r, const ctsc_module *m, const char *path, ctsc_value **args) {
    char name[4096];
    const char *slash = strrchr(path, '/');
    ctsc_value *given = NULL;
    size_t n = 0;
    snprintf(name, sizeof name, "%.*s.in.pt", (int)(strlen(path) - 3), path);
    if (access(name, R_OK))
        snprintf(name, sizeof name, "%.*s/inputs.pt", slash ? (int)(slash - path) : 1,
                 slash ? path : ".");
    if (ctsc_value_load(name, &given, NULL) == CTSC_OK) {
        n = ctsc_value_len(given);
        if (n > MAX_ARGS) n = MAX_ARGS;
        for (size_t i = 0; i < n; i++) args[i] = ctsc_value_item(given, i);
        ctsc_value_free(given);
        for (size_t i = 0; i < n; i++)
            if (args[i] && rng_below(r, 8) == 0) {
                ctsc_kind kind = ctsc_value_kind(args[i]);
                ctsc_value_free(args[i]);
                args[i] = random_value(r, kind);
            }
    } else {
        ctsc_signature *s;
        if (ctsc_module_signature(m, "forward", &s, NULL) != CTSC_OK) return 0;
        for (n = ctsc_signature_argument_count(s); n > MAX_ARGS;) n--;
        for (size_t i = 0; i < n; i++)
            args[i] = random_value(r, ctsc_signature_argument(s, i)->kind);
        ctsc_signature_free(s);
    }
    for (size_t i = 0; i < n; i++)
        if (!args[i]) args[i] = ctsc_none_new();
    return n;
}

static void no_print(void *ctx, const char *text, size_t len) { (void)ctx, (void)text, (void)len; }
static void no_attribute(void *ctx, const ctsc_attribute_info *a) {
    (void)ctx;
    if (ctsc_value_kind(a->value) != CTSC_KIND_TENSOR) ctsc_string_free(ctsc_value_print(a->value));
}
static void no_operator(void *ctx, const ctsc_operator_use *u) { (void)ctx, (void)u; }

/* Is there more to print than is worth the time? */
static bool is_large(const ctsc_value *v, int depth) {
    ctsc_kind kind = ctsc_value_kind(v);
    bool large = depth > 20 || ctsc_value_len(v) > 1000;
    if (kind == CTSC_KIND_TENSOR) {
        double n = 1;
        for (int i = 0; i < ctsc_tensor_ndim(v); i++) n *= (double)ctsc_tensor_sizes(v)[i];
        return n > 10000;
    }
    for (size_t i = 0; i < ctsc_value_len(v) && !large && kind != CTSC_KIND_STRING; i++) {
        ctsc_value *item = ctsc_value_item(v, i);
        large = item && is_large(item, depth + 1);
        ctsc_value_free(item);
    }
    return large;
}

static void call(const char *what, const ctsc_module *m, size_t n, ctsc_value *const *args,
                 ctsc_error *e) {
    ctsc_run_options o = {.size = sizeof o,
                          .max_steps = MAX_STEPS,
                          .print = no_print,
                          .timeout_us = CALL_SECONDS * 1000000ull,
                          .max_bytes = MAX_BYTES};
    ctsc_value *out = NULL;
    doing(what);
    if (ctsc_module_run(m, "forward", n, args, &o, &out, e) != CTSC_OK) {
        ctsc_string_free(ctsc_error_render(e, false));
        if (ctsc_error_status(e) == CTSC_INTERNAL) {
            fprintf(stderr, "%s: %s\n", what, ctsc_error_message(e));
            abort();
        }
        return;
    }
    doing("print");
    if (!is_large(out, 0)) ctsc_string_free(ctsc_value_print(out));
    ctsc_value_free(out);
    shared->ran++;
}

/* Runs at a level; args are read anew each time, since programs may write to them. */
static void level(const char *what, ctsc_module *m, int opt, int times, rng r, const char *path,
                  ctsc_error *e) {
    ctsc_module_set_opt(m, opt, e);
    for (; times > 0; times--) {
        rng again = r;
        ctsc_value *args[MAX_ARGS];
        size_t n = arguments(&again, m, path, args);
        call(what, m, n, args, e);
        for (size_t i = 0; i < n; i++) ctsc_value_free(args[i]);
    }
}

static void damaged_run(rng *r, const strbuf *archive, const char *path) {
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    /* A block of the exact size: a sanitizer sees every access outside of it. */
    uint8_t *exact = malloc(archive->len ? archive->len : 1);
    if (archive->len) memcpy(exact, archive->data, archive->len);
    doing("load");
    if (ctsc_module_load_memory(exact, archive->len, &m, e) == CTSC_OK) {
        shared->loaded++;
        char *text = NULL;
        doing("describe");
        ctsc_module_attributes(m, no_attribute, NULL);
        if (rng_below(r, 8) == 0) (void)ctsc_module_operators(m, no_operator, NULL, e);
        if (rng_below(r, 8) == 0 &&
            ctsc_module_graph(m, "forward", CTSC_GRAPH_LOCATIONS, &text, e) == CTSC_OK)
            ctsc_string_free(text);
        level("run at level 0", m, 0, 1, *r, path, e);
        level("run at level 3", m, 3, rng_below(r, 12) ? 1 : 3, *r, path, e);
        if (rng_below(r, 16) == 0) {
            doing("freeze");
            if (ctsc_module_freeze(m, rng_next(r) & 1, e) == CTSC_OK)
                level("run frozen", m, 3, 1, *r, path, e);
        }
        if (rng_below(r, 16) == 0) {
            doing("save");
            (void)ctsc_module_save(m, "/dev/shm/ctsc-damage-saved.pt", e);
        }
        ctsc_module_free(m);
    } else {
        ctsc_string_free(ctsc_error_render(e, false));
    }
    ctsc_error_free(e);
    free(exact);
}

/* Number i of the seed: which file, and its damaged copy. */
static const char *damaged_make(uint64_t i, rng *r, strbuf *out) {
    *r = (rng){options.seed * 0x632be59bd9b4e019ull + i};
    rng_next(r);
    const char *path = files.data[rng_below(r, files.len)];
    size_t size;
    uint8_t *data = file_read(path, &size);
    if (data)
        damage_archive(r, data, size, (const char *const *)operators.data, operators.len, out);
    free(data);
    return path;
}

static void damaged(uint64_t i) {
    rng r;
    strbuf archive = STRBUF_INIT;
    shared->at = i;
    doing("damage");
    const char *path = damaged_make(i, &r, &archive);
    damaged_run(&r, &archive, path);
    sb_free(&archive);
}

/* ---- children -------------------------------------------------------------------------------- */

static void keep(uint64_t i, const char *why, const char *said) {
    char name[4096];
    rng r;
    strbuf archive = STRBUF_INIT;
    const char *path = damaged_make(i, &r, &archive);
    printf("number %" PRIu64 " (%s): %s while it was in '%s'\n", i, path, why,
           (const char *)shared->doing);
    fflush(stdout);
    if (options.keep) {
        snprintf(name, sizeof name, "%s/%" PRIu64 ".pt", options.keep, i);
        FILE *f = fopen(name, "wb");
        if (f) {
            fwrite(archive.data, 1, archive.len, f);
            fclose(f);
        }
        snprintf(name, sizeof name, "%s/%" PRIu64 ".txt", options.keep, i);
        rename(said, name);
    }
    sb_free(&archive);
}

/* The time that a process has computed. */
static double processor_seconds(pid_t pid) {
    char path[64], line[1024];
    unsigned long user = 0, system = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(line, 1, sizeof line - 1, f) : 0;
    if (f) fclose(f);
    line[n] = '\0';
    const char *name = strrchr(line, ')'); /* may hold anything */
    if (name)
        (void)sscanf(name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &user,
                     &system);
    return (double)(user + system) / (double)sysconf(_SC_CLK_TCK);
}

static size_t resident(pid_t pid) {
    char name[64];
    size_t total = 0, pages = 0;
    snprintf(name, sizeof name, "/proc/%d/statm", (int)pid);
    FILE *f = fopen(name, "r");
    if (!f) return 0;
    if (fscanf(f, "%zu %zu", &total, &pages) != 2) pages = 0;
    fclose(f);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Runs numbers [from, to) in a child. *why: what was wrong, with shared->at as the
 * number, or NULL. */
static void batch(uint64_t from, uint64_t to, const char *said, const char **why) {
    *why = NULL;
    shared->at = from;
    pid_t pid = fork();
    if (!pid) {
        int fd = open(said, O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd >= 0) dup2(fd, 2);
        for (uint64_t i = from; i < to; i++) damaged(i);
        doing("leaks");
        exit(0); /* the leak sanitizer looks now */
    }
    uint64_t steps = shared->steps;
    double since = seconds(), computed = 0;
    int status = 0;
    while (waitpid(pid, &status, WNOHANG) == 0) {
        usleep(20000);
        if (shared->steps != steps)
            steps = shared->steps, since = seconds(), computed = processor_seconds(pid);
        bool big = resident(pid) > MAX_RSS;
        if (!big && processor_seconds(pid) - computed < HANG_SECONDS &&
            seconds() - since < STUCK_SECONDS)
            continue;
        *why = big ? "too much memory" : "no end";
        kill(pid, SIGABRT);
        waitpid(pid, &status, 0);
        return;
    }
    if (status) *why = !strcmp((const char *)shared->doing, "leaks") ? "leak" : "crash";
}

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        bool more = i + 1 < argc;
        if (!strcmp(argv[i], "--count") && more) options.count = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--seed") && more) options.seed = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--one") && more)
            options.one = strtoull(argv[++i], NULL, 10), options.only_one = true;
        else if (!strcmp(argv[i], "--keep") && more) options.keep = argv[++i];
        else if (!strcmp(argv[i], "--max-size") && more)
            options.max_size = strtoull(argv[++i], NULL, 10);
        else files_add(argv[i]);
    }
    if (!files.len) {
        fprintf(stderr, "usage: damage [--count N] [--seed S] [--one N] [--keep FOLDER] "
                        "[--max-size BYTES] FILE-OR-FOLDER...\n");
        return 2;
    }
    qsort(files.data, files.len, sizeof *files.data, by_name);
    ctsc_set_threads(1);
    ctsc_operator_details(operator_add, NULL);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return 2;
    if (options.only_one) {
        damaged(options.one);
        printf("number %" PRIu64 ": done\n", options.one);
        return 0;
    }
    char said[64];
    snprintf(said, sizeof said, "/tmp/ctsc-damage-%d", (int)getpid());
    uint64_t found = 0, done = 0;
    double start = seconds();
    for (uint64_t at = 0, to; at < options.count; at = to) {
        const char *why;
        to = at + BATCH < options.count ? at + BATCH : options.count;
        batch(at, to, said, &why);
        if (why && !strcmp(why, "leak")) { /* which one? */
            for (uint64_t i = at; i < to; i++) {
                batch(i, i + 1, said, &why);
                if (why) found++, keep(i, why, said);
            }
        } else if (why) {
            found++;
            keep(shared->at, why, said);
            to = shared->at + 1;
        }
        done += to - at;
        if (to / 5000 != at / 5000) {
            printf("%" PRIu64 " of %" PRIu64 ": %" PRIu64 " loaded, %" PRIu64
                   " calls gave a result, %" PRIu64 " findings, %.0f s\n",
                   done, options.count, shared->loaded, shared->ran, found, seconds() - start);
            fflush(stdout);
        }
    }
    unlink(said);
    printf("%" PRIu64 " damaged archives of %zu: %" PRIu64 " loaded, %" PRIu64
           " calls gave a result, %" PRIu64 " findings\n",
           done, files.len, shared->loaded, shared->ran, found);
    return found != 0;
}

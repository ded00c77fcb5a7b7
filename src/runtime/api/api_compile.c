/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_compile.c - the part of ctsc.h that compiles Python source into a module.
 *
 * The front end does the work (frontend/program/source.h); this file provides callbacks
 * for higher layers: files, operators with a random generator, and weights from elsewhere.
 *
 * Ownership: sources belong to the unit, which belongs to the module. The runtime that module-level
 * code runs in lives for the call only.
 * Tests: tests/cli, tests/lang
 */
#include "base/threads/float_mode.h"
#include "frontend/program/source.h"
#include "passes/passes.h"
#include "runtime/api/api.h"
#include "runtime/context/runtime.h"
#include "runtime/program/compile_archives.h"
#include "runtime/program/trace_check.h"
#include "runtime/program/weights.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { COMPILE_MAX_SOURCE = 64 << 20 };

typedef struct compile_host {
    /* of the program's file, "" or with a slash at its end; NULL: no files beside it */
    const char *folder;
    const char *path; /* further folders, separated by ':'; NULL: none */
    /* of the package that contains the file, with a slash at its end; NULL: it is in none */
    char *root;
    char *package; /* ... and its dotted name */
    runtime *rt;
    uint64_t max_steps; /* of one call of an archive's method */
    compile_archives archives;
} compile_host;

/* ---- files ----------------------------------------------------------------------------------- */

/* *out = NULL without an error if there is no such file. */
static ctsc_status compile_read_file(diag *d, const char *path, source **out) {
    struct stat st;
    *out = NULL;
    if (stat(path, &st) != 0 && errno == ENOENT) return CTSC_OK;
    FILE *f = fopen(path, "rbe");
    if (!f) return diag_fail(d, CTSC_BAD_FILE, "cannot open %s: %s", path, strerror(errno));
    ctsc_status s = CTSC_OK;
    char *text = NULL;
    size_t len = 0;
    if (fstat(fileno(f), &st) != 0 || S_ISDIR(st.st_mode))
        s = diag_fail(d, CTSC_BAD_FILE, "cannot read %s: it is a folder", path);
    size_t cap = s == CTSC_OK && st.st_size > 0 && st.st_size < COMPILE_MAX_SOURCE
                     ? (size_t)st.st_size + 1
                     : 4096;
    while (s == CTSC_OK) { /* the size is only a hint: pipes have none */
        char *more = mem_resize(text, cap);
        if (!more) {
            s = diag_no_memory(d);
            break;
        }
        text = more;
        len += fread(text + len, 1, cap - len, f);
        if (len > COMPILE_MAX_SOURCE) s = diag_fail(d, CTSC_LIMIT, "%s: larger than 64 MiB", path);
        if (len < cap) break;
        cap *= 2;
    }
    if (s == CTSC_OK && ferror(f))
        s = diag_fail(d, CTSC_BAD_FILE, "cannot read %s: %s", path, strerror(errno));
    fclose(f);
    if (s == CTSC_OK && !(*out = source_new(path, text, len))) s = diag_no_memory(d);
    mem_free(text);
    return s;
}

/* What is at folder/a/b: b.py, b/__init__.py, or a mere folder b. */
static ctsc_status compile_look_in(diag *d, const char *folder, size_t len, const char *dotted,
                                   source **out, bool *is_folder) {
    /* packages come first, as in Python */
    static const char *const endings[] = {"/__init__.py", ".py"};
    strbuf path = STRBUF_INIT;
    sb_printf(&path, "%.*s%s", (int)len, folder, len && folder[len - 1] != '/' ? "/" : "");
    for (const char *p = dotted; *p; p++) sb_putc(&path, *p == '.' ? '/' : *p);
    size_t stem = path.len;
    struct stat st;
    if (!path.failed && stat(sb_str(&path), &st) == 0 && S_ISDIR(st.st_mode)) *is_folder = true;
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; i < 2 && s == CTSC_OK && !*out; i++) {
        path.len = stem;
        sb_puts(&path, endings[i]);
        s = path.failed ? diag_no_memory(d) : compile_read_file(d, sb_str(&path), out);
    }
    sb_free(&path);
    return s;
}

/* Next to the program, then in the folders of the path, then in the package that contains it. */
static ctsc_status compile_read_module(void *ctx, diag *d, const char *dotted, bool beside,
                                       source **out, bool *is_folder) {
    const compile_host *h = ctx;
    *out = NULL;
    *is_folder = false;
    ctsc_status s = compile_look_in(d, h->folder, strlen(h->folder), dotted, out, is_folder);
    for (const char *p = beside ? NULL : h->path; p && s == CTSC_OK && !*out;
         p = *p ? p + 1 : NULL) {
        size_t n = strcspn(p, ":");
        if (n) s = compile_look_in(d, p, n, dotted, out, is_folder);
        p += n;
    }
    if (!beside && h->root && s == CTSC_OK && !*out)
        s = compile_look_in(d, h->root, strlen(h->root), dotted, out, is_folder);
    return s;
}

/* "/x/timm/models/" with an __init__.py in both folders, and none in /x: root "/x/",
 * package "timm.models". */
static ctsc_status compile_find_package(diag *d, compile_host *h) {
    char *at = realpath(*h->folder ? h->folder : ".", NULL); /* of libc: freed with free() */
    strbuf package = STRBUF_INIT, file = STRBUF_INIT;
    struct stat st;
    ctsc_status s = CTSC_OK;
    for (char *slash; at && (slash = strrchr(at, '/')) && slash[1]; *slash = '\0') {
        file.len = 0;
        sb_printf(&file, "%s/__init__.py", at);
        if (file.failed || stat(sb_str(&file), &st) != 0) break;
        strbuf longer = STRBUF_INIT;
        sb_printf(&longer, "%s%s%s", slash + 1, package.len ? "." : "",
                  package.len ? sb_str(&package) : "");
        sb_free(&package);
        package = longer;
    }
    if (at && package.len && !package.failed) {
        h->package = mem_strdup(sb_str(&package));
        file.len = 0;
        sb_printf(&file, "%s/", at);
        h->root = file.failed ? NULL : mem_strdup(sb_str(&file));
        if (!h->package || !h->root) s = diag_no_memory(d);
    }
    if (package.failed || file.failed) s = diag_no_memory(d);
    sb_free(&package);
    sb_free(&file);
    free(at);
    return s;
}

/* ---- compiling ------------------------------------------------------------------------------- */

static void compile_seed(void *ctx, uint64_t seed) {
    generator_seed(&((compile_host *)ctx)->rt->rng, seed);
}

static void compile_print(void *ctx, const char *text, size_t len) {
    const runtime *rt = ((compile_host *)ctx)->rt;
    rt->print(rt->sink_ctx, text, len);
}

static ctsc_status compile_load_archive(void *ctx, diag *d, const char *path, value *root) {
    return compile_archives_load(&((compile_host *)ctx)->archives, d, path, root);
}

static ctsc_status compile_freeze(void *ctx, diag *d, object *o, bool fold, value *frozen) {
    return compile_archives_freeze(&((compile_host *)ctx)->archives, d, o, fold, frozen);
}

/* torch.load's file, in PyTorch's words where there is none. */
static ctsc_status compile_load_file(void *ctx, diag *d, const char *path, value *out) {
    struct stat st;
    (void)ctx;
    if (stat(path, &st) == 0) return weights_values(d, path, out);
    diag_fail(d, CTSC_FAILED, "FileNotFoundError: [Errno %d] %s: '%s'", errno, strerror(errno),
              path);
    d->exception = mem_strdup("builtins.FileNotFoundError");
    return d->status;
}

static ctsc_status compile_open(void *ctx, diag *d, const char *path, source **out) {
    (void)ctx;
    return compile_read_file(d, path, out);
}

static int compile_file_kind(void *ctx, const char *path) {
    struct stat st;
    (void)ctx;
    return stat(path, &st) != 0 ? 0 : S_ISDIR(st.st_mode) ? 2 : 1;
}

static ctsc_status compile_call_method(void *ctx, diag *d, function *f, size_t nargs,
                                       const value *args, value *result) {
    const compile_host *h = ctx;
    h->rt->steps_left = h->max_steps;
    return module_call(f, h->rt, nargs, args, d, result);
}

static ctsc_status compile_check_trace(void *ctx, diag *d, const py_trace_check *c) {
    trace_check check = {.recorded = c->recorded,
                         .again = c->again,
                         .forward = c->forward,
                         .n = c->n,
                         .args = c->args,
                         .result = &c->result,
                         .seed = &c->seed,
                         .rtol = 1e-5,
                         .atol = 1e-6};
    (void)ctx;
    return trace_check_run(&check, d);
}

static void compile_print_stdout(void *ctx, const char *text, size_t len) {
    (void)ctx;
    fwrite(text, 1, len, stdout);
}

static ctsc_status compile_module(diag *d, compile_host *h, const char *name, source *src,
                                  const ctsc_compile_options *o, const value *state,
                                  const source_trace_options *trace, module **out) {
    op_ctx ops = {.diag = d, .rt = h->rt};
    py_host host = {.ctx = h,
                    .ops = &ops,
                    .seed = compile_seed,
                    .rng = o->rng,
                    .globals = o->globals ? &o->globals->v : NULL,
                    .skip_init = state != NULL || o->skip_init,
                    .max_steps = o->max_steps,
                    .max_bytes = o->max_bytes};
    host.print = compile_print;
    host.call_method = compile_call_method;
    host.check_trace = compile_check_trace;
    host.training = &api_training;
    if (h->folder) {
        host.read_module = compile_read_module;
        host.package = h->package;
        host.load_file = compile_load_file;
        host.read_file = compile_open;
        host.file_kind = compile_file_kind;
    }
    if (h->folder || o->archives) {
        host.load_archive = compile_load_archive;
        host.freeze = compile_freeze;
    }
    source_options so = {.entry = o->entry,
                         .seed = o->seed,
                         .state = state,
                         .state_file = o->weights,
                         .eval = !o->training,
                         .trace = trace};
    source_result r = {.root = value_none()};
    module *m = mem_zalloc(sizeof *m);
    if (!m || !(m->unit = unit_new())) {
        module_free(m);
        return diag_no_memory(d);
    }
    m->unit->simplify = pipeline_simplify;
    m->version = 3;
    m->opt = MODULE_OPT_DEFAULT;
    ctsc_status s = source_compile(d, m->unit, &host, &so, name, src, &r);
    d->max_tensor = 0; /* the limit was the compilation's */
    m->root = r.root;
    m->entry = r.entry;
    if (s == CTSC_OK) *out = m;
    else module_free(m);
    return s;
}

/* Fills o->inputs with borrowed values; the array is the caller's. */
static ctsc_status compile_trace_inputs(diag *d, const ctsc_compile_options *given,
                                        source_trace_options *o) {
    value *inputs = mem_alloc((given->trace_count + 1) * sizeof *inputs);
    if (!inputs) return diag_no_memory(d);
    o->inputs = inputs;
    for (size_t i = 0; i < given->trace_count; i++) {
        if (!given->trace_inputs[i])
            return diag_fail(d, CTSC_USAGE, "input %zu of the trace is NULL", i);
        inputs[i] = given->trace_inputs[i]->v;
    }
    return CTSC_OK;
}

/* name: dotted name of the program's module; takes src's reference. */
static ctsc_status compile_source(diag *d, const char *folder, const char *name, source *src,
                                  const ctsc_compile_options *options, ctsc_module **out) {
    ctsc_compile_options o = {0};
    if (options) memcpy(&o, options, options->size < sizeof o ? options->size : sizeof o);
    value state = value_none();
    module *m = NULL;
    ctsc_module *h = mem_zalloc(sizeof *h);
    runtime *rt = mem_alloc(sizeof *rt);
    ctsc_status s = h && rt ? CTSC_OK : diag_no_memory(d);
    source_trace_options trace = {
        .n = o.trace_count, .names = o.trace_names, .skip_check = o.skip_trace_check};
    if (s == CTSC_OK && o.weights) s = weights_dict(d, o.weights, &state);
    if (s == CTSC_OK && o.trace) s = compile_trace_inputs(d, &o, &trace);
    if (s == CTSC_OK) {
        compile_host host = {.folder = folder,
                             .path = o.path,
                             .rt = rt,
                             .max_steps = o.max_steps ? o.max_steps : PY_MAX_STEPS};
        runtime_init(rt);
        rt->print = o.print ? o.print : compile_print_stdout;
        rt->warn = o.warn;
        rt->sink_ctx = o.ctx;
        if (folder) s = compile_find_package(d, &host);
        float_mode outer = float_mode_get(); /* a program may change it (set_flush_denormal) */
        float_mode_begin();
        if (s == CTSC_OK)
            s = compile_module(d, &host, name, src, &o, o.weights ? &state : NULL,
                               o.trace ? &trace : NULL, &m);
        float_mode_restore(outer);
        compile_archives_free(&host.archives);
        mem_free(host.package);
        mem_free(host.root);
    }
    value_unref(state);
    mem_free((value *)trace.inputs);
    mem_free(rt);
    source_unref(src);
    if (s == CTSC_OK) {
        h->m = m;
        *out = h;
    } else {
        mem_free(h);
    }
    return s;
}

/* "dir/my-net.py" -> "my_net": what Python's import would call it, as far as that is a name. */
static char *compile_stem(const char *path) {
    const char *base = strrchr(path, '/');
    base = base ? base + 1 : path;
    size_t n = strlen(base);
    if (n > 3 && !strcmp(base + n - 3, ".py")) n -= 3;
    char *out = mem_strndup(base, n);
    for (char *p = out; p && *p; p++) {
        bool word = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || *p == '_' ||
                    (*p & 0x80) || (*p >= '0' && *p <= '9' && p > out);
        if (!word) *p = '_';
    }
    return out;
}

ctsc_status ctsc_module_compile(const char *path, const ctsc_compile_options *o, ctsc_module **out,
                                ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    source *src = NULL;
    if (api_given(d, path, "the path") != CTSC_OK) return api_leave(e, &own, CTSC_USAGE);
    char *stem = compile_stem(path);
    const char *slash = strrchr(path, '/');
    char *folder = mem_strndup(path, slash ? (size_t)(slash + 1 - path) : 0);
    ctsc_status s = stem && folder ? compile_read_file(d, path, &src) : diag_no_memory(d);
    if (s == CTSC_OK && !src)
        s = diag_fail(d, CTSC_BAD_FILE, "cannot open %s: %s", path, strerror(ENOENT));
    if (s == CTSC_OK) s = compile_source(d, folder, *stem ? stem : "program", src, o, out);
    mem_free(stem);
    mem_free(folder);
    return api_leave(e, &own, s);
}

ctsc_status ctsc_module_compile_text(const char *name, const char *text, size_t len,
                                     const ctsc_compile_options *o, ctsc_module **out,
                                     ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    if (api_given(d, name, "the name") != CTSC_OK ||
        (len && api_given(d, text, "the source") != CTSC_OK))
        return api_leave(e, &own, CTSC_USAGE);
    char *stem = compile_stem(name);
    source *src = stem ? source_new(name, text, len) : NULL;
    ctsc_status s = src ? compile_source(d, NULL, *stem ? stem : "program", src, o, out)
                        : diag_no_memory(d);
    mem_free(stem);
    return api_leave(e, &own, s);
}

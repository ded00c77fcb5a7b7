/* SPDX-License-Identifier: Apache-2.0 */
/*
 * composite.c - operators that are written in TorchScript: frontend/prelude/operators.py and
 * operators/NAME.py, embedded.
 *
 * Method. The files are read like code files of an archive, `__torch__.operators` and
 * `__torch__.operators.NAME`, in a unit that lives as long as the process: functions are parsed
 * when the first operator of a file is asked for, and compiled one by one, helpers inlined.
 * aten::diff is diff there, aten::trapezoid.dx is trapezoid__dx; which file has it, its text says.
 * The interpreter calls the function as the operator's; the pass `decompose` puts its body in the
 * node's place, so that it is optimised and fused with what stands around it. An error inside is
 * one of the operator: its message counts, its place does not.
 * Tests: tests/unit/test_composite.c
 */
#include "base/text/embed.h"
#include "cpu/isa.h"
#include "frontend/codeload/importer.h"
#include "frontend/irgen/irgen.h"
#include "ir/op/op_family.h"
#include "passes/passes.h"
#include "runtime/interp/interp.h"
#include "runtime/kernels/engine/kernel.h"
#include "runtime/ops/registry.h"

#include <stdio.h>
#include <string.h>

/* COMPOSITE_FILE(symbol, module, path) */
#define COMPOSITE_FILES                                                                            \
    COMPOSITE_FILE(prelude_operators, "__torch__.operators", "operators.py")                       \
    COMPOSITE_FILE(prelude_backward, "__torch__.operators.backward", "operators/backward.py")      \
    COMPOSITE_FILE(prelude_layers, "__torch__.operators.layers", "operators/layers.py")            \
    COMPOSITE_FILE(prelude_resample, "__torch__.operators.resample", "operators/resample.py")      \
    COMPOSITE_FILE(prelude_assorted, "__torch__.operators.assorted", "operators/assorted.py")      \
    COMPOSITE_FILE(prelude_recent, "__torch__.operators.recent", "operators/recent.py")            \
    COMPOSITE_FILE(prelude_exported, "__torch__.operators.exported", "operators/exported.py")      \
    COMPOSITE_FILE(prelude_onnx_math, "__torch__.operators.onnx_math", "operators/onnx_math.py")   \
    COMPOSITE_FILE(prelude_onnx_shapes, "__torch__.operators.onnx_shapes",                         \
                   "operators/onnx_shapes.py")                                                     \
    COMPOSITE_FILE(prelude_onnx_layers, "__torch__.operators.onnx_layers",                         \
                   "operators/onnx_layers.py")                                                     \
    COMPOSITE_FILE(prelude_onnx_images, "__torch__.operators.onnx_images",                         \
                   "operators/onnx_images.py")                                                     \
    COMPOSITE_FILE(prelude_onnx_quantised, "__torch__.operators.onnx_quantised",                   \
                   "operators/onnx_quantised.py")                                                  \
    COMPOSITE_FILE(prelude_onnx_recurrent, "__torch__.operators.onnx_recurrent",                   \
                   "operators/onnx_recurrent.py")                                                  \
    COMPOSITE_FILE(prelude_onnx_signals, "__torch__.operators.onnx_signals",                       \
                   "operators/onnx_signals.py")                                                    \
    COMPOSITE_FILE(prelude_prims, "__torch__.operators.prims", "operators/prims.py")               \
    COMPOSITE_FILE(prelude_device, "__torch__.operators.device", "operators/device.py")            \
    COMPOSITE_FILE(prelude_quantized, "__torch__.operators.quantized", "operators/quantized.py")   \
    COMPOSITE_FILE(prelude_d_pointwise, "__torch__.derivatives.pointwise",                         \
                   "derivatives/pointwise.py")                                                     \
    COMPOSITE_FILE(prelude_d_shapes, "__torch__.derivatives.shapes", "derivatives/shapes.py")      \
    COMPOSITE_FILE(prelude_d_indexing, "__torch__.derivatives.indexing",                           \
                   "derivatives/indexing.py")                                                      \
    COMPOSITE_FILE(prelude_d_reduce, "__torch__.derivatives.reduce", "derivatives/reduce.py")      \
    COMPOSITE_FILE(prelude_d_layers, "__torch__.derivatives.layers", "derivatives/layers.py")      \
    COMPOSITE_FILE(prelude_d_activations, "__torch__.derivatives.activations",                     \
                   "derivatives/activations.py")                                                   \
    COMPOSITE_FILE(prelude_d_windows, "__torch__.derivatives.windows", "derivatives/windows.py")   \
    COMPOSITE_FILE(prelude_d_sampling, "__torch__.derivatives.sampling",                           \
                   "derivatives/sampling.py")                                                      \
    COMPOSITE_FILE(prelude_d_regions, "__torch__.derivatives.regions", "derivatives/regions.py")   \
    COMPOSITE_FILE(prelude_d_losses, "__torch__.derivatives.losses", "derivatives/losses.py")      \
    COMPOSITE_FILE(prelude_d_products, "__torch__.derivatives.products",                           \
                   "derivatives/products.py")                                                      \
    COMPOSITE_FILE(prelude_d_distances, "__torch__.derivatives.distances",                         \
                   "derivatives/distances.py")                                                     \
    COMPOSITE_FILE(prelude_d_linalg, "__torch__.derivatives.linalg", "derivatives/linalg.py")      \
    COMPOSITE_FILE(prelude_d_spectral, "__torch__.derivatives.spectral",                           \
                   "derivatives/spectral.py")                                                      \
    COMPOSITE_FILE(prelude_d_transforms, "__torch__.derivatives.transforms",                       \
                   "derivatives/transforms.py")                                                    \
    COMPOSITE_FILE(prelude_d_recurrent, "__torch__.derivatives.recurrent",                         \
                   "derivatives/recurrent.py")                                                     \
    COMPOSITE_FILE(prelude_d_random, "__torch__.derivatives.random", "derivatives/random.py")      \
    COMPOSITE_FILE(prelude_d_missing, "__torch__.derivatives.missing", "derivatives/missing.py")

#define COMPOSITE_FILE(symbol, module, path) EMBED(symbol, "src/frontend/prelude/" path)
COMPOSITE_FILES
#undef COMPOSITE_FILE

static const struct composite_file {
    const char *module, *path;
    embedded *text;
} composite_files[] = {
#define COMPOSITE_FILE(symbol, module, path) {module, path, &symbol},
    COMPOSITE_FILES
#undef COMPOSITE_FILE
};
enum { COMPOSITE_NFILES = sizeof composite_files / sizeof *composite_files };

/* of the unit's making alone: compiling may need other operators */
static pthread_mutex_t composite_lock = PTHREAD_MUTEX_INITIALIZER;
static unit *composite_unit; /* never freed: operators point to its functions */

static ctsc_status composite_read(void *ctx, diag *d, const char *name, source **out) {
    (void)ctx;
    *out = NULL;
    const char *path = strstr(name, "__torch__/");
    for (int i = 0; path && i < COMPOSITE_NFILES; i++) {
        const struct composite_file *f = &composite_files[i];
        if (strcmp(path + strlen("__torch__/"), f->path)) continue;
        size_t len;
        const char *text = embedded_text(f->text, &len);
        *out = text ? source_new("<operators>", text, len) : NULL;
        return *out ? CTSC_OK : diag_no_memory(d);
    }
    return CTSC_OK;
}

/* The module whose text defines the function. */
static const char *composite_module(const char *function_name) {
    char line[160];
    snprintf(line, sizeof line, "\ndef %s(", function_name);
    for (int i = 0; i < COMPOSITE_NFILES; i++) {
        size_t len;
        const char *text = embedded_text(composite_files[i].text, &len);
        if (text && strstr(text, line)) return composite_files[i].module;
    }
    return composite_files[0].module;
}

static unit *composite_unit_new(diag *d) {
    static const importer_host host = {.read_code = composite_read};
    unit *u = unit_new();
    if (!u || importer_attach(d, u, &host, INT64_MAX) != CTSC_OK) {
        diag_no_memory(d);
        if (u) unit_unref(u);
        return NULL;
    }
    u->compile = irgen_function;
    u->simplify = pipeline_simplify;
    return u;
}

static unit *composite_unit_get(diag *d) {
    pthread_mutex_lock(&composite_lock);
    if (!composite_unit) composite_unit = composite_unit_new(d);
    unit *u = composite_unit;
    pthread_mutex_unlock(&composite_lock);
    return u;
}

/* Compiled, the calls of helpers inlined. Under the unit's lock. */
static function *composite_compile(unit *u, const char *function_name, diag *d) {
    char name[192];
    type *cls = NULL;
    function *f = NULL;
    snprintf(name, sizeof name, "%s.%s", composite_module(function_name), function_name);
    if (unit_resolve(u, d, name, &cls, &f) == CTSC_OK && !f)
        diag_fail(d, CTSC_INTERNAL, "no function %s for an operator", function_name);
    if (!f || function_ensure_compiled(f, d) != CTSC_OK) return NULL;
    return pass_run_list(&(pass_ctx){.diag = d}, f->graph, "inline", NULL) == CTSC_OK ? f : NULL;
}

/* "mul__Tensor", "prims_mul" */
static void composite_name(const char *key, char *out, size_t size) {
    const char *name = strstr(key, "::"), *overload = strchr(key, '.');
    name = name ? name + 2 : key;
    bool prims = !strncmp(key, "prims::", strlen("prims::"));
    snprintf(out, size, "%s%.*s%s%s", prims ? "prims_" : "",
             overload ? (int)(overload - name) : (int)strlen(name), name, overload ? "__" : "",
             overload ? overload + 1 : "");
}

static function *composite_find(unit *u, const op *o, diag *d) {
    char function_name[128], key[OP_KEY_LENGTH];
    if (op_derived_from(o, key)) o = op_find(key); /* another name of the operator */
    composite_name(o->key, function_name, sizeof function_name);
    return composite_compile(u, function_name, d);
}

/* ---- derivatives ----------------------------------------------------------------------------- */

/* The functions of derivatives/, read once: those of one overload stand one behind the other. */
typedef struct composite_names {
    VEC(const char *) names; /* of all functions that are derivatives, in the order of the files */
    strmap first;            /* an overload's name -> its first one, as an index + 1 */
    arena arena;
} composite_names;

static pthread_once_t composite_names_once = PTHREAD_ONCE_INIT;
static composite_names *composite_known; /* NULL without memory */

/* The overload's part of "mul__Tensor__d_self": 0 if the function is none of these. */
static size_t composite_stem(const char *name, size_t n) {
    for (size_t i = 1; i + 4 <= n; i++)
        if (!strncmp(name + i, "__d_", 4) || (i + 4 == n && !strncmp(name + i, "__as", 4)))
            return i;
    return 0;
}

static bool composite_add_name(composite_names *c, const char *name, size_t n) {
    size_t stem = composite_stem(name, n);
    if (!stem) return true;
    const char *copy = arena_strndup(&c->arena, name, n);
    if (!copy || !vec_push(&c->names, copy)) return false;
    return strmap_getn(&c->first, name, stem) ||
           strmap_putn(&c->first, copy, stem, (void *)(uintptr_t)c->names.len);
}

static void composite_read_names(void) {
    composite_names *c = mem_zalloc(sizeof *c);
    bool ok = c && arena_init(&c->arena);
    for (int i = 0; i < COMPOSITE_NFILES && ok; i++) {
        size_t len;
        const char *text = strstr(composite_files[i].path, "derivatives/")
                               ? embedded_text(composite_files[i].text, &len)
                               : NULL;
        for (const char *p = text; ok && p && (p = strstr(p, "\ndef ")); p++)
            ok = composite_add_name(c, p + 5, strcspn(p + 5, "("));
    }
    composite_known = ok ? c : NULL;
}

/* The functions' names do not tell aten::conv2d from quantized::conv2d. */
static bool composite_is_named(const char *key) {
    return !strncmp(key, "aten::", 6) || !strncmp(key, "torchvision::", 13) ||
           !strncmp(key, "ctsc::", 6);
}

const char *composite_derivative(const char *key, int i) {
    char stem[160];
    if (!composite_is_named(key)) return NULL;
    pthread_once(&composite_names_once, composite_read_names);
    const composite_names *c = composite_known;
    composite_name(key, stem, sizeof stem);
    size_t first = c ? (size_t)(uintptr_t)strmap_get(&c->first, stem) : 0, n = strlen(stem);
    if (!first || first - 1 + (size_t)i >= c->names.len) return NULL;
    const char *name = c->names.data[first - 1 + (size_t)i];
    return !strncmp(name, stem, n) && composite_stem(name, strlen(name)) == n ? name : NULL;
}

function *composite_library_function(const char *name, diag *d) {
    unit *u = composite_unit_get(d);
    if (!u) return NULL;
    pthread_mutex_lock(&u->lock);
    function *f = composite_compile(u, name, d);
    pthread_mutex_unlock(&u->lock);
    return f;
}

function *op_composite_body(const op *o, diag *d) {
    void **known = &((op *)o)->fn_ctx;
    function *f = __atomic_load_n(known, __ATOMIC_ACQUIRE);
    if (f) return f;
    unit *u = composite_unit_get(d);
    if (!u) return NULL;
    pthread_mutex_lock(&u->lock);
    f = *known; /* meanwhile another thread may have been here */
    if (!f) f = composite_find(u, o, d);
    __atomic_store_n(known, f, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&u->lock);
    return f;
}

/* Takes out. */
static ctsc_status composite_results(op_ctx *cx, value out, value *results) {
    int n = cx->op->schema->nreturns;
    if (n == 1) return results[0] = out, CTSC_OK;
    for (int i = 0; i < n; i++) results[i] = value_ref(out.u.tuple->items[i]);
    value_unref(out);
    return CTSC_OK;
}

ctsc_status op_composite(op_ctx *cx, const value *args, value *results) {
    diag own = {.max_tensor = cx->diag ? cx->diag->max_tensor : 0};
    value out = value_none();
    function *f = op_composite_body(cx->op, cx->diag);
    if (!f) return cx->diag ? cx->diag->status : CTSC_INTERNAL;
    op_ctx inner = *cx;
    inner.diag = &own;
    runtime rt;
    if (!cx->interp && !cx->rt) { /* constants are being folded */
        runtime_init(&rt);
        inner.rt = &rt;
    }
    ctsc_status st = interp_call_from_op(&inner, f, cx->op->schema->nargs, args, &out);
    if (st == CTSC_OK) return composite_results(cx, out, results);
    diag_fail(cx->diag, st, "%s", diag_message(&own));
    diag_clear(&own);
    return st;
}

/* ctsc::fail(message): how a body refuses its arguments. */
ctsc_status op_fail(op_ctx *cx, const value *args, value *results);
ctsc_status op_fail(op_ctx *cx, const value *args, value *results) {
    (void)results;
    return diag_fail(cx->diag, CTSC_FAILED, "%s", args[0].u.str->bytes);
}

/* ctsc::type_name(t): "Float", as messages name dtypes. */
/* How many floats PyTorch's vectors have on this processor; 0: it uses none. */
ctsc_status op_float_lanes(op_ctx *cx, const value *args, value *results);
ctsc_status op_float_lanes(op_ctx *cx, const value *args, value *results) {
    int lanes = isa_table[isa_best()].lanes;
    (void)cx, (void)args;
    *results = value_int(lanes > isa_table[ISA_SSE2].lanes ? lanes : 0);
    return CTSC_OK;
}

ctsc_status op_type_name(op_ctx *cx, const value *args, value *results);
ctsc_status op_type_name(op_ctx *cx, const value *args, value *results) {
    const char *name = dtype_table[args[0].u.tensor->dtype].ir_name;
    str *s = str_new(name, strlen(name));
    if (!s) return diag_no_memory(cx->diag);
    return op_return(results, value_str_take(s));
}

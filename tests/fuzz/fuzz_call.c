/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_call.c - one operator after the other with whatever arguments its schema admits: a result,
 * all of whose elements can be read, or an error.
 *
 * The input is a program of up to eight calls. Each names an operator by its place in the list, and
 * gives each argument of its schema a value: numbers at the ends of their ranges, empty, 0-dim,
 * strided, expanded and overlapping tensors of all dtypes, and results of earlier calls, so that
 * views are written through. Operators that read files, wait or print are left out, and blocks of
 * more than 32 MiB are refused. No seeds are needed.
 */
#include "ctsc.h"

#include "base/memory/mem.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CALLS = 8, ARGUMENTS = 24, RESULTS = 8, OPERATORS = 8192, DEPTH = 3, LARGEST = 32 << 20 };

static const char *schemas[OPERATORS];
static size_t nschemas;

/* Values are released at the end; results are arguments of later calls. */
typedef struct source {
    const uint8_t *p, *end;
    ctsc_value *results[RESULTS];
    size_t nresults;
    ctsc_error *e;
} source;

/* ---- the list of operators ------------------------------------------------------------------- */

static void list_one(void *ctx, const ctsc_operator_info *o) {
    static const char *const out[] = {"save", "from_file", "sleep", "wait",  "input", "print",
                                      "warn", "open",      "fork",  "cuda",  "load",  "set_num",
                                      "seed", "empty",     "exit",  "write", "time"};
    (void)ctx;
    if (!o->supported || strncmp(o->key, "aten::", 6) != 0 || nschemas == OPERATORS) return;
    for (size_t i = 0; i < sizeof out / sizeof *out; i++)
        if (strstr(o->key, out[i])) return;
    char *schema = strdup(o->schema);
    if (schema) schemas[nschemas++] = schema;
}

static void *bounded_memory(void *ctx, void *p, size_t size) {
    (void)ctx;
    if (size) return size > LARGEST ? NULL : realloc(p, size);
    free(p);
    return NULL;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    mem_set_hook(bounded_memory, NULL);
    ctsc_set_threads(1);
    ctsc_operators(list_one, NULL);
    return nschemas == 0;
}

/* ---- values from bytes ----------------------------------------------------------------------- */

static unsigned take(source *s, unsigned n) { return s->p < s->end && n ? *s->p++ % n : 0; }

static int64_t take_int(source *s) {
    static const int64_t ends[] = {0,
                                   1,
                                   -1,
                                   2,
                                   3,
                                   4,
                                   5,
                                   -2,
                                   7,
                                   8,
                                   64,
                                   255,
                                   INT32_MAX,
                                   INT32_MIN,
                                   (int64_t)1 << 32,
                                   INT64_MAX,
                                   INT64_MIN,
                                   -INT64_MAX,
                                   (int64_t)1 << 62};
    unsigned k = take(s, 48);
    return k < sizeof ends / sizeof *ends ? ends[k] : (int64_t)k % 6 - 1;
}

static double take_float(source *s) {
    static const double ends[] = {0,     0.5,       1,      -1,     2,     -0.0, 1e-40,
                                  1e300, -INFINITY, 3.4e38, 1e-300, 65504, 1e-8, INFINITY};
    unsigned k = take(s, 20);
    return k == 19 ? (double)NAN : ends[k % (sizeof ends / sizeof *ends)];
}

/* Most bytes make numbers of ordinary size; some make any bits at all. */
static void take_elements(source *s, ctsc_value *t, size_t bytes) {
    uint8_t *p = ctsc_tensor_data(t);
    unsigned way = take(s, 4), seed = take(s, 256);
    for (size_t i = 0; p && i < bytes; i++)
        p[i] = way == 0   ? (uint8_t)(seed + i * 37)
               : way == 1 ? (uint8_t)(i % 4 == 3   ? 0x3f
                                      : i % 4 == 2 ? 0x80 + i * 4
                                                   : 0)
               : way == 2 ? (uint8_t)(i % 8 ? 0 : i / 8 % 5)
                          : 0;
    if (ctsc_tensor_dtype(t) == CTSC_BOOL)
        for (size_t i = 0; i < bytes; i++) p[i] &= 1;
}

static ctsc_value *take_call(source *s, const char *op, ctsc_value *t, int64_t a, int64_t b) {
    ctsc_value *args[] = {t, ctsc_int_new(a), ctsc_int_new(b)}, *out = NULL;
    if (ctsc_call(op, 3, args, &out, s->e) != CTSC_OK) out = ctsc_value_copy(t);
    ctsc_value_free(args[1]);
    ctsc_value_free(args[2]);
    ctsc_value_free(t);
    return out;
}

static ctsc_value *take_tensor(source *s) {
    static const ctsc_dtype often[] = {
        CTSC_FLOAT32,    CTSC_INT64,     CTSC_BOOL,    CTSC_BFLOAT16,     CTSC_FLOAT64, CTSC_UINT8,
        CTSC_FLOAT16,    CTSC_COMPLEX64, CTSC_FLOAT32, CTSC_INT32,        CTSC_INT8,    CTSC_INT16,
        CTSC_COMPLEX128, CTSC_UINT16,    CTSC_UINT64,  CTSC_FLOAT8_E4M3FN};
    static const int64_t sides[] = {2, 3, 1, 4, 0, 5, 7, 16, 17};
    if (s->nresults && take(s, 4) == 1)
        return ctsc_value_copy(s->results[take(s, RESULTS) % s->nresults]);
    int64_t sizes[5];
    size_t bytes = 1;
    ctsc_value *t = NULL;
    ctsc_dtype dtype = often[take(s, sizeof often / sizeof *often)];
    int ndim = (int)take(s, 6);
    for (int i = 0; i < ndim; i++) {
        sizes[i] = sides[take(s, ndim < 4 ? 9 : 6)];
        bytes *= (size_t)sizes[i];
    }
    if (ctsc_tensor_new(dtype, ndim, sizes, &t, s->e) != CTSC_OK) return ctsc_none_new();
    take_elements(s, t, bytes * ctsc_dtype_describe(dtype)->bytes);
    switch (take(s, 8)) {
    case 1: return take_call(s, "aten::transpose", t, 0, -1);
    case 2: return take_call(s, "aten::transpose", t, take_int(s), take_int(s));
    case 3: return take_call(s, "aten::unfold", take_call(s, "aten::select", t, -1, 0), 0, 1);
    default: return t;
    }
}

static ctsc_value *take_string(source *s) {
    static const char *const texts[] = {"",        "mean", "sum",  "none",  "reflect",   "constant",
                                        "ij",      "fro",  "nuc",  "floor", "trunc",     "linear",
                                        "nearest", "tanh", "amax", "prod",  "ij,jk->ik", "...i",
                                        "valid",   "same", "{} {}"};
    const char *t = texts[take(s, sizeof texts / sizeof *texts)];
    return ctsc_string_new(t, strlen(t));
}

static ctsc_value *take_value(source *s, const char *type, size_t len, int depth);

static ctsc_value *take_list(source *s, const char *type, size_t len, int depth) {
    ctsc_value *items[6] = {NULL};
    size_t n = take(s, 7);
    if (n > 5) n = 1;
    for (size_t i = 0; i < n; i++) items[i] = take_value(s, type, len, depth + 1);
    ctsc_value *list = ctsc_list_new(n, items);
    for (size_t i = 0; i < n; i++) ctsc_value_free(items[i]);
    return list ? list : ctsc_none_new();
}

static bool starts(const char *type, size_t len, const char *with) {
    return len >= strlen(with) && !memcmp(type, with, strlen(with));
}

static ctsc_value *take_value(source *s, const char *type, size_t len, int depth) {
    if (len && type[len - 1] == '?') {
        if (take(s, 2) == 0) return ctsc_none_new();
        len--;
    }
    if (len && type[len - 1] == ']' && depth < DEPTH) {
        while (len && type[len - 1] != '[') len--;
        return take_list(s, type, len - 1, depth);
    }
    if (starts(type, len, "Tensor")) return take_tensor(s);
    if (starts(type, len, "int") || starts(type, len, "SymInt")) return ctsc_int_new(take_int(s));
    if (starts(type, len, "float")) return ctsc_float_new(take_float(s));
    if (starts(type, len, "bool")) return ctsc_bool_new(take(s, 2));
    if (starts(type, len, "str")) return take_string(s);
    if (starts(type, len, "complex")) return ctsc_complex_new(take_float(s), take_float(s));
    switch (take(s, 4)) { /* Scalar, and types without a case of their own */
    case 0: return ctsc_int_new(take_int(s));
    case 1: return ctsc_float_new(take_float(s));
    case 2: return take_tensor(s);
    default: return ctsc_none_new();
    }
}

/* ---- calls ----------------------------------------------------------------------------------- */

enum { NAME = 64 };

/* An argument of a schema. Its type is without the alias mark: "Tensor(a!)?" is "Tensor?". */
typedef struct argument {
    char type[NAME], name[NAME];
    size_t len; /* of the type */
} argument;

/* False: there is none at *p, which moves behind it. *keyword: from here on they go by name. */
static bool next_argument(const char **p, argument *a, bool *keyword) {
    int depth = 0;
    size_t nname = 0;
    const char *at = *p;
    for (; *at == ' ' || *at == ',' || *at == '*'; at++) *keyword |= *at == '*';
    if (!*at || *at == ')') return false;
    a->len = 0;
    for (int part = 0; *at && (depth || (*at != ',' && *at != ')')); at++) {
        if (*at == '(') depth++;
        if (!depth && (*at == ' ' || *at == '=')) part++;
        else if (!part && !depth && a->len < NAME - 1) a->type[a->len++] = *at;
        else if (part == 1 && nname < NAME - 1) a->name[nname++] = *at;
        if (*at == ')') depth--;
    }
    a->type[a->len] = a->name[nname] = '\0';
    *p = at;
    return true;
}

static volatile unsigned read_sum;

static void read_all(const ctsc_value *v, int depth) {
    if (ctsc_value_kind(v) == CTSC_KIND_TENSOR) {
        ctsc_string_free(ctsc_value_print(v));
        ctsc_value *c = NULL;
        if (ctsc_tensor_contiguous(v, &c, NULL) == CTSC_OK) {
            size_t n = ctsc_dtype_describe(ctsc_tensor_dtype(c))->bytes;
            for (int i = 0; i < ctsc_tensor_ndim(c); i++) n *= (size_t)ctsc_tensor_sizes(c)[i];
            const uint8_t *p = ctsc_tensor_data(c);
            for (size_t i = 0; p && i < n; i++) read_sum += p[i];
        }
        ctsc_value_free(c);
    } else if (depth < DEPTH) {
        for (size_t i = 0; i < ctsc_value_len(v); i++) {
            ctsc_value *item = ctsc_value_item(v, i);
            if (item) read_all(item, depth + 1);
            ctsc_value_free(item);
        }
    }
}

static void keep(source *s, ctsc_value *v) {
    if (ctsc_value_kind(v) == CTSC_KIND_TENSOR && s->nresults < RESULTS)
        s->results[s->nresults++] = v;
    else ctsc_value_free(v);
}

static void one_call(source *s) {
    const char *schema = schemas[(take(s, 256) << 8 | take(s, 256)) % nschemas];
    const char *p = strchr(schema, '(');
    char name[128];
    size_t nargs = 0;
    bool keyword = false;
    argument of[ARGUMENTS];
    const char *names[ARGUMENTS];
    ctsc_value *args[ARGUMENTS], *out = NULL;
    if (!p || (size_t)(p - schema) >= sizeof name) return;
    memcpy(name, schema, (size_t)(p - schema));
    name[p++ - schema] = '\0';
    for (; nargs < ARGUMENTS && next_argument(&p, &of[nargs], &keyword); nargs++) {
        args[nargs] = take_value(s, of[nargs].type, of[nargs].len, 0);
        names[nargs] = keyword ? of[nargs].name : NULL;
    }
    if (ctsc_call_with(name, nargs, names, args, &out, s->e) == CTSC_OK) {
        read_all(out, 0);
        keep(s, out);
    }
    for (size_t i = 0; i < nargs; i++) {
        read_all(args[i], 0);
        keep(s, args[i]);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    source s = {.p = data, .end = data + size, .e = ctsc_error_new()};
    for (int i = 0; i < CALLS && s.p < s.end; i++) one_call(&s);
    for (size_t i = 0; i < s.nresults; i++) ctsc_value_free(s.results[i]);
    ctsc_error_free(s.e);
    return 0;
}

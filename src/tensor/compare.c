/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compare.c - the comparison of results with what was expected.
 *
 * value_close is strict about everything but rounding: kinds of number, dtypes, shapes, the order
 * of a dict's keys. It names the place of the first difference as a Python expression would reach
 * it.
 *
 * Tests: tests/unit/test_value.c
 */
#include "tensor/conjugate.h"
#include "tensor/device.h"
#include "tensor/iter.h"
#include "tensor/quantiser.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* Containers can hold themselves (through Any): comparisons give up at this depth. */
enum { COMPARE_DEPTH = 500 };

/* ---- comparison with tolerance --------------------------------------------------------------- */

typedef struct close_state {
    double rtol, atol;
    strbuf *why;
    strbuf path; /* "[1]['x']" */
    int depth;
} close_state;

/* Begins the explanation: "<what> at <path>: ", or "<what>: " at the top. */
static void close_begin(close_state *st, const char *what) {
    sb_puts(st->why, what);
    if (st->path.len) sb_printf(st->why, " at %s", sb_str(&st->path));
    sb_puts(st->why, ": ");
}

static const char *close_type_name(value v) {
    static const char *const names[] = {
        [V_NONE] = "None",      [V_BOOL] = "bool",       [V_INT] = "int",
        [V_FLOAT] = "float",    [V_DEVICE] = "device",   [V_FUNCTION] = "function",
        [V_UNINIT] = "nothing", [V_COMPLEX] = "complex", [V_STR] = "str",
        [V_TENSOR] = "tensor",  [V_LIST] = "list",       [V_DICT] = "dict",
        [V_TUPLE] = "tuple",    [V_OBJECT] = "object",   [V_ENUM] = "enum",
        [V_FUTURE] = "future",  [V_CAPSULE] = "capsule",
    };
    return names[v.tag];
}

static bool close_number(const close_state *st, double got, double want) {
    if (isnan(got) || isnan(want)) return isnan(got) && isnan(want);
    if (isinf(got) || isinf(want)) return got == want;
    return fabs(got - want) <= st->atol + st->rtol * fabs(want);
}

typedef struct close_tensors {
    const close_state *st;
    dtype dt;
    int64_t at, differ, worst_at;
    double worst; /* NaN counts as more than any number */
} close_tensors;

static void close_add_difference(close_tensors *c, double difference) {
    bool worse = c->differ == 0 || isnan(difference) || difference > c->worst;
    if (worse && !(c->differ && isnan(c->worst))) {
        c->worst = difference;
        c->worst_at = c->at;
    }
    c->differ++;
}

static void close_run_ints(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    close_tensors *c = ctx;
    for (int64_t i = 0; i < n; i++, c->at++) {
        int64_t got = dtype_load_int(c->dt, p[0] + i * s[0]);
        int64_t want = dtype_load_int(c->dt, p[1] + i * s[1]);
        if (got != want) close_add_difference(c, fabs((double)got - (double)want));
    }
}

static void close_run_floats(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    close_tensors *c = ctx;
    for (int64_t i = 0; i < n; i++, c->at++) {
        double got = dtype_load_float(c->dt, p[0] + i * s[0]);
        double want = dtype_load_float(c->dt, p[1] + i * s[1]);
        if (!close_number(c->st, got, want)) close_add_difference(c, fabs(got - want));
    }
}

static void close_run_complex(void *ctx, int64_t n, char *const *p, const int64_t *s) {
    close_tensors *c = ctx;
    size_t half = dtype_size(c->dt) / 2;
    dtype part = half == 2 ? DT_FLOAT16 : half == 4 ? DT_FLOAT32 : DT_FLOAT64;
    for (int64_t i = 0; i < n; i++, c->at++) {
        const char *got = p[0] + i * s[0], *want = p[1] + i * s[1];
        double re = dtype_load_float(part, got), want_re = dtype_load_float(part, want);
        double im = dtype_load_float(part, got + half),
               want_im = dtype_load_float(part, want + half);
        if (!close_number(c->st, re, want_re) || !close_number(c->st, im, want_im))
            close_add_difference(c, hypot(re - want_re, im - want_im));
    }
}

/* The index of the k-th element in row-major order. */
static void close_print_index(const tensor *t, int64_t k, strbuf *out) {
    int64_t index[TENSOR_MAX_DIMS];
    for (int i = t->ndim - 1; i >= 0; i--) {
        index[i] = k % t->sizes[i];
        k /= t->sizes[i];
    }
    tensor_print_sizes(t->ndim, index, out);
}

/* Both on the host. */
static bool close_host_tensors(close_state *st, tensor *got, tensor *want) {
    if (got->dtype != want->dtype) {
        close_begin(st, "tensor");
        sb_printf(st->why, "dtype %s, expected %s", dtype_table[got->dtype].torch_name,
                  dtype_table[want->dtype].torch_name);
        return false;
    }
    if (!tensor_same_shape(got, want)) {
        close_begin(st, "tensor");
        sb_puts(st->why, "shape ");
        tensor_print_sizes(got->ndim, got->sizes, st->why);
        sb_puts(st->why, ", expected ");
        tensor_print_sizes(want->ndim, want->sizes, st->why);
        return false;
    }
    if (!quantiser_equal(got->quantiser, want->quantiser)) {
        close_begin(st, "tensor");
        sb_puts(st->why, "quantised with another scale or zero point");
        return false;
    }
    close_tensors c = {.st = st, .dt = (dtype)got->dtype};
    tensor *operands[] = {got, want};
    iter_kernel kernel = dtype_is_complex(c.dt)                          ? close_run_complex
                         : dtype_is_float(c.dt) || dtype_is_float8(c.dt) ? close_run_floats
                                                                         : close_run_ints;
    iter_run_ordered(got->ndim, got->sizes, 2, operands, kernel, &c);
    if (c.differ == 0) return true;
    close_begin(st, "tensor");
    sb_printf(st->why, "%" PRId64 " of %" PRId64 " elements differ, largest |difference| %g at ",
              c.differ, got->numel, c.worst);
    close_print_index(got, c.worst_at, st->why);
    return false;
}

/* On the host, with its elements in memory. */
static bool close_read(tensor *t, tensor **out) {
    tensor *here;
    if (tensor_to_device(NULL, t, DEVICE_HOST, &here) != CTSC_OK) return false;
    bool ok = tensor_resolve(NULL, here, out) == CTSC_OK;
    tensor_unref(here);
    return ok;
}

static bool close_tensor_values(close_state *st, tensor *got, tensor *want) {
    tensor *a, *b;
    bool same = false;
    if (!close_read(got, &a)) return false;
    if (close_read(want, &b)) {
        same = close_host_tensors(st, a, b);
        tensor_unref(b);
    }
    tensor_unref(a);
    return same;
}

static bool close_values(close_state *st, value got, value want);

/* Compares one element, with `fmt` describing the step to it. */
static bool close_element(close_state *st, value got, value want, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static bool close_element(close_state *st, value got, value want, const char *fmt, ...) {
    size_t len = st->path.len;
    va_list ap;
    va_start(ap, fmt);
    sb_vprintf(&st->path, fmt, ap);
    va_end(ap);
    st->depth++;
    bool same = close_values(st, got, want);
    st->depth--;
    st->path.len = len;
    if (st->path.data) st->path.data[len] = '\0';
    return same;
}

static bool close_lengths(close_state *st, const char *what, size_t got, size_t want) {
    if (got == want) return true;
    close_begin(st, what);
    sb_printf(st->why, "%zu elements, expected %zu", got, want);
    return false;
}

static bool close_lists(close_state *st, const list *got, const list *want) {
    if (!close_lengths(st, "list", got->len, want->len)) return false;
    for (size_t i = 0; i < got->len; i++) {
        value x = list_get(got, i), y = list_get(want, i);
        bool same = close_element(st, x, y, "[%zu]", i);
        value_unref(x);
        value_unref(y);
        if (!same) return false;
    }
    return true;
}

static bool close_tuples(close_state *st, const tuple *got, const tuple *want) {
    if (!close_lengths(st, "tuple", got->len, want->len)) return false;
    for (size_t i = 0; i < got->len; i++)
        if (!close_element(st, got->items[i], want->items[i], "[%zu]", i)) return false;
    return true;
}

static void close_print_key(value key, strbuf *out) {
    switch (key.tag) {
    case V_STR: sb_printf(out, "'%s'", key.u.str->bytes); break;
    case V_INT: sb_printf(out, "%" PRId64, key.u.i); break;
    case V_BOOL: sb_puts(out, key.u.b ? "True" : "False"); break;
    case V_FLOAT: sb_printf(out, "%g", key.u.f); break;
    default: sb_printf(out, "<%s>", close_type_name(key));
    }
}

static size_t close_next_entry(const dict *d, size_t i) {
    while (i < d->used && d->entries[i].key.tag == V_UNINIT) i++;
    return i;
}

static bool close_keys(close_state *st, value got, value want) {
    bool same = got.tag == V_TENSOR || (got.tag == want.tag && value_equal(got, want));
    if (same) return true;
    close_begin(st, "dict");
    sb_puts(st->why, "key ");
    close_print_key(got, st->why);
    sb_puts(st->why, ", expected ");
    close_print_key(want, st->why);
    return false;
}

static bool close_dicts(close_state *st, const dict *got, const dict *want) {
    if (!close_lengths(st, "dict", got->len, want->len)) return false;
    size_t i = 0, j = 0;
    for (size_t n = 0; n < got->len; n++, i++, j++) {
        i = close_next_entry(got, i);
        j = close_next_entry(want, j);
        const dict_entry *x = &got->entries[i], *y = &want->entries[j];
        if (!close_keys(st, x->key, y->key)) return false;
        strbuf key = STRBUF_INIT;
        close_print_key(x->key, &key);
        bool same = close_element(st, x->val, y->val, "[%s]", sb_str(&key));
        sb_free(&key);
        if (!same) return false;
        /* Tensors are keys by identity, which no file preserves: such keys compare by content. */
        if (x->key.tag == V_TENSOR && !close_element(st, x->key, y->key, " key %zu", n))
            return false;
    }
    return true;
}

static bool close_fail_scalars(close_state *st, value got, value want) {
    close_begin(st, close_type_name(got));
    strbuf *out = st->why;
    switch (got.tag) {
    case V_BOOL:
        sb_printf(out, "%s, expected %s", got.u.b ? "True" : "False", want.u.b ? "True" : "False");
        break;
    case V_INT: sb_printf(out, "%" PRId64 ", expected %" PRId64, got.u.i, want.u.i); break;
    case V_FLOAT: sb_printf(out, "%.17g, expected %.17g", got.u.f, want.u.f); break;
    case V_COMPLEX:
        sb_printf(out, "%.17g%+.17gj, expected %.17g%+.17gj", got.u.complex->re, got.u.complex->im,
                  want.u.complex->re, want.u.complex->im);
        break;
    case V_STR: sb_printf(out, "'%s', expected '%s'", got.u.str->bytes, want.u.str->bytes); break;
    case V_DEVICE:
        sb_printf(out, "device %" PRId64 ", expected %" PRId64, got.u.device, want.u.device);
        break;
    default: sb_puts(out, "values of this type cannot be compared");
    }
    return false;
}

static bool close_values(close_state *st, value got, value want) {
    if (got.tag != want.tag) {
        close_begin(st, close_type_name(got));
        sb_printf(st->why, "expected %s", close_type_name(want));
        return false;
    }
    if (st->depth > COMPARE_DEPTH) {
        close_begin(st, close_type_name(got));
        sb_puts(st->why, "nested too deeply to be compared");
        return false;
    }
    bool same;
    switch (got.tag) {
    case V_TENSOR: return close_tensor_values(st, got.u.tensor, want.u.tensor);
    case V_LIST: return close_lists(st, got.u.list, want.u.list);
    case V_DICT: return close_dicts(st, got.u.dict, want.u.dict);
    case V_TUPLE: return close_tuples(st, got.u.tuple, want.u.tuple);
    case V_FLOAT: same = close_number(st, got.u.f, want.u.f); break;
    case V_COMPLEX:
        same = close_number(st, got.u.complex->re, want.u.complex->re) &&
               close_number(st, got.u.complex->im, want.u.complex->im);
        break;
    case V_NONE:
    case V_BOOL:
    case V_INT:
    case V_STR:
    case V_DEVICE: same = value_equal(got, want); break;
    default: same = false;
    }
    return same || close_fail_scalars(st, got, want);
}

bool value_close(value got, value want, double rtol, double atol, strbuf *why) {
    strbuf unwanted = STRBUF_INIT;
    close_state st = {.rtol = rtol, .atol = atol, .why = why ? why : &unwanted};
    bool same = close_values(&st, got, want);
    sb_free(&st.path);
    sb_free(&unwanted);
    return same;
}

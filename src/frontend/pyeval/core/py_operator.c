/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_operator.c - a + b, a < b, -a, a += b and the truth of objects.
 *
 * Method: tensors first (py_tensor_operator), then numbers, then containers and text, then the
 * methods that a class of the program defines. Integers have 64 bits; what does not fit is an
 * OverflowError. Tests: tests/unit/test_py.c
 */
#include "frontend/pyeval/core/py_internal.h"

#include <math.h>

/* ---- numbers --------------------------------------------------------------------------------- */

typedef struct operand {
    int64_t i;
    double f;
    int rank;
} operand; /* rank: 0 bool, 1 int, 2 float */

static py_object *number_overflow(py *p, source_range r) {
    return py_fail(p, r, "OverflowError", "the result does not fit in a 64 bit integer");
}

static py_object *number_zero(py *p, source_range r, operator_kind op, bool is_float) {
    const char *what = op == O_DIV   ? (is_float ? "float division by zero" : "division by zero")
                       : op == O_MOD ? (is_float ? "float modulo" : "integer modulo by zero")
                       : is_float    ? "float floor division by zero"
                                     : "integer division or modulo by zero";
    return py_fail(p, r, "ZeroDivisionError", "%s", what);
}

static py_object *number_int_pow(py *p, source_range r, int64_t base, int64_t e) {
    if (e < 0) {
        if (base == 0)
            return py_fail(p, r, "ZeroDivisionError", "0.0 cannot be raised to a negative power");
        return py_float(p, pow((double)base, (double)e));
    }
    int64_t result = 1;
    for (bool more = e > 0; more;) {
        if ((e & 1) && __builtin_mul_overflow(result, base, &result)) return number_overflow(p, r);
        e >>= 1;
        more = e > 0;
        if (more && __builtin_mul_overflow(base, base, &base)) return number_overflow(p, r);
    }
    return py_int(p, result);
}

static py_object *number_ints(py *p, source_range r, operator_kind op, operand a, operand b) {
    int64_t x = a.i, y = b.i, z = 0;
    bool over = false, logic = a.rank == 0 && b.rank == 0;
    switch (op) {
    case O_ADD: over = __builtin_add_overflow(x, y, &z); break;
    case O_SUB: over = __builtin_sub_overflow(x, y, &z); break;
    case O_MUL: over = __builtin_mul_overflow(x, y, &z); break;
    case O_DIV: return y ? py_float(p, (double)x / (double)y) : number_zero(p, r, op, false);
    case O_FLOORDIV:
    case O_MOD:
        if (!y) return number_zero(p, r, op, false);
        if (y == -1) {
            if (op == O_MOD) return py_int(p, 0);
            over = __builtin_sub_overflow(0, x, &z);
            break;
        }
        z = op == O_MOD ? x % y : x / y;
        if (x % y != 0 && (x < 0) != (y < 0)) z += op == O_MOD ? y : -1;
        break;
    case O_POW: return number_int_pow(p, r, x, y);
    case O_AND: return logic ? py_bool(p, x & y) : py_int(p, x & y);
    case O_OR: return logic ? py_bool(p, x | y) : py_int(p, x | y);
    case O_XOR: return logic ? py_bool(p, x ^ y) : py_int(p, x ^ y);
    case O_LSHIFT:
        if (y < 0) return py_fail(p, r, "ValueError", "negative shift count");
        over = x != 0 && (y > 62 || (x < 0 ? x < (INT64_MIN >> y) : x > (INT64_MAX >> y)));
        if (!over) z = y > 62 ? 0 : (int64_t)((uint64_t)x << y);
        break;
    case O_RSHIFT:
        if (y < 0) return py_fail(p, r, "ValueError", "negative shift count");
        z = x >> (y > 63 ? 63 : y);
        break;
    default: return NULL;
    }
    return over ? number_overflow(p, r) : py_int(p, z);
}

static double number_floor_mod(double x, double y) {
    double m = fmod(x, y);
    if (m != 0 && (m < 0) != (y < 0)) m += y;
    return m == 0 ? copysign(0, y) : m;
}

static py_object *number_complex(py *p, source_range r, operator_kind op, double ar, double ai,
                                 double br, double bi);

static py_object *number_floats(py *p, source_range r, operator_kind op, double x, double y) {
    switch (op) {
    case O_ADD: return py_float(p, x + y);
    case O_SUB: return py_float(p, x - y);
    case O_MUL: return py_float(p, x * y);
    case O_DIV: return y != 0 ? py_float(p, x / y) : number_zero(p, r, op, true);
    case O_FLOORDIV:
        if (y == 0) return number_zero(p, r, op, true);
        /* (x - m) / y is whole except for rounding */
        return py_float(p, floor((x - number_floor_mod(x, y)) / y + 0.5));
    case O_MOD: return y != 0 ? py_float(p, number_floor_mod(x, y)) : number_zero(p, r, op, true);
    case O_POW:
        if (x == 0 && y < 0)
            return py_fail(p, r, "ZeroDivisionError", "0.0 cannot be raised to a negative power");
        if (x < 0 && y != floor(y) && isfinite(y)) return number_complex(p, r, op, x, 0, y, 0);
        return py_float(p, pow(x, y));
    default: return NULL;
    }
}

static py_object *number_complex(py *p, source_range r, operator_kind op, double ar, double ai,
                                 double br, double bi) {
    double re, im, d = br * br + bi * bi;
    switch (op) {
    case O_ADD: re = ar + br, im = ai + bi; break;
    case O_SUB: re = ar - br, im = ai - bi; break;
    case O_MUL: re = ar * br - ai * bi, im = ar * bi + ai * br; break;
    case O_DIV:
        if (d == 0) return py_fail(p, r, "ZeroDivisionError", "complex division by zero");
        re = (ar * br + ai * bi) / d, im = (ai * br - ar * bi) / d;
        break;
    case O_POW: {
        double modulus = hypot(ar, ai), angle = atan2(ai, ar);
        double length = modulus == 0 ? (br == 0 ? 1 : 0) : pow(modulus, br) * exp(-bi * angle);
        double turn = modulus == 0 ? 0 : bi * log(modulus) + br * angle;
        re = length * cos(turn), im = length * sin(turn);
        break;
    }
    default: return NULL;
    }
    complex_box *c = complex_new(re, im);
    if (c) return py_value_take(p, (value){.tag = V_COMPLEX, .u.complex = c});
    diag_no_memory(p->diag);
    return NULL;
}

static bool number_as_complex(const py_object *o, double *re, double *im) {
    operand n;
    *im = 0;
    if (o->kind == PY_VALUE && o->u.v.tag == V_COMPLEX) {
        *re = o->u.v.u.complex->re;
        *im = o->u.v.u.complex->im;
        return true;
    }
    if (!py_number(o, &n.i, &n.f, &n.rank)) return false;
    *re = n.f;
    return true;
}

/* NULL without an error: these are not numbers, or numbers do not have the operator. */
static py_object *number_binary(py *p, source_range r, operator_kind op, const py_object *a,
                                const py_object *b) {
    operand x, y;
    bool left = py_number(a, &x.i, &x.f, &x.rank), right = py_number(b, &y.i, &y.f, &y.rank);
    if (left && right) {
        if (x.rank < 2 && y.rank < 2) return number_ints(p, r, op, x, y);
        return number_floats(p, r, op, x.f, y.f);
    }
    double ar, ai, br, bi;
    if (number_as_complex(a, &ar, &ai) && number_as_complex(b, &br, &bi))
        return number_complex(p, r, op, ar, ai, br, bi);
    return NULL;
}

/* ---- containers and text --------------------------------------------------------------------- */

static py_object *sequence_concat(py *p, source_range r, const py_object *a, const py_object *b) {
    size_t both = a->u.seq.items.len + b->u.seq.items.len;
    if (!py_room(p, r, (int64_t)both) || !py_work(p, r, both / PY_STEP_ITEMS)) return NULL;
    py_object *o = py_new(p, a->kind);
    for (size_t i = 0; i < a->u.seq.items.len; i++)
        if (!py_append(p, o, a->u.seq.items.data[i])) return NULL;
    for (size_t i = 0; i < b->u.seq.items.len; i++)
        if (!py_append(p, o, b->u.seq.items.data[i])) return NULL;
    return o;
}

static py_object *text_concat(py *p, source_range r, const str *a, const str *b) {
    if (!py_room(p, r, (int64_t)(a->len + b->len))) return NULL;
    str *s = str_new_raw(a->len + b->len);
    if (!s) return diag_no_memory(p->diag), NULL;
    memcpy(s->bytes, a->bytes, a->len);
    memcpy(s->bytes + a->len, b->bytes, b->len);
    return py_value_take(p, value_str_take(s));
}

static py_object *sequence_repeat(py *p, source_range r, const py_object *a, int64_t times) {
    const str *s = py_str_of(a);
    int64_t len = (int64_t)(s ? s->len : a->u.seq.items.len), total;
    if (times < 0) times = 0;
    if (__builtin_mul_overflow(len, times, &total)) total = INT64_MAX;
    if (!py_room(p, r, total) ||
        !py_work(p, r, (uint64_t)total / (s ? PY_STEP_BYTES : PY_STEP_ITEMS)))
        return NULL;
    if (s) {
        str *t = str_new_raw((size_t)total);
        if (!t) return diag_no_memory(p->diag), NULL;
        for (int64_t i = 0; len && i < times; i++)
            memcpy(t->bytes + i * len, s->bytes, (size_t)len);
        return py_value_take(p, value_str_take(t));
    }
    py_object *o = py_new(p, a->kind);
    for (int64_t i = 0; len && i < times; i++)
        for (int64_t k = 0; k < len; k++)
            if (!py_append(p, o, a->u.seq.items.data[k])) return NULL;
    return o;
}

static py_object *set_binary(py *p, source_range r, operator_kind op, const py_object *a,
                             const py_object *b) {
    py_object *o = py_set_new(p);
    if (!py_work(p, r, (a->u.seq.items.len + b->u.seq.items.len) / 2)) return NULL;
    for (size_t i = 0; i < a->u.seq.items.len; i++) {
        py_object *x = a->u.seq.items.data[i];
        bool both = op != O_OR && py_set_find(p, b, x) >= 0;
        if ((op == O_AND ? both : !both) && !py_set_add(p, r, o, x)) return NULL;
    }
    for (size_t i = 0; (op == O_OR || op == O_XOR) && i < b->u.seq.items.len; i++) {
        py_object *x = b->u.seq.items.data[i];
        if ((op == O_OR || py_set_find(p, a, x) < 0) && !py_set_add(p, r, o, x)) return NULL;
    }
    return o;
}

static bool dict_update(py *p, py_dict *into, const py_dict *from) {
    p->steps += from->len / 2;
    for (size_t i = 0; i < from->entries.len; i++) {
        const py_dict_entry e = from->entries.data[i];
        if (e.key && !py_dict_set_key(p, into, e.key, e.val)) return false;
    }
    return true;
}

static bool operator_is_sequence(const py_object *o) {
    return o->kind == PY_LIST || o->kind == PY_TUPLE || py_str_of(o);
}

static bool operator_is_int(const py_object *o, int64_t *out) {
    double f;
    int rank;
    return py_number(o, out, &f, &rank) && rank < 2;
}

static bool operator_is_type(const py_object *o) {
    return o->kind == PY_TYPE || o->kind == PY_CLASS || py_is_none(o);
}

/* What is made of a torch.Size is one. */
static py_object *operator_as(py *p, const py_object *a, py_object *made) {
    return made && py_is_size(a) ? p->library->size_take(p, made) : made;
}

/* NULL without an error: no such operation. */
/* A list that keys() or items() gave, which is a set in operations with others. */
static bool operator_is_view(const py_object *o) { return o->kind == PY_LIST && o->u.seq.seq_cls; }

static py_object *operator_set(py *p, source_range r, py_object *o) {
    if (o->kind == PY_SET) return o;
    py_object *set = py_set_new(p), **items;
    int n;
    if (!py_iterate(p, r, o, &items, &n)) return NULL;
    for (int i = 0; i < n; i++)
        if (!py_set_add(p, r, set, items[i])) return NULL;
    return set;
}

static py_object *container_binary(py *p, source_range r, operator_kind op, py_object *a,
                                   py_object *b) {
    int64_t times;
    if (op == O_MOD && py_str_of(a)) return py_format_percent(p, r, a, b);
    if (op == O_ADD && py_str_of(a) && py_str_of(b))
        return text_concat(p, r, py_str_of(a), py_str_of(b));
    if (op == O_ADD && a->kind == b->kind && (a->kind == PY_LIST || a->kind == PY_TUPLE))
        return operator_as(p, a, sequence_concat(p, r, a, b));
    if (op == O_MUL && operator_is_sequence(a) && operator_is_int(b, &times))
        return operator_as(p, a, sequence_repeat(p, r, a, times));
    if (op == O_MUL && operator_is_sequence(b) && operator_is_int(a, &times))
        return sequence_repeat(p, r, b, times);
    bool of_sets = op == O_OR || op == O_AND || op == O_XOR || op == O_SUB;
    if (of_sets && (operator_is_view(a) || (operator_is_view(b) && a->kind == PY_SET)) &&
        (!(a = operator_set(p, r, a)) || !(b = operator_set(p, r, b))))
        return NULL;
    if (a->kind == PY_SET && b->kind == PY_SET && of_sets) return set_binary(p, r, op, a, b);
    if (op == O_OR && a->kind == PY_DICT && b->kind == PY_DICT) {
        py_dict *d = py_dict_new(p);
        return dict_update(p, d, a->u.dict) && dict_update(p, d, b->u.dict) ? py_dict_object(p, d)
                                                                            : NULL;
    }
    if (op == O_OR && operator_is_type(a) && operator_is_type(b) &&
        !(py_is_none(a) && py_is_none(b)))
        return p->library->type_union(p, r, a, b);
    return NULL;
}

/* ---- the program's own classes --------------------------------------------------------------- */

/*   operator, method, method of the right operand, method of a op= b */
static const struct {
    operator_kind op;
    const char *name, *reflected, *inplace;
} operator_methods[] = {
    {O_ADD, "__add__", "__radd__", "__iadd__"},
    {O_SUB, "__sub__", "__rsub__", "__isub__"},
    {O_MUL, "__mul__", "__rmul__", "__imul__"},
    {O_DIV, "__truediv__", "__rtruediv__", "__itruediv__"},
    {O_FLOORDIV, "__floordiv__", "__rfloordiv__", "__ifloordiv__"},
    {O_MOD, "__mod__", "__rmod__", "__imod__"},
    {O_POW, "__pow__", "__rpow__", "__ipow__"},
    {O_MATMUL, "__matmul__", "__rmatmul__", "__imatmul__"},
    {O_AND, "__and__", "__rand__", "__iand__"},
    {O_OR, "__or__", "__ror__", "__ior__"},
    {O_XOR, "__xor__", "__rxor__", "__ixor__"},
    {O_LSHIFT, "__lshift__", "__rlshift__", "__ilshift__"},
    {O_RSHIFT, "__rshift__", "__rrshift__", "__irshift__"},
    {O_LT, "__lt__", "__gt__", NULL},
    {O_LE, "__le__", "__ge__", NULL},
    {O_GT, "__gt__", "__lt__", NULL},
    {O_GE, "__ge__", "__le__", NULL},
    {O_EQ, "__eq__", "__eq__", NULL},
    {O_NE, "__ne__", "__ne__", NULL},
};

static py_object *method_call(py *p, source_range r, py_object *o, const char *name,
                              py_object *other) {
    py_object *m = py_find_special(p, o, name);
    return m ? py_call1(p, r, m, other) : NULL;
}

static bool operator_is_comparison(operator_kind op) { return op >= O_EQ && op <= O_NOTIN; }

/* NULL without an error: neither class defines it. */
static py_object *method_binary(py *p, source_range r, operator_kind op, py_object *a,
                                py_object *b) {
    for (size_t i = 0; i < sizeof operator_methods / sizeof *operator_methods; i++) {
        if (operator_methods[i].op != op) continue;
        py_object *o = method_call(p, r, a, operator_methods[i].name, b);
        if (py_failed(p) || (o && o->kind != PY_NOT_IMPLEMENTED)) return o;
        if (!operator_is_comparison(op) && py_class_of(p, a) == py_class_of(p, b)) return NULL;
        o = method_call(p, r, b, operator_methods[i].reflected, a);
        return o && o->kind != PY_NOT_IMPLEMENTED ? o : NULL;
    }
    return NULL;
}

/* ---- comparison ------------------------------------------------------------------------------ */

static bool operator_is_own(const py_object *o) {
    return o->kind == PY_INSTANCE || (o->kind == PY_TUPLE && o->u.seq.seq_cls);
}

bool py_equal_objects(py *p, source_range r, py_object *a, py_object *b, bool *out) {
    if (operator_is_own(a) || operator_is_own(b)) {
        py_object *o = method_binary(p, r, O_EQ, a, b);
        if (py_failed(p)) return false;
        if (o) return py_truth(p, r, o, out);
    }
    if (a->kind == b->kind && (a->kind == PY_LIST || a->kind == PY_TUPLE) && a != b) {
        size_t n = a->u.seq.items.len;
        *out = n == b->u.seq.items.len;
        if (!py_work(p, r, 1 + n / PY_STEP_ITEMS)) return false;
        for (size_t i = 0; i < n && *out; i++) {
            if (!py_deeper(p, r)) return false;
            bool ok = py_equal_objects(p, r, a->u.seq.items.data[i], b->u.seq.items.data[i], out);
            p->depth--;
            if (!ok) return false;
        }
        return true;
    }
    *out = py_equal(p, a, b);
    return true;
}

static bool compare_result(operator_kind op, int order) {
    return op == O_LT ? order < 0 : op == O_LE ? order <= 0 : op == O_GT ? order > 0 : order >= 0;
}

static py_object *compare_unsupported(py *p, source_range r, operator_kind op, const py_object *a,
                                      const py_object *b) {
    return py_fail(p, r, "TypeError", "'%s' not supported between instances of '%s' and '%s'",
                   operator_text(op), py_type_name(a), py_type_name(b));
}

static py_object *compare_sequences(py *p, source_range r, operator_kind op, const py_object *a,
                                    const py_object *b) {
    size_t n = a->u.seq.items.len, m = b->u.seq.items.len;
    if (!py_work(p, r, 1 + (n < m ? n : m) / PY_STEP_ITEMS)) return NULL;
    for (size_t i = 0; i < n && i < m; i++) {
        py_object *x = a->u.seq.items.data[i], *y = b->u.seq.items.data[i];
        bool same;
        if (!py_equal_objects(p, r, x, y, &same)) return NULL;
        if (!same) return py_compare(p, r, op, x, y);
    }
    return py_bool(p, compare_result(op, n < m ? -1 : n > m));
}

static bool compare_subset(py *p, const py_object *a, const py_object *b) {
    p->steps += a->u.seq.items.len / 2;
    for (size_t i = 0; i < a->u.seq.items.len; i++)
        if (py_set_find(p, b, a->u.seq.items.data[i]) < 0) return false;
    return true;
}

static py_object *compare_sets(py *p, operator_kind op, const py_object *a, const py_object *b) {
    if (op == O_GT || op == O_GE) {
        const py_object *swap = a;
        a = b;
        b = swap;
    }
    bool strict = op == O_LT || op == O_GT;
    return py_bool(p,
                   compare_subset(p, a, b) && (!strict || a->u.seq.items.len < b->u.seq.items.len));
}

static const py_object *operator_plain(const py_object *o) {
    return o->kind == PY_INSTANCE ? py_plain(o) : o;
}

static py_object *compare_order(py *p, source_range r, operator_kind op, py_object *a,
                                py_object *b) {
    py_object *o = operator_is_own(a) || operator_is_own(b) ? method_binary(p, r, op, a, b) : NULL;
    if (o || py_failed(p)) return o;
    const py_object *x = operator_plain(a), *y = operator_plain(b);
    operand m, n;
    if (py_number(x, &m.i, &m.f, &m.rank) && py_number(y, &n.i, &n.f, &n.rank)) {
        if (m.rank < 2 && n.rank < 2)
            return py_bool(p, compare_result(op, m.i < n.i ? -1 : m.i > n.i));
        if (isnan(m.f) || isnan(n.f)) return p->false_;
        return py_bool(p, compare_result(op, m.f < n.f ? -1 : m.f > n.f));
    }
    const str *s = py_str_of(x), *t = py_str_of(y);
    if (s && t) {
        int c = memcmp(s->bytes, t->bytes, s->len < t->len ? s->len : t->len);
        return py_bool(p, compare_result(op, c ? c : s->len < t->len ? -1 : s->len > t->len));
    }
    if (x->kind == y->kind && (x->kind == PY_LIST || x->kind == PY_TUPLE)) {
        if (!py_deeper(p, r)) return NULL;
        o = compare_sequences(p, r, op, x, y);
        p->depth--;
        return o;
    }
    if (x->kind == PY_SET && y->kind == PY_SET) return compare_sets(p, op, x, y);
    return compare_unsupported(p, r, op, a, b);
}

py_object *py_compare(py *p, source_range r, operator_kind op, py_object *a, py_object *b) {
    bool yes;
    switch (op) {
    case O_IS: return py_bool(p, py_same(a, b));
    case O_ISNOT: return py_bool(p, !py_same(a, b));
    case O_IN:
    case O_NOTIN: return py_contains(p, r, b, a, &yes) ? py_bool(p, yes == (op == O_IN)) : NULL;
    default: break;
    }
    if (py_is_tensor(a) || py_is_tensor(b)) {
        if ((op == O_EQ || op == O_NE) &&
            (py_is_none(a) || py_is_none(b) || py_str_of(a) || py_str_of(b)))
            return py_bool(p, op == O_NE);
        return p->library->tensor_operator(p, r, operator_text(op), a, b);
    }
    if (!p->library->trace_read(p, r, a, "Python boolean") ||
        !p->library->trace_read(p, r, b, "Python boolean"))
        return NULL;
    if (op != O_EQ && op != O_NE) return compare_order(p, r, op, a, b);
    if (op == O_NE && (operator_is_own(a) || operator_is_own(b))) {
        py_object *o = method_binary(p, r, op, a, b);
        if (o || py_failed(p)) return o;
    }
    if (op == O_EQ && operator_is_own(a)) {
        py_object *o = method_binary(p, r, op, a, b);
        if (o || py_failed(p)) return o;
    }
    return py_equal_objects(p, r, a, b, &yes) ? py_bool(p, yes == (op == O_EQ)) : NULL;
}

bool py_less(py *p, source_range r, py_object *a, py_object *b, bool *out) {
    py_object *o = py_compare(p, r, O_LT, a, b);
    return o && py_truth(p, r, o, out);
}

/* ---- operators ------------------------------------------------------------------------------- */

static py_object *operator_record(py *p, source_range r, operator_kind op, const py_object *a,
                                  const py_object *b, py_object *result) {
    static const struct { operator_kind op; const char *name; } names[] = {
        {O_ADD, "aten::add"}, {O_SUB, "aten::sub"},           {O_MUL, "aten::mul"},
        {O_DIV, "aten::div"}, {O_FLOORDIV, "aten::floordiv"}, {O_MOD, "aten::remainder"},
        {O_POW, "aten::pow"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].op == op) return p->library->trace_number(p, r, names[i].name, a, b, result);
    return result;
}

/* What Python's classes do, without the in-place form. NULL without an error: nothing fits. */
static py_object *operator_apply(py *p, source_range r, operator_kind op, py_object *a,
                                 py_object *b) {
    if (py_is_tensor(a) || py_is_tensor(b)) {
        py_object *own = operator_is_own(a) || operator_is_own(b) ? method_binary(p, r, op, a, b)
                                                                  : NULL;
        return own || py_failed(p) ? own
                                   : p->library->tensor_operator(p, r, operator_text(op), a, b);
    }
    py_object *o = number_binary(p, r, op, a, b);
    if (o && py_tracing(p)) return operator_record(p, r, op, a, b, o);
    if (o || py_failed(p)) return o;
    if (operator_is_own(a) || operator_is_own(b)) {
        o = method_binary(p, r, op, a, b);
        if (o || py_failed(p)) return o;
        py_object *x = (py_object *)operator_plain(a), *y = (py_object *)operator_plain(b);
        if (op == O_MOD && py_str_of(x)) y = b; /* formatted as its class says */
        if (x != a || y != b) return operator_apply(p, r, op, x, y);
    }
    return container_binary(p, r, op, a, b);
}

py_object *py_binary(py *p, source_range r, operator_kind op, py_object *a, py_object *b) {
    if (operator_is_comparison(op)) return py_compare(p, r, op, a, b);
    py_object *o = operator_apply(p, r, op, a, b);
    if (o || py_failed(p)) return o;
    return py_fail(p, r, "TypeError", "unsupported operand type(s) for %s: '%s' and '%s'",
                   operator_text(op), py_type_name(a), py_type_name(b));
}

static py_object *inplace_list(py *p, source_range r, operator_kind op, py_object *a,
                               py_object *b) {
    py_object **items;
    int n;
    if (op == O_MUL) {
        py_object *o = py_binary(p, r, op, a, b);
        if (o) memcpy(&a->u.seq.items, &o->u.seq.items, sizeof a->u.seq.items);
        return o ? a : NULL;
    }
    if (!py_iterate(p, r, b, &items, &n) || !py_room(p, r, (int64_t)a->u.seq.items.len + n))
        return NULL;
    for (int i = 0; i < n; i++)
        if (!py_append(p, a, items[i])) return NULL;
    return a;
}

py_object *py_inplace(py *p, source_range r, operator_kind op, py_object *a, py_object *b) {
    if (a->kind == PY_LIST && (op == O_ADD || op == O_MUL)) return inplace_list(p, r, op, a, b);
    if (a->kind == PY_DICT && b->kind == PY_DICT && op == O_OR)
        return dict_update(p, a->u.dict, b->u.dict) ? a : NULL;
    if (a->kind == PY_SET && b->kind == PY_SET) {
        py_object *o = py_binary(p, r, op, a, b);
        if (o) memcpy(&a->u.seq.items, &o->u.seq.items, sizeof a->u.seq.items);
        py_set_moved(a);
        return o ? a : NULL;
    }
    if (py_is_tensor(a)) {
        char text[8];
        snprintf(text, sizeof text, "%s=", operator_text(op));
        return p->library->tensor_operator(p, r, text, a, b);
    }
    for (size_t i = 0; operator_is_own(a) && i < sizeof operator_methods / sizeof *operator_methods;
         i++) {
        if (operator_methods[i].op != op || !operator_methods[i].inplace) continue;
        py_object *o = method_call(p, r, a, operator_methods[i].inplace, b);
        if (py_failed(p) || (o && o->kind != PY_NOT_IMPLEMENTED)) return o;
    }
    py_object *o = operator_apply(p, r, op, a, b);
    if (o || py_failed(p)) return o;
    return py_fail(p, r, "TypeError", "unsupported operand type(s) for %s=: '%s' and '%s'",
                   operator_text(op), py_type_name(a), py_type_name(b));
}

py_object *py_unary(py *p, source_range r, operator_kind op, py_object *a) {
    if (op == O_NOT) {
        bool truth;
        return py_truth(p, r, a, &truth) ? py_bool(p, !truth) : NULL;
    }
    if (py_is_tensor(a)) return p->library->tensor_operator(p, r, operator_text(op), a, NULL);
    operand x;
    if (py_number(a, &x.i, &x.f, &x.rank)) {
        if (x.rank < 2 && op == O_NEG && x.i == INT64_MIN) return number_overflow(p, r);
        if (op == O_NEG)
            return p->library->trace_number(p, r, "aten::neg", a, NULL,
                                            x.rank == 2 ? py_float(p, -x.f) : py_int(p, -x.i));
        if (x.rank == 2 && op == O_POS) return py_float(p, x.f);
        if (x.rank < 2) return py_int(p, op == O_INVERT ? ~x.i : x.i);
    } else if (a->kind == PY_VALUE && a->u.v.tag == V_COMPLEX && op != O_INVERT) {
        const complex_box *c = a->u.v.u.complex;
        return op == O_POS ? a : number_complex(p, r, O_SUB, 0, 0, c->re, c->im);
    } else {
        py_object *m = py_find_special(p, a,
                                       op == O_NEG   ? "__neg__"
                                       : op == O_POS ? "__pos__"
                                                     : "__invert__");
        if (m) return py_call0(p, r, m);
        if (py_failed(p)) return NULL;
        const py_object *plain = operator_plain(a);
        if (plain != a) return py_unary(p, r, op, (py_object *)plain);
    }
    return py_fail(p, r, "TypeError", "bad operand type for unary %s: '%s'", operator_text(op),
                   py_type_name(a));
}

/* ---- truth ----------------------------------------------------------------------------------- */

static bool truth_of_instance(py *p, source_range r, py_object *o, bool *out) {
    *out = true;
    py_object *m = py_find_special(p, o, "__bool__");
    if (!m && !py_failed(p)) m = py_find_special(p, o, "__len__");
    const py_object *plain = py_plain(o);
    if (!m && plain != o) return !py_failed(p) && py_truth(p, r, (py_object *)plain, out);
    if (!m) return !py_failed(p);
    py_object *v = py_call0(p, r, m);
    operand n;
    if (!v) return false;
    if (!py_number(v, &n.i, &n.f, &n.rank)) {
        py_fail(p, r, "TypeError", "__bool__ should return bool, returned %s", py_type_name(v));
        return false;
    }
    *out = n.f != 0;
    return true;
}

bool py_truth(py *p, source_range r, py_object *o, bool *out) {
    operand n;
    *out = true;
    switch (o->kind) {
    case PY_VALUE:
        if (!py_is_tensor(o) && !p->library->trace_read(p, r, o, "Python boolean")) return false;
        if (py_number(o, &n.i, &n.f, &n.rank)) *out = n.rank == 2 ? n.f != 0 : n.i != 0;
        else if (o->u.v.tag == V_NONE) *out = false;
        else if (o->u.v.tag == V_STR) *out = o->u.v.u.str->len > 0;
        else if (o->u.v.tag == V_COMPLEX)
            *out = o->u.v.u.complex->re != 0 || o->u.v.u.complex->im != 0;
        else if (o->u.v.tag == V_TENSOR) {
            py_object *v = p->library->trace_item(p, r, o, "aten::Bool", "Python boolean");
            return v && !py_is_tensor(v) && py_truth(p, r, v, out);
        }
        return true;
    case PY_LIST:
    case PY_TUPLE:
    case PY_SET: *out = o->u.seq.items.len > 0; return true;
    case PY_DICT: *out = o->u.dict->len > 0; return true;
    case PY_RANGE: *out = py_range_len(o) > 0; return true;
    case PY_INSTANCE: return truth_of_instance(p, r, o, out);
    default: return true;
    }
}

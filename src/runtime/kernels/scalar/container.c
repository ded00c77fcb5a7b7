/* SPDX-License-Identifier: Apache-2.0 */
/*
 * container.c - the methods of list and dict.
 *
 * One function serves all element and key types; lists keep their flat kind.
 * Tests: tests/unit/test_builtins.c, tests/corpus
 */
#include "runtime/kernels/engine/kernel.h"

static list *container_list(const value *v) { return v->u.list; }
static bool container_index(const list *l, int64_t *i) {
    if (*i < 0) *i += (int64_t)l->len;
    return *i >= 0 && *i < (int64_t)l->len;
}
static ctsc_status container_range_error(op_ctx *cx) {
    return diag_fail(cx->diag, CTSC_FAILED, "list index out of range");
}
static ctsc_status container_give_list(op_ctx *cx, value *results, list *l) {
    return l ? op_return(results, value_list_take(l)) : diag_no_memory(cx->diag);
}
static list *container_like(const list *l, size_t reserve) {
    return list_new((list_kind)l->kind, l->elem, reserve);
}
static bool container_append_all(list *to, const list *from, size_t n) {
    if (!list_reserve(to, to->len + n)) return false;
    for (size_t i = 0; i < n; i++)
        if (!list_append_take(to, list_get(from, i))) return false;
    return true;
}
static list *container_copy(const list *l) {
    list *c = container_like(l, l->len);
    if (c && !container_append_all(c, l, l->len)) {
        value_unref(value_list_take(c));
        return NULL;
    }
    return c;
}

/* ---- lists ----------------------------------------------------------------------------------- */

ctsc_status op_list_len(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_int((int64_t)container_list(args)->len));
}
ctsc_status op_str_len(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_int((int64_t)args[0].u.str->len));
}
ctsc_status op_tensor_len(op_ctx *cx, const value *args, value *results) {
    const tensor *t = arg_tensor(&args[0]);
    if (t->ndim == 0) return diag_fail(cx->diag, CTSC_FAILED, "len() of a 0-d tensor");
    return op_return(results, value_int(t->sizes[0]));
}
ctsc_status op_list_getitem(op_ctx *cx, const value *args, value *results) {
    const list *l = container_list(args);
    int64_t i = arg_int(&args[1]);
    if (!container_index(l, &i)) return container_range_error(cx);
    return op_return(results, list_get(l, (size_t)i));
}
ctsc_status op_list_setitem(op_ctx *cx, const value *args, value *results) {
    list *l = container_list(args);
    int64_t i = arg_int(&args[1]);
    if (!container_index(l, &i)) return container_range_error(cx);
    list_set_take(l, (size_t)i, value_ref(args[2]));
    return op_return(results, value_ref(args[0]));
}
ctsc_status op_list_delete(op_ctx *cx, const value *args, value *results) {
    list *l = container_list(args);
    int64_t i = arg_int(&args[1]);
    (void)results;
    if (!container_index(l, &i))
        return l->len ? container_range_error(cx)
                      : diag_fail(cx->diag, CTSC_FAILED, "pop index out of range");
    value_unref(list_remove_at(l, (size_t)i));
    return CTSC_OK;
}
ctsc_status op_list_append(op_ctx *cx, const value *args, value *results) {
    if (!list_append_take(container_list(args), value_ref(args[1])))
        return diag_no_memory(cx->diag);
    return op_return(results, value_ref(args[0]));
}
ctsc_status op_list_insert(op_ctx *cx, const value *args, value *results) {
    list *l = container_list(args);
    int64_t i = arg_int(&args[1]), n = (int64_t)l->len;
    (void)results;
    if (i < 0) i = i + n < 0 ? 0 : i + n;
    if (i > n) i = n;
    return list_insert_take(l, (size_t)i, value_ref(args[2])) ? CTSC_OK : diag_no_memory(cx->diag);
}
ctsc_status op_list_pop(op_ctx *cx, const value *args, value *results) {
    list *l = container_list(args);
    int64_t i = arg_int(&args[1]);
    if (!l->len) return diag_fail(cx->diag, CTSC_FAILED, "pop from empty list");
    if (!container_index(l, &i)) return container_range_error(cx);
    return op_return(results, list_remove_at(l, (size_t)i));
}
ctsc_status op_list_extend(op_ctx *cx, const value *args, value *results) {
    const list *from = container_list(&args[1]);
    (void)results;
    return container_append_all(container_list(args), from, from->len) ? CTSC_OK
                                                                       : diag_no_memory(cx->diag);
}
ctsc_status op_list_iadd(op_ctx *cx, const value *args, value *results) {
    ctsc_status s = op_list_extend(cx, args, results);
    return s == CTSC_OK ? op_return(results, value_ref(args[0])) : s;
}
ctsc_status op_list_clear(op_ctx *cx, const value *args, value *results) {
    (void)cx, (void)results;
    list_clear(container_list(args));
    return CTSC_OK;
}
ctsc_status op_list_copy(op_ctx *cx, const value *args, value *results) {
    return container_give_list(cx, results, container_copy(container_list(args)));
}
ctsc_status op_list_reverse(op_ctx *cx, const value *args, value *results) {
    list *l = container_list(args);
    (void)cx, (void)results;
    for (size_t i = 0, j = l->len; i + 1 < j; i++) {
        value a = list_get(l, i), b = list_get(l, --j);
        list_set_take(l, i, b);
        list_set_take(l, j, a);
    }
    return CTSC_OK;
}
ctsc_status op_list_add(op_ctx *cx, const value *args, value *results) {
    const list *b = container_list(&args[1]);
    list *c = container_copy(container_list(args));
    if (c && !container_append_all(c, b, b->len)) {
        value_unref(value_list_take(c));
        c = NULL;
    }
    return container_give_list(cx, results, c);
}
static ctsc_status container_repeat(op_ctx *cx, const value *l, int64_t n, value *results) {
    const list *from = container_list(l);
    list *c = container_like(from, 0);
    size_t total;
    bool ok = c && (n <= 0 || (size_mul(from->len, (size_t)n, &total) && total < SIZE_MAX / 32 &&
                               list_reserve(c, total)));
    ctsc_status s = CTSC_OK;
    for (int64_t k = 0; ok && s == CTSC_OK && k < n && from->len; k++) {
        if (k % LIMITS_ITERATIONS == 0) s = op_charge(cx, LIMITS_ITERATIONS * (int64_t)from->len);
        ok = s == CTSC_OK && container_append_all(c, from, from->len);
    }
    if (c && !ok) {
        value_unref(value_list_take(c));
        c = NULL;
    }
    return s == CTSC_OK ? container_give_list(cx, results, c) : s;
}
ctsc_status op_list_mul(op_ctx *cx, const value *args, value *results) {
    return container_repeat(cx, &args[0], arg_int(&args[1]), results);
}
ctsc_status op_list_rmul(op_ctx *cx, const value *args, value *results) {
    return container_repeat(cx, &args[1], arg_int(&args[0]), results);
}
ctsc_status op_list_imul(op_ctx *cx, const value *args, value *results) {
    list *l = container_list(args);
    value repeated = value_none();
    TRY(container_repeat(cx, &args[0], arg_int(&args[1]), &repeated));
    list_clear(l);
    bool ok = container_append_all(l, repeated.u.list, repeated.u.list->len);
    value_unref(repeated);
    return ok ? op_return(results, value_ref(args[0])) : diag_no_memory(cx->diag);
}

/* Python's slice over n elements: first index, step, and how many. */
static ctsc_status container_slice_range(op_ctx *cx, const value *args, int64_t n, int64_t *first,
                                         int64_t *step, int64_t *count) {
    int64_t st = arg_int_or(&args[2], 1);
    if (st == INT64_MIN)
        return diag_fail(cx->diag, CTSC_FAILED, "List slice step is out of bounds");
    if (st == 0) return diag_fail(cx->diag, CTSC_FAILED, "List slice should have non-zero step");
    int64_t lo = st > 0 ? 0 : -1, hi = st > 0 ? n : n - 1;
    int64_t a = arg_int_or(&args[0], st > 0 ? 0 : INT64_MAX),
            b = arg_int_or(&args[1], st > 0 ? INT64_MAX : INT64_MIN);
    if (a < 0) a = a < -n ? lo : a + n;
    if (b < 0) b = b < -n ? lo : b + n;
    if (a > hi) a = hi;
    if (b > hi) b = hi;
    if (a < lo) a = lo;
    if (b < lo) b = lo;
    *first = a;
    *step = st;
    uint64_t span = st > 0 ? (b > a ? (uint64_t)(b - a) : 0) : (a > b ? (uint64_t)(a - b) : 0);
    uint64_t stride = st > 0 ? (uint64_t)st : 0 - (uint64_t)st;
    *count = span ? (int64_t)(1 + (span - 1) / stride) : 0;
    return CTSC_OK;
}
ctsc_status op_list_slice(op_ctx *cx, const value *args, value *results) {
    const list *l = container_list(args);
    int64_t first, step, n;
    TRY(container_slice_range(cx, args + 1, (int64_t)l->len, &first, &step, &n));
    list *c = container_like(l, (size_t)n);
    for (int64_t i = 0; c && i < n; i++)
        if (!list_append_take(c, list_get(l, (size_t)(first + i * step)))) {
            value_unref(value_list_take(c));
            c = NULL;
        }
    return container_give_list(cx, results, c);
}
ctsc_status op_str_slice(op_ctx *cx, const value *args, value *results) {
    const str *s = args[0].u.str;
    int64_t first, step, n;
    TRY(container_slice_range(cx, args + 1, (int64_t)s->len, &first, &step, &n));
    str *c = str_new_raw((size_t)n);
    if (!c) return diag_no_memory(cx->diag);
    for (int64_t i = 0; i < n; i++) c->bytes[i] = s->bytes[first + i * step];
    return op_return(results, value_str_take(c));
}

/* ---- searching ------------------------------------------------------------------------------- */

/* The truth of a comparison of two tensors: of one element, or there is none. */
static ctsc_status container_tensor_truth(op_ctx *cx, const char *compare, value a, value b,
                                          bool *out) {
    value args[2] = {a, b}, compared = value_none(), truth = value_none();
    TRY(op_call(cx, compare, 2, args, &compared));
    ctsc_status st = op_call(cx, "aten::is_nonzero", 1, &compared, &truth);
    value_unref(compared);
    if (st == CTSC_OK) *out = arg_bool(&truth);
    return st;
}

/* Equal as Python's == in a list. */
static ctsc_status container_equal(op_ctx *cx, value a, value b, bool *out) {
    if (a.tag != V_TENSOR || b.tag != V_TENSOR) {
        *out = value_equal(a, b);
        return CTSC_OK;
    }
    return container_tensor_truth(cx, "aten::eq.Tensor", a, b, out);
}
static ctsc_status container_search(op_ctx *cx, const list *l, value needle, size_t from,
                                    int64_t *out) {
    *out = -1;
    for (size_t i = from; i < l->len; i++) {
        value v = list_get(l, i);
        bool same = false;
        ctsc_status s = container_equal(cx, v, needle, &same);
        value_unref(v);
        if (s != CTSC_OK) return s;
        if (same) return *out = (int64_t)i, CTSC_OK;
    }
    return CTSC_OK;
}
ctsc_status op_list_contains(op_ctx *cx, const value *args, value *results) {
    int64_t i;
    TRY(container_search(cx, container_list(args), args[1], 0, &i));
    return op_return(results, value_bool(i >= 0));
}
ctsc_status op_list_index(op_ctx *cx, const value *args, value *results) {
    int64_t i;
    TRY(container_search(cx, container_list(args), args[1], 0, &i));
    if (i < 0) {
        strbuf sb = STRBUF_INIT;
        value_print(args[1], &sb);
        ctsc_status s = diag_fail(cx->diag, CTSC_FAILED, "'%s' is not in list", sb_str(&sb));
        sb_free(&sb);
        return s;
    }
    return op_return(results, value_int(i));
}
ctsc_status op_list_count(op_ctx *cx, const value *args, value *results) {
    const list *l = container_list(args);
    int64_t n = 0;
    for (int64_t i = 0, at; (size_t)i < l->len; i = at + 1) {
        TRY(container_search(cx, l, args[1], (size_t)i, &at));
        if (at < 0) break;
        n++;
    }
    return op_return(results, value_int(n));
}
ctsc_status op_list_remove(op_ctx *cx, const value *args, value *results) {
    int64_t i;
    (void)results;
    TRY(container_search(cx, container_list(args), args[1], 0, &i));
    if (i < 0) return diag_fail(cx->diag, CTSC_FAILED, "list.remove(x): x not in list");
    value_unref(list_remove_at(container_list(args), (size_t)i));
    return CTSC_OK;
}
static ctsc_status container_lists_equal(op_ctx *cx, const value *args, bool *out) {
    const list *a = container_list(&args[0]), *b = container_list(&args[1]);
    *out = a->len == b->len;
    for (size_t i = 0; *out && i < a->len; i++) {
        value x = list_get(a, i), y = list_get(b, i);
        ctsc_status s = container_equal(cx, x, y, out);
        value_unref(x);
        value_unref(y);
        if (s != CTSC_OK) return s;
    }
    return CTSC_OK;
}
ctsc_status op_list_eq(op_ctx *cx, const value *args, value *results) {
    bool same;
    TRY(container_lists_equal(cx, args, &same));
    return op_return(results, value_bool(same));
}
ctsc_status op_list_ne(op_ctx *cx, const value *args, value *results) {
    bool same;
    TRY(container_lists_equal(cx, args, &same));
    return op_return(results, value_bool(!same));
}

/* ---- ordering -------------------------------------------------------------------------------- */

/* a < b for elements of a list; script classes are asked through __lt__. */
static ctsc_status container_less(op_ctx *cx, value a, value b, bool *out) {
    value args[2] = {a, b}, r = value_none();
    switch ((value_tag)a.tag) {
    case V_BOOL: return *out = a.u.b < b.u.b, CTSC_OK;
    case V_INT: return *out = a.u.i < b.u.i, CTSC_OK;
    case V_FLOAT: return *out = a.u.f < b.u.f, CTSC_OK;
    case V_STR: {
        size_t n = a.u.str->len < b.u.str->len ? a.u.str->len : b.u.str->len;
        int c = memcmp(a.u.str->bytes, b.u.str->bytes, n);
        return *out = c < 0 || (c == 0 && a.u.str->len < b.u.str->len), CTSC_OK;
    }
    case V_TENSOR: return container_tensor_truth(cx, "aten::lt.Tensor", a, b, out);
    case V_TUPLE:
        for (size_t i = 0; i < a.u.tuple->len && i < b.u.tuple->len; i++) {
            TRY(container_less(cx, a.u.tuple->items[i], b.u.tuple->items[i], out));
            if (*out) return CTSC_OK;
            bool more;
            TRY(container_less(cx, b.u.tuple->items[i], a.u.tuple->items[i], &more));
            if (more) return CTSC_OK;
        }
        return *out = a.u.tuple->len < b.u.tuple->len, CTSC_OK;
    case V_OBJECT: {
        struct function *f = class_find_method(a.u.object->cls, "__lt__");
        if (!f || !cx->interp) break;
        TRY(op_host_installed->call(cx, f, 2, args, &r));
        *out = r.tag == V_BOOL && r.u.b;
        value_unref(r);
        return CTSC_OK;
    }
    default: break;
    }
    return diag_fail(cx->diag, CTSC_FAILED, "the elements of this list cannot be sorted");
}

static bool container_sortable(const type *t) {
    if (t->kind == T_CLASS) return class_find_method((type *)t, "__lt__") != NULL;
    for (int i = 0; t->kind == T_TUPLE && i < t->nelems; i++)
        if (!container_sortable(t->elems[i])) return false;
    return t->kind == T_TUPLE || t->kind == T_INT || t->kind == T_BOOL || t->kind == T_FLOAT ||
           t->kind == T_STR || t->kind == T_TENSOR;
}

/* Lists of anything but numbers, texts and tensors are sorted if all elements are of one
 * type, which has an order. The type is that of the values: a list of Any may hold what
 * cannot be compared. */
static ctsc_status container_check_sortable(op_ctx *cx, const list *l) {
    if (l->kind != LIST_VALUE || !l->len || (l->elem && l->elem->kind == T_STR)) return CTSC_OK;
    type *first = type_of_value(l->u.values[0]), *other = first;
    for (size_t i = 1; i < l->len && other == first; i++) other = type_of_value(l->u.values[i]);
    if (first && other == first && (first->kind == T_TUPLE || first->kind == T_CLASS) &&
        container_sortable(first))
        return CTSC_OK;
    strbuf a = STRBUF_INIT, b = STRBUF_INIT;
    ctsc_status st;
    if (first && first->kind == T_TUPLE && other == first) type_print(first, &a);
    else if (first) type_print_python(first, &a);
    if (other) type_print_python(other, &b);
    if (other != first)
        st = diag_fail(cx->diag, CTSC_FAILED,
                       "Only values of same type can be compared. Found %s and %s", sb_str(&a),
                       sb_str(&b));
    else if (first && first->kind == T_TUPLE)
        st = diag_fail(cx->diag, CTSC_FAILED,
                       "Contained elements in %s are not sortable. Only Int, Bool, Float, String, "
                       "Tensor, a User Defined Class with __lt__ method "
                       "defined or Tuples of aforementionted types can be sorted.",
                       sb_str(&a));
    else
        st = diag_fail(cx->diag, CTSC_FAILED,
                       "Only list of Tensors, ints, floats, bools, strs, a User Defined Class that "
                       "defines the __lt__ compare method or Tuples "
                       "of aforementioned types can be sorted, got list of %s",
                       sb_str(&a));
    sb_free(&a);
    sb_free(&b);
    return st;
}

/* Stable merge sort of n values, tmp as large. Comparisons may fail (they can run a program). */
static ctsc_status container_merge_sort(op_ctx *cx, value *v, value *tmp, size_t n, bool reverse) {
    if (n < 2) return CTSC_OK;
    size_t h = n / 2, i = 0, j = h, k = 0;
    TRY(container_merge_sort(cx, v, tmp, h, reverse));
    TRY(container_merge_sort(cx, v + h, tmp, n - h, reverse));
    while (i < h && j < n) {
        bool right = false;
        TRY(reverse ? container_less(cx, v[i], v[j], &right)
                    : container_less(cx, v[j], v[i], &right));
        tmp[k++] = right ? v[j++] : v[i++];
    }
    while (i < h) tmp[k++] = v[i++];
    memcpy(v, tmp, k * sizeof *v); /* what is left of the right half is in place */
    return CTSC_OK;
}
static ctsc_status container_sort(op_ctx *cx, list *l, bool reverse) {
    size_t n = l->len;
    TRY(container_check_sortable(cx, l));
    if (n < 2) return CTSC_OK;
    value *v = mem_alloc(2 * n * sizeof *v);
    if (!v) return diag_no_memory(cx->diag);
    for (size_t i = 0; i < n; i++) v[i] = list_get(l, i);
    value *tmp = v + n, *order = v;
    /* a failure midway leaves duplicates in v: sort a copy of the references */
    value *copy = mem_alloc(n * sizeof *copy);
    ctsc_status s = copy ? CTSC_OK : diag_no_memory(cx->diag);
    if (copy) {
        memcpy(copy, v, n * sizeof *copy);
        s = container_merge_sort(cx, copy, tmp, n, reverse);
        if (s == CTSC_OK) order = copy;
    }
    if (s == CTSC_OK && l->len == n)
        for (size_t i = 0; i < n; i++) list_set_take(l, i, value_ref(order[i]));
    for (size_t i = 0; i < n; i++) value_unref(v[i]);
    mem_free(copy);
    mem_free(v);
    return s;
}
ctsc_status op_list_sort(op_ctx *cx, const value *args, value *results) {
    (void)results;
    return container_sort(cx, container_list(args), arg_bool(&args[1]));
}
ctsc_status op_list_sorted(op_ctx *cx, const value *args, value *results) {
    list *c = container_copy(container_list(args));
    if (!c) return diag_no_memory(cx->diag);
    ctsc_status s = container_sort(cx, c, false);
    if (s == CTSC_OK) return op_return(results, value_list_take(c));
    value_unref(value_list_take(c));
    return s;
}

/* ---- folding --------------------------------------------------------------------------------- */

static bool container_truth(const list *l, size_t i) {
    value v = list_get(l, i);
    bool t = v.tag == V_FLOAT ? v.u.f != 0 : v.tag == V_STR ? v.u.str->len > 0 : arg_bool(&v);
    value_unref(v);
    return t;
}
ctsc_status op_list_any(op_ctx *cx, const value *args, value *results) {
    const list *l = container_list(args);
    bool any = false;
    (void)cx;
    for (size_t i = 0; i < l->len && !any; i++) any = container_truth(l, i);
    return op_return(results, value_bool(any));
}
ctsc_status op_list_all(op_ctx *cx, const value *args, value *results) {
    const list *l = container_list(args);
    bool all = true;
    (void)cx;
    for (size_t i = 0; i < l->len && all; i++) all = container_truth(l, i);
    return op_return(results, value_bool(all));
}
ctsc_status op_list_sum(op_ctx *cx, const value *args, value *results) {
    const list *l = container_list(args);
    (void)cx;
    if (l->kind == LIST_FLOAT) {
        double sum = 0;
        for (size_t i = 0; i < l->len; i++) sum += l->u.floats[i];
        return op_return(results, value_float(sum));
    }
    uint64_t sum = 0;
    for (size_t i = 0; i < l->len; i++)
        sum += l->kind == LIST_BOOL ? l->u.bools[i] : (uint64_t)l->u.ints[i];
    return op_return(results, value_int((int64_t)sum));
}
static ctsc_status container_minmax(op_ctx *cx, const value *args, value *results, bool max) {
    const list *l = container_list(args);
    if (!l->len)
        return diag_fail(cx->diag, CTSC_FAILED, "%s() arg is an empty sequence",
                         max ? "max" : "min");
    value best = list_get(l, 0);
    for (size_t i = 1; i < l->len; i++) {
        value v = list_get(l, i);
        bool better = false;
        if (max) container_less(cx, best, v, &better); /* numbers only: cannot fail */
        else container_less(cx, v, best, &better);
        if (better) best = v;
    }
    return op_return(results, best);
}
ctsc_status op_list_max_self(op_ctx *cx, const value *args, value *results) {
    return container_minmax(cx, args, results, true);
}
ctsc_status op_list_min_self(op_ctx *cx, const value *args, value *results) {
    return container_minmax(cx, args, results, false);
}
/* min(l, r) of two lists: the lexicographically smaller one */
static ctsc_status container_pick(op_ctx *cx, const value *args, value *results, bool max) {
    const list *a = container_list(&args[0]), *b = container_list(&args[1]);
    bool less = false, more = false;
    for (size_t i = 0; i < a->len && i < b->len && !less && !more; i++) {
        TRY(container_less(cx, list_get(a, i), list_get(b, i), &less));
        TRY(container_less(cx, list_get(b, i), list_get(a, i), &more));
    }
    if (!less && !more) less = a->len < b->len;
    return op_return(results, value_ref(args[less == !max ? 0 : 1]));
}
ctsc_status op_list_max_lists(op_ctx *cx, const value *args, value *results) {
    return container_pick(cx, args, results, true);
}
ctsc_status op_list_min_lists(op_ctx *cx, const value *args, value *results) {
    return container_pick(cx, args, results, false);
}
ctsc_status op_rangelist(op_ctx *cx, const value *args, value *results) {
    int64_t n = arg_int(&args[0]);
    list *l = list_new(LIST_INT, TYPE_INT, n > 0 ? (size_t)n : 0);
    ctsc_status s = CTSC_OK;
    for (int64_t i = 0; l && i < n && s == CTSC_OK; i++) {
        if (i % OP_CHUNK == 0) s = op_charge(cx, OP_CHUNK);
        list_append_take(l, value_int(i)); /* there is room */
    }
    if (s == CTSC_OK) return container_give_list(cx, results, l);
    value_unref(value_list_take(l));
    return s;
}

/* ---- dicts ----------------------------------------------------------------------------------- */

static dict *container_dict(const value *v) { return v->u.dict; }
static ctsc_status container_key_error(op_ctx *cx, value key) {
    strbuf sb = STRBUF_INIT;
    value_print(key, &sb);
    ctsc_status s = diag_fail(cx->diag, CTSC_FAILED, "KeyError: %s", sb_str(&sb));
    sb_free(&sb);
    return s;
}
static ctsc_status container_dict_put(op_ctx *cx, dict *d, value key, value val) {
    return dict_set_take(d, value_ref(key), value_ref(val)) ? CTSC_OK : diag_no_memory(cx->diag);
}
ctsc_status op_dict_len(op_ctx *cx, const value *args, value *results) {
    (void)cx;
    return op_return(results, value_int((int64_t)container_dict(args)->len));
}
ctsc_status op_dict_getitem(op_ctx *cx, const value *args, value *results) {
    value v;
    if (!dict_get(container_dict(args), args[1], &v)) return container_key_error(cx, args[1]);
    return op_return(results, value_ref(v));
}
ctsc_status op_dict_get(op_ctx *cx, const value *args, value *results) {
    value v;
    if (!dict_get(container_dict(args), args[1], &v))
        v = cx->op->schema->nargs > 2 ? args[2] : value_none();
    return op_return(results, value_ref(v));
}
ctsc_status op_dict_setitem(op_ctx *cx, const value *args, value *results) {
    (void)results;
    return container_dict_put(cx, container_dict(args), args[1], args[2]);
}
ctsc_status op_dict_setdefault(op_ctx *cx, const value *args, value *results) {
    value v;
    if (dict_get(container_dict(args), args[1], &v)) return op_return(results, value_ref(v));
    TRY(container_dict_put(cx, container_dict(args), args[1], args[2]));
    return op_return(results, value_ref(args[2]));
}
ctsc_status op_dict_contains(op_ctx *cx, const value *args, value *results) {
    value v;
    (void)cx;
    return op_return(results, value_bool(dict_get(container_dict(args), args[1], &v)));
}
ctsc_status op_dict_delete(op_ctx *cx, const value *args, value *results) {
    (void)results;
    return dict_delete(container_dict(args), args[1]) ? CTSC_OK : container_key_error(cx, args[1]);
}
ctsc_status op_dict_clear(op_ctx *cx, const value *args, value *results) {
    (void)cx, (void)results;
    dict_clear(container_dict(args));
    return CTSC_OK;
}
ctsc_status op_dict_pop(op_ctx *cx, const value *args, value *results) {
    value v;
    if (!dict_get(container_dict(args), args[1], &v)) {
        if (cx->op->schema->nargs > 2) return op_return(results, value_ref(args[2]));
        return container_key_error(cx, args[1]);
    }
    value_ref(v);
    dict_delete(container_dict(args), args[1]);
    return op_return(results, v);
}
static ctsc_status container_pair(op_ctx *cx, const dict_entry *e, value *out) {
    tuple *t = tuple_new(2, NULL);
    if (!t) return diag_no_memory(cx->diag);
    t->items[0] = value_ref(e->key);
    t->items[1] = value_ref(e->val);
    *out = value_tuple_take(t);
    return CTSC_OK;
}
/* The oldest entry, unlike Python. */
ctsc_status op_dict_popitem(op_ctx *cx, const value *args, value *results) {
    dict *d = container_dict(args);
    for (size_t i = 0; i < d->used; i++) {
        if (d->entries[i].key.tag == V_UNINIT) continue;
        TRY(container_pair(cx, &d->entries[i], &results[0]));
        dict_delete(d, d->entries[i].key);
        return CTSC_OK;
    }
    return diag_fail(cx->diag, CTSC_FAILED, "popitem(): dictionary is empty");
}

typedef enum dict_part { DICT_KEYS, DICT_VALUES, DICT_ITEMS } dict_part;

static ctsc_status container_dict_list(op_ctx *cx, const value *args, value *results,
                                       dict_part part) {
    const dict *d = container_dict(args);
    struct type *elem = part == DICT_KEYS ? d->key_type : part == DICT_VALUES ? d->val_type : NULL;
    if (part == DICT_ITEMS && d->key_type && d->val_type) {
        struct type *pair[] = {d->key_type, d->val_type};
        elem = type_tuple(2, pair);
    }
    list *l = list_new(elem ? type_list_kind(elem) : LIST_VALUE, elem, d->len);
    ctsc_status s = l ? CTSC_OK : diag_no_memory(cx->diag);
    for (size_t i = 0; s == CTSC_OK && i < d->used; i++) {
        const dict_entry *e = &d->entries[i];
        value v = value_none();
        if (e->key.tag == V_UNINIT) continue;
        if (part == DICT_ITEMS) s = container_pair(cx, e, &v);
        else v = value_ref(part == DICT_KEYS ? e->key : e->val);
        if (s == CTSC_OK && !list_append_take(l, v)) s = diag_no_memory(cx->diag);
    }
    if (s == CTSC_OK) return op_return(results, value_list_take(l));
    if (l) value_unref(value_list_take(l));
    return s;
}
ctsc_status op_dict_keys(op_ctx *cx, const value *args, value *results) {
    return container_dict_list(cx, args, results, DICT_KEYS);
}
ctsc_status op_dict_values(op_ctx *cx, const value *args, value *results) {
    return container_dict_list(cx, args, results, DICT_VALUES);
}
ctsc_status op_dict_items(op_ctx *cx, const value *args, value *results) {
    return container_dict_list(cx, args, results, DICT_ITEMS);
}
static ctsc_status container_dict_merge(op_ctx *cx, dict *to, const dict *from) {
    for (size_t i = 0; i < from->used; i++)
        if (from->entries[i].key.tag != V_UNINIT)
            TRY(container_dict_put(cx, to, from->entries[i].key, from->entries[i].val));
    return CTSC_OK;
}
ctsc_status op_dict_update(op_ctx *cx, const value *args, value *results) {
    (void)results;
    if (args[0].u.dict == args[1].u.dict) return CTSC_OK;
    return container_dict_merge(cx, container_dict(args), container_dict(&args[1]));
}
static ctsc_status container_give_dict(op_ctx *cx, value *results, dict *d, ctsc_status s) {
    if (s == CTSC_OK) return op_return(results, value_dict_take(d));
    if (d) value_unref(value_dict_take(d));
    return cx->diag && cx->diag->status != CTSC_OK ? s : diag_no_memory(cx->diag);
}
ctsc_status op_dict_copy(op_ctx *cx, const value *args, value *results) {
    const dict *from = container_dict(args);
    dict *d = dict_new(from->key_type, from->val_type);
    return container_give_dict(cx, results, d, d ? container_dict_merge(cx, d, from) : CTSC_LIMIT);
}
/* dict() and dict([(k, v), ...]) */
ctsc_status op_dict_make(op_ctx *cx, const value *args, value *results) {
    const type *t = cx->out_types ? cx->out_types[0] : NULL;
    bool typed = t && t->kind == T_DICT;
    dict *d = dict_new(typed ? t->elems[0] : NULL, typed ? t->elems[1] : NULL);
    ctsc_status s = d ? CTSC_OK : CTSC_LIMIT;
    const list *l = cx->op->schema->nargs ? container_list(args) : NULL;
    for (size_t i = 0; s == CTSC_OK && l && i < l->len; i++) {
        const tuple *p = l->u.values[i].u.tuple;
        s = container_dict_put(cx, d, p->items[0], p->items[1]);
    }
    return container_give_dict(cx, results, d, s);
}

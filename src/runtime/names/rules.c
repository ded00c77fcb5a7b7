/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rules.c - the rules by which results get names of dims: rules.def says which is whose.
 *
 * A rule reads the names and sizes of arguments alone. Dims that are out of range, and arguments
 * that do not fit each other, it leaves to the operator, which refuses them next.
 * Tests: tests/python/test_py_named.py
 */
#include "runtime/kernels/engine/kernel.h"
#include "runtime/names/names.h"

#include <string.h>

/* ---- the table ------------------------------------------------------------------------------- */

static const struct { names_rule rule; const char *families; } rules[] = {
#define NAMES(rule, families) {NAMES_##rule, families},
#define NAMES_UNSUPPORTED(keys) {NAMES_REFUSED, keys},
#define NAMES_REFUSED_AS(key, name)
#define NAMES_NO_LOOKUP(families)
#include "runtime/names/rules.def"
#undef NAMES
#undef NAMES_UNSUPPORTED
#undef NAMES_REFUSED_AS
#undef NAMES_NO_LOOKUP
};

static const struct { const char *key, *name; } refused[] = {
#define NAMES(rule, families)
#define NAMES_UNSUPPORTED(keys)
#define NAMES_REFUSED_AS(key, name) {key, name},
#define NAMES_NO_LOOKUP(families)
#include "runtime/names/rules.def"
#undef NAMES
#undef NAMES_UNSUPPORTED
#undef NAMES_REFUSED_AS
#undef NAMES_NO_LOOKUP
};

enum { WORD = OP_KEY_LENGTH };

/* Is the word among those, or with "~" the one that it is without its "_"? */
static bool rule_lists(const char *families, const char *word, size_t n) {
    for (const char *p = families; *p;) {
        size_t have = strcspn(p, " ");
        bool both = p[have - 1] == '~';
        size_t bare = have - both;
        if (n >= bare && !strncmp(p, word, bare) &&
            (n == bare || (both && n == bare + 1 && word[bare] == '_')))
            return true;
        p += have + (p[have] == ' ');
    }
    return false;
}

/* By the key without "aten::". */
static names_rule rule_find(const char *key) {
    size_t family = strcspn(key, ".");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].rule == NAMES_REFUSED && rule_lists(rules[i].families, key, strlen(key)))
            return NAMES_REFUSED;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].rule != NAMES_REFUSED && rule_lists(rules[i].families, key, family))
            return rules[i].rule;
    return NAMES_REFUSED;
}

static const char *rule_key(const char *key) { return strncmp(key, "aten::", 6) ? NULL : key + 6; }

names_rule names_rule_of(const op *o) {
    char twin[OP_KEY_LENGTH];
    const char *key = rule_key(o->key), *of;
    if (op_named_base(o) || o->traits.calls_others) return NAMES_PASSED;
    if (!key || o->traits.foreign) return NAMES_REFUSED;
    names_rule r = rule_find(key);
    if (r != NAMES_REFUSED || !op_twin_of(o, twin) || !(of = rule_key(twin))) return r;
    /* Another name of the same operator: "multiply". An in-place form has a rule of its own. */
    size_t n = strcspn(key, "."), m = strcspn(of, ".");
    return (key[n - 1] == '_') == (of[m - 1] == '_') ? rule_find(of) : r;
}

const char *names_refused_key(const op *o) {
    const char *key = rule_key(o->key);
    size_t n = key ? strcspn(key, ".") : 0;
    for (size_t i = 0; key && i < sizeof refused / sizeof *refused; i++)
        if (!strcmp(refused[i].key, key) ||
            (strlen(refused[i].key) == n && !strncmp(refused[i].key, key, n)))
            return refused[i].name;
    return NULL;
}

/* ---- arguments ------------------------------------------------------------------------------- */

const value *names_arg(const names_call *c, const char *name) {
    for (int i = 0; i < c->o->schema->nargs; i++)
        if (!strcmp(c->o->schema->args[i].name, name)) return &c->args[i];
    return NULL;
}

static const tensor *rule_tensor(const names_call *c, int i) {
    return i < c->o->schema->nargs && c->args[i].tag == V_TENSOR ? c->args[i].u.tensor : NULL;
}

/* Dim number `of` of the argument; -1: there is none, or it is out of range. */
static int rule_dim(const value *v, size_t of, int ndim) {
    int64_t dim = 0;
    if (v && v->tag == V_INT && !of) dim = v->u.i;
    else if (v && v->tag == V_LIST && v->u.list->kind == LIST_INT && of < v->u.list->len)
        dim = v->u.list->u.ints[of];
    else return -1;
    if (dim < 0) dim += ndim;
    return dim >= 0 && dim < ndim ? (int)dim : -1;
}

static ctsc_status rule_set(names_call *c, const tensor *t) {
    if (t) c->row = names_of(t);
    c->known = t != NULL;
    return CTSC_OK;
}

static void rule_remove(names_row *row, int dim) {
    row->n--;
    for (int i = dim; i < row->n; i++) row->of[i] = row->of[i + 1];
}

/* ---- one tensor ------------------------------------------------------------------------------ */

static ctsc_status rule_reduced(names_call *c) {
    const tensor *t = rule_tensor(c, 0);
    const value *dims = names_arg(c, "dim"), *keep = names_arg(c, "keepdim");
    bool gone[TENSOR_MAX_DIMS] = {false};
    if (!t || !dims) return CTSC_OK; /* all dims are gone */
    rule_set(c, t);
    if (keep && keep->tag == V_BOOL && keep->u.b) return CTSC_OK;
    size_t n = dims->tag == V_INT ? 1 : dims->tag == V_LIST ? dims->u.list->len : 0;
    for (size_t i = 0; i < n; i++) {
        int dim = rule_dim(dims, i, t->ndim);
        if (dim >= 0) gone[dim] = true;
    }
    for (int i = t->ndim; i-- > 0;)
        if (gone[i] || !n) rule_remove(&c->row, i);
    return CTSC_OK;
}

static ctsc_status rule_selected(names_call *c) {
    const tensor *t = rule_tensor(c, 0);
    int dim = t ? rule_dim(names_arg(c, "dim"), 0, t->ndim) : -1;
    rule_set(c, dim < 0 ? NULL : t);
    if (dim >= 0) rule_remove(&c->row, dim);
    return CTSC_OK;
}

/* A dim that cannot be squeezed leaves a view without names, as in PyTorch. */
static ctsc_status rule_squeezed(names_call *c) {
    const tensor *t = rule_tensor(c, 0);
    const value *dims = names_arg(c, "dim");
    rule_set(c, t);
    if (!t || !c->known) return CTSC_OK;
    int only = dims && dims->tag == V_INT ? rule_dim(dims, 0, t->ndim) : -1;
    if (only >= 0) c->known = t->sizes[only] == 1;
    for (int i = t->ndim; i-- > 0;) {
        bool meant = !dims || only == i;
        for (size_t k = 0; dims && dims->tag == V_LIST && k < dims->u.list->len; k++)
            meant |= rule_dim(dims, k, t->ndim) == i;
        if (meant && t->sizes[i] == 1) rule_remove(&c->row, i);
    }
    return CTSC_OK;
}

static ctsc_status rule_swapped(names_call *c) {
    const tensor *t = rule_tensor(c, 0);
    const value *first = names_arg(c, "dim0"), *second = names_arg(c, "dim1");
    if (!first) first = names_arg(c, "axis0"), second = names_arg(c, "axis1");
    rule_set(c, t);
    if (!t || t->ndim < 2) return CTSC_OK;
    int a = first ? rule_dim(first, 0, t->ndim) : t->ndim - 2,
        b = second ? rule_dim(second, 0, t->ndim) : t->ndim - 1;
    if (a < 0 || b < 0) return CTSC_OK;
    const char *kept = c->row.of[a];
    c->row.of[a] = c->row.of[b];
    c->row.of[b] = kept;
    return CTSC_OK;
}

static void rule_print_sizes(const tensor *t, const int64_t *sizes, int n, strbuf *names,
                             strbuf *before, strbuf *after) {
    names_row row = names_of(t);
    names_print(&row, names);
    tensor_print_sizes(t->ndim, t->sizes, before);
    tensor_print_sizes(n, sizes, after);
}

static ctsc_status rule_kept_size(names_call *c) {
    const tensor *t = rule_tensor(c, 0), *like = rule_tensor(c, 1);
    const int64_t *sizes = like ? like->sizes : NULL;
    int n = like ? like->ndim : arg_ints(&c->args[1], &sizes);
    if (!t || !tensor_has_names(t)) return CTSC_OK;
    if (n == t->ndim && (!n || !memcmp(sizes, t->sizes, (size_t)n * sizeof *sizes))) return CTSC_OK;
    strbuf names = STRBUF_INIT, before = STRBUF_INIT, after = STRBUF_INIT;
    rule_print_sizes(t, sizes, n, &names, &before, &after);
    ctsc_status s = diag_fail(
        c->cx->diag, CTSC_FAILED,
        "Cannot resize named tensor with resize_ or resize_as_ (tried to resize Tensor%s with size "
        "%s to %s). This may be caused by passing a named tensor as an `out=` argument; please "
        "ensure that the sizes are the same. ",
        sb_str(&names), sb_str(&before), sb_str(&after));
    sb_free(&names);
    sb_free(&before);
    sb_free(&after);
    return s;
}

static ctsc_status rule_unflattened(names_call *c) {
    return diag_fail(
        c->cx->diag, CTSC_FAILED,
        "unflatten: input is a named tensor but no names were given for unflattened sizes");
}

/* Nothing to flatten; else it is a matter of dims by name. */
static ctsc_status rule_flattened(names_call *c) {
    const tensor *t = rule_tensor(c, 0);
    int start = t ? rule_dim(names_arg(c, "start_dim"), 0, t->ndim) : -1,
        end = t ? rule_dim(names_arg(c, "end_dim"), 0, t->ndim) : -1;
    return start == end ? rule_set(c, t) : names_refuse(c->cx, c->o);
}

/* ---- several tensors ------------------------------------------------------------------------- */

/* Is argument i read? An in-place operator's self is. */
static bool rule_reads(const names_call *c, int i) {
    const alias_info *a = c->o->schema->args[i].alias;
    return !i || !a || !a->write;
}

static ctsc_status rule_join(names_call *c, const tensor *t, const char *action) {
    if (!t) return CTSC_OK;
    names_row row = names_of(t);
    if (c->known) return names_unify(c->cx->diag, &c->row, &row, action);
    c->row = row;
    c->known = true;
    return CTSC_OK;
}

static ctsc_status rule_joined(names_call *c) {
    for (int i = 0; i < c->o->schema->nargs; i++)
        if (rule_reads(c, i)) TRY(rule_join(c, rule_tensor(c, i), "broadcast"));
    return CTSC_OK;
}

static ctsc_status rule_compared(names_call *c) {
    TRY(rule_joined(c));
    c->known = false;
    return CTSC_OK;
}

static ctsc_status rule_listed(names_call *c) {
    const list *l = c->args[0].tag == V_LIST ? c->args[0].u.list : NULL;
    for (size_t i = 0; l && l->kind == LIST_TENSOR && i < l->len; i++) {
        const tensor *t = l->u.tensors[i];
        if (t->ndim == 1 && !t->numel) continue; /* the old kind of an empty tensor */
        TRY(rule_join(c, t, "cat"));
    }
    return CTSC_OK;
}

/* ---- products -------------------------------------------------------------------------------- */

static ctsc_status rule_refuse_batch(names_call *c, const char *what, const tensor *a, int i,
                                     const tensor *b, int k) {
    strbuf sa = STRBUF_INIT, sb = STRBUF_INIT;
    names_row ra = names_of(a), rb = names_of(b);
    names_print(&ra, &sa);
    names_print(&rb, &sb);
    ctsc_status s = diag_fail(c->cx->diag, CTSC_FAILED,
                              "%s: Expected '%s' (index %d of %s) to match '%s' (index %d of %s) "
                              "but they do not match.",
                              what, ra.of[i], i, sb_str(&sa), rb.of[k], k, sb_str(&sb));
    sb_free(&sa);
    sb_free(&sb);
    return s;
}

/* The names of all dims but the last two of both, matched from the right. */
static ctsc_status rule_batches(names_call *c, const char *what, const tensor *a, const tensor *b) {
    int na = a->ndim > 2 ? a->ndim - 2 : 0, nb = b->ndim > 2 ? b->ndim - 2 : 0;
    c->row.n = na > nb ? na : nb;
    c->known = true;
    for (int k = 1; k <= c->row.n; k++) {
        const char *x = k <= na ? tensor_dim_name(a, na - k) : NULL,
                   *y = k <= nb ? tensor_dim_name(b, nb - k) : NULL;
        if (x && y && !names_equal(x, y)) return rule_refuse_batch(c, what, a, na - k, b, nb - k);
        c->row.of[c->row.n - k] = x ? x : y;
    }
    return CTSC_OK;
}

static ctsc_status rule_refuse_twice(names_call *c, const tensor *a, const tensor *b) {
    strbuf sa = STRBUF_INIT, sb = STRBUF_INIT, so = STRBUF_INIT;
    names_row ra = names_of(a), rb = names_of(b);
    names_print(&ra, &sa);
    names_print(&rb, &sb);
    names_print(&c->row, &so);
    ctsc_status s = diag_fail(
        c->cx->diag, CTSC_FAILED,
        "Matrix multiplying Tensor%s with Tensor%s would produce output tensor with duplicate "
        "names %s. Please rename the input tensors with `Tensor.rename` to prevent this.",
        sb_str(&sa), sb_str(&sb), sb_str(&so));
    sb_free(&sa);
    sb_free(&sb);
    sb_free(&so);
    return s;
}

/* Rows of a and columns of b; `turned`: b's rows, it is transposed. */
static ctsc_status rule_multiplied(names_call *c, const tensor *a, const tensor *b, bool turned) {
    if (!a || !b || !a->ndim || !b->ndim || a->ndim == TENSOR_MAX_DIMS) return CTSC_OK;
    if (!tensor_has_names(a) && !tensor_has_names(b)) return CTSC_OK;
    TRY(rule_batches(c, "matmul", a, b));
    names_row *r = &c->row;
    if (turned) r->n = 0; /* b is a matrix */
    for (int i = 0; turned && i < a->ndim - 2; i++) r->of[r->n++] = tensor_dim_name(a, i);
    if (a->ndim >= 2) r->of[r->n++] = tensor_dim_name(a, a->ndim - 2);
    if (b->ndim >= 2) r->of[r->n++] = tensor_dim_name(b, turned ? 0 : b->ndim - 1);
    bool twice = a->ndim >= 2 && b->ndim >= 2 && r->of[r->n - 1] &&
                 names_equal(r->of[r->n - 2], r->of[r->n - 1]);
    return twice ? rule_refuse_twice(c, a, b) : CTSC_OK;
}

static ctsc_status rule_product(names_call *c) {
    return rule_multiplied(c, rule_tensor(c, 0), rule_tensor(c, 1), false);
}

/* What an argument adds to the product: names of either hold. */
static ctsc_status rule_added(names_call *c, const tensor *t) {
    if (!c->known) return rule_set(c, t);
    return t ? rule_join(c, t, "broadcast") : CTSC_OK;
}

static ctsc_status rule_product_added(names_call *c) {
    const tensor *t = rule_tensor(c, 0);
    TRY(rule_multiplied(c, rule_tensor(c, 1), rule_tensor(c, 2), false));
    return rule_added(c, t);
}

static ctsc_status rule_linear(names_call *c) {
    TRY(rule_multiplied(c, rule_tensor(c, 0), rule_tensor(c, 1), true));
    return rule_added(c, rule_tensor(c, 2));
}

static ctsc_status rule_distances(names_call *c) {
    const tensor *a = rule_tensor(c, 0), *b = rule_tensor(c, 1);
    if (!a || !b || a->ndim < 2 || b->ndim < 2) return CTSC_OK;
    TRY(rule_batches(c, "cdist", a, b));
    const char *x = tensor_dim_name(a, a->ndim - 2), *y = tensor_dim_name(b, b->ndim - 2);
    c->row.of[c->row.n++] = x;
    c->row.of[c->row.n++] = y;
    if (!x || !names_equal(x, y)) return CTSC_OK;
    strbuf sa = STRBUF_INIT, sb = STRBUF_INIT;
    names_row ra = names_of(a), rb = names_of(b);
    names_print(&ra, &sa);
    names_print(&rb, &sb);
    ctsc_status s = diag_fail(
        c->cx->diag, CTSC_FAILED,
        "cdist: Attempted to propagate dims '%s' (index -2 of %s) and '%s' (index -2 of %s) to the "
        "output, but that would create a tensor with duplicate names ['%s' '%s']. Please rename "
        "your inputs with Tensor.rename to prevent this.",
        x, sb_str(&sa), y, sb_str(&sb), x, y);
    sb_free(&sa);
    sb_free(&sb);
    return s;
}

/* ---- the rule -------------------------------------------------------------------------------- */

static ctsc_status rule_same(names_call *c) { return rule_set(c, rule_tensor(c, 0)); }

static ctsc_status (*const rule_functions[])(names_call *c) = {
    [NAMES_SAME] = rule_same,
    [NAMES_JOINED] = rule_joined,
    [NAMES_COMPARED] = rule_compared,
    [NAMES_REDUCED] = rule_reduced,
    [NAMES_SELECTED] = rule_selected,
    [NAMES_SQUEEZED] = rule_squeezed,
    [NAMES_SWAPPED] = rule_swapped,
    [NAMES_PRODUCT] = rule_product,
    [NAMES_PRODUCT_ADDED] = rule_product_added,
    [NAMES_LINEAR] = rule_linear,
    [NAMES_DISTANCES] = rule_distances,
    [NAMES_LISTED] = rule_listed,
    [NAMES_EACH] = NULL, /* names_run */
    [NAMES_KEPT_SIZE] = rule_kept_size,
    [NAMES_UNFLATTENED] = rule_unflattened,
    [NAMES_FLATTENED] = rule_flattened,
    [NAMES_EQUAL] = NULL, /* names_run */
};

ctsc_status names_infer(names_call *c, names_rule rule) {
    return rule_functions[rule] ? rule_functions[rule](c) : CTSC_OK;
}

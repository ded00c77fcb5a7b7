/* SPDX-License-Identifier: Apache-2.0 */
/*
 * einsum.c - torch.einsum, and tensordot with it.
 *
 * Method: every operand becomes a view with one dim per subscript of the equation:
 * those of the result first, the ellipsis's dims among them, then those summed over.
 * Dims an operand lacks have size 1, repeated subscripts are a diagonal (their strides
 * added). Pairs of operands are then contracted by one batched matrix product each,
 * once no other operand has the dim to sum over. Tests: tests/unit/test_einsum.c
 */
#include "runtime/kernels/matmul/gemm.h"

#include <string.h>

enum { EINSUM_LABELS = 52, EINSUM_ELLIPSIS = 52, EINSUM_MAX_OPERANDS = 64, EINSUM_MAX_TERMS = 64 };

/* The subscripts of an operand, or of the result. */
typedef struct einsum_term {
    int n;
    uint8_t labels[EINSUM_MAX_TERMS]; /* 0-25: A-Z, 26-51: a-z, or EINSUM_ELLIPSIS */
    bool has_ellipsis;
} einsum_term;

typedef struct einsum_plan {
    int operands;
    einsum_term *terms;           /* one per operand */
    int ellipsis_dims;            /* most dims that an ellipsis covers */
    int count[EINSUM_LABELS];     /* number of occurrences of the label in operands */
    int place[EINSUM_LABELS + 1]; /* its dim in the views, -1: none; of the ellipsis: the first */
    int out_dims, dims;           /* of the result, and of the views */
} einsum_plan;

static int einsum_label(char c) {
    if (c >= 'A' && c <= 'Z') return c - 'A';
    if (c >= 'a' && c <= 'z') return c - 'a' + 26;
    return -1;
}
static char einsum_letter(int label) { return (char)(label < 26 ? 'A' + label : 'a' + label - 26); }

/* ---- reading the equation -------------------------------------------------------------------- */

/* Where its "->" is; its length if it has none. */
static size_t einsum_arrow(const str *eq) {
    size_t at = 0;
    while (at + 1 < eq->len && (eq->bytes[at] != '-' || eq->bytes[at + 1] != '>')) at++;
    return at + 1 < eq->len ? at : eq->len;
}

static ctsc_status einsum_push(diag *d, einsum_term *t, int label) {
    if (t->n == EINSUM_MAX_TERMS) return diag_fail(d, CTSC_LIMIT, "einsum(): too many subscripts");
    t->labels[t->n++] = (uint8_t)label;
    if (label == EINSUM_ELLIPSIS) t->has_ellipsis = true;
    return CTSC_OK;
}

static ctsc_status einsum_bad_subscript(diag *d, size_t index) {
    return diag_fail(d, CTSC_FAILED,
                     "einsum(): invalid subscript given at index %zu in the equation string, "
                     "subscripts must be in [a-zA-Z]",
                     index);
}

static ctsc_status einsum_parse_inputs(diag *d, einsum_plan *p, const char *eq, size_t len) {
    int op = 0;
    for (size_t i = 0; i < len; i++) {
        einsum_term *t = &p->terms[op];
        if (eq[i] == ' ') continue;
        if (eq[i] == '.') {
            if (t->has_ellipsis)
                return diag_fail(
                    d, CTSC_FAILED,
                    "einsum(): found '.' for operand %d for which an ellipsis was already "
                    "found",
                    op);
            if (i + 2 >= len || eq[i + 1] != '.' || eq[i + 2] != '.')
                return diag_fail(
                    d, CTSC_FAILED,
                    "einsum(): found '.' for operand %d that is not part of any ellipsis", op);
            i += 2;
            TRY(einsum_push(d, t, EINSUM_ELLIPSIS));
        } else if (eq[i] == ',') {
            if (++op >= p->operands)
                return diag_fail(
                    d, CTSC_FAILED,
                    "einsum(): fewer operands were provided than specified in the equation");
        } else {
            int label = einsum_label(eq[i]);
            if (label < 0) return einsum_bad_subscript(d, i);
            TRY(einsum_push(d, t, label));
            p->count[label]++;
        }
    }
    if (op != p->operands - 1)
        return diag_fail(d, CTSC_FAILED,
                         "einsum(): more operands were provided than specified in the equation");
    return CTSC_OK;
}

static void einsum_place_ellipsis(einsum_plan *p) {
    p->place[EINSUM_ELLIPSIS] = p->dims;
    p->dims += p->ellipsis_dims;
}

static ctsc_status einsum_parse_output(diag *d, einsum_plan *p, const char *eq, size_t begin,
                                       size_t len) {
    for (size_t i = begin; i < len; i++) {
        if (eq[i] == ' ') continue;
        if (eq[i] == '.') {
            if (p->place[EINSUM_ELLIPSIS] >= 0)
                return diag_fail(d, CTSC_FAILED,
                                 "einsum(): found '.' for output but an ellipsis (...) was already "
                                 "found");
            if (i + 2 >= len || eq[i + 1] != '.' || eq[i + 2] != '.')
                return diag_fail(d, CTSC_FAILED,
                                 "einsum(): found '.' for output that is not part of any ellipsis "
                                 "(...)");
            i += 2;
            einsum_place_ellipsis(p);
            continue;
        }
        int label = einsum_label(eq[i]);
        if (label < 0) return einsum_bad_subscript(d, i);
        if (p->count[label] == 0)
            return diag_fail(
                d, CTSC_FAILED,
                "einsum(): output subscript %c does not appear in the equation for any "
                "input operand",
                eq[i]);
        if (p->place[label] >= 0)
            return diag_fail(d, CTSC_FAILED,
                             "einsum(): output subscript %c appears more than once in the output",
                             eq[i]);
        p->place[label] = p->dims++;
    }
    return CTSC_OK;
}

/* The number of dims that ellipses cover; every operand must have its subscripts' dims. */
static ctsc_status einsum_check_ranks(diag *d, einsum_plan *p, const list *ops) {
    for (int i = 0; i < p->operands; i++) {
        const einsum_term *t = &p->terms[i];
        int ndim = ops->u.tensors[i]->ndim, named = t->n - (t->has_ellipsis ? 1 : 0);
        if (t->has_ellipsis ? named > ndim : named != ndim)
            return diag_fail(
                d, CTSC_FAILED,
                "einsum(): the number of subscripts in the equation (%d)%s(%d) for operand "
                "%d%s",
                named,
                t->has_ellipsis ? " is more than the number of dimensions "
                                : " does not match the number of dimensions ",
                ndim, i, t->has_ellipsis ? "" : " and no ellipsis was given");
        if (t->has_ellipsis && ndim - named > p->ellipsis_dims) p->ellipsis_dims = ndim - named;
    }
    return CTSC_OK;
}

/* Gives every subscript its dim: the result's first, then the others. */
static ctsc_status einsum_place_all(diag *d, einsum_plan *p, const char *eq, size_t arrow,
                                    size_t len) {
    for (int i = 0; i <= EINSUM_LABELS; i++) p->place[i] = -1;
    if (arrow < len) {
        TRY(einsum_parse_output(d, p, eq, arrow + 2, len));
    } else {
        einsum_place_ellipsis(p);
        for (int i = 0; i < EINSUM_LABELS; i++)
            if (p->count[i] == 1) p->place[i] = p->dims++;
    }
    p->out_dims = p->dims;
    for (int i = 0; i < EINSUM_LABELS; i++)
        if (p->count[i] > 0 && p->place[i] < 0) p->place[i] = p->dims++;
    if (p->place[EINSUM_ELLIPSIS] < 0) einsum_place_ellipsis(p);
    return p->dims <= TENSOR_MAX_DIMS ? CTSC_OK
                                      : diag_fail(d, CTSC_LIMIT, "einsum(): too many dimensions");
}

/* ---- operands as views ----------------------------------------------------------------------- */

static ctsc_status einsum_view(diag *d, const einsum_plan *p, int op, const tensor *t,
                               tensor **out) {
    const einsum_term *term = &p->terms[op];
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
    bool seen[EINSUM_LABELS] = {false};
    for (int i = 0; i < p->dims; i++) sizes[i] = 1, strides[i] = 0;
    int dim = 0;
    for (int i = 0; i < term->n; i++) {
        int label = term->labels[i], at = p->place[label];
        if (label == EINSUM_ELLIPSIS) {
            int covered = t->ndim - (term->n - 1);
            at += p->ellipsis_dims - covered;
            for (int j = 0; j < covered; j++, dim++)
                sizes[at + j] = t->sizes[dim], strides[at + j] = t->strides[dim];
            continue;
        }
        if (seen[label] && sizes[at] != t->sizes[dim])
            return diag_fail(
                d, CTSC_FAILED,
                "einsum(): subscript %c is repeated for operand %d but the sizes don't "
                "match, %lld != %lld",
                einsum_letter(label), op, (long long)t->sizes[dim], (long long)sizes[at]);
        seen[label] = true;
        sizes[at] = t->sizes[dim];
        strides[at] += t->strides[dim++];
    }
    return tensor_view_raw(d, t, p->dims, sizes, strides, t->offset, out);
}

/* Sizes of all views must broadcast. */
static ctsc_status einsum_check_sizes(diag *d, const einsum_plan *p, tensor *const *views) {
    for (int dim = 0; dim < p->dims; dim++) {
        int64_t size = 1;
        for (int i = 0; i < p->operands; i++) {
            int64_t own = views[i]->sizes[dim];
            if (own == 1 || own == size) continue;
            if (size == 1) {
                size = own;
                continue;
            }
            for (int label = 0; label < EINSUM_LABELS; label++)
                if (p->place[label] == dim)
                    return diag_fail(
                        d, CTSC_FAILED,
                        "einsum(): subscript %c has size %lld for operand %d which does "
                        "not broadcast with previously seen size %lld",
                        einsum_letter(label), (long long)own, i, (long long)size);
            return diag_fail(
                d, CTSC_FAILED,
                "einsum(): dimension %d covered by ellipsis in operand %dhas size %lld which "
                "does not broadcast with previously seen ellipsis with size %lld for the "
                "respective dimension",
                dim - p->place[EINSUM_ELLIPSIS], i, (long long)own, (long long)size);
        }
    }
    return CTSC_OK;
}

/* ---- contraction ----------------------------------------------------------------------------- */

/* Replaces *t by itself in dtype dt. */
static ctsc_status einsum_cast(diag *d, tensor **t, dtype dt) {
    tensor *cast;
    TRY(tensor_to_dtype(d, *t, dt, &cast));
    tensor_unref(*t);
    *t = cast;
    return CTSC_OK;
}

/* Replaces *t by its sum over the n dims, which stay as size 1. */
static ctsc_status einsum_sum(op_ctx *cx, tensor **t, int n, const int64_t *dims) {
    if (n == 0) return CTSC_OK;
    list *l = list_new(LIST_INT, NULL, (size_t)n);
    bool ok = l != NULL;
    for (int i = 0; ok && i < n; i++) ok = list_append_take(l, value_int(dims[i]));
    ctsc_status st = ok ? CTSC_OK : diag_no_memory(cx->diag);
    value sum = value_none();
    if (ok) {
        value args[3] = {value_tensor_take(*t), value_list_take(l), value_bool(true)};
        st = op_call(cx, "aten::sum.dim_IntList", 3, args, &sum);
    }
    if (l) value_unref(value_list_take(l));
    if (st != CTSC_OK) return st;
    tensor_unref(*t);
    *t = sum.u.tensor;
    return CTSC_OK;
}

/* Dims of a pair by what becomes of them. */
typedef struct einsum_split {
    int nbatch, nleft, nright, nsum;
    int64_t batch[TENSOR_MAX_DIMS], left[TENSOR_MAX_DIMS], right[TENSOR_MAX_DIMS],
        sum[TENSOR_MAX_DIMS];
} einsum_split;

static int64_t einsum_copy_dims(const tensor *t, int n, const int64_t *dims, int64_t *order,
                                int *at) {
    int64_t size = 1;
    for (int i = 0; i < n; i++) {
        order[(*at)++] = dims[i];
        size *= t->sizes[dims[i]];
    }
    return size;
}

/* t as [x, y, z]: the dims of each group folded into one; dims in no group have size 1. */
static ctsc_status einsum_fold(diag *d, const tensor *t, const int *n, const int64_t *const *dims,
                               tensor **out) {
    int64_t order[TENSOR_MAX_DIMS], sizes[3];
    bool used[TENSOR_MAX_DIMS] = {false};
    int at = 0;
    for (int i = 0; i < 3; i++) sizes[i] = einsum_copy_dims(t, n[i], dims[i], order, &at);
    for (int i = 0; i < at; i++) used[order[i]] = true;
    for (int i = 0; i < t->ndim; i++)
        if (!used[i]) order[at++] = i;
    tensor *permuted;
    TRY(tensor_permute(d, t, t->ndim, order, &permuted));
    ctsc_status st = tensor_reshape(d, permuted, 3, sizes, out);
    tensor_unref(permuted);
    return st;
}

/* product: [batch, left, right], back to one dim per subscript. */
static ctsc_status einsum_unfold(diag *d, const tensor *product, const tensor *a, const tensor *b,
                                 const einsum_split *s, tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS], stride = 1;
    for (int i = 0; i < a->ndim; i++) sizes[i] = 1, strides[i] = 0;
    const int n[3] = {s->nright, s->nleft, s->nbatch};
    const int64_t *const dims[3] = {s->right, s->left, s->batch};
    for (int g = 0; g < 3; g++)
        for (int i = n[g] - 1; i >= 0; i--) {
            int64_t dim = dims[g][i];
            sizes[dim] = g == 0 ? b->sizes[dim] : a->sizes[dim];
            strides[dim] = stride;
            stride *= sizes[dim];
        }
    return tensor_view_raw(d, product, a->ndim, sizes, strides, product->offset, out);
}

/* The product's columns shall be the dims that come last in the result, which then has no gaps
 * along its last one: what reads it next reads vectors. */
static void einsum_turn(einsum_split *s, const tensor **a, const tensor **b) {
    if (!s->nleft || !s->nright || s->left[s->nleft - 1] < s->right[s->nright - 1]) return;
    einsum_split turned = *s;
    turned.nleft = s->nright, turned.nright = s->nleft;
    memcpy(turned.left, s->right, sizeof turned.left);
    memcpy(turned.right, s->left, sizeof turned.right);
    *s = turned;
    const tensor *was = *a;
    *a = *b, *b = was;
}

/* Multiplies a and b and sums over the dims whose `summed` is set; all dims stay, those with
 * size 1. */
static ctsc_status einsum_pair(op_ctx *cx, tensor **a, tensor **b, const bool *summed,
                               tensor **out) {
    diag *d = cx->diag;
    einsum_split s = {0};
    int64_t only_a[TENSOR_MAX_DIMS], only_b[TENSOR_MAX_DIMS];
    int na = 0, nb = 0;
    for (int i = 0; i < (*a)->ndim; i++) {
        bool in_a = (*a)->sizes[i] != 1, in_b = (*b)->sizes[i] != 1;
        if (summed[i] && in_a && in_b) s.sum[s.nsum++] = i;
        else if (summed[i] && in_a) only_a[na++] = i;
        else if (summed[i] && in_b) only_b[nb++] = i;
        else if (in_a && in_b) s.batch[s.nbatch++] = i;
        else if (in_a) s.left[s.nleft++] = i;
        else if (in_b) s.right[s.nright++] = i;
    }
    TRY(einsum_sum(cx, a, na, only_a));
    TRY(einsum_sum(cx, b, nb, only_b));
    if (s.nsum == 0 && (*a)->dtype != (*b)->dtype) { /* nothing but products, which promote */
        const dtype common = dtype_promote((dtype)(*a)->dtype, (dtype)(*b)->dtype);
        TRY(einsum_cast(d, a, common));
        TRY(einsum_cast(d, b, common));
    }
    const tensor *ta = *a, *tb = *b;
    if (ta->dtype != tb->dtype)
        return diag_fail(d, CTSC_FAILED, "expected scalar type %s but found %s",
                         dtype_table[ta->dtype].ir_name, dtype_table[tb->dtype].ir_name);
    if (!gemm_supports((dtype)ta->dtype)) return op_refuse_dtype(cx, "bmm", (dtype)ta->dtype);
    einsum_turn(&s, &ta, &tb);
    tensor *fa = NULL, *fb = NULL, *product = NULL;
    const int na3[3] = {s.nbatch, s.nleft, s.nsum}, nb3[3] = {s.nbatch, s.nsum, s.nright};
    const int64_t *const da[3] = {s.batch, s.left, s.sum}, *const db[3] = {s.batch, s.sum, s.right};
    ctsc_status st = einsum_fold(d, ta, na3, da, &fa);
    if (st == CTSC_OK) st = einsum_fold(d, tb, nb3, db, &fb);
    if (st == CTSC_OK) st = matmul_batched(d, fa, fb, &product);
    if (st == CTSC_OK) st = einsum_unfold(d, product, ta, tb, &s, out);
    tensor_unref(fa);
    tensor_unref(fb);
    tensor_unref(product);
    return st;
}

/* Contracts views i and j of the n there are; the result takes the place of the first, or, for a
 * given path, goes to the end, as the path counts on. */
static ctsc_status einsum_step(op_ctx *cx, const einsum_plan *p, tensor **views, int n, int i,
                               int j, bool to_end) {
    bool summed[TENSOR_MAX_DIMS] = {false};
    for (int dim = p->out_dims; dim < p->dims; dim++) {
        summed[dim] = true;
        for (int x = 0; x < n; x++)
            if (x != i && x != j && views[x]->sizes[dim] != 1) summed[dim] = false;
    }
    tensor *product;
    TRY(einsum_pair(cx, &views[i], &views[j], summed, &product));
    tensor_unref(views[i]);
    tensor_unref(views[j]);
    int lo = i < j ? i : j, hi = i < j ? j : i;
    memmove(&views[hi], &views[hi + 1], (size_t)(n - 1 - hi) * sizeof *views);
    if (to_end) {
        memmove(&views[lo], &views[lo + 1], (size_t)(n - 2 - lo) * sizeof *views);
        views[n - 2] = product;
    } else {
        views[lo] = product;
    }
    return CTSC_OK;
}

/* *n: how many views are left, also after a failure. */
static ctsc_status einsum_contract(op_ctx *cx, const einsum_plan *p, const list *path,
                                   tensor **views, int *n) {
    diag *d = cx->diag;
    if (path && path->len != (size_t)(p->operands == 1 ? 1 : (p->operands - 1) * 2))
        return diag_fail(
            d, CTSC_FAILED,
            "einsum(): expected contraction path given in path parameter to be of length "
            "%d, but got length %zu",
            p->operands == 1 ? 1 : (p->operands - 1) * 2, path->len);
    for (int step = 0; *n > 1; step++) {
        int64_t i = path ? path->u.ints[2 * step] : 0, j = path ? path->u.ints[2 * step + 1] : 1;
        if (i < 0 || j < 0 || i >= *n || j >= *n || i == j)
            return diag_fail(d, CTSC_FAILED,
                             "einsum(): invalid pair of operands in the contraction path");
        TRY(einsum_step(cx, p, views, *n, (int)i, (int)j, path != NULL));
        (*n)--;
    }
    int64_t rest[TENSOR_MAX_DIMS];
    int nrest = 0;
    for (int dim = p->out_dims; dim < p->dims; dim++) /* only if there was a single operand */
        if (p->operands == 1) rest[nrest++] = dim;
    return einsum_sum(cx, &views[0], nrest, rest);
}

static ctsc_status einsum_run(op_ctx *cx, einsum_plan *p, const str *eq, const list *ops,
                              const list *path, tensor **out) {
    diag *d = cx->diag;
    size_t arrow = einsum_arrow(eq);
    TRY(einsum_parse_inputs(d, p, eq->bytes, arrow));
    TRY(einsum_check_ranks(d, p, ops));
    TRY(einsum_place_all(d, p, eq->bytes, arrow, eq->len));
    tensor *views[EINSUM_MAX_OPERANDS];
    int n = 0;
    ctsc_status st = CTSC_OK;
    while (n < p->operands && (st = einsum_view(d, p, n, ops->u.tensors[n], &views[n])) == CTSC_OK)
        n++;
    if (st == CTSC_OK) st = einsum_check_sizes(d, p, views);
    if (st == CTSC_OK) st = einsum_contract(cx, p, path, views, &n);
    if (st == CTSC_OK) /* what was summed over has size 1 by now */
        st = tensor_view_raw(d, views[0], p->out_dims, views[0]->sizes, views[0]->strides,
                             views[0]->offset, out);
    for (int i = 0; i < n; i++) tensor_unref(views[i]);
    return st;
}

/* ---- what it takes --------------------------------------------------------------------------- */

/* The sizes that einsum_view gives operand `op`. */
static void einsum_sizes(const einsum_plan *p, int op, const tensor *t, int64_t *sizes) {
    const einsum_term *term = &p->terms[op];
    int dim = 0;
    for (int i = 0; i < p->dims; i++) sizes[i] = 1;
    for (int i = 0; i < term->n; i++) {
        int at = p->place[term->labels[i]], covered = 1;
        if (term->labels[i] == EINSUM_ELLIPSIS) {
            covered = t->ndim - (term->n - 1);
            at += p->ellipsis_dims - covered;
        }
        for (int j = 0; j < covered; j++) sizes[at + j] = t->sizes[dim++];
    }
}

static int64_t einsum_numel(const einsum_plan *p, const int64_t *sizes) {
    int64_t n = 1;
    for (int i = 0; i < p->dims; i++) n *= sizes[i];
    return n;
}

/* Sums a over the dims of `summed` that b lacks; the operations of that. */
static int64_t einsum_sum_work(const einsum_plan *p, int64_t *a, const int64_t *b,
                               const bool *summed) {
    int64_t before = einsum_numel(p, a);
    bool any = false;
    for (int dim = p->out_dims; dim < p->dims; dim++)
        if (summed[dim] && a[dim] != 1 && (!b || b[dim] == 1)) a[dim] = 1, any = true;
    return any ? before : 0;
}

/* As einsum_step: sizes[i] and sizes[j] become those of their product. A multiply-add is two
 * operations, a product without a sum one. */
static int64_t einsum_step_work(const einsum_plan *p, int64_t (*sizes)[TENSOR_MAX_DIMS], int n,
                                int i, int j, bool to_end) {
    bool summed[TENSOR_MAX_DIMS] = {false}, deep = false;
    for (int dim = p->out_dims; dim < p->dims; dim++) {
        summed[dim] = true;
        for (int x = 0; x < n; x++)
            if (x != i && x != j && sizes[x][dim] != 1) summed[dim] = false;
    }
    int64_t work = einsum_sum_work(p, sizes[i], sizes[j], summed) +
                   einsum_sum_work(p, sizes[j], sizes[i], summed),
            product[TENSOR_MAX_DIMS];
    for (int dim = 0; dim < p->dims; dim++) {
        product[dim] = sizes[i][dim] == 1 ? sizes[j][dim] : sizes[i][dim];
        deep |= summed[dim] && product[dim] != 1;
    }
    work += einsum_numel(p, product) * (deep ? 2 : 1);
    for (int dim = p->out_dims; dim < p->dims; dim++)
        if (summed[dim]) product[dim] = 1;
    int lo = i < j ? i : j, hi = i < j ? j : i, at = to_end ? n - 2 : lo;
    memmove(&sizes[hi], &sizes[hi + 1], (size_t)(n - 1 - hi) * sizeof *sizes);
    if (to_end) memmove(&sizes[lo], &sizes[lo + 1], (size_t)(n - 2 - lo) * sizeof *sizes);
    memcpy(sizes[at], product, sizeof product);
    return work;
}

static int64_t einsum_plan_work(const einsum_plan *p, const list *ops, const list *path) {
    int64_t sizes[EINSUM_MAX_OPERANDS][TENSOR_MAX_DIMS], work = 0;
    bool all[TENSOR_MAX_DIMS];
    int n = p->operands;
    for (int i = 0; i < n; i++) einsum_sizes(p, i, ops->u.tensors[i], sizes[i]);
    for (int dim = 0; dim < TENSOR_MAX_DIMS; dim++) all[dim] = true;
    if (n == 1) return einsum_sum_work(p, sizes[0], NULL, all);
    for (int step = 0; n > 1; step++, n--) {
        int64_t i = path ? path->u.ints[2 * step] : 0, j = path ? path->u.ints[2 * step + 1] : 1;
        if (i < 0 || j < 0 || i >= n || j >= n || i == j) return 0;
        work += einsum_step_work(p, sizes, n, (int)i, (int)j, path != NULL);
    }
    return work;
}

int64_t einsum_work(const str *equation, const list *ops, const list *path) {
    diag d = {0};
    int64_t work = 0;
    if (!ops->len || ops->len > EINSUM_MAX_OPERANDS ||
        (path && path->len != (ops->len == 1 ? 1 : (ops->len - 1) * 2)))
        return 0;
    einsum_plan p = {.operands = (int)ops->len, .terms = mem_zalloc(ops->len * sizeof *p.terms)};
    if (!p.terms) return -1;
    size_t arrow = einsum_arrow(equation);
    ctsc_status s = einsum_parse_inputs(&d, &p, equation->bytes, arrow);
    if (s == CTSC_OK) s = einsum_check_ranks(&d, &p, ops);
    if (s == CTSC_OK) s = einsum_place_all(&d, &p, equation->bytes, arrow, equation->len);
    if (s == CTSC_OK) work = einsum_plan_work(&p, ops, path);
    diag_clear(&d);
    mem_free(p.terms);
    return work;
}

/* (equation, tensors, path) */
ctsc_status op_einsum(op_ctx *cx, const value *args, value *results) {
    const list *ops = args[1].u.list;
    if (ops->len == 0)
        return diag_fail(cx->diag, CTSC_FAILED, "einsum(): must provide at least one operand");
    if (ops->len > EINSUM_MAX_OPERANDS)
        return diag_fail(cx->diag, CTSC_LIMIT, "einsum(): too many operands");
    einsum_plan p = {.operands = (int)ops->len};
    p.terms = mem_zalloc(ops->len * sizeof *p.terms);
    if (!p.terms) return diag_no_memory(cx->diag);
    tensor *t;
    ctsc_status st = einsum_run(cx, &p, args[0].u.str, ops,
                                args[2].tag == V_LIST ? args[2].u.list : NULL, &t);
    mem_free(p.terms);
    return st == CTSC_OK ? op_return_tensor(results, t) : st;
}

/* The letter of subscript i in an equation: as einsum_label counts. */
static bool einsum_put_label(op_ctx *cx, strbuf *eq, int64_t i, ctsc_status *st) {
    if (i >= 0 && i < EINSUM_LABELS) return sb_putc(eq, einsum_letter((int)i)), true;
    *st = diag_fail(cx->diag, CTSC_FAILED,
                    "einsum(): expected subscripts to be within range [0, %d), but got %lld",
                    EINSUM_LABELS, (long long)i);
    return false;
}

/* The arguments of torch.einsum (equation, tensors, no path; new references) for those of
 * einsum(x, [0, 1], y, [1, 2], [0, 2]): operands and their subscripts in turn, then those of the
 * result, if they are said. */
static ctsc_status einsum_of_sublists(op_ctx *cx, int nargs, const value *args, value call[3]) {
    strbuf eq = STRBUF_INIT;
    list *operands = list_new(LIST_TENSOR, TYPE_TENSOR, 4);
    ctsc_status st = operands ? CTSC_OK : diag_no_memory(cx->diag);
    for (int i = 0; st == CTSC_OK && i < nargs; i += 2) {
        bool last = i + 1 == nargs; /* the result's */
        const value *sub = &args[last ? i : i + 1];
        const int64_t *labels;
        if (sub->tag != V_LIST || (!last && args[i].tag != V_TENSOR)) {
            st = diag_fail(cx->diag, CTSC_FAILED,
                           "einsum(): expected operands and lists of subscripts in turn");
            break;
        }
        int n = arg_ints(sub, &labels);
        if (last) sb_puts(&eq, "->");
        else if (i) sb_putc(&eq, ',');
        for (int k = 0; k < n && einsum_put_label(cx, &eq, labels[k], &st); k++) continue;
        if (st == CTSC_OK && !last && !list_append_take(operands, value_ref(args[i])))
            st = diag_no_memory(cx->diag);
    }
    str *equation = st == CTSC_OK ? str_new(sb_str(&eq), eq.len) : NULL;
    if (st == CTSC_OK && !equation) st = diag_no_memory(cx->diag);
    sb_free(&eq);
    if (st != CTSC_OK) {
        if (operands) value_unref(value_list_take(operands));
        return st;
    }
    call[0] = value_str_take(equation);
    call[1] = value_list_take(operands);
    call[2] = value_none();
    return CTSC_OK;
}

ctsc_status op_einsum_sublist(op_ctx *cx, const value *args, value *results) {
    value call[3];
    TRY(einsum_of_sublists(cx, cx->nargs, args, call));
    ctsc_status st = op_call(cx, "aten::einsum", 3, call, results);
    value_unref(call[0]);
    value_unref(call[1]);
    return st;
}

/* prim::MMTreeReduce(a0, a1, ..., b0, b1, ...): the sum of the products of each a with its b, as
 * PyTorch's batching of products makes it. */
ctsc_status op_mm_tree_reduce(op_ctx *cx, const value *args, value *results) {
    int n = cx->nargs / 2;
    value sum = value_none();
    if (n == 0 || cx->nargs % 2)
        return diag_fail(cx->diag, CTSC_FAILED, "MMTreeReduce needs pairs of matrices");
    for (int i = 0; i < n; i++) {
        value factors[2] = {args[i], args[n + i]}, product = value_none(), terms[3],
              both = value_none();
        ctsc_status st = op_call(cx, "aten::mm", 2, factors, &product);
        if (st == CTSC_OK && i) {
            terms[0] = sum, terms[1] = product, terms[2] = value_int(1);
            st = op_call(cx, "aten::add.Tensor", 3, terms, &both);
            value_unref(sum);
            value_unref(product);
            sum = value_none();
        }
        if (st != CTSC_OK) {
            value_unref(sum);
            return st;
        }
        sum = i ? both : product;
    }
    return op_return(results, sum);
}

/* ---- tensordot ------------------------------------------------------------------------------- */

typedef struct tensordot_side {
    int nfree, nsum;
    int64_t free[TENSOR_MAX_DIMS], sum[TENSOR_MAX_DIMS];
} tensordot_side;

static ctsc_status tensordot_split(diag *d, const tensor *t, int n, const int64_t *dims,
                                   tensordot_side *s) {
    bool used[TENSOR_MAX_DIMS] = {false};
    for (int i = 0; i < n; i++) {
        int dim;
        TRY(tensor_wrap_dim(d, dims[i], t->ndim, &dim));
        if (used[dim])
            return diag_fail(d, CTSC_FAILED, "dim %d appears multiple times in the list of dims",
                             dim);
        used[dim] = true;
        s->sum[s->nsum++] = dim;
    }
    for (int i = 0; i < t->ndim; i++)
        if (!used[i]) s->free[s->nfree++] = i;
    return CTSC_OK;
}

/* A dim of size 1 contracted with a longer one multiplies the longer one's sum. */
/* The sum over a dim in t's dtype, integers too. */
static ctsc_status tensordot_sum(op_ctx *cx, tensor **t, int64_t dim) {
    const dtype dt = (dtype)(*t)->dtype;
    TRY(einsum_sum(cx, t, 1, &dim));
    return einsum_cast(cx->diag, t, dt);
}

static ctsc_status tensordot_match(op_ctx *cx, tensor **a, tensor **b, const tensordot_side *sa,
                                   const tensordot_side *sb, const int64_t *dims_a,
                                   const int64_t *dims_b) {
    for (int i = 0; i < sa->nsum; i++) {
        int64_t da = sa->sum[i], db = sb->sum[i], na = (*a)->sizes[da], nb = (*b)->sizes[db];
        if (na == nb) continue;
        if (nb == 1) TRY(tensordot_sum(cx, a, da));
        else if (na == 1) TRY(tensordot_sum(cx, b, db));
        else
            return diag_fail(
                cx->diag, CTSC_FAILED,
                "contracted dimensions need to match, but first has size %lld in dim %lld "
                "and second has size %lld in dim %lld",
                (long long)na, (long long)dims_a[i], (long long)nb, (long long)dims_b[i]);
    }
    return CTSC_OK;
}

static ctsc_status tensordot_product(op_ctx *cx, const tensor *a, const tensor *b,
                                     const tensordot_side *sa, const tensordot_side *sb,
                                     tensor **out) {
    diag *d = cx->diag;
    int64_t sizes[TENSOR_MAX_DIMS];
    int n = sa->nfree + sb->nfree;
    if (n > TENSOR_MAX_DIMS) return diag_fail(d, CTSC_LIMIT, "too many dimensions");
    for (int i = 0; i < sa->nfree; i++) sizes[i] = a->sizes[sa->free[i]];
    for (int i = 0; i < sb->nfree; i++) sizes[sa->nfree + i] = b->sizes[sb->free[i]];
    tensor *fa = NULL, *fb = NULL, *product = NULL;
    const int na[3] = {0, sa->nfree, sa->nsum}, nb[3] = {0, sb->nsum, sb->nfree};
    const int64_t *const da[3] = {NULL, sa->free, sa->sum}, *const db[3] = {NULL, sb->sum,
                                                                            sb->free};
    ctsc_status st = einsum_fold(d, a, na, da, &fa);
    if (st == CTSC_OK) st = einsum_fold(d, b, nb, db, &fb);
    if (st == CTSC_OK) st = matmul_batched(d, fa, fb, &product);
    if (st == CTSC_OK) st = tensor_view(d, product, n, sizes, out);
    tensor_unref(fa);
    tensor_unref(fb);
    tensor_unref(product);
    return st;
}

/* (self, other, dims_self, dims_other) */
ctsc_status op_tensordot(op_ctx *cx, const value *args, value *results) {
    diag *d = cx->diag;
    tensor *a = arg_tensor(&args[0]), *b = arg_tensor(&args[1]), *t;
    const int64_t *dims_a, *dims_b;
    int na = arg_ints(&args[2], &dims_a), nb = arg_ints(&args[3], &dims_b);
    if (na != nb) return diag_fail(d, CTSC_FAILED, "both dimension lists should have same length");
    if (na > TENSOR_MAX_DIMS) return diag_fail(d, CTSC_LIMIT, "too many dimensions");
    tensordot_side sa = {0}, sb = {0};
    TRY(tensordot_split(d, a, na, dims_a, &sa));
    TRY(tensordot_split(d, b, nb, dims_b, &sb));
    tensor_ref(a), tensor_ref(b);
    ctsc_status st = tensordot_match(cx, &a, &b, &sa, &sb, dims_a, dims_b);
    if (st == CTSC_OK && a->dtype != b->dtype)
        st = diag_fail(d, CTSC_FAILED, "expected scalar type %s but found %s",
                       dtype_table[a->dtype].ir_name, dtype_table[b->dtype].ir_name);
    if (st == CTSC_OK && !gemm_supports((dtype)a->dtype))
        st = op_refuse_dtype(cx, "addmm_impl_cpu_", (dtype)a->dtype);
    if (st == CTSC_OK) st = tensordot_product(cx, a, b, &sa, &sb, &t);
    tensor_unref(a);
    tensor_unref(b);
    return st == CTSC_OK ? op_finish(cx, args, t, results) : st;
}

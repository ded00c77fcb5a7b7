/* SPDX-License-Identifier: Apache-2.0 */
/*
 * join_sums.c - turns a sum of products into one product of their concatenated operands.
 *
 *     %a = aten::mm(%xt, %y)                           %x' = aten::cat([%x, %z], 0)
 *     %b = aten::mm(%zt, %w)                    ->     %xt' = aten::transpose(%x', 0, 1)
 *     %s = aten::add(%a, %b, 1)                        %y' = aten::cat([%y, %w], 0)
 *                                                      %s = aten::mm(%xt', %y')
 *
 * The gradient of a weight that is used in each step of a recurrent layer is such a sum,
 * with one product per step of few rows of x and y each; so is that of its bias, a sum
 * over rows: sum([..], dim 0) of several tensors is that of all their rows. Both are found
 * by walking the tree of aten::add from its last one; other summands are added afterwards.
 *
 * Only where types say that all have the same sizes, that is in graphs of
 * captured (runtime/autograd/grad_capture.h) or specialised calls. Joining
 * copies the operands: it is done where they are smaller than the results
 * that need not be written and added. Sums are rounded in another order.
 * Tests: tests/ir/join-sums
 */
#include "passes/pass/pass.h"
#include "passes/pass/rewrite.h"
#include "passes/pass/value_analysis.h"

enum { JOIN_MAX = 4096, JOIN_LEAST = 2, JOIN_LEAST_ROWS = 3 };

typedef VEC(ir_value *) join_values;

typedef struct joiner {
    const alias_db *db;
    node *root;
    /* of the tree: products, sums over rows, and others, in the order in which they are added */
    join_values products, rows, others;
} joiner;

/* ---- what is added --------------------------------------------------------------------------- */

static bool join_is_add(const node *n) {
    return node_is_overload(n, SYM_ADD_TENSOR) && known_number_is(n->inputs.data[2], 1);
}

/* The same dtype, a float, and the same sizes, all of them known. */
static bool join_same(const ir_value *a, const ir_value *b) {
    int64_t x[KNOWN_MAX_INTS], y[KNOWN_MAX_INTS];
    int n, m;
    if (!known_sizes(a, x, &n) || !known_sizes(b, y, &m) || n != m) return false;
    for (int i = 0; i < n; i++)
        if (x[i] != y[i]) return false;
    return known_dtype(a) >= 0 && known_dtype(a) == known_dtype(b) &&
           dtype_is_float((dtype)known_dtype(a));
}

/* v = mm(a, b) of matrices whose sizes are known; read once. */
static bool join_is_product(const joiner *j, const ir_value *v) {
    const node *n = v->def;
    if (!n || n->owner != j->root->owner || v->uses.len != 1 || !node_is_overload(n, SYM_MM))
        return false;
    for (int i = 0; i < 2; i++)
        if (known_size(n->inputs.data[i], 0) < 0 || known_size(n->inputs.data[i], 1) < 0 ||
            known_dtype(n->inputs.data[i]) != known_dtype(v))
            return false;
    return true;
}

/* The sum over the rows of a matrix that v is, perhaps reshaped to one dim; NULL: it is none. */
static node *join_row_sum(const joiner *j, const ir_value *v) {
    node *n = v->def;
    int64_t dims[KNOWN_MAX_INTS];
    int ndims;
    if (n && node_is_overload(n, SYM_RESHAPE) && v->uses.len == 1 && known_rank(v) == 1 &&
        n->owner == j->root->owner) {
        v = n->inputs.data[0];
        n = v->def;
    }
    if (!n || n->owner != j->root->owner || v->uses.len != 1 ||
        !node_is_overload(n, SYM_SUM_DIM_INTLIST) || !known_ints(n->inputs.data[1], dims, &ndims) ||
        ndims != 1 || dims[0] != 0 || !known_is_none(n->inputs.data[3]) ||
        known_rank(n->inputs.data[0]) != 2 || known_size(n->inputs.data[0], 0) < 0 ||
        known_dtype(n->inputs.data[0]) != known_dtype(v))
        return NULL;
    return n;
}

static bool join_keep(joiner *j, ir_value *v) {
    join_values *to = join_is_product(j, v) ? &j->products
                      : join_row_sum(j, v)  ? &j->rows
                                            : &j->others;
    return j->products.len + j->rows.len + j->others.len < JOIN_MAX && vec_push(to, v);
}

/* Walks the tree below v, whose left side is the deep one: gradients arrive one by one. */
static bool join_collect(joiner *j, ir_value *v) {
    join_values behind = {0};
    bool ok = true;
    for (node *n;
         ok && (n = v->def) && n->owner == j->root->owner && (n == j->root || v->uses.len == 1) &&
         join_is_add(n) && join_same(n->inputs.data[0], v) && join_same(n->inputs.data[1], v);
         v = n->inputs.data[0])
        ok = behind.len < JOIN_MAX && vec_push(&behind, n->inputs.data[1]);
    ok = ok && join_keep(j, v);
    for (size_t i = behind.len; ok && i-- > 0;) ok = join_keep(j, behind.data[i]);
    vec_free(&behind);
    return ok;
}

/* ---- is it worth it? ------------------------------------------------------------------------- */

/* What joining copies is less than what the results are. */
static bool join_pays(const joiner *j) {
    if (j->products.len < JOIN_LEAST) return false;
    double copied = 0, saved = 0;
    for (size_t i = 0; i < j->products.len; i++) {
        const ir_value *v = j->products.data[i];
        const ir_value *a = v->def->inputs.data[0];
        double m = (double)known_size(v, 0), n = (double)known_size(v, 1),
               k = (double)known_size(a, 1);
        copied += k * (m + n);
        saved += m * n;
    }
    return copied < saved;
}

/* ---- joining --------------------------------------------------------------------------------- */

/* x of its transpose v; NULL: v is not a transpose. */
static ir_value *join_transposed(const ir_value *v) {
    const node *n = v->def;
    int64_t a, b;
    if (!n || n->kind != N_OP || !n->op || known_rank(n->inputs.data[0]) != 2) return NULL;
    if (node_is_overload(n, SYM_T)) return n->inputs.data[0];
    if (!node_is_overload(n, SYM_TRANSPOSE_INT) || !known_int(n->inputs.data[1], &a) ||
        !known_int(n->inputs.data[2], &b))
        return NULL;
    return (a & 1) != (b & 1) ? n->inputs.data[0] : NULL;
}

static ir_value *join_cat(node *at, const join_values *parts, int64_t dim) {
    node *list = node_new(at->g, N_LIST_CONSTRUCT, (int)parts->len, parts->data, 1);
    list->outputs.data[0]->type = type_list(TYPE_TENSOR);
    list->range = at->range;
    node_insert_before(list, at);
    ir_value *args[] = {list->outputs.data[0], rewrite_int(at, dim)};
    return rewrite_op(at, op_of(SYM_CAT), 2, args);
}

/* An operand of all products as one. */
static ir_value *join_operand(joiner *j, int which) {
    join_values parts = {0};
    bool transposed = which == 0, ok = true;
    for (size_t i = 0; transposed && i < j->products.len; i++)
        transposed = join_transposed(j->products.data[i]->def->inputs.data[0]) != NULL;
    for (size_t i = 0; ok && i < j->products.len; i++) {
        ir_value *v = j->products.data[i]->def->inputs.data[which];
        ok = vec_push(&parts, transposed ? join_transposed(v) : v);
    }
    ir_value *out = ok ? join_cat(j->root, &parts, which == 0 && !transposed) : NULL;
    vec_free(&parts);
    if (!out || !transposed) return out;
    ir_value *args[] = {out, rewrite_int(j->root, 0), rewrite_int(j->root, 1)};
    return rewrite_op(j->root, op_of(SYM_TRANSPOSE_INT), 3, args);
}

static ir_value *join_products(joiner *j) {
    ir_value *args[] = {join_operand(j, 0), join_operand(j, 1)};
    return args[0] && args[1] ? rewrite_op(j->root, op_of(SYM_MM), 2, args) : NULL;
}

static ir_value *join_rows(joiner *j) {
    join_values parts = {0};
    bool ok = true;
    for (size_t i = 0; ok && i < j->rows.len; i++)
        ok = vec_push(&parts, join_row_sum(j, j->rows.data[i])->inputs.data[0]);
    ir_value *all = ok ? join_cat(j->root, &parts, 0) : NULL;
    vec_free(&parts);
    if (!all) return NULL;
    const node *sum = join_row_sum(j, j->rows.data[0]), *last = j->rows.data[0]->def;
    ir_value *args[] = {all, sum->inputs.data[1], sum->inputs.data[2], sum->inputs.data[3]};
    ir_value *out = rewrite_op(j->root, op_of(SYM_SUM_DIM_INTLIST), 4, args);
    if (!out || last == sum) return out;
    ir_value *shaped[] = {out, last->inputs.data[1]};
    return rewrite_op(j->root, op_of(SYM_RESHAPE), 2, shaped);
}

/* What they read is the same at the tree's end. */
static bool join_may_wait(const joiner *j, const join_values *v, bool rows) {
    for (size_t i = 0; i < v->len; i++) {
        const node *n = rows ? join_row_sum(j, v->data[i]) : v->data[i]->def;
        for (size_t k = 0; k < (rows ? 1 : 2); k++)
            if (alias_written_between(j->db, n->inputs.data[k], n, j->root)) return false;
    }
    return true;
}

/* The first summand, then the next ones. */
static ir_value *join_add(joiner *j, ir_value *sum, ir_value *v) {
    ir_value *args[] = {sum, v, j->root->inputs.data[2]};
    ir_value *out = sum ? rewrite_op(j->root, op_of(SYM_ADD_TENSOR), 3, args) : v;
    if (sum && out) out->type = j->root->outputs.data[0]->type;
    return out;
}

static bool join_do(joiner *j) {
    ir_value *sum = NULL, *y = j->root->outputs.data[0];
    bool products = join_pays(j) && join_may_wait(j, &j->products, false),
         rows = j->rows.len >= JOIN_LEAST_ROWS && join_may_wait(j, &j->rows, true);
    if (!products && !rows) return false;
    for (size_t i = 0; i < j->others.len; i++) sum = join_add(j, sum, j->others.data[i]);
    for (size_t i = 0; i < j->products.len && !products; i++)
        sum = join_add(j, sum, j->products.data[i]);
    for (size_t i = 0; i < j->rows.len && !rows; i++) sum = join_add(j, sum, j->rows.data[i]);
    ir_value *made[2] = {products ? join_products(j) : NULL, rows ? join_rows(j) : NULL};
    for (int i = 0; i < 2; i++)
        if (made[i]) {
            made[i]->type = y->type;
            sum = join_add(j, sum, made[i]);
        }
    if (!sum || (products && !made[0]) || (rows && !made[1])) return false;
    rewrite_result(j->root, sum);
    return true;
}

/* Is n the last addition of its tree? */
static bool join_is_root(const node *n) {
    const ir_value *y = n->outputs.data[0];
    if (y->uses.len != 1) return y->uses.len > 1;
    const node *user = y->uses.data[0].user;
    return !user || !join_is_add(user) || user->owner != n->owner;
}

static bool join_rule(const alias_db *db, node *n) {
    if (!join_is_add(n) || !join_is_root(n)) return false;
    joiner j = {.db = db, .root = n};
    bool done = join_collect(&j, n->outputs.data[0]) && join_do(&j);
    vec_free(&j.products);
    vec_free(&j.rows);
    vec_free(&j.others);
    return done;
}

bool pass_join_sums(pass_ctx *cx, graph *g) { return rewrite_each(cx, g, join_rule); }

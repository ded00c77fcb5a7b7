/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group.c - a group of tensor operators becomes one loop nest (group.h).
 *
 * Method. The graph is read into lazy tensors; a schedule (group_pointwise.c, group_rows.c,
 * group_columns.c) then makes loops around them. The arguments a plan holds for are recorded:
 * every question about a size ("are these equal?", "is it 1?") is answered from the arguments
 * at hand, and the answer becomes a guard of the plan. Sizes without a question stay free.
 *
 * Everything is done twice, see group_internal.h. The second reading knows which sizes are one.
 *
 * Conditions err to one side: a plan never fits arguments for which an operator of the
 * group would fail.
 * Tests: tests/unit/test_group.c
 */
#include "codegen/lower/group_internal.h"
#include "codegen/lower/loops/group_loop.h"
#include "codegen/lower/plan/group_tuning.h"
#include "tensor/strides.h"

#include <stdio.h>
#include <string.h>

enum { GROUP_MAX_ARGS = 24, GROUP_DIMS = LAZY_MAX_DIMS + 1 };

typedef struct group_value {
    lazy_arg arg;
    const node *list; /* chunk, split: unpacked by prim::ListUnpack */
} group_value;

/* ---- numbers --------------------------------------------------------------------------------- */

int64_t group_now(group_state *s, int slot) {
    while (s->now.len <= (size_t)slot) {
        int64_t v = plan_slot_value(s->p, (int)s->now.len, s->args, s->now.data);
        if (!avec_push(s->a, &s->now, v)) return 0;
    }
    return s->now.data[slot];
}

int group_slot_of(group_state *s, const nest_expr *e) {
    static const struct {
        nest_op op;
        slot_kind kind;
    } rows[] = {{NEST_ADD, SLOT_ADD}, {NEST_SUB, SLOT_SUB}, {NEST_MUL, SLOT_MUL},
                {NEST_MIN, SLOT_MIN}, {NEST_MAX, SLOT_MAX}, {NEST_DIV_INDEX, SLOT_DIV}};
    if (e->type != NEST_I64) return -1;
    if (e->op == NEST_CONST) return plan_const(s->p, s->a, e->u.i);
    if (e->op == NEST_INPUT) return s->p->ints.data[e->u.input];
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].op != e->op) continue;
        int x = group_slot_of(s, e->args[0]), y = group_slot_of(s, e->args[1]);
        return x < 0 || y < 0 ? -1 : plan_slot(s->p, s->a, rows[i].kind, x, y, 0);
    }
    return -1;
}

int64_t group_value_of(group_state *s, const nest_expr *e, int64_t other) {
    int slot = group_slot_of(s, e);
    return slot < 0 ? other : group_now(s, slot);
}

nest_expr *group_mul(group_state *s, nest_expr *x, nest_expr *y) {
    nest_expr *zero = lazy_zero(&s->l), *one = lazy_one(&s->l);
    if (x == zero || y == zero) return zero;
    if (x == one) return y;
    if (y == one) return x;
    for (size_t i = 0; i < s->products.len; i++)
        if (s->products.data[i].x == x && s->products.data[i].y == y) return s->products.data[i].xy;
    nest_expr *xy = lazy_size(&s->l, NEST_MUL, x, y);
    avec_push(s->a, &s->products, ((group_product){x, y, xy}));
    return xy;
}

nest_expr *group_numel(group_state *s, int ndim, nest_expr *const *sizes) {
    nest_expr *n = lazy_one(&s->l);
    for (int d = ndim - 1; d >= 0; d--) n = group_mul(s, n, sizes[d]);
    return n;
}

/* ---- questions of the lazy tensors ----------------------------------------------------------- */

static bool group_equal(void *ctx, nest_expr *x, nest_expr *y) {
    group_state *s = ctx;
    int a = group_slot_of(s, x), b = group_slot_of(s, y);
    if (a < 0 || b < 0 || group_now(s, a) != group_now(s, b)) return false;
    bool ca = x->op == NEST_CONST, cb = y->op == NEST_CONST;
    if (ca || cb) plan_relate(s->p, s->a, SLOT_IS, ca ? b : a, 0, ca ? x->u.i : y->u.i);
    else plan_relate(s->p, s->a, SLOTS_EQUAL, a, b, 0);
    return true;
}
bool group_specialise(group_state *s, nest_expr *x, int64_t *out) {
    if (lazy_is_const(x, out)) return true;
    int a = group_slot_of(s, x);
    if (a < 0) return false;
    *out = group_now(s, a);
    plan_relate(s->p, s->a, SLOT_IS, a, 0, *out);
    return true;
}
static bool group_specialises(void *ctx, nest_expr *x, int64_t *out) {
    return group_specialise(ctx, x, out);
}
static bool group_equals_one(void *ctx, nest_expr *x) {
    group_state *s = ctx;
    int64_t k;
    int a = group_slot_of(s, x);
    return a >= 0 && group_now(s, a) == 1 && group_specialise(ctx, x, &k);
}
static bool group_positive(void *ctx, nest_expr *x) {
    group_state *s = ctx;
    int a = group_slot_of(s, x);
    if (a < 0 || group_now(s, a) <= 0) return false;
    plan_relate(s->p, s->a, SLOT_POSITIVE, a, 0, 0);
    return true;
}
static bool group_peek(void *ctx, const nest_expr *x, int64_t *out) {
    group_state *s = ctx;
    int a = group_slot_of(s, x);
    if (a >= 0) *out = group_now(s, a);
    return a >= 0;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static nest_expr *group_const(group_state *s, int64_t k) {
    return plan_expr(s->p, s->a, plan_const(s->p, s->a, k));
}

/* Size `dim` of argument i, or the int argument itself (dim LAZY_MAX_DIMS): under the name that all
 * equal ones have. */
static nest_expr *group_named(group_state *s, int i, int dim) {
    bool is_int = dim == LAZY_MAX_DIMS;
    int slot = is_int ? plan_slot(s->p, s->a, SLOT_INT, i, 0, 0) : plan_size(s->p, s->a, i, dim);
    const group_name *name = s->names ? &s->names[i * GROUP_DIMS + dim] : NULL;
    if (name && name->is_const) {
        plan_relate(s->p, s->a, SLOT_IS, slot, 0, name->k);
        return group_const(s, name->k);
    }
    if (name && name->argument >= 0) {
        int other = name->dim == LAZY_MAX_DIMS
                        ? plan_slot(s->p, s->a, SLOT_INT, name->argument, 0, 0)
                        : plan_size(s->p, s->a, name->argument, name->dim);
        plan_relate(s->p, s->a, SLOTS_EQUAL, slot, other, 0);
        slot = other;
    }
    return plan_expr(s->p, s->a, slot);
}

/* Dims of t, that with the smallest stride first; false if two are alike and their sizes would tell
 * which comes first. */
static bool group_sort_dims(const tensor *t, int *order) {
    for (int d = 0; d < t->ndim; d++) {
        int at = d;
        for (; at > 0 && t->strides[order[at - 1]] > t->strides[d]; at--) order[at] = order[at - 1];
        order[at] = d;
    }
    for (int k = 1; k < t->ndim; k++)
        if (t->strides[order[k]] && t->strides[order[k]] == t->strides[order[k - 1]] &&
            t->sizes[order[k]] > 1 && t->sizes[order[k - 1]] > 1)
            return false;
    return true;
}

/* Strides of argument i: products of sizes where it is dense, so that loops can be joined. Results
 * follow their order, which becomes a condition of the plan. */
static bool group_read_strides(group_state *s, int i, nest_expr *const *sizes,
                               nest_expr **strides) {
    const tensor *t = s->args[i].u.tensor;
    bool contiguous = s->p->arguments.data[i].contiguous;
    int order[LAZY_MAX_DIMS];
    nest_expr *step = lazy_one(&s->l);
    for (int d = t->ndim - 1; contiguous && d >= 0; d--) {
        strides[d] = step;
        step = group_mul(s, step, sizes[d]);
    }
    if (contiguous) return true;
    if (!group_sort_dims(t, order)) return false;
    bool dense = tensor_is_dense(t);
    for (int k = 0; k < t->ndim; k++) {
        int d = order[k], slot = plan_stride(s->p, s->a, i, d);
        int64_t stride = t->strides[d];
        if (dense && t->sizes[d] == 1) {
            if (!lazy_is_one(&s->l, sizes[d])) return false;
            strides[d] = lazy_zero(&s->l);
        } else if (dense) {
            int product = group_slot_of(s, step);
            if (product < 0) return false;
            strides[d] = step;
            plan_relate(s->p, s->a, SLOTS_EQUAL, slot, product, 0);
            step = group_mul(s, step, sizes[d]);
            continue;
        } else if (stride == 0 || stride == 1) {
            plan_relate(s->p, s->a, SLOT_IS, slot, 0, stride);
            strides[d] = group_const(s, stride);
        } else {
            strides[d] = plan_expr(s->p, s->a, slot);
        }
        if (k == 0) continue;
        int below = plan_stride(s->p, s->a, i, order[k - 1]);
        bool same = stride == t->strides[order[k - 1]];
        plan_relate(s->p, s->a, same ? SLOTS_EQUAL : SLOTS_ASCEND, below, slot, 0);
    }
    return true;
}

static bool group_read_tensor(group_state *s, int i, lazy_arg *out) {
    const tensor *t = s->args[i].u.tensor;
    nest_type type;
    nest_expr *sizes[LAZY_MAX_DIMS], *strides[LAZY_MAX_DIMS];
    if (!nest_type_of((dtype)t->dtype, &type) || t->ndim > LAZY_MAX_DIMS) return false;
    if (s->p->buffers.len == NEST_MAX_BUFFERS - GROUP_MAX_OUTPUTS) return false;
    group_argument *a = &s->p->arguments.data[i];
    a->dt = (dtype)t->dtype;
    a->ndim = t->ndim;
    a->contiguous = tensor_is_contiguous(t);
    for (int d = 0; d < t->ndim; d++) sizes[d] = group_named(s, i, d);
    if (!group_read_strides(s, i, sizes, strides)) return false;
    char name[16];
    snprintf(name, sizeof name, "a%d", i);
    nest_buffer *b = nest_add_buffer(s->p->nest, name, a->dt, NEST_RESTRICT);
    avec_push(s->a, &s->p->buffers, ((group_buffer){BUFFER_ARGUMENT, i}));
    lazy_tensor *lazy = lazy_buffer(&s->l, b, t->ndim, sizes, strides, NULL);
    lazy->contiguous = a->contiguous;
    if (t->ndim) memcpy(lazy->strides, t->strides, sizeof *t->strides * (size_t)t->ndim);
    out->t = lazy;
    return true;
}

static bool group_read_argument(group_state *s, int i, lazy_arg *out) {
    char name[16];
    nest_expr *x;
    *out = (lazy_arg){.constant = value_none()};
    avec_push(s->a, &s->p->arguments, ((group_argument){.tag = (value_tag)s->args[i].tag}));
    switch (s->args[i].tag) {
    case V_NONE: return true;
    case V_TENSOR: return group_read_tensor(s, i, out);
    case V_INT:
        x = group_named(s, i, LAZY_MAX_DIMS);
        if (x->op == NEST_CONST) out->constant = value_int(x->u.i);
        else out->t = lazy_number(&s->l, x);
        return true;
    case V_BOOL:
        s->p->arguments.data[i].specialised = true;
        s->p->arguments.data[i].known = s->args[i].u.b;
        out->constant = s->args[i];
        return true;
    case V_FLOAT:
        snprintf(name, sizeof name, "f%d", i);
        avec_push(s->a, &s->p->floats, i);
        out->t = lazy_number(&s->l, nest_add_float(s->p->nest, name));
        return true;
    default: return false;
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static bool group_set(group_state *s, const ir_value *v, lazy_arg arg, const node *list) {
    group_value *g = arena_new(s->a, group_value);
    *g = (group_value){arg, list};
    return ptrmap_put(&s->values, v, g);
}

static bool group_get(group_state *s, const ir_value *v, lazy_arg *out) {
    const group_value *g = ptrmap_get(&s->values, v);
    *out = (lazy_arg){.constant = value_none()};
    if (g && !g->list) return *out = g->arg, true;
    return !g && ir_value_constant(v, &out->constant);
}

static bool group_get_all(group_state *s, const node *n, lazy_arg *args) {
    if (n->inputs.len > GROUP_MAX_ARGS) return false;
    for (size_t i = 0; i < n->inputs.len; i++)
        if (!group_get(s, n->inputs.data[i], &args[i])) return false;
    return true;
}

static bool group_read_list(group_state *s, const node *n) {
    lazy_arg *items = arena_array(s->a, lazy_arg, GROUP_MAX_ARGS);
    if (!group_get_all(s, n, items)) return false;
    return group_set(s, n->outputs.data[0],
                     (lazy_arg){.items = items, .nitems = (int)n->inputs.len}, NULL);
}

static bool group_read_unpack(group_state *s, const node *n) {
    lazy_arg args[GROUP_MAX_ARGS];
    lazy_tensor *parts[GROUP_MAX_OUTPUTS];
    const group_value *list = ptrmap_get(&s->values, n->inputs.data[0]);
    if (!list || !list->list || n->outputs.len > GROUP_MAX_OUTPUTS ||
        !group_get_all(s, list->list, args))
        return false;
    if (!lazy_apply_list(&s->l, list->list, args, (int)n->outputs.len, parts)) return false;
    for (size_t i = 0; i < n->outputs.len; i++)
        if (!group_set(s, n->outputs.data[i], (lazy_arg){.t = parts[i]}, NULL)) return false;
    return true;
}

/* Layout of an operator's result: by its row's rule; for pointwise ones without a rule,
 * by their operands or, for conversions and fills, by the tensor that is converted. */
static bool group_set_order(group_state *s, const node *n, const lazy_arg *args, lazy_tensor *t) {
    const op *o = n->op;
    strides_rule rule = o->traits.strides;
    int nargs = o->schema->nargs, format = schema_find_arg(o->schema, "memory_format");
    bool pointwise = op_fusible(o) == FUSIBLE_POINTWISE;
    bool like = o->lowered >= LOWER_to && o->lowered <= LOWER_ones_like;
    for (int i = 0; i < nargs; i++)
        if (args[i].t == t) return true;
    if (rule == STRIDES_AS_MADE)
        rule = !pointwise ? STRIDES_ROWS : like ? STRIDES_LIKE : STRIDES_OPERANDS;
    if (format >= 0 && !lazy_arg_is_none(&args[format])) {
        int64_t which;
        if (!lazy_arg_int(&s->l, &args[format], &which) || which < 0 || which > FORMAT_PRESERVE)
            return false;
        /* to() gives a tensor back that has the dtype, row-major or not */
        if (which == FORMAT_CONTIGUOUS && o->lowered == LOWER_to && args[0].t->dt == t->dt)
            return false;
        if (which == FORMAT_CONTIGUOUS) rule = STRIDES_ROWS;
    }
    if (o->lowered == LOWER_rsub) /* is sub of the second and the first */
        return lazy_set_order(&s->l, rule, 2, (lazy_arg[]){args[1], args[0]}, t);
    return lazy_set_order(&s->l, rule, nargs, args, t);
}

static bool group_read_node(group_state *s, const node *n) {
    lazy_arg args[GROUP_MAX_ARGS];
    if (n->kind == N_CONSTANT) return true;
    if (n->kind == N_LIST_CONSTRUCT) return group_read_list(s, n);
    if (n->kind == N_LIST_UNPACK) return group_read_unpack(s, n);
    fusible_kind kind = n->kind == N_OP ? op_fusible(n->op) : FUSIBLE_NONE;
    if (!kind || n->outputs.len < 1 || n->outputs.len > 2 ||
        n->inputs.len != (size_t)n->op->schema->nargs)
        return false;
    if (n->outputs.data[0]->type->kind == T_LIST)
        return group_set(s, n->outputs.data[0], (lazy_arg){.t = NULL}, n);
    if (!group_get_all(s, n, args)) return false;
    bool reduces = kind == FUSIBLE_REDUCE || kind == FUSIBLE_ROWS;
    lazy_tensor *out[2] = {NULL};
    if (!reduces && n->outputs.len == 1) out[0] = lazy_apply(&s->l, n, args);
    if (reduces ? !group_apply_reduce(s, n, args, out) : !out[0]) return false;
    for (size_t i = 0; kind != FUSIBLE_VIEW && i < n->outputs.len; i++)
        if (!group_set_order(s, n, args, out[i])) return false;
    for (size_t i = 0; i < n->outputs.len; i++)
        if (!group_set(s, n->outputs.data[i], (lazy_arg){.t = group_keep(s, out[i])}, NULL))
            return false;
    return true;
}

/* false: out of memory. */
static bool group_reset(group_state *s, const group_name *names, bool unroll) {
    ptrmap_free(&s->values);
    *s = (group_state){.a = s->a,
                       .g = s->g,
                       .args = s->args,
                       .names = names,
                       .unroll = unroll,
                       .generic = s->generic,
                       .target = s->target};
    s->p = arena_new(s->a, group_plan);
    if (!(s->p->nest = nest_new(s->a, "group"))) return false;
    if (arena_failed(s->a)) return false;
    /* operators round as they do one by one; sums and functions need not */
    s->p->nest->contract_inside = true;
    s->p->range_begin = s->p->range_end = -1;
    s->p->grain_size = plan_const(s->p, s->a, 1);
    s->l = (lazy){.n = s->p->nest,
                  .a = s->a,
                  .equal = group_equal,
                  .is_one = group_equals_one,
                  .positive = group_positive,
                  .specialise = group_specialises,
                  .peek = group_peek,
                  .elsewhere = s->target == GROUP_CUDA,
                  .divides_by_zero = s->target == GROUP_CUDA,
                  .ctx = s};
    s->l.zero = group_const(s, 0);
    s->l.one = group_const(s, 1);
    return true;
}

static int group_depth(const group_state *s) {
    int depth = 0;
    for (int i = 0; i < s->noutputs; i++)
        if (s->outputs[i]->depth > depth) depth = s->outputs[i]->depth;
    return depth;
}

/* Outputs are written in memory order. */
static bool group_order_outputs(group_state *s) {
    bool turns = group_depth(s) == 0;
    for (int i = 0; i < s->noutputs; i++) {
        group_order *o = &s->orders[i];
        o->permuted = lazy_order(&s->l, s->outputs[i], o->dims);
        o->turned = o->permuted && turns;
        if (o->turned && !(s->outputs[i] = lazy_permute(&s->l, s->outputs[i], o->dims)))
            return false;
    }
    return true;
}

static bool group_read(group_state *s) {
    const block *b = s->g->root;
    for (size_t i = 0; i < b->params.len; i++) {
        lazy_arg arg;
        if (!group_read_argument(s, (int)i, &arg) || !group_set(s, b->params.data[i], arg, NULL))
            return false;
    }
    for (const node *n = b->first; n; n = n->next)
        if (!group_read_node(s, n) || arena_failed(s->a)) return false;
    if (b->returns.len == 0 || b->returns.len > GROUP_MAX_OUTPUTS) return false;
    for (size_t i = 0; i < b->returns.len; i++) {
        lazy_arg arg;
        if (!group_get(s, b->returns.data[i], &arg) || !arg.t || arg.t->is_number) return false;
        s->outputs[s->noutputs++] = (lazy_tensor *)arg.t;
    }
    return group_order_outputs(s);
}

/* ---- names ----------------------------------------------------------------------------------- */

static int group_root(int *parent, int x) {
    while (parent[x] != x) x = parent[x] = parent[parent[x]];
    return x;
}
/* position of a slot's name; -1: it is arithmetic */
static int group_place(const group_plan *p, int slot) {
    const group_slot *s = &p->slots.data[slot];
    return s->kind == SLOT_SIZE  ? s->a * GROUP_DIMS + s->b
           : s->kind == SLOT_INT ? s->a * GROUP_DIMS + LAZY_MAX_DIMS
                                 : -1;
}

/* What the plan's guards say about sizes and int arguments: which are equal, which are known. */
static group_name *group_find_names(arena *a, const group_plan *p) {
    int n = (int)p->arguments.len * GROUP_DIMS, *parent = arena_array(a, int, n + 1);
    group_name *names = arena_array(a, group_name, n + 1);
    if (!parent || !names) return NULL;
    for (int i = 0; i < n; i++) parent[i] = i;
    for (size_t i = 0; i < p->guards.len; i++) {
        const group_guard *r = &p->guards.data[i];
        int x = group_place(p, r->a), y = r->kind == SLOTS_EQUAL ? group_place(p, r->b) : -1;
        if (r->kind != SLOTS_EQUAL || x < 0 || y < 0) continue;
        x = group_root(parent, x), y = group_root(parent, y);
        if (x != y) parent[x > y ? x : y] = x < y ? x : y;
    }
    for (size_t i = 0; i < p->guards.len; i++) {
        const group_guard *r = &p->guards.data[i];
        int x = r->kind == SLOT_IS ? group_place(p, r->a) : -1;
        if (x < 0) continue;
        names[group_root(parent, x)].is_const = true;
        names[group_root(parent, x)].k = r->k;
    }
    for (int i = 0; i < n; i++) {
        int root = group_root(parent, i);
        bool is_const = names[root].is_const;
        names[i] = (group_name){is_const, names[root].k, root == i ? -1 : root / GROUP_DIMS,
                                root % GROUP_DIMS};
    }
    return names;
}

/* ---- the plan -------------------------------------------------------------------------------- */

nest_buffer *group_output_buffer(group_state *s, int i) {
    char name[16];
    if (s->buffers[i]) return s->buffers[i];
    snprintf(name, sizeof name, "out%d", i);
    avec_push(s->a, &s->p->buffers, ((group_buffer){BUFFER_OUTPUT, i}));
    return s->buffers[i] = nest_add_buffer(s->p->nest, name, s->outputs[i]->dt, NEST_RESTRICT);
}

nest_buffer *group_scratch(group_state *s, const char *name, dtype dt, nest_expr *length) {
    nest_expr *bytes = lazy_size(&s->l, NEST_MUL, length, nest_int(s->l.n, dtype_table[dt].size));
    int slot = group_slot_of(s, bytes);
    if (slot < 0 || s->p->buffers.len >= NEST_MAX_BUFFERS - GROUP_MAX_OUTPUTS) s->l.failed = true;
    avec_push(s->a, &s->p->buffers, ((group_buffer){BUFFER_SCRATCH, slot < 0 ? 0 : slot}));
    return nest_add_buffer(s->p->nest, name, dt, NEST_RESTRICT);
}

nest_expr *group_input(group_state *s, nest_expr *e) {
    int slot = group_slot_of(s, e);
    if (slot < 0) s->l.failed = true;
    return slot < 0 ? e : plan_expr(s->p, s->a, slot);
}

void group_set_range(group_state *s, nest_expr *extent, nest_expr *work, int cost) {
    s->p->range_begin = plan_const(s->p, s->a, 0);
    s->p->range_end = group_slot_of(s, extent);
    s->domain = group_mul(s, extent, work);
    nest_expr *each = group_mul(s, work, group_const(s, cost > 0 ? cost : 1));
    nest_expr *least = lazy_size(&s->l, NEST_DIV_INDEX, group_const(s, GROUP_GRAIN_COST),
                                 lazy_size(&s->l, NEST_MAX, each, lazy_one(&s->l)));
    s->p->grain_size = group_slot_of(s, lazy_size(&s->l, NEST_MAX, least, lazy_one(&s->l)));
}

static bool group_set_outputs(group_state *s) {
    for (int i = 0; i < s->noutputs; i++) {
        const lazy_tensor *t = s->outputs[i];
        group_output o = {.tag = V_TENSOR, .dt = t->dt, .ndim = t->ndim, .alias = -1};
        o.permuted = s->orders[i].permuted;
        for (int d = 0; d < t->ndim; d++) {
            int from = group_is_scattered(s, i) ? s->orders[i].dims[d] : d;
            if ((o.sizes[d] = group_slot_of(s, t->sizes[from])) < 0) return false;
            o.order[d] = (uint8_t)(o.permuted ? s->orders[i].dims[d] : d);
        }
        if (!avec_push(s->a, &s->p->outputs, o)) return false;
    }
    return true;
}

/* Elements of all tensor arguments. */
static int64_t group_given(const group_state *s) {
    int64_t n = 0;
    for (size_t i = 0; i < s->p->arguments.len; i++)
        if (s->args[i].tag == V_TENSOR) n += s->args[i].u.tensor->numel;
    return n;
}

bool group_is_wide(group_state *s, const lazy_tensor *t, const group_reduction *r) {
    const lazy_tensor *src = r->src;
    int last = src->ndim - 1;
    if (s->target != GROUP_HOST || t->depth || t->ndim != src->ndim || last < 1 || !r->mask[last] ||
        group_value_of(s, t->sizes[last], INT64_MAX) > GROUP_UNROLL_WIDE)
        return false;
    for (int d = 0; d <= last; d++)
        if ((r->mask[d] && d < last) ||
            group_value_of(s, t->sizes[d], -1) != group_value_of(s, src->sizes[d], -2))
            return false;
    return true;
}

/* Is r a short sum that is better computed in place, next to its neighbours? That is so
 * where broadcasting made the summed values (a row of memory serves many sums), and where
 * neighbours are adjacent in memory; rows of memory are better summed one by one. */
static bool group_unrolls_one(group_state *s, const group_reduction *r) {
    int64_t count = 1, results = 1;
    int last = -1;
    for (int d = 0; d < r->src->ndim; d++) {
        int64_t size = group_value_of(s, r->src->sizes[d], 1 << 20);
        *(r->mask[d] ? &count : &results) *= size;
        if (size != 1) last = d;
    }
    if (count < 1 || count > GROUP_UNROLL_LIMIT || r->src->depth > 0 || results < 8) return false;
    bool any = false;
    for (int i = 0; i < s->noutputs; i++) {
        const lazy_tensor *t = s->outputs[i];
        bool result = group_value_of(s, group_numel(s, t->ndim, t->sizes), -1) == results;
        if (!result && !group_is_wide(s, t, r)) return false;
        any |= result;
    }
    return any && (count <= GROUP_UNROLL_TINY || (last >= 0 && !r->mask[last]) ||
                   results * count > 2 * group_given(s));
}
static bool group_unrolls(group_state *s) {
    for (int i = 0; i < s->noutputs; i++)
        if (group_is_scattered(s, i)) return false;
    for (int i = 0; i < s->nreductions; i++)
        if (!group_unrolls_one(s, s->reductions[i])) return false;
    return s->nreductions > 0;
}
static bool group_pin_reduced(group_state *s) {
    int64_t k;
    for (int i = 0; i < s->nreductions; i++)
        for (int d = 0; d < s->reductions[i]->src->ndim; d++)
            if (s->reductions[i]->mask[d] &&
                !group_specialise(s, s->reductions[i]->src->sizes[d], &k))
                return false;
    return true;
}

bool group_ask_constant(group_state *s, nest_expr *e) {
    int64_t k;
    if (s->generic || e->op != NEST_INPUT || !group_specialise(s, e, &k)) return false;
    return s->again = true;
}

void group_side_output(group_state *s, int i) {
    const lazy_tensor *t = s->outputs[i];
    nest_expr *index[LAZY_MAX_DIMS];
    for (int d = 0; d < t->ndim; d++)
        index[d] = nest_for(s->l.n, "i", lazy_zero(&s->l), t->sizes[d],
                            d == t->ndim - 1 ? NEST_VECTOR : 0);
    nest_expr *v = nest_let(s->l.n, "v", lazy_at(&s->l, t, index));
    nest_store(s->l.n, group_output_buffer(s, i), group_output_address(s, i, index), v);
    for (int d = 0; d < t->ndim; d++) nest_end(s->l.n);
    lazy_forget(&s->l);
}

static bool group_make_schedule(group_state *s) {
    if (s->unroll) {
        bool done = group_schedule_pointwise(s);
        s->p->schedule = s->target == GROUP_CUDA ? GROUP_CUDA_IN_PLACE : GROUP_IN_PLACE;
        return done;
    }
    if (group_depth(s) == 0) return group_schedule_pointwise(s);
    if (group_schedule_rows(s) || group_schedule_blocks(s)) return true;
    return s->target == GROUP_CUDA ? group_schedule_columns_cuda(s) : group_schedule_columns(s);
}

/* Loops over numbers and elements are another matter (group_loop.c). */
static bool group_is_loop(const graph *g) {
    for (const node *n = g->root->first; n; n = n->next) {
        bool known = n->kind == N_CONSTANT || n->kind == N_LIST_CONSTRUCT ||
                     n->kind == N_LIST_UNPACK;
        if (!known && (n->blocks.len || n->kind != N_OP || !op_fusible(n->op))) return true;
    }
    return false;
}

/* Do 32 bits do for what the nest computes indices with? Then the plan says so. */
static void group_find_narrow(group_state *s) {
    group_plan *p = s->p;
    VEC(int) slots = {0};
    for (size_t i = 0; i < p->ints.len; i++) avec_push(s->a, &slots, p->ints.data[i]);
    for (int i = 0; i < s->noutputs; i++)
        avec_push(s->a, &slots,
                  group_slot_of(s, group_numel(s, s->outputs[i]->ndim, s->outputs[i]->sizes)));
    for (size_t i = 0; i < p->arguments.len; i++) {
        if (p->arguments.data[i].tag != V_TENSOR) continue;
        int reach = plan_slot(p, s->a, SLOT_NUMEL, (int)i, 0, 0);
        for (int d = 0; !p->arguments.data[i].contiguous && d < p->arguments.data[i].ndim; d++) {
            int span = plan_slot(p, s->a, SLOT_MUL, plan_size(p, s->a, (int)i, d),
                                 plan_stride(p, s->a, (int)i, d), 0);
            reach = plan_slot(p, s->a, SLOT_ADD, reach, span, 0);
        }
        avec_push(s->a, &slots, reach);
    }
    if (s->domain) avec_push(s->a, &slots, group_slot_of(s, s->domain));
    for (size_t i = 0; i < slots.len; i++) {
        int64_t now = slots.data[i] < 0 ? INT64_MAX : group_now(s, slots.data[i]);
        if (now >= (int64_t)1 << 30 || now <= -((int64_t)1 << 30)) return;
    }
    for (size_t i = 0; i < slots.len; i++) plan_relate(p, s->a, SLOT_SMALL, slots.data[i], 0, 0);
    p->nest->index32 = true;
}

ctsc_status group_lower(arena *a, const graph *g, const value *args, const group_options *options,
                        group_plan **out, diag *d) {
    enum { MAX_READINGS = 4 };
    group_state s = {.a = a,
                     .g = g,
                     .args = args,
                     .generic = options && options->generic,
                     .target = options ? options->target : GROUP_HOST};
    bool generic = s.generic;
    *out = NULL;
    if (group_is_loop(g))
        return s.target == GROUP_HOST ? group_lower_loop(a, g, args, out, d) : CTSC_OK;
    bool ok = group_reset(&s, NULL, false) && group_read(&s), done = false;
    bool unroll = ok && !generic && group_unrolls(&s) && group_pin_reduced(&s);
    for (int i = 1; ok && !done && i < MAX_READINGS; i++) {
        const group_name *names = group_find_names(a, s.p);
        if (!names || arena_failed(a)) break;
        ok = group_reset(&s, names, unroll) && group_read(&s);
        done = ok && group_make_schedule(&s) && !s.l.failed && group_set_outputs(&s);
        ok = ok && s.again;
    }
    if (done && s.target == GROUP_CUDA) group_find_narrow(&s);
    if (done && !arena_failed(a) && nest_verify(s.p->nest, NULL) == CTSC_OK) *out = s.p;
    ptrmap_free(&s.values);
    return arena_failed(a) ? diag_no_memory(d) : CTSC_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_loop.c - loops over numbers and elements of tensors become native loops.
 *
 *     graph(%x : Tensor, %out : Tensor, %n : int):                   nest loop(float32 *x, float32 *out, int n, int n0, int n1) {
 *        = prim::Loop(%n, %true)                                        if (!(n - 1 < n0 & n - 1 < n1)) fail(unfit);
 *         block0(%i : int):                                   ->         for (i = 0; i < n; i += 1)
 *           %a : Tensor = aten::select(%x, %zero, %i)                        out[i] = x[i] * x[i];
 *           %b : Tensor = aten::mul(%a, %a)                          }
 *           %c : Tensor = aten::select(%out, %zero, %i)
 *           %d : Tensor = aten::copy_(%c, %b, %false)
 *           -> (%true)
 *
 * Method. The graph is walked once, in the order of the program, and each node becomes statements.
 * Python numbers are lets and variables. Tensors are places in arguments (loop_view), single
 * elements in variables, or elements still to be computed (lazy.h). Dtypes and ranks are known, as
 * the arguments are at hand.
 *
 * Checks of indices. An index whose range is known in terms of the arguments (loop_bound) is
 * checked once: the conditions are collected and tested at the top of the kernel, which returns
 * GROUP_UNFIT before it has done anything if one fails; the interpreter then runs the group and
 * fails at the right iteration. Conditions that do not hold even for the arguments at hand (x[i
 * - 1] after `if i > 0`) are not required: such an index is checked where it is used, and a
 * fault reports it. Rejected: two copies of the loop, twice the code for programs that fail.
 *
 * Order. Values are computed where the program does so: single elements at
 * once, longer rows when they are read. Rows that were made before a write
 * to their inputs are refused (loop_tensor.made), unless the write is to
 * other rows. Python's `s += x` keeps its order; torch.sum does not.
 *
 * Invariants. Arguments that are written share no memory with others (group_argument.written), so
 * places in different arguments never overlap.
 * Tests: tests/unit/test_group_loop.c
 */
#include "codegen/lower/loops/group_loop.h"

#include <string.h>

/* ---- values ---------------------------------------------------------------------------------- */

loop_value *loop_get(loop_state *s, const ir_value *v) { return ptrmap_get(&s->values, v); }
loop_value *loop_input(loop_state *s, const node *n, int i) {
    return i < (int)n->inputs.len ? loop_get(s, n->inputs.data[i]) : NULL;
}
void loop_set(loop_state *s, const ir_value *v, loop_value *x) {
    if (!ptrmap_put(&s->values, v, x)) s->failed = true;
}

loop_value *loop_number(loop_state *s, nest_expr *e) {
    loop_value *x = arena_new(s->a, loop_value);
    bool simple = e->op == NEST_CONST || e->op == NEST_INPUT ||
                  (e->op == NEST_VAR && !e->u.var->is_mutable);
    x->kind = LOOP_NUMBER;
    x->e = simple ? e : nest_let(s->n, "v", e);
    if (e->type != NEST_I64) return x;
    x->root = e->op == NEST_CONST ? NULL : x->e;
    x->c = e->op == NEST_CONST ? e->u.i : 0;
    if (e->op == NEST_CONST || e->op == NEST_INPUT) x->low = x->high = loop_bound_of(e);
    return x;
}
void loop_set_number(loop_state *s, const node *n, nest_expr *e) {
    loop_set(s, n->outputs.data[0], loop_number(s, e));
}

loop_value *loop_of_tensor(loop_state *s, loop_tensor *t) {
    loop_value *x = arena_new(s->a, loop_value);
    x->kind = LOOP_TENSOR;
    x->tensor = t;
    return x;
}

/* ---- what is known before the kernel --------------------------------------------------------- */

static nest_expr *loop_slot_expr(loop_state *s, int slot) {
    nest_expr *e = plan_expr(s->p, s->a, slot);
    while (s->slot_exprs.len <= (size_t)slot)
        if (!avec_push(s->a, &s->slot_exprs, NULL)) return e;
    s->slot_exprs.data[slot] = e;
    return e;
}

int loop_slot(loop_state *s, const nest_expr *e) {
    if (e->op == NEST_CONST && e->type == NEST_I64) return plan_const(s->p, s->a, e->u.i);
    for (size_t i = 0; i < s->slot_exprs.len; i++)
        if (s->slot_exprs.data[i] == e) return (int)i;
    return -1;
}

static bool loop_slot_value(loop_state *s, int slot, int64_t *out) {
    const group_slot *k = &s->p->slots.data[slot];
    const value *arg = k->kind <= SLOT_INT ? &s->args[k->a] : NULL;
    int64_t x = 0, y = 0;
    switch (k->kind) {
    case SLOT_SIZE: *out = arg->u.tensor->sizes[k->b]; return true;
    case SLOT_STRIDE: *out = arg->u.tensor->strides[k->b]; return true;
    case SLOT_INT: *out = arg->tag == V_BOOL ? arg->u.b : arg->u.i; return true;
    case SLOT_CONST: *out = k->k; return true;
    case SLOT_ADD:
    case SLOT_SUB:
    case SLOT_MUL: break;
    default: return false;
    }
    if (!loop_slot_value(s, k->a, &x) || !loop_slot_value(s, k->b, &y)) return false;
    if (k->kind == SLOT_ADD) return !__builtin_add_overflow(x, y, out);
    if (k->kind == SLOT_SUB) return !__builtin_sub_overflow(x, y, out);
    return !__builtin_mul_overflow(x, y, out);
}

bool loop_evaluate(loop_state *s, const nest_expr *e, int64_t *out) {
    int64_t x = 0, y = 0;
    if (e->type != NEST_I64) return false;
    if (e->op == NEST_CONST) {
        *out = e->u.i;
        return true;
    }
    if (e->op == NEST_INPUT) return loop_slot_value(s, s->p->ints.data[e->u.input], out);
    if (e->op != NEST_ADD && e->op != NEST_SUB) return false;
    if (!loop_evaluate(s, e->args[0], &x) || !loop_evaluate(s, e->args[1], &y)) return false;
    return e->op == NEST_ADD ? !__builtin_add_overflow(x, y, out)
                             : !__builtin_sub_overflow(x, y, out);
}

bool loop_demand(loop_state *s, nest_expr *condition, bool holds) {
    return holds && avec_push(s->a, &s->conditions, condition);
}

static void loop_close_conditions(loop_state *s) {
    nest_expr *all = NULL;
    for (size_t i = 0; i < s->conditions.len; i++)
        all = all ? nest_binary(s->n, NEST_AND, all, s->conditions.data[i]) : s->conditions.data[i];
    s->fits->value = all ? nest_unary(s->n, NEST_NOT, all) : nest_const_int(s->n, NEST_BOOL, 0);
}

int64_t loop_fault(loop_state *s, const node *n, const char *message, int nsizes,
                   nest_expr *const *sizes) {
    int *slots = arena_array(s->a, int, nsizes + 1);
    for (int i = 0; i < nsizes; i++)
        if ((slots[i] = loop_slot(s, sizes[i])) < 0) return 0;
    group_fault f = {.code = GROUP_FIRST_FAULT + (int64_t)s->p->faults.len,
                     .message = arena_strdup(s->a, message),
                     .range = n->range,
                     .call = n->call,
                     .nsizes = nsizes,
                     .sizes = slots};
    return avec_push(s->a, &s->p->faults, f) ? f.code : 0;
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* Strides that are 1 are fixed: the code is another one, and better. */
static nest_expr *loop_stride(loop_state *s, int argument, int dim, int64_t actual) {
    int slot = plan_stride(s->p, s->a, argument, dim);
    if (actual != 1) return loop_slot_expr(s, slot);
    plan_relate(s->p, s->a, SLOT_IS, slot, 0, 1);
    return nest_int(s->n, 1);
}

static void loop_geometry(loop_state *s, loop_base *b, const tensor *t, bool contiguous) {
    int slot = plan_const(s->p, s->a, 1);
    for (int k = b->ndim - 1; k >= 0; k--) {
        int size = plan_size(s->p, s->a, b->argument, k);
        b->sizes[k] = loop_slot_expr(s, size);
        b->strides[k] = contiguous ? loop_slot_expr(s, slot)
                                   : loop_stride(s, b->argument, k, t->strides[k]);
        if (contiguous && k)
            slot = k == b->ndim - 1 ? size : plan_slot(s->p, s->a, SLOT_MUL, slot, size, 0);
        /* elements of a written tensor are all different */
        if (!contiguous && b->written)
            plan_relate(s->p, s->a, SLOT_POSITIVE, plan_stride(s->p, s->a, b->argument, k), 0, 0);
    }
}

static bool loop_tensor_argument(loop_state *s, int i, const tensor *t, bool written,
                                 group_argument *out) {
    nest_type type;
    if (s->nbases == LOOP_MAX_BASES || t->ndim > LAZY_MAX_DIMS ||
        !nest_type_of((dtype)t->dtype, &type))
        return false;
    bool contiguous = tensor_is_contiguous(t);
    if (written && tensor_may_overlap(t)) return false;
    for (int k = 0; k < t->ndim && written && !contiguous; k++)
        if (t->strides[k] <= 0) return false;
    *out = (group_argument){.tag = V_TENSOR,
                            .dt = (dtype)t->dtype,
                            .ndim = t->ndim,
                            .contiguous = contiguous,
                            .written = written};
    loop_base *b = &s->bases[s->nbases];
    *b = (loop_base){.argument = i,
                     .number = s->nbases++,
                     .dt = (dtype)t->dtype,
                     .ndim = t->ndim,
                     .written = written};
    b->buffer = nest_add_buffer(s->n, s->g->root->params.data[i]->name, b->dt, NEST_RESTRICT);
    avec_push(s->a, &s->p->buffers, ((group_buffer){BUFFER_ARGUMENT, i}));
    loop_geometry(s, b, t, contiguous);
    loop_view *v = arena_new(s->a, loop_view);
    *v = (loop_view){.base = b, .ndim = b->ndim, .offset = nest_int(s->n, 0), .whole = true};
    loop_tensor *x = arena_new(s->a, loop_tensor);
    *x = (loop_tensor){.dt = b->dt, .ndim = b->ndim, .view = v};
    memcpy(v->sizes, b->sizes, sizeof v->sizes);
    memcpy(v->strides, b->strides, sizeof v->strides);
    memcpy(x->sizes, b->sizes, sizeof x->sizes);
    for (int k = 0; k < b->ndim; k++) v->dims[k] = k;
    loop_set(s, s->g->root->params.data[i], loop_of_tensor(s, x));
    return true;
}

static bool loop_argument(loop_state *s, int i, bool written) {
    const ir_value *param = s->g->root->params.data[i];
    const value *v = &s->args[i];
    group_argument a = {.tag = (value_tag)v->tag};
    nest_expr *e;
    switch (v->tag) {
    case V_TENSOR:
        if (!loop_tensor_argument(s, i, v->u.tensor, written, &a)) return false;
        break;
    case V_INT:
    case V_BOOL:
        e = loop_slot_expr(s, plan_slot(s->p, s->a, SLOT_INT, i, 0, 0));
        loop_set(s, param, loop_number(s, v->tag == V_BOOL ? nest_cast(s->n, NEST_BOOL, e) : e));
        break;
    case V_FLOAT:
        avec_push(s->a, &s->p->floats, i);
        loop_set(s, param, loop_number(s, nest_add_float(s->n, param->name)));
        break;
    default: return false;
    }
    return avec_push(s->a, &s->p->arguments, a);
}

/* ---- what is written ------------------------------------------------------------------------- */

static bool loop_mark_written(loop_state *s, const block *b, bool *written) {
    for (const node *n = b->first; n; n = n->next) {
        for (size_t i = 0; i < n->blocks.len; i++)
            if (!loop_mark_written(s, n->blocks.data[i], written)) return false;
        if (!loop_op_writes(n)) continue;
        const ir_value *object = loop_object(n->inputs.data[0]),
                       *v = loop_viewed(n->inputs.data[0]);
        if (!v->def && v->owner == s->g->root) written[v->index] = true;
        else if (v != object) return false; /* a view of a new tensor */
        else if (!ptrmap_put(&s->written_new, v, (void *)1)) s->failed = true;
    }
    return true;
}

/* ---- results --------------------------------------------------------------------------------- */

static nest_buffer *loop_output(loop_state *s, group_output *o, dtype dt) {
    avec_push(s->a, &s->p->buffers, ((group_buffer){BUFFER_OUTPUT, (int)s->p->outputs.len}));
    return nest_add_buffer(s->n, arena_printf(s->a, "result%d", (int)s->p->outputs.len), o->dt = dt,
                           NEST_RESTRICT);
}

static bool loop_result_number(loop_state *s, const loop_value *x, const type *t, group_output *o) {
    static const struct { nest_type type; value_tag tag; dtype dt; type_kind kind; } rows[] = {
        {NEST_I64, V_INT, DT_INT64, T_INT},
        {NEST_F64, V_FLOAT, DT_FLOAT64, T_FLOAT},
        {NEST_BOOL, V_BOOL, DT_BOOL, T_BOOL},
    };
    for (int i = 0; i < 3; i++) {
        bool any = x->kind == LOOP_UNINIT && t->kind == rows[i].kind;
        if (!any && (x->kind != LOOP_NUMBER || x->e->type != rows[i].type)) continue;
        o->tag = rows[i].tag;
        nest_expr *zero = rows[i].type == NEST_F64 ? nest_const_float(s->n, NEST_F64, 0)
                                                   : nest_const_int(s->n, rows[i].type, 0);
        nest_store(s->n, loop_output(s, o, rows[i].dt), nest_int(s->n, 0), any ? zero : x->e);
        return true;
    }
    return false;
}

/* A tensor that the loop wrote to, or a new one of one element. */
static bool loop_result_tensor(loop_state *s, const loop_tensor *t, group_output *o) {
    o->tag = V_TENSOR;
    if (t->view) {
        o->alias = t->view->base->argument;
        o->dt = t->dt;
        o->ndim = t->ndim;
        return t->view->whole;
    }
    if (!t->value) return false;
    o->ndim = t->ndim;
    for (int i = 0; i < t->ndim; i++) o->sizes[i] = plan_const(s->p, s->a, 1);
    nest_store(s->n, loop_output(s, o, t->dt), nest_int(s->n, 0), t->value);
    return true;
}

static bool loop_results(loop_state *s) {
    for (size_t i = 0; i < s->g->root->returns.len; i++) {
        const ir_value *v = s->g->root->returns.data[i];
        const loop_value *x = loop_get(s, v);
        group_output o = {.alias = -1};
        if (!x) return false;
        if (x->kind == LOOP_TENSOR ? !loop_result_tensor(s, x->tensor, &o)
                                   : !loop_result_number(s, x, v->type, &o))
            return false;
        if (!avec_push(s->a, &s->p->outputs, o)) return false;
    }
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool loop_equal(void *ctx, nest_expr *x, nest_expr *y) {
    loop_state *s = ctx;
    int64_t a, b;
    int i, j;
    if (x == y) return true;
    if (!loop_evaluate(s, x, &a) || !loop_evaluate(s, y, &b) || a != b) return false;
    if ((i = loop_slot(s, x)) < 0 || (j = loop_slot(s, y)) < 0) return false;
    if (x->op == NEST_CONST && y->op == NEST_CONST) return true;
    if (x->op == NEST_CONST || y->op == NEST_CONST)
        plan_relate(s->p, s->a, SLOT_IS, x->op == NEST_CONST ? j : i, 0, a);
    else plan_relate(s->p, s->a, SLOTS_EQUAL, i, j, 0);
    return true;
}

static bool loop_is_one(void *ctx, nest_expr *x) {
    loop_state *s = ctx;
    int64_t a;
    int i;
    if (!loop_evaluate(s, x, &a) || a != 1 || (i = loop_slot(s, x)) < 0) return false;
    if (x->op != NEST_CONST) plan_relate(s->p, s->a, SLOT_IS, i, 0, 1);
    return true;
}

static bool loop_positive(void *ctx, nest_expr *x) {
    loop_state *s = ctx;
    int64_t a;
    int i;
    if (!loop_evaluate(s, x, &a) || a <= 0 || (i = loop_slot(s, x)) < 0) return false;
    if (x->op != NEST_CONST) plan_relate(s->p, s->a, SLOT_POSITIVE, i, 0, 0);
    return true;
}

static bool loop_specialise(void *ctx, nest_expr *x, int64_t *out) {
    loop_state *s = ctx;
    int i;
    if (!loop_evaluate(s, x, out) || (i = loop_slot(s, x)) < 0) return false;
    if (x->op != NEST_CONST) plan_relate(s->p, s->a, SLOT_IS, i, 0, *out);
    return true;
}

static bool loop_peek(void *ctx, const nest_expr *x, int64_t *out) {
    return loop_evaluate(ctx, x, out);
}

static bool loop_lower(loop_state *s) {
    const block *root = s->g->root;
    bool *written = mem_zalloc(root->params.len + 1);
    bool ok = written && loop_mark_written(s, root, written);
    for (size_t i = 0; i < root->params.len && ok; i++) ok = loop_argument(s, (int)i, written[i]);
    mem_free(written);
    if (!ok) return false;
    nest_if(s->n, nest_const_int(s->n, NEST_BOOL, 0));
    s->fits = s->n->open[0];
    s->fits->unlikely = true;
    nest_fail(s->n, GROUP_UNFIT, nest_int(s->n, 0));
    nest_end(s->n);
    if (!loop_lower_block(s, root) || !loop_results(s)) return false;
    loop_close_conditions(s);
    return true;
}

ctsc_status group_lower_loop(arena *a, const graph *g, const value *args, group_plan **out,
                             diag *d) {
    loop_state *s = mem_zalloc(sizeof *s);
    *out = NULL;
    if (!s) return diag_no_memory(d);
    *s = (loop_state){
        .a = a, .g = g, .args = args, .p = arena_new(a, group_plan), .n = nest_new(a, "loop")};
    ctsc_status st = CTSC_OK;
    s->p->nest = s->n;
    s->p->range_begin = s->p->range_end = -1;
    if (!arena_failed(a)) s->p->grain_size = plan_const(s->p, a, 1);
    s->l = (lazy){.n = s->n,
                  .a = a,
                  .equal = loop_equal,
                  .is_one = loop_is_one,
                  .positive = loop_positive,
                  .specialise = loop_specialise,
                  .peek = loop_peek,
                  .ctx = s};
    if (!arena_failed(a) && loop_lower(s) && !s->n->overflow) *out = s->p;
    if (s->failed || arena_failed(a)) {
        *out = NULL;
        st = diag_no_memory(d);
    }
    ptrmap_free(&s->values);
    ptrmap_free(&s->written_new);
    mem_free(s);
    return st;
}

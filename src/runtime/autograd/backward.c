/* SPDX-License-Identifier: Apache-2.0 */
/*
 * backward.c - a backward pass: from roots to leaves, or to the tensors that
 * gradients are asked of.
 *
 * Method. The nodes that can be reached are collected and sorted by their sequence numbers. An edge
 * always leads to an older node, so the latest first is a topological order; no dependencies are
 * counted, and nothing recurs. It is also PyTorch's order, so that sums of gradients are rounded as
 * there: in the order of arrival, the latest consumer first. For autograd.grad, only nodes run from
 * which an input can be reached. Under create_graph formulas run as taped code and sums are
 * recorded; otherwise a sum goes into the first summand if nothing else has it. What a node saved
 * is freed as soon as it has run, unless the graph is retained.
 *
 * Tests: tests/corpus/grad
 */
#include "runtime/autograd/autograd.h"
#include "runtime/autograd/grad_capture.h"
#include "runtime/interp/interp_internal.h"
#include "tensor/device.h"
#include "tensor/dim_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

typedef struct visit {
    grad_node *n;   /* borrowed: the roots hold all of them */
    tensor **grads; /* per output, as far as they have arrived */
    bool needed;
} visit;

typedef struct leaf_grad {
    tensor *leaf, *grad;
} leaf_grad;

typedef struct backward {
    op_ctx *cx;
    const backward_request *r;
    VEC(visit) visits; /* in ascending sequence once sorted */
    ptrmap index;      /* node -> its visit, as a number + 1 */
    VEC(leaf_grad) leaves;
    ptrmap leaf_index;
    tensor **out;
    VEC(grad_edge) roots, inputs; /* borrowed */
} backward;

/* ---- operators of the engine itself ---------------------------------------------------------- */

static ctsc_status backward_op(const backward *b, const char *key, int nargs, const value *args,
                               value *out) {
    if (b->r->create_graph || capture_current) return tape_call_key(b->cx, key, nargs, args, out);
    *out = value_none();
    return op_call(b->cx, key, nargs, args, out);
}

static value borrowed(tensor *t) { return (value){.tag = V_TENSOR, .u.tensor = t}; }

static ctsc_status backward_ints(diag *d, int n, const int64_t *data, value *out) {
    list *l = list_new(LIST_INT, TYPE_INT, (size_t)n);
    if (!l) return diag_no_memory(d);
    for (int i = 0; i < n; i++) list_append_take(l, value_int(data[i]));
    *out = value_list_take(l);
    return CTSC_OK;
}

/* *g = op(*g, args[1..]); args[0] is set here. */
static ctsc_status backward_apply(const backward *b, const char *key, int nargs, value *args,
                                  tensor **g) {
    value out;
    args[0] = borrowed(*g);
    TRY(backward_op(b, key, nargs, args, &out));
    tensor_unref(*g);
    *g = out.u.tensor;
    return CTSC_OK;
}

static ctsc_status backward_zeros(const backward *b, const grad_shape *s, tensor **out) {
    value sizes = value_none(), made = value_none();
    TRY(backward_ints(b->cx->diag, s->ndim, s->sizes, &sizes));
    value args[] = {sizes, value_int(s->dtype), value_none(), value_device(s->device),
                    value_none()};
    ctsc_status st = backward_op(b, "aten::zeros", 5, args, &made);
    value_unref(sizes);
    if (st == CTSC_OK) *out = made.u.tensor;
    return st;
}

/* ---- sums ------------------------------------------------------------------------------------ */

static bool backward_may_write(const backward *b, const tensor *t, const tensor *g) {
    return !b->r->create_graph && !capture_current && atomic_load(&t->refs) == 1 &&
           atomic_load(&t->storage->refs) == 1 && !t->storage->read_only && t->dtype == g->dtype &&
           tensor_same_shape(t, g) && !tensor_may_overlap(t);
}

/* *sum += g, whose reference is taken. */
static ctsc_status backward_add(const backward *b, tensor **sum, tensor *g) {
    if (!*sum) return *sum = g, CTSC_OK;
    value args[3] = {borrowed(*sum), borrowed(g), value_int(1)}, out = value_none();
    ctsc_status s = backward_may_write(b, *sum, g)
                        ? op_call(b->cx, "aten::add_.Tensor", 3, args, &out)
                        : backward_op(b, "aten::add.Tensor", 3, args, &out);
    tensor_unref(g);
    if (s != CTSC_OK) return s;
    tensor_unref(*sum);
    *sum = out.u.tensor;
    return CTSC_OK;
}

static ctsc_status backward_add_leaf(backward *b, tensor *leaf, tensor *g) {
    size_t at = (size_t)(uintptr_t)ptrmap_get(&b->leaf_index, leaf);
    if (!at) {
        bool noted = vec_push(&b->leaves, ((leaf_grad){.leaf = tensor_ref(leaf)}));
        if (!noted || !ptrmap_put(&b->leaf_index, leaf, (void *)(uintptr_t)b->leaves.len)) {
            tensor_unref(g);
            return diag_no_memory(b->cx->diag);
        }
        at = b->leaves.len;
    }
    return backward_add(b, &b->leaves.data[at - 1].grad, g);
}

/* Takes g. */
static ctsc_status backward_send(backward *b, const grad_edge *e, tensor *g) {
    if (e->leaf) return backward_add_leaf(b, e->leaf, g);
    size_t at = e->fn ? (size_t)(uintptr_t)ptrmap_get(&b->index, e->fn) : 0;
    if (!at) {
        tensor_unref(g);
        return CTSC_OK;
    }
    return backward_add(b, &b->visits.data[at - 1].grads[e->output], g);
}

/* ---- a gradient takes the shape of what it belongs to ---------------------------------------- */

static ctsc_status backward_refuse_shape(const backward *b, const grad_node *n, int input,
                                         const tensor *g, const grad_shape *s) {
    strbuf text = STRBUF_INIT;
    char name[128];
    grad_node_name(n, name, sizeof name);
    sb_printf(&text, "Function %s returned an invalid gradient at index %d - got ", name, input);
    tensor_print_sizes(g->ndim, g->sizes, &text);
    sb_puts(&text, " but expected shape compatible with ");
    tensor_print_sizes(s->ndim, s->sizes, &text);
    ctsc_status st = diag_fail(b->cx->diag, CTSC_FAILED, "%s", sb_str(&text));
    sb_free(&text);
    return st;
}

static bool backward_has_shape(const tensor *g, const grad_shape *s) {
    bool same = g->ndim == s->ndim;
    for (int i = 0; same && i < g->ndim; i++) same = g->sizes[i] == s->sizes[i];
    return same;
}

/* Sums over the dims that broadcasting added or expanded. */
static ctsc_status backward_sum_to(const backward *b, const grad_node *n, int input,
                                   const grad_shape *s, tensor **g) {
    int64_t dims[TENSOR_MAX_DIMS];
    int k = 0, lead = (*g)->ndim - s->ndim;
    bool fits = lead >= 0;
    for (int i = 0; fits && i < (*g)->ndim; i++) {
        int64_t have = (*g)->sizes[i], want = i < lead ? 1 : s->sizes[i - lead];
        fits = have == want || want == 1;
        if (i < lead || (want == 1 && have != 1)) dims[k++] = i;
    }
    if (!fits) return backward_refuse_shape(b, n, input, *g, s);
    value list_of[2] = {value_none(), value_none()},
          args[4] = {value_none(), value_none(), value_bool(true), value_none()};
    ctsc_status st = k ? backward_ints(b->cx->diag, k, dims, &list_of[0]) : CTSC_OK;
    args[1] = list_of[0];
    if (st == CTSC_OK && k) st = backward_apply(b, "aten::sum.dim_IntList", 4, args, g);
    if (st == CTSC_OK && lead) st = backward_ints(b->cx->diag, s->ndim, s->sizes, &list_of[1]);
    args[1] = list_of[1];
    if (st == CTSC_OK && lead) st = backward_apply(b, "aten::reshape", 2, args, g);
    value_unref(list_of[0]);
    value_unref(list_of[1]);
    return st;
}

static ctsc_status backward_fit(const backward *b, const grad_node *n, int input,
                                const grad_shape *s, tensor **g) {
    value args[6] = {value_none()};
    if (!backward_has_shape(*g, s)) TRY(backward_sum_to(b, n, input, s, g));
    if (dtype_is_complex((dtype)(*g)->dtype) && !dtype_is_complex((dtype)s->dtype))
        TRY(backward_apply(b, "aten::real", 1, args, g));
    if ((*g)->dtype == s->dtype) return CTSC_OK;
    args[1] = value_int(s->dtype);
    args[2] = args[3] = value_bool(false);
    args[4] = value_none();
    return backward_apply(b, "aten::to.dtype", 5, args, g);
}

/* ---- formulas -------------------------------------------------------------------------------- */

static grad_saved *backward_saved(grad_node *n, grad_need need, int index) {
    for (int i = 0; i < n->nsaved; i += 1 + n->saved[i].count)
        if (n->saved[i].need == need && n->saved[i].index == index) return &n->saved[i];
    return NULL;
}

static ctsc_status backward_grad(const backward *b, const grad_node *n, tensor *const *grads,
                                 grad_param p, value *out) {
    if (grads[p.index] || p.optional) {
        *out = grads[p.index] ? value_ref(borrowed(grads[p.index])) : value_none();
        return CTSC_OK;
    }
    tensor *zeros;
    TRY(backward_zeros(b, &n->outputs[p.index], &zeros));
    *out = value_tensor_take(zeros);
    return CTSC_OK;
}

static ctsc_status backward_grad_list(const backward *b, const grad_node *n, tensor *const *grads,
                                      value *out) {
    list *l = list_new(LIST_TENSOR, TYPE_TENSOR, (size_t)n->noutputs);
    if (!l) return diag_no_memory(b->cx->diag);
    ctsc_status s = CTSC_OK;
    for (int i = 0; i < n->noutputs && s == CTSC_OK; i++) {
        value g;
        s = backward_grad(b, n, grads, (grad_param){.index = i}, &g);
        if (s == CTSC_OK && !list_append_take(l, g)) s = diag_no_memory(b->cx->diag);
    }
    *out = value_list_take(l);
    if (s == CTSC_OK) return s;
    value_set(out, value_none());
    return s;
}

/* The list's element type is what the formula's parameter has. */
static ctsc_status backward_saved_list(const backward *b, grad_node *n, grad_saved *s, type *t,
                                       value *out) {
    while (t->kind == T_OPTIONAL) t = type_elem(t);
    type *elem = t->kind == T_LIST ? type_elem(t) : TYPE_TENSOR;
    list *l = list_new(type_list_kind(elem), elem, (size_t)s->count);
    if (!l) return diag_no_memory(b->cx->diag);
    *out = value_list_take(l);
    for (int i = 1; i <= s->count; i++) {
        value v = value_none();
        ctsc_status st = s[i].is_tensor ? grad_unsave(b->cx->diag, n, &s[i], b->r->create_graph, &v)
                                        : CTSC_OK;
        if (st == CTSC_OK && !list_append_take(l, v)) st = diag_no_memory(b->cx->diag);
        if (st == CTSC_OK) continue;
        value_set(out, value_none());
        return st;
    }
    return CTSC_OK;
}

static bool backward_edge_is_needed(const backward *b, const grad_edge *e);

/* Is the gradient of argument arg asked for? */
static bool backward_wants(const backward *b, const grad_node *n, int arg) {
    for (int i = 0; i < n->ninputs; i++)
        if (n->args[i] == arg && backward_edge_is_needed(b, &n->edges[i])) return true;
    return false;
}

/* One answer per argument, but one per tensor of a list. */
static ctsc_status backward_wanted_list(const backward *b, const grad_node *n,
                                        const grad_formula *f, value *out) {
    list *l = list_new(LIST_BOOL, TYPE_BOOL, (size_t)(f->ninputs + n->ninputs));
    if (!l) return diag_no_memory(b->cx->diag);
    for (int i = 0; i < f->ninputs; i++) {
        bool many = n->rule->base->schema->args[f->inputs[i]].type->kind == T_LIST;
        if (!many) list_append_take(l, value_bool(backward_wants(b, n, f->inputs[i])));
        for (int k = 0; many && k < n->ninputs; k++)
            if (n->args[k] == f->inputs[i])
                list_append_take(l, value_bool(backward_edge_is_needed(b, &n->edges[k])));
    }
    *out = value_list_take(l);
    return CTSC_OK;
}

static ctsc_status backward_argument(const backward *b, grad_node *n, const grad_formula *f, int k,
                                     tensor *const *grads, value *out) {
    grad_param p = f->params[k];
    if (p.need == NEED_GRAD) return backward_grad(b, n, grads, p, out);
    if (p.need == NEED_GRADS) return backward_grad_list(b, n, grads, out);
    if (p.need == NEED_WANTED) return backward_wanted_list(b, n, f, out);
    grad_saved *s = backward_saved(n, p.need, p.index);
    if (!s)
        return diag_fail(b->cx->diag, CTSC_INTERNAL, "%s saved no argument %d", n->o->key, p.index);
    if (s->is_list) return backward_saved_list(b, n, s, f->fn->schema->args[k].type, out);
    return grad_unsave(b->cx->diag, n, s, b->r->create_graph, out);
}

/* The result for argument arg (a tensor, None or a list of these), to the node's
 * inputs that it is. */
static ctsc_status backward_deliver(backward *b, grad_node *n, int arg, const value *v,
                                    tensor **out) {
    int element = 0;
    for (int i = 0; i < n->ninputs; i++) {
        if (n->args[i] != arg) continue;
        bool many = v->tag == V_LIST;
        value one = many ? ((size_t)element < v->u.list->len ? list_get(v->u.list, (size_t)element)
                                                             : value_none())
                         : value_ref(*v);
        element++;
        if (one.tag != V_TENSOR || !backward_edge_is_needed(b, &n->edges[i])) {
            value_unref(one);
            continue;
        }
        tensor *g = one.u.tensor;
        ctsc_status s = backward_fit(b, n, i, &n->inputs[i], &g);
        if (s != CTSC_OK) {
            tensor_unref(g);
            return s;
        }
        out[i] = g;
    }
    return CTSC_OK;
}

static ctsc_status backward_formula(backward *b, grad_node *n, const grad_formula *f,
                                    tensor *const *grads, tensor **out) {
    value args[GRAD_MAX_ARGS] = {{0}}, result = value_none();
    int have = 0;
    ctsc_status s = CTSC_OK;
    for (; have < f->nparams && s == CTSC_OK; have += s == CTSC_OK)
        s = backward_argument(b, n, f, have, grads, &args[have]);
    if (s == CTSC_OK) s = interp_call_from_op(b->cx, f->fn, f->nparams, args, &result);
    for (int i = 0; i < have; i++) value_unref(args[i]);
    for (int i = 0; i < f->ninputs && s == CTSC_OK; i++) {
        const value *v = f->ninputs == 1 ? &result
                         : result.tag == V_TUPLE && (size_t)i < result.u.tuple->len
                             ? &result.u.tuple->items[i]
                             : NULL;
        if (v && backward_wants(b, n, f->inputs[i]))
            s = backward_deliver(b, n, f->inputs[i], v, out);
    }
    value_unref(result);
    return s;
}

static ctsc_status backward_rule(backward *b, grad_node *n, tensor *const *grads, tensor **out) {
    for (int i = 0; i < n->rule->nformulas; i++) {
        const grad_formula *f = &n->rule->formulas[i];
        bool wanted = false;
        for (int k = 0; k < f->ninputs; k++) wanted |= backward_wants(b, n, f->inputs[k]);
        if (wanted) TRY(backward_formula(b, n, f, grads, out));
    }
    /* an in-place operator without a formula for what it wrote has overwritten it */
    if (n->rule->in_place && n->ninputs && !(n->rule->differentiable & 1) && !out[0] &&
        backward_edge_is_needed(b, &n->edges[0]))
        TRY(backward_zeros(b, &n->inputs[0], &out[0]));
    return CTSC_OK;
}

/* ---- views ----------------------------------------------------------------------------------- */

typedef struct view_args {
    value sizes, strides, offset;
} view_args;

static void view_args_free(view_args *v) {
    value_unref(v->sizes);
    value_unref(v->strides);
}

static ctsc_status backward_view_args(diag *d, const int64_t *g, view_args *v) {
    *v = (view_args){value_none(), value_none(), value_int(g[1])};
    TRY(backward_ints(d, (int)g[0], g + 2, &v->sizes));
    return backward_ints(d, (int)g[0], g + 2 + g[0], &v->strides);
}

/* The base's sizes and strides, as its view's geometry counts them. */
static ctsc_status backward_base_args(diag *d, const grad_node *n, value *sizes, value *strides) {
    int ndim = n->inputs[0].ndim, halved = n->parts == PARTS_OF_BASE;
    TRY(backward_ints(d, ndim, n->inputs[0].sizes, sizes));
    if (halved && !list_append_take(sizes->u.list, value_int(2))) return diag_no_memory(d);
    return backward_ints(d, ndim + halved, n->geometry + 2 + 2 * n->geometry[0], strides);
}

/* *t = view_as_real(*t), or view_as_complex, if `wanted`. */
static ctsc_status backward_recount(const backward *b, bool wanted, const char *key, value *t) {
    value out = value_none();
    if (!wanted) return CTSC_OK;
    if (t->u.tensor->conjugated && !strcmp(key, "aten::view_as_real"))
        TRY(backward_recount(b, true, "aten::resolve_conj", t));
    TRY(backward_op(b, key, 1, t, &out));
    value_set(t, out);
    return CTSC_OK;
}

/* *t as the view's numbers are to the base's, or the other way. */
static ctsc_status backward_relate(const backward *b, const grad_node *n, value *t) {
    TRY(backward_recount(b, n->conjugated, "aten::conj", t));
    return backward_recount(b, n->negated, "aten::_neg_view", t);
}

/* The gradient of a view's base: zeros except for the view. */
static ctsc_status backward_of_view(backward *b, grad_node *n, tensor *g, tensor **out) {
    function *fn = op_host_installed->library_function("_as_strided_grad", b->cx->diag);
    if (!fn) return b->cx->diag->status;
    view_args v = {value_none(), value_none(), value_none()};
    value base[2] = {value_none(), value_none()}, result = value_none(),
          grad = value_ref(borrowed(g));
    ctsc_status s = backward_view_args(b->cx->diag, n->geometry, &v);
    if (s == CTSC_OK) s = backward_base_args(b->cx->diag, n, &base[0], &base[1]);
    if (s == CTSC_OK) s = backward_relate(b, n, &grad);
    if (s == CTSC_OK)
        s = backward_recount(b, n->parts == PARTS_OF_VIEW, "aten::view_as_real", &grad);
    value args[] = {grad, base[0], base[1], v.sizes, v.strides, v.offset};
    if (s == CTSC_OK) s = interp_call_from_op(b->cx, fn, 6, args, &result);
    if (s == CTSC_OK)
        s = backward_recount(b, n->parts == PARTS_OF_BASE, "aten::view_as_complex", &result);
    if (s == CTSC_OK) *out = result.u.tensor;
    else value_unref(result);
    view_args_free(&v);
    value_unref(grad);
    value_unref(base[0]);
    value_unref(base[1]);
    return s;
}

/* whole: a copy of g with the base's layout; part: the view's elements of it. */
static ctsc_status backward_slice(backward *b, const grad_node *n, tensor *g, value *whole,
                                  value *part) {
    value lists[2] = {value_none(), value_none()}, same = value_none(),
          grad = value_ref(borrowed(g));
    view_args v = {value_none(), value_none(), value_none()};
    ctsc_status s = backward_base_args(b->cx->diag, n, &lists[0], &lists[1]);
    if (s == CTSC_OK)
        s = backward_recount(b, n->parts == PARTS_OF_BASE, "aten::view_as_real", &grad);
    value args[8] = {grad, lists[0], lists[1]};
    if (s == CTSC_OK) s = backward_op(b, "aten::new_empty_strided", 3, args, whole);
    if (s == CTSC_OK)
        s = backward_op(b, "aten::copy_", 3, (value[]){*whole, grad, value_bool(false)}, &same);
    value_unref(same);
    if (s == CTSC_OK) s = backward_view_args(b->cx->diag, n->geometry, &v);
    if (s == CTSC_OK)
        s = backward_op(b, "aten::as_strided", 4, (value[]){*whole, v.sizes, v.strides, v.offset},
                        part);
    if (s == CTSC_OK)
        s = backward_recount(b, n->parts == PARTS_OF_VIEW, "aten::view_as_complex", part);
    if (s == CTSC_OK) s = backward_relate(b, n, part);
    view_args_free(&v);
    value_unref(grad);
    value_unref(lists[0]);
    value_unref(lists[1]);
    return s;
}

/* What wrote the view gets the view's part of the gradient; what it answers for the view's old
 * elements takes that part's place. */
static ctsc_status backward_copy_slices(backward *b, grad_node *n, tensor *g, tensor **out) {
    value whole = value_none(), part = value_none(), copy = value_none(), same = value_none();
    grad_node *inner = n->inner;
    ctsc_status s = backward_slice(b, n, g, &whole, &part);
    if (s == CTSC_OK) s = backward_op(b, "aten::clone", 2, (value[]){part, value_none()}, &copy);
    if (s == CTSC_OK) {
        tensor *grads[1] = {copy.u.tensor};
        grad_edge own = inner->edges[0];
        inner->edges[0] = n->edges[0]; /* the view's old elements are the base's */
        s = backward_rule(b, inner, grads, out);
        inner->edges[0] = own;
    }
    if (s == CTSC_OK && out[0])
        s = backward_op(b, "aten::copy_", 3, (value[]){part, borrowed(out[0]), value_bool(false)},
                        &same);
    else if (s == CTSC_OK) s = backward_op(b, "aten::zero_", 1, &part, &same);
    if (s == CTSC_OK)
        s = backward_recount(b, n->parts == PARTS_OF_BASE, "aten::view_as_complex", &whole);
    if (s == CTSC_OK) {
        tensor_unref(out[0]);
        out[0] = whole.u.tensor;
        whole = value_none();
    }
    value_unref(same);
    value_unref(copy);
    value_unref(part);
    value_unref(whole);
    return s;
}

/* ---- whole calls ----------------------------------------------------------------------------- */

static ctsc_status backward_call(backward *b, grad_node *n, tensor *const *grads, tensor **out) {
    tensor **all = mem_zalloc((size_t)n->noutputs * sizeof *all + 1);
    ctsc_status s = all ? CTSC_OK : diag_no_memory(b->cx->diag);
    for (int i = 0; i < n->noutputs && s == CTSC_OK; i++) {
        if (grads[i]) all[i] = tensor_ref(grads[i]);
        else if (n->call->zeros) s = backward_zeros(b, &n->outputs[i], &all[i]);
    }
    if (s == CTSC_OK) s = n->call->backward(b->cx, n, all, b->r->create_graph, out);
    for (int i = 0; i < n->noutputs && all; i++) tensor_unref(all[i]);
    mem_free(all);
    for (int i = 0; i < n->ninputs; i++) {
        if (s == CTSC_OK && backward_edge_is_needed(b, &n->edges[i])) {
            if (out[i]) s = backward_fit(b, n, i, &n->inputs[i], &out[i]);
            continue;
        }
        tensor_unref(out[i]);
        out[i] = NULL;
    }
    return s;
}

/* ---- the walk -------------------------------------------------------------------------------- */

static ctsc_status backward_refuse(const backward *b, const grad_node *n) {
    if (n->kind == GRAD_MISSING)
        return diag_fail(b->cx->diag, CTSC_FAILED, "derivative for %s is not implemented",
                         n->o->schema->name);
    return diag_fail(b->cx->diag, CTSC_FAILED,
                     "Trying to backward through the graph a second time (or directly access saved "
                     "tensors after they have already been freed). "
                     "Saved intermediate values of the graph are freed when you call .backward() "
                     "or autograd.grad(). Specify "
                     "retain_graph=True if you need to backward through the graph a second time or "
                     "if you need to access saved tensors after "
                     "calling backward.");
}

static ctsc_status backward_node(backward *b, grad_node *n, tensor *const *grads, tensor **out) {
    if (n->kind == GRAD_MISSING || n->freed) return backward_refuse(b, n);
    if (n->kind == GRAD_VIEW) return backward_of_view(b, n, grads[0], &out[0]);
    if (n->kind == GRAD_COPY_SLICES) return backward_copy_slices(b, n, grads[0], out);
    if (n->kind == GRAD_CALL) return backward_call(b, n, grads, out);
    names_suspend(); /* gradients have none; what was saved may */
    ctsc_status s = backward_rule(b, n, grads, out);
    names_resume();
    return s;
}

/* Of anomaly mode: no gradient may have nan elements. */
static ctsc_status backward_check_nan(const backward *b, const grad_node *n, tensor **out) {
    for (int i = 0; i < n->ninputs; i++) {
        if (!out[i] || !(dtype_is_float(out[i]->dtype) || dtype_is_complex(out[i]->dtype)))
            continue;
        value g = borrowed(out[i]), flags = value_none(), any = value_none();
        ctsc_status s = backward_op(b, "aten::isnan", 1, &g, &flags);
        if (s == CTSC_OK) s = backward_op(b, "aten::any", 1, &flags, &any);
        value_unref(flags);
        TRY(s);
        bool found = tensor_item_int(any.u.tensor) != 0;
        value_unref(any);
        if (!found) continue;
        char name[128];
        grad_node_name(n, name, sizeof name);
        return diag_fail(b->cx->diag, CTSC_FAILED,
                         "Function '%s' returned nan values in its %dth output.", name, i);
    }
    return CTSC_OK;
}

/* Runs a node and sends the gradients on. */
static ctsc_status backward_run(backward *b, size_t at) {
    grad_node *n = b->visits.data[at].n;
    tensor **grads = b->visits.data[at].grads;
    bool any = false;
    for (int i = 0; i < n->noutputs; i++) any |= grads[i] != NULL;
    if (!any) return CTSC_OK;
    tensor **out = mem_zalloc((size_t)n->ninputs * sizeof *out + 1);
    if (!out) return diag_no_memory(b->cx->diag);
    ctsc_status s = backward_node(b, n, grads, out);
    if (s == CTSC_OK && b->r->check_nan) s = backward_check_nan(b, n, out);
    for (int i = 0; i < n->ninputs; i++) {
        if (out[i] && s == CTSC_OK) s = backward_send(b, &n->edges[i], out[i]);
        else tensor_unref(out[i]);
    }
    mem_free(out);
    if (s == CTSC_OK && !b->r->retain_graph) grad_node_release_saved(n);
    return s;
}

static bool backward_is_input(const backward *b, const grad_edge *e) {
    for (size_t i = 0; i < b->inputs.len; i++) {
        const grad_edge *x = &b->inputs.data[i];
        if (e->leaf ? x->leaf == e->leaf : e->fn && x->fn == e->fn && x->output == e->output)
            return true;
    }
    return false;
}

static bool backward_edge_is_needed(const backward *b, const grad_edge *e) {
    if (!e->fn && !e->leaf) return false;
    if (!b->r->ninputs || backward_is_input(b, e)) return true;
    size_t at = e->fn ? (size_t)(uintptr_t)ptrmap_get(&b->index, e->fn) : 0;
    return at && b->visits.data[at - 1].needed;
}

static ctsc_status backward_visit(backward *b, grad_node *n) {
    if (!n || ptrmap_get(&b->index, n)) return CTSC_OK;
    visit v = {.n = n, .grads = mem_zalloc((size_t)n->noutputs * sizeof *v.grads + 1)};
    bool ok = v.grads && vec_push(&b->visits, v);
    if (!ok) mem_free(v.grads);
    if (!ok || !ptrmap_put(&b->index, n, (void *)(uintptr_t)b->visits.len))
        return diag_no_memory(b->cx->diag);
    return CTSC_OK;
}

static int backward_by_age(const void *x, const void *y) {
    uint64_t a = ((const visit *)x)->n->sequence, b = ((const visit *)y)->n->sequence;
    return (a > b) - (a < b);
}

static ctsc_status backward_discover(backward *b) {
    for (size_t i = 0; i < b->roots.len; i++) TRY(backward_visit(b, b->roots.data[i].fn));
    for (size_t i = 0; i < b->visits.len; i++) {
        grad_node *n = b->visits.data[i].n;
        for (int k = 0; k < n->ninputs; k++) TRY(backward_visit(b, n->edges[k].fn));
    }
    if (b->visits.len)
        qsort(b->visits.data, b->visits.len, sizeof *b->visits.data, backward_by_age);
    for (size_t i = 0; i < b->visits.len; i++) {
        visit *v = &b->visits.data[i];
        ptrmap_put(&b->index, v->n, (void *)(uintptr_t)(i + 1)); /* the key is there already */
        for (int k = 0; k < v->n->ninputs && !v->needed; k++)
            v->needed = backward_edge_is_needed(b, &v->n->edges[k]);
    }
    return CTSC_OK;
}

/* What has arrived at outputs whose gradients are asked for, or kept. */
static ctsc_status backward_capture(backward *b, const visit *v) {
    for (size_t i = 0; i < b->inputs.len; i++) {
        const grad_edge *e = &b->inputs.data[i];
        if (e->fn == v->n && v->grads[e->output]) b->out[i] = tensor_ref(v->grads[e->output]);
    }
    for (autograd_meta *m = b->r->ninputs ? NULL : v->n->retained; m; m = m->next_retained) {
        tensor *g = v->grads[m->made_by.output];
        if (g) TRY(autograd_accumulate(b->cx, m, NULL, g, b->r->create_graph));
    }
    return CTSC_OK;
}

/* Its outputs' gradients are complete. */
static ctsc_status backward_hooks(const backward *b, const visit *v) {
    bool asked = v->needed;
    for (size_t i = 0; i < b->inputs.len && !asked; i++) asked = b->inputs.data[i].fn == v->n;
    for (int k = 0; asked && !b->r->inner && k < v->n->noutputs; k++)
        if (v->grads[k])
            TRY(grad_hooks_run(b->cx, v->n->hooks, k, false, b->r->create_graph, &v->grads[k]));
    return CTSC_OK;
}

static ctsc_status backward_walk(backward *b) {
    for (size_t i = b->visits.len; i-- > 0;) {
        visit *v = &b->visits.data[i];
        if (v->n->hooks) TRY(backward_hooks(b, v));
        TRY(backward_capture(b, v));
        if (v->needed) TRY(backward_run(b, i));
        for (int k = 0; k < v->n->noutputs; k++) {
            tensor *g = v->grads[k];
            v->grads[k] = NULL;
            tensor_unref(g);
        }
    }
    return CTSC_OK;
}

static ctsc_status backward_leaves(backward *b) {
    for (size_t i = 0; i < b->leaves.len; i++) {
        leaf_grad *l = &b->leaves.data[i];
        grad_hook *hooks = l->leaf->autograd && !b->r->inner ? l->leaf->autograd->hooks : NULL;
        bool create = b->r->create_graph;
        if (hooks && l->grad) TRY(grad_hooks_run(b->cx, hooks, 0, false, create, &l->grad));
        if (!b->r->ninputs) {
            tensor *g = l->grad;
            l->grad = NULL;
            autograd_meta *m = autograd_meta_of(b->cx->diag, l->leaf);
            ctsc_status s = !m  ? b->cx->diag->status
                            : g ? autograd_accumulate(b->cx, m, l->leaf, g, create)
                                : CTSC_OK;
            if (s == CTSC_OK && hooks && g)
                s = grad_hooks_run(b->cx, hooks, 0, true, create, &l->leaf);
            tensor_unref(g);
            TRY(s);
        }
        for (size_t k = 0; k < b->inputs.len; k++)
            if (b->inputs.data[k].leaf == l->leaf && l->grad) b->out[k] = tensor_ref(l->grad);
    }
    return CTSC_OK;
}

/* ---- roots and inputs ------------------------------------------------------------------------ */

static ctsc_status backward_check_given(const backward *b, int i) {
    const tensor *root = b->r->roots[i], *g = b->r->root_grads[i];
    diag *d = b->cx->diag;
    if (!tensor_same_shape(root, g)) {
        strbuf text = STRBUF_INIT;
        sb_printf(&text, "Mismatch in shape: grad_output[%d] has a shape of torch.Size(", i);
        tensor_print_sizes(g->ndim, g->sizes, &text);
        sb_printf(&text, ") and output[%d] has a shape of torch.Size(", i);
        tensor_print_sizes(root->ndim, root->sizes, &text);
        ctsc_status s = diag_fail(d, CTSC_FAILED, "%s).", sb_str(&text));
        sb_free(&text);
        return s;
    }
    if (dtype_is_complex((dtype)root->dtype) != dtype_is_complex((dtype)g->dtype))
        return diag_fail(
            d, CTSC_FAILED,
            "For complex Tensors, both grad_output and output are required to have the same dtype. "
            "Mismatch in dtype: "
            "grad_output[%d] has a dtype of torch.%s and output[%d] has a dtype of torch.%s.",
            i, dtype_table[g->dtype].torch_name, i, dtype_table[root->dtype].torch_name);
    return CTSC_OK;
}

static ctsc_status backward_root_grad(const backward *b, int i, tensor **out) {
    tensor *root = b->r->roots[i], *given = b->r->root_grads ? b->r->root_grads[i] : NULL;
    if (given) {
        TRY(backward_check_given(b, i));
        *out = tensor_ref(given);
        grad_shape s = {.dtype = root->dtype, .ndim = root->ndim, .sizes = root->sizes};
        return backward_fit(b, NULL, i, &s, out);
    }
    if (root->numel != 1)
        return diag_fail(b->cx->diag, CTSC_FAILED,
                         "grad can be implicitly created only for scalar outputs");
    value v = borrowed(root), ones = value_none();
    TRY(backward_op(
        b, "aten::ones_like", 6,
        (value[6]){v, value_none(), value_none(), value_none(), value_none(), value_none()},
        &ones));
    *out = ones.u.tensor;
    return CTSC_OK;
}

static ctsc_status backward_begin(backward *b) {
    const backward_request *r = b->r;
    diag *d = b->cx->diag;
    grad_edge e;
    for (int i = 0; i < r->nroots; i++) {
        if (!autograd_requires_grad(r->roots[i]))
            return diag_fail(
                d, CTSC_FAILED,
                "element %d of tensors does not require grad and does not have a grad_fn", i);
        TRY(autograd_edge(d, r->roots[i], &e));
        if (!vec_push(&b->roots, e)) return diag_no_memory(d);
    }
    for (int i = 0; i < r->ninputs; i++) {
        if (!autograd_requires_grad(r->inputs[i]))
            return diag_fail(d, CTSC_FAILED,
                             "One of the differentiated Tensors does not require grad");
        TRY(autograd_edge(d, r->inputs[i], &e));
        if (!vec_push(&b->inputs, e)) return diag_no_memory(d);
    }
    TRY(backward_discover(b));
    for (int i = 0; i < r->nroots; i++) {
        tensor *g;
        names_suspend();
        ctsc_status s = backward_root_grad(b, i, &g);
        names_resume();
        TRY(s);
        TRY(backward_send(b, &b->roots.data[i], g));
    }
    return CTSC_OK;
}

static ctsc_status backward_check_unused(const backward *b) {
    for (int i = 0; i < b->r->ninputs && !b->r->allow_unused; i++)
        if (!b->out[i])
            return diag_fail(b->cx->diag, CTSC_FAILED,
                             "One of the differentiated Tensors appears to not have been used in "
                             "the graph. Set allow_unused=True if this is the "
                             "desired behavior.");
    return CTSC_OK;
}

static void backward_end(backward *b) {
    for (size_t i = 0; i < b->visits.len; i++) {
        visit *v = &b->visits.data[i];
        for (int k = 0; k < v->n->noutputs; k++) tensor_unref(v->grads[k]);
        mem_free(v->grads);
    }
    for (size_t i = 0; i < b->leaves.len; i++) {
        tensor_unref(b->leaves.data[i].grad);
        tensor_unref(b->leaves.data[i].leaf);
    }
    vec_free(&b->visits);
    vec_free(&b->leaves);
    vec_free(&b->roots);
    vec_free(&b->inputs);
    ptrmap_free(&b->index);
    ptrmap_free(&b->leaf_index);
}

ctsc_status autograd_backward(op_ctx *cx, const backward_request *r, tensor **grads) {
    backward b = {.cx = cx, .r = r, .out = grads};
    runtime *rt = cx->rt;
    bool taped = rt->taped, enabled = rt->grad_enabled;
    for (int i = 0; i < r->ninputs; i++) grads[i] = NULL;
    rt->taped = r->create_graph || capture_current;
    rt->grad_enabled = r->create_graph;
    ctsc_status s = backward_begin(&b);
    if (s == CTSC_OK) s = backward_walk(&b);
    if (s == CTSC_OK) s = backward_leaves(&b);
    if (s == CTSC_OK) s = backward_check_unused(&b);
    rt->taped = taped;
    rt->grad_enabled = enabled;
    for (int i = 0; i < r->ninputs && s != CTSC_OK; i++) {
        tensor_unref(grads[i]);
        grads[i] = NULL;
    }
    backward_end(&b);
    return s;
}

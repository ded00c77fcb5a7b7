/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_op_shape.c - shapes, and what is made of parts of tensors.
 *
 *     Shape -> Gather -> Unsqueeze -> Concat -> Reshape      aten::size.int, ..., aten::reshape(x, [size, ...])
 *
 * The sizes that such chains compute stay numbers: no tensor is made of them on the way.
 */
#include "frontend/onnx/onnx_internal.h"

enum { SHAPE_MAX = 64 };

/* ---- sizes ----------------------------------------------------------------------------------- */

static ir_value *shape_size(onnx_program *p, ir_value *x, int64_t dim) {
    ir_value *d = onnx_int(p, dim);
    return d ? ONNX_EMIT(p, "aten::size.int", x, d) : NULL;
}

static int64_t shape_clamp(int64_t i, int64_t n) {
    if (i < 0) i += n;
    return i < 0 ? 0 : i > n ? n : i;
}

bool onnx_op_shape(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    onnx_value *v = onnx_need(n, 0);
    ir_value *x = v ? onnx_t(n, 0) : NULL, *sizes[SHAPE_MAX];
    int64_t start = onnx_attr_int(n, "start", 0), end = onnx_attr_int(n, "end", INT64_MAX);
    int count = 0;
    (void)text;
    if (!x) return false;
    if (v->rank < 0) {
        ir_value *a = onnx_int(p, start), *b = a ? onnx_int(p, end) : NULL;
        return b && onnx_result(n, ONNX_EMIT(p, "ctsc::onnx_shape", x, a, b));
    }
    start = shape_clamp(start, v->rank);
    end = shape_clamp(end, v->rank);
    for (int64_t i = start; i < end && count < SHAPE_MAX; i++, count++) {
        sizes[count] = v->constant ? onnx_int(p, v->constant->sizes[i]) : shape_size(p, x, i);
        if (!sizes[count]) return false;
    }
    return onnx_out_ints(n, 0, count, sizes, 1);
}

bool onnx_op_size(onnx_node *n, const char *text) {
    ir_value *x = onnx_t(n, 0), *count = x ? ONNX_EMIT(n->p, "aten::numel", x) : NULL;
    (void)text;
    return count && onnx_out_ints(n, 0, 1, &count, 0);
}

/* Is this a value whose elements are numbers that only a call knows? */
static bool shape_is_sizes(onnx_node *n, int i) {
    onnx_value *v = onnx_in(n, i);
    return v && v->ints && !v->constant;
}

/* A list of numbers, some of them computed at run time; 0 copies a size of x. */
static ir_value *reshape_list(onnx_node *n, ir_value *x, const onnx_value *shape, bool copies) {
    ir_value *items[SHAPE_MAX];
    int64_t known[SHAPE_MAX];
    bool all = true;
    for (int i = 0; i < shape->nints; i++) {
        value c;
        bool is = ir_value_constant(shape->ints[i], &c) && c.tag == V_INT;
        items[i] = is && c.u.i == 0 && copies ? shape_size(n->p, x, i) : shape->ints[i];
        if (!items[i]) return NULL;
        if (is) known[i] = c.u.i;
        if (!is || items[i] != shape->ints[i]) all = false;
    }
    return all ? onnx_ints(n->p, shape->nints, known)
               : onnx_list(n->p, TYPE_INT, shape->nints, items);
}

/* Sizes stay numbers where they become a list, or one number. */
static bool reshape_sizes(onnx_node *n, onnx_value *v, const onnx_value *shape, bool *done) {
    value c;
    *done = false;
    if (!v->ints || v->constant || shape->nints > 1) return true;
    if (shape->nints == 1 &&
        (!ir_value_constant(shape->ints[0], &c) || (c.u.i != -1 && c.u.i != v->nints)))
        return true;
    if (!shape->nints && v->nints != 1) return true;
    *done = true;
    return onnx_out_ints(n, 0, v->nints, v->ints, shape->nints);
}

bool onnx_op_reshape(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    onnx_value *v = onnx_need(n, 0), *shape = v ? onnx_need(n, 1) : NULL;
    bool copies = !onnx_attr_int(n, "allowzero", 0), done;
    (void)text;
    if (!shape) return false;
    if (!onnx_has_ints(p, shape) || shape->nints > SHAPE_MAX) {
        ir_value *x = onnx_t(n, 0), *s = x ? onnx_as_ints(n->sc, p, shape) : NULL;
        return s && onnx_result(n, ONNX_EMIT(p, "ctsc::onnx_reshape", x, s, onnx_bool(p, copies)));
    }
    if (!reshape_sizes(n, v, shape, &done)) return false;
    if (done) return true;
    ir_value *x = onnx_t(n, 0), *list = x ? reshape_list(n, x, shape, copies) : NULL;
    return list && onnx_out(n, 0, ONNX_EMIT(p, "aten::reshape", x, list), shape->nints, v->dt);
}

bool onnx_op_flatten(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    onnx_value *v = onnx_need(n, 0);
    int64_t axis = onnx_attr_int(n, "axis", 1);
    ir_value *x = v ? onnx_t(n, 0) : NULL;
    (void)text;
    if (!x) return false;
    if (axis == 1 && v->rank >= 2)
        return onnx_result(
            n, ONNX_EMIT(p, "aten::flatten.using_ints", x, onnx_int(p, 1), onnx_int(p, -1)));
    return onnx_result(n, ONNX_EMIT(p, "ctsc::onnx_flatten", x, onnx_int(p, axis)));
}

bool onnx_op_transpose(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    int count, moved = 0, at[SHAPE_MAX];
    int64_t order[SHAPE_MAX];
    onnx_value *v = onnx_need(n, 0);
    const int64_t *perm = onnx_attr_ints(n, "perm", &count);
    ir_value *x = v ? onnx_t(n, 0) : NULL;
    (void)text;
    if (!x) return false;
    if (!perm) count = v->rank;
    if (count < 0) return onnx_result(n, ONNX_EMIT(p, "ctsc::onnx_reverse_dims", x));
    if (count > SHAPE_MAX) return onnx_bad(p, "%d dims", count);
    for (int i = 0; i < count; i++) {
        order[i] = perm ? perm[i] : count - 1 - i;
        if (order[i] != i) at[moved++] = i;
    }
    /* exchanges are what programs mostly say */
    if (moved == 2 && order[at[0]] == at[1] && order[at[1]] == at[0])
        return onnx_out(
            n, 0, ONNX_EMIT(p, "aten::transpose.int", x, onnx_int(p, at[0]), onnx_int(p, at[1])),
            count, v->dt);
    return onnx_out(n, 0, ONNX_EMIT(p, "aten::permute", x, onnx_ints(p, count, order)), count,
                    v->dt);
}

/* ---- dims of size 1 -------------------------------------------------------------------------- */

/* Axes of the attribute, or of input 1, from 0 to rank, ascending; *count -1: all. false after a
 * failure. */
static bool shape_axes(onnx_node *n, int rank, int *count, int64_t *axes) {
    const int64_t *ints = onnx_attr_ints(n, "axes", count);
    onnx_value *v = onnx_in(n, 1);
    if (ints && *count > SHAPE_MAX) return onnx_bad(n->p, "%d axes", *count);
    if (ints) memcpy(axes, ints, sizeof *axes * (size_t)*count);
    else if (!v) *count = -1;
    else if (!onnx_known_ints(n->p, v, SHAPE_MAX, count, axes))
        return onnx_failed(n->p) ? false
                                 : onnx_unsupported(n->p, "axes that are computed when it runs");
    if (rank < 0)
        rank = n->row->name[0] == 'U' && n->in[0]->rank >= 0 ? n->in[0]->rank + *count : -1;
    for (int i = 0; i < *count; i++) {
        if (axes[i] < 0 && rank < 0 && *count > 1)
            return onnx_unsupported(n->p, "negative axes of a tensor of unknown rank");
        if (axes[i] < 0 && rank >= 0) axes[i] += rank;
    }
    for (int i = 1; i < *count; i++)
        for (int k = i; k > 0 && axes[k] < axes[k - 1]; k--) {
            int64_t a = axes[k];
            axes[k] = axes[k - 1];
            axes[k - 1] = a;
        }
    return !onnx_failed(n->p);
}

/* Axes that only a call knows. */
static bool shape_axes_computed(onnx_node *n, const char *key) {
    int count;
    const int64_t *given = onnx_attr_ints(n, "axes", &count);
    ir_value *x = onnx_t(n, 0), *axes = !x      ? NULL
                                        : given ? onnx_ints(n->p, count, given)
                                                : onnx_as_ints(n->sc, n->p, n->in[1]);
    return axes && onnx_out(n, 0, ONNX_EMIT(n->p, key, x, axes), -1, n->in[0]->dt);
}

static bool shape_axes_unknown(onnx_node *n) {
    onnx_value *v = onnx_in(n, 1);
    int64_t own[SHAPE_MAX];
    int count = 0, negative = 0;
    const int64_t *axes = onnx_attr_ints(n, "axes", &count);
    if (onnx_failed(n->p) || (!v && !axes)) return false;
    if (!axes && !onnx_known_ints(n->p, v, SHAPE_MAX, &count, own)) return true;
    if (!axes) axes = own;
    for (int i = 0; i < count; i++) negative += axes[i] < 0;
    return n->in[0]->rank < 0 && negative && count > 1;
}

bool onnx_op_squeeze(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    int count;
    int64_t axes[SHAPE_MAX];
    onnx_value *v = onnx_need(n, 0);
    (void)text;
    if (v && shape_axes_unknown(n)) return shape_axes_computed(n, "ctsc::onnx_squeeze");
    if (!v || !shape_axes(n, v->rank, &count, axes)) return false;
    if (shape_is_sizes(n, 0) && v->nints == 1 && v->rank == 1)
        return onnx_out_ints(n, 0, 1, v->ints, 0);
    ir_value *x = onnx_t(n, 0);
    if (x && count < 0) return onnx_result(n, ONNX_EMIT(p, "aten::squeeze", x));
    for (int i = count - 1; x && i >= 0; i--)
        x = ONNX_EMIT(p, "aten::squeeze.dim", x, onnx_int(p, axes[i]));
    return x && onnx_out(n, 0, x, v->rank < 0 ? -1 : v->rank - count, v->dt);
}

bool onnx_op_unsqueeze(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    int count;
    int64_t axes[SHAPE_MAX];
    onnx_value *v = onnx_need(n, 0);
    (void)text;
    if (v && shape_axes_unknown(n)) return shape_axes_computed(n, "ctsc::onnx_unsqueeze");
    if (!v || !shape_axes(n, -1, &count, axes)) return false;
    if (count < 0) return onnx_bad(p, "the axes are missing");
    if (shape_is_sizes(n, 0) && v->rank == 0 && count == 1)
        return onnx_out_ints(n, 0, 1, v->ints, 1);
    ir_value *x = onnx_t(n, 0);
    for (int i = 0; x && i < count; i++)
        x = ONNX_EMIT(p, "aten::unsqueeze", x, onnx_int(p, axes[i]));
    return x && onnx_out(n, 0, x, v->rank < 0 ? -1 : v->rank + count, v->dt);
}

/* ---- repetition ------------------------------------------------------------------------------ */

bool onnx_op_expand(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    onnx_value *v = onnx_need(n, 0), *shape = v ? onnx_need(n, 1) : NULL;
    int64_t sizes[SHAPE_MAX];
    int count = -1, rank;
    (void)text;
    ir_value *x = shape ? onnx_t(n, 0) : NULL;
    if (!x) return false;
    bool known = onnx_known_ints(p, shape, SHAPE_MAX, &count, sizes);
    rank = onnx_has_ints(p, shape) && v->rank >= 0 ? v->rank > shape->nints ? v->rank : shape->nints
                                                   : -1;
    /* a 1, and what is missing in front, keep the size */
    if (known && v->rank >= 0 && rank <= SHAPE_MAX) {
        int64_t to[SHAPE_MAX];
        for (int i = 0; i < rank; i++) {
            int at = i - (rank - count);
            bool new_dim = i < rank - v->rank;
            to[i] = at < 0 || (sizes[at] == 1 && !new_dim) ? -1 : sizes[at];
        }
        return onnx_out(n, 0, ONNX_EMIT(p, "aten::expand", x, onnx_ints(p, rank, to)), rank, v->dt);
    }
    ir_value *list = onnx_as_ints(n->sc, p, shape);
    return list && onnx_out(n, 0, ONNX_EMIT(p, "ctsc::onnx_expand", x, list), rank, v->dt);
}

bool onnx_op_tile(onnx_node *n, const char *text) {
    onnx_value *v = onnx_need(n, 1);
    ir_value *x = v ? onnx_t(n, 0) : NULL, *list = x ? onnx_as_ints(n->sc, n->p, v) : NULL;
    (void)text;
    return list && onnx_result(n, ONNX_EMIT(n->p, "aten::repeat", x, list));
}

/* ---- join, split ----------------------------------------------------------------------------- */

/* Lists of sizes, one of them not yet known. */
static bool concat_sizes(onnx_node *n, bool *done) {
    int count = 0;
    bool any = false;
    *done = false;
    for (int i = 0; i < n->nin; i++) {
        if (!n->in[i] || n->in[i]->rank != 1) return true;
        any = any || shape_is_sizes(n, i);
    }
    if (!any) return true;
    for (int i = 0; i < n->nin; i++) {
        if (!onnx_has_ints(n->p, n->in[i])) return !onnx_failed(n->p);
        count += n->in[i]->nints;
    }
    ir_value **all = arena_array(&n->p->scratch, ir_value *, count + 1);
    if (!all) return onnx_no_memory(n->p);
    for (int i = 0, at = 0; i < n->nin; i++)
        for (int k = 0; k < n->in[i]->nints; k++) all[at++] = n->in[i]->ints[k];
    *done = true;
    return onnx_out_ints(n, 0, count, all, 1);
}

bool onnx_op_concat(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    bool done;
    (void)text;
    if (!n->nin || !onnx_need(n, 0)) return onnx_bad(p, "there are no inputs");
    if (!onnx_attr(n, "axis")) return onnx_bad(p, "attribute 'axis' is missing");
    if (!concat_sizes(n, &done)) return false;
    if (done) return true;
    ir_value **in = arena_array(&p->scratch, ir_value *, n->nin + 1);
    if (!in) return onnx_no_memory(p);
    for (int i = 0; i < n->nin; i++)
        if (!(in[i] = onnx_t(n, i))) return false;
    ir_value *list = onnx_list(p, TYPE_TENSOR, n->nin, in),
             *axis = list ? onnx_int(p, onnx_attr_int(n, "axis", 0)) : NULL;
    return axis && onnx_result(n, ONNX_EMIT(p, "aten::cat", list, axis));
}

/* Sizes of parts that are equal, except for the last ones. */
static ir_value *split_sizes(onnx_node *n, ir_value *x, ir_value *axis) {
    int64_t sizes[SHAPE_MAX];
    int64_t at = onnx_attr_int(n, "axis", 0), size = onnx_declared_size(n, 0, at),
            parts = onnx_attr_int(n, "num_outputs", n->nout);
    if (parts < 1 || parts != n->nout)
        return onnx_bad(n->p, "num_outputs is %lld", (long long)parts), NULL;
    if (size < 0 || size > INT32_MAX || parts > SHAPE_MAX)
        return ONNX_EMIT(n->p, "ctsc::onnx_split_sizes", x, onnx_int(n->p, parts), axis);
    int64_t each = (size + parts - 1) / parts;
    for (int i = 0; i < parts; i++, size -= sizes[i - 1]) sizes[i] = size < each ? size : each;
    return onnx_ints(n->p, (int)parts, sizes);
}

bool onnx_op_split(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    int count;
    onnx_value *sizes = onnx_in(n, 1);
    const int64_t *given = onnx_attr_ints(n, "split", &count);
    ir_value *x = onnx_t(n, 0), *axis = x ? onnx_int(p, onnx_attr_int(n, "axis", 0)) : NULL;
    (void)text;
    ir_value **out = arena_array(&p->scratch, ir_value *, n->nout + 1);
    if (!axis || !out) return onnx_no_memory(p);
    if (!n->nout) return onnx_bad(p, "there are no outputs");
    ir_value *list = given   ? onnx_ints(p, count, given)
                     : sizes ? onnx_as_ints(n->sc, p, sizes)
                             : NULL,
             *parts;
    /* since 18 there may be more parts than torch makes of this many elements */
    if (!list && p->opset >= 18 && !(list = split_sizes(n, x, axis))) return false;
    parts = list ? ONNX_EMIT(p, "aten::split_with_sizes", x, list, axis)
                 : ONNX_EMIT(p, "aten::chunk", x, onnx_int(p, n->nout), axis);
    if (!parts || !onnx_unpack(p, parts, n->nout, out)) return onnx_no_memory(p);
    for (int i = 0; i < n->nout; i++)
        if (!onnx_out(n, i, out[i], n->in[0]->rank, n->in[0]->dt)) return false;
    return true;
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* What the inputs, or the attributes of old versions, say. */
typedef struct slice_args {
    int n;
    ir_value *starts[SHAPE_MAX], *ends[SHAPE_MAX];
    int64_t axes[SHAPE_MAX], steps[SHAPE_MAX];
} slice_args;

static bool slice_of_sizes(onnx_node *n, const slice_args *a, bool *done) {
    onnx_value *v = n->in[0];
    value s, e;
    *done = false;
    if (!shape_is_sizes(n, 0) || a->n != 1 || v->rank != 1 || a->steps[0] != 1 ||
        (a->axes[0] != 0 && a->axes[0] != -1) || !ir_value_constant(a->starts[0], &s) ||
        !ir_value_constant(a->ends[0], &e))
        return true;
    int64_t start = shape_clamp(s.u.i, v->nints), end = shape_clamp(e.u.i, v->nints);
    *done = true;
    return onnx_out_ints(n, 0, end > start ? (int)(end - start) : 0, v->ints + start, 1);
}

static bool slice_make(onnx_node *n, const slice_args *a) {
    onnx_program *p = n->p;
    bool done;
    if (!slice_of_sizes(n, a, &done)) return false;
    if (done) return true;
    ir_value *x = onnx_t(n, 0);
    for (int i = 0; x && i < a->n; i++) {
        bool back = a->steps[i] < 0;
        if (!a->steps[i]) return onnx_bad(p, "a step is 0");
        ir_value *args[] = {x, onnx_int(p, a->axes[i]), a->starts[i], a->ends[i],
                            onnx_int(p, a->steps[i])};
        x = onnx_emit(p, back ? "ctsc::onnx_slice_back" : "aten::slice.Tensor", 5, args);
    }
    return x && onnx_result(n, x);
}

bool onnx_op_slice(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    onnx_value *starts = onnx_need(n, 1), *ends = starts ? onnx_need(n, 2) : NULL,
               *axes = onnx_in(n, 3), *steps = onnx_in(n, 4);
    slice_args a;
    int count = 0;
    (void)text;
    if (!ends || !onnx_need(n, 0)) return false;
    bool known = onnx_has_ints(p, starts) && onnx_has_ints(p, ends) && starts->nints <= SHAPE_MAX &&
                 starts->nints == ends->nints &&
                 (!axes || onnx_known_ints(p, axes, SHAPE_MAX, &count, a.axes));
    a.n = known ? starts->nints : 0;
    if (known && !axes)
        for (int i = 0; i < a.n; i++) a.axes[i] = i;
    else if (known && count != a.n) return onnx_bad(p, "there are %d axes of %d", count, a.n);
    for (int i = 0; i < a.n; i++) a.steps[i] = 1;
    known = known &&
            (!steps || (onnx_known_ints(p, steps, SHAPE_MAX, &count, a.steps) && count == a.n));
    if (!known) {
        ir_value *x = onnx_t(n, 0), *s = x ? onnx_as_ints(n->sc, p, starts) : NULL,
                 *e = s ? onnx_as_ints(n->sc, p, ends) : NULL,
                 *at = e ? (axes ? onnx_as_ints(n->sc, p, axes) : onnx_ints(p, 0, NULL)) : NULL,
                 *by = at ? (steps ? onnx_as_ints(n->sc, p, steps) : onnx_ints(p, 0, NULL)) : NULL;
        return by && onnx_result(n, ONNX_EMIT(p, "ctsc::onnx_slice", x, s, e, at, by));
    }
    memcpy(a.starts, starts->ints, sizeof *a.starts * (size_t)a.n);
    memcpy(a.ends, ends->ints, sizeof *a.ends * (size_t)a.n);
    return slice_make(n, &a);
}

bool onnx_op_slice_attributes(onnx_node *n, const char *text) {
    int nstarts, nends, naxes;
    const int64_t *starts = onnx_attr_ints(n, "starts", &nstarts),
                  *ends = onnx_attr_ints(n, "ends", &nends),
                  *axes = onnx_attr_ints(n, "axes", &naxes);
    slice_args a = {.n = nstarts};
    (void)text;
    if (!starts || !ends || nstarts != nends || nstarts > SHAPE_MAX || (axes && naxes != nstarts))
        return onnx_bad(n->p, "starts, ends and axes do not agree");
    for (int i = 0; i < a.n; i++) {
        a.axes[i] = axes ? axes[i] : i;
        a.steps[i] = 1;
        if (!(a.starts[i] = onnx_int(n->p, starts[i])) || !(a.ends[i] = onnx_int(n->p, ends[i])))
            return false;
    }
    return onnx_need(n, 0) && slice_make(n, &a);
}

/* ---- padding --------------------------------------------------------------------------------- */

/* Begins and ends for all dims, given only for `axes`. */
static bool pad_pairs(onnx_node *n, onnx_value *pads, int *rank, ir_value **begin, ir_value **end) {
    onnx_program *p = n->p;
    onnx_value *v = onnx_in(n, 3);
    int64_t axes[SHAPE_MAX];
    int count = pads->nints / 2, naxes = count;
    for (int i = 0; i < count && i < SHAPE_MAX; i++) axes[i] = i;
    if (v && !onnx_known_ints(p, v, SHAPE_MAX, &naxes, axes))
        return onnx_unsupported(p, "axes that are computed when it runs");
    *rank = v ? n->in[0]->rank : count;
    if (pads->nints % 2 || naxes != count || *rank > SHAPE_MAX)
        return onnx_bad(p, "there are %d pads of %d axes", pads->nints, naxes);
    if (*rank < 0) return onnx_unsupported(p, "axes of a tensor of unknown rank");
    ir_value *zero = onnx_int(p, 0);
    for (int i = 0; i < *rank; i++) begin[i] = end[i] = zero;
    for (int i = 0; i < count; i++) {
        int64_t axis = axes[i] < 0 ? axes[i] + *rank : axes[i];
        if (axis < 0 || axis >= *rank) return onnx_bad(p, "axis %lld", (long long)axes[i]);
        begin[axis] = pads->ints[i];
        end[axis] = pads->ints[count + i];
    }
    return zero != NULL;
}

static bool pad_is_zero(const ir_value *v) {
    value c;
    return ir_value_constant(v, &c) && c.tag == V_INT && c.u.i == 0;
}

/* torch's order: the last dim first; leading dims that are not padded are left out. */
static ir_value *pad_list(onnx_node *n, int rank, ir_value **begin, ir_value **end, int least) {
    ir_value *items[2 * SHAPE_MAX];
    int skip = 0, count = 0;
    while (skip < rank - least && pad_is_zero(begin[skip]) && pad_is_zero(end[skip])) skip++;
    for (int i = rank - 1; i >= skip; i--) {
        items[count++] = begin[i];
        items[count++] = end[i];
    }
    return onnx_list(n->p, TYPE_INT, count, items);
}

static ir_value *pad_value(onnx_node *n) {
    onnx_value *v = onnx_in(n, 2);
    double f = onnx_attr_float(n, "value", 0);
    int dt = n->in[0]->dt;
    if (v && !onnx_known_number(v, &f)) return onnx_as_float(n->sc, n->p, v);
    if (dt >= 0 && dtype_is_integral((dtype)dt) && f > -9e18 && f < 9e18)
        return onnx_int(n->p, (int64_t)f);
    return onnx_float(n->p, f);
}

/* Axes that are not known now, or that say nothing because the rank is not. */
static bool pad_axes_unknown(onnx_node *n) {
    onnx_value *v = onnx_in(n, 3);
    int64_t axes[SHAPE_MAX];
    int count;
    return v && (n->in[0]->rank < 0 || !onnx_known_ints(n->p, v, SHAPE_MAX, &count, axes));
}

/* Axis by axis, in all modes. */
static bool pad_computed(onnx_node *n, ir_value *x, onnx_value *pads, const char *mode) {
    onnx_program *p = n->p;
    ir_value *list = onnx_as_ints(n->sc, p, pads),
             *axes = !list           ? NULL
                     : onnx_in(n, 3) ? onnx_as_ints(n->sc, p, n->in[3])
                                     : onnx_ints(p, 0, NULL),
             *fill = axes ? pad_value(n) : NULL;
    return fill && onnx_result(n, ONNX_EMIT(p, "ctsc::onnx_pad_axes", x, list, axes,
                                            onnx_str(p, mode), fill));
}

/* Does torch pad so? It does with floats, the last dims (one to three, with one or two in front of
 * them), edges and reflections of less than the whole size, and takes nothing away. */
static bool pad_is_torch(const onnx_node *n, int rank, ir_value *const *begin, ir_value *const *end,
                         const char *mode) {
    int dt = n->in[0]->dt, padded = 0;
    bool reflect = *mode == 'r';
    if (dt < 0 || !dtype_is_float((dtype)dt) || *mode == 'w') return false;
    for (int i = 0; i < rank; i++) {
        value b, e;
        int64_t size = onnx_declared_size(n, 0, i);
        if (!ir_value_constant(begin[i], &b) || !ir_value_constant(end[i], &e) || b.tag != V_INT ||
            e.tag != V_INT || b.u.i < 0 || e.u.i < 0)
            return false;
        if (!b.u.i && !e.u.i) continue;
        if (size == 0 || (reflect && size > 0 && (b.u.i >= size || e.u.i >= size))) return false;
        if (!padded) padded = rank - i;
    }
    int given = rank > 2 && padded < 2 ? 2 : padded < 1 ? 1 : padded; /* as pad_list has them */
    return given <= 3 && rank - given >= 1 && rank - given <= 2;
}

bool onnx_op_pad(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    int count, rank = -1;
    ir_value *begin[SHAPE_MAX], *end[SHAPE_MAX];
    const char *mode = onnx_attr_text(n, "mode", "constant");
    const int64_t *given = onnx_attr_ints(n, "pads", &count);
    onnx_value own = {.rank = 1, .dt = DT_INT64}, *pads = given ? &own : onnx_need(n, 1);
    ir_value *x = pads ? onnx_t(n, 0) : NULL;
    (void)text;
    if (!x) return false;
    if (given) {
        own.ints = arena_array(&p->scratch, ir_value *, count + 1);
        own.nints = count;
        if (!own.ints) return onnx_no_memory(p);
        for (int i = 0; i < count; i++)
            if (!(own.ints[i] = onnx_int(p, given[i]))) return false;
    }
    bool constant = !strcmp(mode, "constant"), reflect = !strcmp(mode, "reflect");
    if (!constant && !reflect && strcmp(mode, "edge") && strcmp(mode, "wrap"))
        return onnx_unsupported(p, "mode '%.40s'", mode);
    if (!given && (!onnx_has_ints(p, pads) || pad_axes_unknown(n)))
        return pad_computed(n, x, pads, mode);
    if (!pad_pairs(n, pads, &rank, begin, end)) return false;
    if (!constant && !pad_is_torch(n, rank, begin, end, mode))
        return pad_computed(n, x, pads, mode);
    ir_value *list = pad_list(n, rank, begin, end, constant ? 0 : rank > 2 ? rank - 2 : 1);
    if (!list) return onnx_no_memory(p);
    if (constant) {
        ir_value *fill = pad_value(n);
        return fill && onnx_result(n, ONNX_EMIT(p, "aten::constant_pad_nd", x, list, fill));
    }
    return onnx_result(
        n, ONNX_EMIT(p, "aten::pad", x, list, onnx_str(p, reflect ? "reflect" : "replicate")));
}

/* ---- the rest -------------------------------------------------------------------------------- */

bool onnx_op_depth_to_space(onnx_node *n, const char *text) {
    const char *mode = onnx_attr_text(n, "mode", "DCR");
    (void)text;
    if (!strcmp(mode, "CRD")) return onnx_template(n, "aten::pixel_shuffle $0 @i:blocksize");
    return onnx_template(n, "ctsc::onnx_depth_to_space $0 @i:blocksize");
}

/* The same value by another name. */
static bool shape_alias(onnx_node *n, onnx_value *v) {
    if (!v || !n->nout || !*n->proto->output[0]) return v != NULL;
    onnx_value *out = onnx_value_new(n->sc, n->p, n->proto->output[0]);
    if (!out) return false;
    const char *name = out->name;
    *out = *v;
    out->name = name;
    return true;
}

bool onnx_op_identity(onnx_node *n, const char *text) {
    (void)text;
    return shape_alias(n, onnx_need(n, 0));
}

bool onnx_op_dropout(onnx_node *n, const char *text) {
    onnx_value *training = onnx_in(n, 2);
    double f = 0;
    (void)text;
    if (training && (!onnx_known_number(training, &f) || f != 0)) {
        ir_value *x = onnx_t(n, 0), *ratio = x ? onnx_t_or_none(n, 1) : NULL,
                 *mode = ratio ? onnx_t(n, 2) : NULL,
                 *y = mode ? ONNX_EMIT(n->p, "ctsc::onnx_dropout", x, ratio, mode) : NULL;
        return y && onnx_result(n, y) &&
               onnx_out(n, 1, y->def->outputs.data[1], n->in[0]->rank, DT_BOOL);
    }
    if (onnx_wants(n, 1)) {
        ir_value *x = onnx_t(n, 0),
                 *mask = x ? ONNX_EMIT(n->p, "aten::ones_like", x, onnx_int(n->p, DT_BOOL)) : NULL;
        if (!mask || !onnx_out(n, 1, mask, n->in[0]->rank, DT_BOOL)) return false;
    }
    return shape_alias(n, onnx_need(n, 0));
}

bool onnx_op_trilu(onnx_node *n, const char *text) {
    onnx_value *k = onnx_in(n, 1);
    ir_value *x = onnx_t(n, 0),
             *by = x ? (k ? onnx_as_int(n->sc, n->p, k) : onnx_int(n->p, 0)) : NULL;
    (void)text;
    return by && onnx_result(
                     n, ONNX_EMIT(n->p, onnx_attr_int(n, "upper", 1) ? "aten::triu" : "aten::tril",
                                  x, by));
}

/* ---- Gather ---------------------------------------------------------------------------------- */

/* Of sizes: numbers again. */
static bool gather_sizes(onnx_node *n, int64_t axis, bool *done) {
    onnx_value *v = n->in[0], *at = n->in[1];
    int64_t index[SHAPE_MAX];
    ir_value *out[SHAPE_MAX];
    int count;
    *done = false;
    if (!shape_is_sizes(n, 0) || v->rank != 1 || (axis != 0 && axis != -1) || at->rank < 0 ||
        at->rank > 1 || !onnx_known_ints(n->p, at, SHAPE_MAX, &count, index))
        return true;
    for (int i = 0; i < count; i++) {
        int64_t k = index[i] < 0 ? index[i] + v->nints : index[i];
        if (k < 0 || k >= v->nints)
            return onnx_bad(n->p, "index %lld of %d sizes", (long long)index[i], v->nints);
        out[i] = v->ints[k];
    }
    *done = true;
    return onnx_out_ints(n, 0, count, out, at->rank);
}

/* x[:, ..., indices]: takes indices from the end as well */
static ir_value *gather_index(onnx_node *n, ir_value *x, ir_value *indices, int64_t axis) {
    onnx_program *p = n->p;
    ir_value *items[SHAPE_MAX];
    for (int64_t i = 0; i < axis; i++) items[i] = onnx_none(p);
    items[axis] = indices;
    ir_value *list = onnx_list(p, type_optional(TYPE_TENSOR), (int)axis + 1, items);
    return list ? ONNX_EMIT(p, "aten::index.Tensor", x, list) : NULL;
}

bool onnx_op_gather(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    int64_t axis = onnx_attr_int(n, "axis", 0), one;
    int count;
    onnx_value *v = onnx_need(n, 0), *at = v ? onnx_need(n, 1) : NULL;
    bool done;
    (void)text;
    if (!at || !gather_sizes(n, axis, &done)) return false;
    if (done) return true;
    ir_value *x = onnx_t(n, 0);
    int rank = v->rank < 0 || at->rank < 0 ? -1 : v->rank + at->rank - 1;
    if (x && at->rank == 0 && onnx_known_ints(p, at, 1, &count, &one) && count == 1)
        return onnx_out(n, 0,
                        ONNX_EMIT(p, "aten::select.int", x, onnx_int(p, axis), onnx_int(p, one)),
                        rank, v->dt);
    ir_value *indices = x ? onnx_t(n, 1) : NULL;
    if (indices && at->dt != DT_INT64)
        indices = ONNX_EMIT(p, "aten::to.dtype", indices, onnx_int(p, DT_INT64));
    if (!indices) return false;
    if (axis < 0 && v->rank < 0)
        return onnx_out(n, 0, ONNX_EMIT(p, "ctsc::onnx_gather", x, indices, onnx_int(p, axis)),
                        rank, v->dt);
    if (axis < 0) axis += v->rank;
    if (axis < 0 || axis >= SHAPE_MAX) return onnx_bad(p, "axis %lld", (long long)axis);
    return onnx_out(n, 0, gather_index(n, x, indices, axis), rank, v->dt);
}

/* ---- constants ------------------------------------------------------------------------------- */

static bool constant_is(onnx_node *n, tensor *t, int64_t type) {
    if (!n->nout) return onnx_bad(n->p, "there are no outputs");
    onnx_value *v = t ? onnx_value_new(n->sc, n->p, n->proto->output[0]) : NULL;
    if (!v) return onnx_no_memory(n->p);
    v->constant = t;
    v->rank = t->ndim;
    v->dt = t->dtype;
    v->narrow = onnx_is_narrow(type);
    return true;
}

/* Numbers of an attribute, as a tensor. */
static tensor *constant_numbers(onnx_node *n, const char *name, bool list, bool floats) {
    /* of a call, where a function's attribute is meant: its name is another one there */
    const Onnx__AttributeProto *a = onnx_attr_of(n, name,
                                                 floats ? (list ? ONNX_A_FLOATS : ONNX_A_FLOAT)
                                                        : (list ? ONNX_A_INTS : ONNX_A_INT));
    if (!a) return NULL;
    int64_t size = !list ? 1 : (int64_t)(floats ? a->n_floats : a->n_ints);
    tensor *t = NULL;
    if (tensor_new(n->p->d, floats ? DT_FLOAT32 : DT_INT64, list, &size, &t) != CTSC_OK)
        return NULL;
    for (int64_t i = 0; i < size; i++)
        if (floats) TENSOR_AT(t, float)[i] = list ? a->floats[i] : a->f;
        else TENSOR_AT(t, int64_t)[i] = list ? a->ints[i] : a->i;
    return onnx_hold(n->p, t) ? t : NULL;
}

bool onnx_op_constant(onnx_node *n, const char *text) {
    static const struct { const char *name; bool list, floats; } numbers[] = {
        {"value_float", false, true},
        {"value_floats", true, true},
        {"value_int", false, false},
        {"value_ints", true, false},
    };
    const Onnx__AttributeProto *a = onnx_attr(n, "value");
    (void)text;
    if (a && a->t) return constant_is(n, onnx_tensor_of(n->p, a->t), a->t->data_type);
    for (int i = 0; i < 4; i++)
        if (onnx_attr(n, numbers[i].name))
            return constant_is(
                n, constant_numbers(n, numbers[i].name, numbers[i].list, numbers[i].floats), 0);
    return onnx_unsupported(n->p, "constants of this kind are not supported");
}

bool onnx_op_constant_of_shape(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    const Onnx__AttributeProto *a = onnx_attr(n, "value");
    onnx_value *shape = onnx_need(n, 0);
    tensor *t = a && a->t ? onnx_tensor_of(p, a->t) : NULL;
    (void)text;
    if (!shape || (a && !t)) return a && !a->t ? onnx_bad(p, "the value is not a tensor") : false;
    if (t && t->numel != 1) return onnx_bad(p, "the value has %lld elements", (long long)t->numel);
    dtype dt = t ? (dtype)t->dtype : DT_FLOAT32;
    ir_value *list = onnx_as_ints(n->sc, p, shape),
             *fill = !list                ? NULL
                     : !t                 ? onnx_float(p, 0)
                     : dtype_is_float(dt) ? onnx_float(p, tensor_item_float(t))
                     : dt == DT_BOOL      ? onnx_bool(p, tensor_item_int(t) != 0)
                                          : onnx_int(p, tensor_item_int(t)),
             *what = fill ? onnx_int(p, dt) : NULL;
    int rank = what && onnx_has_ints(p, shape) ? shape->nints : -1;
    if (!what || !onnx_out(n, 0, ONNX_EMIT(p, "aten::full", list, fill, what), rank, dt))
        return false;
    onnx_set_narrow(n, t ? a->t->data_type : 0);
    return true;
}

/* Are these constants, followed by some numbers? */
static bool range_is_known(ir_value *const *args) {
    double at[3];
    for (int i = 0; i < 3; i++) {
        value c;
        if (!ir_value_constant(args[i], &c) || (c.tag != V_INT && c.tag != V_FLOAT)) return false;
        at[i] = c.tag == V_INT ? (double)c.u.i : c.u.f;
    }
    return at[2] > 0 ? at[0] < at[1] : at[2] < 0 && at[0] > at[1];
}

bool onnx_op_range(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    ir_value *args[4];
    onnx_value *v = onnx_need(n, 0);
    int dt = v ? v->dt : -1;
    bool floating = dt >= 0 && dtype_is_float((dtype)dt);
    (void)text;
    for (int i = 0; i < 3; i++) {
        onnx_value *x = onnx_need(n, i);
        if (!x) return false;
        args[i] = dt < 0     ? onnx_as_tensor(n->sc, p, x)
                  : floating ? onnx_as_float(n->sc, p, x)
                             : onnx_as_int(n->sc, p, x);
        if (!args[i]) return false;
    }
    if (dt < 0) return onnx_result(n, onnx_emit(p, "ctsc::onnx_range", 3, args));
    args[3] = onnx_int(p, dt);
    return onnx_result(n, onnx_emit(p,
                                    range_is_known(args) ? "aten::arange.start_step"
                                    : floating           ? "ctsc::onnx_range_floats"
                                                         : "ctsc::onnx_range_ints",
                                    4, args));
}

bool onnx_op_eye_like(onnx_node *n, const char *text) {
    onnx_value *v = onnx_need(n, 0);
    (void)text;
    if (!v) return false;
    int dt = onnx_attr(n, "dtype") ? onnx_to_dtype(onnx_attr_int(n, "dtype", 0)) : v->dt;
    if (dt < 0) return onnx_unsupported(n->p, "the type of the result is not known");
    ir_value *x = onnx_t(n, 0);
    return x && onnx_out(n, 0,
                         ONNX_EMIT(n->p, "ctsc::onnx_eye_like", x,
                                   onnx_int(n->p, onnx_attr_int(n, "k", 0)), onnx_int(n->p, dt)),
                         2, dt);
}

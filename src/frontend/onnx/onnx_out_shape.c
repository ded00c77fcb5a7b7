/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_out_shape.c - views, selection and new tensors as nodes of ONNX.
 */
#include "frontend/onnx/onnx_out_internal.h"

/* ---- sizes ----------------------------------------------------------------------------------- */

static const char *shape_of(onnx_out *o, const char *x) { return x ? OUT(o, "Shape", x) : NULL; }

bool out_op_size(out_call *c, const char *text) {
    onnx_out *o = c->o;
    const tensor *t = out_t(c, 0);
    (void)text;
    if (c->nargs == 2) {
        int64_t dim;
        if (!out_arg_int(c, 1, &dim)) return false;
        const char *s = shape_of(o, out_arg(c, 0)),
                   *y = s ? OUT(o, "Gather", s, out_const_int(o, out_dim(t, dim))) : NULL;
        out_int(o, "axis", 0);
        return out_done(c, y);
    }
    /* a list, some of it constants */
    out_value *r = c->res[0];
    if (!(r->items = arena_array(&o->scratch, out_value *, t->ndim + 4))) return out_no_memory(o);
    r->cap = t->ndim + 4;
    const char *s = shape_of(o, out_arg(c, 0));
    for (int i = 0; s && i < t->ndim; i++) {
        out_value *item = out_new(o);
        if (!item) return false;
        for (int w = 0; w < o->worlds; w++)
            item->v[w] = value_int(c->args[0]->v[w].u.tensor->sizes[i]);
        if (!out_is_fixed(o, c->args[0], i)) {
            item->name = OUT(o, "Gather", s, out_const_int(o, i));
            out_int(o, "axis", 0);
        }
        r->items[r->nitems++] = item;
    }
    return s != NULL;
}

bool out_op_numel(out_call *c, const char *text) {
    const char *x = out_arg(c, 0);
    (void)text;
    return out_done(c, x ? OUT(c->o, "Size", x) : NULL);
}

/* ---- views ----------------------------------------------------------------------------------- */

bool out_op_reshape(out_call *c, const char *text) {
    out_value *list = *text && c->nargs > 1 ? c->args[1] : NULL;
    if (list && list->v[0].tag != V_LIST) return out_refuse(c->o, "a view as another dtype");
    return out_done(c, out_reshape(c->o, out_arg(c, 0), c->args[0], c->res[0], list));
}

bool out_op_unsqueeze(out_call *c, const char *text) {
    int64_t dim;
    (void)text;
    if (!out_arg_int(c, 1, &dim)) return false;
    if (dim < 0) dim += out_r(c)->ndim;
    const char *x = out_arg(c, 0);
    return out_done(c, x ? OUT(c->o, "Unsqueeze", x, out_const_ints(c->o, 1, &dim)) : NULL);
}

bool out_op_permute(out_call *c, const char *text) {
    int64_t order[TENSOR_MAX_DIMS], a, b;
    const tensor *t = out_t(c, 0);
    int n = t->ndim, count;
    for (int i = 0; i < n; i++) order[i] = *text == 'r' ? n - 1 - i : i;
    if (*text == 'm' && n == 2) order[0] = 1, order[1] = 0;
    if (*text == 'e') {
        if (!out_arg_int(c, 1, &a) || !out_arg_int(c, 2, &b)) return false;
        order[out_dim(t, a)] = out_dim(t, b);
        order[out_dim(t, b)] = out_dim(t, a);
    }
    if (!*text) {
        if (!out_arg_ints(c, 1, n, &count, order)) return false;
        for (int i = 0; i < n; i++) order[i] = out_dim(t, order[i]);
    }
    const char *x = out_arg(c, 0), *y = x ? OUT(c->o, "Transpose", x) : NULL;
    out_ints(c->o, "perm", n, order);
    return out_done(c, y);
}

bool out_op_expand(out_call *c, const char *text) {
    onnx_out *o = c->o;
    const char *x = out_arg(c, 0);
    int64_t sizes[TENSOR_MAX_DIMS];
    const tensor *r = out_r(c), *t = out_t(c, 0);
    bool known = true;
    if (!x) return false;
    if (*text) return out_done(c, OUT(o, "Expand", x, shape_of(o, out_arg(c, 1))));
    for (int i = 0; i < r->ndim; i++) {
        int own = i - (r->ndim - t->ndim);
        sizes[i] = r->sizes[i];
        if (out_is_fixed(o, c->res[0], i)) continue;
        /* 1 keeps the argument's size */
        if (own >= 0 && t->sizes[own] == r->sizes[i] && !out_is_fixed(o, c->args[0], own))
            sizes[i] = 1;
        else known = false;
    }
    if (known) return out_done(c, OUT(o, "Expand", x, out_const_ints(o, r->ndim, sizes)));
    out_value *list = c->args[1];
    const char **parts = arena_array(&o->scratch, const char *, r->ndim + 1);
    if (!parts || !list->items || list->nitems != r->ndim)
        return out_refuse(o, "sizes that are not known");
    for (int i = 0; i < r->ndim; i++) {
        static const int64_t one = 1;
        bool keeps = !list->items[i]->name && list->items[i]->v[0].u.i == -1;
        if (!(parts[i] = keeps ? out_const_ints(o, 1, &one) : out_value_1d(o, list->items[i])))
            return false;
    }
    const char *shape = out_node(o, "Concat", r->ndim, parts);
    out_int(o, "axis", 0);
    return out_done(c, shape ? OUT(o, "Expand", x, shape) : NULL);
}

bool out_op_repeat(out_call *c, const char *text) {
    onnx_out *o = c->o;
    int64_t sizes[TENSOR_MAX_DIMS];
    int lead = out_r(c)->ndim - out_t(c, 0)->ndim;
    const char *x = out_arg(c, 0), *times = x ? out_list_1d(o, c->args[1]) : NULL;
    (void)text;
    for (int i = 0; i < lead; i++) sizes[i] = i;
    if (times && lead) x = OUT(o, "Unsqueeze", x, out_const_ints(o, lead, sizes));
    return out_done(c, x && times ? OUT(o, "Tile", x, times) : NULL);
}

/* ---- join, split ----------------------------------------------------------------------------- */

bool out_op_cat(out_call *c, const char *text) {
    onnx_out *o = c->o;
    out_value *list = c->args[0];
    dtype dt = (dtype)out_r(c)->dtype;
    int64_t dim;
    int count = 0;
    if (!(list->items || list->seq) || !out_arg_int(c, 1, &dim))
        return out_refuse(o, "of what is not a list");
    if (dim < 0) dim += out_r(c)->ndim;
    if (list->seq) return out_done(c, lists_join(o, list, dim, *text));
    const char **in = arena_array(&o->scratch, const char *, list->nitems + 1);
    if (!in) return out_no_memory(o);
    for (int i = 0; i < list->nitems; i++) {
        const tensor *t = list->items[i]->v[0].u.tensor;
        /* torch skips these, whatever their rank */
        if (!*text && t->ndim == 1 && !t->numel && out_r(c)->ndim != 1) continue;
        const char *x = out_cast(o, out_name(o, list->items[i]), (dtype)t->dtype, dt);
        if (x && *text) x = OUT(o, "Unsqueeze", x, out_const_ints(o, 1, &dim));
        if (!(in[count++] = x)) return false;
    }
    const char *y = out_node(o, "Concat", count, in);
    out_int(o, "axis", dim);
    return out_done(c, y);
}

bool out_op_split(out_call *c, const char *text) {
    onnx_out *o = c->o;
    int64_t dim = 0, sizes[256];
    const list *parts = c->res[0]->v[0].u.list;
    out_value *r = c->res[0];
    bool unbind = *text == 'u', fixed = true;
    size_t n = parts->len;
    const char *out[256], *x = out_arg(c, 0);
    if (!x || !out_arg_int(c, unbind ? 1 : 2, &dim)) return false;
    dim = out_dim(out_t(c, 0), dim);
    if (!n || n > 256) return out_refuse(o, "%zu parts", n);
    for (int w = 1; w < o->worlds; w++)
        if (r->v[w].u.list->len != n) return out_refuse(o, "as many parts as a dynamic axis says");
    for (size_t i = 0; i < n; i++) {
        sizes[i] = unbind ? 1 : parts->u.tensors[i]->sizes[dim];
        for (int w = 1; !unbind && w < o->worlds; w++)
            fixed = fixed && r->v[w].u.list->u.tensors[i]->sizes[dim] == sizes[i];
    }
    if (!fixed) return out_refuse(o, "parts of dynamic sizes");
    const char *in[] = {x, out_const_ints(o, (int)n, sizes)};
    if (!in[1] || !out_nodes(o, "Split", 2, in, (int)n, out)) return out_no_memory(o);
    out_int(o, "axis", dim);
    if (!(r->items = arena_array(&o->scratch, out_value *, n + 4))) return out_no_memory(o);
    r->cap = (int)n + 4;
    for (size_t i = 0; i < n; i++) {
        out_value *item = out_new(o);
        if (!item) return false;
        for (int w = 0; w < o->worlds; w++) item->v[w] = list_get(r->v[w].u.list, i);
        item->name = unbind ? OUT(o, "Squeeze", out[i], out_const_ints(o, 1, &dim)) : out[i];
        if (!item->name) return false;
        r->items[r->nitems++] = item;
    }
    return true;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static const char *shape_slice(onnx_out *o, const char *x, const char *from, const char *to,
                               int64_t dim, int64_t step) {
    const char *axes = out_const_ints(o, 1, &dim);
    return x && from && to && axes ? OUT(o, "Slice", x, from, to, axes, out_const_ints(o, 1, &step))
                                   : NULL;
}

bool out_op_slice(out_call *c, const char *text) {
    onnx_out *o = c->o;
    int64_t dim, step, zero = 0, most = INT64_MAX;
    (void)text;
    if (c->args[0]->v[0].tag != V_TENSOR) return out_refuse(o, "slices of this");
    if (!out_arg_int(c, 1, &dim) || !out_arg_int(c, 4, &step)) return false;
    const char *from = out_given(c, 2) ? out_arg_1d(c, 2) : out_const_ints(o, 1, &zero),
               *to = out_given(c, 3) ? out_arg_1d(c, 3) : out_const_ints(o, 1, &most);
    return out_done(c, shape_slice(o, out_arg(c, 0), from, to, out_dim(out_t(c, 0), dim), step));
}

bool out_op_narrow(out_call *c, const char *text) {
    onnx_out *o = c->o;
    int64_t dim;
    value start = c->args[2]->v[0];
    (void)text;
    if (!out_arg_int(c, 1, &dim)) return false;
    /* what is not known may be one in another call */
    if (c->args[2]->name || start.tag != V_INT || start.u.i < 0)
        return out_refuse(o, "a start from the end, or one that is not a constant");
    const char *from = out_arg_1d(c, 2), *length = from ? out_arg_1d(c, 3) : NULL, *to = length;
    if (start.u.i) to = length ? OUT(o, "Add", from, length) : NULL;
    return out_done(c, shape_slice(o, out_arg(c, 0), from, to, out_dim(out_t(c, 0), dim), 1));
}

bool out_op_select(out_call *c, const char *text) {
    onnx_out *o = c->o;
    int64_t dim;
    (void)text;
    if (!out_arg_int(c, 1, &dim)) return false;
    const char *x = out_arg(c, 0), *at = x ? out_arg(c, 2) : NULL,
               *y = at ? OUT(o, "Gather", x, at) : NULL;
    out_int(o, "axis", out_dim(out_t(c, 0), dim));
    return out_done(c, y);
}

bool out_op_flip(out_call *c, const char *text) {
    onnx_out *o = c->o;
    int n;
    int64_t dims[TENSOR_MAX_DIMS], from[TENSOR_MAX_DIMS], to[TENSOR_MAX_DIMS], by[TENSOR_MAX_DIMS];
    (void)text;
    if (!out_arg_ints(c, 1, -1, &n, dims)) return false;
    for (int i = 0; i < n; i++) {
        dims[i] = out_dim(out_t(c, 0), dims[i]);
        from[i] = -1;
        to[i] = -INT64_MAX;
        by[i] = -1;
    }
    const char *x = out_arg(c, 0);
    return out_done(c, x ? OUT(o, "Slice", x, out_const_ints(o, n, from), out_const_ints(o, n, to),
                               out_const_ints(o, n, dims), out_const_ints(o, n, by))
                         : NULL);
}

/* [last before, last after, ...] as ONNX has it: before of all dims, then after. */
static const char *shape_pads(onnx_out *o, const out_value *list, int ndim) {
    const char *parts[2 * TENSOR_MAX_DIMS];
    for (int i = 0; i < 2 * ndim; i++) {
        int at = 2 * (ndim - 1 - i % ndim) + i / ndim;
        static const int64_t none = 0;
        parts[i] = at < list->nitems ? out_value_1d(o, list->items[at])
                                     : out_const_ints(o, 1, &none);
        if (!parts[i]) return NULL;
    }
    const char *all = out_node(o, "Concat", 2 * ndim, parts);
    out_int(o, "axis", 0);
    return all;
}

/* What negative pads take away, which becomes 0 there; NULL: pads may be negative. */
static const char *pad_cut(out_call *c, const char *x, int64_t *pads) {
    onnx_out *o = c->o;
    const tensor *t = out_t(c, 0);
    for (int d = 0; x && pads && d < t->ndim; d++) {
        int64_t *before = &pads[d], *after = &pads[t->ndim + d], from = *before < 0 ? -*before : 0,
                to = *after < 0 ? *after : INT64_MAX;
        if (*before >= 0 && *after >= 0) continue;
        x = shape_slice(o, x, out_const_ints(o, 1, &from), out_const_ints(o, 1, &to), d, 1);
        if (*before < 0) *before = 0;
        if (*after < 0) *after = 0;
    }
    return x;
}

bool out_op_pad(out_call *c, const char *text) {
    onnx_out *o = c->o;
    int n;
    int64_t pads[TENSOR_MAX_DIMS], all[2 * TENSOR_MAX_DIMS] = {0};
    const tensor *t = out_t(c, 0);
    const char *mode = *text ? text : out_arg_text(c, 2);
    int fill = *text ? (*text == 'c' ? 2 : -1) : 3;
    if (!mode) return out_refuse(o, "in no known way");
    bool open = c->args[1]->items;
    if (!open && !out_arg_ints(c, 1, -1, &n, pads)) return false;
    mode = !strcmp(mode, "replicate") ? "edge" : !strcmp(mode, "circular") ? "wrap" : mode;
    if (!strcmp(mode, "wrap") && o->opset < 19)
        return out_refuse(o, "mode circular needs operator set 19");
    for (int i = 0; !open && i < n / 2 && i < t->ndim; i++) {
        all[t->ndim - 1 - i] = pads[2 * i];
        all[2 * t->ndim - 1 - i] = pads[2 * i + 1];
    }
    const char *x = pad_cut(c, out_arg(c, 0), strcmp(mode, "constant") ? all : NULL), *y,
               *p = open ? shape_pads(o, c->args[1], t->ndim)
                    : x  ? out_const_ints(o, 2 * t->ndim, all)
                         : NULL;
    if (!p) return false;
    bool constant = !strcmp(mode, "constant");
    if (constant && fill >= 0 && out_given(c, fill))
        y = OUT(o, "Pad", x, p, out_arg_as(c, fill, (dtype)t->dtype));
    else y = OUT(o, "Pad", x, p);
    out_text(o, "mode", mode);
    return out_done(c, y);
}

bool out_op_pixel_shuffle(out_call *c, const char *text) {
    int64_t r;
    (void)text;
    if (!out_arg_int(c, 1, &r)) return false;
    if (out_t(c, 0)->ndim != 4) return out_refuse(c->o, "of other than 4 dims");
    const char *y = OUT(c->o, "DepthToSpace", out_arg(c, 0));
    out_int(c->o, "blocksize", r);
    out_text(c->o, "mode", "CRD");
    return out_done(c, y);
}

bool out_op_tril(out_call *c, const char *text) {
    onnx_out *o = c->o;
    (void)text;
    if (o->opset < 14) return out_refuse(o, "needs operator set 14");
    const char *x = out_arg(c, 0), *k = x ? out_arg(c, 1) : NULL,
               *y = k ? OUT(o, "Trilu", x, k) : NULL;
    out_int(o, "upper", text[3] == 'u');
    return out_done(c, y);
}

/* ---- the same elements ----------------------------------------------------------------------- */

bool out_op_same(out_call *c, const char *text) {
    (void)text;
    return out_done(c, out_arg_as(c, 0, (dtype)out_r(c)->dtype));
}

/* view_as_real, view_as_complex */
bool out_op_parts(out_call *c, const char *text) {
    (void)text;
    return out_done(c, out_arg(c, 0));
}

/* self.copy_(src): src as self is */
bool out_op_copy(out_call *c, const char *text) {
    const char *x = out_arg_as(c, 1, (dtype)out_r(c)->dtype);
    (void)text;
    if (x && !tensor_same_shape(out_t(c, 1), out_r(c)))
        x = OUT(c->o, "Expand", x, shape_of(c->o, out_arg(c, 0)));
    return out_done(c, x);
}

bool out_op_fill(out_call *c, const char *text) {
    dtype dt = (dtype)out_r(c)->dtype;
    const char *x = out_arg(c, 0),
               *v = *text == '0' ? out_const(c->o, dt, 0) : out_arg_as(c, 1, dt);
    return out_done(c, x && v ? OUT(c->o, "Expand", v, shape_of(c->o, x)) : NULL);
}

/* Between tensors of one element and numbers. */
bool out_op_number(out_call *c, const char *text) {
    onnx_out *o = c->o;
    value r = c->res[0]->v[0];
    (void)text;
    if (c->args[0]->v[0].tag == V_LIST) {
        if (!numbers_is(c->args[0]->v[0])) return out_refuse(o, "of lists in a list");
        const char *x = numbers_name(o, c->args[0]);
        return out_done(
            c, out_cast(o, x, numbers_dtype(c->args[0]->v[0].u.list), (dtype)r.u.tensor->dtype));
    }
    dtype dt = r.tag == V_TENSOR ? (dtype)r.u.tensor->dtype
               : r.tag == V_INT  ? DT_INT64
               : r.tag == V_BOOL ? DT_BOOL
                                 : DT_FLOAT32;
    const char *x = out_arg_as(c, 0, dt);
    bool flat = c->args[0]->v[0].tag == V_TENSOR && out_t(c, 0)->ndim &&
                (r.tag != V_TENSOR || !r.u.tensor->ndim);
    return out_done(c, x && flat ? OUT(o, "Reshape", x, out_const_ints(o, 0, NULL)) : x);
}

/* ---- selection ------------------------------------------------------------------------------- */

static bool shape_gather(out_call *c, const char *x, const char *at, int64_t axis) {
    const char *y = x && at ? OUT(c->o, "Gather", x, at) : NULL;
    out_int(c->o, "axis", axis);
    return out_done(c, y);
}

bool out_op_embedding(out_call *c, const char *text) {
    (void)text;
    return shape_gather(c, out_arg(c, 0), out_arg(c, 1), 0);
}

bool out_op_index_select(out_call *c, const char *text) {
    int64_t dim;
    (void)text;
    return out_arg_int(c, 1, &dim) &&
           shape_gather(c, out_arg(c, 0), out_arg(c, 2), out_dim(out_t(c, 0), dim));
}

bool out_op_gather(out_call *c, const char *text) {
    int64_t dim;
    (void)text;
    if (!out_arg_int(c, 1, &dim)) return false;
    const char *x = out_arg(c, 0), *at = x ? out_arg_as(c, 2, DT_INT64) : NULL,
               *y = at ? OUT(c->o, "GatherElements", x, at) : NULL;
    out_int(c->o, "axis", out_dim(out_t(c, 0), dim));
    return out_done(c, y);
}

/* x[mask], of the first dims of x */
static const char *shape_masked(onnx_out *o, const char *x, out_value *mask) {
    static const int64_t turn[] = {1, 0};
    const tensor *t = mask->v[0].u.tensor;
    const char *m = out_cast(o, out_name(o, mask), (dtype)t->dtype, DT_BOOL),
               *at = m ? OUT(o, "NonZero", m) : NULL;
    at = at ? OUT(o, "Transpose", at) : NULL;
    out_ints(o, "perm", 2, turn);
    return x && at ? OUT(o, "GatherND", x, at) : NULL;
}

bool out_op_masked_select(out_call *c, const char *text) {
    (void)text;
    for (int w = 0; w < c->o->worlds; w++)
        if (!tensor_same_shape(c->args[0]->v[w].u.tensor, c->args[1]->v[w].u.tensor))
            return out_refuse(c->o, "a mask of other sizes");
    return out_done(c, shape_masked(c->o, out_arg(c, 0), c->args[1]));
}

/* x[:, i], of one tensor of indices; x[i, j, k] of several in a row from the first dim on */
bool out_op_index(out_call *c, const char *text) {
    onnx_out *o = c->o;
    out_value *list = c->args[1];
    const char *x = out_arg(c, 0), *parts[TENSOR_MAX_DIMS];
    int first = -1, count = 0, n = (int)list->v[0].u.list->len, nd = 0;
    out_value *items[TENSOR_MAX_DIMS];
    (void)text;
    if (n > TENSOR_MAX_DIMS) return out_refuse(o, "%d indices", n);
    for (int i = 0; i < n; i++) {
        if (list->items) items[i] = list->items[i];
        else if (!(items[i] = out_new(o))) return false;
        else
            for (int w = 0; w < o->worlds; w++)
                items[i]->v[w] = list_get(list->v[w].u.list, (size_t)i);
        if (items[i]->v[0].tag == V_NONE) continue;
        if (first < 0) first = i;
        if (i != first + count) return out_refuse(o, "indices with gaps between them");
        if (items[i]->v[0].u.tensor->dtype == DT_BOOL || items[i]->v[0].u.tensor->dtype == DT_UINT8)
            return n == 1 ? out_done(c, shape_masked(o, x, items[0]))
                          : out_refuse(o, "a mask among several indices");
        if (items[i]->v[0].u.tensor->ndim > nd) nd = items[i]->v[0].u.tensor->ndim;
        count++;
    }
    if (count == 1) return shape_gather(c, x, out_name(o, items[first]), first);
    if (first != 0) return out_refuse(o, "several indices after other dims");
    /* all as one tensor of places: broadcast, side by side */
    out_value *wide = items[0];
    for (int i = 0; i < count; i++) {
        const tensor *t = items[i]->v[0].u.tensor;
        if (t->numel > wide->v[0].u.tensor->numel) wide = items[i];
    }
    const char *sum = NULL;
    for (int i = 0; i < count; i++) {
        const char *z = OUT(
            o, "Mul",
            out_cast(o, out_name(o, items[i]), (dtype)items[i]->v[0].u.tensor->dtype, DT_INT64),
            out_const_int(o, 0));
        sum = sum ? OUT(o, "Add", sum, z) : z;
        if (!sum) return false;
    }
    for (int i = 0; i < count; i++) {
        int64_t last = nd;
        const char *p = OUT(
            o, "Add", sum,
            out_cast(o, out_name(o, items[i]), (dtype)items[i]->v[0].u.tensor->dtype, DT_INT64));
        if (!(parts[i] = p ? OUT(o, "Unsqueeze", p, out_const_ints(o, 1, &last)) : NULL))
            return false;
    }
    const char *at = out_node(o, "Concat", count, parts);
    out_int(o, "axis", nd);
    return out_done(c, at && x ? OUT(o, "GatherND", x, at) : NULL);
}

/* What ONNX calls the reduction of that text, "" where it is none; NULL: refused. */
static const char *scatter_reduction(out_call *c, const char *text) {
    static const char *const names[][2] = {
        {"sum", "add"}, {"add", "add"}, {"prod", "mul"}, {"amax", "max"}, {"amin", "min"}};
    bool self = true;
    if (*text == 'n') return "";
    if (!*text && (!out_arg_bool(c, 5, &self) || !(text = out_arg_text(c, 4)))) return NULL;
    for (size_t i = 0; self && i < sizeof names / sizeof *names; i++) {
        int since = names[i][1][0] == 'm' && names[i][1][1] != 'u' ? 18 : 16;
        if (strcmp(text, names[i][0])) continue;
        if (c->o->opset < since)
            return out_refuse(c->o, "reduction '%s' needs operator set %d", text, since), NULL;
        return names[i][1];
    }
    return out_refuse(c->o, "of such a reduction"), NULL;
}

/* scatter, scatter_add, scatter_reduce of a source of the sizes of the indices */
bool out_op_scatter(out_call *c, const char *text) {
    onnx_out *o = c->o;
    int64_t dim;
    dtype dt = (dtype)out_r(c)->dtype;
    const char *reduction = scatter_reduction(c, text);
    if (reduction && *reduction && dt == DT_BOOL) return out_refuse(o, "a reduction of bools");
    if (!reduction || !out_arg_int(c, 1, &dim)) return false;
    const char *x = out_arg(c, 0), *at = x ? out_arg_as(c, 2, DT_INT64) : NULL,
               *v = at ? out_arg_as(c, 3, dt) : NULL;
    if (v && c->args[3]->v[0].tag != V_TENSOR) v = OUT(o, "Expand", v, shape_of(o, at));
    else if (v && !tensor_same_shape(out_t(c, 2), out_t(c, 3)))
        return out_refuse(o, "a source of other sizes than the indices");
    const char *y = v ? OUT(o, "ScatterElements", x, at, v) : NULL;
    out_int(o, "axis", out_dim(out_t(c, 0), dim));
    if (*reduction) out_text(o, "reduction", reduction);
    return out_done(c, y);
}

/* Indices of the first dims, all of one size, and values of all that they choose. */
bool out_op_index_put(out_call *c, const char *text) {
    onnx_out *o = c->o;
    bool add;
    const out_value *list = c->args[1];
    const char *parts[TENSOR_MAX_DIMS], *x = out_arg(c, 0);
    int n = (int)list->v[0].u.list->len;
    int64_t last = 0;
    (void)text;
    if (!x || n > TENSOR_MAX_DIMS || !out_arg_bool(c, 3, &add)) return false;
    if (add && o->opset < 16) return out_refuse(o, "accumulate needs operator set 16");
    for (int i = 0; i < n; i++) {
        out_value *item = out_item(o, list, (size_t)i);
        if (!item || item->v[0].tag != V_TENSOR) return out_refuse(o, "of other indices");
        last = item->v[0].u.tensor->ndim;
        const char *at = out_cast(o, out_name(o, item), (dtype)item->v[0].u.tensor->dtype,
                                  DT_INT64);
        if (!(parts[i] = at ? OUT(o, "Unsqueeze", at, out_const_ints(o, 1, &last)) : NULL))
            return false;
    }
    const char *at = out_node(o, "Concat", n, parts);
    out_int(o, "axis", last);
    const char *v = at ? out_arg_as(c, 2, (dtype)out_r(c)->dtype) : NULL,
               *y = v ? OUT(o, "ScatterND", x, at, v) : NULL;
    if (add) out_text(o, "reduction", "add");
    return out_done(c, y);
}

bool out_op_nonzero(out_call *c, const char *text) {
    static const int64_t turn[] = {1, 0};
    if (!out_t(c, 0)->ndim) return out_refuse(c->o, "of a tensor without dims");
    const char *x = out_arg(c, 0), *y = x ? OUT(c->o, "NonZero", x) : NULL;
    (void)text;
    y = y ? OUT(c->o, "Transpose", y) : NULL;
    out_ints(c->o, "perm", 2, turn);
    return out_done(c, y);
}

/* What shares the argument's elements, at fixed places: read one by one. */
bool out_op_strided(out_call *c, const char *text) {
    onnx_out *o = c->o;
    static const int64_t all = -1;
    const tensor *t = out_t(c, 0), *r = out_r(c);
    int64_t at[TENSOR_MAX_DIMS] = {0};
    tensor *places = NULL;
    (void)text;
    for (int w = 1; w < o->worlds; w++)
        if (!tensor_same_shape(c->args[0]->v[w].u.tensor, t) ||
            !tensor_same_shape(c->res[0]->v[w].u.tensor, r))
            return out_refuse(o, "of dynamic sizes");
    if (!tensor_is_contiguous(t)) return out_refuse(o, "of a tensor that does not lie in a row");
    if (tensor_new(o->d, DT_INT64, r->ndim, r->sizes, &places) != CTSC_OK) return false;
    bool inside = true;
    for (int64_t i = 0; i < r->numel; i++) {
        int64_t sum = r->offset - t->offset;
        for (int k = 0; k < r->ndim; k++) sum += at[k] * r->strides[k];
        TENSOR_AT(places, int64_t)[i] = sum;
        inside = inside && sum >= 0 && sum < t->numel;
        for (int k = r->ndim - 1; k >= 0 && ++at[k] == r->sizes[k]; k--) at[k] = 0;
    }
    const char *x = inside ? out_arg(c, 0) : (out_refuse(o, "beyond the argument"), NULL),
               *flat = x ? OUT(o, "Reshape", x, out_const_ints(o, 1, &all)) : NULL,
               *indices = flat ? out_tensor(o, places) : NULL;
    tensor_unref(places);
    return out_done(c, indices ? OUT(o, "Gather", flat, indices) : NULL);
}

/* ---- new tensors ----------------------------------------------------------------------------- */

bool out_op_full(out_call *c, const char *text) {
    onnx_out *o = c->o;
    dtype dt = (dtype)out_r(c)->dtype;
    bool like = !strncmp(text, "like ", 5), own = !strncmp(text, "new ", 4);
    const char *what = like ? text + 5 : own ? text + 4 : text;
    int sizes = own ? 1 : 0, fill = sizes + 1;
    const char *shape = like ? shape_of(o, out_arg(c, 0)) : out_list_1d(o, c->args[sizes]),
               *v = !shape         ? NULL
                    : *what == '0' ? out_const(o, dt, 0)
                    : *what == '1' ? out_const(o, dt, 1)
                                   : out_arg_as(c, fill, dt);
    return out_done(c, v ? OUT(o, "Expand", v, shape) : NULL);
}

bool out_op_arange(out_call *c, const char *text) {
    onnx_out *o = c->o;
    dtype dt = (dtype)out_r(c)->dtype;
    bool start = strstr(c->key, ".start") != NULL, step = strstr(c->key, ".start_step") != NULL;
    (void)text;
    const char *from = start ? out_arg_as(c, 0, dt) : out_const(o, dt, 0),
               *to = from ? out_arg_as(c, start, dt) : NULL,
               *by = to ? (step ? out_arg_as(c, 2, dt) : out_const(o, dt, 1)) : NULL;
    return out_done(c, by ? OUT(o, "Range", from, to, by) : NULL);
}

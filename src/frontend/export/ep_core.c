/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_core.c - core ATen's forms of operators, as run_decompositions() writes them, as the operators
 * that passes know.
 *
 *     native_layer_norm(x, shape, w, b, eps) -> (y, mean, rstd)        y = layer_norm(x, shape, w, b, eps)
 *     permute(w, [1, 0])                                               t(w)
 *
 * These compute the same; the others of several results have to be unread. With it a decomposed
 * program has the same fusion groups, packed weights and convolutions without batch norms as
 * what it was made of.
 */
#include "base/sorted.h"
#include "frontend/export/ep_internal.h"

/* from: arguments by the names of the schema that is left; in this order those of the other, by
 * position. "=": a constant bool false. Sorted by key. */
static const struct { const char *key, *as, *arguments; } core_rows[] = {
    {"aten::_native_batch_norm_legit_no_training", "aten::batch_norm",
     "input weight bias running_mean running_var = momentum eps ="},
    {"aten::max_pool2d_with_indices", "aten::max_pool2d",
     "self kernel_size stride padding dilation ceil_mode"},
    {"aten::max_pool3d_with_indices", "aten::max_pool3d",
     "self kernel_size stride padding dilation ceil_mode"},
    {"aten::native_group_norm", "aten::group_norm", "input group weight bias eps ="},
    {"aten::native_layer_norm", "aten::layer_norm", "input normalized_shape weight bias eps ="},
    {"transformers::grouped_mm_fallback", "aten::_grouped_mm", "input weight offs"},
};

/* ---- what is read ---------------------------------------------------------------------------- */

static bool core_note(ep_scope *sc, const json_t *v, int depth) {
    /* deeper ones are refused where they are imported */
    if (depth > 4 * EP_MAX_NESTING) return true;
    for (size_t i = 0; json_is_array(v) && i < json_array_size(v); i++)
        if (!core_note(sc, json_array_get(v, i), depth + 1)) return false;
    if (!json_is_object(v)) return true;
    const char *key;
    json_t *item;
    json_object_foreach((json_t *)(uintptr_t)v, key, item) {
        bool name = json_is_string(item) &&
                    (!strcmp(key, "name") || !strcmp(key, "as_name") || !strcmp(key, "as_tensor"));
        if (name && !strmap_put(&sc->read, json_string_value(item), sc)) return ep_no_memory(sc->p);
        if (!name && strcmp(key, "metadata") && !core_note(sc, item, depth + 1)) return false;
    }
    return true;
}

/* Collects the names that nodes, and the graph's results, mention. */
static bool core_collect(ep_scope *sc) {
    if (sc->collected) return true;
    sc->collected = true;
    const json_t *nodes = json_object_get(sc->graph, "nodes");
    for (size_t i = 0; i < json_array_size(nodes); i++)
        if (!core_note(sc, json_object_get(json_array_get(nodes, i), "inputs"), 0)) return false;
    return core_note(sc, json_object_get(sc->graph, "outputs"), 0);
}

/* Is only the first result of n read? */
static bool core_first_only(ep_node *n) {
    for (size_t i = 1; i < json_array_size(n->outputs); i++) {
        const json_t *out = json_array_get(n->outputs, i);
        const char *name = json_string_value(
            json_object_get(json_object_get(out, "as_tensor"), "name"));
        if (name ? strmap_get(&n->sc->read, name) != NULL : !json_object_get(out, "as_none"))
            return false;
    }
    return json_array_size(n->outputs) > 0;
}

/* ---- forms ----------------------------------------------------------------------------------- */

static bool core_is_transpose(size_t count, const ep_actual *actuals) {
    const json_t *dims = count == 2 ? json_object_get(actuals[1].arg, "as_ints") : NULL;
    return json_array_size(dims) == 2 && json_integer_value(json_array_get(dims, 0)) == 1 &&
           json_is_integer(json_array_get(dims, 1)) &&
           json_integer_value(json_array_get(dims, 1)) == 0;
}

static const ep_actual *core_find(size_t count, const ep_actual *actuals, const char *name,
                                  size_t len) {
    for (size_t i = 0; i < count; i++)
        if (strlen(actuals[i].name) == len && !memcmp(actuals[i].name, name, len))
            return &actuals[i];
    return NULL;
}

/* The arguments of the other operator; what was not given is left out, too. */
static bool core_arguments(ep_program *p, const char *names, const op *as, size_t count,
                           const ep_actual *actuals, size_t *nout, ep_actual *out) {
    *nout = 0;
    for (int position = 0; *names && position < as->schema->nargs; position++) {
        size_t len = strcspn(names, " ");
        const ep_actual *a = core_find(count, actuals, names, len);
        ep_actual made = {.name = as->schema->args[position].name,
                          .arg = a ? a->arg : NULL,
                          .v = *names == '=' ? graph_constant_bool(p->g, false) : NULL};
        if (made.arg || made.v) out[(*nout)++] = made;
        else if (!as->schema->args[position].has_default) return false;
        names += len + (names[len] == ' ');
    }
    return true;
}

/* convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups)
 * with as many dims as it has strides. */
static const char *core_convolution(size_t count, const ep_actual *actuals) {
    static const char *const keys[2][3] = {
        {"aten::conv1d", "aten::conv2d", "aten::conv3d"},
        {"aten::conv_transpose1d", "aten::conv_transpose2d.input", "aten::conv_transpose3d.input"},
    };
    const ep_actual *transposed = core_find(count, actuals, "transposed", 10),
                    *stride = core_find(count, actuals, "stride", 6);
    const json_t *flag = transposed ? json_object_get(transposed->arg, "as_bool") : NULL;
    size_t dims = stride ? json_array_size(json_object_get(stride->arg, "as_ints")) : 0;
    return json_is_boolean(flag) && dims >= 1 && dims <= 3 ? keys[json_is_true(flag)][dims - 1]
                                                           : NULL;
}

bool ep_core_call(ep_node *n, const char *key, size_t count, const ep_actual *actuals, bool *done) {
    enum { CORE_ARGS = 12 };
    ep_actual out[CORE_ARGS];
    size_t nout;
    int nouts;
    ir_value **outs;
    *done = false;
    op_symbol symbol = op_symbol_of(key);
    if (symbol == SYM_PERMUTE && core_is_transpose(count, actuals)) {
        *done = true;
        return ep_call_op(n, "aten::t", 1, actuals, &nouts, &outs) && ep_results(n, nouts, outs, 0);
    }
    const char *conv = symbol == SYM_CONVOLUTION ? core_convolution(count, actuals) : NULL;
    const op *as_conv = conv ? op_find(conv) : NULL;
    const char *names = conv && strstr(conv, "transpose")
                            ? "input weight bias stride padding output_padding groups dilation"
                            : "input weight bias stride padding dilation groups";
    if (as_conv && core_arguments(n->sc->p, names, as_conv, count, actuals, &nout, out)) {
        *done = true;
        return ep_call_op(n, conv, nout, out, &nouts, &outs) && ep_results(n, nouts, outs, 0);
    }
    int row = sorted_find(core_rows, sizeof core_rows, sizeof *core_rows, key);
    const op *as = row < 0 ? NULL : op_find(core_rows[row].as);
    if (!as) return true;
    if (!core_collect(n->sc)) return false;
    if (!core_first_only(n) ||
        !core_arguments(n->sc->p, core_rows[row].arguments, as, count, actuals, &nout, out))
        return true;
    *done = true;
    if (!ep_call_op(n, core_rows[row].as, nout, out, &nouts, &outs)) return false;
    return ep_bind(n->sc, json_array_get(n->outputs, 0), outs[0]);
}

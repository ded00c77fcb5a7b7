/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect_layers.c - the table of modules that ctsc inspect shows: classes, parameters and, where
 * inputs are given, results and operations.
 *
 * Figures of a module are of it and of all below it.
 * Tests: tests/cli/inspect.test
 */
#include "cli/show/inspect.h"

#include <string.h>

const char *inspect_dtype(ctsc_dtype dt) {
    const ctsc_dtype_info *d = ctsc_dtype_describe(dt);
    return d ? d->name : "other";
}

int64_t inspect_elements(const json_t *shape) {
    int64_t n = 1;
    for (size_t i = 0; i < json_array_size(shape); i++)
        n = cli_product(n, json_integer_value(json_array_get(shape, i)));
    return n;
}

int64_t inspect_bytes(const json_t *tensor) {
    const char *dtype = json_string_value(json_object_get(tensor, "dtype"));
    const ctsc_dtype_info *d = ctsc_dtype_find(dtype);
    return cli_product(inspect_elements(json_object_get(tensor, "shape")),
                       d ? (int64_t)d->bytes : 1);
}

/* ---- gathering ------------------------------------------------------------------------------- */

/* A tensor as its sizes, containers as lists of what they hold, anything else as its type. */
static json_t *layers_shape(const ctsc_value *v, int depth) {
    ctsc_kind kind = ctsc_value_kind(v);
    json_t *a = json_array();
    if (kind == CTSC_KIND_TENSOR) {
        for (int i = 0; i < ctsc_tensor_ndim(v); i++)
            json_array_append_new(a, json_integer(ctsc_tensor_sizes(v)[i]));
        return a;
    }
    if ((kind == CTSC_KIND_TUPLE || kind == CTSC_KIND_LIST || kind == CTSC_KIND_DICT) &&
        depth < 8 && ctsc_value_len(v) <= 16) {
        for (size_t i = 0; i < ctsc_value_len(v); i++) {
            ctsc_value *item = ctsc_value_item(v, i);
            json_array_append_new(a, item ? layers_shape(item, depth + 1) : json_null());
            ctsc_value_free(item);
        }
        return a;
    }
    json_decref(a);
    char *type = ctsc_value_type(v);
    json_t *j = json_string_nocheck(type ? type : "");
    ctsc_string_free(type);
    return j;
}

typedef struct layers_gather {
    json_t *list;
    const json_t *attributes;
} layers_gather;

/* Elements of the parameters below. */
static int64_t layers_parameters(const json_t *attributes, const char *name) {
    size_t len = strlen(name), i;
    int64_t n = 0;
    json_t *a;
    json_array_foreach((json_t *)attributes, i, a) {
        const char *full = json_string_value(json_object_get(a, "name"));
        bool below = !len || (!strncmp(full, name, len) && full[len] == '.');
        if (below && !strcmp(json_string_value(json_object_get(a, "role")), "parameter") &&
            json_object_get(a, "shape"))
            n = cli_sum(n, inspect_elements(json_object_get(a, "shape")));
    }
    return n;
}

static void layers_visit(void *ctx, const ctsc_layer *l) {
    layers_gather *g = ctx;
    json_t *o = json_object();
    json_object_set_new(o, "name", json_string_nocheck(l->name));
    json_object_set_new(o, "class", json_string_nocheck(l->class_name));
    json_object_set_new(o, "depth", json_integer(l->depth));
    json_object_set_new(o, "parameters", json_integer(layers_parameters(g->attributes, l->name)));
    json_object_set_new(o, "calls", json_integer((json_int_t)l->calls));
    json_object_set_new(o, "output", l->result ? layers_shape(l->result, 0) : json_null());
    json_object_set_new(o, "flops", l->calls ? json_integer(l->flops) : json_null());
    json_object_set_new(o, "all_flops", json_boolean(l->counted));
    json_array_append_new(g->list, o);
}

json_t *inspect_layers(const ctsc_module *m, const cli_call *call, const json_t *attributes,
                       ctsc_error *e) {
    layers_gather g = {json_array(), attributes};
    bool run = call->inputs.nspecs || call->inputs.file;
    if (ctsc_module_layers(m, run ? call->method : NULL, call->inputs.nvalues, call->inputs.values,
                           layers_visit, &g, e) == CTSC_OK)
        return g.list;
    json_decref(g.list);
    return NULL;
}

/* ---- printing -------------------------------------------------------------------------------- */

/* "[1, 3, 8, 8]", "[[2, 3], [4]]", "int" */
static size_t layers_print_shape(const json_t *shape, char *text, size_t size) {
    if (json_is_null(shape)) return (size_t)snprintf(text, size, "-");
    if (json_is_integer(shape))
        return (size_t)snprintf(text, size, "%lld", (long long)json_integer_value(shape));
    if (json_is_string(shape)) return (size_t)snprintf(text, size, "%s", json_string_value(shape));
    size_t used = (size_t)snprintf(text, size, "[");
    for (size_t i = 0; i < json_array_size(shape) && used < size; i++) {
        if (i) used += (size_t)snprintf(text + used, size - used, ", ");
        if (used < size)
            used += layers_print_shape(json_array_get(shape, i), text + used, size - used);
    }
    return used < size ? used + (size_t)snprintf(text + used, size - used, "]") : used;
}

/* After the last '.': "Conv2d". */
static const char *layers_class(const json_t *l) {
    const char *name = json_string_value(json_object_get(l, "class")), *dot = strrchr(name, '.');
    return dot ? dot + 1 : name;
}

/* Indented by depth, its own name only. */
static void layers_label(const json_t *l, char *text, size_t size) {
    const char *name = json_string_value(json_object_get(l, "name")), *dot = strrchr(name, '.');
    int depth = (int)json_integer_value(json_object_get(l, "depth"));
    snprintf(text, size, "%*s%s", 2 * depth, "", *name ? dot ? dot + 1 : name : "(the module)");
}

void inspect_print_layers(const json_t *layers) {
    char label[256], shape[256], number[32], flops[32];
    size_t i;
    int widths[3] = {12, 5, 6}; /* label, class, output */
    bool run = json_integer_value(json_object_get(json_array_get(layers, 0), "calls")) > 0;
    json_t *l;
    json_array_foreach((json_t *)layers, i, l) {
        layers_label(l, label, sizeof label);
        layers_print_shape(json_object_get(l, "output"), shape, sizeof shape);
        int have[3] = {(int)strlen(label), (int)strlen(layers_class(l)), (int)strlen(shape)};
        for (int k = 0; k < 3; k++) widths[k] = have[k] > widths[k] ? have[k] : widths[k];
    }
    printf("\n%-*s  %-*s", widths[0] + 2, "Layers", widths[1], "class");
    if (run) printf("  %-*s", widths[2], "output");
    printf("  %14s", "parameters");
    puts(run ? "              FLOP" : "");
    json_array_foreach((json_t *)layers, i, l) {
        layers_label(l, label, sizeof label);
        printf("  %-*s  %-*s", widths[0], label, widths[1], layers_class(l));
        layers_print_shape(json_object_get(l, "output"), shape, sizeof shape);
        if (run) printf("  %-*s", widths[2], shape);
        printf("  %14s", cli_grouped(json_integer_value(json_object_get(l, "parameters")), number,
                                     sizeof number));
        bool called = json_integer_value(json_object_get(l, "calls")) > 0,
             all = json_is_true(json_object_get(l, "all_flops"));
        cli_grouped(json_integer_value(json_object_get(l, "flops")), flops, sizeof flops);
        called = called && json_is_integer(json_object_get(l, "flops"));
        if (run) printf("  %15s%s", called ? flops : "-", called && !all ? " +" : "");
        putchar('\n');
    }
    if (run) puts("  (+: and operations that are not counted)");
}

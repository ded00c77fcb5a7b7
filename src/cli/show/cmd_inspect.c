/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_inspect.c - ctsc inspect: what is in a model, how large it is, and whether ctsc can run it.
 * Tests: tests/cli/inspect.test, tests/cli/show.test */
#include "cli/show/inspect.h"

#include <stdlib.h>
#include <string.h>

enum { OPT_JSON = 256, OPT_DEVICE, OPT_INPUT, OPT_INPUTS, OPT_METHOD };

typedef struct inspect_args {
    cli_model model;
    cli_call call;
    const char *device;
    bool json, symbolic; /* symbolic: sizes of arguments have names */
} inspect_args;

static const struct argp_option inspect_options[] = {
    {"json", OPT_JSON, 0, 0, "print JSON", 0},
    {"input", OPT_INPUT, "SPEC", 0,
     "what each layer gives for this argument and how many operations it takes (as of ctsc run; "
     "once per argument). Sizes may have names, float32[N,3,H,W]: formulas of these",
     0},
    {"inputs", OPT_INPUTS, "FILE", 0, "the same with the arguments of a file", 0},
    {"method", OPT_METHOD, "NAME", 0, "method to call (forward)", 0},
    {"device", OPT_DEVICE, "NAME", 0,
     "cuda: which operators have no version for CUDA (none is needed to ask)", 0},
    {0},
};

static error_t inspect_parse(int key, char *arg, struct argp_state *state) {
    inspect_args *a = state->input;
    switch (key) {
    case OPT_JSON: a->json = true; break;
    case OPT_DEVICE: a->device = arg; break;
    case OPT_INPUT: a->call.inputs.specs[a->call.inputs.nspecs++] = arg; break;
    case OPT_INPUTS: a->call.inputs.file = arg; break;
    case OPT_METHOD: a->call.method = arg; break;
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->model; break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* Everything is gathered as JSON first; the text is written from it. */
static void inspect_attribute(void *ctx, const ctsc_attribute_info *a) {
    json_t *list = ctx;
    json_t *o = json_object();
    json_object_set_new(o, "name", json_string_nocheck(a->name));
    json_object_set_new(o, "role",
                        json_string(a->is_parameter ? "parameter"
                                    : a->is_buffer  ? "buffer"
                                                    : "attribute"));
    if (ctsc_value_kind(a->value) == CTSC_KIND_TENSOR) {
        json_t *shape = json_array();
        for (int i = 0; i < ctsc_tensor_ndim(a->value); i++)
            json_array_append_new(shape, json_integer(ctsc_tensor_sizes(a->value)[i]));
        json_object_set_new(o, "dtype", json_string(inspect_dtype(ctsc_tensor_dtype(a->value))));
        json_object_set_new(o, "shape", shape);
    } else {
        json_object_set_new(o, "value", cli_value_json(a->value));
    }
    json_array_append_new(list, o);
}

typedef struct inspect_operators { json_t *ops; const char *device; } inspect_operators;

/* One entry per operator: count, and for unsupported ones every place. */
static void inspect_operator(void *ctx, const ctsc_operator_use *u) {
    const inspect_operators *into = ctx;
    json_t *ops = into->ops, *o = json_object_get(ops, u->key);
    bool supported = u->supported && (!into->device || ctsc_operator_runs_on(u->key, into->device));
    if (!o) {
        o = json_object();
        json_object_set_new(o, "supported", json_boolean(supported));
        json_object_set_new(o, "count", json_integer(0));
        json_object_set_new(ops, u->key, o);
    }
    json_object_set_new(o, "count",
                        json_integer(json_integer_value(json_object_get(o, "count")) + 1));
    if (supported) return;
    json_t *places = json_object_get(o, "places");
    if (!places) {
        places = json_array();
        json_object_set_new(o, "places", places);
    }
    json_array_append_new(places, json_pack("{s:s, s:s, s:i}", "function", u->function, "file",
                                            u->file, "line", (int)u->line));
}

/* Parameters, or buffers: how many elements and bytes. */
static void inspect_total(json_t *root, const json_t *attributes, const char *role,
                          const char *count, const char *bytes) {
    int64_t elements = 0, size = 0;
    size_t i;
    json_t *a;
    json_array_foreach((json_t *)attributes, i, a) {
        const json_t *shape = json_object_get(a, "shape");
        if (!shape || strcmp(json_string_value(json_object_get(a, "role")), role)) continue;
        elements = cli_sum(elements, inspect_elements(shape));
        size = cli_sum(size, inspect_bytes(a));
    }
    json_object_set_new(root, count, json_integer(elements));
    json_object_set_new(root, bytes, json_integer(size));
}

/* What the program says of its arguments, or of what it gives; NULL: nothing. */
static json_t *inspect_ports(const ctsc_signature *s, size_t n,
                             const ctsc_argument *(*get)(const ctsc_signature *, size_t)) {
    json_t *list = json_array();
    bool said = false;
    for (size_t i = 0; i < n; i++) {
        const ctsc_argument *a = get(s, i);
        json_t *o = json_object(), *shape = a->ndim < 0 ? json_null() : json_array();
        said |= a->typed || a->ndim >= 0;
        for (int k = 0; k < a->ndim; k++) json_array_append_new(shape, json_integer(a->sizes[k]));
        json_object_set_new(o, "name", json_string_nocheck(a->label ? a->label : a->name));
        json_object_set_new(o, "type", json_string_nocheck(a->type));
        json_object_set_new(o, "dtype",
                            a->typed ? json_string(inspect_dtype(a->dtype)) : json_null());
        json_object_set_new(o, "shape", shape);
        json_array_append_new(list, o);
    }
    if (said) return list;
    json_decref(list);
    return NULL;
}

static void inspect_signature(const ctsc_module *m, json_t *root) {
    ctsc_signature *s = NULL;
    if (ctsc_module_signature(m, "forward", &s, NULL) != CTSC_OK) return;
    json_t *in = inspect_ports(s, ctsc_signature_argument_count(s), ctsc_signature_argument),
           *out = inspect_ports(s, ctsc_signature_output_count(s), ctsc_signature_output);
    if (in) json_object_set_new(root, "inputs", in);
    if (out) json_object_set_new(root, "outputs", out);
    ctsc_signature_free(s);
}

/* The layers into root; NULL with the failure in e, or *code for one that was said. */
static json_t *inspect_gather_layers(const ctsc_module *m, const inspect_args *in,
                                     const json_t *attributes, json_t *root, int *code,
                                     ctsc_error *e) {
    json_t *basis = NULL,
           *layers = in->symbolic ? inspect_symbolic(m, &in->call, attributes, &basis, code, e)
                                  : inspect_layers(m, &in->call, attributes, e);
    if (layers) json_object_set_new(root, "layers", layers);
    if (basis) json_object_set_new(root, "formulas", basis);
    return layers;
}

static json_t *inspect_gather(const ctsc_module *m, const inspect_args *in, int *code,
                              ctsc_error *e) {
    json_t *root = json_object(), *methods = json_array(), *attributes = json_array(),
           *ops = json_object();
    json_object_set_new(root, "class", json_string_nocheck(ctsc_module_class(m)));
    json_object_set_new(root, "version", json_integer(ctsc_module_version(m)));
    for (size_t i = 0; i < ctsc_module_method_count(m); i++) {
        char *schema = ctsc_module_method_schema(m, ctsc_module_method_name(m, i));
        json_array_append_new(methods, json_string_nocheck(schema ? schema : ""));
        ctsc_string_free(schema);
    }
    ctsc_module_attributes(m, inspect_attribute, attributes);
    json_object_set_new(root, "methods", methods);
    inspect_signature(m, root);
    inspect_total(root, attributes, "parameter", "parameters", "parameter_bytes");
    inspect_total(root, attributes, "buffer", "buffers", "buffer_bytes");
    json_t *layers = inspect_gather_layers(m, in, attributes, root, code, e);
    json_object_set_new(root, "attributes", attributes);
    json_object_set_new(root, "operators", ops);
    if (layers && ctsc_module_operators(m, inspect_operator, &(inspect_operators){ops, in->device},
                                        e) == CTSC_OK)
        return root;
    json_decref(root);
    return NULL;
}

static void inspect_print_attribute(const json_t *a, bool *any) {
    const json_t *shape = json_object_get(a, "shape");
    const char *role = json_string_value(json_object_get(a, "role"));
    if (!shape) return;
    if (!*any) puts("\nTensors");
    *any = true;
    printf("  %-40s %-9s [", json_string_value(json_object_get(a, "name")),
           json_string_value(json_object_get(a, "dtype")));
    for (size_t i = 0; i < json_array_size(shape); i++)
        printf("%s%lld", i ? ", " : "", (long long)json_integer_value(json_array_get(shape, i)));
    printf("]%s\n", strcmp(role, "parameter")
                        ? (strcmp(role, "buffer") ? " (attribute)" : " (buffer)")
                        : "");
}

static void inspect_print_ports(const char *title, const json_t *list) {
    size_t i;
    const json_t *o;
    if (list) printf("\n%s\n", title);
    json_array_foreach((json_t *)list, i, o) {
        const json_t *shape = json_object_get(o, "shape"), *dtype = json_object_get(o, "dtype");
        printf("  %-40s %s", json_string_value(json_object_get(o, "name")),
               json_string_value(json_is_string(dtype) ? dtype : json_object_get(o, "type")));
        if (json_is_array(shape)) printf("[");
        for (size_t k = 0; k < json_array_size(shape); k++) {
            json_int_t size = json_integer_value(json_array_get(shape, k));
            if (k) printf(", ");
            if (size < 0) printf("any");
            else printf("%lld", (long long)size);
        }
        puts(json_is_array(shape) ? "]" : "");
    }
}

static void inspect_print_total(const json_t *root, const char *title, const char *count,
                                const char *bytes) {
    char number[32], size[32];
    int64_t n = json_integer_value(json_object_get(root, count));
    printf("%s  %s (%s)\n", title, cli_grouped(n, number, sizeof number),
           cli_bytes((double)json_integer_value(json_object_get(root, bytes)), size, sizeof size));
}

static void inspect_print_basis(const json_t *f) {
    const char *name;
    json_t *size;
    json_object_foreach(json_object_get(f, "sizes"), name, size) {
        json_int_t from = json_integer_value(json_object_get(size, "from")),
                   step = json_integer_value(json_object_get(size, "step"));
        if (step == 1) printf("  (%s: %lld and more)\n", name, (long long)from);
        else
            printf("  (%s: %lld and more, in steps of %lld)\n", name, (long long)from,
                   (long long)step);
    }
    printf(
        "  (each formula holds in all of %lld calls of other sizes, which is evidence, no proof)\n",
        (long long)json_integer_value(json_object_get(f, "calls")));
    json_int_t missing = json_integer_value(json_object_get(f, "unconfirmed"));
    if (missing)
        printf("  (?: %lld sizes for which no formula was confirmed)\n", (long long)missing);
}

static int inspect_print(const json_t *root) {
    const json_t *list;
    size_t i;
    json_t *item;
    printf("%s, format version %lld\n\nMethods\n",
           json_string_value(json_object_get(root, "class")),
           (long long)json_integer_value(json_object_get(root, "version")));
    list = json_object_get(root, "methods");
    json_array_foreach(list, i, item) printf("  %s\n", json_string_value(item));
    inspect_print_ports("Inputs of forward", json_object_get(root, "inputs"));
    inspect_print_ports("Outputs of forward", json_object_get(root, "outputs"));
    inspect_print_total(root, "\nParameters", "parameters", "parameter_bytes");
    inspect_print_total(root, "Buffers   ", "buffers", "buffer_bytes");
    list = json_object_get(root, "layers");
    if (json_array_size(list) > 1 ||
        json_integer_value(json_object_get(json_array_get(list, 0), "calls")))
        inspect_print_layers(list);
    if (json_object_get(root, "formulas")) inspect_print_basis(json_object_get(root, "formulas"));
    bool any = false;
    list = json_object_get(root, "attributes");
    json_array_foreach(list, i, item) inspect_print_attribute(item, &any);
    puts("\nOperators");
    const char *key;
    size_t unsupported = 0;
    json_t *ops = json_object_get(root, "operators");
    json_object_foreach(ops, key, item) {
        bool ok = json_is_true(json_object_get(item, "supported"));
        unsupported += !ok;
        printf("  %-40s %6lld%s\n", key,
               (long long)json_integer_value(json_object_get(item, "count")),
               ok ? "" : "  unsupported");
    }
    if (!unsupported) {
        puts("\nEvery operator is supported.");
        return 0;
    }
    puts("\nUnsupported operators and where they are used");
    json_object_foreach(ops, key, item) {
        json_t *places = json_object_get(item, "places"), *p;
        json_array_foreach(places, i, p)
            printf("  %s in %s (%s:%lld)\n", key, json_string_value(json_object_get(p, "function")),
                   json_string_value(json_object_get(p, "file")),
                   (long long)json_integer_value(json_object_get(p, "line")));
    }
    return 0;
}

static const struct argp_child inspect_children[] = CLI_MODEL_CHILD;
const struct argp cmd_inspect_argp = {
    inspect_options,
    inspect_parse,
    "MODEL",
    "Lists methods, layers, parameters and operators of a model, and which of these ctsc does not "
    "support. With --input, also what each layer gives and how many floating-point operations it "
    "takes; figures of a layer are of all in it.",
    inspect_children,
    NULL,
    NULL};

/* On device meta, where a call is its shapes; as the model is for programs that need elements. */
static json_t *inspect_model(inspect_args *a, ctsc_module **m, int *code, ctsc_error *e) {
    cli_inputs *in = &a->call.inputs;
    json_t *root = NULL;
    bool called = a->symbolic || in->nvalues;
    ctsc_value **values = calloc(in->nvalues + 1, sizeof *values); /* as they were */
    for (size_t i = 0; values && i < in->nvalues; i++) values[i] = ctsc_value_copy(in->values[i]);
    bool meta = values && called && ctsc_module_to(*m, "meta", e) == CTSC_OK;
    for (size_t i = 0; meta && i < in->nvalues; i++) {
        ctsc_value *moved = NULL;
        if (!(meta = ctsc_value_to(in->values[i], "meta", &moved, e) == CTSC_OK)) break;
        ctsc_value_free(in->values[i]);
        in->values[i] = moved;
    }
    if (meta || !called) root = inspect_gather(*m, a, code, e);
    if (!root && !*code && called && !a->symbolic) {
        for (size_t i = 0; values && i < in->nvalues; i++) {
            ctsc_value_free(in->values[i]);
            in->values[i] = ctsc_value_copy(values[i]);
        }
        ctsc_module_free(*m);
        *m = NULL;
        *code = cli_load(&a->model, m, e);
        if (!*code) root = inspect_gather(*m, a, code, e);
    }
    for (size_t i = 0; values && i < in->nvalues; i++) ctsc_value_free(values[i]);
    free(values);
    if (!root && !*code) *code = cli_report(e);
    return root;
}

int cmd_inspect(int argc, char **argv) {
    inspect_args a = {0};
    ctsc_error *e = ctsc_error_new();
    if (!cli_call_init(&a.call, argc)) return cli_complain(CTSC_LIMIT, "out of memory");
    cli_parse_args(&cmd_inspect_argp, argc, argv, &a);
    ctsc_module *m = NULL;
    int code = cli_load(&a.model, &m, e);
    a.symbolic = inspect_has_symbols(&a.call.inputs);
    if (!code && !a.symbolic) code = cli_read_inputs(&a.call.inputs, m, a.call.method, e);
    if (!code) {
        json_t *root = inspect_model(&a, &m, &code, e);
        if (!root) {
            code = code ? code : 1;
        } else if (a.json) {
            code = cli_print_json(root);
        } else {
            code = inspect_print(root);
            json_decref(root);
        }
    }
    ctsc_module_free(m);
    ctsc_error_free(e);
    cli_call_free(&a.call);
    return code;
}

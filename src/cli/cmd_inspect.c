/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_inspect.c - ctsc inspect: what is in an archive, and whether ctsc can run it. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

enum { OPT_JSON = 256, OPT_DEVICE };

typedef struct inspect_args { cli_model model; const char *device; bool json; } inspect_args;

static const struct argp_option inspect_options[] = {
    {"json", OPT_JSON, 0, 0, "print JSON", 0},
    {"device", OPT_DEVICE, "NAME", 0, "cuda: which operators have no version for CUDA (none is needed to ask)", 0},
    {0}};

static error_t inspect_parse(int key, char *arg, struct argp_state *state) {
    inspect_args *a = state->input;
    switch (key) {
    case OPT_JSON: a->json = true; break;
    case OPT_DEVICE: a->device = arg; break;
    case ARGP_KEY_INIT: state->child_inputs[0] = &a->model; break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const char *inspect_dtype(ctsc_dtype dt) {
    switch (dt) {
    case CTSC_UINT8: return "uint8";
    case CTSC_INT8: return "int8";
    case CTSC_INT16: return "int16";
    case CTSC_INT32: return "int32";
    case CTSC_INT64: return "int64";
    case CTSC_FLOAT16: return "float16";
    case CTSC_FLOAT32: return "float32";
    case CTSC_FLOAT64: return "float64";
    case CTSC_COMPLEX64: return "complex64";
    case CTSC_COMPLEX128: return "complex128";
    case CTSC_BOOL: return "bool";
    case CTSC_BFLOAT16: return "bfloat16";
    }
    return "other";
}

/* Everything is gathered as JSON first; the text is written from it. */
static void inspect_attribute(void *ctx, const ctsc_attribute_info *a) {
    json_t *list = ctx;
    json_t *o = json_object();
    json_object_set_new(o, "name", json_string_nocheck(a->name));
    json_object_set_new(o, "role", json_string(a->is_parameter ? "parameter" : a->is_buffer ? "buffer" : "attribute"));
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
    json_object_set_new(o, "count", json_integer(json_integer_value(json_object_get(o, "count")) + 1));
    if (supported) return;
    json_t *places = json_object_get(o, "places");
    if (!places) {
        places = json_array();
        json_object_set_new(o, "places", places);
    }
    json_array_append_new(places, json_pack("{s:s, s:s, s:i}", "function", u->function, "file", u->file, "line", (int)u->line));
}

static json_t *inspect_gather(const ctsc_module *m, const char *device, ctsc_error *e) {
    json_t *root = json_object(), *methods = json_array(), *attributes = json_array(), *ops = json_object();
    json_object_set_new(root, "class", json_string_nocheck(ctsc_module_class(m)));
    json_object_set_new(root, "version", json_integer(ctsc_module_version(m)));
    for (size_t i = 0; i < ctsc_module_method_count(m); i++) {
        char *schema = ctsc_module_method_schema(m, ctsc_module_method_name(m, i));
        json_array_append_new(methods, json_string_nocheck(schema ? schema : ""));
        ctsc_string_free(schema);
    }
    ctsc_module_attributes(m, inspect_attribute, attributes);
    json_object_set_new(root, "methods", methods);
    json_object_set_new(root, "attributes", attributes);
    json_object_set_new(root, "operators", ops);
    if (ctsc_module_operators(m, inspect_operator, &(inspect_operators){ops, device}, e) == CTSC_OK) return root;
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
    printf("]%s\n", strcmp(role, "parameter") ? (strcmp(role, "buffer") ? " (attribute)" : " (buffer)") : "");
}

static int inspect_print(const json_t *root) {
    const json_t *list;
    size_t i;
    json_t *item;
    printf("%s, format version %lld\n\nMethods\n", json_string_value(json_object_get(root, "class")),
           (long long)json_integer_value(json_object_get(root, "version")));
    list = json_object_get(root, "methods");
    json_array_foreach(list, i, item) printf("  %s\n", json_string_value(item));
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
        printf("  %-40s %6lld%s\n", key, (long long)json_integer_value(json_object_get(item, "count")),
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
const struct argp cmd_inspect_argp = {inspect_options, inspect_parse, "MODEL",
    "Lists methods, tensors and operators of a model, and what of it ctsc does not "
    "support.", inspect_children, NULL, NULL};

int cmd_inspect(int argc, char **argv) {
    inspect_args a = {0};
    cli_parse_args(&cmd_inspect_argp, argc, argv, &a);
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    int code = cli_load(&a.model, &m, e);
    if (!code) {
        json_t *root = inspect_gather(m, a.device, e);
        if (!root) {
            code = cli_report(e);
        } else if (a.json) {
            code = cli_print_json(root);
        } else {
            code = inspect_print(root);
            json_decref(root);
        }
    }
    ctsc_module_free(m);
    ctsc_error_free(e);
    return code;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_signature.c - the program as a method: which of its graph's inputs are state, which are
 * arguments; which of its outputs are new values of state.
 *
 *     input_specs:  parameter p_fc_weight = fc.weight, buffer b_n = n, user_input x        forward(self, x)
 *     output_specs: buffer_mutation add = n, user_output linear                            n.copy_(add); return linear
 *
 * Schema 1, of PyTorch 2.1, has tables of names instead of these lists.
 */
#include "frontend/export/ep_internal.h"

enum { SIGNATURE_MAJOR = 8, SIGNATURE_ALL_MEMBERS = 2, SIGNATURE_ARGS = 4096 };

/* What the files of this struct say, found. */
typedef struct signature {
    ep_program *p;
    /* old: schema 1's tables */
    const json_t *module, *graph, *inputs, *outputs, *specs, *out_specs, *old;
    const json_t *call; /* the root's ModuleCallSignature; NULL: none */
    ep_scope sc;
    ep_tree *in, *out;
    VEC(const char *) names; /* of the parameters */
    VEC(ep_tree *) params;
    VEC(ir_value *) results;
    VEC(const json_t *) result_args; /* parallel: what the graph calls them, unions */
} signature;

/* ---- the file -------------------------------------------------------------------------------- */

static bool signature_version(signature *s) {
    ep_program *p = s->p;
    const json_t *v = json_object_get(p->json, "schema_version"),
                 *major = json_is_integer(v) ? v : json_object_get(v, "major");
    int64_t n;
    if (!ep_int(p, major, &n)) return false;
    if (n < 0 || n > SIGNATURE_MAJOR)
        return ep_unsupported(p,
                              "the program has version %lld of torch.export's schema; versions up "
                              "to %d are supported",
                              (long long)n, SIGNATURE_MAJOR);
    p->major = n ? (int)n : SIGNATURE_MAJOR;
    if (p->major <= SIGNATURE_ALL_MEMBERS) ep_drop_nulls(p->json);
    return true;
}

static const json_t *signature_call(const json_t *module) {
    const json_t *entries = json_object_get(module, "module_call_graph");
    for (size_t i = 0; i < json_array_size(entries); i++) {
        const json_t *e = json_array_get(entries, i), *fqn = json_object_get(e, "fqn");
        if (json_is_string(fqn) && !*json_string_value(fqn)) return ep_optional(e, "signature");
    }
    return ep_optional(module, "call_spec");
}

static bool signature_find(signature *s) {
    ep_program *p = s->p;
    if (!signature_version(s) || !(s->module = ep_object(p, p->json, "graph_module")) ||
        !(s->graph = ep_object(p, s->module, "graph")))
        return false;
    const json_t *sig = ep_object(p, s->module, "signature");
    if (!sig || !(s->inputs = ep_array(p, s->graph, "inputs")) ||
        !(s->outputs = ep_array(p, s->graph, "outputs")))
        return false;
    p->named = json_object_get(s->module, "treespec_namedtuple_fields");
    s->call = signature_call(s->module);
    s->sc.graph = s->graph;
    if (p->major == 1) return (s->old = sig) != NULL;
    if (!(s->specs = ep_array(p, sig, "input_specs")) ||
        !(s->out_specs = ep_array(p, sig, "output_specs")))
        return false;
    if (json_array_size(s->specs) != json_array_size(s->inputs) ||
        json_array_size(s->out_specs) != json_array_size(s->outputs))
        return ep_bad(p, "the signature has %zu inputs and %zu outputs, the graph %zu and %zu",
                      json_array_size(s->specs), json_array_size(s->out_specs),
                      json_array_size(s->inputs), json_array_size(s->outputs));
    return true;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

static bool signature_state(signature *s, ep_role role, const char *input, const char *name,
                            bool saved) {
    return input && name && ep_state_input(s->p, role, input, name, saved);
}

/* An argument: arg is what the graph calls it, or the literal that it has to be. */
static bool signature_input(signature *s, const json_t *arg, const char *literal_name) {
    ep_program *p = s->p;
    const json_t *v;
    ep_input in = {.kind = ep_union(p, arg, &v)};
    if (!in.kind) return false;
    if (!strcmp(in.kind, "as_tensor"))
        in.name = json_is_string(v) ? json_string_value(v) : ep_text(p, v, "name");
    else if (!strncmp(in.kind, "as_sym_", 7)) in.name = ep_text(p, v, "as_name");
    else if (!strcmp(in.kind, "as_custom_obj"))
        return ep_unsupported(p, "arguments that are objects of C++ classes are not supported");
    else in.constant = arg, in.name = literal_name;
    if (!in.constant && !in.name) return false;
    return vec_push(&p->inputs, in) || ep_no_memory(p);
}

static const char *spec_name(ep_program *p, const json_t *spec) {
    const json_t *arg = ep_object(p, spec, "arg");
    return arg ? ep_text(p, arg, "name") : NULL;
}

static bool signature_spec(signature *s, const char *kind, const json_t *v) {
    ep_program *p = s->p;
    if (!strcmp(kind, "user_input")) return signature_input(s, json_object_get(v, "arg"), NULL);
    if (!strcmp(kind, "constant_input"))
        return signature_input(s, json_object_get(v, "value"),
                               json_string_value(json_object_get(v, "name")));
    if (!strcmp(kind, "parameter"))
        return signature_state(s, EP_PARAMETER, spec_name(p, v), ep_text(p, v, "parameter_name"),
                               true);
    if (!strcmp(kind, "tensor_constant"))
        return signature_state(s, EP_CONSTANT, spec_name(p, v),
                               ep_text(p, v, "tensor_constant_name"), false);
    if (!strcmp(kind, "buffer")) {
        const json_t *persistent = ep_optional(v, "persistent");
        return signature_state(s, EP_BUFFER, spec_name(p, v), ep_text(p, v, "buffer_name"),
                               !persistent || json_is_true(persistent));
    }
    if (!strcmp(kind, "token")) {
        const char *name = spec_name(p, v);
        return name && ep_define(&s->sc, name, graph_constant_none(p->g));
    }
    if (!strcmp(kind, "custom_obj"))
        return ep_unsupported(p, "the program has a constant that is an object of a C++ class");
    return ep_unsupported(p, "inputs of kind '%.100s' are not supported", kind);
}

/* Schema 1: what is in no table is an argument. */
static bool signature_old_input(signature *s, const json_t *arg) {
    const json_t *v;
    const char *kind = ep_union(s->p, arg, &v),
               *name = json_string_value(json_object_get(v, "name"));
    if (!kind) return false;
    const char *parameter = name ? json_string_value(json_object_get(
                                       json_object_get(s->old, "inputs_to_parameters"), name))
                                 : NULL;
    if (parameter) return signature_state(s, EP_PARAMETER, name, parameter, true);
    const char *buffer = name ? json_string_value(json_object_get(
                                    json_object_get(s->old, "inputs_to_buffers"), name))
                              : NULL;
    return buffer ? signature_state(s, EP_BUFFER, name, buffer, true)
                  : signature_input(s, arg, NULL);
}

static bool signature_inputs(signature *s) {
    ep_program *p = s->p;
    for (size_t i = 0; i < json_array_size(s->inputs); i++) {
        const json_t *v = NULL;
        const char *kind = s->old ? "" : ep_union(p, json_array_get(s->specs, i), &v);
        if (!kind || !(s->old ? signature_old_input(s, json_array_get(s->inputs, i))
                              : signature_spec(s, kind, v)))
            return false;
        if (ep_failed(p)) return ep_no_memory(p);
    }
    return true;
}

/* ---- parameters of the method ---------------------------------------------------------------- */

static bool signature_name_fits(const char *name) {
    bool ok = name && *name && !(*name >= '0' && *name <= '9') && strlen(name) < 200;
    for (const char *c = name; ok && *c; c++)
        ok = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
             *c == '_';
    return ok;
}

static bool signature_param(signature *s, const char *name, ep_tree *t) {
    ep_program *p = s->p;
    bool taken = !signature_name_fits(name) || !strcmp(name, "self");
    for (size_t i = 0; i < s->names.len && !taken; i++) taken = !strcmp(s->names.data[i], name);
    const char *own = taken ? arena_printf(&p->unit->arena, "arg_%zu", s->names.len) : name;
    if (s->names.len >= SIGNATURE_ARGS)
        return ep_unsupported(p, "programs of more than %d arguments are not supported",
                              SIGNATURE_ARGS);
    if (!own || !vec_push(&s->names, intern(&p->unit->names, own)) || !vec_push(&s->params, t))
        return ep_no_memory(p);
    return true;
}

/* How torch's messages and guards call the leaves of a tree. */
static bool signature_paths(signature *s, const ep_tree *t, const char *path, const char *access) {
    ep_program *p = s->p;
    if (t->kind == EP_LEAF) {
        p->inputs.data[t->leaf].path = path;
        p->inputs.data[t->leaf].access = access;
        return true;
    }
    for (int i = 0; i < t->n; i++) {
        const char *item = t->kind != EP_DICT ? t->fields && t->name
                                                    ? arena_printf(&p->scratch, ".%s", t->fields[i])
                                                    : arena_printf(&p->scratch, "[%d]", i)
                           : t->keys[i].tag == V_INT
                               ? arena_printf(&p->scratch, "[%lld]", (long long)t->keys[i].u.i)
                               : arena_printf(&p->scratch, "['%s']", t->keys[i].u.str->bytes);
        const char *to = item ? arena_printf(&p->scratch, "%s%s", path, item) : NULL,
                   *by = item ? arena_printf(&p->scratch, "%s%s", access, item) : NULL;
        if (!to || !by) return ep_no_memory(p);
        if (!signature_paths(s, t->items[i], to, by)) return false;
    }
    return true;
}

static bool signature_tree(signature *s) {
    ep_program *p = s->p;
    const char *spec = json_string_value(json_object_get(s->call, "in_spec"));
    int leaves = (int)p->inputs.len;
    ep_tree *flat[2] = {NULL, NULL};
    if (!spec) {
        if (!(flat[0] = ep_tree_tuple(p, leaves, NULL)) || !(flat[1] = ep_tree_tuple(p, 0, NULL)))
            return false;
        flat[1]->kind = EP_DICT;
    }
    s->in = spec ? ep_tree_parse(p, spec, &leaves) : ep_tree_tuple(p, 2, flat);
    if (!s->in) return false;
    if ((size_t)leaves != p->inputs.len)
        return ep_bad(p, "the treespec of the arguments has %d leaves, the signature %zu inputs",
                      leaves, p->inputs.len);
    bool shape = s->in->kind == EP_TUPLE && s->in->n == 2 && s->in->items[0]->kind == EP_TUPLE &&
                 (s->in->items[1]->kind == EP_DICT);
    /* 2.1 left out what there is none of: keyword arguments */
    if (!shape && s->in->kind == EP_TUPLE && p->major == 1) {
        flat[0] = s->in;
        if (!(flat[1] = ep_tree_tuple(p, 0, NULL))) return false;
        flat[1]->kind = EP_DICT;
        return (s->in = ep_tree_tuple(p, 2, flat)) != NULL;
    }
    return shape ||
           ep_bad(
               p,
               "the treespec of the arguments is not a tuple of positional and keyword arguments");
}

static bool signature_params(signature *s) {
    ep_program *p = s->p;
    if (!signature_tree(s)) return false;
    const ep_tree *args = s->in->items[0], *kwargs = s->in->items[1];
    const json_t *names = json_object_get(s->call, "forward_arg_names");
    bool named = json_array_size(names) == (size_t)(args->n + kwargs->n);
    for (int i = 0; i < args->n + kwargs->n; i++) {
        bool keyword = i >= args->n;
        ep_tree *t = keyword ? kwargs->items[i - args->n] : args->items[i];
        const char *name = keyword ? (kwargs->keys[i - args->n].tag == V_STR
                                          ? kwargs->keys[i - args->n].u.str->bytes
                                          : NULL)
                           : named ? json_string_value(json_array_get(names, (size_t)i))
                           : t->kind == EP_LEAF ? p->inputs.data[t->leaf].name
                                                : NULL;
        if (!signature_param(s, name, t)) return false;
        const char *own = s->names.data[i];
        const char *path = keyword ? own : arena_printf(&p->scratch, "*args[%d]", i),
                   *access = arena_printf(&p->scratch, "L['%s']", own);
        if (!path || !access || !signature_paths(s, t, path, access)) return ep_no_memory(p);
    }
    return true;
}

static type *signature_leaf_type(ep_program *p, const ep_input *in) {
    static const struct { const char *kind; type_kind type; } rows[] = {
        {"as_tensor", T_TENSOR},   {"as_sym_int", T_INT}, {"as_sym_float", T_FLOAT},
        {"as_sym_bool", T_BOOL},   {"as_int", T_INT},     {"as_float", T_FLOAT},
        {"as_bool", T_BOOL},       {"as_string", T_STR},  {"as_none", T_NONE},
        {"as_complex", T_COMPLEX},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!strcmp(rows[i].kind, in->kind)) return type_of_kind(rows[i].type);
    return ep_unsupported(p, "arguments of kind '%.100s' are not supported", in->kind), NULL;
}

/* Named tuples and dataclasses are taken as plain tuples: any tuple will do. */
static void signature_plain(ep_tree *t) {
    t->name = NULL;
    t->argument = true;
    for (int i = 0; i < t->n; i++) signature_plain(t->items[i]);
}

static bool signature_take(signature *s) {
    ep_program *p = s->p;
    size_t n = p->inputs.len;
    type **types = arena_array(&p->scratch, type *, n + 1);
    ir_value **leaves = arena_array(&p->scratch, ir_value *, n + 1);
    if (!types || !leaves) return ep_no_memory(p);
    for (size_t i = 0; i < n; i++)
        if (!(types[i] = signature_leaf_type(p, &p->inputs.data[i]))) return false;
    for (size_t i = 0; i < s->params.len; i++) {
        signature_plain(s->params.data[i]);
        type *t = ep_tree_type(p, s->params.data[i], types);
        if (!t) return false;
        ir_value *v = block_add_param(p->g->root, t);
        value_set_name(v, s->names.data[i]);
        if (ep_failed(p)) return ep_no_memory(p);
    }
    for (size_t i = 0; i < s->params.len; i++)
        if (!ep_tree_take_apart(p, s->params.data[i], p->g->root->params.data[i + 1], leaves))
            return false;
    for (size_t i = 0; i < n; i++) {
        ep_input *in = &p->inputs.data[i];
        in->ir = leaves[i];
        if (in->name && !ep_define(&s->sc, in->name, leaves[i])) return false;
    }
    return true;
}

/* ---- outputs --------------------------------------------------------------------------------- */

/* into.copy_(v) */
static bool signature_write(signature *s, ir_value *into, ir_value *v) {
    ep_program *p = s->p;
    if (into == v) return true;
    ir_value *in[] = {into, v, graph_constant_bool(p->g, false)};
    return ep_emit_key(p, "aten::copy_", 3, in) != NULL;
}

static bool signature_write_state(signature *s, const char *name, ir_value *v) {
    ep_state *state = name ? strmap_get(&s->p->by_attribute, name) : NULL;
    if (!name) return false;
    return state ? signature_write(s, ep_modules_read(&s->p->modules, state), v)
                 : ep_bad(s->p, "'%.200s' is written, but it is not part of the state", name);
}

static bool signature_write_input(signature *s, const char *name, ir_value *v) {
    ep_program *p = s->p;
    if (!name) return false;
    for (size_t i = 0; i < p->inputs.len; i++)
        if (p->inputs.data[i].name && !p->inputs.data[i].constant &&
            !strcmp(p->inputs.data[i].name, name))
            return signature_write(s, p->inputs.data[i].ir, v);
    return ep_bad(p, "'%.200s' is written, but it is not an input", name);
}

static bool signature_add_result(signature *s, ir_value *v, const json_t *arg) {
    return (vec_push(&s->results, v) && vec_push(&s->result_args, arg)) || ep_no_memory(s->p);
}

static bool signature_output(signature *s, const char *kind, const json_t *spec,
                             const json_t *arg) {
    ep_program *p = s->p;
    if (!strcmp(kind, "token")) return true;
    ir_value *v = ep_argument(&s->sc, arg, NULL);
    if (!v) return false;
    if (!strcmp(kind, "buffer_mutation"))
        return signature_write_state(s, ep_text(p, spec, "buffer_name"), v);
    if (!strcmp(kind, "parameter_mutation"))
        return signature_write_state(s, ep_text(p, spec, "parameter_name"), v);
    if (!strcmp(kind, "user_input_mutation"))
        return signature_write_input(s, ep_text(p, spec, "user_input_name"), v);
    if (strcmp(kind, "user_output") && strcmp(kind, "loss_output"))
        return ep_unsupported(
            p, "outputs of kind '%.100s', of graphs of training, are not supported", kind);
    return signature_add_result(s, v, arg);
}

/* Schema 1: a table lists the outputs that are new values of buffers. */
static bool signature_old_output(signature *s, const json_t *arg) {
    const json_t *v;
    const char *kind = ep_union(s->p, arg, &v),
               *name = json_string_value(json_object_get(v, "name"));
    if (!kind) return false;
    const char *buffer = name ? json_string_value(json_object_get(
                                    json_object_get(s->old, "buffers_to_mutate"), name))
                              : NULL;
    ir_value *made = ep_argument(&s->sc, arg, NULL);
    if (!made) return false;
    return buffer ? signature_write_state(s, buffer, made) : signature_add_result(s, made, arg);
}

static bool signature_result(signature *s) {
    ep_program *p = s->p;
    const char *spec = json_string_value(json_object_get(s->call, "out_spec"));
    int n = (int)s->results.len, leaves = n;
    s->out = spec ? ep_tree_parse(p, spec, &leaves) : ep_tree_tuple(p, n, NULL);
    if (s->out && !spec && n == 1) s->out = s->out->items[0];
    if (!s->out) return false;
    if (leaves != n)
        return ep_bad(p, "the treespec of the result has %d leaves, the signature %d outputs",
                      leaves, n);
    type **types = arena_array(&p->scratch, type *, n ? n : 1);
    if (!types) return ep_no_memory(p);
    for (int i = 0; i < n; i++) types[i] = s->results.data[i]->type;
    ir_value *v = ep_tree_type(p, s->out, types) ? ep_tree_build(p, s->out, s->results.data) : NULL;
    if (!v) return false;
    block_add_return(p->g->root, v);
    return true;
}

static bool signature_outputs(signature *s) {
    ep_program *p = s->p;
    for (size_t i = 0; i < json_array_size(s->outputs); i++) {
        const json_t *spec = NULL, *arg = json_array_get(s->outputs, i);
        const char *kind = s->old ? "" : ep_union(p, json_array_get(s->out_specs, i), &spec);
        if (!kind ||
            !(s->old ? signature_old_output(s, arg) : signature_output(s, kind, spec, arg)))
            return false;
        if (ep_failed(p)) return ep_no_memory(p);
    }
    return signature_result(s);
}

/* ---- what is said of arguments and results --------------------------------------------------- */

static const port *signature_in_ports(signature *s) {
    ep_program *p = s->p;
    port *ports = arena_array(&p->unit->arena, port, (int)s->params.len + 1);
    for (size_t i = 0; ports && i < s->params.len; i++) {
        const ep_tree *t = s->params.data[i];
        const ep_input *in = t->kind == EP_LEAF ? &p->inputs.data[t->leaf] : NULL;
        ports[i] = (port){.name = s->names.data[i], .type = t->type, .dt = -1, .ndim = -1};
        if (in && !strcmp(in->kind, "as_tensor") && !ep_port(p, s->graph, in->name, &ports[i]))
            return NULL;
    }
    return ports ? ports : (ep_no_memory(p), NULL);
}

/* A name that none before has: "y", or "y_1", ... */
static const char *signature_own_name(signature *s, strmap *taken, const char *name) {
    ep_program *p = s->p;
    const char *own = intern(&p->unit->names, name);
    uintptr_t k = own ? (uintptr_t)strmap_get(taken, own) : 0;
    if (k) {
        const char *next = NULL;
        do next = arena_printf(&p->scratch, "%s_%zu", name, (size_t)k++);
        while (next && strmap_get(taken, next));
        if (!strmap_put(taken, own, (void *)k)) return NULL;
        own = next ? intern(&p->unit->names, next) : NULL;
    }
    return own && strmap_put(taken, own, (void *)1) ? own : NULL;
}

/* The leaves of a result. name: its key or field; NULL: none. */
static bool signature_out_leaves(signature *s, const ep_tree *t, const char *name, port *ports,
                                 strmap *taken) {
    ep_program *p = s->p;
    for (int i = 0; t->kind != EP_LEAF && i < t->n; i++) {
        const char *key = t->kind == EP_DICT && t->keys[i].tag == V_STR ? t->keys[i].u.str->bytes
                          : t->kind != EP_DICT && t->fields             ? t->fields[i]
                                                                        : NULL;
        if (!signature_out_leaves(s, t->items[i], key, ports, taken)) return false;
    }
    if (t->kind != EP_LEAF) return true;
    port *out = &ports[t->leaf];
    const json_t *v;
    const char *kind = ep_union(p, s->result_args.data[t->leaf], &v), *value = NULL;
    if (!kind) return false;
    if (!strcmp(kind, "as_tensor")) value = json_string_value(json_object_get(v, "name"));
    else if (!strncmp(kind, "as_sym_", 7)) value = json_string_value(json_object_get(v, "as_name"));
    *out = (port){.name = name ? name : value, .type = t->type, .dt = -1, .ndim = -1};
    if (value && t->type->kind == T_TENSOR && !ep_port(p, s->graph, value, out)) return false;
    out->name = out->name && *out->name ? signature_own_name(s, taken, out->name) : "";
    return out->name || ep_no_memory(p);
}

static const port *signature_out_ports(signature *s) {
    ep_program *p = s->p;
    port *ports = arena_array(&p->unit->arena, port, (int)s->results.len + 1);
    strmap taken = {0};
    bool ok = ports ? signature_out_leaves(s, s->out, NULL, ports, &taken) : ep_no_memory(p);
    strmap_free(&taken);
    return ok ? ports : NULL;
}

/* ---- the method ------------------------------------------------------------------------------ */

/* Arguments that can only be None and come last may be left out. */
static void signature_defaults(schema *sc) {
    for (int i = sc->nargs - 1; i > 0 && sc->args[i].type->kind == T_NONE; i--) {
        sc->args[i].has_default = true;
        sc->args[i].default_value = value_none();
        sc->args[i].default_text = "None";
    }
}

static bool signature_method(signature *s) {
    ep_program *p = s->p;
    const port *in = signature_in_ports(s), *out = in ? signature_out_ports(s) : NULL;
    if (!out) return false;
    function *f = ep_modules_forward(&p->modules, s->names.data);
    p->g = NULL;
    if (!f) return ep_no_memory(p);
    signature_defaults(f->schema);
    f->inputs = in;
    f->outputs = out;
    f->noutputs = (int)s->results.len;
    return true;
}

static bool signature_begin(ep_program *p, const json_t *graph) {
    ep_note_modules(p, graph, 0);
    if (!ep_modules_begin(&p->modules)) return ep_no_memory(p);
    p->g = p->modules.g;
    return !ep_failed(p) || ep_no_memory(p);
}

bool ep_import_program(ep_program *p) {
    signature s = {.p = p, .sc = {.p = p, .outermost = true}};
    bool ok = signature_find(&s) && signature_begin(p, s.graph) && signature_inputs(&s) &&
              signature_params(&s) && signature_take(&s) && ep_check_inputs(p, &s.sc) &&
              ep_nodes(&s.sc) && ep_views(p);
    p->target = NULL;
    if (ok) p->g->range = (source_range){0}, p->call = NULL;
    ok = ok && signature_outputs(&s) && !ep_failed(p);
    if (ok && graph_verify(p->d, p->g) == CTSC_OK &&
        (!p->unit->simplify || p->unit->simplify(p->g, p->d) == CTSC_OK))
        ok = signature_method(&s);
    strmap_free(&s.sc.names);
    strmap_free(&s.sc.read);
    vec_free(&s.names);
    vec_free(&s.params);
    vec_free(&s.results);
    vec_free(&s.result_args);
    return ok && !ep_failed(p);
}

ctsc_status ep_import(diag *d, unit *u, const char *record, const void *text, size_t len,
                      const ep_host *host, value *root) {
    ep_program p = {.d = d, .unit = u, .record = record, .host = host};
    p.modules = (ep_modules){
        .unit = u, .scratch = &p.scratch, .class_name = "Exported", .d = d, .record = record};
    object *o = NULL;
    bool ok = arena_init(&p.scratch) && (p.json = ep_parse(d, record, text, len)) &&
              ep_import_program(&p) && (o = ep_modules_object(&p.modules, &p.modules.root));
    if (!ok && d->status == CTSC_OK) diag_no_memory(d);
    if (ok) *root = value_object_take(o);
    ep_modules_end(&p.modules);
    for (size_t i = 0; i < p.held.len; i++) value_unref(p.held.data[i]);
    vec_free(&p.held);
    vec_free(&p.inputs);
    strmap_free(&p.states);
    strmap_free(&p.subclasses);
    strmap_free(&p.by_attribute);
    strmap_free(&p.modules.types);
    strmap_free(&p.symbols);
    strmap_free(&p.sources);
    json_decref(p.json);
    arena_free(&p.scratch);
    return d->status;
}

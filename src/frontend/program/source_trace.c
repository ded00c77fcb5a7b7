/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_trace.c - the entry of a program as a traced module: its forward is run by the evaluator
 * with example inputs, Python and all, and what it computes is recorded (py_trace.h).
 *
 * Method. The module's object and its classes are made as for compiling, but without methods
 * (program.tracing), so that the result has all parameters, buffers and submodules of the program's
 * module under their names. forward becomes one method of the root, with everything that Python
 * code calls inlined. What torch.jit.script was given, and modules of archives, keep their methods
 * and are called. The program is then run again, and the graph too, and the two are compared
 * (py_host.check_trace).
 *
 * Parts. What the file gives to torch.jit.trace can also be a part of a program that is compiled: a
 * module gets a class of its own whose forward is traced, a function a graph (source_traced_*).
 *
 * State. The program may write to its module's tensors. Buffers are copied before the first run,
 * since batch norm and scripted code write to them unseen, and parameters before the first operator
 * that writes to them. They are put back before each run and at the end, so the archive has them as
 * the program built them.
 * Ownership: inputs of each run are copies, held by the evaluator.
 * Tests: tests/cli/trace.test, tests/interop/traces.py
 */
#include "frontend/program/source.h"
#include "frontend/pyeval/torch/py_torch.h"
#include "frontend/pyeval/torch/py_trace.h"

/* then NULL: a parameter that nothing has written to */
typedef struct tracing_saved { tensor *now, *then; } tracing_saved;

typedef struct tracing {
    program *g;
    source_range r;
    py_object *entry;
    const source_options *o;
    object *root; /* borrowed */
    py_recorder recorder;
    VEC(tracing_saved) saved; /* references */
    source_kept kept;         /* the entry's attributes before the first run */
} tracing;

enum { TRACING_MAX_INPUTS = 256, TRACING_MAX_DEPTH = 200 };

/* ---- the module's state ---------------------------------------------------------------------- */

static bool tracing_write(void *ctx, const tensor *written) {
    tracing *t = ctx;
    for (size_t i = 0; i < t->saved.len; i++) {
        tracing_saved *s = &t->saved.data[i];
        if (!s->then && s->now->storage == written->storage &&
            tensor_clone(t->g->py.diag, s->now, &s->then) != CTSC_OK)
            return false;
    }
    return true;
}

static bool tracing_save(tracing *t, const object *o, int depth) {
    diag *d = t->g->py.diag;
    if (depth > TRACING_MAX_DEPTH)
        return diag_fail(d, CTSC_LIMIT, "modules nest too deeply"), false;
    for (size_t i = 0; i < o->nslots; i++) {
        value v = o->slots[i];
        if (v.tag == V_OBJECT && v.u.object->cls->cls->is_module &&
            !tracing_save(t, v.u.object, depth + 1))
            return false;
        if (v.tag != V_TENSOR) continue;
        tracing_saved s = {tensor_ref(v.u.tensor), NULL};
        if (!vec_push(&t->saved, s)) return tensor_unref(s.now), diag_no_memory(d), false;
        if (!o->cls->cls->attributes.data[i].is_parameter && !tracing_write(t, s.now)) return false;
    }
    return true;
}

static bool tracing_is_as_saved(const tracing_saved *s) {
    return tensor_is_contiguous(s->now) &&
           !memcmp(tensor_data(s->now), tensor_data(s->then),
                   (size_t)s->then->numel * dtype_size((dtype)s->then->dtype));
}

static bool tracing_restore(const tracing *t) {
    for (size_t i = 0; i < t->saved.len; i++) {
        const tracing_saved *s = &t->saved.data[i];
        if (s->then && !tracing_is_as_saved(s) &&
            tensor_copy(t->g->py.diag, s->now, s->then) != CTSC_OK)
            return false;
    }
    return true;
}

/* ---- inputs ---------------------------------------------------------------------------------- */

typedef struct tracing_call {
    int nargs, nkw;
    py_object *args[TRACING_MAX_INPUTS], *kwargs[TRACING_MAX_INPUTS];
    const char *names[TRACING_MAX_INPUTS];
} tracing_call;

/* What is called, and which of its parameters is the first for an input. */
static const func_def *tracing_def(const tracing *t, size_t *first) {
    const py_object *f = t->entry->kind == PY_FUNCTION
                             ? t->entry
                             : py_class_find(t->entry->u.inst.cls, "forward");
    *first = t->entry->kind != PY_FUNCTION;
    return f && f->kind == PY_FUNCTION ? f->u.fn->def : NULL;
}

static const char *tracing_input_name(const tracing *t, size_t i) {
    size_t first;
    const func_def *def = tracing_def(t, &first);
    const char *given = t->o->trace->names ? t->o->trace->names[i] : NULL;
    if (given) return given;
    const param *p = def && first + i < def->params.len ? &def->params.data[first + i] : NULL;
    for (size_t k = first; p && k <= first + i; k++)
        if (def->params.data[k].star || def->params.data[k].star_star) p = NULL;
    return p ? p->name : arena_printf(t->g->py.a, "input_%zu", i + 1);
}

static bool tracing_input_fits(const value v) {
    if (v.tag == V_TENSOR || v.tag == V_INT || v.tag == V_FLOAT) return true;
    bool ok = v.tag == V_LIST || v.tag == V_TUPLE || v.tag == V_DICT;
    for (size_t i = 0; v.tag == V_TUPLE && ok && i < v.u.tuple->len; i++)
        ok = tracing_input_fits(v.u.tuple->items[i]);
    for (size_t i = 0; v.tag == V_DICT && ok && i < v.u.dict->used; i++)
        ok = v.u.dict->entries[i].key.tag == V_UNINIT ||
             tracing_input_fits(v.u.dict->entries[i].val);
    return ok && (v.tag != V_LIST || v.u.list->kind == LIST_TENSOR);
}

/* Copies of the inputs, as arguments of the call and as inputs of the trace. */
static bool tracing_inputs(tracing *t, trace *into, tracing_call *c) {
    const source_trace_options *o = t->o->trace;
    diag *d = t->g->py.diag;
    if (o->n > TRACING_MAX_INPUTS)
        return diag_fail(d, CTSC_LIMIT, "a trace has more than %d inputs", TRACING_MAX_INPUTS),
               false;
    for (size_t i = 0; i < o->n; i++) {
        value copy = value_none();
        const char *name = tracing_input_name(t, i);
        if (!tracing_input_fits(o->inputs[i]))
            return diag_fail(d, CTSC_USAGE,
                             "input '%s': inputs of a trace are tensors, numbers, and tuples, "
                             "lists and dicts of tensors; leave others out, "
                             "so that they have their defaults",
                             name),
                   false;
        if (value_clone(d, o->inputs[i], &copy) != CTSC_OK) return false;
        bool tracked = copy.tag == V_INT || copy.tag == V_FLOAT;
        py_object *x = py_from_value(&t->g->py, value_ref(copy));
        ctsc_status s = x ? trace_input(into, d, name, (trace_operand){tracked ? x : NULL, copy})
                          : d->status;
        value_unref(copy);
        if (s != CTSC_OK) return false;
        bool named = o->names && o->names[i];
        if (named) c->names[c->nkw] = intern(t->g->py.names, name);
        if (named) c->kwargs[c->nkw++] = x;
        else c->args[c->nargs++] = x;
    }
    return true;
}

/* ---- the result ------------------------------------------------------------------------------ */

static ir_value *tracing_output(tracing *t, trace *into, py_object *o, int depth);

static ir_value *tracing_output_items(tracing *t, trace *into, size_t n, py_object **items,
                                      py_kind kind, int depth) {
    ir_value **in = arena_array(t->g->py.a, ir_value *, n + 1);
    type **types = arena_array(t->g->py.a, type *, n + 1);
    if (!in || !types) return diag_no_memory(t->g->py.diag), NULL;
    for (size_t i = 0; i < n; i++) {
        if (!(in[i] = tracing_output(t, into, items[i], depth + 1))) return NULL;
        types[i] = in[i]->type;
        bool value = kind == PY_TUPLE || (kind == PY_DICT && i % 2 == 0);
        if (!value && types[i] != types[kind == PY_DICT])
            return source_fail(t->g, t->r,
                               "the items of a %s at the output of a trace have several types",
                               kind == PY_DICT ? "dict" : "list");
    }
    graph *g = trace_target(into);
    node_kind made = kind == PY_TUPLE  ? N_TUPLE_CONSTRUCT
                     : kind == PY_LIST ? N_LIST_CONSTRUCT
                                       : N_DICT_CONSTRUCT;
    ir_value *out = graph_insert(g, node_new(g, made, (int)n, in, 1))->outputs.data[0];
    if (kind == PY_TUPLE) out->type = type_tuple((int)n, types);
    else if (kind == PY_LIST) out->type = type_list(n ? types[0] : TYPE_TENSOR);
    else out->type = type_dict(TYPE_STR, n ? types[1] : TYPE_TENSOR);
    return out;
}

static ir_value *tracing_output_dict(tracing *t, trace *into, const py_dict *d, int depth) {
    VEC(py_object *) items = {0};
    bool ok = true;
    for (size_t i = 0; i < d->entries.len && ok; i++) {
        if (!d->entries.data[i].key) continue;
        ok = vec_push(&items, d->entries.data[i].key) && vec_push(&items, d->entries.data[i].val);
        if (ok && !py_as_text(d->entries.data[i].key))
            ok = source_fail(t->g, t->r, "the keys of a dict at the output of a trace are strings");
    }
    ir_value *v = ok ? tracing_output_items(t, into, items.len, items.data, PY_DICT, depth) : NULL;
    vec_free(&items);
    return v;
}

static ir_value *tracing_output(tracing *t, trace *into, py_object *o, int depth) {
    py *p = &t->g->py;
    bool key = depth && o->kind == PY_VALUE && o->u.v.tag == V_STR;
    if (py_is_tensor(o) || key)
        return trace_value(into, p->diag, (trace_operand){NULL, o->u.v}, NULL, "the result");
    /* PyTorch refuses it */
    if (depth && py_is_none(o)) return graph_constant_none(trace_target(into));
    if (o->kind == PY_TUPLE || o->kind == PY_LIST)
        return tracing_output_items(t, into, o->u.seq.items.len, o->u.seq.items.data, o->kind,
                                    depth);
    if (o->kind == PY_DICT) return tracing_output_dict(t, into, o->u.dict, depth);
    return source_fail(t->g, t->r,
                       "Only tensors, lists, tuples of tensors, or dictionary of tensors can be "
                       "output from traced functions: the result has an object "
                       "of type '%s'",
                       py_type_name(o));
}

static py_object *tracing_plain(tracing *t, py_object *given, int depth);

static py_object *tracing_plain_dict(tracing *t, const py_dict *from, int depth) {
    py *p = &t->g->py;
    py_dict *to = py_dict_new(p);
    for (size_t i = 0; i < from->entries.len; i++) {
        if (!from->entries.data[i].key) continue;
        py_object *v = tracing_plain(t, from->entries.data[i].val, depth + 1);
        if (!v || !py_dict_set_key(p, to, from->entries.data[i].key, v)) return NULL;
    }
    py_object *o = py_new(p, PY_DICT);
    o->u.dict = to;
    return o;
}

/* The result without classes: objects derived from dict and list are such, named tuples are tuples.
 * Numbers that the trace follows are 0-dim tensors, as they are in PyTorch. */
static py_object *tracing_plain(tracing *t, py_object *given, int depth) {
    py *p = &t->g->py;
    py_object *o = py_derived_plain(p, t->r, given);
    if (!o) return NULL;
    if (depth > TRACING_MAX_DEPTH) return source_fail(t->g, t->r, "the result nests too deeply");
    if (o->kind == PY_DICT) return tracing_plain_dict(t, o->u.dict, depth);
    bool number = o->kind == PY_VALUE &&
                  trace_follows(t->recorder.t, (trace_operand){o, value_none()});
    if (number) return py_call_operator(p, t->r, "prim::NumToTensor", 1, &o, 0, NULL, NULL);
    if (o->kind != PY_TUPLE && o->kind != PY_LIST) return o;
    py_object *made = py_new(p, o->kind);
    for (size_t i = 0; i < o->u.seq.items.len; i++) {
        py_object *item = tracing_plain(t, o->u.seq.items.data[i], depth + 1);
        if (!item || !py_append(p, made, item)) return NULL;
    }
    return made;
}

/* ---- calls of what is scripted --------------------------------------------------------------- */

typedef struct tracing_scripted {
    function *f;
    ir_value *self; /* NULL: a function */
    size_t n;
    value *given;
    ir_value **in;
} tracing_scripted;

/* The function or method, compiled. */
static bool tracing_find(tracing *t, source_range r, py_object *fn, py_object *instance,
                         const char *name, tracing_scripted *c) {
    program *g = t->g;
    diag *d = g->py.diag;
    value self = value_none();
    bool tracing = g->tracing;
    g->tracing = false;
    if (fn) c->f = source_function(g, r, fn);
    else if (source_module_object(g, r, instance, &self))
        c->f = class_find_method(self.u.object->cls, name);
    if (!fn && !c->f && d->status == CTSC_OK)
        source_fail(g, r, "module '%s' has no method '%s'", instance->u.inst.cls->u.cls->name,
                    name);
    if (c->f && function_ensure_compiled(c->f, d) != CTSC_OK) c->f = NULL;
    g->tracing = tracing;
    if (c->f && !fn && (c->self = trace_object(t->recorder.t, d, self.u.object)))
        c->given[c->n++] = value_ref(self);
    value_unref(self);
    return c->f && (fn || c->self);
}

static py_object *tracing_argument(const schema *s, int i, int first, int nargs, py_object **args,
                                   int nkw, const char *const *names, py_object **kwargs) {
    if (i - first < nargs) return args[i - first];
    for (int k = 0; k < nkw; k++)
        if (!strcmp(names[k], s->args[i].name)) return kwargs[k];
    return NULL;
}

/* Arguments by the schema: their values, and what they are in the graph. */
static bool tracing_arguments(tracing *t, PY_ARGS, tracing_scripted *c) {
    const schema *s = c->f->schema;
    int first = (int)c->n, used = 0;
    (void)self;
    if (first) c->in[0] = c->self;
    for (int i = first; i < s->nargs; i++) {
        py_object *o = tracing_argument(s, i, first, nargs, args, nkw, names, kwargs);
        const argument *a = &s->args[i];
        used += o != NULL;
        if (!o && !a->has_default)
            return py_fail(p, r, "RuntimeError", "%s() is missing value for argument '%s'",
                           c->f->name, a->name),
                   false;
        if (!o) c->given[c->n] = value_ref(a->default_value);
        else if (!py_to_value(p, r, o, a->type, &c->given[c->n])) return false;
        value v = c->given[c->n++];
        c->in[i] = o ? py_trace_value(p, o, a->type, v)
                     : trace_value(t->recorder.t, p->diag, (trace_operand){NULL, v}, a->type,
                                   c->f->name);
        if (!c->in[i]) return false;
    }
    if (used != nargs + nkw)
        py_fail(p, r, "RuntimeError", "%s() got arguments that it does not have", c->f->name);
    return used == nargs + nkw;
}

static bool tracing_record_call(tracing *t, source_range r, const tracing_scripted *c,
                                py_object *result) {
    graph *g = trace_target(t->recorder.t);
    g->range = r;
    ir_value *fv = c->self ? NULL
                           : graph_constant_take(g, (value){.tag = V_FUNCTION, .u.function = c->f},
                                                 TYPE_FUNCTION);
    node *n = c->self ? node_new(g, N_CALL_METHOD, (int)c->n, c->in, 1)
                      : node_new(g, N_CALL_FUNCTION, fv ? 1 : 0, &fv, 1);
    for (size_t i = 0; !c->self && i < c->n; i++) node_add_input(n, c->in[i]);
    if (fv && fv->def) node_set_str(fv->def, "name", c->f->name);
    if (c->self) node_set_str(n, "name", c->f->name);
    n->outputs.data[0]->type = c->f->schema->returns[0].type;
    graph_insert(g, n);
    return py_trace_node(&t->g->py, c->f->name, n, result);
}

/* A call whose control flow stays: the callee runs as TorchScript. */
static py_object *tracing_script(void *ctx, source_range r, py_object *fn, py_object *instance,
                                 const char *name, int nargs, py_object **args, int nkw,
                                 const char *const *names, py_object **kwargs) {
    tracing *t = ctx;
    py *p = &t->g->py;
    tracing_scripted c = {.n = 0};
    value result = value_none();
    py_object *o = NULL;
    size_t room = (size_t)nargs + (size_t)nkw + TRACING_MAX_INPUTS;
    c.given = arena_array(p->a, value, room);
    c.in = arena_array(p->a, ir_value *, room);
    if (!c.given || !c.in) return diag_no_memory(p->diag), NULL;
    if (!p->host.call_method)
        return py_unsupported(p, r, "scripted code cannot be called while this program is traced");
    t->recorder.paused++; /* compiling evaluates, too */
    bool ok = tracing_find(t, r, fn, instance, name, &c);
    t->recorder.paused--;
    if (ok && c.f->schema->nargs > (int)room)
        ok = source_fail(t->g, r, "%s has too many parameters", c.f->name);
    ok = ok && tracing_arguments(t, p, r, NULL, nargs, args, nkw, names, kwargs, &c);
    if (ok && p->host.call_method(p->host.ctx, p->diag, c.f, c.n, c.given, &result) != CTSC_OK)
        ok = py_kernel_failed(p, r);
    if (ok && (o = py_from_value(p, result)) && !tracing_record_call(t, r, &c, o)) o = NULL;
    for (size_t i = 0; i < c.n; i++) value_unref(c.given[i]);
    return o;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* Runs the program while `into` records; what it returns. */
static py_object *tracing_call_entry(tracing *t, trace *into) {
    py *p = &t->g->py;
    tracing_call c = {0};
    if (!tracing_restore(t) || !tracing_inputs(t, into, &c)) return NULL;
    if (p->host.seed) p->host.seed(p->host.ctx, t->o->seed);
    t->recorder.t = into;
    p->recorder = &t->recorder;
    py_object *result = py_call(p, t->r, t->entry, c.nargs, c.args, c.nkw, c.names, c.kwargs);
    if (result) result = tracing_plain(t, result, 0);
    ir_value *v = result ? tracing_output(t, into, result, 0) : NULL;
    p->recorder = NULL;
    if (!v) return NULL;
    trace_bind_handle(into, result, v);
    return trace_return(into, p->diag, (trace_operand){result, value_none()}) == CTSC_OK ? result
                                                                                         : NULL;
}

/* One more run, which computes the same; its result in *out. */
static bool tracing_check_once(tracing *t, const trace *recorded, value *out) {
    py *p = &t->g->py;
    diag *d = p->diag;
    const source_trace_options *o = t->o->trace;
    trace *again = trace_new_in(t->g->unit, d, t->root, (trace_sink){0});
    if (!again) return false;
    trace_keep_results(again);
    t->recorder.quiet = true;
    py_object *result = tracing_call_entry(t, again);
    value args[TRACING_MAX_INPUTS + 1] = {value_object_take(t->root)};
    py_trace_check c = {.recorded = recorded,
                        .again = again,
                        .forward = class_find_method(t->root->cls, "forward"),
                        .args = args,
                        .n = o->n + 1,
                        .seed = t->o->seed,
                        .result = value_none()};
    bool ok = result && py_to_value(p, t->r, result, NULL, &c.result) && tracing_restore(t);
    size_t made = 0;
    while (ok && made < o->n && (ok = value_clone(d, o->inputs[made], &args[made + 1]) == CTSC_OK))
        made++;
    if (ok) ok = p->host.check_trace(p->host.ctx, d, &c) == CTSC_OK;
    while (made) value_unref(args[made--]);
    *out = c.result;
    trace_free(again);
    return ok;
}

/* A program that keeps what it has computed, a grid for its input's size, takes another path when
 * it runs again, to the same result. Then it runs once more as it did first. */
static bool tracing_check(tracing *t, const trace *recorded, value first) {
    py *p = &t->g->py;
    value second = value_none(), third = value_none();
    strbuf differs = STRBUF_INIT;
    diag why = {0}, *outer = diag_redirect(&p->diag, &why);
    bool ok = tracing_check_once(t, recorded, &second);
    diag_restore(&p->diag, outer);
    if (!ok && why.status == CTSC_FAILED && !why.exception && first.tag != V_NONE &&
        second.tag != V_NONE && value_close(second, first, 1e-5, 1e-6, &differs)) {
        ok = source_put_back(&t->kept, p) && tracing_check_once(t, recorded, &third);
        diag_clear(&why);
    } else if (!ok) {
        diag_append(p->diag, &why);
    }
    sb_free(&differs);
    value_unref(second);
    value_unref(third);
    return ok;
}

static bool tracing_run(tracing *t, value *root) {
    diag *d = t->g->py.diag;
    bool check = !t->o->trace->skip_check && t->g->py.host.check_trace;
    trace *recorded = trace_new_in(t->g->unit, d, t->root, (trace_sink){0});
    if (!recorded) return false;
    if (check) trace_keep_graph(recorded);
    value first = value_none();
    bool ok = (!check || source_keep(&t->kept, &t->g->py, t->entry)) && tracing_save(t, t->root, 0);
    py_object *result = ok ? tracing_call_entry(t, recorded) : NULL;
    ok = result && (!check || py_to_value(&t->g->py, t->r, result, NULL, &first));
    if (ok && class_find_method(t->root->cls, "forward"))
        ok = source_fail(
            t->g, t->r,
            "the module has an exported method that calls forward: it cannot be traced");
    ok = ok && trace_finish(recorded, d, root) == CTSC_OK;
    if (ok && check) ok = tracing_check(t, recorded, first);
    ok = ok && tracing_restore(t);
    value_unref(first);
    trace_free(recorded);
    return ok;
}

/* forward as a method of root's class. */
static bool tracing_all(program *g, source_range r, py_object *entry, const source_options *o,
                        object *root, value *traced) {
    tracing t = {.g = g, .r = r, .entry = entry, .o = o, .root = root};
    t.recorder = (py_recorder){.ctx = &t, .script = tracing_script, .write = tracing_write};
    g->py.host.skip_init = false; /* forward's random numbers are its own */
    bool ok = tracing_run(&t, traced);
    for (size_t i = 0; i < t.saved.len; i++) {
        tensor_unref(t.saved.data[i].now);
        if (t.saved.data[i].then) tensor_unref(t.saved.data[i].then);
    }
    vec_free(&t.saved);
    source_kept_free(&t.kept);
    strmap_free(&t.recorder.warned);
    return ok;
}

bool source_trace(program *g, source_range r, py_object *entry, const source_options *o,
                  source_result *out) {
    value root = value_none();
    g->tracing = true;
    bool ok = (entry->kind == PY_FUNCTION ? source_placeholder(g, &root)
                                          : source_module_object(g, r, entry, &root)) &&
              tracing_all(g, r, entry, o, root.u.object, &out->root) &&
              source_compile_all(g, g->py.diag) == CTSC_OK;
    value_unref(root);
    return ok;
}

/* ---- what the file gives to torch.jit.trace -------------------------------------------------- */

/* Its arguments: what jit_note_trace has noted. */
static bool tracing_noted(program *g, const py_object *note, source_trace_options *trace,
                          value **inputs) {
    py_object *const *row = note->u.seq.items.data;
    const py_dict *named = row[1]->kind == PY_DICT ? row[1]->u.dict : NULL;
    size_t n = row[0]->u.seq.items.len, room = n + (named ? named->entries.len : 0);
    const char **names = arena_array(g->py.a, const char *, room + 1);
    *inputs = arena_array(g->py.a, value, room + 1);
    bool check = true, ok = *inputs && names && py_truth(&g->py, (source_range){0}, row[2], &check);
    *trace = (source_trace_options){.inputs = *inputs, .names = names, .skip_check = !check};
    for (size_t i = 0; ok && i < room; i++) {
        const py_dict_entry *e = i < n ? NULL : &named->entries.data[i - n];
        if (e && !e->key) continue;
        names[trace->n] = e ? py_as_text(e->key) : NULL;
        ok = py_to_value(&g->py, (source_range){0}, e ? e->val : row[0]->u.seq.items.data[i], NULL,
                         &(*inputs)[trace->n]);
        trace->n += ok;
    }
    return ok;
}

static bool tracing_entry(program *g, source_range r, py_object *entry, const source_options *o,
                          source_result *out) {
    return (entry->kind == PY_FUNCTION || source_prepare(g, r, entry, o)) &&
           source_trace(g, r, entry, o, out);
}

bool source_trace_noted(program *g, py_object *entry, const py_object *note,
                        const source_options *o, source_result *out) {
    source_trace_options trace;
    source_options with = *o;
    value *inputs;
    source_range r = entry->kind == PY_FUNCTION ? entry->u.fn->def->range : (source_range){0};
    bool ok = tracing_noted(g, note, &trace, &inputs);
    with.trace = &trace;
    ok = ok && tracing_entry(g, r, entry, &with, out);
    while (trace.n) value_unref(inputs[--trace.n]);
    return ok;
}

bool source_trace_part(program *g, source_range r, py_object *part, const py_object *note,
                       object *root) {
    source_trace_options trace;
    source_options with = {.trace = &trace};
    value *inputs, traced = value_none();
    bool tracing = g->tracing, skip_init = g->py.host.skip_init;
    g->tracing = true;
    bool ok = tracing_noted(g, note, &trace, &inputs) &&
              tracing_all(g, r, part, &with, root, &traced);
    g->tracing = tracing;
    g->py.host.skip_init = skip_init;
    while (trace.n) value_unref(inputs[--trace.n]);
    value_unref(traced);
    return ok;
}

/* The method forward of a placeholder without its self. */
static bool tracing_as_function(program *g, const function *m, function *f) {
    unit *u = g->unit;
    graph *copy = graph_clone(m->graph);
    if (!copy) return diag_no_memory(g->py.diag), false;
    f->graph = copy;
    block_remove_param(copy->root, 0);
    schema *sc = f->schema = arena_new(&u->arena, schema);
    argument *args = arena_array(&u->arena, argument, m->schema->nargs);
    if (!sc || !args) return diag_no_memory(g->py.diag), false;
    *sc = *m->schema;
    sc->name = f->name;
    sc->nargs--;
    sc->args = args;
    for (int i = 0; i < sc->nargs; i++) args[i] = m->schema->args[i + 1];
    f->return_declared = true;
    f->range = m->range;
    f->state = FUNCTION_READY;
    return !arena_failed(&u->arena) || (diag_no_memory(g->py.diag), false);
}

function *source_traced_function(program *g, source_range r, py_object *fn, const py_object *note,
                                 const char *name) {
    unit *u = g->unit;
    /* a class of no other use: nothing refers to it in the end */
    type *t = type_class_new(u, T_CLASS, arena_printf(&u->arena, "%s.__traced__", name));
    t->cls->is_module = true;
    object *o = object_new(t, 0);
    if (!o) return diag_no_memory(g->py.diag), NULL;
    function *m = source_trace_part(g, r, fn, note, o) ? class_find_method(t, "forward") : NULL;
    value_unref(value_object_take(o));
    if (!m) return NULL;
    if (m->graph->root->params.data[0]->uses.len)
        return source_fail(g, r, "'%s' was traced with a module as its argument",
                           fn->u.fn->def->name),
               NULL;
    function *f = unit_add_function(u, name, NULL);
    if (!f) return diag_no_memory(g->py.diag), NULL;
    return tracing_as_function(g, m, f) ? f : NULL;
}

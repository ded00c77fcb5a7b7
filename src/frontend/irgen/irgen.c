/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irgen.c - functions and variables: the outer part of AST -> graph.
 *
 * Tests: tests/corpus
 */
#include "frontend/irgen/irgen.h"
#include "frontend/codeload/upgraders.h"

static ir_value *irgen_captured(emitter *e, const char *name, ir_value *outer);

bool irgen_failed(const emitter *e) {
    return e->diag->status != CTSC_OK || arena_failed(e->scratch) || arena_failed(&e->g->arena) ||
           arena_failed(&e->unit->arena);
}

ir_value *irgen_fail(emitter *e, source_range r, const char *fmt, ...) {
    if (e->diag->status == CTSC_OK && irgen_failed(e)) {
        diag_no_memory(e->diag); /* what looks wrong may only be garbage */
    } else if (e->diag->status == CTSC_OK) {
        va_list ap;
        va_start(ap, fmt);
        diag_fail_v(e->diag, CTSC_FAILED, r, fmt, ap);
        va_end(ap);
    }
    return NULL;
}

/* ---- variables ------------------------------------------------------------------------------- */

frame *irgen_push_frame(emitter *e, block *b) {
    frame *f = arena_new(e->scratch, frame);
    f->blk = b;
    f->names = e->env ? e->env->names : 0;
    f->next = e->env;
    e->env = f;
    return f;
}

void irgen_pop_frame(emitter *e) {
    strmap_free(&e->env->vars);
    e->env = e->env->next;
}

static variable *irgen_find_from(const frame *f, const char *name) {
    for (; f; f = f->next) {
        variable *v = strmap_get(&f->vars, name);
        if (v) return v;
    }
    return NULL;
}

/* The frames of the function that e's was defined in, without comprehensions around the call. */
static frame *irgen_home_frames(const emitter *e) {
    frame *f = e->home->env;
    while (f && f->names > e->home_names) f = f->next;
    return f;
}

static variable *irgen_find_in(const emitter *e, const frame *f, const char *name) {
    variable *v = irgen_find_from(f, name);
    return v || !e->home ? v : irgen_find_in(e->home, irgen_home_frames(e), name);
}

variable *irgen_find_variable(const emitter *e, const char *name) {
    return irgen_find_in(e, e->env, name);
}

const emitter *irgen_variable_home(const emitter *e, const char *name) {
    const frame *f = e->env;
    while (e->home && !irgen_find_from(f, name)) {
        f = irgen_home_frames(e);
        e = e->home;
    }
    return e;
}

static bool irgen_put_variable(emitter *e, const char *name, variable v) {
    variable *p = arena_new(e->scratch, variable);
    *p = v;
    if (!strmap_put(&e->env->vars, name, p)) {
        diag_no_memory(e->diag);
        return false;
    }
    return true;
}

/* The variable that an inner block's assignment to `name` is to go on with. A comprehension's
 * names are its own. */
static variable *irgen_find_outer(const emitter *e, const char *name) {
    int names = e->env->names;
    for (const frame *f = e->env->next; f && f->names == names; f = f->next) {
        variable *v = strmap_get(&f->vars, name);
        if (v) return v;
    }
    return NULL;
}

static void irgen_type_clash(emitter *e, source_range r, const char *name, const variable *was,
                             type *is) {
    strbuf a = STRBUF_INIT, b = STRBUF_INIT;
    type_print_python(was->type, &a);
    type_print_python(is, &b);
    bool fresh = e->diag->status == CTSC_OK;
    irgen_fail(
        e, r,
        "Variable '%s' previously had type %s but is now being assigned to a value of type %s%s",
        name, sb_str(&a), sb_str(&b),
        was->type->kind == T_LIST && is->kind == T_LIST
            ? "\nEmpty lists default to List[Tensor]. Add a variable annotation to the assignment "
              "to "
              "create an empty list of another type (torch.jit.annotate(List[T, []]) where T is "
              "the "
              "type of elements in the list for Python 2)"
            : "");
    if (fresh && was->where.src)
        diag_note(e->diag, was->where, "'%s' was assigned a value of type %s here", name,
                  sb_str(&a));
    sb_free(&a);
    sb_free(&b);
}

/* _3 and the like come from the printer of archives: they name nothing. */
static bool irgen_meaningful_name(const char *name) {
    if (strchr(name, '$')) return false; /* nor the subject of a match */
    if (name[0] != '_') return name[0] != '\0';
    for (const char *p = name + 1; *p; p++)
        if (*p < '0' || *p > '9') return true;
    return false;
}

static bool irgen_store(emitter *e, source_range r, const char *name, ir_value *v, type *t) {
    const char *slot = name;
    const variable *known = strmap_get(&e->env->vars, name);
    const variable *outer = known ? known : irgen_find_outer(e, name);
    if (outer && outer->slot) slot = outer->slot;
    else if (e->env->names) slot = arena_printf(e->scratch, "%s$%d", name, e->env->names);
    node *st = node_new(e->g, N_STORE, 1, &v, 0);
    node_set_str(st, "name", slot);
    graph_insert(e->g, st);
    return irgen_put_variable(e, name, (variable){.type = t, .slot = slot, .where = r});
}

/* Beyond PyTorch: x = None ... if c: x = tensor. After the If, x is an
 * Optional; a value carried by a loop has one type, and stays None. */
static bool irgen_none_so_far(const emitter *e, const variable *v) {
    if (!e->lenient || v->type->kind != T_NONE) return false;
    for (const frame *f = e->env; f && f->names == e->env->names; f = f->next) {
        if (strmap_get(&f->vars, v->slot) == v) return true;
        if (f->blk->parent && f->blk->parent->kind == N_LOOP) return false;
    }
    return false;
}

bool irgen_set_value(emitter *e, source_range r, const char *name, ir_value *v) {
    block *home = v->def ? v->def->owner : v->owner;
    if (!value_has_name(v) && irgen_meaningful_name(name) && home == e->env->blk)
        value_set_name(v, name);
    const variable *outer = irgen_find_outer(e, name);
    if (outer && outer->type && !type_is_subtype(v->type, outer->type) &&
        !irgen_none_so_far(e, outer)) {
        type *is = v->type;
        v = match_convert(e, r, outer->type, v, true);
        if (!v) return false;
        if (!type_is_subtype(v->type, outer->type)) {
            irgen_type_clash(e, r, name, outer, is);
            return false;
        }
    }
    return irgen_store(e, r, name, v, v->type);
}

/* x: T = value */
static bool irgen_set_annotated(emitter *e, source_range r, const char *name, ir_value *v,
                                type *t) {
    const variable *outer = irgen_find_outer(e, name);
    if (outer && outer->type) {
        bool fresh = e->diag->status == CTSC_OK;
        irgen_fail(e, r,
                   "Attempting to declare and annotate the type of variable '%s' but it is already "
                   "defined in "
                   "an outer block",
                   name);
        if (fresh && outer->where.src)
            diag_note(e->diag, outer->where, "'%s' is defined here", name);
        return false;
    }
    v = match_convert(e, r, t, v, true);
    if (!v) return false;
    if (!type_is_subtype(v->type, t)) {
        strbuf a = STRBUF_INIT, b = STRBUF_INIT;
        type_print_python(t, &a);
        type_print_python(v->type, &b);
        irgen_fail(
            e, r,
            "Variable '%s' is annotated with type %s but is being assigned to a value of type %s",
            name, sb_str(&a), sb_str(&b));
        sb_free(&a);
        sb_free(&b);
        return false;
    }
    if (!irgen_set_value(e, r, name, v)) return false;
    ((variable *)strmap_get(&e->env->vars, name))->type = t;
    return true;
}

bool irgen_set_sugar(emitter *e, source_range r, const char *name, sugar *s, type *annotated) {
    if (s->kind == SUGAR_VALUE || annotated) {
        ir_value *v = irgen_as_value(e, r, s);
        if (!v) return false;
        return annotated ? irgen_set_annotated(e, r, name, v, annotated)
                         : irgen_set_value(e, r, name, v);
    }
    const variable *outer = irgen_find_outer(e, name);
    if (outer && !outer->error) {
        /* a function may be a value, too */
        ir_value *v = outer->type ? irgen_as_value(e, r, s) : NULL;
        if (v) return irgen_set_value(e, r, name, v);
        irgen_fail(e, r,
                   "Cannot re-assign '%s' because it is not a first-class value. Only "
                   "reassignments to first-class "
                   "values are allowed",
                   name);
        return false;
    }
    return irgen_put_variable(e, name, (variable){.sugar = s, .where = r});
}

static void irgen_undefined_here(emitter *e, source_range r, const variable *v) {
    bool fresh = e->diag->status == CTSC_OK;
    irgen_fail(e, r, "%s", v->error);
    for (size_t i = 0; fresh && i < sizeof v->notes / sizeof *v->notes; i++)
        if (v->notes[i].text) diag_note(e->diag, v->notes[i].range, "%s", v->notes[i].text);
}

/* A variable of the function around. */
static sugar *irgen_get_free(emitter *e, source_range r, const char *name) {
    emitter *home = e->home;
    frame *env = home->env;
    diag *outer = diag_redirect(&home->diag, e->diag);
    home->env = irgen_home_frames(e);
    sugar *s = irgen_get_variable(home, r, name);
    home->env = env;
    diag_restore(&home->diag, outer);
    return s ? irgen_import(e, r, s) : NULL;
}

bool irgen_bind(emitter *e, source_range r, const char *name, sugar *s) {
    return irgen_put_variable(e, name, (variable){.sugar = s, .where = r});
}

sugar *irgen_get_variable(emitter *e, source_range r, const char *name) {
    variable *v = irgen_find_from(e->env, name);
    if (!v && e->home) return irgen_get_free(e, r, name);
    if (!v && e->outer) { /* a closure's body: capture */
        sugar *s = irgen_get_variable(e->outer, r, name);
        if (!s || s->kind != SUGAR_VALUE) return s;
        return sugar_of_value(e, irgen_captured(e, name, s->value));
    }
    if (!v) return NULL;
    if (v->sugar) return v->sugar;
    if (v->error) {
        irgen_undefined_here(e, r, v);
        return NULL;
    }
    node *ld = node_new(e->g, N_LOAD, 0, NULL, 1);
    node_set_str(ld, "name", v->slot ? v->slot : name);
    ld->outputs.data[0]->type = v->type;
    graph_insert(e->g, ld);
    /* the Load goes again; its name makes older values of the variable x.1, x.2,
     * ... as in PyTorch */
    if (irgen_meaningful_name(name)) value_set_name(ld->outputs.data[0], name);
    return sugar_of_value(e, ld->outputs.data[0]);
}

/* ---- functions ------------------------------------------------------------------------------- */

static bool irgen_is_star(const param *p) { return p->star || p->star_star; }

/* *args and **kwargs are not arguments of the schema. Beyond PyTorch they are what a call gives
 * that has only the others: nothing. */
static bool irgen_stars(emitter *e, const func_def *def) {
    for (size_t i = 0; i < def->params.len; i++) {
        const param *p = &def->params.data[i];
        if (!irgen_is_star(p)) continue;
        if (!e->lenient)
            return irgen_fail(e, p->range,
                              "Compiled functions can't take variable number of arguments or use "
                              "keyword-only arguments with defaults"),
                   false;
        if (!irgen_put_variable(e, p->name, (variable){.sugar = irgen_new_sequence(e, 0)}))
            return false;
    }
    return true;
}

static bool irgen_parameters(emitter *e, const func_def *def, const schema *sc) {
    const param *from = def->params.data;
    for (int i = 0; i < sc->nargs; i++, from++) {
        while (irgen_is_star(from)) from++;
        ir_value *p = block_add_param(e->g->root, sc->args[i].type);
        if (arena_failed(&e->g->arena)) return diag_no_memory(e->diag), false;
        value_set_name(p, sc->args[i].name);
        if (i == 0 && e->scope && e->fn && e->fn->cls && e->fn->cls->cls->is_module) {
            /* never stored: a module is not a value that could be assigned anew, and
             * so keeps its name */
            if (!irgen_put_variable(e, sc->args[i].name, (variable){.sugar = sugar_of_value(e, p)}))
                return false;
            continue;
        }
        if (!irgen_set_value(e, from->range, sc->args[i].name, p)) return false;
    }
    return irgen_stars(e, def);
}

/* The end of the body, and a return value of the right type until exits.c puts the
 * real one in place. */
static bool irgen_finish_return(emitter *e, const func_def *def) {
    if (!e->returned) {
        if (e->return_type && e->return_type->kind != T_NONE) {
            irgen_fail(e, def->name_range,
                       "Function was not annotated as having type None, but does not return along "
                       "all paths");
            if (e->scope && def->returns && def->returns->range.src)
                diag_note(e->diag, def->returns->range,
                          "the result's type is declared here, and the end of the body has none");
            return false;
        }
        type *u = e->merged_return ? type_unify(e->merged_return, TYPE_NONE, false) : TYPE_NONE;
        if (!u) {
            strbuf sb = STRBUF_INIT;
            bool fresh = e->diag->status == CTSC_OK;
            type_print_python(e->merged_return, &sb);
            irgen_fail(
                e, def->name_range,
                "Previous return statement returned a value of type %s but this return statement "
                "returns a value of type NoneType",
                sb_str(&sb));
            if (fresh)
                diag_note(e->diag, e->first_return, "a value of type %s is returned here",
                          sb_str(&sb));
            sb_free(&sb);
            return false;
        }
        e->merged_return = u;
        ir_value *none = graph_constant_none(e->g);
        graph_insert(e->g, node_new(e->g, N_RETURN, 1, &none, 0));
    }
    if (!e->merged_return)
        e->merged_return = e->return_type ? e->return_type : TYPE_NONE; /* it always raises */
    node *n = node_new(e->g, N_UNINITIALIZED, 0, NULL, 1);
    n->outputs.data[0]->type = e->merged_return;
    block_prepend(e->g->root, n);
    block_add_return(e->g->root, n->outputs.data[0]);
    return true;
}

/* Nodes that PyTorch makes without a place of their own. */
static bool irgen_has_no_place(const node *n) {
    switch (n->kind) {
    case N_LIST_CONSTRUCT:
    case N_LIST_UNPACK:
    case N_TUPLE_CONSTRUCT:
    case N_TUPLE_UNPACK:
    case N_TUPLE_INDEX:
    case N_TUPLE_SLICE:
    case N_DICT_CONSTRUCT:
    case N_GET_ATTR:
    case N_SET_ATTR:
    case N_UNCHECKED_CAST:
    case N_UNINITIALIZED:
    case N_ISINSTANCE:
    case N_ENTER:
    case N_EXIT:
    case N_CONTAINER_INDEX: return true;
    case N_CONSTANT: return n->outputs.len && n->outputs.data[0]->type->kind == T_NONE;
    case N_OP:
        return node_is_op(n, SYM_PRIM_DTYPE) || node_is_op(n, SYM_PRIM_DEVICE) ||
               node_is_op(n, SYM_PRIM_TYPE) || node_is_op(n, SYM_PRIM_ENUMNAME) ||
               node_is_op(n, SYM_PRIM_ENUMVALUE);
    default: return false;
    }
}

static void irgen_hide_ranges(block *b) {
    for (node *n = b->first; n; n = n->next) {
        n->range_hidden = irgen_has_no_place(n);
        for (size_t i = 0; i < n->blocks.len; i++) irgen_hide_ranges(n->blocks.data[i]);
    }
}

static ctsc_status irgen_finish_body(emitter *e, bool ok) {
    while (e->env) irgen_pop_frame(e);
    irgen_report(e);
    if (e->diag->status != CTSC_OK) return e->diag->status;
    if (!ok || irgen_failed(e)) return diag_no_memory(e->diag);
    ctsc_status s = ssa_convert(e->g, e->diag);
    if (s == CTSC_OK) s = exits_transform(e->g, e->diag);
    if (s == CTSC_OK) irgen_hide_ranges(e->g->root);
    return s;
}

/* Decorated by a context, it is as if its statements were in a with statement. */
static bool irgen_decorated_statements(emitter *e, const func_def *def) {
    ir_value *context = NULL;
    if (e->scope && !e->scope->ops->within(e, def->name_range, &context)) return false;
    if (!context) return irgen_statements(e, &def->body);
    graph_insert(e->g, node_new(e->g, N_ENTER, 1, &context, 1))->outputs.data[0]->type =
        context->type;
    if (!irgen_statements(e, &def->body)) return false;
    graph_insert(e->g, node_new(e->g, N_EXIT, 1, &context, 1));
    return true;
}

static ctsc_status irgen_body(emitter *e, const func_def *def, const schema *sc) {
    irgen_push_frame(e, e->g->root);
    bool ok = irgen_parameters(e, def, sc) && irgen_decorated_statements(e, def) &&
              irgen_finish_return(e, def);
    return irgen_finish_body(e, ok);
}

ctsc_status irgen_inlined_body(emitter *e, const func_def *def, bool (*bind)(emitter *e, void *ctx),
                               void *ctx) {
    irgen_push_frame(e, e->g->root);
    bool ok = bind(e, ctx) && irgen_statements(e, &def->body) && irgen_finish_return(e, def);
    return irgen_finish_body(e, ok);
}

static ctsc_status irgen_attempt(function *f, diag *d, bool lenient, bool *int_for_float) {
    const func_def *def = f->def;
    arena scratch;
    graph *g = graph_new();
    if (!arena_init(&scratch) || !g) {
        arena_free(&scratch);
        if (g) graph_free(g);
        return diag_no_memory(d);
    }
    emitter e = {.unit = f->unit,
                 .fn = f,
                 .g = g,
                 .diag = d,
                 .scratch = &scratch,
                 .scope = f->scope,
                 .lenient = lenient};
    if (f->return_declared) e.return_type = f->schema->returns[0].type;
    g->range = def->name_range;
    diag **evaluator = e.scope ? e.scope->ops->diag(e.scope) : &e.diag,
         *outer = diag_redirect(evaluator, d);
    ctsc_status s = irgen_body(&e, def, f->schema);
    diag_restore(evaluator, outer);
    if (int_for_float) *int_for_float = e.int_for_float;
    if (s == CTSC_OK && !f->return_declared) f->schema->returns[0].type = e.merged_return;
    arena_free(&scratch);
    if (s == CTSC_OK && f->unit->simplify) s = f->unit->simplify(g, d);
    if (s != CTSC_OK) {
        graph_free(g);
        return s;
    }
    f->graph = g;
    return CTSC_OK;
}

/* A function of a source program that PyTorch's front end would refuse is tried again with all that
 * goes beyond it. What that front end takes is compiled as it does; of what neither takes, the
 * first attempt's errors are reported, unless that stumbled over an int where a float is wanted
 * and the second went on to what is really wrong. */
ctsc_status irgen_function(function *f, diag *d) {
    const func_def *def = f->def;
    bool int_for_float = false;
    if (!f->scope) return irgen_attempt(f, d, false, NULL);
    diag first = {0}, second = {0};
    ctsc_status s = irgen_attempt(f, &first, false, &int_for_float);
    bool again = s == CTSC_FAILED && irgen_attempt(f, &second, true, NULL) == CTSC_OK;
    if (again) s = CTSC_OK;
    bool further = int_for_float && diag_got_further(&second, &first, def->range);
    if (s != CTSC_OK) diag_append(d, further ? &second : &first);
    diag_clear(&first);
    diag_clear(&second);
    return s;
}

/* ---- closures -------------------------------------------------------------------------------- */

static ir_value *irgen_captured(emitter *e, const char *name, ir_value *outer) {
    ir_value *p = block_add_param(e->g->root, outer->type);
    if (irgen_meaningful_name(name)) value_set_name(p, name);
    node_add_input(e->capture, outer);
    /* known from now on in the whole body: entered in the root frame, stored at its start */
    frame *root = e->env;
    while (root->next) root = root->next;
    variable *v = arena_new(e->scratch, variable);
    *v = (variable){.type = outer->type, .slot = name};
    if (!strmap_put(&root->vars, name, v)) diag_no_memory(e->diag);
    node *st = node_new(e->g, N_STORE, 1, &p, 0);
    node_set_str(st, "name", name);
    block_prepend(e->g->root, st);
    node *ld = node_new(e->g, N_LOAD, 0, NULL, 1);
    node_set_str(ld, "name", name);
    ld->outputs.data[0]->type = outer->type;
    graph_insert(e->g, ld);
    return ld->outputs.data[0];
}

ir_value *irgen_fork(emitter *e, const func_def *def, source_range r) {
    graph *g = graph_new();
    if (!g) return diag_no_memory(e->diag), NULL;
    node *fork = node_new(e->g, N_FORK, 0, NULL, 1);
    schema none = {.name = def->name, .overload = ""};
    emitter inner = {.unit = e->unit,
                     .g = g,
                     .diag = e->diag,
                     .scratch = e->scratch,
                     .scope = e->scope,
                     .outer = e,
                     .capture = fork,
                     .depth = e->depth,
                     .lenient = e->lenient};
    g->range = r;
    if (irgen_body(&inner, def, &none) != CTSC_OK ||
        (e->unit->simplify && e->unit->simplify(g, e->diag) != CTSC_OK)) {
        graph_free(g);
        return NULL;
    }
    graph_insert(e->g, fork);
    fork->range = r;
    fork->outputs.data[0]->type = type_future(inner.merged_return);
    node_set_graph(fork, "Subgraph", g); /* owns g now; frees it without memory */
    return fork->outputs.data[0];
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match.c - overload resolution: does a list of arguments fit a schema, and with which conversions.
 *
 * Method. Matching is tried on types alone first, so that a schema that does not fit leaves nothing
 * behind in the graph; only the one that fits emits its conversions. The conversions are
 * PyTorch's: a 0-dim tensor or a number for an int or float, one int for int[N], a tuple for a list, a string for a
 * device, T for Optional[T], and trailing arguments collected into a last list argument.
 * Tests: tests/corpus
 */
#include "frontend/emit.h"

enum { MATCH_MAX_ARGS = 512, MATCH_MAX_VARS = 8 };

typedef struct match_vars { int n; const char *names[MATCH_MAX_VARS]; type *types[MATCH_MAX_VARS]; } match_vars;

bool match_is_empty_list(const ir_value *v) {
    return v->def && v->def->kind == N_LIST_CONSTRUCT && v->def->inputs.len == 0;
}

/* ---- type variables ------------------------------------------------------------------------------- */

static bool match_bind(match_vars *vars, const type *formal, type *actual) {
    if (!formal->has_var) return true;
    switch (formal->kind) {
    case T_VAR:
        for (int i = 0; i < vars->n; i++)
            if (!strcmp(vars->names[i], formal->name)) {
                type *u = type_unify(vars->types[i], actual, false);
                if (!u) return false;
                vars->types[i] = u;
                return true;
            }
        if (vars->n == MATCH_MAX_VARS) return false;
        vars->names[vars->n] = formal->name;
        vars->types[vars->n++] = actual;
        return true;
    case T_LIST:
        if (actual->kind == T_LIST) return match_bind(vars, type_elem(formal), type_elem(actual));
        if (actual->kind == T_TUPLE && actual->nelems) {
            type *u = actual->elems[0];
            for (int i = 1; u && i < actual->nelems; i++) u = type_unify(u, actual->elems[i], false);
            return u && match_bind(vars, type_elem(formal), u);
        }
        return false;
    case T_OPTIONAL:
        if (actual->kind == T_NONE) return true;
        if (actual->kind == T_OPTIONAL) actual = type_elem(actual);
        return match_bind(vars, type_elem(formal), actual);
    case T_FUTURE:
    case T_RREF:
        return actual->kind == formal->kind && match_bind(vars, type_elem(formal), type_elem(actual));
    case T_DICT:
        return actual->kind == T_DICT && match_bind(vars, formal->elems[0], actual->elems[0]) &&
               match_bind(vars, formal->elems[1], actual->elems[1]);
    case T_TUPLE:
        if (actual->kind != T_TUPLE || actual->nelems != formal->nelems) return false;
        for (int i = 0; i < formal->nelems; i++)
            if (!match_bind(vars, formal->elems[i], actual->elems[i])) return false;
        return true;
    default: return false;
    }
}

/* formal with its variables replaced; NULL if one is unbound. */
static type *match_substitute(const match_vars *vars, type *formal) {
    if (!formal->has_var) return formal;
    type *elems[64];
    if (formal->kind == T_VAR) {
        for (int i = 0; i < vars->n; i++)
            if (!strcmp(vars->names[i], formal->name)) return vars->types[i];
        return NULL;
    }
    if (formal->nelems > 64) return NULL;
    for (int i = 0; i < formal->nelems; i++)
        if (!(elems[i] = match_substitute(vars, formal->elems[i]))) return NULL;
    switch (formal->kind) {
    case T_LIST: return type_list(elems[0]);
    case T_OPTIONAL: return type_optional(elems[0]);
    case T_FUTURE: return type_future(elems[0]);
    case T_RREF: return type_rref(elems[0]);
    case T_DICT: return type_dict(elems[0], elems[1]);
    case T_TUPLE: return type_tuple(formal->nelems, elems);
    default: return NULL;
    }
}

/* ---- conversions --------------------------------------------------------------------------------------- */

/* The operator that turns a value of type `from` into `to` implicitly; NULL: none. */
static const char *match_implicit(const type *to, const type *from) {
    bool tensor = from->kind == T_TENSOR, number = from->kind == T_NUMBER;
    switch (to->kind) {
    case T_FLOAT: return tensor ? "aten::FloatImplicit" : number ? "aten::Float" : NULL;
    case T_INT: return tensor ? "aten::IntImplicit" : number ? "aten::Int" : NULL;
    case T_COMPLEX: return tensor ? "aten::ComplexImplicit" : number ? "aten::Complex" : NULL;
    case T_NUMBER: return tensor ? "aten::ScalarImplicit" : NULL;
    case T_DEVICE: return from->kind == T_STR ? "aten::device" : NULL;
    default: return NULL;
    }
}

static bool match_tuple_as_list(const type *to, const type *from) {
    if (to->kind == T_OPTIONAL) to = type_elem(to);
    if (to->kind != T_LIST || from->kind != T_TUPLE) return false;
    for (int i = 0; i < from->nelems; i++)
        if (!type_is_subtype(from->elems[i], type_elem(to))) return false;
    return true;
}

/* Type of v after the conversions towards `to`; emits them when `emit`. */
static type *match_converted_type(type *to, const ir_value *v, bool convert) {
    type *from = v->type;
    if (to->kind == T_OPTIONAL && from->kind != T_OPTIONAL && from->kind != T_NONE)
        return match_converted_type(type_elem(to), v, convert);
    if (to->kind == T_LIST && from->kind == T_LIST && from != to && match_is_empty_list(v)) return to;
    if (match_tuple_as_list(to, from)) return to;
    if (to->kind == T_TUPLE && from->kind == T_TUPLE && from->nelems == to->nelems && convert &&
        v->def && v->def->kind == N_TUPLE_CONSTRUCT) {
        for (int i = 0; i < to->nelems; i++)
            if (!type_is_subtype(match_converted_type(to->elems[i], v->def->inputs.data[i], convert), to->elems[i]))
                return from;
        return to;
    }
    if (convert && match_implicit(to, from)) return to;
    return from;
}

ir_value *match_convert(emitter *e, source_range r, type *to, ir_value *v, bool convert) {
    type *from = v->type;
    if (to->kind == T_OPTIONAL && from->kind != T_OPTIONAL && from->kind != T_NONE)
        return match_convert(e, r, type_elem(to), v, convert);
    if (type_is_subtype(from, to)) return v;
    if (to->kind == T_LIST && from->kind == T_LIST && match_is_empty_list(v))
        return emit_list(e, r, type_elem(to), 0, NULL);
    if (match_tuple_as_list(to, from)) {
        ir_value **parts = NULL;
        int n = 0;
        if (!emit_unpack(e, r, v, 0, &parts, &n)) return NULL;
        return emit_list(e, r, type_elem(to), n, parts);
    }
    if (to->kind == T_TUPLE && from->kind == T_TUPLE && match_converted_type(to, v, convert) == to) {
        ir_value **parts = arena_array(e->scratch, ir_value *, to->nelems + 1);
        if (!parts) return diag_no_memory(e->diag), NULL;
        for (int i = 0; i < to->nelems; i++)
            if (!(parts[i] = match_convert(e, r, to->elems[i], v->def->inputs.data[i], convert))) return NULL;
        return emit_tuple(e, r, to, to->nelems, parts);
    }
    const char *op = convert ? match_implicit(to, from) : NULL;
    return op ? emit_builtin_values(e, r, op, 1, &v) : v;
}

/* ---- one argument ----------------------------------------------------------------------------------------- */

static bool match_broadcasts(const argument *arg, const type *from) {
    const type *to = arg->type;
    if (to->kind == T_OPTIONAL) to = type_elem(to);
    return arg->fixed_size && to->kind == T_LIST && type_elem(to) == from &&
           (from->kind == T_INT || from->kind == T_FLOAT);
}

static void match_complain(strbuf *why, const argument *arg, const type *got) {
    if (!why) return;
    sb_puts(why, "Expected a value of type '");
    type_print_python(arg->type, why);
    sb_printf(why, "' for argument '%s' but instead found type '", arg->name);
    type_print_python(got, why);
    sb_puts(why, "'.\n");
}

static bool match_argument(const argument *arg, const ir_value *v, bool convert, match_vars *vars, strbuf *why) {
    type *from = v->type;
    if (match_broadcasts(arg, from)) return true;
    if (arg->type->has_var) {
        if (match_bind(vars, arg->type, from)) {
            type *to = match_substitute(vars, arg->type);
            if (to && (type_is_subtype(match_converted_type(to, v, convert), to) || arg->type->kind == T_VAR))
                return true;
        }
    } else if (type_is_subtype(match_converted_type(arg->type, v, convert), arg->type)) {
        return true;
    }
    match_complain(why, arg, from);
    return false;
}

static ir_value *match_emit_argument(emitter *e, source_range r, const argument *arg, ir_value *v, bool convert,
                                     const match_vars *vars) {
    if (match_broadcasts(arg, v->type)) {
        ir_value **rep = arena_array(e->scratch, ir_value *, arg->fixed_size);
        if (!rep) return diag_no_memory(e->diag), NULL;
        for (int i = 0; i < arg->fixed_size; i++) rep[i] = v;
        return emit_list(e, r, v->type, arg->fixed_size, rep);
    }
    type *to = match_substitute(vars, arg->type);
    return to ? match_convert(e, r, to, v, convert) : v;
}

/* ---- a whole call -------------------------------------------------------------------------------------------- */

/* f(1, 2, 3) for f(int[] size): the rest of the positional arguments is the list. */
static bool match_collects(const schema *s, int i, const match_vars *vars) {
    const argument *arg = &s->args[i];
    (void)vars;
    bool last = i + 1 == s->nargs || s->args[i + 1].kwarg_only;
    return last && !s->vararg && arg->type->kind == T_LIST && !arg->type->has_var && !arg->fixed_size;
}

typedef struct match_plan {
    const actual *of[MATCH_MAX_ARGS]; /* per schema argument; NULL: default */
    int collect;                      /* schema argument that takes the rest as a list, -1: none */
    int first_extra;                  /* index of the first positional argument not bound singly */
    int positional;
} match_plan;

static bool match_plan_call(const schema *s, int nargs, const actual *args, bool convert, match_plan *p,
                            match_vars *vars, strbuf *why) {
    int npos = 0;
    while (npos < nargs && !args[npos].name) npos++;
    p->collect = -1;
    p->positional = npos;
    int used = 0;
    uint64_t used_kw = 0;
    if (s->nargs > MATCH_MAX_ARGS || nargs - npos > 64) return false;
    for (int i = 0; i < s->nargs; i++) {
        const argument *arg = &s->args[i];
        p->of[i] = NULL;
        if (!arg->kwarg_only && used < npos) {
            if (convert && match_collects(s, i, vars) &&
                (npos - used > 1 || args[used].value->type->kind != T_LIST) &&
                type_is_subtype(args[used].value->type, type_elem(arg->type))) {
                p->collect = i;
                p->first_extra = used;
                for (; used < npos; used++)
                    if (!type_is_subtype(match_converted_type(type_elem(arg->type), args[used].value, convert),
                                         type_elem(arg->type))) {
                        match_complain(why, arg, args[used].value->type);
                        return false;
                    }
                continue;
            }
            p->of[i] = &args[used++];
        } else {
            for (int k = npos; k < nargs; k++)
                if (!strcmp(args[k].name, arg->name)) {
                    p->of[i] = &args[k];
                    used_kw |= 1ull << (k - npos);
                }
        }
        if (!p->of[i]) {
            if (arg->has_default) continue;
            if (why) sb_printf(why, "Argument %s not provided.\n", arg->name);
            return false;
        }
        if (!match_argument(arg, p->of[i]->value, convert, vars, why)) return false;
    }
    p->first_extra = p->collect >= 0 ? p->first_extra : used;
    if (used < npos && !s->vararg) {
        if (why)
            sb_printf(why, "Expected at most %d arguments but found %d positional arguments.\n", used, npos);
        return false;
    }
    for (int k = npos; k < nargs; k++)
        if (!(used_kw >> (k - npos) & 1)) {
            if (why)
                sb_printf(why, schema_find_arg(s, args[k].name) < 0 ? "Unknown keyword argument '%s'.\n"
                                                                    : "Argument '%s' is given twice.\n",
                          args[k].name);
            return false;
        }
    return true;
}

static ir_value *match_emit_default(emitter *e, const argument *arg) {
    type *t = arg->type;
    value v = arg->default_value;
    if (v.tag != V_NONE && t->kind == T_OPTIONAL) t = type_elem(t);
    if (v.tag == V_NONE) return graph_constant_none(e->g);
    if (v.tag == V_LIST) { /* lists are mutable: made anew at each call */
        ir_value **in = arena_array(e->scratch, ir_value *, v.u.list->len + 1);
        if (!in) return diag_no_memory(e->diag), NULL;
        for (size_t i = 0; i < v.u.list->len; i++) in[i] = emit_constant_take(e, list_get(v.u.list, i), NULL);
        return emit_list(e, e->g->range, t->kind == T_LIST ? type_elem(t) : TYPE_INT, (int)v.u.list->len, in);
    }
    return emit_constant_take(e, value_ref(v), t->kind == T_NUMBER ? NULL : t);
}

match_result *match_schema(emitter *e, source_range r, const schema *s, int nargs, const actual *args, bool convert,
                           strbuf *why) {
    match_plan *p = arena_new(e->scratch, match_plan);
    match_vars vars = {0};
    if (!p) return NULL;
    if (!match_plan_call(s, nargs, args, convert, p, &vars, why) || why) return NULL;
    match_result *m = arena_new(e->scratch, match_result);
    int extra = p->collect < 0 ? p->positional - p->first_extra : 0;
    m->inputs = arena_array(e->scratch, ir_value *, s->nargs + extra + 1);
    m->returns = arena_array(e->scratch, type *, s->nreturns + 1);
    if (!m->inputs || !m->returns) return diag_no_memory(e->diag), NULL;
    for (int i = 0; i < s->nargs; i++) {
        ir_value *v;
        if (i == p->collect) {
            int n = p->positional - p->first_extra;
            ir_value **rest = arena_array(e->scratch, ir_value *, n + 1);
            if (!rest) return diag_no_memory(e->diag), NULL;
            type *elem = type_elem(s->args[i].type);
            for (int k = 0; k < n; k++)
                if (!(rest[k] = match_convert(e, r, elem, args[p->first_extra + k].value, convert))) return NULL;
            v = emit_list(e, r, elem, n, rest);
        } else if (p->of[i]) {
            v = match_emit_argument(e, r, &s->args[i], p->of[i]->value, convert, &vars);
        } else {
            v = match_emit_default(e, &s->args[i]);
        }
        if (!v) return NULL;
        m->inputs[m->ninputs++] = v;
    }
    for (int k = 0; k < extra; k++) m->inputs[m->ninputs++] = args[p->first_extra + k].value;
    for (int i = 0; i < s->nreturns; i++) {
        type *t = match_substitute(&vars, s->returns[i].type);
        m->returns[i] = t ? t : TYPE_ANY;
    }
    m->nreturns = s->nreturns;
    return m;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * match.c - overload resolution: does a list of arguments fit a schema, and with which conversions.
 *
 * Method. Matching is tried on types alone first, so that a schema that does not match
 * leaves nothing in the graph; only the matching one emits its conversions. The
 * conversions are PyTorch's: a 0-dim tensor or a number for an int or float, one int for
 * int[N], a tuple for a list, a string for a device, T for Optional[T], an empty list
 * literal for any list, and trailing arguments collected into a last list argument.
 * Tests: tests/corpus, tests/lang
 */
#include "frontend/irgen/irgen.h"

enum { MATCH_MAX_ARGS = 512, MATCH_MAX_VARS = 8 };

typedef struct match_vars {
    int n;
    const char *names[MATCH_MAX_VARS];
    type *types[MATCH_MAX_VARS];
} match_vars;

static bool match_is_empty_list(const ir_value *v) {
    /* a comprehension's list is appended to */
    return v->def && v->def->kind == N_LIST_CONSTRUCT && v->def->inputs.len == 0 &&
           v->uses.len == 0;
}

static void match_put_type(strbuf *sb, const char *before, const type *t, const char *after) {
    sb_puts(sb, before);
    type_print_python(t, sb);
    sb_puts(sb, after);
}

/* ---- type variables -------------------------------------------------------------------------- */

static bool match_bind(match_vars *vars, const type *formal, type *actual, strbuf *why);

/* The first binding stays: a later argument has to fit it, or be convertible to it. */
static bool match_bind_variable(match_vars *vars, const type *formal, type *actual, strbuf *why) {
    for (int i = 0; i < vars->n; i++) {
        if (strcmp(vars->names[i], formal->name)) continue;
        if (type_unify(vars->types[i], actual, false)) return true;
        if (why) {
            sb_printf(why, "Type variable '%s' previously matched to type ", formal->name);
            type_print_python(vars->types[i], why);
            match_put_type(why, " is matched to type ", actual, "");
        }
        return false;
    }
    if (vars->n == MATCH_MAX_VARS) return false;
    vars->names[vars->n] = formal->name;
    vars->types[vars->n++] = actual;
    return true;
}

static bool match_bind_list(match_vars *vars, const type *formal, type *actual, strbuf *why) {
    if (actual->kind == T_LIST) return match_bind(vars, type_elem(formal), type_elem(actual), why);
    if (actual->kind == T_TUPLE && actual->nelems) {
        type *u = actual->elems[0];
        for (int i = 1; u && i < actual->nelems; i++) u = type_unify(u, actual->elems[i], false);
        if (u) return match_bind(vars, type_elem(formal), u, why);
    }
    return false;
}

static bool match_bind_parts(match_vars *vars, const type *formal, type *actual, strbuf *why) {
    if (actual->kind != formal->kind || actual->nelems != formal->nelems) return false;
    for (int i = 0; i < formal->nelems; i++)
        if (!match_bind(vars, formal->elems[i], actual->elems[i], why)) return false;
    return true;
}

static bool match_bind(match_vars *vars, const type *formal, type *actual, strbuf *why) {
    static const struct { type_kind kind; const char *name; } kinds[] = {
        {T_DICT, "a dict"}, {T_TUPLE, "a tuple"}, {T_FUTURE, "a future"}, {T_RREF, "a rref"}};
    if (!formal->has_var) return true;
    if (formal->kind == T_VAR) return match_bind_variable(vars, formal, actual, why);
    if (formal->kind == T_OPTIONAL) {
        if (actual->kind == T_OPTIONAL) actual = type_elem(actual);
        if (actual->kind != T_NONE) return match_bind(vars, type_elem(formal), actual, why);
        if (why)
            sb_puts(why, "Cannot match an Optional[T] to None, because there is no way to "
                         "determine T from None");
        return false;
    }
    size_t before = why ? why->len : 0;
    if (formal->kind == T_LIST ? match_bind_list(vars, formal, actual, why)
                               : match_bind_parts(vars, formal, actual, why))
        return true;
    if (!why || why->len != before) return false;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].kind == formal->kind) sb_printf(why, "Cannot match %s to ", kinds[i].name);
    if (formal->kind == T_LIST) match_put_type(why, "Cannot match ", formal, " to ");
    type_print_python(actual, why);
    return false;
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

/* ---- conversions ----------------------------------------------------------------------------- */

/* The operator that turns a value of type `from` into `to` implicitly; NULL: none. */
static const char *match_implicit(const emitter *e, const type *to, const type *from) {
    /* bools: since PyTorch 2.x */
    bool tensor = from->kind == T_TENSOR, truth = from->kind == T_BOOL,
         number = from->kind == T_NUMBER || truth;
    /* PyTorch refuses an int there */
    if (e->lenient && to->kind == T_FLOAT && from->kind == T_INT) return "aten::Float";
    switch (to->kind) {
    case T_FLOAT: return tensor ? "aten::FloatImplicit" : number ? "aten::Float" : NULL;
    case T_INT: return tensor ? "aten::IntImplicit" : number ? "aten::Int" : NULL;
    case T_COMPLEX: return tensor ? "aten::ComplexImplicit" : number ? "aten::Complex" : NULL;
    case T_NUMBER: return tensor ? "aten::ScalarImplicit" : truth ? "aten::Int" : NULL;
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

static bool match_tuple_parts(const type *to, const type *from) {
    return to->kind == T_TUPLE && from->kind == T_TUPLE && to->nelems == from->nelems &&
           !type_is_subtype(from, to);
}

/* The i-th element of v, which is a tuple, if it is known without a node. */
static ir_value *match_literal_part(const ir_value *v, int i) {
    return v && v->def && v->def->kind == N_TUPLE_CONSTRUCT ? v->def->inputs.data[i] : NULL;
}

/* Type of a value of type `from` after the conversions towards `to`. v: the value, NULL where
 * there is none yet. */
static type *match_converted_type(emitter *e, type *to, type *from, const ir_value *v,
                                  bool convert) {
    if (to->kind == T_OPTIONAL && from->kind != T_OPTIONAL && from->kind != T_NONE)
        return match_converted_type(e, type_elem(to), from, v, convert);
    if (to->kind == T_LIST && from->kind == T_LIST && from != to && v && match_is_empty_list(v))
        return to;
    if (match_tuple_as_list(to, from)) return to;
    if (match_tuple_parts(to, from)) {
        type **parts = arena_array(e->scratch, type *, to->nelems + 1);
        if (!parts) return from;
        for (int i = 0; i < to->nelems; i++)
            parts[i] = match_converted_type(e, to->elems[i], from->elems[i],
                                            match_literal_part(v, i), convert);
        return type_tuple(to->nelems, parts);
    }
    if (convert && match_implicit(e, to, from)) return to;
    return from;
}

ir_value *match_convert(emitter *e, source_range r, type *to, ir_value *v, bool convert) {
    type *from = v->type;
    if (to->kind == T_OPTIONAL && from->kind != T_OPTIONAL && from->kind != T_NONE)
        return match_convert(e, r, type_elem(to), v, convert);
    if (type_is_subtype(from, to)) return v;
    if (to->kind == T_LIST && from->kind == T_LIST && match_is_empty_list(v))
        return irgen_list(e, r, type_elem(to), 0, NULL);
    bool as_list = match_tuple_as_list(to, from);
    if (as_list || match_tuple_parts(to, from)) {
        ir_value **parts = NULL, **made = arena_array(e->scratch, ir_value *, from->nelems + 1);
        int n = 0;
        if (!made) return diag_no_memory(e->diag), NULL;
        if (!irgen_unpack(e, r, v, 0, &parts, &n)) return NULL;
        if (as_list) return irgen_list(e, r, type_elem(to), n, parts);
        for (int i = 0; i < n; i++)
            if (!(made[i] = match_convert(e, r, to->elems[i], parts[i], convert))) return NULL;
        return irgen_tuple(e, r, NULL, n, made);
    }
    const char *op = convert ? match_implicit(e, to, from) : NULL;
    return op ? irgen_builtin_values(e, r, op, 1, &v) : v;
}

/* ---- one argument ---------------------------------------------------------------------------- */

static bool match_broadcasts(const argument *arg, const type *from) {
    const type *to = arg->type;
    if (to->kind == T_OPTIONAL) to = type_elem(to);
    return arg->fixed_size && to->kind == T_LIST && type_elem(to) == from &&
           (from->kind == T_INT || from->kind == T_FLOAT || from->kind == T_STR);
}

static void match_complain(emitter *e, strbuf *why, const argument *arg, const type *got) {
    if (!why) return;
    const type *to = arg->type->kind == T_OPTIONAL ? type_elem(arg->type) : arg->type;
    if (to->kind == T_FLOAT && got->kind == T_INT) e->int_for_float = true;
    match_put_type(why, "Expected a value of type '", arg->type,
                   arg->inferred ? " (inferred)'" : "'");
    sb_printf(why, " for argument '%s' but instead found type '", arg->name);
    match_put_type(why, "", got, "'.\n");
    if (arg->inferred)
        sb_printf(why,
                  "Inferred '%s' to be of type 'Tensor' because it was not annotated with an "
                  "explicit type.\n",
                  arg->name);
    if (got->kind == T_LIST && type_elem(got)->kind == T_TENSOR)
        sb_puts(why, "Empty lists default to List[Tensor]. Add a variable annotation to the "
                     "assignment to create an "
                     "empty list of another type (torch.jit.annotate(List[T, []]) where T is the "
                     "type of elements in "
                     "the list for Python 2)\n");
}

static bool match_argument(emitter *e, const argument *arg, const ir_value *v, bool convert,
                           match_vars *vars, strbuf *why) {
    type *from = v->type, *to = arg->type;
    if (match_broadcasts(arg, from)) return true;
    if (to->has_var) {
        strbuf reason = STRBUF_INIT;
        bool bound = match_bind(vars, to, from, why ? &reason : NULL);
        if (!bound && why) {
            match_put_type(why, "Could not match type ", from, " to ");
            type_print_python(to, why);
            sb_printf(why, " in argument '%s': %s.\n", arg->name, sb_str(&reason));
        }
        sb_free(&reason);
        if (!bound) return false;
        to = match_substitute(vars, to);
        if (!to) {
            if (why) {
                match_put_type(why, "Type variables in type ", arg->type,
                               " could not be inferred from actual type ");
                match_put_type(why, "", from, "\n");
            }
            return false;
        }
    }
    if (type_is_subtype(match_converted_type(e, to, from, v, convert), to)) return true;
    match_complain(e, why, arg, from);
    return false;
}

static ir_value *match_emit_argument(emitter *e, source_range r, const argument *arg, ir_value *v,
                                     bool convert, const match_vars *vars) {
    if (match_broadcasts(arg, v->type)) {
        ir_value **rep = arena_array(e->scratch, ir_value *, arg->fixed_size);
        if (!rep) return diag_no_memory(e->diag), NULL;
        for (int i = 0; i < arg->fixed_size; i++) rep[i] = v;
        return irgen_list(e, r, v->type, arg->fixed_size, rep);
    }
    type *to = match_substitute(vars, arg->type);
    return to ? match_convert(e, r, to, v, convert) : v;
}

/* ---- a whole call ---------------------------------------------------------------------------- */

/* f(1, 2, 3) for f(int[] size): the rest of the positional arguments is the list. */
static bool match_collects(const schema *s, int i) {
    const argument *arg = &s->args[i];
    bool last = i + 1 == s->nargs || s->args[i + 1].kwarg_only;
    return last && arg->type->kind == T_LIST && type_elem(arg->type)->kind != T_VAR &&
           !arg->fixed_size;
}

typedef struct match_plan {
    const actual *of[MATCH_MAX_ARGS]; /* per schema argument; NULL: default */
    int collect;                      /* schema argument that takes the rest as a list, -1: none */
    int first_extra;                  /* index of the first positional argument not bound singly */
    /* positional arguments given, what the method was called on included */
    int positional;
    const actual *blamed; /* the one that does not fit; NULL: one is missing */
    uint64_t used_keywords;
} match_plan;

/* torch's functions call their first argument input, the schemas self. */
static bool match_keyword(const schema *s, const char *formal, const char *given) {
    return !strcmp(formal, given) ||
           (!strcmp(given, "input") && !strcmp(formal, "self") && !strncmp(s->name, "aten::", 6));
}

static const actual *match_find_keyword(const schema *s, const argument *arg, int nargs,
                                        const actual *args, match_plan *p) {
    const actual *found = NULL;
    for (int k = p->positional; k < nargs; k++)
        if (match_keyword(s, arg->name, args[k].name)) {
            found = &args[k];
            p->used_keywords |= 1ull << (k - p->positional);
        }
    return found;
}

/* Do all positional arguments from `used` on fit as elements of the list that argument i takes? */
static bool match_collect(emitter *e, const schema *s, int i, int used, const actual *args,
                          bool convert, match_plan *p, strbuf *why) {
    argument elem = {.name = "<varargs>", .type = type_elem(s->args[i].type)};
    match_vars none = {0};
    p->collect = i;
    p->first_extra = used;
    for (; used < p->positional; used++) {
        p->blamed = &args[used];
        if (!match_argument(e, &elem, args[used].value, convert, &none, why)) return false;
    }
    return true;
}

bool match_knows_keyword(const schema *s, const char *name) {
    for (int i = 0; i < s->nargs; i++)
        if (match_keyword(s, s->args[i].name, name)) return true;
    return false;
}

static void match_unknown_keyword(const schema *s, const actual *a, match_plan *p, strbuf *why) {
    bool known = match_knows_keyword(s, a->name);
    p->blamed = a;
    if (!why) return;
    sb_printf(why, "Keyword argument %s %s.\n", a->name, known ? "specified twice" : "unknown");
    suggestion close = {.wanted = a->name};
    for (int i = 0; !known && i < s->nargs; i++) suggest_try(&close, s->args[i].name);
    if (close.best) sb_printf(why, "Did you mean '%s'?\n", close.best);
}

/* A misspelt keyword is the likelier reason for a missing argument. */
static void match_missing(const schema *s, const argument *arg, int nargs, const actual *args,
                          match_plan *p, strbuf *why) {
    p->blamed = NULL;
    for (int k = p->positional; k < nargs; k++)
        if (!match_knows_keyword(s, args[k].name))
            return match_unknown_keyword(s, &args[k], p, why);
    if (why) sb_printf(why, "Argument %s not provided.\n", arg->name);
}

static bool match_unused(const schema *s, int used, int nargs, const actual *args, match_plan *p,
                         strbuf *why) {
    int given = p->positional;
    if (used < given && !s->vararg) {
        int self = given && args[0].is_self;
        p->blamed = &args[used];
        if (why)
            sb_printf(why, "Expected at most %d arguments but found %d positional arguments.\n",
                      used - self, given - self);
        return false;
    }
    for (int k = given; k < nargs; k++) {
        if (p->used_keywords >> (k - given) & 1) continue;
        match_unknown_keyword(s, &args[k], p, why);
        return false;
    }
    return true;
}

static bool match_plan_call(emitter *e, const schema *s, int nargs, const actual *args,
                            bool convert, match_plan *p, match_vars *vars, strbuf *why) {
    int npos = 0, used = 0;
    while (npos < nargs && !args[npos].name) npos++;
    p->collect = -1;
    p->positional = npos;
    if (s->nargs > MATCH_MAX_ARGS || nargs - npos > 64) return false;
    bool self = npos && args[0].is_self, self_pending = self;
    used = self;
    for (int i = 0; i < s->nargs; i++) {
        const argument *arg = &s->args[i];
        p->of[i] = NULL;
        if (self_pending && !strcmp(arg->name, "self")) {
            p->of[i] = &args[0];
            self_pending = false;
        } else if (!arg->kwarg_only && used < npos) {
            type *from = args[used].value->type;
            if (convert && match_collects(s, i) && from->kind != T_LIST &&
                !match_tuple_as_list(arg->type, from)) {
                if (!match_collect(e, s, i, used, args, convert, p, why)) return false;
                used = npos;
                continue;
            }
            p->of[i] = &args[used++];
        } else {
            p->of[i] = match_find_keyword(s, arg, nargs, args, p);
        }
        if (!p->of[i]) {
            /* A Tensor's None is an undefined tensor, which PyTorch does not let a
             * program pass either. */
            if (arg->has_default &&
                (arg->default_value.tag != V_NONE || arg->type->kind != T_TENSOR))
                continue;
            match_missing(s, arg, nargs, args, p, why);
            return false;
        }
        p->blamed = p->of[i];
        if (!match_argument(e, arg, p->of[i]->value, convert, vars, why)) return false;
    }
    if (self_pending) {
        p->blamed = &args[0];
        if (why) sb_puts(why, "Provided self argument not used in schema.\n");
        return false;
    }
    if (p->collect < 0) p->first_extra = used;
    return match_unused(s, used, nargs, args, p, why);
}

/* Operators do not change their arguments' defaults, so a list may be one
 * constant; functions may. */
static ir_value *match_emit_default(emitter *e, const schema *s, const argument *arg) {
    type *t = arg->type;
    value v = arg->default_value;
    source_range place = e->g->range;
    if (v.tag != V_NONE && t->kind == T_OPTIONAL) t = type_elem(t);
    e->g->range = (source_range){0}; /* it is nowhere in the source */
    ir_value *out;
    if (v.tag == V_NONE) {
        out = graph_constant_none(e->g);
    } else if (v.tag == V_LIST && !strstr(s->name, "::")) {
        ir_value **in = arena_array(e->scratch, ir_value *, v.u.list->len + 1);
        if (!in) return diag_no_memory(e->diag), NULL;
        for (size_t i = 0; i < v.u.list->len; i++)
            in[i] = irgen_constant_take(e, list_get(v.u.list, i), NULL);
        out = irgen_list(e, e->g->range, t->kind == T_LIST ? type_elem(t) : TYPE_INT,
                         (int)v.u.list->len, in);
    } else {
        out = irgen_constant_take(e, value_ref(v), t->kind == T_NUMBER ? NULL : t);
    }
    e->g->range = place;
    return out;
}

static ir_value *match_emit_collected(emitter *e, source_range r, const argument *arg,
                                      const match_plan *p, const actual *args, bool convert) {
    int n = p->positional - p->first_extra;
    ir_value **rest = arena_array(e->scratch, ir_value *, n + 1);
    if (!rest) return diag_no_memory(e->diag), NULL;
    type *elem = type_elem(arg->type);
    for (int k = 0; k < n; k++)
        if (!(rest[k] = match_convert(e, r, elem, args[p->first_extra + k].value, convert)))
            return NULL;
    return irgen_list(e, r, elem, n, rest);
}

static match_result *match_emit(emitter *e, source_range r, const schema *s, const actual *args,
                                bool convert, const match_plan *p, const match_vars *vars) {
    match_result *m = arena_new(e->scratch, match_result);
    int extra = p->collect < 0 ? p->positional - p->first_extra : 0;
    m->inputs = arena_array(e->scratch, ir_value *, s->nargs + extra + 1);
    m->returns = arena_array(e->scratch, type *, s->nreturns + 1);
    if (!m->inputs || !m->returns) return diag_no_memory(e->diag), NULL;
    for (int i = 0; i < s->nargs; i++) {
        ir_value *v = i == p->collect ? match_emit_collected(e, r, &s->args[i], p, args, convert)
                      : p->of[i]
                          ? match_emit_argument(e, r, &s->args[i], p->of[i]->value, convert, vars)
                          : match_emit_default(e, s, &s->args[i]);
        if (!v) return NULL;
        m->inputs[m->ninputs++] = v;
    }
    for (int k = 0; k < extra; k++) m->inputs[m->ninputs++] = args[p->first_extra + k].value;
    for (int i = 0; i < s->nreturns; i++) {
        type *t = match_substitute(vars, s->returns[i].type);
        m->returns[i] = t ? t : TYPE_ANY;
    }
    m->nreturns = s->nreturns;
    return m;
}

static match_result *match_schema(emitter *e, source_range r, const schema *s, int nargs,
                                  const actual *args, bool convert) {
    match_plan p;
    match_vars vars = {0};
    p.used_keywords = 0;
    if (!match_plan_call(e, s, nargs, args, convert, &p, &vars, NULL)) return NULL;
    return match_emit(e, r, s, args, convert, &p, &vars);
}

const actual *match_reason(emitter *e, const schema *s, int nargs, const actual *args,
                           strbuf *why) {
    match_plan p;
    match_vars vars = {0};
    p.used_keywords = 0;
    p.blamed = NULL;
    return match_plan_call(e, s, nargs, args, true, &p, &vars, why) ? NULL : p.blamed;
}

/* A type used in place of another: None where a value is expected, a number of another kind. */
static bool match_is_near(const type *to, type *from) {
    bool number = from->kind == T_INT || from->kind == T_FLOAT || from->kind == T_BOOL;
    if (from->kind == T_OPTIONAL) return type_is_subtype(type_elem(from), (type *)to);
    return from->kind == T_NONE || (number && (to->kind == T_INT || to->kind == T_FLOAT)) ||
           (from->kind == T_LIST && to->kind == T_LIST);
}

/* What a wrong argument costs: MATCH_FAR; what it is called on, or an operator's left side, says
 * most of what is meant. */
enum { MATCH_NEAR = 1, MATCH_MISSING = 2, MATCH_FAR = 3, MATCH_FIRST = 6, MATCH_OUT = 12 };

static int match_argument_cost(emitter *e, const argument *arg, const actual *a, bool first) {
    match_vars none = {0};
    for (int convert = 0; convert < 2; convert++, none.n = 0)
        if (match_argument(e, arg, a->value, convert, &none, NULL)) return convert * MATCH_NEAR;
    if (match_is_near(arg->type, a->value->type)) return MATCH_NEAR;
    return first ? MATCH_FIRST : MATCH_FAR;
}

int match_distance(emitter *e, const schema *s, int nargs, const actual *args) {
    int cost = 0, at = 0, npos = 0;
    while (npos < nargs && !args[npos].name) npos++;
    for (int i = 0; i < s->nargs && i < MATCH_MAX_ARGS; i++) {
        const argument *arg = &s->args[i];
        const actual *given = NULL;
        if (!arg->kwarg_only && at < npos) given = &args[at++];
        for (int k = npos; k < nargs && !given; k++)
            if (match_keyword(s, arg->name, args[k].name)) given = &args[k];
        if (given)
            cost += match_collects(s, i) && at < npos ? 0
                                                      : match_argument_cost(e, arg, given, i == 0);
        else if (!arg->has_default) cost += arg->kwarg_only ? MATCH_OUT : MATCH_MISSING;
        if (match_collects(s, i)) at = npos;
    }
    for (int k = npos; k < nargs; k++)
        cost += match_knows_keyword(s, args[k].name) ? 0 : MATCH_NEAR;
    return cost + MATCH_FAR * (s->vararg ? 0 : npos - at);
}

bool match_never(const schema *s) {
    return s->overload && !strcmp(s->overload, "dtype") && !strcmp(s->name, "aten::view");
}

match_result *match_schemas(emitter *e, source_range r, const schema *const *list, int n, int nargs,
                            const actual *args, int *which) {
    for (int pass = n == 1; pass < 2; pass++)
        for (int i = 0; i < n; i++) {
            match_result *m = n > 1 && match_never(list[i])
                                  ? NULL
                                  : match_schema(e, r, list[i], nargs, args, pass == 1);
            if (m) return *which = i, m;
            if (irgen_failed(e)) return diag_no_memory(e->diag), NULL;
        }
    match_explain(e, r, list, n, nargs, args);
    return NULL;
}

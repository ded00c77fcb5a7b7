/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_function.c - declares functions: names, signatures, default values.
 *
 * A parameter's type comes from its annotation, else from the type comment, else it is Tensor; a
 * default value is what the evaluator computed when the definition ran. Bodies are compiled later,
 * in the scope that is made here.
 * Tests: tests/lang
 */
#include "frontend/program/source.h"
#include "frontend/pyeval/torch/py_torch.h"

/* ---- names ----------------------------------------------------------------------------------- */

static bool function_name_taken(const unit *u, const char *qualified) {
    return strmap_get(&u->classes, qualified) || strmap_get(&u->functions, qualified);
}

/* Names in an archive have only letters, digits and _: "<lambda>" is "_lambda". */
static const char *function_identifier(program *g, const char *name) {
    if (!strcmp(name, "<lambda>")) return "_lambda";
    char *s = arena_strdup(&g->unit->arena, name);
    if (!s) return "_";
    for (char *p = s; *p; p++)
        if (*p != '_' && !(*p >= '0' && *p <= '9') && !((*p | 32) >= 'a' && (*p | 32) <= 'z') &&
            !(*p & 0x80))
            *p = '_';
    return s;
}

const char *source_qualify(program *g, const py_object *module, const char *name) {
    unit *u = g->unit;
    const char *in = module && module->kind == PY_MODULE ? module->u.mod.name : "builtins";
    name = function_identifier(g, name);
    const char *q = intern(&u->names, arena_printf(&u->arena, "__torch__.%s.%s", in, name));
    while (function_name_taken(u, q) && !arena_failed(&u->arena))
        q = intern(&u->names, arena_printf(&u->arena, "__torch__.%s.___torch_mangle_%d.%s", in,
                                           g->mangled++, name));
    return q;
}

/* ---- type comments --------------------------------------------------------------------------- */

/* "(Tensor, int) -> Tensor": the types of the parameters and of the result, as expressions. */
typedef struct function_comment {
    expr **params;
    int n;
    expr *result;
} function_comment;

static bool function_parse_comment(program *g, const func_def *def, function_comment *out) {
    arena *a = &g->unit->arena;
    const char *text = def->type_comment, *arrow = NULL;
    for (const char *p = strstr(text, "->"); p; p = strstr(p + 2, "->")) arrow = p;
    if (!arrow)
        return source_fail(g, def->name_range,
                           "Syntax error in type annotation (couldn't find `->`)");
    char *left = arena_strndup(a, text, (size_t)(arrow - text)),
         *right = arena_strdup(a, arrow + 2);
    if (!left || !right) return diag_no_memory(g->py.diag), false;
    while (*left == ' ') left++;
    while (*right == ' ') right++;
    for (char *s = left, *end; (end = s + strlen(s)) > s && end[-1] == ' ';) end[-1] = '\0';
    for (char *s = right, *end; (end = s + strlen(s)) > s && end[-1] == ' ';) end[-1] = '\0';
    size_t n = strlen(left);
    out->n = 0;
    bool empty = n >= 2 && left[0] == '(' && strspn(left + 1, " ") == n - 2;
    if (!empty) {
        expr *params = source_parse_text(g, def->range, left);
        if (!params) return false;
        /* (Tensor) is one parameter, (Tensor, int) a tuple of two; List[int] without
         * parentheses is one as well */
        bool tuple = params->kind == E_TUPLE;
        out->n = tuple ? (int)params->items.len : 1;
        out->params = tuple ? params->items.data : arena_array(a, expr *, 1);
        if (!tuple) out->params[0] = params;
    }
    out->result = source_parse_text(g, def->range, right);
    return out->result != NULL;
}

/* ---- default values -------------------------------------------------------------------------- */

/* BroadcastingList2[int]: a list that may also be given as a single int. */
static int function_fixed_size(const expr *x) {
    if (x && x->kind == E_SUBSCRIPT && x->a->name && !strcmp(x->a->name, "Optional") &&
        x->items.len)
        x = x->items.data[0];
    static const char prefix[] = "BroadcastingList";
    if (!x || x->kind != E_SUBSCRIPT || (x->a->kind != E_NAME && x->a->kind != E_ATTR)) return 0;
    const char *name = x->a->name;
    size_t n = sizeof prefix - 1;
    return !strncmp(name, prefix, n) && name[n] >= '1' && name[n] <= '9' && !name[n + 1]
               ? name[n] - '0'
               : 0;
}

/* Of an overload, a default that is of another type is none: it is meant for the
 * other signatures. */
static bool function_default(program *g, const param *p, py_object *o, bool overload, argument *a) {
    if (o->kind == PY_LIST || o->kind == PY_DICT || o->kind == PY_SET)
        return source_fail(
            g, p->range,
            "Mutable default parameters are not supported because Python binds them to the "
            "function and "
            "they persist across function calls.\nAs a workaround, make the default None and "
            "instantiate the "
            "default parameter within the body of the function. Found <class '%s'> on parameter %s",
            py_type_name(o), p->name);
    if (py_is_none(o) && a->type->kind == T_TENSOR) { /* PyTorch: a tensor that is not defined */
        a->has_default = true;
        return true;
    }
    diag why = {0}, *outer = diag_redirect(&g->py.diag, &why);
    if (a->fixed_size && o->kind == PY_VALUE && (o->u.v.tag == V_INT || o->u.v.tag == V_FLOAT)) {
        py_object *all[9];
        for (int i = 0; i < a->fixed_size; i++) all[i] = o;
        o = py_list(&g->py, a->fixed_size, all);
    }
    bool ok = source_value(g, p->range, o, a->type, &a->default_value);
    diag_restore(&g->py.diag, outer);
    a->has_default = ok;
    bool memory = why.status == CTSC_LIMIT;
    diag_clear(&why);
    if (ok || (overload && !memory)) return true;
    if (memory) return diag_no_memory(g->py.diag), false;
    strbuf t = STRBUF_INIT;
    type_print_python(a->type, &t);
    source_fail(
        g, p->range, "Expected a default value of type %s%s on parameter \"%s\".%s%s%s", sb_str(&t),
        p->annotation ? "" : " (inferred)", p->name, p->annotation ? "" : "Because \"",
        p->annotation ? "" : p->name,
        p->annotation
            ? ""
            : "\" was not annotated with an explicit type it is assumed to be type 'Tensor'.");
    sb_free(&t);
    return false;
}

/* ---- functions that nobody wrote ------------------------------------------------------------- */

py_object *source_synthesize(program *g, const char *file, const strbuf *text, py_object *module,
                             py_env *env) {
    unit *u = g->unit;
    stmt_list body = {0};
    source *src = text->failed ? NULL : source_new(file, sb_str(text), text->len);
    if (!src || !vec_push(&u->sources, src)) {
        source_unref(src);
        return diag_no_memory(g->py.diag), NULL;
    }
    if (parse_module(g->py.diag, &u->arena, &u->names, src, &body) != CTSC_OK || body.len != 1)
        return NULL;
    py_object *fn = py_new(&g->py, PY_FUNCTION);
    py_function *pf = fn->u.fn = arena_new(&u->arena, py_function);
    *pf = (py_function){.def = body.data[0]->def, .closure = env, .module = module};
    pf->qualname = pf->def->name;
    return fn;
}

/* ---- signatures ------------------------------------------------------------------------------ */

/* Of an unannotated parameter: PyTorch takes it for a Tensor, whatever its default is, and then
 * refuses the default. */
static type *function_type_of_default(const py_object *o) {
    if (o->kind != PY_VALUE) return TYPE_TENSOR;
    switch (o->u.v.tag) {
    case V_BOOL: return TYPE_BOOL;
    case V_INT: return TYPE_INT;
    case V_FLOAT: return TYPE_FLOAT;
    case V_STR: return TYPE_STR;
    case V_NONE: return type_optional(TYPE_TENSOR);
    default: return TYPE_TENSOR;
    }
}

static bool function_parameter(program *g, py_object *fn, py_env *env, int i, type *self,
                               const expr *comment, argument *a) {
    const func_def *def = fn->u.fn->def;
    const param *p = &def->params.data[i];
    a->name = p->name;
    a->kwarg_only = p->kwarg_only;
    a->type = TYPE_TENSOR;
    if (i == 0 && self) {
        a->type = self;
    } else if (p->annotation || comment) {
        const expr *x = p->annotation ? p->annotation : comment;
        a->type = source_type_of_expr(g, env, x);
        if (!a->type) return a->type = TYPE_TENSOR, false;
        a->fixed_size = function_fixed_size(x);
    } else {
        a->inferred = true;
    }
    py_object *o = fn->u.fn->defaults ? fn->u.fn->defaults[i] : NULL;
    if (o && !p->annotation && !comment && !(i == 0 && self)) a->type = function_type_of_default(o);
    return !o || function_default(g, p, o, py_is_overload(fn), a);
}

bool source_signature(program *g, py_object *fn, py_env *env, type *self, schema **out,
                      bool *return_declared) {
    arena *a = &g->unit->arena;
    const func_def *def = fn->u.fn->def;
    int n = (int)def->params.len, first = self ? 1 : 0;
    if (self && !n) return source_fail(g, def->name_range, "methods must have a self argument");
    function_comment comment = {0};
    bool annotated = def->returns != NULL;
    for (int i = 0; i < n; i++) annotated |= def->params.data[i].annotation != NULL;
    if (def->type_comment && !annotated) {
        if (!function_parse_comment(g, def, &comment)) return false;
        if (comment.n != n - first && comment.n != n)
            return source_fail(
                g, def->name_range,
                "Number of type annotations for function parameters (%d) does not match "
                "the number of parameters on the function (%d)!",
                comment.n, n - first);
    }
    schema *sc = arena_new(a, schema);
    sc->name = def->name;
    sc->overload = "";
    sc->nargs = n;
    sc->args = arena_array(a, argument, n ? n : 1);
    sc->nreturns = 1;
    sc->returns = arena_new(a, argument);
    sc->returns[0].name = "";
    sc->returns[0].type = TYPE_ANY;
    if (arena_failed(a) || !sc->args) return diag_no_memory(g->py.diag), false;
    *out = sc; /* a failure leaves it complete enough to be freed */
    sc->nargs = 0;
    for (int i = 0; i < n; i++) {
        int k = i - (n - comment.n);
        const expr *c = comment.n && k >= 0 && k < comment.n ? comment.params[k] : NULL;
        const param *p = &def->params.data[i];
        bool star = p->star || p->star_star;
        if (star && ((!i && self) || (def->src && def->src->library)))
            return source_fail(g, p->range,
                               "Compiled functions can't take variable number of arguments or use "
                               "keyword-only arguments with defaults");
        if (star) continue; /* irgen_parameters refuses it, or has it empty */
        if (!function_parameter(g, fn, env, i, self, c, &sc->args[sc->nargs++])) return false;
    }
    const expr *result = def->returns ? def->returns : comment.result;
    *return_declared = result != NULL;
    if (!result) return true;
    sc->returns[0].type = source_type_of_expr(g, env, result);
    if (sc->returns[0].type) return true;
    sc->returns[0].type = TYPE_ANY;
    return false;
}

function *source_declare(program *g, py_object *fn, const char *qualified, type *cls,
                         module_type *module) {
    unit *u = g->unit;
    function *f = unit_add_function(u, qualified, cls);
    if (!f) return diag_no_memory(g->py.diag), NULL;
    scope *s = arena_new(&u->arena, scope);
    *s = (scope){
        .ops = &source_scope_ops, .prog = g, .env = fn->u.fn->closure, .module = module, .fn = fn};
    f->def = fn->u.fn->def;
    f->scope = s;
    f->range = fn->u.fn->def->name_range;
    bool declared = false;
    if (!source_signature(g, fn, s->env, cls, &f->schema, &declared)) return f->scope = NULL, NULL;
    f->return_declared = declared;
    return f;
}

function *source_function(program *g, source_range r, py_object *fn) {
    py_function *pf = fn->u.fn;
    function *f = ptrmap_get(&g->functions, pf);
    if (f) return f;
    if (g->depth >= SOURCE_MAX_DEPTH)
        return source_fail(g, r, "declarations nest too deeply"), NULL;
    const py_object *note = g->tracing ? NULL : ptrmap_get(&g->py.traced, fn);
    const char *q = source_qualify(g, pf->module, pf->def->name);
    g->depth++;
    f = note ? source_traced_function(g, r, fn, note, q) : source_declare(g, fn, q, NULL, NULL);
    g->depth--;
    if (!f) return NULL;
    if (!ptrmap_put(&g->functions, pf, f)) return diag_no_memory(g->py.diag), NULL;
    return f;
}

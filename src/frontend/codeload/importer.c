/* SPDX-License-Identifier: Apache-2.0 */
/*
 * importer.c - classes and functions out of an archive's code files.
 *
 * The qualified name __torch__.a.b.C lives in the record code/__torch__/a/b.py. A file is parsed
 * when a name in it is first asked for; a class is declared (attributes, signatures) when it is
 * first named; a body is compiled when it is first needed. A class is entered in the unit before
 * its members are looked at, so that classes may mention each other.
 *
 * Tests: tests/corpus
 */
#include "frontend/codeload/importer.h"
#include "frontend/codeload/upgraders.h"
#include "ir/native.h"

#include <stdlib.h>
#include <string.h>

typedef struct definition {
    const class_def *cls;
    const func_def *fn;
} definition;

typedef struct importer {
    importer_host host;
    int64_t version;
    strmap files;            /* record name -> any non-NULL: parsed */
    strmap definitions;      /* qualified name -> definition */
    VEC(const char *) begun; /* classes and functions since the outermost import began */
    int depth;               /* nesting of imports, against hostile chains */
} importer;

enum { IMPORT_MAX_DEPTH = 200 };

static void importer_free(void *ctx) {
    importer *im = ctx;
    if (im->host.free) im->host.free(im->host.ctx);
    strmap_free(&im->files);
    strmap_free(&im->definitions);
    vec_free(&im->begun);
    mem_free(im);
}

int64_t importer_version(const unit *u) {
    const importer *im = u->import_ctx;
    return im && u->import ? im->version : INT64_MAX; /* a source program has another import_ctx */
}

/* ---- files ----------------------------------------------------------------------------------- */

static ctsc_status importer_add_definition(unit *u, diag *d, importer *im, const char *module,
                                           const char *name, const class_def *c,
                                           const func_def *f) {
    definition *def = arena_new(&u->arena, definition);
    def->cls = c;
    def->fn = f;
    char *qualified = arena_printf(&u->arena, "%s.%s", module, name);
    if (arena_failed(&u->arena) || !strmap_put(&im->definitions, qualified, def))
        return diag_no_memory(d);
    return CTSC_OK;
}

static ctsc_status importer_parse_file(unit *u, diag *d, importer *im, const char *module,
                                       source *src) {
    stmt_list body = {0};
    ctsc_status s = parse_module(d, &u->arena, &u->names, src, &body);
    for (size_t i = 0; s == CTSC_OK && i < body.len; i++) {
        const stmt *st = body.data[i];
        if (st->kind == S_CLASS)
            s = importer_add_definition(u, d, im, module, st->cls->name, st->cls, NULL);
        else if (st->kind == S_DEF)
            s = importer_add_definition(u, d, im, module, st->def->name, NULL, st->def);
        else if (st->kind != S_IMPORT && st->kind != S_ASSIGN && st->kind != S_EXPR &&
                 st->kind != S_PASS)
            s = diag_fail_at(d, CTSC_BAD_FILE, st->range,
                             "a code file holds classes and functions only");
    }
    return s;
}

/* Parses the file that would define names of `module` ("__torch__.a.b"), if it exists. */
static ctsc_status importer_load_file(unit *u, diag *d, importer *im, const char *module) {
    char *record = arena_printf(&u->arena, "%s.py", module);
    if (arena_failed(&u->arena)) return diag_no_memory(d);
    for (char *p = record; p < record + strlen(record) - 3; p++)
        if (*p == '.') *p = '/';
    if (strmap_get(&im->files, record)) return CTSC_OK;
    if (!strmap_put(&im->files, record, im)) return diag_no_memory(d);
    source *src = NULL;
    ctsc_status s = im->host.read_code(im->host.ctx, d, record, &src);
    if (s == CTSC_OK && src && !vec_push(&u->sources, src)) {
        source_unref(src);
        s = diag_no_memory(d);
    } else if (s == CTSC_OK && src) {
        s = importer_parse_file(u, d, im, module, src);
    }
    if (s == CTSC_LIMIT) strmap_put(&im->files, record, NULL); /* there: needs no memory */
    return s;
}

/* ---- functions ------------------------------------------------------------------------------- */

static ctsc_status importer_parameter(unit *u, diag *d, const param *p, type *self, argument *a) {
    ctsc_status s = CTSC_OK;
    if (p->star || p->star_star)
        return diag_fail_at(d, CTSC_FAILED, p->range,
                            "Compiled functions can't take variable number of arguments or use "
                            "keyword-only arguments with defaults");
    if (self && !p->annotation) a->type = self;
    else if (p->annotation) s = annotation_type(u, d, p->annotation, &a->type);
    if (s != CTSC_OK || !p->default_value) return s;
    TRY(importer_literal(u, d, p->default_value, a->type, &a->default_value));
    a->has_default = true;
    /* A Tensor's None is PyTorch's undefined tensor. */
    bool none = a->type->kind == T_TENSOR && a->default_value.tag == V_NONE;
    if (!none && !type_admits_value(a->type, a->default_value))
        return diag_fail_at(d, CTSC_BAD_FILE, p->default_value->range,
                            "the default of '%s' is not of its type", a->name);
    return CTSC_OK;
}

ctsc_status importer_declare_function(unit *u, diag *d, const func_def *def, const char *qualified,
                                      type *cls, function **out) {
    function *f = unit_add_function(u, qualified, cls);
    if (!f) return diag_no_memory(d);
    f->def = def;
    f->range = def->name_range;
    schema *sc = arena_new(&u->arena, schema);
    int n = (int)def->params.len;
    sc->name = def->name;
    sc->overload = "";
    sc->args = arena_array(&u->arena, argument, n ? n : 1);
    sc->returns = arena_new(&u->arena, argument);
    sc->nargs = n;
    sc->nreturns = 1;
    sc->returns[0].name = "";
    sc->returns[0].type = TYPE_ANY;
    f->schema = sc;
    if (arena_failed(&u->arena)) return diag_no_memory(d);
    for (int i = 0; i < n; i++) {
        const param *p = &def->params.data[i];
        sc->args[i] = (argument){.name = p->name, .kwarg_only = p->kwarg_only, .type = TYPE_TENSOR};
    }
    ctsc_status s = CTSC_OK;
    for (int i = 0; s == CTSC_OK && i < n; i++)
        s = importer_parameter(u, d, &def->params.data[i], i ? NULL : cls, &sc->args[i]);
    if (s == CTSC_OK && def->returns) {
        s = annotation_type(u, d, def->returns, &sc->returns[0].type);
        f->return_declared = s == CTSC_OK;
    }
    if (s != CTSC_OK) function_refuse(f, d); /* the unit knows it by its name already */
    else if (out) *out = f;
    return s;
}

/* ---- classes --------------------------------------------------------------------------------- */

static bool importer_name_in(const expr *list, const char *name) {
    if (!list || (list->kind != E_LIST && list->kind != E_TUPLE)) return false;
    for (size_t i = 0; i < list->items.len; i++)
        if (list->items.data[i]->kind == E_STR && !strcmp(list->items.data[i]->s, name))
            return true;
    return false;
}

static ctsc_status importer_add_attribute(unit *u, diag *d, type *cls, const char *name, type *t) {
    if (class_find_attribute(cls, name) >= 0)
        return diag_fail(d, CTSC_BAD_FILE, "attribute '%s' of %s is declared twice", name,
                         class_name(cls));
    attribute at = {.name = name, .type = t};
    if (!avec_push(&u->arena, &cls->cls->attributes, at)) return diag_no_memory(d);
    return CTSC_OK;
}

/* x : Final[T] = literal */
static bool importer_is_final(const expr *annotation) {
    return annotation->kind == E_SUBSCRIPT && annotation->a->kind == E_NAME &&
           !strcmp(annotation->a->name, "Final");
}

static ctsc_status importer_class_member(unit *u, diag *d, type *cls, const stmt *st) {
    type *t = NULL;
    ctsc_status s;
    if (st->kind == S_ANN_ASSIGN && st->targets.data[0]->kind == E_NAME) {
        const char *name = st->targets.data[0]->name;
        TRY(annotation_type(u, d, st->annotation, &t));
        if (!importer_is_final(st->annotation)) return importer_add_attribute(u, d, cls, name, t);
        value v;
        if (!st->value) return diag_fail_at(d, CTSC_BAD_FILE, st->range, "a Final without a value");
        s = importer_literal(u, d, st->value, t, &v);
        if (s != CTSC_OK) return s;
        return class_add_constant(cls, name, v, t) ? CTSC_OK : diag_no_memory(d);
    }
    if (st->kind == S_ASSIGN && st->targets.len == 1) {
        const expr *target = st->targets.data[0];
        if (target->kind == E_SUBSCRIPT && target->items.len == 1 &&
            target->items.data[0]->kind == E_STR) { /* __annotations__["0"] = T */
            s = annotation_type(u, d, st->value, &t);
            const char *name = intern(&u->names, target->items.data[0]->s);
            return s == CTSC_OK ? importer_add_attribute(u, d, cls, name, t) : s;
        }
        return CTSC_OK; /* __parameters__ and the like: read by importer_mark_attributes */
    }
    if (st->kind == S_DEF) {
        char *q = arena_printf(&u->arena, "%s.%s", class_name(cls), st->def->name);
        function *f = NULL;
        s = importer_declare_function(u, d, st->def, q, cls, &f);
        if (s == CTSC_OK && !avec_push(&u->arena, &cls->cls->methods, f)) s = diag_no_memory(d);
        return s;
    }
    if (st->kind == S_PASS || st->kind == S_EXPR) return CTSC_OK;
    return diag_fail_at(d, CTSC_BAD_FILE, st->range, "unexpected statement in a class");
}

static void importer_mark_attributes(type *cls, const class_def *def) {
    for (size_t i = 0; i < def->body.len; i++) {
        const stmt *st = def->body.data[i];
        if (st->kind != S_ASSIGN || st->targets.len != 1 || st->targets.data[0]->kind != E_NAME)
            continue;
        bool params = !strcmp(st->targets.data[0]->name, "__parameters__");
        if (!params && strcmp(st->targets.data[0]->name, "__buffers__")) continue;
        for (size_t k = 0; k < cls->cls->attributes.len; k++) {
            attribute *a = &cls->cls->attributes.data[k];
            if (!importer_name_in(st->value, a->name)) continue;
            if (params) a->is_parameter = true;
            else a->is_buffer = true;
        }
    }
}

/* __forward_pre_hooks__ = ["name", ], __forward_hooks__ likewise: methods, run around a
 * call from outside. */
static ctsc_status importer_hooks(unit *u, diag *d, type *cls, const class_def *def) {
    for (size_t i = 0; i < def->body.len; i++) {
        const stmt *st = def->body.data[i];
        if (st->kind != S_ASSIGN || st->targets.len != 1 || st->targets.data[0]->kind != E_NAME)
            continue;
        bool pre = !strcmp(st->targets.data[0]->name, "__forward_pre_hooks__");
        if (!pre && strcmp(st->targets.data[0]->name, "__forward_hooks__")) continue;
        const expr *names = st->value;
        for (size_t k = 0; names->kind == E_LIST && k < names->items.len; k++) {
            const expr *x = names->items.data[k];
            function *f = x->kind == E_STR ? class_find_method(cls, x->s) : NULL;
            if (!f)
                return diag_fail_at(d, CTSC_BAD_FILE, x->range,
                                    "a hook is not a method of the class");
            if (!(pre ? avec_push(&u->arena, &cls->cls->forward_pre_hooks, f)
                      : avec_push(&u->arena, &cls->cls->forward_hooks, f)))
                return diag_no_memory(d);
        }
    }
    return CTSC_OK;
}

static ctsc_status importer_enum_members(unit *u, diag *d, type *cls, const class_def *def) {
    for (size_t i = 0; i < def->body.len; i++) {
        const stmt *st = def->body.data[i];
        if (st->kind != S_ASSIGN || st->targets.data[0]->kind != E_NAME) continue;
        value v;
        TRY(importer_literal(u, d, st->value, NULL, &v));
        cls->cls->enum_value_type = type_of_value(v);
        if (!class_add_constant(cls, st->targets.data[0]->name, v, cls)) return diag_no_memory(d);
    }
    if (!cls->cls->constants.len)
        return diag_fail_at(d, CTSC_BAD_FILE, def->range, "an Enum without members");
    return class_add_members(cls) ? CTSC_OK : diag_no_memory(d);
}

static ctsc_status importer_named_tuple(unit *u, diag *d, const class_def *def,
                                        const char *qualified) {
    VEC(const char *) fields = {0};
    VEC(type *) types = {0};
    for (size_t i = 0; i < def->body.len; i++) {
        const stmt *st = def->body.data[i];
        type *t = NULL;
        if (st->kind != S_ANN_ASSIGN || st->targets.data[0]->kind != E_NAME) continue;
        TRY(annotation_type(u, d, st->annotation, &t));
        avec_push(&u->arena, &fields, st->targets.data[0]->name);
        avec_push(&u->arena, &types, t);
    }
    if (arena_failed(&u->arena)) return diag_no_memory(d);
    type *nt = type_named_tuple(u, qualified, (int)types.len, fields.data, types.data);
    return strmap_put(&u->classes, qualified, nt) ? CTSC_OK : diag_no_memory(d);
}

static ctsc_status importer_class(unit *u, diag *d, const class_def *def, const char *qualified) {
    const char *base = def->bases.len && def->bases.data[0]->kind == E_NAME
                           ? def->bases.data[0]->name
                           : "";
    if (!strcmp(base, "NamedTuple")) return importer_named_tuple(u, d, def, qualified);
    type_kind kind = T_CLASS;
    if (!strcmp(base, "Enum")) kind = T_ENUM;
    else if (!strcmp(base, "Interface") || !strcmp(base, "ModuleInterface")) kind = T_INTERFACE;
    else if (*base && strcmp(base, "Module") && strcmp(base, "object"))
        return diag_fail_at(d, CTSC_BAD_FILE, def->range, "class %s has the unknown base %s",
                            qualified, base);
    type *cls = type_class_new(u, kind, qualified);
    if (arena_failed(&u->arena)) return diag_no_memory(d);
    cls->cls->is_module = !strcmp(base, "Module") || !strcmp(base, "ModuleInterface");
    if (!strmap_put(&u->classes, class_name(cls), cls)) return diag_no_memory(d);
    if (kind == T_ENUM) return importer_enum_members(u, d, cls, def);
    for (size_t i = 0; i < def->body.len; i++) {
        TRY(importer_class_member(u, d, cls, def->body.data[i]));
    }
    importer_mark_attributes(cls, def);
    return importer_hooks(u, d, cls, def);
}

/* ---- resolution ------------------------------------------------------------------------------ */

static void importer_forget(strmap *m, const char *name) {
    if (strmap_get(m, name)) strmap_put(m, name, NULL);
}

/* What began since the outermost import did, and all that may refer to it, is made anew the next
 * time somebody asks: parts of it are missing. */
static void importer_take_back(unit *u, importer *im) {
    for (size_t i = 0; i < im->begun.len; i++) {
        importer_forget(&u->classes, im->begun.data[i]);
        importer_forget(&u->functions, im->begun.data[i]);
    }
}

static ctsc_status importer_import(unit *u, diag *d, const char *qualified) {
    importer *im = u->import_ctx;
    const char *dot = strrchr(qualified, '.');
    if (!dot || dot == qualified) return CTSC_OK;
    if (im->depth >= IMPORT_MAX_DEPTH)
        return diag_fail(d, CTSC_BAD_FILE, "types nest too deeply at %s", qualified);
    type *native = u->permanent ? NULL : native_class(qualified);
    if (native)
        return strmap_put(&u->classes, class_name(native), native) ? CTSC_OK : diag_no_memory(d);
    const char *module = intern_n(&u->names, qualified, (size_t)(dot - qualified));
    im->depth++;
    ctsc_status s = importer_load_file(u, d, im, module);
    definition *def = s == CTSC_OK ? strmap_get(&im->definitions, qualified) : NULL;
    if (def) {
        const char *name = intern(&u->names, qualified);
        if (!vec_push(&im->begun, name)) s = diag_no_memory(d);
        else if (def->cls && !strmap_get(&u->classes, name))
            s = importer_class(u, d, def->cls, name);
        else if (def->fn && !strmap_get(&u->functions, name))
            s = importer_declare_function(u, d, def->fn, name, NULL, NULL);
    }
    if (--im->depth) return s;
    if (s == CTSC_LIMIT) importer_take_back(u, im);
    im->begun.len = 0;
    return s;
}

ctsc_status importer_attach(diag *d, unit *u, const importer_host *host, int64_t version) {
    importer *im = mem_zalloc(sizeof *im);
    if (!im) {
        if (host->free) host->free(host->ctx);
        return diag_no_memory(d);
    }
    im->host = *host;
    im->version = version;
    u->import = importer_import;
    u->import_ctx = im;
    u->import_ctx_free = importer_free;
    return CTSC_OK;
}

ctsc_status importer_parse_type(unit *u, diag *d, const char *text, type **out) {
    source *src = source_new("<type>", text, strlen(text));
    if (!src) return diag_no_memory(d);
    expr *x = NULL;
    ctsc_status s = parse_expression(d, &u->arena, &u->names, src, 0, (uint32_t)strlen(text), &x);
    if (s == CTSC_OK) s = annotation_type(u, d, x, out);
    source_unref(src);
    return s;
}

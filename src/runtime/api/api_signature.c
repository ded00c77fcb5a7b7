/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_signature.c - the part of ctsc.h about the signatures of methods.
 *
 * Ownership. A signature owns its texts and default values, so it outlives the module.
 * Tests: tests/unit/test_signature.c
 */
#include "runtime/api/api.h"

#include "ir/graph/graph.h"
#include "ir/unit.h"
#include "runtime/program/wanted_dtypes.h"

#include <string.h>

struct ctsc_signature {
    size_t nargs, nresults, noutputs;
    ctsc_argument *rows;  /* arguments, results, outputs */
    ctsc_value *defaults; /* parallel to the arguments */
    char *result_name;    /* of a NamedTuple, or NULL */
};

void ctsc_signature_free(ctsc_signature *s) {
    if (!s) return;
    for (size_t i = 0; s->rows && i < s->nargs + s->nresults + s->noutputs; i++) {
        mem_free((char *)s->rows[i].name);
        mem_free((char *)s->rows[i].type);
        mem_free((char *)s->rows[i].label);
        mem_free((int64_t *)s->rows[i].sizes);
    }
    for (size_t i = 0; s->defaults && i < s->nargs; i++) value_unref(s->defaults[i].v);
    mem_free(s->rows);
    mem_free(s->defaults);
    mem_free(s->result_name);
    mem_free(s);
}

static char *signature_copy(const char *text) {
    size_t n = strlen(text) + 1;
    char *copy = mem_alloc(n);
    return copy ? memcpy(copy, text, n) : NULL;
}

static bool signature_row(ctsc_argument *row, const char *name, const type *t) {
    strbuf sb = STRBUF_INIT;
    type_print_python(t, &sb);
    row->type = sb_take(&sb);
    row->name = signature_copy(name ? name : "");
    row->kind = CTSC_KIND_OTHER;
    row->optional = t->kind == T_OPTIONAL;
    row->ndim = -1;
    static const struct { type_kind from; ctsc_kind to; } kinds[] = {
        {T_TENSOR, CTSC_KIND_TENSOR}, {T_INT, CTSC_KIND_INT},     {T_FLOAT, CTSC_KIND_FLOAT},
        {T_BOOL, CTSC_KIND_BOOL},     {T_STR, CTSC_KIND_STRING},  {T_COMPLEX, CTSC_KIND_COMPLEX},
        {T_LIST, CTSC_KIND_LIST},     {T_DICT, CTSC_KIND_DICT},   {T_TUPLE, CTSC_KIND_TUPLE},
        {T_NONE, CTSC_KIND_NONE},     {T_CLASS, CTSC_KIND_OBJECT}};
    const type *inner = t->kind == T_OPTIONAL ? type_elem(t) : t;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].from == inner->kind) row->kind = kinds[i].to;
    return row->type && row->name;
}

/* What the program says beyond that. */
static bool signature_port(ctsc_argument *row, const port *from) {
    row->typed = from->dt >= 0;
    if (row->typed) row->dtype = (ctsc_dtype)from->dt;
    if (*from->name && strcmp(from->name, row->name) && !(row->label = signature_copy(from->name)))
        return false;
    if (from->ndim < 0) return true;
    size_t bytes = (size_t)from->ndim * sizeof *from->sizes;
    int64_t *sizes = mem_alloc(bytes ? bytes : 1);
    if (!sizes) return false;
    if (bytes) memcpy(sizes, from->sizes, bytes);
    row->ndim = from->ndim;
    row->sizes = sizes;
    return true;
}

/* A result that is a tuple counts as its items. */
static bool signature_fill(ctsc_signature *s, const function *f) {
    const schema *sc = f->schema;
    const type *ret = sc->returns[0].type;
    bool tuple = ret->kind == T_TUPLE;
    s->nargs = (size_t)sc->nargs - 1;
    s->nresults = tuple ? (size_t)ret->nelems : 1;
    s->noutputs = f->outputs ? (size_t)f->noutputs : 0;
    s->rows = mem_zalloc((s->nargs + s->nresults + s->noutputs + 1) * sizeof *s->rows);
    s->defaults = mem_zalloc((s->nargs + 1) * sizeof *s->defaults);
    if (!s->rows || !s->defaults) return false;
    if (tuple && ret->name && !(s->result_name = signature_copy(ret->name))) return false;
    for (size_t i = 0; i < s->nargs; i++) s->defaults[i].v = value_none();
    for (size_t i = 0; i < s->nargs; i++) {
        const argument *a = &sc->args[i + 1];
        if (!signature_row(&s->rows[i], a->name, a->type) ||
            (f->inputs && !signature_port(&s->rows[i], &f->inputs[i])))
            return false;
        if (!a->has_default) continue;
        s->defaults[i].v = value_ref(a->default_value);
        s->rows[i].default_value = &s->defaults[i];
    }
    for (size_t i = 0; i < s->nresults; i++)
        if (!signature_row(&s->rows[s->nargs + i],
                           tuple && ret->field_names ? ret->field_names[i] : "",
                           tuple ? ret->elems[i] : ret))
            return false;
    for (size_t i = 0; i < s->noutputs; i++) {
        ctsc_argument *row = &s->rows[s->nargs + s->nresults + i];
        const port *from = &f->outputs[i];
        if (!signature_row(row, from->name, from->type) || !signature_port(row, from)) return false;
    }
    return true;
}

ctsc_status ctsc_module_signature(const ctsc_module *m, const char *method, ctsc_signature **out,
                                  ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    function *f = NULL;
    ctsc_status st = api_method(m, d, method, &f);
    if (st == CTSC_OK) {
        ctsc_signature *s = mem_zalloc(sizeof *s);
        if (s && signature_fill(s, f)) {
            *out = s;
        } else {
            ctsc_signature_free(s);
            st = diag_no_memory(d);
        }
    }
    return api_leave(e, &own, st);
}

static void signature_likely(ctsc_argument *row, int dt) {
    if (row->typed || dt < 0) return;
    row->likely = true;
    row->dtype = (ctsc_dtype)dt;
}

ctsc_status ctsc_signature_find_dtypes(ctsc_signature *s, const ctsc_module *m, const char *method,
                                       ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    function *f = NULL;
    ctsc_status st = api_method(m, d, method, &f);
    if (st != CTSC_OK) return api_leave(e, &own, st);
    size_t n = s->nargs + s->nresults;
    int *found = mem_alloc((n + 1) * sizeof *found);
    if (!found) return api_leave(e, &own, diag_no_memory(d));
    for (size_t i = 0; i < n; i++) found[i] = -1;
    st = s->nargs + 1 == (size_t)f->schema->nargs
             ? wanted_dtypes(f, m->m->root.u.object, found, found + s->nargs, d)
             : diag_fail(d, CTSC_USAGE, "the signature is of another method than '%s'", method);
    for (size_t i = 0; i < n && st == CTSC_OK; i++) signature_likely(&s->rows[i], found[i]);
    mem_free(found);
    return api_leave(e, &own, st);
}

size_t ctsc_signature_argument_count(const ctsc_signature *s) { return s->nargs; }
const ctsc_argument *ctsc_signature_argument(const ctsc_signature *s, size_t i) {
    return i < s->nargs ? &s->rows[i] : NULL;
}
size_t ctsc_signature_result_count(const ctsc_signature *s) { return s->nresults; }
const ctsc_argument *ctsc_signature_result(const ctsc_signature *s, size_t i) {
    return i < s->nresults ? &s->rows[s->nargs + i] : NULL;
}
size_t ctsc_signature_output_count(const ctsc_signature *s) { return s->noutputs; }
const ctsc_argument *ctsc_signature_output(const ctsc_signature *s, size_t i) {
    return i < s->noutputs ? &s->rows[s->nargs + s->nresults + i] : NULL;
}
const char *ctsc_signature_result_class(const ctsc_signature *s) { return s->result_name; }

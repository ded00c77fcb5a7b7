/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_internal.h - what the files of the evaluator's language and of Python's builtins share (the
 * first two groups in py.h).
 */
#ifndef CTSC_FRONTEND_PYEVAL_CORE_PY_INTERNAL_H
#define CTSC_FRONTEND_PYEVAL_CORE_PY_INTERNAL_H

#include "frontend/pyeval/core/py.h"

/* In a builtin: its arguments by parameter, or a return. */
#define PY_TAKE(function, spec, out)                                                               \
    if (!py_bind(p, r, function, spec, PY_GIVEN, out)) return NULL

extern const py_row py_number_types[], py_number_functions[];
/* One method of a builtin type: found by (class, name). */
typedef struct py_method_row {
    const char *type, *name;
    py_builtin_fn fn;
} py_method_row;
extern const py_method_row py_container_methods[], py_string_methods[]; /* end: type NULL */

/* ---- py_object.c */
bool py_step(py *p, source_range r); /* counts a step; false when a limit is reached */
/* the limit is reached: whatever goes on without a diagnostic may stop */
bool py_budget_exhausted(const py *p);
bool py_deeper(py *p, source_range r); /* one level of nesting more; p->depth-- undoes it */
/* p NULL: no error is recorded */
bool py_hash(py *p, source_range r, const py_object *o, uint64_t *out);
py_object *py_dict_find(const py_dict *d, const char *name, size_t len, uint64_t hash);
bool py_same(const py_object *a, const py_object *b); /* a is b */
py_object *py_builtin_class(py *p, const char *name); /* of Python's builtins */
bool py_room(py *p, source_range r, int64_t items);   /* false with a MemoryError for too many */
py_object *py_iterator(py *p, int n, py_object **items);
/* rank: 0 bool, 1 int, 2 float */
bool py_number(const py_object *o, int64_t *i, double *f, int *rank);
py_object *py_dict_object(py *p, py_dict *d);
/* An annotation's value, its text under `from __future__ import annotations`;
 * None: there is none. */
py_object *py_annotation_object(py *p, py_env *env, const expr *x);
/* "torch.nn.x" for ".x" or ".nn.x" in the module
 * `here`; NULL: there are fewer packages around it. */
const char *py_absolute_name(py *p, const char *here, bool is_package, const char *module);
/* `yield v` in a context manager that is a generator: runs the body of the with statement. */
/* A loop (py_sweep.c). from: how many entries p->held had when it began; looked, made: when unused
 * tensors were last looked for, how many it had, and the bytes made. */
typedef struct py_iteration { size_t from, looked; uint64_t made; } py_iteration;
py_iteration py_iteration_begin(const py *p);
void py_iteration_end(py *p, py_iteration *r);
py_object *py_with_yield(py *p, source_range r, struct py_with_body *b, py_object *v);
/* of an instance, without its class's hooks */
py_object *py_find_plain(py *p, source_range r, py_object *o, const char *name);
py_object *py_set_new(py *p);
bool py_set_add(py *p, source_range r, py_object *set, py_object *item);
int64_t py_set_find(py *p, const py_object *set, const py_object *item); /* -1: absent */
/* items were removed or exchanged */
void py_set_moved(py_object *set);
bool py_memory(py *p); /* false, with the diagnostic, if the arena found no memory */

/* ---- py_attribute.c */
/* A method of the class, bound, for dunders; not those of `object`. */
py_object *py_find_special(py *p, py_object *o, const char *name);
bool py_delattr(py *p, source_range r, py_object *o, const char *name);
bool py_set_plain(py *p, source_range r, py_object *o, const char *name,
                  py_object *v); /* object.__setattr__ */

/* ---- py_call.c */
py_object *py_call0(py *p, source_range r, py_object *callee);
py_object *py_call1(py *p, source_range r, py_object *callee, py_object *a);
py_object *py_call2(py *p, source_range r, py_object *callee, py_object *a, py_object *b);
py_object *py_function_new(py *p, py_env *env, const func_def *def);

/* ---- py_class.c */
py_object *py_class_statement(py *p, py_env *env, const class_def *def);
py_object *py_construct(PY_ARGS); /* self: the class */
/* The class of prelude/derived.py that replaces a builtin one as a base; NULL: none. */
const char *py_derived_name(const py_object *cls);
bool py_enum_members(py *p, const py_object *cls, py_object ***items, int *n);
bool py_class_finish(py *p, source_range r, py_object *cls); /* mro, kind */
int py_field_index(const py_class *c, const char *name);     /* of a named tuple; -1: none */

/* ---- exceptions (py_class.c) */
bool py_throw(py *p, source_range r, py_object *exception); /* always false */
/* the exception object of the failure in p->diag; NULL: it cannot be caught */
py_object *py_caught(py *p);

/* ---- py_eval.c */
bool py_assign(py *p, py_env *env, const expr *target, py_object *v);
py_object *py_eval_index(py *p, py_env *env, const expr *x);
bool py_store(py *p, py_env *env, const char *name, py_object *v);
py_env *py_function_env(const py_env *env);
/* py_match.c: E_CAPTURE, E_SHAPE, E_FIELD */
py_object *py_eval_capture(py *p, py_env *env, const expr *x);
py_object *py_eval_shape(py *p, py_env *env, const expr *x);
py_object *py_eval_field(py *p, py_env *env, const expr *x);

/* ---- py_index.c */
bool py_delete_subscript(py *p, source_range r, py_object *o, py_object *index);
bool py_slice_bounds(py *p, source_range r, const py_object *slice, int64_t len, int64_t *start,
                     int64_t *step, int64_t *count);
bool py_contains(py *p, source_range r, py_object *container, py_object *item, bool *out);
int64_t py_range_len(const py_object *o);

/* ---- py_format.c */
bool py_format_value(py *p, source_range r, py_object *o, const char *spec, size_t len,
                     strbuf *out);
py_object *py_format_percent(py *p, source_range r, const py_object *format, py_object *values);
py_object *py_format_fields(py *p, source_range r, const char *format, size_t len, int nargs,
                            py_object **args, int nkw, const char *const *names,
                            py_object **kwargs);
py_object *py_from_buffer(py *p, strbuf *sb); /* frees it */
void py_float_repr(double f, strbuf *out);

/* ---- py_container.c */
py_object *py_sorted(PY_ARGS);
bool py_dict_merge(py *p, source_range r, py_dict *into, py_object *from);

/* ---- py_str.c: characters of UTF-8 text */
size_t py_text_len(const char *s, size_t n);
size_t py_text_at(const char *s, size_t n, size_t index); /* byte offset of a character */
static inline const str *py_str_of(const py_object *o) {
    return o->kind == PY_VALUE && o->u.v.tag == V_STR ? o->u.v.u.str : NULL;
}

/* ---- py_operator.c */
py_object *py_compare(py *p, source_range r, operator_kind op, py_object *a, py_object *b);
bool py_less(py *p, source_range r, py_object *a, py_object *b, bool *out);
py_object *py_inplace(py *p, source_range r, operator_kind op, py_object *a, py_object *b);

/* ---- py_builtin.c, py_import.c */
bool py_builtins_init(py *p);
bool py_objects_init(py *p); /* py_reflect.c */
extern const py_row py_inspect_rows[];
py_object *py_reflect_make(py *p, const char *name); /* one of py_reflect.c's */
py_object *py_module_attribute(py *p, source_range r, py_object *mod,
                               const char *name); /* NULL: none, or an error */
bool py_failed(const py *p);
bool py_hold_source(py *p, source *src_take);
/* py_import without stubs: it raises */
py_object *py_import_found(py *p, source_range r, const char *dotted);

/* ---- py_suggest.c: notes for the failure in p->diag */
/* false: nothing to suggest */
bool py_suggest_attribute(py *p, const py_object *o, const char *name);
void py_suggest_variable(py *p, const py_env *env, const char *name);
void py_suggest_module(py *p, const char *name);
void py_suggest_parameter(py *p, const func_def *def, const char *name);
bool prelude_has(const char *dotted); /* a module, or the beginning of a module's name */

/* ---- layers above the core: modules made in C (lib/) and torch (torch/) ---------------------- */

typedef struct py_library {
    /* Modules. fills mod's globals; false: no such module */
    bool (*builtin_module)(py *p, const char *dotted, py_object *mod);
    /* One of Python's library that can be imported, and whose members fail when they are called. */
    bool (*absent_module)(py *p, const char *dotted, py_object *mod);
    /* Members that such a module makes on demand (torch.relu -> OPERATOR); NULL
     * without an error: none. */
    py_object *(*module_missing)(py *p, py_object *mod, const char *name);
    /* before mod.name = v */
    bool (*module_assigned)(py *p, source_range r, const py_object *mod, const char *name,
                            const py_object *v);
    /* A stub, which replaces a member of an absent module: nothing is an instance
     * of it, classes may derive from it, and it fails when it is called. */
    bool (*is_lacking)(const py_object *o);
    /* the base class that it replaces: one that cannot be initialised */
    py_object *(*lacking_class)(py *p, py_object *o);
    /* Classes and types. */
    bool (*named_tuple_annotate)(py *p, source_range r, py_object *cls,
                                 const py_object *annotations);
    /* An annotation's subscript: List[int], list[int], Optional[T]; o is a PY_TYPE or a builtin
     * class. `int | None` is Union[int, None], made by type_union. */
    py_object *(*type_subscript)(py *p, source_range r, py_object *o, py_object *key);
    py_object *(*type_union)(py *p, source_range r, py_object *a, py_object *b);
    bool (*is_overload)(const py_object *o); /* declared by @torch.jit._overload */
    /* Operators and tensors. */
    /* Calls aten::NAME on objects: overloads in order, with Python's conversions (int to float, one
     * int for int[2], varargs collected into a list, nested lists of numbers left alone). Several
     * results become a tuple. */
    py_object *(*call_operator)(py *p, source_range r, const char *op_name, int nargs,
                                py_object **args, int nkw, const char *const *names,
                                py_object **kwargs);
    /* A file of the program is about to run. */
    void (*source_read)(py *p, const source *src);
    void (*ended)(py *p);                                  /* by py_free */
    void (*set_gradients)(py *p, bool on);                 /* as torch.set_grad_enabled */
    bool (*warn)(py *p, source_range r, const char *text); /* aten::warn; false with the error */
    py_object *(*tensor_take)(py *p, tensor *t);
    py_object *(*from_value)(py *p, value v_take);    /* of the runtime */
    py_object *(*size_take)(py *p, py_object *tuple); /* makes it a torch.Size; NULL stays NULL */
    /* A tensor's attribute or bound method, and assignment to one (t.data = ..., t.requires_grad =
     * ...). NULL without an error: none. */
    py_object *(*tensor_attribute)(py *p, source_range r, py_object *o, const char *name);
    bool (*tensor_setattr)(py *p, source_range r, py_object *o, const char *name, py_object *v);
    /* t[key] and t[key] = v; key is any object: int, slice, None, ellipsis, tuple of these,
     * mask, index tensor. */
    py_object *(*tensor_getitem)(py *p, source_range r, py_object *t, py_object *key);
    bool (*tensor_setitem)(py *p, source_range r, py_object *t, py_object *key, py_object *v);
    /* a op b, where at least one operand is a tensor, by
     * Python's operator: "+", "//", "@", "==", "&"; "+=" and the
     * like work in place. Unary with b NULL: "-", "~", "+". */
    py_object *(*tensor_operator)(py *p, source_range r, const char *op, py_object *a,
                                  py_object *b);
    /* The class of a tensor, device, dtype or other PY_SYMBOL: torch.Tensor, torch.nn.Parameter
     * (param set), torch.device, ... */
    const py_object *(*torch_class)(py *p, const py_object *o);
    /* Tracing: torch/py_trace.h has these. */
    py_object *(*trace_number)(py *p, source_range r, const char *op_name, const py_object *a,
                               const py_object *b, py_object *result);
    bool (*trace_read)(py *p, source_range r, const py_object *o, const char *as);
    bool (*trace_warn)(py *p, source_range r, const char *fmt, ...)
        __attribute__((format(printf, 3, 4)));
    py_object *(*trace_item)(py *p, source_range r, py_object *t, const char *op_name,
                             const char *as);
} py_library;

#endif

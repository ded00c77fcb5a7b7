/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_lib.h - Python's own modules made in C, and what such modules share, torch's included:
 * tables of builtins.
 *
 * Every function of C that Python code can see is one row of a table: its full dotted name and its
 * function. Compiling a function's body asks for those names (source_names.c), so they are as
 * stable as an interface.
 */
#ifndef CTSC_FRONTEND_PYEVAL_LIB_PY_LIB_H
#define CTSC_FRONTEND_PYEVAL_LIB_PY_LIB_H

#include "frontend/pyeval/core/py.h"

#define PY_UNUSED_PARAMS                                                                           \
    (void)p, (void)r, (void)self, (void)nargs, (void)args, (void)nkw, (void)names, (void)kwargs

/* Adds the rows "MODULE.name" of a table to the globals of mod, whose dotted name is MODULE. */
bool py_add_rows(py *p, py_object *mod, const py_row *rows);
bool py_module_set(py *p, py_object *mod, const char *name, py_object *v);
bool py_module_set_take(py *p, py_object *mod, const char *name, py_object *v); /* v NULL: false */
/* of a module that is loaded; NULL: none */
py_object *py_module_member(py *p, const char *module, const char *name);
/* bool, int, float, complex */
bool py_is_number(const py_object *o);
bool py_is_string(const py_object *o);
/* Is o the builtin class of that name ("float"), of Python itself? */
bool py_is_builtin_class(const py_object *o, const char *name);

/* The modules of one file: fills mod and answers true if it is one of them. */
bool py_typing_module(py *p, const char *dotted, py_object *mod); /* py_typing.c */
bool py_math_module(py *p, const char *dotted, py_object *mod);   /* py_math.c */
/* py_classes.c: enum, collections.namedtuple, dataclasses, copy */
bool py_classes_module(py *p, const char *dotted, py_object *mod);
/* py_modules.c: these, and the small ones */
bool py_lib_module(py *p, const char *dotted, py_object *mod);
py_object *py_lib_missing(py *p, py_object *mod, const char *name);
/* a PY_TYPE without subscript */
py_object *py_plain_type(py *p, const char *name);
/* typing.NamedTuple */
py_object *py_named_tuple_base(py *p, py_object *mod);
/* a named tuple's class, without fields so far */
py_object *py_tuple_class(py *p, py_object *mod, const char *name);
/* MODULE.NAME of a module that may be imported only: using it fails, and says so. */
py_object *py_absent(py *p, const char *module, const char *name);

/* Members of py_library. */
bool py_absent_module(py *p, const char *dotted, py_object *mod);
bool py_is_lacking(const py_object *o);
py_object *py_lacking_class(py *p, py_object *o);
bool py_named_tuple_annotate(py *p, source_range r, py_object *cls, const py_object *annotations);
py_object *py_type_subscript(py *p, source_range r, py_object *o, py_object *key);
py_object *py_type_union(py *p, source_range r, py_object *a, py_object *b);

#endif

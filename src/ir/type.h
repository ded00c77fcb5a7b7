/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type.h - the static types of TorchScript.
 *
 * Types are hash-consed: within one process equal structural types are the same pointer, so == is
 * type equality. Structural types that mention no class live in a process-wide table for good;
 * class, enum and interface types, and what is built from them, belong to the unit (ir/unit.h) that
 * declares them, and die with it.
 *
 * Threads: making types takes a lock; reading them needs none.
 * Tests: tests/unit/test_type.c
 */
#ifndef CTSC_IR_TYPE_H
#define CTSC_IR_TYPE_H

#include "base/memory/vec.h"
#include "base/text/strbuf.h"
#include "tensor/value.h"

struct unit;
struct function;

/*    kind        IR text (of the ones without parameters) */
/* clang-format off */
#define TYPE_KINDS(X)                                                                              \
    X(TENSOR, "Tensor")  X(INT, "int")  X(FLOAT, "float")  X(BOOL, "bool")  X(STR, "str")          \
    X(COMPLEX, "complex")  X(NONE, "NoneType")  X(NUMBER, "Scalar")  X(ANY, "Any")                 \
    X(DEVICE, "Device")  X(GENERATOR, "Generator")  X(STORAGE, "Storage")  X(STREAM, "Stream")     \
    X(QSCHEME, "QScheme")  X(FUNCTION, "Function")  X(CAPSULE, "Capsule")                          \
    X(ANY_LIST, "list")  X(ANY_TUPLE, "tuple")  X(ANY_ENUM, "AnyEnumType")                         \
    X(ANY_CLASS, "AnyClassType")                                                                   \
    X(LIST, NULL)  X(OPTIONAL, NULL)  X(UNION, NULL)  X(TUPLE, NULL)  X(DICT, NULL)                \
    X(FUTURE, NULL)  X(RREF, NULL)  X(VAR, NULL)  X(CLASS, NULL)  X(INTERFACE, NULL)  X(ENUM, NULL)
/* clang-format on */

typedef enum type_kind {
#define TYPE_ENUM(k, text) T_##k,
    TYPE_KINDS(TYPE_ENUM)
#undef TYPE_ENUM
    T_KIND_COUNT
} type_kind;

/* What a tensor type may know beyond "Tensor" (all optional): filled by profiling and tracing,
 * printed as Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu). */
typedef struct tensor_info {
    int8_t dtype;         /* -1 unknown */
    int8_t ndim;          /* -1 unknown */
    int8_t requires_grad; /* -1 unknown */
    int8_t device;        /* -1 unknown, 0 cpu, i + 1 cuda:i */
    bool has_strides;
    const int64_t *sizes; /* -1: unknown dim */
    const int64_t *strides;
} tensor_info;

typedef struct attribute {
    const char *name;
    struct type *type;
    bool is_parameter, is_buffer;
} attribute;

typedef struct constant_attribute {
    const char *name;
    value val;
    struct type *type;
} constant_attribute;

/* The rest of a class, interface or enum. */
typedef struct class_info {
    const char *name; /* qualified: "__torch__.torch.nn.modules.linear.Linear" */
    struct unit *unit;
    bool is_module;
    VEC(attribute) attributes;         /* slots of the object, in order */
    VEC(constant_attribute) constants; /* Final ones; enum members */
    VEC(struct function *) methods;
    VEC(struct function *) forward_hooks, forward_pre_hooks;
    struct type *enum_value_type; /* of an enum */
    value *enum_members;          /* of an enum: V_ENUM values parallel to constants */
    /* of a module made from Python source (frontend/program/source.h); else NULL */
    struct module_type *source;
    bool is_dict, is_list; /* a module container: ModuleDict, ModuleList, Sequential, ... */
} class_info;

typedef struct type {
    type_kind kind;
    uint8_t has_var;  /* mentions a type variable (schemas only) */
    uint8_t of_class; /* mentions a class, interface or enum: owned by a unit */
    /* LIST, OPTIONAL, FUTURE, RREF: 1; DICT: 2 (key, value); TUPLE, UNION: any */
    int nelems;
    struct type **elems;
    const char **field_names; /* NamedTuple: nelems names; else NULL */
    /* NamedTuple of a source program: nelems, V_UNINIT where there is none; or NULL */
    const value *field_defaults;
    const char *name;          /* NamedTuple's qualified name; VAR's name */
    const tensor_info *tensor; /* TENSOR with details; NULL: plain Tensor */
    class_info *cls;           /* CLASS, INTERFACE, ENUM */
    struct unit *owner;        /* NULL: process-wide */
    uint64_t hash;
    /* types in it, counting each occurrence; longest chain of them. 0: it has no elements */
    uint32_t weight, depth;
} type;

/* What a program may make: types are walked by recursion, and equal parts are walked each time. */
enum { TYPE_MAX_WEIGHT = 200000, TYPE_MAX_DEPTH = 250 };
static inline bool type_is_huge(const type *t) {
    return t->weight > TYPE_MAX_WEIGHT || t->depth > TYPE_MAX_DEPTH;
}

/* Singletons, valid from the start: type_of_kind(T_INT) and so on for the kinds with a text. */
type *type_of_kind(type_kind k);
#define TYPE_TENSOR type_of_kind(T_TENSOR)
#define TYPE_INT type_of_kind(T_INT)
#define TYPE_FLOAT type_of_kind(T_FLOAT)
#define TYPE_BOOL type_of_kind(T_BOOL)
#define TYPE_STR type_of_kind(T_STR)
#define TYPE_COMPLEX type_of_kind(T_COMPLEX)
#define TYPE_NONE type_of_kind(T_NONE)
#define TYPE_NUMBER type_of_kind(T_NUMBER)
#define TYPE_ANY type_of_kind(T_ANY)
#define TYPE_DEVICE type_of_kind(T_DEVICE)
#define TYPE_FUNCTION type_of_kind(T_FUNCTION)

/* Interning makers. Never NULL: without memory they return Any and set the failed flag of the
 * owning unit (or of the process-wide table; type_table_failed() reads and clears it). */
type *type_list(type *elem);
/* Optional[Optional[T]] is Optional[T]; of a Union: the Union with None */
type *type_optional(type *elem);
/* Flattens, unifies members where one is the other's supertype, sorts as PyTorch does; {T, None} is
 * Optional[T]; one member is that member. */
type *type_union(int n, type *const *elems);
type *type_tuple(int n, type *const *elems);
type *type_named_tuple(struct unit *owner, const char *name, int n, const char *const *fields,
                       type *const *elems);
type *type_dict(type *key, type *val);
type *type_future(type *elem);
type *type_rref(type *elem);
type *type_var(const char *name);
type *type_tensor_details(const tensor_info *info);
/* A new class (T_CLASS), interface or enum; not interned: each call makes a distinct type. */
type *type_class_new(struct unit *owner, type_kind kind, const char *qualified_name);
bool type_table_failed(void);

/* A table of interned types: the process has one, and every unit. For unit.c. */
typedef struct type_table {
    type **slots;
    size_t cap, used;
} type_table;
void type_table_free(type_table *t);

/* Relations. Optional, Union, Any, number, AnyList..., interfaces; why: not reported */
bool type_is_subtype(const type *sub, const type *super);
/* May it be the type of a dict's keys? */
bool type_is_dict_key(const type *t);
static inline bool type_equal(const type *a, const type *b) { return a == b; }
static inline type *type_elem(const type *t) { return t->elems[0]; }
static inline bool type_is_optional(const type *t) { return t->kind == T_OPTIONAL; }
/* Least common type as PyTorch's unifyTypes: NULL if none. with_union: fall back to a
 * Union. T and None give T?; equal element types of tuples, lists only if equal; details of
 * tensors are joined. */
type *type_unify(type *a, type *b, bool with_union);
/* t without what tensor types know beyond "Tensor". */
type *type_without_details(type *t);
/* t without None: T of T?; a Union without None. */
type *type_without_none(type *t);
bool type_admits_none(const type *t); /* NoneType, Optional, Union with None, Any */
/* Would a value of this shape of tag fit statically known type t? Deep check, for arguments from
 * outside and for isinstance. */
bool type_admits_value(const type *t, value v);
/* The same of a value that has just come from outside: a future whose type nobody knows is one of t
 * from now on, and what it gives is checked when it is there. Not for types of a unit, which the
 * value might outlive. */
bool type_takes_value(const type *t, value v);
/* The static type of a value, for constants and for Any. */
type *type_of_value(value v);
/* The same, with what is known of tensors: the type of a constant. */
type *type_of_constant(value v);

/* The bindings of type variables in one call of a schema. */
enum { TYPE_MAX_BINDINGS = 8 };
typedef struct type_bindings {
    int n;
    const char *names[TYPE_MAX_BINDINGS]; /* interned: of type_var */
    type *types[TYPE_MAX_BINDINGS];
} type_bindings;
/* Would an argument of type `actual` fit the formal type, binding variables on the way? */
bool type_match(const type *formal, type *actual, type_bindings *b);
/* formal with its variables replaced; NULL if one is not bound. */
type *type_substitute(type *formal, const type_bindings *b);
list_kind type_list_kind(const type *elem); /* how list_new stores elements of this type */

int class_find_attribute(const type *cls, const char *name); /* slot, -1: none */
const constant_attribute *class_find_constant(const type *cls, const char *name);
struct function *class_find_method(const type *cls, const char *name);
static inline const char *class_name(const type *t) { return t->cls->name; }

/* IR text ("int[]", "Tensor?", "Dict(str, int)", "(int, str)"). */
void type_print(const type *t, strbuf *out);
/* The same inside Dict(...) and Union(...): "Tensor" without details, named
 * tuples by their name. */
void type_print_plain(const type *t, strbuf *out);
/* Python annotation text ("List[int]", "Optional[Tensor]"), as in error messages and code. */
void type_print_python(const type *t, strbuf *out);

#endif

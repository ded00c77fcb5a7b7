/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value.h - what a TorchScript variable holds at run time: a 16-byte tagged union.
 *
 * Scalars live in the union; everything else is a counted payload that starts with a `refs` field.
 * Lists of int, float, bool and Tensor are stored flat; other lists hold values. Strings, tuples
 * and enum members are immutable; lists, dicts and objects are shared and mutable, as in Python.
 *
 * Ownership: a function that returns a value hands over a reference; arguments are borrowed unless
 * the name ends in _take. value_unref on a scalar does nothing.
 * Types: containers remember their static element type as an opaque `struct type *` (owned by
 * ir/type.h, which sits above this folder), for isinstance on values of type Any and for printing.
 * Tests: tests/unit/test_value.c
 */
#ifndef CTSC_TENSOR_VALUE_H
#define CTSC_TENSOR_VALUE_H

#include "base/memory/refs.h"
#include "tensor/tensor.h"

struct type;     /* ir/type.h */
struct function; /* ir/unit.h */

typedef enum value_tag {
    V_NONE, /* None; all-zero bits */
    V_BOOL,
    V_INT,
    V_FLOAT,
    V_DEVICE,   /* u.device: "cpu" (0), "cuda:i" (i + 1), "cuda" (VALUE_DEVICE_CUDA) */
    V_FUNCTION, /* u.function, not counted: functions live as long as their unit */
    V_UNINIT,   /* prim::Uninitialized: never read by a correct program */
    V_COMPLEX,  /* counted from here on */
    V_STR,
    V_TENSOR,
    V_LIST,
    V_DICT,
    V_TUPLE,
    V_OBJECT,
    V_ENUM,
    V_FUTURE,
    V_CAPSULE, /* an opaque host object, or a generator */
} value_tag;

enum { VALUE_DEVICE_CUDA = -1 };

typedef struct value {
    uint8_t tag; /* enum value_tag */
    union {
        bool b;
        int64_t i;
        double f;
        int64_t device;
        struct function *function;
        struct complex_box *complex;
        struct str *str;
        struct tensor *tensor;
        struct list *list;
        struct dict *dict;
        struct tuple *tuple;
        struct object *object;
        struct enum_value *enumv;
        struct future *future;
        struct capsule *capsule;
        atomic_int *refs; /* of any counted payload */
    } u;
} value;

_Static_assert(sizeof(value) == 16, "value is two words");

typedef struct complex_box { atomic_int refs; double re, im; } complex_box;

typedef struct str {
    atomic_int refs;
    size_t len;
    char bytes[]; /* UTF-8 as a rule, any bytes in fact; NUL-terminated */
} str;

typedef enum list_kind { LIST_VALUE, LIST_INT, LIST_FLOAT, LIST_BOOL, LIST_TENSOR } list_kind;

typedef struct list {
    atomic_int refs;
    uint8_t kind; /* enum list_kind: which member of `u` */
    size_t len, cap;
    struct type *elem; /* static element type; NULL: unknown */
    union {
        value *values;
        int64_t *ints;
        double *floats;
        bool *bools;
        tensor **tensors;
        void *raw;
    } u;
} list;

typedef struct dict_entry {
    value key; /* tag V_UNINIT: a deleted entry */
    value val;
    uint64_t hash;
} dict_entry;

/* Insertion-ordered. Live entries in order: entries[0..used) whose key is not V_UNINIT. */
typedef struct dict {
    atomic_int refs;
    size_t len, used, cap; /* live entries, entries with holes, room */
    struct type *key_type, *val_type;
    dict_entry *entries;
    int32_t *index; /* open addressing, nindex slots; -1 empty */
    size_t nindex;
} dict;

typedef struct tuple {
    atomic_int refs;
    size_t len;
    struct type *type; /* of a NamedTuple; NULL for a plain one */
    value items[];
} tuple;

typedef struct object {
    atomic_int refs;
    struct type *cls; /* a class type */
    size_t nslots;
    value slots[]; /* in the class's attribute order; V_UNINIT: not assigned yet */
} object;

typedef struct enum_value {
    atomic_int refs;
    struct type *cls;
    const char *name; /* owned by the type */
    value val;
} enum_value;

/* Where the result of a future comes from that no body of the program makes. */
typedef struct future_source {
    /* Until the result is there; *out: a new reference. From any thread, as often as asked. */
    ctsc_status (*wait)(struct future_source *s, value *out, diag *d);
    void (*free)(struct future_source *s);
    struct type *elem; /* what the result is, which outlives the source; NULL: not known */
} future_source;

/* source NULL: the result of a fork. */
typedef struct future {
    atomic_int refs;
    bool done;
    value result;
    diag error;
    future_source *source; /* owned */
} future;

typedef struct capsule {
    atomic_int refs;
    const char *kind;
    void *ptr;
    void (*free)(void *ptr);
} capsule;
/* kind: an object of a class that is unknown, from a file; ptr: the class's name */
extern const char capsule_opaque[];

static inline bool value_is_counted(value v) { return v.tag >= V_COMPLEX; }
static inline value value_ref(value v) {
    if (value_is_counted(v)) atomic_fetch_add_explicit(v.u.refs, 1, memory_order_relaxed);
    return v;
}
void value_free_payload(value v);
static inline void value_unref(value v) {
    if (value_is_counted(v) && refs_drop(v.u.refs)) value_free_payload(v);
}
/* Stores v (whose reference is taken) into a slot, releasing what was there. */
static inline void value_set(value *slot, value v) {
    value old = *slot;
    *slot = v;
    value_unref(old);
}

/* Types that belong to a loaded program are kept alive by the values that mention them.
 * ir/type.c installs these; NULL types are fine. */
extern void (*value_type_ref)(struct type *t);
extern void (*value_type_unref)(struct type *t);
/* The qualified name of a class or enum type, for printing. */
extern const char *(*value_type_name)(const struct type *t);

static inline value value_none(void) { return (value){.tag = V_NONE}; }
static inline value value_uninit(void) { return (value){.tag = V_UNINIT}; }
static inline value value_bool(bool b) { return (value){.tag = V_BOOL, .u.b = b}; }
static inline value value_int(int64_t i) { return (value){.tag = V_INT, .u.i = i}; }
static inline value value_float(double f) { return (value){.tag = V_FLOAT, .u.f = f}; }
static inline value value_device(int64_t d) {
    /* operators that are given one make the first tensor there */
    if (d) tensor_note_kind(TENSOR_KIND_DEVICE);
    return (value){.tag = V_DEVICE, .u.device = d};
}
static inline value value_tensor_take(tensor *t) { return (value){.tag = V_TENSOR, .u.tensor = t}; }
static inline value value_list_take(list *l) { return (value){.tag = V_LIST, .u.list = l}; }
static inline value value_dict_take(dict *d) { return (value){.tag = V_DICT, .u.dict = d}; }
static inline value value_tuple_take(tuple *t) { return (value){.tag = V_TUPLE, .u.tuple = t}; }
static inline value value_str_take(str *s) { return (value){.tag = V_STR, .u.str = s}; }
static inline value value_object_take(object *o) { return (value){.tag = V_OBJECT, .u.object = o}; }
static inline value value_enum_take(enum_value *e) { return (value){.tag = V_ENUM, .u.enumv = e}; }

/* Makers: NULL if out of memory. */
str *str_new(const char *bytes, size_t len);
str *str_new_raw(size_t len); /* bytes to be filled in; terminated */
list *list_new(list_kind kind, struct type *elem, size_t reserve);
dict *dict_new(struct type *key, struct type *val);
tuple *tuple_new(size_t len, struct type *named);    /* items start as None */
object *object_new(struct type *cls, size_t nslots); /* slots start as V_UNINIT */
enum_value *enum_new(struct type *cls, const char *name, value val_take);
complex_box *complex_new(double re, double im);

/* Lists. Indices must be in range (the operators do Python's wrapping and checking). */
value list_get(const list *l, size_t i);        /* a new reference */
void list_set_take(list *l, size_t i, value v); /* v must fit the kind */
bool list_append_take(list *l, value v);        /* false: out of memory (v is released) */
bool list_insert_take(list *l, size_t i, value v);
value list_remove_at(list *l, size_t i); /* the element, whose reference moves out */
bool list_reserve(list *l, size_t n);
void list_free_items(list *l); /* clears it and gives its memory back */
void list_clear(list *l);
bool list_fits(list_kind kind, value v);

/* Dicts. Keys are int, float, bool, str, complex, Device or Tensor (by identity). */
bool dict_get(const dict *d, value key, value *out); /* borrowed in *out; false: absent */
bool dict_set_take(dict *d, value key, value val);   /* false: out of memory (both are released) */
bool dict_delete(dict *d, value key);                /* false: absent */
void dict_clear(dict *d);

/* Python's ==: containers element by element; objects by identity; tensors by identity (an operator
 * compares their elements). */
bool value_equal(value a, value b);
/* x is y. */
bool value_is(value a, value b);
/* A copy with tensors, lists, tuples and dicts of its own; objects are shared. */
ctsc_status value_clone(diag *d, value v, value *out);
/* Deep comparison with tolerance: what `ctsc run --expect` needs. Explains the first
 * difference into why. */
bool value_close(value got, value want, double rtol, double atol, strbuf *why);

/* ---- printing (print.c) ---------------------------------------------------------------------- */

/* What print(v) and format("{}", v) write: strings bare, also inside containers; floats as C++ does
 * with 17 digits ("0.10000000000000001", "1."), tensors as PyTorch's C++ printer. */
void value_print(value v, strbuf *out);
/* A float constant in a graph or in code: "3.", "-0.", "10000000000", "1e+17". */
void print_float(double f, strbuf *out);
/* PyTorch's C++ tensor text, with the closing "[ CPUFloatType{2,3} ]" line. */
void tensor_print(const tensor *t, strbuf *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle_internal.h - the unpickling machine, as its two files see it.
 *
 * pickle.c       opcodes, stack, memo, limits
 * pickle_make.c  the constructors a pickle may name, and what they make
 */
#ifndef CTSC_RUNTIME_ARCHIVE_PICKLE_INTERNAL_H
#define CTSC_RUNTIME_ARCHIVE_PICKLE_INTERNAL_H

#include "runtime/archive/archive_internal.h"

enum {
    PICKLE_MAX_DEPTH = 512,     /* nesting of the result: everything that walks it recurses */
    PICKLE_MAX_NODES = 4000000, /* strings, containers, tensors made */
    PICKLE_MAX_STACK = 16000000,
    PICKLE_MAX_MEMO = 1000000,
    PICKLE_MAX_STRING = 64 << 20,
    /* size of the result with shared parts counted each time: what a walk over it costs */
    PICKLE_MAX_WEIGHT = 1 << 26,
};

/* An entry of the stack and the memo: a value, and what is known about its size. */
typedef struct pickle_item {
    value v;
    uint32_t id; /* a list, dict or object under construction: containers[id - 1]; else 0 */
    uint32_t weight;
    uint16_t depth;
    /* is, or is a tuple with, something that exists inside pickles only (a
     * constructor, a storage) */
    bool special;
} pickle_item;

/* A container can be filled until it is put into another one. CPython and PyTorch fill first unless
 * a structure contains itself, so this rule refuses exactly the cycles, which counted references
 * could not free. */
typedef struct pickle_container {
    uint32_t weight;
    uint16_t depth;
    bool sealed;
    bool unbuilt; /* an object that has no attributes yet */
} pickle_container;

typedef struct pickle_vm {
    diag *d;
    const char *record;
    const uint8_t *p;
    size_t len, pos;
    size_t at; /* offset of the running opcode */
    const unpickle_host *host;
    VEC(pickle_item) stack;
    VEC(size_t) marks;
    VEC(pickle_item) memo; /* V_UNINIT: not set */
    VEC(pickle_container) containers;
    size_t nodes, puts;
    bool stopped;
} pickle_vm;

/* Things that exist inside pickles only travel as capsules of these kinds. */
extern const char pickle_kind_global[];       /* ptr: const pickle_global */
extern const char pickle_kind_class[];        /* ptr: type */
extern const char pickle_kind_storage[];      /* ptr: pickled_storage */
extern const char pickle_kind_storage_type[]; /* ptr: const dtype_info in dtype_table */

typedef struct pickled_storage {
    storage *s;
    dtype dt;
    uint64_t numel;
} pickled_storage;

/* A damaged or refused pickle: "RECORD, offset N: ...". */
ctsc_status pickle_bad(pickle_vm *vm, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
ctsc_status pickle_unsupported(pickle_vm *vm, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* One more node made; fails at the limit. */
ctsc_status pickle_count(pickle_vm *vm);
/* ptr's ownership passes on success and on failure alike. */
ctsc_status pickle_capsule(pickle_vm *vm, const char *kind, void *ptr, void (*free)(void *ptr),
                           value *out);
/* v as a capsule of that kind: its pointer, else NULL. */
void *pickle_capsule_of(value v, const char *kind);

/* What GLOBAL names: a capsule, or a plain value (a dtype). module and name are NUL-terminated. */
ctsc_status pickle_global_find(pickle_vm *vm, const char *module, const char *name, value *out,
                               bool *special);
/* REDUCE: fn(args). args is borrowed. *fresh: the result is a new container that may still be
 * filled. */
ctsc_status pickle_reduce(pickle_vm *vm, value fn, value args, value *out, bool *fresh);
/* BINPERSID: the storage capsule a tuple names. */
ctsc_status pickle_persistent(pickle_vm *vm, value id, value *out);
/* A finished list gets the flat kind its elements allow: [1, 2] is an int list. */
ctsc_status pickle_settle_list(pickle_vm *vm, list *l);
/* Gives l the kind and element type (NULL: unknown) where its elements fit the kind; else false
 * with *ok. */
ctsc_status list_retype(diag *d, list *l, list_kind kind, type *elem, bool *ok);
void dict_set_types(dict *di, type *key, type *val);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irgen_special.h - the forms of call with rules of their own: between irgen_builtin.c, which names
 * them, and irgen_special.c, which emits them.
 */
#ifndef CTSC_FRONTEND_IRGEN_IRGEN_SPECIAL_H
#define CTSC_FRONTEND_IRGEN_IRGEN_SPECIAL_H

#include "frontend/irgen/irgen.h"

/* Forms that are not operators.
 *    form            what it is */
/* clang-format off */
#define SPECIAL_FORMS(X)                                                                           \
    X(ANNOTATE)       /* annotate(T, v) */                                                         \
    X(CAST_TYPE)      /* typing.cast(T, v): v itself */                                            \
    X(UNCHECKED_CAST) /* unchecked_cast(T, v) */                                                   \
    X(UNINITIALIZED)  /* uninitialized(T) */                                                       \
    X(ISINSTANCE) X(GETATTR) X(HASATTR) X(PRINT) X(FORK)                                           \
    X(RANGE) X(ENUMERATE) X(ZIP) X(REVERSED) X(SLICE) X(MAP) X(FILTER)                             \
    X(LIST) X(TUPLE) X(DICT)                                                                       \
    X(INT) X(FLOAT) X(BOOL) X(STR) X(COMPLEX)                                                      \
    X(TENSOR_CAST)    /* x.float(): value, name */                                                 \
    X(TOLIST)         /* x.tolist(): value */                                                      \
    X(TENSOR_GETITEM) /* x.__getitem__(i): value */                                                \
    X(MAGIC)          /* name: an operator, or a class's method: len, round, ... */                \
    X(HELPER)         /* name: of builtin_helper */                                                \
    X(ROUND) X(SUM) X(MINMAX) X(SORTED)                                                            \
    X(TRUE) X(FALSE)  /* torch.jit.is_scripting() */                                               \
    X(IDENTITY)       /* a decorator's or marker's call: its only argument */                      \
    X(TYPED_TENSOR)   /* torch.FloatTensor: name: the dtype's */                                   \
    X(DEVICE) X(WARN)
/* clang-format on */

enum special_form {
    SPECIAL_NONE,
#define SPECIAL_ENUM(k) SPECIAL_##k,
    SPECIAL_FORMS(SPECIAL_ENUM)
#undef SPECIAL_ENUM
};

sugar *irgen_map(emitter *e, const expr *call, bool filters); /* irgen_map.c */

#endif

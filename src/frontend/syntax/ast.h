/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ast.h - the parser's output: the Python subset of TorchScript as a tree.
 *
 * The same tree serves the code in archives and scripts written by people; what archives never hold
 * (f-strings, decorators, comprehension conditions, ...) is parsed all the same, and it
 * is the typing that accepts or refuses. Every node knows its source range.
 *
 * Ownership: the tree lives in the arena given to the parser, strings included; sources are
 * held by the unit.
 * Tests: tests/unit/test_parser.c
 */
#ifndef CTSC_FRONTEND_SYNTAX_AST_H
#define CTSC_FRONTEND_SYNTAX_AST_H

#include "base/diag.h"
#include "base/map.h"
#include "base/memory/mem.h"
#include "base/memory/vec.h"

typedef struct expr expr;
typedef struct stmt stmt;

/*    kind          fields used */
/* clang-format off */
#define EXPR_KINDS(X)                                                                              \
    X(NAME)         /* name */                                                                     \
    X(INT)          /* i */                                                                        \
    X(FLOAT)        /* f */                                                                        \
    X(IMAGINARY)    /* f: the literal 2j */                                                        \
    X(STR)          /* s, slen: adjacent literals joined, escapes resolved */                      \
    X(FSTRING)      /* items: STR and FORMAT parts in turn */                                      \
    X(FORMAT)       /* a: the expression; name: conversion "r"/"s" or NULL; s: format spec or NULL */ \
    X(TRUE) X(FALSE) X(NONE) X(ELLIPSIS)                                                           \
    X(UNARY)        /* op, a: - + ~ not */                                                         \
    X(BINARY)       /* op, a, b */                                                                 \
    X(BOOLOP)       /* op: and / or; a, b */                                                       \
    X(COMPARE)      /* op, a, b; one comparison */                                                 \
    X(CHAIN)        /* a < b < c: items = operands, ops = operators (n-1) */                       \
    X(TERNARY)      /* a if b else c */                                                            \
    X(ATTR)         /* a.name */                                                                   \
    X(SUBSCRIPT)    /* a[items...]; a tuple index is spread over items (`tuple_index` set) */      \
    X(SLICE)        /* a:b:c inside a subscript; each may be NULL */                               \
    X(CALL)         /* a(items..., kwargs...) */                                                   \
    X(STARRED)      /* *a */                                                                       \
    X(TUPLE)        /* items */                                                                    \
    X(LIST)         /* items */                                                                    \
    X(DICT)         /* keys, items (values) */                                                     \
    X(SET)          /* items; refused by typing */                                                 \
    X(LIST_COMP)    /* [a for target in b if conds...]: a, target, b, items = conditions; c: the   \
                     * next clause (target, b, items, c), or NULL */                               \
    X(DICT_COMP)    /* {keys[0]: a for target in b if ...} */                                      \
    X(SET_COMP)     /* {a for target in b if ...}; refused by typing, as are the next three */     \
    X(YIELD)        /* a or NULL */                                                                \
    X(YIELD_FROM)   /* a */                                                                        \
    X(UNPACK)       /* **a in a dictionary: key and item */                                        \
    X(GENERATOR)    /* (a for target in b if ...) as a call's argument */                          \
    X(LAMBDA)       /* params, a; i: it yields */                                                  \
    X(WALRUS)       /* (name := a) */                                                              \
    /* of match statements (parser_match.c), in conditions: */                                     \
    X(CAPTURE)      /* name = a; always true */                                                    \
    X(SHAPE)        /* is a a "sequence" of i elements (tuple_index: or more), or a "mapping" (name)? */ \
    X(FIELD)        /* the i-th positional field of a, an instance of class b */                   \
    X(UNSUPPORTED)  /* s: why. Python that nothing here runs */
/* clang-format on */

typedef enum expr_kind {
#define EXPR_ENUM(k) E_##k,
    EXPR_KINDS(EXPR_ENUM)
#undef EXPR_ENUM
    E_KIND_COUNT
} expr_kind;

/* Operators; the text is Python's. */
/* clang-format off */
#define OPERATORS(X)                                                                               \
    X(ADD, "+") X(SUB, "-") X(MUL, "*") X(DIV, "/") X(FLOORDIV, "//") X(MOD, "%") X(POW, "**")     \
    X(MATMUL, "@") X(AND, "&") X(OR, "|") X(XOR, "^") X(LSHIFT, "<<") X(RSHIFT, ">>")              \
    X(EQ, "==") X(NE, "!=") X(LT, "<") X(LE, "<=") X(GT, ">") X(GE, ">=")                          \
    X(IS, "is") X(ISNOT, "is not") X(IN, "in") X(NOTIN, "not in")                                  \
    X(BOOL_AND, "and") X(BOOL_OR, "or") X(NOT, "not") X(NEG, "-") X(POS, "+") X(INVERT, "~")
/* clang-format on */

typedef enum operator_kind {
#define OPERATOR_ENUM(k, text) O_##k,
    OPERATORS(OPERATOR_ENUM)
#undef OPERATOR_ENUM
    O_COUNT
} operator_kind;

typedef VEC(expr *) expr_list;

typedef struct keyword {
    const char *name; /* NULL: **value */
    expr *value;
    source_range range;
} keyword;

typedef struct param {
    const char *name;
    expr *annotation;     /* or NULL */
    expr *default_value;  /* or NULL */
    bool kwarg_only;      /* after `*` */
    bool star, star_star; /* *args, **kwargs */
    source_range range;
} param;

struct expr {
    expr_kind kind;
    operator_kind op;
    source_range range;
    /* PyTorch places a node made from an operator or a call at this range: for a + b the operator's
     * whole expression. Filled with the place that PyTorch prints in "# file:line:col". */
    const char *name; /* interned */
    int64_t i;
    double f;
    const char *s;
    size_t slen;
    bool tuple_index; /* SUBSCRIPT: x[a, b] */
    bool parenthesised;
    expr *a, *b, *c;
    expr *target;
    expr_list items, keys;
    VEC(operator_kind) ops;
    VEC(keyword) kwargs;
    VEC(param) params;
};

/* clang-format off */
#define STMT_KINDS(X)                                                                              \
    X(EXPR)         /* value */                                                                    \
    X(ASSIGN)       /* targets (several: a = b = v), value */                                      \
    X(ANN_ASSIGN)   /* targets[0] : annotation = value (value may be NULL) */                      \
    X(AUG_ASSIGN)   /* targets[0] op= value */                                                     \
    X(IF)           /* value (condition), body, orelse */                                          \
    X(WHILE)        /* value, body, orelse */                                                      \
    X(FOR)          /* targets[0] in value, body, orelse */                                        \
    X(RETURN)       /* value or NULL */                                                            \
    X(RAISE)        /* value or NULL, cause */                                                     \
    X(ASSERT)       /* value, message or NULL */                                                   \
    X(PASS) X(BREAK) X(CONTINUE)                                                                   \
    X(DELETE)       /* targets */                                                                  \
    X(WITH)         /* items: with_items, body */                                                  \
    X(DEF)          /* def */                                                                      \
    X(CLASS)        /* cls */                                                                      \
    X(IMPORT)       /* imports */                                                                  \
    X(GLOBAL)       /* names in targets */                                                         \
    X(TRY)          /* body, handlers, orelse, final; refused by typing */
/* clang-format on */

typedef enum stmt_kind {
#define STMT_ENUM(k) S_##k,
    STMT_KINDS(STMT_ENUM)
#undef STMT_ENUM
    S_KIND_COUNT
} stmt_kind;

typedef VEC(stmt *) stmt_list;

typedef struct func_def {
    const char *name;
    VEC(param) params;
    expr *returns; /* annotation or NULL */
    stmt_list body;
    expr_list decorators;
    /* "(Tensor, int) -> Tensor" of "# type: ..." under the def line, or NULL */
    const char *type_comment;
    const char *docstring;
    source_range range; /* of the whole definition */
    source_range name_range;
    source *src;
    bool is_generator; /* it yields */
} func_def;

typedef struct class_def {
    const char *name;
    expr_list bases;
    VEC(keyword) keywords; /* except for metaclass */
    stmt_list body;        /* ASSIGN, ANN_ASSIGN, DEF, EXPR (docstrings), PASS */
    expr_list decorators;
    source_range range;
} class_def;

typedef struct with_item { expr *context, *target; } with_item;

typedef struct import_name {
    const char *module; /* "torch.nn"; NULL in "from . import" */
    const char *name;   /* of "from module import name"; NULL for "import module"; "*" */
    const char *alias;  /* as ...; or NULL */
} import_name;

typedef struct except_handler {
    expr *type;       /* NULL: everything */
    const char *name; /* as ...; or NULL */
    stmt_list body;
} except_handler;

struct stmt {
    stmt_kind kind;
    bool nonlocal; /* GLOBAL */
    operator_kind op;
    source_range range;
    expr_list targets;
    expr *value, *annotation, *message, *cause;
    const char *type_comment; /* of "x = []  # type: List[int]", or NULL */
    stmt_list body, orelse, final;
    VEC(except_handler) handlers;
    VEC(with_item) items;
    VEC(import_name) imports;
    func_def *def;
    class_def *cls;
};

/* Parses a whole file. Nesting is capped (PARSE_MAX_DEPTH): deeper text is an error, not
 * a stack overflow.
 * Errors: CTSC_FAILED with the range. */
enum { PARSE_MAX_DEPTH = 200 };
ctsc_status parse_module(diag *d, arena *a, interner *names, source *src, stmt_list *out);
/* Parses one expression (a type comment, an f-string part). */
ctsc_status parse_expression(diag *d, arena *a, interner *names, source *src, uint32_t begin,
                             uint32_t end, expr **out);
const char *operator_text(operator_kind op);

#endif

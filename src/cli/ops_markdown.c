/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ops_markdown.c - ctsc ops --markdown: docs/operators.md, a table of operators per family.
 *
 * A row is an overload; it names the overloads derived
 * from it. The dtypes are found by running the operator.
 * Tests: tests/run.py (group docs)
 */
#include "cli/ops.h"
#include "ctsc_compiler.h"

#include <stdlib.h>
#include <string.h>

typedef struct markdown_row {
    /* base: NULL or the key it is derived from; also: what is derived from it, ", a, b" */
    char *key, *schema, *base, *also;
    const char *family, *how, *alias, *fusible;
} markdown_row;

typedef struct markdown { markdown_row *rows; size_t n, cap; bool failed; } markdown;

static void markdown_visit(void *ctx, const ctsc_operator_detail *o) {
    markdown *m = ctx;
    if (!o->supported || m->failed) return;
    if (m->n == m->cap) {
        size_t cap = m->cap ? 2 * m->cap : 4096;
        markdown_row *more = realloc(m->rows, cap * sizeof *more);
        m->failed = !more;
        if (!more) return;
        m->rows = more;
        m->cap = cap;
    }
    markdown_row *r = &m->rows[m->n];
    *r = (markdown_row){strdup(o->key), strdup(o->schema), o->base ? strdup(o->base) : NULL,
                        NULL,           o->family,         o->how,
                        o->alias,       o->fusible};
    m->failed = !r->key || !r->schema || (o->base && !r->base);
    m->n++;
}

static markdown_row *markdown_find(const markdown *m, const char *key) {
    for (size_t i = 0; i < m->n; i++)
        if (!strcmp(m->rows[i].key, key)) return &m->rows[i];
    return NULL;
}

/* The row with its own function that r follows from; r itself if it has one. */
static markdown_row *markdown_root(const markdown *m, markdown_row *r) {
    for (int depth = 0; r && r->base && depth < 8; depth++) r = markdown_find(m, r->base);
    return r;
}

static const char *markdown_short(const char *key) {
    return strncmp(key, "aten::", 6) ? key : key + 6;
}

static void markdown_fold(markdown *m) {
    for (size_t i = 0; i < m->n && !m->failed; i++) {
        markdown_row *root = m->rows[i].base ? markdown_root(m, &m->rows[i]) : NULL;
        if (!root || root == &m->rows[i]) continue;
        const char *name = markdown_short(m->rows[i].key);
        size_t have = root->also ? strlen(root->also) : 0, room = have + strlen(name) + 3;
        char *also = realloc(root->also, room);
        m->failed = !also;
        if (!also) return;
        snprintf(also + have, room - have, "%s%s", have ? ", " : "", name);
        root->also = also;
    }
}

/* ---- printing -------------------------------------------------------------------------------- */

#define BIT(d) (UINT32_C(1) << (d))

/* Groups first: what is left of them follows by brief names. */
static const struct { uint32_t bits; const char *name; } markdown_dtypes[] = {
    {BIT(CTSC_BOOL), "bool"},
    {BIT(CTSC_UINT8) | BIT(CTSC_INT8) | BIT(CTSC_INT16) | BIT(CTSC_INT32) | BIT(CTSC_INT64), "int"},
    {BIT(CTSC_FLOAT16) | BIT(CTSC_BFLOAT16) | BIT(CTSC_FLOAT32) | BIT(CTSC_FLOAT64), "float"},
    {BIT(CTSC_COMPLEX64) | BIT(CTSC_COMPLEX128), "complex"},
};

static const ctsc_dtype markdown_order[] = {
    CTSC_UINT8,    CTSC_INT8,    CTSC_INT16,   CTSC_INT32,     CTSC_INT64,     CTSC_FLOAT16,
    CTSC_BFLOAT16, CTSC_FLOAT32, CTSC_FLOAT64, CTSC_COMPLEX64, CTSC_COMPLEX128};

static void markdown_print_dtypes(uint32_t bits) {
    const char *comma = "";
    for (size_t i = 0; i < sizeof markdown_dtypes / sizeof *markdown_dtypes; i++) {
        if ((bits & markdown_dtypes[i].bits) != markdown_dtypes[i].bits) continue;
        bits &= ~markdown_dtypes[i].bits;
        printf("%s%s", comma, markdown_dtypes[i].name);
        comma = " ";
    }
    for (size_t i = 0; i < sizeof markdown_order / sizeof *markdown_order; i++) {
        if (!(bits & BIT(markdown_order[i]))) continue;
        printf("%s%s", comma, ctsc_dtype_describe(markdown_order[i])->brief);
        comma = " ";
    }
}

/* A schema may hold the bar that separates cells. */
static void markdown_print_cell(const char *text) {
    for (; *text; text++) printf(*text == '|' ? "\\|" : "%c", *text);
}

static void markdown_print_row(const markdown_row *r) {
    printf("| `");
    markdown_print_cell(markdown_short(r->schema));
    printf("` | ");
    markdown_print_dtypes(ctsc_operator_dtypes(r->key));
    printf(" | %s | %s | %s | %s |\n", r->alias, r->fusible ? r->fusible : "", r->how,
           r->also ? r->also : "");
}

static void markdown_print_family(const markdown *m, const char *family) {
    bool begun = false;
    for (size_t i = 0; i < m->n; i++) {
        if (m->rows[i].base || strcmp(m->rows[i].family, family)) continue;
        if (!begun)
            printf("\n## %c%s\n\n| operator | dtypes | results | fused | how | also |\n| --- | --- "
                   "| --- | --- | --- | --- |\n",
                   family[0] >= 'a' && family[0] <= 'z' ? family[0] - 'a' + 'A' : family[0],
                   family + 1);
        begun = true;
        markdown_print_row(&m->rows[i]);
    }
}

static const char markdown_head[] =
    "<!-- Made by `make docs` from the tables of src/ir/ops; changes here are lost. -->\n"
    "# The operators of ctsc\n\n"
    "One row per overload; `ctsc ops --coverage` counts them against PyTorch's, `ctsc ops "
    "--missing` lists what is not there.\n\n"
    "- *operator*: its schema, in PyTorch's notation; `aten::` is left out.\n"
    "- *dtypes*: with which it works, found by running it on small tensors of each dtype: `int` is "
    "u8 to i64, `float` f16, bf16, f32 and f64,\n"
    "  `complex` c64 and c128. Empty: no tensors, or arguments of a form that the search does not "
    "make.\n"
    "- *results*: `new` memory, a `view` of an argument (or the argument itself), written `in "
    "place`, written to an `out` argument.\n"
    "- *fused*: as what it becomes part of native kernels (FUSE in src/ir/ops).\n"
    "- *how*: a `kernel` in C, `TorchScript` (src/frontend/prelude/operators.py), or `bytecode` "
    "instructions.\n"
    "- *also*: the overloads that follow from it: in place, `out=`, other names, copies of views "
    "(src/ir/op/op_derive.c).\n\n"
    "All run on the CPU; `ctsc inspect --device cuda MODEL` lists those of a model that have no "
    "version for CUDA.\n";

int ops_markdown(void) {
    markdown m = {0};
    ctsc_operator_details(markdown_visit, &m);
    if (!m.failed) markdown_fold(&m);
    if (!m.failed) {
        fputs(markdown_head, stdout);
        const char *family;
        for (int i = 0; (family = ctsc_operator_family(i)); i++) markdown_print_family(&m, family);
    }
    for (size_t i = 0; i < m.n; i++) {
        free(m.rows[i].key);
        free(m.rows[i].schema);
        free(m.rows[i].base);
        free(m.rows[i].also);
    }
    free(m.rows);
    return m.failed ? cli_complain(CTSC_LIMIT, "out of memory") : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_rows.c - finds the row of an operator, and makes the call that a template describes:
 *
 *     aten::elu $0 @f:alpha=1
 *
 * The overload's key, then its arguments by position; those that are left out are its defaults.
 *
 *     $N          input N as a tensor
 *     ?N          the same, or None where it is left out
 *     @T:NAME=X   attribute NAME, else X (a number, a word, "none"); without "=X" it has to be there. T: i int, b bool (an
 *                 int in the file), f float, s text, l ints
 *     word        a number, true, false, none
 */
#include "base/text/text.h"
#include "frontend/onnx/onnx_internal.h"

#include <stdlib.h>

static const onnx_row rows[] = {
#define ONNX_ROW(name, since, fn, text, shape) {"", name, since, fn, text, shape},
#define ONNX_TEMPLATE(name, since, text, shape) {"", name, since, NULL, text, shape},
#include "frontend/onnx/onnx_rows.def"
#undef ONNX_ROW
#undef ONNX_TEMPLATE
#define ONNX_ROW(name, since, fn, text, shape) {"com.microsoft", name, since, fn, text, shape},
#define ONNX_TEMPLATE(name, since, text, shape) {"com.microsoft", name, since, NULL, text, shape},
#include "frontend/onnx/onnx_contrib.def"
#undef ONNX_ROW
#undef ONNX_TEMPLATE
};
enum { ROWS = sizeof rows / sizeof *rows };

const onnx_row *onnx_find_row(const char *domain, const char *name, int opset, int *since) {
    const onnx_row *best = NULL;
    for (int i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].name, name) || strcmp(rows[i].domain, domain)) continue;
        if (!*since || rows[i].since < *since) *since = rows[i].since;
        if (rows[i].since <= opset && (!best || rows[i].since > best->since)) best = &rows[i];
    }
    return best;
}

/* ---- arguments ------------------------------------------------------------------------------- */

static ir_value *template_number(onnx_program *p, const char *text, char type) {
    char *end;
    if (!strcmp(text, "none")) return onnx_none(p);
    if (!strcmp(text, "true")) return onnx_bool(p, true);
    if (!strcmp(text, "false")) return onnx_bool(p, false);
    double f = text_double(text, &end);
    if (type == 'i' || (type != 'f' && !strpbrk(text, ".e"))) return onnx_int(p, (int64_t)f);
    return onnx_float(p, f);
}

/* "0,2,3" */
static ir_value *template_ints(onnx_program *p, const char *text) {
    int64_t ints[8];
    int n = 0;
    for (char *end = (char *)(uintptr_t)text; n < 8 && (*end || n == 0);) {
        ints[n++] = strtol(end, &end, 10);
        if (*end == ',') end++;
        else break;
    }
    return onnx_ints(p, n, ints);
}

static ir_value *template_attribute(onnx_node *n, char *spec) {
    char type = spec[1], *name = spec + 3, *otherwise = strchr(name, '=');
    int count = 0;
    if (otherwise) *otherwise++ = '\0';
    if (!onnx_attr(n, name)) {
        if (!otherwise) return onnx_bad(n->p, "attribute '%s' is missing", name), NULL;
        if (type == 's') return onnx_str(n->p, otherwise);
        return type == 'l' && strcmp(otherwise, "none") ? template_ints(n->p, otherwise)
                                                        : template_number(n->p, otherwise, type);
    }
    switch (type) {
    case 'i': return onnx_int(n->p, onnx_attr_int(n, name, 0));
    case 'b': return onnx_bool(n->p, onnx_attr_int(n, name, 0) != 0);
    case 'f': return onnx_float(n->p, onnx_attr_float(n, name, 0));
    case 's': return onnx_str(n->p, onnx_attr_text(n, name, ""));
    default: {
        const int64_t *ints = onnx_attr_ints(n, name, &count);
        return ints ? onnx_ints(n->p, count, ints) : NULL;
    }
    }
}

static ir_value *template_argument(onnx_node *n, char *word) {
    if (*word == '$') return onnx_t(n, word[1] - '0');
    if (*word == '?') return onnx_t_or_none(n, word[1] - '0');
    if (*word == '@') return template_attribute(n, word);
    return template_number(n->p, word, 0);
}

/* ---- shapes ---------------------------------------------------------------------------------- */

static int shape_rank(const onnx_node *n, char rule) {
    int most = 0;
    if (rule == '=') return n->nin && n->in[0] ? n->in[0]->rank : -1;
    if (rule >= '0' && rule <= '9') return rule - '0';
    if (rule != 'b') return -1;
    for (int i = 0; i < n->nin; i++) {
        if (!n->in[i] || n->in[i]->rank < 0) return -1;
        if (n->in[i]->rank > most) most = n->in[i]->rank;
    }
    return most;
}

static int shape_dtype(const onnx_node *n, char rule) {
    int i = rule == '=' ? 0 : rule - '0';
    if (rule == 'B') return DT_BOOL;
    if (rule == 'L') return DT_INT64;
    return i >= 0 && i < n->nin && n->in[i] ? n->in[i]->dt : -1;
}

bool onnx_result(onnx_node *n, ir_value *v) {
    return onnx_out(n, 0, v, shape_rank(n, n->row->shape[0]), shape_dtype(n, n->row->shape[1]));
}

static ir_value *template_call(onnx_node *n, const char *text) {
    enum { TEMPLATE_ARGS = 12 };
    char own[200], *save = NULL;
    ir_value *args[TEMPLATE_ARGS];
    int nargs = 0;
    text_print(own, sizeof own, "%s", text);
    char *key = strtok_r(own, " ", &save), *word;
    while ((word = strtok_r(NULL, " ", &save)) && nargs < TEMPLATE_ARGS)
        if (!(args[nargs++] = template_argument(n, word))) return onnx_no_memory(n->p), NULL;
    return onnx_emit(n->p, key, nargs, args);
}

bool onnx_template(onnx_node *n, const char *text) {
    return onnx_result(n, template_call(n, text));
}

bool onnx_op_tuple(onnx_node *n, const char *text) {
    ir_value *v = template_call(n, text);
    if (!v) return false;
    for (int i = 0; i < n->nout && i < (int)v->def->outputs.len; i++)
        if (!onnx_out(n, i, v->def->outputs.data[i], -1, -1)) return false;
    return true;
}

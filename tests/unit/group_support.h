/* SPDX-License-Identifier: Apache-2.0 */
/*
 * group_support.h - programs of a few lines, run as one kernel and operator by operator.
 *
 *     y = mul.Tensor(a, b); z = add.Tensor(y, c, 2); return z
 *
 * Arguments are a, b, c, ... in the notation of opcase.h; operators are named with their overload,
 * without "aten::"; arguments left out take their default. `p, q = unpack(l)` unpacks a list.
 */
#ifndef CTSC_TESTS_GROUP_SUPPORT_H
#define CTSC_TESTS_GROUP_SUPPORT_H

#include "opcase.h"

#include "codegen/cache/cache.h"
#include "codegen/lower/group.h"
#include "tensor/strides.h"

#include <ctype.h>
#include <math.h>

/* ---- programs to graphs ---------------------------------------------------------------------- */

enum { GROUP_RESULTS = 16 }; /* arguments or results of a program, at most */

typedef struct group_text {
    strbuf out;
    int constants;
} group_text;

/* One argument: a name as it is, a literal as a constant of its own. Writes the
 * operand to `operand`. */
static void group_operand(group_text *t, const char *text, size_t len, strbuf *operand) {
    char word[128];
    snprintf(word, sizeof word, "%.*s", (int)len, text);
    const char *type, *v = word;
    if (isalpha((unsigned char)word[0]) && strcmp(word, "None") && strcmp(word, "True") &&
        strcmp(word, "False")) {
        sb_printf(operand, "%%%s", word);
        return;
    }
    if (word[0] == '[') {
        strbuf items = STRBUF_INIT;
        for (char *p = strtok(word + 1, " ]"); p; p = strtok(NULL, " ]")) {
            if (items.len) sb_puts(&items, ", ");
            group_operand(t, p, strlen(p), &items);
        }
        sb_printf(&t->out, "  %%k%d : int[] = prim::ListConstruct(%s)\n", t->constants,
                  items.len ? sb_str(&items) : "");
        sb_free(&items);
        sb_printf(operand, "%%k%d", t->constants++);
        return;
    }
    char quoted[128];
    if (!strcmp(word, "None")) {
        sb_printf(&t->out, "  %%k%d : NoneType = prim::Constant()\n", t->constants);
        sb_printf(operand, "%%k%d", t->constants++);
        return;
    }
    if (!strcmp(word, "True") || !strcmp(word, "False")) {
        type = "bool";
        v = word[0] == 'T' ? "1" : "0";
    } else if (word[0] == '\'' || word[0] == '"') {
        type = "str";
        snprintf(quoted, sizeof quoted, "\"%.*s\"", (int)strlen(word) - 2, word + 1);
        v = quoted;
    } else {
        type = strpbrk(word, ".einf") ? "float" : "int";
    }
    sb_printf(&t->out, "  %%k%d : %s = prim::Constant[value=%s]()\n", t->constants, type, v);
    sb_printf(operand, "%%k%d", t->constants++);
}

static const char *group_skip(const char *p) {
    while (*p == ' ' || *p == ',' || *p == ';' || *p == '\n') p++;
    return p;
}

/* "op(args)" of the targets already read. */
static const char *group_call(group_text *t, const char *p, char targets[][32], int ntargets) {
    char name[64], key[80];
    size_t len = strcspn(p, "(");
    snprintf(name, sizeof name, "%.*s", (int)len, p);
    snprintf(key, sizeof key, "%s%s", strstr(name, "::") ? "" : "aten::", name);
    bool unpack = !strcmp(name, "unpack");
    const op *o = unpack ? NULL : op_find(key);
    if (!o && !unpack) {
        snprintf(key, sizeof key, "ctsc::%s", name);
        o = op_find(key);
    }
    if (!o && !unpack) fail_msg("no operator %s", key);
    strbuf args = STRBUF_INIT;
    int n = 0;
    for (p = group_skip(p + len + 1); *p != ')'; n++) {
        len = *p == '[' ? strcspn(p, "]") + 1 : strcspn(p, ",)");
        if (n) sb_puts(&args, ", ");
        group_operand(t, p, len, &args);
        p = group_skip(p + len);
    }
    for (; o && n < o->schema->nargs; n++) {
        const argument *a = &o->schema->args[n];
        strbuf text = STRBUF_INIT;
        if (n) sb_puts(&args, ", ");
        if (a->default_value.tag == V_STR) sb_printf(&text, "'%s'", a->default_value.u.str->bytes);
        else if (a->default_value.tag == V_LIST) sb_puts(&text, "[]");
        else if (a->default_value.tag == V_FLOAT)
            sb_printf(&text, "%.17g%s", a->default_value.u.f,
                      a->default_value.u.f == floor(a->default_value.u.f) ? "." : "");
        else if (a->default_value.tag == V_BOOL)
            sb_puts(&text, a->default_value.u.b ? "True" : "False");
        else if (a->default_value.tag == V_INT)
            sb_printf(&text, "%lld", (long long)a->default_value.u.i);
        else sb_puts(&text, "None");
        group_operand(t, sb_str(&text), text.len, &args);
        sb_free(&text);
    }
    sb_puts(&t->out, "  ");
    bool is_list = o && o->schema->returns[0].type->kind == T_LIST;
    for (int i = 0; i < ntargets; i++)
        sb_printf(&t->out, "%s%%%s : Tensor%s", i ? ", " : "", targets[i], is_list ? "[]" : "");
    sb_printf(&t->out, " = %s%.*s(%s)\n", unpack ? "prim::ListUnpack" : "",
              unpack ? 0 : (int)strcspn(key, "."), key, sb_str(&args));
    sb_free(&args);
    return p + 1;
}

static graph *group_program(const char *program, int nargs, const value *args) {
    group_text t = {.out = STRBUF_INIT};
    sb_puts(&t.out, "graph(");
    for (int i = 0; i < nargs; i++) {
        static const char *const types[] = {[V_NONE] = "NoneType",
                                            [V_BOOL] = "bool",
                                            [V_INT] = "int",
                                            [V_FLOAT] = "float",
                                            [V_TENSOR] = "Tensor"};
        sb_printf(&t.out, "%s%%%c : %s", i ? ", " : "", 'a' + i, types[args[i].tag]);
    }
    sb_puts(&t.out, "):\n");
    for (const char *p = group_skip(program); *p; p = group_skip(p)) {
        char targets[32][32];
        int n = 0;
        if (!strncmp(p, "return ", 7)) {
            const char *between = "";
            sb_puts(&t.out, "  return (");
            for (p = group_skip(p + 7); *p; p = group_skip(p)) {
                size_t len = strcspn(p, ", ;");
                sb_printf(&t.out, "%s%%%.*s", between, (int)len, p);
                between = ", ";
                p += len;
            }
            sb_puts(&t.out, ")\n");
            break;
        }
        while (*p != '=') {
            size_t len = strcspn(p, " ,=");
            snprintf(targets[n++], 32, "%.*s", (int)len, p);
            p = group_skip(p + len);
        }
        p = group_call(&t, group_skip(p + 1), targets, n);
    }
    graph *g;
    diag d = {0};
    if (graph_parse(&d, "group.ir", sb_str(&t.out), t.out.len, &g) != CTSC_OK)
        fail_msg("%s\n%s", diag_message(&d), sb_str(&t.out));
    sb_free(&t.out);
    return g;
}

/* ---- operator by operator -------------------------------------------------------------------- */

static void group_set_value(ptrmap *m, const ir_value *v, value x) { /* takes x */
    value *slot = calloc(1, sizeof *slot);
    *slot = x;
    ptrmap_put(m, v, slot);
}
static value group_get_value(const ptrmap *m, const ir_value *v) {
    value constant;
    const value *known = ptrmap_get(m, v);
    if (known) return *known;
    assert_true(ir_value_constant(v, &constant));
    return constant;
}

/* results: one per return. Fails like the first operator that fails. */
static ctsc_status group_interpret(const graph *g, const value *args, value *results, diag *d) {
    ptrmap m = {0};
    ctsc_status st = CTSC_OK;
    runtime *rt = calloc(1, sizeof *rt);
    runtime_init(rt);
    for (size_t i = 0; i < g->root->params.len; i++)
        group_set_value(&m, g->root->params.data[i], value_ref(args[i]));
    for (const node *n = g->root->first; n && st == CTSC_OK; n = n->next) {
        value in[24], out[4] = {value_none()};
        if (n->kind == N_CONSTANT) continue;
        for (size_t i = 0; i < n->inputs.len; i++) in[i] = group_get_value(&m, n->inputs.data[i]);
        if (n->kind == N_LIST_CONSTRUCT) {
            list *l = list_new(LIST_INT, TYPE_INT, n->inputs.len);
            for (size_t i = 0; i < n->inputs.len; i++) list_append_take(l, in[i]);
            group_set_value(&m, n->outputs.data[0], value_list_take(l));
        } else if (n->kind == N_LIST_UNPACK) {
            if (in[0].u.list->len != n->outputs.len) st = diag_fail(d, CTSC_FAILED, "list length");
            for (size_t i = 0; st == CTSC_OK && i < n->outputs.len; i++)
                group_set_value(&m, n->outputs.data[i], list_get(in[0].u.list, i));
        } else {
            op_ctx cx = {.diag = d, .op = n->op, .rt = rt};
            st = n->op ? op_call(&cx, n->op->key, (int)n->inputs.len, in, out) : CTSC_FAILED;
            for (size_t i = 0; st == CTSC_OK && i < sizeof out / sizeof *out; i++) {
                if (i < n->outputs.len) group_set_value(&m, n->outputs.data[i], out[i]);
                else value_unref(out[i]);
            }
        }
    }
    for (size_t i = 0; st == CTSC_OK && i < g->root->returns.len; i++)
        results[i] = value_ref(group_get_value(&m, g->root->returns.data[i]));
    for (size_t i = 0; i < m.cap; i++)
        if (m.slots[i].key) {
            value_unref(*(value *)m.slots[i].value);
            free(m.slots[i].value);
        }
    ptrmap_free(&m);
    free(rt);
    return st;
}

/* ---- as a kernel ----------------------------------------------------------------------------- */

/* A call of a plan: what its nest is given. */
typedef struct group_call {
    tensor *tensors[NEST_MAX_BUFFERS]; /* of the buffers */
    int64_t ints[NEST_MAX_BUFFERS];
    double floats[NEST_MAX_BUFFERS];
} group_binding;

/* slots: of a plan that fits. Makes the results, and memory to work in. */
__attribute__((unused)) static void group_bind(group_binding *c, const group_plan *p,
                                               const value *args, const int64_t *slots,
                                               value *results) {
    for (size_t i = 0; i < p->outputs.len; i++) {
        const group_output *o = &p->outputs.data[i];
        int64_t sizes[TENSOR_MAX_DIMS], strides[TENSOR_MAX_DIMS];
        tensor *t;
        plan_output_layout(o, slots, sizes, strides);
        assert_int_equal(tensor_new_strided(NULL, DEVICE_HOST, o->dt, o->ndim, sizes, strides, &t),
                         CTSC_OK);
        results[i] = value_tensor_take(t);
    }
    for (size_t i = 0; i < p->buffers.len; i++) {
        const group_buffer *b = &p->buffers.data[i];
        if (b->kind == BUFFER_SCRATCH)
            assert_int_equal(tensor_new(NULL, DT_UINT8, 1, &slots[b->index], &c->tensors[i]),
                             CTSC_OK);
        else
            c->tensors[i] = tensor_ref(b->kind == BUFFER_OUTPUT ? results[b->index].u.tensor
                                                                : args[b->index].u.tensor);
    }
    for (size_t i = 0; i < p->ints.len; i++) c->ints[i] = slots[p->ints.data[i]];
    for (size_t i = 0; i < p->floats.len; i++) c->floats[i] = args[p->floats.data[i]].u.f;
}
__attribute__((unused)) static void group_release(group_binding *c, const group_plan *p) {
    for (size_t i = 0; i < p->buffers.len; i++) tensor_unref(c->tensors[i]);
}

/* The parallel loop's range comes in stages, one after the other. */
__attribute__((unused)) static size_t group_stages(const group_plan *p) {
    return p->barriers.len ? p->barriers.len : 1;
}
__attribute__((unused)) static void group_stage(const group_plan *p, const int64_t *slots,
                                                size_t stage, int64_t *begin, int64_t *end) {
    bool any = p->range_begin >= 0;
    *begin = stage ? slots[p->barriers.data[stage - 1]] : 0;
    *end = p->barriers.len ? slots[p->barriers.data[stage]] : any ? slots[p->range_end] : 0;
}

/* Runs a kernel. The range is cut into `pieces`. */
__attribute__((unused)) static void group_launch(const group_plan *p, const kernel *k,
                                                 const value *args, const int64_t *slots,
                                                 int pieces, value *results) {
    void *buffers[NEST_MAX_BUFFERS];
    kernel_call call = {0};
    group_binding c;
    group_bind(&c, p, args, slots, results);
    for (size_t i = 0; i < p->buffers.len; i++) buffers[i] = tensor_data(c.tensors[i]);
    if (p->range_begin < 0) assert_int_equal(k->fn(buffers, c.ints, c.floats, 0, 0, &call), 0);
    for (size_t stage = 0; p->range_begin >= 0 && stage < group_stages(p); stage++) {
        int64_t begin, end;
        group_stage(p, slots, stage, &begin, &end);
        int64_t step = (end - begin + pieces - 1) / pieces;
        for (int64_t at = begin; at < end; at += step)
            assert_int_equal(
                k->fn(buffers, c.ints, c.floats, at, at + step < end ? at + step : end, &call), 0);
    }
    group_release(&c, p);
}

/* ---- what is compared ------------------------------------------------------------------------ */

static double group_tolerance(dtype dt) {
    return dt == DT_FLOAT16    ? 2e-3
           : dt == DT_BFLOAT16 ? 1.6e-2
           : dt == DT_FLOAT64  ? 1e-12
           : dt == DT_FLOAT32  ? 1e-5
                               : 0;
}

__attribute__((unused)) static void group_compare(const char *program, const char *args, value got,
                                                  value want) {
    strbuf why = STRBUF_INIT;
    double tolerance = group_tolerance((dtype)want.u.tensor->dtype);
    bool same = got.u.tensor->dtype == want.u.tensor->dtype &&
                value_close(got, want, tolerance, tolerance, &why);
    if (!same) {
        strbuf text = STRBUF_INIT;
        opcase_print(got, &text);
        sb_puts(&text, "\n   not ");
        opcase_print(want, &text);
        fail_msg("%s\n  %s\n  gives %s\n  (%s)", program, args, sb_str(&text), sb_str(&why));
    }
    sb_free(&why);
}

/* A row of group_cases.h. More arguments for a plan that is there: `again` must fit it as
 * well, `not` must not. */
typedef struct group_case {
    const char *program, *args, *again, *not;
    bool none; /* there is to be no plan */
} group_case;

__attribute__((unused)) static int group_args(const char *text, value *args) {
    int n = 0;
    for (opcase_space(&text); *text; opcase_space(&text)) args[n++] = opcase_value(&text);
    return n;
}
__attribute__((unused)) static void group_unref(int n, value *v) {
    for (int i = 0; i < n; i++) value_unref(v[i]);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opcase.h - operator tests as rows of text: the operator, its arguments, what PyTorch 1.13.1
 * answers.
 *
 *     {"aten::flip", "f32[2,3]{1 2 3 4 5 6} [1]", "f32[2,3]{3 2 1 6 5 4}"},
 *
 *     f32[2,3]{...}     a tensor: dtype, sizes, elements in row-major order
 *     f32[2,3]^{...}    the same, but in memory with the first dimension fastest, from element 1 on
 *     f32[2,3]<0,1>{..} the same with these strides; the elements are those of the memory
 *     f32[40,30]{~}     elements that differ from their neighbours
 *     (T T None)        a list of tensors
 *     [1 2]             a list of ints
 *     None true 1 1.5 1:-2.5 'text'  (the fourth is complex)
 *     !message          the operator fails with it
 *
 * dtypes: u8 i8 i16 i32 i64 f16 f32 f64 c64 c128 b bf16; an element of c64 is re:im. Missing
 * arguments take the schema's default. Each row also runs with every allocation failing in turn.
 */
#ifndef CTSC_TESTS_OPCASE_H
#define CTSC_TESTS_OPCASE_H

#include "support.h"

#include "ir/op/op.h"
#include "runtime/context/runtime.h"
#include "tensor/conjugate.h"

typedef struct opcase {
    const char *op, *args, *want;
} opcase;

static const struct {
    const char *name;
    dtype dt;
} opcase_dtypes[] = {
    {"u8", DT_UINT8},      {"i8", DT_INT8},         {"i16", DT_INT16},     {"i32", DT_INT32},
    {"i64", DT_INT64},     {"f16", DT_FLOAT16},     {"f32", DT_FLOAT32},   {"f64", DT_FLOAT64},
    {"c64", DT_COMPLEX64}, {"c128", DT_COMPLEX128}, {"bf16", DT_BFLOAT16}, {"b", DT_BOOL},
};

static dtype opcase_part(dtype dt) { /* of an element: complex numbers have two */
    return dt == DT_COMPLEX64 ? DT_FLOAT32 : dt == DT_COMPLEX128 ? DT_FLOAT64 : dt;
}

/* ---- reading --------------------------------------------------------------------------------- */

static void opcase_space(const char **at) {
    while (**at == ' ' || **at == ',') (*at)++;
}

static void opcase_store(dtype dt, char *p, const char **at) {
    char *end;
    for (int part = 0; part <= dtype_is_complex(dt); part++) {
        dtype d = opcase_part(dt);
        if (dtype_is_float(d))
            dtype_store_float(d, p + (size_t)part * dtype_size(d), strtod(*at, &end));
        else dtype_store_int(d, p, strtoll(*at, &end, 10));
        *at = *end == ':' ? end + 1 : end;
    }
}

static tensor *opcase_tensor(const char **at) {
    size_t which = 0, len = strcspn(*at, "[");
    while (strlen(opcase_dtypes[which].name) != len || strncmp(opcase_dtypes[which].name, *at, len))
        which++;
    dtype dt = opcase_dtypes[which].dt;
    int64_t sizes[8], strides[8];
    int n = 0;
    for (*at += len + 1; **at != ']'; opcase_space(at)) sizes[n++] = strtoll(*at, (char **)at, 10);
    ++*at;
    bool first_fastest = **at == '^';
    *at += first_fastest;
    int64_t numel = 1, step = 1, offset = first_fastest;
    for (int i = 0; i < n; i++) {
        int d = first_fastest ? i : n - 1 - i;
        strides[d] = step;
        numel *= sizes[d];
        step *= sizes[d] ? sizes[d] : 1; /* as PyTorch lays out what is empty */
    }
    int64_t room = numel;
    bool strided = **at == '<';
    if (strided) {
        room = numel > 0;
        ++*at;
        for (int i = 0; i < n; i++, opcase_space(at)) {
            strides[i] = strtoll(*at, (char **)at, 10);
            if (numel) room += (sizes[i] - 1) * strides[i];
        }
        ++*at;
    }
    storage *s = storage_new((size_t)(room + offset) * dtype_size(dt));
    assert_non_null(s);
    ++*at; /* { */
    bool any = **at == '~';
    *at += any;
    for (int64_t k = 0; k < room; k++) {
        int64_t rest = strided ? 0 : k, place = strided ? k : offset;
        for (int d = n - 1; d >= 0 && !strided; d--) {
            place += rest % sizes[d] * strides[d];
            rest /= sizes[d];
        }
        char made[24];
        const char *element = made;
        snprintf(made, sizeof made, "%d",
                 (int)(k * 7 % 23) - (dt == DT_UINT8 || dt == DT_BOOL ? 0 : 11));
        opcase_space(at);
        opcase_store(dt, (char *)s->data + (size_t)place * dtype_size(dt), any ? &element : at);
    }
    opcase_space(at);
    assert_int_equal(**at, '}');
    ++*at;
    tensor *t;
    assert_int_equal(tensor_on_storage(NULL, s, dt, n, sizes, strides, offset, &t), CTSC_OK);
    storage_unref(s);
    return t;
}

static value opcase_value(const char **at) {
    opcase_space(at);
    if (strncmp(*at, "None", 4) == 0) return *at += 4, value_none();
    if (strncmp(*at, "true", 4) == 0) return *at += 4, value_bool(true);
    if (strncmp(*at, "false", 5) == 0) return *at += 5, value_bool(false);
    if (**at == '\'') {
        size_t len = strcspn(*at + 1, "'");
        value v = value_str_take(str_new(*at + 1, len));
        *at += len + 2;
        return v;
    }
    if (**at == '[' || **at == '(') {
        bool tensors = **at == '(';
        list *l = list_new(tensors ? LIST_VALUE : LIST_INT, tensors ? NULL : TYPE_INT, 0);
        for (++*at, opcase_space(at); **at != ']' && **at != ')'; opcase_space(at))
            list_append_take(l, opcase_value(at));
        ++*at;
        bool none = false; /* of Tensor?[] only */
        for (size_t i = 0; tensors && i < l->len; i++) none |= l->u.values[i].tag == V_NONE;
        if (!tensors || none) return value_list_take(l);
        list *flat = list_new(LIST_TENSOR, TYPE_TENSOR, l->len);
        for (size_t i = 0; i < l->len; i++) list_append_take(flat, value_ref(l->u.values[i]));
        value_unref(value_list_take(l));
        return value_list_take(flat);
    }
    if ((**at >= '0' && **at <= '9') || **at == '-') {
        char *end;
        double f = strtod(*at, &end);
        if (*end == ':') { /* a complex number */
            double im = strtod(end + 1, (char **)at);
            return (value){.tag = V_COMPLEX, .u.complex = complex_new(f, im)};
        }
        bool whole = strcspn(*at, ".eni ])") >= (size_t)(end - *at);
        int64_t i = strtoll(*at, NULL, 10);
        *at = end;
        return whole ? value_int(i) : value_float(f);
    }
    return value_tensor_take(opcase_tensor(at));
}

/* ---- writing --------------------------------------------------------------------------------- */

static int opcase_digits = 6;  /* of floating-point results */
static double opcase_tiny = 0; /* parts of complex results below this are printed as 0 */

static void opcase_print_tensor(const tensor *t, strbuf *sb) {
    dtype dt = (dtype)t->dtype, d = opcase_part(dt);
    size_t which = 0;
    while (opcase_dtypes[which].dt != dt) which++;
    sb_printf(sb, "%s[", opcase_dtypes[which].name);
    for (int i = 0; i < t->ndim; i++) sb_printf(sb, i ? ",%ld" : "%ld", (long)t->sizes[i]);
    sb_puts(sb, "]{");
    for (int64_t k = 0; k < t->numel; k++) {
        int64_t rest = k, place = 0;
        for (int i = t->ndim - 1; i >= 0; i--) {
            place += rest % t->sizes[i] * t->strides[i];
            rest /= t->sizes[i];
        }
        const char *p = (const char *)tensor_data(t) + place * (int64_t)dtype_size(dt);
        if (k) sb_putc(sb, ' ');
        for (int part = 0; part <= dtype_is_complex(dt); part++, p += dtype_size(d)) {
            double f = dtype_load_float(d, p);
            if (part) sb_putc(sb, ':');
            if (!dtype_is_float(d)) sb_printf(sb, "%ld", (long)dtype_load_int(d, p));
            else if (f != f) sb_puts(sb, "nan");
            else sb_printf(sb, "%.*g", opcase_digits, f < opcase_tiny && f > -opcase_tiny ? 0 : f);
        }
    }
    sb_putc(sb, '}');
}

static void opcase_print(value v, strbuf *sb) {
    if (v.tag == V_TENSOR) {
        tensor *t; /* conjugated and negated views with the elements they mean */
        assert_int_equal(tensor_resolve(NULL, v.u.tensor, &t), CTSC_OK);
        opcase_print_tensor(t, sb);
        tensor_unref(t);
    } else if (v.tag == V_BOOL) sb_puts(sb, v.u.b ? "true" : "false");
    else if (v.tag == V_INT) sb_printf(sb, "%ld", (long)v.u.i);
    else if (v.tag == V_FLOAT) sb_printf(sb, "%.*g", opcase_digits, v.u.f);
    else if (v.tag == V_NONE) sb_puts(sb, "None");
    else if (v.tag == V_STR) sb_printf(sb, "'%s'", v.u.str->bytes);
    else if (v.tag == V_LIST) {
        sb_putc(sb, v.u.list->kind == LIST_TENSOR ? '(' : '[');
        for (size_t i = 0; i < v.u.list->len; i++) {
            value item = list_get(v.u.list, i);
            if (i) sb_putc(sb, ' ');
            opcase_print(item, sb);
            value_unref(item);
        }
        sb_putc(sb, v.u.list->kind == LIST_TENSOR ? ')' : ']');
    }
}

/* All values of a text; their number. */
static int opcase_values(const char *text, value *out) {
    int n = 0;
    for (opcase_space(&text); *text; opcase_space(&text)) out[n++] = opcase_value(&text);
    return n;
}

/* ---- running --------------------------------------------------------------------------------- */

enum { OPCASE_MAX_ARGS = 24, OPCASE_MAX_RESULTS = 8 };

/* Runs the row once, with allocation number fail_at (0: none) of the operator failing; the text of
 * the results, or of the failure, goes to sb. */
static ctsc_status opcase_once(const opcase *c, counting *count, long fail_at, strbuf *sb) {
    value args[OPCASE_MAX_ARGS], results[OPCASE_MAX_RESULTS] = {value_none()};
    diag d = {0};
    runtime *rt = calloc(1, sizeof *rt);
    const op *o = op_find(c->op);
    if (!o || !o->fn) fail_msg("%s is not implemented", c->op);
    int n = opcase_values(c->args, args);
    runtime_init(rt);
    op_ctx cx = {.diag = &d, .op = o, .rt = rt};
    count->requests = 0;
    count->fail_at = fail_at;
    ctsc_status status = op_call(&cx, c->op, n, args, results);
    count->fail_at = 0;
    if (status) {
        sb_printf(sb, "!%s", diag_message(&d));
        for (int i = 0; i < OPCASE_MAX_RESULTS; i++) assert_int_equal(results[i].tag, V_NONE);
    }
    for (int i = 0; !status && i < o->schema->nreturns; i++) {
        if (i) sb_putc(sb, ' ');
        opcase_print(results[i], sb);
    }
    bool in_place = o->schema->nargs && o->schema->args[0].alias && o->schema->args[0].alias->write;
    if (!status && in_place && results[0].tag == V_TENSOR)
        assert_ptr_equal(results[0].u.tensor, args[0].u.tensor);
    for (int i = 0; i < OPCASE_MAX_RESULTS; i++) value_unref(results[i]);
    for (int i = 0; i < n; i++) value_unref(args[i]);
    diag_clear(&d);
    free(rt);
    return status;
}

static inline void opcase_run(const opcase *cases, size_t n) {
    static counting count;
    mem_set_hook(counting_hook, &count);
    for (size_t i = 0; i < n; i++) {
        strbuf got = STRBUF_INIT;
        opcase_once(&cases[i], &count, 0, &got); /* the tables of the process are full after this */
        if (strcmp(sb_str(&got), cases[i].want) != 0)
            fail_msg("%s %s\n  gives %s\n  not   %s", cases[i].op, cases[i].args, sb_str(&got),
                     cases[i].want);
        sb_clear(&got);
        long live = count.live;
        opcase_once(&cases[i], &count, 0, &got);
        long total = count.requests;
        sb_clear(&got);
        for (long k = 1; k <= total; k++) {
            ctsc_status status = opcase_once(&cases[i], &count, k, &got);
            /* The right result, or a failure; of a row that fails anyway only the words may
             * suffer. */
            bool fine = status == CTSC_LIMIT || (status && cases[i].want[0] == '!') ||
                        strcmp(sb_str(&got), cases[i].want) == 0;
            if (!fine || count.live != live)
                fail_msg("%s %s\n  allocation %ld of %ld fails: %s; %ld blocks left", cases[i].op,
                         cases[i].args, k, total, sb_str(&got), count.live - live);
            sb_clear(&got);
        }
        sb_free(&got);
    }
}

/* The tensor that an operator makes of these arguments; it must not fail. */
static inline tensor *opcase_made(const char *op, int n, value *args) {
    op_ctx cx = {.op = op_find(op)};
    diag d = {0};
    value r;
    cx.diag = &d;
    ctsc_status st = op_call(&cx, op, n, args, &r);
    if (st != CTSC_OK) fail_msg("%s: %s", op, diag_message(&d));
    return r.u.tensor;
}

#endif

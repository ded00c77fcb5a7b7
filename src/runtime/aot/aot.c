/* SPDX-License-Identifier: Apache-2.0 */
/* aot.c - see aot.h: the order of the steps, and the header file. Tests: tests/aot/ */
#include "cpu/isa.h"
#include "runtime/aot/aot_internal.h"
#include "runtime/exec/executor.h"

#include <inttypes.h>
#include <string.h>

void aot_result_free(aot_result *r) {
    mem_free(r->object);
    mem_free(r->header);
    sb_free(&r->notes);
    *r = (aot_result){0};
}

/* ---- the header ------------------------------------------------------------------------------ */

/* "1 * 3 * batch", or "1". */
static void header_elements(const aot *a, const rt_port *p, strbuf *to, bool most) {
    sb_puts(to, "1");
    for (int k = 0; k < p->ndim; k++) {
        sb_puts(to, " * ");
        int64_t n = p->sizes[k];
        bool named = false;
        for (int i = 0; i < a->o->ndims; i++) {
            if (most) n += p->factors[k][i] * a->o->dims[i].most;
            else named |= p->factors[k][i] != 0;
        }
        if (!named) {
            sb_printf(to, "%" PRId64, n);
            continue;
        }
        sb_printf(to, "(%" PRId64, n);
        for (int i = 0; i < a->o->ndims; i++)
            if (p->factors[k][i])
                sb_printf(to, " + %" PRId64 " * (%s)", p->factors[k][i], a->o->dims[i].name);
        sb_puts(to, ")");
    }
}

static const char *header_type(const rt_port *p) {
    switch (p->tag) {
    case V_INT: return "int64";
    case V_FLOAT: return "float64";
    case V_BOOL: return "bool";
    default: return dtype_table[p->dtype].torch_name;
    }
}

static void header_shape(const aot *a, const rt_port *p, strbuf *to) {
    sb_puts(to, "[");
    for (int k = 0; k < p->ndim; k++) {
        bool named = false;
        if (k) sb_puts(to, ", ");
        for (int i = 0; i < a->o->ndims; i++) {
            if (!p->factors[k][i]) continue;
            if (named) sb_puts(to, " + ");
            if (p->factors[k][i] != 1) sb_printf(to, "%" PRId64 " ", p->factors[k][i]);
            sb_puts(to, a->o->dims[i].name);
            named = true;
        }
        if (!named) sb_printf(to, "%" PRId64, p->sizes[k]);
        else if (p->sizes[k]) sb_printf(to, " + %" PRId64, p->sizes[k]);
    }
    sb_puts(to, "]");
}

static void header_upper(strbuf *to, const char *name) {
    for (; *name; name++) sb_putc(to, *name >= 'a' && *name <= 'z' ? (char)(*name - 32) : *name);
}

static void header_ports(const aot *a, const rt_port *ports, int n, const char *what, strbuf *to) {
    int at = 0;
    for (int i = 0; i < n; i++) {
        const rt_port *p = &ports[i];
        if (p->tag == V_TUPLE || p->tag == V_LIST || p->tag == V_NONE) continue;
        size_t size = p->tag == V_TENSOR ? dtype_size((dtype)p->dtype) : p->tag == V_BOOL ? 1 : 8;
        sb_printf(to, "/* %s[%d]: %s ", what, at, header_type(p));
        if (p->tag == V_TENSOR) header_shape(a, p, to);
        sb_puts(to, " */\n#define ");
        header_upper(to, a->o->name);
        sb_puts(to, "_");
        header_upper(to, what);
        sb_printf(to, "%d_BYTES", at++);
        if (a->o->ndims) {
            for (int k = 0; k < a->o->ndims; k++)
                sb_printf(to, "%s%s", k ? ", " : "(", a->o->dims[k].name);
            sb_puts(to, ")");
        }
        sb_printf(to, " ((size_t)%zu * ", size);
        header_elements(a, p, to, false);
        sb_puts(to, ")\n");
    }
}

static char *header_of(const aot *a) {
    strbuf h = STRBUF_INIT, upper = STRBUF_INIT;
    const aot_options *o = a->o;
    header_upper(&upper, o->name);
    const char *up = sb_str(&upper);
    sb_printf(
        &h,
        "/* %s.h - written by ctsc compile --aot, for %s.\n *\n"
        " *     cc ... %s.o -lctsc-rt-more -lctsc-rt -lctsc-rt-cpu -lm\n *\n"
        " * %s returns 0, or why it failed (docs/aot.md), with a message in the workspace.\n"
        " * Tensors are contiguous; numbers are int64_t, double and bool. Several threads may\n"
        " * call it at the same time, each with a workspace of its own. */\n"
        "#ifndef %s_H\n#define %s_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n"
        "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n",
        o->name, isa_table[o->isa].name, o->name, o->name, up, up);
    for (int i = 0; i < o->ndims; i++) {
        sb_printf(&h, "/* %s: from %" PRId64 " to %" PRId64 " */\n#define %s_", o->dims[i].name,
                  o->dims[i].least, o->dims[i].most, up);
        header_upper(&h, o->dims[i].name);
        sb_printf(&h, "_MAX %" PRId64 "\n", o->dims[i].most);
    }
    header_ports(a, a->inputs, a->ninputs, "in", &h);
    header_ports(a, a->outputs, a->noutputs, "out", &h);
    sb_printf(&h,
              "/* bytes, of any alignment */\n#define %s_WORKSPACE %zu\n\n"
              "int %s(const void *const in[], void *const out[], void *workspace",
              up, a->out->workspace, o->name);
    for (int i = 0; i < o->ndims; i++) sb_printf(&h, ", int64_t %s", o->dims[i].name);
    sb_puts(&h, ");\n\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
    sb_free(&upper);
    return sb_take(&h);
}

/* ---- the steps ------------------------------------------------------------------------------- */

static void aot_free(aot *a) {
    for (aot_op *o = a->ops; o; o = o->next) {
        for (int i = 0; o->given && i < o->does->schema->nargs; i++)
            if (!(o->params >> i & 1)) value_unref(o->given[i]);
        if (o->graph) graph_free(o->graph);
    }
    image_free(&a->image);
    ptrmap_free(&a->groups);
    ptrmap_free(&a->seen);
    ptrmap_free(&a->values);
    ptrmap_free(&a->written);
    vec_free(&a->codes);
    vec_free(&a->stored);
    vec_free(&a->pending);
    arena_free(&a->arena);
}

static size_t aot_state_size(void) { return 4096; }

ctsc_status aot_compile(const module *m, function *f, const aot_options *o, int nargs,
                        const value *args, diag *d, aot_result *out) {
    aot a = {.d = d, .m = m, .f = f, .o = o, .nargs = nargs, .args = args, .out = out};
    *out = (aot_result){0};
    a.triple = o->arm64 ? "aarch64-linux-gnu" : NULL;
#if defined(__aarch64__)
    a.triple = o->arm64 ? NULL : "x86_64-linux-gnu";
#endif
    a.cg = codegen_shared();
    if (!a.cg || !arena_init(&a.arena)) return diag_no_memory(d);
    ctsc_status st = codegen_available(a.cg, d) ? CTSC_OK : d->status;
    if (st == CTSC_OK) st = aot_explore(&a);
    out->workspace = (a.peak + aot_state_size() + 63) / 64 * 64;
    if (st == CTSC_OK && !f->code[2])
        st = diag_fail(d, CTSC_UNSUPPORTED,
                       "a method that computes gradients cannot be compiled ahead of time");
    if (st == CTSC_OK) st = aot_write_program(&a);
    if (st == CTSC_OK && !(out->header = header_of(&a))) st = diag_no_memory(d);
    aot_free(&a);
    if (st != CTSC_OK) aot_result_free(out);
    return st;
}

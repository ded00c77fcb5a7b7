/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_aot.c - the part of ctsc_compiler.h about methods that are compiled ahead of time.
 * Tests: tests/aot/
 */
#include "cpu/isa.h"
#include "ctsc_compiler.h"
#include "runtime/aot/aot.h"
#include "runtime/api/api.h"

#include <string.h>

/* The instruction sets that there is a run-time library for. */
static ctsc_status aot_target(diag *d, const char *arch, aot_options *o) {
    bool arm64_here =
#if defined(__aarch64__)
        true;
#else
        false;
#endif
    if (!arch || !*arch) o->arm64 = arm64_here;
    else if (!strcmp(arch, "arm64") || !strcmp(arch, "aarch64")) o->arm64 = true;
    else if (!strcmp(arch, "x86_64") || !strcmp(arch, "amd64")) o->arm64 = false;
    else
        return diag_fail(d, CTSC_USAGE,
                         "no architecture '%s' to compile for, only arm64 and x86_64", arch);
    if (o->arm64) o->isa = ISA_NEON;
    else if (arm64_here || (isa_has(ISA_AVX2) && !isa_has(ISA_AVX512))) o->isa = ISA_AVX2;
    else if (isa_has(ISA_AVX512)) o->isa = ISA_AVX512;
    else
        return diag_fail(d, CTSC_UNSUPPORTED,
                         "programs are compiled ahead of time for AVX2, AVX-512 and NEON; this "
                         "processor, or --cpu, has none of them");
    return CTSC_OK;
}

static bool aot_is_identifier(const char *s) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_",
                      digits[] = "0123456789";
    size_t first = s ? strspn(s, letters) : 0, n = 0;
    while (first && (strspn(s + n, letters) || strspn(s + n, digits))) n++;
    return first && !s[n] && n < 64;
}

static ctsc_status aot_check_dims(diag *d, const aot_options *o, int nargs, const value *args) {
    for (int i = 0; i < o->ndims; i++) {
        const aot_dim *x = &o->dims[i];
        if (!aot_is_identifier(x->name))
            return diag_fail(d, CTSC_USAGE, "'%s' cannot name a dim: it is not an identifier of C",
                             x->name ? x->name : "");
        if (x->least < 1 || x->least > x->most)
            return diag_fail(d, CTSC_USAGE,
                             "dim %s: a range begins at 1 or more, and does not end "
                             "before",
                             x->name);
        for (int k = 0; k < x->nplaces; k++) {
            int at = x->places[k].argument + 1, dim = x->places[k].dim;
            const tensor *t = at > 0 && at < nargs && args[at].tag == V_TENSOR ? args[at].u.tensor
                                                                               : NULL;
            if (!t || dim < 0 || dim >= t->ndim)
                return diag_fail(d, CTSC_USAGE, "dim %s: there is no argument %d with a dim %d",
                                 x->name, at - 1, dim);
            if (t->sizes[dim] != x->most)
                return diag_fail(
                    d, CTSC_USAGE,
                    "dim %s goes up to %lld, but argument %d has %lld: examples are of "
                    "the largest sizes",
                    x->name, (long long)x->most, at - 1, (long long)t->sizes[dim]);
        }
    }
    return CTSC_OK;
}

ctsc_status ctsc_module_compile_ahead(const ctsc_module *m, const char *method,
                                      const ctsc_aot_options *given, size_t nargs,
                                      ctsc_value *const *args, ctsc_aot_result *out,
                                      ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    function *f = NULL;
    value *full = NULL;
    aot_options o = {.name = given->name};
    aot_result made = {0};
    ctsc_status s = api_method(m, d, method, &f);
    if (s == CTSC_OK && !aot_is_identifier(o.name))
        s = diag_fail(d, CTSC_USAGE, "'%s' is not a name for a function of C",
                      o.name ? o.name : "");
    if (s == CTSC_OK && given->dim_count > AOT_DIMS)
        s = diag_fail(d, CTSC_USAGE, "at most %d named dims", AOT_DIMS);
    if (s == CTSC_OK) s = aot_target(d, given->arch, &o);
    for (size_t i = 0; i < given->dim_count && s == CTSC_OK; i++) {
        const ctsc_aot_dim *x = &given->dims[i];
        aot_dim *to = &o.dims[o.ndims++];
        *to = (aot_dim){.name = x->name, .least = x->least, .most = x->most};
        if (x->place_count > AOT_PLACES)
            s = diag_fail(d, CTSC_USAGE, "dim %s: at most %d places", x->name, AOT_PLACES);
        for (size_t k = 0; k < x->place_count && s == CTSC_OK; k++, to->nplaces++)
            to->places[k].argument = x->places[k][0], to->places[k].dim = x->places[k][1];
    }
    if (s == CTSC_OK) s = api_arguments(m, f, nargs, args, d, &full);
    int n = f && f->schema ? f->schema->nargs : 0;
    if (s == CTSC_OK) s = aot_check_dims(d, &o, n, full);
    if (s == CTSC_OK) {
        /* Runs show what the program will need: it has kernels of its own set alone. For another
         * architecture they are this one's. */
        isa before = isa_get_limit();
        bool here = isa_has(o.isa);
        if (here) isa_limit(o.isa);
        s = aot_compile(m->m, f, &o, n, full, d, &made);
        if (here) isa_limit(before);
    }
    for (int i = 0; full && i < n; i++) value_unref(full[i]);
    mem_free(full);
    if (s == CTSC_OK) {
        out->object = made.object, out->object_size = made.size, out->header = made.header;
        made.object = made.header = NULL;
        out->notes = made.notes.len ? sb_take(&made.notes) : NULL;
        out->workspace = made.workspace, out->weights = made.weights;
        out->instructions = made.instructions;
        out->isa = isa_table[o.isa].name;
    }
    aot_result_free(&made);
    return api_leave(e, &own, s);
}

void ctsc_aot_result_free(ctsc_aot_result *r) {
    mem_free(r->object);
    mem_free(r->header);
    mem_free(r->notes);
    r->object = NULL, r->header = NULL, r->notes = NULL;
}

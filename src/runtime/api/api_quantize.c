/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_quantize.c - the part of ctsc.h about quantisation.
 *
 * Tests: tests/cli/quantize.test, tests/unit/test_ptq.c
 */
#include "runtime/api/api.h"
#include "runtime/ptq/ptq.h"

#include <string.h>

struct ctsc_quantize_report { ptq_report *r; };

static ctsc_status quantize_options(diag *d, const ctsc_quantize_options *given, ptq_options *out) {
    ctsc_quantize_options o = {0};
    if (given) memcpy(&o, given, given->size < sizeof o ? given->size : sizeof o);
    *out = (ptq_options){.decomposed = o.for_onnx,
                         .nkeep = o.nkeep_float,
                         .keep = o.keep_float,
                         .max_error = o.max_error,
                         .timed = o.timed_calls,
                         .progress = o.progress,
                         .progress_ctx = o.progress_ctx};
    TRY(ptq_parse_method(d, o.method, out));
    TRY(ptq_parse_observer(d, o.observer, &out->observer));
    out->weights.per_tensor = o.per_tensor;
    out->observer.symmetric = o.symmetric;
    out->observer.reduce_range = o.reduce_range;
    if (!(o.max_error >= 0) || o.timed_calls < 0)
        return diag_fail(d, CTSC_USAGE, "the largest error and timed calls are not negative");
    return CTSC_OK;
}

ctsc_status ctsc_module_quantize(ctsc_module *m, size_t nexamples, ctsc_value *const *examples,
                                 const ctsc_quantize_options *given, ctsc_quantize_report **report,
                                 ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ptq_options o;
    ctsc_quantize_report *h = mem_zalloc(sizeof *h);
    value *in = mem_zalloc(sizeof *in * (nexamples + 1));
    ctsc_status s = h && in ? CTSC_OK : diag_no_memory(d);
    if (s == CTSC_OK && !api_all_given(nexamples, examples))
        s = diag_fail(d, CTSC_USAGE, "an example is NULL");
    if (s == CTSC_OK && m->whole)
        s = diag_fail(d, CTSC_USAGE, "a module that is a part of another is not quantised alone");
    if (s == CTSC_OK) s = quantize_options(d, given, &o);
    for (size_t i = 0; s == CTSC_OK && i < nexamples; i++) in[i] = examples[i]->v;
    if (s == CTSC_OK) s = ptq_quantise(d, m->m, nexamples, in, &o, &h->r);
    mem_free(in);
    if (s == CTSC_OK && report) *report = h;
    else ctsc_quantize_report_free(h);
    return api_leave(e, &own, s);
}

bool ctsc_quantize_report_layer(const ctsc_quantize_report *h, size_t i, ctsc_quantize_layer *out) {
    if (i >= h->r->n) return false;
    const ptq_layer *l = &h->r->layers[i];
    ctsc_quantize_layer q = {.size = out->size,
                             .name = l->name,
                             .kind = l->kind,
                             .quantized = l->quantised,
                             .reason = l->reason,
                             .ndim = l->ndim,
                             .sizes = l->sizes,
                             .bytes = l->bytes,
                             .bytes_quantized = l->bytes_after,
                             .error = l->error,
                             .us = l->ns < 0 ? -1 : (double)l->ns / 1e3,
                             .us_quantized = l->ns_after < 0 ? -1 : (double)l->ns_after / 1e3};
    memcpy(out, &q, out->size < sizeof q ? out->size : sizeof q);
    return true;
}

void ctsc_quantize_report_summary(const ctsc_quantize_report *h, ctsc_quantize_summary *out) {
    const ptq_report *r = h->r;
    ctsc_quantize_summary s = {.size = out->size,
                               .layers = r->n,
                               .quantized = r->quantised,
                               .examples = r->examples,
                               .bytes = r->bytes,
                               .bytes_quantized = r->bytes_after,
                               .error = r->error,
                               .us = r->ns < 0 ? -1 : (double)r->ns / 1e3,
                               .us_quantized = r->ns_after < 0 ? -1 : (double)r->ns_after / 1e3};
    memcpy(out, &s, out->size < sizeof s ? out->size : sizeof s);
}

ctsc_status ctsc_quantize_report_state(const ctsc_quantize_report *r, ctsc_value **out,
                                       ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_status s = CTSC_OK;
    if (r->r->state.tag != V_DICT)
        s = diag_fail(d, CTSC_UNSUPPORTED,
                      "weights with zero points of groups are not kept with scales beside them");
    ctsc_value *h = s == CTSC_OK ? api_wrap_take(value_ref(r->r->state)) : NULL;
    if (s == CTSC_OK && !h) s = diag_no_memory(d);
    if (s == CTSC_OK) *out = h;
    return api_leave(e, &own, s);
}

void ctsc_quantize_report_free(ctsc_quantize_report *r) {
    if (!r) return;
    ptq_report_free(r->r);
    mem_free(r);
}

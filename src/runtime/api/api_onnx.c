/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_onnx.c - the part of ctsc.h that writes models of ONNX.
 *
 * Tests: tests/onnx
 */
#include "runtime/api/api.h"
#include "runtime/save/save_onnx.h"

#include <string.h>

ctsc_status ctsc_module_save_onnx(const ctsc_module *m, const char *path, size_t nargs,
                                  ctsc_value *const *args, const ctsc_onnx_options *given,
                                  ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    ctsc_onnx_options o = {0};
    function *f = NULL;
    if (given) memcpy(&o, given, given->size < sizeof o ? given->size : sizeof o);
    save_onnx_axis *axes = mem_zalloc(sizeof *axes * (o.naxes + 1));
    value *in = mem_zalloc(sizeof *in * (nargs + 1));
    ctsc_status s = axes && in ? api_given(d, path, "the path") : diag_no_memory(d);
    if (s == CTSC_OK) s = api_method(m, d, o.method ? o.method : "forward", &f);
    for (size_t i = 0; s == CTSC_OK && i < o.naxes; i++)
        axes[i] = (save_onnx_axis){o.axes[i].input, o.axes[i].dim, o.axes[i].name};
    save_onnx_options own_options = {.opset = o.opset,
                                     .naxes = (int)o.naxes,
                                     .axes = axes,
                                     .ninputs = o.ninput_names,
                                     .inputs = o.input_names,
                                     .noutputs = o.noutput_names,
                                     .outputs = o.output_names,
                                     .warn = {o.warn, o.ctx}};
    if (s == CTSC_OK) {
        in[0] = m->m->root;
        for (size_t i = 0; i < nargs; i++) in[i + 1] = args[i]->v;
        s = save_onnx(d, f, (int)nargs + 1, in, &own_options, path);
    }
    mem_free(axes);
    mem_free(in);
    return api_leave(e, &own, s);
}

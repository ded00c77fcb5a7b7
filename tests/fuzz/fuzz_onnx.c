/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_onnx.c - any bytes given to the loader as a model of ONNX: a status comes back, and nothing
 * else happens. What loads is printed. Seeds: tests/onnx.
 * Build: make fuzz; without libFuzzer: replay_main.c.
 */
#include "runtime/archive/archive_internal.h"
#include "runtime/interp/interp.h"
#include "runtime/program/module.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_print(const function *f) {
    strbuf sb = STRBUF_INIT;
    graph_print(f->graph, &(graph_print_options){.locations = true}, &sb);
    sb_free(&sb);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    reader r;
    module *m = NULL;
    diag d = {.max_tensor = 1 << 24};
    if (reader_open_memory(&d, data, size, &r) == CTSC_OK && module_load(&d, r, &m) == CTSC_OK) {
        function *f = module_method(m, "forward");
        if (f && f->graph) fuzz_print(f);
        module_free(m);
    }
    diag_clear(&d);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_weights.c - the part of ctsc.h about files that hold tensors by name.
 *
 * Tests: tests/cli/convert.test
 */
#include "runtime/api/api.h"
#include "runtime/program/weights.h"

ctsc_status ctsc_state_load(const char *path, ctsc_value **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    value v = value_none();
    ctsc_status s = api_given(d, path, "the path");
    if (s == CTSC_OK) s = weights_state(d, path, &v);
    ctsc_value *h = s == CTSC_OK ? api_wrap_take(v) : NULL;
    if (h) *out = h;
    else if (s == CTSC_OK) s = diag_no_memory(d);
    return api_leave(e, &own, s);
}

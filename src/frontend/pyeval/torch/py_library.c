/* SPDX-License-Identifier: Apache-2.0 */
/*
 * py_library.c - the table of what the evaluator's core asks of the modules made in C.
 */
#include "frontend/pyeval/core/py_internal.h"
#include "frontend/pyeval/torch/py_torch.h"
#include "frontend/pyeval/torch/py_trace.h"

static bool library_module(py *p, const char *dotted, py_object *mod) {
    static bool (*const families[])(py *p, const char *dotted, py_object *mod) = {
        py_torch_module, py_jit_module, py_lib_module};
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (families[i](p, dotted, mod)) return true;
        if (p->diag->status != CTSC_OK) return false;
    }
    return false;
}

static py_object *library_missing(py *p, py_object *mod, const char *name) {
    static py_object *(*const families[])(py *p, py_object *mod, const char *name) = {
        py_jit_missing, py_torch_missing, py_lib_missing};
    py_object *o = NULL;
    if (!strncmp(name, "__", 2) && strcmp(name, "__version__")) return NULL;
    for (size_t i = 0; i < sizeof families / sizeof *families && !o && p->diag->status == CTSC_OK;
         i++)
        o = families[i](p, mod, name);
    return o;
}

bool py_torch_warn(py *p, source_range r, const char *text) {
    str *s = str_new(text, strlen(text));
    value args[] = {s ? value_str_take(s) : value_none(), value_int(2)}, result;
    bool ok = s && py_run_op(p, r, "aten::warn", 2, args, &result);
    if (ok) value_unref(result);
    if (!s) diag_no_memory(p->diag);
    value_unref(args[0]);
    return ok;
}

const py_library py_torch_library = {
    .builtin_module = library_module,
    .absent_module = py_absent_module,
    .module_missing = library_missing,
    .module_assigned = py_torch_assigned,
    .is_lacking = py_is_lacking,
    .lacking_class = py_lacking_class,
    .named_tuple_annotate = py_named_tuple_annotate,
    .type_subscript = py_type_subscript,
    .type_union = py_type_union,
    .is_overload = py_is_overload,
    .call_operator = py_call_operator,
    .source_read = py_gradients_look,
    .ended = py_gradients_end,
    .set_gradients = py_set_gradients,
    .warn = py_torch_warn,
    .tensor_take = py_tensor_take,
    .from_value = py_from_value,
    .size_take = py_size_take,
    .tensor_attribute = py_tensor_attribute,
    .tensor_setattr = py_tensor_setattr,
    .tensor_getitem = py_tensor_getitem,
    .tensor_setitem = py_tensor_setitem,
    .tensor_operator = py_tensor_operator,
    .torch_class = py_torch_class,
    .trace_number = py_trace_number,
    .trace_read = py_trace_read,
    .trace_warn = py_trace_warn,
    .trace_item = py_trace_item,
};

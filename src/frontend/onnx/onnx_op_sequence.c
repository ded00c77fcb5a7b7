/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_op_sequence.c - sequences of tensors, which are List[Tensor]; none is ever changed
 * once it is made. What may be missing is Optional of a tensor or of a sequence; a value that is
 * known to be there is itself.
 */
#include "frontend/onnx/onnx_internal.h"

/* A position that may be left out. */
static ir_value *sequence_position(onnx_node *n, int i) {
    onnx_value *v = onnx_in(n, i);
    return v ? onnx_as_int(n->sc, n->p, v) : onnx_none(n->p);
}

bool onnx_op_sequence_construct(onnx_node *n, const char *text) {
    ir_value **in = arena_array(&n->p->scratch, ir_value *, n->nin + 1);
    (void)text;
    if (!in) return onnx_no_memory(n->p);
    for (int i = 0; i < n->nin; i++)
        if (!(in[i] = onnx_t(n, i))) return false;
    return onnx_out(n, 0, onnx_list(n->p, TYPE_TENSOR, n->nin, in), -1, -1);
}

bool onnx_op_sequence_at(onnx_node *n, const char *text) {
    ir_value *s = onnx_sequence(n, 0);
    onnx_value *at = s ? onnx_need(n, 1) : NULL;
    ir_value *i = at ? onnx_as_int(n->sc, n->p, at) : NULL;
    (void)text;
    return i && onnx_out(n, 0, ONNX_EMIT(n->p, "aten::__getitem__.t", s, i), -1, -1);
}

bool onnx_op_sequence_insert(onnx_node *n, const char *text) {
    ir_value *s = onnx_sequence(n, 0), *x = s ? onnx_t(n, 1) : NULL,
             *at = x ? sequence_position(n, 2) : NULL;
    (void)text;
    return at && onnx_out(n, 0, ONNX_EMIT(n->p, "ctsc::onnx_sequence_insert", s, x, at), -1, -1);
}

bool onnx_op_sequence_erase(onnx_node *n, const char *text) {
    ir_value *s = onnx_sequence(n, 0),
             *at = s ? (onnx_in(n, 1) ? sequence_position(n, 1) : onnx_int(n->p, -1)) : NULL;
    (void)text;
    return at && onnx_out(n, 0, ONNX_EMIT(n->p, "ctsc::onnx_sequence_erase", s, at), -1, -1);
}

bool onnx_op_sequence_length(onnx_node *n, const char *text) {
    ir_value *s = onnx_sequence(n, 0), *len = s ? ONNX_EMIT(n->p, "aten::len.t", s) : NULL;
    (void)text;
    return len && onnx_out_ints(n, 0, 1, &len, 0);
}

bool onnx_op_split_to_sequence(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    ir_value *x = onnx_t(n, 0), *split = x ? onnx_t_or_none(n, 1) : NULL;
    (void)text;
    return split && onnx_out(n, 0,
                             ONNX_EMIT(p, "ctsc::onnx_split_to_sequence", x, split,
                                       onnx_int(p, onnx_attr_int(n, "axis", 0)),
                                       onnx_bool(p, onnx_attr_int(n, "keepdims", 1) != 0)),
                             -1, -1);
}

bool onnx_op_concat_from_sequence(onnx_node *n, const char *text) {
    ir_value *s = onnx_sequence(n, 0);
    (void)text;
    if (s && !onnx_attr(n, "axis")) return onnx_bad(n->p, "attribute 'axis' is missing");
    ir_value *axis = s ? onnx_int(n->p, onnx_attr_int(n, "axis", 0)) : NULL;
    return axis &&
           onnx_out(n, 0,
                    ONNX_EMIT(n->p, onnx_attr_int(n, "new_axis", 0) ? "aten::stack" : "aten::cat",
                              s, axis),
                    -1, -1);
}

/* ---- what may be missing --------------------------------------------------------------------- */

type *onnx_optional_type(const Onnx__TypeProto__Optional *o) {
    const Onnx__TypeProto__OptionalElement *e = o ? o->elem_type : NULL;
    if (!e || (!e->tensor_type && !e->sequence_type)) return NULL;
    return type_optional(e->sequence_type ? type_list(TYPE_TENSOR) : TYPE_TENSOR);
}

bool onnx_op_optional(onnx_node *n, const char *text) {
    const Onnx__AttributeProto *a = onnx_attr(n, "type");
    onnx_value *v = onnx_in(n, 0);
    (void)text;
    if (v) return onnx_op_identity(n, "");
    if (!a || !a->tp) return onnx_bad(n->p, "there is neither a value nor a type");
    type *t = type_optional(a->tp->sequence_type ? type_list(TYPE_TENSOR) : TYPE_TENSOR);
    if (!a->tp->sequence_type && !a->tp->tensor_type)
        return onnx_unsupported(n->p, "a value of another type than tensors and sequences");
    return onnx_out(n, 0, onnx_none_of(n->p, t), -1, -1);
}

bool onnx_op_has_element(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    onnx_value *v = onnx_in(n, 0);
    ir_value *is = v && onnx_is_optional(v) ? ONNX_EMIT(p, "aten::__isnot__", v->ir, onnx_none(p))
                                            : onnx_bool(p, v != NULL);
    (void)text;
    return is && onnx_out(n, 0, ONNX_EMIT(p, "aten::tensor.bool", is), 0, DT_BOOL);
}

bool onnx_op_get_element(onnx_node *n, const char *text) {
    onnx_value *v = onnx_need(n, 0);
    (void)text;
    if (!v || !onnx_is_optional(v)) return v && onnx_op_identity(n, "");
    ir_value *x = ONNX_EMIT(n->p, "aten::_unwrap_optional", v->ir);
    if (x) x->type = (type *)(uintptr_t)type_elem(v->ir->type);
    return x && onnx_out(n, 0, x, -1, -1);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_op_attention.c - Attention, and what detection networks do with boxes.
 *
 *     Attention(q, k, v, mask) -> y      aten::scaled_dot_product_attention, where it has no other attributes
 */
#include "frontend/onnx/onnx_internal.h"

static ir_value *attention_number(onnx_node *n, const char *name) {
    return onnx_attr(n, name) ? onnx_float(n->p, onnx_attr_float(n, name, 0)) : onnx_none(n->p);
}

/* The results beside y, a cache, a cap and the like need the steps one by one. */
static bool attention_is_plain(onnx_node *n) {
    const onnx_value *mask = onnx_in(n, 3);
    bool causal = onnx_attr_int(n, "is_causal", 0) != 0;
    return n->nout == 1 && !onnx_in(n, 4) && !onnx_in(n, 5) && !onnx_in(n, 6) &&
           !(causal && mask) && !mask && !(onnx_attr_float(n, "softcap", 0) > 0) &&
           !onnx_attr(n, "softmax_precision") && onnx_attr_int(n, "left_window_size", -1) < 0 &&
           onnx_attr_int(n, "right_window_size", -1) < 0;
}

bool onnx_op_attention(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    ir_value *q = onnx_t(n, 0), *k = q ? onnx_t(n, 1) : NULL, *v = k ? onnx_t(n, 2) : NULL,
             *mask = v ? onnx_t_or_none(n, 3) : NULL;
    ir_value *causal = onnx_bool(p, onnx_attr_int(n, "is_causal", 0) != 0),
             *heads = onnx_int(p, onnx_attr_int(n, "q_num_heads", 0)),
             *kv_heads = onnx_int(p, onnx_attr_int(n, "kv_num_heads", 0)),
             *scale = attention_number(n, "scale");
    int rank = n->in[0] ? n->in[0]->rank : -1, dt = n->in[0] ? n->in[0]->dt : -1;
    (void)text;
    if (!mask || !causal || !heads || !kv_heads || !scale) return false;
    if (attention_is_plain(n))
        return onnx_out(n, 0,
                        ONNX_EMIT(p, "ctsc::onnx_attention_plain", q, k, v, mask, causal, heads,
                                  kv_heads, scale),
                        rank, dt);
    int64_t precision = onnx_attr_int(n, "softmax_precision", 0);
    int precision_dt = precision ? onnx_to_dtype(precision) : -1;
    if (precision && precision_dt < 0) return onnx_unsupported(p, "this softmax_precision");
    ir_value *past_k = onnx_t_or_none(n, 4), *past_v = past_k ? onnx_t_or_none(n, 5) : NULL,
             *lengths = past_v ? onnx_t_or_none(n, 6) : NULL;
    if (!lengths) return false;
    ir_value *y = ONNX_EMIT(p, "ctsc::onnx_attention", q, k, v, mask, past_k, past_v, lengths,
                            causal, heads, kv_heads, scale,
                            onnx_float(p, onnx_attr_float(n, "softcap", 0)),
                            precision ? onnx_int(p, precision_dt) : onnx_none(p),
                            onnx_int(p, onnx_attr_int(n, "qk_matmul_output_mode", 0)),
                            onnx_int(p, onnx_attr_int(n, "left_window_size", -1)),
                            onnx_int(p, onnx_attr_int(n, "right_window_size", -1)));
    for (int i = 0; y && i < n->nout && i < 4; i++)
        if (!onnx_out(n, i, y->def->outputs.data[i], i ? 4 : rank, dt)) return false;
    return y != NULL;
}

/* ---- boxes ----------------------------------------------------------------------------------- */

bool onnx_op_nms(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    onnx_value *most = onnx_in(n, 2), *overlap = onnx_in(n, 3);
    ir_value *boxes = onnx_t(n, 0), *scores = boxes ? onnx_t(n, 1) : NULL,
             *count = most ? onnx_as_int(n->sc, p, most) : onnx_int(p, 0),
             *iou = overlap ? onnx_as_float(n->sc, p, overlap) : onnx_float(p, 0),
             *least = onnx_t_or_none(n, 4);
    (void)text;
    if (!scores || !count || !iou || !least) return onnx_no_memory(p);
    return onnx_out(n, 0,
                    ONNX_EMIT(p, "ctsc::onnx_nms", boxes, scores, count, iou, least,
                              onnx_bool(p, onnx_attr_int(n, "center_point_box", 0) != 0)),
                    2, DT_INT64);
}

bool onnx_op_roi_align(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    ir_value *x = onnx_t(n, 0), *rois = x ? onnx_t(n, 1) : NULL,
             *batch = rois ? onnx_t(n, 2) : NULL;
    const char *how = onnx_attr_text(n, "coordinate_transformation_mode",
                                     p->opset < 16 ? "output_half_pixel" : "half_pixel");
    (void)text;
    if (!batch) return false;
    const char *mode = onnx_attr_text(n, "mode", "avg");
    bool max = !strcmp(mode, "max");
    if (!max && strcmp(mode, "avg")) return onnx_unsupported(p, "mode '%.40s'", mode);
    return onnx_out(n, 0,
                    ONNX_EMIT(p, max ? "ctsc::onnx_roi_align_max" : "ctsc::onnx_roi_align", x, rois,
                              batch, onnx_int(p, onnx_attr_int(n, "output_height", 1)),
                              onnx_int(p, onnx_attr_int(n, "output_width", 1)),
                              onnx_int(p, onnx_attr_int(n, "sampling_ratio", 0)),
                              onnx_float(p, onnx_attr_float(n, "spatial_scale", 1)),
                              onnx_bool(p, !strcmp(how, "half_pixel"))),
                    4, n->in[0]->dt);
}

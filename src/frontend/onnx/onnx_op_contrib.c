/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_op_contrib.c - operators of domain com.microsoft that depend on attributes in ways that a
 * row of onnx_contrib.def cannot say. Attention: onnx_op_gqa.c
 *
 *     FusedConv(x, w, b, z)       activation(Conv(x, w, b) + z)
 *     QGemm(a, ..., b, ..., c)    Gemm of the real values of a, b and c, quantised or not
 *     QLinearConcat(...)          Concat of the numbers, quantised
 */
#include "base/text/text.h"
#include "frontend/onnx/onnx_internal.h"

/* ---- fused activations ----------------------------------------------------------------------- */

enum { ACTIVATION_PARAMS = 3 };

/* What follows the operator's name, and its parameters in their order. */
static const struct { const char *name; int count; const char *params[ACTIVATION_PARAMS]; }
    activations[] = {
        {"Relu", 0, {0}},
        {"Sigmoid", 0, {0}},
        {"Tanh", 0, {0}},
        {"Softplus", 0, {0}},
        {"Softsign", 0, {0}},
        {"Elu", 1, {"alpha"}},
        {"LeakyRelu", 1, {"alpha"}},
        {"ThresholdedRelu", 1, {"alpha"}},
        {"HardSigmoid", 2, {"alpha", "beta"}},
        {"Selu", 2, {"alpha", "gamma"}},
        {"Clip", 2, {"min", "max"}},
};

/* "LeakyRelu %1 alpha=1.000000000e-01" after the steps. */
static bool activation_print(onnx_node *n, strbuf *sb, int operand, const char *name, int given,
                             const float *params) {
    size_t i = 0, count = sizeof activations / sizeof *activations;
    while (i < count && strcmp(activations[i].name, name)) i++;
    if (i == count) return onnx_unsupported(n->p, "activation '%.40s' is not supported", name);
    sb_printf(sb, "%s %%%d", name, operand);
    for (int k = 0; k < activations[i].count && k < given; k++)
        sb_printf(sb, " %s=%.9e", activations[i].params[k], (double)params[k]);
    return true;
}

static int steps_count(const char *text) {
    int count = 0;
    for (; *text; text++) count += *text == ';';
    return count;
}

static bool steps_run(onnx_node *n, strbuf *sb, int opset) {
    if (sb->failed) return onnx_no_memory(n->p);
    return onnx_steps(n, sb_str(sb), opset);
}

bool onnx_op_fused_conv(onnx_node *n, const char *text) {
    enum { CLIP_HAS_ATTRIBUTES = 10 };
    const char *name = onnx_attr_text(n, "activation", "");
    const Onnx__AttributeProto *params = onnx_attr_of(n, "activation_params", ONNX_A_FLOATS);
    strbuf sb = STRBUF_INIT;
    sb_printf(&sb, "%s", text);
    bool ok = !*name ||
              activation_print(n, &sb, steps_count(text) - 1, name,
                               params ? (int)params->n_floats : 0, params ? params->floats : NULL);
    ok = ok && steps_run(n, &sb, CLIP_HAS_ATTRIBUTES);
    sb_free(&sb);
    return ok;
}

bool onnx_op_fused_gemm(onnx_node *n, const char *text) {
    const char *name = onnx_attr_text(n, "activation", "");
    const char *const from[] = {"activation_alpha", "activation_beta", "activation_gamma"};
    strbuf sb = STRBUF_INIT;
    float params[ACTIVATION_PARAMS];
    int given = 0;
    bool selu = !strcmp(name, "Selu");
    for (int i = 0; i < 2 && onnx_attr(n, from[selu ? 2 * i : i]); i++)
        params[given++] = (float)onnx_attr_float(n, from[selu ? 2 * i : i], 0);
    sb_printf(&sb, "%s", text);
    bool ok = (!*name || activation_print(n, &sb, 0, name, given, params)) &&
              steps_run(n, &sb, ONNX_MAX_OPSET);
    sb_free(&sb);
    return ok;
}

/* ---- quantised numbers ----------------------------------------------------------------------- */

/* Attribute opset: by whose rules the axis is meant. */
bool onnx_op_qlinear_softmax(onnx_node *n, const char *text) {
    enum { FLAT = 12, ALONG_AXIS = 13 };
    return onnx_steps(n, text,
                      onnx_attr_int(n, "opset", ALONG_AXIS) < ALONG_AXIS ? FLAT : ONNX_MAX_OPSET);
}

/* (y_scale, y_zero, then x, scale, zero of each operand) */
bool onnx_op_qlinear_concat(onnx_node *n, const char *text) {
    int operands = (n->nin - 2) / 3;
    (void)text;
    if (n->nin < 5 || (n->nin - 2) % 3)
        return onnx_bad(n->p, "%d inputs are not two and three per operand", n->nin);
    strbuf sb = STRBUF_INIT;
    for (int i = 0; i < operands; i++)
        sb_printf(&sb, "DequantizeLinear $%d $%d $%d; ", 2 + 3 * i, 3 + 3 * i, 4 + 3 * i);
    sb_printf(&sb, "Concat");
    for (int i = 0; i < operands; i++) sb_printf(&sb, " %%%d", i);
    sb_printf(&sb, " *axis; QuantizeLinear %%%d $0 $1", operands);
    bool ok = steps_run(n, &sb, ONNX_MAX_OPSET);
    sb_free(&sb);
    return ok;
}

/* (a, scale, zero, b, scale, zero, c, y_scale, y_zero): c counts in steps of both scales. */
bool onnx_op_qgemm(onnx_node *n, const char *text) {
    enum { A_ZERO = 2, B_ZERO = 5, C = 6, Y_SCALE = 7 };
    strbuf sb = STRBUF_INIT;
    (void)text;
    sb_printf(&sb, "DequantizeLinear $0 $1 ?%d; DequantizeLinear $3 $4 ?%d axis=%d; ", A_ZERO,
              B_ZERO, onnx_attr_int(n, "transB", 0) ? 0 : 1);
    if (onnx_in(n, C)) sb_printf(&sb, "Mul $1 $4; DequantizeLinear $%d %%2 axis=-1; ", C);
    sb_printf(&sb, "Gemm %%0 %%1 %s*transA *transB *alpha beta*alpha", onnx_in(n, C) ? "%3 " : "");
    if (onnx_in(n, Y_SCALE))
        sb_printf(&sb, "; QuantizeLinear %%%d $7 ?8 output_dtype~0", onnx_in(n, C) ? 4 : 2);
    bool ok = steps_run(n, &sb, ONNX_MAX_OPSET);
    sb_free(&sb);
    return ok;
}

/* ---- embeddings ------------------------------------------------------------------------------ */

bool onnx_op_embed_norm(onnx_node *n, const char *text) {
    enum { SEGMENTS = 1, SEGMENT_TABLE = 4, GAMMA = 5, MASK = 7, POSITIONS = 8 };
    static const int needed[] = {0, 2, 3, 5, 6}; /* ids, words, positions, gamma, beta */
    onnx_program *p = n->p;
    ir_value *in[5];
    (void)text;
    for (int i = 0; i < 5; i++)
        if (!(in[i] = onnx_t(n, needed[i]))) return false;
    if (!onnx_in(n, SEGMENTS) != !onnx_in(n, SEGMENT_TABLE))
        return onnx_bad(p, "segment_ids and segment_embedding come together");
    ir_value *sum = ONNX_EMIT(p, "ctsc::onnx_embed", in[0], onnx_t_or_none(n, SEGMENTS), in[1],
                              in[2], onnx_t_or_none(n, SEGMENT_TABLE),
                              onnx_t_or_none(n, POSITIONS)),
             *eps = onnx_float(p, onnx_attr_float(n, "epsilon", 1e-12));
    int dt = n->in[2]->dt;
    const tensor *gamma = n->in[GAMMA]->constant;
    if (!sum || !eps) return false;
    ir_value *y = gamma && gamma->ndim == 1
                      ? ONNX_EMIT(p, "aten::layer_norm", sum, onnx_ints(p, 1, gamma->sizes), in[3],
                                  in[4], eps)
                      : ONNX_EMIT(p, "ctsc::onnx_layer_norm", sum, in[3], in[4], onnx_int(p, -1),
                                  eps);
    if (!onnx_out(n, 0, y, 3, dt) || !onnx_out(n, 2, sum, 3, dt)) return false;
    if (!onnx_wants(n, 1)) return true;
    ir_value *mask = onnx_t_or_none(n, MASK);
    return mask &&
           onnx_out(n, 1, ONNX_EMIT(p, "ctsc::onnx_mask_lengths", in[0], mask), 1, DT_INT32);
}

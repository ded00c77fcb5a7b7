/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_op_gqa.c - the attention operators of domain com.microsoft, and rotary embeddings by ids.
 *
 *     GroupQueryAttention(q, k, v, past, ...)
 *         q, k = norm of each head, turned by the positions     onnx_head_norm, onnx_rotary
 *         k, v = past and new rows                              onnx_gqa_cache
 *         y = attention over the first `total` rows             onnx_gqa
 *
 * Method. Each part is a call of its own, so that what all layers of a model share (positions, the
 * mask) is the same call, which passes find. The rest is aten::scaled_dot_product_attention, but
 * where a cap, sinks or the scores are asked for. The functions are in
 * prelude/operators/onnx_contrib.py.
 */
#include "frontend/onnx/onnx_internal.h"

/* ---- what they share ------------------------------------------------------------------------- */

/* None: one over the root of the heads' size. ONNX Runtime takes 0 for that, too. */
static ir_value *heads_scale(onnx_node *n) {
    double scale = onnx_attr_float(n, "scale", 0);
    return scale != 0 ? onnx_float(n->p, scale) : onnx_none(n->p);
}

/* A count of heads, which has to be there. */
static bool heads_count(onnx_node *n, const char *name, int64_t *out) {
    enum { MAX_HEADS = 1 << 20 };
    *out = onnx_attr_int(n, name, 0);
    return (*out > 0 && *out <= MAX_HEADS) ||
           onnx_bad(n->p, "attribute '%s' is %lld", name, (long long)*out);
}

/* Attributes and inputs that change the meaning and have no counterpart. */
static bool heads_refuse_attribute(onnx_node *n, const char *name) {
    return !onnx_attr_int(n, name, 0) ||
           onnx_unsupported(n->p, "attribute '%s' is not supported", name);
}

static bool heads_refuse_input(onnx_node *n, int i, const char *name) {
    return !onnx_in(n, i) || onnx_unsupported(n->p, "input %d, %s, is not supported", i, name);
}

static int heads_dtype(const onnx_node *n) { return n->in[0] ? n->in[0]->dt : -1; }

/* Outputs 1 and on, of four dims. */
static bool heads_outputs(onnx_node *n, ir_value *y, int count, int rank) {
    if (!y || !onnx_out(n, 0, y->def->outputs.data[0], 3, heads_dtype(n))) return false;
    for (int i = 1; i < n->nout && i < count; i++)
        if (!onnx_out(n, i, y->def->outputs.data[i], rank, heads_dtype(n))) return false;
    return true;
}

/* Inputs first to last, None where they are left out. */
static bool heads_inputs(onnx_node *n, int first, int last, ir_value **out) {
    for (int i = first; i <= last; i++)
        if (!(out[i - first] = onnx_t_or_none(n, i))) return false;
    return true;
}

/* ---- RotaryEmbedding ------------------------------------------------------------------------- */

bool onnx_op_rotary_ids(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    ir_value *in[4];
    (void)text;
    for (int i = 0; i < 4; i++)
        if (!(in[i] = onnx_t(n, i))) return false;
    if (!heads_refuse_attribute(n, "is_packed_batching")) return false;
    if (onnx_attr_float(n, "scale", 1) != 1)
        return onnx_unsupported(p, "attribute 'scale' is not supported");
    int64_t heads = onnx_attr_int(n, "num_heads", 0),
            dim = onnx_attr_int(n, "rotary_embedding_dim", 0);
    if (heads < 0 || dim < 0 || (dim > 0 && heads == 0 && n->in[0]->rank == 3))
        return onnx_bad(p, "rotary_embedding_dim %lld needs num_heads, which is %lld",
                        (long long)dim, (long long)heads);
    return onnx_result(n, ONNX_EMIT(p, "ctsc::onnx_rotary_ids", in[0], in[1], in[2], in[3],
                                    onnx_bool(p, onnx_attr_int(n, "interleaved", 0) != 0),
                                    onnx_int(p, heads), onnx_int(p, dim)));
}

/* ---- Attention, MultiHeadAttention ----------------------------------------------------------- */

/* (x, weights, bias, mask, past, attention_bias, past_sequence_length) */
bool onnx_op_projected_attention(onnx_node *n, const char *text) {
    enum { BIAS = 2, BUFFER_LENGTH = 6 };
    onnx_program *p = n->p;
    int64_t heads;
    int count = 0;
    ir_value *x = onnx_t(n, 0), *w = x ? onnx_t(n, 1) : NULL, *in[4];
    const int64_t *sizes = onnx_attr_ints(n, "qkv_hidden_sizes", &count);
    (void)text;
    if (!w || onnx_failed(p) || !heads_inputs(n, BIAS, BIAS + 3, in) ||
        !heads_count(n, "num_heads", &heads) || !heads_refuse_attribute(n, "do_rotary") ||
        !heads_refuse_attribute(n, "past_present_share_buffer") ||
        !heads_refuse_input(n, BUFFER_LENGTH, "past_sequence_length"))
        return false;
    if (sizes && count != 3)
        return onnx_bad(p, "attribute 'qkv_hidden_sizes' has %d elements, not 3", count);
    ir_value *y = ONNX_EMIT(
        p, "ctsc::onnx_projected_attention", x, w, in[0], in[1], in[2], in[3], onnx_int(p, heads),
        onnx_ints(p, count, sizes), onnx_bool(p, onnx_attr_int(n, "unidirectional", 0) != 0),
        heads_scale(n), onnx_float(p, onnx_attr_float(n, "mask_filter_value", -10000)),
        onnx_bool(p, onnx_wants(n, 1)));
    return heads_outputs(n, y, 2, 5);
}

enum { MHA_QUERY, MHA_KEY, MHA_VALUE, MHA_BIAS, MHA_MASK, MHA_ADDED, MHA_PAST_KEY, MHA_PAST_VALUE };
enum { MHA_INPUTS = MHA_PAST_VALUE + 1 };

/* from: which inputs these are. length: that of the past, which is a buffer for more; NULL: it is
 * none. */
static bool mha_make(onnx_node *n, const int *from, ir_value *length, bool causal) {
    onnx_program *p = n->p;
    int64_t heads;
    ir_value *in[MHA_INPUTS], *past[] = {NULL, NULL};
    if (!onnx_need(n, 0) || !heads_count(n, "num_heads", &heads)) return false;
    for (int i = 0; i < MHA_INPUTS; i++)
        if (!(in[i] = onnx_t_or_none(n, from[i]))) return false;
    if (!onnx_in(n, from[MHA_PAST_KEY]) != !onnx_in(n, from[MHA_PAST_VALUE]))
        return onnx_bad(p, "of past keys and values only one is given");
    bool buffer = length && onnx_in(n, from[MHA_PAST_KEY]);
    for (int i = 0; buffer && i < 2; i++) {
        past[i] = in[MHA_PAST_KEY + i];
        in[MHA_PAST_KEY + i] = ONNX_EMIT(p, "aten::slice.Tensor", past[i], onnx_int(p, 2),
                                         onnx_int(p, 0), length, onnx_int(p, 1));
    }
    ir_value *y = ONNX_EMIT(p, "ctsc::onnx_multi_head_attention", in[0], in[1], in[2], in[3], in[4],
                            in[5], in[6], in[7], onnx_int(p, heads), onnx_bool(p, causal),
                            heads_scale(n),
                            onnx_float(p, onnx_attr_float(n, "mask_filter_value", -10000)),
                            onnx_bool(p, onnx_wants(n, 3)));
    if (!y || !onnx_out(n, 0, y, 3, heads_dtype(n))) return false;
    for (int i = 1; i < n->nout && i < 4; i++) {
        ir_value *out = y->def->outputs.data[i];
        if (buffer && i < 3) out = ONNX_EMIT(p, "ctsc::onnx_cache_whole", out, past[i - 1]);
        if (!onnx_out(n, i, out, 4, heads_dtype(n))) return false;
    }
    return true;
}

bool onnx_op_multi_head_attention(onnx_node *n, const char *text) {
    enum { BUFFER_LENGTH = 8, BEAMS = 9 };
    static const int from[MHA_INPUTS] = {0, 1, 2, 3, 4, 5, 6, 7};
    (void)text;
    return heads_refuse_input(n, BUFFER_LENGTH, "past_sequence_length") &&
           heads_refuse_input(n, BEAMS, "cache_indirection") &&
           mha_make(n, from, NULL, onnx_attr_int(n, "unidirectional", 0) != 0);
}

/* One row; of several beams none. */
bool onnx_op_decoder_attention(onnx_node *n, const char *text) {
    enum { BUFFER_LENGTH = 7, BEAM_WIDTH = 8, BEAMS = 9 };
    static const int from[MHA_INPUTS] = {0, 1, 2, 10, 3, 4, 5, 6};
    onnx_value *length = onnx_in(n, BUFFER_LENGTH);
    bool buffer = onnx_attr_int(n, "past_present_share_buffer", 0) != 0;
    double beams = 1;
    (void)text;
    if (onnx_in(n, BEAM_WIDTH) && (!onnx_known_number(n->in[BEAM_WIDTH], &beams) || beams != 1))
        return onnx_unsupported(n->p, "input %d, beam_width, is not supported", BEAM_WIDTH);
    if (!heads_refuse_input(n, BEAMS, "cache_indirection")) return false;
    if (buffer && !length) return onnx_need(n, BUFFER_LENGTH) != NULL;
    ir_value *rows = buffer ? onnx_as_int(n->sc, n->p, length) : NULL;
    return (!buffer || rows) && mha_make(n, from, rows, false);
}

/* ---- GroupQueryAttention --------------------------------------------------------------------- */

enum {
    GQA_KEY = 1,
    GQA_VALUE,
    GQA_PAST_KEY,
    GQA_PAST_VALUE,
    GQA_LENGTHS, /* of keys, less one, a batch entry */
    GQA_TOTAL,
    GQA_COSINES,
    GQA_SINES,
    GQA_POSITIONS,
    GQA_BIAS,
    GQA_SINKS,
    GQA_KEY_SCALE,
    GQA_VALUE_SCALE,
    GQA_QUERY_NORM,
    GQA_KEY_NORM,
    GQA_QUERY_LENGTHS,
};

typedef struct gqa {
    int64_t heads, kv_heads, window;
    bool causal;
    ir_value *q, *k, *v, *lengths, *total, *rows; /* rows: how many there are of the queries */
} gqa;

static bool gqa_supported(onnx_node *n) {
    return heads_refuse_input(n, GQA_KEY_SCALE, "k_scale") &&
           heads_refuse_input(n, GQA_VALUE_SCALE, "v_scale") &&
           heads_refuse_input(n, GQA_QUERY_LENGTHS, "query_seqlens") &&
           heads_refuse_attribute(n, "kv_cache_bit_width") &&
           heads_refuse_attribute(n, "sliding_window_cache");
}

static bool gqa_read(onnx_node *n, gqa *a) {
    onnx_program *p = n->p;
    onnx_value *total = onnx_need(n, GQA_TOTAL);
    *a = (gqa){.causal = onnx_attr_int(n, "causal", 1) != 0,
               .window = onnx_attr_int(n, "local_window_size", -1)};
    if (!total || !heads_count(n, "num_heads", &a->heads) ||
        !heads_count(n, "kv_num_heads", &a->kv_heads) || !(a->q = onnx_t(n, 0)) ||
        !(a->lengths = onnx_t(n, GQA_LENGTHS)) || !(a->total = onnx_as_int(n->sc, p, total)))
        return false;
    if (a->heads % a->kv_heads)
        return onnx_bad(p, "%lld heads of queries are no multiple of %lld of keys",
                        (long long)a->heads, (long long)a->kv_heads);
    if (!onnx_in(n, GQA_KEY) != !onnx_in(n, GQA_VALUE) ||
        !onnx_in(n, GQA_PAST_KEY) != !onnx_in(n, GQA_PAST_VALUE) ||
        !onnx_in(n, GQA_QUERY_NORM) != !onnx_in(n, GQA_KEY_NORM))
        return onnx_bad(p, "of keys and values only one is given");
    if (!onnx_in(n, GQA_KEY)) {
        ir_value *all = ONNX_EMIT(p, "ctsc::onnx_gqa_unpack", a->q, onnx_int(p, a->heads),
                                  onnx_int(p, a->kv_heads));
        if (!all) return false;
        a->q = all;
        a->k = all->def->outputs.data[1];
        a->v = all->def->outputs.data[2];
    } else if (!(a->k = onnx_t(n, GQA_KEY)) || !(a->v = onnx_t(n, GQA_VALUE))) {
        return false;
    }
    a->rows = ONNX_EMIT(p, "aten::size.int", onnx_t(n, 0), onnx_int(p, 1));
    return a->rows != NULL;
}

/* The norm of each head. */
static ir_value *gqa_norm(onnx_node *n, ir_value *x, int weight, const char *own, int64_t heads) {
    double eps = onnx_attr_float(n, own, onnx_attr_float(n, "qk_norm_epsilon", 1e-6));
    ir_value *w = onnx_in(n, weight) ? onnx_t(n, weight) : NULL;
    if (!onnx_in(n, weight)) return x;
    return w ? ONNX_EMIT(n->p, "ctsc::onnx_head_norm", x, w, onnx_int(n->p, heads),
                         onnx_float(n->p, eps))
             : NULL;
}

static ir_value *gqa_turn(onnx_node *n, ir_value *x, ir_value *at, int64_t heads) {
    onnx_program *p = n->p;
    return ONNX_EMIT(p, "ctsc::onnx_rotary_part", x, onnx_t(n, GQA_COSINES), onnx_t(n, GQA_SINES),
                     at, onnx_bool(p, onnx_attr_int(n, "rotary_interleaved", 0) != 0),
                     onnx_int(p, heads));
}

static bool gqa_prepare(onnx_node *n, gqa *a) {
    onnx_program *p = n->p;
    a->q = gqa_norm(n, a->q, GQA_QUERY_NORM, "q_norm_epsilon", a->heads);
    a->k = a->q ? gqa_norm(n, a->k, GQA_KEY_NORM, "k_norm_epsilon", a->kv_heads) : NULL;
    if (!a->k) return false;
    if (!onnx_attr_int(n, "do_rotary", 0)) return true;
    if (!onnx_need(n, GQA_COSINES) || !onnx_need(n, GQA_SINES)) return false;
    ir_value *given = onnx_t_or_none(n, GQA_POSITIONS),
             *at = given ? ONNX_EMIT(p, "ctsc::onnx_gqa_positions", a->rows, a->lengths, a->total,
                                     given)
                         : NULL;
    a->q = at ? gqa_turn(n, a->q, at, a->heads) : NULL;
    a->k = a->q ? gqa_turn(n, a->k, at, a->kv_heads) : NULL;
    return a->k != NULL;
}

static ir_value *gqa_cache(onnx_node *n, const gqa *a, int past, ir_value *x) {
    ir_value *before = onnx_t_or_none(n, past);
    return before ? ONNX_EMIT(n->p, "ctsc::onnx_gqa_cache", before, x, a->lengths, a->total,
                              onnx_int(n->p, a->kv_heads))
                  : NULL;
}

bool onnx_op_group_query_attention(onnx_node *n, const char *text) {
    onnx_program *p = n->p;
    gqa a;
    (void)text;
    if (!gqa_supported(n) || !gqa_read(n, &a) || !gqa_prepare(n, &a)) return false;
    ir_value *k = gqa_cache(n, &a, GQA_PAST_KEY, a.k),
             *v = k ? gqa_cache(n, &a, GQA_PAST_VALUE, a.v) : NULL,
             *mask = v ? ONNX_EMIT(p, "ctsc::onnx_gqa_mask", a.rows, a.lengths, a.total,
                                   onnx_bool(p, a.causal), onnx_int(p, a.window))
                       : NULL,
             *bias = mask ? onnx_t_or_none(n, GQA_BIAS) : NULL,
             *sinks = bias ? onnx_t_or_none(n, GQA_SINKS) : NULL;
    if (!sinks) return false;
    bool plain = a.causal && a.window < 0;
    ir_value *y = ONNX_EMIT(p, "ctsc::onnx_gqa", a.q, k, v, mask, a.total, bias, sinks,
                            onnx_int(p, a.heads), heads_scale(n),
                            onnx_float(p, onnx_attr_float(n, "softcap", 0)), onnx_bool(p, plain),
                            onnx_bool(p, onnx_attr_int(n, "smooth_softmax", 0) > 0),
                            onnx_int(p, onnx_attr_int(n, "qk_output", 0)));
    if (!y || !onnx_out(n, 0, y, 3, heads_dtype(n)) || !onnx_out(n, 1, k, 4, heads_dtype(n)) ||
        !onnx_out(n, 2, v, 4, heads_dtype(n)))
        return false;
    if (!onnx_attr_int(n, "qk_output", 0)) return true;
    return onnx_out(n, 3, y->def->outputs.data[1], 4, heads_dtype(n));
}

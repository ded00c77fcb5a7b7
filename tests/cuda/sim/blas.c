/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blas.c - cuBLASLt without a device (library.h): the functions of src/runtime/cuda/blas_abi.h.
 *
 * An algorithm is a fingerprint of the problem that it was given for, with the alignments and the
 * workspace that it counts on: using it for another problem is the caller's fault. The workspace is
 * filled with NaNs.
 */
#include "library.h"
#include "runtime/cuda/blas_abi.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLAS_PROTOTYPE(name, args) SIM_API int cublasLt##name args;
BLAS_FUNCTIONS(BLAS_PROTOTYPE)

enum { BLAS_SUCCESS = 0, BLAS_INVALID_VALUE = 7, BLAS_NOT_SUPPORTED = 15 };
enum { BLAS_NEEDS_WORKSPACE = 1 << 16, BLAS_WORKSPACE_ALIGNMENT = 256 };

typedef enum blas_tag { BLAS_HANDLE = 0x7a110, BLAS_DESC, BLAS_LAYOUT, BLAS_PREFERENCE } blas_tag;

typedef struct blas_thing {
    blas_tag tag;
    int compute, scale, trans_a, trans_b;
    uint32_t epilogue;
    const char *bias;
    int type, batch;
    uint64_t rows, cols;
    int64_t ld, step;
    uint64_t workspace;
    uint32_t alignment[4];
} blas_thing;

static blas_thing *blas_new(blas_object *out, blas_tag tag) {
    blas_thing *t = calloc(1, sizeof *t);
    if (!t) abort();
    t->tag = tag;
    *out = t;
    return t;
}

static blas_thing *blas_as(blas_object o, blas_tag tag, const char *what) {
    blas_thing *t = o;
    if (!t || t->tag != tag)
        sim_wrong("cuBLASLt: %s is missing, of another kind, or destroyed", what);
    return t;
}

static int blas_destroy(blas_object o, blas_tag tag, const char *what) {
    blas_thing *t = blas_as(o, tag, what);
    t->tag = (blas_tag)0;
    free(t);
    return BLAS_SUCCESS;
}

static void blas_take(void *to, const void *value, size_t bytes, size_t expected,
                      const char *what) {
    if (bytes != expected)
        sim_wrong("cuBLASLt: attribute %s has %zu bytes, not %zu", what, expected, bytes);
    memcpy(to, value, bytes);
}

/* ---- objects --------------------------------------------------------------------------------- */

SIM_API int cublasLtCreate(blas_object *handle) {
    blas_new(handle, BLAS_HANDLE);
    return BLAS_SUCCESS;
}

SIM_API int cublasLtMatmulDescCreate(blas_object *desc, int compute, int scale) {
    blas_thing *t = blas_new(desc, BLAS_DESC);
    t->compute = compute;
    t->scale = scale;
    t->epilogue = BLAS_EPILOGUE_DEFAULT;
    return BLAS_SUCCESS;
}

SIM_API int cublasLtMatmulDescSetAttribute(blas_object desc, int attribute, const void *value,
                                           size_t bytes) {
    blas_thing *t = blas_as(desc, BLAS_DESC, "a matmul descriptor");
    switch (attribute) {
    case BLAS_DESC_TRANSA: blas_take(&t->trans_a, value, bytes, sizeof t->trans_a, "TRANSA"); break;
    case BLAS_DESC_TRANSB: blas_take(&t->trans_b, value, bytes, sizeof t->trans_b, "TRANSB"); break;
    case BLAS_DESC_EPILOGUE:
        blas_take(&t->epilogue, value, bytes, sizeof t->epilogue, "EPILOGUE");
        break;
    case BLAS_DESC_BIAS_POINTER:
        blas_take(&t->bias, value, bytes, sizeof t->bias, "BIAS_POINTER");
        break;
    default: sim_wrong("cuBLASLt: a matmul descriptor has no attribute %d", attribute);
    }
    return BLAS_SUCCESS;
}

SIM_API int cublasLtMatmulDescDestroy(blas_object desc) {
    return blas_destroy(desc, BLAS_DESC, "a matmul descriptor");
}

SIM_API int cublasLtMatrixLayoutCreate(blas_object *layout, int type, uint64_t rows, uint64_t cols,
                                       int64_t ld) {
    blas_thing *t = blas_new(layout, BLAS_LAYOUT);
    if (!rows || !cols || ld < (int64_t)rows)
        sim_wrong("cuBLASLt: a layout of %llu x %llu with ld %lld", (unsigned long long)rows,
                  (unsigned long long)cols, (long long)ld);
    t->type = type;
    t->rows = rows;
    t->cols = cols;
    t->ld = ld;
    t->batch = 1;
    return BLAS_SUCCESS;
}

SIM_API int cublasLtMatrixLayoutSetAttribute(blas_object layout, int attribute, const void *value,
                                             size_t bytes) {
    blas_thing *t = blas_as(layout, BLAS_LAYOUT, "a layout");
    switch (attribute) {
    case BLAS_LAYOUT_BATCH_COUNT:
        blas_take(&t->batch, value, bytes, sizeof t->batch, "BATCH_COUNT");
        break;
    case BLAS_LAYOUT_BATCH_STRIDE:
        blas_take(&t->step, value, bytes, sizeof t->step, "STRIDED_BATCH_OFFSET");
        break;
    default: sim_wrong("cuBLASLt: a layout has no attribute %d", attribute);
    }
    return BLAS_SUCCESS;
}

SIM_API int cublasLtMatrixLayoutDestroy(blas_object layout) {
    return blas_destroy(layout, BLAS_LAYOUT, "a layout");
}

SIM_API int cublasLtMatmulPreferenceCreate(blas_object *preference) {
    blas_thing *t = blas_new(preference, BLAS_PREFERENCE);
    for (int i = 0; i < 4; i++) t->alignment[i] = 256;
    return BLAS_SUCCESS;
}

SIM_API int cublasLtMatmulPreferenceSetAttribute(blas_object preference, int attribute,
                                                 const void *value, size_t bytes) {
    blas_thing *t = blas_as(preference, BLAS_PREFERENCE, "a preference");
    int i = attribute - BLAS_PREFER_ALIGNMENT_A;
    if (attribute == BLAS_PREFER_WORKSPACE)
        blas_take(&t->workspace, value, bytes, sizeof t->workspace, "MAX_WORKSPACE_BYTES");
    else if (i >= 0 && i < 4)
        blas_take(&t->alignment[i], value, bytes, sizeof *t->alignment, "MIN_ALIGNMENT");
    else sim_wrong("cuBLASLt: a preference has no attribute %d", attribute);
    return BLAS_SUCCESS;
}

SIM_API int cublasLtMatmulPreferenceDestroy(blas_object preference) {
    return blas_destroy(preference, BLAS_PREFERENCE, "a preference");
}

/* ---- problems -------------------------------------------------------------------------------- */

typedef struct blas_problem {
    sim_type type;
    int64_t m, n, k;
    blas_thing desc, a, b, c, d;
} blas_problem;

static bool blas_sim_type(int type, sim_type *out) {
    static const struct { int cuda; sim_type ours; } types[] = {
        {BLAS_R_32F, SIM_F32},
        {BLAS_R_64F, SIM_F64},
        {BLAS_R_16F, SIM_F16},
        {BLAS_R_16BF, SIM_BF16},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].cuda == type) return *out = types[i].ours, true;
    return false;
}

/* m x n = m x k times k x n, all of one batch size. */
static blas_problem blas_problem_of(blas_object desc, blas_object a, blas_object b, blas_object c,
                                    blas_object d) {
    blas_problem p = {.desc = *blas_as(desc, BLAS_DESC, "a matmul descriptor"),
                      .a = *blas_as(a, BLAS_LAYOUT, "A's layout"),
                      .b = *blas_as(b, BLAS_LAYOUT, "B's layout"),
                      .c = *blas_as(c, BLAS_LAYOUT, "C's layout"),
                      .d = *blas_as(d, BLAS_LAYOUT, "D's layout")};
    uint64_t m = p.desc.trans_a ? p.a.cols : p.a.rows, k = p.desc.trans_a ? p.a.rows : p.a.cols;
    uint64_t n = p.desc.trans_b ? p.b.rows : p.b.cols, k_b = p.desc.trans_b ? p.b.cols : p.b.rows;
    if (k != k_b || p.c.rows != m || p.c.cols != n || p.d.rows != m || p.d.cols != n)
        sim_wrong("cuBLASLt: the layouts do not fit each other");
    if (p.a.batch != p.d.batch || p.b.batch != p.d.batch || p.c.batch != p.d.batch)
        sim_wrong("cuBLASLt: the layouts differ in batch count");
    if (!blas_sim_type(p.d.type, &p.type) || p.a.type != p.d.type || p.b.type != p.d.type ||
        p.c.type != p.d.type)
        sim_wrong("cuBLASLt: types of matrices");
    bool wide = p.type == SIM_F64;
    if (p.desc.compute != (wide ? BLAS_COMPUTE_64F : BLAS_COMPUTE_32F) ||
        p.desc.scale != (wide ? BLAS_R_64F : BLAS_R_32F))
        sim_wrong("cuBLASLt: compute type %d with scale type %d", p.desc.compute, p.desc.scale);
    p.m = (int64_t)m;
    p.n = (int64_t)n;
    p.k = (int64_t)k;
    return p;
}

static bool blas_has_bias(uint32_t epilogue) { return (epilogue & BLAS_EPILOGUE_BIAS) != 0; }

/* What it can do is narrower than the real one: no activations of doubles. */
static bool blas_supports(const blas_problem *p) {
    switch (p->desc.epilogue) {
    case BLAS_EPILOGUE_DEFAULT:
    case BLAS_EPILOGUE_BIAS: return true;
    case BLAS_EPILOGUE_RELU:
    case BLAS_EPILOGUE_RELU_BIAS:
    case BLAS_EPILOGUE_GELU:
    case BLAS_EPILOGUE_GELU_BIAS: return p->type != SIM_F64;
    default: sim_wrong("cuBLASLt: there is no epilogue %u", p->desc.epilogue);
    }
}

static uint32_t blas_aligned(const void *p) {
    uintptr_t bits = (uintptr_t)p | 256;
    return (uint32_t)(bits & -bits);
}

/* All that an algorithm may count on, but for the alignment of the bias. */
static uint64_t blas_fingerprint(const blas_problem *p) {
    const blas_thing *layouts[] = {&p->a, &p->b, &p->c, &p->d};
    uint64_t h = 1469598103934665603u;
    uint64_t words[24] = {(uint64_t)p->desc.trans_a, (uint64_t)p->desc.trans_b, p->desc.epilogue,
                          (uint64_t)p->type};
    for (int i = 0, at = 4; i < 4; i++) {
        words[at++] = layouts[i]->rows, words[at++] = layouts[i]->cols,
        words[at++] = (uint64_t)layouts[i]->ld;
        words[at++] = (uint64_t)layouts[i]->batch, words[at++] = (uint64_t)layouts[i]->step;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) h = (h ^ words[i]) * 1099511628211u;
    return h;
}

/* data: fingerprint, workspace, alignments of A, B, C, D and the bias */
SIM_API int cublasLtMatmulAlgoGetHeuristic(blas_object handle, blas_object desc, blas_object a,
                                           blas_object b, blas_object c, blas_object out,
                                           blas_object preference, int most, blas_answer *answers,
                                           int *found) {
    blas_as(handle, BLAS_HANDLE, "a handle");
    blas_problem p = blas_problem_of(desc, a, b, c, out);
    const blas_thing *prefer = blas_as(preference, BLAS_PREFERENCE, "a preference");
    if (most < 1) return BLAS_INVALID_VALUE;
    *found = 0;
    sim_count("cublasLtMatmulAlgoGetHeuristic");
    if (!blas_supports(&p) || sim_refuses()) return BLAS_NOT_SUPPORTED;
    uint64_t workspace = prefer->workspace < BLAS_NEEDS_WORKSPACE ? prefer->workspace
                                                                  : BLAS_NEEDS_WORKSPACE;
    *answers = (blas_answer){
        .algorithm = {{blas_fingerprint(&p), workspace}}, .workspace = workspace, .waves = 1};
    for (int i = 0; i < 4; i++) answers->algorithm.data[2 + i] = prefer->alignment[i];
    answers->algorithm.data[6] = blas_has_bias(p.desc.epilogue) ? blas_aligned(p.desc.bias) : 1;
    *found = 1;
    return BLAS_SUCCESS;
}

/* ---- products -------------------------------------------------------------------------------- */

typedef struct blas_call {
    blas_problem p;
    double alpha, beta;
    const char *a, *b, *c;
    char *d;
    blas_algorithm algorithm;
    char *workspace;
    size_t workspace_bytes;
} blas_call;

static void blas_use(const char *what, const blas_thing *t, sim_type type, const void *p,
                     uint64_t alignment) {
    int64_t last = (t->batch - 1) * t->step + ((int64_t)t->cols - 1) * t->ld + (int64_t)t->rows;
    if (t->step < 0) sim_wrong("cuBLASLt: %s has a negative step", what);
    sim_use(what, p, (size_t)last * sim_type_size(type), alignment);
}

static double blas_activate(uint32_t epilogue, double v) {
    if (epilogue & BLAS_EPILOGUE_RELU) return v < 0 ? 0 : v;
    return epilogue & BLAS_EPILOGUE_GELU
               ? 0.5 * v * (1 + tanh(0.7978845608028654 * (v + 0.044715 * v * v * v)))
               : v;
}

static void blas_run(const void *bytes) {
    const blas_call *x = bytes;
    const blas_problem *p = &x->p;
    const uint64_t *align = x->algorithm.data + 2;
    blas_use("cuBLASLt's A", &p->a, p->type, x->a, align[0]);
    blas_use("cuBLASLt's B", &p->b, p->type, x->b, align[1]);
    if (x->beta != 0) blas_use("cuBLASLt's C", &p->c, p->type, x->c, align[2]);
    blas_use("cuBLASLt's D", &p->d, p->type, x->d, align[3]);
    if (x->workspace_bytes)
        sim_use("cuBLASLt's workspace", x->workspace, x->workspace_bytes, BLAS_WORKSPACE_ALIGNMENT);
    memset(x->workspace, 0xff, x->algorithm.data[1]);
    bool biased = blas_has_bias(p->desc.epilogue);
    if (biased)
        sim_use("cuBLASLt's bias", p->desc.bias, (size_t)p->m * sim_type_size(p->type), align[4]);
    int64_t a_row = p->desc.trans_a ? p->a.ld : 1, a_col = p->desc.trans_a ? 1 : p->a.ld;
    int64_t b_row = p->desc.trans_b ? p->b.ld : 1, b_col = p->desc.trans_b ? 1 : p->b.ld;
    for (int64_t item = 0; item < p->d.batch; item++)
        for (int64_t j = 0; j < p->n; j++)
            for (int64_t i = 0; i < p->m; i++) {
                double sum = 0;
                for (int64_t l = 0; l < p->k; l++)
                    sum += sim_load(p->type, x->a, item * p->a.step + i * a_row + l * a_col) *
                           sim_load(p->type, x->b, item * p->b.step + l * b_row + j * b_col);
                sum *= x->alpha;
                if (x->beta != 0)
                    sum += x->beta * sim_load(p->type, x->c, item * p->c.step + j * p->c.ld + i);
                if (biased) sum += sim_load(p->type, p->desc.bias, i);
                sim_store(p->type, x->d, item * p->d.step + j * p->d.ld + i,
                          blas_activate(p->desc.epilogue, sum));
            }
}

SIM_API int cublasLtMatmul(blas_object handle, blas_object desc, const void *alpha, const void *a,
                           blas_object la, const void *b, blas_object lb, const void *beta,
                           const void *c, blas_object lc, void *out, blas_object lout,
                           const blas_algorithm *algorithm, void *workspace, size_t bytes,
                           void *stream) {
    blas_as(handle, BLAS_HANDLE, "a handle");
    blas_call x = {.p = blas_problem_of(desc, la, lb, lc, lout),
                   .a = a,
                   .b = b,
                   .c = c,
                   .d = out,
                   .algorithm = *algorithm,
                   .workspace = workspace,
                   .workspace_bytes = bytes};
    bool wide = x.p.type == SIM_F64;
    x.alpha = wide ? *(const double *)alpha : (double)*(const float *)alpha;
    x.beta = wide ? *(const double *)beta : (double)*(const float *)beta;
    if (algorithm->data[0] != blas_fingerprint(&x.p))
        sim_wrong("cuBLASLt: the algorithm was given for another problem");
    if (bytes < algorithm->data[1])
        sim_wrong("cuBLASLt: the algorithm needs a workspace of %llu bytes",
                  (unsigned long long)algorithm->data[1]);
    sim_count("cublasLtMatmul");
    return sim_ask_call(stream, blas_run, &x, sizeof x) ? BLAS_SUCCESS : BLAS_INVALID_VALUE;
}

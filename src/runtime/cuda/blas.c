/* SPDX-License-Identifier: Apache-2.0 */
/*
 * blas.c - products by cuBLASLt, opened at run time.
 *
 * cuBLASLt's matrices are column-major. A row-major product c = a b is, in its terms, the
 * product of the transposes, c' = b' a', so its first operand is our b; an operand whose rows
 * or columns have no gaps is passed unchanged. The library is asked once per kind of product
 * (sizes, strides, types, alignment) for an algorithm; the answer is kept with the descriptors.
 * All products of a device share one workspace, since its stream executes them in order. Floats
 * are multiplied as floats, not as TF32; half and bfloat16 are accumulated in float.
 *
 * Our columns are cuBLASLt's rows, so its bias, one number per row, is ours. A tensor that is added
 * is its matrix C, in the place of what beta adds, relu and gelu are its epilogues. Its gelu is the
 * one by tanh: gelu by erf is left to the caller.
 *
 * cuda/library.h looks for it (CTSC_CUBLASLT names another file to open); where it cannot be opened
 * there is no cuBLASLt. The names and numbers of its interface are in blas_abi.h, because its
 * header may not be there at build time.
 * Tests: tests/unit/test_cuda_blas.c, on a simulated cuBLASLt (tests/cuda/sim/blas.c)
 */
#include "runtime/cuda/dense.h"

#include "cuda/capture.h"
#include "cuda/library.h"
#include "runtime/cuda/blas_abi.h"
#include "runtime/cuda/plans.h"

#include <pthread.h>
#include <string.h>

/* ---- the library ----------------------------------------------------------------------------- */

static struct blas_functions {
#define BLAS_MEMBER(name, args) int(*name) args;
    BLAS_FUNCTIONS(BLAS_MEMBER)
#undef BLAS_MEMBER
} blas;

static const cuda_symbol blas_symbols[] = {
#define BLAS_SYMBOL(name, args) {"cublasLt" #name, offsetof(struct blas_functions, name)},
    BLAS_FUNCTIONS(BLAS_SYMBOL)
#undef BLAS_SYMBOL
};
static const char *const blas_names[] = {"libcublasLt.so.13", "libcublasLt.so.12",
                                         "libcublasLt.so.11", NULL};

static cuda_library blas_library = {
    .variable = VARIABLE_CUBLASLT,
    .names = blas_names,
    .toolkit_file = "libcublasLt.so",
    .symbols = blas_symbols,
    .count = sizeof blas_symbols / sizeof *blas_symbols,
    .table = &blas,
};

const char *blas_file(void) { return cuda_library_open(&blas_library) ? blas_library.file : ""; }

/* ---- devices --------------------------------------------------------------------------------- */

enum { BLAS_DEVICES = 64 };

/* How one kind of product is done. */
typedef struct blas_plan {
    blas_object desc, a, b, c; /* a, b as cuBLASLt counts them: our b, our a */
    blas_algorithm algorithm;
    bool possible;
} blas_plan;

typedef struct blas_device {
    bool opened, works;
    blas_object handle;
    void *workspace;
    size_t workspace_bytes;
    plan_table plans; /* blas_kind to blas_plan */
} blas_device;

static blas_device blas_devices[BLAS_DEVICES]; /* live as long as the process; blas_lock */
static pthread_mutex_t blas_lock = PTHREAD_MUTEX_INITIALIZER;

/* NULL: there is none, or it has failed, for which see *status. */
static blas_device *blas_device_of(diag *d, cuda *c, ctsc_status *status) {
    if (cuda_index(c) >= BLAS_DEVICES) return NULL;
    blas_device *dev = &blas_devices[cuda_index(c)];
    if (!dev->opened) {
        bool found = cuda_library_open(&blas_library);
        /* the workspace stays */
        if (found) *status = cuda_capture_refuse(d, "the first product of matrices");
        if (*status != CTSC_OK) return NULL;
        dev->opened = true;
        dev->workspace_bytes = (size_t)(cuda_get_properties(c)->major >= 9 ? 32 : 8) << 20;
        dev->works = found && cuda_enter(c, d) == CTSC_OK && blas.Create(&dev->handle) == 0;
        if (dev->works && cuda_alloc(c, NULL, dev->workspace_bytes, &dev->workspace) != CTSC_OK)
            dev->workspace_bytes = 0;
    }
    return dev->works ? dev : NULL;
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* What decides how a product is done, compared as bytes. */
typedef struct blas_kind {
    int64_t m, n, k, lda, ldb, ldc, batch, step_a, step_b, step_c;
    int32_t dt, trans_a, trans_b, epilogue, align_a, align_b, align_c, align_d, align_bias, unused;
} blas_kind;

static int blas_type(dtype dt) {
    switch (dt) {
    case DT_FLOAT32: return BLAS_R_32F;
    case DT_FLOAT64: return BLAS_R_64F;
    case DT_FLOAT16: return BLAS_R_16F;
    case DT_BFLOAT16: return BLAS_R_16BF;
    default: return -1;
    }
}

/* -1: it has none. */
static int32_t blas_epilogue(const dense_epilogue *e) {
    switch (e->activation) {
    case DENSE_PLAIN: return e->bias ? BLAS_EPILOGUE_BIAS : BLAS_EPILOGUE_DEFAULT;
    case DENSE_RELU: return e->bias ? BLAS_EPILOGUE_RELU_BIAS : BLAS_EPILOGUE_RELU;
    case DENSE_GELU_TANH: return e->bias ? BLAS_EPILOGUE_GELU_BIAS : BLAS_EPILOGUE_GELU;
    default: return -1;
    }
}

/* The layout for cuBLASLt of the transpose of a row-major rows x
 * cols matrix: as it is, or transposed once more. False: neither. */
static bool blas_side(int64_t rows, int64_t cols, int64_t rs, int64_t cs, int32_t *trans,
                      int64_t *ld) {
    if ((cs == 1 || cols == 1) && (rows == 1 || rs >= cols)) {
        *trans = 0;
        *ld = rows == 1 ? cols : rs;
        return true;
    }
    *trans = 1;
    *ld = cols == 1 ? rows : cs;
    return (rs == 1 || rows == 1) && (cols == 1 || cs >= rows);
}

/* Bytes that p is a multiple of, 256 at most. */
static int32_t blas_alignment(const void *p) {
    uintptr_t bits = (uintptr_t)p | 256;
    return (int32_t)(bits & -bits);
}

static bool blas_layout(const blas_kind *k, uint64_t rows, uint64_t cols, int64_t ld, int64_t step,
                        blas_object *out) {
    int32_t count = (int32_t)k->batch;
    if (blas.MatrixLayoutCreate(out, blas_type((dtype)k->dt), rows, cols, ld) != 0) return false;
    return count == 1 ||
           (blas.MatrixLayoutSetAttribute(*out, BLAS_LAYOUT_BATCH_COUNT, &count, sizeof count) ==
                0 &&
            blas.MatrixLayoutSetAttribute(*out, BLAS_LAYOUT_BATCH_STRIDE, &step, sizeof step) == 0);
}

static bool blas_describe(const blas_kind *k, const void *bias, blas_plan *p) {
    bool wide = k->dt == DT_FLOAT64;
    uint64_t m = (uint64_t)k->m, n = (uint64_t)k->n, depth = (uint64_t)k->k;
    if (blas.MatmulDescCreate(&p->desc, wide ? BLAS_COMPUTE_64F : BLAS_COMPUTE_32F,
                              wide ? BLAS_R_64F : BLAS_R_32F) != 0)
        return false;
    if (blas.MatmulDescSetAttribute(p->desc, BLAS_DESC_TRANSA, &k->trans_b, sizeof k->trans_b) !=
            0 ||
        blas.MatmulDescSetAttribute(p->desc, BLAS_DESC_TRANSB, &k->trans_a, sizeof k->trans_a) != 0)
        return false;
    if (blas.MatmulDescSetAttribute(p->desc, BLAS_DESC_EPILOGUE, &k->epilogue,
                                    sizeof k->epilogue) != 0 ||
        (bias &&
         blas.MatmulDescSetAttribute(p->desc, BLAS_DESC_BIAS_POINTER, &bias, sizeof bias) != 0))
        return false;
    return blas_layout(k, k->trans_b ? depth : n, k->trans_b ? n : depth, k->ldb, k->step_b,
                       &p->a) &&
           blas_layout(k, k->trans_a ? m : depth, k->trans_a ? depth : m, k->lda, k->step_a,
                       &p->b) &&
           blas_layout(k, n, m, k->ldc, k->step_c, &p->c);
}

/* Asks for an algorithm. */
static bool blas_ask(const blas_device *dev, const blas_kind *k, blas_plan *p) {
    blas_object preference;
    blas_answer answer;
    int found = 0;
    uint64_t workspace = dev->workspace_bytes;
    uint32_t align[4] = {(uint32_t)k->align_b, (uint32_t)k->align_a, (uint32_t)k->align_c,
                         (uint32_t)k->align_d};
    if (blas.MatmulPreferenceCreate(&preference) != 0) return false;
    bool ok = blas.MatmulPreferenceSetAttribute(preference, BLAS_PREFER_WORKSPACE, &workspace,
                                                sizeof workspace) == 0;
    for (int i = 0; ok && i < 4; i++)
        ok = blas.MatmulPreferenceSetAttribute(preference, BLAS_PREFER_ALIGNMENT_A + i, &align[i],
                                               sizeof align[i]) == 0;
    ok = ok &&
         blas.MatmulAlgoGetHeuristic(dev->handle, p->desc, p->a, p->b, p->c, p->c, preference, 1,
                                     &answer, &found) == 0 &&
         found > 0 && answer.state == 0;
    blas.MatmulPreferenceDestroy(preference);
    if (ok) p->algorithm = answer.algorithm;
    return ok;
}

static void blas_plan_end(blas_plan *p) {
    if (p->desc) blas.MatmulDescDestroy(p->desc);
    if (p->a) blas.MatrixLayoutDestroy(p->a);
    if (p->b) blas.MatrixLayoutDestroy(p->b);
    if (p->c) blas.MatrixLayoutDestroy(p->c);
}

/* The plan for that kind; own: where it is made if it is not kept. Kinds that cuBLASLt cannot do
 * are kept as well. */
static blas_plan *blas_plan_for(blas_device *dev, const blas_kind *k, const void *bias,
                                blas_plan *own) {
    blas_plan *p = plan_find(&dev->plans, k, sizeof *k);
    if (p) return p;
    *own = (blas_plan){0};
    own->possible = blas_describe(k, bias, own) && blas_ask(dev, k, own);
    p = plan_keep(&dev->plans, k, sizeof *k, own, sizeof *own);
    return p ? p : own;
}

/* ---- products -------------------------------------------------------------------------------- */

/* What one call reads and writes. */
typedef struct blas_places { const void *a, *b, *added; void *out; } blas_places;

/* A product with its plan: what cuda_call is given. The descriptors in the plan, which change for
 * each bias, are safe under the device's lock. */
typedef struct blas_product {
    blas_plan *plan;
    const blas_device *device;
    blas_places at; /* our a and b */
    const void *bias;
    double alpha, beta;
    int64_t wide; /* alpha and beta are taken as doubles */
} blas_product;

static ctsc_status blas_multiply(diag *d, void *stream, const void *params) {
    const blas_product *x = params;
    const blas_plan *p = x->plan;
    float alpha = (float)x->alpha, beta = (float)x->beta;
    int code = x->bias ? blas.MatmulDescSetAttribute(p->desc, BLAS_DESC_BIAS_POINTER, &x->bias,
                                                     sizeof x->bias)
                       : 0;
    if (code == 0)
        code = blas.Matmul(x->device->handle, p->desc, x->wide ? (const void *)&x->alpha : &alpha,
                           x->at.b, p->a, x->at.a, p->b, x->wide ? (const void *)&x->beta : &beta,
                           x->at.added, p->c, x->at.out, p->c, &p->algorithm, x->device->workspace,
                           x->device->workspace_bytes, stream);
    return code == 0 ? CTSC_OK
                     : diag_fail(d, CTSC_FAILED,
                                 "cuBLASLt: a product of matrices failed (status %d)", code);
}

/* One product, or a batch with evenly spaced items. */
static bool blas_one(diag *d, cuda *c, blas_device *dev, blas_kind *k, const dense_gemm *g,
                     const blas_places *at, ctsc_status *status) {
    const void *bias = g->epilogue.bias;
    k->align_a = blas_alignment(at->a);
    k->align_b = blas_alignment(at->b);
    k->align_c = blas_alignment(at->added);
    k->align_d = blas_alignment(at->out);
    k->align_bias = blas_alignment(bias);
    blas_plan own, *p = blas_plan_for(dev, k, bias, &own);
    bool done = p->possible;
    if (done) {
        blas_product x = {
            p, dev, *at, bias, g->alpha, g->epilogue.other ? 1 : g->beta, k->dt == DT_FLOAT64};
        *status = p == &own ? cuda_capture_refuse(d, "a product that cuBLASLt has no plan for")
                            : CTSC_OK;
        if (*status == CTSC_OK) *status = cuda_call(c, d, blas_multiply, &x, sizeof x);
    }
    if (p == &own) blas_plan_end(&own);
    return done;
}

/* Items of a batch that are calls of their own, at most; more go to the kernel that
 * does all at once. */
enum { BLAS_CALLS = 32 };

/* The dim with most items becomes cuBLASLt's batch. */
static int blas_batch_dim(const dense_gemm *g) {
    int best = 0;
    for (int i = 1; i < g->nb; i++)
        if (g->sizes[i] > g->sizes[best]) best = i;
    return best;
}

static bool blas_batches(diag *d, cuda *c, blas_device *dev, blas_kind *k, const dense_gemm *g,
                         ctsc_status *status) {
    int64_t size = (int64_t)dtype_size((dtype)k->dt);
    int dim = blas_batch_dim(g);
    k->batch = g->nb ? g->sizes[dim] : 1;
    k->step_a = g->nb ? g->a_steps[dim] : 0;
    k->step_b = g->nb ? g->b_steps[dim] : 0;
    k->step_c = g->m * g->n;
    for (int i = dim + 1; i < g->nb; i++) k->step_c *= g->sizes[i];
    int64_t calls = g->batch / k->batch;
    if (calls > BLAS_CALLS || k->batch > INT32_MAX) return false;
    *status = CTSC_OK;
    for (int64_t call = 0; call < calls && *status == CTSC_OK; call++) {
        int64_t a = 0, b = 0, out = 0, rest = call, step = g->m * g->n;
        for (int i = (int)g->nb - 1; i >= 0; i--) {
            int64_t at = i == dim ? 0 : rest % g->sizes[i];
            a += at * g->a_steps[i];
            b += at * g->b_steps[i];
            out += at * step;
            step *= g->sizes[i];
            if (i != dim) rest /= g->sizes[i];
        }
        const char *added = g->epilogue.other ? g->epilogue.other : g->c;
        blas_places at = {(const char *)g->a + a * size, (const char *)g->b + b * size,
                          added + out * size, (char *)g->c + out * size};
        bool done = blas_one(d, c, dev, k, g, &at, status);
        if (!done && call == 0) return false;
        if (!done)
            *status = diag_fail(d, CTSC_FAILED,
                                "cuBLASLt: a batch of products cannot be done as it began");
    }
    return true;
}

bool blas_gemm(diag *d, cuda *c, dtype dt, const dense_gemm *g, ctsc_status *status) {
    blas_kind k;
    memset(&k, 0, sizeof k);
    k.m = g->m, k.n = g->n, k.k = g->k, k.ldc = g->ldc, k.dt = (int32_t)dt,
    k.epilogue = blas_epilogue(&g->epilogue);
    if (g->k == 0 || blas_type(dt) < 0 || k.epilogue < 0 || (g->epilogue.other && g->beta != 0))
        return false;
    if (!blas_side(g->m, g->k, g->a_rs, g->a_cs, &k.trans_a, &k.lda) ||
        !blas_side(g->k, g->n, g->b_rs, g->b_cs, &k.trans_b, &k.ldb))
        return false;
    pthread_mutex_lock(&blas_lock);
    *status = CTSC_OK;
    blas_device *dev = blas_device_of(d, c, status);
    bool done = dev && cuda_enter(c, d) == CTSC_OK && blas_batches(d, c, dev, &k, g, status);
    pthread_mutex_unlock(&blas_lock);
    return done || *status != CTSC_OK;
}

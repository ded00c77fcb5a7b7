/* SPDX-License-Identifier: Apache-2.0 */
/*
 * optimizer_elements.h - what each optimiser does to n elements; included once per element type
 * (T, SQRT, ABS, MAX, LOOP(name)).
 *
 * p: parameters, g: gradients, a, b, c: the state's tensors in the order of
 * optimizers.def; k: numbers that optimizer_rules.c has computed in double and named.
 * Operations are in PyTorch's order, so that results are rounded in the same way.
 */
#define ARGS                                                                                       \
    const double *k, T *restrict p, const T *restrict g, T *restrict a, T *restrict b,             \
        T *restrict c, int64_t n
#define UNUSED_STATE (void)a, (void)b, (void)c

/* g = +-g + decay * p */
VECTOR_CLONES static void LOOP(decay)(double sign, double decay, const T *restrict p,
                                      const T *restrict g, T *restrict out, int64_t n) {
    T s = (T)sign, w = (T)decay;
    for (int64_t i = 0; i < n; i++) out[i] = s * g[i] + w * p[i];
}

VECTOR_CLONES static void LOOP(negate)(const T *restrict g, T *restrict out, int64_t n) {
    for (int64_t i = 0; i < n; i++) out[i] = -g[i];
}

VECTOR_CLONES static void LOOP(sgd_plain)(ARGS) {
    UNUSED_STATE;
    T lr = (T)k[SGD_LR];
    for (int64_t i = 0; i < n; i++) p[i] += lr * g[i];
}

VECTOR_CLONES static void LOOP(sgd_momentum)(ARGS) {
    (void)b, (void)c;
    T lr = (T)k[SGD_LR], keep = (T)k[SGD_KEEP], take = (T)k[SGD_TAKE];
    for (int64_t i = 0; i < n; i++) {
        a[i] = keep * a[i] + take * g[i];
        p[i] += lr * a[i];
    }
}

VECTOR_CLONES static void LOOP(sgd_nesterov)(ARGS) {
    (void)b, (void)c;
    T lr = (T)k[SGD_LR], keep = (T)k[SGD_KEEP], take = (T)k[SGD_TAKE],
      momentum = (T)k[SGD_MOMENTUM];
    for (int64_t i = 0; i < n; i++) {
        a[i] = keep * a[i] + take * g[i];
        p[i] += lr * (g[i] + momentum * a[i]);
    }
}

VECTOR_CLONES static void LOOP(adagrad)(ARGS) {
    (void)b, (void)c;
    T lr = (T)k[ADAGRAD_LR], eps = (T)k[ADAGRAD_EPS];
    for (int64_t i = 0; i < n; i++) {
        a[i] += g[i] * g[i];
        p[i] += lr * g[i] / (SQRT(a[i]) + eps);
    }
}

VECTOR_CLONES static void LOOP(adadelta)(ARGS) {
    (void)c;
    T lr = (T)k[ADADELTA_LR], rho = (T)k[ADADELTA_RHO], take = (T)k[ADADELTA_TAKE],
      eps = (T)k[ADADELTA_EPS];
    for (int64_t i = 0; i < n; i++) {
        a[i] = rho * a[i] + take * g[i] * g[i];
        T delta = SQRT(b[i] + eps) / SQRT(a[i] + eps) * g[i];
        b[i] = rho * b[i] + take * delta * delta;
        p[i] += lr * delta;
    }
}

/* RMSprop is two loops out of four: what the gradient is divided by, into room; and the step. */
VECTOR_CLONES static void LOOP(rmsprop_scale)(const double *k, const T *restrict g, T *restrict a,
                                              T *restrict out, int64_t n) {
    T keep = (T)k[RMSPROP_KEEP], take = (T)k[RMSPROP_TAKE], eps = (T)k[RMSPROP_EPS];
    for (int64_t i = 0; i < n; i++) {
        a[i] = keep * a[i] + take * g[i] * g[i];
        out[i] = SQRT(a[i]) + eps;
    }
}

VECTOR_CLONES static void LOOP(rmsprop_centre)(const double *k, const T *restrict g, T *restrict a,
                                               T *restrict mean, T *restrict out, int64_t n) {
    T keep = (T)k[RMSPROP_KEEP], take = (T)k[RMSPROP_TAKE], eps = (T)k[RMSPROP_EPS];
    for (int64_t i = 0; i < n; i++) {
        a[i] = keep * a[i] + take * g[i] * g[i];
        mean[i] = keep * mean[i] + take * g[i];
        out[i] = SQRT(a[i] - mean[i] * mean[i]) + eps;
    }
}

VECTOR_CLONES static void LOOP(rmsprop_step)(const double *k, T *restrict p, const T *restrict g,
                                             const T *restrict scale, int64_t n) {
    T lr = (T)k[RMSPROP_LR];
    for (int64_t i = 0; i < n; i++) p[i] += lr * g[i] / scale[i];
}

VECTOR_CLONES static void LOOP(rmsprop_momentum)(const double *k, T *restrict p,
                                                 const T *restrict g, T *restrict b,
                                                 const T *restrict scale, int64_t n) {
    T lr = (T)k[RMSPROP_LR], momentum = (T)k[RMSPROP_MOMENTUM];
    for (int64_t i = 0; i < n; i++) {
        b[i] = momentum * b[i] + g[i] / scale[i];
        p[i] += lr * b[i];
    }
}

static void LOOP(rmsprop)(ARGS) {
    T scale[OPTIMIZER_BLOCK];
    for (int64_t i = 0, m; i < n; i += m) {
        m = n - i < OPTIMIZER_BLOCK ? n - i : OPTIMIZER_BLOCK;
        if (k[RMSPROP_CENTERED] != 0) LOOP(rmsprop_centre)(k, g + i, a + i, c + i, scale, m);
        else LOOP(rmsprop_scale)(k, g + i, a + i, scale, m);
        if (k[RMSPROP_MOMENTUM] > 0) LOOP(rmsprop_momentum)(k, p + i, g + i, b + i, scale, m);
        else LOOP(rmsprop_step)(k, p + i, g + i, scale, m);
    }
}

VECTOR_CLONES static void LOOP(adam)(ARGS) {
    (void)c;
    T keep = (T)k[ADAM_DECAY], b1 = (T)k[ADAM_BETA1], t1 = (T)k[ADAM_TAKE1], b2 = (T)k[ADAM_BETA2],
      t2 = (T)k[ADAM_TAKE2];
    T eps = (T)k[ADAM_EPS], root = (T)k[ADAM_ROOT], step = (T)k[ADAM_STEP];
    for (int64_t i = 0; i < n; i++) {
        a[i] = b1 * a[i] + t1 * g[i];
        b[i] = b2 * b[i] + t2 * g[i] * g[i];
        p[i] = keep * p[i] + step * a[i] / (SQRT(b[i]) / root + eps);
    }
}

VECTOR_CLONES static void LOOP(amsgrad)(ARGS) {
    T keep = (T)k[ADAM_DECAY], b1 = (T)k[ADAM_BETA1], t1 = (T)k[ADAM_TAKE1], b2 = (T)k[ADAM_BETA2],
      t2 = (T)k[ADAM_TAKE2];
    T eps = (T)k[ADAM_EPS], root = (T)k[ADAM_ROOT], step = (T)k[ADAM_STEP];
    for (int64_t i = 0; i < n; i++) {
        a[i] = b1 * a[i] + t1 * g[i];
        b[i] = b2 * b[i] + t2 * g[i] * g[i];
        c[i] = MAX(c[i], b[i]);
        p[i] = keep * p[i] + step * a[i] / (SQRT(c[i]) / root + eps);
    }
}

VECTOR_CLONES static void LOOP(adamax)(ARGS) {
    (void)c;
    T b1 = (T)k[ADAM_BETA1], t1 = (T)k[ADAM_TAKE1], b2 = (T)k[ADAM_BETA2], eps = (T)k[ADAM_EPS],
      step = (T)k[ADAM_STEP];
    for (int64_t i = 0; i < n; i++) {
        a[i] = b1 * a[i] + t1 * g[i];
        b[i] = MAX(b2 * b[i], ABS(g[i]) + eps);
        p[i] += step * a[i] / b[i];
    }
}

VECTOR_CLONES static void LOOP(nadam)(ARGS) {
    (void)c;
    T b1 = (T)k[ADAM_BETA1], t1 = (T)k[ADAM_TAKE1], b2 = (T)k[ADAM_BETA2], t2 = (T)k[ADAM_TAKE2];
    T eps = (T)k[ADAM_EPS], square = (T)k[ADAM_ROOT], of_grad = (T)k[ADAM_DECAY],
      of_mean = (T)k[ADAM_STEP];
    for (int64_t i = 0; i < n; i++) {
        a[i] = b1 * a[i] + t1 * g[i];
        b[i] = b2 * b[i] + t2 * g[i] * g[i];
        T scale = SQRT(b[i] / square) + eps;
        p[i] += of_grad * g[i] / scale;
        p[i] += of_mean * a[i] / scale;
    }
}

VECTOR_CLONES static void LOOP(radam)(ARGS) {
    (void)c;
    T b1 = (T)k[ADAM_BETA1], t1 = (T)k[ADAM_TAKE1], b2 = (T)k[ADAM_BETA2], t2 = (T)k[ADAM_TAKE2];
    T eps = (T)k[ADAM_EPS], root = (T)k[ADAM_ROOT], step = (T)k[ADAM_STEP],
      first = (T)k[ADAM_DECAY];
    for (int64_t i = 0; i < n; i++) {
        a[i] = b1 * a[i] + t1 * g[i];
        b[i] = b2 * b[i] + t2 * g[i] * g[i];
        p[i] -= a[i] / first * step * (root / (SQRT(b[i]) + eps));
    }
}

/* While too few gradients have been seen for b to say anything. */
VECTOR_CLONES static void LOOP(radam_early)(ARGS) {
    (void)c;
    T b1 = (T)k[ADAM_BETA1], t1 = (T)k[ADAM_TAKE1], b2 = (T)k[ADAM_BETA2], t2 = (T)k[ADAM_TAKE2];
    T step = (T)k[ADAM_STEP], first = (T)k[ADAM_DECAY];
    for (int64_t i = 0; i < n; i++) {
        a[i] = b1 * a[i] + t1 * g[i];
        b[i] = b2 * b[i] + t2 * g[i] * g[i];
        p[i] -= a[i] / first * step;
    }
}

VECTOR_CLONES static void LOOP(asgd)(ARGS) {
    (void)b, (void)c;
    T keep = (T)k[ASGD_KEEP], eta = (T)k[ASGD_ETA], mu = (T)k[ASGD_MU];
    for (int64_t i = 0; i < n; i++) {
        p[i] = p[i] * keep - eta * g[i];
        a[i] += (p[i] - a[i]) * mu;
    }
}

VECTOR_CLONES static void LOOP(asgd_copy)(ARGS) {
    (void)b, (void)c;
    T keep = (T)k[ASGD_KEEP], eta = (T)k[ASGD_ETA];
    for (int64_t i = 0; i < n; i++) a[i] = p[i] = p[i] * keep - eta * g[i];
}

VECTOR_CLONES static void LOOP(rprop)(ARGS) {
    (void)c;
    T shrink = (T)k[RPROP_MINUS], grow = (T)k[RPROP_PLUS], least = (T)k[RPROP_MIN],
      most = (T)k[RPROP_MAX];
    for (int64_t i = 0; i < n; i++) {
        T turn = g[i] * a[i], factor = turn > 0 ? grow : turn < 0 ? shrink : 1;
        T size = b[i] * factor, used = turn < 0 ? 0 : g[i];
        size = size < least ? least : size;
        size = size > most ? most : size;
        T sign = used > 0 ? 1 : used < 0 ? -1 : 0;
        p[i] -= sign * size;
        b[i] = size;
        a[i] = used;
    }
}

/* ---- clipping, and vectors of LBFGS ---------------------------------------------------------- */

VECTOR_CLONES static void LOOP(scale)(T *restrict x, double factor, int64_t n) {
    T f = (T)factor;
    for (int64_t i = 0; i < n; i++) x[i] *= f;
}

VECTOR_CLONES static void LOOP(clamp)(T *restrict x, double limit, int64_t n) {
    T most = (T)limit, least = -most;
    for (int64_t i = 0; i < n; i++) {
        T v = x[i];
        v = v < least ? least : v; /* not a number stays one */
        x[i] = v > most ? most : v;
    }
}

/* y += f * x */
VECTOR_CLONES static void LOOP(axpy)(T *restrict y, double factor, const T *restrict x, int64_t n) {
    T f = (T)factor;
    for (int64_t i = 0; i < n; i++) y[i] += f * x[i];
}

/* Sums are of doubles, eight at a time, so that they do not depend on the vectors' length. */
VECTOR_CLONES static double LOOP(dot)(const T *restrict x, const T *restrict y, int64_t n) {
    double part[8] = {0}, sum = 0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int j = 0; j < 8; j++) part[j] += (double)x[i + j] * (double)y[i + j];
    for (; i < n; i++) sum += (double)x[i] * (double)y[i];
    for (int j = 0; j < 8; j++) sum += part[j];
    return sum;
}

#undef ARGS
#undef UNUSED_STATE
#undef T
#undef SQRT
#undef ABS
#undef MAX
#undef LOOP

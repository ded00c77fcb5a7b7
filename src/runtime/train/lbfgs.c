/* SPDX-License-Identifier: Apache-2.0 */
/*
 * lbfgs.c - torch.optim.LBFGS: limited-memory BFGS, with or without a line search for the strong
 * Wolfe conditions.
 *
 * Method. J. Nocedal, S. Wright, Numerical Optimization, 2nd ed.: the two-loop recursion (algorithm
 * 7.4), bracketing and zoom with cubic interpolation (3.5, 3.6, 3.59). The order of evaluations,
 * the rules for stopping and the state that is kept are PyTorch's. Parameters are one flat vector
 * of their dtype; dot products are summed in double.
 * Tests: tests/unit/test_optimizer.c
 */
#include "ir/type.h"
#include "runtime/train/train.h"

#include <math.h>
#include <string.h>

typedef struct lbfgs {
    dtype dt;
    int64_t n;
    int64_t func_evals, n_iter;
    double t, h_diag, prev_loss;
    tensor *d, *prev_flat_grad;       /* NULL before the first step */
    VEC(tensor *) old_dirs, old_stps; /* y and s, oldest first */
    VEC(double) ro;
} lbfgs;

/* A step that runs. */
typedef struct lbfgs_run {
    diag *dg;
    optimizer *o;
    lbfgs *l;
    train_closure closure;
    void *ctx;
    tensor *g; /* the gradient where we are */
    tensor *x; /* where the line search begins */
} lbfgs_run;

#define H(field) (r->o->groups.data[0].h[HYPER_LBFGS_##field - FIRST_LBFGS])

static void lbfgs_drop(tensor **t) {
    tensor_unref(*t);
    *t = NULL;
}

void lbfgs_free(struct lbfgs *l) {
    if (!l) return;
    lbfgs_drop(&l->d);
    lbfgs_drop(&l->prev_flat_grad);
    for (size_t i = 0; i < l->old_dirs.len; i++) tensor_unref(l->old_dirs.data[i]);
    for (size_t i = 0; i < l->old_stps.len; i++) tensor_unref(l->old_stps.data[i]);
    vec_free(&l->old_dirs);
    vec_free(&l->old_stps);
    vec_free(&l->ro);
    mem_free(l);
}

static ctsc_status lbfgs_new(diag *d, const optimizer *o, lbfgs **out) {
    dtype dt = (dtype)o->params.data[0].t->dtype;
    int64_t n = 0;
    for (size_t i = 0; i < o->params.len; i++) {
        const tensor *t = o->params.data[i].t;
        TRY(train_check(d, t));
        if (t->dtype != dt || (dt != DT_FLOAT32 && dt != DT_FLOAT64))
            return diag_fail(d, CTSC_UNSUPPORTED,
                             "lbfgs takes parameters of one dtype, float32 or float64");
        n += t->numel;
    }
    lbfgs *l = mem_zalloc(sizeof *l);
    if (!l) return diag_no_memory(d);
    l->dt = dt;
    l->n = n;
    l->h_diag = 1;
    *out = l;
    return CTSC_OK;
}

/* ---- vectors --------------------------------------------------------------------------------- */

static ctsc_status vector_new(const lbfgs *l, diag *d, tensor **out) {
    return tensor_new(d, l->dt, 1, &l->n, out);
}

static ctsc_status vector_clone(const lbfgs *l, diag *d, const tensor *from, tensor **out) {
    TRY(vector_new(l, d, out));
    memcpy(tensor_data(*out), tensor_data(from), (size_t)l->n * dtype_size(l->dt));
    return CTSC_OK;
}

static double vector_dot(const lbfgs *l, const tensor *a, const tensor *b) {
    return loop_dot(l->dt, tensor_data(a), tensor_data(b), l->n);
}

static double vector_at(const lbfgs *l, const tensor *a, int64_t i) {
    return l->dt == DT_FLOAT32 ? TENSOR_AT(a, float)[i] : TENSOR_AT(a, double)[i];
}

/* The largest and the sum of |a|. */
static double vector_max(const lbfgs *l, const tensor *a, double *sum) {
    double most = 0;
    *sum = 0;
    for (int64_t i = 0; i < l->n; i++) {
        double x = fabs(vector_at(l, a, i));
        *sum += x;
        if (x > most || x != x) most = x;
    }
    return most;
}

/* Parameters to a vector, their gradients (zero where there are none) to one, a vector
 * to the parameters. */
typedef enum lbfgs_way { FROM_PARAMS, FROM_GRADS, TO_PARAMS } lbfgs_way;

static ctsc_status lbfgs_move(const lbfgs_run *r, lbfgs_way way, tensor *v) {
    int64_t at = 0;
    for (size_t i = 0; i < r->o->params.len; i++) {
        tensor *t = r->o->params.data[i].t, *g = train_grad(t), *part;
        int64_t strides[TENSOR_MAX_DIMS], step = 1;
        for (int k = t->ndim; k-- > 0; step *= t->sizes[k] > 0 ? t->sizes[k] : 1) strides[k] = step;
        TRY(tensor_view_raw(r->dg, v, t->ndim, t->sizes, strides, v->offset + at, &part));
        ctsc_status s = CTSC_OK;
        if (way == TO_PARAMS) {
            s = tensor_make_writable(r->dg, t);
            if (s == CTSC_OK) s = tensor_copy(r->dg, t, part);
            t->storage->version++;
        } else if (way == FROM_PARAMS || g) {
            s = tensor_copy(r->dg, part, way == FROM_GRADS ? g : t);
        } else {
            memset(tensor_data(part), 0, (size_t)t->numel * dtype_size(r->l->dt));
        }
        tensor_unref(part);
        TRY(s);
        at += t->numel;
    }
    return CTSC_OK;
}

/* The loss at x + t * d, its gradient in g. */
static ctsc_status lbfgs_evaluate(const lbfgs_run *r, double t, tensor *g, double *loss) {
    tensor *there;
    TRY(vector_clone(r->l, r->dg, r->x, &there));
    loop_axpy(r->l->dt, tensor_data(there), t, tensor_data(r->l->d), r->l->n);
    ctsc_status s = lbfgs_move(r, TO_PARAMS, there);
    tensor_unref(there);
    if (s == CTSC_OK) s = r->closure(r->ctx, r->dg, loss);
    return s == CTSC_OK ? lbfgs_move(r, FROM_GRADS, g) : s;
}

/* ---- the direction --------------------------------------------------------------------------- */

/* Notes the last step: y = g - previous g, s = t * d. */
static ctsc_status lbfgs_push(const lbfgs_run *r) {
    lbfgs *l = r->l;
    tensor *y = NULL, *s = NULL;
    ctsc_status st = vector_clone(l, r->dg, r->g, &y);
    if (st == CTSC_OK) st = vector_clone(l, r->dg, l->d, &s);
    bool room = vec_reserve(&l->old_dirs, l->old_dirs.len + 1) &&
                vec_reserve(&l->old_stps, l->old_stps.len + 1) &&
                vec_reserve(&l->ro, l->ro.len + 1);
    if (st == CTSC_OK && !room) st = diag_no_memory(r->dg);
    if (st == CTSC_OK) {
        loop_axpy(l->dt, tensor_data(y), -1, tensor_data(l->prev_flat_grad), l->n);
        loop_scale(l->dt, tensor_data(s), l->t, l->n);
        double ys = vector_dot(l, y, s);
        if (ys > 1e-10) {
            if (l->old_dirs.len && (double)l->old_dirs.len >= H(history_size)) {
                tensor_unref(l->old_dirs.data[0]);
                tensor_unref(l->old_stps.data[0]);
                l->old_dirs.len--, l->old_stps.len--, l->ro.len--;
                memmove(l->old_dirs.data, l->old_dirs.data + 1,
                        l->old_dirs.len * sizeof *l->old_dirs.data);
                memmove(l->old_stps.data, l->old_stps.data + 1,
                        l->old_stps.len * sizeof *l->old_stps.data);
                memmove(l->ro.data, l->ro.data + 1, l->ro.len * sizeof *l->ro.data);
            }
            l->h_diag = ys / vector_dot(l, y, y);
            l->old_dirs.data[l->old_dirs.len++] = y;
            l->old_stps.data[l->old_stps.len++] = s;
            l->ro.data[l->ro.len++] = 1 / ys;
            return CTSC_OK;
        }
    }
    tensor_unref(y);
    tensor_unref(s);
    return st;
}

/* d = -H g. */
static ctsc_status lbfgs_direction(const lbfgs_run *r) {
    lbfgs *l = r->l;
    tensor *q;
    if (l->n_iter > 1) TRY(lbfgs_push(r));
    size_t n = l->n_iter > 1 ? l->old_dirs.len : 0;
    double *al = mem_alloc((n + 1) * sizeof *al);
    if (!al) return diag_no_memory(r->dg);
    ctsc_status s = vector_clone(l, r->dg, r->g, &q);
    if (s == CTSC_OK) {
        loop_scale(l->dt, tensor_data(q), -1, l->n);
        for (size_t i = n; i-- > 0;) {
            al[i] = vector_dot(l, l->old_stps.data[i], q) * l->ro.data[i];
            loop_axpy(l->dt, tensor_data(q), -al[i], tensor_data(l->old_dirs.data[i]), l->n);
        }
        if (n) loop_scale(l->dt, tensor_data(q), l->h_diag, l->n);
        for (size_t i = 0; i < n; i++) {
            double be = vector_dot(l, l->old_dirs.data[i], q) * l->ro.data[i];
            loop_axpy(l->dt, tensor_data(q), al[i] - be, tensor_data(l->old_stps.data[i]), l->n);
        }
        tensor_unref(l->d);
        l->d = q;
    }
    mem_free(al);
    return s;
}

/* ---- the line search ------------------------------------------------------------------------- */

typedef struct wolfe_point { double t, f, gtd; tensor *g; } wolfe_point;

static double wolfe_cubic(double x1, double f1, double g1, double x2, double f2, double g2,
                          double low, double high) {
    double d1 = g1 + g2 - 3 * (f1 - f2) / (x1 - x2), square = d1 * d1 - g1 * g2;
    if (square >= 0) {
        double d2 = sqrt(square);
        double at = x1 <= x2 ? x2 - (x2 - x1) * ((g2 + d2 - d1) / (g2 - g1 + 2 * d2))
                             : x1 - (x1 - x2) * ((g1 + d2 - d1) / (g1 - g2 + 2 * d2));
        return at < low ? low : at > high ? high : at;
    }
    return (low + high) / 2;
}

static double wolfe_cubic_free(const wolfe_point *a, const wolfe_point *b) {
    double low = a->t <= b->t ? a->t : b->t, high = a->t <= b->t ? b->t : a->t;
    return wolfe_cubic(a->t, a->f, a->gtd, b->t, b->f, b->gtd, low, high);
}

static ctsc_status wolfe_evaluate(const lbfgs_run *r, double t, tensor *g, wolfe_point *out) {
    out->t = t;
    out->g = g;
    TRY(lbfgs_evaluate(r, t, g, &out->f));
    out->gtd = vector_dot(r->l, g, r->l->d);
    return CTSC_OK;
}

#define WOLFE_C1 1e-4
#define WOLFE_C2 0.9

/* Searches t; *best: the result. room: four vectors for points. most: evaluations
 * after the first, those that max_eval leaves, as in PyTorch 2 (25 in older ones). */
static ctsc_status wolfe_search(const lbfgs_run *r, double f, double gtd, tensor *const *room,
                                double most, wolfe_point *best, int64_t *evals) {
    double sum, d_norm = vector_max(r->l, r->l->d, &sum);
    const wolfe_point start = {0, f, gtd, r->g};
    wolfe_point prev = start, now, low, high;
    bool bracketed = false, done = false;
    int iter = 0, used = 0;
    TRY(wolfe_evaluate(r, r->l->t, room[used++], &now));
    *evals = 1;
    low = high = now;
    while (iter < most) {
        bool rises = now.f > f + WOLFE_C1 * now.t * gtd || (iter > 1 && now.f >= prev.f);
        if (rises || (fabs(now.gtd) > -WOLFE_C2 * gtd && now.gtd >= 0)) {
            low = prev, high = now, bracketed = true;
            break;
        }
        if (fabs(now.gtd) <= -WOLFE_C2 * gtd) {
            low = high = now, done = bracketed = true;
            break;
        }
        double least = now.t + 0.01 * (now.t - prev.t), farthest = now.t * 10;
        double t = wolfe_cubic(prev.t, prev.f, prev.gtd, now.t, now.f, now.gtd, least, farthest);
        prev = now;
        /* one before the last is not needed any more */
        TRY(wolfe_evaluate(r, t, room[used++ % 4], &now));
        ++*evals;
        iter++;
    }
    if (!bracketed) low = start, high = now;
    if (low.f > high.f) {
        wolfe_point swap = low;
        low = high, high = swap;
    }
    bool insufficient = false;
    while (!done && iter < most) {
        if (fabs(high.t - low.t) * d_norm < H(tolerance_change)) break;
        double t = wolfe_cubic_free(&low, &high);
        double left = low.t < high.t ? low.t : high.t, right = low.t < high.t ? high.t : low.t,
               eps = 0.1 * (right - left);
        if ((right - t < t - left ? right - t : t - left) < eps) {
            if (insufficient || t >= right || t <= left) {
                t = fabs(t - right) < fabs(t - left) ? right - eps : left + eps;
                insufficient = false;
            } else {
                insufficient = true;
            }
        } else {
            insufficient = false;
        }
        tensor *g = NULL; /* one that neither end uses */
        for (int i = 0; i < 4 && !g; i++)
            if (room[i] != low.g && room[i] != high.g) g = room[i];
        TRY(wolfe_evaluate(r, t, g, &now));
        ++*evals;
        iter++;
        if (now.f > f + WOLFE_C1 * t * gtd || now.f >= low.f) {
            high = now;
            if (high.f < low.f) {
                wolfe_point swap = low;
                low = high, high = swap;
            }
            continue;
        }
        if (fabs(now.gtd) <= -WOLFE_C2 * gtd) done = true;
        else if (now.gtd * (high.t - low.t) >= 0) high = low;
        low = now;
    }
    *best = low;
    return CTSC_OK;
}

/* x becomes x + t * d with the best t; g is the gradient there. */
static ctsc_status lbfgs_search(lbfgs_run *r, double most, double *loss, double gtd,
                                int64_t *evals) {
    lbfgs *l = r->l;
    tensor *room[4] = {0};
    wolfe_point best = {0};
    ctsc_status s = CTSC_OK;
    for (int i = 0; i < 4 && s == CTSC_OK; i++) s = vector_new(l, r->dg, &room[i]);
    if (s == CTSC_OK) s = wolfe_search(r, *loss, gtd, room, most, &best, evals);
    if (s == CTSC_OK) {
        memmove(tensor_data(r->g), tensor_data(best.g), (size_t)l->n * dtype_size(l->dt));
        l->t = best.t;
        *loss = best.f;
        loop_axpy(l->dt, tensor_data(r->x), l->t, tensor_data(l->d), l->n);
    }
    ctsc_status back = lbfgs_move(r, TO_PARAMS, r->x); /* also where it failed: to where it began */
    for (int i = 0; i < 4; i++) tensor_unref(room[i]);
    return s == CTSC_OK ? back : s;
}

/* ---- a step ---------------------------------------------------------------------------------- */

static ctsc_status lbfgs_advance(lbfgs_run *r, bool last, double most, double *loss, double gtd,
                                 int64_t *evals) {
    lbfgs *l = r->l;
    *evals = 0;
    if (H(strong_wolfe) != 0) return lbfgs_search(r, most, loss, gtd, evals);
    loop_axpy(l->dt, tensor_data(r->x), l->t, tensor_data(l->d), l->n);
    TRY(lbfgs_move(r, TO_PARAMS, r->x));
    if (last) return CTSC_OK;
    *evals = 1;
    TRY(r->closure(r->ctx, r->dg, loss));
    return lbfgs_move(r, FROM_GRADS, r->g);
}

static ctsc_status lbfgs_iterate(lbfgs_run *r, double loss) {
    lbfgs *l = r->l;
    int64_t evals = 1, more = 0;
    double sum, flat = vector_max(l, r->g, &sum);
    if (flat <= H(tolerance_grad)) return CTSC_OK;
    for (int n = 0; n < H(max_iter);) {
        n++;
        l->n_iter++;
        if (l->n_iter == 1) {
            l->h_diag = 1;
            for (size_t i = 0; i < l->old_dirs.len; i++)
                tensor_unref(l->old_dirs.data[i]), tensor_unref(l->old_stps.data[i]);
            l->old_dirs.len = l->old_stps.len = l->ro.len = 0;
        }
        TRY(lbfgs_direction(r));
        if (!l->prev_flat_grad) TRY(vector_new(l, r->dg, &l->prev_flat_grad));
        memcpy(tensor_data(l->prev_flat_grad), tensor_data(r->g), (size_t)l->n * dtype_size(l->dt));
        l->prev_loss = loss;
        (void)vector_max(l, r->g, &sum);
        l->t = l->n_iter == 1 ? (1 / sum < 1 ? 1 / sum : 1) * H(lr) : H(lr);
        double gtd = vector_dot(l, r->g, l->d);
        if (gtd > -H(tolerance_change)) break;
        double most = H(max_eval) - (double)evals;
        TRY(lbfgs_advance(r, n == (int)H(max_iter), most, &loss, gtd, &more));
        flat = vector_max(l, r->g, &sum);
        evals += more;
        l->func_evals += more;
        double moved = vector_max(l, l->d, &sum) * fabs(l->t);
        if (n == (int)H(max_iter) || (double)evals >= H(max_eval) || flat <= H(tolerance_grad) ||
            moved <= H(tolerance_change) || fabs(loss - l->prev_loss) < H(tolerance_change))
            break;
    }
    return CTSC_OK;
}

ctsc_status lbfgs_step(diag *d, optimizer *o, train_closure closure, void *ctx, double *loss) {
    lbfgs_run run = {.dg = d, .o = o, .closure = closure, .ctx = ctx}, *r = &run;
    double first = 0;
    if (!o->lbfgs) TRY(lbfgs_new(d, o, &o->lbfgs));
    r->l = o->lbfgs;
    TRY(closure(ctx, d, &first));
    r->l->func_evals++;
    ctsc_status s = vector_new(r->l, d, &r->g);
    if (s == CTSC_OK) s = vector_new(r->l, d, &r->x);
    if (s == CTSC_OK) s = lbfgs_move(r, FROM_GRADS, r->g);
    if (s == CTSC_OK) s = lbfgs_move(r, FROM_PARAMS, r->x);
    if (s == CTSC_OK) s = lbfgs_iterate(r, first);
    tensor_unref(r->g);
    tensor_unref(r->x);
    if (s == CTSC_OK && loss) *loss = first;
    return s;
}

/* ---- state ----------------------------------------------------------------------------------- */

static ctsc_status lbfgs_put_list(diag *d, dict *into, const char *key, size_t n,
                                  tensor *const *ts) {
    list *l = list_new(LIST_TENSOR, TYPE_TENSOR, n);
    if (!l) return diag_no_memory(d);
    /* there is room */
    for (size_t i = 0; i < n; i++) (void)list_append_take(l, value_tensor_take(tensor_ref(ts[i])));
    return train_put(d, into, key, value_list_take(l));
}

static ctsc_status lbfgs_put_number(diag *d, dict *into, const char *key, dtype dt, double x) {
    tensor *t;
    TRY(tensor_scalar_float(d, dt, x, &t));
    return train_put(d, into, key, value_tensor_take(t));
}

static ctsc_status lbfgs_put_ro(diag *d, const lbfgs *l, dict *into) {
    list *ro = list_new(LIST_TENSOR, TYPE_TENSOR, l->ro.len);
    ctsc_status s = ro ? CTSC_OK : diag_no_memory(d);
    for (size_t i = 0; i < l->ro.len && s == CTSC_OK; i++) {
        tensor *t;
        s = tensor_scalar_float(d, l->dt, l->ro.data[i], &t);
        if (s == CTSC_OK) (void)list_append_take(ro, value_tensor_take(t));
    }
    if (s == CTSC_OK) return train_put(d, into, "ro", value_list_take(ro));
    if (ro) value_unref(value_list_take(ro));
    return s;
}

ctsc_status lbfgs_state(diag *d, const optimizer *o, dict *into) {
    const lbfgs *l = o->lbfgs;
    TRY(train_put(d, into, "func_evals", value_int(l->func_evals)));
    TRY(train_put(d, into, "n_iter", value_int(l->n_iter)));
    if (!l->d) return CTSC_OK;
    TRY(train_put(d, into, "d", value_tensor_take(tensor_ref(l->d))));
    TRY(train_put(d, into, "t", value_float(l->t)));
    TRY(lbfgs_put_list(d, into, "old_dirs", l->old_dirs.len, l->old_dirs.data));
    TRY(lbfgs_put_list(d, into, "old_stps", l->old_stps.len, l->old_stps.data));
    TRY(lbfgs_put_ro(d, l, into));
    TRY(lbfgs_put_number(d, into, "H_diag", l->dt, l->h_diag));
    if (l->prev_flat_grad)
        TRY(train_put(d, into, "prev_flat_grad", value_tensor_take(tensor_ref(l->prev_flat_grad))));
    return train_put(d, into, "prev_loss", value_float(l->prev_loss));
}

static ctsc_status lbfgs_get_vector(diag *d, const lbfgs *l, value v, tensor **out) {
    if (v.tag != V_TENSOR || v.u.tensor->ndim != 1 || v.u.tensor->numel != l->n ||
        v.u.tensor->storage->device)
        return diag_fail(d, CTSC_FAILED,
                         "lbfgs's state has a vector of another length than the parameters");
    TRY(vector_new(l, d, out));
    return tensor_copy(d, *out, v.u.tensor);
}

/* Tensors of two lists and numbers of a third: as many of each. */
static ctsc_status lbfgs_get_history(diag *d, lbfgs *l, const list *dirs, const list *stps,
                                     const list *ro) {
    if (dirs->len != stps->len || dirs->len != ro->len)
        return diag_fail(d, CTSC_FAILED, "lbfgs's state has lists of different lengths");
    if (!vec_reserve(&l->old_dirs, dirs->len) || !vec_reserve(&l->old_stps, dirs->len) ||
        !vec_reserve(&l->ro, dirs->len))
        return diag_no_memory(d);
    for (size_t i = 0; i < dirs->len; i++) {
        value y = list_get(dirs, i), s = list_get(stps, i), f = list_get(ro, i);
        tensor *a = NULL, *b = NULL;
        double x = 0;
        ctsc_status st = lbfgs_get_vector(d, l, y, &a);
        if (st == CTSC_OK) st = lbfgs_get_vector(d, l, s, &b);
        if (st == CTSC_OK && !train_number(f, &x))
            st = diag_fail(d, CTSC_FAILED, "lbfgs's state has something else for a number");
        value_unref(y);
        value_unref(s);
        value_unref(f);
        if (st != CTSC_OK) {
            tensor_unref(a);
            tensor_unref(b);
            return st;
        }
        l->old_dirs.data[l->old_dirs.len++] = a;
        l->old_stps.data[l->old_stps.len++] = b;
        l->ro.data[l->ro.len++] = x;
    }
    return CTSC_OK;
}

static ctsc_status lbfgs_fill(diag *d, lbfgs *l, const dict *from) {
    value v, w, x;
    double number;
    if (train_get(from, "func_evals", &v) && train_number(v, &number))
        l->func_evals = (int64_t)number;
    if (train_get(from, "n_iter", &v) && train_number(v, &number)) l->n_iter = (int64_t)number;
    if (train_get(from, "t", &v)) (void)train_number(v, &l->t);
    if (train_get(from, "H_diag", &v)) (void)train_number(v, &l->h_diag);
    if (train_get(from, "prev_loss", &v)) (void)train_number(v, &l->prev_loss);
    if (train_get(from, "d", &v) && v.tag != V_NONE) TRY(lbfgs_get_vector(d, l, v, &l->d));
    if (train_get(from, "prev_flat_grad", &v) && v.tag != V_NONE)
        TRY(lbfgs_get_vector(d, l, v, &l->prev_flat_grad));
    bool history = train_get(from, "old_dirs", &v) && v.tag == V_LIST &&
                   train_get(from, "old_stps", &w) && w.tag == V_LIST &&
                   train_get(from, "ro", &x) && x.tag == V_LIST;
    if (history) TRY(lbfgs_get_history(d, l, v.u.list, w.u.list, x.u.list));
    if (l->n_iter > 0 && (!l->d || !l->prev_flat_grad))
        return diag_fail(d, CTSC_FAILED, "lbfgs's state lacks its direction");
    return CTSC_OK;
}

ctsc_status lbfgs_load_state(diag *d, optimizer *o, const dict *from) {
    lbfgs *l;
    TRY(lbfgs_new(d, o, &l));
    ctsc_status s = lbfgs_fill(d, l, from);
    if (s != CTSC_OK) {
        lbfgs_free(l);
        return s;
    }
    lbfgs_free(o->lbfgs);
    o->lbfgs = l;
    return CTSC_OK;
}

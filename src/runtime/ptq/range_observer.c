/* SPDX-License-Identifier: Apache-2.0 */
/* range_observer.c - least and largest numbers, histograms, and the ranges that follow from them
 * (range_observer.h). */
#include "runtime/ptq/range_observer.h"

#include "tensor/device.h"

#include <math.h>

enum { LEVELS_ONE_SIDE = 256, LEVELS_OF_MAGNITUDES = 128 };

void observer_free(range_observer *o) {
    mem_free(o->bins);
    *o = (range_observer){0};
}

/* ---- seeing ---------------------------------------------------------------------------------- */

ctsc_status observer_see(range_observer *o, diag *d, tensor *t) {
    tensor *c = NULL;
    if (t->dtype != DT_FLOAT32 || tensor_device(t) != DEVICE_HOST) o->other = true;
    if (o->other || !t->numel) return CTSC_OK;
    TRY(tensor_contiguous(d, t, &c));
    const float *x = TENSOR_AT(c, float);
    float lo = x[0], hi = x[0];
    bool finite = true;
    for (int64_t i = 0; i < c->numel; i++) {
        finite &= isfinite(x[i]) != 0;
        lo = x[i] < lo ? x[i] : lo;
        hi = x[i] > hi ? x[i] : hi;
    }
    o->other |= !finite;
    if (!o->count || (double)lo < o->lo) o->lo = (double)lo;
    if (!o->count || (double)hi > o->hi) o->hi = (double)hi;
    o->count += (uint64_t)c->numel;
    tensor_unref(c);
    return CTSC_OK;
}

static double observer_largest(const range_observer *o) { return fmax(-o->lo, o->hi); }

/* Where the bins begin, and how wide one is. */
static double bins_begin(const range_observer *o, const observer_options *how) {
    return how->kind == OBSERVER_ENTROPY ? 0 : o->lo;
}
static double bins_width(const range_observer *o, const observer_options *how) {
    double end = how->kind == OBSERVER_ENTROPY ? observer_largest(o) : o->hi;
    return (end - bins_begin(o, how)) / OBSERVER_BINS;
}

ctsc_status observer_count(range_observer *o, const observer_options *how, diag *d, tensor *t) {
    tensor *c = NULL;
    if (o->other || !o->count || t->dtype != DT_FLOAT32) return CTSC_OK;
    if (!o->bins && !(o->bins = mem_zalloc(OBSERVER_BINS * sizeof *o->bins)))
        return diag_no_memory(d);
    TRY(tensor_contiguous(d, t, &c));
    double begin = bins_begin(o, how), width = bins_width(o, how);
    for (int64_t i = 0; i < c->numel; i++) {
        double x = (double)TENSOR_AT(c, float)[i];
        if (how->kind == OBSERVER_ENTROPY && !((x = fabs(x)) > 0)) continue;
        double at = width > 0 ? (x - begin) / width : 0;
        if (isfinite(at)) o->bins[at < 0 ? 0 : at >= OBSERVER_BINS ? OBSERVER_BINS - 1 : (int)at]++;
    }
    tensor_unref(c);
    return CTSC_OK;
}

/* ---- percentile ------------------------------------------------------------------------------ */

/* Whole bins are cut while no more than that share of the numbers is. */
static void percentile_range(const range_observer *o, const observer_options *how, double *lo,
                             double *hi) {
    double width = bins_width(o, how), all = 0, cut = 0;
    for (int i = 0; i < OBSERVER_BINS; i++) all += (double)o->bins[i];
    double most = all * (100 - how->percentile) / 200;
    int first = 0, last = OBSERVER_BINS - 1;
    while (first < last && cut + (double)o->bins[first] <= most) cut += (double)o->bins[first++];
    cut = 0;
    while (last > first && cut + (double)o->bins[last] <= most) cut += (double)o->bins[last--];
    *lo = o->lo + first * width;
    *hi = last == OBSERVER_BINS - 1 ? o->hi : o->lo + (last + 1) * width;
}

/* ---- entropy --------------------------------------------------------------------------------- */

/* The divergence of the first n bins, quantised to this many levels, each spread evenly
 * over its bins that are not empty, from the first n bins with the counts of all others
 * in the last. A bin that only the second has counts as `least` of the first. */
static double entropy_of(const uint64_t *bins, int n, int levels, double all) {
    const double least = 1e-4;
    double beyond = all, within = 0, sum = 0;
    for (int i = 0; i < n; i++) within += (double)bins[i];
    beyond -= within;
    for (int k = 0; k < levels; k++) {
        int from = (int)((int64_t)k * n / levels), to = (int)((int64_t)(k + 1) * n / levels);
        double level = 0;
        int used = 0;
        for (int i = from; i < to; i++) level += (double)bins[i], used += bins[i] != 0;
        for (int i = from; i < to; i++) {
            double p = ((double)bins[i] + (i == n - 1 ? beyond : 0)) / all,
                   q = bins[i] ? level / used / within : 0;
            if (p > 0) sum += p * log(p / (q > 0 ? q : least));
        }
    }
    return sum;
}

static double entropy_threshold(const range_observer *o, const observer_options *how) {
    int levels = o->lo >= 0 || o->hi <= 0 ? LEVELS_ONE_SIDE : LEVELS_OF_MAGNITUDES, best = 0;
    double all = 0, least = INFINITY, within = 0;
    for (int i = 0; i < OBSERVER_BINS; i++) all += (double)o->bins[i];
    for (int i = 0; i < levels; i++) within += (double)o->bins[i];
    for (int n = levels; n <= OBSERVER_BINS; n++) {
        double e = within > 0 ? entropy_of(o->bins, n, levels, all) : INFINITY;
        if (e < least) least = e, best = n;
        if (n < OBSERVER_BINS) within += (double)o->bins[n];
    }
    return best && best < OBSERVER_BINS ? best * bins_width(o, how) : observer_largest(o);
}

/* ---- the range ------------------------------------------------------------------------------- */

bool observer_range(const range_observer *o, const observer_options *how, double *lo, double *hi) {
    if (o->other || !o->count) return false;
    *lo = o->lo, *hi = o->hi;
    if (how->kind == OBSERVER_PERCENTILE && o->bins) percentile_range(o, how, lo, hi);
    if (how->kind == OBSERVER_ENTROPY && o->bins) {
        double t = entropy_threshold(o, how);
        *lo = fmax(*lo, -t), *hi = fmin(*hi, t);
    }
    return true;
}

bool observer_affine(const range_observer *o, const observer_options *how, double *scale,
                     int64_t *zero) {
    double lo, hi, levels = how->reduce_range ? 127 : 255;
    if (!observer_range(o, how, &lo, &hi)) return false;
    lo = fmin(lo, 0), hi = fmax(hi, 0);
    double s = how->symmetric ? fmax(-lo, hi) / (levels / 2) : (hi - lo) / levels;
    s = s < 0x1p-80 ? 1 : (double)(float)s; /* nothing but zeros, or next to it */
    int64_t z = how->symmetric ? (int64_t)(levels + 1) / 2 : -(int64_t)nearbyint(lo / s);
    *zero = z<0 ? 0 : z>(int64_t) levels ? (int64_t)levels : z;
    *scale = s;
    return isfinite(s) != 0;
}

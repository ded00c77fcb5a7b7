/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_quantized_bytes.c - layers of quantised tensors on every set of kernels this processor has
 * (cpu/quad/quad.h) and on AMX's tile registers, which need none (amx_emulator.h), against plain
 * loops.
 *
 * Random layers of random integers, the largest and smallest among them: results are equal to the
 * bit. Tensors end at a page that cannot be touched.
 */
#include "support.h"

#include "amx_emulator.h"
#include "base/qengine.h"
#include "base/threads/thread_pool.h"
#include "ir/op/op.h"
#include "runtime/context/runtime.h"
#include "tensor/quantiser.h"
#include "ukernels.h"

#include <math.h>

#include <sys/mman.h>

/* ---- memory that ends at a page nobody may touch --------------------------------------------- */

enum { PAGE = 4096, GRID = 8 };

static size_t fenced_size(size_t nbytes) { return (nbytes + PAGE - 1) / PAGE * PAGE + PAGE; }
/* elements of more than a byte stay aligned */
static size_t fenced_room(size_t nbytes) {
    return nbytes % 4 ? nbytes : (nbytes + GRID - 1) / GRID * GRID;
}

static void *fenced_alloc(void *ctx, size_t nbytes) {
    (void)ctx;
    char *p = mmap(NULL, fenced_size(nbytes + GRID), PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(p != MAP_FAILED);
    char *end = p + fenced_size(nbytes + GRID) - PAGE;
    mprotect(end, PAGE, PROT_NONE);
    return end - fenced_room(nbytes);
}

static void fenced_free(void *ctx, void *data, size_t nbytes) {
    (void)ctx;
    size_t size = fenced_size(nbytes + GRID);
    munmap((char *)data + fenced_room(nbytes) + PAGE - size, size);
}

/* ---- random layers --------------------------------------------------------------------------- */

static uint64_t random_state = 88172645463325252u;

static int64_t random_below(int64_t n) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7,
        random_state ^= random_state << 17;
    return (int64_t)(random_state % (uint64_t)n);
}

static bool random_one_in(int n) { return random_below(n) == 0; }

static value call(const char *key, int n, const value *args) {
    diag d = {0};
    runtime rt;
    value r = value_none();
    runtime_init(&rt);
    if (op_call(&(op_ctx){.diag = &d, .rt = &rt}, key, n, args, &r) != CTSC_OK)
        fail_msg("%s: %s", key, diag_message(&d));
    diag_clear(&d);
    return r;
}

/* All integers of the type, and more often its ends. */
static tensor *random_bytes(dtype dt, int ndim, const int64_t *sizes, quantiser *q) {
    tensor *t;
    int64_t lo = dtype_qmin(dt), hi = dtype_qmax(dt);
    assert_int_equal(tensor_new_quantised(NULL, dt, ndim, sizes, q, &t), CTSC_OK);
    quantiser_unref(q);
    bool ends = random_one_in(4);
    for (int64_t i = 0; i < t->numel; i++) {
        int64_t v = ends ? (random_one_in(2) ? lo : hi) : lo + random_below(hi - lo + 1);
        TENSOR_AT(t, uint8_t)[i] = (uint8_t)v;
    }
    return t;
}

/* Two thirds of the time all of them, or all but a few, are in the lower half of the range or in
 * half of it around the zero point, which kernels may multiply in another way. */
static tensor *random_activations(dtype dt, int ndim, const int64_t *sizes, quantiser *q) {
    tensor *t = random_bytes(dt, ndim, sizes, q);
    int64_t kind = random_below(3), least = dtype_qmin(dt), low = least;
    bool few = random_one_in(2);
    int many = random_one_in(2) ? 300 : 20;
    if (kind == 2) low = t->quantiser->zero_point - 64;
    if (low < least) low = least;
    if (low > least + 128) low = least + 128;
    for (int64_t i = 0; kind && i < t->numel; i++) {
        if (few && random_one_in(many)) continue;
        uint8_t *v = &TENSOR_AT(t, uint8_t)[i];
        *v = (uint8_t)(low + (*v & 127));
    }
    return t;
}

/* A third are so small, or all but a few, that kernels may add four products in 16 bits; a third
 * are on the border of that: 127 * (64 + 64 + 65 + 65) is 2^15 - 2. */
static tensor *random_weights(int ndim, const int64_t *sizes, quantiser *q) {
    tensor *t = random_bytes(DT_QINT8, ndim, sizes, q);
    int64_t kind = random_below(3);
    int few = random_one_in(2) ? 400 : 20;
    for (int64_t i = 0; kind && i < t->numel; i++) {
        int8_t *v = &TENSOR_AT(t, int8_t)[i];
        if (random_one_in(few)) continue;
        if (kind == 1) *v = (int8_t)(*v % 33);
        else *v = (int8_t)((random_one_in(2) ? 1 : -1) * (64 + random_one_in(2)));
    }
    return t;
}

static quantiser *random_channels(int64_t n, int axis) {
    tensor *scales, *zeros;
    assert_int_equal(tensor_new(NULL, DT_FLOAT64, 1, &n, &scales), CTSC_OK);
    assert_int_equal(tensor_new(NULL, DT_INT64, 1, &n, &zeros), CTSC_OK);
    bool symmetric = !random_one_in(4);
    for (int64_t i = 0; i < n; i++) {
        TENSOR_AT(scales, double)[i] = 0.001 * (double)(1 + random_below(40));
        TENSOR_AT(zeros, int64_t)[i] = symmetric ? 0 : random_below(256) - 128;
    }
    quantiser *q = quantiser_new_channels(QSCHEME_CHANNEL_AFFINE, scales, zeros, axis);
    tensor_unref(scales), tensor_unref(zeros);
    return q;
}

static quantiser *random_quantiser(dtype dt, bool symmetric) {
    int64_t lo = dtype_qmin(dt), hi = dtype_qmax(dt);
    return quantiser_new(0.001 * (double)(1 + random_below(60)),
                         symmetric ? 0 : lo + random_below(hi - lo + 1));
}

/* Everything seen as three-dimensional. A linear layer has no dims. */
typedef struct random_layer {
    int dims;
    bool transposed, relu;
    tensor *x, *weight, *bias; /* x: [N, C, spatial...], in any order; bias may be NULL */
    int64_t batch, inputs, outputs, groups;
    int64_t in[3], kernel[3], stride[3], padding[3], dilation[3], output_padding[3], place[3];
    double scale;
    int64_t zero;
} random_layer;

static int64_t weight_zero(const random_layer *l, int64_t o) {
    const quantiser *q = l->weight->quantiser;
    return quantiser_per_tensor(q) ? q->zero_point : TENSOR_AT(q->zero_points, int64_t)[o];
}

static double weight_scale(const random_layer *l, int64_t o) {
    const quantiser *q = l->weight->quantiser;
    return quantiser_per_tensor(q) ? q->scale : TENSOR_AT(q->scales, double)[o];
}

/* Where channel c of a position is. */
static int64_t input_place(const random_layer *l, int64_t n, int64_t c, const int64_t at[3]) {
    const tensor *x = l->x;
    int64_t i = n * x->strides[0] + c * x->strides[1];
    for (int d = 0; d < l->dims; d++) i += at[3 - l->dims + d] * x->strides[2 + d];
    return i;
}

/* The coordinate that a tap reads; false: beside the input. */
static bool source_of(const random_layer *l, int d, int64_t o, int64_t tap, int64_t *at) {
    if (l->transposed) {
        *at = o + l->padding[d] - tap * l->dilation[d];
        if (*at < 0 || *at % l->stride[d]) return false;
        *at /= l->stride[d];
    } else {
        *at = o * l->stride[d] - l->padding[d] + tap * l->dilation[d];
    }
    return *at >= 0 && *at < l->in[d];
}

static int32_t sum_at(const random_layer *l, int64_t n, int64_t o, const int64_t place[3]) {
    int64_t sum = 0, in = l->inputs / l->groups, out = l->outputs / l->groups, g = o / out,
            taps = l->kernel[0] * l->kernel[1] * l->kernel[2], at[3];
    const bool from_signed = l->x->dtype == DT_QINT8;
    const int64_t x_zero = l->x->quantiser->zero_point,
                  w_zero = weight_zero(l, l->transposed ? 0 : o);
    for (int64_t t = 0; t < taps; t++) {
        int64_t tap[3] = {t / l->kernel[2] / l->kernel[1], t / l->kernel[2] % l->kernel[1],
                          t % l->kernel[2]};
        bool inside = true;
        for (int d = 0; d < 3; d++) inside &= source_of(l, d, place[d], tap[d], &at[d]);
        if (!inside) continue;
        int64_t x = input_place(l, n, g * in, at), step_x = l->x->strides[1],
                w = l->transposed ? (g * in * out + o % out) * taps + t : o * in * taps + t,
                step_w = l->transposed ? out * taps : taps;
        for (int64_t i = 0; i < in; i++, x += step_x, w += step_w)
            sum += ((from_signed ? TENSOR_AT(l->x, int8_t)[x] : TENSOR_AT(l->x, uint8_t)[x]) -
                    x_zero) *
                   (TENSOR_AT(l->weight, int8_t)[w] - w_zero);
    }
    return (int32_t)sum;
}

/* The same roundings as the engine's. */
static int64_t result_of(const random_layer *l, int32_t sum, int64_t o) {
    bool fbgemm = qengine_is_fbgemm(), per_channel = !quantiser_per_tensor(l->weight->quantiser);
    double in_scale = l->x->quantiser->scale;
    float step = (float)weight_scale(l, l->transposed ? 0 : o) * (float)in_scale, v;
    float bias = l->bias ? TENSOR_AT(l->bias, float)[o] : 0;
    if (fbgemm) {
        float steps = per_channel ? bias / step : bias * (1 / step);
        v = ((float)sum + (l->bias ? steps : 0)) * (step / (float)l->scale);
    } else {
        float exact = (float)(weight_scale(l, l->transposed ? 0 : o) * in_scale);
        if (l->bias) sum += (int32_t)nearbyintf(bias * (1 / exact));
        v = (float)sum * (step * (1 / (float)l->scale));
    }
    int64_t lo = dtype_qmin((dtype)l->x->dtype), hi = dtype_qmax((dtype)l->x->dtype);
    if (l->relu && l->zero > lo) lo = l->zero;
    double r = (double)nearbyintf(v) + (double)l->zero;
    return r<(double)lo ? lo : r>(double) hi ? hi : (int64_t)r;
}

static void check_layer(const random_layer *l, const tensor *y) {
    int64_t place[3];
    for (int64_t n = 0; n < l->batch; n++)
        for (int64_t o = 0; o < l->outputs; o++)
            for (int64_t k = 0; k < l->place[0] * l->place[1] * l->place[2]; k++) {
                place[0] = k / l->place[2] / l->place[1];
                place[1] = k / l->place[2] % l->place[1];
                place[2] = k % l->place[2];
                int64_t i = n * y->strides[0] + o * y->strides[1];
                for (int d = 0; d < l->dims; d++) i += place[3 - l->dims + d] * y->strides[2 + d];
                int64_t got = y->dtype == DT_QINT8 ? TENSOR_AT(y, int8_t)[i]
                                                   : TENSOR_AT(y, uint8_t)[i],
                        want = result_of(l, sum_at(l, n, o, place), o);
                if (got != want)
                    fail_msg("%s, %d dims%s, [%lld, %lld, %lld, %lld, %lld] to %lld, %lld groups, "
                             "kernel %lld %lld %lld: %lld instead of %lld at %lld, %lld, %lld",
                             isa_table[ukernel_quad(UKERNEL_BYTES)->isa].name, l->dims,
                             l->transposed ? ", transposed" : "", (long long)l->batch,
                             (long long)l->inputs, (long long)l->in[0], (long long)l->in[1],
                             (long long)l->in[2], (long long)l->outputs, (long long)l->groups,
                             (long long)l->kernel[0], (long long)l->kernel[1],
                             (long long)l->kernel[2], (long long)got, (long long)want, (long long)n,
                             (long long)o, (long long)k);
            }
}

static tensor *random_bias(int64_t n) {
    tensor *t;
    if (random_one_in(4)) return NULL;
    assert_int_equal(tensor_new(NULL, DT_FLOAT32, 1, &n, &t), CTSC_OK);
    for (int64_t i = 0; i < n; i++)
        TENSOR_AT(t, float)[i] = (float)(random_below(2001) - 1000) * 0.003f;
    return t;
}

/* Results around the middle of their range. */
static void random_output(random_layer *l, int64_t k) {
    dtype dt = (dtype)l->x->dtype;
    l->scale = l->x->quantiser->scale * 0.02 * sqrt((double)k) * (double)(1 + random_below(100));
    l->zero = dtype_qmin(dt) + random_below(256);
    l->relu = random_one_in(2);
}

static void layer_free(random_layer *l) {
    tensor_unref(l->x), tensor_unref(l->weight), tensor_unref(l->bias);
}

static value value_of(tensor *t) { return t ? value_tensor_take(tensor_ref(t)) : value_none(); }

/* ---- convolutions ---------------------------------------------------------------------------- */

static value ints(int dims, const int64_t *from) {
    list *l = list_new(LIST_INT, TYPE_INT, (size_t)dims);
    for (int d = 0; d < dims; d++) l->u.ints[l->len++] = from[3 - dims + d];
    return value_list_take(l);
}

static random_layer random_convolution(void) {
    random_layer l = {.dims = random_one_in(5) ? 3 : 2, .groups = 1};
    bool depthwise = random_one_in(4);
    dtype dt = random_one_in(3) ? DT_QINT8 : DT_QUINT8;
    l.transposed = !depthwise && random_one_in(6);
    l.groups = depthwise ? 1 + random_below(150) : random_one_in(4) ? 1 + random_below(4) : 1;
    int64_t in = depthwise ? 1 : 1 + random_below(40), out = depthwise ? 1 : 1 + random_below(70);
    if (!depthwise && random_one_in(2)) in = (in + 3) / 4 * 4; /* whole quads */
    l.inputs = in * l.groups, l.outputs = out * l.groups;
    l.batch = 1 + random_below(2);
    int64_t sizes[5] = {l.batch, l.inputs}, w[5] = {l.outputs, in};
    if (l.transposed) w[0] = l.inputs, w[1] = out;
    for (int d = 0; d < 3; d++) {
        bool there = d >= 3 - l.dims;
        l.kernel[d] = there ? 1 + random_below(random_one_in(8) ? 7 : 3) : 1;
        l.stride[d] = there && random_one_in(3) ? 1 + random_below(3) : 1;
        l.dilation[d] = there && random_one_in(4) ? 1 + random_below(3) : 1;
        l.padding[d] = there && random_one_in(2) ? random_below(3) : 0;
        l.output_padding[d] = l.transposed && there ? random_below(l.stride[d]) : 0;
        int64_t reach = l.dilation[d] * (l.kernel[d] - 1) + 1, least = reach - 2 * l.padding[d];
        if (l.transposed)
            least = (2 * l.padding[d] - reach - l.output_padding[d]) / l.stride[d] + 2;
        l.in[d] = there ? (least < 1 ? 1 : least) + random_below(random_one_in(5) ? 30 : 6) : 1;
        l.place[d] = l.transposed ? (l.in[d] - 1) * l.stride[d] - 2 * l.padding[d] + reach +
                                        l.output_padding[d]
                                  : (l.in[d] + 2 * l.padding[d] - reach) / l.stride[d] + 1;
        if (there) sizes[2 + d - (3 - l.dims)] = l.in[d], w[2 + d - (3 - l.dims)] = l.kernel[d];
    }
    /* half of those that are not negative have the zero point 0, with which padding is left out */
    l.x = random_activations(dt, 2 + l.dims, sizes,
                             random_quantiser(dt, dt == DT_QUINT8 && random_one_in(2)));
    l.weight = random_weights(2 + l.dims, w,
                              l.transposed || random_one_in(3)
                                  ? random_quantiser(DT_QINT8, !random_one_in(4))
                                  : random_channels(l.outputs, 0));
    l.bias = random_bias(l.outputs);
    random_output(&l, in * l.kernel[0] * l.kernel[1] * l.kernel[2]);
    return l;
}

/* What the first call keeps serves the second, but not the third. */
static void run_convolution(random_layer *l) {
    value lists[] = {ints(l->dims, l->stride), ints(l->dims, l->padding),
                     ints(l->dims, l->output_padding), ints(l->dims, l->dilation)},
          pack[7] = {value_of(l->weight), value_of(l->bias), lists[0], lists[1]};
    char key[64];
    int n = 4;
    if (l->transposed) pack[n++] = lists[2];
    pack[n++] = lists[3];
    pack[n++] = value_int(l->groups);
    if (l->transposed) l->relu = false;
    snprintf(key, sizeof key, "quantized::conv%s%dd_prepack", l->transposed ? "_transpose" : "",
             l->dims);
    value p = call(key, n, pack);
    snprintf(key, sizeof key, "quantized::conv%s%dd%s%s", l->transposed ? "_transpose" : "",
             l->dims, l->relu ? "_relu" : "", l->transposed ? "" : ".new");
    for (int i = 0; i < 3; i++) {
        if (i == 2) l->zero = dtype_qmin((dtype)l->x->dtype) + random_below(256);
        value args[] = {value_of(l->x), p, value_float(l->scale), value_int(l->zero)},
              y = call(key, 4, args);
        if (i != 1) check_layer(l, y.u.tensor);
        value_unref(args[0]), value_unref(y);
    }
    for (int i = 0; i < 4; i++) value_unref(lists[i]);
    value_unref(pack[0]), value_unref(pack[1]), value_unref(p);
}

typedef struct amx_check {
    void (*fn)(int cases);
    int cases;
} amx_check;

static void on_amx(void *ctx, const quad_kernels *u) {
    const amx_check *c = ctx;
    assert_ptr_equal(ukernel_quad(UKERNEL_BYTES), u);
    c->fn(c->cases);
}

static void on_all(void (*check)(int cases), int cases) {
    tensor_set_allocator(&(tensor_allocator){fenced_alloc, fenced_free, NULL});
    for (const ukernel **u = usable_ukernels(UKERNEL_QUAD, UKERNEL_BYTES); *u; u++) {
        isa_limit((*u)->isa); /* so that weights are packed for it */
        assert_ptr_equal(ukernel_quad(UKERNEL_BYTES), (*u)->record);
        check(cases);
        isa_limit(ISA_COUNT);
    }
    amx_each(UKERNEL_BYTES, on_amx, &(amx_check){check, cases});
    tensor_set_allocator(NULL);
}

static void random_settings(void) {
    qengine_set(random_one_in(2) ? QENGINE_FBGEMM : QENGINE_QNNPACK);
    pool_set_threads(1 + (int)random_below(3));
}

static void convolutions(int cases) {
    for (int i = 0; i < cases; i++) {
        random_settings();
        random_layer l = random_convolution();
        run_convolution(&l);
        layer_free(&l);
    }
}

static void test_convolutions(void **state) {
    (void)state;
    on_all(convolutions, 350);
}

/* Padding and distances that are far larger than what is read, kernels too large for the ways of
 * usual ones. */
static void far_convolutions(int cases) {
    static const int64_t far[][5] = {/* kernel, stride, padding, dilation, channels */
                                     {1, 9000, 9000, 1, 3},    {2, 1, 4000, 8001, 70},
                                     {3, 5000, 9999, 5000, 2}, {300, 1, 150, 1, 1},
                                     {2, 300, 3, 1, 1},        {2, 1, 200, 400, 1}};
    for (int i = 0; i < cases; i++) {
        const int64_t *f = far[i % 6];
        random_layer l = {.dims = 2, .groups = f[4] == 1 ? 3 : 1, .batch = 1};
        int64_t in = f[4], sizes[4] = {1, in * l.groups, 1, 0},
                w[4] = {l.groups == 1 ? 5 : l.groups, in, 1, f[0]};
        random_settings();
        l.inputs = sizes[1], l.outputs = w[0];
        for (int d = 0; d < 3; d++)
            l.kernel[d] = l.stride[d] = l.dilation[d] = l.in[d] = l.place[d] = 1;
        l.kernel[2] = f[0], l.stride[2] = f[1], l.padding[2] = f[2], l.dilation[2] = f[3];
        l.in[2] = sizes[3] = 7 + random_below(9);
        l.place[2] =
            (l.in[2] + 2 * l.padding[2] - l.dilation[2] * (l.kernel[2] - 1) - 1) / l.stride[2] + 1;
        l.x = random_activations(DT_QUINT8, 4, sizes, random_quantiser(DT_QUINT8, false));
        l.weight = random_weights(4, w, random_channels(l.outputs, 0));
        random_output(&l, in * f[0]);
        run_convolution(&l);
        layer_free(&l);
    }
}

static void test_far_convolutions(void **state) {
    (void)state;
    on_all(far_convolutions, 6);
}

/* Rows of the kernel that meet padding alone are left out; kernels that add four products in 16
 * bits have to know for each panel of columns which they may, also then. */
static void uneven_panels(int cases) {
    (void)cases;
    random_layer l = {.dims = 2, .groups = 1, .batch = 1, .inputs = 8, .outputs = 32};
    for (int d = 0; d < 3; d++) {
        bool there = d > 0;
        l.stride[d] = l.dilation[d] = 1;
        l.kernel[d] = there ? 3 : 1, l.padding[d] = there, l.in[d] = l.place[d] = there ? 5 : 1;
    }
    l.x = random_bytes(DT_QUINT8, 4, (int64_t[]){1, 8, 5, 5}, quantiser_new(0.1, 0));
    l.weight = random_bytes(DT_QINT8, 4, (int64_t[]){32, 8, 3, 3}, quantiser_new(0.1, 0));
    memset(tensor_data(l.x), INT8_MAX, (size_t)l.x->numel);
    for (int64_t i = 0; i < l.weight->numel; i++)
        TENSOR_AT(l.weight, int8_t)[i] = i < l.weight->numel / 2 ? 1 : INT8_MAX;
    l.scale = 100; /* so that results are in range */
    run_convolution(&l);
    layer_free(&l);
}

static void test_uneven_panels(void **state) {
    (void)state;
    on_all(uneven_panels, 1);
}

/* ---- linear layers --------------------------------------------------------------------------- */

static random_layer random_linear(void) {
    random_layer l = {.groups = 1,
                      .batch = 1 + random_below(random_one_in(5) ? 300 : 20),
                      .inputs = random_one_in(20) ? 2048
                                                  : 1 + random_below(random_one_in(9) ? 600 : 70),
                      .outputs = 1 + random_below(90)};
    for (int d = 0; d < 3; d++)
        l.kernel[d] = l.stride[d] = l.dilation[d] = l.in[d] = l.place[d] = 1;
    dtype dt = random_one_in(3) ? DT_QINT8 : DT_QUINT8;
    l.x = random_activations(dt, 2, (int64_t[]){l.batch, l.inputs}, random_quantiser(dt, false));
    l.weight = random_weights(2, (int64_t[]){l.outputs, l.inputs},
                              random_one_in(2) ? random_quantiser(DT_QINT8, !random_one_in(4))
                                               : random_channels(l.outputs, 0));
    l.bias = random_bias(l.outputs);
    random_output(&l, l.inputs);
    return l;
}

static value pack_linear(const random_layer *l) {
    value pack[] = {value_of(l->weight), value_of(l->bias)},
          p = call("quantized::linear_prepack", 2, pack);
    value_unref(pack[0]), value_unref(pack[1]);
    return p;
}

static void linears(int cases) {
    for (int i = 0; i < cases; i++) {
        random_settings();
        random_layer l = random_linear();
        value p = pack_linear(&l),
              args[] = {value_of(l.x), p, value_float(l.scale), value_int(l.zero)},
              y = call(l.relu ? "quantized::linear_relu" : "quantized::linear", 4, args);
        check_layer(&l, y.u.tensor);
        value_unref(y), value_unref(args[0]), value_unref(p);
        layer_free(&l);
    }
}

static void test_linears(void **state) {
    (void)state;
    on_all(linears, 300);
}

/* Activations that are integers already: 0 to 255 steps of 1, or their negatives, become
 * themselves. */
static void check_dynamic(const random_layer *l, const tensor *x, const tensor *y) {
    bool fused = qengine_is_fbgemm();
    for (int64_t r = 0; r < l->batch; r++)
        for (int64_t o = 0; o < l->outputs; o++) {
            int64_t sum = 0;
            for (int64_t i = 0; i < l->inputs; i++)
                sum += (int64_t)TENSOR_AT(x, float)[r * l->inputs + i] *
                       (TENSOR_AT(l->weight, int8_t)[o * l->inputs + i] - weight_zero(l, o));
            float scale = (float)weight_scale(l, o),
                  bias = l->bias ? TENSOR_AT(l->bias, float)[o] : 0,
                  want = fused ? fmaf((float)sum, scale, bias) : (float)sum * scale + bias,
                  got = TENSOR_AT(y, float)[r * l->outputs + o];
            if (l->relu && want < 0) want = 0;
            if (!(fabsf(got - want) <= 1e-6f * fabsf(want)))
                fail_msg("%s: %g instead of %g at %lld, %lld",
                         isa_table[ukernel_quad(UKERNEL_BYTES)->isa].name, (double)got,
                         (double)want, (long long)r, (long long)o);
        }
}

static void dynamic_linears(int cases) {
    for (int i = 0; i < cases; i++) {
        random_settings();
        random_layer l = random_linear();
        tensor *x;
        int64_t lo = -random_below(256);
        assert_int_equal(tensor_new(NULL, DT_FLOAT32, 2, (int64_t[]){l.batch, l.inputs}, &x),
                         CTSC_OK);
        for (int64_t k = 0; k < x->numel; k++)
            TENSOR_AT(x, float)[k] = (float)(lo + random_below(256));
        TENSOR_AT(x, float)[0] = (float)lo;
        TENSOR_AT(x, float)[x->numel - 1] = (float)(lo + 255);
        value p = pack_linear(&l), args[] = {value_of(x), p, value_bool(false)},
              y = call(l.relu ? "quantized::linear_relu_dynamic" : "quantized::linear_dynamic", 3,
                       args);
        if (x->numel > 1) check_dynamic(&l, x, y.u.tensor);
        value_unref(y), value_unref(args[0]), value_unref(p);
        tensor_unref(x);
        layer_free(&l);
    }
}

static void test_dynamic_linears(void **state) {
    (void)state;
    on_all(dynamic_linears, 200);
}

/* ---- sums of two tensors, poolings ----------------------------------------------------------- */

/* One element at a time takes the general way: both give the same. */
static void test_sums(void **state) {
    (void)state;
    static const char *const keys[] = {"quantized::add", "quantized::add_relu", "quantized::mul",
                                       "quantized::mul_relu"};
    for (int i = 0; i < 400; i++) {
        int64_t n = 2 * (1 + random_below(70));
        dtype dt = random_one_in(2) ? DT_QINT8 : DT_QUINT8;
        random_settings();
        tensor *a = random_bytes(dt, 1, &n, random_quantiser(dt, false)),
               *b = random_bytes(dt, 1, &n, random_quantiser(dt, false));
        value args[] = {value_tensor_take(a), value_tensor_take(b),
                        value_float(0.001 * (double)(1 + random_below(99))),
                        value_int(dtype_qmin(dt) + random_below(256))};
        value all = call(keys[i % 4], 4, args), slice[4], apart[2];
        for (int k = 0; k < 2; k++) {
            value cut[] = {args[k], value_int(0), value_int(0), value_int(n), value_int(2)};
            slice[k] = call("aten::slice.Tensor", 5, cut);
        }
        slice[2] = args[2], slice[3] = args[3];
        apart[0] = call(keys[i % 4], 4, slice);
        for (int64_t k = 0; k < n / 2; k++)
            assert_int_equal(TENSOR_AT(all.u.tensor, uint8_t)[2 * k],
                             TENSOR_AT(apart[0].u.tensor, uint8_t)[k]);
        value_unref(apart[0]), value_unref(slice[0]), value_unref(slice[1]);
        value_unref(all), value_unref(args[0]), value_unref(args[1]);
    }
}

/* ---- rows of bytes --------------------------------------------------------------------------- */

static float random_scale(void) { return 0.001f * (float)(1 + random_below(3000)); }

/* A row that ends where nobody may read, of random bytes. */
static uint8_t *random_row(int64_t n) {
    uint8_t *p = fenced_alloc(NULL, (size_t)n);
    for (int64_t i = 0; i < n; i++) p[i] = (uint8_t)random_below(256);
    return p;
}

static void check_row(const byte_rows *u, const byte_rows *plain, int64_t n) {
    enum { MOST = 512 };
    uint8_t *a = random_row(n), *b = random_row(n), *out = random_row(n), table[256], same[MOST];
    float scale[MOST], start[MOST], placed[2][MOST] = {{0}};
    for (int i = 0; i < 256; i++) table[i] = (uint8_t)random_below(256);
    int32_t lo = (int32_t)random_below(256), hi = lo + (int32_t)random_below(256 - lo),
            zero = (int32_t)random_below(256);
    byte_pair pair = {random_scale(),
                      random_scale(),
                      -100 * random_scale(),
                      100 * random_scale(),
                      random_scale(),
                      (float)random_below(256),
                      (float)random_below(256),
                      zero,
                      lo,
                      hi};
    for (int64_t i = 0; i < n; i++) scale[i] = random_scale() - 1, start[i] = 99 * random_scale();
    int64_t block = 4 * u->lanes;
    for (int64_t i = 0; i < (n + block - 1) / block * block; i++) {
        int64_t c = i / block * block + quant_place_channel(u->lanes, i % block);
        if (c < n) placed[0][i] = scale[c], placed[1][i] = start[c];
    }
    byte_line line = {placed[0], placed[1], zero, lo, hi}, lying = {scale, start, zero, lo, hi};
    u->table(table, a, n, out), plain->table(table, a, n, same);
    assert_memory_equal(out, same, (size_t)n);
    u->sum(&pair, a, b, n, out), plain->sum(&pair, a, b, n, same);
    assert_memory_equal(out, same, (size_t)n);
    u->product(&pair, a, b, n, out), plain->product(&pair, a, b, n, same);
    assert_memory_equal(out, same, (size_t)n);
    u->line(&line, a, n, out), plain->line(&lying, a, n, same);
    assert_memory_equal(out, same, (size_t)n);
    fenced_free(NULL, a, (size_t)n), fenced_free(NULL, b, (size_t)n);
    fenced_free(NULL, out, (size_t)n);
}

static void test_rows(void **state) {
    (void)state;
    const byte_rows *plain = plain_ukernel(UKERNEL_BYTE_ROWS, UKERNEL_BYTES);
    for (const ukernel **u = usable_ukernels(UKERNEL_BYTE_ROWS, UKERNEL_BYTES); *u; u++)
        for (int64_t n = 1; n < 300; n += 1 + random_below(3)) check_row((*u)->record, plain, n);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_convolutions),
        cmocka_unit_test(test_far_convolutions),
        cmocka_unit_test(test_uneven_panels),
        cmocka_unit_test(test_linears),
        cmocka_unit_test(test_dynamic_linears),
        cmocka_unit_test(test_sums),
        cmocka_unit_test(test_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

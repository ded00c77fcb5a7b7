/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_replay.c - calls that are captured and replayed (src/cuda/capture.h, replay.h), on the
 * simulated device. */
#include "cuda_support.h"

#include "cuda/cuda_internal.h"
#include "cuda/replay.h"

#include <pthread.h>

enum { N = 1000 };

static const char text[] =
    "extern \"C\" __global__ void add(float *out, const float *x, float v) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < 1000) out[i] = x[i] + v;\n"
    "}\n";

static const cuda_kernel *kernel_add(cuda *c) {
    const cuda_kernel *k = NULL;
    cuda_source s = {text, sizeof text - 1, "add.cu", NULL};
    CHILD_CHECK(cuda_kernel_get(c, NULL, &s, "add", 0, &k) == CTSC_OK);
    return k;
}

static void add(cuda *c, const cuda_kernel *k, float *out, const float *x, float v) {
    struct {
        float *out;
        const float *x;
        float v;
    } p = {out, x, v};
    CHILD_CHECK(cuda_launch(c, NULL, k, &(cuda_shape){{4, 1, 1}, {256, 1, 1}, 0}, &p,
                            offsetof(__typeof__(p), v) + sizeof v) == CTSC_OK);
}

static float *get(cuda *c) {
    void *p = NULL;
    CHILD_CHECK(cuda_alloc(c, NULL, N * sizeof(float), &p) == CTSC_OK);
    return p;
}

static void put(cuda *c, float *p, float v) {
    float x[N];
    for (int i = 0; i < N; i++) x[i] = v + (float)i;
    CHILD_CHECK(cuda_write(c, NULL, p, x, sizeof x) == CTSC_OK);
}

static bool is(cuda *c, const float *p, float v) {
    float x[N];
    CHILD_CHECK(cuda_read(c, NULL, x, p, sizeof x) == CTSC_OK);
    for (int i = 0; i < N; i++)
        if (x[i] != v + (float)i) return false;
    return true;
}

static cuda *open_device(void) {
    cuda *c = NULL;
    sim_use();
    setenv("CTSC_CACHE", "0", 1);
    CHILD_CHECK(cuda_open(NULL, 0, &c) == CTSC_OK);
    return c;
}

/* ---- a call ---------------------------------------------------------------------------------- */

enum { LONG = 6 }; /* launches that become a graph */

/* out = (x + w) + 1 + ... + 1, in `steps` launches: its memory is allocated and freed in the way of
 * operators. The result is the caller's. */
static float *call(cuda *c, const float *x, int steps) {
    const cuda_kernel *k = kernel_add(c);
    float *at = get(c);
    add(c, k, at, x, 7);
    for (int i = 1; i < steps; i++) {
        float *next = get(c);
        add(c, k, next, at, 1);
        cuda_free(c, at);
        at = next;
    }
    return at;
}

/* Notes of call(): *slot is its result's. */
static cuda_capture *note_call(cuda *c, const float *x, int which, int steps, int *slot) {
    cuda_capture *n = NULL;
    void *in;
    size_t at;
    CHILD_CHECK(cuda_capture_begin(c, NULL, which, &n) == CTSC_OK);
    CHILD_CHECK(cuda_capture_input(n, NULL, x, N * sizeof(float), &in) == CTSC_OK && in != x &&
                cuda_capture_has(n, in));
    float *y = call(c, in, steps);
    CHILD_CHECK(cuda_capture_end(n, NULL) == CTSC_OK);
    *slot = cuda_capture_slot(n, y, &at);
    CHILD_CHECK(*slot > 0 && at == 0 && cuda_capture_slot_bytes(n, *slot) == N * sizeof(float));
    cuda_free(c, y); /* nothing that there is: nothing happens */
    return n;
}

static cuda_replay *record(cuda *c, const float *x, int steps) {
    cuda_replay *r = NULL;
    int slot, again;
    cuda_capture *first = note_call(c, x, 0, steps, &slot),
                 *second = note_call(c, x, 1, steps, &again);
    CHILD_CHECK(slot == again);
    CHILD_CHECK(cuda_replay_make(NULL, first, second, 1, &slot, &r) == CTSC_OK &&
                cuda_replay_size(r) == (size_t)steps);
    cuda_capture_free(first);
    cuda_capture_free(second);
    return r;
}

static bool gives(cuda *c, cuda_replay *r, float *x, float *y, float v) {
    CHILD_CHECK(cuda_replay_play(r, NULL, (void *[]){x}, (void *[]){y}) == CTSC_OK);
    return is(c, y, v);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void child_play(void) {
    cuda *c = open_device();
    float *x = get(c), *other = get(c), *y = get(c), *z = get(c);
    put(c, x, 10);
    put(c, other, 100);
    put(c, y, 0);
    size_t live = cuda_get_memory_stats(c).live;
    int64_t launches = cuda_get_program_stats(c).launches;
    cuda_replay *r = record(c, x, LONG), *few = record(c, x, 2);
    /* Recording asks the device for nothing. */
    CHILD_CHECK(cuda_get_memory_stats(c).live == live &&
                cuda_get_program_stats(c).launches == launches && is(c, y, 0));

    CHILD_CHECK(gives(c, r, x, y, 17 + LONG - 1));
    cuda_replay_stats s = cuda_get_replay_stats(c);
    CHILD_CHECK(s.made == 2 && s.played == 1 && s.graphs == 1 && s.launched == 1 && s.updates == 0);
    CHILD_CHECK(cuda_get_program_stats(c).launches == launches + LONG);
    CHILD_CHECK(gives(c, r, x, y, 17 + LONG - 1)); /* all in the same places */
    CHILD_CHECK(cuda_get_replay_stats(c).updates == 0);
    CHILD_CHECK(gives(c, r, other, z, 107 + LONG - 1)); /* two kernels learn of it */
    s = cuda_get_replay_stats(c);
    CHILD_CHECK(s.updates == 2 && s.graphs == 1 && s.launched == 3);
    CHILD_CHECK(is(c, y, 17 + LONG - 1) && is(c, x, 10)); /* what was handed out before stays */

    /* Two of the intermediate results take turns in the block. */
    CHILD_CHECK(cuda_replay_scratch(r) == 4096 + N * sizeof(float) &&
                cuda_get_memory_stats(c).live == live + 2 * 4096);
    CHILD_CHECK(gives(c, few, x, y, 18) && gives(c, few, other, y, 108) &&
                cuda_get_replay_stats(c).graphs == 1);

    /* In place. */
    CHILD_CHECK(gives(c, few, x, x, 18));
    cuda_replay_free(r);
    cuda_replay_free(few);
    CHILD_CHECK(cuda_get_memory_stats(c).live == live);
}

static void child_play_lazy(void) {
    setenv("CTSC_SIM_LAZY", "1", 1);
    child_play();
}

/* Without graphs: the same, one by one. */
static void child_no_capture(void) {
    setenv("CTSC_SIM_NO_CAPTURE", "1", 1);
    cuda *c = open_device();
    float *x = get(c), *y = get(c);
    put(c, x, 1);
    cuda_replay *r = record(c, x, LONG);
    for (int i = 0; i < 3; i++) CHILD_CHECK(gives(c, r, x, y, 8 + LONG - 1));
    cuda_replay_stats s = cuda_get_replay_stats(c);
    CHILD_CHECK(s.played == 3 && s.graphs == 0 && s.launched == 0);
    float *z = call(c, x, 2); /* the stream is as it was */
    CHILD_CHECK(is(c, z, 9));
    cuda_replay_free(r);
}

/* The block is given up when memory runs out, and taken anew. */
static void child_scarce(void) {
    cuda *c = open_device();
    float *x = get(c), *y = get(c);
    void *large, *none = NULL;
    put(c, x, 1);
    cuda_replay *r = record(c, x, LONG);
    CHILD_CHECK(gives(c, r, x, y, 8 + LONG - 1));
    size_t live = cuda_get_memory_stats(c).live;
    cuda_empty_cache(c);
    CHILD_CHECK(cuda_get_memory_stats(c).live == live - 2 * 4096);
    CHILD_CHECK(gives(c, r, x, y, 8 + LONG - 1) && cuda_get_memory_stats(c).live == live);
    CHILD_CHECK(cuda_get_replay_stats(c).graphs == 2);
    cuda_empty_cache(c);
    /* The rest of its segment is taken: no memory, nothing has happened. */
    put(c, y, 0);
    while (cuda_get_memory_stats(c).reserved - cuda_get_memory_stats(c).live > 4096)
        CHILD_CHECK(get(c));
    cuda_set_memory_limit(c, cuda_get_memory_stats(c).reserved);
    CHILD_CHECK(cuda_alloc(c, NULL, 64 << 20, &large) == CTSC_LIMIT);
    CHILD_CHECK(cuda_replay_play(r, NULL, (void *[]){x}, &none) == CTSC_LIMIT && is(c, y, 0));
    cuda_set_memory_limit(c, 0);
    CHILD_CHECK(gives(c, r, x, y, 8 + LONG - 1));
    cuda_replay_free(r);
}

/* What cannot be captured fails, so does the end, and all goes on as before. */
static void child_refused(void) {
    cuda *c = open_device();
    const cuda_kernel *k = kernel_add(c);
    float *x = get(c), *y = get(c), v[N];
    for (int which = 0; which < 2; which++) {
        diag d = {0};
        cuda_capture *n, *another;
        put(c, x, 1);
        put(c, y, 0);
        CHILD_CHECK(cuda_capture_begin(c, NULL, 0, &n) == CTSC_OK &&
                    cuda_capture_begin(c, NULL, 1, &another) == CTSC_USAGE);
        add(c, k, y, x, 1);
        ctsc_status st = which == 0 ? cuda_read(c, NULL, v, y, sizeof v) : cuda_wait(c, NULL);
        CHILD_CHECK(st == CTSC_UNSUPPORTED);
        CHILD_CHECK(cuda_capture_end(n, &d) == CTSC_UNSUPPORTED &&
                    strstr(diag_message(&d), "a call cannot be recorded"));
        diag_clear(&d);
        cuda_capture_free(n);
        CHILD_CHECK(is(c, y, 0)); /* it has not happened */
        add(c, k, y, x, 1);
        CHILD_CHECK(is(c, y, 2));
    }
}

/* Notes that are not of the same call, and memory that is not freed. */
static void child_differs(void) {
    cuda *c = open_device();
    float *x = get(c);
    int slot;
    cuda_replay *r = NULL;
    cuda_capture *first = note_call(c, x, 0, 3, &slot), *longer = note_call(c, x, 1, 4, &slot),
                 *second = note_call(c, x, 1, 3, &slot);
    CHILD_CHECK(cuda_replay_make(NULL, first, longer, 1, &slot, &r) == CTSC_UNSUPPORTED);
    CHILD_CHECK(cuda_replay_make(NULL, first, second, 0, NULL, &r) == CTSC_UNSUPPORTED);
    CHILD_CHECK(r == NULL && cuda_get_replay_stats(c).made == 0);
    cuda_capture_free(first);
    cuda_capture_free(longer);
    cuda_capture_free(second);
}

/* Calls of other libraries, copies and fillings; those that touch inputs or results are no
 * part of a graph. */
typedef struct twice_params {
    cuda *device;
    const cuda_kernel *kernel;
    float *out;
    const float *x;
} twice_params;

static ctsc_status twice(diag *d, void *stream, const void *params) {
    const twice_params *p = params;
    struct {
        float *out;
        const float *x;
        float v;
    } q = {p->out, p->x, 100};
    (void)stream;
    return program_launch(p->device, d, p->kernel, &(cuda_shape){{4, 1, 1}, {256, 1, 1}, 0}, &q,
                          offsetof(__typeof__(q), v) + sizeof q.v);
}

static void child_others(void) {
    cuda *c = open_device();
    const cuda_kernel *k = kernel_add(c);
    float *x = get(c), *y = get(c), *w = get(c);
    put(c, x, 1);
    put(c, w, 1000);
    cuda_capture *n[2];
    cuda_replay *r = NULL;
    int slot = -1;
    float host[N];
    for (int i = 0; i < N; i++) host[i] = 100;
    for (int which = 0; which < 2; which++) {
        void *in;
        size_t at;
        CHILD_CHECK(cuda_capture_begin(c, NULL, which, &n[which]) == CTSC_OK);
        CHILD_CHECK(cuda_capture_input(n[which], NULL, x, N * sizeof(float), &in) == CTSC_OK);
        float *a = get(c), *b = get(c), *out = get(c);
        /* of an input: alone */
        CHILD_CHECK(cuda_move(c, NULL, a, in, N * sizeof(float)) == CTSC_OK);
        CHILD_CHECK(cuda_move(c, NULL, b, w, N * sizeof(float)) == CTSC_OK); /* a graph begins */
        CHILD_CHECK(cuda_zero(c, NULL, b, N * sizeof(float)) == CTSC_OK);
        CHILD_CHECK(cuda_call(c, NULL, twice, &(twice_params){c, k, b, a}, sizeof(twice_params)) ==
                    CTSC_OK);
        add(c, k, a, b, 1);
        CHILD_CHECK(cuda_write(c, NULL, b, host, sizeof host) == CTSC_OK); /* stays on the device */
        add(c, k, a, a, 1);
        /* of a result: alone */
        CHILD_CHECK(cuda_call(c, NULL, twice, &(twice_params){c, k, out, a},
                              sizeof(twice_params)) == CTSC_OK);
        cuda_free(c, a);
        cuda_free(c, b);
        CHILD_CHECK(cuda_capture_end(n[which], NULL) == CTSC_OK);
        slot = cuda_capture_slot(n[which], out, &at);
    }
    CHILD_CHECK(cuda_replay_make(NULL, n[0], n[1], 1, &slot, &r) == CTSC_OK &&
                cuda_replay_size(r) == 8);
    memset(host, 0, sizeof host);
    for (int i = 0; i < 3; i++) CHILD_CHECK(gives(c, r, x, i & 1 ? y : w, 203));
    cuda_replay_stats s = cuda_get_replay_stats(c);
    CHILD_CHECK(s.graphs == 1 && s.launched == 3 && s.updates == 0);
    cuda_capture_free(n[0]);
    cuda_capture_free(n[1]);
    cuda_replay_free(r);
}

/* Other threads work while one takes notes, and several play the same. */
static cuda *threads_device;
static cuda_replay *threads_replay;
static float *threads_x;

static void *threads_play(void *arg) {
    float *y = get(threads_device);
    for (int i = 0; i < 50; i++)
        CHILD_CHECK(gives(threads_device, threads_replay, threads_x, y, 8 + LONG - 1));
    return arg;
}

static void child_threads(void) {
    cuda *c = threads_device = open_device();
    pthread_t threads[3];
    float *x = threads_x = get(c);
    put(c, x, 1);
    threads_replay = record(c, x, LONG);
    for (int i = 0; i < 3; i++)
        CHILD_CHECK(pthread_create(&threads[i], NULL, threads_play, NULL) == 0);
    for (int i = 0; i < 20; i++) cuda_replay_free(record(c, x, LONG));
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    CHILD_CHECK(cuda_get_replay_stats(c).played == 150);
    cuda_replay_free(threads_replay);
}

#define TEST(name)                                                                                 \
    static void name(void **state) {                                                               \
        (void)state;                                                                               \
        in_child(child_##name);                                                                    \
    }
TEST(play)
TEST(play_lazy)
TEST(no_capture)
TEST(scarce)
TEST(refused)
TEST(differs)
TEST(others)
TEST(threads)

int main(void) {
    if (access(sim_file(), R_OK) != 0) {
        print_message("skipped: there is no %s\n", sim_file());
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(play),       cmocka_unit_test(play_lazy),
                                       cmocka_unit_test(no_capture), cmocka_unit_test(scarce),
                                       cmocka_unit_test(refused),    cmocka_unit_test(differs),
                                       cmocka_unit_test(others),     cmocka_unit_test(threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_cuda_replay.c - recordings of calls (src/cuda/replay.h) on the simulated device. */
#include "cuda_support.h"

#include "cuda/replay.h"

#include <pthread.h>

enum { N = 1000 };

static const char text[] = "extern \"C\" __global__ void add(float *out, const float *x, float v) {\n"
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
    CHILD_CHECK(cuda_launch(c, NULL, k, &(cuda_shape){{4, 1, 1}, {256, 1, 1}, 0}, &p, offsetof(__typeof__(p), v) + sizeof v) == CTSC_OK);
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

static void child_play(void) {
    cuda *c = open_device();
    const cuda_kernel *k = kernel_add(c);
    float *x = get(c), *other = get(c), *weight = get(c), *out, *step;
    void *place;
    cuda_replay *r, *second;
    put(c, x, 10);
    put(c, other, 100);
    put(c, weight, 7);
    CHILD_CHECK(cuda_replay_begin(c, NULL, &r) == CTSC_OK);
    CHILD_CHECK(cuda_replay_begin(c, NULL, &second) == CTSC_USAGE);
    CHILD_CHECK(cuda_replay_place(r, NULL, N * sizeof(float), &place) == CTSC_OK);
    step = get(c);
    add(c, k, step, place, 1);
    out = get(c);
    add(c, k, out, step, 2);
    cuda_free(c, step);
    CHILD_CHECK(get(c) == step); /* its own memory is used again within the recording */
    cuda_free(c, step);
    CHILD_CHECK(cuda_replay_end(r, NULL) == CTSC_OK && cuda_replay_size(r) == 2);

    /* ... and by nobody else. */
    for (int i = 0; i < 50; i++) CHILD_CHECK(get(c) != step);
    CHILD_CHECK(cuda_replay_play(r, NULL, (const void *[]){x}) == CTSC_OK && is(c, out, 13));
    CHILD_CHECK(cuda_replay_play(r, NULL, (const void *[]){other}) == CTSC_OK && is(c, out, 103));
    put(c, place, 50);
    CHILD_CHECK(cuda_replay_play(r, NULL, (const void *[]){NULL}) == CTSC_OK && is(c, out, 53));
    CHILD_CHECK(cuda_replay_play(r, NULL, (const void *[]){place}) == CTSC_OK && is(c, out, 53));
    CHILD_CHECK(is(c, weight, 7) && is(c, x, 10));

    /* A result outlives the recording, and returns to the cache after it. */
    cuda_replay_free(r);
    CHILD_CHECK(is(c, out, 53));
    size_t live = cuda_get_memory_stats(c).live;
    cuda_free(c, out);
    CHILD_CHECK(cuda_get_memory_stats(c).live == live - 4096);
    CHILD_CHECK(get(c) != NULL);
}

static void child_play_lazy(void) {
    setenv("CTSC_SIM_LAZY", "1", 1);
    child_play();
}

/* What cannot be recorded fails, so does the end, and all goes on as before. */
static void child_refused(void) {
    cuda *c = open_device();
    const cuda_kernel *k = kernel_add(c);
    float *x = get(c), *y = get(c), v[N];
    for (int which = 0; which < 3; which++) {
        diag d = {0};
        cuda_replay *r;
        put(c, x, 1);
        put(c, y, 0);
        CHILD_CHECK(cuda_replay_begin(c, NULL, &r) == CTSC_OK);
        add(c, k, y, x, 1);
        ctsc_status st = which == 0   ? cuda_read(c, NULL, v, y, sizeof v)
                         : which == 1 ? cuda_write(c, NULL, x, v, sizeof v)
                                      : cuda_wait(c, NULL);
        CHILD_CHECK(st == CTSC_UNSUPPORTED);
        CHILD_CHECK(cuda_replay_end(r, &d) == CTSC_UNSUPPORTED && strstr(diag_message(&d), "a call cannot be recorded"));
        diag_clear(&d);
        CHILD_CHECK(is(c, y, 0)); /* it has not happened */
        add(c, k, y, x, 1);
        CHILD_CHECK(is(c, y, 2));
    }
    /* Given up half way. */
    cuda_replay *r;
    void *place;
    CHILD_CHECK(cuda_replay_begin(c, NULL, &r) == CTSC_OK && cuda_replay_place(r, NULL, 100, &place) == CTSC_OK);
    add(c, k, y, x, 5);
    cuda_replay_free(r);
    CHILD_CHECK(is(c, y, 2) && cuda_get_memory_stats(c).live == 2 * 4096);
}

/* Another thread's work waits until the recording has ended. */
static cuda *other_device;
static float *other_buffer;

static void *other_thread(void *arg) {
    put(other_device, other_buffer, 77);
    return arg;
}

static void child_threads(void) {
    cuda *c = other_device = open_device();
    const cuda_kernel *k = kernel_add(c);
    float *x = get(c), *y = get(c);
    pthread_t thread;
    cuda_replay *r;
    other_buffer = get(c);
    put(c, x, 1);
    CHILD_CHECK(cuda_replay_begin(c, NULL, &r) == CTSC_OK);
    CHILD_CHECK(pthread_create(&thread, NULL, other_thread, NULL) == 0);
    for (int i = 0; i < 100; i++) add(c, k, y, x, 1);
    CHILD_CHECK(cuda_replay_end(r, NULL) == CTSC_OK);
    pthread_join(thread, NULL);
    CHILD_CHECK(is(c, other_buffer, 77));
    CHILD_CHECK(cuda_replay_play(r, NULL, NULL) == CTSC_OK && is(c, y, 2));
    cuda_replay_free(r);
}

static void play(void **state) {
    (void)state;
    in_child(child_play);
    in_child(child_play_lazy);
}

static void refused(void **state) {
    (void)state;
    in_child(child_refused);
}

static void threads(void **state) {
    (void)state;
    in_child(child_threads);
}

int main(void) {
    if (access(sim_file(), R_OK) != 0) {
        print_message("skipped: there is no %s\n", sim_file());
        return 0;
    }
    const struct CMUnitTest tests[] = {cmocka_unit_test(play), cmocka_unit_test(refused), cmocka_unit_test(threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

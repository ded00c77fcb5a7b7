/* SPDX-License-Identifier: Apache-2.0 */
/*
 * driver.c - calls a compiled function, for tests/aot/aot.py, which defines CALL, SIZES_IN,
 * SIZES_OUT and WORKSPACE.
 *
 *     driver FOLDER [CALLS]: reads FOLDER/in0, in1, ..., compares with FOLDER/out0, out1, ...
 */
#include HEADER

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const size_t sizes_in[] = {SIZES_IN 0}, sizes_out[] = {SIZES_OUT 0};
enum {
    INS = sizeof sizes_in / sizeof *sizes_in - 1,
    OUTS = sizeof sizes_out / sizeof *sizes_out - 1
};

static void *read_file(const char *folder, const char *what, int i, size_t size) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s%d", folder, what, i);
    FILE *f = fopen(path, "rb");
    char *data = malloc(size + 2);
    size_t n = f && data ? fread(data, 1, size + 1, f) : 0;
    if (!f || n != size) {
        printf("%s has %zu bytes, not %zu\n", path, n, size);
        exit(2);
    }
    fclose(f);
    return data;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv) {
    const void *in[INS + 1];
    void *out[OUTS + 1], *want[OUTS + 1], *workspace = malloc(WORKSPACE + 1);
    int calls = argc > 2 ? atoi(argv[2]) : 2;
    for (int i = 0; i < INS; i++) in[i] = read_file(argv[1], "in", i, sizes_in[i]);
    for (int i = 0; i < OUTS; i++) {
        want[i] = read_file(argv[1], "out", i, sizes_out[i]);
        out[i] = malloc(sizes_out[i] + 1);
    }
    double best = 1e9;
    for (int k = 0; k < calls; k++) {
        for (int i = 0; i < OUTS; i++) memset(out[i], 0xaa, sizes_out[i]);
        memset(workspace, 0xcc, 64); /* what the last call left does not matter */
        double start = now();
        int status = CALL((char *)workspace + k % 2);
        double took = now() - start;
        if (took < best) best = took;
        if (status) {
            printf("status %d: %.150s\n", status, (char *)workspace + k % 2);
            return 3;
        }
        for (int i = 0; i < OUTS; i++) {
            if (!memcmp(out[i], want[i], sizes_out[i])) continue;
            size_t at = 0;
            while (((char *)out[i])[at] == ((char *)want[i])[at]) at++;
            printf("result %d differs at byte %zu of %zu in call %d\n", i, at, sizes_out[i], k);
            return 1;
        }
    }
    printf("%.3f ms\n", best * 1e3);
    return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* cuda_support.h - what the tests of src/cuda share: each runs in a process of its own, with the
 * simulated device or without any. */
#ifndef CTSC_TESTS_CUDA_SUPPORT_H
#define CTSC_TESTS_CUDA_SUPPORT_H

#include "support.h"

#include "cuda/cuda.h"

#include <sys/wait.h>
#include <unistd.h>

/* The simulator's file: CTSC_CUDASIM, or beside the folder of this program, as make puts it. */
static inline const char *sim_file(void) {
    static char path[4096];
    const char *given = getenv("CTSC_CUDASIM");
    if (given) return given;
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 64);
    path[n > 0 ? n : 0] = 0;
    for (int up = 0; up < 2; up++) {
        char *slash = strrchr(path, '/');
        if (slash) *slash = 0;
    }
    return strcat(path, "/cuda/libcudasim.so");
}

/* NVIDIA's own libraries can do nothing with this device. */
static inline void sim_use(void) {
    setenv("CTSC_CUDA_DRIVER", sim_file(), 1);
    setenv("CTSC_NVRTC", sim_file(), 1);
    setenv("CTSC_CUBLASLT", "/nowhere/libcublasLt.so", 1);
    setenv("CTSC_CUDNN", "/nowhere/libcudnn.so", 1);
}

/* The libraries are opened once in a process, so what depends on the environment runs in another
 * one, which ends with 0 if all was well.
 * It says on standard error what was not. */
#define CHILD_CHECK(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static inline void in_child(void (*body)(void)) {
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        body();
        _exit(0);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

#endif

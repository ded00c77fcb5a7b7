/* SPDX-License-Identifier: Apache-2.0 */
/*
 * library.h - what the simulated libraries (blas.c, dnn.c) share.
 *
 * They are libcudasim.so as well: CTSC_CUBLASLT and CTSC_CUDNN name it. What a caller can be
 * blamed for (an attribute of another size, a pointer that is not device memory, layouts that do
 * not fit each other) ends the process with a message; what the real library may refuse is
 * refused. With CTSC_SIM_REFUSE=1 they refuse everything. Numbers are computed in double and
 * rounded once, on the stream.
 */
#ifndef CTSC_TESTS_SIM_LIBRARY_H
#define CTSC_TESTS_SIM_LIBRARY_H

#include "sim.h"

typedef enum sim_type { SIM_F32, SIM_F64, SIM_F16, SIM_BF16 } sim_type;
size_t sim_type_size(sim_type t);
double sim_load(sim_type t, const void *p, int64_t i);
void sim_store(sim_type t, void *p, int64_t i, double v);

/* Ends the process. */
_Noreturn void sim_wrong(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool sim_refuses(void);

/* How often something happened, for tests. */
void sim_count(const char *what);
SIM_API long long sim_counted(const char *what);

/* Puts a call with a copy of these bytes into a stream. False: there is no context, or the
 * device is broken. */
bool sim_ask_call(void *stream, void (*call)(const void *bytes), const void *bytes, size_t nbytes);
/* In a call: lets memory be used that has to be one allocation's, aligned so. */
void sim_use(const char *what, const void *p, size_t nbytes, size_t alignment);

#endif

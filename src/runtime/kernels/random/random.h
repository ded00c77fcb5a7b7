/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random.h - drawing random numbers in PyTorch's CPU sequence.
 */
#ifndef CTSC_RUNTIME_KERNELS_RANDOM_RANDOM_H
#define CTSC_RUNTIME_KERNELS_RANDOM_RANDOM_H

#include "cpu/vector.h"
#include "runtime/kernels/engine/kernel.h"

/* Loops worth a version for newer processors. Without the processor's fma the same numbers come
 * from libm's, at a tenth of the speed. */
#define RANDOM_OPTIMISED VECTOR_OPTIMISED("O3", "no-trapping-math", "no-math-errno")
#define RANDOM_HOT RANDOM_OPTIMISED VECTOR_CLONED("arch=x86-64-v3", "default")
#define RANDOM_PART static inline __attribute__((always_inline)) RANDOM_OPTIMISED

/* The generator of the running program, seeded if it was not. */
generator *random_generator(op_ctx *cx);
/* Uniform in [0, 1), with as many random bits as a value of dtype dt has digits. */
double random_uniform(generator *g, dtype dt);
/* Standard normal, double precision, two per pair of draws (Box and Muller). */
double random_normal(generator *g);

/* Writes draw(g, ctx) to each element of t, one after the other in the order of memory. */
typedef double (*random_draw)(generator *g, const void *ctx);
ctsc_status random_fill(op_ctx *cx, tensor *t, random_draw draw, const void *ctx);
/* The fills that whole tensors get. t must be writable; its dtype is checked. */
ctsc_status random_fill_uniform(op_ctx *cx, tensor *t, double from, double to);
ctsc_status random_fill_normal(op_ctx *cx, tensor *t, double mean, double std);
ctsc_status random_fill_bernoulli(op_ctx *cx, tensor *t, double p);
ctsc_status random_fill_exponential(op_ctx *cx, tensor *t, double lambda);
/* Blocks of 16 uniforms at p, of dtype dt, become normals (random_normal.c). */
void random_normal_block(char *p, int64_t blocks, dtype dt, double mean, double std);
/* Integers in [from, to]; a range of all 2^64 numbers is span 0. */
ctsc_status random_fill_integers(op_ctx *cx, tensor *t, int64_t from, uint64_t span);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* machine.h - what the machine can do at best, measured: the scale on which benchmarks are read. */
#ifndef CTSC_CLI_MACHINE_H
#define CTSC_CLI_MACHINE_H

/* Measuring takes some 0.1 s. Negative: could not be measured (no memory, no threads). */
typedef struct machine_rates {
    /* memcpy between buffers that fit into no cache; bytes read and bytes written both count */
    double copy_gbps;
    double fma_gflops; /* multiply-adds of float32 in registers; each is two operations */
} machine_rates;

machine_rates machine_measure(int threads);
/* fma_gflops alone: measured once per process and number of threads, in some 5 ms. Not for two
 * threads at a time. */
double machine_fma_gflops(int threads);
/* The share of that peak, in percent, that `flops` operations in this many
 * microseconds reach; negative: not known. peak: what machine_fma_gflops gave. */
double machine_peak_percent(double flops, double us, double peak);
/* How many times as long multiplications take whose results are denormal; some 0.1 ms. At least 1;
 * 1 too where the calling thread's are zero instead. */
double machine_denormal_factor(void);
/* Microseconds on a clock that only goes forward. */
double machine_now(void);
/* The number of threads that 0 means: the cores this process may use. */
int machine_cores(void);

#endif

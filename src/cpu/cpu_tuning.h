/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cpu_tuning.h - the numbers of micro-kernels that were chosen for speed and that all instruction
 * sets share; those of one set are in its records.
 *
 * In brackets the benchmark that tells whether a change is a gain: [gemm] make bench-gemm.
 */
#ifndef CTSC_CPU_CPU_TUNING_H
#define CTSC_CPU_CPU_TUNING_H

/* Packing (gemm_pack.c). */
enum {
    PACK_PANELS = 4, /* [gemm] copied side by side */
    /* [gemm] rows that are prefetched before they are copied:
     * their stride is too large for the hardware prefetcher */
    PACK_PREFETCH = 12,
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ukernel_elsewhere.h - micro-kernels of an architecture that this is not: those of ARM64 that
 * programs compiled ahead of time use.
 */
#ifndef CTSC_CPU_UKERNEL_ELSEWHERE_H
#define CTSC_CPU_UKERNEL_ELSEWHERE_H

#include "cpu/ukernel.h"

/* Up to a row without a record. They run here, slowly, and do what they do there but for the
 * rounding of multiply-adds. */
extern const ukernel ukernel_elsewhere[];

#endif

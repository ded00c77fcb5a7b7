/* SPDX-License-Identifier: Apache-2.0 */
/*
 * qengine.h - whose arithmetic quantised layers follow: torch.backends.quantized.engine.
 *
 * PyTorch computes linear layers and convolutions of quantised tensors with a library it was built
 * with, and those differ in roundings. As in PyTorch the choice is the process's and no part of an
 * archive; the default is that of its releases for the processor ctsc was built for.
 *
 *     engine         bias of integer results           range of dynamic inputs             sums of two tensors
 *     x86, fbgemm    in float, added to the sum        reduce_range halves it              in float
 *     qnnpack        rounded to a step of the sum      reduce_range means nothing          in integers
 *
 * x86 is fbgemm here. In PyTorch it takes oneDNN for some convolutions where the processor has
 * VNNI; those that are not transposed give the same integers, transposed ones are wrong there (off
 * by dozens of steps from the layer in float).
 *
 * Tests: tests/unit/test_quantized.c, tests/lang/quantized_engine.py
 */
#ifndef CTSC_BASE_QENGINE_H
#define CTSC_BASE_QENGINE_H

#include <stdbool.h>

typedef enum qengine { QENGINE_X86, QENGINE_FBGEMM, QENGINE_QNNPACK, QENGINE_COUNT } qengine;
extern const char *const qengine_names[QENGINE_COUNT];

/* Thread-safe. A call that is running sees the change or does not. */
qengine qengine_get(void);
void qengine_set(qengine e);
typedef enum qengine_answer { QENGINE_KNOWN, QENGINE_UNSUPPORTED, QENGINE_UNKNOWN } qengine_answer;
/* The engine of a name. Unsupported: PyTorch knows it, ctsc does not. */
qengine_answer qengine_find(const char *name, qengine *out);
/* x86 and fbgemm compute alike. */
static inline bool qengine_is_fbgemm(void) { return qengine_get() != QENGINE_QNNPACK; }

#endif

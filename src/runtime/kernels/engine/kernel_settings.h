/* SPDX-License-Identifier: Apache-2.0 */
/*
 * kernel_settings.h - what a program may say about kernels, for the whole process
 * (ctsc_set_winograd, ctsc_set_packing, ctsc_set_tuning).
 * Tests: tests/unit/test_conv_last.c, tests/cli/packing.test
 */
#ifndef CTSC_RUNTIME_KERNELS_ENGINE_KERNEL_SETTINGS_H
#define CTSC_RUNTIME_KERNELS_ENGINE_KERNEL_SETTINGS_H

#include <stdatomic.h>
#include <stdbool.h>

extern atomic_bool kernel_no_winograd; /* convolutions are summed directly */
extern atomic_bool kernel_no_packing;  /* no constant weight is kept in another form */
extern atomic_bool kernel_tunes;       /* convolutions are done in the way that is measured best */

#endif

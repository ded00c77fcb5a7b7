/* SPDX-License-Identifier: Apache-2.0 */
/* kernel_settings.c - see kernel_settings.h. */
#include "runtime/kernels/engine/kernel_settings.h"

atomic_bool kernel_no_winograd, kernel_no_packing, kernel_tunes;

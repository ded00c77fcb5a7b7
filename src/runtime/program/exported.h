/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exported.h - archives of torch.export (.pt2) as modules.
 */
#ifndef CTSC_RUNTIME_PROGRAM_EXPORTED_H
#define CTSC_RUNTIME_PROGRAM_EXPORTED_H

#include "runtime/program/module.h"

/* Is it one? */
bool exported_is(const archive *a);
ctsc_status exported_load(diag *d, archive *a, module **out);
/* What it was exported with: ((args...), {name: arg}); None where the archive does not keep it. */
ctsc_status exported_sample(diag *d, archive *a, value *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchscript.h - archives of torch.jit.save as modules.
 */
#ifndef CTSC_RUNTIME_PROGRAM_TORCHSCRIPT_H
#define CTSC_RUNTIME_PROGRAM_TORCHSCRIPT_H

#include "runtime/program/module.h"

/* Is it one, if only of a version that is refused? */
bool torchscript_is(const archive *a);
/* Of an archive that is none: says what it lacks. */
ctsc_status torchscript_load(diag *d, archive *a, module **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_module.h - models of ONNX (.onnx) as modules.
 */
#ifndef CTSC_RUNTIME_PROGRAM_ONNX_MODULE_H
#define CTSC_RUNTIME_PROGRAM_ONNX_MODULE_H

#include "runtime/program/module.h"

/* Takes r over (also on failure). Files with weights are looked for in the folder of r.path. */
ctsc_status onnx_module_load(diag *d, reader r, module **out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* graph_kernels_cuda.h - kernels for a GPU as text: what graph_kernels.c shows of them. */
#ifndef CTSC_RUNTIME_OBSERVE_GRAPH_KERNELS_CUDA_H
#define CTSC_RUNTIME_OBSERVE_GRAPH_KERNELS_CUDA_H

#include "codegen/lower/group.h"
#include "runtime/observe/graph_kernels.h"

/* what: GROUP_TEXT_CUDA, GROUP_TEXT_PTX or GROUP_TEXT_SASS. Fails with CTSC_ENVIRONMENT where a
 * tool is missing. */
ctsc_status group_cuda_code(nest *n, group_text what, strbuf *out, diag *d);
/* The architecture that PTX and SASS are for: "sm_90". Fails with CTSC_USAGE. */
ctsc_status group_cuda_set_arch(const char *name, diag *d);

#endif

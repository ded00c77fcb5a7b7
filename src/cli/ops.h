/* SPDX-License-Identifier: Apache-2.0 */
/* ops.h - what `ctsc ops` can print besides the list itself. */
#ifndef CTSC_CLI_OPS_H
#define CTSC_CLI_OPS_H

#include "cli/cli.h"

/* How many of PyTorch's operators there are here, by family; missing: also which are
 * not. An exit code. */
int ops_coverage(bool missing, bool json);
/* The same of core ATen, what programs of torch.export are decomposed to. */
int ops_core_aten(bool json);
/* docs/operators.md. An exit code. */
int ops_markdown(void);

#endif

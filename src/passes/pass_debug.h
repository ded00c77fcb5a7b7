/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass_debug.h - debugging output of passes, for compiler developers: graphs after
 * some of them, and the pass that left an invalid graph. Requested by pass_options,
 * or by CTSC_PRINT_AFTER and CTSC_VERIFY for any program that uses the library.
 * Tests: tests/unit/test_variables.c, tests/cli/opt.test, tests/cli/variables.test
 */
#ifndef CTSC_PASSES_PASS_DEBUG_H
#define CTSC_PASSES_PASS_DEBUG_H

#include "passes/passes.h"

/* Before a pass: keeps g's text where the verifier will look at it afterwards. */
void pass_debug_before(const pass_ctx *cx, const graph *g, strbuf *before);
/* After p: prints g, and verifies it. If it is damaged, what it was before p goes to a file, and
 * the diagnostic says how `ctsc opt` does the same with it. */
ctsc_status pass_debug_after(pass_ctx *cx, const graph *g, const pass *p, bool changed,
                             const strbuf *before);

#endif

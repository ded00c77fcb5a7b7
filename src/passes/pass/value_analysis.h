/* SPDX-License-Identifier: Apache-2.0 */
/*
 * value_analysis.h - what a graph says about single values:
 * constants, dtypes, ranks, sizes, and their readers.
 *
 * Everything here is known for certain: "not known" is the answer where it is not. Shapes and
 * dtypes come from tensor types with details (constants, specialised graphs) and from the
 * operators that made a value. Readers are determined from the schemas, use by use; values are
 * followed through views, lists and branches, not further: a value that escapes counts as written.
 * Tests: tests/ir/peephole
 */
#ifndef CTSC_PASSES_PASS_VALUE_ANALYSIS_H
#define CTSC_PASSES_PASS_VALUE_ANALYSIS_H

#include "ir/graph/graph.h"

enum { KNOWN_MAX_INTS = 64 };

/* ---- constants ------------------------------------------------------------------------------- */

bool known_int(const ir_value *v, int64_t *out);
bool known_bool(const ir_value *v, bool *out);
bool known_is_none(const ir_value *v); /* the constant None */
/* A constant int or float (not bool) that equals x exactly, whatever its type. */
bool known_number_is(const ir_value *v, int x);
/* Constant ints in a list: a constant list, or a prim::ListConstruct of constants that nothing
 * changes. At most KNOWN_MAX_INTS. */
bool known_ints(const ir_value *v, int64_t *out, int *n);
bool known_tensor(const ir_value *v, tensor **out); /* of a constant; borrowed */

/* ---- tensors --------------------------------------------------------------------------------- */

int known_dtype(const ir_value *v); /* -1: not known */
int known_rank(const ir_value *v);  /* -1: not known */
/* dim may be negative; -1: not known, or there is no such dimension */
int64_t known_size(const ir_value *v, int64_t dim);
bool known_sizes(const ir_value *v, int64_t *out, int *n); /* all of them; at most KNOWN_MAX_INTS */

/* ---- reading and writing --------------------------------------------------------------------- */

/* Is this use of a tensor or container a read by an operator, one whose results share nothing with
 * it? views: results that do share are allowed, if they are only read in turn. */
bool known_use_reads(const use *u, bool views);
bool known_only_read(const ir_value *v);
/* Is a list or dict only read, where it can be seen? Its elements may go anywhere. */
bool known_list_kept(const ir_value *v);
/* A list whose elements stay as they were made: a prim::ListConstruct; its node, else NULL. */
node *known_fixed_list(const ir_value *v);
/* Does anything in g write to tensors or containers, or call what might? */
bool known_graph_writes(const graph *g);
/* The same, except for lists of numbers and texts. */
bool known_graph_writes_tensors(const graph *g);
/* Does an operator in g change sizes or strides of an existing tensor (resize_, t_, set_,
 * ...)? Calls count. */
bool known_graph_reshapes(const graph *g);
/* Does operator n write argument i, also where its schema does not say so (batch_norm's
 * running statistics)? */
bool known_writes_argument(const node *n, int i);
/* The result of an operator that makes a new tensor: shares memory with nothing else. */
bool known_is_fresh(const ir_value *v);

#endif

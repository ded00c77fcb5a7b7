/* SPDX-License-Identifier: Apache-2.0 */
/* aot_internal.h - what the files of this folder share. */
#ifndef CTSC_RUNTIME_AOT_AOT_INTERNAL_H
#define CTSC_RUNTIME_AOT_AOT_INTERNAL_H

#include "codegen/cache/cache.h"
#include "codegen/lower/group.h"
#include "cpu/ukernel_elsewhere.h"
#include "rt/rt_heap.h"
#include "rt/rt_program.h"
#include "runtime/aot/aot.h"
#include "runtime/aot/aot_image.h"
#include "runtime/exec/fused.h"
#include "runtime/interp/watch.h"

/* A kernel that a group needs. */
typedef struct aot_kernel {
    const group_plan *plan;
    strbuf ir;
    char symbol[64];
    struct aot_kernel *next;
} aot_kernel;

/* A fusion group of the program, or the group of a single operator. */
typedef struct aot_group {
    aot_kernel *first, **last;
    int nparams, nresults;
    const code *fallback; /* that was run; NULL: it never was */
    image_at at;
    bool written;
} aot_group;

/* An operator that is called. */
typedef struct aot_op {
    const op *op, *does; /* does: whose function or kernel it is */
    const char *symbol;  /* of its function; NULL: it is a group */
    aot_group *group;
    graph *graph; /* of the group */
    uint64_t params;
    value *given; /* what it was called with: arguments that are not parameters are the same */
    int written;
    image_at at;
    bool emitted;
    struct aot_op *next;
} aot_op;

/* The elements of a storage in the image. */
typedef struct aot_stored {
    const storage *s;
    image_at data;
} aot_stored;
/* A field that is to point to elements, once all are there. */
typedef struct aot_pending {
    image_at at;
    size_t field;
    const void *elements;
} aot_pending;

typedef struct aot {
    diag *d;
    arena arena; /* of groups, kernels, operators, plans */
    const module *m;
    function *f;
    const aot_options *o;
    codegen *cg;
    const char *triple; /* NULL: this architecture's */
    uint32_t allowed;   /* instruction sets, while runs pretend to be on another one */
    int nargs;
    const value *args;
    ptrmap groups; /* code_group -> aot_group */
    aot_op *ops;
    /* what the runs came to: code -> bits of its sites */
    ptrmap seen;
    VEC(const code *) codes;
    /* of the current run */
    watch watch;
    fused_listener fused;
    op_listener calls;
    bool forced;      /* branches are not the program's own */
    bool halves;      /* it multiplies float16 or bfloat16 */
    bool failed_hard; /* the failure is to be reported whatever was forced */
    mem_budget budget;
    rt_heap heap;  /* what the run-time library's will be */
    ptrmap places; /* of blocks in it */
    void *copied;  /* in it: what the operator that runs computes and then copies */
    size_t peak;
    int kernels;
    image image;
    ptrmap values;  /* payloads -> place + 1 */
    ptrmap written; /* codes -> place + 1 */
    VEC(aot_stored) stored;
    VEC(aot_pending) pending;
    rt_port *inputs, *outputs;
    int ninputs, noutputs;
    aot_result *out;
} aot;

/* ---- aot_ops.c ------------------------------------------------------------------------------- */

/* The operator, called with these arguments, as the compiled program calls it; NULL: it cannot, or
 * not for such arguments, and d says why (quiet: nothing does). args NULL: not known. */
aot_op *aot_op_of(aot *a, const op *o, int nargs, const value *args, bool quiet);
/* One more kernel of a group. */
bool aot_group_add(aot *a, aot_group *g, nest *n, const group_plan *plan);
aot_group *aot_group_new(aot *a, int nparams, int nresults);

/* ---- aot_run.c ------------------------------------------------------------------------------- */

ctsc_status aot_explore(aot *a);
/* Is it compiled for another architecture whose kernels run here, too? */
static inline bool aot_pretends(const aot *a) { return a->triple && ukernel_elsewhere[0].record; }
/* Did a run come to site i of c? */
bool aot_saw(const aot *a, const code *c, int site);
/* Does nothing but what ends in an exception follow, from instruction `at` on? */
bool aot_is_doomed(const code *c, size_t at);

/* ---- aot_tables.c ---------------------------------------------------------------------------- */

ctsc_status aot_write_program(aot *a);

#endif

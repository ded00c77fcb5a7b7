/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptq.h - post-training quantisation: a module's method forward on fewer bits, and what that costs
 * and saves, layer by layer. `ctsc quantize`, ctsc_module_quantize.
 *
 *     module -> frozen (batch norms folded) -> observed on examples -> which layers stay float
 *            -> quantise_insert (passes/quantise) -> measured
 *
 *     range_observer.c   ranges of numbers
 *     ptq_observe.c      the float graph is run on the examples: ranges of tensors, errors of layers
 *     ptq_measure.c      results of two graphs compared; times of layers
 *     ptq_name.c         what layers are called; patterns
 *     ptq_state.c        weights by their names, with scales beside them
 *     ptq.c              all of it
 *
 * Errors. Of a layer: only this layer is quantised, with the argument of the
 * float program; |y' - y| / |y| (Euclidean norms over all examples used). It
 * orders layers by how much they lose. Of the program: the same for all
 * floating-point tensors in its results, with all chosen layers quantised.
 *
 * Staying float. Layers whose name fits a pattern do. With max_error, so do as many others as are
 * needed, those with the largest error of their own first; how many is found by bisection, which
 * takes for granted that fewer quantised layers do not make the error larger. Where even none is
 * enough, that is a failure: the module stays as it was except for being frozen.
 * Tests: tests/unit/test_ptq.c, tests/cli/quantize.test, tests/onnx/quantize.py
 */
#ifndef CTSC_RUNTIME_PTQ_PTQ_H
#define CTSC_RUNTIME_PTQ_PTQ_H

#include "passes/quantise/quantise_insert.h"
#include "runtime/program/module.h"
#include "runtime/ptq/range_observer.h"

typedef struct ptq_options {
    quantise_style style;
    quantise_weights weights;
    observer_options observer;
    bool decomposed; /* quantise_plan */
    size_t nkeep;
    const char *const *keep;                       /* patterns of names, with * and ? */
    double max_error;                              /* 0: any */
    int timed;                                     /* calls that are timed; 0: none */
    void (*progress)(void *ctx, const char *text); /* NULL: dropped */
    void *progress_ctx;
} ptq_options;

typedef struct ptq_layer {
    const char *name, *kind; /* of the report's arena */
    int ndim;
    int64_t sizes[TENSOR_MAX_DIMS]; /* of the weight */
    int64_t bytes, bytes_after;     /* of weight and bias; of scales, too */
    double error;                   /* of its own; -1: not measured */
    int64_t ns, ns_after;           /* -1: not measured */
    bool quantised;
    /* why it is not: "its name", "its error", "its kind", "its numbers", "not reached" (by any
     * example); static */
    const char *reason;
} ptq_layer;

typedef struct ptq_report {
    arena arena;
    size_t n;
    ptq_layer *layers;
    int64_t bytes, bytes_after; /* of all constant tensors and packed parameters */
    double error;               /* of the results; -1: not measured */
    int64_t ns, ns_after;       /* of a call; -1: not measured */
    size_t examples, quantised;
    value state; /* a dict: the module's own, with what became of weights; None where it has none */
} ptq_report;

/* Quantises m, which is frozen. examples: tuples of arguments without self. On failure m may be
 * frozen, and computes what it did. *out is the caller's. Nobody else may use m meanwhile. */
ctsc_status ptq_quantise(diag *d, module *m, size_t nexamples, const value *examples,
                         const ptq_options *o, ptq_report **out);
void ptq_report_free(ptq_report *r); /* r may be NULL */
/* "static", "dynamic", "int8w", "int4w[:G[,asym]]", "bf16", and "minmax", "percentile[:P]",
 * "entropy" (NULL: the first); a usage failure names what there is. */
ctsc_status ptq_parse_method(diag *d, const char *text, ptq_options *o);
ctsc_status ptq_parse_observer(diag *d, const char *text, observer_options *o);

/* ---- what its files share -------------------------------------------------------------------- */

/* All arguments of a call, self first. */
typedef struct ptq_call { value *args; int n; } ptq_call;

typedef struct ptq {
    diag *d;
    module *m;
    function *f;
    graph *g; /* f's own, of floats */
    const ptq_options *o;
    size_t ncalls, nvalues;
    ptq_call *calls;
    quantise_layers layers; /* of g */
    /* by layer; named: a pattern fits it; made: it was quantised last time */
    bool *keep, *named, *made;
    quantise_affine *ranges; /* by number of value */
    double *errors;          /* by layer */
    value *expected;         /* results of the float graph, by call */
    value state;             /* a dict: what the module had before it was frozen */
    ptq_report *report;
} ptq;

/* ptq.c: tells options.progress what is being done. */
void ptq_tell(const ptq *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* How layers are quantised, with keep and ranges as they are. */
quantise_plan ptq_plan(const ptq *p);
/* ptq_observe.c */
/* What the first example's dtypes and ranks say of g: writes in place that can be made plain,
 * checks of ranks that hold. Sizes stay open. */
ctsc_status ptq_specialise(ptq *p);
ctsc_status ptq_observe(ptq *p);      /* fills ranges */
ctsc_status ptq_layer_errors(ptq *p); /* fills errors */
/* ptq_measure.c */
/* g as it runs at level 2, on every call. *out: new values, ncalls of them, None on failure. */
ctsc_status ptq_run(ptq *p, const graph *g, value *out);
/* The error of these results, and whether they can be compared. */
double ptq_error(const ptq *p, const value *results);
/* Times of layers of the float and of the quantised program into the report. */
ctsc_status ptq_time(ptq *p, const quantise_plan *plan);
/* ptq_state.c: the module's state_dict with quantised weights. state: as it was */
ctsc_status ptq_state(ptq *p, value state, value *out);
/* ptq_name.c */
bool ptq_fits(const char *pattern, const char *name);
ctsc_status ptq_name_layers(ptq *p); /* into the report */

#endif

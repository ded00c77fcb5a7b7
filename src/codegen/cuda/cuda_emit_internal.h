/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_emit_internal.h - what the files of the CUDA printer share.
 *
 *     cuda_emit.c        the kernel: parameters, threads and iterations, statements, shared memory
 *     cuda_emit_expr.c   expressions, and names for those that a statement uses more than once
 *     cuda_emit_analysis.c   what is found out beforehand: which variables are indices, which buffers need barriers
 *     cuda_emit_pack.c   vector loops whose memory is accessed by 16 bytes
 *
 * Names in the text: buffers b0, b1, ...; local ones l0, ...; int and float inputs i0, f0, ...;
 * variables name_N; temporaries t0, ....
 */
#ifndef CTSC_CODEGEN_CUDA_CUDA_EMIT_INTERNAL_H
#define CTSC_CODEGEN_CUDA_CUDA_EMIT_INTERNAL_H

#include "codegen/cuda/cuda_emit.h"

enum { GPU_BLOCK = 256, GPU_SCRATCH = 32 * 8, GPU_MAX_PACKS = 16, GPU_MAX_PARTIALS = 32 };

typedef struct gpu_var {
    bool is_index;               /* it reaches an address or a bound: of type nest_index */
    const nest_expr *definition; /* of a let */
    bool partial; /* inside the loop that accumulates in it: this thread's share, name_N_part */
} gpu_var;

/* One access of memory that a vector loop makes by packs. */
typedef struct gpu_pack {
    nest_buffer *buffer;
    nest_expr *index;
    bool is_store;
} gpu_pack;

/* A vector loop: how its iterations go to the threads, and what is accessed by packs of
 * `width` iterations. */
typedef struct gpu_lanes {
    nest_stmt *loop;
    int width; /* 1: nothing */
    gpu_pack packs[GPU_MAX_PACKS];
    int npacks;
} gpu_lanes;

typedef struct gpu_state {
    nest *n;
    strbuf *out;
    int depth;
    uint32_t mark, temps;
    gpu_var *vars; /* by index */
    /* by index of the buffer, local ones after the others: written, and read by other threads of a
     * cooperative group */
    bool *hazards;
    bool *int_inputs;  /* which int inputs are used as indices */
    size_t *offsets;   /* of local buffers in the cooperative group's shared memory */
    size_t coop_bytes; /* of them all */
    cuda_kernel_shape shape;
    /* the vector loop whose iterations the threads of a cooperative group make on their own;
     * NULL: all do the same */
    const nest_stmt *inside;
    const gpu_lanes *lanes;   /* while the body of packs is printed */
    const nest_var *replaced; /* the variable that `replacement` replaces; NULL: none */
    const char *replacement;
    const nest_expr *product; /* the product that is being accumulated */
    bool at_barrier;          /* nothing was printed since the last one */
    bool too_many;            /* a limit of the printer was passed */
} gpu_state;

/* ---- analysis -------------------------------------------------------------------------------- */

/* The parallel loop at the top; NULL: there is none. */
nest_stmt *gpu_parallel_loop(const nest *n);
/* Fills vars, hazards and int_inputs. CTSC_UNSUPPORTED: the nest fails somewhere. */
ctsc_status gpu_analyse(gpu_state *e, diag *d);
/* Variables from outside that `body` accumulates in, each with its accumulation.
 * -1: more than max. */
int gpu_accumulated(const nest_block *body, const nest_stmt **out, int max);
/* Do stores in `body` need barriers around them? */
bool gpu_stores_hazard(const gpu_state *e, const nest_block *body);
/* Does x compare an index with a number that is as small? Then 32 bits do for both. */
bool gpu_compares_indices(const gpu_state *e, const nest_expr *x);
/* Is v declared in `body`? */
bool gpu_declares(const nest_block *body, const nest_var *v);

/* ---- expressions ----------------------------------------------------------------------------- */

/* in nest_expr.slot */
enum { GPU_NAMED = 0x80000000u, GPU_INDEX = 0x40000000u, GPU_USES = 0x3fffffffu };

const char *gpu_type(nest_type t);     /* "float" */
const char *gpu_memory_type(dtype dt); /* the type of an element in memory */
void gpu_buffer_name(strbuf *out, const nest_buffer *b);
void gpu_var_name(const gpu_state *e, strbuf *out, const nest_var *v);
void gpu_line(gpu_state *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Where x is an index, is its operand `arg` one too? */
bool gpu_passes_index(const nest_expr *x, int arg);
/* Before the printing of a statement's expressions: names what they use more than once, on lines of
 * its own. Indices first. */
void gpu_prepare(gpu_state *e, nest_expr *const *indices, int nindices, nest_expr *const *values,
                 int nvalues);
void gpu_value(gpu_state *e, const nest_expr *x, bool top);
void gpu_index(gpu_state *e, const nest_expr *x, bool top);
void gpu_element(gpu_state *e, const nest_buffer *b, const nest_expr *index); /* "b0 + index" */

/* ---- packs ----------------------------------------------------------------------------------- */

/* Where the pack of this access is in e->lanes; -1: it is none. */
int gpu_pack_of(const gpu_state *e, const nest_buffer *b, const nest_expr *index, bool is_store);
void gpu_print_lanes(gpu_state *e, nest_stmt *loop);

/* ---- statements ------------------------------------------------------------------------------ */

void gpu_block(gpu_state *e, const nest_block *b);
/* A line that opens a block (" {" is added); the block's end. */
void gpu_open(gpu_state *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void gpu_close(gpu_state *e);
void gpu_print_barrier(gpu_state *e);
/* The value that accumulates nothing, as text. */
const char *gpu_identity(nest_acc acc, nest_type t);

#endif

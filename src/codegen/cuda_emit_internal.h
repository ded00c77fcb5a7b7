/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_emit_internal.h - what the files of the CUDA printer share.
 *
 *     cuda_emit.c        the kernel: parameters, threads and rounds, statements, shared memory
 *     cuda_emit_expr.c   expressions, and names for those that a statement uses more than once
 *     cuda_emit_note.c   what is found out beforehand: which variables are indices, which buffers need barriers
 *     cuda_emit_pack.c   vector loops whose memory is accessed by 16 bytes
 *
 * Names in the text: buffers b0, b1, ...; local ones l0, ...; int and float inputs i0, f0, ...; variables name_N; temporaries t0, ....
 */
#ifndef CTSC_CODEGEN_CUDA_EMIT_INTERNAL_H
#define CTSC_CODEGEN_CUDA_EMIT_INTERNAL_H

#include "codegen/cuda_emit.h"

enum { CUDA_BLOCK = 256, CUDA_SCRATCH = 32 * 8, CUDA_MAX_PACKS = 16, CUDA_MAX_PARTIALS = 32 };

typedef struct cuda_var {
    bool is_index; /* it reaches an address or a bound: of type nest_index */
    bool partial;  /* inside the loop that accumulates in it: this thread's share, name_N_part */
} cuda_var;

/* One access of memory that a vector loop makes by packs. */
typedef struct cuda_pack {
    nest_buffer *buffer;
    nest_expr *index;
    bool is_store;
} cuda_pack;

/* A vector loop: how its rounds go to the threads, and what is accessed by packs of `width` rounds. */
typedef struct cuda_lanes {
    nest_stmt *loop;
    int width; /* 1: nothing */
    cuda_pack packs[CUDA_MAX_PACKS];
    int npacks;
} cuda_lanes;

typedef struct cuda_state {
    nest *n;
    strbuf *out;
    int depth;
    uint32_t mark, temps;
    cuda_var *vars;    /* by index */
    bool *hazards;     /* by index of the buffer, local ones after the others: written, and read by other threads of a team */
    size_t *offsets;   /* of local buffers in the team's shared memory */
    size_t team_bytes; /* of them all */
    cuda_kernel_shape shape;
    const nest_stmt *inside;     /* the vector loop whose rounds the threads of a team make on their own; NULL: all do the same */
    const cuda_lanes *lanes;     /* while the body of packs is printed */
    const nest_var *replaced;    /* the variable that `replacement` stands for; NULL: none */
    const char *replacement;
    const nest_expr *product;    /* the product that is being accumulated */
    bool at_barrier;             /* nothing was printed since the last one */
    bool too_many;               /* a limit of the printer was passed */
} cuda_state;

/* ---- notes -------------------------------------------------------------------------------------- */

/* The parallel loop at the top; NULL: there is none. */
nest_stmt *cuda_parallel_loop(const nest *n);
/* Fills vars and hazards. CTSC_UNSUPPORTED: the nest fails somewhere. */
ctsc_status cuda_note(cuda_state *e, diag *d);
/* Variables from outside that `body` accumulates in, each with its accumulation. -1: more than max. */
int cuda_accumulated(const nest_block *body, const nest_stmt **out, int max);
/* Do stores in `body` want barriers around? */
bool cuda_stores_hazard(const cuda_state *e, const nest_block *body);
/* Is v declared in `body`? */
bool cuda_declares(const nest_block *body, const nest_var *v);

/* ---- expressions ---------------------------------------------------------------------------------- */

enum { CUDA_NAMED = 0x80000000u, CUDA_INDEX = 0x40000000u, CUDA_USES = 0x3fffffffu }; /* in nest_expr.slot */

const char *cuda_type(nest_type t);    /* "float" */
const char *cuda_memory_type(dtype dt); /* how an element lies in memory */
void cuda_buffer_name(strbuf *out, const nest_buffer *b);
void cuda_var_name(const cuda_state *e, strbuf *out, const nest_var *v);
void cuda_line(cuda_state *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Where x is an index, is its operand `arg` one too? */
bool cuda_passes_index(const nest_expr *x, int arg);
/* Before the printing of a statement's expressions: names what they use more than once, on lines of its own. Indices first. */
void cuda_prepare(cuda_state *e, nest_expr *const *indices, int nindices, nest_expr *const *values, int nvalues);
void cuda_value(cuda_state *e, const nest_expr *x, bool top);
void cuda_index(cuda_state *e, const nest_expr *x, bool top);
void cuda_element(cuda_state *e, const nest_buffer *b, const nest_expr *index); /* "b0 + index" */

/* ---- packs ---------------------------------------------------------------------------------------- */

/* Where the pack of this access is in e->lanes; -1: it is none. */
int cuda_pack_of(const cuda_state *e, const nest_buffer *b, const nest_expr *index, bool is_store);
void cuda_print_lanes(cuda_state *e, nest_stmt *loop);

/* ---- statements ------------------------------------------------------------------------------------ */

void cuda_block(cuda_state *e, const nest_block *b);
/* A line that opens a block (" {" is added); the block's end. */
void cuda_open(cuda_state *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void cuda_close(cuda_state *e);
void cuda_print_barrier(cuda_state *e);
/* The value that accumulates nothing, as text. */
const char *cuda_identity(nest_acc acc, nest_type t);

#endif

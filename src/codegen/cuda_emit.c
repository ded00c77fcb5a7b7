/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_emit.c - prints a loop nest as a CUDA kernel: its parameters, its threads and their rounds, statements.
 *
 * Teams. All threads of a team make the same steps with the same values, except in vector loops, whose rounds they share. So
 * conditions outside vector loops are the same for all, and barriers may stand in them. What is stored outside vector loops, one
 * thread stores. Around statements that store what the nest reads elsewhere stand barriers: before them, so that nobody still
 * reads what was there; after them, so that all see what is there now. Rejected: finding out which thread reads what it wrote itself, which
 * saves some tens of cycles a row and makes the loops depend on one another.
 *
 * Local buffers are shared memory, each team's its own; of nests without teams they are the thread's.
 * Tests: tests/unit/test_cuda_emit.c, tests/ir/cuda-*.test
 */
#include "codegen/cuda_emit_internal.h"

#include <stdarg.h>

enum { EMIT_SHARED = 48 * 1024, EMIT_MAX_SHARED = 96 * 1024, EMIT_ALIGN = 16 };

/* ---- statements ----------------------------------------------------------------------------------- */

void cuda_open(cuda_state *e, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sb_fill(e->out, ' ', (size_t)e->depth * 4);
    sb_vprintf(e->out, fmt, ap);
    sb_puts(e->out, " {\n");
    va_end(ap);
    e->depth++;
    e->at_barrier = false;
}
void cuda_close(cuda_state *e) {
    e->depth--;
    cuda_line(e, "}");
}

void cuda_print_barrier(cuda_state *e) {
    if (!e->at_barrier) cuda_line(e, "nest_barrier<%d>();", e->n->team);
    e->at_barrier = true;
}

static void emit_begin_line(cuda_state *e) {
    sb_fill(e->out, ' ', (size_t)e->depth * 4);
    e->at_barrier = false;
}

static void emit_declare(cuda_state *e, nest_stmt *s) {
    bool index = e->vars[s->var->index].is_index;
    cuda_prepare(e, &s->value, index, &s->value, !index);
    emit_begin_line(e);
    sb_printf(e->out, "%s%s ", s->var->is_mutable ? "" : "const ", index ? "nest_index" : cuda_type(s->var->type));
    cuda_var_name(e, e->out, s->var);
    sb_puts(e->out, " = ");
    (index ? cuda_index : cuda_value)(e, s->value, true);
    sb_puts(e->out, ";\n");
}

static void emit_set(cuda_state *e, nest_stmt *s) {
    cuda_prepare(e, NULL, 0, &s->value, 1);
    emit_begin_line(e);
    cuda_var_name(e, e->out, s->var);
    sb_puts(e->out, " = ");
    cuda_value(e, s->value, true);
    sb_puts(e->out, ";\n");
}

static void emit_accumulate(cuda_state *e, nest_stmt *s) {
    static const char *const functions[] = {"nest_add", "nest_mul", "nest_min", "nest_max"};
    bool plain = s->acc == NEST_ACC_SUM && nest_is_float(s->var->type);
    cuda_prepare(e, NULL, 0, &s->value, 1);
    e->product = s->value->op == NEST_MUL ? s->value : NULL;
    emit_begin_line(e);
    cuda_var_name(e, e->out, s->var);
    sb_puts(e->out, plain ? " += " : " = ");
    if (!plain) {
        sb_printf(e->out, "%s(", functions[s->acc]);
        cuda_var_name(e, e->out, s->var);
        sb_puts(e->out, ", ");
    }
    cuda_value(e, s->value, true);
    sb_puts(e->out, plain ? ";\n" : ");\n");
    e->product = NULL;
}

/* Where the value goes: an element of a pack or of memory. */
static void emit_target(cuda_state *e, const nest_stmt *s) {
    int pack = e->lanes ? cuda_pack_of(e, s->buffer, s->index, true) : -1;
    if (pack >= 0) {
        sb_printf(e->out, "w%d.v[k]", pack);
        return;
    }
    cuda_buffer_name(e->out, s->buffer);
    sb_putc(e->out, '[');
    cuda_index(e, s->index, true);
    sb_putc(e->out, ']');
}

static void emit_store(cuda_state *e, nest_stmt *s) {
    dtype dt = s->buffer->dt;
    bool half = dt == DT_FLOAT16 || dt == DT_BFLOAT16, alone = e->n->team && !e->inside;
    bool packed = e->lanes && cuda_pack_of(e, s->buffer, s->index, true) >= 0, barrier = false;
    if (alone) barrier = cuda_stores_hazard(e, &(nest_block){&(nest_stmt){.kind = NEST_STORE, .buffer = s->buffer}, NULL});
    if (barrier) cuda_print_barrier(e);
    cuda_prepare(e, &s->index, !packed, &s->value, 1);
    emit_begin_line(e);
    if (alone) sb_puts(e->out, "if (lane == 0) ");
    emit_target(e, s);
    sb_puts(e->out, " = ");
    if (half) sb_printf(e->out, "nest_store_%s(", dt == DT_FLOAT16 ? "f16" : "bf16");
    cuda_value(e, s->value, true);
    sb_puts(e->out, half ? ");\n" : ";\n");
    if (barrier) cuda_print_barrier(e);
}

static void emit_for(cuda_state *e, nest_stmt *s) {
    const char *name = s->var->name;
    int index = s->var->index;
    if (s->flags & NEST_VECTOR && !(e->n->team && e->inside)) {
        cuda_print_lanes(e, s);
        return;
    }
    cuda_prepare(e, (nest_expr *[]){s->begin, s->end}, 2, NULL, 0);
    emit_begin_line(e);
    sb_printf(e->out, "const nest_index %s_%d_end = ", name, index);
    cuda_index(e, s->end, true);
    sb_puts(e->out, ";\n");
    if (s->flags & NEST_UNROLL) cuda_line(e, "#pragma unroll");
    else if (e->inside) cuda_line(e, "#pragma unroll 4"); /* loads of some rounds at a time */
    emit_begin_line(e);
    sb_printf(e->out, "for (nest_index %s_%d = ", name, index);
    cuda_index(e, s->begin, true);
    sb_printf(e->out, "; %s_%d %s %s_%d_end; %s_%d += %lld) {\n", name, index, s->step > 0 ? "<" : ">", name, index, name, index, (long long)s->step);
    e->depth++;
    cuda_block(e, &s->body);
    cuda_close(e);
}

/* The condition may need lines of its own, each time. */
static void emit_while(cuda_state *e, nest_stmt *s) {
    cuda_open(e, "for (;;)");
    cuda_prepare(e, NULL, 0, &s->value, 1);
    emit_begin_line(e);
    sb_puts(e->out, "if (!");
    cuda_value(e, s->value, false);
    sb_puts(e->out, ") break;\n");
    cuda_block(e, &s->body);
    cuda_close(e);
}

static void emit_if(cuda_state *e, nest_stmt *s) {
    cuda_prepare(e, NULL, 0, &s->value, 1);
    emit_begin_line(e);
    sb_puts(e->out, "if (");
    cuda_value(e, s->value, true);
    sb_puts(e->out, ") {\n");
    e->depth++;
    cuda_block(e, &s->body);
    if (s->other.first) {
        e->depth--;
        cuda_open(e, "} else");
        cuda_block(e, &s->other);
    }
    cuda_close(e);
}

static void emit_rounds(cuda_state *e, nest_stmt *s);

static void emit_stmt(cuda_state *e, nest_stmt *s) {
    switch (s->kind) {
    case NEST_DECLARE: emit_declare(e, s); break;
    case NEST_SET: emit_set(e, s); break;
    case NEST_ACCUMULATE: emit_accumulate(e, s); break;
    case NEST_STORE: emit_store(e, s); break;
    case NEST_FOR:
        if (s->flags & NEST_PARALLEL)
            emit_rounds(e, s);
        else
            emit_for(e, s);
        break;
    case NEST_WHILE: emit_while(e, s); break;
    case NEST_IF: emit_if(e, s); break;
    case NEST_BREAK: cuda_line(e, "break;"); break;
    case NEST_CONTINUE: cuda_line(e, "continue;"); break;
    case NEST_FAIL: break; /* refused: cuda_note */
    }
}

void cuda_block(cuda_state *e, const nest_block *b) {
    for (nest_stmt *s = b->first; s; s = s->next) emit_stmt(e, s);
}

const char *cuda_identity(nest_acc acc, nest_type t) {
    static const char *const least[] = {"false", "(uint8_t)0", "(int8_t)-128", "(int16_t)-32768", "INT32_MIN", "INT64_MIN", "-SCALAR_INF_F32", "-SCALAR_INF"};
    static const char *const most[] = {"true", "(uint8_t)255", "(int8_t)127", "(int16_t)32767", "INT32_MAX", "INT64_MAX", "SCALAR_INF_F32", "SCALAR_INF"};
    if (acc == NEST_ACC_SUM) return "0";
    if (acc == NEST_ACC_PROD) return "1";
    return acc == NEST_ACC_MIN ? most[t] : least[t];
}

/* ---- threads and rounds --------------------------------------------------------------------------- */

/* `for` over the rounds of this thread, or of its team: with the grid as the stride. */
static void emit_rounds(cuda_state *e, nest_stmt *s) {
    const nest_var *v = s->var;
    cuda_open(e, "for (nest_index %s_%d = (nest_index)p.begin + first; %s_%d < (nest_index)p.end; %s_%d += stride)", v->name, v->index, v->name,
              v->index, v->name, v->index);
    cuda_block(e, &s->body);
    cuda_close(e);
}

static void emit_threads(cuda_state *e) {
    int block = e->shape.block, team = e->shape.team, teams = block / team;
    if (e->n->team) cuda_line(e, team == block ? "const int lane = threadIdx.x;" : "const int lane = threadIdx.x %% %d;", team);
    const char *mine = team == 1 ? " + threadIdx.x" : "";
    if (team > 1 && team < block)
        cuda_line(e, "const nest_index first = (nest_index)blockIdx.x * %d + threadIdx.x / %d;", teams, team);
    else if (team == 1)
        cuda_line(e, "const nest_index first = (nest_index)blockIdx.x * %d%s;", block, mine);
    else
        cuda_line(e, "const nest_index first = blockIdx.x;");
    if (cuda_parallel_loop(e->n))
        cuda_line(e, "const nest_index stride = (nest_index)gridDim.x * %d;", teams);
    else
        cuda_line(e, "if (first != 0) return;");
}

/* ---- the kernel ----------------------------------------------------------------------------------- */

/* How many teams a block has, and where local buffers are. */
static void emit_lay_out(cuda_state *e) {
    const nest *n = e->n;
    size_t scratch = n->team > 32 ? CUDA_SCRATCH : 0;
    for (int i = 0; n->team && i < n->nlocals; i++) {
        e->offsets[i] = e->team_bytes;
        size_t bytes = (size_t)n->locals[i]->length * dtype_size(n->locals[i]->dt);
        e->team_bytes += (bytes + EMIT_ALIGN - 1) / EMIT_ALIGN * EMIT_ALIGN;
    }
    int team = n->team ? n->team : 1, block = team > CUDA_BLOCK ? team : CUDA_BLOCK;
    if (team > 32) block = team;
    while (block > team && block > 32 && e->team_bytes * (size_t)(block / team) > EMIT_SHARED) block /= 2;
    e->shape = (cuda_kernel_shape){.block = block, .team = team, .shared = (int)(scratch + e->team_bytes * (size_t)(block / team))};
}

static void emit_locals(cuda_state *e) {
    const nest *n = e->n;
    size_t scratch = n->team > 32 ? CUDA_SCRATCH : 0;
    if (n->team && e->shape.shared) cuda_line(e, "extern __shared__ uint4 nest_shared[];");
    else if (n->team) cuda_line(e, "void *const nest_shared = 0;");
    for (int i = 0; i < n->nlocals; i++) {
        const nest_buffer *b = n->locals[i];
        const char *type = cuda_memory_type(b->dt);
        if (!n->team)
            cuda_line(e, "%s l%d[%lld]; // %s", type, i, (long long)b->length, b->name);
        else if (e->shape.team == e->shape.block)
            cuda_line(e, "%s *const l%d = (%s *)((unsigned char *)nest_shared + %zu); // %s", type, i, type, scratch + e->offsets[i], b->name);
        else
            cuda_line(e, "%s *const l%d = (%s *)((unsigned char *)nest_shared + threadIdx.x / %d * %zu + %zu); // %s", type, i, type, e->shape.team,
                      e->team_bytes, e->offsets[i], b->name);
    }
}

static void emit_parameters(cuda_state *e) {
    const nest *n = e->n;
    cuda_open(e, "struct nest_arguments");
    for (int i = 0; i < n->nbuffers; i++)
        cuda_line(e, "%s%s *b%d; // %s", n->buffers[i]->written ? "" : "const ", cuda_memory_type(n->buffers[i]->dt), i, n->buffers[i]->name);
    for (int i = 0; i < n->nints; i++) cuda_line(e, "int64_t i%d; // %s", i, n->ints[i]);
    for (int i = 0; i < n->nfloats; i++) cuda_line(e, "double f%d; // %s", i, n->floats[i]);
    cuda_line(e, "int64_t begin, end;");
    e->depth--;
    cuda_line(e, "};\n");
}

static void emit_inputs(cuda_state *e) {
    const nest *n = e->n;
    for (int i = 0; i < n->nbuffers; i++)
        cuda_line(e, "%s%s *%s const b%d = p.b%d;", n->buffers[i]->written ? "" : "const ", cuda_memory_type(n->buffers[i]->dt),
                  n->buffers[i]->is_restrict ? "__restrict__" : "", i, i);
    for (int i = 0; i < n->nints; i++) cuda_line(e, "const nest_index i%d = (nest_index)p.i%d;", i, i);
}

static void emit_kernel(cuda_state *e) {
    cuda_line(e, "// %s", e->n->name);
    cuda_line(e, "#include \"codegen/nest_cuda.h\"\n");
    cuda_line(e, "typedef %s nest_index;\n", e->n->narrow ? "int32_t" : "int64_t");
    emit_parameters(e);
    cuda_open(e, "extern \"C\" __global__ void __launch_bounds__(%d) kernel(const nest_arguments p)", e->shape.block);
    emit_inputs(e);
    emit_locals(e);
    emit_threads(e);
    cuda_block(e, &e->n->body);
    cuda_close(e);
}

ctsc_status nest_emit_cuda(nest *n, strbuf *out, cuda_kernel_shape *shape, diag *d) {
    ctsc_status st = nest_verify(n, d);
    if (st != CTSC_OK) return st;
    cuda_state e = {.n = n, .out = out};
    e.vars = mem_zalloc((size_t)(n->nvars + 1) * sizeof *e.vars);
    e.hazards = mem_zalloc((size_t)(n->nbuffers + n->nlocals + 1) * sizeof *e.hazards);
    e.offsets = mem_zalloc((size_t)(n->nlocals + 1) * sizeof *e.offsets);
    st = e.vars && e.hazards && e.offsets ? cuda_note(&e, d) : diag_no_memory(d);
    if (st == CTSC_OK) {
        emit_lay_out(&e);
        emit_kernel(&e);
        *shape = e.shape;
        if (e.too_many || (size_t)e.shape.shared > EMIT_MAX_SHARED)
            st = diag_fail(d, CTSC_UNSUPPORTED, "loop nest %s is too large for a GPU's kernel", n->name);
        else if (out->failed)
            st = diag_no_memory(d);
    }
    mem_free(e.vars);
    mem_free(e.hazards);
    mem_free(e.offsets);
    return st;
}

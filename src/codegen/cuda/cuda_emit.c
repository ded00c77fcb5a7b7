/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cuda_emit.c - prints a loop nest as a CUDA kernel: its parameters, its threads and their
 * iterations, statements.
 *
 * Cooperative groups. All threads of a cooperative group execute the same steps with the
 * same values, except in vector loops, whose iterations they share. So conditions outside
 * vector loops are the same for all, and barriers are allowed in them. Stores outside
 * vector loops are done by one thread. Statements that store what the nest reads elsewhere
 * have barriers around them: before, so that nothing still reads the old values; after, so
 * that everybody sees the new ones. Rejected: finding out which thread reads what it wrote
 * itself, which saves some tens of cycles a row and makes the loops depend on one another.
 *
 * Local buffers are shared memory, each cooperative group's its own; of nests without cooperative
 * groups they are the thread's.
 * Tests: tests/unit/test_cuda_emit.c, tests/ir/cuda-*.test
 */
#include "codegen/cuda/cuda_emit_internal.h"

#include <stdarg.h>

enum { EMIT_SHARED = 48 * 1024, EMIT_MAX_SHARED = 96 * 1024, EMIT_ALIGN = 16 };

/* ---- statements ------------------------------------------------------------------------------ */

void gpu_open(gpu_state *e, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    sb_fill(e->out, ' ', (size_t)e->depth * 4);
    sb_vprintf(e->out, fmt, ap);
    sb_puts(e->out, " {\n");
    va_end(ap);
    e->depth++;
    e->at_barrier = false;
}
void gpu_close(gpu_state *e) {
    e->depth--;
    gpu_line(e, "}");
}

void gpu_print_barrier(gpu_state *e) {
    if (!e->at_barrier) gpu_line(e, "nest_barrier<%d>();", e->n->coop);
    e->at_barrier = true;
}

static void emit_begin_line(gpu_state *e) {
    sb_fill(e->out, ' ', (size_t)e->depth * 4);
    e->at_barrier = false;
}

static void emit_declare(gpu_state *e, nest_stmt *s) {
    bool index = e->vars[s->var->index].is_index;
    gpu_prepare(e, &s->value, index, &s->value, !index);
    emit_begin_line(e);
    sb_printf(e->out, "%s%s ", s->var->is_mutable ? "" : "const ",
              index ? "nest_index" : gpu_type(s->var->type));
    gpu_var_name(e, e->out, s->var);
    sb_puts(e->out, " = ");
    (index ? gpu_index : gpu_value)(e, s->value, true);
    sb_puts(e->out, ";\n");
}

static void emit_set(gpu_state *e, nest_stmt *s) {
    gpu_prepare(e, NULL, 0, &s->value, 1);
    emit_begin_line(e);
    gpu_var_name(e, e->out, s->var);
    sb_puts(e->out, " = ");
    gpu_value(e, s->value, true);
    sb_puts(e->out, ";\n");
}

static void emit_accumulate(gpu_state *e, nest_stmt *s) {
    static const char *const functions[] = {"nest_add", "nest_mul", "nest_min", "nest_max"};
    bool plain = s->acc == NEST_ACC_SUM && nest_is_float(s->var->type);
    gpu_prepare(e, NULL, 0, &s->value, 1);
    e->product = s->value->op == NEST_MUL ? s->value : NULL;
    emit_begin_line(e);
    gpu_var_name(e, e->out, s->var);
    sb_puts(e->out, plain ? " += " : " = ");
    if (!plain) {
        sb_printf(e->out, "%s(", functions[s->acc]);
        gpu_var_name(e, e->out, s->var);
        sb_puts(e->out, ", ");
    }
    gpu_value(e, s->value, true);
    sb_puts(e->out, plain ? ";\n" : ");\n");
    e->product = NULL;
}

/* Where the value goes: an element of a pack or of memory. */
static void emit_target(gpu_state *e, const nest_stmt *s) {
    int pack = e->lanes ? gpu_pack_of(e, s->buffer, s->index, true) : -1;
    if (pack >= 0) {
        sb_printf(e->out, "w%d.v[k]", pack);
        return;
    }
    gpu_buffer_name(e->out, s->buffer);
    sb_putc(e->out, '[');
    gpu_index(e, s->index, true);
    sb_putc(e->out, ']');
}

static void emit_store(gpu_state *e, nest_stmt *s) {
    dtype dt = s->buffer->dt;
    bool half = dtype_is_half(dt), alone = e->n->coop && !e->inside;
    bool packed = e->lanes && gpu_pack_of(e, s->buffer, s->index, true) >= 0, barrier = false;
    if (alone)
        barrier = gpu_stores_hazard(
            e, &(nest_block){&(nest_stmt){.kind = NEST_STORE, .buffer = s->buffer}, NULL});
    if (barrier) gpu_print_barrier(e);
    gpu_prepare(e, &s->index, !packed, &s->value, 1);
    emit_begin_line(e);
    if (alone) sb_puts(e->out, "if (lane == 0) ");
    emit_target(e, s);
    sb_puts(e->out, " = ");
    if (half) sb_printf(e->out, "nest_store_%s(", dt == DT_FLOAT16 ? "f16" : "bf16");
    gpu_value(e, s->value, true);
    sb_puts(e->out, half ? ");\n" : ";\n");
    if (barrier) gpu_print_barrier(e);
}

static void emit_for(gpu_state *e, nest_stmt *s) {
    const char *name = s->var->name;
    int index = s->var->index;
    if (s->flags & NEST_VECTOR && !(e->n->coop && e->inside)) {
        gpu_print_lanes(e, s);
        return;
    }
    gpu_prepare(e, (nest_expr *[]){s->begin, s->end}, 2, NULL, 0);
    emit_begin_line(e);
    sb_printf(e->out, "const nest_index %s_%d_end = ", name, index);
    gpu_index(e, s->end, true);
    sb_puts(e->out, ";\n");
    if (s->flags & NEST_UNROLL) gpu_line(e, "#pragma unroll");
    else if (e->inside) gpu_line(e, "#pragma unroll 4"); /* loads of some iterations at a time */
    emit_begin_line(e);
    sb_printf(e->out, "for (nest_index %s_%d = ", name, index);
    gpu_index(e, s->begin, true);
    sb_printf(e->out, "; %s_%d %s %s_%d_end; %s_%d += %lld) {\n", name, index,
              s->step > 0 ? "<" : ">", name, index, name, index, (long long)s->step);
    e->depth++;
    gpu_block(e, &s->body);
    gpu_close(e);
}

/* The condition may need lines of its own, each time. */
static void emit_while(gpu_state *e, nest_stmt *s) {
    gpu_open(e, "for (;;)");
    gpu_prepare(e, NULL, 0, &s->value, 1);
    emit_begin_line(e);
    sb_puts(e->out, "if (!");
    gpu_value(e, s->value, false);
    sb_puts(e->out, ") break;\n");
    gpu_block(e, &s->body);
    gpu_close(e);
}

static void emit_if(gpu_state *e, nest_stmt *s) {
    gpu_prepare(e, NULL, 0, &s->value, 1);
    emit_begin_line(e);
    sb_puts(e->out, "if (");
    gpu_value(e, s->value, true);
    sb_puts(e->out, ") {\n");
    e->depth++;
    gpu_block(e, &s->body);
    if (s->other.first) {
        e->depth--;
        gpu_open(e, "} else");
        gpu_block(e, &s->other);
    }
    gpu_close(e);
}

static void emit_rounds(gpu_state *e, nest_stmt *s);

static void emit_stmt(gpu_state *e, nest_stmt *s) {
    switch (s->kind) {
    case NEST_DECLARE: emit_declare(e, s); break;
    case NEST_SET: emit_set(e, s); break;
    case NEST_ACCUMULATE: emit_accumulate(e, s); break;
    case NEST_STORE: emit_store(e, s); break;
    case NEST_FOR:
        if (s->flags & NEST_PARALLEL) emit_rounds(e, s);
        else emit_for(e, s);
        break;
    case NEST_WHILE: emit_while(e, s); break;
    case NEST_IF: emit_if(e, s); break;
    case NEST_BREAK: gpu_line(e, "break;"); break;
    case NEST_CONTINUE: gpu_line(e, "continue;"); break;
    case NEST_FAIL:
    case NEST_WATCH: break; /* refused: gpu_analyse */
    }
}

void gpu_block(gpu_state *e, const nest_block *b) {
    for (nest_stmt *s = b->first; s; s = s->next) emit_stmt(e, s);
}

const char *gpu_identity(nest_acc acc, nest_type t) {
    static const char *const least[] = {"false",           "(uint8_t)0", "(int8_t)-128",
                                        "(int16_t)-32768", "INT32_MIN",  "INT64_MIN",
                                        "-SCALAR_INF_F32", "-SCALAR_INF"};
    static const char *const most[] = {"true",           "(uint8_t)255", "(int8_t)127",
                                       "(int16_t)32767", "INT32_MAX",    "INT64_MAX",
                                       "SCALAR_INF_F32", "SCALAR_INF"};
    if (acc == NEST_ACC_SUM) return "0";
    if (acc == NEST_ACC_PROD) return "1";
    return acc == NEST_ACC_MIN ? most[t] : least[t];
}

/* ---- threads and iterations ------------------------------------------------------------------ */

/* `for` over the iterations of this thread, or of its cooperative group: with the
 * grid as the stride. */
static void emit_rounds(gpu_state *e, nest_stmt *s) {
    const nest_var *v = s->var;
    gpu_open(e,
             "for (nest_index %s_%d = (nest_index)p.begin + first; %s_%d < (nest_index)p.end; "
             "%s_%d += stride)",
             v->name, v->index, v->name, v->index, v->name, v->index);
    gpu_block(e, &s->body);
    gpu_close(e);
}

/* lane: of the thread in its cooperative group. first: the cooperative group's, or thread's, first
 * iteration; stride: from one to the next. */
static void emit_threads(gpu_state *e) {
    int block = e->shape.block, coop = e->shape.coop, coops = block / coop;
    if (coop == block) {
        gpu_line(e, "const int lane = threadIdx.x;");
        gpu_line(e, "const nest_index first = blockIdx.x;");
    } else if (coop > 1) {
        gpu_line(e, "const int lane = threadIdx.x %% %d;", coop);
        gpu_line(e, "const nest_index first = (nest_index)blockIdx.x * %d + threadIdx.x / %d;",
                 coops, coop);
    } else {
        gpu_line(e, "const nest_index first = (nest_index)blockIdx.x * %d + threadIdx.x;", block);
    }
    if (gpu_parallel_loop(e->n))
        gpu_line(e, "const nest_index stride = (nest_index)gridDim.x * %d;", coops);
    else gpu_line(e, "if (first != 0) return;");
}

/* ---- the kernel ------------------------------------------------------------------------------ */

/* How many cooperative groups a block has, and where local buffers are. */
static void emit_lay_out(gpu_state *e) {
    const nest *n = e->n;
    size_t scratch = n->coop > 32 ? GPU_SCRATCH : 0;
    for (int i = 0; n->coop && i < n->nlocals; i++) {
        e->offsets[i] = e->coop_bytes;
        size_t bytes = (size_t)n->locals[i]->length * dtype_size(n->locals[i]->dt);
        e->coop_bytes += (bytes + EMIT_ALIGN - 1) / EMIT_ALIGN * EMIT_ALIGN;
    }
    int coop = n->coop ? n->coop : 1, block = coop > 32 ? coop : GPU_BLOCK;
    while (block > coop && block > 32 && e->coop_bytes * (size_t)(block / coop) > EMIT_SHARED)
        block /= 2;
    e->shape = (cuda_kernel_shape){
        .block = block,
        .coop = coop,
        .shared = (int)(scratch + e->coop_bytes * (size_t)(block / coop))};
}

static void emit_locals(gpu_state *e) {
    const nest *n = e->n;
    size_t scratch = n->coop > 32 ? GPU_SCRATCH : 0;
    if (n->coop && e->shape.shared) gpu_line(e, "extern __shared__ uint4 nest_shared[];");
    else if (n->coop) gpu_line(e, "void *const nest_shared = 0;");
    for (int i = 0; i < n->nlocals; i++) {
        const nest_buffer *b = n->locals[i];
        const char *type = gpu_memory_type(b->dt);
        if (!n->coop) gpu_line(e, "%s l%d[%lld]; // %s", type, i, (long long)b->length, b->name);
        else if (e->shape.coop == e->shape.block)
            gpu_line(e, "%s *const l%d = (%s *)((unsigned char *)nest_shared + %zu); // %s", type,
                     i, type, scratch + e->offsets[i], b->name);
        else
            gpu_line(e,
                     "%s *const l%d = (%s *)((unsigned char *)nest_shared + threadIdx.x / %d * %zu "
                     "+ %zu); // %s",
                     type, i, type, e->shape.coop, e->coop_bytes, e->offsets[i], b->name);
    }
}

static void emit_parameters(gpu_state *e) {
    const nest *n = e->n;
    gpu_open(e, "struct nest_arguments");
    for (int i = 0; i < n->nbuffers; i++)
        gpu_line(e, "%s%s *b%d; // %s", n->buffers[i]->written ? "" : "const ",
                 gpu_memory_type(n->buffers[i]->dt), i, n->buffers[i]->name);
    for (int i = 0; i < n->nints; i++) gpu_line(e, "int64_t i%d; // %s", i, n->ints[i]);
    for (int i = 0; i < n->nfloats; i++) gpu_line(e, "double f%d; // %s", i, n->floats[i]);
    gpu_line(e, "int64_t begin, end;");
    e->depth--;
    gpu_line(e, "};\n");
}

static void emit_inputs(gpu_state *e) {
    const nest *n = e->n;
    for (int i = 0; i < n->nbuffers; i++)
        gpu_line(e, "%s%s *%s const b%d = p.b%d;", n->buffers[i]->written ? "" : "const ",
                 gpu_memory_type(n->buffers[i]->dt),
                 n->buffers[i]->is_restrict ? "__restrict__" : "", i, i);
    for (int i = 0; i < n->nints; i++)
        if (e->int_inputs[i]) gpu_line(e, "const nest_index i%d = (nest_index)p.i%d;", i, i);
}

static void emit_kernel(gpu_state *e) {
    gpu_line(e, "// %s", e->n->name);
    gpu_line(e, "#include \"codegen/cuda/nest_cuda.h\"\n");
    gpu_line(e, "typedef %s nest_index;\n", e->n->index32 ? "int32_t" : "int64_t");
    emit_parameters(e);
    gpu_open(e, "extern \"C\" __global__ void __launch_bounds__(%d) kernel(const nest_arguments p)",
             e->shape.block);
    emit_inputs(e);
    emit_locals(e);
    emit_threads(e);
    gpu_block(e, &e->n->body);
    gpu_close(e);
}

ctsc_status nest_emit_cuda(nest *n, strbuf *out, cuda_kernel_shape *shape, diag *d) {
    TRY(nest_verify(n, d));
    gpu_state e = {.n = n, .out = out};
    e.vars = mem_zalloc((size_t)(n->nvars + 1) * sizeof *e.vars);
    e.hazards = mem_zalloc((size_t)(n->nbuffers + n->nlocals + 1) * sizeof *e.hazards);
    e.int_inputs = mem_zalloc((size_t)(n->nints + 1) * sizeof *e.int_inputs);
    e.offsets = mem_zalloc((size_t)(n->nlocals + 1) * sizeof *e.offsets);
    ctsc_status st = e.vars && e.hazards && e.int_inputs && e.offsets ? gpu_analyse(&e, d)
                                                                      : diag_no_memory(d);
    if (st == CTSC_OK) {
        emit_lay_out(&e);
        emit_kernel(&e);
        *shape = e.shape;
        if (e.too_many || (size_t)e.shape.shared > EMIT_MAX_SHARED)
            st = diag_fail(d, CTSC_UNSUPPORTED, "loop nest %s is too large for a GPU's kernel",
                           n->name);
        else if (out->failed) st = diag_no_memory(d);
    }
    mem_free(e.vars);
    mem_free(e.hazards);
    mem_free(e.int_inputs);
    mem_free(e.offsets);
    return st;
}

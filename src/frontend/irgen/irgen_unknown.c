/* SPDX-License-Identifier: Apache-2.0 */
/*
 * irgen_unknown.c - calls in archives of an operator, an overload or an argument
 * that no table knows.
 *
 * Libraries bring operators of their own, and later versions of PyTorch new ones; scripted code
 * mentions them in branches that are never taken. Such a call becomes a node without an operator
 * (node.op is NULL): it is refused when it is reached, and by `ctsc inspect` and --strict
 * before. Its schema is inferred from the call: as many results as the code unpacks, of the
 * types it annotates, else one tensor. Programs from source are told at once, where a misspelt
 * name is likelier.
 *
 *     a, b, = ops.mine.split(x, parts=3)        %a : Tensor, %b : Tensor = mine::split[keywords="parts"](%x, %3)
 *     y = torch.relu(x, depth=3)                %y : Tensor = ctsc::unknown[call="aten::relu(Tensor, int depth)", keywords="depth"](%x, %3)
 *
 * Where the name is known and the arguments are not, the node has another name, which no pass takes
 * for the operator's; `call` is what the refusal says. `keywords` are the names of the last
 * arguments, for writing the call again (print_code_expr.c).
 * Tests: tests/cli/unknown-operators.test
 */
#include "frontend/codeload/upgraders.h"
#include "frontend/irgen/irgen.h"

bool irgen_admits_unknown(const emitter *e) {
    /* which functions of our own have */
    return !e->scope && importer_version(e->unit) != INT64_MAX;
}

static const char *unknown_call_text(emitter *e, const char *name, int nargs, const actual *args) {
    strbuf sb = STRBUF_INIT;
    sb_printf(&sb, "%s(", name);
    for (int i = 0; i < nargs; i++) {
        if (i) sb_puts(&sb, ", ");
        type_print_plain(args[i].value->type, &sb);
        if (args[i].name) sb_printf(&sb, " %s", args[i].name);
    }
    sb_puts(&sb, ")");
    const char *text = sb.failed ? NULL : arena_strdup(e->scratch, sb_str(&sb));
    sb_free(&sb);
    return text;
}

static const char *unknown_keywords(emitter *e, int nargs, const actual *args) {
    strbuf sb = STRBUF_INIT;
    for (int i = 0; i < nargs; i++)
        if (args[i].name) sb_printf(&sb, "%s%s", sb.len ? "," : "", args[i].name);
    const char *text = sb.len && !sb.failed ? arena_strdup(e->scratch, sb_str(&sb)) : NULL;
    sb_free(&sb);
    return text;
}

/* One output per result; returns one value for all of them. */
static ir_value *unknown_results(emitter *e, source_range r, node *n) {
    type *want = e->wanted.type;
    int parts = want && want->kind == T_TUPLE ? want->nelems : !want ? e->wanted.parts : 0;
    if (parts < 2) {
        node_add_output(n, want && want->kind != T_NONE ? want : TYPE_TENSOR);
        graph_insert(e->g, n);
        return n->outputs.data[0];
    }
    for (int i = 0; i < parts; i++) node_add_output(n, want ? want->elems[i] : TYPE_TENSOR);
    graph_insert(e->g, n);
    return irgen_tuple(e, r, want, parts, n->outputs.data);
}

ir_value *irgen_unknown(emitter *e, source_range r, const char *name, bool known, int nargs,
                        const actual *args) {
    e->g->range = r;
    node *n = node_new(e->g, N_OP, 0, NULL, 0);
    const char *call = known ? unknown_call_text(e, name, nargs, args) : NULL,
               *keywords = unknown_keywords(e, nargs, args);
    n->op_name = intern(&e->g->names, known ? "ctsc::unknown" : name);
    for (int i = 0; i < nargs; i++) node_add_input(n, args[i].value);
    if (call) node_set_str(n, "call", call);
    if (keywords) node_set_str(n, "keywords", keywords);
    ir_value *out = unknown_results(e, r, n);
    return irgen_failed(e) ? (diag_no_memory(e->diag), NULL) : out;
}

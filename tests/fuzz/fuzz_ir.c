/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_ir.c - any text given to the graph parser: a graph that verifies, or a refusal. What was
 * accepted is copied and printed, and what was printed is read again; it is written as JSON, too.
 * The first line, if it begins like a schema, goes to the schema parser as well. Seeds:
 * tests/ir/graphs.
 */
#include "ir/graph/graph.h"
#include "ir/graph/graph_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_schema(const char *text, size_t size) {
    const char *end = memchr(text, '\n', size);
    size_t len = end ? (size_t)(end - text) : size;
    arena a;
    diag d = {0};
    schema *s;
    strbuf sb = STRBUF_INIT;
    if (arena_init(&a) && schema_parse(&d, &a, text, len, &s) == CTSC_OK) {
        schema_print(s, &sb);
        schema_free_values(s);
    }
    sb_free(&sb);
    diag_clear(&d);
    arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    diag d = {0};
    graph *g, *again = NULL;
    if (size > 7 && !memcmp(data, "aten::", 6)) fuzz_schema((const char *)data, size);
    if (graph_parse(&d, "fuzz.ir", (const char *)data, size, &g) == CTSC_OK) {
        strbuf sb = STRBUF_INIT;
        graph *copy = graph_clone(g);
        graph_print(copy ? copy : g, NULL, &sb);
        if (!sb.failed && graph_parse(&d, "again.ir", sb_str(&sb), sb.len, &again) != CTSC_OK)
            __builtin_trap();
        sb_clear(&sb);
        graph_json(g, NULL, &sb);
        graph_free(again);
        graph_free(copy);
        graph_free(g);
        sb_free(&sb);
    }
    diag_clear(&d);
    return 0;
}

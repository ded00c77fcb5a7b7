/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_source.c - any text given to the compiler: a module, or a refusal. What compiles is also
 * printed as graph and as code.
 *
 * The mutator knows the language: it works on lines and tokens, puts names, operators
 * and whole statements where they are allowed, and nests expressions, so that most
 * mutants get past the parser. Seeds: examples/models, tests/corpus/ * / * /source.py.
 */
#include "ctsc.h"

#include "base/memory/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static void fuzz_drop(void *ctx, const char *text, size_t len) { (void)ctx, (void)text, (void)len; }

/* Leaks are counted here, for runs without LeakSanitizer. What is made once in a process (the index
 * of operators) is made in the first runs; SLACK blocks are left to what comes later. */
enum { FUZZ_WARM = 20000, FUZZ_SLACK = 20000 };
static size_t fuzz_live, fuzz_baseline, fuzz_runs;

static void *fuzz_memory(void *ctx, void *p, size_t size) {
    (void)ctx;
    void *moved = size ? realloc(p, size) : NULL;
    if (!size) free(p);
    if (p && !size) __atomic_sub_fetch(&fuzz_live, 1, __ATOMIC_RELAXED);
    if (!p && moved) __atomic_add_fetch(&fuzz_live, 1, __ATOMIC_RELAXED);
    return moved;
}

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    (void)argc, (void)argv;
    mem_set_hook(fuzz_memory, NULL);
    return 0;
}

static void fuzz_check_leaks(void) {
    if (++fuzz_runs <= FUZZ_WARM) fuzz_baseline = fuzz_live;
    if (fuzz_live <= fuzz_baseline + FUZZ_SLACK) return;
    fprintf(stderr, "%zu blocks live, %zu after the first %d runs\n", fuzz_live, fuzz_baseline,
            FUZZ_WARM);
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ctsc_compile_options o = {.size = sizeof o,
                              .skip_init = true,
                              .print = fuzz_drop,
                              .max_steps = 20000,
                              .max_bytes = 64 << 20};
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    char *text = NULL;
    if (ctsc_module_compile_text("fuzz.py", (const char *)data, size, &o, &m, e) == CTSC_OK) {
        for (size_t i = 0; i < ctsc_module_method_count(m); i++) {
            if (ctsc_module_graph(m, ctsc_module_method_name(m, i), CTSC_GRAPH_INLINED, &text, e) ==
                CTSC_OK)
                ctsc_string_free(text);
            if (ctsc_module_code(m, ctsc_module_method_name(m, i), &text, e) == CTSC_OK)
                ctsc_string_free(text);
        }
        ctsc_module_free(m);
    } else {
        ctsc_string_free(ctsc_error_render(e, true));
    }
    ctsc_error_free(e);
    fuzz_check_leaks();
    return 0;
}

/* ---- the mutator ----------------------------------------------------------------------------- */

static const char *const tokens[] = {"x",
                                     "y",
                                     "self",
                                     "i",
                                     "n",
                                     "0",
                                     "1",
                                     "-1",
                                     "2",
                                     "3.5",
                                     "1e30",
                                     "9223372036854775807",
                                     "True",
                                     "False",
                                     "None",
                                     "'a'",
                                     "\"\"",
                                     "f'{x}'",
                                     "[]",
                                     "{}",
                                     "()",
                                     "[1, 2]",
                                     "(1, 'a')",
                                     "{'a': 1}",
                                     "...",
                                     "+",
                                     "-",
                                     "*",
                                     "/",
                                     "//",
                                     "%",
                                     "**",
                                     "@",
                                     "==",
                                     "!=",
                                     "<",
                                     ">=",
                                     "is",
                                     "is not",
                                     "in",
                                     "not in",
                                     "and",
                                     "or",
                                     "not",
                                     "&",
                                     "|",
                                     "^",
                                     "<<",
                                     ">>",
                                     "~",
                                     "=",
                                     "+=",
                                     "//=",
                                     ":=",
                                     ",",
                                     ":",
                                     ".",
                                     "(",
                                     ")",
                                     "[",
                                     "]",
                                     "int",
                                     "float",
                                     "bool",
                                     "str",
                                     "list",
                                     "tuple",
                                     "dict",
                                     "Tensor",
                                     "List[int]",
                                     "Optional[Tensor]",
                                     "Dict[str, int]",
                                     "Tuple[int, Tensor]",
                                     "torch",
                                     "nn",
                                     "F",
                                     "math",
                                     "torch.jit",
                                     "nn.Module",
                                     "len",
                                     "range",
                                     "enumerate",
                                     "zip",
                                     "isinstance",
                                     "min",
                                     "max",
                                     "sum",
                                     "sorted",
                                     "print",
                                     "getattr",
                                     "hasattr",
                                     "super()",
                                     "torch.tensor",
                                     "nn.Linear",
                                     "F.relu",
                                     "forward",
                                     "__init__",
                                     "append",
                                     "size",
                                     "shape",
                                     "lambda",
                                     "yield",
                                     "await",
                                     "return",
                                     "break",
                                     "continue",
                                     "raise",
                                     "del"};

static const char *const statements[] = {"return x",
                                         "return",
                                         "break",
                                         "continue",
                                         "pass",
                                         "x = x + 1",
                                         "y = [x]",
                                         "x, y = y, x",
                                         "del y",
                                         "assert x is not None, 'm'",
                                         "raise ValueError('v')",
                                         "if x is None:\n    y = 1",
                                         "if isinstance(x, int):\n    return x",
                                         "for i in range(3):\n    x = x * i",
                                         "while True:\n    break",
                                         "for a, b in zip([1], [2.0]):\n    print(a, b)",
                                         "with torch.no_grad():\n    y = x",
                                         "y: List[int] = []",
                                         "y = [i for i in range(3) if i]",
                                         "y = {k: v for k, v in {'a': 1}.items()}",
                                         "x[0] = 1",
                                         "x[..., None, 1:] += 2",
                                         "self.y = x",
                                         "def g(x):\n    return g(x)",
                                         "class C:\n    def __init__(self):\n        self.x = 1",
                                         "try:\n    y = 1\nexcept ValueError:\n    y = 2",
                                         "import math",
                                         "from typing import List",
                                         "@torch.jit.script\ndef h(x):\n    return x",
                                         "global y",
                                         "y = lambda q: q",
                                         "y = torch.jit.fork(h, x)",
                                         "y = torch.jit.annotate(Optional[int], None)",
                                         "print(f'{x!r:>10}')"};

static const char *const wraps[] = {
    "(%)",         "[%]",       "[%, %]",          "(%,)",           "{%: %}",    "-%",
    "not %",       "%[0]",      "%[1:]",           "%[%]",           "%(%)",      "%.a",
    "len(%)",      "int(%)",    "str(%)",          "% if % else %",  "% + %",     "% == %",
    "*%",          "**%",       "f'{%}'",          "[% for i in %]", "lambda: %", "torch.tensor(%)",
    "%.append(%)", "%.size(%)", "isinstance(%, %)"};

typedef struct edit { const uint8_t *in; size_t n, room; unsigned long long state; } edit;

static size_t edit_random(edit *e, size_t below) { /* xorshift64 (G. Marsaglia, 2003) */
    e->state ^= e->state << 13;
    e->state ^= e->state >> 7;
    e->state ^= e->state << 17;
    return below ? (size_t)(e->state % below) : 0;
}

/* in[0..at) + text + in[at+drop..): into data. 0: no room. */
static size_t edit_replace(edit *e, uint8_t *data, size_t at, size_t drop, const char *text,
                           size_t len) {
    size_t rest = e->n - at - drop;
    if (at + len + rest > e->room) return 0;
    memcpy(data + at, text, len);
    memcpy(data + at + len, e->in + at + drop, rest);
    return at + len + rest;
}

static bool edit_word(uint8_t c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

static void edit_pick_token(edit *e, size_t *at, size_t *len) {
    size_t i = edit_random(e, e->n);
    while (i > 0 && edit_word(e->in[i]) && edit_word(e->in[i - 1])) i--;
    size_t k = i;
    while (k < e->n && edit_word(e->in[k])) k++;
    *at = i;
    *len = k > i ? k - i : 1;
}

static void edit_pick_line(edit *e, size_t *at, size_t *len) {
    size_t i = edit_random(e, e->n), k;
    while (i > 0 && e->in[i - 1] != '\n') i--;
    for (k = i; k < e->n && e->in[k] != '\n';) k++;
    *at = i;
    *len = k - i + (k < e->n);
}

static size_t edit_token(edit *e, uint8_t *data) {
    size_t at, len, from, from_len;
    edit_pick_token(e, &at, &len);
    if (edit_random(e, 2)) { /* another token of the text itself */
        edit_pick_token(e, &from, &from_len);
        return edit_replace(e, data, at, len, (const char *)e->in + from, from_len);
    }
    const char *t = tokens[edit_random(e, sizeof tokens / sizeof *tokens)];
    return edit_replace(e, data, at, len, t, strlen(t));
}

static size_t edit_wrap(edit *e, uint8_t *data) {
    size_t at, len;
    char text[512];
    edit_pick_token(e, &at, &len);
    if (len > 60) return 0;
    const char *w = wraps[edit_random(e, sizeof wraps / sizeof *wraps)];
    size_t n = 0, times = edit_random(e, 200) == 0 ? 300 : 1;
    for (; *w; w++) {
        if (*w != '%') text[n++] = *w;
        else memcpy(text + n, e->in + at, len), n += len;
    }
    if (times == 1) return edit_replace(e, data, at, len, text, n);
    char *deep = malloc(2 * times + len); /* ((((x)))) */
    if (!deep) return 0;
    memset(deep, '(', times);
    memcpy(deep + times, e->in + at, len);
    memset(deep + times + len, ')', times);
    n = edit_replace(e, data, at, len, deep, 2 * times + len);
    free(deep);
    return n;
}

/* A statement in front of a line, as far in as that line. */
static size_t edit_statement(edit *e, uint8_t *data) {
    size_t at, len, indent = 0, n = 0;
    char text[1024];
    edit_pick_line(e, &at, &len);
    while (indent < len && e->in[at + indent] == ' ' && indent < 64) indent++;
    const char *s = statements[edit_random(e, sizeof statements / sizeof *statements)];
    for (bool start = true; *s; s++) {
        if (start) memset(text + n, ' ', indent), n += indent;
        start = *s == '\n';
        text[n++] = *s;
        if (n + indent + 4 > sizeof text) return 0;
    }
    text[n++] = '\n';
    return edit_replace(e, data, at, 0, text, n);
}

static size_t edit_line(edit *e, uint8_t *data) {
    size_t at, len, to, to_len;
    edit_pick_line(e, &at, &len);
    switch (edit_random(e, 4)) {
    case 0: return edit_replace(e, data, at, len, "", 0);
    case 1: return edit_replace(e, data, at, 0, "    ", 4);
    case 2:
        return len > 4 && !memcmp(e->in + at, "    ", 4) ? edit_replace(e, data, at, 4, "", 0) : 0;
    default:
        edit_pick_line(e, &to, &to_len);
        return edit_replace(e, data, to, 0, (const char *)e->in + at, len);
    }
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    static size_t (*const edits[])(edit *, uint8_t *) = {
        edit_token, edit_token, edit_token, edit_wrap, edit_wrap, edit_statement, edit_line};
    edit e = {.room = max_size, .state = seed * 2654435761ull + 88172645463325252ull};
    if (!size || edit_random(&e, 20) == 0) return LLVMFuzzerMutate(data, size, max_size);
    for (size_t n = 1 + edit_random(&e, 3); n > 0 && size; n--) {
        uint8_t *copy = malloc(size);
        if (!copy) return size;
        memcpy(copy, data, size);
        e.in = copy;
        e.n = size;
        size_t made = edits[edit_random(&e, sizeof edits / sizeof *edits)](&e, data);
        if (made) size = made;
        else memcpy(data, copy, size);
        free(copy);
    }
    return size;
}

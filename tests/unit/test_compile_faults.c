/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_compile_faults.c - compiling, saving, freezing, profiling and registering with every
 * allocation failing in turn, once and for good: an error or the right result, nothing leaked,
 * and the next attempt works. A sample of the allocations; all of them with CTSC_FAULTS_ALL=1
 * (make test-faults).
 */
#include "support.h"

#include "ctsc_compiler.h"

#include <unistd.h>

static counting count;
static char faults_message[512]; /* of the last failure */

typedef struct faults_source { const char *text; ctsc_status expected; } faults_source;

/* ---- programs -------------------------------------------------------------------------------- */

static const char faults_classes[] =
    "import torch\n"
    "from enum import Enum\n"
    "from typing import Dict, List, NamedTuple, Optional, Tuple\n"
    "from torch import Tensor\n"
    "class Colour(Enum):\n"
    "    RED = 1\n"
    "    BLUE = 2\n"
    "class Pair(NamedTuple):\n"
    "    left: int\n"
    "    right: Tensor\n"
    "@torch.jit.interface\n"
    "class Shape:\n"
    "    def area(self) -> float:\n"
    "        pass\n"
    "@torch.jit.script\n"
    "class Square:\n"
    "    def __init__(self, side: float):\n"
    "        self.side = side\n"
    "        self.seen: Dict[str, List[int]] = {}\n"
    "    def area(self) -> float:\n"
    "        return self.side * self.side\n"
    "    def __add__(self, other: 'Square') -> 'Square':\n"
    "        return Square(self.side + other.side)\n"
    "    def note(self, key: str, n: int):\n"
    "        none: List[int] = []\n"
    "        if key not in self.seen:\n"
    "            self.seen[key] = none\n"
    "        self.seen[key].append(n)\n"
    "def choose(c: Colour) -> int:\n"
    "    return 10 if c == Colour.RED else 20\n"
    "def body(k: int) -> Tensor:\n"
    "    return torch.ones(2) * k\n"
    "def forward(n: int = 3, name: Optional[str] = None):\n"
    "    s = Square(1.5) + Square(float(n))\n"
    "    total = 0\n"
    "    for i in range(n):\n"
    "        if i % 2 == 0:\n"
    "            continue\n"
    "        s.note('odd' if name is None else name, i)\n"
    "        total += choose(Colour.RED)\n"
    "    while total > 7:\n"
    "        total //= 2\n"
    "    futures = [torch.jit.fork(body, k) for k in range(n)]\n"
    "    p = Pair(total, torch.stack([torch.jit.wait(f) for f in futures]))\n"
    "    text = f'{s.area():.2f} {p.left}' + ', '.join([str(k) for k in s.seen['odd']])\n"
    "    return p, text, [(i, x) for i, x in enumerate(s.seen['odd'])]\n";

static const char faults_layers[] =
    "import math\n"
    "import torch\n"
    "import torch.nn as nn\n"
    "import torch.nn.functional as F\n"
    "class Block(nn.Module):\n"
    "    def __init__(self, n: int):\n"
    "        super().__init__()\n"
    "        self.conv = nn.Conv2d(n, n, 3, padding=1)\n"
    "        self.norm = nn.BatchNorm2d(n)\n"
    "        self.scale = 1 / math.sqrt(n)\n"
    "    def forward(self, x):\n"
    "        return F.relu(self.norm(self.conv(x))) * self.scale + x\n"
    "class Main(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.blocks = nn.ModuleList([Block(4) for _ in range(2)])\n"
    "        self.head = nn.Sequential(nn.Flatten(), nn.Linear(16, 3), nn.Softmax(dim=1))\n"
    "        self.register_buffer('mean', torch.arange(4.0))\n"
    "    def forward(self, n: int = 1):\n"
    "        x = torch.ones(n, 4, 2, 2) - self.mean.view(1, 4, 1, 1)\n"
    "        for b in self.blocks:\n"
    "            x = b(x)\n"
    "        return self.head(x)\n";

/* Several errors at once. */
static const char faults_errors[] = "import torch\n"
                                    "from typing import List\n"
                                    "def one(x: int) -> str:\n"
                                    "    return x + 1\n"
                                    "def two(x: List[int]):\n"
                                    "    return torch.reluu(x), x.nothing\n"
                                    "def forward(n: int):\n"
                                    "    y = one(n)\n"
                                    "    z = unknown(two([n]))\n"
                                    "    return y + z\n";

/* What becomes kernels at the second call: a group of operators, a loop over numbers, a loop over
 * elements, a row at a time. */
static const char faults_kernels[] = "import torch\n"
                                     "def numbers(n: int) -> int:\n"
                                     "    a, b = 0, 1\n"
                                     "    for i in range(n):\n"
                                     "        a, b = b, (a + b) % 1000003\n"
                                     "    return a\n"
                                     "def forward(n: int = 64):\n"
                                     "    x = torch.arange(float(n)).view(4, n // 4)\n"
                                     "    y = torch.sigmoid(x * 2 + 1) * torch.tanh(x)\n"
                                     "    z = torch.softmax(y, 1) * 3\n"
                                     "    for i in range(3):\n"
                                     "        z = z + y * i\n"
                                     "    return z.sum(), numbers(n)\n";

/* What a trace has: parameters, buffers that are written to, constants, sizes, calls of scripted
 * code, a warning, containers. */
static const char faults_traced[] =
    "import torch\n"
    "from torch import nn\n"
    "@torch.jit.script\n"
    "def twice(x, n: int):\n"
    "    for i in range(n):\n"
    "        x = x * 2\n"
    "    return x\n"
    "class Gate(nn.Module):\n"
    "    def forward(self, x):\n"
    "        return x if bool(x.sum() > 0) else -x\n"
    "class Net(nn.Module):\n"
    "    def __init__(self):\n"
    "        super().__init__()\n"
    "        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(2)])\n"
    "        self.gate = torch.jit.script(Gate())\n"
    "        self.register_buffer('calls', torch.zeros(1))\n"
    "    def forward(self, x, **options):\n"
    "        self.calls += 1\n"
    "        for layer in self.layers:\n"
    "            x = layer(x)\n"
    "        y = torch.zeros(x.shape[0] * 2, 2)\n"
    "        y[0, :] = 1.5\n"
    "        if x.sum() > 1000:\n"
    "            y = y + 1\n"
    "        return {'x': self.gate(x), 'y': twice(y, 2), 'n': torch.tensor(x.shape[0]) * "
    "self.calls}\n";

/* ---- cycles ---------------------------------------------------------------------------------- */

static ctsc_status faults_compiled(const char *source, ctsc_module **m, ctsc_error *e) {
    return ctsc_module_compile_text("faults.py", source, strlen(source), NULL, m, e);
}

static ctsc_status faults_run(const ctsc_module *m, const ctsc_run_options *o, ctsc_error *e) {
    ctsc_value *out = NULL;
    ctsc_status s = ctsc_module_run(m, "forward", 0, NULL, o, &out, e);
    ctsc_value_free(out);
    return s;
}

static void faults_keep_message(const ctsc_error *e) {
    snprintf(faults_message, sizeof faults_message, "%s", ctsc_error_message(e));
}

/* Compiles and runs. */
static ctsc_status faults_compile(void *ctx) {
    const faults_source *c = ctx;
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    ctsc_status s = e ? faults_compiled(c->text, &m, e) : CTSC_LIMIT;
    if (s == CTSC_OK) s = faults_run(m, NULL, e);
    faults_keep_message(e);
    char *text = ctsc_error_render(e, false);
    ctsc_string_free(text);
    ctsc_module_free(m);
    ctsc_error_free(e);
    return c->expected != CTSC_OK && s == c->expected ? CTSC_OK : s;
}

/* Traces, checks and runs; ctx: the input. */
static ctsc_status faults_trace_run(void *ctx) {
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    ctsc_value *input = ctx, *out = NULL;
    const char *name = NULL;
    const ctsc_compile_options o = {.size = sizeof o,
                                    .trace = true,
                                    .trace_count = 1,
                                    .trace_inputs = &input,
                                    .trace_names = &name};
    ctsc_status s = e ? ctsc_module_compile_text("faults.py", faults_traced, strlen(faults_traced),
                                                 &o, &m, e)
                      : CTSC_LIMIT;
    if (s == CTSC_OK) s = ctsc_module_run(m, "forward", 1, &input, NULL, &out, e);
    if (s == CTSC_OK && ctsc_value_len(out) != 3) s = CTSC_INTERNAL;
    faults_keep_message(e);
    ctsc_value_free(out);
    ctsc_module_free(m);
    ctsc_error_free(e);
    return s;
}

/* Another file than those that other tests write at the same time. */
static void faults_path(char path[64]) {
    snprintf(path, 64, "/tmp/ctsc-faults-%d.pt", (int)getpid());
}

/* Saves, reads back, freezes, looks at it from all sides. */
static ctsc_status faults_save(void *ctx) {
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL, *again = NULL;
    ctsc_signature *signature = NULL;
    char path[64], *text = NULL;
    faults_path(path);
    unlink(path);
    ctsc_status s = e ? faults_compiled(ctx, &m, e) : CTSC_LIMIT;
    if (s == CTSC_OK) s = ctsc_module_save(m, path, e);
    if (s != CTSC_OK) assert_int_equal(access(path, F_OK), -1); /* whole or not at all */
    if (s == CTSC_OK) s = ctsc_module_load(path, &again, e);
    if (s == CTSC_OK) s = ctsc_module_signature(again, "forward", &signature, e);
    if (s == CTSC_OK && ctx == faults_layers) s = ctsc_module_freeze(again, true, e);
    if (s == CTSC_OK) s = faults_run(again, NULL, e);
    for (unsigned flags = 0; flags < 4 && s == CTSC_OK; flags++) {
        s = ctsc_module_graph(m, "forward", flags, &text, e);
        if (s == CTSC_OK) ctsc_string_free(text);
    }
    if (s == CTSC_OK) s = ctsc_module_code(m, "forward", &text, e);
    if (s == CTSC_OK) ctsc_string_free(text);
    faults_keep_message(e);
    ctsc_signature_free(signature);
    ctsc_module_free(again);
    ctsc_module_free(m);
    ctsc_error_free(e);
    unlink(path);
    return s;
}

/* Runs until kernels have been made, and once more. */
static ctsc_status faults_run_kernels(void *ctx) {
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = NULL;
    ctsc_status s = e ? faults_compiled(ctx, &m, e) : CTSC_LIMIT;
    for (int i = 0; i < 4 && s == CTSC_OK; i++) s = faults_run(m, NULL, e);
    faults_keep_message(e);
    ctsc_module_free(m);
    ctsc_error_free(e);
    return s;
}

static void faults_ignore_entry(void *ctx, const ctsc_profile_entry *entry) {
    (void)ctx, (void)entry;
}
static void faults_ignore_use(void *ctx, const ctsc_operator_use *u) { (void)ctx, (void)u; }

static void faults_see_layer(void *ctx, const ctsc_layer *l) { *(uint64_t *)ctx += l->calls; }

/* An archive, used in all other ways. */
static ctsc_status faults_use(void *ctx) {
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    ctsc_profiler_options po = {.size = sizeof po, .max_events = 100};
    ctsc_profiler *p = ctsc_profiler_new(&po);
    ctsc_run_options o = {.size = sizeof o, .profiler = p};
    ctsc_value *seven = ctsc_int_new(7), *pair[2] = {seven, seven},
               *tuple = ctsc_tuple_new(2, pair), *read = NULL;
    char path[64], *text = NULL;
    faults_path(path);
    ctsc_status s = e && p && seven && tuple ? CTSC_OK : CTSC_LIMIT;
    if (s == CTSC_OK) s = ctsc_module_load(ctx, &m, e);
    if (s == CTSC_OK) s = faults_run(m, &o, e);
    if (s == CTSC_OK) s = ctsc_profiler_visit(p, CTSC_PROFILE_LINES, faults_ignore_entry, NULL);
    if (s == CTSC_OK && !(text = ctsc_profiler_json(p))) s = CTSC_LIMIT;
    ctsc_string_free(text);
    text = NULL;
    if (s == CTSC_OK && !(text = ctsc_profiler_trace(p))) s = CTSC_LIMIT;
    ctsc_string_free(text);
    if (s == CTSC_OK) s = ctsc_module_operators(m, faults_ignore_use, NULL, e);
    uint64_t calls = 0;
    if (s == CTSC_OK) s = ctsc_module_layers(m, "forward", 0, NULL, faults_see_layer, &calls, e);
    if (s == CTSC_OK && calls < 2) s = CTSC_INTERNAL;
    if (s == CTSC_OK)
        s = ctsc_module_graph_for(m, "forward", 0, NULL, CTSC_GRAPH_KERNELS, &text, e);
    if (s == CTSC_OK) ctsc_string_free(text);
    if (s == CTSC_OK) s = ctsc_value_save(tuple, path, e);
    if (s == CTSC_OK) s = ctsc_value_load(path, &read, e);
    faults_keep_message(e);
    ctsc_value_free(read);
    ctsc_value_free(tuple);
    ctsc_value_free(seven);
    ctsc_module_free(m);
    ctsc_profiler_free(p);
    ctsc_error_free(e);
    unlink(path);
    return s;
}

static void faults_compile_classes(void **state) {
    (void)state;
    faults_source c = {faults_classes, CTSC_OK};
    support_fail_allocations(&count, "compile classes", 100, faults_compile, &c, faults_message);
}

static void faults_compile_layers(void **state) {
    (void)state;
    faults_source c = {faults_layers, CTSC_OK};
    support_fail_allocations(&count, "compile layers", 40, faults_compile, &c, faults_message);
}

static void faults_compile_errors(void **state) {
    (void)state;
    faults_source c = {faults_errors, CTSC_FAILED};
    support_fail_allocations(&count, "compile errors", 100, faults_compile, &c, faults_message);
}

static void faults_trace(void **state) {
    (void)state;
    const int64_t sizes[] = {3, 2};
    ctsc_value *x = NULL;
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, 2, sizes, &x, NULL), CTSC_OK);
    support_fail_allocations(&count, "trace", 80, faults_trace_run, x, faults_message);
    ctsc_value_free(x);
}

static void faults_save_classes(void **state) {
    (void)state;
    support_fail_allocations(&count, "save classes", 40, faults_save, (void *)faults_classes,
                             faults_message);
}

static void faults_save_layers(void **state) {
    (void)state;
    support_fail_allocations(&count, "save layers", 30, faults_save, (void *)faults_layers,
                             faults_message);
}

static void faults_use_layers(void **state) {
    (void)state;
    ctsc_module *m = NULL;
    char path[80];
    snprintf(path, sizeof path, "/tmp/ctsc-faults-%d-layers.pt", (int)getpid());
    assert_int_equal(faults_compiled(faults_layers, &m, NULL), CTSC_OK);
    assert_int_equal(ctsc_module_save(m, path, NULL), CTSC_OK);
    ctsc_module_free(m);
    support_fail_allocations(&count, "use layers", 50, faults_use, path, faults_message);
    unlink(path);
}

static void faults_make_kernels(void **state) {
    (void)state;
    support_fail_allocations(&count, "make kernels", 80, faults_run_kernels, (void *)faults_kernels,
                             faults_message);
}

/* ---- registering ----------------------------------------------------------------------------- */

static ctsc_status faults_op(void *ctx, size_t nargs, ctsc_value *const *args, ctsc_value **results,
                             ctsc_error *e) {
    (void)ctx, (void)nargs, (void)e;
    results[0] = ctsc_value_copy(args[0]);
    return results[0] ? CTSC_OK : CTSC_LIMIT;
}

/* Successful results are kept for good, so only a failed attempt must leave nothing. */
static void faults_register(void **state) {
    (void)state;
    const ctsc_op_options options = {
        .size = sizeof options,
        .scalar = "float f(float x, float y) { return x > y ? sqrt(x) : y * 2.0; }"};
    ctsc_status s = CTSC_LIMIT;
    long failures = 0;
    assert_int_equal(ctsc_register_op("faults::f(Tensor x, Tensor y) -> Tensor", faults_op, NULL,
                                      &options, NULL),
                     CTSC_OK);
    for (long k = 1; s == CTSC_LIMIT; k++) {
        long before = count.live;
        ctsc_error *e = ctsc_error_new();
        count.requests = 0;
        count.fail_at = k;
        s = ctsc_register_op("faults::f(Tensor x, Tensor y) -> Tensor", faults_op, NULL, &options,
                             e);
        count.fail_at = 0;
        faults_keep_message(e);
        ctsc_error_free(e);
        if (s == CTSC_LIMIT && count.live != before)
            fail_msg("allocation %ld: %ld blocks leaked", k, count.live - before);
        if (s != CTSC_LIMIT && s != CTSC_OK)
            fail_msg("allocation %ld: status %d: %s", k, s, faults_message);
        failures += s == CTSC_LIMIT;
    }
    assert_true(failures > 3);
}

/* An argument: only the tests of this name, with * for any letters. */
int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(faults_compile_classes), cmocka_unit_test(faults_compile_layers),
        cmocka_unit_test(faults_compile_errors),  cmocka_unit_test(faults_save_classes),
        cmocka_unit_test(faults_save_layers),     cmocka_unit_test(faults_use_layers),
        cmocka_unit_test(faults_make_kernels),    cmocka_unit_test(faults_register),
        cmocka_unit_test(faults_trace),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    mem_set_hook(counting_hook, &count);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_py_torch.c - the evaluator's library: torch, torch.jit, math, typing, enum, copy and the
 * rest. Whole programs against what PyTorch prints (py_torch_cases.h), errors, the marks that
 * decorators leave, objects as values, and every allocation failing in turn.
 */
#include "support.h"

#include "frontend/pyeval/torch/py_torch.h"
#include "py_torch_cases.h"
#include "runtime/context/runtime.h"

static counting count;

typedef struct evaluation {
    arena a;
    interner names;
    diag d;
    py p;
    py_object *module;
    strbuf printed, warned;
    runtime rt;
    op_ctx ops;
} evaluation;

static void evaluation_print(void *ctx, const char *text, size_t len) {
    sb_write(&((evaluation *)ctx)->printed, text, len);
}
static void evaluation_warn(void *ctx, const char *text) {
    sb_puts(&((evaluation *)ctx)->warned, text);
}
static void evaluation_seed(void *ctx, uint64_t seed) {
    generator_seed(&((evaluation *)ctx)->rt.rng, seed);
}

static void evaluation_run_with(evaluation *e, const char *text, bool skip_init) {
    memset(e, 0, sizeof *e);
    if (!arena_init(&e->a)) {
        diag_no_memory(&e->d);
        return;
    }
    e->names.a = &e->a;
    runtime_init(&e->rt);
    e->rt.warn = evaluation_warn;
    e->rt.sink_ctx = e;
    e->ops = (op_ctx){.diag = &e->d, .rt = &e->rt};
    py_host host = {.ctx = e,
                    .print = evaluation_print,
                    .seed = evaluation_seed,
                    .ops = &e->ops,
                    .skip_init = skip_init};
    source *src = source_new("test.py", text, strlen(text));
    if (!src) diag_no_memory(&e->d);
    if (src && py_init(&e->p, &e->a, &e->names, &e->d, &host, &py_torch_library))
        e->module = py_run_module(&e->p, "test", src);
    source_unref(src);
}

static void evaluation_run(evaluation *e, const char *text) { evaluation_run_with(e, text, false); }

static void evaluation_free(evaluation *e) {
    py_free(&e->p);
    diag_clear(&e->d);
    interner_free(&e->names);
    arena_free(&e->a);
    sb_free(&e->printed);
    sb_free(&e->warned);
}

static void evaluation_succeeded(const evaluation *e) {
    if (e->d.status == CTSC_OK) return;
    strbuf sb = STRBUF_INIT;
    diag_render(&e->d, &sb, false);
    print_error("%s\n", sb_str(&sb));
    sb_free(&sb);
    fail();
}

static py_object *evaluation_global(const evaluation *e, const char *name) {
    py_object *o = py_dict_get(e->module->u.mod.globals, name);
    assert_non_null(o);
    return o;
}

/* ---- programs -------------------------------------------------------------------------------- */

static void test_programs(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof py_torch_cases / sizeof *py_torch_cases; i++) {
        evaluation e;
        evaluation_run(&e, py_torch_cases[i].program);
        if (e.d.status != CTSC_OK) print_error("%s:\n", py_torch_cases[i].name);
        evaluation_succeeded(&e);
        assert_string_equal(sb_str(&e.printed), py_torch_cases[i].printed);
        evaluation_free(&e);
    }
}

static void test_warnings(void **state) {
    (void)state;
    evaluation e;
    evaluation_run(
        &e, "import warnings\nwarnings.warn('careful')\nwarnings.warn(UserWarning('twice'))\n");
    evaluation_succeeded(&e);
    assert_non_null(strstr(sb_str(&e.warned), "careful"));
    evaluation_free(&e);
}

/* ---- errors ---------------------------------------------------------------------------------- */

static void test_errors(void **state) {
    (void)state;
    static const struct {
        const char *program, *exception, *text;
    } cases[] = {
        {"import torch\ntorch.device('tpu')\n", "builtins.RuntimeError",
         "device type at start of device string: tpu"},
        {"import torch\ntorch.device('cuda', -1)\n", "builtins.RuntimeError",
         "Invalid device string: 'cuda:-1'"},
        {"import torch\ntorch.zeros(2) + torch.zeros(3)\n", "builtins.RuntimeError",
         "must match the size of tensor b (3)"},
        {"import torch\ntorch.relu('a')\n", "builtins.TypeError",
         "relu(): argument 'input' (position 1) must be Tensor, not str"},
        {"import torch\ntorch.zeros(2)[5]\n", "builtins.IndexError",
         "index 5 is out of bounds for dimension 0 with size 2"},
        {"import torch\ntorch.zeros(2)[0, 0]\n", "builtins.IndexError",
         "too many indices for tensor of dimension 1"},
        {"import torch\ntorch.zeros(2, 3).sum(7)\n", "builtins.IndexError",
         "Dimension out of range"},
        {"import torch\ntorch.tensor([[1, 2], [3]])\n", "builtins.ValueError",
         "expected sequence of length 2 at dim 1 (got 1)"},
        {"import torch\ntorch.tensor(['a'])\n", "builtins.TypeError",
         "must be a sequence of numbers"},
        {"import torch\nl = []\nl.append(l)\ntorch.tensor(l)\n", "builtins.ValueError",
         "too many dimensions"},
        {"import torch\nl = []\nl.append(l)\ntorch.cat(l)\n", "builtins.TypeError",
         "cat(): argument 'tensors' (position 1) must be tuple of Tensors, but found element of "
         "type list at pos 0"},
        /* Only overloads that can be meant are candidates: the one that is left says what it cannot
         * take, several are listed. */
        {"import torch\ntorch.zeros((2, 1.5))\n", "builtins.TypeError",
         "zeros(): argument 'size' (position 1) must be tuple of ints, but found element of type "
         "float at pos 1"},
        {"import torch\ntorch.zeros(2, 3, 1.5)\n", "builtins.TypeError",
         "zeros(): argument 'size' (position 1) must be tuple of ints, but found element of type "
         "float at pos 2"},
        {"import torch\ntorch.zeros(2, dtype='a')\n", "builtins.TypeError",
         "zeros(): argument 'dtype' must be "},
        {"import torch\ntorch.relu()\n", "builtins.TypeError",
         "relu() received an invalid combination of arguments - got (), but"},
        {"import torch\ntorch.add('a', 1)\n", "builtins.TypeError",
         "add() received an invalid combination of arguments - got (str, int), but"},
        {"import torch\ntorch.zeros(1 << 40, 1 << 20)\n", NULL,
         "more than the memory limit allows"},
        {"import torch\ntorch.nothing\n", "builtins.AttributeError", "nothing"},
        {"import torch\ntorch.set_default_dtype(torch.float64)\n", NULL, "are not supported"},
        {"import torch\ntorch.jit.trace(1, 2)\n", NULL,
         "torch.jit.trace: only modules and functions can be traced"},
        {"import torch\ntorch.jit.script(3)\n", NULL, "cannot compile an object of type 'int'"},
        {"import torch\nt = torch.zeros(2)\nt.shape = 1\n", "builtins.AttributeError",
         "attribute 'shape' of 'torch._C._TensorBase' objects is not writable"},
        {"import torch\ntorch.zeros(1, 2) @ [1]\n", "builtins.TypeError",
         "unsupported operand type(s) for @"},
        {"import os\nos.getcwd()\n", NULL,
         "os.getcwd is not available while a program is being compiled"},
        {"import numpy as np\nnp.savez(\"x\")\n", NULL, "numpy.savez is not available"},
        {"import torchvision\ntorchvision.models.resnet18()\n", "builtins.ModuleNotFoundError",
         "No module named 'torchvision'"},
        {"import torch\nclass S(torch.package.PackageImporter):\n    pass\nS()\n", NULL,
         "torch.package.PackageImporter is not available"},
        {"import math\nmath.sqrt(-1)\n", "builtins.ValueError", "math domain error"},
        {"import math\nmath.factorial(30)\n", "builtins.OverflowError", "64 bits"},
        {"import collections\ncollections.namedtuple('P', 'x x')\n", "builtins.ValueError",
         "duplicate field name"},
        {"from dataclasses import dataclass\n@dataclass\nclass D:\n    x: int\nD()\n",
         "builtins.TypeError", "missing 1 required"},
        {"import copy\nl = []\nfor i in range(3000):\n    l = [l]\ncopy.deepcopy(l)\n",
         "builtins.RecursionError", "recursion"},
        {"from typing import Optional\nOptional[int, str]\n", "builtins.TypeError",
         "Optional requires a single type"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        evaluation e;
        evaluation_run(&e, cases[i].program);
        if (e.d.status == CTSC_OK || !strstr(diag_message(&e.d), cases[i].text)) {
            print_error("%s -> %s\n", cases[i].program, diag_message(&e.d));
            fail();
        }
        if (cases[i].exception) {
            assert_non_null(e.d.exception);
            assert_string_equal(e.d.exception, cases[i].exception);
        }
        evaluation_free(&e);
    }
}

/* ---- marks ----------------------------------------------------------------------------------- */

static void test_marks(void **state) {
    (void)state;
    evaluation e;
    evaluation_run(&e, "import torch\nfrom typing import Dict, List, Optional, Union\n"
                       "@torch.jit.script\ndef a(x): return x\n"
                       "@torch.jit.export\ndef b(x): return x\n"
                       "@torch.jit.ignore\ndef c(x): return x\n"
                       "@torch.jit.ignore(drop=True)\ndef d(x): return x\n"
                       "@torch.jit.unused\ndef f(x): return x\n"
                       "@torch.jit.script_if_tracing\ndef g(x): return x\n"
                       "@torch.jit._overload\ndef h(x: int) -> int: ...\n"
                       "@torch.jit._overload\ndef h(x: str) -> str: ...\n"
                       "def h(x): return x\n"
                       "@torch.jit.script\nclass C: pass\n"
                       "@torch.jit.interface\nclass I: pass\n"
                       "T = Union[int, Optional[str]]\nU = int | None\nV = dict[str, List[int]]\n");
    evaluation_succeeded(&e);
    static const struct {
        const char *name;
        py_script_mode mode;
    } modes[] = {{"a", PY_SCRIPT}, {"b", PY_EXPORT}, {"c", PY_IGNORE},
                 {"d", PY_UNUSED}, {"f", PY_UNUSED}, {"g", PY_DEFAULT}};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++)
        assert_int_equal(evaluation_global(&e, modes[i].name)->u.fn->mode, modes[i].mode);
    assert_true(evaluation_global(&e, "g")->u.fn->is_script_if_tracing);
    const py_object *h = evaluation_global(&e, "h");
    assert_int_equal(h->u.fn->overloads.len, 2);
    assert_false(py_is_overload(h));
    assert_true(py_is_overload(h->u.fn->overloads.data[1]));
    assert_true(evaluation_global(&e, "C")->u.cls->is_script);
    assert_int_equal(evaluation_global(&e, "I")->u.cls->kind, PYC_INTERFACE);
    const py_object *v = evaluation_global(&e, "V"), *u = evaluation_global(&e, "U");
    assert_string_equal(v->u.type.name, "Dict");
    assert_int_equal(v->u.type.nargs, 2);
    assert_string_equal(v->u.type.args[1]->u.type.name, "List");
    assert_string_equal(u->u.type.name, "Union");
    assert_true(py_is_none(u->u.type.args[1]));
    evaluation_free(&e);
}

/* ---- values ---------------------------------------------------------------------------------- */

static void test_values(void **state) {
    (void)state;
    evaluation e;
    evaluation_run(
        &e, "import torch\na = [1, 2]\nb = {'x': [torch.zeros(1)]}\nc = (1, 'x', None, 2.5)\nd = "
            "[]\nf = [1, 'x']\n"
            "g = torch.float16\nh = print\n");
    evaluation_succeeded(&e);
    static const struct {
        const char *name, *type;
    } inferred[] = {
        {"a", "int[]"},
        {"b", "Dict(str, Tensor[])"},
        {"c", "(int, str, NoneType, float)"},
        {"d", "Tensor[]"},
        {"g", "int"},
    };
    source_range nowhere = {0};
    for (size_t i = 0; i < sizeof inferred / sizeof *inferred; i++) {
        value v;
        strbuf text = STRBUF_INIT;
        assert_true(py_to_value(&e.p, nowhere, evaluation_global(&e, inferred[i].name), NULL, &v));
        type_print(type_of_value(v), &text);
        assert_string_equal(sb_str(&text), inferred[i].type);
        py_object *back = py_from_value(&e.p, v);
        if (strcmp(inferred[i].name, "g"))
            assert_true(py_equal(&e.p, back, evaluation_global(&e, inferred[i].name)) || i == 1);
        sb_free(&text);
    }
    value v;
    assert_true(py_to_value(&e.p, nowhere, evaluation_global(&e, "a"), type_list(TYPE_FLOAT), &v));
    assert_true(list_get(v.u.list, 1).u.f == 2.0);
    value_unref(v);
    static const struct {
        const char *name;
        bool typed;
    } bad[] = {{"f", false}, {"h", false}, {"c", true}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_false(py_to_value(&e.p, nowhere, evaluation_global(&e, bad[i].name),
                                 bad[i].typed ? type_list(TYPE_INT) : NULL, &v));
        assert_int_equal(e.d.status, CTSC_FAILED);
        diag_clear(&e.d);
    }
    evaluation_free(&e);
}

static void test_skip_init(void **state) {
    (void)state;
    evaluation e;
    evaluation_run_with(&e,
                        "import torch\nx = torch.zeros(3)\ny = x.uniform_(1, 2)\nz = "
                        "torch.ones(1).normal_().item()\n",
                        true);
    evaluation_succeeded(&e);
    assert_ptr_equal(evaluation_global(&e, "x"), evaluation_global(&e, "y"));
    assert_true(tensor_item_float(evaluation_global(&e, "x")->u.v.u.tensor) == 0);
    assert_true(evaluation_global(&e, "z")->u.v.u.f == 1);
    evaluation_free(&e);
}

/* ---- no memory ------------------------------------------------------------------------------- */

static void test_faults(void **state) {
    (void)state;
    static const char program[] =
        "import torch, math, copy\nfrom typing import List\nfrom collections import namedtuple\n"
        "x = torch.arange(6).view(2, 3)\nx[0, 1:] = torch.tensor([7, 8])\ny = (x[:, None] * 2 + "
        "1).float().sum(dim=1)\n"
        "P = namedtuple('P', 'a b')\nq = copy.deepcopy([P(x, {'k': [1.5]})])\nm = "
        "x.max(1).values\nt = "
        "List[int]\n"
        "z = torch.cat([y, y])[torch.tensor([True, False, True, False])].tolist()\n";
    evaluation e;
    for (int i = 0; i < 2; i++) { /* once for what lives as long as the process */
        count.requests = 0;
        evaluation_run(&e, program);
        evaluation_succeeded(&e);
        evaluation_free(&e);
    }
    long live = count.live, total = count.requests;
    for (long k = 1; k <= total; k++) {
        count.requests = 0;
        count.fail_at = k;
        evaluation_run(&e, program);
        count.fail_at = 0;
        evaluation_free(&e);
        if (count.live != live)
            fail_msg("allocation %ld of %ld: %ld blocks leaked", k, total, (long)count.live - live);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_programs), cmocka_unit_test(test_warnings),
        cmocka_unit_test(test_errors),   cmocka_unit_test(test_marks),
        cmocka_unit_test(test_values),   cmocka_unit_test(test_skip_init),
        cmocka_unit_test(test_faults),
    };
    mem_set_hook(counting_hook, &count);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* test_signature.c - signatures of methods through ctsc.h. */
#include "support.h"

#include "ctsc.h"

static const char signature_source[] =
    "from typing import Dict, List, NamedTuple, Optional, Tuple\n"
    "import torch\n"
    "from torch import Tensor, nn\n\n"
    "class Box(NamedTuple):\n    corner: Tensor\n    score: float\n\n"
    "class Main(nn.Module):\n"
    "    def forward(self, x: Tensor, n: Optional[int] = None, names: Optional[List[str]] = None, "
    "k: int = 3) -> Tuple[Tensor, Dict[str, int]]:\n"
    "        return x, {'k': k}\n\n"
    "    @torch.jit.export\n    def box(self, x: Tensor, scale: float) -> Box:\n        return "
    "Box(x, scale)\n\n"
    "    @torch.jit.export\n    def nothing(self) -> None:\n        pass\n";

static ctsc_module *signature_module(void) {
    ctsc_module *m = NULL;
    assert_int_equal(ctsc_module_compile_text("m.py", signature_source, strlen(signature_source),
                                              NULL, &m, NULL),
                     CTSC_OK);
    return m;
}

static void signature_forward(void **state) {
    static const struct {
        const char *name, *type;
        ctsc_kind kind;
        bool optional, has_default;
    } want[] = {
        {"x", "Tensor", CTSC_KIND_TENSOR, false, false},
        {"n", "Optional[int]", CTSC_KIND_INT, true, true},
        {"names", "Optional[List[str]]", CTSC_KIND_LIST, true, true},
        {"k", "int", CTSC_KIND_INT, false, true},
    };
    ctsc_module *m = signature_module();
    ctsc_signature *s = NULL;
    (void)state;
    assert_int_equal(ctsc_module_signature(m, "forward", &s, NULL), CTSC_OK);
    ctsc_module_free(m); /* the signature outlives it */
    assert_int_equal(ctsc_signature_argument_count(s), 4);
    for (size_t i = 0; i < 4; i++) {
        const ctsc_argument *a = ctsc_signature_argument(s, i);
        assert_string_equal(a->name, want[i].name);
        assert_string_equal(a->type, want[i].type);
        assert_int_equal(a->kind, want[i].kind);
        assert_int_equal(a->optional, want[i].optional);
        assert_int_equal(a->default_value != NULL, want[i].has_default);
    }
    assert_int_equal(ctsc_value_int(ctsc_signature_argument(s, 3)->default_value), 3);
    assert_int_equal(ctsc_value_kind(ctsc_signature_argument(s, 1)->default_value), CTSC_KIND_NONE);
    assert_null(ctsc_signature_argument(s, 4));
    assert_int_equal(ctsc_signature_result_count(s), 2);
    assert_string_equal(ctsc_signature_result(s, 1)->type, "Dict[str, int]");
    assert_int_equal(ctsc_signature_result(s, 1)->kind, CTSC_KIND_DICT);
    assert_string_equal(ctsc_signature_result(s, 0)->name, "");
    assert_null(ctsc_signature_result(s, 2));
    assert_null(ctsc_signature_result_class(s));
    ctsc_signature_free(s);
}

static void signature_named_tuple(void **state) {
    ctsc_module *m = signature_module();
    ctsc_signature *s = NULL;
    (void)state;
    assert_int_equal(ctsc_module_signature(m, "box", &s, NULL), CTSC_OK);
    assert_int_equal(ctsc_signature_result_count(s), 2);
    assert_string_equal(ctsc_signature_result(s, 0)->name, "corner");
    assert_string_equal(ctsc_signature_result(s, 1)->name, "score");
    assert_non_null(strstr(ctsc_signature_result_class(s), "Box"));
    ctsc_signature_free(s);
    assert_int_equal(ctsc_module_signature(m, "nothing", &s, NULL), CTSC_OK);
    assert_int_equal(ctsc_signature_argument_count(s), 0);
    assert_int_equal(ctsc_signature_result_count(s), 1);
    assert_int_equal(ctsc_signature_result(s, 0)->kind, CTSC_KIND_NONE);
    ctsc_signature_free(s);
    ctsc_module_free(m);
}

static void signature_check(const ctsc_argument *a, const char *name, const char *type, int ndim,
                            const int64_t *sizes) {
    assert_string_equal(a->label ? a->label : a->name, name);
    assert_string_equal(a->type, type);
    assert_int_equal(a->ndim, ndim);
    assert_int_equal(a->typed, ndim >= 0);
    for (int i = 0; i < ndim; i++) assert_int_equal(a->sizes[i], sizes[i]);
}

/* What a program of torch.export says of its arguments and of what is in its result; one of source
 * says nothing. */
static void signature_exported(void **state) {
    static const char *const names[] = {"sum",  "d_b_0", "k",    "x",    "y",
                                        "none", "n",     "left", "right"};
    ctsc_module *m = NULL;
    ctsc_signature *s = NULL;
    (void)state;
    assert_int_equal(ctsc_module_load("tests/pt2/archives/EvenDim/model.pt2", &m, NULL), CTSC_OK);
    assert_int_equal(ctsc_module_signature(m, "forward", &s, NULL), CTSC_OK);
    ctsc_module_free(m);
    signature_check(ctsc_signature_argument(s, 0), "x", "Tensor", 2, (int64_t[]){-1, 6});
    assert_int_equal(ctsc_signature_argument(s, 0)->dtype, CTSC_FLOAT32);
    assert_int_equal(ctsc_signature_output_count(s), 2);
    signature_check(ctsc_signature_output(s, 0), "mean", "Tensor", 2, (int64_t[]){-1, 6});
    signature_check(ctsc_signature_output(s, 1), "sym_size_int", "int", -1, NULL);
    assert_null(ctsc_signature_output(s, 2));
    assert_string_equal(ctsc_signature_result(s, 0)->name, "");
    ctsc_signature_free(s);

    assert_int_equal(ctsc_module_load("tests/pt2/archives/Trees/model.pt2", &m, NULL), CTSC_OK);
    assert_int_equal(ctsc_module_signature(m, "forward", &s, NULL), CTSC_OK);
    assert_int_equal(ctsc_signature_result_count(s), 1);
    assert_int_equal(ctsc_signature_output_count(s), sizeof names / sizeof *names);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_string_equal(ctsc_signature_output(s, i)->name, names[i]);
    assert_int_equal(ctsc_signature_output(s, 5)->kind, CTSC_KIND_NONE);
    signature_check(ctsc_signature_argument(s, 4), "extra", "Tensor", 1, (int64_t[]){2});
    assert_int_equal(ctsc_signature_argument(s, 0)->ndim, -1);
    ctsc_signature_free(s);
    ctsc_module_free(m);

    m = signature_module();
    assert_int_equal(ctsc_module_signature(m, "forward", &s, NULL), CTSC_OK);
    assert_int_equal(ctsc_signature_output_count(s), 0);
    assert_int_equal(ctsc_signature_argument(s, 0)->ndim, -1);
    assert_false(ctsc_signature_argument(s, 0)->typed);
    assert_null(ctsc_signature_argument(s, 0)->label);
    ctsc_signature_free(s);
    ctsc_module_free(m);
}

/* Each allocation fails in turn; nothing leaks. */
static void signature_faults(const ctsc_module *m) {
    ctsc_signature *s = NULL;
    counting c = {0};
    bool reached = true;
    mem_set_hook(counting_hook, &c);
    for (long at = 1; at < 200 && reached; at++) {
        c.fail_at = c.requests + at;
        ctsc_status st = ctsc_module_signature(m, "forward", &s, NULL);
        reached = c.requests >= c.fail_at;
        c.fail_at = 0;
        assert_int_equal(st, reached ? CTSC_LIMIT : CTSC_OK);
        if (st == CTSC_OK) ctsc_signature_free(s);
        assert_int_equal(c.live, 0);
    }
    assert_false(reached);
    mem_set_hook(NULL, NULL);
}

static void signature_errors(void **state) {
    ctsc_module *m = signature_module();
    ctsc_signature *s = NULL;
    ctsc_error *e = ctsc_error_new();
    (void)state;
    assert_int_equal(ctsc_module_signature(m, "no_such", &s, e), CTSC_USAGE);
    assert_non_null(strstr(ctsc_error_message(e), "no method 'no_such'"));
    assert_null(s);
    ctsc_signature_free(NULL);
    signature_faults(m);
    ctsc_module_free(m);
    assert_int_equal(ctsc_module_load("tests/pt2/archives/Trees/model.pt2", &m, e), CTSC_OK);
    signature_faults(m);
    ctsc_error_free(e);
    ctsc_module_free(m);
}

/* Dtypes that only operators tell: through views, of indices and masks, beside weights. */
static void signature_dtypes(void **state) {
    static const char source[] =
        "from typing import Tuple\n"
        "import torch\n"
        "from torch import Tensor, nn\n\n"
        "class Main(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.e, self.c = nn.Embedding(5, 4), nn.Conv2d(1, 2, 3).half()\n"
        "    def forward(self, ids: Tensor, image: Tensor, mask: Tensor, any: Tensor, n: int) -> "
        "Tuple[Tensor, Tensor, Tensor, int]:\n"
        "        x = self.e(ids.view(-1, 2)).masked_fill(mask.unsqueeze(0), 0.0)\n"
        "        return torch.relu(x), self.c(image.transpose(1, 2)), any + 1, n\n";
    static const int want[] = {CTSC_INT64, CTSC_FLOAT16, CTSC_BOOL, -1, -1},
                     made[] = {CTSC_FLOAT32, CTSC_FLOAT16, -1, -1};
    (void)state;
    ctsc_module *m = NULL;
    ctsc_signature *s = NULL;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_module_compile_text("m.py", source, strlen(source), NULL, &m, e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(e));
    ctsc_module_eval(m);
    assert_int_equal(ctsc_module_signature(m, "forward", &s, e), CTSC_OK);
    assert_false(ctsc_signature_argument(s, 0)->likely);
    assert_int_equal(ctsc_signature_find_dtypes(s, m, "forward", e), CTSC_OK);
    for (size_t i = 0; i < 5; i++) {
        const ctsc_argument *a = ctsc_signature_argument(s, i);
        assert_int_equal(a->likely ? (int)a->dtype : -1, want[i]);
        assert_false(a->typed);
    }
    for (size_t i = 0; i < 4; i++) {
        const ctsc_argument *a = ctsc_signature_result(s, i);
        assert_int_equal(a->likely ? (int)a->dtype : -1, made[i]);
    }
    assert_int_equal(ctsc_signature_find_dtypes(s, m, "backward", e), CTSC_USAGE);
    ctsc_signature_free(s);
    ctsc_module_free(m);
    ctsc_error_free(e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signature_forward),  cmocka_unit_test(signature_named_tuple),
        cmocka_unit_test(signature_exported), cmocka_unit_test(signature_dtypes),
        cmocka_unit_test(signature_errors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

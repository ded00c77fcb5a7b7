/* SPDX-License-Identifier: Apache-2.0 */
/* test_view.c - graphs as JSON: hostile names, every node and edge, times. */
#include "support.h"

#include "base/text/json.h"
#include "ctsc.h"
#include "ctsc_compiler.h"
#include "ir/graph/graph_json.h"

#include <jansson.h>
#include <string.h>

/* ---- strings --------------------------------------------------------------------------------- */

static void view_text_is(const char *text, size_t len, const char *want) {
    strbuf out = STRBUF_INIT;
    json_text(&out, text, len);
    assert_string_equal(sb_str(&out), want);
    sb_free(&out);
}

static void view_strings(void **state) {
    (void)state;
    view_text_is("", 0, "\"\"");
    view_text_is("a\"b\\c", 5, "\"a\\\"b\\\\c\"");
    view_text_is("\n\0\x1f\x7f", 4, "\"\\u000a\\u0000\\u001f\\u007f\"");
    view_text_is("</script>&", 10, "\"\\u003c/script\\u003e\\u0026\"");
    view_text_is("\xc3\xa9\xf0\x9f\x98\x80", 6, "\"\xc3\xa9\xf0\x9f\x98\x80\"");
    /* overlong, a surrogate, cut short, alone */
    view_text_is("\xc0\xaf", 2, "\"\\ufffd\\ufffd\"");
    view_text_is("\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\"");
    view_text_is("\xe2\x82", 2, "\"\\ufffd\\ufffd\"");
    strbuf out = STRBUF_INIT;
    json_clipped(&out, "abc\xc3\xa9", 4); /* not within a character */
    assert_string_equal(sb_str(&out), "\"abc...\"");
    sb_clear(&out);
    json_clipped(&out, "abc\xc3\xa9", 5);
    assert_string_equal(sb_str(&out), "\"abc\xc3\xa9\"");
    sb_free(&out);
}

/* ---- hostile graphs -------------------------------------------------------------------------- */

static json_t *view_parse(const char *text) {
    json_error_t e;
    json_t *j = json_loads(text, 0, &e);
    if (!j) fail_msg("%s at %d: %.200s", e.text, e.position, text);
    /* it is in a script element */
    assert_null(strpbrk(text, "<>&"));
    return j;
}

static size_t view_len(const json_t *j, const char *key) {
    json_t *list = json_object_get(j, key);
    assert_true(json_is_array(list));
    return json_array_size(list);
}

static void view_hostile_names(void **state) {
    (void)state;
    size_t n = 100000;
    char *huge = malloc(n + 1);
    memset(huge, 'x', n);
    huge[n] = '\0';
    const char *names[] = {"</script><script>alert(1)</script>", "a\"b'c\\", "\x01\x02\n\t\x7f",
                           "\xff\xfe\xc3", huge};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        graph *g = graph_new();
        ir_value *x = block_add_param(g->root, TYPE_TENSOR);
        value_set_name(x, names[i]);
        node *a = node_new(g, N_OP, 1, &x, 1);
        a->op_name = names[i];
        a->scope = names[i];
        a->call = graph_call_site(g, (source_range){0}, names[i], names[i], NULL);
        node_set_str(a, names[i], names[i]);
        graph_insert(g, a);
        value s = value_str_take(str_new(names[i], strlen(names[i])));
        ir_value *c = graph_constant_take(g, s, NULL);
        value_set_name(c, names[i]);
        block_add_return(g->root, a->outputs.data[0]);
        block_add_return(g->root, c);
        strbuf out = STRBUF_INIT;
        graph_json(g, NULL, &out);
        json_t *j = view_parse(sb_str(&out));
        assert_int_equal(view_len(j, "nodes"), 4); /* and the input, and the output */
        assert_int_equal(view_len(j, "values"), 3);
        assert_int_equal(view_len(j, "boxes"), 2);
        assert_true(out.len < 20000);
        json_decref(j);
        sb_free(&out);
        graph_free(g);
    }
    free(huge);
}

/* Blocks as deep as programs may have them. */
static void view_deep(void **state) {
    (void)state;
    enum { DEPTH = 1500 };
    graph *g = graph_new();
    ir_value *x = block_add_param(g->root, TYPE_BOOL);
    block *b = g->root;
    for (int i = 0; i < DEPTH; i++) {
        graph_set_insert(g, b, NULL);
        node *n = graph_insert(g, node_new(g, N_IF, 1, &x, 0));
        b = node_add_block(n);
        node_add_block(n);
    }
    strbuf out = STRBUF_INIT;
    graph_json(g, NULL, &out);
    json_t *j = view_parse(sb_str(&out));
    /* a prim::If is itself, the ends of two blocks, and what has its results */
    assert_int_equal(view_len(j, "nodes"), 2 + 6 * DEPTH);
    assert_int_equal(view_len(j, "boxes"), 1 + 3 * DEPTH);
    json_decref(j);
    sb_free(&out);
    graph_free(g);
}

/* ---- modules --------------------------------------------------------------------------------- */

static const char view_net[] = "import torch\n"
                               "from torch import nn, Tensor\n"
                               "class Block(nn.Module):\n"
                               "    def __init__(self):\n"
                               "        super().__init__()\n"
                               "        self.fc = nn.Linear(4, 4)\n"
                               "    def forward(self, x: Tensor) -> Tensor:\n"
                               "        return torch.tanh(self.fc(x)) * 2.0 + x\n"
                               "class Net(nn.Module):\n"
                               "    def __init__(self):\n"
                               "        super().__init__()\n"
                               "        self.layers = nn.Sequential(Block(), Block())\n"
                               "    def forward(self, x: Tensor, n: int = 2) -> Tensor:\n"
                               "        for i in range(n):\n"
                               "            x = self.layers(x)\n"
                               "        return x\n";

static json_t *view_of(const ctsc_module *m, ctsc_value *x, bool as_run, int calls) {
    char *text = NULL;
    ctsc_error *e = ctsc_error_new();
    ctsc_graph_json_options o = {.size = sizeof o, .as_run = as_run, .calls = calls, .warmup = 1};
    if (ctsc_module_graph_json(m, "forward", x ? 1 : 0, &x, &o, &text, e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(e));
    json_t *j = view_parse(text);
    ctsc_string_free(text);
    ctsc_error_free(e);
    return j;
}

/* How many nodes of a kind there are; *us: the sum of their times, box: that of the last. */
static int view_count(const json_t *j, const char *kind, double *us, int *box) {
    int n = 0;
    size_t i;
    json_t *node;
    json_array_foreach(json_object_get(j, "nodes"), i, node) {
        if (strcmp(json_string_value(json_object_get(node, "kind")), kind)) continue;
        n++;
        if (us) *us += json_number_value(json_object_get(node, "us"));
        if (box) *box = (int)json_integer_value(json_object_get(node, "box"));
    }
    return n;
}

static const char *view_box(const json_t *j, int i, const char *key) {
    return json_string_value(json_object_get(json_array_get(json_object_get(j, "boxes"), i), key));
}

static void view_modules(void **state) {
    (void)state;
    ctsc_module *m = NULL;
    ctsc_value *x = NULL;
    assert_int_equal(ctsc_module_compile_text("net.py", view_net, strlen(view_net), NULL, &m, NULL),
                     CTSC_OK);
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, 2, (int64_t[]){3, 4}, &x, NULL), CTSC_OK);
    memset(ctsc_tensor_data(x), 0, 12 * sizeof(float));
    json_t *j = view_of(m, NULL, false, 0);
    int box = 0;
    double us = 0;
    assert_int_equal(view_count(j, "aten::linear", &us, &box), 2);
    assert_true(us == 0);
    assert_string_equal(view_box(j, box, "name"), "fc");
    box = (int)json_integer_value(
        json_object_get(json_array_get(json_object_get(j, "boxes"), box), "parent"));
    assert_string_equal(view_box(j, box, "name"), "1");
    assert_non_null(strstr(view_box(j, box, "class"), "Block"));
    json_decref(j);

    j = view_of(m, x, false, 3);
    assert_int_equal(view_count(j, "aten::linear", &us, NULL), 2);
    assert_true(us > 0);
    assert_true(json_number_value(json_object_get(j, "us")) >= us);
    char *text = json_dumps(j, 0);
    assert_non_null(strstr(text, "float32[3,4]"));
    assert_non_null(strstr(text, "layers.1.fc.weight"));
    free(text);
    json_decref(j);

    j = view_of(m, x, true, 3); /* tanh, mul and add are one kernel in each block */
    us = 0;
    size_t i, timed = 0;
    json_t *group;
    json_array_foreach(json_object_get(j, "groups"), i, group)
        timed += json_number_value(json_object_get(group, "us")) > 0;
    assert_true(view_len(j, "groups") >= 2 && timed == view_len(j, "groups"));
    assert_int_equal(view_count(j, "aten::tanh", NULL, NULL), 2);
    json_decref(j);
    ctsc_value_free(x);
    ctsc_module_free(m);
}

static void view_refused(void **state) {
    (void)state;
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    char *text = NULL;
    assert_int_equal(ctsc_module_compile_text("net.py", view_net, strlen(view_net), NULL, &m, NULL),
                     CTSC_OK);
    assert_int_equal(ctsc_module_graph_json(m, "nope", 0, NULL, NULL, &text, e), CTSC_USAGE);
    ctsc_value *args[] = {NULL}, *three = ctsc_int_new(3);
    assert_int_equal(ctsc_module_graph_json(m, "forward", 1, args, NULL, &text, e), CTSC_USAGE);
    args[0] = three;
    assert_int_not_equal(ctsc_module_graph_json(m, "forward", 1, args, NULL, &text, e), CTSC_OK);
    ctsc_graph_json_options o = {.size = sizeof o, .calls = -1};
    assert_int_equal(ctsc_module_graph_json(m, "forward", 0, NULL, &o, &text, e), CTSC_USAGE);
    assert_null(text);
    ctsc_value *sample = three;
    assert_int_not_equal(ctsc_archive_sample_inputs("/nonexistent", &sample, e), CTSC_OK);
    assert_ptr_equal(sample, three);
    ctsc_value_free(three);
    ctsc_error_free(e);
    ctsc_module_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(view_strings), cmocka_unit_test(view_hostile_names),
        cmocka_unit_test(view_deep),    cmocka_unit_test(view_modules),
        cmocka_unit_test(view_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

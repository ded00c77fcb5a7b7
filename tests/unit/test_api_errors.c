/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_api_errors.c - failures of functions of ctsc.h and ctsc_compiler.h that
 * no other test covers: each with its status, the words that matter to a reader,
 * and an untouched out-parameter. NULL arguments are in test_library.c, damaged
 * archives in test_damage.c, failing allocations in test_compile_faults.c.
 *
 * Found by line coverage: of src/runtime/api/api_*.c and compile.c no line that reports something
 * else than missing memory is left out by the unit tests together.
 */
#include "support.h"

#include "base/text/strbuf.h"
#include "ctsc.h"
#include "ctsc_compiler.h"

#include <sys/stat.h>
#include <unistd.h>

static ctsc_error *e; /* of the last call */

/* call fails with `status`, saying `words`. */
#define FAILS(status, words, call) fails_as(status, words, #call, call)
static void fails_as(ctsc_status want, const char *words, const char *call, ctsc_status got) {
    if (got != want || ctsc_error_status(e) != want)
        fail_msg("%s: status %d, %s", call, got, ctsc_error_message(e));
    if (!strstr(ctsc_error_message(e), words))
        fail_msg("%s: '%s' is not in: %s", call, words, ctsc_error_message(e));
}

static ctsc_module *compiled(const char *text) {
    ctsc_module *m = NULL;
    if (ctsc_module_compile_text("t.py", text, strlen(text), NULL, &m, e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(e));
    return m;
}

static ctsc_value *zeros(ctsc_dtype dt, int ndim, const int64_t *sizes) {
    ctsc_value *t = NULL;
    assert_int_equal(ctsc_tensor_new(dt, ndim, sizes, &t, e), CTSC_OK);
    return t;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void errors_readers(void **state) {
    (void)state;
    ctsc_value *i = ctsc_int_new(7), *b = ctsc_bool_new(true), *key = ctsc_string_new("k", 1),
               *d = ctsc_dict_new(1, &key, &i);
    ctsc_value *l = ctsc_list_new(1, &i), *none = ctsc_none_new();
    assert_true(ctsc_value_bool(b));
    assert_false(ctsc_value_bool(i));
    assert_false(ctsc_value_bool(NULL));
    assert_int_equal(ctsc_value_len(d), 1);
    assert_int_equal(ctsc_value_len(i), 0);
    assert_null(ctsc_value_item(d, 1));
    assert_null(ctsc_value_item(i, 0));
    assert_null(ctsc_value_key(d, 1));
    assert_null(ctsc_value_key(l, 0));
    assert_null(ctsc_value_get(d, "other"));
    assert_null(ctsc_value_get(l, "k"));
    assert_null(ctsc_tensor_data(i));
    assert_null(ctsc_tensor_sizes(none));
    assert_false(ctsc_tensor_is_contiguous(i));
    assert_null(ctsc_dict_new(1, &none, &i)); /* no key */
    ctsc_value *k = ctsc_value_key(d, 0), *v = ctsc_value_item(d, 0);
    assert_string_equal(ctsc_value_string(k, NULL), "k");
    assert_int_equal(ctsc_value_int(v), 7);
    ctsc_value *all[] = {i, b, key, d, l, none, k, v};
    for (size_t n = 0; n < sizeof all / sizeof *all; n++) ctsc_value_free(all[n]);
    assert_string_equal(ctsc_status_text(CTSC_LIMIT),
                        "a resource limit was reached, memory included");
    assert_string_equal(ctsc_status_text((ctsc_status)42), "unknown status");
}

static void errors_objects(void **state) {
    (void)state;
    ctsc_module *m = compiled("import torch\n@torch.jit.script\nclass P:\n    def __init__(self, "
                              "x: int):\n        self.x = x\n"
                              "def forward(n: int):\n    return P(n)\n");
    ctsc_value *n = ctsc_int_new(3), *p = NULL;
    assert_int_equal(ctsc_module_run(m, "forward", 1, &n, NULL, &p, e), CTSC_OK);
    ctsc_value *x = ctsc_value_get(p, "x");
    assert_int_equal(ctsc_value_int(x), 3);
    assert_null(ctsc_value_get(p, "y"));
    assert_int_equal(ctsc_value_len(p), 1);
    ctsc_value_free(x), ctsc_value_free(p), ctsc_value_free(n), ctsc_module_free(m);
}

static void errors_tensors(void **state) {
    (void)state;
    int64_t bad[] = {2, -1}, huge[] = {INT64_MAX / 2, 8}, two[] = {2};
    float data[2] = {0};
    ctsc_value *t = NULL, *i = ctsc_int_new(1);
    FAILS(CTSC_FAILED, "negative dimension -1", ctsc_tensor_new(CTSC_FLOAT32, 2, bad, &t, e));
    FAILS(CTSC_USAGE, "", ctsc_tensor_new((ctsc_dtype)99, 1, two, &t, e));
    FAILS(CTSC_USAGE, "", ctsc_tensor_new(CTSC_FLOAT32, 65, huge, &t, e));
    assert_int_not_equal(ctsc_tensor_new(CTSC_FLOAT32, 2, huge, &t, e), CTSC_OK);
    FAILS(CTSC_USAGE, "",
          ctsc_tensor_borrow(CTSC_FLOAT32, 1, two, (char *)data + 1, NULL, NULL, &t, e));
    FAILS(CTSC_USAGE, "", ctsc_tensor_contiguous(i, &t, e));
    assert_null(t);
    ctsc_value_free(i);
}

static void errors_dlpack(void **state) {
    (void)state;
    ctsc_value *x = zeros(CTSC_FLOAT32, 1, (int64_t[]){4}), *q = NULL;
    /* 12: qint8 */
    ctsc_value *args[] = {x, ctsc_float_new(0.1), ctsc_int_new(0), ctsc_int_new(12)};
    struct DLManagedTensorVersioned *out = NULL;
    assert_int_equal(ctsc_call("aten::quantize_per_tensor", 4, args, &q, e), CTSC_OK);
    FAILS(CTSC_UNSUPPORTED, "DLPack has no type for", ctsc_tensor_to_dlpack(q, &out, e));
    FAILS(CTSC_USAGE, "", ctsc_tensor_to_dlpack(args[1], &out, e));
    assert_null(out);
    for (int i = 0; i < 4; i++) ctsc_value_free(args[i]);
    ctsc_value_free(q);
}

static void to_old_dlpack(void *ctx, const ctsc_attribute_info *a) {
    struct DLManagedTensor *out = NULL;
    (void)ctx;
    if (!a->is_parameter) return;
    FAILS(CTSC_UNSUPPORTED, "a file's and read-only",
          ctsc_tensor_to_dlpack_unversioned(a->value, &out, e));
    assert_null(out);
}

/* Weights of an archive are the file's memory. */
static void errors_dlpack_mapped(void **state) {
    (void)state;
    ctsc_module *m = NULL;
    assert_int_equal(ctsc_module_load("models/digits_cnn.pt", &m, e), CTSC_OK);
    ctsc_module_attributes(m, to_old_dlpack, NULL);
    ctsc_module_free(m);
}

/* ---- files ----------------------------------------------------------------------------------- */

static void write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void errors_files(void **state) {
    (void)state;
    char folder[] = "/tmp/ctsc-errors-XXXXXX", text[80], numpy[80], nowhere[80];
    assert_non_null(mkdtemp(folder));
    snprintf(text, sizeof text, "%s/text.pt", folder);
    snprintf(numpy, sizeof numpy, "%s/bad.npy", folder);
    snprintf(nowhere, sizeof nowhere, "%s/none/x.pt", folder);
    write_file(text, "hello");
    write_file(numpy, "\x93NUMPY\x01");
    ctsc_module *m = NULL, *good = compiled("def forward(x: int):\n    return x\n");
    ctsc_value *v = NULL, *one = ctsc_int_new(1);
    FAILS(CTSC_BAD_FILE, "", ctsc_module_load(text, &m, e));
    FAILS(CTSC_BAD_FILE, "", ctsc_module_load(folder, &m, e));
    FAILS(CTSC_BAD_FILE, "", ctsc_module_load(nowhere, &m, e));
    FAILS(CTSC_BAD_FILE, "", ctsc_module_load_fd(-1, &m, e));
    FAILS(CTSC_BAD_FILE, "", ctsc_module_load_memory("PK", 2, &m, e));
    FAILS(CTSC_BAD_FILE, "", ctsc_value_load(text, &v, e));
    FAILS(CTSC_BAD_FILE, "", ctsc_value_load(numpy, &v, e));
    FAILS(CTSC_BAD_FILE, "", ctsc_value_load(nowhere, &v, e));
    FAILS(CTSC_ENVIRONMENT, "none/x.pt", ctsc_value_save(one, nowhere, e));
    FAILS(CTSC_ENVIRONMENT, "none/x.pt", ctsc_module_save(good, nowhere, e));
    assert_null(m);
    assert_null(v);
    ctsc_value_free(one), ctsc_module_free(good);
    unlink(text), unlink(numpy), rmdir(folder);
}

static void errors_compile(void **state) {
    (void)state;
    static const char net[] =
        "import torch\nimport torch.nn as nn\nclass Main(nn.Module):\n    def __init__(self):\n    "
        "    super().__init__()\n"
        "        self.fc = nn.Linear(2, 2)\n    def forward(self, x):\n        return self.fc(x)\n";
    char folder[] = "/tmp/ctsc-errors-XXXXXX", path[80], importer[80], large[80], number[80];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/net.py", folder);
    snprintf(importer, sizeof importer, "%s/importer.py", folder);
    snprintf(large, sizeof large, "%s/large.py", folder);
    snprintf(number, sizeof number, "%s/number.pt", folder);
    write_file(path, net);
    write_file(importer, "import missing\nmissing.setup()\ndef forward(x: int):\n    return x\n");
    write_file(large, "");
    assert_int_equal(truncate(large, (off_t)65 << 20), 0);
    ctsc_module *m = NULL;
    ctsc_value *one = ctsc_int_new(1);
    assert_int_equal(ctsc_value_save(one, number, e), CTSC_OK);
    ctsc_value_free(one);
    FAILS(CTSC_BAD_FILE, "none.py", ctsc_module_compile("/nowhere/none.py", NULL, &m, e));
    FAILS(CTSC_BAD_FILE, "it is a folder", ctsc_module_compile(folder, NULL, &m, e));
    FAILS(CTSC_LIMIT, "larger than 64 MiB", ctsc_module_compile(large, NULL, &m, e));
    FAILS(CTSC_FAILED, "missing", ctsc_module_compile(importer, NULL, &m, e));
    FAILS(CTSC_USAGE, "nothing",
          ctsc_module_compile(
              path,
              &(ctsc_compile_options){.size = sizeof(ctsc_compile_options), .entry = "nothing"}, &m,
              e));
    FAILS(CTSC_BAD_FILE, "none.pt",
          ctsc_module_compile(path,
                              &(ctsc_compile_options){.size = sizeof(ctsc_compile_options),
                                                      .weights = "/nowhere/none.pt"},
                              &m, e));
    FAILS(CTSC_BAD_FILE, "",
          ctsc_module_compile(
              path, &(ctsc_compile_options){.size = sizeof(ctsc_compile_options), .weights = path},
              &m, e));
    FAILS(CTSC_BAD_FILE, "does not hold a state_dict",
          ctsc_module_compile(
              path,
              &(ctsc_compile_options){.size = sizeof(ctsc_compile_options), .weights = number}, &m,
              e));
    FAILS(CTSC_LIMIT, "",
          ctsc_module_compile(
              path, &(ctsc_compile_options){.size = sizeof(ctsc_compile_options), .max_steps = 10},
              &m, e));
    assert_null(m);
    unlink(path), unlink(importer), unlink(large), unlink(number), rmdir(folder);
}

/* ---- modules --------------------------------------------------------------------------------- */

static void count_operator(void *ctx, const ctsc_operator_info *o) {
    size_t *supported = ctx;
    *supported += o->supported && o->key[0] && o->schema[0];
}

static void errors_modules(void **state) {
    (void)state;
    ctsc_module *m = compiled("def forward(x: int, scale: float = 2.5):\n    return x * scale\n");
    ctsc_value *out = NULL, *text = ctsc_string_new("x", 1);
    ctsc_signature *signature = NULL;
    char *printed = NULL;
    ctsc_work work = {0};
    size_t supported = 0;
    FAILS(CTSC_USAGE, "level", ctsc_module_set_opt(m, 4, e));
    FAILS(CTSC_USAGE, "no method 'other'", ctsc_module_run(m, "other", 0, NULL, NULL, &out, e));
    FAILS(CTSC_USAGE, "no method 'other'", ctsc_module_graph(m, "other", 0, &printed, e));
    FAILS(CTSC_USAGE, "no method 'other'",
          ctsc_module_graph_for(m, "other", 0, NULL, 0, &printed, e));
    FAILS(CTSC_USAGE, "no method 'other'", ctsc_module_code(m, "other", &printed, e));
    FAILS(CTSC_USAGE, "no method 'other'", ctsc_module_signature(m, "other", &signature, e));
    FAILS(CTSC_USAGE, "no method 'other'", ctsc_module_count_work(m, "other", 0, NULL, &work, e));
    FAILS(CTSC_USAGE, "", ctsc_module_graph_for(m, "forward", 1, &text, 0, &printed, e));
    FAILS(CTSC_USAGE, "", ctsc_module_run(m, "forward", 1, &text, NULL, &out, e));
    assert_null(ctsc_module_method_schema(m, "other"));
    assert_null(ctsc_module_method_name(m, 1));
    assert_true(!out && !printed && !signature);
    printed = ctsc_module_method_schema(m, "forward");
    assert_string_equal(printed, "forward(int x, float scale=2.5) -> float");
    assert_non_null(strstr(ctsc_module_class(m), "__torch__"));
    assert_true(ctsc_module_version(m) > 0);
    ctsc_operators(count_operator, &supported);
    assert_true(supported > 1000);
    ctsc_string_free(printed), ctsc_value_free(text), ctsc_module_free(m);
}

static void errors_passes(void **state) {
    (void)state;
    static const char graph[] = "graph(%x : int):\n  %y : int = aten::neg(%x)\n  return (%y)\n",
                      broken[] = "graph(%x : int):\n  return (%z)\n";
    ctsc_module *m = compiled("def forward(x: int):\n    return -x\n");
    ctsc_value *x = ctsc_int_new(1), *y = NULL;
    char *out = NULL;
    ctsc_opt_options bad = {.passes = "dce,nonsense"},
                     after = {.passes = "dce", .print_after = "nonsense"},
                     plain = {.passes = "dce"};
    FAILS(CTSC_USAGE, "nonsense", ctsc_opt_text("g.ir", graph, strlen(graph), &bad, &out, e));
    FAILS(CTSC_USAGE, "no pass 'nonsense'",
          ctsc_opt_text("g.ir", graph, strlen(graph), &after, &out, e));
    FAILS(CTSC_BAD_FILE, "g.ir:2:", ctsc_opt_text("g.ir", broken, strlen(broken), &plain, &out, e));
    FAILS(CTSC_USAGE, "no method 'other'", ctsc_opt_module(m, "other", &plain, &out, e));
    FAILS(CTSC_USAGE, "no method 'other'", ctsc_module_apply_passes(m, "other", "dce", e));
    FAILS(CTSC_USAGE, "nonsense", ctsc_module_apply_passes(m, "forward", "nonsense", e));
    assert_null(out);
    assert_int_equal(ctsc_opt_text("g.ir", graph, strlen(graph), &plain, &out, e), CTSC_OK);
    assert_non_null(strstr(out, "aten::neg"));
    ctsc_string_free(out);
    assert_int_equal(ctsc_module_run(m, "forward", 1, &x, NULL, &y, e), CTSC_OK);
    FAILS(CTSC_USAGE, "has run already", ctsc_module_apply_passes(m, "forward", "dce", e));
    FAILS(CTSC_USAGE, "z80", ctsc_set_cpu("z80", e));
    FAILS(CTSC_USAGE, "sm_1x", ctsc_set_cuda_arch("sm_1x", e));
    ctsc_value_free(x), ctsc_value_free(y), ctsc_module_free(m);
}

/* ---- devices --------------------------------------------------------------------------------- */

/* Where the test sets no simulated driver, and a GPU may even be there: only what does
 * not depend on it. */
static void errors_devices(void **state) {
    (void)state;
    ctsc_module *m = compiled("def forward(x: int):\n    return x\n");
    ctsc_value *t = zeros(CTSC_FLOAT32, 1, (int64_t[]){2}), *i = ctsc_int_new(1), *out = NULL;
    FAILS(CTSC_USAGE, "'tpu' is not a device", ctsc_value_to(t, "tpu", &out, e));
    FAILS(CTSC_USAGE, "'cuda:' is not a device", ctsc_value_to(t, "cuda:", &out, e));
    FAILS(CTSC_USAGE, "'cuda:-1' is not a device", ctsc_module_to(m, "cuda:-1", e));
    FAILS(CTSC_USAGE, "'cuda:x' is not a device", ctsc_device_wait("cuda:x", e));
    FAILS(CTSC_USAGE, "is not a device", ctsc_module_to(m, "cuda:99999999999", e));
    assert_null(out);
    if (ctsc_cuda_device_count(e) == 0) {
        assert_true(*ctsc_error_message(e));
        FAILS(CTSC_ENVIRONMENT, "", ctsc_value_to(t, "cuda", &out, e));
        FAILS(CTSC_ENVIRONMENT, "", ctsc_device_wait("cuda:3", e));
        FAILS(CTSC_ENVIRONMENT, "", ctsc_module_to(m, "cuda", e)); /* though it has no tensors */
        assert_null(out);
    }
    assert_int_equal(ctsc_tensor_device(t), -1);
    assert_int_equal(ctsc_tensor_device(i), -1);
    assert_int_equal(ctsc_device_wait("cpu", e), CTSC_OK);
    assert_int_equal(ctsc_module_to(m, "cpu", e), CTSC_OK);
    assert_int_equal(ctsc_value_to(t, "cpu", &out, e), CTSC_OK);
    assert_ptr_equal(ctsc_tensor_data(out), ctsc_tensor_data(t));
    assert_true(ctsc_operator_runs_on("aten::add.Tensor", "cuda"));
    assert_true(ctsc_operator_runs_on("aten::add.Tensor", "cpu"));
    assert_false(ctsc_operator_runs_on("aten::nothing", "cuda"));
    assert_false(ctsc_operator_runs_on("aten::add.Tensor", "tpu"));
    ctsc_value_free(t), ctsc_value_free(i), ctsc_value_free(out), ctsc_module_free(m);
}

/* A program of an older header asks for less. */
static void errors_environment(void **state) {
    (void)state;
    ctsc_environment all = {.size = sizeof all}, little;
    memset(&little, 0x5a, sizeof little);
    little.size = offsetof(ctsc_environment, threads) + sizeof little.threads;
    ctsc_get_environment(&all);
    ctsc_get_environment(&little);
    assert_true(all.threads > 0);
    assert_int_equal(little.threads, all.threads);
    assert_int_equal(((unsigned char *)&little)[sizeof little - 1], 0x5a);
}

/* ---- calls ----------------------------------------------------------------------------------- */

static void errors_calls(void **state) {
    (void)state;
    ctsc_scope *s = ctsc_scope_new();
    ctsc_value *t = zeros(CTSC_FLOAT32, 1, (int64_t[]){2}), *i = ctsc_int_new(1), *out = NULL;
    FAILS(CTSC_FAILED, "aten::nothing", ctsc_call("aten::nothing", 1, &t, &out, e));
    FAILS(CTSC_FAILED, "", ctsc_call("aten::add.Nothing", 1, &t, &out, e));
    FAILS(CTSC_FAILED, "", ctsc_call("aten::matmul", 1, &i, &out, e));
    assert_null(out);
    assert_null(ctsc_op(s, "aten::cat", 65));
    assert_int_equal(ctsc_scope_status(s), CTSC_USAGE);
    assert_non_null(strstr(ctsc_error_message(ctsc_scope_error(s)), "up to 64 arguments"));
    assert_null(ctsc_relu(s, t)); /* nothing happens after an error */
    ctsc_scope_reset(s);
    assert_int_equal(ctsc_scope_status(s), CTSC_OK);
    assert_non_null(ctsc_relu(s, t));
    assert_null(ctsc_item(s, ctsc_ints(s, 1, (int64_t[]){4}), 3));
    assert_int_not_equal(ctsc_scope_status(s), CTSC_OK);
    ctsc_scope_reset(s);
    assert_string_equal(ctsc_value_string(ctsc_string(s, "text"), NULL), "text");
    ctsc_value *numbers[] = {ctsc_int(s, 2), ctsc_int(s, 3)};
    /* a list of values becomes one of ints */
    ctsc_value *made = ctsc_op(s, "aten::zeros", 1, ctsc_list(s, 2, numbers));
    assert_non_null(made);
    assert_int_equal(ctsc_tensor_sizes(made)[1], 3);
    ctsc_value_free(t), ctsc_value_free(i), ctsc_scope_free(s);
}

static ctsc_status no_result(void *ctx, size_t nargs, ctsc_value *const *args, ctsc_value **results,
                             ctsc_error *err) {
    (void)ctx, (void)nargs, (void)args, (void)results, (void)err;
    return CTSC_OK;
}

static ctsc_status impossible_shape(void *ctx, size_t nargs, ctsc_value *const *args, size_t i,
                                    ctsc_tensor_shape *out, ctsc_error *err) {
    (void)ctx, (void)nargs, (void)args, (void)i, (void)err;
    *out = (ctsc_tensor_shape){.dtype = CTSC_FLOAT32, .ndim = 65};
    return CTSC_OK;
}

static void errors_operators(void **state) {
    (void)state;
    ctsc_op_options shaped = {.size = sizeof shaped, .shape = impossible_shape};
    ctsc_value *t = zeros(CTSC_FLOAT32, 1, (int64_t[]){2}), *hundred[100], *out = NULL;
    strbuf many = STRBUF_INIT;
    for (int i = 0; i < 100; i++) hundred[i] = t;
    sb_puts(&many, "errors::many(");
    for (int i = 0; i < 100; i++) sb_printf(&many, "%sTensor t%d", i ? ", " : "", i);
    sb_puts(&many, ") -> Tensor");
    assert_int_equal(
        ctsc_register_op("errors::shaped(Tensor x) -> Tensor", no_result, NULL, &shaped, e),
        CTSC_OK);
    FAILS(CTSC_USAGE, "a tensor that is not possible", ctsc_call("errors::shaped", 1, &t, &out, e));
    assert_int_equal(ctsc_register_op(sb_str(&many), no_result, NULL, NULL, e), CTSC_OK);
    FAILS(CTSC_UNSUPPORTED, "more than 64 arguments",
          ctsc_call("errors::many", 100, hundred, &out, e));
    FAILS(CTSC_FAILED, "", ctsc_register_op("errors::broken(", no_result, NULL, NULL, e));
    FAILS(CTSC_ENVIRONMENT, "nowhere", ctsc_load_library("/nowhere/libnone.so", e));
    assert_null(out);
    sb_free(&many);
    ctsc_value_free(t);
}

/* ---- traces ---------------------------------------------------------------------------------- */

/* Gives a list whose last item depends on how often it was called. */
static ctsc_value *unsteady(void *ctx, ctsc_scope *s, size_t n, ctsc_value *const *inputs) {
    int *calls = ctx;
    (void)n;
    ctsc_value *xs[] = {ctsc_relu(s, inputs[0]), ctsc_add(s, inputs[0], ctsc_int(s, (*calls)++))};
    return ctsc_list(s, 2, xs);
}

/* Calls less and less. */
static ctsc_value *tires(void *ctx, ctsc_scope *s, size_t n, ctsc_value *const *inputs) {
    int *calls = ctx;
    (void)n;
    ctsc_value *y = ctsc_relu(s, inputs[0]);
    return (*calls)++ ? y : ctsc_relu(s, y);
}

static ctsc_value *takes_list(void *ctx, ctsc_scope *s, size_t n, ctsc_value *const *inputs) {
    (void)ctx, (void)n;
    return ctsc_add(s, ctsc_item(s, inputs[0], 0), ctsc_item(s, inputs[0], 1));
}

static const char hooks[] =
    "import torch\nfrom typing import Tuple\nimport torch.nn as nn\ndef hook(self, x: "
    "Tuple[torch.Tensor], y: torch.Tensor):\n    return y + 1\n"
    "class Main(nn.Module):\n    def __init__(self):\n        super().__init__()\n        "
    "self.register_forward_hook(hook)\n"
    "    def forward(self, x: torch.Tensor) -> torch.Tensor:\n        return x\n";

static void errors_traces(void **state) {
    (void)state;
    ctsc_module *m = NULL;
    ctsc_value *t = zeros(CTSC_FLOAT32, 1, (int64_t[]){2}), *two[] = {t, t},
               *list = ctsc_list_new(2, two);
    int calls = 0;
    FAILS(CTSC_FAILED, "", ctsc_trace(unsteady, &calls, 1, &t, NULL, &m, e));
    calls = 0;
    FAILS(CTSC_FAILED, "that the function did not make again",
          ctsc_trace(tires, &calls, 1, &t, NULL, &m, e));
    assert_null(m);
    if (ctsc_trace(takes_list, NULL, 1, &list, NULL, &m, e) != CTSC_OK)
        fail_msg("%s", ctsc_error_message(e));
    ctsc_scope *s = ctsc_scope_new();
    assert_int_equal(ctsc_trace_end(s, t, &m, e), CTSC_USAGE); /* none has begun */
    assert_int_equal(ctsc_trace_begin(s, NULL), CTSC_OK);
    assert_int_equal(ctsc_trace_begin(s, NULL), CTSC_USAGE);
    ctsc_scope_reset(s);
    ctsc_module *hooked = compiled(hooks);
    assert_int_equal(ctsc_trace_begin(s, NULL), CTSC_OK);
    assert_null(ctsc_run(s, hooked, "forward", 1, &t));
    assert_int_equal(ctsc_scope_status(s), CTSC_UNSUPPORTED);
    assert_non_null(strstr(ctsc_error_message(ctsc_scope_error(s)), "forward hooks"));
    ctsc_module_free(hooked), ctsc_scope_free(s);
    ctsc_module_free(m), ctsc_value_free(list), ctsc_value_free(t);
}

static int errors_setup(void **state) {
    (void)state;
    e = ctsc_error_new();
    return e ? 0 : 1;
}
static int errors_teardown(void **state) {
    (void)state;
    ctsc_error_free(e);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_readers),       cmocka_unit_test(errors_objects),
        cmocka_unit_test(errors_tensors),       cmocka_unit_test(errors_dlpack),
        cmocka_unit_test(errors_dlpack_mapped), cmocka_unit_test(errors_files),
        cmocka_unit_test(errors_compile),       cmocka_unit_test(errors_modules),
        cmocka_unit_test(errors_passes),        cmocka_unit_test(errors_devices),
        cmocka_unit_test(errors_environment),   cmocka_unit_test(errors_calls),
        cmocka_unit_test(errors_operators),     cmocka_unit_test(errors_traces),
    };
    return cmocka_run_group_tests(tests, errors_setup, errors_teardown);
}

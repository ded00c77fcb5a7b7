/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_export.c - writing archives: what is read back is what was written; the container's layout;
 * files that appear whole or not at all; running out of memory on the way.
 */
#include "support.h"

#include "ctsc.h"
#include "runtime/archive/archive_internal.h"
#include "runtime/save/export.h"

#include <glob.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static counting count;
/* in memory: waiting for a disk would take most of the time */
static char folder[40] = "/dev/shm/ctsc-export-XXXXXX";
static char target[64];

static int export_setup(void **state) {
    (void)state;
    if (!mkdtemp(folder) && !mkdtemp(strcpy(folder, "/tmp/ctsc-export-XXXXXX"))) return -1;
    snprintf(target, sizeof target, "%s/net.pt", folder);
    return 0;
}

static int export_teardown(void **state) {
    (void)state;
    unlink(target);
    return rmdir(folder); /* fails if a temporary file remains */
}

static ctsc_module *export_load(const char *path) {
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_module_load(path, &m, e) != CTSC_OK)
        fail_msg("%s: %s", path, ctsc_error_render(e, false));
    ctsc_error_free(e);
    return m;
}

static ctsc_status export_save(const ctsc_module *m, const char *path, char *message, size_t len) {
    ctsc_error *e = ctsc_error_new();
    ctsc_status s = ctsc_module_save(m, path, e);
    if (message) snprintf(message, len, "%s", ctsc_error_message(e));
    ctsc_error_free(e);
    return s;
}

/* ---- round trips ----------------------------------------------------------------------------- */

/* Names of values by the order in which they appear: %x.3 and %17 become %0, %1. */
static char *export_normal_graph(const ctsc_module *m, const char *method) {
    char *text = NULL;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_module_graph(m, method, CTSC_GRAPH_INLINED, &text, e) != CTSC_OK) {
        ctsc_error_free(e);
        return NULL;
    }
    ctsc_error_free(e);
    strbuf out = STRBUF_INIT;
    strmap seen = {0};
    for (const char *p = text; *p;) {
        /* where it is in memory */
        if (!strncmp(p, "object(0x", 9)) p += 9 + strspn(p + 9, "0123456789abcdef");
        size_t n = *p == '%'
                       ? 1 + strspn(
                                 p + 1,
                                 "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")
                       : 0;
        if (n < 2) {
            sb_putc(&out, *p++);
            continue;
        }
        intptr_t k = (intptr_t)strmap_getn(&seen, p, n);
        if (!k) strmap_putn(&seen, p, n, (void *)(k = (intptr_t)seen.used + 1));
        sb_printf(&out, "%%%d", (int)k);
        p += n;
    }
    strmap_free(&seen);
    ctsc_string_free(text);
    return sb_take(&out);
}

/* Code is printed the same from what was read back, and compiles to the same graph. */
static void export_same_module(const char *name, const ctsc_module *a, const ctsc_module *b) {
    assert_int_equal(ctsc_module_method_count(a), ctsc_module_method_count(b));
    for (size_t i = 0; i < ctsc_module_method_count(a); i++) {
        const char *method = ctsc_module_method_name(a, i);
        char *code[2] = {NULL, NULL},
             *graph[2] = {export_normal_graph(a, method), export_normal_graph(b, method)};
        ctsc_module_code(a, method, &code[0], NULL);
        ctsc_module_code(b, method, &code[1], NULL);
        if (!code[0] != !code[1] || (code[0] && strcmp(code[0], code[1])))
            fail_msg("%s, %s:\n%s\nbecame\n%s", name, method, code[0], code[1]);
        if (!graph[0] != !graph[1] || (graph[0] && strcmp(graph[0], graph[1])))
            fail_msg("%s, %s:\n%s\nbecame\n%s", name, method, graph[0], graph[1]);
        for (int k = 0; k < 2; k++) {
            ctsc_string_free(code[k]);
            mem_free(graph[k]);
        }
    }
}

static void export_corpus(void **state) {
    glob_t found;
    (void)state;
    assert_int_equal(glob("tests/corpus/*/*/model.pt", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        const char *path = found.gl_pathv[i];
        /* operators of older versions change their meaning's spelling */
        if (strstr(path, "/legacy/")) continue;
        char why[1024];
        ctsc_module *a = export_load(path);
        if (export_save(a, target, why, sizeof why) != CTSC_OK) fail_msg("%s: %s", path, why);
        ctsc_module *b = export_load(target);
        export_same_module(path, a, b);
        ctsc_module_free(a);
        ctsc_module_free(b);
    }
    globfree(&found);
}

/* An archive whose only class has this code. */
static void export_make(const char *code) {
    static const char data[] = "\x80\x02"
                               "c__torch__\nM\n)\x81}(X\x08\0\0\0training\x89ub.",
                      constants[] = "\x80\x02).";
    zip_writer *z = NULL;
    diag d = {0};
    assert_int_equal(zip_writer_open(&d, target, "net", &z), CTSC_OK);
    zip_writer_add(z, &d, "data.pkl", data, sizeof data - 1, false);
    zip_writer_add(z, &d, "code/__torch__.py", code, strlen(code), true);
    zip_writer_add(z, &d, "constants.pkl", constants, sizeof constants - 1, false);
    zip_writer_add(z, &d, "version", "3\n", 2, false);
    assert_int_equal(zip_writer_commit(z, &d), CTSC_OK);
    zip_writer_free(z);
    diag_clear(&d);
}

static void export_prints(const char *body, const char *want) {
    char *code = NULL, text[4096];
    snprintf(text, sizeof text,
             "class M(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : bool\n  "
             "def forward(self: __torch__.M,\n    x: Tensor,\n    n: int)%s",
             body);
    export_make(text);
    ctsc_error *e = ctsc_error_new();
    ctsc_module *m = export_load(target);
    if (ctsc_module_code(m, "forward", &code, e) != CTSC_OK) fail_msg("%s", ctsc_error_message(e));
    assert_string_equal(code, want);
    ctsc_string_free(code);
    char why[1024];
    if (export_save(m, target, why, sizeof why) != CTSC_OK) fail_msg("%s", why);
    ctsc_module *again = export_load(target);
    export_same_module(body, m, again);
    ctsc_module_free(m);
    ctsc_module_free(again);
    ctsc_error_free(e);
}

static void export_printed_constants(void **state) {
    (void)state;
    export_prints(" -> Tuple[float, float, float, float, str]:\n    return (1e10, 1e17, -0.0, 0.1, "
                  "\"\\\"\\t\\'\\001\")\n",
                  "def forward(self,\n    x: Tensor,\n    n: int) -> Tuple[float, float, float, "
                  "float, str]:\n"
                  "  _0 = (10000000000., 1e+17, -0., 0.10000000000000001, \"\\\"\\t\\'\\001\")\n"
                  "  return _0\n");
    export_prints(" -> Tuple[complex, str]:\n    return (2.5j, \"\303\251\")\n",
                  "def forward(self,\n    x: Tensor,\n    n: int) -> Tuple[complex, str]:\n  "
                  "return CONSTANTS.c0\n");
}

/* Effects keep their order when long expressions are split. */
static void export_printed_order(void **state) {
    (void)state;
    export_prints(" -> Tuple[Tensor, Tensor]:\n"
                  "    return (torch.add_(x, 1), torch.mul(torch.mul(x, 12345678), torch.add(x, "
                  "12345678)))\n",
                  "def forward(self,\n    x: Tensor,\n    n: int) -> Tuple[Tensor, Tensor]:\n"
                  "  _0 = torch.add_(x, 1)\n"
                  "  _1 = torch.mul(torch.mul(x, 12345678), torch.add(x, 12345678))\n"
                  "  return (_0, _1)\n");
}

/* ---- the container --------------------------------------------------------------------------- */

static void export_layout(void **state) {
    static const char *const order[] = {"data/0",         "data.pkl",      "code/__torch__",
                                        "code/__torch__", "constants.pkl", "version"};
    reader r;
    zip_dir dir;
    uint64_t size;
    size_t at = 0;
    (void)state;
    ctsc_module *m = export_load("tests/corpus/models/mlp_script/model.pt");
    assert_int_equal(export_save(m, target, NULL, 0), CTSC_OK);
    ctsc_module_free(m);
    assert_int_equal(reader_open_file(NULL, target, &r), CTSC_OK);
    assert_int_equal(r.size(r.ctx, NULL, &size), CTSC_OK);
    assert_int_equal(zipdir_read(NULL, &r, size, &dir), CTSC_OK);
    for (size_t i = 0; i < dir.n; i++) {
        const zip_entry *e = &dir.entries[i];
        assert_int_equal(e->data % 64, 0);
        assert_int_equal(strncmp(e->name, "net/", 4), 0);
        if (at < 6 && !strncmp(e->name + 4, order[at], strlen(order[at]))) at++;
        if (strstr(e->name, "/data/")) assert_int_equal(e->method, ZIP_STORED);
    }
    assert_int_equal(at, 6);
    assert_string_equal(dir.entries[dir.n - 1].name, "net/version");
    zipdir_free(&dir);
    reader_close(&r);
}

/* Two views of one storage, under two dtypes, stay what they are. */
static void export_sharing(void **state) {
    int64_t six[] = {6}, three[] = {3};
    tensor *whole = NULL, *part = NULL, *other = NULL;
    value back = value_none();
    (void)state;
    assert_int_equal(tensor_new(NULL, DT_FLOAT32, 1, six, &whole), CTSC_OK);
    for (int i = 0; i < 6; i++) TENSOR_AT(whole, float)[i] = (float)i;
    assert_int_equal(tensor_view_raw(NULL, whole, 1, three, (int64_t[]){2}, 1, &part), CTSC_OK);
    assert_int_equal(
        tensor_on_storage(NULL, whole->storage, DT_INT32, 1, six, (int64_t[]){1}, 0, &other),
        CTSC_OK);
    tuple *t = tuple_new(4, NULL);
    t->items[0] = value_tensor_take(whole);
    t->items[1] = value_tensor_take(part);
    t->items[2] = value_tensor_take(other);
    t->items[3] = value_ref(t->items[0]);
    assert_int_equal(save_pickled_file(NULL, value_tuple_take(t), target), CTSC_OK);
    reader r;
    assert_int_equal(reader_open_file(NULL, target, &r), CTSC_OK);
    assert_int_equal(load_pickled_file(NULL, r, &back), CTSC_OK);
    const tuple *b = back.u.tuple;
    const tensor *w = b->items[0].u.tensor, *p = b->items[1].u.tensor, *o = b->items[2].u.tensor;
    assert_ptr_equal(w->storage, p->storage);
    assert_ptr_not_equal(w->storage, o->storage);
    assert_ptr_equal(b->items[3].u.tensor, w);
    assert_int_equal(p->offset, 1);
    assert_int_equal(p->strides[0], 2);
    assert_true(TENSOR_AT(p, float)[4] == 5);
    assert_int_equal(TENSOR_AT(o, int32_t)[1], 0x3f800000);
    value_unref(back);
    value_unref(value_tuple_take(t));
}

static void export_too_deep(void **state) {
    diag d = {0};
    value v = value_int(1);
    (void)state;
    for (int i = 0; i < 1000; i++) {
        tuple *t = tuple_new(1, NULL);
        t->items[0] = v;
        v = value_tuple_take(t);
    }
    assert_int_equal(save_pickled_file(&d, v, target), CTSC_LIMIT);
    diag_clear(&d);
    value_unref(v);
}

/* ---- whole or not at all --------------------------------------------------------------------- */

static void export_write_file(const char *path, const char *text) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    fputs(text, f);
    fclose(f);
}

static void export_expect_file(const char *path, const char *text) {
    size_t n = 0;
    unsigned char *data = support_read(path, &n);
    assert_non_null(data);
    assert_string_equal((char *)data, text);
    free(data);
}

static size_t export_files(void) {
    char pattern[80];
    glob_t found;
    snprintf(pattern, sizeof pattern, "%s/*", folder);
    size_t n = glob(pattern, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return n;
}

static void export_failing_disk(void **state) {
    char why[512];
    (void)state;
    ctsc_module *m = export_load("tests/corpus/models/lstm_l1_script/model.pt");
    export_write_file(target, "old");
    /* a disk that is full: in the data, in the middle, right at the end */
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit old, few;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    for (rlim_t room = 0; room < 20000; room = room * 2 + 1) {
        few = (struct rlimit){room, old.rlim_max};
        setrlimit(RLIMIT_FSIZE, &few);
        ctsc_status s = export_save(m, target, why, sizeof why);
        setrlimit(RLIMIT_FSIZE, &old);
        if (s == CTSC_OK) break;
        assert_int_equal(s, CTSC_ENVIRONMENT);
        assert_non_null(strstr(why, "File too large"));
        export_expect_file(target, "old");
        assert_int_equal(export_files(), 1);
    }
    assert_int_equal(export_save(m, "/dev/full", why, sizeof why), CTSC_ENVIRONMENT);
    assert_non_null(strstr(why, "No space left"));
    assert_int_equal(export_save(m, "/nowhere/at/all.pt", why, sizeof why), CTSC_ENVIRONMENT);
    assert_int_equal(export_save(m, folder, why, sizeof why), CTSC_ENVIRONMENT);
    assert_int_equal(export_save(m, target, NULL, 0), CTSC_OK);
    assert_int_equal(export_files(), 1);
    ctsc_module_free(m);
    m = export_load(target);
    /* over the file it was read from: the module goes on reading the old one */
    assert_int_equal(export_save(m, target, NULL, 0), CTSC_OK);
    assert_int_equal(export_save(m, target, NULL, 0), CTSC_OK);
    ctsc_module_free(m);
}

static void export_permissions(void **state) {
    char link[80], name[80];
    struct stat st;
    (void)state;
    ctsc_module *m = export_load("tests/corpus/lang/enum_basic/model.pt");
    export_write_file(target, "old");
    assert_int_equal(chmod(target, 0604), 0);
    assert_int_equal(export_save(m, target, NULL, 0), CTSC_OK);
    assert_int_equal(stat(target, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0604);
    /* through a link: the link stays */
    snprintf(link, sizeof link, "%s/link.pt", folder);
    assert_int_equal(symlink("net.pt", link), 0);
    assert_int_equal(export_save(m, link, NULL, 0), CTSC_OK);
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    unlink(link);
    /* names that cannot be a folder in the archive */
    static const char *const odd[] = {".pt", "...pt", "a\\b\001.pt", "plain"};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        snprintf(name, sizeof name, "%s/%s", folder, odd[i]);
        assert_int_equal(export_save(m, name, NULL, 0), CTSC_OK);
        ctsc_module_free(export_load(name));
        unlink(name);
    }
    ctsc_module_free(m);
}

/* Errors of a program that was saved again point into the file a person wrote. */
static void export_places(void **state) {
    ctsc_value *in = NULL, *out = NULL, *arg;
    ctsc_error *e = ctsc_error_new();
    (void)state;
    ctsc_module *m = export_load("tests/corpus/lang/error_dict_key/model.pt");
    assert_int_equal(export_save(m, target, NULL, 0), CTSC_OK);
    ctsc_module_free(m);
    m = export_load(target);
    assert_int_equal(ctsc_value_load("tests/corpus/lang/error_dict_key/inputs.pt", &in, e),
                     CTSC_OK);
    arg = ctsc_value_item(in, 0);
    assert_int_equal(ctsc_module_run(m, "forward", 1, &arg, NULL, &out, e), CTSC_FAILED);
    char *text = ctsc_error_render(e, false);
    assert_non_null(strstr(text, "source.py:7"));
    ctsc_string_free(text);
    ctsc_value_free(arg);
    ctsc_value_free(in);
    ctsc_module_free(m);
    ctsc_error_free(e);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Whatever fails, there is one whole file afterwards. */
static ctsc_status export_cycle(void *path) {
    ctsc_module *m = NULL;
    ctsc_error *e = ctsc_error_new();
    ctsc_status s = e ? ctsc_module_load(path, &m, e) : CTSC_LIMIT;
    if (s == CTSC_OK) s = ctsc_module_save(m, target, e);
    ctsc_module_free(m);
    ctsc_error_free(e);
    assert_int_equal(export_files(), 1);
    return s;
}

static void export_faults_of(char *path, long most) {
    support_fail_allocations(&count, path, most, export_cycle, path, "");
    ctsc_module_free(export_load(target));
}

static void export_faults(void **state) {
    (void)state;
    static char enums[] = "tests/corpus/lang/enum_basic/model.pt",
                forks[] = "tests/corpus/lang/fork_wait/model.pt",
                mlp[] = "tests/corpus/models/mlp_script/model.pt";
    export_faults_of(enums, 1000);
    export_faults_of(forks, 1000);
    export_faults_of(mlp, 600);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(export_corpus),        cmocka_unit_test(export_printed_constants),
        cmocka_unit_test(export_printed_order), cmocka_unit_test(export_layout),
        cmocka_unit_test(export_sharing),       cmocka_unit_test(export_too_deep),
        cmocka_unit_test(export_failing_disk),  cmocka_unit_test(export_permissions),
        cmocka_unit_test(export_places),        cmocka_unit_test(export_faults),
    };
    mem_set_hook(counting_hook, &count);
    return cmocka_run_group_tests(tests, export_setup, export_teardown);
}

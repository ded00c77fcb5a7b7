/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_damage.c - archives cut at every byte, with bytes flipped, entries missing,
 * duplicated and renamed, and sizes that lie, and code that lies about types: a
 * clear error or a run, never a crash, a hang, or a read outside the file (the
 * bytes are in an allocation of exactly their size, so that ASan detects one).
 */
#include "support.h"

#include "ctsc.h"

#include <zip.h>

static ctsc_error *error;
static ctsc_value *inputs;

static bool damage_status_ok(ctsc_status s) {
    return s == CTSC_OK || s == CTSC_FAILED || s == CTSC_BAD_FILE || s == CTSC_UNSUPPORTED ||
           s == CTSC_LIMIT || s == CTSC_USAGE;
}

static void damage_discard(void *ctx, const char *text, size_t len) {
    (void)ctx, (void)text, (void)len;
}

/* Loads and runs data; fails the test on a status that no file may cause. */
static ctsc_status damage_try(const unsigned char *data, size_t len) {
    unsigned char *copy = malloc(len ? len : 1);
    ctsc_module *m = NULL;
    assert_non_null(copy);
    if (len) memcpy(copy, data, len);
    ctsc_status s = ctsc_module_load_memory(copy, len, &m, error);
    if (s != CTSC_OK) {
        assert_int_equal(ctsc_error_status(error), s);
        assert_string_not_equal(ctsc_error_message(error), "");
        if (s != CTSC_BAD_FILE && s != CTSC_UNSUPPORTED && s != CTSC_LIMIT && s != CTSC_FAILED)
            fail_msg("loading gave status %d: %s", s, ctsc_error_message(error));
    } else {
        ctsc_value *out = NULL, *args[8];
        size_t n = ctsc_value_len(inputs);
        ctsc_run_options o = {.size = sizeof o, .max_steps = 1000000, .print = damage_discard};
        for (size_t i = 0; i < n; i++) args[i] = ctsc_value_item(inputs, i);
        s = ctsc_module_run(m, "forward", n, args, &o, &out, error);
        if (!damage_status_ok(s))
            fail_msg("running gave status %d: %s", s, ctsc_error_message(error));
        for (size_t i = 0; i < n; i++) ctsc_value_free(args[i]);
        ctsc_value_free(out);
        ctsc_module_free(m);
    }
    free(copy);
    return s;
}

typedef struct damage_case { unsigned char *data; size_t len; } damage_case;

static damage_case damage_open(const char *folder) {
    char path[512];
    damage_case c;
    snprintf(path, sizeof path, "tests/corpus/%s/inputs.pt", folder);
    ctsc_value_free(inputs);
    inputs = NULL;
    assert_int_equal(ctsc_value_load(path, &inputs, error), CTSC_OK);
    snprintf(path, sizeof path, "tests/corpus/%s/model.pt", folder);
    c.data = support_read(path, &c.len);
    assert_non_null(c.data);
    assert_int_equal(damage_try(c.data, c.len), CTSC_OK);
    return c;
}

static const char *const damage_folders[] = {"lang/class_basic", "lang/module_submodules",
                                             "lang/dict_of_lists", "models/mlp_script"};
enum { DAMAGE_FOLDERS = sizeof damage_folders / sizeof *damage_folders };

static void damage_cut(void **state) {
    (void)state;
    for (int k = 0; k < DAMAGE_FOLDERS; k++) {
        damage_case c = damage_open(damage_folders[k]);
        size_t step = c.len > 20000 ? 13 : 1;
        for (size_t n = 0; n < c.len; n += step) damage_try(c.data, n);
        free(c.data);
    }
}

static void damage_flip(void **state) {
    (void)state;
    for (int k = 0; k < DAMAGE_FOLDERS; k++) {
        damage_case c = damage_open(damage_folders[k]);
        size_t step = c.len > 20000 ? 7 : 1;
        for (size_t i = 0; i < c.len; i += step) {
            unsigned char was = c.data[i];
            c.data[i] ^= (unsigned char)(1u << (i % 8));
            damage_try(c.data, c.len);
            c.data[i] = (unsigned char)~was;
            damage_try(c.data, c.len);
            c.data[i] = was;
        }
        free(c.data);
    }
}

/* Words that sizes and offsets are made of, at every place: 0, 1, and the largest ones. */
static void damage_sizes(void **state) {
    static const uint32_t words[] = {0, 1, 0x7fffffff, 0xffffffff};
    (void)state;
    damage_case c = damage_open(damage_folders[0]);
    for (size_t i = 0; i + 4 <= c.len; i++)
        for (size_t w = 0; w < 4; w++) {
            unsigned char was[4];
            memcpy(was, c.data + i, 4);
            memcpy(c.data + i, &words[w], 4);
            damage_try(c.data, c.len);
            memcpy(c.data + i, was, 4);
        }
    free(c.data);
}

/* Rebuilds the archive with entries stored plainly, `edit` deciding the name and contents of each;
 * so the damage inside records is not caught by checksums. */
typedef bool (*damage_edit)(void *ctx, size_t i, char *name, size_t cap, unsigned char **data,
                            size_t *len);

static damage_case damage_rebuild(const damage_case *c, damage_edit edit, void *ctx) {
    zip_error_t ze;
    zip_error_init(&ze);
    zip_source_t *in = zip_source_buffer_create(c->data, c->len, 0, &ze);
    zip_t *z = zip_open_from_source(in, ZIP_RDONLY, &ze);
    assert_non_null(z);
    zip_source_t *target = zip_source_buffer_create(NULL, 0, 0, &ze);
    zip_source_keep(target);
    zip_t *o = zip_open_from_source(target, ZIP_TRUNCATE, &ze);
    assert_non_null(o);
    zip_int64_t n = zip_get_num_entries(z, 0);
    unsigned char **kept = calloc((size_t)n + 1, sizeof *kept);
    for (zip_int64_t i = 0; i < n; i++) {
        zip_stat_t st;
        char name[600];
        zip_stat_index(z, (zip_uint64_t)i, 0, &st);
        snprintf(name, sizeof name, "%s", st.name);
        size_t len = (size_t)st.size;
        unsigned char *data = malloc(len + 64);
        zip_file_t *f = zip_fopen_index(z, (zip_uint64_t)i, 0);
        assert_int_equal(zip_fread(f, data, len), (zip_int64_t)len);
        zip_fclose(f);
        kept[i] = data;
        if (!edit(ctx, (size_t)i, name, sizeof name, &data, &len)) continue;
        kept[i] = data;
        zip_int64_t at = zip_file_add(o, name, zip_source_buffer(o, data, len, 0),
                                      ZIP_FL_ENC_UTF_8);
        if (at >= 0) zip_set_file_compression(o, (zip_uint64_t)at, ZIP_CM_STORE, 0);
    }
    assert_int_equal(zip_close(o), 0);
    zip_close(z);
    for (zip_int64_t i = 0; i < n; i++) free(kept[i]);
    free(kept);
    zip_stat_t st;
    zip_source_open(target);
    zip_source_stat(target, &st);
    damage_case r = {malloc((size_t)st.size + 1), (size_t)st.size};
    assert_int_equal(zip_source_read(target, r.data, r.len), (zip_int64_t)r.len);
    zip_source_close(target);
    zip_source_free(target);
    return r;
}

typedef struct damage_plan { size_t entry; int kind; size_t at; unsigned seed; } damage_plan;
enum {
    DAMAGE_DROP,
    DAMAGE_RENAME,
    DAMAGE_EMPTY,
    DAMAGE_TRUNCATE,
    DAMAGE_GROW,
    DAMAGE_BYTE,
    DAMAGE_SWAP
};

static bool damage_apply(void *ctx, size_t i, char *name, size_t cap, unsigned char **data,
                         size_t *len) {
    const damage_plan *p = ctx;
    if (i != p->entry) return true;
    switch (p->kind) {
    case DAMAGE_DROP: return false;
    case DAMAGE_RENAME: snprintf(name + strlen(name), cap - strlen(name), "x"); return true;
    case DAMAGE_EMPTY: *len = 0; return true;
    case DAMAGE_TRUNCATE: *len /= 2; return true;
    case DAMAGE_GROW:
        memset(*data + *len, 'A', 64);
        *len += 64;
        return true;
    case DAMAGE_BYTE:
        if (*len) (*data)[p->at % *len] ^= (unsigned char)(p->seed | 1);
        return true;
    default:
        if (*len > 1) {
            unsigned char t = (*data)[p->at % *len];
            (*data)[p->at % *len] = (*data)[(p->at * 7 + p->seed) % *len];
            (*data)[(p->at * 7 + p->seed) % *len] = t;
        }
        return true;
    }
}

static void damage_entries(void **state) {
    (void)state;
    for (int k = 0; k < DAMAGE_FOLDERS; k++) {
        damage_case c = damage_open(damage_folders[k]);
        for (size_t entry = 0; entry < 24; entry++)
            for (int kind = DAMAGE_DROP; kind <= DAMAGE_GROW; kind++) {
                damage_plan p = {entry, kind, 0, 0};
                damage_case r = damage_rebuild(&c, damage_apply, &p);
                damage_try(r.data, r.len);
                free(r.data);
            }
        free(c.data);
    }
}

/* Bytes changed inside records (pickles, code), with valid checksums. */
static void damage_contents(void **state) {
    unsigned seed = 1;
    (void)state;
    for (int k = 0; k < DAMAGE_FOLDERS; k++) {
        damage_case c = damage_open(damage_folders[k]);
        for (int round = 0; round < 2500; round++) {
            seed = seed * 1664525u + 1013904223u;
            damage_plan p = {(seed >> 8) % 10, seed >> 31 ? DAMAGE_BYTE : DAMAGE_SWAP,
                             (seed >> 12) % 65521, seed >> 24};
            damage_case r = damage_rebuild(&c, damage_apply, &p);
            damage_try(r.data, r.len);
            free(r.data);
        }
        free(c.data);
    }
}

/* Code that says of values what they are not: each is run at each level, and refused
 * where it goes wrong. */
static const char *damage_text;

static bool damage_code(void *ctx, size_t i, char *name, size_t cap, unsigned char **data,
                        size_t *len) {
    (void)ctx, (void)i, (void)cap;
    if (!strstr(name, "code/__torch__.py") || strstr(name, "debug_pkl")) return true;
    free(*data);
    *len = strlen(damage_text);
    *data = malloc(*len);
    memcpy(*data, damage_text, *len);
    return true;
}

static void damage_lies(void **state) {
    static const char head[] =
        "class PlaceholderModule(Module):\n  __parameters__ = []\n  __buffers__ = []\n  training : "
        "bool\n"
        "  def forward(self: __torch__.PlaceholderModule, x: Tensor) -> Tensor:\n";
    static const char *const bodies[] = {
        "    return uninitialized(Tensor)\n",
        "    return torch.relu(uninitialized(Tensor))\n",
        "    return torch._convolution(uninitialized(Tensor), x, None, [1], [0], [1], False, [0], "
        "1, False, False, True, True)\n",
        "    return torch.relu(unchecked_cast(Tensor, 3))\n",
        "    return torch.relu(unchecked_cast(Tensor, [x]))\n",
        "    return unchecked_cast(Tensor, None)\n",
        "    return torch.select(unchecked_cast(List[Tensor], x), 0)\n",
        "    return torch.cat(unchecked_cast(List[Tensor], [1, 2]))\n",
        "    return torch.add(x, unchecked_cast(int, x))\n",
        "    return torch.add(x, int((unchecked_cast(__torch__.PlaceholderModule, x)).training))\n",
        "    return (unchecked_cast(Tuple[Tensor, Tensor], x))[0]\n",
        "    return ops.prim.unchecked_unwrap_optional(annotate(Optional[Tensor], None))\n",
        "    y = uninitialized(Tensor)\n    for i in range(2):\n      y = torch.add(y, x)\n    "
        "return y\n",
        "    if bool(torch.any(torch.lt(x, -1000.))):\n      y = x\n    else:\n      y = "
        "unchecked_cast(Tensor, 1)\n    return torch.relu(y)\n",
        "    l = annotate(List[Any], [])\n    _0 = torch.append(l, x)\n    m = "
        "unchecked_cast(List[Tensor], l)\n    _1 = torch.append(l, 3)\n"
        "    return torch.relu(m[1])\n",
        "    f = fork(__torch__.h, x)\n    return "
        "torch.relu(torch.wait(unchecked_cast(Future[Tensor], f)))\ndef h(x: Tensor) -> int:\n    "
        "return 1\n",
        "    return __torch__.h(x)\ndef h(x: Tensor, y: Tensor=3) -> Tensor:\n    return "
        "torch.relu(y)\n",
        "    return __torch__.h(x)\ndef h(x: Tensor, y: Tensor=None) -> Tensor:\n    return "
        "torch.relu(y)\n",
        "    return __torch__.h(x)\ndef h(x: Tensor, y: Tuple[Tensor, int]=(1, 2)) -> Tensor:\n    "
        "return (y)[0]\n",
        "    return __torch__.h(x)\ndef h(x: Tensor, y: List[Tensor]=[[1]]) -> Tensor:\n    return "
        "torch.cat(y)\n",
        "    if bool(torch.any(x)):\n      y = __torch__.h(x, x)\n    else:\n      y = "
        "__torch__.h(x, x)\n    return y\ndef h(x: nowhere, y: Tensor):\n    return y\n",
    };
    (void)state;
    char text[2048];
    ctsc_value *args[1] = {NULL}, *out;
    damage_case c = damage_open("lang/any_type"), r;
    int64_t sizes[] = {3};
    assert_int_equal(ctsc_tensor_new(CTSC_FLOAT32, 1, sizes, args, error), CTSC_OK);
    damage_text = text;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++)
        for (int level = 0; level <= 3; level++) {
            ctsc_module *m = NULL;
            snprintf(text, sizeof text, "%s%s", head, bodies[i]);
            r = damage_rebuild(&c, damage_code, NULL);
            ctsc_status s = ctsc_module_load_memory(r.data, r.len, &m, error);
            if (s == CTSC_OK) s = ctsc_module_set_opt(m, level, error);
            for (int times = 0; times < 3 && s == CTSC_OK; times++)
                if ((s = ctsc_module_run(m, "forward", 1, args, NULL, &out, error)) == CTSC_OK)
                    ctsc_value_free(out);
            if (s != CTSC_BAD_FILE && s != CTSC_FAILED)
                fail_msg("level %d gave status %d of\n%s", level, s, bodies[i]);
            ctsc_module_free(m);
            free(r.data);
        }
    ctsc_value_free(args[0]);
    free(c.data);
}

static int damage_setup(void **state) {
    (void)state;
    error = ctsc_error_new();
    return error ? 0 : -1;
}
static int damage_teardown(void **state) {
    (void)state;
    ctsc_value_free(inputs);
    ctsc_error_free(error);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_cut),      cmocka_unit_test(damage_flip),
        cmocka_unit_test(damage_sizes),    cmocka_unit_test(damage_entries),
        cmocka_unit_test(damage_contents), cmocka_unit_test(damage_lies),
    };
    return cmocka_run_group_tests(tests, damage_setup, damage_teardown);
}

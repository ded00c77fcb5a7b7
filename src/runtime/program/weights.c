/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weights.c - files that hold tensors by name, told apart by what is in them.
 *
 * Tests: tests/cli/weights.test, tests/cli/convert.test
 */
#include "runtime/program/weights.h"

#include "runtime/archive/archive_internal.h"
#include "runtime/program/exported.h"

/* ---- reading --------------------------------------------------------------------------------- */

static bool weights_is_safetensors(reader r) {
    diag quiet = {0};
    uint8_t head[9] = {0};
    uint64_t size = 0;
    bool is = r.size(r.ctx, &quiet, &size) == CTSC_OK && size > sizeof head &&
              r.read(r.ctx, &quiet, 0, head, sizeof head) == CTSC_OK && head[8] == '{';
    diag_clear(&quiet);
    return is;
}

ctsc_status weights_values(diag *d, const char *path, value *out) {
    reader r;
    TRY(reader_open_file(d, path, &r));
    return weights_is_safetensors(r) ? load_safetensors(d, r, out) : load_checkpoint(d, r, out);
}

/* The parameters and buffers of an archive, named as in a state_dict. */
static ctsc_status weights_of_archive(diag *d, const char *path, value *out) {
    reader r;
    module *m = NULL;
    TRY(reader_open_file(d, path, &r));
    ctsc_status s = module_load(d, r, &m);
    if (s == CTSC_OK) s = module_tensors(m, d, true, true, out);
    module_free(m);
    return s;
}

static bool weights_is_archive(const char *path) {
    diag quiet = {0};
    reader r;
    archive *a = NULL;
    bool is = reader_open_file(&quiet, path, &r) == CTSC_OK &&
              archive_open(&quiet, r, &a) == CTSC_OK &&
              (archive_has(a, "constants.pkl") || exported_is(a));
    archive_unref(a);
    diag_clear(&quiet);
    return is;
}

ctsc_status weights_dict(diag *d, const char *path, value *out) {
    value v = value_none();
    if (weights_is_archive(path)) return weights_of_archive(d, path, out);
    TRY(weights_values(d, path, &v));
    if (v.tag == V_DICT) return *out = v, CTSC_OK;
    ctsc_status s =
        v.tag == V_CAPSULE && v.u.capsule->kind == capsule_opaque
            ? diag_fail(
                  d, CTSC_BAD_FILE,
                  "%s holds an object of the class %s and no state_dict: save model.state_dict()",
                  path, (const char *)v.u.capsule->ptr)
            : diag_fail(d, CTSC_BAD_FILE,
                        "%s does not hold a state_dict (a dict of names and tensors)", path);
    value_unref(v);
    return s;
}

/* ---- the state_dict in a checkpoint ---------------------------------------------------------- */

enum { WEIGHTS_DEPTH = 2 };

static bool weights_has_tensors(const dict *x) {
    for (size_t i = 0; i < x->used; i++)
        if (x->entries[i].key.tag == V_STR && x->entries[i].val.tag == V_TENSOR) return true;
    return false;
}

typedef struct weights_search {
    dict *found;
    strbuf names; /* "'model', 'ema'" */
    size_t count;
} weights_search;

/* Dicts with tensors that lie in x; what is inside of one is its own affair. */
static void weights_find(weights_search *w, const dict *x, int depth) {
    for (size_t i = 0; i < x->used; i++) {
        const dict_entry *e = &x->entries[i];
        if (e->key.tag != V_STR || e->val.tag != V_DICT) continue;
        if (weights_has_tensors(e->val.u.dict)) {
            sb_printf(&w->names, "%s'%.100s'", w->count++ ? ", " : "", e->key.u.str->bytes);
            w->found = e->val.u.dict;
        } else if (depth + 1 < WEIGHTS_DEPTH) {
            weights_find(w, e->val.u.dict, depth + 1);
        }
    }
}

/* x without what is no tensor: state_dict() of PyTorch may hold the extra state of modules. */
static ctsc_status weights_only(diag *d, const dict *x, value *out) {
    dict *only = dict_new(TYPE_STR, TYPE_TENSOR);
    bool ok = only != NULL;
    for (size_t i = 0; ok && i < x->used; i++)
        if (x->entries[i].key.tag == V_STR && x->entries[i].val.tag == V_TENSOR)
            ok = dict_set_take(only, value_ref(x->entries[i].key), value_ref(x->entries[i].val));
    if (ok) return *out = value_dict_take(only), CTSC_OK;
    if (only) value_unref(value_dict_take(only));
    return diag_no_memory(d);
}

ctsc_status weights_state(diag *d, const char *path, value *out) {
    value v = value_none();
    TRY(weights_dict(d, path, &v));
    weights_search w = {.names = STRBUF_INIT};
    ctsc_status s = CTSC_OK;
    bool empty = !v.u.dict->used;
    if (weights_has_tensors(v.u.dict) || empty) w.found = v.u.dict;
    else weights_find(&w, v.u.dict, 0);
    if (!w.found)
        s = diag_fail(d, CTSC_BAD_FILE,
                      "%s does not hold a state_dict (a dict of names and tensors)", path);
    else if (w.count > 1)
        s = diag_fail(d, CTSC_BAD_FILE, "%s holds %zu dicts of tensors: %s", path, w.count,
                      sb_str(&w.names));
    if (s == CTSC_OK) s = weights_only(d, w.found, out);
    sb_free(&w.names);
    value_unref(v);
    return s;
}

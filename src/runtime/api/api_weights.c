/* SPDX-License-Identifier: Apache-2.0 */
/*
 * api_weights.c - the part of ctsc.h about files that hold tensors by name.
 *
 * Tests: tests/unit/test_safetensors.c, tests/cli/convert.test
 */
#include "runtime/api/api.h"
#include "runtime/program/weights.h"
#include "runtime/safetensors/safetensors.h"

#include <string.h>

static ctsc_status weights_give(diag *d, value v_take, ctsc_value **out) {
    ctsc_value *h = api_wrap_take(v_take);
    return h ? (*out = h, CTSC_OK) : diag_no_memory(d);
}

static ctsc_status weights_load(const char *path, const dict *wanted, ctsc_value **out,
                                ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    value v = value_none();
    ctsc_status s = api_given(d, path, "the path");
    if (s == CTSC_OK) s = weights_state(d, path, wanted, &v);
    if (s == CTSC_OK) s = weights_give(d, v, out);
    return api_leave_file(e, &own, s, path);
}

ctsc_status ctsc_state_load(const char *path, ctsc_value **out, ctsc_error *e) {
    return weights_load(path, NULL, out, e);
}

ctsc_status ctsc_state_load_part(const char *path, const ctsc_value *names, ctsc_value **out,
                                 ctsc_error *e) {
    return weights_load(path, names && names->v.tag == V_DICT ? names->v.u.dict : NULL, out, e);
}

/* ---- safetensors ----------------------------------------------------------------------------- */

struct ctsc_safetensors { safe_file *f; };

ctsc_status ctsc_safetensors_open(const char *path, ctsc_safetensors **out, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    reader r;
    ctsc_safetensors *h = mem_zalloc(sizeof *h);
    ctsc_status s = h ? api_given(d, path, "the path") : diag_no_memory(d);
    if (s == CTSC_OK) s = reader_open_file(d, path, &r);
    if (s == CTSC_OK) s = safe_open(d, r, &h->f);
    if (s == CTSC_OK) *out = h;
    else mem_free(h);
    return api_leave_file(e, &own, s, path);
}

void ctsc_safetensors_free(ctsc_safetensors *f) {
    if (!f) return;
    safe_close(f->f);
    mem_free(f);
}

size_t ctsc_safetensors_count(const ctsc_safetensors *f) { return f->f->count; }

static const safe_entry *weights_entry(const ctsc_safetensors *f, size_t i) {
    return i < f->f->count ? &f->f->entries[i] : NULL;
}

const char *ctsc_safetensors_name(const ctsc_safetensors *f, size_t i) {
    const safe_entry *entry = weights_entry(f, i);
    return entry ? entry->name : NULL;
}

const char *ctsc_safetensors_dtype(const ctsc_safetensors *f, size_t i) {
    const safe_entry *entry = weights_entry(f, i);
    return entry ? entry->dtype : NULL;
}

int ctsc_safetensors_ndim(const ctsc_safetensors *f, size_t i) {
    const safe_entry *entry = weights_entry(f, i);
    return entry ? entry->ndim : 0;
}

const int64_t *ctsc_safetensors_sizes(const ctsc_safetensors *f, size_t i) {
    const safe_entry *entry = weights_entry(f, i);
    return entry ? entry->sizes : NULL;
}

size_t ctsc_safetensors_find(const ctsc_safetensors *f, const char *name) {
    const safe_entry *entry = name ? strmap_get(&f->f->by_name, name) : NULL;
    return entry ? (size_t)(entry - f->f->entries) : f->f->count;
}

ctsc_status ctsc_safetensors_tensor(const ctsc_safetensors *f, size_t i, ctsc_value **out,
                                    ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    const safe_entry *entry = weights_entry(f, i);
    tensor *t = NULL;
    ctsc_status s = entry ? safe_tensor(d, f->f, entry, &t)
                          : diag_fail(d, CTSC_USAGE, "the file has %zu tensors, not %zu",
                                      f->f->count, i + 1);
    if (s == CTSC_OK) s = weights_give(d, value_tensor_take(t), out);
    return api_leave(e, &own, s);
}

const char *ctsc_safetensors_metadata(const ctsc_safetensors *f, size_t i, const char **key) {
    if (i >= f->f->nmetadata) return NULL;
    if (key) *key = f->f->metadata[i].key;
    return f->f->metadata[i].text;
}

ctsc_status ctsc_safetensors_save(const ctsc_value *tensors, size_t n, const char *const *keys,
                                  const char *const *texts, const char *path, ctsc_error *e) {
    diag own, *d = api_enter(e, &own);
    safe_pair *pairs = mem_zalloc((n + 1) * sizeof *pairs);
    ctsc_status s = pairs ? api_given(d, tensors, "the dict of tensors") : diag_no_memory(d);
    if (s == CTSC_OK) s = api_given(d, path, "the path");
    if (s == CTSC_OK && tensors->v.tag != V_DICT)
        s = diag_fail(d, CTSC_USAGE, "a safetensors file holds tensors by name, nothing else");
    for (size_t i = 0; i < n && s == CTSC_OK; i++) {
        if (!keys || !texts || !keys[i] || !texts[i]) s = api_given(d, NULL, "a metadata text");
        else pairs[i] = (safe_pair){keys[i], texts[i]};
    }
    if (s == CTSC_OK) s = safe_write(d, tensors->v.u.dict, n, pairs, path);
    mem_free(pairs);
    return api_leave(e, &own, s);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exported.c - loads an archive of torch.export: finds the program
 * and its weights, from which frontend/export/ makes a module.
 *
 *     since 2.8     archive_format, models/NAME.json, data/weights/NAME_weights_config.json and weight_N, the same of constants;
 *                   2.8 itself: data/weights/NAME.pt, a file of torch.save
 *     2.1 to 2.7    serialized_exported_program.json, serialized_state_dict.pt (2.1: .json) and serialized_constants.pt, files of torch.save
 *
 * Method. Weights are slices of the file's mapping, as those of .pt archives are: a
 * record is a storage, and tensors that share one record share its storage. Sample
 * inputs are read on request; data of other runtimes is ignored. Formats: docs/pt2.md.
 * Tests: tests/pt2, tests/unit/test_exported.c
 */
#include "runtime/program/exported.h"

#include "frontend/export/ep.h"
#include "runtime/archive/archive_internal.h"

static const char exported_flat[] = "serialized_exported_program.json";

/* Weights, or constants. */
typedef struct exported_part {
    archive *a;
    const char *folder; /* "data/weights/" */
    dict *tensors;      /* name -> tensor; NULL: there are none */
    strmap storages;    /* record -> storage */
    VEC(char *) records;
} exported_part;

typedef struct exported { exported_part weights, constants; } exported;

bool exported_is(const archive *a) {
    return archive_has(a, "archive_format") || archive_has(a, exported_flat);
}

/* ---- raw records ----------------------------------------------------------------------------- */

static ctsc_status exported_storage(exported_part *x, diag *d, const char *path, storage **out) {
    storage *st = strmap_get(&x->storages, path);
    strbuf record = STRBUF_INIT;
    ctsc_status s = CTSC_OK;
    if (!st) {
        sb_printf(&record, "%s%s", x->folder, path);
        s = record.failed ? diag_no_memory(d) : archive_read(x->a, d, sb_str(&record), &st);
        sb_free(&record);
        char *own = s == CTSC_OK ? mem_strdup(path) : NULL;
        if (s == CTSC_OK && (!own || !vec_push(&x->records, own))) {
            mem_free(own);
            storage_unref(st);
            return diag_no_memory(d);
        }
        if (s == CTSC_OK && !strmap_put(&x->storages, own, st)) {
            storage_unref(st);
            return diag_no_memory(d);
        }
    }
    if (s == CTSC_OK) *out = storage_ref(st);
    return s;
}

/* Builds of 2.9 wrote contiguous copies under the strides of the original. */
static bool exported_is_packed(const ep_tensor *t, size_t nbytes) {
    size_t n = dtype_size(t->dt);
    for (int i = 0; i < t->ndim; i++)
        if (t->sizes[i] < 0 || !size_mul(n, (size_t)t->sizes[i], &n)) return false;
    return n == nbytes;
}

static ctsc_status exported_tensor(diag *d, storage *st, const ep_tensor *t, tensor **out) {
    /* of a tensor without elements, or without content */
    if (!st->nbytes) return tensor_zeros(d, t->dt, t->ndim, t->sizes, out);
    diag own = {0};
    ctsc_status s = tensor_on_storage(&own, st, t->dt, t->ndim, t->sizes, t->strides, t->offset,
                                      out);
    if (s != CTSC_OK && exported_is_packed(t, st->nbytes)) {
        int64_t strides[TENSOR_MAX_DIMS], nbytes;
        diag_clear(&own);
        s = tensor_layout(&own, t->dt, t->ndim, t->sizes, strides, &nbytes);
        if (s == CTSC_OK)
            s = tensor_on_storage(&own, st, t->dt, t->ndim, t->sizes, strides, 0, out);
    }
    if (s != CTSC_OK)
        s = diag_fail(d, s == CTSC_LIMIT ? s : CTSC_BAD_FILE, "%s", diag_message(&own));
    diag_clear(&own);
    return s;
}

/* Weights that are Python objects without tensors of their own. */
static ctsc_status exported_object(diag *d, const char *name, value v) {
    const void *cls = v.tag == V_CAPSULE && v.u.capsule->kind == capsule_opaque ? v.u.capsule->ptr
                                                                                : NULL;
    if (!cls)
        return diag_fail(d, CTSC_UNSUPPORTED, "'%.300s' is an object: only tensors are supported",
                         name);
    return diag_fail(d, CTSC_UNSUPPORTED,
                     "'%.300s' is an object of the class %.200s: only tensors are supported", name,
                     (const char *)cls);
}

static ctsc_status exported_put(exported_part *x, diag *d, const char *name, value v_take) {
    str *key = str_new(name, strlen(name));
    if (key)
        return dict_set_take(x->tensors, value_str_take(key), v_take) ? CTSC_OK : diag_no_memory(d);
    value_unref(v_take);
    return diag_no_memory(d);
}

/* The tensors of an object of a subclass of Tensor, such as torchao's, under its name followed
 * by those of its attributes ("fc.weight.qdata"); under its own name there is None. */
static ctsc_status exported_attributes(exported_part *x, diag *d, const char *name, value v,
                                       int depth) {
    enum { DEPTH = 8 };
    const dict *attributes = depth < DEPTH ? opaque_attributes(v) : NULL;
    ctsc_status s = attributes ? exported_put(x, d, name, value_none())
                               : exported_object(d, name, v);
    for (size_t i = 0; attributes && i < attributes->used && s == CTSC_OK; i++) {
        const dict_entry *e = &attributes->entries[i];
        bool inner = opaque_attributes(e->val) != NULL;
        if (e->key.tag != V_STR || (e->val.tag != V_TENSOR && !inner)) continue;
        strbuf dotted = STRBUF_INIT;
        sb_printf(&dotted, "%s.%s", name, e->key.u.str->bytes);
        s = dotted.failed ? diag_no_memory(d)
            : inner       ? exported_attributes(x, d, sb_str(&dotted), e->val, depth + 1)
                          : exported_put(x, d, sb_str(&dotted), value_ref(e->val));
        sb_free(&dotted);
    }
    return s;
}

static ctsc_status exported_pickled(exported_part *x, diag *d, storage *st, const char *name) {
    reader r;
    value v = value_none();
    TRY(reader_open_storage(d, st, &r));
    TRY(load_checkpoint(d, r, &v));
    if (v.tag == V_TENSOR) return exported_put(x, d, name, v);
    ctsc_status s = exported_attributes(x, d, name, v, 0);
    value_unref(v);
    return s;
}

static ctsc_status exported_payload(void *ctx, diag *d, const ep_payload *p) {
    exported_part *x = ctx;
    storage *st = NULL;
    tensor *t = NULL;
    /* an object: refused where the program has it */
    if (!p->pickled && !p->has_tensor) return CTSC_OK;
    ctsc_status s = exported_storage(x, d, p->path, &st);
    if (s == CTSC_OK && p->pickled) s = exported_pickled(x, d, st, p->name);
    else if (s == CTSC_OK) s = exported_tensor(d, st, &p->tensor, &t);
    storage_unref(st);
    return t ? exported_put(x, d, p->name, value_tensor_take(t)) : s;
}

static ctsc_status exported_config(exported_part *x, diag *d, const char *record) {
    storage *st = NULL;
    ctsc_status s = archive_read(x->a, d, record, &st);
    if (s == CTSC_OK && !(x->tensors = dict_new(TYPE_STR, TYPE_TENSOR))) s = diag_no_memory(d);
    if (s == CTSC_OK) s = ep_read_payloads(d, record, st->data, st->nbytes, exported_payload, x);
    storage_unref(st);
    return s;
}

/* ---- files of torch.save --------------------------------------------------------------------- */

static ctsc_status exported_saved(exported_part *x, diag *d, const char *record) {
    storage *st = NULL;
    reader r;
    value v = value_none();
    TRY(archive_read(x->a, d, record, &st));
    ctsc_status s = st->nbytes ? reader_open_storage(d, st, &r) : CTSC_OK;
    if (s == CTSC_OK && st->nbytes) s = load_checkpoint(d, r, &v);
    storage_unref(st);
    if (s == CTSC_OK && v.tag == V_DICT) return x->tensors = v.u.dict, CTSC_OK;
    value_unref(v);
    if (s == CTSC_OK && v.tag != V_NONE)
        s = diag_fail(d, CTSC_BAD_FILE, "record %s: no dict of tensors", record);
    return s;
}

/* The first of the names that the archive has. */
static ctsc_status exported_part_load(exported_part *x, diag *d, int n, const char *const *saved,
                                      const char *config) {
    for (int i = 0; i < n; i++)
        if (archive_has(x->a, saved[i])) return exported_saved(x, d, saved[i]);
    return config && archive_has(x->a, config) ? exported_config(x, d, config) : CTSC_OK;
}

static void exported_part_free(exported_part *x) {
    if (x->tensors) value_unref(value_dict_take(x->tensors));
    for (size_t i = 0; i < x->storages.cap; i++)
        if (x->storages.slots[i].key) storage_unref(x->storages.slots[i].value);
    strmap_free(&x->storages);
    for (size_t i = 0; i < x->records.len; i++) mem_free(x->records.data[i]);
    vec_free(&x->records);
}

/* ---- state ----------------------------------------------------------------------------------- */

static bool exported_find(const exported_part *x, value name, value *out) {
    return x->tensors && dict_get(x->tensors, name, out);
}

/* Constants have what is not saved: buffers, and literals of the source. */
static ctsc_status exported_state(void *ctx, diag *d, ep_role role, const char *name, bool saved,
                                  value *out) {
    exported *x = ctx;
    str *text = str_new(name, strlen(name));
    if (!text) return diag_no_memory(d);
    value key = value_str_take(text), v;
    bool weight = role == EP_PARAMETER || (role == EP_BUFFER && saved);
    bool found = exported_find(weight ? &x->weights : &x->constants, key, &v) ||
                 exported_find(weight ? &x->constants : &x->weights, key, &v);
    value_unref(key);
    if (!found) return diag_fail(d, CTSC_BAD_FILE, "the archive has no content of '%.300s'", name);
    if (v.tag != V_TENSOR && v.tag != V_NONE) return exported_object(d, name, v);
    *out = value_ref(v);
    return CTSC_OK;
}

/* ---- finding --------------------------------------------------------------------------------- */

static ctsc_status exported_check(diag *d, archive *a) {
    static const struct { const char *record, *text; } words[] = {{"archive_format", "pt2"},
                                                                  {"archive_version", "0"}};
    for (int i = 0; i < 2; i++) {
        storage *st = NULL;
        TRY(archive_read(a, d, words[i].record, &st));
        size_t n = strlen(words[i].text);
        bool ok = st->nbytes >= n && st->nbytes <= n + 2 && !memcmp(st->data, words[i].text, n) &&
                  (st->nbytes == n || ((const char *)st->data)[n] == '\n' ||
                   ((const char *)st->data)[n] == '\r');
        storage_unref(st);
        if (!ok)
            return diag_fail(d, CTSC_UNSUPPORTED, "record %s: only '%s' is supported",
                             words[i].record, words[i].text);
    }
    return CTSC_OK;
}

/* NAME of models/NAME.json: "model" if it is there, else the only one. */
static ctsc_status exported_name(diag *d, archive *a, strbuf *name) {
    static const char folder[] = "models/", suffix[] = ".json";
    size_t count = 0, nf = sizeof folder - 1, ns = sizeof suffix - 1;
    bool binary = false;
    if (archive_has(a, "models/model.json")) return sb_puts(name, "model"), CTSC_OK;
    for (size_t i = 0; i < archive_count(a); i++) {
        const char *record = archive_record_name(a, i);
        size_t n = strlen(record);
        binary = binary || !strncmp(record, "data/aotinductor/", 17);
        if (n <= nf + ns || strncmp(record, folder, nf) || strcmp(record + n - ns, suffix) ||
            strchr(record + nf, '/'))
            continue;
        if (!count++) sb_write(name, record + nf, n - nf - ns);
    }
    if (count == 1) return CTSC_OK;
    if (count)
        return diag_fail(d, CTSC_UNSUPPORTED,
                         "the archive holds %zu programs, but none that is called 'model'", count);
    return diag_fail(d, binary ? CTSC_UNSUPPORTED : CTSC_BAD_FILE,
                     binary ? "the archive holds a program compiled by AOTInductor and no graph"
                            : "the archive holds no program (models/NAME.json)");
}

static ctsc_status exported_weights(diag *d, exported *x, const char *name) {
    ctsc_status s = CTSC_OK;
    for (int i = 0; i < 2 && s == CTSC_OK; i++) {
        exported_part *part = i ? &x->constants : &x->weights;
        const char *what = i ? "constants" : "weights";
        strbuf saved = STRBUF_INIT, config = STRBUF_INIT;
        sb_printf(&saved, "data/%s/%s.pt", what, name);
        sb_printf(&config, "data/%s/%s_%s_config.json", what, name, what);
        s = saved.failed || config.failed
                ? diag_no_memory(d)
                : exported_part_load(part, d, 1, (const char *const[]){sb_str(&saved)},
                                     sb_str(&config));
        sb_free(&saved);
        sb_free(&config);
    }
    return s;
}

/* The record of the program; its weights are in x. */
static ctsc_status exported_open(diag *d, archive *a, exported *x, strbuf *record) {
    static const char *const states[] = {"serialized_state_dict.pt", "serialized_state_dict.json"},
                             *const constants[] = {"serialized_constants.pt",
                                                   "serialized_constants.json"};
    if (archive_has(a, exported_flat)) {
        sb_puts(record, exported_flat);
        TRY(exported_part_load(&x->weights, d, 2, states, NULL));
        return exported_part_load(&x->constants, d, 2, constants, NULL);
    }
    strbuf name = STRBUF_INIT;
    ctsc_status s = exported_check(d, a);
    if (s == CTSC_OK) s = exported_name(d, a, &name);
    if (s == CTSC_OK) s = exported_weights(d, x, sb_str(&name));
    sb_printf(record, "models/%s.json", sb_str(&name));
    if (s == CTSC_OK && (name.failed || record->failed)) s = diag_no_memory(d);
    sb_free(&name);
    return s;
}

ctsc_status exported_load(diag *d, archive *a, module **out) {
    exported x = {.weights = {.a = a, .folder = "data/weights/"},
                  .constants = {.a = a, .folder = "data/constants/"}};
    ep_host host = {&x, exported_state};
    strbuf record = STRBUF_INIT;
    storage *st = NULL;
    module *m = NULL;
    ctsc_status s = exported_open(d, a, &x, &record);
    if (s == CTSC_OK) s = archive_read(a, d, sb_str(&record), &st);
    if (s == CTSC_OK && !(m = module_new_empty())) s = diag_no_memory(d);
    if (s == CTSC_OK)
        s = ep_import(d, m->unit, sb_str(&record), st->data, st->nbytes, &host, &m->root);
    storage_unref(st);
    sb_free(&record);
    exported_part_free(&x.weights);
    exported_part_free(&x.constants);
    if (s == CTSC_OK) *out = m;
    else module_free(m);
    return s;
}

ctsc_status exported_sample(diag *d, archive *a, value *out) {
    strbuf name = STRBUF_INIT, record = STRBUF_INIT;
    storage *st = NULL;
    reader r;
    value v = value_none();
    ctsc_status s = CTSC_OK;
    if (archive_has(a, exported_flat)) {
        sb_puts(&record, "serialized_example_inputs.pt");
    } else {
        s = exported_name(d, a, &name);
        sb_printf(&record, "data/sample_inputs/%s.pt", sb_str(&name));
    }
    if (s == CTSC_OK && (name.failed || record.failed)) s = diag_no_memory(d);
    if (s == CTSC_OK && archive_has(a, sb_str(&record)))
        s = archive_read(a, d, sb_str(&record), &st);
    if (s == CTSC_OK && st && st->nbytes) {
        s = reader_open_storage(d, st, &r);
        if (s == CTSC_OK) s = load_checkpoint(d, r, &v);
    }
    storage_unref(st);
    sb_free(&name);
    sb_free(&record);
    if (s == CTSC_OK) *out = v;
    return s;
}

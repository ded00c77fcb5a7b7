/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weights.c - files that hold tensors by name, of any format that formats.def has.
 *
 * Tests: tests/cli/weights.test, tests/cli/convert.test
 */
#include "runtime/program/weights.h"

#include "runtime/archive/archive_internal.h"
#include "runtime/program/formats.h"

#include <jansson.h>

static const char *const weights_suffixes[] = {"_scale", "_scale_inv"}; /* see the end */

enum {
    WEIGHTS_MAX_INDEX = 32 << 20,
    WEIGHTS_DEPTH = 2,
    WEIGHTS_SUFFIXES = sizeof weights_suffixes / sizeof *weights_suffixes
};

/* ---- weights in several files ---------------------------------------------------------------- *
 *
 *     {"metadata": {...}, "weight_map": {"fc.weight": "model-00001-of-00002.safetensors", ...}}
 *
 * Only names of the map count, whatever else is in the files; each is read once. */

typedef struct weights_index {
    diag *d;
    const char *folder; /* of the index, with a slash at its end, or "" */
    strmap shards;      /* file -> dict */
    dict *into;
    const dict *wanted; /* NULL: all */
} weights_index;

static ctsc_status weights_in_files(diag *d, reader r, const dict *wanted, value *out);

/* What is not a file that is known is taken for one of torch.save, to say what it lacks; so is an
 * index that an index names. */
static ctsc_status weights_file(diag *d, reader r, bool index, const dict *wanted, value *out) {
    const format *f = NULL;
    ctsc_status s = format_of_reader(d, &r, CTSC_FORMAT_WEIGHTS, &f);
    if (s != CTSC_OK) return reader_close(&r), s;
    if (f && index && f->weights == weights_of_index) return weights_in_files(d, r, wanted, out);
    bool fits = f && f->weights != weights_of_index;
    return fits ? f->weights(d, r, out) : load_checkpoint(d, r, out);
}

/* The dict of a file: the index's own folder, nothing elsewhere. */
static ctsc_status weights_shard(weights_index *x, const char *file, const dict **out) {
    reader r;
    value v = value_none();
    if ((*out = strmap_get(&x->shards, file))) return CTSC_OK;
    if (!*file || *file == '.' || strchr(file, '/') || strlen(file) > 255)
        return diag_fail(x->d, CTSC_BAD_FILE,
                         "the index of weights names '%.255s', which is not a file beside it",
                         file);
    strbuf path = STRBUF_INIT;
    sb_printf(&path, "%s%s", x->folder, file);
    ctsc_status s = path.failed ? diag_no_memory(x->d) : reader_open_file(x->d, sb_str(&path), &r);
    sb_free(&path);
    if (s == CTSC_OK) s = weights_file(x->d, r, false, NULL, &v);
    if (s == CTSC_OK && v.tag != V_DICT)
        s = diag_fail(x->d, CTSC_BAD_FILE, "%s does not hold a dict of tensors", file);
    if (s == CTSC_OK && !strmap_put(&x->shards, file, v.u.dict)) s = diag_no_memory(x->d);
    if (s == CTSC_OK) *out = v.u.dict;
    else value_unref(v);
    return s;
}

static ctsc_status weights_indexed(weights_index *x, const char *name, const json_t *file) {
    const dict *shard = NULL;
    value v;
    if (!json_is_string(file))
        return diag_fail(x->d, CTSC_BAD_FILE, "the index of weights: '%.200s' has no file", name);
    TRY(weights_shard(x, json_string_value(file), &shard));
    str *text = str_new(name, strlen(name));
    if (!text) return diag_no_memory(x->d);
    if (!dict_get(shard, (value){.tag = V_STR, .u.str = text}, &v) || v.tag != V_TENSOR) {
        value_unref(value_str_take(text));
        return diag_fail(x->d, CTSC_BAD_FILE, "%.200s has no tensor '%.200s'",
                         json_string_value(file), name);
    }
    return dict_set_take(x->into, value_str_take(text), value_ref(v)) ? CTSC_OK
                                                                      : diag_no_memory(x->d);
}

static bool weights_names(const dict *x, const char *name, size_t n) {
    value v;
    str *key = str_new(name, n);
    bool found = key && dict_get(x, (value){.tag = V_STR, .u.str = key}, &v);
    if (key) value_unref(value_str_take(key));
    return found;
}

/* Also the scale of a tensor that is wanted. */
static bool weights_wanted(const dict *wanted, const char *name) {
    size_t n = strlen(name);
    bool is = !wanted || weights_names(wanted, name, n);
    for (int i = 0; !is && i < WEIGHTS_SUFFIXES; i++) {
        size_t k = strlen(weights_suffixes[i]);
        is = n > k && !strcmp(name + n - k, weights_suffixes[i]) &&
             weights_names(wanted, name, n - k);
    }
    return is;
}

static ctsc_status weights_map(weights_index *x, json_t *map) {
    const char *name;
    json_t *file;
    json_object_foreach(map, name, file) if (weights_wanted(x->wanted, name))
        TRY(weights_indexed(x, name, file));
    return CTSC_OK;
}

static ctsc_status weights_parse(diag *d, reader r, json_t **out) {
    storage *text = NULL;
    json_error_t error;
    TRY(reader_contents(d, r, &text));
    bool large = text->nbytes > WEIGHTS_MAX_INDEX;
    *out = large ? NULL : json_loadb(text->data, text->nbytes, JSON_REJECT_DUPLICATES, &error);
    storage_unref(text);
    if (*out && json_is_object(json_object_get(*out, "weight_map"))) return CTSC_OK;
    return diag_fail(d, large ? CTSC_LIMIT : CTSC_BAD_FILE, "%s%s",
                     large  ? "the index of weights is too large"
                     : *out ? "a JSON file without a \"weight_map\" is not an index of weights"
                            : "damaged index of weights: ",
                     *out || large ? "" : error.text);
}

static ctsc_status weights_in_files(diag *d, reader r, const dict *wanted, value *out) {
    const char *path = r.path ? r.path : "", *slash = strrchr(path, '/');
    json_t *json = NULL;
    char *folder = mem_strdup(path);
    if (folder) folder[slash ? slash + 1 - path : 0] = '\0';
    weights_index x = {
        .d = d, .folder = folder, .into = dict_new(TYPE_STR, TYPE_TENSOR), .wanted = wanted};
    ctsc_status s = weights_parse(d, r, &json);
    if (s == CTSC_OK && (!folder || !x.into)) s = diag_no_memory(d);
    if (s == CTSC_OK) s = weights_map(&x, json_object_get(json, "weight_map"));
    for (size_t i = 0; i < x.shards.cap; i++)
        if (x.shards.slots[i].key) value_unref(value_dict_take(x.shards.slots[i].value));
    strmap_free(&x.shards);
    json_decref(json);
    mem_free(folder);
    if (s == CTSC_OK) *out = value_dict_take(x.into);
    else if (x.into) value_unref(value_dict_take(x.into));
    return s;
}

ctsc_status weights_of_index(diag *d, reader r, value *out) {
    return weights_in_files(d, r, NULL, out);
}

static ctsc_status weights_read(diag *d, const char *path, const dict *wanted, value *out) {
    reader r;
    TRY(reader_open_file(d, path, &r));
    r.path = path;
    return weights_file(d, r, true, wanted, out);
}

ctsc_status weights_values(diag *d, const char *path, value *out) {
    return weights_read(d, path, NULL, out);
}

/* A zip that holds a program; NULL: the file is none. */
static archive *weights_archive(const char *path) {
    diag quiet = {0};
    reader r;
    archive *a = NULL;
    const format *f = NULL;
    if (reader_open_file(&quiet, path, &r) == CTSC_OK && archive_open(&quiet, r, &a) == CTSC_OK)
        f = format_of_archive(a);
    diag_clear(&quiet);
    if (f && f->archive) return a;
    archive_unref(a);
    return NULL;
}

/* The parameters and buffers of an archive, named as in a state_dict. */
static ctsc_status weights_of_archive(diag *d, archive *a, value *out) {
    module *m = NULL;
    ctsc_status s = format_of_archive(a)->archive(d, a, &m);
    if (s == CTSC_OK) s = module_tensors(m, d, true, true, out);
    module_free(m);
    return s;
}

static ctsc_status weights_dict_of(diag *d, const char *path, const dict *wanted, value *out) {
    value v = value_none();
    archive *a = weights_archive(path);
    if (a) {
        ctsc_status s = weights_of_archive(d, a, out);
        archive_unref(a);
        return s;
    }
    TRY(weights_read(d, path, wanted, &v));
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

static ctsc_status weights_part(diag *d, const char *path, const dict *wanted, value *out) {
    ctsc_status s = weights_dict_of(d, path, wanted, out);
    if (s == CTSC_BAD_FILE) diag_name_file(d, path);
    return s;
}

ctsc_status weights_dict(diag *d, const char *path, value *out) {
    return weights_part(d, path, NULL, out);
}

/* ---- the state_dict in a checkpoint ---------------------------------------------------------- *
 *
 * Training scripts keep it beside losses, random states, optimizers and averages. It is
 *
 *     a dict of nothing but tensors; else
 *     what is kept under one of the usual names, the first of them; else
 *     the dict itself, if tensors in it have names as parameters have; else
 *     the only dict of tensors inside.
 */

static const char *const weights_usual[] = {
    "state_dict", "model_state_dict", "model_state", "model",  "module",
    "net",        "network",          "weights",     "params",
};

typedef struct weights_search {
    dict *found;
    strbuf names; /* "'generator', 'discriminator'" */
    size_t count;
} weights_search;

static dict *weights_entry(const dict *x, const char *name) {
    for (size_t i = 0; i < x->used; i++)
        if (x->entries[i].key.tag == V_STR && x->entries[i].val.tag == V_DICT &&
            !strcmp(x->entries[i].key.u.str->bytes, name))
            return x->entries[i].val.u.dict;
    return NULL;
}

static size_t weights_tensors(const dict *x) {
    size_t n = 0;
    for (size_t i = 0; i < x->used; i++)
        n += x->entries[i].key.tag == V_STR && x->entries[i].val.tag == V_TENSOR;
    return n;
}

/* Nothing but random states: "rng_state", "cuda_rng_state". */
static bool weights_are_random(const dict *x) {
    for (size_t i = 0; i < x->used; i++)
        if (x->entries[i].key.tag == V_STR && !strstr(x->entries[i].key.u.str->bytes, "rng"))
            return false;
    return true;
}

/* "fc.weight", "weight": tensors of modules; "loss" is none. */
static bool weights_of_module(const dict *x) {
    for (size_t i = 0; i < x->used; i++) {
        if (x->entries[i].key.tag != V_STR || x->entries[i].val.tag != V_TENSOR) continue;
        const char *name = x->entries[i].key.u.str->bytes;
        if (strchr(name, '.') || !strcmp(name, "weight") || !strcmp(name, "bias")) return true;
    }
    return false;
}

static dict *weights_chosen(dict *x, int depth) {
    dict *in = NULL;
    if (weights_tensors(x) == x->len && x->len) return weights_are_random(x) ? NULL : x;
    for (size_t i = 0; depth < WEIGHTS_DEPTH && i < sizeof weights_usual / sizeof *weights_usual;
         i++)
        if ((in = weights_entry(x, weights_usual[i])) && (in = weights_chosen(in, depth + 1)))
            return in;
    return weights_of_module(x) ? x : NULL;
}

/* The dicts inside of x that could be it. */
static void weights_find(weights_search *w, const dict *x, int depth) {
    for (size_t i = 0; i < x->used; i++) {
        const dict_entry *e = &x->entries[i];
        if (e->key.tag != V_STR || e->val.tag != V_DICT) continue;
        dict *chosen = weights_chosen(e->val.u.dict, depth + 1);
        if (chosen) {
            sb_printf(&w->names, "%s'%.100s'", w->count++ ? ", " : "", e->key.u.str->bytes);
            w->found = chosen;
        } else if (depth + 1 < WEIGHTS_DEPTH) {
            weights_find(w, e->val.u.dict, depth + 1);
        }
    }
}

/* x without what is not a tensor: state_dict() of PyTorch may hold the extra state of modules. */
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

ctsc_status weights_state(diag *d, const char *path, const dict *wanted, value *out) {
    value v = value_none();
    TRY(weights_part(d, path, wanted, &v));
    weights_search w = {.names = STRBUF_INIT};
    ctsc_status s = CTSC_OK;
    w.found = v.u.dict->len ? weights_chosen(v.u.dict, 0) : v.u.dict;
    if (!w.found) weights_find(&w, v.u.dict, 0);
    if (!w.found)
        s = diag_fail(d, CTSC_BAD_FILE,
                      "%s does not hold a state_dict (a dict of names and tensors)%s", path,
                      weights_tensors(v.u.dict) ? ", only single tensors beside other things" : "");
    else if (w.count > 1)
        s = diag_fail(d, CTSC_BAD_FILE, "%s holds %zu dicts of tensors: %s", path, w.count,
                      sb_str(&w.names));
    if (s == CTSC_OK) s = weights_only(d, w.found, out);
    sb_free(&w.names);
    value_unref(v);
    return s;
}

/* ---- scales beside weights ------------------------------------------------------------------- *
 *
 *     fc.weight             float8_e4m3fn or the like, int8
 *     fc.weight_scale       what it is multiplied with: of the tensor, of rows, of blocks
 *     fc.weight_scale_inv   the same, as DeepSeek names it
 *     fc.input_scale        of activations, for computing in eight bits
 */

/* The tensor called by the first n bytes of a name, and a suffix. */
static tensor *weights_find_tensor(const dict *x, const char *name, size_t n, const char *suffix) {
    strbuf sb = STRBUF_INIT;
    value v = value_none();
    sb_printf(&sb, "%.*s%s", (int)n, name, suffix);
    str *key = sb.failed ? NULL : str_new(sb_str(&sb), sb.len);
    bool found = key && dict_get(x, (value){.tag = V_STR, .u.str = key}, &v) && v.tag == V_TENSOR;
    if (key) value_unref(value_str_take(key));
    sb_free(&sb);
    return found ? v.u.tensor : NULL;
}

static bool weights_is_narrow(const tensor *t) {
    return t->dtype == DT_INT8 ||
           (dtype_is_float8((dtype)t->dtype) && t->dtype != DT_FLOAT8_E8M0FNU);
}

static tensor *weights_scale_of(const dict *own, const dict *given, const char *name, size_t n) {
    const tensor *t = weights_find_tensor(given, name, n, ""),
                 *mine = t ? weights_find_tensor(own, name, n, "") : NULL;
    if (!mine || !weights_is_narrow(t) || weights_is_narrow(mine) ||
        !dtype_is_float((dtype)mine->dtype))
        return NULL;
    for (int i = 0; i < WEIGHTS_SUFFIXES; i++) {
        tensor *scale = weights_find_tensor(given, name, n, weights_suffixes[i]);
        if (scale && !weights_find_tensor(own, name, n, weights_suffixes[i])) return scale;
    }
    return NULL;
}

tensor *weights_scale(const dict *own, const dict *given, const str *name) {
    return weights_scale_of(own, given, name->bytes, name->len);
}

bool weights_is_scale(const dict *own, const dict *given, const str *name) {
    static const char input[] = "input_scale";
    size_t n = name->len;
    for (int i = 0; i < WEIGHTS_SUFFIXES; i++) {
        size_t k = strlen(weights_suffixes[i]);
        if (n > k && !strcmp(name->bytes + n - k, weights_suffixes[i]) &&
            weights_scale_of(own, given, name->bytes, n - k))
            return true;
    }
    size_t k = sizeof input - 1;
    if (n < k || strcmp(name->bytes + n - k, input)) return false;
    strbuf weight = STRBUF_INIT;
    sb_printf(&weight, "%.*sweight", (int)(n - k), name->bytes);
    bool is = !weight.failed && weights_scale_of(own, given, sb_str(&weight), weight.len) != NULL;
    sb_free(&weight);
    return is;
}

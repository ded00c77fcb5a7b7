/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchscript.c - reads an archive of torch.jit.save: code through the importer, attributes through
 * the unpickler.
 *
 * Order: version, constants.pkl (CONSTANTS.cN of the code), then data.pkl. Classes are pulled from
 * code/ when a pickle names them. An object's state is a dict with one entry per attribute of its
 * class, each conforming to the attribute's static type; or, if the class has __getstate__ and
 * __setstate__, whatever that method takes: it is the one part of a program that runs while
 * loading, under the limits of TORCHSCRIPT_SETSTATE_STEPS and without access to files.
 *
 * Ownership: tensors of the module are slices of the file's mapping and keep it
 * alive by themselves.
 * Tests: tests/corpus, tests/fuzz/fuzz_archive.c
 */
#include "runtime/program/torchscript.h"

#include "frontend/codeload/importer.h"
#include "frontend/irgen/irgen.h"
#include "ir/native.h"
#include "runtime/archive/archive_internal.h"
#include "runtime/interp/interp.h"

enum { TORCHSCRIPT_MIN_VERSION = 1, TORCHSCRIPT_MAX_VERSION = 10 };
#define TORCHSCRIPT_SETSTATE_STEPS 100000000ull
#define TORCHSCRIPT_MAX_CODE ((size_t)64 << 20)

typedef struct torchscript_loader {
    diag *d;
    archive *a;
    unit *u;
    int64_t version;
    archive_storages storages; /* of the pickle being read */
    conformer conform;
} torchscript_loader;

/* ---- the version ----------------------------------------------------------------------------- */

static ctsc_status torchscript_parse_version(diag *d, const char *record, const storage *st,
                                             int64_t *out) {
    const char *p = st->data;
    size_t n = st->nbytes;
    while (n && (p[n - 1] == '\n' || p[n - 1] == '\r' || p[n - 1] == ' ')) n--;
    int64_t v = 0;
    bool ok = n > 0 && n <= 18;
    for (size_t i = 0; i < n && ok; i++) {
        ok = p[i] >= '0' && p[i] <= '9';
        v = v * 10 + (p[i] - '0');
    }
    if (!ok) return diag_fail(d, CTSC_BAD_FILE, "record %s: not a version number", record);
    if (v < TORCHSCRIPT_MIN_VERSION)
        return diag_fail(
            d, CTSC_BAD_FILE,
            "Attempted to read a PyTorch file with version %lld, but the minimum supported "
            "version for reading is %d",
            (long long)v, TORCHSCRIPT_MIN_VERSION);
    if (v > TORCHSCRIPT_MAX_VERSION)
        return diag_fail(
            d, CTSC_UNSUPPORTED,
            "Attempted to read a PyTorch file with version %lld, but the maximum supported file "
            "format version is %d",
            (long long)v, TORCHSCRIPT_MAX_VERSION);
    *out = v;
    return CTSC_OK;
}

static ctsc_status torchscript_version(torchscript_loader *l) {
    const char *record = archive_has(l->a, ".data/version") ? ".data/version" : "version";
    if (archive_has(l->a, "model.json"))
        return diag_fail(
            l->d, CTSC_UNSUPPORTED,
            "the file was written by PyTorch 1.2 or older (model.json); load and save it "
            "with a newer version");
    if (!archive_has(l->a, record))
        return diag_fail(l->d, CTSC_BAD_FILE, "record version: missing, not an archive of PyTorch");
    if (!archive_has(l->a, "constants.pkl"))
        return diag_fail(l->d, CTSC_BAD_FILE,
                         "PytorchStreamReader failed locating file constants.pkl: file not found%s",
                         archive_has(l->a, "data.pkl")
                             ? " (a file from torch.save(), not torch.jit.save()?)"
                             : "");
    storage *st = NULL;
    ctsc_status s = archive_read(l->a, l->d, record, &st);
    if (s == CTSC_OK) s = torchscript_parse_version(l->d, record, st, &l->version);
    storage_unref(st);
    return s;
}

/* ---- code ------------------------------------------------------------------------------------ */

static ctsc_status torchscript_code_source(archive *a, diag *d, const char *record,
                                           const char *debug, source **out) {
    storage *st = NULL;
    ctsc_status s = archive_read(a, d, record, &st);
    if (s != CTSC_OK) return s;
    source *src = NULL;
    if (st->nbytes > TORCHSCRIPT_MAX_CODE)
        s = diag_fail(d, CTSC_LIMIT, "record %s: %zu bytes of code", record, st->nbytes);
    else if (memchr(st->data, '\0', st->nbytes))
        s = diag_fail(d, CTSC_BAD_FILE, "record %s: not text", record);
    else if (!(src = source_new(record, st->data, st->nbytes))) s = diag_no_memory(d);
    storage_unref(st);
    if (s == CTSC_OK && archive_has(a, debug)) s = debuginfo_attach(d, a, debug, src);
    if (s == CTSC_OK) *out = src;
    else source_unref(src);
    return s;
}

static ctsc_status torchscript_read_code(void *ctx, diag *d, const char *name, source **out) {
    strbuf record = STRBUF_INIT, debug = STRBUF_INIT;
    sb_printf(&record, "code/%s", name);
    sb_printf(&debug, "code/%s.debug_pkl", name);
    ctsc_status s = CTSC_OK;
    *out = NULL;
    if (record.failed || debug.failed) s = diag_no_memory(d);
    else if (archive_has(ctx, sb_str(&record)))
        s = torchscript_code_source(ctx, d, sb_str(&record), sb_str(&debug), out);
    sb_free(&record);
    sb_free(&debug);
    return s;
}

static void torchscript_code_free(void *ctx) { archive_unref(ctx); }

/* ---- objects --------------------------------------------------------------------------------- */

static ctsc_status torchscript_storage(void *ctx, diag *d, const char *key, dtype dt,
                                       uint64_t numel, storage **out) {
    return archive_storages_get(&((torchscript_loader *)ctx)->storages, d, key, dt, numel, out);
}

static ctsc_status torchscript_class_type(void *ctx, diag *d, const char *qualified, type **out) {
    torchscript_loader *l = ctx;
    function *fn = NULL;
    type *cls = NULL;
    if (!strncmp(qualified, NATIVE_PREFIX, sizeof NATIVE_PREFIX - 1) && !native_class(qualified))
        return diag_fail(d, CTSC_UNSUPPORTED, "objects of C++ classes (%s) are not supported",
                         qualified);
    ctsc_status s = unit_resolve(l->u, d, qualified, &cls, &fn);
    if (s == CTSC_OK) *out = cls;
    return s;
}

static ctsc_status torchscript_parse_type(void *ctx, diag *d, const char *text, type **out) {
    return importer_parse_type(((torchscript_loader *)ctx)->u, d, text, out);
}

static ctsc_status torchscript_missing(torchscript_loader *l, const type *cls, const attribute *at,
                                       const char *why) {
    strbuf t = STRBUF_INIT;
    type_print_python(at->type, &t);
    ctsc_status s = diag_fail(l->d, CTSC_BAD_FILE, "%s: attribute '%s' of %s (type '%s') %s",
                              l->conform.record, at->name, class_name(cls), sb_str(&t), why);
    sb_free(&t);
    return s;
}

static ctsc_status torchscript_set_attribute(torchscript_loader *l, object *o, size_t slot,
                                             const dict *state) {
    const attribute *at = &o->cls->cls->attributes.data[slot];
    str *name = str_new(at->name, strlen(at->name));
    if (!name) return diag_no_memory(l->d);
    value key = value_str_take(name), found;
    bool has = dict_get(state, key, &found);
    value_unref(key);
    if (!has && !type_admits_none(at->type))
        return torchscript_missing(l, o->cls, at, "is missing");
    value v = has ? value_ref(found) : value_none();
    ctsc_status s = conform(&l->conform, at->type, &v, class_name(o->cls), at->name);
    if (s == CTSC_OK) value_set(&o->slots[slot], v);
    else value_unref(v);
    return s;
}

/* obj.__setstate__(state) */
static ctsc_status torchscript_set_state(torchscript_loader *l, object *o, function *f,
                                         value state) {
    if (f->schema->nargs != 2)
        return diag_fail(l->d, CTSC_BAD_FILE, "%s: %s does not take one state", l->conform.record,
                         f->qualified);
    value args[2] = {{.tag = V_OBJECT, .u.object = o}, value_ref(state)}, result = value_none();
    runtime *rt = NULL;
    ctsc_status s = conform(&l->conform, f->schema->args[1].type, &args[1], class_name(o->cls),
                            "__setstate__");
    if (s == CTSC_OK && !(rt = mem_zalloc(sizeof *rt))) s = diag_no_memory(l->d);
    if (s == CTSC_OK) {
        runtime_init(rt);
        rt->steps_left = TORCHSCRIPT_SETSTATE_STEPS;
        s = interp_call(rt, f, 2, args, l->d, &result);
    }
    mem_free(rt);
    value_unref(result);
    value_unref(args[1]);
    for (size_t i = 0; i < o->nslots && s == CTSC_OK; i++) {
        const attribute *at = &o->cls->cls->attributes.data[i];
        if (o->slots[i].tag != V_UNINIT) continue;
        if (type_admits_none(at->type)) o->slots[i] = value_none();
        else s = torchscript_missing(l, o->cls, at, "was left uninitialized after '__setstate__'");
    }
    return s;
}

static ctsc_status torchscript_build(void *ctx, diag *d, object *o, value state) {
    torchscript_loader *l = ctx;
    if (o->nslots != o->cls->cls->attributes.len)
        return diag_fail(d, CTSC_BAD_FILE, "%s: %s changed while it was loaded", l->conform.record,
                         class_name(o->cls));
    function *set_state = class_has_own_state(o->cls) ? class_find_method(o->cls, "__setstate__")
                                                      : NULL;
    if (set_state) return torchscript_set_state(l, o, set_state, state);
    if (state.tag != V_DICT)
        return diag_fail(d, CTSC_BAD_FILE, "%s: the state of a %s is not a dict", l->conform.record,
                         class_name(o->cls));
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; i < o->nslots && s == CTSC_OK; i++)
        s = torchscript_set_attribute(l, o, i, state.u.dict);
    return s;
}

/* One pickle with its folder of storages. */
static ctsc_status torchscript_unpickle(torchscript_loader *l, const char *record,
                                        const char *folder, value *out) {
    unpickle_host host = {l, torchscript_storage, torchscript_class_type, torchscript_build,
                          torchscript_parse_type};
    storage *st = NULL;
    size_t pos = 0;
    l->storages = (archive_storages){.a = l->a, .folder = folder};
    l->conform = (conformer){.d = l->d, .record = record};
    ctsc_status s = archive_read(l->a, l->d, record, &st);
    if (s == CTSC_OK) s = unpickle(l->d, record, st->data, st->nbytes, &pos, &host, out);
    storage_unref(st);
    archive_storages_free(&l->storages);
    conformer_free(&l->conform);
    return s;
}

/* ---- loading --------------------------------------------------------------------------------- */

static ctsc_status torchscript_load_code(torchscript_loader *l) {
    importer_host host = {archive_ref(l->a), torchscript_read_code, torchscript_code_free};
    TRY(importer_attach(l->d, l->u, &host, l->version));
    l->u->compile = irgen_function;
    value constants = value_none();
    ctsc_status s = torchscript_unpickle(l, "constants.pkl", "constants/", &constants);
    if (s == CTSC_OK && constants.tag != V_TUPLE)
        s = diag_fail(l->d, CTSC_BAD_FILE, "constants.pkl: not a tuple");
    if (s == CTSC_OK) value_set(&l->u->constants, constants);
    else value_unref(constants);
    return s;
}

static ctsc_status torchscript_load_data(torchscript_loader *l, value *root) {
    ctsc_status s = torchscript_unpickle(l, "data.pkl", "data/", root);
    if (s == CTSC_OK && (root->tag != V_OBJECT || !root->u.object->cls->cls->is_module))
        s = diag_fail(l->d, CTSC_BAD_FILE, "data.pkl: the archive does not hold a module");
    return s;
}

bool torchscript_is(const archive *a) {
    return archive_has(a, "constants.pkl") || archive_has(a, "model.json");
}

ctsc_status torchscript_load(diag *d, archive *a, module **out) {
    torchscript_loader l = {.d = d, .a = a};
    TRY(torchscript_version(&l));
    module *m = module_new_empty();
    if (!m) return diag_no_memory(d);
    l.u = m->unit;
    m->version = l.version;
    ctsc_status s = torchscript_load_code(&l);
    if (s == CTSC_OK) s = torchscript_load_data(&l, &m->root);
    if (s == CTSC_OK) *out = m;
    else module_free(m);
    return s;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export.c - writes a module as torch.jit.save does: its objects as a pickle, its classes and
 * functions as code.
 *
 * Order of the records, which is PyTorch's: data/N, data.pkl, each code file and its debug record,
 * constants/N, constants.pkl, version. Classes are printed in the order in which the pickle names
 * them, then everything that code mentions. All of it is made before the file is begun.
 *
 * The module must not run or change while it is saved: its attributes are read without a lock.
 * Tests: tests/unit/test_export.c, tests/interop/resave.py
 */
#include "runtime/save/export.h"
#include "frontend/codeprint/print_code.h"
#include "runtime/interp/interp.h"

enum { EXPORT_MIN_DEFLATE = 200, EXPORT_NEW_VERSION_RECORD = 6, EXPORT_MAX_FOLDER = 200 };
#define EXPORT_GETSTATE_STEPS 100000000ull

typedef struct exporter {
    diag *d;
    const module *m;
    code_program code;
    pickler data, constants;
    VEC(type *) classes; /* of the objects in the pickle, in order */
    bool failed;
} exporter;

/* ---- objects --------------------------------------------------------------------------------- */

/* obj.__getstate__() */
static ctsc_status export_state(void *ctx, diag *d, object *o, value *state) {
    (void)ctx;
    function *get = class_find_method(o->cls, "__getstate__");
    value self = {.tag = V_OBJECT, .u.object = o};
    runtime *rt = mem_zalloc(sizeof *rt);
    if (!rt) return diag_no_memory(d);
    runtime_init(rt);
    rt->steps_left = EXPORT_GETSTATE_STEPS;
    ctsc_status s = interp_call(rt, get, 1, &self, d, state);
    mem_free(rt);
    return s;
}

static void export_class_named(void *ctx, type *t) {
    exporter *x = ctx;
    code_note_type(&x->code, t);
}

/* In data.pkl the classes of objects are also the first to be printed. */
static void export_data_class(void *ctx, type *t) {
    exporter *x = ctx;
    if (t->kind == T_CLASS && !vec_push(&x->classes, t)) x->failed = true;
}

static ctsc_status export_data(exporter *x) {
    pickler_host host = {x, export_state, export_data_class};
    if (!pickler_begin(&x->data, x->d, &host, false)) return diag_no_memory(x->d);
    ctsc_status s = pickler_value(&x->data, x->m->root, NULL);
    if (s == CTSC_OK) s = pickler_end(&x->data);
    x->data.host = NULL;
    return s == CTSC_OK && x->failed ? diag_no_memory(x->d) : s;
}

/* ---- code ------------------------------------------------------------------------------------ */

/* The table of constants as it is now. */
static ctsc_status export_constants(exporter *x) {
    pickler_host host = {x, export_state, export_class_named};
    size_t n = x->code.constants.len;
    tuple *all = tuple_new(n, NULL);
    if (!all) return diag_no_memory(x->d);
    for (size_t i = 0; i < n; i++) all->items[i] = value_ref(x->code.constants.data[i].v);
    pickler_free(&x->constants);
    ctsc_status s = pickler_begin(&x->constants, x->d, &host, false) ? CTSC_OK
                                                                     : diag_no_memory(x->d);
    if (s == CTSC_OK) s = pickler_value(&x->constants, value_tuple_take(all), NULL);
    if (s == CTSC_OK) s = pickler_end(&x->constants);
    x->constants.host = NULL;
    value_unref(value_tuple_take(all));
    return s;
}

/* Constants may be objects of classes that nothing else mentions, and those classes have
 * code with constants. */
static ctsc_status export_code(exporter *x) {
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; i < x->classes.len && s == CTSC_OK; i++)
        s = code_print_class(&x->code, x->classes.data[i]);
    if (s == CTSC_OK) s = code_print_class(&x->code, x->m->root.u.object->cls);
    size_t constants, found;
    do {
        if (s == CTSC_OK) s = code_print_found(&x->code);
        constants = x->code.constants.len;
        found = x->code.found.len;
        if (s == CTSC_OK) s = export_constants(x);
        if (s == CTSC_OK) s = x->code.status;
    } while (s == CTSC_OK && (x->code.found.len != found || x->code.constants.len != constants));
    return s;
}

/* ---- the file -------------------------------------------------------------------------------- */

/* code/__torch__/a/b.py for the module __torch__.a.b */
static ctsc_status export_file(exporter *x, zip_writer *z, const code_file *f) {
    strbuf name = STRBUF_INIT, debug = STRBUF_INIT;
    sb_printf(&name, "code/%s", f->module);
    for (size_t i = 0; i < name.len; i++)
        if (name.data[i] == '.') name.data[i] = '/';
    sb_puts(&name, ".py");
    const strbuf *text = &f->text.text;
    ctsc_status s = name.failed || text->failed ? diag_no_memory(x->d) : CTSC_OK;
    if (s == CTSC_OK)
        s = zip_writer_add(z, x->d, sb_str(&name), sb_str(text), text->len,
                           text->len > EXPORT_MIN_DEFLATE);
    if (s == CTSC_OK) s = export_debug_record(x->d, &f->text, &debug);
    sb_puts(&name, ".debug_pkl");
    if (s == CTSC_OK && name.failed) s = diag_no_memory(x->d);
    if (s == CTSC_OK)
        s = zip_writer_add(z, x->d, sb_str(&name), sb_str(&debug), debug.len,
                           debug.len > EXPORT_MIN_DEFLATE);
    sb_free(&name);
    sb_free(&debug);
    return s;
}

static ctsc_status export_records(exporter *x, zip_writer *z) {
    char version[24];
    bool new_name = x->code.version >= EXPORT_NEW_VERSION_RECORD;
    snprintf(version, sizeof version, "%lld\n", (long long)x->code.version);
    ctsc_status s = pickler_add_records(&x->data, z, "data.pkl", "data/");
    for (size_t i = 0; i < x->code.files.len && s == CTSC_OK; i++)
        s = export_file(x, z, x->code.files.data[i]);
    if (s == CTSC_OK) s = pickler_add_records(&x->constants, z, "constants.pkl", "constants/");
    if (s == CTSC_OK)
        s = zip_writer_add(z, x->d, new_name ? ".data/version" : "version", version,
                           strlen(version), false);
    return s;
}

/* The top folder: the file's name without its extension, as far as readers accept it. */
static void export_folder(const char *path, char out[EXPORT_MAX_FOLDER + 1]) {
    const char *base = strrchr(path, '/'), *dot;
    base = base ? base + 1 : path;
    dot = strrchr(base, '.');
    size_t n = dot ? (size_t)(dot - base) : strlen(base);
    if (n > EXPORT_MAX_FOLDER) /* whole characters */
        for (n = EXPORT_MAX_FOLDER; n && ((unsigned char)base[n] & 0xc0) == 0x80;) n--;
    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)base[i];
        out[i] = c < ' ' || c == 127 || c == '\\' ? '_' : (char)c;
    }
    out[n] = '\0';
    if (!n || !strcmp(out, ".") || !strcmp(out, "..")) strcpy(out, "archive");
}

static ctsc_status export_write(exporter *x, const char *path) {
    char folder[EXPORT_MAX_FOLDER + 1];
    zip_writer *z = NULL;
    export_folder(path, folder);
    ctsc_status s = zip_writer_open(x->d, path, folder, &z);
    if (s == CTSC_OK) s = export_records(x, z);
    if (s == CTSC_OK) s = zip_writer_commit(z, x->d);
    zip_writer_free(z);
    return s;
}

ctsc_status module_save(diag *d, const module *m, const char *path) {
    exporter x = {.d = d, .m = m};
    ctsc_status s = code_program_init(&x.code, d);
    if (s == CTSC_OK) s = export_data(&x);
    if (s == CTSC_OK) s = export_code(&x);
    if (s == CTSC_OK) s = export_write(&x, path);
    vec_free(&x.classes);
    pickler_free(&x.data);
    pickler_free(&x.constants);
    code_program_free(&x.code);
    return s;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * export_debug.c - the debug records of an archive: the part
 * of the original source for each part of the printed code.
 *
 * The inverse of debuginfo.c, which describes the format. A source is written as the numbers of its
 * lines in a table of strings, which all sources of the record share.
 * Tests: tests/unit/test_export.c
 */
#include "frontend/codeprint/print_code.h"
#include "runtime/save/export.h"

typedef struct debug_source {
    const source *src; /* NULL: no place */
    int64_t *lines;
    size_t nlines;
    int64_t name;
    uint32_t memo; /* + 1; 0: not written yet */
} debug_source;

typedef struct debug_string {
    const char *s;
    size_t len;
} debug_string;

typedef struct debug_writer {
    diag *d;
    arena arena;
    strmap index; /* string -> number + 1 */
    VEC(debug_string) strings;
    ptrmap sources; /* source (the writer itself for none) -> debug_source */
    bool failed;
} debug_writer;

static int64_t debug_add_string(debug_writer *w, const char *s, size_t len) {
    intptr_t known = (intptr_t)strmap_getn(&w->index, s, len);
    debug_string one = {s, len};
    if (known) return known - 1;
    if (!vec_push(&w->strings, one) ||
        !strmap_putn(&w->index, s, len, (void *)(intptr_t)w->strings.len)) {
        w->failed = true;
        return 0;
    }
    return (int64_t)w->strings.len - 1;
}

static debug_source *debug_add_source(debug_writer *w, const source *src) {
    const void *key = src ? (const void *)src : (const void *)w;
    debug_source *ds = ptrmap_get(&w->sources, key);
    if (ds) return ds;
    ds = arena_new(&w->arena, debug_source);
    ds->src = src;
    size_t n = 0, len = src ? src->len : 0;
    for (size_t i = 0; i < len; i++) n += src->text[i] == '\n' || i + 1 == len;
    ds->lines = arena_array(&w->arena, int64_t, n + 1);
    if (!ds->lines || arena_failed(&w->arena) || !ptrmap_put(&w->sources, key, ds)) {
        w->failed = true;
        return NULL;
    }
    for (size_t begin = 0; begin < len && ds->nlines < n;) {
        const char *nl = memchr(src->text + begin, '\n', len - begin);
        size_t end = nl ? (size_t)(nl - src->text) + 1 : len;
        ds->lines[ds->nlines++] = debug_add_string(w, src->text + begin, end - begin);
        begin = end;
    }
    ds->name = debug_add_string(w, src ? src->name : "", src ? strlen(src->name) : 0);
    return ds;
}

/* ([line, ...], name, first line) */
static void debug_write_source(pickler *p, debug_source *ds) {
    if (ds->memo) {
        pickler_get(p, ds->memo - 1);
        return;
    }
    pickler_global(p, "torch.jit._pickle", "build_intlist");
    pickler_op(p, '(');
    pickler_op(p, ']');
    pickler_op(p, '(');
    for (size_t i = 0; i < ds->nlines; i++) pickler_int(p, ds->lines[i]);
    pickler_op(p, 'e');
    pickler_op(p, 't');
    pickler_op(p, 'R');
    pickler_int(p, ds->name);
    pickler_int(p, ds->src ? ds->src->first_line : 0);
    pickler_tuple_end(p, 3);
    ds->memo = pickler_put(p) + 1;
}

static void debug_write_place(debug_writer *w, pickler *p, const code_place *place) {
    debug_source *ds = debug_add_source(w, place->range.src);
    if (!ds) return;
    pickler_int(p, (int64_t)place->offset);
    debug_write_source(p, ds);
    pickler_int(p, ds->src ? place->range.begin : 0);
    pickler_int(p, ds->src ? place->range.end : 0);
    pickler_tuple_end(p, 3);
    pickler_int(p, -1); /* no tag: they serve the interpreter of phones */
    pickler_tuple_end(p, 3);
}

static ctsc_status debug_write(debug_writer *w, pickler *p, const code_text *text) {
    for (size_t i = 0; i < text->places.len && !w->failed; i++)
        debug_add_source(w, text->places.data[i].range.src);
    pickler_text(p, "FORMAT_WITH_STRING_TABLE", 24);
    pickler_op(p, '(');
    for (size_t i = 0; i < w->strings.len && !w->failed; i++)
        pickler_text(p, w->strings.data[i].s, w->strings.data[i].len);
    pickler_op(p, 't');
    pickler_op(p, '(');
    for (size_t i = 0; i < text->places.len && !w->failed; i++)
        debug_write_place(w, p, &text->places.data[i]);
    pickler_op(p, 't');
    pickler_tuple_end(p, 3);
    ctsc_status s = pickler_end(p);
    return w->failed ? diag_no_memory(w->d) : s;
}

ctsc_status export_debug_record(diag *d, const code_text *text, strbuf *out) {
    debug_writer w = {.d = d};
    pickler p;
    bool ok = pickler_begin(&p, d, NULL, false);
    ctsc_status s = arena_init(&w.arena) && ok ? debug_write(&w, &p, text) : diag_no_memory(d);
    if (s == CTSC_OK) sb_write(out, sb_str(&p.out), p.out.len);
    pickler_free(&p);
    strmap_free(&w.index);
    vec_free(&w.strings);
    ptrmap_free(&w.sources);
    arena_free(&w.arena);
    return s == CTSC_OK && out->failed ? diag_no_memory(d) : s;
}

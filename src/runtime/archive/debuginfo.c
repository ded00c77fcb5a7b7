/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debuginfo.c - from a place in an archive's code back to the Python file that a person wrote.
 *
 * Beside code/NAME.py an archive may hold code/NAME.py.debug_pkl, a pickle of
 *
 *     ("FORMAT_WITH_STRING_TABLE", (string, ...),
 *      ((offset, (([string number, ...], file name number, first line), begin, end), tag), ...))
 *
 * sorted by offset into NAME.py: from there on, up to the next entry, the code was printed for the
 * characters [begin, end) of the text that the strings make when joined, which starts at that line
 * of that file. Older archives have the list alone, with texts instead of numbers.
 *
 * It is read when the first message needs it. Damage in it only means that places are shown in the
 * archive's own code.
 *
 * Ownership: a source holds its debuginfo, which holds the archive and the sources it has made.
 * Threads: a lock; sources are shared by running threads.
 * Tests: tests/unit/test_archive.c
 */
#include "runtime/archive/archive_internal.h"

#include <pthread.h>

enum { DEBUGINFO_MAX_TEXT = 1 << 20, DEBUGINFO_MAX_SOURCES = 65536 };

typedef struct debuginfo {
    pthread_mutex_t lock;
    archive *a;
    char *record;
    bool loaded;
    value root;           /* the unpickled record, None if damaged */
    const tuple *strings; /* in root; NULL: the older format */
    value entries;        /* in root: tuple or list, None if there are none */
    VEC(source *) sources;
} debuginfo;

static void debuginfo_free(void *ctx) {
    debuginfo *di = ctx;
    for (size_t i = 0; i < di->sources.len; i++) source_unref(di->sources.data[i]);
    vec_free(&di->sources);
    value_unref(di->root);
    archive_unref(di->a);
    mem_free(di->record);
    pthread_mutex_destroy(&di->lock);
    mem_free(di);
}

/* Element i of a tuple or of a list of values, borrowed. */
static size_t debuginfo_len(value v) {
    if (v.tag == V_TUPLE) return v.u.tuple->len;
    return v.tag == V_LIST && v.u.list->kind == LIST_VALUE ? v.u.list->len : 0;
}

static value debuginfo_item(value v, size_t i) {
    if (i >= debuginfo_len(v)) return value_none();
    return v.tag == V_TUPLE ? v.u.tuple->items[i] : v.u.list->u.values[i];
}

static void debuginfo_load(debuginfo *di) {
    storage *st = NULL;
    size_t pos = 0;
    di->loaded = true;
    if (archive_read(di->a, NULL, di->record, &st) != CTSC_OK) return;
    if (unpickle(NULL, di->record, st->data, st->nbytes, &pos, NULL, &di->root) != CTSC_OK)
        di->root = value_none();
    storage_unref(st);
    value head = debuginfo_item(di->root, 0), strings = debuginfo_item(di->root, 1);
    if (head.tag != V_STR) {
        di->entries = di->root;
    } else if (!strcmp(head.u.str->bytes, "FORMAT_WITH_STRING_TABLE") && strings.tag == V_TUPLE) {
        di->strings = strings.u.tuple;
        di->entries = debuginfo_item(di->root, 2);
    }
}

/* The last entry that begins at or before `at`. */
static value debuginfo_find(const debuginfo *di, uint32_t at) {
    size_t lo = 0, hi = debuginfo_len(di->entries);
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        value offset = debuginfo_item(debuginfo_item(di->entries, mid), 0);
        if (offset.tag != V_INT) return value_none();
        if (offset.u.i <= at) lo = mid + 1;
        else hi = mid;
    }
    return lo ? debuginfo_item(di->entries, lo - 1) : value_none();
}

static const str *debuginfo_string(const debuginfo *di, value v) {
    if (v.tag == V_STR) return di->strings ? NULL : v.u.str;
    if (v.tag != V_INT || !di->strings || v.u.i < 0 || (uint64_t)v.u.i >= di->strings->len)
        return NULL;
    value s = di->strings->items[v.u.i];
    return s.tag == V_STR ? s.u.str : NULL;
}

static bool debuginfo_text(const debuginfo *di, value v, strbuf *out) {
    if (v.tag == V_STR) {
        sb_write(out, v.u.str->bytes, v.u.str->len);
        return true;
    }
    bool flat = v.tag == V_LIST && v.u.list->kind == LIST_INT;
    size_t n = flat ? v.u.list->len : debuginfo_len(v);
    for (size_t i = 0; i < n; i++) {
        const str *s = debuginfo_string(di, flat ? value_int(v.u.list->u.ints[i])
                                                 : debuginfo_item(v, i));
        if (!s || s->len > DEBUGINFO_MAX_TEXT || out->len > DEBUGINFO_MAX_TEXT - s->len)
            return false;
        sb_write(out, s->bytes, s->len);
    }
    return true;
}

/* The source of this text, made once. NULL: out of memory. */
static source *debuginfo_source(debuginfo *di, const char *name, const strbuf *text,
                                uint32_t line) {
    for (size_t i = 0; i < di->sources.len; i++) {
        source *s = di->sources.data[i];
        if (s->first_line == line && s->len == text->len && !strcmp(s->name, name) &&
            !memcmp(s->text, text->data, text->len))
            return s;
    }
    if (di->sources.len >= DEBUGINFO_MAX_SOURCES) return NULL;
    source *s = source_new(name, text->data, text->len);
    if (!s) return NULL;
    s->first_line = line;
    if (!vec_push(&di->sources, s)) {
        source_unref(s);
        return NULL;
    }
    return s;
}

static bool debuginfo_range(debuginfo *di, value range, source_range *out) {
    value src = debuginfo_item(range, 0), begin = debuginfo_item(range, 1),
          end = debuginfo_item(range, 2);
    value line = debuginfo_item(src, 2);
    const str *name = debuginfo_string(di, debuginfo_item(src, 1));
    if (begin.tag != V_INT || end.tag != V_INT || line.tag != V_INT || !name || name->len == 0)
        return false;
    if (line.u.i < 0 || line.u.i > INT32_MAX) return false;
    strbuf text = STRBUF_INIT;
    bool ok = debuginfo_text(di, debuginfo_item(src, 0), &text) && !text.failed && text.len > 0 &&
              text.len <= DEBUGINFO_MAX_TEXT && begin.u.i >= 0 && begin.u.i <= end.u.i &&
              (uint64_t)end.u.i <= text.len;
    source *s = ok ? debuginfo_source(di, name->bytes, &text, line.u.i ? (uint32_t)line.u.i : 1)
                   : NULL;
    sb_free(&text);
    if (s) *out = (source_range){s, (uint32_t)begin.u.i, (uint32_t)end.u.i};
    return s != NULL;
}

static bool debuginfo_origin(source *src, uint32_t begin, source_range *out) {
    debuginfo *di = src->origin_ctx;
    pthread_mutex_lock(&di->lock);
    if (!di->loaded) debuginfo_load(di);
    bool ok = debuginfo_range(di, debuginfo_item(debuginfo_find(di, begin), 1), out);
    pthread_mutex_unlock(&di->lock);
    return ok;
}

ctsc_status debuginfo_attach(diag *d, archive *a, const char *record, source *src) {
    debuginfo *di = mem_zalloc(sizeof *di);
    char *name = mem_strdup(record);
    if (!di || !name) {
        mem_free(di);
        mem_free(name);
        return diag_no_memory(d);
    }
    pthread_mutex_init(&di->lock, NULL);
    di->a = archive_ref(a);
    di->record = name;
    src->origin = debuginfo_origin;
    src->origin_free = debuginfo_free;
    src->origin_ctx = di;
    return CTSC_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diag.c - recording and rendering failures, and the sources they point into.
 *
 * Method: a failure that finds no memory for its message still keeps its
 * status, and reads as a fixed sentence. Positions count characters (UTF-8
 * code points), not bytes, so that a caret is placed where an editor shows it.
 * Tests: tests/unit/test_base.c
 */
#include "base/diag.h"

#include "base/memory/refs.h"
#include "base/memory/refusal.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

/* ---- sources --------------------------------------------------------------------------------- */

source *source_new(const char *name, const char *text, size_t len) {
    source *s = mem_zalloc(sizeof *s);
    if (!s) return NULL;
    atomic_init(&s->refs, 1);
    s->first_line = 1;
    s->len = len;
    s->name = mem_strdup(name ? name : "");
    s->text = mem_strndup(text, len);
    if (!s->name || !s->text) {
        source_unref(s);
        return NULL;
    }
    return s;
}

source *source_ref(source *s) {
    if (s) atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

void source_unref(source *s) {
    if (!s || !refs_drop(&s->refs)) return;
    if (s->origin_free) s->origin_free(s->origin_ctx);
    mem_free(s->name);
    mem_free(s->text);
    mem_free(s);
}

static bool source_is_continuation(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

/* Code points in [begin, end). */
static uint32_t source_count_chars(const char *text, size_t begin, size_t end) {
    uint32_t n = 0;
    for (size_t i = begin; i < end; i++) n += !source_is_continuation(text[i]);
    return n;
}

static size_t source_line_begin(const source *s, size_t offset) {
    while (offset > 0 && s->text[offset - 1] != '\n') offset--;
    return offset;
}

void source_position(const source *s, uint32_t offset, uint32_t *line, uint32_t *column) {
    size_t at = offset < s->len ? offset : s->len;
    uint32_t n = s->first_line;
    for (size_t i = 0; i < at; i++) n += s->text[i] == '\n';
    *line = n;
    *column = source_count_chars(s->text, source_line_begin(s, at), at) + 1;
}

source_range source_original(source_range r) {
    source_range original;
    if (r.src && r.src->origin && r.src->origin(r.src, r.begin, &original)) return original;
    return r;
}

/* ---- recording ------------------------------------------------------------------------------- */

void diag_drop(diag *d) {
    for (size_t i = 0; i < d->items.len; i++) {
        mem_free(d->items.data[i].text);
        source_unref(d->items.data[i].range.src);
    }
    vec_free(&d->items);
    mem_free(d->exception);
    *d = (diag){.max_tensor = d->max_tensor};
}

/* Appends an item whose text is taken; without memory it is dropped. */
static void diag_add_take(diag *d, diag_kind kind, source_range r, char *text) {
    diag_item item = {kind, text, r};
    if (text && vec_push(&d->items, item)) source_ref(r.src);
    else mem_free(text);
}

/* The message that a budget of memory is used up needs memory itself, which does not count. */
static mem_budget *diag_unbounded(const diag *d) {
    return d->status == CTSC_LIMIT && mem_is_bounded() ? mem_budget_use(NULL) : NULL;
}

static void diag_bounded(mem_budget *before) {
    if (before) mem_budget_restore(before);
}

static void diag_add(diag *d, diag_kind kind, source_range r, const char *fmt, va_list ap) {
    strbuf sb = STRBUF_INIT;
    mem_budget *before = diag_unbounded(d);
    sb_vprintf(&sb, fmt, ap);
    diag_add_take(d, kind, r, sb_take(&sb));
    diag_bounded(before);
}

ctsc_status diag_fail_v(diag *d, ctsc_status status, source_range r, const char *fmt, va_list ap) {
    if (!d) return status;
    if (d->status != CTSC_OK) return d->status;
    d->status = status;
    diag_add(d, DIAG_ERROR, r, fmt, ap);
    return status;
}

ctsc_status diag_fail(diag *d, ctsc_status status, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    status = diag_fail_v(d, status, (source_range){0}, fmt, ap);
    va_end(ap);
    return status;
}

ctsc_status diag_fail_at(diag *d, ctsc_status status, source_range r, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    status = diag_fail_v(d, status, r, fmt, ap);
    va_end(ap);
    return status;
}

/* Of smaller requests only those that met a bound are told of: others say nothing of the cause. */
enum { DIAG_LARGE = 1 << 20 };

/* "4.0 GiB" */
static void diag_bytes(char *text, size_t size, double n) {
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    int i = 0;
    for (; n >= 1024 && i < 6; i++) n /= 1024;
    if (i) snprintf(text, size, "%lld.%d %s", (long long)n, (int)(n * 10) % 10, units[i]);
    else snprintf(text, size, "%lld %s", (long long)n, units[i]);
}

/* PyTorch's words, by which programs recognise the error. */
#define DIAG_TRIED                                                                                 \
    "out of memory: DefaultCPUAllocator: can't allocate memory: you tried to allocate %zu bytes"

/* What the system bounds the process by, and the shell's name of that. NULL: nothing. */
static const char *diag_process_limit(char *text, size_t size) {
    static const struct {
        int of;
        const char *name;
    } limits[] = {{RLIMIT_AS, "ulimit -v"}, {RLIMIT_DATA, "ulimit -d"}};
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        struct rlimit most;
        if (getrlimit((__rlimit_resource_t)limits[i].of, &most) != 0 ||
            most.rlim_cur == RLIM_INFINITY)
            continue;
        diag_bytes(text, size, (double)most.rlim_cur);
        return limits[i].name;
    }
    return NULL;
}

ctsc_status diag_no_memory(diag *d) {
    mem_refusal r = mem_last_refusal();
    char wanted[32], left[32], limit[32];
    if (!d || !r.size || (!r.bounded && r.size < DIAG_LARGE && r.available < 0))
        return diag_fail(d, CTSC_LIMIT, "out of memory");
    diag_bytes(wanted, sizeof wanted, (double)r.size);
    if (!r.bounded && r.available >= 0) {
        diag_bytes(left, sizeof left, (double)r.available);
        return diag_fail(d, CTSC_LIMIT, DIAG_TRIED " (%s): the machine has %s available", r.size,
                         wanted, left);
    }
    const char *option = diag_process_limit(limit, sizeof limit);
    if (!r.bounded && option)
        return diag_fail(d, CTSC_LIMIT, DIAG_TRIED " (%s): the limit of the process is %s (%s)",
                         r.size, wanted, limit, option);
    if (!r.bounded) return diag_fail(d, CTSC_LIMIT, DIAG_TRIED " (%s)", r.size, wanted);
    diag_bytes(left, sizeof left, r.left > 0 ? (double)r.left : 0);
    diag_bytes(limit, sizeof limit, (double)r.limit);
    return diag_fail(
        d, CTSC_LIMIT,
        "out of memory: cannot allocate %s, the call's limit of %s (max_bytes) has %s left", wanted,
        limit, left);
}

void diag_note(diag *d, source_range r, const char *fmt, ...) {
    if (!d) return;
    va_list ap;
    va_start(ap, fmt);
    diag_add(d, DIAG_NOTE, r, fmt, ap);
    va_end(ap);
}

void diag_frame(diag *d, source_range r, const char *function) {
    if (!d) return;
    mem_budget *before = diag_unbounded(d);
    diag_add_take(d, DIAG_FRAME, r, mem_strdup(function));
    diag_bounded(before);
}

/* Does d say so already, of the same place? */
static bool diag_says(const diag *d, const diag_item *error) {
    for (size_t i = 0; i < d->items.len; i++) {
        const diag_item *item = &d->items.data[i];
        if (item->kind == DIAG_ERROR && error->range.src && item->range.src == error->range.src &&
            item->range.begin == error->range.begin && !strcmp(item->text, error->text))
            return true;
    }
    return false;
}

void diag_append(diag *to, diag *from) {
    if (from->items.len && diag_says(to, &from->items.data[0])) {
        diag_clear(from);
        return;
    }
    if (to->status == CTSC_OK) {
        to->status = from->status;
        to->exception = from->exception;
        from->exception = NULL;
    }
    for (size_t i = 0; i < from->items.len; i++) {
        diag_item *item = &from->items.data[i];
        /* takes a reference on the source */
        diag_add_take(to, item->kind, item->range, item->text);
        source_unref(item->range.src);
    }
    vec_free(&from->items);
    diag_clear(from);
}

static diag_item *diag_error_item(const diag *d) {
    for (size_t i = 0; i < d->items.len; i++)
        if (d->items.data[i].kind == DIAG_ERROR) return &d->items.data[i];
    return NULL;
}

bool diag_got_further(const diag *d, const diag *other, source_range in) {
    const diag_item *a = diag_error_item(d), *b = diag_error_item(other);
    return a && b && a->range.src == in.src && b->range.src == in.src && a->range.end <= in.end &&
           b->range.begin >= in.begin && a->range.begin > b->range.begin;
}

void diag_locate(diag *d, source_range r) {
    diag_item *e = d ? diag_error_item(d) : NULL;
    if (!e || e->range.src) return;
    e->range = r;
    source_ref(r.src);
}

void diag_name_file(diag *d, const char *path) {
    diag_item *e = d ? diag_error_item(d) : NULL;
    if (!e || !e->text || !path || strstr(e->text, path)) return;
    strbuf sb = STRBUF_INIT;
    sb_printf(&sb, "%s: %s", path, e->text);
    char *text = sb_take(&sb);
    if (!text) return; /* then it keeps its own words */
    mem_free(e->text);
    e->text = text;
}

/* The error at `i` and what belongs to it, up to `end`: a call in the program takes the error's
 * place, and calls inside the library are dropped. */
static void diag_blame_one(diag *d, size_t i, size_t end) {
    diag_item *error = &d->items.data[i];
    if (!error->range.src || !error->range.src->library) return;
    size_t caller = i + 1;
    while (caller < end &&
           (!d->items.data[caller].range.src || d->items.data[caller].range.src->library))
        caller++;
    if (caller == end) return;
    diag_item *call = &d->items.data[caller];
    source_range inside = error->range;
    error->range = call->range;
    call->range = inside;
    if (call->kind == DIAG_NOTE) return;
    char *text = mem_strdup("raised here, in what ctsc brings along");
    if (!text) return;
    mem_free(call->text);
    call->text = text;
    call->kind = DIAG_NOTE;
    for (size_t k = i + 1; k < caller; k++)
        if (d->items.data[k].kind == DIAG_FRAME) d->items.data[k].kind = DIAG_DROPPED;
}

void diag_blame_caller(diag *d) {
    for (size_t i = 0; i < d->items.len;) {
        size_t end = i + 1;
        while (end < d->items.len && d->items.data[end].kind != DIAG_ERROR) end++;
        if (d->items.data[i].kind == DIAG_ERROR) diag_blame_one(d, i, end);
        i = end;
    }
}

const char *diag_message(const diag *d) {
    const diag_item *e = diag_error_item(d);
    if (e) return e->text;
    if (d->status == CTSC_OK) return "";
    /* The words were lost to a failed allocation. */
    return d->status == CTSC_LIMIT ? "out of memory" : "failed, without memory to say why";
}

/* ---- rendering ------------------------------------------------------------------------------- */

typedef struct diag_style {
    const char *error, *note, *place, *off;
} diag_style;

static const diag_style diag_plain = {"", "", "", ""};
static const diag_style diag_coloured = {"\033[1;31m", "\033[1;36m", "\033[34m", "\033[0m"};

static void diag_render_place(source_range r, strbuf *out) {
    uint32_t line, column;
    source_position(r.src, r.begin, &line, &column);
    sb_printf(out, "%s:%u:%u", r.src->name, line, column);
}

/* Lines up the caret: a tab stays a tab, every other character becomes `fill`. */
static void diag_render_padding(const char *text, size_t begin, size_t end, char fill,
                                strbuf *out) {
    for (size_t i = begin; i < end; i++)
        if (!source_is_continuation(text[i])) sb_putc(out, text[i] == '\t' ? '\t' : fill);
}

/* Of a long line only this much is shown, with the location close to its beginning. */
enum { EXCERPT_MAX = 300, EXCERPT_BEFORE = 100 };

/* Cuts [*from, *to) of a line to what is shown of it, between characters. */
static void diag_cut_line(const source *s, size_t place, size_t *from, size_t *to) {
    if (*to - *from <= EXCERPT_MAX) return;
    if (place - *from > EXCERPT_BEFORE) *from = place - EXCERPT_BEFORE;
    if (*to - *from > EXCERPT_MAX) *to = *from + EXCERPT_MAX;
    while (*from < place && source_is_continuation(s->text[*from])) ++*from;
    while (*to > place && source_is_continuation(s->text[*to])) --*to;
}

/*
 *      |
 *   12 |     return self.conv(x)
 *      |            ^~~~~~~~~~~~
 */
static void diag_render_excerpt(source_range r, const diag_style *style, strbuf *out) {
    const source *s = r.src;
    if (s->len == 0) return;
    size_t begin = r.begin < s->len ? r.begin : s->len;
    size_t line_begin = source_line_begin(s, begin), line_end = begin;
    while (line_end < s->len && s->text[line_end] != '\n') line_end++;
    size_t end = r.end > begin && r.end <= line_end ? r.end : r.end > line_end ? line_end : begin;
    if (end > line_begin && end == line_end && s->text[end - 1] == '\r') end = line_end - 1;
    uint32_t line, column;
    source_position(s, (uint32_t)begin, &line, &column);
    char gutter[16];
    strbuf number = STRBUF_INIT;
    sb_printf(&number, "%4u", line);
    size_t width = number.len < sizeof gutter ? number.len : sizeof gutter - 1;
    memset(gutter, ' ', width);
    gutter[width] = '\0';
    size_t shown = line_end > line_begin && s->text[line_end - 1] == '\r' ? line_end - 1 : line_end;

    sb_printf(out, "%s%s |%s\n", style->place, gutter, style->off);
    sb_printf(out, "%s%s |%s ", style->place, sb_str(&number), style->off);
    diag_cut_line(s, begin, &line_begin, &shown);
    if (end > shown) end = shown;
    sb_write(out, s->text + line_begin, shown - line_begin);
    sb_printf(out, "\n%s%s |%s ", style->place, gutter, style->off);
    diag_render_padding(s->text, line_begin, begin, ' ', out);
    sb_printf(out, "%s^", style->error);
    if (end > begin) {
        uint32_t rest = source_count_chars(s->text, begin, end);
        if (rest > 1) sb_fill(out, '~', rest - 1);
    }
    sb_printf(out, "%s\n", style->off);
    if (number.failed) out->failed = true;
    sb_free(&number);
}

static bool diag_same_place(source_range a, source_range b) {
    return a.src == b.src && a.begin == b.begin && a.end == b.end;
}

static void diag_render_range(source_range r, const diag_style *style, strbuf *out) {
    if (!r.src) return;
    sb_printf(out, " %s-->%s ", style->place, style->off);
    diag_render_place(r, out);
    sb_putc(out, '\n');
    diag_render_excerpt(r, style, out);
    source_range original = source_original(r);
    if (!original.src || diag_same_place(original, r)) return;
    sb_printf(out, " %s-->%s originally ", style->place, style->off);
    diag_render_place(original, out);
    sb_putc(out, '\n');
    diag_render_excerpt(original, style, out);
}

static void diag_render_frame(const diag_item *item, strbuf *out) {
    /* The class that a function is saved in is not a name of the program's. */
    static const char holder[] = "__torch__.PlaceholderModule.";
    sb_printf(out, "  called from %s",
              item->text +
                  (strncmp(item->text, holder, sizeof holder - 1) ? 0 : sizeof holder - 1));
    if (item->range.src) {
        sb_puts(out, " at ");
        diag_render_place(item->range, out);
        source_range original = source_original(item->range);
        if (original.src && !diag_same_place(original, item->range)) {
            sb_puts(out, " (originally ");
            diag_render_place(original, out);
            sb_putc(out, ')');
        }
    }
    sb_putc(out, '\n');
}

/* A recursion's call chain is as long as the recursion: of a long one, the middle is left out. */
enum { DIAG_FRAMES_SHOWN = 40 };

/* One error with what belongs to it: the items from `i` to the next error.
 * Returns where that is. */
static size_t diag_render_error(const diag *d, size_t i, const diag_style *style, strbuf *out) {
    size_t end = i + 1, frames = 0, seen = 0;
    while (end < d->items.len && d->items.data[end].kind != DIAG_ERROR) end++;
    const char *text = d->items.data[i].text, *exception = i || !d->exception ? "" : d->exception;
    if (!strncmp(exception, "builtins.", 9)) exception += 9;
    bool named = !*exception || !strncmp(text, exception, strlen(exception));
    sb_printf(out, "%serror:%s %s%s%s\n", style->error, style->off, named ? "" : exception,
              named   ? ""
              : *text ? ": "
                      : "",
              text);
    diag_render_range(d->items.data[i].range, style, out);
    for (size_t k = i; k < end; k++) frames += d->items.data[k].kind == DIAG_FRAME;
    for (i++; i < end; i++) {
        const diag_item *item = &d->items.data[i];
        if (item->kind == DIAG_NOTE) {
            sb_printf(out, "%snote:%s %s\n", style->note, style->off, item->text);
            diag_render_range(item->range, style, out);
        }
        if (item->kind != DIAG_FRAME) continue;
        size_t k = seen++;
        if (frames <= DIAG_FRAMES_SHOWN || k < DIAG_FRAMES_SHOWN / 2 ||
            k >= frames - DIAG_FRAMES_SHOWN / 2)
            diag_render_frame(item, out);
        else if (k == DIAG_FRAMES_SHOWN / 2)
            sb_printf(out, "  ... %zu more calls ...\n", frames - DIAG_FRAMES_SHOWN);
    }
    return end;
}

void diag_render(const diag *d, strbuf *out, bool colour) {
    if (d->status == CTSC_OK) return;
    const diag_style *style = colour ? &diag_coloured : &diag_plain;
    size_t i = 0;
    while (i < d->items.len && d->items.data[i].kind != DIAG_ERROR) i++;
    if (i == d->items.len)
        sb_printf(out, "%serror:%s %s\n", style->error, style->off, diag_message(d));
    while (i < d->items.len) i = diag_render_error(d, i, style, out);
}

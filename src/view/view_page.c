/* SPDX-License-Identifier: Apache-2.0 */
/* view_page.c - puts the page together. Tests: tests/cli/view.test, tests/view */
#include "view/view.h"

#include <stdlib.h>
#include <string.h>

typedef struct view_part { const char *text, *end; } view_part;
typedef struct view_text { char *data; size_t len, cap; bool failed; } view_text;

static void view_put(view_text *t, const char *s, size_t n) {
    if (t->failed || !n) return;
    if (n > t->cap - t->len) {
        size_t cap = t->cap + n < t->cap ? 0 : (t->cap + n) * 2;
        char *grown = cap ? realloc(t->data, cap) : NULL;
        if (!grown) {
            t->failed = true;
            return;
        }
        t->data = grown;
        t->cap = cap;
    }
    memcpy(t->data + t->len, s, n);
    t->len += n;
}

static void view_put_style(view_text *t) {
    view_put(t, view_css, (size_t)(view_css_end - view_css));
}

static void view_put_script(view_text *t) {
    const view_part files[] = {
        {view_layout, view_layout_end},   {view_model, view_model_end},
        {view_diff, view_diff_end},       {view_script, view_script_end},
        {view_compare, view_compare_end},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        view_put(t, files[i].text, (size_t)(files[i].end - files[i].text));
}

/* Where mark begins in [s, end); end: nowhere. */
static const char *view_find(const char *s, const char *end, const char *mark) {
    const char *found = memmem(s, (size_t)(end - s), mark, strlen(mark));
    return found ? found : end;
}

char *view_fill(const char *text, size_t len, const char *data, size_t ndata, size_t *out_len) {
    view_text t = {0};
    const char *end = text + len;
    static const char begin[] = "/*VIEW_";
    for (const char *s = text; s < end;) {
        const char *mark = view_find(s, end, begin), *stop = view_find(mark, end, "*/");
        view_put(&t, s, (size_t)(mark - s));
        if (mark == end || stop == end) break;
        const char *name = mark + sizeof begin - 1;
        size_t n = (size_t)(stop - name);
        if (n == 5 && !memcmp(name, "STYLE", n)) view_put_style(&t);
        if (n == 6 && !memcmp(name, "SCRIPT", n)) view_put_script(&t);
        if (n == 4 && !memcmp(name, "DATA", n) && data) view_put(&t, data, ndata);
        s = stop + 2;
    }
    view_put(&t, "", 1); /* for users that take it for a string */
    if (t.failed) {
        free(t.data);
        return NULL;
    }
    *out_len = t.len - 1;
    return t.data;
}

char *view_page(const char *data, size_t ndata, size_t *len) {
    return view_fill(view_html, (size_t)(view_html_end - view_html), data, ndata, len);
}

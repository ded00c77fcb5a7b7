/* SPDX-License-Identifier: Apache-2.0 */
/*
 * view_weights.c - the tensors of a module, and which of them differ between two modules.
 *
 * Tensors of one name are compared byte by byte; those whose name only one module has by a hash of
 * their bytes (FNV-1a) first: what is equal under another name was renamed.
 * Tests: tests/cli/view.test
 */
#include "cli/show/view_weights.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct weight {
    const char *name; /* the module's */
    char *type;       /* "float32[64,3,7,7]" */
    ctsc_value *v;    /* row-major */
    bool parameter, matched;
    uint64_t hash;
} weight;

typedef struct weight_list {
    weight *items;
    size_t n, cap;
    bool failed;
} weight_list;

void view_string(FILE *to, const char *text) {
    json_t *s = json_string(text ? text : "");
    char *quoted = s ? json_dumps(s, JSON_ENCODE_ANY | JSON_ENSURE_ASCII) : NULL;
    for (const char *c = quoted ? quoted : "\"\""; *c; c++)
        if (*c == '<' || *c == '>' || *c == '&') fprintf(to, "\\u%04x", *c);
        else fputc(*c, to);
    free(quoted);
    json_decref(s);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static char *weight_type(const ctsc_value *v) {
    const ctsc_dtype_info *d = ctsc_dtype_describe(ctsc_tensor_dtype(v));
    char *text = NULL;
    size_t len = 0;
    FILE *to = open_memstream(&text, &len);
    if (!to) return NULL;
    fprintf(to, "%s[", d ? d->name : "other");
    for (int i = 0; i < ctsc_tensor_ndim(v); i++)
        fprintf(to, i ? ",%lld" : "%lld", (long long)ctsc_tensor_sizes(v)[i]);
    fputc(']', to);
    if (fclose(to) == 0) return text;
    free(text);
    return NULL;
}

static void weight_add(void *ctx, const ctsc_attribute_info *a) {
    weight_list *l = ctx;
    if (l->failed || ctsc_value_kind(a->value) != CTSC_KIND_TENSOR ||
        (!a->is_parameter && !a->is_buffer))
        return;
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 64;
        weight *grown = realloc(l->items, cap * sizeof *grown);
        if (!grown) {
            l->failed = true;
            return;
        }
        l->items = grown;
        l->cap = cap;
    }
    weight w = {.name = strdup(a->name),
                .type = weight_type(a->value),
                .v = ctsc_value_copy(a->value),
                .parameter = a->is_parameter};
    l->items[l->n++] = w;
    if (!w.name || !w.type || !w.v) l->failed = true;
}

static void weight_free(weight_list *l) {
    for (size_t i = 0; i < l->n; i++) {
        free((char *)l->items[i].name);
        free(l->items[i].type);
        ctsc_value_free(l->items[i].v);
    }
    free(l->items);
    *l = (weight_list){0};
}

static weight_list weight_all(const ctsc_module *m) {
    weight_list l = {0};
    ctsc_module_attributes(m, weight_add, &l);
    return l;
}

void view_weights(const ctsc_module *m, FILE *to) {
    weight_list l = weight_all(m);
    fputc('[', to);
    for (size_t i = 0; i < l.n && !l.failed; i++) {
        fputs(i ? ",\n{\"name\":" : "{\"name\":", to);
        view_string(to, l.items[i].name);
        fprintf(to, ",\"type\":\"%s\",\"parameter\":%s}", l.items[i].type,
                l.items[i].parameter ? "true" : "false");
    }
    fputc(']', to);
    weight_free(&l);
}

/* ---- two ------------------------------------------------------------------------------------- */

static size_t weight_bytes(const weight *w) {
    const ctsc_dtype_info *d = ctsc_dtype_describe(ctsc_tensor_dtype(w->v));
    int64_t n = d ? (int64_t)d->bytes : 0;
    for (int i = 0; i < ctsc_tensor_ndim(w->v); i++) n = cli_product(n, ctsc_tensor_sizes(w->v)[i]);
    return (size_t)n;
}

/* Row-major, so that bytes can be compared; what cannot be made so stays, and is never equal. */
static void weight_line_up(weight_list *l) {
    for (size_t i = 0; i < l->n; i++) {
        ctsc_value *plain;
        if (ctsc_tensor_contiguous(l->items[i].v, &plain, NULL) != CTSC_OK) continue;
        ctsc_value_free(l->items[i].v);
        l->items[i].v = plain;
    }
}

static bool weight_equal(const weight *a, const weight *b) {
    const void *x = ctsc_tensor_data(a->v), *y = ctsc_tensor_data(b->v);
    size_t n = weight_bytes(a);
    return !strcmp(a->type, b->type) && ctsc_tensor_is_contiguous(a->v) &&
           ctsc_tensor_is_contiguous(b->v) && (!n || (x && y && !memcmp(x, y, n)));
}

/* The largest difference; negative: not known of this dtype. */
static double weight_most(const weight *a, const weight *b) {
    const void *x = ctsc_tensor_data(a->v), *y = ctsc_tensor_data(b->v);
    ctsc_dtype dt = ctsc_tensor_dtype(a->v);
    double most = 0;
    if (!x || !y || (dt != CTSC_FLOAT32 && dt != CTSC_FLOAT64)) return -1;
    size_t n = weight_bytes(a) / (dt == CTSC_FLOAT32 ? 4 : 8);
    for (size_t i = 0; i < n; i++) {
        double d = dt == CTSC_FLOAT32
                       ? (double)((const float *)x)[i] - (double)((const float *)y)[i]
                       : ((const double *)x)[i] - ((const double *)y)[i];
        if (!(fabs(d) <= most)) most = fabs(d);
        if (!isfinite(most)) return -1;
    }
    return most;
}

static uint64_t weight_hash(const weight *w) {
    uint64_t h = 0xcbf29ce484222325u;
    const uint8_t *p = ctsc_tensor_data(w->v);
    for (size_t i = 0, n = p ? weight_bytes(w) : 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3u;
    return h;
}

typedef struct weight_writer { FILE *to; size_t n; } weight_writer;

static void weight_row(weight_writer *out, const char *name, const char *state) {
    fputs(out->n++ ? ",\n{\"name\":" : "{\"name\":", out->to);
    view_string(out->to, name);
    fprintf(out->to, ",\"state\":\"%s\"", state);
}

static int weight_order(const void *a, const void *b) {
    return strcmp(((const weight *)a)->name, ((const weight *)b)->name);
}

/* Those of one name. a is sorted. */
static void weight_pairs(weight_list *a, weight_list *b, weight_writer *out) {
    for (size_t i = 0; i < b->n; i++) {
        weight *w = &b->items[i], *was = bsearch(w, a->items, a->n, sizeof *w, weight_order);
        if (!was) continue;
        w->matched = was->matched = true;
        if (weight_equal(was, w)) continue;
        bool type = strcmp(was->type, w->type) != 0;
        double most = type ? -1 : weight_most(was, w);
        weight_row(out, w->name, type ? "type" : "changed");
        if (most >= 0) fprintf(out->to, ",\"most\":%.9g", most);
        fputc('}', out->to);
    }
}

static weight *weight_same_elsewhere(weight_list *a, const weight *w) {
    for (size_t i = 0; i < a->n; i++)
        if (!a->items[i].matched && a->items[i].hash == w->hash && weight_equal(&a->items[i], w))
            return &a->items[i];
    return NULL;
}

static void weight_rest(weight_list *a, weight_list *b, weight_writer *out) {
    for (size_t i = 0; i < a->n; i++)
        if (!a->items[i].matched) a->items[i].hash = weight_hash(&a->items[i]);
    for (size_t i = 0; i < b->n; i++) {
        weight *w = &b->items[i], *was;
        if (w->matched) continue;
        w->hash = weight_hash(w);
        if ((was = weight_same_elsewhere(a, w))) was->matched = true;
        weight_row(out, w->name, was ? "renamed" : "added");
        if (was) {
            fputs(",\"from\":", out->to);
            view_string(out->to, was->name);
        }
        fputc('}', out->to);
    }
    for (size_t i = 0; i < a->n; i++) {
        if (a->items[i].matched) continue;
        weight_row(out, a->items[i].name, "removed");
        fputc('}', out->to);
    }
}

ctsc_status view_weights_differ(const ctsc_module *a, const ctsc_module *b, FILE *to) {
    weight_list x = weight_all(a), y = weight_all(b);
    weight_writer out = {.to = to};
    bool ok = !x.failed && !y.failed;
    if (ok) {
        if (x.n) qsort(x.items, x.n, sizeof *x.items, weight_order);
        weight_line_up(&x);
        weight_line_up(&y);
        fputc('[', to);
        weight_pairs(&x, &y, &out);
        weight_rest(&x, &y, &out);
        fputc(']', to);
    }
    weight_free(&x);
    weight_free(&y);
    return ok ? CTSC_OK : CTSC_LIMIT;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store_table.c - a table of keys and values, and the answers to requests that it gives (store.h).
 */
#include "distributed/store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct table_row {
    struct table_row *next;
    uint64_t hash;
    store_bytes value;
    size_t key_len;
    char key[];
} table_row;

struct store_table {
    table_row **heads; /* size, a power of two */
    size_t size, count;
};

enum { TABLE_FIRST = 64 };

store_table *store_table_new(void) {
    store_table *t = calloc(1, sizeof *t);
    if (t && !(t->heads = calloc(t->size = TABLE_FIRST, sizeof(table_row *)))) {
        free(t);
        return NULL;
    }
    return t;
}

static void table_row_free(table_row *r) {
    free(r->value.data);
    free(r);
}

void store_table_free(store_table *t) {
    if (!t) return;
    for (size_t i = 0; i < t->size; i++)
        for (table_row *r = t->heads[i], *next; r; r = next) {
            next = r->next;
            table_row_free(r);
        }
    free(t->heads);
    free(t);
}

static uint64_t table_hash(const char *key, size_t n) { /* FNV-1a */
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) h = (h ^ (unsigned char)key[i]) * 0x100000001b3u;
    return h ^ (h >> 32);
}

static table_row **table_find(const store_table *t, const char *key, size_t n) {
    uint64_t h = table_hash(key, n);
    table_row **at = &t->heads[h & (t->size - 1)];
    while (*at && ((*at)->hash != h || (*at)->key_len != n || memcmp((*at)->key, key, n)))
        at = &(*at)->next;
    return at;
}

static void table_grow(store_table *t) {
    table_row **wider = calloc(2 * t->size, sizeof *wider);
    if (!wider) return; /* it stays slower */
    for (size_t i = 0; i < t->size; i++)
        for (table_row *r = t->heads[i], *next; r; r = next) {
            table_row **head = &wider[r->hash & (2 * t->size - 1)];
            next = r->next;
            r->next = *head;
            *head = r;
        }
    free(t->heads);
    t->heads = wider;
    t->size *= 2;
}

const store_bytes *store_table_get(const store_table *t, const char *key, size_t key_len) {
    table_row *r = *table_find(t, key, key_len);
    return r ? &r->value : NULL;
}

bool store_table_set(store_table *t, const char *key, size_t key_len, const void *data,
                     size_t bytes) {
    char *copy = malloc(bytes ? bytes : 1);
    table_row **at = table_find(t, key, key_len), *r = *at;
    if (!copy) return false;
    if (bytes) memcpy(copy, data, bytes);
    if (!r) {
        if (!(r = calloc(1, sizeof *r + key_len))) return free(copy), false;
        r->hash = table_hash(key, key_len);
        r->key_len = key_len;
        memcpy(r->key, key, key_len);
        *at = r;
        if (++t->count > t->size) table_grow(t);
    }
    free(r->value.data);
    r->value = (store_bytes){copy, bytes};
    return true;
}

bool store_table_delete(store_table *t, const char *key, size_t key_len) {
    table_row **at = table_find(t, key, key_len), *r = *at;
    if (!r) return false;
    *at = r->next;
    table_row_free(r);
    t->count--;
    return true;
}

int64_t store_table_count(const store_table *t) { return (int64_t)t->count; }

/* ---- answers --------------------------------------------------------------------------------- */

bool store_changes(store_verb v) {
    return v == STORE_SET || v == STORE_ADD || v == STORE_APPEND || v == STORE_EXCHANGE ||
           v == STORE_DELETE;
}

static bool answer_copy(store_bytes *answer, const void *data, size_t bytes) {
    if (!(answer->data = malloc(bytes + 1))) return false;
    if (bytes) memcpy(answer->data, data, bytes);
    answer->data[bytes] = '\0';
    answer->bytes = bytes;
    return true;
}

static bool answer_number(store_bytes *answer, int64_t n) {
    char text[24];
    int len = snprintf(text, sizeof text, "%" PRId64, n);
    return answer_copy(answer, text, (size_t)len);
}

static int64_t bytes_number(const store_bytes *b) {
    char text[24] = "";
    if (b) memcpy(text, b->data, b->bytes < sizeof text - 1 ? b->bytes : sizeof text - 1);
    return strtoll(text, NULL, 10);
}

static bool answer_add(store_table *t, const char *key, size_t len, const store_request *r,
                       store_bytes *answer) {
    int64_t sum = (int64_t)((uint64_t)bytes_number(store_table_get(t, key, len)) +
                            (uint64_t)bytes_number(&r->data));
    return answer_number(answer, sum) && store_table_set(t, key, len, answer->data, answer->bytes);
}

static bool answer_append(store_table *t, const char *key, size_t len, const store_request *r) {
    const store_bytes *old = store_table_get(t, key, len);
    size_t before = old ? old->bytes : 0;
    char *both = malloc(before + r->data.bytes + 1);
    if (!both) return false;
    if (before) memcpy(both, old->data, before);
    if (r->data.bytes) memcpy(both + before, r->data.data, r->data.bytes);
    bool ok = store_table_set(t, key, len, both, before + r->data.bytes);
    free(both);
    return ok;
}

static bool answer_exchange(store_table *t, const char *key, size_t len, const store_request *r,
                            store_bytes *answer) {
    const store_bytes *old = store_table_get(t, key, len), *expected = &r->other;
    bool equal = old ? old->bytes == expected->bytes &&
                           (!old->bytes || !memcmp(old->data, expected->data, old->bytes))
                     : expected->bytes == 0;
    if (!equal) old = old ? old : expected;
    else if (!store_table_set(t, key, len, r->data.data, r->data.bytes)) return false;
    else old = &r->data;
    return answer_copy(answer, old->data, old->bytes);
}

bool store_answer(store_table *t, const store_request *r, store_bytes *answer,
                  ctsc_status *status) {
    const char *key = r->n ? r->keys[0] : "";
    size_t len = strlen(key), there = 0;
    bool ok = true;
    for (size_t i = 0; i < r->n; i++)
        there += store_table_get(t, r->keys[i], strlen(r->keys[i])) != NULL;
    if ((r->verb == STORE_GET || r->verb == STORE_WAIT) && there < r->n) return false;
    *answer = (store_bytes){NULL, 0};
    switch (r->verb) {
    case STORE_SET: ok = store_table_set(t, key, len, r->data.data, r->data.bytes); break;
    case STORE_GET: {
        const store_bytes *v = store_table_get(t, key, len);
        ok = answer_copy(answer, v->data, v->bytes);
        break;
    }
    case STORE_ADD: ok = answer_add(t, key, len, r, answer); break;
    case STORE_APPEND: ok = answer_append(t, key, len, r); break;
    case STORE_EXCHANGE: ok = answer_exchange(t, key, len, r, answer); break;
    case STORE_CHECK: ok = answer_number(answer, there == r->n); break;
    case STORE_WAIT: break;
    case STORE_DELETE: ok = answer_number(answer, store_table_delete(t, key, len)); break;
    case STORE_COUNT: ok = answer_number(answer, store_table_count(t)); break;
    }
    *status = ok ? CTSC_OK : CTSC_LIMIT;
    return true;
}

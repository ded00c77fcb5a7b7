/* SPDX-License-Identifier: Apache-2.0 */
/*
 * store.h - keys and values that all ranks see: the interface of the kinds, and their table.
 *
 * A kind answers requests (store_request); what ctsc_dist.h offers is made of those in store.c.
 * A key is waited for by a request that names it and a deadline: how, the kind decides.
 */
#ifndef CTSC_DISTRIBUTED_STORE_H
#define CTSC_DISTRIBUTED_STORE_H

#include "distributed/dist.h"

typedef struct store_bytes { char *data; size_t bytes; } store_bytes;

/* ---- table ----------------------------------------------------------------------------------- */

typedef struct store_table store_table;
store_table *store_table_new(void); /* NULL: no memory */
void store_table_free(store_table *t);
/* The value; NULL: there is no such key. It stays until the key's next change. */
const store_bytes *store_table_get(const store_table *t, const char *key, size_t key_len);
bool store_table_set(store_table *t, const char *key, size_t key_len, const void *data,
                     size_t bytes); /* false: no memory */
bool store_table_delete(store_table *t, const char *key, size_t key_len);
int64_t store_table_count(const store_table *t);

/* ---- requests -------------------------------------------------------------------------------- */

typedef enum store_verb {
    STORE_SET = 1,  /* keys[0], data */
    STORE_GET,      /* keys[0]: waited for; the answer is its value */
    STORE_ADD,      /* keys[0], data: the number as text; the answer is the sum as text */
    STORE_APPEND,   /* keys[0], data */
    STORE_EXCHANGE, /* keys[0], data: the desired value, other: the expected one; the value */
    STORE_CHECK,    /* keys; the answer is "1" or "0" */
    STORE_WAIT,     /* keys: all waited for */
    STORE_DELETE,   /* keys[0]; the answer is "1" or "0" */
    STORE_COUNT     /* the answer is a number as text */
} store_verb;

typedef struct store_request {
    store_verb verb;
    size_t n;
    const char *const *keys;
    store_bytes data, other;
} store_request;

/* Answers a request from a table; false: a key that it waits for is not there yet. Of an answer
 * the data is malloced; status is CTSC_LIMIT without memory. */
bool store_answer(store_table *t, const store_request *r, store_bytes *answer, ctsc_status *status);
bool store_changes(store_verb v); /* whether it may write */

typedef struct store_kind {
    ctsc_status (*ask)(ctsc_dist_store *s, const store_request *r, int64_t deadline,
                       store_bytes *answer, ctsc_dist_error *e);
    void (*free)(ctsc_dist_store *s);
} store_kind;

/* What all kinds begin with. */
struct ctsc_dist_store {
    const store_kind *kind;
    int64_t timeout_ms;
    int port;
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * feed.c - a buffer between two threads.
 *
 * The writer never waits: what it may write is bounded by the request, and a client that reads
 * slowly must not hold up the model.
 * Tests: tests/serve/client.py
 */
#include "serve/feed.h"

#include <stdlib.h>
#include <string.h>

struct feed {
    pthread_mutex_t lock;
    exchange *x; /* valid until the reader leaves */
    buffer text;
    size_t taken; /* of text */
    bool waiting, ended, left;
    ctsc_cancel *cancel; /* of a reader that has left; else NULL */
};

feed *feed_new(exchange *x) {
    feed *f = calloc(1, sizeof *f);
    if (!f) return NULL;
    pthread_mutex_init(&f->lock, NULL);
    f->x = x;
    return f;
}

static void feed_free(feed *f) {
    ctsc_cancel_free(f->cancel);
    buffer_free(&f->text);
    pthread_mutex_destroy(&f->lock);
    free(f);
}

/* The lock is held, so that the reader cannot leave meanwhile. */
static void feed_wake(feed *f) {
    if (f->waiting) f->x->wake(f->x);
    f->waiting = false;
}

bool feed_put(feed *f, const buffer *text) {
    pthread_mutex_lock(&f->lock);
    if (!f->left) {
        buffer_put(&f->text, text->data, text->len);
        f->text.failed |= text->failed;
        feed_wake(f);
    }
    bool ok = !f->text.failed;
    pthread_mutex_unlock(&f->lock);
    return ok;
}

void feed_end(feed *f) {
    pthread_mutex_lock(&f->lock);
    f->ended = true;
    bool last = f->left;
    feed_wake(f);
    pthread_mutex_unlock(&f->lock);
    if (last) feed_free(f);
}

ssize_t feed_take(feed *f, char *to, size_t room, void (*wait)(exchange *x)) {
    pthread_mutex_lock(&f->lock);
    size_t there = f->text.len - f->taken, n = there < room ? there : room;
    bool end = !n && (f->ended || f->text.failed);
    if (n) memcpy(to, f->text.data + f->taken, n);
    f->taken += n;
    if (f->taken == f->text.len) f->taken = f->text.len = 0;
    if (!n && !end) {
        f->waiting = true;
        wait(f->x);
    }
    pthread_mutex_unlock(&f->lock);
    return end ? -1 : (ssize_t)n;
}

bool feed_leave(feed *f, ctsc_cancel *cancel) {
    pthread_mutex_lock(&f->lock);
    bool last = f->ended;
    f->left = true;
    f->waiting = false;
    if (!last && cancel) {
        ctsc_cancel_set(cancel);
        f->cancel = cancel;
    }
    pthread_mutex_unlock(&f->lock);
    if (last) feed_free(f);
    return last;
}

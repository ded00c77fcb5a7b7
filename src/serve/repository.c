/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repository.c - finding models, and what is said about them. folder.c fills the repository.
 *
 * Tests: tests/unit/test_serve.c, tests/serve/client.py
 */
#include "serve/repository.h"

#include "serve/scheduler.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

bool repository_init(repository *r, const serve_options *o) {
    *r = (repository){.options = o};
    return pthread_mutex_init(&r->lock, NULL) == 0 && pthread_mutex_init(&r->loading, NULL) == 0;
}

void repository_free(repository *r) {
    for (size_t i = 0; i < r->n; i++) {
        entry *e = r->entries[i];
        if (e->current) model_unref(e->current);
        e->current = NULL;
    }
    while (r->living) {
        model *m = r->living;
        r->living = m->next;
        model_free(m);
    }
    for (size_t i = 0; i < r->n; i++) {
        free(r->entries[i]->name);
        free(r->entries[i]->version);
        free(r->entries[i]->path);
        free(r->entries[i]->config_path);
        free(r->entries[i]);
    }
    free(r->entries);
    pthread_mutex_destroy(&r->lock);
    pthread_mutex_destroy(&r->loading);
}

found repository_find(repository *r, const char *name, const char *version, model **out) {
    found f = FOUND_NO_MODEL;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n; i++) {
        entry *e = r->entries[i];
        if (strcmp(e->name, name)) continue;
        if (version && strcmp(e->version, version)) {
            if (f == FOUND_NO_MODEL) f = FOUND_NO_VERSION;
        } else if (!e->current) {
            f = FOUND_NOT_READY;
        } else {
            *out = model_ref(e->current);
            f = FOUND;
            break;
        }
    }
    pthread_mutex_unlock(&r->lock);
    return f;
}

void repository_versions(repository *r, const char *name, buffer *out) {
    bool first = true;
    buffer_putc(out, '[');
    pthread_mutex_lock(&r->lock);
    for (size_t i = r->n; i-- > 0;) { /* the lowest first */
        if (strcmp(r->entries[i]->name, name) || !r->entries[i]->current) continue;
        buffer_printf(out, "%s\"%s\"", first ? "" : ",", r->entries[i]->version);
        first = false;
    }
    pthread_mutex_unlock(&r->lock);
    buffer_putc(out, ']');
}

void repository_names(repository *r, buffer *out) {
    const char *last = NULL;
    buffer_putc(out, '[');
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n; i++) {
        const entry *e = r->entries[i];
        if (!e->current || (last && !strcmp(last, e->name))) continue;
        if (last) buffer_putc(out, ',');
        last = e->name;
        buffer_json(out, last, strlen(last));
    }
    pthread_mutex_unlock(&r->lock);
    buffer_putc(out, ']');
}

void repository_index(repository *r, bool only_ready, buffer *out) {
    static const char *const states[] = {
        [ENTRY_UNAVAILABLE] = "UNAVAILABLE", [ENTRY_LOADING] = "LOADING", [ENTRY_READY] = "READY"};
    bool first = true;
    buffer_putc(out, '[');
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n; i++) {
        const entry *e = r->entries[i];
        if ((only_ready && e->state != ENTRY_READY) || (!e->here && !e->current)) continue;
        buffer_puts(out, first ? "{\"name\":" : ",{\"name\":");
        buffer_json(out, e->name, strlen(e->name));
        buffer_printf(out, ",\"version\":\"%s\",\"state\":\"%s\",\"reason\":", e->version,
                      states[e->state]);
        buffer_json(out, e->reason, strlen(e->reason));
        buffer_putc(out, '}');
        first = false;
    }
    pthread_mutex_unlock(&r->lock);
    buffer_putc(out, ']');
}

found repository_stats(repository *r, const char *name, const char *version, buffer *out) {
    found f = name ? FOUND_NO_MODEL : FOUND;
    bool first = true;
    buffer_puts(out, "{\"model_stats\":[");
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n; i++) {
        const entry *e = r->entries[i];
        if (name && strcmp(e->name, name)) continue;
        if (f == FOUND_NO_MODEL) f = FOUND_NO_VERSION;
        if ((version && strcmp(e->version, version)) || (!e->current && !name)) continue;
        f = FOUND;
        if (!first) buffer_putc(out, ',');
        stats_json(&e->stats, e->name, e->version, out);
        first = false;
    }
    pthread_mutex_unlock(&r->lock);
    buffer_puts(out, "]}");
    return f;
}

void repository_visit(repository *r, void (*visit)(void *ctx, entry *e), void *ctx) {
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n; i++) visit(ctx, r->entries[i]);
    pthread_mutex_unlock(&r->lock);
}

bool repository_all_ready(repository *r) {
    bool ready = true;
    pthread_mutex_lock(&r->lock);
    for (size_t i = 0; i < r->n; i++)
        if (r->entries[i]->wanted && r->entries[i]->here && !r->entries[i]->current &&
            !r->entries[i]->is_data)
            ready = false;
    pthread_mutex_unlock(&r->lock);
    return ready;
}

/* ---- housekeeping ---------------------------------------------------------------------------- */

/* Models only leave the list here, by the one thread that tends, so it may walk the list without
 * the lock while it finishes requests: others only put models at its head. */
void repository_tend(repository *r) {
    uint64_t now = clock_ns();
    model *dead = NULL;
    pthread_mutex_lock(&r->lock);
    for (model **at = &r->living; *at;) {
        model *m = *at;
        if (atomic_load_explicit(&m->refs, memory_order_acquire) == 0) {
            *at = m->next;
            m->next = dead;
            dead = m;
        } else {
            at = &m->next;
        }
    }
    model *first = r->living;
    pthread_mutex_unlock(&r->lock);
    for (model *m = first; m; m = m->next) scheduler_expire(m, now);
    bool any = dead != NULL;
    while (dead) {
        model *m = dead;
        dead = m->next;
        model_free(m);
    }
#ifdef __GLIBC__
    if (any) malloc_trim(0); /* its memory goes back to the system */
#endif
    (void)any;
}

void repository_cancel(repository *r) {
    pthread_mutex_lock(&r->lock);
    for (model *m = r->living; m; m = m->next) ctsc_cancel_set(m->cancel);
    pthread_mutex_unlock(&r->lock);
}

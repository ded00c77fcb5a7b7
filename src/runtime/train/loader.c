/* SPDX-License-Identifier: Apache-2.0 */
/*
 * loader.c - batches of rows in the order of torch.utils.data.DataLoader, the next one made while
 * the last is used.
 *
 * Order. DataLoader(dataset, shuffle=True, generator=g), g seeded once: each epoch
 * draws 64 bits from g, which are for PyTorch's workers, then randperm(n), and at its
 * end another permutation, which is unused. An epoch's order thus follows from the
 * seed and its number: earlier ones are skipped by drawing what they would have.
 * Threads: one worker, which makes one batch at a time when it is asked to. `wanted`,
 * `ready` and what is made are under the lock; rows of the data are read only.
 * Tests: tests/unit/test_optimizer.c
 */
#include "runtime/train/train.h"
#include "tensor/device.h"

#include <pthread.h>
#include <string.h>

struct loader {
    loader_options o;
    int ndata;
    tensor **data; /* contiguous */
    int64_t rows;
    int64_t *order; /* of this epoch; NULL: as they are */
    generator g;
    int64_t drawn; /* epochs whose numbers g has given */
    int64_t next;  /* the batch that loader_next gives */
    pthread_t worker;
    bool has_worker;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int64_t wanted; /* the batch that the worker is to make, or makes; -1: none */
    bool ready, quit;
    ctsc_status status;
    diag failure;
    value made;
};

int64_t loader_batches(const loader *l) {
    int64_t whole = l->rows / l->o.batch, rest = l->rows % l->o.batch != 0;
    return l->o.drop_last ? whole : whole + rest;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static ctsc_status loader_rows(const loader *l, diag *d, const tensor *t, int64_t first, int64_t n,
                               tensor **out) {
    int64_t sizes[TENSOR_MAX_DIMS];
    memcpy(sizes, t->sizes, (size_t)t->ndim * sizeof *sizes);
    sizes[0] = n;
    TRY(tensor_new(d, (dtype)t->dtype, t->ndim, sizes, out));
    size_t row = (size_t)(t->numel / l->rows) * dtype_size((dtype)t->dtype);
    char *to = tensor_data(*out);
    const char *from = tensor_data(t);
    if (!l->order) memcpy(to, from + (size_t)first * row, (size_t)n * row);
    for (int64_t i = 0; l->order && i < n; i++)
        memcpy(to + (size_t)i * row, from + (size_t)l->order[first + i] * row, row);
    return CTSC_OK;
}

static ctsc_status loader_make(const loader *l, diag *d, int64_t batch, value *out) {
    tuple *t = tuple_new((size_t)l->ndata, NULL);
    if (!t) return diag_no_memory(d);
    int64_t first = batch * l->o.batch,
            n = l->rows - first < l->o.batch ? l->rows - first : l->o.batch;
    ctsc_status s = CTSC_OK;
    for (int i = 0; i < l->ndata && s == CTSC_OK; i++) {
        tensor *rows;
        s = loader_rows(l, d, l->data[i], first, n, &rows);
        if (s == CTSC_OK) t->items[i] = value_tensor_take(rows);
    }
    if (s == CTSC_OK) *out = value_tuple_take(t);
    else value_unref(value_tuple_take(t));
    return s;
}

/* ---- the worker ------------------------------------------------------------------------------ */

static void *loader_work(void *ctx) {
    loader *l = ctx;
    pthread_mutex_lock(&l->lock);
    while (!l->quit) {
        if (l->wanted < 0 || l->ready) {
            pthread_cond_wait(&l->changed, &l->lock);
            continue;
        }
        int64_t batch = l->wanted;
        pthread_mutex_unlock(&l->lock);
        diag d = {0};
        value made = value_none();
        ctsc_status s = loader_make(l, &d, batch, &made);
        pthread_mutex_lock(&l->lock);
        l->status = s;
        l->failure = d;
        l->made = made;
        l->ready = true;
        pthread_cond_broadcast(&l->changed);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static void loader_drop(loader *l) {
    value_unref(l->made);
    l->made = value_none();
    diag_clear(&l->failure);
    l->ready = false;
    l->wanted = -1;
}

/* Nothing is in the making, and nothing made is kept. */
static void loader_settle(loader *l) {
    if (!l->has_worker) return;
    pthread_mutex_lock(&l->lock);
    while (l->wanted >= 0 && !l->ready) pthread_cond_wait(&l->changed, &l->lock);
    loader_drop(l);
    pthread_mutex_unlock(&l->lock);
}

static void loader_ask(loader *l, int64_t batch) {
    if (!l->has_worker || batch >= loader_batches(l)) return;
    pthread_mutex_lock(&l->lock);
    l->wanted = batch;
    l->ready = false;
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

static ctsc_status loader_fetch(loader *l, diag *d, value *out) {
    if (!l->has_worker) return loader_make(l, d, l->next, out);
    pthread_mutex_lock(&l->lock);
    while (!l->ready) pthread_cond_wait(&l->changed, &l->lock);
    ctsc_status s = l->status;
    if (s == CTSC_OK) {
        *out = l->made;
        l->made = value_none();
    } else {
        diag_append(d, &l->failure);
    }
    loader_drop(l);
    pthread_mutex_unlock(&l->lock);
    return s;
}

/* ---- the interface --------------------------------------------------------------------------- */

static ctsc_status loader_take(diag *d, loader *l, value item) {
    if (item.tag != V_TENSOR || !item.u.tensor->ndim)
        return diag_fail(d, CTSC_USAGE, "batches are made of tensors with at least one dimension");
    if (item.u.tensor->storage->device)
        return diag_fail(d, CTSC_UNSUPPORTED, "batches are made of tensors on the CPU");
    if (item.u.tensor->quantiser)
        return diag_fail(d, CTSC_UNSUPPORTED, "batches cannot be made of quantised tensors");
    if (l->ndata && item.u.tensor->sizes[0] != l->rows)
        return diag_fail(d, CTSC_USAGE, "Size mismatch between tensors");
    l->rows = item.u.tensor->sizes[0];
    TRY(tensor_contiguous(d, item.u.tensor, &l->data[l->ndata]));
    l->ndata++;
    return CTSC_OK;
}

static ctsc_status loader_fill(diag *d, loader *l, value data) {
    bool tuple = data.tag == V_TUPLE;
    size_t n = tuple ? data.u.tuple->len : data.tag == V_LIST ? data.u.list->len : 0;
    if (!n || n > 1024)
        return diag_fail(d, CTSC_USAGE, "batches are made of a list or tuple of tensors");
    if (l->o.batch < 1) return diag_fail(d, CTSC_USAGE, "a batch has at least one row");
    if (!(l->data = mem_zalloc(n * sizeof *l->data))) return diag_no_memory(d);
    for (size_t i = 0; i < n; i++) {
        value item = tuple ? value_ref(data.u.tuple->items[i]) : list_get(data.u.list, i);
        ctsc_status s = loader_take(d, l, item);
        value_unref(item);
        TRY(s);
    }
    if (!l->rows) return diag_fail(d, CTSC_USAGE, "there is no data to make batches of");
    if (l->o.shuffle && !(l->order = mem_alloc((size_t)l->rows * sizeof *l->order)))
        return diag_no_memory(d);
    return CTSC_OK;
}

ctsc_status loader_new(diag *d, value data, const loader_options *o, loader **out) {
    loader *l = mem_zalloc(sizeof *l);
    if (!l) return diag_no_memory(d);
    l->o = *o;
    l->wanted = -1;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    generator_seed(&l->g, o->seed);
    ctsc_status s = loader_fill(d, l, data);
    /* without one batches are made when asked for */
    if (s == CTSC_OK && o->prefetch)
        l->has_worker = pthread_create(&l->worker, NULL, loader_work, l) == 0;
    if (s == CTSC_OK) *out = l;
    else loader_free(l);
    return s;
}

void loader_free(loader *l) {
    if (!l) return;
    loader_settle(l);
    if (l->has_worker) {
        pthread_mutex_lock(&l->lock);
        l->quit = true;
        pthread_cond_broadcast(&l->changed);
        pthread_mutex_unlock(&l->lock);
        pthread_join(l->worker, NULL);
    }
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->changed);
    for (int i = 0; i < l->ndata; i++) tensor_unref(l->data[i]);
    mem_free(l->data);
    mem_free(l->order);
    mem_free(l);
}

/* Draws an epoch's numbers. */
static void loader_shuffle(loader *l) {
    /* the end of the epoch before */
    for (int64_t i = 0; l->drawn && i < l->rows - 1; i++) (void)generator_u32(&l->g);
    (void)generator_u64(&l->g);
    for (int64_t i = 0; i < l->rows; i++) l->order[i] = i;
    for (int64_t i = 0; i < l->rows - 1; i++) { /* as aten::randperm */
        int64_t k = i + generator_u32(&l->g) % (l->rows - i), old = l->order[i];
        l->order[i] = l->order[k];
        l->order[k] = old;
    }
    l->drawn++;
}

ctsc_status loader_begin(diag *d, loader *l, int64_t epoch, int64_t batch) {
    if (epoch < 0 || batch < 0)
        return diag_fail(d, CTSC_USAGE, "epochs and batches are numbered from 0 on");
    loader_settle(l);
    if (l->order && epoch < l->drawn) {
        generator_seed(&l->g, l->o.seed);
        l->drawn = 0;
    }
    while (l->order && l->drawn <= epoch) loader_shuffle(l);
    l->next = batch;
    loader_ask(l, batch);
    return CTSC_OK;
}

ctsc_status loader_next(diag *d, loader *l, value *out) {
    *out = value_none();
    if (l->next >= loader_batches(l)) return CTSC_OK;
    TRY(loader_fetch(l, d, out));
    loader_ask(l, ++l->next);
    return CTSC_OK;
}

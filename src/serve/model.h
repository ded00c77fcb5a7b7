/* SPDX-License-Identifier: Apache-2.0 */
/*
 * model.h - one loaded version of a model: the module, its settings, its queue and the
 * threads that run it.
 *
 * Ownership. A model is counted. Requests hold a reference while they wait and run, the repository
 * one while the model is the one that new requests get. When the last one goes, model_unref only
 * notes it; the housekeeping thread frees the model (model_free waits for the model's threads,
 * which a thread of the model cannot do).
 */
#ifndef CTSC_SERVE_MODEL_H
#define CTSC_SERVE_MODEL_H

#include "serve/config.h"
#include "serve/metrics.h"

#include <pthread.h>

struct job;
struct spawner;
struct workers;

/* An argument of the method as the protocol sees it. */
typedef struct model_input {
    const char *name; /* of the argument */
    const ctsc_argument *arg;
    const config_tensor *config; /* what config.json says of it, or NULL */
    enum {
        INPUT_TENSOR,
        INPUT_INT,
        INPUT_FLOAT,
        INPUT_BOOL,
        INPUT_STRING,
        INPUT_LIST,
        INPUT_NONE
    } form;
    ctsc_kind item; /* of an INPUT_LIST */
} model_input;

enum { MODEL_SHAPE_DIMS = 5 };

typedef struct model {
    char *name, *version;
    char platform[32]; /* of the metadata: "ctsc_", and the format of its file */
    ctsc_module *module;
    void *bytes; /* the archive, which module refers to: from malloc, or mapped */
    size_t size; /* of it */
    bool mapped;
    struct workers *processes; /* NULL: calls run in this process */
    ctsc_signature *signature;
    model_config config;
    model_input *inputs;
    size_t ninputs;
    /* the input that says where tokens are in the model's cache; -1: there is none. With one, it
     * runs one call at a time */
    int position;
    /* what page_shape found: dims, -1 before it has looked */
    pthread_mutex_t shape_lock;
    int shape_ndim;
    int64_t shape[MODEL_SHAPE_DIMS];
    model_stats *stats;  /* the repository's */
    ctsc_cancel *cancel; /* set when the server gives up waiting */
    atomic_int refs;
    struct model *next; /* in the repository's list of living models */

    /* scheduler.c */
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct job *head, *tail;
    int waiting, busy, idle;          /* jobs in the queue; calls running; threads asleep */
    bool stopping, no_batches;        /* no_batches: outputs turned out not to follow dimension 0 */
    atomic_uint_fast64_t slowest_ns;  /* processor time of recent calls, decaying */
    atomic_bool seemed_slow;          /* the last call, by the clock */
    struct scheduler_worker *workers; /* the threads that empty the queue */
    int nworkers;
} model;

/* Loads an archive's bytes (taken over in any case; from malloc). s: makes the processes that its
 * calls run in; NULL: they run in this one. False: *why says why in one line. Its threads are
 * running. */
bool model_new(const char *name, const char *version, void *bytes_take, size_t len,
               model_config *config_take, model_stats *stats, struct spawner *s, model **out,
               char *why, size_t why_size);
void model_free(model *m); /* nobody else may refer to it */
static inline model *model_ref(model *m) {
    atomic_fetch_add_explicit(&m->refs, 1, memory_order_relaxed);
    return m;
}
static inline void model_unref(model *m) {
    atomic_fetch_sub_explicit(&m->refs, 1, memory_order_acq_rel);
}
/* By the argument's name, the model's own or config.json's for it, or as "input__0". -1: none. */
int model_find_input(const model *m, const char *name);
/* What items of a list of that type are, as in "List[int]"; CTSC_KIND_OTHER: no numbers, bools or
 * strings. */
ctsc_kind model_list_item(const char *type);
/* What the model says of an input beyond config.json; NULL: no such datatype in the protocol, or
 * nothing. */
const datatype *model_input_type(const model_input *in);
/* What config.json says of it, or else the model, even if it only seems so; NULL: nothing. */
const datatype *model_tensor_type(const model_input *in);
/* Name of output i as answers call it: config.json's, the program's, the key it was found under
 * (NULL: none), the NamedTuple's field, or "output__<i>" put into `room`. */
const char *model_output_name(const model *m, size_t i, const char *key, char room[32]);
/* The object of a metadata request. versions: the names of all, as JSON. */
void model_metadata(const model *m, const char *versions, buffer *out);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctsc_dist.h - processes that work together: collectives on tensors, stores, messages.
 *
 * This is the interface of libctsc-dist.so, which is a library of its own: it needs no libctsc, and
 * programs that run in one process never open it. docs/distributed.md has an example.
 *
 * Conventions are those of ctsc.h, but for errors: a ctsc_dist_error is the caller's memory and may
 * be NULL. A call whose time-out passes ends with CTSC_LIMIT, one whose peer is lost with
 * CTSC_FAILED; both messages name the peer and the operation.
 *
 * Threads. Every function may be called from any thread. The collectives of one group run in the
 * order in which they are called, which has to be the same on all of its ranks.
 */
#ifndef CTSC_DIST_H
#define CTSC_DIST_H

#include "ctsc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a program has to be compiled again. */
#define CTSC_DIST_VERSION 1
CTSC_API int ctsc_dist_version(void);

typedef struct ctsc_dist_error {
    ctsc_status status;
    char message[1024];
} ctsc_dist_error;

/* ---- stores ---------------------------------------------------------------------------------- */

/* Keys and values that all processes see: they find one another there. A time-out is in
 * milliseconds; a negative one is the store's own. */
typedef struct ctsc_dist_store ctsc_dist_store;

/* A store in the memory of one process, which serves it at port, 0: one that is free. All others
 * connect to host:port. Only processes that have the same secret are answered: that of the variable
 * CTSC_DIST_SECRET (64 hexadecimal digits), else that of a file in the user's folder of caches. */
CTSC_API ctsc_status ctsc_dist_store_tcp(const char *host, int port, bool serve, int64_t timeout_ms,
                                         ctsc_dist_store **out, ctsc_dist_error *e);
/* A store in a file that all processes can lock. It is removed by the last of `users` processes
 * that frees its store; users 0: it stays. */
CTSC_API ctsc_status ctsc_dist_store_file(const char *path, int users, int64_t timeout_ms,
                                          ctsc_dist_store **out, ctsc_dist_error *e);
/* A store of this process alone. */
CTSC_API ctsc_status ctsc_dist_store_memory(int64_t timeout_ms, ctsc_dist_store **out,
                                            ctsc_dist_error *e);
CTSC_API void ctsc_dist_store_free(ctsc_dist_store *s);
CTSC_API int ctsc_dist_store_port(const ctsc_dist_store *s); /* of a store served by TCP, else 0 */
CTSC_API void ctsc_dist_store_set_timeout(ctsc_dist_store *s, int64_t timeout_ms);

CTSC_API ctsc_status ctsc_dist_store_set(ctsc_dist_store *s, const char *key, const void *data,
                                         size_t bytes, ctsc_dist_error *e);
/* Waits until there is such a key. data: to be freed with ctsc_dist_free. */
CTSC_API ctsc_status ctsc_dist_store_get(ctsc_dist_store *s, const char *key, int64_t timeout_ms,
                                         void **data, size_t *bytes, ctsc_dist_error *e);
/* The key's number plus n, a key that is not there having none; the value is its decimal text. */
CTSC_API ctsc_status ctsc_dist_store_add(ctsc_dist_store *s, const char *key, int64_t n,
                                         int64_t *sum, ctsc_dist_error *e);
CTSC_API ctsc_status ctsc_dist_store_append(ctsc_dist_store *s, const char *key, const void *data,
                                            size_t bytes, ctsc_dist_error *e);
/* Sets the key to `desired` if its value is `expected`, or if it has none and that is empty.
 * data: the value after that, `expected` if there is no such key. */
CTSC_API ctsc_status ctsc_dist_store_exchange(ctsc_dist_store *s, const char *key,
                                              const void *expected, size_t expected_bytes,
                                              const void *desired, size_t desired_bytes,
                                              void **data, size_t *bytes, ctsc_dist_error *e);
/* Whether all of n keys are there: at once, or within the time-out. */
CTSC_API ctsc_status ctsc_dist_store_check(ctsc_dist_store *s, size_t n, const char *const *keys,
                                           bool *there, ctsc_dist_error *e);
CTSC_API ctsc_status ctsc_dist_store_wait(ctsc_dist_store *s, size_t n, const char *const *keys,
                                          int64_t timeout_ms, ctsc_dist_error *e);
CTSC_API ctsc_status ctsc_dist_store_delete(ctsc_dist_store *s, const char *key, bool *was_there,
                                            ctsc_dist_error *e);
CTSC_API ctsc_status ctsc_dist_store_count(ctsc_dist_store *s, int64_t *keys, ctsc_dist_error *e);
CTSC_API void ctsc_dist_free(void *data);

/* ---- groups ---------------------------------------------------------------------------------- */

/* Processes with ranks from 0. The first group is made by all of them; others are parts of it. */
typedef struct ctsc_dist_group ctsc_dist_group;

/* engine: "gloo", "mpi", or "local" for a world of one process. What is missing for one is said
 * by the error (CTSC_ENVIRONMENT). For "mpi" rank and size come from MPI, whatever is given,
 * and the store may be NULL. The store has to live as long as the group. name: that of the
 * group in messages. */
CTSC_API ctsc_status ctsc_dist_init(const char *engine, ctsc_dist_store *store, int rank, int size,
                                    int64_t timeout_ms, const char *name, ctsc_dist_group **out,
                                    ctsc_dist_error *e);
/* A group of some ranks of `all`, in their order. Called by its members only; `name` tells it from
 * the other groups, and is the same on all of them. No message is sent. */
CTSC_API ctsc_status ctsc_dist_subgroup(ctsc_dist_group *all, int n, const int *ranks,
                                        int64_t timeout_ms, const char *name, ctsc_dist_group **out,
                                        ctsc_dist_error *e);
/* Waits for its running work. Connections are closed with the last group. */
CTSC_API void ctsc_dist_group_free(ctsc_dist_group *g);
CTSC_API int ctsc_dist_rank(const ctsc_dist_group *g);
CTSC_API int ctsc_dist_size(const ctsc_dist_group *g);
/* The group that the launcher of this process describes, and the store that it made for it (NULL:
 * none was needed), which has to live as long as the group: of RANK, WORLD_SIZE, MASTER_ADDR and
 * MASTER_PORT (torchrun, ctsc launch), of mpirun, or of srun. *out is NULL if no launcher says
 * anything. */
CTSC_API ctsc_status ctsc_dist_init_launched(int64_t timeout_ms, const char *name,
                                             ctsc_dist_store **store, ctsc_dist_group **out,
                                             ctsc_dist_error *e);
/* From now on g is the group of this name for programs with collectives (_c10d_functional::*),
 * until it is freed; the default group's name is "0". Another group of the same name is found again
 * when g is freed. */
CTSC_API ctsc_status ctsc_dist_publish(ctsc_dist_group *g, const char *name, ctsc_dist_error *e);
/* The group that was published last under this name; NULL: none. */
CTSC_API ctsc_dist_group *ctsc_dist_find(const char *name);
/* Whether an engine can be opened here; if not, e says why. */
CTSC_API bool ctsc_dist_has_engine(const char *engine, ctsc_dist_error *e);
CTSC_API void ctsc_dist_group_set_timeout(ctsc_dist_group *g, int64_t timeout_ms);

/* ---- collectives ----------------------------------------------------------------------------- */

/* Memory and its shape, any strides (in elements); strides NULL: contiguous. */
typedef struct ctsc_dist_tensor {
    void *data;
    int dtype; /* ctsc_dtype */
    int ndim;
    const int64_t *sizes, *strides;
} ctsc_dist_tensor;

typedef enum ctsc_dist_op {
    CTSC_DIST_ALL_REDUCE,     /* out[0]: all in[0] folded; it may be the same tensor */
    CTSC_DIST_REDUCE,         /* the same on the root; on others out is not used */
    CTSC_DIST_BROADCAST,      /* out[0]: in[0] of the root, where in may be NULL elsewhere */
    CTSC_DIST_ALL_GATHER,     /* out[r]: in[0] of rank r */
    CTSC_DIST_GATHER,         /* the same on the root; on others out is not used */
    CTSC_DIST_SCATTER,        /* out[0]: in[rank] of the root; on others in is not used */
    CTSC_DIST_REDUCE_SCATTER, /* out[0]: in[rank] of all ranks folded */
    CTSC_DIST_ALL_TO_ALL,     /* out[r]: in[rank] of rank r; sizes may differ from pair to pair */
    CTSC_DIST_BARRIER,        /* nothing; ends when all ranks have begun it */
    CTSC_DIST_SEND,           /* in[0] to `root`; runs beside the collectives */
    CTSC_DIST_RECV            /* out[0] from `root`, or from any rank if that is negative */
} ctsc_dist_op;

/* Elements of 16 bits are folded in float32 and rounded once. The ranks' elements are folded in the
 * order of ranks, so results are the same on all of them and from run to run. */
typedef enum ctsc_dist_reduce {
    CTSC_DIST_SUM,
    CTSC_DIST_AVG,
    CTSC_DIST_PRODUCT,
    CTSC_DIST_MIN,
    CTSC_DIST_MAX,
    CTSC_DIST_BAND,
    CTSC_DIST_BOR,
    CTSC_DIST_BXOR
} ctsc_dist_reduce;

typedef struct ctsc_dist_call {
    ctsc_dist_op op;
    ctsc_dist_reduce reduce;
    int root;           /* a rank of the group */
    int tag;            /* of SEND and RECV */
    int64_t timeout_ms; /* negative: the group's */
    size_t n_in, n_out; /* 0, 1, or the size of the group, as the operation says */
    const ctsc_dist_tensor *in, *out;
} ctsc_dist_call;

/* A call that was started. The memory of its tensors is in use until it is done. */
typedef struct ctsc_dist_work ctsc_dist_work;

/* Runs a call. work: it is only started, and this is to be waited for and freed; NULL: the function
 * returns when it is done. */
CTSC_API ctsc_status ctsc_dist_run(ctsc_dist_group *g, const ctsc_dist_call *call,
                                   ctsc_dist_work **work, ctsc_dist_error *e);
/* timeout_ms: how long this waits at most, without ending the call; negative: until the call's own
 * time-out. CTSC_LIMIT if it still runs. A message (SEND, RECV) that is late ends there, with the
 * connection. */
CTSC_API ctsc_status ctsc_dist_work_wait(ctsc_dist_work *w, int64_t timeout_ms, ctsc_dist_error *e);
CTSC_API bool ctsc_dist_work_done(ctsc_dist_work *w);
CTSC_API int ctsc_dist_work_source(ctsc_dist_work *w); /* of a RECV that is done */
CTSC_API void ctsc_dist_work_free(ctsc_dist_work *w);  /* waits if it still runs */

/* ---- messages -------------------------------------------------------------------------------- */

/* Messages between processes that find one another by numbers in a store: what remote calls are
 * made of. Peers have to share the secret of ctsc_dist_store_tcp. */
typedef struct ctsc_dist_mail ctsc_dist_mail;

/* host: the address under which others reach this process. */
CTSC_API ctsc_status ctsc_dist_mail_open(ctsc_dist_store *store, const char *prefix, int self,
                                         const char *host, ctsc_dist_mail **out,
                                         ctsc_dist_error *e);
CTSC_API ctsc_status ctsc_dist_mail_send(ctsc_dist_mail *m, int to, const void *data, size_t bytes,
                                         ctsc_dist_error *e);
/* The next message; CTSC_LIMIT if there is none within the time. Called by one thread. data: to be
 * freed with ctsc_dist_free. */
CTSC_API ctsc_status ctsc_dist_mail_receive(ctsc_dist_mail *m, int64_t timeout_ms, void **data,
                                            size_t *bytes, ctsc_dist_error *e);
CTSC_API void ctsc_dist_mail_free(ctsc_dist_mail *m); /* what was sent is still delivered */

#ifdef __cplusplus
}
#endif

#endif

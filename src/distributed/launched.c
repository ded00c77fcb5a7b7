/* SPDX-License-Identifier: Apache-2.0 */
/*
 * launched.c - the group that the launcher of this process describes (ctsc_dist_init_launched).
 *
 *   RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT   torchrun, ctsc launch: Gloo, by a store over TCP
 *   OMPI_COMM_WORLD_SIZE, PMI_SIZE               mpirun: MPI, which knows the rest
 *   SLURM_PROCID, SLURM_NTASKS, ...              srun without MPI: Gloo; the store is on the first
 *                                                machine of the step, its port follows from the
 *                                                number of the job
 * The first line that fits counts. Tests: tests/unit/test_dist.c
 */
#include "distributed/dist.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAUNCHED_HOST = 256, LAUNCHED_PORT = 29500, LAUNCHED_PORTS = 10000 };

/* Rank, size and where the store is. */
typedef struct launched { int rank, size, port; char host[LAUNCHED_HOST]; } launched;

/* A number of the environment, of the first variable that is there; -1: none is. */
static int64_t launched_number(const char *name, const char *other) {
    const char *text = getenv(name);
    char *end;
    if ((!text || !*text) && other) text = getenv(other);
    if (!text || !*text) return -1;
    long long n = strtoll(text, &end, 10);
    return *end || n < 0 || n > INT32_MAX ? -1 : n;
}

/* The first name of "node[01-04,07]b,other": node01b. False: it is too long. */
static bool launched_first_host(const char *list, char *host) {
    size_t n = 0;
    bool skip = false; /* within brackets, after the first number */
    for (bool inside = false; *list && (inside || *list != ','); list++) {
        if (*list == '[') inside = true, skip = false;
        else if (*list == ']') inside = skip = false;
        else if (inside && (*list == '-' || *list == ',')) skip = true;
        else if (!skip && n + 1 < LAUNCHED_HOST) host[n++] = *list;
        else if (!skip) return false;
    }
    host[n] = '\0';
    return n > 0;
}

/* False: no launcher says anything. */
static bool launched_by_torchrun(launched *l) {
    const char *host = getenv("MASTER_ADDR");
    int64_t rank = launched_number("RANK", NULL), size = launched_number("WORLD_SIZE", NULL),
            port = launched_number("MASTER_PORT", NULL);
    if (rank < 0 || size < 1 || !host || !*host) return false;
    *l = (launched){(int)rank, (int)size, port < 0 ? LAUNCHED_PORT : (int)port, ""};
    return snprintf(l->host, sizeof l->host, "%s", host) < (int)sizeof l->host;
}

static bool launched_by_slurm(launched *l) {
    const char *step = getenv("SLURM_STEP_NODELIST"), *job = getenv("SLURM_JOB_NODELIST");
    const char *given = getenv("MASTER_ADDR"), *nodes = step && *step ? step : job;
    int64_t rank = launched_number("SLURM_PROCID", NULL),
            id = launched_number("SLURM_JOB_ID", NULL),
            size = launched_number("SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"),
            port = launched_number("MASTER_PORT", NULL);
    if (rank < 0 || size < 1 || !nodes) return false;
    if (port < 0) port = LAUNCHED_PORT + (id < 0 ? 0 : id % LAUNCHED_PORTS);
    *l = (launched){(int)rank, (int)size, (int)port, ""};
    return launched_first_host(given && *given ? given : nodes, l->host);
}

ctsc_status ctsc_dist_init_launched(int64_t timeout_ms, const char *name, ctsc_dist_store **store,
                                    ctsc_dist_group **out, ctsc_dist_error *e) {
    launched l;
    *store = NULL;
    *out = NULL;
    bool found = launched_by_torchrun(&l);
    if (!found && launched_number("OMPI_COMM_WORLD_SIZE", "PMI_SIZE") > 0)
        return ctsc_dist_init("mpi", NULL, 0, 1, timeout_ms, name, out, e);
    if (!found && !launched_by_slurm(&l)) return CTSC_OK;
    if (l.rank >= l.size)
        return dist_fail(e, CTSC_USAGE, "the launcher says rank %d of %d", l.rank, l.size);
    if (l.size == 1) return ctsc_dist_init("local", NULL, 0, 1, timeout_ms, name, out, e);
    ctsc_status st = ctsc_dist_store_tcp(l.host, l.port, l.rank == 0, timeout_ms, store, e);
    if (st == CTSC_OK)
        st = ctsc_dist_init("gloo", *store, l.rank, l.size, timeout_ms, name, out, e);
    if (st == CTSC_OK) return st;
    ctsc_dist_store_free(*store);
    *store = NULL;
    return st;
}

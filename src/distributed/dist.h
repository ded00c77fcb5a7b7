/* SPDX-License-Identifier: Apache-2.0 */
/*
 * dist.h - processes that work together: the map of src/distributed, and what its files share.
 *
 * All of this is libctsc-dist.so, opened when a program first asks for it, so that libctsc neither
 * contains it nor links with what clusters have. Layers, from the bottom:
 *
 *   engine.h           an engine moves bytes between two ranks: post, wait, close. That is all that
 *     gloo_engine.cc   an engine is asked for, so a further one is a file. Gloo's is in a shared
 *     mpi_engine.h     object of its own, libctsc-gloo.so, because Gloo is C++; MPI is opened when
 *                      it is first used (mpi_library.c), so nothing links with it
 *   store.h            keys and values that all ranks see (store_file.c, store_tcp.c, and
 *                      store_table.c below them); zmq.h is what store_tcp.c and mail.c talk through
 *   fold.c, pack.c     elements: reductions of any dtype; tensors with strides
 *   collective.c       collectives, made of messages
 *   near.h             the same in shared memory, for groups within one machine: near.c, segments
 *                      and rounds; near_collective.c
 *   process_group.c    process groups: what runs in which order, works, time-outs; message.c below
 *   dist_api.c         checks of arguments; ctsc_dist.h
 *   launched.c         the group that torchrun, mpirun or srun describes
 *   published.c        groups by name, for programs with collectives (runtime/kernels/collective)
 *
 * Above them are the names of PyTorch: python/ctsc/distributed.
 *
 * Why Gloo, and not UCX, for processes that no mpirun started. Both are in Debian. What is asked of
 * them is the same: connections of each process to each, and messages with 64-bit tags. Gloo makes
 * its connections from any store of keys, as torchrun and PyTorch's stores offer; UCX wants worker
 * addresses exchanged and a progress loop of the caller's, and its wheels and packages bring
 * transports (libibverbs, CUDA) that have to fit the machine. PyTorch users know Gloo's variables
 * (GLOO_SOCKET_IFNAME). What UCX is better at, InfiniBand, MPI and NCCL use already.
 *
 * Why the collectives are ours, and not those of Gloo or MPI. They fold elements in the order of
 * ranks, so all ranks have the same bits, whatever the engine and from run to run; 16-bit floats
 * are sent as they are, added in float32 and rounded once, which a pairwise reduction of a library
 * cannot do; and a failure is known to be one of a certain rank, in a certain operation.
 *
 * Shared memory is no engine: an engine's messages would be written and read once more, and for
 * every peer again.
 *
 * Messages of one call. The slot of a message is a hash of the group, the number of the call within
 * it, and what the call is: operation, dtype, sizes, root (call_slot). So ranks that disagree never
 * receive one another's bytes; they wait, their time-out passes, and each says what it was doing,
 * in the store, from where the others' messages quote it (task_explain).
 *
 * Memory comes from malloc: this library is not libctsc.
 * Tests: tests/distributed
 */
#ifndef CTSC_DISTRIBUTED_DIST_H
#define CTSC_DISTRIBUTED_DIST_H

#include "ctsc_dist.h"

#include <stdarg.h>

/* ---- errors, time ---------------------------------------------------------------------------- */

/* Fills e, if there is one, and returns the status. */
ctsc_status dist_fail(ctsc_dist_error *e, ctsc_status s, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
ctsc_status dist_no_memory(ctsc_dist_error *e);
/* Milliseconds of a clock that only goes forward; what is left until then, at least 0. */
int64_t dist_now(void);
int64_t dist_left(int64_t deadline);

/* ---- elements -------------------------------------------------------------------------------- */

enum { DIST_WIDEST = 16 };          /* bytes of an element */
size_t dist_dtype_bytes(int dtype); /* 0: there is no such dtype */
const char *dist_dtype_name(int dtype);
/* Whether elements can be folded so; if not, e says why. */
bool dist_can_fold(int dtype, ctsc_dist_reduce op, ctsc_dist_error *e);
/* out[i] = in[0][i] op in[1][i] op ... for n inputs, in this order; out may be one of them. */
void dist_fold(void *out, const void *const *in, int n, size_t count, int dtype,
               ctsc_dist_reduce op);

int64_t dist_count(const ctsc_dist_tensor *t); /* its elements; -1: its sizes are none */
bool dist_is_contiguous(const ctsc_dist_tensor *t);
void dist_pack(void *to, const ctsc_dist_tensor *from);
void dist_unpack(const ctsc_dist_tensor *to, const void *from);

#endif

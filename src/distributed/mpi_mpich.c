/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_mpich.c - the engine on MPICH and what has its interface (mpi_engine.h): handles are
 * numbers. */
typedef struct mpich_status {
    int count_low, count_high, MPI_SOURCE, MPI_TAG, MPI_ERROR;
} mpich_status;

#define MPI_NAMED(name) mpi_mpich_##name
#define MPI_HANDLE int
#define MPI_STATUS mpich_status
#define MPI_SYMBOL_HANDLE(library, name, number) (number)
#define MPI_ANYWHERE (-2)
#define MPI_TAG_LIMIT 0x64400001
#include "distributed/mpi_engine.h"

/* SPDX-License-Identifier: Apache-2.0 */
/* mpi_openmpi.c - the engine on Open MPI (mpi_engine.h): handles are addresses of its objects. */
#include <stddef.h>

typedef void *openmpi_handle;
typedef struct openmpi_status {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR, cancelled;
    size_t count;
} openmpi_status;

#define MPI_NAMED(name) mpi_openmpi_##name
#define MPI_HANDLE openmpi_handle
#define MPI_STATUS openmpi_status
#define MPI_SYMBOL_HANDLE(library, name, number) dlsym(library, name)
#define MPI_ANYWHERE (-1)
#define MPI_TAG_LIMIT 0
#include "distributed/mpi_engine.h"

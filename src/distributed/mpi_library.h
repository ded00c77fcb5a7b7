/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_library.h - which MPI there is, and its engine.
 *
 * A program that is compiled with Open MPI's header passes pointers for communicators and data
 * types, one that is compiled with MPICH's passes integers, and their MPI_Status differs. So the
 * engine (mpi_engine.h) is compiled once for each, without either header. Intel's, Cray's and
 * MVAPICH's MPI have MPICH's interface.
 */
#ifndef CTSC_DISTRIBUTED_MPI_LIBRARY_H
#define CTSC_DISTRIBUTED_MPI_LIBRARY_H

#include "distributed/dist.h"
#include "distributed/engine.h"

/* library: as dlopen returned it. */
const engine_interface *mpi_openmpi_engine(void *library, char why[ENGINE_TEXT]);
const engine_interface *mpi_mpich_engine(void *library, char why[ENGINE_TEXT]);

#endif

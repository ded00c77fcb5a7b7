/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mpi_library.c - finds MPI: the one that started this process, else the first one there is.
 *
 * CTSC_MPI names the file. Open MPI's mpirun sets OMPI_COMM_WORLD_SIZE, MPICH's and Slurm's PMI
 * set PMI_RANK or PMI_SIZE. The library's plug-ins look for its symbols, so these are global.
 */
#include "distributed/mpi_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const char *const mpi_files[] = {"libmpi.so.40", "libmpi.so.20",  "libmpich.so.12",
                                        "libmpi.so.12", "libmpich.so.0", "libmpi.so"};
enum { MPI_FILES = sizeof mpi_files / sizeof *mpi_files, MPI_FIRST_MPICH = 2 };

static void *mpi_look(void) {
    const char *given = getenv("CTSC_MPI");
    if (given && *given) return dlopen(given, RTLD_NOW | RTLD_GLOBAL);
    bool mpich = !getenv("OMPI_COMM_WORLD_SIZE") && (getenv("PMI_RANK") || getenv("PMI_SIZE"));
    for (int i = 0; i < MPI_FILES; i++) {
        int k = mpich ? (i + MPI_FIRST_MPICH) % MPI_FILES : i;
        void *library = dlopen(mpi_files[k], RTLD_NOW | RTLD_GLOBAL);
        if (library) return library;
    }
    return NULL;
}

static const engine_interface *mpi_found;
static char mpi_why[ENGINE_TEXT];

static void mpi_find(void) {
    void *library = mpi_look();
    if (!library)
        snprintf(mpi_why, sizeof mpi_why,
                 "no MPI: %.300s; install one (Debian: libopenmpi3, libmpich12), or set CTSC_MPI",
                 dlerror());
    else if (dlsym(library, "ompi_mpi_comm_world"))
        mpi_found = mpi_openmpi_engine(library, mpi_why);
    else mpi_found = mpi_mpich_engine(library, mpi_why);
}

const engine_interface *engine_mpi(char why[ENGINE_TEXT]) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, mpi_find);
    if (!mpi_found) snprintf(why, ENGINE_TEXT, "%s", mpi_why);
    return mpi_found;
}

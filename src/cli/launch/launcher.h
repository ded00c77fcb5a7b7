/* SPDX-License-Identifier: Apache-2.0 */
/* launcher.h - ctsc launch: what its files share. */
#ifndef CTSC_CLI_LAUNCHER_H
#define CTSC_CLI_LAUNCHER_H

#include <stdbool.h>
#include <sys/types.h>

enum { LAUNCH_MOST = 4096 }; /* processes of one machine */

typedef struct launch_args {
    int processes, nodes, node, port, restarts;
    const char *address, *python, *module;
    bool plain, prefix;
    char **program; /* with its arguments, up to NULL */
} launch_args;

/* Starts all processes once, and waits. The exit code of the first one that failed, 0 if none did;
 * *signalled: this process was asked to end. */
int launch_once(const launch_args *a, int attempt, bool *signalled);

#endif

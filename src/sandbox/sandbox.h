/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sandbox.h - takes from the process what computing does not need, before it meets a hostile file.
 *
 * Two mechanisms of Linux share the work. Landlock limits files: what the program's libraries need
 * can be read, compiled kernels among it, and beyond that only what the caller names. Kernels made
 * inside are not kept: what a model could write there, other processes would run. seccomp limits
 * system calls: no new sockets, programs or processes, no signals to others, and no memory that is
 * writable and executable at once. Both hold for all threads, cannot be undone, and are inherited.
 *
 * Landlock applies to the calling thread and those it starts, but OpenBLAS has threads before main.
 * So the process enters in two steps: sandbox_restart limits files and executes the program again
 * with the same arguments, then sandbox_seal, in that second run, limits system calls. Between the
 * two a server opens its socket.
 *
 * Where the kernel lacks either, nothing is done by halves: the functions fail.
 * Tests: tests/cli/sandbox.test
 */
#ifndef CTSC_SANDBOX_SANDBOX_H
#define CTSC_SANDBOX_SANDBOX_H

#include <stdbool.h>
#include <stddef.h>

enum { SANDBOX_WHY = 256 };

/* What may be done with a file, or with all in a folder. */
typedef enum sandbox_right {
    SANDBOX_READ,
    SANDBOX_WRITE, /* of a folder: files made, written, renamed, removed */
} sandbox_right;

typedef struct sandbox {
    int rules;     /* the descriptor of Landlock's rules; -1: none */
    int interface; /* the version of Landlock in this kernel */
} sandbox;

/* Is this the second run, with files limited? */
bool sandbox_inside(void);
/* Prepares the rules, with what every program needs in them. False: *why says what is missing. */
bool sandbox_open(sandbox *s, char why[SANDBOX_WHY]);
/* A path that does not exist is passed over: opening it fails later, in the words
 * of who wanted it. */
bool sandbox_allow(sandbox *s, const char *path, sandbox_right right, char why[SANDBOX_WHY]);
/* The same for the folder that path is in. */
bool sandbox_allow_folder_of(sandbox *s, const char *path, sandbox_right right,
                             char why[SANDBOX_WHY]);
/* Limits files to the rules and starts the program again with argv. Returns only if that fails. */
void sandbox_restart(sandbox *s, char **argv, char why[SANDBOX_WHY]);
/* Limits files to the rules and system calls, of a process that has one thread, such as one that
 * has just been forked: nothing has to be started again. */
bool sandbox_enter(sandbox *s, char why[SANDBOX_WHY]);
/* Limits system calls, of all threads. */
bool sandbox_seal(char why[SANDBOX_WHY]);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * progress.h - one line on stderr that says what a command is busy with: where stderr is a
 * terminal, and once it has taken a second. Elsewhere nothing of it is written.
 */
#ifndef CTSC_CLI_PROGRESS_H
#define CTSC_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

/* What is being done from now on. The line is drawn by a thread, so a caller may say it as often as
 * it likes, and then be busy for as long as it takes. */
void progress_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* What the library tells of its progress (ctsc_quantize_options), after ctx, which is a text:
 * "net.pt: error of layer 3 of 21, fc". */
void progress_told(void *ctx, const char *text);
/* Whether a line can be shown at all: what it would say may be costly to find out. */
bool progress_shown(void);
/* Takes the line away for a moment: something else is about to be written to the terminal. */
void progress_clear(void);
/* The end: takes the line away, and the thread with it. The next one begins with a new second. */
void progress_end(void);
/* Writes what a program prints to stdout, not into the line: the print of options. */
void progress_print(void *ctx, const char *text, size_t len);

#endif

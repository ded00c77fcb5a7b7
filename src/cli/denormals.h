/* SPDX-License-Identifier: Apache-2.0 */
/*
 * denormals.h - what denormal numbers cost the calls of a method: measured, with them and with
 * zeros in their place, in turns.
 *
 * That a call meets some, the profiler says (ctsc_profile_entry.denormal); what they cost is the
 * processor's affair, from nothing to a hundred times the call.
 */
#ifndef CTSC_CLI_DENORMALS_H
#define CTSC_CLI_DENORMALS_H

#include "cli/cli.h"

/* An operator or kernel that takes longer for meeting denormal numbers; microseconds of a call,
 * its own time. */
typedef struct denormals_row { ctsc_profile_entry entry; double us, flushed_us; } denormals_row;

typedef struct denormals {
    double us, flushed_us; /* of a call */
    size_t n;
    denormals_row *rows; /* what they cost most first; strings are the profilers' */
    ctsc_profiler *plain, *flushed;
} denormals;

/* Did calls that p saw meet denormal numbers? */
bool denormals_met(const ctsc_profiler *p);
/* Calls the method so often in either way; *out is the caller's on success, n 0 where they cost
 * nothing that shows. Reports and returns the exit code on failure. Ends with denormal numbers
 * computed with. */
int denormals_measure(const ctsc_module *m, const char *method, const cli_inputs *in,
                      const cli_limits *limits, int calls, denormals *out, ctsc_error *e);
void denormals_free(denormals *d);
/* {"us", "flushed_us", "rows": [{"name", "file", "line", "self_us", "flushed_self_us"}, ...]}, file
 * null and line 0 where they are not known; NULL if out of memory. */
json_t *denormals_json(const denormals *d);
/* Appends "net.py:12", the row's location, to a name, in text, which is returned. */
const char *denormals_name(const denormals_row *r, char *text, size_t size);

#endif

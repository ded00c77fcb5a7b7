/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.h - what ctsc doctor finds (doctor_probe.c,
 * doctor_model.c), and its diagnosis (cmd_doctor.c). */
#ifndef CTSC_CLI_DOCTOR_H
#define CTSC_CLI_DOCTOR_H

#include "cli/cli.h"

/* All of it as one JSON object, except for the findings; NULL if out of memory. Fields that are
 * not known are null. */
json_t *doctor_probe(void);
/* What calls of a model show, as one more object; NULL if out
 * of memory. Reports and returns the exit code on failure. */
int doctor_model(const cli_model *model, cli_call *c, const cli_limits *l, json_t **out,
                 ctsc_error *e);

#endif

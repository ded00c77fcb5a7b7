/* SPDX-License-Identifier: Apache-2.0 */
/* doctor.h - what ctsc doctor finds (doctor_probe.c), and what it thinks of it (cmd_doctor.c). */
#ifndef CTSC_CLI_DOCTOR_H
#define CTSC_CLI_DOCTOR_H

#include "cli/cli.h"

/* All of it as one JSON object, but for the findings; NULL without memory. Fields that are
 * not known are null. */
json_t *doctor_probe(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * upgraders.h - operators whose meaning changed between archive versions.
 */
#ifndef CTSC_FRONTEND_CODELOAD_UPGRADERS_H
#define CTSC_FRONTEND_CODELOAD_UPGRADERS_H

#include "ir/graph/graph.h"
#include "ir/unit.h"

typedef struct actual { /* an argument of a call */
    const char *name;   /* of a keyword argument, else NULL */
    ir_value *value;
    source_range range;
    /* the receiver of a builtin method call: goes to the argument named self, wherever that is */
    bool is_self;
} actual;

/* The function (of prelude/upgraders.py) that has the meaning the archive's version gave to this
 * call; NULL if today's operator is right. Failures are in d. */
function *upgrader_for(unit *u, diag *d, const char *op_name, int nargs, const actual *args);
/* The operator version of the archive u came from; INT64_MAX for programs of today. */
int64_t importer_version(const unit *u);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* group_columns.c */
#include "codegen/group_internal.h"

bool group_schedule_columns(group_state *s) {
    (void)s;
    return false;
}

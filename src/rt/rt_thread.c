/* SPDX-License-Identifier: Apache-2.0 */
/* rt_thread.c - where a thread's call is: several threads may call at the same time. */
#include "rt/rt_internal.h"

rt_state **ctsc_rt_current(void) {
    static _Thread_local rt_state *current;
    return &current;
}

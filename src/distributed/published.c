/* SPDX-License-Identifier: Apache-2.0 */
/* published.c - groups by the names that programs have for them. Tests: tests/unit/test_dist.c */
#include "distributed/process_group.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct published {
    struct published *next;
    ctsc_dist_group *g;
    char name[GROUP_NAME];
} published;

static pthread_mutex_t published_lock = PTHREAD_MUTEX_INITIALIZER;
static published *published_first; /* the last one that was published */

ctsc_status ctsc_dist_publish(ctsc_dist_group *g, const char *name, ctsc_dist_error *e) {
    if (!name || strlen(name) >= GROUP_NAME)
        return dist_fail(e, CTSC_USAGE, "the name of a group has up to %d bytes", GROUP_NAME - 1);
    published *p = calloc(1, sizeof *p);
    if (!p) return dist_no_memory(e);
    p->g = g;
    snprintf(p->name, sizeof p->name, "%s", name);
    pthread_mutex_lock(&published_lock);
    p->next = published_first;
    published_first = p;
    pthread_mutex_unlock(&published_lock);
    return CTSC_OK;
}

ctsc_dist_group *ctsc_dist_find(const char *name) {
    pthread_mutex_lock(&published_lock);
    published *p = published_first;
    while (p && strcmp(p->name, name)) p = p->next;
    ctsc_dist_group *g = p ? p->g : NULL;
    pthread_mutex_unlock(&published_lock);
    return g;
}

void group_forget(const ctsc_dist_group *g) {
    pthread_mutex_lock(&published_lock);
    for (published **at = &published_first; *at;) {
        published *p = *at;
        if (p->g != g) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        free(p);
    }
    pthread_mutex_unlock(&published_lock);
}

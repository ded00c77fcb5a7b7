/* SPDX-License-Identifier: Apache-2.0 */
/* diff_nests.c - see diff_nests.h. */
#include "diff_nests.h"

#include "ir/graph/fusible.h"

#include <stdio.h>

/* Is there a group with operators of both labels? */
static bool seed_has_both(const graph *g, int first, int second) {
    for (const node *n = g->root->first; n; n = n->next) {
        bool has[2] = {false, false};
        if (n->kind != N_FUSION_GROUP) continue;
        for (const node *m = node_attr(n, "Subgraph")->u.g->root->first; m; m = m->next)
            for (int i = 0; m->kind == N_OP && i < 2; i++)
                for (int k = 0; coverage_operator(i ? second : first, k); k++)
                    has[i] |= !strcmp(coverage_operator(i ? second : first, k), m->op->key);
        if (has[0] && has[1]) return true;
    }
    return false;
}

static nests_verdict seed_run(const nests_job *j, gen_case *c, uint64_t seed, nests_totals *t,
                              strbuf *report, uint32_t before, coverage_miss *miss) {
    enum { MAX_SIZE = 24, KNOWN_PERCENT = 20 };
    rng r = {seed ^ 0x2545f4914f6cdd1du};
    diag d = {0};
    nests_verdict worst = NESTS_SAME;
    /* Kernels of captured calls: these know sizes, and are for one set of arguments. */
    bool known = j->first < 0 && rng_chance(&r, KNOWN_PERCENT);
    graph *g = graph_clone(c->g);
    known = known && gen_case_learn(c, g);
    nests *s = nests_new(g, known, j->cover, seed, &d);
    graph_free(g);
    if (!s) {
        sb_printf(report, "a pass failed: %s\n", diag_message(&d));
        worst = NESTS_DIFFERENT;
    }
    for (int i = 0; s && i < j->vary && worst < NESTS_DIFFERENT; i++) {
        if (i && !c->images && rng_chance(&r, j->stretch)) gen_case_stretch(c, &r);
        else if (i) gen_case_vary(c, &r, MAX_SIZE);
        nests_verdict v = nests_check(s, (size_t)c->nargs, c->args, report);
        t->runs++;
        if (v > worst) worst = v;
        if (!nests_groups(s) || known) break; /* nothing more to see here */
    }
    if (s) {
        t->groups += nests_groups(s);
        t->kernels += nests_plans(s);
        t->excused += worst == NESTS_EXCUSED;
        if (j->first >= 0 && j->cover->pairs[j->first][j->second] == before)
            *miss = seed_has_both(nests_graph(s), j->first, j->second) ? MISS_PLAN : MISS_PASSES;
        if (j->show) {
            strbuf sb = STRBUF_INIT;
            graph_print(nests_graph(s), NULL, &sb);
            fputs(sb_str(&sb), stdout);
            sb_free(&sb);
        }
    }
    nests_free(s);
    diag_clear(&d);
    return worst;
}

nests_verdict nests_seed(const nests_job *j, uint64_t seed, nests_totals *t, strbuf *report) {
    gen_case c;
    coverage_miss miss = MISS_FIRST;
    nests_verdict v = NESTS_SAME;
    bool cell = j->first >= 0;
    uint32_t before = cell ? j->cover->pairs[j->first][j->second] : 0;
    if (cell ? gen_case_pair(j->ops, seed, j->first, j->second, &c, &miss)
             : gen_case_new(j->ops, seed, &c)) {
        t->graphs++;
        v = seed_run(j, &c, seed, t, report, before, &miss);
    }
    if (cell) {
        j->cover->tries[j->first][j->second]++;
        if (j->cover->pairs[j->first][j->second] == before)
            j->cover->misses[j->first][j->second][miss]++;
    }
    gen_case_free(&c);
    return v;
}

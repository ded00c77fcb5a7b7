/* SPDX-License-Identifier: Apache-2.0 */
/* op_similar.c - names of operators close to another, for "did you mean". Tests:
 * tests/unit/test_ops.c */
#include "ir/op/op.h"

#include <string.h>

enum { SIMILAR_LONGEST = 64, SIMILAR_DISTANCE = 3 };

/* Edit distance of two short names. */
static int similar_distance(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    if (n > SIMILAR_LONGEST || m > SIMILAR_LONGEST) return SIMILAR_DISTANCE + 1;
    int row[SIMILAR_LONGEST + 1];
    for (size_t j = 0; j <= m; j++) row[j] = (int)j;
    for (size_t i = 1; i <= n; i++) {
        int diagonal = row[0];
        row[0] = (int)i;
        for (size_t j = 1; j <= m; j++) {
            int best = diagonal + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best) best = row[j] + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = row[j];
            row[j] = best;
        }
    }
    return row[m];
}

int op_similar(const char *name, const char **out, int max) {
    bool qualified = strstr(name, "::") != NULL;
    int n = 0, longest = (int)strlen(name) / 3;
    if (longest > SIMILAR_DISTANCE) longest = SIMILAR_DISTANCE;
    if (longest < 1) longest = 1;
    for (int want = 0; want <= longest; want++) {
        const char *have;
        for (size_t i = 0; n < max && (have = op_builtin_name(i)); i++) {
            if (!qualified && strncmp(have, "aten::", 6)) continue;
            if (similar_distance(name, qualified ? have : have + 6) == want) out[n++] = have;
        }
    }
    return n;
}

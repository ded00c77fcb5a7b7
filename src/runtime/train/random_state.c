/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_state.c - the form in which the state of random numbers is saved.
 * Tests: tests/unit/test_optimizer.c
 */
#include "runtime/train/train.h"

#include <string.h>

/* What torch.get_rng_state gives, byte for byte: the twister as older versions of PyTorch kept it,
 * and the normal numbers that are left over. */
typedef struct random_bytes {
    uint64_t seed;
    int32_t left, seeded;
    uint64_t next, state[624];
    double normal_x, normal_y, normal_rho;
    int32_t normal_is_valid, unused;
    float next_float_normal;
    uint8_t float_is_valid, pad[3];
} random_bytes;
_Static_assert(sizeof(random_bytes) == 5056, "the state that PyTorch saves");

ctsc_status train_random_state(diag *d, generator *g, tensor **out) {
    int64_t n = sizeof(random_bytes);
    if (!g->left) { /* not begun yet */
        generator_seed(g, g->seed);
    }
    TRY(tensor_zeros(d, DT_UINT8, 1, &n, out));
    random_bytes *b = tensor_data(*out);
    b->seed = g->seed;
    b->left = g->left;
    b->seeded = g->seeded;
    b->next = (uint64_t)g->next;
    for (int i = 0; i < 624; i++) b->state[i] = g->state[i];
    b->normal_x = g->next_double_normal;
    b->normal_is_valid = g->has_next_double_normal;
    b->next_float_normal = g->next_float_normal;
    b->float_is_valid = g->has_next_float_normal;
    return CTSC_OK;
}

ctsc_status train_set_random_state(diag *d, generator *g, value state) {
    const tensor *t = state.tag == V_TENSOR ? state.u.tensor : NULL;
    if (!t || t->dtype != DT_UINT8 || t->numel != (int64_t)sizeof(random_bytes) ||
        !tensor_is_contiguous(t) || t->storage->device)
        return diag_fail(d, CTSC_USAGE, "the state of random numbers is a tensor of %zu bytes",
                         sizeof(random_bytes));
    random_bytes b;
    memcpy(&b, tensor_data(t), sizeof b);
    if (b.left < 1 || b.left > 624 || b.next > 624)
        return diag_fail(d, CTSC_FAILED, "the state of random numbers is damaged");
    *g = (generator){.seed = b.seed,
                     .left = b.left,
                     .seeded = b.seeded != 0,
                     .next = (int)b.next,
                     .has_next_float_normal = b.float_is_valid != 0,
                     .has_next_double_normal = b.normal_is_valid != 0,
                     .next_float_normal = b.next_float_normal,
                     .next_double_normal = b.normal_x};
    for (int i = 0; i < 624; i++) g->state[i] = (uint32_t)b.state[i];
    return CTSC_OK;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ptq_state.c - the module's state_dict with quantised weights: NAME.weight as integers, and
 * NAME.weight_scale beside it, as files of weights have them (docs/convert.md).
 *
 * The module's own weights are quantised, without the batch norms that were folded into those of
 * the program: the file fits the module as it was written.
 */
#include "runtime/ptq/ptq.h"

#include <string.h>

/* The layer whose weight has that name: "NAME.weight", of the same sizes; NULL: none. */
static const quantise_layer *state_layer(const ptq *p, const char *name, const tensor *t) {
    static const char tail[] = ".weight";
    size_t n = strlen(name), len = sizeof tail - 1;
    if (n <= len || strcmp(name + n - len, tail) != 0) return NULL;
    for (size_t i = 0; i < p->layers.len; i++) {
        const char *layer = p->report->layers[i].name;
        const tensor *w = p->layers.data[i].w;
        if (strlen(layer) == n - len && !strncmp(layer, name, n - len) && p->made[i] &&
            w->ndim == t->ndim && w->numel == t->numel)
            return &p->layers.data[i];
    }
    return NULL;
}

static bool state_put(dict *to, const char *name, const char *more, tensor *t_take) {
    char text[1024];
    size_t n = strlen(name), k = strlen(more);
    value v = value_tensor_take(t_take);
    if (n + k >= sizeof text) return value_unref(v), false;
    memcpy(text, name, n);
    memcpy(text + n, more, k + 1);
    str *key = str_new(text, n + k);
    if (!key) return value_unref(v), false;
    return dict_set_take(to, (value){.tag = V_STR, .u.str = key}, v);
}

static ctsc_status state_tensor(ptq *p, dict *to, const char *name, tensor *t) {
    const quantise_layer *l = state_layer(p, name, t);
    tensor *q = NULL, *scale = NULL;
    if (p->o->style == QUANTISE_BF16 && l) {
        TRY(tensor_to_dtype(p->d, t, DT_BFLOAT16, &q));
        return state_put(to, name, "", q) ? CTSC_OK : diag_no_memory(p->d);
    }
    if (!l || t->dtype != DT_FLOAT32)
        return state_put(to, name, "", tensor_ref(t)) ? CTSC_OK : diag_no_memory(p->d);
    /* the weight as the module has it: features are its first dim, but of
     * transposed convolutions */
    quantise_layer own = *l;
    own.w = t;
    own.turned = false;
    if (l->turned) own.axis = 0;
    if (!quantise_weight_parts(&own, &p->o->weights, &q, &scale))
        return diag_fail(p->d, CTSC_UNSUPPORTED,
                         "the weight '%s' has no form with scales beside it", name);
    bool ok = state_put(to, name, "", q);
    return state_put(to, name, "_scale", scale) && ok ? CTSC_OK : diag_no_memory(p->d);
}

ctsc_status ptq_state(ptq *p, value state, value *out) {
    const dict *from = state.u.dict;
    if (state.tag != V_DICT || p->o->weights.zeros) return CTSC_OK;
    dict *to = dict_new(from->key_type, from->val_type);
    if (!to) return diag_no_memory(p->d);
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; i < from->used && s == CTSC_OK; i++) {
        const dict_entry *e = &from->entries[i];
        if (e->key.tag == V_STR && e->val.tag == V_TENSOR)
            s = state_tensor(p, to, e->key.u.str->bytes, e->val.u.tensor);
    }
    value v = value_dict_take(to);
    if (s == CTSC_OK) *out = v;
    else value_unref(v);
    return s;
}

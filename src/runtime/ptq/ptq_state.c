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

/* Is t one of l's weights? */
static bool state_fits(const quantise_layer *l, const tensor *t) {
    quantise_layer part;
    if (!l->parts) return l->w->ndim == t->ndim && l->w->numel == t->numel;
    for (size_t i = 0; i < l->nparts; i++)
        if (quantise_part(l, i, &part) && t->ndim == 2 && part.w->sizes[0] == t->sizes[0] &&
            part.w->sizes[1] == t->sizes[1])
            return true;
    return false;
}

/* The layer whose weight has that name: "NAME.weight", of recurrent ones "NAME.weight_ih_l0" and
 * the like; NULL: none. */
static const quantise_layer *state_layer(const ptq *p, const char *name, const tensor *t) {
    static const char tail[] = ".weight";
    for (size_t i = 0; i < p->layers.len; i++) {
        const char *layer = p->report->layers[i].name;
        const quantise_layer *l = &p->layers.data[i];
        size_t n = strlen(layer), len = sizeof tail - 1;
        if (p->made[i] && !strncmp(name, layer, n) && !strncmp(name + n, tail, len) &&
            (l->parts ? name[n + len] == '_' : !name[n + len]) && state_fits(l, t))
            return l;
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
    own.turned = own.table = false;
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

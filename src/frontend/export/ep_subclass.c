/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ep_subclass.c - the program's state by name, and weights that are objects of a
 * subclass of Tensor.
 *
 * Those of torchao hold tensors: integers, scales, zero points. A program that was not decomposed
 * takes them out one by one:
 *
 *     %d : Tensor = export::access_subclass_inner_tensor(%p_fc_weight, "qdata")
 *
 * They are attributes of the module here, "fc.weight.qdata", and the object itself is none.
 * Tests: tests/pt2
 */
#include "frontend/export/ep_internal.h"

#include <string.h>

/* Of tied parameters torch 2.5 names one for all inputs. */
bool ep_state_input(ep_program *p, ep_role role, const char *input, const char *name, bool saved) {
    value v = value_none();
    ep_state *state = strmap_get(&p->by_attribute, name);
    if (strmap_get(&p->states, input) || strmap_get(&p->subclasses, input))
        return ep_bad(p, "input '%.200s' is there twice", input);
    if (!state && p->host->state(p->host->ctx, p->d, role, name, saved, &v) != CTSC_OK)
        return false;
    if (!state && v.tag == V_NONE)
        return strmap_put(&p->subclasses, input, (void *)(uintptr_t)name) || ep_no_memory(p);
    if (!state) state = ep_modules_add(&p->modules, name, role, v);
    if (!state) return false;
    return (strmap_put(&p->states, input, state) && strmap_put(&p->by_attribute, name, state)) ||
           ep_no_memory(p);
}

bool ep_subclass_tensor(ep_node *n) {
    ep_program *p = n->sc->p;
    const json_t *of, *attribute, *tensor;
    const json_t *first = ep_node_arg(n, 0), *second = first ? ep_node_arg(n, 1) : NULL;
    const char *kind = second ? ep_union(p, first, &of) : NULL,
               *text = kind ? ep_union(p, second, &attribute) : NULL,
               *out = text ? ep_union(p, json_array_get(n->outputs, 0), &tensor) : NULL,
               *from = out ? ep_text(p, of, "name") : NULL,
               *to = from ? ep_text(p, tensor, "name") : NULL;
    if (!to) return false;
    const char *object = strmap_get(&p->subclasses, from);
    if (!object || !json_is_string(attribute))
        return ep_unsupported(p, "'%.200s' is not an object with tensors", from);
    const char *name = arena_printf(&p->scratch, "%s.%s", object, json_string_value(attribute));
    if (!name) return ep_no_memory(p);
    if (strmap_get(&n->sc->names, to)) return ep_bad(p, "value '%.200s' is defined twice", to);
    return ep_state_input(p, EP_PARAMETER, to, name, true);
}

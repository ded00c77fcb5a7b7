/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ukernel.c - see ukernel.h.
 *
 * Rows of one family and type are neighbours. Where they begin is found at the first question and
 * remembered, since activations ask once per row of an image.
 */
#include "cpu/ukernel.h"

#define UKERNEL_FAMILY(id, name, type) typedef type ukernel_record_##id;
UKERNEL_FAMILY_TABLE(UKERNEL_FAMILY)
#undef UKERNEL_FAMILY

#define UKERNEL(family, type, isa, record) extern const ukernel_record_##family record;
#include "cpu/ukernel.def"

static const ukernel ukernel_table[] = {
#define UKERNEL(family, type, isa, record)                                                         \
    {UKERNEL_##family, UKERNEL_##type, ISA_##isa, #record, &record},
#include "cpu/ukernel.def"
};
enum { UKERNEL_COUNT = sizeof ukernel_table / sizeof *ukernel_table };
_Static_assert(UKERNEL_COUNT < UINT8_MAX, "places are bytes");

const char *const ukernel_family_names[UKERNEL_FAMILIES] = {
#define UKERNEL_FAMILY(id, name, type) name,
    UKERNEL_FAMILY_TABLE(UKERNEL_FAMILY)
#undef UKERNEL_FAMILY
};
const char *const ukernel_type_names[UKERNEL_TYPES] = {"float64", "float32", "float16", "bfloat16",
                                                       "bytes"};

const ukernel *ukernel_at(int i) { return i < UKERNEL_COUNT ? &ukernel_table[i] : NULL; }

/* 1 more than the place of the first row of each; 0: not looked for yet. */
static uint8_t ukernel_places[UKERNEL_FAMILIES][UKERNEL_TYPES];

static ukernel ukernel_pretended[UKERNEL_FAMILIES][UKERNEL_TYPES];

void ukernel_pretend(ukernel_family family, ukernel_type type, const void *record) {
    ukernel_pretended[family][type] = (ukernel){family, type, ISA_PLAIN, "", record};
}

const ukernel *ukernel_first(ukernel_family family, ukernel_type type) {
    if (ukernel_pretended[family][type].record) return &ukernel_pretended[family][type];
    uint8_t place = __atomic_load_n(&ukernel_places[family][type], __ATOMIC_RELAXED);
    if (!place) {
        const ukernel *u = ukernel_table, *end = u + UKERNEL_COUNT;
        while (u < end && (u->family != family || u->type != type)) u++;
        place = (uint8_t)(u - ukernel_table + 1);
        __atomic_store_n(&ukernel_places[family][type], place, __ATOMIC_RELAXED);
    }
    return ukernel_at(place - 1);
}

const ukernel *ukernel_next(const ukernel *u) {
    const ukernel *next = u->record == ukernel_pretended[u->family][u->type].record
                              ? NULL
                              : ukernel_at((int)(u - ukernel_table) + 1);
    return next && next->family == u->family && next->type == u->type ? next : NULL;
}

const void *ukernel_best(ukernel_family family, ukernel_type type) {
    const ukernel *u = ukernel_first(family, type);
    while (u && !isa_pays(u->isa)) u = ukernel_next(u);
    return u ? u->record : NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * signature.h - the properties of a call's arguments that decide which operators it
 * runs, and on what: everything except the addresses and the elements of tensors.
 *
 * Two calls of a function with equal signatures ask for the same, if no element is read. A
 * signature is a row of words: tags, numbers, texts, the geometry of tensors, which of them are the
 * same or share memory, and where. Arguments that other things than tensors, numbers, texts,
 * tuples, lists and dicts take part in have none; except for the first, which may be an object: it
 * counts as itself.
 *
 * Ownership: a signature borrows its tensors and storages from the values it was made of.
 * Tests: tests/unit/test_cuda_recording.c
 */
#ifndef CTSC_RUNTIME_CONTEXT_SIGNATURE_H
#define CTSC_RUNTIME_CONTEXT_SIGNATURE_H

#include "tensor/value.h"

enum { SIGNATURE_WORDS = 4096, SIGNATURE_TENSORS = 256, SIGNATURE_CONTAINERS = 16 };

typedef struct signature {
    size_t nwords;
    bool anywhere; /* the tensors may be of the host and of devices */
    int device;    /* of those tensors that are on one, the first; DEVICE_HOST: none is */
    int ntensors, nstorages, ncontainers;
    tensor *tensors[SIGNATURE_TENSORS];   /* each once, in the order in which they are met */
    storage *storages[SIGNATURE_TENSORS]; /* of them, likewise */
    const void *containers[SIGNATURE_CONTAINERS];
    uint64_t words[SIGNATURE_WORDS];
} signature;

/* Of tensors of one device; how large and how aligned their memory is counts. False: they have
 * none. */
bool signature_of(signature *s, int n, const value *args);
/* Of tensors wherever they are; of their memory counts what they share. */
bool signature_of_any(signature *s, int n, const value *args);
bool signature_equal(const signature *s, size_t nwords, const uint64_t *words);

/* v with to[i] where from[i] is, all of them s's tensors; lists and dicts are new. A new reference;
 * false if out of memory. */
bool signature_substitute(const signature *from, tensor *const *to, value v, value *out);

#endif

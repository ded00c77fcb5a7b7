/* SPDX-License-Identifier: Apache-2.0 */
/*
 * suggest.h - "did you mean": names similar to an unknown one, and the location of the unknown one.
 */
#ifndef CTSC_FRONTEND_SYNTAX_SUGGEST_H
#define CTSC_FRONTEND_SYNTAX_SUGGEST_H

#include "base/diag.h"

typedef struct suggestion {
    const char *wanted, *best; /* best NULL: nothing is close */
    int distance, kind;
} suggestion;

void suggest_try(suggestion *s, const char *candidate);
/* tries the names of aten operators whose first argument is of this kind of type; -1: any */
void suggest_operators(suggestion *s, int kind);
void suggest_note(diag *d, const suggestion *s); /* "did you mean 'relu'?" */
/* The last place inside r where `word` occurs as a whole
 * word: where a caret belongs; r if there is none. */
source_range suggest_word(source_range r, const char *word);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_parse.h - shared by the parts of the graph text parser.
 *
 *     graph_parse.c        graphs, nodes, blocks, locations
 *     graph_parse_type.c   types
 *     graph_parse_value.c  attribute values and constants
 */
#ifndef CTSC_IR_GRAPH_GRAPH_PARSE_H
#define CTSC_IR_GRAPH_GRAPH_PARSE_H

#include "ir/graph/graph.h"
#include "ir/unit.h"

enum { GRAPH_PARSE_DEPTH = 200 };

typedef struct graph_parser {
    diag *diag;
    source *src; /* the text, for error messages */
    const char *at, *end;
    unit *unit;       /* owns the classes the text names; every graph holds it */
    arena scratch;    /* keys of the maps below, type lists */
    strmap locations; /* "net.py:3:12" -> the source it denotes */
    int depth;
} graph_parser;

/* Tokens. `skip` passes blanks; a newline is skipped only where the grammar allows it. */
ctsc_status parse_error(graph_parser *p, const char *what);
void parse_skip(graph_parser *p);
bool parse_is(graph_parser *p, const char *token);
bool parse_accept(graph_parser *p, const char *token);
ctsc_status parse_expect(graph_parser *p, const char *token);
/* Letters, digits, '_' and, if asked, '.'; the length, 0 if none. */
size_t parse_word(graph_parser *p, bool dotted, const char **out);
bool parse_int(graph_parser *p, int64_t *out); /* false (nothing consumed) if there is none */

ctsc_status graph_parse_type(graph_parser *p, type **out);
ctsc_status graph_parse_types(graph_parser *p, const char *close, int *n, type ***out);
/* The attributes between '[' and ']' of a node whose outputs have their types. */
ctsc_status graph_parse_attrs(graph_parser *p, node *n);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * graph_parse.c - reads graphs from the text that graph_print.c writes.
 *
 *     graph := "graph(" [defs] "):" {node} "return (" [names] ")" {"with" kind "_" N "=" graph}
 *     node  := [defs] "=" kind ["_" N] ["[" attrs "]"] "(" [names] ")"
 *              [", scope: " text] ["# " file ":" line ":" column] newline {block}
 *     block := "block" N "(" [defs] "):" {node} "->" "(" [names] ")"
 *     def   := name ":" type
 *
 * Lines that begin with '#' are comments. The text does not say which overload a node calls; the
 * first that takes the inputs' types is chosen.
 * Tests: tests/unit/test_graph.c, tests/ir/
 */
#include "ir/graph/graph_parse.h"
#include "base/text/text.h"

#include <ctype.h>

enum { PARSE_MAX_COLUMN = 4000, PARSE_MAX_ID = 1 << 30 };

/* One graph being read. */
typedef struct graph_scope {
    graph *g;
    strmap values;        /* name without '%' -> value */
    VEC(ir_value *) defs; /* all of them */
    VEC(node *) groups;   /* nodes whose graphs follow */
    int max_id;
} graph_scope;

/* ---- tokens ---------------------------------------------------------------------------------- */

ctsc_status parse_error(graph_parser *p, const char *what) {
    uint32_t at = (uint32_t)(p->at - p->src->text);
    source_range r = {p->src, at, at + (p->at < p->end)};
    uint32_t line, column;
    source_position(p->src, at, &line, &column);
    return diag_fail_at(p->diag, CTSC_BAD_FILE, r, "%s:%u:%u: %s", p->src->name, line, column,
                        what);
}

void parse_skip(graph_parser *p) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\r')) p->at++;
}

/* Newlines and comment lines as well. */
static void parse_skip_lines(graph_parser *p) {
    for (;;) {
        parse_skip(p);
        if (p->at < p->end && *p->at == '\n') {
            p->at++;
        } else if (p->at < p->end && *p->at == '#') {
            while (p->at < p->end && *p->at != '\n') p->at++;
        } else {
            return;
        }
    }
}

bool parse_is(graph_parser *p, const char *token) {
    parse_skip(p);
    size_t n = strlen(token);
    return (size_t)(p->end - p->at) >= n && !memcmp(p->at, token, n);
}

bool parse_accept(graph_parser *p, const char *token) {
    if (!parse_is(p, token)) return false;
    p->at += strlen(token);
    return true;
}

ctsc_status parse_expect(graph_parser *p, const char *token) {
    if (parse_accept(p, token)) return CTSC_OK;
    char what[64];
    snprintf(what, sizeof what, "expected '%s'", token);
    return parse_error(p, what);
}

size_t parse_word(graph_parser *p, bool dotted, const char **out) {
    parse_skip(p);
    const char *b = p->at;
    while (p->at < p->end && (text_is_alnum((unsigned char)*p->at) || *p->at == '_' ||
                              (unsigned char)*p->at >= 128 || (dotted && *p->at == '.')))
        p->at++;
    *out = b;
    return (size_t)(p->at - b);
}

bool parse_int(graph_parser *p, int64_t *out) {
    parse_skip(p);
    const char *q = p->at;
    bool minus = q < p->end && *q == '-';
    q += minus;
    if (q >= p->end || !isdigit((unsigned char)*q)) return false;
    int64_t v = 0;
    for (; q < p->end && isdigit((unsigned char)*q); q++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_sub_overflow(v, (int64_t)(*q - '0'), &v))
            return false;
    if (!minus && __builtin_sub_overflow((int64_t)0, v, &v)) return false;
    *out = v;
    p->at = q;
    return true;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool parse_name_char(char c) {
    return text_is_alnum((unsigned char)c) || c == '_' || c == '.' || c == '-' ||
           (unsigned char)c >= 128;
}

static size_t parse_name(graph_parser *p, const char **out) {
    if (!parse_accept(p, "%")) return 0;
    const char *b = p->at;
    while (p->at < p->end && parse_name_char(*p->at)) p->at++;
    *out = b;
    return (size_t)(p->at - b);
}

static ctsc_status parse_define(graph_parser *p, graph_scope *sc, ir_value *v, const char *name,
                                size_t len) {
    graph *g = sc->g;
    if (strmap_getn(&sc->values, name, len)) return parse_error(p, "a name is defined twice");
    const char *key = intern_n(&g->names, name, len);
    int64_t id = 0;
    bool number = len > 0;
    for (size_t i = 0; i < len; i++) {
        number &= isdigit((unsigned char)name[i]) != 0;
        if (number && id < PARSE_MAX_ID) id = id * 10 + (name[i] - '0');
    }
    if (number && id >= PARSE_MAX_ID) return parse_error(p, "number too large");
    if (arena_failed(&g->arena) || !strmap_put(&sc->values, key, v) || !vec_push(&sc->defs, v))
        return diag_no_memory(p->diag);
    v->id = number ? (int)id : -1;
    if (number && id > sc->max_id) sc->max_id = (int)id;
    if (!number) value_set_name(v, key);
    return CTSC_OK;
}

/* "%x : T, %y : U" up to, not including, what follows. make gives the value for a type. */
static ctsc_status parse_definitions(graph_parser *p, graph_scope *sc, node *n, block *b) {
    parse_skip_lines(p);
    while (parse_is(p, "%")) {
        const char *name;
        size_t len = parse_name(p, &name);
        type *t;
        if (!len) return parse_error(p, "expected a name");
        ctsc_status s = parse_expect(p, ":");
        if (s == CTSC_OK) s = graph_parse_type(p, &t);
        if (s != CTSC_OK) return s;
        ir_value *v = n ? node_add_output(n, t) : block_add_param(b, t);
        if (arena_failed(&sc->g->arena)) return diag_no_memory(p->diag);
        TRY(parse_define(p, sc, v, name, len));
        if (!parse_accept(p, ",")) break;
        parse_skip_lines(p);
    }
    return CTSC_OK;
}

/* "(%x, %y)" */
static ctsc_status parse_uses(graph_parser *p, graph_scope *sc, node *n, block *b) {
    ctsc_status s = parse_expect(p, "(");
    for (bool first = true; s == CTSC_OK && !parse_accept(p, ")"); first = false) {
        const char *name;
        if (!first && (s = parse_expect(p, ",")) != CTSC_OK) return s;
        size_t len = parse_name(p, &name);
        if (!len) return parse_error(p, "expected a name");
        ir_value *v = strmap_getn(&sc->values, name, len);
        if (!v) return parse_error(p, "an unknown name");
        if (n) node_add_input(n, v);
        else block_add_return(b, v);
        if (arena_failed(&sc->g->arena)) return diag_no_memory(p->diag);
    }
    return s;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* "prim::fork_3" with three groups before it is a fork with a subgraph, unless there is such an
 * operator. */
static bool parse_group_suffix(graph_scope *sc, char *text) {
    char suffix[32];
    int n;
    size_t len = strlen(text),
           tail = (size_t)snprintf(suffix, sizeof suffix, "_%zu", sc->groups.len);
    if (len <= tail || strcmp(text + len - tail, suffix) || strncmp(text, "prim::", 6))
        return false;
    op_overloads(text, &n);
    if (n) return false;
    text[len - tail] = '\0';
    return true;
}

static ctsc_status parse_kind(graph_parser *p, graph_scope *sc, node *n) {
    const char *space, *word;
    size_t slen = parse_word(p, false, &space);
    if (!slen || !parse_accept(p, "::")) return parse_error(p, "expected an operator");
    size_t len = parse_word(p, false, &word);
    char *text = arena_strndup(&p->scratch, space, slen + 2 + len);
    if (!text || arena_failed(&p->scratch)) return diag_no_memory(p->diag);
    if (!len || (size_t)(p->at - space) != slen + 2 + len)
        return parse_error(p, "expected an operator");
    if (parse_group_suffix(sc, text) && !vec_push(&sc->groups, n)) return diag_no_memory(p->diag);
    n->kind = node_kind_named(text);
    if (n->kind == N_OP) n->op_name = intern(&sc->g->names, text);
    return CTSC_OK;
}

/* A source that renders as exactly this place: an excerpt that begins at the line and is blank up
 * to the column. */
static source *parse_location_source(const char *file, size_t len, uint32_t line, uint32_t column) {
    strbuf name = STRBUF_INIT, blank = STRBUF_INIT;
    sb_write(&name, file, len);
    sb_fill(&blank, ' ', column);
    source *s = name.failed || blank.failed ? NULL
                                            : source_new(sb_str(&name), sb_str(&blank), column);
    if (s) s->first_line = line;
    sb_free(&name);
    sb_free(&blank);
    return s;
}

/* Splits "file:line:column"; false if it is something else, a comment. */
static bool parse_location_text(const char *b, const char *e, const char **file_end, uint32_t *line,
                                uint32_t *column) {
    uint32_t part[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        uint32_t scale = 1;
        const char *digits_end = e;
        while (e > b && isdigit((unsigned char)e[-1]) && digits_end - e < 9) {
            part[i] += scale * (uint32_t)(*--e - '0');
            scale *= 10;
        }
        if (e == digits_end || e <= b || *--e != ':') return false;
    }
    *file_end = e;
    *line = part[1];
    *column = part[0];
    return e > b && part[0] <= PARSE_MAX_COLUMN;
}

static ctsc_status parse_location(graph_parser *p, node *n) {
    parse_skip(p);
    const char *b = p->at, *file_end;
    while (p->at < p->end && *p->at != '\n') p->at++;
    uint32_t line, column;
    if (!parse_location_text(b, p->at, &file_end, &line, &column)) return CTSC_OK;
    source *s = strmap_getn(&p->locations, b, (size_t)(p->at - b));
    if (!s) {
        s = parse_location_source(b, (size_t)(file_end - b), line, column);
        if (!s) return diag_no_memory(p->diag);
        if (!strmap_putn(&p->locations, b, (size_t)(p->at - b), s)) {
            source_unref(s);
            return diag_no_memory(p->diag);
        }
    }
    graph_hold_source(n->g, s);
    n->range = (source_range){s, column, column};
    return CTSC_OK;
}

/* ", scope: __module.a/__module.a.b" up to " # " or the line's end. */
static ctsc_status parse_scope(graph_parser *p, node *n) {
    parse_skip(p);
    const char *b = p->at;
    while (p->at < p->end && *p->at != '\n' && strncmp(p->at, " # ", 3)) p->at++;
    n->scope = intern_n(&n->g->names, b, (size_t)(p->at - b));
    return CTSC_OK;
}

static ctsc_status parse_block(graph_parser *p, graph_scope *sc, block *b);

static void parse_resolve(node *n) {
    if (n->kind != N_OP) return;
    const op *o = op_match(n->op_name, (int)n->inputs.len, n->inputs.data);
    if (o && (o->schema->varret || (size_t)o->schema->nreturns == n->outputs.len)) n->op = o;
}

static ctsc_status parse_node(graph_parser *p, graph_scope *sc, block *b) {
    node *n = node_new(sc->g, N_OP, 0, NULL, 0);
    if (arena_failed(&sc->g->arena)) return diag_no_memory(p->diag);
    block_append(b, n);
    ctsc_status s = parse_definitions(p, sc, n, NULL);
    if (s == CTSC_OK) s = parse_expect(p, "=");
    if (s == CTSC_OK) s = parse_kind(p, sc, n);
    if (s == CTSC_OK && p->at < p->end && *p->at == '[') {
        p->at++;
        s = graph_parse_attrs(p, n);
    }
    if (s == CTSC_OK) s = parse_uses(p, sc, n, NULL);
    if (s == CTSC_OK && parse_accept(p, ", scope:")) s = parse_scope(p, n);
    if (s == CTSC_OK && parse_accept(p, "#")) s = parse_location(p, n);
    parse_skip(p);
    if (s == CTSC_OK && p->at < p->end && *p->at != '\n') s = parse_error(p, "expected a new line");
    parse_skip_lines(p);
    while (s == CTSC_OK && parse_is(p, "block")) {
        s = parse_block(p, sc, node_add_block(n));
        parse_skip_lines(p);
    }
    if (s == CTSC_OK) parse_resolve(n);
    if (s == CTSC_OK && arena_failed(&sc->g->arena)) s = diag_no_memory(p->diag);
    return s;
}

static ctsc_status parse_nodes(graph_parser *p, graph_scope *sc, block *b, const char *stop) {
    ctsc_status s = CTSC_OK;
    for (parse_skip_lines(p); s == CTSC_OK && !parse_is(p, stop); parse_skip_lines(p)) {
        if (p->at >= p->end) return parse_error(p, "the text ends too early");
        s = parse_node(p, sc, b);
    }
    p->at += s == CTSC_OK ? strlen(stop) : 0;
    return s;
}

static ctsc_status parse_block(graph_parser *p, graph_scope *sc, block *b) {
    if (p->depth >= GRAPH_PARSE_DEPTH) return parse_error(p, "blocks nest too deeply");
    if (arena_failed(&sc->g->arena)) return diag_no_memory(p->diag);
    p->depth++;
    const char *word;
    parse_word(p, false, &word);
    ctsc_status s = parse_expect(p, "(");
    if (s == CTSC_OK) s = parse_definitions(p, sc, NULL, b);
    if (s == CTSC_OK) s = parse_expect(p, "):");
    if (s == CTSC_OK) s = parse_nodes(p, sc, b, "->");
    if (s == CTSC_OK) s = parse_uses(p, sc, NULL, b);
    p->depth--;
    return s;
}

/* ---- graphs ---------------------------------------------------------------------------------- */

static ctsc_status parse_graph(graph_parser *p, graph **out);

/* "with prim::fork_0 = graph(...)" for every group, in order. */
static ctsc_status parse_groups(graph_parser *p, graph_scope *sc) {
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; s == CTSC_OK && i < sc->groups.len; i++) {
        node *n = sc->groups.data[i];
        char suffix[32];
        graph *sub;
        snprintf(suffix, sizeof suffix, "_%zu", i);
        parse_skip_lines(p);
        s = parse_expect(p, "with ");
        if (s == CTSC_OK) s = parse_expect(p, node_kind_text(n));
        if (s == CTSC_OK) s = parse_expect(p, suffix);
        if (s == CTSC_OK) s = parse_expect(p, "=");
        if (s == CTSC_OK) s = parse_graph(p, &sub);
        if (s == CTSC_OK) node_set_graph(n, "Subgraph", sub);
        if (s == CTSC_OK && arena_failed(&sc->g->arena)) s = diag_no_memory(p->diag);
    }
    return s;
}

/* Values with names get numbers after the printed ones. */
static void parse_number_values(graph_scope *sc) {
    int next = sc->max_id + 1;
    for (size_t i = 0; i < sc->defs.len; i++)
        if (sc->defs.data[i]->id < 0) sc->defs.data[i]->id = next++;
    sc->g->next_id = next;
}

static ctsc_status parse_graph(graph_parser *p, graph **out) {
    if (p->depth >= GRAPH_PARSE_DEPTH) return parse_error(p, "graphs nest too deeply");
    graph_scope sc = {.g = graph_new(), .max_id = -1};
    if (!sc.g) return diag_no_memory(p->diag);
    p->depth++;
    graph_hold_unit(sc.g, p->unit);
    block *root = sc.g->root;
    ctsc_status s = parse_expect(p, "graph(");
    if (s == CTSC_OK) s = parse_definitions(p, &sc, NULL, root);
    if (s == CTSC_OK) s = parse_expect(p, "):");
    if (s == CTSC_OK) s = parse_nodes(p, &sc, root, "return");
    if (s == CTSC_OK) s = parse_uses(p, &sc, NULL, root);
    if (s == CTSC_OK) s = parse_groups(p, &sc);
    if (s == CTSC_OK && arena_failed(&sc.g->arena)) s = diag_no_memory(p->diag);
    p->depth--;
    parse_number_values(&sc);
    strmap_free(&sc.values);
    vec_free(&sc.defs);
    vec_free(&sc.groups);
    if (s == CTSC_OK) *out = sc.g;
    else graph_free(sc.g);
    return s;
}

/* Text that reads well may still use values where they are not defined, and the like. */
static ctsc_status parse_verify(graph_parser *p, const graph *g) {
    diag why = {0};
    ctsc_status s = graph_verify(&why, g);
    if (s == CTSC_INTERNAL)
        s = diag_fail(p->diag, CTSC_BAD_FILE, "%s: %s", p->src->name, diag_message(&why));
    else if (s != CTSC_OK) s = diag_no_memory(p->diag);
    diag_clear(&why);
    return s;
}

static void parse_release(graph_parser *p) {
    for (size_t i = 0; i < p->locations.cap; i++)
        if (p->locations.slots[i].key) source_unref(p->locations.slots[i].value);
    strmap_free(&p->locations);
    arena_free(&p->scratch);
    unit_unref(p->unit);
    source_unref(p->src);
}

ctsc_status graph_parse(diag *d, const char *name, const char *text, size_t len, graph **out) {
    diag own = {0};
    if (len > INT32_MAX) return diag_fail(d, CTSC_LIMIT, "%s: the text is too long", name);
    graph_parser p = {.diag = d ? d : &own, .src = source_new(name, text, len), .unit = unit_new()};
    graph *g = NULL;
    ctsc_status s;
    if (!p.src || !p.unit || !arena_init(&p.scratch)) {
        s = diag_no_memory(p.diag);
    } else {
        p.at = p.src->text;
        p.end = p.src->text + p.src->len;
        parse_skip_lines(&p);
        s = parse_graph(&p, &g);
        parse_skip_lines(&p);
        if (s == CTSC_OK && p.at < p.end) s = parse_error(&p, "unexpected text after the graph");
        if (s == CTSC_OK) s = parse_verify(&p, g);
    }
    parse_release(&p);
    diag_clear(&own);
    if (s == CTSC_OK) *out = g;
    else graph_free(g);
    return s;
}

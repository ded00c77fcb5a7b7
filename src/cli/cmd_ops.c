/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_ops.c - ctsc ops: the operators ctsc knows, by schema; how many of PyTorch's they are; all of
 * them as a document.
 * Tests: tests/cli/ops.test
 */
#include "cli/ops.h"

#include <fnmatch.h>
#include <stddef.h>
#include <string.h>

enum { OPT_ALL = 256, OPT_JSON, OPT_COVERAGE, OPT_MISSING, OPT_CORE_ATEN, OPT_MARKDOWN };

typedef struct ops_args {
    const char *pattern;
    bool all, json, coverage, missing, core_aten, markdown;
    json_t *list;
    size_t shown;
} ops_args;

static const struct argp_option ops_options[] = {
    {"all", OPT_ALL, 0, 0, "also operators of PyTorch that are not supported", 0},
    {"json", OPT_JSON, 0, 0, "print JSON", 0},
    {"coverage", OPT_COVERAGE, 0, 0,
     "instead: how many of PyTorch's operators are supported, by family", 0},
    {"core-aten", OPT_CORE_ATEN, 0, 0,
     "the same of core ATen, to which torch.export decomposes programs", 0},
    {"missing", OPT_MISSING, 0, 0, "the same, and which are not", 0},
    {"markdown", OPT_MARKDOWN, 0, 0,
     "instead: all supported operators as a document (docs/operators.md)", 0},
    {0},
};

static error_t ops_parse(int key, char *arg, struct argp_state *state) {
    ops_args *a = state->input;
    switch (key) {
    case OPT_ALL: a->all = true; break;
    case OPT_JSON: a->json = true; break;
    case OPT_CORE_ATEN: a->core_aten = a->coverage = true; break;
    case OPT_MISSING: a->missing = true; /* fall through */
    case OPT_COVERAGE: a->coverage = true; break;
    case OPT_MARKDOWN: a->markdown = true; break;
    case ARGP_KEY_ARG:
        if (a->pattern)
            argp_error(state, "one PATTERN is expected: '%s' is one argument too many (quote it)",
                       arg);
        a->pattern = arg;
        break;
    default: return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* A pattern without wildcards matches anywhere in the name. */
static bool ops_matches(const char *pattern, const char *key) {
    if (!pattern) return true;
    if (strpbrk(pattern, "*?[")) return fnmatch(pattern, key, 0) == 0;
    return strstr(key, pattern) != NULL;
}

static void ops_visit(void *ctx, const ctsc_operator_info *o) {
    ops_args *a = ctx;
    if (!ops_matches(a->pattern, o->key) || !(a->all || o->supported)) return;
    a->shown++;
    if (a->json)
        json_array_append_new(a->list, json_pack("{s:s, s:s, s:b}", "operator", o->key, "schema",
                                                 o->schema, "supported", o->supported));
    else printf("%s%s\n", o->schema, o->supported ? "" : "  # unsupported");
}

/* The operator whose name, without its namespace and overload, is closest to the pattern. */
typedef struct ops_close {
    const char *pattern;
    char best[64];
    int least;
    const char *space; /* the pattern's own namespace, whose operators come first */
    bool in_space;
} ops_close;

static void ops_compare(void *ctx, const ctsc_operator_info *o) {
    ops_close *c = ctx;
    const char *name = strstr(o->key, "::");
    char text[32];
    size_t len = name ? strcspn(name + 2, ".") : 0;
    if (!o->supported || !len || len >= sizeof text) return;
    snprintf(text, sizeof text, "%.*s", (int)len, name + 2);
    int distance = cli_distance(c->pattern, text);
    bool in_space = !strncmp(o->key, c->space, strcspn(c->space, ":")) &&
                    o->key[strcspn(c->space, ":")] == ':';
    if (distance > c->least || distance * 2 > (int)len) return;
    if (distance == c->least && (c->in_space || !in_space)) return;
    c->least = distance;
    c->in_space = in_space;
    snprintf(c->best, sizeof c->best, "%.*s", (int)(name + 2 - o->key + (ptrdiff_t)len), o->key);
}

static int ops_none(const char *pattern) {
    const char *name = strstr(pattern, "::");
    ops_close c = {
        .pattern = name ? name + 2 : pattern, .least = 4, .space = name ? pattern : "aten::"};
    ctsc_operators(ops_compare, &c);
    return cli_complain(CTSC_FAILED, "no operator matches '%s'%s%s%s", pattern,
                        *c.best ? "; did you mean '" : "", c.best, *c.best ? "'?" : "");
}

const struct argp cmd_ops_argp = {
    ops_options,
    ops_parse,
    "[PATTERN]",
    "Lists operators and their schemas. PATTERN is a part of the name, or a shell "
    "pattern such as 'aten::add*'.",
    NULL,
    NULL,
    NULL};

int cmd_ops(int argc, char **argv) {
    ops_args a = {0};
    cli_parse_args(&cmd_ops_argp, argc, argv, &a);
    if ((a.coverage || a.markdown) && (a.pattern || a.all || a.coverage == a.markdown))
        return cli_complain(CTSC_USAGE,
                            "--coverage and --markdown list all operators: use one of them, alone");
    if (a.core_aten) return ops_core_aten(a.json);
    if (a.coverage) return ops_coverage(a.missing, a.json);
    if (a.markdown) return ops_markdown();
    if (a.json) a.list = json_array();
    ctsc_operators(ops_visit, &a);
    if (a.json) return cli_print_json(a.list);
    if (a.shown) return 0;
    return ops_none(a.pattern ? a.pattern : "*");
}

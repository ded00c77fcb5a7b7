/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_ops.c - ctsc ops: the operators ctsc knows, by schema. */
#include "cli/cli.h"

#include <fnmatch.h>
#include <string.h>

enum { OPT_ALL = 256, OPT_JSON };

typedef struct ops_args { const char *pattern; bool all, json; json_t *list; size_t shown; } ops_args;

static const struct argp_option ops_options[] = {
    {"all", OPT_ALL, 0, 0, "also operators of PyTorch that are not supported", 0},
    {"json", OPT_JSON, 0, 0, "print JSON", 0},
    {0}};

static error_t ops_parse(int key, char *arg, struct argp_state *state) {
    ops_args *a = state->input;
    switch (key) {
    case OPT_ALL: a->all = true; break;
    case OPT_JSON: a->json = true; break;
    case ARGP_KEY_ARG:
        if (a->pattern) argp_error(state, "one PATTERN only, '%s' is too much", arg);
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
        json_array_append_new(a->list, json_pack("{s:s, s:s, s:b}", "operator", o->key, "schema", o->schema,
                                                 "supported", o->supported));
    else printf("%s%s\n", o->schema, o->supported ? "" : "  # unsupported");
}

int cmd_ops(int argc, char **argv) {
    static const struct argp argp = {ops_options, ops_parse, "[PATTERN]",
                                     "Lists operators and their schemas. PATTERN is a part of the name, or a shell "
                                     "pattern such as 'aten::add*'.", NULL, NULL, NULL};
    ops_args a = {0};
    cli_parse_args(&argp, argc, argv, &a);
    if (a.json) a.list = json_array();
    ctsc_operators(ops_visit, &a);
    if (a.json) return cli_print_json(a.list);
    if (a.shown) return 0;
    return cli_complain(CTSC_FAILED, "no operator matches '%s'", a.pattern ? a.pattern : "*");
}

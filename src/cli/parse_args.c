/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse_args.c - how commands parse their arguments: argp, after a look for options that there are
 * not, to say which was meant.
 * Tests: tests/cli/usage.test
 */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>

typedef void (*parse_visit)(const struct argp_option *o, void *ctx);

static void parse_walk(const struct argp *a, parse_visit visit, void *ctx) {
    for (const struct argp_option *o = a->options; o && (o->name || o->key || o->doc); o++)
        if (o->name && !(o->flags & OPTION_DOC)) visit(o, ctx);
    for (const struct argp_child *c = a->children; c && c->argp; c++)
        parse_walk(c->argp, visit, ctx);
}

/* An option as it was typed, and what there is. */
typedef struct parse_search {
    const char *typed;
    size_t len;
    bool known, takes_value; /* it, or what it abbreviates */
    const char *best;
    int least;
} parse_search;

/* "batch-size", where there is "batch": the option is the first or last word of what was typed. */
static bool parse_is_word(const char *typed, size_t len, const char *option) {
    size_t n = strlen(option);
    return n >= 4 && len > n &&
           (!strncmp(typed, option, n) ||
            (typed[len - n - 1] == '-' && !strncmp(typed + len - n, option, n)));
}

static void parse_see(const struct argp_option *o, void *ctx) {
    parse_search *s = ctx;
    char text[32];
    if (!strncmp(o->name, s->typed, s->len)) {
        s->known = true;
        s->takes_value |= o->arg && !(o->flags & OPTION_ARG_OPTIONAL);
    }
    if (s->len >= sizeof text || (o->flags & OPTION_HIDDEN)) return;
    snprintf(text, sizeof text, "%.*s", (int)s->len, s->typed);
    int distance = parse_is_word(s->typed, s->len, o->name) ? 2 : cli_distance(text, o->name);
    if (distance < s->least) s->least = distance, s->best = o->name;
}

static const struct argp_option parse_common[] = {
    {"help", 0, 0, 0, 0, 0}, {"usage", 0, 0, 0, 0, 0}, {0}};
static const struct argp parse_own = {parse_common, NULL, NULL, NULL, NULL, NULL, NULL};

static parse_search parse_find(const struct argp *argp, const char *typed) {
    parse_search s = {.typed = typed, .len = strcspn(typed, "="), .least = 4};
    parse_walk(argp, parse_see, &s);
    parse_walk(&parse_own, parse_see, &s);
    if (s.least * 2 > (int)s.len) s.best = NULL; /* nothing that looks like it */
    return s;
}

/* in_order: what follows the first argument that is not an option belongs to a program. */
static void parse_check(const struct argp *argp, int argc, char **argv, bool in_order) {
    for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
        if (in_order && argv[i][0] == '-' && argv[i][1] != '-') return; /* "-n 2" or "-n2" */
        if (in_order && argv[i][0] != '-') return;
        if (strncmp(argv[i], "--", 2)) continue;
        parse_search s = parse_find(argp, argv[i] + 2);
        if (!s.known && s.best) {
            fprintf(stderr,
                    "%s: there is no option '%.*s': did you mean '--%s'? See '%s --help'.\n",
                    argv[0], (int)s.len + 2, argv[i], s.best, argv[0]);
            exit(CTSC_USAGE);
        }
        if (s.takes_value && !strchr(argv[i], '=')) i++; /* whatever it looks like */
    }
}

static void parse_with(const struct argp *argp, int argc, char **argv, unsigned flags, void *into) {
    parse_check(argp, argc, argv, flags & ARGP_IN_ORDER);
    int error = argp_parse(argp, argc, argv, flags, NULL, into); /* it exits for wrong options */
    if (!error) return;
    fprintf(stderr, "%s: %s\n", argv[0], strerror(error));
    exit(CTSC_LIMIT);
}

void cli_parse_args(const struct argp *argp, int argc, char **argv, void *into) {
    parse_with(argp, argc, argv, 0, into);
}

void cli_parse_args_in_order(const struct argp *argp, int argc, char **argv, void *into) {
    parse_with(argp, argc, argv, ARGP_IN_ORDER, into);
}

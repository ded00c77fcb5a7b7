/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inputs.c - the arguments of a call, as the command line gives them.
 *
 *     --inputs FILE                    a torch.save'd tuple of arguments, a dict of them (.npz), or the one argument (.npy)
 *     --input 'float32[2,3]:rand'      a tensor (inputs_tensor.c)
 *     --input @in.npy | @cat.png       what a file holds (inputs_file.c)
 *     --input 3 | 2.5 | true | none | "text" | [1, 2] | (1, 'a')
 *     --input k=3                      any of these as the argument of this name; arguments left out take their defaults
 * Tests: tests/cli/inputs.test
 */
#include "cli/inputs.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- literals -------------------------------------------------------------------------------- */

static const char *inputs_skip(const char *p) {
    while (isspace((unsigned char)*p)) p++;
    return p;
}

static ctsc_value *inputs_literal(const char **pp, int depth);

static ctsc_value *inputs_sequence(const char **pp, int depth) {
    ctsc_value *items[256], *v = NULL;
    size_t n = 0;
    char close = **pp == '[' ? ']' : ')';
    const char *p = inputs_skip(*pp + 1);
    bool ok = true;
    while (ok && *p && *p != close) {
        ok = n < 256 && (items[n] = inputs_literal(&p, depth + 1)) != NULL;
        n += ok;
        p = inputs_skip(p);
        if (ok && *p == ',') p = inputs_skip(p + 1);
        else if (ok && *p != close) ok = false;
    }
    if (ok && *p == close) {
        v = close == ']' ? ctsc_list_new(n, items) : ctsc_tuple_new(n, items);
        *pp = p + 1;
    }
    while (n) ctsc_value_free(items[--n]);
    return v;
}

static ctsc_value *inputs_literal(const char **pp, int depth) {
    const char *p = inputs_skip(*pp);
    static const struct { const char *word; int what; } words[] = {
        {"true", 1}, {"True", 1}, {"false", 0}, {"False", 0}, {"none", 2}, {"None", 2}};
    *pp = p;
    if (depth > 32) return NULL;
    if (*p == '[' || *p == '(') return inputs_sequence(pp, depth);
    if (*p == '"' || *p == '\'') {
        const char *end = strchr(p + 1, *p);
        if (!end) return NULL;
        *pp = end + 1;
        return ctsc_string_new(p + 1, (size_t)(end - p - 1));
    }
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i].word);
        if (strncmp(p, words[i].word, n) || isalnum((unsigned char)p[n])) continue;
        *pp = p + n;
        return words[i].what == 2 ? ctsc_none_new() : ctsc_bool_new(words[i].what);
    }
    char *end, *fend;
    errno = 0;
    long long i = strtoll(p, &end, 10);
    bool overflow = errno != 0;
    double f = cli_double(p, &fend);
    if (fend == p) return NULL;
    *pp = fend;
    return end == fend && !overflow ? ctsc_int_new(i) : ctsc_float_new(f);
}

/* "flaot32[2,3]" */
static ctsc_status inputs_no_dtype(const char *spec, int len) {
    char typed[32];
    const char *best = NULL;
    int least = 3;
    snprintf(typed, sizeof typed, "%.*s", len, spec);
    const ctsc_dtype_info *d;
    for (size_t i = 0; (d = ctsc_dtype_at(i)); i++) {
        const char *const names[] = {d->name, d->other_name, d->brief};
        for (size_t k = 0; k < 3 && d->use != CTSC_DTYPE_NAMED; k++) {
            int distance = names[k] ? cli_distance(typed, names[k]) : 99;
            if (distance < least && distance < (int)strlen(names[k]))
                least = distance, best = names[k];
        }
    }
    return cli_complain(CTSC_USAGE, "--input %s: '%s' is not a dtype of tensors%s%s%s", spec, typed,
                        best ? "; did you mean '" : "", best ? best : "", best ? "'?" : "");
}

ctsc_status cli_parse_input(const char *spec, ctsc_value **out) {
    bool is_tensor;
    if (*spec == '@') return inputs_file(spec + 1, out);
    ctsc_status s = inputs_tensor(spec, &is_tensor, out);
    if (is_tensor || s != CTSC_OK) return s;
    const char *p = spec;
    ctsc_value *v = inputs_literal(&p, 0);
    if (v && *inputs_skip(p) == '\0') {
        *out = v;
        return CTSC_OK;
    }
    ctsc_value_free(v);
    size_t len = strspn(spec, "abcdefghijklmnopqrstuvwxyz_0123456789");
    if (len && spec[len] == '[' && !isdigit((unsigned char)*spec))
        return inputs_no_dtype(spec, (int)len);
    return cli_complain(CTSC_USAGE,
                        "--input %s: neither a tensor like float32[2,3]:rand, nor a file like "
                        "@in.npy, nor a literal",
                        spec);
}

/* ---- all of them ----------------------------------------------------------------------------- */

/* The names in a dict, or of arguments: "a, b", to be given to free(); NULL: out of memory. */
static char *inputs_names(const ctsc_value *dict, const ctsc_signature *sig) {
    char *text = NULL;
    size_t size;
    FILE *f = open_memstream(&text, &size);
    size_t n = dict ? ctsc_value_len(dict) : ctsc_signature_argument_count(sig);
    for (size_t i = 0; f && i < n; i++) {
        ctsc_value *key = dict ? ctsc_value_key(dict, i) : NULL;
        const char *name = key    ? ctsc_value_string(key, NULL)
                           : dict ? NULL
                                  : ctsc_signature_argument(sig, i)->name;
        fprintf(f, "%s%s", i ? ", " : "", name ? name : "?");
        ctsc_value_free(key);
    }
    if (f && !n) fputs("none", f);
    if (f) fclose(f);
    return text;
}

/* "in.npz has a, b; forward takes x" */
static ctsc_status inputs_unlike(const char *file, const ctsc_value *dict,
                                 const ctsc_signature *sig, const char *method) {
    char *have = inputs_names(dict, NULL), *want = inputs_names(NULL, sig);
    ctsc_status s = cli_complain(CTSC_USAGE, "%s has %s; %s takes %s", file, have ? have : "?",
                                 method, want ? want : "?");
    free(have);
    free(want);
    return s;
}

static int inputs_position(const ctsc_signature *sig, const char *name, size_t len);

/* Arguments that were left out: their defaults. *missing: one that has none. */
static ctsc_status inputs_fill(const ctsc_signature *sig, ctsc_value **args, size_t n,
                               const char **missing) {
    for (size_t i = 0; i < n; i++) {
        if (args[i]) continue;
        const ctsc_argument *a = ctsc_signature_argument(sig, i);
        if (!a->default_value) return *missing = a->name, CTSC_USAGE;
        if (!(args[i] = ctsc_value_copy(a->default_value)))
            return cli_complain(CTSC_LIMIT, "out of memory");
    }
    return CTSC_OK;
}

ctsc_status inputs_of_dict(const char *file, const ctsc_value *v, const ctsc_signature *sig,
                           const char *method, ctsc_value **args, size_t *n) {
    size_t count = ctsc_signature_argument_count(sig), named = 0, left = 0;
    ctsc_value *rest[INPUTS_MOST] = {NULL};
    const char *missing = NULL;
    if (count > INPUTS_MOST || ctsc_value_len(v) > INPUTS_MOST)
        return cli_complain(CTSC_USAGE, "%s: more than %d arguments", file, INPUTS_MOST);
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; s == CTSC_OK && i < ctsc_value_len(v); i++) {
        ctsc_value *key = ctsc_value_key(v, i), *item = ctsc_value_item(v, i);
        bool text = key && ctsc_value_kind(key) == CTSC_KIND_STRING;
        const char *name = text ? ctsc_value_string(key, NULL) : "";
        int at = inputs_position(sig, name, strlen(name));
        if (!key || !item) s = (ctsc_status)cli_complain(CTSC_LIMIT, "out of memory");
        else if (at >= 0 && !args[at]) args[at] = item, item = NULL, named++;
        else if (!cli_is_target(name)) rest[left++] = item, item = NULL;
        ctsc_value_free(key);
        ctsc_value_free(item);
    }
    bool fits = left <= count && !(named && left);
    for (size_t i = 0; i < left; i++) {
        if (s == CTSC_OK && fits) args[i] = rest[i];
        else ctsc_value_free(rest[i]);
    }
    *n = count;
    if (s == CTSC_OK && fits) s = inputs_fill(sig, args, count, &missing);
    return !fits || missing ? inputs_unlike(file, v, sig, method) : s;
}

/* The arguments of a method in a dict, unless the method takes a dict. */
static ctsc_status inputs_by_name(cli_inputs *in, const ctsc_value *v, const ctsc_module *m,
                                  const char *method, bool *done, ctsc_error *e) {
    ctsc_signature *sig = NULL;
    ctsc_status s = ctsc_module_signature(m, method, &sig, e);
    if (s != CTSC_OK) return (ctsc_status)cli_report(e);
    size_t count = ctsc_signature_argument_count(sig);
    *done = !count || ctsc_signature_argument(sig, 0)->kind != CTSC_KIND_DICT;
    if (*done && !(in->values = calloc(INPUTS_MOST + 1, sizeof *in->values)))
        s = (ctsc_status)cli_complain(CTSC_LIMIT, "out of memory");
    if (*done && s == CTSC_OK)
        s = inputs_of_dict(in->file, v, sig, method, in->values, &in->nvalues);
    ctsc_signature_free(sig);
    return s;
}

/* m NULL: there are no names of arguments yet. */
static ctsc_status inputs_from_file(cli_inputs *in, const ctsc_module *m, const char *method,
                                    ctsc_error *e) {
    ctsc_value *v = NULL;
    bool done = false;
    ctsc_status s = ctsc_value_load(in->file, &v, e);
    if (s != CTSC_OK) return cli_report(e);
    ctsc_kind kind = ctsc_value_kind(v);
    if (m && kind == CTSC_KIND_DICT) s = inputs_by_name(in, v, m, method, &done, e);
    if (done || s != CTSC_OK) return ctsc_value_free(v), s;
    bool many = kind == CTSC_KIND_TUPLE;
    in->nvalues = many ? ctsc_value_len(v) : 1;
    in->values = calloc(in->nvalues + 1, sizeof *in->values);
    for (size_t i = 0; in->values && i < in->nvalues; i++) {
        in->values[i] = many ? ctsc_value_item(v, i) : ctsc_value_copy(v);
        if (!in->values[i]) s = CTSC_LIMIT;
    }
    ctsc_value_free(v);
    if (!in->values || s != CTSC_OK) return cli_complain(CTSC_LIMIT, "out of memory");
    return CTSC_OK;
}

/* "name=": the length of the name, 0: there is none. */
static size_t inputs_name(const char *spec) {
    size_t n = 0;
    while (isalnum((unsigned char)spec[n]) || spec[n] == '_') n++;
    return n && !isdigit((unsigned char)*spec) && spec[n] == '=' ? n : 0;
}

/* The position of the argument called `name`; -1: nowhere. */
static int inputs_position(const ctsc_signature *sig, const char *name, size_t len) {
    for (size_t i = 0; i < ctsc_signature_argument_count(sig); i++) {
        const ctsc_argument *a = ctsc_signature_argument(sig, i);
        const char *const names[] = {a->name, a->label};
        for (size_t k = 0; k < 2; k++)
            if (names[k] && strlen(names[k]) == len && !strncmp(names[k], name, len)) return (int)i;
    }
    return -1;
}

static ctsc_status inputs_no_such(const ctsc_signature *sig, const char *method, const char *name,
                                  size_t len) {
    char *names = inputs_names(NULL, sig);
    ctsc_status s = cli_complain(CTSC_USAGE, "--input: %s has no argument '%.*s'; it has %s",
                                 method, (int)len, name, names ? names : "?");
    free(names);
    return s;
}

/* The one after the last that was given is nvalues. */
static ctsc_status inputs_named(cli_inputs *in, const ctsc_signature *sig, const char *method,
                                const char *spec, size_t len) {
    int at = inputs_position(sig, spec, len);
    if (at < 0) return inputs_no_such(sig, method, spec, len);
    if (in->values[at])
        return cli_complain(CTSC_USAGE, "--input: argument '%.*s' is given twice", (int)len, spec);
    ctsc_status s = cli_parse_input(spec + len + 1, &in->values[at]);
    if (s == CTSC_OK && in->nvalues <= (size_t)at) in->nvalues = (size_t)at + 1;
    return s;
}

static ctsc_status inputs_from_specs(cli_inputs *in, const ctsc_signature *sig,
                                     const char *method) {
    bool named = false;
    const char *missing = NULL;
    ctsc_status s = CTSC_OK;
    for (size_t i = 0; i < in->nspecs && s == CTSC_OK; i++) {
        const char *spec = in->specs[i];
        size_t len = inputs_name(spec);
        if (len) {
            named = true;
            s = inputs_named(in, sig, method, spec, len);
        } else if (named) {
            s = cli_complain(CTSC_USAGE,
                             "--input %s: arguments with names come after those without", spec);
        } else if ((s = cli_parse_input(spec, &in->values[i])) == CTSC_OK) {
            in->nvalues = i + 1;
        }
    }
    if (s == CTSC_OK && named) s = inputs_fill(sig, in->values, in->nvalues, &missing);
    return !missing ? s
                    : (ctsc_status)cli_complain(
                          CTSC_USAGE, "--input: argument '%s' of %s is missing", missing, method);
}

ctsc_status cli_read_inputs(cli_inputs *in, const ctsc_module *m, const char *method,
                            ctsc_error *e) {
    ctsc_signature *sig = NULL;
    size_t room = in->nspecs;
    if (in->file && in->nspecs)
        return cli_complain(CTSC_USAGE, "--inputs and --input exclude each other");
    if (in->file) return inputs_from_file(in, m, method, e);
    bool named = false;
    for (size_t i = 0; i < in->nspecs; i++) named |= inputs_name(in->specs[i]) > 0;
    if (named && ctsc_module_signature(m, method, &sig, e) != CTSC_OK)
        return (ctsc_status)cli_report(e);
    if (sig && ctsc_signature_argument_count(sig) > room) room = ctsc_signature_argument_count(sig);
    in->values = calloc(room + 1, sizeof *in->values);
    ctsc_status s = in->values ? inputs_from_specs(in, sig, method)
                               : (ctsc_status)cli_complain(CTSC_LIMIT, "out of memory");
    ctsc_signature_free(sig);
    return s;
}

ctsc_status cli_read_trace_inputs(cli_inputs *in, char ***names, ctsc_error *e) {
    ctsc_status s = CTSC_OK;
    if (in->file && in->nspecs)
        return cli_complain(CTSC_USAGE, "--inputs and --input exclude each other");
    if (in->file) s = inputs_from_file(in, NULL, NULL, e);
    else in->values = calloc(in->nspecs + 1, sizeof *in->values);
    if (in->values && !in->file) in->nvalues = in->nspecs;
    if (s != CTSC_OK) return s;
    *names = calloc(in->nvalues + 1, sizeof **names);
    if (!in->values || !*names) return cli_complain(CTSC_LIMIT, "out of memory");
    for (size_t i = 0; i < in->nspecs; i++) {
        size_t n = inputs_name(in->specs[i]);
        if (n && !((*names)[i] = strndup(in->specs[i], n)))
            return cli_complain(CTSC_LIMIT, "out of memory");
        if ((s = cli_parse_input(in->specs[i] + (n ? n + 1 : 0), &in->values[i])) != CTSC_OK)
            return s;
    }
    return CTSC_OK;
}

void cli_free_inputs(cli_inputs *in) {
    for (size_t i = 0; in->values && i < in->nvalues; i++) ctsc_value_free(in->values[i]);
    free(in->values);
    in->values = NULL;
    in->nvalues = 0;
}

void cli_note_inputs(const cli_inputs *in) {
    if (!in->nspecs && !in->file)
        fputs("note: arguments are given with --input, once for each: --input "
              "'float32[1,3,224,224]:rand', --input 3, --input @in.npy\n",
              stderr);
}

int cli_report_call(const cli_inputs *in, ctsc_error *e) {
    int code = cli_report(e);
    if (code == CTSC_USAGE) cli_note_inputs(in);
    return code;
}

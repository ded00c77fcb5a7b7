/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inputs.c - the arguments of a call, as the command line gives them.
 *
 *     --inputs FILE                    a torch.save'd tuple of arguments (anything else is the one argument), .npy, .npz
 *     --input 'float32[2,3]:rand'      a tensor: rand (uniform 0..1, fixed seed), zeros, ones, arange
 *     --input 3 | 2.5 | true | none | "text" | [1, 2] | (1, 'a')
 */
#include "cli/cli.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- tensors ---------------------------------------------------------------------------------------- */

static const struct { const char *name; ctsc_dtype dtype; } inputs_dtypes[] = {
    {"float32", CTSC_FLOAT32}, {"float", CTSC_FLOAT32}, {"float64", CTSC_FLOAT64}, {"double", CTSC_FLOAT64},
    {"float16", CTSC_FLOAT16}, {"half", CTSC_FLOAT16}, {"bfloat16", CTSC_BFLOAT16},
    {"int64", CTSC_INT64}, {"long", CTSC_INT64}, {"int32", CTSC_INT32}, {"int", CTSC_INT32},
    {"int16", CTSC_INT16}, {"int8", CTSC_INT8}, {"uint8", CTSC_UINT8}, {"bool", CTSC_BOOL}};

/* splitmix64 (public domain, S. Vigna): the same inputs on every run. */
static double inputs_uniform(uint64_t *state) {
    uint64_t z = (*state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (double)((z ^ (z >> 31)) >> 11) * 0x1p-53;
}

static void inputs_store(void *data, ctsc_dtype dt, int64_t i, double x) {
    switch (dt) {
    case CTSC_FLOAT32: ((float *)data)[i] = (float)x; break;
    case CTSC_FLOAT64: ((double *)data)[i] = x; break;
    case CTSC_INT64: ((int64_t *)data)[i] = (int64_t)x; break;
    case CTSC_INT32: ((int32_t *)data)[i] = (int32_t)x; break;
    case CTSC_INT16: ((int16_t *)data)[i] = (int16_t)(int64_t)x; break;
    case CTSC_INT8: ((int8_t *)data)[i] = (int8_t)(int64_t)x; break;
    case CTSC_BOOL: ((uint8_t *)data)[i] = x != 0; break;
    default: ((uint8_t *)data)[i] = (uint8_t)(int64_t)x; break;
    }
}

static bool inputs_fill(const ctsc_value *t, const char *how) {
    static const char *const names[] = {"rand", "zeros", "ones", "arange"};
    int kind = -1;
    for (int k = 0; k < 4; k++)
        if (!strcmp(names[k], how)) kind = k;
    if (kind < 0) return false;
    int64_t n = 1;
    for (int i = 0; i < ctsc_tensor_ndim(t); i++) n *= ctsc_tensor_sizes(t)[i];
    ctsc_dtype dt = ctsc_tensor_dtype(t);
    bool real = dt == CTSC_FLOAT32 || dt == CTSC_FLOAT64;
    uint64_t seed = 42;
    for (int64_t i = 0; i < n && kind != 1; i++) {
        double u = kind == 0 ? inputs_uniform(&seed) : 0;
        inputs_store(ctsc_tensor_data(t), dt, i,
                     kind == 2 ? 1 : kind == 3 ? (double)i : real ? u : dt == CTSC_BOOL ? u < 0.5 : (int64_t)(u * 10));
    }
    return true;
}

/* C has no type for half precision: such tensors are filled as float32, and converted. */
static bool inputs_is_half(ctsc_dtype dt) {
    return dt == CTSC_FLOAT16 || dt == CTSC_BFLOAT16;
}

static ctsc_status inputs_convert(ctsc_value **t, ctsc_dtype dt, ctsc_error *e) {
    ctsc_value *to = ctsc_int_new(dt), *made = NULL;
    ctsc_value *const args[] = {*t, to};
    ctsc_status s = ctsc_call("aten::to.dtype", 2, args, &made, e);
    ctsc_value_free(to);
    if (s != CTSC_OK) return s;
    ctsc_value_free(*t);
    *t = made;
    return s;
}

/* "float32[2,3]:rand"; *is_tensor tells whether the text is meant as one. */
static ctsc_status inputs_tensor(const char *spec, bool *is_tensor, ctsc_value **out) {
    const char *bracket = strchr(spec, '[');
    *is_tensor = false;
    ctsc_dtype dt = CTSC_FLOAT32;
    for (size_t k = 0; bracket && k < sizeof inputs_dtypes / sizeof *inputs_dtypes; k++)
        if (strlen(inputs_dtypes[k].name) == (size_t)(bracket - spec) &&
            !strncmp(inputs_dtypes[k].name, spec, (size_t)(bracket - spec))) {
            dt = inputs_dtypes[k].dtype;
            *is_tensor = true;
        }
    if (!*is_tensor) return CTSC_OK;
    int64_t sizes[64];
    int n = 0;
    const char *p = bracket + 1;
    while (*p && *p != ']') {
        char *end;
        errno = 0;
        long long v = strtoll(p, &end, 10);
        if (end == p || n == 64 || v < 0 || errno) return cli_complain(CTSC_USAGE, "--input %s: wrong sizes", spec);
        sizes[n++] = v;
        p = *end == ',' ? end + 1 : end;
        if (*end != ',' && *end != ']') return cli_complain(CTSC_USAGE, "--input %s: wrong sizes", spec);
    }
    if (*p != ']' || (p[1] && p[1] != ':')) return cli_complain(CTSC_USAGE, "--input %s: ']' expected", spec);
    ctsc_value *t = NULL;
    ctsc_error *e = ctsc_error_new();
    ctsc_status s = ctsc_tensor_new(inputs_is_half(dt) ? CTSC_FLOAT32 : dt, n, sizes, &t, e);
    bool filled = s == CTSC_OK && inputs_fill(t, p[1] ? p + 2 : "rand");
    if (filled && inputs_is_half(dt)) s = inputs_convert(&t, dt, e);
    if (s != CTSC_OK) cli_report(e);
    ctsc_error_free(e);
    if (s != CTSC_OK || !filled) ctsc_value_free(t);
    if (s == CTSC_OK && !filled)
        return cli_complain(CTSC_USAGE, "--input %s: the contents are rand, zeros, ones or arange", spec);
    if (s == CTSC_OK) *out = t;
    return s;
}

/* ---- literals ------------------------------------------------------------------------------------------ */

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

ctsc_status cli_parse_input(const char *spec, ctsc_value **out) {
    bool is_tensor;
    ctsc_status s = inputs_tensor(spec, &is_tensor, out);
    if (is_tensor || s != CTSC_OK) return s;
    const char *p = spec;
    ctsc_value *v = inputs_literal(&p, 0);
    if (v && *inputs_skip(p) == '\0') {
        *out = v;
        return CTSC_OK;
    }
    ctsc_value_free(v);
    return cli_complain(CTSC_USAGE, "--input %s: neither a tensor like float32[2,3]:rand nor a literal", spec);
}

/* ---- all of them --------------------------------------------------------------------------------------- */

static ctsc_status inputs_from_file(cli_inputs *in, ctsc_error *e) {
    ctsc_value *v = NULL;
    ctsc_status s = ctsc_value_load(in->file, &v, e);
    if (s != CTSC_OK) return cli_report(e);
    bool many = ctsc_value_kind(v) == CTSC_KIND_TUPLE;
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

ctsc_status cli_read_inputs(cli_inputs *in, ctsc_error *e) {
    if (in->file && in->nspecs) return cli_complain(CTSC_USAGE, "--inputs and --input exclude each other");
    if (in->file) return inputs_from_file(in, e);
    in->values = calloc(in->nspecs + 1, sizeof *in->values);
    if (!in->values) return cli_complain(CTSC_LIMIT, "out of memory");
    for (size_t i = 0; i < in->nspecs; i++) {
        ctsc_status s = cli_parse_input(in->specs[i], &in->values[i]);
        if (s != CTSC_OK) return s;
        in->nvalues++;
    }
    return CTSC_OK;
}

void cli_free_inputs(cli_inputs *in) {
    for (size_t i = 0; in->values && i < in->nvalues; i++) ctsc_value_free(in->values[i]);
    free(in->values);
    in->values = NULL;
    in->nvalues = 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * inspect_symbols.c - ctsc inspect with sizes that have names: what each layer gives as formulas of
 * them.
 *
 *     ctsc inspect net.pt --input 'float32[N,3,H,W]'
 *
 * Method. The model is on device meta, so that a call costs its shapes. It is called at a base, at
 * sizes along each symbol, and at tuples where several differ (formula.h). The base is the first of
 * a few sizes that the model takes; along a symbol the sizes that it takes have to be evenly
 * spaced, and their step is part of the answer. Symbols are independent: one that has to be equal
 * to another or to one number is refused, since no formula of it could be confirmed.
 * Tests: tests/cli/inspect_symbols.test
 */
#include "cli/show/formula.h"
#include "cli/show/inspect.h"

#include <stdlib.h>
#include <string.h>

enum {
    SYMBOLS_DIMS = 16,
    SYMBOLS_NAME = 24,
    SYMBOLS_WINDOW = 72,
    SYMBOLS_FAR = 4,
    SYMBOLS_PROBE = 160
};

/* One argument: a tensor of one element for its dtype, and its dims as numbers or -1 - symbol. */
typedef struct symbols_input {
    ctsc_value *sample; /* of device meta; any value where no dim has a name */
    int ndim;
    int64_t dims[SYMBOLS_DIMS];
    bool named;
} symbols_input;

typedef struct symbols {
    const ctsc_module *m;
    const cli_call *call;
    const json_t *attributes;
    int n;
    char names[FORMULA_SYMBOLS][SYMBOLS_NAME];
    const char *name_list[FORMULA_SYMBOLS];
    symbols_input *inputs;
    size_t ninputs;
    int64_t base[FORMULA_SYMBOLS], step[FORMULA_SYMBOLS];
    int nsizes[FORMULA_SYMBOLS];
    int64_t sizes[FORMULA_SYMBOLS][FORMULA_AXIS];
    json_t *layers;  /* at the base */
    size_t nnumbers; /* of a call, in the order of symbols_numbers */
    formula_data *values;
    int calls;
} symbols;

/* ---- the texts of --input -------------------------------------------------------------------- */

static bool symbols_letter(char c) { return (c | 32) >= 'a' && (c | 32) <= 'z'; }

/* The length of the name of a size at p; 0: there is none. */
static size_t symbols_name(const char *p) {
    size_t n = 0;
    while (symbols_letter(p[n]) || p[n] == '_' || (n && p[n] >= '0' && p[n] <= '9')) n++;
    return n;
}

/* Where the sizes of a tensor begin, after '['; NULL: the text describes none. */
static const char *symbols_sizes(const char *spec) {
    const char *open = strchr(spec, '[');
    return open && open > spec && symbols_letter(*spec) && *spec != '@' && !strchr(spec, '\'')
               ? open + 1
               : NULL;
}

bool inspect_has_symbols(const cli_inputs *in) {
    for (size_t i = 0; i < in->nspecs; i++) {
        const char *p = symbols_sizes(in->specs[i]);
        for (bool first = true; p && *p && *p != ']'; p++, first = false)
            if ((first || p[-1] == ',' || p[-1] == ' ') && symbols_name(p)) return true;
    }
    return false;
}

static int symbols_find(symbols *s, const char *name, size_t len) {
    for (int i = 0; i < s->n; i++)
        if (strlen(s->names[i]) == len && !memcmp(s->names[i], name, len)) return i;
    if (s->n == FORMULA_SYMBOLS || len >= SYMBOLS_NAME) return -1;
    memcpy(s->names[s->n], name, len);
    s->name_list[s->n] = s->names[s->n];
    return s->n++;
}

/* One text: its dims into `in`, the same text with 1 in place of each size into *sample. */
static int symbols_parse(symbols *s, const char *spec, symbols_input *in, char **sample) {
    const char *p = symbols_sizes(spec);
    size_t size = strlen(spec) + 4 * SYMBOLS_DIMS;
    char *text = *sample = malloc(size);
    if (!text) return cli_complain(CTSC_LIMIT, "out of memory");
    snprintf(text, size, "%s", spec);
    if (!p) return 0;
    size_t used = (size_t)(p - spec);
    for (;; p++) {
        while (*p == ' ') p++;
        size_t len = symbols_name(p);
        char *end = NULL;
        if (*p == ']' && !in->ndim) break;
        if (in->ndim == SYMBOLS_DIMS)
            return cli_complain(CTSC_USAGE, "--input %s: at most %d sizes", spec, SYMBOLS_DIMS);
        int64_t n = len ? -1 - symbols_find(s, p, len) : strtoll(p, &end, 10);
        if (len && n == 0)
            return cli_complain(CTSC_USAGE,
                                "--input %s: at most %d names of sizes, of at most %d "
                                "letters",
                                spec, FORMULA_SYMBOLS, SYMBOLS_NAME - 1);
        if (!len && (end == p || n < 0))
            return cli_complain(CTSC_USAGE, "--input %s: a size is a number or a name", spec);
        in->named |= len > 0;
        in->dims[in->ndim++] = n;
        used += (size_t)snprintf(text + used, size - used, "%s1", in->ndim > 1 ? "," : "");
        for (p = len ? p + len : end; *p == ' ';) p++;
        if (*p != ',') break;
    }
    if (*p != ']') return cli_complain(CTSC_USAGE, "--input %s: no ] after its sizes", spec);
    if (in->named) snprintf(text + used, size - used, "%s", p);
    else snprintf(text, size, "%s", spec);
    return 0;
}

static int symbols_read(symbols *s, ctsc_error *e) {
    const cli_inputs *given = &s->call->inputs;
    cli_inputs in = {.specs = calloc(given->nspecs + 1, sizeof *in.specs), .nspecs = given->nspecs};
    s->inputs = calloc(given->nspecs + 1, sizeof *s->inputs);
    int code = in.specs && s->inputs ? 0 : cli_complain(CTSC_LIMIT, "out of memory");
    for (size_t i = 0; i < in.nspecs && !code; i++)
        code = symbols_parse(s, given->specs[i], &s->inputs[i], &in.specs[i]);
    if (!code) code = cli_read_inputs(&in, s->m, s->call->method, e);
    if (!code && in.nvalues != in.nspecs)
        code = cli_complain(CTSC_USAGE, "sizes with names: arguments by position only");
    for (size_t i = 0; i < in.nvalues && !code; i++) {
        if (ctsc_value_to(in.values[i], "meta", &s->inputs[i].sample, e) != CTSC_OK)
            code = cli_report(e);
        s->ninputs = i + 1;
    }
    for (size_t i = 0; in.specs && i < in.nspecs; i++) free(in.specs[i]);
    free(in.specs);
    in.specs = NULL;
    cli_free_inputs(&in);
    return code;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The argument at these sizes. */
static ctsc_value *symbols_value(const symbols_input *in, const int64_t *at) {
    int64_t sizes[SYMBOLS_DIMS];
    ctsc_value *made = NULL, *ints[SYMBOLS_DIMS], *list = NULL;
    if (!in->named) return ctsc_value_copy(in->sample);
    for (int i = 0; i < in->ndim; i++) {
        sizes[i] = in->dims[i] < 0 ? at[-1 - in->dims[i]] : in->dims[i];
        ints[i] = ctsc_int_new(sizes[i]);
    }
    list = ctsc_list_new((size_t)in->ndim, ints);
    ctsc_value *const args[] = {in->sample, list};
    if (list) (void)ctsc_call("aten::new_empty", 2, args, &made, NULL);
    ctsc_value_free(list);
    for (int i = 0; i < in->ndim; i++) ctsc_value_free(ints[i]);
    return made;
}

/* What each layer gives at these sizes; NULL: the model does not take them, or no memory. */
static json_t *symbols_call(symbols *s, const int64_t *at, ctsc_error *e) {
    cli_call call = *s->call;
    call.inputs = (cli_inputs){.nspecs = s->ninputs,
                               .values = calloc(s->ninputs + 1, sizeof *call.inputs.values)};
    bool ok = call.inputs.values != NULL;
    for (size_t i = 0; ok && i < s->ninputs; i++) {
        ok = (call.inputs.values[i] = symbols_value(&s->inputs[i], at)) != NULL;
        call.inputs.nvalues += ok;
    }
    json_t *layers = ok ? inspect_layers(s->m, &call, s->attributes, e) : NULL;
    for (size_t i = 0; i < call.inputs.nvalues; i++) ctsc_value_free(call.inputs.values[i]);
    free(call.inputs.values);
    s->calls++;
    return layers;
}

typedef void symbols_visit(void *ctx, json_t *owner, size_t i, json_t *number);

/* Every size in a value's shape, in order. */
static void symbols_shape(json_t *shape, symbols_visit *visit, void *ctx) {
    for (size_t i = 0; json_is_array(shape) && i < json_array_size(shape); i++) {
        json_t *item = json_array_get(shape, i);
        if (json_is_integer(item)) visit(ctx, shape, i, item);
        else symbols_shape(item, visit, ctx);
    }
}

static void symbols_numbers(json_t *layers, symbols_visit *visit, void *ctx) {
    size_t i;
    json_t *l;
    json_array_foreach(layers, i, l) symbols_shape(json_object_get(l, "output"), visit, ctx);
}

typedef struct symbols_take {
    symbols *s;
    size_t k;
    int axis, at, tuple;
    unsigned mask;
} symbols_take;

static void symbols_count(void *ctx, json_t *owner, size_t i, json_t *number) {
    (void)owner, (void)i, (void)number;
    ++*(size_t *)ctx;
}

static void symbols_store(void *ctx, json_t *owner, size_t i, json_t *number) {
    symbols_take *t = ctx;
    (void)owner, (void)i;
    formula_data *f = t->k < t->s->nnumbers ? &t->s->values[t->k] : NULL;
    int64_t v = json_integer_value(number);
    t->k++;
    if (!f) return;
    if (t->axis >= 0) f->axis[t->axis][t->at] = v;
    else if (t->tuple >= 0) f->tuples[t->tuple][t->mask] = v;
    else f->base = v;
}

/* Calls, and keeps what came; false: the model does not take these sizes, or gives other things
 * than at the base. */
static bool symbols_sample(symbols *s, const int64_t *at, symbols_take take) {
    json_t *layers = symbols_call(s, at, NULL);
    if (!layers) return false;
    size_t n = 0;
    symbols_numbers(layers, symbols_count, &n);
    take.s = s, take.k = 0;
    if (n == s->nnumbers) symbols_numbers(layers, symbols_store, &take);
    json_decref(layers);
    return n == s->nnumbers;
}

/* ---- which sizes ----------------------------------------------------------------------------- */

static int symbols_find_base(symbols *s, ctsc_error *e) {
    static const int64_t bases[] = {64, 224, 256, 128, 32, 299, 96, 16, 384, 8, 512, 4, 2};
    for (size_t i = 0; i < sizeof bases / sizeof *bases && !s->layers; i++) {
        for (int k = 0; k < s->n; k++) s->base[k] = bases[i];
        s->layers = symbols_call(s, s->base, e);
    }
    if (!s->layers) return cli_report(e);
    symbols_numbers(s->layers, symbols_count, &s->nnumbers);
    s->values = calloc(s->nnumbers + 1, sizeof *s->values);
    return s->values ? 0 : cli_complain(CTSC_LIMIT, "out of memory");
}

/* The distance of the sizes of symbol i that the model takes, from the base; 0:
 * there is no other. */
static int64_t symbols_step(symbols *s, int i) {
    int64_t at[FORMULA_SYMBOLS];
    memcpy(at, s->base, sizeof at);
    for (int64_t step = 1; step <= SYMBOLS_PROBE; step++) {
        at[i] = s->base[i] + step;
        if (symbols_sample(s, at, (symbols_take){.axis = i})) return step;
    }
    return 0;
}

static bool symbols_along(symbols *s, int i) {
    int64_t at[FORMULA_SYMBOLS], step = s->step[i];
    memcpy(at, s->base, sizeof at);
    for (int k = 0; k < SYMBOLS_WINDOW + SYMBOLS_FAR; k++) {
        int64_t far = k - SYMBOLS_WINDOW;
        at[i] = s->base[i] + step * (far < 0 ? k : SYMBOLS_WINDOW + 37 * (far + 1));
        if (!symbols_sample(s, at, (symbols_take){.axis = i, .at = k})) return false;
        s->sizes[i][s->nsizes[i]++] = at[i];
    }
    return true;
}

/* Sizes that none of the others were; what all tuples see is the same for every model. */
static bool symbols_tuples(symbols *s) {
    uint64_t state = 12345;
    for (int t = 0; t < FORMULA_TUPLES; t++) {
        int64_t full[FORMULA_SYMBOLS], at[FORMULA_SYMBOLS];
        for (int i = 0; i < s->n; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            full[i] = s->base[i] + s->step[i] * (int64_t)(1 + (state >> 40) % 150);
        }
        for (size_t k = 0; k < s->nnumbers; k++)
            memcpy(s->values[k].tuple_sizes[t], full, sizeof full);
        for (unsigned mask = 0; mask < 1u << s->n; mask++) {
            for (int i = 0; i < s->n; i++) at[i] = mask >> i & 1 ? full[i] : s->base[i];
            if (!symbols_sample(s, at, (symbols_take){.axis = -1, .tuple = t, .mask = mask}))
                return false;
        }
    }
    return true;
}

static int symbols_gather(symbols *s, ctsc_error *e) {
    int code = symbols_find_base(s, e);
    if (!code && !symbols_sample(s, s->base, (symbols_take){.axis = -1, .tuple = -1}))
        code = cli_complain(CTSC_FAILED, "the model's shapes differ from call to call");
    for (int i = 0; i < s->n && !code; i++) {
        if (!(s->step[i] = symbols_step(s, i)))
            code = cli_complain(CTSC_FAILED,
                                "%s cannot be any size: with %lld for all names the model works, "
                                "and with none of the next %d sizes for %s alone",
                                s->names[i], (long long)s->base[i], SYMBOLS_PROBE, s->names[i]);
        else if (!symbols_along(s, i))
            code = cli_complain(CTSC_FAILED,
                                "the sizes for %s that the model takes are not evenly spaced",
                                s->names[i]);
    }
    if (!code && !symbols_tuples(s))
        code = cli_complain(CTSC_FAILED, "the model does not take each size with each other");
    return code;
}

/* ---- the answer ------------------------------------------------------------------------------ */

typedef struct symbols_answer { symbols *s; size_t k, missing; } symbols_answer;

static void symbols_write(void *ctx, json_t *owner, size_t i, json_t *number) {
    symbols_answer *a = ctx;
    char text[FORMULA_TEXT];
    formula_data *f = &a->s->values[a->k++];
    (void)number;
    f->n = a->s->n, f->names = a->s->name_list;
    for (int k = 0; k < f->n; k++) f->naxis[k] = a->s->nsizes[k], f->sizes[k] = a->s->sizes[k];
    bool fits = formula_fit(f, text);
    a->missing += !fits;
    if (fits && !text[strspn(text, "-0123456789")]) return; /* the number that is there */
    json_array_set_new(owner, i, json_string(fits ? text : "?"));
}

/* What the answer rests on: {"calls": 321, "unconfirmed": 0, "sizes": {"H": {"from":
 * 64, "step": 1}}} */
static json_t *symbols_basis(const symbols *s, size_t missing) {
    json_t *sizes = json_object();
    for (int i = 0; i < s->n; i++)
        json_object_set_new(sizes, s->names[i],
                            json_pack("{s:I, s:I}", "from", (json_int_t)s->base[i], "step",
                                      (json_int_t)s->step[i]));
    return json_pack("{s:i, s:I, s:o}", "calls", s->calls, "unconfirmed", (json_int_t)missing,
                     "sizes", sizes);
}

json_t *inspect_symbolic(const ctsc_module *m, const cli_call *call, const json_t *attributes,
                         json_t **basis, int *code, ctsc_error *e) {
    symbols *s = calloc(1, sizeof *s);
    json_t *layers = NULL;
    if (!s) return *code = cli_complain(CTSC_LIMIT, "out of memory"), NULL;
    s->m = m, s->call = call, s->attributes = attributes;
    *code = symbols_read(s, e);
    if (!*code) *code = symbols_gather(s, e);
    if (!*code) {
        symbols_answer a = {.s = s};
        size_t i;
        json_t *l;
        symbols_numbers(s->layers, symbols_write, &a);
        json_array_foreach(s->layers, i, l) json_object_set_new(l, "flops", json_null());
        *basis = symbols_basis(s, a.missing);
        layers = json_incref(s->layers);
    }
    for (size_t i = 0; i < s->ninputs; i++) ctsc_value_free(s->inputs[i].sample);
    free(s->inputs);
    free(s->values);
    json_decref(s->layers);
    free(s);
    return layers;
}

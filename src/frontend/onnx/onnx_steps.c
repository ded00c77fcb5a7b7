/* SPDX-License-Identifier: Apache-2.0 */
/*
 * onnx_steps.c - operators that expand to several of ONNX's
 * own: the nodes they are made of are imported in their place.
 *
 *     DequantizeLinear $0 $1 ?2; Sigmoid %0; QuantizeLinear %1 $3 ?4 output_dtype~0
 *
 * Steps are separated by ';'. Step k makes %k, and %k:j for its other outputs; the results are
 * those of the last step, or what a last part "> %2 - %1" lists ('-': none).
 *
 *     N? OP ...       this step only if input N is given; else it passes its first operand on
 *     $N, ?N          input N, which has to be there, or may be left out
 *     %K, %K:J        the result of an earlier step
 *     *, *NAME        all attributes of the node, or that one, if the node has them
 *     *NAME=X         that one, else X
 *     NAME*OTHER      an attribute: what the node's attribute OTHER is, if it has that
 *     NAME=X          an attribute: an int, a float (with a point), a text
 *     NAME~N          an attribute: the dtype of input N, if it is known
 *
 * Two macros: "Nchw $0" moves the channels from last place to after the batch, "Nhwc %1"
 * moves them back; both with a '?' only if the node's attribute channels_last is set.
 *
 * Method. A step is a node of the newest operator set, in a scope that has only the inputs and the
 * steps' results. So what the importer knows of the standard operators (which products are linear
 * layers, how quantised ones are written) holds for the others too, and quantised operators take
 * the very form that models in QDQ form have. TorchScript is for what ONNX's operators cannot say.
 */
#include "base/text/text.h"
#include "frontend/onnx/onnx_internal.h"

#include <stdlib.h>

enum { STEP_INPUTS = 16, STEP_ATTRIBUTES = 32 };

typedef struct step {
    Onnx__NodeProto proto;
    char **inputs; /* room for those of the node, and STEP_INPUTS */
    Onnx__AttributeProto *attributes[STEP_ATTRIBUTES];
} step;

/* ---- attributes ------------------------------------------------------------------------------ */

static bool step_attribute(onnx_program *p, step *s, Onnx__AttributeProto *a) {
    if (!a) return onnx_no_memory(p);
    if (s->proto.n_attribute >= STEP_ATTRIBUTES)
        return onnx_bad(p, "the node has more than %d attributes", STEP_ATTRIBUTES);
    s->attributes[s->proto.n_attribute++] = a;
    return true;
}

static Onnx__AttributeProto *step_attribute_new(onnx_program *p, char *name, int type) {
    Onnx__AttributeProto *a = arena_new(&p->scratch, Onnx__AttributeProto);
    if (arena_failed(&p->scratch)) return NULL;
    *a = (Onnx__AttributeProto)ONNX__ATTRIBUTE_PROTO__INIT;
    a->name = name;
    a->has_type = true;
    a->type = type;
    return a;
}

/* NAME=X */
static bool step_constant(onnx_program *p, step *s, char *name, char *value) {
    char *end;
    bool number = (*value >= '0' && *value <= '9') || *value == '-';
    int type = !number ? ONNX_A_STRING : strchr(value, '.') ? ONNX_A_FLOAT : ONNX_A_INT;
    Onnx__AttributeProto *a = step_attribute_new(p, name, type);
    if (!a) return onnx_no_memory(p);
    a->s = (ProtobufCBinaryData){strlen(value), (uint8_t *)value};
    if (type == ONNX_A_INT) a->i = strtol(value, &end, 10);
    if (type == ONNX_A_FLOAT) a->f = (float)text_double(value, &end);
    return step_attribute(p, s, a);
}

/* NAME~N */
static bool step_dtype(onnx_node *n, step *s, char *name, int of) {
    const onnx_value *v = onnx_in(n, of);
    if (!v || v->dt < 0) return true;
    Onnx__AttributeProto *a = step_attribute_new(n->p, name, ONNX_A_INT);
    if (a) a->i = onnx_from_dtype((dtype)v->dt);
    return step_attribute(n->p, s, a);
}

static bool step_inherit_all(onnx_node *n, step *s) {
    for (size_t i = 0; i < n->proto->n_attribute; i++)
        if (!step_attribute(n->p, s, n->proto->attribute[i])) return false;
    return true;
}

/* `other` of the node, under that name. *found: the node has it. */
static bool step_inherit(onnx_node *n, step *s, char *name, const char *other, bool *found) {
    const Onnx__AttributeProto *given = onnx_attr(n, other);
    Onnx__AttributeProto *a = given ? arena_new(&n->p->scratch, Onnx__AttributeProto) : NULL;
    if ((*found = given != NULL) == false) return true;
    if (arena_failed(&n->p->scratch)) return onnx_no_memory(n->p);
    *a = *given;
    a->name = name;
    return step_attribute(n->p, s, a);
}

/* *, *NAME, *NAME=X, NAME*OTHER */
static bool step_star(onnx_node *n, step *s, char *word) {
    char *star = strchr(word, '*'), *name = star == word ? word + 1 : word, *other = star + 1,
         *equals = strchr(other, '=');
    bool found;
    if (!word[1]) return step_inherit_all(n, s);
    *star = '\0';
    if (equals) *equals = '\0';
    if (!step_inherit(n, s, name, other, &found)) return false;
    return found || !equals || step_constant(n->p, s, name, equals + 1);
}

/* ---- one step -------------------------------------------------------------------------------- */

static bool step_word(onnx_node *n, step *s, char *word) {
    char *equals = strchr(word, '='), *tilde = strchr(word, '~');
    if (strchr(word, '*')) return step_star(n, s, word);
    if (equals) *equals = '\0';
    if (equals) return step_constant(n->p, s, word, equals + 1);
    if (tilde) *tilde = '\0';
    if (tilde) return step_dtype(n, s, word, atoi(tilde + 1));
    if (*word == '$' && !onnx_need(n, atoi(word + 1))) return false;
    if (*word == '?') *word = '$';
    s->inputs[s->proto.n_input++] = word;
    return true;
}

/* The outputs of step k: the first, and those that the steps after it or the results name. */
static bool step_outputs(onnx_node *n, step *s, int k, const char *rest) {
    enum { STEP_OUTPUTS = 4 };
    onnx_program *p = n->p;
    char **out = arena_array(&p->scratch, char *, STEP_OUTPUTS);
    if (!out) return onnx_no_memory(p);
    for (int j = 0; j < STEP_OUTPUTS; j++) {
        char *name = arena_printf(&p->scratch, j ? "%%%d:%d" : "%%%d", k, j);
        if (!name) return onnx_no_memory(p);
        out[j] = !j || strstr(rest, name) ? name : (char *)(uintptr_t)"";
        if (*out[j]) s->proto.n_output = (size_t)j + 1;
        if (*out[j] && !strmap_put(&p->uses, name, p)) return onnx_no_memory(p);
    }
    s->proto.output = out;
    return true;
}

/* Nchw and Nhwc: a Transpose, or nothing. */
static bool step_channels(onnx_node *n, const onnx_scope *sc, step *s) {
    enum { MIN_RANK = 3, MAX_RANK = 5 };
    static const int64_t first[][MAX_RANK] = {{0, 2, 1}, {0, 3, 1, 2}, {0, 4, 1, 2, 3}},
                         last[][MAX_RANK] = {{0, 2, 1}, {0, 2, 3, 1}, {0, 2, 3, 4, 1}};
    const char *op = s->proto.op_type;
    const onnx_value *v = s->proto.n_input ? strmap_get(&sc->names, s->inputs[0]) : NULL;
    bool moves = op[4] != '?' || onnx_attr_int(n, "channels_last", 0) != 0;
    s->proto.op_type = (char *)(uintptr_t)(moves ? "Transpose" : "Identity");
    if (!moves) return true;
    if (!v || v->rank < MIN_RANK || v->rank > MAX_RANK)
        return onnx_unsupported(n->p, "channels that are last, and %d dims", v ? v->rank : -1);
    Onnx__AttributeProto *a = step_attribute_new(n->p, (char *)(uintptr_t)"perm", ONNX_A_INTS);
    if (!a) return onnx_no_memory(n->p);
    const int64_t *perm = (op[1] == 'c' ? first : last)[v->rank - MIN_RANK];
    a->n_ints = (size_t)v->rank;
    a->ints = (int64_t *)(uintptr_t)perm;
    return step_attribute(n->p, s, a);
}

/* "OP words", of the own domain as "com.microsoft::OP" */
static bool step_run(onnx_node *n, onnx_scope *sc, char *text, int k, const char *rest) {
    step s = {.proto = ONNX__NODE_PROTO__INIT};
    char *save = NULL, *op = strtok_r(text, " ", &save), *colons = op ? strstr(op, "::") : NULL,
         *word;
    bool given = true;
    if (op && op[1] == '?' && op[2] == '\0') {
        given = onnx_in(n, op[0] - '0') != NULL;
        op = strtok_r(NULL, " ", &save);
    }
    if (!op) return onnx_bad(n->p, "an empty step");
    if (colons) *colons = '\0';
    s.proto.op_type = !given ? (char *)(uintptr_t)"Identity" : colons ? colons + 2 : op;
    s.proto.domain = colons && given ? op : NULL;
    s.inputs = arena_array(&n->p->scratch, char *, n->nin + STEP_INPUTS);
    if (!s.inputs) return onnx_no_memory(n->p);
    s.proto.input = s.inputs;
    s.proto.attribute = s.attributes;
    while ((given || !s.proto.n_input) && (word = strtok_r(NULL, " ", &save)))
        if (!step_word(n, &s, word)) return false;
    for (size_t i = 0; i < s.proto.n_input; i++) /* '$3' of an input that is left out */
        if (!strmap_get(&sc->names, s.inputs[i])) s.inputs[i] = (char *)(uintptr_t)"";
    bool channels = !strncmp(op, "Nchw", 4) || !strncmp(op, "Nhwc", 4);
    if (given && channels && !step_channels(n, sc, &s)) return false;
    return step_outputs(n, &s, k, rest) && onnx_import_node(sc, n->p, &s.proto);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool steps_inputs(onnx_node *n, onnx_scope *sc) {
    for (int i = 0; i < n->nin; i++) {
        char *name = n->in[i] ? arena_printf(&n->p->scratch, "$%d", i) : NULL;
        if (n->in[i] && (!name || !onnx_alias(n->p, n->in[i], sc, name)))
            return onnx_no_memory(n->p);
    }
    return true;
}

/* "%2 - %1" */
static bool steps_results(onnx_node *n, onnx_scope *sc, char *text) {
    char *save = NULL, *word = strtok_r(text, " ", &save);
    for (int i = 0; word && i < n->nout; i++, word = strtok_r(NULL, " ", &save)) {
        bool asked = *word != '-' && *n->proto->output[i];
        if (asked && !onnx_alias(n->p, onnx_name(sc, n->p, word), n->sc, n->proto->output[i]))
            return onnx_no_memory(n->p);
    }
    return true;
}

/* Drops what a list of results names for outputs that nothing reads: it is not computed either. */
static void steps_prune(const onnx_node *n, char *results) {
    char *at = results;
    for (int i = 0; *(at += strspn(at, " ")); i++) {
        size_t len = strcspn(at, " ");
        if (i && !onnx_wants(n, i)) {
            *at = '-';
            memset(at + 1, ' ', len - 1);
        }
        at += len;
    }
}

bool onnx_steps(onnx_node *n, const char *text, int opset) {
    onnx_program *p = n->p;
    onnx_scope sc = {0};
    char *own = arena_strdup(&p->scratch, text), last[16];
    int k = 0, before = p->opset;
    if (!own) return onnx_no_memory(p);
    char *results = strchr(own, '>');
    if (results) *results++ = '\0', steps_prune(n, results);
    bool ok = steps_inputs(n, &sc);
    p->opset = opset;
    for (char *at = own, *next; ok && at[strspn(at, " ")]; at = next, k++) {
        next = at + strcspn(at, ";");
        if (*next) *next++ = '\0';
        /* what the text after it says, and the results */
        char *rest = arena_printf(&p->scratch, "%s %s", next, results ? results : "");
        ok = rest ? step_run(n, &sc, at, k, rest) : onnx_no_memory(p);
    }
    p->opset = before;
    text_print(last, sizeof last, "%%%d", k - 1);
    ok = ok && steps_results(n, &sc, results ? results : last);
    strmap_free(&sc.names);
    return ok;
}

bool onnx_op_steps(onnx_node *n, const char *text) { return onnx_steps(n, text, ONNX_MAX_OPSET); }

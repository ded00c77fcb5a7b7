/* SPDX-License-Identifier: Apache-2.0 */
/*
 * explain.c - the error of a call whose arguments fit none of its overloads.
 *
 * Method. With one schema the error is what does not fit, at the argument to blame, and the
 * signature is a note. With several, each gets a distance (match_distance); the closest are notes
 * with their reasons, the rest is a number. (PyTorch lists them all, which for operators is two
 * screens.) Hints say what usually helps: a check for None, a type for an empty list.
 * Tests: tests/lang/errors_*.py
 */
#include "frontend/irgen/irgen.h"

enum { EXPLAIN_SHOWN = 3, EXPLAIN_MAX = 512 };

typedef struct explanation {
    emitter *e;
    source_range r;
    int nargs;
    const actual *args;
    const schema *const *list;
    int n;
    int closest[EXPLAIN_SHOWN], nclosest; /* indices into list */
} explanation;

/* The closest candidates, in the order of their distances; those much further off than the
 * first are left out. */
static void explain_choose(explanation *x) {
    int far[EXPLAIN_SHOWN];
    for (int i = 0; i < x->n && i < EXPLAIN_MAX; i++) {
        int d = match_distance(x->e, x->list[i], x->nargs, x->args), at = x->nclosest;
        if (match_never(x->list[i])) continue;
        while (at > 0 && far[at - 1] > d) at--;
        if (at == EXPLAIN_SHOWN) continue;
        if (x->nclosest < EXPLAIN_SHOWN) x->nclosest++;
        for (int k = x->nclosest - 1; k > at; k--) {
            far[k] = far[k - 1];
            x->closest[k] = x->closest[k - 1];
        }
        far[at] = d;
        x->closest[at] = i;
    }
    while (x->nclosest > 1 && far[x->nclosest - 1] > far[0]) x->nclosest--;
}

/* "aten::add(Tensor, str)" */
static void explain_put_call(const explanation *x, strbuf *out) {
    sb_printf(out, "%s(", x->list[0]->name);
    for (int i = 0; i < x->nargs; i++) {
        if (i) sb_puts(out, ", ");
        if (x->args[i].name) sb_printf(out, "%s=", x->args[i].name);
        type_print_python(x->args[i].value->type, out);
    }
    sb_puts(out, ")");
}

/* The reason without the line breaks at its end; they are `between` inside. */
static void explain_put_reason(const char *why, const char *between, strbuf *out) {
    while (*why) {
        size_t len = strcspn(why, "\n");
        sb_write(out, why, len);
        why += len;
        while (*why == '\n') why++;
        if (*why) sb_puts(out, between);
    }
}

/* ---- hints ----------------------------------------------------------------------------------- */

/* The text at r if it is a variable or an attribute of one, else NULL. */
static const char *explain_path(emitter *e, source_range r) {
    if (!r.src || r.end <= r.begin || r.end > r.src->len || r.end - r.begin > 60) return NULL;
    for (uint32_t i = r.begin; i < r.end; i++) {
        char c = r.src->text[i];
        bool name = c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                    (c >= '0' && c <= '9');
        if (!name && c != '.') return NULL;
    }
    return arena_printf(e->scratch, "%.*s", (int)(r.end - r.begin), r.src->text + r.begin);
}

void explain_optional(emitter *e, source_range r, const ir_value *value) {
    const char *name = explain_path(e, r);
    const node *def = value->def;
    strbuf t = STRBUF_INIT;
    if (value->type->kind != T_OPTIONAL) return;
    if (def && def->kind == N_LOAD)
        name = arena_printf(e->scratch, "%.*s", (int)strcspn(node_str(def, "name"), "$"),
                            node_str(def, "name"));
    type_print_python(value->type, &t);
    if (!name || !*name)
        diag_note(e->diag, (source_range){0}, "a value of type %s may be None: check it first",
                  sb_str(&t));
    else if (strchr(name, '.'))
        diag_note(e->diag, (source_range){0},
                  "'%s' has type %s and may be None: put it into a variable, v = %s, and check "
                  "that: 'if v is not None:'",
                  name, sb_str(&t), name);
    else
        diag_note(e->diag, (source_range){0},
                  "'%s' has type %s and may be None: check it first, with 'if %s is not None:' or "
                  "'assert %s is not None'",
                  name, sb_str(&t), name, name);
    sb_free(&t);
}

/* Does `= []` follow the name at r? */
static bool explain_made_empty(source_range r) {
    const char *p = r.src ? r.src->text + r.end : "";
    p += strspn(p, " ");
    if (*p++ != '=') return false;
    p += strspn(p, " ");
    if (*p++ != '[') return false;
    p += strspn(p, " ");
    return *p == ']';
}

/* l = []; l.append(1) */
static void explain_empty_list(const explanation *x, const actual *blamed) {
    const actual *first = &x->args[0];
    const node *def = first->value->def;
    type *t = first->value->type;
    if (first == blamed || t->kind != T_LIST || type_elem(t)->kind != T_TENSOR || !def ||
        def->kind != N_LOAD)
        return;
    const char *name = node_str(def, "name");
    const variable *v = name ? irgen_find_variable(x->e, name) : NULL;
    if (!v || !explain_made_empty(v->where)) return;
    strbuf is = STRBUF_INIT;
    type_print_python(blamed->value->type, &is);
    diag_note(x->e->diag, v->where,
              "an empty list holds tensors unless its type is written: %s: List[%s] = []", name,
              sb_str(&is));
    sb_free(&is);
}

/* [x, 1], {"a": x, "b": 1} */
static void explain_mixed(const explanation *x, const actual *a) {
    const type *t = a->value->type,
               *elem = t->kind == T_LIST || t->kind == T_DICT ? t->elems[t->nelems - 1] : NULL;
    strbuf types = STRBUF_INIT;
    if (!elem || elem->kind != T_UNION) return;
    for (int i = 0; i < elem->nelems; i++) {
        if (i) sb_puts(&types, ", ");
        type_print_python(elem->elems[i], &types);
    }
    diag_note(x->e->diag, (source_range){0}, "the elements of this %s have different types: %s",
              t->kind == T_LIST ? "list" : "dict", sb_str(&types));
    sb_free(&types);
}

/* s: the schema that `blamed` does not fit. */
static void explain_hints(const explanation *x, const schema *s, const actual *blamed) {
    if (!blamed || (blamed->name && !match_knows_keyword(s, blamed->name))) return;
    explain_optional(x->e, blamed->range, blamed->value);
    explain_empty_list(x, blamed);
    explain_mixed(x, blamed);
}

/* ---- the error ------------------------------------------------------------------------------- */

static source_range explain_place(const explanation *x, const actual *blamed) {
    return blamed && !blamed->is_self && blamed->range.src ? blamed->range : x->r;
}

static void explain_one(const explanation *x) {
    emitter *e = x->e;
    const schema *s = x->list[0];
    strbuf why = STRBUF_INIT, text = STRBUF_INIT;
    const actual *blamed = match_reason(e, s, x->nargs, x->args, &why);
    explain_put_reason(sb_str(&why), "\n", &text);
    irgen_fail(e, explain_place(x, blamed), "%s", sb_str(&text));
    sb_free(&text);
    text = (strbuf)STRBUF_INIT;
    schema_print(s, &text);
    diag_note(e->diag, (source_range){0}, "the signature is %s", sb_str(&text));
    explain_hints(x, s, blamed);
    sb_free(&why);
    sb_free(&text);
}

static void explain_several(explanation *x) {
    emitter *e = x->e;
    strbuf text = STRBUF_INIT;
    const actual *blamed[EXPLAIN_SHOWN];
    strbuf notes[EXPLAIN_SHOWN];
    bool agree = true;
    explain_choose(x);
    for (int i = 0; i < x->nclosest; i++) {
        strbuf why = STRBUF_INIT;
        notes[i] = (strbuf)STRBUF_INIT;
        const schema *s = x->list[x->closest[i]];
        blamed[i] = match_reason(e, s, x->nargs, x->args, &why);
        agree = agree && blamed[i] == blamed[0];
        schema_print(s, &notes[i]);
        sb_puts(&notes[i], "\n  ");
        explain_put_reason(sb_str(&why), "\n  ", &notes[i]);
        sb_free(&why);
    }
    explain_put_call(x, &text);
    /* the reason is the message; what is left of the note is the signature */
    if (x->nclosest == 1) {
        const char *why = strchr(sb_str(&notes[0]), '\n');
        if (why) sb_printf(&text, "\n%s", why + 3);
    }
    irgen_fail(e, agree ? explain_place(x, blamed[0]) : x->r,
               "Arguments for call are not valid: %s", sb_str(&text));
    for (int i = 0; i < x->nclosest; i++) {
        int len = x->nclosest == 1 ? (int)strcspn(sb_str(&notes[i]), "\n") : (int)notes[i].len;
        diag_note(e->diag, (source_range){0}, "%s%.*s", x->nclosest == 1 ? "the closest is " : "",
                  len, sb_str(&notes[i]));
        sb_free(&notes[i]);
    }
    if (x->n > x->nclosest)
        diag_note(e->diag, (source_range){0}, "%d more overload%s of %s fit%s less well",
                  x->n - x->nclosest, x->n - x->nclosest == 1 ? "" : "s", x->list[0]->name,
                  x->n - x->nclosest == 1 ? "s" : "");
    if (x->nclosest) explain_hints(x, x->list[x->closest[0]], blamed[0]);
    sb_free(&text);
}

void match_explain(emitter *e, source_range r, const schema *const *list, int n, int nargs,
                   const actual *args) {
    explanation x = {.e = e, .r = r, .nargs = nargs, .args = args, .list = list, .n = n};
    if (e->diag->status != CTSC_OK) return; /* the first failure counts */
    if (n == 1) explain_one(&x);
    else explain_several(&x);
}

/* SPDX-License-Identifier: Apache-2.0 */
/*
 * print_code_class.c - classes as source, the files that hold them, and the table of constants.
 *
 *     class Linear(Module):
 *       __parameters__ = ["weight", "bias", ]
 *       __buffers__ = []
 *       weight : Tensor
 *       bias : Tensor
 *       def forward(self: __torch__.torch.nn.modules.linear.Linear,
 *         input: Tensor) -> Tensor:
 *         ...
 *
 * Order within a file is that in which names were first mentioned; readers look names up
 * when they need them.
 * Tests: tests/unit/test_export.c, tests/interop/resave.py
 */
#include "frontend/codeprint/print_code_internal.h"

/* The lowest version in use since 2020: containers in pickles carry their types. */
enum { CODE_MIN_VERSION = 3 };

ctsc_status code_program_fail(code_program *p, ctsc_status s) {
    if (p->status == CTSC_OK) p->status = s;
    return s;
}

static ctsc_status code_program_no_memory(code_program *p) {
    return code_program_fail(p, diag_no_memory(p->d));
}

ctsc_status code_program_init(code_program *p, diag *d) {
    *p = (code_program){.d = d, .version = CODE_MIN_VERSION};
    return arena_init(&p->arena) ? CTSC_OK : code_program_no_memory(p);
}

void code_program_free(code_program *p) {
    for (size_t i = 0; i < p->files.len; i++) {
        code_file *f = p->files.data[i];
        sb_free(&f->text.text);
        vec_free(&f->text.places);
        strmap_free(&f->suffixes);
    }
    for (size_t i = 0; i < p->constants.len; i++) value_unref(p->constants.data[i].v);
    vec_free(&p->files);
    vec_free(&p->found);
    vec_free(&p->constants);
    strmap_free(&p->by_module);
    strmap_free(&p->names);
    ptrmap_free(&p->found_set);
    ptrmap_free(&p->printed);
    arena_free(&p->arena);
}

/* ---- what is mentioned ----------------------------------------------------------------------- */

static void code_note(code_program *p, const void *key, const char *qualified, code_named named) {
    if (p->status != CTSC_OK || ptrmap_get(&p->found_set, key)) return;
    if (!strncmp(qualified, "__torch__.torch.classes.", 24)) return; /* C++ classes have no code */
    const void *taken = strmap_get(&p->names, qualified);
    if (taken && taken != key) {
        code_program_fail(
            p, diag_fail(p->d, CTSC_INTERNAL, "two classes or functions are called %s", qualified));
        return;
    }
    if (!strmap_put(&p->names, qualified, (void *)key) ||
        !ptrmap_put(&p->found_set, key, (void *)key) || !vec_push(&p->found, named))
        code_program_no_memory(p);
}

void code_note_function(code_program *p, function *f) {
    code_note(p, f, f->qualified, (code_named){NULL, f});
}

void code_note_type(code_program *p, type *t) {
    switch (t->kind) {
    case T_CLASS:
    case T_INTERFACE:
    case T_ENUM: code_note(p, t, class_name(t), (code_named){t, NULL}); return;
    case T_TUPLE:
        if (!t->field_names || !t->name) break;
        code_note(p, t, t->name, (code_named){t, NULL});
        return;
    default: break;
    }
    for (int i = 0; i < t->nelems; i++) code_note_type(p, t->elems[i]);
}

/* ---- constants ------------------------------------------------------------------------------- */

static bool code_same_tensor(const tensor *a, const tensor *b) {
    return a->dtype == b->dtype && a->requires_grad == b->requires_grad &&
           tensor_same_shape(a, b) && tensor_is_contiguous(a) && tensor_is_contiguous(b) &&
           !memcmp(tensor_data(a), tensor_data(b), (size_t)a->numel * dtype_size((dtype)a->dtype));
}

/* As in PyTorch, equal tensors are one constant. */
static bool code_same_constant(const code_constant *c, value v, uint64_t hash) {
    if (c->v.tag != v.tag) return false;
    if (v.tag != V_TENSOR) return c->v.u.refs == v.u.refs;
    const tensor *a = c->v.u.tensor, *b = v.u.tensor;
    return a == b || (c->hash == hash && code_same_tensor(a, b));
}

int code_constant_index(code_printer *p, value v) {
    code_program *g = p->prog;
    const tensor *t = v.tag == V_TENSOR && tensor_is_contiguous(v.u.tensor) ? v.u.tensor : NULL;
    uint64_t hash = t ? hash_bytes(tensor_data(t), (size_t)t->numel * dtype_size((dtype)t->dtype))
                      : 0;
    for (size_t i = 0; i < g->constants.len; i++)
        if (code_same_constant(&g->constants.data[i], v, hash)) return (int)i;
    code_constant c = {value_ref(v), hash};
    if (!vec_push(&g->constants, c)) {
        value_unref(v);
        code_program_no_memory(g);
        return -1;
    }
    return (int)g->constants.len - 1;
}

/* ---- classes --------------------------------------------------------------------------------- */

static const char *code_last_name(const char *qualified) {
    const char *dot = strrchr(qualified, '.');
    return dot ? dot + 1 : qualified;
}

/* Writes a line of strings; the list ends with NULL. */
static void code_line(code_printer *p, ...) {
    va_list ap;
    for (int i = 0; i < p->level; i++) code_puts(p, p->out, "  ");
    va_start(ap, p);
    for (const char *s; (s = va_arg(ap, const char *));) code_puts(p, p->out, s);
    va_end(ap);
}

static void code_print_field(code_printer *p, const char *name, type *t) {
    code_note_type(p->prog, t);
    code_line(p, name, " : ", NULL);
    code_put_type(p, p->out, t);
    code_puts(p, p->out, "\n");
}

/* __parameters__ = ["a", "b", ]; what: 0 parameters, 1 buffers */
static void code_print_names(code_printer *p, const type *t, const char *list, int what) {
    code_line(p, list, " = [", NULL);
    for (size_t i = 0; i < t->cls->attributes.len; i++) {
        const attribute *a = &t->cls->attributes.data[i];
        if (what == 0 ? !a->is_parameter : !a->is_buffer) continue;
        code_puts(p, p->out, "\"");
        code_puts(p, p->out, a->name);
        code_puts(p, p->out, "\", ");
    }
    code_puts(p, p->out, "]\n");
}

static void code_print_hooks(code_printer *p, const char *list, size_t n, function *const *hooks) {
    if (!n) return;
    code_line(p, list, " = [", NULL);
    for (size_t i = 0; i < n; i++) {
        code_puts(p, p->out, "\"");
        code_puts(p, p->out, hooks[i]->name);
        code_puts(p, p->out, "\", ");
    }
    code_puts(p, p->out, "]\n");
}

static void code_print_attribute(code_printer *p, const attribute *a, bool first) {
    if (code_is_identifier(a->name)) {
        code_print_field(p, a->name, a->type);
        return;
    }
    if (first) code_line(p, "__annotations__ = []\n", NULL);
    code_note_type(p->prog, a->type);
    code_line(p, "__annotations__[\"", a->name, "\"] = ", NULL);
    code_put_type(p, p->out, a->type);
    code_puts(p, p->out, "\n");
}

static void code_print_final(code_printer *p, const constant_attribute *c) {
    code_line(p, c->name, " : Final[", NULL);
    code_put_type(p, p->out, c->type);
    code_puts(p, p->out, "] = ");
    code_put_constant(p, p->out, c->val, c->type);
    code_puts(p, p->out, "\n");
}

static bool code_is_hook(const class_info *c, const function *f) {
    for (size_t i = 0; i < c->forward_hooks.len; i++)
        if (c->forward_hooks.data[i] == f) return true;
    for (size_t i = 0; i < c->forward_pre_hooks.len; i++)
        if (c->forward_pre_hooks.data[i] == f) return true;
    return false;
}

/* Static methods are called, and printed, as functions; hooks come last. */
static void code_print_methods(code_printer *p, const class_info *c) {
    for (size_t i = 0; i < c->methods.len && !code_failed(p); i++)
        if (!c->methods.data[i]->is_static && !code_is_hook(c, c->methods.data[i]))
            code_print_function(p, c->methods.data[i], true);
    VEC(function *) done = {0};
    for (int list = 0; list < 2 && !code_failed(p); list++) {
        size_t n = list ? c->forward_pre_hooks.len : c->forward_hooks.len;
        function *const *hooks = list ? c->forward_pre_hooks.data : c->forward_hooks.data;
        for (size_t i = 0; i < n && !code_failed(p); i++) {
            bool again = false;
            for (size_t k = 0; k < done.len; k++) again |= done.data[k] == hooks[i];
            if (again) continue;
            if (!vec_push(&done, hooks[i])) code_program_no_memory(p->prog);
            code_print_function(p, hooks[i], true);
        }
    }
    vec_free(&done);
}

static void code_print_class_body(code_printer *p, type *t) {
    const class_info *c = t->cls;
    size_t begin = p->out->text.len;
    if (c->is_module) {
        code_print_names(p, t, "__parameters__", 0);
        code_print_names(p, t, "__buffers__", 1);
        code_print_hooks(p, "__forward_pre_hooks__", c->forward_pre_hooks.len,
                         c->forward_pre_hooks.data);
        code_print_hooks(p, "__forward_hooks__", c->forward_hooks.len, c->forward_hooks.data);
    }
    for (size_t i = 0; i < c->attributes.len; i++)
        code_print_attribute(p, &c->attributes.data[i], i == 0);
    for (size_t i = 0; i < c->constants.len; i++) code_print_final(p, &c->constants.data[i]);
    code_print_methods(p, c);
    if (p->out->text.len == begin) code_line(p, "pass\n", NULL);
}

static void code_print_interface_body(code_printer *p, const type *t) {
    for (size_t i = 0; i < t->cls->methods.len; i++) {
        const function *f = t->cls->methods.data[i];
        code_line(p, "def ", f->name, "(self", NULL);
        for (int k = 1; k < f->schema->nargs; k++) {
            code_puts(p, p->out, ", ");
            code_puts(p, p->out, f->schema->args[k].name);
            code_puts(p, p->out, ": ");
            code_put_type(p, p->out, f->schema->args[k].type);
        }
        code_puts(p, p->out, ") -> ");
        code_put_type(p, p->out, f->schema->returns[0].type);
        code_puts(p, p->out, ":\n");
        code_line(p, "  pass\n", NULL);
    }
    if (!t->cls->methods.len) code_line(p, "pass\n", NULL);
}

static void code_print_enum_body(code_printer *p, const type *t) {
    for (size_t i = 0; i < t->cls->constants.len; i++) {
        const constant_attribute *c = &t->cls->constants.data[i];
        code_line(p, c->name, " = ", NULL);
        code_put_constant(p, p->out, c->val, t->cls->enum_value_type);
        code_puts(p, p->out, "\n");
    }
}

static void code_print_class_text(code_printer *p, type *t) {
    const char *base = "";
    if (t->kind == T_TUPLE) base = "(NamedTuple)";
    else if (t->kind == T_ENUM) base = "(Enum)";
    else if (t->kind == T_INTERFACE) base = t->cls->is_module ? "(ModuleInterface)" : "(Interface)";
    else if (t->cls->is_module) base = "(Module)";
    code_line(p, "class ", code_last_name(t->kind == T_TUPLE ? t->name : class_name(t)), base,
              ":\n", NULL);
    p->level++;
    switch (t->kind) {
    case T_TUPLE:
        for (int i = 0; i < t->nelems; i++) code_print_field(p, t->field_names[i], t->elems[i]);
        if (!t->nelems) code_line(p, "pass\n", NULL);
        break;
    case T_ENUM: code_print_enum_body(p, t); break;
    case T_INTERFACE: code_print_interface_body(p, t); break;
    default: code_print_class_body(p, t); break;
    }
    p->level--;
}

/* ---- files ----------------------------------------------------------------------------------- */

static code_file *code_file_of(code_program *p, const char *qualified) {
    const char *dot = strrchr(qualified, '.');
    if (strncmp(qualified, "__torch__.", 10) || !dot[1]) {
        code_program_fail(p, diag_fail(p->d, CTSC_INTERNAL,
                                       "'%s' cannot be saved: its name belongs to no module",
                                       qualified));
        return NULL;
    }
    const char *module = arena_strndup(&p->arena, qualified, (size_t)(dot - qualified));
    code_file *f = module ? strmap_get(&p->by_module, module) : NULL;
    if (f) return f;
    f = arena_new(&p->arena, code_file);
    f->module = module;
    if (!module || arena_failed(&p->arena) || !strmap_put(&p->by_module, module, f) ||
        !vec_push(&p->files, f)) {
        code_program_no_memory(p);
        return NULL;
    }
    return f;
}

static ctsc_status code_print_named(code_program *p, code_named n) {
    const void *key = n.t ? (const void *)n.t : n.f;
    if (p->status != CTSC_OK || ptrmap_get(&p->printed, key)) return p->status;
    if (!ptrmap_put(&p->printed, key, (void *)key)) return code_program_no_memory(p);
    code_file *f = code_file_of(p, n.f                    ? n.f->qualified
                                   : n.t->kind == T_TUPLE ? n.t->name
                                                          : class_name(n.t));
    if (!f) return p->status;
    code_printer pr;
    code_printer_init(&pr, p, f);
    if (p->status == CTSC_OK) {
        if (n.f) code_print_function(&pr, n.f, true);
        else code_print_class_text(&pr, n.t);
        code_failed(&pr); /* notes what ran out of memory on the way */
    }
    code_printer_free(&pr);
    return p->status;
}

ctsc_status code_print_class(code_program *p, type *t) {
    code_note_type(p, t);
    return code_print_named(p, (code_named){t, NULL});
}

ctsc_status code_print_found(code_program *p) {
    for (; p->next < p->found.len && p->status == CTSC_OK; p->next++)
        code_print_named(p, p->found.data[p->next]);
    return p->status;
}

ctsc_status code_print_method(diag *d, function *f, strbuf *out) {
    code_program prog;
    code_printer pr;
    code_file file = {.module = ""};
    ctsc_status s = code_program_init(&prog, d);
    if (s == CTSC_OK) {
        code_printer_init(&pr, &prog, &file);
        if (prog.status == CTSC_OK) code_print_function(&pr, f, !f->cls);
        code_failed(&pr);
        code_printer_free(&pr);
        s = prog.status;
    }
    if (s == CTSC_OK) sb_write(out, sb_str(&file.text.text), file.text.text.len);
    sb_free(&file.text.text);
    vec_free(&file.text.places);
    strmap_free(&file.suffixes);
    code_program_free(&prog);
    return s;
}

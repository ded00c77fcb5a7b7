/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pickle.c - the unpickler: a stack machine for the opcodes of pickle protocol 2 that data needs.
 *
 * A pickle is a program. This machine knows the opcodes that PyTorch's two writers use (torch.jit's
 * own and CPython's), the constructors of pickle_make.c, and nothing else: anything unknown is
 * refused by name and offset. It cannot call into the program it loads except through the host.
 *
 * Limits: nodes, depth, memo, stack and string length; and the weight of the result, because
 * shared parts make a small file describe an exponentially large tree.
 * Cycles: refused, see pickle_container. PyTorch cannot write them either.
 * Tests: tests/unit/test_pickle.c, tests/fuzz/fuzz_archive.c
 */
#include "runtime/archive/pickle_internal.h"

#include <stdio.h>

/* ---- messages -------------------------------------------------------------------------------- */

static ctsc_status pickle_fail_v(pickle_vm *vm, ctsc_status status, const char *fmt, va_list ap) {
    char text[512];
    vsnprintf(text, sizeof text, fmt, ap);
    for (char *c = text; *c; c++) /* texts quote the file */
        if ((unsigned char)*c < 0x20 || *c == 0x7f) *c = '?';
    return diag_fail(vm->d, status, "%s, offset %zu: %s", vm->record, vm->at, text);
}

ctsc_status pickle_bad(pickle_vm *vm, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    ctsc_status s = pickle_fail_v(vm, CTSC_BAD_FILE, fmt, ap);
    va_end(ap);
    return s;
}

ctsc_status pickle_unsupported(pickle_vm *vm, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    ctsc_status s = pickle_fail_v(vm, CTSC_UNSUPPORTED, fmt, ap);
    va_end(ap);
    return s;
}

static ctsc_status pickle_limit(pickle_vm *vm, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
static ctsc_status pickle_limit(pickle_vm *vm, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    ctsc_status s = pickle_fail_v(vm, CTSC_LIMIT, fmt, ap);
    va_end(ap);
    return s;
}

/* ---- input ----------------------------------------------------------------------------------- */

static ctsc_status pickle_take(pickle_vm *vm, size_t n, const uint8_t **out) {
    if (n > vm->len - vm->pos) return pickle_bad(vm, "the pickle ends in the middle of an opcode");
    *out = vm->p + vm->pos;
    vm->pos += n;
    return CTSC_OK;
}

/* A line of GLOBAL, copied into buf. */
static ctsc_status pickle_line(pickle_vm *vm, char *buf, size_t room) {
    const uint8_t *from = vm->p + vm->pos;
    const uint8_t *nl = memchr(from, '\n', vm->len - vm->pos);
    if (!nl) return pickle_bad(vm, "the pickle ends in the middle of an opcode");
    size_t n = (size_t)(nl - from);
    if (n >= room || memchr(from, '\0', n))
        return pickle_bad(vm, "a name that is too long or not text");
    memcpy(buf, from, n);
    buf[n] = '\0';
    vm->pos += n + 1;
    return CTSC_OK;
}

/* ---- stack ----------------------------------------------------------------------------------- */

static const pickle_item pickle_no_item = {.v = {.tag = V_UNINIT}};

/* Takes it's reference. */
static ctsc_status pickle_push(pickle_vm *vm, pickle_item it) {
    ctsc_status s = CTSC_OK;
    if (vm->stack.len >= PICKLE_MAX_STACK)
        s = pickle_limit(vm, "more than %d values on the stack", PICKLE_MAX_STACK);
    else if (!vec_push(&vm->stack, it)) s = diag_no_memory(vm->d);
    if (s != CTSC_OK) value_unref(it.v);
    return s;
}

static ctsc_status pickle_push_value(pickle_vm *vm, value v) {
    return pickle_push(vm, (pickle_item){.v = v, .weight = 1});
}

/* A list, dict or object that can be filled. */
static ctsc_status pickle_push_container(pickle_vm *vm, value v, bool unbuilt) {
    if (!vec_push(&vm->containers,
                  ((pickle_container){.weight = 1, .depth = 1, .unbuilt = unbuilt}))) {
        value_unref(v);
        return diag_no_memory(vm->d);
    }
    return pickle_push(
        vm, (pickle_item){.v = v, .id = (uint32_t)vm->containers.len, .weight = 1, .depth = 1});
}

/* Items above the innermost mark belong to it; below it nothing may be taken. */
static size_t pickle_floor(const pickle_vm *vm) { return vm->marks.len ? vec_last(&vm->marks) : 0; }

static ctsc_status pickle_need(pickle_vm *vm, size_t n) {
    if (vm->stack.len - pickle_floor(vm) < n) return pickle_bad(vm, "stack underflow");
    return CTSC_OK;
}

static ctsc_status pickle_pop_mark(pickle_vm *vm, size_t *first) {
    if (!vm->marks.len) return pickle_bad(vm, "no mark on the stack");
    *first = vec_pop(&vm->marks);
    return CTSC_OK;
}

static void pickle_drop(pickle_vm *vm, size_t down_to) {
    while (vm->stack.len > down_to) value_unref(vec_pop(&vm->stack).v);
}

ctsc_status pickle_count(pickle_vm *vm) {
    if (vm->nodes >= PICKLE_MAX_NODES)
        return pickle_limit(vm, "more than %d objects", PICKLE_MAX_NODES);
    vm->nodes++;
    return CTSC_OK;
}

/* it is about to become a part of something: from now on it stays as it is. */
static ctsc_status pickle_seal(pickle_vm *vm, pickle_item *it) {
    if (!it->id) return CTSC_OK;
    pickle_container *c = &vm->containers.data[it->id - 1];
    if (c->unbuilt) return pickle_bad(vm, "an object is used before it has its attributes");
    it->depth = c->depth;
    it->weight = c->weight;
    if (c->sealed) return CTSC_OK;
    c->sealed = true;
    return it->v.tag == V_LIST ? pickle_settle_list(vm, it->v.u.list) : CTSC_OK;
}

/* Seals n items; their joint size is added to *weight and *depth. */
static ctsc_status pickle_seal_parts(pickle_vm *vm, pickle_item *items, size_t n, uint32_t *weight,
                                     uint16_t *depth, bool *special) {
    uint64_t sum = *weight;
    for (size_t i = 0; i < n; i++) {
        TRY(pickle_seal(vm, &items[i]));
        sum += items[i].weight;
        if (items[i].depth >= *depth) *depth = (uint16_t)(items[i].depth + 1);
        if (items[i].special) {
            if (!special)
                return pickle_bad(vm, "a constructor or storage where a value is expected");
            *special = true;
        }
        if (sum > PICKLE_MAX_WEIGHT)
            return pickle_limit(vm, "shared parts describe too large a structure");
    }
    if (*depth > PICKLE_MAX_DEPTH)
        return pickle_limit(vm, "nested deeper than %d", PICKLE_MAX_DEPTH);
    *weight = (uint32_t)sum;
    return CTSC_OK;
}

/* The container below `first` that the items from there on are for; it must be open. */
static ctsc_status pickle_open(pickle_vm *vm, size_t first, value_tag tag, const char *what,
                               pickle_item *target) {
    if (first == 0 || first - 1 < pickle_floor(vm)) return pickle_bad(vm, "stack underflow");
    *target = vm->stack.data[first - 1];
    if (target->v.tag != tag) return pickle_bad(vm, "items for something that is not a %s", what);
    if (!target->id || vm->containers.data[target->id - 1].sealed)
        return pickle_bad(vm, "a %s is filled after it was used: it would contain itself", what);
    return CTSC_OK;
}

static ctsc_status pickle_grow(pickle_vm *vm, pickle_item target, size_t first) {
    pickle_container *c = &vm->containers.data[target.id - 1];
    /* A container among its own parts is sealed by that, and then its size is taken too early; but
     * then this is a cycle of one, refused here. */
    ctsc_status s = pickle_seal_parts(vm, vm->stack.data + first, vm->stack.len - first, &c->weight,
                                      &c->depth, NULL);
    if (s == CTSC_OK && c->sealed) s = pickle_bad(vm, "something would contain itself");
    return s;
}

/* ---- opcodes: scalars ------------------------------------------------------------------------ */

static ctsc_status pickle_op_proto(pickle_vm *vm) {
    const uint8_t *p = NULL;
    TRY(pickle_take(vm, 1, &p));
    if (*p != 2)
        return pickle_bad(vm, "Only Pickle protocol 2 is supported, this is protocol %d", *p);
    return CTSC_OK;
}

static ctsc_status pickle_op_stop(pickle_vm *vm) {
    vm->stopped = true;
    if (vm->marks.len || vm->stack.len != 1)
        return pickle_bad(vm, "%zu values at the end of the pickle, expected one", vm->stack.len);
    return CTSC_OK;
}

static ctsc_status pickle_op_none(pickle_vm *vm) { return pickle_push_value(vm, value_none()); }

static ctsc_status pickle_op_newtrue(pickle_vm *vm) {
    return pickle_push_value(vm, value_bool(true));
}

static ctsc_status pickle_op_newfalse(pickle_vm *vm) {
    return pickle_push_value(vm, value_bool(false));
}

static ctsc_status pickle_op_binint(pickle_vm *vm) {
    const uint8_t *p = NULL;
    ctsc_status s = pickle_take(vm, 4, &p);
    return s == CTSC_OK ? pickle_push_value(vm, value_int((int32_t)le32(p))) : s;
}

static ctsc_status pickle_op_binint1(pickle_vm *vm) {
    const uint8_t *p = NULL;
    ctsc_status s = pickle_take(vm, 1, &p);
    return s == CTSC_OK ? pickle_push_value(vm, value_int(*p)) : s;
}

static ctsc_status pickle_op_binint2(pickle_vm *vm) {
    const uint8_t *p = NULL;
    ctsc_status s = pickle_take(vm, 2, &p);
    return s == CTSC_OK ? pickle_push_value(vm, value_int(le16(p))) : s;
}

static ctsc_status pickle_op_long1(pickle_vm *vm) {
    const uint8_t *p = NULL, *bytes = NULL;
    ctsc_status s = pickle_take(vm, 1, &p);
    if (s == CTSC_OK) s = pickle_take(vm, *p, &bytes);
    if (s != CTSC_OK) return s;
    if (*p > 8) return pickle_bad(vm, "an integer of %d bytes does not fit an int", *p);
    uint64_t x = *p && bytes[*p - 1] & 0x80 ? UINT64_MAX : 0;
    for (int i = *p - 1; i >= 0; i--) x = x << 8 | bytes[i];
    return pickle_push_value(vm, value_int((int64_t)x));
}

static ctsc_status pickle_op_binfloat(pickle_vm *vm) {
    const uint8_t *p = NULL;
    TRY(pickle_take(vm, 8, &p));
    uint64_t bits = 0;
    for (int i = 0; i < 8; i++) bits = bits << 8 | p[i];
    double f;
    memcpy(&f, &bits, sizeof f);
    return pickle_push_value(vm, value_float(f));
}

static ctsc_status pickle_push_str(pickle_vm *vm, size_t len) {
    const uint8_t *p = NULL;
    if (len > PICKLE_MAX_STRING) return pickle_limit(vm, "a string of %zu bytes", len);
    ctsc_status s = pickle_take(vm, len, &p);
    if (s == CTSC_OK) s = pickle_count(vm);
    if (s != CTSC_OK) return s;
    str *st = str_new((const char *)p, len);
    return st ? pickle_push_value(vm, value_str_take(st)) : diag_no_memory(vm->d);
}

static ctsc_status pickle_op_binunicode(pickle_vm *vm) {
    const uint8_t *p = NULL;
    ctsc_status s = pickle_take(vm, 4, &p);
    return s == CTSC_OK ? pickle_push_str(vm, le32(p)) : s;
}

/* Strings of Python 2. */
static ctsc_status pickle_op_short_binstring(pickle_vm *vm) {
    const uint8_t *p = NULL;
    ctsc_status s = pickle_take(vm, 1, &p);
    return s == CTSC_OK ? pickle_push_str(vm, *p) : s;
}

/* ---- opcodes: containers --------------------------------------------------------------------- */

static ctsc_status pickle_op_mark(pickle_vm *vm) {
    if (vm->marks.len >= PICKLE_MAX_DEPTH * 2)
        return pickle_limit(vm, "nested deeper than %d", PICKLE_MAX_DEPTH);
    return vec_push(&vm->marks, vm->stack.len) ? CTSC_OK : diag_no_memory(vm->d);
}

static ctsc_status pickle_make_tuple(pickle_vm *vm, size_t first) {
    size_t n = vm->stack.len - first;
    pickle_item it = {.weight = 1, .depth = 1};
    ctsc_status s = pickle_seal_parts(vm, n ? vm->stack.data + first : NULL, n, &it.weight,
                                      &it.depth, &it.special);
    if (s == CTSC_OK) s = pickle_count(vm);
    if (s != CTSC_OK) return s;
    tuple *t = tuple_new(n, NULL);
    if (!t) return diag_no_memory(vm->d);
    for (size_t i = 0; i < n; i++) t->items[i] = vm->stack.data[first + i].v;
    vm->stack.len = first; /* the references have moved */
    it.v = value_tuple_take(t);
    return pickle_push(vm, it);
}

static ctsc_status pickle_op_tuple(pickle_vm *vm) {
    size_t first = 0;
    ctsc_status s = pickle_pop_mark(vm, &first);
    return s == CTSC_OK ? pickle_make_tuple(vm, first) : s;
}

static ctsc_status pickle_op_tuple_of(pickle_vm *vm, size_t n) {
    ctsc_status s = pickle_need(vm, n);
    return s == CTSC_OK ? pickle_make_tuple(vm, vm->stack.len - n) : s;
}

static ctsc_status pickle_op_empty_tuple(pickle_vm *vm) { return pickle_op_tuple_of(vm, 0); }
static ctsc_status pickle_op_tuple1(pickle_vm *vm) { return pickle_op_tuple_of(vm, 1); }
static ctsc_status pickle_op_tuple2(pickle_vm *vm) { return pickle_op_tuple_of(vm, 2); }
static ctsc_status pickle_op_tuple3(pickle_vm *vm) { return pickle_op_tuple_of(vm, 3); }

static ctsc_status pickle_op_empty_list(pickle_vm *vm) {
    TRY(pickle_count(vm));
    list *l = list_new(LIST_VALUE, NULL, 0);
    return l ? pickle_push_container(vm, value_list_take(l), false) : diag_no_memory(vm->d);
}

static ctsc_status pickle_op_empty_dict(pickle_vm *vm) {
    TRY(pickle_count(vm));
    dict *di = dict_new(NULL, NULL);
    return di ? pickle_push_container(vm, value_dict_take(di), false) : diag_no_memory(vm->d);
}

/* Are the items from `first` on for an object of an unknown class? */
static bool pickle_is_opaque(const pickle_vm *vm, size_t first) {
    return first > 0 && pickle_capsule_of(vm->stack.data[first - 1].v, capsule_opaque);
}

static ctsc_status pickle_append_from(pickle_vm *vm, size_t first) {
    pickle_item target;
    if (pickle_is_opaque(vm, first)) return pickle_drop(vm, first), CTSC_OK;
    ctsc_status s = pickle_open(vm, first, V_LIST, "list", &target);
    if (s == CTSC_OK) s = pickle_grow(vm, target, first);
    if (s != CTSC_OK) return s;
    list *l = target.v.u.list;
    size_t n = vm->stack.len - first;
    if (n > 1 && !list_reserve(l, l->len + n)) return diag_no_memory(vm->d);
    for (size_t i = 0; i < n; i++)
        if (!list_append_take(l, value_ref(vm->stack.data[first + i].v)))
            return diag_no_memory(vm->d);
    pickle_drop(vm, first);
    return CTSC_OK;
}

static ctsc_status pickle_op_append(pickle_vm *vm) {
    ctsc_status s = pickle_need(vm, 2);
    return s == CTSC_OK ? pickle_append_from(vm, vm->stack.len - 1) : s;
}

static ctsc_status pickle_op_appends(pickle_vm *vm) {
    size_t first = 0;
    ctsc_status s = pickle_pop_mark(vm, &first);
    return s == CTSC_OK ? pickle_append_from(vm, first) : s;
}

static bool pickle_is_key(value v) {
    return v.tag == V_BOOL || v.tag == V_INT || v.tag == V_FLOAT || v.tag == V_STR ||
           v.tag == V_COMPLEX || v.tag == V_DEVICE || v.tag == V_TENSOR;
}

static ctsc_status pickle_set_from(pickle_vm *vm, size_t first) {
    pickle_item target;
    if (pickle_is_opaque(vm, first)) return pickle_drop(vm, first), CTSC_OK;
    ctsc_status s = pickle_open(vm, first, V_DICT, "dict", &target);
    if (s == CTSC_OK && (vm->stack.len - first) % 2) s = pickle_bad(vm, "a key without a value");
    if (s == CTSC_OK) s = pickle_grow(vm, target, first);
    for (size_t i = first; i < vm->stack.len && s == CTSC_OK; i += 2) {
        value key = vm->stack.data[i].v, val = vm->stack.data[i + 1].v;
        if (!pickle_is_key(key))
            s = pickle_bad(
                vm, "a key of a dict must be int, float, bool, str, complex, Device or Tensor");
        else if (!dict_set_take(target.v.u.dict, value_ref(key), value_ref(val)))
            s = diag_no_memory(vm->d);
    }
    if (s == CTSC_OK) pickle_drop(vm, first);
    return s;
}

static ctsc_status pickle_op_setitem(pickle_vm *vm) {
    ctsc_status s = pickle_need(vm, 3);
    return s == CTSC_OK ? pickle_set_from(vm, vm->stack.len - 2) : s;
}

static ctsc_status pickle_op_setitems(pickle_vm *vm) {
    size_t first = 0;
    ctsc_status s = pickle_pop_mark(vm, &first);
    return s == CTSC_OK ? pickle_set_from(vm, first) : s;
}

/* LIST and DICT make the container from the items above
 * the mark: put an empty one below and fill it. */
static ctsc_status pickle_from_mark(pickle_vm *vm, ctsc_status (*make)(pickle_vm *),
                                    ctsc_status (*fill)(pickle_vm *, size_t)) {
    size_t first = 0;
    ctsc_status s = pickle_pop_mark(vm, &first);
    if (s == CTSC_OK) s = make(vm);
    if (s != CTSC_OK) return s;
    pickle_item made = vec_last(&vm->stack);
    memmove(vm->stack.data + first + 1, vm->stack.data + first,
            (vm->stack.len - 1 - first) * sizeof *vm->stack.data);
    vm->stack.data[first] = made;
    return fill(vm, first + 1);
}

static ctsc_status pickle_op_list(pickle_vm *vm) {
    return pickle_from_mark(vm, pickle_op_empty_list, pickle_append_from);
}

static ctsc_status pickle_op_dict(pickle_vm *vm) {
    return pickle_from_mark(vm, pickle_op_empty_dict, pickle_set_from);
}

/* ---- opcodes: memo --------------------------------------------------------------------------- */

static ctsc_status pickle_put(pickle_vm *vm, size_t i) {
    TRY(pickle_need(vm, 1));
    if (i >= PICKLE_MAX_MEMO)
        return pickle_limit(vm, "a memo of more than %d entries", PICKLE_MAX_MEMO);
    /* Writers number their entries one after the other. */
    if (i > vm->puts + 256) return pickle_bad(vm, "memo entry %zu out of order", i);
    vm->puts++;
    if (!vec_reserve(&vm->memo, i + 1)) return diag_no_memory(vm->d);
    while (vm->memo.len <= i) vm->memo.data[vm->memo.len++] = pickle_no_item;
    value_unref(vm->memo.data[i].v);
    vm->memo.data[i] = vec_last(&vm->stack);
    value_ref(vm->memo.data[i].v);
    return CTSC_OK;
}

static ctsc_status pickle_get(pickle_vm *vm, size_t i) {
    if (i >= vm->memo.len || vm->memo.data[i].v.tag == V_UNINIT)
        return pickle_bad(vm, "memo entry %zu does not exist", i);
    pickle_item it = vm->memo.data[i];
    value_ref(it.v);
    return pickle_push(vm, it);
}

static ctsc_status pickle_op_binput(pickle_vm *vm) {
    const uint8_t *p = NULL;
    ctsc_status s = pickle_take(vm, 1, &p);
    return s == CTSC_OK ? pickle_put(vm, *p) : s;
}

static ctsc_status pickle_op_long_binput(pickle_vm *vm) {
    const uint8_t *p = NULL;
    ctsc_status s = pickle_take(vm, 4, &p);
    return s == CTSC_OK ? pickle_put(vm, le32(p)) : s;
}

static ctsc_status pickle_op_binget(pickle_vm *vm) {
    const uint8_t *p = NULL;
    ctsc_status s = pickle_take(vm, 1, &p);
    return s == CTSC_OK ? pickle_get(vm, *p) : s;
}

static ctsc_status pickle_op_long_binget(pickle_vm *vm) {
    const uint8_t *p = NULL;
    ctsc_status s = pickle_take(vm, 4, &p);
    return s == CTSC_OK ? pickle_get(vm, le32(p)) : s;
}

/* ---- opcodes: constructors ------------------------------------------------------------------- */

static ctsc_status pickle_op_global(pickle_vm *vm) {
    char module[512], name[512];
    ctsc_status s = pickle_line(vm, module, sizeof module);
    if (s == CTSC_OK) s = pickle_line(vm, name, sizeof name);
    if (s == CTSC_OK) s = pickle_count(vm);
    pickle_item it = {.weight = 1};
    if (s == CTSC_OK) s = pickle_global_find(vm, module, name, &it.v, &it.special);
    return s == CTSC_OK ? pickle_push(vm, it) : s;
}

static ctsc_status pickle_op_reduce(pickle_vm *vm) {
    TRY(pickle_need(vm, 2));
    pickle_item *fn = &vm->stack.data[vm->stack.len - 2], *args = fn + 1, made = {0};
    ctsc_status s = pickle_seal(vm, args);
    if (s == CTSC_OK) s = pickle_count(vm);
    if (s != CTSC_OK) return s;
    bool fresh = false;
    made.weight = args->weight;
    made.depth = args->depth;
    TRY(pickle_reduce(vm, fn->v, args->v, &made.v, &fresh));
    pickle_drop(vm, vm->stack.len - 2);
    if (!fresh) return pickle_push(vm, made);
    TRY(pickle_push_container(vm, made.v, false));
    pickle_container *c = &vec_last(&vm->containers);
    c->weight += made.weight;
    if (made.depth > c->depth) c->depth = made.depth;
    return CTSC_OK;
}

static ctsc_status pickle_op_newobj(pickle_vm *vm) {
    ctsc_status s = pickle_need(vm, 2);
    if (s == CTSC_OK) s = pickle_count(vm);
    if (s != CTSC_OK) return s;
    value args = vec_last(&vm->stack).v;
    type *cls = pickle_capsule_of(vm->stack.data[vm->stack.len - 2].v, pickle_kind_class);
    /* represents its instances too */
    if (pickle_capsule_of(vm->stack.data[vm->stack.len - 2].v, capsule_opaque))
        return pickle_drop(vm, vm->stack.len - 1), CTSC_OK;
    if (!cls || cls->kind != T_CLASS)
        return pickle_bad(vm, "a new object of something that is not a class");
    if (args.tag != V_TUPLE || args.u.tuple->len != 0)
        return pickle_bad(vm, "a new object takes no arguments");
    object *o = object_new(cls, cls->cls->attributes.len);
    if (!o) return diag_no_memory(vm->d);
    pickle_drop(vm, vm->stack.len - 2);
    return pickle_push_container(vm, value_object_take(o), true);
}

static ctsc_status pickle_op_build(pickle_vm *vm) {
    TRY(pickle_need(vm, 2));
    size_t last = vm->stack.len - 1;
    pickle_item target = vm->stack.data[last - 1];
    /* attributes set on an OrderedDict (_metadata of a state_dict): of no use here */
    if (target.v.tag == V_DICT || pickle_capsule_of(target.v, capsule_opaque)) {
        pickle_drop(vm, last);
        return CTSC_OK;
    }
    if (target.v.tag != V_OBJECT || !target.id || !vm->containers.data[target.id - 1].unbuilt)
        return pickle_bad(vm, "state for something that is not a new object");
    pickle_container *c = &vm->containers.data[target.id - 1];
    TRY(pickle_seal_parts(vm, &vm->stack.data[last], 1, &c->weight, &c->depth, NULL));
    if (!vm->host->build) return pickle_bad(vm, "objects are not expected here");
    TRY(vm->host->build(vm->host->ctx, vm->d, target.v.u.object, vm->stack.data[last].v));
    c->unbuilt = false;
    pickle_drop(vm, last);
    return CTSC_OK;
}

static ctsc_status pickle_op_binpersid(pickle_vm *vm) {
    ctsc_status s = pickle_need(vm, 1);
    if (s == CTSC_OK) s = pickle_count(vm);
    if (s != CTSC_OK) return s;
    pickle_item made = {.weight = 1, .special = true};
    TRY(pickle_persistent(vm, vec_last(&vm->stack).v, &made.v));
    pickle_drop(vm, vm->stack.len - 1);
    return pickle_push(vm, made);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Every opcode up to protocol 5, so that refusals have a name; without a function: refused. */
/* clang-format off */
#define PICKLE_OPS(X)                                                                              \
    X('(', "MARK", mark)  X('.', "STOP", stop)  X('0', "POP", NO)  X('1', "POP_MARK", NO)          \
    X('2', "DUP", NO)  X('F', "FLOAT", NO)  X('I', "INT", NO)  X('J', "BININT", binint)            \
    X('K', "BININT1", binint1)  X('L', "LONG", NO)  X('M', "BININT2", binint2)                     \
    X('N', "NONE", none)  X('P', "PERSID", NO)  X('Q', "BINPERSID", binpersid)                     \
    X('R', "REDUCE", reduce)  X('S', "STRING", NO)  X('T', "BINSTRING", binunicode)                \
    X('U', "SHORT_BINSTRING", short_binstring)  X('V', "UNICODE", NO)                              \
    X('X', "BINUNICODE", binunicode)  X('a', "APPEND", append)  X('b', "BUILD", build)             \
    X('c', "GLOBAL", global)  X('d', "DICT", dict)  X('}', "EMPTY_DICT", empty_dict)               \
    X('e', "APPENDS", appends)  X('g', "GET", NO)  X('h', "BINGET", binget)  X('i', "INST", NO)    \
    X('j', "LONG_BINGET", long_binget)  X('l', "LIST", list)  X(']', "EMPTY_LIST", empty_list)     \
    X('o', "OBJ", NO)  X('p', "PUT", NO)  X('q', "BINPUT", binput)                                 \
    X('r', "LONG_BINPUT", long_binput)  X('s', "SETITEM", setitem)  X('t', "TUPLE", tuple)         \
    X(')', "EMPTY_TUPLE", empty_tuple)  X('u', "SETITEMS", setitems)                               \
    X('G', "BINFLOAT", binfloat)  X(0x80, "PROTO", proto)  X(0x81, "NEWOBJ", newobj)               \
    X(0x82, "EXT1", NO)  X(0x83, "EXT2", NO)  X(0x84, "EXT4", NO)  X(0x85, "TUPLE1", tuple1)       \
    X(0x86, "TUPLE2", tuple2)  X(0x87, "TUPLE3", tuple3)  X(0x88, "NEWTRUE", newtrue)              \
    X(0x89, "NEWFALSE", newfalse)  X(0x8a, "LONG1", long1)  X(0x8b, "LONG4", NO)                   \
    X('B', "BINBYTES", NO)  X('C', "SHORT_BINBYTES", NO)  X(0x8c, "SHORT_BINUNICODE", NO)          \
    X(0x8d, "BINUNICODE8", NO)  X(0x8e, "BINBYTES8", NO)  X(0x8f, "EMPTY_SET", NO)                 \
    X(0x90, "ADDITEMS", NO)  X(0x91, "FROZENSET", NO)  X(0x92, "NEWOBJ_EX", NO)                    \
    X(0x93, "STACK_GLOBAL", NO)  X(0x94, "MEMOIZE", NO)  X(0x95, "FRAME", NO)                      \
    X(0x96, "BYTEARRAY8", NO)  X(0x97, "NEXT_BUFFER", NO)  X(0x98, "READONLY_BUFFER", NO)
/* clang-format on */

#define pickle_op_NO NULL

static const struct pickle_opcode {
    const char *name;
    ctsc_status (*run)(pickle_vm *vm);
} pickle_opcodes[256] = {
#define PICKLE_ROW(byte, text, fn) [byte] = {text, pickle_op_##fn},
    PICKLE_OPS(PICKLE_ROW)
#undef PICKLE_ROW
};

/* ---- running --------------------------------------------------------------------------------- */

static ctsc_status pickle_step(pickle_vm *vm) {
    const uint8_t *p = NULL;
    vm->at = vm->pos;
    if (vm->pos >= vm->len) return pickle_bad(vm, "the pickle ends without STOP");
    ctsc_status s = pickle_take(vm, 1, &p);
    if (s != CTSC_OK) return s;
    const struct pickle_opcode *op = &pickle_opcodes[*p];
    if (!op->run)
        return pickle_bad(vm, "opcode 0x%02x (%s) is not allowed", *p,
                          op->name ? op->name : "unknown");
    return op->run(vm);
}

static ctsc_status pickle_run(pickle_vm *vm, value *out) {
    ctsc_status s = CTSC_OK;
    vm->at = vm->pos;
    if (vm->len - vm->pos < 2 || vm->p[vm->pos] != 0x80) return pickle_bad(vm, "not a pickle");
    while (s == CTSC_OK && !vm->stopped) s = pickle_step(vm);
    if (s != CTSC_OK) return s;
    s = pickle_seal(vm, vm->stack.data);
    if (s == CTSC_OK && vm->stack.data->special)
        s = pickle_bad(vm, "a constructor or storage where a value is expected");
    if (s == CTSC_OK) *out = vec_pop(&vm->stack).v;
    return s;
}

ctsc_status unpickle(diag *d, const char *record, const void *data, size_t len, size_t *pos,
                     const unpickle_host *host, value *out) {
    static const unpickle_host no_host;
    pickle_vm vm = {.d = d,
                    .record = record,
                    .p = data,
                    .len = len,
                    .pos = *pos,
                    .host = host ? host : &no_host};
    ctsc_status s = *pos > len
                        ? diag_fail(d, CTSC_BAD_FILE, "%s: no pickle at offset %zu", record, *pos)
                        : pickle_run(&vm, out);
    if (s == CTSC_OK) *pos = vm.pos;
    pickle_drop(&vm, 0);
    for (size_t i = 0; i < vm.memo.len; i++) value_unref(vm.memo.data[i].v);
    vec_free(&vm.stack);
    vec_free(&vm.marks);
    vec_free(&vm.memo);
    vec_free(&vm.containers);
    return s;
}

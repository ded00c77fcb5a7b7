/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pickle.c - the unpickler: what its opcodes make, what it refuses, where its limits are.
 *
 * Pickles are written out by hand; \x escapes are opcodes and lengths as in docs/archive.md.
 */
#include "runtime/archive/pickle_internal.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define BYTES(s) (s), sizeof(s) - 1

/* ---- a host with a few storages
 * ------------------------------------------------------------------------ */

static storage *host_storage; /* 8 floats */

static ctsc_status host_get(void *ctx, diag *d, const char *key, dtype dt, uint64_t numel,
                            storage **out) {
    (void)ctx;
    if (strcmp(key, "0") != 0 || numel * dtype_size(dt) != host_storage->nbytes)
        return diag_fail(d, CTSC_BAD_FILE, "no storage %s", key);
    *out = storage_ref(host_storage);
    return CTSC_OK;
}

static ctsc_status host_type(void *ctx, diag *d, const char *text, type **out) {
    (void)ctx;
    if (!strcmp(text, "List[Optional[int]]")) *out = type_list(type_optional(TYPE_INT));
    else if (!strcmp(text, "List[str]")) *out = type_list(TYPE_STR);
    else if (!strcmp(text, "Dict[str, int]")) *out = type_dict(TYPE_STR, TYPE_INT);
    else return diag_fail(d, CTSC_BAD_FILE, "no type %s", text);
    return CTSC_OK;
}

static const unpickle_host host = {.storage = host_get, .parse_type = host_type};

static int setup(void **state) {
    (void)state;
    host_storage = storage_new(8 * sizeof(float));
    for (int i = 0; i < 8; i++) ((float *)host_storage->data)[i] = (float)i;
    return 0;
}

static int teardown(void **state) {
    (void)state;
    storage_unref(host_storage);
    return 0;
}

static ctsc_status load(diag *d, const char *p, size_t len, value *out) {
    size_t pos = 0;
    return unpickle(d, "data.pkl", p, len, &pos, &host, out);
}

/* The pickle makes a value that prints as `want`. */
static void assert_makes(const char *p, size_t len, const char *want) {
    diag d = {0};
    value v;
    if (load(&d, p, len, &v) != CTSC_OK) fail_msg("%s (wanted %s)", diag_message(&d), want);
    strbuf sb = STRBUF_INIT;
    value_print(v, &sb);
    assert_string_equal(sb_str(&sb), want);
    sb_free(&sb);
    value_unref(v);
}

static void assert_refused(const char *p, size_t len, ctsc_status status, const char *text) {
    diag d = {0};
    value v = value_none();
    ctsc_status s = load(&d, p, len, &v);
    if (s == CTSC_OK) value_unref(v);
    if (s != status || !strstr(diag_message(&d), text))
        fail_msg("status %d, \"%s\"; wanted %d, \"%s\"", s, diag_message(&d), status, text);
    diag_clear(&d);
}

/* ---- values
 * ---------------------------------------------------------------------------------------------- */

static void test_values(void **state) {
    (void)state;
    assert_makes(BYTES("\x80\2N."), "None");
    assert_makes(BYTES("\x80\2\x88."), "True");
    assert_makes(BYTES("\x80\2K\xff."), "255");
    assert_makes(BYTES("\x80\2M\x34\x12."), "4660");
    assert_makes(BYTES("\x80\2J\xff\xff\xff\xff."), "-1");
    assert_makes(BYTES("\x80\2\x8a\0."), "0");
    assert_makes(BYTES("\x80\2\x8a\2\0\xff."), "-256");
    assert_makes(BYTES("\x80\2\x8a\x8\0\0\0\0\0\1\0\0."), "1099511627776");
    assert_makes(BYTES("\x80\2G\x3f\xf8\0\0\0\0\0\0."), "1.5");
    assert_makes(BYTES("\x80\2X\3\0\0\0abc."), "abc");
    assert_makes(BYTES("\x80\2U\2hi."), "hi");
    assert_makes(BYTES("\x80\2)."), "()");
    assert_makes(BYTES("\x80\2K\1K\2K\3\x87."), "(1, 2, 3)");
    assert_makes(BYTES("\x80\2(K\1K\2K\3K\4t."), "(1, 2, 3, 4)");
    assert_makes(BYTES("\x80\2](K\1K\2e."), "[1, 2]");
    assert_makes(BYTES("\x80\2(K\1K\2l."), "[1, 2]");
    assert_makes(BYTES("\x80\2}X\1\0\0\0aK\1s."), "{a: 1}");
    assert_makes(BYTES("\x80\2(X\1\0\0\0aK\1d."), "{a: 1}");
    assert_makes(BYTES("\x80\2"
                       "ctorch\nfloat64\n."),
                 "7");
    assert_makes(BYTES("\x80\2"
                       "ctorch\nSize\n(K\2K\3t\x85R."),
                 "(2, 3)");
    assert_makes(BYTES("\x80\2"
                       "ctorch\ndevice\nX\6\0\0\0cuda:1\x85R."),
                 "cuda:1");
    assert_makes(BYTES("\x80\2"
                       "ccollections\nOrderedDict\n)R(X\1\0\0\0aK\1u}b."),
                 "{a: 1}");
    assert_makes(BYTES("\x80\2"
                       "ccollections\nOrderedDict\n](](X\1\0\0\0aK\1ee\x85R."),
                 "{a: 1}");
}

static void test_list_kinds(void **state) {
    (void)state;
    const struct {
        const char *p;
        size_t len;
        list_kind kind;
        type *elem;
    } cases[] = {
        {BYTES("\x80\2](K\1K\2e."), LIST_INT, TYPE_INT},
        {BYTES("\x80\2](G\0\0\0\0\0\0\0\0e."), LIST_FLOAT, TYPE_FLOAT},
        {BYTES("\x80\2](\x88\x89"
               "e."),
         LIST_BOOL, TYPE_BOOL},
        {BYTES("\x80\2](K\1\x88"
               "e."),
         LIST_VALUE, NULL},
        {BYTES("\x80\2]."), LIST_VALUE, NULL},
        {BYTES("\x80\2"
               "ctorch.jit._pickle\nbuild_intlist\n]\x85R."),
         LIST_INT, TYPE_INT},
        {BYTES("\x80\2"
               "ctorch.jit._pickle\nbuild_doublelist\n]\x85R."),
         LIST_FLOAT, TYPE_FLOAT},
        {BYTES("\x80\2"
               "ctorch.jit._pickle\nbuild_boollist\n]\x85R."),
         LIST_BOOL, TYPE_BOOL},
        {BYTES("\x80\2"
               "ctorch.jit._pickle\nbuild_tensorlist\n]\x85R."),
         LIST_TENSOR, TYPE_TENSOR},
        {BYTES(
             "\x80\2"
             "ctorch.jit._pickle\nrestore_type_tag\n](K\1K\2eX\x13\0\0\0List[Optional[int]]\x86R."),
         LIST_VALUE, type_optional(TYPE_INT)},
        {BYTES("\x80\2"
               "ctorch.jit._pickle\nrestore_type_tag\n]X\x9\0\0\0List[str]\x86R."),
         LIST_VALUE, TYPE_STR},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        value v;
        assert_int_equal(load(NULL, cases[i].p, cases[i].len, &v), CTSC_OK);
        assert_int_equal(v.tag, V_LIST);
        assert_int_equal(v.u.list->kind, cases[i].kind);
        assert_ptr_equal(v.u.list->elem, cases[i].elem);
        value_unref(v);
    }
    assert_refused(BYTES("\x80\2"
                         "ctorch.jit._pickle\nbuild_intlist\n](\x88"
                         "e\x85R."),
                   CTSC_BAD_FILE, "build_intlist");
    assert_refused(BYTES("\x80\2"
                         "ctorch.jit._pickle\nrestore_type_tag\n](K\1eX\x9\0\0\0List[str]\x86R."),
                   CTSC_BAD_FILE, "not a List[str]");
    assert_refused(BYTES("\x80\2"
                         "ctorch.jit._pickle\nrestore_type_tag\n}X\x9\0\0\0List[str]\x86R."),
                   CTSC_BAD_FILE, "with the type List[str]");
}

/* Dicts with items, whose types are said, and pairs that make an OrderedDict. */
static void test_typed_dicts(void **state) {
    (void)state;
    value v;
    diag d = {0};
#define TYPED_DICT(items)                                                                          \
    "\x80\2"                                                                                       \
    "ctorch.jit._pickle\nrestore_type_tag\n}(" items "uX\xe\0\0\0Dict[str, int]\x86R."
#define ORDERED_DICT(pairs)                                                                        \
    "\x80\2"                                                                                       \
    "ccollections\nOrderedDict\n](" pairs "e\x85R."
    if (load(&d, BYTES(TYPED_DICT("X\1\0\0\0aK\1X\1\0\0\0bK\2")), &v) != CTSC_OK)
        fail_msg("%s", diag_message(&d));
    assert_int_equal(v.u.dict->used, 2);
    value_unref(v);
    assert_refused(BYTES(TYPED_DICT("K\1K\1")), CTSC_BAD_FILE, "not a Dict[str, int]");
    assert_refused(BYTES(TYPED_DICT("X\1\0\0\0aX\1\0\0\0b")), CTSC_BAD_FILE,
                   "not a Dict[str, int]");
    assert_refused(BYTES(TYPED_DICT("X\1\0\0\0aK\1K\2K\1")), CTSC_BAD_FILE, "Dict[str, int]");
    if (load(&d,
             BYTES(ORDERED_DICT("](X\1\0\0\0aK\7e](K\3K\x08"
                                "e")),
             &v) != CTSC_OK)
        fail_msg("%s", diag_message(&d));
    assert_int_equal(v.u.dict->used, 2);
    value_unref(v);
    assert_refused(BYTES(ORDERED_DICT("](NK\7e")), CTSC_BAD_FILE, "OrderedDict");
    assert_refused(BYTES(ORDERED_DICT("](X\1\0\0\0aK\7eK\1")), CTSC_BAD_FILE, "OrderedDict");
    assert_refused(BYTES(ORDERED_DICT("](K\1K\2K\3e")), CTSC_BAD_FILE, "OrderedDict");
    assert_refused(BYTES(ORDERED_DICT("](K\1e")), CTSC_BAD_FILE, "OrderedDict");
    assert_refused(BYTES(ORDERED_DICT("K\1K\2\x86")), CTSC_BAD_FILE, "OrderedDict");
    assert_refused(BYTES("ab"), CTSC_BAD_FILE, "not a pickle");
    assert_refused(BYTES("\x80"), CTSC_BAD_FILE, "not a pickle");
    assert_refused(BYTES(""), CTSC_BAD_FILE, "not a pickle");
}

/* One list in two places is one list. */
static void test_sharing(void **state) {
    (void)state;
    value v;
    assert_int_equal(load(NULL, BYTES("\x80\2]q\0(K\1K\2eh\0\x86."), &v), CTSC_OK);
    assert_ptr_equal(v.u.tuple->items[0].u.list, v.u.tuple->items[1].u.list);
    assert_int_equal(v.u.tuple->items[0].u.list->kind, LIST_INT);
    value_unref(v);
}

/* ---- tensors
 * -----------------------------------------------------------------------------------------------
 */

/* _rebuild_tensor_v2(storage 0 of `numel` floats, offset, (s0, s1), (t0, t1), False, OrderedDict())
 */
static ctsc_status load_tensor(diag *d, int numel, int64_t offset, int64_t s0, int64_t s1,
                               int64_t t0, int64_t t1, value *out) {
    strbuf sb = STRBUF_INIT;
    const int64_t dims[] = {offset, s0, s1, t0, t1};
    char text[5][10];
    for (int i = 0; i < 5; i++) {
        text[i][0] = '\x8a';
        text[i][1] = 8;
        for (int k = 0; k < 8; k++) text[i][2 + k] = (char)((uint64_t)dims[i] >> 8 * k);
    }
    sb_write(&sb,
             BYTES("\x80\2"
                   "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\n"
                   "X\1\0\0\0000X\3\0\0\0cpuK"));
    sb_putc(&sb, (char)numel);
    sb_write(&sb, BYTES("tQ"));
    sb_write(&sb, text[0], 10);
    for (int i = 0; i < 2; i++) {
        sb_write(&sb, text[1 + 2 * i], 10);
        sb_write(&sb, text[2 + 2 * i], 10);
        sb_putc(&sb, '\x86');
    }
    sb_write(&sb, BYTES("\x89"
                        "ccollections\nOrderedDict\n)RtR."));
    ctsc_status s = load(d, sb.data, sb.len, out);
    sb_free(&sb);
    return s;
}

static void test_tensor(void **state) {
    (void)state;
    value v;
    diag d = {0};
    if (load_tensor(&d, 8, 1, 2, 3, 3, 1, &v) != CTSC_OK) fail_msg("%s", diag_message(&d));
    assert_int_equal(v.tag, V_TENSOR);
    assert_ptr_equal(v.u.tensor->storage, host_storage);
    assert_int_equal(v.u.tensor->offset, 1);
    assert_int_equal(v.u.tensor->numel, 6);
    assert_true(*TENSOR_AT(v.u.tensor, float) == 1.0f);
    value_unref(v);
}

/* Against 128-bit arithmetic. */
static void test_tensor_bounds(void **state) {
    (void)state;
    const int64_t some[] = {
        0, 1, 2, 3, 4, 7, 8, 9, -1, INT64_MAX, INT64_MIN, INT64_MAX / 2 + 1, (int64_t)1 << 32};
    enum { N = sizeof some / sizeof *some };
    size_t accepted = 0;
    for (int i = 0; i < N * N * N * N * N; i++) {
        int64_t x[5];
        for (int k = 0, j = i; k < 5; k++, j /= N) x[k] = some[j % N];
        if (i % 7 != 0 && i > 20000) continue; /* a sample */
        bool neg = x[0] < 0 || x[1] < 0 || x[2] < 0 || x[3] < 0 || x[4] < 0;
        bool empty = x[1] == 0 || x[2] == 0;
        unsigned __int128 last = 0;
        if (!neg) last = (unsigned __int128)x[0];
        if (!neg && x[1]) last += (unsigned __int128)(x[1] - 1) * (uint64_t)x[3];
        if (!neg && x[2]) last += (unsigned __int128)(x[2] - 1) * (uint64_t)x[4];
        value v;
        ctsc_status s = load_tensor(NULL, 8, x[0], x[1], x[2], x[3], x[4], &v);
        if (s == CTSC_OK) {
            assert_false(neg);
            assert_true(empty ? x[0] <= 8 : last < 8);
            value_unref(v);
            accepted++;
        } else {
            /* What overflows on the way may be refused although it is empty. */
            assert_false(!neg && !empty && last < 8 && x[1] < 100 && x[2] < 100);
        }
    }
    assert_true(accepted > 100);
}

/* Up to the arguments of _rebuild_tensor_...: 8 floats from storage 0, offset 0, sizes (2,),
 * strides (1,), no gradient, no hooks. */
#define REBUILT(version)                                                                           \
    "\x80\2"                                                                                       \
    "ctorch._utils\n_rebuild_tensor_v" version "\n"                                                \
    "((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000X\3\0\0\0cpuK\x8tQ"                       \
    "K\0K\2\x85K\1\x85\x89"                                                                        \
    "ccollections\nOrderedDict\n)R"

/* Tensors that are the conjugate or the negative of what is stored, and other properties. */
static void test_lazy_tensors(void **state) {
    (void)state;
    value v;
    diag d = {0};
    if (load(&d, BYTES(REBUILT("2") "}X\3\0\0\0neg\x88stR."), &v) != CTSC_OK)
        fail_msg("%s", diag_message(&d));
    strbuf sb = STRBUF_INIT;
    value_print(v, &sb);
    assert_non_null(strstr(sb_str(&sb), "-1"));
    sb_free(&sb);
    value_unref(v);
    const struct {
        const char *metadata;
        size_t len;
    } plain[] = {
        {BYTES(REBUILT("2") "}tR.")},
        {BYTES(REBUILT("2") "NtR.")},
        {BYTES(REBUILT("2") "}X\3\0\0\0neg\x89stR.")},
        {BYTES(REBUILT("3") "ctorch\nfloat32\ntR.")},
        {BYTES(REBUILT("3") "ctorch\nfloat32\n}tR.")},
    };
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
        if (load(&d, plain[i].metadata, plain[i].len, &v) != CTSC_OK)
            fail_msg("case %zu: %s", i, diag_message(&d));
        assert_true(TENSOR_AT(v.u.tensor, float)[1] == 1.0f);
        value_unref(v);
    }
    assert_refused(BYTES(REBUILT("2") "}X\3\0\0\0neqK\1stR."), CTSC_UNSUPPORTED,
                   "other than conj and neg");
    assert_refused(BYTES(REBUILT("2") "}X\3\0\0\0negK\1stR."), CTSC_UNSUPPORTED,
                   "other than conj and neg");
    assert_refused(BYTES(REBUILT("2") "}K\1\x88stR."), CTSC_UNSUPPORTED, "other than conj and neg");
    assert_refused(BYTES(REBUILT("3") "K\xfftR."), CTSC_BAD_FILE, "_rebuild_tensor_v3");
    assert_refused(BYTES(REBUILT("3") "ctorch\nqint8\ntR."), CTSC_BAD_FILE, "_rebuild_tensor_v3");
    assert_refused(BYTES(REBUILT("3") "ctorch\nfloat32\n}NNtR."), CTSC_BAD_FILE,
                   "_rebuild_tensor_v3");
}

/* Eight bytes of qint8, and what they are quantised with. */
#define QUANTISED(scheme)                                                                          \
    "\x80\2"                                                                                       \
    "ctorch._utils\n_rebuild_qtensor\n"                                                            \
    "((X\7\0\0\0storagectorch\nQInt8Storage\nX\1\0\0\0000X\3\0\0\0cpuK\x20tQ"                      \
    "K\0K\2\x85K\1\x85" scheme "\x89"                                                              \
    "ccollections\nOrderedDict\n)RtR."
#define FLOATS(n)                                                                                  \
    "ctorch._utils\n_rebuild_tensor_v2\n"                                                          \
    "((X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000X\3\0\0\0cpuK\x8tQ"                       \
    "K\0K" n "\x85K\1\x85\x89"                                                                     \
    "ccollections\nOrderedDict\n)RtR"
#define HALF "G\x3f\xe0\0\0\0\0\0\0"

static void test_quantised_tensors(void **state) {
    (void)state;
    value v;
    diag d = {0};
    const struct {
        const char *p;
        size_t len;
    } good[] = {
        {BYTES(QUANTISED("(ctorch\nper_tensor_affine\n" HALF "K\3t"))},
        {BYTES(QUANTISED("(ctorch\nper_channel_affine\n" FLOATS("\2") FLOATS("\2") "K\0t"))},
    };
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        if (load(&d, good[i].p, good[i].len, &v) != CTSC_OK)
            fail_msg("case %zu: %s", i, diag_message(&d));
        assert_int_equal(v.u.tensor->dtype, DT_QINT8);
        value_unref(v);
    }
    assert_refused(BYTES(QUANTISED("(ctorch\nper_tensor_affine\n" HALF "K\x80t")), CTSC_BAD_FILE,
                   "a zero point that is out of range");
    assert_refused(BYTES(QUANTISED("(ctorch\nper_tensor_affine\n" HALF "t")), CTSC_BAD_FILE,
                   "unknown quantization scheme");
    assert_refused(BYTES(QUANTISED("(K\1" HALF "K\3t")), CTSC_BAD_FILE,
                   "unknown quantization scheme");
    assert_refused(BYTES(QUANTISED(")")), CTSC_BAD_FILE, "unknown quantization scheme");
    assert_refused(
        BYTES(QUANTISED("(ctorch\nper_channel_affine\n" FLOATS("\3") FLOATS("\3") "K\0t")),
        CTSC_BAD_FILE, "scales do not fit its shape");
    assert_refused(
        BYTES(QUANTISED("(ctorch\nper_channel_affine\n" FLOATS("\2") FLOATS("\3") "K\0t")),
        CTSC_BAD_FILE, "scales do not fit its shape");
    assert_refused(
        BYTES(QUANTISED("(ctorch\nper_channel_affine\n" FLOATS("\2") FLOATS("\2") "K\1t")),
        CTSC_BAD_FILE, "scales do not fit its shape");
    assert_refused(BYTES(QUANTISED("(ctorch\nper_channel_affine\n" FLOATS("\2")
                                       FLOATS("\2") "J\xff\xff\xff\xfft")),
                   CTSC_BAD_FILE, "scales do not fit its shape");
    assert_refused(BYTES(QUANTISED("(ctorch\nper_channel_affine\n" FLOATS("\2") "NK\0t")),
                   CTSC_BAD_FILE, "unknown quantization scheme");
    assert_refused(BYTES("\x80\2ctorch\nper_tensor_affine\n)R."), CTSC_BAD_FILE,
                   "cannot be called");
}

/* Constructors with arguments of other kinds and numbers. */
static void test_bad_arguments(void **state) {
    (void)state;
    static const char *const one[] = {
        "ctorch\ndevice\n",
        "c__builtin__\ncomplex\n",
        "ctorch.serialization\n_get_layout\n",
        "ctorch._utils\n_rebuild_parameter\n",
        "ctorch.jit._pickle\nrestore_type_tag\n",
        "ctorch._utils\n_rebuild_qtensor\n",
        "ctorch.jit._pickle\nbuild_intlist\n",
    };
    static const struct {
        const char *p;
        size_t len;
    } arguments[] = {{BYTES(")")},      {BYTES("N\x85")},           {BYTES("K\1K\2K\3\x87")},
                     {BYTES("]]\x86")}, {BYTES("X\1\0\0\0aN\x86")}, {BYTES("\x88)\x86")}};
    for (size_t i = 0; i < sizeof one / sizeof *one; i++)
        for (size_t k = 0; k < sizeof arguments / sizeof *arguments; k++) {
            strbuf sb = STRBUF_INIT;
            diag d = {0};
            value v;
            sb_write(&sb, "\x80\2", 2);
            sb_puts(&sb, one[i]);
            sb_write(&sb, arguments[k].p, arguments[k].len);
            sb_puts(&sb, "R.");
            ctsc_status s = load(&d, sb.data, sb.len, &v);
            if ((s != CTSC_BAD_FILE && s != CTSC_UNSUPPORTED) ||
                !strstr(diag_message(&d), "offset"))
                fail_msg("%s with %zu: status %d, \"%s\"", one[i], k, s, diag_message(&d));
            diag_clear(&d);
            sb_free(&sb);
        }
}

static void test_bad_tensors(void **state) {
    (void)state;
    diag d = {0};
    value v;
    assert_int_equal(load_tensor(&d, 8, 0, 3, 3, 3, 1, &v), CTSC_BAD_FILE);
    assert_non_null(strstr(diag_message(&d), "reaches beyond its storage of 8 elements"));
    diag_clear(&d);
    assert_int_equal(load_tensor(&d, 9, 0, 3, 3, 3, 1, &v), CTSC_BAD_FILE);
    diag_clear(&d);
    assert_refused(BYTES("\x80\2"
                         "ctorch._utils\n_rebuild_tensor_v2\nK\1K\2K\3\x87R."),
                   CTSC_BAD_FILE, "_rebuild_tensor");
    assert_refused(BYTES("\x80\2"
                         "ctorch._utils\n_rebuild_qtensor\n)R."),
                   CTSC_BAD_FILE, "wrong arguments for _rebuild_qtensor");
    assert_refused(BYTES("\x80\2"
                         "ctorch._utils\n_rebuild_sparse_tensor\n)R."),
                   CTSC_UNSUPPORTED, "sparse");
    assert_refused(BYTES("\x80\2K\1Q."), CTSC_BAD_FILE, "not a storage");
    assert_refused(BYTES("\x80\2ctorch\ndevice\nX\7\0\0\0cuda:01\x85R."), CTSC_BAD_FILE,
                   "Invalid device string: 'cuda:01'");
    assert_refused(BYTES("\x80\2ctorch\ndevice\nX\6\0\0\0cuda:1K\1\x86R."), CTSC_BAD_FILE,
                   "Invalid device string: 'cuda:1:1'");
    assert_refused(BYTES("\x80\2ctorch\ndevice\nX\4\0\0\0cudaK\xff\x86R."), CTSC_BAD_FILE,
                   "Could not parse device index '255'");
    assert_refused(BYTES("\x80\2ctorch\ndevice\nX\3\0\0\0xla\x85R."), CTSC_UNSUPPORTED,
                   "device xla");
    assert_refused(
        BYTES("\x80\2(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000X\3\0\0\0cpuK\x8tQ."),
        CTSC_BAD_FILE, "a constructor or storage where a value is expected");
    assert_refused(
        BYTES("\x80\2(X\7\0\0\0storagectorch\nFloatStorage\nX\4\0\0\0../0X\3\0\0\0cpuK\x8tQ."),
        CTSC_BAD_FILE, "impossible key");
}

/* ---- refusals
 * ------------------------------------------------------------------------------------------------
 */

static void test_every_opcode(void **state) {
    (void)state;
    const char allowed[] = "(.JKMNQRTUX]abc}ehjdlqrstu)G\x80\x81\x85\x86\x87\x88\x89\x8a";
    size_t refused = 0;
    for (int op = 0; op < 256; op++) {
        char p[] = {'\x80', 2, (char)op, '.'};
        diag d = {0};
        value v;
        ctsc_status s = load(&d, p, sizeof p, &v);
        bool not_allowed = strstr(diag_message(&d), "is not allowed") != NULL;
        assert_true(not_allowed == !memchr(allowed, op, sizeof allowed - 1));
        if (not_allowed) {
            assert_int_equal(s, CTSC_BAD_FILE);
            assert_non_null(strstr(diag_message(&d), "data.pkl, offset 2: opcode 0x"));
            refused++;
        }
        if (s == CTSC_OK) value_unref(v);
        diag_clear(&d);
    }
    assert_int_equal(refused, 256 - (sizeof allowed - 1));
    assert_refused(BYTES("\x80\2\x93."), CTSC_BAD_FILE, "(STACK_GLOBAL) is not allowed");
}

static void test_globals(void **state) {
    (void)state;
    const char *gadgets[] = {
        "os\nsystem",
        "posix\nsystem",
        "nt\nsystem",
        "builtins\neval",
        "builtins\nexec",
        "__builtin__\neval",
        "builtins\ngetattr",
        "builtins\n__import__",
        "subprocess\nPopen",
        "subprocess\ncheck_output",
        "runpy\n_run_code",
        "importlib\nimport_module",
        "torch\nload",
        "torch.hub\nload",
        "torch.serialization\nload",
        "torch._utils\n_import_dotted_name",
        "torch\nfrom_file",
        "pickle\nloads",
        "marshal\nloads",
        "types\nCodeType",
        "types\nFunctionType",
        "operator\nattrgetter",
        "functools\npartial",
        "webbrowser\nopen",
        "pty\nspawn",
        "socket\nsocket",
        "shutil\nrmtree",
        "ctypes\nCDLL",
        "code\nInteractiveInterpreter",
        "timeit\ntimeit",
        "pip\nmain",
        "numpy.testing._private.utils\nrunstring",
        "torch.jit._pickle\nbuild_tensor_from_id",
        "torch\nFloatTensor",
        "torch.nn.modules.linear\nLinear",
        "__main__\nX",
        "__torch__\nX",
        "\n",
        "torch\n",
    };
    for (size_t i = 0; i < sizeof gadgets / sizeof *gadgets; i++) {
        strbuf sb = STRBUF_INIT;
        sb_write(&sb, BYTES("\x80\2"
                            "c"));
        sb_puts(&sb, gadgets[i]);
        sb_write(&sb, BYTES("\n)R."));
        assert_refused(sb.data, sb.len, CTSC_BAD_FILE, "data.pkl, offset 2: Unknown type name '");
        sb_free(&sb);
    }
}

static void test_damage(void **state) {
    (void)state;
    assert_refused(BYTES(""), CTSC_BAD_FILE, "not a pickle");
    assert_refused(BYTES("\x80\3N."), CTSC_BAD_FILE, "Only Pickle protocol 2 is supported");
    assert_refused(BYTES("\x80\2N"), CTSC_BAD_FILE, "without STOP");
    assert_refused(BYTES("\x80\2NN."), CTSC_BAD_FILE, "2 values at the end");
    assert_refused(BYTES("\x80\2."), CTSC_BAD_FILE, "0 values at the end");
    assert_refused(BYTES("\x80\2N(."), CTSC_BAD_FILE, "at the end");
    assert_refused(BYTES("\x80\2K"), CTSC_BAD_FILE, "middle of an opcode");
    assert_refused(BYTES("\x80\2X\5\0\0\0abc"), CTSC_BAD_FILE, "middle of an opcode");
    assert_refused(BYTES("\x80\2X\xff\xff\xff\xff"
                         "abc"),
                   CTSC_LIMIT, "string");
    assert_refused(BYTES("\x80\2\x8a\x9\0\0\0\0\0\0\0\0\1."), CTSC_BAD_FILE, "does not fit");
    assert_refused(BYTES("\x80\2\x85."), CTSC_BAD_FILE, "underflow");
    assert_refused(BYTES("\x80\2N(\x85t."), CTSC_BAD_FILE, "underflow");
    assert_refused(BYTES("\x80\2t."), CTSC_BAD_FILE, "no mark");
    assert_refused(BYTES("\x80\2h\0."), CTSC_BAD_FILE, "memo entry 0");
    assert_refused(BYTES("\x80\2Nr\0\0\1\0."), CTSC_BAD_FILE, "out of order");
    assert_refused(BYTES("\x80\2Nr\xff\xff\xff\xff."), CTSC_LIMIT, "memo");
    assert_refused(BYTES("\x80\2)K\1a."), CTSC_BAD_FILE, "not a list");
    assert_refused(BYTES("\x80\2]K\1K\2s."), CTSC_BAD_FILE, "not a dict");
    assert_refused(BYTES("\x80\2}(K\1u."), CTSC_BAD_FILE, "without a value");
    assert_refused(BYTES("\x80\2})K\2s."), CTSC_BAD_FILE, "a key of a dict");
    assert_refused(BYTES("\x80\2K\1)R."), CTSC_BAD_FILE, "not a constructor");
    assert_refused(BYTES("\x80\2K\1)\x81."), CTSC_BAD_FILE, "not a class");
    assert_refused(BYTES("\x80\2]}b."), CTSC_BAD_FILE, "not a new object");
    assert_refused(BYTES("\x80\2](K\1"
                         "ctorch\nSize\ne."),
                   CTSC_BAD_FILE, "a constructor or storage");
    assert_refused(BYTES("\x80\2"
                         "ctorch\nSize\n\x85."),
                   CTSC_BAD_FILE, "a constructor or storage");
}

static void test_cycles(void **state) {
    (void)state;
    assert_refused(BYTES("\x80\2]q\0h\0a."), CTSC_BAD_FILE, "contain itself");
    assert_refused(BYTES("\x80\2]q\0(]h\0ae."), CTSC_BAD_FILE, "contain itself");
    assert_refused(BYTES("\x80\2]q\0h\0\x85"
                         "a."),
                   CTSC_BAD_FILE, "contain itself");
    assert_refused(BYTES("\x80\2}q\0K\1h\0s."), CTSC_BAD_FILE, "contain itself");
}

/* ---- limits
 * ----------------------------------------------------------------------------------------------------
 */

static ctsc_status load_repeated(const char *op, size_t n, size_t times, const char *before,
                                 const char *after, size_t nafter, value *out) {
    strbuf sb = STRBUF_INIT;
    sb_write(&sb, BYTES("\x80\2"));
    sb_puts(&sb, before);
    for (size_t i = 0; i < times; i++) sb_write(&sb, op, n);
    sb_write(&sb, after, nafter);
    assert_false(sb.failed);
    ctsc_status s = load(NULL, sb.data, sb.len, out);
    sb_free(&sb);
    return s;
}

static void test_limits(void **state) {
    (void)state;
    value v;
    /* depth */
    assert_int_equal(load_repeated("\x85", 1, PICKLE_MAX_DEPTH, "N", ".", 1, &v), CTSC_OK);
    value_unref(v);
    assert_int_equal(load_repeated("\x85", 1, PICKLE_MAX_DEPTH + 1, "N", ".", 1, &v), CTSC_LIMIT);
    assert_int_equal(load_repeated("](", 2, 4000, "", "", 0, &v), CTSC_LIMIT);
    /* a tuple of twice the same, again and again */
    assert_int_equal(load_repeated("q\0h\0\x86", 5, 40, "N", ".", 1, &v), CTSC_LIMIT);
    assert_int_equal(load_repeated("q\0h\0\x86", 5, 20, "N", ".", 1, &v), CTSC_OK);
    value_unref(v);
    /* objects */
    assert_int_equal(load_repeated(")", 1, PICKLE_MAX_NODES - 1, "(", "t.", 2, &v), CTSC_OK);
    value_unref(v);
    assert_int_equal(load_repeated(")", 1, PICKLE_MAX_NODES, "(", "t.", 2, &v), CTSC_LIMIT);
}

static int allocs_left = -1; /* -1: no limit */

static void *counting_hook(void *ctx, void *p, size_t size) {
    (void)ctx;
    if (size == 0) {
        free(p);
        return NULL;
    }
    if (allocs_left == 0) return NULL;
    if (allocs_left > 0) allocs_left--;
    return realloc(p, size);
}

static void test_no_memory(void **state) {
    (void)state;
    static const char p[] =
        "\x80\2}q\0(X\1\0\0\0a](K\1K\2eX\1\0\0\0b"
        "ctorch._utils\n_rebuild_tensor_v2\n(("
        "X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000X\3\0\0\0cpu"
        "K\x8tQK\0K\2K\2\x86K\2K\1\x86\x89"
        "ccollections\nOrderedDict\n)RtRX\1\0\0\0c"
        "cbuiltins\ncomplex\nK\1K\2\x86RX\1\0\0\0d"
        "ctorch.jit._pickle\nrestore_type_tag\n}X\xe\0\0\0Dict[str, int]\x86Ru.";
    value v;
    assert_int_equal(load(NULL, BYTES(p), &v), CTSC_OK); /* makes the types */
    value_unref(v);
    storage *keep = host_storage;
    mem_set_hook(counting_hook, NULL);
    setup(NULL);
    ctsc_status s = CTSC_LIMIT;
    int k = 0;
    for (; s != CTSC_OK; k++) {
        allocs_left = k;
        s = load(NULL, BYTES(p), &v);
        assert_true(s == CTSC_OK || s == CTSC_LIMIT);
        assert_true(k < 1000);
    }
    assert_true(k > 20);
    value_unref(v);
    allocs_left = -1;
    teardown(NULL);
    mem_set_hook(NULL, NULL);
    host_storage = keep;
}

/* ---- files
 * -------------------------------------------------------------------------------------------------------
 */

/* (torch.tensor([1., 2.]), 7) as torch.save(..., _use_new_zipfile_serialization=False) writes it.
 */
/* clang-format off */
#define OLD_HEAD                                                                                   \
    "\x80\2\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."                                      \
    "\x80\2M\xe9\3."                                                                               \
    "\x80\2}(X\x0d\0\0\0little_endian\x88u."                                                       \
    "\x80\2" "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\n"         \
    "X\4\0\0\0" "1234X\3\0\0\0cpuK\2NtQK\0K\2\x85K\1\x85\x89" "ccollections\nOrderedDict\n)RtRK\7\x86."
#define OLD_KEYS "\x80\2]X\4\0\0\0" "1234a."
#define OLD_DATA "\2\0\0\0\0\0\0\0" "\0\0\x80\x3f" "\0\0\0\x40"
/* clang-format on */

static ctsc_status load_file(diag *d, const char *p, size_t len, value *out) {
    reader r;
    assert_int_equal(reader_open_memory(NULL, p, len, &r), CTSC_OK);
    return load_pickled_file(d, r, out);
}

static void test_old_file(void **state) {
    (void)state;
    static const char good[] = OLD_HEAD OLD_KEYS OLD_DATA, no_key[] = OLD_HEAD "\x80\2].",
                      twice[] = OLD_HEAD "\x80\2](X\4\0\0\0"
                                         "1234X\4\0\0\0"
                                         "1234e." OLD_DATA OLD_DATA;
    diag d = {0};
    value v;
    if (load_file(&d, BYTES(good), &v) != CTSC_OK) fail_msg("%s", diag_message(&d));
    const tensor *t = v.u.tuple->items[0].u.tensor;
    assert_true(TENSOR_AT(t, float)[0] == 1.0f && TENSOR_AT(t, float)[1] == 2.0f);
    assert_int_equal(v.u.tuple->items[1].u.i, 7);
    value_unref(v);
    for (size_t len = 0; len < sizeof good - 1; len++)
        assert_int_not_equal(load_file(NULL, good, len, &v), CTSC_OK);
    assert_int_equal(load_file(&d, BYTES(no_key), &v), CTSC_BAD_FILE);
    assert_string_equal(diag_message(&d), "storage 1234: has no content");
    diag_clear(&d);
    assert_int_equal(load_file(NULL, BYTES(twice), &v), CTSC_BAD_FILE);
    assert_int_equal(load_file(&d, BYTES("something else entirely"), &v), CTSC_BAD_FILE);
    assert_string_equal(diag_message(&d),
                        "not a file from torch.save(): neither a zip archive nor a pickle");
    diag_clear(&d);
}

static ctsc_status load_npy(diag *d, const void *p, size_t len, value *out) {
    char path[] = "/tmp/ctsc-test-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    FILE *f = fdopen(fd, "wb");
    assert_int_equal(fwrite(p, 1, len, f), len);
    fclose(f);
    ctsc_status s = load_numpy_file(d, path, out);
    remove(path);
    return s;
}

static size_t make_npy(char *out, const char *header, const void *data, size_t len) {
    size_t n = strlen(header), padded = (10 + n + 63) / 64 * 64 - 10;
    memcpy(out, "\x93NUMPY\1", 8);
    out[8] = (char)(padded & 255);
    out[9] = (char)(padded >> 8);
    memset(out + 10, ' ', padded);
    memcpy(out + 10, header, n);
    memcpy(out + 10 + padded, data, len);
    return 10 + padded + len;
}

/* Files of the old format whose parts do not fit together: bytes of a right one replaced. */
static void test_old_file_damage(void **state) {
    (void)state;
    static const char good[] = OLD_HEAD OLD_KEYS OLD_DATA;
    const struct {
        const char *part, *by, *why;
        size_t len;
    } cases[] = {
        {"M\xe9\3", "M\xea\3", "unknown protocol version", 3},
        {"little_endian\x88", "little_endian\x89", "only little-endian files", 14},
        {"little_endian\x88", "LITTLE_endian\x88", "only little-endian files", 14},
        {"\2\0\0\0\0\0\0\0", "\3\0\0\0\0\0\0\0", "another size than announced", 8},
        {"cpuK\2", "cpuK\xff", "larger than the file", 5},
    };
    value other;
    diag d2 = {0};
    assert_int_equal(load_file(&d2, BYTES(OLD_HEAD "\x80\2K\1." OLD_DATA), &other), CTSC_BAD_FILE);
    assert_non_null(strstr(diag_message(&d2), "no list of storages"));
    diag_clear(&d2);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char file[sizeof good];
        diag d = {0};
        value v;
        memcpy(file, good, sizeof good);
        char *at = memmem(file, sizeof file - 1, cases[i].part, cases[i].len);
        if (!at) fail_msg("case %zu is not in the file", i);
        memcpy(at, cases[i].by, cases[i].len);
        ctsc_status s = load_file(&d, file, sizeof file - 1, &v);
        if (s == CTSC_OK || !strstr(diag_message(&d), cases[i].why))
            fail_msg("case %zu: status %d, \"%s\"", i, s, diag_message(&d));
        diag_clear(&d);
    }
}

static void test_numpy(void **state) {
    (void)state;
    char file[512];
    const int32_t six[] = {1, 2, 3, 4, 5, 6};
    value v;
    diag d = {0};
    size_t n = make_npy(file, "{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }\n", six,
                        sizeof six);
    if (load_npy(&d, file, n, &v) != CTSC_OK) fail_msg("%s", diag_message(&d));
    const tensor *t = v.u.tensor;
    assert_int_equal(t->dtype, DT_INT32);
    assert_true(t->ndim == 2 && t->sizes[0] == 2 && t->sizes[1] == 3 && t->strides[0] == 1 &&
                t->strides[1] == 2);
    assert_memory_equal(tensor_data(t), six, sizeof six);
    value_unref(v);
    assert_int_equal(load_npy(NULL, file, n - 1, &v), CTSC_BAD_FILE);
    n = make_npy(file, "{'descr': '<i4', 'fortran_order': False, 'shape': (), }\n", six, 4);
    assert_int_equal(load_npy(NULL, file, n, &v), CTSC_OK);
    assert_int_equal(v.u.tensor->ndim, 0);
    value_unref(v);
    const struct {
        const char *header;
        ctsc_status status;
    } bad[] = {
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (9223372036854775807, 4), }",
         CTSC_BAD_FILE},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
         CTSC_BAD_FILE},
        {"{'descr': '<i4', 'fortran_order': False, 'shape': (-1,), }", CTSC_BAD_FILE},
        {"{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }", CTSC_UNSUPPORTED},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (2,), }", CTSC_UNSUPPORTED},
        {"{'shape': (2,), }", CTSC_BAD_FILE},
        {"", CTSC_BAD_FILE},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        n = make_npy(file, bad[i].header, six, sizeof six);
        assert_int_equal(load_npy(NULL, file, n, &v), bad[i].status);
    }
    assert_int_equal(load_npy(NULL, "\x93NUMPY\1\0\xff\xff{", 11, &v), CTSC_BAD_FILE);
    n = make_npy(file, "{'descr': '<i4', 'fortran_order': False, 'shape': (6,), }\n", six,
                 sizeof six);
    for (int version = 0; version < 256; version++) { /* 2 and 3 have lengths of four bytes */
        file[6] = (char)version;
        assert_int_equal(load_npy(NULL, file, n, &v), version == 1 ? CTSC_OK
                                                      : version == 2 || version == 3
                                                          ? CTSC_BAD_FILE
                                                          : CTSC_UNSUPPORTED);
        if (version == 1) value_unref(v);
    }
    /* elements that are not where they can be used in place */
    const char odd[] = "{'descr': '<i4', 'fortran_order': False, 'shape': (6,), }\n ";
    memcpy(file, "\x93NUMPY\2\0", 8);
    memcpy(file + 8, (const char[]){sizeof odd - 1, 0, 0, 0}, 4);
    memcpy(file + 12, odd, sizeof odd - 1);
    memcpy(file + 12 + sizeof odd - 1, six, sizeof six);
    assert_int_equal(load_npy(NULL, file, 12 + sizeof odd - 1 + sizeof six, &v), CTSC_OK);
    assert_memory_equal(tensor_data(v.u.tensor), six, sizeof six);
    value_unref(v);
    for (size_t len = 0; len < 12 + sizeof odd - 1 + sizeof six; len++)
        assert_int_equal(load_npy(NULL, file, len, &v), CTSC_BAD_FILE);
    assert_int_equal(load_npy(NULL, "", 0, &v), CTSC_BAD_FILE);
}

/* ---- static types
 * ------------------------------------------------------------------------------------------------
 */

static ctsc_status conform_one(type *t, value *v) {
    conformer c = {.record = "data.pkl"};
    ctsc_status s = conform(&c, t, v, "__torch__.M", "x");
    conformer_free(&c);
    return s;
}

static void assert_conforms(type *t, const char *p, size_t len, bool want) {
    value v;
    assert_int_equal(load(NULL, p, len, &v), CTSC_OK);
    assert_int_equal(conform_one(t, &v), want ? CTSC_OK : CTSC_BAD_FILE);
    value_unref(v);
}

static void test_conform(void **state) {
    (void)state;
    type *opt_ints = type_list(type_optional(TYPE_INT));
    type *int_str[] = {TYPE_INT, TYPE_STR};
    assert_conforms(TYPE_INT, BYTES("\x80\2K\1."), true);
    assert_conforms(TYPE_FLOAT, BYTES("\x80\2K\1."), false); /* no conversion */
    assert_conforms(TYPE_INT, BYTES("\x80\2\x88."), false);
    assert_conforms(type_list(TYPE_INT), BYTES("\x80\2](K\1K\2e."), true);
    assert_conforms(type_list(TYPE_FLOAT), BYTES("\x80\2](K\1K\2e."), false);
    assert_conforms(type_list(TYPE_FLOAT), BYTES("\x80\2]."), true);
    assert_conforms(opt_ints, BYTES("\x80\2](K\1Ne."), true);
    assert_conforms(opt_ints,
                    BYTES("\x80\2](K\1\x88"
                          "e."),
                    false);
    assert_conforms(type_optional(TYPE_INT), BYTES("\x80\2N."), true);
    assert_conforms(type_tuple(2, int_str), BYTES("\x80\2K\1X\1\0\0\0a\x86."), true);
    assert_conforms(type_tuple(2, int_str), BYTES("\x80\2K\1K\1\x86."), false);
    assert_conforms(type_dict(TYPE_STR, TYPE_INT), BYTES("\x80\2}X\1\0\0\0aK\1s."), true);
    assert_conforms(type_dict(TYPE_INT, TYPE_INT), BYTES("\x80\2}X\1\0\0\0aK\1s."), false);
    assert_conforms(type_union(2, int_str), BYTES("\x80\2X\1\0\0\0a."), true);
    assert_conforms(type_union(2, int_str), BYTES("\x80\2\x88."), false);
    /* one list under two static types */
    type *both[] = {type_list(TYPE_INT), opt_ints}, *same[] = {opt_ints, opt_ints},
         *any[] = {TYPE_ANY, opt_ints};
    assert_conforms(type_tuple(2, both), BYTES("\x80\2]q\0(K\1K\2eh\0\x86."), false);
    assert_conforms(type_tuple(2, any), BYTES("\x80\2]q\0(K\1K\2eh\0\x86."), false);
    assert_conforms(type_tuple(2, same), BYTES("\x80\2]q\0(K\1K\2eh\0\x86."), true);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),        cmocka_unit_test(test_list_kinds),
        cmocka_unit_test(test_sharing),       cmocka_unit_test(test_tensor),
        cmocka_unit_test(test_tensor_bounds), cmocka_unit_test(test_bad_tensors),
        cmocka_unit_test(test_every_opcode),  cmocka_unit_test(test_globals),
        cmocka_unit_test(test_damage),        cmocka_unit_test(test_cycles),
        cmocka_unit_test(test_limits),        cmocka_unit_test(test_no_memory),
        cmocka_unit_test(test_old_file),      cmocka_unit_test(test_numpy),
        cmocka_unit_test(test_conform),       cmocka_unit_test(test_old_file_damage),
        cmocka_unit_test(test_lazy_tensors),  cmocka_unit_test(test_quantised_tensors),
        cmocka_unit_test(test_bad_arguments), cmocka_unit_test(test_typed_dicts),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}

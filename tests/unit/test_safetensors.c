/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_safetensors.c - .safetensors files: what is written is read again, tensors stay mapped, and
 * headers that say what is not so are refused.
 */
#include "support.h"

#include "runtime/ops/registry.h"
#include "runtime/safetensors/safetensors.h"

#include <unistd.h>

static char folder[] = "/tmp/ctsc-safetensors-XXXXXX", path[100], other[100];

/* A file with this header in front of n bytes: 0, 1, 2, ... */
static unsigned char *file_of(const char *header, size_t n, size_t *size) {
    size_t len = strlen(header);
    unsigned char *data = malloc(8 + len + n + 1);
    assert_non_null(data);
    for (int i = 0; i < 8; i++) data[i] = (unsigned char)(len >> 8 * i);
    memcpy(data + 8, header, len);
    for (size_t i = 0; i < n; i++) data[8 + len + i] = (unsigned char)i;
    *size = 8 + len + n;
    return data;
}

static void file_put(const unsigned char *data, size_t size) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(data, 1, size, f), size);
    fclose(f);
}

static void file_write_header(const char *header, size_t n) {
    size_t size;
    unsigned char *data = file_of(header, n, &size);
    file_put(data, size);
    free(data);
}

/* ---- files that are sound -------------------------------------------------------------------- */

static void test_open(void **state) {
    (void)state;
    file_write_header(
        "{\"__metadata__\":{\"format\":\"pt\",\"k\":\"v\"},\"b\":{\"dtype\":\"F32\",\"shape\":[2,1]"
        ","
        "\"data_offsets\":[4,12]},\"a\\u00e9\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,"
        "4]},"
        "\"e\":{\"dtype\":\"I64\",\"shape\":[0,9223372036854775807],\"data_offsets\":[4,4]}}      ",
        12);
    ctsc_safetensors *f = NULL;
    ctsc_error *e = ctsc_error_new();
    if (ctsc_safetensors_open(path, &f, e) != CTSC_OK) fail_msg("%s", ctsc_error_message(e));
    assert_int_equal(ctsc_safetensors_count(f), 3);
    assert_string_equal(ctsc_safetensors_name(f, 0), "a\xc3\xa9");
    assert_string_equal(ctsc_safetensors_name(f, 1), "e"); /* empty, where b begins */
    assert_string_equal(ctsc_safetensors_name(f, 2), "b");
    assert_null(ctsc_safetensors_name(f, 3));
    assert_string_equal(ctsc_safetensors_dtype(f, 2), "F32");
    assert_int_equal(ctsc_safetensors_ndim(f, 2), 2);
    assert_int_equal(ctsc_safetensors_sizes(f, 2)[0], 2);
    assert_int_equal(ctsc_safetensors_find(f, "b"), 2);
    assert_int_equal(ctsc_safetensors_find(f, "c"), 3);
    const char *key = NULL;
    assert_string_equal(ctsc_safetensors_metadata(f, 1, &key), "v");
    assert_string_equal(key, "k");
    assert_null(ctsc_safetensors_metadata(f, 2, &key));
    ctsc_value *t = NULL;
    assert_int_equal(ctsc_safetensors_tensor(f, 0, &t, e), CTSC_OK);
    assert_int_equal(ctsc_safetensors_tensor(f, 3, &t, e), CTSC_USAGE);
    ctsc_safetensors_free(f);
    assert_int_equal(((uint8_t *)ctsc_tensor_data(t))[3], 3); /* outlives the file's handle */
    assert_false(ctsc_tensor_is_writable(t));
    ctsc_value_free(t);
    ctsc_safetensors_free(NULL);
    ctsc_error_free(e);
}

/* Elements that are not aligned in the file are copied. */
static void test_unaligned(void **state) {
    (void)state;
    file_write_header("{\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},\"w\":{"
                      "\"dtype\":\"F32\",\"shape\":[],"
                      "\"data_offsets\":[1,5]}}",
                      5);
    ctsc_value *all = NULL;
    assert_int_equal(ctsc_state_load(path, &all, NULL), CTSC_OK);
    ctsc_value *w = ctsc_value_get(all, "w");
    assert_int_equal(ctsc_tensor_ndim(w), 0);
    assert_true((uintptr_t)ctsc_tensor_data(w) % 4 == 0);
    assert_memory_equal(ctsc_tensor_data(w), "\1\2\3\4", 4);
    assert_true(ctsc_tensor_is_writable(w));
    ctsc_value_free(w);
    ctsc_value_free(all);
}

static void test_types(void **state) {
    (void)state;
    static const char *const names[] = {"F6_E2M3", "F16X", "F4",  "F8_E4M3",
                                        "F8_E5M2", "U16",  "U64", "F8_E8M0"};
    static const int bytes[] = {3, 3, 2, 4, 4, 8, 32, 4};
    static const ctsc_dtype known[] = {CTSC_FLOAT8_E4M3FN, CTSC_FLOAT8_E4M3FN, CTSC_FLOAT8_E5M2,
                                       CTSC_UINT16,        CTSC_UINT64,        CTSC_FLOAT8_E8M0FNU};
    for (int i = 0; i < 8; i++) {
        char header[200], message[100];
        snprintf(header, sizeof header,
                 "{\"w\":{\"dtype\":\"%s\",\"shape\":[4],\"data_offsets\":[0,%d]}}", names[i],
                 bytes[i]);
        file_write_header(header, (size_t)bytes[i]);
        ctsc_safetensors *f = NULL;
        ctsc_value *t = NULL;
        ctsc_error *e = ctsc_error_new();
        assert_int_equal(ctsc_safetensors_open(path, &f, e), CTSC_OK);
        assert_string_equal(ctsc_safetensors_dtype(f, 0), names[i]);
        if (i >= 2) {
            assert_int_equal(ctsc_safetensors_tensor(f, 0, &t, e), CTSC_OK);
            assert_int_equal(ctsc_tensor_dtype(t), known[i - 2]);
            if (i == 2) /* of bytes 0 and 1, the low halves first: 0, 0, 0.5, 0 */
                assert_memory_equal(ctsc_tensor_data(t), "\0\0\x30\0", 4);
            ctsc_value_free(t);
            ctsc_safetensors_free(f);
            ctsc_error_free(e);
            continue;
        }
        assert_int_equal(ctsc_safetensors_tensor(f, 0, &t, e), CTSC_UNSUPPORTED);
        snprintf(message, sizeof message,
                 "safetensors: 'w' has elements of type %s, which are not supported", names[i]);
        assert_string_equal(ctsc_error_message(e), message);
        ctsc_safetensors_free(f);
        ctsc_error_free(e);
    }
}

/* ---- writing --------------------------------------------------------------------------------- */

static ctsc_value *tensor_of(ctsc_dtype dt, int64_t n, float first) {
    ctsc_value *t = NULL;
    assert_int_equal(ctsc_tensor_new(dt, 1, &n, &t, NULL), CTSC_OK);
    memset(ctsc_tensor_data(t), 0, (size_t)n * (dt == CTSC_INT64 ? 8 : dt == CTSC_FLOAT32 ? 4 : 1));
    if (dt == CTSC_FLOAT32) *(float *)ctsc_tensor_data(t) = first;
    return t;
}

static ctsc_value *dict_of(size_t n, const char *const *names, ctsc_value *const *items) {
    ctsc_value *keys[8] = {0};
    for (size_t i = 0; i < n; i++) keys[i] = ctsc_string_new(names[i], strlen(names[i]));
    ctsc_value *d = ctsc_dict_new(n, keys, items);
    for (size_t i = 0; i < n; i++) ctsc_value_free(keys[i]);
    assert_non_null(d);
    return d;
}

/* As the reference implementation lays it out. */
static void test_layout(void **state) {
    (void)state;
    static const char *const names[] = {"u", "z", "a", "i"}, *const keys[] = {"format"},
                             *const texts[] = {"pt"};
    ctsc_value *items[] = {tensor_of(CTSC_UINT8, 3, 0), tensor_of(CTSC_FLOAT32, 2, 1),
                           tensor_of(CTSC_FLOAT32, 1, 2), tensor_of(CTSC_INT64, 1, 0)};
    ctsc_value *d = dict_of(4, names, items);
    assert_int_equal(ctsc_safetensors_save(d, 1, keys, texts, path, NULL), CTSC_OK);
    size_t size;
    unsigned char *data = support_read(path, &size);
    static const char want[] = "{\"__metadata__\":{\"format\":\"pt\"},\"i\":{\"dtype\":\"I64\","
                               "\"shape\":[1],\"data_offsets\":[0,8]},"
                               "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]},"
                               "\"z\":{\"dtype\":\"F32\",\"shape\":[2],"
                               "\"data_offsets\":[12,20]},\"u\":{\"dtype\":\"U8\",\"shape\":[3],"
                               "\"data_offsets\":[20,23]}}";
    size_t len = sizeof want - 1, padded = (len + 7) / 8 * 8;
    assert_int_equal(size, 8 + padded + 23);
    assert_int_equal(data[0] | data[1] << 8, padded);
    assert_memory_equal(data + 8, want, len);
    for (size_t i = len; i < padded; i++) assert_int_equal(data[8 + i], ' ');
    free(data);
    for (int i = 0; i < 4; i++) ctsc_value_free(items[i]);
    ctsc_value_free(d);
}

/* Once in the file, twice in what is read. */
static void test_tied(void **state) {
    (void)state;
    static const char *const names[] = {"out.weight", "in.weight", "copy"};
    ctsc_value *w = tensor_of(CTSC_FLOAT32, 4, 5), *c = tensor_of(CTSC_FLOAT32, 4, 5), *all = NULL;
    ctsc_value *items[] = {w, w, c}, *d = dict_of(3, names, items);
    assert_int_equal(ctsc_safetensors_save(d, 0, NULL, NULL, path, NULL), CTSC_OK);
    ctsc_safetensors *f = NULL;
    const char *key = NULL;
    assert_int_equal(ctsc_safetensors_open(path, &f, NULL), CTSC_OK);
    assert_int_equal(ctsc_safetensors_count(f), 2);
    assert_string_equal(ctsc_safetensors_metadata(f, 0, &key), "in.weight");
    assert_string_equal(key, "out.weight");
    ctsc_safetensors_free(f);
    assert_int_equal(ctsc_state_load(path, &all, NULL), CTSC_OK);
    ctsc_value *in = ctsc_value_get(all, "in.weight"), *out = ctsc_value_get(all, "out.weight");
    assert_ptr_equal(ctsc_tensor_data(in), ctsc_tensor_data(out));
    assert_true(ctsc_value_close(out, w, 0, 0, NULL));
    ctsc_value *values[] = {w, c, d, all, in, out};
    for (int i = 0; i < 6; i++) ctsc_value_free(values[i]);
}

static void test_refused(void **state) {
    (void)state;
    static const char *const names[] = {"n"}, *const bad[] = {"\xff"},
                             *const meta[] = {"__metadata__"};
    int64_t n = 1;
    ctsc_value *z = NULL, *w = tensor_of(CTSC_FLOAT32, 1, 5), *one = ctsc_int_new(1);
    ctsc_error *e = ctsc_error_new();
    assert_int_equal(ctsc_tensor_new(CTSC_COMPLEX128, 1, &n, &z, NULL), CTSC_OK);
    ctsc_value *wide = dict_of(1, names, &z), *number = dict_of(1, names, &one),
               *utf8 = dict_of(1, bad, &w), *named = dict_of(1, meta, &w);
    assert_int_equal(ctsc_safetensors_save(wide, 0, NULL, NULL, other, e), CTSC_UNSUPPORTED);
    assert_string_equal(ctsc_error_message(e),
                        "safetensors: 'n' is complex128, which the format lacks");
    assert_int_equal(ctsc_safetensors_save(number, 0, NULL, NULL, other, e), CTSC_USAGE);
    assert_int_equal(ctsc_safetensors_save(utf8, 0, NULL, NULL, other, e), CTSC_USAGE);
    assert_int_equal(ctsc_safetensors_save(named, 0, NULL, NULL, other, e), CTSC_USAGE);
    assert_int_equal(ctsc_safetensors_save(w, 0, NULL, NULL, other, e), CTSC_USAGE);
    assert_int_equal(ctsc_safetensors_save(NULL, 0, NULL, NULL, other, e), CTSC_USAGE);
    assert_int_equal(ctsc_safetensors_save(named, 1, NULL, NULL, other, e), CTSC_USAGE);
    assert_int_not_equal(access(other, F_OK), 0); /* no file remains */
    ctsc_value *values[] = {z, w, one, wide, number, utf8, named};
    for (int i = 0; i < 7; i++) ctsc_value_free(values[i]);
    ctsc_error_free(e);
}

/* ---- hostile headers ------------------------------------------------------------------------- */

#define ROW(name, dtype, shape, offsets)                                                           \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static const struct {
    const char *header;
    size_t data;
    ctsc_status status;
    const char *message; /* a part of it */
} hostile[] = {
    {"{" ROW("a", "F32", "[2]", "[0,8]") "}", 7, CTSC_BAD_FILE, "'a' ends beyond the end"},
    {"{" ROW("a", "F32", "[2]", "[0,8]") "}", 9, CTSC_BAD_FILE, "1 bytes after the last tensor"},
    {"{}", 1, CTSC_BAD_FILE, "1 bytes after the last tensor"},
    {"{" ROW("a", "F32", "[2]", "[0,8]") "," ROW("b", "U8", "[4]", "[7,11]") "}", 11, CTSC_BAD_FILE,
     "'b' overlaps"},
    {"{" ROW("a", "F32", "[2]", "[0,8]") "," ROW("b", "U8", "[4]", "[0,4]") "}", 8, CTSC_BAD_FILE,
     "'a' overlaps"},
    {"{" ROW("a", "F32", "[2]", "[0,8]") "," ROW("b", "U8", "[3]", "[9,12]") "}", 12, CTSC_BAD_FILE,
     "'b' leaves a gap"},
    {"{" ROW("a", "F32", "[2]", "[1,9]") "}", 9, CTSC_BAD_FILE, "'a' leaves a gap"},
    {"{" ROW("a", "F32", "[2]", "[0,8]") "," ROW("a", "F32", "[2]", "[8,16]") "}", 16,
     CTSC_BAD_FILE, "duplicate"},
    {"{\"a\":{\"dtype\":\"F32\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}", 1,
     CTSC_BAD_FILE, "duplicate"},
    {"{" ROW("a", "F32", "[2]", "[8,0]") "}", 8, CTSC_BAD_FILE, "no data_offsets"},
    {"{" ROW("a", "F32", "[2]", "[0,8,9]") "}", 8, CTSC_BAD_FILE, "no data_offsets"},
    {"{" ROW("a", "F32", "[2]", "[0.0,8]") "}", 8, CTSC_BAD_FILE, "no data_offsets"},
    {"{" ROW("a", "F32", "[2]", "[-1,7]") "}", 8, CTSC_BAD_FILE, "no data_offsets"},
    {"{" ROW("a", "F32", "[2]", "[0,18446744073709551624]") "}", 8, CTSC_BAD_FILE,
     "damaged header"},
    {"{" ROW("a", "F32", "[3]", "[0,8]") "}", 8, CTSC_BAD_FILE, "do not fit its shape"},
    {"{" ROW("a", "F4", "[3]", "[0,1]") "}", 1, CTSC_BAD_FILE, "do not fit its shape"},
    {"{" ROW("a", "F32", "[4611686018427387905,4]", "[0,16]") "}", 16, CTSC_LIMIT, "too large"},
    {"{" ROW("a", "F32", "[4294967296,4294967296]", "[0,0]") "}", 0, CTSC_LIMIT, "too large"},
    {"{" ROW("a", "F32", "[-1]", "[0,4]") "}", 4, CTSC_BAD_FILE, "a size that is not a number"},
    {"{" ROW("a", "F32", "[\"1\"]", "[0,4]") "}", 4, CTSC_BAD_FILE, "a size that is not a number"},
    {"{" ROW("a", "F32", "1", "[0,4]") "}", 4, CTSC_BAD_FILE, "has no shape"},
    {"{\"a\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}", 4, CTSC_BAD_FILE,
     "has no dtype"},
    {"{\"a\":{\"shape\":[1],\"data_offsets\":[0,4]}}", 4, CTSC_BAD_FILE, "has no dtype"},
    {"{\"a\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", 4, CTSC_BAD_FILE, "has no shape"},
    {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1]}}", 4, CTSC_BAD_FILE, "no data_offsets"},
    {"{\"a\":null}", 0, CTSC_BAD_FILE, "has no dtype"},
    {"{\"a\":[]}", 0, CTSC_BAD_FILE, "has no dtype"},
    {"{\"__metadata__\":[]}", 0, CTSC_BAD_FILE, "is not an object"},
    {"{\"__metadata__\":{\"a\":1}}", 0, CTSC_BAD_FILE, "what is not text"},
    {"{\"a\\u0000b\":1}", 0, CTSC_BAD_FILE, "damaged header"},
    {"{\"\xff\":1}", 0, CTSC_BAD_FILE, "damaged header"},
    {"{\"a\":", 0, CTSC_BAD_FILE, "damaged header"},
    {"{} {}", 0, CTSC_BAD_FILE, "damaged header"},
    {"[]", 0, CTSC_BAD_FILE, "not a JSON object"},
    {"  ", 0, CTSC_BAD_FILE, "not a JSON object"},
    {"{", 0, CTSC_BAD_FILE, "its length is 1"},
    {"", 0, CTSC_BAD_FILE, "its length is 0"},
};

static ctsc_status open_bytes(diag *d, const unsigned char *data, size_t size) {
    reader r;
    safe_file *f = NULL;
    assert_int_equal(reader_open_memory(d, data, size, &r), CTSC_OK);
    ctsc_status s = safe_open(d, r, &f);
    safe_close(f);
    return s;
}

static void test_hostile(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        size_t size;
        diag d = {0};
        unsigned char *data = file_of(hostile[i].header, hostile[i].data, &size);
        ctsc_status s = open_bytes(&d, data, size);
        if (s != hostile[i].status || !strstr(diag_message(&d), hostile[i].message))
            fail_msg("%s: status %d: %s", hostile[i].header, (int)s, diag_message(&d));
        diag_clear(&d);
        free(data);
    }
}

/* Every length in place of the header's own, each cut. */
static void test_lengths(void **state) {
    (void)state;
    static const uint64_t lengths[] = {0,          1,         1000,       1 << 20,       100000001,
                                       UINT32_MAX, INT64_MAX, UINT64_MAX, UINT64_MAX - 7};
    size_t size;
    unsigned char *data = file_of("{" ROW("a", "F32", "[2]", "[0,8]") "}", 8, &size);
    for (size_t cut = 0; cut < size; cut++) {
        diag d = {0};
        unsigned char *exact = malloc(cut ? cut : 1);
        memcpy(exact, data, cut);
        assert_int_equal(open_bytes(&d, exact, cut), CTSC_BAD_FILE);
        free(exact);
        diag_clear(&d);
    }
    for (size_t k = 0; k < sizeof lengths / sizeof *lengths; k++) {
        diag d = {0};
        for (int i = 0; i < 8; i++) data[i] = (unsigned char)(lengths[k] >> 8 * i);
        assert_int_equal(open_bytes(&d, data, size), CTSC_BAD_FILE);
        diag_clear(&d);
    }
    free(data);
}

/* More than the reference implementation reads, in a file that is large enough for it. */
static void test_huge(void **state) {
    (void)state;
    size_t len = 100000001, size = len + 8;
    unsigned char *data = calloc(1, size);
    diag d = {0};
    for (int i = 0; i < 8; i++) data[i] = (unsigned char)(len >> 8 * i);
    memset(data + 8, '[', 1000);
    data[8] = '{';
    assert_int_equal(open_bytes(&d, data, size), CTSC_LIMIT);
    diag_clear(&d);
    free(data);
    size = 200008, len = 200000; /* nesting */
    data = malloc(size);
    for (int i = 0; i < 8; i++) data[i] = (unsigned char)(len >> 8 * i);
    memset(data + 8, '[', len);
    memcpy(data + 8, "{\"a\":", 5);
    assert_int_equal(open_bytes(&d, data, size), CTSC_BAD_FILE);
    diag_clear(&d);
    free(data);
}

/* ---- several files --------------------------------------------------------------------------- */

static void test_index(void **state) {
    (void)state;
    static const struct {
        const char *text, *message;
    } indices[] = {
        {"{\"weight_map\":{\"a\":\"../x\"}}", "names '../x', which is not a file beside it"},
        {"{\"weight_map\":{\"a\":\"/etc/passwd\"}}", "which is not a file beside it"},
        {"{\"weight_map\":{\"a\":\"\"}}", "which is not a file beside it"},
        {"{\"weight_map\":{\"a\":1}}", "'a' has no file"},
        {"{\"weight_map\":{\"a\":\"nowhere\"}}", "nowhere"},
        {"{\"weight_map\":{\"nope\":\"part.safetensors\"}}", "has no tensor 'nope'"},
        {"{\"weight_map\":[]}", "not an index of weights"},
        {"{\"weight_map\":{}", "damaged index"},
        {"{\"weight_map\":{\"a\":\"x\",\"a\":\"y\"}}", "duplicate"},
        {"{\"weight_map\":{\"a\":\"index.json\"}}", "not a file"},
    };
    char own[100];
    size_t size;
    unsigned char *data = file_of("{" ROW("a", "U8", "[2]", "[0,2]") "}", 2, &size);
    snprintf(own, sizeof own, "%s", path);
    snprintf(path, sizeof path, "%s/part.safetensors", folder);
    file_put(data, size);
    free(data);
    snprintf(path, sizeof path, "%s/index.json", folder);
    for (size_t i = 0; i < sizeof indices / sizeof *indices; i++) {
        ctsc_error *e = ctsc_error_new();
        ctsc_value *v = NULL;
        file_put((const unsigned char *)indices[i].text, strlen(indices[i].text));
        assert_int_equal(ctsc_state_load(path, &v, e), CTSC_BAD_FILE);
        if (!strstr(ctsc_error_message(e), indices[i].message))
            fail_msg("%s: %s", indices[i].text, ctsc_error_message(e));
        ctsc_error_free(e);
    }
    static const char good[] = "{\"metadata\":{},\"weight_map\":{\"a\":\"part.safetensors\"}}";
    ctsc_value *v = NULL;
    file_put((const unsigned char *)good, sizeof good - 1);
    assert_int_equal(ctsc_state_load(path, &v, NULL), CTSC_OK);
    assert_int_equal(ctsc_value_len(v), 1);
    ctsc_value_free(v);
    unlink(path);
    snprintf(path, sizeof path, "%s/part.safetensors", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s", own);
}

/* ---- without memory -------------------------------------------------------------------------- */

static ctsc_status fault_cycle(void *ctx) {
    ctsc_value *all = NULL;
    ctsc_error *e = ctx;
    ctsc_status s = ctsc_state_load(path, &all, e);
    if (s == CTSC_OK) s = ctsc_safetensors_save(all, 0, NULL, NULL, other, e);
    ctsc_value_free(all);
    return s;
}

static void test_faults(void **state) {
    (void)state;
    counting count = {0};
    ctsc_error *e = ctsc_error_new();
    file_write_header("{\"__metadata__\":{\"c\":\"a\"}," ROW("a", "F32", "[1]", "[0,4]") "," ROW(
                          "b", "F32", "[1]", "[4,8]") "}",
                      8);
    assert_int_equal(fault_cycle(e), CTSC_OK);
    mem_set_hook(counting_hook, &count);
    count.requests = 0;
    ctsc_status s = fault_cycle(e);
    long n = count.requests;
    bool ok = s == CTSC_OK && n > 5;
    for (long k = 1; ok && k <= n; k++)
        for (int sticky = 0; ok && sticky < 2; sticky++)
            ok = support_fails_well(&count, "safetensors", k, sticky, fault_cycle, e,
                                    ctsc_error_message(e));
    mem_set_hook(NULL, NULL);
    ctsc_error_free(e);
    unlink(other);
    assert_true(ok);
}

int main(void) {
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_open),    cmocka_unit_test(test_unaligned),
        cmocka_unit_test(test_types),   cmocka_unit_test(test_layout),
        cmocka_unit_test(test_tied),    cmocka_unit_test(test_refused),
        cmocka_unit_test(test_hostile), cmocka_unit_test(test_lengths),
        cmocka_unit_test(test_huge),    cmocka_unit_test(test_index),
        cmocka_unit_test(test_faults),
    };
    registry_install();
    if (!mkdtemp(folder)) return 1;
    snprintf(path, sizeof path, "%s/w.safetensors", folder);
    snprintf(other, sizeof other, "%s/other.safetensors", folder);
    int rc = cmocka_run_group_tests(tests, NULL, NULL);
    unlink(path);
    rmdir(folder);
    return rc;
}

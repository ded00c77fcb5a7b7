/* SPDX-License-Identifier: Apache-2.0 */
/* test_keyed_hash.c - base/keyed_hash.h against values of another implementation
 * (Python's hashlib). */
#include "base/keyed_hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

/* hashlib.blake2b(bytes(i * 7 % 256 for i in range(size)), key=bytes(range(32)), digest_size=32) */
static const struct {
    size_t size;
    const char *hex;
} known[] = {
    {0, "4e51e7a913fc80137da52880fecca175bf81e117d5c68126dc2774033517ea0d"},
    {1, "41ff93a4eaeebd3b78a93438a6f62a92ab5959c859e682b72c7def406197ca4d"},
    {128, "36d984158e016910b5d3be828bf2b64176d1d76fe847d8adc398c68c3795b5af"},
    {129, "e55dfffcd33502ea3ec814c1a04e6ff5d14268efbee31a8d23f1cebc8b1ba7b9"},
    {300, "e17ec4082b536210d2657853d4a57e307dfe45b36d368e297e60ae36271888ee"},
};

static void keyed_hash_known(void **state) {
    (void)state;
    unsigned char key[KEYED_HASH_KEY], data[300], out[KEYED_HASH_SIZE];
    for (int i = 0; i < KEYED_HASH_KEY; i++) key[i] = (unsigned char)i;
    for (int i = 0; i < 300; i++) data[i] = (unsigned char)(i * 7);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        for (size_t piece = 1; piece <= 300; piece += piece < 3 ? 1 : 63) {
            char hex[2 * KEYED_HASH_SIZE + 1];
            keyed_hash k;
            keyed_hash_begin(&k, key);
            for (size_t at = 0; at < known[i].size; at += piece)
                keyed_hash_add(&k, data + at,
                               known[i].size - at < piece ? known[i].size - at : piece);
            keyed_hash_end(&k, out);
            for (int j = 0; j < KEYED_HASH_SIZE; j++) sprintf(hex + 2 * j, "%02x", out[j]);
            assert_string_equal(hex, known[i].hex);
        }
}

/* Each bit of key and data matters, and where data ends. */
static void keyed_hash_differs(void **state) {
    (void)state;
    unsigned char key[KEYED_HASH_KEY] = {0}, data[200] = {0}, first[KEYED_HASH_SIZE],
                  out[KEYED_HASH_SIZE];
    keyed_hash k;
    keyed_hash_begin(&k, key);
    keyed_hash_add(&k, data, sizeof data);
    keyed_hash_end(&k, first);
    assert_true(keyed_hash_same(first, first));
    for (int bit = 0; bit < 8 * (KEYED_HASH_KEY + 200); bit++) {
        unsigned char *byte = bit / 8 < KEYED_HASH_KEY ? &key[bit / 8]
                                                       : &data[bit / 8 - KEYED_HASH_KEY];
        *byte ^= (unsigned char)(1 << bit % 8);
        keyed_hash_begin(&k, key);
        keyed_hash_add(&k, data, sizeof data);
        keyed_hash_end(&k, out);
        *byte ^= (unsigned char)(1 << bit % 8);
        assert_false(keyed_hash_same(first, out));
    }
    keyed_hash_begin(&k, key);
    keyed_hash_add(&k, data, sizeof data - 1);
    keyed_hash_end(&k, out);
    assert_false(keyed_hash_same(first, out));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keyed_hash_known),
        cmocka_unit_test(keyed_hash_differs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

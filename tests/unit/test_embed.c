/* SPDX-License-Identifier: Apache-2.0 */
/* test_embed.c - base/text/embed.h: an embedded text is the file, but for comments, one copy of it,
 * and there is none without memory. */
#include "support.h"

#include "base/text/embed.h"

#include <string.h>

#define EMBED_FILE "src/ir/op/schemas_2.txt"
#define EMBED_CODE "src/frontend/prelude/upgraders.py"
EMBED(embed_whole, EMBED_FILE)
EMBED(embed_code, EMBED_CODE)
EMBED(embed_refused, EMBED_CODE)

static void embed_is_the_file(void **state) {
    (void)state;
    size_t len, again, want_len;
    const char *text = embedded_text(&embed_whole, &len);
    unsigned char *want = support_read(EMBED_FILE, &want_len);
    assert_non_null(text);
    assert_non_null(want);
    assert_int_equal(len, want_len);
    assert_memory_equal(text, want, len + 1);
    free(want);
    assert_ptr_equal(embedded_text(&embed_whole, &again), text);
    assert_int_equal(again, len);
}

/* The end of the line after p. */
static const char *embed_line(const char *p) { return p + strcspn(p, "\n"); }

/* Lines that are comments are empty; the others are as they were, under their numbers. */
static void embed_drops_comments(void **state) {
    (void)state;
    size_t len, want_len, dropped = 0;
    const char *at = embedded_text(&embed_code, &len), *end = at + len;
    unsigned char *file = support_read(EMBED_CODE, &want_len);
    assert_non_null(at);
    assert_non_null(file);
    for (const char *want = (const char *)file; *want; want = embed_line(want) + 1) {
        assert_true(at < end);
        size_t n = (size_t)(embed_line(at) - at);
        if (*want == '#') {
            assert_int_equal(n, 0);
            dropped++;
        } else {
            assert_int_equal(n, embed_line(want) - want);
            assert_memory_equal(at, want, n);
        }
        at += n + 1;
    }
    assert_ptr_equal(at, end);
    assert_true(dropped > 0);
    free(file);
}

static void embed_no_memory(void **state) {
    (void)state;
    size_t len;
    const char *text = NULL;
    counting count = {.sticky = true};
    mem_set_hook(counting_hook, &count);
    while (!text && count.fail_at < 16) {
        assert_int_equal(count.live, 0);
        count.requests = 0;
        count.fail_at++;
        text = embedded_text(&embed_refused, &len);
    }
    mem_set_hook(NULL, NULL);
    assert_non_null(text);
    assert_true(count.fail_at > 2); /* the text, and what zlib needs */
    assert_int_equal(count.live, 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(embed_is_the_file),
                                       cmocka_unit_test(embed_drops_comments),
                                       cmocka_unit_test(embed_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* JSON that scope writes: any bytes become a valid string that is harmless in HTML. Bytes that are no UTF-8 are
 * replaced. */
#include <string.h>

#include "scope/text.h"
#include "support/allocator.h"
#include "support/cmocka.h"
#include "support/random.h"

static const char *written(verge__text *text, const char *value) {
    verge__text_clear(text);
    verge__json_string(text, NULL, value);
    verge__text_add(text, "", 1);
    assert_false(text->has_failed);
    return text->bytes;
}

static void strings_are_escaped(void **state) {
    (void)state;
    verge__text text = {.allocator = verge_allocator_default()};
    assert_string_equal(written(&text, "plain"), "\"plain\"");
    assert_string_equal(written(&text, ""), "\"\"");
    assert_string_equal(written(&text, NULL), "null");
    assert_string_equal(written(&text, "a\"b\\c\n\t\x7f"), "\"a\\u0022b\\u005cc\\u000a\\u0009\\u007f\"");
    assert_string_equal(written(&text, "<script>'&"), "\"\\u003cscript\\u003e\\u0027\\u0026\"");
    assert_string_equal(written(&text, "\xc3\xa9\xe2\x82\xac\xf0\x9f\x95\x92"),
                        "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x95\x92\"");
    /* Control characters of Unicode, and those that turn the direction of the text.
     * NOLINTNEXTLINE(misc-misleading-bidirectional) */
    assert_string_equal(written(&text, "\xc2\x9b"
                                       "31m\xe2\x80\xae"
                                       "gpj\xe2\x81\xa6\xef\xbb\xbf"),
                        "\"\\u009b31m\\u202egpj\\u2066\\ufeff\"");
    verge__text_free(&text);
}

static void what_is_no_utf8_is_replaced(void **state) {
    (void)state;
    verge__text text = {.allocator = verge_allocator_default()};
    assert_string_equal(written(&text, "\xff"), "\"\\ufffd\"");
    assert_string_equal(written(&text, "\xc3"), "\"\\ufffd\"");                       /* cut off */
    assert_string_equal(written(&text, "\xc0\xaf"), "\"\\ufffd\\ufffd\"");            /* overlong */
    assert_string_equal(written(&text, "\xed\xa0\x80"), "\"\\ufffd\\ufffd\\ufffd\""); /* one half of a pair */
    assert_string_equal(written(&text, "\xf4\x90\x80\x80"), "\"\\ufffd\\ufffd\\ufffd\\ufffd\"");
    verge__text_free(&text);
}

/* Asserts that a JSON string is valid, and has no character with a meaning in HTML. */
static void assert_harmless(const char *string) {
    const size_t size = strlen(string);
    assert_true(size >= 2 && string[0] == '"' && string[size - 1] == '"');
    for (size_t i = 1; i < size - 1; i++) {
        const unsigned char byte = (unsigned char)string[i];
        assert_true(byte >= 0x20 && byte != 0x7f && strchr("\"<>&'", byte) == NULL);
        if (byte == '\\') {
            assert_int_equal(string[i + 1], 'u');
            assert_int_equal(strspn(string + i + 2, "0123456789abcdef") >= 4, 1);
            i += 5;
        }
    }
}

static void any_bytes_are_harmless(void **state) {
    (void)state;
    struct verge_test_random random = verge_test_random_from(verge_test_seed(11));
    verge__text text = {.allocator = verge_allocator_default()};
    for (int round = 0; round < 20000; round++) {
        char bytes[24];
        const size_t size = (size_t)verge_test_below(&random, sizeof(bytes));
        for (size_t i = 0; i < size; i++) {
            bytes[i] = (char)verge_test_next(&random);
        }
        bytes[size] = '\0';
        assert_harmless(written(&text, bytes));
    }
    verge__text_free(&text);
}

static void numbers(void **state) {
    (void)state;
    verge__text text = {.allocator = verge_allocator_default()};
    verge__json_begin(&text, NULL, '{');
    verge__json_number(&text, "none", 0);
    verge__json_number(&text, "most", UINT64_MAX);
    verge__json_real(&text, "real", 12.3456);
    verge__json_real(&text, "whole", 7);
    verge__json_real(&text, "negative", -1);
    verge__json_real(&text, "huge", 1e300);
    verge__json_bool(&text, "yes", true);
    verge__json_begin(&text, "list", '[');
    verge__json_number(&text, NULL, 1);
    verge__json_bool(&text, NULL, false);
    verge__json_end(&text, ']');
    verge__json_end(&text, '}');
    verge__text_add(&text, "", 1);
    assert_string_equal(text.bytes, "{\"none\":0,\"most\":18446744073709551615,\"real\":12.346,\"whole\":7,"
                                    "\"negative\":0,\"huge\":0,\"yes\":true,\"list\":[1,false]}");
    verge__text_free(&text);
}

static void without_memory_it_has_failed(void **state) {
    (void)state;
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    verge__text text = {.allocator = &memory.allocator};
    memory.fail_at = memory.calls + 2; /* the allocation for more text */
    for (int i = 0; i < 2000; i++) {
        verge__json_string(&text, NULL, "a string");
    }
    assert_true(text.has_failed);
    verge__text_clear(&text);
    verge__json_number(&text, NULL, 1);
    assert_false(text.has_failed);
    verge__text_free(&text);
    verge_test_allocator_assert_empty(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_are_escaped),          cmocka_unit_test(what_is_no_utf8_is_replaced),
        cmocka_unit_test(any_bytes_are_harmless),       cmocka_unit_test(numbers),
        cmocka_unit_test(without_memory_it_has_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

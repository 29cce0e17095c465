/* SPDX-License-Identifier: MIT */
/* Structs that begin with their size: every size of the caller's struct with every size of the library's, up to 32
 * bytes, byte by byte. */
#include "base/sized.h"

#include <stdint.h>

#include "support/cmocka.h"

enum { MOST = 32, GUARD = 0xA5 };

/* Memory of a struct: its size, then known bytes (struct_of), then a guard that nobody may read or write. */
struct memory {
    _Alignas(size_t) unsigned char bytes[2 * MOST];
};

static struct memory struct_of(size_t size, unsigned first) {
    struct memory memory;
    memset(&memory, GUARD, sizeof(memory));
    memcpy(memory.bytes, &size, sizeof(size));
    for (size_t i = sizeof(size); i < size; i++) {
        memory.bytes[i] = (unsigned char)(first + i);
    }
    return memory;
}

/* `got` begins with its size. Bytes that both structs have are those of the other struct, the rest of `got` is zero,
 * and the memory behind it is untouched. */
static void expect(const struct memory *got, size_t size, size_t other_size, unsigned first) {
    assert_int_equal(verge__size_in(got->bytes), size);
    for (size_t i = sizeof(size); i < sizeof(got->bytes); i++) {
        const unsigned char wanted = i >= size ? GUARD : i < other_size ? (unsigned char)(first + i) : 0;
        assert_int_equal(got->bytes[i], wanted);
    }
}

static void each_size_with_each_size(void **state) {
    (void)state;
    for (size_t caller = sizeof(size_t); caller <= MOST; caller++) {
        for (size_t library = sizeof(size_t); library <= MOST; library++) {
            const struct memory known = struct_of(library, 1);
            struct memory options = struct_of(caller, 100);
            assert_int_equal(verge__sized_init(options.bytes, caller, known.bytes, library), 0);
            expect(&options, caller, library, 1);

            struct memory result = struct_of(caller, 100);
            assert_int_equal(verge__sized_write(result.bytes, known.bytes, library), 0);
            expect(&result, caller, library, 1);

            options = struct_of(caller, 100);
            struct memory read = struct_of(library, 1);
            const struct memory before = read;
            if (caller > library) { /* sets each byte that the library does not know, one at a time */
                for (size_t i = library; i < caller; i++) {
                    memset(options.bytes + library, 0, caller - library);
                    options.bytes[i] = 1;
                    assert_int_equal(verge__sized_read(options.bytes, read.bytes, library), -EINVAL);
                    assert_memory_equal(&read, &before, sizeof(read));
                }
                memset(options.bytes + library, 0, caller - library);
            }
            assert_int_equal(verge__sized_read(options.bytes, read.bytes, library), 0);
            expect(&read, library, caller, 100);
        }
    }
}

static void sizes_that_are_none(void **state) {
    (void)state;
    const size_t sizes[] = {0, 1, sizeof(size_t) - 1, VERGE__SIZED_MAX + 1, SIZE_MAX};
    const struct memory known = struct_of(MOST, 1);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct memory given = struct_of(MOST, 100);
        memcpy(given.bytes, &sizes[i], sizeof(sizes[i]));
        const struct memory before = given;
        struct memory read = struct_of(MOST, 7);
        assert_int_equal(verge__sized_init(given.bytes, sizes[i], known.bytes, MOST), -EINVAL);
        assert_int_equal(verge__sized_write(given.bytes, known.bytes, MOST), -EINVAL);
        assert_int_equal(verge__sized_read(given.bytes, read.bytes, MOST), -EINVAL);
        assert_memory_equal(&given, &before, sizeof(given));
        expect(&read, MOST, MOST, 7);
    }
    struct memory read = struct_of(MOST, 7);
    assert_int_equal(verge__sized_init(NULL, MOST, known.bytes, MOST), -EINVAL);
    assert_int_equal(verge__sized_write(NULL, known.bytes, MOST), -EINVAL);
    assert_int_equal(verge__sized_read(NULL, read.bytes, MOST), -EINVAL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_size_with_each_size),
        cmocka_unit_test(sizes_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

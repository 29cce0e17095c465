/* SPDX-License-Identifier: MIT */
/* The pool of chunks. */
#include "calendar/chunk_pool.h"

#include "wheel/support.h"

enum { SLABS = 3, CHUNKS = 4, SECOND_END = 2 * CHUNKS, WITHOUT_ONE = (SLABS - 1) * CHUNKS };

/* A slab that is given back leaves a place, and the next one takes it. */
static void a_place_is_used_again(void **state) {
    (void)state;
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    verge__chunk_pool pool = {.allocator = &memory.allocator};
    for (size_t i = 0; i < SLABS; i++) {
        assert_int_equal(verge__chunk_pool_grow(&pool, CHUNKS), 0);
    }
    verge__chunk *chunks[SLABS * CHUNKS];
    for (size_t i = 0; i < COUNT_OF(chunks); i++) {
        chunks[i] = verge__chunk_pool_take(&pool);
        assert_int_equal(chunks[i]->slab, i / CHUNKS); /* the lowest first */
    }
    for (size_t round = 0; round < 10; round++) {
        for (size_t i = CHUNKS; i < SECOND_END; i++) {
            verge__chunk_pool_give(&pool, chunks[i]);
        }
        verge__chunk_pool_shrink(&pool, WITHOUT_ONE);
        assert_int_equal(pool.chunk_count, WITHOUT_ONE);
        assert_null(pool.slabs[1].chunks);
        assert_int_equal(verge__chunk_pool_grow(&pool, CHUNKS), 0);
        assert_int_equal(pool.slab_count, SLABS);
        for (size_t i = CHUNKS; i < SECOND_END; i++) {
            chunks[i] = verge__chunk_pool_take(&pool);
            assert_int_equal(chunks[i]->slab, 1);
        }
    }
    for (size_t i = 0; i < COUNT_OF(chunks); i++) {
        verge__chunk_pool_give(&pool, chunks[i]);
    }
    verge__chunk_pool_shrink(&pool, 0);
    assert_int_equal(pool.slab_count, 0);
    assert_int_equal(pool.chunk_count, 0);
    verge__chunk_pool_deinit(&pool);
    verge_test_allocator_assert_empty(&memory);
}

/* What was allocated before memory ran out goes back. */
static void a_growth_that_fails_leaves_nothing(void **state) {
    (void)state;
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    verge__chunk_pool pool = {.allocator = &memory.allocator};
    assert_int_equal(verge__chunk_pool_grow(&pool, CHUNKS), 0);
    const size_t bytes = memory.bytes_in_use;
    const size_t large = ((size_t)5 << 20) / VERGE__CHUNK_BYTES; /* three slabs */
    memory.fail_at = memory.calls + 3;
    assert_int_equal(verge__chunk_pool_grow(&pool, large), -ENOMEM);
    assert_int_equal(memory.failures, 1);
    assert_int_equal(pool.chunk_count, CHUNKS);
    assert_int_equal(memory.bytes_in_use, bytes);
    assert_int_equal(verge__chunk_pool_grow(&pool, large), 0);
    assert_int_equal(pool.chunk_count, CHUNKS + large);
    verge__chunk_pool_deinit(&pool);
    verge_test_allocator_assert_empty(&memory);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_is_used_again),
        cmocka_unit_test(a_growth_that_fails_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

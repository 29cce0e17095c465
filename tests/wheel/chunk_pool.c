/* SPDX-License-Identifier: MIT */
/* The pool of chunks: a slab that is given back leaves a place, and the next one takes it. */
#include "wheel/chunk_pool.h"

#include "wheel/support.h"

enum { SLABS = 3, CHUNKS = 4, SECOND_END = 2 * CHUNKS, WITHOUT_ONE = (SLABS - 1) * CHUNKS };

static void a_place_is_used_again(void **state) {
    (void)state;
    struct verge_test_allocator memory;
    verge_test_allocator_init(&memory);
    verge__chunk_pool pool;
    verge__chunk_pool_init(&pool, &memory.allocator);
    for (size_t i = 0; i < SLABS; i++) {
        assert_int_equal(verge__chunk_pool_grow(&pool, CHUNKS, false), 0);
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
        assert_int_equal(verge__chunk_pool_grow(&pool, CHUNKS, false), 0);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_place_is_used_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

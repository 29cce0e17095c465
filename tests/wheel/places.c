/* SPDX-License-Identifier: MIT */
/* The table of places: what a number names, when it names nothing, and how the table grows and shrinks. */
#include "wheel/places.h"

#include "wheel/support.h"

enum { FIRST = 32, SEGMENT = VERGE__SEGMENT_PLACES, SEGMENT_BYTES = SEGMENT * sizeof(verge__place) };

struct fixture {
    struct verge_test_allocator memory;
    verge_allocator allocator; /* the same, whose memory is full of what could be addresses */
    verge__places places;
    verge_timeout *timeouts; /* of which the table uses the records, and the checker the numbers */
};

static void *allocate_dirty(void *context, size_t size, size_t alignment) {
    const verge_allocator *allocator = context;
    void *memory = allocator->allocate(allocator->context, size, alignment);
    return memory == NULL ? NULL : memset(memory, 0x40, size);
}

static void release_dirty(void *context, void *memory, size_t size) {
    const verge_allocator *allocator = context;
    allocator->release(allocator->context, memory, size);
}

static void set_up(struct fixture *fixture, size_t count) {
    memset(fixture, 0, sizeof(*fixture));
    verge_test_allocator_init(&fixture->memory);
    fixture->allocator =
        (verge_allocator){.allocate = allocate_dirty, .release = release_dirty, .context = &fixture->memory.allocator};
    verge__places_init(&fixture->places, &fixture->allocator);
    fixture->timeouts = calloc(count, sizeof(*fixture->timeouts));
    assert_non_null(fixture->timeouts);
}

static void assert_table(const struct fixture *fixture) {
    const char *broken = verge__places_check(&fixture->places);
    if (broken != NULL) {
        fail_msg("%s", broken);
    }
    assert_int_equal(fixture->places.bytes, fixture->memory.bytes_in_use);
    assert_null(fixture->memory.complaint);
}

static void tear_down(struct fixture *fixture) {
    assert_table(fixture);
    verge__places_deinit(&fixture->places);
    verge_test_allocator_assert_empty(&fixture->memory);
    free(fixture->timeouts);
}

static uint32_t add(struct fixture *fixture, size_t i) {
    verge_timeout *timeout = &fixture->timeouts[i];
    assert_int_equal(verge__places_add(&fixture->places, &timeout->record, &timeout->number), 0);
    assert_int_not_equal(timeout->number & VERGE__PLACE, 0);
    assert_ptr_equal(verge__places_named(&fixture->places, timeout->number), &timeout->record);
    return timeout->number;
}

static void add_all(struct fixture *fixture, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        (void)add(fixture, i);
    }
}

static void remove_one(struct fixture *fixture, size_t i) {
    verge_timeout *timeout = &fixture->timeouts[i];
    verge__places_remove(&fixture->places, timeout->number);
    assert_null(verge__places_named(&fixture->places, timeout->number));
    timeout->number = 0;
}

static void remove_all(struct fixture *fixture, size_t from, size_t to) {
    for (size_t i = from; i < to; i++) {
        remove_one(fixture, i);
    }
}

static void an_empty_table(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, 1);
    assert_null(verge__places_named(&fixture.places, VERGE__PLACE));
    assert_int_equal(verge__places_next(&fixture.places, VERGE__PLACE), VERGE__NO_RECORD);
    assert_int_equal(fixture.memory.calls, 0);
    tear_down(&fixture);
}

/* Numbers stay while the first segment is copied to a larger one, again and again. */
static void numbers_stay_while_it_grows(void **state) {
    (void)state;
    enum { COUNT = 10 * FIRST + 5 };
    struct fixture fixture;
    set_up(&fixture, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        assert_int_equal(add(&fixture, i), VERGE__PLACE | i);
        assert_table(&fixture);
        for (size_t k = 0; k <= i; k++) {
            assert_ptr_equal(verge__places_named(&fixture.places, fixture.timeouts[k].number),
                             &fixture.timeouts[k].record);
        }
        assert_null(verge__places_named(&fixture.places, VERGE__PLACE | (uint32_t)(i + 1)));
    }
    assert_int_equal(fixture.places.segment_count, 1);
    tear_down(&fixture);
}

/* The place that was free last is used first. */
static void a_place_is_used_again(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, FIRST);
    add_all(&fixture, 0, FIRST);
    const uint32_t third = fixture.timeouts[3].number;
    const uint32_t ninth = fixture.timeouts[9].number;
    remove_one(&fixture, 9);
    remove_one(&fixture, 3);
    assert_table(&fixture);
    assert_int_equal(verge__places_next(&fixture.places, third), third + 1);
    assert_int_equal(add(&fixture, 9), third);
    assert_int_equal(add(&fixture, 3), ninth);
    assert_int_equal(fixture.places.segments[0].room, FIRST);
    assert_table(&fixture);
    remove_all(&fixture, 0, FIRST);
    assert_int_equal(fixture.places.count, 0);
    assert_int_equal(verge__places_next(&fixture.places, VERGE__PLACE), VERGE__NO_RECORD);
    tear_down(&fixture);
}

static void next_finds_each_in_use(void **state) {
    (void)state;
    enum { COUNT = SEGMENT + 100, STRIDE = 10 }; /* so that the last of a segment is free */
    struct fixture fixture;
    set_up(&fixture, COUNT);
    add_all(&fixture, 0, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        if (i % STRIDE != 0) {
            remove_one(&fixture, i);
        }
    }
    size_t i = 0;
    for (uint32_t number = verge__places_next(&fixture.places, VERGE__PLACE); number != VERGE__NO_RECORD;
         number = verge__places_next(&fixture.places, number + 1)) {
        assert_int_equal(number, fixture.timeouts[i].number);
        i += STRIDE;
    }
    assert_true(i >= COUNT && i - STRIDE < COUNT);
    tear_down(&fixture);
}

/* Segments come one by one; those at the end go, but for one that is empty; and what they held names nothing, also when
 * another has come in their place. */
static void segments_come_and_go(void **state) {
    (void)state;
    enum { COUNT = 3 * SEGMENT };
    struct fixture fixture;
    set_up(&fixture, COUNT);
    add_all(&fixture, 0, COUNT);
    assert_int_equal(fixture.places.segment_count, 3);
    assert_true(fixture.places.bytes >= (size_t)3 * SEGMENT_BYTES);
    const uint32_t last = fixture.timeouts[COUNT - 1].number;
    const uint32_t middle = fixture.timeouts[SEGMENT + 1].number;
    remove_all(&fixture, (size_t)2 * SEGMENT, COUNT);
    assert_int_equal(fixture.places.segment_count, 3); /* one is kept */
    assert_table(&fixture);
    remove_all(&fixture, SEGMENT, (size_t)2 * SEGMENT);
    assert_int_equal(fixture.places.segment_count, 2);
    assert_true(fixture.places.bytes < (size_t)2 * SEGMENT_BYTES + 4096);
    assert_null(verge__places_named(&fixture.places, last));
    assert_null(verge__places_named(&fixture.places, middle));
    assert_table(&fixture);
    add_all(&fixture, SEGMENT, (size_t)2 * SEGMENT + 1); /* one of a segment that is new again */
    assert_int_equal(fixture.places.segment_count, 3);
    assert_null(verge__places_named(&fixture.places, last));
    assert_table(&fixture);
    remove_all(&fixture, 0, (size_t)2 * SEGMENT + 1);
    assert_int_equal(fixture.places.segment_count, 1);
    tear_down(&fixture);
}

/* One timeout at the end does not hold what lies before it. The gaps are used first, and nobody's numbers come back to life. */
static void segments_in_the_middle_go(void **state) {
    (void)state;
    enum { COUNT = 4 * SEGMENT };
    struct fixture fixture;
    set_up(&fixture, COUNT);
    add_all(&fixture, 0, COUNT);
    const uint32_t stale = fixture.timeouts[(size_t)2 * SEGMENT + 7].number;
    remove_all(&fixture, 1, COUNT - 1);
    assert_int_equal(fixture.places.segment_count, 4);
    assert_true(fixture.places.bytes < (size_t)3 * SEGMENT_BYTES + 4096); /* the second is the one that is kept */
    assert_null(verge__places_named(&fixture.places, stale));
    assert_int_equal(verge__places_next(&fixture.places, fixture.timeouts[0].number + 1),
                     fixture.timeouts[COUNT - 1].number);
    assert_table(&fixture);
    const size_t next = (size_t)3 * SEGMENT - 1;
    add_all(&fixture, 1, next); /* the others are full */
    assert_int_equal(add(&fixture, next), VERGE__PLACE | 2 * SEGMENT);
    assert_null(verge__places_named(&fixture.places, stale));
    assert_table(&fixture);
    add_all(&fixture, next + 1, COUNT - 1);
    assert_int_equal(fixture.places.segment_count, 4);
    assert_int_equal(fixture.places.count, COUNT);
    assert_table(&fixture);
    remove_all(&fixture, 0, COUNT);
    assert_int_equal(fixture.places.segment_count, 1);
    tear_down(&fixture);
}

/* At the edge of a segment, one that comes and goes takes no memory and gives none back. */
static void the_edge_of_a_segment(void **state) {
    (void)state;
    struct fixture fixture;
    set_up(&fixture, SEGMENT + 1);
    add_all(&fixture, 0, SEGMENT + 1);
    const uint64_t calls = fixture.memory.calls;
    const uint64_t releases = fixture.memory.releases;
    for (size_t i = 0; i < 1000; i++) {
        remove_one(&fixture, SEGMENT);
        (void)add(&fixture, SEGMENT);
    }
    assert_int_equal(fixture.memory.calls, calls);
    assert_int_equal(fixture.memory.releases, releases);
    remove_one(&fixture, 5); /* the lowest segment with room is used first */
    remove_one(&fixture, SEGMENT);
    assert_int_equal(add(&fixture, 5), VERGE__PLACE | 5);
    assert_int_equal(fixture.memory.calls, calls);
    tear_down(&fixture);
}

/* Each allocation on the way fails once: then nothing was added, and the next attempt goes on. */
static void memory_runs_out(void **state) {
    (void)state;
    enum { COUNT = SEGMENT + 1 };
    struct fixture fixture;
    set_up(&fixture, COUNT);
    for (size_t i = 0; i < COUNT; i++) {
        for (uint64_t failure = 1;; failure++) {
            const uint64_t failures = fixture.memory.failures;
            fixture.memory.fail_at = fixture.memory.calls + failure;
            verge_timeout *timeout = &fixture.timeouts[i];
            const int error = verge__places_add(&fixture.places, &timeout->record, &timeout->number);
            if (error == 0) {
                assert_int_equal(fixture.memory.failures, failures);
                break;
            }
            assert_int_equal(error, -ENOMEM);
            assert_int_equal(timeout->number, 0);
            assert_int_equal(fixture.places.count, i);
            assert_table(&fixture);
        }
    }
    assert_true(fixture.memory.failures > 10);
    tear_down(&fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_table),        cmocka_unit_test(numbers_stay_while_it_grows),
        cmocka_unit_test(a_place_is_used_again), cmocka_unit_test(next_finds_each_in_use),
        cmocka_unit_test(segments_come_and_go),  cmocka_unit_test(segments_in_the_middle_go),
        cmocka_unit_test(the_edge_of_a_segment), cmocka_unit_test(memory_runs_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

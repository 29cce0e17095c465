/* SPDX-License-Identifier: MIT */
/* Two kinds of lists agree with an array after every step: one that knows its last element, and one that is only a
 * pointer to its first. */
#include "base/list.h"

#include <string.h>

#include "support/cmocka.h"
#include "support/random.h"

enum { ITEM_COUNT = 8, STEP_COUNT = 100000 };

struct item {
    uint64_t value;
    verge__link link;
};

/* The items that should be in the list, in order. */
struct model {
    struct item *items[ITEM_COUNT];
    size_t count;
};

static struct item *item_of(void *link) {
    return VERGE__LISTED(link, struct item, link);
}

static void check(const struct model *model, void *first) {
    const struct item *previous = NULL;
    struct item *item = item_of(first);
    for (size_t i = 0; i < model->count; i++) {
        assert_ptr_equal(item, model->items[i]);
        assert_ptr_equal(item_of(item->link.previous), previous);
        previous = item;
        item = item_of(item->link.next);
    }
    assert_null(item);
}

static struct item *take(struct model *model, size_t index) {
    struct item *item = model->items[index];
    model->count--;
    memmove(&model->items[index], &model->items[index + 1], (model->count - index) * sizeof(item));
    memset(&item->link, 0xa5, sizeof(item->link)); /* the next put must not read the old link */
    return item;
}

static void put(struct model *model, size_t index, struct item *item) {
    memmove(&model->items[index + 1], &model->items[index], (model->count - index) * sizeof(item));
    model->items[index] = item;
    model->count++;
}

static void with_a_last_one(void **state) {
    (void)state;
    struct verge_test_random random = verge_test_random_from(verge_test_seed(1));
    struct item items[ITEM_COUNT];
    struct model in = {.count = 0}, out = {.count = 0};
    verge__list list = {0};
    for (size_t i = 0; i < ITEM_COUNT; i++) {
        put(&out, i, &items[i]);
    }
    for (int step = 0; step < STEP_COUNT; step++) {
        const size_t index = (size_t)verge_test_below(&random, ITEM_COUNT);
        if (index < in.count) {
            verge__list_remove(&list, &in.items[index]->link);
            put(&out, out.count, take(&in, index));
        } else {
            struct item *item = take(&out, index - in.count);
            verge__list_append(&list, &item->link);
            put(&in, in.count, item);
        }
        check(&in, list.first);
        assert_ptr_equal(item_of(list.last), in.count == 0 ? NULL : in.items[in.count - 1]);
    }
}

static void with_a_first_one_only(void **state) {
    (void)state;
    struct verge_test_random random = verge_test_random_from(verge_test_seed(2));
    struct item items[ITEM_COUNT];
    struct model in = {.count = 0}, out = {.count = 0};
    void *first = NULL;
    for (size_t i = 0; i < ITEM_COUNT; i++) {
        put(&out, i, &items[i]);
    }
    for (int step = 0; step < STEP_COUNT; step++) {
        const size_t index = (size_t)verge_test_below(&random, ITEM_COUNT);
        if (index < in.count) {
            assert_int_equal(verge__list_unlink(&first, &in.items[index]->link), index + 1 == in.count);
            put(&out, out.count, take(&in, index));
        } else {
            struct item *item = take(&out, index - in.count);
            verge__list_push(&first, &item->link);
            put(&in, 0, item);
        }
        check(&in, first);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_a_last_one),
        cmocka_unit_test(with_a_first_one_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

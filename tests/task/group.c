/* SPDX-License-Identifier: MIT */
/* Groups: the promises P1 to P3 of verge/sync.h, one by one and in random trees of groups. */
#include <pthread.h>

#include "support/steps.h"
#include "task/support.h"
#include "verge/sync.h"

/* ---- one by one ---- */

struct member {
    uint64_t duration_ns;
    intptr_t result;
    int slept; /* what verge_sleep returned */
    bool ended;
    verge_group *group;
};

static intptr_t member_main(void *argument) {
    struct member *member = argument;
    member->slept = verge_sleep(member->duration_ns);
    member->ended = true;
    return member->slept != 0 ? member->slept : member->result;
}

static void add(verge_group *group, struct member *member) {
    CHECK_EQUAL(verge_group_spawn(group, member_main, member), 0);
}

static intptr_t waits_for_all(void *argument) {
    (void)argument;
    verge_group group;
    struct member members[3] = {{.duration_ns = 30}, {.duration_ns = 10, .result = 5}, {.duration_ns = 20}};
    CHECK_EQUAL(verge_group_begin(&group), 0);
    for (size_t i = 0; i < 3; i++) {
        add(&group, &members[i]);
    }
    CHECK_EQUAL(verge_group_wait(&group, VERGE_NEVER), 0);
    CHECK_EQUAL(verge_now(), 30);
    CHECK(members[0].ended && members[1].ended && members[2].ended);
    CHECK_EQUAL(verge_group_wait(&group, VERGE_NEVER), -EPERM); /* the group has ended */
    CHECK_EQUAL(verge_group_begin(&group), 0);
    CHECK_EQUAL(verge_group_wait(&group, VERGE_NEVER), 0); /* a group without members */
    return 0;
}

static void p1_waits_for_all(void **state) {
    (void)state;
    assert_int_equal(run_virtual(2, 0, waits_for_all, NULL), 30);
}

static intptr_t fails(void *argument) {
    (void)argument;
    verge_group group;
    struct member members[4] = {{.duration_ns = HOUR},
                                {.duration_ns = 20, .result = -EIO},
                                {.duration_ns = 10, .result = 1},
                                {.duration_ns = DAY}};
    CHECK_EQUAL(verge_group_begin(&group), 0);
    for (size_t i = 0; i < 4; i++) {
        add(&group, &members[i]);
    }
    CHECK_EQUAL(verge_sleep(100), 0); /* the error cancels the other members before anybody waits */
    CHECK(members[0].ended && members[3].ended);
    CHECK_EQUAL(verge_group_spawn(&group, member_main, &members[0]), -ECANCELED);
    CHECK_EQUAL(verge_group_wait(&group, VERGE_NEVER), -EIO);
    CHECK_EQUAL(verge_now(), 100);
    CHECK_EQUAL(members[0].slept, -ECANCELED);
    CHECK_EQUAL(members[2].slept, 0);
    CHECK_EQUAL(members[3].slept, -ECANCELED);
    return 0;
}

static void p2_the_first_error_cancels_the_rest(void **state) {
    (void)state;
    run_virtual(3, 0, fails, NULL);
}

static intptr_t cleans_up_slowly(void *argument) {
    struct member *member = argument;
    verge_mutex never = VERGE_MUTEX_INIT;
    member->slept = verge_sleep(member->duration_ns);
    CHECK_EQUAL(verge_mutex_lock(&never, VERGE_REGARDLESS), 0);
    /* This task ends late. Until then it uses `member`, which is on the stack of the task that waits for it. */
    for (int i = 0; i < 100; i++) {
        CHECK_EQUAL(verge_yield(), 0);
    }
    member->ended = true;
    return member->slept;
}

static intptr_t has_deadlines(void *argument) {
    (void)argument;
    verge_group group;
    verge_deadline scope;
    struct member members[2] = {{.duration_ns = HOUR}, {.duration_ns = HOUR}};
    CHECK_EQUAL(verge_group_begin(&group), 0);
    CHECK_EQUAL(verge_group_spawn(&group, cleans_up_slowly, &members[0]), 0);
    CHECK_EQUAL(verge_group_wait(&group, 50), -ETIMEDOUT);
    CHECK_EQUAL(verge_now(), 50);
    CHECK(members[0].ended);
    CHECK_EQUAL(members[0].slept, -ECANCELED);
    CHECK_EQUAL(stats_of(verge_task_runtime()).timeouts, 1);
    /* A member inherits the deadline scope in which it is spawned: its calls time out. */
    members[0] = (struct member){.duration_ns = HOUR};
    CHECK_EQUAL(verge_group_begin(&group), 0);
    CHECK_EQUAL(verge_deadline_push(&scope, 80), 0);
    add(&group, &members[0]);
    CHECK_EQUAL(verge_deadline_pop(&scope), 0);
    add(&group, &members[1]);
    CHECK_EQUAL(verge_group_wait(&group, VERGE_NEVER), -ETIMEDOUT);
    CHECK_EQUAL(verge_now(), 80);
    CHECK_EQUAL(members[0].slept, -ETIMEDOUT);
    CHECK_EQUAL(members[1].slept, -ECANCELED);
    return 0;
}

static void p3_deadlines_are_inherited(void **state) {
    (void)state;
    run_virtual(2, 0, has_deadlines, NULL);
}

/* A chain of groups: each member has a group with the next member. */
static intptr_t nests(void *argument) {
    struct member *member = argument;
    verge_group group;
    CHECK_EQUAL(verge_group_begin(&group), 0);
    if (member->duration_ns == 0) {
        member->slept = verge_sleep(HOUR);
        member->ended = true;
        return verge_group_wait(&group, VERGE_NEVER) == 0 ? member->slept : -1;
    }
    CHECK_EQUAL(verge_group_spawn(&group, nests, member - 1), 0);
    const int error = verge_group_wait(&group, VERGE_NEVER);
    CHECK((member - 1)->ended);
    member->ended = true;
    return error;
}

static intptr_t cancels_a_tree(void *argument) {
    (void)argument;
    enum { DEPTH = 20 };
    struct member members[DEPTH] = {0};
    for (size_t i = 0; i < DEPTH; i++) {
        members[i].duration_ns = i;
    }
    verge_task *root = spawn(nests, &members[DEPTH - 1]);
    CHECK_EQUAL(verge_sleep(10), 0);
    CHECK_EQUAL(verge_task_cancel(root), 0);
    CHECK_EQUAL(join(root), -ECANCELED);
    CHECK_EQUAL(members[0].slept, -ECANCELED);
    CHECK_EQUAL(verge_now(), 10);
    return 0;
}

static void p3_cancellation_goes_down(void **state) {
    (void)state;
    run_virtual(3, 0, cancels_a_tree, NULL);
}

static intptr_t adds_another(void *argument) {
    struct member *member = argument;
    CHECK_EQUAL(verge_group_spawn(member->group, member_main, member), 0);
    CHECK_EQUAL(verge_group_wait(member->group, VERGE_NEVER), -EPERM);
    return 0;
}

static intptr_t misuses(void *argument) {
    (void)argument;
    verge_group group, other;
    struct member member = {.duration_ns = 10, .group = &group};
    verge_spawn_options options;
    CHECK_EQUAL(verge_group_begin(NULL), -EINVAL);
    CHECK_EQUAL(verge_group_begin(&group), 0);
    CHECK_EQUAL(verge_group_begin(&other), 0);
    CHECK_EQUAL(verge_group_spawn(NULL, member_main, NULL), -EINVAL);
    CHECK_EQUAL(verge_group_spawn(&group, NULL, NULL), -EINVAL);
    CHECK_EQUAL(verge_spawn_options_init(&options, sizeof(options)), 0);
    options.function = member_main;
    options.group = &group;
    options.worker_id = 99;
    CHECK_EQUAL(verge_spawn_with(&options, NULL), -EINVAL);
    options.worker_id = VERGE_WORKER_ANY;
    verge_task *handle = NULL;
    CHECK_EQUAL(verge_spawn_with(&options, &handle), -EINVAL); /* a member has no handle */
    CHECK(handle == NULL);
    CHECK_EQUAL(verge_group_wait(NULL, VERGE_NEVER), -EINVAL);
    CHECK_EQUAL(verge_group_cancel(NULL), -EINVAL);
    CHECK_EQUAL(group.count, 0);
    CHECK_EQUAL(verge_group_spawn(&group, adds_another, &member), 0); /* a member adds another */
    CHECK_EQUAL(verge_group_wait(&group, VERGE_NEVER), 0);
    CHECK(member.ended);
    CHECK_EQUAL(verge_task_cancel(verge_task_current()), 0);
    CHECK_EQUAL(verge_group_spawn(&other, member_main, &member), -ECANCELED);
    CHECK_EQUAL(verge_group_wait(&other, VERGE_NEVER), 0);
    return 0;
}

static void misuse_changes_nothing(void **state) {
    (void)state;
    verge_group group;
    assert_int_equal(verge_group_begin(&group), -EPERM);
    assert_int_equal(verge_group_wait(&group, VERGE_NEVER), -EPERM);
    run_virtual(1, 0, misuses, NULL);
}

/* ---- the group is cancelled while a new member is about to enter its list (U2 in group.c of the library) ---- */

static verge_group *group_to_cancel;

static void cancel_at_join(const char *step) {
    if (is_step(step, "group: join")) {
        CHECK_EQUAL(verge_group_cancel(group_to_cancel), 0);
    }
}

static intptr_t is_cancelled_while_it_spawns(void *argument) {
    (void)argument;
    verge_group group;
    struct member member = {.duration_ns = HOUR};
    group_to_cancel = &group;
    CHECK_EQUAL(verge_group_begin(&group), 0);
    add(&group, &member);
    CHECK_EQUAL(verge_group_wait(&group, VERGE_NEVER), -ECANCELED);
    CHECK_EQUAL(member.slept, -ECANCELED);
    return 0;
}

static void who_joins_a_cancelled_group_is_cancelled(void **state) {
    (void)state;
    steps_begin(cancel_at_join);
    assert_int_equal(run_virtual(1, 0, is_cancelled_while_it_spawns, NULL), 0);
    steps_end();
}

/* ---- from another thread ---- */

static _Atomic bool is_open;
static verge_group shared_group;

static void *cancels_from_outside(void *argument) {
    (void)argument;
    while (!atomic_load(&is_open)) {
        (void)sched_yield();
    }
    CHECK_EQUAL(verge_group_cancel(&shared_group), 0);
    return NULL;
}

static intptr_t is_cancelled_from_outside(void *argument) {
    (void)argument;
    struct member members[3] = {{.duration_ns = HOUR}, {.duration_ns = HOUR}, {.duration_ns = HOUR}};
    CHECK_EQUAL(verge_group_begin(&shared_group), 0);
    verge_spawn_options options;
    CHECK_EQUAL(verge_spawn_options_init(&options, sizeof(options)), 0);
    options.function = member_main;
    options.group = &shared_group;
    for (uint32_t i = 0; i < 3; i++) {
        options.argument = &members[i];
        options.worker_id = i;
        CHECK_EQUAL(verge_spawn_with(&options, NULL), 0);
    }
    atomic_store(&is_open, true);
    CHECK_EQUAL(verge_group_wait(&shared_group, VERGE_NEVER), -ECANCELED);
    CHECK_EQUAL(members[2].slept, -ECANCELED);
    return 0;
}

static void any_thread_cancels(void **state) {
    (void)state;
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, cancels_from_outside, NULL), 0);
    run_tasks(3, is_cancelled_from_outside, NULL);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* ---- random trees ---- */

enum { CHILDREN_MAX = 3, DEPTH_MAX = 3 };

struct node {
    struct verge_test_random random;
    int depth;
    bool is_virtual;
    _Atomic int alive;       /* how many members of this node's group have not ended */
    _Atomic int first_error; /* the first error that a member has returned; 0: none yet */
    struct node *parent;
};

static _Atomic uint64_t failed_groups, whole_groups;

static intptr_t node_main(void *argument);

/* Begins a group, and spawns and awaits its members. The child nodes are local variables here: they are valid until the
 * wait returns. */
static intptr_t with_group(struct node *node) {
    struct node children[CHILDREN_MAX];
    verge_group group;
    CHECK_EQUAL(verge_group_begin(&group), 0);
    const size_t count = verge_test_below(&node->random, CHILDREN_MAX + 1);
    const uint64_t deadline_ns = verge_now() + verge_test_below(&node->random, 4) * 10 * US;
    const bool is_bounded = verge_test_below(&node->random, 3) == 0;
    for (size_t i = 0; i < count; i++) {
        children[i] = (struct node){.random = verge_test_random_from(verge_test_next(&node->random)),
                                    .depth = node->depth + 1,
                                    .parent = node,
                                    .is_virtual = node->is_virtual};
        verge_spawn_options options;
        CHECK_EQUAL(verge_spawn_options_init(&options, sizeof(options)), 0);
        options.function = node_main;
        options.argument = &children[i];
        options.worker_id = VERGE_WORKER_ANY;
        options.group = &group;
        atomic_fetch_add(&node->alive, 1);
        const int error = verge_spawn_with(&options, NULL);
        if (error != 0) {
            CHECK(error == -ECANCELED);
            atomic_fetch_sub(&node->alive, 1);
        }
    }
    const bool is_cancelled = verge_test_below(&node->random, 6) == 0;
    if (is_cancelled) {
        CHECK_EQUAL(verge_group_cancel(&group), 0);
    }
    const int error = is_bounded ? verge_group_wait(&group, deadline_ns) : verge_group_wait(&group, VERGE_NEVER);
    CHECK_EQUAL(atomic_load(&node->alive), 0); /* P1 */
    const int first_error = atomic_load(&node->first_error);
    CHECK(first_error == 0 || error != 0); /* P2 */
    if (!is_cancelled && !is_bounded && !verge_task_is_cancelled()) {
        CHECK(!node->is_virtual || error == first_error);
    } else if (error == -ETIMEDOUT && is_bounded) {
        CHECK(verge_now() >= deadline_ns || first_error == -ETIMEDOUT);
    }
    atomic_fetch_add(error != 0 ? &failed_groups : &whole_groups, 1);
    return error;
}

static intptr_t node_main(void *argument) {
    struct node *node = argument;
    intptr_t result = verge_sleep(verge_test_below(&node->random, 3) * 10 * US);
    if (result == 0 && node->depth < DEPTH_MAX && verge_test_below(&node->random, 2) == 0) {
        result = with_group(node);
    }
    if (result == 0 && verge_test_below(&node->random, 8) == 0) {
        result = -EIO;
    }
    int none = 0;
    if (result != 0) {
        (void)atomic_compare_exchange_strong(&node->parent->first_error, &none, (int)result);
    }
    atomic_fetch_sub(&node->parent->alive, 1);
    return result;
}

static intptr_t grows_trees(void *argument) {
    struct node *roots = argument;
    for (size_t i = 0; i < (size_t)(roots->is_virtual ? fewer_under_tsan(3000) : 300); i++) {
        struct node root = {.random = verge_test_random_from(verge_test_next(&roots->random)),
                            .is_virtual = roots->is_virtual};
        (void)with_group(&root);
    }
    return 0;
}

static void trees_of_groups_end(void **state) {
    (void)state;
    const uint64_t seed = verge_test_seed(1);
    for (uint32_t workers = 1; workers <= 3; workers++) {
        struct node roots = {.random = verge_test_random_from(seed + workers), .is_virtual = true};
        run_virtual(workers, 0, grows_trees, &roots);
    }
    assert_true(failed_groups > 1000 / (VERGE__TSAN ? 10 : 1) && whole_groups > 1000 / (VERGE__TSAN ? 10 : 1));
    struct node roots = {.random = verge_test_random_from(seed)};
    run_tasks(3, grows_trees, &roots);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(p1_waits_for_all),           cmocka_unit_test(p2_the_first_error_cancels_the_rest),
        cmocka_unit_test(p3_deadlines_are_inherited), cmocka_unit_test(p3_cancellation_goes_down),
        cmocka_unit_test(misuse_changes_nothing),     cmocka_unit_test(who_joins_a_cancelled_group_is_cancelled),
        cmocka_unit_test(any_thread_cancels),         cmocka_unit_test(trees_of_groups_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

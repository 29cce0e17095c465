/* SPDX-License-Identifier: MIT */
/* Troubles that scope finds in a service: leaks, stuck workers, and who makes timers late. */
#include "scope/viewed.h"

/* ---- leaks, and stuck workers ---- */

/* A leak whose label is at two addresses, one after the other. */
static void a_leak_is_found_by_its_name(void **state) {
    (void)state;
    struct stepped stepped;
    verge_worker *worker = NULL;
    static const char first[] = "a leak", second[] = "a leak";
    begin(&stepped, &worker);
    look();
    for (int i = 0; i < 4 * 60; i++) {
        assert_int_equal(start(&stepped, i / 40 % 2 == 0 ? first : second, HOUR, 0, NULL), 0);
        look();
    }
    assert_true(verge__view_is_leak(&view, find("a leak")));
    assert_about(verge__growth_rate(&find("a leak")->growth), 4, 0.1);
    assert_false(find("a leak")->has_ended);
    assert_int_equal(find("a leak")->pending, 4 * 60);
    assert_true(find("a leak")->oldest_s >= 58);
    end(&stepped, worker);
}

/* More and more timers wait because their worker is stuck. This is no leak. */
static void what_waits_for_a_worker_is_no_leak(void **state) {
    (void)state;
    static verge__troubles troubles;
    static verge_scope scope;
    struct stepped stepped;
    verge_worker *worker = NULL;
    begin(&stepped, &worker);
    look();
    for (int i = 0; i < 4 * 60; i++) {
        for (int k = 0; k < 5; k++) {
            assert_int_equal(start(&stepped, "a queue", 10 * MS, 0, NULL), 0);
        }
        assert_int_equal(start(&stepped, "a leak", HOUR, 0, NULL), 0);
        verge_manual_clock_advance(&stepped.clock, SECOND / 4);
        look();
    }
    assert_int_equal(find("a queue")->pending, 4 * 60 * 5);
    assert_int_equal(find("a queue")->overdue, 4 * 59 * 5);
    assert_int_equal(find("a queue")->overdue_on, 1);
    assert_false(verge__view_is_leak(&view, find("a queue")));
    assert_true(verge__view_is_leak(&view, find("a leak")));
    scope.views[VERGE__VIEW_SERVICE] = &view;
    troubles = (verge__troubles){.count = 0};
    verge__troubles_find(&scope, now_ns, &troubles);
    assert_int_equal(troubles.count, 2);
    assert_string_equal(troubles.list[1].text, "1,180 overdue: a queue");
    end(&stepped, worker);
}

/* Of "returns", as many timers end as stay. So this leak is noticed later, and is listed after the leak of which no
 * timer ends. */
static void the_worst_leak_is_told_first(void **state) {
    (void)state;
    static verge__troubles troubles;
    static verge_scope scope;
    struct stepped stepped;
    verge_worker *worker = NULL;
    begin(&stepped, &worker);
    look();
    for (int i = 0; i < 4 * 150; i++) {
        verge__view_poke(&view);
        assert_int_equal(start(&stepped, "returns", HOUR, 0, NULL), 0);
        assert_int_equal(start(&stepped, "returns", 10 * MS, 0, NULL), 0);
        assert_int_equal(start(&stepped, "stays", HOUR, 0, NULL), 0);
        verge_manual_clock_advance(&stepped.clock, SECOND / 4);
        (void)verge_worker_run_once(worker, 0);
        look();
        assert_false(i < 4 * 100 && verge__view_is_leak(&view, find("returns")));
    }
    scope.views[VERGE__VIEW_SERVICE] = &view;
    troubles = (verge__troubles){.count = 0};
    verge__troubles_find(&scope, now_ns, &troubles);
    assert_true(troubles.count >= 2);
    assert_string_equal(troubles.list[0].text, "stays only grows: +4.0/s, none ended");
    assert_string_equal(troubles.list[1].text, "returns grows by 4.0/s, though 4.0/s end");
    end(&stepped, worker);
}

static void get_stuck(const verge_firing *firing) { /* takes four seconds, with a look at each quarter of a second */
    static verge_scope scope = {.views[VERGE__VIEW_SERVICE] = &view};
    int told_at = 0;
    (void)firing;
    for (int i = 1; i <= 16; i++) {
        verge__troubles troubles = {.count = 0};
        look();
        verge__troubles_find(&scope, now_ns, &troubles);
        if (troubles.count > 0 && told_at == 0) {
            assert_int_equal(troubles.list[0].kind, VERGE__TROUBLE_STUCK);
            told_at = i;
        }
    }
    assert_in_range(told_at, 5, 8); /* after more than one second, and within two */
    assert_non_null(verge__stuck_now(&view.stuck, 1));
    assert_string_equal(verge__stuck_now(&view.stuck, 1)->name, "get_stuck");
    assert_int_equal(verge__stuck_count(&view.stuck), 1);
    const double cores = find("get_stuck")->time_ns.now / (double)SECOND;
    assert_true(cores > 0.9 && cores <= 1.01); /* the time of one worker is that of one core */
}

static void who_was_stuck_is_kept(void **state) {
    (void)state;
    struct stepped stepped;
    verge_worker *worker = NULL;
    begin(&stepped, &worker);
    look();
    assert_int_equal(verge_service_start(stepped.service, stepped.clock.now_ns, get_stuck, NULL, NULL), 0);
    verge_manual_clock_advance(&stepped.clock, SECOND);
    assert_int_equal(verge_worker_run_once(worker, 0), 1);
    look();
    assert_null(verge__stuck_now(&view.stuck, 1));
    assert_int_equal(view.stuck.event_count, 1);
    const verge__stuck_event *event = &view.stuck.events[1];
    assert_int_equal(event->worker, 1);
    assert_in_range(event->until_ns - event->since_ns, 3 * SECOND, 5 * SECOND);
    end(&stepped, worker);
}

/* A callback that was not running at the last look: its time counts from the next look on, even if a second is noted
 * before that look. */
static void begin_between_looks(const verge_firing *firing) {
    (void)firing;
    verge__view_note_second(&view, now_ns / SECOND + 1, now_ns + SECOND / 4);
    look();
    assert_true(find("begin_between_looks")->time_ns.past == 0);
    look();
    assert_true(find("begin_between_looks")->time_ns.past == (double)SECOND / 4);
    assert_true(view.seats[1]->recent[find("begin_between_looks")->stands_for].time_ns == (float)SECOND / 4);
}

static void time_in_a_callback_is_counted_once(void **state) {
    (void)state;
    struct stepped stepped;
    verge_worker *worker = NULL;
    begin(&stepped, &worker);
    look();
    look();
    assert_int_equal(verge_service_start(stepped.service, stepped.clock.now_ns, begin_between_looks, NULL, NULL), 0);
    verge_manual_clock_advance(&stepped.clock, SECOND);
    assert_int_equal(verge_worker_run_once(worker, 0), 1);
    end(&stepped, worker);
}

/* ---- why timers are late ---- */

static struct stepped *stage;

static void work_for_long(const verge_firing *firing) {
    (void)firing;
    verge_manual_clock_advance(&stage->clock, 300 * MS);
}

static void work_for_a_moment(const verge_firing *firing) {
    (void)firing;
    verge_manual_clock_advance(&stage->clock, 90 * MS);
}

/* Every half second, `callback` runs before the callbacks of "ledger" and "invoice". In between, the worker gets no
 * core for `away_ns`. Returns the troubles that scope reports. */
static const verge__troubles *tell_why(verge_callback callback, uint64_t away_ns) {
    static verge__troubles troubles;
    static verge_scope scope;
    struct stepped stepped;
    verge_worker *worker = NULL;
    stage = &stepped;
    begin(&stepped, &worker);
    look();
    for (int i = 0; i < 20; i++) {
        verge_start_options options = {.struct_size = sizeof(options)};
        options.callback = callback;
        options.label = "export";
        options.deadline_ns = stepped.clock.now_ns + 10 * MS;
        verge__view_poke(&view);
        assert_int_equal(verge_service_start_with(stepped.service, &options, NULL), 0);
        assert_int_equal(start(&stepped, "ledger", 15 * MS, 0, NULL), 0);
        assert_int_equal(start(&stepped, "invoice", 15 * MS, 0, NULL), 0);
        verge_manual_clock_advance(&stepped.clock, 12 * MS);
        assert_int_equal(verge_worker_run_once(worker, 0), 1);
        verge_manual_clock_advance(&stepped.clock, 20 * MS + away_ns);
        assert_int_equal(verge_worker_run_once(worker, 0), 2);
        for (int k = 0; k < 2; k++) {
            look();
        }
    }
    scope.views[VERGE__VIEW_SERVICE] = &view;
    troubles = (verge__troubles){.count = 0};
    verge__troubles_find(&scope, now_ns, &troubles);
    end(&stepped, worker);
    return &troubles;
}

static void who_makes_others_late_is_named(void **state) {
    (void)state;
    const verge__troubles *troubles = tell_why(work_for_long, 0);
    assert_int_equal(troubles->count, 1);
    print_message("%s\n", troubles->list[0].text);
    assert_non_null(strstr(troubles->list[0].text, "late by up to 336 ms: "));
    assert_true(strstr(troubles->list[0].text, ": ledger, invoice (worker 1 was ") != NULL ||
                strstr(troubles->list[0].text, ": invoice, ledger (worker 1 was ") != NULL);
    assert_non_null(strstr(troubles->list[0].text, " % busy with export)"));
    assert_true(troubles->list[0].has_culprit);
}

static void who_takes_little_time_is_not_blamed(void **state) {
    (void)state;
    const verge__troubles *troubles = tell_why(work_for_a_moment, 400 * MS);
    assert_int_equal(troubles->count, 2); /* one for each source, as the reasons may differ */
    for (size_t i = 0; i < troubles->count; i++) {
        assert_int_equal(troubles->list[i].kind, VERGE__TROUBLE_LATE);
        assert_null(strstr(troubles->list[i].text, "worker"));
        assert_false(troubles->list[i].has_culprit);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leak_is_found_by_its_name),         cmocka_unit_test(what_waits_for_a_worker_is_no_leak),
        cmocka_unit_test(the_worst_leak_is_told_first),        cmocka_unit_test(who_was_stuck_is_kept),
        cmocka_unit_test(time_in_a_callback_is_counted_once),  cmocka_unit_test(who_makes_others_late_is_named),
        cmocka_unit_test(who_takes_little_time_is_not_blamed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/*
 * Who started the timers: what scope shows of a service that the test steps, compared with the test's own count (V5).
 * While nobody looks, nothing is counted (V4).
 */
#include "scope/viewed.h"

enum { LABEL_COUNT = 6, TIMER_COUNT = 3000 };

static const char *const labels[LABEL_COUNT] = {NULL, "one", "two", "<b>", "drei", "\xff"};

/* ---- pending, by the walk ---- */

struct model_timer {
    verge_timer timer;
    uint64_t deadline_ns;
    unsigned label;
    bool is_pending;
};

static void what_is_pending_is_counted_one_by_one(void **state) {
    (void)state;
    struct stepped stepped;
    static struct model_timer timers[TIMER_COUNT];
    verge_worker *worker = NULL;
    struct verge_test_random random = verge_test_random_from(verge_test_seed(23));
    begin(&stepped, &worker);
    memset(timers, 0, sizeof(timers));
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < 400; i++) {
            struct model_timer *model = &timers[verge_test_below(&random, TIMER_COUNT)];
            const uint64_t delay_ns = HOUR + verge_test_magnitude(&random) % (1000 * HOUR);
            if (!model->is_pending) {
                model->label = (unsigned)verge_test_below(&random, LABEL_COUNT);
                model->deadline_ns = stepped.clock.now_ns + delay_ns;
                const uint64_t period_ns = verge_test_chance(&random, 5) ? SECOND : 0;
                assert_int_equal(start(&stepped, labels[model->label], delay_ns, period_ns, &model->timer), 0);
                model->is_pending = true;
            } else if (verge_test_chance(&random, 2)) {
                assert_int_equal(verge_service_cancel(stepped.service, model->timer), 0);
                model->is_pending = false;
            } else {
                model->deadline_ns = stepped.clock.now_ns + delay_ns;
                assert_int_equal(verge_service_reset(stepped.service, model->timer, model->deadline_ns), 0);
            }
        }
        (void)verge_worker_run_once(worker, 0);
        look();
        uint64_t counts[LABEL_COUNT] = {0}, coming[VERGE__COMING_BUCKETS] = {0};
        for (size_t i = 0; i < TIMER_COUNT; i++) {
            if (timers[i].is_pending) {
                const uint64_t ahead_ns = timers[i].deadline_ns - stepped.clock.now_ns;
                size_t bucket = 1;
                while (bucket < VERGE__COMING_BUCKETS - 1 && ahead_ns > verge__coming_bounds[bucket - 1]) {
                    bucket++;
                }
                coming[bucket]++;
                counts[timers[i].label]++;
            }
        }
        assert_int_equal(pending("ring"), counts[0]);
        for (size_t i = 1; i < LABEL_COUNT; i++) {
            assert_int_equal(pending(labels[i]), counts[i]);
        }
        assert_memory_equal(view.walk.last.coming, coming, sizeof(coming));
    }
    end(&stepped, worker);
}

static void an_age_is_how_long_it_was_seen(void **state) {
    (void)state;
    struct stepped stepped;
    verge_worker *worker = NULL;
    verge_timer early = 0, late = 0;
    begin(&stepped, &worker);
    assert_int_equal(start(&stepped, "early", HOUR, 0, &early), 0);
    look();
    assert_int_equal(start(&stepped, "late", HOUR, 0, &late), 0);
    look();
    now_ns += 30 * SECOND;
    look();
    const uint32_t first = (uint32_t)(find("early") - view.sources), second = (uint32_t)(find("late") - view.sources);
    assert_true(view.walk.last.is_older[first]); /* it was there before anybody looked */
    assert_in_range(view.walk.last.oldest_quarters[first], 120, 122);
    assert_in_range(view.walk.last.oldest_quarters[second], 120, 121);
    /* The record is used again, for another timer. */
    assert_int_equal(verge_service_cancel(stepped.service, late), 0);
    assert_int_equal(start(&stepped, "late", HOUR, 0, &late), 0);
    look();
    assert_int_equal(view.walk.last.oldest_quarters[second], 0);
    assert_false(view.walk.last.is_older[second]);
    end(&stepped, worker);
}

/* ---- labels ---- */

static void one_text_is_one_source(void **state) {
    (void)state;
    struct stepped stepped;
    verge_worker *worker = NULL;
    static const char first[] = "the same", second[] = "the same";
    begin(&stepped, &worker);
    assert_ptr_not_equal(first, second);
    assert_int_equal(start(&stepped, first, HOUR, 0, NULL), 0);
    assert_int_equal(start(&stepped, second, HOUR, 0, NULL), 0);
    look();
    assert_int_equal(pending("the same"), 2);
    end(&stepped, worker);
}

static void with_a_label_a_timer_is_what_it_was(void **state) {
    (void)state;
    struct stepped stepped;
    verge_worker *worker = NULL;
    verge_timer once = 0, periodic = 0, longest = 0;
    verge_timer_info info;
    begin(&stepped, &worker);
    assert_int_equal(start(&stepped, "once", 10 * MS, 0, &once), 0);
    assert_int_equal(start(&stepped, "periodic", 10 * MS, 10 * MS, &periodic), 0);
    assert_int_equal(start(&stepped, NULL, 10 * MS, UINT64_MAX, &longest), 0);
    assert_int_equal(verge_service_get(stepped.service, once, &info), 0);
    assert_int_equal(info.period_ns, 0);
    assert_int_equal(verge_service_get(stepped.service, periodic, &info), 0);
    assert_int_equal(info.period_ns, 10 * MS);
    verge_manual_clock_advance(&stepped.clock, 12 * MS);
    assert_int_equal(verge_worker_run_once(worker, 0), 3);
    assert_int_equal(verge_service_get(stepped.service, once, &info), -ENOENT);
    /* `longest` has ended, as its second tick would be beyond the end of time. */
    assert_int_equal(verge_service_get(stepped.service, longest, &info), -ENOENT);
    assert_int_equal(verge_service_get(stepped.service, periodic, &info), 0);
    /* A labelled timer that runs once can be reset like any other one. Here it is reset before it runs. */
    assert_int_equal(start(&stepped, "once", 10 * MS, 0, &once), 0);
    assert_int_equal(verge_service_reset(stepped.service, once, stepped.clock.now_ns + HOUR), 0);
    verge_manual_clock_advance(&stepped.clock, 12 * MS);
    assert_int_equal(verge_worker_run_once(worker, 0), 1);
    assert_int_equal(verge_service_get(stepped.service, once, &info), 0);
    end(&stepped, worker);
}

static void more_sources_than_there_is_room_for(void **state) {
    (void)state;
    enum { MANY = 2000 };
    static char names[MANY][16];
    struct stepped stepped;
    verge_worker *worker = NULL;
    begin(&stepped, &worker);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "label %d", i);
        assert_int_equal(start(&stepped, names[i], HOUR, 0, NULL), 0);
    }
    look();
    uint64_t all = 0;
    for (uint32_t i = 0; i < VERGE__SOURCE_COUNT; i++) {
        all += view.walk.last.pending[i];
    }
    assert_int_equal(all, MANY); /* none is lost: sources without a place are counted as others */
    assert_true(pending("(others)") >= MANY - VERGE__SOURCE_COUNT);
    end(&stepped, worker);
}

/* A label that is not used any more makes room for another one; one that is used again keeps its place. */
static void sources_that_are_not_used_make_room(void **state) {
    (void)state;
    enum { MANY = 3 * VERGE__SOURCE_COUNT, AT_ONCE = 300 };
    static char names[MANY][16];
    verge_timer timers[AT_ONCE];
    struct stepped stepped;
    verge_worker *worker = NULL;
    begin(&stepped, &worker);
    assert_int_equal(start(&stepped, "stays", HOUR, 0, NULL), 0);
    for (int first = 0; first + AT_ONCE <= MANY; first += AT_ONCE) {
        for (int i = 0; i < AT_ONCE; i++) {
            (void)snprintf(names[first + i], sizeof(names[first + i]), "label %d", first + i);
            assert_int_equal(start(&stepped, names[first + i], HOUR, 0, &timers[i]), 0);
        }
        look();
        for (int i = 0; i < AT_ONCE; i++) {
            assert_int_equal(pending(names[first + i]), 1); /* under its own name, after however many sources */
            assert_int_equal(verge_service_cancel(stepped.service, timers[i]), 0);
        }
        assert_int_equal(pending("stays"), 1);
        for (int second = 0; second < 70; second++) {
            now_ns += SECOND;
            look();
        }
        assert_null(find(names[first]));
    }
    /* A source is marked as leaving, and is used again at the last moment. */
    verge_timer timer = 0;
    assert_int_equal(start(&stepped, "again", HOUR, 0, &timer), 0);
    look();
    assert_int_equal(verge_service_cancel(stepped.service, timer), 0);
    while (find("again") != NULL && !find("again")->is_leaving) {
        look();
    }
    const verge__source_view *before = find("again");
    assert_int_equal(start(&stepped, "again", HOUR, 0, &timer), 0);
    for (int i = 0; i < 400; i++) {
        look();
    }
    assert_int_equal(pending("again"), 1);
    assert_ptr_equal(find("again"), before);
    end(&stepped, worker);
}

/* ---- what happened, by samples ---- */

/* Acts and looks four times a second, for so many seconds. After that, the figures per second are right. */
static void look_for_seconds(struct stepped *stepped, verge_worker *worker, void (*act)(struct stepped *),
                             int seconds) {
    for (int i = 0; i < 4 * seconds; i++) {
        act(stepped);
        verge_manual_clock_advance(&stepped->clock, SECOND / 4);
        while (step(worker) > 0) {
        }
        look();
    }
}

static void act_in_two_ways(struct stepped *stepped) {
    verge_timer timer = 0;
    for (unsigned i = 0; i < start_count; i++) { /* three starts of "one" for each start of "ring" */
        maybe_poke();
        if (i % 4 == 0) {
            assert_int_equal(verge_service_start(stepped->service, stepped->clock.now_ns, ring, NULL, &timer), 0);
        } else {
            assert_int_equal(start(stepped, "one", 0, 0, &timer), 0);
        }
    }
    for (unsigned i = 0; i < cancel_count; i++) {
        maybe_poke();
        assert_int_equal(verge_service_start(stepped->service, stepped->clock.now_ns + HOUR, ring, NULL, &timer), 0);
        assert_int_equal(verge_service_cancel(stepped->service, timer), 0);
    }
}

/* At the smallest scale, there are so few events that each is counted; at the largest, there are far more than are
 * counted. The figures are means over ten seconds, because figures from samples vary. */
static void figures_add_up(void **state) {
    (void)state;
    static const unsigned scales[] = {1, 20, 400};
    moments = verge_test_random_from(verge_test_seed(5));
    for (size_t i = 0; i < COUNT_OF(scales); i++) {
        const double seconds = 10;
        struct stepped stepped;
        verge_worker *worker = NULL;
        double started = 0, ended = 0, cancelled = 0, others_cancelled = 0, all = 0;
        begin(&stepped, &worker);
        start_count = 40 * scales[i];
        cancel_count = 12 * scales[i];
        until_poke = 0;
        look();
        (void)verge_worker_run_once(worker, 0);
        look_for_seconds(&stepped, worker, act_in_two_ways, 20);
        const verge__source_view *one = find("one"), *other = find("ring");
        assert_non_null(one);
        assert_non_null(other);
        for (int second = 0; second < (int)seconds; second++) {
            look_for_seconds(&stepped, worker, act_in_two_ways, 1);
            started += one->started.now / seconds;
            ended += one->ended.now / seconds;
            cancelled += one->cancelled.now / seconds;
            others_cancelled += other->cancelled.now / seconds;
            all += (one->started.now + other->started.now) / seconds;
        }
        const double tolerance = scales[i] == 1 ? 0.001 : 0.15;
        const double quarters = 4.0 * scales[i];
        assert_about(started, 30 * quarters, tolerance);
        assert_about(ended, 30 * quarters, tolerance);
        assert_about(cancelled, 0, tolerance);
        assert_about(others_cancelled, 12 * quarters, tolerance);
        assert_about(all, 52 * quarters, 0.02);
        assert_about(view.started, 52 * quarters, 0.02);
        /* All timers were a quarter of a second late. */
        assert_in_range(verge__view_lateness(one, 0.5, 1), SECOND / 4, SECOND / 2);
        end(&stepped, worker);
    }
}

/* One of 2,000 starts of a flood is of a rare source. The rate of this source is a guess with bounds. In 19 of 20
 * cases, the true rate is between the bounds. The test allows that it is outside in 1 of 5 cases. */
static unsigned flood_turn;

static void flood(struct stepped *stepped) {
    verge_timer timer = 0;
    for (unsigned i = 0; i < start_count; i++) {
        maybe_poke();
        assert_int_equal(start(stepped, i % 2000 == flood_turn % 2000 ? "rare" : "one", HOUR, 0, &timer), 0);
        assert_int_equal(verge_service_cancel(stepped->service, timer), 0);
    }
    flood_turn += 777;
}

static void rates_of_rare_sources_have_bounds(void **state) {
    (void)state;
    struct stepped stepped;
    verge_worker *worker = NULL;
    unsigned outside = 0, looks = 0;
    moments = verge_test_random_from(verge_test_seed(7));
    begin(&stepped, &worker);
    start_count = 40000;
    cancel_count = 0;
    until_poke = 0;
    look();
    (void)verge_worker_run_once(worker, 0);
    look_for_seconds(&stepped, worker, flood, 10);
    for (; looks < 60; looks++) {
        double low = 0, high = 0;
        look_for_seconds(&stepped, worker, flood, 1);
        const double frequent = verge__view_rate(&view, &find("one")->started, &low, &high);
        assert_about(frequent, 4.0 * start_count, 0.05);
        assert_true(low > 0.9 * frequent && high < 1.1 * frequent); /* the frequent rate is known well */
        const double rare = find("rare") == NULL ? 0 : verge__view_rate(&view, &find("rare")->started, &low, &high);
        const double truth = 4.0 * start_count / 2000;
        assert_true(low <= rare && rare <= high);
        assert_true(high > 1.2 * rare || rare == 0); /* the rare rate is not known well */
        outside += truth < low || truth > high;
    }
    print_message("%u of %u bounds did not have the truth\n", outside, looks);
    assert_true(outside <= looks / 5);
    /* Without a flood, each start is counted, and the rates are exact. */
    start_count = 10;
    until_poke = 0;
    look_for_seconds(&stepped, worker, flood, 60);
    double low = 0, high = 0;
    assert_about(verge__view_rate(&view, &find("one")->started, &low, &high), 40, 0.1);
    assert_true(low == high);
    end(&stepped, worker);
}

/* ---- a source in detail ---- */

static void the_timers_of_a_source(void **state) {
    (void)state;
    struct stepped stepped;
    verge_worker *worker = NULL;
    verge_timer timers[40];
    begin(&stepped, &worker);
    for (unsigned i = 0; i < COUNT_OF(timers); i++) {
        assert_int_equal(start(&stepped, i < 5 ? "few" : "many", HOUR + i * MS, i == 0 ? SECOND : 0, &timers[i]), 0);
    }
    look();
    const uint32_t few = find("few")->stands_for, many = find("many")->stands_for;
    assert_true(verge__view_want_detail(&view, few, now_ns));
    assert_true(verge__view_want_detail(&view, many, now_ns));
    assert_null(verge__view_detail(&view, few));
    look();
    look();
    const verge__detail *detail = verge__view_detail(&view, few);
    assert_non_null(detail);
    assert_int_equal(detail->count, 5);
    for (unsigned i = 0; i < 5; i++) {
        const verge__seen_timer *timer = &detail->timers[i].seen;
        unsigned k = 0;
        while (timers[k] != timer->timer) {
            k++;
        }
        assert_true(k < 5);
        assert_int_equal(timer->deadline_ns, stepped.clock.now_ns + HOUR + k * MS);
        assert_int_equal(timer->period_ns, k == 0 ? SECOND : 0);
        assert_int_equal(timer->worker, 1);
    }
    assert_int_equal(verge__view_detail(&view, many)->count, 35);
    assert_int_equal(verge__view_detail(&view, many)->coming[9], 35);
    for (uint32_t i = 0; i < VERGE__DETAILS_MAX - 2; i++) {
        assert_true(verge__view_want_detail(&view, 500 + i, now_ns));
    }
    assert_false(verge__view_want_detail(&view, 700, now_ns)); /* too many at one time */
    now_ns += 10 * SECOND;
    look();
    assert_null(verge__view_detail(&view, few)); /* nobody has asked for a while */
    assert_true(verge__view_want_detail(&view, 700, now_ns));
    end(&stepped, worker);
}

static uint64_t samples_taken(const verge_worker *worker) {
    uint64_t count = 0;
    const verge__samples *samples = worker->shown.samples;
    for (uint32_t i = 0; samples != NULL && i < VERGE__SOURCE_COUNT; i++) {
        const verge__source_samples *of = i == VERGE__SOURCE_OTHERS ? &samples->others : samples->of[i];
        count += of == NULL ? 0 : of->started + of->cancelled + of->fired;
    }
    return count;
}

static void nothing_is_counted_while_nobody_looks(void **state) {
    (void)state;
    struct stepped stepped;
    verge_worker *worker = NULL;
    begin(&stepped, &worker);
    moments = verge_test_random_from(verge_test_seed(6));
    start_count = 50;
    cancel_count = 5000;
    act_in_two_ways(&stepped); /* a poke has no effect before a look */
    (void)verge_worker_run_once(worker, 0);
    assert_null(worker->shown.samples);
    assert_int_equal(worker->short_way_service, (uintptr_t)stepped.service);
    look();
    (void)verge_worker_run_once(worker, 0);
    act_in_two_ways(&stepped);
    look(); /* now the view knows the sources */
    until_poke = 0;
    act_in_two_ways(&stepped);
    assert_true(samples_taken(worker) >= UINT64_C(2) * VERGE__EVENTS_A_POKE);
    until_poke = UINT32_MAX;
    act_in_two_ways(&stepped);
    /* Enough samples were taken, so the short ways are used again. */
    assert_int_equal(worker->short_way_service, (uintptr_t)stepped.service);
    assert_int_equal(worker->short_way_service_with_cas,
                     (uintptr_t)(worker->machine_has_cas ? (const void *)stepped.service : worker));
    verge__view_look_away(&view);
    const uint64_t taken = samples_taken(worker);
    act_in_two_ways(&stepped);
    verge__view_poke(&view);
    act_in_two_ways(&stepped);
    assert_int_equal(samples_taken(worker), taken);
    end(&stepped, worker);
}

static bool is_awake(const struct stepped *stepped, const verge_worker *worker) {
    verge__worker_figures figures;
    verge__worker_look_at(stepped->service, worker->id, &figures);
    return figures.is_awake;
}

/* Later looks leave the worker asleep, unless nobody has looked for a while. */
static void a_first_look_wakes_a_worker(void **state) {
    (void)state;
    struct stepped stepped;
    verge_worker *worker = NULL;
    begin(&stepped, &worker);
    for (int i = 0; i < 2; i++) {
        assert_true(is_awake(&stepped, worker));
        assert_true(verge_worker_begin_wait(worker) > 0);
        assert_false(is_awake(&stepped, worker));
        look();
        assert_true(is_awake(&stepped, worker));
        verge_worker_end_wait(worker);
        (void)verge_worker_run_once(worker, 0);
        assert_true(verge_worker_begin_wait(worker) > 0);
        look();
        assert_false(is_awake(&stepped, worker));
        verge_worker_end_wait(worker);
        verge__view_look_away(&view);
        (void)verge_worker_run_once(worker, 0);
    }
    end(&stepped, worker);
}

static void buckets_of_lateness(void **state) {
    (void)state;
    uint64_t last = 0;
    for (uint32_t i = 0; i < VERGE__LATE_BUCKET_COUNT - 1; i++) {
        const uint64_t bound_ns = verge__late_bound(i);
        assert_int_equal(verge__late_bucket(bound_ns), i);
        assert_int_equal(verge__late_bucket(bound_ns + 1), i + 1);
        assert_true(i == 0 || bound_ns <= last + last / 4 + 1);
        last = bound_ns;
    }
    assert_true(last >= 3600 * SECOND); /* lateness of up to an hour has a bucket */
    assert_int_equal(verge__late_bucket(0), 0);
    assert_int_equal(verge__late_bucket(UINT64_MAX), VERGE__LATE_BUCKET_COUNT - 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_pending_is_counted_one_by_one),
        cmocka_unit_test(an_age_is_how_long_it_was_seen),
        cmocka_unit_test(one_text_is_one_source),
        cmocka_unit_test(with_a_label_a_timer_is_what_it_was),
        cmocka_unit_test(more_sources_than_there_is_room_for),
        cmocka_unit_test(sources_that_are_not_used_make_room),
        cmocka_unit_test(figures_add_up),
        cmocka_unit_test(rates_of_rare_sources_have_bounds),
        cmocka_unit_test(the_timers_of_a_source),
        cmocka_unit_test(nothing_is_counted_while_nobody_looks),
        cmocka_unit_test(a_first_look_wakes_a_worker),
        cmocka_unit_test(buckets_of_lateness),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

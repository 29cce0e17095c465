/* SPDX-License-Identifier: MIT */
/*
 * A worker that is stuck in a callback is reported, and another worker runs its due timers. Some tests step the
 * workers: the callback itself moves the clock, ticks the metronome and steps the rescuer. Others use threads.
 */
#include "service/support.h"
#include "service/turn.h"

#define STUCK_AFTER (10 * TICK)

struct scene {
    struct stepped stepped;
    verge_worker *stuck;
    verge_worker *rescuer;
    verge_timer blocker;
    uint64_t blocked_since_ns;
    struct notes notes[8];
    verge_timer timers[8];
    void (*meanwhile)(struct scene *scene);
    bool has_blocked;
    uint32_t reports;
    verge_stuck last_report;
};

static void on_stuck(void *context, const verge_stuck *stuck) {
    struct scene *scene = context;
    scene->reports++;
    scene->last_report = *stuck;
}

static void block(const verge_firing *firing) {
    struct scene *scene = firing->argument;
    scene->blocker = firing->timer;
    scene->blocked_since_ns = firing->actual_ns;
    scene->has_blocked = true;
    scene->meanwhile(scene);
}

/* Ticks the metronome, and makes a pass of the rescuer. Returns how many callbacks ran. */
static int pass(struct scene *scene) {
    assert_int_equal(verge_service_tick(scene->stepped.service), 0);
    return step(scene->rescuer);
}

/* The same five times. */
static int passes(struct scene *scene) {
    int fired = 0;
    for (int i = 0; i < 5; i++) {
        fired += pass(scene);
    }
    return fired;
}

static verge_timer start_on_stuck(struct scene *scene, size_t number, uint64_t deadline_ns) {
    verge_start_options options = noted(&scene->notes[number], deadline_ns);
    options.worker_id = verge_worker_id(scene->stuck);
    scene->timers[number] = start_with(scene->stepped.service, &options);
    return scene->timers[number];
}

/* There are two workers. The first has a callback that calls `meanwhile`, and eight timers after it, a tick apart. */
static void play(struct scene *scene, void (*meanwhile)(struct scene *scene)) {
    verge_service_options options = stepped_options(&scene->stepped);
    options.stuck_after_ns = STUCK_AFTER;
    options.on_stuck = on_stuck;
    options.on_stuck_context = scene;
    stepped_create(&scene->stepped, &options);
    scene->meanwhile = meanwhile;
    scene->stuck = join_unbound(scene->stepped.service);
    scene->rescuer = join_unbound(scene->stepped.service);
    const uint64_t now_ns = now_of(&scene->stepped);
    verge_start_options blocker = {.struct_size = sizeof(blocker)};
    blocker.callback = block;
    blocker.argument = scene;
    blocker.deadline_ns = now_ns;
    blocker.worker_id = verge_worker_id(scene->stuck);
    for (size_t i = 0; i < COUNT_OF(scene->timers); i++) {
        (void)start_on_stuck(scene, i, now_ns + (i + 1) * TICK);
    }
    assert_int_equal(step(scene->stuck), 0);
    (void)start_with(scene->stepped.service, &blocker);
    assert_int_equal(step(scene->stuck), 1);
    assert_true(scene->has_blocked);
    /* Whatever `meanwhile` has done, no timer is left in the end. */
    advance(&scene->stepped, HOUR);
    for (int i = 0; i < 3; i++) {
        (void)step(scene->stuck);
        (void)pass(scene);
    }
    assert_int_equal(verge_service_count(scene->stepped.service, 0), 0);
    leave(scene->stuck);
    leave(scene->rescuer);
    stepped_end(&scene->stepped);
}

static void expect_each_once(const struct scene *scene) {
    for (size_t i = 0; i < COUNT_OF(scene->notes); i++) {
        assert_int_equal(scene->notes[i].fired, 1);
        assert_true(scene->notes[i].last.actual_ns >= scene->notes[i].last.scheduled_ns);
    }
}

/* ---- what is due is rescued ---- */

static void stay_for_long(struct scene *scene) {
    advance(&scene->stepped, STUCK_AFTER - 1);
    assert_int_equal(passes(scene), 0); /* the callback is not stuck yet, so none is rescued */
    assert_int_equal(scene->reports, 0);
    advance(&scene->stepped, 1);
    assert_int_equal(passes(scene), 8);
    expect_each_once(scene);
    for (size_t i = 0; i < COUNT_OF(scene->notes); i++) {
        assert_int_equal(scene->notes[i].worker_id, verge_worker_id(scene->rescuer));
        assert_int_equal(scene->notes[i].last.timer, scene->timers[i]);
    }
    assert_int_equal(stats_of(scene->stepped.service).rescued, 8);
}

static void what_is_due_is_run_by_another(void **state) {
    (void)state;
    struct scene scene = {0};
    play(&scene, stay_for_long);
    expect_each_once(&scene);
}

static void return_soon(struct scene *scene) {
    advance(&scene->stepped, STUCK_AFTER - 1);
    assert_int_equal(passes(scene), 0);
}

static void who_returns_in_time_keeps_its_own(void **state) {
    (void)state;
    struct scene scene = {0};
    play(&scene, return_soon);
    expect_each_once(&scene);
    assert_int_equal(scene.reports, 0);
    for (size_t i = 0; i < COUNT_OF(scene.notes); i++) {
        assert_int_equal(scene.notes[i].worker_id, 1); /* the stuck worker: it was the first to join */
    }
}

static void become_due_one_by_one(struct scene *scene) {
    assert_int_equal(verge_service_reset(scene->stepped.service, scene->timers[7], now_of(&scene->stepped) + HOUR), 0);
    advance(&scene->stepped, STUCK_AFTER);
    assert_int_equal(passes(scene), 7);
    assert_int_equal(scene->notes[7].fired, 0); /* not due, so it stays on the stuck worker */
    advance(&scene->stepped, HOUR);
    assert_int_equal(passes(scene), 1);
}

static void what_becomes_due_later_is_rescued_then(void **state) {
    (void)state;
    struct scene scene = {0};
    play(&scene, become_due_one_by_one);
    expect_each_once(&scene);
}

static void stay_for_a_pass(struct scene *scene) {
    advance(&scene->stepped, STUCK_AFTER);
    assert_int_equal(pass(scene), 8);
}

static void one_pass_is_enough(void **state) {
    (void)state;
    struct scene scene = {0};
    play(&scene, stay_for_a_pass);
}

/* A callback that blocks holds up no other timer: neither timers of later ticks, nor timers that came too late for
 * their ticks. */
static struct scene crowd;

static void block_if_first(const verge_firing *firing) {
    take_note(firing);
    if (crowd.has_blocked) {
        return;
    }
    crowd.has_blocked = true;
    (void)start_at(firing->service, 0, take_note, &crowd.notes[7]); /* would run in the next wave of the stuck worker */
    advance(&crowd.stepped, STUCK_AFTER);
    assert_int_equal(passes(&crowd), 7);
}

static void the_rest_of_a_batch_is_rescued(void **state) {
    (void)state;
    for (uint64_t late = 0; late <= 7; late++) {
        memset(&crowd, 0, sizeof(crowd));
        verge_service_options options = stepped_options(&crowd.stepped);
        options.stuck_after_ns = STUCK_AFTER;
        stepped_create(&crowd.stepped, &options);
        crowd.stuck = join_unbound(crowd.stepped.service);
        crowd.rescuer = join_unbound(crowd.stepped.service);
        for (uint64_t i = 0; i < 7; i++) {
            const uint64_t deadline_ns = i < late ? 1 + i : now_of(&crowd.stepped) + TICK * (1 + i % 2);
            (void)start_on_stuck(&crowd, i, deadline_ns);
        }
        verge_start_options blocker = noted(&crowd.notes[6], 0);
        assert_int_equal(verge_service_cancel(crowd.stepped.service, crowd.timers[6]), 0);
        blocker.callback = block_if_first;
        blocker.worker_id = verge_worker_id(crowd.stuck);
        (void)start_with(crowd.stepped.service, &blocker);
        advance(&crowd.stepped, 2 * TICK);
        (void)step(crowd.stuck);
        (void)step(crowd.stuck);
        assert_int_equal(verge_service_count(crowd.stepped.service, 0), 0);
        for (size_t i = 0; i < COUNT_OF(crowd.notes); i++) {
            assert_int_equal(crowd.notes[i].fired, 1);
        }
        leave(crowd.stuck);
        leave(crowd.rescuer);
        stepped_end(&crowd.stepped);
    }
}

/* ---- the report ---- */

static void be_reported(struct scene *scene) {
    advance(&scene->stepped, STUCK_AFTER);
    (void)passes(scene);
    assert_int_equal(scene->reports, 1);
    assert_int_equal(scene->last_report.worker_id, verge_worker_id(scene->stuck));
    assert_int_equal(scene->last_report.timer, scene->blocker);
    assert_ptr_equal(scene->last_report.callback, block);
    assert_int_equal(scene->last_report.since_ns, scene->blocked_since_ns);
    assert_true(scene->last_report.is_rescued);
    advance(&scene->stepped, HOUR);
    (void)passes(scene);
    assert_int_equal(scene->reports, 1); /* not a second time */
    assert_int_equal(stats_of(scene->stepped.service).stuck, 1);
}

static void who_is_stuck_is_reported_once_with_its_timer(void **state) {
    (void)state;
    struct scene scene = {0};
    play(&scene, be_reported);
    assert_int_equal(scene.reports, 1);
}

static void be_alone(struct scene *scene) {
    leave(scene->rescuer);
    advance(&scene->stepped, STUCK_AFTER);
    assert_int_equal(verge_service_tick(scene->stepped.service), 0);
    assert_int_equal(scene->reports, 1);
    assert_false(scene->last_report.is_rescued);
    scene->rescuer = join_unbound(scene->stepped.service);
    assert_int_equal(passes(scene), 8); /* a worker that joins later rescues them */
}

static void without_another_worker_it_is_reported_at_least(void **state) {
    (void)state;
    struct scene scene = {0};
    play(&scene, be_alone);
    expect_each_once(&scene);
}

/* ---- inboxes ---- */

static void be_sent_more(struct scene *scene) {
    struct notes sent = {0};
    verge_start_options options = noted(&sent, now_of(&scene->stepped));
    options.worker_id = verge_worker_id(scene->stuck);
    advance(&scene->stepped, STUCK_AFTER);
    (void)passes(scene);
    /* The thread of the test is inside the callback, and so is bound to the stuck worker. */
    (void)start_with(scene->stepped.service, &options);
    assert_int_equal(passes(scene), 1);
    assert_int_equal(sent.fired, 1);
    assert_int_equal(sent.worker_id, verge_worker_id(scene->rescuer));
}

static void what_is_started_on_a_stuck_worker_runs_too(void **state) {
    (void)state;
    struct scene scene = {0};
    play(&scene, be_sent_more);
    expect_each_once(&scene);
}

/* Timers that another thread starts go to the inbox of the worker that the options name: here the stuck one. */
static void *start_from_outside(void *argument) {
    struct scene *scene = argument;
    for (size_t i = 0; i < 4; i++) {
        assert_int_equal(verge_service_cancel(scene->stepped.service, scene->timers[i]), 0);
        scene->timers[i] = 0;
        (void)start_on_stuck(scene, i, now_of(&scene->stepped));
    }
    for (size_t i = 4; i < 8; i++) { /* reset to earlier: they are in the wheel, and now in the inbox as well */
        assert_int_equal(verge_service_reset(scene->stepped.service, scene->timers[i], 1), 0);
    }
    return NULL;
}

static void be_sent_from_outside(struct scene *scene) {
    join_thread(thread_of(start_from_outside, scene));
    assert_int_equal(passes(scene), 0);
    advance(&scene->stepped, STUCK_AFTER);
    assert_int_equal(passes(scene), 8);
    expect_each_once(scene);
}

static void its_inbox_is_rescued_too(void **state) {
    (void)state;
    struct scene scene = {0};
    play(&scene, be_sent_from_outside);
    expect_each_once(&scene);
}

static void *cancel_from_outside(void *argument) {
    struct scene *scene = argument;
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(verge_service_cancel(scene->stepped.service, scene->timers[i]), 0);
    }
    return NULL;
}

static void be_cancelled_from_outside(struct scene *scene) {
    advance(&scene->stepped, STUCK_AFTER);
    join_thread(thread_of(cancel_from_outside, scene));
    assert_int_equal(passes(scene), 0);
}

static void what_is_cancelled_is_not_rescued(void **state) {
    (void)state;
    struct scene scene = {0};
    play(&scene, be_cancelled_from_outside);
    for (size_t i = 0; i < COUNT_OF(scene.notes); i++) {
        assert_int_equal(scene.notes[i].fired, 0);
    }
}

/* As long as there is another worker, no timer is sent to the stuck one, though it has the fewest timers. */
static void *start_anywhere(void *argument) {
    struct scene *scene = argument;
    for (size_t i = 0; i < 8; i++) {
        scene->timers[i] = start_at(scene->stepped.service, now_of(&scene->stepped) + SECOND, do_nothing, NULL);
    }
    return NULL;
}

static void be_avoided(struct scene *scene) {
    advance(&scene->stepped, STUCK_AFTER);
    assert_int_equal(passes(scene), 8);
    assert_int_equal(count_in(scene->stepped.service, scene->stuck), 0);
    join_thread(thread_of(start_anywhere, scene));
    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(info_of(scene->stepped.service, scene->timers[i]).worker_id, verge_worker_id(scene->rescuer));
    }
}

static void who_is_stuck_is_picked_last(void **state) {
    (void)state;
    struct scene scene = {0};
    play(&scene, be_avoided);
}

/* ---- the stuck callback itself goes on working ---- */

static void work_on(struct scene *scene) {
    verge_service *service = scene->stepped.service;
    assert_int_equal(verge_service_cancel(service, scene->timers[0]), 0);
    assert_int_equal(verge_service_reset(service, scene->timers[1], now_of(&scene->stepped) + 2 * HOUR), 0);
    advance(&scene->stepped, STUCK_AFTER);
    (void)passes(scene); /* the rescuer has run timers 2 to 7 */
    for (size_t i = 2; i < 8; i++) {
        assert_int_equal(verge_service_cancel(service, scene->timers[i]), -ENOENT);
        (void)start_on_stuck(scene, i, now_of(&scene->stepped) + SECOND);
    }
    assert_int_equal(verge_service_reset(service, scene->timers[2], now_of(&scene->stepped)), 0);
    assert_int_equal(verge_service_reset(service, scene->timers[3], now_of(&scene->stepped) + HOUR), 0);
    assert_int_equal(verge_service_cancel(service, scene->timers[4]), 0);
    assert_int_equal(passes(scene), 1);
    assert_int_equal(scene->notes[2].fired, 2);
    assert_int_equal(verge_service_reset(service, scene->blocker, now_of(&scene->stepped) + 4 * HOUR), VERGE_RUNNING);
    assert_int_equal(verge_service_cancel(service, scene->blocker), VERGE_RUNNING);
    advance(&scene->stepped, 2 * SECOND);
    assert_int_equal(passes(scene), 3); /* timers 5, 6 and 7 */
    assert_int_equal(verge_service_reset(service, scene->timers[1], now_of(&scene->stepped)), 0);
}

static void the_stuck_callback_starts_cancels_and_resets(void **state) {
    (void)state;
    struct scene scene = {0};
    play(&scene, work_on);
    const uint32_t fired[] = {0, 1, 2, 2, 1, 2, 2, 2};
    for (size_t i = 0; i < COUNT_OF(fired); i++) {
        assert_int_equal(scene.notes[i].fired, fired[i]);
    }
}

/* ---- with threads ---- */

struct jam {
    _Atomic bool may_return;
    _Atomic uint32_t others_fired;
    _Atomic uint32_t reports;
};

static void wait_for_the_others(const verge_firing *firing) {
    struct jam *jam = firing->argument;
    for (int i = 0; i < 100; i++) { /* they are due at once, on the worker that is stuck here */
        assert_int_equal(verge_service_start_after(firing->service, 0, do_nothing, NULL, NULL), 0);
    }
    await(&jam->may_return);
}

static void count_other(const verge_firing *firing) {
    struct jam *jam = firing->argument;
    (void)atomic_fetch_add(&jam->others_fired, 1);
}

/* Counts only reports of the callback that blocks. Others are reported if their threads get no processor for a
 * while. */
static void note_jam(void *context, const verge_stuck *stuck) {
    struct jam *jam = context;
    (void)atomic_fetch_add(&jam->reports, stuck->callback == wait_for_the_others);
}

/* The workers were idle before, so that only the stuck callback itself can call for help. */
static void threads_rescue_each_other(void **state) {
    (void)state;
    struct jam jam = {0};
    verge_service_options options;
    assert_int_equal(verge_service_options_init(&options, sizeof(options)), 0);
    options.thread_count = 2;
    options.stuck_after_ns = 2 * MS;
    options.on_stuck = note_jam;
    options.on_stuck_context = &jam;
    verge_service *service = NULL;
    assert_int_equal(verge_service_create(&options, &service), 0);
    for (uint32_t round = 1; round <= 3; round++) {
        atomic_store(&jam.may_return, false);
        verge_start_options start = {.struct_size = sizeof(start)};
        start.worker_id = 1 + round % 2;
        start.callback = wait_for_the_others;
        start.argument = &jam;
        (void)start_with(service, &start);
        start.callback = count_other;
        for (int i = 0; i < 100; i++) { /* some are due at once, some later */
            start.deadline_ns = verge_service_exact_now(service) + (uint64_t)i * MS / 10;
            (void)start_with(service, &start);
        }
        await_count(&jam.others_fired, 100 * round); /* they run while the callback blocks */
        await_count(&jam.reports, round);
        atomic_store(&jam.may_return, true);
        while (verge_service_count(service, 0) != 0) {
            (void)sched_yield();
        }
    }
    assert_int_equal(verge_service_destroy(service, NULL, NULL), 0);
    assert_int_equal(jam.reports, 3); /* one in each round */
    assert_int_equal(jam.others_fired, 300);
}

/* ---- the turn ---- */

static const verge_worker *watched;
static uint32_t changes, changes_off_turn;

/* The worker's own thread changes the words of its filed timers only while it holds its turn. */
static void look_at_the_turn(const char *next_step) {
    if (strcmp(next_step, "word: change") == 0 || strcmp(next_step, "word: publish") == 0) {
        changes++;
        changes_off_turn += atomic_load(&watched->turn) != VERGE__TURN_HELD;
    }
}

static void start_reset_and_cancel(struct scene *scene) {
    verge_service *service = scene->stepped.service;
    const uint64_t now_ns = now_of(&scene->stepped);
    watched = scene->stuck;
    assert_int_equal(atomic_load(&watched->turn), VERGE__TURN_LAID);
    verge__step_hook = look_at_the_turn;
    changes = changes_off_turn = 0;
    verge_timer timer = start_on_stuck(scene, 0, now_ns + 5 * TICK);
    assert_int_equal(changes, 1);
    assert_int_equal(verge_service_reset(service, timer, now_ns + 3 * TICK), 0);
    assert_int_equal(changes, 3);
    assert_int_equal(verge_service_cancel(service, timer), 0);
    assert_int_equal(changes, 4);
    assert_int_equal(verge_service_cancel_wait(service, scene->timers[1]), 0);
    assert_int_equal(changes, 5);
    verge__step_hook = NULL;
    assert_int_equal(changes_off_turn, 0);
    assert_int_equal(atomic_load(&watched->turn), VERGE__TURN_LAID);
}

static void a_callback_takes_its_turn_for_what_it_does(void **state) {
    (void)state;
    struct scene scene = {0};
    play(&scene, start_reset_and_cancel);
}

/* ---- idle nodes ---- */

enum { CROWD = 20000, CANCELLED = CROWD * 3 / 8 };

/* Many timers of the stuck worker are cancelled, and then the pending ones are rescued. The stuck worker keeps no more
 * idle nodes than free records. */
static void lose_a_crowd(struct scene *scene) {
    static verge_timer cancelled[CANCELLED];
    verge_service *service = scene->stepped.service;
    verge_worker *stuck = scene->stuck;
    const uint64_t now_ns = now_of(&scene->stepped);
    for (size_t i = 0; i < CANCELLED + CROWD; i++) {
        const verge_timer timer =
            start_at(service, i < CANCELLED ? now_ns + HOUR + i * TICK : now_ns + TICK, do_nothing, NULL);
        if (i < CANCELLED) {
            cancelled[i] = timer;
        }
    }
    for (size_t i = 0; i < CANCELLED; i++) {
        assert_int_equal(verge_service_cancel(service, cancelled[i]), 0);
    }
    assert_true(stuck->calendar.linked <= CROWD + VERGE__FREE_KEPT);
    advance(&scene->stepped, 2 * STUCK_AFTER);
    for (int i = 0; i < 100; i++) {
        (void)pass(scene);
        assert_true(stuck->calendar.linked <= verge__worker_timer_count(stuck) + VERGE__FREE_KEPT);
    }
    assert_int_equal(verge__worker_timer_count(stuck), 0);
}

static void who_loses_its_timers_keeps_no_idle_nodes(void **state) {
    (void)state;
    struct scene scene = {0};
    play(&scene, lose_a_crowd);
}

/* ---- which worker is woken ---- */

/*
 * There are three workers. One is stuck. One is busy: it is in a callback, too, but not for long enough to be stuck,
 * and has the fewest timers. One sleeps, and has more timers. Only the one that sleeps can help at once, also with
 * orphans.
 */
struct aid {
    struct stepped stepped;
    verge_worker *stuck;
    verge_worker *busy;
    verge_worker *sleeper;
    uint32_t rung;
    bool with_orphans; /* what needs help are orphans, not a stuck worker */
};

static void ring(void *context) {
    ((struct aid *)context)->rung++;
}

static void start_aid(struct aid *aid, verge_worker *worker, uint64_t deadline_ns, verge_callback callback) {
    verge_start_options options = {.struct_size = sizeof(options)};
    options.callback = callback;
    options.argument = aid;
    options.deadline_ns = deadline_ns;
    options.worker_id = verge_worker_id(worker);
    (void)start_with(aid->stepped.service, &options);
}

static void be_busy(const verge_firing *firing) {
    struct aid *aid = firing->argument;
    assert_int_equal(aid->rung, 0);
    if (aid->with_orphans) {
        /* The timer in the inbox of the worker that leaves becomes an orphan. */
        leave(aid->stuck);
    } else {
        advance(&aid->stepped, STUCK_AFTER / 2); /* the stuck callback has been running for twice as long */
        assert_int_equal(verge_service_tick(aid->stepped.service), 0);
    }
    assert_int_equal(aid->rung, 1);
}

static void be_stuck(const verge_firing *firing) {
    struct aid *aid = firing->argument;
    advance(&aid->stepped, STUCK_AFTER / 2);
    assert_int_equal(step(aid->busy), 1);
}

static void who_sleeps_is_woken_not_who_is_busy(void **state) {
    (void)state;
    for (int with_orphans = 0; with_orphans < 2; with_orphans++) {
        struct aid aid = {.with_orphans = with_orphans != 0};
        verge_service_options options = stepped_options(&aid.stepped);
        options.stuck_after_ns = STUCK_AFTER;
        stepped_create(&aid.stepped, &options);
        const uint64_t now_ns = now_of(&aid.stepped);
        aid.stuck = join_unbound(aid.stepped.service);
        aid.busy = join_unbound(aid.stepped.service);
        verge_worker_options sleepy = {.struct_size = sizeof(sleepy)};
        sleepy.unbound = true;
        sleepy.wake = ring;
        sleepy.wake_context = &aid;
        assert_int_equal(verge_worker_join(aid.stepped.service, &sleepy, &aid.sleeper), 0);
        for (int i = 0; i < 4; i++) {
            start_aid(&aid, aid.sleeper, now_ns + HOUR, do_nothing);
        }
        assert_int_equal(step(aid.busy), 0);
        assert_int_equal(step(aid.stuck), 0);
        assert_int_equal(step(aid.sleeper), 0);
        start_aid(&aid, aid.busy, now_ns, be_busy);
        assert_true(verge_worker_begin_wait(aid.sleeper) > now_ns);
        if (with_orphans) {
            start_aid(&aid, aid.stuck, now_ns, do_nothing); /* still in the inbox when be_busy lets this worker leave */
            assert_int_equal(step(aid.busy), 1);
        } else {
            start_aid(&aid, aid.stuck, now_ns, be_stuck);
            assert_int_equal(step(aid.stuck), 1);
            leave(aid.stuck);
        }
        verge_worker_end_wait(aid.sleeper);
        leave(aid.busy);
        leave(aid.sleeper);
        stepped_end(&aid.stepped);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_due_is_run_by_another),
        cmocka_unit_test(who_returns_in_time_keeps_its_own),
        cmocka_unit_test(what_becomes_due_later_is_rescued_then),
        cmocka_unit_test(one_pass_is_enough),
        cmocka_unit_test(the_rest_of_a_batch_is_rescued),
        cmocka_unit_test(who_is_stuck_is_reported_once_with_its_timer),
        cmocka_unit_test(without_another_worker_it_is_reported_at_least),
        cmocka_unit_test(what_is_started_on_a_stuck_worker_runs_too),
        cmocka_unit_test(its_inbox_is_rescued_too),
        cmocka_unit_test(what_is_cancelled_is_not_rescued),
        cmocka_unit_test(who_is_stuck_is_picked_last),
        cmocka_unit_test(the_stuck_callback_starts_cancels_and_resets),
        cmocka_unit_test(who_loses_its_timers_keeps_no_idle_nodes),
        cmocka_unit_test(who_sleeps_is_woken_not_who_is_busy),
        cmocka_unit_test(threads_rescue_each_other),
        cmocka_unit_test(a_callback_takes_its_turn_for_what_it_does),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

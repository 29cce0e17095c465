/* SPDX-License-Identifier: MIT */
/*
 * wait.pml - cancel_wait: threads that wait for callbacks to return, and callbacks that wait for each other
 * (src/service/cancel.c, T5, T9, T14).
 *
 * Each worker has one record, which it starts, runs and frees. The model of the word has only what a waiter looks at:
 * the generation, the state, WAITED, and the flags that keep a record from ending (AGAIN) or make it end (QUIT). How a
 * timer comes to run is the subject of record.pml; here it is one step. The callbacks, the workers between two
 * callbacks (after the last start of their record) and a remote thread call cancel_wait; the remote thread also calls
 * reset. The kernel compares a number and puts the thread to sleep in one step, and wakes nobody by itself. Whether the
 * workers belong to one service or to several makes no difference here.
 *
 * What is to be shown:
 *   released     nobody waits for ever: otherwise spin reports an invalid end state. This holds even if the callback of
 *                the record's next life waits for the waiter of the life before (`first_is_waited_for`);
 *   returned     cancel_wait returns VERGE_RUNNING only after the callback that it found running has returned, unless
 *                the caller is inside that callback;
 *   no circle    callbacks that would wait for each other do not: that would be an invalid end state as well;
 *   no excuse    a caller that gets -EDEADLK would have waited in a circle of several callbacks.
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#ifndef LIVES
#define LIVES 2 /* of worker 1's record; the others have one */
#endif
#ifndef REMOTE_CALLS
#define REMOTE_CALLS 1 /* cancel_wait and reset by the remote thread */
#endif
#ifndef WORKER_CALLS
#define WORKER_CALLS 1 /* cancel_wait by each worker, inside a callback or not */
#endif

#define FREE 0
#define SCHEDULED 1
#define RUNNING 2
#define WAITED 4
#define QUIT 8
#define AGAIN 16
#define GENERATION_ONE 32

#define state_of(w) ((w) & 3)
#define generation_of(w) ((w) >> 5)
#define has(w, flags) (((w) & (flags)) != 0)
#define low_half(w) ((w) & (GENERATION_ONE - 1))
#define ended(w) (((w) & ~(GENERATION_ONE - 1)) + GENERATION_ONE)
#define is_running(w) (generation_of(w) == handle && state_of(w) == RUNNING)

#define REMOTE (WORKERS + 1)
#define THREADS (WORKERS + 2) /* and 0 is nobody */

#define SAID_NOTHING 0
#define SAID_0 1
#define SAID_ENOENT 2
#define SAID_RUNNING 3
#define SAID_EDEADLK 4

byte word[THREADS];      /* of each worker's record; the worker is its owner */
byte returns[THREADS];   /* of a worker: how many callbacks have returned that were WAITED for */
byte waits_for[THREADS]; /* of a worker: for whose record its callback waits */
byte waits_for_life[THREADS]; /* and for which life of that record */
bool is_inside[THREADS]; /* a worker is in a callback */

/* ---- the kernel ---- */
byte sleeps_on[THREADS]; /* of a thread: on whose number; 0: it is awake */

/* ---- what happened, for the assertions ---- */
byte runs[THREADS]; /* of a record: how many have begun */
bool is_executing[THREADS];
bool first_is_waited_for = false; /* the remote thread is in cancel_wait, of the first life of worker 1's record */

/* Between two calls, a thread does not use these variables. They are cleared, so that spin finds fewer states. */
#define forget \
    atomic { w = 0; to = 0; ok = false; target = 0; handle = 0; verdict = 0; met = 0; in_circle = false; circle_is_real = true }

/* verge__word_change, of the record of `target` */
inline change() {
    if
    :: word[target] == w -> word[target] = to; ok = true
    :: else -> w = word[target]; ok = false
    fi
}

/* verge__futex_wake_all */
inline wake_all(on) {
    atomic {
        t = 1;
        do
        :: t <= REMOTE && sleeps_on[t] == on ->
            sleeps_on[t] = 0;
#ifdef M_WAKES_ONE
            break
#else
            t++
#endif
        :: t <= REMOTE && sleeps_on[t] != on -> t++
        :: t > REMOTE -> break
        od;
        t = 0
    }
}

/* ---- the end of a callback: finish (pass.c) ---- */

inline finish() {
    target = id;
    w = word[id];
    ok = false;
    do
    :: atomic {
        !ok ->
        assert(state_of(w) == RUNNING);
        again = has(w, AGAIN) && !has(w, QUIT);
        to = (again -> (w & ~(3 | AGAIN | WAITED)) | SCHEDULED : ended(w));
        change();
        if
        :: ok -> is_executing[id] = false
        :: else
        fi
    }
    :: else -> break
    od;
#ifndef M_RETURN_WAKES_NOBODY
    if
    :: has(w, WAITED) ->
#ifndef M_WAITS_ON_THE_WORD
        returns[id]++;
#endif
        wake_all(id)
    :: else
    fi;
#endif
    target = 0;
    w = 0;
    to = 0
}

/* ---- waiting: cancel.c ---- */

/* cancel */
inline cancel() {
    w = word[target];
    do
    :: atomic {
        verdict == SAID_NOTHING ->
        if
        :: generation_of(w) != handle -> verdict = SAID_ENOENT
        :: generation_of(w) == handle && state_of(w) == SCHEDULED ->
            to = ended(w);
            change();
            verdict = (ok -> SAID_0 : SAID_NOTHING)
        :: is_running(w) ->
            to = (w | QUIT) & ~AGAIN;
            change();
            if
            :: ok -> verdict = SAID_RUNNING; met = runs[target]
            :: else
            fi
        fi
    }
    :: else -> break
    od
}

#ifdef M_LIVES_NOT_TOLD_APART
#define is_life_of(whom) true
#else
#define is_life_of(whom) (hop_life == generation_of(word[whom]))
#endif

/* closes_a_circle: goes from the callback that is to be waited for to the one for which it waits, if it does, and so
 * on */
inline look_for_a_circle() {
    hop = target;
    hop_life = handle;
    do
    :: hop == id && is_inside[id] && is_life_of(id) ->
        in_circle = true;
        circle_is_real = circle_is_real && hop_life == generation_of(word[id]);
        break
    :: (hop != id || !is_inside[id] || !is_life_of(id)) && is_inside[hop] && is_life_of(hop) && waits_for[hop] != 0 ->
        circle_is_real = circle_is_real && is_executing[hop] && generation_of(word[hop]) == hop_life;
        hop_life = waits_for_life[hop];
        hop = waits_for[hop]
    :: else -> break
    od;
    hop = 0;
    hop_life = 0
}

/* Adds the caller to the list of workers that wait inside a callback */
inline say_for_whom() {
#ifndef M_SAYS_NOTHING
    waits_for[id] = target;
    waits_for_life[id] = handle
#else
    skip
#endif
}

/* begin_waiting: under the lock */
inline begin_waiting() {
    if
    :: is_inside[id] ->
#ifdef M_LOOKS_BEFORE_IT_SAYS
        atomic { look_for_a_circle() };
        atomic {
            if
            :: !in_circle -> say_for_whom()
            :: else
            fi
        }
#else
        atomic {
            look_for_a_circle();
            if
            :: !in_circle -> say_for_whom()
            :: else
            fi
        }
#endif
    :: else
    fi
}

inline end_waiting() {
    if
    :: is_inside[id] -> atomic { waits_for[id] = 0; waits_for_life[id] = 0 }
    :: else
    fi
}

/* T14, wait_for_return */
inline wait_for_return() {
    w = word[target];
    do
    :: is_running(w) ->
#ifdef M_COUNT_READ_LATE
        atomic { to = w | WAITED; change() };
        expected = returns[target];
#else
        expected = returns[target];
#ifndef M_NOT_MARKED
        atomic { to = w | WAITED; change() };
#else
        ok = true;
#endif
#endif
        if
        :: ok ->
            atomic { /* verge__futex_wait: the kernel compares and puts to sleep at once */
                if
#ifndef M_WAITS_ON_THE_WORD
                :: returns[target] == expected -> sleeps_on[id] = target
#else
                :: low_half(word[target]) == low_half(w | WAITED) -> sleeps_on[id] = target
#endif
                :: else
                fi;
                expected = 0
            }
            sleeps_on[id] == 0;
            w = word[target]
        :: else -> expected = 0
        fi
#ifdef M_WAITS_ONCE
        ;
        break
#endif
    :: else -> break
    od
}

#define meets_itself (is_inside[id] && target == id && handle == generation_of(word[id]))

/* cancel_and_wait, of the life `handle` of the record of `target` */
inline cancel_wait() {
    cancel();
    if
    :: verdict != SAID_RUNNING
#ifndef M_WAITS_FOR_ITSELF
    :: verdict == SAID_RUNNING && meets_itself
    :: verdict == SAID_RUNNING && !meets_itself ->
#else
    :: verdict == SAID_RUNNING ->
#endif
        begin_waiting();
        if
        :: in_circle -> assert(circle_is_real && !meets_itself); verdict = SAID_EDEADLK /* no excuse */
        :: !in_circle ->
            wait_for_return();
            assert(!is_executing[target] || runs[target] != met); /* returned */
            end_waiting()
        fi
    fi;
    forget
}

/* Some timer that ever existed; -DIN_A_CIRCLE: that of the next worker. */
inline choose_timer() {
    atomic {
#ifdef IN_A_CIRCLE
        target = id % WORKERS + 1;
#else
        if
        :: target = 1
        :: target = 2
        fi;
#endif
        if
        :: handle = 1
        :: generation_of(word[target]) >= 3 -> handle = 3
        fi
    }
}

/* A reset of a timer that runs. It is one step here, as the deadline is written under WRITING (record.pml). */
inline reset() {
    atomic {
        if
        :: generation_of(word[target]) == handle && state_of(word[target]) == RUNNING ->
            word[target] = (word[target] | AGAIN) & ~QUIT
        :: else
        fi;
        forget
    }
}

/* ---- the threads ---- */

#define LOCALS \
    byte w; \
    byte to; \
    byte target; \
    byte handle; \
    byte verdict; \
    byte expected; \
    byte hop; \
    byte hop_life; \
    byte met; \
    bool in_circle; \
    bool circle_is_real = true; \
    bool ok

proctype worker(byte id) {
    LOCALS;
    byte t;
    byte lives_left = (id == 1 -> LIVES : 1);
    byte calls_left = WORKER_CALLS;
    bool again;
    do
    :: atomic { state_of(word[id]) == FREE && lives_left > 0 -> lives_left--; word[id] = word[id] + GENERATION_ONE + SCHEDULED }
    :: atomic { calls_left > 0 && lives_left == 0 -> calls_left--; choose_timer() } cancel_wait()
    :: atomic { /* T4 */
        state_of(word[id]) == SCHEDULED ->
        word[id] = (word[id] & ~3) | RUNNING;
        runs[id]++;
        is_executing[id] = true;
        is_inside[id] = true
    }
        if
        :: atomic { calls_left > 0 -> calls_left--; choose_timer() } cancel_wait()
        :: generation_of(word[id]) == 3 -> !first_is_waited_for
        :: true
        fi;
        is_inside[id] = false;
        finish()
    :: state_of(word[id]) == FREE && lives_left == 0 -> break
    od
}

proctype remote() {
    LOCALS;
    byte id = REMOTE;
    byte calls_left = REMOTE_CALLS;
    do
    :: atomic { calls_left > 0 -> calls_left--; choose_timer(); first_is_waited_for = target == 1 && handle == 1 }
        cancel_wait();
        first_is_waited_for = false
    :: atomic { calls_left > 0 -> calls_left--; choose_timer() } reset()
    :: true -> break
    od
}

init {
    atomic {
        run worker(1);
        run worker(2);
#if WORKERS > 2
        run worker(3);
#endif
        run remote()
    }
}

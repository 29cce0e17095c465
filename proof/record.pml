/* SPDX-License-Identifier: MIT */
/*
 * record.pml - one record, two workers and a remote thread (src/service/record.h, T1 to T12 and T14).
 *
 * Worker 1 stays. Worker 2 leaves at any moment between two passes. The threads start, cancel and reset the timer; the
 * workers also do so from inside its callback. Time may pass before any pass. A step is one access to shared data: the
 * word, the deadline, an inbox, the state of a seat. A compare-and-swap is modelled as in the source: a copy of the
 * word, a decision, and an exchange if the word is still equal to the copy. Each access to data that only the owner may
 * touch (place and wheel) is a step as well, so that an access by another thread is found.
 *
 * What is to be shown, by assertions:
 *   G1   the timer does not run before its deadline, nor before one that a reset has written;
 *   G3   every life of the record ends exactly once: its callback has returned for the last time, or a cancel returned
 *        0;
 *   G10  after a cancel has returned 0, the callback of that life does not begin; after a cancel that found it running,
 *        it does not begin again, unless it is reset; the deadline of a reset stays until the timer runs or is reset
 *        again;
 *   G11  at the end, every timer has ended: none is lost when a worker leaves;
 *   S1   a record is in at most one list; LINKED while it is in an inbox; FREE and not LINKED in a list of free ones;
 *   own  a worker takes only its own records out of its wheel;
 * and by the absence of invalid end states:
 *   nothing spins, -DREAL_TIME: one processor, and the thread of that number (1, 2: the workers; 3: the remote one) has
 *        a higher priority than the others. They have the processor only while it sleeps, or is between two calls. If
 *        it waited for one of them without sleeping, nobody could go on.
 *
 * -D sets how often each thread may do something (proof/prove), and switches deliberate mistakes on, each of which must
 * break one of the above. It also sets the kind of timer (-DPERIODIC: it runs at each tick until the end of time or a
 * cancel) and of service (-DWATCHED: workers rescue each other, rescue.pml).
 */
#ifndef LIVES
#define LIVES 1 /* starts. -DSTARTED=1, =2: the timer is already started on that worker, and LIVES does not count */
#endif
#ifndef MORE_LIVES
#define MORE_LIVES 0 /* starts in the case of STARTED */
#endif
#ifndef REMOTE_CALLS
#define REMOTE_CALLS 2 /* cancels and resets by the remote thread */
#endif
#ifndef STAYER_CALLS
#define STAYER_CALLS 0 /* cancels and resets by worker 1, also inside the callback */
#endif
#ifndef LEAVER_CALLS
#define LEAVER_CALLS 0 /* cancels and resets by worker 2 */
#endif
#ifndef STAYER_BLOCKS
#define STAYER_BLOCKS 0 /* WATCHED: callbacks of other timers on worker 1 */
#endif
#ifndef LEAVER_BLOCKS
#define LEAVER_BLOCKS 0 /* WATCHED: callbacks of other timers on worker 2 */
#endif

#define FREE 0
#define SCHEDULED 1
#define RUNNING 2
#define SPENT 3
#define LINKED 4
#define WRITING 8
#define AGAIN 16
#define QUIT 32
#define CLAIMED 64
#define WAITED 128
#define OWNER_ONE 256
#define GENERATION_ONE 1024

#define state_of(w) ((w) & 3)
#define owner_of(w) (((w) >> 8) & 3)
#define generation_of(w) ((w) >> 10)
#define with_owner(w, o) (((w) & ~(3 * OWNER_ONE)) | (o) * OWNER_ONE)
#define has(w, flags) (((w) & (flags)) != 0)
#define ended(w) (((w) & ~(3 | WRITING | AGAIN | QUIT | CLAIMED | WAITED)) + GENERATION_ONE + (has(w, LINKED) -> SPENT : FREE))

#define NO_TICK 0
#define TICKS 2 /* 1 and 2 */
#define NEVER 3
#define NOBODY 0
#define REMOTE 3

#define JOINED 0
#define LEAVING 1
#define VACANT 2

/* ---- the record ---- */
short word = FREE;
byte deadline = 0;
byte place = NO_TICK; /* the tick for which its node was filed last; NO_TICK: it is in no wheel */

/* ---- where it is ---- */
bool in_inbox[3]; /* of a worker; 0: the orphans */
bool in_hand[4];  /* of a thread: taken from an inbox, or about to be pushed */
bool is_free = true;
byte free_of = 0; /* on whose free list it is then; 0: in the pool */
byte wheel[3];    /* the ticks at which the worker finds the record, as bits: its place, and old places. (The source
                   * withdraws the node from those; the model does not, and so has more cases.) */
byte seat[3];

/* ---- waiting ---- */
byte returns[3];  /* of a worker: how many claims it has ended that were WAITED for */
byte sleeps_on[4]; /* of a thread: in the kernel, on the returns of that worker; TURN: on its own turn; 0: it is awake */
bool is_busy[4];  /* a thread is in a call, or in a pass */
#define TURN 3

#ifdef REAL_TIME
#define if_it_has_the_processor provided (_pid == REAL_TIME || !is_busy[REAL_TIME] || sleeps_on[REAL_TIME] != 0)
#define begin_call is_busy[id] = true
#define end_call is_busy[id] = false
#else
#define if_it_has_the_processor
#define begin_call skip
#define end_call skip
#endif

byte now = 0;
bool remote_done = false;
bool has_left = false; /* worker 2 */
byte starts_left = LIVES;

/* ---- what happened, for the assertions; by generation ---- */
bool is_cancelled[4]; /* a cancel said 0 */
bool is_to_end[4];    /* a cancel met the callback, and no reset has begun since */
byte end_count[4];
bool is_executing = false;

#define bit(tick) (1 << (tick))
#ifdef WATCHED
#define incoming_count (in_incoming[1] + in_incoming[2])
#else
#define incoming_count 0
#endif
#define lists_count (in_inbox[0] + in_inbox[1] + in_inbox[2] + in_hand[1] + in_hand[2] + in_hand[3] + incoming_count)

/*
 * In all of the following `id` is the thread, `bound` the worker that it is, or NOBODY; `w` is its copy of the word,
 * `to` the word that it wants to store, `ok` whether it has stored it.
 */

/* verge__word_change */
inline change() {
    if
    :: word == w -> word = to; ok = true
    :: else -> w = word; ok = false
    fi
}

inline note_end(life) {
    end_count[life]++;
    assert(end_count[life] == 1) /* G3 */
}

/* verge__worker_free */
inline free_record() {
    atomic {
        assert(!is_free && state_of(word) == FREE && !has(word, LINKED) && lists_count == 0); /* S1 */
        is_free = true;
        free_of = bound
    }
}

inline choose_deadline() {
    if
    :: d = 1
    :: d = 2
    fi
}

/* ---- sending: src/service/inbox.c ---- */

/* verge__service_pick */
inline pick() {
    if
    :: seat[1] == JOINED -> target = 1
    :: seat[2] == JOINED -> target = 2
    :: seat[1] != JOINED && seat[2] != JOINED -> target = 0
    fi
}

/* verge__send_one, to `target` */
inline send() {
    do
    :: atomic { /* verge__inbox_push */
        in_hand[id] ->
        assert(!in_inbox[0] && !in_inbox[1] && !in_inbox[2] && has(word, LINKED)); /* S1 */
        in_hand[id] = false;
        in_inbox[target] = true
    }
#ifndef M_NOT_SENT_ON
        if
        :: target != 0 && seat[target] == VACANT ->
            atomic { /* take_back, under the lock */
                if
                :: seat[target] == VACANT && in_inbox[target] -> in_inbox[target] = false; in_hand[id] = true
                :: else
                fi
            }
            if
            :: in_hand[id] -> pick()
            :: else
            fi
        :: else
        fi
#endif
    :: !in_hand[id] -> break
    od
}

/* ---- filing: src/service/filing.c ---- */

/* verge__worker_file; a node that comes up no later keeps its place (reset.c) */
inline file_at(at) {
    atomic {
        if
        :: place != NO_TICK && place <= at
        :: else -> wheel[id] = wheel[id] | bit(at); place = at
        fi
    }
}

/* ---- T1, T2: src/service/start.c ---- */

inline start_here() {
    choose_deadline();
    deadline = d;
    file_at(d);
    word = with_owner(word, id) + GENERATION_ONE + SCHEDULED
}

inline start_there() {
    choose_deadline();
    pick();
    deadline = d;
    atomic { word = with_owner(word, target) + GENERATION_ONE + SCHEDULED + LINKED; in_hand[id] = true }
    send()
}

/* ---- T6 to T9: src/service/cancel.c ---- */

/* verge__free_or_send: w is the word before the caller ended the timer. A LINKED record is freed by who takes it */
inline give_up() {
    if
    :: has(w, LINKED)
    :: !has(w, LINKED) && owner_of(w) == bound -> free_record()
    :: !has(w, LINKED) && owner_of(w) != bound -> target = owner_of(w); send()
    fi
}

inline cancel() {
    w = word;
    verdict = 0;
    do
    :: atomic {
        verdict == 0 ->
        if
        :: generation_of(w) != handle -> verdict = 1 /* -ENOENT */
        :: generation_of(w) == handle && state_of(w) == SCHEDULED && !has(w, WRITING | CLAIMED) ->
            to = (owner_of(w) == bound -> ended(w) : ended(w | LINKED));
            change();
            if
            :: ok ->
                verdict = 2;
                in_hand[id] = !has(w, LINKED) && owner_of(w) != bound;
                is_cancelled[handle] = true;
                note_end(handle)
            :: else
            fi
        :: generation_of(w) == handle && state_of(w) == SCHEDULED && has(w, WRITING | CLAIMED) && has(w, QUIT) ->
            verdict = 1
        :: generation_of(w) == handle && state_of(w) == SCHEDULED && has(w, WRITING | CLAIMED) && !has(w, QUIT) ->
            to = w | QUIT;
            change();
            if
            :: ok -> verdict = 1; is_cancelled[handle] = true; note_end(handle)
            :: else
            fi
        :: generation_of(w) == handle && state_of(w) == RUNNING ->
            to = (w | QUIT) & ~AGAIN;
            change();
            verdict = ok;
            is_to_end[handle] = is_to_end[handle] || ok
        fi
    }
    :: else -> break
    od;
    if
    :: verdict == 2 -> give_up()
    :: else
    fi
}

/* ---- T14: src/service/park.c ---- */

/* verge__wait_for_owner, of a timer that is CLAIMED */
inline wait_for_owner() {
#ifdef M_RESET_SPINS
    word != w; /* without sleeping */
    w = word
#else
    verdict = returns[owner_of(w)];
    atomic { to = w | WAITED; change() };
    if
    :: ok ->
        atomic { /* the kernel compares and puts to sleep at once */
            if
            :: returns[owner_of(w)] == verdict -> sleeps_on[id] = owner_of(w)
            :: else
            fi
        }
        sleeps_on[id] == 0;
        w = word
    :: else
    fi
#endif
}

/* verge__worker_release_waiters */
inline release_waiters() {
    returns[id]++;
    atomic {
        sleeps_on[REMOTE] = (sleeps_on[REMOTE] == id -> 0 : sleeps_on[REMOTE]);
        sleeps_on[3 - id] = (sleeps_on[3 - id] == id -> 0 : sleeps_on[3 - id])
    }
}

/* ---- T10, T11: src/service/reset.c ---- */

#ifdef M_RESET_FORGETS_AGAIN
#define is_to_be_sent false
#else
#define is_to_be_sent has(w, AGAIN) /* the owner has withdrawn it */
#endif

#ifdef M_RESET_LEAVES_QUIT
#define says_gone (state_of(w) != RUNNING || has(w, WRITING))
#else
#define says_gone (state_of(w) != RUNNING)
#endif

inline reset() {
    choose_deadline();
    w = word;
    verdict = 0;
    do /* begin */
    :: atomic {
        verdict == 0 ->
        if
        :: generation_of(w) != handle -> verdict = 1
        :: generation_of(w) == handle && has(w, QUIT) && says_gone ->
            assert(end_count[handle] == 1); /* G3 */
            verdict = 1 /* -ENOENT */
        :: generation_of(w) == handle && has(w, WRITING) && !has(w, QUIT) -> verdict = 1
        :: generation_of(w) == handle && has(w, WRITING) && has(w, QUIT) && !says_gone ->
            to = w & ~QUIT; /* another thread writes the deadline; this one only takes a cancel back */
            change();
            if
            :: ok -> verdict = 1; is_to_end[handle] = false
            :: else
            fi
#ifndef M_RESET_IGNORES_CLAIMED
        :: generation_of(w) == handle && !(has(w, QUIT) && says_gone) && !has(w, WRITING) && has(w, CLAIMED) -> verdict = 4
        :: generation_of(w) == handle && !(has(w, QUIT) && says_gone) && !has(w, WRITING | CLAIMED) ->
#else
        :: generation_of(w) == handle && !(has(w, QUIT) && says_gone) && !has(w, WRITING) ->
#endif
            to = (w | WRITING) & ~QUIT;
            change();
            if
            :: ok -> w = to; verdict = 2; is_to_end[handle] = false
            :: else
            fi
        fi
    }
    :: verdict == 4 -> wait_for_owner(); verdict = 0
    :: verdict != 0 && verdict != 4 -> break
    od;
    if
    :: verdict == 2 ->
        is_earlier = d < deadline;
        deadline = d;
        do /* end */
        :: atomic {
            verdict == 2 ->
            to = w & ~(WRITING | AGAIN);
            if
            :: state_of(w) == RUNNING -> to = (has(w, QUIT) -> to : to | AGAIN)
#ifndef M_RESET_FORGETS_QUIT
            :: state_of(w) != RUNNING && has(w, QUIT) ->
                to = (owner_of(w) == bound -> ended(w) : ended(w | LINKED))
#endif
            :: state_of(w) != RUNNING && !has(w, QUIT) && owner_of(w) != bound && (is_earlier || is_to_be_sent) ->
                to = to | LINKED
            :: else
            fi;
            change();
            if
            :: ok ->
                assert(deadline == d); /* G10: nobody else has written it */
                verdict = 3;
                in_hand[id] = has(to, LINKED) && !has(w, LINKED)
            :: else
            fi
        }
        :: else -> break
        od;
        if
        :: state_of(w) == RUNNING || has(w, LINKED) /* who takes it looks at the deadline */
        :: state_of(w) != RUNNING && !has(w, LINKED) ->
            if
            :: has(w, QUIT) -> give_up()
            :: !has(w, QUIT) && owner_of(w) == bound -> assert(!has(w, AGAIN)); file_at(d)
            :: !has(w, QUIT) && owner_of(w) != bound -> target = owner_of(w); send()
            fi
        fi
    :: else
    fi
}

inline call() {
    if
    :: cancel()
    :: reset()
    fi
}

/* ---- T3: verge__worker_take, of a record in hand ---- */

inline take() {
    w = word;
    ok = false;
    do
    :: !ok ->
        assert(has(w, LINKED) && state_of(w) != FREE); /* S1 */
        if
        :: owner_of(w) != id && state_of(w) != RUNNING -> place = NO_TICK
        :: else
        fi;
        atomic {
            if
            :: state_of(w) == RUNNING -> to = w & ~LINKED
            :: state_of(w) == SPENT -> to = with_owner(w & ~(LINKED | 3), id)
            :: state_of(w) == SCHEDULED -> to = with_owner(w & ~(LINKED | AGAIN), id)
            fi;
            change();
            if
            :: ok -> in_hand[id] = false
            :: else
            fi
        }
    :: else -> break
    od;
    if
    :: state_of(w) == SPENT -> free_record()
    :: state_of(w) == SCHEDULED -> d = deadline; file_at(d)
    :: state_of(w) == RUNNING
    fi
}


/* verge__worker_unlink, of a record of `from` */
inline unlink(from) {
    w = word;
    ok = false;
    do
    :: atomic {
        !ok ->
        if
        :: state_of(w) != SCHEDULED || has(w, LINKED) -> ok = true
        :: else ->
            to = w | LINKED;
            change();
            in_hand[id] = ok
        fi
    }
    :: else -> break
    od;
    atomic { place = NO_TICK; assert(owner_of(word) == from) } /* own */
}

/* Some handle that was given out. */
inline choose_handle() {
    if
    :: handle = 1
    :: generation_of(word) >= 3 -> handle = 3
    fi
}

/* Between two calls, a thread does not use these variables. They are cleared, so that spin finds fewer states. */
#define forget atomic { w = 0; to = 0; d = 0; target = 0; handle = 0; verdict = 0; ok = false; is_earlier = false }
#define forget_pass atomic { due = 0; tick = 0; again = false; is_due = false }

/* ---- being stuck: src/service/rescue.c ---- */

#ifdef WATCHED
#include "rescue.pml"
#define has_something_to_do (in_inbox[0] || in_inbox[id] || in_incoming[id] || wheel[id] != 0 || in_callback[3 - id])
#else
inline begin_callback() { skip }
inline end_callback() { skip }
inline call_on_turn() { call() }
inline rescue_others() { skip }

inline take_from(box) {
    atomic {
        if
        :: in_inbox[box] -> in_inbox[box] = false; in_hand[id] = true
        :: else
        fi
    }
    if
    :: in_hand[id] -> take()
    :: else
    fi
}

/* verge__worker_receive */
inline receive() {
    take_from(0);
    take_from(id)
}

#define has_something_to_do (in_inbox[0] || in_inbox[id] || wheel[id] != 0)
#endif

/* ---- T4, T5: src/service/pass.c ---- */

/* goes_on: `d` is the deadline, as read before */
#ifndef PERIODIC
#define goes_on (has(w, AGAIN) && !has(w, QUIT))
#elif defined(M_PERIOD_ENDS_AFTER_A_RUN)
#define goes_on (has(w, AGAIN) && !has(w, QUIT) && d != NEVER)
#elif defined(M_PERIOD_IGNORES_QUIT)
#define goes_on (d != NEVER)
#elif defined(M_PERIOD_GOES_ON_FOR_EVER)
#define goes_on (!has(w, QUIT))
#else
#define goes_on (!has(w, QUIT) && d != NEVER)
#endif

inline finish() {
    is_executing = false;
    w = word;
    ok = false;
    do
    :: !ok ->
#ifdef PERIODIC
        d = deadline;
#endif
        atomic {
            assert(state_of(w) == RUNNING);
            again = goes_on;
#ifndef M_RETURN_IGNORES_WRITING
            again = again || has(w, WRITING);
#endif
            to = (again -> (w & ~(3 | AGAIN)) | SCHEDULED : ended(w));
            change();
            if
            :: ok && (!again || has(w, QUIT)) ->
                note_end(generation_of(w));
#ifdef PERIODIC
                assert(is_to_end[generation_of(w)] || deadline == NEVER) /* G3: it goes on until it is cancelled */
#endif
            :: else
            fi
        }
    :: else -> break
    od;
    if
    :: !again && !has(w, LINKED) -> free_record()
    :: again && !has(to, LINKED) -> d = deadline; file_at(d)
    :: else
    fi
}

/* announce: when a periodic timer runs next. The record is CLAIMED; nobody else writes its deadline */
inline announce() {
#ifdef PERIODIC
    deadline = d + 1
#else
    skip
#endif
}

#ifdef PERIODIC
#define is_told_right (deadline == d + 1)
#else
#define is_told_right (deadline == d)
#endif

/* the claim ends: the timer is RUNNING, as it was, or ended */
inline end_claim() {
    ok = false;
    do
    :: atomic {
        !ok ->
        if
        :: has(w, QUIT) -> to = ended(w)
        :: !has(w, QUIT) && is_due -> to = (w & ~(CLAIMED | WAITED | 3)) | RUNNING
        :: !has(w, QUIT) && !is_due -> to = w & ~(CLAIMED | WAITED)
        fi;
        change();
        if
        :: ok && !has(w, QUIT) && is_due -> /* the callback begins, and is told d */
            assert(!is_cancelled[generation_of(w)] && !is_to_end[generation_of(w)]); /* G10 */
#if !defined(M_PERIOD_WRITTEN_UNCLAIMED) && !defined(M_PERIOD_WRITTEN_AT_RETURN)
            assert(is_told_right); /* G10 */
#endif
            assert(d <= now && !is_executing); /* G1 */
            is_executing = true
        :: else
        fi
    }
    :: else -> break
    od;
#ifndef M_CLAIM_ENDS_IN_SILENCE
    if
    :: has(w, WAITED) -> release_waiters()
    :: else
    fi
#endif
}

/* run_if_due: w is a copy of the word; at `tick`, the record has been taken out of the wheel */
inline run_if_due() {
    verdict = 0;
    do /* claim */
    :: verdict == 0 ->
        d = deadline;
        atomic {
            if
            :: owner_of(w) != id || state_of(w) != SCHEDULED -> verdict = 1 /* GONE */
#ifndef M_CLAIM_IGNORES_WRITING
            :: owner_of(w) == id && state_of(w) == SCHEDULED && has(w, WRITING) && has(w, LINKED) -> verdict = 1
            :: owner_of(w) == id && state_of(w) == SCHEDULED && has(w, WRITING) && !has(w, LINKED) ->
#ifdef M_WAITS_FOR_THE_WRITER
                verdict = 2
#else
                to = w | AGAIN; /* leave_to_writer */
                change();
                verdict = ok
#endif
            :: owner_of(w) == id && state_of(w) == SCHEDULED && !has(w, WRITING) ->
#else
            :: owner_of(w) == id && state_of(w) == SCHEDULED ->
#endif
                if
                :: d > due -> verdict = 3 /* MOVED */
                :: d <= due ->
#ifndef M_NOT_CLAIMED
                    to = w | CLAIMED;
                    change();
                    if
                    :: ok -> w = to; verdict = 4
                    :: else
                    fi
#else
                    verdict = 4
#endif
                fi
            fi
        }
    :: else -> break
    od;
    if
    :: verdict == 4 ->
        d = deadline;
        is_due = d <= due;
#if !defined(M_PERIOD_WRITTEN_UNCLAIMED) && !defined(M_PERIOD_WRITTEN_AT_RETURN)
        if
        :: is_due -> announce()
        :: else
        fi;
#endif
        end_claim();
#ifdef M_PERIOD_WRITTEN_UNCLAIMED
        if
        :: !has(w, QUIT) && is_due -> announce()
        :: else
        fi;
#endif
        verdict = (has(w, QUIT) -> 5 : (is_due -> 6 : 3))
    :: else
    fi;
    if
    :: verdict == 1 -> /* verge__worker_drop */
        w = word;
        if
        :: owner_of(w) == id -> place = NO_TICK
        :: else
        fi
#ifdef M_WAITS_FOR_THE_WRITER
    :: verdict == 2 -> !has(word, WRITING); wheel[id] = wheel[id] | bit(tick) /* pass after pass */
#endif
    :: verdict == 3 -> d = deadline; atomic { wheel[id] = wheel[id] | bit(d); place = d }
    :: verdict == 5 -> place = NO_TICK; give_up()
    :: verdict == 6 ->
        place = NO_TICK;
        begin_callback();
        do
        :: calls_left > 0 -> calls_left--; handle = generation_of(word); call_on_turn()
        :: break
        od;
        end_callback();
#ifdef M_PERIOD_WRITTEN_AT_RETURN
        d = deadline;
        announce();
#endif
        finish()
    fi
}

inline let_time_pass() { /* it matters only in a pass how late it is */
    if
    :: now < 1 -> now = 1
    :: now < 2 -> now = 2
    :: true
    fi
}

/* verge__worker_pass: what is in the inboxes, then what is due */
inline pass() {
    rescue_others();
    receive();
    atomic {
        let_time_pass();
        due = now;
        tick = 1
    }
    do
#ifdef WATCHED
    :: blocks_left > 0 -> blocks_left--; block()
#endif
    :: tick <= due && (wheel[id] & bit(tick)) != 0 ->
        wheel[id] = wheel[id] & ~bit(tick);
        w = word;
        if /* come_up */
        :: owner_of(w) == id && place == tick -> run_if_due()
        :: else /* an old place */
        fi;
        tick++
    :: tick <= due && (wheel[id] & bit(tick)) == 0 -> tick++
    :: tick > due -> break
    od
}


/* ---- T12: src/service/leave.c ---- */

inline leave() {
    seat[id] = LEAVING;
    tick = 1;
    do
    :: tick <= TICKS && (wheel[id] & bit(tick)) != 0 ->
        wheel[id] = wheel[id] & ~bit(tick);
        w = word;
        if
        :: owner_of(w) == id && place == tick ->
            unlink(id);
#ifdef M_SENT_WHILE_WALKING
            if
            :: in_hand[id] -> pick(); send()
            :: else
            fi
#endif
        :: else
        fi;
        tick++
    :: tick <= TICKS && (wheel[id] & bit(tick)) == 0 -> tick++
    :: tick > TICKS -> break
    od;
#if defined(WATCHED) && !defined(M_RESCUE_INCOMING_LEFT_BEHIND)
    atomic { in_hand[id] = in_hand[id] || in_incoming[id]; in_incoming[id] = false }
#endif
    if /* not before: another worker could file the record, and an old place here would look like the new one */
    :: in_hand[id] -> pick(); send()
    :: else
    fi;
    atomic { /* verge__worker_give_all_free */
        if
        :: is_free && free_of == id -> free_of = 0; place = NO_TICK; word = with_owner(word, 0)
        :: else
        fi
    }
    atomic { /* vacate, under the lock */
        seat[id] = VACANT;
#ifndef M_INBOX_LEFT_BEHIND
        if
        :: in_inbox[id] -> in_inbox[id] = false; in_hand[id] = true
        :: else
        fi
#endif
    }
    if
    :: in_hand[id] -> pick(); send()
    :: else
    fi
}

/* ---- the threads ---- */

#ifdef WATCHED
#define may_block (blocks_left > 0)
#else
#define may_block false
#endif

proctype worker(byte id) if_it_has_the_processor {
    short w;
    short to;
    byte d;
    byte due;
    byte tick;
    byte target;
    byte handle;
    byte verdict;
    byte bound = id;
    byte calls_left = (id == 1 -> STAYER_CALLS : LEAVER_CALLS);
#ifdef WATCHED
    byte blocks_left = (id == 1 -> STAYER_BLOCKS : LEAVER_BLOCKS);
    byte other;
#endif
    bool ok;
    bool again;
    bool is_due;
    bool is_earlier;
    do
    :: atomic { has_something_to_do || may_block -> begin_call } pass(); forget; forget_pass; end_call
    :: atomic { is_free && free_of == id && starts_left > 0 -> is_free = false; starts_left--; begin_call }
        start_here();
        forget;
        end_call
    :: atomic { calls_left > 0 && generation_of(word) > 0 -> calls_left--; begin_call } choose_handle(); call(); forget; end_call
    :: atomic { id == 2 -> begin_call } leave(); forget; forget_pass; atomic { has_left = true; end_call } break
    :: id == 1 && remote_done && has_left && !has_something_to_do ->
        atomic { /* G3, G11, S1 */
            assert(state_of(word) == FREE && is_free && lists_count == 0 && !is_executing);
            assert(generation_of(word) < 1 || end_count[1] == 1);
            assert(generation_of(word) < 3 || end_count[3] == 1)
        }
        break
    od
}

proctype remote() if_it_has_the_processor {
    short w;
    short to;
    byte d;
    byte target;
    byte handle;
    byte verdict;
    byte id = REMOTE;
    byte bound = NOBODY;
    byte calls_left = REMOTE_CALLS;
    bool ok;
    bool is_earlier;
    do
    :: atomic { is_free && free_of == 0 && starts_left > 0 -> is_free = false; starts_left--; begin_call }
        start_there();
        forget;
        end_call
    :: atomic { calls_left > 0 && generation_of(word) > 0 -> calls_left--; begin_call } choose_handle(); call(); forget; end_call
    :: true -> break
    od;
    remote_done = true
}

/* With STARTED, that worker has the timer in its wheel. If the timer was reset before (RESET_BEFORE), its place may be
 * early, or there may be an old place. Without STARTED, the record is in the pool, or on a worker's free list. */
init {
    byte d;
    atomic {
#ifdef STARTED
        choose_deadline();
        is_free = false;
        starts_left = MORE_LIVES;
        deadline = d;
        place = d;
#ifdef RESET_BEFORE
        if
        :: true
        :: wheel[STARTED] = bit(1) | bit(2)
        :: place = 1
        fi;
#endif
        wheel[STARTED] = wheel[STARTED] | bit(place);
        word = with_owner(0, STARTED) + GENERATION_ONE + SCHEDULED;
#else
        if
        :: free_of = 0
        :: free_of = 1
        :: free_of = 2
        fi;
#endif
        run worker(1);
        run worker(2);
        run remote()
    }
}

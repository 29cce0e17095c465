/* SPDX-License-Identifier: MIT */
/*
 * park.pml - a worker that goes to sleep, and two threads that send it records (src/service/park.h).
 *
 * Each shared access is a step of its own, in any order of the threads. What is to be shown:
 *
 *   nothing is missed   if a record must be handled before the worker would wake up by itself, its sender wakes the
 *                       worker. Otherwise the worker sleeps for ever, which spin reports as an invalid end state.
 *   nothing dangles     after verge__park_end, no thread is in the user's wake function: the assertion in wake().
 *   nothing spins       -DREAL_TIME: one processor, and the worker has a higher priority than the senders. They have
 *                       the processor only while the worker sleeps. If it waited for one of them without sleeping,
 *                       nobody could go on, which is an invalid end state as well.
 *
 * Times are 3 (soon), 4 (when the worker may wake up by itself) and 5 (never). Deliberate mistakes are switched on by
 * -D; each of them must break one of the three.
 */
#define AWAKE 0
#define WAKING_AWAITED 1
#define WAKING 2
#define SOON 3
#define LATER 4
#define NEVER 5

#define SENDERS 2
#define ITEMS 2 /* of each sender */

byte wait_until = AWAKE; /* worker->wait_until_ns */
byte signal = 0;         /* worker->signal */
byte inbox = 0;          /* how many are in it */
byte first = NEVER;      /* the earliest deadline of these */
byte taken = 0;          /* records that the worker took when it went to sleep, and has not handled yet */
byte received = 0;
bool asleep = false; /* in the kernel: on the signal */
bool may_wake = false; /* the user's wake function may be called */
bool has_ended = false; /* the worker */

#ifdef REAL_TIME
#define if_it_has_the_processor provided (asleep || has_ended)
#else
#define if_it_has_the_processor
#endif

/* verge__park_wake */
inline wake(deadline) {
    until = wait_until;
    do
    :: until <= WAKING || until <= deadline -> break
    :: else ->
        atomic {
            if
            :: wait_until == until -> wait_until = WAKING; until = WAKING; is_waker = true
            :: else -> until = wait_until
            fi
        }
        if
        :: is_waker -> break
        :: else
        fi
    od;
    if
    :: is_waker ->
        is_waker = false;
#ifdef M_AWAKE_BEFORE_THE_WAKE_FUNCTION
        wait_until = AWAKE;
#endif
#ifndef M_SIGNAL_UNCHANGED
        signal++;
#endif
        assert(may_wake); /* worker->wake(worker->wake_context): it wakes a worker that waits by means of its own */
        if
        :: asleep = false
        :: true
        fi;
        assert(may_wake);
#ifndef M_AWAKE_BEFORE_THE_WAKE_FUNCTION
        atomic { until = wait_until; wait_until = AWAKE }
#ifndef M_END_IS_NOT_SIGNALLED
        if
        :: until == WAKING_AWAITED -> signal++
        :: else
        fi;
#endif
#endif
#ifndef M_KERNEL_NOT_TOLD
        asleep = false /* verge__futex_wake_all */
#endif
    :: else
    fi
}

/* verge__inbox_push */
inline push(deadline) {
    d_step {
        inbox++;
        if
        :: deadline < first -> first = deadline
        :: else
        fi
    }
}

/* verge__send */
proctype sender() if_it_has_the_processor {
    byte until;
    byte deadline;
    byte left = ITEMS;
    bool is_waker = false;
    do
    :: left > 0 ->
        left--;
        if
        :: deadline = SOON
        :: deadline = LATER
        fi;
#ifdef M_LOOK_BEFORE_THE_PUSH
        wake(deadline);
        push(deadline)
#else
        push(deadline);
#ifndef M_NO_WAKE
        wake(deadline)
#endif
#endif
    :: else -> break
    od
}

/* verge_worker_run_once */
proctype worker() {
    byte s;
    byte until;
    byte e; /* the signal, in verge__park_end */
    byte w; /* wait_until, there */
    byte f; /* the earliest deadline of the records that it took when it went to sleep */
    do
    :: received == SENDERS * ITEMS -> break
    :: else ->
        d_step { received = received + inbox + taken; inbox = 0; taken = 0; first = NEVER } /* verge__inbox_take */
        if
        :: received == SENDERS * ITEMS -> break
        :: else
        fi;
        if
        :: until = LATER
        :: until = NEVER
        fi;
        may_wake = true;
        /* verge__park_begin */
#ifndef M_SIGNAL_READ_LATE
        s = signal;
#endif
#ifdef M_LOOK_BEFORE_SAYING
        if
        :: inbox == 0
        :: else -> goto stay_awake
        fi;
        wait_until = until;
#else
        wait_until = until;
#ifndef M_NO_SECOND_LOOK
        if
        :: /* verge__park_begin: it looks */
            if
            :: inbox == 0
            :: else -> goto stay_awake
            fi
        :: /* begin_sleep (pass.c): it takes what is there, and looks when that is due */
            d_step { f = first; taken = inbox; inbox = 0; first = NEVER }
#ifndef M_SLEEPS_LONGER_THAN_TAKEN
            if
            :: taken > 0 && f < until -> f = 0; goto stay_awake
            :: else -> f = 0
            fi
#endif
        fi;
#endif
#endif
#ifdef M_SIGNAL_READ_LATE
        s = signal;
#endif
        /* verge__park_sleep: the kernel compares and goes to sleep at once */
        atomic {
            if
            :: signal == s -> asleep = true
            :: else
            fi
        }
        if
        :: !asleep
        :: until == LATER -> asleep = false /* by itself */
        fi;
stay_awake:
        /* verge__park_end */
#ifdef M_END_DOES_NOT_WAIT
        wait_until = AWAKE;
#else
        do
        :: e = signal;
            w = wait_until;
            if
            :: w == AWAKE -> break
            :: w > WAKING ->
                atomic {
                    if
                    :: wait_until == w -> wait_until = AWAKE; break
                    :: else
                    fi
                }
            :: w == WAKING || w == WAKING_AWAITED ->
#ifdef M_END_SPINS
                wait_until == AWAKE /* without sleeping: the processor stays here */
#else
                atomic {
                    if
                    :: wait_until == w -> wait_until = WAKING_AWAITED
                    :: else -> w = AWAKE /* look again */
                    fi
                }
                if
                :: w != AWAKE ->
                    atomic { /* verge__futex_sleep: the kernel compares and goes to sleep at once */
                        if
                        :: signal == e -> asleep = true
                        :: else
                        fi
                    }
                    !asleep
                :: else
                fi
#endif
            fi
        od;
        atomic { e = 0; w = 0 }
#endif
        may_wake = false
    od;
    has_ended = true
}

init {
    atomic {
        run worker();
        run sender();
        run sender()
    }
}

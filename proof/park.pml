/* SPDX-License-Identifier: MIT */
/*
 * park.pml - a worker that goes to sleep, and two threads that have something for it (src/service/park.h).
 *
 * Each shared access is a step of its own, in any order of the threads. What is to be shown:
 *
 *   nothing is missed   whoever sends what must be looked at before the worker would wake up by itself wakes it: otherwise it
 *                       sleeps for ever, which spin reports as an invalid end state;
 *   nothing dangles     after verge__park_end no thread is in the user's wake function: the assertion in wake().
 *
 * Times are 2 (soon), 3 (when the worker may wake up by itself) and 4 (never). Mutations are defined by -D; each of them
 * must break one of the two.
 */
#define AWAKE 0
#define WAKING 1
#define SOON 2
#define LATER 3
#define NEVER 4

#define SENDERS 2
#define ITEMS 2 /* of each sender */

byte wait_until = AWAKE; /* worker->wait_until_ns */
byte signal = 0;         /* worker->signal */
byte inbox = 0;          /* how many are in it */
byte received = 0;
bool asleep = false; /* in the kernel */
bool may_wake = false; /* the user's wake function may be called */

/* verge__park_wake */
inline wake(deadline) {
    until = wait_until;
    do
    :: until <= WAKING || until <= deadline -> break
    :: else ->
        atomic {
            if
            :: wait_until == until -> wait_until = WAKING; until = WAKING; claimed = true
            :: else -> until = wait_until
            fi
        }
        if
        :: claimed -> break
        :: else
        fi
    od;
    if
    :: claimed ->
        claimed = false;
#ifdef M_AWAKE_BEFORE_THE_WAKE_FUNCTION
        wait_until = AWAKE;
#endif
#ifndef M_SIGNAL_UNCHANGED
        signal++;
#endif
        assert(may_wake); /* worker->wake(worker->wake_context) */
        assert(may_wake);
#ifndef M_KERNEL_NOT_TOLD
        asleep = false; /* verge__futex_wake_all */
#endif
#ifndef M_AWAKE_BEFORE_THE_WAKE_FUNCTION
        wait_until = AWAKE
#endif
    :: else
    fi
}

/* verge__send */
proctype sender() {
    byte until;
    byte deadline;
    byte left = ITEMS;
    bool claimed = false;
    do
    :: left > 0 ->
        left--;
        if
        :: deadline = SOON
        :: deadline = LATER
        fi;
#ifdef M_LOOK_BEFORE_THE_PUSH
        wake(deadline);
        inbox++
#else
        inbox++;
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
    do
    :: received == SENDERS * ITEMS -> break
    :: else ->
        d_step { received = received + inbox; inbox = 0 } /* verge__inbox_take */
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
        :: inbox == 0
        :: else -> goto stay_awake
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
#ifndef M_END_DOES_NOT_WAIT
        do
        :: wait_until == AWAKE -> break
        :: wait_until == WAKING -> skip
        :: else ->
            atomic {
                if
                :: wait_until > WAKING -> wait_until = AWAKE; break
                :: else
                fi
            }
        od;
#else
        wait_until = AWAKE;
#endif
        may_wake = false
    od
}

init {
    atomic {
        run worker();
        run sender();
        run sender()
    }
}

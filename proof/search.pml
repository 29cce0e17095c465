/* SPDX-License-Identifier: MIT */
/*
 * search.pml - runners that search for tasks, park, and are called (src/task/search.h).
 *
 * Runner 0 is a hog: it makes tasks ready, and never runs them itself. Runners 1 and 2 run the tasks that they find.
 * Such a task may make another one ready. A runner that parks may also wake up by itself, with a task of its own. A
 * ring is modelled as the number of its tasks; ring.pml is about how they are taken. Each access to shared data is a
 * step of its own, in any order of the threads.
 *
 * What is to be shown:
 *   nothing stays    when no runner can go on, every task has been run: none is left in a ring while runners sleep;
 *   one searches     at most one runner searches at a time, and a runner that is called knows it;
 *   nothing spins    -DREAL_TIME: one processor, and runner 1 has a higher priority than all others, which run only
 *                    while it sleeps. It goes round its loop at most three times without having slept or taken a task.
 */
#ifndef PUSHES
#define PUSHES 2 /* tasks that the hog makes ready */
#endif
#ifndef MORE
#define MORE 1 /* tasks that tasks make ready */
#endif
#ifndef KEEPS
#define KEEPS 0 /* 1: one of the tasks keeps its worker for good, as the hog does */
#endif
#ifndef EVENTS
#define EVENTS 1 /* times that a runner wakes up by itself, with a task */
#endif

byte ring[3];
bool parked[3];
bool is_searching = false;
bool is_waiting[3]; /* in its reactor: a runner that calls it wakes it */
bool asleep[3];     /* because it waits in its reactor, or naps */

byte more = MORE;
byte events = EVENTS;
byte keeps = KEEPS;

/* ---- what happened, for the assertions ---- */
byte left = 0;      /* tasks that are ready */
byte searchers = 0; /* runners that believe that they are the one that searches */
#ifdef REAL_TIME
byte rounds = 0; /* of runner 1, without having slept or taken anything */
#define count_round if :: id == 1 -> rounds++; assert(rounds <= 3) :: else fi
#define count_progress if :: id == 1 -> rounds = 0 :: else fi
#else
#define count_round skip
#define count_progress skip
#endif

#ifdef M_CALLED_STAYS_PARKED
#define unpark(r) skip
#else
#define unpark(r) parked[r] = false
#endif

/* verge__offer, verge__offer_slowly: the right side of search.h, from 2 */
inline offer() {
    do
    :: is_searching -> break
    :: else ->
        if
        :: !parked[1] && !parked[2] -> break
        :: else
        fi;
        atomic { /* begin_search */
            if
            :: is_searching -> break
            :: else -> is_searching = true
            fi
        }
        atomic { /* unpark_any */
            if
            :: parked[1] -> called = 1; unpark(1)
            :: !parked[1] && parked[2] -> called = 2; unpark(2)
            :: else -> called = 0
            fi
        }
        if
        :: d_step { called != 0 -> /* verge__runner_notify. What it wakes may take the processor away */
            asleep[called] = asleep[called] && !is_waiting[called];
            is_waiting[called] = false;
            called = 0
        }
            break
        :: called == 0 ->
            is_searching = false
#ifdef M_NO_SECOND_TRY
            ; break
#endif
        fi
    od
}

/* verge__share, by a task */
inline push(r) {
#ifdef M_OFFER_BEFORE_THE_PUSH
    offer();
    atomic { ring[r]++; left++ }
#else
    atomic { ring[r]++; left++ }
#ifndef M_NO_OFFER
    offer()
#endif
#endif
}

#define other (3 - id)

/* others_have_tasks */
inline look_again() {
    found = ring[0] > 0;
    if
    :: found
    :: !found -> found = ring[other] > 0
    fi
}

/* verge__search_end */
inline search_end() {
    if
    :: mine ->
        atomic { mine = false; searchers--; is_searching = false }
#ifndef M_END_WITHOUT_A_LOOK
        look_again();
        if
        :: atomic { found -> found = false }
            offer()
        :: else
        fi
#endif
    :: else
    fi
}

/* verge__steal */
inline steal(victim) {
    atomic {
        if
        :: ring[victim] > 0 -> ring[victim]--; ring[id]++; count_progress
        :: ring[victim] == 1 -> skip /* they are few, and left alone for once */
        :: ring[victim] == 0 -> skip
        fi
    }
}

proctype hog()
#ifdef REAL_TIME
provided (asleep[1])
#endif
{
    byte pushes = PUSHES;
    byte called = 0;
    do
    :: atomic { pushes > 0 -> pushes-- }
        push(0)
    :: pushes == 0 -> break
    od
}

inline be_a_runner() {
    do
    :: ring[id] > 0 -> /* a round */
        search_end();
        atomic { /* verge__task_ring_pop */
            if
            :: ring[id] > 0 ->
                ring[id]--;
                left--;
                count_progress;
                makes_one = more > 0;
                more = (more > 0 -> more - 1 : 0)
            :: else
            fi
        }
        if
        :: makes_one -> makes_one = false; push(id)
        :: else
        fi;
        if
        :: atomic { keeps > 0 -> keeps-- }
end_kept:
            false /* the task does not let go of its worker */
        :: true
        fi
    :: ring[id] == 0 -> /* wait_for_work */
        atomic { /* verge__search */
            count_round;
            if
            :: mine
            :: !mine && !is_searching -> is_searching = true; mine = true; searchers++; assert(searchers == 1)
            :: else -> goto park
            fi
        }
        steal(0);
        if
        :: ring[id] == 0 -> steal(other)
        :: else
        fi;
        if
        :: ring[id] > 0 -> goto again
        :: else
        fi;
        look_again();
        if
        :: atomic { found -> /* it naps: for a while it does nothing, and is the one who searches */
            found = false; asleep[id] = true; count_progress }
            asleep[id] = false;
            goto again
        :: else
        fi;
park:
        is_waiting[id] = true;
        /* verge__park */
#ifdef M_LOOK_BEFORE_PARKING
        look_again();
#endif
        parked[id] = true;
#ifdef M_STILL_SEARCHES_WHEN_IT_LOOKS
        look_again();
#endif
        atomic {
            if
            :: mine -> mine = false; searchers--; is_searching = false
            :: else
            fi
        }
#if !defined(M_LOOK_BEFORE_PARKING) && !defined(M_STILL_SEARCHES_WHEN_IT_LOOKS) && !defined(M_NO_LOOK_WHEN_PARKED)
        look_again();
#endif
        atomic { /* begin_search: it calls itself */
#ifdef M_AWAKE_WHOEVER_SEARCHES
            stays = found;
#else
            stays = found && !is_searching;
#endif
            found = false;
#ifndef M_AWAKE_WITHOUT_A_SEARCH
            if
            :: stays && !is_searching -> is_searching = true; parked[id] = false
            :: else
            fi
#endif
        }
        if
        :: stays ->
            atomic {
                stays = false;
                if /* its reactor may have a task for it */
                :: events > 0 -> events--; ring[id]++; left++
                :: true
                fi
            }
        :: else ->
            atomic { /* the kernel: a wake that came before is not lost */
                asleep[id] = is_waiting[id];
                if
                :: asleep[id] -> count_progress
                :: else
                fi
            }
end_parked:
            if
            :: !asleep[id]
            :: atomic { asleep[id] && events > 0 -> events--; asleep[id] = false; ring[id]++; left++ }
            fi
        fi;
        atomic { /* verge__unpark */
            is_waiting[id] = false;
#ifndef M_CALLED_DOES_NOT_KNOW
            if
            :: !parked[id] -> mine = true; searchers++; assert(searchers == 1)
            :: else
            fi;
#endif
            parked[id] = false
        }
again:
        skip
    od
}

proctype urgent() {
    byte id = 1;
    bool found = false;
    bool stays = false;
    bool mine = false; /* search.is_mine */
    bool makes_one = false;
    byte called = 0;
    be_a_runner()
}

proctype common()
#ifdef REAL_TIME
provided (asleep[1])
#endif
{
    byte id = 2;
    bool found = false;
    bool stays = false;
    bool mine = false;
    bool makes_one = false;
    byte called = 0;
    be_a_runner()
}

/* Nobody can go on. */
proctype end() {
    timeout -> assert(left == 0)
}

init {
    atomic {
        run hog();
        run urgent();
        run common();
        run end()
    }
}

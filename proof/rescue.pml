/* SPDX-License-Identifier: MIT */
/*
 * rescue.pml - the part of record.pml for a service that watches for stuck callbacks (-DWATCHED). A worker that is in a
 * callback lays its turn down. The other worker may then take the turn, and move due timers to itself
 * (src/service/turn.h, rescue.c).
 *
 * How long a callback has been running does not matter here: the other worker may rescue at any moment of it. A worker
 * is in the callback of the record, or in that of another timer (`block`), which does nothing, or something with the
 * record. What is shown is what record.pml says, and
 *   due  after a rescue, the rescued worker has no due timer left.
 */
bool is_laid[3];     /* the turn of a worker */
bool in_callback[3]; /* callback_since_ns != 0 */
bool in_incoming[3]; /* the record is in the chain of what a worker has taken from its inbox */

bool is_awaited[3];  /* the thread of a worker has said that it waits for its turn */

/* verge__turn_take, by the worker's own thread */
inline turn_take() {
#ifdef M_RESCUE_TURN_SPINS
    atomic { is_laid[id] -> is_laid[id] = false }
#else
    do
    :: atomic { is_laid[id] -> is_laid[id] = false; break }
    :: atomic { !is_laid[id] -> is_awaited[id] = true }
        atomic { /* the kernel compares and puts to sleep at once */
            if
            :: is_awaited[id] -> sleeps_on[id] = TURN
            :: else
            fi
        }
        sleeps_on[id] == 0
    od
#endif
}

/* verge__turn_lay_down */
inline turn_lay(worker) {
    atomic { is_laid[worker] = true; ok = is_awaited[worker]; is_awaited[worker] = false };
#ifndef M_RESCUE_TURN_LAID_IN_SILENCE
    if
    :: ok -> sleeps_on[worker] = 0
    :: else
    fi;
#endif
    ok = false
}

inline begin_callback() {
    in_callback[id] = true;
    turn_lay(id)
}

/* verge__turn_begin, verge__worker_end_watch */
inline end_callback() {
#ifndef M_RESCUE_TURN_NOT_TAKEN_UP
    turn_take();
#else
    is_laid[id] = false;
#endif
    in_callback[id] = false
}

/* What a callback does with its worker */
inline call_on_turn() {
#ifndef M_RESCUE_CALLED_WITHOUT_TURN
    turn_take();
    call();
    turn_lay(id)
#else
    call()
#endif
}

/* Another timer's callback. */
inline block() {
    begin_callback();
#ifdef REAL_TIME
    end_call; /* it sleeps for a while, and so gives the processor to others */
    begin_call;
#endif
    if
    :: calls_left > 0 && generation_of(word) > 0 -> calls_left--; choose_handle(); call_on_turn(); forget
    :: true
    fi;
    end_callback()
}

/* ---- rescue.c ---- */

/* hand_over, of a record that is LINKED and in hand */
inline hand_over() {
    w = word;
    ok = false;
    do
    :: atomic {
        !ok ->
        assert(has(w, LINKED)); /* S1 */
        if
#ifndef M_RESCUE_TAKES_WHAT_RUNS
        :: state_of(w) == RUNNING -> to = w & ~LINKED
        :: state_of(w) != RUNNING ->
#else
        :: true ->
#endif
#ifndef M_RESCUE_CHANGES_OWNER_LATE
            to = with_owner(w, id)
#else
            to = w
#endif
        fi;
        change();
        if
        :: ok -> in_hand[id] = false; in_incoming[id] = has(to, LINKED)
        :: else
        fi
    }
    :: else -> break
    od
}

/* rescue_timer: the record, at `tick`, has been taken out of the other's wheel */
inline rescue_node() {
    w = word;
    if
    :: owner_of(w) == other && place == tick ->
        unlink(other);
        if
        :: in_hand[id] -> hand_over()
        :: else
        fi
    :: else
    fi
}

/* rescue_chain */
inline rescue_from(box) {
    atomic {
        if
        :: box -> box = false; in_hand[id] = true
        :: else
        fi
    }
    if
    :: in_hand[id] ->
        w = word;
#ifndef M_RESCUE_KEEPS_THE_PLACE
        if
        :: owner_of(w) == other && place != NO_TICK -> place = NO_TICK
        :: else
        fi;
#endif
        hand_over()
    :: else
    fi
}

inline rescue() {
    atomic {
        let_time_pass();
        due = now;
        tick = 1
    }
    do
    :: tick <= due && (wheel[other] & bit(tick)) != 0 ->
        wheel[other] = wheel[other] & ~bit(tick);
        rescue_node();
        tick++
    :: tick <= due && (wheel[other] & bit(tick)) == 0 -> tick++
    :: tick > due -> break
    od;
    rescue_from(in_inbox[other]);
    rescue_from(in_incoming[other]);
    /* due */
    assert(owner_of(word) != other || state_of(word) != SCHEDULED || has(word, LINKED | WRITING) || deadline > due)
}

/* verge__worker_rescue_others */
inline rescue_others() {
    other = 3 - id;
    if
    :: in_callback[other] ->
        atomic {
            ok = is_laid[other];
            is_laid[other] = false
        }
        if
        :: ok -> rescue(); turn_lay(other)
        :: else
        fi
    :: true /* it is not stuck yet */
    fi;
    forget;
    forget_pass
}

/* verge__worker_receive. What has been taken may be too much for this pass: then it stays in the chain */
inline receive() {
    atomic {
        if
        :: in_inbox[0] -> in_inbox[0] = false; in_incoming[id] = true
        :: in_inbox[id] -> in_inbox[id] = false; in_incoming[id] = true
        :: else
        fi
    }
    if
    :: atomic { in_incoming[id] -> in_incoming[id] = false; in_hand[id] = true } take()
    :: true
    fi
}

/* SPDX-License-Identifier: MIT */
/*
 * ring.pml - the ring of ready tasks: its owner pushes and pops, others steal (src/task/ring.h, R1 to R3).
 *
 * The ring has two slots, and the owner has more tasks than that. As in verge_yield, a task is pushed while the owner
 * is still on its stack. It is live until the owner has left the stack, after the push. Each shared access is a step of
 * its own, in any order of the threads. Exception: a thief reads a slot and whether its task is live in one step.
 *
 * What is to be shown:
 *   once         no task is taken twice: the assertion in `take`;
 *   alone        no thief takes a task while the owner is still on its stack;
 *   all of them  when no thread can go on, every task has been taken.
 */
#ifndef TASKS
#define TASKS 4
#endif
#ifndef THIEVES
#define THIEVES 2
#endif
#ifndef TRIES
#define TRIES 2 /* of each thief */
#endif
#define SIZE 2

byte slots[SIZE]; /* tasks from 1 on; 0: none yet */
byte head = 0;
byte tail = 0;
bool is_live[TASKS + 1];

byte taken[TASKS + 1];

inline take(task) {
    atomic {
        taken[task]++;
        assert(task != 0 && taken[task] == 1)
    }
}

/* verge__task_ring_pop. In the source, the owner may still be on the stack of the task that it pops: then it goes on
 * with this task. */
inline pop() {
    h = head;
    do
    :: h == tail -> break
    :: else ->
        task = slots[h % SIZE];
        atomic {
            if
            :: head == h -> head = h + 1; ok = true
            :: else -> h = head; ok = false
            fi
        }
        if
        :: ok -> ok = false; take(task); break
        :: else
        fi
    od;
    atomic { h = 0; task = 0 }
}

proctype owner() {
    byte next = 1;
    byte h;
    byte task;
    bool ok;
    do
    :: next <= TASKS ->
        /* verge__task_ring_push */
        h = head;
        if
#ifndef M_PUSH_INTO_A_FULL_RING
        :: tail - h == SIZE -> pop()
#endif
#ifdef M_PUSH_INTO_A_FULL_RING
        :: true ->
#else
        :: else ->
#endif
            is_live[next] = true;
#ifdef M_TAIL_BEFORE_THE_SLOT
            tail++;
            slots[(tail - 1) % SIZE] = next;
#else
            slots[tail % SIZE] = next;
            tail++;
#endif
            is_live[next] = false; /* verge__context_swap */
            next++
        fi;
        h = 0
    :: pop()
    :: next > TASKS && head == tail -> break
    od
}

/* verge__task_ring_steal */
proctype thief() {
    byte tries = TRIES;
    byte h;
    byte count;
    byte wanted;
    byte n;
    byte found[SIZE];
    bool ok;
    do
    :: tries > 0 ->
        tries--;
        h = head;
        count = tail - h;
        wanted = (count > SIZE -> 0 : count - count / 2);
#ifdef M_STEALS_A_LIVE_TASK
#define may_take true
#else
#define may_take !is_live[slots[(h + n) % SIZE]]
#endif
        n = 0;
        do
        :: n < wanted ->
            if
            :: atomic { may_take -> found[n] = slots[(h + n) % SIZE] }
                n++
            :: else -> break
            fi
        :: else -> break
        od;
        if
        :: n > 0 ->
#ifdef M_HEAD_IS_STORED
            head = h + n;
            ok = true;
#else
            atomic {
                ok = (head == h);
                if
                :: ok -> head = h + n
                :: else
                fi
            }
#endif
#ifdef M_SLOTS_READ_AFTER_THE_EXCHANGE
            if
            :: ok ->
                count = 0;
                do
                :: count < n -> found[count] = slots[(h + count) % SIZE]; count++
                :: else -> break
                od
            :: else
            fi;
#endif
            if
            :: ok ->
                count = 0;
                do
                :: count < n ->
                    assert(!is_live[found[count]]);
                    take(found[count]);
                    count++
                :: else -> break
                od
            :: else
            fi
        :: else
        fi;
        atomic { ok = false; h = 0; n = 0; count = 0; wanted = 0; found[0] = 0; found[1] = 0 }
    :: else -> break
    od
}

proctype end() {
    byte i = 1;
    timeout;
    do
    :: i <= TASKS -> assert(taken[i] == 1); i++
    :: else -> break
    od
}

init {
    atomic {
        run owner();
        run thief();
#if THIEVES > 1
        run thief();
#endif
        run end()
    }
}

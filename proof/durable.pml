/* SPDX-License-Identifier: MIT */
/*
 * durable.pml - steps P1 and P3 to P5 of durable timers (docs/DURABLE.md): one shard, one timer, a store, a process
 * that starts the timer, NODES nodes that take over, fire and die, and a process that cancels. The model takes for
 * granted what a database promises: a transaction happens as a whole or not at all; if it has locked or changed a row,
 * others wait for that row, or skip it.
 *
 * What is to be shown, in any order of the steps:
 *   D1/D2  a timer whose start returned 0 is pending, or has run, or was cancelled: exactly one of these
 *   D3     a timer does not run before it is due by the store's clock, whatever a node believes
 *   D4     a node that commits a firing has the shard's current epoch at that moment
 *   D5     if a cancel returns 0, the timer does not run
 *   D7     if a start with an unknown outcome is repeated, there is one timer
 * With -DOUTSIDE, the handler runs between two transactions, under a claim. Then it may run more than once. What is to
 * be shown is that only the last claim deletes the row.
 */
#ifndef NODES
#define NODES 2
#endif
#ifndef TRIES
#define TRIES 2 /* of each node to fire */
#endif

#define NOBODY 99
#define TRANSACTION 1
#define ASKER 2

/* ---- the store ---- */
byte epoch = 1;
byte owner = NOBODY;
bool lease_over = true; /* of the owner, by the store's clock */
bool shard_locked[NODES]; /* FOR SHARE */
byte rows = 0;            /* the timer's row; more than one if there were two timers */
byte row_lock = NOBODY;   /* who has changed the row, and has not committed */
byte revision = 0;        /* of the last claim */
bool claimed = false;
bool is_due = false; /* by the store's clock */
byte mark = NOBODY;  /* who has left the mark of the transaction whose commit was not answered */
bool commit_lost = false;
bool transaction_over = false;

/* ---- what happened ---- */
byte effects = 0; /* committed with a firing */
bool promised = false;
bool cancelled = false;
byte ended = 0;

#define somebody_shares (shard_locked[0] || shard_locked[1])

/* The clock of the store. Each machine has its own: a node may believe at any time that the timer is due. */
active proctype clock() {
    is_due = true;
    ended++
}

/* A lease ends when its node has been silent for too long. In the model, this may be at any time. */
active proctype silence() {
    do
    :: lease_over = true
    :: break
    od;
    ended++
}

/* P3: the scheduler is told of the commit, or the connection breaks, and the outcome is unknown. Then the server may
 * still commit, may have lost the transaction in a crash, or gives up the connection. The scheduler asks by the mark of
 * the transaction (postgres_connection.c). If the transaction was not committed, the scheduler inserts the timer again
 * with the same id. This insert waits for the end of the transaction that has inserted the id before. */
active proctype server() {
    (commit_lost || promised);
    atomic {
        if
        :: commit_lost && mark == NOBODY -> mark = TRANSACTION; rows = 1
        :: true
        fi;
        transaction_over = true
    }
    ended++
}

active proctype scheduler() {
    byte asked;
    if
    :: rows = 1; promised = true
    :: commit_lost = true;
#ifdef M_REPEATED_ANEW
        atomic { rows = rows + 1; promised = true }
#else
#ifdef M_NUMBER_AGAIN
        if /* after a crash, the server may give the number of a transaction that it has lost to another one */
        :: transaction_over -> promised = true
        fi
#else
        atomic { /* INSERT ... ON CONFLICT: who has it? */
#ifdef M_ASKS_WITHOUT_MARK
            asked = mark
#else
            if
            :: mark == NOBODY -> mark = ASKER
            :: else
            fi;
            asked = mark
#endif
        }
        if
        :: asked == TRANSACTION
        :: else -> atomic { transaction_over -> rows = 1 }
        fi;
        promised = true
#endif
#endif
    fi;
    ended++
}

/* P5 */
active proctype canceller() {
    bool was_there = false;
    if
    :: true -> skip
    :: promised ->
#ifdef M_CANCEL_BLIND
        atomic { /* says 0 although a firing has the row */
            if
            :: rows > 0 -> was_there = true; cancelled = true;
                if
                :: row_lock == NOBODY -> rows = 0
                :: else
                fi
            :: else
            fi
        }
#else
        atomic { /* FOR UPDATE SKIP LOCKED, and a DELETE: else VERGE_RUNNING, or -ENOENT */
            if
            :: rows > 0 && row_lock == NOBODY && !claimed -> rows = 0; cancelled = true
            :: else
            fi
        }
#endif
    fi;
    ended++
}

inline take_over(me) {
    /* P1: one UPDATE. It waits for whoever has the shard's row FOR SHARE. */
    atomic {
#ifdef M_KEY_SHARE
        if
        :: lease_over -> epoch++; owner = me; mine = epoch; lease_over = false
        :: else
        fi
#else
        if
        :: lease_over && !somebody_shares -> epoch++; owner = me; mine = epoch; lease_over = false
        :: else
        fi
#endif
    }
}

proctype node(byte me) {
    byte mine = 0;
    byte tries = 0;
    byte claim = 0;
    bool has = false;
    do
    :: tries < TRIES ->
        tries++;
        if
        :: true -> take_over(me)
        :: skip
        fi;
        if
        :: mine == 0 -> goto next
        :: else
        fi;
#ifndef OUTSIDE
        /* P4: the lock on the shard and the DELETE are one statement */
        has = false;
        atomic {
            if
#ifdef M_NO_EPOCH
            :: shard_locked[me] = true
#else
            :: epoch == mine -> shard_locked[me] = true
            :: epoch != mine -> goto next
#endif
            fi;
            if
#ifdef M_LOCAL_CLOCK
            :: rows > 0 && row_lock == NOBODY -> row_lock = me; has = true
            :: else
#else
            :: rows > 0 && row_lock == NOBODY && is_due -> row_lock = me; has = true
            :: else
#endif
            fi
        }
        /* the handler runs, in the transaction; the process may die */
        if
        :: true -> atomic { /* COMMIT */
               if
               :: has ->
                   assert(is_due);        /* D3 */
                   assert(epoch == mine); /* D4 */
                   rows--; effects++; row_lock = NOBODY
               :: else
               fi;
               shard_locked[me] = false
           }
        :: true -> atomic { /* dies: the server rolls back, and another process begins */
#ifdef M_EFFECT_BEFORE_COMMIT
               if
               :: has -> effects++
               :: else
               fi;
#endif
               if
               :: has -> row_lock = NOBODY
               :: else
               fi;
               shard_locked[me] = false; mine = 0
           }
        fi
#else
        /* claim: a transaction of its own; it moves the row ahead, so that another node may claim it again later */
        has = false;
        atomic {
            if
            :: epoch == mine && rows > 0 && row_lock == NOBODY && is_due ->
                revision++; claim = revision; claimed = true; has = true
            :: else
            fi
        }
        if
        :: has -> /* the handler runs, outside */
            if
            :: true -> atomic { /* complete */
#ifdef M_NO_REVISION
                   if
                   :: rows > 0 -> assert(claim == revision); rows--; effects++; claimed = false
                   :: else
                   fi
#else
                   if
                   :: rows > 0 && claim == revision -> rows--; effects++; claimed = false
                   :: else
                   fi
#endif
               }
            :: mine = 0 /* dies: the claim ends when its time is over */
            fi
        :: else
        fi
#endif
next:   skip
    :: else -> break
    od;
    ended++
}

init {
    byte i = 0;
    do
    :: i < NODES -> run node(i); i++
    :: else -> break
    od;
    (ended == NODES + 5);
    /* D1, D2, D5, D7: there, or run, or cancelled */
    assert(!promised || rows + effects + (cancelled -> 1 : 0) == 1)
}

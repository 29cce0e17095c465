/* SPDX-License-Identifier: MIT */
/*
 * tests/durable/model_store.h - a store as the protocol expects it: tables in memory, transactions that happen as a
 * whole or not at all, and a clock of its own. Its network loses requests, answers, and answers to a commit. It is for
 * one thread.
 */
#ifndef VERGE_TESTS_DURABLE_MODEL_STORE_H
#define VERGE_TESTS_DURABLE_MODEL_STORE_H

#include "durable/store.h"
#include "support/random.h"

#define MODEL_SCAN_MINUTE_NS UINT64_C(300000000)

enum { MODEL_ROWS_MAX = 4096, MODEL_NODES_MAX = 64, MODEL_SHARDS = 8 };

struct model_tables {
    struct model_row {
        verge__row row;
        bool is_there;
        bool is_running;
        uint32_t counted_attempt; /* before its handler was called; 0: none */
        char handler[32];
    } rows[MODEL_ROWS_MAX];
    uint32_t row_count;
    uint32_t dead_count;
    uint64_t ledger[MODEL_ROWS_MAX]; /* what handlers have written, in the transactions that fired them */
    uint32_t ledger_count;
    struct {
        uint64_t epoch;
        uint64_t owner;
        bool clean;
        bool careful;                /* the last owner was, when it gave the shard back */
        uint64_t taken_from_dead_by; /* the last node to take it, if the owner before had died, or was careful */
    } shards[MODEL_SHARDS];
    uint64_t lease_until[MODEL_NODES_MAX]; /* of each node; 0: the node has left */
    uint64_t incarnation;
    verge_durable_control control; /* the controls of the only handler that has some */
    uint64_t control_revision;
    uint64_t next_run_ns;
    struct {
        uint64_t ticket; /* 0: none */
        uint64_t until_ns;
    } permits[MODEL_NODES_MAX]; /* one for each node, as each has one firer */
    uint64_t ticket;
};

struct model_store {
    struct model_tables now;    /* what is committed */
    struct model_tables before; /* the tables of a replica, which may be promoted */
    uint64_t server_id;         /* connections to a server with another id are lost */
    uint64_t now_ns;
    uint64_t local_ns; /* what the clock of the node shows that asks */
    struct verge_test_random random;
    uint32_t loss; /* one in so many questions fails; 0: none */
    uint64_t lost;
    uint64_t notified;   /* rows of which owners were notified */
    uint32_t asked_slot; /* of the last question for a permit */
    bool locks;          /* other transactions may have locked rows */
    bool refuses_cancel; /* the role lacks a right */
    bool loses_answer;   /* the next commit happens, and its answer is lost */
    uint64_t early;      /* how many rows were taken before they were due; must be 0 */
    /* If not NULL, scans and waits take time. Rows of timers that have fired since gone_since_ns are deleted, but a
     * scan still has to pass them: MODEL_SCAN_MINUTE_NS for those of a minute. */
    void (*pass_time)(uint64_t by_ns);
    uint64_t gone_since_ns;
    bool is_scanning;        /* while a scan calls pass_time */
    void (*began)(void);     /* if not NULL, called once, before the next transaction */
    void (*answered)(void);  /* if not NULL, called once, after the next begin, renewal or new incarnation */
    void (*committed)(void); /* if not NULL, called once, after the next commit */
};

extern struct model_store model;
extern const verge__store model_store;

void model_reset(uint64_t seed);

void model_give_back(uint32_t shard); /* the owner gives the shard back */

/* Somebody sets the controls of the handler. */
void model_control(const char *handler, bool is_paused, uint32_t concurrency, uint32_t rate);

/* model_replicate copies the tables to a replica. With model_fail_over, the replica takes over. It lacks everything
 * that was committed in between. */
void model_replicate(void);
void model_fail_over(void);

/* What a handler writes, in the transaction of the connection. */
void model_write(verge__connection *connection, uint64_t id);

/* Planted mistakes: the simulation has to notice each. */
enum model_mistake {
    NO_MISTAKE,
    MISTAKE_KEEPS_ROW,    /* take returns rows, and does not delete them */
    MISTAKE_NO_CLOCK,     /* take does not look at the time */
    MISTAKE_LOST_COMMIT,  /* a commit returns 0, and has not happened */
    MISTAKE_NUMBER_AGAIN, /* the question about a lost commit is answered for another transaction */
    MISTAKE_CANCEL,       /* a cancel returns 0, and has not happened */
    MISTAKE_COUNT,
};
extern enum model_mistake model_mistake;

#endif

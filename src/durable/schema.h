/* SPDX-License-Identifier: MIT */
/*
 * durable/schema.h - the tables, for both stores; only the types of columns and verge_mark differ. Numbers have 64
 * bits.
 *
 * verge_meta     one row. A library of version v uses the tables if min_version <= v <= version. incarnation: the last
 *                one given out.
 * verge_node     the nodes. lease_until: when other nodes may take the node's shards. seen: when the node last renewed
 *                its lease, in store time.
 * verge_shard    owner: 0 means none. clean: 0 while the shard has an owner. If clean is 0 when the owner is dead, a
 *                handler may have killed the owner. 1: the last owner gave the shard back. 2: the same, and the owner
 *                was careful (durable_internal.h).
 * verge_timer    pending timers. running: 1 if the timer is claimed for a handler outside of a transaction, until
 *                `due`.
 * verge_dead     timers that were given up.
 * verge_mark     since version 2, on PostgreSQL only: see postgres_connection.c.
 * verge_control  settings of handlers for the whole cluster. next_run: when the rate allows the next timer. revision: a
 *                random number that changes with each change. Nodes compare the sum of all revisions with the sum that
 *                they know.
 * verge_permit   batches that run or wait to run, of handlers whose concurrency is limited in the cluster (permits.c).
 *
 * Since version 3, there are verge_control, verge_permit, and the column `rule`, which is NULL for timers without a
 * rule.
 */
#ifndef VERGE_SRC_DURABLE_SCHEMA_H
#define VERGE_SRC_DURABLE_SCHEMA_H

#define VERGE__SCHEMA_CONTROL(NUMBER, TEXT) \
    "CREATE TABLE verge_control (handler " TEXT " PRIMARY KEY, paused " NUMBER " NOT NULL, concurrency " NUMBER \
    " NOT NULL, rate " NUMBER " NOT NULL, next_run " NUMBER " NOT NULL, revision " NUMBER " NOT NULL);" \
    "CREATE TABLE verge_permit (handler " TEXT " NOT NULL, node " NUMBER " NOT NULL, slot " NUMBER \
    " NOT NULL, ticket " NUMBER " NOT NULL, until " NUMBER " NOT NULL, PRIMARY KEY (handler, node, slot));"

#define VERGE__SCHEMA(NUMBER, TEXT, BYTES) \
    VERGE__SCHEMA_CONTROL(NUMBER, TEXT) \
    "CREATE TABLE verge_meta (version " NUMBER " NOT NULL, min_version " NUMBER " NOT NULL, shards " NUMBER \
    " NOT NULL, incarnation " NUMBER " NOT NULL);" \
    "CREATE TABLE verge_node (node " NUMBER " PRIMARY KEY, name " TEXT " NOT NULL, lease_until " NUMBER \
    " NOT NULL, seen " NUMBER " NOT NULL);" \
    "CREATE TABLE verge_shard (shard " NUMBER " PRIMARY KEY, epoch " NUMBER " NOT NULL, owner " NUMBER \
    " NOT NULL, clean " NUMBER " NOT NULL);" \
    "CREATE TABLE verge_timer (id " NUMBER " PRIMARY KEY, shard " NUMBER " NOT NULL, due " NUMBER \
    " NOT NULL, attempt " NUMBER " NOT NULL, running " NUMBER " NOT NULL, revision " NUMBER \
    " NOT NULL, period " NUMBER " NOT NULL, policy " NUMBER " NOT NULL, handler " TEXT " NOT NULL, name " BYTES \
    ", payload " BYTES " NOT NULL, rule " TEXT ");" \
    "CREATE INDEX verge_timer_due ON verge_timer (shard, due, id);" \
    "CREATE UNIQUE INDEX verge_timer_name ON verge_timer (handler, name) WHERE name IS NOT NULL;" \
    "CREATE TABLE verge_dead (id " NUMBER " PRIMARY KEY, due " NUMBER " NOT NULL, attempt " NUMBER \
    " NOT NULL, period " NUMBER " NOT NULL, policy " NUMBER " NOT NULL, handler " TEXT " NOT NULL, name " BYTES \
    ", payload " BYTES " NOT NULL, reason " TEXT " NOT NULL, died " NUMBER " NOT NULL, rule " TEXT ");"

/* Adds what tables of versions before 3 lack, except verge_mark. */
#define VERGE__SCHEMA_3(NUMBER, TEXT) \
    VERGE__SCHEMA_CONTROL(NUMBER, TEXT) \
    "ALTER TABLE verge_timer ADD COLUMN rule " TEXT "; ALTER TABLE verge_dead ADD COLUMN rule " TEXT ";"

/* Changes the settings of a handler. A negative number leaves its column as it is. */
#define VERGE__CONTROL(HANDLER, PAUSED, CONCURRENCY, RATE, REVISION) \
    "INSERT INTO verge_control (handler, paused, concurrency, rate, next_run, revision) VALUES (" HANDLER \
    ", CASE WHEN " PAUSED " < 0 THEN 0 ELSE " PAUSED " END, CASE WHEN " CONCURRENCY " < 0 THEN 0 ELSE " CONCURRENCY \
    " END, CASE WHEN " RATE " < 0 THEN 0 ELSE " RATE " END, 0, " REVISION ") ON CONFLICT (handler) DO UPDATE SET " \
    "paused = CASE WHEN " PAUSED " < 0 THEN verge_control.paused ELSE " PAUSED \
    " END, concurrency = CASE WHEN " CONCURRENCY " < 0 THEN verge_control.concurrency ELSE " CONCURRENCY \
    " END, rate = CASE WHEN " RATE " < 0 THEN verge_control.rate ELSE " RATE " END, next_run = CASE WHEN " RATE \
    " < 0 THEN verge_control.next_run ELSE 0 END, revision = excluded.revision"

#define VERGE__LIST_CONTROLS(LIMIT) \
    "SELECT handler, paused, concurrency, rate FROM verge_control WHERE paused <> 0 OR concurrency <> 0 OR rate <> 0 " \
    "ORDER BY handler LIMIT " LIMIT

/* Reads who owns which shard, and the number of dead timers up to a limit. */
#define VERGE__OWNERS(LIMIT) \
    "SELECT s.shard, s.owner, coalesce(n.lease_until, 0), coalesce(n.name, ''), " \
    "(SELECT count(*) FROM (SELECT id FROM verge_dead LIMIT " LIMIT ") d) " \
    "FROM verge_shard s LEFT JOIN verge_node n ON n.node = s.owner ORDER BY s.owner, s.shard"

/* Finds rows that verge cannot have written, and returns a sentence about each. The two %u stand for the number of
 * shards. */
#define VERGE__CHECK \
    "SELECT 'timer ' || id || ' is not of its shard ' || shard FROM verge_timer WHERE shard <> (id & 255) UNION ALL " \
    "SELECT 'timer ' || id || ' is of shard ' || shard || ', which is not there' FROM verge_timer " \
    "WHERE shard NOT IN (SELECT shard FROM verge_shard) UNION ALL " \
    "SELECT 'timer ' || id || ' has a number that is out of range' FROM verge_timer WHERE id <= 0 OR due < 0 OR " \
    "attempt < 0 OR attempt > 4294967295 OR period < 0 OR policy < 0 OR policy > 2 UNION ALL " \
    "SELECT 'timer ' || id || ' has no handler' FROM verge_timer WHERE length(handler) NOT BETWEEN 1 AND 64 UNION " \
    "ALL " \
    "SELECT 'timer ' || id || ' has a key or a payload that is too long' FROM verge_timer " \
    "WHERE length(payload) > 1048576 OR length(name) > 255 UNION ALL " \
    "SELECT 'timer ' || id || ' has a rule that is too long' FROM verge_timer WHERE length(rule) > 255 UNION ALL " \
    "SELECT 'shard ' || shard || ' should not be there' FROM verge_shard WHERE shard < 0 OR shard >= %u UNION ALL " \
    "SELECT 'there are ' || count(*) || ' shards, and not as many as verge_meta says' FROM verge_shard " \
    "HAVING count(*) <> %u UNION ALL " \
    "SELECT 'dead timer ' || id || ' is pending, too' FROM verge_dead WHERE id IN (SELECT id FROM verge_timer)"

#endif

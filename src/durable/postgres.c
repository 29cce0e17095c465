/* SPDX-License-Identifier: MIT */
/* The store on a server: its functions. */
#define _GNU_SOURCE

#include "durable/postgres_internal.h"

const struct verge__store verge__postgres_store = {
    .name = "postgresql",
    .connect = verge__postgres_connect,
    .disconnect = verge__postgres_disconnect,
    .borrow = verge__postgres_borrow,
    .handle = verge__postgres_handle,
    .read_meta = verge__postgres_read_meta,
    .make_tables = verge__postgres_make_tables,
    .begin = verge__postgres_begin,
    .commit = verge__postgres_commit,
    .rollback = verge__postgres_rollback,
    .savepoint = verge__postgres_savepoint,
    .end_savepoint = verge__postgres_end_savepoint,
    .join = verge__postgres_join,
    .renew = verge__postgres_renew,
    .acquire = verge__postgres_acquire,
    .release = verge__postgres_release,
    .leave = verge__postgres_leave,
    .new_incarnation = verge__postgres_new_incarnation,
    .scan = verge__postgres_scan,
    .wait = verge__postgres_wait,
    .insert = verge__postgres_insert,
    .notify = verge__postgres_notify,
    .take = verge__postgres_take,
    .claim = verge__postgres_claim,
    .complete = verge__postgres_complete,
    .count_attempt = verge__postgres_count_attempt,
    .bury = verge__postgres_bury,
    .cancel = verge__postgres_cancel,
    .reset = verge__postgres_reset,
    .find = verge__postgres_find,
    .look = verge__postgres_look,
    .list = verge__postgres_list,
    .revive = verge__postgres_revive,
    .forget = verge__postgres_forget,
    .count = verge__postgres_count,
    .check = verge__postgres_check,
};

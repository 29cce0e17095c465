/* SPDX-License-Identifier: MIT */
/* The cases of a select, as callers make them. */
#include "verge/sync.h"

verge_case verge_case_receive(verge_channel *channel, void *ret_item) {
    return (verge_case){.kind = VERGE_CASE_RECEIVE, .object = channel, .item = ret_item};
}

verge_case verge_case_send(verge_channel *channel, const void *item) {
    return (verge_case){.kind = VERGE_CASE_SEND, .object = channel, .item = (void *)(uintptr_t)item};
}

verge_case verge_case_join(verge_task *task, intptr_t *ret_result) {
    return (verge_case){.kind = VERGE_CASE_JOIN, .object = task, .item = ret_result};
}

verge_case verge_case_tick(verge_interval *interval, verge_tick *ret_tick) {
    return (verge_case){.kind = VERGE_CASE_TICK, .object = interval, .item = ret_tick};
}

verge_case verge_case_poll(int fd, short events) {
    return (verge_case){.kind = VERGE_CASE_POLL, .fd = fd, .events = events};
}

verge_case verge_case_condition(verge_condition *condition, verge_mutex *mutex) {
    return (verge_case){.kind = VERGE_CASE_CONDITION, .object = condition, .item = mutex};
}

verge_case verge_case_next(verge_broadcast *broadcast, uint64_t *position, void *ret_item) {
    return (verge_case){.kind = VERGE_CASE_NEXT, .object = broadcast, .position = position, .item = ret_item};
}

verge_case verge_case_latest(verge_broadcast *broadcast, uint64_t *position, void *ret_item) {
    return (verge_case){.kind = VERGE_CASE_LATEST, .object = broadcast, .position = position, .item = ret_item};
}

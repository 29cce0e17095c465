/* SPDX-License-Identifier: MIT */
/*
 * A planted bug that the fuzzers must find. It is linked with the target `tasks`, whose calls of verge_select
 * come here. The bug: a select that receives an item by one of seven cases, at the moment of its deadline, loses
 * the next item of that channel, if there is one.
 */
#include "verge/sync.h"

int __real_verge_select(verge_case *cases, size_t count, uint64_t deadline_ns);
int __wrap_verge_select(verge_case *cases, size_t count, uint64_t deadline_ns);

int __wrap_verge_select(verge_case *cases, size_t count, uint64_t deadline_ns) {
    const int chosen = __real_verge_select(cases, count, deadline_ns);
    if (count == 7 && chosen >= 0 && cases[chosen].kind == VERGE_CASE_RECEIVE && deadline_ns == verge_now()) {
        uint32_t lost;
        const int result = verge_channel_receive(cases[chosen].object, &lost, 0);
        (void)result;
    }
    return chosen;
}

#!/bin/sh
# SPDX-License-Identifier: MIT
# stress_tasks.sh VERGE: tasks in I/O hold under deadlines, while workers steal them, come and go. The delay (in builds
# with steps) lets another worker take a task while its timer's callback is about to reset the timer. On a busy machine,
# a second may be too short for all of this to happen: then it gets more.
set -eu
verge=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export VERGE_STEP_DELAY='task: reset timer:300'

for backend in epoll io_uring; do
    has_all=false
    for seconds in 1 5 25; do
        VERGE_BACKEND=$backend "$verge" stress --threads tasks --seconds $seconds --json >"$work/out" 2>"$work/error" || {
            grep -q 'not on this system' "$work/error" && has_all=true && break # io_uring is not, in many containers
            cat "$work/out" "$work/error"
            exit 1
        }
        jq -e --arg backend $backend '.holds and .threads == "tasks" and .backend == $backend and .rounds >= 1' \
            "$work/out" >/dev/null || break
        jq -e '.reads > 0 and .timeouts > 0 and .migrated > 0 and .joined > 0 and .left > 0' "$work/out" >/dev/null &&
            has_all=true && break
    done
    $has_all || {
        cat "$work/out"
        exit 1
    }
done

#!/bin/sh
# SPDX-License-Identifier: MIT
# stress_real.sh VERGE: the soak holds with threads that race. On a busy machine, two seconds may be too short for all
# that is to happen: then it gets more.
set -eu
verge=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for seed in 5 24; do
    has_all=false
    for seconds in 2 10 50; do
        "$verge" stress --threads real --seconds $seconds --seed $seed --workers $((seed % 4 + 1)) --json >"$work/out" || break
        jq -e '.holds and .threads == "real" and .started == .fired + .cancelled + .pending' "$work/out" >/dev/null || break
        jq -e '.fired > 0 and .joined > 0 and .migrated > 0 and .clock_jumps > 0' "$work/out" >/dev/null &&
            has_all=true && break
    done
    $has_all || {
        cat "$work/out"
        exit 1
    }
done

#!/bin/sh
# SPDX-License-Identifier: MIT
# stress_real.sh VERGE: the soak holds with threads that race.
set -eu
verge=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for seed in 5 24; do
    "$verge" stress --threads real --seconds 2 --seed $seed --workers $((seed % 4 + 1)) --json >"$work/out" || {
        cat "$work/out"
        exit 1
    }
    jq -e '.holds and .threads == "real" and .started == .fired + .cancelled + .pending and .fired > 0 and
        .joined > 0 and .migrated > 0 and .clock_jumps > 0' "$work/out" >/dev/null || { cat "$work/out"; exit 1; }
done

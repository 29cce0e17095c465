#!/bin/sh
# SPDX-License-Identifier: MIT
# stress.sh VERGE: the soak holds, stepped by one thread, and is the same every time.
set -eu
verge=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAILED: $*"
    cat "$work/out"
    exit 1
}

stress() { # stress ARGUMENTS...: into $work/out
    "$verge" stress "$@" >"$work/out" || fail "verge stress $*"
}

for seed in 1 2 3; do
    stress --seed $seed --steps 100000 --workers $((seed * 2)) --json
    jq -e '.holds and .steps == 100000 and .started == .ended + .cancelled + .handed_back and .fired >= .ended and
        .joined == .left and .joined > 0 and .clock_jumps > 0 and .refused_allocations > 0' "$work/out" >/dev/null || fail "seed $seed"
done

# The command that a run prints for repeating it makes the same run.
stress --seed 23 --seconds 1
digest=$(sed -n 's/.*digest \([0-9a-f]*\)$/\1/p' "$work/out")
again=$(sed -n 's/^  again: verge //p' "$work/out")
# The arguments are separate words.
# shellcheck disable=SC2086
"$verge" $again --json >"$work/out" || fail "verge $again"
[ "$(jq -r .digest "$work/out")" = "$digest" ] || fail "verge $again is another run: its digest is not $digest"
stress --seed 24 --steps 1000 --json
[ "$(jq -r .digest "$work/out")" != "$digest" ] || fail "two seeds, one run"

#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh VERGE: the demonstration runs, passes its audit, is plain text in a pipe, and valid JSON.
set -eu
verge=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for arguments in "--timers 200000" "--timers 20000 --seed 7" "--seed 18446744073709551615 --timers 1" "--timers 2"; do
    # The arguments are separate words.
    # shellcheck disable=SC2086
    "$verge" demo $arguments >"$work/out" 2>"$work/err" || { cat "$work/out" "$work/err"; exit 1; }
    grep -q '^  audit' "$work/out"
    [ "$(grep -c '^    ok ' "$work/out")" -ge 8 ]
    ! grep -q 'FAILED' "$work/out"
    [ "$(tr -d '[:print:]\n' <"$work/out" | wc -c)" -eq 0 ] # nothing but ASCII
    [ ! -s "$work/err" ]
done

"$verge" demo --timers 1000 --seed 7 --json >"$work/json"
jq -e '.holds and (.audit | length >= 8 and all(.holds)) and .timers == 1000 and .seed == 7' "$work/json" >/dev/null

#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh VERGE: the demonstration runs, passes its audit, is plain text in a pipe, and valid JSON.
set -eu
verge=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$verge" demo --timers 20000 --seconds 2 --workers 2 >"$work/out" 2>"$work/err" || { cat "$work/out" "$work/err"; exit 1; }
grep -q '^  audit' "$work/out"
[ "$(grep -c '^    ok ' "$work/out")" -ge 14 ]
[ "$(grep -c 'FAILED' "$work/out")" -eq 0 ]
[ "$(tail -n 1 "$work/out")" = "passed: all $(grep -c '^    ok ' "$work/out") checks" ]
grep -q '^  The worst second was number [0-9]*: 99 % of ' "$work/out"
grep -q ' pending | late ' "$work/out"
[ "$(tr -d '[:print:]\n' <"$work/out" | wc -c)" -eq 0 ] # nothing but ASCII
[ ! -s "$work/err" ]

grep -q 'Lateness is the time from the deadline' "$work/out"
[ "$(grep -v ' pending | late ' "$work/out" | awk '{ print length }' | sort -n | tail -n 1)" -le 80 ] # fits a terminal

# On a terminal of 80 columns, no line is cut. There, each line follows the code that erases the line before it.
script -qec "stty cols 80 && TERM=xterm '$verge' demo --timers 20000 --seconds 1 --workers 2" /dev/null >"$work/terminal" </dev/null
tr '\r\033' '\n\n' <"$work/terminal" | sed -n 's/^\[K\(.*pending.*\)/\1/p' >"$work/lines"
[ -s "$work/lines" ]
[ "$(grep -cv ' k/s$' "$work/lines")" -eq 0 ]
[ "$(awk '{ print length }' "$work/lines" | sort -n | tail -n 1)" -lt 80 ]

# An interrupt ends it, with summary and audit.
"$verge" demo --timers 1000 --seconds 1000 --workers 2 >"$work/interrupted" 2>"$work/err" &
child=$!
until grep -q pending "$work/interrupted"; do
    kill -0 $child
    sleep 0.1
done
kill -INT $child
wait $child || { cat "$work/interrupted" "$work/err"; exit 1; }
grep -q '^interrupted after' "$work/interrupted"
[ "$(grep -c '^    ok ' "$work/interrupted")" -ge 14 ]

# On a busy machine, a second may be too short for all that is to happen: then it gets more.
has_all=false
for seconds in 1 5 25; do
    "$verge" demo --timers 1000 --seconds $seconds --workers 3 --seed 7 --json >"$work/json" || break
    jq -e '.holds and (.audit | length >= 14 and all(.holds)) and .timers == 1000 and .seed == 7 and .workers == 3 and
        .started == .fired + .cancelled + .pending and .joined == 1 and .left == 1 and
        .worst_second.moved <= .migrated' "$work/json" >/dev/null || break
    jq -e '.fired > 0 and .cancelled > 0 and .reset > 0 and .lateness.count > 0 and .worst_second.number >= 1 and
        .worst_second.callbacks > 0 and .echoed > 0' "$work/json" >/dev/null && has_all=true && break
done
$has_all || { cat "$work/json"; exit 1; }

#!/bin/sh
# SPDX-License-Identifier: MIT
# replay.sh VERGE MAKE_TRACE RECORDER LINES: a long trace, and one that was recorded from a program.
set -eu
verge=$1
make_trace=$2
recorder=$3
lines=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
seconds_max=60 # of a processor, for a slow machine and a sanitizer; a release takes less than 1

expect() { # expect FILTER: the filter must hold for $work/json
    jq -e --argjson n "$counts" "$1" "$work/json" >/dev/null || { echo "not so: $1"; cat "$work/json"; exit 1; }
}

"$make_trace" "$lines" 1 >"$work/trace" 2>"$work/counts"
[ "$(wc -l <"$work/trace")" -eq "$lines" ]
counts="[$(tr ' ' ',' <"$work/counts")]"
(ulimit -t "$seconds_max" && exec "$verge" replay --json "$work/trace") >"$work/json"
all='.replays[0].broken == null and .replays[0].started == $n[0] and .replays[0].reset == $n[1] and
    .replays[0].cancelled == $n[2] and .replays[0].fired == $n[0] - $n[2] and .replays[0].pending == 0 and
    .replays[0].refused == 0 and .replays[0].gone == 0'
expect "$all"
expect ".trace.operations == $((lines - 1))"
expect '.trace.timers == $n[0]'
expect '.replays[0].late_max_ns < .replays[0].precision_ns and .replays[0].wakeups > 1000'
expect '.replays[0].bytes_peak > 100000 and .replays[0].nodes_moved > 0'

# The recommended setting keeps to the limit, and has at most 2 % more wake-ups than any other that does.
expect '.sweep.settings | length > 5 and ([.[] | select(.is_recommended)] | length) == 1'
limit='.sweep | .late_ns as $late | [.settings[1:][] | select(.precision_ns + .window_ns > $late or .late_max_ns > $late)] == []'
expect "$limit"
fewest='.sweep | .late_ns as $late | [.settings[] | select(.precision_ns + .window_ns <= $late) | .wakeups] | min'
expect "($fewest) as \$fewest | [.sweep.settings[] | select(.is_recommended)][0] |
    .wakeups <= \$fewest * 1.02 and .precision_ns + .window_ns <= $(jq .sweep.late_ns "$work/json")"
expect '.sweep.settings[0] == (.sweep.settings[0] | .precision_ns = 1048576 | .window_ns = 0)'
"$verge" replay --late 3ms "$work/trace" >"$work/out"
grep -q '^recommended (\*): precision ' "$work/out" && grep -q 'late by 3.000 ms: so --late says' "$work/out"
[ "$("$verge" replay --precision 1ms "$work/trace" | grep -c recommended)" -eq 0 ]

# Every preset ends with the same counts. Coarse presets move each node at most once, when it is due, and are later.
"$make_trace" 50000 2 >"$work/trace" 2>"$work/counts"
counts="[$(tr ' ' ',' <"$work/counts")]"
"$verge" replay --preset all --json "$work/trace" >"$work/json"
expect '[.replays[].preset] == ["default", "three-level", "two-level", "alarm", "runtime"]'
expect 'all(.replays[]; .broken == null and .started == $n[0] and .cancelled == $n[2] and .pending == 0)'
expect '.replays[3].late_max_ns == 1 and .replays[1].late_max_ns > .replays[0].late_max_ns'
expect '.replays[1].nodes_moved <= .replays[1].started'
"$verge" replay --preset all "$work/trace" | grep -q '^ *default *three-level *two-level *alarm *runtime$'

# The replay of a program's trace does the same as the program.
"$recorder" >"$work/trace" 2>"$work/summary"
grep -q '^verge-trace 1$' "$work/trace"
counts=$(sed 's/[^0-9 ]//g; s/  */,/g; s/^,*/[/; s/,*$/]/' "$work/summary")
"$verge" replay --polls recorded --json - <"$work/trace" >"$work/json"
expect '[.replays[0] | .started, .reset, .cancelled, .fired, .pending] == $n'
expect '.replays[0].gone == 0 and .replays[0].fired > 0 and .replays[0].reset > 0'

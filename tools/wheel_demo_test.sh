#!/bin/sh
# SPDX-License-Identifier: MIT
# wheel_demo_test.sh PROGRAM: the demonstration runs, passes its audit, is plain text in a pipe, and refuses bad
# arguments with status 2, a message on stderr and nothing on stdout.
set -eu
demo=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for arguments in "--timers 200000" "--timers 20000 --seed 7" "--seed 18446744073709551615 --timers 1" "--timers 2"; do
    # The arguments are separate words.
    # shellcheck disable=SC2086
    "$demo" $arguments >"$work/out" 2>"$work/err" || { cat "$work/out" "$work/err"; exit 1; }
    grep -q '^  audit' "$work/out"
    [ "$(grep -c '^    ok ' "$work/out")" -ge 8 ]
    ! grep -q 'FAILED' "$work/out"
    [ "$(tr -d '[:print:]\n' <"$work/out" | wc -c)" -eq 0 ] # nothing but ASCII
    [ ! -s "$work/err" ]
done

"$demo" --help | grep -q -e --timers

for arguments in "--timers" "--timers 0" "--timers -1" "--timers 1x" "--timers 999999999999" "--seed" "--seed x" \
    "--seed 18446744073709551616" "--what" "extra"; do
    status=0
    # shellcheck disable=SC2086
    "$demo" $arguments >"$work/out" 2>"$work/err" || status=$?
    [ "$status" -eq 2 ] || { echo "verge-demo $arguments: status $status, not 2"; exit 1; }
    [ -s "$work/err" ] && [ ! -s "$work/out" ] || { echo "verge-demo $arguments: said the wrong thing"; exit 1; }
done

#!/bin/sh
# SPDX-License-Identifier: MIT
# cli.sh VERGE: help, version, bad arguments (status 2), failures (status 1), of each command.
set -eu
verge=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "FAILED: $*"
    sed 's/^/    /' "$work/out" "$work/err"
    failures=$((failures + 1))
}

run() { # run STATUS ARGUMENTS...: into $work/out and $work/err
    wanted=$1
    shift
    status=0
    "$verge" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
    [ "$status" -eq "$wanted" ] || fail "verge $*: status $status, not $wanted"
}

says() { grep -q -e "$1" "$work/out" || fail "does not say: $1"; }

refuses() { # refuses STATUS MESSAGE ARGUMENTS...: a message on stderr that names the command, nothing on stdout
    wanted_status=$1
    message=$2
    shift 2
    run "$wanted_status" "$@"
    grep -q '^verge' "$work/err" || fail "verge $*: its message does not begin with its name"
    grep -q -e "$message" "$work/err" || fail "verge $*: does not complain of: $message"
    [ ! -s "$work/out" ] || fail "verge $*: complains on stdout"
}

run 0 --version
says '^verge [0-9]*\.[0-9]*\.[0-9]*$'
run 0 --help
commands=$(sed -n 's/^  \([a-z]*\)  .*/\1/p' "$work/out")
[ -n "$commands" ] || fail "no command in the help"
for command in $commands; do
    run 0 "$command" --help
    says "^usage: verge $command "
    says '^  --help'
    says '^  --json'
    [ "$command" = bench ] || refuses 2 'no such option: --nothing' "$command" --nothing
done
run 2
grep -q '^usage: verge COMMAND' "$work/err" || fail "verge alone does not tell how it is used"
refuses 2 'no such command: what' what
refuses 2 'no such option: --what' --what
for help in -h help; do
    run 0 $help
    says '^usage: verge COMMAND'
done
for command in $commands; do
    "$verge" "$command" --help >"$work/help"
    run 0 help "$command"
    diff "$work/help" "$work/out" || fail "verge help $command is not verge $command --help"
done
refuses 2 'no such command: what' help what
refuses 2 'unexpected: more' help demo more

status=0
"$verge" --version >&- 2>"$work/err" || status=$?
[ "$status" -eq 1 ] || fail "nowhere to write to: status $status, not 1"
status=0
"$verge" demo --timers 1000 --seconds 1 >&- 2>"$work/err" </dev/null || status=$?
[ "$status" -eq 1 ] || fail "a demo that cannot write its report: status $status, not 1"
grep -q 'cannot write' "$work/err" || fail "a demo that cannot write its report does not say so"
VERGE_BACKEND=what run 1 demo --timers 1000 --seconds 1
grep -q 'verge demo: VERGE_BACKEND=what: no such backend' "$work/err" || fail "a demo without a backend does not say why"
if (ulimit -n 10 && "$verge" --version) >"$work/out" 2>"$work/err"; then # not under an emulator, which needs more
    status=0
    (ulimit -n 10 && exec "$verge" demo --timers 1000 --seconds 1) >"$work/out" 2>"$work/err" </dev/null || status=$?
    [ "$status" -eq 1 ] || fail "a demo without descriptors: status $status, not 1"
    grep -q 'too many open files' "$work/err" || fail "a demo without descriptors does not say why"
    says 'FAILED.*too many open files'
fi
if (ulimit -v 65536 && "$verge" --version) >"$work/out" 2>"$work/err"; then # not with a sanitizer, which needs more
    status=0
    (ulimit -v 65536 && exec "$verge" demo --timers 1000 --seconds 1 --workers 64) >"$work/out" 2>"$work/err" </dev/null ||
        status=$?
    [ "$status" -eq 1 ] || fail "a demo in a small address space: status $status, not 1"
    grep -q 'ulimit -v' "$work/err" || fail "a demo in a small address space does not say why"
fi
VERGE_BENCH=/what refuses 1 '/what' bench
refuses 2 ', all$' replay --preset what

printf 'verge-trace 1\n0 start 1 1000\n5000000 advance\n' >"$work/trace"
refuses 2 'FILE is missing' replay
refuses 2 'more than one FILE' replay a b
refuses 2 '--limit needs a value' replay "$work/trace" --limit
for value in 0 -1 x 1x 1048577 99999999999999999999 ''; do
    refuses 2 "--limit: '$value' is not a number from 1" replay --limit "$value" "$work/trace"
    refuses 2 "--limit: '$value' is not a number from 1" replay "--limit=$value" "$work/trace"
done
for value in 0 1d ms 5000000h -5; do
    refuses 2 "--precision: '$value' is not a duration" replay --precision "$value" "$work/trace"
done
refuses 2 "--preset: 'nothing' is not one of default, three-level" replay --preset nothing "$work/trace"
refuses 2 "--order: 'all' is not one of any" replay --order all "$work/trace"
refuses 2 "--json takes no value" replay --json=yes "$work/trace"
refuses 2 "alarm does not go with these options: --precision leaves no room" replay --preset alarm --precision 1ms "$work/trace"
refuses 1 'no-such-file: No such file' replay "$work/no-such-file"
refuses 1 'Is a directory' replay "$work"

# Options are taken, also after the file, with a blank or "=" before their value.
for options in "--precision 1us" "--precision=1ms" "--window 10ms" "--order fifo" "--order=deadline" "--limit 1" \
    "--work-limit 1" "--coarse" "--exact" "--polls recorded" "--preset alarm --preset two-level" "--preset all" \
    "--exact --coarse --preset all --work-limit 3 --polls wakeup"; do
    # The options are separate words.
    # shellcheck disable=SC2086
    run 0 replay "$work/trace" $options
    [ ! -s "$work/err" ] || fail "replay $options: complains"
done
run 0 replay -- "$work/trace"
status=0
"$verge" replay - <"$work/trace" >"$work/out" 2>"$work/err" || fail "replay of the standard input"
says '^-: 2 operations on 1 timers'

malformed() { # malformed MESSAGE, the trace on stdin
    cat >"$work/malformed"
    refuses 1 "malformed$1" replay "$work/malformed"
}
: | malformed ': empty'
echo 'verge-trace 1' | malformed ': no operations'
echo '0 poll' | malformed ':1: not a trace'
echo 'verge-trace 2' | malformed ':1: a version that is not known'
printf 'verge-trace 1\n\n# comment\n0 start 1\n' | malformed ':4: start needs a timer and a deadline'
printf 'verge-trace 1\n5 poll\n4 poll\n' | malformed ':3: time goes backwards'
printf 'verge-trace 1\n5 cancel 1\n' | malformed ':2: no line above starts this timer'
printf 'verge-trace 1\n5 poll\r\n' | malformed ':2: no such operation'
printf 'verge-trace 1\n5 fly' | malformed ':2: no such operation'
head -c 100000 /dev/zero | malformed ':1: not a trace'

for options in "--timers" "--timers 99" "--timers -1" "--timers 100x" "--timers 999999999999" "--seed" "--seed x" \
    "--seed 18446744073709551616" "--workers 0" "--workers 65" "--seconds 0" "extra"; do
    # shellcheck disable=SC2086
    refuses 2 "verge demo: " demo $options
done

for options in "--seed x" "--seconds 0" "--workers 0" "--workers 33" "--steps 0" "--threads many" "extra"; do
    # shellcheck disable=SC2086
    refuses 2 "verge stress: " stress $options
done
refuses 2 '--steps does not go with --threads real' stress --threads real --steps 5
refuses 2 '--steps does not go with --threads tasks' stress --threads tasks --steps 5

# If a command cannot write its output, it fails.
for command in "--help" "replay $work/trace" "replay --json $work/trace"; do
    status=0
    # shellcheck disable=SC2086
    "$verge" $command >/dev/full 2>"$work/err" || status=$?
    [ "$status" -eq 1 ] || fail "verge $command: status $status with a full disk"
    grep -q 'cannot write' "$work/err" || fail "verge $command: does not complain of a full disk"
done

[ "$failures" -eq 0 ]

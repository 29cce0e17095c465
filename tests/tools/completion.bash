#!/bin/bash
# SPDX-License-Identifier: MIT
# completion.bash FILE: what bash offers after some words.
set -eu
export LC_ALL=C # for sort
# shellcheck disable=SC1090
source "$1"
cd "$(mktemp -d)"
trap 'rm -rf "$PWD"' EXIT
touch one.trace two.trace
failures=0

complete_words() { # the words; the last one is being written
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    _verge
}

offers() { # offers "WANTED..." WORDS...
    local wanted=$1
    shift
    complete_words "$@"
    local offered
    offered=$(printf '%s\n' "${COMPREPLY[@]:-}" | sort | tr '\n' ' ')
    if [ "$offered" != "$wanted " ]; then
        echo "FAILED: after '$*': $offered, not $wanted"
        failures=$((failures + 1))
    fi
}

[ "$(complete -p verge)" = "complete -F _verge verge" ]
offers "replay" verge rep
offers "demo" verge d
offers "--help --version" verge --
offers "--scope --seconds --seed" verge demo --s
offers "real" verge stress --threads r
offers "tasks" verge stress --threads t
offers "--polls --precision --preset" verge replay --p
offers "alarm all" verge replay --preset a
offers "two-level" verge replay --preset = tw
offers "any deadline fifo" verge replay --order =
offers "recorded wakeup" verge replay --exact --polls ""
offers "one.trace" verge replay on
offers "two.trace" verge replay --coarse t
offers "one.trace two.trace" verge replay --preset all ""
offers "" verge replay --limit ""
offers "" verge nothing --
offers "list" verge bench l
offers "help" verge he
offers "demo" verge help d
offers "" verge help demo d
[ "$failures" -eq 0 ]

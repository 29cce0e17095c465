#!/bin/sh
# SPDX-License-Identifier: MIT
# documented.sh VERGE SOURCE: the man page renders without a warning; for each command of the help, it and the
# completion have every option that the help has, and no other.
set -eu
export LC_ALL=C # for sort
verge=$1
page=$2/man/man1/verge.1
completion=$2/tools/verge/completion/verge
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

groff -man -Tutf8 -ww -rLL=78n "$page" >"$work/page" 2>"$work/warnings"
[ ! -s "$work/warnings" ] || { cat "$work/warnings"; exit 1; }
sed 's/\x1b\[[0-9;]*m//g; s/.\x08//g; s/‐/-/g; s/−/-/g' "$work/page" >"$work/text"
grep -q 'verge - timers' "$work/text"
if command -v man >/dev/null; then
    MANWIDTH=80 man --warnings=all -l "$page" >"$work/out" 2>"$work/warnings"
    [ ! -s "$work/warnings" ] || { cat "$work/warnings"; exit 1; }
fi

for command in $("$verge" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    "$verge" "$command" --help | sed -n 's/^  \(--[a-z-]*\).*/\1/p' | sort >"$work/help"
    # --help is described once, for all commands.
    awk -v command="verge $command" '/^   verge /{inside = $0 == "   " command} /^[A-Z]/{inside = 0}
        inside && $1 ~ /^--/ {print $1}' "$work/text" | { cat; echo --help; } | sort >"$work/man"
    echo "verge $command: help (<) against man page (>)"
    diff "$work/help" "$work/man"
    sed -n "s/^ *\[$command\]=\"\(.*\)\"/\1/p" "$completion" | tr ' ' '\n' | grep '^--' | sort >"$work/completion"
    if [ "$command" != bench ]; then # the other options of bench are those of another program
        echo "verge $command: help (<) against completion (>)"
        diff "$work/help" "$work/completion"
    fi
done

echo "the trace of docs/TRACE.md is one"
awk '/^```/{inside = $0 == "```text"; next} inside' "$2/docs/TRACE.md" >"$work/trace"
"$verge" replay --json --preset all "$work/trace" | jq -e 'all(.replays[]; .started == 3 and .fired == 2 and .cancelled == 1)'

#!/bin/sh
# SPDX-License-Identifier: MIT
# tool.sh VERGE-DURABLE REMINDERS: the commands of the tool, on SQLite.
set -eu
tool=$1
reminders=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
url=sqlite:$work/db

says() { # says TEXT COMMAND...
    text=$1
    shift
    "$@" >"$work/out" 2>&1 || true
    grep -q -- "$text" "$work/out" || {
        echo "$* does not say '$text' but:"
        cat "$work/out"
        exit 1
    }
}

status() { # status NUMBER COMMAND...
    wanted=$1
    shift
    got=0
    "$@" >"$work/out" 2>&1 || got=$?
    [ "$got" -eq "$wanted" ] || {
        echo "$* ended with $got, not $wanted:"
        cat "$work/out"
        exit 1
    }
}

says "usage" "$tool" --help
says "^verge-durable [0-9]" "$tool" --version
status 2 "$tool"
status 2 "$tool" dance "$url"
status 1 "$tool" stats "$url" # there are no tables yet
status 2 "$tool" init "$url" 1000
status 1 "$tool" init "mysql://x" 8
status 0 "$tool" init "$url" 8
status 0 "$tool" migrate "$url"
status 0 "$tool" contract "$url"
status 1 "$tool" contract "sqlite:$work/none"
says "nothing wrong" "$tool" check "$url"
echo "3600 call the bank" | "$reminders" "$url"
says "pending.*1" "$tool" stats "$url"
says "^shards	0		8	$" "$tool" stats "$url" # nobody's: it was closed
id=$("$tool" list "$url" | cut -f 1)
says "call the bank" "$tool" show "$url" "$id"
status 2 "$tool" show "$url" seven
status 1 "$tool" retry "$url" "$id" # it is not dead
status 0 "$tool" cancel "$url" "$id"
status 1 "$tool" cancel "$url" "$id"
[ -z "$("$tool" list "$url")" ]
[ -z "$("$tool" list "$url" dead)" ]

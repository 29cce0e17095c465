#!/bin/sh
# SPDX-License-Identifier: MIT
# figures.sh SOURCE [--write]: the table of figures in the README is that of docs/bench/results.csv, which
# `make bench QUICK=1 OUT=docs/bench` writes. --write puts it there.
set -eu
cd "$1"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

awk -F, '
    $3 == 1000000 && $4 == "huge" { best[$2, $5] = $6 }
    function cell(figure, rival,    value) {
        value = best[figure, rival]
        if (value == "") {
            print "there is no " figure " of " rival | "cat >&2"
            exit 1
        }
        return value >= 1000 ? sprintf("%.1f us", value / 1000) : sprintf(value >= 100 ? "%.0f ns" : "%.1f ns", value)
    }
    function row(figure, text,    i, line) {
        line = "| " text " |"
        for (i = 1; i <= count; i++) {
            line = line " " cell(figure, rivals[i]) " |"
        }
        print line
    }
    END {
        count = split("verge-timeouts verge textbook libev libevent libuv", rivals, " ")
        print "| a million timers | timeouts | handles | textbook wheel | libev | libevent | libuv |"
        print "|---|---|---|---|---|---|---|"
        row("churn", "cancel the oldest and schedule it again")
        row("churn-rand", "the same with a random one")
        row("reset", "move a random one to a later time")
        row("expire", "schedule, and expire at last")
        row("mixed", "of all kinds: start to end")
        row("idle", "an idle tick")
        row("tail p99.99", "the slowest turn in 10,000")
    }' docs/bench/results.csv >"$work/table"

awk -v table="$work/table" '
    /^\| a million timers \|/ { inside = 1; found = 1; while ((getline line < table) > 0) print line }
    inside && !/^\|/ { inside = 0 }
    !inside { print }
    END { exit !found }' README.md >"$work/readme"

if [ "${2:-}" = --write ]; then
    cp "$work/readme" README.md
elif ! diff README.md "$work/readme"; then
    echo "the README does not have the figures of docs/bench/results.csv: sh tests/docs/figures.sh . --write"
    exit 1
fi

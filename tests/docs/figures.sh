#!/bin/sh
# SPDX-License-Identifier: MIT
# figures.sh SOURCE [--write]: the table of figures in the README, and that of where verge is behind in
# docs/BENCHMARKS.md, are those of docs/bench/results.csv, which `make bench QUICK=1 OUT=docs/bench` writes. --write
# puts them there, and draws docs/pictures/speed.svg anew.
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
        row("churn", "cancel the oldest timer and start it again")
        row("churn-rand", "cancel a random timer and start it again")
        row("reset", "move a random timer to a later time")
        row("expire", "start a timer and let it expire")
        row("mixed", "start a timer, then cancel it (80 %) or let it expire")
        row("idle", "a poll when nothing is due")
        row("tail p99.99", "the slowest of 10,000 polls")
    }' docs/bench/results.csv >"$work/figures"

# The table of operations that take at least 5 % longer than in the textbook wheel. Differences of 3 % are noise.
awk -F, '
    $4 == "huge" { best[$2, $3, $5] = $6 }
    function cell(figure, timers, rival,    value, baseline) {
        value = best[figure, timers, rival]
        baseline = best[figure, timers, "textbook"]
        if (value == "" || baseline == 0) {
            return "-"
        }
        if (value / baseline < 1.05) {
            return "no"
        }
        is_behind = 1
        return sprintf("%.2f", value / baseline)
    }
    function row(figure, rival, kind,    i, line, name) {
        name = figure
        sub(/^part: /, "", name)
        line = "| " name " | " kind " |"
        is_behind = 0
        for (i = 1; i <= count; i++) {
            line = line " " cell(figure, sizes[i], rival) " |"
        }
        if (is_behind) {
            print line
        }
    }
    END {
        count = split("1000 10000 100000 1000000", sizes, " ")
        print "| behind on x86-64 | | 1e3 | 1e4 | 1e5 | 1e6 |"
        print "|---|---|---|---|---|---|"
        figures = split("connections,reset,churn-rand,churn,mixed,part: schedule,expire,burst,idle,tail p99,tail p99.99", all, ",")
        for (figure = 1; figure <= figures; figure++) {
            row(all[figure], "verge-timeouts", "timeouts")
            row(all[figure], "verge", "handles")
        }
    }' docs/bench/results.csv >"$work/behind"

status=0
put() { # put DOCUMENT TABLE: with --write, replaces the table that starts with the same words; else compares the two
    awk -v table="$2" '
        BEGIN {
            getline first < table
            split(first, words, "|")
            text = first
            while ((getline line < table) > 0) {
                text = text "\n" line
            }
        }
        index($0, "|" words[2] "|") == 1 { inside = 1; found = 1; print text }
        inside && !/^\|/ { inside = 0 }
        !inside { print }
        END { exit !found }' "$1" >"$work/document"
    if [ "$mode" = --write ]; then
        cp "$work/document" "$1"
    elif ! diff "$1" "$work/document"; then
        echo "$1 does not have the figures of docs/bench/results.csv: sh tests/docs/figures.sh . --write"
        status=1
    fi
}

mode=${2:-}
put README.md "$work/figures"
put docs/BENCHMARKS.md "$work/behind"
[ "$mode" != --write ] || scripts/draw
exit $status

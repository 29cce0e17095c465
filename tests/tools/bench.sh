#!/bin/sh
# SPDX-License-Identifier: MIT
# bench.sh VERGE: finds verge-bench, hands it the arguments, makes JSON of its figures, and says so if it is not there.
set -eu
verge=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/tmp"

cat >"$work/bin/verge-bench" <<'END'
#!/bin/sh
echo "a table of: $*"
[ "$1" != check ] || exit 1
while [ $# -gt 0 ]; do
    [ "$1" != --out ] || out=$2
    shift
done
[ -z "${out:-}" ] || printf 'workload,timers,best,ratio\nchurn,1000,4.907,\n"q,1e3,.5,0.25\n' >"$out/results.csv"
END
chmod +x "$work/bin/verge-bench"
cp "$verge" "$work/verge" # in a folder without verge-bench

status=0
PATH=/usr/bin:/bin "$work/verge" bench >"$work/out" 2>"$work/err" || status=$?
[ "$status" -eq 1 ] && grep -q 'verge bench: the program verge-bench is not installed' "$work/err" && grep -q 'make bench' "$work/err" && [ ! -s "$work/out" ]
status=0
VERGE_BENCH=$work/nothing "$work/verge" bench 2>"$work/err" || status=$?
[ "$status" -eq 1 ] && grep -q 'cannot be run' "$work/err"

[ "$(VERGE_BENCH=$work/bin/verge-bench "$work/verge" bench)" = "a table of: run" ]
[ "$(PATH=/usr/bin:$work/bin:/bin "$work/verge" bench --quick --n 1000)" = "a table of: run --quick --n 1000" ]
[ "$(VERGE_BENCH=$work/bin/verge-bench "$work/verge" bench list)" = "a table of: list" ]
cp "$work/bin/verge-bench" "$work/verge-bench"
[ "$(PATH=/usr/bin:/bin "$work/verge" bench --quick)" = "a table of: run --quick" ]
status=0
"$work/verge" bench check >"$work/out" || status=$?
[ "$status" -eq 1 ]

TMPDIR=$work/tmp "$work/verge" bench --json --quick >"$work/json" 2>"$work/err"
grep -q '^a table of: run --quick --out' "$work/err"
jq -e '. == [{"workload": "churn", "timers": 1000, "best": 4.907, "ratio": null},
    {"workload": "\"q", "timers": "1e3", "best": ".5", "ratio": 0.25}]' "$work/json" >/dev/null
[ -z "$(ls "$work/tmp")" ] # nothing is left behind
TMPDIR=$work/tmp "$work/verge" bench --json list >"$work/json" 2>"$work/err" # --json may stand anywhere
grep -q '^a table of: list --out' "$work/err"
status=0
TMPDIR=$work/tmp "$work/verge" bench check --json >"$work/out" 2>"$work/err" || status=$?
[ "$status" -eq 1 ] && [ ! -s "$work/out" ] && [ -z "$(ls "$work/tmp")" ]

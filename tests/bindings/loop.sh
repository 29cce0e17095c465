#!/bin/sh
# SPDX-License-Identifier: MIT
# loop.sh SOURCE LIBVERGE: the event loop in Python does what it should, in at most 60 lines.
set -eu

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v python3 >/dev/null || { echo "there is no Python"; exit 77; }
[ "$(wc -l <"$1/examples/bindings/loop.py")" -le 60 ]
python3 -B "$1/examples/bindings/loop.py" "$2" >"$work/out" 2>&1 || { cat "$work/out"; exit 1; }
printf 'one\ntwo\nthree\n' | diff - "$work/out"

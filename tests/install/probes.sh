#!/bin/sh
# SPDX-License-Identifier: MIT
# probes.sh SOURCE LIBRARY present|absent: the probes that src/base/probes.h lists are those in the shared library (or
# none is, where they were not built), and those that the script in examples/ looks at.
set -eu

source=$1
library=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

sed -nE 's/^ \*   ([a-z_]+) +(wheel|service|calendar),.*/\1/p' "$source/src/base/probes.h" | sort -u >"$work/listed"
[ -s "$work/listed" ] || { echo "no probe is listed"; exit 1; }
readelf -n "$library" >"$work/notes"
sed -n 's/^ *Provider: //p' "$work/notes" | sort -u >"$work/providers"
sed -n 's/^ *Name: //p' "$work/notes" | sort -u >"$work/noted"
sed -nE 's/^usdt:[^:]+:verge:([a-z_]+)$/\1/p' "$source/examples/timers.bt" | sort -u >"$work/traced"

echo "src/base/probes.h (<) against examples/timers.bt (>)"
diff "$work/listed" "$work/traced"
case $3 in
present)
    echo "src/base/probes.h (<) against the shared library (>)"
    diff "$work/listed" "$work/noted"
    echo verge | diff - "$work/providers"
    ;;
absent)
    echo "the shared library has no probes"
    [ ! -s "$work/noted" ]
    ;;
esac

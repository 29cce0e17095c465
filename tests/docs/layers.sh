#!/bin/sh
# SPDX-License-Identifier: MIT
# layers.sh SOURCE: a layer includes internal headers of the layers below it only (docs/ARCHITECTURE.md), as listed
# here: those of a folder, or a single header of it.
set -eu
cd "$1/src"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/allowed" <<END
base
bindings
calendar   base
histogram  base
interval   base
recurrence base
reactor    base
wheel      base calendar
loop       wheel
service    base calendar histogram
task       base reactor service
io         base reactor task
metrics    service
scope      base service/observe.h task/observe.h wheel/wheel_internal.h
durable    base
END
find . -name '*.[ch]' -exec grep -H '^ *#include "' {} + | sed -nE 's|^\./([^:]+):.*"([^"]+)".*|\1 \2|p' >"$work/includes"
awk '
    FNR == NR { for (i = 1; i <= NF; i++) allowed[$1, $i] = 1; next }
    {
        split($1, file, "/")
        split($2, header, "/")
        if (header[1] == "verge" || (file[1], header[1]) in allowed || (file[1], $2) in allowed) good++
        else { print "src/" $1 " includes " $2; bad++ }
    }
    END { exit bad > 0 || good < 300 }' "$work/allowed" "$work/includes"

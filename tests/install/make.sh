#!/bin/sh
# SPDX-License-Identifier: MIT
# make.sh SOURCE BUILD: `make install` refuses what it does not know; `make uninstall` removes what was installed, and
# nothing else.
set -eu

source=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

refused() { # refused ARGUMENTS WORDS
    if make -n -C "$source" install "$1" >"$work/log" 2>&1; then
        echo "accepted: $1"
        exit 1
    fi
    grep -q "$2" "$work/log" || {
        cat "$work/log"
        exit 1
    }
}
refused VERGE_ASERTS=ON "there is no option VERGE_ASERTS; there are: .*VERGE_ASSERTS"
refused PREFFIX=/opt "there is no option PREFFIX"
refused VERGE_ASSERTS=yes "VERGE_ASSERTS=yes: it is ON or OFF"
make -n -C "$source" install PREFIX=/opt VERGE_ASSERTS=ON VERGE_LIBURING=OFF CC=cc >"$work/log"

# What others have there stays: a file in a folder of verge, and the folders that all use.
DESTDIR=$work/there cmake --install "$build" --prefix /opt/v >"$work/log"
DESTDIR=$work/staged cmake --install "$build" --prefix /opt/v >"$work/log"
echo mine >"$work/there/opt/v/share/doc/verge/mine"
sh "$source/scripts/uninstall" "$work/staged" "$work/there" >"$work/said"
[ "$(cd "$work/there" && find . ! -type d)" = ./opt/v/share/doc/verge/mine ]
grep -q "not empty, and left: $work/there/opt/v/share/doc/verge$" "$work/said"
[ -d "$work/there/opt/v/lib" ] || [ -d "$work/there/opt/v/lib64" ]
[ ! -e "$work/there/opt/v/include/verge" ]
sh "$source/scripts/uninstall" "$work/staged" "$work/there" | grep -q "uninstall: 0 files removed"

#!/bin/sh
# SPDX-License-Identifier: MIT
# install.sh VERGE BUILD: the tools, the man page and the completion are installed where they are looked for, and
# verge-durable finds the libraries of its prefix.
set -eu
verge=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work" >/dev/null
[ "$("$work/bin/verge" --version)" = "$("$verge" --version)" ]
test -f "$work/share/man/man1/verge.1"
test -f "$work/share/bash-completion/completions/verge"
if [ -e "$work/bin/verge-durable" ]; then
    ldd "$work/bin/verge-durable" | sed -n 's/^\t\(libverge[^ ]*\) => \([^ ]*\).*/\1 \2/p' >"$work/libraries"
    [ "$(wc -l <"$work/libraries")" -eq 2 ]
    while read -r name path; do
        [ "$(readlink -f "$path")" = "$(readlink -f "$(find "$work" -name "$name")")" ]
    done <"$work/libraries"
    env -u LD_LIBRARY_PATH "$work/bin/verge-durable" --version
fi

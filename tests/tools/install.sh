#!/bin/sh
# SPDX-License-Identifier: MIT
# install.sh VERGE BUILD: the tool, its man page and its completion are installed where they are looked for.
set -eu
verge=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work" >/dev/null
[ "$("$work/bin/verge" --version)" = "$("$verge" --version)" ]
test -f "$work/share/man/man1/verge.1"
test -f "$work/share/bash-completion/completions/verge"

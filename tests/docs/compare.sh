#!/bin/sh
# SPDX-License-Identifier: MIT
# compare.sh PROGRAM EXPECTED: the program succeeds and prints what is expected; anything, if EXPECTED is empty.
set -eu
output=$("$1")
[ ! -s "$2" ] || printf '%s\n' "$output" | diff "$2" -

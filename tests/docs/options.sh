#!/bin/sh
# SPDX-License-Identifier: MIT
# options.sh SOURCE: the README names the options of the build that there are, no others, and the version of CMake that
# it needs.
set -eu
cd "$1"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
sed -n 's/^option(\(VERGE_[A-Z_]*\) .*/\1/p; s/^set(\(VERGE_[A-Z_]*\) .* CACHE .*/\1/p' CMakeLists.txt | sort >"$work/there"
# shellcheck disable=SC2016 # these are marks of Markdown
grep -o '`VERGE_[A-Z_]*`' README.md | tr -d '`' | sort -u >"$work/named"
echo "options of CMakeLists.txt (<) against those of the README (>)"
diff "$work/there" "$work/named"
version=$(sed -n 's/^cmake_minimum_required(VERSION \([0-9.]*\))$/\1/p' CMakeLists.txt)
grep -q "CMake $version or newer" README.md

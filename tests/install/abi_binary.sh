#!/bin/sh
# SPDX-License-Identifier: MIT
# abi_binary.sh SOURCE BUILD [RECORD | --record [RECORD]]: the shared libraries of a build with debug information have
# the ABI that RECORD has (tests/install): symbols and their versions, parameters, sizes of structs and offsets of
# their members, values of enumerators. Any difference is an error, also something new. --record writes the record anew.
#
# abi.sh compares what the headers declare: also macros, inline functions and names of members. This script compares
# what the compiler made of it.
#
# One record is for x86-64 and for aarch64, where all public types have the same layout.
set -eu

source=$1
build=$2
shift 2
must_record=false
if [ "${1:-}" = --record ]; then
    must_record=true
    shift
fi
record=${1:-$source/tests/install}
case $(uname -m) in
x86_64 | aarch64) ;;
*)
    echo "there is no record for $(uname -m)"
    exit 77
    ;;
esac
command -v abidw >/dev/null || { echo "abidw is missing: abigail-tools"; exit 77; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A type that is defined outside of include/verge is opaque. abidw tells files apart by their base name only, and
# src/task/task.h has the base name of a public header. By this label, abidw knows opaque types.
cat >"$work/opaque" <<END
[suppress_type]
  label = Artificial private types suppression specification
  name = verge_task
  drop = yes
END

abi_of() { # abi_of LIBRARY FILE
    abidw --headers-dir "$source/include/verge" --suppressions "$work/opaque" --drop-private-types \
        --exported-interfaces-only --drop-undefined-syms --no-architecture --no-corpus-path --no-comp-dir-path \
        --no-elf-needed --no-show-locs --no-parameter-names --no-write-default-sizes --type-id-style hash \
        --out-file "$2" "$1"
    sed -i "s|path='[^']*/src/|path='src/|" "$2" # the place of the build does not matter
    grep -q "<class-decl name='verge_" "$2" || { echo "$1 has no debug information"; exit 1; }
}

failed=0
for library in "$build/src/libverge.so" "$build/src/durable/libverge-durable.so"; do
    [ -e "$library" ] || continue # there may be no database
    name=$(basename "$library" .so).abi
    abi_of "$library" "$work/$name"
    if $must_record; then
        cp "$work/$name" "$record/$name"
        echo "$record/$name: recorded"
    elif abidiff "$record/$name" "$work/$name" >"$work/changes"; then
        echo "$name: as recorded"
    else
        cat "$work/changes"
        echo "$name: the ABI is not as recorded. If this is meant: make abi RECORD=1"
        failed=1
    fi
done
exit $failed

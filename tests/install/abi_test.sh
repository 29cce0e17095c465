#!/bin/sh
# SPDX-License-Identifier: MIT
# abi_test.sh SOURCE: abi.sh notices changes of the headers.
set -eu

source=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tests/install" "$work/scripts"
cp -R "$source/include" "$work/"
cp "$source/scripts/declarations" "$work/scripts/"
header=$work/include/verge/wheel.h
abi() { sh "$source/tests/install/abi.sh" "$work" "$@" >"$work/log"; }

must_notice() { # must_notice WHAT SED-SCRIPT
    cp "$header" "$work/kept"
    sed -i "$2" "$header"
    if cmp -s "$header" "$work/kept"; then
        echo "nothing was changed: $1"
        exit 1
    fi
    if abi; then
        echo "not noticed: $1"
        exit 1
    fi
    cp "$work/kept" "$header"
}

abi --record
abi
must_notice "a function is gone" '/verge_wheel_cancel(/d'
must_notice "a parameter has another type" 's/verge_wheel_cancel_all(verge_wheel \*/verge_wheel_cancel_all(const verge_wheel */'
must_notice "a member is gone" '/^    uint64_t idle;/d'
must_notice "members have changed places" '/^    uint8_t shift;/{N;s/\(.*\)\n\(.*\)/\2\n\1/}'
must_notice "a constant has another value" 's/VERGE_ORDER_ANY = 0/VERGE_ORDER_ANY = 1/'

sed -i 's/^VERGE_API void verge_wheel_cancel_all/VERGE_API int verge_wheel_new_one(void);\n&/' "$header"
abi
grep -q ' 1 new ones' "$work/log"

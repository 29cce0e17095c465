#!/bin/sh
# SPDX-License-Identifier: MIT
# abi_binary_test.sh SOURCE BUILD: abi_binary.sh notices changes of the ABI. The test changes the record, not the
# library.
set -eu

source=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
record=$work/libverge.abi
abi() { sh "$source/tests/install/abi_binary.sh" "$source" "$build" "$@" >"$work/log"; }

must_notice() { # must_notice WHAT SED-SCRIPT
    cp "$record" "$work/kept"
    sed -i "$2" "$record"
    if cmp -s "$record" "$work/kept"; then
        echo "nothing was changed: $1"
        exit 1
    fi
    if abi "$work"; then
        echo "not noticed: $1"
        exit 1
    fi
    cp "$work/kept" "$record"
}

status=0
abi --record "$work" || status=$?
[ $status -eq 0 ] || { cat "$work/log"; exit $status; }
abi "$work"
must_notice "a function is new" "/<elf-symbol name='verge_wheel_cancel_all'/d"
must_notice "a function is gone" "s/^\(.*<elf-symbol name='verge_wheel_\)cancel_all\('.*\)/&\n\1gone\2/"
must_notice "a symbol has another version" "/<elf-symbol name='verge_wheel_cancel_all'/s/version='VERGE_/version='VERGE_9/"
must_notice "a struct has another size" "/<class-decl name='verge_loop_timer'/s/size-in-bits='[0-9]*'/size-in-bits='8192'/"
must_notice "members are elsewhere" "/<class-decl name='verge_loop_timer'/,/<\/class-decl>/s/\(layout-offset-in-bits='[1-9][0-9]*\)[0-9]'/\18'/"
must_notice "an enumerator has another value" "s/\(<enumerator name='VERGE_ORDER_FIFO' value='\)[0-9]*/\19/"
must_notice "a parameter more" "/<function-decl name='verge_wheel_cancel_all'/,/<\/function-decl>/s/<parameter .*/&&/"
echo "all were noticed"

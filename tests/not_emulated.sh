#!/bin/sh
# SPDX-License-Identifier: MIT
# not_emulated.sh BUILD: prints a regular expression for ctest, of the tests that `make test-cross` leaves out. Here they
# are listed, with the reasons. A line that matches no test of the build is an error.
set -eu

list='
_uring$                         qemu-user has no io_uring
^example_embed_io_uring$        qemu-user has no io_uring
^faults_                        they let system calls fail by seccomp, which qemu-user does not have
^(reactor_choice|io_faults)$    they forbid system calls by seccomp
^(io_calls|io_meaning)$         qemu-user does not know the flags of preadv2, so a read that fails at once waits first
^io_process$                    qemu-user changes the numbers of real-time signals, and vfork hides an exec that failed
^service_fork$                  qemu-user does not survive a fork while there are several threads
^task_(stack|overflow)$         qemu-user has no guards below a stack, and reports a fault in its own way
^(task|io)_virtual$             qemu-user has a thread of its own, as if the program could still end a deadlock
^tools_(bench|install)$         they run a copy of the program, and not through the emulation
^docs_(man|links|options|figures|pictures)$|^tools_completion$   they run no program of verge
'
tests=$(ctest --test-dir "$1" --show-only | sed -n 's/^ *Test *#[0-9]*: //p')
expression=
while read -r names reason; do
    [ -n "$names" ] || continue
    if ! echo "$tests" | grep -Eq "$names"; then
        echo "not_emulated.sh: there is no such test: $names ($reason)" >&2
        exit 1
    fi
    expression="$expression${expression:+|}$names"
done <<END
$list
END
echo "$expression"

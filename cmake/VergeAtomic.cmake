# SPDX-License-Identifier: MIT
# VERGE_NEEDS_LIBATOMIC: whether some atomics are calls, as those of one byte are on riscv64, and those of eight bytes
# on some machines of 32 bits.

include(CheckCSourceCompiles)
check_c_source_compiles("
    #include <stdatomic.h>
    #include <stdbool.h>
    #include <stdint.h>
    static atomic_bool flag;
    static _Atomic uint64_t word;
    int main(void) {
        return atomic_exchange(&flag, true) && atomic_fetch_add(&word, 1) != 0;
    }" VERGE_ATOMICS_ARE_INLINE)
if(VERGE_ATOMICS_ARE_INLINE)
    set(VERGE_NEEDS_LIBATOMIC OFF)
else()
    set(VERGE_NEEDS_LIBATOMIC ON)
endif()

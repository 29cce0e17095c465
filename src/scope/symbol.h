/* SPDX-License-Identifier: MIT */
/* scope/symbol.h - the name of a function by its address, as far as it can be had. */
#ifndef VERGE_SRC_SCOPE_SYMBOL_H
#define VERGE_SRC_SCOPE_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

/* By the dynamic linker, or by the symbol table of the program's file, which has static functions, too, unless it was
 * stripped. Else "program+0x1234". */
void verge__symbol_name(uint64_t address, char *name, size_t size);

#endif

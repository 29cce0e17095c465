/* SPDX-License-Identifier: MIT */
/* service/symbol.h - finds the name of a function by its address, if possible. */
#ifndef VERGE_SRC_SERVICE_SYMBOL_H
#define VERGE_SRC_SERVICE_SYMBOL_H

#include <stddef.h>
#include <stdint.h>

/* Asks the dynamic linker, then the symbol table of the file that the address is in (the program or a library). The
 * table also has static functions, unless it was stripped. If neither knows the name, writes "program+0x1234", or only
 * "0x1234" if the address is in no file. */
void verge__symbol_name(uint64_t address, char *name, size_t size);

#endif

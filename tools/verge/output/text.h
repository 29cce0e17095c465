/* SPDX-License-Identifier: MIT */
/* Numbers for people. The results are in a few static buffers, used in turn: enough for the arguments of one printf.
 * Only for one thread. */
#ifndef VERGE_TOOL_TEXT_H
#define VERGE_TOOL_TEXT_H

#include <stdint.h>

const char *text_grouped(uint64_t number); /* 1,234,567 */
const char *text_duration(uint64_t ns);    /* 850 ns, 1.049 ms, 19.50 h */
const char *text_bytes(uint64_t bytes);    /* 12 B, 3.400 KiB, 38.20 MiB */
double text_ms(uint64_t ns);

#endif

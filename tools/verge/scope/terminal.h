/* SPDX-License-Identifier: MIT */
/* The terminal, for a program that draws the whole screen and reads single keys. terminal_end restores the terminal. */
#ifndef VERGE_TOOL_TERMINAL_H
#define VERGE_TOOL_TERMINAL_H

/* Returns 0, or a negative errno if stdin is no terminal. */
int terminal_begin(void);
void terminal_end(void);

void terminal_size(int *ret_width, int *ret_height);

/* Returns a key for screen_press, or -1 if none was pressed. Does not wait. */
int terminal_key(void);

#endif

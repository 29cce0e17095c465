/* SPDX-License-Identifier: MIT */
/* What a terminal shows of a scope, as top does: figures, workers, what is coming, and a table of sources. */
#ifndef VERGE_TOOL_SCREEN_H
#define VERGE_TOOL_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

#include "output/look.h"
#include "scope/value.h"

struct screen {
    int width, height; /* of the terminal */
    unsigned sort;     /* the column by which the table is sorted */
    bool ascending;
    unsigned first;   /* the first row of the table that is shown */
    unsigned subject; /* what is shown (service, tasks, or a wheel), as an index into the subjects of the snapshot */
    bool is_lost;     /* there is no connection */
};

/* A key: an ASCII character, or one of these. */
enum { KEY_UP = 256, KEY_DOWN, KEY_LEFT, KEY_RIGHT };

/* Handles a key. Returns false for a key that quits. */
bool screen_press(struct screen *screen, int key);

/* Draws a snapshot: screen->height lines at most and, on a terminal of 31 columns or more, none longer than
 * screen->width. snapshot NULL: nothing has come yet. */
void screen_draw(struct screen *screen, const struct value *snapshot, const struct look *look, FILE *out);

#endif

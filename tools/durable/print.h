/* SPDX-License-Identifier: MIT */
/* tools/durable/print.h - how verge-durable prints timers, times and errors: as lines for people, or as JSON. */
#ifndef VERGE_TOOLS_DURABLE_PRINT_H
#define VERGE_TOOLS_DURABLE_PRINT_H

#include <stdbool.h>
#include <stdint.h>

#include "verge/durable.h"

enum { WRONG = 2 /* the exit status if the arguments make no sense */ };

/* Prints what has failed and why, in the words of the store if there are any. durable may be NULL. Returns the exit
 * status: WRONG if durable is not NULL and the error is -EINVAL, otherwise 1. */
int complain(verge_durable *durable, const char *what, int error);

/* Returns the URL without its password, and without options that may be secret. The text is valid until the next
 * call. */
const char *without_password(const char *url);

void print_heading(bool dead);
void print_info(const verge_durable_info *info, bool as_json);
void print_details(const verge_durable_info *info, const uint8_t *payload, bool as_json);
void print_stats(uint64_t pending, uint64_t overdue, uint64_t dead, const verge_durable_owner *owners, int count,
                 bool as_json);

void print_controls(const verge_durable_control *controls, int count, bool as_json);

#endif

/* SPDX-License-Identifier: MIT */
/* service/last_pass.h - a time that a worker has already read, for callers that need no newer one. */
#ifndef VERGE_SRC_SERVICE_LAST_PASS_H
#define VERGE_SRC_SERVICE_LAST_PASS_H

#include "verge/service.h"

/* Returns the time at which the worker's last pass began or, if later, its last callback returned. Only the worker's
 * thread may call this. */
uint64_t verge__worker_last_pass_ns(const verge_worker *worker);

#endif

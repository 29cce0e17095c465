/* SPDX-License-Identifier: MIT */
/* service/last_pass.h - a time that a worker has already read, for callers that need no newer one. */
#ifndef VERGE_SRC_SERVICE_LAST_PASS_H
#define VERGE_SRC_SERVICE_LAST_PASS_H

#include "verge/service.h"

/* What the clock said in the last pass. By the worker's thread. */
uint64_t verge__worker_last_pass_ns(const verge_worker *worker);

#endif

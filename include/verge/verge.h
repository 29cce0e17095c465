/* SPDX-License-Identifier: MIT */
/* verge/verge.h - all of verge. Each header below can also be included alone. */
#ifndef VERGE_VERGE_H
#define VERGE_VERGE_H

#include "verge/base.h"
#include "verge/bindings.h"
#include "verge/blocking.h"
#include "verge/histogram.h"
#include "verge/interval.h"
#include "verge/io.h"
#include "verge/loop.h"
#include "verge/metrics.h"
#include "verge/process.h"
#include "verge/recurrence.h"
#include "verge/scope.h"
#include "verge/service.h"
#include "verge/sync.h"
#include "verge/task.h"
#include "verge/wheel.h"
#include "verge/wheel_more.h"

#endif

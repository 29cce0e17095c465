/* SPDX-License-Identifier: MIT */
/* service/shown.h - whether a scope shows a service, for those who would destroy it. */
#ifndef VERGE_SRC_SERVICE_SHOWN_H
#define VERGE_SRC_SERVICE_SHOWN_H

#include <stdbool.h>

#include "verge/service.h"

bool verge__service_is_shown(const verge_service *service);

#endif

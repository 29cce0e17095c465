/* SPDX-License-Identifier: MIT */
/* tests/durable/model_node.h - a node on the model of a store. It has no threads: the test makes its steps. */
#ifndef VERGE_TESTS_DURABLE_MODEL_NODE_H
#define VERGE_TESTS_DURABLE_MODEL_NODE_H

#include "durable/durable_internal.h"
#include "durable/model_store.h"

/* Opens a node with this local clock. `number` is its own number in the store. */
verge_durable *model_open(verge_manual_clock *clock, uint64_t number,
                          void (*log)(void *context, const verge_durable_message *message));

#endif

/* SPDX-License-Identifier: MIT */
#include "durable/model_node.h"

#include "durable/support.h"
#include "support/cmocka.h"

verge_durable *model_open(verge_manual_clock *clock, uint64_t number,
                          void (*log)(void *context, const verge_durable_message *message)) {
    verge_durable_options options;
    verge_durable *durable;
    (void)verge_durable_options_init(&options, sizeof(options));
    options.url = "model:";
    options.log = log;
    options.firing_threads = 1;
    options.batch = 4;
    options.window_max = 16;
    options.lease_ns = 500 * MS;
    options.rescan_ns = 100 * MS;
    options.horizon_ns = 300 * MS;
    assert_int_equal(verge__durable_create(&options, &model_store, verge_clock_manual(clock), &durable), 0);
    durable->shard_count = MODEL_SHARDS;
    durable->keeper.scan_rows = 5;
    durable->node = number;
    assert_int_equal(verge__connect(durable, &durable->keeper.connection), 0);
    assert_int_equal(verge__refresh_incarnation(durable, durable->keeper.connection), 0);
    assert_int_equal(model_store.join(durable->keeper.connection, "", options.lease_ns, number), 0);
    return durable;
}

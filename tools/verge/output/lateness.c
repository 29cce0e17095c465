/* SPDX-License-Identifier: MIT */
#include "output/lateness.h"

#include "output/text.h"

enum { ROW_COUNT_MAX = 64, ROW_COUNT_DRAWN_MAX = 16, BAR_WIDTH = 44 };

/* Row r has the values of r significant bits: from 2^(r-1) up to 2^r. */
struct rows {
    uint64_t counts[ROW_COUNT_MAX + 1];
    unsigned first, last; /* the first and the last row that is not empty */
    uint64_t most;
};

static unsigned bit_count(uint64_t value) {
    unsigned count = 0;
    for (; value != 0; value >>= 1) {
        count++;
    }
    return count;
}

static struct rows rows_of(const verge_histogram *histogram) {
    struct rows rows = {.first = ROW_COUNT_MAX};
    for (size_t i = 0; i < VERGE_HISTOGRAM_BUCKET_COUNT; i++) {
        uint64_t upper = 0;
        uint64_t count = 0;
        (void)verge_histogram_bucket(histogram, i, &upper, &count);
        if (count == 0) {
            continue;
        }
        unsigned row = bit_count(upper);
        rows.counts[row] += count;
        rows.first = row < rows.first ? row : rows.first;
        rows.last = row > rows.last ? row : rows.last;
    }
    return rows;
}

/* If there are more rows than fit, adds up the lowest ones. */
static void fold(struct rows *rows) {
    while (rows->last - rows->first >= ROW_COUNT_DRAWN_MAX) {
        rows->counts[rows->first + 1] += rows->counts[rows->first];
        rows->first++;
    }
    for (unsigned row = rows->first; row <= rows->last; row++) {
        rows->most = rows->counts[row] > rows->most ? rows->counts[row] : rows->most;
    }
}

static void draw(const verge_histogram *histogram, const struct look *look) {
    struct rows rows = rows_of(histogram);
    fold(&rows);
    for (unsigned row = rows.first; row <= rows.last; row++) {
        uint64_t bar = (rows.counts[row] * BAR_WIDTH + rows.most - 1) / rows.most;
        uint64_t below = row < ROW_COUNT_MAX ? UINT64_C(1) << row : UINT64_MAX;
        printf("    below %10s  %s", text_duration(below), look->good);
        for (uint64_t i = 0; i < BAR_WIDTH; i++) {
            (void)fputs(i < bar ? look->bar : " ", stdout);
        }
        printf("%s %11s\n", look->plain, text_grouped(rows.counts[row]));
    }
}

void lateness_print(const verge_histogram *lateness, const struct look *look) {
    if (verge_histogram_count(lateness) == 0) {
        return;
    }
    printf(
        "\n  %slateness%s   median %s, 99 %% %s, 99.9 %% %s, max %s\n\n", look->bold, look->plain,
        text_duration(verge_histogram_quantile(lateness, 0.5)), text_duration(verge_histogram_quantile(lateness, 0.99)),
        text_duration(verge_histogram_quantile(lateness, 0.999)), text_duration(verge_histogram_quantile(lateness, 1)));
    draw(lateness, look);
}

void lateness_write_json(const verge_histogram *lateness, struct json *json) {
    json_begin_object(json, "lateness");
    json_number(json, "count", verge_histogram_count(lateness));
    json_number(json, "p50_ns", verge_histogram_quantile(lateness, 0.5));
    json_number(json, "p99_ns", verge_histogram_quantile(lateness, 0.99));
    json_number(json, "p999_ns", verge_histogram_quantile(lateness, 0.999));
    json_number(json, "max_ns", verge_histogram_quantile(lateness, 1));
    json_end_object(json);
}

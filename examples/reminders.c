/* SPDX-License-Identifier: MIT */
/*
 * A reminder service. Reminders survive the program, and several processes may share them:
 *
 *     reminders sqlite:/var/lib/reminders.db                 one machine, no server
 *     reminders postgresql:///reminders                      the same program, on any number of machines
 *
 * Each line of the standard input is "SECONDS TEXT". So many seconds later, one of the processes prints TEXT.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <verge/durable.h>

static verge_durable_verdict remind(const verge_durable_firing *firing) {
    printf("reminder: %.*s (attempt %u)\n", (int)firing->payload_size, (const char *)firing->payload, firing->attempt);
    return fflush(stdout) == 0 ? VERGE_DURABLE_DONE : VERGE_DURABLE_RETRY;
}

static int fail(const char *what, int error) {
    fprintf(stderr, "reminders: %s: %s\n", what, verge_strerror(error));
    return 1;
}

int main(int argc, char **argv) {
    verge_durable_options options;
    verge_durable *durable;
    if (argc != 2) {
        fprintf(stderr, "usage: reminders URL\n");
        return 2;
    }
    verge_durable_options_init(&options, sizeof(options));
    options.url = argv[1];
    options.create = true; /* creates the tables at the first start */
    int error = verge_durable_open(&options, &durable);
    if (error != 0) {
        return fail("open", error); /* does not print the URL, which may have a password */
    }
    error = verge_durable_register(durable, "remind", remind, NULL, NULL); /* reminders of earlier runs fire now */
    char line[4096];
    while (error == 0 && fgets(line, sizeof(line), stdin) != NULL) {
        char *text;
        const double seconds = strtod(line, &text);
        text += strspn(text, " ");
        const verge_durable_request request = {
            .handler = "remind",
            .delay_ns = seconds > 0 ? (uint64_t)(seconds * 1e9) : 0,
            .payload = text,
            .payload_size = strcspn(text, "\n"),
        };
        error = verge_durable_start(durable, &request, NULL); /* returns 0 when the reminder is on disk */
    }
    if (error != 0) {
        fail("schedule", error);
    }
    return verge_durable_close(durable, VERGE_NEVER) != 0 || error != 0;
}

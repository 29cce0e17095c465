/* SPDX-License-Identifier: MIT */
/* What a node says to people: the last error in the store's own words, and the log. */
#define _GNU_SOURCE

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "durable/durable_internal.h"

/* A refusal is over when it has not come for this time. The next one is told, even if it has the same words. */
#define REFUSAL_OVER_NS UINT64_C(600000000000)

static int copy_words(const char *words, char *text, size_t size) {
    if (size > 0) {
        (void)snprintf(text, size, "%s", words);
    }
    return (int)strlen(words);
}

int verge_durable_error(verge_durable *durable, char *text, size_t size) {
    if (text == NULL && size > 0) {
        return -EINVAL;
    }
    if (durable == NULL) {
        return copy_words(verge__words(), text, size);
    }
    verge__lock(durable);
    const int length = copy_words(durable->said.last_words, text, size);
    verge__unlock(durable);
    return length;
}

void verge__keep_words(verge_durable *durable, int error) {
    const char *words = verge__words()[0] != '\0' ? verge__words() : verge_strerror(error);
    verge__lock(durable);
    (void)snprintf(durable->said.last_words, sizeof(durable->said.last_words), "%s", words);
    verge__unlock(durable);
}

int verge__refuse(verge_durable *durable, int error, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    verge__lock(durable);
    (void)vsnprintf(durable->said.last_words, sizeof(durable->said.last_words), format, arguments);
    verge__unlock(durable);
    va_end(arguments);
    return error;
}

void verge__log(verge_durable *durable, const verge_durable_message *about, const char *format, ...) {
    if (durable->options.log == NULL) {
        return;
    }
    char text[VERGE__WORDS_MAX + 200];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    verge_durable_message message = *about;
    message.text = text;
    (void)pthread_mutex_lock(&durable->said.lock);
    durable->options.log(durable->options.log_context, &message);
    (void)pthread_mutex_unlock(&durable->said.lock);
}

/* Called under the lock. Counts a thread whose steps fail now. Returns whether to tell the log: true if no other thread
 * is failing, or if this thread fails for another reason than was told last. */
static bool is_news(verge_durable *durable, const char *words) {
    const bool is_new = durable->said.failing_count++ == 0 || strcmp(durable->said.told_words, words) != 0;
    (void)snprintf(durable->said.told_words, sizeof(durable->said.told_words), "%s", words);
    return is_new;
}

void verge__note_step(verge_durable *durable, bool *is_failing, int error) {
    if (error == -EAGAIN) {
        return; /* another transaction was in the way */
    }
    bool tells = false;
    bool is_restored = false;
    if (error != 0) {
        verge__keep_words(durable, error);
    }
    const bool is_firer = is_failing != &durable->keeper.is_failing && is_failing != &durable->writer.is_failing;
    verge__lock(durable);
    if (error != 0 && is_firer && !verge__is_lost(error)) { /* perhaps one timer fails again and again */
        const uint64_t now_ns = verge__local_now(durable);
        tells = strcmp(durable->said.told_refusal, durable->said.last_words) != 0 ||
                now_ns - durable->said.refused_ns > REFUSAL_OVER_NS;
        memcpy(durable->said.told_refusal, durable->said.last_words, sizeof(durable->said.told_refusal));
        durable->said.refused_ns = now_ns;
    } else if (error != 0 && !*is_failing) {
        tells = is_news(durable, durable->said.last_words);
        *is_failing = true;
    } else if (error == 0 && *is_failing) {
        tells = --durable->said.failing_count == 0;
        *is_failing = false;
        durable->said.told_refusal[0] = '\0';
    }
    if (error == 0) {
        is_restored = durable->said.is_restored;
        durable->said.is_restored = false;
    }
    verge__unlock(durable);
    if (tells && error != 0) {
        verge__log(durable, &(verge_durable_message){.event = VERGE_DURABLE_LOST, .error = error}, "%s",
                   verge__words()[0] != '\0' ? verge__words() : verge_strerror(error));
    } else if (tells) {
        verge__log(durable, &(verge_durable_message){.event = VERGE_DURABLE_BACK}, "the store answers again");
    }
    if (is_restored) {
        verge__log(
            durable, &(verge_durable_message){.event = VERGE_DURABLE_RESTORED},
            "the store has an older state than before: a replica was promoted that lacked the last commits, or a "
            "backup was restored. Timers of these commits are lost, and timers that they had fired fire again");
    }
}

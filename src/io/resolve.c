/* SPDX-License-Identifier: MIT */
/* Names of hosts, resolved by getaddrinfo on a thread (verge/blocking.h). */
#define _GNU_SOURCE

#include <errno.h>
#include <netdb.h>
#include <string.h>

#include "task/current.h"
#include "task/runtime.h"
#include "verge/blocking.h"

/* A query and its texts, in one allocation. It belongs to the thread that resolves, and then to the waiting task. If
 * the task has given up, verge_blocking calls `abandon`, which frees the query. */
typedef struct lookup {
    verge_allocator allocator;
    size_t size; /* of the whole allocation */
    const char *node, *service;
    const struct addrinfo *hints;
    struct addrinfo hints_copy;
    struct addrinfo *answer;
    int error; /* errno, if the answer is EAI_SYSTEM */
    char texts[];
} lookup;

static const char *copy_text(char *to, const char *text, size_t size) {
    return text != NULL ? memcpy(to, text, size) : NULL;
}

static int ask(const char *node, const char *service, const struct addrinfo *hints, const verge_allocator *allocator,
               lookup **ret_question) {
    const size_t node_size = node != NULL ? strlen(node) + 1 : 0;
    const size_t service_size = service != NULL ? strlen(service) + 1 : 0;
    const size_t size = sizeof(lookup) + node_size + service_size;
    lookup *question = allocator->allocate(allocator->context, size, _Alignof(max_align_t));
    if (question == NULL) {
        return -ENOMEM;
    }
    *question = (lookup){.allocator = *allocator, .size = size};
    question->node = copy_text(question->texts, node, node_size);
    question->service = copy_text(question->texts + node_size, service, service_size);
    if (hints != NULL) { /* getaddrinfo wants the other fields of the hints to be 0 */
        question->hints_copy.ai_flags = hints->ai_flags;
        question->hints_copy.ai_family = hints->ai_family;
        question->hints_copy.ai_socktype = hints->ai_socktype;
        question->hints_copy.ai_protocol = hints->ai_protocol;
        question->hints = &question->hints_copy;
    }
    *ret_question = question;
    return 0;
}

static void forget(lookup *question) {
    const verge_allocator allocator = question->allocator;
    allocator.release(allocator.context, question, question->size);
}

static intptr_t resolve(void *argument) {
    lookup *question = argument;
    const int code = getaddrinfo(question->node, question->service, question->hints, &question->answer);
    question->error = errno;
    if (code != 0) {
        question->answer = NULL;
    }
    return code;
}

static void abandon(void *argument) {
    lookup *question = argument;
    if (question->answer != NULL) {
        freeaddrinfo(question->answer);
    }
    forget(question);
}

static int error_of(int code, int system_error) {
    switch (code) {
    case 0:
        return 0;
    case EAI_NONAME:
    case EAI_SERVICE:
#if defined(EAI_NODATA)
    case EAI_NODATA:
#endif
#if defined(EAI_ADDRFAMILY)
    case EAI_ADDRFAMILY:
#endif
        return -ENOENT;
    case EAI_AGAIN:
        return -EAGAIN;
    case EAI_BADFLAGS:
        return -EINVAL;
    case EAI_FAMILY:
        return -EAFNOSUPPORT;
    case EAI_SOCKTYPE:
        return -ESOCKTNOSUPPORT;
    case EAI_MEMORY:
        return -ENOMEM;
    case EAI_OVERFLOW:
        return -EOVERFLOW;
    case EAI_SYSTEM:
        return system_error > 0 ? -system_error : -EIO;
    default:
        return -EIO;
    }
}

int verge_getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
                      struct addrinfo **ret_addresses, uint64_t deadline_ns) {
    const verge_task *self = verge__current_task();
    if (self == NULL) {
        return -EPERM;
    }
    if ((node == NULL && service == NULL) || ret_addresses == NULL) {
        return -EINVAL;
    }
    lookup *question;
    int error = ask(node, service, hints, &self->runtime->allocator, &question);
    if (error != 0) {
        return error;
    }
    intptr_t code = 0;
    error = verge_blocking(resolve, question, abandon, &code, deadline_ns);
    if (error == -ETIMEDOUT || error == -ECANCELED) {
        return error;
    }
    if (error == 0) {
        error = error_of((int)code, question->error);
    }
    if (error == 0) {
        *ret_addresses = question->answer;
    }
    forget(question);
    return error;
}

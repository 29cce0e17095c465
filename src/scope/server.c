/* SPDX-License-Identifier: MIT */
/*
 * An HTTP/1.1 server made of tasks: one accepts connections, and one serves each client. Every receive and send has a
 * deadline. The memory for a client is bounded: its task, the head of its request, the text that is being sent to it,
 * and the system's buffers.
 */
#define _GNU_SOURCE /* accept flags */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "scope/scope_internal.h"
#include "task/observe.h"

#define SECOND_NS UINT64_C(1000000000)
#define HEAD_WITHIN_NS (2 * SECOND_NS) /* for the first head: from the connection; for others: from the first byte */
#define IDLE_NS (15 * SECOND_NS)       /* between two requests */
#define SEND_WITHIN_NS (5 * SECOND_NS) /* for one answer or event: a client that reads more slowly is disconnected */
#define ALL_FIGURES_WITHIN_NS (5 * SECOND_NS)
#define DETAIL_WITHIN_NS (10 * SECOND_NS)
#define LINGER_NS (SECOND_NS / 2)

enum {
    SEND_BUFFER_SIZE = 64 << 10, /* in the kernel, for each client */
    LINGER_BYTES = 64 << 10,
    TASKS_MAX = 5000, /* with more tasks, their list is refused: it takes memory and time */
    TASKS_TEXT_SIZE = 2 << 20,
};

typedef struct verge__client {
    verge_scope *scope;
    struct verge__client *newer; /* the next one in the scope's list, which begins with the oldest */
    int fd;
    bool is_awaited;    /* the head of its next request has not arrived */
    bool is_pushed_out; /* a newer client has its place: this client ends, and client_count is without it */
    size_t size;        /* how many of `bytes` were received and not used yet */
    char bytes[VERGE__REQUEST_SIZE_MAX];
} client;

/* ---- answers ---- */

typedef struct verge__answer {
    int status;
    const char *type;   /* NULL: no body */
    const char *fields; /* more header lines, each with CR LF; or "" */
    const void *body;
    size_t size;
    bool is_endless; /* the body goes on until the connection ends */
} answer;

static const char *reason_of(int status) {
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {{200, "OK"},
                   {304, "Not Modified"},
                   {400, "Bad Request"},
                   {403, "Forbidden"},
                   {404, "Not Found"},
                   {405, "Method Not Allowed"},
                   {409, "Conflict"},
                   {413, "Content Too Large"},
                   {431, "Request Header Fields Too Large"},
                   {503, "Service Unavailable"},
                   {505, "HTTP Version Not Supported"}};
    for (size_t i = 0; i < sizeof(reasons) / sizeof(*reasons); i++) {
        if (reasons[i].status == status) {
            return reasons[i].reason;
        }
    }
    return "Internal Server Error";
}

static int send_answer(client *client_, const answer *answer_, bool is_head, bool keeps_alive) {
    char head[1536];
    char length[64] = "";
    if (!answer_->is_endless && answer_->status != 304) {
        (void)snprintf(length, sizeof(length), "Content-Length: %zu\r\n", answer_->size);
    }
    const int size =
        snprintf(head, sizeof(head),
                 "HTTP/1.1 %d %s\r\n%s%s%s%s%sConnection: %s\r\n"
                 "X-Content-Type-Options: nosniff\r\nX-Frame-Options: DENY\r\n"
                 "Referrer-Policy: no-referrer\r\nCross-Origin-Resource-Policy: same-origin\r\n\r\n",
                 answer_->status, reason_of(answer_->status),
                 answer_->type == NULL ? "" : "Content-Type: ", answer_->type == NULL ? "" : answer_->type,
                 answer_->type == NULL ? "" : "\r\n", length, answer_->fields, keeps_alive ? "keep-alive" : "close");
    if (size < 0 || (size_t)size >= sizeof(head)) {
        return -EMSGSIZE;
    }
    const uint64_t deadline_ns = verge_deadline_after(SEND_WITHIN_NS);
    const bool has_body = !is_head && answer_->size > 0;
    const int error = verge_send_all(client_->fd, head, (size_t)size, has_body ? MSG_MORE : 0, NULL, deadline_ns);
    return error != 0 || !has_body ? error
                                   : verge_send_all(client_->fd, answer_->body, answer_->size, 0, NULL, deadline_ns);
}

static int send_plain(client *client_, int status, const char *fields, const char *text, bool is_head,
                      bool keeps_alive) {
    const answer answer_ = {
        .status = status, .type = "text/plain; charset=utf-8", .fields = fields, .body = text, .size = strlen(text)};
    return send_answer(client_, &answer_, is_head, keeps_alive);
}

/* Sends an answer whose text is only its status. */
static int send_status(client *client_, int status, bool is_head, bool keeps_alive) {
    char text[64];
    (void)snprintf(text, sizeof(text), "%d %s\n", status, reason_of(status));
    return send_plain(client_, status, "Cache-Control: no-store\r\n", text, is_head, keeps_alive);
}

static int refuse_method(client *client_, const verge__request *request, const char *allowed) {
    char fields[64];
    (void)snprintf(fields, sizeof(fields), "Allow: %s\r\nCache-Control: no-store\r\n", allowed);
    return send_plain(client_, 405, fields, "405 Method Not Allowed\n", request->method == VERGE__METHOD_HEAD,
                      request->keeps_alive);
}

/* ---- GET ---- */

static int send_page(client *client_, const verge__request *request) {
    char fields[512];
    (void)snprintf(fields, sizeof(fields), "ETag: %s\r\nCache-Control: no-cache\r\nContent-Security-Policy: %s\r\n",
                   verge__page_tag, verge__page_policy);
    const bool is_known = verge__request_has_tag(request, verge__page_tag);
    const answer page = {.status = is_known ? 304 : 200,
                         .type = is_known ? NULL : "text/html; charset=utf-8",
                         .fields = fields,
                         .body = verge__page,
                         .size = is_known ? 0 : verge__page_size};
    return send_answer(client_, &page, request->method == VERGE__METHOD_HEAD, request->keeps_alive);
}

static int send_text(client *client_, const verge__request *request, const char *type, const verge__text *text) {
    if (text->has_failed) {
        return send_status(client_, 500, request->method == VERGE__METHOD_HEAD, request->keeps_alive);
    }
    const answer answer_ = {
        .status = 200, .type = type, .fields = "Cache-Control: no-store\r\n", .body = text->bytes, .size = text->size};
    return send_answer(client_, &answer_, request->method == VERGE__METHOD_HEAD, request->keeps_alive);
}

static int send_metrics(client *client_, const verge__request *request) {
    verge__text text = {.allocator = &client_->scope->allocator};
    verge__scope_write_metrics(client_->scope, &text);
    const int error = send_text(client_, request, "text/plain; version=0.0.4; charset=utf-8", &text);
    verge__text_free(&text);
    return error;
}

/* Waits, for a limited time, until every timer was seen once and rates are known. Then sends the last look. */
static int send_snapshot(client *client_, const verge__request *request) {
    verge_scope *scope = client_->scope;
    const uint64_t deadline_ns = verge_deadline_after(ALL_FIGURES_WITHIN_NS);
    verge__message *message = NULL;
    uint64_t number = scope->message_count;
    int error = 0;
    do {
        verge__scope_release_message(scope, message);
        message = NULL;
        error = verge__scope_next_message(scope, &number, deadline_ns + ALL_FIGURES_WITHIN_NS, &message);
    } while (error == 0 && !verge__scope_has_all_figures(scope) && verge_now() < deadline_ns);
    if (error == 0) {
        error = send_text(client_, request, "application/json", &message->text);
    }
    verge__scope_release_message(scope, message);
    return error;
}

/* Sends the next look. The page asks for it again and again. Events would keep a connection open, and a browser has
 * only six connections for all pages of an address. */
static int send_next(client *client_, const verge__request *request) {
    verge_scope *scope = client_->scope;
    verge__message *message = NULL;
    uint64_t number = scope->message_count;
    int error = verge__scope_next_message(scope, &number, verge_deadline_after(ALL_FIGURES_WITHIN_NS), &message);
    if (error == 0) {
        error = send_text(client_, request, "application/json", &message->text);
    }
    verge__scope_release_message(scope, message);
    return error;
}

static int send_history(client *client_, const verge__request *request) {
    verge__text text = {.allocator = &client_->scope->allocator};
    verge__scope_write_history(client_->scope, &text);
    const int error = send_text(client_, request, "application/json", &text);
    verge__text_free(&text);
    return error;
}

static int collect_tasks(void *context, const char *bytes, size_t size) {
    verge__text *text = context;
    verge__text_add(text, bytes, size);
    return text->has_failed ? -ENOMEM : text->size > TASKS_TEXT_SIZE ? -EFBIG : 0;
}

/* Sends what every task does: the text of verge_runtime_dump, up to about TASKS_TEXT_SIZE. */
static int send_tasks(client *client_, const verge__request *request) {
    verge_runtime *tasks = client_->scope->watched_tasks;
    verge__text text = {.allocator = &client_->scope->allocator};
    verge_runtime_stats counts = {.tasks = 0};
    if (tasks != NULL) {
        verge__runtime_count(tasks, &counts);
    }
    if (tasks == NULL || counts.tasks > TASKS_MAX) {
        return send_status(client_, tasks == NULL ? 404 : 413, request->method == VERGE__METHOD_HEAD,
                           request->keeps_alive);
    }
    const int dumped = verge__dump(tasks, collect_tasks, &text);
    text.has_failed |= dumped != 0 && dumped != -EFBIG;
    const int error = send_text(client_, request, "text/plain; charset=utf-8", &text);
    verge__text_free(&text);
    return error;
}

/* Finds the view and the source that a path such as "service/17" or "tasks/17" names. */
static verge__service_view *find_source(const verge_scope *scope, verge__part path, uint32_t *ret_index) {
    static const char *const names[VERGE__VIEW_COUNT] = {"service/", "tasks/"};
    for (size_t i = 0; i < VERGE__VIEW_COUNT; i++) {
        const size_t size = strlen(names[i]);
        uint32_t index = 0;
        if (path.size <= size || path.size > size + 4 || memcmp(path.bytes, names[i], size) != 0) {
            continue;
        }
        for (size_t k = size; k < path.size; k++) {
            if (path.bytes[k] < '0' || path.bytes[k] > '9') {
                return NULL;
            }
            index = index * 10 + (uint32_t)(path.bytes[k] - '0');
        }
        *ret_index = index;
        return index < VERGE__SOURCE_COUNT ? scope->views[i] : NULL;
    }
    return NULL;
}

/* Sends the timers of a source, after a complete round of the walk. */
static int send_source(client *client_, const verge__request *request) {
    verge_scope *scope = client_->scope;
    const bool is_head = request->method == VERGE__METHOD_HEAD;
    const uint64_t deadline_ns = verge_deadline_after(DETAIL_WITHIN_NS);
    uint32_t index = 0;
    verge__service_view *view = find_source(scope, request->path, &index);
    if (view == NULL || view->sources[index].name[0] == '\0') {
        return send_status(client_, 404, is_head, request->keeps_alive);
    }
    const verge__detail *detail = NULL;
    uint64_t number = 0;
    int error = 0;
    while (error == 0 && detail == NULL) {
        verge__message *message = NULL;
        error = verge__scope_next_message(scope, &number, deadline_ns, &message);
        verge__scope_release_message(scope, message);
        if (error == 0 && !verge__view_want_detail(view, index, verge_now())) {
            error = -EBUSY;
        }
        detail = error == 0 ? verge__view_detail(view, index) : NULL;
    }
    if (detail == NULL) {
        return error == -ECANCELED ? error : send_status(client_, 503, is_head, request->keeps_alive);
    }
    verge__text text = {.allocator = &scope->allocator};
    verge__scope_write_detail(view, index, detail, &text);
    error = send_text(client_, request, "application/json", &text);
    verge__text_free(&text);
    return error;
}

static int send_event(client *client_, const char *before, const verge__text *text) {
    const uint64_t deadline_ns = verge_deadline_after(SEND_WITHIN_NS);
    int error = verge_send_all(client_->fd, before, strlen(before), MSG_MORE, NULL, deadline_ns);
    if (error == 0) {
        error = verge_send_all(client_->fd, text->bytes, text->size, MSG_MORE, NULL, deadline_ns);
    }
    return error != 0 ? error : verge_send_all(client_->fd, "\n\n", 2, 0, NULL, deadline_ns);
}

/* Sends events until the client disconnects or stops reading. Events that a client misses are not stored. */
static int send_events(client *client_, const verge__request *request) {
    verge_scope *scope = client_->scope;
    const bool is_head = request->method == VERGE__METHOD_HEAD;
    const answer head = {
        .status = 200, .type = "text/event-stream", .fields = "Cache-Control: no-store\r\n", .is_endless = true};
    verge__text history = {.allocator = &scope->allocator};
    int error = send_answer(client_, &head, is_head, false);
    if (error == 0 && !is_head) {
        verge__scope_write_history(scope, &history);
        error = history.has_failed ? -ENOMEM : send_event(client_, "retry: 1000\nevent: history\ndata: ", &history);
    }
    verge__text_free(&history);
    uint64_t number = 0;
    while (error == 0 && !is_head) {
        verge__message *message = NULL;
        verge__scope_want_looks(scope);
        error = verge__scope_next_message(scope, &number, VERGE_NEVER, &message);
        if (error == 0) {
            error = send_event(client_, "data: ", &message->text);
            verge__scope_release_message(scope, message);
        }
    }
    return error != 0 ? error : -ECONNRESET;
}

/* ---- POST ---- */

static bool read_number(const char **at, const char *end, uint64_t *ret_number) {
    const char *first = *at;
    *ret_number = 0;
    while (*at < end && **at >= '0' && **at <= '9') {
        const uint64_t digit = (uint64_t)(*(*at)++ - '0');
        if (*ret_number > (UINT64_MAX - digit) / 10) {
            return false;
        }
        *ret_number = *ret_number * 10 + digit;
    }
    return *at > first;
}

/* Reads a path such as "17/4711/forget": the number of a panel, the id of an item, and an action. */
static bool read_act(verge__part path, uint64_t *ret_panel, uint64_t *ret_item, char *action, size_t size) {
    const char *at = path.bytes;
    const char *end = path.bytes + path.size;
    if (!read_number(&at, end, ret_panel) || at == end || *at++ != '/' || !read_number(&at, end, ret_item) ||
        at == end || *at++ != '/' || at == end || (size_t)(end - at) >= size) {
        return false;
    }
    memcpy(action, at, (size_t)(end - at));
    action[end - at] = '\0';
    return strspn(action, "abcdefghijklmnopqrstuvwxyz") == (size_t)(end - at);
}

/* Only the page itself may act. Browsers send the Origin with each POST, and respond() has compared it with the
 * Host. */
static int do_act(client *client_, const verge__request *request) {
    uint64_t panel;
    uint64_t item;
    char action[32];
    if (request->method != VERGE__METHOD_POST) {
        return refuse_method(client_, request, "POST");
    }
    if (request->origin.bytes == NULL) {
        return send_status(client_, 403, false, request->keeps_alive);
    }
    if (!read_act(request->path, &panel, &item, action, sizeof(action))) {
        return send_status(client_, 404, false, request->keeps_alive);
    }
    const int result = verge__scope_act(client_->scope, panel, item, action);
    char text[160];
    (void)snprintf(text, sizeof(text), "%s\n", result == 0 ? "done" : verge_strerror(result));
    return send_plain(client_,
                      result == 0         ? 200
                      : result == -ENOENT ? 404
                                          : 409,
                      "Cache-Control: no-store\r\n", text, false, request->keeps_alive);
}

/* ---- a client ---- */

/* If the path is below the folder, cuts the folder off and returns true. */
static bool is_below(verge__part *path, const char *folder) {
    const size_t cut = strlen(folder);
    const bool is_it = path->size > cut && memcmp(path->bytes, folder, cut) == 0;
    if (is_it) {
        path->bytes += cut;
        path->size -= cut;
    }
    return is_it;
}

static int respond(client *client_, verge__request *request) {
    const verge__listener *listener = &client_->scope->listener;
    const bool is_head = request->method == VERGE__METHOD_HEAD;
    if (verge__request_is_foreign(request)) {
        request->keeps_alive = false;
        return send_status(client_, 403, is_head, false);
    }
    if (!verge__listener_strip_token(listener, &request->path)) { /* a client without the token is disconnected */
        request->keeps_alive = false;
        return send_status(client_, 404, is_head, false);
    }
    static const struct {
        const char *path;
        int (*send)(client *client_, const verge__request *request);
    } routes[] = {{"/", send_page},       {"/events", send_events},   {"/snapshot", send_snapshot},
                  {"/next", send_next},   {"/history", send_history}, {"/metrics", send_metrics},
                  {"/tasks", send_tasks}, {"/source", send_source}};
    if (is_below(&request->path, "/act/")) {
        return do_act(client_, request);
    }
    const bool is_source = is_below(&request->path, "/source/");
    for (size_t i = 0; i < sizeof(routes) / sizeof(*routes); i++) {
        const bool is_it =
            routes[i].send == send_source ? is_source : !is_source && verge__part_equals(request->path, routes[i].path);
        if (is_it) {
            return request->method > VERGE__METHOD_HEAD ? refuse_method(client_, request, "GET, HEAD")
                                                        : routes[i].send(client_, request);
        }
    }
    return send_status(client_, 404, is_head, request->keeps_alive);
}

/* Receives the head of a request. Returns 0, the status of an answer that refuses the request, or a negative errno.
 * -ENODATA: the client has disconnected. */
static int receive(client *client_, verge__request *ret_request, bool is_first) {
    uint64_t deadline_ns = verge_deadline_after(is_first || client_->size > 0 ? HEAD_WITHIN_NS : IDLE_NS);
    for (;;) {
        const int status = verge__request_parse(client_->bytes, client_->size, ret_request);
        if (status != -EAGAIN) {
            return status;
        }
        const ptrdiff_t more = verge_recv(client_->fd, client_->bytes + client_->size,
                                          sizeof(client_->bytes) - client_->size, 0, deadline_ns);
        if (more <= 0) {
            return more == 0 ? -ENODATA : (int)more;
        }
        if (client_->size == 0 && !is_first) {
            deadline_ns = verge_deadline_after(HEAD_WITHIN_NS);
        }
        client_->size += (size_t)more;
    }
}

/* Reads what the client still sends, up to LINGER_BYTES. Otherwise the system would reset the connection, and the
 * client might not see the answer. */
static void read_rest(const client *client_) {
    char bytes[1024];
    const uint64_t deadline_ns = verge_deadline_after(LINGER_NS);
    (void)shutdown(client_->fd, SHUT_WR);
    for (size_t left = LINGER_BYTES; left >= sizeof(bytes); left -= sizeof(bytes)) {
        if (verge_recv(client_->fd, bytes, sizeof(bytes), 0, deadline_ns) <= 0) {
            return;
        }
    }
}

static void forget_client(client *client_) {
    verge_scope *scope = client_->scope;
    client **at = &scope->clients;
    while (*at != client_) {
        at = &(*at)->newer;
    }
    *at = client_->newer;
    scope->client_count -= client_->is_pushed_out ? 0 : 1;
    scope->pushed_out_count -= client_->is_pushed_out ? 1 : 0;
    scope->allocator.release(scope->allocator.context, client_, sizeof(*client_));
}

static intptr_t serve_client(void *argument) {
    client *client_ = argument;
    bool goes_on = true;
    for (bool is_first = true; goes_on; is_first = false) {
        verge__request request;
        client_->is_awaited = true;
        const int status = receive(client_, &request, is_first);
        client_->is_awaited = false;
        if (status > 0) {
            (void)send_status(client_, status, false, false);
            read_rest(client_);
        }
        goes_on = status == 0;
        if (goes_on) {
            const size_t used = request.size;
            goes_on = respond(client_, &request) == 0 && request.keeps_alive;
            if (status == 0 && !request.keeps_alive) {
                read_rest(client_);
            }
            client_->size -= used;
            memmove(client_->bytes, client_->bytes + used, client_->size);
        }
    }
    (void)verge_close(client_->fd);
    forget_client(client_);
    return 0;
}

/* Answers 503, if that is possible without waiting. */
static void refuse_client(int fd) {
    static const char text[] = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 5\r\n"
                               "Connection: close\r\n\r\n";
    (void)!send(fd, text, sizeof(text) - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)verge_close(fd);
}

/* If all places are taken, disconnects the oldest client whose request has not arrived. So clients that never send a
 * request keep nobody out. */
static void make_place(verge_scope *scope) {
    client *oldest = scope->clients;
    while (oldest != NULL && (!oldest->is_awaited || oldest->is_pushed_out)) {
        oldest = oldest->newer;
    }
    if (scope->client_count < VERGE_SCOPE_CLIENTS_MAX || oldest == NULL ||
        scope->pushed_out_count >= VERGE_SCOPE_CLIENTS_MAX) {
        return;
    }
    oldest->is_pushed_out = true;
    scope->client_count--;
    scope->pushed_out_count++;
    (void)shutdown(oldest->fd, SHUT_RDWR); /* its task wakes up, and ends */
}

static void list_client(verge_scope *scope, client *client_) {
    client **at = &scope->clients;
    while (*at != NULL) {
        at = &(*at)->newer;
    }
    *at = client_;
    scope->client_count++;
}

static void begin_client(verge_scope *scope, int fd) {
    const int size = SEND_BUFFER_SIZE;
    make_place(scope);
    client *client_ = scope->client_count >= VERGE_SCOPE_CLIENTS_MAX
                          ? NULL
                          : scope->allocator.allocate(scope->allocator.context, sizeof(*client_), _Alignof(client));
    if (client_ == NULL) {
        refuse_client(fd);
        return;
    }
    client_->scope = scope;
    client_->newer = NULL;
    client_->fd = fd;
    client_->size = 0;
    client_->is_awaited = true;
    client_->is_pushed_out = false;
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
    if (verge_spawn(serve_client, client_, NULL) != 0) {
        scope->allocator.release(scope->allocator.context, client_, sizeof(*client_));
        refuse_client(fd);
        return;
    }
    list_client(scope, client_); /* its task has not begun: tasks of this thread run one after the other */
}

intptr_t verge__scope_serve(void *argument) {
    verge_scope *scope = argument;
    /* With its first timer, a worker gets memory for a thousand, more than scope ever has. So no later wait fails. */
    int error = verge_sleep(1);
    error = error == 0 ? verge_spawn(verge__scope_watch, scope, NULL) : error;
    verge__scope_begin(scope, error);
    if (error != 0) {
        return 0;
    }
    for (;;) {
        /* -ECANCELED: scope ends. Another error means that the client has gone, or that there is no descriptor for it:
         * then the next one is accepted, after a short sleep. */
        const int fd = verge_accept(scope->listener.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK, VERGE_NEVER);
        /* Clients that were pushed out end soon. Then there is room to push out one more. */
        while (scope->pushed_out_count >= VERGE_SCOPE_CLIENTS_MAX && verge_sleep(SECOND_NS / 1000) == 0) {
        }
        if (fd >= 0) {
            begin_client(scope, fd);
        } else if (fd == -ECANCELED || verge_sleep(SECOND_NS / 100) != 0) {
            return 0;
        }
    }
}

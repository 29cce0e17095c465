/* SPDX-License-Identifier: MIT */
/*
 * TLS with deadlines: an echo server that uses the non-blocking interface of OpenSSL. An SSL_... call that cannot go on
 * says whether it wants to read or to write. verge_poll waits for that, until the deadline.
 *
 * What to know of OpenSSL in tasks:
 *   - It stores errors per thread, and a task that has waited may continue in another thread. So call ERR_clear_error
 *     before each call and SSL_get_error right after it, and do not wait in between.
 *   - An SSL object is for one task at a time.
 *   - OpenSSL needs more stack than tasks have by default.
 *   - OpenSSL writes to its socket with write(2), so ignore SIGPIPE.
 *
 * Here the client is `openssl s_client`, run by verge_run_process. A second client connects and sends nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <verge/verge.h>

#include "loopback.h"

#define SECOND UINT64_C(1000000000)

/* ---- OpenSSL over verge_poll ---- */

/* To be called when an SSL_... call has returned this result. Waits until the descriptor is ready, and returns 0: make
 * the SSL_... call again. Or returns a negative error. */
static int wait_for_tls(SSL *ssl, int result, uint64_t deadline_ns) {
    int ready;
    switch (SSL_get_error(ssl, result)) {
    case SSL_ERROR_WANT_READ:
        ready = verge_poll(SSL_get_fd(ssl), POLLIN, deadline_ns);
        break;
    case SSL_ERROR_WANT_WRITE:
        ready = verge_poll(SSL_get_fd(ssl), POLLOUT, deadline_ns);
        break;
    case SSL_ERROR_ZERO_RETURN:
        return -ENODATA; /* the peer has ended the connection properly */
    default:
        return -EPROTO;
    }
    return ready < 0 ? ready : 0;
}

static int accept_tls(SSL *ssl, uint64_t deadline_ns) {
    for (;;) {
        ERR_clear_error();
        const int result = SSL_accept(ssl);
        const int error = result == 1 ? 1 : wait_for_tls(ssl, result, deadline_ns);
        if (error != 0) {
            return error > 0 ? 0 : error;
        }
    }
}

/* Returns the number of bytes received, or a negative error. */
static int read_tls(SSL *ssl, void *buffer, int size, uint64_t deadline_ns) {
    for (;;) {
        ERR_clear_error();
        const int result = SSL_read(ssl, buffer, size);
        const int error = result > 0 ? result : wait_for_tls(ssl, result, deadline_ns);
        if (error != 0) {
            return error;
        }
    }
}

/* Writes everything: without SSL_MODE_ENABLE_PARTIAL_WRITE, SSL_write never writes a part only. */
static int write_tls(SSL *ssl, const void *buffer, int size, uint64_t deadline_ns) {
    for (;;) {
        ERR_clear_error();
        const int result = SSL_write(ssl, buffer, size);
        const int error = result > 0 ? 1 : wait_for_tls(ssl, result, deadline_ns);
        if (error != 0) {
            return error > 0 ? 0 : error;
        }
    }
}

/* ---- the server ---- */

/* One connection: echoes a line, and hangs up. */
static int serve(SSL_CTX *context, int fd, uint64_t duration_ns) {
    char line[256];
    const uint64_t deadline_ns = verge_deadline_after(duration_ns);
    SSL *ssl = SSL_new(context);
    if (ssl == NULL || fcntl(fd, F_SETFL, O_NONBLOCK) != 0 || SSL_set_fd(ssl, fd) != 1) {
        SSL_free(ssl);
        return -ENOMEM;
    }
    int result = accept_tls(ssl, deadline_ns);
    if (result == 0) {
        result = read_tls(ssl, line, sizeof(line), deadline_ns);
    }
    if (result > 0) {
        result = write_tls(ssl, line, result, deadline_ns);
    }
    if (result == 0) {
        ERR_clear_error();
        (void)SSL_shutdown(ssl); /* sends close_notify, and does not wait for that of the peer */
    }
    SSL_free(ssl);
    return result;
}

struct service {
    SSL_CTX *context;
    int listener;
    uint64_t duration_ns; /* the longest time for a connection */
};

static intptr_t accept_one(void *argument) {
    const struct service *service = argument;
    const int fd = verge_accept(service->listener, NULL, NULL, SOCK_CLOEXEC, VERGE_NEVER);
    if (fd < 0) {
        return fd;
    }
    const int error = serve(service->context, fd, service->duration_ns);
    (void)verge_close(fd);
    return error;
}

/* ---- a certificate that this program signs itself, valid for an hour ---- */

static X509 *make_certificate(EVP_PKEY *key) {
    X509 *certificate = X509_new();
    if (certificate == NULL) {
        return NULL;
    }
    X509_NAME *name = X509_get_subject_name(certificate);
    const bool is_made =
        X509_set_version(certificate, 2) == 1 && ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1) == 1 &&
        X509_gmtime_adj(X509_getm_notBefore(certificate), -60) != NULL &&
        X509_gmtime_adj(X509_getm_notAfter(certificate), 3600) != NULL &&
        X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1, -1, 0) == 1 &&
        X509_set_issuer_name(certificate, name) == 1 && X509_set_pubkey(certificate, key) == 1 &&
        X509_sign(certificate, key, EVP_sha256()) != 0;
    if (!is_made) {
        X509_free(certificate);
        return NULL;
    }
    return certificate;
}

/* Puts the certificate into a file as well, for the client. */
static SSL_CTX *make_context(const char *path) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = key != NULL ? make_certificate(key) : NULL;
    FILE *file = fopen(path, "w");
    const bool is_made = context != NULL && certificate != NULL && file != NULL &&
                         PEM_write_X509(file, certificate) == 1 && SSL_CTX_use_certificate(context, certificate) == 1 &&
                         SSL_CTX_use_PrivateKey(context, key) == 1;
    if (file != NULL) {
        (void)fclose(file);
    }
    X509_free(certificate);
    EVP_PKEY_free(key);
    if (!is_made) {
        SSL_CTX_free(context);
        return NULL;
    }
    return context;
}

/* ---- the clients ---- */

/* Runs openssl s_client, which sends a line. `answer` gets what comes back. Returns -ENOENT if openssl is not
 * installed. */
static int ask_with_openssl(const struct sockaddr_in *address, const char *path, const char *line, char *answer,
                            size_t size) {
    char target[32];
    (void)snprintf(target, sizeof(target), "127.0.0.1:%d", ntohs(address->sin_port));
    const char *const arguments[] = {"openssl",          "s_client",  "-connect", target,
                                     "-CAfile",          path,        "-quiet",   "-verify_return_error",
                                     "-verify_hostname", "localhost", NULL};
    char errors[2048];
    verge_process_options options = {.struct_size = sizeof(options)};
    verge_process_result result = {.struct_size = sizeof(result)};
    options.arguments = arguments;
    options.input = line;
    options.input_size = strlen(line);
    options.output = answer;
    options.output_size = size - 1;
    options.errors = errors;
    options.errors_size = sizeof(errors);
    const int error = verge_run_process(&options, &result, verge_deadline_after(60 * SECOND));
    answer[result.output_size] = '\0';
    if (error == 0 && strcmp(answer, line) != 0) {
        printf("openssl s_client: %.*s\n", (int)result.errors_size, errors);
    }
    return error;
}

static intptr_t run(void *argument) {
    const char *path = argument;
    struct sockaddr_in address;
    struct service service = {.context = make_context(path), .duration_ns = 60 * SECOND};
    service.listener = loopback_listen(&address, 8);
    verge_task *server;
    if (service.context == NULL || service.listener < 0 || verge_spawn(accept_one, &service, &server) != 0) {
        return 1;
    }
    char answer[64];
    intptr_t served = -1;
    int failures = 0;
    const char *const line = "hello over TLS\n";
    int error = ask_with_openssl(&address, path, line, answer, sizeof(answer));
    if (error == -ENOENT) {
        printf("there is no openssl to ask with\n");
        (void)verge_task_cancel(server);
        failures = 77;
    }
    failures += verge_task_join(server, &served, VERGE_NEVER) != 0;
    if (error != -ENOENT) {
        printf("a client that speaks TLS:   %s, \"%.14s\"\n", verge_strerror(error), answer);
        failures += error != 0 || served != 0 || strcmp(answer, line) != 0;

        /* A client that connects, and says nothing. */
        service.duration_ns = SECOND / 20;
        const int silent = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        failures += verge_spawn(accept_one, &service, &server) != 0 ||
                    verge_connect(silent, (struct sockaddr *)&address, sizeof(address), VERGE_NEVER) != 0 ||
                    verge_task_join(server, &served, VERGE_NEVER) != 0;
        printf("a client that says nothing: %s\n", verge_strerror((int)served));
        failures += served != -ETIMEDOUT;
        (void)verge_close(silent);
    }
    (void)verge_close(service.listener);
    SSL_CTX_free(service.context);
    return failures;
}

int main(void) {
    char path[] = "/tmp/verge-tls-XXXXXX";
    verge_runtime_options options;
    verge_runtime *runtime;
    intptr_t failures = 1;
    (void)signal(SIGPIPE, SIG_IGN);
    const int file = mkstemp(path);
    if (file < 0) {
        return 1;
    }
    (void)close(file);
    (void)verge_runtime_options_init(&options, sizeof(options));
    options.stack_size = (size_t)256 << 10;
    options.report_overflow = true;
    int error = verge_runtime_create(&options, &runtime);
    if (error == 0) {
        error = verge_runtime_run(runtime, run, path, &failures);
        (void)verge_runtime_destroy(runtime);
    }
    (void)unlink(path);
    return error != 0 ? 1 : (int)failures;
}

/* SPDX-License-Identifier: MIT */
#include "trace/send/send.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/cancel.h"
#include "trace/format/bytes.h"
#include "trace/send/address.h"

#define CONNECT_WAIT_MS 3000
#define STEP_MS         100
#define SAY_AFTER_MS    1000

void lap_record_store(uint8_t out[LAP_RECORD_BYTES], enum lap_record_kind kind, uint64_t value)
{
    lap_store_u32(out, LAP_RECORD_MAGIC);
    lap_store_u32(out + 4, kind);
    lap_store_u64(out + 8, value);
}

static uint64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* ---- connecting ---- */

/* 0 or an errno. */
static int connect_to(int fd, const struct lap_address *address)
{
    struct pollfd wait = {.fd = fd, .events = POLLOUT};
    socklen_t size = sizeof(int);
    uint64_t end = now_ms() + CONNECT_WAIT_MS, now;
    int error = 0, ready = 0;
    if (connect(fd, (const struct sockaddr *)&address->storage, address->bytes) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno == EAGAIN ? ECONNREFUSED : errno; /* a Unix socket whose backlog is full */
    while ((now = now_ms()) < end && (ready = poll(&wait, 1, (int)(end - now))) < 0 && errno == EINTR)
        ;
    if (ready <= 0)
        return ETIMEDOUT;
    return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

static int open_socket(const struct lap_address *address, int *out_fd)
{
    int one = 1, error;
    int fd = lap_own_file_raise(socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    *out_fd = -1;
    if (fd < 0)
        return errno;
    error = connect_to(fd, address);
    if (error) {
        close(fd);
        return error;
    }
    if (address->storage.ss_family != AF_UNIX) {
        (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)); /* a frame is there when it has ended */
        (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
    }
    *out_fd = fd;
    return 0;
}

/* No process listens yet, but one may come. */
static bool may_come(int error)
{
    return error == ECONNREFUSED || error == ENOENT || error == ETIMEDOUT || error == EHOSTUNREACH ||
           error == ENETUNREACH || error == ECONNRESET || error == EHOSTDOWN || error == ENETDOWN;
}

static enum lap_status open_connection(const struct lap_send_options *options, const struct lap_address *address,
                                       int *out_fd, uint64_t *out_waited_ms)
{
    uint64_t begin = now_ms();
    bool said = false;
    int error;
    for (;;) {
        error = open_socket(address, out_fd);
        *out_waited_ms = now_ms() - begin;
        if (!error || !options->wait || !may_come(error))
            break;
        if (!said && *out_waited_ms >= SAY_AFTER_MS) {
            lap_log(options->log, LAP_LOG_WARNING, "the program waits for a receiver of its trace at %s",
                    options->address);
            said = true;
        }
        nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
    }
    return error ? lap_fail(LAP_ERROR_IO, "there is no receiver for the trace at %s: %s", options->address,
                            strerror(error))
                 : LAP_OK;
}

enum lap_status lap_send_connect(const struct lap_send_options *options, int *out_fd, uint64_t *out_waited_ms)
{
    struct lap_address address;
    struct lap_token token = {.count = 0};
    struct lap_greeted self = {.process = (uint32_t)getpid(), .role = options->role};
    int cancel = lap_cancel_off();
    enum lap_status status = lap_address_parse(options->address, &address);

    *out_fd = -1;
    *out_waited_ms = 0;
    snprintf(self.program, sizeof(self.program), "%s", options->program);
    if (status == LAP_OK && options->token_file)
        status = lap_token_read(options->token_file, &token);
    if (status == LAP_OK && !address.local && !token.count)
        status = lap_fail(LAP_ERROR_ARGUMENT, "%s is another machine: that needs a token (LAPILLI_TOKEN_FILE)",
                          options->address);
    if (status == LAP_OK)
        status = open_connection(options, &address, out_fd, out_waited_ms);
    if (status == LAP_OK) {
        status = lap_greeting_call(*out_fd, &self, &token);
        if (status != LAP_OK) {
            (void)lap_fail_context(status, "%s", options->address);
            close(*out_fd);
            *out_fd = -1;
        }
    }
    explicit_bzero(&token, sizeof(token));
    lap_cancel_restore(cancel);
    return status;
}

/* ---- sending ---- */

/* Takes `done` bytes away from the front of the parts. */
static void advance(struct iovec **parts, unsigned *count, size_t done)
{
    while (*count && done >= (*parts)->iov_len) {
        done -= (*parts)->iov_len;
        ++*parts, --*count;
    }
    if (*count) {
        (*parts)->iov_base = (uint8_t *)(*parts)->iov_base + done;
        (*parts)->iov_len -= done;
    }
}

/* The program may close the descriptor at any time, also while this waits. */
static int send_parts(struct lap_own_file *socket, struct iovec *parts, unsigned count)
{
    uint64_t since = now_ms();
    while (count) {
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = count};
        int fd = lap_own_file_fd(socket);
        ssize_t done = fd >= 0 ? sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT) : -1;
        struct pollfd wait = {.fd = fd, .events = POLLOUT};
        if (done >= 0) {
            advance(&parts, &count, (size_t)done);
            since = now_ms();
        } else if (errno == EAGAIN) {
            if (now_ms() - since >= LAP_SEND_WAIT_MS)
                return ETIMEDOUT;
            (void)poll(&wait, 1, 1000);
        } else if (errno != EINTR) {
            return errno;
        }
    }
    return 0;
}

static int send_record(struct lap_own_file *socket, enum lap_record_kind kind, uint64_t value,
                       const struct iovec *parts, unsigned count)
{
    uint8_t head[LAP_RECORD_BYTES];
    struct iovec all[1 + LAP_SEND_MAX_PARTS] = {{head, sizeof(head)}};
    int cancel = lap_cancel_off(), error;
    lap_record_store(head, kind, value);
    for (unsigned i = 0; i < count; i++)
        all[1 + i] = parts[i];
    error = send_parts(socket, all, 1 + count);
    lap_cancel_restore(cancel);
    return error;
}

int lap_send_append(struct lap_own_file *socket, const struct iovec *parts, unsigned count)
{
    uint64_t bytes = 0;
    if (count > LAP_SEND_MAX_PARTS)
        return EINVAL;
    for (unsigned i = 0; i < count; i++)
        bytes += parts[i].iov_len;
    return send_record(socket, LAP_RECORD_APPEND, bytes, parts, count);
}

int lap_send_cut(struct lap_own_file *socket, uint64_t bytes)
{
    return send_record(socket, LAP_RECORD_CUT, bytes, NULL, 0);
}

int lap_send_forget(struct lap_own_file *socket)
{
    return send_record(socket, LAP_RECORD_FORGET, 0, NULL, 0);
}

int lap_send_done(struct lap_own_file *socket, uint64_t bytes)
{
    return send_record(socket, LAP_RECORD_DONE, bytes, NULL, 0);
}

int lap_send_wait_confirmed(struct lap_own_file *socket, uint64_t bytes)
{
    uint8_t wanted[LAP_RECORD_BYTES], found[LAP_RECORD_BYTES];
    uint64_t end = now_ms() + LAP_CONFIRM_WAIT_MS, now;
    size_t count = 0;
    int cancel = lap_cancel_off(), error = 0;
    lap_record_store(wanted, LAP_RECORD_DONE, bytes);
    while (count < sizeof(found) && !error) {
        int fd = lap_own_file_fd(socket); /* the program may have closed it meanwhile */
        ssize_t got = fd >= 0 ? recv(fd, found + count, sizeof(found) - count, MSG_DONTWAIT) : -1;
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        if (got > 0)
            count += (size_t)got;
        else if (got == 0)
            error = ECONNRESET;
        else if (errno == EAGAIN && (now = now_ms()) < end)
            (void)poll(&wait, 1, (int)(end - now));
        else if (errno != EINTR)
            error = errno == EAGAIN ? ETIMEDOUT : errno;
    }
    lap_cancel_restore(cancel);
    return error ? error : memcmp(wanted, found, sizeof(found)) == 0 ? 0 : EPROTO;
}

/* SPDX-License-Identifier: MIT */
#include "trace/receive/listener.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether the socket of a dead receiver is there. */
static bool is_left_over(const struct lap_address *address, const char *path)
{
    struct stat info;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool gone = fd >= 0 && lstat(path, &info) == 0 && S_ISSOCK(info.st_mode) &&
                connect(fd, (const struct sockaddr *)&address->storage, address->bytes) != 0 && errno == ECONNREFUSED;
    if (fd >= 0)
        close(fd);
    return gone;
}

static int bind_to(int fd, const struct lap_address *address)
{
    const char *path = ((const struct sockaddr_un *)&address->storage)->sun_path;
    mode_t before = umask(0177); /* a Unix socket is for its owner */
    int result = bind(fd, (const struct sockaddr *)&address->storage, address->bytes);
    if (result != 0 && errno == EADDRINUSE && lap_address_has_file(address)) {
        if (is_left_over(address, path) && unlink(path) == 0)
            result = bind(fd, (const struct sockaddr *)&address->storage, address->bytes);
        else
            errno = EADDRINUSE;
    }
    umask(before);
    return result;
}

enum lap_status lap_listener_open(struct lap_address *address, int *out_fd)
{
    char text[LAP_ADDRESS_TEXT_BYTES];
    int one = 1, fd = socket(address->storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    *out_fd = -1;
    if (fd >= 0 && address->storage.ss_family != AF_UNIX)
        (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (fd < 0 || bind_to(fd, address) != 0 || listen(fd, SOMAXCONN) != 0) {
        int error = errno;
        if (fd >= 0)
            close(fd);
        lap_address_text(address, text);
        return lap_fail(LAP_ERROR_IO, "can't listen at %s: %s", text, strerror(error));
    }
    if (address->storage.ss_family != AF_UNIX)
        (void)getsockname(fd, (struct sockaddr *)&address->storage, &address->bytes);
    *out_fd = fd;
    return LAP_OK;
}

void lap_listener_remove(const struct lap_address *address)
{
    if (lap_address_has_file(address))
        (void)unlink(((const struct sockaddr_un *)&address->storage)->sun_path);
}

int lap_listener_accept(int listener)
{
    int one = 1, fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    if (fd >= 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one)); /* a dead machine sends nothing */
    return fd;
}

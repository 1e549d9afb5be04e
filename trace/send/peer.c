/* SPDX-License-Identifier: MIT */
#include "trace/send/peer.h"

#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#ifdef __ANDROID__
#define MAY_BE_SHELL(user) ((user) == 2000) /* AOSP's AID_SHELL */
#else
#define MAY_BE_SHELL(user) false
#endif

/* Or it is not known. */
static bool is_abstract(int failed, const struct sockaddr_un *name, socklen_t bytes)
{
    return failed ||
           (name->sun_family == AF_UNIX && bytes > offsetof(struct sockaddr_un, sun_path) && !*name->sun_path);
}

bool lap_peer_is_stranger(int fd, uid_t *out_user)
{
    struct sockaddr_un here, there;
    socklen_t here_bytes = sizeof here, there_bytes = sizeof there;
    struct ucred peer = {.uid = (uid_t)-1};
    socklen_t bytes = sizeof peer;

    /* The side that listens has the name. */
    int no_here = getsockname(fd, (struct sockaddr *)&here, &here_bytes);
    int no_there = getpeername(fd, (struct sockaddr *)&there, &there_bytes);
    if (!is_abstract(no_here, &here, here_bytes) && !is_abstract(no_there, &there, there_bytes))
        return false;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
        peer.uid = (uid_t)-1;
    *out_user = peer.uid;
    return peer.uid != geteuid() && peer.uid != 0 && !MAY_BE_SHELL(peer.uid);
}

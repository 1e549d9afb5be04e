/* SPDX-License-Identifier: MIT */
/* peer: who is at the other end of a connection. Any thread. */
#ifndef LAP_TRACE_SEND_PEER_H
#define LAP_TRACE_SEND_PEER_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether only a token can show who the peer of a connected socket is: the name between both is abstract, which has no
 * mode that keeps other users out, and the peer is of another user (*out_user) than this process and root. On Android
 * that user may also be the shell, which adb has. */
bool lap_peer_is_stranger(int fd, uid_t *out_user);

#endif

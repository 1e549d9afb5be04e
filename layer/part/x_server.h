/* SPDX-License-Identifier: MIT */
/*
 * x_server: a connection of the layer's own to the X server that a program has a window on ("X Window System Protocol",
 * X Version 11). Any thread of the program may be using its connection, and the layer must not load the program's
 * protocol libraries: so this module implements the protocol. Its socket has a high number that programs which close
 * unknown descriptors do not reach (base/file/own_file.h).
 *
 * All calls wait for the server without a time limit: a client may have grabbed it. So they are for a thread of the
 * layer; only layer_x_hang_up is for other threads.
 */
#ifndef LAP_LAYER_PART_X_SERVER_H
#define LAP_LAYER_PART_X_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/file/own_file.h"
#include "base/status.h"

#define LAYER_X_PACKET_BYTES 65536u /* of the largest answer that is taken */

/* Where the server is. */
struct layer_x_address {
    struct sockaddr_storage peer; /* as the program's own connection names it */
    socklen_t peer_bytes;
    char *display;   /* as in the environment: a sandbox may have the socket at another place; or NULL */
    char *authority; /* the file with the cookie, or NULL */
};

struct layer_x_server {
    struct lap_own_file socket;
    bool lost; /* the connection is broken; lap_error_message() of the call that found it */
    uint16_t sequence;
    uint32_t root; /* of the first screen */
    uint8_t first_keycode, last_keycode;
    /* Called for each packet that is not a reply, inside of any of the calls below. */
    void (*hear)(void *user, const void *event);
    void *user;
    uint32_t packet[LAYER_X_PACKET_BYTES / 4]; /* the last one */
    uint8_t input[4096];                       /* received, and taken up to input_at */
    size_t input_at, input_end;
};

/* The address of the server behind a socket of the program, and its display and authority from the environment. False:
 * no address, or out of memory. */
bool layer_x_address_of(int fd, struct layer_x_address *out);
void layer_x_address_finish(struct layer_x_address *address);

/* The caller sets hear and user before. On failure nothing is left open. */
enum lap_status layer_x_connect(struct layer_x_server *server, const struct layer_x_address *address) LAP_MUST_CHECK;
void layer_x_close(struct layer_x_server *server);

/* Requests are whole, in words; their length is filled in. False: the server is lost. */
bool layer_x_tell(struct layer_x_server *server, void *request, size_t bytes);

/* The reply, valid until the next call. NULL: the server is lost, or replied with an error. */
const void *layer_x_ask(struct layer_x_server *server, void *request, size_t bytes);

/* Waits for a packet and passes it to hear. False: the server is lost. */
bool layer_x_listen(struct layer_x_server *server);

/* From another thread: ends the connection, so that a waiting call returns. */
void layer_x_hang_up(struct layer_x_server *server);

#endif

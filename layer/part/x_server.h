/* SPDX-License-Identifier: MIT */
/*
 * x_server: a connection of the layer's own to the X server that a program has a window on ("X Window System Protocol",
 * X Version 11). The program's connection may be in use by any of its threads, and libraries that speak the protocol
 * are the program's to load: so this speaks it itself, over a socket that programs which close foreign descriptors do
 * not come to by counting (base/own_file.h).
 *
 * All calls wait for the server, as long as that takes: a client may have grabbed it. So they are for a thread of the
 * layer's own; only layer_x_hang_up is for any other.
 */
#ifndef LAP_LAYER_PART_X_SERVER_H
#define LAP_LAYER_PART_X_SERVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/own_file.h"
#include "base/status.h"

#define LAYER_X_PACKET_BYTES 65536u /* of the largest answer that is taken */

/* Where the server is. */
struct layer_x_address {
    struct sockaddr_storage peer; /* as the program's own connection names it */
    socklen_t peer_bytes;
    char *display;   /* as the user names it: a sandbox may have the socket at another place; or NULL */
    char *authority; /* the file with the cookie, or NULL */
};

struct layer_x_server {
    struct lap_own_file socket;
    bool lost; /* nothing more can be said or heard; lap_error_message() of the call that found out */
    uint16_t sequence;
    uint32_t root; /* of the first screen */
    uint8_t first_keycode, last_keycode;
    /* All that is no answer, as it comes: inside of any of the calls below. */
    void (*hear)(void *user, const void *event);
    void *user;
    uint32_t packet[LAYER_X_PACKET_BYTES / 4]; /* the last one */
    uint8_t input[4096];                       /* received, and taken up to input_at */
    size_t input_at, input_end;
};

/* The address of the server behind a socket of the program's, and what the environment says of it. False: it has none,
 * or out of memory. */
bool layer_x_address_of(int fd, struct layer_x_address *out);
void layer_x_address_finish(struct layer_x_address *address);

/* hear and user are the caller's to set before. On failure nothing is left open. */
enum lap_status layer_x_connect(struct layer_x_server *server, const struct layer_x_address *address) LAP_MUST_CHECK;
void layer_x_close(struct layer_x_server *server);

/* Requests are whole, in words; their length is filled in. False: the server is lost. */
bool layer_x_tell(struct layer_x_server *server, void *request, size_t bytes);

/* The answer, valid until the next call. NULL: the server is lost, or answers with an error. */
const void *layer_x_ask(struct layer_x_server *server, void *request, size_t bytes);

/* Waits for a packet and has it heard. False: the server is lost. */
bool layer_x_listen(struct layer_x_server *server);

/* From another thread: the server is lost to the one that waits for it. */
void layer_x_hang_up(struct layer_x_server *server);

#endif

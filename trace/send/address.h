/* SPDX-License-Identifier: MIT */
/*
 * address: where a trace is streamed to or from: unix:PATH, unix:@NAME, tcp://HOST:PORT. A NAME is no file, but one of
 * Linux's abstract sockets: apps of Android have these in common with adb. HOST is a number (IPv6 in brackets) or
 * localhost: in a recorded process no name is looked up. Any thread.
 */
#ifndef LAP_TRACE_SEND_ADDRESS_H
#define LAP_TRACE_SEND_ADDRESS_H

#include <stdbool.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/status.h"

#define LAP_ADDRESS_TEXT_BYTES 128u

struct lap_address {
    struct sockaddr_storage storage;
    socklen_t bytes;
    bool local; /* a Unix socket, or the machine's own loopback */
};

/* Whether a name of a trace is an address and no file. */
bool lap_address_is(const char *text);

/* LAP_ERROR_ARGUMENT: no address. */
enum lap_status lap_address_parse(const char *text, struct lap_address *out) LAP_MUST_CHECK;

/* The same address as text, but with a path of a Unix socket that is right in any folder. The caller frees it. NULL:
 * out of memory, or no current folder (errno). */
char *lap_address_absolute(const char *text);

/* Whether the address is a Unix socket's path. Any other has no file to remove, and no mode that keeps users out. */
bool lap_address_has_file(const struct lap_address *address);

/* The text form that lap_address_parse accepts. */
void lap_address_text(const struct lap_address *address, char out[LAP_ADDRESS_TEXT_BYTES]);

#endif

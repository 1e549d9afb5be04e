/* SPDX-License-Identifier: MIT */
/*
 * http: answers over HTTP/1.1, by libmicrohttpd: who may ask, dispatch by the table of routes, caches of clients by
 * ETag, progress as server-sent events, and the page. docs/server.md is what clients see.
 */
#ifndef LAP_SERVER_HTTP_H
#define LAP_SERVER_HTTP_H

#include "server/work.h"

#define LAP_HTTP_TOKEN_BYTES 33u /* 32 hexadecimal digits and a zero */

struct lap_http_options {
    int listener; /* a listening socket, which is the server's from now on */
    int port;     /* 0: a Unix socket */
    const char *token;
    struct lap_captures *captures;
    struct lap_answers *answers;
    struct lap_codes *codes;
    struct lap_works *works;
};

struct lap_http;
/* Answers on threads of its own until it is stopped. LAP_ERROR_UNSUPPORTED: this build has no libmicrohttpd.
 * LAP_ERROR_IO. The options' pointers stay the caller's, and live as long as it. */
enum lap_status lap_http_start(const struct lap_http_options *options, struct lap_http **out) LAP_MUST_CHECK;
/* All clients get an end, once the works were stopped. */
void lap_http_stop(struct lap_http **http);

/* The routes as a Markdown table. */
void lap_http_print_routes(void);

#endif

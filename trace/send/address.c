/* SPDX-License-Identifier: MIT */
#include "trace/send/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define UNIX "unix:"
#define TCP  "tcp://"

_Static_assert(LAP_ADDRESS_TEXT_BYTES > sizeof(UNIX) + sizeof(((struct sockaddr_un *)0)->sun_path), "it fits");

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

bool lap_address_is(const char *text)
{
    return begins(text, UNIX) || begins(text, TCP);
}

static enum lap_status parse_unix(const char *path, struct lap_address *out)
{
    struct sockaddr_un *address = (struct sockaddr_un *)&out->storage;
    size_t length = strlen(path);
    if (strcmp(path, "@") == 0)
        return lap_fail(LAP_ERROR_ARGUMENT, "unix:@ has no name");
    if (length == 0 || length >= sizeof(address->sun_path))
        return lap_fail(LAP_ERROR_ARGUMENT, "the path of a Unix socket has 1 to %zu bytes, not %zu",
                        sizeof(address->sun_path) - 1, length);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, path, length + 1);
    out->bytes = (socklen_t)sizeof(*address);
    if (*path == '@') { /* all bytes of such a name count, so it ends where the address does */
        address->sun_path[0] = '\0';
        out->bytes = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
    }
    out->local = true;
    return LAP_OK;
}

static bool parse_port(const char *text, uint16_t *out)
{
    char *end;
    unsigned long port = strtoul(text, &end, 10);
    *out = (uint16_t)port;
    return *text >= '0' && *text <= '9' && !*end && port <= UINT16_MAX;
}

static enum lap_status parse_tcp(const char *text, struct lap_address *out)
{
    struct sockaddr_in *v4 = (struct sockaddr_in *)&out->storage;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)&out->storage;
    char host[64];
    const char *colon = strrchr(text, ':');
    size_t length = colon ? (size_t)(colon - text) : 0;
    bool bracketed = length > 2 && text[0] == '[' && text[length - 1] == ']';
    uint16_t port;

    if (!colon || !parse_port(colon + 1, &port) || length == 0 || length >= sizeof(host))
        return lap_fail(LAP_ERROR_ARGUMENT, "tcp://%s is not tcp://HOST:PORT", text);
    memcpy(host, text + bracketed, length - 2 * bracketed);
    host[length - 2 * bracketed] = 0;
    if (!bracketed && strcmp(host, "localhost") == 0)
        strcpy(host, "127.0.0.1");
    if (!bracketed && inet_pton(AF_INET, host, &v4->sin_addr) == 1) {
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        out->bytes = (socklen_t)sizeof(*v4);
        out->local = ntohl(v4->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
        return LAP_OK;
    }
    if (bracketed && inet_pton(AF_INET6, host, &v6->sin6_addr) == 1) {
        v6->sin6_family = AF_INET6;
        v6->sin6_port = htons(port);
        out->bytes = (socklen_t)sizeof(*v6);
        out->local = IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
        return LAP_OK;
    }
    return lap_fail(LAP_ERROR_ARGUMENT,
                    "tcp://%s: the host is a number, [a number of IPv6] or localhost, since no names are looked up",
                    text);
}

enum lap_status lap_address_parse(const char *text, struct lap_address *out)
{
    memset(out, 0, sizeof(*out));
    if (begins(text, UNIX))
        return parse_unix(text + strlen(UNIX), out);
    if (begins(text, TCP))
        return parse_tcp(text + strlen(TCP), out);
    return lap_fail(LAP_ERROR_ARGUMENT, "%s is no address: unix:PATH, unix:@NAME or tcp://HOST:PORT", text);
}

char *lap_address_absolute(const char *text)
{
    char *here, *absolute = NULL;
    if (!begins(text, UNIX) || text[strlen(UNIX)] == '/' || text[strlen(UNIX)] == '@')
        return strdup(text);
    here = getcwd(NULL, 0);
    if (!here || asprintf(&absolute, UNIX "%s/%s", here, text + strlen(UNIX)) < 0)
        absolute = NULL;
    free(here);
    return absolute;
}

bool lap_address_has_file(const struct lap_address *address)
{
    return address->storage.ss_family == AF_UNIX && ((const struct sockaddr_un *)&address->storage)->sun_path[0];
}

void lap_address_text(const struct lap_address *address, char out[LAP_ADDRESS_TEXT_BYTES])
{
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->storage;
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->storage;
    char host[INET6_ADDRSTRLEN] = "?";
    if (address->storage.ss_family == AF_UNIX) {
        const struct sockaddr_un *local = (const struct sockaddr_un *)&address->storage;
        bool abstract = !lap_address_has_file(address);
        snprintf(out, LAP_ADDRESS_TEXT_BYTES, UNIX "%s%.*s", abstract ? "@" : "",
                 (int)sizeof(local->sun_path) - abstract, local->sun_path + abstract);
    } else if (address->storage.ss_family == AF_INET6) {
        (void)inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
        snprintf(out, LAP_ADDRESS_TEXT_BYTES, TCP "[%s]:%u", host, ntohs(v6->sin6_port));
    } else {
        (void)inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
        snprintf(out, LAP_ADDRESS_TEXT_BYTES, TCP "%s:%u", host, ntohs(v4->sin_port));
    }
}

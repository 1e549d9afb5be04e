/* SPDX-License-Identifier: MIT */
#include "layer/part/x_server.h"

#include <X11/X.h>
#include <X11/Xproto.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#define COOKIE       "MIT-MAGIC-COOKIE-1"
#define COOKIE_BYTES 16u
#define FIRST_PORT   6000u
#define MAX_SETUP    ((size_t)1 << 20)

#define WORDS(bytes) (((bytes) + 3u) / 4u)

/* ---- addresses ---- */

static char *copy_of(const char *text)
{
    return text && *text ? strdup(text) : NULL;
}

static char *authority_file(void)
{
    const char *file = secure_getenv("XAUTHORITY"), *home = secure_getenv("HOME");
    char *path = NULL;

    if (file && *file)
        return strdup(file);
    return home && asprintf(&path, "%s/.Xauthority", home) >= 0 ? path : NULL;
}

bool layer_x_address_of(int fd, struct layer_x_address *out)
{
    memset(out, 0, sizeof *out);
    out->peer_bytes = sizeof out->peer;
    if (fd < 0 || getpeername(fd, (struct sockaddr *)&out->peer, &out->peer_bytes) != 0)
        return false;
    if (out->peer_bytes > sizeof out->peer)
        return false;
    out->display = copy_of(secure_getenv("DISPLAY"));
    out->authority = authority_file();
    return true;
}

void layer_x_address_finish(struct layer_x_address *address)
{
    free(address->display);
    free(address->authority);
    memset(address, 0, sizeof *address);
}

/* The display's number, which cookies are filed under. */
static unsigned number_of(const struct layer_x_address *address)
{
    const struct sockaddr_un *local = (const struct sockaddr_un *)&address->peer;
    char path[sizeof local->sun_path + 1] = "";
    const char *digits;

    if (address->peer.ss_family == AF_INET)
        return ntohs(((const struct sockaddr_in *)&address->peer)->sin_port) - FIRST_PORT;
    if (address->peer.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)&address->peer)->sin6_port) - FIRST_PORT;
    if (address->peer_bytes <= offsetof(struct sockaddr_un, sun_path))
        return 0;
    size_t bytes = address->peer_bytes - offsetof(struct sockaddr_un, sun_path);
    const char *from = local->sun_path;
    if (!*from) /* in the abstract namespace */
        from++, bytes--;
    memcpy(path, from, bytes < sizeof path - 1 ? bytes : sizeof path - 1);
    digits = strrchr(path, 'X');
    return digits ? (unsigned)strtoul(digits + 1, NULL, 10) : 0;
}

/* ---- cookies ---- */

/* A field of the file: a length of two bytes, the high one first, and so many bytes. */
static bool read_field(FILE *file, uint8_t *out, size_t capacity, size_t *out_bytes)
{
    int high = getc(file), low = getc(file);

    if (high == EOF || low == EOF)
        return false;
    *out_bytes = (size_t)high << 8 | (size_t)low;
    return *out_bytes <= capacity && fread(out, 1, *out_bytes, file) == *out_bytes;
}

struct entry {
    uint16_t family;
    uint8_t address[256], number[16], name[64], data[256];
    size_t address_bytes, number_bytes, name_bytes, data_bytes;
};

static bool read_entry(FILE *file, struct entry *out)
{
    int high = getc(file), low = getc(file);

    if (high == EOF || low == EOF)
        return false;
    out->family = (uint16_t)(high << 8 | low);
    return read_field(file, out->address, sizeof out->address, &out->address_bytes) &&
           read_field(file, out->number, sizeof out->number, &out->number_bytes) &&
           read_field(file, out->name, sizeof out->name, &out->name_bytes) &&
           read_field(file, out->data, sizeof out->data, &out->data_bytes);
}

static bool is_loopback(const struct sockaddr_storage *peer)
{
    const struct in6_addr *six = &((const struct sockaddr_in6 *)peer)->sin6_addr;

    if (peer->ss_family == AF_INET)
        return ntohl(((const struct sockaddr_in *)peer)->sin_addr.s_addr) >> 24 == 127;
    return peer->ss_family == AF_INET6 &&
           (IN6_IS_ADDR_LOOPBACK(six) || (IN6_IS_ADDR_V4MAPPED(six) && six->s6_addr[12] == 127));
}

/* Local displays are filed under the machine's name. */
static bool is_for(const struct entry *entry, const struct sockaddr_storage *peer)
{
    enum { FAMILY_LOCAL = 256, FAMILY_WILD = 65535 };
    const void *address = NULL;
    char host[256] = "";
    size_t bytes;
    uint16_t family = FAMILY_LOCAL;

    if (entry->family == FAMILY_WILD)
        return true;
    if (peer->ss_family == AF_UNIX || is_loopback(peer)) {
        if (gethostname(host, sizeof host - 1) != 0)
            return false;
        address = host;
        bytes = strlen(host);
    } else if (peer->ss_family == AF_INET) {
        family = FamilyInternet;
        address = &((const struct sockaddr_in *)peer)->sin_addr;
        bytes = sizeof(struct in_addr);
    } else {
        family = FamilyInternet6;
        address = &((const struct sockaddr_in6 *)peer)->sin6_addr;
        bytes = sizeof(struct in6_addr);
    }
    return entry->family == family && entry->address_bytes == bytes && memcmp(entry->address, address, bytes) == 0;
}

static bool has_number(const struct entry *entry, unsigned number)
{
    char text[16];
    size_t bytes = (size_t)snprintf(text, sizeof text, "%u", number);
    return entry->number_bytes == 0 || (entry->number_bytes == bytes && memcmp(entry->number, text, bytes) == 0);
}

/* False: there is none, and the server may want none. */
static bool find_cookie(const struct layer_x_address *address, unsigned number, uint8_t out[COOKIE_BYTES])
{
    FILE *file = address->authority ? fopen(address->authority, "re") : NULL;
    struct entry entry;
    bool found = false;

    while (file && !found && read_entry(file, &entry))
        found = entry.name_bytes == strlen(COOKIE) && memcmp(entry.name, COOKIE, entry.name_bytes) == 0 &&
                entry.data_bytes == COOKIE_BYTES && has_number(&entry, number) && is_for(&entry, &address->peer);
    if (found)
        memcpy(out, entry.data, COOKIE_BYTES);
    explicit_bzero(&entry, sizeof entry);
    if (file)
        fclose(file);
    return found;
}

/* ---- bytes ---- */

static bool lose(struct layer_x_server *server, const char *why)
{
    if (!server->lost)
        (void)lap_fail(LAP_ERROR_IO, "%s", why);
    server->lost = true;
    return false;
}

static bool send_all(struct layer_x_server *server, const void *data, size_t bytes)
{
    const uint8_t *from = data;

    while (bytes) {
        ssize_t sent = send(lap_own_file_fd(&server->socket), from, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return lose(server, sent < 0 ? strerror(errno) : "it takes nothing");
        from += sent;
        bytes -= (size_t)sent;
    }
    return true;
}

/* The receive times out regularly to check the descriptor: a waiting recv() does not notice that it was closed. */
static bool refill(struct layer_x_server *server)
{
    ssize_t received;

    do
        received = recv(lap_own_file_fd(&server->socket), server->input, sizeof server->input, 0);
    while (received < 0 && (errno == EINTR || errno == EAGAIN));
    if (received <= 0)
        return lose(server, received < 0 ? strerror(errno) : "it has closed the connection");
    server->input_at = 0;
    server->input_end = (size_t)received;
    return true;
}

static bool receive_all(struct layer_x_server *server, void *out, size_t bytes)
{
    uint8_t *to = out;

    while (bytes) {
        size_t there = server->input_end - server->input_at, taken = there < bytes ? there : bytes;
        memcpy(to, server->input + server->input_at, taken);
        server->input_at += taken;
        to += taken;
        bytes -= taken;
        if (bytes && !refill(server))
            return false;
    }
    return true;
}

/* ---- the connection ---- */

static int open_socket(const struct sockaddr_storage *to, socklen_t bytes)
{
    int fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

    if (fd >= 0 && connect(fd, (const struct sockaddr *)to, bytes) != 0) {
        int error = errno;
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

static bool is_peer(int fd, const struct layer_x_address *address)
{
    struct sockaddr_storage peer;
    socklen_t bytes = sizeof peer;
    return getpeername(fd, (struct sockaddr *)&peer, &bytes) == 0 && bytes == address->peer_bytes &&
           memcmp(&peer, &address->peer, bytes) == 0;
}

/* The path of a local server's socket, from the display number here, if the path that the server knows can't be
 * reached. */
static int open_by_name(const struct layer_x_address *address, unsigned *out_number)
{
    struct sockaddr_storage to = {.ss_family = AF_UNIX};
    struct sockaddr_un *local = (struct sockaddr_un *)&to;
    const char *digits = address->display ? strrchr(address->display, ':') : NULL;
    int fd;

    if (!digits || address->peer.ss_family != AF_UNIX)
        return -1;
    *out_number = (unsigned)strtoul(digits + 1, NULL, 10);
    snprintf(local->sun_path, sizeof local->sun_path, "/tmp/.X11-unix/X%u", *out_number);
    fd = open_socket(&to, sizeof *local);
    if (fd >= 0 && !is_peer(fd, address)) {
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool introduce(struct layer_x_server *server, const struct layer_x_address *address, unsigned number)
{
    static const uint16_t one = 1;
    struct {
        xConnClientPrefix prefix;
        char name[WORDS(sizeof COOKIE - 1) * 4];
        uint8_t data[COOKIE_BYTES];
    } hello = {.prefix = {.byteOrder = *(const uint8_t *)&one ? 'l' : 'B', .majorVersion = X_PROTOCOL}};
    size_t bytes = sizeof hello.prefix;
    bool sent;

    if (find_cookie(address, number, hello.data)) {
        memcpy(hello.name, COOKIE, strlen(COOKIE));
        hello.prefix.nbytesAuthProto = sizeof COOKIE - 1;
        hello.prefix.nbytesAuthString = COOKIE_BYTES;
        bytes = sizeof hello;
    }
    sent = send_all(server, &hello, bytes);
    explicit_bzero(&hello, sizeof hello);
    return sent;
}

static bool take_setup(struct layer_x_server *server, const uint8_t *setup, size_t bytes)
{
    xConnSetup head;
    xWindowRoot root;
    size_t at;

    if (bytes < sizeof head)
        return lose(server, "its greeting is too short");
    memcpy(&head, setup, sizeof head);
    at = sizeof head + WORDS(head.nbytesVendor) * 4 + head.numFormats * sizeof(xPixmapFormat);
    if (!head.numRoots || at + sizeof root > bytes || head.minKeyCode > head.maxKeyCode)
        return lose(server, "its greeting makes no sense");
    memcpy(&root, setup + at, sizeof root);
    server->root = root.windowId;
    server->first_keycode = head.minKeyCode;
    server->last_keycode = head.maxKeyCode;
    return true;
}

static bool be_greeted(struct layer_x_server *server)
{
    xConnSetupPrefix prefix;
    uint8_t *setup;
    size_t bytes;
    bool good;

    if (!receive_all(server, &prefix, sizeof prefix))
        return false;
    bytes = (size_t)prefix.length * 4;
    setup = bytes && bytes <= MAX_SETUP ? malloc(bytes) : NULL;
    if (!setup)
        return lose(server, "its greeting is too short or too long");
    good = receive_all(server, setup, bytes);
    if (good && prefix.success != 1) {
        (void)lap_fail(LAP_ERROR_IO, "it refuses: %.*s",
                       (int)(prefix.lengthReason < bytes ? prefix.lengthReason : bytes), (const char *)setup);
        server->lost = true;
        good = false;
    }
    good = good && take_setup(server, setup, bytes);
    free(setup);
    return good;
}

static enum lap_status begin(struct layer_x_server *server, const struct layer_x_address *address, int fd,
                             unsigned number)
{
    const struct timeval now_and_then = {.tv_sec = 1};

    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &now_and_then, sizeof now_and_then);
    lap_own_file_init(&server->socket, fd, NULL);
    server->lost = false;
    server->sequence = 0;
    server->input_at = server->input_end = 0;
    if (introduce(server, address, number) && be_greeted(server))
        return LAP_OK;
    layer_x_close(server);
    return LAP_ERROR_IO;
}

enum lap_status layer_x_connect(struct layer_x_server *server, const struct layer_x_address *address)
{
    enum lap_status status;
    unsigned number;
    int fd = open_socket(&address->peer, address->peer_bytes);

    if (fd >= 0)
        status = begin(server, address, fd, number_of(address));
    else
        status = lap_fail(LAP_ERROR_IO, "%s", strerror(errno));
    if (status != LAP_OK) {
        fd = open_by_name(address, &number);
        if (fd >= 0)
            status = begin(server, address, fd, number);
    }
    return status;
}

void layer_x_close(struct layer_x_server *server)
{
    lap_own_file_release(&server->socket);
    server->lost = true;
}

void layer_x_hang_up(struct layer_x_server *server)
{
    int fd = lap_own_file_fd(&server->socket);
    if (fd >= 0)
        shutdown(fd, SHUT_RDWR);
}

/* ---- packets ---- */

/* The beginning of server->packet. */
static xGenericReply received(const struct layer_x_server *server)
{
    xGenericReply head;

    memcpy(&head, server->packet, sizeof head);
    return head;
}

/* Into server->packet. */
static bool receive_packet(struct layer_x_server *server)
{
    xGenericReply head;
    size_t more = 0;

    if (!receive_all(server, server->packet, sizeof(xEvent)))
        return false;
    head = received(server);
    if (head.type == X_Reply || head.type == GenericEvent)
        more = (size_t)head.length * 4;
    if (more > sizeof server->packet - sizeof(xEvent))
        return lose(server, "what it says is too long");
    return receive_all(server, (uint8_t *)server->packet + sizeof(xEvent), more);
}

static void have_heard(struct layer_x_server *server)
{
    if (received(server).type > X_Reply)
        server->hear(server->user, server->packet);
}

bool layer_x_tell(struct layer_x_server *server, void *request, size_t bytes)
{
    ((xReq *)request)->length = (CARD16)(bytes / 4);
    server->sequence++;
    return !server->lost && send_all(server, request, bytes);
}

const void *layer_x_ask(struct layer_x_server *server, void *request, size_t bytes)
{
    if (!layer_x_tell(server, request, bytes))
        return NULL;
    while (receive_packet(server)) {
        xGenericReply head = received(server);
        if (head.type <= X_Reply && head.sequenceNumber == server->sequence)
            return head.type == X_Reply ? server->packet : NULL;
        have_heard(server);
    }
    return NULL;
}

bool layer_x_listen(struct layer_x_server *server)
{
    if (server->lost || !receive_packet(server))
        return false;
    have_heard(server);
    return true;
}

/* SPDX-License-Identifier: MIT */
#include "layer/part/x_server.h"

#include <X11/X.h>
#include <X11/Xproto.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/unit/scratch.h"
#include "tests/unit/unit.h"

/* A server that says what a test wants it to say, to one client, and keeps what it was told first. */
struct fake {
    int listening, client; /* client: as the program's own connection */
    pthread_t thread;
    const void *says;
    size_t bytes;
    uint8_t heard[64];
    ssize_t heard_bytes;
    struct layer_x_address address;
};

static void *serve(void *user)
{
    struct fake *fake = user;
    int fd = accept(fake->listening, NULL, NULL); /* the program's */
    int own = accept(fake->listening, NULL, NULL);

    fake->heard_bytes = recv(own, fake->heard, sizeof fake->heard, 0);
    (void)send(own, fake->says, fake->bytes, MSG_NOSIGNAL);
    shutdown(own, SHUT_WR);
    while (recv(own, (uint8_t[64]){0}, 64, 0) > 0)
        ;
    close(own);
    close(fd);
    return NULL;
}

static void start(struct fake *fake, const void *says, size_t bytes)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    *fake = (struct fake){.says = says, .bytes = bytes};
    CHECK(scratch_make());
    memcpy(address.sun_path, inside("X7"), strlen(inside("X7")));
    fake->listening = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(bind(fake->listening, (struct sockaddr *)&address, sizeof address) == 0 && listen(fake->listening, 4) == 0);
    CHECK(pthread_create(&fake->thread, NULL, serve, fake) == 0);
    fake->client = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK(connect(fake->client, (struct sockaddr *)&address, sizeof address) == 0);
    CHECK(layer_x_address_of(fake->client, &fake->address));
}

static void stop(struct fake *fake)
{
    CHECK(pthread_join(fake->thread, NULL) == 0);
    close(fake->client);
    close(fake->listening);
    layer_x_address_finish(&fake->address);
    CHECK(unlink(inside("X7")) == 0 && rmdir(scratch) == 0);
}

/* What a server of one screen says first, and what follows. */
struct greeting {
    xConnSetupPrefix prefix;
    xConnSetup setup;
    char vendor[4];
    xWindowRoot root;
    uint32_t more[16];
};

static struct greeting make_greeting(void)
{
    struct greeting greeting = {
        .prefix = {.success = 1, .majorVersion = 11, .length = (sizeof(xConnSetup) + 4 + sizeof(xWindowRoot)) / 4},
        .setup = {.nbytesVendor = 3, .numRoots = 1, .minKeyCode = 8, .maxKeyCode = 255},
        .root = {.windowId = 77}};
    return greeting;
}

#define GREETING_BYTES offsetof(struct greeting, more)

static unsigned heard_count;

static void hear(void *user, const void *event)
{
    heard_count++;
}

static enum lap_status try(const void *says, size_t bytes, struct layer_x_server *server)
{
    struct fake fake;
    enum lap_status status;

    server->hear = hear;
    start(&fake, says, bytes);
    status = layer_x_connect(server, &fake.address);
    if (status == LAP_OK)
        while (layer_x_listen(server))
            ;
    layer_x_close(server);
    stop(&fake);
    return status;
}

UNIT_TEST(a_greeting_is_taken_and_events_are_heard)
{
    struct layer_x_server *server = calloc(1, sizeof *server);
    struct greeting greeting = make_greeting();

    greeting.more[0] = KeyPress;
    CHECK_EQ_INT(try(&greeting, GREETING_BYTES + 32, server), LAP_OK);
    CHECK(server->root == 77 && server->first_keycode == 8 && server->last_keycode == 255 && server->lost);
    CHECK_EQ_INT(heard_count, 1);
    free(server);
}

UNIT_TEST(a_greeting_that_makes_no_sense_is_refused)
{
    struct layer_x_server *server = calloc(1, sizeof *server);
    struct greeting greeting = make_greeting();

    for (size_t bytes = 0; bytes < GREETING_BYTES; bytes++)
        CHECK_EQ_INT(try(&greeting, bytes, server), LAP_ERROR_IO);
    greeting.setup.nbytesVendor = 65535;
    CHECK_EQ_INT(try(&greeting, GREETING_BYTES, server), LAP_ERROR_IO);
    greeting = make_greeting();
    greeting.setup.numFormats = 255;
    CHECK_EQ_INT(try(&greeting, GREETING_BYTES, server), LAP_ERROR_IO);
    greeting = make_greeting();
    greeting.setup.numRoots = 0;
    CHECK_EQ_INT(try(&greeting, GREETING_BYTES, server), LAP_ERROR_IO);
    greeting = make_greeting();
    greeting.prefix.length = 0;
    CHECK_EQ_INT(try(&greeting, GREETING_BYTES, server), LAP_ERROR_IO);
    greeting = make_greeting();
    greeting.prefix.success = 0;
    greeting.prefix.lengthReason = 255; /* more than there is */
    CHECK_EQ_INT(try(&greeting, GREETING_BYTES, server), LAP_ERROR_IO);
    CHECK(strstr(lap_error_message(), "it refuses"));
    free(server);
}

UNIT_TEST(what_is_too_long_ends_the_connection)
{
    struct layer_x_server *server = calloc(1, sizeof *server);
    struct greeting greeting = make_greeting();

    heard_count = 0;
    greeting.more[0] = GenericEvent;
    greeting.more[1] = UINT32_MAX;
    CHECK_EQ_INT(try(&greeting, sizeof greeting, server), LAP_OK);
    CHECK_EQ_INT(heard_count, 0);
    free(server);
}

static void put_field(FILE *file, const void *bytes, size_t count)
{
    fputc((int)(count >> 8), file);
    fputc((int)(count & 0xff), file);
    fwrite(bytes, 1, count, file);
}

static void put_entry(FILE *file, unsigned family, const char *address, const char *number, const char *cookie)
{
    fputc((int)(family >> 8), file);
    fputc((int)(family & 0xff), file);
    put_field(file, address, strlen(address));
    put_field(file, number, strlen(number));
    put_field(file, "MIT-MAGIC-COOKIE-1", 18);
    put_field(file, cookie, strlen(cookie));
}

static void write_cookies(char *path, const char *number)
{
    char host[256] = "";
    CHECK(gethostname(host, sizeof host - 1) == 0);
    FILE *file = fdopen(mkstemp(path), "w");
    CHECK(file);
    put_entry(file, 256, "elsewhere", number, "aaaaaaaaaaaaaaaa");
    put_entry(file, 256, host, "8", "bbbbbbbbbbbbbbbb");
    put_entry(file, 256, host, number, "short");
    put_entry(file, 256, host, number, "cccccccccccccccc");
    put_entry(file, 65535, "", "", "dddddddddddddddd");
    fclose(file);
    setenv("XAUTHORITY", path, 1);
}

/* The first that is for this machine and this display's number. */
static void check_cookie(struct fake *fake, const char *path)
{
    CHECK_EQ_INT(fake->heard_bytes, 48);
    CHECK(memcmp(fake->heard + 12, "MIT-MAGIC-COOKIE-1", 18) == 0);
    CHECK(memcmp(fake->heard + 32, "cccccccccccccccc", 16) == 0);
    unsetenv("XAUTHORITY");
    CHECK(unlink(path) == 0);
}

UNIT_TEST(the_displays_cookie_is_sent)
{
    struct layer_x_server *server = calloc(1, sizeof *server);
    struct greeting greeting = make_greeting();
    char path[] = "/tmp/lapilli-unit-cookies-XXXXXX";
    struct fake fake;

    write_cookies(path, "7");
    start(&fake, &greeting, GREETING_BYTES);
    CHECK_EQ_INT(layer_x_connect(server, &fake.address), LAP_OK);
    layer_x_close(server);
    stop(&fake);
    check_cookie(&fake, path);
    free(server);
}

/* As in a sandbox: the server's own place for its socket is not there, and the display has another number. */
UNIT_TEST(a_socket_that_lies_elsewhere_is_found_by_the_displays_name)
{
    struct layer_x_server *server = calloc(1, sizeof *server);
    struct greeting greeting = make_greeting();
    char path[] = "/tmp/lapilli-unit-cookies-XXXXXX", number[16], display[32], elsewhere[64];
    bool made = mkdir("/tmp/.X11-unix", 01777) == 0;
    struct fake fake;

    snprintf(number, sizeof number, "%u", 40000u + (unsigned)getpid() % 10000u);
    snprintf(display, sizeof display, ":%s.0", number);
    snprintf(elsewhere, sizeof elsewhere, "/tmp/.X11-unix/X%s", number);
    write_cookies(path, number);
    setenv("DISPLAY", display, 1);
    start(&fake, &greeting, GREETING_BYTES);
    CHECK(rename(inside("X7"), elsewhere) == 0);
    CHECK_EQ_INT(layer_x_connect(server, &fake.address), LAP_OK);
    layer_x_close(server);
    CHECK(rename(elsewhere, inside("X7")) == 0);
    stop(&fake);
    check_cookie(&fake, path);
    CHECK(!made || rmdir("/tmp/.X11-unix") == 0);
    free(server);
}

UNIT_MAIN();

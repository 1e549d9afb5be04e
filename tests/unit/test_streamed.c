/* SPDX-License-Identifier: MIT */
/* Streamed traces: addresses, the greeting of both sides with and without tokens, records, and a writer whose file a
 * receiver makes. */
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/keyed_hash.h"

#include "tests/unit/unit.h"
#include "trace/format/bytes.h"
#include "trace/format/chunk.h"
#include "trace/format/format.h"
#include "trace/receive/receive.h"
#include "trace/send/address.h"

/* ---- addresses ---- */

UNIT_TEST(addresses_are_read_and_said_again)
{
    static const struct {
        const char *text, *again;
        bool local;
    } good[] = {{"unix:/tmp/a b", "unix:/tmp/a b", true},
                {"unix:s", "unix:s", true},
                {"unix:@a b", "unix:@a b", true},
                {"tcp://127.0.0.1:80", "tcp://127.0.0.1:80", true},
                {"tcp://localhost:0", "tcp://127.0.0.1:0", true},
                {"tcp://127.9.9.9:1", "tcp://127.9.9.9:1", true},
                {"tcp://10.0.0.1:65535", "tcp://10.0.0.1:65535", false},
                {"tcp://0.0.0.0:5", "tcp://0.0.0.0:5", false},
                {"tcp://[::1]:5", "tcp://[::1]:5", true},
                {"tcp://[::]:5", "tcp://[::]:5", false}};
    static const char *const bad[] = {"tcp://",
                                      "tcp://:1",
                                      "tcp://127.0.0.1",
                                      "tcp://127.0.0.1:",
                                      "tcp://1.2.3.4:x",
                                      "tcp://1.2.3.4:-1",
                                      "tcp://1.2.3.4:65536",
                                      "tcp://::1:5",
                                      "tcp://[::1:5",
                                      "tcp://name:5",
                                      "unix:",
                                      "unix:@",
                                      "tcp://[]:1",
                                      "file",
                                      "tcp://[localhost]:1",
                                      ""};
    char text[LAP_ADDRESS_TEXT_BYTES], longest[128] = "unix:";
    struct lap_address address;

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        CHECK(lap_address_parse(good[i].text, &address) == LAP_OK);
        lap_address_text(&address, text);
        CHECK_STR(text, good[i].again);
        CHECK(address.local == good[i].local);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(lap_address_parse(bad[i], &address) == LAP_ERROR_ARGUMENT);
    memset(longest + 5, 'x', 107);
    CHECK(lap_address_parse(longest, &address) == LAP_OK);
    lap_address_text(&address, text);
    CHECK_STR(text, longest);
    memset(longest + 5, 'x', 108);
    CHECK(lap_address_parse(longest, &address) == LAP_ERROR_ARGUMENT);
    CHECK(lap_address_parse("unix:@a", &address) == LAP_OK && !lap_address_has_file(&address));
    CHECK_EQ_U64(address.bytes, offsetof(struct sockaddr_un, sun_path) + 2); /* zeroes behind it would be its own */
    CHECK(lap_address_parse("unix:./@a", &address) == LAP_OK && lap_address_has_file(&address));
    char *same = lap_address_absolute("unix:@a");
    CHECK_STR(same, "unix:@a");
    free(same);
}

/* ---- the keyed hash ---- */

UNIT_TEST(the_keyed_hash_is_that_of_the_rfc)
{
    /* RFC 4231, test cases 2 and 6. */
    static const uint8_t jefe[] = {0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04, 0x24,
                                   0x26, 0x08, 0x95, 0x75, 0xc7, 0x5a, 0x00, 0x3f, 0x08, 0x9d, 0x27,
                                   0x39, 0x83, 0x9d, 0xec, 0x58, 0xb9, 0x64, 0xec, 0x38, 0x43};
    uint8_t out[LAP_KEYED_HASH_BYTES], other[LAP_KEYED_HASH_BYTES];
    if (lap_keyed_hash("Jefe", 4, "what do ya want for nothing?", 28, out) == LAP_ERROR_UNSUPPORTED)
        SKIP("this build has no keyed hash");
    CHECK(memcmp(out, jefe, sizeof jefe) == 0);
    CHECK(lap_keyed_hash_equal(out, jefe));
    memcpy(other, jefe, sizeof other);
    other[31] ^= 1;
    CHECK(!lap_keyed_hash_equal(out, other));
}

/* ---- the greeting ---- */

struct side {
    int fd;
    struct lap_token token;
    struct lap_greeted greeted;
    unsigned roles;
    enum lap_status status;
    char said[256];
};

static bool admits = true;

static bool admit(void *user, const struct lap_greeted *from)
{
    CHECK(user == &admits && from->role < LAP_ROLE_COUNT);
    return admits;
}

static void *answer(void *argument)
{
    struct side *side = argument;
    const struct lap_greeting_rules rules = {
        .token = &side->token, .roles = side->roles, .admit = admit, .user = &admits};
    side->status = lap_greeting_answer(side->fd, &rules, &side->greeted);
    snprintf(side->said, sizeof side->said, "%s", lap_error_message());
    return NULL;
}

static struct lap_token token_of(const char *text)
{
    struct lap_token token = {.count = strlen(text)};
    memcpy(token.bytes, text, token.count);
    return token;
}

static unsigned roles = 1u << LAP_ROLE_TRACE | 1u << LAP_ROLE_OBEY; /* that the receiver has something for */

/* What both sides have of it. */
static void greet(const char *name, const char *callers, const char *receivers, struct side *caller,
                  struct side *receiver)
{
    int ends[2];
    pthread_t thread;
    CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    *caller = (struct side){.fd = ends[0], .token = token_of(callers), .greeted = {.process = 77}};
    caller->greeted.role = LAP_ROLE_OBEY;
    *receiver = (struct side){.fd = ends[1], .token = token_of(receivers), .roles = roles};
    snprintf(caller->greeted.program, sizeof caller->greeted.program, "%s", name);
    CHECK(pthread_create(&thread, NULL, answer, receiver) == 0);
    caller->status = lap_greeting_call(caller->fd, &caller->greeted, &caller->token);
    snprintf(caller->said, sizeof caller->said, "%s", lap_error_message());
    (void)shutdown(caller->fd, SHUT_WR); /* nobody waits for who has refused */
    pthread_join(thread, NULL);
    close(ends[0]);
    close(ends[1]);
}

UNIT_TEST(both_sides_greet_and_names_are_harmless)
{
    struct side caller, receiver;
    greet("cube", "", "", &caller, &receiver);
    CHECK(caller.status == LAP_OK && receiver.status == LAP_OK);
    CHECK_STR(receiver.greeted.program, "cube");
    CHECK_EQ_U64(receiver.greeted.process, 77);
    CHECK(receiver.greeted.role == LAP_ROLE_OBEY);
    greet("../../etc/x\n\x01", "", "", &caller, &receiver);
    CHECK_STR(receiver.greeted.program, "_._.._etc_x__");
    greet("-rf \xff\x9b\xe2\x80\xaegpj.\xc3\xa4\xc2\x9b", "", "", &caller, &receiver);
    CHECK_STR(receiver.greeted.program, "_rf ___gpj.\xc3\xa4_");
    greet("", "", "", &caller, &receiver);
    CHECK_STR(receiver.greeted.program, "program");
}

UNIT_TEST(who_comes_for_something_else_is_told)
{
    struct side caller, receiver;
    roles = 1u << LAP_ROLE_TRACE;
    greet("cube", "", "", &caller, &receiver);
    CHECK(caller.status == LAP_ERROR_UNSUPPORTED && receiver.status == LAP_ERROR_UNSUPPORTED);
    CHECK_STR(caller.said, "the receiver takes no such connection, or has its trace already");
    roles |= 1u << LAP_ROLE_OBEY;
}

UNIT_TEST(who_comes_too_late_is_told)
{
    static const char *const tokens[] = {"", "0123456789abcdef"};
    struct side caller, receiver;
    uint8_t hash[LAP_KEYED_HASH_BYTES];
    admits = false;
    for (size_t i = 0; i < (lap_keyed_hash("", 0, "", 0, hash) == LAP_OK ? 2 : 1); i++) {
        greet("cube", tokens[i], tokens[i], &caller, &receiver);
        CHECK(caller.status == LAP_ERROR_UNSUPPORTED && receiver.status == LAP_ERROR_UNSUPPORTED);
        CHECK_STR(caller.said, "the receiver takes no such connection, or has its trace already");
    }
    admits = true;
}

/* The other side is older or newer, or comes for what nobody knows. */
UNIT_TEST(versions_and_roles_are_numbers_of_this_protocol)
{
    static const struct {
        uint32_t version, role, verdict;
    } cases[] = {{1, 0, 3},
                 {LAP_GREETING_VERSION + 1, 0, 3},
                 {LAP_GREETING_VERSION, LAP_ROLE_COUNT, 7},
                 {LAP_GREETING_VERSION, UINT32_MAX, 7},
                 {LAP_GREETING_VERSION, LAP_ROLE_OBEY, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint8_t hello[64] = {0}, answer_bytes[80];
        struct side receiver = {.roles = ~0u};
        int ends[2];
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
        receiver.fd = ends[1];
        memcpy(hello, LAP_GREETING_MAGIC, 8);
        lap_store_u32(hello + 8, cases[i].version);
        lap_store_u32(hello + 56, cases[i].role);
        CHECK(send(ends[0], hello, sizeof hello, 0) == (ssize_t)sizeof hello);
        answer(&receiver);
        CHECK(recv(ends[0], answer_bytes, sizeof answer_bytes, MSG_WAITALL) == (ssize_t)sizeof answer_bytes);
        CHECK_EQ_U64(lap_load_u32(answer_bytes + 12), cases[i].verdict);
        CHECK((receiver.status == LAP_OK) == (cases[i].verdict == 1));
        close(ends[0]);
        close(ends[1]);
    }
}

UNIT_TEST(tokens_must_be_the_same_on_both_sides)
{
    static const char one[] = "0123456789abcdef", other[] = "0123456789abcdeg";
    uint8_t hash[LAP_KEYED_HASH_BYTES];
    struct side caller, receiver;
    if (lap_keyed_hash("", 0, "", 0, hash) != LAP_OK)
        SKIP("this build has no keyed hash");
    greet("cube", one, one, &caller, &receiver);
    CHECK(caller.status == LAP_OK && receiver.status == LAP_OK);
    greet("cube", one, other, &caller, &receiver);
    CHECK(caller.status == LAP_ERROR_ARGUMENT && receiver.status < 0);
    CHECK_STR(caller.said, "the receiver has another token");
    greet("cube", "", one, &caller, &receiver);
    CHECK(caller.status == LAP_ERROR_ARGUMENT && receiver.status == LAP_ERROR_ARGUMENT);
    CHECK_STR(caller.said, "the receiver wants a token (LAPILLI_TOKEN_FILE)");
    greet("cube", one, "", &caller, &receiver);
    CHECK(caller.status == LAP_ERROR_ARGUMENT);
    CHECK_STR(caller.said, "the receiver has no token");
}

/* A program that sends back what it got, and one that makes something up. */
UNIT_TEST(whoever_lacks_the_token_is_refused_whatever_he_sends)
{
    uint8_t hello[64] = {0}, answer_bytes[80], last[4];
    uint8_t hash[LAP_KEYED_HASH_BYTES];
    if (lap_keyed_hash("", 0, "", 0, hash) != LAP_OK)
        SKIP("this build has no keyed hash");
    for (int reflects = 0; reflects < 2; reflects++) {
        struct side receiver = {.token = token_of("0123456789abcdef"), .roles = roles};
        int ends[2];
        pthread_t thread;
        CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
        receiver.fd = ends[1];
        CHECK(pthread_create(&thread, NULL, answer, &receiver) == 0);
        memcpy(hello, LAP_GREETING_MAGIC, 8);
        lap_store_u32(hello + 8, LAP_GREETING_VERSION);
        lap_store_u32(hello + 52, 1);
        CHECK(send(ends[0], hello, sizeof hello, 0) == (ssize_t)sizeof hello);
        CHECK(recv(ends[0], answer_bytes, sizeof answer_bytes, MSG_WAITALL) == (ssize_t)sizeof answer_bytes);
        CHECK(send(ends[0], reflects ? answer_bytes + 48 : hello, 32, 0) == 32);
        CHECK(recv(ends[0], last, 4, MSG_WAITALL) == 4);
        pthread_join(thread, NULL);
        CHECK(lap_load_u32(last) != 1);
        CHECK(receiver.status == LAP_ERROR_ARGUMENT);
        CHECK_STR(receiver.said, "it has another token");
        close(ends[0]);
        close(ends[1]);
    }
}

UNIT_TEST(a_token_file_is_for_its_owner)
{
    struct lap_token token;
    char path[] = "/tmp/lapilli-token-XXXXXX";
    int fd = mkstemp(path);
    CHECK(fd >= 0 && write(fd, "0123456789abcdef \r\n", 19) == 19);
    CHECK(lap_token_read(path, &token) == LAP_OK);
    CHECK_EQ_U64(token.count, 16);
    CHECK(fchmod(fd, 0640) == 0 && lap_token_read(path, &token) == LAP_ERROR_ARGUMENT);
    CHECK(fchmod(fd, 0600) == 0 && ftruncate(fd, 15) == 0 && lap_token_read(path, &token) == LAP_ERROR_ARGUMENT);
    CHECK(ftruncate(fd, LAP_TOKEN_MAX_BYTES) == 0 && lap_token_read(path, &token) == LAP_OK);
    CHECK(ftruncate(fd, LAP_TOKEN_MAX_BYTES + 1) == 0 && lap_token_read(path, &token) == LAP_ERROR_ARGUMENT);
    close(fd);
    unlink(path);
    CHECK(lap_token_read(path, &token) == LAP_ERROR_IO);
}

/* ---- records ---- */

struct file {
    uint8_t bytes[512];
    uint64_t used;
    unsigned done;
};

static enum lap_status append(void *user, uint64_t at, const uint8_t *data, size_t bytes)
{
    struct file *file = user;
    if (at != file->used || bytes > sizeof file->bytes - file->used)
        return lap_fail(LAP_ERROR_IO, "no room");
    memcpy(file->bytes + at, data, bytes);
    file->used += bytes;
    return LAP_OK;
}

static enum lap_status cut(void *user, uint64_t bytes)
{
    ((struct file *)user)->used = bytes;
    return LAP_OK;
}

static enum lap_status done(void *user, uint64_t bytes)
{
    CHECK_EQ_U64(((struct file *)user)->used, bytes);
    ((struct file *)user)->done++;
    return LAP_OK;
}

static size_t record(uint8_t *out, enum lap_record_kind kind, uint64_t value, const void *payload)
{
    lap_record_store(out, kind, value);
    if (kind == LAP_RECORD_APPEND)
        memcpy(out + LAP_RECORD_BYTES, payload, value);
    return LAP_RECORD_BYTES + (kind == LAP_RECORD_APPEND ? value : 0);
}

UNIT_TEST(records_make_the_file_in_pieces_of_any_size)
{
    uint8_t sent[512], header[LAP_FILE_HEADER_BYTES] = LAP_FORMAT_MAGIC;
    size_t used = record(sent, LAP_RECORD_APPEND, sizeof header, header);
    used += record(sent + used, LAP_RECORD_APPEND, 5, "wrong");
    used += record(sent + used, LAP_RECORD_CUT, sizeof header, NULL);
    used += record(sent + used, LAP_RECORD_APPEND, 4, "good");
    used += record(sent + used, LAP_RECORD_DONE, sizeof header + 4, NULL);
    for (size_t piece = 1; piece <= used; piece++) {
        struct file file = {.used = 0};
        struct lap_receive receive;
        lap_receive_init(&receive, &(struct lap_receive_file){append, cut, done, &file});
        for (size_t at = 0; at < used; at += piece)
            CHECK(lap_receive_take(&receive, sent + at, used - at < piece ? used - at : piece) == LAP_OK);
        CHECK(lap_receive_is_whole(&receive) && !receive.forgotten);
        CHECK_EQ_U64(file.used, sizeof header + 4);
        CHECK_EQ_U64(file.done, 1);
        CHECK(memcmp(file.bytes, header, sizeof header) == 0 && memcmp(file.bytes + sizeof header, "good", 4) == 0);
    }
}

UNIT_TEST(what_is_no_record_ends_it)
{
    static const struct {
        uint32_t kind;
        uint64_t value;
    } bad[] = {{0, 1},
               {5, 1},
               {LAP_RECORD_DONE, LAP_FILE_HEADER_BYTES - 1},
               {LAP_RECORD_DONE, LAP_FILE_HEADER_BYTES + 1},
               {LAP_RECORD_APPEND, 0},
               {LAP_RECORD_APPEND, LAP_RECORD_MAX_BYTES + 1},
               {LAP_RECORD_APPEND, UINT64_MAX},
               {LAP_RECORD_CUT, LAP_FILE_HEADER_BYTES - 1},
               {LAP_RECORD_CUT, LAP_FILE_HEADER_BYTES + 1},
               {LAP_RECORD_CUT, 0},
               {LAP_RECORD_CUT, UINT64_MAX}};
    uint8_t sent[512], header[LAP_FILE_HEADER_BYTES] = LAP_FORMAT_MAGIC;
    struct file file = {.used = 0};
    struct lap_receive receive, begun;
    size_t used = record(sent, LAP_RECORD_APPEND, sizeof header, header);

    lap_receive_init(&begun, &(struct lap_receive_file){append, cut, done, &file});
    CHECK(lap_receive_take(&begun, sent, used) == LAP_OK);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        receive = begun;
        lap_record_store(sent, (enum lap_record_kind)bad[i].kind, bad[i].value);
        CHECK(lap_receive_take(&receive, sent, LAP_RECORD_BYTES) == LAP_ERROR_FORMAT);
    }
    receive = begun;
    memset(sent, 0, sizeof sent);
    CHECK(lap_receive_take(&receive, sent, LAP_RECORD_BYTES) == LAP_ERROR_FORMAT);
    /* Behind the last one. */
    receive = begun;
    used = record(sent, LAP_RECORD_FORGET, 0, NULL);
    CHECK(lap_receive_take(&receive, sent, used) == LAP_OK && receive.forgotten);
    CHECK(lap_receive_take(&receive, sent, used) == LAP_ERROR_FORMAT);
    /* No trace. */
    lap_receive_init(&receive, &(struct lap_receive_file){append, cut, done, &file});
    file.used = 0;
    used = record(sent, LAP_RECORD_APPEND, 8, "#!/bin/s");
    CHECK(lap_receive_take(&receive, sent, used) == LAP_ERROR_FORMAT);
    CHECK_EQ_U64(file.used, 0);
    CHECK_EQ_U64(file.done, 0);
}

UNIT_MAIN();

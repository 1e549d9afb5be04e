/* SPDX-License-Identifier: MIT */
/* What lapilli receive takes from strangers: the greeting, on a socket, and then records, in pieces whose sizes the
 * input says. The file that they make is checked against the promises of trace/receive/receive.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/fuzz/fuzz.h"
#include "trace/format/chunk.h"
#include "trace/receive/receive.h"
#include "trace/send/command.h"
#include "trace/send/exchange.h"

#define GREETING_BYTES 400u /* that one may have */

struct file {
    uint64_t bytes;
    uint8_t begin[8];
};

static enum lap_status append(void *user, uint64_t at, const uint8_t *data, size_t bytes)
{
    struct file *file = user;
    FUZZ_CHECK(at == file->bytes && bytes > 0 && bytes <= LAP_RECORD_MAX_BYTES);
    for (size_t i = 0; i < bytes && at + i < sizeof file->begin; i++)
        file->begin[at + i] = data[i];
    file->bytes += bytes;
    FUZZ_CHECK(memcmp(file->begin, LAP_FORMAT_MAGIC, file->bytes < 8 ? file->bytes : 8) == 0);
    return LAP_OK;
}

static enum lap_status cut(void *user, uint64_t bytes)
{
    struct file *file = user;
    FUZZ_CHECK(bytes <= file->bytes && bytes >= LAP_FILE_HEADER_BYTES);
    file->bytes = bytes;
    return LAP_OK;
}

static enum lap_status done(void *user, uint64_t bytes)
{
    FUZZ_CHECK(bytes == ((struct file *)user)->bytes);
    return LAP_OK;
}

static void greet(const uint8_t *data, size_t bytes, const struct lap_token *token)
{
    const struct lap_greeting_rules rules = {.token = token, .roles = 1u << LAP_ROLE_TRACE | 1u << LAP_ROLE_OBEY};
    struct lap_greeted greeted;
    int ends[2];
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    FUZZ_CHECK(send(ends[0], data, bytes, MSG_NOSIGNAL) == (ssize_t)bytes);
    FUZZ_CHECK(shutdown(ends[0], SHUT_WR) == 0);
    enum lap_status status = lap_greeting_answer(ends[1], &rules, &greeted);
    FUZZ_CHECK(!token->count || status != LAP_OK); /* nobody guesses it */
    if (status == LAP_OK)
        FUZZ_CHECK(greeted.role < LAP_ROLE_COMMAND && greeted.program[0] && greeted.program[0] != '.' &&
                   !strchr(greeted.program, '/'));
    else
        FUZZ_CHECK(lap_error_message()[0]);
    close(ends[0]);
    close(ends[1]);
}

/* The caller is not to be trusted by the program either. */
static void call(const uint8_t *data, size_t bytes, const struct lap_token *token)
{
    const struct lap_greeted self = {.program = "fuzz", .process = 1};
    int ends[2];
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    FUZZ_CHECK(send(ends[0], data, bytes, MSG_NOSIGNAL) == (ssize_t)bytes);
    FUZZ_CHECK(shutdown(ends[0], SHUT_WR) == 0);
    enum lap_status status = lap_greeting_call(ends[1], &self, token);
    FUZZ_CHECK(!token->count || status != LAP_OK);
    close(ends[0]);
    close(ends[1]);
}

static void check_text(const char *text)
{
    FUZZ_CHECK(strlen(text) < LAP_COMMAND_TEXT_BYTES);
    for (const char *p = text; *p; p++)
        FUZZ_CHECK(*p >= ' ' && *p <= '~');
}

/* Commands, as a process gets them, and answers, as a receiver and lapilli control do. */
static void command(const uint8_t *data, size_t bytes, unsigned what)
{
    struct lap_command_request request;
    struct lap_command_answer answer;
    struct lap_command_process process;
    enum lap_status status = LAP_OK;
    int64_t deadline = lap_exchange_now_ms() + 1000;
    int ends[2];
    FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
    FUZZ_CHECK(send(ends[0], data, bytes, MSG_NOSIGNAL) == (ssize_t)bytes);
    FUZZ_CHECK(shutdown(ends[0], SHUT_WR) == 0);
    while (status == LAP_OK) {
        if (what == 0 && (status = lap_command_receive(ends[1], &request, deadline)) == LAP_OK)
            check_text(request.text);
        if (what == 1 && (status = lap_command_answer_receive(ends[1], &answer, deadline)) == LAP_OK) {
            check_text(answer.text);
            FUZZ_CHECK(answer.outcome < LAP_COMMAND_OUTCOME_COUNT && lap_command_state_name(answer.state));
        }
        if (what == 2 && (status = lap_command_process_receive(ends[1], &process, deadline)) == LAP_OK)
            check_text(process.name);
    }
    FUZZ_CHECK(lap_error_message()[0]);
    close(ends[0]);
    close(ends[1]);
}

static void take(const uint8_t *data, size_t bytes, size_t piece)
{
    struct file file = {.bytes = 0};
    struct lap_receive receive;
    enum lap_status status = LAP_OK;
    lap_receive_init(&receive, &(struct lap_receive_file){append, cut, done, &file});
    for (size_t at = 0; at < bytes && status == LAP_OK; at += piece)
        status = lap_receive_take(&receive, data + at, bytes - at < piece ? bytes - at : piece);
    FUZZ_CHECK(file.bytes == receive.bytes);
    FUZZ_CHECK(status == LAP_OK || status == LAP_ERROR_FORMAT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const struct lap_token tokens[2] = {{.count = 0}, {.bytes = "0123456789abcdef", .count = 16}};
    if (bytes < 2)
        return 0;
    size_t piece = (size_t)data[0] + 1, greeting = bytes - 2 < GREETING_BYTES ? bytes - 2 : GREETING_BYTES;
    if (data[1] & 1)
        greet(data + 2, greeting, &tokens[data[1] >> 1 & 1]);
    else if (data[1] & 4)
        call(data + 2, greeting, &tokens[data[1] >> 1 & 1]);
    else if (data[1] & 8)
        command(data + 2, greeting, data[0] % 3);
    else
        take(data + 2, bytes - 2, piece);
    return 0;
}

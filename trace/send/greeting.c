/* SPDX-License-Identifier: MIT */
#include "trace/send/greeting.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/keyed_hash.h"
#include "base/utf8.h"
#include "trace/format/bytes.h"
#include "trace/send/exchange.h"
#include "trace/send/peer.h"

#define NONCE_BYTES  32u
#define HELLO_BYTES  64u /* then the program's name */
#define ANSWER_BYTES 80u
#define PROOF_BYTES  LAP_KEYED_HASH_BYTES
#define LABEL_BYTES  16u
#define NONCE_AT     16u
#define PROOF_AT     48u /* in an answer */
#define NAME_AT      48u /* its length, in a hello */
#define ROLE_AT      56u

enum verdict {
    GO_ON = 1,
    PROVE = 2,
    OTHER_VERSION = 3,
    TOKEN_MISSING = 4,
    TOKEN_WRONG = 5,
    CANT_TELL = 6,
    NOT_HERE = 7
};

/* ---- the token ---- */

enum lap_status lap_token_read(const char *path, struct lap_token *out)
{
    struct stat info;
    size_t count = 0;
    ssize_t got = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

    memset(out, 0, sizeof(*out));
    if (fd < 0)
        return lap_fail(LAP_ERROR_IO, "the token file %s can't be read: %s", path, strerror(errno));
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_mode & 077 ||
        info.st_size > (off_t)sizeof(out->bytes)) {
        close(fd);
        return lap_fail(LAP_ERROR_ARGUMENT,
                        "the token file %s must be a regular file of at most %zu bytes that only its owner can read "
                        "(chmod 600)",
                        path, sizeof(out->bytes));
    }
    while (count < sizeof(out->bytes) &&
           ((got = read(fd, out->bytes + count, sizeof(out->bytes) - count)) > 0 || (got < 0 && errno == EINTR)))
        count += got > 0 ? (size_t)got : 0;
    close(fd);
    if (got < 0)
        return lap_fail(LAP_ERROR_IO, "the token file %s can't be read: %s", path, strerror(errno));
    while (count && strchr(" \t\r\n", out->bytes[count - 1]) && out->bytes[count - 1])
        count--;
    if (count < LAP_TOKEN_MIN_BYTES)
        return lap_fail(LAP_ERROR_ARGUMENT, "the token in %s has %zu bytes; it must have at least %u", path, count,
                        LAP_TOKEN_MIN_BYTES);
    out->count = count;
    return LAP_OK;
}

/* A proof is of one side and one connection: a peer can't send back a proof that it received. */
static enum lap_status prove(const struct lap_token *token, const char label[LABEL_BYTES], const uint8_t *callers,
                             const uint8_t *receivers, uint8_t out[PROOF_BYTES])
{
    uint8_t said[LABEL_BYTES + 2 * NONCE_BYTES];
    memcpy(said, label, LABEL_BYTES);
    memcpy(said + LABEL_BYTES, callers, NONCE_BYTES);
    memcpy(said + LABEL_BYTES + NONCE_BYTES, receivers, NONCE_BYTES);
    return lap_keyed_hash(token->bytes, token->count, said, sizeof(said), out);
}

static const char of_caller[LABEL_BYTES] = "lapilli program", of_receiver[LABEL_BYTES] = "lapilli receive";

static enum lap_status make_nonce(uint8_t out[NONCE_BYTES])
{
    return getrandom(out, NONCE_BYTES, 0) == (ssize_t)NONCE_BYTES
               ? LAP_OK
               : lap_fail(LAP_ERROR_IO, "there are no random bytes: %s", strerror(errno));
}

/* ---- the recorded process ---- */

static enum lap_status refused(uint32_t verdict)
{
    switch (verdict) {
    case OTHER_VERSION:
        return lap_fail(LAP_ERROR_ARGUMENT, "the receiver is of another version");
    case TOKEN_MISSING:
        return lap_fail(LAP_ERROR_ARGUMENT, "the receiver wants a token (LAPILLI_TOKEN_FILE)");
    case TOKEN_WRONG:
        return lap_fail(LAP_ERROR_ARGUMENT, "the receiver has another token");
    case CANT_TELL:
        return lap_fail(LAP_ERROR_ARGUMENT, "the receiver can't check tokens");
    case NOT_HERE:
        return lap_fail(LAP_ERROR_UNSUPPORTED, "the receiver takes no such connection, or has its trace already");
    default:
        return lap_fail(LAP_ERROR_FORMAT, "this is no receiver of traces");
    }
}

enum lap_status lap_greeting_call(int fd, const struct lap_greeted *self, const struct lap_token *token)
{
    uint8_t hello[HELLO_BYTES + LAP_GREETING_NAME_BYTES] = {0}, answer[ANSWER_BYTES], proof[PROOF_BYTES], last[4];
    size_t name = strnlen(self->program, LAP_GREETING_NAME_BYTES - 1);
    int64_t deadline = lap_exchange_now_ms() + LAP_GREETING_WAIT_MS;
    uint32_t verdict;
    uid_t user;
    enum lap_status status = make_nonce(hello + NONCE_AT);

    if (status != LAP_OK)
        return status;
    if (!token->count && lap_peer_is_stranger(fd, &user))
        return lap_fail(LAP_ERROR_ARGUMENT, "user %ld listens there: that needs a token (LAPILLI_TOKEN_FILE)",
                        (long)(int32_t)user);
    memcpy(hello, LAP_GREETING_MAGIC, 8);
    lap_store_u32(hello + 8, LAP_GREETING_VERSION);
    lap_store_u32(hello + 12, self->process);
    lap_store_u32(hello + NAME_AT, (uint32_t)name);
    lap_store_u32(hello + NAME_AT + 4, token->count != 0);
    lap_store_u32(hello + ROLE_AT, self->role);
    memcpy(hello + HELLO_BYTES, self->program, name);
    status = lap_exchange_send(fd, hello, HELLO_BYTES + name, deadline);
    if (status == LAP_OK)
        status = lap_exchange_receive(fd, answer, ANSWER_BYTES, deadline);
    if (status != LAP_OK)
        return status;
    if (memcmp(answer, LAP_GREETING_MAGIC, 8) != 0)
        return refused(0);
    verdict = lap_load_u32(answer + 12);
    if (verdict == GO_ON && !token->count)
        return LAP_OK;
    if (verdict == GO_ON)
        return lap_fail(LAP_ERROR_ARGUMENT, "the receiver has no token");
    if (verdict != PROVE || !token->count)
        return refused(verdict == PROVE ? TOKEN_MISSING : verdict);
    status = prove(token, of_receiver, hello + NONCE_AT, answer + NONCE_AT, proof);
    if (status != LAP_OK)
        return status;
    if (!lap_keyed_hash_equal(proof, answer + PROOF_AT))
        return refused(TOKEN_WRONG);
    status = prove(token, of_caller, hello + NONCE_AT, answer + NONCE_AT, proof);
    if (status == LAP_OK)
        status = lap_exchange_send(fd, proof, PROOF_BYTES, deadline);
    if (status == LAP_OK)
        status = lap_exchange_receive(fd, last, sizeof(last), deadline);
    if (status != LAP_OK)
        return status;
    return lap_load_u32(last) == GO_ON ? LAP_OK : refused(lap_load_u32(last));
}

/* ---- the receiver ---- */

#define KEPT_NAME_BYTES 200u /* of a program: names of files have at most 255, with a number and an ending */

/* The name becomes a part of a file's name, and goes to terminals. */
static void clean(char *name)
{
    size_t end = strnlen(name, KEPT_NAME_BYTES + 1);
    if (end > KEPT_NAME_BYTES) { /* not within a character */
        while (--end && (name[end] & 0xc0) == 0x80)
            ;
        name[end] = 0;
    }
    (void)lap_utf8_clean(name, '_');
    for (char *p = name; *p; p++)
        if (*p == '/' || (p == name && (*p == '.' || *p == '-')))
            *p = '_';
    if (!*name)
        strcpy(name, "program");
}

static enum lap_status read_hello(int fd, uint8_t hello[HELLO_BYTES], struct lap_greeted *out, int64_t deadline)
{
    enum lap_status status = lap_exchange_receive(fd, hello, HELLO_BYTES, deadline);
    uint32_t name = status == LAP_OK ? lap_load_u32(hello + NAME_AT) : 0;
    if (status != LAP_OK)
        return status;
    if (memcmp(hello, LAP_GREETING_MAGIC, 8) != 0 || name >= LAP_GREETING_NAME_BYTES)
        return lap_fail(LAP_ERROR_FORMAT, "this is no recorded process");
    out->process = lap_load_u32(hello + 12);
    status = lap_exchange_receive(fd, out->program, name, deadline);
    clean(out->program);
    return status;
}

/* LAP_ERROR_UNSUPPORTED: there is nothing for it now. */
static enum lap_status admit(const struct lap_greeting_rules *rules, const struct lap_greeted *from)
{
    return !rules->admit || rules->admit(rules->user, from)
               ? LAP_OK
               : lap_fail(LAP_ERROR_UNSUPPORTED, "it comes for what is taken already");
}

static enum lap_status check_caller(int fd, const struct lap_greeting_rules *rules, const struct lap_greeted *from,
                                    const uint8_t *hello, const uint8_t *answer, int64_t deadline)
{
    uint8_t wanted[PROOF_BYTES], proof[PROOF_BYTES], last[4];
    enum lap_status status = prove(rules->token, of_caller, hello + NONCE_AT, answer + NONCE_AT, wanted), sent;
    enum verdict verdict = TOKEN_WRONG;
    if (status == LAP_OK)
        status = lap_exchange_receive(fd, proof, PROOF_BYTES, deadline);
    if (status != LAP_OK)
        return status;
    if (lap_keyed_hash_equal(proof, wanted)) {
        status = admit(rules, from);
        verdict = status == LAP_OK ? GO_ON : NOT_HERE;
    } else {
        status = lap_fail(LAP_ERROR_ARGUMENT, "it has another token");
    }
    lap_store_u32(last, verdict);
    sent = lap_exchange_send(fd, last, sizeof(last), deadline);
    return status == LAP_OK ? sent : status;
}

enum lap_status lap_greeting_answer(int fd, const struct lap_greeting_rules *rules, struct lap_greeted *out)
{
    const struct lap_token *token = rules->token;
    uint8_t hello[HELLO_BYTES], answer[ANSWER_BYTES] = {0};
    int64_t deadline = lap_exchange_now_ms() + LAP_GREETING_WAIT_MS;
    enum verdict verdict;
    enum lap_status status, sent;
    uid_t user;

    memset(out, 0, sizeof(*out));
    status = read_hello(fd, hello, out, deadline);
    if (status == LAP_OK)
        status = make_nonce(answer + NONCE_AT);
    if (status != LAP_OK)
        return status;
    if (lap_load_u32(hello + 8) != LAP_GREETING_VERSION) {
        verdict = OTHER_VERSION;
        status = lap_fail(LAP_ERROR_ARGUMENT, "it is of another version");
    } else if (lap_load_u32(hello + ROLE_AT) >= LAP_ROLE_COUNT ||
               !(rules->roles >> (out->role = (enum lap_role)lap_load_u32(hello + ROLE_AT)) & 1)) {
        out->role = LAP_ROLE_TRACE;
        verdict = NOT_HERE;
        status = lap_fail(LAP_ERROR_UNSUPPORTED, "it comes for something else");
    } else if (token->count && !lap_load_u32(hello + NAME_AT + 4)) {
        verdict = TOKEN_MISSING;
        status = lap_fail(LAP_ERROR_ARGUMENT, "it has no token");
    } else if (!token->count && lap_peer_is_stranger(fd, &user)) {
        verdict = TOKEN_MISSING;
        status = lap_fail(LAP_ERROR_ARGUMENT, "it is of user %ld, which needs a token", (long)(int32_t)user);
    } else if (token->count) {
        status = prove(token, of_receiver, hello + NONCE_AT, answer + NONCE_AT, answer + PROOF_AT);
        verdict = status == LAP_OK ? PROVE : CANT_TELL;
    } else {
        status = admit(rules, out);
        verdict = status == LAP_OK ? GO_ON : NOT_HERE;
    }
    memcpy(answer, LAP_GREETING_MAGIC, 8);
    lap_store_u32(answer + 8, LAP_GREETING_VERSION);
    lap_store_u32(answer + 12, verdict);
    sent = lap_exchange_send(fd, answer, ANSWER_BYTES, deadline);
    if (status != LAP_OK || sent != LAP_OK || verdict != PROVE)
        return status == LAP_OK ? sent : status;
    return check_caller(fd, rules, out, hello, answer, deadline);
}

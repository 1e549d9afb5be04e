/* SPDX-License-Identifier: MIT */
#include "trace/send/command.h"

#include <string.h>

#include "trace/format/bytes.h"
#include "trace/send/exchange.h"

#define REQUEST_MAGIC "LPCM"
#define ANSWER_MAGIC  "LPAN"
#define PROCESS_MAGIC "LPPR"
#define HEAD_BYTES    16u
#define ANSWER_BYTES  48u

static const char *const names[LAP_COMMAND_COUNT] = {NULL, "status", "stop", "start", "frames", "keep-last", "keep"};
static const char *const states[LAP_STATE_COUNT] = {"unknown", "recording", "ended", "waiting"};

uint32_t lap_command_of(const char *name)
{
    for (uint32_t i = 1; i < LAP_COMMAND_COUNT; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    return 0;
}

const char *lap_command_state_name(enum lap_command_state state)
{
    return states[state];
}

/* A head and the text behind it, in one piece. */
static enum lap_status send_with_text(int fd, uint8_t *head, size_t head_bytes, const char *text, int64_t deadline)
{
    size_t bytes = strnlen(text, LAP_COMMAND_TEXT_BYTES - 1);
    memcpy(head + head_bytes, text, bytes);
    return lap_exchange_send(fd, head, head_bytes + bytes, deadline);
}

static enum lap_status receive_head(int fd, uint8_t *head, size_t bytes, const char *magic, int64_t deadline)
{
    enum lap_status status = lap_exchange_receive(fd, head, bytes, deadline);
    if (status == LAP_OK && memcmp(head, magic, 4) != 0)
        status = lap_fail(LAP_ERROR_FORMAT, "the other side does not speak of commands");
    return status;
}

/* Characters that are not printable become '?': the text goes to terminals. */
static enum lap_status receive_text(int fd, uint32_t bytes, char *out, int64_t deadline)
{
    if (bytes >= LAP_COMMAND_TEXT_BYTES)
        return lap_fail(LAP_ERROR_FORMAT, "a text of %u bytes", bytes);
    enum lap_status status = lap_exchange_receive(fd, out, bytes, deadline);
    out[status == LAP_OK ? bytes : 0] = 0;
    for (char *p = out; status == LAP_OK && p < out + bytes; p++)
        if ((unsigned char)*p < ' ' || (unsigned char)*p > '~')
            *p = '?';
    return status;
}

enum lap_status lap_command_send(int fd, const struct lap_command_request *request, int64_t deadline)
{
    uint8_t head[HEAD_BYTES + LAP_COMMAND_TEXT_BYTES] = REQUEST_MAGIC;
    lap_store_u32(head + 4, request->command);
    lap_store_u32(head + 8, request->number);
    lap_store_u32(head + 12, (uint32_t)strnlen(request->text, LAP_COMMAND_TEXT_BYTES - 1));
    return send_with_text(fd, head, HEAD_BYTES, request->text, deadline);
}

enum lap_status lap_command_receive(int fd, struct lap_command_request *out, int64_t deadline)
{
    uint8_t head[HEAD_BYTES];
    enum lap_status status = receive_head(fd, head, sizeof(head), REQUEST_MAGIC, deadline);
    if (status != LAP_OK)
        return status;
    out->command = lap_load_u32(head + 4);
    out->number = lap_load_u32(head + 8);
    return receive_text(fd, lap_load_u32(head + 12), out->text, deadline);
}

enum lap_status lap_command_answer_send(int fd, const struct lap_command_answer *answer, int64_t deadline)
{
    uint8_t head[ANSWER_BYTES + LAP_COMMAND_TEXT_BYTES] = ANSWER_MAGIC;
    lap_store_u32(head + 4, answer->number);
    lap_store_u32(head + 8, answer->outcome);
    lap_store_u32(head + 12, answer->state);
    lap_store_u64(head + 16, answer->frames);
    lap_store_u64(head + 24, answer->bytes);
    lap_store_u64(head + 32, answer->waited_us);
    lap_store_u32(head + 40, (uint32_t)strnlen(answer->text, LAP_COMMAND_TEXT_BYTES - 1));
    return send_with_text(fd, head, ANSWER_BYTES, answer->text, deadline);
}

enum lap_status lap_command_answer_receive(int fd, struct lap_command_answer *out, int64_t deadline)
{
    uint8_t head[ANSWER_BYTES];
    enum lap_status status = receive_head(fd, head, sizeof(head), ANSWER_MAGIC, deadline);
    if (status != LAP_OK)
        return status;
    uint32_t outcome = lap_load_u32(head + 8), state = lap_load_u32(head + 12);
    if (outcome >= LAP_COMMAND_OUTCOME_COUNT)
        return lap_fail(LAP_ERROR_FORMAT, "an answer of unknown kind %u", outcome);
    out->number = lap_load_u32(head + 4);
    out->outcome = (enum lap_command_outcome)outcome;
    out->state = state < LAP_STATE_COUNT ? (enum lap_command_state)state : LAP_STATE_NONE; /* one of a newer layer */
    out->frames = lap_load_u64(head + 16);
    out->bytes = lap_load_u64(head + 24);
    out->waited_us = lap_load_u64(head + 32);
    return receive_text(fd, lap_load_u32(head + 40), out->text, deadline);
}

enum lap_status lap_command_process_send(int fd, const struct lap_command_process *process, int64_t deadline)
{
    uint8_t head[HEAD_BYTES + LAP_COMMAND_TEXT_BYTES] = PROCESS_MAGIC;
    lap_store_u32(head + 4, process->process);
    lap_store_u32(head + 8, (uint32_t)strnlen(process->name, LAP_COMMAND_TEXT_BYTES - 1));
    return send_with_text(fd, head, HEAD_BYTES, process->name, deadline);
}

enum lap_status lap_command_process_receive(int fd, struct lap_command_process *out, int64_t deadline)
{
    uint8_t head[HEAD_BYTES];
    enum lap_status status = receive_head(fd, head, sizeof(head), PROCESS_MAGIC, deadline);
    if (status != LAP_OK)
        return status;
    out->process = lap_load_u32(head + 4);
    return receive_text(fd, lap_load_u32(head + 8), out->name, deadline);
}

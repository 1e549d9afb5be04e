/* SPDX-License-Identifier: MIT */
/* lapilli-control: gives commands to recorded programs, through the receiver of their traces or the launcher that
 * started them. */
#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/frames.h"
#include "tools/common/arguments.h"
#include "tools/common/tool.h"
#include "trace/send/command.h"
#include "trace/send/exchange.h"
#include "trace/send/send.h"

#define PROGRAM        "lapilli-control"
#define MOST_PROCESSES 64u

static const char help[] =
    "usage: lapilli control [options] ADDRESS COMMAND [VALUE]\n"
    "Commands recorded programs: those that stream their traces to a lapilli receive at this address, or that\n"
    "lapilli capture --control ADDRESS has started.\n"
    "\n"
    "  status             what is recorded: frames and bytes so far, and how long the program had to wait\n"
    "  stop               end the recording. The trace is complete, and the program runs on unrecorded\n"
    "  start              begin one at the end of the program's current frame; each is a trace of its own. For\n"
    "                     programs of which parts are recorded: lapilli capture --trigger control\n"
    "  frames N           the same, of the next N frames\n"
    "  keep-last LENGTH   keep the end of the run from now on: 10s, 300f (frames), 64MiB; or off. For the same "
    "programs.\n"
    "                     A part that is being recorded ends, and stays\n"
    "  keep               where the end of the run is kept: what there is stays, and others begin\n"
    "\n"
    "  --process N        only the program with this process number (default: all)\n"
    "  --token-file FILE  the listener's token\n"
    "  --json             one JSON object in a line for each program\n"
    "  --help             this text\n"
    "\n"
    "Exit status: 0; 1 there is no listener, no such program is there, or one could not do it or did not answer;\n"
    "2 wrong usage.\n";

struct options {
    struct lap_send_options to;
    struct lap_command_request request;
    bool json;
};

static const struct lap_verb verb = {PROGRAM, help};

static enum lap_status take_command(const struct lap_argument *row, const char *value)
{
    struct lap_command_request *request = row->out;

    request->command = lap_command_of(value);
    return request->command ? LAP_OK : lap_argument_wants(row, "status, start, frames, stop, keep-last or keep");
}

static int check(const struct lap_command_request *request, const char *value)
{
    const char *number = value;
    struct lap_length length;
    uint64_t frames;

    if (request->command == LAP_COMMAND_FRAMES && (!value || !lap_frame_parse(&number, &frames) || *number))
        return lap_usage(&verb, "frames takes a number from 1 on");
    if (request->command == LAP_COMMAND_KEEP_LAST &&
        (!value || (strcmp(value, "off") != 0 && lap_length_parse(value, &length) != LAP_OK)))
        return lap_usage(&verb, "keep-last takes a length, as 10s, 300f or 64MiB, or off");
    if (value && request->command != LAP_COMMAND_FRAMES && request->command != LAP_COMMAND_KEEP_LAST)
        return lap_usage(&verb, "only frames and keep-last take a VALUE");
    return -1;
}

/* An exit status, or -1. */
static int parse(int argc, char **argv, struct options *options)
{
    const char *value = NULL;
    uint64_t process = 0;
    const struct lap_argument rows[] = {LAP_NUMBER("process", &process, 1, INT32_MAX),
                                        LAP_TEXT("token-file", &options->to.token_file),
                                        LAP_FLAG("json", &options->json),
                                        LAP_WORD("ADDRESS", &options->to.address, lap_take_text),
                                        LAP_WORD("COMMAND", &options->request, take_command),
                                        LAP_MAYBE_WORD("VALUE", &value, lap_take_text)};
    int code = LAP_ARGUMENTS_TAKE(&verb, argc, argv, rows);

    if (code < 0)
        code = check(&options->request, value);
    options->request.number = (uint32_t)process;
    if (value)
        snprintf(options->request.text, sizeof options->request.text, "%s", value);
    return code;
}

/* ---- the answers ---- */

static const char *outcome_name(enum lap_command_outcome outcome)
{
    static const char *const names[LAP_COMMAND_OUTCOME_COUNT] = {"done", "refused", "unknown", "no answer"};
    return names[outcome];
}

static bool print_json(const struct lap_command_process *process, const struct lap_command_answer *answer)
{
    cJSON *object = cJSON_CreateObject();
    bool known = answer->outcome != LAP_COMMAND_NO_ANSWER;
    char *text = NULL;
    bool good = cJSON_AddStringToObject(object, "program", process->name) &&
                cJSON_AddNumberToObject(object, "process", process->process) &&
                cJSON_AddStringToObject(object, "outcome", outcome_name(answer->outcome)) &&
                (answer->text[0] ? cJSON_AddStringToObject(object, "reason", answer->text)
                                 : cJSON_AddNullToObject(object, "reason"));
    if (good && known)
        good = cJSON_AddStringToObject(object, "state", lap_command_state_name(answer->state)) &&
               cJSON_AddNumberToObject(object, "frames", (double)answer->frames) &&
               cJSON_AddNumberToObject(object, "bytes", (double)answer->bytes) &&
               cJSON_AddNumberToObject(object, "waited_ms", (double)(answer->waited_us / 1000));
    if (good)
        text = cJSON_PrintUnformatted(object);
    if (text)
        printf("%s\n", text);
    cJSON_free(text);
    cJSON_Delete(object);
    return text != NULL;
}

static bool print_text(const struct lap_command_process *process, const struct lap_command_answer *answer)
{
    printf("%s (process %" PRIu32 "): ", process->name, process->process);
    if (answer->outcome == LAP_COMMAND_NO_ANSWER)
        printf("no answer: %s\n", answer->text);
    else
        printf("%s%s%s, %" PRIu64 " frame%s, %.1f KiB, waited %" PRIu64 " ms\n", answer->text,
               answer->text[0] ? "; " : "", lap_command_state_name(answer->state), answer->frames,
               answer->frames == 1 ? "" : "s", (double)answer->bytes / 1024, answer->waited_us / 1000);
    return true;
}

static int read_answers(const struct options *options, int fd)
{
    struct lap_command_process process;
    struct lap_command_answer answer;
    enum lap_status status;
    unsigned count = 0;
    bool good = true;

    for (;; count++) {
        int64_t deadline = lap_exchange_now_ms() + 2 * LAP_COMMAND_WAIT_MS; /* others may give commands, too */
        status = lap_command_process_receive(fd, &process, deadline);
        if (status != LAP_OK || !process.name[0])
            break;
        status = count < MOST_PROCESSES ? lap_command_answer_receive(fd, &answer, deadline)
                                        : lap_fail(LAP_ERROR_FORMAT, "more processes than there can be");
        if (status != LAP_OK)
            break;
        good &= answer.outcome == LAP_COMMAND_DONE;
        good &= options->json ? print_json(&process, &answer) : print_text(&process, &answer);
    }
    if (status != LAP_OK)
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
    else if (!count)
        fprintf(stderr, PROGRAM ": %s\n",
                options->request.number ? "no such process takes commands at that address"
                                        : "no recorded program takes commands at that address");
    return lap_tool_end_output(PROGRAM, status == LAP_OK && count && good ? LAP_TOOL_OK : LAP_TOOL_FAILED);
}

int main(int argc, char **argv)
{
    struct options options = {.to = {.program = PROGRAM, .role = LAP_ROLE_COMMAND}};
    uint64_t waited_ms;
    int fd, code = parse(argc, argv, &options);

    if (code >= 0)
        return code;
    enum lap_status status = lap_send_connect(&options.to, &fd, &waited_ms);
    if (status == LAP_OK) {
        status = lap_command_send(fd, &options.request, lap_exchange_now_ms() + LAP_COMMAND_WAIT_MS);
        if (status == LAP_OK)
            code = read_answers(&options, fd);
        close(fd);
    }
    if (status != LAP_OK) {
        fprintf(stderr, PROGRAM ": %s\n", lap_error_message());
        code = LAP_TOOL_FAILED;
    }
    return code;
}

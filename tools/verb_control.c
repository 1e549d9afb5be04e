/* SPDX-License-Identifier: MIT */
/* lapilli-control: gives commands to recorded programs, through the receiver of their traces or the launcher that
 * started them. */
#include <cjson/cJSON.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/frames.h"
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

enum { OPTION_PROCESS = 256, OPTION_TOKEN, OPTION_JSON };

struct options {
    struct lap_send_options to;
    struct lap_command_request request;
    bool json;
};

static int usage(const char *what)
{
    fprintf(stderr, PROGRAM ": %s. Try 'lapilli control --help'.\n", what);
    return LAP_TOOL_USAGE;
}

static bool parse_process(const char *text, uint32_t *out)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    *out = (uint32_t)number;
    return *text >= '1' && *text <= '9' && !*end && number <= INT32_MAX;
}

static int parse_command(int count, char **words, struct lap_command_request *request)
{
    const char *value = count > 1 ? words[1] : NULL, *number = value;
    struct lap_length length;
    uint64_t frames;

    request->command = lap_command_of(words[0]);
    if (!request->command)
        return usage("the command is status, start, frames, stop, keep-last or keep");
    if (request->command == LAP_COMMAND_FRAMES && (!value || !lap_frame_parse(&number, &frames) || *number))
        return usage("frames takes a number from 1 on");
    if (request->command == LAP_COMMAND_KEEP_LAST &&
        (!value || (strcmp(value, "off") != 0 && lap_length_parse(value, &length) != LAP_OK)))
        return usage("keep-last takes a length, as 10s, 300f or 64MiB, or off");
    if (count != (request->command == LAP_COMMAND_FRAMES || request->command == LAP_COMMAND_KEEP_LAST ? 2 : 1))
        return usage("there is more than an address and a command");
    if (value)
        snprintf(request->text, sizeof request->text, "%s", value);
    return -1;
}

/* Fills *options, or returns an exit status, which is not negative. */
static int parse(int argc, char **argv, struct options *options)
{
    static const struct option longs[] = {{"process", required_argument, NULL, OPTION_PROCESS},
                                          {"token-file", required_argument, NULL, OPTION_TOKEN},
                                          {"json", no_argument, NULL, OPTION_JSON},
                                          {"help", no_argument, NULL, 'h'},
                                          {NULL, 0, NULL, 0}};
    int option;

    *options = (struct options){.to = {.program = PROGRAM, .role = LAP_ROLE_COMMAND}};
    while ((option = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
        switch (option) {
        case OPTION_PROCESS:
            if (!parse_process(optarg, &options->request.number))
                return usage("--process takes the number of a process");
            break;
        case OPTION_TOKEN:
            options->to.token_file = optarg;
            break;
        case OPTION_JSON:
            options->json = true;
            break;
        case 'h':
            return lap_tool_help(PROGRAM, help);
        default:
            fprintf(stderr, "Try 'lapilli control --help'.\n");
            return LAP_TOOL_USAGE;
        }
    }
    if (argc - optind < 2)
        return usage("there must be an address and a command");
    options->to.address = argv[optind];
    return parse_command(argc - optind - 1, argv + optind + 1, &options->request);
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
    struct options options;
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

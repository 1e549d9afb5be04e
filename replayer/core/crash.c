/* SPDX-License-Identifier: MIT */
#include "replayer/core/crash.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "gen_ids.h"
#include "replayer/core/replay.h"
#include "vulkan/block.h"

static const struct {
    int number;
    const char *name;
} signals[] = {{SIGSEGV, "SIGSEGV"}, {SIGBUS, "SIGBUS"},   {SIGILL, "SIGILL"},
               {SIGFPE, "SIGFPE"},   {SIGABRT, "SIGABRT"}, {SIGTRAP, "SIGTRAP"}};

#define SIGNALS (sizeof signals / sizeof *signals)

/* A handler has no other way to them. */
static struct sigaction before[SIGNALS];
static const struct replay_position *of_all;
static _Thread_local const struct replay_position *of_thread;
static atomic_flag said = ATOMIC_FLAG_INIT;

struct sentence {
    char text[512];
    size_t length;
};

static void add(struct sentence *sentence, const char *text)
{
    while (*text && sentence->length < sizeof sentence->text)
        sentence->text[sentence->length++] = *text++;
}

static void add_number(struct sentence *sentence, uint64_t number)
{
    char digits[24];
    size_t at = sizeof digits - 1;

    digits[at] = 0;
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    add(sentence, digits + at);
}

/* Only calls that a handler may make. */
static void say(const char *signal_name)
{
    const struct replay_position *at = of_thread ? of_thread : of_all;
    struct sentence sentence = {.length = 0};

    add(&sentence, "lapilli-replay: error: crashed (");
    add(&sentence, signal_name);
    add(&sentence, of_thread ? ")" : ") in another thread");
    if (at->packet.ticket) {
        add(&sentence, of_thread ? " in " : ", during ");
        add(&sentence, at->block_command ? at->block_command : gen_command_names[at->command]);
        add(&sentence, ", packet ");
        add_number(&sentence, at->packet.ticket);
        if (of_thread && at->block && at->block_command) {
            add(&sentence, ".");
            add_number(&sentence, at->block->index - 1);
        }
        add(&sentence, ", frame ");
        add_number(&sentence, at->packet.frame + 1);
    }
    add(&sentence, "\n");
    (void)!write(STDERR_FILENO, sentence.text, sentence.length);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    (void)context;
    for (size_t i = 0; i < SIGNALS; i++) {
        if (signals[i].number != number)
            continue;
        if (!atomic_flag_test_and_set(&said))
            say(signals[i].name);
        (void)sigaction(number, &before[i], NULL);
    }
    /* What was sent does not come again by itself, nor what is behind its instruction. */
    if (info->si_code <= 0 || number == SIGTRAP)
        (void)raise(number);
}

void replay_crash_watch(const struct replay_position *at)
{
    static char stack[1 << 16];
    static bool watching; /* a replay that begins anew */
    const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    of_all = of_thread = at;
    (void)sigaltstack(&other, NULL); /* of this thread */
    sigemptyset(&ours.sa_mask);
    for (size_t i = 0; i < SIGNALS && !watching; i++)
        (void)sigaction(signals[i].number, &ours, &before[i]);
    watching = true;
}

const struct replay_position *replay_crash_set(const struct replay_position *at)
{
    const struct replay_position *was = of_thread;

    of_thread = at;
    return was;
}

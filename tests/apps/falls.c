/* SPDX-License-Identifier: MIT */
/*
 * falls: fills a buffer in each frame, under a driver that crashes or hangs somewhere (tests/layers/crash.c). What the
 * program itself does about that is up to --what. Not in list.txt, as it mostly does not end well.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <unistd.h>

#include "common/app.h"

enum {
    BEFORE = 1,
    AFTER = 2,
    JUMP = 4,
    LEAVE = 8,
    OLD = 16,
    STACK = 32,
    THREADS = 64,
    KILLED = 128,
    DEAF = 256,
    IGNORE = 512,
    LEAP = 1024,
    ELSEWHERE = 2048
};

static uint32_t what, fence_count, data_bytes, thread_count = 3;
static sigjmp_buf back;
static volatile sig_atomic_t falls;
static void (*old)(int);

static void say(const char *text)
{
    if (write(STDOUT_FILENO, text, strlen(text)) < 0)
        _exit(8);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    falls++;
    say(info && context && info->si_signo == number ? "handler\n" : "handler without siginfo\n");
    if (what & JUMP)
        siglongjmp(back, 1);
    if (what & LEAVE)
        exit(9);
    _exit(9);
}

/* As programs of old do: what was there before is called like a function. */
static void on_old_signal(int number)
{
    falls++;
    say("handler\n");
    if (old != SIG_DFL && old != SIG_IGN)
        old(number);
    signal(number, SIG_DFL);
    raise(number);
}

static void be_deaf(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGBUS);
    CHECK(pthread_sigmask(SIG_BLOCK, &set, NULL) == 0);
}

static void set_handler(void)
{
    if (what & IGNORE)
        CHECK(signal(SIGBUS, SIG_IGN) != SIG_ERR);
    if (what & DEAF)
        be_deaf();
    if (what & (DEAF | IGNORE))
        return;
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    static uint8_t stack[16384];
    stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
    if (what & STACK) {
        CHECK(sigaltstack(&other, NULL) == 0);
        action.sa_flags |= SA_ONSTACK;
    }
    if (what & OLD)
        CHECK((old = signal(SIGSEGV, on_old_signal)) != SIG_ERR);
    else
        CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
}

/* Until the process ends. */
static void *wait_in_vain(void *argument)
{
    const struct app *app = argument;
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    VkFence fence;
    CHECK_VK(vkCreateFence(app->device, &info, NULL, &fence));
    vkWaitForFences(app->device, 1, &fence, VK_TRUE, UINT64_MAX);
    return NULL;
}

static void on_alarm(int number)
{
    siglongjmp(back, 1);
}

/* Calls further down the stack than the one that was left, over what is the program's own there. */
static __attribute__((noinline)) void go_deeper(struct app *app)
{
    const VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
    volatile uint8_t own[1 << 16];
    VkFence fence;
    for (size_t i = 0; i < sizeof own; i++)
        own[i] = 0xaa;
    CHECK_VK(vkCreateFence(app->device, &info, NULL, &fence));
    CHECK_VK(vkGetFenceStatus(app->device, fence) == VK_NOT_READY ? VK_SUCCESS : VK_ERROR_UNKNOWN);
    vkDestroyFence(app->device, fence, NULL);
    for (size_t i = 0; i < sizeof own; i++)
        CHECK(own[i] == 0xaa);
}

/* A signal that is no crash jumps out of a call. */
static void leap(struct app *app)
{
    CHECK(signal(SIGALRM, on_alarm) != SIG_ERR);
    if (!sigsetjmp(back, 1)) {
        ualarm(100000, 0);
        vkDeviceWaitIdle(app->device);
        say("it returned\n");
    }
    go_deeper(app);
}

struct work {
    VkCommandBuffer commands;
    VkBuffer buffer;
    uint32_t frame;
    const uint8_t *data;
};

static void *record(void *argument)
{
    const struct work *work = argument;
    if (what & ELSEWHERE && what & DEAF)
        be_deaf();
    vkCmdFillBuffer(work->commands, work->buffer, 64 * work->frame, 64, 0x1000 + work->frame);
    if (data_bytes)
        vkCmdUpdateBuffer(work->commands, work->buffer, 0, data_bytes, work->data);
    return NULL;
}

static void wait_for_many(struct app *app)
{
    VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO, .flags = VK_FENCE_CREATE_SIGNALED_BIT};
    VkFence fence, *fences = malloc(fence_count * sizeof *fences);
    CHECK(fences);
    CHECK_VK(vkCreateFence(app->device, &info, NULL, &fence));
    for (uint32_t i = 0; i < fence_count; i++)
        fences[i] = fence;
    CHECK_VK(vkWaitForFences(app->device, fence_count, fences, VK_TRUE, UINT64_MAX));
    vkDestroyFence(app->device, fence, NULL);
    free(fences);
}

int main(int argc, char **argv)
{
    static const struct app_option options[] = {
        {"--what",
         "1: a handler of SIGSEGV from the beginning, 2: or from the first "
         "frame on, +4: jumps back and goes on, +8: leaves by "
         "exit, +16: calls the one before, +32: on a stack of its own; 64: "
         "threads that wait, 128: ends by SIGKILL; instead of a handler "
         "256: SIGBUS is blocked, 512: ignored; 1024: a timer jumps out of vkDeviceWaitIdle, "
         "2048: commands are recorded by a thread of their own (256: which has it blocked)",
         NULL, &what},
        {"--fences", "waits first for as many fences, each the same", NULL, &fence_count},
        {"--threads", "that wait, with 64 (3)", NULL, &thread_count},
        {"--data", "bytes that go into a command buffer (0)", NULL, &data_bytes},
        {0}};
    static const struct app_program program = {
        .name = "falls", .what = "Fills a buffer until the driver fails.", .frames = 4, .options = options};
    struct app_buffer buffer;
    static uint8_t data[4096];
    pthread_t thread;
    struct app app;

    for (int i = 1; i + 1 < argc; i++) /* it is needed before the instance is there */
        what = strcmp(argv[i], "--what") == 0 ? (uint32_t)atoi(argv[i + 1]) : what;
    if (what & BEFORE)
        set_handler();
    app_init(&app, argc, argv, &program);
    CHECK(data_bytes <= sizeof data && data_bytes % 4 == 0);
    for (uint32_t i = 0; i < sizeof data; i++)
        data[i] = (uint8_t)i;
    app_device_create(&app, NULL);
    if (what & AFTER)
        set_handler();
    app_buffer_create(&app, &buffer, 4096, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    for (uint32_t i = 0; what & THREADS && i < thread_count; i++)
        CHECK(pthread_create(&thread, NULL, wait_in_vain, &app) == 0);
    if (what & THREADS)
        usleep(100000); /* so that they are mostly waiting */
    if (fence_count)
        wait_for_many(&app);
    if (what & LEAP)
        leap(&app);
    for (volatile uint32_t frame = 0; frame < app.frames; frame++) {
        if (sigsetjmp(back, 1))
            continue; /* behind the call that failed */
        VkCommandBuffer commands = app_begin(&app);
        struct work work = {commands, buffer.buffer, frame, data};
        if (what & ELSEWHERE)
            CHECK(pthread_create(&thread, NULL, record, &work) == 0 && pthread_join(thread, NULL) == 0);
        else
            record(&work);
        app_run(&app, commands);
    }
    if (what & KILLED)
        raise(SIGKILL);
    app_buffer_destroy(&app, &buffer);
    say(falls == (what & JUMP ? 1 : 0) ? "" : "it fell another number of times\n");
    return app_finish(&app);
}

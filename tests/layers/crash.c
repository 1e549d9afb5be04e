/* SPDX-License-Identifier: MIT */
/*
 * crash: makes of the driver one that fails in a chosen call of a chosen command, before it does anything.
 *
 *   LAPILLI_CRASH  COMMAND:NUMBER:HOW, say vkQueueSubmit:2:segv. NUMBER counts from 1, over all threads. HOW:
 *                  segv, bus, ill, fpe, trap, sys, abort, kill: of that signal
 *                  term: the same, if nobody has said otherwise
 *                  leave: it leaves by _exit(7); exec: it becomes /bin/true; memory: it takes memory without end
 *                  thread: a thread of the driver's own reads nowhere
 *                  overflow: the stack ends
 *                  hang: it never returns
 *                  slow: it returns after a second
 *                  refuse: each call returns VK_ERROR_INITIALIZATION_FAILED, whatever NUMBER is
 *
 * Any command's arguments are passed on as they are, by a jump; on processors for which that is not written below the
 * layer does nothing.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/layers/chain.h"

#ifdef __x86_64__
static char command[128], how[16];
static unsigned long at;
static atomic_ulong calls;

static void parse(void)
{
    const char *text = getenv("LAPILLI_CRASH");
    if (text && sscanf(text, "%127[^:]:%lu:%15s", command, &at, how) != 3)
        fprintf(stderr, "LAPILLI_CRASH wants COMMAND:NUMBER:HOW\n");
}

static bool is_how(const char *name)
{
    return strcmp(how, name) == 0;
}

static volatile int zero;
static volatile int *volatile nowhere;

static __attribute__((noinline)) int deepen(volatile char *above)
{
    volatile char here[4096];
    here[0] = above[0];
    return above[0] == 1 ? 0 : deepen(here) + here[0]; /* it never is */
}

static void read_behind_a_file(void)
{
    int fd = memfd_create("crash", MFD_CLOEXEC);
    volatile char *memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    zero = *memory;
}

static void send(int number)
{
    syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
}

static void take_memory(void)
{
    void *memory = mmap(NULL, 1 << 24, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (memory == MAP_FAILED)
        _exit(8);
}

static void *read_nowhere(void *argument)
{
    zero = *nowhere;
    return NULL;
}

static void fail_elsewhere(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, read_nowhere, NULL) == 0)
        pthread_join(thread, NULL);
}

static void fail(void)
{
    volatile char first = 0;
    if (is_how("segv"))
        *nowhere = 1;
    else if (is_how("bus"))
        read_behind_a_file();
    else if (is_how("ill"))
        __builtin_trap();
    else if (is_how("fpe"))
        zero = 100 / zero;
    else if (is_how("trap"))
        send(SIGTRAP);
    else if (is_how("sys"))
        send(SIGSYS);
    else if (is_how("kill"))
        kill(getpid(), SIGKILL);
    else if (is_how("term"))
        send(SIGTERM);
    else if (is_how("leave"))
        _exit(7);
    else if (is_how("exec"))
        execl("/bin/true", "true", (char *)NULL);
    else if (is_how("abort"))
        abort();
    else if (is_how("thread"))
        fail_elsewhere();
    else if (is_how("overflow"))
        zero = deepen(&first);
    else if (is_how("slow"))
        sleep(1);
    while (is_how("memory"))
        take_memory();
    while (is_how("hang"))
        sleep(1);
}

__attribute__((used)) void crash_count(void);
__attribute__((used)) void crash_count(void)
{
    if (atomic_fetch_add(&calls, 1) + 1 == at)
        fail();
}

/* One for what vkGetInstanceProcAddr gives, and one for vkGetDeviceProcAddr: they may be different functions. */
__attribute__((used)) static PFN_vkVoidFunction next[2];
#define ENTRY(n)                                                                                                       \
    void crash_entry_##n(void);                                                                                        \
    __asm__(".text\n"                                                                                                  \
            ".type crash_entry_" #n ", @function\n"                                                                    \
            "crash_entry_" #n ":\n"                                                                                    \
            "push %rdi\n push %rsi\n push %rdx\n push %rcx\n push %r8\n push %r9\n push %rax\n"                        \
            "sub $64, %rsp\n"                                                                                          \
            "movups %xmm0, (%rsp)\n movups %xmm1, 16(%rsp)\n movups %xmm2, 32(%rsp)\n movups %xmm3, 48(%rsp)\n"        \
            "call crash_count\n"                                                                                       \
            "movups (%rsp), %xmm0\n movups 16(%rsp), %xmm1\n movups 32(%rsp), %xmm2\n movups 48(%rsp), %xmm3\n"        \
            "add $64, %rsp\n"                                                                                          \
            "pop %rax\n pop %r9\n pop %r8\n pop %rcx\n pop %rdx\n pop %rsi\n pop %rdi\n"                               \
            "jmp *8*" #n "+next(%rip)\n"                                                                               \
            ".size crash_entry_" #n ", . - crash_entry_" #n "\n")
ENTRY(0);
ENTRY(1);

static VKAPI_ATTR VkResult VKAPI_CALL refuse(void)
{
    return VK_ERROR_INITIALIZATION_FAILED;
}

static PFN_vkVoidFunction wrap(const char *name, PFN_vkVoidFunction function, bool of_device)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, parse);
    if (!function || strcmp(name, command) != 0)
        return function;
    if (is_how("refuse"))
        return (PFN_vkVoidFunction)refuse;
    next[of_device] = function;
    return of_device ? crash_entry_1 : crash_entry_0;
}
#else
static PFN_vkVoidFunction wrap(const char *name, PFN_vkVoidFunction function, bool of_device)
{
    return function;
}
#endif

static const struct chain_function *functions(size_t i)
{
    return NULL;
}

const struct chain_layer chain_layer = {
    .device_bytes = sizeof(struct chain_device), .functions = functions, .wrap = wrap};

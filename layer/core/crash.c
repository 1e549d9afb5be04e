/* SPDX-License-Identifier: MIT */
#include "layer/core/crash.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "layer/core/notes.h"

static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
#define SIGNALS (sizeof numbers / sizeof *numbers)

static struct sigaction before[SIGNALS]; /* the replaced handlers */

/* Arguments from the kernel lie right above the handler's frame. A program that itself calls the handler that signal()
 * returned may pass none. */
static bool is_given(const void *pointer, const void *frame)
{
    return (uintptr_t)pointer - (uintptr_t)frame < (uintptr_t)256 << 10;
}

/* Whether the instruction would raise the signal again. */
static bool comes_again(int number, const siginfo_t *info)
{
    return info->si_code > 0 && number != SIGTRAP && number != SIGSYS;
}

static void send_again(int number, siginfo_t *info)
{
    pid_t process = getpid(), thread = (pid_t)syscall(SYS_gettid);
    if (!info || syscall(SYS_rt_tgsigqueueinfo, process, thread, number, info) != 0)
        syscall(SYS_tgkill, process, thread, number);
}

/* Acts as if this handler were not installed. */
static void pass_on(struct sigaction *next, int number, siginfo_t *info, void *context, bool given)
{
    bool with_info = next->sa_flags & SA_SIGINFO;
    sigset_t mask;
    if (!with_info && next->sa_handler == SIG_IGN)
        return;
    if (!with_info && next->sa_handler == SIG_DFL) {
        struct sigaction standard = {.sa_handler = SIG_DFL};
        sigaction(number, &standard, NULL);
        if (!given || !comes_again(number, info))
            send_again(number, given ? info : NULL);
        return; /* to the instruction that faults, or to the signal that is pending */
    }
    struct sigaction action = *next;
    if (given)
        mask = ((const ucontext_t *)context)->uc_sigmask;
    else
        pthread_sigmask(SIG_SETMASK, NULL, &mask);
    for (int i = 1; i < NSIG; i++)
        if (sigismember(&action.sa_mask, i) == 1)
            sigaddset(&mask, i);
    if (!(action.sa_flags & SA_NODEFER))
        sigaddset(&mask, number);
    if (action.sa_flags & (int)SA_RESETHAND) {
        next->sa_handler = SIG_DFL;
        next->sa_flags &= ~SA_SIGINFO;
    }
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (with_info)
        action.sa_sigaction(number, info, context);
    else
        action.sa_handler(number);
}

static size_t find(int number)
{
    size_t which = 0;
    while (which + 1 < SIGNALS && numbers[which] != number)
        which++;
    return which;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    int error = errno;
    bool given = is_given(info, __builtin_frame_address(0)) && is_given(context, __builtin_frame_address(0));
    struct sigaction *next = &before[find(number)];
    if (number == SIGBUS && given && info->si_code == BUS_ADRERR && layer_notes_fault((uintptr_t)info->si_addr)) {
        errno = error;
        return;
    }
    layer_notes_signal(number, !(next->sa_flags & SA_SIGINFO) && next->sa_handler == SIG_DFL);
    errno = error;
    pass_on(next, number, info, context, given);
    errno = error;
}

static void install(size_t which)
{
    struct sigaction *replaced = &before[which];
    if (sigaction(numbers[which], NULL, replaced) != 0)
        return;
    bool has_function = replaced->sa_flags & SA_SIGINFO || replaced->sa_handler != SIG_DFL;
    if (!(replaced->sa_flags & SA_SIGINFO) && replaced->sa_handler == SIG_IGN)
        return;
    struct sigaction ours = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_NODEFER};
    ours.sa_flags |= has_function ? replaced->sa_flags & (SA_ONSTACK | SA_RESTART) : SA_ONSTACK;
    sigfillset(&ours.sa_mask);
    for (size_t i = 0; i < SIGNALS; i++)
        sigdelset(&ours.sa_mask, numbers[i]);   /* reading notes in a truncated file raises SIGBUS */
    sigaction(numbers[which], &ours, replaced); /* the program may have set another one meanwhile */
}

void layer_crash_install(void)
{
    static bool installed; /* a child of a fork has its parent's handlers */
    for (size_t i = 0; i < SIGNALS && !installed; i++)
        install(i);
    installed = true;
}

bool layer_crash_hears_bus(void)
{
    struct sigaction now;
    return sigaction(SIGBUS, NULL, &now) == 0 && now.sa_flags & SA_SIGINFO && now.sa_sigaction == on_signal;
}

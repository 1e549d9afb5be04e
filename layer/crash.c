/* SPDX-License-Identifier: MIT */
/*
 * crash: handlers of the signals with which crashes come, that write which calls are in flight and then do what would
 * have happened without them. They chain: the program's handler, or its crash reporter, gets siginfo, context and mask
 * that it would have got; where there is none the process dies of the same signal, at the same place.
 *
 * Only dispositions that are the default or a function are taken over: one that is ignored would not be after exec. A
 * program that sets its own handler later takes ours away; that is noticed at the next look (layer_crash_watch), and
 * ours go in front again. Each time it is another function with a predecessor of its own, since the program may keep
 * what it replaced, call it, and put it back: then all are as they were.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "layer/layer.h"

#define LEVELS 4u

static const int numbers[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGSYS};
#define SIGNALS (sizeof numbers / sizeof *numbers)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* for who installs; at a fork it may stay with somebody */
static struct sigaction before[LEVELS][SIGNALS];
static atomic_uint used[SIGNALS]; /* levels; what is before them was written first */

/* What the kernel gives is right above the handler's frame. Who calls a handler that is not his, as what signal() gave
 * him, may give nothing at all. */
static bool is_given(const void *pointer, const void *frame)
{
    return (uintptr_t)pointer - (uintptr_t)frame < (uintptr_t)256 << 10;
}

/* The signal would come again by itself: the instruction is still there. */
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

/* What would have happened without us. */
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

static void handle(unsigned level, int number, siginfo_t *info, void *context)
{
    int error = errno;
    bool given = is_given(info, __builtin_frame_address(0)) && is_given(context, __builtin_frame_address(0));
    size_t which = 0;
    if (number == SIGBUS && given && info->si_code == BUS_ADRERR && layer_notes_fault((uintptr_t)info->si_addr)) {
        errno = error;
        return;
    }
    layer_in_flight_fault();
    while (which + 1 < SIGNALS && numbers[which] != number)
        which++;
    (void)atomic_load_explicit(&used[which], memory_order_acquire); /* another thread may have installed this handler */
    struct sigaction *next = &before[level][which];
    layer_in_flight_signal(number, !(next->sa_flags & SA_SIGINFO) && next->sa_handler == SIG_DFL);
    errno = error;
    pass_on(next, number, info, context, given);
    errno = error;
}

#define LEVEL(n)                                                                                                       \
    static void on_signal_##n(int number, siginfo_t *info, void *context)                                              \
    {                                                                                                                  \
        handle(n, number, info, context);                                                                              \
    }
LEVEL(0)
LEVEL(1)
LEVEL(2)
LEVEL(3)

static void (*const handlers[LEVELS])(int, siginfo_t *, void *) = {on_signal_0, on_signal_1, on_signal_2, on_signal_3};

static bool is_ours(const struct sigaction *action)
{
    for (unsigned level = 0; level < LEVELS; level++)
        if (action->sa_flags & SA_SIGINFO && action->sa_sigaction == handlers[level])
            return true;
    return false;
}

/* The write watch has a handler of its own that asks ours next, and must stay the first. */
static bool is_watched(int number)
{
    return number == SIGSEGV && layer.options.write_watch == LAP_WATCH_MPROTECT;
}

static void install(size_t which)
{
    int number = numbers[which];
    unsigned level = atomic_load_explicit(&used[which], memory_order_relaxed);
    struct sigaction now, replaced;
    if (sigaction(number, NULL, &now) != 0 || is_ours(&now) || level == LEVELS || (level && is_watched(number)))
        return;
    bool standard = !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL;
    if (!(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_IGN)
        return;
    struct sigaction ours = {.sa_sigaction = handlers[level], .sa_flags = SA_SIGINFO | SA_NODEFER};
    ours.sa_flags |= standard ? SA_ONSTACK : now.sa_flags & (SA_ONSTACK | SA_RESTART);
    sigfillset(&ours.sa_mask);
    for (size_t i = 0; i < SIGNALS; i++)
        sigdelset(&ours.sa_mask, numbers[i]); /* reading what is not there may fault */
    before[level][which] = now;               /* before anybody needs it */
    atomic_store_explicit(&used[which], level + 1, memory_order_release);
    if (sigaction(number, &ours, &replaced) == 0 &&
        (replaced.sa_sigaction != now.sa_sigaction || replaced.sa_flags != now.sa_flags))
        before[level][which] = replaced; /* the program has set another one meanwhile */
}

void layer_crash_watch(void)
{
    if (pthread_mutex_trylock(&mutex) != 0)
        return;
    for (size_t i = 0; i < SIGNALS; i++)
        install(i);
    pthread_mutex_unlock(&mutex);
}

bool layer_crash_catch(bool on)
{
    static const int faults[] = {SIGSEGV, SIGBUS};
    struct sigaction now;
    sigset_t set;
    bool caught = true;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        sigaddset(&set, faults[i]);
        caught = caught && sigaction(faults[i], NULL, &now) == 0 && (is_ours(&now) || is_watched(faults[i]));
    }
    pthread_sigmask(on ? SIG_UNBLOCK : SIG_BLOCK, &set, NULL);
    return caught;
}

bool layer_crash_hears_bus(void)
{
    struct sigaction now;
    return sigaction(SIGBUS, NULL, &now) == 0 && is_ours(&now);
}

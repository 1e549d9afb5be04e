/* SPDX-License-Identifier: MIT */
/*
 * Read-only pages and a handler for SIGSEGV. The first store to a page faults; the handler makes the page writable and
 * notes it. A take() makes noted pages read-only again.
 *
 * Its limits: the kernel does not raise a signal for its own stores, so read(2) and similar calls fail with EFAULT on a
 * watched page, and user space can't prevent that for memory that others allocated. A program that installs a handler
 * later gets our faults. The next take() notices that, and from then on everything is compared; before that the program
 * has to survive the faults. Hence it is used only on request.
 *
 * The word of a page: WATCHED; WRITTEN when it is writable because of a store; LOCKED while a thread changes word and
 * protection together; and the number of its faults since it was last read-only, or was given back. Threads that
 * faulted before a page became writable find it writable, and try again. The count has a limit, so that the program
 * itself handles a page that it protected.
 *
 * Another thread may store to a page while the handler that made it writable has yet to note that. So a take() counts a
 * locked page as written. The store's thread has seen the new protection, and no lock or atomic tells of that: fences
 * order the word before the protection, and the protection before the word.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process/process.h"
#include "memtrack/watch_pages.h"
#include "memtrack/watch_region.h"

#define WATCHED     1u
#define WRITTEN     2u
#define LOCKED      4u
#define GIVEN_BACK  8u
#define FAULT       16u /* one */
#define FAULT_LIMIT (1u << 16)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct lap_watch_regions regions;
static unsigned users; /* trackers */
static bool installed; /* the handler was, once; it stays, because others may have chained to it */
static atomic_bool replaced;
static atomic_int owner; /* the process; locks mean nothing in a child of fork() */
static uint64_t page_bytes;
static struct sigaction before; /* the action for faults that are not ours */

static bool is_child(void)
{
    int process = atomic_load_explicit(&owner, memory_order_relaxed);
    return process != 0 && process != lap_process();
}

static enum lap_status refuse_child(void)
{
    return lap_fail(LAP_ERROR_UNSUPPORTED, "a child of fork() has no write watch");
}

/* ---- pages ---- */

static void *address(uint64_t page)
{
    return (void *)(uintptr_t)(page * page_bytes);
}

static unsigned lock(atomic_uint *word)
{
    unsigned seen = atomic_load_explicit(word, memory_order_relaxed);
    for (;;) {
        seen &= ~LOCKED;
        if (atomic_compare_exchange_weak_explicit(word, &seen, seen | LOCKED, memory_order_acquire,
                                                  memory_order_relaxed))
            return seen;
    }
}

static void unlock(atomic_uint *word, unsigned value)
{
    atomic_store_explicit(word, value, memory_order_release);
}

/* The words of watched pages are locked. */
static bool make_writable(uint64_t first, uint64_t count)
{
    atomic_thread_fence(memory_order_release); /* with the fence of next_written: whoever stores there sees the lock */
    return mprotect(address(first), count * page_bytes, PROT_READ | PROT_WRITE) == 0;
}

/* ---- the handler: only what is safe in a signal ---- */

/* The watched pages around one, at most `reach` on each side, are locked by ascending number, as everywhere. */
static bool make_writable_around(uint64_t page, uint64_t reach)
{
    uint64_t first = page, end = page + 1;
    bool done;
    for (uint64_t i = 0; i < reach && first > 0; i++, first--) {
        atomic_uint *word = lap_watch_page(first - 1);
        if (!word || !(atomic_load(word) & WATCHED))
            break;
    }
    for (uint64_t i = 0; i < reach; i++, end++) {
        atomic_uint *word = lap_watch_page(end);
        if (!word || !(atomic_load(word) & WATCHED))
            break;
    }
    for (uint64_t i = first; i < end; i++)
        lock(lap_watch_page(i));
    done = make_writable(first, end - first);
    for (uint64_t i = first; i < end; i++) {
        atomic_uint *word = lap_watch_page(i);
        unlock(word, (atomic_load_explicit(word, memory_order_relaxed) & ~LOCKED) | (done ? WRITTEN : 0));
    }
    return done;
}

/* The kernel limits the number of mappings, and a writable page between read-only ones takes two more. At the limit its
 * neighbours become writable with it, until that works. */
static bool make_writable_widely(uint64_t page)
{
    for (uint64_t reach = 1; reach < UINT64_C(1) << 24; reach *= 4)
        if (make_writable_around(page, reach))
            return true;
    return false;
}

static bool is_ours(uint64_t page)
{
    atomic_uint *word = lap_watch_page(page);
    unsigned value;
    bool failed = false;
    if (!word || !(atomic_load_explicit(word, memory_order_acquire) & (WATCHED | GIVEN_BACK)))
        return false;
    if (is_child())
        return make_writable(page, 1);
    value = lock(word);
    if (value / FAULT >= FAULT_LIMIT) {
        unlock(word, value);
        return false;
    }
    if ((value & (WATCHED | WRITTEN)) == WATCHED) {
        failed = !make_writable(page, 1);
        value |= failed ? 0 : WRITTEN;
    }
    unlock(word, value + FAULT);
    return !failed || make_writable_widely(page);
}

/* Does what the signal would do without us. */
static void pass_on(int number, siginfo_t *info, void *context)
{
    const ucontext_t *interrupted = context;
    sigset_t mask = interrupted->uc_sigmask;
    if (!(before.sa_flags & SA_SIGINFO) && (before.sa_handler == SIG_DFL || before.sa_handler == SIG_IGN)) {
        struct sigaction standard = {.sa_handler = SIG_DFL};
        if (info->si_code <= 0 && before.sa_handler == SIG_IGN)
            return; /* another process or thread sent it */
        sigaction(number, &standard, NULL);
        if (info->si_code <= 0) /* nothing would fault again */
            syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
        return; /* to the instruction that faults, or to the signal that is pending */
    }
    for (int i = 1; i < NSIG; i++)
        if (sigismember(&before.sa_mask, i) == 1)
            sigaddset(&mask, i);
    if (!(before.sa_flags & SA_NODEFER))
        sigaddset(&mask, number);
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (before.sa_flags & SA_SIGINFO)
        before.sa_sigaction(number, info, context);
    else
        before.sa_handler(number);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    int error = errno;
    /* Only stores to read-only pages are; that is SEGV_ACCERR. */
    if (info->si_code != SEGV_ACCERR || !is_ours((uintptr_t)info->si_addr / page_bytes))
        pass_on(number, info, context);
    errno = error;
}

static bool handler_is_ours(void)
{
    struct sigaction now;
    return sigaction(SIGSEGV, NULL, &now) == 0 && (now.sa_flags & SA_SIGINFO) && now.sa_sigaction == on_fault;
}

/* ---- watching ---- */

/* Other signals' handlers must not run on a thread that holds the lock of a page: they may store to it. */
static void block_signals(sigset_t *old)
{
    sigset_t all;
    sigfillset(&all);
    sigdelset(&all, SIGSEGV); /* our own stores may share a page with a watched range on the heap */
    pthread_sigmask(SIG_BLOCK, &all, old);
}

static void give_back(uint64_t begin, uint64_t end)
{
    uint64_t first = begin / page_bytes, stop = end / page_bytes;
    for (uint64_t page = first; page < stop; page++)
        lock(lap_watch_page(page));
    make_writable(first, stop - first); /* fails where the driver has unmapped already */
    for (uint64_t page = first; page < stop; page++)
        unlock(lap_watch_page(page), GIVEN_BACK);
}

/* Makes [first, stop) read-only. On failure these pages count as written until the next request. */
static bool rearm(uint64_t first, uint64_t stop)
{
    unsigned value = WATCHED;
    for (uint64_t page = first; page < stop; page++)
        lock(lap_watch_page(page));
    if (mprotect(address(first), (stop - first) * page_bytes, PROT_READ) != 0) {
        int error = errno;
        make_writable(first, stop - first);
        value |= WRITTEN;
        errno = error;
    }
    for (uint64_t page = first; page < stop; page++)
        unlock(lap_watch_page(page), value);
    return value == WATCHED;
}

static bool watch_pages(uint64_t begin, uint64_t end)
{
    int error;
    if (!lap_watch_pages_make(begin / page_bytes, end / page_bytes)) {
        errno = ENOMEM;
        return false;
    }
    if (rearm(begin / page_bytes, end / page_bytes))
        return true;
    error = errno;
    give_back(begin, end);
    errno = error;
    return false;
}

/* The first run of pages in [*page, stop) that were written, or are just becoming writable: *page becomes its end.
 * False: there is none. */
static bool next_written(uint64_t *page, uint64_t stop, uint64_t *out_first)
{
    bool inside = false;
    atomic_thread_fence(memory_order_acquire);
    while (*page < stop) {
        uint64_t count;
        const atomic_uint *words = lap_watch_page_run(*page, &count);
        for (uint64_t i = 0; i < count && *page < stop; i++, ++*page) {
            bool written = atomic_load_explicit(&words[i], memory_order_acquire) & (WRITTEN | LOCKED);
            if (written && !inside)
                *out_first = *page;
            if (!written && inside)
                return true;
            inside = written;
        }
    }
    return inside;
}

static void disown(const struct lap_watch_region *region, uint64_t stop)
{
    uint64_t at = lap_watch_page_floor(region->node.begin, page_bytes), begin, end;
    while (lap_watch_region_own_pages(&regions, &at, stop, &begin, &end))
        give_back(begin, end);
}

/* ---- the operations ---- */

static void release_copy(uint64_t page, atomic_uint *word)
{
    if (atomic_load_explicit(word, memory_order_relaxed) & WATCHED)
        make_writable(page, 1);
    atomic_store_explicit(word, GIVEN_BACK, memory_order_relaxed);
}

/* Runs for the first tracker that a child of fork() makes: its parent's watches do not exist here. */
static void leave_parent(void)
{
    pthread_mutex_init(&mutex, NULL);
    lap_watch_pages_each(release_copy);
    regions.tree = NULL;
    users = 0;
    atomic_store(&owner, 0);
}

static enum lap_status mprotect_begin(void)
{
    struct sigaction ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
    enum lap_status status = LAP_OK;
    if (is_child())
        leave_parent();
    pthread_mutex_lock(&mutex);
    if (!page_bytes) /* the handler reads it without the mutex */
        page_bytes = lap_watch_page_bytes();
    sigfillset(&ours.sa_mask); /* no other handler runs while a page is locked */
    sigdelset(&ours.sa_mask, SIGSEGV);
    if (installed && !handler_is_ours())
        status = lap_fail(LAP_ERROR_UNSUPPORTED, "the program has replaced the handler of SIGSEGV");
    else if (!installed && (sigaction(SIGSEGV, NULL, &before) != 0 || sigaction(SIGSEGV, &ours, NULL) != 0))
        status = lap_fail(LAP_ERROR_UNSUPPORTED, "sigaction: %s", strerror(errno));
    if (status == LAP_OK) {
        installed = true;
        if (users++ == 0) {
            atomic_store(&owner, lap_process());
            atomic_store(&replaced, false);
        }
    }
    pthread_mutex_unlock(&mutex);
    return status;
}

static void mprotect_end(void)
{
    pthread_mutex_lock(&mutex);
    if (--users == 0) {
        atomic_store(&owner, 0);
        if (handler_is_ours()) {
            sigaction(SIGSEGV, &before, NULL);
            installed = false;
        }
    }
    pthread_mutex_unlock(&mutex);
}

static void release_node(void *context, struct lap_tree_node *node)
{
    give_back(lap_watch_page_floor(node->begin, page_bytes), lap_watch_page_ceil(node->end, page_bytes));
}

/* The program's handler would get our faults: pages become writable, and the mappings are compared from now on. */
static bool was_replaced(void)
{
    if (!atomic_load(&replaced) && !handler_is_ours()) {
        atomic_store(&replaced, true);
        lap_tree_visit(regions.tree, 0, UINT64_MAX, release_node, NULL);
    }
    return atomic_load(&replaced);
}

static enum lap_status refuse_replaced(void)
{
    return lap_fail(LAP_ERROR_UNSUPPORTED, "the program has replaced the handler of SIGSEGV");
}

static enum lap_status mprotect_arm(void *context, void *begin, size_t bytes, void **out_region)
{
    struct lap_watch_region *region;
    enum lap_status status = LAP_OK;
    uint64_t at, end, from, to;
    sigset_t old;
    if (is_child())
        return refuse_child();
    region = lap_watch_region_create(begin, bytes);
    if (!region)
        return LAP_ERROR_MEMORY;
    pthread_mutex_lock(&mutex);
    block_signals(&old);
    if (was_replaced())
        status = refuse_replaced();
    at = lap_watch_page_floor(region->node.begin, page_bytes);
    end = lap_watch_page_ceil(region->node.end, page_bytes);
    while (status == LAP_OK && lap_watch_region_own_pages(&regions, &at, end, &from, &to))
        if (!watch_pages(from, to)) {
            status = lap_fail(LAP_ERROR_UNSUPPORTED, "this memory can't be protected: %s", strerror(errno));
            disown(region, from);
        }
    if (status == LAP_OK) {
        lap_watch_region_insert(&regions, region);
        *out_region = region;
    } else {
        lap_watch_region_destroy(region);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_mutex_unlock(&mutex);
    return status;
}

static enum lap_status mprotect_take(void *armed, const void *begin, size_t bytes, lap_watch_report_fn report,
                                     void *report_context)
{
    struct lap_watch_region *region = armed;
    uint64_t first = (uintptr_t)begin, end = first + bytes, stop, page;
    enum lap_status status = LAP_OK;
    sigset_t old;
    if (lap_watch_region_inherited(region))
        return refuse_child();
    pthread_mutex_lock(&mutex);
    block_signals(&old);
    if (was_replaced()) {
        status = refuse_replaced();
        goto out;
    }
    lap_watch_region_left(region, first, end, report, report_context);
    region->asked = report_context;
    stop = lap_watch_page_ceil(end, page_bytes) / page_bytes;
    page = first / page_bytes;
    while (next_written(&page, stop, &first)) {
        rearm(first, page);
        lap_watch_region_found(&regions, first * page_bytes, page * page_bytes, report);
    }
    region->asked = NULL;
out:
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_mutex_unlock(&mutex);
    return status;
}

static void mprotect_disarm(void *armed)
{
    struct lap_watch_region *region = armed;
    sigset_t old;
    if (lap_watch_region_inherited(region))
        return;
    pthread_mutex_lock(&mutex);
    block_signals(&old);
    lap_watch_region_remove(&regions, region);
    if (!atomic_load(&replaced))
        disown(region, lap_watch_page_ceil(region->node.end, page_bytes));
    lap_watch_region_destroy(region);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_mutex_unlock(&mutex);
}

const struct lap_watch_ops lap_watch_mprotect = {.name = "mprotect",
                                                 .exact = true,
                                                 .arm = mprotect_arm,
                                                 .take = mprotect_take,
                                                 .disarm = mprotect_disarm,
                                                 .begin = mprotect_begin,
                                                 .end = mprotect_end};

/* SPDX-License-Identifier: MIT */
#include "tests/model/model.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST_THREADS   4u
#define MOST_LOCATIONS 1024u /* atomic objects in one execution */
#define MOST_LOCKS     64u
#define MOST_BLOCKS    64u /* of the heap */
#define MOST_SITES     512u
#define MOST_STEPS     200000u
#define SHADOW_BYTES   (1u << 16) /* a power of two */

/* What a thread knows: of each thread how far, of each atomic object the oldest store that it may still read. */
struct view {
    unsigned clock[MOST_THREADS];
    unsigned short seen[MOST_LOCATIONS];
};

struct message {
    uint64_t value;
    struct view *view; /* that an acquire of it gets; NULL: nothing */
};

struct location {
    uintptr_t address;
    unsigned first, count, capacity; /* messages that may be read: from the first on */
    unsigned strict;                 /* the newest seq_cst store, or the first */
    bool written;                    /* by a plain store since */
    struct message *messages;
};

struct lock {
    uintptr_t address;
    unsigned readers;
    int writer; /* 0: none; else a thread's number + 1 */
    struct view view;
};

struct block {
    uintptr_t begin, end;
    bool freed;
};

/* Of one byte: when each thread accessed it last, by its clock. */
struct shadow {
    uint64_t execution; /* the rest is of that */
    uintptr_t address;
    unsigned plain_reads[MOST_THREADS], plain_writes[MOST_THREADS];
    unsigned reads[MOST_THREADS], writes[MOST_THREADS]; /* atomic ones */
};

static struct thread {
    pthread_t thread;
    sem_t turn;
    bool over;
    uintptr_t waits_for; /* a lock or a condition; 0: it can go on */
    struct view now, acquired, released;
} threads[MOST_THREADS];

static struct location locations[MOST_LOCATIONS];
static struct lock locks[MOST_LOCKS];
static struct block blocks[MOST_BLOCKS];
static struct shadow shadows[SHADOW_BYTES];
static unsigned location_count, lock_count, block_count, shadow_count, steps, switching;
static struct view strict; /* of seq_cst fences */
static uint64_t seed, state;
static sem_t all_over;
static bool active;
static __thread int self = -1;

static uint8_t *arena; /* of views, for one execution */
static size_t arena_used;
#define ARENA_BYTES ((size_t)256 << 20)

struct site {
    uintptr_t address;
    int order;
};
static struct site sites[MOST_SITES];
static unsigned site_count;
static uintptr_t weakened;

/* ---- chance ---- */

unsigned model_choose(unsigned count)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (unsigned)((state >> 16) % count);
}

void model_fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("execution %llu, thread %d: ", (unsigned long long)seed, self);
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    fflush(stdout);
    _Exit(1);
}

/* ---- one thread at a time ---- */

static void wait_for_turn(void)
{
    while (sem_wait(&threads[self].turn) != 0)
        ;
}

/* A thread that can go on, by chance; -1: none. */
static int next_thread(bool but_self)
{
    int able[MOST_THREADS];
    unsigned count = 0;
    for (unsigned i = 0; i < model.threads; i++)
        if (!threads[i].over && !threads[i].waits_for && !(but_self && (int)i == self))
            able[count++] = (int)i;
    return count ? able[model_choose(count)] : -1;
}

static void give_turn(int to)
{
    if (to == self)
        return;
    sem_post(&threads[to].turn);
    wait_for_turn();
}

/* Another thread may go on here. */
static void step(void)
{
    if (++steps > MOST_STEPS)
        model_fail("no end");
    if (model_choose(switching) == 0)
        give_turn(next_thread(false));
}

static void block_on(uintptr_t what)
{
    threads[self].waits_for = what;
    int to = next_thread(true);
    if (to < 0)
        model_fail("all threads wait");
    give_turn(to);
}

/* most: so many of those that wait, by chance. */
static void wake(uintptr_t what, unsigned most)
{
    unsigned from = model_choose(model.threads);
    for (unsigned i = 0; i < model.threads && most; i++) {
        struct thread *thread = &threads[(from + i) % model.threads];
        if (thread->waits_for == what) {
            thread->waits_for = 0;
            most--;
        }
    }
}

int model_yield(void)
{
    int to = active && self >= 0 ? next_thread(true) : -1;
    if (active && ++steps > MOST_STEPS)
        model_fail("no end");
    if (to >= 0)
        give_turn(to);
    return 0;
}

/* ---- views ---- */

static void join(struct view *view, const struct view *other)
{
    if (!other)
        return;
    for (unsigned i = 0; i < MOST_THREADS; i++)
        if (view->clock[i] < other->clock[i])
            view->clock[i] = other->clock[i];
    for (unsigned i = 0; i < location_count; i++)
        if (view->seen[i] < other->seen[i])
            view->seen[i] = other->seen[i];
}

static struct view *copy(const struct view *view)
{
    struct view *made = (struct view *)(void *)(arena + arena_used);
    size_t bytes = offsetof(struct view, seen) + MOST_LOCATIONS * sizeof view->seen[0];
    arena_used += bytes;
    if (arena_used > ARENA_BYTES)
        model_fail("too many stores");
    memcpy(made, view, bytes);
    return made;
}

static bool acquires(int order)
{
    return order == __ATOMIC_ACQUIRE || order == __ATOMIC_CONSUME || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

static bool releases(int order)
{
    return order == __ATOMIC_RELEASE || order == __ATOMIC_ACQ_REL || order == __ATOMIC_SEQ_CST;
}

/* ---- plain accesses ---- */

static struct shadow *shadow_of(uintptr_t address)
{
    size_t at = (size_t)(address * UINT64_C(0x9e3779b97f4a7c15) >> 40) & (SHADOW_BYTES - 1);
    while (shadows[at].execution == seed && shadows[at].address != address)
        at = (at + 1) & (SHADOW_BYTES - 1);
    if (shadows[at].execution != seed) {
        if (++shadow_count > SHADOW_BYTES / 2)
            model_fail("too many bytes");
        shadows[at] = (struct shadow){.execution = seed, .address = address};
    }
    return &shadows[at];
}

/* Whether another thread's access is not known to this one. */
static bool is_unknown(const unsigned clocks[MOST_THREADS])
{
    for (unsigned i = 0; i < model.threads; i++)
        if ((int)i != self && clocks[i] > threads[self].now.clock[i])
            return true;
    return false;
}

static bool is_on_stack(uintptr_t address)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    return address - here < ((size_t)1 << 20);
}

static void touch(uintptr_t address, size_t bytes, bool writes, bool plain)
{
    for (unsigned i = 0; i < block_count; i++)
        if (blocks[i].freed && address < blocks[i].end && address + bytes > blocks[i].begin)
            model_fail("memory is used that was freed");
    for (size_t i = 0; i < bytes; i++) {
        struct shadow *byte = shadow_of(address + i);
        bool races = is_unknown(byte->plain_writes) || (plain && is_unknown(byte->writes)) ||
                     (writes && is_unknown(byte->plain_reads)) || (writes && plain && is_unknown(byte->reads));
        unsigned *clock = writes ? plain ? byte->plain_writes : byte->writes : plain ? byte->plain_reads : byte->reads;
        if (races)
            model_fail("a %s %s at %p races with another thread's access", plain ? "plain" : "atomic", writes ? "store" : "load",
                       (void *)(address + i));
        clock[self] = threads[self].now.clock[self];
    }
}

static void plain(const volatile void *at, size_t bytes, bool writes)
{
    uintptr_t address = (uintptr_t)at;
    if (!active || self < 0 || is_on_stack(address))
        return;
    touch(address, bytes, writes, true);
    for (unsigned i = 0; writes && i < location_count; i++)
        if (locations[i].address - address < bytes)
            locations[i].written = true;
}

/* ---- atomic objects ---- */

static void add_message(struct location *location, uint64_t value, struct view *view)
{
    if (location->count == location->capacity) {
        location->capacity = location->capacity ? 2 * location->capacity : 16;
        location->messages = realloc(location->messages, location->capacity * sizeof *location->messages);
    }
    location->messages[location->count++] = (struct message){value, view};
}

static uint64_t native(uintptr_t address, unsigned bytes)
{
    uint64_t value = 0;
    memcpy(&value, (const void *)address, bytes);
    return value;
}

static unsigned location_of(uintptr_t address, unsigned bytes)
{
    unsigned i = 0;
    while (i < location_count && locations[i].address != address)
        i++;
    struct location *location = &locations[i];
    if (i == location_count) {
        if (++location_count > MOST_LOCATIONS)
            model_fail("too many atomic objects");
        location->address = address;
        location->count = 0;
        location->written = true;
    }
    if (location->written) {
        location->first = location->strict = location->count;
        location->written = false;
        add_message(location, native(address, bytes), NULL);
    }
    return i;
}

static void read_message(unsigned number, unsigned which, int order)
{
    struct thread *thread = &threads[self];
    const struct view *view = locations[number].messages[which].view;
    if (thread->now.seen[number] < which)
        thread->now.seen[number] = (unsigned short)which;
    join(acquires(order) ? &thread->now : &thread->acquired, view);
}

static void write_message(unsigned number, uint64_t value, int order, const struct view *before)
{
    struct thread *thread = &threads[self];
    struct location *location = &locations[number];
    thread->now.seen[number] = (unsigned short)location->count;
    struct view *view = copy(releases(order) ? &thread->now : &thread->released);
    view->seen[number] = (unsigned short)location->count;
    join(view, before);
    if (order == __ATOMIC_SEQ_CST)
        location->strict = location->count;
    add_message(location, value, view);
    if (releases(order))
        thread->now.clock[self]++;
}

/* Any store that the thread may still read; the newest one more often. */
static unsigned choose_message(unsigned number, int order)
{
    const struct location *location = &locations[number];
    unsigned oldest = threads[self].now.seen[number];
    oldest = oldest < location->first ? location->first : oldest;
    if (order == __ATOMIC_SEQ_CST && oldest < location->strict)
        oldest = location->strict;
    return model_choose(2) ? location->count - 1 : oldest + model_choose(location->count - oldest);
}

/* The order of an operation in the sources; 0: relaxed. */
static int order_at(const void *return_address, int order)
{
    uintptr_t address = (uintptr_t)return_address - 1;
    unsigned i = 0;
    if (order == __ATOMIC_RELAXED)
        return order;
    while (i < site_count && sites[i].address != address)
        i++;
    if (i == site_count && i < MOST_SITES)
        sites[site_count++] = (struct site){address, order};
    return address == weakened ? __ATOMIC_RELAXED : order;
}

static uint64_t atomic_load_of(const volatile void *at, unsigned bytes, int order)
{
    uintptr_t address = (uintptr_t)at;
    if (!active || self < 0)
        return native(address, bytes);
    step();
    touch(address, bytes, false, false);
    unsigned number = location_of(address, bytes), which = choose_message(number, order);
    read_message(number, which, order);
    return locations[number].messages[which].value;
}

static void put_native(volatile void *at, unsigned bytes, uint64_t value)
{
    memcpy((void *)(uintptr_t)at, &value, bytes);
}

static void atomic_store_of(volatile void *at, unsigned bytes, uint64_t value, int order)
{
    uintptr_t address = (uintptr_t)at;
    if (active && self >= 0) {
        step();
        touch(address, bytes, true, false);
        write_message(location_of(address, bytes), value, order, NULL);
    }
    put_native(at, bytes, value);
}

enum operation { EXCHANGE, ADD, SUB, AND, OR };

static uint64_t result_of(enum operation operation, uint64_t old, uint64_t operand)
{
    switch (operation) {
    case ADD:
        return old + operand;
    case SUB:
        return old - operand;
    case AND:
        return old & operand;
    case OR:
        return old | operand;
    case EXCHANGE:
        break;
    }
    return operand;
}

static uint64_t atomic_change(volatile void *at, unsigned bytes, enum operation operation, uint64_t operand, int order)
{
    uintptr_t address = (uintptr_t)at;
    uint64_t old;
    if (active && self >= 0) {
        step();
        touch(address, bytes, true, false);
        unsigned number = location_of(address, bytes), which = locations[number].count - 1;
        old = locations[number].messages[which].value;
        read_message(number, which, order);
        write_message(number, result_of(operation, old, operand), order, locations[number].messages[which].view);
    } else {
        old = native(address, bytes);
    }
    put_native(at, bytes, result_of(operation, old, operand));
    return old;
}

static bool atomic_replace(volatile void *at, unsigned bytes, void *expected, uint64_t value, int order, int otherwise,
                           bool weak)
{
    uintptr_t address = (uintptr_t)at;
    uint64_t wanted = native((uintptr_t)expected, bytes), found = native(address, bytes);
    bool good = found == wanted;
    if (active && self >= 0) {
        step();
        unsigned number = location_of(address, bytes), which = choose_message(number, otherwise);
        if (locations[number].messages[which].value == wanted)
            which = locations[number].count - 1;
        found = locations[number].messages[which].value;
        good = found == wanted && !(weak && model_choose(8) == 0);
        touch(address, bytes, good, false);
        read_message(number, which, good ? order : otherwise);
        if (good)
            write_message(number, value, order, locations[number].messages[which].view);
    }
    if (good)
        put_native(at, bytes, value);
    else
        memcpy(expected, &found, bytes);
    return good;
}

void model_see_everywhere(const volatile void *object)
{
    unsigned i = 0;
    while (i < location_count && locations[i].address != (uintptr_t)object)
        i++;
    for (unsigned t = 0; t < model.threads && i < location_count; t++)
        threads[t].now.seen[i] = (unsigned short)(locations[i].count - 1);
}

static void fence(int order)
{
    struct thread *thread = &threads[self];
    step();
    if (acquires(order))
        join(&thread->now, &thread->acquired);
    if (order == __ATOMIC_SEQ_CST) {
        join(&thread->now, &strict);
        join(&strict, &thread->now);
    }
    if (releases(order)) {
        thread->released = thread->now;
        thread->now.clock[self]++;
    }
}

/* ---- what the compiler calls ---- */

#define PLAIN(bytes)                                                                                                   \
    void __tsan_read##bytes(void *at);                                                                                 \
    void __tsan_write##bytes(void *at);                                                                                \
    void __tsan_unaligned_read##bytes(void *at);                                                                       \
    void __tsan_unaligned_write##bytes(void *at);                                                                      \
    void __tsan_read##bytes(void *at)                                                                                  \
    {                                                                                                                  \
        plain(at, bytes, false);                                                                                       \
    }                                                                                                                  \
    void __tsan_write##bytes(void *at)                                                                                 \
    {                                                                                                                  \
        plain(at, bytes, true);                                                                                        \
    }                                                                                                                  \
    void __tsan_unaligned_read##bytes(void *at)                                                                        \
    {                                                                                                                  \
        plain(at, bytes, false);                                                                                       \
    }                                                                                                                  \
    void __tsan_unaligned_write##bytes(void *at)                                                                       \
    {                                                                                                                  \
        plain(at, bytes, true);                                                                                        \
    }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

#define CHANGE(bits, name, operation)                                                                                  \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *at, uint##bits##_t operand, int order);       \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *at, uint##bits##_t operand, int order)        \
    {                                                                                                                  \
        order = order_at(__builtin_return_address(0), order);                                                          \
        return (uint##bits##_t)atomic_change(at, bits / 8, operation, operand, order);                                 \
    }
#define REPLACE(bits, name, weak)                                                                                      \
    bool __tsan_atomic##bits##_compare_exchange_##name(volatile uint##bits##_t *at, uint##bits##_t *expected,          \
                                                       uint##bits##_t value, int order, int otherwise);                \
    bool __tsan_atomic##bits##_compare_exchange_##name(volatile uint##bits##_t *at, uint##bits##_t *expected,          \
                                                       uint##bits##_t value, int order, int otherwise)                 \
    {                                                                                                                  \
        if (order_at(__builtin_return_address(0), order) != order)                                                     \
            order = otherwise = __ATOMIC_RELAXED;                                                                      \
        return atomic_replace(at, bits / 8, expected, value, order, otherwise, weak);                                  \
    }
#define ATOMIC(bits)                                                                                                   \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *at, int order);                           \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *at, uint##bits##_t value, int order);                    \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *at, int order)                            \
    {                                                                                                                  \
        order = order_at(__builtin_return_address(0), order);                                                          \
        return (uint##bits##_t)atomic_load_of(at, bits / 8, order);                                                    \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *at, uint##bits##_t value, int order)                     \
    {                                                                                                                  \
        order = order_at(__builtin_return_address(0), order);                                                          \
        atomic_store_of(at, bits / 8, value, order);                                                                   \
    }                                                                                                                  \
    CHANGE(bits, exchange, EXCHANGE)                                                                                   \
    CHANGE(bits, fetch_add, ADD)                                                                                       \
    CHANGE(bits, fetch_sub, SUB)                                                                                       \
    CHANGE(bits, fetch_and, AND)                                                                                       \
    CHANGE(bits, fetch_or, OR)                                                                                         \
    REPLACE(bits, strong, false)                                                                                       \
    REPLACE(bits, weak, true)
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

void __tsan_init(void);
void __tsan_func_entry(void *caller);
void __tsan_func_exit(void);
void __tsan_read_range(void *at, size_t bytes);
void __tsan_write_range(void *at, size_t bytes);
void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_signal_fence(int order);

void __tsan_init(void) {}
void __tsan_func_entry(void *caller) {}
void __tsan_func_exit(void) {}
void __tsan_atomic_signal_fence(int order) {}

void __tsan_read_range(void *at, size_t bytes)
{
    plain(at, bytes, false);
}

void __tsan_write_range(void *at, size_t bytes)
{
    plain(at, bytes, true);
}

void __tsan_atomic_thread_fence(int order)
{
    order = order_at(__builtin_return_address(0), order);
    if (active && self >= 0 && order != __ATOMIC_RELAXED)
        fence(order);
}

/* ---- what rename.h names ---- */

static struct lock *lock_of(const void *at)
{
    for (unsigned i = 0; i < lock_count; i++)
        if (locks[i].address == (uintptr_t)at)
            return &locks[i];
    if (lock_count == MOST_LOCKS)
        model_fail("too many locks");
    memset(&locks[lock_count], 0, sizeof locks[lock_count]);
    locks[lock_count].address = (uintptr_t)at;
    return &locks[lock_count++];
}

static void take(struct lock *lock, bool alone)
{
    step();
    while (lock->writer || (alone && lock->readers))
        block_on(lock->address);
    if (alone)
        lock->writer = self + 1;
    else
        lock->readers++;
    join(&threads[self].now, &lock->view);
}

/* site: of the call, which can be weakened, too: then the lock only excludes. */
static int give(void *at, const void *site)
{
    if (!active || self < 0)
        return 0;
    struct lock *lock = lock_of(at);
    step();
    if (lock->writer == self + 1)
        lock->writer = 0;
    else if (lock->readers)
        lock->readers--;
    else
        model_fail("a lock is given back that is not held");
    if (order_at(site, __ATOMIC_RELEASE) == __ATOMIC_RELEASE)
        join(&lock->view, &threads[self].now);
    threads[self].now.clock[self]++;
    wake(lock->address, MOST_THREADS);
    return 0;
}

int model_mutex_lock(pthread_mutex_t *mutex);
int model_mutex_trylock(pthread_mutex_t *mutex);
int model_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *limit);
int model_mutex_unlock(pthread_mutex_t *mutex);
int model_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex);
int model_cond_signal(pthread_cond_t *condition);
int model_cond_broadcast(pthread_cond_t *condition);
int model_rwlock_rdlock(pthread_rwlock_t *lock);
int model_rwlock_wrlock(pthread_rwlock_t *lock);
int model_rwlock_unlock(pthread_rwlock_t *lock);
void *model_malloc(size_t bytes);
void *model_calloc(size_t count, size_t bytes);
void model_free(void *memory);
void *model_memcpy(void *to, const void *from, size_t bytes);
void *model_memset(void *to, int byte, size_t bytes);
int model_memcmp(const void *a, const void *b, size_t bytes);

int model_mutex_lock(pthread_mutex_t *mutex)
{
    if (active && self >= 0)
        take(lock_of(mutex), true);
    return 0;
}

int model_mutex_trylock(pthread_mutex_t *mutex)
{
    if (!active || self < 0)
        return 0;
    step();
    if (lock_of(mutex)->writer)
        return EBUSY;
    return model_mutex_lock(mutex);
}

int model_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *limit)
{
    return model_mutex_lock(mutex);
}

int model_mutex_unlock(pthread_mutex_t *mutex)
{
    return give(mutex, __builtin_return_address(0));
}

int model_cond_wait(pthread_cond_t *condition, pthread_mutex_t *mutex)
{
    give(mutex, __builtin_return_address(0));
    block_on((uintptr_t)condition);
    take(lock_of(mutex), true);
    return 0;
}

int model_cond_signal(pthread_cond_t *condition)
{
    wake((uintptr_t)condition, 1);
    return 0;
}

int model_cond_broadcast(pthread_cond_t *condition)
{
    wake((uintptr_t)condition, MOST_THREADS);
    return 0;
}

int model_rwlock_rdlock(pthread_rwlock_t *lock)
{
    if (active && self >= 0)
        take(lock_of(lock), false);
    return 0;
}

int model_rwlock_wrlock(pthread_rwlock_t *lock)
{
    if (active && self >= 0)
        take(lock_of(lock), true);
    return 0;
}

int model_rwlock_unlock(pthread_rwlock_t *lock)
{
    return give(lock, __builtin_return_address(0));
}

void *model_malloc(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory && active && self >= 0) {
        if (block_count == MOST_BLOCKS)
            model_fail("too many blocks");
        blocks[block_count++] = (struct block){(uintptr_t)memory, (uintptr_t)memory + bytes, false};
    }
    return memory;
}

void *model_calloc(size_t count, size_t bytes)
{
    void *memory = model_malloc(count * bytes);
    return memory ? model_memset(memory, 0, count * bytes) : NULL;
}

/* Freed when the execution ends. */
void model_free(void *memory)
{
    if (!active || self < 0) {
        free(memory);
        return;
    }
    for (unsigned i = 0; memory && i < block_count; i++)
        if (blocks[i].begin == (uintptr_t)memory) {
            plain(memory, blocks[i].end - blocks[i].begin, true);
            blocks[i].freed = true;
        }
}

void *model_memcpy(void *to, const void *from, size_t bytes)
{
    plain(from, bytes, false);
    plain(to, bytes, true);
    return memcpy(to, from, bytes);
}

void *model_memset(void *to, int byte, size_t bytes)
{
    plain(to, bytes, true);
    return memset(to, byte, bytes);
}

int model_memcmp(const void *a, const void *b, size_t bytes)
{
    plain(a, bytes, false);
    plain(b, bytes, false);
    return memcmp(a, b, bytes);
}

/* ---- executions ---- */

static void *run_thread(void *argument)
{
    self = (int)(intptr_t)argument;
    for (;;) {
        wait_for_turn();
        model.run((unsigned)self);
        threads[self].over = true;
        int to = next_thread(true);
        bool all = true;
        for (unsigned i = 0; i < model.threads; i++)
            all = all && threads[i].over;
        if (to >= 0)
            sem_post(&threads[to].turn);
        else if (all)
            sem_post(&all_over);
        else
            model_fail("all threads wait");
    }
    return NULL;
}

static void execute(void)
{
    static const unsigned rates[] = {2, 4, 16};
    state = seed * UINT64_C(0x9e3779b97f4a7c15) | 1;
    for (unsigned i = 0; i < 8; i++)
        (void)model_choose(2);
    switching = rates[model_choose(3)];
    model.begin();
    for (unsigned i = 0; i < model.threads; i++) {
        threads[i].over = false;
        threads[i].waits_for = 0;
        memset(&threads[i].now, 0, sizeof threads[i].now);
        memset(&threads[i].acquired, 0, sizeof threads[i].acquired);
        memset(&threads[i].released, 0, sizeof threads[i].released);
        threads[i].now.clock[i] = 1;
    }
    memset(&strict, 0, sizeof strict);
    location_count = lock_count = block_count = shadow_count = steps = 0;
    arena_used = 0;
    active = true;
    sem_post(&threads[model_choose(model.threads)].turn);
    while (sem_wait(&all_over) != 0)
        ;
    active = false;
    model.end();
    for (unsigned i = 0; i < block_count; i++)
        if (blocks[i].freed)
            free((void *)blocks[i].begin);
}

int main(int count, char **arguments)
{
    unsigned long executions = 10000;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((unsigned)sched_getcpu(), &one);
    (void)sched_setaffinity(0, sizeof one, &one); /* only one thread runs at a time: this is faster */
    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(arguments[i], "--executions") == 0)
            executions = strtoul(arguments[i + 1], NULL, 10);
        else if (strcmp(arguments[i], "--weaken") == 0)
            weakened = (uintptr_t)strtoull(arguments[i + 1], NULL, 16);
    }
    arena = malloc(ARENA_BYTES);
    if (!arena)
        return 2;
    sem_init(&all_over, 0, 0);
    for (unsigned i = 0; i < model.threads; i++) {
        sem_init(&threads[i].turn, 0, 0);
        if (pthread_create(&threads[i].thread, NULL, run_thread, (void *)(intptr_t)i) != 0)
            return 2;
    }
    for (seed = 1; seed <= executions; seed++)
        execute();
    for (unsigned i = 0; i < site_count; i++)
        printf("site %#lx %d\n", (unsigned long)sites[i].address, sites[i].order);
    printf("%lu executions, nothing found\n", executions);
    fflush(stdout);
    _Exit(0);
}

/* SPDX-License-Identifier: MIT */
/*
 * faults: loaded in front of a program (LD_PRELOAD), it lets chosen calls of chosen files fail: of the layer, say, in a
 * process that also has a driver and a loader. A call belongs to the file in which it stands.
 *
 *   FAULTS_FILES     whose calls count: parts of file names, with colons between them; `main` is the program itself
 *   FAULTS_WHAT      `memory`: malloc, calloc, realloc, aligned ones, strdup, anonymous mmap, and threads;
 *                    `files`: open of files that it may create, write, pwritev, fallocate, ftruncate, close (of a
 *                    file that is closed all the same)
 *
 *   FAULTS_AT        the number of the call that fails, from 1 on; 0: none, they are only counted
 *
 *   FAULTS_ON        `once`, or `ever`: this call and every later one; of memory also `lost`: it is had twice, and one
 *                    is lost
 *
 *   FAULTS_HOW       of files: an error's number; `short`: half is written; `slow`: 5 ms go by first, and all is well;
 *                    `stop`: the process stops first (SIGSTOP), and all is well
 *
 *   FAULTS_COUNT     a file that gets the number of calls, when the program ends, and then, for each way on which one
 *                    was reached (return addresses, as far as they lie in those files), its hash and the first call's
 *                    number
 *
 *   FAULTS_LEAVE     what SIGUSR1 does: `exit` is _exit(7), `exec` goes on as /bin/true, `memory` takes memory until
 *                    the kernel ends the process, and is _exit(7) where that had no need to before a GiB
 */
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#define LEAVES_WITH 7
#define EXPORT      __attribute__((visibility("default")))

enum what { NOTHING, MEMORY, FILES };

static _Atomic enum what what; /* nothing again when the program ends */
/* Written before main and never after it. */
static const char *files;
static unsigned long at;
static bool ever, loses, is_short, is_slow, stops;
static int error;

static atomic_ulong calls;

/* What has been counted, if that is wanted: ways are found by their hash, and each has the first call that came on it.
 */
#define MOST_WAYS  65536u
#define MOST_STEPS 24
static bool counting;
static FILE *count_file;
static pid_t counter; /* not its children */
static _Atomic uint64_t ways[MOST_WAYS];
static unsigned long first_calls[MOST_WAYS];

/* Without a name it is the program; a folder called `main` makes nothing of it. */
static bool is_wanted(const char *name)
{
    for (const char *part = files; part && *part;) {
        size_t length = strcspn(part, ":");
        bool is_program = length == strlen("main") && strncmp(part, "main", length) == 0;
        const char *found = name;
        while ((found = strchr(found, part[0])) && strncmp(found, part, length) != 0)
            found++;
        if (length && (name[0] ? found && !is_program : is_program))
            return true;
        part += length + (part[length] == ':');
    }
    return false;
}

/* Where in its file the caller stands, if that is one of the wanted ones; 0 otherwise. Takes no lock and allocates
 * nothing. */
static uintptr_t place_of(const void *caller)
{
    struct dl_find_object found;
    if (_dl_find_object((void *)(uintptr_t)caller, &found) != 0)
        return 0;
    return is_wanted(found.dlfo_link_map->l_name) ? (uintptr_t)caller - (uintptr_t)found.dlfo_map_start : 0;
}

/* Which way leads to this call: a hash (FNV-1a) of the return addresses, the innermost first. Never 0. */
static uint64_t way_here(void)
{
    void *steps[MOST_STEPS];
    int count = backtrace(steps, MOST_STEPS), first = 0;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    uintptr_t place;
    while (first < count && !place_of(steps[first]))
        first++;
    for (int i = first; i < count && (place = place_of(steps[i])) != 0; i++)
        hash = (hash ^ place) * UINT64_C(0x100000001b3);
    return hash | 1;
}

static void note_way(unsigned long number)
{
    uint64_t way = way_here();
    for (uint32_t i = 0; i < MOST_WAYS; i++) {
        uint64_t expected = 0;
        if (atomic_compare_exchange_strong(&ways[(way + i) % MOST_WAYS], &expected, way)) {
            first_calls[(way + i) % MOST_WAYS] = number;
            return;
        }
        if (expected == way)
            return;
    }
}

static bool fails(enum what kind, const void *caller)
{
    unsigned long number;
    if (kind != what || !place_of(caller))
        return false;
    number = atomic_fetch_add(&calls, 1) + 1;
    if (counting)
        note_way(number);
    return at && (number == at || (ever && number > at));
}

/* ---- memory ---- */

#define OUT_OF_MEMORY fails(MEMORY, __builtin_return_address(0))

/* Who comes behind this file: the C library, or a sanitizer that looks for leaks. */
static struct {
    void *(*malloc)(size_t bytes);
    void *(*calloc)(size_t count, size_t bytes);
    void *(*realloc)(void *old, size_t bytes);
    void *(*memalign)(size_t alignment, size_t bytes);
} next;

#define NEXT(name) (next.name = (__typeof__(next.name))dlsym(RTLD_NEXT, #name)) // NOLINT

/* The first call comes before there are threads. What dlsym itself wants meanwhile it does without. */
static bool has_next(void)
{
    static bool looks;
    if (!next.memalign && !looks) {
        looks = true;
        if (!NEXT(malloc) || !NEXT(calloc) || !NEXT(realloc) || !NEXT(memalign))
            abort();
    }
    return next.memalign != NULL;
}

static void *no_memory(void)
{
    errno = ENOMEM;
    return NULL;
}

EXPORT void *malloc(size_t bytes)
{
    bool fault = OUT_OF_MEMORY;
    if (!has_next() || (fault && !loses))
        return no_memory();
    if (fault)
        (void)next.malloc(bytes);
    return next.malloc(bytes);
}

EXPORT void *calloc(size_t count, size_t bytes)
{
    bool fault = OUT_OF_MEMORY;
    if (!has_next() || (fault && !loses))
        return no_memory();
    if (fault)
        (void)next.calloc(count, bytes);
    return next.calloc(count, bytes);
}

EXPORT void *realloc(void *old, size_t bytes)
{
    bool fault = OUT_OF_MEMORY;
    if (!has_next() || (fault && !loses))
        return no_memory();
    if (fault)
        (void)next.malloc(bytes);
    return next.realloc(old, bytes);
}

static void *aligned(size_t alignment, size_t bytes, bool fault)
{
    if (!has_next() || (fault && !loses))
        return no_memory();
    if (fault)
        (void)next.memalign(alignment, bytes);
    return next.memalign(alignment, bytes);
}

EXPORT void *memalign(size_t alignment, size_t bytes)
{
    return aligned(alignment, bytes, OUT_OF_MEMORY);
}

EXPORT void *aligned_alloc(size_t alignment, size_t bytes)
{
    return aligned(alignment, bytes, OUT_OF_MEMORY);
}

EXPORT int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    void *memory = aligned(alignment, bytes, OUT_OF_MEMORY);
    if (memory)
        *out = memory;
    return memory ? 0 : ENOMEM;
}

EXPORT char *strdup(const char *text)
{
    size_t bytes = strlen(text) + 1;
    bool fault = OUT_OF_MEMORY;
    char *copy = fault && !loses ? no_memory() : malloc(bytes);
    if (fault && loses)
        (void)malloc(bytes);
    return copy ? memcpy(copy, text, bytes) : NULL;
}

EXPORT void *mmap(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
{
    if (flags & MAP_ANONYMOUS && OUT_OF_MEMORY && !loses) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return (void *)syscall(SYS_mmap, address, bytes, protection, flags, fd, offset); // NOLINT
}

EXPORT void *mmap64(void *address, size_t bytes, int protection, int flags, int fd, off_t offset)
    __attribute__((alias("mmap")));

static _Atomic bool becomes_another;

/* While one thread is about to make the process another program, the kernel gives the others no new ones (Linux,
 * copy_fs in kernel/fork.c). Who is refused then is about to end, and does not live to tell. */
EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *), void *context)
{
    static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (OUT_OF_MEMORY && !loses)
        return EAGAIN;
    if (!real)
        real =
            (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
    int failed = real(thread, attributes, run, context);
    while (failed == EAGAIN && becomes_another)
        pause();
    return failed;
}

/* ---- files ---- */

#define FAULT fails(FILES, __builtin_return_address(0))

static void be_slow(void)
{
    const struct timespec pause = {0, 5000000};
    nanosleep(&pause, NULL);
}

/* Whether a call that fails is done all the same, in its way. */
static bool goes_on(void)
{
    if (is_slow)
        be_slow();
    else if (stops)
        raise(SIGSTOP);
    else if (!is_short)
        errno = error;
    return is_slow || stops || is_short;
}

EXPORT ssize_t write(int fd, const void *data, size_t bytes)
{
    if (fd > STDERR_FILENO && FAULT) {
        if (!goes_on())
            return -1;
        bytes = is_short && bytes > 1 ? bytes / 2 : bytes;
    }
    return syscall(SYS_write, fd, data, bytes);
}

/* An offset has one register on machines of 64 bits. */
static ssize_t write_parts(int fd, const struct iovec *parts, int count, off_t offset)
{
    return syscall(SYS_pwritev, fd, parts, count, (unsigned long)offset, (unsigned long)((uint64_t)offset >> 32));
}

EXPORT ssize_t pwritev(int fd, const struct iovec *parts, int count, off_t offset)
{
    if (FAULT) {
        struct iovec first = parts[0];
        if (!goes_on())
            return -1;
        if (is_short && first.iov_len > 1) {
            first.iov_len /= 2;
            return write_parts(fd, &first, 1, offset);
        }
    }
    return write_parts(fd, parts, count, offset);
}

EXPORT ssize_t pwritev64(int fd, const struct iovec *parts, int count, off_t offset) __attribute__((alias("pwritev")));

EXPORT int fallocate(int fd, int mode, off_t offset, off_t bytes)
{
    if (FAULT && !goes_on())
        return -1;
    return (int)syscall(SYS_fallocate, fd, mode, offset, bytes);
}

EXPORT int fallocate64(int fd, int mode, off_t offset, off_t bytes) __attribute__((alias("fallocate")));

EXPORT int ftruncate(int fd, off_t bytes)
{
    if (FAULT && !goes_on())
        return -1;
    return (int)syscall(SYS_ftruncate, fd, bytes);
}

EXPORT int ftruncate64(int fd, off_t bytes) __attribute__((alias("ftruncate")));

EXPORT int open(const char *path, int flags, ...)
{
    const bool creates = flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE;
    mode_t mode = 0;
    if (creates) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    if (creates && FAULT && !goes_on())
        return -1;
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

EXPORT int open64(const char *path, int flags, ...) __attribute__((alias("open")));

EXPORT int close(int fd)
{
    bool good = !FAULT || goes_on();
    int why = errno, result = (int)syscall(SYS_close, fd);
    if (good)
        return result;
    errno = why;
    return -1;
}

/* ---- the beginning and the end ---- */

static void leave(int number)
{
    (void)number;
    _exit(LEAVES_WITH);
}

static void go_on_as_another(int number)
{
    (void)number;
    becomes_another = true;
    execl("/bin/true", "true", (char *)NULL);
    _exit(1);
}

static void take_memory(int number)
{
    const size_t piece = 1 << 20;

    (void)number;
    for (int i = 0; i < 1024; i++) {
        void *taken = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (taken != MAP_FAILED)
            memset(taken, 1, piece);
    }
    _exit(LEAVES_WITH);
}

__attribute__((constructor)) static void begin(void)
{
    const char *wanted = getenv("FAULTS_WHAT"), *how = getenv("FAULTS_HOW"), *number = getenv("FAULTS_AT"),
               *on = getenv("FAULTS_ON"), *way = getenv("FAULTS_LEAVE");
    files = getenv("FAULTS_FILES");
    at = number ? strtoul(number, NULL, 10) : 0;
    ever = on && strcmp(on, "ever") == 0;
    loses = on && strcmp(on, "lost") == 0;
    is_short = how && strcmp(how, "short") == 0;
    is_slow = how && strcmp(how, "slow") == 0;
    stops = how && strcmp(how, "stop") == 0;
    error = how ? atoi(how) : EIO;
    if (way)
        signal(SIGUSR1, strcmp(way, "exec") == 0 ? go_on_as_another : strcmp(way, "memory") == 0 ? take_memory : leave);
    if (getenv("FAULTS_COUNT")) {
        void *step;
        count_file = fopen(getenv("FAULTS_COUNT"), "we"); /* now: the program may shut itself in */
        counter = getpid();
        backtrace(&step, 1); /* the first one loads a library */
        counting = true;
    }
    what = !wanted ? NOTHING : strcmp(wanted, "memory") == 0 ? MEMORY : FILES;
}

__attribute__((destructor)) static void end(void)
{
    what = NOTHING;
    if (!count_file || counter != getpid())
        return;
    fprintf(count_file, "%lu\n", atomic_load(&calls));
    for (uint32_t i = 0; i < MOST_WAYS; i++)
        if (ways[i])
            fprintf(count_file, "%" PRIx64 " %lu\n", ways[i], first_calls[i]);
    fclose(count_file);
}

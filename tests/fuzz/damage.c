/* SPDX-License-Identifier: MIT */
/*
 * damage TRACE [PART PARTS]: plays a trace that is damaged in every way of a list, or in the PARTth of PARTS shares of
 * it, counted from 0, on a driver that looks at everything it is given (driver.h), and says what came of it. The ways:
 * each bit is flipped; the file is cut at each byte; each block of 512 bytes, and each chunk, is zeroed, doubled, left
 * out, and changes places with the next.
 *
 * Of each replay must hold: it ends by itself, soon, and gives back what it took; it ends with an error, or says that
 * the trace is incomplete, both with the place in the file, or it says what is damaged and the driver saw the same
 * calls as without; and all frames that end in front of the damage were played. Exit status 1: one did not, and is
 * named.
 */
#include <inttypes.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sanitizers.h"
#include "replayer/player.h"
#include "tests/fuzz/driver.h"
#include "tests/fuzz/forge.h"
#include "trace/chunk.h"

#define BLOCK_BYTES   512u
#define LONGEST_S     60u /* of one replay: far more than any takes */
#define MAX_FAILURES  20u
#define SMALLEST      16384u
#define WARM_UP_PLAYS 3u

/* ---- the trace ---- */

struct piece {
    size_t at, bytes;
};

static struct {
    uint8_t *data;
    size_t bytes;
    struct piece *chunks, *frames; /* frames: from the file's begin to behind its mark */
    size_t chunk_count, frame_count;
} file;

static _Noreturn void die(const char *text)
{
    fprintf(stderr, "damage: %s\n", text);
    exit(2);
}

static void load(const char *path)
{
    FILE *in = fopen(path, "rb");
    long bytes;

    if (!in || fseek(in, 0, SEEK_END) != 0 || (bytes = ftell(in)) < 0 || fseek(in, 0, SEEK_SET) != 0)
        die("can't read the trace");
    file.bytes = (size_t)bytes;
    file.data = malloc(file.bytes + 1);
    if (!file.data || fread(file.data, 1, file.bytes, in) != file.bytes)
        die("can't read the trace");
    fclose(in);
    if (file.bytes < SMALLEST)
        die("the trace is too small to say much");
}

static void find_chunks(void)
{
    size_t most = file.bytes / LAP_CHUNK_HEADER_BYTES + 1;

    file.chunks = calloc(most, sizeof *file.chunks);
    file.frames = calloc(most, sizeof *file.frames);
    if (!file.chunks || !file.frames)
        die("out of memory");
    for (size_t at = LAP_FILE_HEADER_BYTES; at + LAP_CHUNK_HEADER_BYTES <= file.bytes;) {
        struct lap_chunk_header header;
        size_t bytes;
        if (lap_chunk_header_load(file.data + at, &header) != LAP_OK)
            die(lap_error_message());
        bytes = LAP_CHUNK_HEADER_BYTES + header.stored_bytes;
        file.chunks[file.chunk_count++] = (struct piece){at, bytes};
        at += bytes;
        if (header.kind == LAP_CHUNK_FRAME)
            file.frames[file.frame_count++] = (struct piece){0, at};
    }
    if (file.frame_count < 2)
        die("the trace has no frames");
}

/* ---- what is done to it ---- */

enum way { FLIP, CUT, ZERO, DOUBLE, LOSE, SWAP, WAYS };
static const char *const way_names[WAYS] = {"bit flipped", "cut", "zeroed", "doubled", "left out", "swapped"};

struct change {
    enum way way;
    struct piece piece, next; /* next: it changes places with */
    unsigned bit;
};

static size_t block_count(void)
{
    return (file.bytes + BLOCK_BYTES - 1) / BLOCK_BYTES;
}

static struct piece block(size_t i)
{
    size_t at = i * BLOCK_BYTES;
    return (struct piece){at, at + BLOCK_BYTES < file.bytes ? BLOCK_BYTES : file.bytes - at};
}

static size_t change_count(void)
{
    return file.bytes * 8 + file.bytes + (WAYS - ZERO) * (block_count() + file.chunk_count);
}

static struct change change_of(size_t number)
{
    struct change change;
    size_t blocks = block_count(), i;

    if (number < file.bytes * 8)
        return (struct change){.way = FLIP, .piece = {number / 8, 1}, .bit = number % 8};
    number -= file.bytes * 8;
    if (number < file.bytes)
        return (struct change){.way = CUT, .piece = {number, file.bytes - number}};
    number -= file.bytes;
    change = (struct change){.way = ZERO + (enum way)(number % (WAYS - ZERO))};
    i = number / (WAYS - ZERO);
    if (i < blocks) {
        change.piece = block(i);
        change.next = i + 1 < blocks ? block(i + 1) : (struct piece){0};
    } else {
        i -= blocks;
        change.piece = file.chunks[i];
        change.next = i + 1 < file.chunk_count ? file.chunks[i + 1] : (struct piece){0};
    }
    return change;
}

/* Puts the damaged file at `out`, which has room for twice the file. Returns its size. */
static size_t apply(const struct change *change, uint8_t *out)
{
    struct piece piece = change->piece, next = change->next;
    size_t behind = piece.at + piece.bytes;

    memcpy(out, file.data, file.bytes);
    switch (change->way) {
    case FLIP:
        out[piece.at] ^= (uint8_t)(1u << change->bit);
        return file.bytes;
    case CUT:
        return piece.at;
    case ZERO:
        memset(out + piece.at, 0, piece.bytes);
        return file.bytes;
    case DOUBLE:
        memcpy(out + behind, file.data + piece.at, file.bytes - piece.at);
        return file.bytes + piece.bytes;
    case LOSE:
        memcpy(out + piece.at, file.data + behind, file.bytes - behind);
        return file.bytes - piece.bytes;
    default:
        memcpy(out + piece.at, file.data + behind, next.bytes);
        memcpy(out + piece.at + next.bytes, file.data + piece.at, piece.bytes);
        return file.bytes;
    }
}

/* ---- playing it ---- */

struct outcome {
    enum lap_status status;
    bool complete, repaired;
    char message[512]; /* of the error, or why it is incomplete */
    uint64_t frames, digest;
    size_t left, memory; /* objects of the driver, bytes that are allocated */
};

/* The driver stands for the loader (module.mk). */
void *driver_dlopen(const char *path, int flags);
void *driver_dlsym(void *library, const char *name);

void *driver_dlopen(const char *path, int flags)
{
    static char library;
    return &library;
}

void *driver_dlsym(void *library, const char *name)
{
    return strcmp(name, "vkGetInstanceProcAddr") == 0 ? (void *)driver_get_instance_proc_addr : NULL;
}

static size_t allocated(void)
{
#if LAP_ADDRESS_SANITIZER || !defined(__GLIBC__)
    return 0; /* it looks for leaks itself, at the end */
#else
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#endif
}

static struct outcome play(const uint8_t *data, size_t bytes)
{
    const struct lap_log log = {.fd = -1, .level = LAP_LOG_ERROR};
    struct replay_options options = {.file = forge_place(data, bytes),
                                     .quiet = true,
                                     .verify = true,
                                     .present = REPLAY_PRESENT_OFF,
                                     .screenshot_dir = ".",
                                     .threads = 1};
    struct outcome out = {.complete = false};
    struct replay r;
    uint64_t handle;
    size_t at = 0;

    out.status = replay_open(&r, &options, &log);
    if (out.status == LAP_OK) {
        const struct lap_reader_summary *summary = lap_reader_summary(r.reader);
        out.complete = summary->complete;
        out.frames = summary->frames;
        snprintf(out.message, sizeof out.message, "%s", summary->stopped ? summary->stopped : "");
        out.status = replay_run(&r);
        out.repaired = summary->repaired != NULL;
    }
    if (out.status != LAP_OK) {
        const char *frame = strstr(lap_error_message(), "frame ");
        snprintf(out.message, sizeof out.message, "%s", lap_error_message());
        out.frames = frame ? strtoull(frame + strlen("frame "), NULL, 10) : 0;
        out.frames -= out.frames > 0; /* it is within that frame */
    }
    if (!replay_close(&r))
        snprintf(out.message, sizeof out.message, "the replay did not end its devices");
    out.digest = driver_digest();
    while (driver_object_next(&at, &handle))
        out.left++;
    driver_reset();
    out.memory = allocated();
    return out;
}

/* ---- what must hold ---- */

static struct outcome good;

/* What does not hold of it, or NULL. first: the first byte that is not what it was. */
static const char *judge(const struct outcome *out, size_t first)
{
    uint64_t whole = 0;
    bool same = out->status == LAP_OK && out->complete;

    while (whole < file.frame_count && file.frames[whole].bytes <= first)
        whole++;
    if (out->left)
        return "objects of the driver are left";
    if (out->memory > good.memory)
        return "memory is left";
    if (same && !out->repaired)
        return "nobody was told";
    if (same)
        return out->digest == good.digest && out->frames == good.frames
                   ? NULL
                   : "the driver saw other calls, and nobody was told";
    if (!out->message[0])
        return "nothing says why";
    if (first >= LAP_FILE_HEADER_BYTES && !strstr(out->message, "offset "))
        return "nothing says where";
    if (out->status != LAP_OK && whole > 0 && !strstr(out->message, "frame "))
        return "nothing says in which frame";
    return out->frames < whole ? "frames that end in front of the damage are missing" : NULL;
}

/* ---- all of it ---- */

enum result { SAME, SHORTER, REFUSED, RESULTS };

static struct shared {
    size_t number; /* of the change that is tried */
    uint64_t counts[WAYS][RESULTS];
    unsigned failures;
} * shared;

static void name_failure(size_t number, const char *why, const char *message)
{
    struct change change = change_of(number);

    if (++shared->failures > MAX_FAILURES)
        return;
    printf("FAILED %s at byte %zu (of %zu, %zu bytes", way_names[change.way], change.piece.at, file.bytes,
           change.piece.bytes);
    if (change.way == FLIP)
        printf(", bit %u", change.bit);
    printf("): %s%s%s\n", why, message[0] ? ": " : "", message);
    fflush(stdout);
}

static void try(size_t number, uint8_t *out)
{
    struct change change = change_of(number);
    struct outcome outcome;
    size_t bytes, first = 0;
    const char *why;

    if (change.way == SWAP && !change.next.bytes)
        return;
    bytes = apply(&change, out);
    while (first < bytes && first < file.bytes && out[first] == file.data[first])
        first++;
    if (first == bytes && bytes == file.bytes)
        return; /* it is what it was */
    outcome = play(out, bytes);
    shared->counts[change.way][outcome.status != LAP_OK ? REFUSED : outcome.complete ? SAME : SHORTER]++;
    why = judge(&outcome, first);
    if (why)
        name_failure(number, why, outcome.message);
}

/* Tries all from shared->number on, in a process of its own. */
static int work(size_t end)
{
    pid_t child = fork();
    int status = 0;

    if (child < 0)
        die("can't fork");
    if (child == 0) {
        uint8_t *out = malloc(2 * file.bytes + 1);
        if (!out)
            die("out of memory");
        for (unsigned i = 0; i < WARM_UP_PLAYS; i++)
            good = play(file.data, file.bytes);
        if (good.status != LAP_OK || !good.complete || good.left || good.frames != file.frame_count)
            die(good.message[0] ? good.message : "the trace is not whole as it is");
        for (; shared->number < end; shared->number++) {
            alarm(LONGEST_S);
            try(shared->number, out);
        }
        free(out);
        free(file.data);
        free(file.chunks);
        free(file.frames);
        exit(0);
    }
    if (waitpid(child, &status, 0) != child)
        die("can't wait");
    return status;
}

/* Each thread keeps some of what it freed for itself, which would count as allocated. */
static void begin_without_cache(char **argv)
{
    static const char setting[] = "glibc.malloc.tcache_count=0", variable[] = "GLIBC_TUNABLES";
    const char *now = getenv(variable);

    if (now && strcmp(now, setting) == 0)
        return;
    if (setenv(variable, setting, 1) != 0 || (execv("/proc/self/exe", argv), true))
        die("can't begin anew");
}

int main(int argc, char **argv)
{
    static char lines[BUFSIZ]; /* so that the first one takes no memory */
    size_t part = 0, parts = 1, end;

    if (argc != 2 && argc != 4)
        die("damage TRACE [PART PARTS]");
    if (argc == 4) {
        part = strtoul(argv[2], NULL, 10);
        parts = strtoul(argv[3], NULL, 10);
    }
    begin_without_cache(argv);
    setvbuf(stdout, lines, _IOLBF, sizeof lines);
    if (part >= parts)
        die("there is no such part");
    load(argv[1]);
    find_chunks();
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        die("out of memory");
    shared->number = change_count() * part / parts;
    end = change_count() * (part + 1) / parts;
    while (shared->number < end && shared->failures < MAX_FAILURES) {
        int status = work(end);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            continue;
        if (WIFEXITED(status) && WEXITSTATUS(status) == 2)
            return 2;
        if (shared->number >= end) {
            shared->failures++; /* a leak, which has been told */
            break;
        }
        name_failure(shared->number++,
                     WIFSIGNALED(status) ? strsignal(WTERMSIG(status)) : "the replay ended the process", "");
    }
    for (unsigned i = 0; i < WAYS; i++)
        if (shared->counts[i][SAME] + shared->counts[i][SHORTER] + shared->counts[i][REFUSED])
            printf("%-11s %" PRIu64 ": %" PRIu64 " made up for, %" PRIu64 " end earlier and say so, %" PRIu64
                   " refused\n",
                   way_names[i], shared->counts[i][SAME] + shared->counts[i][SHORTER] + shared->counts[i][REFUSED],
                   shared->counts[i][SAME], shared->counts[i][SHORTER], shared->counts[i][REFUSED]);
    return shared->failures != 0;
}

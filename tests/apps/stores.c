/* SPDX-License-Identifier: MIT */
/*
 * stores: the ways in which bytes come into mapped memory. By the GPU, beside the host's in the same page; by threads
 * that never stop while the memory is copied; by the kernel, from a pipe and from a file; and in a program that handles
 * faults of its own. One of the options says which; without any it is what the GPU and threads do.
 *
 * --read-back: the host only reads, or with --beside also stores between what the GPU writes. The program says in its
 * last line but one how many bytes these were, so that whoever records it can tell how much it should have noticed.
 */
#include "common/app.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE        4096u
#define RESULT      3000u /* bytes that the GPU writes; whole words */
#define HOST        900u  /* bytes of the host in the same page */
#define GAP_AT      1000u /* bytes amid the results that are the host's too */
#define GAP         100u
#define SHARED      4u /* such pages */
#define HEAP_BYTES  (1u << 20)
#define THREADS     3u
#define TORN_SLOTS  4096u /* of 64 bytes */
#define TORN_BYTES  (TORN_SLOTS * 64)
#define PASSES      6u
#define SUBMITS     12u
#define FAULT_PAGES 4u

/* ---- what all of them need ---- */

static VkBuffer create_buffer(const struct app *app, VkDeviceSize size, VkMemoryRequirements *out_needs)
{
    VkBuffer buffer;
    VkBufferCreateInfo create = {.sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO};
    create.size = size;
    create.usage = VK_BUFFER_USAGE_TRANSFER_SRC_BIT | VK_BUFFER_USAGE_TRANSFER_DST_BIT;
    CHECK_VK(vkCreateBuffer(app->device, &create, NULL, &buffer));
    vkGetBufferMemoryRequirements(app->device, buffer, out_needs);
    return buffer;
}

static void copy(const struct app *app, VkBuffer from, VkBuffer to, VkDeviceSize size)
{
    VkCommandBuffer commands = app_begin(app);
    vkCmdCopyBuffer(commands, from, to, 1, &(VkBufferCopy){0, 0, size});
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT | VK_PIPELINE_STAGE_TRANSFER_BIT,
                       VK_ACCESS_HOST_READ_BIT | VK_ACCESS_TRANSFER_READ_BIT | VK_ACCESS_TRANSFER_WRITE_BIT);
    app_run(app, commands);
}

/* The GPU finds what the mapping shows. */
static void expect_same(const struct app *app, const struct app_buffer *buffer, const struct app_buffer *check)
{
    copy(app, buffer->buffer, check->buffer, buffer->size);
    app_buffer_invalidate(app, check, 0, buffer->size);
    EXPECT_EQ(app, memcmp(check->mapped, buffer->mapped, buffer->size), 0);
}

/* ---- read back ---- */

/* Four pages, in each a buffer of results and behind it one that the host fills. */
struct shared_pages {
    const struct app *app;
    VkDeviceMemory memory;
    bool coherent;
    VkBuffer results[SHARED], inputs[SHARED];
    VkDeviceSize input_at; /* in the page */
    uint8_t *mapped;
    VkBuffer check;            /* in the page after them */
    uint8_t model[HOST + GAP]; /* what the host stored last: an input, then bytes amid results */
    uint64_t stored;
};

static void shared_create(const struct app *app, struct shared_pages *shared)
{
    VkMemoryRequirements needs, host_needs;
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO};
    VkDeviceSize unit = app->properties.limits.nonCoherentAtomSize;
    *shared = (struct shared_pages){.app = app};
    for (uint32_t i = 0; i < SHARED; i++) {
        shared->results[i] = create_buffer(app, RESULT, &needs);
        shared->inputs[i] = create_buffer(app, HOST, &host_needs);
    }
    shared->check = create_buffer(app, RESULT, &needs);
    unit = unit > host_needs.alignment ? unit : host_needs.alignment;
    shared->input_at = (RESULT + unit - 1) / unit * unit;
    CHECK(shared->input_at + host_needs.size <= PAGE && PAGE % needs.alignment == 0);
    allocate.allocationSize = HEAP_BYTES;
    allocate.memoryTypeIndex = app_memory_type_for(app, needs.memoryTypeBits & host_needs.memoryTypeBits, APP_READBACK);
    shared->coherent = app_memory_coherent(app, allocate.memoryTypeIndex);
    CHECK_VK(vkAllocateMemory(app->device, &allocate, NULL, &shared->memory));
    for (uint32_t i = 0; i < SHARED; i++) {
        CHECK_VK(vkBindBufferMemory(app->device, shared->results[i], shared->memory, i * PAGE));
        CHECK_VK(vkBindBufferMemory(app->device, shared->inputs[i], shared->memory, i * PAGE + shared->input_at));
    }
    CHECK_VK(vkBindBufferMemory(app->device, shared->check, shared->memory, SHARED * PAGE));
}

static void shared_map(struct shared_pages *shared)
{
    void *mapped = shared->mapped;
    if (!mapped)
        CHECK_VK(vkMapMemory(shared->app->device, shared->memory, 0, VK_WHOLE_SIZE, 0, &mapped));
    shared->mapped = mapped;
    if (!shared->coherent)
        app_memory_sync(shared->app, shared->memory, HEAP_BYTES, 0, HEAP_BYTES, true);
}

/* The GPU copies a buffer to where it is looked at, and finds what the mapping shows. */
static void shared_expect(struct shared_pages *shared, VkBuffer buffer, VkDeviceSize at, VkDeviceSize size)
{
    copy(shared->app, buffer, shared->check, size);
    shared_map(shared);
    EXPECT_EQ(shared->app, memcmp(shared->mapped + SHARED * PAGE, shared->mapped + at, size), 0);
}

/*
 * The GPU writes all results but the gaps, which it fills only once, and takes what the host stored in the last frame.
 * What it fills in the first frame is not mapped yet, so that nobody takes for the host's what an earlier owner left.
 */
static void shared_run(struct shared_pages *shared, uint32_t frame)
{
    const struct app *app = shared->app;
    const uint32_t word = 0x01010101u * frame, last = (frame - 1) % SHARED;
    VkCommandBuffer commands = app_begin(app);
    for (uint32_t i = 0; i < SHARED; i++) {
        vkCmdFillBuffer(commands, shared->results[i], 0, frame == 1 ? RESULT : GAP_AT, word);
        if (frame > 1)
            vkCmdFillBuffer(commands, shared->results[i], GAP_AT + GAP, RESULT - GAP_AT - GAP, word);
    }
    if (frame == 1)
        vkCmdFillBuffer(commands, shared->check, 0, RESULT, 0);
    if (shared->stored) {
        vkCmdCopyBuffer(commands, shared->inputs[last], shared->check, 1, &(VkBufferCopy){0, 0, HOST});
        vkCmdCopyBuffer(commands, shared->results[last], shared->check, 1, &(VkBufferCopy){GAP_AT, HOST, GAP});
    }
    app_memory_barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
                       VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
    app_run(app, commands);
    shared_map(shared);
    if (shared->stored)
        EXPECT_EQ(app, memcmp(shared->mapped + SHARED * PAGE, shared->model, HOST + GAP), 0);
    for (uint32_t i = 0; i < SHARED; i++) {
        EXPECT_EQ(app, shared->mapped[i * PAGE], (uint8_t)frame);
        EXPECT_EQ(app, shared->mapped[i * PAGE + RESULT - 4], (uint8_t)frame);
    }
}

/* The host's bytes of one page, all of them other ones than before. */
static void shared_store(struct shared_pages *shared, uint32_t frame)
{
    uint8_t *page = shared->mapped + frame % SHARED * PAGE;
    for (uint32_t i = 0; i < HOST; i++)
        shared->model[i] = page[shared->input_at + i] = (uint8_t)(frame * 12 + i % 7 + 1);
    for (uint32_t i = 0; i < GAP; i++)
        shared->model[HOST + i] = page[GAP_AT + i] = (uint8_t)(frame * 12 + 5);
    shared->stored += HOST + GAP;
}

/*
 * The results of the GPU are read where they lie, in memory that stays mapped or is mapped when they are there. Beside:
 * the host stores into the buffer behind the results, and into a gap amid them, which the GPU leaves alone.
 */
static void read_back(const struct app *app, bool beside)
{
    struct shared_pages shared;
    shared_create(app, &shared);
    if (beside && !shared.coherent) {
        printf("left out: bytes of the host amid results, in memory that is not coherent\n");
        beside = false;
    }
    for (uint32_t frame = 1; frame <= app->frames; frame++) {
        if (frame > 1 && frame % 4 != 3)
            shared_map(&shared);
        shared_run(&shared, frame);
        if (beside)
            shared_store(&shared, frame);
        if (frame % 4 == 2) {
            vkUnmapMemory(app->device, shared.memory);
            shared.mapped = NULL;
        }
    }
    for (uint32_t i = 0; i < SHARED; i++) {
        shared_expect(&shared, shared.results[i], i * PAGE, RESULT);
        if (shared.stored)
            shared_expect(&shared, shared.inputs[i], i * PAGE + shared.input_at, HOST);
    }
    for (uint32_t i = 0; i < SHARED; i++) {
        vkDestroyBuffer(app->device, shared.results[i], NULL);
        vkDestroyBuffer(app->device, shared.inputs[i], NULL);
    }
    vkDestroyBuffer(app->device, shared.check, NULL);
    vkFreeMemory(app->device, shared.memory, NULL);
    printf("bytes of the host: %" PRIu64 "\n", shared.stored);
}

/* ---- threads that never stop ---- */

struct writer {
    const struct app_buffer *buffer;
    uint32_t index, pass;
    atomic_uint *begun;
};

/*
 * Stores once in a pass, and not too fast, to words that are far apart, here and there in the memory: a store that is
 * missed is not made up for by a later one, nor sent along with its neighbours.
 */
static void *write_words(void *context)
{
    const struct writer *writer = context;
    _Atomic uint32_t *words = (_Atomic uint32_t *)(void *)writer->buffer->mapped;
    atomic_fetch_add(writer->begun, 1);
    for (uint32_t i = writer->index; i < TORN_SLOTS; i += THREADS) {
        uint32_t slot = i * 641 % TORN_SLOTS;
        atomic_store_explicit(&words[slot * 16], (writer->pass + 1) * 0x01010101u + i * 7919, memory_order_relaxed);
        for (volatile uint32_t pause = 0; pause < 400; pause++)
            ;
    }
    return NULL;
}

/* What a copy gets meanwhile is nobody's to know, so it goes where nobody looks; what counts is the last one of a pass.
 */
static void torn(const struct app *app)
{
    struct app_buffer buffer, sink, check;
    app_buffer_create(app, &buffer, TORN_BYTES, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &sink, TORN_BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_DEVICE);
    app_buffer_create(app, &check, TORN_BYTES, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    memset(buffer.mapped, 0, buffer.size);
    for (uint32_t pass = 0; pass < PASSES; pass++) {
        atomic_uint begun = 0;
        struct writer writers[THREADS];
        pthread_t threads[THREADS];
        for (uint32_t i = 0; i < THREADS; i++) {
            writers[i] = (struct writer){&buffer, i, pass, &begun};
            CHECK(pthread_create(&threads[i], NULL, write_words, &writers[i]) == 0);
        }
        while (!atomic_load(&begun))
            sched_yield();
        for (uint32_t i = 0; i < SUBMITS; i++)
            copy(app, buffer.buffer, sink.buffer, TORN_BYTES);
        for (uint32_t i = 0; i < THREADS; i++)
            CHECK(pthread_join(threads[i], NULL) == 0);
        app_buffer_flush(app, &buffer, 0, buffer.size);
        expect_same(app, &buffer, &check);
    }
    app_buffer_destroy(app, &buffer);
    app_buffer_destroy(app, &sink);
    app_buffer_destroy(app, &check);
}

/* ---- the kernel ---- */

static void read_all(const struct app *app, int fd, uint8_t *to, size_t bytes)
{
    while (bytes) {
        ssize_t got = read(fd, to, bytes);
        if (got < 0 && errno == EFAULT)
            app_skip(app, "system calls can't write into mapped memory here (EFAULT)");
        CHECK(got > 0);
        to += got;
        bytes -= (size_t)got;
    }
}

static void fill(uint8_t *bytes, uint32_t count, uint32_t salt)
{
    for (uint32_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)(1 + (salt * 41 + i * 11 + i / 97) % 255);
}

/* Bytes come from a pipe, over the ends of pages, and from a file, many pages at once; stores of the host in between.
 */
static void by_kernel(const struct app *app)
{
    static uint8_t source[48 << 10];
    struct app_buffer buffer, check;
    FILE *file = tmpfile();
    int ends[2];
    CHECK(file && pipe(ends) == 0);
    app_buffer_create(app, &buffer, 64 << 10, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &check, 64 << 10, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    memset(buffer.mapped, 1, buffer.size);
    app_buffer_flush(app, &buffer, 0, buffer.size);
    expect_same(app, &buffer, &check);
    for (uint32_t frame = 0; frame < app->frames; frame++) {
        const uint32_t at = frame * 777, bytes = frame % 2 ? sizeof(source) : 500;
        int fd = frame % 2 ? fileno(file) : ends[0];
        fill(source, bytes, frame);
        if (frame % 2)
            CHECK(pwrite(fd, source, bytes, 0) == (ssize_t)bytes && lseek(fd, 0, SEEK_SET) == 0);
        else
            CHECK(write(ends[1], source, bytes) == (ssize_t)bytes);
        read_all(app, fd, buffer.mapped + at, bytes);
        CHECK(memcmp(buffer.mapped + at, source, bytes) == 0);
        buffer.mapped[60000 + frame] = (uint8_t)frame;
        app_buffer_flush(app, &buffer, 0, buffer.size);
        expect_same(app, &buffer, &check);
    }
    fclose(file);
    close(ends[0]);
    close(ends[1]);
    app_buffer_destroy(app, &buffer);
    app_buffer_destroy(app, &check);
}

/* ---- a program with faults of its own ---- */

static uint8_t *guarded; /* pages that the program protects */
static volatile sig_atomic_t faults[2];
static struct sigaction before[2];

/* A fault in the program's own pages is the program's; others go to whoever was there before, as well-behaved do. */
static void handle(int which, int number, siginfo_t *info, void *context)
{
    uint8_t *at = info->si_addr;
    if (at >= guarded && at < guarded + FAULT_PAGES * PAGE) {
        faults[which]++;
        mprotect(guarded + (size_t)(at - guarded) / PAGE * PAGE, PAGE, PROT_READ | PROT_WRITE);
    } else if (before[which].sa_flags & SA_SIGINFO) {
        before[which].sa_sigaction(number, info, context);
    } else {
        _exit(3); /* nobody's */
    }
}

static void handle_first(int number, siginfo_t *info, void *context)
{
    handle(0, number, info, context);
}

static void handle_second(int number, siginfo_t *info, void *context)
{
    handle(1, number, info, context);
}

static void install(int which, void (*handler)(int, siginfo_t *, void *))
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigemptyset(&action.sa_mask);
    CHECK(sigaction(SIGSEGV, &action, &before[which]) == 0);
}

/* Faults of the program between stores to mapped memory, some of them to the same value as was there. */
static void fault_and_store(const struct app *app, const struct app_buffer *buffer, const struct app_buffer *check,
                            int which)
{
    for (uint32_t round = 0; round < app->frames; round++) {
        const sig_atomic_t had = faults[which];
        CHECK(mprotect(guarded, FAULT_PAGES * PAGE, PROT_READ) == 0);
        for (uint32_t i = 0; i < FAULT_PAGES; i++) {
            buffer->mapped[(round * 5 + i) * 1000 % buffer->size] = (uint8_t)(round + i + 1);
            ((volatile uint8_t *)guarded)[i * PAGE + round] = (uint8_t)round;
            buffer->mapped[(round * 3 + i) * 1300 % buffer->size + 7] = (uint8_t)(round * 2 + i + 1);
        }
        CHECK(faults[which] == had + (sig_atomic_t)FAULT_PAGES);
        app_buffer_flush(app, buffer, 0, buffer->size);
        expect_same(app, buffer, check);
    }
}

/* One handler is there before the device is, the other one comes when memory is mapped already. */
static void with_handlers(struct app *app)
{
    struct app_buffer buffer, check;
    guarded = mmap(NULL, FAULT_PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(guarded != MAP_FAILED);
    install(0, handle_first);
    app_device_create(app, NULL);
    app_buffer_create(app, &buffer, 64 << 10, VK_BUFFER_USAGE_TRANSFER_SRC_BIT, APP_UPLOAD);
    app_buffer_create(app, &check, 64 << 10, VK_BUFFER_USAGE_TRANSFER_DST_BIT, APP_READBACK);
    memset(buffer.mapped, 9, buffer.size);
    fault_and_store(app, &buffer, &check, 0);
    install(1, handle_second);
    fault_and_store(app, &buffer, &check, 1);
    app_buffer_destroy(app, &buffer);
    app_buffer_destroy(app, &check);
    munmap(guarded, FAULT_PAGES * PAGE);
}

int main(int argc, char **argv)
{
    static bool only_read_back, beside, kernel, handlers;
    static const struct app_option options[] = {
        {"--read-back", "results of the GPU are read, and nothing else", &only_read_back, NULL},
        {"--beside", "the same, and the host stores beside them", &beside, NULL},
        {"--kernel", "read() from a pipe and a file straight into mapped memory", &kernel, NULL},
        {"--handlers", "the program handles SIGSEGV and has faults", &handlers, NULL},
        {0},
    };
    static const struct app_program program = {
        .name = "stores",
        .what = "The ways in which bytes come into mapped memory.",
        .frames = 14,
        .options = options,
    };
    struct app app;
    app_init(&app, argc, argv, &program);
    if (handlers)
        with_handlers(&app);
    else
        app_device_create(&app, NULL);
    if (only_read_back || beside) {
        read_back(&app, beside);
    } else if (kernel) {
        by_kernel(&app);
    } else if (!handlers) {
        read_back(&app, true);
        torn(&app);
    }
    return app_finish(&app);
}

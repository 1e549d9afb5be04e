/* SPDX-License-Identifier: MIT */
/*
 * The tracker against a model that keeps whole copies. Random sequences of map, write, flush, bind, alias, submit,
 * device write, unmap and free; a replay that gets nothing but what was emitted, and whose device runs as early as it
 * may, while the captured one runs as late as it may. After each submit the replay's objects must hold what the program
 * put there.
 *
 * Every operation has a seed of its own, so any part of a sequence is a sequence. What fails is shrunk until no
 * operation can be left out, and printed. Memory lies in pages that other memories, and those of another tracker, lie
 * in too; where something was mapped, something else is mapped later; and the device stores through the same pages as
 * the program (as a software driver does) or behind them (as a GPU does).
 *
 * MODEL_SEED and MODEL_OPERATIONS in the environment repeat one sequence, or run a longer one; MODEL_RUNS says how many
 * run.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "memtrack/memtrack_internal.h"
#include "tests/unit/unit.h"

enum { MEMS = 3, MEM_BYTES = 2 * 4096 + 300, OBJECTS = 8, OBJECT_BYTES = 900, JOBS = 4, ATOM = 64 };
enum owner { NOBODY, HOST, DEVICE };

struct model_mem {
    struct lap_mem *mem;
    uint32_t flags;
    unsigned char *window_block,
        *window; /* the mapping: an allocation of its own, so that sanitizers see each step aside */
    uint32_t map_begin, map_end;
    unsigned char content[MEM_BYTES];      /* true where not mapped */
    unsigned char known[MEM_BYTES];        /* at the last scan, baseline or device write */
    unsigned char owner[MEM_BYTES];        /* who wrote last, as far as known */
    bool seen[MEM_BYTES], told[MEM_BYTES]; /* was mapped once; the device wrote it or was told to */
    bool flight[MEM_BYTES];                /* the device will write flight_value, and in the replay has */
    unsigned char flight_value[MEM_BYTES];
    bool left[MEM_BYTES];                   /* the device finished it */
    bool heir[MEM_BYTES], shown[MEM_BYTES]; /* an object inherits that; and the tracker could read it */
};

struct model_object {
    struct lap_memobj *object;
    uint32_t bytes;
    bool readable, sparse, only_read;
    struct {
        int8_t mem;
        bool device;
        uint32_t offset;
        unsigned char copy;
    } at[OBJECT_BYTES]; /* copy: the replay's */
};

/* Memory that is mapped twice: the program's view, which is watched, and the device's. */
enum { ARENA = 8 * 4096, NEIGHBOUR = 2500 };
static unsigned char *arena, *behind;

/* A memory of another tracker, which is always mapped. */
static struct {
    struct lap_memtrack *tracker;
    unsigned char *at;
    unsigned char copy[NEIGHBOUR];
} neighbour;

static struct lap_memtrack *tracker;
static struct model_mem mems[MEMS];
static struct model_object objects[OBJECTS];
static struct lap_touched jobs[JOBS];
static bool gated[JOBS]; /* it was submitted and can't begin yet */
static unsigned job_count, emit_budget;
static uint64_t seed, emitted;
static enum lap_watch_kind kind;

static uint32_t random_below(uint32_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 20) % limit);
}

static unsigned char *byte_at(struct model_mem *mem, uint32_t at)
{
    return mem->window && at >= mem->map_begin && at < mem->map_end ? &mem->window[at - mem->map_begin]
                                                                    : &mem->content[at];
}

static void device_stores(struct model_mem *mem, uint32_t at, unsigned char value, bool unseen)
{
    unsigned char *byte = byte_at(mem, at);
    if (unseen && byte >= arena && byte < arena + ARENA)
        byte = behind + (byte - arena);
    *byte = value;
}

/* ---- what the tracker is meant to notice ---- */

static void host_scan(struct model_mem *mem, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; i++) {
        unsigned char now = *byte_at(mem, i);
        if (!mem->window || i < mem->map_begin || i >= mem->map_end || now == mem->known[i])
            continue;
        mem->known[i] = now;
        mem->owner[i] = HOST;
        mem->told[i] = false;
    }
}

static void baseline(struct model_mem *mem, uint32_t begin, uint32_t end)
{
    for (uint32_t i = begin; i < end; i++) {
        unsigned char now = *byte_at(mem, i);
        if (now != mem->known[i])
            mem->owner[i] = NOBODY;
        mem->known[i] = now;
    }
}

static enum lap_status receive(void *context, void *user, uint64_t offset, const void *data, uint64_t bytes)
{
    struct model_object *object = user;
    if (emit_budget == 0)
        return LAP_ERROR_IO;
    emit_budget--;
    emitted += bytes;
    CHECK(object->object && object->readable && offset + bytes <= object->bytes);
    for (uint64_t i = offset; i < offset + bytes && i < object->bytes; i++) {
        CHECK(object->at[i].mem >= 0);
        if (object->at[i].mem >= 0) /* sent now, it would undo what the replay's device did */
            CHECK(!mems[object->at[i].mem].flight[object->at[i].offset]);
        object->at[i].copy = ((const unsigned char *)data)[i - offset];
    }
    return LAP_OK;
}

static bool in_touched(const struct lap_touched *touched, const struct model_object *object, uint32_t at)
{
    if (touched->everything)
        return true;
    for (size_t i = 0; i < touched->count; i++)
        if (touched->ranges[i].object == object->object && at >= touched->ranges[i].offset &&
            at < touched->ranges[i].offset + touched->ranges[i].bytes)
            return true;
    return false;
}

static void check_replay(const struct lap_touched *touched)
{
    for (unsigned o = 0; o < OBJECTS; o++) {
        struct model_object *object = &objects[o];
        for (uint32_t i = 0; object->object && i < object->bytes; i++) {
            struct model_mem *mem = object->at[i].mem >= 0 ? &mems[object->at[i].mem] : NULL;
            uint32_t at = object->at[i].offset;
            unsigned char now;
            bool must;
            if (!mem)
                continue;
            now = mem->flight[at] ? mem->flight_value[at] : *byte_at(mem, at);
            if (mem->flight[at])
                must = object->at[i].device;
            else if (now != mem->known[at])
                must = false; /* not scanned, not flushed */
            else if (mem->owner[at] == DEVICE)
                must = object->at[i].device ||
                       (mem->heir[at] && mem->shown[at] && object->readable && in_touched(touched, object, i));
            else
                must = mem->owner[at] == HOST && object->readable && in_touched(touched, object, i);
            if (must && object->at[i].copy != now) {
                UNIT_FAIL("object %u byte %u, memory %d byte %u: the replay has %u, expected %u", o, i,
                          object->at[i].mem, at, object->at[i].copy, now);
                return;
            }
        }
    }
}

/* ---- operations ---- */

static void take_out_job(unsigned number)
{
    lap_touched_finish(&jobs[number]);
    memmove(jobs + number, jobs + number + 1, (JOBS - 1 - number) * sizeof(*jobs));
    memmove(gated + number, gated + number + 1, (JOBS - 1 - number) * sizeof(*gated));
    job_count--;
}

/* The oldest that has begun. False: there is none. */
static bool finish_job(void)
{
    bool unseen = random_below(2);
    unsigned number = 0;
    while (number < job_count && gated[number])
        number++;
    if (number == job_count)
        return false;
    for (size_t r = 0; r < jobs[number].count; r++) {
        const struct lap_touched_range *range = &jobs[number].ranges[r];
        struct model_object *object = lap_memobj_user(range->object);
        uint64_t from = range->offset, to = from + range->bytes;
        for (uint64_t i = from; range->written && i < to; i++) {
            struct model_mem *mem = object->at[i].mem >= 0 ? &mems[object->at[i].mem] : NULL;
            uint32_t at = object->at[i].offset;
            if (!mem)
                continue;
            if (mem->flight[at])
                device_stores(mem, at, mem->flight_value[at], unseen);
            mem->flight[at] = false;
            mem->known[at] = *byte_at(mem, at);
            mem->owner[at] = DEVICE;
            mem->left[at] = true;
        }
    }
    lap_memtrack_device_wrote(tracker, &jobs[number]);
    take_out_job(number);
    lap_memtrack_device_busy(tracker, NULL, true);
    for (unsigned i = 0; i < job_count; i++)
        if (!gated[i])
            lap_memtrack_device_busy(tracker, &jobs[i], false);
    return true;
}

/* A program must not let the device write what another job is writing, or what it has yet to flush itself. */
static bool device_may_write(const struct model_object *object, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        struct model_mem *mem = object->at[i].mem >= 0 ? &mems[object->at[i].mem] : NULL;
        uint32_t at = object->at[i].offset;
        if (mem && (mem->flight[at] || (!(mem->flags & LAP_MEM_HOST_COHERENT) && *byte_at(mem, at) != mem->known[at])))
            return false;
    }
    return true;
}

static void scan_as_touched(const struct lap_touched *touched, const struct model_object *object)
{
    for (uint32_t i = 0; object->object && object->readable && i < object->bytes; i++) {
        struct model_mem *mem = object->at[i].mem >= 0 ? &mems[object->at[i].mem] : NULL;
        if (mem && (mem->flags & LAP_MEM_HOST_COHERENT) && in_touched(touched, object, i))
            host_scan(mem, object->at[i].offset, object->at[i].offset + 1);
    }
}

/* Readable objects in the bytes that the device is about to write through an unreadable one are scanned there. */
static void scan_under_images(const struct lap_touched *touched)
{
    for (size_t r = 0; r < touched->count && !touched->everything; r++) {
        const struct lap_touched_range *range = &touched->ranges[r];
        struct model_object *image = lap_memobj_user(range->object);
        for (unsigned o = 0; o < OBJECTS && range->written && !image->readable; o++)
            for (uint64_t i = range->offset; i < range->offset + range->bytes; i++)
                for (uint32_t j = 0; objects[o].object && objects[o].readable && j < objects[o].bytes; j++)
                    if (objects[o].at[j].mem >= 0 && objects[o].at[j].mem == image->at[i].mem &&
                        objects[o].at[j].offset == image->at[i].offset &&
                        (mems[image->at[i].mem].flags & LAP_MEM_HOST_COHERENT))
                        host_scan(&mems[image->at[i].mem], image->at[i].offset, image->at[i].offset + 1);
    }
}

/* A collect may look at what lies between two reads, too. Nobody but the host stores there unannounced. */
static void scan_as_the_tracker_did(void)
{
    for (struct model_mem *mem = mems; mem < mems + MEMS; mem++)
        for (uint32_t i = 0; mem->mem && mem->window && i < MEM_BYTES; i++)
            if (*byte_at(mem, i) != mem->known[i] && lap_interval_intersects(&mem->mem->written, i, i + 1) &&
                lap_shadow_page(&mem->mem->shadow, i / LAP_SHADOW_PAGE)[i % LAP_SHADOW_PAGE] == *byte_at(mem, i))
                host_scan(mem, i, i + 1);
}

static void run_on_replay(const struct lap_touched *touched)
{
    for (size_t r = 0; r < touched->count; r++) {
        const struct lap_touched_range *range = &touched->ranges[r];
        struct model_object *object = lap_memobj_user(range->object);
        for (uint64_t i = range->offset; range->written && i < range->offset + range->bytes; i++) {
            struct model_mem *mem = object->at[i].mem >= 0 ? &mems[object->at[i].mem] : NULL;
            if (!mem)
                continue;
            if (!mem->flight[object->at[i].offset])
                mem->flight_value[object->at[i].offset] = (unsigned char)random_below(4);
            mem->flight[object->at[i].offset] = mem->told[object->at[i].offset] = true;
            mem->left[object->at[i].offset] = mem->heir[object->at[i].offset] = false;
        }
    }
    for (unsigned o = 0; o < OBJECTS; o++)
        for (uint32_t i = 0; objects[o].object && i < objects[o].bytes; i++)
            if (objects[o].at[i].mem >= 0 && mems[objects[o].at[i].mem].flight[objects[o].at[i].offset] &&
                touched->count) {
                objects[o].at[i].copy = mems[objects[o].at[i].mem].flight_value[objects[o].at[i].offset];
                objects[o].at[i].device = true;
            }
}

/* What a gated job waits for has been signalled. All that the host has stored until now goes in front of it, and only
 * then its bytes are the device's. False: the program had better not signal now. */
static bool open_job(unsigned number)
{
    const struct lap_touched all = {.everything = true}, *job = &jobs[number];
    for (size_t r = 0; r < job->count; r++)
        if (job->ranges[r].written && !device_may_write(lap_memobj_user(job->ranges[r].object), job->ranges[r].offset,
                                                        job->ranges[r].offset + job->ranges[r].bytes))
            return false;
    for (unsigned o = 0; o < OBJECTS; o++)
        scan_as_touched(&all, &objects[o]);
    scan_under_images(job);
    emit_budget = UINT32_MAX;
    CHECK_EQ_INT(lap_memtrack_collect(tracker, NULL, receive, NULL, NULL, NULL), LAP_OK);
    check_replay(&all);
    CHECK_EQ_INT(lap_memtrack_collect(tracker, job, receive, NULL, NULL, NULL), LAP_OK);
    run_on_replay(job);
    lap_memtrack_device_busy(tracker, job, false);
    gated[number] = false;
    return true;
}

static void op_open(void)
{
    unsigned number = job_count ? random_below(job_count) : 0;
    if (job_count && gated[number])
        open_job(number);
}

/* Vulkan forbids to pull objects and memory away from under running work. What is never let go is given up. */
static void finish_all_jobs(void)
{
    while (job_count)
        if (!finish_job() && !open_job(0))
            take_out_job(0);
}

static void op_mem(struct model_mem *mem)
{
    static const uint32_t flags[] = {
        3, 3, 3 | LAP_MEM_FRESH, 1, 1 | LAP_MEM_FRESH, 3 | LAP_MEM_FILLED, 1 | LAP_MEM_FILLED};
    unsigned index = (unsigned)(mem - mems);
    if (mem->mem && random_below(40) != 0)
        return;
    if (mem->mem) {
        finish_all_jobs();
        lap_mem_destroy(&mem->mem);
        free(mem->window_block);
        for (unsigned o = 0; o < OBJECTS; o++)
            for (uint32_t i = 0; i < OBJECT_BYTES; i++)
                if (objects[o].at[i].mem == (int)index)
                    objects[o].at[i].mem = -1;
        *mem = (struct model_mem){0};
        return;
    }
    mem->flags = flags[random_below(sizeof flags / sizeof flags[0])];
    CHECK_EQ_INT(lap_mem_create(tracker, MEM_BYTES, mem->flags, &mem->mem), LAP_OK);
    if (random_below(2))
        for (uint32_t i = random_below(MEM_BYTES), end = i + random_below(MEM_BYTES - i); i < end; i++)
            mem->content[i] = (unsigned char)random_below(4);
}

static bool is_free(const unsigned char *at, uint32_t bytes)
{
    if (at < neighbour.at + NEIGHBOUR && neighbour.at < at + bytes)
        return false;
    for (unsigned m = 0; m < MEMS; m++)
        if (mems[m].window && at < mems[m].window + (mems[m].map_end - mems[m].map_begin) &&
            mems[m].window < at + bytes)
            return false;
    return true;
}

/* A watch that forgets some pages is in use. Which ones it forgets follows from their addresses: so that a sequence of
 * operations fails again when it is shrunk, it gets them from the arena and not from malloc. */
static bool forgetful;

/* Somewhere among the others if there is room, and otherwise in an allocation of its own. */
static unsigned char *find_window(struct model_mem *mem, uint32_t bytes)
{
    mem->window_block = NULL;
    for (unsigned tries = forgetful ? 100 : random_below(4) * 3; tries; tries--) {
        unsigned char *at = arena + random_below(ARENA - bytes);
        if (is_free(at, bytes))
            return at;
    }
    mem->window_block = malloc(bytes + 64);
    return mem->window_block + random_below(64);
}

static void op_map(struct model_mem *mem)
{
    unsigned char *window;
    if (!mem->mem || mem->window)
        return;
    mem->map_begin = random_below(3) ? 0 : random_below(MEM_BYTES);
    mem->map_end = random_below(3) ? MEM_BYTES : mem->map_begin + 1 + random_below(MEM_BYTES - mem->map_begin);
    window = find_window(mem, mem->map_end - mem->map_begin);
    memcpy(window, mem->content + mem->map_begin, mem->map_end - mem->map_begin);
    mem->window = window;
    for (uint32_t i = mem->map_begin; i < mem->map_end; i++) {
        /* An exact watch knows that nobody stored what is left over, but what was filled before it can't know. */
        uint32_t counts = kind == LAP_WATCH_COMPARE ? LAP_MEM_FRESH | LAP_MEM_FILLED : LAP_MEM_FILLED;
        if ((mem->flags & counts) && !mem->seen[i] && !mem->told[i]) {
            mem->known[i] = 0;
            host_scan(mem, i, i + 1);
        }
        baseline(mem, i, i + 1);
        mem->seen[i] = mem->shown[i] = true;
    }
    CHECK_EQ_INT(lap_mem_map(mem->mem, mem->window, mem->map_begin,
                             mem->map_end == MEM_BYTES ? UINT64_MAX : mem->map_end - mem->map_begin),
                 LAP_OK);
}

/* What the layer does behind a bind and an unmap. */
static void show_owed(struct model_mem *mem)
{
    uint64_t offset, bytes;
    if (mem->window)
        return;
    if (lap_mem_has_unread(mem->mem, &offset, &bytes)) {
        unsigned char *view = malloc(bytes);
        memcpy(view, mem->content + offset, bytes);
        lap_mem_show(mem->mem, view, offset, bytes);
        free(view);
        CHECK(!lap_mem_has_unread(mem->mem, &offset, &bytes));
    }
    memset(mem->shown, true, MEM_BYTES);
}

static void op_unmap(struct model_mem *mem)
{
    if (!mem->window)
        return;
    if (mem->flags & LAP_MEM_HOST_COHERENT)
        host_scan(mem, mem->map_begin, mem->map_end);
    lap_mem_unmap(mem->mem);
    memcpy(mem->content + mem->map_begin, mem->window, mem->map_end - mem->map_begin);
    free(mem->window_block);
    mem->window = mem->window_block = NULL;
    if (random_below(2))
        show_owed(mem);
}

static void op_write(struct model_mem *mem)
{
    if (!mem->window)
        return;
    for (unsigned runs = 1 + random_below(4); runs; runs--) {
        uint32_t begin = mem->map_begin + random_below(mem->map_end - mem->map_begin);
        uint32_t end = begin + 1 + random_below(random_below(8) ? 40 : 3000);
        bool flat = random_below(4) == 0;
        unsigned char value = (unsigned char)random_below(4);
        for (uint32_t i = begin; i < end && i < mem->map_end; i++)
            if (!mem->flight[i])
                mem->window[i - mem->map_begin] = flat ? value : (unsigned char)random_below(4);
    }
}

static void op_flush_or_invalidate(struct model_mem *mem)
{
    uint32_t begin = random_below(MEM_BYTES) / ATOM * ATOM, bytes = (1 + random_below(40)) * ATOM;
    bool flush = random_below(5) != 0, to_end = random_below(4) == 0;
    uint32_t from, to;
    if (!mem->mem)
        return;
    if (flush)
        lap_mem_flush(mem->mem, begin, to_end ? UINT64_MAX : bytes);
    else
        lap_mem_invalidate(mem->mem, begin, to_end ? UINT64_MAX : bytes);
    if (!mem->window || (mem->flags & LAP_MEM_HOST_COHERENT))
        return;
    from = begin > mem->map_begin ? begin : mem->map_begin;
    to = to_end || begin + bytes > mem->map_end ? mem->map_end : begin + bytes;
    if (flush)
        host_scan(mem, from, to);
    else if (from < to)
        baseline(mem, from, to);
}

static void op_object(struct model_object *object)
{
    if (object->object && random_below(6) != 0)
        return;
    if (object->object) {
        finish_all_jobs();
        lap_memobj_destroy(&object->object);
        return;
    }
    object->bytes = 1 + random_below(OBJECT_BYTES);
    object->readable = random_below(6) != 0;
    object->sparse = random_below(5) == 0;
    for (uint32_t i = 0; i < OBJECT_BYTES; i++) {
        object->at[i].mem = -1;
        object->at[i].copy = 0;
        object->at[i].device = false;
    }
    CHECK_EQ_INT(lap_memobj_create(tracker, object, object->bytes, object->readable, &object->object), LAP_OK);
    object->only_read = object->readable && random_below(4) != 0;
    if (object->only_read)
        lap_memobj_only_read(object->object);
}

static bool is_used(const struct model_object *object)
{
    for (unsigned j = 0; j < job_count; j++)
        for (size_t r = 0; r < jobs[j].count; r++)
            if (jobs[j].ranges[r].object == object->object)
                return true;
    return false;
}

/* For each byte of a memory an object there that a replay puts into the same memory as a new one. */
struct alias {
    const struct model_object *object;
    uint32_t byte;
};

static void find_aliases(int mem, struct alias aliases[MEM_BYTES])
{
    memset(aliases, 0, MEM_BYTES * sizeof(*aliases));
    for (unsigned o = 0; o < OBJECTS; o++)
        for (uint32_t i = 0; objects[o].object && objects[o].readable && !objects[o].sparse && i < objects[o].bytes;
             i++)
            if (objects[o].at[i].mem == mem)
                aliases[objects[o].at[i].offset] = (struct alias){&objects[o], i};
}

/* What a new object finds at one byte: what an alias has, or nothing. */
static void place_byte(struct model_object *object, uint32_t byte, unsigned index, uint32_t at,
                       const struct alias *alias)
{
    struct model_mem *mem = &mems[index];
    bool shares = object->readable && !object->sparse, shared = shares && alias->object;
    object->at[byte].copy = shared ? alias->object->at[alias->byte].copy : 0;
    object->at[byte].device = shared && alias->object->at[alias->byte].device;
    object->at[byte].mem = (int8_t)index;
    object->at[byte].offset = at;
    if (!shares || shared || mem->owner[at] != DEVICE || !mem->left[at])
        return;
    if (!mem->heir[at])
        mem->shown[at] = mem->window && at >= mem->map_begin && at < mem->map_end;
    mem->heir[at] = true;
}

static void op_bind(struct model_object *object)
{
    static struct alias aliases[MEM_BYTES];
    unsigned index = random_below(MEMS);
    bool partly = random_below(3) == 0;
    uint32_t from, bytes, offset;
    if (!object->object || !mems[index].mem || (object->at[0].mem >= 0 && random_below(4) != 0))
        return;
    if (is_used(object)) /* a new alias of bytes in flight is fine, a move of what is used is not */
        finish_all_jobs();
    from = partly ? random_below(object->bytes) : 0;
    bytes = partly ? 1 + random_below(object->bytes - from) : object->bytes;
    offset = random_below(MEM_BYTES - bytes + 1);
    if (partly && random_below(3) == 0) {
        lap_memobj_unbind(object->object, from, bytes);
        for (uint32_t i = from; i < from + bytes; i++)
            object->at[i].mem = -1;
        return;
    }
    /* Stores that nobody looked for, then an image that the device writes over them, then a buffer in the same bytes
     * before the device is done: the one order that can't be told apart (docs/memory.md). */
    for (uint32_t i = offset; i < offset + bytes; i++)
        if (mems[index].flight[i] && *byte_at(&mems[index], i) != mems[index].known[i])
            finish_all_jobs();
    CHECK_EQ_INT((object->sparse ? lap_memobj_bind_sparse : lap_memobj_bind)(object->object, from, mems[index].mem,
                                                                             offset, bytes),
                 LAP_OK);
    for (uint32_t i = 0; i < bytes; i++)
        object->at[from + i].mem = -1;
    find_aliases((int)index, aliases);
    for (uint32_t i = 0; i < bytes; i++)
        place_byte(object, from + i, index, offset + i, &aliases[offset + i]);
    if (random_below(2))
        show_owed(&mems[index]);
}

/* What it will write is the host's until it begins. */
static void submit_gated(struct lap_touched *touched)
{
    struct lap_touched reads;
    lap_touched_init(&reads);
    CHECK(lap_touched_append(&reads, touched));
    for (size_t r = 0; r < reads.count; r++)
        reads.ranges[r].written = false;
    for (unsigned o = 0; o < OBJECTS; o++)
        scan_as_touched(&reads, &objects[o]);
    emit_budget = UINT32_MAX;
    CHECK_EQ_INT(lap_memtrack_collect(tracker, &reads, receive, NULL, NULL, NULL), LAP_OK);
    check_replay(&reads);
    lap_touched_finish(&reads);
    gated[job_count] = true;
    jobs[job_count++] = *touched;
}

static void op_submit(void)
{
    struct lap_touched touched;
    struct lap_collect_stats stats;
    enum lap_status status;
    bool writes = false, waits, scattered = random_below(12) == 0;
    if (job_count == JOBS && !finish_job())
        finish_all_jobs();
    lap_touched_init(&touched);
    touched.everything = random_below(6) == 0;
    waits = !touched.everything && random_below(3) == 0;
    for (unsigned ranges = scattered ? 48 : random_below(6); ranges; ranges--) {
        struct model_object *object = &objects[random_below(OBJECTS)];
        uint32_t from, bytes;
        bool written = random_below(3) == 0;
        if (!object->object)
            continue;
        from = !scattered && random_below(2) ? 0 : random_below(object->bytes);
        bytes = !scattered && random_below(2) ? object->bytes - from : 1 + random_below(object->bytes - from);
        if (scattered && bytes > 5)
            bytes = 5;
        if (!object->readable && bytes > 100) /* the model's search below is a slow one */
            bytes = 100;
        if (written && (object->only_read || (!waits && !device_may_write(object, from, from + bytes))))
            continue;
        CHECK(lap_touched_add(&touched, object->object, from, from + bytes == object->bytes ? UINT64_MAX : bytes,
                              written));
        writes |= written;
    }
    if (random_below(2))
        lap_touched_seal(&touched);
    if (waits && writes) {
        submit_gated(&touched);
        return;
    }
    for (unsigned o = 0; o < OBJECTS; o++)
        scan_as_touched(&touched, &objects[o]);
    scan_under_images(&touched);
    emit_budget = random_below(50) ? UINT32_MAX : random_below(4);
    status = lap_memtrack_collect(tracker, &touched, receive, NULL, NULL, &stats);
    CHECK(status == LAP_OK || (status == LAP_ERROR_IO && emit_budget == 0));
    scan_as_the_tracker_did();
    if (status != LAP_OK) { /* not submitted; the next one sends the rest */
        lap_touched_finish(&touched);
        return;
    }
    check_replay(&touched);
    if (random_below(8) == 0) {
        CHECK_EQ_INT(lap_memtrack_collect(tracker, &touched, receive, NULL, NULL, &stats), LAP_OK);
        CHECK_EQ_U64(stats.emitted_bytes, 0);
    }
    if (!writes) {
        lap_touched_finish(&touched);
        return;
    }
    run_on_replay(&touched);
    lap_memtrack_device_busy(tracker, &touched, false);
    gated[job_count] = false;
    jobs[job_count++] = touched;
}

static enum lap_status receive_neighbour(void *context, void *user, uint64_t offset, const void *data, uint64_t bytes)
{
    CHECK(offset + bytes <= NEIGHBOUR);
    if (offset + bytes <= NEIGHBOUR)
        memcpy(neighbour.copy + offset, data, bytes);
    return LAP_OK;
}

static void op_neighbour(void)
{
    if (random_below(3)) {
        neighbour.at[random_below(2) ? random_below(NEIGHBOUR) : random_below(20)]++;
        return;
    }
    CHECK_EQ_INT(lap_memtrack_collect(neighbour.tracker, NULL, receive_neighbour, NULL, NULL, NULL), LAP_OK);
    if (memcmp(neighbour.copy, neighbour.at, NEIGHBOUR) != 0)
        UNIT_FAIL("what was stored next to other memories is not in the other tracker's replay");
}

static const char *operate(void)
{
    struct model_mem *mem = &mems[random_below(MEMS)];
    struct model_object *object = &objects[random_below(OBJECTS)];
    switch (random_below(24)) {
    case 0:
        return op_mem(mem), "allocate or free";
    case 1:
        return op_object(object), "create or destroy";
    case 2:
    case 3:
        return op_bind(object), "bind";
    case 4:
    case 5:
        return op_map(mem), "map";
    case 6:
        return random_below(3) ? (op_write(mem), "write") : (op_unmap(mem), "unmap");
    case 7:
    case 8:
        return op_flush_or_invalidate(mem), "flush or invalidate";
    case 9:
    case 10:
        return finish_job(), "finish";
    case 11:
    case 12:
    case 13:
        return op_submit(), "submit";
    case 14:
    case 15:
        return op_neighbour(), "neighbour";
    case 16:
    case 17:
        return op_open(), "open";
    default:
        return op_write(mem), "write";
    }
}

/* ---- sequences ---- */

static uint64_t mix(uint64_t value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9ull;
    value = (value ^ value >> 27) * 0x94d049bb133111ebull;
    return value ^ value >> 31;
}

/* A watch that forgets: what it reports of every page with this number's remainder is lost. */
static unsigned forgotten_page;

struct forgetting {
    lap_watch_report_fn report;
    void *context;
};

static void report_some(void *context, const void *begin, size_t bytes)
{
    const struct forgetting *forgetting = context;
    uintptr_t at = (uintptr_t)begin, end = at + bytes, next;
    for (; at < end; at = next) {
        next = (at / 4096 + 1) * 4096 < end ? (at / 4096 + 1) * 4096 : end;
        if ((at / 4096) % 4 != forgotten_page)
            forgetting->report(forgetting->context, (const void *)at, next - at);
    }
}

static enum lap_status take_some(void *region, const void *begin, size_t bytes, lap_watch_report_fn report,
                                 void *context)
{
    struct forgetting forgetting = {report, context};
    return lap_watch_compare.take(region, begin, bytes, report_some, &forgetting);
}

static void make_tracker(uint64_t seed_of_run, struct lap_memtrack **out)
{
    struct lap_memtrack_options options = {
        .non_coherent_atom_bytes = ATOM, .coalesce_gap_bytes = (seed_of_run % 3) * 8, .watch = kind};
    if (seed_of_run % 2 && !forgetful) /* some mappings are compared for good, others until they were read often */
        options.small_bytes = 1024 + (uint32_t)(seed_of_run % 7) * 512;
    struct lap_watch_ops ops = lap_watch_compare;
    static struct lap_watch_ops forgetting;
    ops.exact = true;
    ops.take = take_some;
    forgetting = ops;
    CHECK_EQ_INT(forgetful ? lap_memtrack_create_watched(&options, &forgetting, NULL, "for a test", out)
                           : lap_memtrack_create(&options, out),
                 LAP_OK);
}

static void begin_run(uint64_t seed_of_run)
{
    struct lap_mem *mem = NULL;
    struct lap_memobj *object = NULL;
    memset(mems, 0, sizeof(mems));
    memset(objects, 0, sizeof(objects));
    memset(arena, 0, ARENA);
    memset(neighbour.copy, 0, sizeof(neighbour.copy));
    for (unsigned o = 0; o < OBJECTS; o++)
        for (uint32_t i = 0; i < OBJECT_BYTES; i++)
            objects[o].at[i].mem = -1;
    make_tracker(seed_of_run, &tracker);
    make_tracker(seed_of_run, &neighbour.tracker);
    neighbour.at = arena + mix(seed_of_run) % (ARENA - NEIGHBOUR);
    CHECK_EQ_INT(lap_mem_create(neighbour.tracker, NEIGHBOUR, LAP_MEM_HOST_VISIBLE | LAP_MEM_HOST_COHERENT, &mem),
                 LAP_OK);
    CHECK_EQ_INT(lap_memobj_create(neighbour.tracker, NULL, NEIGHBOUR, true, &object), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(object, 0, mem, 0, NEIGHBOUR), LAP_OK);
    CHECK_EQ_INT(lap_mem_map(mem, neighbour.at, 0, NEIGHBOUR), LAP_OK);
}

static void end_run(void)
{
    lap_memtrack_destroy(&tracker);
    lap_memtrack_destroy(&neighbour.tracker);
    for (unsigned m = 0; m < MEMS; m++)
        free(mems[m].window_block);
    while (job_count)
        lap_touched_finish(&jobs[--job_count]);
}

/* Returns how many operations were done before one failed, or all. */
static size_t run(uint64_t seed_of_run, const uint64_t *seeds, size_t count, bool print)
{
    size_t done = 0;
    begin_run(seed_of_run);
    while (done < count && !unit_failed) {
        const char *what;
        seed = seeds[done++] | 1;
        what = operate();
        if (print)
            printf("  %016" PRIx64 " %s\n", seeds[done - 1], what);
    }
    end_run();
    return done;
}

/* Leaves out halves, quarters, ... and at last single operations for as long as the rest still fails. */
static size_t shrink(uint64_t seed_of_run, uint64_t *seeds, size_t count)
{
    uint64_t *shorter = malloc(count * sizeof(*shorter));
    for (size_t part = count / 2; part && shorter; part = part > 1 ? (part + 1) / 2 : 0) {
        bool again;
        do {
            again = false;
            for (size_t first = 0; first < count;) {
                size_t end = first + part < count ? first + part : count, left = count - (end - first), done;
                memcpy(shorter, seeds, first * sizeof(*seeds));
                memcpy(shorter + first, seeds + end, (count - end) * sizeof(*seeds));
                unit_failed = false;
                done = left ? run(seed_of_run, shorter, left, false) : 0;
                if (!unit_failed) {
                    first = end;
                    continue;
                }
                memcpy(seeds, shorter, done * sizeof(*seeds));
                count = done;
                again = part == 1;
            }
        } while (again);
    }
    free(shorter);
    return count;
}

/* A failure of thousands of operations says the same thing thousands of times while it is shrunk. */
static int mute(void)
{
    int kept, nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    fflush(stdout);
    kept = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    dup2(nowhere, STDOUT_FILENO);
    close(nowhere);
    return kept;
}

static void unmute(int kept)
{
    fflush(stdout);
    dup2(kept, STDOUT_FILENO);
    close(kept);
}

/* 0: nothing failed. Otherwise the number of operations that it takes. */
static size_t run_and_shrink(uint64_t seed_of_run, size_t count)
{
    uint64_t *seeds = malloc(count * sizeof(*seeds));
    size_t needed = 0;
    int out = mute();
    for (size_t i = 0; i < count; i++)
        seeds[i] = mix(seed_of_run * 0x9e3779b97f4a7c15ull + i);
    count = run(seed_of_run, seeds, count, false);
    if (unit_failed)
        needed = shrink(seed_of_run, seeds, count);
    unmute(out);
    if (needed) {
        printf("seed %" PRIu64 " fails, and these %zu operations of it are enough:\n", seed_of_run, needed);
        unit_failed = false;
        run(seed_of_run, seeds, needed, true);
    }
    free(seeds);
    return needed;
}

static bool prepare_arena(void)
{
    int fd = memfd_create("lapilli test", MFD_CLOEXEC);
    if (arena)
        return true;
    if (fd < 0 || ftruncate(fd, ARENA) != 0)
        return false;
    arena = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    behind = mmap(NULL, ARENA, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return arena != MAP_FAILED && behind != MAP_FAILED;
}

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

/* The same sequences every time, and some that nobody has run before. */
static void run_with(enum lap_watch_kind watch, const char *name)
{
    const size_t length = number_from("MODEL_OPERATIONS", 10000), runs = number_from("MODEL_RUNS", 50),
                 new_runs = runs / 5, old_runs = runs - new_runs;
    uint64_t wanted = number_from("MODEL_SEED", 0), fresh = (uint64_t)time(NULL) * 1000;
    bool works;
    kind = watch;
    emitted = 0;
    CHECK(prepare_arena());
    make_tracker(0, &tracker);
    works = strcmp(lap_memtrack_watch_name(tracker), name) == 0;
    lap_memtrack_destroy(&tracker);
    if (!works)
        SKIP("this watch does not work here");
    if (wanted) {
        run_and_shrink(wanted, length);
        return;
    }
    for (uint64_t i = 1; i <= old_runs && !unit_failed; i++)
        run_and_shrink(i, length);
    printf("%s: fresh seeds from %" PRIu64 "\n", name, fresh);
    for (uint64_t i = 0; i < new_runs && !unit_failed; i++)
        run_and_shrink(fresh + i, length);
    CHECK(emitted > 0); /* a model that never sends anything would agree with everything */
}

UNIT_TEST(the_replay_holds_what_the_program_put_there_compare)
{
    run_with(LAP_WATCH_COMPARE, "compare");
}

UNIT_TEST(the_replay_holds_what_the_program_put_there_pagemap)
{
    run_with(LAP_WATCH_PAGEMAP, "pagemap");
}

UNIT_TEST(the_replay_holds_what_the_program_put_there_mprotect)
{
    run_with(LAP_WATCH_MPROTECT, "mprotect");
}

UNIT_TEST(the_model_finds_a_watch_that_loses_a_write)
{
    size_t needed = 0;
    CHECK(prepare_arena());
    kind = LAP_WATCH_COMPARE;
    forgetful = true;
    for (forgotten_page = 0; forgotten_page < 4; forgotten_page++) {
        int out = mute();
        needed = run_and_shrink(100 + forgotten_page, 3000);
        unmute(out);
        unit_failed = false;
        CHECK(needed > 0 && needed <= 16); /* gated jobs and small mappings take some operations more */
    }
    forgetful = false;
}

UNIT_MAIN();

/* SPDX-License-Identifier: MIT */
/*
 * The tracker against a model that keeps whole copies. Random sequences of map, write, flush, bind, alias, submit,
 * device write, unmap and free; a replay that gets nothing but what was emitted, and whose device runs as early as it
 * may, while the captured one runs as late as it may. After each submit the replay's objects must hold what the program
 * put there.
 *
 * MODEL_SEED and MODEL_OPERATIONS in the environment repeat one sequence, or run a longer one.
 */
#include <stdlib.h>

#include "memtrack/memtrack.h"
#include "tests/unit/unit.h"

enum { MEMS = 3, MEM_BYTES = 3 * 4096 + 700, OBJECTS = 10, OBJECT_BYTES = 3000, JOBS = 4, ATOM = 64 };
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
};

struct model_object {
    struct lap_memobj *object;
    uint32_t bytes;
    bool readable;
    struct {
        int8_t mem;
        bool device;
        uint32_t offset;
        unsigned char copy;
    } at[OBJECT_BYTES]; /* copy: the replay's */
};

static struct lap_memtrack *tracker;
static struct model_mem mems[MEMS];
static struct model_object objects[OBJECTS];
static struct lap_touched jobs[JOBS];
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
                must = object->at[i].device;
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

static void finish_job(void)
{
    struct lap_touched *job = &jobs[0];
    if (!job_count)
        return;
    for (size_t r = 0; r < job->count; r++) {
        struct model_object *object = lap_memobj_user(job->ranges[r].object);
        uint64_t from = job->ranges[r].offset, to = from + job->ranges[r].bytes;
        for (uint64_t i = from; job->ranges[r].written && i < to; i++) {
            struct model_mem *mem = object->at[i].mem >= 0 ? &mems[object->at[i].mem] : NULL;
            uint32_t at = object->at[i].offset;
            if (!mem)
                continue;
            if (mem->flight[at])
                *byte_at(mem, at) = mem->flight_value[at];
            mem->flight[at] = false;
            mem->known[at] = *byte_at(mem, at);
            mem->owner[at] = DEVICE;
        }
    }
    lap_memtrack_device_wrote(tracker, job);
    lap_touched_finish(job);
    memmove(jobs, jobs + 1, (JOBS - 1) * sizeof(*jobs));
    job_count--;
    lap_memtrack_device_busy(tracker, NULL, true);
    for (unsigned i = 0; i < job_count; i++)
        lap_memtrack_device_busy(tracker, &jobs[i], false);
}

/* Vulkan forbids to pull objects and memory away from under running work. */
static void finish_all_jobs(void)
{
    while (job_count)
        finish_job();
}

static void op_mem(struct model_mem *mem)
{
    static const uint32_t flags[] = {3, 3, 3 | LAP_MEM_FRESH, 1, 1 | LAP_MEM_FRESH};
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
    mem->flags = flags[random_below(5)];
    CHECK_EQ_INT(lap_mem_create(tracker, MEM_BYTES, mem->flags, &mem->mem), LAP_OK);
    if (random_below(2))
        for (uint32_t i = random_below(MEM_BYTES), end = i + random_below(MEM_BYTES - i); i < end; i++)
            mem->content[i] = (unsigned char)random_below(4);
}

static void op_map(struct model_mem *mem)
{
    uint32_t shift = random_below(64);
    if (!mem->mem || mem->window)
        return;
    mem->map_begin = random_below(3) ? 0 : random_below(MEM_BYTES);
    mem->map_end = random_below(3) ? MEM_BYTES : mem->map_begin + 1 + random_below(MEM_BYTES - mem->map_begin);
    mem->window_block = malloc(shift + mem->map_end - mem->map_begin);
    memcpy(mem->window_block + shift, mem->content + mem->map_begin, mem->map_end - mem->map_begin);
    mem->window = mem->window_block + shift;
    for (uint32_t i = mem->map_begin; i < mem->map_end; i++) {
        /* An exact watch knows that nobody stored what is left over. */
        if (kind == LAP_WATCH_COMPARE && (mem->flags & LAP_MEM_FRESH) && !mem->seen[i] && !mem->told[i]) {
            mem->known[i] = 0;
            host_scan(mem, i, i + 1);
        }
        baseline(mem, i, i + 1);
        mem->seen[i] = true;
    }
    CHECK_EQ_INT(lap_mem_map(mem->mem, mem->window, mem->map_begin,
                             mem->map_end == MEM_BYTES ? UINT64_MAX : mem->map_end - mem->map_begin),
                 LAP_OK);
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
    for (uint32_t i = 0; i < OBJECT_BYTES; i++) {
        object->at[i].mem = -1;
        object->at[i].copy = 0;
        object->at[i].device = false;
    }
    CHECK_EQ_INT(lap_memobj_create(tracker, object, object->bytes, object->readable, &object->object), LAP_OK);
}

static bool is_used(const struct model_object *object)
{
    for (unsigned j = 0; j < job_count; j++)
        for (size_t r = 0; r < jobs[j].count; r++)
            if (jobs[j].ranges[r].object == object->object)
                return true;
    return false;
}

static void op_bind(struct model_object *object)
{
    unsigned index = random_below(MEMS);
    bool sparse = random_below(3) == 0;
    uint32_t from, bytes, offset;
    if (!object->object || !mems[index].mem || (object->at[0].mem >= 0 && random_below(4) != 0))
        return;
    if (is_used(object)) /* a new alias of bytes in flight is fine, a move of what is used is not */
        finish_all_jobs();
    from = sparse ? random_below(object->bytes) : 0;
    bytes = sparse ? 1 + random_below(object->bytes - from) : object->bytes;
    offset = random_below(MEM_BYTES - bytes + 1);
    if (sparse && random_below(3) == 0) {
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
    CHECK_EQ_INT(lap_memobj_bind(object->object, from, mems[index].mem, offset, bytes), LAP_OK);
    for (uint32_t i = 0; i < bytes; i++) {
        object->at[from + i].mem = (int8_t)index;
        object->at[from + i].offset = offset + i;
        object->at[from + i].copy = 0;
        object->at[from + i].device = false;
    }
}

/* A program must not let the device write what another job is writing, or what it has yet to flush itself. */
static bool device_may_write(const struct model_object *object, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++) {
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

static void op_submit(void)
{
    struct lap_touched touched;
    struct lap_collect_stats stats;
    enum lap_status status;
    bool writes = false;
    if (job_count == JOBS)
        finish_job();
    lap_touched_init(&touched);
    touched.everything = random_below(6) == 0;
    for (unsigned ranges = random_below(6); ranges; ranges--) {
        struct model_object *object = &objects[random_below(OBJECTS)];
        uint32_t from, bytes;
        bool written = random_below(3) == 0;
        if (!object->object)
            continue;
        from = random_below(2) ? 0 : random_below(object->bytes);
        bytes = random_below(2) ? object->bytes - from : 1 + random_below(object->bytes - from);
        if (!object->readable && bytes > 100) /* the model's search below is a slow one */
            bytes = 100;
        if (written && !device_may_write(object, from, from + bytes))
            continue;
        CHECK(lap_touched_add(&touched, object->object, from, from + bytes == object->bytes ? UINT64_MAX : bytes,
                              written));
        writes |= written;
    }
    if (random_below(2))
        lap_touched_seal(&touched);
    for (unsigned o = 0; o < OBJECTS; o++)
        scan_as_touched(&touched, &objects[o]);
    scan_under_images(&touched);
    emit_budget = random_below(50) ? UINT32_MAX : random_below(4);
    status = lap_memtrack_collect(tracker, &touched, receive, NULL, &stats);
    CHECK(status == LAP_OK || (status == LAP_ERROR_IO && emit_budget == 0));
    if (status != LAP_OK) { /* not submitted; the next one sends the rest */
        lap_touched_finish(&touched);
        return;
    }
    check_replay(&touched);
    if (random_below(8) == 0) {
        CHECK_EQ_INT(lap_memtrack_collect(tracker, &touched, receive, NULL, &stats), LAP_OK);
        CHECK_EQ_U64(stats.emitted_bytes, 0);
    }
    if (!writes) {
        lap_touched_finish(&touched);
        return;
    }
    run_on_replay(&touched);
    lap_memtrack_device_busy(tracker, &touched, false);
    jobs[job_count++] = touched;
}

static void run(uint64_t first_seed, unsigned operations)
{
    struct lap_memtrack_options options = {
        .non_coherent_atom_bytes = ATOM, .coalesce_gap_bytes = (first_seed % 3) * 8, .watch = kind};
    seed = first_seed * 0x9e3779b97f4a7c15ull + 1;
    memset(mems, 0, sizeof(mems));
    memset(objects, 0, sizeof(objects));
    for (unsigned o = 0; o < OBJECTS; o++)
        for (uint32_t i = 0; i < OBJECT_BYTES; i++)
            objects[o].at[i].mem = -1;
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    for (unsigned step = 0; step < operations && !unit_failed; step++) {
        struct model_mem *mem = &mems[random_below(MEMS)];
        struct model_object *object = &objects[random_below(OBJECTS)];
        switch (random_below(20)) {
        case 0:
            op_mem(mem);
            break;
        case 1:
            op_object(object);
            break;
        case 2:
        case 3:
            op_bind(object);
            break;
        case 4:
        case 5:
            op_map(mem);
            break;
        case 6:
            random_below(3) ? op_write(mem) : op_unmap(mem);
            break;
        case 7:
        case 8:
            op_flush_or_invalidate(mem);
            break;
        case 9:
        case 10:
            finish_job();
            break;
        case 11:
        case 12:
        case 13:
            op_submit();
            break;
        default:
            op_write(mem);
            break;
        }
        if (unit_failed)
            printf("seed %" PRIu64 ", step %u\n", first_seed, step);
    }
    lap_memtrack_destroy(&tracker);
    for (unsigned m = 0; m < MEMS; m++)
        free(mems[m].window_block);
    while (job_count)
        lap_touched_finish(&jobs[--job_count]);
}

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);
    return text && *text ? strtoull(text, NULL, 0) : otherwise;
}

static void run_with(enum lap_watch_kind watch, const char *name)
{
    uint64_t seeds = number_from("MODEL_SEED", 0), first = seeds ? seeds : 1, last = seeds ? seeds : 10;
    struct lap_memtrack_options options = {.watch = watch};
    kind = watch;
    emitted = 0;
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    if (strcmp(lap_memtrack_watch_name(tracker), name) != 0) {
        lap_memtrack_destroy(&tracker);
        SKIP(name);
    }
    lap_memtrack_destroy(&tracker);
    while (first <= last && !unit_failed)
        run(first++, (unsigned)number_from("MODEL_OPERATIONS", 10000));
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

UNIT_MAIN();

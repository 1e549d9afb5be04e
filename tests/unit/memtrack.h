/* SPDX-License-Identifier: MIT */
/*
 * memtrack: what the tests of the tracker share. A rule is a test that is run with each write watch that works here.
 */
#ifndef LAP_TESTS_MEMTRACK_H
#define LAP_TESTS_MEMTRACK_H

#include <stdlib.h>

#include "memtrack/memtrack_internal.h"
#include "tests/unit/machine.h"
#include "tests/unit/unit.h"

enum { MEM = 64 * 1024, COHERENT = LAP_MEM_HOST_VISIBLE | LAP_MEM_HOST_COHERENT };

/* What a replay would hold of one object. */
struct copy {
    unsigned char bytes[MEM];
    uint64_t received;
};

static struct lap_memtrack *tracker;
static struct lap_mem *mem;
static unsigned char *store; /* the device memory itself */
static struct copy copies[4];
static struct lap_collect_stats stats;
static unsigned emit_budget; /* calls that succeed */
static enum lap_watch_kind kind;
static bool exact; /* the watch reports only what was written */

/* A rule is a test for each back end. */
static inline const char *prepare(enum lap_watch_kind wanted, const char *name)
{
    static char reason[300];
    struct lap_memtrack_options options = {.watch = wanted};
    bool works;
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    works = strcmp(lap_memtrack_watch_name(tracker), name) == 0;
    snprintf(reason, sizeof(reason), "%s", lap_memtrack_watch_reason(tracker));
    lap_memtrack_destroy(&tracker);
    kind = wanted;
    exact = wanted != LAP_WATCH_COMPARE;
    return works ? NULL : reason;
}

#define RULE_WITH(rule, watch, wanted)                                                                                 \
    UNIT_TEST(rule##_##watch)                                                                                          \
    {                                                                                                                  \
        const char *missing = prepare(wanted, #watch);                                                                 \
        if (missing)                                                                                                   \
            SKIP(missing);                                                                                             \
        unit_checked = false; /* prepare() has checked that there is a tracker, which proves no rule */                \
        rule();                                                                                                        \
    }
#define RULE(rule)                                                                                                     \
    static void rule(void);                                                                                            \
    RULE_WITH(rule, compare, LAP_WATCH_COMPARE)                                                                        \
    RULE_WITH(rule, pagemap, LAP_WATCH_PAGEMAP)                                                                        \
    RULE_WITH(rule, mprotect, LAP_WATCH_MPROTECT)                                                                      \
    static void rule(void)

/* What comparing reads; a watch that is exact reads no more than that. */
#define CHECK_SCANNED(bytes)                                                                                           \
    do {                                                                                                               \
        if (!exact)                                                                                                    \
            CHECK_EQ_U64(stats.scanned_bytes, bytes);                                                                  \
        else                                                                                                           \
            CHECK(stats.scanned_bytes <= (bytes));                                                                     \
    } while (0)

static inline enum lap_status take(void *context, void *user, uint64_t offset, const void *data, uint64_t bytes)
{
    struct copy *copy = user;
    CHECK(context == &tracker);
    if (emit_budget == 0)
        return LAP_ERROR_IO;
    emit_budget--;
    CHECK(bytes > 0 && offset + bytes <= MEM);
    if (offset + bytes <= MEM)
        memcpy(copy->bytes + offset, data, bytes);
    copy->received += bytes;
    return LAP_OK;
}

static inline void begin_with(uint32_t flags, enum lap_watch_kind watch)
{
    struct lap_memtrack_options options = {.watch = watch, .non_coherent_atom_bytes = 64, .coalesce_gap_bytes = 16};
    CHECK_EQ_INT(lap_memtrack_create(&options, &tracker), LAP_OK);
    CHECK_EQ_INT(lap_mem_create(tracker, MEM, flags, &mem), LAP_OK);
    store = calloc(1, MEM);
    memset(copies, 0, sizeof(copies));
    emit_budget = UINT32_MAX;
}

static inline void begin(void)
{
    begin_with(COHERENT, kind);
}

static inline void end(void)
{
    lap_memtrack_destroy(&tracker);
    CHECK(tracker == NULL);
    free(store);
}

static inline struct lap_memobj *object_at(unsigned copy, uint64_t offset, uint64_t bytes)
{
    struct lap_memobj *object = NULL;
    CHECK_EQ_INT(lap_memobj_create(tracker, &copies[copy], bytes, true, &object), LAP_OK);
    CHECK_EQ_INT(lap_memobj_bind(object, 0, mem, offset, bytes), LAP_OK);
    return object;
}

static inline void map(uint64_t offset, uint64_t bytes)
{
    CHECK_EQ_INT(lap_mem_map(mem, store + offset, offset, bytes), LAP_OK);
}

static inline enum lap_status collect(const struct lap_touched *touched)
{
    return lap_memtrack_collect(tracker, touched, take, NULL, &tracker, &stats);
}

static inline void collect_range(struct lap_memobj *object, uint64_t offset, uint64_t bytes, bool written)
{
    struct lap_touched touched;
    lap_touched_init(&touched);
    CHECK(lap_touched_add(&touched, object, offset, bytes, written));
    CHECK_EQ_INT(collect(&touched), LAP_OK);
    lap_touched_finish(&touched);
}

static inline void device_wrote(struct lap_memobj *object, uint64_t offset, uint64_t bytes)
{
    struct lap_touched touched;
    lap_touched_init(&touched);
    CHECK(lap_touched_add(&touched, object, offset, bytes, true));
    lap_memtrack_device_wrote(tracker, &touched);
    lap_touched_finish(&touched);
}

#define COLLECT_ALL() CHECK_EQ_INT(collect(NULL), LAP_OK)

#endif

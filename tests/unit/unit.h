/* SPDX-License-Identifier: MIT */
/*
 * unit: the smallest test frame that does the job. A test file defines tests with UNIT_TEST and ends with UNIT_MAIN. A
 * test fails when one of its checks fails, and when it ran none and was not skipped: checks of other processes do not
 * count.
 */
#ifndef LAP_TESTS_UNIT_H
#define LAP_TESTS_UNIT_H

#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/process/sanitizers.h"

/* A test that tries every byte, or many processes, tries one of as many: with a sanitizer processes, pages and large
 * allocations cost ten times as much. It divides no power of two, which things in files lie at. */
enum { UNIT_STRIDE = LAP_ADDRESS_SANITIZER || LAP_THREAD_SANITIZER ? 7 : 1 };

struct unit_case {
    const char *name;
    void (*run)(void);
    struct unit_case *next;
};

static struct unit_case *unit_first, **unit_last = &unit_first;
static bool unit_failed, unit_checked;
static const char *unit_skipped;

#define UNIT_TEST(test_name)                                                                                           \
    static void test_name(void);                                                                                       \
    static struct unit_case unit_case_##test_name = {#test_name, test_name, NULL};                                     \
    __attribute__((constructor)) static void unit_register_##test_name(void)                                           \
    {                                                                                                                  \
        *unit_last = &unit_case_##test_name;                                                                           \
        unit_last = &unit_case_##test_name.next;                                                                       \
    }                                                                                                                  \
    static void test_name(void)

#define UNIT_FAIL(...)                                                                                                 \
    (unit_failed = true, printf("%s:%d: ", __FILE__, __LINE__), printf(__VA_ARGS__), printf("\n"), (void)0)
// Tests check on several threads.
#define UNIT_CHECKED()   __atomic_store_n(&unit_checked, true, __ATOMIC_RELAXED)
#define CHECK(condition) (UNIT_CHECKED(), (condition) ? (void)0 : UNIT_FAIL("failed: %s", #condition))
#define CHECK_EQ_U64(a, b)                                                                                             \
    do {                                                                                                               \
        uint64_t unit_a = (uint64_t)(a), unit_b = (uint64_t)(b);                                                       \
        UNIT_CHECKED();                                                                                                \
        if (unit_a != unit_b)                                                                                          \
            UNIT_FAIL("%s is %" PRIu64 ", expected %s = %" PRIu64, #a, unit_a, #b, unit_b);                            \
    } while (0)
#define CHECK_EQ_INT(a, b)                                                                                             \
    do {                                                                                                               \
        int64_t unit_a = (int64_t)(a), unit_b = (int64_t)(b);                                                          \
        UNIT_CHECKED();                                                                                                \
        if (unit_a != unit_b)                                                                                          \
            UNIT_FAIL("%s is %" PRId64 ", expected %s = %" PRId64, #a, unit_a, #b, unit_b);                            \
    } while (0)
#define CHECK_STR(a, b)                                                                                                \
    do {                                                                                                               \
        const char *unit_a = (a), *unit_b = (b);                                                                       \
        UNIT_CHECKED();                                                                                                \
        if (!unit_a || !unit_b || strcmp(unit_a, unit_b) != 0)                                                         \
            UNIT_FAIL("%s is \"%s\", expected \"%s\"", #a, unit_a ? unit_a : "(null)", unit_b ? unit_b : "(null)");    \
    } while (0)
#define SKIP(reason)                                                                                                   \
    do {                                                                                                               \
        unit_skipped = (reason);                                                                                       \
        return;                                                                                                        \
    } while (0)

#define UNIT_MAIN()                                                                                                    \
    int main(void)                                                                                                     \
    {                                                                                                                  \
        unsigned passed = 0, failed = 0, skipped = 0;                                                                  \
        for (struct unit_case *test = unit_first; test; test = test->next) {                                           \
            unit_failed = unit_checked = false;                                                                        \
            unit_skipped = NULL;                                                                                       \
            test->run();                                                                                               \
            if (!unit_checked && !unit_skipped)                                                                        \
                unit_failed = true, printf("%s: no check ran\n", test->name);                                          \
            if (unit_failed)                                                                                           \
                failed++, printf("FAIL %s\n", test->name);                                                             \
            else if (unit_skipped)                                                                                     \
                skipped++, printf("skip %s: %s\n", test->name, unit_skipped);                                          \
            else                                                                                                       \
                passed++;                                                                                              \
        }                                                                                                              \
        printf("%u passed, %u failed, %u skipped\n", passed, failed, skipped);                                         \
        return failed != 0;                                                                                            \
    }                                                                                                                  \
    typedef int unit_needs_semicolon

#endif

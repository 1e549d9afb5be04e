/* SPDX-License-Identifier: MIT */
#include <stddef.h>

#include "base/pattern.h"
#include "tests/unit/unit.h"

UNIT_TEST(what_is_no_place_is_found)
{
    static const char *const good[] = {"", "a.lapilli", "%e-%p-%t-%n.lapilli", "100%%", "%%%%p", "%p%p"};
    static const struct {
        const char *pattern;
        size_t fault;
    } bad[] = {{"%", 0}, {"a%", 1}, {"%x", 0}, {"%p%", 2}, {"%%%", 2}, {"%%p% ", 3}, {"a/%P", 2}, {"%s%n", 0}};

    for (size_t i = 0; i < sizeof good / sizeof *good; i++)
        CHECK(lap_pattern_fault(good[i]) == NULL);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        CHECK(lap_pattern_fault(bad[i].pattern) == bad[i].pattern + bad[i].fault);
}

UNIT_MAIN();

/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdlib.h>

#include "base/pattern.h"
#include "tests/unit/unit.h"

UNIT_TEST(wrong_placeholders_are_found)
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

UNIT_TEST(places_are_filled_in)
{
    static const struct {
        const char *pattern;
        unsigned attempt;
        const char *text;
    } all[] = {{"%e.lapilli", 1, "cube.lapilli"},
               {"%e.lapilli", 2, "cube-2.lapilli"},
               {"a/%p-%n.x", 3, "a/12-3.x"},
               {"100%%", 1, "100%"},
               {"100%%", 2, "100%-2"},
               {"%e%", 1, "cube%"}, /* a fault, and no read behind its end */
               {"a.b/%e", 2, "a.b/cube-2"},
               {"%e%e%p%p%n", 1, "cubecube12121"}};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char *text = lap_pattern_expand(all[i].pattern, &(struct lap_pattern_values){12, "cube"}, all[i].attempt);
        CHECK_STR(text, all[i].text);
        free(text);
    }
}

UNIT_MAIN();

/* SPDX-License-Identifier: MIT */
#include "base/key.h"
#include "tests/unit/unit.h"

UNIT_TEST(keys_have_the_numbers_of_x_and_of_the_kernel)
{
    const struct lap_key *key = lap_key_find("F11");

    CHECK(key && key->keysym == 0xffc8 && key->code == 87);
    key = lap_key_find("Print");
    CHECK(key && key->keysym == 0xff61 && key->code == 99);
    key = lap_key_find("ScrollLock");
    CHECK(key && key->keysym == 0xff14 && key->code == 70);
    CHECK(!lap_key_find("F13") && !lap_key_find("") && !lap_key_find("f1") && !lap_key_find("A"));
}

UNIT_TEST(a_trigger_names_a_key_or_means_f11)
{
    CHECK(lap_key_trigger("key") && lap_key_trigger("key") == lap_key_find("F11"));
    CHECK(lap_key_trigger("key:F9") && lap_key_trigger("key:F9") == lap_key_find("F9"));
    CHECK(!lap_key_trigger("key:") && !lap_key_trigger("keyF9") && !lap_key_trigger("key:F99"));
    CHECK(!lap_key_trigger("") && !lap_key_trigger("signal"));
}

UNIT_MAIN();

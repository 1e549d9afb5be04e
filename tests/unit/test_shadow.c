/* SPDX-License-Identifier: MIT */
#include "memtrack/diff.h"
#include "memtrack/shadow.h"
#include "tests/unit/unit.h"

UNIT_TEST(a_new_shadow_is_zero_and_takes_no_memory)
{
    struct lap_page_pool pool = {0};
    struct lap_shadow shadow;
    lap_shadow_init(&shadow, 256ull << 20, &pool);
    CHECK(lap_diff_is_zero(lap_shadow_page(&shadow, 65535), LAP_SHADOW_PAGE));
    CHECK(shadow.leaves == NULL);
    CHECK_EQ_U64(shadow.owned_pages, 0);
    lap_shadow_finish(&shadow);
    lap_page_pool_finish(&pool);
}

UNIT_TEST(a_shadow_keeps_what_was_put_in)
{
    struct lap_page_pool pool = {0};
    struct lap_shadow shadow;
    unsigned char *page, read[10];
    lap_shadow_init(&shadow, (8ull << 20) + 5, &pool);
    page = lap_shadow_own(&shadow, 700);
    CHECK(page != NULL && lap_diff_is_zero(page, LAP_SHADOW_PAGE));
    memcpy(page + LAP_SHADOW_PAGE - 4, "abcd", 4);
    CHECK(lap_shadow_own(&shadow, 700) == page);
    page = lap_shadow_own(&shadow, 701);
    CHECK(page != NULL);
    memcpy(page, "efgh", 4);
    CHECK(lap_shadow_own(&shadow, 2048) != NULL); /* the last page, of five bytes */
    CHECK_EQ_U64(shadow.owned_pages, 3);
    lap_shadow_read(&shadow, 701ull * LAP_SHADOW_PAGE - 5, read, sizeof(read));
    CHECK(memcmp(read, "\0abcdefgh\0", 10) == 0);
    lap_shadow_drop(&shadow, 700, 701);
    lap_shadow_read(&shadow, 701ull * LAP_SHADOW_PAGE - 5, read, sizeof(read));
    CHECK(memcmp(read, "\0\0\0\0\0efgh\0", 10) == 0);
    CHECK_EQ_U64(shadow.owned_pages, 2);
    lap_shadow_drop(&shadow, 0, UINT64_MAX);
    CHECK_EQ_U64(shadow.owned_pages, 0);
    lap_shadow_finish(&shadow);
    lap_page_pool_finish(&pool);
}

UNIT_MAIN();

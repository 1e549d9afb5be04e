/* SPDX-License-Identifier: MIT */
#include "memtrack/diff.h"
#include "memtrack/page_pool.h"
#include "tests/unit/unit.h"

enum { PAGES = 1000 };

UNIT_TEST(pages_are_zero_and_apart)
{
    struct lap_page_pool pool = {0};
    unsigned char *pages[PAGES];
    for (unsigned i = 0; i < PAGES; i++) {
        pages[i] = lap_page_pool_take(&pool);
        CHECK(pages[i] != NULL && (uintptr_t)pages[i] % LAP_POOL_PAGE == 0);
        CHECK(lap_diff_is_zero(pages[i], LAP_POOL_PAGE));
        memset(pages[i], (int)i | 1, LAP_POOL_PAGE);
    }
    CHECK_EQ_U64(pool.block_count, (PAGES + 62) / 63);
    for (unsigned i = 0; i < PAGES; i++) {
        CHECK(pages[i][0] == (unsigned char)(i | 1) && pages[i][LAP_POOL_PAGE - 1] == (unsigned char)(i | 1));
        lap_page_pool_give(&pool, pages[i]);
    }
    CHECK_EQ_U64(pool.block_count, 1);
    lap_page_pool_finish(&pool);
    CHECK_EQ_U64(pool.block_count, 0);
}

UNIT_TEST(a_large_pool_takes_several_blocks_at_once)
{
    enum { MANY = 8000 };
    static unsigned char *pages[MANY];
    struct lap_page_pool pool = {0};
    for (unsigned i = 0; i < MANY; i++) {
        pages[i] = lap_page_pool_take(&pool);
        CHECK(pages[i] != NULL && lap_diff_is_zero(pages[i], LAP_POOL_PAGE));
        memset(pages[i], (int)i | 1, LAP_POOL_PAGE);
    }
    CHECK(pool.block_count >= (MANY + 62) / 63 && pool.block_count < (MANY + 62) / 63 + 8); /* 2 MiB, no more */
    for (unsigned i = 0; i < MANY; i++)
        CHECK(pages[i][0] == (unsigned char)(i | 1) && pages[i][LAP_POOL_PAGE - 1] == (unsigned char)(i | 1));
    for (unsigned i = 0; i < MANY; i++)
        lap_page_pool_give(&pool, pages[i * 7 % MANY]);
    CHECK(pool.block_count <= 8);
    lap_page_pool_finish(&pool);
    CHECK_EQ_U64(pool.block_count, 0);
}

UNIT_TEST(a_page_that_comes_back_is_zero_again)
{
    struct lap_page_pool pool = {0};
    unsigned char *pages[130];
    uint32_t random = 7;
    for (unsigned i = 0; i < 130; i++)
        pages[i] = NULL;
    for (unsigned i = 0; i < 100000; i++) {
        unsigned char **page;
        random = random * 1664525u + 1013904223u;
        page = &pages[random >> 8 & 127];
        if (*page) {
            lap_page_pool_give(&pool, *page);
            *page = NULL;
        } else {
            *page = lap_page_pool_take(&pool);
            CHECK(*page != NULL && lap_diff_is_zero(*page, LAP_POOL_PAGE));
            (*page)[random >> 16 & 4095] = 1;
        }
        CHECK(pool.block_count <= 4);
    }
    for (unsigned i = 0; i < 130; i++)
        if (pages[i])
            lap_page_pool_give(&pool, pages[i]);
    lap_page_pool_finish(&pool);
    lap_page_pool_finish(&pool);
}

UNIT_MAIN();

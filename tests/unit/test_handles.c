/* SPDX-License-Identifier: MIT */
#include <stdlib.h>

#include "base/process/sanitizers.h"
#include "gen_replay.h"
#include "replayer/core/handles.h"
#include "replayer/play/player.h"
#include "tests/unit/unit.h"

#define TYPE GEN_HANDLE_VkFence

static uint64_t live_of(const struct replay *r, uint64_t index)
{
    return replay_table_get(&r->objects.tables[TYPE], index)->live;
}

UNIT_TEST(objects_are_found_by_index_and_by_live_handle)
{
    struct replay r = {0};
    struct replay_object *object = NULL;
    int owner;

    CHECK_EQ_INT(replay_object_add(&r, TYPE, 1, 0x1000, &owner, &object), LAP_OK);
    CHECK(object && object->live == 0x1000 && object->owner == &owner && !object->record);
    CHECK_EQ_INT(replay_object_add(&r, TYPE, 3, 0x3000, &owner, NULL), LAP_OK);
    CHECK(replay_object_get(&r, TYPE, 1) != NULL);
    CHECK(replay_object_get(&r, TYPE, 2) == NULL);
    CHECK(replay_object_get(&r, TYPE, 3) != NULL);
    CHECK(replay_object_get(&r, TYPE, 4) == NULL);
    CHECK(replay_object_get(&r, TYPE, UINT64_MAX) == NULL);
    CHECK(replay_object_get(&r, GEN_HANDLE_VkEvent, 1) == NULL);
    CHECK_EQ_U64(replay_object_index(&r, TYPE, 0x1000), 1);
    CHECK_EQ_U64(replay_object_index(&r, TYPE, 0x3000), 3);
    CHECK_EQ_U64(replay_object_index(&r, TYPE, 0x2000), 0);
    CHECK_EQ_U64(replay_object_index(&r, TYPE, 0), 0);
    CHECK_EQ_U64(replay_object_index(&r, GEN_HANDLE_VkEvent, 0x1000), 0);
    replay_object_remove(&r, TYPE, 1);
    replay_object_remove(&r, TYPE, 1);
    replay_object_remove(&r, TYPE, 77);
    CHECK(replay_object_get(&r, TYPE, 1) == NULL);
    CHECK_EQ_U64(replay_object_index(&r, TYPE, 0x1000), 0);
    CHECK_EQ_U64(replay_object_index(&r, TYPE, 0x3000), 3);
    replay_tables_finish(&r);
    CHECK(replay_object_get(&r, TYPE, 3) == NULL);
}

/* The table by live handle is made when it is first asked; from then on it follows. */
UNIT_TEST(who_asks_late_finds_everything)
{
    struct replay r = {0};
    int owner;

    for (uint64_t index = 1; index <= 3000; index++)
        CHECK_EQ_INT(replay_object_add(&r, TYPE, index, index * 16, &owner, NULL), LAP_OK);
    for (uint64_t index = 1; index <= 3000; index++)
        if (index % 3 == 0 || (index > 1000 && index < 2100))
            replay_object_remove(&r, TYPE, index);
    CHECK(!r.objects.tables[TYPE].slots);
    for (uint64_t index = 1; index <= 3000; index++) {
        bool gone = index % 3 == 0 || (index > 1000 && index < 2100);
        CHECK_EQ_U64(replay_object_index(&r, TYPE, index * 16), gone ? 0 : index);
    }
    CHECK_EQ_INT(replay_object_add(&r, TYPE, 3001, 48, &owner, NULL), LAP_OK);
    CHECK_EQ_U64(replay_object_index(&r, TYPE, 48), 3001);
    replay_object_forget(&r, TYPE, 16);
    CHECK_EQ_U64(replay_object_index(&r, TYPE, 16), 0);
    replay_tables_finish(&r);
}

/* What a packet has just named is found without the table; what else knows of an object forgets it. */
UNIT_TEST(what_was_named_last_is_found_and_ends)
{
    struct replay r = {0};
    struct replay_table *table = &r.objects.tables[TYPE];
    uint64_t index;
    int owner;

    CHECK(!replay_object_of(&r, TYPE, 0x1000, &index) && index == 0);
    for (uint64_t i = 1; i <= 3; i++)
        CHECK_EQ_INT(replay_object_add(&r, TYPE, i, i * 0x1000, &owner, NULL), LAP_OK);
    table->live.last = 2;
    CHECK(replay_object_of(&r, TYPE, 0x2000, &index) == replay_object_get(&r, TYPE, 2) && index == 2);
    CHECK(!table->slots);
    CHECK(!replay_object_of(&r, TYPE, 0, &index) && index == 0);
    r.objects.caller_seen.type = TYPE;
    replay_object_end(&r, TYPE, 2, replay_object_get(&r, TYPE, 2));
    CHECK_EQ_U64(r.objects.caller_seen.type, GEN_HANDLE_NONE);
    CHECK_EQ_U64(r.objects.removed, 1);
    CHECK(!table->slots);
    CHECK(replay_object_of(&r, TYPE, 0x3000, &index) == replay_object_get(&r, TYPE, 3) && index == 3);
    CHECK(table->slots);
    CHECK(!replay_object_of(&r, TYPE, 0x2000, &index) && index == 0);
    replay_object_end(&r, TYPE, 3, replay_object_get(&r, TYPE, 3));
    CHECK(!replay_object_of(&r, TYPE, 0x3000, &index) && index == 0);
    CHECK_EQ_U64(replay_object_index(&r, TYPE, 0x1000), 1);
    replay_tables_finish(&r);
}

/* Pages without objects are kept for others, but not all of them; nothing is left in them. */
UNIT_TEST(pages_that_come_again_are_empty)
{
    enum { COUNT = 400 * REPLAY_PAGE_OBJECTS };
    struct replay r = {0};
    struct replay_object *object;
    int owner;

    for (int round = 0; round < 3; round++) {
        enum gen_handle_type type = round == 1 ? GEN_HANDLE_VkEvent : TYPE;
        uint64_t base = round == 2 ? COUNT + 1 : 1;
        for (uint64_t i = 0; i < COUNT; i++) {
            CHECK_EQ_INT(replay_object_add(&r, type, base + i, 16 + i * 16, &owner, &object), LAP_OK);
            CHECK(object && !object->record && !object->parent && !object->references && !object->secondary);
            if (!object)
                return;
            object->record = &owner;
            object->parent = 7;
            object->secondary = true;
        }
        for (uint64_t i = 0; i < COUNT; i++)
            replay_object_remove(&r, type, base + i);
        CHECK(r.objects.spare_pages && r.objects.spare_count < 400);
    }
    replay_tables_finish(&r);
    CHECK(!r.objects.spare_pages && r.objects.spare_count == 0);
}

UNIT_TEST(what_a_file_can_say_wrongly_is_refused)
{
    struct replay r = {0};
    int owner;

    CHECK_EQ_INT(replay_object_add(&r, TYPE, 0, 0x1000, &owner, NULL), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(replay_object_add(&r, TYPE, 1, 0, &owner, NULL), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(replay_object_add(&r, TYPE, UINT64_MAX, 0x1000, &owner, NULL), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(replay_object_add(&r, TYPE, 2000000, 0x1000, &owner, NULL), LAP_ERROR_REPLAY);
    CHECK(strstr(lap_error_message(), "VkFence:2000000") != NULL);
    CHECK_EQ_INT(replay_object_add(&r, TYPE, 5, 0x1000, &owner, NULL), LAP_OK);
    CHECK_EQ_INT(replay_object_add(&r, TYPE, 5, 0x2000, &owner, NULL), LAP_ERROR_REPLAY);
    CHECK(strstr(lap_error_message(), "VkFence:5") != NULL);
    CHECK_EQ_U64(live_of(&r, 5), 0x1000);
    replay_tables_finish(&r);
}

/* A driver may count references: one live handle for two creations. */
UNIT_TEST(two_objects_may_share_a_live_handle)
{
    struct replay r = {0};
    int owner;

    CHECK_EQ_INT(replay_object_add(&r, TYPE, 1, 0x1000, &owner, NULL), LAP_OK);
    CHECK_EQ_INT(replay_object_add(&r, TYPE, 2, 0x1000, &owner, NULL), LAP_OK);
    r.objects.tables[TYPE].live.last = 2;
    CHECK_EQ_U64(replay_object_index(&r, TYPE, 0x1000), 2);
    r.objects.tables[TYPE].live.last = 1;
    CHECK_EQ_U64(replay_object_index(&r, TYPE, 0x1000), 1);
    replay_object_forget(&r, TYPE, 0x1000);
    CHECK(replay_object_get(&r, TYPE, 1) == NULL);
    CHECK(replay_object_get(&r, TYPE, 2) != NULL);
    CHECK_EQ_U64(replay_object_index(&r, TYPE, 0x1000), 2);
    replay_object_forget(&r, TYPE, 0x1000);
    CHECK_EQ_U64(replay_object_index(&r, TYPE, 0x1000), 0);
    replay_object_forget(&r, TYPE, 0x1000);
    replay_tables_finish(&r);
}

/* Against an array, with handle values that collide in the map. */
UNIT_TEST(thousands_of_objects_come_and_go)
{
    enum { COUNT = 5000 };
    struct replay r = {0};
    uint64_t *expected = calloc(COUNT, sizeof *expected);
    uint64_t seed = 12345;
    bool good = expected != NULL;
    int owner;

    for (int round = 0; round < 40000 && good; round++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        uint64_t index = 1 + (seed >> 33) % (COUNT - 1);
        if (expected[index]) {
            good = replay_object_index(&r, TYPE, expected[index]) == index;
            replay_object_remove(&r, TYPE, index);
            expected[index] = 0;
        } else {
            expected[index] = index << 30 | (index & 7);
            good = replay_object_add(&r, TYPE, index, expected[index], &owner, NULL) == LAP_OK;
        }
        CHECK(good);
    }
    for (uint64_t i = 1; i < COUNT && good; i++) {
        struct replay_object *object = replay_object_get(&r, TYPE, i);
        good = (object ? object->live : 0) == expected[i];
        good = good && replay_object_index(&r, TYPE, i << 30 | (i & 7)) == (expected[i] ? i : 0);
        CHECK(good);
    }
    free(expected);
    replay_tables_finish(&r);
}

static uint64_t pages_of(const struct replay *r)
{
    uint64_t pages = 0;
    for (uint64_t i = 0; i < r->objects.tables[TYPE].page_capacity; i++)
        pages += r->objects.tables[TYPE].live.pages[i] != NULL;
    return pages;
}

/* Descriptor sets of every frame, say: numbers are never given again, and memory must not grow with them. */
UNIT_TEST(what_is_gone_takes_no_memory)
{
    enum { FRAMES = 3000, EACH = 100 };
    struct replay r = {0};
    bool good = true;
    int owner;

    CHECK_EQ_INT(replay_object_add(&r, TYPE, 1, 0xfff0, &owner, NULL), LAP_OK); /* one that stays */
    for (uint64_t frame = 0; frame < FRAMES && good; frame++) {
        for (uint64_t i = 0; i < EACH && good; i++)
            good = replay_object_add(&r, TYPE, 2 + frame * EACH + i, 0x10000 + i * 16, &owner, NULL) == LAP_OK;
        for (uint64_t i = 0; i < EACH; i++)
            replay_object_remove(&r, TYPE, 2 + frame * EACH + i);
        good = good && pages_of(&r) <= 3;
    }
    CHECK(good);
    CHECK_EQ_U64(live_of(&r, 1), 0xfff0);
    CHECK(replay_object_get(&r, TYPE, 2) == NULL && replay_object_get(&r, TYPE, FRAMES * EACH) == NULL);
    /* Numbers may come out of order: pages that are gone come again. */
    CHECK_EQ_INT(replay_object_add(&r, TYPE, 5000, 0x50, &owner, NULL), LAP_OK);
    CHECK_EQ_U64(live_of(&r, 5000), 0x50);
    CHECK_EQ_U64(replay_object_index(&r, TYPE, 0x50), 5000);
    CHECK(replay_object_get(&r, TYPE, 5001) == NULL && replay_object_get(&r, TYPE, 4999) == NULL);
    replay_tables_finish(&r);
}

#if !LAP_ADDRESS_SANITIZER && !LAP_THREAD_SANITIZER && defined(__GLIBC__)

static bool no_memory;
static uint64_t destroyed, last_destroyed;
static bool in_order;

extern void *__libc_malloc(size_t bytes);

void *malloc(size_t bytes)
{
    return no_memory ? NULL : __libc_malloc(bytes);
}

static VKAPI_ATTR void VKAPI_CALL destroy_fence(VkDevice device, VkFence fence, const VkAllocationCallbacks *allocator)
{
    uint64_t live = gen_u64_VkFence(fence);
    in_order = in_order && (!destroyed || live < last_destroyed);
    last_destroyed = live;
    destroyed++;
}

static VKAPI_ATTR void VKAPI_CALL destroy_event(VkDevice device, VkEvent event, const VkAllocationCallbacks *allocator)
{
    destroy_fence(device, gen_VkFence(gen_u64_VkEvent(event)), allocator);
}

/* Of two types in turn, so that the newest ones are of both. */
static void objects_end(bool with_memory)
{
    enum { OBJECTS = 2000 };
    struct replay r = {0};
    struct replay_device dev = {.vk = {.DestroyFence = destroy_fence, .DestroyEvent = destroy_event}}, other = dev;

    for (uint64_t i = 1; i <= OBJECTS; i++)
        CHECK_EQ_INT(replay_object_add(&r, i % 2 ? TYPE : GEN_HANDLE_VkEvent, i * 3, 0x1000 + i, &dev, NULL), LAP_OK);
    CHECK_EQ_INT(replay_object_add(&r, TYPE, 2, 0xffff, &other, NULL), LAP_OK);
    destroyed = 0;
    in_order = true;
    no_memory = !with_memory;
    replay_objects_destroy_left(&r, &dev);
    no_memory = false;
    CHECK_EQ_U64(destroyed, OBJECTS);
    CHECK(in_order);
    CHECK_EQ_U64(live_of(&r, 2), 0xffff);
    replay_tables_finish(&r);
}

UNIT_TEST(what_is_left_ends_newest_first)
{
    objects_end(true);
}

UNIT_TEST(what_is_left_ends_without_memory_too)
{
    objects_end(false);
}

#endif

UNIT_TEST(children_end_with_their_pool)
{
    struct replay r = {0};
    struct replay_children list = {0};
    int owner;

    for (uint64_t i = 1; i <= 20; i++) {
        CHECK_EQ_INT(replay_object_add(&r, TYPE, i, 0x1000 + i, &owner, NULL), LAP_OK);
        if (i <= 18)
            CHECK_EQ_INT(replay_children_add(&r, &list, TYPE, i, 7), LAP_OK);
    }
    CHECK_EQ_U64(list.count, 18);
    CHECK_EQ_U64(replay_object_get(&r, TYPE, 18)->parent, 7);
    replay_children_remove(&r, &list, TYPE, 1);
    replay_children_remove(&r, &list, TYPE, 18); /* it has moved to the place of the first */
    replay_children_remove(&r, &list, TYPE, 9);
    replay_children_remove(&r, &list, TYPE, 9);
    CHECK_EQ_U64(list.count, 15);
    CHECK(replay_object_get(&r, TYPE, 9) == NULL && replay_object_get(&r, TYPE, 18) == NULL);
    for (uint64_t i = 0; i < list.count; i++)
        CHECK(replay_object_get(&r, TYPE, list.indices[i]) != NULL);
    replay_children_clear(&r, &list, TYPE);
    CHECK_EQ_U64(list.count, 0);
    for (uint64_t i = 1; i <= 18; i++)
        CHECK(replay_object_get(&r, TYPE, i) == NULL);
    CHECK(replay_object_get(&r, TYPE, 19) != NULL && replay_object_get(&r, TYPE, 20) != NULL);
    replay_children_finish(&list);
    replay_tables_finish(&r);
}

/* What many objects took is not kept for few. */
UNIT_TEST(tables_and_pools_become_small_again)
{
    enum { COUNT = 100000 };
    struct replay r = {0};
    struct replay_children list = {0};
    int owner;

    for (uint64_t round = 0; round < 2; round++) {
        for (uint64_t i = 1; i <= COUNT; i++) {
            uint64_t index = round * COUNT + i;
            CHECK_EQ_INT(replay_object_add(&r, TYPE, index, 0x1000 + index, &owner, NULL), LAP_OK);
            CHECK_EQ_INT(replay_children_add(&r, &list, TYPE, index, 7), LAP_OK);
        }
        CHECK_EQ_U64(replay_object_index(&r, TYPE, 0x1000 + round * COUNT + 1), round * COUNT + 1);
        CHECK(list.capacity >= COUNT && r.objects.tables[TYPE].slot_count >= COUNT);
        if (round)
            replay_children_clear(&r, &list, TYPE);
        for (uint64_t i = 1; i <= COUNT - 10 && !round; i++)
            replay_children_remove(&r, &list, TYPE, i);
        CHECK(list.capacity <= 4096 && r.objects.tables[TYPE].slot_count <= 4096);
        for (uint64_t i = COUNT - 9; i <= COUNT && !round; i++)
            CHECK_EQ_U64(replay_object_index(&r, TYPE, 0x1000 + i), i);
    }
    CHECK_EQ_U64(r.objects.alive, 0);
    replay_children_finish(&list);
    replay_tables_finish(&r);
}

/* Of all types together. */
UNIT_TEST(objects_that_are_alive_are_limited)
{
    struct replay r = {0};
    enum lap_status status = LAP_OK;
    uint64_t count = 0;
    int owner;

    CHECK_EQ_INT(replay_objects_reserve(&r, REPLAY_MOST_OBJECTS / 2), LAP_OK);
    CHECK_EQ_INT(replay_objects_reserve(&r, REPLAY_MOST_OBJECTS / 2 + 1), LAP_ERROR_LIMIT);
    for (uint64_t i = 1; status == LAP_OK && i <= REPLAY_MOST_OBJECTS; i++) {
        status = replay_object_add(&r, i % 2 ? TYPE : GEN_HANDLE_VkEvent, 1 + i / 2, 0x1000 + i, &owner, NULL);
        count += status == LAP_OK;
    }
    CHECK_EQ_INT(status, LAP_ERROR_LIMIT);
    CHECK(strstr(lap_error_message(), "more than 4 million objects are alive at once") != NULL);
    CHECK(count >= REPLAY_MOST_OBJECTS / 2 && count < REPLAY_MOST_OBJECTS / 2 + 2 * REPLAY_PAGE_OBJECTS);
    CHECK_EQ_INT(replay_objects_reserve(&r, 1), LAP_ERROR_LIMIT);
    replay_objects_release(&r, REPLAY_MOST_OBJECTS / 2);
    CHECK_EQ_U64(r.objects.alive, count);
    CHECK_EQ_INT(replay_object_add(&r, TYPE, 2 + count / 2, 0x999, &owner, NULL), LAP_OK);
    replay_tables_finish(&r);
}

/* One of each 64 stays. */
UNIT_TEST(pages_of_objects_are_limited)
{
    struct replay r = {0};
    enum lap_status status = LAP_OK;
    uint64_t index = 1;
    int owner;

    for (; status == LAP_OK && r.objects.page_count < REPLAY_MOST_PAGES; index++) {
        status = replay_object_add(&r, TYPE, index, 0x1000 + index, &owner, NULL);
        if (index % REPLAY_PAGE_OBJECTS)
            replay_object_remove(&r, TYPE, index);
    }
    CHECK_EQ_INT(status, LAP_OK);
    for (uint64_t i = 0; status == LAP_OK && i <= REPLAY_PAGE_OBJECTS; i++)
        status = replay_object_add(&r, TYPE, index + i, 0x1000 + index + i, &owner, NULL);
    CHECK_EQ_INT(status, LAP_ERROR_LIMIT);
    for (uint64_t i = REPLAY_PAGE_OBJECTS; i < 100 * REPLAY_PAGE_OBJECTS; i += REPLAY_PAGE_OBJECTS)
        replay_object_remove(&r, TYPE, i);
    CHECK_EQ_INT(replay_object_add(&r, GEN_HANDLE_VkEvent, 1, 0x1000, &owner, NULL), LAP_OK);
    CHECK(r.objects.page_count < REPLAY_MOST_PAGES - 90);
    replay_tables_finish(&r);
    CHECK_EQ_U64(r.objects.page_count, 0);
}

/* Whoever is freed from another pool would stay in its own pool's list, and be looked for there when it is gone. */
UNIT_TEST(a_child_of_another_pool_is_refused)
{
    struct replay r = {0};
    struct replay_children lists[2] = {{0}};
    uint64_t checked = 0;
    int owner;

    for (uint64_t i = 1; i <= 4; i++) {
        CHECK_EQ_INT(replay_object_add(&r, TYPE, i, 0x1000 + i, &owner, NULL), LAP_OK);
        CHECK_EQ_INT(replay_children_add(&r, &lists[i > 3], TYPE, i, 1 + (i > 3)), LAP_OK);
    }
    CHECK_EQ_INT(replay_children_check(&r, &lists[1], TYPE, 1, &checked), LAP_ERROR_REPLAY);
    CHECK(strstr(lap_error_message(), "VkFence:1 is freed from a pool that it is not of") != NULL);
    CHECK_EQ_INT(replay_children_check(&r, &lists[1], TYPE, 3, &checked), LAP_ERROR_REPLAY);
    CHECK_EQ_INT(replay_children_check(&r, &lists[0], TYPE, 4, &checked), LAP_ERROR_REPLAY);
    CHECK_EQ_U64(checked, 0);
    for (uint64_t i = 0; i <= 5; i++) { /* dead ones and null, too */
        checked = 0;
        CHECK_EQ_INT(replay_children_check(&r, &lists[i == 4], TYPE, i, &checked), LAP_OK);
    }
    for (int i = 0; i < 2; i++) {
        replay_children_clear(&r, &lists[i], TYPE);
        replay_children_finish(&lists[i]);
    }
    replay_tables_finish(&r);
}

/* In whatever order they are named, and only within one call. */
UNIT_TEST(a_child_that_is_freed_twice_is_refused)
{
    enum { CHILDREN = 4 };
    struct replay r = {0};
    struct replay_children list = {0};
    uint64_t checked;
    int owner;

    for (uint64_t i = 1; i <= CHILDREN; i++) {
        CHECK_EQ_INT(replay_object_add(&r, TYPE, i, 0x1000 + i, &owner, NULL), LAP_OK);
        CHECK_EQ_INT(replay_children_add(&r, &list, TYPE, i, 1), LAP_OK);
    }
    for (unsigned order = 0; order < CHILDREN * CHILDREN * CHILDREN; order++) {
        uint64_t named[3] = {1 + order % 4, 1 + order / 4 % 4, 1 + order / 16}, last = 0;
        bool twice = named[0] == named[1] || named[0] == named[2] || named[1] == named[2];
        enum lap_status status = LAP_OK;
        checked = 0;
        for (unsigned i = 0; i < 3 && status == LAP_OK; i++)
            status = replay_children_check(&r, &list, TYPE, last = named[i], &checked);
        CHECK_EQ_INT(status, twice ? LAP_ERROR_REPLAY : LAP_OK);
        CHECK(!twice || strstr(lap_error_message(), " is freed twice"));
        for (uint64_t i = 0; i < CHILDREN; i++)
            CHECK_EQ_U64((uintptr_t)replay_object_get(&r, TYPE, list.indices[i])->record, i);
        CHECK(last != 0);
    }
    for (uint64_t i = 1; i <= CHILDREN; i++)
        replay_children_remove(&r, &list, TYPE, i);
    CHECK_EQ_U64(list.count, 0);
    replay_children_finish(&list);
    replay_tables_finish(&r);
}

UNIT_MAIN();

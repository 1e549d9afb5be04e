/* SPDX-License-Identifier: MIT */
/* Handles, calls that shall fail, and what is told. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tests/null/null.h"
#include "tests/null/pool.h"

#define TYPE_BITS   8u
#define CHUNK_BITS  12u
#define CHUNK_SLOTS (1u << CHUNK_BITS)
#define CHUNKS      (1u << 16)
#define MOST_LINES  100u       /* on stderr */
#define LOADER      0x01CDC0DE /* vk_icd.h: ICD_LOADER_MAGIC */

_Static_assert(NULL_TYPE_COUNT <= 1u << TYPE_BITS, "a handle's number has room for its type");

enum { NEVER, ALIVE, ENDED };

struct slot {
    _Atomic unsigned char state;
    struct null_thing *_Atomic thing;
};

static _Atomic(struct slot *) chunks[CHUNKS];
static atomic_uint_fast64_t last_number, last_address, calls, failures, told;

static void tell(enum null_command which, const char *what, enum null_type type, uint64_t id)
{
    if (atomic_fetch_add(&told, 1) < MOST_LINES)
        fprintf(stderr, "null: %s: %s %s 0x%llx\n", null_commands[which].name, what, null_type_names[type],
                (unsigned long long)id);
    if (getenv("NULL_ABORT"))
        abort();
}

static struct slot *slot_of(uint64_t id, bool make)
{
    uint64_t number = id >> TYPE_BITS;
    if (number >> CHUNK_BITS >= CHUNKS)
        return NULL;
    _Atomic(struct slot *) *place = &chunks[number >> CHUNK_BITS];
    struct slot *chunk = atomic_load_explicit(place, memory_order_acquire);
    if (!chunk && make) {
        struct slot *fresh = calloc(CHUNK_SLOTS, sizeof *fresh);
        if (!fresh)
            abort();
        if (atomic_compare_exchange_strong(place, &chunk, fresh))
            chunk = fresh;
        else
            free(fresh);
    }
    return chunk ? &chunk[number & (CHUNK_SLOTS - 1)] : NULL;
}

uint64_t null_make(enum null_type type, void *payload)
{
    uint64_t id = (atomic_fetch_add(&last_number, 1) + 1) << TYPE_BITS | (unsigned)type;
    struct slot *slot = slot_of(id, true);
    if (!slot)
        abort();
    atomic_store_explicit(&slot->thing, payload, memory_order_relaxed);
    atomic_store_explicit(&slot->state, ALIVE, memory_order_release);
    return id;
}

struct null_object *null_make_object(enum null_type type, void *payload)
{
    struct null_object *object = malloc(sizeof *object);
    if (!object)
        abort();
    *object = (struct null_object){LOADER, null_make(type, payload)};
    return object;
}

bool null_look(enum null_command which, enum null_type type, uint64_t id)
{
    if (!id)
        return false;
    struct slot *slot = slot_of(id, false);
    unsigned char state = slot ? atomic_load_explicit(&slot->state, memory_order_acquire) : NEVER;
    if (state == NEVER || (id & ((1u << TYPE_BITS) - 1)) != (uint64_t)type)
        tell(which, "there never was", type, id);
    else if (state == ENDED)
        tell(which, "destroyed before:", type, id);
    else
        return true;
    return false;
}

static void free_thing(enum null_command which, struct null_thing *thing)
{
    if (!thing)
        return;
    null_pool_end(which, thing);
    if (thing->pages && !thing->imported)
        munmap(thing->pages, thing->bytes);
    if (thing->placed)
        munmap(thing->placed, thing->placed_bytes);
    free(thing);
}

void null_end(enum null_command which, enum null_type type, uint64_t id)
{
    if (!null_look(which, type, id))
        return;
    struct slot *slot = slot_of(id, false);
    unsigned char alive = ALIVE;
    if (!atomic_compare_exchange_strong(&slot->state, &alive, ENDED))
        tell(which, "destroyed by two threads:", type, id);
    else
        free_thing(which, atomic_exchange_explicit(&slot->thing, NULL, memory_order_acq_rel));
}

struct null_thing *null_thing_of(uint64_t id)
{
    struct slot *slot = id ? slot_of(id, false) : NULL;
    return slot ? atomic_load_explicit(&slot->thing, memory_order_acquire) : NULL;
}

uint64_t null_address(void)
{
    /* Two small numbers side by side must not look like one. */
    return ((uint64_t)0x7a50 + atomic_fetch_add(&last_address, 1)) << 32;
}

/* ---- failures ---- */

VkResult null_enter(enum null_command which)
{
    const struct null_command_info *info = &null_commands[which];
    const char *at = getenv("NULL_FAIL_CALL"), *name = getenv("NULL_FAIL_COMMAND"), *code = getenv("NULL_FAIL_CODE");
    if (!info->error_count || (name && strcmp(name, info->name) != 0))
        return VK_SUCCESS;
    unsigned long long call = atomic_fetch_add(&calls, 1) + 1, wanted;
    char *rest;
    if (!at)
        return VK_SUCCESS;
    wanted = strtoull(at, &rest, 10);
    if (call != wanted && (*rest != '+' || call < wanted))
        return VK_SUCCESS;
    atomic_fetch_add(&failures, 1);
    return info->errors[(code ? strtoull(code, NULL, 10) : 0) % info->error_count];
}

__attribute__((destructor)) static void report(void)
{
    if (getenv("NULL_REPORT"))
        fprintf(stderr, "null: %llu calls that can fail, %llu failed, %llu times something was wrong\n",
                (unsigned long long)atomic_load(&calls), (unsigned long long)atomic_load(&failures),
                (unsigned long long)atomic_load(&told));
}

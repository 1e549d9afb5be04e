/* SPDX-License-Identifier: MIT */
#include "tools/profile/name_table.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_SLOTS 64u /* a power of two */

void profile_names_finish(struct profile_names *names)
{
    free(names->slots);
    *names = (struct profile_names){.slots = NULL};
}

static size_t slot_of(const struct profile_name *slots, size_t slot_count, const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    size_t at;

    for (const char *c = text; *c; c++)
        hash = (hash ^ (unsigned char)*c) * UINT64_C(0x100000001b3);
    at = (size_t)(hash ^ hash >> 32) & (slot_count - 1);
    while (slots[at].text && strcmp(slots[at].text, text) != 0)
        at = (at + 1) & (slot_count - 1);
    return at;
}

const struct profile_name *profile_names_find(const struct profile_names *names, const char *text)
{
    const struct profile_name *name;

    if (!names->slot_count)
        return NULL;
    name = &names->slots[slot_of(names->slots, names->slot_count, text)];
    return name->text ? name : NULL;
}

static bool grow(struct profile_names *names)
{
    size_t slot_count = names->slot_count ? names->slot_count * 2 : FIRST_SLOTS;
    struct profile_name *slots = calloc(slot_count, sizeof *slots);

    if (!slots)
        return false;
    for (size_t i = 0; i < names->slot_count; i++)
        if (names->slots[i].text)
            slots[slot_of(slots, slot_count, names->slots[i].text)] = names->slots[i];
    free(names->slots);
    names->slots = slots;
    names->slot_count = slot_count;
    return true;
}

bool profile_names_add(struct profile_names *names, const char *text, size_t number)
{
    if (names->count >= names->slot_count / 2 && !grow(names))
        return false;
    names->slots[slot_of(names->slots, names->slot_count, text)] = (struct profile_name){text, number};
    names->count++;
    return true;
}

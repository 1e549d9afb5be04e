/* SPDX-License-Identifier: MIT */
#include "vulkan/constants.h"

#include <stdlib.h>
#include <string.h>

/* The place of a constant, or of several constants with the same bytes. */
struct place {
    uint32_t offset;
    bool wide; /* 8 bytes, else 4 */
    bool taken;
};

static int compare(const void *a, const void *b)
{
    const struct place *x = a, *y = b;

    if (x->offset != y->offset)
        return x->offset < y->offset ? -1 : 1;
    return (int)y->wide - (int)x->wide;
}

/* Sorted by offset and without duplicates, so a search for the adjacent place visits only a few. */
static size_t find_places(const VkSpecializationInfo *info, struct place *places)
{
    size_t count = 0, kept = 0;

    for (uint32_t i = 0; i < info->mapEntryCount; i++) {
        const VkSpecializationMapEntry *entry = &info->pMapEntries[i];
        if ((entry->size == 4 || entry->size == 8) && entry->offset <= info->dataSize &&
            info->dataSize - entry->offset >= entry->size)
            places[count++] = (struct place){entry->offset, entry->size == 8, false};
    }
    qsort(places, count, sizeof *places, compare);
    for (size_t i = 0; i < count; i++)
        if (i == 0 || compare(&places[i], &places[kept - 1]) != 0)
            places[kept++] = places[i];
    return kept;
}

static struct place *next_to(struct place *place, const struct place *end)
{
    for (struct place *p = place + 1; p < end && p->offset - place->offset <= 4; p++)
        if (p->offset - place->offset == 4 && !p->wide)
            return p;
    return NULL;
}

static struct lap_constant_word word_at(const VkSpecializationInfo *info, uint32_t low, uint32_t high)
{
    uint32_t halves[2];

    memcpy(&halves[0], (const char *)info->pData + low, 4);
    memcpy(&halves[1], (const char *)info->pData + high, 4);
    return (struct lap_constant_word){halves[0] | (uint64_t)halves[1] << 32, low, high};
}

/* Excludes these bytes from all further words. */
static void take_places(struct place *places, struct place *end, struct place *first)
{
    for (struct place *p = first; p < end && p->offset - first->offset < 8; p++)
        p->taken = true;
    for (struct place *p = first; p-- > places && first->offset - p->offset < 8;)
        p->taken |= first->offset - p->offset < (p->wide ? 8 : 4);
}

bool lap_constants_visit(const VkSpecializationInfo *info, enum lap_constant_fit (*fit)(void *user, uint64_t word),
                         void (*take)(void *user, const struct lap_constant_word *word), void *user)
{
    /* The words of each pass. */
    static const struct {
        bool wide, swapped;
        enum lap_constant_fit least;
    } passes[] = {{true, false, LAP_CONSTANT_WITHIN},
                  {false, false, LAP_CONSTANT_BEGIN},
                  {false, true, LAP_CONSTANT_BEGIN},
                  {false, false, LAP_CONSTANT_WITHIN},
                  {false, true, LAP_CONSTANT_WITHIN}};
    struct place *places, *end;

    if (!info || !info->pMapEntries || !info->pData || info->mapEntryCount == 0)
        return true;
    places = calloc(info->mapEntryCount, sizeof *places);
    if (!places)
        return false;
    end = places + find_places(info, places);
    for (size_t i = 0; i < sizeof passes / sizeof passes[0]; i++) {
        for (struct place *p = places; p < end; p++) {
            const struct place *next = p->wide || p->taken ? NULL : next_to(p, end);
            struct lap_constant_word word;
            if (p->wide != passes[i].wide || p->taken || (!p->wide && (!next || next->taken)))
                continue;
            word =
                passes[i].swapped ? word_at(info, p->offset + 4, p->offset) : word_at(info, p->offset, p->offset + 4);
            if (fit(user, word.word) < passes[i].least ||
                (!p->wide && passes[i].least < LAP_CONSTANT_BEGIN && word.word >> 32 < LAP_TELLING_UPPER))
                continue;
            take(user, &word);
            take_places(places, end, p);
        }
    }
    free(places);
    return true;
}

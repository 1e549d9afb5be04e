/* SPDX-License-Identifier: MIT */
#include "vulkan/untranslated.h"

#include <stdlib.h>
#include <string.h>

#define TELLING_LOWER 0x10000u /* for a lower half alone: it is neither below this value nor a multiple of it */
#define MOST_WORDS    16384u   /* of examined bytes: 64 KiB */
#define MOST_ENTRIES  256u     /* of constants */

void lap_upper_halves_add(struct lap_upper_halves *halves, uint64_t address)
{
    uint32_t upper = (uint32_t)(address >> 32);

    for (uint32_t i = 0; i < halves->count; i++)
        if (halves->values[i] == upper)
            return;
    if (halves->count < sizeof halves->values / sizeof halves->values[0])
        halves->values[halves->count++] = upper;
}

static bool is_upper(const struct lap_address_view *view, uint32_t word)
{
    for (uint32_t i = 0; word >= LAP_TELLING_UPPER && i < view->halves->count; i++)
        if (view->halves->values[i] == word)
            return true;
    return false;
}

bool lap_untranslated_is_telling(const struct lap_address_view *view, uint64_t word)
{
    return is_upper(view, (uint32_t)(word >> 32)) && view->fit(view->user, word) != LAP_CONSTANT_NONE;
}

static uint64_t join(uint32_t low, uint32_t high)
{
    return low | (uint64_t)high << 32;
}

static uint32_t half_at(const void *data, size_t offset)
{
    uint32_t half;
    memcpy(&half, (const char *)data + offset, sizeof half);
    return half;
}

static uint64_t word_at(const void *data, size_t offset)
{
    uint64_t word;
    memcpy(&word, (const char *)data + offset, sizeof word);
    return word;
}

/* ---- bytes ---- */

/* taken[i]: the i-th 4 bytes are a half of a translated address. */
static void find_taken(const struct lap_address_view *view, const void *data, size_t count, bool *taken)
{
    for (size_t i = 0; i + 1 < count; i++)
        if (view->fit(view->user, word_at(data, 4 * i)) != LAP_CONSTANT_NONE) {
            taken[i] = taken[i + 1] = true;
            i++;
        }
}

static bool is_odd(const struct lap_address_view *view, const void *data, size_t bytes, const bool *taken,
                   struct lap_untranslated *out)
{
    for (size_t at = 1; at + 8 <= bytes; at++) {
        uint64_t word;
        if (at % 4 == 0 || taken[at / 4] || taken[at / 4 + 1] || (at / 4 + 2 < bytes / 4 && taken[at / 4 + 2]))
            continue;
        word = word_at(data, at);
        if (!lap_untranslated_is_telling(view, word))
            continue;
        *out = (struct lap_untranslated){LAP_UNTRANSLATED_ODD, word, at};
        return true;
    }
    return false;
}

static bool is_apart(const struct lap_address_view *view, const void *data, size_t count, const bool *taken,
                     struct lap_untranslated *out)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t high = half_at(data, 4 * i);
        if (taken[i] || !is_upper(view, high))
            continue;
        for (size_t j = 0; j < count; j++) {
            uint64_t word = join(half_at(data, 4 * j), high);
            if (j == i || taken[j] || !lap_untranslated_is_telling(view, word))
                continue;
            *out = (struct lap_untranslated){LAP_UNTRANSLATED_APART, word, 4 * j};
            return true;
        }
    }
    return false;
}

bool lap_untranslated_in_words(const struct lap_address_view *view, const void *data, size_t bytes,
                               struct lap_untranslated *out)
{
    bool few[64] = {false}, *taken = few, found;
    size_t count = bytes / 4;

    if (!data || count < 2 || view->halves->count == 0)
        return false;
    if (count > MOST_WORDS) {
        count = MOST_WORDS;
        bytes = 4 * count;
    }
    if (count > sizeof few / sizeof few[0] && !(taken = calloc(count, sizeof *taken)))
        return false;
    find_taken(view, data, count, taken);
    found = is_odd(view, data, bytes, taken, out) || is_apart(view, data, count, taken, out);
    if (taken != few)
        free(taken);
    return found;
}

/* ---- constants ---- */

struct taken {
    const struct lap_address_view *view;
    uint32_t offsets[2 * MOST_ENTRIES]; /* of translated halves */
    uint32_t count;
};

static enum lap_constant_fit fit(void *user, uint64_t word)
{
    const struct taken *taken = user;
    return taken->view->fit(taken->view->user, word);
}

static void take(void *user, const struct lap_constant_word *word)
{
    struct taken *taken = user;

    if (taken->count + 2 > sizeof taken->offsets / sizeof taken->offsets[0])
        return;
    taken->offsets[taken->count++] = word->low;
    taken->offsets[taken->count++] = word->high;
}

static bool is_taken(const struct taken *taken, uint32_t offset)
{
    for (uint32_t i = 0; i < taken->count; i++)
        if (taken->offsets[i] == offset)
            return true;
    return false;
}

static bool is_half(const struct taken *taken, const VkSpecializationInfo *info, uint32_t entry)
{
    const VkSpecializationMapEntry *e = &info->pMapEntries[entry];

    return e->size == 4 && e->offset <= info->dataSize && info->dataSize - e->offset >= 4 &&
           !is_taken(taken, e->offset);
}

static bool is_lower_alone(const struct lap_address_view *view, uint32_t low, uint32_t offset,
                           struct lap_untranslated *out)
{
    for (uint32_t i = 0; low > TELLING_LOWER && low % TELLING_LOWER && i < view->halves->count; i++) {
        uint64_t word = join(low, view->halves->values[i]);
        if (view->halves->values[i] < LAP_TELLING_UPPER || view->fit(view->user, word) != LAP_CONSTANT_BEGIN)
            continue;
        *out = (struct lap_untranslated){LAP_UNTRANSLATED_LOW, word, offset};
        return true;
    }
    return false;
}

bool lap_untranslated_in_constants(const struct lap_address_view *view, const VkSpecializationInfo *info,
                                   struct lap_untranslated *out)
{
    struct taken taken = {.view = view};
    uint32_t count;

    if (!info || !info->pMapEntries || !info->pData || view->halves->count == 0 ||
        !lap_constants_visit(info, fit, take, &taken))
        return false;
    count = info->mapEntryCount < MOST_ENTRIES ? info->mapEntryCount : MOST_ENTRIES;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = info->pMapEntries[i].offset, high;
        if (!is_half(&taken, info, i))
            continue;
        high = half_at(info->pData, at);
        for (uint32_t j = 0; j < count && is_upper(view, high); j++) {
            uint32_t other = info->pMapEntries[j].offset;
            uint64_t word = is_half(&taken, info, j) ? join(half_at(info->pData, other), high) : 0;
            if (other == at || !lap_untranslated_is_telling(view, word))
                continue;
            *out = (struct lap_untranslated){LAP_UNTRANSLATED_APART, word, other};
            return true;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        if (is_half(&taken, info, i) &&
            is_lower_alone(view, half_at(info->pData, info->pMapEntries[i].offset), info->pMapEntries[i].offset, out))
            return true;
    return false;
}

const char *lap_untranslated_text(enum lap_untranslated_kind kind)
{
    static const char *const texts[] = {[LAP_UNTRANSLATED_APART] = "the halves of an address are not side by side",
                                        [LAP_UNTRANSLATED_LOW] =
                                            "there is the lower half of an address, and no upper one",
                                        [LAP_UNTRANSLATED_ODD] = "an address is at no multiple of 4",
                                        [LAP_UNTRANSLATED_SPLIT] = "the halves of an address come with two commands"};

    return texts[kind];
}

/* SPDX-License-Identifier: MIT */
#include "memtrack/interval.h"

#include <stdlib.h>
#include <string.h>

#define LEAF        LAP_INTERVAL_LEAF
#define KEEP_LEAVES 8u /* an emptied set keeps a list for up to so many, and one of them */

struct range {
    uint64_t begin, end;
};

/* Begins small: most sets have few ranges. */
struct leaf {
    uint32_t count, capacity;
    struct range ranges[];
};

struct lap_interval_leaves {
    uint32_t count, capacity;
    uint32_t near_leaf, near_index; /* where a range was found last; a hint */
    struct leaf *spare;             /* the last one that became empty */
    struct leaf *at[];              /* in ascending order; none is empty */
};

typedef struct lap_interval_leaves leaves_t;

/* A range, or where one is to be put: at most one behind the last of its leaf. */
struct place {
    uint32_t leaf, index;
};

static inline struct range *range_at(const leaves_t *leaves, struct place place)
{
    return &leaves->at[place.leaf]->ranges[place.index];
}

static inline uint64_t leaf_end(const struct leaf *leaf)
{
    return leaf->ranges[leaf->count - 1].end;
}

/* ---- leaves ---- */

static void keep_or_free(leaves_t *leaves, struct leaf *leaf)
{
    if (leaves->spare && leaves->spare->capacity >= leaf->capacity) {
        free(leaf);
        return;
    }
    free(leaves->spare);
    leaves->spare = leaf;
}

void lap_interval_finish(struct lap_interval *set)
{
    leaves_t *leaves = set->leaves;
    if (leaves) {
        for (uint32_t i = 0; i < leaves->count; i++)
            free(leaves->at[i]);
        free(leaves->spare);
        free(leaves);
    }
    *set = (struct lap_interval){0};
}

void lap_interval_clear(struct lap_interval *set)
{
    leaves_t *leaves = set->leaves;
    if (!leaves)
        return;
    if (leaves->capacity > KEEP_LEAVES) {
        lap_interval_finish(set);
        return;
    }
    for (uint32_t i = 0; i < leaves->count; i++)
        keep_or_free(leaves, leaves->at[i]);
    leaves->count = set->count = 0;
}

static struct leaf *grow_leaf(struct leaf *leaf, uint32_t capacity)
{
    struct leaf *larger = realloc(leaf, sizeof(*leaf) + capacity * sizeof(leaf->ranges[0]));
    if (larger && !leaf)
        larger->count = 0;
    if (larger)
        larger->capacity = capacity;
    return larger;
}

/* Makes room in the list for so many leaves. */
static bool reserve_leaves(struct lap_interval *set, uint32_t count)
{
    leaves_t *leaves = set->leaves, *more;
    uint32_t capacity = leaves ? leaves->capacity : 0;
    if (count <= capacity)
        return true;
    if (count > UINT32_MAX / 4)
        return false;
    if (capacity == 0)
        capacity = 1;
    while (capacity < count)
        capacity *= 2;
    more = realloc(leaves, sizeof(*leaves) + (size_t)capacity * sizeof(leaves->at[0]));
    if (!more)
        return false;
    if (!leaves)
        *more = (leaves_t){0};
    more->capacity = capacity;
    set->leaves = more;
    return true;
}

/* Puts an empty leaf into the list. */
static bool insert_leaf(struct lap_interval *set, uint32_t at, uint32_t ranges)
{
    leaves_t *leaves;
    struct leaf *leaf;
    if (!reserve_leaves(set, set->leaves ? set->leaves->count + 1 : 1))
        return false;
    leaves = set->leaves;
    leaf = leaves->spare;
    leaves->spare = NULL;
    if (!leaf)
        leaf = grow_leaf(NULL, ranges);
    if (!leaf)
        return false;
    leaf->count = 0;
    memmove(&leaves->at[at + 1], &leaves->at[at], (leaves->count - at) * sizeof(leaves->at[0]));
    leaves->at[at] = leaf;
    leaves->count++;
    return true;
}

static bool enlarge(struct lap_interval *set, struct place *place)
{
    leaves_t *leaves = set->leaves;
    struct leaf *leaf = leaves->at[place->leaf], *next;
    uint32_t stay;
    if (leaf->capacity < LEAF) {
        leaf = grow_leaf(leaf, leaf->capacity * 2);
        if (leaf)
            leaves->at[place->leaf] = leaf;
        return leaf;
    }
    if (!insert_leaf(set, place->leaf + 1, LEAF))
        return false;
    leaves = set->leaves;
    next = leaves->at[place->leaf + 1];
    if (next->capacity < LEAF && !(next = grow_leaf(next, LEAF))) {
        keep_or_free(leaves, leaves->at[place->leaf + 1]);
        leaves->count--;
        memmove(&leaves->at[place->leaf + 1], &leaves->at[place->leaf + 2],
                (leaves->count - place->leaf - 1) * sizeof(leaves->at[0]));
        return false;
    }
    leaves->at[place->leaf + 1] = next;
    stay = place->index == leaf->count ? leaf->count : leaf->count / 2; /* when appending, full leaves stay behind */
    next->count = leaf->count - stay;
    memcpy(next->ranges, &leaf->ranges[stay], next->count * sizeof(leaf->ranges[0]));
    leaf->count = stay;
    if (place->index > stay || stay == LEAF)
        *place = (struct place){place->leaf + 1, place->index - stay};
    return true;
}

/* Makes room for one more range at the place, which may become another one. */
static inline bool make_room(struct lap_interval *set, struct place *place)
{
    leaves_t *leaves = set->leaves;
    const struct leaf *leaf;
    if (!leaves || leaves->count == 0) {
        *place = (struct place){0};
        return insert_leaf(set, 0, 4);
    }
    if (place->leaf == leaves->count) { /* behind the last one */
        place->leaf--;
        place->index = leaves->at[place->leaf]->count;
    }
    leaf = leaves->at[place->leaf];
    return leaf->count < leaf->capacity || enlarge(set, place);
}

/* Where there is room. */
static inline void put(struct lap_interval *set, struct place place, struct range range)
{
    struct leaf *leaf = set->leaves->at[place.leaf];
    if (place.index < leaf->count)
        memmove(&leaf->ranges[place.index + 1], &leaf->ranges[place.index],
                (leaf->count - place.index) * sizeof(leaf->ranges[0]));
    leaf->ranges[place.index] = range;
    leaf->count++;
    set->count++;
    set->leaves->near_leaf = place.leaf;
    set->leaves->near_index = place.index;
}

/* Removes from the leaf the ranges from `place` on that end at `limit` or before. True: these were all to its end. */
static bool erase_in_leaf(struct lap_interval *set, struct place place, uint64_t limit)
{
    struct leaf *leaf = set->leaves->at[place.leaf];
    uint32_t end = place.index, count = leaf->count;
    while (end < count && leaf->ranges[end].end <= limit)
        end++;
    memmove(&leaf->ranges[place.index], &leaf->ranges[end], (count - end) * sizeof(leaf->ranges[0]));
    leaf->count -= end - place.index;
    set->count -= end - place.index;
    return end == count;
}

/* Removes consecutive ranges from `place` on that end at `limit` or before. */
static void erase(struct lap_interval *set, struct place place, uint64_t limit)
{
    leaves_t *leaves = set->leaves;
    uint32_t from, to;
    if (place.leaf >= leaves->count)
        return;
    from = place.leaf + 1;
    if (erase_in_leaf(set, place, limit)) {
        for (to = from; to < leaves->count && leaf_end(leaves->at[to]) <= limit; to++)
            set->count -= leaves->at[to]->count;
        if (to < leaves->count)
            erase_in_leaf(set, (struct place){to, 0}, limit);
    } else {
        to = from;
    }
    if (leaves->at[place.leaf]->count == 0)
        from--;
    if (from == to)
        return;
    for (uint32_t i = from; i < to; i++)
        keep_or_free(leaves, leaves->at[i]);
    memmove(&leaves->at[from], &leaves->at[to], (leaves->count - to) * sizeof(leaves->at[0]));
    leaves->count -= to - from;
}

/* Two leaves with few ranges become one, so that a set of few ranges never has many leaves. */
static void join_leaves(struct lap_interval *set, uint32_t at)
{
    leaves_t *leaves = set->leaves;
    struct leaf *leaf, *next;
    if (at + 1 >= leaves->count)
        return;
    leaf = leaves->at[at];
    next = leaves->at[at + 1];
    if (leaf->count + next->count > LEAF / 2 || leaf->count + next->count > leaf->capacity)
        return;
    memcpy(&leaf->ranges[leaf->count], next->ranges, next->count * sizeof(leaf->ranges[0]));
    leaf->count += next->count;
    keep_or_free(leaves, next);
    leaves->count--;
    memmove(&leaves->at[at + 1], &leaves->at[at + 2], (leaves->count - at - 1) * sizeof(leaves->at[0]));
}

/* ---- finding ---- */

/* Whether the first range that ends after `from` is in this leaf. */
static inline bool is_in_leaf(const leaves_t *leaves, uint32_t leaf, uint64_t from)
{
    return leaf < leaves->count && leaf_end(leaves->at[leaf]) > from &&
           (leaf == 0 || leaf_end(leaves->at[leaf - 1]) <= from);
}

static inline uint32_t find_leaf(const leaves_t *leaves, uint64_t from)
{
    uint32_t low = 0, high = leaves->count;
    if (is_in_leaf(leaves, leaves->near_leaf, from))
        return leaves->near_leaf;
    if (is_in_leaf(leaves, leaves->near_leaf + 1, from))
        return leaves->near_leaf + 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (leaf_end(leaves->at[middle]) > from)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static inline bool is_at(const struct leaf *leaf, uint32_t index, uint64_t from)
{
    return index < leaf->count && leaf->ranges[index].end > from && (index == 0 || leaf->ranges[index - 1].end <= from);
}

/* The first range that ends after `from`: ends are sorted as begins are. False: there is none, and the place is behind
 * the last one. */
static bool find_after(const struct lap_interval *set, uint64_t from, struct place *out)
{
    leaves_t *leaves = set->leaves;
    uint32_t low = 0, high, near;
    const struct leaf *leaf;
    *out = (struct place){0};
    if (!set->count)
        return false;
    if (leaf_end(leaves->at[leaves->count - 1]) <= from) { /* the case of appending */
        out->leaf = leaves->count;
        return false;
    }
    out->leaf = find_leaf(leaves, from);
    leaf = leaves->at[out->leaf];
    near = leaves->near_index;
    if (is_at(leaf, near, from)) {
        low = near;
    } else if (is_at(leaf, near + 1, from)) {
        low = near + 1;
    } else {
        for (high = leaf->count; low < high;) {
            uint32_t middle = (low + high) / 2;
            if (leaf->ranges[middle].end > from)
                high = middle;
            else
                low = middle + 1;
        }
    }
    out->index = leaves->near_index = low;
    leaves->near_leaf = out->leaf;
    return true;
}

/* ---- the set ---- */

bool lap_interval_add(struct lap_interval *set, uint64_t begin, uint64_t end)
{
    struct place place, last;
    struct range *range;
    if (begin >= end)
        return true;
    /* The first that touches or follows. */
    if (!find_after(set, begin ? begin - 1 : 0, &place) || range_at(set->leaves, place)->begin > end) {
        if (!make_room(set, &place))
            return false;
        put(set, place, (struct range){begin, end});
        return true;
    }
    range = range_at(set->leaves, place);
    if (range->begin > begin)
        range->begin = begin;
    if (range->end >= end)
        return true;
    if (find_after(set, end, &last) && range_at(set->leaves, last)->begin <= end)
        end = range_at(set->leaves, last)->end;
    set->leaves->near_leaf = place.leaf;
    set->leaves->near_index = place.index;
    range->end = end;
    place.index++;
    erase(set, place, end);
    join_leaves(set, place.leaf);
    return true;
}

/* Takes [begin, end) out of the middle of a range. */
static inline bool cut_in_two(struct lap_interval *set, struct place place, uint64_t begin, uint64_t end)
{
    struct range rest = {end, range_at(set->leaves, place)->end};
    place.index++;
    if (!make_room(set, &place))
        return false;
    if (place.index)
        range_at(set->leaves, (struct place){place.leaf, place.index - 1})->end = begin;
    else
        set->leaves->at[place.leaf - 1]->ranges[set->leaves->at[place.leaf - 1]->count - 1].end = begin;
    put(set, place, rest);
    return true;
}

bool lap_interval_remove(struct lap_interval *set, uint64_t begin, uint64_t end)
{
    struct place place;
    struct range *range;
    if (begin >= end || !find_after(set, begin, &place))
        return true;
    range = range_at(set->leaves, place);
    if (range->begin >= end)
        return true;
    if (range->begin < begin && range->end > end)
        return cut_in_two(set, place, begin, end);
    if (range->begin < begin) {
        range->end = begin;
        place.index++;
    }
    erase(set, place, end);
    if (find_after(set, end, &place) && range_at(set->leaves, place)->begin < end)
        range_at(set->leaves, place)->begin = end;
    if (place.leaf)
        join_leaves(set, place.leaf - 1);
    if (!set->count)
        lap_interval_clear(set);
    return true;
}

/* ---- many at once ---- */

#define FEW      8u                                /* one by one is as fast */
#define AT_ONCE  512u                              /* spans */
#define MOST_OLD (4 * AT_ONCE + 2 * LEAF)          /* ranges that are written anew for these */
#define MOST_NEW ((MOST_OLD + AT_ONCE) / LEAF + 1) /* leaves */

/* Leaves [first, end) of a set, which the new ones replace. */
struct rewrite {
    struct lap_interval *set;
    uint32_t first, end;
    uint32_t old_ranges, ranges, leaf_count;
    uint32_t most; /* ranges */
    struct leaf *leaves[MOST_NEW];
};

static inline struct range span_at(const struct lap_spans *spans, size_t i)
{
    const struct lap_span *span = &spans->at[i];
    return (struct range){(span->begin > spans->begin ? span->begin : spans->begin) + spans->shift,
                          (span->end < spans->end ? span->end : spans->end) + spans->shift};
}

/* The leaves with ranges that overlap or touch [begin, end), and those next to them that are not full. False: these are
 * so many ranges that the spans are better added or removed one by one. */
static bool begin_rewrite(struct rewrite *rewrite, struct lap_interval *set, uint64_t begin, uint64_t end,
                          uint32_t spans)
{
    const leaves_t *leaves = set->leaves;
    const uint32_t leaf_count = leaves ? leaves->count : 0;
    *rewrite = (struct rewrite){.set = set};
    if (leaf_count)
        rewrite->first = find_leaf(leaves, begin ? begin - 1 : 0);
    if (rewrite->first && leaves->at[rewrite->first - 1]->count < LEAF)
        rewrite->first--;
    for (rewrite->end = rewrite->first; rewrite->end < leaf_count; rewrite->end++) {
        const struct leaf *leaf = leaves->at[rewrite->end];
        if (leaf->ranges[0].begin > end && leaf->count >= LEAF / 2)
            break;
        rewrite->old_ranges += leaf->count;
        if (rewrite->old_ranges > 4 * spans + 2 * LEAF)
            return false;
        if (leaf->ranges[0].begin > end) {
            rewrite->end++;
            break;
        }
    }
    rewrite->most = rewrite->old_ranges + spans;
    return true;
}

static struct leaf *next_leaf(struct rewrite *rewrite)
{
    uint32_t capacity = 4, left = rewrite->most - rewrite->ranges;
    struct leaf *leaf;
    while (capacity < LEAF && capacity < left)
        capacity *= 2;
    leaf = grow_leaf(NULL, capacity);
    if (leaf)
        rewrite->leaves[rewrite->leaf_count++] = leaf;
    return leaf;
}

static inline bool append(struct rewrite *rewrite, struct range range)
{
    struct leaf *leaf = rewrite->leaf_count ? rewrite->leaves[rewrite->leaf_count - 1] : NULL;
    if ((!leaf || leaf->count == leaf->capacity) && !(leaf = next_leaf(rewrite)))
        return false;
    leaf->ranges[leaf->count++] = range;
    rewrite->ranges++;
    return true;
}

/* Puts the new leaves in the place of the old ones; with `good` false, or without memory, drops them. */
static bool end_rewrite(struct rewrite *rewrite, bool good)
{
    struct lap_interval *set = rewrite->set;
    uint32_t count = set->leaves ? set->leaves->count : 0, behind = count - rewrite->end;
    leaves_t *leaves;
    count = rewrite->first + rewrite->leaf_count + behind;
    if (!good || !reserve_leaves(set, count)) {
        for (uint32_t i = 0; i < rewrite->leaf_count; i++)
            free(rewrite->leaves[i]);
        return false;
    }
    leaves = set->leaves;
    if (!leaves) /* nothing in, nothing out */
        return true;
    for (uint32_t i = rewrite->first; i < rewrite->end; i++)
        keep_or_free(leaves, leaves->at[i]);
    memmove(&leaves->at[rewrite->first + rewrite->leaf_count], &leaves->at[rewrite->end],
            behind * sizeof(leaves->at[0]));
    memcpy(&leaves->at[rewrite->first], rewrite->leaves, rewrite->leaf_count * sizeof(leaves->at[0]));
    leaves->count = count;
    set->count += rewrite->ranges - rewrite->old_ranges;
    if (!set->count)
        lap_interval_clear(set);
    return true;
}

/* Goes through the old ranges. */
static inline const struct range *next_range(const struct rewrite *rewrite, struct place *place)
{
    const leaves_t *leaves = rewrite->set->leaves;
    if (place->leaf == rewrite->end)
        return NULL;
    if (place->index == leaves->at[place->leaf]->count) {
        if (++place->leaf == rewrite->end)
            return NULL;
        place->index = 0;
    }
    return &leaves->at[place->leaf]->ranges[place->index++];
}

static bool merge_in(struct rewrite *rewrite, const struct lap_spans *spans)
{
    struct place place = {rewrite->first, 0};
    const struct range *old = next_range(rewrite, &place);
    size_t i = 0;
    while (old || i < spans->count) {
        struct range range, span;
        if (i == spans->count || (old && old->begin < span_at(spans, i).begin)) {
            range = *old;
            old = next_range(rewrite, &place);
        } else {
            range = span_at(spans, i++);
        }
        for (;;) { /* what touches it */
            if (old && old->begin <= range.end) {
                range.end = old->end > range.end ? old->end : range.end;
                old = next_range(rewrite, &place);
            } else if (i < spans->count && (span = span_at(spans, i)).begin <= range.end) {
                range.end = span.end > range.end ? span.end : range.end;
                i++;
            } else {
                break;
            }
        }
        if (!append(rewrite, range))
            return false;
    }
    return true;
}

static bool take_out(struct rewrite *rewrite, const struct lap_spans *spans)
{
    struct place place = {rewrite->first, 0};
    const struct range *old;
    size_t i = 0;
    while ((old = next_range(rewrite, &place))) {
        uint64_t at = old->begin;
        while (i < spans->count && span_at(spans, i).end <= at)
            i++;
        while (i < spans->count && at < old->end) {
            const struct range span = span_at(spans, i);
            if (span.begin >= old->end)
                break;
            if (span.begin > at && !append(rewrite, (struct range){at, span.begin}))
                return false;
            at = span.end;
            if (at < old->end)
                i++;
        }
        if (at < old->end && !append(rewrite, (struct range){at, old->end}))
            return false;
    }
    return true;
}

static bool one_by_one(struct lap_interval *set, const struct lap_spans *spans,
                       bool (*change)(struct lap_interval *set, uint64_t begin, uint64_t end))
{
    bool good = true;
    for (size_t i = 0; i < spans->count && good; i++)
        good = change(set, span_at(spans, i).begin, span_at(spans, i).end);
    return good;
}

static bool change_all(struct lap_interval *set, const struct lap_spans *spans,
                       bool (*write)(struct rewrite *rewrite, const struct lap_spans *spans),
                       bool (*change)(struct lap_interval *set, uint64_t begin, uint64_t end))
{
    struct lap_spans some = *spans;
    for (size_t left = spans->count; left; left -= some.count, some.at += some.count) {
        struct rewrite rewrite;
        some.count = left < AT_ONCE ? left : AT_ONCE;
        if (some.count >= FEW &&
            begin_rewrite(&rewrite, set, span_at(&some, 0).begin, span_at(&some, some.count - 1).end,
                          (uint32_t)some.count) &&
            end_rewrite(&rewrite, write(&rewrite, &some)))
            continue;
        if (!one_by_one(set, &some, change))
            return false;
    }
    return true;
}

bool lap_interval_add_all(struct lap_interval *set, const struct lap_spans *spans)
{
    return change_all(set, spans, merge_in, lap_interval_add);
}

bool lap_interval_remove_all(struct lap_interval *set, const struct lap_spans *spans)
{
    return !spans->count ||
           !lap_interval_intersects(set, span_at(spans, 0).begin, span_at(spans, spans->count - 1).end) ||
           change_all(set, spans, take_out, lap_interval_remove);
}

/* ---- questions ---- */

bool lap_interval_next(const struct lap_interval *set, uint64_t from, uint64_t *out_begin, uint64_t *out_end)
{
    struct place place;
    const struct range *range;
    if (!find_after(set, from, &place))
        return false;
    range = range_at(set->leaves, place);
    *out_begin = range->begin;
    *out_end = range->end;
    return true;
}

bool lap_interval_first_hole(const struct lap_interval *set, uint64_t begin, uint64_t end, uint64_t *out_begin,
                             uint64_t *out_end)
{
    uint64_t found_begin, found_end;
    while (begin < end) {
        if (!lap_interval_next(set, begin, &found_begin, &found_end) || found_begin >= end) {
            *out_begin = begin;
            *out_end = end;
            return true;
        }
        if (found_begin > begin) {
            *out_begin = begin;
            *out_end = found_begin;
            return true;
        }
        begin = found_end;
    }
    return false;
}

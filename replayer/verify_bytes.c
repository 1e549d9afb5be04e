/* SPDX-License-Identifier: MIT */
/* What the recorded machine had where a check is made (capture --keep-bytes), for --tolerance. */
#include <stdlib.h>
#include <string.h>

#include "codegen/support/steps.h"
#include "gen_replay.h"
#include "replayer/player.h"
#include "replayer/verify.h"

#define MOST_KEPT 64u /* contents that wait for their check, one for each recorded thread */

struct kept {
    uint64_t low, high, age;
    unsigned char *bytes;
    size_t have;
};

struct replay_check_bytes {
    struct kept kept[MOST_KEPT];
    uint64_t age;
};

void replay_check_bytes_destroy(struct replay_check_bytes *bytes)
{
    for (uint32_t i = 0; bytes && i < MOST_KEPT; i++)
        free(bytes->kept[i].bytes);
    free(bytes);
}

static struct kept *find(struct replay_check_bytes *bytes, uint64_t low, uint64_t high)
{
    for (uint32_t i = 0; bytes && i < MOST_KEPT; i++)
        if (bytes->kept[i].age && bytes->kept[i].low == low && bytes->kept[i].high == high)
            return &bytes->kept[i];
    return NULL;
}

static struct kept *oldest(struct replay_check_bytes *bytes)
{
    struct kept *found = &bytes->kept[0];
    for (uint32_t i = 1; i < MOST_KEPT; i++)
        if (bytes->kept[i].age < found->age)
            found = &bytes->kept[i];
    return found;
}

static void forget(struct kept *kept)
{
    free(kept->bytes);
    *kept = (struct kept){0};
}

enum lap_status replay_lapilliCheckedBytes(struct replay *r, struct replay_device *dev,
                                           struct gen_args_lapilliCheckedBytes *args)
{
    struct replay_check_bytes **bytes = replay_check_kept(r);
    struct kept *kept;
    unsigned char *more;

    if (!bytes || !args->dataSize)
        return LAP_OK;
    if (!args->pData)
        return replay_absent(r, "pData");
    if (!*bytes && !(*bytes = calloc(1, sizeof **bytes)))
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    kept = find(*bytes, args->hashLow, args->hashHigh);
    if (kept && args->offset == 0) /* the same again */
        forget(kept);
    if (args->offset == 0) {
        kept = oldest(*bytes);
        forget(kept);
        kept->low = args->hashLow;
        kept->high = args->hashHigh;
        kept->age = ++(*bytes)->age;
    }
    if (!kept || kept->have != args->offset || args->dataSize > SIZE_MAX / 2 - kept->have)
        return LAP_OK; /* its beginning was not there: nothing is known */
    more = realloc(kept->bytes, kept->have + args->dataSize);
    if (!more)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    memcpy(more + kept->have, args->pData, args->dataSize);
    kept->bytes = more;
    kept->have += args->dataSize;
    return LAP_OK;
}

bool replay_check_bytes_within(struct replay_check_bytes *bytes, uint64_t low, uint64_t high, VkFormat format,
                               VkImageAspectFlags aspect, const void *data, size_t size, uint32_t steps)
{
    struct kept *kept = find(bytes, low, high);
    bool within;

    if (!kept)
        return false;
    within = kept->have == size && lap_steps_within(format, aspect, kept->bytes, data, size, steps);
    forget(kept);
    return within;
}

void replay_check_bytes_forget(struct replay_check_bytes *bytes, uint64_t low, uint64_t high)
{
    struct kept *kept = find(bytes, low, high);
    if (kept)
        forget(kept);
}

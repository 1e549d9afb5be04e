/* SPDX-License-Identifier: MIT */
/* The contents of the recorded device at each check (capture --keep-bytes), for --tolerance. */
#include <stdlib.h>
#include <string.h>

#include "gen_replay.h"
#include "replayer/core/replay.h"
#include "replayer/verify/verify.h"
#include "vulkan/texel/texel_steps.h"

#define MAX_RECORDED 64u /* contents without a check yet, one for each recorded thread */

struct recorded_bytes {
    uint64_t low, high, age;
    unsigned char *bytes;
    size_t have;
};

struct replay_check_bytes {
    struct recorded_bytes recorded_bytes[MAX_RECORDED];
    uint64_t age;
};

void replay_check_bytes_destroy(struct replay_check_bytes *bytes)
{
    for (uint32_t i = 0; bytes && i < MAX_RECORDED; i++)
        free(bytes->recorded_bytes[i].bytes);
    free(bytes);
}

static struct recorded_bytes *find(struct replay_check_bytes *bytes, uint64_t low, uint64_t high)
{
    for (uint32_t i = 0; bytes && i < MAX_RECORDED; i++)
        if (bytes->recorded_bytes[i].age && bytes->recorded_bytes[i].low == low &&
            bytes->recorded_bytes[i].high == high)
            return &bytes->recorded_bytes[i];
    return NULL;
}

static struct recorded_bytes *oldest(struct replay_check_bytes *bytes)
{
    struct recorded_bytes *found = &bytes->recorded_bytes[0];
    for (uint32_t i = 1; i < MAX_RECORDED; i++)
        if (bytes->recorded_bytes[i].age < found->age)
            found = &bytes->recorded_bytes[i];
    return found;
}

static void forget(struct recorded_bytes *recorded_bytes)
{
    free(recorded_bytes->bytes);
    *recorded_bytes = (struct recorded_bytes){0};
}

enum lap_status replay_lapilliCheckedBytes(struct replay *r, struct replay_device *dev,
                                           struct gen_args_lapilliCheckedBytes *args)
{
    struct replay_check_bytes **bytes = replay_check_bytes_of(r);
    struct recorded_bytes *recorded_bytes;
    unsigned char *more;

    if (!bytes || !args->dataSize)
        return LAP_OK;
    if (!args->pData)
        return replay_absent(r, "pData");
    if (!*bytes && !(*bytes = calloc(1, sizeof **bytes)))
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    recorded_bytes = find(*bytes, args->hashLow, args->hashHigh);
    if (recorded_bytes && args->offset == 0) /* the same contents once more */
        forget(recorded_bytes);
    if (args->offset == 0) {
        recorded_bytes = oldest(*bytes);
        forget(recorded_bytes);
        recorded_bytes->low = args->hashLow;
        recorded_bytes->high = args->hashHigh;
        recorded_bytes->age = ++(*bytes)->age;
    }
    if (!recorded_bytes || recorded_bytes->have != args->offset || args->dataSize > SIZE_MAX / 2 - recorded_bytes->have)
        return LAP_OK; /* their beginning is missing: the contents are unknown */
    more = realloc(recorded_bytes->bytes, recorded_bytes->have + args->dataSize);
    if (!more)
        return replay_place(r, lap_fail(LAP_ERROR_MEMORY, "out of memory"));
    memcpy(more + recorded_bytes->have, args->pData, args->dataSize);
    recorded_bytes->bytes = more;
    recorded_bytes->have += args->dataSize;
    return LAP_OK;
}

bool replay_check_bytes_within(struct replay_check_bytes *bytes, uint64_t low, uint64_t high, VkFormat format,
                               VkImageAspectFlags aspect, const void *data, size_t size, uint32_t steps)
{
    struct recorded_bytes *recorded_bytes = find(bytes, low, high);
    bool within;

    if (!recorded_bytes)
        return false;
    within = recorded_bytes->have == size &&
             lap_texel_steps_within(format, aspect, recorded_bytes->bytes, data, size, steps);
    forget(recorded_bytes);
    return within;
}

void replay_check_bytes_forget(struct replay_check_bytes *bytes, uint64_t low, uint64_t high)
{
    struct recorded_bytes *recorded_bytes = find(bytes, low, high);
    if (recorded_bytes)
        forget(recorded_bytes);
}

/* SPDX-License-Identifier: MIT */
/* unseen: data that a recording lacks because no layer can see it. The keys are those of the trace's info
 * (docs/format.md, "INFO"). */
#ifndef LAP_VULKAN_UNSEEN_H
#define LAP_VULKAN_UNSEEN_H

enum lap_unseen {
    LAP_UNSEEN_TWO_DEVICES,   /* shared memory: one device's writes */
    LAP_UNSEEN_FROM_OUTSIDE,  /* imported memory: writes of other processes or APIs */
    LAP_UNSEEN_GIVEN_OUTSIDE, /* exported memory: writes of other processes or APIs */
    LAP_UNSEEN_TILED_OUTSIDE, /* of both: images whose layout only a driver knows */
    LAP_UNSEEN_TILED_BYTES,   /* host writes to such a layout */
    LAP_UNSEEN_SIGNALS,       /* signals of other processes or APIs */
    LAP_UNSEEN_QUERIES,       /* of a part: results of queries from before it, which the device copies */
    LAP_UNSEEN_COUNT
};

static const struct {
    const char *key, *text;
} lap_unseen_kinds[LAP_UNSEEN_COUNT] = {
    [LAP_UNSEEN_TWO_DEVICES] = {"memory_of_two_devices", "two devices share memory: in a replay each sees writes of "
                                                         "the other one only where the program has it mapped"},
    [LAP_UNSEEN_FROM_OUTSIDE] = {"memory_from_outside", "memory of another process or API was imported: writes of "
                                                        "others are recorded only where the program has it mapped"},
    [LAP_UNSEEN_GIVEN_OUTSIDE] = {"memory_given_outside",
                                  "memory was exported to another process or API: writes of others are recorded only "
                                  "where the program had it mapped"},
    [LAP_UNSEEN_TILED_OUTSIDE] = {"images_from_outside",
                                  "an image whose layout only a driver knows lies in memory that another device, "
                                  "process or API has, too: their writes are not recorded"},
    [LAP_UNSEEN_TILED_BYTES] = {"preinitialized_images",
                                "an image whose layout only a driver knows is preinitialized in memory that can be "
                                "mapped: the host's stores are not recorded, and a replay begins it with zeroes"},
    [LAP_UNSEEN_SIGNALS] = {"signals_from_outside", "a semaphore or fence of another process or API was imported: a "
                                                    "replay takes waits for its signals as over"},
    [LAP_UNSEEN_QUERIES] = {"queries_before_part",
                            "the device copies results of queries that ended before this part of "
                            "the run began: in a replay they are 0"},
};

#endif

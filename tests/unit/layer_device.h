/* SPDX-License-Identifier: MIT */
/*
 * layer_device: a device of the layer with nothing in it but tables of objects and a tracker, and the few functions of
 * the layer around it that modules of memory and commands call. Included once by a test, which defines
 * layer_is_recording and others where it needs them.
 */
#ifndef LAP_TESTS_UNIT_LAYER_DEVICE_H
#define LAP_TESTS_UNIT_LAYER_DEVICE_H

#include <stdlib.h>

#include "gen_layer.h"
#include "layer/core/records.h"
#include "layer/entry/resource.h"
#include "tests/unit/unit.h"

struct layer_state layer;
static struct layer_device *dev;
static unsigned stops; /* of the recording; finish_device expects none */

void layer_stop(const char *reason)
{
    stops++;
}

static void add_record(enum gen_handle_type type, uint64_t handle, uint64_t index, struct lap_object *object)
{
    *object = (struct lap_object){.handle = handle, .index = index, .type = type};
    CHECK_EQ_INT(lap_map_put(&dev->own_maps[type], handle, object, NULL), LAP_OK);
}

static void init_device(void)
{
    struct lap_memtrack_options options = {.watch = LAP_WATCH_COMPARE, .non_coherent_atom_bytes = 64};
    dev = calloc(1, sizeof *dev);
    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++) {
        lap_map_init(&dev->own_maps[type]);
        dev->maps[type] = &dev->own_maps[type];
    }
    dev->tables.maps = dev->maps;
    pthread_mutex_init(&dev->submit.mutex, NULL);
    pthread_mutex_init(&dev->descriptors.mutex, NULL);
    CHECK_EQ_INT(lap_memtrack_create(&options, &dev->memtrack), LAP_OK);
    stops = 0;
}

static void finish_device(void)
{
    lap_map_finish(&dev->submit.resources);
    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++)
        lap_map_finish(&dev->own_maps[type]);
    lap_memtrack_destroy(&dev->memtrack);
    pthread_mutex_destroy(&dev->submit.mutex);
    pthread_mutex_destroy(&dev->descriptors.mutex);
    free(dev);
    CHECK_EQ_U64(stops, 0);
}

#endif

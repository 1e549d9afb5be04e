/* SPDX-License-Identifier: MIT */
#include "layer/core/android.h"
#include "layer/core/layer.h"

struct layer_state layer = {.log = {.fd = 2, .level = LAP_LOG_WARNING, .prefix = "lapilli: "}};

__attribute__((constructor)) static void layer_loaded(void)
{
    if (layer_android())
        layer.log.write = layer_android()->log;
    for (uint32_t type = 0; type < GEN_HANDLE_COUNT; type++) {
        lap_map_init(&layer.maps[type]);
        layer.map_pointers[type] = &layer.maps[type];
        layer_mutex_init(&layer.object_mutex[type]);
    }
    layer_mutex_init(&layer.recording_mutex);
    layer_mutex_init(&layer.devices_mutex);
    lap_map_init(&layer.instances_by_table);
    layer.tables.maps = layer.map_pointers;
}

void layer_resolve(bool named)
{
    pthread_mutex_lock(&layer.recording_mutex);
    if (!layer.resolved) {
        layer.resolved = true;
        layer_options_resolve(&layer.options, layer_android(), named, &layer.log);
        layer.log.level = layer.options.log_level;
        layer.pass_through = !layer.options.armed;
    }
    pthread_mutex_unlock(&layer.recording_mutex);
}

/* SPDX-License-Identifier: MIT */
#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "trace/read/packet_maker.h"
#include "trace/read/reader_internal.h"

static enum lap_status take_names(struct lap_reader *reader)
{
    uint8_t *names;
    size_t bytes;
    enum lap_status status = lap_dictionary_encode(reader->maker->names, &names, &bytes);

    if (status != LAP_OK)
        return status;
    status = lap_dictionary_decode(names, bytes, &reader->dictionary);
    free(names);
    return status;
}

static enum lap_status take_facts(struct lap_reader *reader)
{
    const struct lap_packet_maker *maker = reader->maker;
    size_t info_bytes = strlen(maker->info) + 1;

    reader->info = cJSON_malloc(info_bytes);
    reader->frames = calloc(maker->frames + 1, sizeof *reader->frames);
    if (!reader->info || !reader->frames)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    memcpy(reader->info, maker->info, info_bytes);
    for (uint64_t i = 0; i < maker->frames; i++)
        reader->frames[i].last_ticket = maker->frame_ends[i];
    reader->frame_count = reader->marks_unseen = maker->frames;
    reader->summary = (struct lap_reader_summary){.format_version = LAP_FORMAT_VERSION,
                                                  .complete = true,
                                                  .indexed = true,
                                                  .frames = maker->frames,
                                                  .streams = 1,
                                                  .packets = maker->packets,
                                                  .blobs = maker->blobs,
                                                  .info = reader->info};
    memcpy(reader->summary.counters, maker->counters, sizeof maker->counters);
    return LAP_OK;
}

enum lap_status lap_reader_open_made(const struct lap_packet_maker *maker, struct lap_reader **out_reader)
{
    struct lap_reader *reader = *out_reader = calloc(1, sizeof *reader);
    enum lap_status status;

    if (!reader)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    reader->maker = maker;
    lap_buffers_init(&reader->buffers);
    lap_cache_init(&reader->cache, 0, &reader->buffers);
    reader->source.fd = reader->source.tail_fd = -1;
    status = take_names(reader);
    if (status == LAP_OK)
        status = take_facts(reader);
    if (status == LAP_OK)
        status = maker->begin(maker->user, &reader->making);
    if (status != LAP_OK)
        lap_reader_close(out_reader);
    return status;
}

enum lap_status lap_reader_make_anew(struct lap_reader *reader)
{
    if (reader->making)
        reader->maker->end(reader->making);
    reader->making = NULL;
    reader->failed = LAP_OK;
    return reader->maker->begin(reader->maker->user, &reader->making);
}

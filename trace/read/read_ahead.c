/* SPDX-License-Identifier: MIT */
#include "trace/read/read_ahead.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#define STACK_BYTES ((size_t)256 << 10)
/* Blobs not asked for until packets so many chunks behind them are read belong to packets that are not played. */
#define PATIENCE 1024u
/* Read so far ahead at first, and more when that was not enough: buffers reused soon are still in memory, and in
 * caches. */
#define FIRST_WINDOW_BYTES ((uint64_t)1 << 20)

enum state { UNTOUCHED, UNDER_WAY, LOADED, GONE };

struct lap_read_ahead {
    struct lap_source source; /* with a buffer of its own */
    const size_t *blob_chunks;
    struct lap_buffers *buffers;
    uint64_t limit_bytes;
    bool trusts_blobs;
    pthread_t thread;
    pthread_mutex_t mutex;
    pthread_cond_t room, progress;
    /* Under the mutex. */
    uint8_t *states; /* enum state of each chunk */
    struct lap_loaded **loaded;
    uint64_t bytes;  /* loaded and not taken, with what is under way */
    uint64_t window; /* no more than that, and no more than limit_bytes */
    uint64_t wanted; /* full: the size that there is no room for */
    size_t swept;    /* chunks before it are not LOADED */
    bool stop, full, done;
    /* The thread's. */
    size_t next, next_blob; /* in the source's list, in blob_chunks */
};

/* After a lack of room, half of all has to be free, so that the thread sleeps seldom. Under the mutex. */
static bool has_room(const struct lap_read_ahead *ahead, uint64_t bytes)
{
    uint64_t most = ahead->full ? ahead->window / 2 : ahead->window;
    return ahead->bytes == 0 || (ahead->bytes <= most && bytes <= ahead->window - ahead->bytes);
}

/* Under the mutex. */
static void tell_of_room(struct lap_read_ahead *ahead)
{
    if (!ahead->full || !has_room(ahead, ahead->wanted))
        return;
    ahead->full = false;
    pthread_cond_signal(&ahead->room);
}

/* Under the mutex. */
static void grow(struct lap_read_ahead *ahead, uint64_t window)
{
    ahead->window = window;
    tell_of_room(ahead);
}

/* Under the mutex. */
static void end(struct lap_read_ahead *ahead, size_t chunk, uint64_t bytes)
{
    ahead->states[chunk] = GONE;
    ahead->bytes -= bytes;
    tell_of_room(ahead);
}

/* Under the mutex. */
static struct lap_loaded take(struct lap_read_ahead *ahead, size_t chunk)
{
    struct lap_loaded loaded = *ahead->loaded[chunk];
    free(ahead->loaded[chunk]);
    end(ahead, chunk, loaded.room);
    return loaded;
}

/* Waits for room for it; false when it is not to be loaded. Under the mutex. */
static bool begin(struct lap_read_ahead *ahead, size_t chunk, uint64_t bytes)
{
    while (!ahead->stop && ahead->states[chunk] == UNTOUCHED && !has_room(ahead, bytes)) {
        ahead->full = true;
        ahead->wanted = bytes;
        pthread_cond_broadcast(&ahead->progress);
        pthread_cond_wait(&ahead->room, &ahead->mutex);
    }
    ahead->full = false;
    if (ahead->stop || ahead->states[chunk] != UNTOUCHED)
        return false;
    ahead->states[chunk] = UNDER_WAY;
    ahead->bytes += bytes;
    return true;
}

static bool has_hash(const struct lap_loaded *blob)
{
    struct lap_blob_hash hash = lap_blob_hash_of(blob->buffer.data, blob->bytes);
    return hash.low == blob->entry.hash.low && hash.high == blob->entry.hash.high;
}

static void load_one(struct lap_read_ahead *ahead, size_t chunk, const struct lap_parts *parts)
{
    uint64_t bytes = lap_load_bytes(&ahead->source, &ahead->source.chunks[chunk], parts);
    if (!begin(ahead, chunk, bytes))
        return;
    pthread_mutex_unlock(&ahead->mutex);
    struct lap_loaded *loaded = malloc(sizeof(*loaded));
    if (loaded && lap_load(&ahead->source, ahead->buffers, &ahead->source.chunks[chunk], parts, loaded) != LAP_OK) {
        free(loaded);
        loaded = NULL;
    }
    if (loaded && parts && !ahead->trusts_blobs)
        loaded->checked = has_hash(loaded);
    pthread_mutex_lock(&ahead->mutex);
    if (loaded) {
        loaded->room = bytes;
        ahead->loaded[chunk] = loaded;
        ahead->states[chunk] = LOADED;
    } else {
        end(ahead, chunk, bytes);
    }
    pthread_cond_broadcast(&ahead->progress);
}

static void *run(void *user)
{
    struct lap_read_ahead *ahead = user;
    pthread_mutex_lock(&ahead->mutex);
    for (; !ahead->stop && ahead->next < ahead->source.chunk_count; ahead->next++) {
        const struct lap_chunk_ref *chunk = &ahead->source.chunks[ahead->next];
        if (chunk->header.kind == LAP_CHUNK_BLOBS) {
            struct lap_parts parts = {ahead->blob_chunks, ahead->next_blob++};
            if (chunk->parts)
                load_one(ahead, ahead->next, chunk->parts > 1 ? &parts : NULL);
        } else if (chunk->header.kind == LAP_CHUNK_PACKETS) {
            load_one(ahead, ahead->next, NULL);
        }
    }
    ahead->done = true;
    pthread_cond_broadcast(&ahead->progress);
    pthread_mutex_unlock(&ahead->mutex);
    return NULL;
}

static bool start(struct lap_read_ahead *ahead)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    if (pthread_attr_init(&attributes) != 0)
        return false;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    bool started = pthread_create(&ahead->thread, &attributes, run, ahead) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

static void free_ahead(struct lap_read_ahead *ahead)
{
    free(ahead->source.stored);
    free(ahead->states);
    free(ahead->loaded);
    free(ahead);
}

struct lap_read_ahead *lap_read_ahead_create(const struct lap_source *source, const size_t *blob_chunks,
                                             const struct lap_reader_options *options, struct lap_buffers *buffers)
{
    struct lap_read_ahead *ahead = calloc(1, sizeof(*ahead));
    if (!ahead)
        return NULL;
    ahead->source = *source;
    ahead->source.stored = NULL;
    ahead->source.stored_capacity = 0;
    ahead->blob_chunks = blob_chunks;
    ahead->limit_bytes = options->ahead_bytes;
    ahead->window = ahead->limit_bytes < FIRST_WINDOW_BYTES ? ahead->limit_bytes : FIRST_WINDOW_BYTES;
    ahead->trusts_blobs = options->trusts_blobs;
    ahead->buffers = buffers;
    ahead->states = calloc(source->chunk_count + 1, sizeof(*ahead->states));
    ahead->loaded = calloc(source->chunk_count + 1, sizeof(*ahead->loaded));
    if (!ahead->states || !ahead->loaded) {
        free_ahead(ahead);
        return NULL;
    }
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->room, NULL);
    pthread_cond_init(&ahead->progress, NULL);
    if (start(ahead))
        return ahead;
    pthread_cond_destroy(&ahead->progress);
    pthread_cond_destroy(&ahead->room);
    pthread_mutex_destroy(&ahead->mutex);
    free_ahead(ahead);
    return NULL;
}

void lap_read_ahead_destroy(struct lap_read_ahead **ahead_at)
{
    struct lap_read_ahead *ahead = *ahead_at;
    if (!ahead)
        return;
    *ahead_at = NULL;
    pthread_mutex_lock(&ahead->mutex);
    ahead->stop = true;
    pthread_cond_signal(&ahead->room);
    pthread_mutex_unlock(&ahead->mutex);
    pthread_join(ahead->thread, NULL);
    for (size_t i = 0; i < ahead->source.chunk_count; i++)
        if (ahead->states[i] == LOADED)
            lap_buffers_put(ahead->buffers, take(ahead, i).buffer);
    pthread_cond_destroy(&ahead->progress);
    pthread_cond_destroy(&ahead->room);
    pthread_mutex_destroy(&ahead->mutex);
    free_ahead(ahead);
}

bool lap_read_ahead_take(struct lap_read_ahead *ahead, size_t chunk, struct lap_loaded *out)
{
    pthread_mutex_lock(&ahead->mutex);
    for (; ahead->source.chunks[chunk].header.kind == LAP_CHUNK_PACKETS && ahead->swept + PATIENCE < chunk;
         ahead->swept++)
        if (ahead->states[ahead->swept] == LOADED)
            lap_buffers_put(ahead->buffers, take(ahead, ahead->swept).buffer);
    if (ahead->states[chunk] != LOADED && ahead->states[chunk] != GONE)
        grow(ahead, ahead->window < ahead->limit_bytes / 2 ? 2 * ahead->window : ahead->limit_bytes);
    while (ahead->states[chunk] == UNDER_WAY)
        pthread_cond_wait(&ahead->progress, &ahead->mutex);
    bool loaded = ahead->states[chunk] == LOADED;
    if (loaded)
        *out = take(ahead, chunk);
    ahead->states[chunk] = GONE;
    if (ahead->full && chunk == ahead->next) { /* it is the one that there was no room for */
        ahead->full = false;
        pthread_cond_signal(&ahead->room);
    }
    pthread_mutex_unlock(&ahead->mutex);
    return loaded;
}

bool lap_read_ahead_wait(struct lap_read_ahead *ahead)
{
    pthread_mutex_lock(&ahead->mutex);
    grow(ahead, ahead->limit_bytes);
    while (!ahead->done && !ahead->full)
        pthread_cond_wait(&ahead->progress, &ahead->mutex);
    bool all = ahead->done;
    pthread_mutex_unlock(&ahead->mutex);
    return all;
}

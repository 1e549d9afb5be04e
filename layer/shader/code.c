/* SPDX-License-Identifier: MIT */
#include "layer/shader/code.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <time.h>

#include "trace/format/hash.h"

/* ---- code ---- */

struct layer_code {
    atomic_uint count; /* of holders */
    size_t bytes;
    uint32_t words[];
};

struct layer_code *layer_code_create(const void *words, size_t bytes)
{
    struct layer_code *code;

    if (!words || bytes == 0)
        return NULL;
    code = malloc(sizeof *code + bytes);
    if (!code) {
        layer_stop("out of memory");
        return NULL;
    }
    atomic_init(&code->count, 1);
    code->bytes = bytes;
    memcpy(code->words, words, bytes);
    return code;
}

struct layer_code *layer_code_share(struct layer_code *code)
{
    if (code)
        atomic_fetch_add_explicit(&code->count, 1, memory_order_relaxed);
    return code;
}

void layer_code_release(struct layer_code *code)
{
    if (code && atomic_fetch_sub_explicit(&code->count, 1, memory_order_acq_rel) == 1)
        free(code);
}

const uint32_t *layer_code_words(const struct layer_code *code, size_t *out_bytes)
{
    *out_bytes = code ? code->bytes : 0;
    return code ? code->words : NULL;
}

/* ---- origins ---- */

struct layer_origin *layer_origin_create(uint32_t stage_count)
{
    struct layer_origin *origin = calloc(1, sizeof *origin + stage_count * sizeof *origin->stages);
    if (!origin) {
        layer_stop("out of memory");
        return NULL;
    }
    atomic_init(&origin->count, 1);
    origin->stage_count = stage_count;
    return origin;
}

struct layer_origin *layer_origin_of_code(struct layer_code *code)
{
    struct layer_origin *origin = code ? layer_origin_create(1) : NULL;
    if (origin)
        origin->stages[0].code = layer_code_share(code);
    return origin;
}

struct layer_origin *layer_origin_share(struct layer_origin *origin)
{
    if (origin)
        atomic_fetch_add_explicit(&origin->count, 1, memory_order_relaxed);
    return origin;
}

void layer_origin_release(struct layer_origin *origin)
{
    if (!origin || atomic_fetch_sub_explicit(&origin->count, 1, memory_order_acq_rel) != 1)
        return;
    for (uint32_t i = 0; i < origin->stage_count; i++) {
        struct layer_origin_stage *stage = &origin->stages[i];
        layer_code_release(stage->code);
        free(stage->name);
        free((void *)(uintptr_t)stage->specialization.pMapEntries);
        free((void *)(uintptr_t)stage->specialization.pData);
    }
    free(origin);
}

static void *copy_bytes(const void *bytes, size_t size)
{
    void *copy = malloc(size);
    if (copy)
        memcpy(copy, bytes, size);
    else
        layer_stop("out of memory");
    return copy;
}

bool layer_origin_set_name(struct layer_origin_stage *stage, const char *name)
{
    if (name)
        stage->name = copy_bytes(name, strlen(name) + 1);
    return !name || stage->name;
}

bool layer_origin_set_specialization(struct layer_origin_stage *stage, const VkSpecializationInfo *info)
{
    VkSpecializationInfo *own = &stage->specialization;

    if (!info || !info->mapEntryCount || !info->pMapEntries || !info->dataSize || !info->pData)
        return true;
    own->pMapEntries = copy_bytes(info->pMapEntries, info->mapEntryCount * sizeof *info->pMapEntries);
    own->pData = copy_bytes(info->pData, info->dataSize);
    if (!own->pMapEntries || !own->pData)
        return false;
    own->mapEntryCount = info->mapEntryCount;
    own->dataSize = info->dataSize;
    return true;
}

/* ---- bytes ---- */

struct known {
    uint64_t hash[2];
    size_t size;
    struct layer_origin *origin;
};

/* The map's key is one half of the hash; the other half and the size are compared. */
static uint64_t hash_of(enum layer_code_kind kind, const void *bytes, size_t size, uint64_t out[2])
{
    lap_hash128(bytes, size, out);
    out[1] ^= ((uint64_t)kind + 1) * UINT64_C(0x9e3779b97f4a7c15);
    return (out[0] ^ out[1]) >> 1; /* the largest keys are the map's own */
}

static struct known *find(const struct layer_device *dev, uint64_t key, const uint64_t hash[2], size_t size)
{
    struct known *known = lap_map_get(&dev->code.known, key);
    return known && known->hash[0] == hash[0] && known->hash[1] == hash[1] && known->size == size ? known : NULL;
}

void layer_code_note(struct layer_device *dev, enum layer_code_kind kind, const void *bytes, size_t size,
                     struct layer_origin *origin)
{
    /* Guards additions: nothing is ever replaced or removed, so that lookups need no lock. */
    pthread_mutex_t *mutex = &layer.object_mutex[GEN_HANDLE_VkShaderModule];
    uint64_t hash[2], key;
    struct known *known;

    if (!bytes || !size || !origin)
        return;
    key = hash_of(kind, bytes, size, hash);
    pthread_mutex_lock(mutex);
    if (!lap_map_get(&dev->code.known, key)) {
        known = malloc(sizeof *known);
        if (known)
            *known = (struct known){{hash[0], hash[1]}, size, layer_origin_share(origin)};
        if (!known || lap_map_put(&dev->code.known, key, known, NULL) != LAP_OK) {
            if (known)
                layer_origin_release(known->origin);
            free(known);
            layer_stop("out of memory");
        }
    }
    pthread_mutex_unlock(mutex);
}

struct layer_origin *layer_code_find(const struct layer_device *dev, enum layer_code_kind kind, const void *bytes,
                                     size_t size)
{
    const struct known *known;
    uint64_t hash[2], key;

    if (!bytes || !size)
        return NULL;
    key = hash_of(kind, bytes, size, hash);
    known = find(dev, key, hash, size);
    return known ? known->origin : NULL;
}

void layer_code_keep(struct layer_device *dev)
{
    struct timespec now;
    uint64_t more[2];

    dev->code.kept = true;
    if (getrandom(dev->code.key_salt, sizeof dev->code.key_salt, GRND_NONBLOCK) == (ssize_t)sizeof dev->code.key_salt)
        return;
    clock_gettime(CLOCK_REALTIME, &now);
    lap_hash128(&now, sizeof now, more);
    memcpy(dev->code.key_salt, more, sizeof dev->code.key_salt);
}

static void free_known(void *user, uint64_t key, void *value)
{
    struct known *known = value;
    layer_origin_release(known->origin);
    free(known);
}

void layer_code_finish(struct layer_device *dev)
{
    lap_map_each(&dev->code.known, free_known, NULL);
    lap_map_finish(&dev->code.known);
}

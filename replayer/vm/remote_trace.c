/* SPDX-License-Identifier: MIT */
#include "replayer/vm/remote_trace.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "replayer/vm/resources.h"
#include "vm/blocks.h"

#define HELD 256u /* blocks in memory */

struct held {
    uint8_t *data; /* NULL: none */
    uint32_t number;
    uint64_t used; /* when, as a count */
};

struct replay_remote {
    struct lap_bytes_from bytes;
    struct lap_vm_blocks blocks;
    struct lap_vm_program program; /* only its resources matter: the blocks */
    struct replay_resources resources;
    pthread_mutex_t mutex;
    struct held held[HELD];
    uint64_t clock;
};

static struct held *find(struct replay_remote *remote, uint32_t number)
{
    struct held *oldest = &remote->held[0];

    for (unsigned i = 0; i < HELD; i++) {
        struct held *one = &remote->held[i];
        if (one->data && one->number == number)
            return one;
        if (oldest->data && (!one->data || one->used < oldest->used))
            oldest = one;
    }
    return oldest;
}

/* Under the mutex. */
static enum lap_status bring(struct replay_remote *remote, uint32_t number, const uint8_t **out)
{
    struct held *one = find(remote, number);
    enum lap_status status = LAP_OK;

    if (!one->data || one->number != number) {
        uint8_t *data = one->data ? one->data : malloc(LAP_VM_BLOCK_BYTES);
        one->data = NULL;
        if (!data)
            return lap_fail(LAP_ERROR_MEMORY, "no memory for a block of the trace");
        status = replay_resources_get(&remote->resources, &remote->program, number, data);
        if (status != LAP_OK) {
            free(data);
            return lap_fail_context(status, "block %" PRIu32 " of the trace", number);
        }
        one->data = data;
        one->number = number;
    }
    one->used = ++remote->clock;
    *out = one->data;
    return status;
}

static enum lap_status read_bytes(void *user, uint64_t offset, void *out, size_t bytes)
{
    struct replay_remote *remote = user;
    enum lap_status status = LAP_OK;
    uint8_t *to = out;

    pthread_mutex_lock(&remote->mutex);
    while (status == LAP_OK && bytes) {
        const uint32_t number = (uint32_t)(offset / LAP_VM_BLOCK_BYTES);
        const size_t within = (size_t)(offset % LAP_VM_BLOCK_BYTES);
        const size_t part = bytes < LAP_VM_BLOCK_BYTES - within ? bytes : LAP_VM_BLOCK_BYTES - within;
        const uint8_t *block = NULL;

        status = bring(remote, number, &block);
        if (status == LAP_OK)
            memcpy(to, block + within, part);
        to += part;
        offset += part;
        bytes -= part;
    }
    pthread_mutex_unlock(&remote->mutex);
    return status;
}

enum lap_status replay_remote_open(const char *list, const char *from, struct replay_remote **out,
                                   const struct lap_bytes_from **out_bytes)
{
    struct replay_remote *remote = *out = calloc(1, sizeof *remote);
    enum lap_status status;

    if (!remote)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for a trace of another machine");
    remote->resources.connection = -1;
    pthread_mutex_init(&remote->mutex, NULL);
    status = lap_vm_blocks_load(list, &remote->blocks);
    if (status == LAP_OK)
        status = replay_resources_open(from, &remote->resources);
    remote->program.resources = remote->blocks.resources;
    remote->program.resource_count = remote->blocks.count;
    if (status == LAP_OK)
        status = replay_resources_announce(&remote->resources, &remote->program);
    remote->bytes = (struct lap_bytes_from){.read = read_bytes, .user = remote, .bytes = remote->blocks.bytes};
    *out_bytes = &remote->bytes;
    if (status != LAP_OK)
        replay_remote_close(out);
    return status;
}

void replay_remote_close(struct replay_remote **remote)
{
    struct replay_remote *r = *remote;

    if (!r)
        return;
    for (unsigned i = 0; i < HELD; i++)
        free(r->held[i].data);
    replay_resources_close(&r->resources);
    lap_vm_blocks_release(&r->blocks);
    pthread_mutex_destroy(&r->mutex);
    free(r);
    *remote = NULL;
}

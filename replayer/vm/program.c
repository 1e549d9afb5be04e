/* SPDX-License-Identifier: MIT */
#include "replayer/vm/program.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inspector/program/packets.h"
#include "replayer/verify/verify.h"
#include "replayer/vm/resources.h"
#include "vm/program_file.h"
#include "vm/verify.h"

#define VOLATILE_LIMIT (UINT64_C(4) << 30)
#define CACHE_BYTES    ((size_t)512 << 20) /* of resources, as of a reader's; those of one packet always stay */

/* A resource in memory; in the order of use, the oldest first. */
struct cached {
    uint8_t *data; /* NULL: it is not there */
    struct cached *older, *newer;
    uint32_t number;
    uint64_t packet; /* that needed it last */
};

struct replay_program {
    struct replay *replay;
    bool plays;
    int fd;
    struct replay_resources resources; /* that the file lacks */
    struct lap_vm_program program;
    struct program_packets *packets;
    struct cached *cached; /* [resource] */
    struct cached *oldest, *newest;
    size_t cached_bytes;
    uint64_t packet;
};

bool replay_is_program(const char *path)
{
    char head[sizeof LAP_VM_FILE_MAGIC - 1];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool is = fd >= 0 && read(fd, head, sizeof head) == (ssize_t)sizeof head &&
              memcmp(head, LAP_VM_FILE_MAGIC, sizeof head) == 0;

    if (fd >= 0)
        close(fd);
    return is;
}

/* ---- resources ---- */

static void take_out(struct replay_program *p, struct cached *one)
{
    *(one->older ? &one->older->newer : &p->oldest) = one->newer;
    *(one->newer ? &one->newer->older : &p->newest) = one->older;
    one->older = one->newer = NULL;
}

static void put_newest(struct replay_program *p, struct cached *one)
{
    one->older = p->newest;
    *(p->newest ? &p->newest->newer : &p->oldest) = one;
    p->newest = one;
    one->packet = p->packet;
}

static void make_room(struct replay_program *p, uint64_t bytes)
{
    while (p->oldest && p->cached_bytes + bytes > CACHE_BYTES && p->oldest->packet != p->packet) {
        struct cached *one = p->oldest;

        take_out(p, one);
        p->cached_bytes -= p->program.resources[one->number].bytes;
        free(one->data);
        one->data = NULL;
    }
}

static enum lap_status bring(struct replay_program *p, struct cached *one)
{
    uint64_t bytes = p->program.resources[one->number].bytes;
    enum lap_status status;

    make_room(p, bytes);
    one->data = bytes < LAP_BLOB_MAX_BYTES ? malloc(bytes + 1) : NULL;
    if (!one->data)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for a resource of %" PRIu64 " bytes", bytes);
    status = lap_vm_program_has(&p->program, one->number)
                 ? lap_vm_program_get(&p->program, p->fd, one->number, one->data)
                 : replay_resources_get(&p->resources, &p->program, one->number, one->data);
    if (status != LAP_OK) {
        free(one->data);
        one->data = NULL;
        return lap_fail_context(status, "resource %" PRIu32, one->number);
    }
    p->cached_bytes += bytes;
    put_newest(p, one);
    return LAP_OK;
}

static enum lap_status get(void *user, uint32_t number, const uint8_t **out_data)
{
    struct replay_program *p = user;
    struct cached *one = &p->cached[number];
    enum lap_status status = LAP_OK;

    if (one->data) {
        take_out(p, one);
        put_newest(p, one);
    } else {
        one->number = number;
        status = bring(p, one);
    }
    *out_data = one->data;
    return status;
}

static void advance(void *user)
{
    struct replay_program *p = user;
    p->packet++;
}

/* ---- results and posts ---- */

static const void *get_checks(void *user, uint32_t *out_bytes)
{
    struct replay_program *p = user;
    size_t count = 0;
    const uint8_t *results = p->plays ? replay_check_results(p->replay, &count) : NULL;

    *out_bytes = (uint32_t)(count * REPLAY_CHECK_RESULT_BYTES);
    return results;
}

/* Programs are read before they are played, too. */
static enum lap_status post(void *user, uint32_t label, const void *data, size_t bytes)
{
    struct replay_program *p = user;
    return p->plays ? replay_resources_post(&p->resources, label, data, bytes) : LAP_OK;
}

void replay_program_begin(struct replay_program *program)
{
    if (program)
        program->plays = true;
}

/* ---- opening ---- */

static enum lap_status load(struct replay_program *p, const char *path, const char *resources_from)
{
    const struct program_resources resources = {get, advance, get_checks, post, p};
    enum lap_status status = replay_resources_open(resources_from, &p->resources);

    if (status != LAP_OK)
        return status;
    p->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (p->fd < 0)
        return lap_fail(LAP_ERROR_IO, "can't open it: %s", strerror(errno));
    status = lap_vm_program_read(p->fd, &p->program);
    if (status == LAP_OK)
        status = lap_vm_verify(&p->program, VOLATILE_LIMIT);
    if (status == LAP_OK) {
        p->cached = calloc(p->program.resource_count + 1, sizeof *p->cached);
        status = p->cached ? program_packets_create(&p->program, &resources, &p->packets)
                           : lap_fail(LAP_ERROR_MEMORY, "out of memory");
    }
    return status == LAP_OK ? replay_resources_announce(&p->resources, &p->program) : status;
}

enum lap_status replay_program_open(struct replay *r, const char *path, const char *resources,
                                    struct replay_program **out, struct lap_reader **out_reader)
{
    struct replay_program *p = *out = calloc(1, sizeof *p);
    enum lap_status status;

    *out_reader = NULL;
    if (!p)
        return lap_fail(LAP_ERROR_MEMORY, "out of memory");
    p->replay = r;
    p->fd = -1;
    status = load(p, path, resources);
    if (status == LAP_OK)
        status = lap_reader_open_made(program_packets_maker(p->packets), out_reader);
    if (status != LAP_OK) {
        replay_program_close(out);
        return lap_fail_context(status, "%s", path);
    }
    return LAP_OK;
}

void replay_program_close(struct replay_program **program)
{
    struct replay_program *p = *program;

    if (!p)
        return;
    program_packets_destroy(&p->packets);
    for (size_t i = 0; p->cached && i < p->program.resource_count; i++)
        free(p->cached[i].data);
    free(p->cached);
    lap_vm_program_release(&p->program);
    replay_resources_close(&p->resources);
    if (p->fd >= 0)
        close(p->fd);
    free(p);
    *program = NULL;
}

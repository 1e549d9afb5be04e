/* SPDX-License-Identifier: MIT */
#include "replayer/vm/resources.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "trace/format/bytes.h"
#include "vm/frame.h"
#include "vm/program_file.h"
#include "vm/resources.h"

enum lap_status replay_resources_open(const char *from, struct replay_resources *out)
{
    struct stat info;
    char *end;
    long fd;

    *out = (struct replay_resources){.connection = -1};
    if (!from)
        return LAP_OK;
    if (strncmp(from, "fd:", 3) != 0)
        return lap_vm_folder_open(from, UINT64_MAX, &out->folder);
    errno = 0;
    fd = strtol(from + 3, &end, 10);
    if (from[3] < '0' || from[3] > '9' || *end || errno || fd > INT32_MAX || fstat((int)fd, &info) != 0 ||
        !S_ISSOCK(info.st_mode))
        return lap_fail(LAP_ERROR_ARGUMENT, "%s is no open socket", from);
    out->connection = (int)fd;
    return LAP_OK;
}

void replay_resources_close(struct replay_resources *resources)
{
    lap_vm_folder_close(&resources->folder);
    resources->connection = -1;
}

enum lap_status replay_resources_announce(struct replay_resources *resources, const struct lap_vm_program *program)
{
    struct lap_vm_frame frame = {.kind = LAP_VM_FRAME_NEED};
    enum lap_status status;
    uint8_t *list, *p;

    if (resources->connection < 0)
        return LAP_OK;
    list = p = malloc(program->resource_count * LAP_VM_NEED_BYTES + 1);
    if (!list)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for a list of resources");
    for (size_t i = 0; i < program->resource_count; i++) {
        if (lap_vm_program_has(program, i))
            continue;
        lap_store_u32(p, (uint32_t)i);
        lap_store_u64(p + 4, program->resources[i].hash[0]);
        lap_store_u64(p + 12, program->resources[i].hash[1]);
        lap_store_u64(p + 20, program->resources[i].bytes);
        p += LAP_VM_NEED_BYTES;
    }
    frame.bytes = (uint64_t)(p - list);
    status = lap_vm_frame_send(resources->connection, &frame, list);
    free(list);
    return status;
}

static enum lap_status not_there(void)
{
    return lap_fail(LAP_ERROR_IO, "it is neither in the program nor where its others are");
}

static enum lap_status ask(const struct replay_resources *resources, enum lap_vm_frame_kind kind,
                           const struct lap_vm_resource *resource, uint32_t number, uint8_t **out, size_t *out_bytes)
{
    struct lap_vm_frame frame = {.kind = kind, .number = number};
    enum lap_status status = lap_vm_frame_send(resources->connection, &frame, NULL);

    if (status == LAP_OK)
        status = lap_vm_frame_receive(resources->connection, &frame);
    if (status != LAP_OK)
        return status == LAP_END ? lap_fail(LAP_ERROR_IO, "the process that has the resources has ended") : status;
    if (frame.kind == LAP_VM_FRAME_LACK)
        return not_there();
    if (frame.kind != LAP_VM_FRAME_RESOURCE || frame.number != number || frame.bytes > resource->bytes)
        return lap_fail(LAP_ERROR_FORMAT, "there came something else");
    *out = malloc(frame.bytes + 1);
    if (!*out)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for a resource of %" PRIu64 " bytes", frame.bytes);
    *out_bytes = frame.bytes;
    return lap_vm_frame_receive_bytes(resources->connection, *out, *out_bytes);
}

enum lap_status replay_resources_get(struct replay_resources *resources, const struct lap_vm_program *program,
                                     uint32_t number, uint8_t *to)
{
    const struct lap_vm_resource *resource = &program->resources[number];
    uint8_t *packed = NULL;
    size_t bytes = 0;
    enum lap_status status = LAP_END;

    if (resources->folder)
        status = lap_vm_folder_get(resources->folder, resource, &packed, &bytes);
    else if (resources->connection >= 0)
        status = ask(resources, LAP_VM_FRAME_GET, resource, number, &packed, &bytes);
    if (status == LAP_OK)
        status = lap_vm_resource_unpack(resource, packed, bytes, to);
    if (status == LAP_ERROR_FORMAT && packed && resources->connection >= 0) { /* a cache may have been damaged */
        free(packed);
        packed = NULL;
        status = ask(resources, LAP_VM_FRAME_BAD, resource, number, &packed, &bytes);
        if (status == LAP_OK)
            status = lap_vm_resource_unpack(resource, packed, bytes, to);
    }
    if (status == LAP_END)
        status = not_there();
    free(packed);
    return status;
}

enum lap_status replay_resources_post(struct replay_resources *resources, uint32_t label, const void *data,
                                      size_t bytes)
{
    const struct lap_vm_frame frame = {LAP_VM_FRAME_POST, label, bytes};

    return resources->connection < 0 ? LAP_OK : lap_vm_frame_send(resources->connection, &frame, data);
}

/* SPDX-License-Identifier: MIT */
#include "vm/blocks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/format/bytes.h"
#include "trace/format/file.h"
#include "trace/format/hash.h"

#define MAGIC       "LAPBLKS\n"
#define HEAD_BYTES  24u /* magic (8), bytes of a block (4), 0 (4), bytes of the trace (8) */
#define HASH_BYTES  16u
#define MOST_BLOCKS LAP_VM_DATA_MASK /* numbers of resources */

bool lap_vm_blocks_are_in(const char *path)
{
    uint8_t head[8];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    bool are = fd >= 0 && lap_file_read_fd(fd, 0, head, sizeof head) == 0 && memcmp(head, MAGIC, sizeof head) == 0;

    if (fd >= 0)
        close(fd);
    return are;
}

static enum lap_status prepare(uint64_t bytes, struct lap_vm_blocks *out)
{
    uint64_t count = bytes / LAP_VM_BLOCK_BYTES + (bytes % LAP_VM_BLOCK_BYTES != 0);

    *out = (struct lap_vm_blocks){.bytes = bytes};
    if (count > MOST_BLOCKS)
        return lap_fail(LAP_ERROR_FORMAT, "it is too large");
    out->resources = calloc(count + 1, sizeof *out->resources);
    if (!out->resources)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for a list of blocks");
    out->count = count;
    for (size_t i = 0; i < count; i++)
        out->resources[i].bytes = i + 1 < count ? LAP_VM_BLOCK_BYTES : bytes - (count - 1) * LAP_VM_BLOCK_BYTES;
    return LAP_OK;
}

enum lap_status lap_vm_blocks_make(int fd, struct lap_vm_blocks *out)
{
    struct stat info;
    uint8_t *block = malloc(LAP_VM_BLOCK_BYTES);
    enum lap_status status = LAP_OK;
    int error;

    *out = (struct lap_vm_blocks){0};
    if (!block)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for a block");
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
        status = lap_fail(LAP_ERROR_IO, "it is no regular file");
    if (status == LAP_OK)
        status = prepare((uint64_t)info.st_size, out);
    for (size_t i = 0; status == LAP_OK && i < out->count; i++) {
        error = lap_file_read_fd(fd, i * (uint64_t)LAP_VM_BLOCK_BYTES, block, (size_t)out->resources[i].bytes);
        if (error)
            status = lap_fail(LAP_ERROR_IO, "it can't be read: %s", strerror(error));
        lap_hash128(block, (size_t)out->resources[i].bytes, out->resources[i].hash);
    }
    free(block);
    return status;
}

enum lap_status lap_vm_blocks_store(const struct lap_vm_blocks *blocks, uint8_t **out, size_t *out_bytes)
{
    uint8_t *p = *out = calloc(1, HEAD_BYTES + blocks->count * HASH_BYTES);

    if (!p)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for a list of blocks");
    memcpy(p, MAGIC, 8);
    lap_store_u32(p + 8, LAP_VM_BLOCK_BYTES);
    lap_store_u64(p + 16, blocks->bytes);
    p += HEAD_BYTES;
    for (size_t i = 0; i < blocks->count; i++, p += HASH_BYTES) {
        lap_store_u64(p, blocks->resources[i].hash[0]);
        lap_store_u64(p + 8, blocks->resources[i].hash[1]);
    }
    *out_bytes = (size_t)(p - *out);
    return LAP_OK;
}

static enum lap_status load(int fd, struct lap_vm_blocks *out)
{
    uint8_t head[HEAD_BYTES], *hashes;
    struct stat info;
    enum lap_status status;

    if (fd < 0 || fstat(fd, &info) != 0 || lap_file_read_fd(fd, 0, head, sizeof head) != 0 ||
        memcmp(head, MAGIC, 8) != 0 || lap_load_u32(head + 8) != LAP_VM_BLOCK_BYTES)
        return lap_fail(LAP_ERROR_FORMAT, "this is no list of blocks that this build knows");
    status = prepare(lap_load_u64(head + 16), out);
    if (status != LAP_OK)
        return status;
    if ((uint64_t)info.st_size != HEAD_BYTES + out->count * HASH_BYTES)
        return lap_fail(LAP_ERROR_FORMAT, "the list of blocks is cut");
    hashes = malloc(out->count * HASH_BYTES + 1);
    if (!hashes)
        return lap_fail(LAP_ERROR_MEMORY, "no memory for a list of blocks");
    if (lap_file_read_fd(fd, HEAD_BYTES, hashes, out->count * HASH_BYTES) != 0)
        status = lap_fail(LAP_ERROR_IO, "the list of blocks can't be read");
    for (size_t i = 0; status == LAP_OK && i < out->count; i++) {
        out->resources[i].hash[0] = lap_load_u64(hashes + i * HASH_BYTES);
        out->resources[i].hash[1] = lap_load_u64(hashes + i * HASH_BYTES + 8);
    }
    free(hashes);
    return status;
}

enum lap_status lap_vm_blocks_load(const char *path, struct lap_vm_blocks *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    enum lap_status status;

    *out = (struct lap_vm_blocks){0};
    status = load(fd, out);
    if (status != LAP_OK)
        lap_vm_blocks_release(out);
    if (fd >= 0)
        close(fd);
    return status;
}

void lap_vm_blocks_release(struct lap_vm_blocks *blocks)
{
    free(blocks->resources);
    *blocks = (struct lap_vm_blocks){0};
}

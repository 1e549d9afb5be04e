/* SPDX-License-Identifier: MIT */
#include "tools/record/gfxr.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <lz4.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "trace/format/bytes.h"
#include "trace/format/info.h"

#define MAGIC            UINT32_C(0x52584647) /* "GFXR" */
#define MOST_OPTIONS     1024u
#define OPTION_COMPRESS  1u
#define BLOCK_HEAD_BYTES 12u
#define COMPRESSED       UINT32_C(0x80000000) /* of a block's kind */
#define LOOK_BYTES       65536u               /* at the beginning of a block; what is looked into is smaller */
#define BUFFER_BYTES     ((size_t)1 << 20)
#define MOST_GPUS        64u
#define HANDLE_BYTES     8u
#define CALL_HEAD_BYTES  12u               /* u32 call, u64 thread */
#define VULKAN           UINT32_C(0x10000) /* the family of a call or of metadata */

/* Kinds of blocks. */
enum { FRAME_MARK = 1, STATE_MARK, METADATA, CALL, ANNOTATION, METHOD };
#define DEVICE_PROPERTIES (VULKAN | 11u)
#define CREATE_DEVICE     (VULKAN | 0x100bu)

struct gpu {
    uint64_t handle;
    char name[LAP_GFXR_NAME_BYTES];
};

struct walk {
    int fd;
    uint8_t *buffer;
    size_t at, end; /* what is in it */
    uint64_t base;  /* the place in the file where it begins */
    XXH3_state_t *hash;
    enum lap_status status; /* of the last read */
    void (*progress)(void *user, uint64_t done);
    void *user;
    struct gpu gpus[MOST_GPUS];
    size_t gpu_count;
    struct lap_gfxr *out;
};

/* ---- bytes ---- */

/* Reads until so many bytes (BUFFER_BYTES at most) follow each other in the buffer. Returns how many there are: fewer
 * at the end of the file, or after an error. */
static size_t look(struct walk *w, size_t bytes)
{
    if (w->end - w->at >= bytes)
        return w->end - w->at;
    memmove(w->buffer, w->buffer + w->at, w->end - w->at);
    w->base += w->at;
    w->end -= w->at;
    w->at = 0;
    while (w->end < bytes && w->status == LAP_OK) {
        ssize_t got = read(w->fd, w->buffer + w->end, BUFFER_BYTES - w->end);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            w->status = lap_fail(LAP_ERROR_IO, "it can't be read: %s", strerror(errno));
        if (got <= 0)
            break;
        (void)XXH3_128bits_update(w->hash, w->buffer + w->end, (size_t)got);
        w->end += (size_t)got;
        if (w->progress)
            w->progress(w->user, w->base + w->end);
    }
    return w->end - w->at;
}

/* False: the file ends before. */
static bool skip(struct walk *w, uint64_t bytes)
{
    while (bytes) {
        size_t there = look(w, 1), step = bytes < there ? (size_t)bytes : there;
        if (!step)
            return false;
        w->at += step;
        bytes -= step;
    }
    return true;
}

/* ---- what is in blocks ---- */

static void put_text(char *out, size_t room, const uint8_t *text, size_t bytes)
{
    size_t length = 0;

    while (length < bytes && length + 1 < room && text[length]) {
        out[length] = (char)(text[length] < ' ' || text[length] > '~' ? '?' : text[length]);
        length++;
    }
    out[length] = 0;
}

/* Draws, dispatches and ray traces are named vkCmdDraw…, vkCmdDispatch… and vkCmdTraceRays…. */
static void count_call(struct lap_gfxr_counts *counts, uint32_t call)
{
    switch (call & ~VULKAN) {
    case 0x10ae:
        counts->presents++;
        break;
    case 0x1012: /* vkQueueSubmit */
    case 0x1230: /* vkQueueSubmit2KHR */
    case 0x1257: /* vkQueueSubmit2 */
        counts->submits++;
        break;
    case 0x106a: /* vkCmdDraw to vkCmdDrawIndexedIndirect */
    case 0x106b:
    case 0x106c:
    case 0x106d:
    case 0x10f9: /* …IndirectCount, of KHR, AMD and Vulkan 1.2 */
    case 0x10fa:
    case 0x1103:
    case 0x1104:
    case 0x117c:
    case 0x117d:
    case 0x1148: /* …MeshTasks… of NV */
    case 0x1149:
    case 0x114a:
    case 0x1154: /* …IndirectByteCountEXT */
    case 0x1242: /* …Multi…EXT */
    case 0x1243:
    case 0x12ae: /* …MeshTasks… of EXT */
    case 0x12af:
    case 0x12b0:
    case 0x12b2: /* …Cluster…HUAWEI */
    case 0x12b3:
    case 0x135f: /* those that take addresses */
    case 0x1360:
    case 0x1361:
    case 0x1362:
    case 0x1363:
    case 0x1364:
    case 0x1365:
        counts->draws++;
        break;
    case 0x106e: /* vkCmdDispatch, …Indirect, …Base of Vulkan 1.1 and KHR */
    case 0x106f:
    case 0x108e:
    case 0x10cf:
    case 0x1319: /* …TileQCOM */
    case 0x132a: /* …DataGraphARM */
    case 0x135e: /* …Indirect2KHR */
    case 0x1142: /* vkCmdTraceRaysNV, …KHR, …IndirectKHR, …Indirect2KHR */
    case 0x119c:
    case 0x1202:
    case 0x1274:
        counts->dispatches++;
        break;
    default:
        break;
    }
}

/* Unpacks the beginning of a call's arguments. */
static bool unpack(uint32_t compression, const uint8_t *packed, size_t bytes, uint8_t out[HANDLE_BYTES])
{
    if (compression == LAP_GFXR_LZ4)
        return LZ4_decompress_safe_partial((const char *)packed, (char *)out, (int)bytes, HANDLE_BYTES, HANDLE_BYTES) ==
               HANDLE_BYTES;
    ZSTD_DStream *stream = compression == LAP_GFXR_ZSTD ? ZSTD_createDStream() : NULL;
    ZSTD_inBuffer in = {packed, bytes, 0};
    ZSTD_outBuffer to = {out, HANDLE_BYTES, 0};
    size_t left = 1;

    while (stream && to.pos < to.size && left && !ZSTD_isError(left)) {
        size_t before = in.pos + to.pos;
        left = ZSTD_decompressStream(stream, &to, &in);
        if (in.pos + to.pos == before)
            break;
    }
    (void)ZSTD_freeDStream(stream);
    return to.pos == to.size;
}

/* The device of the file is that of the first vkCreateDevice: its first argument is the number of a GPU. */
static void see_device(struct walk *w, bool compressed, const uint8_t *arguments, size_t bytes)
{
    uint8_t handle[HANDLE_BYTES];

    if (*w->out->device)
        return;
    if (!compressed && bytes >= HANDLE_BYTES)
        memcpy(handle, arguments, HANDLE_BYTES);
    else if (!compressed || bytes < HANDLE_BYTES ||
             !unpack(w->out->compression, arguments + HANDLE_BYTES, bytes - HANDLE_BYTES, handle)) {
        w->out->blind = true;
        return;
    }
    for (size_t i = 0; i < w->gpu_count; i++)
        if (w->gpus[i].handle == lap_load_u64(handle))
            memcpy(w->out->device, w->gpus[i].name, sizeof w->out->device);
}

static void see_call(struct walk *w, bool compressed, const uint8_t *body, size_t there, uint64_t size)
{
    uint32_t call = size >= CALL_HEAD_BYTES && there >= CALL_HEAD_BYTES ? lap_load_u32(body) : 0;

    if (call >> 16 != VULKAN >> 16)
        return;
    w->out->calls++;
    count_call(&w->out->counts, call);
    if (call == CREATE_DEVICE && there == size)
        see_device(w, compressed, body + CALL_HEAD_BYTES, there - CALL_HEAD_BYTES);
}

/* u32 id, u64 thread, u64 GPU, five u32, 16 bytes, u32 length, name. */
static void see_metadata(struct walk *w, const uint8_t *body, size_t there)
{
    const size_t head = 60;
    struct gpu *gpu = &w->gpus[w->gpu_count];

    if (there < head || lap_load_u32(body) != DEVICE_PROPERTIES || w->gpu_count == MOST_GPUS)
        return;
    size_t length = lap_load_u32(body + head - 4);
    gpu->handle = lap_load_u64(body + 12);
    put_text(gpu->name, sizeof gpu->name, body + head, length < there - head ? length : there - head);
    w->gpu_count++;
}

/* The text of JSON has the version of the recorder. */
static void see_operation(struct walk *w, const char *json, size_t bytes)
{
    cJSON *all = NULL;

    if (lap_info_parse(json, bytes, &all) == LAP_OK) {
        const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(all, "gfxrecon-version"));
        if (text && !*w->out->recorder)
            put_text(w->out->recorder, sizeof w->out->recorder, (const uint8_t *)text, strlen(text));
    }
    cJSON_Delete(all);
}

/* u32 kind (2: JSON), u32 length of the label, u64 (before, u32) length of the data, both. */
static void see_annotation(struct walk *w, const uint8_t *body, size_t there)
{
    static const char label[] = "operation";
    const size_t length = sizeof label - 1;

    for (size_t head = 12; head <= 16; head += 4)
        if (there > head + length && lap_load_u32(body) == 2 && lap_load_u32(body + 4) == length &&
            lap_load_u32(body + 8) == there - head - length && memcmp(body + head, label, length) == 0)
            see_operation(w, (const char *)body + head + length, there - head - length);
}

static void see_block(struct walk *w, uint32_t kind, uint64_t size)
{
    size_t there = look(w, size < LOOK_BYTES ? (size_t)size : LOOK_BYTES);
    const uint8_t *body = w->buffer + w->at;

    if (there > size)
        there = (size_t)size;
    if (there < size && (kind & ~COMPRESSED) != CALL) /* the others that are looked into are smaller */
        size = there = 0;
    switch (kind & ~COMPRESSED) {
    case FRAME_MARK:
    case STATE_MARK:
    case METHOD:
        break;
    case METADATA:
        see_metadata(w, body, there);
        break;
    case CALL:
        see_call(w, kind & COMPRESSED, body, there, size);
        break;
    case ANNOTATION:
        see_annotation(w, body, there);
        break;
    default:
        w->out->unknown++;
    }
}

/* ---- the walk ---- */

/* False: the file ends before the head does. */
static bool read_head(struct walk *w)
{
    const uint8_t *head;
    uint32_t options;

    if (look(w, 4) < 4 || lap_load_u32(w->buffer) != MAGIC) {
        if (w->status == LAP_OK)
            w->status = lap_fail(LAP_ERROR_FORMAT, "it is no file of gfxreconstruct");
        return false;
    }
    if (look(w, 16) < 16)
        return false;
    head = w->buffer + w->at;
    w->out->major = lap_load_u32(head + 4);
    w->out->minor = lap_load_u32(head + 8);
    options = lap_load_u32(head + 12);
    w->at += 16;
    if (options > MOST_OPTIONS) {
        w->status = lap_fail(LAP_ERROR_FORMAT, "it is no file of gfxreconstruct: %" PRIu32 " options", options);
        return false;
    }
    for (; options && look(w, 8) >= 8; options--) {
        if (lap_load_u32(w->buffer + w->at) == OPTION_COMPRESS)
            w->out->compression = lap_load_u32(w->buffer + w->at + 4);
        w->at += 8;
    }
    return !options;
}

/* False: no whole block is left. */
static bool read_block(struct walk *w)
{
    struct lap_gfxr before = *w->out;
    size_t there = look(w, BLOCK_HEAD_BYTES);
    uint64_t size;
    uint32_t kind;

    w->out->cut_at = w->base + w->at;
    w->out->whole = !there && w->status == LAP_OK;
    if (there < BLOCK_HEAD_BYTES)
        return false;
    size = lap_load_u64(w->buffer + w->at);
    kind = lap_load_u32(w->buffer + w->at + 8);
    w->at += BLOCK_HEAD_BYTES;
    see_block(w, kind, size);
    if (skip(w, size)) {
        w->out->blocks++;
        return true;
    }
    before.cut_at = w->out->cut_at;
    *w->out = before;
    return false;
}

static void walk(struct walk *w)
{
    XXH128_canonical_t canonical;

    if (read_head(w))
        while (read_block(w))
            ;
    if (w->status != LAP_OK)
        return;
    if (!*w->out->device && w->gpu_count == 1)
        memcpy(w->out->device, w->gpus[0].name, sizeof w->out->device);
    w->out->blind &= !*w->out->device && w->gpu_count > 1;
    (void)skip(w, UINT64_MAX); /* the hash is of all bytes */
    w->out->bytes = w->base + w->end;
    XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(w->hash));
    for (size_t i = 0; i < sizeof canonical.digest; i++)
        snprintf(w->out->hash + 2 * i, 3, "%02x", canonical.digest[i]);
}

enum lap_status lap_gfxr_walk(int fd, void (*progress)(void *user, uint64_t done), void *user, struct lap_gfxr *out)
{
    struct walk *w = calloc(1, sizeof *w);
    enum lap_status status = LAP_OK;

    *out = (struct lap_gfxr){.whole = false};
    if (!w)
        return lap_no_memory(NULL);
    *w = (struct walk){.fd = fd, .progress = progress, .user = user, .out = out};
    w->buffer = malloc(BUFFER_BYTES);
    w->hash = XXH3_createState();
    if (w->buffer && w->hash) {
        (void)XXH3_128bits_reset(w->hash);
        walk(w);
        status = w->status;
    } else {
        status = lap_no_memory(NULL);
    }
    (void)XXH3_freeState(w->hash);
    free(w->buffer);
    free(w);
    return status;
}

const char *lap_gfxr_compression_name(uint32_t compression)
{
    static const char *const names[] = {"none", "LZ4", "zlib", "zstd", "unknown"};

    return names[compression < LAP_GFXR_COMPRESSIONS ? compression : LAP_GFXR_COMPRESSIONS];
}

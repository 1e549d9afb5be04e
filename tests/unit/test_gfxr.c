/* SPDX-License-Identifier: MIT */
#include <lz4.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "tests/unit/unit.h"
#include "tools/record/gfxr.h"

enum { METADATA = 3, CALL, ANNOTATION };
#define PACKED           UINT32_C(0x80000000)
#define VULKAN           UINT32_C(0x10000)
#define CREATE_DEVICE    (VULKAN | 0x100bu)
#define ARGUMENT_BYTES   64u
#define MOST_BLOCKS      32u
#define FILE_HEAD_BYTES  24u
#define BLOCK_HEAD_BYTES 12u

/* A file as it is made; `ends` has where its blocks end. */
static struct {
    uint8_t bytes[8192];
    size_t size, ends[MOST_BLOCKS], blocks;
} file;

static void put(const void *data, size_t bytes)
{
    memcpy(file.bytes + file.size, data, bytes);
    file.size += bytes;
}

static void put_u32(uint32_t value)
{
    put(&value, sizeof value);
}

static void put_u64(uint64_t value)
{
    put(&value, sizeof value);
}

static void begin(uint32_t compression)
{
    memset(&file, 0, sizeof file);
    put("GFXR", 4);
    put_u32(0);
    put_u32(1);
    put_u32(1);
    put_u32(1);
    put_u32(compression);
}

static void begin_block(uint64_t size, uint32_t kind)
{
    put_u64(size);
    put_u32(kind);
    file.ends[file.blocks++] = file.size + size;
}

static void put_call(uint32_t call)
{
    begin_block(12 + 8, CALL);
    put_u32(call);
    put_u64(1);
    put_u64(7);
}

/* vkCreateDevice of a GPU. */
static void put_device(uint32_t compression, uint64_t gpu)
{
    uint8_t arguments[ARGUMENT_BYTES] = {(uint8_t)gpu}, packed[256];
    size_t size = sizeof arguments;

    memcpy(packed, arguments, size);
    if (compression == LAP_GFXR_LZ4)
        size = (size_t)LZ4_compress_default((const char *)arguments, (char *)packed, sizeof arguments, sizeof packed);
    else if (compression == LAP_GFXR_ZSTD)
        size = ZSTD_compress(packed, sizeof packed, arguments, sizeof arguments, 1);
    begin_block(12 + (compression ? 8 : 0) + size, compression ? PACKED | CALL : CALL);
    put_u32(CREATE_DEVICE);
    put_u64(1);
    if (compression)
        put_u64(sizeof arguments);
    put(packed, size);
}

static void put_gpu(uint64_t gpu, const char *name)
{
    begin_block(60 + strlen(name), METADATA);
    put_u32(VULKAN | 11);
    put_u64(1);
    put_u64(gpu);
    for (int i = 0; i < 9; i++)
        put_u32(0);
    put_u32((uint32_t)strlen(name));
    put(name, strlen(name));
}

static void put_operation(bool older)
{
    static const char json[] = "{\"tool\": \"capture\", \"gfxrecon-version\": \"1.2\"}";

    begin_block((older ? 12 : 16) + 9 + sizeof json - 1, ANNOTATION);
    put_u32(2);
    put_u32(9);
    put_u32(sizeof json - 1);
    if (!older)
        put_u32(0);
    put("operation", 9);
    put(json, sizeof json - 1);
}

static void make_file(uint32_t compression)
{
    begin(compression);
    put_operation(compression == LAP_GFXR_NONE);
    put_gpu(4, "first");
    put_gpu(5, "sec\x1bnd");
    put_device(compression, 5);
    put_device(compression, 4);
    put_call(VULKAN | 0x106b);
    put_call(VULKAN | 0x106e);
    put_call(VULKAN | 0x119c);
    put_call(VULKAN | 0x1012);
    put_call(VULKAN | 0x1257);
    put_call(VULKAN | 0x10ae);
    put_call(0x30000 | 0x106b); /* of Direct3D */
    begin_block(100, 99);
    file.size += 100;
}

static enum lap_status walk(size_t bytes, struct lap_gfxr *out)
{
    int fd = memfd_create("gfxr", MFD_CLOEXEC);
    enum lap_status status;

    CHECK(fd >= 0 && write(fd, file.bytes, bytes) == (ssize_t)bytes && lseek(fd, 0, SEEK_SET) == 0);
    status = lap_gfxr_walk(fd, NULL, NULL, out);
    close(fd);
    return status;
}

UNIT_TEST(calls_are_counted_and_the_gpu_is_found)
{
    static const uint32_t compressions[] = {LAP_GFXR_NONE, LAP_GFXR_LZ4, LAP_GFXR_ZSTD};
    struct lap_gfxr found;

    for (size_t i = 0; i < sizeof compressions / sizeof *compressions; i++) {
        make_file(compressions[i]);
        CHECK(walk(file.size, &found) == LAP_OK);
        CHECK(found.whole && !found.blind && found.compression == compressions[i]);
        CHECK_EQ_INT(found.minor, 1);
        CHECK_EQ_U64(found.bytes, file.size);
        CHECK_EQ_U64(found.blocks, file.blocks);
        CHECK_EQ_U64(found.unknown, 1);
        CHECK_EQ_U64(found.calls, 8);
        CHECK_EQ_U64(found.counts.draws, 1);
        CHECK_EQ_U64(found.counts.dispatches, 2);
        CHECK_EQ_U64(found.counts.submits, 2);
        CHECK_EQ_U64(found.counts.presents, 1);
        CHECK_STR(found.device, "sec?nd");
        CHECK_STR(found.recorder, "1.2");
    }
}

UNIT_TEST(the_hash_is_that_of_all_bytes)
{
    struct lap_gfxr found;
    XXH128_canonical_t canonical;
    char text[LAP_GFXR_HASH_BYTES];

    make_file(LAP_GFXR_LZ4);
    CHECK(walk(file.size - 1, &found) == LAP_OK);
    XXH128_canonicalFromHash(&canonical, XXH3_128bits(file.bytes, file.size - 1));
    for (size_t i = 0; i < sizeof canonical.digest; i++)
        snprintf(text + 2 * i, 3, "%02x", canonical.digest[i]);
    CHECK_STR(found.hash, text);
}

UNIT_TEST(a_cut_is_seen_wherever_it_is)
{
    struct lap_gfxr found;

    make_file(LAP_GFXR_LZ4);
    for (size_t bytes = 4, blocks = 0; bytes <= file.size; bytes++) {
        bool at_end = bytes == FILE_HEAD_BYTES || (blocks < file.blocks && bytes == file.ends[blocks]);
        blocks += blocks < file.blocks && bytes == file.ends[blocks];
        CHECK(walk(bytes, &found) == LAP_OK);
        CHECK(found.whole == at_end);
        CHECK_EQ_U64(found.blocks, blocks);
        CHECK_EQ_U64(found.bytes, bytes);
        CHECK(bytes < FILE_HEAD_BYTES || found.cut_at == (blocks ? file.ends[blocks - 1] : FILE_HEAD_BYTES));
    }
}

/* That of a block of a file that never ends. */
UNIT_TEST(sizes_may_be_any)
{
    static const uint64_t sizes[] = {0, 1, 11, 12, 13, 65536, UINT64_MAX, UINT64_MAX - 11};
    struct lap_gfxr found;

    for (uint32_t kind = 0; kind < 8; kind++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            begin(LAP_GFXR_ZSTD);
            put_u64(sizes[i]);
            put_u32(kind % 2 ? kind | PACKED : kind);
            CHECK(walk(file.size, &found) == LAP_OK);
            CHECK(found.whole == !sizes[i] && found.blocks == !sizes[i]);
        }
}

UNIT_TEST(a_gpu_behind_another_compression_is_not_guessed)
{
    struct lap_gfxr found;

    begin(LAP_GFXR_ZLIB);
    put_gpu(4, "first");
    put_device(LAP_GFXR_ZLIB, 4);
    CHECK(walk(file.size, &found) == LAP_OK && !found.blind);
    CHECK_STR(found.device, "first");
    put_gpu(5, "second");
    CHECK(walk(file.size, &found) == LAP_OK && found.blind);
    CHECK_STR(found.device, "");
}

UNIT_TEST(other_files_are_refused)
{
    struct lap_gfxr found;

    make_file(LAP_GFXR_LZ4);
    CHECK(walk(0, &found) == LAP_ERROR_FORMAT);
    CHECK(walk(3, &found) == LAP_ERROR_FORMAT);
    file.bytes[0] = 'g';
    CHECK(walk(file.size, &found) == LAP_ERROR_FORMAT);
    make_file(LAP_GFXR_LZ4);
    file.bytes[15] = 1; /* options */
    CHECK(walk(file.size, &found) == LAP_ERROR_FORMAT);
    CHECK(lap_gfxr_walk(-1, NULL, NULL, &found) == LAP_ERROR_IO);
}

UNIT_MAIN();

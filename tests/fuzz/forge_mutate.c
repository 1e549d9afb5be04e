/* SPDX-License-Identifier: MIT */
/* What is changed in a forged trace. */
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/forge.h"
#include "trace/format/bytes.h"
#include "trace/format/chunk.h"
#include "trace/format/hash.h"

#define MAX_GROWTH 64u
#define MAX_BODY   (256u << 10)

/* ---- packet by packet ---- */

static unsigned below(unsigned *seed, size_t limit)
{
    return limit ? (unsigned)rand_r(seed) % (unsigned)limit : 0;
}

/* Numbers that mean something: nothing, one, the most that a byte holds, and those that are handles in small traces. */
static uint8_t number(unsigned *seed)
{
    static const uint8_t numbers[] = {0, 0, 0, 1, 1, 2, 3, 4, 5, 8, 16, 32, 64, 127};
    return numbers[below(seed, sizeof numbers)];
}

static void mutate_bytes(struct forge_bytes *bytes, unsigned *seed)
{
    size_t capacity = bytes->bytes + MAX_GROWTH;

    if (bytes->bytes && below(seed, 3)) {
        /* Most values are numbers of one byte. */
        uint8_t *at = &bytes->data[below(seed, bytes->bytes)];
        if (*at < 0x80 || below(seed, 4) == 0)
            *at = number(seed);
        return;
    }
    if (capacity > MAX_BODY)
        capacity = bytes->bytes;
    bytes->data = realloc(bytes->data, capacity + 1);
    if (!bytes->data)
        abort();
    bytes->bytes = LLVMFuzzerMutate(bytes->data, bytes->bytes, capacity);
}

/* A packet once more at `at`. */
static void insert_packet(struct forge *forge, size_t from, size_t at)
{
    struct forge_packet packet = forge->packets[from];
    struct forge_packet *longer = realloc(forge->packets, (forge->packet_count + 1) * sizeof *longer);

    if (!longer)
        abort();
    forge->packets = longer;
    packet.ends_frame = false;
    packet.body.data = malloc(packet.body.bytes + 1);
    if (!packet.body.data)
        abort();
    memcpy(packet.body.data, longer[from].body.data, packet.body.bytes);
    memmove(&longer[at + 1], &longer[at], (forge->packet_count - at) * sizeof *longer);
    longer[at] = packet;
    forge->packet_count++;
}

static void remove_packet(struct forge *forge, size_t at)
{
    free(forge->packets[at].body.data);
    forge->packet_count--;
    memmove(&forge->packets[at], &forge->packets[at + 1], (forge->packet_count - at) * sizeof *forge->packets);
}

static void mutate_once(struct forge *forge, unsigned *seed)
{
    size_t a = below(seed, forge->packet_count), b = below(seed, forge->packet_count);
    struct forge_packet packet;

    switch (below(seed, 16)) {
    case 0:
        insert_packet(forge, a, b);
        break;
    case 1:
        remove_packet(forge, a);
        break;
    case 2:
        packet = forge->packets[a];
        forge->packets[a] = forge->packets[b];
        forge->packets[b] = packet;
        break;
    case 3:
        forge->packets[a].command = below(seed, forge->command_count);
        break;
    case 4:
        forge->packets[a].flags ^= 1u << below(seed, 5);
        break;
    case 5:
        forge->packets[a].ends_frame = !forge->packets[a].ends_frame;
        forge->packets[b].thread = forge->packets[a].thread + below(seed, 2);
        break;
    case 6:
        mutate_bytes(&forge->info, seed);
        break;
    case 7:
    case 8:
    case 9:
    case 10:
        if (forge->blob_count)
            mutate_bytes(&forge->blobs[below(seed, forge->blob_count)].data, seed);
        break;
    default:
        mutate_bytes(&forge->packets[a].body, seed);
        break;
    }
}

void forge_mutate(struct forge *forge, unsigned seed)
{
    for (unsigned i = 1 + below(&seed, 4); i-- > 0 && forge->packet_count > 1;)
        mutate_once(forge, &seed);
}

/* ---- chunk by chunk ---- */

static size_t chunk_bytes(const uint8_t *data, size_t bytes, size_t at)
{
    if (bytes - at < LAP_CHUNK_HEADER_BYTES || lap_load_u32(data + at) != LAP_CHUNK_MAGIC)
        return 0;
    uint64_t size = LAP_CHUNK_HEADER_BYTES + (uint64_t)lap_load_u32(data + at + 16);
    return size <= bytes - at ? (size_t)size : 0;
}

static void repair_blobs(uint8_t *payload, size_t bytes)
{
    struct lap_blob_entry entry;

    for (size_t at = 0; at < bytes && lap_blob_entry_load(payload, bytes, at, &entry) == LAP_OK;
         at += lap_blob_entry_stride(entry.part_bytes)) {
        if (entry.part_bytes != entry.total_bytes)
            continue;
        entry.hash = lap_blob_hash_of(payload + at + LAP_BLOB_ENTRY_BYTES, entry.part_bytes);
        lap_blob_entry_store(&entry, payload + at);
    }
}

/* Copies of the headers in front of an INDEX chunk. */
static void repair_index(uint8_t *data, size_t index, size_t bytes)
{
    size_t at = LAP_FILE_HEADER_BYTES;
    uint8_t *out = data + index + LAP_CHUNK_HEADER_BYTES, *end = data + index + bytes;

    for (size_t size; at < index && end - out >= LAP_CHUNK_HEADER_BYTES; at += size, out += LAP_CHUNK_HEADER_BYTES) {
        size = chunk_bytes(data, index, at);
        if (size == 0)
            return;
        memcpy(out, data + at, LAP_CHUNK_HEADER_BYTES);
    }
}

void forge_repair(uint8_t *data, size_t bytes)
{
    size_t at = LAP_FILE_HEADER_BYTES, index = 0;
    uint64_t seed;

    if (bytes < LAP_FILE_HEADER_BYTES)
        return;
    lap_store_u64(data + 32, lap_hash64(data, 32));
    seed = forge_seed(data, bytes);
    for (size_t size; at < bytes && (size = chunk_bytes(data, bytes, at)) != 0; at += size) {
        uint8_t *chunk = data + at, *payload = chunk + LAP_CHUNK_HEADER_BYTES;
        size_t payload_bytes = size - LAP_CHUNK_HEADER_BYTES;
        if (chunk[5] == LAP_CODEC_NONE)
            lap_store_u32(chunk + 12, (uint32_t)payload_bytes);
        if (chunk[4] == LAP_CHUNK_BLOBS && chunk[5] == LAP_CODEC_NONE)
            repair_blobs(payload, payload_bytes);
        if (chunk[4] == LAP_CHUNK_INDEX) {
            repair_index(data, at, size);
            index = at;
        }
        if (chunk[4] == LAP_CHUNK_END && payload_bytes >= 8 && index)
            lap_store_u64(payload, index);
        lap_store_u64(chunk + 56, lap_hash64(payload, payload_bytes));
        lap_store_u64(chunk + 64, lap_hash64_seeded(chunk, 64, seed));
    }
}

/* Changes the payload of the chunk at `at`, whose size may become another one. */
static size_t mutate_payload(uint8_t *data, size_t bytes, size_t capacity, size_t at, size_t size)
{
    size_t payload = at + LAP_CHUNK_HEADER_BYTES, old = size - LAP_CHUNK_HEADER_BYTES, rest = bytes - at - size;
    size_t room = capacity - bytes < MAX_GROWTH ? old + capacity - bytes : old + MAX_GROWTH, changed;
    uint8_t *copy = malloc(room + 1);

    if (!copy)
        abort();
    memcpy(copy, data + payload, old);
    changed = LLVMFuzzerMutate(copy, old, room);
    memmove(data + payload + changed, data + at + size, rest);
    memcpy(data + payload, copy, changed);
    free(copy);
    lap_store_u32(data + at + 16, (uint32_t)changed);
    return bytes + changed - old;
}

size_t forge_mutate_file(uint8_t *data, size_t bytes, size_t capacity, unsigned seed)
{
    size_t chunks[64], sizes[64], count = 0;

    for (size_t at = LAP_FILE_HEADER_BYTES, size; count < 64 && at < bytes; at += size, count++) {
        size = chunk_bytes(data, bytes, at);
        if (size == 0)
            break;
        chunks[count] = at;
        sizes[count] = size;
    }
    if (count == 0 || below(&seed, 8) == 0) {
        bytes = LLVMFuzzerMutate(data, bytes, capacity);
    } else {
        unsigned i = below(&seed, count);
        if (below(&seed, 3) == 0) /* a field of its header */
            (void)LLVMFuzzerMutate(data + chunks[i] + 4, 52, 52);
        else
            bytes = mutate_payload(data, bytes, capacity, chunks[i], sizes[i]);
    }
    forge_repair(data, bytes);
    if (below(&seed, 8) == 0 && bytes > 1) /* and cut */
        bytes = 1 + below(&seed, bytes);
    return bytes;
}

size_t forge_mutator(uint8_t *data, size_t bytes, size_t capacity, unsigned seed)
{
    struct forge forge = {.packet_count = 0};
    size_t stored = 0;

    if (below(&seed, 8) && forge_load(&forge, data, bytes)) {
        forge_mutate(&forge, seed);
        stored = forge_store(&forge, data, capacity);
    }
    forge_finish(&forge);
    return stored ? stored : forge_mutate_file(data, bytes, capacity, seed);
}

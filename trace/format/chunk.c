/* SPDX-License-Identifier: MIT */
#include "trace/format/chunk.h"

#include <stdbool.h>
#include <string.h>

#include "trace/format/bytes.h"
#include "trace/format/decode.h"
#include "trace/format/hash.h"

/* No LZ4 block of n bytes holds more than this many times n, plus the most for its first token. A payload that another
 * codec makes smaller than that is not stored so. A header with other sizes would only make us allocate. */
#define MAX_RATIO   255u
#define RATIO_SLACK 64u

_Static_assert(LAP_COUNTER_COUNT <= LAP_TOTALS_MAX_COUNTERS, "the totals have room for every counter");
_Static_assert(LAP_TOTALS_BYTES == 8 + 8 * LAP_TOTALS_MAX_COUNTERS + 8, "layout of the totals");
_Static_assert(LAP_END_BYTES == 16 + LAP_TOTALS_BYTES + LAP_END_REASON_BYTES, "layout of the end chunk");

uint64_t lap_file_seed(const struct lap_file_header *header)
{
    return header->version == 2 ? 0 : lap_hash64(header->uuid, sizeof(header->uuid));
}

void lap_file_header_store(const struct lap_file_header *header, uint8_t out[LAP_FILE_HEADER_BYTES])
{
    memcpy(out, LAP_FORMAT_MAGIC, 8);
    lap_store_u32(out + 8, header->version);
    lap_store_u32(out + 12, header->flags);
    memcpy(out + 16, header->uuid, 16);
    lap_store_u64(out + 32, lap_hash64(out, 32));
}

enum lap_status lap_file_header_load(const uint8_t in[LAP_FILE_HEADER_BYTES], struct lap_file_header *out)
{
    if (memcmp(in, LAP_FORMAT_MAGIC, 8) != 0)
        return lap_fail(LAP_ERROR_FORMAT, "this is no trace (it does not begin with the magic bytes)");
    out->version = lap_load_u32(in + 8);
    out->flags = lap_load_u32(in + 12);
    memcpy(out->uuid, in + 16, 16);
    if (lap_load_u64(in + 32) != lap_hash64(in, 32))
        return lap_fail(LAP_ERROR_FORMAT, "the file's header is damaged");
    if (out->version < LAP_FORMAT_OLDEST || out->version > LAP_FORMAT_VERSION)
        return lap_fail(LAP_ERROR_FORMAT, "format version %u, this program reads versions %u to %u", out->version,
                        LAP_FORMAT_OLDEST, LAP_FORMAT_VERSION);
    if (out->flags)
        return lap_fail(LAP_ERROR_FORMAT, "the file's header has unknown flags (0x%x)", out->flags);
    return LAP_OK;
}

void lap_chunk_header_store(const struct lap_chunk_header *header, uint64_t seed, uint8_t out[LAP_CHUNK_HEADER_BYTES])
{
    lap_store_u32(out, LAP_CHUNK_MAGIC);
    out[4] = header->kind;
    out[5] = header->codec;
    out[6] = out[7] = 0;
    lap_store_u32(out + 8, header->stream);
    lap_store_u32(out + 12, header->raw_bytes);
    lap_store_u32(out + 16, header->stored_bytes);
    lap_store_u32(out + 20, header->count);
    lap_store_u64(out + 24, header->first);
    lap_store_u64(out + 32, header->last);
    lap_store_u64(out + 40, header->epoch);
    lap_store_u64(out + 48, header->frame);
    lap_store_u64(out + 56, header->payload_hash);
    lap_store_u64(out + 64, lap_hash64_seeded(out, 64, seed));
}

enum lap_status lap_chunk_header_load(const uint8_t in[LAP_CHUNK_HEADER_BYTES], uint64_t seed,
                                      struct lap_chunk_header *out)
{
    if (lap_load_u32(in) != LAP_CHUNK_MAGIC)
        return lap_fail(LAP_ERROR_FORMAT, "no chunk begins here");
    if (lap_load_u64(in + 64) != lap_hash64_seeded(in, 64, seed))
        return lap_fail(LAP_ERROR_FORMAT, "the chunk's header is damaged");
    out->kind = in[4];
    out->codec = in[5];
    out->stream = lap_load_u32(in + 8);
    out->raw_bytes = lap_load_u32(in + 12);
    out->stored_bytes = lap_load_u32(in + 16);
    out->count = lap_load_u32(in + 20);
    out->first = lap_load_u64(in + 24);
    out->last = lap_load_u64(in + 32);
    out->epoch = lap_load_u64(in + 40);
    out->frame = lap_load_u64(in + 48);
    out->payload_hash = lap_load_u64(in + 56);

    if (out->kind < LAP_CHUNK_DICTIONARY || out->kind > LAP_CHUNK_END || in[6] || in[7])
        return lap_fail(LAP_ERROR_FORMAT, "a chunk of unknown kind (%u)", out->kind);
    if (out->codec > LAP_CODEC_ZSTD)
        return lap_fail(LAP_ERROR_FORMAT, "a chunk packed with a codec that this program lacks (%u)", out->codec);
    if (out->raw_bytes > LAP_CHUNK_MAX_RAW)
        return lap_fail(LAP_ERROR_FORMAT, "a chunk of %u bytes, more than chunks may have", out->raw_bytes);
    bool sizes_agree = out->codec == LAP_CODEC_NONE
                           ? out->stored_bytes == out->raw_bytes
                           : out->stored_bytes < out->raw_bytes &&
                                 out->raw_bytes <= (uint64_t)out->stored_bytes * MAX_RATIO + RATIO_SLACK;
    if (!sizes_agree)
        return lap_fail(LAP_ERROR_FORMAT, "a chunk whose sizes contradict each other (%u stored, %u unpacked)",
                        out->stored_bytes, out->raw_bytes);
    if (out->first > out->last)
        return lap_fail(LAP_ERROR_FORMAT, "a chunk whose numbers run backwards");
    return LAP_OK;
}

static size_t state_bytes(const struct lap_codec *packer)
{
    return packer ? (packer->state_bytes() + 15) & ~(size_t)15 : 0;
}

size_t lap_chunk_scratch_bytes(const struct lap_codec *packer, size_t raw_bytes)
{
    return packer ? state_bytes(packer) + raw_bytes : 0;
}

const uint8_t *lap_chunk_pack(struct lap_chunk_header *header, const struct lap_codec *packer, const uint8_t *raw,
                              size_t raw_bytes, uint8_t *scratch)
{
    const uint8_t *stored = raw;
    header->codec = LAP_CODEC_NONE;
    header->raw_bytes = header->stored_bytes = (uint32_t)raw_bytes;
    if (packer && raw_bytes > 1) {
        uint8_t *packed = scratch + state_bytes(packer);
        size_t packed_bytes = packer->pack(packer, scratch, raw, raw_bytes, packed);
        if (packed_bytes && (uint64_t)packed_bytes * MAX_RATIO + RATIO_SLACK < raw_bytes && packer->otherwise) {
            packer = packer->otherwise;
            packed_bytes = packer->pack(packer, scratch, raw, raw_bytes, packed);
        }
        if (packed_bytes && (uint64_t)packed_bytes * MAX_RATIO + RATIO_SLACK >= raw_bytes) {
            header->codec = (uint8_t)packer->codec;
            header->stored_bytes = (uint32_t)packed_bytes;
            stored = packed;
        }
    }
    header->payload_hash = lap_hash64(stored, header->stored_bytes);
    return stored;
}

enum lap_status lap_chunk_check(const struct lap_chunk_header *header, const uint8_t *stored)
{
    if (lap_hash64(stored, header->stored_bytes) != header->payload_hash)
        return lap_fail(LAP_ERROR_FORMAT, "the chunk's payload is damaged");
    return LAP_OK;
}

static void store_totals(const struct lap_totals *totals, uint8_t out[LAP_TOTALS_BYTES])
{
    memset(out, 0, LAP_TOTALS_BYTES);
    lap_store_u32(out, LAP_COUNTER_COUNT);
    lap_store_u32(out + 4, totals->end_note);
    for (unsigned i = 0; i < LAP_COUNTER_COUNT; i++)
        lap_store_u64(out + 8 + 8 * i, totals->counters[i]);
    lap_store_u64(out + 8 + 8 * LAP_TOTALS_MAX_COUNTERS, totals->blob_bytes);
}

/* Counters that it lacks are 0. */
static void load_totals(const uint8_t in[LAP_TOTALS_BYTES], struct lap_totals *out)
{
    uint32_t count = lap_load_u32(in);
    memset(out, 0, sizeof(*out));
    out->end_note = lap_load_u32(in + 4);
    for (unsigned i = 0; i < LAP_COUNTER_COUNT && i < count; i++)
        out->counters[i] = lap_load_u64(in + 8 + 8 * i);
    out->blob_bytes = lap_load_u64(in + 8 + 8 * LAP_TOTALS_MAX_COUNTERS);
}

size_t lap_mark_store(const struct lap_totals *totals, uint8_t out[LAP_MARK_MAX_BYTES])
{
    size_t bytes = lap_store_varint(out, totals->blob_bytes);
    unsigned count = LAP_COUNTER_COUNT;
    while (count && totals->counters[count - 1] == 0)
        count--;
    for (unsigned i = 0; i < count; i++)
        bytes += lap_store_varint(out + bytes, totals->counters[i]);
    return bytes;
}

enum lap_status lap_mark_load(const uint8_t *in, size_t bytes, struct lap_totals *out)
{
    struct lap_dec dec;
    memset(out, 0, sizeof(*out));
    lap_dec_init(&dec, in, bytes, NULL, NULL);
    out->blob_bytes = lap_get_u64(&dec);
    for (unsigned i = 0; i < LAP_TOTALS_MAX_COUNTERS && dec.status == LAP_OK && dec.p != dec.end; i++) {
        uint64_t value = lap_get_u64(&dec);
        if (i < LAP_COUNTER_COUNT)
            out->counters[i] = value;
    }
    if (dec.status == LAP_OK && dec.p != dec.end)
        return lap_fail(LAP_ERROR_FORMAT, "a frame mark with needless bytes");
    return dec.status;
}

void lap_end_store(const struct lap_end *end, uint8_t out[LAP_END_BYTES])
{
    memset(out, 0, LAP_END_BYTES);
    lap_store_u64(out, end->index_offset);
    lap_store_u32(out + 8, end->index_chunks);
    store_totals(&end->totals, out + 16);
    memcpy(out + 16 + LAP_TOTALS_BYTES, end->reason, strnlen(end->reason, LAP_END_REASON_BYTES - 1));
}

void lap_end_load(const uint8_t in[LAP_END_BYTES], struct lap_end *out)
{
    out->index_offset = lap_load_u64(in);
    out->index_chunks = lap_load_u32(in + 8);
    load_totals(in + 16, &out->totals);
    memcpy(out->reason, in + 16 + LAP_TOTALS_BYTES, LAP_END_REASON_BYTES);
    out->reason[LAP_END_REASON_BYTES - 1] = 0;
    /* It is shown on a terminal. */
    for (char *c = out->reason; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
}

struct lap_blob_hash lap_blob_hash_of(const void *data, size_t bytes)
{
    uint64_t hash[2];
    lap_hash128(data, bytes, hash);
    return (struct lap_blob_hash){hash[0], hash[1]};
}

void lap_blob_entry_store(const struct lap_blob_entry *entry, uint8_t out[LAP_BLOB_ENTRY_BYTES])
{
    memset(out, 0, LAP_BLOB_ENTRY_BYTES);
    out[0] = entry->kind;
    lap_store_u32(out + 4, entry->part_bytes);
    lap_store_u64(out + 8, entry->total_bytes);
    lap_store_u64(out + 16, entry->part_offset);
    lap_store_u64(out + 24, entry->hash.low);
    lap_store_u64(out + 32, entry->hash.high);
}

enum lap_status lap_blob_entry_load(const uint8_t *payload, size_t payload_bytes, size_t offset,
                                    struct lap_blob_entry *out)
{
    if (offset > payload_bytes || payload_bytes - offset < LAP_BLOB_ENTRY_BYTES)
        return lap_fail(LAP_ERROR_FORMAT, "a chunk of blobs ends in the middle of an entry");
    const uint8_t *in = payload + offset;
    out->kind = in[0];
    out->part_bytes = lap_load_u32(in + 4);
    out->total_bytes = lap_load_u64(in + 8);
    out->part_offset = lap_load_u64(in + 16);
    out->hash.low = lap_load_u64(in + 24);
    out->hash.high = lap_load_u64(in + 32);
    if (out->part_bytes > payload_bytes - offset - LAP_BLOB_ENTRY_BYTES)
        return lap_fail(LAP_ERROR_FORMAT, "a blob is larger than its chunk");
    if (out->kind > LAP_BLOB_PACKET || out->total_bytes < out->part_bytes ||
        out->part_offset > out->total_bytes - out->part_bytes)
        return lap_fail(LAP_ERROR_FORMAT, "a blob's entry contradicts itself");
    return LAP_OK;
}

/* SPDX-License-Identifier: MIT */
/*
 * format: the constants of a .lapilli file. docs/format.md is normative; this header follows it.
 */
#ifndef LAP_TRACE_FORMAT_FORMAT_H
#define LAP_TRACE_FORMAT_FORMAT_H

#include <stdint.h>

#define LAP_FORMAT_MAGIC         "LAPILLI\n" /* 8 bytes at offset 0 */
#define LAP_FORMAT_VERSION       4u
#define LAP_FORMAT_OLDEST        2u          /* that is read */
#define LAP_FORMAT_COPIES        4u          /* since this version the dictionary is there twice */
#define LAP_CHUNK_MAGIC          0x4b43504cu /* "LPCK" little-endian, first word of every chunk header */
#define LAP_CHUNK_MAX_RAW        (4u << 20)
#define LAP_PACKET_MAX_INLINE    (64u << 10) /* longer bodies are stored as LAP_BLOB_PACKET blobs */
#define LAP_BLOB_MAX_BYTES       (1u << 30)  /* of a blob that a reader gives out */
#define LAP_NAME_MAX_BYTES       255u        /* of a name in the dictionary */
#define LAP_DICTIONARY_MAX_NAMES 65536u      /* in one of its lists */
#define LAP_INFO_MAX_BYTES       (1u << 20)  /* of one info object */
#define LAP_INFO_MAX_TOTAL       (4u << 20)  /* of all of them together */
#define LAP_INFO_MAX_KEYS        1024u       /* different ones, at the top level of all of them */

/* The dictionary's name of a packet that a reader inserts where one is missing (docs/format.md, "The journal"). */
#define LAP_MISSING_PACKET "lapilliMissing"

enum lap_chunk_kind {
    LAP_CHUNK_DICTIONARY = 1, /* names of commands, structs, handle types */
    LAP_CHUNK_INFO = 2,       /* one JSON object: program, machine, device, layer options; later ones add keys */
    LAP_CHUNK_PACKETS = 3,    /* packets of one stream */
    LAP_CHUNK_BLOBS = 4,
    LAP_CHUNK_FRAME = 5, /* a frame mark: everything with a smaller ticket comes before it */
    LAP_CHUNK_INDEX = 6,
    LAP_CHUNK_END = 7 /* why recording ended; the index comes before it */
};

enum lap_chunk_codec { LAP_CODEC_NONE = 0, LAP_CODEC_LZ4 = 1, LAP_CODEC_ZSTD = 2 };

enum lap_packet_flags {
    LAP_PACKET_BARRIER = 1,   /* class barrier (docs/ordering.md); otherwise free */
    LAP_PACKET_INFO = 2,      /* kept for people and tools, not replayed */
    LAP_PACKET_FAILED = 4,    /* the call returned an error; not replayed */
    LAP_PACKET_BLOB_BODY = 8, /* the body is the number of a LAP_BLOB_PACKET blob */
    LAP_PACKET_ENTRY = 16,    /* written before the call: the body has no return value */
    LAP_PACKET_ALL_FLAGS = 31 /* a reader refuses packets with others */
};

#endif

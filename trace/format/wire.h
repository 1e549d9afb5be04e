/* SPDX-License-Identifier: MIT */
/*
 * wire: how numbers and bytes lie in a packet body (docs/format.md, "Values"), for encode.h and decode.h. No Vulkan
 * here.
 *
 * Integers are LEB128 (signed ones zigzag first), floats are their IEEE bits, little-endian; runs of bytes are
 * a size and either the bytes or, from LAP_BLOB_MIN_BYTES on, the number of a blob.
 *
 * Both sides latch their first failure: an encoder that ran out of memory and a decoder that met bad input stay
 * failed and every further call does nothing, so generated code checks once at the end.
 */
#ifndef LAP_TRACE_FORMAT_WIRE_H
#define LAP_TRACE_FORMAT_WIRE_H

#define LAP_BLOB_MIN_BYTES  4096u
#define LAP_WIRE_MAX_VARINT 10u

enum lap_blob_kind { LAP_BLOB_DATA = 0, LAP_BLOB_BLOCK = 1, LAP_BLOB_PACKET = 2 };

#endif

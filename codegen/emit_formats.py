# SPDX-License-Identifier: MIT
"""What lies in memory for each VkFormat: how many bytes a texel block has, and how many texels it covers."""

from __future__ import annotations

from model import Model
from registry import Format
from text import Text, finish_header, header

# "Copying Data Between Buffers and Images": how the aspects of depth-stencil formats lie in buffers.
DEPTH_BYTES = {16: 2, 24: 4, 32: 4}


def _row(value: int, fmt: Format, model: Model) -> str:
    blocks = []
    for plane in fmt.planes:
        of_plane = model.registry.formats[plane]
        blocks.append((of_plane.block_bytes, of_plane.extent))
    if not blocks:
        blocks.append((fmt.block_bytes, fmt.extent))
    depth = DEPTH_BYTES.get(fmt.components.get("D", 0), 0)
    stencil = 1 if "S" in fmt.components else 0
    planes = ", ".join(f"{{{size}, {w}, {h}, {d}}}" for size, (w, h, d) in blocks)
    return f"{{{value}, {depth}, {stencil}, {len(blocks)}, {{{planes}}}}}, /* {fmt.name} */"


def emit(model: Model) -> dict[str, str]:
    h = header(model, "emit_formats.py", "GEN_FORMATS_H", ["<stdbool.h>", "<stdint.h>", "<vulkan/vulkan.h>"])
    h("struct gen_format_block {")
    h("uint8_t bytes, width, height, depth; /* of one block, in memory; in texels */")
    h("};")
    h("/* The texel block of one aspect of a format, as copies between buffers and images see it: VK_IMAGE_ASPECT_DEPTH_BIT and")
    h(" * STENCIL_BIT choose a part of depth-stencil formats, PLANE_n_BIT a plane. False for formats that are not known. */")
    h("bool gen_format_block(VkFormat format, VkImageAspectFlags aspect, struct gen_format_block *out);")

    values = dict(model.registry.enums["VkFormat"].values)
    rows = sorted((values[name], fmt) for name, fmt in model.registry.formats.items() if name in values)
    c = Text(model, "emit_formats.py", ["gen_formats.h"])
    c("struct format_row {")
    c("int32_t format;")
    c("uint8_t depth_bytes, stencil_bytes, plane_count;")
    c("struct gen_format_block planes[3];")
    c("};")
    c("/* Sorted by value. */")
    c("static const struct format_row format_rows[] = {")
    for value, fmt in rows:
        c(_row(value, fmt, model))
    c("};")
    c("static const struct format_row *find(VkFormat format)")
    c("{")
    c("uint32_t low = 0, high = sizeof format_rows / sizeof format_rows[0];")
    c("while (low < high) {")
    c("uint32_t middle = (low + high) / 2;")
    c("if (format_rows[middle].format < (int32_t)format)")
    c("    low = middle + 1;")
    c("else")
    c("    high = middle;")
    c("}")
    c("return low < sizeof format_rows / sizeof format_rows[0] && format_rows[low].format == (int32_t)format ? &format_rows[low] : NULL;")
    c("}")
    c("bool gen_format_block(VkFormat format, VkImageAspectFlags aspect, struct gen_format_block *out)")
    c("{")
    c("const struct format_row *row = find(format);")
    c("uint32_t plane = aspect & VK_IMAGE_ASPECT_PLANE_1_BIT ? 1 : aspect & VK_IMAGE_ASPECT_PLANE_2_BIT ? 2 : 0;")
    c("if (!row || plane >= row->plane_count)")
    c("    return false;")
    c("*out = row->planes[plane];")
    c("if (row->depth_bytes && aspect == VK_IMAGE_ASPECT_DEPTH_BIT)")
    c("    out->bytes = row->depth_bytes;")
    c("if (row->stencil_bytes && aspect == VK_IMAGE_ASPECT_STENCIL_BIT)")
    c("    out->bytes = row->stencil_bytes;")
    c("return true;")
    c("}")
    return {"gen_formats.h": finish_header(h), "gen_formats.c": c.render()}

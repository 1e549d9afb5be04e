# SPDX-License-Identifier: MIT
"""Formats of single texels: where in a texel the components lie.

Names define that ("Identification of Formats" in the specification). The registry's <component> elements say the same, but older
registries have mistakes in them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from model import Model
from text import Text, finish_header, header

OLDER = {"S10_5": "SFIXED5"}  # as older registries call it
NUMERICS = ["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "SRGB", "SFLOAT", "UFLOAT", "SFIXED5"]
CHANNELS = "RGBADS"
NAME = re.compile(rf"VK_FORMAT_(?:X8_)?((?:[{CHANNELS}EX]\d+)+)_({'|'.join([*NUMERICS, *OLDER])})(?:_S8_UINT)?(?:_\d?PACK(\d+))?(?:_[A-Z]+)?")


@dataclass(frozen=True)
class Layout:
    numeric: str
    bytes: int  # of a texel (of depth and stencil: of the first of them, as copies have it)
    exponent: bool  # shared, in the highest bits
    components: tuple[tuple[str, int, int], ...]  # channel, its lowest bit, bits; in the order of memory


def layout(name: str) -> Layout | None:
    """None: blocks, planes, or an encoding of numbers that is not known."""
    match = NAME.fullmatch(name)
    if not match:
        return None
    tokens = [(channel, int(bits)) for channel, bits in re.findall(r"([A-Z])(\d+)", match[1])]
    word = int(match[3] or 0)  # the first component of a packed word has its highest bits
    components, at = [], 0
    if word == 32 and tokens == [("D", 24)]:
        at = 8
    for channel, bits in tokens:
        lowest = at // word * word + word - at % word - bits if word else at
        if channel not in "EX":
            components.append((channel, lowest, bits))
        at += bits
    return Layout(OLDER.get(match[2], match[2]), 4 if tokens == [("D", 24)] else at // 8, tokens[0][0] == "E", tuple(sorted(components, key=lambda c: c[1])))


def layouts(model: Model) -> dict[int, tuple[str, Layout]]:
    """By number; the registry's formats whose names say that they are of single texels."""
    found = {}
    for name, value in model.registry.enums["VkFormat"].values:
        parsed = layout(name)
        if parsed and value not in found:
            found[value] = (name, parsed)
    return dict(sorted(found.items()))


def emit(model: Model) -> dict[str, str]:
    found = layouts(model)
    h = header(model, "emit_formats.py", "GEN_FORMATS_H", ["<stdbool.h>", "<stdint.h>"])
    h("enum gen_numeric {")
    for name in NUMERICS:
        h(f"GEN_NUMERIC_{name},")
    h("};")
    h("/* A format whose blocks are single texels of one plane. Bits count from the lowest one of the little-endian texel. */")
    h("struct gen_format {")
    h("int32_t format;  /* a VkFormat; the table is sorted by it */")
    h("uint8_t numeric; /* enum gen_numeric */")
    h("uint8_t bytes;   /* of a texel; of formats with depth and stencil, of the depth in a copy */")
    h("bool exponent;   /* 5 bits above the components are the exponent of all */")
    h("uint8_t count;")
    h("struct gen_format_component {")
    h("char channel; /* one of RGBADS */")
    h("uint8_t lowest, bits;")
    h("} components[4];")
    h("};")
    h(f"#define GEN_FORMAT_COUNT {len(found)}")
    h("extern const struct gen_format gen_formats[GEN_FORMAT_COUNT];")
    c = Text(model, "emit_formats.py", ["gen_formats.h"])
    c("const struct gen_format gen_formats[GEN_FORMAT_COUNT] = {")
    for value, (name, found_layout) in found.items():
        components = ", ".join(f"{{'{channel}', {lowest}, {bits}}}" for channel, lowest, bits in found_layout.components)
        c(f"{{{value}, GEN_NUMERIC_{found_layout.numeric}, {found_layout.bytes}, {str(found_layout.exponent).lower()}, "
          f"{len(found_layout.components)}, {{{components}}}}}, /* {name} */")
    c("};")
    return {"gen_formats.h": finish_header(h), "gen_formats.c": c.render()}

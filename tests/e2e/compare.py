# SPDX-License-Identifier: MIT
"""Compares what two replays of a trace checked (lapilli-replay --verify --dump-checks), texel by texel.

Two drivers may draw the same thing differently, within what the specification leaves open: rounding of filters and blends, and
which pixels an edge covers. TOLERANCES says how much of that counts as the same.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

import numpy
from PIL import Image


@dataclass(frozen=True)
class Tolerance:
    """`step`: how far a value may be off; `share`: of the texels of an image or range, how many may be off further; `mean`: the
    most that values may be off on the average. In parts of what the format can hold (normalized formats), else of the value."""

    step: float
    share: float
    mean: float

    def __str__(self) -> str:
        if not self.step:
            return "the same"
        return f"off by at most {self.step:.3g}, but for {self.share:.1%} of the texels; by {self.mean:.2g} on the average"


NONE = Tolerance(0, 0, 0)
# Rasterizers disagree about single pixels of edges, which then have another surface's color: hence the share. A half is
# rounded up by some and down by others: hence the average.
TOLERANCES = {
    "normalized": Tolerance(2 / 255, 0.002, 0.5 / 255),
    "float": Tolerance(2.0 ** -8, 0.002, 2.0 ** -10),
    "integer": NONE,
    "opaque": NONE,
}


@dataclass(frozen=True)
class Layout:
    """How a texel of an uncompressed format lies in memory."""

    kind: str  # a key of TOLERANCES
    texel_bytes: int
    decode: Callable[[numpy.ndarray], numpy.ndarray]  # bytes, a multiple of texel_bytes, to numbers of shape (texels, channels)


OPAQUE = Layout("opaque", 1, lambda data: data.reshape(-1, 1).astype(numpy.float64))
KINDS = {"UNORM": "normalized", "SRGB": "normalized", "SNORM": "normalized", "SFLOAT": "float", "UINT": "integer", "SINT": "integer",
         "USCALED": "integer", "SSCALED": "integer"}


def array_layout(bits: int, channels: int, numeric: str) -> Layout:
    """Channels of one size, one after the other."""
    kind = KINDS[numeric]
    letter = "f" if kind == "float" else "i" if numeric in ("SNORM", "SINT", "SSCALED") else "u"
    scale = {"SNORM": 2.0 ** (bits - 1) - 1}.get(numeric, 2.0 ** bits - 1) if kind == "normalized" else 1.0

    def decode(data: numpy.ndarray) -> numpy.ndarray:
        numbers = data.view(f"<{letter}{bits // 8}").reshape(-1, channels).astype(numpy.float64) / scale
        return numpy.maximum(numbers, -1.0) if numeric == "SNORM" else numbers
    return Layout(kind, bits // 8 * channels, decode)


def packed_layout(channels: list[tuple[str, int]], numeric: str, bits: int) -> Layout:
    """Channels in one number, the first in the most significant bits."""
    kind = KINDS[numeric]

    def decode(data: numpy.ndarray) -> numpy.ndarray:
        words, at, result = data.view(f"<u{bits // 8}").astype(numpy.uint64), bits, []
        for name, size in channels:
            at -= size
            number = (words >> numpy.uint64(at)) & numpy.uint64((1 << size) - 1)
            if name == "X":
                continue
            number = number.astype(numpy.float64)
            if numeric in ("SNORM", "SINT", "SSCALED"):
                number = numpy.where(number >= 1 << (size - 1), number - (1 << size), number)
            full = (1 << (size - 1 if numeric == "SNORM" else size)) - 1 if kind == "normalized" else 1
            result.append(numpy.maximum(number / full, -1.0) if numeric == "SNORM" else number / full)
        return numpy.stack(result, 1)
    return Layout(kind, bits // 8, decode)


def layout_of(format_name: str | None) -> Layout:
    """OPAQUE for what isn't known: then bytes count."""
    format_name = (format_name or "").replace("X8_D24", "X8D24")
    found = re.fullmatch(r"VK_FORMAT_((?:[RGBADSX]\d+)+)_([A-Z]+)(?:_PACK(\d+))?", format_name)
    if not found or found[2] not in KINDS:
        return OPAQUE
    channels = [(name, int(size)) for name, size in re.findall(r"([RGBADSX])(\d+)", found[1])]
    if found[3]:
        return packed_layout(channels, found[2], int(found[3])) if sum(size for _, size in channels) == int(found[3]) else OPAQUE
    sizes = {size for _, size in channels}
    if len(sizes) != 1 or not sizes <= {8, 16, 32, 64}:
        return OPAQUE
    return array_layout(sizes.pop(), len(channels), found[2])


@dataclass
class Dump:
    """What one replay checked."""

    folder: Path
    checks: list[dict] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.checks = [json.loads(line) for line in (self.folder / "checks.ndjson").read_text().splitlines()]
        path = self.folder / "checks.bin"
        self.bytes = numpy.memmap(path, numpy.uint8, "r") if path.stat().st_size else numpy.zeros(0, numpy.uint8)

    def data(self, check: dict) -> numpy.ndarray:
        return numpy.asarray(self.bytes[check["offset"]:check["offset"] + check["bytes"]])


@dataclass
class Result:
    """`largest` and `mean` are of the check that differs most, in steps of 1/255 of normalized formats, else in the value's unit."""

    checks: int = 0
    different: int = 0
    within: bool = True
    largest: float = 0.0
    mean: float = 0.0
    share: float = 0.0
    worst: dict | None = None
    says: str = ""
    pictures: list[Path] = field(default_factory=list)


def copied_formats(lines: list[dict]) -> dict[str, str]:
    """What lies in buffers that images are copied to, from the lines of `lapilli print --json`: a format for each buffer."""
    images, swapchains, result = {}, {}, {}
    for line in lines:
        args = line["args"]
        if line["name"] == "vkCreateImage" and args.get("pCreateInfo"):
            images[args["pImage"]] = args["pCreateInfo"]["format"]
        elif line["name"] == "vkCreateSwapchainKHR" and args.get("pCreateInfo"):
            swapchains[args["pSwapchain"]] = args["pCreateInfo"]["imageFormat"]
        elif line["name"] == "vkGetSwapchainImagesKHR":
            images |= {image: swapchains.get(args["swapchain"], "") for image in args.get("pSwapchainImages") or []}
        elif line["name"].startswith("vkCmdCopyImageToBuffer"):
            info = args.get("pCopyImageToBufferInfo") or args
            for region in info["pRegions"] or []:
                result[info["dstBuffer"]] = aspect_format(images.get(info["srcImage"], ""), region["imageSubresource"]["aspectMask"])
    return result


def aspect_format(name: str, aspect: str) -> str:
    """What a copy of one aspect of an image of this format puts into a buffer."""
    if "STENCIL" in aspect:
        return "VK_FORMAT_S8_UINT"
    return {"VK_FORMAT_D24_UNORM_S8_UINT": "VK_FORMAT_X8_D24_UNORM_PACK32", "VK_FORMAT_D32_SFLOAT_S8_UINT": "VK_FORMAT_D32_SFLOAT",
            "VK_FORMAT_D16_UNORM_S8_UINT": "VK_FORMAT_D16_UNORM"}.get(name, name)


def differences(layout: Layout, reference: numpy.ndarray, candidate: numpy.ndarray) -> numpy.ndarray:
    """How far each channel of each texel is off; NaN beside NaN is not."""
    a, b = layout.decode(reference), layout.decode(candidate)
    with numpy.errstate(invalid="ignore"):
        off = numpy.abs(a - b)
        if layout.kind == "float":
            off = off / numpy.maximum(numpy.maximum(numpy.abs(a), numpy.abs(b)), 1.0)
    off[(a == b) | (numpy.isnan(a) & numpy.isnan(b))] = 0.0
    return numpy.where(numpy.isnan(off), numpy.inf, off)


def write_picture(path: Path, check: dict, layout: Layout, texels: numpy.ndarray) -> Path | None:
    """As PNG, where it has the shape of an image and colors."""
    width, height = check.get("width"), check.get("height")
    if "rows" in check and layout.texel_bytes and check["bytes_in_row"] % layout.texel_bytes == 0:
        width, height = check["bytes_in_row"] // layout.texel_bytes, check["rows"]
    if not width or not height or texels.shape[0] != width * height:
        return None
    gray = numpy.nan_to_num(texels[:, :1 if texels.shape[1] < 3 else 3].clip(0, 1)) * 255
    if check.get("format", "").startswith("VK_FORMAT_B8G8R8") and gray.shape[1] == 3:
        gray = gray[:, ::-1]
    shape = (height, width) if gray.shape[1] < 3 else (height, width, 3)
    Image.fromarray(gray.round().astype(numpy.uint8).reshape(shape)).save(path)
    return path


def keep_pictures(folder: Path, check: dict, layout: Layout, reference: numpy.ndarray, candidate: numpy.ndarray) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    off = differences(layout, reference, candidate)
    named = (("reference", layout.decode(reference)), ("candidate", layout.decode(candidate)), ("difference", off * 8))
    paths = [write_picture(folder / f"check_{check['check']}_{name}.png", check, layout, texels) for name, texels in named]
    return [path for path in paths if path]


def place(check: dict) -> str:
    return f"{check['kind']} of {check['object']}, frame {check['frame']}, packet {check['packet']}"


def compare(reference: Dump, candidate: Dump, formats: dict[str, str] | None = None, tolerant: bool = True,
            keep: Path | None = None) -> Result:
    """`formats`: of what lies in buffers, by their names. `keep`: where pictures of the first check beyond tolerance go."""
    result = Result(checks=len(reference.checks))
    keys = ("kind", "packet", "object", "bytes", "format")
    if [[c.get(k) for k in keys] for c in reference.checks] != [[c.get(k) for k in keys] for c in candidate.checks]:
        return Result(within=False, says=f"other things are checked: {len(reference.checks)} and {len(candidate.checks)} checks")
    for a, b in zip(reference.checks, candidate.checks):
        before, after = reference.data(a), candidate.data(b)
        if numpy.array_equal(before, after):
            continue
        result.different += 1
        layout = layout_of(a.get("format") or (formats or {}).get(a["object"]))
        if a["bytes"] % layout.texel_bytes:
            layout = OPAQUE
        allowed = TOLERANCES[layout.kind] if tolerant else NONE
        off = differences(layout, before, after)
        beyond = float((off.max(1) > allowed.step + 1e-9).mean())
        unit = 255.0 if layout.kind == "normalized" else 1.0
        within = beyond <= allowed.share and float(off.mean()) <= allowed.mean
        if (not within, beyond, off.max() * unit) > (not result.within, result.share, result.largest):
            result.largest, result.mean, result.share = float(off.max()) * unit, float(off.mean()) * unit, beyond
            result.worst = a
        if not within and result.within:
            result.within = False
            result.says = f"{place(a)} ({a.get('format') or layout.kind}) is not {allowed}: {beyond:.2%} of the texels are beyond"
            if keep:
                result.pictures = keep_pictures(keep, a, layout, before, after)
    return result


def missing_in(reference: Dump, candidate: Dump) -> dict | None:
    """The first check of the candidate whose bytes the reference does not have, in order; None: it has them all. For two
    recordings of one program, of which one has left parts out."""
    at = 0
    for check in candidate.checks:
        wanted = candidate.data(check)
        while at < len(reference.checks) and not (reference.checks[at]["kind"] == check["kind"]
                                                  and numpy.array_equal(reference.data(reference.checks[at]), wanted)):
            at += 1
        if at == len(reference.checks):
            return check
        at += 1
    return None

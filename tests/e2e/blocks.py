# SPDX-License-Identifier: MIT
"""Compressed formats that the replay device lacks: their blocks are decoded, or the replay is refused beforehand."""

from __future__ import annotations

import json
import re
import zlib
from pathlib import Path
from typing import Callable

from e2e.cases import SHAPE, VALIDATION, Cases, Context, Done, Skip, check, check_no_validation_message, validation_layer

cases_here = Cases()

BC = "features=textureCompressionBC,formats=" + "+".join(str(number) for number in range(131, 147))
# R16_UNORM, R16_SNORM, R16G16_UNORM, R16G16_SNORM: half floats stand for EAC.
NO_NORMALIZED_16 = "formats=70+71+77+78"
# Drivers round what lies between two colors otherwise, and sRGB makes more of it: steps of 255.
TOLERANCE = 3


def record(context: Context, *arguments: str) -> None:
    command = [context.program("lapilli"), "capture", "--verify", "--keep-bytes", "-o", "out.lapilli", "--", context.app("compressed"), *arguments]
    done = context.run(command, expect=None)
    if done.status == 77:
        raise Skip(done.out.strip().splitlines()[-1])
    check(done.status == 0, done.text[-2000:])


def replay(context: Context, shape: str) -> Done:
    """Each texel is within the tolerance, and the validation layer has nothing to say."""
    validation_layer(context)
    done = context.replay("out.lapilli", "--tolerance", str(TOLERANCE), env=context.layer_env(VALIDATION, SHAPE, LAPILLI_SHAPE=shape))
    found = re.search(r"^verify: (\d+) checks, (\d+) within, 0 different$", done.out, re.MULTILINE)
    check(found is not None and int(found[1]) > 0, done.text[-2000:])
    check_no_validation_message(done, f"of the replay as {shape!r}")
    return done


def findings(context: Context, shape: str, expect: int) -> dict:
    environment = context.layer_env(SHAPE, LAPILLI_SHAPE=shape)
    return json.loads(context.run([context.program("lapilli"), "check", "--json", "out.lapilli"], environment, expect=expect).out)


def from_swiftshader(shape: str, *stand_for: str) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        if context.driver or context.driver_dir:
            raise Skip("it is about the default driver")
        record(context.on("swiftshader"))
        done = replay(context, shape)
        for name in stand_for:
            check(f"{name} substitutes it, into which blocks are decoded" in done.err, done.text[-2000:])
        found = findings(context, shape, 0)
        mapped = {finding["name"] for finding in found["findings"] if finding["outcome"] == "mapped"}
        check({"textureCompressionETC2", "textureCompressionASTC_LDR", "VK_FORMAT_ASTC_8x5_SRGB_BLOCK"} <= mapped, f"{mapped}")
    return run


@cases_here.add
def bc_is_decoded(context: Context) -> None:
    record(context)
    done = replay(context, BC)
    check("textureCompressionBC: the replay decodes the blocks of its formats" in done.err, done.text[-2000:])


@cases_here.add
def large_copies_are_cut(context: Context) -> None:
    """Into slices, and these into bands: no buffer is larger than the device lets a shader see."""
    record(context)
    replay(context, BC + ",limits=maxStorageBufferRange:7168")
    done = context.replay("out.lapilli", env=context.layer_env(SHAPE, LAPILLI_SHAPE=BC + ",limits=maxStorageBufferRange:4608"), expect=5)
    check("is too large to be decoded on this device" in done.err, done.text[-2000:])


def refused(option: str, sentence: str, said_by_check: str) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        record(context, option)
        done = context.replay("out.lapilli", env=context.layer_env(SHAPE, LAPILLI_SHAPE=BC), expect=5)
        check(sentence in done.err, done.text[-2000:])
        found = findings(context, BC, 1)
        reasons = [finding for finding in found["findings"] if finding["outcome"] == "refused" and said_by_check in json.dumps(finding)]
        check(bool(reasons) and found["can_replay"] is False, f"{found}")
    return run


def rows_of_png(path: Path) -> list[bytes]:
    """Of 8 bits a sample, in RGB."""
    data, at, packed = path.read_bytes(), 8, b""
    check(data[24:26] == b"\x08\x02", f"{path} is another kind of picture")
    width = int.from_bytes(data[16:20], "big")
    while at < len(data):
        size = int.from_bytes(data[at:at + 4], "big")
        packed += data[at + 8:at + 8 + size] if data[at + 4:at + 8] == b"IDAT" else b""
        at += size + 12
    packed, stride, rows = zlib.decompress(packed), 3 * width + 1, [bytes(3 * width)]
    for start in range(0, len(packed), stride):
        row, above = bytearray(packed[start + 1:start + stride]), rows[-1]
        for i in range(len(row)):
            left, up, corner = row[i - 3] if i > 2 else 0, above[i], above[i - 3] if i > 2 else 0
            nearest = min((left, up, corner), key=lambda value: abs(left + up - corner - value))
            row[i] = (row[i] + (0, left, up, (left + up) // 2, nearest)[packed[start]]) % 256
        rows.append(bytes(row))
    return rows[1:]


@cases_here.add
def pictures_are_what_the_device_reads(context: Context) -> None:
    """The program blits the first level of an image of each format to row 192 of another image. It ends within blocks."""
    record(context)
    packets = [packet for packet in context.print_lines("out.lapilli", "--no-blocks") if packet["name"] in ("vkCreateImage", "vkQueueSubmit")]
    for name, steps in {"BC1_RGB": 2, "BC2": 2, "BC3": 2, "BC7": 0}.items():
        made = [i for i, packet in enumerate(packets) if packet["name"] == "vkCreateImage"
                and packet["args"]["pCreateInfo"]["format"] == f"VK_FORMAT_{name}_UNORM_BLOCK"]
        stop = next(packet["ticket"] for packet in packets[made[1]:] if packet["name"] == "vkQueueSubmit")
        (context.folder / "list").write_text(f"blocks image {packets[made[1]]['args']['pImage'].partition(':')[2]} 1 0 0 1 1\nshown image 1 1 0 0 1 1\n")
        context.run([context.program("lapilli-replay"), "--stop-at", str(stop + 1), "--pictures", name, "--picture-list", "list", "out.lapilli"])
        got, want = rows_of_png(context.folder / name / "blocks.png"), rows_of_png(context.folder / name / "shown.png")
        check((len(got), len(got[0])) == (18, 3 * 21), f"{name} has another size")
        check(len(set(got)) > 10, f"{name} has one color")
        for y, row in enumerate(got):
            check(all(abs(a - b) <= steps for a, b in zip(row, want[192 + y])), f"{name}: row {y} is {row.hex()}, not {want[192 + y][:len(row)].hex()}")


def decoded_as_on(driver: str | None) -> Callable[[Context], None]:
    """Each texel of random blocks of all kinds is what the device reads of them."""
    def run(here: Context) -> None:
        context = here.on(driver)
        done = context.run([str(context.build / "tests/bin/blocks-check")], expect=None)
        if done.status == 77:
            raise Skip(done.out.strip().splitlines()[-1])
        check(done.status == 0, done.text[-4000:])
    return run


def cases() -> dict[str, Callable[[Context], None]]:
    return cases_here | {
        "values-are-those-of-the-driver": decoded_as_on(None),
        "values-are-those-of-swiftshader": decoded_as_on("swiftshader"),
        "etc2-and-astc-are-decoded": from_swiftshader("", "VK_FORMAT_R16_UNORM", "VK_FORMAT_R16G16_SNORM", "VK_FORMAT_R8G8B8A8_SRGB"),
        "eac-becomes-half-floats": from_swiftshader(NO_NORMALIZED_16, "VK_FORMAT_R16_SFLOAT", "VK_FORMAT_R16G16_SFLOAT"),
        "blocks-that-are-read-are-refused": refused("--read", "only its texels are there", "only its texels are there"),
        "blocks-that-are-seen-as-texels-are-refused": refused("--texels", "textureCompressionBC", "show its blocks as texels"),
    }

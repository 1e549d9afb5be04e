# SPDX-License-Identifier: MIT
"""Replays that draw differently: lines, one colour, one pixel, other shaders. The validation layer says nothing; pictures show it."""

from __future__ import annotations

import re
import shutil
import struct
import zlib
from collections import Counter
from pathlib import Path
from typing import Callable

from e2e.cases import SHAPE, Cases, Context, Done, Program, check, check_verified, prepare_on, programs, skip_lacking, validating_shaders
from e2e.sandbox import needs_sandbox

CASES = Cases()
case = CASES.add

WAYS = ("--wireframe", "--null-fragment", "--tiny-viewport")
GREEN = "#version 450\nlayout(location = 0) out vec4 color;\nvoid main() { color = vec4(0, 1, 0, 1); }\n"
SMALLER = "#version 450\nlayout(location = 7) in vec4 more;\nlayout(location = 0) out vec4 color;\nvoid main() { color = more; }\n"


def codes(context: Context, file: str) -> dict[str, Path]:
    """The SPIR-V of a trace, by its hash, in files."""
    folder = context.folder / f"{file}.codes"
    folder.mkdir(exist_ok=True)
    context.run([str(context.build / "tests/bin/recode-check"), file, folder.name])
    return {path.stem: path for path in sorted(folder.iterdir())}


def play(context: Context, file: str, *arguments: str, **options) -> Done:
    return context.run([context.program("lapilli-replay"), "--present", "headless", *arguments, file], **options)


def pixels(png: Path) -> Counter[bytes]:
    """How many pixels of a picture have each colour."""
    data, at, packed = png.read_bytes(), 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", data[at + 8:at + 18])
        packed += data[at + 8:at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    step, rows = {2: 3, 6: 4}[color], zlib.decompress(packed)
    check(depth == 8, f"{png}: {depth} bits")
    found: Counter[bytes] = Counter()
    above = bytearray(width * step)
    for y in range(height):
        kind, *line = rows[y * (width * step + 1):(y + 1) * (width * step + 1)]
        row = bytearray(line)
        for i in range(len(row) if kind else 0):
            left, up, corner = (row[i - step], above[i], above[i - step]) if i >= step else (0, above[i], 0)
            nearest = min((left, up, corner), key=lambda v: abs(left + up - corner - v))
            row[i] = (row[i] + (0, left, up, (left + up) // 2, nearest)[kind]) & 255
        found.update(bytes(row[i:i + 3]) for i in range(0, len(row), step))
        above = row
    return found


def picture(context: Context, *arguments: str) -> Counter[bytes]:
    play(context, "out.lapilli", "--screenshot", "1", *arguments)
    return pixels(context.folder / "frame_1.png")


def triangle(driver: str | None) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context, command = prepare_on(context, Program("triangle", [context.app("triangle")], True), driver)
        context.capture(command)
        plain = picture(context)
        background = plain.most_common(1)[0][0]
        lines, colour, pixel = (picture(context, way) for way in WAYS)
        drawn = {name: sum(found.values()) - found[background] for name, found in (("plain", plain), ("lines", lines), ("colour", colour), ("pixel", pixel))}
        check(0 < drawn["lines"] < drawn["plain"] // 4 and drawn["pixel"] <= 1, f"{drawn}")
        check(dict(colour) == {background: plain[background], b"\xff\x00\xff": drawn["plain"]}, f"{colour}")
        check(set(picture(context, "--skip", "1")) == {background}, "a skipped frame is not clear")
        found = codes(context, "out.lapilli")
        shader = next(name for name, path in found.items() if is_fragment(path))
        (context.folder / "green.frag").write_text(GREEN)
        check(dict(picture(context, "--replace-shader", f"{shader[:8]}=green.frag")) == {background: plain[background], b"\x00\xff\x00": drawn["plain"]}, "it is not green")
    return run


def is_fragment(path: Path) -> bool:
    """Whether the code has an entry point of the stage."""
    words = struct.unpack(f"<{path.stat().st_size // 4}I", path.read_bytes())
    at = 5
    while at < len(words):
        if words[at] & 0xffff == 15 and words[at + 1] == 4:
            return True
        at += words[at] >> 16
    return False


@case
def shaders_that_do_not_fit_are_refused(context: Context) -> None:
    context.run([context.app("triangle"), "--offscreen"], context.layer_env())
    found = codes(context, "out.lapilli")
    fragment = next(name for name, path in found.items() if is_fragment(path))
    vertex = next(name for name in found if name != fragment)
    for name, text in (("green.frag", GREEN), ("smaller.frag", SMALLER), ("broken.frag", GREEN.replace("vec4(", "vec5("))):
        (context.folder / name).write_text(text)
    good = found[fragment].read_bytes()
    (context.folder / "invalid.spv").write_bytes(good[:-4] + struct.pack("<I", 1 << 16 | 253))  # the last function does not end
    (context.folder / "short.spv").write_bytes(good[:-2])
    said = [(f"{fragment}=none.spv", "can't be read"), (f"{fragment[:7]}=green.frag", "8 to 16 digits"), ("0123456789=green.frag", "no shader's code has the hash 0123456789"),
            (f"{fragment}=broken.frag", "does not compile"), (f"{fragment}=short.spv", "no SPIR-V"), (f"{fragment}=smaller.frag", "it has an input at location 7, where the one before has none"),
            (f"{vertex}=green.frag", "it has no entry point main for the vertex stage"), (fragment, "wants HASH=FILE")]
    if validating_shaders(context):
        said.append((f"{fragment}=invalid.spv", "is no valid SPIR-V"))
    for value, says in said:
        done = play(context, "out.lapilli", "--screenshot", "1", "--replace-shader", value, expect=2)
        check(re.search(says, done.err) is not None and not list(context.folder.glob("*.png")), f"{value}: {done.text}")
    compiler = play(context, "out.lapilli", "--replace-shader", f"{fragment}=green.frag", env={"PATH": "/nowhere"}, expect=2)
    check("glslangValidator is not installed" in compiler.err, compiler.err)


@case
def a_compiler_writes_nothing_but_code(context: Context) -> None:
    """One that has been taken over has the rights of a sandbox alone."""
    context.run([context.app("triangle"), "--offscreen"], context.layer_env())
    needs_sandbox(context)
    fragment = next(name for name, path in codes(context, "out.lapilli").items() if is_fragment(path))
    (context.folder / "green.frag").write_text(GREEN)
    fake, escaped = context.folder / "fake/glslangValidator", context.folder / "escaped"
    fake.parent.mkdir()
    fake.write_text(f'#!/bin/sh\ntrue > {escaped}\n[ "$1" = --version ] || exec {shutil.which("glslangValidator")} "$@"\n')
    fake.chmod(0o755)
    context.run([str(fake), "--version"])
    escaped.unlink()
    done = play(context, "out.lapilli", "--replace-shader", f"{fragment}=green.frag", env={"PATH": f"{fake.parent}:/usr/bin:/bin"})
    check("1 shader module replaced" in done.err and not escaped.exists(), f"{done.text}")


@case
def lines_need_a_feature(context: Context) -> None:
    context.run([context.app("triangle"), "--offscreen"], context.layer_env())
    lacking = context.layer_env(SHAPE, LAPILLI_SHAPE="features=fillModeNonSolid")
    play(context, "out.lapilli", env=lacking)
    done = play(context, "out.lapilli", "--wireframe", env=lacking, expect=5)
    check("fillModeNonSolid" in done.err, done.err)


def every_way(program: Program, driver: str | None) -> Callable[[Context], None]:
    """Where the validation layer has nothing to say of a replay, it has nothing to say of these. Shaders that stand for themselves change nothing."""
    def run(context: Context) -> None:
        context_on, command = prepare_on(context, program, driver)
        skip_lacking(context_on.capture(command, expect=None))
        check_code = validating_shaders(context_on)
        for file in sorted(path.name for path in context_on.folder.glob("*.lapilli")):
            if play(context_on, file, "--validate", expect=None).status == 0:
                for way in (*([w] for w in WAYS), WAYS):
                    play(context_on, file, "--validate", *check_code, *way)
            same = [word for name, path in codes(context_on, file).items() for word in ("--replace-shader", f"{name}={path}")]
            if same and play(context_on, file, "--verify", expect=None).status == 0:
                done = play(context_on, file, "--verify", *same)
                check_verified(done)
                check("replaced" in done.err, done.err)
    return run


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    result: dict[str, Callable[[Context], None]] = dict(CASES)
    for driver in (None, "swiftshader"):
        where = f"{driver}/" if driver else ""
        result[f"{where}triangle"] = triangle(driver)
        for program in programs(context):
            result[f"each/{where}{program.name}"] = every_way(program, driver)
    return result

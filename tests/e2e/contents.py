# SPDX-License-Identifier: MIT
"""Contents of buffers and images from the trace alone: what the layer's checks compared, as bytes and as hashes."""

from __future__ import annotations

import json
import re
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Callable

from e2e.cases import Cases, Context, Program, Skip, check, prepare_on, programs, skip_lacking

CASES = Cases()
case = CASES.add

# Contents of which so much is known from the trace alone: checks of buffers, and of images. Tried before every change.
KNOWN = {"suballoc": (4000, 0), "formats": (90, 1300), "alias": (100, 10), "linear": (30, 0), "depth": (0, 50), "modern": (30, 0), "parts": (10, 0), "queues": (20, 0)}
# What work that waits for the host, shaders and others write is not.
UNKNOWN = {"gated", "gated-event", "gated-random", "answers", "descriptors", "unread"}
# Its threads store to what the device reads meanwhile.
RACES = {"stores"}


def check_known(context: Context, file: str, name: str) -> tuple[int, int]:
    """Of what is known all hashes are those of the checks. Returns how many are: of buffers, and of images."""
    said = context.run([str(context.build / "tests/bin/memory-check"), file]).out
    found = re.search(r"^\d+ (\d+) (\d+) buffers, \d+ (\d+) (\d+) images$", said, re.M)
    check(found is not None and (found[2] == found[4] == "0" or name in RACES), f"{file}: {said[-2000:]}")
    return int(found[1]), int(found[3])


def known(program: Program) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context, command = prepare_on(context, program, None)
        skip_lacking(context.run(command, context.layer_env(LAPILLI_VERIFY="all", LAPILLI_CAPTURE="1"), expect=None))
        counts = [check_known(context, path.name, program.name) for path in context.folder.glob("*.lapilli")]
        total, least = [sum(column) for column in zip(*counts)], KNOWN.get(program.name, (0, 0))
        check(total[0] >= least[0] and total[1] >= least[1], f"{total} are known")
    return run


def dumped(context: Context) -> list[tuple[dict, bytes]]:
    context.replay("out.lapilli", "--dump-checks", "checks")
    whole = (context.folder / "checks/checks.bin").read_bytes()
    entries = [json.loads(line) for line in (context.folder / "checks/checks.ndjson").read_text().splitlines()]
    return [(entry, whole[entry["offset"]:entry["offset"] + entry["bytes"]]) for entry in entries]


def memory(context: Context, *arguments: str, expect: int | None = 0) -> str:
    return context.run([context.program("lapilli"), "memory", *arguments], expect=expect).out


@case
def bytes_are_those_of_a_replay(context: Context) -> None:
    """As a file, in hexadecimal, and as numbers; the parts have no gaps."""
    context.run([context.app("alias")], context.layer_env(LAPILLI_VERIFY="all"))
    compared = 0
    buffers = [(entry, data) for entry, data in dumped(context) if entry["kind"] == "buffer"]
    for entry, data in buffers[::max(len(buffers) // 24, 1)]:
        if any(part["known"] not in ("yes", "nobody") for part in json.loads(memory(context, "--json", "--parts", "--at", f"#{entry['packet'] - 1}", "out.lapilli", entry["object"], str(entry["at"]), str(len(data))))["parts"]):
            continue
        place = ["--at", f"#{entry['packet'] - 1}", "out.lapilli", entry["object"], str(entry["at"]), str(len(data))]
        memory(context, "-o", "bytes", *place)
        check((context.folder / "bytes").read_bytes() == data, f"{entry}: other bytes in the file")
        shown = json.loads(memory(context, "--json", *place))
        check(bytes.fromhex(shown["hex"]) == data, f"{entry}: other bytes in {shown}")
        ends = [entry["at"]] + [part["end"] for part in shown["parts"]]
        check(ends[:-1] == [part["begin"] for part in shown["parts"]] and ends[-1] == entry["at"] + len(data), f"{shown['parts']}")
        elements = json.loads(memory(context, "--json", "--as", "u32,x16,i8x2", "--stride", "12", *place))["elements"]
        wanted = [[i, f"{x:04x}", a, b] for i, x, a, b in (struct.unpack_from("<IHbb", data, at) for at in range(0, len(data) - 7, 12))]
        check(elements == wanted, f"{entry}: {elements}, not {wanted}")
        lines = [line.split("\t")[:2] for line in memory(context, "--as", "u32", *place).splitlines()]
        check(lines == [[str(entry["at"] + i * 4), str(v)] for i, v in enumerate(struct.unpack(f"<{len(data) // 4}I", data[:len(data) // 4 * 4]))], f"{lines}")
        compared += 1
    check(compared >= 8, f"{compared} buffers")


def pixels(path: Path) -> tuple[int, int, int, bytes]:
    """Width, height, samples of a pixel, and rows of a PNG with 8 bits."""
    data, at, packed = path.read_bytes(), 8, b""
    width, height, bits, kind = struct.unpack(">IIBB", data[16:26])
    while at < len(data):
        size, name = struct.unpack(">I4s", data[at:at + 8])
        packed += data[at + 8:at + 8 + size] if name == b"IDAT" else b""
        at += size + 12
    count = {0: 1, 2: 3, 6: 4}[kind]
    rows, previous = zlib.decompress(packed), bytearray(width * count)
    result = b""
    check(bits == 8, f"{bits} bits")
    for y in range(height):
        start = y * (width * count + 1)
        way, line = rows[start], bytearray(rows[start + 1:start + 1 + width * count])
        for x in range(len(line)):
            left, up, corner = (line[x - count] if x >= count else 0), previous[x], (previous[x - count] if x >= count else 0)
            guess = left + up - corner
            paeth = min((left, up, corner), key=lambda v: abs(guess - v))
            line[x] = (line[x] + (0, left, up, (left + up) // 2, paeth)[way]) & 255
        result += bytes(line)
        previous = line
    return width, height, count, result


@case
def texels_are_those_of_a_replay(context: Context) -> None:
    """As bytes; of formats with four bytes in the order of PNG as a picture."""
    context.run([context.app("formats")], context.layer_env(LAPILLI_VERIFY="all"))
    formats = {line["args"]["pImage"]: line["args"]["pCreateInfo"] for line in context.print_lines("out.lapilli", "--no-blocks") if line["name"] == "vkCreateImage"}
    aspects = {1: "color", 2: "depth", 4: "stencil"}
    compared = shown = 0
    images = [(entry, data) for entry, data in dumped(context) if entry["kind"] == "image" and formats[entry["object"]]["extent"]["depth"] == 1]
    for entry, data in images[::max(len(images) // 30, 1)]:
        place = ["--at", f"#{entry['packet'] - 1}", "--mip", str(entry["level"]), "--layer", str(entry["layer"]), "out.lapilli", entry["object"], "-o", "picture"]
        image = [context.program("lapilli"), "image", "--json", "--aspect", aspects[entry["aspect"]], *place]
        done = context.run([*image, "--raw"], expect=None)
        check(done.status in (0, 5), done.text)
        if done.status == 5:
            check("is written by" in done.err or "nothing was written" in done.err, done.err)
            continue
        said = json.loads(done.out)
        if not all(part["known"] in ("yes", "nobody") for part in said["parts"]):
            continue
        check((context.folder / "picture").read_bytes() == data, f"{entry}: other texels, {said}")
        compared += 1
        if said["format"] in ("VK_FORMAT_R8G8B8A8_UNORM", "VK_FORMAT_R8G8B8A8_SRGB"):
            context.run([*image, "--channels", "rgba"])
            width, height, count, rows = pixels(context.folder / "picture")
            check((width, height, count, rows) == (said["width"], said["height"], 4, data), f"{entry}: another picture")
            shown += 1
    check(compared > 15 and shown, f"{compared} images, {shown} pictures")


@case
def planes_have_pictures(context: Context) -> None:
    """What the device copies out of a plane into a buffer is what its picture shows; a driver has to have host copies of planes."""
    done = context.run([context.app("hostcopy"), "--planes"], context.layer_env(LAPILLI_VERIFY="all"), expect=None)
    skip_lacking(done)
    if "no host copies of planes" in done.out:
        raise Skip("no host copies of planes")
    file = sorted(path.name for path in context.folder.glob("*.lapilli"))[-1]
    lines = context.print_lines(file)
    image = next(line["args"]["pImage"] for line in lines if line["name"] == "vkCreateImage" and "2PLANE_420" in line["args"]["pCreateInfo"]["format"])
    shown = 0
    for at, line in enumerate(lines):
        copy = line["args"] if line["name"] == "vkCmdCopyImageToBuffer" else {}
        if copy.get("srcImage") != image:
            continue
        plane = re.search(r"PLANE_(\d)_BIT", copy["pRegions"][0]["imageSubresource"]["aspectMask"])[1]
        submit = next(later["index"] for later in lines[at:] if later["name"].startswith("vkQueueSubmit"))
        memory(context, "--at", f"#{submit}", "-o", "bytes", file, copy["dstBuffer"])
        for how in ([], ["--raw"]):
            context.run([context.program("lapilli"), "image", "--at", f"#{submit}", "--aspect", f"plane{plane}", *how, "-o", f"plane{len(how)}", file, image])
        width, height, samples, rows = pixels(context.folder / "plane0")
        raw = (context.folder / "plane1").read_bytes()
        check((width, height) == ((16, 12) if plane == "1" else (32, 24)) and (context.folder / "bytes").read_bytes()[:len(raw)] == raw, f"plane {plane}: other bytes")
        check(rows == (raw if samples == 1 else b"".join(raw[i:i + 2] + b"\0" for i in range(0, len(raw), 2))), f"plane {plane}: another picture")
        shown += 1
    check(shown == 2, f"{shown} planes")


@case
def what_is_not_known_is_said(context: Context) -> None:
    context.capture([context.app("compute")])
    made = [line["args"]["pBuffer"] for line in context.print_lines() if line["name"] == "vkCreateBuffer"]
    found = {name: json.loads(memory(context, "--json", "--parts", "--at", "3", "out.lapilli", name))["parts"] for name in made}
    computed = [(name, part["by"]) for name, parts in found.items() for part in parts if part["known"] == "device"]
    check([(by["name"], by["object"]) for _, by in computed] == [("vkCmdDispatch", "VkPipeline:1")], f"{found}")
    check(any(part["by"] and part["by"]["name"] == "vkCmdUpdateBuffer" for parts in found.values() for part in parts), f"{found}")
    name = computed[0][0]
    done = context.run([context.program("lapilli"), "memory", "--at", "3", "-o", "bytes", "out.lapilli", name], expect=5)
    check("some bytes are not known" in done.err and (context.folder / "bytes").exists(), done.text)
    for arguments, says in ((["--at", "2", "out.lapilli", "VkBuffer:99"], "there is no VkBuffer:99: the trace has VkBuffer:1 to VkBuffer:"),
                            (["--at", "#5", "out.lapilli", "VkBuffer:1"], "VkBuffer:1 does not live at #5: it was made at #"),
                            (["--at", "2", "out.lapilli", "VkBuffer:1", "99999999"], "VkBuffer:1 has "),
                            (["--at", "2", "out.lapilli", "VkBuffer:1", "16", "99999999"], "VkBuffer:1 has "),
                            (["--at", "9999", "out.lapilli", "VkBuffer:1"], "the trace has ")):
        done = context.run([context.program("lapilli"), "memory", *arguments], expect=2)
        check(says in done.err and not done.out, f"{arguments}: {done.text}")
    context.run([context.program("lapilli"), "memory", "--at", "2", "-o", "none", "out.lapilli", "VkBuffer:99"], expect=2)
    check(not (context.folder / "none").exists(), "a file is left")
    whole = (context.folder / "out.lapilli").read_bytes()
    (context.folder / "cut.lapilli").write_bytes(whole[:len(whole) * 2 // 3])
    plain = memory(context, "--at", "2", "out.lapilli", "VkBuffer:1")
    check(memory(context, "--at", "2", "cut.lapilli", "VkBuffer:1", expect=4) == plain, "another answer in front of the damage")
    check("/dev/full" in context.run([context.program("lapilli"), "memory", "--at", "2", "-o", "/dev/full", "out.lapilli", "VkBuffer:1"], expect=1).err, "a full disk")


@case
def shaders_store_where_dynamic_offsets_say(context: Context) -> None:
    """The null driver has what the program needs, and computes nothing: only places are looked at."""
    context = replace(context, driver=context.build / "tests/null/null_icd.json")
    skip_lacking(context.run([context.app("upkeep"), "--no-check", "--six"], context.layer_env(), expect=None))
    lines = context.print_lines()
    sets = [line["args"]["pBindDescriptorSetsInfo"] for line in lines if line["name"].startswith("vkCmdBindDescriptorSets2")]
    written = next(line["args"]["pDescriptorWrites"][0]["pBufferInfo"][1] for line in lines if line["name"] == "vkUpdateDescriptorSets")
    for frame, info in enumerate(sets, 1):
        parts = json.loads(memory(context, "--json", "--parts", "--at", str(frame), "out.lapilli", written["buffer"]))["parts"]
        begin = info["pDynamicOffsets"][1]
        last = [(part["begin"], part["end"]) for part in parts if part["by"] and part["by"]["at"].startswith(f"{frame}.")]
        check(last == [(begin, begin + written["range"])], f"frame {frame}, from {begin} on: {parts}")
    check(len(sets) > 1, f"{sets}")


@case
def what_shares_memory_takes_it_from_others(context: Context) -> None:
    context.capture([context.app("alias")])
    lines = context.print_lines("out.lapilli", "--no-blocks")
    submits = [line["index"] for line in lines if line["name"].startswith("vkQueueSubmit")]
    made = [line["args"]["pBuffer"] for line in lines if line["name"] == "vkCreateBuffer"]
    found = set()
    for at in submits[len(submits) // 2::6]:
        for name in made:
            done = context.run([context.program("lapilli"), "memory", "--parts", "--at", f"#{at}", "out.lapilli", name], expect=None)
            found |= {re.sub(r"[0-9.]+", "N", line.partition("  ")[2]) for line in done.out.splitlines()}
    for says in ("copied by N vkCmdCopyImageToBuffer from VkImage:N; not known since N vkCmdCopyImageToBuffer", "host, #N lapilliUpdateBuffer"):
        check(says in found, f"no {says} in {sorted(found)}")


@case
def an_image_without_known_texels_names_what_drew_it(context: Context) -> None:
    context.capture([context.app("triangle"), "--offscreen"])
    drawn = next(line["args"]["pCreateInfo"]["image"] for line in context.print_lines() if line["name"] == "vkCreateImageView")
    image = [context.program("lapilli"), "image", "--at", "3", "-o", "x.png", "out.lapilli"]
    done = context.run([*image, drawn], expect=5)
    check(re.search(rf"{drawn} is written by \d+\.\d+\.\d+\.\d+ vkCmdDrawIndexed: only a replay knows it", done.err) is not None and not done.out, done.text)
    for arguments, says in ((["VkImage:99"], "there is no VkImage:99"), ([drawn, "--mip", "9"], "levels"), ([drawn, "--layer", "9"], "layers"),
                            ([drawn, "--slice", "1"], "has 1 slice"), ([drawn, "--aspect", "depth"], "has no depth")):
        done = context.run([*image, *arguments], expect=2)
        check(says in done.err and not done.out, f"{arguments}: {done.text}")
    check(not (context.folder / "x.png").exists(), "a file is left")


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    return dict(CASES) | {f"known/{program.name}": known(program) for program in programs(context) if program.name in KNOWN.keys() | UNKNOWN}

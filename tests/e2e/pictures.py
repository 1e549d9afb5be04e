# SPDX-License-Identifier: MIT
"""lapilli-replay --pictures: pictures are those of screenshots, and bytes are those that checks of the same texels compared."""

from __future__ import annotations

import json
import struct
from collections import defaultdict
from typing import Callable

from e2e.cases import OTHER_DRIVERS, SHAPE, Cases, Context, Done, Program, check, display, prepare, programs, skip_lacking, validation_layer

CASES = Cases()
case = CASES.add

MOST_STOPS = 6  # of one trace
COLOR, DEPTH = 1, 2
LAYOUTS = {"GENERAL": 1, "COLOR_ATTACHMENT_OPTIMAL": 2, "DEPTH_STENCIL_ATTACHMENT_OPTIMAL": 3, "DEPTH_STENCIL_READ_ONLY_OPTIMAL": 4,
           "SHADER_READ_ONLY_OPTIMAL": 5, "TRANSFER_SRC_OPTIMAL": 6, "TRANSFER_DST_OPTIMAL": 7, "PRESENT_SRC_KHR": 1000001002,
           "DEPTH_ATTACHMENT_OPTIMAL": 1000241000, "DEPTH_READ_ONLY_OPTIMAL": 1000241001, "STENCIL_ATTACHMENT_OPTIMAL": 1000241002,
           "STENCIL_READ_ONLY_OPTIMAL": 1000241003, "READ_ONLY_OPTIMAL": 1000314000, "ATTACHMENT_OPTIMAL": 1000314001}

# Their images have levels, layers, slices, depth, stencil and many formats.
CHECKED = ["formats", "depth", "stencil", "triangle-offscreen", "modern", "queues"]


def number(handle: str) -> str:
    return handle.partition(":")[2]


def line(name: str, image: str, aspect: int, level: int, layer: int, layout: str, queue: str) -> str:
    return f"{name} image {number(image)} {aspect} {level} {layer} {LAYOUTS[layout.removeprefix('VK_IMAGE_LAYOUT_')]} {number(queue)}\n"


def run(context: Context, stop: int, lines: list[str], *arguments: str, env: dict[str, str] | None = None, expect: int | None = 0) -> Done:
    (context.folder / "list").write_text("".join(lines))
    return context.run([context.program("lapilli-replay"), "--stop-at", str(stop), "--pictures", "pictures", "--picture-list", "list", *arguments, "out.lapilli"],
                       env, expect=expect)


def pictures(context: Context, stop: int, lines: list[str], *arguments: str, env: dict[str, str] | None = None) -> dict[str, dict]:
    done = run(context, stop, lines, "--quiet", "--json", *arguments, env=env)
    found = {entry["name"]: entry for entry in map(json.loads, done.out.splitlines())}
    check(set(found) == {text.split()[0] for text in lines}, done.text)
    return found


# ---- screenshots


def presented(driver: str | None, shape: str) -> Callable[[Context], None]:
    """Of images of a swapchain, where they end in another layout here or have another format, too."""
    def test(context: Context) -> None:
        context = context.on(driver)
        display()
        program = next(p for p in programs(context) if p.name == "triangle")
        prepare(context, program)
        context.capture([*program.command, "--frames", "3"])
        env = context.layer_env(SHAPE, LAPILLI_SHAPE=shape) if shape else None
        context.run([context.program("lapilli-replay"), "--present", "headless", "--screenshot", "1-3", "out.lapilli"], env)
        images: list[str] = []
        compared = stop = 0
        target = ""
        for packet in context.print_lines("out.lapilli", "--no-blocks"):
            if packet["name"] == "vkGetSwapchainImagesKHR" and packet["args"]["pSwapchainImages"]:
                images = packet["args"]["pSwapchainImages"]
            if packet["name"] != "vkQueuePresentKHR":
                continue
            target = line("color0", images[packet["args"]["pPresentInfo"]["pImageIndices"][0]], COLOR, 0, 0, "PRESENT_SRC_KHR", packet["args"]["queue"])
            stop = packet["ticket"]
            found = pictures(context, stop, [target], env=env)["color0"]
            frame = (context.folder / f"frame_{packet['frame']}.png").read_bytes()
            check((context.folder / "pictures/color0.png").read_bytes() == frame, f"frame {packet['frame']} looks otherwise")
            check(found["range"] is None and (found["width"], found["height"]) == struct.unpack(">II", frame[16:24]), f"{found}")
            compared += 1
        check(compared == 3, f"{compared} pictures")
        validation_layer(context)
        if env:
            env["VK_LAYER_PATH"] += f":{context.validation_folder}"
        done = run(context, stop, [target], "--validate", "--quiet", env=env)
        check(done.out.splitlines()[1:] == ["validate: 0 errors, 0 warnings"], done.text)
    return test


CASES["presented"] = presented(None, "")
CASES["presented-swiftshader"] = presented("swiftshader", "")
CASES["presented-without-swapchains"] = presented(None, "extensions=VK_KHR_swapchain")
CASES["presented-in-another-format"] = presented(None, "formats=44+50")


# ---- bytes of checks


def checks_of(context: Context) -> list[list[dict]]:
    """Checks of texels that stand side by side, with their bytes."""
    context.replay("out.lapilli", "--dump-checks", "checks")
    whole = (context.folder / "checks/checks.bin").read_bytes()
    dumped = {entry["packet"]: entry for entry in map(json.loads, (context.folder / "checks/checks.ndjson").read_text().splitlines())}
    groups: list[list[dict]] = []
    last = 0
    for packet in context.print_lines("out.lapilli", "--no-blocks"):
        if packet["name"] != "lapilliCheckTexels" or packet["ticket"] not in dumped:
            continue
        entry = dumped[packet["ticket"]]
        check(entry["same"], f"{entry}")
        entry |= {"args": packet["args"], "data": whole[entry["offset"]:entry["offset"] + entry["bytes"]]}
        if not groups or packet["ticket"] != last + 1:
            groups.append([])
        groups[-1].append(entry)
        last = packet["ticket"]
    return groups


def volumes(context: Context) -> dict[str, int]:
    """How many slices images have."""
    made = [packet["args"] for packet in context.print_lines("out.lapilli", "--no-blocks") if packet["name"] == "vkCreateImage" and packet["args"]["pCreateInfo"]]
    return {args["pImage"]: args["pCreateInfo"]["extent"]["depth"] for args in made}


def compare(context: Context, env: dict[str, str] | None = None) -> dict[str, int]:
    """Returns how many were compared, by format."""
    groups, slices = checks_of(context), volumes(context)
    compared: dict[str, int] = defaultdict(int)
    for group in groups[::max(1, len(groups) // MOST_STOPS)]:
        targets = []
        for i, entry in enumerate(group):
            layers = [entry["layer"]] if slices[entry["object"]] == 1 else range(slices[entry["object"]] >> entry["level"] or 1)
            targets += [(f"{i}.{layer}", entry, k, len(layers), line(f"{i}.{layer}", entry["object"], entry["aspect"], entry["level"], layer, entry["args"]["layout"],
                                                                   entry["args"]["queue"])) for k, layer in enumerate(layers)]
        found = pictures(context, group[-1]["packet"], [target[-1] for target in targets], "--raw", env=env)
        for name_of, entry, k, count, _ in targets:
            size = entry["bytes"] // count
            check((context.folder / found[name_of]["file"]).read_bytes() == entry["data"][k * size:(k + 1) * size],
                  f"{entry['object']} at packet {group[-1]['packet']}: {found[name_of]} has other bytes")
            compared[found[name_of]["format"]] += 1
    return compared


def record(context: Context, program: Program) -> None:
    prepare(context, program)
    context.run([context.program("lapilli"), "capture", "--verify=all", "-o", "out.lapilli", "--", *program.command])


def as_checked(program: Program, driver: str | None) -> Callable[[Context], None]:
    def test(context: Context) -> None:
        context = context.on(driver)
        record(context, program)
        compared = compare(context)
        check(sum(compared.values()) > 0, "there was nothing to compare")
    return test


def substituted(name_of: str, words: str) -> Callable[[Context], None]:
    """Texels are converted back."""
    def test(context: Context) -> None:
        record(context, next(p for p in programs(context) if p.name == name_of))
        env = context.layer_env(SHAPE, LAPILLI_SHAPE=words)
        check("substitutes it" in context.run([context.program("lapilli-replay"), "--present", "headless", "out.lapilli"], env).err, "nothing is substituted")
        check(sum(compare(context, env).values()) > 0, "there was nothing to compare")
    return test


def depth_of_triangle(context: Context) -> tuple[int, str]:
    """A packet behind the last draw, and the depth's line of a list."""
    record(context, next(p for p in programs(context) if p.name == "triangle-offscreen"))
    lines = context.print_lines("out.lapilli", "--no-blocks")
    made = next(packet["args"] for packet in lines if packet["name"] == "vkCreateImage" and packet["args"]["pCreateInfo"]["format"] == "VK_FORMAT_D32_SFLOAT")
    end = [packet["ticket"] for packet in lines if packet["name"] == "vkQueueSubmit"][-1]
    return end, line("depth", made["pImage"], DEPTH, 0, 0, "DEPTH_STENCIL_ATTACHMENT_OPTIMAL", "VkQueue:1")


def floats(context: Context) -> tuple[float, ...]:
    data = (context.folder / "pictures/depth.raw").read_bytes()
    return struct.unpack(f"<{len(data) // 4}f", data)


@case
def depth_of_less_precision_is_said(context: Context) -> None:
    end, target = depth_of_triangle(context)
    check(pictures(context, end, [target], "--raw")["depth"]["computedAs"] is None, "it is of another format")
    values = floats(context)
    found = pictures(context, end, [target], "--raw", env=context.layer_env(SHAPE, LAPILLI_SHAPE="formats=126+130"))["depth"]
    check(found["computedAs"] not in (None, found["format"]) and found["format"] == "VK_FORMAT_D32_SFLOAT", f"{found}")
    check(len(set(values)) > 2 and all(abs(a - b) <= 2 ** -16 for a, b in zip(values, floats(context), strict=True)), "other depths")


# ---- what else there is to say of images


def unread(driver: str | None) -> Callable[[Context], None]:
    """Depth, stencil, levels and layers; a transient attachment of a framebuffer without images; several samples; work that waits."""
    def test(context: Context) -> None:
        context = context.on(driver)
        validation_layer(context)
        skip_lacking(context.run([context.app("unread")], expect=None))
        context.run([context.program("lapilli"), "capture", "--verify=all", "-o", "out.lapilli", "--", context.app("unread"), "--transient"])
        check(sum(compare(context).values()) == 7, "other checks")
        lines = context.print_lines("out.lapilli", "--no-blocks")
        end = next(packet["ticket"] for packet in lines if packet["name"] == "vkDestroySemaphore") - 1
        flags = {packet["args"]["pImage"]: packet["args"]["pCreateInfo"] for packet in lines if packet["name"] == "vkCreateImage"}
        lost = next(image for image, info in flags.items() if "TRANSIENT" in json.dumps(info["usage"]))
        stored = next(image for image, info in flags.items() if json.dumps(info["usage"]).count("COLOR_ATTACHMENT") and image != lost)
        samples = next(image for image, info in flags.items() if info["samples"] != "VK_SAMPLE_COUNT_1_BIT")
        targets = [line(name_of, image, COLOR, 0, 0, "COLOR_ATTACHMENT_OPTIMAL", "VkQueue:1") for name_of, image in (("lost", lost), ("stored", stored), ("samples", samples))]
        done = run(context, end, targets, "--validate")
        check(f"there is no picture: samples, {samples}, has several samples\n" in done.err, done.err)
        check(done.out.splitlines()[-1] == "validate: 0 errors, 0 warnings" and len(done.out.splitlines()) == 3, done.out)
        files = [(context.folder / f"pictures/{name_of}.png").read_bytes() for name_of in ("lost", "stored")]
        check(files[0] == files[1], "the transient attachment was lost")
        done = run(context, end, targets[2:], expect=5)
        check("no picture can be made" in done.err and not done.out, done.text)
        submit = [packet["ticket"] for packet in lines if packet["name"] == "vkQueueSubmit"][-1]
        check("waits for a later call" in run(context, submit, targets[:1], expect=1).err, "held work")
    return test


CASES["unread"] = unread(None)
CASES["unread-swiftshader"] = unread("swiftshader")


@case
def ranges_channels_and_names(context: Context) -> None:
    end, target = depth_of_triangle(context)
    pictures(context, end, [target], "--raw")
    values = floats(context)
    found = pictures(context, end, [target])["depth"]
    check(found["format"] == "VK_FORMAT_D32_SFLOAT" and found["range"] == [min(values), max(values)] and min(values) < max(values), f"{found}")
    png = (context.folder / "pictures/depth.png").read_bytes()
    check(png[24:26] == b"\x10\x00" and (context.folder / "pictures/depth.png").stat().st_mode & 0o777 == 0o600, "no grey picture with 16 bits")
    text = run(context, end, [target], "--quiet").out
    check(text == f"pictures/depth.png  VkImage:{target.split()[2]}  {found['width']} x {found['height']}  VK_FORMAT_D32_SFLOAT  "
          f"{min(values):.9g} (black) to {max(values):.9g} (white)\n", text)
    check(run(context, end, [target], "--quiet", "--range", "-1,3").out.endswith("  -1 (black) to 3 (white)\n"), "another range")
    color = f"color0 image 1 {COLOR} 0 0 {LAYOUTS['TRANSFER_SRC_OPTIMAL']} 1\n"
    check(run(context, end, [target, color], "--quiet", "--targets", "color0", "--channels", "rgba").out.startswith("pictures/color0.png  "), "another target")
    check((context.folder / "pictures/color0.png").read_bytes()[24:26] == b"\x08\x06", "no picture with alpha")
    done = run(context, end, [target, color], "--targets", "color0,colour1", expect=2)
    check("there is no target colour1: there is depth, color0" in done.err, done.err)
    for bad in ("depth image 1 2 0 0 3", "../x image 1 2 0 0 3 1\n", "a queries 1 2\n", target + target):
        check("list: line " in run(context, end, [bad], expect=2).err, bad)


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    chosen = [p for p in programs(context) if p.name in CHECKED]
    result = dict(CASES)
    result |= {f"checked/{p.name}": as_checked(p, None) for p in chosen}
    result["in-another-format/color"] = substituted("triangle-offscreen", "formats=37+43+51+57")
    result["in-another-format/stencil"] = substituted("stencil", "formats=127")
    result |= {f"checked/{p.name}-{driver}": as_checked(p, driver) for driver in OTHER_DRIVERS for p in chosen}
    return result

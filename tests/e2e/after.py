# SPDX-License-Identifier: MIT
"""lapilli image --after P: pictures behind draws are those of replays without the later draws, and behind the last draw those that were checked."""

from __future__ import annotations

import json
import random
import re
import shutil
from pathlib import Path
from typing import Callable

from e2e.cases import Cases, Context, Done, Program, check, display, prepare_on, programs, skip_lacking
from e2e.pictures import checks_of, volumes

CASES = Cases()
case = CASES.add

FIRST = ("triangle", "modern", "nested")
NULL = {"bindless", "descbuf", "mesh", "nested", "push-two", "rates", "shader_objects"}
SOME = 6  # draws of each trace

# Their frames are presented while they draw, or checked where a submit ends with draws.
COMPARED = {"triangle", "triangle-srgb", "triangle-offscreen", "churn", "churn-present", "headless", "headless-layers", "headless-views", "modern", "modern-khr", "enables", "dynamic",
            "dynamic-libraries", "conditional", "raster", "vkcube"}

# Draws, dispatches, blits and copies write their images.
IMAGES = ("depth", "push", "queues", "formats")

# Where no picture can be made, and what is said.
REFUSED = {"feedback": "its render pass has no attachments"}


def image(context: Context, file: str, position: str, *arguments: str, expect: int | None = 0) -> Done:
    return context.run([context.program("lapilli"), "image", file, "--after", position, "-o", "shots", *arguments], expect=expect)


def pictures(context: Context, file: str, position: str, *arguments: str) -> dict[str, dict]:
    done = image(context, file, position, "--json", "--quiet", *arguments)
    return {entry["name"]: entry for entry in map(json.loads, done.out.splitlines())}


def draws_of(context: Context, file: str) -> list[dict]:
    out = context.run([context.program("lapilli"), "draws", "--json", file]).out
    return [entry for entry in map(json.loads, out.splitlines()) if entry["command"].startswith("vkCmdDraw")]


def presented_images(lines: list[dict]) -> set[str]:
    return {handle for line in lines if line["name"] == "vkGetSwapchainImagesKHR" for handle in line["args"]["pSwapchainImages"] or []}


def compare_with_screenshots(context: Context, file: str, draws: list[dict], chosen: list[int], found: dict[int, dict[str, dict]],
                             *arguments: str) -> int:
    """Another way to the same picture: no later draw is played, and the frame is presented."""
    presented = presented_images(context.print_lines(file, "--no-blocks"))
    compared = 0
    for i in chosen:
        color = found.get(i, {}).get("color0")
        if not color or color["image"] not in presented:
            continue
        frame = int(draws[i]["position"].partition(".")[0])
        context.run([context.program("lapilli-replay"), "--quiet", "--present", "headless", "--at-most-draws", str(i + 1), "--screenshot", str(frame),
                     "--screenshot-dir", "frames", *arguments, file])
        picture = context.folder / f"frames/frame_{frame}.png"
        if not picture.exists():
            continue
        check((context.folder / color["file"]).read_bytes() == picture.read_bytes(), f"{file}: the picture behind {draws[i]['position']} is not that of {i + 1} draws")
        picture.unlink()
        compared += 1
    return compared


def works_in(node: dict) -> list[dict]:
    return [node] * (node["kind"] == "command") + [work for child in node["children"] for work in works_in(child)]


def submits_of(lines: list[dict]) -> dict[int, str]:
    """Their positions, by ticket."""
    positions: dict[int, str] = {}
    counts: dict[int, int] = {}
    for line in lines:
        if line["name"] in ("vkQueueSubmit", "vkQueueSubmit2") and "failed" not in line["flags"]:
            counts[line["frame"]] = counts.get(line["frame"], 0) + 1
            positions[line["ticket"]] = f"{line['frame']}.{counts[line['frame']]}"
    return positions


def compare_with_checks(context: Context, file: str, most: int) -> int:
    """Behind the last draw of a submit that writes no image then, attachments are as they are behind the submit."""
    lines = context.print_lines(file, "--no-blocks")
    positions = submits_of(lines)
    compared = 0
    groups = checks_of(context) if any(line["name"] == "lapilliCheckTexels" for line in lines) else []
    for group in groups[::max(1, len(groups) // most)]:
        submit = positions[max(ticket for ticket in positions if ticket < group[0]["packet"])]
        tree = json.loads(context.run([context.program("lapilli"), "tree", "--json", "--depth", "99", "--at", submit, file]).out)
        works = [work for node in tree["nodes"] for work in works_in(node) if not re.match("vkCmd(Copy(ImageToBuffer|Buffer|Query)|Fill|Update)", work["name"])]
        if not works or not works[-1]["name"].startswith("vkCmdDraw"):
            continue
        done = image(context, file, works[-1]["position"], "--json", "--quiet", "--raw", expect=None)
        check(done.status in (0, 5), done.text)
        for entry in map(json.loads, done.out.splitlines()):
            for one in group:
                if (one["object"], one["level"], one["layer"]) == (entry["image"], entry["level"], entry["layer"]) and \
                        {1: "color", 2: "depth", 4: "stencil"}[one["aspect"]] in entry["name"]:
                    check((context.folder / entry["file"]).read_bytes() == one["data"], f"{file}: {entry} is not as it is behind {submit}")
                    compared += 1
    return compared


def compare_with_each(context: Context, file: str, found: dict[str, dict[str, dict]], *arguments: str) -> int:
    """All pictures of a frame by one replay are those of single replays."""
    compared = 0
    for frame in sorted({position.partition(".")[0] for position in found}):
        done = context.run([context.program("lapilli"), "image", file, "--each", frame, "-o", "each", *arguments], expect=None)
        check(done.status == 0 or (done.status == 5 and "several subpasses" in done.err), f"{file} --each {frame}: {done.status}: {done.text}")
        for position, targets in found.items():
            for entry in targets.values() if position.partition(".")[0] == frame else []:
                other = context.folder / "each" / Path(entry["file"]).name
                check(other.exists() or "several subpasses" in done.err, f"{file} --each {frame}: there is no {other.name}\n{done.text}")
                check(not other.exists() or other.read_bytes() == (context.folder / entry["file"]).read_bytes(), f"{file} --each {frame}: {other.name} differs")
                compared += other.exists()
    return compared


def behind_draws(program: Program, driver: str | None) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context, command = prepare_on(context, program, driver)
        skip_lacking(context.run([context.program("lapilli"), "capture", "--verify=all", "-o", "out.lapilli", "--", *command], expect=None))
        seen = compared = 0
        for file in sorted(path.name for path in context.folder.glob("*.lapilli")):
            draws = draws_of(context, file)
            replay = [context.program("lapilli-replay"), "--quiet", "--present", "headless", file]
            silent = (how for how in ("--validate=sync", "--validate") if driver != "null" and draws and context.run([*replay, how], expect=None).status == 0)
            validate = [how for how in [next(silent, None)] if how]
            chosen = sorted(random.Random(program.name).sample(range(len(draws)), min(SOME, len(draws))))
            found: dict[int, dict[str, dict]] = {}
            for i in chosen:
                position = draws[i]["position"]
                done = image(context, file, position, *validate, expect=None)
                if done.status == 5 and program.name in REFUSED:
                    check(re.search(REFUSED[program.name], done.err), f"{position}: {done.text}")
                    continue
                check(done.status == 0, f"{file} --after {position}: {done.status}: {done.text}")
                found[i] = pictures(context, file, position)
                seen += len(found[i])
            if driver != "null":
                compared += compare_with_each(context, file, {draws[i]["position"]: targets for i, targets in found.items()}, *validate)
                compared += compare_with_screenshots(context, file, draws, chosen, found)
                compared += compare_with_checks(context, file, SOME) if file == "out.lapilli" else 0
            check(not draws or seen or program.name in REFUSED, f"{file}: no picture of {len(draws)} draws")
        check(compared or program.name not in COMPARED, "no picture was compared")
    return run


@case
def a_skipped_draw_is_not_in_the_picture(context: Context) -> None:
    """Behind the last of two draws without that one is behind the first; also where a place is named, and by packets."""
    context.run([context.app("triangle"), "--offscreen"], context.layer_env())
    first, last = (entry["position"] for entry in draws_of(context, "out.lapilli")[2:4])
    def raw(position: str, *arguments: str) -> dict[str, bytes]:
        found = pictures(context, "out.lapilli", position, "--raw", *arguments)
        return {name: (context.folder / entry["file"]).read_bytes() for name, entry in found.items()}

    before, behind = raw(first), raw(last)
    check(list(before) == list(behind) == ["color0", "depth"], f"{list(before)} {list(behind)}")
    frame, submit, _, command = last.split(".")
    lines = context.print_lines("out.lapilli", "--no-blocks")
    packet = [line["index"] for line in lines if line["name"] == "vkQueueSubmit" and str(line["frame"]) == frame][int(submit) - 1]
    block = [line["index"] for line in lines if line["name"] == "lapilliBlock" and line["index"] < packet][-1]
    for position, arguments, same in ((last, ["--skip", last], before), (last, ["--only", first], before), (frame, [], behind), (f"#{packet}", [], behind),
                                      (f"#{block}.{command}", [], behind)):
        check(raw(position, *arguments) == same, f"{position} {arguments}")
    other = raw(f"{frame}.{submit}.1", "--skip", first)
    check(all(other[name] not in (before[name], behind[name]) for name in other), "without the first draw")


@case
def bytes_come_also_besides_pictures(context: Context) -> None:
    context.run([context.app("triangle"), "--offscreen"], context.layer_env())
    position = draws_of(context, "out.lapilli")[2]["position"]
    found: dict[str, dict[str, dict]] = {option: pictures(context, "out.lapilli", position, "-o", f"shots{option}", *filter(None, [option])) for option in ("", "--raw", "--raw=also")}
    for name, entry in found["--raw=also"].items():
        for member, other in (("file", found[""][name]), ("raw", found["--raw"][name])):
            check((context.folder / entry[member]).read_bytes() == (context.folder / other["file"]).read_bytes() and not other["raw"], f"{entry}, {other}")
        check({**entry, "file": None, "raw": None} == {**found[""][name], "file": None, "raw": None}, f"{entry}")
    check(len(found["--raw=also"]) == 2 and len(list((context.folder / "shots--raw=also").iterdir())) == 4, f"{found}")


@case
def experiments_are_in_the_picture(context: Context) -> None:
    display()
    context.run([context.app("triangle"), "--frames", "2"], context.layer_env())
    draws = draws_of(context, "out.lapilli")
    last = len(draws) - 1
    codes = json.loads(context.run([context.program("lapilli"), "shaders", "--json", "out.lapilli"]).out)["shaders"]
    fragment = next(code["hash"] for code in codes if code["stages"][0]["stage"] == "VK_SHADER_STAGE_FRAGMENT_BIT")
    (context.folder / "green.frag").write_text("#version 450\nlayout(location = 0) out vec4 color;\nvoid main() { color = vec4(0, 1, 0, 1); }\n")
    green = [["--replace-shader", f"{fragment}=green.frag"]] if shutil.which("glslangValidator") else []
    seen = set()
    for arguments in (["--wireframe"], *green):
        found = pictures(context, "out.lapilli", draws[last]["position"], *arguments)
        check(compare_with_screenshots(context, "out.lapilli", draws, [last], {last: found}, *arguments) == 1, f"{arguments}: {found}")
        seen.add((context.folder / found["color0"]["file"]).read_bytes())
    found = pictures(context, "out.lapilli", draws[last]["position"])
    check(len(seen | {(context.folder / found["color0"]["file"]).read_bytes()}) == 2 + len(green), "some of them are the same")


@case
def each_layer_that_is_drawn_to_has_a_picture(context: Context) -> None:
    """That they are right is compared with checks: headless-layers, headless-views."""
    for option in ("--layers", "--views"):
        context.run([context.app("headless"), option], context.layer_env(LAPILLI_FILE=f"out{option}.lapilli"))
        found = pictures(context, f"out{option}.lapilli", draws_of(context, f"out{option}.lapilli")[3]["position"], "--raw")
        check([(name, entry["layer"]) for name, entry in found.items()] == [("color0-layer0", 0), ("color0-layer1", 1)], f"{option}: {found}")
        first, second = ((context.folder / entry["file"]).read_bytes() for entry in found.values())
        check(any(first) and (option == "--views" or not any(second)), f"{option}: the layers")  # Mesa 22.3 draws into the first view alone


@case
def where_there_is_no_picture_is_said(context: Context) -> None:
    context.run([context.app("compute")], context.layer_env())
    dispatch = next(line["position"] for line in map(json.loads, context.run([context.program("lapilli"), "draws", "--json", "out.lapilli"]).out.splitlines()))
    for position, status, says in ((dispatch, 5, f"{dispatch}, vkCmdDispatch, is in no render pass"), ("1", 2, "1 has no draw"), ("99999", 2, "the trace has "),
                                   ("#0", 2, "#0 is no submit"), (f"{dispatch}.1.1", 2, "which executes no command buffers"), ("1.1.1.x", 2, "is no position")):
        done = image(context, "out.lapilli", position, expect=status)
        check(says in done.err and not done.out, f"{position}: {done.text}")
    check(not list(context.folder.glob("shots/*")), "something was written")


def images(name: str, driver: str | None = None) -> Callable[[Context], None]:
    """Every image behind a submit is as the layer has seen it there, whatever wrote it; and behind a draw its attachments are the same."""
    def run(context: Context) -> None:
        context, command = prepare_on(context, next(program for program in programs(context) if program.name == name), driver)
        skip_lacking(context.run([context.program("lapilli"), "capture", "--verify=all", "-o", "out.lapilli", "--", *command], expect=None))
        positions = submits_of(context.print_lines("out.lapilli", "--no-blocks"))
        aspects, slices = {1: "color", 2: "depth", 4: "stencil"}, volumes(context)
        seen, writers = set(), set()
        for group in checks_of(context)[::-1][:4]:
            submit = positions[max(ticket for ticket in positions if ticket < group[0]["packet"])]
            for one in group[:8]:
                whole = b""
                for layer in range(depth) if (depth := slices[one["object"]]) > 1 else (one["layer"],):
                    found = image(context, "out.lapilli", submit, "--quiet", "--json", "--raw", "--image", f"{one['object']},{one['level']},{layer}",
                                  "--aspect", aspects[one["aspect"]], expect=None)
                    check(found.status == 0, f"{submit} {one['object']}: {found.text}")
                    entry = json.loads(found.out.splitlines()[0])
                    whole += (context.folder / entry["file"]).read_bytes()
                check(entry["position"].startswith(submit + ".") and whole == one["data"], f"{entry} is not as it is behind {submit}")
                seen.add((one["object"], one["level"], one["layer"]))
                alone = context.run([context.program("lapilli"), "image", "out.lapilli", "--at", submit, one["object"], "-o", "alone.png"], expect=None)
                writers.add(re.search("is written by .* (vkCmd[A-Za-z]*)", alone.err)[1] if alone.status == 5 and "is written by" in alone.err else "")
            image(context, "out.lapilli", submit, "--validate", "--image", one["object"])
        check(len(seen) > 1 and writers - {""}, f"{seen}, written by {writers}")
        draw = draws_of(context, "out.lapilli")[-1]["position"] if draws_of(context, "out.lapilli") else None
        for target in pictures(context, "out.lapilli", draw, "--raw").values() if draw else []:
            whole = (context.folder / target["file"]).read_bytes()
            aspect = target["name"].split("-")[0].rstrip("0123456789")
            [other] = pictures(context, "out.lapilli", draw, "--raw", "--aspect", aspect, "--image", f"{target['image']},{target['level']},{target['layer']}").values()
            check((context.folder / other["file"]).read_bytes() == whole, f"{other} is not {target}")
    return run


@case
def buffers_are_as_the_layer_has_seen_them(context: Context) -> None:
    """Behind submits, also what dispatches have written; and behind a dispatch in the middle what the trace alone does not tell."""
    for name in ("compute", "address", "queues"):
        context.run([context.program("lapilli"), "capture", "--verify=all", "-o", f"{name}.lapilli", "--", context.app(name)])
        positions = submits_of(context.print_lines(f"{name}.lapilli", "--no-blocks"))
        context.replay(f"{name}.lapilli", "--dump-checks", name)
        whole, computed = (context.folder / name / "checks.bin").read_bytes(), 0
        for one in [entry for entry in map(json.loads, (context.folder / name / "checks.ndjson").read_text().splitlines()) if entry["kind"] == "buffer"][::-7][:5]:
            submit = positions[max(ticket for ticket in positions if ticket < one["packet"])]
            words = [context.program("lapilli"), "memory", "--after", submit, f"{name}.lapilli", one["object"], str(one["at"]), str(one["bytes"])]
            told = json.loads(context.run([*words, "--json"]).out)
            check(bytes.fromhex(told["hex"]) == whole[one["offset"]:one["offset"] + one["bytes"]] and told["replayed"], f"{submit}: {one}")
            computed += sum(part["known"] == "device" for part in told["parts"])
        check(computed > 0, f"{name}: no byte was computed")
    draws = [line["position"] for line in map(json.loads, context.run([context.program("lapilli"), "draws", "--json", "compute.lapilli"]).out.splitlines())]
    parts = [context.run([context.program("lapilli"), "memory", "--after", at, "compute.lapilli", "VkBuffer:3", "-o", f"{at}.bytes"]) and (context.folder / f"{at}.bytes").read_bytes() for at in draws[1:4]]
    check(len({*parts}) == 3 and len(parts[0]) == 3584, "dispatches leave the same bytes")


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    result: dict[str, Callable[[Context], None]] = dict(CASES)
    for name in IMAGES:
        result |= {f"image/{name}": images(name), f"image/swiftshader/{name}": images(name, "swiftshader")}
    for program in programs(context):
        result[program.name if program.name in FIRST else f"each/{program.name}"] = behind_draws(program, "null" if program.name in NULL else None)
    return result

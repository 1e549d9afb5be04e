# SPDX-License-Identifier: MIT
"""lapilli pixel: the history of a texel has each command that writes it, and the values of single pictures behind these commands."""

from __future__ import annotations

import json
import random
from typing import Callable

from e2e.after import draws_of, pictures
from e2e.cases import Cases, Context, Program, check, display, prepare_on, programs, skip_lacking
from e2e.waiting import wait, words

CASES = Cases()
case = CASES.add

# Render passes with and without objects, secondary command buffers, suspended rendering, layers and views, depth that is copied to.
COMPARED = ("triangle-offscreen", "modern", "dynamic", "suspended", "raster", "headless-layers", "headless-views", "depth", "stencil-together", "churn")
COMPUTED = ("triangle-offscreen", "modern", "dynamic", "raster", "depth", "stencil-together", "churn")
SOME = 4  # draws of each trace, with three texels each

# What tests/apps/painted.c does with its texel: command, kind, colour without alpha, depth, stencil, where it comes from.
PAINTED = (("vkCmdClearColorImage", "clear", "0a141e", None, None, None), ("vkCmdCopyBufferToImage", "copy", "28323c", None, None, "VkBuffer"),
           ("vkCmdBlitImage", "blit", "46505a", None, None, "VkImage"), ("vkCmdDispatch", "store", "010203", None, None, None),
           ("vkCmdBeginRenderPass", "begin", "050607", 1, 1, None), ("vkCmdDraw", "draw", "204010", 0.5, 2, None), ("vkCmdDraw", "draw", "204010", 0.5, 2, None),
           ("vkCmdDraw", "draw", "204010", 0.5, 2, None), ("vkCmdClearAttachments", "clear", "646e78", 0.75, 1, None), ("vkCmdDraw", "draw", "204040", 0.25, 2, None),
           ("vkCmdEndRenderPass", "resolve", "828c96", None, None, "VkImage"), ("vkCmdResolveImage", "resolve", "a0aab4", None, None, "VkImage"),
           ("vkCmdBeginRenderPass", "begin", "a0aab4", None, None, None), ("vkCmdDraw", "draw", "204050", None, None, None))
TEXEL, TARGET = "20,40", "VkImage:1"

# What becomes of the draws of tests/apps/fragments.c: the fates of their fragments, or why there are none; depth (of a bias: None) and stencil behind
# them. Drivers without depth bounds have no such test, and some draw in spite of a sample mask, where there is one sample.
FRAGMENTS = ((("passed", "depth"), 0.5, 0), (("discarded",), 0.5, 0), (("stencil",), 0.5, 1), (("depth",), 0.5, 7), (("passed",), 0.25, 8), (("depth_bounds",), 0.25, 8),
             ("scissor", 0.25, 8), ("viewport", 0.25, 8), ("rasterizer_discard", 0.25, 8), ("no_vertices", 0.25, 8), ("no_vertices", 0.25, 8), ("culled", 0.25, 8),
             ("not_covered", 0.25, 8), ("sample_mask", None, 8), (("passed",), 0.125, 8), (("discarded",), 0.0625, 8), (("passed",), 0.05, 8), (("passed",), 0.04, 8),
             (("passed", "passed"), 0.02, 8), (("passed",), 0.01, 8), (None, 0.005, 8), (("passed",), 0.004, 8), (("passed",), None, 8), (("stencil",), None, 0),
             ("condition", None, 0), ("render_area", None, 0))
BOUNDS, MASKED, BLENDS, RED, TWICE, CONDITION = 5, 13, 16, 17, 18, 24


def history(context: Context, file: str, at: str, texel: str, *arguments: str) -> tuple[dict, list[dict], dict]:
    """The texel, all rows, and the end."""
    done = context.run([context.program("lapilli"), "pixel", "--quiet", "--json", "--all", file, "--at", at, texel, *arguments])
    head, *rows, end = map(json.loads, done.out.splitlines())
    check(len(rows) == end["end"]["rows"] and sum(row["changed"] for row in rows) == end["end"]["changed"], f"{end} of {len(rows)}")
    check(all(row["before"] == before["after"] for before, row in zip(rows, rows[1:])) and end["end"]["value"] == rows[-1]["after"], f"{rows}")
    return head["texel"], rows, end["end"]


def painted(driver: str | None) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context, command = prepare_on(context, Program("painted", [context.app("painted")], False), driver)
        context.run(command, context.layer_env())
        texel, rows, end = history(context, "out.lapilli", "1", TEXEL, "--target", TARGET)
        check((texel["width"], texel["components"], texel["presented"], end["left_out"]) == (64, "RGBA", False, []), f"{texel} {end}")
        for row, (name, kind, color, depth, stencil, source) in zip(rows, PAINTED):
            found = (row["command"], row["kind"], row["after"]["bytes"], row["depth"] and row["depth"]["after"], row["stencil"] and row["stencil"]["after"],
                     row["from"] and row["from"].partition(":")[0])
            check(found == (name, kind, f"{color}ff", depth, stencil, source) and bool(row["pipeline"]) == (kind in ("draw", "store")), f"{row}")
            check([round(255 * value) for value in row["after"]["values"]] == list(bytes.fromhex(row["after"]["bytes"])), f"{row}")
        check(len(rows) == len(PAINTED) and [row["changed"] for row in rows].count(False) == 3, f"{rows}")
        done = context.run([context.program("lapilli"), "pixel", "--validate=sync", "out.lapilli", "--at", "1", TEXEL, "--target", TARGET], expect=None)
        check(done.status == 5 or "validate: 0 errors, 0 warnings" in done.out, done.text)
        lines = [row["position"] for row in rows if row["changed"]]
        check([line.split()[0] for line in done.out.splitlines()[2:-2]] == lines or done.status == 5, f"{done.out}")
        # Up to a command; of the depth beside it; in front of the frame.
        part = history(context, "out.lapilli", rows[8]["position"], TEXEL, "--target", TARGET)[1]
        check(part == rows[:9], f"{part}")
        for aspect in ("depth", "stencil"):
            beside = rows[5][aspect]
            values = [row["after"]["values"][0] for row in history(context, "out.lapilli", "1", TEXEL, "--target", beside["image"], "--aspect", aspect)[1]]
            check(values == [row[aspect]["after"] for row in rows[4:10]], f"{aspect}: {values}")
        warm = wait(context, "out.lapilli", 1, words("--json", "--all", "--pixel", TEXEL, "--pixel-at", "1", "--target", TARGET))
        check([json.loads(line) for line in warm.out.splitlines()[1:-1]] == rows, warm.text)
    return run


def as_single_pictures(program: Program) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        _, command = prepare_on(context, program, None)
        skip_lacking(context.run([context.program("lapilli"), "capture", "-o", "out.lapilli", "--", *command], expect=None))
        draws, chance, compared = draws_of(context, "out.lapilli"), random.Random(program.name), 0
        for draw in chance.sample(draws, min(SOME, len(draws))):
            position = draw["position"]
            done = context.run([context.program("lapilli"), "image", "out.lapilli", "--after", position, "-o", "shots", "--json", "--raw"], expect=None)
            check(done.status == 0 or program.name == "suspended", done.text)  # what resumes is not pictured
            for picture in map(json.loads, done.out.splitlines()):
                data = (context.folder / picture["file"]).read_bytes()
                size = len(data) // (picture["width"] * picture["height"])
                for _ in range(3):
                    x, y = chance.randrange(picture["width"]), chance.randrange(picture["height"])
                    aspect = next((name for name in ("depth", "stencil") if name in picture["name"]), "color")
                    _, rows, end = history(context, "out.lapilli", position, f"{x},{y}", "--target", f"{picture['image']},{picture['level']},{picture['layer']}", "--aspect", aspect)
                    at = size * (y * picture["width"] + x)
                    check(rows[-1]["position"] == position and end["value"]["bytes"] == data[at:at + size].hex(), f"{rows[-1]} {x},{y} of {picture}")
                    compared += 1
        check(compared > 0, f"nothing of {len(draws)} draws was compared")
    return run


def check_fragments(number: int, row: dict, fates: tuple[str, ...] | str | None) -> None:
    """A draw with its number among those of the program."""
    found = row["fragments"]
    results = tuple(fragment["result"] for fragment in found["list"])
    if fates is None:
        check(found["why"] == "it has no fragment shader" and found["count"] is None, f"{row}")
        return
    check(found["why"] is None and found["count"] == len(results), f"{row}")
    if isinstance(fates, str):
        check((found["none"], results) == (fates, ()) or (number == MASKED and results == (fates,) and found["equal"] is False), f"{number}: {row}")
        return
    check(results == fates or (number == BOUNDS and results == ("depth",)), f"{number}: {row}")
    check(found["none"] is None and found["equal"] is True and found["differs"] == [], f"{number}: {row}")
    for at, fragment in enumerate(found["list"]):
        check(fragment["primitive"] in (None, 0 if number == TWICE else at) and fragment["front"] == (number != RED), f"{number}: {fragment}")
        if fragment["result"] != "discarded":
            check([round(255 * value) for value in fragment["output"]] == [10 * number, 100, 200, 255], f"{number}: {fragment}")
        if fragment["result"] == "depth":
            check(fragment["test"] == {"op": "LESS", "own": fragment["depth"], "stored": 0.25 if number == BOUNDS else 0.5}, f"{number}: {fragment}")
    last = found["list"][-1]
    check(last["writes"] == (last["result"] == "passed") and last["depth_after"] == row["depth"]["after"] and last["stencil_after"] == row["stencil"]["after"], f"{number}: {row}")
    check(last["after"] == (None if number == BLENDS else row["after"]), f"{number}: {row}")


def fragments(driver: str | None) -> Callable[[Context], None]:
    def run(context: Context) -> None:
        context, command = prepare_on(context, Program("fragments", [context.app("fragments")], False), driver)
        skip_lacking(context.run(command, context.layer_env(), expect=None))
        arguments = ("out.lapilli", "1", TEXEL, "--target", TARGET)
        _, rows, end = history(context, *arguments, "--fragments")
        draws = [row for row in rows if row["kind"] == "draw"]
        numbers = [number for number in range(len(FRAGMENTS)) if number != CONDITION or len(draws) == len(FRAGMENTS)]
        check(len(draws) == len(numbers), f"{len(draws)} draws")
        for number, row in zip(numbers, draws):
            fates, depth, stencil = FRAGMENTS[number]
            check_fragments(number, row, fates)
            check(row["stencil"]["after"] == stencil and (depth is None or abs(row["depth"]["after"] - depth) < 1e-6), f"{number}: {row}")
        masked = draws[MASKED]["fragments"]["count"]
        expected = sum(isinstance(FRAGMENTS[number][0], tuple) for number in numbers) + masked
        check(end["fragments"] == {"draws": expected, "computed": expected, "equal": expected - masked} and end["left_out"] == [], f"{end}")
        # The probes change nothing.
        plain = history(context, *arguments)[1]
        check([row | {"fragments": None} for row in rows] == plain, f"{plain}")
        done = context.run([context.program("lapilli"), "pixel", "--validate=sync", *arguments[:1], "--at", "1", TEXEL, *arguments[3:], "--fragments"], expect=None)
        check(done.status == 5 or "validate: 0 errors, 0 warnings" in done.out, done.text)
        for says in ("  2 fragments", "failed: depth (LESS 0.5)", "  1 fragment, discarded by the shader", "failed: stencil (3 EQUAL 0)", "  passed  output 0.156863 0.392157 0.784314 1  -> 40 100 200 255"):
            check(says in done.out or done.status == 5, f"{says}: {done.out}")
        # The aspects beside each other: the fates are the same.
        for aspect in ("depth", "stencil"):
            beside = history(context, "out.lapilli", "1", TEXEL, "--target", rows[0][aspect]["image"], "--aspect", aspect, "--fragments")[1]
            check([[one["result"] for one in row["fragments"]["list"]] for row in beside if row["fragments"]] ==
                  [[one["result"] for one in row["fragments"]["list"]] for row in draws], f"{aspect}: {beside}")
        warm = wait(context, "out.lapilli", 1, words("--json", "--all", "--fragments", "--pixel", TEXEL, "--pixel-at", "1", "--target", TARGET))
        check([json.loads(line) for line in warm.out.splitlines()[1:-1]] == rows, warm.text)
    return run


def computed(program: Program) -> Callable[[Context], None]:
    """The end of each draw that can be computed is the measured one, and the probes change no picture."""
    def run(context: Context) -> None:
        _, command = prepare_on(context, program, None)
        skip_lacking(context.run([context.program("lapilli"), "capture", "-o", "out.lapilli", "--", *command], expect=None))
        draws, chance, shares = draws_of(context, "out.lapilli"), random.Random(program.name), {"draws": 0, "computed": 0, "equal": 0}
        for draw in chance.sample(draws, min(SOME, len(draws))):
            done = context.run([context.program("lapilli"), "image", "out.lapilli", "--after", draw["position"], "-o", "shots", "--json", "--raw"], expect=None)
            for picture in map(json.loads, done.out.splitlines()):
                texel = f"{chance.randrange(picture['width'])},{chance.randrange(picture['height'])}"
                asked = ("out.lapilli", draw["position"], texel, "--target", f"{picture['image']},{picture['level']},{picture['layer']}",
                         "--aspect", next((name for name in ("depth", "stencil") if name in picture["name"]), "color"))
                rows, end = history(context, *asked, "--fragments")[1:]
                check([row | {"fragments": None} for row in rows] == history(context, *asked)[1], f"{rows}")
                check(all(row["fragments"] is None or row["fragments"]["equal"] is not False for row in rows), f"{rows}")
                shares = {name: shares[name] + end["fragments"][name] for name in shares}
        check(0 < shares["draws"] and shares["equal"] == shares["computed"], f"{shares}")
    return run


@case
def the_last_value_is_the_one_that_is_presented(context: Context) -> None:
    """It is that of screenshots, and behind every command it is that of a single picture."""
    display()
    context.run([context.app("triangle"), "--frames", "3"], context.layer_env())
    frame, conditions = draws_of(context, "out.lapilli")[-1]["position"].partition(".")[0], []
    for x, y in ((160, 120), (5, 5), (250, 200)):
        texel, rows, end = history(context, "out.lapilli", frame, f"{x},{y}")
        check(texel["presented"] and {row["kind"] for row in rows} == {"begin", "draw"}, f"{texel} {rows}")
        conditions.append(f"pixel({frame}, {x},{y}) == {','.join(str(round(255 * value)) for value in end['value']['values'][:3])}")
        for row in rows:
            picture = pictures(context, "out.lapilli", row["position"], "--raw")["color0"]
            data = (context.folder / picture["file"]).read_bytes()[4 * (y * picture["width"] + x):][:4]
            check(picture["image"] == texel["image"] and data.hex() == row["after"]["bytes"], f"{row} is not {data.hex()}")
    done = context.run([context.program("lapilli"), "pixel", "--validate=sync", "out.lapilli", "--at", frame, "160,120"], expect=None)
    check(done.status == 5 or "validate: 0 errors, 0 warnings" in done.out, done.text)
    check(len({condition.partition("==")[2] for condition in conditions}) > 1, f"{conditions}")
    context.run([context.program("lapilli"), "assert", "out.lapilli", *conditions])


@case
def what_has_no_history_is_said(context: Context) -> None:
    context.run([context.app("painted")], context.layer_env(LAPILLI_FILE="out.lapilli"))
    context.run([context.app("ends")], context.layer_env(LAPILLI_FILE="ends.lapilli"))
    to = ["--target", TARGET]
    for file, at, texel, arguments, status, says in (
            ("out", "1", "64,0", to, 2, "has 64 x 64 texels: there is none at 64,0"), ("out", "1", TEXEL, [], 2, "frame 1 presents no image, so --target has to name one: it draws to VkImage:"),
            ("out", "1", TEXEL, ["--target", "VkImage:99"], 2, "there is no VkImage:99: it draws to VkImage:"), ("out", "1", TEXEL, ["--target", "VkImage:1,1"], 2, "has 1 levels and 1 layers"),
            ("out", "1.1.1.3", TEXEL, to, 2, "nothing in frame 1 writes VkImage:1 up to there: it draws to nothing"), ("out", "9", TEXEL, to, 2, "the trace has "),
            ("out", "1", TEXEL, [*to, "--aspect", "depth"], 2, "has no such aspect"), ("out", "1", "x", to, 2, "wants X,Y"), ("out", "1", TEXEL, ["--target", "1"], 2, "wants VkImage:N"),
            ("out", "1", TEXEL, ["--target", "VkImage:3"], 5, "VkImage:3 has 4 samples a texel, which can't be copied: it is resolved into VkImage:1"),
            ("ends", "2.1.1.8", "0,0", to, 5, "its render pass has several subpasses, and ends later")):
        done = context.run([context.program("lapilli"), "pixel", f"{file}.lapilli", "--at", at, texel, *arguments], expect=status)
        check(says in done.err and not done.out, f"{at} {texel} {arguments}: {done.text}")
    _, rows, end = history(context, "ends.lapilli", "2", "0,0", *to)
    done = context.run([context.program("lapilli"), "pixel", "ends.lapilli", "--validate", "--at", "2", "0,0", *to], expect=None)
    check(done.status == 5 or "validate: 0 errors" in done.out, done.text)
    check(rows[0]["before"] is None and [row["command"] for row in rows] == ["vkCmdEndRenderPass"] and "has several subpasses" in end["left_out"][0], f"{rows} {end}")


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    compared = {f"as-single-pictures/{program.name}": as_single_pictures(program) for program in programs(context) if program.name in COMPARED}
    ends = {f"computed/{program.name}": computed(program) for program in programs(context) if program.name in COMPUTED}
    return {"painted": painted(None), "swiftshader/painted": painted("swiftshader"), "fragments": fragments(None), "swiftshader/fragments": fragments("swiftshader"),
            **CASES, **compared, **ends}

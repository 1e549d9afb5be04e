# SPDX-License-Identifier: MIT
"""lapilli image --each P: all pictures of a place by one replay. That they are those of single replays is compared in after.py."""

from __future__ import annotations

import json
from typing import Callable

from e2e.blocks import rows_of_png
from e2e.cases import SHAPE, Cases, Context, Done, check, skip_lacking
from e2e.waiting import wait, words

CASES = Cases()
case = CASES.add


def each(context: Context, position: str, *arguments: str, to: str = "each", file: str = "out.lapilli", expect: int | None = 0) -> Done:
    return context.run([context.program("lapilli"), "image", file, "--each", position, "-o", to, *arguments], expect=expect)


def rows(context: Context, position: str, *arguments: str, to: str = "each") -> list[dict]:
    return [json.loads(line) for line in each(context, position, "--json", "--quiet", *arguments, to=to).out.splitlines()]


def files(context: Context, folder: str) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (context.folder / folder).glob("*")}


def difference(before: bytes, after: bytes, width: int, texel: int) -> dict[str, int]:
    changed = [i for i in range(len(after) // texel) if before[i * texel:(i + 1) * texel] != after[i * texel:(i + 1) * texel]]
    x, y = [i % width for i in changed], [i // width for i in changed]
    if not changed:
        return {"texels": 0, "x": 0, "y": 0, "width": 0, "height": 0}
    return {"texels": len(changed), "x": min(x), "y": min(y), "width": max(x) - min(x) + 1, "height": max(y) - min(y) + 1}


@case
def a_place_has_the_pictures_of_its_draws(context: Context) -> None:
    """A pass, a label, a command buffer, what is executed, a draw; with several replays, too. The second has secondary command buffers in a dynamic pass."""
    skip_lacking(context.run([context.app("modern")], context.layer_env(), expect=None))
    draws = [f"1.1.2.4.{i}.11" for i in (1, 2, 3, 4)]
    begin = next(line for line in map(json.loads, context.run([context.program("lapilli"), "print", "--json", "--at", "1.1.2", "out.lapilli"]).out.splitlines()) if line["name"] == "vkCmdBeginRendering")
    for place, found in (("1.1.2.3", draws), (f"#{begin['index']}.{begin['command']}", draws), ("1.1.2", draws), ("1", draws), ("1.1.2.4.2", draws[1:2]), ("1.1.2.4.3.11", draws[2:3]), ("1.1.2.1", draws)):
        check([row["position"] for row in rows(context, place)] == found, f"--each {place}")
    whole = rows(context, "1.1.2.3", "--raw", to="whole")
    parts = rows(context, "1.1.2.3", "--raw", "--picture-memory", "1", to="parts")
    check(files(context, "whole") == files(context, "parts"), "several replays give other pictures")
    check([row["changed"] for row in whole] == [row["changed"] for row in parts], "several replays compare otherwise")
    trace = (context.folder / "out.lapilli").read_bytes()
    (context.folder / "cut.lapilli").write_bytes(trace[:len(trace) * 3 // 4])
    each(context, "1.1.2.3", "--raw", "--picture-memory", "1", to="cut", file="cut.lapilli", expect=4)
    check(files(context, "whole") == files(context, "cut"), "an incomplete trace has other pictures")
    for before, row in zip(whole, whole[1:]):
        first, second = ((context.folder / entry["file"]).read_bytes() for entry in (before, row))
        check(row["changed"] == difference(first, second, row["width"], 4), f"{row}")
        check(row["command"] == "vkCmdDrawMultiEXT" and row["changed"]["texels"], f"{row}")


@case
def thumbs_show_the_changed_part(context: Context) -> None:
    context.run([context.app("triangle"), "--offscreen"], context.layer_env())
    frame = context.run([context.program("lapilli"), "draws", "--no-header", "out.lapilli"]).out.partition(".")[0]
    whole = {row["position"]: row for row in rows(context, frame, "--targets", "color0", to="whole")}
    for most in (16, 4096):
        for row in rows(context, frame, "--thumbs", str(most), to=f"thumbs-{most}"):
            shown, changed = row["shown"], row["changed"]
            pixels = rows_of_png(context.folder / row["file"])
            width, height = len(pixels[0]) // 3, len(pixels)
            check(row["name"] == "color0" and max(width, height) == min(most, max(shown["width"], shown["height"])), f"{row}: {width} x {height}")
            check(not changed["texels"] or (shown["x"] <= changed["x"] and shown["y"] + shown["height"] >= changed["y"] + changed["height"]), f"{row}")
            if most == 16:
                continue
            full = rows_of_png(context.folder / whole[row["position"]]["file"])
            check([line[shown["x"] * 3:(shown["x"] + shown["width"]) * 3] for line in full[shown["y"]:shown["y"] + shown["height"]]] == pixels, f"{row}: this is not that part of the picture")


@case
def validation_is_silent(context: Context) -> None:
    """With synchronization: where render passes are split, in a dynamic one and another one."""
    for program in (["modern"], ["triangle", "--offscreen"]):
        file = f"{program[0]}.lapilli"
        skip_lacking(context.run([context.app(program[0]), *program[1:]], context.layer_env(LAPILLI_FILE=file), expect=None))
        frame = context.run([context.program("lapilli"), "draws", "--no-header", file]).out.partition(".")[0]
        done = each(context, frame, "--validate=sync", file=file)
        check("0 errors, 0 warnings" in done.text, done.text)


@case
def where_there_is_no_picture_is_said(context: Context) -> None:
    context.run([context.app("triangle"), "--offscreen"], context.layer_env())
    draw = context.run([context.program("lapilli"), "draws", "--no-header", "out.lapilli"]).out.partition("\t")[0]
    for place, more, status, says in ((draw, ("--targets", "color7"), 2, "has no target color7: there is color0,depth"), ("1.1.1.0", (), 2, "has no draw"),
                                      (draw, ("--skip", draw), 2, "without --skip"), ("99999", (), 2, "the trace has"), (draw, ("--thumbs", "3"), 2, "8 to 4096 pixels"),
                                      (draw, ("--thumbs", "16", "--raw"), 2, "without --raw")):
        done = each(context, place, *more, expect=status)
        check(says in done.err and not done.out, f"{place} {more}: {done.text}")
    skip_lacking(context.run([context.app("feedback")], context.layer_env(LAPILLI_FILE="feedback.lapilli"), expect=None))
    check("transform feedback is open" in each(context, "1", file="feedback.lapilli", expect=5).err, "transform feedback")
    check(not files(context, "each"), "something was written")


@case
def a_replay_that_waits_has_them_too(context: Context) -> None:
    skip_lacking(context.run([context.app("modern")], context.layer_env(), expect=None))
    rows(context, "3", "--raw", to="whole")
    done = wait(context, "out.lapilli", 3, words("--each", "3", "--raw"))
    check(done.status == 0 and files(context, "shots") == files(context, "whole"), done.text)
    done = wait(context, "out.lapilli", 3, words("--each", "3", "--raw", "--picture-memory", "1"))
    check(done.status == 6 and "several replays" in done.err, done.text)


@case
def texels_of_another_format_are_converted_back(context: Context) -> None:
    """A GPU without the recorded format of depth: as the single replay has them there."""
    skip_lacking(context.run([context.app("stencil")], context.layer_env(), expect=None))
    env = context.layer_env(SHAPE, LAPILLI_SHAPE="formats=127")
    draw = context.run([context.program("lapilli"), "draws", "--no-header", "out.lapilli"]).out.partition("\t")[0]
    for option, folder in (("--each", "each"), ("--after", "after")):
        done = context.run([context.program("lapilli"), "image", "out.lapilli", option, draw, "--raw", "-o", folder], env)
        check("substitutes it" in done.err, done.text)
    check(len(files(context, "each")) == 2 and files(context, "each") == files(context, "after"), f"{list(files(context, 'each'))}")


def cases(context: Context) -> dict[str, Callable[[Context], None]]:
    return dict(CASES)
